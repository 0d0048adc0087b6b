"""Solve the dual problem of a support vector machine by decomposition, to a duality gap.

The gradient of all rows is kept. The rows whose slopes violate optimality most, and those of the
last small problem that are inside their boxes, form a small problem whose matrix is held. Its
solution changes the gradient by a weighted sum of rows of K, which are computed for it and dropped.
Rows at an end of their box that no near step would move are left out until the others are solved.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.compilation import compiled
from formulakern.encoding.packed import PackedTable
from formulakern.errors import DataError
from formulakern.interrupts import held, interruptible
from formulakern.kernels.algebra import Kernel
from formulakern.learning.kernel_machines.box_problem import (
    BoxProblem,
    Merged,
    Values,
    merge_equal,
)
from formulakern.learning.kernel_machines.kernel_rows import KernelRows

__all__ = [
    "DualSolution",
    "KernelExpansion",
    "Limits",
    "Prepared",
    "descend_pairs",
    "prepare",
    "solve_dual",
    "train",
]

Rows = npt.NDArray[np.intp]

#: Rows of a small problem; rows if many of them are inside their boxes; rows solved for at once.
SMALL, LARGE, DIRECT = 2048, 3072, 2048
#: A small problem is solved until its slopes differ by this share of what all slopes differed by.
INNER = 0.2
#: The share of a small problem that rows of the last one may take.
KEPT = 0.5
#: Steps of one small problem, per row of it.
STEPS = 500
#: Steps in all if no limit is given: the larger of a constant and a number per row.
MOST_STEPS, ROW_STEPS = 10_000_000, 100
#: The gap is computed after this number of small problems, but after each one if it is close.
CHECKED = 5
#: Problems of more rows begin with the solution of a sample of 1/SHARE of them, to this gap.
SAMPLED, SHARE, SAMPLE_GAP = 16_000, 8, 0.05
#: A sample with a larger share of its support vectors inside their boxes is not used.
INSIDE = 0.6
#: Rows are left out below this relative gap, if at most this share of the rows stays.
CLOSE, STAYING = 0.2, 0.7
#: Slopes that differ by less, as a share of the largest, differ by rounding.
ROUNDING = 1e-13
#: A smaller curvature along a pair, as a share of the largest K(x, x), is replaced by this one.
SMALLEST_CURVATURE = 1e-12
#: Matrices of kernels of rows that are not packed are held up to this share of the free memory:
#: their values cost a hundred times as much.
SLOW_KERNELS = 0.5


@dataclass(frozen=True)
class Limits:
    """When to stop.

    Attributes
    ----------
    tol : float
        The relative duality gap to reach.
    max_iter : int
        Pair steps in all. Negative: 10 million, or 100 for each row if that is more, as in LIBSVM.
    seconds : float
        Wall time.
    """

    tol: float = 1e-3
    max_iter: int = -1
    seconds: float = math.inf


@dataclass(frozen=True, eq=False)
class DualSolution:
    """An approximate solution, and the proof of how good it is.

    Attributes
    ----------
    beta, products : float64 (n,)
        The coefficients, and Kβ.
    values : Values
        Both objectives and the intercept.
    iterations, blocks : int
        Pair steps, and small problems.
    stopped : str
        "optimal", "max_iter", "time_limit", "interrupted" or "stalled".
    history : tuple of (seconds, gap, dual, primal)
    """

    beta: FloatArray
    products: FloatArray
    values: Values
    iterations: int
    blocks: int
    stopped: str
    history: tuple[tuple[float, float, float, float], ...]

    @property
    def gap(self) -> float:
        """The relative duality gap."""
        return self.values.gap


@dataclass(frozen=True, eq=False)
class KernelExpansion:
    """f(x) = Σ_i β_i K(x_i, x) + b, and how near to the optimum it is.

    Attributes
    ----------
    beta : float64 (n,)
        Coefficients of all rows.
    support : intp
        Rows with coefficients other than 0.
    intercept : float
    solution : DualSolution
        The solution of the problem without equal rows.
    """

    beta: FloatArray
    support: Rows
    intercept: float
    solution: DualSolution


@dataclass(frozen=True, eq=False)
class Prepared:
    """A problem without equal rows, and the rows of its matrix: it may be solved several times.

    Attributes
    ----------
    merged : Merged
    rows : KernelRows
        Of the different rows.
    """

    merged: Merged
    rows: KernelRows

    def solve(
        self,
        limits: Limits,
        *,
        factor: float = 1.0,
        near: DualSolution | None = None,
        nearer: float = 1.0,
        progress: Callable[[float, float], None] | None = None,
    ) -> KernelExpansion:
        """Solve the problem, with boxes times a factor.

        Parameters
        ----------
        limits : Limits
        factor : float
        near : DualSolution, optional
            A solution for other boxes, to begin with.
        nearer : float
            Multiplies the coefficients of ``near``, so that they are in the boxes of this problem.
        progress : callable, optional
            Called with the seconds and the relative gap.
        """
        problem = self.merged.problem
        if factor != 1.0:
            lower, upper = problem.lower * factor, problem.upper * factor
            problem = replace(problem, lower=lower, upper=upper)
        start = None if near is None else (near.beta * nearer, near.products * nearer)
        solution = solve_dual(problem, self.rows, limits, start, progress)
        beta = self.merged.spread(solution.beta / factor) * factor
        return KernelExpansion(beta, np.flatnonzero(beta), solution.values.intercept, solution)


def prepare(problem: BoxProblem, kernel: Kernel, rows: Any, memory: float) -> Prepared:
    """Merge equal rows.

    Parameters
    ----------
    problem : BoxProblem of n rows
    kernel : Kernel
    rows : PackedTable, RealTable, Strings or KernelRows of n rows
    memory : float
        Megabytes; a matrix of K that takes no more is held.
    """
    table = rows.rows if isinstance(rows, KernelRows) else rows
    if not isinstance(table, PackedTable):
        import psutil  # only these kernels are worth loading it for

        memory = max(memory, SLOW_KERNELS * psutil.virtual_memory().available / 1e6)
    kernel_rows = rows if isinstance(rows, KernelRows) else KernelRows(kernel, rows, memory)
    merged = merge_equal(problem, table)
    if len(merged.first) < len(problem):
        kernel_rows = kernel_rows.take(merged.first, memory)
    return Prepared(merged, kernel_rows)


def train(
    problem: BoxProblem,
    kernel: Kernel,
    rows: Any,
    limits: Limits = Limits(),
    *,
    memory: float = 200.0,
    progress: Callable[[float, float], None] | None = None,
) -> KernelExpansion:
    """Solve the dual problem of a kernel on rows, equal rows merged.

    Parameters
    ----------
    problem : BoxProblem of n rows
    kernel : Kernel
    rows : PackedTable, RealTable or Strings of n rows
    limits : Limits
        By default a relative gap of 0.001.
    memory : float
        Megabytes; a matrix of K that takes no more is held.
    progress : callable, optional
        Called with the seconds and the relative gap.

    Examples
    --------
    >>> import formulakern as fk
    >>> from formulakern.encoding.zero_one import read_packed
    >>> from formulakern.learning.kernel_machines.box_problem import classification
    >>> table = read_packed([[1, 0], [0, 1], [1, 0]])
    >>> problem = classification(np.array([1.0, -1.0, 1.0]), np.full(3, 5.0))
    >>> found = train(problem, fk.kernel("a"), table)
    >>> found.beta, found.intercept
    (array([ 0.5, -1. ,  0.5]), 0.0)
    """
    return prepare(problem, kernel, rows, memory).solve(limits, progress=progress)


def solve_dual(
    problem: BoxProblem,
    rows: KernelRows,
    limits: Limits,
    start: tuple[FloatArray, FloatArray] | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> DualSolution:
    """Solve the dual problem to a relative duality gap.

    Parameters
    ----------
    problem : BoxProblem of n rows
    rows : KernelRows of n rows
    limits : Limits
    start : (float64 (n,), float64 (n,)), optional
        β of a similar problem to begin with, which is moved into the box, and Kβ.
    progress : callable, optional
        Called with the seconds and the relative gap whenever the gap of all rows is known.

    Returns
    -------
    DualSolution

    Raises
    ------
    DataError
        If K has values that are not finite numbers.
    KeyboardInterrupt
        If it comes before the first coefficients are known; later it ends the work.

    References
    ----------
    E. Osuna, R. Freund, F. Girosi, "An improved training algorithm for support vector machines",
    1997, doi:10.1109/NNSP.1997.622408 (decomposition); T. Joachims, "Making large-scale SVM
    learning practical", 1999 (rows that are left out for a while); R.-E. Fan, P.-H. Chen, C.-J.
    Lin, JMLR 6:1889–1918, 2005.

    Examples
    --------
    >>> import formulakern as fk
    >>> from formulakern.encoding.zero_one import read_packed
    >>> from formulakern.learning.kernel_machines.box_problem import classification
    >>> table = read_packed([[1, 0], [0, 1]])
    >>> problem = classification(np.array([1.0, -1.0]), np.array([5.0, 5.0]))
    >>> found = solve_dual(problem, KernelRows(fk.kernel("a"), table), Limits())
    >>> found.beta, found.gap
    (array([ 1., -1.]), 0.0)
    """
    whole = Part.whole(problem, rows)
    run = Descent(len(problem), limits, progress)
    if start is not None:
        whole.begin_near(*start)
    run.solve(whole, begun=start is not None)
    assert whole.values is not None
    return DualSolution(
        whole.beta,
        whole.products,
        whole.values,
        run.iterations,
        run.blocks,
        run.stopped or "optimal",
        tuple(run.history),
    )


class Descent:
    """One solution: what it may take, and what it has taken."""

    def __init__(
        self, n: int, limits: Limits, progress: Callable[[float, float], None] | None
    ) -> None:
        self.limits, self.progress = limits, progress
        self.most = limits.max_iter if limits.max_iter >= 0 else max(MOST_STEPS, n * ROW_STEPS)
        self.started = time.monotonic()
        self.iterations, self.blocks = 0, 0
        self.stopped = ""
        self.history: list[tuple[float, float, float, float]] = []

    def solve(self, whole: Part, *, begun: bool = False) -> None:
        """Solve to the gap of the limits; ``begun``: there are coefficients to begin with.

        Raises
        ------
        KeyboardInterrupt
            Where it comes before the first coefficients are known.
        """
        try:
            with interruptible():
                if not begun:
                    self.begin(whole)
                self.note(whole)
                self.descend(whole, 0.0)
        except KeyboardInterrupt:
            if whole.values is None:
                raise
            self.stopped = "interrupted"
            whole.look()

    def begin(self, whole: Part) -> None:
        """Set the first coefficients; if there are many rows, those that a sample suggests."""
        if len(whole) <= SAMPLED or whole.problem.total or whole.rows.held:
            whole.begin()
            return
        sample = whole.sample(SHARE)
        limits = Limits(
            max(SAMPLE_GAP, self.limits.tol), self.steps_left(STEPS * LARGE), self.seconds_left()
        )
        run = Descent(len(sample), limits, None)
        run.solve(sample)
        if run.stopped == "interrupted":  # what the sample says is the best so far
            self.stopped = run.stopped
        self.iterations += run.iterations
        support = int(np.count_nonzero(sample.beta))
        if not support or int(sample.is_inside().sum()) > INSIDE * support:
            whole.begin()
        else:
            whole.begin_as(sample)

    # -- descent -----------------------------------------------------------------------------------

    def descend(self, part: Part, target: float) -> None:
        """Small problems until the gap is at most ``target``; 0: the relative one at most tol."""
        whole, size, n = not target, SMALL, len(part)
        kept = np.empty(0, dtype=np.intp)  # rows of the last problem that are inside their boxes
        inner = self.limits.tol * float(np.abs(part.problem.linear).max(initial=0.0))
        values = part.values or part.look()
        while not self.ended(values, target):
            if whole and values.gap < CLOSE and self.leave_out(part, values):
                values = self.note(part)
                kept = kept[:0]
                if self.ended(values, target):
                    return
            for _ in range(1 if values.gap < CLOSE or not whole else CHECKED):
                size = n if n <= DIRECT else LARGE if 2 * len(kept) > SMALL else size
                rows, differ = part.violators(kept[: int(KEPT * size)], size)
                few = None
                if differ > ROUNDING * (float(np.abs(part.products).max(initial=0.0)) + inner):
                    tolerance = min(inner, INNER * differ) if n <= DIRECT else INNER * differ
                    few = self.solve_small(part, rows, tolerance)
                if few is None:  # below the rounding of β
                    self.stopped = self.stopped or ("stalled" if whole else "")
                    part.look()
                    return
                kept = few
                if len(rows) == n or self.over():
                    inner = min(inner, differ) / 10
                    break
            values = self.note(part) if whole else part.look()

    def leave_out(self, part: Part, values: Values) -> bool:
        """Solve for the rows near the margin alone; whether there were few enough."""
        few = part.near(STAYING)
        if few is None:
            return False
        scale = max(abs(values.primal), abs(values.dual))
        try:
            self.descend(few, self.limits.tol * scale / 2)
        finally:
            part.absorb(few)
        return True

    def solve_small(self, part: Part, rows: Rows, tolerance: float) -> Rows | None:
        """Minimise over these coefficients, the others as they are.

        Returns
        -------
        intp or None
            Those of these rows that are inside their boxes now; None where none has changed.
        """
        problem, gram, before = part.problem, part.rows.block(rows), part.beta[rows]
        if not np.isfinite(gram).all():
            raise DataError(
                "the kernel has values that are not finite numbers on these rows. Use "
                "normalize=True, or a kernel of smaller degree."
            )
        beta, lower, upper = before.copy(), problem.lower[rows], problem.upper[rows]
        gradient = part.products[rows] - problem.linear[rows]
        most = self.steps_left(STEPS * len(rows))
        steps = descend_pairs(gram, gradient, beta, lower, upper, problem.epsilon, tolerance, most)
        moved = np.flatnonzero(beta != before)
        part.move(rows[moved], beta[moved])
        self.iterations += int(steps)
        self.blocks += 1
        inside = (beta > lower) & (beta < upper) & (beta != 0.0)
        return rows[inside] if len(moved) else None

    # -- limits ------------------------------------------------------------------------------------

    def note(self, part: Part) -> Values:
        """Compute the gap of all rows, and say so."""
        values = part.look()
        seconds = time.monotonic() - self.started
        self.history.append((seconds, values.gap, values.dual, values.primal))
        if self.progress is not None:
            self.progress(seconds, values.gap)
        return values

    def ended(self, values: Values, target: float) -> bool:
        """Return whether the gap is reached, or a limit."""
        reached = values.gap <= self.limits.tol
        if target:
            reached = values.primal - values.dual <= target
        if not reached and self.over():
            self.stopped = "time_limit" if self.steps_left(1) else "max_iter"
        return reached or bool(self.stopped)

    def steps_left(self, most: int) -> int:
        """Of the limit, and at most so many."""
        return min(most, max(self.most - self.iterations, 0))

    def over(self) -> bool:
        """Return whether the time is over, or all steps are done."""
        return self.seconds_left() <= 0 or not self.steps_left(1)

    def seconds_left(self) -> float:
        """Of the limit."""
        return self.limits.seconds - (time.monotonic() - self.started)


@dataclass(eq=False)
class Part:
    """Rows in a problem, and how far it is solved.

    Parameters
    ----------
    problem : BoxProblem of n rows
    rows : KernelRows of n rows
    beta, products : float64 (n,)
        Coefficients, and Kβ.
    origin : intp (n,)
        The rows of the problem that this one is a part of.

    Attributes
    ----------
    values : Values or None
        Both objectives when they were last computed.
    """

    problem: BoxProblem
    rows: KernelRows
    beta: FloatArray
    products: FloatArray
    origin: Rows
    values: Values | None = None

    def __post_init__(self) -> None:
        self.before = self.beta.copy()

    def __len__(self) -> int:
        return len(self.problem)

    @classmethod
    def whole(cls, problem: BoxProblem, rows: KernelRows, origin: Rows | None = None) -> Part:
        """Return all rows, with coefficients 0."""
        n = len(problem)
        return cls(
            problem, rows, np.zeros(n), np.zeros(n), np.arange(n) if origin is None else origin
        )

    # -- where to begin ----------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin with 0, or with the upper bounds of one row after the other."""
        self._begin_at(self.problem.start())

    def begin_near(self, known: FloatArray, products: FloatArray) -> None:
        """Begin with the coefficients of a similar problem, moved into the box, and Kβ of them."""
        problem = self.problem
        moved = np.clip(known, problem.lower, problem.upper)
        if abs(moved.sum() - problem.total) > ROUNDING * float(np.abs(moved).sum()):
            room = np.minimum(moved - problem.lower, problem.upper - moved)
            moved = problem.balanced(moved, np.argsort(-room, kind="stable"))
        if abs(moved.sum() - problem.total) > 1e-9 * max(abs(problem.total), moved.max()):
            self.begin()
            return
        changed = np.flatnonzero(moved != known)
        change = self.rows.product(changed, (moved - known)[changed])
        self.beta, self.products = moved, products + change

    def _begin_at(self, beta: FloatArray) -> None:
        support = np.flatnonzero(beta)
        self.products = self.rows.product(support, beta[support])
        self.beta = beta

    def sample(self, share: int) -> Part:
        """Draw 1/share of the rows, with boxes larger by as much, so that the losses stay."""
        n = len(self)
        chosen = np.sort(np.random.default_rng(0).permutation(n)[: n // share])
        part, scale = self.problem.take(chosen), n / len(chosen)
        part = replace(part, lower=part.lower * scale, upper=part.upper * scale)
        return Part.whole(part, self.rows.take(chosen), chosen)

    def is_inside(self) -> npt.NDArray[np.bool_]:
        """Return whether each coefficient is neither 0 nor at an end of its box."""
        beta, problem = self.beta, self.problem
        return np.asarray((beta > problem.lower) & (beta < problem.upper) & (beta != 0.0))

    def begin_as(self, sample: Part) -> None:
        """Begin with the coefficients that the solution of a sample suggests.

        Rows of the sample inside their boxes keep their coefficients; every other row is at the end
        of its box that its margin asks for.
        """
        assert sample.values is not None
        problem, support = self.problem, np.flatnonzero(sample.beta)
        products = self.rows.product(sample.origin[support], sample.beta[support])
        residual = problem.linear - (products + sample.values.intercept)
        above, below = residual - problem.epsilon, residual + problem.epsilon
        suggested = np.where(above > 0, problem.upper, np.where(below < 0, problem.lower, 0.0))
        inside = sample.is_inside()
        suggested[sample.origin[inside]] = sample.beta[inside] * (len(sample) / len(self))
        violated = np.where(suggested > 0, above, -below)
        self._begin_at(problem.balanced(suggested, np.argsort(violated, kind="stable")))

    # -- descent -----------------------------------------------------------------------------------

    def look(self) -> Values:
        """Compute both objectives."""
        self.values = self.problem.values(self.beta, self.products)
        return self.values

    def slopes(self) -> tuple[FloatArray, FloatArray]:
        """Return how steeply the objective falls if a coefficient grows, and rises if it shrinks.

        Returns
        -------
        up, down : float64 (n,)
            −∞ and ∞ if a coefficient cannot grow or shrink. The sum of two coefficients stays the
            same while one grows and the other shrinks: β is optimal if no up exceeds any down.
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
        """Return the rows that violate optimality most, half of them to grow and half to shrink.

        Parameters
        ----------
        kept : intp
            Rows that are taken in any case.
        size : int
            The most rows in all.

        Returns
        -------
        rows : intp
            Ascending.
        differ : float
            The largest difference of slopes: at most 0 at the optimum.
        """
        up, down = self.slopes()
        most, least = float(up.max(initial=-np.inf)), float(down.min(initial=np.inf))
        if size >= len(self):
            return np.arange(len(self)), most - least
        up[kept], down[kept] = -np.inf, np.inf
        half = max((size - len(kept)) // 2, 1)
        grow = _largest(up, half)
        grow = grow[up[grow] > least]
        down[grow] = np.inf
        shrink = _largest(-down, half)
        shrink = shrink[down[shrink] < most]
        return np.sort(np.concatenate([grow, shrink, kept])), most - least

    def move(self, rows: Rows, beta: FloatArray) -> None:
        """Give coefficients to some rows."""
        products = self.products + self.rows.product(rows, beta - self.beta[rows])
        with held():
            self.products = products
            self.beta[rows] = beta

    def near(self, most: float) -> Part | None:
        """The problem of the rows inside their boxes, and of those that a near step would move.

        Returns None if they are more than a share ``most`` of all, or fewer than two.
        """
        up, down = self.slopes()
        flattest, steepest = float(down.min(initial=np.inf)), float(up.max(initial=-np.inf))
        near = np.flatnonzero((up >= flattest) | (down <= steepest))
        if len(near) > most * len(self) or len(near) < 2:
            return None
        beta, rows, problem = self.beta[near], self.rows.take(near), self.problem.take(near)
        support = np.flatnonzero(beta)
        own = rows.product(support, beta[support])
        problem = replace(
            problem,
            linear=problem.linear - (self.products[near] - own),
            total=problem.total - float(self.beta.sum() - beta.sum()),
        )
        return Part(problem, rows, beta, own, near)

    def absorb(self, few: Part) -> None:
        """Take over the coefficients of the rows that :meth:`near` has given."""
        moved = np.flatnonzero(few.beta != few.before)
        change = self.rows.product(few.origin[moved], few.beta[moved] - few.before[moved])
        with held():
            self.products = self.products + change
            self.beta[few.origin] = few.beta


def _largest(values: FloatArray, k: int) -> Rows:
    """Positions of the k largest."""
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

    Parameters
    ----------
    gram : float64 (q, q)
        K of the rows.
    gradient : float64 (q,)
        Kβ − p of these rows, of all coefficients; kept up to date.
    beta : float64 (q,)
        Their coefficients; changed, with the same sum.
    lower, upper : float64 (q,)
    epsilon : float
        Weight of Σ|β|.
    tol : float
        The largest difference of slopes that is left.
    most : int
        Steps at most.

    Returns
    -------
    int
        The number of steps.

    Examples
    --------
    >>> beta, gradient = np.zeros(2), np.array([-1.0, 1.0])  # p = (1, −1)
    >>> lower, upper = np.array([0.0, -5.0]), np.array([5.0, 0.0])
    >>> descend_pairs(np.eye(2), gradient, beta, lower, upper, 0.0, 1e-6, 100)
    1
    >>> beta
    array([ 1., -1.])
    """
    n = len(gradient)
    diagonal = np.empty(n)
    for k in range(n):
        diagonal[k] = gram[k, k]
    least = SMALLEST_CURVATURE * diagonal.max()
    if least <= 0.0:
        least = SMALLEST_CURVATURE
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
