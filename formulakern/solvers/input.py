"""Readers of the real matrices and vectors that are given to a solver."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.errors import DataError, FormulaKernError

#: The largest size of a number in the data: squares and sums of such numbers stay finite.
MAX_INPUT = 1e100


def read_array(values: Any, name: str, expected: str) -> npt.NDArray[Any]:
    """Return an array of any type and shape; raise DataError if rows have different lengths."""
    try:
        return np.asarray(values)
    except ValueError:
        raise DataError(f"{name} cannot be read as an array; expected {expected}.") from None


def read_matrix(values: Any, name: str, *, unread: str, infinite: str) -> FloatArray:
    """Return a finite, C-contiguous float64 array of any shape, without a copy if possible.

    Error messages contain ``name``, and ``unread`` if the array cannot be read, or ``infinite`` if
    an entry is not finite.
    """
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"its entries are of type {array.dtype}")
        matrix = np.require(array, np.float64, ["C", "ALIGNED"])
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(
            f"{name} cannot be read as a matrix of real numbers ({error}). {unread}"
        ) from None
    if matrix.size and not np.isfinite([matrix.min(), matrix.max()]).all():
        place = tuple(np.argwhere(~np.isfinite(matrix))[0].tolist())
        raise DataError(f"{name}{list(place)} = {matrix[place]}; {infinite}")
    return matrix


def read_vector(
    values: Any,
    size: int,
    name: str,
    *,
    low: float = -MAX_INPUT,
    high: float = MAX_INPUT,
    error: type[FormulaKernError] = DataError,
) -> FloatArray:
    """Return a new float64 array of this size with entries from ``low`` to ``high``.

    >>> read_vector([3, 1], 2, "y")
    array([3., 1.])
    """
    try:
        read = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as failure:
        raise error(
            f"{name} cannot be read as numbers ({failure}); expected {size} of them."
        ) from None
    if read.shape != (size,):
        raise error(f"{name} has shape {read.shape}; expected ({size},).")
    inside = (read >= low) & (read <= high)
    if not inside.all():
        i = int(inside.argmin())
        raise error(f"{name}[{i}] = {read[i]:g}; expected numbers from {low:g} to {high:g}.")
    return read + 0.0  # −0 becomes 0
