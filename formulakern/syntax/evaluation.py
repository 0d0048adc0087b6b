"""The truth value of a formula, for the truth values of its leaves: single ones, or arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import reduce
from operator import or_
from typing import Any

from formulakern.syntax.connectives import ARGUMENTS, Connective
from formulakern.syntax.formula import Constant, Formula
from formulakern.syntax.traversal import postorder

__all__ = ["evaluate"]


def evaluate(root: Formula, value_of: Callable[[Formula], Any]) -> Any:
    """The truth value of a formula, for Python bools or Boolean arrays alike.

    Parameters
    ----------
    root : Formula
    value_of : callable
        Gives the bool, or the Boolean array, of every leaf that is not a constant.

    Returns
    -------
    bool or ndarray of bool

    Notes
    -----
    No recursion.  A value is dropped as soon as nothing needs it, and of two operands the larger
    one is evaluated first: of a formula of n leaves without shared subformulas at most log₂(n) + 2
    values are held at a time.

    Examples
    --------
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


def _leaf_value(leaf: Formula, value_of: Callable[[Formula], Any]) -> Any:
    return leaf.value if isinstance(leaf, Constant) else value_of(leaf)


def _ordered(node: Formula) -> list[tuple[int, Formula]]:
    """The operands with their places, the largest last: it is evaluated first.

    So at most log₂ of the number of leaves values wait for others, however deep the tree is.
    """
    operands = list(enumerate(node.arguments))
    operands.sort(key=lambda pair: pair[1].n_leaves)
    return operands


def _take(node: Formula, place: int, value: Any, values: dict[int, Any]) -> None:
    """One operand's value is known: the value of the whole so far stands at 0."""
    row = node.connective
    assert row is not None
    if row.arity == 1:
        values[0] = value ^ True
    elif row.chain == "flat":
        values[0] = _joined_values(row, values[0], value) if values else value
    else:
        values[place] = value
        if len(values) == 2:
            values[0] = _joined_values(row, values[0], values.pop(1))


def _joined_values(row: Connective, x: Any, z: Any) -> Any:
    """``x ∘ z``: its true cells joined by "or", or its false ones, negated."""
    fewer = "1" if row.truth.count("1") <= 2 else "0"
    cells = [
        (x if one else x ^ True) & (z if two else z ^ True)
        for (one, two), bit in zip(ARGUMENTS, row.truth, strict=True)
        if bit == fewer
    ]
    result = reduce(or_, cells)
    return result if fewer == "1" else result ^ True
