"""The smallest enclosing ball of points in feature space, and the margin of two classes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.solvers.simplex_qp.solve import (
    ROUNDING,
    Certificate,
    QuadraticProgram,
    Stopping,
    Weighted,
    minimise,
)

__all__ = ["ZERO", "EnclosingBall", "Margin", "enclosing_ball", "hinge_margin", "hull_margin"]

#: Hulls nearer than this share of the spread of the points are taken to meet.
ZERO = 1e-5


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
