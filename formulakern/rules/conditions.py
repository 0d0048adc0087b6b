"""Formulas of comparisons as conditions of another language: SQL, Python, data frames."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial, reduce
from typing import ClassVar, Generic, TypeVar

from formulakern.errors import DataError
from formulakern.syntax.connectives import ARGUMENTS
from formulakern.syntax.formula import Constant, Formula, Variable, fold
from formulakern.syntax.leaves import Comparison

__all__ = ["ConditionWriter"]

T = TypeVar("T")


class ConditionWriter(ABC, Generic[T]):
    """Writes a formula as a condition, from its leaves and NOT, AND, OR and equality.

    Every part of the formula is written once, whatever its connectives are.
    """

    #: What a formula without columns cannot be written as.
    TARGET: ClassVar[str]

    def condition(self, formula: Formula) -> T:
        """Return the condition of a formula."""

        def build(node: Formula, parts: list[T]) -> T:
            if isinstance(node, Constant):
                return self.constant(bool(node.value))
            if isinstance(node, Variable):
                return self.truth(node.name)
            if isinstance(node, Comparison):
                return self.comparison(node)
            if node.connective is None:
                raise DataError(f"{node} has no {self.TARGET}; write the rule with comparisons.")
            if node.connective.arity == 1:
                return self.negated(parts[0])
            if node.connective.name in ("and", "or"):
                return self.joined(node.connective.name, parts)
            return reduce(partial(self._connected, node.connective.truth), parts)

        return fold(formula, build)

    def _connected(self, truth: str, left: T, right: T) -> T:
        """Return two conditions joined by the truth table of a connective."""

        def literal(part: T, value: bool) -> T:
            return part if value else self.negated(part)

        ones = [case for case, bit in zip(ARGUMENTS, truth, strict=True) if bit == "1"]
        if len(ones) == 2:
            (a, b), (c, d) = ones
            if a == c:
                return literal(left, bool(a))
            if b == d:
                return literal(right, bool(b))
            return self.equal(left, right, a == b)
        if len(ones) == 1:
            ((a, b),) = ones
            return self.joined("and", [literal(left, bool(a)), literal(right, bool(b))])
        ((a, b),) = [case for case in ARGUMENTS if case not in ones]
        return self.joined("or", [literal(left, not a), literal(right, not b)])

    @abstractmethod
    def constant(self, value: bool) -> T:
        """Return a condition that is always true or always false."""

    @abstractmethod
    def truth(self, name: str) -> T:
        """Return the condition that a column is true, or 1."""

    @abstractmethod
    def comparison(self, leaf: Comparison) -> T:
        """Return the condition of a comparison."""

    @abstractmethod
    def negated(self, part: T) -> T:
        """Return the condition that another one is not true."""

    @abstractmethod
    def joined(self, word: str, parts: Sequence[T]) -> T:
        """Return conditions joined by "and" or "or"."""

    @abstractmethod
    def equal(self, left: T, right: T, same: bool) -> T:
        """Return the condition that two others are both true or both not, or else differ."""
