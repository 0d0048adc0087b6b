"""A program as text: one numbered line per number, with the stage at which it is known."""

from __future__ import annotations

from formulakern.program.node import Binomial, Constant, Count, Node, Program, Quotient, Sum
from formulakern.program.staging import Stage, stages

__all__ = ["listing"]

_CELL_TEXT = {
    "11": "s",
    "10": "p - s",
    "01": "q - s",
    "00": "n - p - q + s",
    "1*": "p",
    "0*": "n - p",
    "*1": "q",
    "*0": "n - q",
    "**": "n",
}
_STAGE_TEXT = {
    Stage.TABLE: "once",
    Stage.ROW_X: "per row x",
    Stage.ROW_Z: "per row z",
    Stage.PAIR: "per pair",
}


def listing(program: Program, limit: int = 60) -> str:
    """The program line by line, at most ``limit`` lines of it.

    ``s`` is the number of columns true in both rows, ``p`` and ``q`` those true in x and in z,
    ``n`` all columns; with several domains the counts carry the domain's name.

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
    rows = []
    for position in program.kernel_nodes:
        what, how = _line(program, program.nodes[position])
        rows.append((f"r{position}", what, how, _STAGE_TEXT[stage[position]]))
    if len(rows) > limit:
        left_out = len(rows) - limit
        rows = [*rows[: limit // 2], ("…", f"({left_out:,} more)", "", ""), *rows[-limit // 2 :]]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines = [
        f"{name:<{widths[0]}} = {what:<{widths[1]}}  {how:<{widths[2]}}  {when}".rstrip()
        for name, what, how, when in rows
    ]
    result = f"r{program.output}"
    if program.divisor != 1:
        result += f" / {program.divisor}"
    return "\n".join([*lines, f"K = {result}"])


def _line(program: Program, node: Node) -> tuple[str, str]:
    if isinstance(node, Count):
        name = f"n{node.cell}"
        if len(program.domains) > 1:
            name += f"[{program.domains[node.domain] or 'all columns'}]"
        text = _CELL_TEXT[node.cell]
        if node.used:
            return f"{name} - {node.used}", f"({text} - {node.used}, not below 0)"
        return name, f"({text})" if text != "s" else "(s, true in both)"
    if isinstance(node, Constant):
        return str(node.value), ""
    if isinstance(node, Binomial):
        return f"C(r{node.operands[0]}, {node.lower})", f"(choices of {node.lower:,})"
    if isinstance(node, Quotient):
        return f"r{node.operands[0]} / {node.divisor}", "(symmetries)"
    sign = " + " if isinstance(node, Sum) else " * "
    shown = [f"r{operand}" for operand in node.operands]
    if len(shown) > 12:
        shown = [*shown[:6], "…", *shown[-5:]]
    return sign.join(shown), ""
