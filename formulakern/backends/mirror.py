"""Copying the upper triangle of a matrix to the lower, compiled once per machine."""

from __future__ import annotations

from formulakern.backends.base import FloatArray
from formulakern.backends.cache import load

__all__ = ["mirror"]

_SOURCE = '''\
"""Emitted by formulakern: a block above the diagonal copied below it."""

from numba import njit


@njit("void(float64[:, ::1], int64, int64, int64, int64)", nogil=True, cache=True)
def mirror(out, row_start, row_stop, column_start, column_stop):
    for left in range(column_start, column_stop, 8):
        right = min(left + 8, column_stop)
        if right == left + 8:
            for i in range(row_start, row_stop):
                for j in range(8):
                    out[left + j, i] = out[i, left + j]
        else:
            for i in range(row_start, row_stop):
                for j in range(left, right):
                    out[j, i] = out[i, j]
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
