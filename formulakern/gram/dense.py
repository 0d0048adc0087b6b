"""Blocks of kernel values → one dense Gram matrix, half of them where it is symmetric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.backends.base import Fill, FloatArray
from formulakern.errors import GramSizeError, ParameterError
from formulakern.gram.blocks import row_blocks, symmetric_blocks, work_off

__all__ = ["assemble", "fill_matrix", "output"]

#: Smaller matrices, in bytes, are allocated without asking how much memory is left.
SMALL = 1 << 26


def assemble(
    shape: tuple[int, int],
    symmetric: bool,
    fill: Fill,
    progress: Callable[[float], None] | None = None,
    out: FloatArray | None = None,
) -> FloatArray:
    """The matrix whose blocks ``fill`` writes.

    Parameters
    ----------
    shape : (int, int)
    symmetric : bool
        Only blocks on and above the diagonal are filled; the rest is mirrored.
    fill : Fill
        See :class:`formulakern.backends.base.Fill`.
    progress : callable, optional
        Called with the share of the blocks that are done, from the calling thread.
    out : float64 of shape ``shape``, C-contiguous, optional
        Receives the matrix.

    Returns
    -------
    ndarray of shape ``shape``, float64

    Raises
    ------
    GramSizeError
        If the matrix is larger than the memory that is left.
    ParameterError
        If ``out`` is not what can be written to.
    """
    matrix = output(shape, out)
    fill_matrix(matrix, symmetric, fill, progress)
    return matrix


def fill_matrix(
    matrix: npt.NDArray[Any],
    symmetric: bool,
    fill: Fill,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Fill the blocks of a C-contiguous matrix; the parameters are those of :func:`assemble`."""

    def one(rows: slice, columns: slice) -> None:
        fill(rows, columns, matrix, rows.start, columns.start)
        if symmetric and columns.stop > rows.stop:
            columns = slice(max(columns.start, rows.stop), columns.stop)
            matrix[columns, rows] = matrix[rows, columns].T

    if matrix.size:
        blocks = symmetric_blocks(len(matrix)) if symmetric else row_blocks(matrix.shape)
        work_off(blocks, one, progress)


def output(shape: tuple[int, int], out: FloatArray | None) -> FloatArray:
    """The matrix to write to: ``out``, checked, or a new one.

    Raises
    ------
    GramSizeError
        If a new one does not fit into memory.
    ParameterError
        If ``out`` is not what is written to.
    """
    if out is None:
        _check_memory(shape)
        return np.empty(shape, dtype=np.float64)
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != np.float64:
        given = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ParameterError(
            f"out is {given}; expected a float64 array of shape {shape}, or None for a new one."
        )
    if not (out.flags.c_contiguous and out.flags.writeable):
        raise ParameterError(
            "out is not a writeable C-contiguous array. Pass np.empty(shape), or None for a new "
            "one."
        )
    return out


def _check_memory(shape: tuple[int, int]) -> None:
    needed = 8 * shape[0] * shape[1]
    if needed <= SMALL:
        return
    import psutil  # only a large matrix is worth loading it for

    left = psutil.virtual_memory().available
    if needed > left:
        raise GramSizeError(
            f"the Gram matrix of {shape[0]:,} x {shape[1]:,} rows takes {needed / 2**30:.1f} GiB, "
            f"and {left / 2**30:.1f} GiB of memory are free. Use fewer rows, or an approximation: "
            "sklearn.kernel_approximation.Nystroem(kernel=...)."
        )
