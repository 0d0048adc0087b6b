"""A problem of hierarchical kernel learning, from 0/1 columns to the selected conjunctions.

The problem is solved over all conjunctions (:mod:`formulakern.learning.hkl.active_set`) to half of
the tolerance.  The other half shortens the model: weights are dropped, the smallest first, as long
as the objective stays within the tolerance of the proven lower bound.  Then conjunctions that are
true on the same training rows become one rule, in their shortest form.  Of two propositions that
are opposite on the training rows (``x <= 3`` and ``x >= 4``) the first carries the weight of both.
Neither step changes a prediction on a training row.  With required signs, equal conjunctions are
joined in a form that may have the sign of their sum, and opposite propositions only if one may.

*A limited number of rules* is chosen by :mod:`formulakern.learning.selection`.  For ρ > 1 these
have the best weights under the norm of ρ.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, different_rows
from formulakern.deadline import Deadline
from formulakern.learning.hkl.active_set import GrownSolution, Report, grow
from formulakern.learning.hkl.lasso import grow_lasso
from formulakern.learning.hkl.options import Node, Options, Signs, closed
from formulakern.learning.hkl.rows import Rows
from formulakern.learning.hkl.rule_selection import SelectedFeatures, select_features
from formulakern.solvers.hierarchical.losses import Loss, MultinomialLoss
from formulakern.solvers.hierarchical.solve import (
    Features,
    relative_gap,
    solve_hierarchical,
)

#: For ρ = 1 the gap is closed to this share of the tolerance; the rest shortens the model.  With a
#: limit of rules, which shortens it anyway, features are added up to the second share, and the
#: whole tolerance is enough.
PROOF_GAP_SHARE, LIMITED_PROOF_GAP_SHARE = 1 / 3, 2 / 3
#: The share of the time for the problem without a limit of rules, if there is a limit.
GROWTH_TIME_SHARE = 0.6


@dataclass(frozen=True, eq=False)
class ScoreFunction:
    """The function Σ_r weights[r] · rules[r](x) + bias; an array has the bias of each group.

    Rules have different covers, largest weight first; a number is a feature that is not a
    conjunction.  ``n_weights`` conjunctions had weight before equal covers were joined.
    """

    rules: list[Node | int]
    weights: FloatArray
    bias: float | FloatArray
    n_weights: int


@dataclass(frozen=True, eq=False)
class HierarchicalModel:
    """The learned functions, their objective before joining, and the proven bound.

    ``path`` lists models of fewer and fewer features: their number, the functions, the objective.
    ``compared`` is that of the selected features.
    """

    functions: list[ScoreFunction]
    objective: float
    grown: GrownSolution
    path: list[tuple[int, list[ScoreFunction], float]] = field(default_factory=list)
    compared: tuple[int, float] | None = None

    @property
    def gap(self) -> float:
        """(objective − lower bound) / objective."""
        return relative_gap(self.objective, self.grown.lower_bound)

    def limited(self, most: int | None) -> HierarchicalModel:
        """Return the best model of at most ``most`` features."""
        found = [own for own in self.path if most is None or own[0] <= most]
        if not found:
            return self
        _, functions, objective = min(found, key=lambda own: own[2])
        return replace(self, functions=functions, objective=objective, compared=None)


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
    growing = deadline if options.max_rules is None else deadline.part(GROWTH_TIME_SHARE)
    if options.rho == 1:
        limited = options.max_rules is not None
        tol = options.tol * (LIMITED_PROOF_GAP_SHARE if limited else PROOF_GAP_SHARE)
        enough = options.tol if limited else tol
        grown = grow_lasso(rows, options, tol, enough, growing, start, report)
        if grown.gap <= options.tol and grown.status != "interrupted":
            grown = replace(grown, status="optimal")
        path, interrupted = select_features(rows, options, grown, deadline, report)
        if interrupted:
            grown = replace(grown, status="interrupted")
        listed = [(len(few), _functions_of(rows, few), few.objective) for few in path]
        model = HierarchicalModel(*listed[0][1:], grown, listed).limited(options.max_rules)
        return replace(model, compared=path[-1].compared)
    grown = grow(rows, options, options.tol / 2, growing, start, report)
    model = _shortened(rows, options, grown, deadline)
    kept = {rule for one in model.functions for rule in one.rules}
    if options.max_rules is None or len(kept) <= options.max_rules:
        return model
    path, interrupted = select_features(rows, options, grown, deadline, report)
    few = path[-1].features
    nodes = closed(one for one in few if isinstance(one, tuple))
    others = sorted(one for one in few if isinstance(one, int))
    features = rows.features(options, nodes, others)
    features.bits[[node not in few for node in nodes]] = False  # these get no weight
    K = rows.loss(options).n_functions
    solution = solve_hierarchical(
        [features] * K, rows.loss(options), tol=options.tol / 4, deadline=deadline
    )
    status = "interrupted" if interrupted else grown.status
    every: dict[str, Any] = {"nodes": [nodes] * K, "others": [others] * K, "solution": solution}
    return _shortened(rows, options, replace(grown, status=status, **every), deadline)


def _functions_of(rows: Rows, few: SelectedFeatures) -> list[ScoreFunction]:
    """Return the functions of their shared features."""
    functions = []
    for k, weights in enumerate(few.weights.T):
        used = np.flatnonzero(weights)
        used = used[np.argsort(-np.abs(weights[used]), kind="stable")]
        bias = -few.intercept if rows.examples.group is not None else -float(few.intercept[k])
        rules = [few.features[j] for j in used.tolist()]
        functions.append(ScoreFunction(rules, weights[used], bias, len(used)))
    return functions


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
    if signs is not None:  # a form that may have the sign of the sum comes last
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
        """Return the penalty, the loss, the intercept and the predictions."""
        u = np.where(kept, F, 0.0) @ columns
        b, cost = loss.true_intercept(u, loss.intercept(u, start)[0])
        return 0.5 * features.lattice.norm(np.where(kept[groups], f, 0.0)) ** 2, cost, b, u

    order, kept = np.argsort(np.abs(F), kind="stable"), F != 0
    best = value(kept)
    goal = best[0] + best[1] + room
    low, high = 0, len(order) + 1  # low weights can be dropped, high cannot
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
    """Return the bias plus the weights of constants, which are removed from ``merged``.

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
