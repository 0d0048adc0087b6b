"""Branch and bound over conjunctions without rows: best bound first, in batches of questions.

The search keeps nodes and bounds; the rows are elsewhere, in pieces.  It opens nodes in the order
of their bounds, many at a time, and asks every piece for the sums of weights over the covers of
their children, and for the sums of absolute weights.  Answers are added.

Bounds, and which children a node has, are those of :mod:`.search`.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.deadline import Deadline
from formulakern.mining.conjunctions.answers import Question, answer
from formulakern.mining.conjunctions.enumeration import Lattice
from formulakern.mining.objective import Objective
from formulakern.partitions.partitioned import Partitioned

__all__ = ["FIRST_BATCH", "BestFirst", "question_of"]

#: Answers that the first batch asks for; each later one asks for twice as many.
FIRST_BATCH = 1 << 10
#: Children that wait to be opened; beyond, the longest are opened first, so that few more come.
WAITING = 1 << 22


@dataclass(eq=False)
class _Children:
    """The children of a node that may have better descendants, best bound first.

    Parameters
    ----------
    conjunction : tuple of int
        The node.
    items : int64 (c,)
        What each child adds.
    bounds : float64 (c,)
        What no descendant of the child scores more than.
    by_column : float64 (c, K')
        The same for each column of weights.
    share : float
        Of the whole search, for each child.
    following : int
        The next child.
    """

    conjunction: tuple[int, ...]
    items: NDArray[np.int64]
    bounds: FloatArray
    by_column: FloatArray
    share: float
    following: int = 1  # the first has no candidates: nothing stands before it


@dataclass(frozen=True, eq=False)
class _Node:
    """A conjunction that is opened: its candidates, and the columns that are worth asking for."""

    conjunction: tuple[int, ...]
    candidates: NDArray[np.int64]
    columns: NDArray[np.int64]
    bound: float
    share: float


@dataclass(eq=False)
class BestFirst:
    """Nodes that wait, and results so far.

    Parameters
    ----------
    rows : Partitioned
        Of :class:`~formulakern.mining.conjunctions.answers.WeighedRows`.
    goal : Objective
    lattice : Lattice
    pairs : int64 (K', 2)
        Columns of weights, as :class:`Question` has them.
    among : intp (p,)
        Where the propositions stand in the tables of the pieces.
    totals : float64 (K',)
        Their sums over all rows.
    limit : int
    threshold : float
        In units.
    most : int
        Answers of one batch, about.
    """

    rows: Partitioned
    goal: Objective
    lattice: Lattice
    pairs: NDArray[np.int64]
    among: NDArray[np.intp]
    totals: FloatArray
    limit: int
    threshold: float
    most: int
    results: list[tuple[float, int, tuple[int, ...]]] = field(default_factory=list, init=False)
    n_evaluated: int = field(default=0, init=False)
    share: float = field(default=0.0, init=False)
    _waiting: dict[int, list[tuple[float, int, _Children]]] = field(init=False)
    _root: _Node | None = field(init=False)
    _n_waiting: int = field(default=0, init=False)
    _tick: int = field(default=0, init=False)
    _batch: int = field(init=False)
    _open: float = field(default=-math.inf, init=False)  # the best bound of a batch under way

    def __post_init__(self) -> None:
        lattice, self._waiting = self.lattice, {}
        self._batch = min(FIRST_BATCH, self.most)
        p, columns = len(lattice.groups), np.arange(len(self.pairs))
        if lattice.least == 0:  # the empty conjunction
            values = np.zeros_like(self.totals) if lattice.complement else self.totals
            score = self.goal.unit_scores(values[None]) / lattice.factors[0, 0]
            self._offer((), np.zeros(0, dtype=np.int64), score)
        self._root = _Node((), np.arange(p), columns, math.inf, 1.0)
        if lattice.greatest < max(lattice.least, 1):
            self._root = None

    @property
    def lowest(self) -> float:
        """What a result has to pass."""
        if len(self.results) < self.limit:
            return self.threshold
        return max(self.threshold, self.results[0][0])

    @property
    def done(self) -> bool:
        """Whether nothing waits that could pass what is found."""
        return self.bound <= self.lowest

    @property
    def bound(self) -> float:
        """In units: what nothing that is not among the results passes."""
        tops = [-heap[0][0] for heap in self._waiting.values() if heap]
        root = [] if self._root is None else [self._root.bound]
        return max([self.lowest, self._open, *tops, *root])

    def advance(self, deadline: Deadline) -> None:
        """Open a batch of nodes.

        Raises
        ------
        TimeIsOver
            If the answers are not there in time; nothing more can be opened then.
        """
        nodes = self._next_nodes()
        if not nodes:
            return
        self._open = max(node.bound for node in nodes)
        question = question_of(
            self.pairs,
            self.among,
            [node.conjunction for node in nodes],
            [node.candidates for node in nodes],
            [node.columns for node in nodes],
        )
        sums = self.rows.sum(answer, question, deadline=deadline)
        ends = question.ends.tolist()
        for node, first, last in zip(nodes, [0, *ends], ends, strict=False):
            shape = len(node.columns), len(node.candidates), 2
            self._evaluate(node, sums[first:last].reshape(shape))
        self._open = -math.inf
        self._batch = min(2 * self._batch, self.most)

    def _next_nodes(self) -> list[_Node]:
        """The nodes of the next batch."""
        if self._root is not None:
            nodes, self._root = [self._root], None
            return nodes
        nodes, asked = [], 0
        while asked < self._batch and (node := self._pop()) is not None:
            nodes.append(node)
            asked += len(node.candidates) * len(node.columns)
        return nodes

    def _pop(self) -> _Node | None:
        """The waiting node of the best bound, or of the longest conjunction where many wait."""
        lattice = self.lattice
        while True:
            lengths = [length for length, heap in self._waiting.items() if heap]
            if not lengths:
                return None
            if self._n_waiting > WAITING:
                length = max(lengths)
            else:
                length = min(lengths, key=lambda n: self._waiting[n][0][:2])
            _, tick, children = heapq.heappop(self._waiting[length])
            place, lowest = children.following, self.lowest
            self._n_waiting -= 1
            bound = float(children.bounds[place])
            left = len(children.items) - place
            if bound <= lowest:
                self.share += children.share * left
                self._n_waiting -= left - 1
                continue
            children.following += 1
            if left > 1:
                entry = -float(children.bounds[place + 1]), tick, children
                heapq.heappush(self._waiting[length], entry)
            item = int(children.items[place])
            before = children.items[:place][children.bounds[:place] > lowest]
            group = lattice.groups[item]
            if group >= 0:
                before = before[lattice.groups[before] != group]
            if not len(before):
                self.share += children.share
                continue
            columns = np.flatnonzero(children.by_column[place] > lowest)
            conjunction = (*children.conjunction, item)
            return _Node(conjunction, before, columns, bound, children.share)

    def _evaluate(self, node: _Node, sums: FloatArray) -> None:
        """Look at the children of a node: (columns, children, sum and size)."""
        lattice, goal, length = self.lattice, self.goal, len(node.conjunction) + 1
        n = len(node.candidates)
        self.n_evaluated += n
        total, size = sums[:, :, 0], sums[:, :, 1]
        everywhere = self.totals[node.columns, None]
        if length >= lattice.least:
            values = everywhere - total if lattice.complement else total
            scores = goal.unit_scores(values.T) / lattice.factors[0, length]
            self._offer(node.conjunction, node.candidates, scores)
        if length < lattice.greatest:
            above, below = (size + total) / 2, (total - size) / 2
            if lattice.complement:
                above, below = everywhere - below, everywhere - above
            best = np.max([above] * goal.upwards + [-below] * goal.downwards, axis=0)
            smallest, largest = lattice.factors[1:, length + 1]
            by_column = np.full((n, len(self.pairs)), -np.inf)
            by_column[:, node.columns] = np.where(best >= 0, best / smallest, best / largest).T
            bounds = by_column.max(axis=1)
            kept = np.flatnonzero(bounds > self.lowest)
            kept = kept[np.argsort(-bounds[kept], kind="stable")]
            if len(kept) > 1:
                share = node.share / len(kept)
                self.share += share
                children = _Children(
                    node.conjunction, node.candidates[kept], bounds[kept], by_column[kept], share
                )
                self._tick += 1
                self._n_waiting += len(kept) - 1
                entry = -float(bounds[kept[1]]), self._tick, children
                heapq.heappush(self._waiting.setdefault(length, []), entry)
                return
        self.share += node.share

    def _offer(
        self, conjunction: tuple[int, ...], candidates: NDArray[np.int64], scores: FloatArray
    ) -> None:
        """Results: a conjunction with each of its candidates, or, of length 0, by itself."""
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


def question_of(
    pairs: NDArray[np.int64],
    among: NDArray[np.intp],
    conjunctions: Sequence[tuple[int, ...]],
    items: Sequence[NDArray[np.int64]],
    columns: Sequence[NDArray[np.int64]],
) -> Question:
    """What is asked about conjunctions, their candidates and columns of weights."""
    depth = max([1, *map(len, conjunctions)])
    table = np.full((len(conjunctions), depth), -1, dtype=np.int64)
    for row, conjunction in zip(table, conjunctions, strict=True):
        row[: len(conjunction)] = among[list(conjunction)]
    return Question(
        pairs,
        table,
        np.cumsum([len(each) for each in items], dtype=np.int64),
        among[np.concatenate(items)].astype(np.int64),
        np.cumsum([len(each) for each in columns], dtype=np.int64),
        np.concatenate(columns, dtype=np.int64),
    )
