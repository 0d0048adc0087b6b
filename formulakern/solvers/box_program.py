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

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BoxSolution", "solve_box_program"]

#: Up to so many entries of A are turned to float64 once; else so many rows whenever needed.
KEPT_ENTRIES = 1 << 24
BLOCK = 16_384
MAX_STEPS = 100
#: Share of the way to the boundary that a step takes.
SHORT = 0.995
#: Steps shorter than this lead nowhere.
STUCK = 1e-10

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BoxSolution:
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


def solve_box_program(
    A: NDArray[Any], u: Vector, shift: float = 0.0, tol: float = 1e-8
) -> BoxSolution:
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

    Returns
    -------
    BoxSolution

    Notes
    -----
    O(n·k²) per iteration, mostly 10 to 30 of them.

    Examples
    --------
    >>> solution = solve_box_program(np.array([[1.0, 0.0], [0.0, 2.0]]), np.full(2, np.inf))
    >>> solution.alpha.round(6)
    array([1. , 0.5])
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    gap, steps = np.inf, 0
    with threadpool_limits(1, "blas"):  # threads that wait for each other cost more than they do
        state = _State(A, u, shift)
        while steps < MAX_STEPS:
            gap = state.gap()
            if max(gap, state.infeasibility()) <= tol or state.step() < STUCK:
                break
            steps += 1
    return BoxSolution(state.alpha, state.lam, gap, steps)


class _State:
    """α, λ and their companions: z for α ≥ 0, (β, ξ) for α ≤ u, s for Aᵀα ≤ 1."""

    def __init__(self, A: NDArray[Any], u: Vector, shift: float) -> None:
        self.A, self.shift = A, shift
        n, k = A.shape
        if A.size <= KEPT_ENTRIES:
            self.A, self.shift = A.astype(np.float64) + shift, 0.0
        self.capped = bool(np.isfinite(u).all())
        self.u = u if self.capped else np.zeros(n)
        largest = max(float(self._rows_sum().max(initial=0.0)), 1e-12)
        start = np.full(n, 0.5 / largest)
        self.alpha = np.minimum(start, 0.5 * u) if self.capped else start
        self.beta = self.u - self.alpha if self.capped else np.ones(n)
        self.s = np.maximum(1.0 - self.transposed(self.alpha), 0.1)
        self.lam = np.full(k, 1.0 / k)
        margins = self.product(self.lam)
        scale = max(float(np.abs(margins).mean()), 1e-3)
        self.lam /= scale
        residual = 1.0 - margins / scale
        self.xi = np.maximum(residual, 0.0) + 0.5 if self.capped else np.zeros(n)
        self.z = np.maximum(-residual, 0.0) + 0.5

    # -- A as it is stored --------------------------------------------------------------------

    def _blocks(self) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        for first in range(0, len(self.A), BLOCK):
            rows = slice(first, first + BLOCK)
            block = self.A[rows].astype(np.float64, copy=False)
            yield rows, block + self.shift if self.shift else block

    def _rows_sum(self) -> Vector:
        """Σ_i |A_ik|, shape (k,)."""
        total = np.zeros(self.A.shape[1])
        for _, block in self._blocks():
            total += np.abs(block).sum(axis=0)
        return total

    def product(self, x: Vector) -> Vector:
        """A x."""
        result = np.empty(len(self.A))
        for rows, block in self._blocks():
            result[rows] = block @ x
        return result

    def transposed(self, y: Vector) -> Vector:
        """Aᵀ y."""
        result = np.zeros(self.A.shape[1])
        for rows, block in self._blocks():
            result += y[rows] @ block
        return result

    def normal(self, d: Vector) -> NDArray[np.float64]:
        """Aᵀ diag(d) A."""
        k = self.A.shape[1]
        result = np.zeros((k, k))
        root = np.sqrt(d)
        for rows, block in self._blocks():
            block = block * root[rows, None]
            result += block.T @ block
        return result

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
        r_dual = 1.0 - self.product(self.lam) - self.xi + self.z
        r_primal = 1.0 - self.transposed(self.alpha) - self.s
        r_cap = self.u - self.alpha - self.beta if self.capped else np.zeros(len(self.u))
        return r_dual, r_primal, r_cap

    def step(self) -> float:
        """A predictor and a corrector; the length of the step."""
        from scipy.linalg import cho_factor, cho_solve

        residuals = self._residuals()
        D = self.z / self.alpha + self.xi / self.beta
        matrix = self.normal(1.0 / D)
        diagonal = self.s / self.lam
        matrix.flat[:: len(matrix) + 1] += diagonal
        unit = 1.0 / np.sqrt(matrix.diagonal())  # with 1 in the diagonal it is better conditioned
        matrix *= unit * unit[:, None]
        matrix.flat[:: len(matrix) + 1] += 1e-14
        factor = cho_factor(matrix, overwrite_a=True, check_finite=False)

        def direction(az: Vector, bx: Vector, sl: Vector) -> tuple[Vector, ...]:
            """The Newton step towards complementarity products az, bx, sl more than now."""
            r_dual, r_primal, r_cap = residuals
            h = r_dual - (bx - self.xi * r_cap) / self.beta + az / self.alpha
            right = self.transposed(h / D) + sl / self.lam - r_primal
            d_lam = unit * cho_solve(factor, unit * right, check_finite=False)
            d_alpha = (h - self.product(d_lam)) / D
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


def _longest(pairs: list[tuple[Vector, Vector]]) -> float:
    longest = 1.0 / SHORT
    for value, change in pairs:
        falling = change < 0
        if falling.any():
            longest = min(longest, float((value[falling] / -change[falling]).min()))
    return longest
