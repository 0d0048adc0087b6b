"""The families: conjunctions, disjunctions, and clauses joined to normal forms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from formulakern.backends.base import FloatArray
from formulakern.errors import ParameterError
from formulakern.kernels.boolean.dyadic import Dyadic, binomials, leading, of_float, shifted
from formulakern.kernels.boolean.family import Family, FeatureSpace, Form, in_words
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


class Clauses(FeatureSpace, Family):
    """A family whose features are single clauses: it is its own feature space."""

    @property
    def features(self) -> FeatureSpace:
        """The family itself."""
        return self

    def dimension(self, n: int) -> int:
        """The number of clauses."""
        return self.size(n)


@dataclass(frozen=True)
class Conjunctions(Clauses):
    """All conjunctions of ``min_length`` … ``max_length`` different columns: f(t) = Σ C(t, k)."""

    max_length: int

    @property
    def accepts_real(self) -> bool:
        """Columns of one length only: the elementary symmetric polynomial."""
        return not self.signed and self.min_length == self.max_length

    @property
    def description(self) -> str:
        """The features, in words."""
        exactly = self.min_length == self.max_length
        number = f"{self.max_length}" if exactly else f"{self.min_length} to {self.max_length}"
        return f"conjunctions of {number} {in_words(self.signed)}"

    def check(self, n: int) -> None:
        """At least ``min_length`` columns."""
        _check_columns(self.min_length, n)

    def dimension(self, n: int) -> int:
        """The number of conjunctions."""
        self.check(n)
        return self.size(n)

    def values(self, n: int, kinds: int = 1) -> Iterator[Dyadic]:  # noqa: ARG002
        """By Pascal's rule, summed over the lengths."""
        value = int(self.min_length == 0)
        lengths = (self.max_length, self.min_length - 1)
        for last, before in zip(*map(binomials, lengths), strict=True):
            yield value, 0
            value += value - last + before

    def closed_form(self, t: sympy.Expr, n: sympy.Expr, kinds: int = 1) -> sympy.Expr:  # noqa: ARG002
        """Σ C(t, k), times kinds^k."""
        import sympy

        if self.min_length == self.max_length:
            return kinds**self.max_length * sympy.binomial(t, self.max_length)
        k = sympy.Symbol("k", integer=True, nonnegative=True)
        return sympy.Sum(kinds**k * sympy.binomial(t, k), (k, self.min_length, self.max_length))

    def real(self, pairs: RowPairs) -> FloatArray:
        """e_d(x∘z)."""
        return elementary_symmetric(pairs, self.max_length)


@dataclass(frozen=True)
class Subsets(Clauses):
    """Conjunctions of any number of different columns: f(t) = (1 + σ)^t, less 1 without the empty.

    Parameters
    ----------
    sigma : float
        The squared weight of a conjunction of k literals is σ^k.
    """

    sigma: float = 1.0

    #: It is a function of products of entries.
    accepts_real: ClassVar[bool] = True

    @property
    def description(self) -> str:
        """The features, in words."""
        weight = f", those of k weighted by {self.sigma!r}^(k/2)" if self.weighted else ""
        least = "at least one" if self.min_length else "the empty one included"
        return f"conjunctions of any number of {in_words(self.signed)}, {least}{weight}"

    @property
    def weighted(self) -> bool:
        """Unless σ is 1."""
        return self.sigma != 1

    def squared_weight(self, length: int) -> float:
        """σ^length."""
        return self.sigma**length

    def values(self, n: int, kinds: int = 1) -> Iterator[Dyadic]:  # noqa: ARG002
        """(1 + kinds·σ)^t, less 1 without the empty one, to ``WORKING_BITS`` digits.

        P ← P + kinds·σ + P·kinds·σ, from 0; plus 1 with the empty one.
        """
        rate, digits = of_float(self.sigma)
        rate *= kinds
        value, exponent = 0, 0  # value·2^exponent = (1 + kinds·σ)^t − 1
        while True:
            yield value + (1 - self.min_length) * shifted(1, -exponent), exponent
            value = (value << digits) + value * rate + shifted(rate, -exponent)
            exponent -= digits
            value, exponent = leading(value, exponent)

    def closed_form(self, t: sympy.Expr, n: sympy.Expr, kinds: int = 1) -> sympy.Expr:  # noqa: ARG002
        """(1 + kinds·σ)^t, less 1 without the empty one."""
        return (1 + kinds * _rational(self.sigma)) ** t - self.min_length

    def real(self, pairs: RowPairs) -> FloatArray:
        """Π (1 + σ·tᵢ), less 1 without the empty one."""
        if not self.min_length:
            return product_of_one_plus(pairs)
        return product_less_one(pairs, self.sigma, self.signed)


@dataclass(frozen=True)
class Powers(Clauses):
    """The polynomial kernel f(t) = (t + c)^d: conjunctions of at most d columns, weighted.

    Parameters
    ----------
    max_length : int
        The degree d.
    constant : float
        At least 0; the empty conjunction is a feature where it is positive.
    """

    max_length: int
    constant: float = 1.0

    #: It is a function of products of entries.
    accepts_real: ClassVar[bool] = True
    #: By length.
    weighted: ClassVar[bool] = True

    @property
    def description(self) -> str:
        """The features, in words."""
        least, d = "at least one and " * self.min_length, self.max_length
        return (
            f"conjunctions of {least}at most {d} different columns, those of k weighted "
            f"by √Σⱼ C({d}, j)·c^({d} − j)·k!·S(j, k), c = {self.constant!r}"
        )

    def squared_weight(self, length: int) -> float:
        """The length-th difference of f at 0, as f(t) = Σ w_k²·C(t, k)."""
        self.check(length)
        value = 0
        for t, (power, _) in enumerate(islice(self.values(length), length + 1)):
            value += (-1) ** (length - t) * math.comb(length, t) * power
        _, digits = of_float(self.constant)
        return value / (1 << digits * self.max_length)

    def check(self, n: int) -> None:
        """Numbers that can be written out."""
        numerator, digits = of_float(self.constant)
        bits = (max(numerator, 1) + (n << digits)).bit_length()
        _check_bits(self.max_length * bits, self.max_length)

    def values(self, n: int, kinds: int = 1) -> Iterator[Dyadic]:  # noqa: ARG002
        """(t·2^b + a)^d / 2^(b·d), for c = a / 2^b."""
        self.check(n)
        value, digits = of_float(self.constant)
        while True:
            yield value**self.max_length, -digits * self.max_length
            value += 1 << digits

    def closed_form(self, t: sympy.Expr, n: sympy.Expr, kinds: int = 1) -> sympy.Expr:  # noqa: ARG002
        """(t + c)^d."""
        return (t + _rational(self.constant)) ** self.max_length

    def real(self, pairs: RowPairs) -> FloatArray:
        """(⟨x, z⟩ + c)^d."""
        base = pairs.inner() + self.constant
        return np.asarray(base**self.max_length)


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
        if self.outer != 1:
            return None
        form: Form = "conjunction" if self.disjunctive else "disjunction"
        return FeatureSpace(form, True, self.inner, self.inner)

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

    def _same(self, n: Any, binomial: Callable[[Any, int], Any]) -> Any:
        """What does not depend on the rows: C(N, d) − 2·C(N − F, d) for disjunctions of clauses."""
        if not self.disjunctive:
            return 0
        each = binomial(n, self.inner)
        whole = binomial(2**self.inner * each, self.outer)
        return whole - 2 * binomial((2**self.inner - 1) * each, self.outer)

    def values(self, n: int, kinds: int = 1) -> Iterator[Dyadic]:  # noqa: ARG002
        """In exact integers, with subtraction."""
        self.check(n)
        same = self._same(n, math.comb)
        neither = self._clauses(n) - 2 * math.comb(n, self.inner)
        for agreeing in binomials(self.inner):
            yield same + math.comb(neither + agreeing, self.outer), 0

    def dimension(self, n: int) -> int:
        """C(2^c·C(n, c), d)."""
        self.check(n)
        return math.comb(self._clauses(n), self.outer)

    def closed_form(self, t: sympy.Expr, n: sympy.Expr, kinds: int = 1) -> sympy.Expr:  # noqa: ARG002
        """In binomial coefficients of binomial coefficients."""
        from sympy import binomial

        c = self.inner
        last = binomial((2**c - 2) * binomial(n, c) + binomial(t, c), self.outer)
        return self._same(n, binomial) + last

    def closed_total(self, n: sympy.Expr) -> sympy.Expr:
        """C(2^c·C(n, c), d)."""
        from sympy import binomial

        return binomial(2**self.inner * binomial(n, self.inner), self.outer)


def _rational(number: float) -> Any:
    import sympy

    return sympy.nsimplify(number, rational=True)
