r"""The heaviest conjunctions of ordered columns: two-way tables of sums, and proof at every gap.

For weights u_i ∈ R^K of rows let S(w) = Σ_{i covered by w} u_i.  Wanted is the largest

    score(w) = |S(w)| / d_l,   l the number of propositions of w,

with the Euclidean norm |·|, or the *spread* max_k − min_k, or for K = 1 the sign that is allowed.

*Sums.*  The values of a column are divided into bins.  Cumulative sums of the two-way table of two
columns give S of all pairs of one-sided propositions at the ends of bins at once: O(m) additions
and O(B₁ B₂) differences, no matter how many pairs.  Single propositions are exact at every gap.

*Proof.*  A proposition whose gap lies inside a bin covers all rows of the bins before, the *inner*
rows, and none beyond this bin, the *outer* rows.  So with the sums P and N of the positive and of
the negative parts, −N_outer + P_inner ≤ S ≤ P_outer − N_inner for all such conjunctions, and
−N_outer ≤ S ≤ P_outer for all longer ones.  A bin is divided only where this bound passes what is
sought: the proof is over all gaps, and most bins stay wide.

*Longer conjunctions* are pairs within the rows of their first propositions.  The first proposition
is a range of gaps at first, whose outer rows are those of the widest; the range is divided where
the bound is too weak.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.compilation import compiled
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.encoding.ordered import OrderedTable

#: Bins of a column at first, and at most.
FIRST_BINS, MOST_BINS = 32, 512
#: A weight may be positive, negative, or either.
UP, DOWN, BOTH = 1, 2, 3

#: Sorted numbers of propositions.
Node = tuple[int, ...]


class Found(NamedTuple):
    """A conjunction and its score."""

    score: float
    node: Node


class Proof(NamedTuple):
    """No conjunction scores more than ``bound``; ``found`` are some that score more than asked."""

    bound: float
    found: list[Found]


@compiled()
def _ends(ordered: Any, side: Any, r: Any, n_bins: Any, fine: Any) -> Any:
    """First and last bin, from and up to, of the outer and of the inner rows at bin r."""
    if not ordered:
        return r, r + 1, r, r + 1
    if side == 0:
        return 0, r + 1, 0, r if fine else r + 1
    return r, n_bins, r + 1 if fine else r, n_bins


@compiled()
def _exact(ordered: Any, side: Any, r: Any, n_bins: Any) -> Any:
    """Whether the outer rows at bin r are those of a proposition."""
    if not ordered:
        return True
    return r < n_bins - 1 if side == 0 else r > 0


@compiled()
def _size(high: Any, low: Any, allowed: Any, spread: Any) -> Any:
    """The largest score of sums between ``low`` and ``high``, (K,)."""
    n = high.shape[0]
    if spread:
        largest, least = high[0], low[0]
        for k in range(1, n):
            largest, least = max(largest, high[k]), min(least, low[k])
        return largest - least
    if n == 1:
        found = 0.0
        if allowed & 1:
            found = max(found, high[0])
        if allowed & 2:
            found = max(found, -low[0])
        return found
    total = 0.0
    for k in range(n):
        one = max(high[k], -low[k])
        total += one * one
    return math.sqrt(total)


@compiled()
def _cumulated(
    first: Any, second: Any, n_first: Any, n_second: Any, weights: Any, table: Any
) -> None:
    """``table[a, b]``: the sum over the rows whose bins are below a and below b."""
    width = weights.shape[1]
    table[: n_first + 1, : n_second + 1] = 0.0
    for i in range(first.shape[0]):
        a, b = first[i], second[i]
        if a < n_first and b < n_second:
            for k in range(width):
                table[a + 1, b + 1, k] += weights[i, k]
    for a in range(1, n_first + 1):
        for b in range(1, n_second + 1):
            for k in range(width):
                table[a, b, k] += table[a, b - 1, k]
        for b in range(1, n_second + 1):
            for k in range(width):
                table[a, b, k] += table[a - 1, b, k]


@compiled(
    "void(int16[:, ::1], int64[::1], boolean[::1], boolean[:, ::1], int64[:, ::1], int64[:, ::1],"
    " float64[:, :, ::1], boolean, boolean, float64, float64, float64[:, ::1], int64[:, :, ::1],"
    " float64[:, ::1], boolean[:, ::1], boolean[:, :, ::1])"
)
def scan_pairs(
    bins: Any,
    n_bins: Any,
    ordered: Any,
    fine: Any,
    allowed: Any,
    pairs: Any,
    weights: Any,
    spread: Any,
    proving: Any,
    wanted: Any,
    longer: Any,
    scores: Any,
    cells: Any,
    bounds: Any,
    divide: Any,
    open_ones: Any,
) -> None:
    """Find the best pair of propositions of two columns, and bound all, for some pairs of columns.

    Parameters
    ----------
    bins : (columns, m), n_bins : (columns,), ordered : (columns,), fine : (columns, bins)
        ``fine`` bins have several values.
    allowed : (columns, 2)
        Signs of the two sides, 0 for a side that is left out.
    pairs : (number, 2)
    weights : (5, m, K)
        u, and positive and negative parts on the outer and on the inner rows; if not ``proving``
        u alone.
    wanted, longer : float
        Above which sums of pairs, and of longer conjunctions, matter.
    scores, bounds : (number, 4), cells : (number, 4, 2)
        Of each pair of sides: the largest |S|, the bins, and a bound on |S| at all gaps.
    divide : (columns, bins)
        Receives which bins a bound above ``wanted`` has an end in.
    open_ones : (columns, 2, bins)
        Receives which bins have an end of a pair whose supersets may have more than ``longer``.
    """
    width = weights.shape[2]
    most = 0
    for j in range(n_bins.shape[0]):
        most = max(most, n_bins[j])
    n_tables = 5 if proving else 1
    tables = np.empty((n_tables, most + 1, most + 1, width))
    strips = np.empty((n_tables, most + 1, width))
    high, low = np.empty(width), np.empty(width)
    for c in range(pairs.shape[0]):
        j, h = pairs[c, 0], pairs[c, 1]
        n_first, n_second = n_bins[j], n_bins[h]
        for t in range(n_tables):
            _cumulated(bins[j], bins[h], n_first, n_second, weights[t], tables[t])
        for side in range(2):
            if allowed[j, side] == 0:
                continue
            for r in range(n_first):
                out, out_end, inner, inner_end = _ends(ordered[j], side, r, n_first, fine[j, r])
                exact = _exact(ordered[j], side, r, n_first)
                if not exact and not (proving and fine[j, r]):
                    continue
                for t in range(n_tables):
                    begin, end = (out, out_end) if t < 3 else (inner, inner_end)
                    for b in range(n_second + 1):
                        for k in range(width):
                            strips[t, b, k] = tables[t, end, b, k] - tables[t, begin, b, k]
                for other in range(2):
                    signs = allowed[j, side] & allowed[h, other]
                    if signs == 0:
                        continue
                    place = 2 * side + other
                    for q in range(n_second):
                        begin, end, inside, inside_end = _ends(
                            ordered[h], other, q, n_second, fine[h, q]
                        )
                        both = exact and _exact(ordered[h], other, q, n_second)
                        if both:
                            for k in range(width):
                                high[k] = low[k] = strips[0, end, k] - strips[0, begin, k]
                            size = _size(high, low, signs, spread)
                            if size > scores[c, place]:
                                scores[c, place] = size
                                cells[c, place, 0], cells[c, place, 1] = r, q
                        if not proving or not (both or fine[h, q] or exact):
                            continue
                        if not both and not (exact or fine[j, r]):
                            continue
                        if not _exact(ordered[h], other, q, n_second) and not fine[h, q]:
                            continue
                        empty = inner >= inner_end or inside >= inside_end
                        for k in range(width):
                            p = strips[1, end, k] - strips[1, begin, k]
                            n = strips[2, end, k] - strips[2, begin, k]
                            high[k], low[k] = p, -n
                        if _size(high, low, signs, spread) > longer:
                            open_ones[j, side, r] = open_ones[h, other, q] = True
                        if not empty:
                            for k in range(width):
                                high[k] -= strips[4, inside_end, k] - strips[4, inside, k]
                                low[k] += strips[3, inside_end, k] - strips[3, inside, k]
                        size = _size(high, low, signs, spread)
                        bounds[c, place] = max(bounds[c, place], size)
                        if size > wanted:
                            if ordered[j] and fine[j, r]:
                                divide[j, r] = True
                            if ordered[h] and fine[h, q]:
                                divide[h, q] = True


@compiled(
    "void(int16[:, ::1], int64[::1], boolean[::1], boolean[:, ::1], int64[:, ::1],"
    " float64[:, :, ::1], boolean, boolean, float64, float64, float64[::1], int64[:, ::1],"
    " float64[::1], boolean[:, ::1], boolean[:, :, ::1])"
)
def scan_intervals(
    bins: Any,
    n_bins: Any,
    ordered: Any,
    fine: Any,
    allowed: Any,
    weights: Any,
    spread: Any,
    proving: Any,
    wanted: Any,
    longer: Any,
    scores: Any,
    cells: Any,
    bounds: Any,
    divide: Any,
    open_ones: Any,
) -> None:
    """As :func:`scan_pairs`, for the interval of each ordered column, x ≥ c with x ≤ d.

    ``scores`` and ``bounds`` have the shape (columns,), ``cells`` (columns, 2).
    """
    width = weights.shape[2]
    n_tables = 5 if proving else 1
    high, low = np.empty(width), np.empty(width)
    for j in range(n_bins.shape[0]):
        signs, n = allowed[j, 0] & allowed[j, 1], n_bins[j]
        if not ordered[j] or signs == 0:
            continue
        sums = np.zeros((n_tables, n + 1, width))
        for t in range(n_tables):
            for i in range(bins.shape[1]):
                if bins[j, i] < n:
                    for k in range(width):
                        sums[t, bins[j, i] + 1, k] += weights[t, i, k]
            for b in range(1, n + 1):
                for k in range(width):
                    sums[t, b, k] += sums[t, b - 1, k]
        for r in range(n):
            begin, _, inside, _ = _ends(True, 1, r, n, fine[j, r])
            from_exact = _exact(True, 1, r, n)
            if not from_exact and not fine[j, r]:
                continue
            for q in range(r, n):
                _, end, _, inside_end = _ends(True, 0, q, n, fine[j, q])
                to_exact = _exact(True, 0, q, n)
                if not to_exact and not fine[j, q]:
                    continue
                if from_exact and to_exact:
                    for k in range(width):
                        high[k] = low[k] = sums[0, end, k] - sums[0, begin, k]
                    size = _size(high, low, signs, spread)
                    if size > scores[j]:
                        scores[j] = size
                        cells[j, 0], cells[j, 1] = r, q
                if not proving:
                    continue
                for k in range(width):
                    high[k] = sums[1, end, k] - sums[1, begin, k]
                    low[k] = sums[2, begin, k] - sums[2, end, k]
                if _size(high, low, signs, spread) > longer:
                    open_ones[j, 1, r] = open_ones[j, 0, q] = True
                if inside < inside_end:
                    for k in range(width):
                        high[k] -= sums[4, inside_end, k] - sums[4, inside, k]
                        low[k] += sums[3, inside_end, k] - sums[3, inside, k]
                size = _size(high, low, signs, spread)
                bounds[j] = max(bounds[j], size)
                if size > wanted:
                    divide[j, r] = divide[j, r] or fine[j, r]
                    divide[j, q] = divide[j, q] or fine[j, q]


@compiled(
    "void(int32[:, ::1], int64[::1], boolean[::1], int64[:, ::1], float64[:, ::1], boolean,"
    " float64[:, ::1], int64[:, ::1])"
)
def scan_columns(
    codes: Any,
    n_values: Any,
    ordered: Any,
    allowed: Any,
    weights: Any,
    spread: Any,
    scores: Any,
    places: Any,
) -> None:
    """Find the best proposition of each column and side at every gap: |S| and its number."""
    width, most = weights.shape[1], 0
    for j in range(n_values.shape[0]):
        most = max(most, n_values[j])
    sums = np.empty((most + 1, width))
    high = np.empty(width)
    for j in range(n_values.shape[0]):
        n = n_values[j]
        sums[: n + 1] = 0.0
        for i in range(codes.shape[1]):
            if codes[j, i] < n:
                for k in range(width):
                    sums[codes[j, i] + 1, k] += weights[i, k]
        if ordered[j]:
            for v in range(1, n + 1):
                for k in range(width):
                    sums[v, k] += sums[v - 1, k]
        for side in range(2):
            if allowed[j, side] == 0:
                continue
            for v in range(n - 1 if ordered[j] else n):
                for k in range(width):
                    high[k] = sums[v + 1, k]
                    if side == 1:
                        high[k] = sums[n, k] - high[k]
                size = _size(high, high, allowed[j, side], spread)
                if size > scores[j, side]:
                    scores[j, side] = size
                    places[j, side] = v if side == 0 else n - 1 + v


class _Scan(NamedTuple):
    """What two-way tables show: for pairs of columns, and for intervals of one."""

    pairs: NDArray[np.int64]
    scores: FloatArray
    cells: NDArray[np.int64]
    bounds: FloatArray
    interval_scores: FloatArray
    interval_cells: NDArray[np.int64]
    interval_bounds: FloatArray
    divide: NDArray[np.bool_]
    open_ones: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Prefix:
    """Propositions, each of which may be a range of gaps, and what may be added.

    ``rows`` are those of the widest gaps, ``inner`` those of them that the narrowest ones have too.
    ``sides`` are the signs of the sides of the columns that may be added.  If ``exact``, ``node``
    has the propositions of the widest gaps.
    """

    node: Node
    rows: NDArray[np.intp]
    inner: NDArray[np.bool_]
    sides: NDArray[np.int64]
    exact: bool = True


@dataclass(eq=False)
class OrderedSearch:
    """The search over the conjunctions of a table; bins become finer where proofs ask for it.

    Parameters
    ----------
    table : OrderedTable
    divisors : float64 (L + 1,)
        d_l, of lengths up to L; increasing.
    sides : int64 (columns, 2)
        The signs that propositions of each side of a column may have; nominal ones have one side.
    spread : bool
    """

    table: OrderedTable
    divisors: FloatArray
    sides: NDArray[np.int64]
    spread: bool = False
    edges: list[NDArray[np.int32]] = field(init=False)

    def __post_init__(self) -> None:
        columns = self.table.columns
        self.ordered = np.array([one.ordered for one in columns], dtype=np.bool_)
        self.n_values = np.array([one.n_values for one in columns], dtype=np.int64)
        self.sides = np.ascontiguousarray(self.sides, dtype=np.int64)
        self.sides[~self.ordered, 1] = 0
        # where no entry is missing, x >= t has the sum of x <= t with the other sign
        known = self.table.codes < self.n_values[:, None]
        self.complete = self.ordered & known.all(axis=1)
        self.edges = [self._quantiles(one.codes, one.n_values) for one in columns]
        for j in np.flatnonzero(~self.ordered).tolist():
            self.edges[j] = np.arange(self.n_values[j] - 1, dtype=np.int32)
        self._set_bins()

    @staticmethod
    def _quantiles(codes: Any, n_values: int) -> NDArray[np.int32]:
        """Return the gaps between bins of about as many rows each."""
        n_gaps = n_values - 1
        if n_gaps < FIRST_BINS:
            return np.arange(n_gaps, dtype=np.int32)
        below = np.cumsum(np.bincount(codes, minlength=n_values)[:n_values])
        goals = below[-1] * np.arange(1, FIRST_BINS) / FIRST_BINS
        gaps = np.searchsorted(below, goals)
        return np.unique(np.minimum(gaps, n_gaps - 1)).astype(np.int32)

    def _set_bins(self) -> None:
        """Divide the rows by the edges."""
        q, m = self.table.codes.shape
        self.n_bins = np.array([len(own) + 1 for own in self.edges], dtype=np.int64)
        most = int(self.n_bins.max(initial=1))
        self.bins = np.empty((q, m), dtype=np.int16)
        self.fine = np.zeros((q, most), dtype=np.bool_)
        for j in range(q):
            self._set_bins_of(j)

    def _set_bins_of(self, j: int) -> None:
        codes, own, n_values = self.table.codes[j], self.edges[j], int(self.n_values[j])
        bin_of = np.searchsorted(own, np.arange(n_values + 1), side="left").astype(np.int16)
        bin_of[n_values] = len(own) + 1
        self.bins[j] = bin_of[codes]
        self.n_bins[j] = len(own) + 1
        ends = np.concatenate([[-1], own, [n_values - 1]])
        if self.fine.shape[1] < len(own) + 1:
            grown = np.zeros((len(self.fine), 2 * len(own) + 2), dtype=np.bool_)
            grown[:, : self.fine.shape[1]] = self.fine
            self.fine = grown
        self.fine[j] = False
        if self.ordered[j]:
            self.fine[j, : len(own) + 1] = np.diff(ends) > 1

    def divide(self, marked: NDArray[np.bool_]) -> bool:
        """Divide bins in two; return whether any was."""
        changed = False
        for j in np.flatnonzero(marked.any(axis=1)).tolist():
            ends = np.concatenate([[-1], self.edges[j], [self.n_values[j] - 1]])
            some = np.flatnonzero(marked[j, : len(ends) - 1] & self.fine[j, : len(ends) - 1])
            some = some[: max(0, MOST_BINS - len(ends))]
            if len(some):
                middle = (ends[some] + ends[some + 1]) // 2
                self.edges[j] = np.unique(np.concatenate([self.edges[j], middle])).astype(np.int32)
                self._set_bins_of(j)
                changed = True
        return changed

    def divide_at(self, node: Node) -> None:
        """Let bins end where the propositions of a conjunction do."""
        for j, number in map(self.table.place, node):
            if self.ordered[j]:
                gap = number % (int(self.n_values[j]) - 1)
                if gap not in self.edges[j] and len(self.edges[j]) < MOST_BINS:
                    self.edges[j] = np.sort(np.append(self.edges[j], np.int32(gap)))
                    self._set_bins_of(j)

    # -- what scores most ---------------------------------------------------------------------

    def singles(self, weights: FloatArray) -> list[Found]:
        """Return the best proposition of each column and side, exact at every gap."""
        scores = np.zeros((len(self.ordered), 2))
        places = np.zeros_like(scores, dtype=np.int64)
        sides = self.sides
        if np.abs(weights.sum(axis=0)).max() <= 1e-9 * np.abs(weights).sum():
            sides = np.where(self.complete[:, None] & (sides[:, :1] > 0), sides * [1, 0], sides)
        scan_columns(
            self.table.codes, self.n_values, self.ordered, np.ascontiguousarray(sides),
            np.ascontiguousarray(weights), self.spread, scores, places,
        )  # fmt: skip
        starts, divisor = self.table.starts, float(self.divisors[1])
        return [
            Found(float(scores[j, side]) / divisor, (int(starts[j] + places[j, side]),))
            for j, side in np.argwhere(scores > 0).tolist()
        ]

    def best(self, weights: FloatArray) -> list[Found]:
        """Return the best of each column, and of each pair of columns and sides at ends of bins."""
        found = self.singles(weights)
        if len(self.divisors) > 2:
            everything = _Prefix((), np.arange(len(weights)), np.ones(0, np.bool_), self.sides)
            scan = self._scan(everything, weights, math.inf, math.inf, proving=False)
            found += self._listed((), scan, 0.0)
        return sorted(found, key=lambda one: (-one.score, one.node))

    def _scan(
        self,
        prefix: _Prefix,
        weights: FloatArray,
        wanted: float,
        longer: float,
        *,
        proving: bool,
        pairs: NDArray[np.int64] | None = None,
    ) -> _Scan:
        rows, q = prefix.rows, len(self.ordered)
        own = weights if len(rows) == len(weights) else weights[rows]
        listed = [own]
        if proving:
            up, down = np.maximum(own, 0.0), np.maximum(-own, 0.0)
            inner = prefix.inner[:, None]
            listed += [up, down, np.where(inner, up, 0.0), np.where(inner, down, 0.0)]
        bins = self.bins if len(rows) == len(weights) else np.ascontiguousarray(self.bins[:, rows])
        usable = np.flatnonzero(prefix.sides.any(axis=1))
        if pairs is None:
            first, second = np.triu_indices(len(usable), 1)
            pairs = np.stack([usable[first], usable[second]], axis=1).astype(np.int64)
        most = self.fine.shape[1]
        scan = _Scan(
            pairs,
            np.zeros((len(pairs), 4)), np.zeros((len(pairs), 4, 2), dtype=np.int64),
            np.zeros((len(pairs), 4)),
            np.zeros(q), np.zeros((q, 2), dtype=np.int64), np.zeros(q),
            np.zeros((q, most), dtype=np.bool_), np.zeros((q, 2, most), dtype=np.bool_),
        )  # fmt: skip
        stacked = np.ascontiguousarray(np.stack(listed))
        common = self.n_bins, self.ordered, self.fine, prefix.sides
        limits = stacked, self.spread, proving, wanted, longer
        scan_pairs(
            bins, *common, pairs, *limits, scan.scores, scan.cells, scan.bounds,
            scan.divide, scan.open_ones,
        )  # fmt: skip
        scan_intervals(
            bins, *common, *limits, scan.interval_scores, scan.interval_cells,
            scan.interval_bounds, scan.divide, scan.open_ones,
        )  # fmt: skip
        return scan

    def _proposition(self, j: int, side: int, r: int) -> int:
        """Return the proposition of a column that is true in the bins up to, or from, r."""
        start = int(self.table.starts[j])
        if not self.ordered[j]:
            return start + r
        n_gaps = int(self.n_values[j]) - 1
        return start + (int(self.edges[j][r]) if side == 0 else n_gaps + int(self.edges[j][r - 1]))

    def _listed(self, node: Node, scan: _Scan, least: float) -> list[Found]:
        """Return what scores more than ``least``, with the propositions of a node."""
        divisor, found = float(self.divisors[len(node) + 2]), []
        for c, place in np.argwhere(scan.scores > least * divisor).tolist():
            places = *divmod(place, 2), *scan.cells[c, place].tolist()
            first, second = scan.pairs[c].tolist()
            new = [
                self._proposition(first, places[0], places[2]),
                self._proposition(second, places[1], places[3]),
            ]
            score = float(scan.scores[c, place]) / divisor
            found.append(Found(score, tuple(sorted((*node, *new)))))
        for j in np.flatnonzero(scan.interval_scores > least * divisor).tolist():
            r, q = scan.interval_cells[j].tolist()
            new = [self._proposition(j, 0, q), self._proposition(j, 1, r)]
            score = float(scan.interval_scores[j]) / divisor
            found.append(Found(score, tuple(sorted((*node, *new)))))
        return found

    # -- proof --------------------------------------------------------------------------------

    def prove(self, weights: FloatArray, threshold: float, deadline: Deadline = UNLIMITED) -> Proof:
        """Bound the scores of all conjunctions at all gaps, or find some above the threshold.

        After the deadline the bound may be above the threshold although nothing was found.
        """
        singles = self.singles(weights)
        found = [one for one in singles if one.score > threshold]
        best = max([threshold, *(one.score for one in singles)])
        if len(self.divisors) < 3:
            return Proof(best, found)
        if found:
            return Proof(math.inf, found)
        proof = _Proof(self, weights, threshold, deadline)
        return Proof(max(best, proof.run()), proof.found)


@dataclass(eq=False)
class _Proof:
    """A proof under way, and what was found above the threshold."""

    search: OrderedSearch
    weights: FloatArray
    threshold: float
    deadline: Deadline
    found: list[Found] = field(default_factory=list)

    def run(self) -> float:
        """Bound all conjunctions of two propositions or more."""
        search, every = self.search, np.arange(len(self.weights))
        prefix = _Prefix((), every, np.ones(len(every), np.bool_), search.sides)
        pairs: NDArray[np.int64] | None = None
        while True:  # pairs alone, of which fewer and fewer are in doubt
            scan = self._scan(prefix, pairs)
            bound = _largest_bound(scan)
            in_doubt = bound > self._wanted(prefix)
            if not in_doubt or self.found or self.deadline.over():
                break
            if not search.divide(scan.divide):
                break
            pairs = scan.pairs[(scan.bounds > self._wanted(prefix)).any(axis=1)]
        if self.found or in_doubt:
            return bound / float(search.divisors[2])
        while True:
            self.marks = np.zeros_like(search.fine)
            bound = self._bound(prefix)
            if bound <= self.threshold or self.found or self.deadline.over():
                return bound
            if not search.divide(self.marks):
                return bound

    def _wanted(self, prefix: _Prefix, more: int = 2) -> float:
        """The size of sums of so many more propositions that are sought; inf if too long."""
        length = len(prefix.node) + more
        divisors = self.search.divisors
        return self.threshold * float(divisors[length]) if length < len(divisors) else math.inf

    def _scan(self, prefix: _Prefix, pairs: NDArray[np.int64] | None = None) -> _Scan:
        search = self.search
        limits = self._wanted(prefix), self._wanted(prefix, 3)
        scan = search._scan(prefix, self.weights, *limits, proving=True, pairs=pairs)
        if prefix.exact:
            self.found += search._listed(prefix.node, scan, self.threshold)
        return scan

    def _bound(self, prefix: _Prefix) -> float:
        """Bound the scores of conjunctions that add two propositions or more to a prefix."""
        search = self.search
        scan = self._scan(prefix)
        bound = _largest_bound(scan) / float(search.divisors[len(prefix.node) + 2])
        if bound > self.threshold:
            self.marks |= scan.divide
            return bound
        for j in np.flatnonzero(scan.open_ones.any(axis=(1, 2))).tolist():
            for side in range(2):
                places = np.flatnonzero(scan.open_ones[j, side]).tolist()
                if not places:
                    continue
                ranges = [(places[0], places[-1])]
                if not search.ordered[j]:
                    ranges = [(r, r) for r in places]
                for ends in ranges:
                    bound = max(bound, self._longer(prefix, j, side, ends, scan.open_ones))
                    if self.found:
                        return bound
        return bound

    def _longer(
        self,
        prefix: _Prefix,
        j: int,
        side: int,
        ends: tuple[int, int],
        opened: NDArray[np.bool_],
    ) -> float:
        """Bound what adds a proposition in a range of bins, and two or more behind it."""
        if self.deadline.over():
            return math.inf
        search, (first, last) = self.search, ends
        own, n_bins = search.bins[j, prefix.rows], int(search.n_bins[j])
        single = first == last and not search.fine[j, first]
        if not search.ordered[j]:
            outer, inner, exact = own == first, own == first, True
        elif side == 0:
            outer, inner = own <= last, own <= (last if single else first - 1)
            exact = last < n_bins - 1
        else:
            known = own < n_bins
            outer, inner = known & (own >= first), known & (own >= (first if single else last + 1))
            exact = first > 0
        rows = np.flatnonzero(outer & (own < n_bins))
        sides = np.where(opened.any(axis=2), prefix.sides & prefix.sides[j, side], 0)
        sides[:j] = 0
        sides[j] = [0, sides[j, 1] if side == 0 and search.ordered[j] else 0]
        exact = exact and prefix.exact
        place = last if side == 0 or not search.ordered[j] else first
        name = search._proposition(j, side, place) if exact else -1
        child = _Prefix(
            (*prefix.node, name), prefix.rows[rows], (prefix.inner & inner)[rows], sides, exact
        )
        bound = self._bound(child)
        if bound <= self.threshold or self.found:
            return bound
        if first < last:
            middle = (first + last) // 2
            return max(
                self._longer(prefix, j, side, (first, middle), opened),
                self._longer(prefix, j, side, (middle + 1, last), opened),
            )
        self.marks[j, first] |= search.fine[j, first]
        return bound


def _largest_bound(scan: _Scan) -> float:
    return max(float(scan.bounds.max(initial=0.0)), float(scan.interval_bounds.max(initial=0.0)))
