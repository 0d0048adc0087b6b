"""What is a dask collection: a data frame, a series or an array whose rows lie in partitions.

Dask is not imported to find out: whoever has a collection has imported it.
"""

from __future__ import annotations

import sys
from typing import Any, Literal

import numpy as np

from formulakern.optional import needed

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
    """The value itself; of a collection of dask, what it holds, here.

    Partitions come one by one and are joined here: no worker has to hold them all.
    """
    kind = kind_of(value)
    if kind is None:
        return value
    dask = needed("dask", "A dask collection", "dask")
    if kind == "array":
        if value.ndim not in (1, 2):
            return value.compute()
        rows = value if value.ndim == 1 else value.rechunk({1: -1})
        parts = dask.compute(*rows.to_delayed().ravel())
        plain = all(isinstance(part, np.ndarray) for part in parts)
        return np.concatenate(parts) if plain else value.compute()
    pandas = needed("pandas", "A dask collection", "tables")
    pack = dask.delayed(_different, pure=False)
    parts = dask.compute(*(pack(part) for part in value.to_delayed()))
    if not all(isinstance(part, tuple) for part in parts):
        return pandas.concat(parts)
    known: dict[Any, Any] = {}  # one object for all equal texts
    texts = []
    for codes, values in parts:
        shared = np.empty(len(values), dtype=object)
        shared[:] = [known.setdefault(one, one) for one in values]
        texts.append(shared[codes])
    return pandas.Series(np.concatenate(texts), name=value.name, dtype=object)


def _different(part: Any) -> Any:
    """A part of a column of text as codes and different values; any other as it is."""
    if part.ndim != 1 or not (part.dtype == object or str(part.dtype).startswith("str")):
        return part
    codes, values = sys.modules["pandas"].factorize(part.array, use_na_sentinel=False)
    return codes.astype(np.min_scalar_type(len(values))), list(values)
