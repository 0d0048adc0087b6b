"""Families of disjunctions of literals, and of clauses joined to normal forms."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from formulakern.errors import ParameterError
from formulakern.kernels.boolean.degrees import check_bits, check_columns
from formulakern.kernels.boolean.dyadic import Dyadic, binomials
from formulakern.kernels.boolean.family import Family, FeatureSpace, in_words

if TYPE_CHECKING:
    import sympy

__all__ = ["ClausesOfClauses", "Disjunctions"]


@dataclass(frozen=True)
class Disjunctions(Family):
    """Disjunctions of d literals of different columns: f(t) = (2^d − 2)·C(n, d) + C(t, d).

    Of the 2^d choices of signs on d columns each row makes one false; the two choices are the
    same where the rows agree on all d columns.

    Parameters
    ----------
    length : int
    """

    length: int

    signed: bool = field(default=True, init=False)

    @property
    def description(self) -> str:
        """The features, in words."""
        return f"disjunctions of {self.length} {in_words(True)}"

    @property
    def features(self) -> FeatureSpace:
        """Disjunctions of weight 1."""
        return FeatureSpace("disjunction", True, self.length, self.length)

    def check(self, n: int) -> None:
        """At least d columns."""
        check_columns(self.length, n)

    def values(self, n: int) -> Iterator[Dyadic]:
        """Counted apart from the clauses that one row makes false."""
        always = ((1 << self.length) - 2) * math.comb(n, self.length)
        for agreeing in binomials(self.length):
            yield always + agreeing, 0

    def total(self, n: int) -> Dyadic:
        """The dimension."""
        return self.dimension(n), 0

    def dimension(self, n: int) -> int:
        """2^d·C(n, d)."""
        self.check(n)
        return math.comb(n, self.length) << self.length

    def closed_form(self, t: sympy.Expr, n: sympy.Expr) -> sympy.Expr:
        """(2^d − 2)·C(n, d) + C(t, d)."""
        import sympy

        d = self.length
        return (2**d - 2) * sympy.binomial(n, d) + sympy.binomial(t, d)

    def closed_total(self, n: sympy.Expr) -> sympy.Expr:
        """2^d·C(n, d)."""
        import sympy

        return 2**self.length * sympy.binomial(n, self.length)


@dataclass(frozen=True)
class ClausesOfClauses(Family):
    """Choices of d different clauses of c literals: disjunctions of conjunctions, or the reverse.

    There are N = 2^c·C(n, c) clauses in all.  Of the conjunctions F = C(n, c) are true in each row
    and C(t, c) in both, so that N − 2F + C(t, c) are true in neither, and the disjunctions of d of
    them that are true in both rows number f(t) = C(N, d) − 2·C(N − F, d) + C(N − 2F + C(t, c), d).
    Of the disjunctions N − 2F + C(t, c) are true in both rows; conjunctions choose d of these.

    Parameters
    ----------
    outer : int
        d, the number of clauses.
    inner : int
        c, the number of literals in each.
    disjunctive : bool
        Whether the clauses are conjunctions joined by "or" (DNF), not the reverse (CNF).
    """

    outer: int
    inner: int
    disjunctive: bool

    signed: bool = field(default=True, init=False)

    @property
    def description(self) -> str:
        """The features, in words."""
        joined = ("disjunctions", "conjunctions")
        whole, part = joined if self.disjunctive else joined[::-1]
        return f"{whole} of {self.outer} different {part} of {self.inner} {in_words(True)} each"

    def check(self, n: int) -> None:
        """At least c columns, and at least d clauses."""
        check_columns(self.inner, n, "c")
        clauses = self._clauses(n)
        if self.outer > clauses:
            raise ParameterError(
                f"d={self.outer:,} different clauses are asked for, and over {n:,} columns there "
                f"are 2^{self.inner}·C({n:,}, {self.inner}) = {clauses:,} clauses of {self.inner} "
                f"literals. Choose d of at most {clauses:,}."
            )
        choices = min(self.outer, clauses - self.outer)
        check_bits(choices * (clauses.bit_length() - choices.bit_length() + 3), self.outer)

    def _clauses(self, n: int) -> int:
        return math.comb(n, self.inner) << self.inner

    def values(self, n: int) -> Iterator[Dyadic]:
        """In exact integers, with subtraction."""
        self.check(n)
        d, each, clauses = self.outer, math.comb(n, self.inner), self._clauses(n)
        one = 2 * math.comb(clauses - each, d)
        whole = math.comb(clauses, d)
        for agreeing in binomials(self.inner):
            neither = math.comb(clauses - 2 * each + agreeing, d)
            yield (whole - one + neither if self.disjunctive else neither), 0

    def total(self, n: int) -> Dyadic:
        """The dimension."""
        return self.dimension(n), 0

    def dimension(self, n: int) -> int:
        """C(2^c·C(n, c), d)."""
        self.check(n)
        return math.comb(self._clauses(n), self.outer)

    def closed_form(self, t: sympy.Expr, n: sympy.Expr) -> sympy.Expr:
        """In binomial coefficients of binomial coefficients."""
        import sympy

        d, c = self.outer, self.inner
        each = sympy.binomial(n, c)
        last = sympy.binomial((2**c - 2) * each + sympy.binomial(t, c), d)
        if not self.disjunctive:
            return last
        whole = sympy.binomial(2**c * each, d)
        return whole - 2 * sympy.binomial((2**c - 1) * each, d) + last

    def closed_total(self, n: sympy.Expr) -> sympy.Expr:
        """C(2^c·C(n, c), d)."""
        import sympy

        return sympy.binomial(2**self.inner * sympy.binomial(n, self.inner), self.outer)
