"""A program as text: one numbered line per number, with the stage at which it is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from formulakern.program.node import CELLS, Count, Program
from formulakern.program.staging import stages

__all__ = ["listing"]

#: By :class:`.staging.Stage`.
_STAGE_TEXT = ("once", "per row x", "per row z", "per pair")

#: What is computed, and what it means.
_Line = tuple[str, str]


def listing(program: Program, limit: int = 60) -> str:
    """Return the program line by line, at most ``limit`` lines of it.

    ``s`` is the number of columns true in both rows, ``p`` and ``q`` those true in x and in z,
    ``n`` all columns.  With several domains the counts carry the domain's name.

    Parameters
    ----------
    program : Program
    limit : int
        Longer programs show their first and last lines.

    Returns
    -------
    str
    """
    stage = stages(program).of
    lines = _Lines(program.domains)
    rows = []
    for position in program.kernel_nodes:
        node = program.nodes[position]
        what, meaning = node.become(lines, [f"r{operand}" for operand in node.operands])
        rows.append((f"r{position}", what, meaning, _STAGE_TEXT[stage[position]]))
    if len(rows) > limit:
        left_out = len(rows) - limit
        rows = [*rows[: limit // 2], ("…", f"({left_out:,} more)", "", ""), *rows[-limit // 2 :]]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    text = [
        f"{name:<{widths[0]}} = {what:<{widths[1]}}  {meaning:<{widths[2]}}  {when}".rstrip()
        for name, what, meaning, when in rows
    ]
    result = f"r{program.output}"
    if program.divisor != 1:
        result += f" / {program.divisor}"
    return "\n".join([*text, f"K = {result}"])


@dataclass(frozen=True)
class _Lines:
    """One line per node; operands are named by their positions."""

    domains: tuple[str | None, ...]

    def count(self, node: Count) -> _Line:
        name = f"n{node.cell}"
        if len(self.domains) > 1:
            name += f"[{self.domains[node.domain] or 'all columns'}]"
        text = CELLS[node.cell]
        if node.used:
            return f"{name} - {node.used}", f"({text} - {node.used}, not below 0)"
        return name, f"({text})" if text != "s" else "(s, true in both)"

    def constant(self, value: int) -> _Line:
        return str(value), ""

    def sum(self, operands: Sequence[str]) -> _Line:
        return _joined(" + ", operands), ""

    def product(self, operands: Sequence[str]) -> _Line:
        return _joined(" * ", operands), ""

    def binomial(self, operand: str, lower: int) -> _Line:
        return f"C({operand}, {lower})", f"(choices of {lower:,})"

    def quotient(self, operand: str, divisor: int) -> _Line:
        return f"{operand} / {divisor}", "(symmetries)"


def _joined(sign: str, operands: Sequence[str]) -> str:
    if len(operands) > 12:
        operands = [*operands[:6], "…", *operands[-5:]]
    return sign.join(operands)
