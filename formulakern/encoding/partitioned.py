"""Tables in partitions, such as those of a frame of dask, and their encoded rows.

No row comes to this process unless the packed rows are brought here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, different_rows
from formulakern.encoding.bits import n_words, row_counts
from formulakern.encoding.packed import PackedTable, varying_columns
from formulakern.encoding.summary import Summary, summaries_of
from formulakern.errors import DataError
from formulakern.partitions.collections import is_dask_array
from formulakern.partitions.partitioned import Partitioned, partitions_of
from formulakern.progress import stage
from formulakern.tables.table import Table
from formulakern.text import quoted

__all__ = ["PackedPartitions", "PartitionedTable", "WeightedRows", "linear_columns"]

#: Partitions are joined up to so many rows, as long as there are so many partitions.
JOINED_ROWS, LEAST_PARTITIONS = 500_000, 8
#: The name of the stage that reads and packs the rows.
PACKING = "packing rows"


@dataclass(eq=False)
class PartitionedTable:
    """A table in partitions; ``partitions(names)`` reads columns, by default all, as tables."""

    names: tuple[str, ...]
    partitions: Callable[..., Partitioned]
    ndim: ClassVar[int] = 2

    @classmethod
    def of(cls, X: Any, names: tuple[str, ...]) -> PartitionedTable:
        """Return the table of a frame or an array of dask, with these names for its columns."""
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
        """(rows, columns)."""
        return len(self), len(self.names)

    def split(self, values: NDArray[Any]) -> Partitioned:
        """Return one value for every row in the partitions of the table."""
        return Partitioned(np.split(values, np.cumsum(self.lengths)[:-1]))

    def summaries(self, classes: NDArray[Any] | None = None) -> list[Summary]:
        """Return the summary of every column, with classes of their pairs."""
        with stage("finding propositions"):
            of = None if classes is None else self.split(classes)
            found, self.lengths = summaries_of(self.partitions, of)
        return found


def _read_partition(
    part: Any, own: tuple[str, ...] | None, names: tuple[str, ...], number: int
) -> Table:
    """Read a partition as a table of these names; its own must be ``own``, if it has any."""
    table = Table.of(part)
    if own is not None and table.names != own:
        raise DataError(
            f"partition {number} has the columns {quoted(table.names)}; expected {quoted(own)}, "
            "as the frame says. Write the same columns in the same order in all of them."
        )
    return Table.of(table, names)


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Rows with their class, from 0, their positive weight, and the number of rows merged in each.

    ``codes`` is intp, ``weights`` float64 and ``numbers`` int64, of shape (m,).
    """

    table: PackedTable
    codes: NDArray[np.intp]
    weights: FloatArray
    numbers: NDArray[np.int64]

    def __len__(self) -> int:
        return self.table.n_rows

    @classmethod
    def of(
        cls, table: PackedTable, codes: NDArray[np.intp], weights: FloatArray | None = None
    ) -> WeightedRows:
        """Return rows as they are, without those of weight 0; by default each weighs 1."""
        if weights is None:
            weights = np.ones(table.n_rows)
        used = weights > 0
        if not used.all():
            table, codes, weights = table.take(used), codes[used], weights[used]
        return cls(table, codes, weights, np.ones(len(codes), dtype=np.int64))

    @staticmethod
    def joined(parts: Sequence[WeightedRows]) -> WeightedRows:
        """Return the rows of several partitions, equal ones merged."""
        columns = zip(*((part.codes, part.weights, part.numbers) for part in parts), strict=True)
        table = PackedTable.concatenated([part.table for part in parts])
        return WeightedRows(table, *map(np.concatenate, columns)).merged()

    def merged(self) -> WeightedRows:
        """Return rows of equal propositions, linear columns and class as one; one sort."""
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


class PackedPartitions:
    """The propositions of a fitted encoder, or those ``kept``, on the rows of a partitioned table.

    ``terms`` are linear columns next to them.
    """

    def __init__(
        self,
        table: PartitionedTable,
        encoder: Any,
        terms: Sequence[Any] = (),
        kept: NDArray[np.intp] | None = None,
    ) -> None:
        self.table, self.encoder, self.terms = table, encoder, tuple(terms)
        self.kept = np.arange(len(encoder.propositions_)) if kept is None else kept
        self.n_rows, self.n_columns = len(table), len(self.kept)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, propositions)."""
        return self.n_rows, self.n_columns

    @property
    def nbytes(self) -> int:
        """Bytes of the packed rows."""
        return 8 * self.n_rows * (n_words(self.n_columns) + len(self.terms))

    def select(self, columns: Sequence[int] | NDArray[Any]) -> PackedPartitions:
        """Return only these propositions, in this order."""
        positions = np.asarray(columns, dtype=np.intp)
        return PackedPartitions(self.table, self.encoder, self.terms, self.kept[positions])

    def gathered(self) -> PackedTable:
        """Return all rows in this process, in the order of the partitions."""
        return self._rows()

    def drawn(self, n: int, generator: np.random.Generator) -> PackedTable:
        """Return n rows, drawn at random without replacement, in their order."""
        n = min(n, self.n_rows)
        chosen = np.sort(generator.choice(self.n_rows, n, replace=False, shuffle=False))
        ends = np.cumsum([0, *self.table.lengths])
        parts = np.split(chosen, np.searchsorted(chosen, ends[1:-1]))
        return self._rows([part - start for part, start in zip(parts, ends, strict=False)])

    def different_columns(self) -> NDArray[np.intp]:
        """Return the columns to learn from; see :meth:`PackedTable.different_columns`."""
        with stage("comparing propositions"):
            answers = self.table.partitions().map(_equal_columns, self._encoding)
        counts, alike = zip(*answers, strict=True)
        return varying_columns(np.sum(counts, axis=0), np.stack(alike, axis=1), self.n_rows)

    def weighted(
        self,
        codes: NDArray[Any],
        weights: FloatArray | None = None,
        places: NDArray[np.intp] | None = None,
        factors: FloatArray | None = None,
    ) -> Partitioned:
        """Return partitions of :class:`WeightedRows`, equal rows merged, which stay where they are.

        ``codes`` and ``weights`` (1 by default) have an entry for each row; classes get the codes
        ``places``, where −1 leaves their rows out, as weight 0 does, and their weights ``factors``.
        Small partitions are joined, so that fewer answers are added up.  Raises DataError if a
        partition has another number of rows than when it was first read.
        """
        given = [self.table.split(one) for one in (codes, weights) if one is not None]
        rows = self.table.partitions().zip(*given)
        with stage(PACKING):
            made = rows.persist(_weighted, self._encoding, places, factors)
            few = max(1, int(JOINED_ROWS * len(made) / max(1, self.n_rows)))
            number = min(few, len(made) // LEAST_PARTITIONS)
            if number > 1:
                made = made.coalesce(number, WeightedRows.joined)
            return made.wait()

    @property
    def _encoding(self) -> tuple[Any, NDArray[np.intp], tuple[Any, ...]]:
        return self.encoder, self.kept, self.terms

    def _rows(self, some: Sequence[NDArray[np.intp]] | None = None) -> PackedTable:
        """Return all rows, or these of each partition."""
        with stage(PACKING):
            parts = self.table.partitions().map(_packed_rows, self._encoding, each=some)
        return PackedTable.concatenated(parts)


def linear_columns(table: Any, terms: Sequence[Any]) -> FloatArray:
    """Return the values of linear terms on the rows of a table, a column each."""
    columns = np.empty((len(table), len(terms)))
    for j, term in enumerate(terms):
        columns[:, j] = term(table)
    return columns


def _packed(table: Table, encoding: tuple[Any, ...]) -> PackedTable:
    encoder, kept, terms = encoding
    packed: PackedTable = encoder.pack(table).select(kept)
    return packed.with_degrees(linear_columns(table, terms))


def _packed_rows(
    table: Table, encoding: tuple[Any, ...], some: NDArray[np.intp] | None = None
) -> PackedTable:
    packed = _packed(table, encoding)
    rows = PackedTable.of_rows(packed.rows, packed.n_columns).with_degrees(packed.degrees)
    return rows if some is None else rows.take(some)


def _equal_columns(
    table: Table, encoding: tuple[Any, ...]
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    packed = _packed(table, (*encoding[:2], ()))
    return row_counts(packed.columns), packed.first_equal


def _weighted(
    row: tuple[Any, ...],
    encoding: tuple[Any, ...],
    places: NDArray[np.intp] | None,
    factors: FloatArray | None,
) -> WeightedRows:
    table, narrow, *own = row
    if len(narrow) != len(table):
        raise DataError(
            f"a partition has {len(table):,} rows and had {len(narrow):,} when it was first read. "
            "The source gives other rows each time; write it to files, and read these."
        )
    codes = narrow.astype(np.intp)
    weights = own[0] if own else np.ones(len(codes))
    if factors is not None:
        weights = weights * factors[codes]
    if places is not None:
        codes = places[codes]
        weights = np.where(codes < 0, 0.0, weights)
    return WeightedRows.of(_packed(table, encoding), codes, weights).merged()
