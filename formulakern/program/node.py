"""Programs: sums and products of joint counts, a small graph with every number computed once.

The joint counts of one domain (a group of columns) for a pair of rows x, z are written by the
truth values that they count, in the order of the house: ``11`` true in both, ``10`` only in x,
``01`` only in z, ``00`` in neither; a star sums over both values: ``1*`` is the number of ones of
x, ``**`` the number of columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

__all__ = ["CELLS", "Constant", "Count", "Node", "Product", "Program", "Sum"]

Cell = Literal["11", "10", "01", "00", "1*", "0*", "*1", "*0", "**"]

#: All nine cells, joint counts first.
CELLS: tuple[Cell, ...] = ("11", "10", "01", "00", "1*", "0*", "*1", "*0", "**")


@dataclass(frozen=True)
class Count:
    """``max(count − used, 0)``: columns of a domain in a cell that are not used up yet."""

    domain: int
    cell: str
    used: int = 0


@dataclass(frozen=True)
class Constant:
    """A non-negative integer."""

    value: int


@dataclass(frozen=True)
class Sum:
    """The sum of earlier nodes, named by their positions."""

    operands: tuple[int, ...]


@dataclass(frozen=True)
class Product:
    """The product of earlier nodes, named by their positions."""

    operands: tuple[int, ...]


Node = Count | Constant | Sum | Product


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
    degrees : tuple of int
        For each domain the number of its counts in every product: the kernel is homogeneous.
    divisor : int
        Number of symmetries counted (1 unless the reading is ``distinct``); divides exactly.
    """

    nodes: tuple[Node, ...]
    output: int
    dimension: int
    domains: tuple[str | None, ...]
    degrees: tuple[int, ...]
    divisor: int = 1

    @cached_property
    def kernel_nodes(self) -> tuple[int, ...]:
        """Positions of the nodes that the kernel needs, in order."""
        return _needed(self.nodes, self.output)

    @cached_property
    def dimension_nodes(self) -> tuple[int, ...]:
        """Positions of the nodes that the dimension needs, in order."""
        return _needed(self.nodes, self.dimension)

    @cached_property
    def depth(self) -> int:
        """Largest number of roundings on a path from a count to the kernel value."""
        depth = [0] * len(self.nodes)
        for position, node in enumerate(self.nodes):
            if isinstance(node, Sum | Product):
                depth[position] = len(node.operands) - 1 + max(depth[i] for i in node.operands)
        return depth[self.output]


def _needed(nodes: tuple[Node, ...], output: int) -> tuple[int, ...]:
    needed = {output}
    for position in range(output, -1, -1):
        node = nodes[position]
        if position in needed and isinstance(node, Sum | Product):
            needed.update(node.operands)
    return tuple(sorted(needed))
