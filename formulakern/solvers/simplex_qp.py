"""Convex quadratic programs over simplices and boxes, stopped by a certificate.

    min ½ u'(K + ridge·I)u + p'u   with lower ≤ u ≤ upper and Σ_{i in group} u_i fixed, two groups

The smallest enclosing ball, the distance between two convex hulls and the support vector machine
are this problem with different constants.  It is solved by sequential minimal optimisation: each
step changes two coefficients of one group, chosen by second-order information (R.-E. Fan,
P.-H. Chen, C.-J. Lin, "Working set selection using second order information for training support
vector machines", JMLR 6, 2005), and reads two rows of K.  The caller's certificate, lower and upper
bounds computed from u and Ku, determines when to stop.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.compilation import compiled
from formulakern.solvers.solution import Certified, share_done

#: Steps between two checks of the certificate (and of Ctrl-C); 10 milliseconds at m = 5,000.
CHECKED_STEPS = 256
#: Allowance for the rounding of a sum of products, as a share of the sum of their sizes.
ROUNDING = 8 * float(np.finfo(np.float64).eps)
#: The least curvature as a share of K_ii + K_jj, for two rows that coincide.
MIN_CURVATURE_SHARE = 1e-12
#: Keeps a division by the curvature finite for a zero matrix.
MIN_DIVISOR = 1e-300


class QuadraticProgram(NamedTuple):
    """The constants of min ½ u'(K + ridge·I)u + p'u over a box with fixed sums, without K.

    ``linear`` is p, and ``group`` is 0 or 1, the group whose sum is fixed.
    """

    linear: Annotated[Any, "float64[::1]"]
    group: Annotated[Any, "int8[::1]"]
    lower: Annotated[Any, "float64[::1]"]
    upper: Annotated[Any, "float64[::1]"]
    ridge: Annotated[float, "float64"] = 0.0


@compiled(
    "int64(Array(float64, 2, 'C', readonly=True), state, float64[::1], float64[::1], float64[::1],"
    " float64, int64)",
    state=QuadraticProgram,
)
def smo_steps(
    K: Any,
    program: QuadraticProgram,
    diagonal: Any,
    u: Any,
    gradient: Any,
    floor: float,
    steps: int,
) -> int:
    """Take at most ``steps`` steps, each within one group; return how many promised a decrease.

    A step takes the coefficient i of smallest gradient g_i that may grow, and the coefficient j of
    the same group that may shrink and promises the largest decrease
    (g_j − g_i)² / 2(K_ii + K_jj − 2K_ij).  It moves from j to i the amount that minimises the
    objective, limited by the bounds.  The sum of a group never changes.  u and its gradient
    (K + ridge·I)u + p change in place; differences of gradients up to ``floor`` are rounding.
    """
    _, group, lower, upper, ridge = program
    m = u.size
    i, j, move = 0, 0, 0.0
    for step in range(steps + 1):
        grow0, grow1 = -1, -1
        least0, least1 = np.inf, np.inf
        for k in range(m):
            gradient[k] += move * (K[i, k] - K[j, k])
            if group[k] == 0:
                if gradient[k] < least0 and u[k] < upper[k]:
                    least0, grow0 = gradient[k], k
            elif gradient[k] < least1 and u[k] < upper[k]:
                least1, grow1 = gradient[k], k
        j = -1
        best = 0.0
        for k in range(m):
            i = grow0 if group[k] == 0 else grow1
            if i >= 0 and u[k] > lower[k]:
                descent = gradient[k] - gradient[i]
                if descent > floor:
                    pair = diagonal[i] + diagonal[k]
                    curvature = max(pair - 2.0 * K[i, k], MIN_CURVATURE_SHARE * pair + MIN_DIVISOR)
                    gain = descent * (descent / curvature)
                    if gain > best:
                        best, j, move = gain, k, descent / curvature
        if j < 0 or step == steps:
            return step
        i = grow0 if group[j] == 0 else grow1
        room_i, room_j = upper[i] - u[i], u[j] - lower[j]
        move = min(move, room_i, room_j)
        # a coefficient that reaches its bound is set to it, to the last bit
        u[i] = upper[i] if move == room_i else u[i] + move
        u[j] = lower[j] if move == room_j else u[j] - move
        gradient[i] += ridge * move
        gradient[j] -= ridge * move
    return steps


class Certificate(NamedTuple):
    """The value computed from u and Ku, with proven bounds that allow for rounding.

    It counts as ``zero`` if ``upper`` is below the caller's threshold.
    """

    value: float
    lower: float
    upper: float
    zero: bool = False

    @property
    def gap(self) -> float:
        """(upper − lower) / upper, the relative duality gap; 0 if the number is zero."""
        if self.zero or self.lower == self.upper:
            return 0.0
        return 1.0 if math.isinf(self.upper) else (self.upper - self.lower) / self.upper


@dataclass(frozen=True, eq=False, kw_only=True)
class Weighted(Certified):
    """A certified value, and the feasible point u, ``coefficients``, that attains it."""

    coefficients: FloatArray


Result = TypeVar("Result", bound=Weighted)


def minimise(
    K: FloatArray,
    program: QuadraticProgram,
    start: FloatArray,
    certificate: Callable[[FloatArray, FloatArray], Certificate],
    kind: type[Result],
    *,
    tol: float = 1e-3,
    max_iter: int = 1_000_000,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Take steps until the relative gap of ``certificate(u, (K + ridge·I)u)`` is at most ``tol``.

    The last certificate is recomputed from u and K, free of errors accumulated in the steps.  The
    result is not converged after ``max_iter`` steps (rounded up to whole chunks of 256), or if
    rounding hides every gain.  ``start`` is a feasible point, ``kind`` the class of the result, and
    ``progress`` is called with the completed share, measured by the logarithm of the gap.

    A step costs O(m), as does a certificate every 256 steps; two or three passes over K, O(m²).
    """
    u = start.copy()
    diagonal = K.diagonal() + program.ridge
    gradient = K @ u + program.ridge * u + program.linear
    first = proof = certificate(u, gradient - program.linear)
    taken, stalled = 0, False
    while True:
        if proof.gap <= tol or stalled or taken >= max_iter:
            product = K @ u + program.ridge * u
            proof = certificate(u, product)
            if proof.gap <= tol or stalled or taken >= max_iter:
                break
            gradient = product + program.linear
        floor = 2 * np.finfo(np.float64).eps * float(np.abs(gradient).max())
        done = smo_steps(K, program, diagonal, u, gradient, floor, CHECKED_STEPS)
        taken += done
        stalled = done < CHECKED_STEPS
        proof = certificate(u, gradient - program.linear)
        if progress is not None:
            progress(share_done(first.gap, proof.gap, tol))
    if progress is not None:
        progress(1.0)
    return kind(
        value=proof.value,
        lower_bound=proof.lower,
        upper_bound=proof.upper,
        gap=proof.gap,
        iterations=taken,
        converged=proof.gap <= tol,
        coefficients=u,
    )


#: Hulls nearer than this share of the spread of the points count as meeting.
MIN_DISTANCE_SHARE = 1e-5


@dataclass(frozen=True, eq=False, kw_only=True)
class EnclosingBall(Weighted):
    """A ball around all feature vectors, its centre Σ β_i φ(x_i), and bounds on its radius.

    Attributes
    ----------
    value : float
        R² = Σ β_i K_ii − β'Kβ at the coefficients, the value of the dual problem; 0 if all points
        coincide.
    lower_bound, upper_bound : float
        Bounds on the true R²: the value of the dual problem, and max_i ‖φ(x_i) − centre‖², each
        moved outwards by a bound on the rounding.
    coefficients : float64 (m,)
        β ≥ 0 with Σ β_i = 1.
    gap : float
        (upper_bound − lower_bound) / upper_bound; 0 if all points coincide.
    iterations : int
        Steps that move two coefficients each.
    converged : bool
        Whether the gap is at most the tolerance.

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
    **stopping: Any,
) -> EnclosingBall:
    """Compute R² = max Σ β_i K_ii − β'Kβ over the simplex, for K + ridge·I in place of K.

    R is the radius of the smallest ball around points φ(x_i) with ⟨φ(x_i), φ(x_j)⟩ = K_ij.

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
    one = int((diagonal - 2 * K[0]).argmax())  # far from the first point; the other is far from it
    other = int((diagonal - 2 * K[one]).argmax())
    start[one] += 0.5
    start[other] += 0.5
    return minimise(K, program, start, certificate, EnclosingBall, **stopping)


@dataclass(frozen=True, eq=False, kw_only=True)
class Margin(Weighted):
    """The distance between two classes along the normal w of the best hyperplane, with bounds.

    Attributes
    ----------
    value : float
        The distance 2/‖w‖, the width of the corridor between the classes.  For the hard margin it
        is the distance between their convex hulls, 0 if the hulls meet.
    lower_bound, upper_bound : float
        Bounds on the true distance.
    coefficients : float64 (m,)
        u with w proportional to Σ u_i φ(x_i); positive in the positive class, negative in the
        other.
    gap : float
        (upper_bound − lower_bound) / upper_bound; 0 if the hulls meet.
    iterations : int
        Steps that move two coefficients each.
    converged : bool
        Whether the gap is at most the tolerance.

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
    **stopping: Any,
) -> Margin:
    """Compute min ‖Σ a_i φ(x_i) − Σ b_j φ(x_j)‖ over both simplices, the distance of the hulls.

    With z the difference of two points of the hulls, the distance is at most ‖z‖, and at least
    (min ⟨z, φ(x_i)⟩ − max ⟨z, φ(x_j)⟩) / ‖z‖, i over one class and j over the other.  Hulls nearer
    than 1e-5 of the largest distance of a point from the mean of all count as meeting: the distance
    is 0, and ``upper_bound`` is the proven bound on it.

    K + ridge·I replaces K: ridge = 1/C is the support vector machine of squared hinge loss.

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
    zero = max(MIN_DISTANCE_SHARE**2 * spread, 4 * rounding)

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
    **stopping: Any,
) -> Margin:
    """Compute 2/‖w‖ of the SVM min ½‖w‖² + C Σ max(0, 1 − y_i(⟨w, φ(x_i)⟩ + b)).

    With P the objective at (w, b), b the best for w, and D = Σ α_i − ½‖w‖² the dual objective,
    strong convexity of both gives ‖w − w*‖² ≤ P − D, hence bounds on ‖w*‖.  With
    ξ_i = 1 − y_i(⟨w, φ(x_i)⟩ + b), P − D = Σ (C − α_i) max(0, ξ_i) + α_i max(0, −ξ_i).  The gap of
    the objectives is about the square of the gap of 2/‖w‖, which is infinite if w = 0 is optimal.

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
        # the sum of the hinges is least at a balance of points with too large and too small b
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
    """Return 2/‖w‖, or infinity for w = 0."""
    return 2 / norm if norm > 0 else math.inf
