"""Fits and scores in other processes, where joblib's active backend has some.

``with joblib.parallel_config(backend="dask"):`` makes a cluster of dask joblib's backend, and
``backend="loky", n_jobs=2`` two processes of this computer.  What all tasks share, the table, is
sent to a cluster once; a task brings what is its own.
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

#: What is on a cluster already: the client and the future of a value, as long as there is one.
_SENT: WeakKeyDictionary[Any, tuple[Any, Any]] = WeakKeyDictionary()
#: The status of a future whose value no worker has.
GONE = ("cancelled", "lost", "error")
#: What to do if the cluster is lost.
ADVICE = "Look at the logs of the workers, or fit without joblib.parallel_config(backend='dask')."


class Workers:
    """Other processes that tasks can run in, if joblib's active backend has some.

    Backends of threads count as this process, where tasks run one after the other unless
    ``threads`` is True.  On a cluster a value that is sent goes to one worker, and from there to
    others that need it.  ``jobs`` tasks run at once, 1 if they run in this process.
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
        """Return what stands for a value in the arguments of tasks; a cluster gets it once."""
        if self._client is None or self._inline:
            return value
        client, sent = _SENT.get(value, (None, None))
        if client is not self._client or sent.status in GONE:
            with sending(ADVICE):
                # a task: the scheduler sends it again where the worker that has it is lost
                sent = self._client.submit(_itself, value, pure=False)
            _SENT[value] = self._client, sent
        return sent

    def answers(
        self, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]
    ) -> Iterator[Any]:
        """Yield ``function(*each)`` for each of the arguments, in order.

        The function, of a module or class, changes none of its arguments, which are read only as
        far as there are processes for them.  Raises ClusterError if the cluster is lost.
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
            ready = parallel(delayed(_answer)(function, *each) for each in arguments)
            try:
                for answer in ready:  # noqa: UP028 -- what it delegates to is closed too early
                    yield answer
            finally:  # of those that have not begun joblib would warn
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    ready.close()


def _itself(value: Any) -> Any:
    return value


def _answer(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a task, in a process that may run others in other threads.

    If a cluster has one worker left, joblib runs tasks in the process that has sent the values.
    """
    sent = getattr(sys.modules.get("distributed"), "Future", ())
    with _FILTERS:
        return function(*(one.result() if isinstance(one, sent) else one for one in arguments))


class _KeptFilters:
    """Restore the filters for warnings when no task runs any more.

    Fits change them for a while, which in several threads is not undone in the order it was done.
    """

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
