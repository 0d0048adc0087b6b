"""Gram matrices and their products between rows of dask collections, block by block.

The rows of every partition are read and packed where they are, once; a block of the matrix is a
task of two packed partitions.  Blocks below the diagonal of a symmetric matrix are those above it,
transposed.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from formulakern.errors import DataError, ParameterError
from formulakern.optional import needed
from formulakern.partitions.collections import is_dask, is_dask_array
from formulakern.partitions.lazy_rows import head_of
from formulakern.partitions.partitioned import Partitioned, partitions_of, put

__all__ = ["LARGEST_BLOCK", "lazy_gram", "lazy_product"]

#: Bytes of a block; larger blocks are divided into equal ones of fewer rows.
LARGEST_BLOCK = 1 << 27
#: Rows and columns of a square block of so many bytes.
SQUARE = 4096


class _Side(NamedTuple):
    """The packed rows of a table in parts, and how many rows each has."""

    parts: Sequence[Any]  # delayed
    sizes: tuple[float, ...]  # nan if it is not known


def lazy_gram(kernel: Any, X: Any, Z: Any, dtype: str) -> Any:
    """Return ``kernel(X, Z, dtype=dtype)`` as a dask array of a block for every two partitions.

    At least one of both tables is a dask collection; ``Z=None``, or the same object, is X.  Raises
    DataError if the columns of X and Z differ, or a table in memory cannot be read.
    """
    x, z = _sides(kernel, X, Z)
    shared, name = put(kernel), f"gram-{uuid.uuid4().hex}"

    def block(i: int, j: int) -> tuple[Any, ...]:
        if z is x and i > j:
            return _transposed, (name, j, i)
        other = None if z is x and i == j else z.parts[j].key
        return _block, shared.key, x.parts[i].key, other, dtype

    places = itertools.product(range(len(x.parts)), range(len(z.parts)))
    tasks = {(name, i, j): block(i, j) for i, j in places}
    sources = [shared, *x.parts, *z.parts]
    return _array(name, tasks, sources, (x.sizes, z.sizes), np.empty((0, 0), dtype=dtype))


def lazy_product(kernel: Any, X: Any, v: Any, Z: Any) -> Any:
    """Return ``kernel.matvec(X, v, Z)`` as a dask array; v comes to every worker as a whole.

    Raises ParameterError if v has another shape, and DataError as :func:`lazy_gram`.
    """
    x, z = _sides(kernel, X, Z)
    vector: Any = v.rechunk(-1) if is_dask_array(v) else np.asarray(v, dtype=np.float64)
    if vector.ndim not in (1, 2):
        raise ParameterError(f"v has shape {vector.shape}; expected one or two dimensions.")
    _check_length(vector, sum(z.sizes))
    whole = vector.to_delayed().ravel()[0] if is_dask_array(v) else put(vector)
    shared, name = put(kernel), f"product-{uuid.uuid4().hex}"
    ends, last = f"ends-{name}", (0,) * (vector.ndim - 1)
    tasks: dict[Any, Any] = {ends: (_ends, whole.key, [part.key for part in z.parts])}
    for i, rows in enumerate(x.parts):
        terms = [(f"term-{name}", i, j) for j in range(len(z.parts))]
        for j, part in enumerate(z.parts):
            own = None if z is x and i == j else part.key
            tasks[terms[j]] = (_term, shared.key, rows.key, own, whole.key, ends, j)
        tasks[(name, i, *last)] = (sum, terms)
    sizes = (x.sizes, *((width,) for width in vector.shape[1:]))
    sources = [shared, whole, *x.parts, *z.parts]
    return _array(name, tasks, sources, sizes, np.empty((0,) * vector.ndim))


def _sides(kernel: Any, X: Any, Z: Any) -> tuple[_Side, _Side]:
    alone = Z is None or Z is X
    tables = (X,) if alone else (X, Z)
    near = [None if is_dask(table) else kernel.read(table).x for table in tables]
    kernel.read(*(head_of(t) if own is None else own for t, own in zip(tables, near, strict=True)))
    rows = [SQUARE if own is None else min(max(own.n_rows, 1), SQUARE) for own in near]
    most = [SQUARE] if alone else [LARGEST_BLOCK // (8 * other) for other in reversed(rows)]
    shared = put(kernel)
    sides = [_side(shared, *of) for of in zip(tables, near, "XZ", most, strict=False)]
    return sides[0], sides[-1]


def _side(kernel: Any, table: Any, near: Any, role: str, most: int) -> _Side:
    if near is not None:
        ends = [*range(0, near.n_rows, SQUARE), near.n_rows]
        cuts = list(itertools.pairwise(ends))
        own = [near.take(np.arange(*cut)) for cut in cuts] if len(cuts) > 1 else [near]
        return _Side(list(map(put, own)), tuple(part.n_rows for part in own))
    sizes = (float("nan"),) * table.npartitions
    if is_dask_array(table):
        height = _height(table.chunks[0], most)
        table = table if height is None else table.rechunk({0: height})
        sizes = table.chunks[0]
    parts = Partitioned(partitions_of(table), lazy=True)
    return _Side(parts.later(_read, kernel, role, each=range(len(parts))).values, sizes)


def _height(chunks: Sequence[float], most: int) -> int | None:
    """Return a number of rows, at most this, for chunks some of which have more; else None."""
    largest = max(chunks, default=0)
    if np.isnan(largest) or largest <= most:
        return None
    parts = -(-int(largest) // most)
    return -(-int(largest) // parts)


def _array(
    name: str, tasks: dict[Any, Any], sources: list[Any], chunks: tuple[Any, ...], meta: Any
) -> Any:
    arrays = needed("dask.array", "A Gram matrix of dask collections", "dask")
    graphs = needed("dask.highlevelgraph", "A Gram matrix of dask collections", "dask")
    once = list({source.key: source for source in sources}.values())
    graph = graphs.HighLevelGraph.from_collections(name, tasks, dependencies=once)
    return arrays.Array(graph, name, chunks=chunks, meta=meta)


def _check_length(v: Any, n_rows: float) -> None:
    if np.isfinite(n_rows) and np.isfinite(v.shape[0]) and v.shape[0] != n_rows:
        raise ParameterError(
            f"v has shape {v.shape}; expected an entry for all {int(n_rows)} rows."
        )


# -- what workers do ----------------------------------------------------------------------------


def _read(part: Any, kernel: Any, role: str, number: int) -> Any:
    """Return the rows of a partition as the kernel reads them."""
    try:
        return kernel.read(part).x
    except DataError as error:
        raise DataError(f"{error}\nThis is partition {number} of {role}.") from None


def _block(kernel: Any, x: Any, z: Any, dtype: str) -> Any:
    return kernel(x, z, dtype=dtype)


def _transposed(block: Any) -> Any:
    return np.ascontiguousarray(block.T)


def _ends(v: Any, parts: list[Any]) -> Any:
    """Return the places in v at which the entries of each part end."""
    ends = np.cumsum([0, *(part.n_rows for part in parts)])
    _check_length(v, ends[-1])
    return ends


def _term(kernel: Any, x: Any, z: Any, v: Any, ends: Any, number: int) -> Any:
    return kernel.matvec(x, v[ends[number] : ends[number + 1]], z)
