"""Bounds on the conjunctions outside a family: its sources, and their supersets.

W is a family closed under subsets and β a dual variable for each example, g_w = Σ_i β_i φ_w(x_i).
For every w outside W split g_w over its subsets v outside W in proportion to d_v = a^|v|.  If t is
a source (t is not in W, all its proper subsets are), then for every v ⊇ t

    ‖u^v‖_ρ' / d_v  ≤  ‖r_t‖_ρ',    r_t(w) = |g_w| / (a^|t| (1 + a)^(|w| − |t|)),  w ⊇ t,

because Σ {d_v : t ⊆ v ⊆ w} = a^|t| (1 + a)^(|w| − |t|).  So the dual norm over the whole lattice is
at most the larger of the dual norm over W and max_t ‖r_t‖_ρ'.

*Bounding a source.*  Subsets v ∈ W may carry a share of g_w too.  With q_w = |g_w| / (1 + a)^|w|
and g_w split over all v ⊆ w in proportion to d_v, each carries d_v·q_w.  If the solution on W has
‖u^v‖_ρ' ≤ d_v·κ, such a share of all w ∈ A raises κ^ρ' to at most κ^ρ' + Σ_{w ∈ A} q_w^ρ'.  ρ' is
large if ρ is near 1: 11 for ρ = 1.1.  So A contains all but the largest q_w, and as many of these
as κ leaves room for.  The others are split over their subsets outside W, each carrying d_v·r(w)
with r(w) = |g_w| / Σ {d_v : v ⊆ w, v ∉ W}.  So W has few nodes without weight.  One search lists
the largest q_w, and bounds Σ q_w^ρ' over all others
(:mod:`formulakern.mining.conjunctions.power_sums`).  It needs only sums over rows, which may be in
partitions.

*Near ρ = 2* this sum converges slowly.  There ‖r_t‖_ρ' ≤ ‖r_t‖_2, r_t(w) = q_w ((1 + a)/a)^|t|, and

    Σ_{w ⊇ t} q_w²  =  (1 + a)^(−2|t|) Σ_{i, j covered by t} β_i β_j (1 + (1 + a)^−2)^(s_ij − |t|),

where s_ij is the number of propositions that are true in both i and j.

*Signs.*  If weights have signs (:mod:`.options`), W and its sources contain only allowed
conjunctions, and q_w = max(σg_w, 0) / (1 + a)^|w| for a conjunction of sign σ.  The listed
conjunctions have g_w > 0 and no proposition of sign −1, or g_w < 0 and no proposition of sign 1.
The sums over pairs use |g_w|, which is larger.

*Fast searches.*  A single q_w above the allowed norm, of any w ⊇ t, shows that the source t must be
added.  A short search therefore finds some of the missing sources long before a bound over all
conjunctions is proven.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.compilation import compiled
from formulakern.deadline import UNLIMITED, Deadline, TimeIsOver
from formulakern.encoding.bits import ones
from formulakern.encoding.packed import PackedTable
from formulakern.learning.hkl.options import Node, Options, sources_of
from formulakern.mining.conjunctions.partition_sums import (
    RowsInGroups,
    rows_in_units,
    sizes,
    totals,
)
from formulakern.mining.conjunctions.power_sums import MAX_EVALUATED, Powers, heaviest
from formulakern.mining.search import unit_exponent
from formulakern.partitions.partitioned import Partitioned

#: Conjunctions that the first search lists for each node of W, for at most MAX_SHARED_NODES nodes:
#: with fewer, W grows too slowly.
FIRST_CONJUNCTIONS, MAX_SHARED_NODES = 1000, 40
#: The factor of κ² that is allowed next to a loose solution.
AHEAD = 1.02
#: The share of the room that unlisted conjunctions may take.
TAIL_SHARE = 0.3
#: The factor by which a search is extended if its bound is too weak.
EXTENSION_FACTOR = 8
#: Rounds in which overloaded sources give away some of their load.
MAX_ROUNDS = 3
#: Conjunctions between two checks of the deadline.
CHECKED_CONJUNCTIONS = 512
#: Up to this ρ' pairs of examples give better bounds than a search.
MAX_PAIR_RHO = 2.5
#: Sources whose covers are held at once; pairs per compiled call.
BATCH_SOURCES, BATCH_PAIRS = 256, 1 << 26
#: Conjunctions that a fast search evaluates for each proposition.
FAST_CONJUNCTIONS = 16
#: The relative error of a product of two numbers.
EPSILON = 2.0**-51

#: A bound on max_t ‖r_t‖_ρ'², and the violators.
Verdict = tuple[float, list[Node]]


@dataclass(eq=False)
class Frontier:
    """The sources of the nodes outside W, and bounds on their supersets.

    Parameters
    ----------
    table : PackedTable of r rows and p columns
        Different examples with β ≠ 0, or groups of rows.
    beta : float64 (r,)
    nodes : list of tuple of int
        W; only conjunctions that the signs allow.
    options : Options
    deadline : Deadline, optional
        After it bounds are not improved.
    parts : tuple of (Partitioned, list of float64 (groups, 1)), optional
        Rows in partitions, and the β of their groups; by default the rows are the examples.
    """

    table: PackedTable
    beta: FloatArray
    nodes: list[Node]
    options: Options
    deadline: Deadline = UNLIMITED
    parts: tuple[Partitioned, list[FloatArray]] | None = None

    def __post_init__(self) -> None:
        self.a, self.dual = self.options.depth_penalty, self.options.rho / (self.options.rho - 1)
        self.signs = self.options.signs
        self.sources = sources_of(self.nodes, self.table.n_columns, self.signs)
        self.lengths = np.array([len(t) for t in self.sources], dtype=np.int64)
        self.inside = set(self.nodes)
        self.known = dict.fromkeys(self.nodes, -1) | {t: k for k, t in enumerate(self.sources)}
        self.cut = False  # whether the deadline passed before a search found enough

    def examine(self, allowed: float, inside: float, *, loose: bool) -> Verdict:
        """Return a bound on max_t ‖r_t‖_ρ'², and the sources that exceed ``allowed``, worst first.

        If no source provably exceeds it, those that may are returned; TimeIsOver is raised if
        nothing is known yet.  ``inside`` is κ².  If the solution on W is ``loose``, κ² may leave no
        room; then slightly more is allowed.
        """
        if not self.sources or not self.beta.any():
            return 0.0, []
        local = self.parts is None
        if local and self.dual <= MAX_PAIR_RHO:
            return self.by_pairs(allowed)
        enough = max(allowed, AHEAD * inside) if loose or inside >= allowed else allowed
        square, violators = self.share(enough, inside)
        if local and not violators and square > enough and not self.cut:
            return self.by_pairs(allowed)
        return square, violators

    def fast_violators(self, allowed: float, most: int) -> list[Node]:
        """Find quickly the worst sources that one conjunction proves to exceed ``allowed``."""
        if not self.sources or not self.beta.any():
            return []
        looked_at = FAST_CONJUNCTIONS * self.table.n_columns
        listed, x, *_ = self.list_powers(float(np.sqrt(allowed)), 1.0, looked_at, looked_at)
        heavy = np.flatnonzero(x > 1.0)
        sources, above, _ = self.below([listed[k] for k in heavy.tolist()])
        scores = np.zeros(len(self.sources))
        np.maximum.at(scores, sources, x[heavy][above])
        order = np.argsort(-scores, kind="stable")[: np.count_nonzero(scores)]
        return [self.sources[k] for k in order[:most].tolist()]

    def by_pairs(self, allowed: float) -> Verdict:
        """Return the verdict by ‖r_t‖_2, which is exact for ρ = 2."""
        share = (1 + self.a) ** -2.0
        powers = (1 + share) ** np.arange(int(self.table.counts.max(initial=0)) + 1.0)
        squares = np.full(len(self.sources), np.inf)
        with suppress(TimeIsOver):
            for start in range(0, len(squares), BATCH_SOURCES):
                some = slice(start, start + BATCH_SOURCES)
                covers = self.table.truths(self.table.covers(self.sources[some]))
                rows = [np.flatnonzero(cover) for cover in covers]
                forms = pair_forms(self.table, self.beta, rows, powers, self.deadline)
                squares[some] = forms / (self.a**2 * (1 + share)) ** self.lengths[some]
        violators = np.flatnonzero(squares * (1 + 1e-12) > allowed)
        order = violators[np.lexsort((-squares[violators], np.isinf(squares[violators])))]
        return float(squares.max()) * (1 + 1e-12), [self.sources[k] for k in order.tolist()]

    def share(self, allowed: float, inside: float) -> Verdict:
        """Return the verdict with shares carried inside W; stop as soon as there is a violator."""
        unit, given = float(np.sqrt(allowed)), (inside / allowed) ** (self.dual / 2)
        room, least = 1.0 - given, FIRST_CONJUNCTIONS * min(len(self.inside), MAX_SHARED_NODES)
        looked_at = least * len(self.inside)
        while True:
            listed, x, tail, reached = self.list_powers(unit, TAIL_SHARE * room, least, looked_at)
            loads, carried = self.split(listed, x, max(0.0, room - tail))
            last = reached or looked_at >= MAX_EVALUATED or self.deadline.over()
            if last or (loads + carried > 1).any():
                break
            least, looked_at = EXTENSION_FACTOR * least, EXTENSION_FACTOR * looked_at
        self.cut = not reached and self.deadline.over()
        # each source carries its load and the listed conjunctions, and the tail if it is bounded
        worst = max(given, float(loads.max())) + carried + tail
        violators = np.flatnonzero(loads + carried + (tail if reached else 0.0) > 1)
        order = violators[np.argsort(-loads[violators], kind="stable")]
        return allowed * worst ** (2 / self.dual), [self.sources[k] for k in order.tolist()]

    def list_powers(
        self, unit: float, goal: float, most: int, looked_at: int
    ) -> tuple[list[Node], FloatArray, float, bool]:
        """Return at most ``most`` conjunctions of largest q_w, with q_w in this unit.

        The other results are a bound on Σ q_w^ρ' over all others, and True if it meets the goal.
        """
        items = np.arange(self.table.n_columns)
        sides = [(items, True, True)]
        if self.signs is not None:
            asked = self.signs.propositions
            sides = [(items[asked != -1], True, False), (items[asked != 1], False, True)]
        rows, exponent, rounding = self.rows_in_units()
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
                n_rows=len(self.beta) if self.parts is None else None,
                deadline=self.deadline,
            )
            kept = most // len(sides)
            listed += found.conjunctions[:kept]
            parts.append(found.x[:kept])
            with np.errstate(over="ignore"):
                rest += found.rest + float((found.x[kept:] ** self.dual).sum())
        return listed, np.concatenate(parts), rest, rest <= goal * (1 + 1e-9)

    def rows_in_units(self) -> tuple[Partitioned, int, float]:
        """Return the rows with β in units, the exponent of 2, and the rounding error of sums."""
        parts = self.parts
        if parts is None:
            each, ones = np.arange(len(self.beta)), np.ones(len(self.beta))
            parts = Partitioned([RowsInGroups(self.table, each, ones)]), [self.beta[:, None]]
        rows, vectors = parts
        size = float(np.sum(rows.map(sizes, each=vectors, deadline=self.deadline)))
        exponent = unit_exponent(size)
        units = rows.persist(rows_in_units, exponent, False, each=vectors)
        lost = float(np.sum([n.sum() for *_, n in units.map(totals, deadline=self.deadline)]))
        return units, exponent, 0.5 * lost + EPSILON * float(np.ldexp(size, -exponent))

    def below(self, listed: list[Node]) -> tuple[NDArray[np.intp], NDArray[np.intp], FloatArray]:
        """Return pairs of a source and the position of a listed superset, and subset sums.

        The latter are Σ a^|v| over the subsets v ∈ W of each listed conjunction.
        """
        sources: list[int] = []
        numbers: list[int] = []
        held = np.ones(len(listed))  # the empty set
        longest = int(self.lengths.max())
        for number, w in enumerate(listed):
            if number % CHECKED_CONJUNCTIONS == CHECKED_CONJUNCTIONS - 1:
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
        """Split conjunctions over subsets outside W, or share some with subsets inside W.

        Parameters
        ----------
        listed : list of tuple of int
        x : float64 (listed,)
            q_w, in the unit in which 1 is allowed.
        room : float
            The limit of Σ q_w^ρ' over the shared conjunctions.

        Returns
        -------
        loads : float64 (sources,)
            Σ r(w)^ρ' over w ⊇ t of the others.
        carried : float
            Σ q_w^ρ' of the shared conjunctions, at most ``room``.
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
        for _ in range(MAX_ROUNDS):
            touching = np.zeros(len(outside), dtype=np.bool_)
            touching[above[(loads() + carried > 1)[below]]] = True
            some = np.flatnonzero(touching & ~moved)
            with np.errstate(invalid="ignore"):  # 0/0 if both underflow: these come last
                cheap = some[np.argsort(shared[some] / alone[some], kind="stable")]
            cost = np.cumsum(shared[cheap])
            cheap = cheap[: int(np.searchsorted(cost, room - carried, side="right"))]
            if not len(cheap):
                break
            moved[cheap] = True
            carried = float(shared[moved].sum())
        return loads(), carried


@compiled()
def _overlaps(packed: Any, a: Any, common: Any) -> None:
    """Set ``common[b] = s_ab`` for b up to a; ``packed`` is (words, examples)."""
    for b in range(a + 1):
        common[b] = ones(packed[0, a] & packed[0, b])
    for k in range(1, packed.shape[0]):
        word = packed[k, a]
        for b in range(a + 1):
            common[b] += ones(word & packed[k, b])


# any order of additions allows vector instructions
@compiled(
    "float64(uint64[:, ::1], float64[::1], float64[::1], int64, int64)",
    fastmath={"reassoc", "contract"},
)
def pair_form(packed: Any, beta: Any, powers: Any, first: Any, last: Any) -> Any:
    """Return ``Σ β_i β_j powers[s_ij]`` over ordered pairs, the larger in ``[first, last)``."""
    common = np.empty(last, dtype=np.uint64)
    total = 0.0
    for a in range(first, last):
        _overlaps(packed, a, common)
        part = -0.5 * beta[a] * powers[common[a]]
        for b in range(a + 1):
            part += beta[b] * powers[common[b]]
        total += 2 * beta[a] * part
    return total


def pair_forms(
    table: PackedTable,
    beta: FloatArray,
    covers: list[NDArray[np.intp]],
    powers: FloatArray,
    deadline: Deadline = UNLIMITED,
) -> FloatArray:
    """Return upper bounds on Σ β_i β_j powers[s_ij] over the pairs of examples of each cover.

    Parameters
    ----------
    table : PackedTable of r rows
        s_ij, the overlap, is the number of columns that are 1 in rows i and j.
    beta : float64 (r,)
    covers : list of intp
        Positions of examples.
    powers : float64, for s = 0, 1, …
    deadline : Deadline, optional
        After it TimeIsOver is raised.
    """
    forms = np.zeros(len(covers))
    pays = pair_form.pays(sum(len(cover) ** 2 for cover in covers))
    if pays and not pair_form.ready(deadline):
        raise TimeIsOver
    for t, cover in enumerate(covers):
        deadline.check()
        words, own, n = table.rows[cover], beta[cover], len(cover)
        if pays:
            packed, step = np.ascontiguousarray(words.T), max(1, BATCH_PAIRS // max(1, n))
            for start in range(0, n, step):
                deadline.check()
                forms[t] += pair_form(packed, own, powers, start, min(start + step, n))
        else:
            common = np.bitwise_count(words[:, None] & words[None]).sum(2, dtype=np.intp)
            forms[t] = own @ powers[common] @ own
        # rounding of a sum of terms of both signs, relative to their sizes
        forms[t] += 1e-13 * float(np.abs(own).sum()) ** 2 * powers[-1]
    return np.maximum(forms, 0.0)
