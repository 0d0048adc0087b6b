"""Rows of a Gram matrix that is not there: computed where they are asked for, and used at once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.backends.block_writers import rows_of
from formulakern.backends.tables import BlockWriter
from formulakern.compilation import compiled
from formulakern.gram.matrix import work_off
from formulakern.kernels.algebra import Kernel

__all__ = ["KernelRows", "expansion_values"]

#: A tile of kernel values that stays in the second-level cache: 64 rows, 4,096 columns.
HEIGHT, WIDTH = 64, 4096


@compiled("void(float64[:, ::1], float64[:, ::1], float64[:, ::1])")
def _add_weighted(tile: Any, weights: Any, out: Any) -> None:
    """``out[c, j] += Σ_r weights[c, r]·tile[r, j]``, in the order of the rows."""
    for c in range(len(weights)):
        sums = out[c]
        for r in range(weights.shape[1]):
            weight, values = weights[c, r], tile[r]
            if weight != 0.0:
                for j in range(len(sums)):
                    sums[j] += weight * values[j]


class KernelRows:
    """The rows of K between all rows of a table.

    Parameters
    ----------
    kernel : Kernel
    rows : PackedTable, RealTable or Strings
        n of them.
    memory : float
        Megabytes.  Where the whole matrix takes no more it is computed once and held.

    Notes
    -----
    Products are sums in the order of the rows, whatever the number of threads: the same to the last
    bit on every machine with the same compiled code.
    """

    def __init__(self, kernel: Kernel, rows: Any, memory: float = 0.0) -> None:
        self.kernel, self.rows = kernel, rows
        self.held = 8e-6 * float(rows.n_rows) ** 2 <= memory

    def __len__(self) -> int:
        return int(self.rows.n_rows)

    @classmethod
    def of_matrix(cls, kernel: Kernel, rows: Any, gram: FloatArray) -> KernelRows:
        """Rows of a matrix that is there: K between all rows."""
        whole = cls(kernel, rows)
        whole.held, whole.__dict__["gram"] = True, gram
        return whole

    @cached_property
    def gram(self) -> FloatArray:
        """The whole matrix."""
        return np.ascontiguousarray(self.kernel(self.rows))

    def take(self, rows: npt.NDArray[np.intp], memory: float = 0.0) -> KernelRows:
        """Those between some of the rows; part of the matrix, where the whole is there."""
        some = self.rows.take(rows)
        if "gram" in self.__dict__:
            return KernelRows.of_matrix(self.kernel, some, self.gram[np.ix_(rows, rows)])
        return KernelRows(self.kernel, some, memory)

    def block(self, rows: npt.NDArray[np.intp]) -> FloatArray:
        """K between these rows, ascending: float64 (q, q), to be read only."""
        if self.held and len(rows) == len(self):  # all of them, in order
            return self.gram
        if self.held:
            return np.ascontiguousarray(self.gram[np.ix_(rows, rows)])
        return np.ascontiguousarray(self.kernel(self.rows.take(rows)))

    @cached_property
    def _fill(self) -> BlockWriter:
        return self.kernel.prepare(self.kernel.read(self.rows))

    def product(self, rows: npt.NDArray[np.intp], weights: FloatArray) -> FloatArray:
        """Σ_i w_i·K(row i, ·) over these rows, ascending, for every row: float64 (n,).

        Notes
        -----
        As many kernel values as there are pairs, of which no more are held at a time than a
        processor's cache holds.
        """
        if not len(rows):
            return np.zeros(len(self))
        if self.held:
            gram = self.gram if len(rows) == len(self) else self.gram[rows]
            return np.asarray(weights @ gram)
        fill = rows_of(self._fill, rows)
        return np.asarray(_weighted_sums(fill, weights[None], len(self))[0])


def expansion_values(kernel: Kernel, x: Any, z: Any, weights: FloatArray) -> FloatArray:
    """Σ_i w_i·K(x_i, z_j) for every row of z: float64 (rows of z, k).

    Parameters
    ----------
    kernel : Kernel
    x, z : PackedTable, RealTable or Strings
        m and n rows.
    weights : float64 (k, m)

    Notes
    -----
    The sums are in the order of x: the same for a row of z whatever other rows there are.
    """
    x = x.take(np.arange(x.n_rows))  # its memory may be read-only
    return _weighted_sums(kernel.prepare(kernel.read(x, z)), weights, z.n_rows).T


def _weighted_sums(fill: BlockWriter, weights: FloatArray, n: int) -> FloatArray:
    """W·K, tile by tile: float64 (k, n).

    Parameters
    ----------
    fill : BlockWriter
        K, of m rows and n columns.
    weights : float64 (k, m)
    n : int
    """
    sets, m = weights.shape
    out = np.zeros((sets, n))

    def one(_: slice, columns: slice) -> None:
        width = columns.stop - columns.start
        tile, sums = np.empty((HEIGHT, width)), np.zeros((sets, width))
        for start in range(0, m, HEIGHT):
            stop = min(start + HEIGHT, m)
            fill(slice(start, stop), columns, tile)
            _add_weighted(tile, weights[:, start:stop].copy(), sums)
        out[:, columns] = sums

    work_off([(slice(0, m), part) for part in _spans(n)], one)
    return out


def _spans(n: int) -> Iterator[slice]:
    """Stretches of so many columns as a tile has."""
    for start in range(0, n, WIDTH):
        yield slice(start, min(start + WIDTH, n))
