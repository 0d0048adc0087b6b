"""Staging: which numbers depend on nothing, on x alone, on z alone, or on the pair.

Only the last kind is computed inside the loop over pairs; the others once per table or row.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from formulakern.program.node import Count, Program

__all__ = ["Stage", "Stages", "stages"]


class Stage(IntEnum):
    """When a number is known."""

    TABLE = 0  # depends on the numbers of columns alone
    ROW_X = 1
    ROW_Z = 2
    PAIR = 3


@dataclass(frozen=True)
class Stages:
    """The stage of every node, and the early numbers that the loop over pairs reads.

    ``table``, ``row_x`` and ``row_z`` list positions of nodes of these stages that a node of the
    pair stage uses directly (or that are the output itself).
    """

    of: tuple[Stage, ...]
    table: tuple[int, ...]
    row_x: tuple[int, ...]
    row_z: tuple[int, ...]
    pair: tuple[int, ...]


_CELL_STAGE = {
    "**": Stage.TABLE,
    "1*": Stage.ROW_X,
    "0*": Stage.ROW_X,
    "*1": Stage.ROW_Z,
    "*0": Stage.ROW_Z,
}


def stages(program: Program) -> Stages:
    """Assign a stage to every node that the kernel needs."""
    of: list[Stage] = []
    for node in program.nodes:
        if isinstance(node, Count):
            stage = _CELL_STAGE.get(node.cell, Stage.PAIR)
        elif node.operands:
            bits = 0
            for operand in node.operands:
                bits |= of[operand]
            stage = Stage(bits)
        else:
            stage = Stage.TABLE
        of.append(stage)
    read = {program.output}
    pair = []
    for position in program.kernel_nodes:
        node = program.nodes[position]
        if of[position] == Stage.PAIR:
            pair.append(position)
            read.update(node.operands)
    early = {
        stage: tuple(sorted(i for i in read if of[i] == stage))
        for stage in (Stage.TABLE, Stage.ROW_X, Stage.ROW_Z)
    }
    return Stages(
        tuple(of), early[Stage.TABLE], early[Stage.ROW_X], early[Stage.ROW_Z], tuple(pair)
    )
