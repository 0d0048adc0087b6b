"""The smallest ball around the feature vectors of a Gram matrix, with a certified radius."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.solvers.simplex_qp.loops import QuadraticProgram
from formulakern.solvers.simplex_qp.solve import (
    ROUNDING,
    Certificate,
    Stopping,
    Weighted,
    minimise,
)

__all__ = ["EnclosingBall", "enclosing_ball"]


@dataclass(frozen=True, eq=False, kw_only=True)
class EnclosingBall(Weighted):
    """A ball around all feature vectors, its centre Σ β_i φ(x_i), and the proof of its radius.

    Attributes
    ----------
    value : float
        R² = Σ β_i K_ii − β'Kβ at the coefficients, the value of the dual problem; 0 where all
        points coincide.
    lower_bound, upper_bound : float
        The true R² lies between: the value of the dual problem, and max_i ‖φ(x_i) − centre‖², each
        moved outwards by what rounding may have changed.
    coefficients : float64 (m,)
        β ≥ 0 with Σ β_i = 1.
    gap : float
        (upper_bound − lower_bound) / upper_bound; 0 where all points coincide.
    iterations : int
        Steps that move two coefficients each.
    converged : bool
        Whether the gap is at most the tolerance that was asked for.

    Examples
    --------
    >>> ball = enclosing_ball(np.eye(2))
    >>> round(ball.squared_radius, 6), ball.coefficients
    (0.5, array([0.5, 0.5]))
    """

    @property
    def squared_radius(self) -> float:
        """R², the value."""
        return self.value

    @property
    def radius(self) -> float:
        """R, the root of the squared radius."""
        return math.sqrt(self.value)


def enclosing_ball(
    K: FloatArray,
    *,
    ridge: float = 0.0,
    **stopping: Unpack[Stopping],
) -> EnclosingBall:
    """R² = max Σ β_i K_ii − β'Kβ over the simplex β ≥ 0, Σ β_i = 1.

    R is the radius of the smallest ball around points φ(x_i) with ⟨φ(x_i), φ(x_j)⟩ = K_ij.

    Parameters
    ----------
    K : float64 (m, m), C-contiguous, symmetric, positive semidefinite
    ridge : float
        Solve for K + ridge·I.
    **stopping
        ``tol`` for the relative gap of R², ``max_iter`` and ``progress``; see :class:`.Stopping`.

    Returns
    -------
    EnclosingBall

    Notes
    -----
    O(m) a step, and three passes over K.

    Examples
    --------
    >>> import numpy as np
    >>> round(enclosing_ball(np.eye(4)).squared_radius, 6)  # 1 - 1/4
    0.75
    """
    m = len(K)
    diagonal = K.diagonal() + ridge
    rounding = ROUNDING * float(diagonal.max())  # of each term of the bounds

    def certificate(beta: FloatArray, product: FloatArray) -> Certificate:
        squared_centre = float(beta @ product)
        farthest = float((diagonal - 2 * product).max()) + squared_centre
        if farthest <= 4 * rounding:
            return Certificate(0.0, 0.0, farthest, zero=True)
        value = max(0.0, float(beta @ (diagonal - product)))
        lowest = float(beta @ diagonal) - squared_centre
        return Certificate(value, max(0.0, lowest - 2 * rounding), farthest + 2 * rounding)

    program = QuadraticProgram(-diagonal / 2, np.zeros(m, np.int8), np.zeros(m), np.ones(m), ridge)
    start = np.zeros(m)
    one = int((diagonal - 2 * K[0]).argmax())  # far from the first, and what is far from that
    other = int((diagonal - 2 * K[one]).argmax())
    start[one] += 0.5
    start[other] += 0.5
    return minimise(K, program, start, certificate, EnclosingBall, **stopping)
