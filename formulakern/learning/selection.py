r"""The path from many features to few: the best choice that a search finds for each size.

Let P(S) be the least objective of functions that give weight to the features S alone, under the
norm of :mod:`formulakern.solvers.group_lasso`.  Finding S of at most k features with the smallest
P(S) is NP-hard (B. K. Natarajan, "Sparse approximate solutions to linear systems", SIAM Journal on
Computing 24, 1995, doi:10.1137/S0097539792240406).  The path begins at a solution and removes the
features of least weight, some at a time.  At each size of the path a feature of little weight is
exchanged for the most promising other feature if P(S) falls, at the limit of features again and
again.

*Signs.*  A weight may contradict the evidence of its feature alone, since others correct for it.
Readers doubt such a rule, so others replace it if that costs little.

*The most promising feature.*  At the best functions of S let g_j = Σ_i β_i φ_j(x_i), Ω the norm,
and h_j the curvature of the loss along φ_j.  A weight of a feature j outside S lowers the objective
by about

    max(0, ‖g_j‖ − d_j Ω)² / 2(h_j + d_j²).

A lower bound on the problem of all features holds for every S: the gap to it bounds the cost of a
limit.

*The best subset.*  For small limits branch and bound improves the choice and bounds P(S) from below
for all S of at most k of the features.  A part of the choices includes some features and excludes
others.  The problem without the excluded ones bounds it.  The part of the smallest bound is divided
by the feature of largest weight that it does not include.  The search ends if the bound rises too
slowly to close the gap within the limit of parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

import numpy as np

from formulakern.arrays import FloatArray, IntArray
from formulakern.checks import check_integer
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.interrupts import held, interruptible
from formulakern.solvers.group_lasso import (
    MAX_NEWTON_STEPS,
    Curvature,
    curvatures,
    dual_norms,
    predicted,
    solve_group_lasso,
    sums_in,
)
from formulakern.solvers.hierarchical.losses import Loss
from formulakern.solvers.hierarchical.newton import Columns

#: The sizes of a path, up to the number of features.
PATH_SIZES = (1, 2, 3, 5, 8, 10, 15, 20, 30)
#: The default limit of the rules of a model.
DEFAULT_MAX_RULES = 15
#: The share of the features that are removed at once at first.
REMOVED_SHARE = 0.3
#: The number of features that are tried in an exchange, and the share by which it must lower P(S).
MAX_TRIED, MIN_IMPROVEMENT = 3, 1e-4
#: The largest ratio of the gain of an exchange to the prediction of the quadratic model.
MAX_GAIN_RATIO = 2.0
#: The largest limit for branch and bound, the largest number of parts, that number times features,
#: examples and the square of functions, and the number of parts before a slow search ends.
MAX_PROVEN_SIZE, MAX_PARTS, MAX_PARTS_WORK, MIN_PARTS = 5, 100, 1e6, 10
#: The largest share of the objective that weights in agreement with their evidence may cost.
MAX_AGREEMENT_COST = 0.05


def rule_limit(max_rules: Any) -> int | None:
    """Return the limit of rules for "auto", an integer or None.

    >>> rule_limit("auto"), rule_limit(3), rule_limit(None)
    (15, 3, None)
    """
    if isinstance(max_rules, str) and max_rules == "auto":
        return DEFAULT_MAX_RULES
    check_integer("max_rules", max_rules, otherwise="None for no limit, or 'auto'")
    return None if max_rules is None else int(max_rules)


@dataclass(frozen=True, eq=False)
class Selection:
    """Features with weights (k, K), by their ascending numbers.

    ``lower_bound`` bounds the objective of their best weights.
    """

    which: IntArray
    weights: FloatArray
    intercept: FloatArray
    objective: float
    lower_bound: float = 0.0

    def __len__(self) -> int:
        return len(self.which)

    @property
    def sizes(self) -> FloatArray:
        """The norm of the weights of each feature."""
        return np.asarray(np.sqrt(np.square(self.weights).sum(axis=1)))

    def heaviest_first(self) -> IntArray:
        """Return the places of the features, the largest norm first."""
        return np.argsort(-self.sizes, kind="stable")


@dataclass(eq=False)
class FeatureSelection:
    """The search for few features of a group lasso problem.

    Parameters
    ----------
    columns, penalties, signs, loss
        The problem, as for :func:`formulakern.solvers.group_lasso.solve_group_lasso`.
    tol : float
        The relative gap of P(S).
    most : int, optional
        The limit of features; without it there is no path.
    deadline : Deadline, optional
        After it the search ends as soon as the choice is within the limit.
    report : callable, optional
        Called with the first choice within the limit.
    sizes : sequence of int
        The sizes of the path, which includes the limit too.
    thorough : bool
        Whether features are exchanged at the limit as long as the objective falls.  Otherwise, and
        at other sizes, one exchange is tried.
    proves : bool
        Whether branch and bound bounds the choices of a small limit.

    Attributes
    ----------
    interrupted : bool
        Whether Ctrl-C ended the search.
    subset_bound : float or None
        A lower bound on the objective of all choices within the limit, if branch and bound ran.
    """

    columns: Columns
    penalties: FloatArray
    signs: IntArray | None
    loss: Loss
    tol: float
    most: int | None
    deadline: Deadline = UNLIMITED
    report: Callable[[Selection], None] | None = None
    sizes: Sequence[int] = PATH_SIZES
    thorough: bool = True
    proves: bool = False
    interrupted: bool = field(init=False, default=False)
    subset_bound: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.curvature: Curvature | None = None
        self.spread = np.sqrt(np.maximum(variances(self.columns, self.loss.c), 0.0))
        if self.loss.n_functions == 1:
            beta = self.loss.intercept(np.zeros(len(self.loss.y)), self.loss.cold)[1].beta
            self.evidence = np.sign(sums_in(self.columns, beta)[:, 0])

    def path(self, start: Selection, goal: float) -> list[Selection]:
        """Return the best choices found, the largest first.

        The first choice is the start without features of small weight: the objective stays within
        the goal.  Without a limit it is the only choice; otherwise the path continues from there.
        """
        most, found = self.most, [start]
        try:
            with interruptible():
                found[0] = here = self.within(start, goal)
                listed = set() if most is None else {*self.sizes, most}
                for size in sorted((size for size in listed if size < len(here)), reverse=True):
                    here = self.reduced(here, size)
                    if size <= max(most or 0, DEFAULT_MAX_RULES):
                        quick = not self.thorough or size != most
                        here = self.exchanged(here, quick)
                        if self.proves and size == most:
                            here = self.best_subset(here, start)
                        here = self.sensible(here, quick)
                    self.add(here, found)
                    if self.deadline.over():
                        break
        except KeyboardInterrupt:
            self.interrupted = True
        if most is not None and len(found[-1]) > most:
            with held():
                self.add(self.reduced(found[-1], most), found)
        return found

    def add(self, here: Selection, found: list[Selection]) -> None:
        """Add a choice to those found, and report the first one within the limit."""
        first = self.most is not None and len(here) <= self.most < len(found[-1])
        if self.report is not None and first:
            self.report(here)
        found.append(here)

    def solved(
        self,
        which: IntArray,
        weights: FloatArray,
        intercept: FloatArray,
        goal: float | None = None,
        max_steps: int = MAX_NEWTON_STEPS,
    ) -> Selection:
        """Return the best functions of some candidates, without candidates of weight zero.

        With a goal they need only show whether the best objective is within it.
        """
        kept = self.curvature
        if kept is not None:
            numbers = np.full(len(self.columns), -1)
            numbers[which] = np.arange(len(which))
            kept = kept.at(numbers[kept.features])
        solution = solve_group_lasso(
            self.columns.take(which),
            self.penalties[which],
            self.loss,
            tol=self.tol,
            start=(weights, intercept),
            signs=None if self.signs is None else self.signs[which],
            curvature=kept,
            goal=goal,
            max_steps=max_steps,
            deadline=self.deadline,
        )
        after = solution.curvature
        if after is not None and (kept is None or after.curvature is not kept.curvature):
            self.curvature = after.at(which[after.features])
        used = solution.weights.any(axis=1)
        return Selection(
            which[used],
            solution.weights[used],
            solution.intercept,
            solution.objective,
            solution.lower_bound,
        )

    def without(
        self,
        here: Selection,
        leaving: IntArray,
        goal: float | None = None,
        max_steps: int = MAX_NEWTON_STEPS,
    ) -> Selection:
        """Return the best functions without the candidates at some places."""
        stay = np.delete(np.arange(len(here)), leaving)
        return self.solved(here.which[stay], here.weights[stay], here.intercept, goal, max_steps)

    def lightest(self, here: Selection) -> IntArray:
        """Return the places of the candidates, by increasing effect on the scores."""
        return np.argsort(here.sizes * self.spread[here.which], kind="stable")

    def within(self, here: Selection, goal: float) -> Selection:
        """Remove features while the objective stays within the goal."""
        share = REMOVED_SHARE
        while len(here) > 0 and not self.deadline.over():
            leaving = max(1, int(share * len(here)))
            fewer = self.without(here, self.lightest(here)[:leaving], goal)
            if fewer.objective <= goal:
                here = fewer
            elif leaving > 1:
                share /= 2
            else:
                break
        return here

    def reduced(self, here: Selection, size: int) -> Selection:
        """Remove features until ``size`` remain."""
        while (surplus := len(here) - size) > 0:
            leaving = surplus if self.deadline.over() else math.ceil(REMOVED_SHARE * len(here))
            leaving = min(leaving, surplus)
            here = self.without(here, self.lightest(here)[:leaving])
        return here

    def exchanged(self, here: Selection, quick: bool = False) -> Selection:
        """Exchange features, one at a time, as long as the objective falls.

        A quick exchange tries one feature only, from one Newton step without it.
        """
        max_tried, max_steps = (1, 1) if quick else (MAX_TRIED, MAX_NEWTON_STEPS)
        improved = True
        while improved and not self.deadline.over():
            improved = False
            for leaving in self.lightest(here)[:max_tried]:
                rest = self.without(here, leaving, max_steps=max_steps)
                entering, gain = self.promising(rest, int(here.which[leaving]))
                if rest.objective - MAX_GAIN_RATIO * gain >= here.objective:
                    continue
                tried = self.larger(rest, entering)
                if tried.objective < (1 - MIN_IMPROVEMENT) * here.objective:
                    here, improved = tried, not quick
                    break
        return here

    def sensible(self, here: Selection, quick: bool = False) -> Selection:
        """Exchange features of one function whose weights contradict their own evidence.

        The evidence of a feature is the sign of Σ_i β_i φ_j(x_i) if all weights are zero.  The
        choice is kept if the exchange costs more than a share of the objective.
        """
        if self.loss.n_functions > 1:
            return here
        wrong = np.flatnonzero(here.weights[:, 0] * self.evidence[here.which] < 0)
        if not len(wrong):
            return here
        asked = np.zeros(len(self.evidence)) if self.signs is None else self.signs
        signs = np.where(asked != 0, asked, self.evidence)
        other = copy(self)
        other.signs = signs.astype(np.int64)
        better = other.without(here, wrong)
        for _ in range(len(here) - len(better)):
            entering, gain = other.promising(better, -1)
            if not gain:
                break
            better = other.larger(better, entering)
        better = other.exchanged(better, quick)
        return better if better.objective <= (1 + MAX_AGREEMENT_COST) * here.objective else here

    def best_subset(self, here: Selection, start: Selection) -> Selection:
        """Return the best choice within the limit that branch and bound finds, at least ``here``.

        ``start`` is near the solution of the problem of all features.
        """
        n, most, width = len(self.penalties), self.most or 0, self.loss.n_functions
        number = int(min(MAX_PARTS, MAX_PARTS_WORK / (n * len(self.loss.y) * width**2)))
        if most > MAX_PROVEN_SIZE or number == 0:
            return here
        every, weights = np.arange(n), np.zeros((n, width))
        weights[start.which] = start.weights
        root = self.solved(every, weights, start.intercept)
        parts: list[tuple[float, int, list[int], IntArray, Selection]] = []
        heappush(parts, (root.lower_bound, 0, [], every, root))
        closed = np.inf
        for place in range(1, number):
            goal = (1 - self.tol) * here.objective
            if not parts or parts[0][0] >= goal or self.deadline.over():
                break
            growth, needed = parts[0][0] - root.lower_bound, goal - root.lower_bound
            if place > MIN_PARTS and growth * number < place * needed:
                break  # too slow to close the gap
            bound, _, included, allowed, relaxed = heappop(parts)
            order = relaxed.which[self.lightest(relaxed)[::-1]]
            further = order[~np.isin(order, included)]
            chosen = np.sort([*included, *further[: most - len(included)]]).astype(np.int64)
            weights[:] = 0.0
            weights[relaxed.which] = relaxed.weights
            tried = self.solved(chosen, weights[chosen], relaxed.intercept)
            here = min(here, tried, key=lambda one: one.objective)
            if len(included) + len(further) <= most:  # no better choice in this part
                closed = min(closed, bound)
                continue
            first = int(further[0])
            if len(included) + 1 < most:
                heappush(parts, (bound, 2 * place, [*included, first], allowed, relaxed))
            else:
                closed = min(closed, tried.lower_bound)
            fewer = allowed[allowed != first]
            rest = self.solved(fewer, weights[fewer], relaxed.intercept)
            bound = max(bound, rest.lower_bound)
            heappush(parts, (bound, 2 * place + 1, included, fewer, rest))
        self.subset_bound = min(closed, here.objective, *(part[0] for part in parts))
        return here

    def larger(self, here: Selection, entering: int) -> Selection:
        """Return the best functions with one more candidate."""
        place = int(np.searchsorted(here.which, entering))
        which = np.insert(here.which, place, entering)
        return self.solved(which, np.insert(here.weights, place, 0, 0), here.intercept)

    def promising(self, here: Selection, but: int) -> tuple[int, float]:
        """Return the most promising candidate outside a choice, except ``but``, and its gain."""
        u = predicted(self.columns.take(here.which), here.weights)
        expansion = self.loss.intercept(u, here.intercept)[1]
        curvature = curvatures(self.loss, expansion).max(axis=0)
        sums = sums_in(self.columns, expansion.beta)
        norm = float(self.penalties[here.which] @ here.sizes)
        over = np.maximum(0.0, dual_norms(sums, self.penalties, self.signs) - norm)
        bends = variances(self.columns, curvature) * curvature.sum() / self.penalties**2
        gains = np.square(over) / (2 * (bends + 1))
        gains[[*here.which, *([but] if but >= 0 else [])]] = 0.0
        best = int(gains.argmax())
        return best, float(gains[best])


def variances(columns: Columns, weights: FloatArray) -> FloatArray:
    """Return the weighted variance of each feature."""
    total = max(float(weights.sum()), np.finfo(np.float64).tiny)
    means = columns.sums(weights) / total
    return np.maximum(columns.squares(weights) / total - means**2, 0.0)
