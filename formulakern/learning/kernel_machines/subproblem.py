"""The dual problem of a few rows, whose kernel matrix is held: pairs of coefficients, one by one.

Sequential minimal optimisation: of the coefficients that may grow the one with the steepest descent
is taken, of those that may shrink the one with which the pair gains most (Fan, Chen & Lin 2005,
Working set selection using second order information, JMLR 6:1889–1918).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.compilation import compiled

__all__ = ["SMALLEST_CURVATURE", "descend_pairs", "slopes_of", "violators"]

Rows = npt.NDArray[np.intp]


#: A smaller curvature along a pair, as a share of the largest K(x, x), counts as so much.
SMALLEST_CURVATURE = 1e-12


@compiled(
    "int64(float64[:, ::1], float64[::1], float64[::1], float64[::1], float64[::1], float64,"
    " float64, int64)",
    fastmath={"nnan", "nsz", "contract"},
)
def descend_pairs(
    gram: Any, gradient: Any, beta: Any, lower: Any, upper: Any, epsilon: Any, tol: Any, most: Any
) -> Any:
    """Minimise over a few coefficients, pair by pair, until no pair violates optimality by tol.

    Parameters
    ----------
    gram : float64 (q, q)
        K of the rows.
    gradient : float64 (q,)
        Kβ − p of these rows, of all coefficients; kept up to date.
    beta : float64 (q,)
        Their coefficients; changed, with the same sum.
    lower, upper : float64 (q,)
    epsilon : float
        Weight of Σ|β|.
    tol : float
        The largest difference of slopes that is left.
    most : int
        Steps at most.

    Returns
    -------
    int
        The number of steps.

    Examples
    --------
    >>> beta, gradient = np.zeros(2), np.array([-1.0, 1.0])  # p = (1, −1)
    >>> lower, upper = np.array([0.0, -5.0]), np.array([5.0, 0.0])
    >>> descend_pairs(np.eye(2), gradient, beta, lower, upper, 0.0, 1e-6, 100)
    1
    >>> beta
    array([ 1., -1.])
    """
    n = len(gradient)
    diagonal = np.empty(n)
    for k in range(n):
        diagonal[k] = gram[k, k]
    least = SMALLEST_CURVATURE * diagonal.max()
    if least <= 0.0:
        least = SMALLEST_CURVATURE
    for step in range(most):
        i, steepest = -1, -np.inf
        for k in range(n):
            if beta[k] < upper[k]:
                slope = -gradient[k] - (epsilon if beta[k] >= 0.0 else -epsilon)
                if slope > steepest:
                    steepest, i = slope, k
        if i < 0:
            return step
        row, own = gram[i], diagonal[i]
        j, flattest, best, fall = -1, np.inf, 0.0, 0.0
        for k in range(n):
            if beta[k] > lower[k]:
                slope = -gradient[k] - (epsilon if beta[k] > 0.0 else -epsilon)
                if slope < flattest:
                    flattest = slope
                difference = steepest - slope
                if difference > 0.0:
                    curvature = max(own + diagonal[k] - 2.0 * row[k], least)
                    gain = difference * difference / curvature
                    if gain > best:
                        best, j, fall = gain, k, difference / curvature
        if j < 0 or steepest - flattest <= tol:
            return step
        # up to the end of the box, or to 0, where the slope changes by 2ε
        end_i = 0.0 if epsilon > 0.0 and beta[i] < 0.0 < upper[i] else upper[i]
        end_j = 0.0 if epsilon > 0.0 and lower[j] < 0.0 < beta[j] else lower[j]
        room_i, room_j = end_i - beta[i], beta[j] - end_j
        change = min(fall, room_i, room_j)
        beta[i] = end_i if change == room_i else beta[i] + change
        beta[j] = end_j if change == room_j else beta[j] - change
        other = gram[j]
        for k in range(n):
            gradient[k] += change * (row[k] - other[k])
    return most


def slopes_of(
    descent: FloatArray, beta: FloatArray, lower: FloatArray, upper: FloatArray, epsilon: float
) -> tuple[FloatArray, FloatArray]:
    """How steeply the objective falls where a coefficient grows, and how it rises where it shrinks.

    Parameters
    ----------
    descent : float64 (n,)
        p − Kβ.
    beta, lower, upper : float64 (n,)
    epsilon : float

    Returns
    -------
    up, down : float64 (n,)
        −∞ and ∞ where a coefficient cannot grow or shrink.  The sum of two may be kept while one
        grows and another shrinks: β is optimal where no up is larger than any down.
    """
    up = np.where(beta < upper, descent, -np.inf)
    down = np.where(beta > lower, descent, np.inf)
    if epsilon:
        up -= np.where(beta >= 0, epsilon, -epsilon)
        down -= np.where(beta > 0, epsilon, -epsilon)
    return up, down


def violators(up: FloatArray, down: FloatArray, kept: Rows, size: int) -> Rows:
    """The rows that violate optimality most, half of them to grow and half to shrink, and others.

    Parameters
    ----------
    up, down : float64 (n,)
        See :func:`slopes_of`.
    kept : intp
        Rows that are taken in any case.
    size : int
        How many in all, at most.
    """
    least, most = float(down.min()), float(up.max())
    up, down = up.copy(), down.copy()
    up[kept], down[kept] = -np.inf, np.inf
    half = max((size - len(kept)) // 2, 1)
    grow = _largest(up, half)
    grow = grow[up[grow] > least]
    down[grow] = np.inf
    shrink = _largest(-down, half)
    shrink = shrink[down[shrink] < most]
    return np.sort(np.concatenate([grow, shrink, kept]))


def _largest(values: FloatArray, k: int) -> Rows:
    """Positions of the k largest."""
    if k >= len(values):
        return np.arange(len(values))
    return np.argpartition(-values, k - 1)[:k]
