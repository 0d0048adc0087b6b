"""Predictions and transforms of dask collections, and their Gram matrices, computed on demand.

A method with one result for every row of a table (a prediction, a transformed row, the rules that
cover it) runs on every partition, without moving the rows.  The graph holds the model once.  For a
Gram matrix, the rows of every partition are read and packed once.  A block is a task of two packed
partitions; blocks below the diagonal of a symmetric matrix are transposed.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Sequence
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from formulakern.errors import DataError, DataTypeError, ParameterError
from formulakern.optional import import_optional
from formulakern.partitions.collections import is_dask, is_dask_array
from formulakern.partitions.partitioned import Partitioned, as_node, partitions_of

Method = TypeVar("Method", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)

#: True if tables without rows are refused; otherwise their result has the dtype of all results.
_ROWS_NEEDED: ContextVar[bool] = ContextVar("rows_needed", default=True)
#: The graph of the partition that is being computed, or None.
_GRAPH: ContextVar[str | None] = ContextVar("graph", default=None)
#: Graphs and the warnings that have been shown within them.
_WARNED: dict[tuple[str, str], object] = {}


def lazily(method: Method) -> Method:
    """Let a method with one result for every row of a table accept dask collections.

    The first argument of the method is the table; further arguments apply to all rows.  The result
    is an array for a dask array, and a frame for a frame; other results raise DataTypeError.
    """

    @wraps(method)
    def wrapper(self: Any, *given: Any, **named: Any) -> Any:
        rows = given[0] if given else next(iter(named.values()), None)
        if not is_dask(rows):
            return method(self, *given, **named)
        further = dict(list(named.items())[not given :])
        graph = uuid.uuid4().hex
        return _lazy_results(
            rows, _MethodCall(self, method.__name__, given[1:], further, None, graph)
        )

    return cast(Method, wrapper)


def lazy_transform(estimator: Class) -> Class:
    """Let ``transform`` of a class accept dask collections, in the container of ``set_output``.

    scikit-learn wraps ``transform`` when a class is created; this decorator wraps the result.
    """
    cast(Any, estimator).transform = lazily(vars(estimator)["transform"])
    return estimator


@dataclass(frozen=True)
class _MethodCall:
    """A call of a model's method, for every partition."""

    model: Any
    method: str
    given: tuple[Any, ...]
    named: dict[str, Any]
    empty: Any  # the result for a partition without rows
    graph: str

    def __dask_tokenize__(self) -> str:
        """Return the graph's name; pickles of equal models may differ in their bytes."""
        return self.graph

    def result(self, rows: Any) -> Any:
        """Return the result for these rows."""
        return getattr(self.model, self.method)(rows, *self.given, **self.named)


def _lazy_results(X: Any, call: _MethodCall) -> Any:
    """Return all results as a dask collection, after a call without rows for dtype and errors."""
    context = copy_context()
    context.run(_ROWS_NEEDED.set, False)
    answer = context.run(call.result, head_of(X))
    called = f"{type(call.model).__name__}.{call.method}"
    if not hasattr(answer, "dtype") and not hasattr(answer, "dtypes"):
        raise DataTypeError(
            f"{called} returns a {type(answer).__name__}, which cannot be computed in partitions. "
            "Pass a table in memory, such as X.head() or X.compute()."
        )
    if type(answer).__module__.startswith("polars"):
        raise DataTypeError(
            f"{called} returns polars frames, but the partitions of dask are pandas frames. Call "
            "set_output(transform='pandas')."
        )
    call = replace(call, empty=answer)
    if not is_dask_array(X):
        # not as a delayed value, which fails when dask joins the tasks of one block
        return X.map_partitions(_partition_result, call, meta=answer)
    if hasattr(answer, "columns"):
        frames = import_optional("dask.dataframe", "A frame from an array of dask", "dask")
        parts = Partitioned(partitions_of(X), lazy=True).later(_partition_result, call)
        return frames.from_delayed(parts.values, meta=answer)
    chunks = X.chunks[0], *((width,) for width in answer.shape[1:])
    whole = X if X.ndim == 1 else X.rechunk({1: -1})
    axes: dict[str, Any] = {}
    if X.ndim != answer.ndim:
        axes = {"drop_axis" if X.ndim > answer.ndim else "new_axis": 1}
    return whole.map_blocks(_partition_result, call=call, chunks=chunks, meta=answer, **axes)


def _partition_result(part: Any, call: _MethodCall) -> Any:
    """Return the result for one partition."""
    if not len(part):
        return call.empty
    context = copy_context()
    context.run(_GRAPH.set, call.graph)
    return context.run(call.result, part)


def head_of(X: Any) -> Any:
    """Return the collection without rows; raise DataError for an array of 0 or more than 2 axes."""
    if not is_dask_array(X):
        return X._meta
    if X.ndim not in (1, 2):
        raise DataError(
            f"Expected 2D array, got {X.ndim}D array: X is a dask array of shape {X.shape}; a "
            "table has two dimensions."
        )
    return np.empty((0, *X.shape[1:]), dtype=X.dtype)


def needs_rows() -> bool:
    """Return True if a table without rows is to be refused, as in scikit-learn."""
    return _ROWS_NEEDED.get()


def is_first_warning(what: str) -> bool:
    """Return True if a warning is to be shown: within partitions, once per graph and process."""
    graph = _GRAPH.get()
    if graph is None:
        return True
    own = object()
    return _WARNED.setdefault((graph, what), own) is own  # atomic, for threads


# -- Gram matrices ---------------------------------------------------------------------------------

#: Bytes of the largest block; larger ones are divided into equal blocks of fewer rows.
MAX_BLOCK_BYTES = 1 << 27
#: Rows and columns of a square block of this size.
BLOCK_SIDE = 4096


class _Side(NamedTuple):
    """The packed rows of a table in partitions, and the number of rows of each."""

    parts: Sequence[Any]  # delayed
    sizes: tuple[float, ...]  # NaN if unknown


def lazy_gram(kernel: Any, X: Any, Z: Any, dtype: str) -> Any:
    """Return ``kernel(X, Z, dtype=dtype)`` as a dask array, one block for every two partitions.

    At least one of the tables is a dask collection; ``Z=None``, or the same object, means X.  Raise
    DataError if the columns of X and Z differ, or a table in memory cannot be read.
    """
    x, z = _sides(kernel, X, Z)
    shared, name = as_node(kernel), f"gram-{uuid.uuid4().hex}"

    def block(i: int, j: int) -> tuple[Any, ...]:
        if z is x and i > j:
            return np.ascontiguousarray, (np.transpose, (name, j, i))
        other = None if z is x and i == j else z.parts[j].key
        return _block, shared.key, x.parts[i].key, other, dtype

    places = itertools.product(range(len(x.parts)), range(len(z.parts)))
    tasks = {(name, i, j): block(i, j) for i, j in places}
    sources = [shared, *x.parts, *z.parts]
    return _array(name, tasks, sources, (x.sizes, z.sizes), np.empty((0, 0), dtype=dtype))


def lazy_product(kernel: Any, X: Any, v: Any, Z: Any) -> Any:
    """Return ``kernel.matvec(X, v, Z)`` as a dask array; every worker receives all of v.

    Raise ParameterError if v has another shape, and DataError as in :func:`lazy_gram`.
    """
    x, z = _sides(kernel, X, Z)
    vector: Any = v.rechunk(-1) if is_dask_array(v) else np.asarray(v, dtype=np.float64)
    if vector.ndim not in (1, 2):
        raise ParameterError(f"v has shape {vector.shape}; expected one or two dimensions.")
    _check_length(vector, sum(z.sizes))
    whole = vector.to_delayed().ravel()[0] if is_dask_array(v) else as_node(vector)
    shared, name = as_node(kernel), f"product-{uuid.uuid4().hex}"
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
    rows = [BLOCK_SIDE if own is None else min(max(own.n_rows, 1), BLOCK_SIDE) for own in near]
    most = [BLOCK_SIDE] if alone else [MAX_BLOCK_BYTES // (8 * other) for other in reversed(rows)]
    shared = as_node(kernel)
    sides = [_side(shared, *of) for of in zip(tables, near, "XZ", most, strict=False)]
    return sides[0], sides[-1]


def _side(kernel: Any, table: Any, near: Any, role: str, most: int) -> _Side:
    if near is not None:
        rows = np.arange(near.n_rows)
        own = [near.take(rows[k : k + BLOCK_SIDE]) for k in range(0, near.n_rows, BLOCK_SIDE)] or [
            near
        ]
        return _Side(list(map(as_node, own)), tuple(part.n_rows for part in own))
    sizes = (float("nan"),) * table.npartitions
    if is_dask_array(table):
        largest = max(table.chunks[0], default=0)
        if largest > most:  # False if the sizes are unknown
            table = table.rechunk({0: -(-largest // -(-largest // most))})
        sizes = table.chunks[0]
    parts = Partitioned(partitions_of(table), lazy=True)
    return _Side(parts.later(_read, kernel, role, each=range(len(parts))).values, sizes)


def _array(
    name: str, tasks: dict[Any, Any], sources: list[Any], chunks: tuple[Any, ...], meta: Any
) -> Any:
    arrays = import_optional("dask.array", "A Gram matrix of dask collections", "dask")
    graphs = import_optional("dask.highlevelgraph", "A Gram matrix of dask collections", "dask")
    once = list({source.key: source for source in sources}.values())
    graph = graphs.HighLevelGraph.from_collections(name, tasks, dependencies=once)
    return arrays.Array(graph, name, chunks=chunks, meta=meta)


def _check_length(v: Any, n_rows: float) -> None:
    if np.isfinite(n_rows) and np.isfinite(v.shape[0]) and v.shape[0] != n_rows:
        raise ParameterError(
            f"v has shape {v.shape}; expected one entry for each of {int(n_rows)} rows."
        )


# -- functions that run on the workers ----------------------------------------------------------


def _read(part: Any, kernel: Any, role: str, number: int) -> Any:
    """Return the rows of a partition in the kernel's own form."""
    try:
        return kernel.read(part).x
    except DataError as error:
        raise DataError(f"{error}\nThis is partition {number} of {role}.") from None


def _block(kernel: Any, x: Any, z: Any, dtype: str) -> Any:
    return kernel(x, z, dtype=dtype)


def _ends(v: Any, parts: list[Any]) -> Any:
    """Return the positions in v at which the entries of each partition end."""
    ends = np.cumsum([0, *(part.n_rows for part in parts)])
    _check_length(v, ends[-1])
    return ends


def _term(kernel: Any, x: Any, z: Any, v: Any, ends: Any, number: int) -> Any:
    return kernel.matvec(x, v[ends[number] : ends[number + 1]], z)
