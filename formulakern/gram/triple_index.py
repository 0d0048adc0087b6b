"""Many kernels on one pair of tables, with the joint counts of each pair of rows found once.

A formula's kernel is a function of (s, p, q), and the pairs of rows of two tables have few
different triples of counts.  The index numbers the triples that occur, and stores the number of the
triple of every pair of rows.  The Gram matrix of any kernel is then its values on the triples,
looked up for each pair, without counting or compiling again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray, IntArray
from formulakern.backends.lookup import (
    CountLayout,
    count_entries,
    lay_out,
    row_classes,
)
from formulakern.backends.loops import look_up_block
from formulakern.backends.tables import BlockWriter, PairedTables
from formulakern.errors import ParameterError
from formulakern.gram.matrix import fill_matrix, output, row_blocks, work_off

#: Positions of rows and of columns.
Positions = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]

#: The largest number of triples.
MAX_TRIPLES = 3 << 21
#: The largest number of possible triples for each pair of rows.
TRIPLES_PER_PAIR = 6
#: The number of triples that is always accepted.
ACCEPTED_TRIPLES = 1 << 12
#: Pairs that a thread looks up at a time: 1.3 milliseconds, enough to start a thread for.
LOOKUP_PAIRS = 1 << 22


@dataclass(frozen=True, eq=False)
class Counts:
    """Triples (s, p, q) of counts ⟨x,z⟩, ⟨x,x⟩ and ⟨z,z⟩, per domain: (domains, triples)."""

    s: IntArray
    p: IntArray
    q: IntArray
    #: True if x and z are one row, not only equal rows.
    same: npt.NDArray[np.bool_]


class TripleIndex:
    """The triples of counts that occur between two tables, and the triple of every pair of rows.

    If z is x, a row with itself has a triple of its own, and (s, p, q) and (s, q, p) have one
    number, so that every matrix looked up is symmetric to the last bit.  The cost is one pass over
    the pairs of rows, and one or two bytes for each in most cases.
    """

    def __init__(self, tables: PairedTables) -> None:
        if not self.serves(tables):
            raise ParameterError(
                f"these tables have {count_entries(tables):,} possible triples of counts, too many "
                f"to number for {tables.shape[0]:,} x {tables.shape[1]:,} pairs of rows. Compute "
                "each Gram matrix by kernel(X, Z)."
            )
        layout = lay_out(tables)
        n_layout = layout.s.shape[1]
        # the counts of rows with themselves follow those of the layout
        own, x_class = row_classes(tables.x_counts if tables.symmetric else tables.x_counts[:, :0])
        n_all = n_layout + own.shape[1]
        index = np.empty(tables.shape, dtype=np.min_scalar_type(n_all - 1))
        fill_matrix(index, tables.symmetric, _places(tables, layout))
        if tables.symmetric:
            np.fill_diagonal(index, n_layout + x_class)
        used = np.zeros(n_all, dtype=np.bool_)
        for row in index:
            used[row] = True
        occurring, number = np.flatnonzero(used), np.cumsum(used) - 1
        for row in index:
            row[...] = number[row]
        self.index = index.astype(np.min_scalar_type(len(occurring) - 1), copy=False)
        s, p, q = (
            np.concatenate([counts, own], axis=1)[:, occurring]
            for counts in (layout.s, layout.p, layout.q)
        )
        self.counts = Counts(s, p, q, occurring >= n_layout)

    @staticmethod
    def serves(tables: PairedTables) -> bool:
        """Return True for at most 6 possible triples per pair of rows, and 6 million in all."""
        rows, columns = tables.shape
        most = min(MAX_TRIPLES, max(TRIPLES_PER_PAIR * rows * columns, ACCEPTED_TRIPLES))
        return bool(rows and columns) and count_entries(tables) <= most

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows of x and of z."""
        return self.index.shape[0], self.index.shape[1]

    def look_up(
        self, values: FloatArray, out: FloatArray | None = None, block: Positions | None = None
    ) -> FloatArray:
        """Return the matrix ``values[index]`` of one value per triple, in ``out`` if given.

        With ``block``, the positions of rows and of columns, only this part of the matrix.
        """
        n_triples = self.counts.same.size
        if values.shape != (n_triples,):
            raise ParameterError(
                f"values has shape {values.shape}; expected one for each of {n_triples:,} triples."
            )
        everything = [np.arange(size, dtype=np.int64) for size in self.shape]
        # positions from 0 on, or IndexError: the loop does not check them
        own, others = (
            [a[b] for a, b in zip(everything, block, strict=True)] if block else everything
        )
        matrix = output((len(own), len(others)), out)
        table = np.array(values, dtype=np.float64)  # contiguous and writeable, as the loop needs
        if not look_up_block.pays(matrix.size):
            matrix[...] = table[self.index[np.ix_(own, others)]]
            return matrix

        def one(rows: slice, columns: slice) -> None:  # noqa: ARG001
            look_up_block(self.index, table, own[rows], others, matrix[rows])

        work_off(row_blocks(matrix.shape, max(1, LOOKUP_PAIRS // max(1, len(others)))), one)
        return matrix


def with_themselves(ones: IntArray) -> tuple[Counts, IntArray]:
    """Return the different rows of these counts with themselves, and the row of every count."""
    rows, which = row_classes(ones)
    return Counts(rows, rows, rows, np.ones(rows.shape[1], dtype=np.bool_)), which


def _places(tables: PairedTables, layout: CountLayout) -> BlockWriter:
    """Return a writer of the place of every pair of rows in a lookup table."""
    itself = np.arange(layout.s.shape[1], dtype=np.float64)  # the value at a place is its number
    look_up = layout.look_up(tables, itself)

    def fill(rows: slice, columns: slice, block: Any) -> None:
        places = np.empty((rows.stop - rows.start, columns.stop - columns.start))
        look_up(rows, columns, places)
        if tables.symmetric and rows.start == columns.start:
            square = places[:, : len(places)]
            upper = np.triu(square, 1)
            square[...] = upper + upper.T  # the diagonal is set by the caller
        block[...] = places

    return fill
