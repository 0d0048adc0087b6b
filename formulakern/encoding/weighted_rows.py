"""Encoded rows with a class and a weight each, equal ones merged: what a piece of a table holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, different_rows
from formulakern.encoding.packed import PackedTable

__all__ = ["WeightedRows"]


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Rows of 0 and 1 of some classes.

    Parameters
    ----------
    table : PackedTable of m rows
        With degrees, where there are any.
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
        """Rows as they are, without those of weight 0; by default each weighs 1.

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
        """The rows of several pieces of the same columns, equal ones merged.

        >>> table = PackedTable.of_rows(np.array([[5], [6]], dtype=np.uint64), 3)
        >>> rows = WeightedRows.of(table, np.array([0, 1]))
        >>> WeightedRows.joined([rows, rows]).weights
        array([2., 2.])
        """
        words = np.concatenate([part.table.rows for part in parts])
        degrees = np.concatenate([part.table.degrees for part in parts])
        table = PackedTable.of_rows(words, parts[0].table.n_columns).with_degrees(degrees)
        codes = np.concatenate([part.codes for part in parts])
        weights = np.concatenate([part.weights for part in parts])
        numbers = np.concatenate([part.numbers for part in parts])
        return WeightedRows(table, codes, weights, numbers).merged()

    def merged(self) -> WeightedRows:
        """Rows of equal propositions, degrees and class as one, with the sum of their weights.

        Notes
        -----
        One sort of the rows.

        Examples
        --------
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

    @property
    def nbytes(self) -> int:
        """Bytes of words, degrees, codes, weights and numbers."""
        width = (self.table.n_columns + 63) // 64 + self.table.degrees.shape[1] + 3
        return int(8 * width * len(self))
