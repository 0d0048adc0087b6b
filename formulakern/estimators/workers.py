"""Fits and scores in other processes, if joblib's active backend has some.

``with joblib.parallel_config(backend="dask"):`` uses a dask cluster, and ``backend="loky",
n_jobs=2`` two processes on this computer.  Shared values, such as the table, are sent to a cluster
only once.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from formulakern.partitions.partitioned import cluster_errors, keep_workers, sending

#: The values on a cluster: the client and the future of each value that still exists.
_SENT: WeakKeyDictionary[Any, tuple[Any, Any]] = WeakKeyDictionary()
#: The status of a future whose value no worker has.
GONE = ("cancelled", "lost", "error")
#: The advice if the cluster is lost.
ADVICE = "Check the logs of the workers, or fit without joblib.parallel_config(backend='dask')."


class Workers:
    """The processes of joblib's active backend for tasks, or this process.

    Thread backends count as this process, in which tasks run in order unless ``threads`` is True.
    ``jobs`` is the number of parallel tasks, 1 in this process.
    """

    def __init__(self, n_jobs: int | None = None, *, threads: bool = False) -> None:
        backend = get_active_backend(prefer="threads")[0]
        self._n_jobs = n_jobs
        with cluster_errors(ADVICE):
            here = getattr(backend, "uses_threads", False)
            self.jobs = 1 if here else int(effective_n_jobs(n_jobs))
        self._inline = self.jobs == 1 and not threads
        self._client = getattr(backend, "client", None)
        if self._client is not None:
            with cluster_errors(ADVICE):
                keep_workers(self._client)

    def send(self, value: Any) -> Any:
        """Return a value or its future for the arguments of tasks; a cluster gets it once."""
        if self._client is None or self._inline:
            return value
        client, sent = _SENT.get(value, (None, None))
        if client is not self._client or sent.status in GONE:
            with sending(ADVICE):
                # as a task, so that the scheduler sends it again if its worker is lost
                sent = self._client.submit(_itself, value, pure=False)
            _SENT[value] = self._client, sent
        return sent

    def results(
        self, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]
    ) -> Iterator[Any]:
        """Yield ``function(*each)`` for each of the arguments, in order.

        The function, of a module or class, must not change its arguments.  Arguments are read only
        when a process is free.  Raise ClusterError if the cluster is lost.
        """
        if self._inline:
            yield from (function(*each) for each in arguments)
            return
        parallel = Parallel(
            n_jobs=self._n_jobs,
            prefer="threads",
            return_as="generator",
            batch_size=1,
            pre_dispatch="n_jobs",
        )
        with cluster_errors(ADVICE):
            ready = parallel(delayed(_result)(function, *each) for each in arguments)
            try:
                for answer in ready:  # noqa: UP028 -- yield from would close it too early
                    yield answer
            finally:  # joblib would warn about tasks that have not started
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    ready.close()


def _itself(value: Any) -> Any:
    return value


def _result(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a task, whose arguments may be futures if a cluster has only one worker left."""
    sent = getattr(sys.modules.get("distributed"), "Future", ())
    with _FILTERS:
        return function(*(one.result() if isinstance(one, sent) else one for one in arguments))


class _KeptFilters:
    """A context that restores the warning filters when the last parallel task ends."""

    def __init__(self) -> None:
        self._lock, self._running = threading.Lock(), 0
        self._before = warnings.catch_warnings()

    def __enter__(self) -> None:
        with self._lock:
            if not self._running:
                self._before = warnings.catch_warnings()
                self._before.__enter__()
            self._running += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._running -= 1
            if not self._running:
                self._before.__exit__(None, None, None)


_FILTERS = _KeptFilters()
