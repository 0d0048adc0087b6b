"""What a family of Boolean features is: a feature space whose kernel depends on one integer.

Write s = ⟨x,z⟩ for the columns that are 1 in both rows, and m = n − p − q + 2s for the columns in
which the rows agree.  Choosing features over columns makes K a function f(s), choosing them over
literals (a column or its negation) a function f(m).  A family knows f exactly, for every n.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from formulakern.backends.base import FloatArray
from formulakern.checks import check_integer, check_number
from formulakern.errors import MagnitudeError
from formulakern.kernels.boolean.dyadic import Dyadic
from formulakern.kernels.boolean.real import RowPairs

if TYPE_CHECKING:
    import sympy

__all__ = ["MAX_DEGREE", "Family", "FeatureSpace", "Form", "degree", "in_words"]

Form = Literal["conjunction", "disjunction"]

#: Numbers of columns and of clauses are far below this.
MAX_DEGREE = 2**31


def degree(value: Any, letter: str) -> int:
    """An integer of at least 1, or ParameterError.

    >>> degree(3, "d")
    3
    """
    check_integer(letter, value)
    expected = f"an integer below {MAX_DEGREE:,}, and of at most the number of columns"
    check_number(letter, value, 1, MAX_DEGREE - 1, expected=expected)
    return int(value)


@dataclass(frozen=True)
class FeatureSpace:
    """A feature space whose features are single conjunctions, or single disjunctions, of columns.

    The feature vector of a row holds, for every clause C over different columns with
    ``min_length`` … ``max_length`` literals, the number ``weight(length of C)`` where C is true in
    the row and 0 where it is not; so K(x, z) = Σ weight² over the clauses that are true in both.

    Parameters
    ----------
    form : {"conjunction", "disjunction"}
        What joins the literals.  The empty conjunction (length 0) is the constant feature "true".
    signed : bool
        Whether a literal may be a negated column; otherwise all are columns.
    min_length : int
    max_length : int or None
        None: as many as there are columns; ``min_length`` is 0 or 1 then.

    Examples
    --------
    >>> from formulakern.kernels import boolean
    >>> space = boolean.parametric_dnf(0.25).features
    >>> space.form, space.signed, space.min_length, space.max_length, space.weight(2)
    ('conjunction', True, 1, None, 0.25)
    """

    form: Form
    signed: bool
    min_length: int
    max_length: int | None

    def squared_weight(self, length: int) -> float:  # noqa: ARG002
        """The squared weight of every clause of this length: 1 unless a family weighs them."""
        return 1.0

    def weight(self, length: int) -> float:
        """The weight of every clause of this length; 0 for lengths that are not in the space.

        Raises
        ------
        MagnitudeError
            If its square is beyond float64.
        """
        longest = length if self.max_length is None else self.max_length
        if not self.min_length <= length <= longest:
            return 0.0
        try:
            return math.sqrt(self.squared_weight(length))
        except OverflowError:
            raise MagnitudeError(
                f"the squared weight of a clause of {length:,} literals is beyond 1.8e308, the end "
                "of float64. Ask for shorter clauses."
            ) from None

    def size(self, n: int) -> int:
        """The number of clauses over n columns."""
        kinds = 1 + self.signed
        if self.max_length is None:
            return int((1 + kinds) ** n) - self.min_length
        lengths = range(self.min_length, min(self.max_length, n) + 1)
        return sum(math.comb(n, k) * kinds**k for k in lengths)


class Family(ABC):
    """A feature space on n columns and its kernel f(t), where t is s or m (see the module).

    f never decreases: more agreement makes no common feature untrue.
    """

    #: Whether features are made of literals (t = m) or of columns (t = s).
    signed: bool

    @property
    def accepts_real(self) -> bool:
        """Whether the family is defined on real vectors too."""
        return False

    def argument(self, s: Any, p: Any, q: Any, n: Any) -> Any:
        """t of rows with these counts: m for literals, s for columns."""
        return n - p - q + 2 * s if self.signed else s

    @property
    @abstractmethod
    def description(self) -> str:
        """The features, in words."""

    @property
    def features(self) -> FeatureSpace | None:
        """The feature space in a form that a search can read; None for clauses of clauses."""
        return None

    @property
    def weighted(self) -> bool:
        """Whether features have different weights; else the total weight is the dimension."""
        return False

    def check(self, n: int) -> None:  # noqa: B027
        """Refuse numbers of columns on which there are not enough features."""

    @abstractmethod
    def values(self, n: int, kinds: int = 1) -> Iterator[Dyadic]:
        """f(0), f(1), … on n columns, without end.

        Families whose features are weighted take another number of true literals in a column.
        """

    def total(self, n: int) -> Dyadic:
        """The sum of all squared weights: the dimension, where all weights are 1."""
        if self.weighted:
            return next(islice(self.values(n, 1 + self.signed), n, None))
        return self.dimension(n), 0

    @abstractmethod
    def dimension(self, n: int) -> int:
        """The number of features."""

    @abstractmethod
    def closed_form(self, t: sympy.Expr, n: sympy.Expr, kinds: int = 1) -> sympy.Expr:
        """f(t) as a SymPy expression, where each column gives so many true literals."""

    def closed_total(self, n: sympy.Expr) -> sympy.Expr:
        """The sum of all squared weights as a SymPy expression."""
        return self.closed_form(n, n, 1 + self.signed)

    def real(self, pairs: RowPairs) -> FloatArray:
        """The kernel of pairs of real rows, where ``accepts_real``."""
        raise NotImplementedError(f"{type(self).__name__} is defined on 0 and 1 alone")


def in_words(signed: bool) -> str:
    """What clauses are made of."""
    return "literals of different columns" if signed else "different columns"
