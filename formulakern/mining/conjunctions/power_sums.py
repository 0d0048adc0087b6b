r"""Sums of powers over all conjunctions: the heaviest are listed, the others bounded together.

For weights of rows let S(w) be the sum over the cover of a conjunction w, and with b > 1

    x_w = |S(w)| / b^|w|.

Wanted is Σ_w x_w^s over all 2^p conjunctions, s > 1.  Where v is a conjunction of which P(v) and
N(v) are the sums of the positive and of the negative weights over its cover, in absolute value,
every w ⊇ v has |S(w)| ≤ M(v) = max(P(v), N(v)).  In the tree of the branch and bound
(:mod:`.search`) the nodes below v are v with any of the r propositions that may still be added to
it, so that

    Σ_{w below v} x_w^s  ≤  (M(v) / b^|v|)^s · ((1 + b^−s)^r − 1).

Every conjunction is either looked at, or below exactly one node that is not opened: these terms,
added up, bound what was not looked at.  For b = 4 and s = 11, which is what hierarchical kernel
learning asks with its defaults, the second factor is r / 4,000,000: a few levels of the tree are
enough.  Nodes are opened that contribute most.  No pair of rows is looked at, and rows are asked
for sums alone, so that they may lie in pieces.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.deadline import UNLIMITED, Deadline, TimeIsOver
from formulakern.mining.conjunctions.answers import Question, add_up, answer
from formulakern.partitions.partitioned import Partitioned

__all__ = ["LOOKED_AT", "Heaviest", "Powers", "heaviest", "ready"]

#: Answers of one batch; nodes that wait; conjunctions that are looked at before it is given up.
BATCH, WAITING, LOOKED_AT = 1 << 18, 1 << 21, 1 << 25
#: Shares of the goal: for what waits when the search ends; for what is never opened or listed.
OPEN, SMALL = 0.5, 0.05


class Powers(NamedTuple):
    """What is summed.

    Parameters
    ----------
    base : float
        b > 1.
    exponent : float
        s > 1.
    upwards, downwards : bool
        Whether S(w) > 0 counts, and whether S(w) < 0 does.
    """

    base: float
    exponent: float
    upwards: bool = True
    downwards: bool = True

    def below(self, candidates: NDArray[np.intp]) -> FloatArray:
        """ln((1 + b^−s)^r − 1), from above, for numbers r of propositions.

        >>> np.exp(Powers(2.0, 2.0).below(np.array([1, 2]))).round(6)
        array([0.25  , 0.5625])
        """
        small = -self.exponent * float(np.log(self.base))  # ln b^−s, which itself may be 0
        z = candidates * float(np.log1p(np.exp(small)))
        with np.errstate(divide="ignore"):
            exact = z + np.log(-np.expm1(-z))
            few = np.log(candidates) + small + z
        return np.asarray(np.where(z > 1e-6, exact, few) + 1e-12)


@dataclass(frozen=True, eq=False)
class Heaviest:
    """The conjunctions of largest x_w, and what all the others add up to.

    Attributes
    ----------
    conjunctions : list of tuple of int
        Sorted positions of propositions; of largest x first.
    x : float64 (r,)
        x_w of each, from above: what rounding may have taken away is added.
    rest : float
        At least Σ x_w^s over all conjunctions that are not listed, but for the empty one.
    reached : bool
        Whether ``rest`` is at most what was asked for.
    n_evaluated : int
        Conjunctions that were looked at.
    """

    conjunctions: list[tuple[int, ...]]
    x: FloatArray
    rest: float
    reached: bool
    n_evaluated: int


def heaviest(
    rows: Partitioned,
    items: NDArray[np.intp],
    powers: Powers,
    goal: float,
    *,
    unit: float = 1.0,
    rounding: float = 0.0,
    most: int = LOOKED_AT,
    deadline: Deadline = UNLIMITED,
) -> Heaviest:
    """List the heaviest conjunctions, until Σ x_w^s over all others is proven to be at most a goal.

    Parameters
    ----------
    rows : Partitioned
        Of :class:`~formulakern.mining.conjunctions.answers.WeighedRows` with one column of weights.
    items : ndarray of intp
        The propositions of which conjunctions are made.
    powers : Powers
    goal : float
        Positive.
    unit : float
        S(w) is measured in so many units of the weights: x_w = |S(w)| / (b^|w| unit).
    rounding : float
        No S(w) of the weights that are meant differs by more from that of the rows' weights.
    most : int
        The search ends once so many conjunctions were looked at.
    deadline : Deadline, optional
        Then what is known is returned.

    Raises
    ------
    TimeIsOver
        If the time is over before the propositions themselves are looked at.

    Notes
    -----
    One question to the rows for every level of the tree, and for every 2¹⁸ conjunctions of one.

    Examples
    --------
    >>> from formulakern.encoding.zero_one import read_packed
    >>> from formulakern.mining.conjunctions.answers import WeighedRows
    >>> from formulakern.partitions.partitioned import Partitioned
    >>> table = read_packed([[1, 1, 0], [1, 1, 1], [1, 0, 1], [0, 1, 1]])
    >>> each, vectors = np.arange(4), np.array([[2.0], [1.0], [-1.0], [-1.0]])
    >>> rows = Partitioned([WeighedRows(table.columns, each, np.ones(4), vectors)])
    >>> found = heaviest(rows, np.arange(3), Powers(2.0, 3.0), 0.05)
    >>> found.conjunctions, found.x.round(6).tolist(), bool(found.rest <= 0.05)
    ([(0,), (1,), (0, 1), (2,)], [1.0, 1.0, 0.75, 0.5], True)
    """
    search = _Search(rows, items, powers, float(np.log(goal)), float(np.log(unit)), rounding)
    search.open_root(deadline)
    try:
        while not search.reached and search.n_evaluated < most:
            search.advance(deadline)
    except TimeIsOver:
        pass
    return search.result()


def ready(deadline: Deadline) -> bool:
    """Whether questions can be answered before the time is over: compiled code is there."""
    return add_up.ready(deadline)


#: A conjunction and its candidates.
_Node = tuple[tuple[int, ...], NDArray[np.int64]]


class _Waiting(NamedTuple):
    """Nodes that may be opened: ln of a bound on what is below, the block, the place in it."""

    below: FloatArray
    block: NDArray[np.intp]
    place: NDArray[np.intp]

    def at(self, which: NDArray[np.intp]) -> _Waiting:
        return _Waiting(self.below[which], self.block[which], self.place[which])


@dataclass(frozen=True, eq=False)
class _Block:
    """The children of an opened node that cover rows with weight; the largest bound first.

    A child may be extended by those before it.
    """

    conjunction: tuple[int, ...]
    items: NDArray[np.int64]


@dataclass(eq=False)
class _Search:
    """What was looked at, and what waits."""

    rows: Partitioned
    items: NDArray[np.intp]
    powers: Powers
    goal: float  # its logarithm
    unit: float  # its logarithm
    rounding: float
    n_evaluated: int = field(default=0, init=False)
    _blocks: list[_Block] = field(default_factory=list, init=False)
    _waiting: _Waiting = field(init=False)
    _listed: list[tuple[FloatArray, NDArray[np.intp], NDArray[np.intp]]] = field(
        default_factory=list, init=False
    )  # ln x, the block and the place
    _closed: float = field(default=0.0, init=False)  # of nodes that are not opened any more
    _passed: float = field(default=0.0, init=False)  # of conjunctions that are not listed

    def __post_init__(self) -> None:
        none = np.zeros(0, dtype=np.intp)
        self._waiting = _Waiting(np.zeros(0), none, none)
        if self.rounding:  # all that rounding may have hidden, where no row has weight
            most = self.powers.exponent * (np.log(self.rounding) - self.unit)
            every = self.powers.below(np.array([len(self.items)]))[0]
            self._closed = float(np.exp(most + every - self.goal))

    @property
    def reached(self) -> bool:
        """Whether what is below unopened nodes is little enough, or there are none."""
        return not len(self._waiting.below) or self._open() <= OPEN

    def _open(self) -> float:
        """A bound on what was not looked at, as a share of the goal."""
        with np.errstate(over="ignore"):
            return self._closed + float(np.exp(self._waiting.below - self.goal).sum())

    def open_root(self, deadline: Deadline) -> None:
        """Look at the propositions."""
        nodes: list[_Node] = [((), self.items.astype(np.int64))]
        self._take(nodes, self._answers(nodes, deadline))

    def advance(self, deadline: Deadline) -> None:
        """Open the nodes that contribute most, so that no more than the goal is left of these."""
        waiting = self._waiting
        order = np.argsort(-waiting.below, kind="stable")
        with np.errstate(over="ignore"):
            shares = np.exp(waiting.below[order] - self.goal)
        left = np.cumsum(shares[::-1])[::-1]  # from each one on
        needed = int(np.count_nonzero(left > OPEN - SMALL))
        asked = np.cumsum(waiting.place[order[:needed]])
        needed = max(1, int(np.searchsorted(asked, BATCH, side="right")))
        some, others = waiting.at(order[:needed]), waiting.at(order[needed:])
        nodes = []
        for b, k in zip(some.block.tolist(), some.place.tolist(), strict=True):
            block = self._blocks[b]
            nodes.append(((*block.conjunction, int(block.items[k])), block.items[:k]))
        answers = self._answers(nodes, deadline)
        self._waiting = others
        self._take(nodes, answers)

    def _answers(self, nodes: list[_Node], deadline: Deadline) -> FloatArray:
        depth = max(1, *(len(v) for v, _ in nodes))
        table = np.full((len(nodes), depth), -1, dtype=np.int64)
        for row, (v, _) in zip(table, nodes, strict=True):
            row[: len(v)] = v
        ends = np.cumsum([len(items) for _, items in nodes], dtype=np.int64)
        one = np.arange(1, len(nodes) + 1, dtype=np.int64)
        question = Question(
            np.array([[0, -1]], dtype=np.int64),
            table,
            ends,
            np.concatenate([items for _, items in nodes]),
            one,
            np.zeros(len(nodes), dtype=np.int64),
        )
        return np.asarray(self.rows.sum(answer, question, deadline=deadline))

    def _take(self, nodes: list[_Node], answers: FloatArray) -> None:
        """Look at the children of some nodes."""
        lengths = np.array([len(v) + 1 for v, _ in nodes])
        counts = np.array([len(items) for _, items in nodes])
        node = np.repeat(np.arange(len(nodes)), counts)
        self.n_evaluated += len(node)
        sums, sizes = answers[:, 0], answers[:, 1]
        above, below = (sizes + sums) / 2, (sizes - sums) / 2
        bound, value = np.zeros(len(node)), np.zeros(len(node))
        if self.powers.upwards:
            bound, value = np.maximum(bound, above), np.maximum(value, sums)
        if self.powers.downwards:
            bound, value = np.maximum(bound, below), np.maximum(value, -sums)
        s = self.powers.exponent
        scale = lengths[node] * np.log(self.powers.base) + self.unit
        with np.errstate(divide="ignore"):
            own = np.log(value + self.rounding) - scale
            most = np.log(bound + self.rounding) - scale
        # children in the order of their bounds, those without weight left out
        order = np.lexsort((-bound, node))
        order = order[sizes[order] > 0]
        node, own, most = node[order], own[order], most[order]
        items = np.concatenate([items for _, items in nodes])[order]
        sizes_left = np.bincount(node, minlength=len(nodes))
        starts = np.cumsum(sizes_left) - sizes_left
        place = np.arange(len(node)) - starts[node]
        block = len(self._blocks) + node
        for (v, _), start, n in zip(nodes, starts.tolist(), sizes_left.tolist(), strict=True):
            self._blocks.append(_Block(v, items[start : start + n]))
        self._list(own, block, place)
        several = np.flatnonzero(place)
        fresh = s * most[several] + self.powers.below(place[several])
        waiting = _Waiting(fresh, block[several], place[several])
        self._waiting = _Waiting(
            *(np.concatenate(both) for both in zip(self._waiting, waiting, strict=True))
        )
        self._waiting, self._closed = self._without_small(self._waiting, self._closed)

    def _without_small(self, waiting: _Waiting, closed: float) -> tuple[_Waiting, float]:
        order = np.argsort(waiting.below, kind="stable")
        with np.errstate(over="ignore"):
            sums = closed + np.cumsum(np.exp(waiting.below[order] - self.goal))
        n = int(np.searchsorted(sums, SMALL, side="right"))
        n = max(n, len(order) - WAITING)
        return waiting.at(np.sort(order[n:])), float(sums[n - 1]) if n else closed

    def _list(self, own: FloatArray, block: NDArray[np.intp], place: NDArray[np.intp]) -> None:
        """Keep the conjunctions that weigh something, and add up the others."""
        order = np.argsort(own, kind="stable")
        with np.errstate(over="ignore"):
            values = np.exp(self.powers.exponent * own[order] - self.goal)
        sums = self._passed + np.cumsum(values)
        n = int(np.searchsorted(sums, SMALL, side="right"))
        if n:
            self._passed = float(sums[n - 1])
        kept = order[n:]
        self._listed.append((own[kept], block[kept], place[kept]))

    def result(self) -> Heaviest:
        """What is known."""
        own, block, place = (np.concatenate(parts) for parts in zip(*self._listed, strict=True))
        order = np.argsort(-own, kind="stable")
        with np.errstate(over="ignore"):
            values = np.exp(self.powers.exponent * own[order] - self.goal)
        left = np.cumsum(values[::-1])[::-1]
        spare = 1.0 - self._open() - self._passed
        n = int(np.count_nonzero(left > spare))
        kept = order[:n]
        share = self._open() + self._passed + (float(left[n]) if n < len(left) else 0.0)
        found = []
        for b, k in zip(block[kept].tolist(), place[kept].tolist(), strict=True):
            one = self._blocks[b]
            found.append(tuple(sorted((*one.conjunction, int(one.items[k])))))
        with np.errstate(over="ignore"):
            rest = float(np.exp(self.goal) * share) * (1 + 1e-9)
            x = np.exp(own[kept])
        return Heaviest(found, x * (1 + 1e-12), rest, share <= 1 + 1e-12, self.n_evaluated)
