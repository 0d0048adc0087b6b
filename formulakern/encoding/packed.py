"""The packed table of 0 and 1, read by row for pairs of rows and by column for covers.

Kernels count the columns that are 1 in two rows, so they read words of 64 columns.  Covers, the
rows on which a conjunction is true, are ANDs of columns, so a search reads words of 64 rows.  A
:class:`PackedTable` is built from one of the two and computes the other at its first use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, different_rows
from formulakern.encoding.bits import (
    Words,
    all_ones,
    n_words,
    pack_coordinates,
    row_counts,
    select_bits,
    transposed,
    unpack_rows,
)
from formulakern.errors import DataError
from formulakern.tables.read import row_positions

#: The largest size of the packed words of a sparse table, in bytes.
MAX_PACKED_BYTES = 4 * 2**30

#: The largest number of columns for which all columns of sparse tables are packed.
MAX_PACKED_COLUMNS = 4096

Truths = NDArray[np.bool_]


class PackedTable:
    """A table of m rows of n columns of 0 and 1, and linear terms.

    ``sparse`` is a canonical scipy.sparse.csr_array of the ones of a sparse table, which is packed
    at the first use of its words.  ``linear_columns`` are the linear terms, float64 (m, e),
    which comparisons of rows ignore.

    >>> table = PackedTable.of_rows(np.array([[5], [6]], dtype=np.uint64), 3)
    >>> table.columns.tolist(), table.counts, table.cover((0, 2))
    ([[1], [2], [3]], array([2, 2]), array([ True, False]))
    """

    def __init__(
        self,
        n_rows: int,
        n_columns: int,
        names: tuple[str, ...] | None = None,
        *,
        rows: Words | None = None,
        columns: Words | None = None,
        sparse: Any = None,
        linear_columns: FloatArray | None = None,
    ) -> None:
        self.linear_columns = np.zeros((n_rows, 0)) if linear_columns is None else linear_columns
        self.n_rows, self.n_columns, self.names, self.sparse = n_rows, n_columns, names, sparse
        for name, words, shape in (
            ("rows", rows, (n_rows, n_words(n_columns))),
            ("columns", columns, (n_columns, n_words(n_rows))),
        ):
            if words is None:
                continue
            if words.shape != shape:
                raise DataError(
                    f"words of shape {words.shape} do not fit the {name} of a table of {n_rows:,} "
                    f"rows and {n_columns:,} columns; expected {shape}. Build it by read_packed(X)."
                )
            self.__dict__[name] = words  # the cached property is not computed again

    @classmethod
    def of_rows(
        cls, words: Words, n_columns: int, names: tuple[str, ...] | None = None
    ) -> PackedTable:
        """Return the table of packed rows, uint64 of shape (m, ceil(n / 64)), padded with 0."""
        return cls(len(words), n_columns, names, rows=words)

    @classmethod
    def of_columns(
        cls,
        words: Words,
        n_rows: int,
        names: tuple[str, ...] | None = None,
        linear_columns: FloatArray | None = None,
    ) -> PackedTable:
        """Return the table of packed columns, uint64 of shape (n, ceil(m / 64)), padded with 0."""
        return cls(n_rows, len(words), names, columns=words, linear_columns=linear_columns)

    @staticmethod
    def concatenated(tables: Sequence[PackedTable]) -> PackedTable:
        """Return the rows of several tables of the same columns."""
        words = np.concatenate([table.rows for table in tables])
        linear_columns = np.concatenate([table.linear_columns for table in tables])
        return PackedTable.of_rows(words, tables[0].n_columns).with_linear_columns(linear_columns)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with the sparse table, or else the first view of rows or columns."""
        names = ["n_rows", "n_columns", "names", "sparse"]
        if self.sparse is None:
            names.append(next(name for name in self.__dict__ if name in ("rows", "columns")))
        state = {name: self.__dict__[name] for name in names}
        return state | {"degrees": self.linear_columns}  # their name in files

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the attributes from a state."""
        held = dict(state)
        self.linear_columns = held.pop("degrees")
        self.__dict__ |= held

    def __repr__(self) -> str:
        return f"<PackedTable: {self.n_rows:,} rows, {self.n_columns:,} columns>"

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of columns."""
        return self.n_rows, self.n_columns

    # -- views ---------------------------------------------------------------------------------

    @cached_property
    def rows(self) -> Words:
        """Packed rows, uint64 (m, ceil(n / 64)): bit j of word w is column 64·w + j."""
        if self.sparse is not None:
            return _packed(self.sparse)
        return transposed(self.columns, self.n_rows)

    @cached_property
    def columns(self) -> Words:
        """Packed columns, uint64 (n, ceil(m / 64)): bit i of word w is row 64·w + i."""
        if self.sparse is not None:
            return _packed(self.sparse.T.tocsr())
        return transposed(self.rows, self.n_columns)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The number of ones in every row, int64 of shape (m,)."""
        if self.sparse is not None:
            return np.asarray(np.diff(self.sparse.indptr), dtype=np.int64)
        return row_counts(self.rows)

    def unpacked(self) -> NDArray[np.uint8]:
        """Return all entries, uint8 of shape (m, n)."""
        return unpack_rows(self.rows, self.n_columns)

    def entries(self, rows: NDArray[Any], columns: NDArray[Any]) -> NDArray[np.bool_]:
        """Return the entries at positions of rows and columns, which broadcast."""
        words = self.rows[rows, columns >> 6]
        bits = words >> (columns & 63).astype(np.uint64) & np.uint64(1)
        return np.asarray(bits != 0)

    def with_linear_columns(self, linear_columns: FloatArray) -> PackedTable:
        """Return the table with these linear terms, float64 of shape (m, e)."""
        table = PackedTable(self.n_rows, self.n_columns)
        table.__dict__ |= self.__dict__ | {"linear_columns": linear_columns}
        return table

    # -- parts ---------------------------------------------------------------------------------

    def select(self, columns: Sequence[int] | NDArray[Any]) -> PackedTable:
        """Return the table with only these columns, in this order."""
        positions = np.asarray(columns, dtype=np.intp)
        if np.array_equal(positions, np.arange(self.n_columns)):
            return self
        names = None if self.names is None else tuple(self.names[j] for j in positions.tolist())
        parts: dict[str, Any] = {}
        if self.sparse is not None:
            parts["sparse"] = self.sparse[:, positions]
            parts["sparse"].sort_indices()
        elif "columns" in self.__dict__:
            parts["columns"] = self.columns[positions]
        else:
            parts["rows"] = select_bits(self.rows, self.n_columns, positions)
        return PackedTable(
            self.n_rows, len(positions), names, linear_columns=self.linear_columns, **parts
        )

    def take(self, rows: NDArray[Any]) -> PackedTable:
        """Return the table of these rows, given by (perhaps repeated) positions or by a mask."""
        rows = row_positions(rows, self.n_rows)
        parts: dict[str, Any] = {"linear_columns": self.linear_columns[rows]}
        if self.sparse is not None:
            parts["sparse"] = self.sparse[rows]
        elif "rows" in self.__dict__:
            parts["rows"] = self.rows[rows]
        else:
            parts["columns"] = select_bits(self.columns, self.n_rows, rows)
        return PackedTable(len(rows), self.n_columns, self.names, **parts)

    def distinct(self) -> tuple[PackedTable, NDArray[np.intp]]:
        """Return the different rows, ordered by words, and the position of each row among them."""
        first, kind = different_rows(np.ascontiguousarray(self.rows))
        return self.take(first), kind

    @cached_property
    def chains(self) -> list[list[int]]:
        """The positions of the columns in chains, in which each one covers more rows, or fewer.

        Each column belongs to one chain.  The next column of a chain is one of the two that follow,
        so that chains may alternate, as x <= 1, x >= 2, x <= 2, x >= 3 do.  O(nm/64).

        >>> words = np.array([[1], [12], [3], [8], [7]], dtype=np.uint64)
        >>> PackedTable.of_columns(words, 4).chains
        [[0, 2, 4], [1, 3]]
        """
        ways = []
        for step in (1, 2):
            before, after = self.columns[:-step], self.columns[step:]
            ways.append([~np.any(a & ~b, axis=1) for a, b in ((before, after), (after, before))])
        chains: list[list[int]] = []
        last: dict[int, tuple[int, list[bool]]] = {}  # end of a chain → its number, its directions
        for place in range(self.n_columns):
            for step, own in zip((1, 2), ways, strict=True):
                chain, possible = last.get(place - step, (-1, [False, False]))
                pairs = zip(possible, own, strict=True)
                possible = [one and bool(way[place - step]) for one, way in pairs]
                if any(possible):
                    del last[place - step]
                    break
            else:
                chain, possible = len(chains), [True, True]
                chains.append([])
            chains[chain].append(place)
            last[place] = chain, possible
        return chains

    @cached_property
    def first_equal(self) -> NDArray[np.intp]:
        """For every column the position of the first equal column, intp of shape (n,)."""
        first: dict[bytes, int] = {}
        return np.array(
            [first.setdefault(row.tobytes(), j) for j, row in enumerate(self.columns)],
            dtype=np.intp,
        )

    def different_columns(self, everywhere: bool = False) -> NDArray[np.intp]:
        """Return the columns to learn from: the first of equal columns, without constant columns.

        Columns of ones are kept if ``everywhere``.  If all columns are constant, return the first.
        """
        alike = self.first_equal[:, None]
        return varying_columns(row_counts(self.columns), alike, self.n_rows + everywhere)

    # -- covers --------------------------------------------------------------------------------

    def covers(self, conjunctions: Sequence[Sequence[int]]) -> Words:
        """Return the packed rows on which each of r conjunctions of columns is true.

        The result is uint64 of shape (r, ceil(m / 64)); the empty conjunction is true everywhere.
        Raise DataError if a position is out of range.
        """
        covers = np.repeat(all_ones(self.n_rows)[None], len(conjunctions), axis=0)
        for place in range(max(map(len, conjunctions), default=0)):
            longer = [r for r, columns in enumerate(conjunctions) if len(columns) > place]
            positions = np.array([conjunctions[r][place] for r in longer], dtype=np.intp)
            if positions.min() < 0 or positions.max() >= self.n_columns:
                raise DataError(
                    f"columns are numbered 0 to {self.n_columns - 1}; "
                    f"got {positions.min()} to {positions.max()}."
                )
            covers[longer] &= self.columns[positions]
        return covers

    def cover(self, conjunction: Iterable[int]) -> Truths:
        """Return the rows on which all columns of one conjunction are 1, bool of shape (m,)."""
        return np.asarray(self.truths(self.covers([tuple(conjunction)]))[0])

    def truths(self, covers: Words) -> NDArray[np.bool_]:
        """Return packed covers, uint64 of shape (r, ceil(m / 64)), as bool of shape (r, m)."""
        return unpack_rows(covers, self.n_rows).view(np.bool_)


def varying_columns(
    counts: NDArray[np.int64], alike: NDArray[Any], n_rows: int
) -> NDArray[np.intp]:
    """Return the columns with 1 to n_rows − 1 ones, the first of equal columns; else column 0.

    Columns are equal if their rows in ``alike`` are equal.
    """
    _, first, kind = np.unique(alike, axis=0, return_index=True, return_inverse=True)
    earliest = first[kind.ravel()] == np.arange(len(counts))
    kept = np.flatnonzero((counts > 0) & (counts < n_rows) & earliest)
    return kept if len(kept) else np.arange(min(1, len(counts)))


def check_same_columns(x: Any, z: Any) -> None:
    """Raise DataError if two tables differ in the number of columns or, if both have any, names."""
    if x.n_columns != z.n_columns:
        raise DataError(
            f"X has {x.n_columns} columns and Z has {z.n_columns}; a kernel compares rows over the "
            "same columns. Fit one encoder on X, and transform both tables with it."
        )
    if x.names is None or z.names is None or x.names == z.names:
        return
    if sorted(x.names) == sorted(z.names):
        raise DataError(
            "X and Z have the same columns in a different order; a kernel compares them by "
            "position. Write Z[X.columns]."
        )
    place = next(j for j in range(x.n_columns) if x.names[j] != z.names[j])
    raise DataError(
        f'column {place} is "{x.names[place]}" in X and "{z.names[place]}" in Z; a kernel '
        "compares rows over the same columns. Rename or choose the columns."
    )


def paired_rows(x: PackedTable, z: PackedTable) -> tuple[Words, Words]:
    """Return packed rows of two tables over common columns: popcount(x_i & z_j) is ⟨x_i, z_j⟩.

    The rows have all columns or, for wide sparse tables, only the columns with a 1 in both tables.
    Raise DataError if the columns differ, or the words would exceed ``MAX_PACKED_BYTES``.
    """
    check_same_columns(x, z)
    if (x.sparse is None and z.sparse is None) or x.n_columns <= MAX_PACKED_COLUMNS:
        return x.rows, x.rows if x is z else z.rows
    common = _used_columns(x)
    if x is not z:
        common &= _used_columns(z)
    positions = np.flatnonzero(common)
    _check_size(max(x.n_rows, z.n_rows), len(positions), x.n_columns)
    words = x.select(positions).rows
    return words, words if x is z else z.select(positions).rows


def _packed(sparse: Any) -> Words:
    """Return the packed rows of a sparse matrix."""
    n_rows, n_columns = sparse.shape
    _check_size(n_rows, n_columns, n_columns)
    rows = np.repeat(np.arange(n_rows, dtype=np.int64), np.diff(sparse.indptr))
    return pack_coordinates(rows, sparse.indices.astype(np.int64), sparse.shape)


def _used_columns(table: PackedTable) -> Truths:
    if table.sparse is not None:
        used = np.zeros(table.n_columns, dtype=np.bool_)
        used[table.sparse.indices] = True
        return used
    together = np.bitwise_or.reduce(table.rows, axis=0)[None]
    return np.asarray(unpack_rows(together, table.n_columns)[0] != 0)


def _check_size(n_rows: int, n_columns: int, all_columns: int) -> None:
    size = n_rows * n_words(n_columns) * 8
    if size > MAX_PACKED_BYTES:
        common = "" if n_columns == all_columns else f" of {all_columns:,}"
        raise DataError(
            f"{n_rows:,} sparse rows over {n_columns:,}{common} columns would take "
            f"{size / 2**30:,.1f} GiB packed, more than {MAX_PACKED_BYTES / 2**30:g} GiB. "
            "Drop the rarest columns (sklearn.feature_selection.VarianceThreshold), or pass fewer "
            "rows at a time."
        )
