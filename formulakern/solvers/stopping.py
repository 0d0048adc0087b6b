"""How far an iterative solver has come, and what it says where it stops too early."""

from __future__ import annotations

import math
import warnings

__all__ = ["share_done", "warn_unless"]


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
