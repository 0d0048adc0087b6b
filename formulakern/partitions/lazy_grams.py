"""Gram matrices and their products between rows of dask collections, block by block.

The rows of every partition are read and packed where they lie, once; a block of the matrix is a
task of two such packed partitions.  Blocks below the diagonal of a symmetric matrix are those above
it, transposed.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from formulakern.errors import DataError, ParameterError
from formulakern.optional import needed
from formulakern.partitions.collections import is_dask, is_dask_array
from formulakern.partitions.lazy_rows import head_of

__all__ = ["LARGEST_BLOCK", "lazy_gram", "lazy_product"]

#: Bytes of a block: arrays whose blocks would take more come into chunks of fewer rows.
LARGEST_BLOCK = 1 << 27
#: Rows and columns of a square block of so many bytes.
SQUARE = 4096


def lazy_gram(kernel: Any, X: Any, Z: Any, dtype: str) -> Any:
    """``kernel(X, Z, dtype=dtype)`` as an array of dask.

    Parameters
    ----------
    kernel : Kernel
        It is put into the graph once.
    X, Z : tables of shape (rows, n) and (other rows, n)
        One at least a collection of dask; ``Z=None``, or the same object as X, is X.
    dtype : str
        Of the entries.

    Returns
    -------
    dask array of shape (rows, other rows)
        A block for two partitions.  Arrays whose blocks would take more than 128 MiB come into
        equal chunks of fewer rows; lengths that are not known (of frames) are not known of the
        blocks either.

    Raises
    ------
    DataError
        If the columns of X and Z differ, or a table in memory cannot be read; of the rows of dask
        collections, when they are computed.
    """
    x, z = _sides(kernel, X, Z)
    question = _put(_Question(kernel, dtype))
    name = f"gram-{uuid.uuid4().hex}"
    tasks: dict[Any, Any] = {}
    for i, rows in enumerate(x.parts):
        for j, others in enumerate(z.parts):
            if z is x and i == j:
                task: tuple[Any, ...] = (_square, question.key, rows.key)
            elif z is x and i > j:
                task = (_transposed, (name, j, i))
            else:
                task = (_block, question.key, rows.key, others.key)
            tasks[name, i, j] = task
    meta = np.empty((0, 0), dtype=dtype)
    return _array(name, tasks, [question, *x.parts, *z.parts], (x.sizes, z.sizes), meta)


def lazy_product(kernel: Any, X: Any, v: Any, Z: Any) -> Any:
    """``kernel.matvec(X, v, Z)`` as an array of dask.

    Parameters
    ----------
    kernel : Kernel
    X, Z : as of :func:`lazy_gram`
        Both may be tables in memory, where v is an array of dask.
    v : array-like or dask array of shape (other rows,) or (other rows, m)
        It comes to every worker, as a whole.

    Returns
    -------
    dask array of shape (rows,) or (rows, m)

    Raises
    ------
    ParameterError
        If v has another shape, where the rows are known; else when they are computed.
    DataError
        As :func:`lazy_gram`.
    """
    x, z = _sides(kernel, X, Z)
    vector: Any = v.rechunk(-1) if is_dask_array(v) else np.asarray(v, dtype=np.float64)
    if vector.ndim not in (1, 2):
        raise ParameterError(f"v has shape {vector.shape}; expected one or two dimensions.")
    others = sum(z.sizes)
    if np.isfinite(others) and np.isfinite(vector.shape[0]) and vector.shape[0] != others:
        raise _wrong_length(vector, others)
    whole = vector.to_delayed().ravel()[0] if is_dask_array(v) else _put(vector)
    question = _put(_Question(kernel, "float64"))
    name = f"product-{uuid.uuid4().hex}"
    tasks: dict[Any, Any] = {}
    ends, last = f"ends-{name}", (0,) * (vector.ndim - 1)
    tasks[ends] = (_ends, whole.key, [part.key for part in z.parts])
    for i, rows in enumerate(x.parts):
        terms = []
        for j, part in enumerate(z.parts):
            own = None if z is x and i == j else part.key
            terms.append((f"term-{name}", i, j))
            tasks[terms[-1]] = (_term, question.key, rows.key, own, whole.key, ends, j)
        tasks[(name, i, *last)] = (_added, terms)
    meta = np.empty((0,) * vector.ndim)
    sizes = (x.sizes, *((width,) for width in vector.shape[1:]))
    return _array(name, tasks, [question, whole, *x.parts, *z.parts], sizes, meta)


@dataclass(frozen=True)
class _Question:
    """What is put into a graph once."""

    kernel: Any
    dtype: str


@dataclass(frozen=True, eq=False)
class _Side:
    """The rows of a table in parts, read and packed, and how many rows each has."""

    parts: Sequence[Any]  # delayed
    sizes: tuple[float, ...]  # nan where it is not known


def _sides(kernel: Any, X: Any, Z: Any) -> tuple[_Side, _Side]:
    alone = Z is None or Z is X
    near = [None if table is None or is_dask(table) else kernel.read(table).x for table in (X, Z)]
    heads = [
        head_of(table) if own is None and table is not None else own
        for table, own in zip((X, Z), near, strict=True)
    ]
    kernel.read(heads[0], None if alone else heads[1])  # refuses other columns at once
    rows = [SQUARE if own is None else min(max(own.n_rows, 1), SQUARE) for own in near]
    most = [LARGEST_BLOCK // (8 * rows[1]), LARGEST_BLOCK // (8 * rows[0])]
    reading = _put(kernel)
    x = _side(reading, X, near[0], "X", SQUARE if alone else most[0])
    return x, x if alone else _side(reading, Z, near[1], "Z", most[1])


def _side(reading: Any, table: Any, near: Any, role: str, most: int) -> _Side:
    if near is not None:
        ends = [*range(0, near.n_rows, SQUARE), near.n_rows] if near.n_rows else [0, 0]
        cuts = list(itertools.pairwise(ends))
        own = [near] if len(cuts) == 1 else [near.take(np.arange(a, b)) for a, b in cuts]
        return _Side([_put(part) for part in own], tuple(b - a for a, b in cuts))
    if not is_dask_array(table):
        parts, sizes = list(table.to_delayed()), (float("nan"),) * table.npartitions
    else:
        whole = table if table.ndim == 1 else table.rechunk({1: -1})
        height = _height(table.chunks[0], most)
        whole = whole if height is None else whole.rechunk({0: height})
        parts, sizes = list(whole.to_delayed().ravel()), whole.chunks[0]
    read = needed("dask", "A dask collection", "dask").delayed(_read, pure=False)
    return _Side([read(part, reading, role, i) for i, part in enumerate(parts)], sizes)


def _height(chunks: Sequence[float], most: int) -> int | None:
    """A number of rows, at most so many, for chunks some of which have more; None where none has.

    >>> _height((10, 10, 3), 4), _height((4, 4), 4), _height((float("nan"),), 4)
    (4, None, None)
    """
    largest = max(chunks, default=0)
    if np.isnan(largest) or largest <= most:
        return None
    parts = -(-int(largest) // most)
    return -(-int(largest) // parts)


def _put(value: Any) -> Any:
    """A value that stands in a graph once."""
    return needed("dask", "A dask collection", "dask").delayed(value, pure=False, traverse=False)


def _array(
    name: str, tasks: dict[Any, Any], sources: list[Any], chunks: tuple[Any, ...], meta: Any
) -> Any:
    arrays = needed("dask.array", "A Gram matrix of dask collections", "dask")
    graphs = needed("dask.highlevelgraph", "A Gram matrix of dask collections", "dask")
    once = list({source.key: source for source in sources}.values())
    graph = graphs.HighLevelGraph.from_collections(name, tasks, dependencies=once)
    return arrays.Array(graph, name, chunks=chunks, meta=meta)


# -- what workers do ----------------------------------------------------------------------------


def _read(part: Any, kernel: Any, role: str, number: int) -> Any:
    """The rows of a partition as the kernel reads them."""
    try:
        return kernel.read(part).x
    except DataError as error:
        raise DataError(f"{error}\nThis is partition {number} of {role}.") from None


def _block(question: _Question, x: Any, z: Any) -> Any:
    return question.kernel(x, z, dtype=question.dtype)


def _square(question: _Question, x: Any) -> Any:
    return question.kernel(x, dtype=question.dtype)


def _transposed(block: Any) -> Any:
    return np.ascontiguousarray(block.T)


def _ends(v: Any, parts: list[Any]) -> Any:
    """Where in v the entries of each part end."""
    ends = np.cumsum([0, *(part.n_rows for part in parts)])
    if len(v) != ends[-1]:
        raise _wrong_length(v, ends[-1])
    return ends


def _wrong_length(v: Any, rows: float) -> ParameterError:
    return ParameterError(f"v has shape {v.shape}; expected an entry for all {int(rows)} rows.")


def _term(question: _Question, x: Any, z: Any, v: Any, ends: Any, number: int) -> Any:
    own = v[ends[number] : ends[number + 1]]
    return question.kernel.matvec(x, own, z)


def _added(terms: list[Any]) -> Any:
    return sum(terms[1:], start=terms[0])
