"""Partitioned tables, such as a dask frame, and their encoded rows.

Rows stay in the partitions unless the packed rows are gathered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, different_rows
from formulakern.encoding.bits import n_words, row_counts
from formulakern.encoding.ordered import OrderedTable
from formulakern.encoding.packed import PackedTable, varying_columns
from formulakern.encoding.summary import Summary, summaries_of
from formulakern.errors import DataError
from formulakern.partitions.collections import is_dask_array
from formulakern.partitions.partitioned import Partitioned, partitions_of
from formulakern.progress import stage
from formulakern.tables.table import Table
from formulakern.text import quoted

#: The largest number of rows of joined partitions, and the smallest number of partitions.
JOINED_ROWS, LEAST_PARTITIONS = 500_000, 8
#: The name of the stage that reads and packs the rows.
PACKING = "packing rows"

#: Encoded rows of one partition.
Encoded = PackedTable | OrderedTable


@dataclass(eq=False)
class PartitionedTable:
    """A partitioned table; ``partitions(names)`` reads columns, by default all, as tables."""

    names: tuple[str, ...]
    partitions: Callable[..., Partitioned]
    ndim: ClassVar[int] = 2

    @classmethod
    def of(cls, X: Any, names: tuple[str, ...]) -> PartitionedTable:
        """Return the table of a dask frame or array, with these names for its columns."""
        labels = range(X.shape[1]) if is_dask_array(X) else X.columns.tolist()

        def partitions(some: Sequence[str] = names) -> Partitioned:
            own = [labels[names.index(name)] for name in some]
            parts = Partitioned(partitions_of(X, own), lazy=True)
            expected = None if is_dask_array(X) else tuple(map(str, own))
            return parts.later(_read_partition, expected, tuple(some), each=range(len(parts)))

        return cls(names, partitions)

    @cached_property
    def lengths(self) -> list[int]:
        """The number of rows of every partition."""
        return self.partitions().lengths

    def __len__(self) -> int:
        return sum(self.lengths)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of columns."""
        return len(self), len(self.names)

    def summaries(
        self, classes: NDArray[Any] | None, use: Callable[[Summary], Summary]
    ) -> list[Summary]:
        """Return the results of ``use`` on the summaries of the columns, by classes if given."""
        with stage("finding propositions"):
            of = None if classes is None else parted(classes, self.lengths)
            found, self.lengths = summaries_of(self.partitions, of, use=use)
        return found


def _read_partition(
    part: Any, own: tuple[str, ...] | None, names: tuple[str, ...], number: int
) -> Table:
    """Return a partition as a table of these names, after comparing its own names with ``own``."""
    table = Table.of(part)
    if own is not None and table.names != own:
        raise DataError(
            f"partition {number} has the columns {quoted(table.names)}; expected {quoted(own)}, "
            "the columns of the frame. Use the same columns, in the same order, in all partitions."
        )
    return Table.of(table, names)


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Rows with their class code, their positive weight, and the number of rows merged into each.

    ``codes`` is intp, ``weights`` float64 and ``numbers`` int64, of shape (m,).
    """

    table: Encoded
    codes: NDArray[np.intp]
    weights: FloatArray
    numbers: NDArray[np.int64]

    def __len__(self) -> int:
        return self.table.n_rows

    @classmethod
    def of(cls, table: Encoded, codes: NDArray[np.intp], weights: FloatArray) -> WeightedRows:
        """Return the rows of positive weight, not merged."""
        used = weights > 0
        if not used.all():
            table, codes, weights = table.take(used), codes[used], weights[used]
        return cls(table, codes, weights, np.ones(len(codes), dtype=np.int64))

    @staticmethod
    def joined(parts: Sequence[WeightedRows]) -> WeightedRows:
        """Return the rows of several partitions, with equal rows merged."""
        columns = zip(*((part.codes, part.weights, part.numbers) for part in parts), strict=True)
        tables: Any = [part.table for part in parts]
        table = type(tables[0]).concatenated(tables)
        return WeightedRows(table, *map(np.concatenate, columns)).merged()

    def merged(self) -> WeightedRows:
        """Return the rows, merged if their propositions, linear terms and classes are equal."""
        words = np.ascontiguousarray(self.table.rows)
        degrees = np.ascontiguousarray(self.table.degrees + 0.0).view(np.uint64)
        keys = np.column_stack([self.codes.astype(np.uint64), words, degrees])
        first, kind = different_rows(np.ascontiguousarray(keys))
        if len(first) == len(self):
            return self
        sums = np.bincount(kind, self.weights, len(first)).astype(np.float64)
        numbers = np.zeros(len(first), dtype=np.int64)
        np.add.at(numbers, kind, self.numbers)
        return WeightedRows(self.table.take(first), self.codes[first], sums, numbers)


@dataclass(frozen=True, eq=False)
class PackedPartitions:
    """The packed rows of a partitioned table: propositions and linear terms.

    ``rows`` are partitions of :class:`PackedTable`, and ``lengths`` their numbers of rows.  If
    ``ordered`` is given, it has the columns of partitions of :class:`OrderedTable`, without rows.
    """

    rows: Partitioned
    lengths: Sequence[int]
    n_columns: int
    terms: tuple[Any, ...] = ()
    ordered: OrderedTable | None = None

    @classmethod
    def of(cls, table: PartitionedTable, encoder: Any, terms: Sequence[Any]) -> PackedPartitions:
        """Return the lazily encoded rows of a table, by a fitted encoder and linear terms."""
        rows = table.partitions().later(_packed, encoder, tuple(terms))
        return cls(rows, table.lengths, len(encoder.propositions_), tuple(terms))

    @classmethod
    def coded(cls, encoder: Any, table: PartitionedTable, terms: Sequence[Any]) -> PackedPartitions:
        """Encode a table as codes, later.  Only the first partition is read now."""
        parts = table.partitions()
        rows = parts.later(_coded, encoder, tuple(terms), each=range(len(parts)))
        rows = rows.later(OrderedTable.narrow)
        [ordered] = Partitioned(rows.values[:1], rows.lazy).map(_without_rows)
        return cls(rows, table.lengths, ordered.n_columns, tuple(terms), ordered)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return sum(self.lengths)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of propositions."""
        return self.n_rows, self.n_columns

    @property
    def nbytes(self) -> int:
        """The number of bytes of the packed rows."""
        return 8 * self.n_rows * (n_words(self.n_columns) + len(self.terms))

    def select(self, columns: Sequence[int] | NDArray[Any]) -> PackedPartitions:
        """Return only these propositions, in this order."""
        rows = self.rows.later(PackedTable.select, np.asarray(columns, dtype=np.intp))
        return replace(self, rows=rows, n_columns=len(columns))

    def gathered(self, some: Sequence[NDArray[np.intp]] | None = None) -> PackedTable:
        """Return all rows, or the given rows of each partition, in order and in this process."""
        with stage(PACKING):
            return PackedTable.concatenated(self.rows.map(_by_rows, each=some))

    def drawn(self, n: int, generator: np.random.Generator) -> PackedTable:
        """Return n random rows, drawn without replacement, in order."""
        n = min(n, self.n_rows)
        chosen = np.sort(generator.choice(self.n_rows, n, replace=False, shuffle=False))
        ends = np.cumsum([0, *self.lengths])
        parts = np.split(chosen, np.searchsorted(chosen, ends[1:-1]))
        return self.gathered([part - start for part, start in zip(parts, ends, strict=False)])

    def different_columns(self) -> NDArray[np.intp]:
        """Return the columns to learn from; see :meth:`PackedTable.different_columns`."""
        with stage("comparing propositions"):
            counts, alike = zip(*self.rows.map(_equal_columns), strict=True)
        return varying_columns(np.sum(counts, axis=0), np.stack(alike, axis=1), self.n_rows)

    def weighted(
        self,
        codes: NDArray[Any],
        weights: FloatArray | None,
        places: NDArray[np.intp],
        factors: FloatArray,
    ) -> Partitioned:
        """Return partitions of :class:`WeightedRows`, with equal rows merged.

        ``codes`` and ``weights`` (None: 1) have an entry for each row.  ``places`` maps classes to
        new codes, or −1 to drop their rows, as weight 0 does; ``factors`` are their weights.  Small
        partitions are joined.  Raise DataError if the number of rows of a partition has changed.
        """
        given = [parted(one, self.lengths) for one in (codes, weights) if one is not None]
        own = list(zip(*given, strict=True))
        with stage(PACKING):
            made = self.rows.later(_weighted, places, factors, each=own)
            few = max(1, int(JOINED_ROWS * len(made) / max(1, self.n_rows)))
            number = min(few, len(made) // LEAST_PARTITIONS)
            if number > 1:
                made = made.coalesce(number, WeightedRows.joined)
            return made.held().wait()


def parted(values: NDArray[Any], lengths: Sequence[int]) -> list[NDArray[Any]]:
    """Return the values of all rows, divided into partitions of these lengths."""
    return np.split(values, np.cumsum(lengths)[:-1])


def _packed(table: Table, encoder: Any, terms: tuple[Any, ...]) -> PackedTable:
    packed: PackedTable = encoder.pack(table, terms)
    return packed


def _coded(table: Table, encoder: Any, terms: tuple[Any, ...], number: int) -> OrderedTable:
    coded: OrderedTable = encoder.coded(table, terms)
    return coded if number == 0 else coded.bare()


def _without_rows(table: OrderedTable) -> OrderedTable:
    return table.take(np.array([], dtype=np.intp))


def coded_rows(table: PartitionedTable, encoder: Any, terms: Sequence[Any]) -> OrderedTable:
    """Return the codes of all rows, gathered in this process."""
    rows = table.partitions()
    numbers = range(len(rows))
    with stage(PACKING):
        return OrderedTable.concatenated(rows.map(_coded, encoder, tuple(terms), each=numbers))


def n_rows_of(X: Any) -> int:
    """Return the number of rows of a dask frame or array, read from its first column."""
    names = tuple(map(str, range(X.shape[1])))
    return sum(PartitionedTable.of(X, names).partitions(names[:1]).lengths)


def _by_rows(packed: PackedTable, some: NDArray[np.intp] | None = None) -> PackedTable:
    rows = PackedTable.of_rows(packed.rows, packed.n_columns).with_degrees(packed.degrees)
    return rows if some is None else rows.take(some)


def _equal_columns(packed: PackedTable) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    return row_counts(packed.columns), packed.first_equal


def _weighted(
    packed: Encoded,
    places: NDArray[np.intp],
    factors: FloatArray,
    own: tuple[NDArray[Any], ...],
) -> WeightedRows:
    narrow, *given = own
    if len(narrow) != packed.n_rows:
        raise DataError(
            f"a partition has {packed.n_rows:,} rows but had {len(narrow):,} when it was first "
            "read, so its source is not deterministic. Write it to Parquet first, and read that."
        )
    codes = narrow.astype(np.intp)
    weights = np.where(places[codes] < 0, 0.0, factors[codes])
    if given:
        weights *= given[0]
    return WeightedRows.of(packed, places[codes], weights).merged()
