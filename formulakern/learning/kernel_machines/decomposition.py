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
from dataclasses import dataclass

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.errors import DataError
from formulakern.interrupts import interruptible
from formulakern.learning.kernel_machines.box_problem import BoxProblem, Values
from formulakern.learning.kernel_machines.kernel_rows import KernelRows
from formulakern.learning.kernel_machines.part import Part, Rows
from formulakern.learning.kernel_machines.subproblem import descend_pairs
from formulakern.learning.kernel_machines.table_part import ROUNDING, TablePart

__all__ = ["Descent", "DualSolution", "Limits", "solve_dual"]

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
    whole = TablePart(problem, rows)
    run = Descent(len(problem), limits, progress)
    if start is not None:
        whole.begin_near(*start)
    run.solve(whole, begun=start is not None)
    assert whole.values is not None
    return DualSolution(
        whole.beta,
        whole.products,
        whole.values,
        whole.violation(),
        run.iterations,
        run.blocks,
        int(whole.computed),
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
        """The first coefficients: those that a sample suggests, where there are many rows."""
        if len(whole) <= SAMPLED or not whole.sampled:
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
        whole.computed += sample.computed * len(sample) / len(whole)
        support, inside = sample.support_counts()
        if not support or inside > INSIDE * support:
            whole.begin()
        else:
            whole.begin_as(sample)

    # -- descent -----------------------------------------------------------------------------------

    def descend(self, part: Part, target: float) -> None:
        """Small problems until the gap is at most ``target``; 0: the relative one at most tol."""
        whole, size, n = not target, SMALL, len(part)
        kept = np.empty(0, dtype=np.intp)  # rows of the last problem that are inside their boxes
        inner = self.limits.tol * part.largest
        values = part.values or part.look()
        while not self.ended(values, target):
            if whole and values.gap < CLOSE and self.leave_out(part, values):
                values = self.note(part)
                kept = kept[:0]
                if self.ended(values, target):
                    return
            for _ in range(1 if values.gap < CLOSE or not whole else CHECKED):
                size = n if n <= DIRECT else LARGE if 2 * len(kept) > SMALL else size
                found = part.violators(kept[: int(KEPT * size)], size)
                few = None
                if found.differ > ROUNDING * (found.largest + inner):
                    tolerance = INNER * found.differ
                    few = self.solve_small(
                        part, found.rows, min(inner, tolerance) if n <= DIRECT else tolerance
                    )
                if few is None:  # below the rounding of β
                    self.stopped = self.stopped or ("stalled" if whole else "")
                    part.look()
                    return
                kept = few
                if len(found.rows) == n or self.over():
                    inner = min(inner, found.differ) / 10
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
        small = part.small(rows)
        if not np.isfinite(small.gram).all():
            raise DataError(
                "the kernel has values that are no finite numbers on these rows. Use "
                "normalize=True, or a kernel of smaller degree."
            )
        beta, box = small.beta.copy(), (small.lower, small.upper)
        gradient, most = small.gradient, self.steps_left(STEPS * len(rows))
        steps = descend_pairs(small.gram, gradient, beta, *box, part.epsilon, tolerance, most)
        moved = np.flatnonzero(beta != small.beta)
        part.move(rows[moved], beta[moved])
        self.iterations += int(steps)
        self.blocks += 1
        inside = (beta > small.lower) & (beta < small.upper) & (beta != 0.0)
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
