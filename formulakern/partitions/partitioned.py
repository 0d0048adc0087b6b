"""Rows in partitions: functions run on every partition, and their results return in order.

A learner that needs only sums over rows sends a function to every partition and adds the results.
In memory there is usually one partition.  A dask collection has many, held by ``dask.persist`` and
evaluated by ``dask.compute``, on a cluster by its workers.

Functions are pure and defined at the top level of a module.  If a worker is lost, dask computes its
partitions again with the same results.
"""

from __future__ import annotations

import operator
import os
import signal
import socket
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any
from weakref import WeakSet

from formulakern.checks import check_integer
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.errors import ClusterError, DataError
from formulakern.optional import needed
from formulakern.partitions.collections import is_dask_array
from formulakern.progress import answered

#: The default limit, 1 GiB: 64 million rows of 128 propositions.
GATHERED = 1 << 30

_limit: ContextVar[int] = ContextVar("gathered_bytes", default=GATHERED)
#: Clients whose workers ignore Ctrl-C.
_KEPT: WeakSet[Any] = WeakSet()
#: The number of results that are combined in one step.
STEP = 8
AGAIN = "Connect to a cluster that runs, and fit again."
LOGS = "Look at the logs of the workers."
SMALLER = "Make partitions smaller by X.repartition, or give workers more memory."
#: Seconds between two checks of the futures, and the statuses of failed ones.
LOOKED, FAILED = 0.25, ("error", "cancelled", "lost")
#: Exceptions of distributed by name, because it may not be installed: the problem and the remedy.
LOST = {
    **dict.fromkeys(
        ("CancelledError", "FutureCancelledError", "FuturesCancelledError"),
        ("the scheduler of the cluster was lost, or the work was cancelled", AGAIN),
    ),
    "CommClosedError": ("the connection to the scheduler of the cluster was lost", AGAIN),
    "KilledWorker": (
        "a task ended several workers one after another, most likely because it does not fit into "
        "their memory",
        f"{LOGS} {SMALLER}",
    ),
    "MemoryError": ("there is too little memory for one partition", SMALLER),
    "NoValidWorkerError": ("the cluster has no worker for the work", LOGS),
}


@contextmanager
def gather_limit(n_bytes: int) -> Iterator[None]:
    """Limit the packed rows, in bytes, that a fit on a dask collection may bring into this process.

    A table of n rows and p propositions has n·⌈p/64⌉·8 bytes of packed rows.  Up to the limit they
    are brought into this process, and the fit is like that of any table.  Above the limit,
    :class:`PRLClassifier`, :class:`HKLClassifier` and :class:`FormulaFeatures` leave the rows in
    their partitions and compute on them there; other estimators raise DataError.
    :class:`HKLClassifier` with ``rho=1`` counts 12 bytes for each entry of a large table instead.

    The class and the weight of every row always come into this process: one byte for a class (more
    for more than 256 classes), eight for a number, and eight for a weight if ``sample_weight`` is
    given.

    Parameters
    ----------
    n_bytes : int
        The limit, at least 0; by default 1 GiB, for example 64 million rows of 128 propositions.  0
        leaves every row in its partition.

    Yields
    ------
    None

    Raises
    ------
    ParameterError

    Examples
    --------
    >>> with gather_limit(0):
    ...     print(gathered_bytes())
    0
    >>> gathered_bytes() == GATHERED
    True
    """
    check_integer("n_bytes", n_bytes, 0)
    token = _limit.set(int(n_bytes))
    try:
        yield
    finally:
        _limit.reset(token)


def gathered_bytes() -> int:
    """Return the limit in bytes that :func:`gather_limit` has set."""
    return _limit.get()


@dataclass(eq=False)
class Partitioned:
    """Values in partitions, such as the rows of a table; ``dask.delayed`` values if ``lazy``.

    >>> parts = Partitioned([[1, 2], [3]])
    >>> parts.persist(sorted).map(sum), parts.sum(len), parts.lengths
    ([3, 3], 3, [2, 1])
    """

    values: Sequence[Any] = ()
    lazy: bool = False

    def __len__(self) -> int:
        return len(self.values)

    @property
    def lengths(self) -> list[int]:
        """The number of rows of every partition."""
        return [int(n) for n in self.map(len)]

    def later(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[Any] | None = None
    ) -> Partitioned:
        """Return the results as partitions, which dask computes on demand; see :meth:`map`."""
        if not self.lazy:
            return Partitioned(self.map(function, *shared, each=each))
        call, sent = put(function), list(map(put, shared))
        own: Any = [()] * len(self) if each is None else [(put(one),) for one in each]
        pairs = zip(self.values, own, strict=True)
        return Partitioned([call(value, *sent, *more) for value, more in pairs], lazy=True)

    def map(
        self,
        function: Callable[..., Any],
        *shared: Any,
        each: Sequence[Any] | None = None,
        deadline: Deadline = UNLIMITED,
    ) -> list[Any]:
        """Return the result of every partition, in order; raise TimeIsOver after the deadline.

        ``function`` is called with (value, *shared), or with (value, *shared, own) if ``each`` has
        a value for every partition.
        """
        if self.lazy:
            deadline.check()
            return _computed(self.later(function, *shared, each=each).values, deadline)
        return list(self._answers(function, shared, each, deadline))

    def _answers(
        self,
        function: Callable[..., Any],
        shared: tuple[Any, ...],
        each: Sequence[Any] | None,
        deadline: Deadline,
    ) -> Iterator[Any]:
        own: Any = [()] * len(self) if each is None else [(one,) for one in each]
        for number, (value, more) in enumerate(zip(self.values, own, strict=True)):
            deadline.check()
            yield function(value, *shared, *more)
            answered(number + 1, len(self))

    def persist(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[Any] | None = None
    ) -> Partitioned:
        """Return the results as partitions that stay where they are computed; see :meth:`map`."""
        client = cluster_client() if self.lazy else None
        if client is None:
            return Partitioned(self.map(function, *shared, each=each))
        with sending():
            made = client.persist(self.later(function, *shared, each=each).values)
        return Partitioned(made, lazy=True)

    def sum(
        self, function: Callable[..., Any], *shared: Any, deadline: Deadline = UNLIMITED
    ) -> Any:
        """Return the sum of the results, added a few at a time on the workers."""
        if not self.values:
            return 0
        if not self.lazy:
            return reduce(operator.add, self._answers(function, shared, None, deadline))
        deadline.check()
        answers = self.later(function, *shared)
        while len(answers) > 1:
            answers = answers.coalesce(STEP, partial(reduce, operator.add))
        return _computed(answers.values, deadline)[0]

    def held(self) -> Partitioned:
        """Return the same values, to stay where they are computed."""
        return self.persist(_itself)

    def wait(self) -> Partitioned:
        """Return the same partitions when all values are computed."""
        client = cluster_client() if self.lazy else None
        if client is not None:
            futures = needed("distributed", "A dask cluster", "dask").futures_of(self.values)
            with sending():
                _wait(client, futures, UNLIMITED)
        return self

    def coalesce(self, number: int, combine: Callable[[list[Any]], Any]) -> Partitioned:
        """Return fewer partitions: ``combine`` joins ``number`` neighbouring values."""
        starts = range(0, len(self), number)
        join = put(combine) if self.lazy else combine
        groups = (list(self.values[start : start + number]) for start in starts)
        return Partitioned(list(map(join, groups)), self.lazy)


def _itself(value: Any) -> Any:
    return value


def put(value: Any) -> Any:
    """Return a value as one node of a dask graph."""
    return needed("dask", "A dask collection", "dask").delayed(value, pure=False, traverse=False)


def partitions_of(X: Any, columns: Sequence[Any] | None = None) -> list[Any]:
    """Return the partitions of a dask collection as delayed values; of an array, blocks of rows.

    ``columns`` are labels of columns of a frame, or positions in an array; all by default.
    """
    if is_dask_array(X):
        if X.ndim == 2:
            X = X if columns is None else X[:, list(columns)]
            X = X.rechunk({1: -1})
        elif X.ndim != 1:
            raise DataError(
                f"the dask array has {X.ndim} dimensions; expected 2 for a table, 1 for a column."
            )
        return list(X.to_delayed().ravel())
    return list((X if columns is None else X[list(columns)]).to_delayed())


def cluster_client() -> Any:
    """Return the client of dask's cluster, or None; its workers ignore Ctrl-C from now on."""
    base = needed("dask.base", "A dask collection", "dask")
    client = getattr(base.get_scheduler(), "__self__", None)
    if not hasattr(client, "scheduler_info"):
        return None
    with sending():
        keep_workers(client)
    return client


def _computed(tasks: Sequence[Any], deadline: Deadline) -> list[Any]:
    """Return the results of delayed values, or raise TimeIsOver after the deadline."""
    client = cluster_client()
    if client is not None:
        with sending():
            futures = client.compute(tasks)
            _wait(client, futures, deadline)
            return list(client.gather(futures))
    keys, done = {value.key for value in tasks}, set()

    def counted(key: Any, *_: Any) -> None:
        if key in keys and key not in done:
            done.add(key)
            answered(len(done), len(keys))
        if len(done) < len(keys):
            deadline.check()

    with needed("dask.callbacks", "A dask collection", "dask").Callback(posttask=counted):
        return list(needed("dask", "A dask collection", "dask").compute(*tasks))


def _wait(client: Any, futures: Sequence[Any], deadline: Deadline) -> None:
    """Wait until all futures are done or one has failed; cancel them on any exception."""
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


@contextmanager
def cluster_errors(advice: str = "") -> Iterator[None]:
    """Raise ClusterError for the failures of a cluster."""
    try:
        yield
    except Exception as error:
        name = type(error).__name__
        if name not in LOST or (advice and isinstance(error, MemoryError)):
            raise
        problem, usual = LOST[name]
        raise ClusterError(f"{problem} ({name}). {advice or usual}") from error


@contextmanager
def sending(advice: str = "") -> Iterator[None]:
    """Send values of any size to a cluster; raise ClusterError for its failures."""
    with cluster_errors(advice), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")
        yield


# -- Ctrl-C ----------------------------------------------------------------------------------------


def keep_workers(client: Any) -> None:
    """Let workers in this terminal ignore Ctrl-C, so that a fit ends but its cluster does not."""
    if client in _KEPT:
        return
    plugin = needed("distributed", "A dask cluster", "dask").WorkerPlugin()
    plugin.name = "formulakern-interrupts"
    plugin.setup = partial(_ignored, _program(), os.getpid())  # also for workers that start later
    client.register_plugin(plugin)
    _KEPT.add(client)


def _program() -> tuple[str, int]:
    """Return an identifier of the process group, which a terminal signals as a whole."""
    return socket.gethostname(), os.getpgrp() if hasattr(os, "getpgrp") else 0


def _ignored(program: tuple[str, int], process: int, worker: object) -> None:  # noqa: ARG001
    first = threading.current_thread() is threading.main_thread()  # only it may set handlers
    if first and os.getpid() != process and _program() == program:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
