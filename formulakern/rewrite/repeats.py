"""Arguments that a chain of "and" or "or" repeats are left out."""

from __future__ import annotations

from formulakern.syntax.connectives import AND, OR
from formulakern.syntax.formula import Formula, Operation
from formulakern.syntax.traversal import fold

__all__ = ["without_repeats"]


def without_repeats(formula: Formula) -> Formula:
    """The same Boolean function: ``a & a`` as ``a``, ``(a & b) & a`` as ``a & b``, the same for or.

    An instance of a template repeats a column wherever two variables stand for one.  A formula
    without repetitions comes back in the same words.

    Examples
    --------
    >>> from formulakern.syntax.parser import parse
    >>> without_repeats(parse("(a & b) & a | a & b"))
    Formula('a & b')
    """

    def build(node: Formula, parts: list[Formula]) -> Formula:
        connective = node.connective
        if connective is None:
            return node
        if connective in (AND, OR):
            flat = [
                argument
                for part in parts
                for argument in (part.arguments if part.connective is connective else (part,))
            ]
            parts = list(dict.fromkeys(flat))
            if len(parts) == 1:
                return parts[0]
        return Operation(connective, parts)

    return fold(formula, build)
