"""Array types, aligned arrays and groups of equal rows."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

#: Values up to MAX_TABULATED_VALUE, or MAX_TABULATED_MULTIPLE times the length of the array, are
#: numbered with a table, not a sort.
MAX_TABULATED_VALUE, MAX_TABULATED_MULTIPLE = 1 << 16, 2


def is_masked(values: object) -> bool:
    """Return whether values are a masked array, without loading ``numpy.ma``."""
    return "numpy.ma" in sys.modules and isinstance(values, np.ma.MaskedArray)


def aligned(shape: tuple[int, ...], kind: Any) -> npt.NDArray[Any]:
    """Return zeros that start at a cache line, so that no vector of 64 bytes crosses two lines."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    memory = np.zeros(size + 64, np.uint8)
    begin = -memory.ctypes.data % 64
    array: npt.NDArray[Any] = memory[begin : begin + size].view(kind).reshape(shape)
    return array


def different_rows(rows: npt.NDArray[Any]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the first of each set of equal rows, and every row's set, for C-contiguous rows."""
    whole = rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize))).reshape(-1)
    _, first, kind = np.unique(whole, return_index=True, return_inverse=True)
    return first, kind.reshape(-1)


def different_groups(
    group: npt.NDArray[np.intp], words: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the first of each set of equal pairs (group, words), and the set of every pair.

    Sets are sorted.  ``group`` (m,) holds small non-negative numbers, ``words`` is uint64 (m, n).
    The cost is n + 1 steps, each linear in m for small numbers, otherwise a sort of m numbers.

    >>> different_groups(np.array([1, 0, 1]), np.array([[5], [5], [5]], dtype=np.uint64))
    (array([1, 0]), array([1, 0, 1]))
    """
    _, kind = _numbered(group)
    for word in words.T:
        n_codes, code = _numbered(word)
        _, kind = _numbered(kind * n_codes + code)
    first = np.zeros(int(kind.max(initial=-1)) + 1, dtype=np.intp)
    first[kind[::-1]] = np.arange(len(kind))[::-1]
    return first, kind


def _numbered(values: npt.NDArray[Any]) -> tuple[int, npt.NDArray[np.intp]]:
    """Return the number of distinct values, and the rank of each value among them."""
    end = int(values.max(initial=0)) + 1
    if end <= max(MAX_TABULATED_VALUE, MAX_TABULATED_MULTIPLE * len(values)):
        places = values.astype(np.intp)
        there = np.zeros(end, dtype=np.intp)
        there[places] = 1
        number = np.cumsum(there)
        return int(number[-1]), number[places] - 1
    different, code = np.unique(values, return_inverse=True)
    return len(different), code.astype(np.intp)
