"""What is a dask collection: a data frame, a series or an array whose rows lie in partitions.

Dask is not imported to find out: whoever has a collection has imported it.
"""

from __future__ import annotations

import sys
from typing import Any, Literal

__all__ = [
    "in_memory",
    "is_dask",
    "is_dask_array",
    "is_dask_frame",
    "is_dask_series",
    "kind_of",
]

#: What the classes of collections of tables are called, in dask and in what extends it.
KINDS: dict[str, Literal["frame", "series", "array"]] = {
    "DataFrame": "frame",
    "Series": "series",
    "Array": "array",
}


def kind_of(X: object) -> Literal["frame", "series", "array"] | None:
    """Which kind of dask collection X is, None if it is none of these.

    An index counts as a series.

    >>> kind_of([[0, 1]]) is None
    True
    """
    if "dask" not in sys.modules:
        return None
    for base in type(X).__mro__:
        if base.__module__.partition(".")[0] in ("dask", "dask_expr") and base.__name__ in KINDS:
            return KINDS[base.__name__]
    return None


def is_dask(X: object) -> bool:
    """Whether X is a data frame, a series or an array of dask."""
    return kind_of(X) is not None


def is_dask_frame(X: object) -> bool:
    """Whether X is a data frame of dask."""
    return kind_of(X) == "frame"


def is_dask_series(X: object) -> bool:
    """Whether X is a series of dask."""
    return kind_of(X) == "series"


def is_dask_array(X: object) -> bool:
    """Whether X is an array of dask."""
    return kind_of(X) == "array"


def in_memory(value: Any) -> Any:
    """The value itself; of a collection of dask, what it holds, here."""
    return value.compute() if is_dask(value) else value
