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
"""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from formulakern.encoding.bits import pack_rows
from formulakern.estimators.hkl_loops import subset_forms
from formulakern.mining.conjunctions import mine_conjunctions
from formulakern.mining.covers import PackedPropositions

__all__ = ["Frontier", "Node", "sources_of"]

FloatArray = NDArray[np.float64]
Node = tuple[int, ...]

#: Conjunctions that the first search lists at most, by how much that grows, and where it ends.
FIRST, GROWTH, LISTED = 1000, 4, 20_000
#: Halvings of the search's threshold before a source that is undecided counts as a violator.
HALVINGS = 6
#: After so many searches one known violator is enough.
SEARCHES = 2
#: Sources whose sums are computed in one compiled call, between which Ctrl-C is felt.
BATCH = 256


class Frontier:
    """The sources of the nodes outside W, and bounds on what lies behind them.

    Parameters
    ----------
    bits : bool (r, p)
        Examples, different ones, with β ≠ 0.
    beta : float64 (r,)
    nodes : list of tuple of int
        W.
    rho, depth_penalty : float
        1 < ρ ≤ 2 and a.
    deadline : float, optional
        ``time.perf_counter()`` at which bounds are improved no further.
    """

    def __init__(
        self,
        bits: NDArray[np.bool_],
        beta: FloatArray,
        nodes: list[Node],
        rho: float,
        depth_penalty: float,
        deadline: float | None = None,
    ) -> None:
        self.deadline = deadline
        self.bits = bits
        self.beta = beta
        self.a = depth_penalty
        self.dual = rho / (rho - 1)
        self.packed = PackedPropositions.of(bits)
        self.words = pack_rows(bits)
        self.sources = sources_of(nodes, bits.shape[1])
        self.lengths = np.array([len(t) for t in self.sources], dtype=np.int64)
        self.place = {t: k for k, t in enumerate(self.sources)}
        base = 1 + (1 + self.a) ** -2
        most = int(bits.sum(axis=1).max(initial=0))
        self.powers = base ** np.arange(most + 1.0)
        self.whole = self._forms([np.arange(len(beta))])[0]
        self.masses = np.full(len(self.sources), np.inf)

    def _left(self) -> float | None:
        """Seconds until the deadline."""
        if self.deadline is None:
            return None
        return max(0.0, self.deadline - time.perf_counter())

    def _forms(self, covers: list[NDArray[np.intp]]) -> FloatArray:
        """Σ β_i β_j base^s_ij over the pairs of each cover, from above."""
        starts = np.zeros(len(covers) + 1, dtype=np.int64)
        np.cumsum([len(cover) for cover in covers], out=starts[1:])
        rows = np.concatenate(covers).astype(np.int64)
        forms = np.empty(len(covers))
        subset_forms(self.words, self.beta, self.powers, rows, starts, forms)
        sizes = np.add.reduceat(np.append(np.abs(self.beta)[rows], 0.0), starts[:-1])
        sizes[starts[:-1] == starts[1:]] = 0.0
        # rounding of a sum of terms of both signs, as a share of their sizes
        forms += 1e-13 * sizes**2 * self.powers[-1]
        return np.asarray(np.maximum(forms, 0.0))

    def refine(self, which: NDArray[np.intp]) -> None:
        """Compute Σ q_w² over w ⊇ t for these sources."""
        divisor = (1 + self.a) ** 2 * (1 + (1 + self.a) ** -2)
        for start in range(0, len(which), BATCH):
            if self._left() == 0:
                return
            some = which[start : start + BATCH]
            covers = [np.flatnonzero(self.bits[:, list(self.sources[k])].all(axis=1)) for k in some]
            self.masses[some] = self._forms(covers) / divisor ** self.lengths[some]

    def examine(self, allowed: float, enough: int) -> tuple[float, list[Node]]:
        """Whether ‖r_t‖_ρ'² ≤ ``allowed`` for all sources t.

        Parameters
        ----------
        allowed : float
        enough : int
            The search may end once so many sources are known to pass it.

        Returns
        -------
        square : float
            No ‖r_t‖_ρ'² is larger.
        violators : list of tuple of int
            Sources that pass it, the worst first; if none is known, those that may.
        """
        if not self.sources or not len(self.beta):
            return 0.0, []
        unit = float(np.sqrt(allowed))  # in this unit r_t may reach 1
        growth = (1 + self.a) / self.a
        scale: FloatArray = np.asarray(growth**self.lengths / unit, dtype=np.float64)
        threshold = unit * growth ** -float(np.median(self.lengths))
        heavy, most = Heavy(self, scale), FIRST
        if self.dual == 2:
            self.refine(np.arange(len(self.sources)))
        upper = self.upper(heavy, threshold, scale)
        for searches in range(HALVINGS if self.dual > 2 else 0):
            doubtful = (upper > 1) & (heavy.powers <= 1)
            known = np.count_nonzero(heavy.powers > 1)
            if not doubtful.any() or known >= (1 if searches >= SEARCHES else enough):
                break
            listed, scores, passed, complete = self.list_heavy(threshold, most)
            heavy.add(listed, scores)
            upper = self.upper(heavy, passed, scale)
            coarse = np.flatnonzero((upper > 1) & (heavy.powers <= 1) & np.isinf(self.masses))
            if len(coarse) and np.count_nonzero(heavy.powers > 1) < enough:
                self.refine(coarse)
                upper = self.upper(heavy, passed, scale)
            if complete:
                threshold /= 2
            elif most == LISTED or self._left() == 0:
                break
            else:
                most = min(GROWTH * most, LISTED)
        violators = np.flatnonzero(heavy.powers > 1)
        if not len(violators):
            violators = np.flatnonzero(upper > 1)
        order = violators[np.lexsort((-upper[violators], -heavy.powers[violators]))]
        square = allowed * float(upper.max()) ** (2 / self.dual)
        return square, [self.sources[k] for k in order.tolist()]

    def list_heavy(self, threshold: float, most: int) -> tuple[list[Node], FloatArray, float, bool]:
        """The heaviest conjunctions with q_w above a threshold, at most so many.

        Returns
        -------
        listed, q : list of tuple of int, float64
            Heaviest first; the next call's list begins with these.
        threshold : float
            What no other conjunction passes.
        complete : bool
            Whether all that pass the given threshold are listed.
        """
        p = self.packed.n_propositions
        found = mine_conjunctions(
            self.packed,
            self.beta,
            top=None,
            min_length=1,
            max_length=None,
            length_factor=(1 + self.a) ** np.minimum(np.arange(p + 1.0), 200),
            threshold=threshold,
            max_results=most,
            time_limit=self._left(),
        )
        if found.complete:
            return found.conjunctions, found.scores, max(found.bound, threshold), True
        n = int(np.count_nonzero(found.scores > found.bound))  # others may tie with the last one
        return found.conjunctions[:n], found.scores[:n], found.bound, False

    def upper(self, heavy: Heavy, threshold: float, scale: FloatArray) -> FloatArray:
        """Upper bounds on Σ (scale_t · q_w)^ρ' over w ⊇ t.

        Parameters
        ----------
        heavy : Heavy
            Holds every w with q_w above ``threshold``.
        threshold : float
        scale : float64 (sources,)
        """
        rest = self.whole * (1 + 1e-12) - heavy.total
        rest = np.maximum(np.minimum(self.masses * (1 + 1e-12) - heavy.squares, rest), 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            alone = (np.minimum(self.masses, self.whole) * scale**2) ** (self.dual / 2)
            sharper = heavy.powers + (threshold * scale) ** (self.dual - 2) * rest * scale**2
        if heavy.count == 0:  # nothing was listed: the threshold says nothing
            return np.asarray(alone)
        return np.asarray(np.minimum(alone, np.where(np.isnan(sharper), np.inf, sharper)))


class Heavy:
    """Sums over the conjunctions that a search listed, for each source below them.

    Attributes
    ----------
    powers, squares : float64 (sources,)
        Σ (scale_t · q_w)^ρ' and Σ q_w² over the listed w ⊇ t.
    total : float
        Σ q_w² over all of them.
    """

    def __init__(self, frontier: Frontier, scale: FloatArray) -> None:
        self.frontier = frontier
        self.scale = scale
        self.powers, self.squares = np.zeros(len(scale)), np.zeros(len(scale))
        self.total = 0.0
        self.count = 0

    def add(self, listed: list[Node], scores: FloatArray) -> None:
        """Count what was not yet listed; the list begins with what was."""
        place, longest = self.frontier.place, int(self.frontier.lengths.max())
        below, above = [], []
        for number, w in enumerate(listed[self.count :], self.count):
            for size in range(1, min(longest, len(w)) + 1):
                for subset in combinations(w, size):
                    k = place.get(subset)
                    if k is not None:
                        below.append(k)
                        above.append(number)
        where, q = np.array(below, dtype=np.intp), scores[np.array(above, dtype=np.intp)]
        with np.errstate(over="ignore"):
            powers = (q * self.scale[where]) ** self.frontier.dual
        self.powers += np.bincount(where, powers, len(self.scale))
        self.squares += np.bincount(where, q**2, len(self.scale))
        self.total += float(np.sum(scores[self.count :] ** 2))
        self.count = len(listed)


def sources_of(nodes: list[Node], p: int) -> list[Node]:
    """The sets outside the family whose proper subsets are all inside."""
    inside = set(nodes)
    found: list[Node] = []
    for v in nodes:
        for i in range(v[-1] + 1 if v else 0, p):
            t = (*v, i)
            if t not in inside and all(t[:k] + t[k + 1 :] in inside for k in range(len(v))):
                found.append(t)
    return found
