"""Support vector machines for any kernel, by decomposition of the dual, without a Gram matrix.

One problem covers classification, regression and the one-class machine:

    min  ½ βᵀKβ − pᵀβ + ε‖β‖₁   over   l ≤ β ≤ u,  Σ_i β_i = r.

Its dual, with f(x) = Σ_i β_i K(x_i, x) and an intercept b, minimises ½‖f‖² + Σ_i ξ_i + r·b, where
ξ_i = max_{l_i ≤ t ≤ u_i} t·(p_i − f(x_i) − b) − ε|t| is the loss of row i.  Any b gives an upper
bound on the negative of the first; the best b is a breakpoint of a piecewise linear function.

The gradient of all rows is kept.  A small problem, whose matrix is held in memory, consists of the
rows whose slopes violate optimality most, and rows of the last small problem that are inside their
boxes.  Its solution changes the gradient by a weighted sum of rows of K, which are computed for it
and dropped.  Rows at an end of their box that no small step would move are left out until the
others are solved.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.backends.block_writers import rows_of
from formulakern.backends.tables import BlockWriter
from formulakern.compilation import compiled
from formulakern.encoding.packed import PackedTable
from formulakern.errors import DataError
from formulakern.gram.matrix import work_off
from formulakern.interrupts import held, interruptible
from formulakern.kernels.algebra import Kernel
from formulakern.solvers.solution import share_done

Rows = npt.NDArray[np.intp]
#: Called with the completed share and the relative duality gap.
Progress = Callable[[float, float], None]

#: A tile of kernel values that stays in the second-level cache: 64 rows, 4,096 columns.
TILE_ROWS, TILE_COLUMNS = 64, 4096
#: Matrices of kernels of rows that are not packed may take this share of the free memory:
#: their values cost a hundred times more.
SLOW_MEMORY_SHARE = 0.5
#: Rows of a small problem; rows if many of them are inside their boxes; rows of a direct solution.
MAX_SMALL_ROWS, MAX_INSIDE_ROWS, MAX_DIRECT_ROWS = 2048, 3072, 2048
#: A small problem is solved until its slopes differ by this share of the initial difference.
SMALL_GAP_SHARE = 0.2
#: A direct solution begins with this multiple of its tolerance, and divides it until the gap is
#: small enough.
TOLERANCE_STEP = 3.0
#: The largest share of a small problem that rows of the last one may take.
MAX_KEPT_SHARE = 0.5
#: Steps of one small problem per row.
SMALL_STEPS_PER_ROW = 500
#: Default limit of all steps: the larger of a constant and a number per row.
MAX_STEPS, STEPS_PER_ROW = 10_000_000, 100
#: Small problems between two computations of the gap; a small gap is computed after each one.
CHECK_INTERVAL = 5
#: Problems of more rows begin with the solution of a sample of 1/SAMPLE_DIVISOR of them, to this
#: gap.
MIN_SAMPLED_ROWS, SAMPLE_DIVISOR, SAMPLE_GAP = 16_000, 8, 0.05
#: A sample with a larger share of its support vectors inside their boxes is not used.
MAX_INSIDE_SHARE = 0.6
#: Rows are left out below this relative gap, if at most this share of the rows remains.
SHRINK_GAP, MAX_STAYING_SHARE = 0.2, 0.7
#: Slopes that differ by less, as a share of the largest, differ by rounding.
ROUNDING = 1e-13
#: Decisions nearer to 0, in units of the margin, do not count for ``varies_``.
MIN_DECISION = 1e-6
#: The least curvature along a pair, as a share of the largest K(x, x).
MIN_CURVATURE_SHARE = 1e-12


# -- rows of K -------------------------------------------------------------------------------------


@compiled("void(float64[:, ::1], float64[:, ::1], float64[:, ::1])")
def _add_weighted(tile: Any, weights: Any, out: Any) -> None:
    """Add ``Σ_r weights[c, r]·tile[r, j]`` to ``out[c, j]``, in the order of the rows."""
    for c in range(len(weights)):
        sums = out[c]
        for r in range(weights.shape[1]):
            weight, values = weights[c, r], tile[r]
            if weight != 0.0:
                for j in range(len(sums)):
                    sums[j] += weight * values[j]


class KernelRows:
    """The rows of K between all rows of a table, computed on demand and used at once.

    Products are sums in the order of the rows for any number of threads: the same to the last bit
    on every machine with the same compiled code.  A matrix of at most ``memory`` megabytes is
    computed once and held; ``gram`` is the matrix if it is known, without a kernel.
    """

    def __init__(
        self, kernel: Any, rows: Any, memory: float = 0.0, gram: FloatArray | None = None
    ) -> None:
        self.kernel, self.rows = kernel, rows
        self.held = gram is not None or 8e-6 * float(rows.n_rows) ** 2 <= memory
        if gram is not None:
            self.__dict__["gram"] = gram

    def __len__(self) -> int:
        return int(self.rows.n_rows)

    @cached_property
    def gram(self) -> FloatArray:
        """The whole matrix."""
        return np.ascontiguousarray(self.kernel(self.rows))

    @cached_property
    def _fill(self) -> BlockWriter:
        fill: BlockWriter = self.kernel.prepare(self.kernel.read(self.rows))
        return fill

    def take(self, rows: Rows, memory: float = 0.0) -> KernelRows:
        """Return the rows of K between some of the rows; of a known matrix a part."""
        known = "gram" in self.__dict__
        part = self.gram[np.ix_(rows, rows)] if known else None
        return KernelRows(self.kernel, self.rows.take(rows), memory, part)

    def block(self, rows: Rows) -> FloatArray:
        """Return K between these rows, ascending: float64 (q, q), to be read only."""
        if not self.held:
            return np.ascontiguousarray(self.kernel(self.rows.take(rows)))
        if len(rows) == len(self):  # all rows, in order
            return self.gram
        return np.ascontiguousarray(self.gram[np.ix_(rows, rows)])

    def product(self, rows: Rows, weights: FloatArray) -> FloatArray:
        """Return Σ_i w_i·K(row i, ·) over these rows, ascending, for every row: float64 (n,)."""
        if not len(rows):
            return np.zeros(len(self))
        if self.held:
            gram = self.gram if len(rows) == len(self) else self.gram[rows]
            return np.asarray(weights @ gram)
        found = _weighted_sums(rows_of(self._fill, rows), weights[None], len(self))
        return np.asarray(found[0])


def expansion_values(kernel: Kernel, x: Any, z: Any, weights: FloatArray) -> FloatArray:
    """Return Σ_i w_i·K(x_i, z_j) for every row of z and all weights (k, m): float64 (rows of z, k).

    The sums are in the order of x, so the values of a row of z do not depend on its other rows.
    """
    x = x.take(np.arange(x.n_rows))  # its memory may be read-only
    return _weighted_sums(kernel.prepare(kernel.read(x, z)), weights, z.n_rows).T


def _weighted_sums(fill: BlockWriter, weights: FloatArray, n: int) -> FloatArray:
    """Return W·K, tile by tile, for weights (k, m) and K with n columns: float64 (k, n)."""
    sets, m = weights.shape
    out = np.zeros((sets, n))

    def one(_: slice, columns: slice) -> None:
        width = columns.stop - columns.start
        tile, sums = np.empty((TILE_ROWS, width)), np.zeros((sets, width))
        for start in range(0, m, TILE_ROWS):
            stop = min(start + TILE_ROWS, m)
            fill(slice(start, stop), columns, tile[: stop - start])
            _add_weighted(tile, weights[:, start:stop].copy(), sums)
        out[:, columns] = sums

    work_off(
        [
            (slice(0, m), slice(start, min(start + TILE_COLUMNS, n)))
            for start in range(0, n, TILE_COLUMNS)
        ],
        one,
    )
    return out


def memory_for(rows: Any, memory: float, matrices: int = 1) -> float:
    """Return the megabytes for one of several Gram matrices: more memory if K is slow."""
    if isinstance(rows, PackedTable):
        return memory
    import psutil  # loaded only for these kernels

    free = float(psutil.virtual_memory().available)
    return max(memory, SLOW_MEMORY_SHARE * free / 1e6 / matrices)


# -- the problem -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Values:
    """Both objectives at a point, with the intercept of the least primal value.

    ``dual`` is pᵀβ − ½βᵀKβ − ε‖β‖₁, and ``primal`` is ½‖f‖² + Σ ξ_i + r·b of f or a multiple of it;
    the optimum is between them.
    """

    dual: float
    primal: float
    intercept: float

    @property
    def gap(self) -> float:
        """(primal − dual) / max(|primal|, |dual|), the relative duality gap; at least 0."""
        scale = max(abs(self.primal), abs(self.dual))
        return float(max(self.primal - self.dual, 0.0) / scale) if scale > 0 else 0.0


@dataclass(frozen=True, eq=False)
class BoxProblem:
    """The problem min ½βᵀKβ − pᵀβ + ε‖β‖₁ over l ≤ β ≤ u, Σβ = r, with l ≤ 0 ≤ u and ε ≥ 0."""

    linear: FloatArray
    lower: FloatArray
    upper: FloatArray
    total: float = 0.0
    epsilon: float = 0.0

    def __len__(self) -> int:
        return len(self.linear)

    def values(self, beta: FloatArray, products: FloatArray) -> Values:
        """Return the objectives at β, given Kβ, by one sort of at most 2n breakpoints.

        Examples
        --------
        Two rows of different classes with K the identity: β = (1, −1) is optimal.

        >>> problem = classification(np.array([1.0, -1.0]), np.array([5.0, 5.0]))
        >>> beta = np.array([1.0, -1.0])
        >>> problem.values(beta, beta)
        Values(dual=1.0, primal=1.0, intercept=0.0)
        """
        square = float(beta @ products)
        dual = float(self.linear @ beta) - square / 2 - self.epsilon * float(np.abs(beta).sum())
        residual = self.linear - products
        intercept = self.best_intercept(residual)
        losses, largest = self._losses(residual - intercept)
        primal = square / 2 + losses + self.total * intercept
        most = float(np.abs(self.linear).max(initial=0.0))
        if 0 < largest < most / 10:  # a multiple of f and b may have no losses, which avoids
            scale = 1 / (1 - largest / most)  # rounding errors at a large C
            losses, _ = self._losses(self.linear - scale * (products + intercept))
            scaled = scale**2 * square / 2 + losses + scale * self.total * intercept
            primal = min(primal, scaled)
        return Values(dual, primal, intercept)

    def _losses(self, errors: FloatArray) -> tuple[float, float]:
        """Return Σ ξ_i for the errors p − f − b, and the largest error of a row with a loss."""
        above = np.where(self.upper > 0, errors - self.epsilon, 0.0)
        below = np.where(self.lower < 0, -errors - self.epsilon, 0.0)
        losses = np.maximum(self.upper * above, -self.lower * below)
        losses = np.maximum(losses, 0.0)
        return float(losses.sum()), float(np.maximum(above, below).max(initial=0.0))

    def best_intercept(self, residual: FloatArray) -> float:
        """Return argmin_b Σ ξ_i + r·b: slopes rise by u at residual − ε, by −l at residual + ε."""
        rising, falling = self.upper > 0, self.lower < 0
        points = np.concatenate([residual[rising] - self.epsilon, residual[falling] + self.epsilon])
        jumps = np.concatenate([self.upper[rising], -self.lower[falling]])
        if not len(points):
            return 0.0
        order = np.argsort(points, kind="stable")
        points, jumps = points[order], jumps[order]
        slopes = np.cumsum(jumps) - float(self.upper.sum()) + self.total
        rounding = 1e-14 * float(jumps.sum()) * len(points) ** 0.5
        place = min(int(np.searchsorted(slopes, -rounding)), len(points) - 1)
        flat = abs(slopes[place]) <= rounding and place + 1 < len(points)
        return float((points[place] + points[place + 1]) / 2 if flat else points[place])

    def take(self, rows: Rows | slice, scale: float = 1.0) -> Self:
        """Return the problem of these rows alone, with boxes times ``scale``."""
        lower, upper = self.lower[rows] * scale, self.upper[rows] * scale
        return replace(self, linear=self.linear[rows], lower=lower, upper=upper)

    def start(self) -> FloatArray:
        """Return a point with Σβ = r: 0, or the upper bounds one after the other until r."""
        room = self.upper if self.total > 0 else self.lower
        reached = np.concatenate([[0.0], np.cumsum(np.abs(room))])
        want, most = abs(self.total), float(reached[-1])
        if want > most * (1 + 1e-12):
            raise DataError(
                f"the coefficients of {len(self):,} rows add up to at most {most:.4g}, but the "
                f"problem requires {want:.4g}. Pass more rows."
            )
        return np.asarray(np.sign(room) * np.clip(want - reached[:-1], 0.0, np.abs(room)))

    def balanced(self, beta: FloatArray, order: Rows) -> FloatArray:
        """Return β with Σβ = r: set excess coefficients to 0 in this order."""
        beta = beta.copy()
        excess = float(beta.sum()) - self.total
        side = order[beta[order] * np.sign(excess) > 0]
        given = np.cumsum(np.abs(beta[side]))
        last = int(np.searchsorted(given, abs(excess)))
        beta[side[:last]] = 0.0
        if last < len(side):
            rest = abs(excess) - (given[last - 1] if last else 0.0)
            beta[side[last]] -= np.sign(excess) * rest
        return beta


def classification(signs: FloatArray, boxes: FloatArray) -> BoxProblem:
    """Return the C-SVM of classes 1 and −1: β_i = y_i α_i with 0 ≤ α_i ≤ C_i, and hinge losses."""
    positive = signs > 0
    lower, upper = np.where(positive, 0.0, -boxes), np.where(positive, boxes, 0.0)
    return BoxProblem(np.asarray(signs, dtype=np.float64), lower, upper)


def regression(targets: FloatArray, boxes: FloatArray, epsilon: float) -> BoxProblem:
    """Return the ε-SVM: |β_i| ≤ C_i, and losses C_i·max(0, |y_i − f − b| − ε)."""
    return BoxProblem(np.asarray(targets, dtype=np.float64), -boxes, boxes, 0.0, epsilon)


def novelty(boxes: FloatArray, total: float) -> BoxProblem:
    """Return the one-class SVM: 0 ≤ β_i ≤ u_i with Σβ = r; b is minus the offset ρ."""
    return BoxProblem(np.zeros(len(boxes)), np.zeros(len(boxes)), boxes, total)


@dataclass(frozen=True)
class Limits:
    """The limits of a solution: the relative duality gap, pair steps in all, seconds.

    A negative number of steps is 10 million, or 100 for each row if that is more, as in LIBSVM.
    """

    tol: float = 1e-3
    max_iter: int = -1
    seconds: float = math.inf


@dataclass(frozen=True, eq=False)
class DualSolution:
    """An approximate solution β with Kβ, its objectives, and the number of pair steps.

    ``stopped`` is "optimal", "max_iter", "time_limit", "interrupted" or "stalled", and ``history``
    has (seconds, gap, dual, primal).
    """

    beta: FloatArray
    products: FloatArray
    values: Values
    iterations: int
    stopped: str
    history: tuple[tuple[float, float, float, float], ...]

    @property
    def gap(self) -> float:
        """The relative duality gap."""
        return self.values.gap


@dataclass(frozen=True, eq=False)
class MachineProblem:
    """The problem of a kernel on rows with equal rows merged, which may be solved several times.

    Rows with equal entries and equal p are one row with the sum of their boxes.  The optimum is
    unchanged: equal rows have equal K and f, so only the sum of their coefficients matters.  Rows
    of tables that are not packed are not merged.
    """

    whole: BoxProblem
    merged: BoxProblem
    kind: Rows
    rows: KernelRows

    @classmethod
    def of(cls, problem: BoxProblem, rows: KernelRows, memory: float = 0.0) -> Self:
        """Merge equal rows; hold a matrix of K of at most ``memory`` megabytes.

        Examples
        --------
        >>> import formulakern as fk
        >>> from formulakern.encoding.strict import read_packed
        >>> rows = KernelRows(fk.kernel("a"), read_packed([[1, 0], [0, 1], [1, 0]]))
        >>> box = classification(np.array([1.0, -1.0, 1.0]), np.full(3, 5.0))
        >>> beta, solution = MachineProblem.of(box, rows).solve(Limits())
        >>> beta, solution.values.intercept
        (array([ 0.5, -1. ,  0.5]), 0.0)
        """
        everything, table = np.arange(len(problem)), rows.rows
        if not isinstance(table, PackedTable):
            if not rows.held:
                rows = KernelRows(rows.kernel, table, memory_for(table, memory))
            return cls(problem, problem, everything, rows)
        _, target = np.unique(problem.linear, return_inverse=True)
        keys = table.distinct()[1] * (int(target.max(initial=0)) + 1) + target
        _, first, kind = np.unique(keys, return_index=True, return_inverse=True)
        if len(first) == len(problem):
            return cls(problem, problem, everything, rows)
        boxes = np.array([np.bincount(kind, box) for box in (problem.lower, problem.upper)])
        merged = replace(problem, linear=problem.linear[first], lower=boxes[0], upper=boxes[1])
        return cls(problem, merged, kind.astype(np.intp), rows.take(first, memory))

    def solve(
        self,
        limits: Limits,
        *,
        factor: float = 1.0,
        near: DualSolution | None = None,
        nearer: float = 1.0,
        progress: Progress | None = None,
    ) -> tuple[FloatArray, DualSolution]:
        """Return the coefficients of all rows, and the solution of the merged problem.

        Boxes are multiplied by ``factor``.  The solver begins with the coefficients of ``near``, a
        solution for other boxes, times ``nearer``, which scales them into the new boxes.
        """
        problem = self.merged.take(slice(None), factor)
        start = None if near is None else (near.beta * nearer, near.products * nearer)
        solution = solve_dual(problem, self.rows, limits, start, progress)
        return self._expanded(solution.beta / factor) * factor, solution

    def _expanded(self, beta: FloatArray) -> FloatArray:
        """Give each row the same share of its box as its merged row."""
        room = np.where(beta > 0, self.merged.upper, self.merged.lower)
        share = np.divide(beta, room, out=np.zeros_like(beta), where=room != 0)[self.kind]
        own = np.where(share * room[self.kind] > 0, self.whole.upper, self.whole.lower)
        return np.asarray(share * own)


# -- pairs of classes ------------------------------------------------------------------------------


@dataclass(eq=False)
class PairwiseModel:
    """Machines for all pairs of classes, in the layout of :class:`sklearn.svm.SVC`.

    ``dual_coef_`` has β of the support vectors: for a vector of class i, β against class j is in
    row j − 1 if i < j, otherwise in row j.  ``gaps_`` are the relative duality gaps of the pairs,
    ``stopped_`` is "optimal" or the reason that ended one of the solutions, ``history_`` (seconds,
    gap, dual, primal) belongs to the first pair, and ``shape_fit_`` is the shape of the training
    table.  ``varies_`` is True if there are two classes and both are predicted for training rows.
    """

    classes_: npt.NDArray[Any]
    support_: Rows
    n_support_: npt.NDArray[np.int32]
    dual_coef_: FloatArray
    intercept_: FloatArray
    n_iter_: npt.NDArray[np.int32]
    gaps_: FloatArray
    stopped_: str
    history_: tuple[tuple[float, float, float, float], ...]
    shape_fit_: tuple[int, int]
    varies_: bool


@dataclass(frozen=True, eq=False)
class PairwiseProblem:
    """The problems of all pairs of classes, which may be solved several times."""

    labels: npt.NDArray[Any]
    classes: npt.NDArray[Any]
    shape: tuple[int, int]
    pairs: tuple[tuple[Rows, MachineProblem], ...]

    @classmethod
    def of(
        cls, rows: KernelRows, classes: npt.NDArray[Any], boxes: FloatArray, memory: float = 0.0
    ) -> Self:
        """Prepare the problems of rows with C ``boxes``; rows with C = 0 are left out."""
        used = np.flatnonzero(boxes > 0)
        labels, codes = np.unique(classes[used], return_inverse=True)
        pairs = []
        for i, j in combinations(range(len(labels)), 2):
            chosen = used[(codes == i) | (codes == j)]
            positive = labels[1] if len(labels) == 2 else labels[i]  # as in scikit-learn
            signs = np.where(classes[chosen] == positive, 1.0, -1.0)
            part = rows if len(chosen) == len(rows) else rows.take(chosen, memory)
            problem = classification(signs, boxes[chosen])
            pairs.append((chosen, MachineProblem.of(problem, part, memory)))
        return cls(labels, classes, (len(rows), rows.rows.n_columns), tuple(pairs))

    def solve(
        self,
        limits: Limits,
        *,
        factor: float = 1.0,
        near: Sequence[DualSolution] | None = None,
        nearer: float = 1.0,
        progress: Progress | None = None,
    ) -> tuple[PairwiseModel, list[DualSolution]]:
        """Solve every pair of classes like :meth:`MachineProblem.solve`, within the seconds."""
        began, number = time.monotonic(), len(self.pairs)
        coefficients = np.zeros((len(self.labels) - 1, len(self.classes)))
        found: list[DualSolution] = []
        for done, (i, j) in enumerate(combinations(range(len(self.labels)), 2)):
            rows, problem = self.pairs[done]
            left = (limits.seconds - (time.monotonic() - began)) / (number - done)

            def step(share: float, gap: float, done: int = done) -> None:
                if progress is not None:
                    progress((done + share) / number, gap)

            beta, solution = problem.solve(
                replace(limits, seconds=max(left, 0.0)),
                factor=factor,
                near=None if near is None else near[done],
                nearer=nearer,
                progress=step,
            )
            found.append(solution)
            for own, row in ((i, j - 1), (j, i)):
                of_class = self.classes[rows] == self.labels[own]
                coefficients[row, rows[of_class]] = beta[of_class]
            if solution.stopped == "interrupted" and done + 1 < number:
                raise KeyboardInterrupt
        used = np.flatnonzero((coefficients != 0).any(axis=0))
        of_class = np.searchsorted(self.labels, self.classes[used])
        support = used[np.argsort(of_class, kind="stable")]
        first = found[0].products + found[0].values.intercept
        model = PairwiseModel(
            self.labels,
            support,
            np.bincount(of_class, minlength=len(self.labels)).astype(np.int32),
            np.ascontiguousarray(coefficients[:, support]),
            np.array([solution.values.intercept for solution in found]),
            np.array([solution.iterations for solution in found], dtype=np.int32),
            np.array([solution.gap for solution in found]),
            next((one.stopped for one in found if one.stopped != "optimal"), "optimal"),
            found[0].history,
            self.shape,
            number == 1 and bool(first.min() < -MIN_DECISION and first.max() > MIN_DECISION),
        )
        return model, found


def pair_weights(svc: Any) -> list[tuple[Any, Any, FloatArray]]:
    """Return (class, other class, α_i y_i of the support vectors) of each pair of a PairwiseModel.

    Positive weights vote for the first class.  The support vectors are ordered by class, as in
    scikit-learn's SVC.
    """
    classes, coefficients = svc.classes_.tolist(), np.asarray(svc.dual_coef_)
    if len(classes) == 2:
        return [(classes[1], classes[0], coefficients[0])]
    owner = np.repeat(np.arange(len(classes)), svc.n_support_)
    return [
        (
            classes[i],
            classes[j],
            np.where(owner == i, coefficients[j - 1], np.where(owner == j, coefficients[i], 0.0)),
        )
        for i, j in combinations(range(len(classes)), 2)
    ]


def pairwise_votes(values: FloatArray, n_classes: int) -> tuple[FloatArray, FloatArray]:
    """Return the votes for each class, and the votes with ties broken by sums of decisions.

    A decision in ``values``, (rows, pairs), votes for the first class of its pair if it is
    positive.  The sums are scaled to between −⅓ and ⅓.

    >>> votes, decisions = pairwise_votes(np.array([[1.0, 1.0, -1.0]]), 3)
    >>> votes, decisions.round(2)
    (array([[2., 0., 1.]]), array([[ 2.22, -0.22,  1.  ]]))
    """
    votes, sums = np.zeros((2, len(values), n_classes))
    for (i, j), value in zip(combinations(range(n_classes), 2), values.T, strict=True):
        votes[:, i] += value > 0
        votes[:, j] += value <= 0
        sums[:, i] += value
        sums[:, j] -= value
    return votes, np.asarray(votes + sums / (3 * (np.abs(sums) + 1)))


# -- the solver ------------------------------------------------------------------------------------


def solve_dual(
    problem: BoxProblem,
    rows: KernelRows,
    limits: Limits,
    start: tuple[FloatArray, FloatArray] | None = None,
    progress: Progress | None = None,
) -> DualSolution:
    """Solve the dual problem to a relative duality gap.

    ``start`` is β of a similar problem, which is moved into the box, and Kβ.  Raises DataError if K
    has values that are not finite, and KeyboardInterrupt before the first coefficients are known; a
    later interrupt ends the work.

    References
    ----------
    E. Osuna, R. Freund, F. Girosi, "An improved training algorithm for support vector machines",
    1997, doi:10.1109/NNSP.1997.622408 (decomposition); T. Joachims, "Making large-scale SVM
    learning practical", 1999 (leaving out rows for a time); R.-E. Fan, P.-H. Chen, C.-J. Lin,
    JMLR 6:1889–1918, 2005.
    """
    whole, run = SubProblem.of(problem, rows), Descent(len(problem), limits, progress)
    run.solve(whole, start)
    assert whole.values is not None
    stopped, history = run.stopped or "optimal", tuple(run.history)
    return DualSolution(whole.beta, whole.products, whole.values, run.iterations, stopped, history)


class Descent:
    """One run of the solver: its limits and its progress."""

    def __init__(self, n: int, limits: Limits, progress: Progress | None) -> None:
        self.limits, self.progress = limits, progress
        self.most = limits.max_iter if limits.max_iter >= 0 else max(MAX_STEPS, n * STEPS_PER_ROW)
        self.started = time.monotonic()
        self.iterations, self.stopped = 0, ""
        self.history: list[tuple[float, float, float, float]] = []

    def solve(self, whole: SubProblem, start: tuple[FloatArray, FloatArray] | None = None) -> None:
        """Solve to the gap of the limits; an interrupt after the first coefficients ends it."""
        try:
            with interruptible():
                if start is not None:
                    whole.begin_near(*start)
                else:
                    self.begin(whole)
                self.note(whole)
                self.descend(whole, 0.0)
        except KeyboardInterrupt:
            if whole.values is None:
                raise
            self.stopped = "interrupted"
            whole.look()

    def begin(self, whole: SubProblem) -> None:
        """Set the first coefficients; if there are many rows, from the solution of a sample."""
        n, problem = len(whole.problem), whole.problem
        if n <= MIN_SAMPLED_ROWS or problem.total or whole.rows.held:
            whole.set(problem.start())
            return
        chosen = np.sort(np.random.default_rng(0).permutation(n)[: n // SAMPLE_DIVISOR])
        scale = n / len(chosen)  # larger boxes keep the losses
        sample = SubProblem.of(problem.take(chosen, scale), whole.rows.take(chosen), chosen)
        tol, steps = (
            max(SAMPLE_GAP, self.limits.tol),
            self.steps_left(SMALL_STEPS_PER_ROW * MAX_INSIDE_ROWS),
        )
        run = Descent(len(chosen), Limits(tol, steps, self.seconds_left()), None)
        run.solve(sample)
        if run.stopped == "interrupted":  # the sample's solution is the best so far
            self.stopped = run.stopped
        self.iterations += run.iterations
        support, inside = int(np.count_nonzero(sample.beta)), int(sample.is_inside().sum())
        if not support or inside > MAX_INSIDE_SHARE * support:
            whole.set(problem.start())
        else:
            whole.begin_as(sample, scale)

    def descend(self, part: SubProblem, target: float) -> None:
        """Solve small problems until the gap is at most ``target``; 0 uses the relative tol."""
        whole, size, n = not target, MAX_SMALL_ROWS, len(part.problem)
        kept = np.empty(0, dtype=np.intp)  # rows of the last problem that are inside their boxes
        inner = float(np.abs(part.problem.linear).max(initial=0.0))
        inner *= TOLERANCE_STEP * self.limits.tol
        many = whole and n > MAX_DIRECT_ROWS
        values = part.values or part.look()
        while not self.ended(values, target):
            if many and values.gap < SHRINK_GAP and self.leave_out(part, values):
                values, kept = self.note(part), kept[:0]
                if self.ended(values, target):
                    return
            for _ in range(1 if values.gap < SHRINK_GAP or not whole else CHECK_INTERVAL):
                size = (
                    n
                    if n <= MAX_DIRECT_ROWS
                    else MAX_INSIDE_ROWS
                    if 2 * len(kept) > MAX_SMALL_ROWS
                    else size
                )
                rows, differ = part.violators(kept[: int(MAX_KEPT_SHARE * size)], size)
                few = None
                if differ > ROUNDING * (float(np.abs(part.products).max(initial=0.0)) + inner):
                    tolerance = (
                        min(inner, SMALL_GAP_SHARE * differ)
                        if n <= MAX_DIRECT_ROWS
                        else SMALL_GAP_SHARE * differ
                    )
                    few = self.solve_small(part, rows, tolerance)
                if few is None:  # below the rounding of β
                    self.stopped = self.stopped or ("stalled" if whole else "")
                    part.look()
                    return
                kept = few
                if len(rows) == n or self.over():
                    inner = min(inner, differ) / TOLERANCE_STEP
                    break
            values = self.note(part) if whole else part.look()

    def leave_out(self, part: SubProblem, values: Values) -> bool:
        """Solve for the rows near the margin alone; return False if they are too many."""
        few = part.near(MAX_STAYING_SHARE)
        if few is None:
            return False
        before = few.beta.copy()
        scale = max(abs(values.primal), abs(values.dual))
        try:
            self.descend(few, self.limits.tol * scale / 2)
        finally:
            part.move(few.origin, few.beta, before)
        return True

    def solve_small(self, part: SubProblem, rows: Rows, tolerance: float) -> Rows | None:
        """Minimise over some coefficients; return those inside their boxes, None if unchanged."""
        problem, gram, before = part.problem, part.rows.block(rows), part.beta[rows]
        if not np.isfinite(gram).all():
            raise DataError(
                "the kernel has values that are not finite on these rows. Use normalize=True, or a "
                "kernel of smaller degree."
            )
        beta, lower, upper = before.copy(), problem.lower[rows], problem.upper[rows]
        gradient = part.products[rows] - problem.linear[rows]
        most = self.steps_left(SMALL_STEPS_PER_ROW * len(rows))
        steps = descend_pairs(gram, gradient, beta, lower, upper, problem.epsilon, tolerance, most)
        part.move(rows, beta, before)
        self.iterations += int(steps)
        inside = (beta > lower) & (beta < upper) & (beta != 0.0)
        return rows[inside] if (beta != before).any() else None

    def note(self, part: SubProblem) -> Values:
        """Compute the gap of all rows, and report it."""
        values = part.look()
        seconds = time.monotonic() - self.started
        self.history.append((seconds, values.gap, values.dual, values.primal))
        if self.progress is not None:
            self.progress(share_done(1.0, values.gap, self.limits.tol), values.gap)
        return values

    def ended(self, values: Values, target: float) -> bool:
        """Return True if the gap or a limit is reached."""
        reached = values.gap <= self.limits.tol
        if target:
            reached = values.primal - values.dual <= target
        if not reached and self.over():
            self.stopped = "time_limit" if self.steps_left(1) else "max_iter"
        return reached or bool(self.stopped)

    def steps_left(self, most: int) -> int:
        """Return the number of remaining steps, at most ``most``."""
        return min(most, max(self.most - self.iterations, 0))

    def seconds_left(self) -> float:
        """Return the remaining seconds."""
        return self.limits.seconds - (time.monotonic() - self.started)

    def over(self) -> bool:
        """Return True if the time is over, or all steps are done."""
        return self.seconds_left() <= 0 or not self.steps_left(1)


@dataclass(eq=False)
class SubProblem:
    """Rows of a problem, at ``origin`` in the larger one, with β, Kβ and the last objectives."""

    problem: BoxProblem
    rows: KernelRows
    beta: FloatArray
    products: FloatArray
    origin: Rows
    values: Values | None = None

    @classmethod
    def of(cls, problem: BoxProblem, rows: KernelRows, origin: Rows | None = None) -> SubProblem:
        """Return the part of these rows, with coefficients 0."""
        n = len(problem)
        return cls(
            problem, rows, np.zeros(n), np.zeros(n), np.arange(n) if origin is None else origin
        )

    def set(self, beta: FloatArray) -> None:
        """Start with these coefficients."""
        support = np.flatnonzero(beta)
        self.products = self.rows.product(support, beta[support])
        self.beta = beta

    def begin_near(self, known: FloatArray, products: FloatArray) -> None:
        """Start with the coefficients of a similar problem, moved into the box, and their Kβ."""
        problem = self.problem
        moved = np.clip(known, problem.lower, problem.upper)
        if abs(moved.sum() - problem.total) > ROUNDING * float(np.abs(moved).sum()):
            room = np.minimum(moved - problem.lower, problem.upper - moved)
            moved = problem.balanced(moved, np.argsort(-room, kind="stable"))
        if abs(moved.sum() - problem.total) > 1e-9 * max(abs(problem.total), moved.max()):
            self.set(problem.start())
            return
        changed = np.flatnonzero(moved != known)
        change = self.rows.product(changed, (moved - known)[changed])
        self.beta, self.products = moved, products + change

    def begin_as(self, sample: SubProblem, scale: float) -> None:
        """Start from a sample's solution, with other rows at box ends according to margins."""
        assert sample.values is not None
        problem, support = self.problem, np.flatnonzero(sample.beta)
        products = self.rows.product(sample.origin[support], sample.beta[support])
        residual = problem.linear - (products + sample.values.intercept)
        above, below = residual - problem.epsilon, residual + problem.epsilon
        suggested = np.where(above > 0, problem.upper, np.where(below < 0, problem.lower, 0.0))
        inside = sample.is_inside()
        suggested[sample.origin[inside]] = sample.beta[inside] / scale
        violated = np.where(suggested > 0, above, -below)
        self.set(problem.balanced(suggested, np.argsort(violated, kind="stable")))

    def is_inside(self) -> npt.NDArray[np.bool_]:
        """Return True for coefficients that are neither 0 nor at an end of their box."""
        beta, problem = self.beta, self.problem
        return np.asarray((beta > problem.lower) & (beta < problem.upper) & (beta != 0.0))

    def look(self) -> Values:
        """Compute both objectives."""
        self.values = self.problem.values(self.beta, self.products)
        return self.values

    def slopes(self) -> tuple[FloatArray, FloatArray]:
        """Return the descent for a growing coefficient, and the ascent for a shrinking one.

        They are −∞ and ∞ if a coefficient cannot grow or shrink.  Since one coefficient grows when
        another shrinks, β is optimal if no first value exceeds any second one.
        """
        problem, beta, epsilon = self.problem, self.beta, self.problem.epsilon
        descent = problem.linear - self.products
        up = np.where(beta < problem.upper, descent, -np.inf)
        down = np.where(beta > problem.lower, descent, np.inf)
        if epsilon:
            up -= np.where(beta >= 0, epsilon, -epsilon)
            down -= np.where(beta > 0, epsilon, -epsilon)
        return up, down

    def violators(self, kept: Rows, size: int) -> tuple[Rows, float]:
        """Return ``size`` rows, ascending: ``kept``, and those that violate optimality most.

        Half of the latter should grow and half shrink.  The second value is the largest difference
        of slopes, which is at most 0 at the optimum.
        """
        up, down = self.slopes()
        most, least = float(up.max(initial=-np.inf)), float(down.min(initial=np.inf))
        if size >= len(up):
            return np.arange(len(up)), most - least
        up[kept], down[kept] = -np.inf, np.inf
        half = max((size - len(kept)) // 2, 1)
        grow = _largest(up, half)
        grow = grow[up[grow] > least]
        down[grow] = np.inf
        shrink = _largest(-down, half)
        shrink = shrink[down[shrink] < most]
        return np.sort(np.concatenate([grow, shrink, kept])), most - least

    def move(self, rows: Rows, beta: FloatArray, before: FloatArray) -> None:
        """Set the coefficients of some rows that differ from those before."""
        moved = np.flatnonzero(beta != before)
        rows, beta = rows[moved], beta[moved]
        products = self.products + self.rows.product(rows, beta - before[moved])
        with held():
            self.products = products
            self.beta[rows] = beta

    def near(self, most: float) -> SubProblem | None:
        """Return the problem of the rows near the margin, or None if they are too many or few."""
        up, down = self.slopes()
        flattest, steepest = float(down.min(initial=np.inf)), float(up.max(initial=-np.inf))
        near = np.flatnonzero((up >= flattest) | (down <= steepest))
        if len(near) > most * len(up) or len(near) < 2:
            return None
        beta, rows, problem = self.beta[near], self.rows.take(near), self.problem.take(near)
        support = np.flatnonzero(beta)
        own = rows.product(support, beta[support])
        problem = replace(
            problem,
            linear=problem.linear - (self.products[near] - own),
            total=problem.total - float(self.beta.sum() - beta.sum()),
        )
        return SubProblem(problem, rows, beta, own, near)


def _largest(values: FloatArray, k: int) -> Rows:
    """Return the positions of the k largest values."""
    if k >= len(values):
        return np.arange(len(values))
    return np.argpartition(-values, k - 1)[:k]


@compiled(
    "int64(float64[:, ::1], float64[::1], float64[::1], float64[::1], float64[::1], float64,"
    " float64, int64)",
    fastmath={"nnan", "nsz", "contract"},
)
def descend_pairs(
    gram: Any, gradient: Any, beta: Any, lower: Any, upper: Any, epsilon: Any, tol: Any, most: Any
) -> Any:
    """Minimise over a few coefficients, pair by pair, until no pair violates optimality by tol.

    ``gradient`` is Kβ − p of these rows, of all coefficients, and is kept up to date; ``beta`` is
    changed, with the same sum.  Returns the number of steps, at most ``most``.
    """
    n = len(gradient)
    diagonal = np.empty(n)
    for k in range(n):
        diagonal[k] = gram[k, k]
    least = MIN_CURVATURE_SHARE * diagonal.max()
    if least <= 0.0:
        least = MIN_CURVATURE_SHARE
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
