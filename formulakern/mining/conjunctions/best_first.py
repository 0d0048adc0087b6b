"""Branch and bound over conjunctions of rows in partitions: best bound first, in batches.

The search keeps nodes and bounds; the rows stay in their partitions.  It opens nodes in the order
of their bounds, many at a time, asks every partition for the sums of weights, and of absolute
weights, over the covers of their children, and adds up the answers.  Weights are whole numbers of
one unit, in which sums are exact: the search goes the same way, and results are the same to the
last bit, however the rows are divided.  Bounds, and the children of a node, are those of
:mod:`.search`.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.deadline import UNLIMITED, Deadline, TimeIsOver, check_time_limit
from formulakern.errors import DataError
from formulakern.mining.conjunctions.answers import Question, answer, sizes, totals, weighed
from formulakern.mining.conjunctions.search import Lattice, MinedConjunctions, read_lattice
from formulakern.mining.search import (
    MAX_RESULTS,
    Objective,
    SearchOptions,
    check_objective,
    check_threshold,
    read_limit,
    unit_exponent,
)
from formulakern.partitions.partitioned import Partitioned

__all__ = ["mine_on_pieces"]

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
        question = Question.of(
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


#: The most answers of one batch, and the most answers times rows of the largest piece.
LARGEST_BATCH, BATCH_WORK = 1 << 16, 1 << 33


def mine_on_pieces(
    pieces: Partitioned,
    vectors: Sequence[FloatArray],
    n_propositions: int,
    *,
    size: FloatArray | None = None,
    among: NDArray[np.intp] | None = None,
    whole: bool = False,
    min_length: int = 1,
    max_length: int | None = 3,
    length_factor: Sequence[float] | NDArray[Any] | None = None,
    complement: bool = False,
    exclusive: Sequence[int] | NDArray[Any] | None = None,
    **options: Unpack[SearchOptions],
) -> MinedConjunctions:
    """As :func:`.search.mine_conjunctions`, for rows in pieces.

    The weights of a row are the vector of its group times its share.

    Parameters
    ----------
    pieces : Partitioned
        Of :class:`~formulakern.mining.conjunctions.answers.GroupedRows`.
    vectors : sequence of one float64 (G, K) per piece
        The weights of the piece's groups.
    n_propositions : int
    size : ndarray of shape (K,), optional
        The sums of the absolute weights over all rows, where they are known: the unit depends on
        them, and with it the last bits of results.
    among : ndarray of shape (n_propositions,), intp, optional
        Where the propositions stand in the tables of the pieces; conjunctions are of positions in
        this array.
    whole : bool
        Whether all shares are whole numbers.  Results are then the same to the last bit whether
        equal rows are merged or not.
    min_length, max_length, length_factor, complement, exclusive :
        As there.
    top, objective, direction, threshold, max_results, time_limit, progress :
        As in :func:`formulakern.mining.search.read_task`.

    Returns
    -------
    MinedConjunctions
        With sums and scores of the rounded weights, which do not depend on the division into
        pieces; ``bound`` allows for the rounding.

    Raises
    ------
    DataError
        If there are no pieces or no propositions.
    ParameterError
        If an option is out of its range.

    Notes
    -----
    Two rounds of questions, one for every batch, and one for the results.  A batch sends some 20
    bytes for every child, and brings 16 for every child and column of weights from every piece.

    Examples
    --------
    >>> from formulakern.encoding.zero_one import read_packed
    >>> from formulakern.mining.conjunctions.answers import GroupedRows
    >>> from formulakern.partitions.partitioned import Partitioned
    >>> tables = [[[1, 1, 0], [1, 1, 1]], [[1, 0, 1], [0, 1, 1]]]
    >>> each, ones = np.arange(2), np.ones(2)
    >>> pieces = Partitioned([GroupedRows(read_packed(table), each, ones) for table in tables])
    >>> weights = [np.array([[2.0], [1.0]]), np.array([[-1.0], [-1.0]])]
    >>> result = mine_on_pieces(pieces, weights, 3, top=1, max_length=2)
    >>> result.conjunctions, result.scores, result.proven
    ([(0, 1)], array([3.]), True)
    """
    started = Deadline.clock()
    limit = read_limit(options.get("top", 10), options.get("max_results", MAX_RESULTS))
    threshold, time_limit = options.get("threshold", 0.0), options.get("time_limit")
    objective, direction = options.get("objective", "absolute"), options.get("direction", "both")
    check_threshold(threshold)
    check_time_limit(time_limit)
    if not len(pieces) or n_propositions == 0:
        raise DataError(
            f"{len(pieces)} pieces of rows with {n_propositions} propositions; a search needs at "
            "least one of each."
        )
    width = vectors[0].shape[1]
    check_objective(objective, direction, width)
    lattice = read_lattice(
        n_propositions, min_length, max_length, length_factor, complement, exclusive
    )
    deadline = Deadline.of(time_limit)
    try:
        if size is None:
            size = np.sum(pieces.map(sizes, each=vectors, deadline=deadline), axis=0)
        exponent = unit_exponent(float(np.max(size)))
        rows = pieces.persist(weighed, exponent, whole, each=vectors)
        counted = rows.map(totals, deadline=deadline)
    except TimeIsOver:
        nothing = np.zeros(0)
        empty, seconds = np.zeros((0, width)), Deadline.clock() - started
        return MinedConjunctions(nothing, empty, False, False, math.inf, 0, seconds, [])
    everywhere = np.sum([sums for _, sums, _ in counted], axis=0)
    moved = np.ldexp(0.5 * np.sum([number for _, _, number in counted], axis=0), exponent)
    singles = np.stack([np.arange(width), np.full(width, -1)], axis=1)
    pairs, rounding = singles, float(moved.max())
    if objective == "spread":
        pairs = np.stack(np.triu_indices(width, 1), axis=1)
        rounding = float(moved[pairs].sum(axis=1).max())
    goal = Objective(
        np.zeros((0, width)),
        np.zeros((len(pairs), 0)),
        objective,
        direction != "negative",
        direction != "positive",
        exponent,
        rounding,
    )
    among = np.arange(n_propositions) if among is None else among
    largest = max(1, *(number for number, _, _ in counted))
    search = BestFirst(
        rows,
        goal,
        lattice,
        pairs.astype(np.int64),
        among,
        everywhere[pairs[:, 0]] - np.where(pairs[:, 1] >= 0, everywhere[pairs[:, 1]], 0.0),
        limit,
        goal.in_units(threshold),
        min(LARGEST_BATCH, max(FIRST_BATCH, BATCH_WORK // largest)),
    )
    progress = options.get("progress")
    while not (finished := search.done) and not deadline.over():
        try:
            search.advance(deadline)
        except TimeIsOver:
            break
        if progress is not None:
            progress(1.0 if search.done else min(search.share, 1.0))
    found = [w for _, _, w in search.results]
    units = _sums(rows, found, singles.astype(np.int64), among, everywhere)
    values = everywhere - units if complement else units
    factors = lattice.factors[0, [len(w) for w in found]]
    scores = np.ldexp(goal.scores(values), exponent) / factors
    kept = np.flatnonzero(scores > threshold).tolist()
    order = sorted(kept, key=lambda r: (-scores[r], len(found[r]), found[r]))
    return MinedConjunctions(
        conjunctions=[found[r] for r in order],
        scores=scores[order],
        sums=np.ldexp(units[order], exponent),
        proven=finished,
        complete=finished and len(found) < limit,
        bound=goal.from_units(search.bound) + rounding * (1 + complement) / lattice.smallest,
        n_evaluated=search.n_evaluated,
        seconds=Deadline.clock() - started,
    )


def _sums(
    rows: Partitioned,
    found: Sequence[tuple[int, ...]],
    singles: NDArray[np.int64],
    among: NDArray[np.intp],
    everywhere: FloatArray,
) -> FloatArray:
    """Sums of each column of weights over covers, in units, shape (r, K)."""
    sums = np.tile(everywhere, (len(found), 1))
    some = [r for r, w in enumerate(found) if w]
    step = max(1, LARGEST_BATCH // len(singles))
    for start in range(0, len(some), step):
        part = some[start : start + step]
        last, columns = [np.array(found[r][-1:]) for r in part], np.arange(len(singles))
        asked = [found[r][:-1] for r in part]
        question = Question.of(singles, among, asked, last, [columns] * len(part))
        answers = rows.sum(answer, question, deadline=UNLIMITED)
        sums[part] = answers[:, 0].reshape(len(part), len(singles))
    return sums
