"""Staging: which numbers depend on nothing, on x alone, on z alone, or on the pair.

Only the last kind is computed inside the loop over pairs; the others once per table or row.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import reduce
from itertools import compress
from operator import or_

from formulakern.program.node import Count, Program

__all__ = ["Stage", "Stages", "stages"]


class Stage(IntEnum):
    """When a number is known; a bit for each row that it depends on."""

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


def stages(program: Program) -> Stages:
    """Assign a stage to every node that the kernel needs; kept as long as the program is."""
    found: Stages | None = program.__dict__.get("_stages")
    if found is None:
        found = program.__dict__["_stages"] = _stages(program)
    return found


def _stages(program: Program) -> Stages:
    of = bytearray()
    for node in program.nodes:
        if isinstance(node, Count):
            x, z = node.cell[0] != "*", node.cell[1] != "*"
            of.append(x * Stage.ROW_X + z * Stage.ROW_Z)
        else:
            of.append(reduce(or_, map(of.__getitem__, node.operands), 0))
    pair = tuple(position for position in program.kernel_nodes if of[position] == Stage.PAIR)
    read = bytearray(len(of))
    read[program.output] = True
    for position in pair:
        for operand in program.nodes[position].operands:
            read[operand] = True
    table, row_x, row_z = (
        tuple(i for i in compress(range(len(of)), read) if of[i] == stage)
        for stage in (Stage.TABLE, Stage.ROW_X, Stage.ROW_Z)
    )
    every = tuple(Stage)
    return Stages(tuple(every[stage] for stage in of), table, row_x, row_z, pair)
