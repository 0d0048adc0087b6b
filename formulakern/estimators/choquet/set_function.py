"""Set functions μ on n columns, by their Möbius transforms m: μ(A) = Σ m(T) over T ⊆ A.

Of the two kinds here, one is a sum over rows: the model Σᵢ βᵢ·K(xᵢ, ·) of a Choquet kernel has
m(T) = Σᵢ βᵢ·min_T xᵢ over the sets T of at most k columns.  With the sorted entries
x₍₁₎ ≥ x₍₂₎ ≥ … of a row, their differences wₗ = x₍ₗ₎ − x₍ₗ₊₁₎ and the level sets Sₗ, the columns of
the l largest, min_T x is the sum of wₗ over the Sₗ that hold T.  So everything below is a sum over
level sets of something that depends on their size alone.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.kernels.boolean.counted import Conjunctions

__all__ = ["PairFunction", "RowFunction", "SetFunction", "monotonicity_degree", "pair_features"]

#: Up to so many columns, all sets are listed.
LISTED = 20
#: Pairs of sets that are drawn where there are more, so many at a time, until either the one or
#: the entries that were looked at in all are enough.
DRAWN, AT_A_TIME, ENOUGH = 10_000, 500, 1 << 27
#: A decrease within this share of the largest |μ| is rounding.
ROUNDING = 1e-9


class SetFunction(ABC):
    """A set function on n columns that is 0 on the empty set."""

    n: int

    @property
    @abstractmethod
    def entries(self) -> int:
        """How many numbers describe it."""

    @abstractmethod
    def moebius(self, columns: Sequence[int]) -> float:
        """m of a set."""

    @abstractmethod
    def measures(self, sets: npt.NDArray[np.bool_]) -> FloatArray:
        """μ of sets, given as rows of shape (sets, n)."""

    @abstractmethod
    def transform(self) -> FloatArray:
        """m of all 2^n sets; column i is in set t where bit i of t is 1."""

    @abstractmethod
    def shapley(self) -> FloatArray:
        """The Shapley value of each column, Σ m(T) / |T| over the sets T that hold it: (n,)."""

    @abstractmethod
    def interactions(self) -> FloatArray:
        """The interaction index of two columns, Σ m(T) / (|T| − 1) over T that hold both: (n, n).

        Zero on the diagonal.
        """

    def measure(self, columns: Sequence[int]) -> float:
        """μ of a set."""
        chosen = np.zeros((1, self.n), dtype=bool)
        chosen[0, list(columns)] = True
        return float(self.measures(chosen)[0])


@dataclass(frozen=True, eq=False)
class RowFunction(SetFunction):
    """m(T) = Σᵢ βᵢ·min_T xᵢ over the sets of at most k columns.

    Parameters
    ----------
    rows : ndarray of shape (s, n), float64
        Non-negative rows xᵢ.
    weights : ndarray of shape (s,), float64
        The number of sets, Σ C(n, r) over r = 1 … k, times βᵢ: βᵢ alone may be below float64.
    additivity : int
        k.
    """

    rows: FloatArray
    weights: FloatArray
    additivity: int

    @property
    def n(self) -> int:  # type: ignore[override]
        """The number of columns."""
        return int(self.rows.shape[1])

    @property
    def entries(self) -> int:
        """Those of the rows."""
        return self.rows.size

    def moebius(self, columns: Sequence[int]) -> float:
        """Σᵢ βᵢ·min_T xᵢ."""
        if not 1 <= len(columns) <= self.additivity:
            return 0.0
        least = self.rows[:, list(columns)].min(axis=1)
        return float(self.weights @ least) / _sets(self.n, self.additivity)

    def measures(self, sets: npt.NDArray[np.bool_]) -> FloatArray:
        """Σᵢ βᵢ·Σⱼ x₍ⱼ₎·g(j − 1), the entries of a set sorted; g(t) = Σ C(t, r) over r < k."""
        total = _sets(self.n, self.additivity)
        sums = islice(_sums(self.additivity), self.n + 1)
        growth = np.array([(b - a) / total for a, b in pairwise(sums)])
        order = np.argsort(-self.rows, axis=1)
        found = np.zeros(len(sets))
        for row, weight, places in zip(self.rows, self.weights, order, strict=True):
            inside = sets[:, places]
            rank = np.cumsum(inside, axis=1) - 1
            found += weight * ((inside * growth[rank]) @ row[places])
        return found

    def transform(self) -> FloatArray:
        """The level sets that hold T, summed for all T at once, in O(n·2^n)."""
        order, steps = self._levels()
        masks = np.cumsum(1 << order, axis=1)
        m = np.zeros(1 << self.n)
        np.add.at(m, masks.ravel(), (self.weights[:, None] * steps).ravel())
        for column in range(self.n):
            halves = m.reshape(-1, 2, 1 << column)
            halves[:, 0] += halves[:, 1]
        m[0] = 0.0
        if self.additivity < self.n:
            m[np.bitwise_count(np.arange(1 << self.n)) > self.additivity] = 0.0
        return m / _sets(self.n, self.additivity)

    def shapley(self) -> FloatArray:
        """Σᵢ βᵢ·Σₗ wₗ·[column in Sₗ]·Σ C(l, r) / l over r = 1 … k."""
        order, steps = self._levels()
        shares = steps * _per_size(self.n, self.additivity, 0)
        found = np.zeros(self.rows.shape)
        np.put_along_axis(found, order, _from_here_on(shares), axis=1)
        return np.asarray(self.weights @ found)

    def interactions(self) -> FloatArray:
        """Σᵢ βᵢ·Σₗ wₗ·[both in Sₗ]·Σ C(l − 1, r) / (l − 1) over r = 1 … k − 1."""
        order, steps = self._levels()
        shares = _from_here_on(steps * _per_size(self.n, self.additivity, 1))
        place = np.argsort(order, axis=1)
        found = np.zeros((self.n, self.n))
        for weight, row, where in zip(self.weights, shares, place, strict=True):
            found += weight * row[np.maximum(where[:, None], where[None, :])]
        np.fill_diagonal(found, 0.0)
        return found

    def _levels(self) -> tuple[npt.NDArray[np.intp], FloatArray]:
        """The columns of every row by descending entry, and the widths of its levels."""
        order = np.argsort(-self.rows, axis=1, kind="stable")
        entries = np.take_along_axis(self.rows, order, axis=1)
        return order, entries - np.append(entries[:, 1:], np.zeros((len(entries), 1)), axis=1)


@dataclass(frozen=True, eq=False)
class PairFunction(SetFunction):
    """A 2-additive set function, by its Möbius transform.

    Parameters
    ----------
    single : ndarray of shape (n,), float64
        m({i}).
    pairs : ndarray of shape (n, n), float64
        m({i, j}), symmetric with a zero diagonal.
    """

    single: FloatArray
    pairs: FloatArray

    @property
    def n(self) -> int:  # type: ignore[override]
        """The number of columns."""
        return len(self.single)

    @property
    def entries(self) -> int:
        """Those of the matrix."""
        return self.pairs.size

    def moebius(self, columns: Sequence[int]) -> float:
        """Looked up."""
        match list(columns):
            case [i]:
                return float(self.single[i])
            case [i, j]:
                return float(self.pairs[i, j])
        return 0.0

    def measures(self, sets: npt.NDArray[np.bool_]) -> FloatArray:
        """Σ m({i}) + Σ m({i, j}) within the set."""
        inside = sets.astype(np.float64)
        return np.asarray(inside @ self.single + ((inside @ self.pairs) * inside).sum(axis=1) / 2)

    def transform(self) -> FloatArray:
        """Zero but for sets of one and two columns."""
        m = np.zeros(1 << self.n)
        single = 1 << np.arange(self.n)
        m[single] = self.single
        i, j = np.triu_indices(self.n, 1)
        m[single[i] | single[j]] = self.pairs[i, j]
        return m

    def shapley(self) -> FloatArray:
        """m({i}) + Σⱼ m({i, j}) / 2."""
        return np.asarray(self.single + self.pairs.sum(axis=1) / 2)

    def interactions(self) -> FloatArray:
        """m({i, j})."""
        return self.pairs.copy()

    def integrals(self, degrees: FloatArray) -> FloatArray:
        """Return the Choquet integral Σ m(T)·min_T x of every row."""
        m = np.append(self.single, self.pairs[np.triu_indices(self.n, 1)])
        return np.asarray(pair_features(degrees, 2) @ m)


def pair_features(rows: FloatArray, additivity: int) -> FloatArray:
    """Return the entries of each row, and for additivity 2 the minima of two: (rows, p).

    >>> pair_features(np.array([[0.5, 1.0, 0.25]]), 2)
    array([[0.5 , 1.  , 0.25, 0.5 , 0.25, 0.25]])
    """
    i, j = np.triu_indices(rows.shape[1], 1)
    pairs = [np.minimum(rows[:, i], rows[:, j])] if additivity > 1 else []
    return np.concatenate([rows, *pairs], axis=1)


def monotonicity_degree(function: SetFunction, seed: int) -> tuple[float, float]:
    """The share of the pairs A ⊂ A ∪ {i} for which μ does not decrease, and its standard error.

    All n·2^(n−1) pairs count where n is at most 20, and the error is 0.0; beyond, up to 10,000 are
    drawn.
    Decreases by less than 10⁻⁹ of the largest |μ| are taken for rounding.

    Examples
    --------
    >>> monotonicity_degree(PairFunction(np.array([1.0, -1.0]), np.zeros((2, 2))), 0)
    (0.5, 0.0)
    """
    n = function.n
    if n <= LISTED:
        values = function.transform()
        for column in range(n):
            halves = values.reshape(-1, 2, 1 << column)
            halves[:, 1] += halves[:, 0]
        least = -ROUNDING * np.abs(values).max()
        halved = (values.reshape(-1, 2, 1 << column) for column in range(n))
        kept = sum(int((pair[:, 1] - pair[:, 0] >= least).sum()) for pair in halved)
        return kept / (n << (n - 1)), 0.0
    generator = np.random.default_rng(seed)
    kept, drawn = 0, 0
    while drawn < DRAWN and drawn * function.entries < ENOUGH:
        drawn += AT_A_TIME
        sets = generator.random((AT_A_TIME, n)) < 0.5
        added = np.arange(AT_A_TIME), generator.integers(n, size=AT_A_TIME)
        sets[added] = False
        before = function.measures(sets)
        sets[added] = True
        after = function.measures(sets)
        largest = np.maximum(np.abs(before), np.abs(after)).max()
        kept += int((after - before >= -ROUNDING * largest).sum())
    likely = (kept + 1) / (drawn + 2)  # never certain
    return kept / drawn, math.sqrt(likely * (1 - likely) / drawn)


def _sums(k: int) -> Iterator[int]:
    """Σ C(s, r) over r = 1 … k, for s = 0, 1, …"""
    return (value for value, _ in Conjunctions("conjunction", False, 1, k).values(0))


@lru_cache(maxsize=32)
def _sets(n: int, k: int) -> int:
    """How many sets of 1 … k columns there are."""
    return Conjunctions("conjunction", False, 1, k).size(n)


def _per_size(n: int, k: int, held: int) -> FloatArray:
    """Σ C(l − held, r) / (l − held) over r = 1 … k − held, l = 1 … n, by the number of sets."""
    if k == held:
        return np.zeros(n)
    total = _sets(n, k)
    sums = list(islice(_sums(k - held), n + 1))
    sizes = range(1 - held, n + 1 - held)
    return np.array([sums[size] / (size * total) if size else 0.0 for size in sizes])


def _from_here_on(values: FloatArray) -> FloatArray:
    """Sums from each entry of a row to its end."""
    return np.cumsum(values[:, ::-1], axis=1)[:, ::-1]
