"""Fused loops: the program's own pair function, compiled into the loop that counts."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np

from formulakern.backends.base import Fill, FloatArray, Support, Task
from formulakern.backends.emitter import NAMES, emit_pair
from formulakern.backends.filling import CountedFill
from formulakern.backends.guard import guarded
from formulakern.backends.loops import evaluate
from formulakern.compilation import CompiledFunction, compiled_text
from formulakern.program.interpreter import run
from formulakern.program.node import Program
from formulakern.program.staging import stages

__all__ = ["MAX_OPERATIONS", "NumbaBackend", "loop_of", "loop_of_task"]

#: Programs with more operations per pair would take the compiler minutes.
MAX_OPERATIONS = 3_000


class NumbaBackend:
    """Emitted Python source, compiled by numba; see the module."""

    name = "numba"

    def supports(self, task: Task) -> Support:
        """Yes, up to ``MAX_OPERATIONS`` operations per pair."""
        operations = len(stages(task.program).pair)
        if operations > MAX_OPERATIONS:
            return Support(
                False, f"{operations:,} operations per pair would take the compiler minutes"
            )
        return Support(True, f"{operations:,} operations per pair, compiled into the counting loop")

    def compile(self, task: Task) -> Fill:
        """Emit, compile (or read from the cache), and compute what is known before the pairs."""
        program, tables = task.program, task.tables
        weights = task.weights()
        stage = stages(program)

        def known(positions: tuple[int, ...], counts: Any) -> FloatArray:
            """Numbers that depend on one row only, for every row."""
            ones = list(counts)
            with np.errstate(over="ignore", invalid="ignore"):
                values = run(
                    program, ones, ones, ones, tables.sizes, np.float64, positions, weights
                )
            rows = [np.broadcast_to(value, counts.shape[1:]) for value in values]
            return np.array(rows, dtype=np.float64).reshape(len(positions), counts.shape[1])

        data = (
            np.vstack([tables.x_counts, known(stage.row_x, tables.x_counts)]),
            np.vstack([tables.z_counts, known(stage.row_z, tables.z_counts)]),
            np.array([*tables.sizes, *(weights or ())], dtype=np.float64),
            known(stage.table, np.zeros((len(tables.sizes), 1))).ravel(),
            # the emitted code divides by the divisor itself, unless the counts are weighted
            np.array([task.factor() if task.scale == "probability" else 1.0]),
        )
        return guarded(task, CountedFill(tables, data, (0,), loop_of_task(task), task.largest))


def loop_of_task(task: Task) -> CompiledFunction[..., Any]:
    """The compiled formula of a task; what was emitted before is not emitted again."""
    return _loop_of_program(task.program, task.weighted)


@lru_cache(maxsize=256)
def _loop_of_program(program: Program, weighted: bool) -> CompiledFunction[..., Any]:
    return loop_of(emit_pair(program, weighted))


@cache
def loop_of(source: str) -> CompiledFunction[..., Any]:
    """The loop over blocks for the source of a pair function; equal programs share it."""
    return evaluate.having(pair=compiled_text(source, "pair", **NAMES))
