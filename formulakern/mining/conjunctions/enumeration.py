"""The conjunctions of a small table, level by level with NumPy: nothing is compiled for these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.mining.options import Task

__all__ = ["MAX_ENTRIES", "Lattice", "Listed", "enumerated"]

#: Conjunctions times examples up to which this is quicker than the compiled search.
MAX_ENTRIES = 1 << 19


@dataclass(frozen=True, eq=False)
class Lattice:
    """Which conjunctions are meant.

    Parameters
    ----------
    least, greatest : int
        Lengths that are reported.
    factors : float64 (3, greatest length + 1)
        For each length what divides its scores, and the smallest and largest such number among the
        lengths from there on that are reported.
    groups : int64 (p,)
        Propositions of one group exclude each other; −1 for none.
    complement : bool
        Whether the examples count that are not covered.
    """

    least: int
    greatest: int
    factors: FloatArray
    groups: NDArray[np.int64]
    complement: bool

    @property
    def smallest(self) -> float:
        """The smallest factor of the lengths that are reported; inf where there is none."""
        return float(self.factors[0, self.least : self.greatest + 1].min(initial=np.inf))


class Listed(NamedTuple):
    """What a search has found.

    Parameters
    ----------
    conjunctions : list of tuple of int
    bound : float
        In units: what no other conjunction passes.
    n_evaluated : int
    """

    conjunctions: list[tuple[int, ...]]
    bound: float
    n_evaluated: int


def enumerated(task: Task, lattice: Lattice) -> Listed | None:
    """The best conjunctions, found level by level; None where there are too many to look at.

    Every conjunction of a length is extended by the propositions behind its last one, unless the
    bounds of :mod:`.search` say that no extension can pass the results so far.

    Parameters
    ----------
    task : Task
    lattice : Lattice
    """
    (m, p), goal, limit = task.table.shape, task.goal, task.limit
    threshold = goal.in_units(task.threshold)
    groups, factors, complement = lattice.groups, lattice.factors, lattice.complement
    cost = max(m, 1)
    left = MAX_ENTRIES - p * cost
    if left < 0:
        return None
    columns = task.table.truths(task.table.columns).astype(np.float64)
    totals = goal.columns.sum(axis=1)
    sets: NDArray[np.intp] = np.zeros((1, 0), dtype=np.intp)
    covers = np.ones((1, m))
    found: list[tuple[int, ...]] = []
    scores = np.zeros(0)
    lowest, n_evaluated = threshold, 0
    for length in range(lattice.greatest + 1):
        if length:
            last = sets[:, -1] if length > 1 else np.full(len(sets), -1)
            after = p - 1 - last
            left -= int(after.sum()) * cost
            if left < 0:
                return None
            parent = np.repeat(np.arange(len(sets)), after)
            item = np.arange(len(parent)) + p - np.cumsum(after)[parent]
            clash = (groups[sets[parent]] == groups[item][:, None]).any(axis=1)
            kept = ~(clash & (groups[item] >= 0))
            parent, item = parent[kept], item[kept]
            sets = np.concatenate([sets[parent], item[:, None]], axis=1)
            covers = covers[parent] * columns[item]
            n_evaluated += len(sets)
        sums = covers @ goal.columns.T  # whole numbers of units, so exact in any order
        if length >= lattice.least:
            values = goal.unit_scores(totals - sums if complement else sums) / factors[0, length]
            passed = np.flatnonzero(values > threshold)
            found += map(tuple, sets[passed].tolist())
            scores = np.append(scores, values[passed])
            if len(scores) >= limit:
                lowest = max(threshold, float(np.partition(scores, len(scores) - limit)[-limit]))
        if length < lattice.greatest:
            size = covers @ np.abs(goal.columns.T)
            above, below = (size + sums) / 2, (sums - size) / 2
            if complement:
                above, below = totals - below, totals - above
            ahead = [above] * goal.upwards + [-below] * goal.downwards
            best = np.max(ahead, axis=(0, 2))
            best = np.where(best >= 0, best / factors[1, length + 1], best / factors[2, length + 1])
            sets, covers = sets[best > lowest], covers[best > lowest]
        if not len(sets):
            break
    order = np.argsort(-scores, kind="stable")[:limit]
    return Listed([found[r] for r in order.tolist()], lowest, n_evaluated)
