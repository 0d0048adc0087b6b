"""Fused loops: the program's own scalar function, inlined into a popcount loop over pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from formulakern.backends.base import Fill, FloatArray, Support, Task, block_at, looping
from formulakern.backends.emitter import emit_source
from formulakern.backends.guard import guarded
from formulakern.backends.interpreter import run
from formulakern.program.staging import stages

__all__ = ["MAX_OPERATIONS", "NumbaBackend"]

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
        from formulakern.backends.cache import load  # numba loads when it is first needed

        program, tables = task.program, task.tables
        loop = load(emit_source(program, task.weighted)).fill
        weights = task.weights()
        # the emitted code divides by the divisor itself, unless the counts are weighted
        factor = task.factor() if task.scale == "probability" else 1.0
        stage = stages(program)

        def early(positions: tuple[int, ...], counts: Any, n_rows: int) -> FloatArray:
            ones = list(counts)
            with np.errstate(over="ignore", invalid="ignore"):
                values = (
                    run(program, ones, ones, ones, tables.sizes, np.float64, positions, weights)
                    if positions
                    else []
                )
            return np.array(
                [np.broadcast_to(value, (n_rows,)) for value in values], dtype=np.float64
            ).reshape(len(positions), n_rows)

        rows, columns = tables.shape
        arguments = (
            tables.x_words,
            tables.z_panels,
            tables.spans,
            tables.x_counts.astype(np.float64),
            tables.z_counts.astype(np.float64),
            early(stage.row_x, tables.x_counts, rows),
            early(stage.row_z, tables.z_counts, columns),
            early(stage.table, tables.x_counts[:, :1], 1).ravel(),
            np.array([*tables.sizes, *(weights or ())], dtype=np.float64),
        )

        inner = looping(loop, *arguments)
        if factor == 1.0:
            return guarded(task, inner)

        def fill(
            rows: slice, columns: slice, out: FloatArray, out_row: int, out_column: int
        ) -> None:
            inner(rows, columns, out, out_row, out_column)
            block = block_at(out, rows, columns, out_row, out_column)
            block *= factor

        return guarded(task, fill)
