"""Answers for rows of dask collections: of each partition for itself, when they are asked for.

What has an answer for every row of a table (a prediction, a transformed row, the rules that cover
it) has it for a collection of dask, too: the same method runs on every partition, where this lies.
The model is put into the graph once.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from formulakern.errors import DataError, DataTypeError
from formulakern.optional import needed
from formulakern.partitions.collections import is_dask, is_dask_array

__all__ = ["first_told", "head_of", "lazily", "lazy_transform", "needs_rows", "rows_answered"]

Method = TypeVar("Method", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)

#: Whether tables without rows are read: what they answer has the dtype and columns of all answers.
_ROWS_NEEDED: ContextVar[bool] = ContextVar("rows_needed", default=True)
#: The graph whose partition is at work, None outside of one.
_GRAPH: ContextVar[str | None] = ContextVar("graph", default=None)
#: What was told of which graphs, the latest of them, in this process.
_TOLD: dict[tuple[str, str], None] = {}
_TELLING = threading.Lock()
MAX_TOLD = 10_000


def lazily(method: Method) -> Method:
    """A method of a table that answers row by row, also for collections of dask.

    The first argument of the method is the table; further ones are for all rows alike.  For a
    frame, series or array of dask the answer is one, too: an array for what is an array in memory,
    a frame for what is a frame, a block for every partition.

    Raises
    ------
    DataTypeError
        If the answer is neither an array nor a frame of pandas.
    """

    @wraps(method)
    def answered(self: Any, *given: Any, **named: Any) -> Any:
        rows = given[0] if given else next(iter(named.values()), None)
        if not is_dask(rows):
            return method(self, *given, **named)
        further = given[1:], dict(list(named.items())[not given :])
        return rows_answered(self, method.__name__, rows, *further)

    answered.__dict__["answers_rows"] = True
    return cast(Method, answered)


def lazy_transform(estimator: Class) -> Class:
    """A class whose ``transform`` answers row by row, in the container that ``set_output`` names.

    scikit-learn puts the answers of ``transform`` into these when a class is made: what is lazy is
    to be outside of that.
    """
    cast(Any, estimator).transform = lazily(vars(estimator)["transform"])
    return estimator


def rows_answered(
    model: Any,
    method: str,
    X: Any,
    given: tuple[Any, ...] = (),
    named: dict[str, Any] | None = None,
) -> Any:
    """``model.method(partition, *given, **named)`` of every partition, as a collection of dask.

    Parameters
    ----------
    model : picklable object
    method : str
    X : dask DataFrame, Series or Array
        The columns of an array come into one block; its rows stay in theirs, of known length or
        not.
    given, named : further arguments

    Raises
    ------
    DataError
        If an array has other than one or two dimensions, or whatever the method raises for a table
        with these columns and no rows: it is asked for that at once.
    DataTypeError
        If the answer is neither an array nor a frame of pandas.
    """
    question = _Question(model, method, given, named or {}, None, uuid.uuid4().hex)
    with _without_rows():
        answer = question.ask(head_of(X))
    if not hasattr(answer, "dtype") and not hasattr(answer, "dtypes"):
        raise DataTypeError(
            f"{type(model).__name__}.{method} answers with a {type(answer).__name__}, which has no "
            "partitions; pass a table in memory, such as X.head() or X.compute()."
        )
    if type(answer).__module__.startswith("polars"):
        raise DataTypeError(
            f"{type(model).__name__}.{method} makes frames of polars, and the partitions of dask "
            "are frames of pandas; write set_output(transform='pandas')."
        )
    question = replace(question, empty=answer)
    if not is_dask_array(X):
        # the question itself: dask joins tasks of one block, and a delayed value beside it fails
        return X.map_partitions(_answer, question, meta=answer)
    if hasattr(answer, "columns"):
        frames = needed("dask.dataframe", "A frame from an array of dask", "dask")
        delayed = needed("dask", "A dask collection", "dask").delayed
        one = delayed(_answer, pure=False)
        shared = delayed(question, pure=False, traverse=False)
        parts = X.rechunk({1: -1}).to_delayed().ravel()
        return frames.from_delayed([one(part, shared) for part in parts], meta=answer)
    rows = X.chunks[0]
    widths = tuple((width,) for width in answer.shape[1:])
    whole = X if X.ndim == 1 else X.rechunk({1: -1})
    axes: dict[str, Any] = {}
    if X.ndim > answer.ndim:
        axes = {"drop_axis": 1}
    elif X.ndim < answer.ndim:
        axes = {"new_axis": 1}
    return whole.map_blocks(_answer, question=question, chunks=(rows, *widths), meta=answer, **axes)


def head_of(X: Any) -> Any:
    """No rows of a collection of dask: its columns, and their dtypes.

    Raises
    ------
    DataError
        If it is an array of other than one or two dimensions.
    """
    if not is_dask_array(X):
        return X._meta
    if X.ndim not in (1, 2):
        raise DataError(
            f"Expected 2D array, got {X.ndim}D array: X is a dask array of shape {X.shape}; a "
            "table has rows and columns."
        )
    return np.empty((0, *X.shape[1:]), dtype=X.dtype)


def needs_rows() -> bool:
    """Whether a table without rows is refused, as scikit-learn does it."""
    return _ROWS_NEEDED.get()


def first_told(what: str) -> bool:
    """Whether something is to be told: within partitions once for each graph and process."""
    graph = _GRAPH.get()
    if graph is None:
        return True
    with _TELLING:
        if (graph, what) in _TOLD:
            return False
        _TOLD[graph, what] = None
        if len(_TOLD) > MAX_TOLD:
            del _TOLD[next(iter(_TOLD))]
    return True


@contextmanager
def _without_rows() -> Iterator[None]:
    token = _ROWS_NEEDED.set(False)
    try:
        yield
    finally:
        _ROWS_NEEDED.reset(token)


@dataclass(frozen=True)
class _Question:
    """What every partition is asked."""

    model: Any
    method: str
    given: tuple[Any, ...]
    named: dict[str, Any]
    empty: Any  # the answer of a partition without rows
    graph: str

    def __dask_tokenize__(self) -> str:
        """What graphs know it by: models need not be the same to the last byte when pickled."""
        return self.graph

    def ask(self, rows: Any) -> Any:
        """The answer for these rows."""
        return getattr(self.model, self.method)(rows, *self.given, **self.named)


def _answer(part: Any, question: _Question) -> Any:
    """What a model says of one partition."""
    if not len(part):
        return question.empty
    token = _GRAPH.set(question.graph)
    try:
        return question.ask(part)
    finally:
        _GRAPH.reset(token)
