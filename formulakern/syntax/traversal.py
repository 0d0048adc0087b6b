"""Walks over trees without recursion, and the truth value of a formula."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from operator import or_
from typing import Any, Protocol, TypeVar

from formulakern.syntax.connectives import ARGUMENTS, Connective

__all__ = ["Tree", "evaluate", "fold", "postorder", "same"]


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
    """Return all different node objects, operands before what uses them, in order of appearance.

    Linear in the number of different objects; ``inside`` returns the operands of a node.
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
    """Return whether two formulas are equal; pairs of shared objects are compared once."""
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


def evaluate(root: Any, value_of: Callable[[Any], Any]) -> Any:
    """Return the truth value of a formula, for Python bools or Boolean arrays alike.

    ``value_of`` returns the value of every leaf that is not a constant.  A value is dropped as soon
    as nothing needs it, and of two operands the larger one is evaluated first: of a formula of n
    leaves without shared subformulas at most log₂(n) + 2 values are held at a time.

    >>> from formulakern.syntax.formula import variables
    >>> a, b = variables("a b")
    >>> evaluate(a >> b, {a: True, b: False}.__getitem__)
    False
    """
    uses = Counter(id(argument) for node in postorder(root) for argument in node.arguments)
    known: dict[int, Any] = {}  # by id: values that are still to be used
    if root.connective is None:
        return _leaf_value(root, value_of)
    stack = [(root, _ordered(root), dict[int, Any]())]
    while stack:
        node, pending, values = stack[-1]
        if not pending:
            stack.pop()
            known[id(node)] = values[0]
            continue
        place, argument = pending[-1]
        key = id(argument)
        if key not in known:
            if argument.connective is not None:
                stack.append((argument, _ordered(argument), {}))
                continue
            known[key] = _leaf_value(argument, value_of)
        pending.pop()
        _take(node, place, known[key], values)
        uses[key] -= 1
        if not uses[key]:
            del known[key]
    return known[id(root)]


def _leaf_value(leaf: Any, value_of: Callable[[Any], Any]) -> Any:
    return value_of(leaf) if leaf.truth is None else leaf.truth


def _ordered(node: Any) -> list[tuple[int, Any]]:
    """Return the operands with their places, the largest last, which is evaluated first.

    So at most log₂ of the number of leaves values wait for others, however deep the tree is.
    """
    operands = list(enumerate(node.arguments))
    operands.sort(key=lambda pair: pair[1].n_leaves)
    return operands


def _take(node: Any, place: int, value: Any, values: dict[int, Any]) -> None:
    """Take in the value of one operand; the value of the whole so far is at 0."""
    row = node.connective
    if row.arity == 1:
        values[0] = value ^ True
    elif row.chain == "flat":
        values[0] = _joined_values(row, values[0], value) if values else value
    else:
        values[place] = value
        if len(values) == 2:
            values[0] = _joined_values(row, values[0], values.pop(1))


def _joined_values(row: Connective, x: Any, z: Any) -> Any:
    """Return ``x ∘ z``: its true cells joined by "or", or its false ones, negated."""
    fewer = "1" if row.truth.count("1") <= 2 else "0"
    cells = [
        (x if one else x ^ True) & (z if two else z ^ True)
        for (one, two), bit in zip(ARGUMENTS, row.truth, strict=True)
        if bit == fewer
    ]
    result = reduce(or_, cells)
    return result if fewer == "1" else result ^ True
