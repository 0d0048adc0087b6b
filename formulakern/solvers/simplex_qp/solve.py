"""Convex quadratic programs over simplices and boxes, stopped by a certificate.

    min ½ u'(K + ridge·I)u + p'u   with lower ≤ u ≤ upper and Σ_{i in group} u_i fixed, two groups

The smallest enclosing ball, the distance between two convex hulls and the support vector machine
are this problem with different constants.  It is solved by sequential minimal optimisation: each
step changes two coefficients of one group, chosen by second-order information (R.-E. Fan,
P.-H. Chen, C.-J. Lin, "Working set selection using second order information for training support
vector machines", JMLR 6, 2005), and reads two rows of K.  The caller's certificate decides when to
stop: bounds from below and above on the number that is wanted, computed from u and Ku.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from formulakern.solvers.simplex_qp.loops import smo_steps
from formulakern.solvers.stopping import share_done

__all__ = ["ROUNDING", "Bounds", "QuadraticProgram", "Solution", "minimise"]

FloatArray = npt.NDArray[np.float64]

#: Steps between two looks at the certificate (and at Ctrl-C); 10 milliseconds at m = 5,000.
CHUNK = 256
#: Allowance for the rounding of a sum of products, as a share of the sum of their sizes.
ROUNDING = 8 * float(np.finfo(np.float64).eps)


class Bounds(NamedTuple):
    """The wanted number lies in [lower, upper], a proof that allows for rounding.

    Attributes
    ----------
    lower, upper : float
    zero : bool
        The number is taken to be zero: ``upper`` is below the caller's threshold.
    """

    lower: float
    upper: float
    zero: bool = False

    @property
    def gap(self) -> float:
        """(upper − lower) / upper, the relative duality gap; 0 where the number is zero."""
        if self.zero or self.lower == self.upper:
            return 0.0
        return 1.0 if math.isinf(self.upper) else (self.upper - self.lower) / self.upper


@dataclass(frozen=True)
class QuadraticProgram:
    """½ u'(K + ridge·I)u + p'u over a box with fixed sums.

    Parameters
    ----------
    K : float64 (m, m), C-contiguous, symmetric, positive semidefinite
    linear : float64 (m,)
        p.
    group : int8 (m,)
        0 or 1: the group whose sum is kept.
    lower, upper : float64 (m,)
    ridge : float
    """

    K: FloatArray
    linear: FloatArray
    group: npt.NDArray[np.int8]
    lower: FloatArray
    upper: FloatArray
    ridge: float = 0.0

    def product(self, u: FloatArray) -> FloatArray:
        """(K + ridge·I)u, in one pass over K."""
        product = self.K @ u
        if self.ridge:
            product += self.ridge * u
        return product


@dataclass(frozen=True)
class Solution:
    """A feasible point with a certificate computed from it.

    Parameters
    ----------
    u : float64 (m,)
    product : float64 (m,)
        (K + ridge·I)u, computed from u.
    bounds : Bounds
    steps : int
    converged : bool
        Whether the gap is at most the tolerance.
    """

    u: FloatArray
    product: FloatArray
    bounds: Bounds
    steps: int
    converged: bool

    def certified(self, value: float) -> dict[str, Any]:
        """The fields of a result of this value, whose bounds are the certificate's."""
        return {
            "value": value,
            "lower_bound": self.bounds.lower,
            "upper_bound": self.bounds.upper,
            "gap": self.bounds.gap,
            "iterations": self.steps,
            "converged": self.converged,
            "coefficients": self.u,
        }


def minimise(
    program: QuadraticProgram,
    start: FloatArray,
    certificate: Callable[[FloatArray, FloatArray], Bounds],
    *,
    tol: float,
    max_iter: int,
    progress: Callable[[float], None] | None = None,
) -> Solution:
    """Take steps until the certificate's relative gap is at most ``tol``.

    Parameters
    ----------
    program : QuadraticProgram
    start : float64 (m,)
        A feasible point.
    certificate : callable
        ``certificate(u, (K + ridge·I)u)``: bounds on the number that is wanted.
    tol : float
        The relative gap to reach.
    max_iter : int
        At most so many steps (rounded up to whole chunks).
    progress : callable, optional
        Called with the share that is done, measured by the logarithm of the gap.

    Returns
    -------
    Solution
        Its certificate is computed from u and K afresh: errors that piled up in the steps do not
        touch it.  Not converged after ``max_iter`` steps, or where rounding hides every gain.

    Notes
    -----
    O(m) a step; a certificate every 256 steps, O(m); two or three passes over K, O(m²), in all.

    Examples
    --------
    The point of a segment that is nearest to the origin:

    >>> import numpy as np
    >>> points = np.array([[1.0, 1.0], [1.0, -3.0]])
    >>> program = QuadraticProgram(
    ...     points @ points.T, np.zeros(2), np.zeros(2, np.int8), np.zeros(2), np.ones(2)
    ... )
    >>> def squared_length(u, product):
    ...     squared = float(u @ product)
    ...     return Bounds(2 * float(product.min()) - squared, squared)
    >>> solution = minimise(
    ...     program, np.array([0.0, 1.0]), squared_length, tol=1e-9, max_iter=1000
    ... )
    >>> solution.u, solution.bounds.upper
    (array([0.75, 0.25]), 1.0)
    """
    u = start.copy()
    diagonal = program.K.diagonal() + program.ridge
    gradient = program.product(u) + program.linear
    first = bounds = certificate(u, gradient - program.linear)
    taken = 0
    stalled = False
    while True:
        if bounds.gap <= tol or stalled or taken >= max_iter:
            product = program.product(u)
            bounds = certificate(u, product)
            if bounds.gap <= tol or stalled or taken >= max_iter:
                break
            gradient = product + program.linear
        floor = 2 * np.finfo(np.float64).eps * float(np.abs(gradient).max())
        done = smo_steps(
            program.K,
            program.ridge,
            diagonal,
            program.group,
            program.lower,
            program.upper,
            u,
            gradient,
            floor,
            CHUNK,
        )
        taken += done
        stalled = done < CHUNK
        bounds = certificate(u, gradient - program.linear)
        if progress is not None:
            progress(share_done(first.gap, bounds.gap, tol))
    if progress is not None:
        progress(1.0)
    return Solution(u, product, bounds, taken, bounds.gap <= tol)
