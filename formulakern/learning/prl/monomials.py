"""Homogeneous polynomial features of a preference learner: products of d columns.

All monomials are priced in one sweep: for degree 2 the sums v_c of all of them are the upper
triangle of Xᵀ diag(w_c) X, and for degree d one such product for each product of d − 2 columns.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.errors import DataError, ParameterError
from formulakern.learning.prl.features import Drawn, FeatureFamily, Priced
from formulakern.learning.prl.preferences import Preferences
from formulakern.learning.prl.restricted_game import Column
from formulakern.rules.features import Monomial

__all__ = ["MonomialFeatures"]

#: More monomials than this are not priced.
MAX_MONOMIALS = 20_000_000
#: Payoffs are squares of monomials, and sums of many of them must not overflow.
LARGEST = 1e100


class MonomialFeatures(FeatureFamily):
    """Products x_{i₁}·…·x_{i_d}, i₁ ≤ … ≤ i_d, of real columns.

    A column of the game is a monomial with the preference j that made it, and pays φ(x_j) times
    what the monomial pays; so for each pair of classes the largest and the smallest φ(x_j) matter.

    Parameters
    ----------
    X : ndarray of shape (m, n), float64
    degree : int
        d, at least 1.
    bias : bool
        Whether the feature that is always 1 belongs to the family.
    preferences : Preferences

    Raises
    ------
    ParameterError
        If there are more than ``MAX_MONOMIALS`` monomials.
    DataError
        If one is larger than ``LARGEST``.
    """

    binary = False
    always = Monomial(())

    def __init__(self, X: FloatArray, degree: int, bias: bool, preferences: Preferences) -> None:
        n = X.shape[1]
        self.size = math.comb(n + degree - 1, degree)
        if self.size > MAX_MONOMIALS:
            raise ParameterError(
                f"{self.size:,} monomials of degree {degree} over {n:,} columns; at most "
                f"{MAX_MONOMIALS:,} are priced. Lower the degree or select columns."
            )
        self.table, self.degree, self.bias = X, degree, bias
        with np.errstate(over="ignore", invalid="ignore"):
            self.pairs, self.high, self.low = self._extremes(preferences)
        largest = max(1.0 * bias, float(np.abs(self.high).max()), float(np.abs(self.low).max()))
        if not largest < LARGEST:
            raise DataError(
                f"products of {degree} numbers as large as {float(np.abs(X).max()):.3g} exceed "
                f"{LARGEST:g}. Scale the columns first, for example with StandardScaler."
            )
        self.unit = 2.0 * largest**2

    def price(
        self,
        weights: FloatArray,
        threshold: float,
        top: int,
        deadline: Deadline = UNLIMITED,  # noqa: ARG002 - one sweep has no shorter form
    ) -> Priced:
        """Every monomial with every pair of classes."""
        X, n = self.table, self.table.shape[1]
        sums = np.empty((weights.shape[1], self.size))
        for done, prefix, start in self._blocks():
            rest = X[:, start:]
            for c, column in enumerate(weights.T):
                if self.degree == 1:
                    block = (column @ X)[None]
                else:
                    block = (rest * (column * prefix)[:, None]).T @ rest
                    block = block[np.triu_indices(block.shape[0])][None]
                sums[c, done : done + block.size] = block.ravel()
        listed: list[tuple[float, Column]] = []
        everywhere = np.arange(self.size)
        for (a, b), high, low in zip(self.pairs, self.high, self.low, strict=True):
            difference = sums[a] - sums[b]
            payoff = np.maximum(high * difference, low * difference)
            places = np.argpartition(payoff, -top)[-top:] if len(payoff) > top else everywhere
            for place in places.tolist():
                scale = high if high[place] * difference[place] >= payoff[place] else low
                column = Column(_monomial(place, n, self.degree), a, b, float(scale[place]))
                listed.append((float(payoff[place]), column))
        if self.bias:
            total = weights.sum(axis=0)
            pair = int(total.argmax()), int(total.argmin())
            listed.append((float(total.max() - total.min()), Column(self.always, *pair)))
        listed.sort(key=lambda item: -item[0])
        best = max(threshold, listed[0][0])
        listed = [item for item in listed[:top] if item[0] > threshold]
        rounding = 1e-12 * float(np.abs(weights).sum()) * self.unit
        return Priced([column for _, column in listed], best + rounding, True)

    def drawn(self, generator: np.random.Generator, size: int) -> Drawn:
        """Random columns of the table, with repetition."""
        n = self.table.shape[1]
        drawn = np.sort(generator.integers(0, n, (size, self.degree)), axis=1)

        def values(rows: NDArray[Any]) -> NDArray[Any]:
            return np.asarray(self.table[rows[:, None], drawn].prod(axis=1))

        return (lambda i: Monomial(tuple(drawn[i].tolist()))), values

    def _blocks(self) -> Iterator[tuple[int, Any, int]]:
        """(number of a monomial, product of d − 2 columns, the first column that may follow)."""
        if self.degree == 1:
            yield 0, 1.0, 0
            return
        n, done = self.table.shape[1], 0
        for head in itertools.combinations_with_replacement(range(n), self.degree - 2):
            start = head[-1] if head else 0
            yield done, Monomial(head).values(self.table), start
            done += (n - start) * (n - start + 1) // 2

    def _extremes(
        self, preferences: Preferences
    ) -> tuple[list[tuple[int, int]], FloatArray, FloatArray]:
        """Pairs of classes, and the largest and smallest φ(x_j) among their preferences."""
        winners, losers = preferences.winners, preferences.losers
        pairs = sorted(set(zip(winners.tolist(), losers.tolist(), strict=True)))
        known: dict[bytes, tuple[FloatArray, FloatArray]] = {}
        found = []
        for a, b in pairs:
            rows = np.unique(preferences.rows[(winners == a) & (losers == b)])
            if rows.tobytes() not in known:
                known[rows.tobytes()] = self._range(self.table[rows])
            found.append(known[rows.tobytes()])
        high, low = (np.array(part) for part in zip(*found, strict=True))
        return pairs, high, low

    def _range(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.degree == 1:
            return X.max(axis=0), X.min(axis=0)
        n = X.shape[1]
        high, low = [], []
        for head in itertools.combinations_with_replacement(range(n), self.degree - 1):
            block = X[:, head[-1] :] * Monomial(head).values(X)[:, None]
            high.append(block.max(axis=0))
            low.append(block.min(axis=0))
        return np.concatenate(high), np.concatenate(low)


def _monomial(place: int, n: int, degree: int) -> Monomial:
    """The monomial of a number, in lexicographic order, without a table of all."""
    columns: list[int] = []
    first = 0
    for left in range(degree - 1, -1, -1):
        for j in range(first, n):
            count = math.comb(n - j + left - 1, left)
            if place < count:
                columns.append(j)
                first = j
                break
            place -= count
    return Monomial(tuple(columns))
