"""How iterative solvers report where they are, and when they stop."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable

__all__ = ["Monitor", "share_done", "warn_unless"]


class Monitor:
    """Reports the share of the work that is done, and watches a time limit.

    Parameters
    ----------
    progress : callable, optional
        Called with shares between 0 and 1, which never fall.
    time_limit : float, optional
        Seconds from the making of the monitor.

    Examples
    --------
    >>> monitor = Monitor(print)
    >>> monitor.report(0.5)
    0.5
    >>> monitor.report(0.25)
    0.5
    >>> monitor.time_is_over()
    False
    """

    def __init__(
        self, progress: Callable[[float], None] | None = None, time_limit: float | None = None
    ) -> None:
        self._progress = progress
        self._time_limit = math.inf if time_limit is None else time_limit
        self._started = time.perf_counter()
        self._share = 0.0

    def report(self, share: float) -> None:
        """Report this share, or the largest one before if that is larger."""
        if self._progress is not None:
            self._share = min(1.0, max(self._share, share))
            self._progress(self._share)

    def seconds(self) -> float:
        """Seconds since the monitor was made."""
        return time.perf_counter() - self._started

    def time_is_over(self) -> bool:
        """Whether the time limit has passed."""
        return self.seconds() >= self._time_limit


def share_done(first: float, gap: float, tol: float) -> float:
    """ln(first / gap) / ln(first / tol): the share of a linearly convergent run that is done.

    Parameters
    ----------
    first, gap, tol : float
        The duality gap at the start, the gap now, and the gap to reach.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> share_done(1.0, 0.1, 0.01)
    0.5
    """
    if gap <= tol or first <= tol:
        return 1.0
    return min(1.0, max(0.0, math.log(first / gap) / math.log(first / tol)))


def warn_unless(converged: bool, what: str, gap: float, tol: float, advice: str) -> None:
    """Give scikit-learn's ConvergenceWarning in the name of the caller's caller.

    Parameters
    ----------
    converged : bool
        Where true, nothing happens.
    what : str
        What the gap is of.
    gap, tol : float
    advice : str
        What may be done about it.
    """
    if not converged:
        from sklearn.exceptions import ConvergenceWarning

        message = f"{what} is {gap:.2g}, above tol={tol:.2g}. {advice}"
        warnings.warn(message, ConvergenceWarning, stacklevel=3)
