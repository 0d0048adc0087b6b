"""Certified results of solvers, their progress, and the warning about early stops."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, eq=False, kw_only=True)
class Certified:
    """An approximate optimal ``value`` with proven bounds.

    The duality ``gap`` is the difference of the bounds, absolute or relative as each class states.
    """

    value: float
    lower_bound: float
    upper_bound: float
    gap: float
    iterations: int
    converged: bool


def share_done(first: float, gap: float, tol: float) -> float:
    """Return ln(first / gap) / ln(first / tol), the completed share of a linearly convergent run.

    >>> share_done(1.0, 0.1, 0.01)
    0.5
    >>> share_done(1.0, 1e-150, 0.0) < 1
    True
    """
    tol = max(tol, 1e-300)
    if gap <= tol or first <= tol:
        return 1.0
    return min(1.0, max(0.0, math.log(first / gap) / math.log(first / tol)))


def part_of(
    progress: Callable[[float], None] | None, done: int, parts: int
) -> Callable[[float], None] | None:
    """Return the progress of one of several parts, ``done`` of which are complete."""
    return None if progress is None else lambda share: progress((done + share) / parts)


def warn_unless(converged: bool, what: str, gap: float, tol: float, advice: str) -> None:
    """Give scikit-learn's ConvergenceWarning for the caller's caller unless ``converged``."""
    if not converged:
        from sklearn.exceptions import ConvergenceWarning

        message = f"{what} is {gap:.2g}, above tol={tol:.2g}. {advice}"
        warnings.warn(message, ConvergenceWarning, stacklevel=3)
