"""Conjunctions as features of a preference learner whose rows are in partitions.

Sums over covers come from a search that asks the partitions in batches; values of features are
those of groups of rows (:mod:`formulakern.learning.row_groups`).  Groups that have the same values
have the same row of payoffs, and the game is over groups.  Features that come into the game divide
them; when features go, groups become one again.

Where some weight is no whole number, those of merged rows are first rounded to whole multiples of a
unit.  Sums of weights are then exact, in whatever order they are added up.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, different_groups
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.encoding.bits import Words, row_counts, select_bits
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.partitioned import WeightedRows
from formulakern.learning.prl.features import ConjunctionFeatures
from formulakern.learning.prl.preferences import Preferences
from formulakern.learning.prl.restricted_game import Column, RestrictedGame
from formulakern.learning.row_groups import DividedRows, Division, GroupsOfRows, whole_sums
from formulakern.mining.conjunctions.best_first import mine_on_pieces
from formulakern.mining.conjunctions.search import MinedConjunctions
from formulakern.mining.search import TOTAL_BITS, unit_exponent
from formulakern.partitions.partitioned import Partitioned

__all__ = ["MOST_ENTRIES", "PiecedConjunctions", "RowGroups"]

#: Groups times features that are held here.
MOST_ENTRIES = 1 << 28
#: Beyond so many groups columns of little weight go: few columns tell few rows apart.  Some of them
#: may be needed after all, so that each time twice as many groups are allowed.
CROWDED = 20_000

Conjunctions = Sequence[tuple[int, ...]]


@dataclass(eq=False)
class RowGroups(GroupsOfRows):
    """The groups of rows in pieces.

    Parameters
    ----------
    rows : Partitioned
        Of :class:`~formulakern.encoding.partitioned.WeightedRows`.
    n_classes : int
        K.
    factors : ndarray of shape (K,), float64
        What the weights of each class are multiplied by.
    n_propositions : int
    read : callable
        Codes, number of classes and weights of rows → preferences.
    most : int
        Groups times features that may be held.

    Attributes
    ----------
    codes : ndarray of shape (G,), intp
        The class of each group.
    weights : ndarray of shape (G,), float64
        Of its rows, without factors of classes.
    numbers : ndarray of shape (G,), int64
        How many rows it has.
    whole : bool
        Whether weights of rows are whole numbers.
    full : bool
        Whether a feature was refused, because it would divide too many groups.
    """

    rows: Partitioned
    n_classes: int
    factors: FloatArray
    n_propositions: int
    read: Callable[[NDArray[np.intp], int, FloatArray], Preferences] = Preferences.of_classes
    most: int = MOST_ENTRIES
    codes: NDArray[np.intp] = field(init=False)
    weights: FloatArray = field(init=False)
    numbers: NDArray[np.int64] = field(init=False)
    whole: bool = field(init=False)
    full: bool = field(default=False, init=False)
    _bits: Words = field(init=False)  # (G, words): the features that came in
    _columns: dict[tuple[int, ...], int] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        facts = self.rows.map(_sums)
        total, self.whole = math.fsum(total for total, _ in facts), all(w for _, w in facts)
        exponent = None if self.whole else unit_exponent(total)
        self._bits = np.zeros((self.n_classes, 0), np.uint64)
        self._take(self._begin(self.rows, self.n_classes, exponent))

    @property
    def n_rows(self) -> int:
        """The number of groups, G."""
        return len(self.codes)

    @property
    def n_entries(self) -> int:
        """Groups times features that are held."""
        return len(self.codes) * len(self._columns)

    @property
    def n_rounded(self) -> float:
        """How many times at most half a unit is lost where weights of rows are rounded."""
        return float(self.weights.sum() if self.whole else self.numbers.sum())

    @property
    def of_class(self) -> FloatArray:
        """Weights of rows by group and class, shape (G, K)."""
        table = np.zeros((len(self.codes), self.n_classes))
        table[np.arange(len(self.codes)), self.codes] = self.weights
        return table

    def preferences(self) -> Preferences:
        """What groups prefer: each as one row."""
        return self.read(self.codes, self.n_classes, self.weights * self.factors[self.codes])

    def values(self, conjunction: tuple[int, ...]) -> NDArray[np.bool_]:
        """A feature that came in, on every group; shape (G,)."""
        if not conjunction:
            return np.ones(len(self.codes), dtype=np.bool_)
        word, place = divmod(self._columns[conjunction], 64)
        return np.asarray(self._bits[:, word] >> np.uint64(place) & np.uint64(1), dtype=np.bool_)

    def knows(self, conjunction: tuple[int, ...]) -> bool:
        """Whether all rows of a group have the same value, which is known."""
        return not conjunction or conjunction in self._columns

    def divide(
        self, conjunctions: Iterable[tuple[int, ...]], deadline: Deadline = UNLIMITED
    ) -> NDArray[np.intp] | None:
        """Features come in; or none, if there would be too many groups.

        Parameters
        ----------
        conjunctions : iterable of tuple of int
        deadline : Deadline, optional

        Returns
        -------
        ndarray of shape (G,), intp, or None
            What each group was before; None where all stay as they were.

        Raises
        ------
        TimeIsOver
            If the answers are not there in time; groups stay as they were.
        """
        fresh = [w for w in dict.fromkeys(conjunctions) if not self.knows(w)]
        if not fresh:
            return None
        division = self._divided(tuple(fresh), (), deadline)
        start = 64 * self._bits.shape[1]
        if len(division.parent) * (len(self._columns) + len(fresh)) > self.most:
            self.full = True
            return None
        self._columns |= {w: start + j for j, w in enumerate(fresh)}
        self._take(division)
        return division.parent

    def join(
        self, conjunctions: Iterable[tuple[int, ...]]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """All features go but these; groups that only the others told apart become one.

        Returns
        -------
        kind : ndarray of shape (groups before,), intp
            Which group each is part of.
        first : ndarray of shape (G,), intp
            One of the groups before that each was made of.
        """
        kept = [w for w in dict.fromkeys(conjunctions) if w in self._columns]
        positions = np.array([self._columns[w] for w in kept], dtype=np.intp)
        bits = select_bits(self._bits, 64 * self._bits.shape[1], positions)
        first, kind = different_groups(self.codes, bits)
        joined, self._places = [kind[places] for places in self._places], []
        numbers = []
        for own in joined:
            places, number = np.unique(own, return_inverse=True)
            self._places.append(places)
            numbers.append(number.astype(np.intp))
        self.rows = self.rows.persist(_joined, each=numbers)
        self._bits, self._columns = bits[first], {w: j for j, w in enumerate(kept)}
        self.weights = np.bincount(kind, self.weights, len(first)).astype(np.float64)
        self.numbers = whole_sums(kind, self.numbers, len(first))
        self.codes = self.codes[first]
        return kind, first

    def different_columns(
        self, side: NDArray[np.intp], everywhere: bool = False
    ) -> NDArray[np.intp]:
        """As :meth:`PackedTable.different_columns`, of some of the propositions."""
        answers = self.rows.map(_columns, side)
        counts = np.sum([count for count, _, _ in answers], axis=0)
        n_rows = sum(number for _, number, _ in answers)
        known: dict[tuple[bytes, ...], int] = {}
        alike = zip(*(digests for _, _, digests in answers), strict=True)
        first = np.array([known.setdefault(digests, j) for j, digests in enumerate(alike)])
        varies = (counts > 0) & (counts < n_rows + everywhere)
        kept = np.flatnonzero(varies & (first == np.arange(len(side))))
        return kept if len(kept) else np.arange(min(1, len(side)))

    def covers(self, conjunctions: Conjunctions) -> list[bytes]:
        """For each feature a digest of the rows that it covers."""
        answers = self.rows.map(_digests, tuple(conjunctions))
        return [b"".join(parts) for parts in zip(*answers, strict=True)]

    def _take(self, division: Division) -> None:
        self._bits = np.hstack([self._bits[division.parent], division.words])
        super()._take(division)


def _sums(rows: WeightedRows) -> tuple[float, bool]:
    """The sum of weights, and whether all are whole numbers."""
    return math.fsum(rows.weights), bool((rows.weights == np.rint(rows.weights)).all())


def _joined(rows: DividedRows, number: NDArray[np.intp]) -> DividedRows:
    """Other numbers of groups, some of which become one."""
    return replace(rows, group=number[rows.group])


def _columns(
    rows: DividedRows, side: NDArray[np.intp]
) -> tuple[NDArray[np.int64], int, list[bytes]]:
    """The number of ones and a digest of some propositions, and the number of rows."""
    words = rows.table.columns[side]
    return row_counts(words), rows.table.n_rows, [_digest(word) for word in words]


def _digests(rows: DividedRows, conjunctions: Conjunctions) -> list[bytes]:
    """A digest of the rows that each feature covers."""
    return [_digest(rows.table.covers([w])[0]) for w in conjunctions]


def _digest(words: Words) -> bytes:
    return hashlib.blake2b(words.tobytes(), digest_size=16).digest()


@dataclass(eq=False)
class PiecedConjunctions(ConjunctionFeatures):
    """As :class:`ConjunctionFeatures`, over rows in pieces.

    Parameters
    ----------
    table : PackedTable
        Of no rows; it says how many propositions there are.
    bias, groups, least, greatest, depth_penalty, asked :
        As there.
    rows : RowGroups
        The groups of the rows, which take the place of rows.
    """

    rows: RowGroups = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._room = CROWDED

    @property
    def n_rows(self) -> int:
        """The number of groups."""
        return self.rows.n_rows

    @property
    def full(self) -> bool:  # type: ignore[override]
        """Whether a feature would have divided too many groups."""
        return self.rows.full

    @property
    def crowded(self) -> bool:
        """Whether there are so many groups that columns of little weight should go."""
        return self.rows.n_rows > self._room

    def different_columns(self, side: NDArray[np.intp]) -> NDArray[np.intp]:
        """Which of these propositions to learn from: of equal ones the first."""
        return self.rows.different_columns(side, everywhere=not self.bias)

    def heaviest(
        self, side: NDArray[np.intp], table: PackedTable, weights: FloatArray, **options: Any
    ) -> MinedConjunctions:
        """The heaviest conjunctions of some propositions."""
        return mine_on_pieces(
            self.rows.rows,
            self.rows.vectors(weights),
            table.n_columns,
            size=np.abs(weights).sum(axis=0),
            among=side,
            whole=self.rows.whole,
            **options,
        )

    def first(
        self, weights: FloatArray, threshold: float, top: int, deadline: Deadline
    ) -> list[Column]:
        """Those of single propositions."""
        if self.rows.n_entries:  # every column divides groups; the next are worth a whole search
            return []
        if self.least > 1:
            return super().first(weights, threshold, top, deadline)
        return self._priced(weights, threshold, top, time_limit=deadline, max_length=1).columns

    def rounding(self, weights: FloatArray) -> float:
        """That of sums, and of the weight of every row to whole multiples of a unit."""
        units = self.rows.n_rounded * 2.0 ** (1 - TOTAL_BITS) * np.abs(weights).sum(axis=0).max()
        return super().rounding(weights) + float(units)

    def covers(self, features: Sequence[Any]) -> Iterable[bytes]:
        """For each feature a digest of the rows that it covers."""
        return self.rows.covers([feature.propositions for feature in features])

    def prepare(
        self, game: RestrictedGame, features: Sequence[Any], deadline: Deadline = UNLIMITED
    ) -> None:
        """Divide groups of rows; where there would be too many, by some of the features only."""
        asked = list(dict.fromkeys(feature.propositions for feature in features))
        while asked:
            parent = self.rows.divide(asked, deadline)
            if parent is not None:
                game.divide(self.rows.preferences(), parent)
            if all(map(self.rows.knows, asked)):
                break
            asked = asked[: len(asked) // 2]

    def settle(self, game: RestrictedGame, p: FloatArray) -> FloatArray:
        """Join the groups that no column of a game tells apart."""
        self._room *= 1 + (self.rows.n_rows > self._room)
        held: list[Any] = [column.feature for column in game.columns]
        known = [f.propositions for f in held if hasattr(f, "propositions")]
        kind, first = self.rows.join(known)
        return game.join(self.rows.preferences(), kind, first, p)

    def knows(self, feature: Any) -> bool:
        """Whether the feature is true on all rows of a group, or on none."""
        return self.rows.knows(feature.propositions)

    def values(self, feature: Any) -> NDArray[Any]:
        """The feature on the groups of rows."""
        return self.rows.values(feature.propositions)
