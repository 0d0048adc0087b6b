"""Dask collections: data frames, series and arrays, recognised without importing dask."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import is_masked
from formulakern.optional import import_optional

#: The class names of collections of tables, in dask and its extensions.
KINDS: dict[str, Literal["frame", "series", "array"]] = {
    "DataFrame": "frame",
    "Series": "series",
    "Array": "array",
}


def kind_of(X: object) -> Literal["frame", "series", "array"] | None:
    """Return the kind of a dask collection, or None for others; an index counts as a series."""
    if "dask" not in sys.modules:
        return None
    for base in type(X).__mro__:
        if base.__module__.partition(".")[0] in ("dask", "dask_expr") and base.__name__ in KINDS:
            return KINDS[base.__name__]
    return None


def is_dask(X: object) -> bool:
    """Return True for a dask data frame, series or array."""
    return kind_of(X) is not None


def is_dask_array(X: object) -> bool:
    """Return True for a dask array."""
    return kind_of(X) == "array"


def in_memory(value: Any) -> Any:
    """Return a value unchanged, or the rows of a dask collection, joined in this process only."""
    kind = kind_of(value)
    if kind is None:
        return value
    dask = import_optional("dask", "A dask collection", "dask")
    if kind == "array":
        if value.ndim not in (1, 2):
            return value.compute()
        rows = value if value.ndim == 1 else value.rechunk({1: -1})
        parts = dask.compute(*rows.to_delayed().ravel())
        plain = all(isinstance(part, np.ndarray) for part in parts)
        return concatenated(parts) if plain else value.compute()
    pack = dask.delayed(_packed, pure=False)
    return concatenated(dask.compute(*(pack(part) for part in value.to_delayed())))


def concatenated(parts: Sequence[Any]) -> Any:
    """Join parts of an array, a column or a table, in a dtype that holds all their values.

    Parts of a column or a table without rows are ignored, unless all parts are empty.

    >>> concatenated([np.array([1, 2]), np.array([0.5])])
    array([1. , 2. , 0.5])
    """
    if all(isinstance(part, np.ndarray) for part in parts):
        masked = any(map(is_masked, parts))
        together: Any = np.ma.concatenate if masked else np.concatenate
        return together(parts)
    pandas = import_optional("pandas", "A dask collection", "tables")
    known: dict[Any, Any] = {}  # one object for all equal texts
    columns = []
    for part in parts:
        if isinstance(part, Different):
            shared = [known.setdefault(one, one) for one in part.some.tolist()]
            part = pandas.Series(shared, dtype=object, name=part.some.name).iloc[part.kind]
        columns.append(part if hasattr(part, "iloc") else part.to_series())
    return pandas.concat([c for c in columns if len(c)] or columns, ignore_index=True)


def common_dtype(column: Any) -> Any:
    """Return the dtype of all partitions of a dask series, with all categories."""
    dask = import_optional("dask", "A dask collection", "dask")
    return concatenated(dask.compute(*(part[:0] for part in column.to_delayed()))).dtype


class Different(NamedTuple):
    """The different values of a part of a column."""

    rows: NDArray[np.intp]  # the first row of each
    some: Any  # these rows: a Series, an Index or an array
    kind: NDArray[Any]  # the position in ``some`` of the value of each row, a narrow integer


def different_values(part: Any) -> Different:
    """Return the different values of a column in row order; all values if some are unhashable."""
    pandas = import_optional("pandas", "A dask collection", "tables")
    values = np.ma.getmaskarray(part) if np.ma.is_masked(part) else np.asarray(part)
    try:
        kind = pandas.factorize(values, use_na_sentinel=False)[0]
    except TypeError:
        kind = np.arange(len(values))
    rows = np.flatnonzero(np.diff(np.maximum.accumulate(kind), prepend=-1))
    some = part.iloc[rows] if hasattr(part, "iloc") else part[rows]
    return Different(rows, some, kind.astype(np.min_scalar_type(max(len(rows) - 1, 0))))


def _packed(part: Any) -> Any:
    """Return a text column by its different values if some repeat; other parts unchanged."""
    if part.ndim != 1 or not (part.dtype == object or str(part.dtype).startswith("str")):
        return part
    found = different_values(part)
    return found if len(found.rows) < len(part) else part
