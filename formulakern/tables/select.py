"""Choosing columns and rows of a table: by names, positions, a mask, a slice or a range."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from formulakern.checks import is_integer
from formulakern.errors import DataError
from formulakern.tables.column import did_you_mean
from formulakern.tables.read import opened

__all__ = ["column_positions", "row_positions"]


def column_positions(X: object, spec: object) -> tuple[int, ...]:
    """Return the positions of chosen columns, such as those of one domain.

    ``spec`` is a list of names or positions, one of them, a Boolean mask, a slice or a range.
    Names need a table that has names; negative positions count from the end.  Of X only names and
    width are read.  Raises DataError if a name is unknown, a position out of range, a column chosen
    twice, or none chosen.

    >>> from formulakern.tables.table import Table
    >>> table = Table({"fever": [1], "rash": [0], "brca1": [1]})
    >>> column_positions(table, ["rash", "fever"]), column_positions(table, slice(1, None))
    ((1, 0), (1, 2))
    """
    if hasattr(X, "names"):  # a Table, or rows of 0 and 1
        names, width = X.names, X.shape[1]  # type: ignore[attr-defined]
    else:
        names, width = _names_and_width(X)
    listed: Any = spec
    if isinstance(spec, slice):
        listed = range(width)[spec]
    elif isinstance(spec, str) or is_integer(spec):
        listed = [spec]
    elif hasattr(spec, "tolist"):
        listed = spec.tolist()
    if isinstance(listed, (str, bytes)) or not isinstance(listed, Iterable):
        _refuse_spec(spec)
    items = list(listed)
    if items and all(isinstance(item, (bool, np.bool_)) for item in items):
        if len(items) != width:
            raise DataError(
                f"a mask of length {len(items)} for a table of {width} columns; "
                "a mask has one entry per column."
            )
        items = [position for position, chosen in enumerate(items) if chosen]
    index = {name: position for position, name in enumerate(names or ())}
    positions: dict[int, object] = {}
    for item in items:
        position = _position(item, names, index, width)
        if position in positions:
            raise DataError(
                f"column {item!r} is chosen twice (also as {positions[position]!r}); "
                "the columns of a domain are different. Name each once."
            )
        positions[position] = item
    if not positions:
        raise DataError(f"no column is chosen by {spec!r}; a domain has at least one column.")
    return tuple(positions)


def _position(
    item: object, names: tuple[str, ...] | None, index: dict[str, int], width: int
) -> int:
    if isinstance(item, str):
        if names is None:
            raise DataError(
                f"column {item!r} is chosen by name, but the table has no names. Give positions "
                "(0, 1, …), or pass a DataFrame or a Table."
            )
        if item not in index:
            raise DataError(f'no column "{item}" in the table; {did_you_mean(item, names)}')
        return index[item]
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        if not -width <= item < width:
            raise DataError(
                f"column {item} is out of range: the table has {width} columns, numbered "
                f"0 to {width - 1}."
            )
        return int(item) % width
    if names is not None and str(item) in index:  # labels that are not str, as pandas has them
        return index[str(item)]
    _refuse_spec(item)


def _refuse_spec(spec: object) -> NoReturn:
    raise DataError(
        f"columns are chosen by names, positions, a Boolean mask, a slice or a range; "
        f"got {spec!r} ({type(spec).__name__})."
    )


def _names_and_width(X: object) -> tuple[tuple[str, ...] | None, int]:
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and len(shape) == 2 and not hasattr(X, "columns"):
        return None, int(shape[1])  # an array or a sparse matrix, of which nothing is read
    found = opened(X)
    names = None if found.names is None else tuple(map(str, found.names))
    return names, len(found.columns)


def row_positions(key: Any, n_rows: int, least: int = 0) -> NDArray[np.intp]:
    """Return the positions of rows that are chosen by a slice, a mask or their numbers.

    ``least`` is −n_rows if negative numbers count from the end.  Raises DataError if a mask has
    another length than there are rows, or a number is out of range.
    """
    every = np.arange(n_rows)
    rows = every[key] if isinstance(key, slice) else np.asarray(key)
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "biu"):
        raise DataError(
            f"rows are chosen by a slice, a Boolean mask or a list of row numbers; got {key!r}."
        )
    if rows.dtype == np.bool_:
        if len(rows) != n_rows:
            raise DataError(
                f"a mask of length {len(rows)} for a table of {n_rows:,} rows; "
                "a mask has one entry per row."
            )
        return np.flatnonzero(rows)
    if rows.size and not least <= int(rows.min()) <= int(rows.max()) < n_rows:
        raise DataError(f"rows are numbered 0 to {n_rows - 1}; got {rows.min()} to {rows.max()}.")
    return every[rows.astype(np.intp, copy=False)]
