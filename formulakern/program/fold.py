"""One walk over a program; an algebra says what each kind of node becomes.

Numbers, arrays, symbols: all that is computed of a program is computed here.  The walk goes from
operands to what uses them, without recursion, and visits no node twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TypeVar

from formulakern.program.node import Algebra, Program

__all__ = ["fold", "last"]

Value = TypeVar("Value")


def fold(
    program: Program, algebra: Algebra[Value, Value], outputs: Sequence[int] | None = None
) -> Iterator[tuple[int, Value]]:
    """What every node becomes that the outputs need, in the order of the program.

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
    values: dict[int, Value] = {}
    value_of = values.__getitem__
    for position, node, dead in program.steps(outputs):
        values[position] = node.become(algebra, list(map(value_of, node.operands)))
        for operand in dead:
            del values[operand]
        yield position, values[position]


def last(values: Iterator[tuple[int, Value]]) -> Value:
    """The value of the last node of a walk, holding no others.

    Examples
    --------
    >>> last(iter([(0, "s"), (3, "s·s")]))
    's·s'
    """
    return deque(values, maxlen=1)[0][1]
