r"""Sums of powers over all conjunctions: the heaviest are listed, the others bounded together.

For weights of rows let S(w) be the sum over the cover of a conjunction w, and with b > 1

    x_w = |S(w)| / b^|w|.

The goal is Σ_w x_w^s over all 2^p conjunctions, s > 1.  Let P(v) and N(v) be the sums of the
positive and of the negative weights, in absolute value, over the cover of a conjunction v.  Then
every w ⊇ v has |S(w)| ≤ M(v) = max(P(v), N(v)).  In the tree of the branch and bound
(:mod:`.search`) the nodes below v are v with any of the r propositions that may still be added, so

    Σ_{w below v} x_w^s  ≤  (M(v) / b^|v|)^s · ((1 + b^−s)^r − 1).

Every conjunction is either evaluated, or below exactly one node that is not opened: the sum of
these terms bounds all conjunctions that are not evaluated.  For b = 4 and s = 11, the defaults of
hierarchical kernel learning, the second factor is r / 4,000,000: a few levels of the tree are
enough.  The nodes with the largest terms are opened first.  Only sums over rows are needed, so the
rows may be in partitions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.deadline import UNLIMITED, Deadline, TimeIsOver
from formulakern.mining.conjunctions.partition_sums import (
    SumQuery,
    add_sums,
    small_sums_over_covers,
    sums_over_covers,
)
from formulakern.partitions.partitioned import Partitioned

#: Sums per batch; nodes that may wait; conjunctions that are evaluated before the search gives up.
BATCH_SUMS, MAX_WAITING, MAX_EVALUATED = 1 << 18, 1 << 21, 1 << 25
#: Truth values that NumPy processes while machine code is compiled.
MAX_NUMPY_ENTRIES = 1 << 30
#: Shares of the goal: of waiting nodes at the end; of nodes that are never opened or listed.
MAX_OPEN_SHARE, UNLISTED_SHARE = 0.5, 0.05


class Powers(NamedTuple):
    """The base b > 1, the exponent s > 1, and whether S(w) > 0 and S(w) < 0 count."""

    base: float
    exponent: float
    upwards: bool = True
    downwards: bool = True

    def below(self, candidates: NDArray[np.intp]) -> FloatArray:
        """Return upper bounds on ln((1 + b^−s)^r − 1) for numbers r of propositions.

        >>> np.exp(Powers(2.0, 2.0).below(np.array([1, 2]))).round(6)
        array([0.25  , 0.5625])
        """
        small = -self.exponent * float(np.log(self.base))  # ln b^−s; b^−s may underflow
        z = candidates * float(np.log1p(np.exp(small)))
        with np.errstate(divide="ignore"):
            exact = z + np.log(-np.expm1(-z))
            few = np.log(candidates) + small + z
        return np.asarray(np.where(z > 1e-6, exact, few) + 1e-12)


class Heaviest(NamedTuple):
    """The conjunctions of largest x_w, and a bound on the sum of all the others.

    Parameters
    ----------
    conjunctions : list of tuple of int
        Sorted positions of propositions; the largest x first.
    x : float64 (r,)
        An upper bound on x_w of each, which includes the rounding.
    rest : float
        At least Σ x_w^s over all conjunctions that are not listed, without the empty one.
    """

    conjunctions: list[tuple[int, ...]]
    x: FloatArray
    rest: float


def heaviest(
    rows: Partitioned,
    items: NDArray[np.intp],
    powers: Powers,
    goal: float,
    *,
    deadline: Deadline = UNLIMITED,
    **options: Any,
) -> Heaviest:
    """List the heaviest conjunctions until Σ x_w^s over all others is proven to be at most a goal.

    ``rows`` are :class:`~formulakern.mining.conjunctions.partition_sums.RowsInUnits` with one
    column of weights, and x_w = |S(w)| / (b^|w| unit); no S(w) of the exact weights differs by more
    than ``rounding``.  The search ends after ``most`` evaluated conjunctions, or at the deadline;
    TimeIsOver is raised if the propositions are not evaluated by then.  If ``n_rows``, the number
    of rows in this process, is given and small, NumPy adds them up.  The ``options`` are
    ``unit=1``, ``rounding=0``, ``most`` and ``n_rows=None``.  The rows are read once for every
    level of the tree, and for every 2¹⁸ conjunctions of one level.
    """
    search = _Search(rows, items, powers, goal, **options)
    search.open([((), items.astype(np.int64))], deadline)
    try:
        while not search.reached and search.n_evaluated < search.most:
            search.advance(deadline)
    except TimeIsOver:
        pass
    return search.result()


#: A conjunction and its candidates.
_Node = tuple[tuple[int, ...], NDArray[np.int64]]


#: Children of opened nodes: a logarithm for each, its block, and its place in the block.
#:
#: A block is an opened node and its children that cover rows with weight, the largest bound first;
#: a child may be extended by those before it.
_CHILDREN = np.dtype([("value", np.float64), ("block", np.intp), ("place", np.intp)])


@dataclass(eq=False)
class _Search:
    """The evaluated conjunctions, and waiting nodes; sums are shares of the goal."""

    rows: Partitioned
    items: NDArray[np.intp]
    powers: Powers
    goal: float
    unit: float = 1.0
    rounding: float = 0.0
    most: int = MAX_EVALUATED
    n_rows: int | None = None

    def __post_init__(self) -> None:
        self.goal, self.unit = float(np.log(self.goal)), float(np.log(self.unit))
        self.n_evaluated, self.positions = 0, np.arange(int(self.items.max()) + 1)
        self.blocks: list[_Node] = []
        # waiting: ln of a bound on the sum below; listed: ln x^s
        self.waiting = self.listed = np.zeros(0, _CHILDREN)
        self.closed = self.passed = 0.0  # sums below nodes that are never opened; of unlisted ones
        if self.rounding:  # all that rounding may hide in covers without weight
            most = self.powers.exponent * (np.log(self.rounding) - self.unit)
            below = self.powers.below(np.array([len(self.items)]))
            self.closed = float(self.shares(most + below)[0])

    def shares(self, logs: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(logs - self.goal))

    @property
    def unknown(self) -> float:
        """A bound on the sum over conjunctions that were not evaluated."""
        return self.closed + float(self.shares(self.waiting["value"]).sum())

    @property
    def reached(self) -> bool:
        """True if the bound below unopened nodes is small enough, or no node waits."""
        return not len(self.waiting) or self.unknown <= MAX_OPEN_SHARE

    def advance(self, deadline: Deadline) -> None:
        """Open the nodes with the largest bounds, until the rest is within the goal."""
        order = np.argsort(-self.waiting["value"], kind="stable")
        left = np.cumsum(self.shares(self.waiting["value"][order])[::-1])[::-1]  # from each one on
        needed = int(np.count_nonzero(left > MAX_OPEN_SHARE - UNLISTED_SHARE))
        sums = np.cumsum(self.waiting["place"][order[:needed]])
        batch = min(BATCH_SUMS, self.most - self.n_evaluated)
        needed = max(1, int(np.searchsorted(sums, batch, side="right")))
        self.open(self._nodes(self.waiting[order[:needed]]), deadline, order[needed:])

    def _nodes(self, children: NDArray[Any]) -> list[_Node]:
        """Return some children as nodes."""
        nodes = []
        for _, b, k in children.tolist():
            conjunction, items = self.blocks[b]
            nodes.append(((*conjunction, int(items[k])), items[:k]))
        return nodes

    def open(
        self, nodes: list[_Node], deadline: Deadline, left: NDArray[np.intp] | None = None
    ) -> None:
        """Evaluate the children of some nodes; of the waiting nodes keep those in ``left``."""
        conjunctions, candidates = zip(*nodes, strict=True)
        every = np.concatenate(candidates)
        one = np.zeros(1, dtype=np.int64)
        pairs = np.array([[0, -1]], dtype=np.int64)
        query = SumQuery.of(pairs, self.positions, conjunctions, candidates, [one] * len(nodes))
        function = sums_over_covers
        if self.n_rows is not None:
            work = len(nodes) * len(self.positions) * self.n_rows
            loop = add_sums.pays(work) and add_sums.ready(deadline, wait=work > MAX_NUMPY_ENTRIES)
            function = sums_over_covers if loop else small_sums_over_covers
        sums, sizes = np.asarray(self.rows.sum(function, query, deadline=deadline)).T
        if left is not None:
            self.waiting = self.waiting[left]
        self.n_evaluated += len(every)
        node = np.repeat(np.arange(len(nodes)), [len(items) for items in candidates])
        bound, value = np.zeros(len(node)), np.zeros(len(node))
        for counts, signed in ((self.powers.upwards, sums), (self.powers.downwards, -sums)):
            if counts:
                bound = np.maximum(bound, (sizes + signed) / 2)
                value = np.maximum(value, signed)
        # children in the order of their bounds, without those of weight zero
        order = np.lexsort((-bound, node))
        order = order[sizes[order] > 0]
        node, every = node[order], every[order]
        s, lengths = self.powers.exponent, np.array([len(v) + 1 for v in conjunctions])
        scale = lengths[node] * np.log(self.powers.base) + self.unit
        with np.errstate(divide="ignore"):
            own = np.log(value[order] + self.rounding) - scale
            most = np.log(bound[order] + self.rounding) - scale
        ends = np.cumsum(np.bincount(node, minlength=len(nodes)))
        place = np.arange(len(node)) - np.append(0, ends)[node]
        children = np.zeros(len(node), _CHILDREN)
        children["value"], children["block"] = s * own, len(self.blocks) + node
        children["place"] = place
        self.blocks += zip(conjunctions, np.split(every, ends[:-1]), strict=True)
        fresh, self.passed = self.without_small(children, self.passed)
        self.listed = np.concatenate([self.listed, fresh])
        children["value"] = s * most + self.powers.below(np.maximum(place, 1))
        waiting = np.concatenate([self.waiting, children[place > 0]])
        self.waiting, self.closed = self.without_small(waiting, self.closed, MAX_WAITING)

    def without_small(
        self, children: NDArray[Any], spent: float, room: int | None = None
    ) -> tuple[NDArray[Any], float]:
        """Drop the smallest children and add their sum to ``spent``; keep at most ``room``."""
        order = np.argsort(children["value"], kind="stable")
        sums = spent + np.cumsum(self.shares(children["value"][order]))
        n = int(np.searchsorted(sums, UNLISTED_SHARE, side="right"))
        if room is not None:
            n = max(n, len(order) - room)
        return children[np.sort(order[n:])], float(sums[n - 1]) if n else spent

    def result(self) -> Heaviest:
        """Return the heaviest conjunctions, as few as the goal allows."""
        order = np.argsort(-self.listed["value"], kind="stable")
        left = np.append(np.cumsum(self.shares(self.listed["value"][order])[::-1])[::-1], 0.0)
        unlisted = self.unknown + self.passed
        n = int(np.count_nonzero(left[:-1] > 1.0 - unlisted))
        kept = self.listed[order[:n]]
        found = [tuple(sorted(conjunction)) for conjunction, _ in self._nodes(kept)]
        with np.errstate(over="ignore"):
            rest = float(np.exp(self.goal) * (unlisted + left[n])) * (1 + 1e-9)
            x = np.exp(kept["value"] / self.powers.exponent)
        return Heaviest(found, x * (1 + 1e-12), rest)
