"""Replacing leaves of a formula by formulas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from formulakern.syntax.logic.node import N
from formulakern.syntax.traversal import fold

__all__ = ["substitute"]


def substitute(formula: N, leaf: Mapping[Any, N]) -> N:
    """The formula with leaves replaced; leaves that are not named stay.

    >>> from formulakern.syntax.formula import variables
    >>> a, b, c = variables("a b c")
    >>> substitute(a & ~b, {b: a | c})
    Formula('a & ~(a | c)')
    """

    def step(node: N, values: list[N]) -> N:
        if node.connective is None:
            return leaf.get(node, node)
        return cast(N, node._built(node.connective, values))

    return fold(formula, step)
