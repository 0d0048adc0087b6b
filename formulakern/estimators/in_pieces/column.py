"""A value for every row, such as its class, in partitions of dask beside a table in pieces."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulakern.optional import needed
from formulakern.partitions.collections import joined
from formulakern.partitions.partitioned import Partitioned, partitions_of, put

__all__ = ["PiecedColumn", "Told", "first_of_each", "rows_of", "told"]


class PiecedColumn:
    """A dask series, or a dask array of one dimension, of which no row is here.

    Parameters
    ----------
    parts : sequence of dask.delayed.Delayed
        Of a Series, an Index or an array each.
    """

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = list(parts)

    @classmethod
    def of(cls, values: Any) -> PiecedColumn:
        """The partitions of a dask series or array."""
        return cls(partitions_of(values))

    def pieces(self, function: Callable[..., Any] | None = None, *shared: Any) -> Partitioned:
        """The parts, or what a function makes of each; nothing is computed yet."""
        if function is None:
            return Partitioned(self.parts, lazy=True)
        make, sent = put(function), list(map(put, shared))
        return Partitioned([make(part, *sent) for part in self.parts], lazy=True)

    def cut(self, lengths: Sequence[int], wanted: Sequence[int]) -> PiecedColumn:
        """The same rows in parts of other lengths.

        Parameters
        ----------
        lengths : sequence of int
            Of the parts as they are.
        wanted : sequence of int
            Of the parts as they are to be, of the same sum.
        """
        if list(lengths) == list(wanted):
            return self
        make = needed("dask", "A dask collection", "dask").delayed(_cut, pure=False)
        starts = np.cumsum([0, *lengths])
        ends = np.cumsum([0, *wanted]).tolist()
        made = []
        for start, end in itertools.pairwise(ends):
            first = int(np.searchsorted(starts, start, "right")) - 1
            last = max(first, int(np.searchsorted(starts, end, "left")) - 1)
            first, last = (min(place, len(self.parts) - 1) for place in (first, last))
            offset = int(starts[first])
            made.append(make(start - offset, end - offset, *self.parts[first : last + 1]))
        return PiecedColumn(made)


def rows_of(part: Any, rows: Any) -> Any:
    """Some rows of a Series, an Index or an array, which stay what they are."""
    return part.iloc[rows] if hasattr(part, "iloc") else part[rows]


def _cut(start: int, end: int, *parts: Any) -> Any:
    return rows_of(parts[0] if len(parts) == 1 else joined(parts), slice(start, end))


class Told(NamedTuple):
    """What a part of a column tells of its values.

    Parameters
    ----------
    n_rows : int
    rows : ndarray of shape (k,), intp
        The first row of each different value, in their order.
    some : Series, Index or array
        These rows.
    counts : ndarray of shape (k,), int64
        How many rows have the value.
    """

    n_rows: int
    rows: NDArray[np.intp]
    some: Any
    counts: NDArray[np.int64]


def told(part: Any, most: int) -> Told:
    """The different values of a part, and how many rows have each.

    Of more than ``most`` different values the first ones.

    >>> told(np.array(["b", "a", "b"]), 10)
    Told(n_rows=3, rows=array([0, 1]), some=array(['b', 'a'], dtype='<U1'), counts=array([2, 1]))
    """
    if np.ma.is_masked(part):
        first = np.flatnonzero(np.ma.getmaskarray(part))[:1]
        return Told(len(part), first, part[first], np.ones(1, dtype=np.int64))
    rows, kind = first_of_each(np.asarray(part))
    counts = np.bincount(kind, minlength=len(rows)).astype(np.int64)
    order = np.argsort(rows)[: most + 1]
    return Told(len(part), rows[order], rows_of(part, rows[order]), counts[order])


def first_of_each(values: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first row of each different value, and which of these every row has.

    What cannot be hashed counts as equal to others of its type, and so do missing values.

    >>> first_of_each(np.array(["b", 1, None, "b"], dtype=object))
    (array([0, 1, 2]), array([0, 1, 2, 0]))
    """
    if values.dtype != object:
        _, first, kind = np.unique(values, return_index=True, return_inverse=True)
        return first, kind.ravel()
    known: dict[Any, int] = {}
    rows: list[int] = []
    kinds: list[int] = []
    for row, value in enumerate(values.tolist()):
        try:
            there = value is not None and bool(value == value)
            place = known.setdefault(value if there else (type(value),), len(known))
        except (TypeError, ValueError):
            place = known.setdefault((type(value),), len(known))
        if place == len(rows):
            rows.append(row)
        kinds.append(place)
    return np.array(rows, dtype=np.intp), np.array(kinds, dtype=np.intp)
