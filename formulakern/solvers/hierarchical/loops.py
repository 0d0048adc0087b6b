"""Compiled products with a 0/1 matrix in bytes."""

from __future__ import annotations

from typing import Any

from formulakern.compilation import compiled

__all__ = ["sum_columns", "sums_in_columns"]

_PRODUCT = "void(uint8[:, ::1], float64[::1], float64[::1])"


@compiled(_PRODUCT)
def sum_columns(columns: Any, weights: Any, out: Any) -> None:
    """``out[i] = Σ_k weights[k] · columns[k, i]``."""
    out[:] = 0.0
    for k in range(columns.shape[0]):
        weight = weights[k]
        if weight != 0.0:
            for i in range(columns.shape[1]):
                out[i] += weight * columns[k, i]


# adding in any order lets the sum be taken in vectors
@compiled(_PRODUCT, fastmath={"reassoc", "contract"})
def sums_in_columns(columns: Any, values: Any, out: Any) -> None:
    """``out[k] = Σ_i columns[k, i] · values[i]``."""
    for k in range(columns.shape[0]):
        total = 0.0
        for i in range(columns.shape[1]):
            total += columns[k, i] * values[i]
        out[k] = total
