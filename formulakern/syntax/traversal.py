"""Walking a tree without recursion: walks over formulas are made of these two."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

__all__ = ["Tree", "fold", "postorder", "same"]


class Tree(Protocol):
    """Anything whose operands are trees of the same kind."""

    @property
    def arguments(self) -> Sequence[Any]:
        """The operands; empty for a leaf."""


Node = TypeVar("Node", bound=Tree)
T = TypeVar("T")
Inside = Callable[[Node], Iterable[Node]]


def _arguments(node: Node) -> Sequence[Node]:
    return node.arguments


def postorder(root: Node, inside: Inside[Node] = _arguments) -> list[Node]:
    """All different node objects, operands before what uses them, in order of appearance.

    Linear in the number of different objects, however often the tree shares them.

    Parameters
    ----------
    root : Node
    inside : callable, optional
        Gives the operands of a node, if these are not its arguments.
    """
    seen = {id(root)}
    order: list[Node] = []
    stack: list[tuple[Node, Iterator[Node]]] = [(root, iter(inside(root)))]
    while stack:
        node, remaining = stack[-1]
        for argument in remaining:
            if id(argument) in seen:
                continue
            seen.add(id(argument))
            below = inside(argument)
            if below == ():  # a leaf: many formulas consist of little else
                order.append(argument)
                continue
            stack.append((argument, iter(below)))
            break
        else:
            stack.pop()
            order.append(node)
    return order


def fold(
    root: Node, function: Callable[[Node, list[T]], T], inside: Inside[Node] = _arguments
) -> T:
    """Compute ``function(node, values of its operands)`` bottom-up, once per node object."""
    values: dict[int, T] = {}
    for node in postorder(root, inside):
        values[id(node)] = function(node, [values[id(argument)] for argument in inside(node)])
    return values[id(root)]


def same(left: Any, right: Any) -> bool:
    """Whether two formulas are equal: pairs of objects that are shared are compared once."""
    pending = [(left, right)]
    compared: set[tuple[int, int]] = set()
    while pending:
        one, other = pending.pop()
        if one is other:
            continue
        if type(one) is not type(other) or one._hash != other._hash:
            return False
        if one.connective is None:
            if one.__reduce__() != other.__reduce__():
                return False
            continue
        if one.connective is not other.connective or len(one.arguments) != len(other.arguments):
            return False
        pair = (id(one), id(other))
        if pair not in compared:
            compared.add(pair)
            pending.extend(zip(one.arguments, other.arguments, strict=True))
    return True
