"""The encoded rows of a table in pieces: packed where they lie, and brought here if they may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.encoding.bits import n_words, row_counts
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.pieced_table import PiecedTable
from formulakern.encoding.weighted_rows import WeightedRows
from formulakern.errors import DataError
from formulakern.partitions.partitioned import Partitioned
from formulakern.progress import stage

__all__ = ["PackedPieces", "degrees_of"]

#: Partitions are joined to pieces of so many rows, as long as there are so many pieces.
PIECE_ROWS, LEAST_PIECES = 500_000, 8
#: What a fit says that it does meanwhile.
PACKING = "packing rows"


class PackedPieces:
    """What an encoder makes of a table in pieces; no row of it is here.

    Parameters
    ----------
    table : PiecedTable
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
        table: PiecedTable,
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

    def select(self, columns: Sequence[int] | NDArray[Any]) -> PackedPieces:
        """Only these propositions, in this order."""
        positions = np.asarray(columns, dtype=np.intp)
        return PackedPieces(self.table, self.encoder, self.terms, self.kept[positions])

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
