"""Rows that lie in pieces, in groups: what a preference learner knows of them.

Rows of one class on which the same features of the restricted game are true have the same row of
payoffs.  They are a *group*, and the game is over groups: its linear program joins equal rows, and
shares their strategy out by weight, in any case.  So nothing is kept here for a row.  A group has a
class, a weight, a number of rows, and the values of the features that came in.

When features come in, every piece divides its groups by them and says which parts it has; when
features go, groups become one again.  Where some weight is no whole number, those of merged rows
are first rounded to whole multiples of a unit.  Sums of weights are then exact, in whatever order
they are added up.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, different_groups
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.encoding.bits import Words, row_counts, select_bits, transposed
from formulakern.encoding.weighted_rows import WeightedRows
from formulakern.learning.prl.preferences import Preferences
from formulakern.mining.conjunctions.answers import GroupedRows
from formulakern.mining.objective import unit_exponent
from formulakern.partitions.partitioned import Partitioned

__all__ = ["MOST_ENTRIES", "RowGroups"]

#: Groups times features that are held here.
MOST_ENTRIES = 1 << 28

Conjunctions = Sequence[tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class DividedRows(GroupedRows):
    """Rows in groups that a piece has numbered by itself.

    Parameters
    ----------
    table, group, share :
        As of :class:`GroupedRows`; the share of a row is its weight.
    numbers : ndarray of shape (m,), int64
        How many rows each stands for.
    keys : ndarray of shape (groups, 1 + w), uint64
        What each group was before, and the values of the features by which it was divided.
    """

    numbers: NDArray[np.int64]
    keys: Words


@dataclass(eq=False)
class RowGroups:
    """The groups of rows in pieces.

    Parameters
    ----------
    rows : Partitioned
        Of :class:`~formulakern.encoding.weighted_rows.WeightedRows`.
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
    _places: dict[tuple[int, ...], int] = field(default_factory=dict, init=False)
    _global: list[NDArray[np.intp]] = field(init=False)  # of each piece: which groups it has

    def __post_init__(self) -> None:
        facts = self.rows.map(_sums)
        total, self.whole = math.fsum(total for total, _ in facts), all(w for _, w in facts)
        exponent = None if self.whole else unit_exponent(total)
        self.codes, self._bits = np.arange(self.n_classes), np.zeros((self.n_classes, 0), np.uint64)
        self._global = [np.arange(self.n_classes)] * len(self.rows)
        self._take(self._division(self.rows.persist(_begun, exponent), UNLIMITED))

    @property
    def n_rows(self) -> int:
        """The number of groups, G."""
        return len(self.codes)

    @property
    def n_entries(self) -> int:
        """Groups times features that are held."""
        return len(self.codes) * len(self._places)

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
        word, place = divmod(self._places[conjunction], 64)
        return np.asarray(self._bits[:, word] >> np.uint64(place) & np.uint64(1), dtype=np.bool_)

    def knows(self, conjunction: tuple[int, ...]) -> bool:
        """Whether all rows of a group have the same value, which is known."""
        return not conjunction or conjunction in self._places

    def vectors(self, weights: FloatArray) -> list[FloatArray]:
        """The part of its group's weights, (G, K), that a row of weight 1 has; piece by piece."""
        each = weights / self.weights[:, None]
        return [each[places] for places in self._global]

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
        rows = self.rows.persist(_divided, tuple(fresh))
        division = self._division(rows, deadline)
        start = 64 * self._bits.shape[1]
        if len(division.parent) * (len(self._places) + len(fresh)) > self.most:
            self.full = True
            return None
        self._places |= {w: start + j for j, w in enumerate(fresh)}
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
        kept = [w for w in dict.fromkeys(conjunctions) if w in self._places]
        positions = np.array([self._places[w] for w in kept], dtype=np.intp)
        bits = select_bits(self._bits, 64 * self._bits.shape[1], positions)
        first, kind = different_groups(self.codes, bits)
        joined, self._global = [kind[places] for places in self._global], []
        numbers = []
        for own in joined:
            places, number = np.unique(own, return_inverse=True)
            self._global.append(places)
            numbers.append(number.astype(np.intp))
        self.rows = self.rows.persist(_joined, each=numbers)
        self._bits, self._places = bits[first], {w: j for j, w in enumerate(kept)}
        self.weights = np.bincount(kind, self.weights, len(first)).astype(np.float64)
        self.numbers = _whole_sums(kind, self.numbers, len(first))
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

    def _division(self, rows: Partitioned, deadline: Deadline) -> _Division:
        """What the pieces' groups are together, each of them after a division."""
        answers = rows.map(_described, deadline=deadline)
        parts = [keys for keys, _, _ in answers]
        pairs = zip(self._global, parts, strict=True)
        parent = np.concatenate([places[keys[:, 0].astype(np.intp)] for places, keys in pairs])
        words = np.concatenate([keys[:, 1:] for keys in parts])
        first, kind = different_groups(parent, words)
        weights = np.concatenate([weights for _, weights, _ in answers])
        numbers = np.concatenate([numbers for _, _, numbers in answers])
        return _Division(
            rows,
            np.split(kind, np.cumsum([len(keys) for keys in parts])[:-1]),
            parent[first],
            words[first],
            np.bincount(kind, weights, len(first)).astype(np.float64),
            _whole_sums(kind, numbers, len(first)),
        )

    def _take(self, division: _Division) -> None:
        self.rows, self._global = division.rows, division.places
        self._bits = np.hstack([self._bits[division.parent], division.words])
        self.codes = self.codes[division.parent]
        self.weights, self.numbers = division.weights, division.numbers


@dataclass(frozen=True, eq=False)
class _Division:
    """Groups after features came in.

    Parameters
    ----------
    rows : Partitioned
        Of :class:`DividedRows`.
    places : list of intp
        Which groups each piece has.
    parent : intp (G,)
        What each group was before.
    words : uint64 (G, w)
        The new features.
    weights : float64 (G,)
    numbers : int64 (G,)
    """

    rows: Partitioned
    places: list[NDArray[np.intp]]
    parent: NDArray[np.intp]
    words: Words
    weights: FloatArray
    numbers: NDArray[np.int64]


# -- what pieces do --------------------------------------------------------------------------------


def _sums(rows: WeightedRows) -> tuple[float, bool]:
    """The sum of weights, and whether all are whole numbers."""
    return math.fsum(rows.weights), bool((rows.weights == np.rint(rows.weights)).all())


def _begun(rows: WeightedRows, exponent: int | None) -> DividedRows:
    """The rows of each class as one group, with weights that are multiples of 2^exponent."""
    weights = rows.weights
    if exponent is not None:
        weights = np.ldexp(np.maximum(np.rint(np.ldexp(weights, -exponent)), 1.0), exponent)
    first, group = different_groups(rows.codes, np.zeros((len(rows), 0), np.uint64))
    keys = rows.codes[first].astype(np.uint64)[:, None]
    return DividedRows(rows.table, group, weights, rows.numbers, keys)


def _divided(rows: DividedRows, conjunctions: Conjunctions) -> DividedRows:
    """Every group divided by the values of features."""
    words = transposed(rows.table.covers(conjunctions), rows.table.n_rows)
    first, group = different_groups(rows.group, words)
    keys = np.column_stack([rows.group[first].astype(np.uint64), words[first]])
    return replace(rows, group=group, keys=keys)


def _joined(rows: DividedRows, number: NDArray[np.intp]) -> DividedRows:
    """Other numbers of groups, some of which become one."""
    return replace(rows, group=number[rows.group])


def _described(rows: DividedRows) -> tuple[Words, FloatArray, NDArray[np.int64]]:
    """What the groups were before and by what they were divided, their weights and numbers."""
    n = len(rows.keys)
    weights = np.bincount(rows.group, rows.share, n).astype(np.float64)
    return rows.keys, weights, _whole_sums(rows.group, rows.numbers, n)


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


def _whole_sums(kind: NDArray[np.intp], numbers: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    sums = np.zeros(n, dtype=np.int64)
    np.add.at(sums, kind, numbers)
    return sums
