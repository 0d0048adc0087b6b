"""Branch and bound over conjunctions of rows in partitions: best bound first, in batches.

The search keeps nodes and bounds; the rows stay in their partitions.  It opens many nodes at a
time, in the order of their bounds, and adds up the sums of weights, and of absolute weights, over
the covers of their children.  Weights are whole numbers of one unit, so sums are exact: the path of
the search and its results are the same to the last bit for any division of the rows.  The bounds
and the children of a node are those of :mod:`.search`.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.deadline import UNLIMITED, Deadline, TimeIsOver
from formulakern.mining.conjunctions.partition_sums import (
    SumQuery,
    rows_in_units,
    sizes,
    sums_over_covers,
    totals,
)
from formulakern.mining.conjunctions.search import (
    ConjunctionLattice,
    ConjunctionOptions,
    MinedConjunctions,
)
from formulakern.mining.search import Objective, unit_exponent
from formulakern.partitions.partitioned import Partitioned

#: Sums of the first batch; each later batch is twice as large, up to the largest, which is also
#: limited by the number of sums times rows of the largest partition.
FIRST_BATCH, MAX_BATCH, MAX_BATCH_WORK = 1 << 10, 1 << 16, 1 << 33
#: Children that may wait to be opened; beyond this, the longest are opened first, since they add
#: few new ones.
MAX_WAITING = 1 << 22


@dataclass(eq=False)
class _Children:
    """The children of a node that may have better descendants, best bound first.

    Child j adds ``items[j]``; its descendants score at most ``bounds[j]``, and ``by_column[j]`` in
    each column of weights; ``following`` is the next child.
    """

    conjunction: tuple[int, ...]
    items: NDArray[np.int64]
    bounds: FloatArray
    by_column: FloatArray
    following: int = 1  # the first child has no candidates before it


class _Node(NamedTuple):
    """A conjunction to open: its candidates, and the columns that are worth summing."""

    conjunction: tuple[int, ...]
    candidates: NDArray[np.int64]
    columns: NDArray[np.int64]
    bound: float


@dataclass(eq=False)
class BestFirst:
    """The open nodes of a search, and its results so far.

    Parameters
    ----------
    rows : Partitioned
        Partitions of :class:`~formulakern.mining.conjunctions.partition_sums.RowsInUnits`.
    goal : Objective
    lattice : ConjunctionLattice
    pairs : int64 (K', 2)
        Columns of weights, in the form of :class:`SumQuery`.
    among : intp (p,)
        The columns of the propositions in the tables of the partitions.
    totals : float64 (K',)
        Sums of weights over all rows.
    limit : int
        The largest number of results.
    threshold : float
        In units.
    most : int
        The largest batch.
    """

    rows: Partitioned
    goal: Objective
    lattice: ConjunctionLattice
    pairs: NDArray[np.int64]
    among: NDArray[np.intp]
    totals: FloatArray
    limit: int
    threshold: float
    most: int
    results: list[tuple[float, int, tuple[int, ...]]] = field(default_factory=list, init=False)
    n_evaluated: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        lattice = self.lattice
        self._waiting: dict[int, list[tuple[float, int, _Children]]] = {}
        self._batch, self._n_waiting, self._tick = min(FIRST_BATCH, self.most), 0, 0
        if lattice.least == 0:  # the empty conjunction
            score = self.goal.unit_scores(self.totals[None]) / lattice.factors[0, 0]
            self._offer((), np.zeros(0, dtype=np.int64), score)
        every = np.arange(len(lattice.groups)), np.arange(len(self.pairs))
        self._open = [_Node((), *every, math.inf)]  # the current batch
        if lattice.greatest < max(lattice.least, 1):
            self._open = []

    @property
    def lowest(self) -> float:
        """The score, in units, that a new result must exceed."""
        if len(self.results) < self.limit:
            return self.threshold
        return max(self.threshold, self.results[0][0])

    @property
    def bound(self) -> float:
        """A bound, in units, on the scores of all other conjunctions."""
        tops = [-heap[0][0] for heap in self._waiting.values() if heap]
        return max([self.lowest, *tops, *(node.bound for node in self._open)])

    def run(self, deadline: Deadline) -> bool:
        """Open batches of nodes; return True if no further conjunction can be a result."""
        while self.bound > self.lowest:
            if deadline.over():
                return False
            nodes = self._open = self._open or self._next_nodes()
            if not nodes:
                break
            query = SumQuery.of(
                self.pairs,
                self.among,
                [node.conjunction for node in nodes],
                [node.candidates for node in nodes],
                [node.columns for node in nodes],
            )
            try:
                sums = self.rows.sum(sums_over_covers, query, deadline=deadline)
            except TimeIsOver:
                return False
            ends = query.ends.tolist()
            for node, first, last in zip(nodes, [0, *ends], ends, strict=False):
                shape = len(node.columns), len(node.candidates), 2
                self._evaluate(node, sums[first:last].reshape(shape))
            self._open, self._batch = [], min(2 * self._batch, self.most)
        return True

    def _next_nodes(self) -> list[_Node]:
        nodes: list[_Node] = []
        asked = 0
        while asked < self._batch and (node := self._pop()) is not None:
            nodes.append(node)
            asked += len(node.candidates) * len(node.columns)
        return nodes

    def _pop(self) -> _Node | None:
        """Return the waiting node of the best bound, or of the longest conjunction if many wait."""
        groups = self.lattice.groups
        while lengths := [length for length, heap in self._waiting.items() if heap]:
            if self._n_waiting > MAX_WAITING:
                length = max(lengths)
            else:
                length = min(lengths, key=lambda n: self._waiting[n][0][:2])
            _, tick, children = heapq.heappop(self._waiting[length])
            place, lowest = children.following, self.lowest
            bound, left = float(children.bounds[place]), len(children.items) - place
            if bound <= lowest:
                self._n_waiting -= left
                continue
            self._n_waiting -= 1
            children.following += 1
            if left > 1:
                entry = -float(children.bounds[place + 1]), tick, children
                heapq.heappush(self._waiting[length], entry)
            item = int(children.items[place])
            before = children.items[:place][children.bounds[:place] > lowest]
            if groups[item] >= 0:
                before = before[groups[before] != groups[item]]
            if len(before):
                columns = np.flatnonzero(children.by_column[place] > lowest)
                return _Node((*children.conjunction, item), before, columns, bound)
        return None

    def _evaluate(self, node: _Node, sums: FloatArray) -> None:
        """Evaluate the children of a node from ``sums``: (columns, children, sum and size)."""
        lattice, goal, length = self.lattice, self.goal, len(node.conjunction) + 1
        n = len(node.candidates)
        self.n_evaluated += n
        total, size = sums[:, :, 0], sums[:, :, 1]
        if length >= lattice.least:
            scores = goal.unit_scores(total.T) / lattice.factors[0, length]
            self._offer(node.conjunction, node.candidates, scores)
        if length >= lattice.greatest:
            return
        signed = [(size + total) / 2] * goal.upwards + [(size - total) / 2] * goal.downwards
        if goal.kind == "norm":
            most = np.linalg.norm(np.max(signed, axis=0), axis=0)
            signed = [np.broadcast_to(most, total.shape)]
        by_column = np.full((n, len(self.pairs)), -np.inf)
        by_column[:, node.columns] = (np.max(signed, axis=0) / lattice.factors[1, length + 1]).T
        bounds = by_column.max(axis=1)
        kept = np.flatnonzero(bounds > self.lowest)
        kept = kept[np.argsort(-bounds[kept], kind="stable")]
        if len(kept) > 1:
            children = _Children(
                node.conjunction, node.candidates[kept], bounds[kept], by_column[kept]
            )
            self._tick += 1
            self._n_waiting += len(kept) - 1
            entry = -float(bounds[kept[1]]), self._tick, children
            heapq.heappush(self._waiting.setdefault(length, []), entry)

    def _offer(
        self, conjunction: tuple[int, ...], candidates: NDArray[np.int64], scores: FloatArray
    ) -> None:
        """Offer a conjunction with each of its candidates, or the empty one, as results."""
        passed = np.flatnonzero(scores > self.lowest)
        for j in passed[np.argsort(-scores[passed], kind="stable")].tolist():
            if scores[j] <= self.lowest:
                break
            last = (int(candidates[j]),) if len(candidates) else ()
            self._tick += 1
            entry = float(scores[j]), -self._tick, tuple(sorted((*conjunction, *last)))
            if len(self.results) < self.limit:
                heapq.heappush(self.results, entry)
            else:
                heapq.heapreplace(self.results, entry)


def mine_partitioned(
    partitions: Partitioned,
    vectors: Sequence[FloatArray],
    n_propositions: int,
    *,
    size: FloatArray | None = None,
    among: NDArray[np.intp] | None = None,
    whole: bool = False,
    **options: Any,
) -> MinedConjunctions:
    """Find the best conjunctions of :func:`.search.mine_conjunctions` for partitioned rows.

    The weights of a row are the vector of its group times its share.

    Parameters
    ----------
    partitions : Partitioned
        At least one of :class:`~formulakern.mining.conjunctions.partition_sums.RowsInGroups`.
    vectors : sequence of one float64 (G, K) per partition
        The weights of its groups.
    n_propositions : int
    size : ndarray of shape (K,), optional
        The sums of the absolute weights over all rows, computed by default.  They determine the
        unit, and with it the last bits of results.
    among : ndarray of shape (n_propositions,), intp, optional
        The columns of the propositions in the tables of the partitions; conjunctions contain
        positions in this array.
    whole : bool
        Whether all shares are whole numbers.  Then merging equal rows does not change the results,
        to the last bit.
    **options
        The options of :class:`~formulakern.mining.conjunctions.search.ConjunctionOptions`, without
        ``progress``.

    Sums and scores are those of the rounded weights, which do not depend on the division into
    partitions.  The partitions are read twice, once for every batch, and once for the results.  A
    batch sends about 20 bytes per child, and each partition returns 16 bytes per child and column
    of weights.
    """
    asked, width = ConjunctionOptions(**options), vectors[0].shape[1]
    deadline, lattice = Deadline.of(asked.time_limit), asked.lattice(n_propositions)
    try:
        if size is None:
            size = np.sum(partitions.map(sizes, each=vectors, deadline=deadline), axis=0)
        exponent = unit_exponent(float(np.max(size)))
        rows = partitions.persist(rows_in_units, exponent, whole, each=vectors)
        numbers, sums, lost = zip(*rows.map(totals, deadline=deadline), strict=True)
    except TimeIsOver:
        return MinedConjunctions(np.zeros(0), np.zeros((0, width)), False, False, math.inf, 0, [])
    everywhere = np.sum(sums, axis=0)
    moved = np.ldexp(0.5 * np.sum(lost, axis=0), exponent)
    singles = np.stack([np.arange(width), np.full(width, -1)], axis=1)
    pairs, rounding, over = singles, float(moved.max()), everywhere
    if asked.objective == "norm":
        rounding = float(np.linalg.norm(moved))
    if asked.objective == "spread":
        pairs = np.stack(np.triu_indices(width, 1), axis=1)
        rounding = float(moved[pairs].sum(axis=1).max())
        over = everywhere[pairs[:, 0]] - everywhere[pairs[:, 1]]
    goal = Objective(
        np.zeros((len(pairs), 0)),
        asked.objective,
        asked.direction != "negative",
        asked.direction != "positive",
        exponent,
        rounding,
    )
    among = np.arange(n_propositions) if among is None else among
    most = min(MAX_BATCH, max(FIRST_BATCH, MAX_BATCH_WORK // max(1, *numbers)))
    threshold = goal.in_units(asked.threshold)
    search = BestFirst(rows, goal, lattice, pairs, among, over, asked.top, threshold, most)
    finished = search.run(deadline)
    found = [w for _, _, w in search.results]
    units = _sums(rows, found, singles, among, everywhere)
    factors = lattice.factors[0, [len(w) for w in found]]
    scores = np.ldexp(goal.scores(units), exponent) / factors
    bound = goal.from_units(search.bound) + rounding / lattice.smallest
    known = {"bound": bound, "n_evaluated": search.n_evaluated}
    return MinedConjunctions.listed(
        found, scores, np.ldexp(units, exponent), asked, finished, **known
    )


def _sums(
    rows: Partitioned,
    found: Sequence[tuple[int, ...]],
    singles: NDArray[np.int64],
    among: NDArray[np.intp],
    everywhere: FloatArray,
) -> FloatArray:
    """Return sums of each column of weights over covers, in units, shape (r, K)."""
    sums = np.tile(everywhere, (len(found), 1))
    some = [r for r, w in enumerate(found) if w]
    step = max(1, MAX_BATCH // len(singles))
    for start in range(0, len(some), step):
        part = some[start : start + step]
        last, columns = [np.array(found[r][-1:]) for r in part], np.arange(len(singles))
        asked = [found[r][:-1] for r in part]
        query = SumQuery.of(singles, among, asked, last, [columns] * len(part))
        results = rows.sum(sums_over_covers, query, deadline=UNLIMITED)
        sums[part] = results[:, 0].reshape(len(part), len(singles))
    return sums
