"""Pieces that dask holds: tasks of its local schedulers, or results on the workers of a cluster.

A question to a cluster is one task for each piece.  Where a worker is lost, dask makes its pieces
again from their source: functions are pure, so that they are the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Self

from formulakern.deadline import UNLIMITED, Deadline
from formulakern.errors import ClusterError, DataError
from formulakern.optional import needed
from formulakern.partitions.collections import is_dask_array, is_dask_frame
from formulakern.partitions.interrupts import keep_workers
from formulakern.partitions.pieces import TOGETHER, LocalPieces, Pieces, in_groups, make_one
from formulakern.progress import answered

__all__ = ["DelayedPieces", "FuturePieces", "cluster_client", "partitions_of"]

AGAIN = "Connect to a cluster that runs, and fit again."
LOGS = "Look at the logs of the workers."
SMALLER = "Make partitions smaller by X.repartition, or give workers more memory."
#: Seconds between two looks at how many answers are there, and how those stand that never will be.
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
        If an array has other than one or two dimensions, or no rows' blocks.
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
class DelayedPieces(Pieces):
    """Pieces that are read anew from their source for every question.

    Parameters
    ----------
    values : sequence of dask.delayed.Delayed
    """

    values: Sequence[Any] = ()

    def __len__(self) -> int:
        return len(self.values)

    def _asked(
        self, function: Callable[..., Any], shared: tuple[Any, ...], each: Sequence[Any] | None
    ) -> list[Any]:
        delayed = needed("dask", "A dask collection", "dask").delayed
        call = delayed(function, pure=False, traverse=False)
        sent = [delayed(value, pure=False, traverse=False) for value in shared]
        own: Sequence[tuple[Any, ...]] = [()] * len(self)
        if each is not None:
            own = [(delayed(value, pure=False, traverse=False),) for value in each]
        return [call(v, *sent, *more) for v, more in zip(self.values, own, strict=True)]

    def map(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[Any] | None = None
    ) -> Pieces:
        """As :meth:`Pieces.map`; the results are held, here or by the workers of a cluster."""
        self.traffic.count([shared] * len(self) + list(each or ()), ())
        asked, client = self._asked(function, shared, each), cluster_client()
        if client is None:
            with _told():
                return LocalPieces(_answers_here(asked, UNLIMITED), traffic=self.traffic)
        with _told():
            return FuturePieces(client, client.compute(asked), traffic=self.traffic)

    def gather(
        self,
        function: Callable[..., Any],
        *shared: Any,
        each: Sequence[Any] | None = None,
        deadline: Deadline = UNLIMITED,
    ) -> list[Any]:
        """As :meth:`Pieces.gather`."""
        deadline.check()
        asked, client = self._asked(function, shared, each), cluster_client()
        with _told():
            if client is None:
                answers = _answers_here(asked, deadline)
            else:
                answers = _answers(client, client.compute(asked), deadline)
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
        delayed = needed("dask", "A dask collection", "dask").delayed
        make = delayed(make_one, pure=False, traverse=False)
        parts = self._asked(function, shared, None)
        while True:
            parts = [make(combine, *some) for some in in_groups(parts, TOGETHER)]
            if len(parts) <= 1:
                break
        client = cluster_client()
        with _told():
            if client is None:
                answers = _answers_here(parts, deadline)
            else:
                answers = _answers(client, client.compute(parts), deadline)
        self.traffic.count([shared] * len(self), answers)
        return answers[0] if answers else combine([])

    def together(self, number: int, combine: Callable[[list[Any]], Any]) -> Pieces:
        """As :meth:`Pieces.together`."""
        make = needed("dask", "A dask collection", "dask").delayed(make_one, pure=False)
        made = [make(combine, *some) for some in in_groups(self.values, number)]
        return DelayedPieces(made, traffic=self.traffic)


@dataclass(eq=False)
class FuturePieces(Pieces):
    """Pieces that the workers of a cluster hold in memory, or spilled to their disks.

    Parameters
    ----------
    client : distributed.Client
    values : sequence of distributed.Future
    """

    client: Any = None
    values: Sequence[Any] = ()

    def __len__(self) -> int:
        return len(self.values)

    def _asked(
        self, function: Callable[..., Any], shared: tuple[Any, ...], each: Sequence[Any] | None
    ) -> list[Any]:
        own: Sequence[tuple[Any, ...]] = [()] * len(self)
        if each is not None:
            own = [(value,) for value in each]
        return [
            self.client.submit(function, value, *shared, *more, pure=False)
            for value, more in zip(self.values, own, strict=True)
        ]

    def map(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[Any] | None = None
    ) -> Pieces:
        """As :meth:`Pieces.map`."""
        self.traffic.count([shared] * len(self) + list(each or ()), ())
        with _told():
            made = self._asked(function, shared, each)
        return FuturePieces(self.client, made, traffic=self.traffic)

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
            asked = self._asked(function, shared, each)
            answers = _answers(self.client, asked, deadline)
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
            parts = self._asked(function, shared, None)
            while True:
                parts = [
                    self.client.submit(make_one, combine, *some, pure=False)
                    for some in in_groups(parts, TOGETHER)
                ]
                if len(parts) <= 1:
                    break
            answers = _answers(self.client, parts, deadline)
        self.traffic.count([shared] * len(self), answers)
        return answers[0] if answers else combine([])

    def made(self) -> Self:
        """As :meth:`Pieces.made`."""
        with _told():
            _wait(self.client, self.values, UNLIMITED)
        return self

    def together(self, number: int, combine: Callable[[list[Any]], Any]) -> Pieces:
        """As :meth:`Pieces.together`."""
        made = [
            self.client.submit(make_one, combine, *some, pure=False)
            for some in in_groups(self.values, number)
        ]
        return FuturePieces(self.client, made, traffic=self.traffic)


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
