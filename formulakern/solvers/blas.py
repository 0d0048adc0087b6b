"""Linear algebra in one thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from formulakern.interrupts import held


class _Limit:
    """The limit of one thread, from the first entry of any thread of the process to the last exit.

    If fits in several threads overlap, each would restore the limit that it found, which may be 1.
    """

    def __init__(self) -> None:
        self._lock, self._entries = threading.Lock(), 0
        self._limits: Any = None

    def enter(self) -> None:
        with self._lock:
            if not self._entries:
                self._limits = _libraries().limit(limits=1, user_api="blas")
            self._entries += 1

    def leave(self) -> None:
        with self._lock:
            self._entries -= 1
            if not self._entries:
                self._limits.restore_original_limits()


_LIMIT = _Limit()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let NumPy's and SciPy's BLAS use one thread.

    The solvers multiply many small matrices.  Threads that wait for each other cost more than they
    gain, up to 50 times the time if other work shares the cores.
    """
    entered = False
    try:
        with held():
            _LIMIT.enter()
            entered = True
        yield
    finally:
        with held():
            if entered:
                _LIMIT.leave()


@cache
def _libraries() -> Any:
    import scipy.linalg  # noqa: F401  (SciPy may load its own BLAS, which must be found as well)
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped, unused-ignore]

    return ThreadpoolController()
