"""Programs: arithmetic on joint counts, a small graph with every number computed once.

A count is the number of columns of a domain (a group of columns) that lie in a *cell*.  A cell is
written by the truth values of its columns in the rows x and z: ``11`` true in both, ``10`` only in
x, ``01`` only in z, ``00`` in neither.  A star stands for both values: ``1*`` counts the ones of x,
``**`` all columns.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import Any, ClassVar, Protocol, TypeVar

__all__ = [
    "CELLS",
    "Algebra",
    "Binomial",
    "Constant",
    "Count",
    "Node",
    "Product",
    "Program",
    "Quotient",
    "Sum",
    "cell_count",
    "fold",
    "last",
    "needed",
    "with_operands",
]

#: The nine cells, joint counts first, and how many of n columns lie in each, where s of them are
#: true in both rows, p in x and q in z: the one definition, printed, emitted and evaluated.
CELLS = {
    "11": "s",
    "10": "p - s",
    "01": "q - s",
    "00": "(n - p) - (q - s)",
    "1*": "p",
    "0*": "n - p",
    "*1": "q",
    "*0": "n - q",
    "**": "n",
}


_CELL_COUNTS = {cell: eval(f"lambda s, p, q, n: {text}") for cell, text in CELLS.items()}


def cell_count(cell: str, s: Any, p: Any, q: Any, n: Any) -> Any:
    """Return how many of n columns lie in a cell: numbers, arrays or symbols, as ``CELLS`` says.

    Examples
    --------
    >>> [cell_count(cell, 2, 3, 4, 10) for cell in CELLS]
    [2, 1, 2, 5, 3, 7, 4, 6, 10]
    """
    return _CELL_COUNTS[cell](s, p, q, n)


Operand = TypeVar("Operand", contravariant=True)
Result = TypeVar("Result", covariant=True)


class Algebra(Protocol[Operand, Result]):
    """The value of each kind of node, given those of its operands."""

    def count(self, node: Count) -> Result:
        """Return the value of ``max(count − used, 0)``."""

    def constant(self, value: int) -> Result:
        """Return the value of an integer."""

    def sum(self, operands: Sequence[Operand]) -> Result:
        """Return the value of a sum."""

    def product(self, operands: Sequence[Operand]) -> Result:
        """Return the value of a product."""

    def binomial(self, operand: Operand, lower: int) -> Result:
        """Return the value of C(operand, lower)."""

    def quotient(self, operand: Operand, divisor: int) -> Result:
        """Return the value of an operand divided by an integer that divides it."""


@dataclass(frozen=True, slots=True)
class Count:
    """``max(count − used, 0)``: columns of a domain in a cell that are not used up yet."""

    operands: ClassVar[tuple[int, ...]] = ()
    domain: int
    cell: str
    used: int = 0

    def become(self, algebra: Algebra[Any, Result], operands: Sequence[Any]) -> Result:  # noqa: ARG002
        """Return the value of this node in an algebra, given those of its operands."""
        return algebra.count(self)


@dataclass(frozen=True, slots=True)
class Constant:
    """A non-negative integer."""

    operands: ClassVar[tuple[int, ...]] = ()
    value: int

    def become(self, algebra: Algebra[Any, Result], operands: Sequence[Any]) -> Result:  # noqa: ARG002
        """See :meth:`Count.become`."""
        return algebra.constant(self.value)


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of earlier nodes, named by their positions."""

    operands: tuple[int, ...]

    def become(self, algebra: Algebra[Operand, Result], operands: Sequence[Operand]) -> Result:
        """See :meth:`Count.become`."""
        return algebra.sum(operands)


@dataclass(frozen=True, slots=True)
class Product:
    """The product of earlier nodes, named by their positions."""

    operands: tuple[int, ...]

    def become(self, algebra: Algebra[Operand, Result], operands: Sequence[Operand]) -> Result:
        """See :meth:`Count.become`."""
        return algebra.product(operands)


@dataclass(frozen=True, slots=True)
class Binomial:
    """C(operand, lower): the number of choices of ``lower`` different things."""

    operands: tuple[int]
    lower: int

    def become(self, algebra: Algebra[Operand, Result], operands: Sequence[Operand]) -> Result:
        """See :meth:`Count.become`."""
        return algebra.binomial(operands[0], self.lower)


@dataclass(frozen=True, slots=True)
class Quotient:
    """An earlier node divided by an integer that divides it."""

    operands: tuple[int]
    divisor: int

    def become(self, algebra: Algebra[Operand, Result], operands: Sequence[Operand]) -> Result:
        """See :meth:`Count.become`."""
        return algebra.quotient(operands[0], self.divisor)


Node = Count | Constant | Sum | Product | Binomial | Quotient


def with_operands(node: Node, moved: Sequence[int]) -> Node:
    """Return the node with its operands renamed."""
    operands: Any = tuple(map(moved.__getitem__, node.operands))
    if operands == node.operands:
        return node
    if isinstance(node, Sum | Product):  # which most are, and making them should be fast
        return type(node)(operands)
    return replace(node, operands=operands)


def needed(nodes: Sequence[Node], outputs: Sequence[int]) -> tuple[int, ...]:
    """Return the positions of the nodes that the nodes at these positions need, in order."""
    last = max(outputs, default=-1)
    found = bytearray(last + 1)
    for position in outputs:
        found[position] = True
    for position in range(last, -1, -1):
        if found[position]:
            for operand in nodes[position].operands:
                found[operand] = True
    return tuple(compress(range(last + 1), found))


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
        return needed(self.nodes, [self.output])

    @cached_property
    def width(self) -> int:
        """How many numbers are held at a time, at most, on the way to the kernel."""
        held = most = 0
        for _, _, dead in self.steps():
            held += 1
            most = max(most, held)
            held -= len(dead)
        return most

    def steps(
        self, outputs: Sequence[int] | None = None
    ) -> Iterator[tuple[int, Node, Collection[int]]]:
        """Yield the nodes that others need, in order: position, node, operands not used later.

        Parameters
        ----------
        outputs : sequence of int, optional
            Positions of nodes; the output of the kernel by default.
        """
        if outputs is None:
            order, last_use = self.kernel_nodes, self._last_uses
        else:
            order = needed(self.nodes, outputs)
            last_use = self._uses(order)
        for position in order:
            node = self.nodes[position]
            dead = {operand for operand in node.operands if last_use[operand] == position}
            yield position, node, dead

    @cached_property
    def _last_uses(self) -> array[int]:
        return self._uses(self.kernel_nodes)

    def _uses(self, order: Sequence[int]) -> array[int]:
        """Return for every node the last one of ``order`` that uses it."""
        last_use = array("q", bytes(8 * len(self.nodes)))
        for user in order:
            for operand in self.nodes[user].operands:
                last_use[operand] = user
        return last_use


Value = TypeVar("Value")


def fold(
    program: Program, algebra: Algebra[Value, Value], outputs: Sequence[int] | None = None
) -> Iterator[tuple[int, Value]]:
    """Yield what every node becomes that the outputs need, in the order of the program.

    All that is computed of a program is computed by this walk: numbers, arrays, symbols.  It goes
    from operands to what uses them, without recursion, and visits no node twice.

    Parameters
    ----------
    program : Program
    algebra : Algebra
    outputs : sequence of int, optional
        Positions of nodes; the output of the kernel by default.

    Yields
    ------
    position : int
    value
        Dropped as soon as no later node needs it.

    Examples
    --------
    >>> from formulakern.program.builder import Builder
    >>> builder = Builder([None])
    >>> both = builder.count(0, "11")
    >>> square = builder.product([both, both])
    >>> class Text:
    ...     def count(self, node):
    ...         return "s"
    ...     def product(self, operands):
    ...         return "·".join(operands)
    >>> dict(fold(builder.finish(square, square, [2]), Text()))
    {0: 's', 1: 's·s'}
    """
    values: dict[int, Value] = {}
    value_of = values.__getitem__
    for position, node, dead in program.steps(outputs):
        values[position] = node.become(algebra, list(map(value_of, node.operands)))
        for operand in dead:
            del values[operand]
        yield position, values[position]


def last(values: Iterator[tuple[int, Value]]) -> Value:
    """Return the value of the last node of a walk, holding no others.

    Examples
    --------
    >>> last(iter([(0, "s"), (3, "s·s")]))
    's·s'
    """
    return deque(values, maxlen=1)[0][1]
