"""What a dask collection is: a frame, a series or an array, told without loading dask."""

from __future__ import annotations

from typing import Any

__all__ = ["in_memory", "is_dask", "is_dask_array", "is_dask_frame", "is_dask_series"]


def is_dask(X: object) -> bool:
    """Whether X is a collection of dask.

    >>> is_dask([[0, 1]])
    False
    """
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(
        X, "__dask_graph__"
    )


def is_dask_array(X: object) -> bool:
    """Whether X is an array of dask."""
    return is_dask(X) and hasattr(X, "chunks") and hasattr(X, "rechunk")


def is_dask_frame(X: object) -> bool:
    """Whether X is a data frame of dask."""
    return is_dask(X) and hasattr(X, "columns") and hasattr(X, "npartitions")


def is_dask_series(X: object) -> bool:
    """Whether X is a column of a data frame of dask."""
    return is_dask(X) and hasattr(X, "npartitions") and not hasattr(X, "columns")


def in_memory(value: Any) -> Any:
    """The value itself; of a collection of dask, what it holds, here."""
    return value.compute() if is_dask(value) else value
