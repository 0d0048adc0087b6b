"""One walk over a program; an algebra says what each kind of node becomes.

Numbers, arrays, symbols, lines of text: all that is made of a program is made here.  The walk goes
from operands to what uses them, without recursion, and visits no node twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

from formulakern.program.node import (
    Binomial,
    Constant,
    Count,
    Node,
    Product,
    Program,
    Quotient,
    Sum,
)

__all__ = ["Algebra", "apply", "fold"]

Value = TypeVar("Value")
Operand = TypeVar("Operand", contravariant=True)
Result = TypeVar("Result", covariant=True)


class Algebra(Protocol[Operand, Result]):
    """What each kind of node becomes, given what stands for its operands."""

    def count(self, node: Count) -> Result:
        """What ``max(count − used, 0)`` becomes."""

    def constant(self, value: int) -> Result:
        """What an integer becomes."""

    def sum(self, operands: Sequence[Operand]) -> Result:
        """What a sum becomes."""

    def product(self, operands: Sequence[Operand]) -> Result:
        """What a product becomes."""

    def binomial(self, operand: Operand, lower: int) -> Result:
        """What C(operand, lower) becomes."""

    def quotient(self, operand: Operand, divisor: int) -> Result:
        """What an operand, divided by an integer that divides it, becomes."""


def apply(algebra: Algebra[Operand, Result], node: Node, operands: Sequence[Operand]) -> Result:
    """What one node becomes."""
    match node:
        case Count():
            return algebra.count(node)
        case Constant():
            return algebra.constant(node.value)
        case Sum():
            return algebra.sum(operands)
        case Product():
            return algebra.product(operands)
        case Binomial():
            return algebra.binomial(operands[0], node.lower)
        case Quotient():
            return algebra.quotient(operands[0], node.divisor)


def fold(
    program: Program, algebra: Algebra[Value, Value], outputs: Sequence[int] | None = None
) -> Iterator[tuple[int, Value]]:
    """What every node becomes that the outputs need, in the order of the program.

    Parameters
    ----------
    program : Program
    algebra : Algebra
        Its values stand for operands in turn.
    outputs : sequence of int, optional
        Positions of nodes; the output of the kernel by default.

    Yields
    ------
    position : int
    value
        Forgotten here as soon as no later node needs it.

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
    order = program.kernel_nodes if outputs is None else program.needed(*outputs)
    dying: dict[int, list[int]] = {}
    for operand, user in {i: j for j in order for i in program.nodes[j].operands}.items():
        dying.setdefault(user, []).append(operand)  # the last user
    values: dict[int, Value] = {}
    for position in order:
        node = program.nodes[position]
        values[position] = apply(algebra, node, [values[operand] for operand in node.operands])
        for dead in dying.get(position, ()):
            del values[dead]
        yield position, values[position]
