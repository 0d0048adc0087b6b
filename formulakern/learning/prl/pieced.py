"""Conjunctions as features of a preference learner whose rows lie in pieces.

Sums over covers come from a search that asks the pieces in batches; values of features are those
of groups of rows (:mod:`.row_groups`), which the features that come in divide.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.encoding.packed import PackedTable
from formulakern.learning.prl.features import ConjunctionFeatures
from formulakern.learning.prl.restricted_game import Column, RestrictedGame
from formulakern.learning.prl.row_groups import RowGroups
from formulakern.mining.conjunctions.batches import mine_on_pieces
from formulakern.mining.conjunctions.search import MinedConjunctions
from formulakern.mining.objective import TOTAL_BITS

__all__ = ["PiecedConjunctions"]


#: Beyond so many groups columns of little weight go: few columns tell few rows apart.  Some of them
#: may be needed after all, so that each time twice as many groups are allowed.
CROWDED = 20_000


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
