"""Families of Boolean features: feature spaces whose kernels depend on one integer.

Write s = ⟨x,z⟩ for the columns that are 1 in both rows, and m = n − p − q + 2s for the columns in
which the rows agree.  Choosing features over columns makes K a function f(s), choosing them over
literals (a column or its negation) a function f(m).  A family computes f exactly, for every n, as
numbers m·2^e in pairs of integers: counts, and counts weighted by float64 numbers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.checks import check_integer, check_number
from formulakern.errors import MagnitudeError, ParameterError
from formulakern.kernels.boolean.real import (
    RowPairs,
    elementary_symmetric,
    product_less_one,
    product_of_one_plus,
)

if TYPE_CHECKING:
    import sympy

__all__ = [
    "TINY",
    "ClausesOfClauses",
    "Conjunctions",
    "Family",
    "FeatureSpace",
    "Powers",
    "Subsets",
    "degree",
    "leading",
    "rounded",
]

#: A non-negative number m·2^e, as the integers (m, e).
Dyadic = tuple[int, int]

#: Digits that are kept where a number has more than float64 could ever show: ten times as many.
WORKING_BITS = 512
#: The smallest positive number that float64 holds with all its digits.
TINY = 2.0**-1022


def of_float(number: float) -> tuple[int, int]:
    """(a, b) with number = a / 2^b and b ≥ 0, exactly.

    >>> of_float(0.75), of_float(3.0)
    ((3, 2), (3, 0))
    """
    numerator, denominator = float(number).as_integer_ratio()
    return numerator, denominator.bit_length() - 1


def leading(value: int, exponent: int) -> Dyadic:
    """The number, cut after its first ``WORKING_BITS`` binary digits."""
    drop = max(0, value.bit_length() - WORKING_BITS)
    return value >> drop, exponent + drop


def shifted(value: int, digits: int) -> int:
    """⌊value·2^digits⌋."""
    return value << digits if digits >= 0 else value >> -digits


def rounded(value: Dyadic, total: Dyadic = (1, 0)) -> float:
    """The float64 nearest to value / total: inf beyond its range, nan where positive and tiny.

    >>> rounded((3, -1)), rounded((0, 5)), rounded((1, 1024)), rounded((1, -1023))
    (1.5, 0.0, inf, nan)
    >>> rounded((1, 3), (1, 5)), rounded((1, 0), (1, 1022)), rounded((1, 0), (1, 1023))
    (0.25, 2.2250738585072014e-308, nan)
    """
    shift = value[1] - total[1]
    size = value[0].bit_length() - total[0].bit_length() + shift  # of the quotient's digits, ± 1
    if not value[0]:
        return 0.0
    if size > 1030:
        return math.inf
    if size < -1030:
        return math.nan
    try:
        share = (value[0] << max(shift, 0)) / (total[0] << max(-shift, 0))
    except OverflowError:
        return math.inf
    return share if share >= TINY else math.nan


def binomials(k: int) -> Iterator[int]:
    """C(0, k), C(1, k), … without end; zeros for k = −1.

    >>> from itertools import islice
    >>> list(islice(binomials(2), 6))
    [0, 0, 1, 3, 6, 10]
    """
    value, t = int(k == 0), 0
    while True:
        yield value
        t += 1
        value = int(t == k) if t <= k else value * t // (t - k)


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
        """The weight of every clause of this length; 0 for lengths that are not in the space."""
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
    """Conjunctions of any number of columns, k of weight σ^(k/2): f(t) = (1 + σ)^t, or less 1."""

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
    """The polynomial kernel f(t) = (t + c)^d: conjunctions of at most d columns, weighted."""

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
