"""Types of arrays, by what they hold, and where they lie in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["FloatArray", "IntArray", "aligned"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def aligned(shape: tuple[int, ...], kind: Any) -> npt.NDArray[Any]:
    """Zeros that start at a cache line: a vector that lies across two is read twice."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    memory = np.zeros(size + 64, np.uint8)
    begin = -memory.ctypes.data % 64
    array: npt.NDArray[Any] = memory[begin : begin + size].view(kind).reshape(shape)
    return array
