"""Preferences between classes: what a preference learner is trained on.

A preference (y⁺ ≻_x y⁻) says that class y⁺ suits the row x better than class y⁻.  A table with one
class y per row says so of y and each other class; label ranking gives preferences themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulakern.checks import is_integer
from formulakern.errors import DataError
from formulakern.solvers.input import read_vector

__all__ = ["Preferences", "read_preferences"]


@dataclass(frozen=True, eq=False)
class Preferences:
    """n preferences between K classes on m rows.

    Parameters
    ----------
    rows, winners, losers : ndarray of shape (n,), intp
        Preference i: on row ``rows[i]``, class ``winners[i]`` is better than ``losers[i]``.
    weights : ndarray of shape (n,), float64
        What a violation costs, relative to the others; positive.
    n_rows, n_classes : int
        m and K.
    origin : ndarray of shape (number of preferences as given,), intp
        Which preference of this object each given one is; equal ones are merged.

    Examples
    --------
    >>> preferences = Preferences.of_classes(np.array([0, 2]), 3, np.ones(2))
    >>> preferences.winners, preferences.losers
    (array([0, 0, 2, 2]), array([1, 2, 0, 1]))
    >>> preferences.row_weights(np.array([0.5, 0.25, 0.25, 0.0]))
    array([[ 0.75, -0.5 , -0.25],
           [-0.25,  0.  ,  0.25]])
    """

    rows: NDArray[np.intp]
    winners: NDArray[np.intp]
    losers: NDArray[np.intp]
    weights: NDArray[np.float64]
    n_rows: int
    n_classes: int
    origin: NDArray[np.intp]

    @classmethod
    def of_classes(
        cls, codes: NDArray[np.intp], n_classes: int, weights: NDArray[np.float64]
    ) -> Preferences:
        """For every row of positive weight: its class before each other class.

        Parameters
        ----------
        codes : ndarray of shape (m,), intp
            The class of each row, 0 to K − 1.
        n_classes : int
        weights : ndarray of shape (m,), float64
            Of the rows; each preference has that of its row.
        """
        kept = np.flatnonzero(weights > 0)
        places, losers = np.nonzero(codes[kept][:, None] != np.arange(n_classes))
        rows = kept[places]
        weight, given = weights[rows].astype(np.float64), np.arange(len(rows))
        return cls(rows, codes[rows], losers, weight, len(codes), n_classes, given)

    def merged(self, kind: NDArray[np.intp], n_kinds: int) -> Preferences:
        """The preferences on different rows, equal ones once with the sum of their weights.

        Parameters
        ----------
        kind : ndarray of shape (m,), intp
            The different row that each row is.
        n_kinds : int

        Examples
        --------
        >>> twice = Preferences.of_classes(np.array([0, 0, 1]), 2, np.ones(3))
        >>> once = twice.merged(np.array([0, 0, 0]), 1)
        >>> once.winners, once.weights, once.origin
        (array([0, 1]), array([2., 1.]), array([0, 0, 1]))
        """
        rows, shape = kind[self.rows], (n_kinds, self.n_classes, self.n_classes)
        key = np.ravel_multi_index((rows, self.winners, self.losers), shape)
        _, first, group = np.unique(key, return_index=True, return_inverse=True)
        weights = np.bincount(group, self.weights, len(first)).astype(np.float64)
        parts = rows[first], self.winners[first], self.losers[first], weights
        return Preferences(*parts, n_kinds, self.n_classes, group[self.origin])

    def __len__(self) -> int:
        return len(self.rows)

    def signs(self, winner: int, loser: int) -> NDArray[np.int8]:
        """⟨e_{y⁺} − e_{y⁻}, e_winner − e_loser⟩ of every preference: −2 to 2, shape (n,)."""
        signs = (self.winners == winner).astype(np.int8) - (self.losers == winner)
        signs -= (self.winners == loser).astype(np.int8) - (self.losers == loser)
        return np.asarray(signs, dtype=np.int8)

    def row_weights(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Σ of p_i·(e_{y⁺ᵢ} − e_{y⁻ᵢ}) over the preferences of each row; shape (m, K).

        They are what pricing weighs rows by.
        """
        size = self.n_rows * self.n_classes
        up = np.bincount(self.rows * self.n_classes + self.winners, p, size)
        down = np.bincount(self.rows * self.n_classes + self.losers, p, size)
        return np.asarray((up - down).reshape(self.n_rows, self.n_classes), dtype=np.float64)

    def shares(self) -> NDArray[np.float64]:
        """The share of the preferences that each class wins, less that it loses; shape (K,).

        >>> Preferences.of_classes(np.array([0, 1, 1]), 2, np.ones(3)).shares().round(3)
        array([-0.333,  0.333])
        """
        net = self.row_weights(self.weights / self.weights.sum())
        return np.asarray(net.sum(axis=0), dtype=np.float64)

    def contradictions(self) -> int:
        """How many given preferences are opposite to one on the same row."""
        shape = self.n_rows, self.n_classes, self.n_classes
        own = np.ravel_multi_index((self.rows, self.winners, self.losers), shape)
        opposite = np.ravel_multi_index((self.rows, self.losers, self.winners), shape)
        number = np.bincount(self.origin, minlength=len(self))
        return int(number[np.isin(own, opposite)].sum())


def read_preferences(
    preferences: Sequence[Any] | NDArray[Any],
    n_rows: int,
    weights: ArrayLike | None = None,
) -> tuple[Preferences, NDArray[Any]]:
    """Explicit preferences, and the labels that they are about.

    Parameters
    ----------
    preferences : sequence of (row, preferred label, other label)
    n_rows : int
        Rows are numbered from 0 to ``n_rows - 1``.
    weights : array-like of shape (n,), optional
        What each preference weighs; those of weight 0 are left out.

    Returns
    -------
    Preferences
    ndarray of shape (K,)
        The labels, sorted; preferences hold positions in it.

    Raises
    ------
    DataError
        If there is none, one is no triple, prefers a label to itself, or names no row of the table;
        or if weights are not as many numbers, not negative and not all 0.

    Examples
    --------
    >>> read, labels = read_preferences([(0, "tea", "milk"), (1, "milk", "tea")], 2)
    >>> labels, read.winners
    (array(['milk', 'tea'], dtype='<U4'), array([1, 0]))
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
        row = triple[0]
        if not is_integer(row) or not 0 <= row < n_rows:
            raise DataError(
                f"preference {number} is about row {row!r}; rows are numbered 0 to {n_rows - 1}."
            )
        if triple[1] == triple[2]:
            raise DataError(f"preference {number} prefers {triple[1]!r} to itself.")
        for label in triple[1:]:
            if not isinstance(label, (str, bool, int, float, np.generic)) or label != label:
                raise DataError(
                    f"preference {number} is about label {label!r}; expected text or a number."
                )
    if len({isinstance(label, str) for triple in triples for label in triple[1:]}) > 1:
        raise DataError("some labels are text and some are not; use one kind for all.")
    named = np.array([[triple[1], triple[2]] for triple in triples])
    labels, codes = np.unique(named, return_inverse=True)
    codes = codes.reshape(named.shape).astype(np.intp)
    weight = np.ones(len(triples))
    if weights is not None:
        name = "sample_weight, one per preference,"
        weight = read_vector(weights, len(triples), name, low=0)
    kept = weight > 0
    if not kept.any():
        raise DataError("all weights of preferences are 0; expected some above 0.")
    rows = np.array([triple[0] for triple in triples], dtype=np.intp)[kept]
    winners, losers = codes[kept].T
    given = np.arange(len(rows))
    read = Preferences(rows, winners, losers, weight[kept], n_rows, len(labels), given)
    return read, labels
