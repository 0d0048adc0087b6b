r"""Sparse weights under a norm with a corner per feature: coordinate descent in Newton steps.

For features φ_j, K functions, d_j > 0 and a convex loss,

    P = min over F, b of   ½ Ω(F)² + L(Σ_j φ_j F_j − b),    Ω(F) = Σ_j d_j ‖F_j‖,

F_j ∈ R^K with the Euclidean norm: a feature has a weight for every function, or for none.

*The lower bound.*  For β with sums of zero, g_j = Σ_i β_i φ_j(x_i), Fenchel's inequality gives

    P  ≥  L°(β) − ½ Ω*(g)²,    Ω*(g) = max_j ‖g_j‖ / d_j,

as for the hierarchical norm (:mod:`formulakern.solvers.hierarchical.solve`), so a bound on the sums
of missing features bounds the problem with all of them.

*The iteration.*  A Newton step minimises ½ Ω² and a quadratic with the slope and the curvature of
the loss, over the features that matter; its intercepts are eliminated.  Blocks of K weights are set
in turn: once a diagonal matrix bounds the curvature of a block, its best weights are known up to
their norm, the root of one equation.  The objective then determines the length of the step.  Later
steps and large similar problems use a curvature again until it has changed much, unless the loss is
a hinge.

*Many classes.*  For many classes and features the curvature of the multinomial loss is bounded by
the curvature of K separate functions, 2 c_i p_ik (1 − p_ik).  This needs less memory but more
steps.  After each of these steps the iteration goes on in the same direction, by Nesterov's growing
share of the step; the share starts again at its first value if the objective would rise.

References
----------
J. Friedman, T. Hastie, R. Tibshirani, "Regularization paths for generalized linear models via
coordinate descent", Journal of Statistical Software 33, 2010, doi:10.18637/jss.v033.i01.
M. Yuan, Y. Lin, "Model selection and estimation in regression with grouped variables", JRSS B 68,
2006, doi:10.1111/j.1467-9868.2005.00532.x.
B. O'Donoghue, E. Candès, "Adaptive restart for accelerated gradient schemes", Foundations of
Computational Mathematics 15, 2015, doi:10.1007/s10208-013-9150-3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, IntArray
from formulakern.compilation import compiled
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.solvers.blas import one_thread
from formulakern.solvers.hierarchical.losses import Expansion, Loss
from formulakern.solvers.hierarchical.newton import Columns
from formulakern.solvers.hierarchical.solve import relative_gap

#: Rounds of coordinate descent between linear systems, of both in a Newton step, and Newton steps.
SWEEPS, POLISH_ROUNDS, MAX_NEWTON_STEPS = 10, 20, 100
#: The curvature between functions is used for at most MAX_JOINT_WEIGHTS weights, and at most
#: MAX_JOINT_WORK as the square of their number times rows.
MAX_JOINT_WEIGHTS, MAX_JOINT_WORK = 600, 4e9
#: A step is exact to this share of the square of the gap: its slopes, to a thousandth of the gap;
#: a larger share if the curvature is a bound.
STEP_GAP_SHARE, BOUND_GAP_SHARE = 1e-6, 1e-4
#: The relative error of the norm of a block, and the largest number of steps to find it.
ROOT_TOL, MAX_ROOT_STEPS = 1e-12, 50
#: The smallest part of a step that is tried.
MIN_STEP = 2.0**-30
#: Features with sums below this share of the threshold for a weight are left out of a step.
MIN_THRESHOLD_SHARE = 0.9
#: The share of the gap that the smoothing of the hinge may cost.
SMOOTHING = 0.2
#: Curvatures are used again until this share of them has changed, unless the loss is a hinge or
#: there are fewer values of features.
MAX_CHANGE, MIN_KEPT_ENTRIES = 0.2, 1 << 19
#: Entries of the float64 block of columns that is multiplied at once.
BLOCK_ENTRIES = 1 << 22
#: The share of its curvature that is added to each feature's curvature, to keep divisions finite,
#: and a larger share for sums in float32.
RIDGE, ROUNDED = 1e-10, 1e-7


@compiled(
    *(
        f"float64({kind}[:, :, :, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1],"
        " float64[::1], float64[::1], int64[::1], int64, float64)"
        for kind in ("float64", "float32")
    )
)
def descend(
    gram: Any,
    bends: Any,
    weights: Any,
    slopes: Any,
    penalties: Any,
    norms: Any,
    signs: Any,
    most: Any,
    tol: Any,
) -> Any:
    """Minimise ½ (Σ_j d_j ‖w_j‖)² + a quadratic by blocks.

    ``gram`` is (k, K, K, k), or (k, K, 1, k) for separate functions; ``bends`` (k, K) are diagonal
    matrices that bound its blocks.  ``slopes`` (K, k) are the slopes of the quadratic at the
    ``weights``, and ``norms`` the ‖w_j‖; all three are updated.  Stops when a round gains less than
    ``tol``, or after ``most`` rounds; returns the gain of the last one.

    Let D be a bound, s = D w_j − slopes and R = Σ_{i≠j} d_i ‖w_i‖.  The best block is 0 if
    ‖s‖ ≤ d R, else s_k / (D_k + d² + d R/r).  Its norm r solves q(r) = 1 for
    q(r)² = Σ_k s_k² / ((D_k + d²) r + d R)².  Newton's method solves 1/q(r) = 1 in few steps, from
    below, since 1/q is concave and nearly linear.
    """
    n, width = weights.shape
    between = gram.shape[2] > 1
    aims, change = np.empty(width), np.empty(width)
    total, gain = 0.0, 0.0
    for j in range(n):
        total += penalties[j] * norms[j]
    for _ in range(most):
        gain = 0.0
        for j in range(n):
            d = penalties[j]
            others = max(0.0, total - d * norms[j])
            rest = d * others
            size, largest = 0.0, 0.0
            for k in range(width):
                aims[k] = bends[j, k] * weights[j, k] - slopes[k, j]
                if signs[j] * aims[k] < 0.0:
                    aims[k] = 0.0
                size += aims[k] * aims[k]
                largest = max(largest, bends[j, k] + d * d)
            size = math.sqrt(size)
            r = max(0.0, (size - rest) / largest)
            if r > 0.0:
                for _ in range(MAX_ROOT_STEPS):
                    square, slope = 0.0, 0.0
                    for k in range(width):
                        own = bends[j, k] + d * d
                        part = aims[k] / (own * r + rest)
                        square += part * part
                        slope += part * part * own / (own * r + rest)
                    short = math.sqrt(square) - 1.0
                    if short <= ROOT_TOL:
                        break
                    r += short * square / slope
            gained, norm = 0.0, 0.0
            for k in range(width):
                own, new = bends[j, k] + d * d, 0.0
                if r > 0.0:
                    new = aims[k] / (own + rest / r)
                norm += new * new
                change[k] = new - weights[j, k]
                gained += own * change[k] * change[k]
            if gained > 0.0:
                gain += 0.5 * gained
                for k in range(width):
                    if change[k] != 0.0:
                        weights[j, k] += change[k]
                        for own_k in range(gram.shape[2]):
                            other = own_k if between else k
                            for i in range(n):
                                slopes[other, i] += gram[j, k, own_k, i] * change[k]
                norms[j] = math.sqrt(norm)
                total = others + d * norms[j]
        if gain <= tol:
            break
    return gain


def polish(
    gram: FloatArray, weights: FloatArray, slopes: FloatArray, penalties: FloatArray
) -> None:
    """Minimise the objective of :func:`descend` over the nonzero weights of one function.

    The norm is linear while no weight changes its sign, so one linear system is exact until then.
    """
    sizes = np.abs(weights[:, 0])
    some = np.flatnonzero(sizes > 0)
    norm, before = float(penalties @ sizes), weights[some].copy()
    slope = (penalties * np.sign(weights[:, 0]))[some]
    matrix = gram[np.ix_(some, some)] + np.outer(slope, slope)
    change = _solved(matrix, -(slopes[0, some] + norm * slope))
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = -before[:, 0] / change
    part = float(steps[steps > 0].min(initial=1.0))
    weights[some, 0] += part * change
    if part < 1:
        weights[some[steps == part], 0] = 0.0
    slopes[0] += gram[:, some] @ (weights[some] - before)[:, 0]


def _solved(matrix: FloatArray, side: FloatArray) -> FloatArray:
    """Solve a linear system, by least squares if it is singular, as with equal features."""
    try:
        return np.linalg.solve(matrix, side).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        return np.linalg.lstsq(matrix, side, rcond=None)[0].astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class Curvature:
    """Curvatures (K, m) of the loss, and their Grams (k, K, k) of ascending ``features`` (k,)."""

    curvature: FloatArray
    features: IntArray
    grams: NDArray[np.floating]

    def at(self, numbers: IntArray) -> Curvature:
        """Return it with new numbers of the features, −1 for features to leave out."""
        order = np.argsort(numbers, kind="stable")[int(np.count_nonzero(numbers < 0)) :]
        grams = self.grams.take(order, axis=0).take(order, axis=2)
        return Curvature(self.curvature, numbers[order], grams)


@dataclass(frozen=True, eq=False)
class LassoSolution:
    """The best functions found, with a bound on the optimum.

    ``weights`` are F, float64 (k, K); a prediction is Σ_j F_j φ_j(x) − b.  ``dual`` is β, of shape
    (m,) or (m, K), and ``square`` is Ω*(g)² over the features.  ``curvature`` is useful for similar
    problems.
    """

    weights: FloatArray
    intercept: FloatArray
    objective: float
    lower_bound: float
    dual: FloatArray
    square: float
    iterations: int
    status: str
    curvature: Curvature | None


def dual_norms(
    sums: FloatArray, penalties: FloatArray, signs: IntArray | None = None
) -> FloatArray:
    """Return ‖g_j‖/d_j of sums of shape (k, K), 0 for sums of the wrong sign."""
    if signs is not None:
        sums = np.where(sums * signs[:, None] < 0, 0.0, sums)
    return np.asarray(np.sqrt(np.square(sums).sum(axis=1)) / penalties)


def solve_group_lasso(
    columns: Columns,
    penalties: FloatArray,
    loss: Loss,
    *,
    tol: float,
    start: tuple[FloatArray, FloatArray] | None = None,
    signs: IntArray | None = None,
    curvature: Curvature | None = None,
    goal: float | None = None,
    max_steps: int = MAX_NEWTON_STEPS,
    deadline: Deadline = UNLIMITED,
) -> LassoSolution:
    """Solve the problem on given features to a relative duality gap.

    Parameters
    ----------
    columns : Columns
        k features on m examples.
    penalties : float64 (k,)
        d.
    loss : Loss
    tol : float
    start : (float64 (k, K), float64), optional
        Weights and intercepts.
    signs : int64 (k,), optional
        For the weights of one function: 1 for at least 0, −1 for at most 0, 0 for free.
    curvature : Curvature, optional
        Of the same examples.
    goal : float, optional
        The iteration also ends once the bounds show whether the optimum is at most this number.
    max_steps : int
        The limit of Newton steps.
    deadline : Deadline, optional

    Returns
    -------
    LassoSolution

    A step costs O(m k²) for the k features that matter, and a round of blocks O(k² K).
    """
    with one_thread():
        iteration = _Iteration(columns, penalties, loss, tol, start, signs, deadline)
        iteration.kept, iteration.goal, iteration.max_steps = curvature, goal, max_steps
        return iteration.run()


class _Iteration:
    """The state of the iteration, and the best F and β so far."""

    def __init__(
        self,
        columns: Columns,
        penalties: FloatArray,
        loss: Loss,
        tol: float,
        start: tuple[FloatArray, FloatArray] | None,
        signs: IntArray | None,
        deadline: Deadline,
    ) -> None:
        self.columns, self.penalties, self.loss = columns, penalties, loss
        self.tol, self.deadline = tol, deadline
        self.signs = np.zeros(len(columns), dtype=np.int64) if signs is None else signs
        self.width = loss.n_functions
        self.kind = np.float64 if self.width == 1 else np.float32  # of sums
        self.weights = np.zeros((len(columns), self.width))
        self.intercept = loss.cold
        if start is not None:
            self.weights, self.intercept = start[0].copy(), start[1]
        if signs is not None:
            self.weights[self.weights * signs[:, None] < 0] = 0.0
        self.groups = np.ones((1, len(loss.y)))
        if self.width == 1 and len(loss.cold) > 1:
            self.groups = (loss.group == np.arange(len(loss.cold))[:, None]).astype(np.float64)
        self.kept: Curvature | None = None
        self.exact, self.n_further = True, 0
        self.goal: float | None = None
        self.max_steps = MAX_NEWTON_STEPS
        self.objective, self.lower, self.square = math.inf, 0.0, 0.0
        self.dual = np.zeros((len(loss.y), self.width) if self.width > 1 else len(loss.y))

    @property
    def gap(self) -> float:
        return relative_gap(self.objective, self.lower)

    def run(self) -> LassoSolution:
        """Take Newton steps until the gap is closed."""
        weights, u, b = self.weights, predicted(self.columns, self.weights), self.intercept
        self.best = weights, b
        b, here = self.loss.intercept(u, b)
        status, steps, stuck = "iteration_limit", 0, False
        for steps in range(self.max_steps + 1):
            excess = self.judge(weights, u, b, here)
            known = self.goal is not None and not self.lower <= self.goal < self.objective
            if self.gap <= self.tol or known:
                status = "optimal"
            elif self.deadline.over():
                status = "time_limit"
            if status != "iteration_limit" or steps == self.max_steps:
                break
            finer = False
            if self.loss.name == "hinge" and excess > 0:
                wanted = SMOOTHING * max(self.gap, self.tol) * self.objective / excess
                wanted = min(0.5, wanted) if stuck else wanted
                if wanted < 1:
                    self.loss.width *= max(0.25, wanted)
                    b, here = self.loss.intercept(u, b)
                    finer = True
            if stuck and not finer:
                break
            before = weights
            weights, u, b, here, stuck = self.step(weights, u, b, here)
            if not self.exact:
                weights, u, b, here = self.further(before, weights, u, b, here)
        return LassoSolution(
            *self.best,
            self.objective,
            self.lower,
            self.dual,
            self.square,
            steps,
            status,
            self.kept,
        )

    def norm(self, weights: FloatArray) -> float:
        """Return Ω."""
        return float(self.penalties @ np.sqrt(np.square(weights).sum(axis=1)))

    def judge(self, weights: FloatArray, u: FloatArray, b: FloatArray, here: Expansion) -> float:
        """Bound the optimum from both sides; return the cost of smoothing the loss."""
        true_b, value = b, here.value
        if self.loss.name == "hinge":
            true_b, value = self.loss.true_intercept(u, b)
        objective = 0.5 * self.norm(weights) ** 2 + value
        if objective < self.objective:
            self.objective, self.best = objective, (weights, true_b)
        beta = self.loss.balanced(here.beta)
        shares = dual_norms(sums_in(self.columns, beta), self.penalties, self.signs)
        square = float(shares.max(initial=0.0)) ** 2
        multiple, lower = self.loss.bound(beta, square, self.objective)
        if lower > self.lower:
            self.lower, self.dual, self.square = lower, multiple * beta, multiple**2 * square
        self.shares = shares
        return value - here.value

    def step(
        self, weights: FloatArray, u: FloatArray, b: FloatArray, here: Expansion
    ) -> tuple[FloatArray, FloatArray, FloatArray, Expansion, bool]:
        """Take one Newton step; the last result is True if rounding hides every gain."""
        norm = self.norm(weights)
        value = 0.5 * norm**2 + here.value
        least = MIN_THRESHOLD_SHARE * min(norm, float(self.shares.max(initial=0.0)))
        some = np.flatnonzero(weights.any(axis=1) | (self.shares >= least))
        few, n, floor = self.columns.take(some), len(some), RIDGE * self.loss.c
        joint = self.width > 1 and n * self.width <= MAX_JOINT_WEIGHTS
        joint = joint and (n * self.width) ** 2 * len(u) <= MAX_JOINT_WORK
        self.exact = joint or self.width == 1
        if joint:
            gram: NDArray[Any] = self.joint_gram(few, here)
            bends = np.abs(gram.diagonal(0, 0, 3)).sum(axis=1, dtype=np.float64)
        else:
            gram = self.separate_grams(some, np.maximum(curvatures(self.loss, here), floor))
            bends = gram.diagonal(0, 0, 3)[:, 0].astype(np.float64)
        bends = np.ascontiguousarray(bends.T)
        moved, slopes = weights[some], np.ascontiguousarray(-sums_in(few, here.beta).T)
        share = STEP_GAP_SHARE if self.exact else BOUND_GAP_SHARE
        enough = share * max(self.gap, self.tol) ** 2 * value
        penalties, signs = self.penalties[some], self.signs[some]
        for _ in range(POLISH_ROUNDS):
            sizes = np.sqrt(np.square(moved).sum(axis=1))
            gain = descend(gram, bends, moved, slopes, penalties, sizes, signs, SWEEPS, enough)
            if gain <= enough:
                break
            if self.width == 1:
                polish(gram[:, 0, 0], moved, slopes, penalties)
        return self.along(few, some, moved - weights[some], weights, u, b, here)

    def along(
        self,
        few: Columns,
        some: IntArray,
        change: FloatArray,
        weights: FloatArray,
        u: FloatArray,
        b: FloatArray,
        here: Expansion,
    ) -> tuple[FloatArray, FloatArray, FloatArray, Expansion, bool]:
        """Take the longest step in a direction that lowers the objective."""
        value = 0.5 * self.norm(weights) ** 2 + here.value
        aim, part = predicted(few, change), 1.0
        while True:
            new = weights.copy()
            new[some] += part * change
            after = u + part * aim
            c, there = self.loss.intercept(after, b)
            now = 0.5 * self.norm(new) ** 2 + there.value
            if now <= value:
                return new, after, c, there, bool(value - now <= 1e-15 * value)
            part /= 2
            if part < MIN_STEP:
                return weights, u, b, here, True

    def further(
        self, before: FloatArray, weights: FloatArray, u: FloatArray, b: FloatArray, here: Expansion
    ) -> tuple[FloatArray, FloatArray, FloatArray, Expansion]:
        """Go on in the direction of the last step, unless the objective would rise."""
        self.n_further += 1
        both = weights.any(axis=1) & before.any(axis=1)
        new = weights.copy()
        new[both] += self.n_further / (self.n_further + 3) * (weights - before)[both]
        after = predicted(self.columns, new)
        c, there = self.loss.intercept(after, b)
        value = 0.5 * self.norm(weights) ** 2 + here.value
        if 0.5 * self.norm(new) ** 2 + there.value <= value:
            return new, after, c, there
        self.n_further = 0
        return weights, u, b, here

    def separate_grams(self, some: IntArray, curvature: FloatArray) -> NDArray[np.floating]:
        """Return the curvature of each function along some features, (k, K, 1, k).

        Earlier curvatures are used again while they differ little: the objective determines the
        length of a step.
        """
        before = self.kept.curvature if self.kept else np.zeros_like(curvature)
        small = len(some) * curvature.size < MIN_KEPT_ENTRIES
        most = 0.0 if small or "hinge" in self.loss.name else MAX_CHANGE
        changed = np.abs(curvature - before).sum() > most * curvature.sum()
        kept = None if changed else self.kept
        known = np.zeros(len(self.columns), dtype=np.bool_)
        if kept is not None:
            known[kept.features] = True
        if kept is None or not known[some].all():
            every = known.copy()
            every[some] = True
            features = np.flatnonzero(every)
            fresh = ~known[features]
            grams = np.empty((len(features), self.width, len(features)), dtype=self.kind)
            if kept is not None:
                curvature = kept.curvature
                places = np.flatnonzero(~fresh)
                grams[places[:, None], :, places] = kept.grams.transpose(0, 2, 1)
            rows = self.grams(self.columns.take(features), curvature, fresh)
            grams[fresh] = rows
            grams[:, :, fresh] = rows.transpose(2, 1, 0)
            self.kept = kept = Curvature(curvature, features, grams)
        if len(some) == len(kept.features):
            return kept.grams[:, :, None]
        places = np.searchsorted(kept.features, some)
        return kept.grams.take(places, axis=0).take(places, axis=2)[:, :, None]

    def grams(self, columns: Columns, curvature: FloatArray, some: NDArray[np.bool_]) -> FloatArray:
        """Return Σ_i h_ik φ_j(x_i) φ_l(x_i) minus the means of groups for some j and all l.

        Sums are in float32 for several functions.
        """
        k, most, total = len(columns), float(curvature.max()), float(self.loss.c.sum())
        centre = columns.sums(self.loss.c) / total
        roots = np.sqrt(curvature / most).astype(self.kind)
        grams = np.zeros((int(np.count_nonzero(some)), self.width, k))
        for rows in slices(k, curvature.shape[1]):
            entries = columns.entries(slice(0, k), rows)
            entries = np.subtract(entries, centre[:, None], dtype=self.kind, casting="unsafe")
            for own, root in enumerate(roots[:, rows]):
                if some.all():  # the product of a matrix and its own transpose is faster
                    block = entries * root
                    grams[:, own] += block @ block.T
                else:
                    grams[:, own] += (entries[some] * root**2) @ entries.T
        for own, h in enumerate(curvature):
            weights = self.groups * h
            sums = weights.sum(axis=1)
            means = sums_in(columns, weights.T) / sums - centre[:, None]
            grams[:, own] = most * grams[:, own] - (sums * means[some]) @ means.T
            ridge = RIDGE if self.width == 1 else ROUNDED
            grams[np.arange(len(grams)), own, np.flatnonzero(some)] += ridge * float(h.sum())
        return grams

    def joint_gram(self, columns: Columns, here: Expansion) -> FloatArray:
        """Return the second derivatives of the loss at the best intercepts, (k, K, K, k).

        The derivatives by u_k and u_l are c_i p_ik ([k = l] − p_il).
        """
        k, K, c = len(columns), self.width, self.loss.c
        size, most, total = k + 1, float(c.max()), float(c.sum())
        means = (columns.sums(c) / total)[:, None]
        whole = np.zeros((K * size, K * size))
        for rows in slices(K * size, len(c)):
            centred = columns.entries(slice(0, k), rows) - means
            features = np.vstack([centred, np.ones_like(c[rows])]) * np.sqrt(c[rows] / most)
            chances = here.curvature[rows].T.astype(np.float32)
            block = (chances[:, None] * features.astype(np.float32)).reshape(K * size, -1)
            whole -= block @ block.T
        parts = whole.reshape(K, size, K, size)
        parts[:] = most / 2 * (parts + parts.transpose(0, 3, 2, 1))
        # chances add up to 1: sums over functions that are exactly 0 prevent negative eigenvalues
        for own, part in enumerate(parts):
            part[:, own] -= part.sum(axis=1)
        whole.flat[:: K * size + 1] += ROUNDED * float(whole.diagonal().max()) + RIDGE * total
        cross = parts[:, :k, :, k].reshape(K * k, K)
        less = (cross @ np.linalg.solve(parts[:, k, :, k], cross.T)).reshape(K, k, K, k)
        return np.ascontiguousarray((parts[:, :k, :, :k] - less).transpose(1, 0, 2, 3))


def slices(n: int, m: int) -> Iterator[slice]:
    """Split m examples so that n numbers for each fit into a block."""
    step = max(1, BLOCK_ENTRIES // max(1, n))
    return (slice(begin, begin + step) for begin in range(0, m, step))


def predicted(columns: Columns, weights: FloatArray) -> FloatArray:
    """Return predictions without intercepts, (m,) or (m, K)."""
    found = [columns.predict(own) for own in np.ascontiguousarray(weights.T)]
    return found[0] if len(found) == 1 else np.stack(found, axis=1)


def curvatures(loss: Loss, here: Expansion) -> FloatArray:
    """Return the second derivatives of the loss, (1, m); for several functions bounds, (K, m)."""
    if loss.n_functions == 1:
        return here.curvature[None]
    chances = here.curvature.T
    return np.asarray(2 * loss.c * chances * (1 - chances))


def sums_in(columns: Columns, beta: FloatArray) -> FloatArray:
    """Return g, (k, K)."""
    parts = [beta] if beta.ndim == 1 else np.ascontiguousarray(beta.T)
    return np.stack([columns.sums(part) for part in parts], axis=1)
