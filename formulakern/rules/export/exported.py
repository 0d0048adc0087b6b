"""Rules of all kinds as two: the first that covers a row decides, or all that cover it vote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from formulakern.arrays import FloatArray
from formulakern.rules.column_types import ColumnType, inferred_types, read_types
from formulakern.rules.features import Monomial, Term
from formulakern.rules.rule import Rule

__all__ = ["FirstRule", "Votes", "term_types"]


@dataclass(frozen=True)
class FirstRule:
    """R rules, of which the first that covers a row decides its class.

    Parameters
    ----------
    terms : sequence of R Rule
    labels : sequence of R + 1
        The class of each rule, and of rows that no rule covers.
    name : str
        Of such rules in an error: "a list of rules".
    classes : sequence of K, optional
    probabilities : sequence of R + 1 sequences, optional
        The probability of each class where a rule decides, and for other rows.
    """

    terms: Sequence[Rule]
    labels: Sequence[Any]
    name: str
    classes: Sequence[Any] = ()
    probabilities: Sequence[Sequence[float]] = ()


@dataclass(frozen=True)
class Votes:
    """R terms that add up to a number, to a score that levels part, or to scores of K classes.

    Parameters
    ----------
    terms : sequence of R Term
    votes : ndarray of shape (R, K)
    intercept : sequence of K float
    labels : sequence, or None
        Classes or levels; None for a number.
    thresholds : sequence of float, optional
        The largest score of every level but the last one.
    target : str
        The name of a number.
    default : tuple
        The class of rows whose scores are all 0; empty if they are of the first class.
    is_opposite : bool
        Whether there are two scores, the second the first times −1.
    """

    terms: Sequence[Term]
    votes: FloatArray
    intercept: Sequence[float]
    labels: Sequence[Any] | None
    thresholds: Sequence[float] | None = None
    target: str = "y"
    default: tuple[Any, ...] = ()
    is_opposite: bool = False

    @property
    def factors(self) -> list[str]:
        """The columns of monomials, without which a row has no class."""
        columns = (t.columns for t in self.terms if isinstance(t, Monomial))
        return list(dict.fromkeys(name for names in columns for name in names))


def term_types(terms: Sequence[Term], types: Any = None) -> dict[str, ColumnType]:
    """Return the types of the columns that terms read: those given, else what the terms suggest.

    >>> from formulakern.rules.rule import rule
    >>> term_types([rule("odor = foul"), Monomial(("size", "age"))], {"age": [1, 2]})
    {'size': 'number', 'age': 'integer', 'odor': 'text'}
    """
    numeric = [name for term in terms if not isinstance(term, Rule) for name in term.columns]
    formulas = (term.formula for term in terms if isinstance(term, Rule))
    return inferred_types(formulas, numeric) | read_types(types)
