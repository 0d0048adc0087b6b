"""Types of arrays, by what they hold, where they lie in memory, and which rows are equal."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["FloatArray", "IntArray", "aligned", "different_rows"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def aligned(shape: tuple[int, ...], kind: Any) -> npt.NDArray[Any]:
    """Zeros that start at a cache line: a vector that lies across two is read twice."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    memory = np.zeros(size + 64, np.uint8)
    begin = -memory.ctypes.data % 64
    array: npt.NDArray[Any] = memory[begin : begin + size].view(kind).reshape(shape)
    return array


def different_rows(rows: npt.NDArray[Any]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The first of each set of equal rows, in the order of their bytes, and the set of every row.

    Parameters
    ----------
    rows : ndarray of shape (m, n), C-contiguous
        With at least one column.

    Returns
    -------
    first, kind : ndarray of shape (number of different rows,) and (m,), intp
        ``rows[first][kind]`` equals ``rows``.
    """
    whole = rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize))).reshape(-1)
    _, first, kind = np.unique(whole, return_index=True, return_inverse=True)
    return first, kind.reshape(-1)
