"""The few features of a solution over all conjunctions that rules show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.deadline import Deadline
from formulakern.encoding.ordered import OrderedTable
from formulakern.encoding.packed import PackedTable
from formulakern.learning.hkl.active_set import GrownSolution, GrowthStep, Report
from formulakern.learning.hkl.lasso import Active
from formulakern.learning.hkl.options import Node, Options
from formulakern.learning.hkl.rows import Rows
from formulakern.learning.selection import (
    PATH_SIZES,
    FeatureSelection,
    Selection,
)
from formulakern.solvers.hierarchical.solve import relative_gap
from formulakern.syntax.formula import Formula

#: The relative gap of the problems on few features, as a share of the tolerance.
GAP_SHARE = 0.5


@dataclass(frozen=True, eq=False)
class SelectedFeatures:
    """Features, heaviest first, their weights (k, K), intercepts and the objective.

    ``compared`` is the number of candidates and a lower bound on the objective of all choices of as
    many, if branch and bound compared them.
    """

    features: list[Node | int]
    weights: FloatArray
    intercept: FloatArray
    objective: float
    compared: tuple[int, float] | None = None

    def __len__(self) -> int:
        return len(self.features)


def select_features(
    rows: Rows, options: Options, grown: GrownSolution, deadline: Deadline, report: Report
) -> tuple[list[SelectedFeatures], bool]:
    """Return the path from a solution to few features, and True if Ctrl-C ended the search.

    Candidates are the features of the solution and all conjunctions that were in use before.  The
    first choice drops features of small weight: the gap stays within ``tol``, or, if it is larger
    already, the objective grows by at most this share.
    """
    active = Active(rows, options)
    weights: dict[Node | int, FloatArray] = {}
    known = grown.weights
    for k, own in enumerate(known):
        for one, weight in own.items():
            if weight:
                weights.setdefault(one, np.zeros(len(known)))[k] = weight
    nodes = [*dict.fromkeys([*(v for own in grown.nodes for v in own), *grown.tried])]
    nodes.sort(key=lambda node: node not in weights)  # nodes with weight come first
    active.enter(nodes, len(nodes))
    active.others = sorted({j for own in grown.others for j in own})
    loss = rows.loss(options)

    def reported(here: Selection) -> None:
        gap, n = relative_gap(here.objective, grown.lower_bound), len(here)
        report(0, GrowthStep(n, here.objective, gap, 0, deadline.taken(), n))

    features = active.features
    search = FeatureSelection(
        active.columns(deadline),
        active.penalties,
        active.signs,
        loss,
        GAP_SHARE * options.tol,
        options.max_rules,
        deadline,
        reported,
        # for other rho the norm differs
        PATH_SIZES if options.has_path and options.rho == 1 else (),
        options.proves or not options.has_path,
        options.proves and "hinge" not in options.loss,  # which needs too many steps
    )
    none = np.zeros(loss.n_functions)
    listed = [weights.get(one, none) for one in features]
    start = np.reshape(listed, (len(listed), len(none)))
    which = np.flatnonzero(start.any(axis=1))
    solution = grown.solution
    goal = grown.lower_bound / (1 - options.tol)
    if grown.gap > options.tol:
        goal = solution.objective * (1 + options.tol)
    whole = Selection(which, start[which], solution.intercept, solution.objective)
    path = search.path(whole, goal)
    rarer = cache(partial(_rarer, rows, loss.c, options.leaves))
    found = [_named(features, here, rarer) for here in path]
    if search.subset_bound is not None:
        found[-1] = replace(found[-1], compared=(len(features), search.subset_bound))
    return found, search.interrupted


def _named(
    features: list[Node | int], here: Selection, rarer: Callable[[Node | int], Node | None]
) -> SelectedFeatures:
    """Return a choice; one of two opposite propositions is replaced by the rarer one."""
    order = here.heaviest_first()
    named = [features[k] for k in here.which[order].tolist()]
    weights, b = here.weights[order], here.intercept
    for k, one in enumerate(named):
        other = rarer(one)
        if other is not None:
            b = b - (weights[k] if len(b) == weights.shape[1] else weights[k, 0])
            named[k], weights[k] = other, -weights[k]
    return SelectedFeatures(named, weights, b, here.objective)


def _rarer(
    rows: Rows, c: FloatArray, leaves: Sequence[Formula], feature: Node | int
) -> Node | None:
    """Return the opposite proposition of one that holds for more than half of the weight."""
    other = opposite(rows.table, leaves, feature)
    if other is None or rows.table.cover(feature)[rows.examples.kind] @ c <= 0.5 * c.sum():
        return None
    return other


def opposite(
    table: OrderedTable | PackedTable, leaves: Sequence[Formula], feature: Node | int
) -> Node | None:
    """Return the proposition of a complete column that is the negation of another one, if any."""
    if isinstance(feature, int) or len(feature) != 1:
        return None
    [p] = feature
    if not isinstance(table, OrderedTable):  # the two values of a column are adjacent
        name = getattr(leaves[p], "column", None) if leaves else None
        for q in range(len(leaves))[max(0, p - 1) : p + 2]:
            same = name is not None and getattr(leaves[q], "column", None) == name
            if same and (table.cover((q,)) != table.cover(feature)).all():
                return (q,)
        return None
    j, number = table.place(p)
    column = table.columns[j]
    if (column.codes == column.n_values).any():
        return None
    if not column.ordered:
        return (p + 1 - 2 * number,) if column.n_values == 2 else None
    n_gaps = column.n_values - 1
    other = (number + n_gaps) % (2 * n_gaps)
    return (int(table.starts[j]) + other,) if all(column.sides) else None
