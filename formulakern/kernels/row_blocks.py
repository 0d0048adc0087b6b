"""Rows of a Gram matrix that is never held: chosen rows of a table against stretches of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.backends.base import BlockWriter
from formulakern.backends.block_writers import rows_of
from formulakern.backends.tables import PANEL
from formulakern.errors import ParameterError
from formulakern.kernels.base import MatrixKernel

__all__ = ["RowBlocks"]


class RowBlocks:
    """K between chosen rows of X, which change from call to call, and all rows of Z.

    What belongs to Z is laid out once: its bits, the numbers that are known of each of its rows,
    lengths.  A call gathers what belongs to its rows of X, and runs the kernel's loop.

    Parameters
    ----------
    kernel : Kernel
    X : array-like of shape (m, n), or PackedTable
    Z : array-like of shape (k, n), optional
        X itself by default.

    Attributes
    ----------
    shape : (int, int)
        Rows of X, rows of Z.

    Raises
    ------
    DataError, MagnitudeError, ParameterError
        As ``kernel(X, Z)`` does.

    Notes
    -----
    The values are those of ``kernel(X, Z)``; where the kernel is not symmetric to the last bit
    (``exactly_symmetric``), those of ``kernel(X)`` below the diagonal may differ by the roundings
    of its last operations.  A call costs a gather of its rows, some microseconds, and the loop over
    its pairs.  It may be used from several threads at once, each with its own ``out``.  Kernels
    without joint counts, and those whose values pass 1e290 on the way, are filled row by row.

    Examples
    --------
    >>> import numpy as np
    >>> from formulakern import kernel
    >>> X = np.array([[1, 1, 0], [0, 1, 0], [0, 1, 1]])
    >>> blocks = RowBlocks(kernel("a | b"), X)
    >>> out = np.empty((2, 3))
    >>> blocks.fill(np.array([2, 0]), slice(0, 3), out)
    >>> out
    array([[7., 5., 8.],
           [8., 5., 7.]])
    """

    def __init__(self, kernel: MatrixKernel, X: Any, Z: Any = None) -> None:
        pair = kernel.read(X, Z)
        self.shape = pair.shape
        self.diagonal = kernel.diagonal_of(pair) if pair.symmetric else None
        self._fill = kernel.prepare(pair)

    def fill(self, rows: npt.NDArray[np.intp], columns: slice, out: FloatArray) -> None:
        """``out[i, j]`` receives K of row ``rows[i]`` of X and row ``columns.start + j`` of Z.

        Parameters
        ----------
        rows : intp (any number of rows,)
            In any order, repeated or not.
        columns : slice
            Its start a multiple of 16.
        out : float64 (len(rows), columns.stop - columns.start), C-contiguous

        Raises
        ------
        ParameterError
            If a position or the shape is wrong.
        """
        if columns.start % PANEL or not 0 <= columns.start <= columns.stop <= self.shape[1]:
            raise ParameterError(
                f"columns is {columns.start}:{columns.stop}; expected a part of 0:{self.shape[1]} "
                f"that starts at a multiple of {PANEL}."
            )
        shape = (len(rows), columns.stop - columns.start)
        if out.shape != shape or out.dtype != np.float64 or not out.flags.c_contiguous:
            raise ParameterError(
                f"out is {out.dtype} {out.shape}; expected a C-contiguous float64 array {shape}."
            )
        if len(rows) and not 0 <= rows.min() <= rows.max() < self.shape[0]:
            raise ParameterError(
                f"rows are numbered 0 to {self.shape[0] - 1}; got {rows.min()} to {rows.max()}."
            )
        self.chosen(rows)(slice(0, len(rows)), columns, out)

    def chosen(self, rows: npt.NDArray[np.intp]) -> BlockWriter:
        """What fills blocks of K between these rows of X, in this order, and Z.

        Parameters
        ----------
        rows : intp (any number of rows,)
            Positions in X.
        """
        return rows_of(self._fill, rows)
