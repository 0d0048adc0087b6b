"""Pieces that dask holds: tasks of its local schedulers, or results on the workers of a cluster.

A question to a cluster is one task for each piece.  Where a worker is lost, dask makes its pieces
again from their source: functions are pure, so that they are the same.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Self

from formulakern.deadline import UNLIMITED, Deadline
from formulakern.errors import ClusterError, DataError
from formulakern.optional import needed
from formulakern.partitions.collections import is_dask_array, is_dask_frame
from formulakern.partitions.interrupts import keep_workers
from formulakern.partitions.pieces import (
    TOGETHER,
    LocalPieces,
    Pieces,
    as_it_is,
    in_groups,
    make_one,
    side_by_side,
    size_of,
)
from formulakern.progress import answered

__all__ = ["DelayedPieces", "FuturePieces", "cluster_client", "partitions_of"]

AGAIN = "Connect to a cluster that runs, and fit again."
LOGS = "Look at the logs of the workers."
SMALLER = "Make partitions smaller by X.repartition, or give workers more memory."
#: Seconds between two looks at how many answers are there; the status of one that never will be.
LOOKED, FAILED = 0.25, ("error", "cancelled", "lost")
#: What distributed raises where workers or the scheduler are gone, by name, as it may be absent:
#: what that means, and what to do.
LOST = {
    **dict.fromkeys(
        ("CancelledError", "FutureCancelledError", "FuturesCancelledError"),
        ("the scheduler of the cluster was lost, or the work was cancelled", AGAIN),
    ),
    "CommClosedError": ("the connection to the scheduler of the cluster was lost", AGAIN),
    "KilledWorker": (
        "a partition ended several workers one after another, most likely because it does not fit "
        "into their memory",
        f"{LOGS} {SMALLER}",
    ),
    "MemoryError": ("there is too little memory for one partition", SMALLER),
    "NoValidWorkerError": ("the cluster has no worker for the work", LOGS),
}


def cluster_client() -> Any:
    """The client of a cluster that dask would use now, or None where it works in this process.

    From now on Ctrl-C does not end its workers.
    """
    base = needed("dask.base", "A dask collection", "dask")
    client = getattr(base.get_scheduler(), "__self__", None)
    if not hasattr(client, "scheduler_info"):
        return None
    with _told():
        keep_workers(client)
    return client


def partitions_of(X: Any, columns: Sequence[Any] | None = None) -> list[Any]:
    """The partitions of a frame or series, or the blocks of rows of an array, as delayed values.

    Parameters
    ----------
    X : dask DataFrame, Series or Array
    columns : sequence of labels, optional
        Of a frame, or positions of an array: only these are read.

    Raises
    ------
    DataError
        If an array has neither one nor two dimensions.
    """
    if is_dask_array(X):
        if X.ndim == 2:
            X = X if columns is None else X[:, list(columns)]
            X = X.rechunk({1: -1})
        elif X.ndim != 1:
            raise DataError(
                f"a dask array of {X.ndim} dimensions; expected 2 for a table, 1 for a column."
            )
        return list(X.to_delayed().ravel())
    if columns is not None:
        X = X[list(columns)] if is_dask_frame(X) else X
    return list(X.to_delayed())


@dataclass(eq=False)
class DaskPieces(Pieces):
    """Pieces that dask holds: every question is a task for each piece.

    Parameters
    ----------
    values : sequence of dask.delayed.Delayed or distributed.Future
    """

    values: Sequence[Any] = ()

    def __len__(self) -> int:
        return len(self.values)

    def map(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[Any] | None = None
    ) -> Pieces:
        """As :meth:`Pieces.map`; the results are held, here or by the workers of a cluster."""
        self.traffic.count([shared] * len(self) + list(each or ()), ())
        with _told():
            return self._held(self._tasks(function, shared, each))

    def gather(
        self,
        function: Callable[..., Any],
        *shared: Any,
        each: Sequence[Any] | None = None,
        deadline: Deadline = UNLIMITED,
    ) -> list[Any]:
        """As :meth:`Pieces.gather`."""
        deadline.check()
        with _told():
            answers = self._answers(self._tasks(function, shared, each), deadline)
        self.traffic.count([shared] * len(self) + list(each or ()), answers)
        return answers

    def combined(
        self,
        function: Callable[..., Any],
        combine: Callable[[list[Any]], Any],
        *shared: Any,
        deadline: Deadline = UNLIMITED,
    ) -> Any:
        """As :meth:`Pieces.combined`."""
        deadline.check()
        with _told():
            parts = self._tasks(function, shared, None)
            while True:
                parts = self._combined(combine, parts, TOGETHER)
                if len(parts) <= 1:
                    break
            answers = self._answers(parts, deadline)
        self.traffic.count([shared] * len(self), answers)
        return answers[0] if answers else combine([])

    def beside(self, *others: Pieces) -> Pieces:
        """As :meth:`Pieces.beside`; those of this process are sent with every question."""
        columns = [self._column(other) for other in others]
        with _told():
            rows = zip(self.values, *columns, strict=True)
            return replace(self, values=[self._task(side_by_side, *values) for values in rows])

    def together(self, number: int, combine: Callable[[list[Any]], Any]) -> Pieces:
        """As :meth:`Pieces.together`."""
        with _told():
            return replace(self, values=self._combined(combine, self.values, number))

    def _tasks(
        self, function: Callable[..., Any], shared: tuple[Any, ...], each: Sequence[Any] | None
    ) -> list[Any]:
        sent = [self._sent(value) for value in shared]
        own: Sequence[tuple[Any, ...]] = [()] * len(self)
        if each is not None:
            own = [(self._sent(value),) for value in each]
        pairs = zip(self.values, own, strict=True)
        return [self._task(function, value, *sent, *more) for value, more in pairs]

    def _column(self, other: Pieces) -> Sequence[Any]:
        """The values of other pieces as arguments of tasks."""
        if isinstance(other, type(self)):
            return other.values
        if isinstance(other, DelayedPieces):
            other = other.map(as_it_is)
        if isinstance(other, type(self)):
            return other.values
        held = other.values if isinstance(other, LocalPieces) else other.gather(as_it_is)
        self.traffic.sent += sum(map(size_of, held))
        return [self._sent(value) for value in held]

    def _combined(
        self, combine: Callable[[list[Any]], Any], parts: Sequence[Any], number: int
    ) -> list[Any]:
        return [self._task(make_one, combine, *some) for some in in_groups(parts, number)]

    @abstractmethod
    def _sent(self, value: Any) -> Any:
        """A value as an argument of tasks."""

    @abstractmethod
    def _task(self, function: Callable[..., Any], *values: Any) -> Any:
        """One call, to be made by dask."""

    @abstractmethod
    def _answers(self, tasks: list[Any], deadline: Deadline) -> list[Any]:
        """The results of tasks, here."""

    @abstractmethod
    def _held(self, tasks: list[Any]) -> Pieces:
        """The results of tasks, where they are made."""


class DelayedPieces(DaskPieces):
    """Pieces that are read anew from their source for every question."""

    def _sent(self, value: Any) -> Any:
        return needed("dask", "A dask collection", "dask").delayed(
            value, pure=False, traverse=False
        )

    def _task(self, function: Callable[..., Any], *values: Any) -> Any:
        return self._sent(function)(*values)

    def _answers(self, tasks: list[Any], deadline: Deadline) -> list[Any]:
        client = cluster_client()
        if client is None:
            return _answers_here(tasks, deadline)
        return _answers(client, client.compute(tasks), deadline)

    def _held(self, tasks: list[Any]) -> Pieces:
        client = cluster_client()
        if client is None:
            return LocalPieces(self._answers(tasks, UNLIMITED), traffic=self.traffic)
        return FuturePieces(client.compute(tasks), client=client, traffic=self.traffic)


@dataclass(eq=False)
class FuturePieces(DaskPieces):
    """Pieces that the workers of a cluster hold in memory, or spilled to their disks.

    Parameters
    ----------
    values : sequence of distributed.Future
    client : distributed.Client
    """

    client: Any = None

    def _sent(self, value: Any) -> Any:
        return value

    def _task(self, function: Callable[..., Any], *values: Any) -> Any:
        return self.client.submit(function, *values, pure=False)

    def _answers(self, tasks: list[Any], deadline: Deadline) -> list[Any]:
        return _answers(self.client, tasks, deadline)

    def _held(self, tasks: list[Any]) -> Pieces:
        return replace(self, values=tasks)

    def made(self) -> Self:
        """As :meth:`Pieces.made`."""
        with _told():
            _wait(self.client, self.values, UNLIMITED)
        return self


def _answers(client: Any, futures: list[Any], deadline: Deadline) -> list[Any]:
    """The results of futures, in time; those that are not needed any more are given up."""
    _wait(client, futures, deadline)
    return list(client.gather(futures))


def _wait(client: Any, futures: Sequence[Any], deadline: Deadline) -> None:
    """Until the results of all futures are there, or one has failed; or else they are given up."""
    wait = needed("distributed", "A dask cluster", "dask").wait
    try:
        while True:
            with suppress(TimeoutError):
                wait(futures, timeout=min(LOOKED, deadline.left()))
            answered(sum(future.done() for future in futures), len(futures))
            if all(future.done() for future in futures) or any(
                future.status in FAILED for future in futures
            ):
                return
            deadline.check()
    except BaseException:
        client.cancel(futures)
        raise


def _answers_here(asked: list[Any], deadline: Deadline) -> list[Any]:
    """The results of delayed values by the scheduler of dask in this process, in time."""
    dask = needed("dask", "A dask collection", "dask")
    keys, done = {value.key for value in asked}, set()

    def told(key: Any, *_: Any) -> None:
        if key in keys and key not in done:
            done.add(key)
            answered(len(done), len(keys))
        if len(done) < len(keys):
            deadline.check()

    with needed("dask.callbacks", "A dask collection", "dask").Callback(posttask=told):
        return list(dask.compute(*asked))


@contextmanager
def _told():  # type: ignore[no-untyped-def]
    """What a cluster fails by, as one sentence; questions may be large."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")
        try:
            yield
        except Exception as error:
            if type(error).__name__ not in LOST:
                raise
            problem, advice = LOST[type(error).__name__]
            raise ClusterError(f"{problem} ({type(error).__name__}). {advice}") from error
