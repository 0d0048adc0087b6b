"""Groups of rows in partitions that have equal values of the features in use.

A solution over some features depends on a row only through its class and the values of these
features.  Rows with the same class and values are a *group*, which has the sum of their weights; a
row's part of its group's weight is proportional to its own weight.  A learner therefore keeps one
example per group; the rows, and the group of each row, stay in their partitions.  When a feature
comes into use, every partition divides its groups by it and returns the resulting groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, different_groups
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.encoding.bits import Words, n_words, transposed
from formulakern.encoding.partitioned import WeightedRows
from formulakern.mining.conjunctions.partition_sums import RowsInGroups
from formulakern.partitions.partitioned import Partitioned

Conjunctions = Sequence[tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class PartitionGroups(RowsInGroups):
    """Rows in groups numbered within the partition; the share of a row is its weight.

    ``numbers`` has the number of original rows of each row.  ``keys``, (groups, 1 + w), has the
    earlier group of each group and the values of the features that divided it.
    """

    numbers: NDArray[np.int64]
    keys: Words


class NewGroups(NamedTuple):
    """The G groups after features came into use.

    ``parent`` has the earlier group of each, ``words`` the values of the new features, and
    ``sums``, (G, e), the sums of linear columns times weights.
    """

    parent: NDArray[np.intp]
    words: Words
    sums: FloatArray


class GroupsOfRows:
    """The G groups of rows in partitions: their class, weight and number of rows.

    ``rows`` are partitions of :class:`PartitionGroups`, and ``in_use`` has the bit of each
    conjunction in use.  If a feature was refused, because groups times features would exceed
    ``most``, ``full`` is the number of groups at that time.
    """

    most: ClassVar[float] = np.inf
    full: int = 0
    rows: Partitioned
    codes: NDArray[np.intp]
    weights: FloatArray
    numbers: NDArray[np.int64]
    in_use: dict[tuple[int, ...], int]
    _bits: Words  # of every group
    _places: list[NDArray[np.intp]]  # the groups of each partition

    def _begin(self, rows: Partitioned, n_classes: int, exponent: int | None = None) -> NewGroups:
        """Divide :class:`WeightedRows` by class; weights are rounded to multiples of 2^exponent."""
        self.codes = np.arange(n_classes)
        self.in_use, self._bits = {}, np.zeros((n_classes, 0), np.uint64)
        self._places = [np.arange(n_classes)] * len(rows)
        division = self._take(rows.persist(_grouped_by_class, exponent), UNLIMITED, 0)
        assert division is not None
        return division

    def divide(
        self,
        conjunctions: Iterable[tuple[int, ...]],
        others: Sequence[int] = (),
        deadline: Deadline = UNLIMITED,
    ) -> NewGroups | None:
        """Take conjunctions, and linear columns that are not in use, into use.

        Returns None if the groups do not change: all conjunctions are in use, or there would be too
        many groups.  TimeIsOver leaves the groups unchanged.
        """
        fresh = tuple(w for w in dict.fromkeys(conjunctions) if w and w not in self.in_use)
        if not fresh and not others:
            return None
        rows = self.rows.persist(_split_by_features, fresh, others)
        division = self._take(rows, deadline, len(self.in_use) + len(fresh))
        if division is not None:
            start, words = 64 * self._bits.shape[1], division.words[:, : n_words(len(fresh))]
            self.in_use |= {w: start + j for j, w in enumerate(fresh)}
            self._bits = np.hstack([self._bits[division.parent], words])
        return division

    def values(self, conjunction: tuple[int, ...]) -> NDArray[np.bool_] | None:
        """Return the truth of a conjunction in use on every group; None for others."""
        if not conjunction:
            return np.ones(len(self.codes), dtype=np.bool_)
        if conjunction not in self.in_use:
            return None
        word, place = divmod(self.in_use[conjunction], 64)
        return np.asarray(self._bits[:, word] >> np.uint64(place) & np.uint64(1), dtype=np.bool_)

    def _take(self, rows: Partitioned, deadline: Deadline, n_features: int) -> NewGroups | None:
        """Use these divided rows, within the deadline; return None if groups are too many."""
        answers = rows.map(_group_sums, deadline=deadline)
        keys, weights, numbers, sums = zip(*answers, strict=True)
        pairs = zip(self._places, keys, strict=True)
        parent = np.concatenate([places[own[:, 0].astype(np.intp)] for places, own in pairs])
        words = np.concatenate([own[:, 1:] for own in keys])
        first, kind = different_groups(parent, words)
        n = len(first)
        if n * n_features > self.most:
            self.full = len(self.codes)
            return None
        every = np.concatenate(sums)
        total = np.zeros((n, every.shape[1]))
        np.add.at(total, kind, every)
        self.rows, self.codes = rows, self.codes[parent[first]]
        self._places = np.split(kind, np.cumsum([len(own) for own in keys])[:-1])
        self.weights = np.bincount(kind, np.concatenate(weights), n).astype(np.float64)
        self.numbers = whole_sums(kind, np.concatenate(numbers), n)
        return NewGroups(parent[first], words[first], total)

    def vectors(self, weights: FloatArray) -> list[FloatArray]:
        """Return the group weights, (G, K), per unit of row weight, for each partition."""
        each = weights / self.weights[:, None]
        return [each[places] for places in self._places]

    def parts(self, weights: FloatArray) -> tuple[Partitioned, list[FloatArray]]:
        """Return the rows, and the :meth:`vectors` of their partitions."""
        return self.rows, self.vectors(weights)


def _grouped_by_class(rows: WeightedRows, exponent: int | None) -> PartitionGroups:
    weights = rows.weights
    if exponent is not None:
        weights = np.ldexp(np.maximum(np.rint(np.ldexp(weights, -exponent)), 1.0), exponent)
    first, group = different_groups(rows.codes, np.zeros((len(rows), 0), np.uint64))
    keys = rows.codes[first].astype(np.uint64)[:, None]
    return PartitionGroups(rows.table, group, weights, rows.numbers, keys)


def _split_by_features(
    rows: PartitionGroups, conjunctions: Conjunctions, others: Sequence[int]
) -> PartitionGroups:
    table = rows.table
    values = np.ascontiguousarray(table.linear_columns[:, list(others)] + 0.0)  # no negative zeros
    words = transposed(table.covers(conjunctions), table.n_rows)
    vars(table).pop("_words", None)  # not needed again
    words = np.column_stack([words, values.view(np.uint64)])
    first, group = different_groups(rows.group, words)
    keys = np.column_stack([rows.group[first].astype(np.uint64), words[first]])
    return replace(rows, group=group, keys=keys)


def _group_sums(
    rows: PartitionGroups,
) -> tuple[Words, FloatArray, NDArray[np.int64], FloatArray]:
    """Return keys, weights, numbers, and sums of linear columns times weights of the groups."""
    n = len(rows.keys)
    weights = np.bincount(rows.group, rows.share, n).astype(np.float64)
    columns = [np.bincount(rows.group, rows.share * d, n) for d in rows.table.linear_columns.T]
    sums = np.array(columns, dtype=np.float64).reshape(len(columns), n).T
    return rows.keys, weights, whole_sums(rows.group, rows.numbers, n), sums


def whole_sums(kind: NDArray[np.intp], numbers: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return the sum of whole numbers of each kind."""
    sums = np.zeros(n, dtype=np.int64)
    np.add.at(sums, kind, numbers)
    return sums
