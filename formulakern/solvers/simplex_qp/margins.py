"""The margin of two classes: the distance of their convex hulls, or a soft one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.solvers.simplex_qp.loops import QuadraticProgram
from formulakern.solvers.simplex_qp.solve import (
    ROUNDING,
    Certificate,
    Stopping,
    Weighted,
    minimise,
)

__all__ = ["ZERO", "Margin", "hinge_margin", "hull_margin"]


#: Hulls nearer than this share of the spread of the points are taken to meet.
ZERO = 1e-5


@dataclass(frozen=True, eq=False, kw_only=True)
class Margin(Weighted):
    """The distance between two classes along the normal w of the best hyperplane, with proof.

    Attributes
    ----------
    value : float
        The distance 2/‖w‖, the width of the corridor between the classes.  For the hard margin it
        is the distance between their convex hulls, 0 where the hulls meet.
    lower_bound, upper_bound : float
        The true distance lies between.
    coefficients : float64 (m,)
        u with w proportional to Σ u_i φ(x_i); positive in the positive class, negative in the
        other.
    gap : float
        (upper_bound − lower_bound) / upper_bound; 0 where the hulls meet.
    iterations : int
        Steps that move two coefficients each.
    converged : bool
        Whether the gap is at most the tolerance that was asked for.

    Examples
    --------
    >>> found = hull_margin(np.eye(2), np.array([1, -1], dtype=np.int8))
    >>> round(found.distance, 6), round(found.margin, 6)
    (1.414214, 0.707107)
    """

    @property
    def distance(self) -> float:
        """2/‖w‖, the value."""
        return self.value

    @property
    def margin(self) -> float:
        """1/‖w‖, half the distance: from the hyperplane in the middle to the nearest points."""
        return self.value / 2


def hull_margin(
    K: FloatArray,
    signs: npt.NDArray[np.int8],
    *,
    ridge: float = 0.0,
    **stopping: Unpack[Stopping],
) -> Margin:
    """min ‖Σ a_i φ(x_i) − Σ b_j φ(x_j)‖ over both simplices: the distance of the convex hulls.

    With z the difference of two points of the hulls, the distance is at most ‖z‖, and at least
    (min ⟨z, φ(x_i)⟩ − max ⟨z, φ(x_j)⟩) / ‖z‖, i over one class and j over the other.

    Parameters
    ----------
    K : float64 (m, m), C-contiguous, symmetric, positive semidefinite
    signs : int8 (m,)
        1 and −1, both present.
    ridge : float
        Solve for K + ridge·I: with ridge = 1/C the support vector machine of squared hinge loss.
    **stopping
        ``tol`` for the relative gap of the distance, ``max_iter`` and ``progress``; see
        :class:`.Stopping`.

    Returns
    -------
    Margin
        Hulls that come nearer than 1e-5 of the largest distance of a point from the mean of all are
        taken to meet: distance 0, and ``upper_bound`` says how near they are proven to be.

    Notes
    -----
    O(m) a step, and four passes over K.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([0.0, 1.0, 4.0])
    >>> round(hull_margin(np.outer(x, x), np.array([1, 1, -1], np.int8)).distance, 6)
    3.0
    """
    m = len(K)
    diagonal = K.diagonal() + ridge
    positive = signs > 0
    mean = np.full(m, 1 / m)
    to_mean = K @ mean
    spread = float((diagonal - 2 * to_mean).max() + mean @ to_mean)
    rounding = ROUNDING * float(diagonal.max())  # of ⟨z, φ(x_i)⟩; z is a difference of two points
    zero = max(ZERO**2 * spread, 4 * rounding)

    def certificate(u: FloatArray, product: FloatArray) -> Certificate:
        squared = float(u @ product)
        if squared <= zero:
            return Certificate(0.0, 0.0, math.sqrt(max(0.0, squared)), zero=True)
        support = float(product[positive].min() - product[~positive].max())
        length = math.sqrt(squared)
        lowest = (support - 2 * rounding) / length
        return Certificate(length, max(0.0, lowest), math.sqrt(squared + 2 * rounding))

    program = QuadraticProgram(
        np.zeros(m),
        (~positive).astype(np.int8),
        np.where(positive, 0.0, -1.0),
        np.where(positive, 1.0, 0.0),
        ridge,
    )
    start = np.where(positive, 1 / positive.sum(), -1 / (~positive).sum())
    return minimise(K, program, start, certificate, Margin, **stopping)


def hinge_margin(
    K: FloatArray,
    signs: npt.NDArray[np.int8],
    C: float,
    **stopping: Unpack[Stopping],
) -> Margin:
    """2/‖w‖ of the support vector machine min ½‖w‖² + C Σ max(0, 1 − y_i(⟨w, φ(x_i)⟩ + b)).

    With P the objective at (w, b), b the best for w, and D = Σ α_i − ½‖w‖² that of the dual, strong
    convexity of both gives ‖w − w*‖² ≤ P − D, hence bounds on ‖w*‖.  With
    ξ_i = 1 − y_i(⟨w, φ(x_i)⟩ + b), P − D = Σ (C − α_i) max(0, ξ_i) + α_i max(0, −ξ_i).

    Parameters
    ----------
    K : float64 (m, m), C-contiguous, symmetric, positive semidefinite
    signs : int8 (m,)
        1 and −1, both present.
    C : float
        Positive and finite.
    **stopping
        ``tol`` for the relative gap of the distance 2/‖w‖ (that of the objectives is then near its
        square), ``max_iter`` and ``progress``; see :class:`.Stopping`.

    Returns
    -------
    Margin
        The distance is infinite where w = 0 is optimal.

    Notes
    -----
    O(m) a step, and two passes over K.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([0.0, 1.0, 4.0])
    >>> gram, signs = np.outer(x, x), np.array([1, 1, -1], np.int8)
    >>> round(hinge_margin(gram, signs, 100.0).distance, 3)
    3.0
    """
    m = len(K)
    y = signs.astype(np.float64)
    lengths = np.sqrt(K.diagonal())
    positive = signs > 0
    rank = int(positive.sum()) - 1

    def certificate(u: FloatArray, product: FloatArray) -> Certificate:
        # the sum of the hinges is least where as many points ask for a smaller b as for a larger
        residual = y - product
        b = np.partition(residual, rank)[rank]
        xi = y * (residual - b)
        alpha = np.abs(u)
        rounding = ROUNDING * (1 + abs(b) + lengths * float(lengths @ alpha))
        under = (C - alpha) @ np.maximum(0.0, xi + rounding)
        slack = math.sqrt(float(under + alpha @ np.maximum(0.0, rounding - xi)))
        length = math.sqrt(max(0.0, float(u @ product)))
        return Certificate(_width(length), _width(length + slack), _width(length - slack))

    program = QuadraticProgram(
        -y, np.zeros(m, np.int8), np.where(positive, 0.0, -C), np.where(positive, C, 0.0)
    )
    return minimise(K, program, np.zeros(m), certificate, Margin, **stopping)


def _width(norm: float) -> float:
    """2/‖w‖."""
    return 2 / norm if norm > 0 else math.inf
