"""What logic needs to know of a formula: connectives, arguments, constants, how to build one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeVar

from formulakern.errors import FormulaError
from formulakern.syntax.connectives import AND, NOT, OR, Connective
from formulakern.syntax.notation import Notation
from formulakern.syntax.traversal import postorder

__all__ = ["N", "Node", "both", "either", "letters_of", "literal", "negated"]


class Node(Protocol):
    """A formula, as far as logic looks at it."""

    @property
    def connective(self) -> Connective | None:
        """The connective at the root; None for a leaf."""

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The operands; empty for a leaf."""

    @property
    def n_leaves(self) -> int:
        """Number of leaves, with repetition."""

    @property
    def truth(self) -> bool | None:
        """The truth value of a constant; else None."""

    @property
    def no_letter(self) -> str:
        """Why a leaf is no letter, which is true or false by itself; empty if it is one."""

    def leaf_text(self, notation: Notation) -> str:
        """How a leaf prints."""

    def _built(self, row: Connective, arguments: Sequence[Any]) -> Any:
        """The formula that a connective makes of others."""

    def _constant(self, value: bool) -> Any:
        """True or false as a formula."""

    def _variable(self, name: str) -> Any:
        """The variable of this name."""


N = TypeVar("N", bound=Node)


def both(like: N, parts: Iterable[N]) -> N:
    """The conjunction of some formulas: of none it is true."""
    return _chain(like, AND, list(parts), True)


def either(like: N, parts: Iterable[N]) -> N:
    """The disjunction of some formulas: of none it is false."""
    return _chain(like, OR, list(parts), False)


def _chain(like: N, row: Connective, parts: list[N], neutral: bool) -> N:
    if len(parts) > 1:
        found: N = like._built(row, parts)
        return found
    return parts[0] if parts else like._constant(neutral)


def negated(formula: N) -> N:
    """The negation, which takes a negation off where there is one."""
    if formula.connective is NOT:
        inner: N = formula.arguments[0]
        return inner
    if formula.truth is not None:
        constant: N = formula._constant(not formula.truth)
        return constant
    built: N = formula._built(NOT, [formula])
    return built


def literal(formula: N) -> tuple[N, bool] | None:
    """The leaf and the sign of a literal; None for other formulas."""
    leaf, sign = (formula.arguments[0], False) if formula.connective is NOT else (formula, True)
    return None if leaf.connective or leaf.truth is not None else (leaf, sign)


def letters_of(formulas: Iterable[N], question: str) -> list[N]:
    """The leaves of formulas that are true or false, in order of appearance.

    Raises
    ------
    FormulaError
        If a leaf has no truth value of its own; the message says what was asked.
    """
    found: dict[N, None] = {}
    for formula in formulas:
        for node in postorder(formula):
            if node.connective is None and node.truth is None:
                found.setdefault(node)
    for leaf in found:
        if leaf.no_letter:
            raise FormulaError(f"{question} needs names that are true or false: {leaf.no_letter}")
    return list(found)
