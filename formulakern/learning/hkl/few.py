r"""The path from many features to few: for each size the best choice that a search finds.

Let P(S) be the least objective of functions that give weight to the features S alone, under the
norm of :mod:`formulakern.learning.hkl.lasso`.  To find S of at most k features with the smallest
P(S) is NP-hard (B. K. Natarajan, "Sparse approximate solutions to linear systems", SIAM Journal on
Computing 24, 1995, doi:10.1137/S0097539792240406).  The path begins at a solution.  The features
of least weight leave, some at a time.  At each size of the path one feature of little weight is
exchanged for the most promising other one, as long as P(S) falls.

*What is promising.*  At the best functions of S let g_j = Σ_i β_i φ_j(x_i), Ω the norm, and h_j the
curvature of the loss along φ_j.  A weight of the feature j outside S lowers the objective by about

    max(0, ‖g_j‖ − d_j Ω)² / 2(h_j + d_j²).

The lower bound over all conjunctions holds for every S: the gap to it bounds the cost of a limit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from formulakern.arrays import FloatArray, IntArray
from formulakern.deadline import Deadline
from formulakern.encoding.ordered import OrderedTable
from formulakern.encoding.packed import PackedTable
from formulakern.interrupts import held, interruptible
from formulakern.learning.hkl.active_set import GrownSolution, GrowthStep, Report
from formulakern.learning.hkl.lasso import Active
from formulakern.learning.hkl.options import Node, Options
from formulakern.learning.hkl.rows import Rows
from formulakern.solvers.group_lasso import (
    curvatures,
    dual_norms,
    predicted,
    solve_group_lasso,
    sums_in,
)
from formulakern.solvers.hierarchical.newton import Columns
from formulakern.solvers.hierarchical.solve import relative_gap

#: The sizes of a path, as far as there are features.
SIZES = (1, 2, 3, 5, 8, 10, 15, 20, 30)
#: The most rules that a model has by default.
AUTOMATIC = 15
#: The share of the features that leave at once, at first.
LEAVING = 0.3
#: An exchange is tried for so many features of least weight, and must lower P(S) by this share.
TRIED, BETTER = 3, 1e-4
#: The quadratic model may promise so many times less than an exchange gains.
SLACK = 2.0
#: The relative gap of P(S), as a share of the tolerance.
EXACT = 0.1


@dataclass(frozen=True, eq=False)
class Few:
    """Features, heaviest first, their weights (k, K), intercepts and the objective."""

    features: list[Node | int]
    weights: FloatArray
    intercept: FloatArray
    objective: float

    def __len__(self) -> int:
        return len(self.features)


@dataclass(frozen=True, eq=False)
class _Choice:
    """Candidates with weights (k, K), by their numbers, which ascend."""

    which: IntArray
    weights: FloatArray
    intercept: FloatArray
    objective: float

    @property
    def sizes(self) -> FloatArray:
        return np.asarray(np.sqrt(np.square(self.weights).sum(axis=1)))


@dataclass(eq=False)
class FewFeatures:
    """The candidates of a problem: the features of a solution, and all that were in use before."""

    rows: Rows
    options: Options
    grown: GrownSolution
    deadline: Deadline
    report: Report
    interrupted: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        active, grown = Active(self.rows, self.options), self.grown
        weights: dict[Node | int, FloatArray] = {}
        for k, known in enumerate(grown.weights):
            for one, weight in known.items():
                if weight:
                    weights.setdefault(one, np.zeros(len(grown.weights)))[k] = weight
        nodes = [*dict.fromkeys([*(v for own in grown.nodes for v in own), *grown.tried])]
        nodes.sort(key=lambda node: node not in weights)  # those with weight stay
        active.enter(nodes, len(nodes))
        active.others = sorted({j for own in grown.others for j in own})
        self.features, self.penalties, self.signs = active.features, active.penalties, active.signs
        self.columns, self.loss = active.columns(self.deadline), self.rows.loss(self.options)
        self.spread = np.sqrt(np.maximum(variances(self.columns, self.loss.c), 0.0))
        none = np.zeros(self.loss.n_functions)
        listed = [weights.get(one, none) for one in self.features]
        start = np.reshape(listed, (len(listed), len(none)))
        which = np.flatnonzero(start.any(axis=1))
        b = grown.solution.intercept
        self.start = _Choice(which, start[which], b, grown.solution.objective)

    def path(self) -> list[Few]:
        """Return the best choices that are found, the largest first.

        The first one is the solution without features whose weights are small: the gap stays within
        ``tol``, or if it is larger already the objective grows by this share at most.  Without
        ``max_rules`` it is the only one; with it the path goes down from there.
        """
        most, goal = self.options.max_rules, self.grown.lower_bound / (1 - self.options.tol)
        if self.grown.gap > self.options.tol:
            goal = self.grown.solution.objective * (1 + self.options.tol)
        found = [self.start]
        try:
            with interruptible():
                found[0] = here = self.within(self.start, goal)
                for size in self.sizes(len(here.which)):
                    here = self.reduced(here, size)
                    here = self.exchanged(here) if size <= max(most or 0, AUTOMATIC) else here
                    self.add(here, found)
                    if self.deadline.over():
                        break
        except KeyboardInterrupt:
            self.interrupted = True
        if most is not None and len(found[-1].which) > most:
            with held():
                self.add(self.reduced(found[-1], most), found)
        return [self.few(one) for one in found]

    def sizes(self, n: int) -> Iterable[int]:
        """Return the sizes of the path below n, the largest first."""
        if self.options.max_rules is None:
            return []
        if self.options.rho > 1:  # another norm decides there
            return [size for size in [self.options.max_rules] if size < n]
        return sorted({size for size in (*SIZES, self.options.max_rules) if size < n}, reverse=True)

    def add(self, here: _Choice, found: list[_Choice]) -> None:
        """Add a choice to those that were found, and report the first one within the limit."""
        n, most = len(here.which), self.options.max_rules
        if most is not None and n <= most < len(found[-1].which):
            gap = relative_gap(here.objective, self.grown.lower_bound)
            self.report(0, GrowthStep(n, here.objective, gap, 0, self.deadline.taken(), n))
        found.append(here)

    def solved(self, which: IntArray, weights: FloatArray, intercept: FloatArray) -> _Choice:
        """Return the best functions of some candidates, those with weight alone."""
        solution = solve_group_lasso(
            self.columns.take(which),
            self.penalties[which],
            self.loss,
            tol=EXACT * self.options.tol,
            start=(weights, intercept),
            signs=None if self.signs is None else self.signs[which],
            deadline=self.deadline,
        )
        used = solution.weights.any(axis=1)
        return _Choice(which[used], solution.weights[used], solution.intercept, solution.objective)

    def without(self, here: _Choice, leaving: IntArray) -> _Choice:
        """Return the best functions when candidates, by their places, have left."""
        stay = np.delete(np.arange(len(here.which)), leaving)
        return self.solved(here.which[stay], here.weights[stay], here.intercept)

    def lightest(self, here: _Choice) -> IntArray:
        """Return the places of the candidates, in the order of what they do for the scores."""
        return np.argsort(here.sizes * self.spread[here.which], kind="stable")

    def within(self, here: _Choice, goal: float) -> _Choice:
        """Let features leave while the objective stays within the goal."""
        share = LEAVING
        while len(here.which) > 0 and not self.deadline.over():
            leaving = max(1, int(share * len(here.which)))
            fewer = self.without(here, self.lightest(here)[:leaving])
            if fewer.objective <= goal:
                here = fewer
            elif leaving > 1:
                share /= 2
            else:
                break
        return here

    def reduced(self, here: _Choice, size: int) -> _Choice:
        """Let features leave until so many remain."""
        while (surplus := len(here.which) - size) > 0:
            leaving = min(max(1, int(LEAVING * len(here.which))), surplus)
            here = self.without(here, self.lightest(here)[:leaving])
        return here

    def exchanged(self, here: _Choice) -> _Choice:
        """Exchange features, one at a time, as long as the objective falls."""
        improved = True
        while improved and not self.deadline.over():
            improved = False
            for leaving in self.lightest(here)[:TRIED]:
                rest = self.without(here, leaving)
                entering, gain = self.promising(rest, int(here.which[leaving]))
                if rest.objective - SLACK * gain >= here.objective:
                    continue
                place = int(np.searchsorted(rest.which, entering))
                which = np.insert(rest.which, place, entering)
                tried = self.solved(which, np.insert(rest.weights, place, 0, 0), rest.intercept)
                if tried.objective < (1 - BETTER) * here.objective:
                    here, improved = tried, True
                    break
        return here

    def promising(self, here: _Choice, but: int) -> tuple[int, float]:
        """Return the most promising candidate outside a choice, except one, and its gain."""
        u = predicted(self.columns.take(here.which), here.weights)
        expansion = self.loss.intercept(u, here.intercept)[1]
        curvature = curvatures(self.loss, expansion).max(axis=0)
        sums = sums_in(self.columns, expansion.beta)
        norm = float(self.penalties[here.which] @ here.sizes)
        over = np.maximum(0.0, dual_norms(sums, self.penalties, self.signs) - norm)
        bends = variances(self.columns, curvature) * curvature.sum() / self.penalties**2
        gains = np.square(over) / (2 * (bends + 1))
        gains[[*here.which, but]] = 0.0
        best = int(gains.argmax())
        return best, float(gains[best])

    def few(self, here: _Choice) -> Few:
        """Return a choice; of two opposite propositions the one that fewer rows satisfy is used."""
        order = np.argsort(-here.sizes, kind="stable")
        features = [self.features[k] for k in here.which[order].tolist()]
        weights, b = here.weights[order], here.intercept
        for k, one in enumerate(features):
            other = opposite(self.rows.table, one)
            if other is not None:
                covered = self.rows.table.cover(one)[self.rows.examples.kind]
                if covered @ self.loss.c > 0.5 * self.loss.c.sum():
                    b = b - (weights[k] if len(b) == self.loss.n_functions else weights[k, 0])
                    features[k], weights[k] = other, -weights[k]
        return Few(features, weights, b, here.objective)


def opposite(table: OrderedTable | PackedTable, feature: Node | int) -> Node | None:
    """Return the proposition that is true where another one of a complete column is not."""
    if isinstance(feature, int) or len(feature) != 1 or not isinstance(table, OrderedTable):
        return None
    j, number = table.place(feature[0])
    column = table.columns[j]
    if not column.ordered or not all(column.sides) or (column.codes == column.n_values).any():
        return None
    n_gaps = column.n_values - 1
    return (int(table.starts[j]) + (number + n_gaps) % (2 * n_gaps),)


def variances(columns: Columns, weights: FloatArray) -> FloatArray:
    """Return the weighted variance of each feature."""
    total = max(float(weights.sum()), np.finfo(np.float64).tiny)
    means = columns.sums(weights) / total
    return np.maximum(columns.squares(weights) / total - means**2, 0.0)
