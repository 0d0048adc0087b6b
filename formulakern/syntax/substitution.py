"""Replacing leaves of a formula by formulas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from formulakern.syntax.formula import Formula, Operation
from formulakern.syntax.traversal import fold

__all__ = ["substitute"]


def substitute(formula: Formula, leaf: Mapping[Any, Formula]) -> Formula:
    """The formula with leaves replaced; leaves that are not named stay.

    >>> from formulakern.syntax.formula import variables
    >>> a, b, c = variables("a b c")
    >>> substitute(a & ~b, {b: a | c})
    Formula('a & ~(a | c)')
    """

    def step(node: Formula, values: list[Formula]) -> Formula:
        if node.connective is None:
            return leaf.get(node, node)
        return Operation(node.connective, values)

    return fold(formula, step)
