"""Compiled: AᵀDA of a sparse matrix with few columns, summed into a dense one."""

from __future__ import annotations

from typing import Any

from formulakern.compilation import compiled

__all__ = ["rows_normal"]


@compiled("void(int64[::1], int32[::1], float64[::1], float64[::1], float64[:, ::1])")
def rows_normal(starts: Any, places: Any, entries: Any, d: Any, out: Any) -> None:
    """The upper triangle of ``out += Aᵀ diag(d) A``.

    Parameters
    ----------
    starts : int64 (n + 1,)
    places : int32 (nonzeros,)
        ``places[starts[i]:starts[i + 1]]`` are the columns of row i's nonzero entries, increasing.
    entries : float64 (nonzeros,)
        These entries.
    d : float64 (n,)
    out : float64 (k, k)
        Changes in place.
    """
    for i in range(len(d)):
        for e in range(starts[i], starts[i + 1]):
            weight = entries[e] * d[i]
            row = out[places[e]]
            for f in range(e, starts[i + 1]):
                row[places[f]] += weight * entries[f]
