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

from formulakern.learning.hkl.active_set import (
    GrownSolution,
    GrowthStep,
    Node,
    grow_hierarchical,
    relative_gap,
)
from formulakern.mining.covers import PackedPropositions
from formulakern.solvers.hierarchical.losses import Loss
from formulakern.solvers.hierarchical.norm import read_nodes

__all__ = ["Machine", "different_columns", "evaluate", "learn"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Machine:
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


def different_columns(encoded: Any) -> NDArray[np.intp]:
    """Positions of the propositions to learn from: the first of equal ones, no constant ones.

    If all are constant, the first one.

    Parameters
    ----------
    encoded : array or sparse matrix of shape (m, p), 0/1
    """
    packed = PackedPropositions.of(encoded)
    p = packed.n_propositions
    counts = np.bitwise_count(packed.words).sum(axis=1)
    varies = (counts > 0) & (counts < packed.n_examples)
    kept = np.flatnonzero(varies & (packed.first_equal == np.arange(p)))
    return kept if len(kept) else np.arange(min(1, p))


def evaluate(rules: list[Node], encoded: Any) -> BoolArray:
    """Which rows satisfy which conjunction, shape (rows, conjunctions)."""
    packed = PackedPropositions.of(encoded)
    covers = [packed.cover(rule) for rule in rules]
    return np.array(covers, dtype=np.bool_).reshape(len(covers), packed.n_examples).T


def learn(
    bits: BoolArray,
    y: FloatArray,
    weights: FloatArray,
    options: dict[str, Any],
    *,
    tol: float,
    max_nodes: int,
    time_limit: float | None,
    start: GrownSolution | None,
    tell: Callable[[GrowthStep], None],
) -> Machine:
    """Solve one problem and read the result.

    Parameters
    ----------
    bits : bool (m, p)
        Different columns.
    y : float64 (m,)
        −1 and 1, or numbers for the squared loss.
    weights : float64 (m,)
        Positive.
    options : dict
        rho, C, depth_penalty and loss.
    tol, max_nodes, time_limit, start, tell
        As for :func:`.grow_hierarchical`.
    """
    bits, y, weights = joined_rows(bits, y, weights)
    grown = grow_hierarchical(
        bits,
        y,
        **options,
        sample_weight=weights,
        tol=tol / 2,
        max_nodes=max_nodes,
        time_limit=time_limit,
        start=start,
        tell=tell,
    )
    return _read(bits, y, weights, options, grown, tol)


def joined_rows(
    bits: BoolArray, y: FloatArray, weights: FloatArray
) -> tuple[BoolArray, FloatArray, FloatArray]:
    """Rows of equal propositions and equal y as one row, of the sum of their weights."""
    keys = np.concatenate([np.packbits(bits, axis=1), y[:, None].view(np.uint8)], axis=1)
    whole = np.ascontiguousarray(keys).view(np.dtype((np.void, keys.shape[1]))).ravel()
    _, first, kind = np.unique(whole, return_index=True, return_inverse=True)
    total = np.asarray(np.bincount(kind, weights), dtype=np.float64)
    return bits[first], y[first], total


def _read(
    bits: BoolArray,
    y: FloatArray,
    weights: FloatArray,
    options: dict[str, Any],
    grown: GrownSolution,
    tol: float,
) -> Machine:
    """Drop the smallest weights as far as ``tol`` allows, and join equal covers."""
    goal = max(grown.lower_bound / (1 - tol), grown.solution.objective / (1 - tol / 2))
    nodes, f = grown.nodes, grown.solution.weights
    groups = _groups_of_equal_covers(bits, nodes)
    kinds = np.array([groups[_cover(bits, node).tobytes()][0] for node in nodes])
    covers = [_cover(bits, nodes[members[0]]) for _, members in groups.values()]
    forms = [
        min((nodes[k] for k in members), key=lambda node: (len(node), node))
        for _, members in groups.values()
    ]
    F = np.bincount(kinds, f, len(covers))
    columns = np.array(covers, dtype=np.float64)
    loss = Loss(str(options["loss"]), y, options["C"] * weights)
    lattice = read_nodes(nodes, rho=options["rho"], depth_penalty=options["depth_penalty"])

    def value(kept: BoolArray) -> tuple[float, float]:
        u = np.where(kept, F, 0.0) @ columns
        b, expansion = loss.intercept(u, grown.solution.intercept)
        cost = expansion.value
        if loss.name == "hinge":
            b, cost = loss.true_intercept(u, b)
        return 0.5 * lattice.norm(np.where(kept[kinds], f, 0.0)) ** 2 + cost, b

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
    n_weights = int(np.count_nonzero(kept[kinds] & (f != 0)))
    return Machine([forms[k] for k in listed], merged[listed], bias, objective, n_weights, grown)


def _groups_of_equal_covers(
    bits: BoolArray, nodes: list[Node]
) -> dict[bytes, tuple[int, list[int]]]:
    """Cover → (number of the group, positions of the nodes)."""
    groups: dict[bytes, tuple[int, list[int]]] = {}
    for k, node in enumerate(nodes):
        groups.setdefault(_cover(bits, node).tobytes(), (len(groups), []))[1].append(k)
    return groups


def _without_complements(
    forms: list[Node], covers: list[BoolArray], F: FloatArray, bias: float
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


def _cover(bits: BoolArray, node: Node) -> BoolArray:
    return np.asarray(bits[:, list(node)].all(axis=1))
