"""One problem of hierarchical kernel learning, from 0/1 columns to the conjunctions it needs.

The problem is solved over all conjunctions (:mod:`formulakern.learning.hkl.active_set`) to half of
the tolerance that was asked for.  The other half pays for brevity: weights are dropped, the
smallest first, as long as the objective stays within the tolerance of the proven lower bound.
Then conjunctions that are true on the same training rows become one rule, in the shortest of
their forms, and of two propositions that are opposite on the training rows (``x <= 3`` and
``x >= 4``) the first carries the weight of both.  Neither step changes a prediction on a training
row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.encoding.packed import PackedTable
from formulakern.learning.hkl.active_set import (
    GrownSolution,
    GrowthStep,
    Node,
    grow_hierarchical,
    relative_gap,
)
from formulakern.solvers.hierarchical.losses import Loss
from formulakern.solvers.hierarchical.norm import read_nodes

__all__ = ["HierarchicalModel", "learn"]

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class HierarchicalModel:
    """The function Σ_r weights[r] · [x satisfies rules[r]] + bias.

    Attributes
    ----------
    rules : list of tuple of int
        Positions of propositions, of different covers, largest weight first.
    weights : float64 (r,)
    bias : float
    objective : float
        Of f, the weights of all conjunctions before those of equal covers were joined.
    n_weights : int
        Conjunctions with weight, before joining.
    grown : GrownSolution
        What is proven, and how it was found.
    """

    rules: list[Node]
    weights: FloatArray
    bias: float
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
    time_limit: float | None,
    start: GrownSolution | None,
    report: Callable[[GrowthStep], None],
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
        rho, C, depth_penalty and loss.
    tol, max_nodes, time_limit, start, report
        As for :func:`.grow_hierarchical`.
    """
    kind, y, weights = joined_examples(kind, y, weights)
    grown = grow_hierarchical(
        table,
        y,
        **options,
        sample_weight=weights,
        kind=kind,
        tol=tol / 2,
        max_nodes=max_nodes,
        time_limit=time_limit,
        start=start,
        report=report,
    )
    goal = max(grown.lower_bound / (1 - tol), grown.solution.objective / (1 - tol / 2))
    nodes, f = grown.nodes, grown.solution.weights
    packed = PackedTable.of_columns(table.covers(nodes), table.n_rows)
    kinds, groups = np.unique(packed.first_equal, return_inverse=True)
    shortest = sorted(range(len(nodes)), key=lambda k: (len(nodes[k]), nodes[k]), reverse=True)
    form_of = {int(groups[k]): nodes[k] for k in shortest}
    forms = [form_of[group] for group in range(len(kinds))]
    covers = packed.truths(packed.columns[kinds])
    F = np.bincount(groups, f, len(covers))
    columns = covers[:, kind].astype(np.float64)
    loss = Loss(str(options["loss"]), y, options["C"] * weights)
    lattice = read_nodes(nodes, rho=options["rho"], depth_penalty=options["depth_penalty"])

    def value(kept: BoolArray) -> tuple[float, float]:
        u = np.where(kept, F, 0.0) @ columns
        b, expansion = loss.intercept(u, grown.solution.intercept)
        cost = expansion.value
        if loss.name == "hinge":
            b, cost = loss.true_intercept(u, b)
        return 0.5 * lattice.norm(np.where(kept[groups], f, 0.0)) ** 2 + cost, b

    order = np.argsort(np.abs(F), kind="stable")
    best = (F != 0, grown.solution.objective, grown.solution.intercept)
    low, high = 0, len(order) + 1  # so many can be dropped, so many cannot
    while high - low > 1:
        middle = (low + high) // 2
        kept = np.ones(len(order), dtype=np.bool_)
        kept[order[:middle]] = False
        objective, b = value(kept)
        if objective <= goal:
            low, best = middle, (kept, objective, b)
        else:
            high = middle
    kept, objective, b = best
    merged, bias = _without_complements(forms, covers, np.where(kept, F, 0.0), -b)
    listed = sorted(np.flatnonzero(merged).tolist(), key=lambda k: (-abs(merged[k]), forms[k]))
    n_weights = int(np.count_nonzero(kept[groups] & (f != 0)))
    return HierarchicalModel(
        [forms[k] for k in listed], merged[listed], bias, objective, n_weights, grown
    )


def joined_examples(
    kind: NDArray[np.intp], y: FloatArray, weights: FloatArray
) -> tuple[NDArray[np.intp], FloatArray, FloatArray]:
    """Examples of equal propositions and equal y as one, of the sum of their weights."""
    _, code = np.unique(y, return_inverse=True)
    _, first, group = np.unique(
        kind * (int(code.max()) + 1) + code, return_index=True, return_inverse=True
    )
    return kind[first], y[first], np.bincount(group, weights).astype(np.float64)


def _without_complements(
    forms: list[Node], covers: BoolArray, F: FloatArray, bias: float
) -> tuple[FloatArray, float]:
    """Constants go to the bias, and of two opposite propositions the first carries both weights."""
    merged = F.copy()
    place = {cover.tobytes(): k for k, cover in enumerate(covers)}
    for k in np.flatnonzero(F).tolist():
        if covers[k].all():
            bias += merged[k]
            merged[k] = 0.0
        elif not covers[k].any():
            merged[k] = 0.0
        elif len(forms[k]) == 1:
            other = place.get((~covers[k]).tobytes())
            if other is not None and len(forms[other]) == 1 and forms[other] < forms[k]:
                bias += merged[k]
                merged[other] -= merged[k]
                merged[k] = 0.0
    return merged, float(bias)
