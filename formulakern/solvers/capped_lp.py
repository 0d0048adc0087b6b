r"""The dual of the 1-norm support vector machine, by a primal-dual interior-point method.

    max Σ_i α_i   with Aᵀα ≤ 1, 0 ≤ α ≤ u ;      dual: min Σ_k λ_k + Σ_i u_i ξ_i
                                                 with Aλ + ξ ≥ 1, λ ≥ 0, ξ ≥ 0.

Row i of A holds the margins of example i under the features k, u_i is its penalty parameter, λ are
the weights of the features and ξ the slacks.  With v = 1/Σα and p = vα this is the zero-sum game of
value v with payoffs A in which the row player's strategy is from the capped simplex p ≤ vu; with
u = ∞ it is the ordinary game, of positive value.

The method suits many rows and few columns.  A Newton step costs one symmetric matrix AᵀDA of the
size of the columns (S. Mehrotra, "On the implementation of a primal-dual interior point method",
SIAM Journal on Optimization 2, 1992, doi:10.1137/0802028).  If optimal α are not unique, the method
ends near their analytic centre, not at a basic solution.  This makes column generation faster: best
responses to the centre are the most informative.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.compilation import compiled
from formulakern.deadline import UNLIMITED, Deadline, TimeIsOver
from formulakern.solvers.blas import one_thread

#: A of at most this many bytes is converted to floats once; otherwise in blocks of rows.
MAX_FLOAT_BYTES = 1 << 28
BLOCK_ROWS = 16_384
#: Below this share of nonzero entries, sums over them are faster than BLAS over all; in single
#: precision below this part of the share.
MAX_SPARSE_SHARE, SINGLE_PART = 0.15, 2 / 3
#: From this tolerance on, the method begins in single precision.
MIN_FLOAT32_TOL = 1e-4
#: Sums of larger numbers would overflow in single precision.
MAX_FLOAT32_NUMBER = 1e30
#: Smaller matrices stay dense.
MIN_SPARSE_ENTRIES = 1 << 16


@compiled("void(int64[::1], int32[::1], float64[::1], float64[::1], float64[:, ::1])")
def rows_normal(starts: Any, places: Any, entries: Any, d: Any, out: Any) -> None:
    """Add the upper triangle of Aᵀ diag(d) A to ``out``, from the nonzero entries of A's rows.

    ``places[starts[i]:starts[i + 1]]`` are the columns of the entries of row i, increasing.
    """
    for i in range(len(d)):
        for e in range(starts[i], starts[i + 1]):
            weight = entries[e] * d[i]
            row = out[places[e]]
            for f in range(e, starts[i + 1]):
                row[places[f]] += weight * entries[f]


class ConstraintMatrix:
    """The matrix A + shift; A is sparse if it has few nonzero entries, otherwise BLAS is used.

    Large matrices of bytes are converted to floats block by block.  A rough matrix is for a rough
    solution: a large dense one is in single precision.  With a deadline, compilation is not waited
    for.
    """

    def __init__(
        self, A: NDArray[Any], shift: float, rough: bool, deadline: Deadline = UNLIMITED
    ) -> None:
        self.shape, self.shift = (A.shape[0], A.shape[1]), shift
        large = A.size > MIN_SPARSE_ENTRIES
        most = MAX_SPARSE_SHARE * (SINGLE_PART if rough else 1.0)
        few = large and np.count_nonzero(A) < most * A.size
        self.sparse = few and rows_normal.ready(deadline, wait=False)
        single = large and rough and not self.sparse
        self.dtype = np.dtype(np.float32 if single else np.float64)
        #: Relative error of the entries of :meth:`normal`.
        self.rounding = 4e-7 if single else 1e-14
        #: Solutions of a linear system with it: the second corrects rounding errors of the first.
        self.solves = 1 if rough else 2
        self.A: Any = A
        if self.sparse:
            from scipy.sparse import csr_array

            self.A = csr_array(A).astype(self.dtype)
            indices = self.A.indptr.astype(np.int64), self.A.indices.astype(np.int32)
            self.entries = *indices, self.A.data
        elif A.size * self.dtype.itemsize <= MAX_FLOAT_BYTES:
            self.A = A.astype(self.dtype)

    def _blocks(self) -> Iterator[tuple[slice, Any]]:
        if self.sparse:
            yield slice(None), self.A
            return
        for first in range(0, self.shape[0], BLOCK_ROWS):
            rows = slice(first, first + BLOCK_ROWS)
            yield rows, self.A[rows].astype(self.dtype, copy=False)

    def sizes(self) -> FloatArray:
        """Return Σ_i |A_ik| + n·|shift|, shape (k,)."""
        own: Any = sum(abs(block).sum(axis=0) for _, block in self._blocks())
        return np.asarray(own + self.shape[0] * abs(self.shift), dtype=np.float64)

    def product(self, x: FloatArray) -> FloatArray:
        """Return (A + shift) x, shape (n,)."""
        own, shift = x.astype(self.dtype), self.shift * float(x.sum())
        parts = [block @ own for _, block in self._blocks()]
        return np.asarray(np.concatenate(parts, dtype=np.float64) + shift)

    def transposed(self, y: FloatArray) -> FloatArray:
        """Return (A + shift)ᵀ y, shape (k,)."""
        own = y.astype(self.dtype)
        result: FloatArray = np.full(self.shape[1], self.shift * float(y.sum()))
        for rows, block in self._blocks():
            result += np.asarray(own[rows] @ block)
        return result

    def normal(self, d: FloatArray, deadline: Deadline = UNLIMITED) -> FloatArray:
        """Return (A + shift)ᵀ diag(d) (A + shift), shape (k, k), for d ≥ 0 of shape (n,)."""
        result = np.zeros((self.shape[1], self.shape[1]))
        d = np.minimum(d, MAX_FLOAT32_NUMBER)
        if self.sparse:
            starts, places, entries = self.entries
            for first in range(0, len(d), BLOCK_ROWS):
                deadline.check()
                rows = slice(first, first + BLOCK_ROWS)
                rows_normal(
                    starts[first : first + BLOCK_ROWS + 1], places, entries, d[rows], result
                )
            result += np.triu(result, 1).T
        else:
            root = np.sqrt(d).astype(self.dtype)
            for rows, block in self._blocks():
                deadline.check()
                block = block * root[rows, None]
                result += block.T @ block
        if self.shift:
            sums = self.shift * (self.transposed(d) - 0.5 * self.shift * float(d.sum()))
            result += sums[:, None] + sums
        return result


#: Most steps, and most that begin in single precision.
MAX_STEPS, MAX_ROUGH_STEPS = 100, 50
#: Share of the way to the boundary that a step takes.
STEP_SHARE = 0.995
#: Distances of a start from its bounds.
ASIDE, SHRUNK, MIN_DISTANCE = 0.05, 1.1, 0.1
#: The method goes on in double precision, or stops there, at a step shorter than this,
MIN_STEP = 1e-10
#: or after MAX_STALLED_STEPS steps in a row that leave more than the share STALLED_SHARE of the
#: error, once the gap or the whole error is below LATE_GAP (before, the error may stay constant for
#: long).
MAX_STALLED_STEPS, STALLED_SHARE, LATE_GAP = 10, 0.99, 1e-3

Vectors = Sequence[FloatArray]


@dataclass(frozen=True, eq=False)
class CappedSolution:
    """The last point of the interior-point method: α within (0, u), λ > 0, and the steps.

    The gap is |Σλ + uᵀξ − Σα| as a share of the larger one; ``converged`` if it and the
    infeasibility are at most the tolerance.
    """

    alpha: FloatArray
    multipliers: FloatArray
    gap: float
    iterations: int
    converged: bool


def solve_capped_lp(
    A: NDArray[Any],
    u: FloatArray,
    shift: float = 0.0,
    tol: float = 1e-8,
    start: tuple[FloatArray, FloatArray] | None = None,
    deadline: Deadline = UNLIMITED,
) -> CappedSolution:
    """Solve max Σ_i α_i with (A + shift)ᵀα ≤ 1, 0 ≤ α ≤ u; return the best point reached.

    A (n, k) is of any real dtype; bytes save memory.  u is positive, or infinite for all rows: then
    there must be a λ ≥ 0 with (A + shift)λ > 0, which a sufficiently large shift ensures.  ``tol``
    limits the relative gap and the relative infeasibility; ``start`` has nonnegative α and λ of a
    similar program.  A step that is not finished at the deadline is discarded.

    A step costs O(n·k²), and 10 to 30 steps are typical.  If few entries of A are nonzero, k² is
    replaced by the mean square of their number in a row.
    """
    best, rough = (np.inf, np.inf), tol >= MIN_FLOAT32_TOL
    with one_thread():
        state = _State(ConstraintMatrix(A, shift, rough, deadline), u, start)
        point, since, steps, length = (state.primal, state.dual), 0, 0, 1.0
        began, seconds = Deadline.clock(), 0.0
        while True:
            gap = state.gap
            error = max(gap, state.infeasibility)
            if error < best[0]:
                late = min(error, gap) < LATE_GAP and error > STALLED_SHARE * best[0]
                since = since + 1 if late else 0
                best, point = (error, gap), (state.primal, state.dual)
            else:
                since += min(error, gap) < LATE_GAP
            if error <= tol or steps == MAX_STEPS or deadline.over(seconds):
                break
            stalled = since == MAX_STALLED_STEPS or length < MIN_STEP or not np.isfinite(error)
            if rough and (stalled or steps == MAX_ROUGH_STEPS):
                rough, since = False, 0
                state.matrix = ConstraintMatrix(A, shift, rough, deadline)
                state.move(*point)
            elif stalled:
                break
            try:
                length = state.step(deadline)
            except TimeIsOver:
                break
            steps += 1
            seconds, began = Deadline.clock() - began, Deadline.clock()
    (alpha, *_), (*_, multipliers) = point
    return CappedSolution(alpha, multipliers, best[1], steps, best[0] <= tol)


class _State:
    """Three pairs of positive vectors whose products vanish at the optimum.

    They are (α, z), z the dual slack; (β, ξ) with β = u − α; and (s, λ) with s = 1 − Aᵀα.  Without
    caps β stays 1 and ξ stays 0.
    """

    def __init__(
        self, matrix: ConstraintMatrix, u: FloatArray, start: tuple[FloatArray, FloatArray] | None
    ) -> None:
        self.matrix = matrix
        n, k = matrix.shape
        self.capped = bool(np.isfinite(u).all())
        self.u = u if self.capped else np.zeros(n)
        largest = max(float(matrix.sizes().max(initial=0.0)), 1e-12)
        alpha, lam = np.full(n, 0.5 / largest), np.full(k, 1.0 / k)
        if start is not None and start[1].sum() > 0 and start[0].sum() > 0:
            paid = float(matrix.transposed(start[0]).max())
            alpha = start[0] / (SHRUNK * max(paid, 1.0)) + MIN_DISTANCE * start[0].mean()
            lam = start[1] + MIN_DISTANCE * start[1].mean()
        alpha = np.clip(alpha, 0.0, 0.98 * u) if self.capped else alpha
        beta = self.u - alpha if self.capped else np.ones(n)
        s = np.maximum(1.0 - matrix.transposed(alpha), 0.1)
        margins = matrix.product(lam)
        if start is None:
            scale = max(float(np.abs(margins).mean()), 1e-3)
            lam, margins = lam / scale, margins / scale
        xi = np.maximum(1.0 - margins, 0.0) + ASIDE if self.capped else np.zeros(n)
        z = np.maximum(margins - 1.0, 0.0) + ASIDE
        self.move((alpha, beta, s), (z, xi, lam))

    def move(self, primal: Vectors, dual: Vectors) -> None:
        """Move to a point and compute the scaled residuals of the equations."""
        self.primal, self.dual = primal, dual
        (self.alpha, beta, s), (z, xi, self.lam) = primal, dual
        r_dual = 1.0 - self.matrix.product(self.lam) - xi + z
        r_cap = self.capped * (self.u - self.alpha - beta)
        r_primal = 1.0 - self.matrix.transposed(self.alpha) - s
        self.residuals = r_dual, r_cap, r_primal
        sizes = [float(np.abs(r).max()) for r in self.residuals]
        self.infeasibility = max(sizes[0], sizes[1] / max(float(self.u.max()), 1.0), sizes[2])
        # the relative difference of the two objectives
        below = float(self.alpha.sum())
        above = float(self.lam.sum()) + float(self.u @ xi)
        self.gap = abs(above - below) / max(above, below)

    def step(self, deadline: Deadline) -> float:
        """Take Mehrotra's predictor and corrector step; return its length."""
        from scipy.linalg import cho_solve

        (alpha, beta, s), (z, xi, lam) = self.primal, self.dual
        r_dual, r_cap, r_primal = self.residuals
        D = z / alpha + xi / beta
        matrix = self.matrix.normal(1.0 / D, deadline)
        matrix.flat[:: len(matrix) + 1] += s / lam
        unit = 1.0 / np.sqrt(matrix.diagonal())  # a diagonal of ones improves the conditioning
        matrix *= unit * unit[:, None]
        factor = _factor(matrix, self.matrix.rounding)

        def direction(wanted: Vectors) -> tuple[Vectors, Vectors]:
            """Return the Newton step for these changes of the products of the pairs."""
            az, bx, sl = wanted
            h = r_dual - (bx - xi * r_cap) / beta + az / alpha
            d_alpha, d_s, d_lam = h / D, sl / lam, np.zeros(len(lam))
            for _ in range(self.matrix.solves):
                right = self.matrix.transposed(d_alpha) + d_s - r_primal
                d_lam += unit * cho_solve(factor, unit * right, check_finite=False)
                d_alpha = (h - self.matrix.product(d_lam)) / D
                d_s = (sl - s * d_lam) / lam
            d_beta = self.capped * (r_cap - d_alpha)
            d_z = (az - z * d_alpha) / alpha
            return (d_alpha, d_beta, d_s), (d_z, (bx - xi * d_beta) / beta, d_lam)

        products = [x * y for x, y in zip(self.primal, self.dual, strict=True)]
        count = len(alpha) * (1 + self.capped) + len(s)
        dx, dy = direction([-product for product in products])
        ahead = zip(_moved(self.primal, dx), _moved(self.dual, dy), strict=True)
        now = sum(float(product.sum()) for product in products) / count
        after = sum(float(x @ y) for x, y in ahead) / count
        target = now * (after / now) ** 3
        parts = zip((1.0, self.capped, 1.0), products, dx, dy, strict=True)
        dx, dy = direction([on * (target - product - a * b) for on, product, a, b in parts])
        lengths = [
            min(1.0, STEP_SHARE * _longest(*way)) for way in ((self.primal, dx), (self.dual, dy))
        ]
        self.move(_moved(self.primal, dx, lengths[0]), _moved(self.dual, dy, lengths[1]))
        return max(lengths)


def _moved(values: Vectors, changes: Vectors, length: float | None = None) -> Vectors:
    """Return values after a step, by default the longest that keeps them nonnegative."""
    length = _longest(values, changes) if length is None else length
    return [value + length * change for value, change in zip(values, changes, strict=True)]


def _longest(values: Vectors, changes: Vectors) -> float:
    """Return the longest step that keeps all values nonnegative, at most 1/STEP_SHARE."""
    longest = 1.0 / STEP_SHARE
    for value, change in zip(values, changes, strict=True):
        falling = change < 0
        if falling.any():
            longest = min(longest, float((value[falling] / -change[falling]).min()))
    return longest


def _factor(matrix: FloatArray, rounding: float) -> Any:
    """Return the Cholesky factor of a matrix with unit diagonal and this error of its entries."""
    from scipy.linalg import LinAlgError, cho_factor

    while True:
        matrix.flat[:: len(matrix) + 1] += rounding
        try:
            return cho_factor(matrix, check_finite=False)
        except LinAlgError:  # more columns than the error of one entry allows for
            rounding *= 10
