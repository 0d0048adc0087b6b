"""Program → Python source of its pair function, the only code that is written as text.

Only positions, integers and a few fixed words are ever written.  So nothing of the user's text
reaches the source, and equal programs give equal source.  It imports nothing: what it names beside
Python's own functions is ``NAMES``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from formulakern.backends.loops import choose, whole
from formulakern.program.magnitude import as_float
from formulakern.program.node import CELLS, Count, Program
from formulakern.program.staging import stages

__all__ = ["NAMES", "emit_pair"]

#: What emitted source may name.
NAMES = {"choose": choose, "whole": whole, "inf": inf}

#: Largest number of operands written into one expression; longer ones become several lines.
_WIDTH = 16


def emit_pair(program: Program, weighted: bool) -> str:
    """The source of ``pair``: the kernel of one pair of rows from their counts.

    Parameters
    ----------
    program : Program
    weighted : bool
        Whether counts are divided by the number of columns (``scale="probability"``).

    Returns
    -------
    str
        A function like :func:`formulakern.backends.loops.pair`.  It begins by naming what it reads:
        for every domain g the counts ``s{g} p{g} q{g} n{g}`` (and the weight ``w{g}``), and the
        numbers known before, ``t{i}`` per table, ``x{i}`` and ``z{i}`` per row, where i is the
        position in the program.
    """
    stage = stages(program)

    def name(position: int) -> str:
        return f"{'txzr'[stage.of[position]]}{position}"

    algebra = _Expressions(weighted)
    lines = []
    for position in stage.pair:
        node = program.nodes[position]
        operands = [name(operand) for operand in node.operands]
        for part in node.become(algebra, operands):
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

    def count(self, node: Count) -> Sequence[str]:
        value = "".join(f"{c}{node.domain}" if c.isalpha() else c for c in CELLS[node.cell])
        if node.used:
            value = f"max({value} - {float(node.used)!r}, 0.0)"
        return [f"({value}) * w{node.domain}" if self.weighted else value]

    def constant(self, value: int) -> Sequence[str]:
        return [_float(value)]

    def sum(self, operands: Sequence[str]) -> Sequence[str]:
        return _joined(" + ", operands)

    def product(self, operands: Sequence[str]) -> Sequence[str]:
        return _joined(" * ", operands)

    def binomial(self, operand: str, lower: int) -> Sequence[str]:
        return [f"choose({operand}, {lower})"]

    def quotient(self, operand: str, divisor: int) -> Sequence[str]:
        return [f"whole({operand} / {_float(divisor)})"]


def _joined(sign: str, operands: Sequence[str]) -> list[str]:
    parts = [sign.join(operands[:_WIDTH])]
    for start in range(_WIDTH, len(operands), _WIDTH - 1):
        parts.append(sign.join(["_", *operands[start : start + _WIDTH - 1]]))
    return parts


def _float(value: int) -> str:
    """Return the literal of a float; infinite beyond float64 (a finite multiple is then 0)."""
    return repr(as_float(value))
