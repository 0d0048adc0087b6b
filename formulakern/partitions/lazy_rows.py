"""Answers for the rows of dask collections, computed for each partition when they are needed.

A method that has an answer for every row of a table (a prediction, a transformed row, the rules
that cover it) runs on every partition, where it is.  The model is put into the graph once.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from formulakern.errors import DataError, DataTypeError
from formulakern.optional import needed
from formulakern.partitions.collections import is_dask, is_dask_array
from formulakern.partitions.partitioned import Partitioned, partitions_of

__all__ = ["first_told", "head_of", "lazily", "lazy_transform", "needs_rows"]

Method = TypeVar("Method", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)

#: Whether tables without rows are refused; the answer for none has the dtype of all answers.
_ROWS_NEEDED: ContextVar[bool] = ContextVar("rows_needed", default=True)
#: The graph whose partition is computed, None outside of one.
_GRAPH: ContextVar[str | None] = ContextVar("graph", default=None)
#: Graphs and what was warned of within them.
_TOLD: set[tuple[str, str]] = set()
_TELLING = threading.Lock()


def lazily(method: Method) -> Method:
    """Let a method of a table that answers row by row accept dask collections.

    The first argument of the method is the table; further ones are for all rows alike.  The answer
    for a collection is an array for an array, a frame for a frame; DataTypeError for other answers.
    """

    @wraps(method)
    def answered(self: Any, *given: Any, **named: Any) -> Any:
        rows = given[0] if given else next(iter(named.values()), None)
        if not is_dask(rows):
            return method(self, *given, **named)
        further = dict(list(named.items())[not given :])
        graph = uuid.uuid4().hex
        return _answers(rows, _Question(self, method.__name__, given[1:], further, None, graph))

    answered.__dict__["answers_rows"] = True
    return cast(Method, answered)


def lazy_transform(estimator: Class) -> Class:
    """Let ``transform`` of a class accept dask collections, in the container of ``set_output``.

    scikit-learn wraps ``transform`` for these when a class is made; this goes outside of that.
    """
    cast(Any, estimator).transform = lazily(vars(estimator)["transform"])
    return estimator


@dataclass(frozen=True)
class _Question:
    """A method of a model, called for every partition."""

    model: Any
    method: str
    given: tuple[Any, ...]
    named: dict[str, Any]
    empty: Any  # the answer of a partition without rows
    graph: str

    def __dask_tokenize__(self) -> str:
        """Name the graph: models need not be the same to the last byte when they are pickled."""
        return self.graph

    def answer(self, rows: Any) -> Any:
        """Return the answer for these rows."""
        return getattr(self.model, self.method)(rows, *self.given, **self.named)


def _answers(X: Any, question: _Question) -> Any:
    """Return the answers of all partitions as a dask collection.

    The method is called at once for no rows, which refuses other columns and gives the dtype.
    """
    context = copy_context()
    context.run(_ROWS_NEEDED.set, False)
    answer = context.run(question.answer, head_of(X))
    called = f"{type(question.model).__name__}.{question.method}"
    if not hasattr(answer, "dtype") and not hasattr(answer, "dtypes"):
        raise DataTypeError(
            f"{called} answers with a {type(answer).__name__}, which has no partitions; pass a "
            "table in memory, such as X.head() or X.compute()."
        )
    if type(answer).__module__.startswith("polars"):
        raise DataTypeError(
            f"{called} makes frames of polars, and the partitions of dask are frames of pandas; "
            "write set_output(transform='pandas')."
        )
    question = replace(question, empty=answer)
    if not is_dask_array(X):
        # the question itself: dask joins tasks of one block, and a delayed value fails there
        return X.map_partitions(_answer, question, meta=answer)
    if hasattr(answer, "columns"):
        frames = needed("dask.dataframe", "A frame from an array of dask", "dask")
        parts = Partitioned(partitions_of(X), lazy=True).later(_answer, question)
        return frames.from_delayed(parts.values, meta=answer)
    chunks = X.chunks[0], *((width,) for width in answer.shape[1:])
    whole = X if X.ndim == 1 else X.rechunk({1: -1})
    axes: dict[str, Any] = {}
    if X.ndim != answer.ndim:
        axes = {"drop_axis" if X.ndim > answer.ndim else "new_axis": 1}
    return whole.map_blocks(_answer, question=question, chunks=chunks, meta=answer, **axes)


def _answer(part: Any, question: _Question) -> Any:
    """Return the answer for one partition."""
    if not len(part):
        return question.empty
    context = copy_context()
    context.run(_GRAPH.set, question.graph)
    return context.run(question.answer, part)


def head_of(X: Any) -> Any:
    """Return no rows of a dask collection: its columns, and their dtypes.

    Raises DataError if it is an array of other than one or two dimensions.
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
    """Return whether a table without rows is refused, as scikit-learn does."""
    return _ROWS_NEEDED.get()


def first_told(what: str) -> bool:
    """Return whether to warn of something: within partitions once for each graph and process."""
    graph = _GRAPH.get()
    if graph is None:
        return True
    with _TELLING:
        first = (graph, what) not in _TOLD
        _TOLD.add((graph, what))
        return first
