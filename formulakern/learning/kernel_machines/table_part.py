"""A problem whose rows are one table in the memory of this process."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.interrupts import held
from formulakern.learning.kernel_machines.box_problem import BoxProblem, Values
from formulakern.learning.kernel_machines.kernel_rows import KernelRows
from formulakern.learning.kernel_machines.part import Part, Rows, SmallProblem, Violators
from formulakern.learning.kernel_machines.subproblem import slopes_of, violators

__all__ = ["ROUNDING", "TablePart"]

#: Slopes that differ by less, as a share of the largest, differ by rounding.
ROUNDING = 1e-13


@dataclass(eq=False)
class TablePart(Part):
    """A problem of rows in memory.

    Parameters
    ----------
    problem : BoxProblem of n rows
    rows : KernelRows of n rows
    beta, products : float64 (n,)
        Coefficients, and Kβ.
    origin : intp (n,)
        The rows of the problem that this one is a part of.
    before : float64 (n,)
        Their coefficients when the part was taken.
    """

    problem: BoxProblem
    rows: KernelRows
    beta: FloatArray = field(default_factory=lambda: np.zeros(0))
    products: FloatArray = field(default_factory=lambda: np.zeros(0))
    origin: Rows = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    before: FloatArray = field(default_factory=lambda: np.zeros(0))
    computed: float = 0.0

    def __post_init__(self) -> None:
        self.total, self.epsilon = self.problem.total, self.problem.epsilon
        self.largest = float(np.abs(self.problem.linear).max(initial=0.0))
        self.sampled = not self.total and not self.rows.held
        self.values: Values | None = None
        if len(self.beta) < len(self.problem):
            self.beta, self.products = np.zeros(len(self.problem)), np.zeros(len(self.problem))

    def __len__(self) -> int:
        return len(self.problem)

    # -- where to begin ----------------------------------------------------------------------------

    def begin(self) -> None:
        """As :meth:`.Part.begin`."""
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
        change = self._product(changed, (moved - known)[changed])
        self.beta, self.products = moved, products + change

    def _begin_at(self, beta: FloatArray) -> None:
        support = np.flatnonzero(beta)
        self.products = self._product(support, beta[support])
        self.beta = beta

    def sample(self, share: int) -> TablePart:
        """As :meth:`.Part.sample`."""
        n = len(self)
        chosen = np.sort(np.random.default_rng(0).permutation(n)[: n // share])
        part, scale = self.problem.take(chosen), n / len(chosen)
        part = replace(part, lower=part.lower * scale, upper=part.upper * scale)
        return TablePart(part, self.rows.take(chosen), origin=chosen)

    def is_inside(self) -> npt.NDArray[np.bool_]:
        """Whether a coefficient is neither 0 nor at an end."""
        beta, problem = self.beta, self.problem
        return np.asarray((beta > problem.lower) & (beta < problem.upper) & (beta != 0.0))

    def support_counts(self) -> tuple[int, int]:
        """As :meth:`.Part.support_counts`."""
        return int(np.count_nonzero(self.beta)), int(self.is_inside().sum())

    def begin_as(self, sample: Part) -> None:
        """As :meth:`.Part.begin_as`."""
        assert isinstance(sample, TablePart)
        assert sample.values is not None
        support = np.flatnonzero(sample.beta)
        values = self._product(sample.origin[support], sample.beta[support])
        suggested = suggestion(self.problem, values + sample.values.intercept)
        inside = sample.is_inside()
        suggested[sample.origin[inside]] = sample.beta[inside] * (len(sample) / len(self))
        violated = violations(self.problem, values + sample.values.intercept, suggested)
        self._begin_at(self.problem.balanced(suggested, np.argsort(violated, kind="stable")))

    # -- descent -----------------------------------------------------------------------------------

    def look(self) -> Values:
        """As :meth:`.Part.look`."""
        self.values = self.problem.values(self.beta, self.products)
        return self.values

    def slopes(self) -> tuple[FloatArray, FloatArray]:
        """See :func:`.subproblem.slopes_of`."""
        problem = self.problem
        descent = problem.linear - self.products
        return slopes_of(descent, self.beta, problem.lower, problem.upper, problem.epsilon)

    def violation(self) -> float:
        """As :meth:`.Part.violation`."""
        up, down = self.slopes()
        return max(float(up.max(initial=-np.inf) - down.min(initial=np.inf)), 0.0)

    def violators(self, kept: Rows, size: int) -> Violators:
        """As :meth:`.Part.violators`."""
        up, down = self.slopes()
        differ = float(up.max(initial=-np.inf) - down.min(initial=np.inf))
        rows = violators(up, down, kept, size) if size < len(self) else np.arange(len(self))
        return Violators(rows, differ, float(np.abs(self.products).max(initial=0.0)))

    def small(self, rows: Rows) -> SmallProblem:
        """As :meth:`.Part.small`."""
        problem = self.problem
        return SmallProblem(
            self.rows.block(rows),
            self.products[rows] - problem.linear[rows],
            self.beta[rows],
            problem.lower[rows],
            problem.upper[rows],
        )

    def move(self, rows: Rows, beta: FloatArray) -> None:
        """As :meth:`.Part.move`."""
        products = self.products + self._product(rows, beta - self.beta[rows])
        with held():
            self.products = products
            self.beta[rows] = beta

    def near(self, most: float) -> TablePart | None:
        """As :meth:`.Part.near`."""
        up, down = self.slopes()
        flattest, steepest = float(down.min(initial=np.inf)), float(up.max(initial=-np.inf))
        near = np.flatnonzero((up >= flattest) | (down <= steepest))
        if len(near) > most * len(self) or len(near) < 2:
            return None
        rest = float(self.beta.sum() - self.beta[near].sum())
        few, computed = part_of_others(
            self.problem.take(near), self.rows.take(near), self.beta[near], self.products[near],
            rest,
        )  # fmt: skip
        few.origin = near
        self.computed += computed
        return few

    def absorb(self, few: Part) -> None:
        """As :meth:`.Part.absorb`."""
        assert isinstance(few, TablePart)
        moved = np.flatnonzero(few.beta != few.before)
        change = self._product(few.origin[moved], few.beta[moved] - few.before[moved])
        with held():
            self.products = self.products + change
            self.beta[few.origin] = few.beta
        self.computed += few.computed

    def _product(self, rows: Rows, weights: FloatArray) -> FloatArray:
        """The weighted sum of rows of K."""
        self.computed += len(rows)
        return self.rows.product(rows, weights)


def part_of_others(
    problem: BoxProblem, rows: KernelRows, beta: FloatArray, products: FloatArray, rest: float
) -> tuple[TablePart, int]:
    """The problem of a part of the rows, while the coefficients of the others stay.

    Parameters
    ----------
    problem : BoxProblem of m rows
        Of these rows alone.
    rows : KernelRows of m rows
    beta, products : float64 (m,)
        Their coefficients, and Kβ with the coefficients of all.
    rest : float
        The sum of the coefficients of all others.

    Returns
    -------
    TablePart, int
        The problem, and how many rows of K were computed.
    """
    support = np.flatnonzero(beta)
    own = rows.product(support, beta[support])
    inner = replace(problem, linear=problem.linear - (products - own), total=problem.total - rest)
    return TablePart(inner, rows, beta.copy(), own, before=beta.copy()), len(support)


def suggestion(problem: BoxProblem, values: FloatArray) -> FloatArray:
    """The coefficients that decisions f + b ask for: the ends of the boxes, or 0."""
    residual = problem.linear - values
    above, below = residual - problem.epsilon, residual + problem.epsilon
    ends = np.where(below < 0, problem.lower, 0.0)
    return np.asarray(np.where(above > 0, problem.upper, ends))


def violations(problem: BoxProblem, values: FloatArray, beta: FloatArray) -> FloatArray:
    """How far decisions f + b are on the side that makes these coefficients right."""
    residual = problem.linear - values
    above, below = residual - problem.epsilon, residual + problem.epsilon
    return np.asarray(np.where(beta > 0, above, -below))
