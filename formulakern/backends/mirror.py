"""Copying the upper triangle of a matrix to the lower, compiled once per machine."""

from __future__ import annotations

from formulakern.backends.base import FloatArray
from formulakern.backends.cache import load

__all__ = ["mirror"]

_SOURCE = '''\
"""Emitted by formulakern: a block above the diagonal copied below it."""

from numba import njit

from formulakern.backends.loops import LANES, transpose_square


@njit("void(float64[:, ::1], int64, int64, int64, int64)", nogil=True, cache=True)
def mirror(out, row_start, row_stop, column_start, column_stop):
    for j in range(column_start, column_stop, LANES):
        for i in range(row_start, row_stop, LANES):
            if i + LANES <= row_stop and j + LANES <= column_stop:
                transpose_square(out, i, j)
            else:
                for row in range(i, min(i + LANES, row_stop)):
                    for column in range(j, min(j + LANES, column_stop)):
                        out[column, row] = out[row, column]
'''


def mirror(
    out: FloatArray, row_start: int, row_stop: int, column_start: int, column_stop: int
) -> None:
    """``out[j, i] = out[i, j]`` for the rows i and columns j of a block.

    Parameters
    ----------
    out : float64 (n, n), C-contiguous
    row_start, row_stop, column_start, column_stop : int
        A block that does not meet its own mirror image.
    """
    load(_SOURCE).mirror(out, row_start, row_stop, column_start, column_stop)
