"""The dual of a support vector machine, a few hundred rows at a time, to a duality gap.

The gradient of all rows is kept.  The rows whose slopes violate optimality most, and those of the
last time that are inside their box, form a small problem whose matrix is held; its solution changes
the gradient by a product of as many rows of K, which are computed for it and forgotten.  Rows at an
end of their box that no near step would move are left out until the others are solved.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.errors import DataError
from formulakern.learning.kernel_machines.box_problem import BoxProblem, Values
from formulakern.learning.kernel_machines.kernel_rows import KernelRows
from formulakern.learning.kernel_machines.subproblem import descend_pairs, slopes_of, violators

__all__ = ["DualSolution", "Limits", "solve_dual"]

Rows = npt.NDArray[np.intp]

#: Rows of a small problem, and where many of them are inside their boxes; all, of so many.
SMALL, LARGE, DIRECT = 2048, 3072, 2048
#: A small problem is solved until its slopes differ by this share of what all slopes differed by.
INNER = 0.2
#: The share of a small problem that rows of the last one may take.
KEPT = 0.5
#: Steps of one small problem, per row of it.
STEPS = 500
#: Steps in all, where no limit is given: so many, or so many for each row.
MOST_STEPS, ROW_STEPS = 10_000_000, 100
#: The gap is computed after so many small problems, but after each where it is close.
CHECKED = 5
#: Problems of more rows begin with the solution of a sample of a share of them, to this gap.
SAMPLED, SHARE, SAMPLE_GAP = 16_000, 8, 0.05
#: A sample whose support vectors are inside their box in a larger share says little of the others.
INSIDE = 0.6
#: Rows are left out where the relative gap is below, and no more than a share of them stays.
CLOSE, STAYING = 0.2, 0.7
#: Slopes that differ by less, as a share of the largest, differ by rounding.
ROUNDING = 1e-13


@dataclass(frozen=True)
class Limits:
    """When to stop.

    Attributes
    ----------
    tol : float
        The relative duality gap to reach.
    max_iter : int
        Pair steps in all.  Negative: 10 million, or 100 for each row where that is more, which is
        LIBSVM's limit; the steps that a very large C asks for have no end.
    seconds : float
        Of wall time.
    """

    tol: float = 1e-3
    max_iter: int = -1
    seconds: float = math.inf


@dataclass(frozen=True, eq=False)
class DualSolution:
    """An approximate solution, and the proof of how good it is.

    Attributes
    ----------
    beta : float64 (n,)
        The coefficients.
    products : float64 (n,)
        Kβ.
    values : Values
        Both objectives and the intercept.
    violation : float
        The largest difference of slopes, LIBSVM's criterion.
    iterations, blocks : int
        Pair steps, and small problems.
    rows : int
        Rows of K that were computed, in all.
    stopped : str
        "optimal", "max_iter", "time_limit", "interrupted" or "stalled".
    history : tuple of (seconds, gap, dual, primal)
    """

    beta: FloatArray
    products: FloatArray
    values: Values
    violation: float
    iterations: int
    blocks: int
    rows: int
    stopped: str
    history: tuple[tuple[float, float, float, float], ...]

    @property
    def gap(self) -> float:
        """The relative duality gap."""
        return self.values.gap


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
        Where to begin: β of a similar problem, which is moved into the box, and Kβ.
    progress : callable, optional
        Called with the seconds and the relative gap whenever the gap of all rows is known.

    Returns
    -------
    DualSolution

    Raises
    ------
    DataError
        If K has values that are no finite numbers.
    KeyboardInterrupt
        Where it comes before the first coefficients are known; later it ends the work.

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
    run = _Run(len(problem), limits, progress)
    whole = _Part(problem, rows, np.zeros(len(problem)), np.zeros(len(problem)))
    try:
        run.begin(whole, start)
        run.descend(whole, 0.0)
    except KeyboardInterrupt:
        if whole.values is None:
            raise
        run.stopped = "interrupted"
        whole.look()
    assert whole.values is not None
    return DualSolution(
        whole.beta,
        whole.products,
        whole.values,
        max(whole.steepest() - whole.flattest(), 0.0),
        run.iterations,
        run.blocks,
        int(run.computed),
        run.stopped or "optimal",
        tuple(run.history),
    )


@dataclass(eq=False)
class _Part:
    """A problem, how far it is solved, and the rows that make its matrix."""

    problem: BoxProblem
    rows: KernelRows
    beta: FloatArray
    products: FloatArray
    values: Values | None = None

    def look(self) -> Values:
        """Compute both objectives."""
        self.values = self.problem.values(self.beta, self.products)
        return self.values

    def slopes(self) -> tuple[FloatArray, FloatArray]:
        """See :func:`.subproblem.slopes_of`."""
        problem = self.problem
        descent = problem.linear - self.products
        return slopes_of(descent, self.beta, problem.lower, problem.upper, problem.epsilon)

    def steepest(self) -> float:
        """The largest slope of a coefficient that may grow."""
        return float(self.slopes()[0].max(initial=-np.inf))

    def flattest(self) -> float:
        """The smallest slope of a coefficient that may shrink."""
        return float(self.slopes()[1].min(initial=np.inf))

    def is_inside(self) -> npt.NDArray[np.bool_]:
        """Whether a coefficient is neither 0 nor at an end."""
        beta, problem = self.beta, self.problem
        return np.asarray((beta > problem.lower) & (beta < problem.upper) & (beta != 0.0))


class _Run:
    """One solution: what it may take, and what it has taken."""

    def __init__(
        self, n: int, limits: Limits, progress: Callable[[float, float], None] | None
    ) -> None:
        self.limits, self.progress = limits, progress
        self.most = limits.max_iter if limits.max_iter >= 0 else max(MOST_STEPS, n * ROW_STEPS)
        self.started = time.monotonic()
        self.iterations, self.blocks, self.computed = 0, 0, 0.0
        self.stopped = ""
        self.history: list[tuple[float, float, float, float]] = []

    # -- where to begin ----------------------------------------------------------------------------

    def begin(self, whole: _Part, start: tuple[FloatArray, FloatArray] | None) -> None:
        """The first coefficients, and their products."""
        problem = whole.problem
        beta = problem.start()
        if start is not None:
            moved = np.clip(start[0], problem.lower, problem.upper)
            if abs(moved.sum() - problem.total) > ROUNDING * float(np.abs(moved).sum()):
                room = np.minimum(moved - problem.lower, problem.upper - moved)
                moved = problem.balanced(moved, np.argsort(-room, kind="stable"))
            if abs(moved.sum() - problem.total) <= 1e-9 * max(abs(problem.total), moved.max()):
                beta = moved
                changed = np.flatnonzero(beta != start[0])
                change = self.product(whole, changed, (beta - start[0])[changed])
                whole.beta, whole.products = beta, start[1] + change
                self.note(whole)
                return
        elif len(problem) > SAMPLED and not problem.total and not whole.rows.held:
            beta = self.from_sample(whole)
        support = np.flatnonzero(beta)
        whole.products = self.product(whole, support, beta[support])
        whole.beta = beta
        self.note(whole)

    def from_sample(self, whole: _Part) -> FloatArray:
        """Coefficients that the solution of a sample of the rows suggests.

        The sample's boxes are larger, so that its losses weigh as much as all.  Every other row is
        at the end of its box that its margin asks for.
        """
        problem, n = whole.problem, len(whole.problem)
        chosen = np.sort(np.random.default_rng(0).permutation(n)[: n // SHARE])
        part, scale = problem.take(chosen), n / len(chosen)
        part = replace(part, lower=part.lower * scale, upper=part.upper * scale)
        limits = Limits(
            max(SAMPLE_GAP, self.limits.tol), self.steps_left(STEPS * LARGE), self.seconds_left()
        )
        found = solve_dual(part, whole.rows.take(chosen), limits)
        self.iterations += found.iterations
        self.computed += found.rows * len(chosen) / n
        support = np.flatnonzero(found.beta)
        inside = (part.lower < found.beta) & (found.beta < part.upper) & (found.beta != 0)
        if not len(support) or inside.sum() > INSIDE * len(support):
            return problem.start()
        values = self.product(whole, chosen[support], found.beta[support])
        residual = problem.linear - values - found.values.intercept
        above, below = residual - problem.epsilon, residual + problem.epsilon
        beta = np.where(above > 0, problem.upper, np.where(below < 0, problem.lower, 0.0))
        beta[chosen[inside]] = found.beta[inside] / scale
        violated = np.where(beta > 0, above, -below)
        return problem.balanced(beta, np.argsort(violated, kind="stable"))

    # -- descent -----------------------------------------------------------------------------------

    def descend(self, part: _Part, target: float) -> None:
        """Small problems until the gap is at most ``target``; 0: the relative one at most tol."""
        whole, last, size = not target, np.empty(0, dtype=np.intp), SMALL
        inner = self.limits.tol * float(np.abs(part.problem.linear).max(initial=0.0))
        values = part.values or part.look()
        while not self.ended(values, target):
            if whole and values.gap < CLOSE and self.leave_out(part, values):
                values = self.note(part)
                last = last[:0]
                if self.ended(values, target):
                    return
            for _ in range(1 if values.gap < CLOSE or not whole else CHECKED):
                up, down = part.slopes()
                differ = float(up.max(initial=-np.inf) - down.min(initial=np.inf))
                if differ <= ROUNDING * float(np.abs(part.products).max() + inner):
                    self.stopped = self.stopped or ("stalled" if whole else "")
                    part.look()
                    return
                kept = last[part.is_inside()[last]]
                size = LARGE if 2 * len(kept) > SMALL else size
                if len(part.problem) <= DIRECT:
                    last = np.arange(len(part.problem))
                    tolerance = min(inner, INNER * differ)
                else:
                    last = violators(up, down, kept[: int(KEPT * size)], size)
                    tolerance = INNER * differ
                if not self.solve_small(part, last, tolerance):  # below the rounding of β
                    self.stopped = self.stopped or ("stalled" if whole else "")
                    part.look()
                    return
                if len(last) == len(part.problem) or self.over():
                    inner = min(inner, differ) / 10
                    break
            values = self.note(part) if whole else part.look()

    def leave_out(self, part: _Part, values: Values) -> bool:
        """Solve for the rows near the margin alone; whether there were few enough."""
        near = _near(part)
        if len(near) > STAYING * len(part.problem) or len(near) < 2:
            return False
        rows = part.rows.take(near)
        beta, problem = part.beta[near], part.problem
        own = self.product(part, np.flatnonzero(beta), beta[beta != 0], rows)
        rest = part.products[near] - own
        inner = replace(
            problem.take(near),
            linear=problem.linear[near] - rest,
            total=problem.total - float(part.beta.sum() - beta.sum()),
        )
        few = _Part(inner, rows, beta.copy(), own)
        scale = max(abs(values.primal), abs(values.dual))
        try:
            self.descend(few, self.limits.tol * scale / 2)
        finally:
            moved = np.flatnonzero(few.beta != beta)
            change = self.product(part, near[moved], few.beta[moved] - beta[moved])
            part.products = part.products + change
            part.beta[near] = few.beta
        return True

    def solve_small(self, part: _Part, rows: Rows, tolerance: float) -> bool:
        """Minimise over these coefficients, the others as they are; whether any has changed."""
        problem = part.problem
        gram = part.rows.block(rows)
        if not np.isfinite(gram).all():
            raise DataError(
                "the kernel has values that are no finite numbers on these rows. Use "
                "normalize=True, or a kernel of smaller degree."
            )
        beta, before = part.beta[rows], part.beta[rows]
        gradient = part.products[rows] - problem.linear[rows]
        most = self.steps_left(STEPS * len(rows))
        box = (problem.lower[rows], problem.upper[rows])
        steps = descend_pairs(gram, gradient, beta, *box, problem.epsilon, tolerance, most)
        moved = np.flatnonzero(beta != before)
        change = self.product(part, rows[moved], beta[moved] - before[moved])
        part.products, part.beta[rows] = part.products + change, beta
        self.iterations += int(steps)
        self.blocks += 1
        return len(moved) > 0

    def product(
        self, part: _Part, rows: Rows, weights: FloatArray, of: KernelRows | None = None
    ) -> FloatArray:
        """The weighted sum of rows of K."""
        self.computed += len(rows)
        return (of or part.rows).product(rows, weights)

    # -- limits ------------------------------------------------------------------------------------

    def note(self, part: _Part) -> Values:
        """Compute the gap of all rows, and say so."""
        values = part.look()
        seconds = time.monotonic() - self.started
        self.history.append((seconds, values.gap, values.dual, values.primal))
        if self.progress is not None:
            self.progress(seconds, values.gap)
        return values

    def ended(self, values: Values, target: float) -> bool:
        """Whether the gap is reached, or a limit."""
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
        """Whether the time is over, or all steps are done."""
        return self.seconds_left() <= 0 or not self.steps_left(1)

    def seconds_left(self) -> float:
        """Of the limit."""
        return self.limits.seconds - (time.monotonic() - self.started)


def _near(part: _Part) -> Rows:
    """Rows inside their boxes, and those at an end that a slope between all others would move."""
    up, down = part.slopes()
    least, most = float(down.min(initial=np.inf)), float(up.max(initial=-np.inf))
    return np.flatnonzero((up >= least) | (down <= most))
