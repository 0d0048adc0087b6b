"""All conjunctions of a small table, listed and scored with NumPy: nothing is compiled."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from formulakern.encoding.packed import PackedTable
from formulakern.mining.objective import Objective

__all__ = ["MAX_ENTRIES", "Enumeration", "is_small"]

#: Conjunctions times examples up to which listing is quicker than a search.
MAX_ENTRIES = 1 << 18


def is_small(p: int, m: int, least: int, greatest: int) -> bool:
    """Whether there are few enough conjunctions of ``least`` to ``greatest`` of p propositions."""
    number = 0
    for length in range(least, greatest + 1):
        number += math.comb(p, length)
        if number * m > MAX_ENTRIES:
            return False
    return True


class Enumeration:
    """The search of :func:`.mine_conjunctions` over all conjunctions, one by one.

    Parameters
    ----------
    packed : PackedTable
    goal : Objective
    limit : int
    lengths : (int, int)
    factor : ndarray of shape (greatest length + 1,)
    groups : int64 (p,)
    complement : bool
    threshold : float
        As :func:`formulakern.mining.conjunctions.search.mine_conjunctions` reads them.
    """

    def __init__(
        self,
        packed: PackedTable,
        goal: Objective,
        limit: int,
        lengths: tuple[int, int],
        factor: NDArray[np.float64],
        groups: NDArray[np.int64],
        complement: bool,
        threshold: float,
    ) -> None:
        columns = packed.truths(packed.columns).astype(np.float64)
        p = len(columns)
        totals = goal.columns.sum(axis=1)
        sets: NDArray[np.intp] = np.zeros((1, 0), dtype=np.intp)
        covers = np.ones((1, packed.n_rows))
        found: list[tuple[int, ...]] = []
        scores: list[NDArray[np.float64]] = []
        self.n_evaluated = 0
        least, greatest = lengths
        for length in range(greatest + 1):
            if length:
                last = sets[:, -1] if length > 1 else np.full(1, -1)
                parent = np.repeat(np.arange(len(sets)), p - 1 - last)
                first = np.cumsum(p - 1 - last) - (p - 1 - last)
                item = np.arange(len(parent)) - first[parent] + last[parent] + 1
                clash = (groups[sets[parent]] == groups[item][:, None]).any(axis=1)
                kept = ~(clash & (groups[item] >= 0))
                parent, item = parent[kept], item[kept]
                sets = np.concatenate([sets[parent], item[:, None]], axis=1)
                covers = covers[parent] * columns[item]
            if length < least:
                continue
            sums = covers @ goal.columns.T  # whole numbers of units: exact
            values = goal.unit_scores(totals - sums if complement else sums)
            scores.append(values / factor[length])
            found += map(tuple, sets.tolist())
            self.n_evaluated += len(sets)
        every = np.concatenate(scores) if scores else np.zeros(0)
        best = np.argsort(-every, kind="stable")
        self.threshold = goal.in_units(threshold)
        best = best[every[best] > self.threshold][:limit]
        self._found = [found[r] for r in best.tolist()]
        self._lowest = float(every[best[-1]]) if len(best) == limit else self.threshold

    @property
    def n_found(self) -> int:
        """Results."""
        return len(self._found)

    def advance(self, work: int) -> bool:  # noqa: ARG002
        """Everything is done."""
        return True

    def share(self) -> float:
        """All of it."""
        return 1.0

    def bound(self) -> float:
        """In units: what no conjunction that is not among the results passes."""
        return max(self.threshold, self._lowest)

    def conjunctions(self) -> list[tuple[int, ...]]:
        """The results."""
        return self._found
