"""Tables in partitions, such as those of a frame of dask, and their encoded rows.

No row comes to this process unless the packed rows are brought here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, different_rows
from formulakern.encoding.bits import n_words, row_counts
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.summary import Summary, summaries_of
from formulakern.errors import DataError
from formulakern.partitions.collections import is_dask_array
from formulakern.partitions.partitioned import Partitioned, partitions_of
from formulakern.progress import stage
from formulakern.tables.table import Table
from formulakern.text import quoted

__all__ = ["PackedPartitions", "PartitionedTable", "WeightedRows", "linear_columns", "summary_of"]

#: Partitions are joined up to so many rows, as long as there are so many partitions.
JOINED_ROWS, LEAST_PARTITIONS = 500_000, 8
#: The name of the stage that reads and packs the rows.
PACKING = "packing rows"


class PartitionedTable:
    """A table in partitions, read from its source for every question.

    Parameters
    ----------
    source : dask DataFrame, dask Array of two dimensions, or Partitioned
        The values of partitions are tables that :meth:`.Table.of` reads.
    names : sequence of str, optional
        Of the columns; those of the source by default.

    Attributes
    ----------
    names : tuple of str
    """

    ndim = 2

    def __init__(self, source: Any, names: Sequence[str] | None = None) -> None:
        self._source = source
        if isinstance(source, Partitioned):
            head = (source.map(_header) or [Table({})])[0]
        elif is_dask_array(source):
            head = Table.of(np.empty((0, source.shape[1]), dtype=source.dtype))
        else:
            head = Table.of(source._meta)
        self.names = head.names if names is None else tuple(names)
        if len(self.names) == 0:
            raise DataError(
                "0 feature(s) while a minimum of 1 is required: the table has no columns."
            )

    def partitions(self, names: Sequence[str] | None = None) -> Partitioned:
        """Return tables with the columns of these names, or all, in partitions."""
        kept = self.names if names is None else tuple(names)
        places = [self.names.index(name) for name in kept]
        source = self._source
        if isinstance(source, Partitioned):
            return source.persist(_renamed, self.names, kept)
        labels: list[Any] = places
        own = None
        if not is_dask_array(source):
            labels = [source.columns[place] for place in places]
            own = tuple(map(str, labels))
        parts = Partitioned(partitions_of(source, labels), lazy=True)
        return parts.later(_read_partition, own, kept, each=range(len(parts)))

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
        self._summaries = {one.name: one for one in found}
        return found

    def summary(self, name: str) -> Summary:
        """Return the summary of one column, once :meth:`summaries` was called."""
        return self._summaries[name]

    def is_numeric(self, name: str) -> bool:
        """Return whether a column holds numbers, once :meth:`summaries` was called."""
        return self.summary(name).column.is_numeric


def summary_of(table: Table | PartitionedTable, name: str) -> Summary:
    """Return the summary of one column of a training table."""
    return Summary.of(table, name) if isinstance(table, Table) else table.summary(name)


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


def _header(table: Any) -> Table:
    return Table.of(table)[:0]


def _renamed(table: Any, names: Sequence[str], some: Sequence[str]) -> Table:
    return Table.of(table, names).select(some)


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Rows of 0 and 1 with a class and a weight each.

    Parameters
    ----------
    table : PackedTable of m rows
        With its linear columns.
    codes : ndarray of shape (m,), intp
        The class of each, from 0.
    weights : ndarray of shape (m,), float64
        Positive; of merged rows the sum.
    numbers : ndarray of shape (m,), int64
        How many rows each stands for.
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
        """Return rows as they are, without those of weight 0; by default each weighs 1.

        >>> table = PackedTable.of_rows(np.array([[5], [6], [5]], dtype=np.uint64), 3)
        >>> WeightedRows.of(table, np.array([0, 1, 0]), np.array([1.0, 0.0, 2.0])).weights
        array([1., 2.])
        """
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
        """Return rows of equal propositions, linear columns and class as one; one sort.

        >>> table = PackedTable.of_rows(np.array([[5], [6], [5]], dtype=np.uint64), 3)
        >>> rows = WeightedRows.of(table, np.array([0, 1, 0])).merged()
        >>> rows.table.rows.tolist(), rows.codes.tolist(), rows.weights.tolist()
        ([[5], [6]], [0, 1], [2.0, 1.0])
        """
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
    """The propositions of a fitted encoder on the rows of a table in partitions.

    Parameters
    ----------
    table : PartitionedTable
    encoder : PropositionEncoder
        Fitted to it.
    terms : sequence of LinearTerm
        Linear columns.
    kept : ndarray of intp, optional
        Which of the propositions; all by default.

    Attributes
    ----------
    n_rows, n_columns : int
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
        counts = np.sum([count for count, _ in answers], axis=0)
        alike = np.stack([first for _, first in answers], axis=1)
        _, first, kind = np.unique(alike, axis=0, return_index=True, return_inverse=True)
        earliest = first[kind.ravel()] == np.arange(self.n_columns)
        kept = np.flatnonzero((counts > 0) & (counts < self.n_rows) & earliest)
        return kept if len(kept) else np.arange(min(1, self.n_columns))

    def weighted(
        self,
        codes: NDArray[Any],
        weights: FloatArray | None = None,
        places: NDArray[np.intp] | None = None,
        factors: FloatArray | None = None,
    ) -> Partitioned:
        """Return partitions of :class:`WeightedRows`, equal rows merged, which stay where they are.

        Small partitions are joined, so that fewer answers are added up.

        Parameters
        ----------
        codes : ndarray of shape (n_rows,)
            The class of every row, from 0.
        weights : ndarray of shape (n_rows,), float64, optional
            1 by default.  Rows of weight 0 are left out.
        places : ndarray of shape (K,), intp, optional
            The codes that classes get instead; rows of a class that gets −1 are left out.
        factors : ndarray of shape (K,), float64, optional
            Factors of the weights by class.

        Raises
        ------
        DataError
            If a partition has another number of rows than when it was first read.
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
