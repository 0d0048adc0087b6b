"""Compiled formulas: program → Python source of its pair function → machine code.

The source is the only code that is written as text.  It consists of positions, integers and a few
fixed words.  So nothing of the user's text reaches it, and equal programs give equal source.  It
imports nothing: beside Python's own functions it uses ``NAMES``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from math import inf
from typing import Any

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.backends.base import Support, Task, guarded
from formulakern.backends.block_writers import CountWriter
from formulakern.backends.loops import choose, evaluate, whole
from formulakern.backends.tables import BlockWriter
from formulakern.compilation import CompiledFunction, compiled_text
from formulakern.program.program import CELLS, Program
from formulakern.program.values import as_float, run

__all__ = ["NAMES", "NumbaBackend", "emit_pair", "loop_of", "loop_of_task"]

#: Programs with more operations per pair would take the compiler minutes.
MAX_OPERATIONS = 3_000


#: What emitted source may use.
NAMES = {"choose": choose, "whole": whole, "inf": inf}

#: Largest number of operands written into one expression; longer ones become several lines.
_WIDTH = 16


class NumbaBackend:
    """Emitted Python source, compiled by numba; see the module."""

    name = "numba"

    def supports(self, task: Task) -> Support:
        """Yes, up to ``MAX_OPERATIONS`` operations per pair."""
        operations = len(task.program.stages.pair)
        if operations > MAX_OPERATIONS:
            return Support(
                False, f"{operations:,} operations per pair would take the compiler minutes"
            )
        return Support(True, f"{operations:,} operations per pair, compiled into the counting loop")

    def size(self, task: Task) -> float:
        """An operation takes 0.02 ns, many pairs at a time."""
        return 1e5 + task.counting + 0.022 * task.n_pairs * len(task.program.stages.pair)

    def compile(self, task: Task) -> BlockWriter:
        """Emit, compile (or read from the cache), and compute what is known before the pairs."""
        program, tables = task.program, task.tables
        weights = task.weights()
        stage = program.stages

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
        return guarded(task, CountWriter(tables, data, (0,), loop_of_task(task), task.largest))


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


# -- emitting -------------------------------------------------------------------------------------


def emit_pair(program: Program, weighted: bool) -> str:
    """Return the source of ``pair``: the kernel of one pair of rows from their counts.

    With ``weighted`` counts are divided by the number of columns.  The function, like
    :func:`formulakern.backends.loops.pair`, begins by naming what it reads: for every domain g the
    counts ``s{g} p{g} q{g} n{g}`` (and the weight ``w{g}``), and the numbers known before, ``t{i}``
    per table, ``x{i}`` and ``z{i}`` per row, where i is the position in the program.
    """
    stage = program.stages

    def name(position: int) -> str:
        return f"{'txzr'[stage.of[position]]}{position}"

    algebra = _Expressions(weighted)
    lines = []
    for position in stage.pair:
        node = program.nodes[position]
        operands = [name(operand) for operand in node.operands]
        for part in getattr(algebra, node.kind)(*node.data, *operands):
            lines.append(f"r{position} = {part.replace('_', f'r{position}')}")
    result = name(program.output)
    if program.divisor != 1 and not weighted:
        result += f" / {_float(program.divisor)}"
    lines.append(f"return {result}")
    n = len(program.domains)
    where = {f"s{g}": f"float(tile[{g}, r, j])" for g in range(n)}
    where |= {f"p{g}": f"x[{g}, row]" for g in range(n)}
    where |= {f"q{g}": f"z[{g}, column]" for g in range(n)}
    where |= {f"n{g}": f"sizes[{g}]" for g in range(n)}
    where |= {f"w{g}": f"sizes[{n + g}]" for g in range(n * weighted)}
    where |= {f"x{i}": f"x[{n + k}, row]" for k, i in enumerate(stage.row_x)}
    where |= {f"z{i}": f"z[{n + k}, column]" for k, i in enumerate(stage.row_z)}
    where |= {f"t{i}": f"once[{k}]" for k, i in enumerate(stage.table)}
    used = set(re.findall(r"\w+", "\n".join(lines)))
    lines = [f"{given} = {place}" for given, place in where.items() if given in used] + lines
    head = ["def pair(tile, r, j, row, column, data):", "x, z, sizes, once, _ = data"]
    return "\n    ".join([*head, *lines]) + "\n"


@dataclass(frozen=True)
class _Expressions:
    """Expressions in the names of operands, to be assigned one after the other; _ is the last."""

    weighted: bool

    def count(self, domain: int, cell: str, used: int) -> list[str]:
        value = "".join(f"{c}{domain}" if c.isalpha() else c for c in CELLS[cell])
        if used:
            value = f"max({value} - {float(used)!r}, 0.0)"
        return [f"({value}) * w{domain}" if self.weighted else value]

    def constant(self, value: int) -> list[str]:
        return [_float(value)]

    def sum(self, *operands: str, sign: str = " + ") -> list[str]:
        parts = [sign.join(operands[:_WIDTH])]
        for start in range(_WIDTH, len(operands), _WIDTH - 1):
            parts.append(sign.join(["_", *operands[start : start + _WIDTH - 1]]))
        return parts

    def product(self, *operands: str) -> list[str]:
        return self.sum(*operands, sign=" * ")

    def binomial(self, lower: int, operand: str) -> list[str]:
        return [f"choose({operand}, {lower})"]

    def quotient(self, divisor: int, operand: str) -> list[str]:
        return [f"whole({operand} / {_float(divisor)})"]


def _float(value: int) -> str:
    """Return the literal of a float; infinite beyond float64 (a finite multiple is then 0)."""
    return repr(as_float(value))
