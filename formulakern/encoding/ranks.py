"""Tables of ranks: every entry is the rank of its value among the values of its column.

A :class:`PackedTable` has one bit per proposition and so few cut points of a number.  With ranks,
every cut point between two neighbouring values is a condition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, different_rows
from formulakern.encoding.cut_points import Cut, cutter
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.plan import ColumnPlan
from formulakern.encoding.propositions import numbers_of_part
from formulakern.syntax.formula import Formula, Variable, both
from formulakern.syntax.leaves import Comparison, Level, in_order
from formulakern.syntax.temporal import TemporalKind
from formulakern.tables.column import text_column
from formulakern.tables.table import Table
from formulakern.tables.temporal import counts_of, value_at

#: The relations of conditions.
EQUAL, AT_MOST, AT_LEAST, UNEQUAL = range(4)
FLOAT64_MAX = np.finfo(np.float64).max
SIGNS = {EQUAL: "=", AT_MOST: "<=", AT_LEAST: ">=", UNEQUAL: "!="}

#: A column, a relation, and the rank with which entries are compared.
Condition = tuple[int, int, int]


@dataclass(frozen=True)
class RankedColumn:
    """The values of ranks 0, 1, … of a column, in the order of numbers and of categories.

    An entry of rank ``len(values)`` is missing, or infinite in a nominal column; ``missing`` is
    True if some have this rank and all of them are missing.  Values can be compared if ``ordered``,
    and cut if ``numeric``.  ``proposition`` is the meaning of rank 1 in a column of 0 and 1, which
    belongs to an encoded table if ``encoded``.  ``kind`` is the kind of dates and times, ``order``
    lists all labels of an ordered category, and ``part`` is the part of a date.
    """

    name: str
    values: NDArray[Any]
    ordered: bool = False
    numeric: bool = False
    proposition: Formula | None = None
    encoded: bool = False
    missing: bool = False
    kind: TemporalKind | None = None
    order: tuple[str, ...] = ()
    part: str | None = None

    def value(self, rank: int) -> Any:
        """Return the value of a rank, for a comparison."""
        if self.kind is not None:
            return value_at(self.values, self.kind, int(counts_of(self.values)[rank]))
        return self.values[rank : rank + 1].tolist()[0]

    def formula_of(self, relation: int, rank: int) -> Formula:
        """Return a condition as a formula over the columns of the table.

        >>> size = RankedColumn("size", np.array([1.0, 2.5, 4.0]), True, True)
        >>> size.formula_of(AT_MOST, 1), size.formula_of(AT_LEAST, 1), size.formula_of(EQUAL, 3)
        (Formula('size <= 3'), Formula('size >= 2'), Formula('size is missing'))
        """
        if rank == len(self.values):
            missing = "is missing" if relation == EQUAL else "is not missing"
            return Comparison(self.name, missing)
        if self.proposition is not None:
            if (rank == 1) == (relation == EQUAL):
                return self.proposition
            plain = isinstance(self.proposition, Variable)
            return Comparison(self.name, "=", 0) if plain else ~self.proposition
        if relation in (EQUAL, UNEQUAL):
            return Comparison(self.name, SIGNS[relation], self.value(rank), self.part)
        if self.numeric:
            cut = self._cut_at(rank if relation == AT_MOST else rank - 1)
            value = cut.at_most if relation == AT_MOST else cut.at_least
            return Comparison(self.name, SIGNS[relation], value)
        if rank == (0 if relation == AT_MOST else len(self.values) - 1):
            return Comparison(self.name, "=", self.value(rank))
        return Comparison(self.name, SIGNS[relation], Level(str(self.values[rank]), self.order))

    @cached_property
    def _cut_at(self) -> Callable[[int], Cut]:
        return cutter(self.values, self.kind)


@dataclass(frozen=True, eq=False)
class RankedTable:
    """The columns of a table as ranks, over its different rows.

    ``ranks`` has shape (C, m) and is C-contiguous; the order of the m different rows depends only
    on their ranks.  ``row`` is the position of each row among them.  ``packed`` is the table of the
    different rows if the entries are 0 and 1.
    """

    columns: tuple[RankedColumn, ...]
    ranks: NDArray[np.int32]
    row: NDArray[np.intp]
    packed: PackedTable | None = None

    @classmethod
    def of(cls, table: Table, plans: Sequence[ColumnPlan]) -> RankedTable:
        """Return the ranks of a table, by the plans of its columns."""
        read = []
        for plan in plans:
            read.append(_ranked(table, plan))
            read += [_ranked_part(table, plan.name, part) for part in plan.parts]
        ranks = np.array([own for _, own in read])
        rows = np.ascontiguousarray(ranks.T, dtype=">i4")  # bytes sort like the numbers
        first, kind = different_rows(rows)
        ranks = np.ascontiguousarray(ranks[:, first], dtype=np.int32)
        return cls(tuple(column for column, _ in read), ranks, kind)

    @classmethod
    def of_packed(cls, table: PackedTable, leaves: Sequence[Formula]) -> RankedTable:
        """Return the ranks of a table of 0 and 1 whose columns are the propositions ``leaves``."""
        zero_one = np.arange(2)
        columns = [
            RankedColumn(str(leaf), zero_one, proposition=leaf, encoded=True) for leaf in leaves
        ]
        different, row = table.distinct()
        ranks = np.ascontiguousarray(different.unpacked().T, dtype=np.int32)
        return cls(tuple(columns), ranks, row, different)

    @property
    def n_rows(self) -> int:
        """The number m of different rows."""
        return int(self.ranks.shape[1])

    @cached_property
    def n_values(self) -> NDArray[np.int64]:
        """The number of values of every column, which is also the rank of missing entries."""
        return np.array([len(column.values) for column in self.columns], dtype=np.int64)

    def weights_by_class(
        self, codes: NDArray[Any], n_classes: int, weights: FloatArray
    ) -> FloatArray:
        """Return the weight of each class on each different row, of shape (m, n_classes)."""
        places = self.row * n_classes + codes
        sums = np.bincount(places, weights, self.n_rows * n_classes)
        return np.asarray(sums.reshape(self.n_rows, n_classes), dtype=np.float64)

    def conjunction(self, conditions: Sequence[Condition]) -> Formula:
        """Return the conjunction of conditions as a formula, with the tightest bounds only."""
        tightest: dict[tuple[int, int, int], Condition] = {}
        for column, relation, rank in conditions:
            bound = relation in (AT_MOST, AT_LEAST) and rank < self.n_values[column]
            key = (column, relation, -1 if bound else rank)
            _, _, held = tightest.get(key, (column, relation, rank))
            rank = min(held, rank) if relation == AT_MOST else max(held, rank)
            tightest[key] = (column, relation, rank)
        found = (self.columns[column].formula_of(*rest) for column, *rest in tightest.values())
        return both(in_order(found))


def _ranked(table: Table, plan: ColumnPlan) -> tuple[RankedColumn, NDArray[Any]]:
    """Return one column, and the ranks of its entries."""
    name, column = plan.name, table.typed(plan.name)
    missing, proposition = column.missing, None
    ordered = bool(column.order) and plan.kind == "nominal"
    if ordered:
        texts, numbers = column.numbered
        values = text_column(label for label in column.order if label in {*texts})
        place = {value: rank for rank, value in enumerate(values.tolist())}
        ranks = np.array([place.get(text, len(place)) for text in texts], dtype=np.int64)[numbers]
    elif plan.kind == "nominal":
        values = text_column(plan.values)
        ranks = plan.codes(table)
    else:
        if plan.kind == "boolean":
            proposition, values = plan.propositions[0], np.arange(2)
        present = column.entries[~missing]
        if present.dtype.kind == "f":  # rules cannot contain infinite numbers
            present = present.clip(-FLOAT64_MAX, FLOAT64_MAX)
        if plan.kind in ("numeric", "temporal"):
            values = np.unique(present)
        ranks = np.full(len(column), len(values), dtype=np.int64)
        ranks[~missing] = np.searchsorted(values, present)
    numeric = plan.kind in ("numeric", "temporal")
    unseen = missing | (ranks < 0)
    some = bool(missing.any() and not (unseen & ~missing).any())
    kind = column.temporal if plan.kind == "temporal" else None
    order = column.order if ordered else ()
    found = RankedColumn(
        name, values, ordered or numeric, numeric, proposition, False, some, kind, order
    )
    return found, np.where(unseen, len(values), ranks)


def _ranked_part(table: Table, name: str, part: str) -> tuple[RankedColumn, NDArray[Any]]:
    """Return a part of a column of dates as a column, and the ranks of its entries."""
    numbers = numbers_of_part(table.typed(name), name, part)
    missing = np.isnan(numbers)
    values = np.unique(numbers[~missing]).astype(np.int64)
    ranks = np.where(missing, len(values), np.searchsorted(values, np.nan_to_num(numbers)))
    return RankedColumn(name, values, part=part), ranks
