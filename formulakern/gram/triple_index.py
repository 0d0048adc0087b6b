"""Many kernels on one pair of tables: which joint counts each pair of rows has, found once.

A formula's kernel is a function of (s, p, q), and the pairs of rows of two tables share few
different triples of counts.  So number the triples that occur, keep for every pair of rows the
number of its triple, and the Gram matrix of any kernel is its values on the triples, looked up
pair by pair: nothing is counted again, and nothing is compiled for a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray, IntArray
from formulakern.backends.lookup import (
    Layout,
    count_entries,
    lay_out,
    row_classes,
)
from formulakern.backends.loops import look_up_rows
from formulakern.backends.tables import BlockWriter, PairedTables
from formulakern.errors import ParameterError
from formulakern.gram.matrix import fill_matrix, output, row_blocks, work_off

#: Tables with more triples than this are not numbered.
MAX_TRIPLES = 3 << 21
#: Nor those with more possible triples for each pair of rows.
TRIPLES_PER_PAIR = 6
#: So many triples are numbered even where there are fewer pairs of rows.
FEW_TRIPLES = 1 << 12
#: Pairs that a thread looks up at a time: 1.3 milliseconds, for which starting a thread pays.
LOOKED_UP_TOGETHER = 1 << 22


@dataclass(frozen=True, eq=False)
class Counts:
    """Triples (s, p, q) of counts ⟨x,z⟩, ⟨x,x⟩ and ⟨z,z⟩, per domain: (domains, triples)."""

    s: IntArray
    p: IntArray
    q: IntArray
    #: Whether x and z are one row, not only equal ones.
    same: npt.NDArray[np.bool_]


class TripleIndex:
    """The triples of counts that occur between two tables, and which of them every pair has.

    If z is x, a row with itself is a triple of its own, and the index is symmetric, (s, p, q) also
    for (s, q, p), so that every matrix looked up is symmetric to the last bit.  One pass over the
    pairs of rows, one or two bytes for each in most cases.
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
        # behind the counts of the layout stand those of rows with themselves
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
        """Whether the possible triples are few: at most 6 per pair of rows, and 6 million.

        Those that occur, on which kernels are computed, are fewer by far.
        """
        rows, columns = tables.shape
        most = min(MAX_TRIPLES, max(TRIPLES_PER_PAIR * rows * columns, FEW_TRIPLES))
        return bool(rows and columns) and count_entries(tables) <= most

    @property
    def shape(self) -> tuple[int, int]:
        """Rows of x, rows of z."""
        return self.index.shape[0], self.index.shape[1]

    def look_up(self, values: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Return the matrix of ``values[index]``, a value for each triple, in ``out`` if given."""
        n_triples = self.counts.same.size
        if values.shape != (n_triples,):
            raise ParameterError(
                f"values has shape {values.shape}; expected one for each of {n_triples:,} triples."
            )
        matrix = output(self.shape, out)
        table = np.array(values, dtype=np.float64)  # contiguous, and writeable for the loop's type
        if not look_up_rows.pays(matrix.size):
            matrix[...] = table[self.index]
            return matrix

        def one(rows: slice, columns: slice) -> None:  # noqa: ARG001
            look_up_rows(self.index, table, rows.start, rows.stop, matrix)

        work_off(row_blocks(self.shape, max(1, LOOKED_UP_TOGETHER // self.shape[1])), one)
        return matrix


def with_themselves(ones: IntArray) -> tuple[Counts, IntArray]:
    """The different rows of these counts with themselves, and for every count its row."""
    rows, which = row_classes(ones)
    return Counts(rows, rows, rows, np.ones(rows.shape[1], dtype=np.bool_)), which


def _places(tables: PairedTables, layout: Layout) -> BlockWriter:
    """For every pair of rows where a tabulated kernel would look its value up."""
    itself = np.arange(layout.s.shape[1], dtype=np.float64)  # looked up, a place gives its number
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
