"""Bounds on what lies outside a family of conjunctions, from sums over covers alone.

Which sources stand in the way, and how subsets inside share what is light, is told in
:mod:`.frontier`.  Here Σ q_w^ρ' over all conjunctions that are not listed is bounded by the tree of
a search (:mod:`formulakern.mining.conjunctions.power_sums`): no pair of examples is looked at, so
that there may be many, and they may lie in pieces.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.encoding.packed import PackedTable
from formulakern.learning.hkl.signs import Node, Signs, sources_of
from formulakern.mining.conjunctions.answers import WeighedRows
from formulakern.mining.conjunctions.power_sums import LOOKED_AT, Powers, heaviest
from formulakern.mining.search import objective_of
from formulakern.partitions.partitioned import Partitioned

__all__ = ["AHEAD", "FIRST", "SHARED", "TAIL", "SharingFrontier"]

#: Conjunctions that the first search lists at most.  A search for what is shared lists as many for
#: each node of W, but for no more than SHARED nodes: where these are too few, W is much too small,
#: and the rounds until it is not take longer than the search.
FIRST, SHARED = 1000, 40
#: What is allowed beside a loose solution, in κ².
AHEAD = 1.02
#: What is not listed may take this part of the room.
TAIL = 0.3
#: By how much a search goes further where it has not told enough.
FURTHER = 8
#: Times that sources which carry too much may give some of it away.
ROUNDS = 3
#: Conjunctions between two looks at the clock.
BETWEEN = 512


@dataclass(eq=False)
class SharingFrontier:
    """The sources of the nodes outside W, and bounds on what lies behind them.

    Parameters
    ----------
    table : PackedTable of r rows and p columns
        Examples, different ones, with β ≠ 0.
    beta : float64 (r,)
    nodes : list of tuple of int
        W.
    rho, depth_penalty : float
        1 < ρ ≤ 2 and a.
    deadline : Deadline, optional
        Then bounds are improved no further.
    signs : Signs, optional
        Of the weights; W holds only conjunctions that are allowed.
    """

    table: PackedTable
    beta: FloatArray
    nodes: list[Node]
    rho: float
    depth_penalty: float
    deadline: Deadline = UNLIMITED
    signs: Signs | None = None

    def __post_init__(self) -> None:
        self.a, self.dual = self.depth_penalty, self.rho / (self.rho - 1)
        self.sources = sources_of(self.nodes, self.table.n_columns, self.signs)
        self.lengths = np.array([len(t) for t in self.sources], dtype=np.int64)
        self.inside = set(self.nodes)
        self.known = dict.fromkeys(self.nodes, -1) | {t: k for k, t in enumerate(self.sources)}
        self.reached = True  # false once a search for what is shared has failed
        self.cut = False  # whether time was over before a search had told enough

    def share_sums(self, allowed: float, given: float, least: int) -> tuple[float, list[Node]]:
        """A bound on max_t ‖r_t‖_ρ'², and violators, where subsets inside W carry shares.

        The search ends where single sources are known to be in the way.

        Parameters
        ----------
        allowed, given : float
            The square of the unit in which 1 is allowed, and what W takes of it.
        least : int
            Conjunctions that are listed at first.
        """
        unit, room, looked_at = float(np.sqrt(allowed)), 1.0 - given, least * len(self.inside)
        while True:
            listed, x, tail, reached = self.list_powers(unit, TAIL * room, least, looked_at)
            loads, carried = self.split(listed, x, max(0.0, room - tail))
            last = reached or looked_at >= LOOKED_AT or self.deadline.over()
            if last or (loads + carried > 1).any():
                surely = carried + tail if reached else carried
                self.cut = not reached and self.deadline.over()
                return self.verdict(allowed, given, loads, carried + tail, surely)
            least, looked_at = FURTHER * least, FURTHER * looked_at

    def verdict(
        self,
        allowed: float,
        given: float,
        loads: FloatArray,
        carried: float,
        surely: float | None = None,
    ) -> tuple[float, list[Node]]:
        """The bound and the violators.

        Parameters
        ----------
        allowed, given : float
        loads : float64 (sources,)
            What each carries.
        carried : float
            What all carry besides.
        surely : float, optional
            The part of it that is known, where the rest is only bounded; all of it by default.
        """
        worst = max(given, float(loads.max())) + carried
        square = allowed * worst ** (2 / self.dual)
        violators = np.flatnonzero(loads + (carried if surely is None else surely) > 1)
        order = violators[np.argsort(-loads[violators], kind="stable")]
        return square, [self.sources[k] for k in order.tolist()]

    def list_powers(
        self, unit: float, goal: float, most: int, looked_at: int
    ) -> tuple[list[Node], FloatArray, float, bool]:
        """The conjunctions of largest q_w, at most so many.

        Parameters
        ----------
        unit : float
            Of q.
        goal : float
            For Σ q_w^ρ' over what is not listed.
        most, looked_at : int
            How many are listed, and looked at, at most.

        Returns
        -------
        listed : list of tuple of int
        q : float64 (listed,)
        rest : float
            A bound on Σ q_w^ρ' over what is not listed.
        reached : bool
            Whether it is at most the goal.
        """
        items = np.arange(self.table.n_columns)
        sides = [(items, True, True)]
        if self.signs is not None:
            asked = self.signs.propositions
            sides = [(items[asked != -1], True, False), (items[asked != 1], False, True)]
        rows, exponent, rounding = self.weighed()
        listed: list[Node] = []
        parts, rest = [], 0.0
        for some, upwards, downwards in sides:
            if not len(some):
                continue
            found = heaviest(
                rows,
                some,
                Powers(1 + self.a, self.dual, upwards, downwards),
                goal / len(sides),
                unit=math.ldexp(unit, -exponent),
                rounding=rounding,
                most=looked_at,
                deadline=self.deadline,
            )
            kept = most // len(sides)
            listed += found.conjunctions[:kept]
            parts.append(found.x[:kept])
            with np.errstate(over="ignore"):
                rest += found.rest + float((found.x[kept:] ** self.dual).sum())
        return listed, np.concatenate([np.zeros(0), *parts]), rest, rest <= goal * (1 + 1e-9)

    def weighed(self) -> tuple[Partitioned, int, float]:
        """The rows with β in units of 2 to a power, that power, and what rounding moves a sum."""
        goal = objective_of(self.beta[:, None])
        units = np.ascontiguousarray(goal.columns.T)
        each, ones = np.arange(len(units)), np.ones(len(units))
        rows = Partitioned([WeighedRows(self.table.columns, each, ones, units)])
        return rows, goal.exponent, goal.in_units(goal.rounding)

    def below(self, listed: list[Node]) -> tuple[NDArray[np.intp], NDArray[np.intp], FloatArray]:
        """The sources below each of some conjunctions, and what their subsets inside W weigh.

        Returns
        -------
        sources, numbers : intp
            Pairs of a source and the position of a listed superset of it.
        held : float64 (listed,)
            Σ a^|v| over the subsets v ∈ W of each.
        """
        sources: list[int] = []
        numbers: list[int] = []
        held = np.ones(len(listed))  # of the empty set
        longest = int(self.lengths.max())
        for number, w in enumerate(listed):
            if number % BETWEEN == BETWEEN - 1:
                self.deadline.check()
            for length in range(1, min(longest, len(w)) + 1):
                for subset in combinations(w, length):
                    k = self.known.get(subset)
                    if k is not None and k >= 0:
                        sources.append(k)
                        numbers.append(number)
                    elif k is not None:
                        held[number] += self.a**length
        return np.array(sources, dtype=np.intp), np.array(numbers, dtype=np.intp), held

    def split(self, listed: list[Node], x: FloatArray, room: float) -> tuple[FloatArray, float]:
        """Split conjunctions over subsets outside W, but for those best shared with subsets inside.

        Parameters
        ----------
        listed : list of tuple of int
        x : float64 (listed,)
            q_w, in the unit in which 1 is allowed.
        room : float
            For Σ q_w^ρ' of those that are shared.

        Returns
        -------
        loads : float64 (sources,)
            Σ r(w)^ρ' over w ⊇ t of those that are not.
        carried : float
            Σ q_w^ρ' of the others, at most ``room``.
        """
        outside = [k for k, w in enumerate(listed) if w not in self.inside]
        sizes = x[outside]
        below, above, held = self.below([listed[k] for k in outside])
        every = np.array([(1 + self.a) ** len(listed[k]) for k in outside])
        with np.errstate(over="ignore"):
            alone = (sizes * every / (every - held)) ** self.dual
            shared = sizes**self.dual
        moved = np.zeros(len(outside), dtype=np.bool_)

        def loads() -> FloatArray:
            weights = np.where(moved, 0.0, alone)[above]
            return np.bincount(below, weights, len(self.sources)).astype(np.float64)

        carried = 0.0
        for _ in range(ROUNDS):
            touching = np.zeros(len(outside), dtype=np.bool_)
            touching[above[(loads() + carried > 1)[below]]] = True
            some = np.flatnonzero(touching & ~moved)
            with np.errstate(invalid="ignore"):  # 0/0 where both underflow: these come last
                cheap = some[np.argsort(shared[some] / alone[some], kind="stable")]
            cost = np.cumsum(shared[cheap])
            cheap = cheap[: int(np.searchsorted(cost, room - carried, side="right"))]
            if not len(cheap):
                break
            moved[cheap] = True
            carried = float(shared[moved].sum())
        return loads(), carried
