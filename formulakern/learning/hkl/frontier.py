"""What lies outside a family of conjunctions: its sources, and bounds on what is behind them.

W is a family closed under subsets and β a dual variable for each example, g_w = Σ_i β_i φ_w(x_i).
For every w outside W split g_w over its subsets v outside W in proportion to d_v = a^|v|.  If t is
a source (t is not in W, all its proper subsets are), then for every v ⊇ t

    ‖u^v‖_ρ' / d_v  ≤  ‖r_t‖_ρ',    r_t(w) = |g_w| / (a^|t| (1 + a)^(|w| − |t|)),  w ⊇ t,

because Σ {d_v : t ⊆ v ⊆ w} = a^|t| (1 + a)^(|w| − |t|).  So the dual norm over the whole lattice is
at most the larger of that over W and of max_t ‖r_t‖_ρ'.

*How a source is bounded.*  With q_w = |g_w| / (1 + a)^|w|, r_t(w) = q_w ((1 + a)/a)^|t|.  One exact
search lists all conjunctions with q_w above a threshold θ.  ‖q_{w ⊇ t}‖_ρ'^ρ' is at most the sum
over the listed ones plus θ^(ρ' − 2) times what these leave of

    Σ_{w ⊇ t} q_w²  =  (1 + a)^(−2|t|) Σ_{i, j covered by t} β_i β_j (1 + (1 + a)^−2)^(s_ij − |t|),

s_ij the number of propositions that are true in both i and j.  This sum is first taken over all w,
one number for all sources; the sum of a source itself is computed where that is too coarse.

*How subsets inside help.*  Subsets v ∈ W may carry a share of g_w too: split over all v ⊆ w in
proportion to d_v, each carries d_v·q_w.  If the solution on W has ‖u^v‖_ρ' ≤ d_v·κ, such a share
of all w ∈ A raises κ^ρ' to at most κ^ρ' + Σ_{w ∈ A} q_w^ρ', and ρ' is large where ρ is near 1: 11
for ρ = 1.1.  So A may hold everything below the threshold, and as many of the listed w as κ leaves
room for.  The others are split over their subsets outside W, as above, each carrying d_v·r(w) with
r(w) = |g_w| / Σ {d_v : v ⊆ w, v ∉ W}.  So W holds little more than what gets weight.  What is not
listed and of length l has q_w ≤ max(Σ β⁺, Σ β⁻) / (1 + a)^l besides, and Σ q_w² over these, too, is
a sum over pairs of examples.

*Signs.*  Where weights have signs (:mod:`.options`), W and its sources are of conjunctions that are
allowed, and q_w = max(σg_w, 0) / (1 + a)^|w| for one of sign σ: the conjunctions that are listed
are those without a proposition that asks for −1 and g_w > 0, and those without one that asks for 1
and g_w < 0.  The sums over all w count |g_w|, which is more.

*Rows in partitions.*  Σ q_w^ρ' over all conjunctions that are not listed is bounded by the tree of
a search, too (:mod:`formulakern.mining.conjunctions.power_sums`): no pair of examples is looked at,
so that there may be many, and they may be in partitions.

*Fast answers.*  A source t stands in the way of the solution on W if a single q_w of a w ⊇ t does.
So short conjunctions alone show some sources that have to come in, long before a bound on
everything is proven.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.encoding.packed import PackedTable
from formulakern.learning.hkl.options import Node, Options, sources_of
from formulakern.learning.hkl.pair_sums import BATCH, pair_forms, sums_by_overlap
from formulakern.mining.conjunctions.answers import WeighedRows
from formulakern.mining.conjunctions.power_sums import LOOKED_AT, Powers, heaviest, ready
from formulakern.mining.conjunctions.search import mine_conjunctions, search_conjunctions
from formulakern.mining.search import objective_of
from formulakern.partitions.partitioned import Partitioned
from formulakern.solvers.hierarchical.norm import right_signed

__all__ = ["Frontier", "PairFrontier"]

#: Conjunctions that the first search lists at most.  A search for what is shared lists as many for
#: each node of W, but for no more than SHARED nodes: where these are too few, W is much too small,
#: and the rounds until it is not take longer than the search.
FIRST, SHARED = 1000, 40
#: What is allowed next to a loose solution, in κ².
AHEAD = 1.02
#: What is not listed may take this part of the room.
TAIL = 0.3
#: The factor by which a search goes further if its bound is too weak.
FURTHER = 8
#: Times that sources which carry too much may give some of it away.
ROUNDS = 3
#: Conjunctions between two looks at the clock.
BETWEEN = 512

#: Partitions of weighed rows, the power of 2 of their unit, and what rounding moves a sum.
Weighed = tuple[Partitioned, int, float]
#: A bound on max_t ‖r_t‖_ρ'², and the violators.
Verdict = tuple[float, list[Node]]


@dataclass(eq=False)
class Frontier:
    """The sources of the nodes outside W, and bounds on what lies behind them, by sums alone.

    Parameters
    ----------
    table : PackedTable of r rows and p columns
        Different examples with β ≠ 0, or groups of rows.
    beta : float64 (r,)
    nodes : list of tuple of int
        W; only conjunctions that the signs allow.
    options : Options
    deadline : Deadline, optional
        After it bounds are improved no further.
    weigh : callable, optional
        Returns the rows with their β; by default these are the examples.

    Attributes
    ----------
    reached : bool
        Whether subsets inside W could carry shares.
    cut : bool
        Whether the time was over before a search had found enough.
    """

    table: PackedTable
    beta: FloatArray
    nodes: list[Node]
    options: Options
    deadline: Deadline = UNLIMITED
    weigh: Callable[[], Weighed] | None = None

    def __post_init__(self) -> None:
        self.a, self.dual = self.options.depth_penalty, self.options.rho / (self.options.rho - 1)
        self.signs = self.options.signs
        self.sources = sources_of(self.nodes, self.table.n_columns, self.signs)
        self.lengths = np.array([len(t) for t in self.sources], dtype=np.int64)
        self.inside = set(self.nodes)
        self.known = dict.fromkeys(self.nodes, -1) | {t: k for k, t in enumerate(self.sources)}
        self.reached, self.cut = True, False

    def examine(
        self, allowed: float, enough: int, inside: float, *, sharing: bool = True, loose: bool
    ) -> Verdict:
        """A bound on max_t ‖r_t‖_ρ'², and the sources that exceed ``allowed``, the worst first.

        Parameters
        ----------
        allowed : float
        enough : int
            The search may end once it knows this number of violators.
        inside : float
            κ², the square of the dual norm over W.
        sharing : bool
            Whether subsets inside W may carry shares.
        loose : bool
            Whether the solution on W is not exact, so that κ² may leave no room: then a little is
            allowed for.

        Returns
        -------
        square : float
            No ‖r_t‖_ρ'² is larger.
        violators : list of tuple of int
            If none is known, the sources that may exceed it.

        Raises
        ------
        TimeIsOver
            If nothing is known yet.
        """
        del enough, sharing  # no search of sums alone fails
        if not self.sources or not self.beta.any():
            return 0.0, []
        if loose or inside >= allowed:  # else nothing is left for what lies outside
            allowed = max(allowed, AHEAD * inside)
        return self.share_sums(allowed, inside)

    def standing_out(self, allowed: float, most: int) -> list[Node]:
        """The worst sources t of which one conjunction shows that ‖r_t‖_ρ'² > allowed, found fast.

        May raise TimeIsOver.
        """
        del allowed, most
        return []

    def share_sums(self, allowed: float, inside: float) -> Verdict:
        """The bound where subsets inside W carry shares; it ends once a violator is known."""
        unit, given = float(np.sqrt(allowed)), (inside / allowed) ** (self.dual / 2)
        room, least = 1.0 - given, FIRST * min(len(self.inside), SHARED)
        looked_at = least * len(self.inside)
        while True:
            listed, x, tail, reached = self.list_powers(unit, TAIL * room, least, looked_at)
            loads, carried = self.split(listed, x, max(0.0, room - tail))
            last = reached or looked_at >= LOOKED_AT or self.deadline.over()
            if last or (loads + carried > 1).any():
                self.cut = not reached and self.deadline.over()
                surely = carried + tail if reached else carried
                return self.verdict(allowed, given, loads, carried + tail, surely)
            least, looked_at = FURTHER * least, FURTHER * looked_at

    def verdict(
        self, allowed: float, given: float, loads: FloatArray, carried: float, surely: float
    ) -> Verdict:
        """The bound and the violators.

        Each source carries its load, and all carry ``carried`` besides, of which ``surely`` is
        known and the rest only bounded; W takes ``given`` of the 1 that is allowed.
        """
        worst = max(given, float(loads.max())) + carried
        violators = np.flatnonzero(loads + surely > 1)
        order = violators[np.argsort(-loads[violators], kind="stable")]
        return allowed * worst ** (2 / self.dual), [self.sources[k] for k in order.tolist()]

    def list_powers(
        self, unit: float, goal: float, most: int, looked_at: int
    ) -> tuple[list[Node], FloatArray, float, bool]:
        """The ``most`` conjunctions of largest q_w at most, and q_w in this unit.

        Then a bound on Σ q_w^ρ' over all others, and whether it is at most the goal.
        """
        items = np.arange(self.table.n_columns)
        sides = [(items, True, True)]
        if self.signs is not None:
            asked = self.signs.propositions
            sides = [(items[asked != -1], True, False), (items[asked != 1], False, True)]
        rows, exponent, rounding = self.weighed() if self.weigh is None else self.weigh()
        listed: list[Node] = []
        parts, rest = [np.zeros(0)], 0.0
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
        return listed, np.concatenate(parts), rest, rest <= goal * (1 + 1e-9)

    def weighed(self) -> Weighed:
        """The examples with β in units of 2 to a power."""
        goal = objective_of(self.beta[:, None])
        units = np.ascontiguousarray(goal.columns.T)
        each, ones = np.arange(len(units)), np.ones(len(units))
        rows = Partitioned([WeighedRows(self.table.columns, each, ones, units)])
        return rows, goal.exponent, goal.in_units(goal.rounding)

    def below(self, listed: list[Node]) -> tuple[NDArray[np.intp], NDArray[np.intp], FloatArray]:
        """Pairs of a source and the position of a listed superset of it.

        And Σ a^|v| over the subsets v ∈ W of each listed conjunction.
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


#: The factor by which a list grows, and its largest length.
GROWTH, LISTED = 4, 20_000
#: Halvings of the search's threshold before a source that is undecided counts as a violator.
HALVINGS = 6
#: After this number of searches one known violator is enough.
SEARCHES = 2
#: Shares: the first threshold is half of what is allowed, then each is this part of the last, down
#: to the least.
STEP, LEAST = 0.7, 1e-3
#: Beyond this number of rows sums over pairs take longer than a search for sums alone.
PAIRED = 4096
#: Lengths up to this one are bounded each by itself.
LONG = 7
#: (1 + a)^|w| is cut here: what is longer weighs nothing in any case.
FINITE = 1e299
#: Truth values that are held at once.
ENTRIES = 1 << 22
#: Quick searches look at conjunctions of at most this length, and list this number for each source.
SHORT_LENGTH, SHORT_LISTED = 2, 8


@dataclass(eq=False)
class PairFrontier(Frontier):
    """The same for rows in this process, by sums over pairs of examples too."""

    def __post_init__(self) -> None:
        super().__post_init__()
        base = 1 + (1 + self.a) ** -2
        self.powers = base ** np.arange(int(self.table.counts.max(initial=0)) + 1.0)
        self.masses = np.full(len(self.sources), np.inf)

    @cached_property
    def whole(self) -> float:
        """Σ q_w² over all w."""
        everyone = [np.arange(len(self.beta))]
        return float(pair_forms(self.table, self.beta, everyone, self.powers, self.deadline)[0])

    def by_length(self) -> tuple[FloatArray, FloatArray]:
        """For each length up to LONG, and all above it: a bound on q_w, and one on Σ q_w²."""
        sums = sums_by_overlap(self.table, self.beta, self.deadline)
        share, s = (1 + self.a) ** -2.0, np.arange(len(sums), dtype=np.float64)
        forms = np.zeros((LONG + 2, len(sums)))
        terms = np.ones(len(sums))  # C(s, l) of the sets of l propositions
        for length in range(max(LONG + 1, len(sums))):
            forms[min(length, LONG + 1)] += terms
            terms = terms * np.maximum(s - length, 0.0) / (length + 1) * share
        rounding = 1e-13 * float(np.abs(self.beta).sum()) ** 2 * forms.max(axis=1)
        masses = np.maximum(forms @ sums + rounding, 0.0)
        most = 0.5 * (float(np.abs(self.beta).sum()) + abs(float(self.beta.sum())))
        return most * (1 + self.a) ** -np.arange(LONG + 2.0), np.asarray(masses)

    def refine(self, which: NDArray[np.intp]) -> None:
        """Compute Σ q_w² over w ⊇ t for these sources."""
        divisor = (1 + self.a) ** 2 * (1 + (1 + self.a) ** -2)
        for start in range(0, len(which), BATCH):
            if self.deadline.over():
                return
            some = which[start : start + BATCH]
            covers = self.table.truths(self.table.covers([self.sources[k] for k in some]))
            some_covers = [np.flatnonzero(cover) for cover in covers]
            forms = pair_forms(self.table, self.beta, some_covers, self.powers, self.deadline)
            self.masses[some] = forms / divisor ** self.lengths[some]

    def examine(
        self, allowed: float, enough: int, inside: float, *, sharing: bool = True, loose: bool
    ) -> Verdict:
        """As :meth:`Frontier.examine`; the bound without shares holds if that with them fails."""
        if not self.sources or not len(self.beta):
            return 0.0, []
        if sharing and self.dual > 2:
            shared = self.share(max(allowed, AHEAD * inside) if loose else allowed, inside)
            if shared is not None:
                return shared
        self.reached = not sharing or self.dual == 2
        return self.alone(allowed, enough)

    def alone(self, allowed: float, enough: int) -> Verdict:
        """The bound where subsets inside W carry nothing."""
        unit = float(np.sqrt(allowed))  # in this unit r_t may reach 1
        growth = (1 + self.a) / self.a
        threshold = unit * growth ** -float(np.median(self.lengths))
        heavy, most = Heavy(self, np.asarray(growth**self.lengths / unit, dtype=np.float64)), FIRST
        if self.dual == 2:
            self.refine(np.arange(len(self.sources)))
        upper = heavy.upper(threshold)
        for searches in range(HALVINGS if self.dual > 2 else 0):
            doubtful = (upper > 1) & (heavy.powers <= 1)
            known = np.count_nonzero(heavy.powers > 1)
            if not doubtful.any() or known >= (1 if searches >= SEARCHES else enough):
                break
            listed, scores, passed, complete = self.list_heavy(threshold, most)
            heavy.add(listed, scores)
            upper = heavy.upper(passed)
            coarse = np.flatnonzero((upper > 1) & (heavy.powers <= 1) & np.isinf(self.masses))
            if len(coarse) and np.count_nonzero(heavy.powers > 1) < enough:
                self.refine(coarse)
                upper = heavy.upper(passed)
            if complete:
                threshold /= 2
            elif most == LISTED or self.deadline.over():
                break
            else:
                most = min(GROWTH * most, LISTED)
        violators = np.flatnonzero(heavy.powers > 1)
        if not len(violators):
            violators = np.flatnonzero(upper > 1)
        order = violators[np.lexsort((-upper[violators], -heavy.powers[violators]))]
        square = allowed * float(upper.max()) ** (2 / self.dual)
        return square, [self.sources[k] for k in order.tolist()]

    def share(self, allowed: float, inside: float) -> Verdict | None:
        """The bound where subsets inside W carry shares; None if the search ends too early."""
        given = (inside / allowed) ** (self.dual / 2)
        room = 1.0 - given
        if room <= 0:
            return None
        if len(self.beta) > PAIRED and ready(self.deadline):
            shared = self.share_sums(allowed, inside)
            return shared if shared[1] or shared[0] <= allowed else None
        unit = float(np.sqrt(allowed))
        caps, masses = self.by_length()
        most = FIRST * min(len(self.inside), SHARED)  # while W is small a coarse bound does
        threshold = 0.5 * unit
        while True:
            listed, q, reached, complete = self.list_heavy(threshold, most)
            x = q / unit
            found = np.bincount([min(len(w), LONG + 1) for w in listed], x**2, LONG + 2)
            rest = np.maximum(masses * (1 + 1e-12) / allowed - found, 0.0)
            tail = float((np.minimum(caps, reached) / unit) ** (self.dual - 2) @ rest)
            if tail <= TAIL * room:
                break
            if not complete or threshold < LEAST * unit:
                return None
            threshold *= STEP
        loads, carried = self.split(listed, x, room - tail)
        shared = self.verdict(allowed, given, loads, carried + tail, carried + tail)
        return shared if shared[1] or shared[0] <= allowed else None

    def list_heavy(
        self, threshold: float, most: int, longest: int | None = None
    ) -> tuple[list[Node], FloatArray, float, bool]:
        """The ``most`` heaviest conjunctions with q_w above a threshold, and q_w.

        The heaviest come first; the next call's list begins with these.  Then the threshold that no
        other conjunction passes, and whether all are listed that pass the given one.  With
        ``longest`` only conjunctions of at most this length count.
        """
        every = np.arange(self.table.n_columns)
        if self.signs is None:
            return self._mine(every, "both", threshold, most, longest)
        asked = self.signs.propositions
        sides = [
            self._mine(every[asked != -sign], direction, threshold, most, longest)
            for sign, direction in ((1, "positive"), (-1, "negative"))
        ]
        reached, complete = max(side[2] for side in sides), all(side[3] for side in sides)
        both = [
            (-score, len(w), w)
            for listed, scores, *_ in sides
            for w, score in zip(listed, scores.tolist(), strict=True)
            if score > reached or complete
        ]
        both.sort()
        return [w for *_, w in both], np.array([-score for score, *_ in both]), reached, complete

    def _mine(
        self,
        which: NDArray[np.intp],
        direction: str,
        threshold: float,
        most: int,
        longest: int | None,
    ) -> tuple[list[Node], FloatArray, float, bool]:
        """The list of :meth:`list_heavy`, of some propositions and of g of one sign, or both."""
        p = len(which)
        if not p:
            return [], np.zeros(0), threshold, True
        some = p < self.table.n_columns
        with np.errstate(over="ignore"):
            powers = (1 + self.a) ** np.arange(p + 1.0)
        found = mine_conjunctions(
            self.table.select(which) if some else self.table,
            self.beta,
            top=None,
            max_length=None if longest is None else min(longest, p),
            length_factor=np.minimum(powers, FINITE),
            threshold=threshold,
            max_results=most,
            direction=direction,
            time_limit=self.deadline,
        )
        listed, scores, reached = found.conjunctions, found.scores, found.bound
        if found.complete:
            reached = max(reached, threshold)
        else:
            n = int(np.count_nonzero(scores > reached))  # others may tie with the last one
            listed, scores = listed[:n], scores[:n]
        if some:
            listed = [tuple(which[list(w)].tolist()) for w in listed]
        return listed, scores, reached, found.complete

    def standing_out(self, allowed: float, most: int) -> list[Node]:
        """As :meth:`Frontier.standing_out`, of short conjunctions."""
        if not self.sources or not len(self.beta):
            return []
        unit = float(np.sqrt(allowed))
        alone = len(self.inside) == 1  # propositions come in at first, which they show best
        if not alone and search_conjunctions.ready(self.deadline, wait=False):
            short, q, *_ = self.list_heavy(unit, SHORT_LISTED * most, SHORT_LENGTH)
        else:
            short, q = self._singles(unit)
        sources, above, _ = self.below(short)
        scores = np.zeros(len(self.sources))
        np.maximum.at(scores, sources, q[above])
        order = np.argsort(-scores, kind="stable")[: np.count_nonzero(scores)]
        return [self.sources[k] for k in order[:most].tolist()]

    def _singles(self, threshold: float) -> tuple[list[Node], FloatArray]:
        """The propositions with q_w above a threshold, found without a compiled loop."""
        places = np.array([t[0] for t in self.sources if len(t) == 1], dtype=np.intp)
        sums = np.zeros(len(places))
        step = max(1, ENTRIES // max(1, self.table.n_rows))
        for start in range(0, len(places), step):
            some = slice(start, start + step)
            sums[some] = self.table.truths(self.table.columns[places[some]]) @ self.beta
        nodes: list[Node] = [(j,) for j in places.tolist()]
        signs = None if self.signs is None else self.signs.of_all(nodes)
        q = np.abs(right_signed(sums, signs)) / (1 + self.a)
        heavy = np.flatnonzero(q > threshold)
        return [nodes[k] for k in heavy.tolist()], q[heavy]


class Heavy:
    """Sums over the conjunctions that a search listed, for each source below them.

    ``powers`` and ``squares``, float64 (sources,), are Σ (scale_t · q_w)^ρ' and Σ q_w² over the
    listed w ⊇ t; ``total`` is Σ q_w² over all of them.
    """

    def __init__(self, frontier: PairFrontier, scale: FloatArray) -> None:
        self.frontier, self.scale = frontier, scale
        self.powers, self.squares = np.zeros(len(scale)), np.zeros(len(scale))
        self.total, self.count = 0.0, 0

    def add(self, listed: list[Node], scores: FloatArray) -> None:
        """Count what was not yet listed; the list begins with what was."""
        fresh = scores[self.count :]
        where, numbers, _ = self.frontier.below(listed[self.count :])
        q = fresh[numbers]
        with np.errstate(over="ignore"):
            powers = (q * self.scale[where]) ** self.frontier.dual
        self.powers += np.bincount(where, powers, len(self.scale))
        self.squares += np.bincount(where, q**2, len(self.scale))
        self.total += float(np.sum(fresh**2))
        self.count = len(listed)

    def upper(self, threshold: float) -> FloatArray:
        """Bounds on Σ (scale_t · q_w)^ρ' over w ⊇ t from above, of lists above the threshold."""
        dual, masses, whole = self.frontier.dual, self.frontier.masses, self.frontier.whole
        rest = np.minimum(masses * (1 + 1e-12) - self.squares, whole * (1 + 1e-12) - self.total)
        with np.errstate(over="ignore", invalid="ignore"):
            alone = (np.minimum(masses, whole) * self.scale**2) ** (dual / 2)
            sharper = (threshold * self.scale) ** (dual - 2) * np.maximum(rest, 0.0)
            sharper = self.powers + sharper * self.scale**2
        if self.count == 0:  # nothing was listed: the threshold bounds nothing
            return np.asarray(alone)
        return np.asarray(np.minimum(alone, np.where(np.isnan(sharper), np.inf, sharper)))
