"""The families: conjunctions, disjunctions, and clauses joined to normal forms."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from formulakern.backends.base import FloatArray
from formulakern.errors import ParameterError
from formulakern.kernels.boolean.dyadic import (
    Dyadic,
    binomials,
    leading,
    of_float,
    plus_one,
    shifted,
)
from formulakern.kernels.boolean.family import Family, FeatureSpace, in_words
from formulakern.kernels.boolean.real import (
    RowPairs,
    elementary_symmetric,
    product_less_one,
    product_of_one_plus,
)

if TYPE_CHECKING:
    import sympy

__all__ = ["ClausesOfClauses", "Conjunctions", "Powers", "Subsets"]

#: Exact numbers with more binary digits than this are refused before they are computed.
MAX_BITS = 200_000


def _check_columns(length: int, n: int, letter: str = "d") -> None:
    """Refuse clauses of more different columns than there are."""
    if length > n:
        raise ParameterError(
            f"{letter}={length:,} different columns are asked for, and the table has {n:,}. "
            f"Choose {letter} of at most {n:,}."
        )


def _check_bits(bits: int, d: int) -> None:
    """Refuse numbers too long to compute for every entry of a table."""
    if bits > MAX_BITS:
        raise ParameterError(
            f"d={d:,} asks for numbers of about {bits:,} binary digits; at most {MAX_BITS:,} are "
            "computed. Choose a smaller d."
        )


@dataclass(frozen=True)
class Conjunctions(Family):
    """All conjunctions of ``shortest`` … ``longest`` different columns: f(t) = Σ C(t, k).

    Parameters
    ----------
    shortest, longest : int
        1 ≤ shortest ≤ longest.
    signed : bool
    """

    shortest: int
    longest: int
    signed: bool

    @property
    def accepts_real(self) -> bool:
        """Columns of one length only: the elementary symmetric polynomial."""
        return not self.signed and self.shortest == self.longest

    @property
    def description(self) -> str:
        """The features, in words."""
        exactly = self.shortest == self.longest
        number = f"{self.longest}" if exactly else f"{self.shortest} to {self.longest}"
        return f"conjunctions of {number} {in_words(self.signed)}"

    @property
    def features(self) -> FeatureSpace:
        """Conjunctions of weight 1."""
        return FeatureSpace("conjunction", self.signed, self.shortest, self.longest)

    def check(self, n: int) -> None:
        """At least ``shortest`` columns."""
        _check_columns(self.shortest, n)

    def values(self, n: int) -> Iterator[Dyadic]:  # noqa: ARG002
        """By Pascal's rule, summed over the lengths."""
        value = 0
        for last, before in zip(binomials(self.longest), binomials(self.shortest - 1), strict=True):
            yield value, 0
            value += value - last + before

    def dimension(self, n: int) -> int:
        """Σ C(n, k), times 2^k signs."""
        self.check(n)
        kinds = 1 + self.signed
        lengths = range(self.shortest, min(self.longest, n) + 1)
        return sum(math.comb(n, k) * kinds**k for k in lengths)

    def closed_form(self, t: sympy.Expr, n: sympy.Expr) -> sympy.Expr:  # noqa: ARG002
        """Σ C(t, k)."""
        return self._summed(t, 1)

    def closed_total(self, n: sympy.Expr) -> sympy.Expr:
        """Σ C(n, k), times 2^k signs."""
        return self._summed(n, 1 + self.signed)

    def _summed(self, t: sympy.Expr, kinds: int) -> sympy.Expr:
        import sympy

        if self.shortest == self.longest:
            return kinds**self.longest * sympy.binomial(t, self.longest)
        k = sympy.Symbol("k", integer=True, nonnegative=True)
        return sympy.Sum(kinds**k * sympy.binomial(t, k), (k, self.shortest, self.longest))

    def real(self, pairs: RowPairs) -> FloatArray:
        """e_d(x∘z)."""
        return elementary_symmetric(pairs.products(), self.longest, pairs.shape)


@dataclass(frozen=True)
class Subsets(Family):
    """Conjunctions of any number of different columns: f(t) = (1 + σ)^t, less 1 without the empty.

    Parameters
    ----------
    sigma : float
        The squared weight of a conjunction of k literals is σ^k.
    signed : bool
    empty : bool
        Whether the empty conjunction, which is always true, is a feature.
    """

    sigma: float
    signed: bool
    empty: bool = False

    #: It is a function of products of entries.
    accepts_real: ClassVar[bool] = True

    @property
    def description(self) -> str:
        """The features, in words."""
        weight = "" if self.sigma == 1 else f", those of k weighted by {self.sigma!r}^(k/2)"
        least = "the empty one included" if self.empty else "at least one"
        return f"conjunctions of any number of {in_words(self.signed)}, {least}{weight}"

    @property
    def features(self) -> FeatureSpace:
        """Conjunctions of k literals, of weight σ^(k/2)."""
        return FeatureSpace("conjunction", self.signed, 1 - self.empty, None, self)

    @property
    def weighted(self) -> bool:
        """Unless σ is 1."""
        return self.sigma != 1

    def squared_weight(self, length: int) -> float:
        """σ^length."""
        return self.sigma**length

    def values(self, n: int) -> Iterator[Dyadic]:  # noqa: ARG002
        """P ← P + σ + P·σ, from 0, plus 1 with the empty one."""
        return self._powers(1)

    def _powers(self, kinds: int) -> Iterator[Dyadic]:
        """(1 + kinds·σ)^t, less 1 without the empty one, to ``WORKING_BITS`` digits."""
        rate, digits = of_float(self.sigma)
        rate *= kinds
        value, exponent = 0, 0  # value·2^exponent = (1 + kinds·σ)^t − 1
        while True:
            if self.empty:
                yield plus_one(value, exponent)
            else:
                yield value, exponent
            value = (value << digits) + value * rate + shifted(rate, -exponent)
            exponent -= digits
            value, exponent = leading(value, exponent)

    def total(self, n: int) -> Dyadic:
        """(1 + σ)^n or (1 + 2σ)^n, less 1 without the empty one."""
        return next(islice(self._powers(1 + self.signed), n, None))

    def dimension(self, n: int) -> int:
        """2^n or 3^n, less 1 without the empty one."""
        return int((2 + self.signed) ** n) - int(not self.empty)

    def closed_form(self, t: sympy.Expr, n: sympy.Expr) -> sympy.Expr:  # noqa: ARG002
        """(1 + σ)^t, less 1 without the empty one."""
        return (1 + _rational(self.sigma)) ** t - int(not self.empty)

    def closed_total(self, n: sympy.Expr) -> sympy.Expr:
        """That of n true columns, twice the rate with signs."""
        return (1 + (1 + self.signed) * _rational(self.sigma)) ** n - int(not self.empty)

    def real(self, pairs: RowPairs) -> FloatArray:
        """Π (1 + σ·tᵢ), less 1 without the empty one."""
        if self.empty:
            return product_of_one_plus(pairs)
        terms = pairs.agreements() if self.signed else pairs.products()
        return product_less_one(terms, self.sigma, pairs.shape)


@dataclass(frozen=True)
class Powers(Family):
    """The polynomial kernel f(t) = (t + c)^d: conjunctions of at most d columns, weighted.

    Parameters
    ----------
    degree : int
    constant : float
        At least 0.
    """

    degree: int
    constant: float

    signed: bool = field(default=False, init=False)

    #: It is a function of products of entries.
    accepts_real: ClassVar[bool] = True

    @property
    def description(self) -> str:
        """The features, in words."""
        least = "" if self.constant else "at least one and "
        return (
            f"conjunctions of {least}at most {self.degree} different columns, those of k weighted "
            f"by √Σⱼ C({self.degree}, j)·c^({self.degree} − j)·k!·S(j, k), c = {self.constant!r}"
        )

    @property
    def features(self) -> FeatureSpace:
        """Conjunctions of at most d columns."""
        least = 0 if self.constant else 1
        return FeatureSpace("conjunction", False, least, self.degree, self)

    #: By length.
    weighted: ClassVar[bool] = True

    def squared_weight(self, length: int) -> float:
        """The length-th difference of f at 0, as f(t) = Σ w_k²·C(t, k)."""
        self.check(length)
        value = 0
        for t, (power, _) in enumerate(islice(self.values(length), length + 1)):
            value += (-1) ** (length - t) * math.comb(length, t) * power
        _, digits = of_float(self.constant)
        return value / (1 << digits * self.degree)

    def check(self, n: int) -> None:
        """Numbers that can be written out."""
        numerator, digits = of_float(self.constant)
        _check_bits(self.degree * (max(numerator, 1) + (n << digits)).bit_length(), self.degree)

    def values(self, n: int) -> Iterator[Dyadic]:
        """(t·2^b + a)^d / 2^(b·d), for c = a / 2^b."""
        self.check(n)
        value, digits = of_float(self.constant)
        while True:
            yield value**self.degree, -digits * self.degree
            value += 1 << digits

    def total(self, n: int) -> Dyadic:
        """(n + c)^d."""
        return next(islice(self.values(n), n, None))

    def dimension(self, n: int) -> int:
        """Σ C(n, k) over the lengths k that have a weight."""
        least = 0 if self.constant else 1
        return sum(math.comb(n, k) for k in range(least, min(self.degree, n) + 1))

    def closed_form(self, t: sympy.Expr, n: sympy.Expr) -> sympy.Expr:  # noqa: ARG002
        """(t + c)^d."""
        return (t + _rational(self.constant)) ** self.degree

    def closed_total(self, n: sympy.Expr) -> sympy.Expr:
        """(n + c)^d."""
        return self.closed_form(n, n)

    def real(self, pairs: RowPairs) -> FloatArray:
        """(⟨x, z⟩ + c)^d."""
        base = pairs.inner() + self.constant
        return np.asarray(base**self.degree)


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
        clauses = f"{part} of {self.inner} {in_words(True)}"
        return clauses if self.outer == 1 else f"{whole} of {self.outer} different {clauses} each"

    @property
    def features(self) -> FeatureSpace | None:
        """The clauses themselves, where only one is chosen."""
        form: Literal["conjunction", "disjunction"]
        form = "conjunction" if self.disjunctive else "disjunction"
        return FeatureSpace(form, True, self.inner, self.inner) if self.outer == 1 else None

    def check(self, n: int) -> None:
        """At least c columns, and at least d clauses."""
        _check_columns(self.inner, n, "d" if self.outer == 1 else "c")
        clauses = self._clauses(n)
        if self.outer > clauses:
            raise ParameterError(
                f"d={self.outer:,} different clauses are asked for, and over {n:,} columns there "
                f"are 2^{self.inner}·C({n:,}, {self.inner}) = {clauses:,} clauses of {self.inner} "
                f"literals. Choose d of at most {clauses:,}."
            )
        choices = min(self.outer, clauses - self.outer)
        _check_bits(choices * (clauses.bit_length() - choices.bit_length() + 3), self.outer)

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


def _rational(number: float) -> Any:
    import sympy

    return sympy.nsimplify(number, rational=True)
