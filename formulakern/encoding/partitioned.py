"""Tables in partitions, such as those of a frame of dask, and their encoded rows.

No row comes to this process unless the packed rows are brought here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.encoding.bits import n_words, row_counts
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.summary import Summary, summaries_of
from formulakern.encoding.weighted_rows import WeightedRows
from formulakern.errors import DataError
from formulakern.optional import needed
from formulakern.partitions.collections import is_dask_array
from formulakern.partitions.partitioned import Partitioned, partitions_of
from formulakern.progress import stage
from formulakern.tables.table import Table

__all__ = ["PackedPartitions", "PartitionedTable", "degrees_of", "summary_of"]


class PartitionedTable:
    """A table in pieces, read from its source whenever a question is asked.

    Parameters
    ----------
    source : dask DataFrame, dask Array of two dimensions, or Partitioned
        The values of partitions are tables that :meth:`.Table.of` reads.
    names : sequence of str, optional
        Of the columns; those of the source by default.

    Attributes
    ----------
    names : tuple of str
    header : Table
        No rows of these columns, of the dtypes that the source tells.
    """

    ndim = 2

    def __init__(self, source: Any, names: Sequence[str] | None = None) -> None:
        self._source = source
        if isinstance(source, Partitioned):
            heads = source.map(_header)
            self.header = heads[0] if heads else Table({})
        elif is_dask_array(source):
            self.header = Table.of(np.empty((0, source.shape[1]), dtype=source.dtype))
        else:
            self.header = Table.of(source._meta)
        if names is not None:
            self.header = Table.of(self.header, names)
        self.names = self.header.names
        if len(self.names) == 0:
            raise DataError(
                "0 feature(s) while a minimum of 1 is required: the table has no columns."
            )

    def pieces(self, names: Sequence[str] | None = None) -> Partitioned:
        """Return tables with the columns of these names, or all, in partitions."""
        source = self._source
        if isinstance(source, Partitioned):
            return source.persist(_named, self.names, names)
        labels: Any = None
        own: tuple[str, ...] | None = None
        if names is not None:
            labels = [self.names.index(name) for name in names]
        if not is_dask_array(source):
            labels = list(source.columns) if labels is None else [source.columns[j] for j in labels]
            own = tuple(map(str, labels))
        kept = self.names if names is None else tuple(names)
        read = needed("dask", "A dask collection", "dask").delayed(_read_partition)
        parts = partitions_of(source, labels)
        values = [read(part, number, own, kept) for number, part in enumerate(parts)]
        return Partitioned(values, lazy=True)

    @cached_property
    def lengths(self) -> list[int]:
        """The number of rows of every piece."""
        return [int(n) for n in self.pieces().map(len)]

    def __len__(self) -> int:
        return sum(self.lengths)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return len(self), len(self.names)

    def summaries(self, classes: Partitioned | None = None) -> list[Summary]:
        """Return the summary of every column; see :func:`.summaries_of`."""
        with stage("finding propositions"):
            found, lengths = summaries_of(self.pieces, classes)
        self.__dict__["lengths"] = lengths  # so they need no pass of their own
        self._summaries = {one.name: one for one in found}
        return found

    def is_numeric(self, name: str) -> bool:
        """Whether a column holds numbers or truth values, once :meth:`summaries` was asked."""
        return self.summary(name).column.is_numeric

    def summary(self, name: str) -> Summary:
        """What one column holds, once :meth:`summaries` was asked."""
        return self._summaries[name]


def summary_of(table: Table | PartitionedTable, name: str) -> Summary:
    """What one column of a training table holds."""
    return Summary.of(table, name) if isinstance(table, Table) else table.summary(name)


def _read_partition(
    part: Any, number: int, own: tuple[str, ...] | None, names: tuple[str, ...]
) -> Table:
    """A partition as a table of these names; its own are to be ``own``, where it has any."""
    table = Table.of(part)
    if own is not None and table.names != own:
        raise DataError(
            f"partition {number} has the columns {_listed(table.names)}; expected {_listed(own)}, "
            "as the frame says. Write the same columns in the same order in all of them."
        )
    return table if table.names == names else Table.of(table, names)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f'"{name}"' for name in names[:8])
    return shown + ", …" * (len(names) > 8)


def _header(table: Any) -> Table:
    return Table.of(table)[:0]


def _named(table: Any, names: Sequence[str], some: Sequence[str] | None) -> Table:
    whole = Table.of(table, names)
    return whole if some is None else whole.select(some)


#: Partitions are joined to pieces of so many rows, as long as there are so many pieces.
PIECE_ROWS, LEAST_PIECES = 500_000, 8
#: What a fit says that it does meanwhile.
PACKING = "packing rows"


class PackedPartitions:
    """What an encoder makes of a table in pieces; no row of it is here.

    Parameters
    ----------
    table : PartitionedTable
    encoder : PropositionEncoder
        Fitted to it.
    terms : sequence of LinearTerm
        Columns beside the propositions that are numbers.
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
        every = np.arange(len(encoder.propositions_))
        self.kept = every if kept is None else kept
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
        """Only these propositions, in this order."""
        positions = np.asarray(columns, dtype=np.intp)
        return PackedPartitions(self.table, self.encoder, self.terms, self.kept[positions])

    def gathered(self) -> PackedTable:
        """All rows, here, in the order of the pieces."""
        with stage(PACKING):
            parts = self.table.pieces().map(_words, self.encoder, self.kept, self.terms)
        words = np.concatenate([words for words, _ in parts])
        degrees = np.concatenate([degrees for _, degrees in parts])
        return PackedTable.of_rows(words, self.n_columns).with_degrees(degrees)

    def drawn(self, n: int, generator: np.random.Generator) -> PackedTable:
        """So many of the rows, drawn at random without replacement, here, in their order."""
        n = min(n, self.n_rows)
        chosen = np.sort(generator.choice(self.n_rows, n, replace=False, shuffle=False))
        ends = np.cumsum([0, *self.table.lengths])
        parts = np.split(chosen, np.searchsorted(chosen, ends[1:-1]))
        own = [part - start for part, start in zip(parts, ends, strict=False)]
        with stage(PACKING):
            answers = self.table.pieces().map(_some_words, self.encoder, self.kept, each=own)
        return PackedTable.of_rows(np.concatenate(answers), self.n_columns)

    def different_columns(self) -> NDArray[np.intp]:
        """As :meth:`PackedTable.different_columns` of all rows."""
        with stage("comparing propositions"):
            answers = self.table.pieces().map(_equal_columns, self.encoder, self.kept)
        counts = np.sum([count for count, _ in answers], axis=0)
        alike = np.stack([first for _, first in answers], axis=1)
        _, first, kind = np.unique(alike, axis=0, return_index=True, return_inverse=True)
        earliest = first[kind.ravel()] == np.arange(self.n_columns)
        kept = np.flatnonzero((counts > 0) & (counts < self.n_rows) & earliest)
        return kept if len(kept) else np.arange(min(1, self.n_columns))

    def weighted(
        self,
        codes: Partitioned,
        weights: Partitioned | None = None,
        places: NDArray[np.intp] | None = None,
        factors: FloatArray | None = None,
    ) -> Partitioned:
        """Return partitions of :class:`WeightedRows`, equal rows merged, which stay where they are.

        Small partitions are one piece together, so that fewer answers are added up.

        Parameters
        ----------
        codes : Partitioned
            One array of whole numbers for each piece of the table: the class of every row, from 0.
        weights : Partitioned, optional
            Likewise, of float64; 1 by default.  Rows of weight 0 are left out.
        places : ndarray of shape (K,), intp, optional
            The codes that classes get instead; rows of a class that gets −1 are left out.
        factors : ndarray of shape (K,), float64, optional
            What the weights of the rows of each class are multiplied by.

        Raises
        ------
        DataError
            If a piece of the table has another number of rows than its classes or weights.
        """
        rows = self.table.pieces().zip(codes, *(() if weights is None else (weights,)))
        shared = self.encoder, self.kept, self.terms, places, factors
        with stage(PACKING):
            made = rows.persist(_weighted, *shared)
            few = max(1, int(PIECE_ROWS * len(made) / max(1, self.n_rows)))
            number = min(few, len(made) // LEAST_PIECES)
            if number > 1:
                made = made.coalesce(number, WeightedRows.joined)
            return made.wait()


def degrees_of(table: Any, terms: Sequence[Any]) -> FloatArray:
    """The numbers that linear terms have on the rows of a table, a column each."""
    degrees = np.empty((len(table), len(terms)))
    for j, term in enumerate(terms):
        degrees[:, j] = term(table)
    return degrees


def _packed(table: Any, encoder: Any, kept: NDArray[np.intp], terms: Sequence[Any]) -> PackedTable:
    packed: PackedTable = encoder.pack(table).select(kept)
    return packed.with_degrees(degrees_of(table, terms))


def _words(
    table: Any, encoder: Any, kept: NDArray[np.intp], terms: Sequence[Any]
) -> tuple[NDArray[np.uint64], FloatArray]:
    packed = _packed(table, encoder, kept, terms)
    return packed.rows, packed.degrees


def _some_words(
    table: Any, encoder: Any, kept: NDArray[np.intp], rows: NDArray[np.intp]
) -> NDArray[np.uint64]:
    return _packed(table, encoder, kept, ()).rows[rows]


def _equal_columns(
    table: Any, encoder: Any, kept: NDArray[np.intp]
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    packed = _packed(table, encoder, kept, ())
    return row_counts(packed.columns), packed.first_equal


def _weighted(
    beside: tuple[Any, ...],
    encoder: Any,
    kept: NDArray[np.intp],
    terms: Sequence[Any],
    places: NDArray[np.intp] | None,
    factors: FloatArray | None,
) -> WeightedRows:
    table, narrow, *own = beside
    if any(len(column) != len(table) for column in (narrow, *own)):
        others = " and ".join(f"{len(column):,}" for column in beside[1:])
        given = "classes and weights" if own else "classes"
        raise DataError(
            f"a partition has {len(table):,} rows and {others} {given}; expected as many. Where it "
            "had so many when it was first read, what makes it gives other rows whenever it runs: "
            "write these to files, and read them."
        )
    codes = narrow.astype(np.intp)
    weights = own[0] if own else np.ones(len(codes))
    if factors is not None:
        weights = weights * factors[codes]
    if places is not None:
        codes = places[codes]
        weights = np.where(codes < 0, 0.0, weights)
    return WeightedRows.of(_packed(table, encoder, kept, terms), codes, weights).merged()
