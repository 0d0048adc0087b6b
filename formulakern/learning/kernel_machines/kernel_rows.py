"""Rows of a Gram matrix that is not there: computed where they are asked for, and used at once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.compilation import compiled
from formulakern.gram.dense import work_off
from formulakern.kernels.base import MatrixKernel

__all__ = ["KernelRows", "products"]

#: A tile of kernel values that stays in the second-level cache: 64 rows, 4,096 columns.
HEIGHT, WIDTH = 64, 4096


@compiled("void(float64[:, ::1], int64, int64, float64[:, ::1], float64[:, ::1])")
def _add_weighted(tile: Any, height: Any, width: Any, weights: Any, out: Any) -> None:
    """``out[c, j] += Σ_r weights[c, r]·tile[r, j]``, in the order of the rows."""
    for c in range(len(weights)):
        sums = out[c]
        for r in range(height):
            weight = weights[c, r]
            if weight != 0.0:
                values = tile[r]
                for j in range(width):
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

    def __init__(self, kernel: MatrixKernel, rows: Any, memory: float = 0.0) -> None:
        self.kernel, self.rows = kernel, rows
        self.held = 8e-6 * float(rows.n_rows) ** 2 <= memory

    def __len__(self) -> int:
        return int(self.rows.n_rows)

    @cached_property
    def gram(self) -> FloatArray:
        """The whole matrix."""
        return np.ascontiguousarray(self.kernel(self.rows))

    def take(self, rows: npt.NDArray[np.intp], memory: float = 0.0) -> KernelRows:
        """Those between some of the rows; part of the matrix, where the whole is there."""
        part = KernelRows(self.kernel, self.rows.take(rows), memory)
        if "gram" in self.__dict__:
            part.held, part.__dict__["gram"] = True, self.gram[np.ix_(rows, rows)]
        return part

    def block(self, rows: npt.NDArray[np.intp]) -> FloatArray:
        """K between these rows: float64 (q, q)."""
        if self.held:
            return np.ascontiguousarray(self.gram[np.ix_(rows, rows)])
        return np.ascontiguousarray(self.kernel(self.rows.take(rows)))

    def product(self, rows: npt.NDArray[np.intp], weights: FloatArray) -> FloatArray:
        """Σ_i w_i·K(row i, ·) over these rows, for every row of the table: float64 (n,)."""
        if not len(rows):
            return np.zeros(len(self))
        if self.held:
            return np.asarray(weights @ self.gram[rows])
        return np.asarray(products(self.kernel, self.rows.take(rows), self.rows, weights[None])[0])


def products(kernel: MatrixKernel, x: Any, z: Any, weights: FloatArray) -> FloatArray:
    """W·K(x, z), tile by tile.

    Parameters
    ----------
    kernel : Kernel
    x, z : PackedTable, RealTable or Strings
        m and n rows.
    weights : float64 (k, m)

    Returns
    -------
    float64 (k, n)

    Notes
    -----
    m·n kernel values, of which no more are held at a time than a processor's cache holds.
    """
    out = np.zeros((len(weights), z.n_rows))
    fill = kernel.prepare(kernel.read(x, z))
    weights = np.asarray(weights, dtype=np.float64)

    def one(rows: slice, columns: slice) -> None:
        width = columns.stop - columns.start
        tile, sums = np.empty((HEIGHT, width)), np.zeros((len(weights), width))
        for start in range(rows.start, rows.stop, HEIGHT):
            stop = min(start + HEIGHT, rows.stop)
            fill(slice(start, stop), columns, tile, 0, 0)
            part = weights[:, start:stop].copy()
            _add_weighted(tile, stop - start, width, part, sums)
        out[:, columns] = sums

    spans = range(0, z.n_rows, WIDTH)
    blocks = [(slice(0, x.n_rows), slice(c, min(c + WIDTH, z.n_rows))) for c in spans]
    if x.n_rows:
        work_off(blocks, one)
    return out
