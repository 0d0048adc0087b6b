r"""A linear program of games with capped strategies, by an interior-point method.

    max Σ_i α_i   with Aᵀα ≤ 1, 0 ≤ α ≤ u ;      dual: min Σ_k λ_k + Σ_i u_i ξ_i
                                                 with Aλ + ξ ≥ 1, λ ≥ 0, ξ ≥ 0.

It is the dual of the 1-norm support vector machine, and, with u = ∞, a zero-sum game of positive
value 1/Σα.  There are many rows and few columns, so that a Newton step costs one symmetric matrix
Aᵀ D A of the size of the columns (S. Mehrotra, *On the implementation of a primal-dual interior
point method*, SIAM J. Optim. 2, 1992, https://doi.org/10.1137/0802028).  What column generation
needs of it: where optimal α are not unique it finds one in the middle of them, not at a corner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.solvers.blas import one_thread
from formulakern.solvers.capped_lp.matrix import Matrix, matrix_of

__all__ = ["CappedSolution", "solve_capped_lp"]

MAX_STEPS = 100
#: Share of the way to the boundary that a step takes.
SHORT = 0.995
#: How far inside its bounds a start lies.
ASIDE, SHRUNK, TINY = 0.05, 1.1, 0.1
#: Steps shorter than this lead nowhere,
STUCK = 1e-10
#: and neither do so many in a row that leave more than this share of the error, once the gap or
#: all of it is below this (before, it may stay where it is for long).
PATIENCE, CLEARLY, LATE = 10, 0.99, 1e-3

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CappedSolution:
    """Where the interior-point method stopped.

    Parameters
    ----------
    alpha : ndarray of shape (n,), within (0, u)
    multipliers : ndarray of shape (k,), positive
        λ.
    gap : float
        |Σλ + uᵀξ − Σα| as a share of the larger one.
    iterations : int
    """

    alpha: Vector
    multipliers: Vector
    gap: float
    iterations: int


def solve_capped_lp(
    A: NDArray[Any],
    u: Vector,
    shift: float = 0.0,
    tol: float = 1e-8,
    start: tuple[Vector, Vector] | None = None,
) -> CappedSolution:
    """max Σα with (A + shift)ᵀα ≤ 1, 0 ≤ α ≤ u.

    Parameters
    ----------
    A : ndarray of shape (n, k)
        Of any real dtype; bytes save memory.
    u : ndarray of shape (n,)
        Positive; inf for no cap, all or none.
    shift : float
        Added to every entry of A.  With infinite u there must be a λ ≥ 0 with Aλ > 0, which a
        large enough shift makes sure of.
    tol : float
        Relative gap, and relative infeasibility, to stop at.
    start : tuple of ndarray of shape (n,) and (k,), optional
        α and λ of a similar program; not negative.

    Returns
    -------
    CappedSolution

    Notes
    -----
    O(n·k²) per iteration, mostly 10 to 30 of them; where few entries of A are not zero, the sum
    of the squares of their numbers per row.

    Examples
    --------
    >>> solution = solve_capped_lp(np.array([[1.0, 0.0], [0.0, 2.0]]), np.full(2, np.inf))
    >>> solution.alpha.round(6)
    array([1. , 0.5])
    """
    best, steps = (np.inf, np.inf), 0
    with one_thread():
        state = _State(matrix_of(A, shift, tol), u, start)
        alpha, multipliers, since = state.alpha, state.lam, 0
        while True:
            gap = state.gap()
            error = max(gap, state.infeasibility())
            if error < best[0]:
                late = min(error, gap) < LATE and error > CLEARLY * best[0]
                since = since + 1 if late else 0
                best, alpha, multipliers = (error, gap), state.alpha, state.lam
            else:
                since += min(error, gap) < LATE
            ended = error <= tol or since == PATIENCE or steps == MAX_STEPS
            if ended or not np.isfinite(error) or state.step() < STUCK:
                break
            steps += 1
    return CappedSolution(alpha, multipliers, best[1], steps)


class _State:
    """α, λ and their companions: z for α ≥ 0, (β, ξ) for α ≤ u, s for Aᵀα ≤ 1."""

    def __init__(
        self, matrix: Matrix, u: Vector, start: tuple[Vector, Vector] | None = None
    ) -> None:
        self.matrix = matrix
        n, k = matrix.shape
        self.capped = bool(np.isfinite(u).all())
        self.u = u if self.capped else np.zeros(n)
        largest = max(float(self.matrix.sizes().max(initial=0.0)), 1e-12)
        alpha, lam = np.full(n, 0.5 / largest), np.full(k, 1.0 / k)
        if start is not None and start[1].sum() > 0 and start[0].sum() > 0:
            paid = float(self.matrix.transposed(start[0]).max())
            alpha = start[0] / (SHRUNK * max(paid, 1.0)) + TINY * start[0].mean()
            lam = start[1] + TINY * start[1].mean()
        self.alpha = np.clip(alpha, 0.0, 0.98 * u) if self.capped else alpha
        self.beta = self.u - self.alpha if self.capped else np.ones(n)
        self.s = np.maximum(1.0 - self.matrix.transposed(self.alpha), 0.1)
        self.lam = lam
        margins = self.matrix.product(self.lam)
        if start is None:
            scale = max(float(np.abs(margins).mean()), 1e-3)
            self.lam, margins = self.lam / scale, margins / scale
        residual = 1.0 - margins
        self.xi = np.maximum(residual, 0.0) + ASIDE if self.capped else np.zeros(n)
        self.z = np.maximum(-residual, 0.0) + ASIDE

    # -- where it is --------------------------------------------------------------------------

    def gap(self) -> float:
        """Relative difference of the two objectives."""
        below = float(self.alpha.sum())
        above = float(self.lam.sum()) + float(self.u @ self.xi)
        return abs(above - below) / max(above, below)

    def infeasibility(self) -> float:
        """The largest residual of the equations, which are of size 1."""
        r_dual, r_primal, r_cap = self._residuals()
        largest = max(float(np.abs(r_dual).max()), float(np.abs(r_primal).max()))
        return max(largest, float(np.abs(r_cap).max()) / max(float(self.u.max()), 1.0))

    def _residuals(self) -> tuple[Vector, Vector, Vector]:
        r_dual = 1.0 - self.matrix.product(self.lam) - self.xi + self.z
        r_primal = 1.0 - self.matrix.transposed(self.alpha) - self.s
        r_cap = self.u - self.alpha - self.beta if self.capped else np.zeros(len(self.u))
        return r_dual, r_primal, r_cap

    def step(self) -> float:
        """A predictor and a corrector; the length of the step."""
        from scipy.linalg import cho_solve

        residuals = self._residuals()
        D = self.z / self.alpha + self.xi / self.beta
        matrix = self.matrix.normal(1.0 / D)
        diagonal = self.s / self.lam
        matrix.flat[:: len(matrix) + 1] += diagonal
        unit = 1.0 / np.sqrt(matrix.diagonal())  # with 1 in the diagonal it is better conditioned
        matrix *= unit * unit[:, None]
        factor = _factor(matrix, self.matrix.rounding)

        def direction(az: Vector, bx: Vector, sl: Vector) -> tuple[Vector, ...]:
            """The Newton step towards complementarity products az, bx, sl more than now."""
            r_dual, r_primal, r_cap = residuals
            h = r_dual - (bx - self.xi * r_cap) / self.beta + az / self.alpha
            right = self.matrix.transposed(h / D) + sl / self.lam - r_primal
            d_lam = unit * cho_solve(factor, unit * right, check_finite=False)
            d_alpha = (h - self.matrix.product(d_lam)) / D
            d_s = (sl - self.s * d_lam) / self.lam
            d_z = (az - self.z * d_alpha) / self.alpha
            d_beta = r_cap - d_alpha if self.capped else np.zeros_like(d_alpha)
            d_xi = (bx - self.xi * d_beta) / self.beta if self.capped else d_beta
            return d_alpha, d_beta, d_s, d_lam, d_z, d_xi

        az, bx, sl = self.alpha * self.z, self.beta * self.xi, self.s * self.lam
        d = direction(-az, -bx, -sl)
        primal, dual = self._lengths(d)
        count = len(az) + len(sl) + len(bx) * self.capped
        now = (float(az.sum()) + float(bx.sum()) + float(sl.sum())) / count
        after = (
            float((self.alpha + primal * d[0]) @ (self.z + dual * d[4]))
            + float((self.beta + primal * d[1]) @ (self.xi + dual * d[5]))
            + float((self.s + primal * d[2]) @ (self.lam + dual * d[3]))
        ) / count
        target = now * (after / now) ** 3
        d = direction(
            target - az - d[0] * d[4],
            target - bx - d[1] * d[5] if self.capped else np.zeros_like(bx),
            target - sl - d[2] * d[3],
        )
        primal, dual = self._lengths(d)
        primal, dual = min(1.0, SHORT * primal), min(1.0, SHORT * dual)
        self.alpha = self.alpha + primal * d[0]
        self.s = self.s + primal * d[2]
        self.lam = self.lam + dual * d[3]
        self.z = self.z + dual * d[4]
        if self.capped:
            self.beta = self.beta + primal * d[1]
            self.xi = self.xi + dual * d[5]
        return max(primal, dual)

    def _lengths(self, d: tuple[Vector, ...]) -> tuple[float, float]:
        """How far one may go before something becomes negative, at most 1/SHORT."""
        primal = [(self.alpha, d[0]), (self.s, d[2])] + [(self.beta, d[1])] * self.capped
        dual = [(self.lam, d[3]), (self.z, d[4])] + [(self.xi, d[5])] * self.capped
        return _longest(primal), _longest(dual)


def _factor(matrix: NDArray[np.float64], rounding: float) -> Any:
    """Cholesky's factor of a matrix with 1 in the diagonal, whose entries are so much off."""
    from scipy.linalg import LinAlgError, cho_factor

    while True:
        matrix.flat[:: len(matrix) + 1] += rounding
        try:
            return cho_factor(matrix, check_finite=False)
        except LinAlgError:  # more columns than one entry's error allows for
            rounding *= 10


def _longest(pairs: list[tuple[Vector, Vector]]) -> float:
    longest = 1.0 / SHORT
    for value, change in pairs:
        falling = change < 0
        if falling.any():
            longest = min(longest, float((value[falling] / -change[falling]).min()))
    return longest
