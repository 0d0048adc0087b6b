"""Conjunctions as features of a preference learner whose rows are in partitions.

Sums over covers come from a batched search over the partitions; values of features are known for
groups of rows (:mod:`formulakern.learning.row_groups`).  Rows of one group have the same row of
payoffs, so the game is over groups.  A new feature of the game divides groups; when features are
removed, groups are joined again.

If some weight is not a whole number, the weights of merged rows are first rounded to whole
multiples of a unit.  Sums of weights are then exact in any order.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, different_groups
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.encoding.bits import row_counts, select_bits
from formulakern.encoding.packed import PackedTable, varying_columns
from formulakern.encoding.partitioned import WeightedRows
from formulakern.learning.prl.features import ConjunctionFeatures, Priced
from formulakern.learning.prl.preferences import Preferences
from formulakern.learning.prl.restricted_game import RestrictedGame
from formulakern.learning.row_groups import GroupsOfRows, PartitionGroups, whole_sums
from formulakern.mining.conjunctions.best_first import mine_partitioned
from formulakern.mining.conjunctions.search import MinedConjunctions
from formulakern.mining.search import TOTAL_BITS, unit_exponent
from formulakern.partitions.partitioned import Partitioned

#: With more groups than this, columns of little weight are removed, since few columns distinguish
#: few groups.  Some may be needed after all, so the limit doubles each time.
MAX_GROUPS = 20_000

Conjunctions = Sequence[tuple[int, ...]]


class RowGroups(GroupsOfRows):
    """The groups of rows in partitions (of ``WeightedRows``), which new features divide.

    Weights of class k are multiplied by ``factors[k]``; ``read`` makes preferences from codes, the
    number of classes, and weights.  ``whole`` is True if all weights are whole numbers.
    """

    most: ClassVar[float] = 1 << 28

    def __init__(
        self,
        rows: Partitioned,
        n_classes: int,
        factors: FloatArray,
        n_propositions: int,
        read: Callable[..., Preferences] = Preferences.of_classes,
    ) -> None:
        self.n_classes, self.factors, self.n_propositions = n_classes, factors, n_propositions
        self._read = read
        facts = rows.map(_sums)
        total, self.whole = math.fsum(total for total, _ in facts), all(w for _, w in facts)
        self._begin(rows, n_classes, None if self.whole else unit_exponent(total))

    @property
    def n_rows(self) -> int:
        """The number of groups, G."""
        return len(self.codes)

    @property
    def of_class(self) -> FloatArray:
        """Weights of rows by group and class, shape (G, K)."""
        return np.asarray(np.eye(self.n_classes)[self.codes] * self.weights[:, None])

    def preferences(self) -> Preferences:
        """Return the preferences of groups, each as one row."""
        return self._read(self.codes, self.n_classes, self.weights * self.factors[self.codes])

    def join(self, conjunctions: Iterable[tuple[int, ...]]) -> NDArray[np.intp]:
        """Remove all features but these and join groups; return the new number of each group."""
        kept = [w for w in dict.fromkeys(conjunctions) if w in self.in_use]
        positions = np.array([self.in_use[w] for w in kept], dtype=np.intp)
        bits = select_bits(self._bits, 64 * self._bits.shape[1], positions)
        first, kind = different_groups(self.codes, bits)
        joined = [np.unique(kind[places], return_inverse=True) for places in self._places]
        self._places = [places for places, _ in joined]
        self.rows = self.rows.persist(_renumbered, each=[number for _, number in joined])
        self._bits, self.in_use = bits[first], {w: j for j, w in enumerate(kept)}
        self.weights = np.bincount(kind, self.weights, len(first)).astype(np.float64)
        self.numbers = whole_sums(kind, self.numbers, len(first))
        self.codes = self.codes[first]
        return kind


def _sums(rows: WeightedRows) -> tuple[float, bool]:
    """Return the sum of weights, and True if all are whole numbers."""
    return math.fsum(rows.weights), bool((rows.weights == np.rint(rows.weights)).all())


def _renumbered(rows: PartitionGroups, number: NDArray[np.intp]) -> PartitionGroups:
    """Renumber groups, which joins some of them."""
    return replace(rows, group=number[rows.group])


def _columns(
    rows: PartitionGroups, side: NDArray[np.intp]
) -> tuple[NDArray[np.int64], int, NDArray[np.intp]]:
    """Return the ones of some propositions, the number of rows, and the first equal ones."""
    some = rows.table.select(side)
    return row_counts(some.columns), some.n_rows, some.first_equal


def _digests(rows: PartitionGroups, conjunctions: Conjunctions) -> list[bytes]:
    """Return a digest of the rows that each feature covers."""
    covers = rows.table.covers(conjunctions)
    return [hashlib.blake2b(cover.tobytes(), digest_size=16).digest() for cover in covers]


@dataclass(eq=False)
class PartitionedConjunctions(ConjunctionFeatures):
    """:class:`ConjunctionFeatures` over groups of rows in partitions; ``table`` has no rows."""

    rows: RowGroups = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._room = MAX_GROUPS

    @property
    def full(self) -> int:  # type: ignore[override]
        """The number of groups if a feature would have divided too many."""
        return self.rows.full

    @property
    def crowded(self) -> bool:  # type: ignore[override]
        """True if there are so many groups that columns of little weight should be removed."""
        return self.rows.n_rows > self._room

    def different_columns(self, side: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the first of each set of equal propositions."""
        answers = self.rows.rows.map(_columns, side)
        counts, numbers, alike = zip(*answers, strict=True)
        n_rows = sum(numbers) + (not self.bias)
        return varying_columns(np.sum(counts, axis=0), np.stack(alike, axis=1), n_rows)

    def heaviest(
        self, side: NDArray[np.intp], table: PackedTable, weights: FloatArray, **options: Any
    ) -> MinedConjunctions:
        """Return the heaviest conjunctions of some propositions."""
        return mine_partitioned(
            self.rows.rows,
            self.rows.vectors(weights),
            table.n_columns,
            size=np.abs(weights).sum(axis=0),
            among=side,
            whole=self.rows.whole,
            **options,
        )

    def price(
        self,
        weights: FloatArray,
        threshold: float,
        top: int,
        deadline: Deadline = UNLIMITED,
        quick: bool = False,
    ) -> Priced:
        """Price columns; a quick search runs only before there is a column."""
        if quick and self.rows.in_use:
            return Priced([], np.inf, np.inf, False)
        return super().price(weights, threshold, top, deadline, quick)

    def rounding(self, weights: FloatArray) -> float:
        """Return a bound on the rounding of sums, and of weights to whole multiples of a unit."""
        units = (self.rows.weights if self.rows.whole else self.rows.numbers).sum()
        units = units * 2.0 ** (1 - TOTAL_BITS) * np.abs(weights).sum(axis=0).max()
        return super().rounding(weights) + float(units)

    def covers(self, features: Sequence[Any]) -> Iterable[bytes]:
        """Return a digest of the rows that each feature covers."""
        conjunctions = tuple(feature.propositions for feature in features)
        answers = self.rows.rows.map(_digests, conjunctions)
        return [b"".join(parts) for parts in zip(*answers, strict=True)]

    def prepare(self, game: RestrictedGame, features: Sequence[Any], deadline: Deadline) -> None:
        """Divide groups of rows, using only some of the features if there would be too many."""
        asked = list(dict.fromkeys(feature.propositions for feature in features))
        while asked:
            division = self.rows.divide(asked, deadline=deadline)
            if division is not None:
                each = np.arange(self.rows.n_rows)
                game.regroup(self.rows.preferences(), division.parent, each)
            if all(w in self.rows.in_use for w in asked if w):
                break
            asked = asked[: len(asked) // 2]

    def settle(self, game: RestrictedGame) -> None:
        """Join the groups that no column of a game distinguishes."""
        self._room *= 1 + self.crowded
        held = (getattr(column.feature, "propositions", ()) for column in game.columns)
        kind = self.rows.join(held)
        game.regroup(self.rows.preferences(), np.arange(len(kind)), kind)

    def values(self, feature: Any) -> Any:
        """Return a feature on the groups of rows, or None if it is not in use."""
        return self.rows.values(feature.propositions)
