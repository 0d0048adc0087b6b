"""One problem of hierarchical kernel learning, from 0/1 columns to the conjunctions it needs.

The problem is solved over all conjunctions (:mod:`formulakern.learning.hkl.active_set`) to half of
the tolerance.  The other half pays for brevity: weights are dropped, the
smallest first, as long as the objective stays within the tolerance of the proven lower bound.
Then conjunctions that are true on the same training rows become one rule, in the shortest of
their forms, and of two propositions that are opposite on the training rows (``x <= 3`` and
``x >= 4``) the first carries the weight of both.  Neither step changes a prediction on a training
row.  If weights must have signs, the rule that carries them may have the sign of the sum: of those
that are joined, one does, and of two opposite ones neither moves if none does.

*A limited number of rules.*  Let P(S) be the least objective of functions that give weight to the
features S alone.  Wanted is S of at most k features with the smallest P(S), by the search of
:mod:`formulakern.learning.selection`; features are promising if their share of the dual norm is
large.  The lower bound on the optimum over all conjunctions holds for every S, so the difference to
P(S) bounds the cost of the limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, different_rows
from formulakern.deadline import Deadline
from formulakern.learning.hkl.active_set import GrownSolution, GrowthStep, Report, grow
from formulakern.learning.hkl.lasso import Few, few_features, grow_lasso
from formulakern.learning.hkl.options import Node, Options, Signs, closed
from formulakern.learning.hkl.rows import Rows
from formulakern.learning.selection import Selection
from formulakern.solvers.hierarchical.losses import Loss, MultinomialLoss
from formulakern.solvers.hierarchical.norm import right_signed
from formulakern.solvers.hierarchical.solve import (
    Features,
    HierarchicalSolution,
    relative_gap,
    solve_hierarchical,
)

#: For ρ = 1 the gap is closed to this share of the tolerance; the rest pays for brevity.
PROOF = 1 / 3
#: Share of the time for the problem without a limit of rules, if there is one.
GROWING = 0.6


@dataclass(frozen=True, eq=False)
class ScoreFunction:
    """The function Σ_r weights[r] · rules[r](x) + bias; an array has the bias of each group.

    Rules have different covers, largest weight first; a number is a feature that is not a
    conjunction.  ``n_weights`` conjunctions had weight before those of equal covers were joined.
    """

    rules: list[Node | int]
    weights: FloatArray
    bias: float | FloatArray
    n_weights: int


@dataclass(frozen=True, eq=False)
class HierarchicalModel:
    """The learned functions, their objective before joining, and what is proven."""

    functions: list[ScoreFunction]
    objective: float
    grown: GrownSolution

    @property
    def gap(self) -> float:
        """(objective − lower bound) / objective."""
        return relative_gap(self.objective, self.grown.lower_bound)


#: The most promising features, of which each is tried.
TRIED = 4


@dataclass(frozen=True, eq=False)
class Chosen:
    """Features, largest weight first, and the best functions of them.

    The solution is over ``nodes``, the conjunctions and all their subsets, and ``others``.
    """

    kept: tuple[Node | int, ...]
    weights: FloatArray  # (K, len(kept))
    nodes: list[Node]
    others: list[int]
    solution: HierarchicalSolution

    @property
    def worth(self) -> float:
        """−P(S)."""
        return -self.solution.objective


@dataclass(eq=False)
class FeatureSelection(Selection):
    """Choose features of a solution: conjunctions that vary, one for each cover, and others.

    ``shown`` is called with every better choice.
    """

    better = 1e-4

    rows: Rows
    options: Options
    grown: GrownSolution
    shown: Report

    def __post_init__(self) -> None:
        nodes = sorted({v for own in self.grown.nodes for v in own}, key=lambda v: (len(v), v))
        others = sorted({j for own in self.grown.others for j in own})
        features = self.rows.features(self.options, nodes, others)
        # nodes are in order, so that the first of equal covers is the shortest
        first, kind = different_rows(np.packbits(np.ascontiguousarray(features.bits), axis=1))
        same = {v: nodes[first[k]] for v, k in zip(nodes, kind, strict=True)}
        varying = np.asarray(features.bits.any(axis=1) & ~features.bits.all(axis=1))
        kept = [k for k in sorted(first.tolist()) if varying[k]]
        self.forms: list[Any] = [*(nodes[k] for k in kept), *others]
        support = dict.fromkeys(same.get(one, one) for one in self.support)
        self.support = [one for one in support if one in self.forms]
        self.loss = self.rows.loss(self.options)
        self.values = np.vstack([features.bits[kept], features.others])
        # what one unit of weight alone adds to the norm
        powers = [(1 + self.options.depth_penalty) ** len(nodes[k]) for k in kept]
        self.penalties = np.array(powers + [self.options.other_penalty] * len(others))
        every = [*kept, *range(len(nodes), len(nodes) + len(others))]
        self.signs = None if features.signs is None else features.signs[every]

    def solved(self, kept: Sequence[Node | int], before: Chosen | None = None) -> Chosen:
        """Solve the problem on some features, begun from the weights of ``before``."""
        nodes = closed(v for v in kept if isinstance(v, tuple))
        others = [j for j in kept if isinstance(j, int)]
        listed: list[Node | int] = [*nodes, *others]
        features = self.rows.features(self.options, nodes, others)
        features.bits[[v not in kept for v in nodes]] = False  # so that these get no weight
        known = {} if before is None else dict(zip(before.kept, before.weights.T, strict=True))
        none = np.zeros(self.loss.n_functions)
        start = np.stack([known.get(one, none) for one in listed], axis=1)
        solution = solve_hierarchical(
            [features] * self.loss.n_functions,
            self.loss,
            tol=self.options.tol / 4,
            start=(list(start), self.grown.solution.intercept) if start.any() else None,
            deadline=self.deadline,
        )
        places = [listed.index(one) for one in kept]
        weights = np.array(solution.weights)[:, places]
        spread = np.vstack([features.bits, features.others])[places].std(axis=1)
        order = np.argsort(-np.square(weights).sum(axis=0) * spread**2, kind="stable")
        heaviest = tuple(kept[k] for k in order.tolist())
        return Chosen(heaviest, weights[:, order], nodes, others, solution)

    def promising(self, chosen: Chosen) -> list[Node | int]:
        """Return the features with the largest shares of the dual norm."""
        dual = np.atleast_2d(chosen.solution.dual.T)
        sums = right_signed(dual @ self.values.T, self.signs)
        shares = np.sqrt(np.square(sums).sum(axis=0)) / self.penalties
        largest = [j for j in np.argsort(-shares, kind="stable") if shares[j] > 0.0]
        return [self.forms[j] for j in largest if self.forms[j] not in chosen.kept][:TRIED]

    def report(self, chosen: Chosen) -> None:
        """Report a better choice."""
        number, objective = len(chosen.kept), chosen.solution.objective
        gap = relative_gap(objective, self.grown.lower_bound)
        self.shown(0, GrowthStep(number, objective, gap, 0, self.deadline.taken(), number))


def learn(
    rows: Rows,
    options: Options,
    deadline: Deadline,
    start: GrownSolution | None,
    report: Report,
) -> HierarchicalModel:
    """Solve a problem, choose few rules, drop the smallest weights, and join equal covers.

    ``start`` is a solution for other parameters; ``report`` is called with the number of a function
    and each step.
    """
    growing = deadline if options.max_rules is None else deadline.part(GROWING)
    if options.rho == 1:
        grown = grow_lasso(rows, options, PROOF * options.tol, growing, start, report)
        if grown.gap <= options.tol and grown.status != "interrupted":
            grown = replace(grown, status="optimal")
        return _of_few(rows, few_features(rows, options, grown, deadline, report), grown)
    grown = grow(rows, options, options.tol / 2, growing, start, report)
    model = _shortened(rows, options, grown, deadline)
    if options.max_rules is None:
        return model
    weights = np.concatenate([one.weights for one in model.functions])
    rules = [rule for one in model.functions for rule in one.rules]
    support = [rules[k] for k in np.argsort(-np.abs(weights), kind="stable").tolist()]
    most, K = options.max_rules, len(model.functions)
    selection = FeatureSelection(support, most, deadline, rows, options, grown, report)
    if len(selection.support) <= most:
        return model
    best = selection.run()
    few = replace(
        grown,
        status="interrupted" if selection.interrupted else grown.status,
        nodes=[best.nodes] * K,
        others=[best.others] * K,
        solution=best.solution,
    )
    return _shortened(rows, options, few, deadline)


def _of_few(rows: Rows, few: Few, grown: GrownSolution) -> HierarchicalModel:
    """Return the functions of features that they share."""
    functions = []
    for k, weights in enumerate(few.weights.T):
        used = np.flatnonzero(weights)
        used = used[np.argsort(-np.abs(weights[used]), kind="stable")]
        bias = -few.intercept if rows.examples.group is not None else -float(few.intercept[k])
        rules = [few.features[j] for j in used.tolist()]
        functions.append(ScoreFunction(rules, weights[used], bias, len(used)))
    return HierarchicalModel(functions, few.objective, grown)


def _shortened(
    rows: Rows, options: Options, grown: GrownSolution, deadline: Deadline
) -> HierarchicalModel:
    """Drop the smallest weights of each function in turn as far as the tolerance allows."""
    solution, loss, tol = grown.solution, rows.loss(options), options.tol
    b = solution.intercept
    goal = max(grown.lower_bound / (1 - tol), solution.objective / (1 - tol / 2))
    room = max(0.0, goal - solution.objective) / loss.n_functions
    features = [
        rows.features(options, nodes, others)
        for nodes, others in zip(grown.nodes, grown.others, strict=True)
    ]
    parts = [*zip(grown.nodes, grown.others, features, solution.weights, strict=True)]
    scores = np.stack([f @ np.vstack([one.bits, one.others]) for *_, one, f in parts], axis=1)
    several = isinstance(loss, MultinomialLoss)
    if several:
        scores -= b
    functions, objective, cost = [], 0.0, 0.0
    for k, part in enumerate(parts):
        alone, start = loss, b
        if isinstance(loss, MultinomialLoss):
            alone, start = loss.alone(scores, k), np.zeros(1)
        found = _short(rows, options.signs, part, alone, start, room, deadline)
        function, penalty, cost, u, own = found
        if several:
            scores[:, k] = u - own
        functions.append(function)
        objective += penalty
    objective += loss.expand(scores).value if several else cost
    return HierarchicalModel(functions, objective, grown)


def _short(
    rows: Rows,
    signs: Signs | None,
    part: tuple[list[Node], list[int], Features, FloatArray],
    loss: Loss,
    start: FloatArray,
    room: float,
    deadline: Deadline,
) -> tuple[ScoreFunction, float, float, FloatArray, FloatArray]:
    """Drop the smallest weights while the objective grows by at most ``room``; join equal covers.

    Returns the function, its penalty, its loss, its predictions and the intercept.
    """
    nodes, others, features, f = part
    first, groups = different_rows(np.packbits(np.ascontiguousarray(features.bits), axis=1))
    shortest = sorted(range(len(nodes)), key=lambda k: (len(nodes[k]), nodes[k]), reverse=True)
    if signs is not None:  # a form that may have the sign of the sum stands last
        sums = np.bincount(groups, f[: len(nodes)])[groups] * signs.of_all(nodes)
        shortest.sort(key=lambda k: bool(sums[k] >= 0))
    form_of = {int(groups[k]): nodes[k] for k in shortest}
    forms = [form_of[group] for group in range(len(first))]
    covers = features.bits[first]
    named: list[Node | int] = [*forms, *others]
    groups = np.append(groups, len(first) + np.arange(len(others)))
    F = np.bincount(groups, f, len(named))
    columns = np.concatenate([covers, features.others])

    def value(kept: NDArray[np.bool_]) -> tuple[float, float, FloatArray, FloatArray]:
        """The penalty, the loss, the intercept and the predictions."""
        u = np.where(kept, F, 0.0) @ columns
        b, cost = loss.true_intercept(u, loss.intercept(u, start)[0])
        return 0.5 * features.lattice.norm(np.where(kept[groups], f, 0.0)) ** 2, cost, b, u

    order, kept = np.argsort(np.abs(F), kind="stable"), F != 0
    best = value(kept)
    goal = best[0] + best[1] + room
    low, high = 0, len(order) + 1  # this many can be dropped, this many cannot
    while high - low > 1 and not deadline.over():
        middle = (low + high) // 2
        tried = np.ones(len(order), dtype=np.bool_)
        tried[order[:middle]] = False
        found = value(tried)
        if found[0] + found[1] <= goal:
            low, kept, best = middle, tried, found
        else:
            high = middle
    penalty, cost, b, u = best
    merged = np.where(kept, F, 0.0)
    bias = -float(b[0]) if rows.examples.group is None else -b
    bias = _without_complements(forms, covers, merged, bias, signs)
    listed = sorted(np.flatnonzero(merged).tolist(), key=lambda k: (-abs(merged[k]), k))
    n_weights = int(np.count_nonzero(kept[groups] & (f != 0)))
    function = ScoreFunction([named[k] for k in listed], merged[listed], bias, n_weights)
    return function, penalty, cost, u, b


def _without_complements(
    forms: list[Node],
    covers: NDArray[np.bool_],
    merged: FloatArray,
    bias: float | FloatArray,
    signs: Signs | None = None,
) -> float | FloatArray:
    """The bias with the weights of constants, which ``merged`` loses.

    Of two opposite propositions the first carries both weights, if it may have their sign.
    """
    place = {cover.tobytes(): k for k, cover in enumerate(covers)}
    for k in np.flatnonzero(merged[: len(covers)]).tolist():
        if covers[k].all():
            bias = bias + merged[k]
            merged[k] = 0.0
        elif not covers[k].any():
            merged[k] = 0.0
        elif len(forms[k]) == 1:
            other = place.get((~covers[k]).tobytes())
            if other is not None and len(forms[other]) == 1 and forms[other] < forms[k]:
                both = merged[other] - merged[k]
                if signs is not None and both * signs.of(forms[other]) < 0:
                    continue
                bias = bias + merged[k]
                merged[other] = both
                merged[k] = 0.0
    return bias
