"""Tables with one code per row and column, from which propositions are computed.

An *ordered* column of K different values has 2(K − 1) propositions, x ≤ t_g and x ≥ t_{g+1} at each
gap g between two values; a *nominal* column has x = v for each value.  The code of an entry is the
position of its value, or K if it is missing, so that no proposition is true.  A column of a packed
table is a nominal column with one value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, different_rows
from formulakern.encoding.bits import Words, all_ones, n_words, unpack_rows
from formulakern.encoding.packed import PackedTable
from formulakern.syntax.formula import Formula

#: The largest number of values of a column whose codes take one byte: missing entries have one too.
MAX_BYTE_CODES = 255

Codes = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class OrderedColumn:
    """The propositions of one column, and the code of every row.

    Parameters
    ----------
    codes : whole numbers (m,)
        The codes, 0 to K − 1, or K for missing entries.
    n_values : int
        K, the number of different values.
    ordered : bool
        False for a nominal column.
    leaves : sequence of Formula
        x ≤ t_g at every gap g, then x ≥ t_{g+1}, for an ordered column; x = v for a nominal one.
    sides : tuple of bool
        True for each of the sides x ≤ t and x ≥ t whose propositions may be used.
    every : bool
        True if there is a gap between any two values of training.
    """

    codes: Codes
    n_values: int
    ordered: bool
    leaves: Sequence[Formula]
    sides: tuple[bool, bool] = (True, True)
    every: bool = True

    @property
    def n_propositions(self) -> int:
        """The number of propositions, 2(K − 1) or K."""
        return 2 * (self.n_values - 1) if self.ordered else self.n_values

    def truths(self, number: int) -> NDArray[np.bool_]:
        """Return the truth values of a proposition on all rows."""
        if not self.ordered:
            return np.asarray(self.codes == number)
        n_gaps = self.n_values - 1
        if number < n_gaps:
            return np.asarray(self.codes <= number)
        return np.asarray((self.codes > number - n_gaps) & (self.codes < self.n_values))


@dataclass(frozen=True, eq=False)
class Leaves(Sequence[Formula]):
    """The propositions of all columns as formulas, built when they are accessed."""

    parts: list[Sequence[Formula]]
    starts: NDArray[np.intp]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Leaves) and self.parts == other.parts

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __getitem__(self, proposition: Any) -> Any:
        j = int(np.searchsorted(self.starts, proposition, side="right")) - 1
        return self.parts[j][proposition - int(self.starts[j])]


@dataclass(frozen=True, eq=False)
class OrderedTable:
    """A table of m rows of ordered and nominal columns, and linear terms.

    Propositions are numbered column by column.  ``linear_columns`` are the linear terms, float64 of
    shape (m, e).

    >>> codes = np.array([0, 2, 1, 3], dtype=np.int32)  # the last one is missing
    >>> table = OrderedTable([OrderedColumn(codes, 3, True, "abcd")], 4, np.zeros((4, 0)))
    >>> table.n_columns, table.cover((1,)).tolist(), table.cover((1, 2)).tolist()
    (4, [True, False, True, False], [False, False, True, False])
    """

    columns: list[OrderedColumn]
    n_rows: int
    linear_columns: FloatArray

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """The number of the first proposition of each column, and the number of propositions."""
        return np.cumsum([0, *(column.n_propositions for column in self.columns)])

    @property
    def n_columns(self) -> int:
        """The number of propositions."""
        return int(self.starts[-1])

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of propositions."""
        return self.n_rows, self.n_columns

    @cached_property
    def codes(self) -> NDArray[np.int32]:
        """The codes of all columns, int32 of shape (columns, m)."""
        listed = [column.codes for column in self.columns]
        n_rows = len(listed[0]) if listed else self.n_rows
        return np.array(listed, dtype=np.int32).reshape(len(listed), n_rows)

    def place(self, proposition: int) -> tuple[int, int]:
        """Return the column of a proposition, and its number within the column."""
        j = int(np.searchsorted(self.starts, proposition, side="right")) - 1
        return j, proposition - int(self.starts[j])

    @property
    def cuts(self) -> str:
        """The cut points, in words."""
        every = all(column.every for column in self.columns)
        return "every gap between two values" if every else "the cut points of the encoder"

    @property
    def leaves(self) -> Leaves:
        """The propositions as formulas."""
        return Leaves([column.leaves for column in self.columns], self.starts)

    @property
    def rows(self) -> Words:
        """The bytes of the codes of each row, uint64 (m, ·)."""
        codes = np.ascontiguousarray(np.array([column.codes for column in self.columns]).T)
        octets = codes.view(np.uint8)
        return np.pad(octets, ((0, 0), (0, -octets.shape[1] % 8))).view(np.uint64)

    def without_formulas(self) -> OrderedTable:
        """Return the table without the formulas of the propositions."""
        return replace(self, columns=[replace(one, leaves=()) for one in self.columns])

    def narrow(self) -> OrderedTable:
        """Return the table with codes of one byte for columns of at most 255 values.

        A nominal column of more values is divided into several columns.
        """
        columns = []
        for one in self.columns:
            step = max(1, one.n_values) if one.ordered else MAX_BYTE_CODES
            for first in range(0, max(1, one.n_values), step):
                n = min(step, one.n_values - first)
                inside = (one.codes >= first) & (one.codes < first + n)
                codes = np.where(inside, one.codes - first, n).astype(np.min_scalar_type(n))
                leaves = one.leaves if one.ordered else one.leaves[first : first + n]
                columns.append(replace(one, codes=codes, n_values=n, leaves=leaves))
        return replace(self, columns=columns)

    @staticmethod
    def concatenated(parts: Sequence[OrderedTable]) -> OrderedTable:
        """Return the rows of several tables of the same columns."""
        columns = [
            replace(own[0], codes=np.concatenate([one.codes for one in own]))
            for own in zip(*(part.columns for part in parts), strict=True)
        ]
        linear_columns = np.concatenate([part.linear_columns for part in parts])
        return OrderedTable(columns, len(linear_columns), linear_columns)

    def take(self, rows: NDArray[Any]) -> OrderedTable:
        """Return the table with only these rows, given by position or by a mask."""
        columns = [replace(one, codes=one.codes[rows]) for one in self.columns]
        linear_columns = self.linear_columns[rows]
        return OrderedTable(columns, len(linear_columns), linear_columns)

    def distinct(self) -> tuple[OrderedTable, NDArray[np.intp]]:
        """Return the different rows, and the position of each row among them."""
        first, kind = different_rows(np.ascontiguousarray(self.codes.T))
        return self.take(first), kind

    @cached_property
    def _words(self) -> dict[int, Words]:
        return {}

    def _packed(self, proposition: int) -> Words:
        found = self._words.get(proposition)
        if found is None:
            j, number = self.place(proposition)
            octets = np.zeros(8 * n_words(self.n_rows), dtype=np.uint8)
            octets[: -(-self.n_rows // 8)] = np.packbits(
                self.columns[j].truths(number), bitorder="little"
            )
            found = self._words[proposition] = octets.view("<u8").astype(np.uint64, copy=False)
        return found

    def covers(self, conjunctions: Sequence[Sequence[int]]) -> Words:
        """Return the packed rows on which each conjunction is true."""
        covers = np.repeat(all_ones(self.n_rows)[None], len(conjunctions), axis=0)
        for cover, propositions in zip(covers, conjunctions, strict=True):
            for proposition in propositions:
                cover &= self._packed(proposition)
        return covers

    def cover(self, conjunction: Iterable[int]) -> NDArray[np.bool_]:
        """Return the rows on which one conjunction is true, bool of shape (m,)."""
        return np.asarray(self.truths(self.covers([tuple(conjunction)]))[0])

    def truths(self, covers: Words) -> NDArray[np.bool_]:
        """Return packed covers as bool of shape (r, m)."""
        return unpack_rows(covers, self.n_rows).view(np.bool_)

    def some(self, most: int) -> list[int]:
        """Return at most ``most`` propositions of each column and side, evenly spaced."""
        found: list[int] = []
        for start, column in zip(self.starts.tolist(), self.columns, strict=False):
            n = column.n_propositions
            places = np.unique(np.linspace(0, n - 1, min(n, 2 * most)).astype(np.intp))
            found += (start + places).tolist()
        return found

    def packed(self, propositions: Sequence[int]) -> PackedTable:
        """Return the given propositions as a packed table."""
        words = self.covers([(p,) for p in propositions])
        return PackedTable.of_columns(words, self.n_rows, linear_columns=self.linear_columns)


@dataclass(frozen=True, eq=False)
class GroupTable(OrderedTable):
    """Groups of rows in partitions, with the truths of some propositions; the others are false.

    Each column has one code, the largest of all rows, which is K if an entry is missing.
    """

    known: Mapping[int, Words] = field(default_factory=dict)

    @property
    def cuts(self) -> str:
        """The cut points, in words."""
        if all(column.every for column in self.columns):
            return super().cuts
        most = max(column.n_values - 1 for column in self.columns if not column.every)
        return f"the cut points agreed over all partitions, at most {most} per column"

    def _packed(self, proposition: int) -> Words:
        words = self.known.get(proposition)
        return np.zeros(n_words(self.n_rows), dtype=np.uint64) if words is None else words
