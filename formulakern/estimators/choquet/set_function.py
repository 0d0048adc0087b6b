"""Set functions μ on n columns, by their Möbius transforms m: μ(A) = Σ m(T) over T ⊆ A.

The model Σᵢ βᵢ·K(xᵢ, ·) of a Choquet kernel has m(T) = Σᵢ βᵢ·min_T xᵢ over the sets T of at most k
columns.  A row has the sorted entries x₍₁₎ ≥ x₍₂₎ ≥ …, their differences wₗ = x₍ₗ₎ − x₍ₗ₊₁₎, and
the level sets Sₗ, the columns of its l largest entries.  min_T x is the sum of wₗ over the Sₗ that
contain T.  A sum over sets is then a sum over level sets, whose terms depend on their sizes alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray

#: The most columns for which all sets are listed.
MAX_LISTED_COLUMNS = 20
#: For more columns, pairs of sets are drawn in batches of ``BATCH_PAIRS``, up to
#: ``MAX_DRAWN_PAIRS`` pairs or ``MAX_DRAWN_ENTRIES`` entries of rows.
MAX_DRAWN_PAIRS, BATCH_PAIRS, MAX_DRAWN_ENTRIES = 10_000, 500, 1 << 27
#: A decrease of at most this share of the largest |μ| is rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class SetFunction:
    """m(T) = Σᵢ βᵢ·min_T xᵢ over the sets of at most k columns; μ is 0 on the empty set.

    Parameters
    ----------
    rows : float64 (s, n)
        Non-negative rows xᵢ.
    weights : float64 (s,)
        βᵢ times the number of sets, Σ C(n, r) over r = 1 … k; βᵢ alone may underflow float64.
    additivity : int
        k.
    """

    rows: FloatArray
    weights: FloatArray
    additivity: int

    @classmethod
    def of_pairs(cls, m: FloatArray, n: int) -> SetFunction:
        """Return the 2-additive function of the weights of n columns and of their pairs."""
        i, j = np.triu_indices(n, 1)
        alone = m[:n] - np.bincount(i, m[n:], n) - np.bincount(j, m[n:], n)
        every = np.eye(n)
        rows = np.concatenate([every, every[i] + every[j]])
        return cls(rows, np.append(alone, m[n:]) * _sums(n, 2)[-1], 2)

    @property
    def n(self) -> int:
        """The number of columns."""
        return int(self.rows.shape[1])

    @property
    def _total(self) -> int:
        """The number of sets of at most k columns."""
        return _sums(self.n, self.additivity)[-1]

    def moebius(self, columns: Sequence[int]) -> float:
        """Return m(T) of a set of columns."""
        if not 1 <= len(columns) <= self.additivity:
            return 0.0
        least = self.rows[:, list(columns)].min(axis=1)
        return float(self.weights @ least) / self._total

    def measure(self, columns: Sequence[int]) -> float:
        """Return μ(A) of a set of columns."""
        chosen = np.zeros((1, self.n), dtype=bool)
        chosen[0, list(columns)] = True
        return float(self.measures(chosen)[0])

    def measures(self, sets: npt.NDArray[np.bool_]) -> FloatArray:
        """Return μ of the sets in the rows of a Boolean array (sets, n).

        It is Σᵢ βᵢ·Σⱼ x₍ⱼ₎·g(j − 1) over the sorted entries of a set, with g(t) = Σ C(t, r) over
        r < k.
        """
        if self.additivity <= 2:  # the pairs are few
            chosen = sets.astype(np.float64)
            both = ((chosen @ self.interactions()) * chosen).sum(axis=1) / 2
            return np.asarray(chosen @ (self.weights @ self.rows) / self._total + both)
        sums = _sums(self.n, self.additivity)
        growth = np.array([(b - a) / self._total for a, b in pairwise(sums)])
        order = np.argsort(-self.rows, axis=1)
        found = np.zeros(len(sets))
        for row, weight, places in zip(self.rows, self.weights, order, strict=True):
            inside = sets[:, places]
            rank = np.cumsum(inside, axis=1) - 1
            found += weight * ((inside * growth[rank]) @ row[places])
        return found

    def transform(self) -> FloatArray:
        """Return m of all 2^n sets, in O(n·2^n); column i is in set t if bit i of t is 1."""
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
        return m / self._total

    def shapley(self) -> FloatArray:
        """Return the Shapley value of each column, Σ m(T) / |T| over the sets T that contain it.

        It is Σᵢ βᵢ·Σₗ wₗ·[column in Sₗ]·Σ C(l, r) / l over r = 1 … k.
        """
        order, steps = self._levels()
        shares = steps * _per_size(self.n, self.additivity, 0)
        found = np.zeros(self.rows.shape)
        np.put_along_axis(found, order, _from_here_on(shares), axis=1)
        return np.asarray(self.weights @ found)

    def interactions(self) -> FloatArray:
        """Return the interaction indices (n, n): Σ m(T) / (|T| − 1) over the T with both columns.

        They are Σᵢ βᵢ·Σₗ wₗ·[both in Sₗ]·Σ C(l − 1, r) / (l − 1) over r = 1 … k − 1, and 0 on the
        diagonal.
        """
        order, steps = self._levels()
        shares = _from_here_on(steps * _per_size(self.n, self.additivity, 1))
        place = np.argsort(order, axis=1)
        found = np.zeros((self.n, self.n))
        for weight, row, where in zip(self.weights, shares, place, strict=True):
            found += weight * row[np.maximum(where[:, None], where[None, :])]
        np.fill_diagonal(found, 0.0)
        return found

    def _levels(self) -> tuple[npt.NDArray[np.intp], FloatArray]:
        """Return the columns of every row by descending entry, and the differences wₗ."""
        order = np.argsort(-self.rows, axis=1, kind="stable")
        entries = np.take_along_axis(self.rows, order, axis=1)
        return order, entries - np.append(entries[:, 1:], np.zeros((len(entries), 1)), axis=1)


def pair_features(rows: FloatArray, additivity: int = 2) -> FloatArray:
    """Return the entries of each row, with additivity 2 also the minima of pairs: (rows, p).

    >>> pair_features(np.array([[0.5, 1.0, 0.25]]))
    array([[0.5 , 1.  , 0.25, 0.5 , 0.25, 0.25]])
    """
    i, j = np.triu_indices(rows.shape[1], 1)
    pairs = [np.minimum(rows[:, i], rows[:, j])] if additivity > 1 else []
    return np.concatenate([rows, *pairs], axis=1)


def monotonicity_degree(function: SetFunction, seed: int) -> tuple[float, float]:
    """Return the share of the pairs A ⊂ A ∪ {i} for which μ does not decrease, and its error.

    For up to 20 columns all n·2^(n−1) pairs are counted, and the standard error is 0.0; for more,
    up to 10,000 are drawn.  Decreases of at most 10⁻⁹ of the largest |μ| are ignored as rounding.

    >>> monotonicity_degree(SetFunction.of_pairs(np.array([1.0, -1.0, 0.0]), 2), 0)
    (0.5, 0.0)
    """
    n = function.n
    if n <= MAX_LISTED_COLUMNS:
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
    entries = n**2 if function.additivity <= 2 else function.rows.size
    while drawn < MAX_DRAWN_PAIRS and drawn * entries < MAX_DRAWN_ENTRIES:
        drawn += BATCH_PAIRS
        sets = generator.random((BATCH_PAIRS, n)) < 0.5
        added = np.arange(BATCH_PAIRS), generator.integers(n, size=BATCH_PAIRS)
        sets[added] = False
        before = function.measures(sets)
        sets[added] = True
        after = function.measures(sets)
        largest = np.maximum(np.abs(before), np.abs(after)).max()
        kept += int((after - before >= -ROUNDING * largest).sum())
    likely = (kept + 1) / (drawn + 2)  # never 0 or 1
    return kept / drawn, math.sqrt(likely * (1 - likely) / drawn)


@lru_cache(maxsize=32)
def _sums(n: int, k: int) -> tuple[int, ...]:
    """Return Σ C(s, r) over r = 1 … k, the number of sets of 1 … k of s columns, for s = 0 … n."""
    sums = [0]
    for s in range(n):
        sums.append(2 * sums[-1] + 1 - math.comb(s, k))
    return tuple(sums)


def _per_size(n: int, k: int, held: int) -> FloatArray:
    """Return Σ C(l − held, r) / (l − held) over r = 1 … k − held, per set, for l = 1 … n."""
    total, sums = _sums(n, k)[-1], _sums(n, k - held) if k > held else (0,) * (n + 1)
    sizes = range(1 - held, n + 1 - held)
    return np.array([sums[size] / (size * total) if size else 0.0 for size in sizes])


def _from_here_on(values: FloatArray) -> FloatArray:
    """Return the sums from each entry of a row to its end."""
    return np.cumsum(values[:, ::-1], axis=1)[:, ::-1]
