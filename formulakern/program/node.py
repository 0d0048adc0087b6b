"""Programs: arithmetic on joint counts, a small graph with every number computed once.

The joint counts of one domain (a group of columns) for a pair of rows x, z are written by the
truth values that they count, in the order of the house: ``11`` true in both, ``10`` only in x,
``01`` only in z, ``00`` in neither; a star sums over both values: ``1*`` is the number of ones of
x, ``**`` the number of columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

__all__ = [
    "CELLS",
    "Binomial",
    "Constant",
    "Count",
    "Node",
    "Product",
    "Program",
    "Quotient",
    "Sum",
    "with_operands",
]

Cell = Literal["11", "10", "01", "00", "1*", "0*", "*1", "*0", "**"]

#: All nine cells, joint counts first.
CELLS: tuple[Cell, ...] = ("11", "10", "01", "00", "1*", "0*", "*1", "*0", "**")


@dataclass(frozen=True)
class Count:
    """``max(count − used, 0)``: columns of a domain in a cell that are not used up yet."""

    operands: ClassVar[tuple[int, ...]] = ()
    domain: int
    cell: str
    used: int = 0


@dataclass(frozen=True)
class Constant:
    """A non-negative integer."""

    operands: ClassVar[tuple[int, ...]] = ()
    value: int


@dataclass(frozen=True)
class Sum:
    """The sum of earlier nodes, named by their positions."""

    operands: tuple[int, ...]


@dataclass(frozen=True)
class Product:
    """The product of earlier nodes, named by their positions."""

    operands: tuple[int, ...]


@dataclass(frozen=True)
class Binomial:
    """C(operand, lower): the number of choices of ``lower`` different things."""

    operands: tuple[int]
    lower: int


@dataclass(frozen=True)
class Quotient:
    """An earlier node divided by an integer that divides it."""

    operands: tuple[int]
    divisor: int


Node = Count | Constant | Sum | Product | Binomial | Quotient


def with_operands(node: Node, moved: Mapping[int, int]) -> Node:
    """The node with its operands renamed."""
    if not node.operands:
        return node
    operands: Any = tuple(moved[operand] for operand in node.operands)
    return replace(node, operands=operands)


@dataclass(frozen=True)
class Program:
    """A kernel as arithmetic: K(x, z) = value of ``output`` divided by ``divisor``.

    Parameters
    ----------
    nodes : tuple of Node
        Operands come before what uses them; equal nodes occur once.
    output : int
        Position of the node whose value is ``divisor`` times the kernel.
    dimension : int
        Position of the node whose value is ``divisor`` times the dimension of the feature space;
        it depends on the numbers of columns alone.
    domains : tuple of str or None
        Names of the groups of columns; None is "all columns".
    degrees : tuple of int or None
        For each domain the number of its counts in every product, where the kernel is homogeneous;
        None where it is not (choices of features).
    divisor : int
        Number of symmetries counted (1 unless the reading is ``distinct``); divides exactly.
    choices : tuple of (int, int)
        Choices of features: the position of the number of features to choose from, and how many
        are chosen.
    """

    nodes: tuple[Node, ...]
    output: int
    dimension: int
    domains: tuple[str | None, ...]
    degrees: tuple[int, ...] | None
    divisor: int = 1
    choices: tuple[tuple[int, int], ...] = ()

    @cached_property
    def kernel_nodes(self) -> tuple[int, ...]:
        """Positions of the nodes that the kernel needs, in order."""
        return _needed(self.nodes, self.output)

    @cached_property
    def dimension_nodes(self) -> tuple[int, ...]:
        """Positions of the nodes that the dimension needs, in order."""
        return _needed(self.nodes, self.dimension)

    @cached_property
    def choice_nodes(self) -> tuple[int, ...]:
        """Positions of the nodes that the numbers of features to choose from need, in order."""
        return _needed(self.nodes, *(position for position, _ in self.choices))

    @cached_property
    def depth(self) -> int:
        """Largest number of roundings on a path from a count to the kernel value."""
        depth = [0] * len(self.nodes)
        for position, node in enumerate(self.nodes):
            if node.operands:
                steps = 3 * node.lower if isinstance(node, Binomial) else len(node.operands)
                depth[position] = steps + max(depth[i] for i in node.operands)
        return depth[self.output]


def _needed(nodes: tuple[Node, ...], *outputs: int) -> tuple[int, ...]:
    needed = set(outputs)
    for position in range(max(outputs, default=-1), -1, -1):
        if position in needed:
            needed.update(nodes[position].operands)
    return tuple(sorted(needed))
