"""One problem of hierarchical kernel learning, from 0/1 columns to the conjunctions it needs.

The problem is solved over all conjunctions (:mod:`formulakern.learning.hkl.active_set`) to half of
the tolerance that was asked for.  The other half pays for brevity: weights are dropped, the
smallest first, as long as the objective stays within the tolerance of the proven lower bound.
Then conjunctions that are true on the same training rows become one rule, in the shortest of
their forms, and of two propositions that are opposite on the training rows (``x <= 3`` and
``x >= 4``) the first carries the weight of both.  Neither step changes a prediction on a training
row.  Where weights must have signs, what carries them is a rule that may have the sign of the sum:
of those that are joined, one does, and of two opposite ones neither moves where none does.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, IntArray, different_rows
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.encoding.packed import PackedTable
from formulakern.learning.hkl.active_set import (
    GrownSolution,
    GrowthStep,
    Node,
    grow_hierarchical,
    relative_gap,
)
from formulakern.learning.hkl.few_rules import (
    Answer,
    FeatureSelection,
    Restriction,
    candidates,
    positions,
)
from formulakern.learning.hkl.groups import Groups
from formulakern.learning.hkl.signs import Signs
from formulakern.solvers.hierarchical.losses import Intercept, loss_of
from formulakern.solvers.hierarchical.norm import read_nodes
from formulakern.solvers.hierarchical.solve import solve_hierarchical

__all__ = ["GROWING", "HierarchicalModel", "joined_examples", "learn", "shortened"]

BoolArray = NDArray[np.bool_]

#: Share of the time for the problem without a limit of rules, where there is one.
GROWING = 0.6


@dataclass(frozen=True, eq=False)
class HierarchicalModel:
    """The function Σ_r weights[r] · rules[r](x) + bias.

    Attributes
    ----------
    rules : list of tuple of int, or int
        Positions of propositions, of different covers; or the number of a feature that is no
        conjunction.  Largest weight first.
    weights : float64 (r,)
    bias : float, or float64 (groups,)
    objective : float
        Of f, the weights of all conjunctions before those of equal covers were joined.
    n_weights : int
        Conjunctions with weight, before joining.
    grown : GrownSolution
        What is proven, and how it was found.
    """

    rules: list[Node | int]
    weights: FloatArray
    bias: Intercept
    objective: float
    n_weights: int
    grown: GrownSolution

    @property
    def gap(self) -> float:
        """(objective − lower bound) / objective."""
        return relative_gap(self.objective, self.grown.lower_bound)


def learn(
    table: PackedTable,
    kind: NDArray[np.intp],
    y: FloatArray,
    weights: FloatArray,
    options: dict[str, Any],
    *,
    tol: float,
    max_nodes: int,
    deadline: Deadline,
    start: GrownSolution | None,
    report: Callable[[GrowthStep], None],
    others: FloatArray | None = None,
    max_rules: int | None = None,
    group: IntArray | None = None,
    signs: Signs | None = None,
    groups: Groups | None = None,
) -> HierarchicalModel:
    """Solve one problem, drop the smallest weights as far as ``tol`` allows, join equal covers.

    Parameters
    ----------
    table : PackedTable
        Different rows, different columns.
    kind : ndarray of shape (m,), intp
        The row of the table that each example is about.
    y : float64 (m,)
        −1 and 1, or numbers for the squared loss.
    weights : float64 (m,)
        Positive.
    options : dict
        rho, C, depth_penalty, other_penalty and loss.
    others : float64 (m, e), optional
        Features that are no conjunctions.
    group : int64 (m,), optional
        Of the intercepts.
    signs : Signs, optional
    groups : Groups, optional
        Rows in pieces, as for :func:`.grow_hierarchical`.
    tol, max_nodes, start, report
        As for :func:`.grow_hierarchical`.
    deadline : Deadline
        Of the rounds and of the choice of rules.
    max_rules : int, optional
        If the rules are more, the best of so many (:mod:`.few_rules`) take their place.
    """
    growing = deadline if max_rules is None else deadline.part(GROWING)
    numbers = np.zeros((len(y), 0)) if others is None else others
    if groups is not None:
        pass  # no two examples are equal
    elif group is None:
        kind, y, weights, numbers = joined_examples(kind, y, weights, numbers)
    else:
        numbers = np.column_stack([numbers, group])
        kind, y, weights, numbers = joined_examples(kind, y, weights, numbers)
        numbers, group = numbers[:, :-1], numbers[:, -1].astype(np.int64)
    grown = grow_hierarchical(
        table,
        y,
        **options,
        sample_weight=weights,
        kind=kind,
        others=numbers,
        group=group,
        signs=signs,
        groups=groups,
        tol=tol / 2,
        max_nodes=max_nodes,
        time_limit=growing,
        start=start,
        report=report,
    )

    if groups is not None:
        table, (kind, y, weights, numbers, group) = groups.table, groups.examples
    more: dict[str, Any] = {"group": group, "signs": signs, "deadline": deadline}

    def model_of(grown: GrownSolution) -> HierarchicalModel:
        goal = max(grown.lower_bound / (1 - tol), grown.solution.objective / (1 - tol / 2))
        return shortened(grown, table, kind, y, weights, options, numbers, goal, **more)

    model = model_of(grown)
    if max_rules is None or len(model.rules) <= max_rules:
        return model

    def solve(one: Restriction, start: FloatArray) -> Answer:
        n = len(one.nodes)
        with warnings.catch_warnings():  # what is not closed here is part of the gap
            warnings.simplefilter("ignore")
            solution = solve_hierarchical(
                one.columns[:n].T.astype(np.bool_),
                one.nodes,
                y,
                **options,
                sample_weight=weights,
                others=one.columns[n:].T,
                group=group,
                signs=None if signs is None else signs.of_all([*one.nodes, *one.others]),
                tol=tol / 4,
                time_limit=deadline,
                start=(start[0], -model.bias) if start.any() else None,
            )
        if solution.status == "interrupted":
            raise KeyboardInterrupt
        dual = solution.dual[:, np.newaxis]
        return Answer(solution.weights[np.newaxis], solution.objective, dual, solution)

    penalties = options["depth_penalty"], options["other_penalty"]
    found = candidates(grown.nodes, grown.others, table, kind, numbers, *penalties)
    if signs is not None:
        found = replace(found, signs=signs.of_all(found.forms))
    support = positions(found, table, kind, model.rules)

    def tell(number: int, objective: float) -> None:
        gap = relative_gap(objective, grown.lower_bound)
        report(GrowthStep(number, objective, gap, 0, deadline.taken(), number))

    selection = FeatureSelection(support, max_rules, deadline, found, solve, 1, tell)
    best = selection.run()
    few = replace(
        grown,
        status="interrupted" if selection.interrupted else grown.status,
        nodes=best.restriction.nodes,
        others=best.restriction.others,
        solution=best.answer.solution,
    )
    return model_of(few)


def shortened(
    grown: GrownSolution,
    table: PackedTable,
    kind: NDArray[np.intp],
    y: FloatArray,
    weights: FloatArray,
    options: dict[str, Any],
    numbers: FloatArray,
    goal: float,
    offset: FloatArray | None = None,
    group: IntArray | None = None,
    signs: Signs | None = None,
    deadline: Deadline = UNLIMITED,
) -> HierarchicalModel:
    """Drop the smallest weights while the objective is at most ``goal``, and join equal covers.

    Parameters are those of :func:`learn` and :func:`.grow_hierarchical`.  What is to be dropped is
    looked for until ``deadline``.
    """
    nodes, f = grown.nodes, grown.solution.weights
    held = grown.others
    packed = PackedTable.of_columns(table.covers(nodes), table.n_rows)
    kinds, groups = np.unique(packed.first_equal, return_inverse=True)
    shortest = sorted(range(len(nodes)), key=lambda k: (len(nodes[k]), nodes[k]), reverse=True)
    if signs is not None:  # a form that may have the sign of the sum stands last
        sums = np.bincount(groups, f[: len(nodes)])[groups] * signs.of_all(nodes)
        shortest.sort(key=lambda k: bool(sums[k] >= 0))
    form_of = {int(groups[k]): nodes[k] for k in shortest}
    forms = [form_of[group] for group in range(len(kinds))]
    covers = packed.truths(packed.columns[kinds])
    named: list[Node | int] = [*forms, *held]
    groups = np.append(groups, len(kinds) + np.arange(len(held)))
    F = np.bincount(groups, f, len(named))
    columns = np.concatenate([covers[:, kind], numbers[:, held].T])
    loss = loss_of(str(options["loss"]), y, options["C"] * weights, offset, group)
    lattice = read_nodes(nodes, rho=options["rho"], depth_penalty=options["depth_penalty"])
    lattice = lattice.with_others(len(held), options["other_penalty"])

    def value(kept: BoolArray) -> tuple[float, Intercept]:
        u = np.where(kept, F, 0.0) @ columns
        b, expansion = loss.intercept(u, grown.solution.intercept)
        cost = expansion.value
        if loss.name == "hinge":
            b, cost = loss.true_intercept(u, b)
        return 0.5 * lattice.norm(np.where(kept[groups], f, 0.0)) ** 2 + cost, b

    order = np.argsort(np.abs(F), kind="stable")
    best = (F != 0, *value(F != 0))
    low, high = 0, len(order) + 1  # so many can be dropped, so many cannot
    while high - low > 1 and not deadline.over():
        middle = (low + high) // 2
        kept = np.ones(len(order), dtype=np.bool_)
        kept[order[:middle]] = False
        objective, b = value(kept)
        if objective <= goal:
            low, best = middle, (kept, objective, b)
        else:
            high = middle
    kept, objective, b = best
    merged = np.where(kept, F, 0.0)
    bias = _without_complements(forms, covers, merged, -b, signs)
    listed = sorted(np.flatnonzero(merged).tolist(), key=lambda k: (-abs(merged[k]), k))
    n_weights = int(np.count_nonzero(kept[groups] & (f != 0)))
    return HierarchicalModel(
        [named[k] for k in listed], merged[listed], bias, objective, n_weights, grown
    )


def joined_examples(
    kind: NDArray[np.intp], y: FloatArray, weights: FloatArray, numbers: FloatArray
) -> tuple[NDArray[np.intp], FloatArray, FloatArray, FloatArray]:
    """Examples of equal propositions, equal y and equal numbers as one, of the sum of weights."""
    keys = np.column_stack([kind, y, numbers]) + 0.0  # no negative zeros
    first, group = different_rows(np.ascontiguousarray(keys).view(np.uint64))
    return kind[first], y[first], np.bincount(group, weights).astype(np.float64), numbers[first]


def _without_complements(
    forms: list[Node],
    covers: BoolArray,
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
