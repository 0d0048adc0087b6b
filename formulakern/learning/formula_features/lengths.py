"""1 over the length of a row in a kernel, for tables of very many rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, IntArray
from formulakern.encoding.bits import pack_rows
from formulakern.encoding.packed import PackedTable
from formulakern.gram.pair import TablePair
from formulakern.kernels.algebra import Kernel, inverse_length
from formulakern.learning.formula_features.evaluation import count_ones, rows_of_bits
from formulakern.learning.formula_features.spaces import Space

__all__ = ["RowLengths", "row_classes"]

#: Classes of rows are looked up in a table of at most so many entries; more are sorted.
MAX_CLASSES = 1 << 22


@dataclass(frozen=True, eq=False)
class RowLengths:
    """What the features of a row are divided by.

    K(x, x) depends only on how many ones x has in each domain, so it is computed once for rows that
    agree in that.

    Parameters
    ----------
    groups : tuple of tuple of Kernel
        For each group of features the kernels by whose lengths √K(x, x) rows are divided.
    domains : tuple of tuple of int
        The columns of every domain that these kernels have.
    """

    groups: tuple[tuple[Kernel, ...], ...]
    domains: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, spaces: Sequence[Space]) -> Self:
        """The different divisors of some spaces."""
        groups = {tuple(map(id, space.divisors)): space.divisors for space in spaces}
        divided = [space for space in spaces if space.divisors]
        domains = {space.columns_of(v): None for space in divided for v in space.variables}
        return cls(tuple(groups.values()), tuple(domains))

    def group_of(self, space: Space) -> int:
        """The group of the features of a space."""
        groups = [tuple(map(id, group)) for group in self.groups]
        return groups.index(tuple(map(id, space.divisors)))

    def factors(self, table: PackedTable) -> FloatArray:
        """1 over the product of the lengths of a row, for every group and row.

        Parameters
        ----------
        table : PackedTable of m rows

        Returns
        -------
        ndarray of shape (groups, m), float64
            0 for rows of length 0.
        """
        factors = np.ones((len(self.groups), table.n_rows))
        if not any(self.groups):
            return factors
        counts = [count_ones(table, columns) for columns in self.domains]
        first, kind = row_classes(counts, table.n_rows)
        words = pack_rows(rows_of_bits(table, first))
        pair = TablePair(PackedTable.of_rows(words, table.n_columns, table.names))
        known: dict[int, FloatArray] = {}
        for factor, kernels in zip(factors, self.groups, strict=True):
            for kernel in kernels:
                if id(kernel) not in known:
                    known[id(kernel)] = inverse_length(kernel.diagonal_of(pair))
                factor *= known[id(kernel)][kind]
        return factors


def row_classes(
    counts: Sequence[IntArray], n_rows: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """One row of each class of rows with equal counts, and the class of every row.

    Parameters
    ----------
    counts : sequence of ndarray of shape (m,), int64
        Not negative.
    n_rows : int
        m.

    Returns
    -------
    first, kind : ndarray of shape (classes,) and (m,), intp
    """
    kind = np.zeros(n_rows, dtype=np.intp)
    first = np.zeros(min(1, n_rows), dtype=np.intp)
    for ones in counts:
        width = int(ones.max(initial=0)) + 1
        key = kind * width + ones
        if len(first) * width > MAX_CLASSES:
            _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
            kind = inverse.reshape(-1)
            continue
        some = np.full(len(first) * width, -1, dtype=np.intp)
        some[key] = np.arange(n_rows)
        present = np.flatnonzero(some >= 0)
        number = np.zeros(len(some), dtype=np.intp)
        number[present] = np.arange(len(present))
        first, kind = some[present], number[key]
    return first, kind
