"""What the compiled searches share: the examples with weight, a heap of results, how far they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.encoding.bits import n_words
from formulakern.encoding.packed import PackedTable
from formulakern.mining.objective import Objective
from formulakern.slices import DONE, FULL, enlarged

__all__ = ["CompiledSearch"]


class CompiledSearch:
    """A depth-first search whose state is in arrays, so that a compiled loop can stop and go on.

    Parameters
    ----------
    packed : PackedTable
        Propositions on examples; those without weight are left out.
    goal : Objective
    limit : int
        The largest number of results.
    threshold : float
        Only higher scores are results.
    capacity, width : int
        Results that there is room for at first, and numbers that describe one.
    """

    def __init__(
        self,
        packed: PackedTable,
        goal: Objective,
        limit: int,
        threshold: float,
        capacity: int,
        width: int,
    ) -> None:
        weighted = goal.columns.any(axis=0)
        if not weighted.all():
            packed = packed.take(weighted)
        self.n_examples, self.limit = packed.n_rows, limit
        self.words = packed.columns
        self.columns = np.zeros((len(goal.columns), 64 * n_words(packed.n_rows)))
        self.columns[:, : packed.n_rows] = goal.columns[:, weighted]
        self.totals = self.columns.sum(axis=1)
        self.threshold = goal.in_units(threshold)
        self.counters = np.zeros(4, dtype=np.int64)  # open levels, results, evaluated, begun
        self.scores = np.zeros(min(limit, capacity))
        self.heap = np.zeros(len(self.scores), dtype=np.int64)
        self.found = np.zeros((len(self.scores), width), dtype=np.int32)

    @property
    def n_found(self) -> int:
        """Results so far."""
        return int(self.counters[1])

    @property
    def n_evaluated(self) -> int:
        """Nodes whose sums or bounds were computed."""
        return int(self.counters[2])

    def offer_first(self, score: float) -> None:
        """Start with one result, if it scores enough."""
        self.scores[0] = score
        self.counters[1] = int(score > self.threshold)

    def advance(self, work: int) -> bool:
        """Do about so much work (words of 64 examples); whether the search has ended."""
        while True:
            status = self._run(work)
            if status != FULL:
                return bool(status == DONE)
            self._grow()

    def share(self) -> float:
        """The children that are done at each open level, as shares of their parent's share."""
        total, part = 0.0, 1.0
        for count, following, _ in self._open_levels():
            total += part * max(following - 1, 0) / max(count, 1)
            part /= max(count, 1)
        return total

    def bound(self) -> float:
        """In units: what nothing that is not among the results passes."""
        bound = self.threshold
        if self.n_found == self.limit:
            bound = max(bound, float(self.scores[self.heap[0]]))
        for count, following, bounds in self._open_levels():
            if following < count:
                bound = max(bound, float(bounds[following]))
        return bound

    def _make_room(self, needed: int) -> None:
        """Room for so many results, if the limit allows them."""
        needed = min(self.limit, needed)
        if needed > len(self.scores):
            capacity = min(self.limit, max(needed, 2 * len(self.scores)))
            self.scores = enlarged(self.scores, capacity)
            self.heap = enlarged(self.heap, capacity)
            self.found = enlarged(self.found, capacity)

    def _run(self, work: int) -> int:
        """Call the compiled loop: DONE, SLICE or FULL."""
        raise NotImplementedError

    def _grow(self) -> None:
        """Twice the room in everything that can be too small."""
        raise NotImplementedError

    def _open_levels(self) -> Iterable[tuple[int, int, NDArray[Any]]]:
        """For each open level its number of children, the next one, and their bounds."""
        raise NotImplementedError
