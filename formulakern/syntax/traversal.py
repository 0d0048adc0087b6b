"""Walking a tree without recursion: every other walk over formulas is one of these two."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

__all__ = ["Tree", "fold", "postorder"]


class Tree(Protocol):
    """Anything whose operands are trees of the same kind."""

    @property
    def arguments(self) -> Sequence[Any]:
        """The operands; empty for a leaf."""


Node = TypeVar("Node", bound=Tree)
T = TypeVar("T")


def postorder(root: Node) -> list[Node]:
    """All different node objects, operands before what uses them, in order of appearance.

    Linear in the number of different objects, however often the tree shares them.
    """
    seen = {id(root)}
    order: list[Node] = []
    stack: list[tuple[Node, Iterator[Node]]] = [(root, iter(root.arguments))]
    while stack:
        node, remaining = stack[-1]
        for argument in remaining:
            if id(argument) not in seen:
                seen.add(id(argument))
                stack.append((argument, iter(argument.arguments)))
                break
        else:
            stack.pop()
            order.append(node)
    return order


def fold(root: Node, function: Callable[[Node, list[T]], T]) -> T:
    """Compute ``function(node, values of its arguments)`` bottom-up, once per node object."""
    values: dict[int, T] = {}
    for node in postorder(root):
        values[id(node)] = function(node, [values[id(argument)] for argument in node.arguments])
    return values[id(root)]
