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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, IntArray
from formulakern.deadline import Deadline
from formulakern.encoding.packed import PackedTable
from formulakern.learning.hkl.active_set import GrownSolution, GrowthStep, Report, grow
from formulakern.learning.hkl.options import Node, Options, Signs
from formulakern.learning.hkl.rows import Rows
from formulakern.learning.selection import Selection
from formulakern.solvers.hierarchical.losses import Intercept, Loss
from formulakern.solvers.hierarchical.norm import right_signed
from formulakern.solvers.hierarchical.solve import (
    Features,
    HierarchicalSolution,
    relative_gap,
    solve_hierarchical,
)

__all__ = [
    "Candidates",
    "FeatureSelection",
    "HierarchicalModel",
    "Restriction",
    "ScoreFunction",
    "learn",
]

#: Share of the time for the problem without a limit of rules, if there is one.
GROWING = 0.6


@dataclass(frozen=True, eq=False)
class ScoreFunction:
    """The function Σ_r weights[r] · rules[r](x) + bias, of groups a bias each.

    Rules have different covers, largest weight first; a number is a feature that is not a
    conjunction.  ``n_weights`` conjunctions had weight before those of equal covers were joined.
    """

    rules: list[Node | int]
    weights: FloatArray
    bias: Intercept
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


class Candidates(NamedTuple):
    """Features that may get weight: conjunctions of different covers, then the others.

    Parameters
    ----------
    forms : list of tuple of int, or int
        The shortest conjunction of each cover; numbers of other features.
    values : float64 (number, m)
        On the examples.
    penalties : float64 (number,)
        What one unit of weight alone adds to the norm: (1 + a)^l for l propositions.
    signs : int64 (number,), optional
        Of their weights.
    """

    forms: list[Node | int]
    values: FloatArray
    penalties: FloatArray
    signs: IntArray | None

    @classmethod
    def of(cls, rows: Rows, options: Options, grown: GrownSolution) -> Candidates:
        """Return the different features of a solution that vary on the examples."""
        nodes = sorted({v for own in grown.nodes for v in own}, key=lambda v: (len(v), v))
        others = sorted({j for own in grown.others for j in own})
        features = rows.features(options, nodes, others)
        first = {cover.tobytes(): k for k, cover in reversed([*enumerate(features.bits)])}
        kept = [k for k in sorted(first.values()) if 0 < features.bits[k].mean() < 1]
        lengths = np.array([len(nodes[k]) for k in kept], dtype=np.float64)
        every = [*kept, *range(len(nodes), len(nodes) + len(others))]
        return cls(
            [*(nodes[k] for k in kept), *others],
            np.concatenate([features.bits[kept].astype(np.float64), features.others]),
            np.append(
                (1 + options.depth_penalty) ** lengths, [options.other_penalty] * len(others)
            ),
            None if features.signs is None else features.signs[every],
        )

    def positions(self, rows: Rows, forms: Sequence[Node | int]) -> list[int]:
        """The positions of features of equal cover, each once, in the order of ``forms``."""
        place: dict[Any, int] = {}
        for j, form in enumerate(self.forms):
            place[form if isinstance(form, int) else (self.values[j] > 0).tobytes()] = j
        nodes = [form for form in forms if isinstance(form, tuple)]
        covers = iter(rows.table.truths(rows.table.covers(nodes))[:, rows.examples.kind])
        keys = [form if isinstance(form, int) else next(covers).tobytes() for form in forms]
        return list(dict.fromkeys(place[key] for key in keys if key in place))


class Restriction(NamedTuple):
    """The problem on some features.

    Parameters
    ----------
    nodes : list of tuple of int
        The conjunctions of the features, and all their subsets.
    others : list of int
    columns : float64 (len(nodes) + len(others), m)
        Zero for the subsets that get no weight.
    places : intp (number,)
        The row of each feature.
    """

    nodes: list[Node]
    others: list[int]
    columns: FloatArray
    places: NDArray[np.intp]

    @classmethod
    def of(cls, found: Candidates, kept: Sequence[int]) -> Restriction:
        """The problem on the features at these positions."""
        forms = [found.forms[j] for j in kept]
        conjunctions = [form for form in forms if isinstance(form, tuple)]
        others = [form for form in forms if isinstance(form, int)]
        subsets = (combinations(v, size) for v in conjunctions for size in range(len(v) + 1))
        closed = {(), *chain.from_iterable(subsets)}
        nodes = sorted(closed, key=lambda v: (len(v), v))
        place = {one: k for k, one in enumerate([*nodes, *others])}
        places = np.array([place[form] for form in forms], dtype=np.intp)
        columns = np.zeros((len(place), found.values.shape[1]))
        columns[places] = found.values[list(kept)]
        return cls(nodes, others, columns, places)


@dataclass(frozen=True, eq=False)
class Chosen:
    """Positions of candidates, largest weight first, and the best functions of them."""

    kept: tuple[int, ...]
    weights: FloatArray  # (K, len(kept))
    restriction: Restriction
    solution: HierarchicalSolution

    @property
    def objective(self) -> float:
        """P(S)."""
        return self.solution.objective


@dataclass(eq=False)
class FeatureSelection(Selection):
    """Choose at most ``most`` of the candidates.

    ``support`` are positions of candidates; ``solve`` returns the solution of a restriction, begun
    from weights (K, len(nodes) + len(others)); ``shown`` is called with the number of features and
    the objective of every better choice.
    """

    better = 1e-4

    found: Candidates
    solve: Callable[[Restriction, FloatArray], HierarchicalSolution]
    n_functions: int
    shown: Callable[[int, float], None]

    def solved(self, kept: Sequence[int], before: Chosen | None = None) -> Chosen:
        """Solve the problem on some features, begun from the weights of ``before``."""
        restriction = Restriction.of(self.found, kept)
        start = np.zeros((self.n_functions, len(restriction.columns)))
        known = {} if before is None else dict(zip(before.kept, before.weights.T, strict=True))
        for place, j in zip(restriction.places.tolist(), kept, strict=True):
            start[:, place] = known.get(j, 0.0)
        solution = self.solve(restriction, start)
        own = np.array(solution.weights)[:, restriction.places]
        spread = self.found.values[list(kept)].std(axis=1)
        order = np.argsort(-np.square(own).sum(axis=0) * spread**2, kind="stable")
        return Chosen(tuple(kept[k] for k in order.tolist()), own[:, order], restriction, solution)

    def promising(self, chosen: Chosen) -> list[int]:
        """Return the features with the largest shares of the dual norm."""
        dual = np.atleast_2d(chosen.solution.dual.T)
        sums = right_signed(dual @ self.found.values.T, self.found.signs)
        shares = np.sqrt(np.square(sums).sum(axis=0)) / self.found.penalties
        shares[list(chosen.kept)] = 0.0
        largest = np.argsort(-shares, kind="stable")[:TRIED]
        return [int(j) for j in largest if shares[j] > 0.0]

    def improves(self, chosen: Chosen, before: Chosen, share: float = 0.0) -> bool:
        """Whether the objective is smaller."""
        return chosen.objective < before.objective * (1 - share)

    def report(self, chosen: Chosen) -> None:
        """Report a better choice."""
        self.shown(len(chosen.kept), chosen.objective)


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
    grown = grow(rows, options, options.tol / 2, growing, start, report)
    model = _shortened(rows, options, grown, deadline)
    if options.max_rules is None:
        return model
    weights = np.concatenate([one.weights for one in model.functions])
    rules = [rule for one in model.functions for rule in one.rules]
    found = Candidates.of(rows, options, grown)
    largest = np.argsort(-np.abs(weights), kind="stable").tolist()
    support = found.positions(rows, [rules[k] for k in largest])
    if len(support) <= options.max_rules:
        return model
    loss, K = rows.loss(options), len(model.functions)

    def solve(one: Restriction, weights: FloatArray) -> HierarchicalSolution:
        n = len(one.nodes)
        features = rows.features(options, one.nodes, one.others)
        features = features._replace(bits=one.columns[:n] > 0)
        start = (list(weights), grown.solution.intercept) if weights.any() else None
        return solve_hierarchical(
            [features] * K, loss, tol=options.tol / 4, start=start, deadline=deadline
        )

    def shown(number: int, objective: float) -> None:
        gap = relative_gap(objective, grown.lower_bound)
        report(0, GrowthStep(number, objective, gap, 0, deadline.taken(), number))

    selection = FeatureSelection(support, options.max_rules, deadline, found, solve, K, shown)
    best = selection.run()
    few = replace(
        grown,
        status="interrupted" if selection.interrupted else grown.status,
        nodes=[best.restriction.nodes] * K,
        others=[best.restriction.others] * K,
        solution=best.solution,
    )
    return _shortened(rows, options, few, deadline)


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
    several = loss.n_functions > 1
    if several:
        scores -= b
    functions, objective, cost = [], 0.0, 0.0
    for k, part in enumerate(parts):
        alone, start = loss.alone(scores, k), 0.0 if several else b
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
    start: Intercept,
    room: float,
    deadline: Deadline,
) -> tuple[ScoreFunction, float, float, FloatArray, Intercept]:
    """Drop the smallest weights while the objective grows by at most ``room``; join equal covers.

    Returns the function, its penalty, its loss, its predictions and the intercept.
    """
    nodes, others, features, f = part
    table = rows.table
    packed = PackedTable.of_columns(table.covers(nodes), table.n_rows)
    kinds, groups = np.unique(packed.first_equal, return_inverse=True)
    shortest = sorted(range(len(nodes)), key=lambda k: (len(nodes[k]), nodes[k]), reverse=True)
    if signs is not None:  # a form that may have the sign of the sum stands last
        sums = np.bincount(groups, f[: len(nodes)])[groups] * signs.of_all(nodes)
        shortest.sort(key=lambda k: bool(sums[k] >= 0))
    form_of = {int(groups[k]): nodes[k] for k in shortest}
    forms = [form_of[group] for group in range(len(kinds))]
    covers = packed.truths(packed.columns[kinds])
    named: list[Node | int] = [*forms, *others]
    groups = np.append(groups, len(kinds) + np.arange(len(others)))
    F = np.bincount(groups, f, len(named))
    columns = np.concatenate([covers[:, rows.examples.kind], features.others])

    def value(kept: NDArray[np.bool_]) -> tuple[float, float, Intercept, FloatArray]:
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
    bias = _without_complements(forms, covers, merged, -b, signs)
    listed = sorted(np.flatnonzero(merged).tolist(), key=lambda k: (-abs(merged[k]), k))
    n_weights = int(np.count_nonzero(kept[groups] & (f != 0)))
    function = ScoreFunction([named[k] for k in listed], merged[listed], bias, n_weights)
    return function, penalty, cost, u, b


def _without_complements(
    forms: list[Node],
    covers: NDArray[np.bool_],
    merged: FloatArray,
    bias: Intercept,
    signs: Signs | None = None,
) -> Intercept:
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
