"""Linear algebra in one thread."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """Return a context in which NumPy's and SciPy's BLAS use one thread.

    The solvers multiply many small matrices.  Threads that wait for each other cost more than they
    gain, up to 50 times the time if other work shares the cores.
    """
    limits: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limits


@cache
def _libraries() -> Any:
    import scipy.linalg  # noqa: F401  (SciPy may load its own BLAS, which must be found as well)
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped, unused-ignore]

    return ThreadpoolController()
