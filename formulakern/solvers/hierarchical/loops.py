"""Compiled sums over 0/1 columns, and over the pairs (subset, set) of the lattice."""

from __future__ import annotations

from typing import Any

from formulakern.compilation import compiled

__all__ = ["over_ancestors", "over_descendants", "sum_columns", "sums_in_columns"]

_REALS = "float64[::1]"
_PLACES = "int64[::1]"
_COLUMNS = "uint8[:, ::1]"


@compiled(f"void({_COLUMNS}, {_REALS}, {_REALS})")
def sum_columns(columns: Any, weights: Any, out: Any) -> None:
    """``out[i] = Σ_k weights[k] · columns[k, i]``."""
    out[:] = 0.0
    for k in range(columns.shape[0]):
        weight = weights[k]
        if weight != 0.0:
            for i in range(columns.shape[1]):
                out[i] += weight * columns[k, i]


# adding in any order lets the sum be taken in vectors
@compiled(f"void({_COLUMNS}, {_REALS}, {_REALS})", fastmath={"reassoc", "contract"})
def sums_in_columns(columns: Any, values: Any, out: Any) -> None:
    """``out[k] = Σ_i columns[k, i] · values[i]``."""
    for k in range(columns.shape[0]):
        total = 0.0
        for i in range(columns.shape[1]):
            total += columns[k, i] * values[i]
        out[k] = total


@compiled(f"void({_PLACES}, {_PLACES}, {_REALS}, {_REALS})")
def over_ancestors(starts: Any, ancestors: Any, values: Any, out: Any) -> None:
    """``out[w] = Σ of values[v] over the subsets v of w``."""
    for w in range(out.size):
        total = 0.0
        for place in range(starts[w], starts[w + 1]):
            total += values[ancestors[place]]
        out[w] = total


@compiled(f"void({_PLACES}, {_PLACES}, {_REALS}, {_REALS})")
def over_descendants(starts: Any, ancestors: Any, values: Any, out: Any) -> None:
    """``out[v] = Σ of values[w] over the sets w that contain v``."""
    out[:] = 0.0
    for w in range(values.size):
        value = values[w]
        if value != 0.0:
            for place in range(starts[w], starts[w + 1]):
                out[ancestors[place]] += value
