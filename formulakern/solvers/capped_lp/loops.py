"""Compiled products of a matrix that is held by its nonzero entries, row after row."""

from __future__ import annotations

from typing import Any

from formulakern.compilation import compiled

__all__ = ["rows_normal", "rows_product", "rows_transposed"]

_REALS = "float64[::1]"
_STARTS = "int64[::1]"
_PLACES = "int32[::1]"
_PRODUCT = f"void({_STARTS}, {_PLACES}, {_REALS}, {_REALS}, {_REALS})"


@compiled(
    f"void({_STARTS}, {_PLACES}, {_REALS}, {_REALS}, {_REALS})", fastmath={"reassoc", "contract"}
)
def rows_product(starts: Any, places: Any, entries: Any, x: Any, out: Any) -> None:
    """``out = A x``."""
    for i in range(len(out)):
        total = 0.0
        for e in range(starts[i], starts[i + 1]):
            total += entries[e] * x[places[e]]
        out[i] = total


@compiled(_PRODUCT)
def rows_transposed(starts: Any, places: Any, entries: Any, y: Any, out: Any) -> None:
    """``out += Aᵀ y``."""
    for i in range(len(y)):
        for e in range(starts[i], starts[i + 1]):
            out[places[e]] += entries[e] * y[i]


@compiled(f"void({_STARTS}, {_PLACES}, {_REALS}, {_REALS}, float64[:, ::1])")
def rows_normal(starts: Any, places: Any, entries: Any, d: Any, out: Any) -> None:
    """The upper triangle of ``out += Aᵀ diag(d) A``; places of a row must increase."""
    for i in range(len(d)):
        for e in range(starts[i], starts[i + 1]):
            weight = entries[e] * d[i]
            row = out[places[e]]
            for f in range(e, starts[i + 1]):
                row[places[f]] += weight * entries[f]
