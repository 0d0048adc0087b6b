"""Preferences between classes, the training data of a preference learner.

A preference (y⁺ ≻_x y⁻) means that class y⁺ suits the row x better than class y⁻.  A table with one
class y per row prefers y to each other class; in label ranking the preferences are given.

For K ordered classes, row i is above threshold k, 1 ≤ k < K, if its class is higher than the k-th:
z_ik = 1, else z_ik = −1.  Preference (i, k) requires the score to be on the right side,

    z_ik (s(x_i) − θ_k) ≥ margin,    θ_k = −b + Σ_{1 < j ≤ k} δ_j,    δ_j ≥ 0,

which is the game of two classes, *above* against *below*: a rule has the same value for all k, b is
the feature that is always true, and δ_j a :class:`ThresholdStep`, which is 1 for k ≥ j and votes
only for *below*.  So thresholds are in order by construction, and their cost is their range.  This
reduction is by L. Li, H.-T. Lin, "Ordinal regression by extended binary classification", NIPS 19,
2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulakern.arrays import FloatArray
from formulakern.checks import is_integer
from formulakern.errors import DataError
from formulakern.solvers.input import read_vector

BELOW, ABOVE = 0, 1


@dataclass(frozen=True)
class ThresholdStep:
    """A feature that is 1 from threshold ``first`` ≥ 1 on, counted from 0."""

    first: int


@dataclass(frozen=True, eq=False)
class Preferences:
    """n preferences between K classes on m rows.

    Preference i prefers class ``winners[i]`` to ``losers[i]`` on row ``rows[i]``, at threshold
    ``thresholds[i]`` of ordered classes, from 0; a violation costs ``weights[i]`` > 0.  Equal
    preferences are merged: ``origin`` maps each given preference to a preference of this object.

    >>> preferences = Preferences.of_classes(np.array([0, 2]), 3, np.ones(2))
    >>> preferences.winners, preferences.losers
    (array([0, 0, 2, 2]), array([1, 2, 0, 1]))
    """

    rows: NDArray[np.intp]
    winners: NDArray[np.intp]
    losers: NDArray[np.intp]
    weights: FloatArray
    n_rows: int
    n_classes: int
    origin: NDArray[np.intp]
    thresholds: NDArray[np.intp]

    @classmethod
    def of(cls, *columns: Any, n_rows: int, n_classes: int) -> Preferences:
        """Return different preferences from rows, winners, losers and weights, without an order."""
        none = np.broadcast_to(np.intp(0), len(columns[0]))
        return cls(*columns, n_rows, n_classes, np.arange(len(none)), none)  # type: ignore[call-arg]

    @classmethod
    def of_classes(
        cls, codes: NDArray[np.intp], n_classes: int, weights: FloatArray
    ) -> Preferences:
        """Return preferences of the class of each row of positive weight to each other class."""
        other = (codes[:, None] != np.arange(n_classes)) & (weights > 0)[:, None]
        rows, losers = np.nonzero(other)
        columns = rows, codes[rows], losers, weights[rows].astype(np.float64)
        return cls.of(*columns, n_rows=len(codes), n_classes=n_classes)

    @classmethod
    def of_ordered(
        cls, codes: NDArray[np.intp], n_classes: int, weights: FloatArray
    ) -> Preferences:
        """Return a preference for every row of positive weight and threshold, above or below.

        >>> Preferences.of_ordered(np.array([0, 1, 2]), 3, np.ones(3)).winners.reshape(3, 2)
        array([[0, 0],
               [1, 0],
               [1, 1]])
        """
        rows = np.repeat(np.flatnonzero(weights > 0), n_classes - 1)
        thresholds = np.arange(len(rows)) % (n_classes - 1)
        above = (codes[rows] > thresholds).astype(np.intp)
        weight, given = weights[rows].astype(np.float64), np.arange(len(rows))
        return cls(rows, above, 1 - above, weight, len(codes), 2, given, thresholds)

    def merged(self, kind: NDArray[np.intp], n_kinds: int) -> Preferences:
        """Return the preferences with rows replaced by ``kind`` (m,), and equal ones summed."""
        one = replace(self, rows=kind[self.rows], n_rows=n_kinds)
        keys = one._keys(one.winners, one.losers)
        _, first, group = np.unique(keys, return_index=True, return_inverse=True)
        rows, winners, losers = (column[first] for column in (one.rows, one.winners, one.losers))
        weights = np.bincount(group, self.weights, len(first)).astype(np.float64)
        sizes, origin = (n_kinds, self.n_classes), group[self.origin]
        return Preferences(rows, winners, losers, weights, *sizes, origin, one.thresholds[first])

    def _keys(self, winners: NDArray[np.intp], losers: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return a key for each preference with these winning and losing classes."""
        shape = self.n_rows, self.n_classes, self.n_classes, self.n_thresholds
        keys = np.ravel_multi_index((self.rows, winners, losers, self.thresholds), shape)
        return np.asarray(keys)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def n_thresholds(self) -> int:
        """K − 1 for ordered classes, else 1."""
        return int(self.thresholds.max(initial=0)) + 1

    def signs(self, winner: int, loser: int) -> NDArray[np.int8]:
        """Return ⟨e_{y⁺} − e_{y⁻}, e_winner − e_loser⟩ for every preference: −2 to 2, (n,)."""
        signs = (self.winners == winner).astype(np.int8) - (self.losers == winner)
        signs -= (self.winners == loser).astype(np.int8) - (self.losers == loser)
        return np.asarray(signs, dtype=np.int8)

    def row_weights(self, p: FloatArray) -> FloatArray:
        """Return Σ p_i·(e_{y⁺ᵢ} − e_{y⁻ᵢ}) over each row's preferences, (m, K), for pricing."""
        size = self.n_rows * self.n_classes
        up = np.bincount(self.rows * self.n_classes + self.winners, p, size)
        down = np.bincount(self.rows * self.n_classes + self.losers, p, size)
        return np.asarray((up - down).reshape(self.n_rows, self.n_classes), dtype=np.float64)

    def steps(self, p: FloatArray) -> FloatArray:
        """Return the payoffs of the steps that begin at each threshold; shape (thresholds,)."""
        pays = np.bincount(self.thresholds, p * self.signs(BELOW, ABOVE), self.n_thresholds)
        return np.asarray(np.cumsum(pays[::-1])[::-1], dtype=np.float64)

    def shares(self) -> FloatArray:
        """Return the share of preferences that each class wins minus the share it loses, (K,).

        >>> Preferences.of_classes(np.array([0, 1, 1]), 2, np.ones(3)).shares().round(3)
        array([-0.333,  0.333])
        """
        net = self.row_weights(self.weights / self.weights.sum())
        return np.asarray(net.sum(axis=0), dtype=np.float64)

    def contradictions(self) -> int:
        """Return how many given preferences are opposite to another one on the same row."""
        own, opposite = self._keys(self.winners, self.losers), self._keys(self.losers, self.winners)
        number = np.bincount(self.origin, minlength=len(self))
        return int(number[np.isin(own, opposite)].sum())


def read_preferences(
    preferences: Sequence[Any] | NDArray[Any], n_rows: int, weights: ArrayLike | None = None
) -> tuple[Preferences, NDArray[Any]]:
    """Return explicit preferences, and their labels, sorted.

    Rows are numbered from 0 to ``n_rows - 1``.  Preferences of weight 0 are left out.
    """
    listed = preferences.to_numpy() if hasattr(preferences, "to_numpy") else preferences
    try:
        triples = [tuple(item) for item in listed]
    except TypeError:
        raise DataError(
            f"preferences of type {type(preferences).__name__} cannot be read; expected a sequence "
            "of (row, preferred label, other label)."
        ) from None
    if not triples:
        raise DataError("no preferences; give (row, preferred label, other label) triples.")
    for number, triple in enumerate(triples):
        if len(triple) != 3:
            raise DataError(
                f"preference {number} is {triple!r}; expected (row, preferred label, other label)."
            )
        row, *pair = triple
        if not is_integer(row) or not 0 <= row < n_rows:
            raise DataError(
                f"preference {number} is about row {row!r}; rows are numbered 0 to {n_rows - 1}."
            )
        if pair[0] == pair[1]:
            raise DataError(f"preference {number} prefers {pair[0]!r} to itself.")
        for label in pair:
            if not isinstance(label, (str, bool, int, float, np.generic)) or label != label:
                raise DataError(
                    f"preference {number} is about label {label!r}; expected text or a number."
                )
    if len({isinstance(label, str) for triple in triples for label in triple[1:]}) > 1:
        raise DataError("some labels are text and some are not; use one kind for all.")
    labels, codes = np.unique([triple[1:] for triple in triples], return_inverse=True)
    weight = np.ones(len(triples))
    if weights is not None:
        weight = read_vector(weights, len(triples), "sample_weight, one per preference,", low=0)
    kept = weight > 0
    if not kept.any():
        raise DataError("all weights of preferences are 0; expected some above 0.")
    rows = np.array([triple[0] for triple in triples], dtype=np.intp)
    columns = rows[kept], *codes.reshape(-1, 2)[kept].T, weight[kept]
    return Preferences.of(*columns, n_rows=n_rows, n_classes=len(labels)), labels
