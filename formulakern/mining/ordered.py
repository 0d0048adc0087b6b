r"""The heaviest conjunctions of ordered columns: two-way tables of sums, proved at every gap.

For weights u_i ∈ R^K of rows let S(w) = Σ_{i covered by w} u_i.  The search maximizes

    score(w) = |S(w)| / d_l,   l the number of propositions of w,

with the Euclidean norm |·|, or the *spread* max_k − min_k, or for K = 1 the sign that is allowed.

*Sums.*  The values of a column are divided into bins.  Cumulative sums of the two-way table of two
columns give S of all pairs of one-sided propositions at the ends of bins at once: O(m) additions
and O(B₁ B₂) differences for any number of pairs.  An interval is a pair of a column with itself.
Single propositions are exact at every gap.

*Proof.*  A proposition whose gap is inside a bin covers all rows of the bins before (the *inner*
rows) and only rows up to this bin (the *outer* rows).  With the sums P and N of the positive and of
the negative parts, −N_outer + P_inner ≤ S ≤ P_outer − N_inner for all such conjunctions, and
−N_outer ≤ S ≤ P_outer for all longer ones.  If this bound exceeds the goal, a pair of columns is
searched at every gap, by branch and bound over rectangles of gaps.  For two gaps s and t in a
rectangle whose near corner is (s₀, t₀),

    S(s, t) = S(s₀, t₀) + A(s) + B(t) + the sum of rows that are beyond both s₀ and t₀,

where A(s) is the sum of the rows between s₀ and s that t₀ covers, and B(t) the sum of the rows
between t₀ and t that s₀ covers.  The largest A and B are found in one pass each, and few rows are
beyond both.

*Longer conjunctions* are pairs within the rows of their first propositions.  The first proposition
starts as a range of gaps, whose outer rows are those of its widest gap; the range is divided if the
bound is too weak.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, IntArray
from formulakern.compilation import compiled
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.encoding.ordered import OrderedTable

#: Initial number of bins of a column, more (up to MAX_FIRST_BINS) if there are many rows for each
#: cell of two columns; the number of coarse bins with which a proof begins, and the numbers of fine
#: bins with which it goes on.
FIRST_BINS, MAX_FIRST_BINS, ROWS_PER_CELL = 32, 256, 8
COARSE_BINS, FINE_BINS = 8, (64, 128, 256, 512)
#: Cells of finer bins for each row up to which a scan is faster than a search at every gap.
MAX_CELLS_PER_ROW = 16
#: The ranges of bins of a column that are bounded first.
MAX_RANGES = 16
#: Parts into which a range of gaps is divided, and the largest number of open rectangles (for 2³¹
#: values).
GRID_PARTS, MAX_OPEN_RECTANGLES = 8, 64 * 11
#: A column of more bins keeps only the bins in use; the largest number of bins.
MIN_REDUCED_BINS, MAX_BINS = 256, 1 << 14
#: Ranges into which the gaps of a first proposition are divided at once.
FIRST_PARTS = 6
#: The pairs of columns above this share of the goal, and at most this many, are scanned first.
CLOSE_SHARE, MAX_CLOSE_PAIRS = 0.75, 3_000
#: The number of pairs of columns that are scanned between two looks at the deadline.
PAIRS_AT_ONCE = 10_000
#: The work of a scan, about its nanoseconds: SCAN_WORK without pairs, and for each row and pair the
#: number of functions plus PAIR_WORK.
SCAN_WORK, PAIR_WORK = 4e5, 3
#: A proof about longer conjunctions ends early, but not before this work, if at the current pace it
#: would take more than MAX_PACE times the limit.
MIN_JUDGED_WORK, MAX_PACE = 1e9, 2
#: How many of the best pairs have their gaps moved, first and later, and how many rows that may
#: concern; the share of the goal that the pairs must reach.
FIRST_REFINED_PAIRS, REFINED_PAIRS, MIN_REFINED_SHARE = 60, 2_000, 0.9
FIRST_REFINED_ROWS, REFINED_ROWS = 1_000_000, 5_000_000
#: Bins of rows that a gap passes in one move.
REACHED_BINS = 8
#: The sides of an interval, x ≥ c with x ≤ d, among the pairs of sides.
INTERVAL = np.array([False, False, True, False])
#: Up to this number of functions, their sums are added one after another.
MAX_SEPARATE_SUMS = 2
#: A weight may be positive, negative, or either.
UP, DOWN, BOTH = 1, 2, 3
#: The sign of a proposition that may not have a weight.
NEVER = 2

#: Sorted numbers of propositions.
Node = tuple[int, ...]


class Found(NamedTuple):
    """A conjunction and its score."""

    score: float
    node: Node


class Proof(NamedTuple):
    """A bound on all scores, and some conjunctions that score more than the threshold."""

    bound: float
    found: list[Found]


@compiled()
def _covered(ordered: Any, side: Any, begin: Any, end: Any, n_bins: Any, fine: Any) -> Any:
    """Return first and last bin (exclusive) of the outer and of the inner rows of some bins.

    A proposition with its gap in one of the bins covers only outer rows, and all inner rows.
    """
    if not ordered:
        return begin, end, begin, end if end - begin == 1 else begin
    if side == 0:
        return 0, end, 0, begin if fine[begin] else begin + 1
    return begin, n_bins, end if fine[end - 1] else end - 1, n_bins


@compiled()
def _usable(ordered: Any, side: Any, n_bins: Any, fine: Any) -> Any:
    """Return the range of the bins in which, or at which, a proposition has its gap."""
    begin = 1 if ordered and side == 1 and not fine[0] else 0
    return begin, n_bins - 1 if ordered and side == 0 and not fine[n_bins - 1] else n_bins


@compiled()
def _size(high: Any, low: Any, allowed: Any, spread: Any) -> Any:
    """Return the largest score of sums between ``low`` and ``high``, (K,)."""
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
def added(first: Any, second: Any, n_first: Any, n_second: Any, weights: Any, sums: Any) -> None:
    """Add to ``sums[a, b]`` the weights of the rows of bins a and b."""
    width = weights.shape[1]
    if width <= MAX_SEPARATE_SUMS:
        for k in range(width):
            for i in range(first.shape[0]):
                a, b = first[i], second[i]
                if a < n_first and b < n_second:
                    sums[a, b, k] += weights[i, k]
        return
    for i in range(first.shape[0]):
        a, b = first[i], second[i]
        if a < n_first and b < n_second:
            for k in range(width):
                sums[a, b, k] += weights[i, k]


@compiled()
def _cumulated(sums: Any, n_first: Any, n_second: Any, planes: Any) -> None:
    """Set ``planes[k, a, b]`` to the sum over the rows whose bins are below a and below b."""
    for k in range(sums.shape[2]):
        for b in range(n_second + 1):
            planes[k, 0, b] = 0.0
    for a in range(n_first):
        for k in range(sums.shape[2]):
            planes[k, a + 1, 0] = total = 0.0
            for b in range(n_second):
                total += sums[a, b, k]
                planes[k, a + 1, b + 1] = total
            for b in range(n_second + 1):
                planes[k, a + 1, b] += planes[k, a, b]


@compiled()
def _cells(
    planes: Any, k: Any, ordered: Any, sides: Any, n_bins: Any, none: Any, sums: Any
) -> None:
    """Set ``sums[k]`` to the sums of ``planes[k]`` over the rows of all cells.

    A cell has a bin of each column, ``none`` of which is fine; ``ordered``, ``sides`` and
    ``n_bins`` have an entry for each column.
    """
    sign, edge = (1.0, 0) if sides[1] == 0 else (-1.0, n_bins[1])
    for r in range(n_bins[0]):
        low, high = _covered(ordered[0], sides[0], r, r + 1, n_bins[0], none)[:2]
        if not ordered[1]:
            for q in range(n_bins[1]):
                under = planes[k, high, q] - planes[k, low, q]
                sums[k, r, q] = planes[k, high, q + 1] - planes[k, low, q + 1] - under
            continue
        start = planes[k, high, edge] - planes[k, low, edge]
        for q in range(n_bins[1]):
            under = planes[k, high, q] - planes[k, low, q]
            up_to = planes[k, high, q + 1] - planes[k, low, q + 1]
            sums[k, r, q] = sign * ((under if sides[1] == 1 else up_to) - start)


@compiled()
def _sizes(sums: Any, n_bins: Any, signs: Any, spread: Any, total: Any) -> None:
    """Set ``total[0]`` to the scores of sums, (K, bins, bins), by cell.

    The scores of several functions are squared, unless they are spreads.
    """
    up, down = float(signs & 1), float(signs >> 1 & 1)
    for k in range(sums.shape[0]):
        for r in range(n_bins[0]):
            for q in range(n_bins[1]):
                one = sums[k, r, q]
                if spread:
                    total[0, r, q] = one if k == 0 else max(total[0, r, q], one)
                    total[1, r, q] = one if k == 0 else min(total[1, r, q], one)
                elif sums.shape[0] == 1:
                    total[0, r, q] = max(up * one, -down * one, 0.0)
                else:
                    total[0, r, q] = one * one + (total[0, r, q] if k > 0 else 0.0)
    if spread:
        for r in range(n_bins[0]):
            for q in range(n_bins[1]):
                total[0, r, q] -= total[1, r, q]


@compiled()
def _best_cell(total: Any, rows: Any, columns: Any, largest: Any) -> Any:
    """Return the largest total of some cells, and its cell."""
    for q in range(total.shape[2]):
        largest[q] = 0.0
    for r in range(rows[0], rows[1]):
        for q in range(total.shape[2]):
            largest[q] = max(largest[q], total[0, r, q])
    best, at, row = 0.0, 0, 0
    for q in range(columns[0], columns[1]):
        if largest[q] > best:
            best, at = largest[q], q
    for r in range(rows[1] - 1, rows[0] - 1, -1):
        row = r if total[0, r, at] == best else row
    return best, row, at


@compiled()
def _signs_of_ends(ordered: Any, side: Any, n_bins: Any, fine: Any, signs: Any) -> None:
    """Set the factors, before and after each bin, of cumulative sums in the sum of a side.

    ``fine`` bins are left out.
    """
    sign = 1.0 if side == 0 else -1.0
    for q in range(n_bins):
        before = (side == 1) != fine[q]
        signs[0, q], signs[1, q] = (sign, 0.0) if before else (0.0, sign)
        if not ordered:
            signs[0, q], signs[1, q] = -1.0, 1.0


@compiled()
def _net(outer: Any, inner: Any, ends: Any, inner_ends: Any, q: Any) -> Any:
    """Return the sum of the outer rows minus that of the inner rows at a bin, without the edge."""
    (upper, lower), (high, low) = outer, inner
    total = ends[1][q] * (upper[q + 1] - lower[q + 1]) + ends[0][q] * (upper[q] - lower[q])
    rest = inner_ends[1][q] * (high[q + 1] - low[q + 1]) + inner_ends[0][q] * (high[q] - low[q])
    return total - rest


@compiled()
def _bound_row(
    planes: Any,
    inward: Any,
    rows: Any,
    n_bins: Any,
    ends: Any,
    inner: Any,
    edge: Any,
    kind: Any,
    total: Any,
) -> None:
    """Set ``total[0]`` to the scores of sums from P' − N to P − N', like :func:`_sizes`.

    ``planes`` have P and N, and from ``inward`` on P' and N'; ``rows`` are the outer rows, then the
    inner rows.
    """
    (width, spread, signs), most, least = kind, total[0], total[1]
    at, within = (ends[0], ends[1]), (inner[0], inner[1])
    up, down = float(signs & 1), float(signs >> 1 & 1)
    for k in range(width):
        gain = planes[k, rows[1]], planes[k, rows[0]]
        loss = planes[k + width, rows[1]], planes[k + width, rows[0]]
        kept = planes[inward + k, rows[3]], planes[inward + k, rows[2]]
        lost = planes[inward + k + width, rows[3]], planes[inward + k + width, rows[2]]
        above = gain[0][edge] - gain[1][edge] - (lost[0][edge] - lost[1][edge])
        below = loss[0][edge] - loss[1][edge] - (kept[0][edge] - kept[1][edge])
        if spread:
            for q in range(n_bins):
                x = above + _net(gain, lost, at, within, q)
                y = below + _net(loss, kept, at, within, q)
                most[q] = x if k == 0 else max(most[q], x)
                least[q] = y if k == 0 else max(least[q], y)
        elif width > 1:
            for q in range(n_bins):
                x = above + _net(gain, lost, at, within, q)
                x = max(x, below + _net(loss, kept, at, within, q))
                most[q] = x * x if k == 0 else most[q] + x * x
        else:
            for q in range(n_bins):
                x = above + _net(gain, lost, at, within, q)
                most[q] = max(up * x, down * (below + _net(loss, kept, at, within, q)), 0.0)
    if spread:
        for q in range(n_bins):
            most[q] += least[q]


# no scores are NaN, which allows vector instructions
@compiled(fastmath={"nnan", "nsz"})
def _largest(total: Any, squared: Any, begin: Any, end: Any) -> Any:
    """Return the largest score of some bins."""
    best, some = 0.0, total[0, begin:end]
    for q in range(len(some)):
        best = max(best, some[q])
    return math.sqrt(best) if squared else best


@compiled()
def _first(total: Any, squared: Any, begin: Any, end: Any, size: Any) -> Any:
    """Return the first bin with a score."""
    for q in range(begin, end):
        if (math.sqrt(total[0, q]) if squared else total[0, q]) == size:
            return q
    return begin


@compiled(
    "void(int16[:, ::1], int64[::1], boolean[::1], int64[:, ::1], int64[:, ::1], boolean[:, ::1],"
    " float64[:, ::1], float64[:, ::1], boolean, float64[:, ::1], int64[:, :, ::1])"
)
def scan_pairs(
    bins: Any,
    n_bins: Any,
    ordered: Any,
    allowed: Any,
    pairs: Any,
    places: Any,
    weights: Any,
    given: Any,
    spread: Any,
    scores: Any,
    cells: Any,
) -> None:
    """Find the best pair of propositions at ends of bins for each pair of columns.

    Parameters
    ----------
    bins : (columns, m), n_bins : (columns,), ordered : (columns,)
    allowed : (columns, 2)
        Signs of the two sides, 0 for an excluded side.
    pairs : (number, 2), places : (number, 4)
        Pairs of columns, and the pairs of sides to examine; see :func:`places_of`.
    weights : (m, K)
    given : (cells of all pairs, K)
        The sums of :func:`added` for all pairs in turn; no rows if they are unknown.
    scores : (number, 4), cells : (number, 4, 2)
        For each pair of sides: the largest |S|, and the bins.
    """
    width, most, place_of_sums = weights.shape[1], 0, 0
    squared = width > 1 and not spread
    for j in range(n_bins.shape[0]):
        most = max(most, n_bins[j])
    scratch = np.empty((0 if given.shape[0] else most * most, width))
    planes, sums = np.empty((width, most + 1, most + 1)), np.empty((width, most, most))
    total, largest, none = np.empty((2, most, most)), np.empty(most), np.zeros(most, np.bool_)
    for c in range(pairs.shape[0]):
        j, h = pairs[c, 0], pairs[c, 1]
        n_first, n_second = n_bins[j], n_bins[h]
        if given.shape[0]:
            sums_of = given[place_of_sums : place_of_sums + n_first * n_second]
            sums_of = sums_of.reshape((n_first, n_second, width))
            place_of_sums += n_first * n_second
        else:
            sums_of = scratch[: n_first * n_second].reshape((n_first, n_second, width))
            sums_of[:] = 0.0
            added(bins[j], bins[h], n_first, n_second, weights, sums_of)
        _cumulated(sums_of, n_first, n_second, planes)
        for place in range(4):
            side, other = place // 2, place % 2
            signs = allowed[j, side] & allowed[h, other]
            if signs == 0 or not places[c, place]:
                continue
            kinds, numbers = (ordered[j], ordered[h]), (n_first, n_second)
            for k in range(width):
                _cells(planes, k, kinds, (side, other), numbers, none, sums)
            _sizes(sums, numbers, signs, spread, total)
            rows = _usable(ordered[j], side, n_first, none)
            columns = _usable(ordered[h], other, n_second, none)
            found, r, q = _best_cell(total, rows, columns, largest)
            if found > 0.0:
                found = math.sqrt(found) if squared else found
                scores[c, place], cells[c, place, 0], cells[c, place, 1] = found, r, q


@compiled(
    "void(int16[:, ::1], int64[::1], boolean[::1], boolean[:, ::1], int64[:, ::1], int64[:, ::1],"
    " boolean[:, ::1], float64[:, ::1], int64, boolean, float64, float64, boolean, float64[:, ::1],"
    " int64[:, :, ::1], float64[:, ::1], float64[::1], boolean[:, :, ::1])"
)
def bound_pairs(
    bins: Any,
    n_bins: Any,
    ordered: Any,
    fine: Any,
    allowed: Any,
    pairs: Any,
    places: Any,
    parts: Any,
    n_inner: Any,
    spread: Any,
    wanted: Any,
    longer: Any,
    hasty: Any,
    scores: Any,
    cells: Any,
    bounds: Any,
    beyond: Any,
    open_ones: Any,
) -> None:
    """Bound |S| of the pairs of propositions at all gaps, for each pair of columns.

    Several bins of the first column are bounded together, and each alone if the bound is too large.

    Parameters
    ----------
    bins, n_bins, ordered, allowed, pairs, places
        As in :func:`scan_pairs`; ``fine`` bins, (columns, bins), have several values.
    parts : (m, 2K)
        The positive and the negative parts of the weights.
    n_inner : int
        The first rows, which are inner rows.
    wanted, longer : float
        The thresholds for the sums of pairs, and of longer conjunctions.
    hasty : bool
        If True, the first bin with a bound above ``wanted`` makes the bound infinite.
    scores, bounds : (number, 4), cells : (number, 4, 2)
        For each pair of sides: the largest |S| above ``wanted``, a bound on |S|, and the bins.
    beyond : (number,)
        A bound on |S| of longer conjunctions.
    open_ones : (columns, 2, bins)
        Output: True for bins at an end of a pair whose supersets may have more than ``longer``.
    """
    width, most = parts.shape[1] // 2, 0
    inward = 2 * width if n_inner < bins.shape[1] else 0
    squared = width > 1 and not spread
    for j in range(n_bins.shape[0]):
        most = max(most, n_bins[j])
    scratch = np.empty((most * most, 2 * width))
    planes = np.empty((2 * width + inward, most + 1, most + 1))  # of all rows, then of inner rows
    total, none = np.empty((2, most)), np.zeros(most, np.bool_)
    ends, inner = np.empty((2, most)), np.empty((2, most))
    for c in range(pairs.shape[0]):
        j, h = pairs[c, 0], pairs[c, 1]
        n_first, n_second = n_bins[j], n_bins[h]
        sums_of = scratch[: n_first * n_second].reshape((n_first, n_second, 2 * width))
        sums_of[:] = 0.0
        first, second = bins[j], bins[h]
        if inward:
            added(first[:n_inner], second[:n_inner], n_first, n_second, parts, sums_of)
            _cumulated(sums_of, n_first, n_second, planes[inward:])
            first, second = first[n_inner:], second[n_inner:]
        added(first, second, n_first, n_second, parts[bins.shape[1] - len(first) :], sums_of)
        _cumulated(sums_of, n_first, n_second, planes)
        for place in range(4):
            side, other = place // 2, place % 2
            signs = allowed[j, side] & allowed[h, other]
            if signs == 0 or not places[c, place]:
                continue
            _signs_of_ends(ordered[h], other, n_second, none, ends)
            _signs_of_ends(ordered[h], other, n_second, fine[h], inner)
            edge = n_second if ordered[h] and other == 1 else 0
            begin, end = _usable(ordered[h], other, n_second, fine[h])
            exact = _usable(ordered[h], other, n_second, none)
            kind = width, spread, signs
            at, last = _usable(ordered[j], side, n_first, fine[j])
            exact_bins = _usable(ordered[j], side, n_first, none)
            step = -(-n_first // MAX_RANGES) if ordered[j] else 1
            opened = at  # the bins before are bounded one by one
            while at < last:
                until = at + 1 if at < opened else min(last, at + step)
                rows = _covered(ordered[j], side, at, until, n_first, fine[j])
                _bound_row(planes, inward, rows, n_second, ends, inner, edge, kind, total)
                size, widest = _largest(total, squared, begin, end), 0.0
                if longer < np.inf:
                    rows = rows[0], rows[1], rows[0], rows[0]
                    _bound_row(planes, inward, rows, n_second, ends, inner, edge, kind, total)
                    widest = _largest(total, squared, begin, end)
                if until - at > 1 and (size > wanted or widest > longer):
                    opened = until
                    continue
                bounds[c, place] = max(bounds[c, place], size)
                beyond[c] = max(beyond[c], widest)
                if hasty and size > wanted:
                    bounds[c, place] = np.inf
                    break
                for q in range(begin, end if widest > longer else begin):
                    one = math.sqrt(total[0, q]) if squared else total[0, q]
                    if one > longer:
                        open_ones[j, side, at] = open_ones[h, other, q] = True
                if size > wanted and exact_bins[0] <= at < exact_bins[1]:
                    rows = _covered(ordered[j], side, at, until, n_first, none)
                    _bound_row(planes, 0, rows, n_second, ends, ends, edge, kind, total)
                    found = _largest(total, squared, exact[0], exact[1])
                    if found > max(wanted, scores[c, place]):
                        q = _first(total, squared, exact[0], exact[1], found)
                        scores[c, place], cells[c, place, 0], cells[c, place, 1] = found, at, q
                at = until


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
    """Find |S| and the number of the best proposition of each column and side, at every gap."""
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


@compiled()
def _inside(code: Any, ordered: Any, side: Any, place: Any, n: Any) -> Any:
    """Return True if the proposition at a place covers a row."""
    if not ordered:
        return code == place
    return code <= place if side == 0 else place <= code < n


@compiled(
    "void(int32[:, ::1], int32[:, ::1], int64[::1], boolean[::1], int64[:, ::1], float64[:, ::1],"
    " boolean, int64, int64[:, ::1], int64[:, ::1], int64[:, ::1], float64[::1])"
)
def polish(
    codes: Any,
    order: Any,
    n_values: Any,
    ordered: Any,
    allowed: Any,
    weights: Any,
    spread: Any,
    reach: Any,
    columns: Any,
    sides: Any,
    places: Any,
    scores: Any,
) -> None:
    """Move the gaps of pairs of propositions, one at a time, to where |S| is largest nearby.

    ``order`` sorts the rows of each column.  A move passes at most ``reach`` rows, or one value.
    ``columns``, ``sides`` and ``places`` have the shape (number, 2); a place is a value at which
    x ≤ t ends or x ≥ t begins; ``scores`` (number,) are raised.
    """
    width, m = weights.shape[1], codes.shape[1]
    sums, high, best = np.empty(width), np.empty(width), np.empty(width)
    for c in range(columns.shape[0]):
        j, side, at = columns[c, 0], sides[c, 0], places[c, 0]
        h, other, fixed = columns[c, 1], sides[c, 1], places[c, 1]
        signs = allowed[j, side] & allowed[h, other]
        for k in range(width):
            sums[k] = 0.0
        for i in range(m):
            if _inside(codes[j, i], ordered[j], side, at, n_values[j]) and _inside(
                codes[h, i], ordered[h], other, fixed, n_values[h]
            ):
                for k in range(width):
                    sums[k] += weights[i, k]
        still, one = 0, 0
        while still < 2:
            j, side, at = columns[c, one], sides[c, one], places[c, one]
            h, other, fixed = columns[c, 1 - one], sides[c, 1 - one], places[c, 1 - one]
            n, better = n_values[j], False
            if ordered[j]:
                low, edge = 0, m  # the number of rows before the gap
                while low < edge:
                    middle = (low + edge) // 2
                    if codes[j, order[j, middle]] < at + 1 - side:
                        low = middle + 1
                    else:
                        edge = middle
                for way in range(2):
                    place, passed = edge if way == 0 else edge - 1, 0
                    for k in range(width):
                        high[k] = sums[k]
                    step = 1 if way == 0 else -1
                    sign = 1.0 if way == side else -1.0
                    while 0 <= place < m:
                        v = codes[j, order[j, place]]
                        if v >= n or (v == n - 1 if way == 0 else v == 0):
                            break  # no gap beyond
                        while 0 <= place < m and codes[j, order[j, place]] == v:
                            i = order[j, place]
                            if _inside(codes[h, i], ordered[h], other, fixed, n_values[h]):
                                for k in range(width):
                                    high[k] += sign * weights[i, k]
                            place += step
                            passed += 1
                        size = _size(high, high, signs, spread)
                        if size > scores[c] * (1 + 1e-12):
                            scores[c], better = size, True
                            places[c, one] = v + side if way == 0 else v - 1 + side
                            for k in range(width):
                                best[k] = high[k]
                        if passed >= reach:
                            break
                if better:
                    for k in range(width):
                        sums[k] = best[k]
            still = 0 if better else still + 1
            one = 1 - one


@compiled()
def _sort_rows(values: Any, n: Any, n_inner: Any, order: Any, start: Any) -> Any:
    """Sort the inner rows whose values are not 0 into ``order``, from ``start`` on; return the end.

    All values are below ``n``.
    """
    places = np.zeros(n + 1, np.int64)
    for i in range(n_inner):
        if values[i] > 0:
            places[values[i] + 1] += 1
    for v in range(n):
        places[v + 1] += places[v]
    end = start + places[n]
    for i in range(n_inner):
        if values[i] > 0:
            order[start + places[values[i]]] = i
            places[values[i]] += 1
    return end


@compiled()
def _ranked(value: Any, begin: Any, end: Any, parts: Any) -> Any:
    """Return the first part of a range in which a row may count, and in which it must count."""
    if value <= begin:
        return 0, 0
    part = min(parts - 1, (value - begin) * parts // (end - begin) + 1)
    while begin + part * (end - begin) // parts > value:
        part -= 1
    return part, part + (1 if begin + part * (end - begin) // parts < value else 0)


@compiled(
    "Tuple((float64, int64, int64, boolean))(int64[::1], int64[::1], int64, int64, int64,"
    " float64[:, ::1], int64, boolean, float64)"
)
def best_gaps(
    first: Any,
    second: Any,
    n_first: Any,
    n_second: Any,
    n_inner: Any,
    weights: Any,
    signs: Any,
    spread: Any,
    wanted: Any,
) -> Any:
    """Find the best pair of gaps (s, t), of rows with first ≤ s, second ≤ t, by branch and bound.

    A rectangle of gaps whose bound is above ``wanted`` is divided into a grid of rectangles.
    Returns the best |S| above ``wanted`` (or 0), its gaps, and True if a bound is above ``wanted``.
    Rows from ``n_inner`` on may count or not; if there are such rows, the first gaps with such a
    bound end the search.
    """
    count = first.shape[0]
    width, best, at_first, at_second = weights.shape[1], 0.0, -1, -1
    loose, both, largest, least = width, 3 * width, 5 * width, 7 * width
    own, high, low = np.empty(width), np.empty(width), np.empty(width)
    grid, running = np.empty((GRID_PARTS, GRID_PARTS, 9 * width)), np.empty((GRID_PARTS, width))
    ranks = np.empty((4, count), np.int64)
    corners, sums = (
        np.empty((MAX_OPEN_RECTANGLES, 4), np.int64),
        np.zeros((MAX_OPEN_RECTANGLES, width)),
    )
    corners[0, 0], corners[0, 1], corners[0, 2], corners[0, 3] = 0, n_first, 0, n_second
    limits, number = np.empty(MAX_OPEN_RECTANGLES), 1
    limits[0] = np.inf
    # rows along the first gaps, along the second, and those that are not inner: a stack
    parts, rows = np.empty((MAX_OPEN_RECTANGLES, 4), np.int64), np.empty(2 * count, np.int64)
    stack = np.empty(4 * count + 64, np.int64)
    parts[0, 0] = 0
    parts[0, 1] = _sort_rows(first, n_first, n_inner, stack, 0)
    parts[0, 2] = top = _sort_rows(second, n_second, n_inner, stack, parts[0, 1])
    for i in range(n_inner):
        if first[i] == 0 and second[i] == 0:
            for k in range(width):
                sums[0, k] += weights[i, k]
    for i in range(n_inner, count):
        stack[top] = i
        top += 1
    parts[0, 3] = top
    closed = parts[0, 2] == top
    while number > 0:
        number -= 1
        if limits[number] <= wanted:
            continue
        begin = top = parts[number, 0]
        ends = parts[number, 1] - begin, parts[number, 2] - begin, parts[number, 3] - begin
        s, s_end, t, t_end = (
            corners[number, 0], corners[number, 1], corners[number, 2], corners[number, 3]
        )  # fmt: skip
        across, down = min(GRID_PARTS, s_end - s), min(GRID_PARTS, t_end - t)
        for k in range(width):
            own[k] = sums[number, k]
        for r in range(across):
            for q in range(down):
                for k in range(9 * width):
                    grid[r, q, k] = 0.0
        for place in range(ends[2]):
            i = rows[place] = stack[begin + place]
            ranks[0, i], ranks[1, i] = _ranked(first[i], s, s_end, across)
            ranks[2, i], ranks[3, i] = _ranked(second[i], t, t_end, down)
        for place in range(ends[1], ends[2]):
            i = rows[place]
            for k in range(width):
                weight = weights[i, k]
                grid[ranks[0, i], ranks[2, i], loose + (k if weight > 0.0 else k + width)] += abs(
                    weight
                )
        for one in range(2):
            part = -1
            n = down if one == 0 else across
            for place in range(0 if one == 0 else ends[0], ends[one]):
                i = rows[place]
                here, sure = ranks[2 * one, i], ranks[2 * one + 1, i]
                other, other_sure = ranks[2 - 2 * one, i], ranks[3 - 2 * one, i]
                if here != part:
                    part = here
                    for q in range(n):
                        for k in range(width):
                            running[q, k] = 0.0
                inside = (one == 0 or first[i] <= s) and ranks[1, i] < across and ranks[3, i] < down
                for k in range(width):
                    weight = weights[i, k]
                    if inside:
                        grid[ranks[1, i], ranks[3, i], k] += weight
                    if sure == here:
                        continue
                    for q in range(other_sure, n):
                        r, c = (here, q) if one == 0 else (q, here)
                        running[q, k] += weight
                        up, under = largest + one * width + k, least + one * width + k
                        grid[r, c, up] = max(grid[r, c, up], running[q, k])
                        grid[r, c, under] = min(grid[r, c, under], running[q, k])
                    if one == 0 and other != other_sure:
                        grid[here, other, both + (k if weight > 0.0 else k + width)] += abs(weight)
        for k in range(3 * width):
            for r in range(across):
                for q in range(1, down):
                    grid[r, q, k] += grid[r, q - 1, k]
                if r > 0:
                    for q in range(down):
                        grid[r, q, k] += grid[r - 1, q, k]
        for r in range(across):
            from_s, to_s = s + r * (s_end - s) // across, s + (r + 1) * (s_end - s) // across
            for q in range(down):
                for k in range(width):
                    base = own[k] + grid[r, q, k]
                    high[k] = base + grid[r, q, both + k] + grid[r, q, loose + k]
                    low[k] = base - grid[r, q, both + width + k] - grid[r, q, loose + width + k]
                    for one in range(2):
                        high[k] += grid[r, q, largest + one * width + k]
                        low[k] += grid[r, q, least + one * width + k]
                size = _size(high, low, signs, spread)
                if size <= wanted:
                    continue
                from_t, to_t = t + q * (t_end - t) // down, t + (q + 1) * (t_end - t) // down
                if to_s - from_s == 1 and to_t - from_t == 1:
                    for k in range(width):
                        high[k] = own[k] + grid[r, q, k] + grid[r, q, loose + k]
                        high[k] -= grid[r, q, loose + width + k]
                    net = _size(high, high, signs, spread)
                    if net > wanted:
                        best, at_first, at_second = net, from_s, from_t
                    if not closed:
                        return best, at_first, at_second, True
                    wanted = max(wanted, net)
                    continue
                if top + ends[2] > stack.shape[0]:
                    larger = np.empty(2 * (top + ends[2]), np.int64)
                    for place in range(top):
                        larger[place] = stack[place]
                    stack = larger
                parts[number, 0] = top
                for group in range(3):
                    for place in range(0 if group == 0 else ends[group - 1], ends[group]):
                        i = rows[place]
                        if group == 2:
                            stays = ranks[0, i] <= r and ranks[2, i] <= q
                        else:
                            part, other_part = (r, q) if group == 0 else (q, r)
                            stays = ranks[2 * group, i] == part < ranks[2 * group + 1, i]
                            stays = stays and ranks[2 - 2 * group, i] <= other_part
                        if stays:
                            stack[top] = i
                            top += 1
                    parts[number, group + 1] = top
                limits[number] = size
                corners[number, 0], corners[number, 1] = from_s, to_s
                corners[number, 2], corners[number, 3] = from_t, to_t
                for k in range(width):
                    sums[number, k] = own[k] + grid[r, q, k]
                number += 1
    return best, at_first, at_second, False


class Bins:
    """The values of each column in bins, all but the last of which end at one of its ``edges``.

    ``number`` has the number of bins of each column, and ``of_row`` (columns, m) the bin of each
    row, or this number if no proposition is true.  ``fine`` (columns, bins) marks bins of several
    values.
    """

    def __init__(self, search: OrderedSearch, edges: list[NDArray[np.int32]]) -> None:
        self.codes, self.n_values, self.ordered = search.codes, search.n_values, search.ordered
        self.edges = edges
        self.number = np.array([len(own) + 1 for own in edges], dtype=np.int64)
        self.of_row = np.empty(self.codes.shape, dtype=np.int16)
        self.fine = np.zeros((len(edges), int(self.number.max(initial=1))), dtype=np.bool_)
        for j in range(len(edges)):
            self._set(j)

    def _set(self, j: int) -> None:
        own, n_values = self.edges[j], int(self.n_values[j])
        bin_of = np.searchsorted(own, np.arange(n_values + 1), side="left").astype(np.int16)
        bin_of[n_values] = len(own) + 1
        self.of_row[j] = bin_of[self.codes[j]]
        self.number[j] = len(own) + 1
        if self.fine.shape[1] < len(own) + 1:
            grown = np.zeros((len(self.fine), 2 * len(own) + 2), dtype=np.bool_)
            grown[:, : self.fine.shape[1]] = self.fine
            self.fine = grown
        self.fine[j] = False
        if self.ordered[j]:
            self.fine[j, : len(own) + 1] = np.diff(self.ends(j)) > 1

    def ends(self, j: int) -> NDArray[np.int64]:
        """Return −1 and the last value of each bin of a column."""
        return np.concatenate([[-1], self.edges[j], [self.n_values[j] - 1]])

    def divide(self, marked: NDArray[np.bool_]) -> bool:
        """Divide the marked bins in two; return True if any was divided."""
        changed = False
        for j in np.flatnonzero(marked.any(axis=1)).tolist():
            ends = self.ends(j)
            some = np.flatnonzero(marked[j, : len(ends) - 1] & self.fine[j, : len(ends) - 1])
            some = some[: max(0, MAX_BINS - len(ends))]
            if len(some):
                middle = (ends[some] + ends[some + 1]) // 2
                self.edges[j] = np.unique(np.concatenate([self.edges[j], middle])).astype(np.int32)
                self._set(j)
                changed = True
        return changed

    def divide_at(self, j: int, gaps: list[int]) -> None:
        """Add these gaps to the ends of the bins of a column."""
        ends = np.union1d(self.edges[j], np.array(gaps[:MIN_REDUCED_BINS], dtype=np.int32))
        if len(ends) + 1 != self.number[j]:
            self.edges[j] = ends
            self._set(j)


class _Scan(NamedTuple):
    """The results of the two-way tables of some bins for pairs of columns."""

    bins: Bins
    pairs: NDArray[np.int64]
    scores: FloatArray
    cells: NDArray[np.int64]
    bounds: FloatArray
    beyond: FloatArray
    open_ones: NDArray[np.bool_]

    @property
    def bound(self) -> float:
        """A bound on |S| of pairs."""
        return float(self.bounds.max(initial=0.0))

    @property
    def rest(self) -> float:
        """A bound on |S| of longer conjunctions."""
        return float(self.beyond.max(initial=0.0))


@dataclass(frozen=True, eq=False)
class _Prefix:
    """Propositions, each possibly a range of gaps, and the propositions that may be added.

    ``rows`` are those of the widest gaps; the narrowest gaps cover the first ``n_inner`` of them.
    ``sides`` are the signs of the sides of the columns that may be added, in ``pairs``.  If
    ``exact``, ``node`` has the propositions of the widest gaps.
    """

    node: Node
    rows: NDArray[np.intp]
    n_inner: int
    sides: NDArray[np.int64]
    pairs: NDArray[np.int64]
    exact: bool = True


@dataclass(eq=False)
class OrderedSearch:
    """The search over the conjunctions of a table; its bins become finer if a proof needs it.

    Parameters
    ----------
    table : OrderedTable
    divisors : float64 (L + 1,)
        d_l for lengths up to L; increasing.
    sides : int64 (columns, 2)
        The signs that propositions of each side of a column may have; nominal ones have one side.
    spread : bool
    max_work : float
        The limit of the work of all proofs, about their nanoseconds (see ``SCAN_WORK``).  After
        it, or when a proof would go far beyond it, proofs are about conjunctions of at most two
        propositions.

    Attributes
    ----------
    only_pairs : bool
        Whether the last proof was, as all proofs after it.
    work : float
        The work so far.
    """

    table: OrderedTable
    divisors: FloatArray
    sides: NDArray[np.int64]
    spread: bool = False
    max_work: float = math.inf
    only_pairs: bool = field(default=False, init=False)
    work: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        columns = self.table.columns
        self.codes = self.table.codes
        self.ordered = np.array([one.ordered for one in columns], dtype=np.bool_)
        self.n_values = np.array([one.n_values for one in columns], dtype=np.int64)
        self.sides = np.ascontiguousarray(self.sides, dtype=np.int64)
        self.sides[~self.ordered, 1] = 0
        # without missing entries, x >= t has the sum of x <= t with the opposite sign
        known = self.codes < self.n_values[:, None]
        self.complete = self.ordered & known.all(axis=1)
        many = min(MAX_FIRST_BINS, math.isqrt(self.codes.shape[1] // ROWS_PER_CELL))
        many = max(FIRST_BINS, many)
        self.reach = REACHED_BINS * self.codes.shape[1] // many
        edges = self._quantiles(many)
        some = [own if len(own) < COARSE_BINS else own[places_in(len(own))] for own in edges]
        coarse = [one if o else e for one, e, o in zip(some, edges, self.ordered, strict=True)]
        self._fine: dict[int, Bins] = {}
        self.coarse, self.first, self.bins = (Bins(self, e) for e in (coarse, [*edges], edges))
        usable = np.flatnonzero(self.sides.any(axis=1))
        first, second = np.triu_indices(len(usable))
        pairs = np.stack([usable[first], usable[second]], axis=1).astype(np.int64)
        self.pairs = pairs[(first < second) | self.sides[pairs[:, 0]].all(axis=1)]
        self.close = self.pairs[:0]
        #: The next search scans all pairs.
        self.thorough = False

    @cached_property
    def order(self) -> NDArray[np.int32]:
        """The rows in the order of each column."""
        return np.argsort(self.codes, axis=1, kind="stable").astype(np.int32)

    def fine(self, n_bins: int) -> Bins:
        """Return the bins of a proof for pairs that are in doubt."""
        if n_bins not in self._fine:
            self._fine[n_bins] = Bins(self, self._quantiles(n_bins))
        return self._fine[n_bins]

    def _quantiles(self, n_bins: int) -> list[NDArray[np.int32]]:
        """Return the gaps between bins of about equal row counts; all gaps of a nominal column."""
        found = []
        for codes, n_values, ordered in zip(self.codes, self.n_values, self.ordered, strict=True):
            gaps = np.arange(n_values - 1)
            if len(gaps) >= n_bins and ordered:
                below = np.cumsum(np.bincount(codes, minlength=n_values)[:n_values])
                goals = below[-1] * np.arange(1, n_bins) / n_bins
                gaps = np.unique(np.minimum(np.searchsorted(below, goals), len(gaps) - 1))
            found.append(gaps.astype(np.int32))
        return found

    def divide_at(self, nodes: Sequence[Node]) -> None:
        """Divide bins at these propositions; in crowded columns, remove their other ends first."""
        for j in np.flatnonzero(self.bins.number > MIN_REDUCED_BINS).tolist():
            self.bins.edges[j] = self.first.edges[j]
        places: dict[int, set[int]] = {}
        for j, number in (self.table.place(p) for node in nodes for p in node):
            if self.ordered[j]:
                places.setdefault(j, set()).add(number % (int(self.n_values[j]) - 1))
        for j, gaps in places.items():
            self.bins.divide_at(j, sorted(gaps))

    # -- search -------------------------------------------------------------------------------

    def singles(self, weights: FloatArray) -> list[Found]:
        """Return the best proposition of each column and side, exact at every gap."""
        scores = np.zeros((len(self.ordered), 2))
        places = np.zeros_like(scores, dtype=np.int64)
        sides = self.sides
        if np.abs(weights.sum(axis=0)).max() <= 1e-9 * np.abs(weights).sum():
            sides = np.where(self.complete[:, None] & (sides[:, :1] > 0), sides * [1, 0], sides)
        scan_columns(
            self.codes, self.n_values, self.ordered, np.ascontiguousarray(sides),
            np.ascontiguousarray(weights), self.spread, scores, places,
        )  # fmt: skip
        starts, divisor = self.table.starts, float(self.divisors[1])
        return [
            Found(float(scores[j, side]) / divisor, (int(starts[j] + places[j, side]),))
            for j, side in np.argwhere(scores > 0).tolist()
        ]

    def best(self, weights: FloatArray, least: float = 0.0, *, every: bool = True) -> list[Found]:
        """Return the best of each column, and of each pair of columns and sides at ends of bins.

        The best pairs then move to gaps that no single move improves.  The pairs that were close to
        ``least`` at the last scan are scanned first, and the others only if nothing scores more.
        Very many others wait for this at the first scan, too, and, unless ``every``, are scanned
        only once.  If the search is ``thorough``, all are scanned now.  Pairs that score far below
        ``least`` are left out.
        """
        found, prefix = sorted(self.singles(weights), key=rank), self.everything(len(weights))
        few = len(self.close) > 0 and not self.thorough
        tried = [self.close, self.pairs] if few else [self.pairs]
        many = len(self.pairs) > MAX_CLOSE_PAIRS
        share = 0.0 if many else CLOSE_SHARE
        for again, pairs in enumerate(tried if len(self.divisors) > 2 else ()):
            above = bool(found) and found[0].score > least
            enough = above or (again and not every) if many else above and again
            if pairs is self.pairs and enough and not self.thorough:
                break
            self.thorough = False
            scan = self.scan(prefix, weights, self.first, pairs)
            best = scan.scores.max(axis=1)
            order = np.argsort(-best, kind="stable")[:MAX_CLOSE_PAIRS]
            close = order[best[order] >= share * least * self.divisors[2]]
            self.close = pairs[np.sort(close)]
            near = sorted(self.listed((), scan, MIN_REFINED_SHARE * least), key=rank)
            found = sorted({*found, *near}, key=rank)
            first = min(FIRST_REFINED_PAIRS, 1 + FIRST_REFINED_ROWS // len(weights))
            last = min(REFINED_PAIRS, 1 + REFINED_ROWS // len(weights))
            for some in near[:first], near[first:last]:
                found = sorted({*found, *self.polished(some, weights)}, key=rank)
                if found and found[0].score > least:
                    break
        return found

    def polished(self, pairs: list[Found], weights: FloatArray) -> list[Found]:
        """Return pairs with each gap moved to its best place, given the other gap."""
        if not pairs:
            return []
        table, divisor = self.table, float(self.divisors[2])
        located = np.array([[table.place(p) for p in one.node] for one in pairs], dtype=np.int64)
        columns, numbers = np.ascontiguousarray(located[..., 0]), located[..., 1]
        n_gaps = self.n_values[columns] - 1
        sides = (self.ordered[columns] & (numbers >= n_gaps)).astype(np.int64)
        places = np.where(sides == 1, numbers - n_gaps + 1, numbers)
        scores = np.array([one.score * divisor for one in pairs])
        polish(
            self.codes, self.order, self.n_values, self.ordered, self.sides,
            np.ascontiguousarray(weights), self.spread, self.reach, columns, sides, places, scores,
        )  # fmt: skip
        numbers = table.starts[columns] + np.where(sides == 1, places + n_gaps - 1, places)
        nodes = [tuple(node) for node in np.sort(numbers, axis=1).tolist()]
        return [Found(score / divisor, v) for score, v in zip(scores.tolist(), nodes, strict=True)]

    def everything(self, m: int) -> _Prefix:
        """Return the prefix without propositions."""
        return _Prefix((), np.arange(m), m, self.sides, self.pairs)

    def scan(
        self,
        prefix: _Prefix,
        weights: FloatArray,
        bins: Bins,
        pairs: NDArray[np.int64],
        wanted: float | None = None,
        longer: float = math.inf,
        hasty: bool = False,
        places: NDArray[np.bool_] | None = None,
        given: FloatArray | None = None,
        deadline: Deadline = UNLIMITED,
    ) -> _Scan:
        """Scan pairs of columns; with ``wanted``, bound their sums too.

        ``weights`` has a line for each row of the prefix: (K,), or for bounds (2K,), the positive
        and the negative parts.  ``given`` are the sums of the pairs, if they are known.  ``places``
        of pairs, (number, 4), are by default :func:`places_of` the pairs.  Pairs that the deadline
        leaves out have infinite bounds.
        """
        n, open_ones = len(pairs), np.zeros((len(self.ordered), 2, bins.fine.shape[1]), np.bool_)
        of_row = bins.of_row
        if prefix.node:
            of_row = np.ascontiguousarray(of_row[:, prefix.rows])
        scan = _Scan(
            bins, pairs, np.zeros((n, 4)), np.zeros((n, 4, 2), dtype=np.int64), np.zeros((n, 4)),
            np.zeros(n), open_ones,
        )  # fmt: skip
        common = of_row, bins.number, self.ordered, bins.fine
        own = np.ascontiguousarray(weights)
        known = np.zeros((0, own.shape[1])) if given is None else given
        places = places_of(pairs) if places is None else places
        step = max(1, n) if given is not None else PAIRS_AT_ONCE
        for begin in range(0, n, step):
            some = slice(begin, begin + step)
            if begin and deadline.over():
                scan.bounds[begin:] = scan.beyond[begin:] = math.inf
                break
            best = scan.scores[some], scan.cells[some]
            if wanted is None:
                shared = *common[:3], prefix.sides, pairs[some], places[some], own
                scan_pairs(*shared, known, self.spread, *best)
            else:
                bound_pairs(
                    *common, prefix.sides, pairs[some], places[some], own, prefix.n_inner,
                    self.spread, wanted, longer, hasty, *best, scan.bounds[some],
                    scan.beyond[some], scan.open_ones,
                )  # fmt: skip
        return scan

    def proposition(self, bins: Bins, j: int, side: int, r: int) -> int:
        """Return the proposition of a column that is true in the bins up to r, or from r."""
        start = int(self.table.starts[j])
        if not self.ordered[j]:
            return start + r
        n_gaps, edges = int(self.n_values[j]) - 1, bins.edges[j]
        return start + (int(edges[r]) if side == 0 else n_gaps + int(edges[r - 1]))

    def at_gap(self, j: int, side: int, gap: int) -> int:
        """Return the proposition of a side that covers the rows up to a gap of this side."""
        number, n_gaps = int(self.table.starts[j]) + gap, int(self.n_values[j]) - 1
        return number if side == 0 else int(self.table.starts[j]) + 2 * n_gaps - 1 - gap

    def at_every_gap(
        self, prefix: _Prefix, weights: FloatArray, pair: Node, place: int, wanted: float
    ) -> tuple[float, tuple[int, int], bool]:
        """Find the best propositions of a pair of columns and of sides, by :func:`best_gaps`.

        ``weights`` has a line for each row of the prefix.  Returns |S| above ``wanted`` (or 0), the
        gaps or values, and True if rows that are not inner have a bound above ``wanted``.
        """
        (j, h), sides = pair, divmod(place, 2)
        signs = prefix.sides[j, sides[0]] & prefix.sides[h, sides[1]]
        n_gaps = [int(self.n_values[c]) - 1 if self.ordered[c] else 1 for c in pair]
        best, at = 0.0, (0, 0)
        ways = (self._first_gaps(c, d, prefix.rows) for c, d in zip(pair, sides, strict=True))
        for (v, first), (w, second) in product(*ways):
            rows = np.flatnonzero((first >= 0) & (second >= 0))
            n_inner = int(np.searchsorted(rows, prefix.n_inner))
            size, s, t, doubt = best_gaps(
                first[rows], second[rows], n_gaps[0], n_gaps[1], n_inner, weights[rows], signs,
                self.spread, max(wanted, best),
            )  # fmt: skip
            if doubt:
                return best, at, True
            if size > 0.0:
                best, at = size, (s if self.ordered[j] else v, t if self.ordered[h] else w)
        return best, at, False

    def _first_gaps(
        self, j: int, side: int, rows: NDArray[np.intp]
    ) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield a value and the first gap (0 is the narrowest) at which each row is covered, or −1.

        An ordered column has one item; a nominal column has an item for each value.
        """
        codes, n = self.codes[j, rows].astype(np.int64), int(self.n_values[j])
        if self.ordered[j]:
            gaps = codes if side == 0 else n - 1 - codes
            yield 0, np.where(gaps < n - 1, gaps, -1)
            return
        for v in range(n):
            yield v, np.where(codes == v, 0, -1)

    def listed(self, node: Node, scan: _Scan, least: float) -> list[Found]:
        """Return conjunctions of a node and scanned pairs that score more than ``least``.

        Of the pairs, at most REFINED_PAIRS.
        """
        divisor, found = float(self.divisors[len(node) + 2]), []
        best = np.argwhere(scan.scores > least * divisor)
        if len(best) > REFINED_PAIRS:
            scores = scan.scores[best[:, 0], best[:, 1]]
            best = best[np.sort(np.argsort(-scores, kind="stable")[:REFINED_PAIRS])]
        for c, place in best.tolist():
            places = *divmod(place, 2), *scan.cells[c, place].tolist()
            first, second = scan.pairs[c].tolist()
            new = [
                self.proposition(scan.bins, first, places[0], places[2]),
                self.proposition(scan.bins, second, places[1], places[3]),
            ]
            score = float(scan.scores[c, place]) / divisor
            found.append(Found(score, tuple(sorted((*node, *new)))))
        return found

    # -- proof --------------------------------------------------------------------------------

    def prove(
        self,
        weights: FloatArray,
        threshold: float,
        deadline: Deadline = UNLIMITED,
        enough: int = 1,
    ) -> Proof:
        """Bound the scores of all conjunctions at all gaps, and find some above the threshold.

        ``enough`` conjunctions end the search.  After the deadline the bound may be above the
        threshold although nothing was found.  After ``max_work`` the search is only for pairs.
        """
        singles = self.singles(weights)
        found = [one for one in singles if one.score > threshold]
        best = max([threshold, *(one.score for one in singles)])
        if len(self.divisors) < 3:
            return Proof(best, found)
        if len(found) >= enough:
            return Proof(math.inf, found)
        proof = _Proof(self, weights, threshold, deadline, enough, found)
        bound, rest = proof.run()
        if rest > threshold and proof.hopeless:
            self.only_pairs, self.divisors, rest = True, self.divisors[:3], 0.0
        bound = max(best, bound, rest)
        pairs = [one for one in proof.found if len(one.node) == 2]
        every = sorted({*proof.found, *self.polished(pairs, weights)}, key=rank)
        return Proof(max([bound, *(one.score for one in every[:1])]), every)


def sides_of(table: OrderedTable, asked: IntArray | None) -> NDArray[np.int64]:
    """Return the signs that each side of the columns may have, for :class:`OrderedSearch`.

    ``asked`` has 1, −1, 0 (either) or ``NEVER`` for each proposition.
    """
    listed = [one.sides for one in table.columns]
    sides = np.array(listed, dtype=np.int64).reshape(-1, 2) * BOTH
    if asked is not None:
        allowed = {1: UP, -1: DOWN, 0: BOTH, NEVER: 0}
        for j, (first, end) in enumerate(pairwise(table.starts.tolist())):
            for side, place in enumerate((first, end - 1)):
                sides[j, side] &= allowed[int(asked[place])]
    return sides


def rank(one: Found) -> tuple[float, Node]:
    """Return the key that sorts the largest score first."""
    return -one.score, one.node


def places_of(pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return the pairs of sides to examine: all, or of a column with itself the interval."""
    return np.asarray((pairs[:, :1] != pairs[:, 1:]) | INTERVAL)


def places_in(n: int) -> NDArray[np.intp]:
    """Return COARSE_BINS − 1 evenly spread places of n."""
    return np.arange(1, COARSE_BINS) * n // COARSE_BINS


@dataclass(eq=False)
class _Proof:
    """A proof in progress, and the conjunctions found above the threshold."""

    search: OrderedSearch
    weights: FloatArray
    threshold: float
    deadline: Deadline
    enough: int
    found: list[Found]
    #: The work before the current round, and the share of its prefixes that have been begun.
    begun: float = 0.0
    share: float = 0.0
    #: Whether the work for longer conjunctions is, or will be, too much.
    hopeless: bool = False

    def over(self) -> bool:
        """Return True if no time or no work is left for longer conjunctions."""
        work, most = self.search.work, self.search.max_work
        pace = max(MIN_JUDGED_WORK, MAX_PACE * most * self.share)
        self.hopeless = self.hopeless or work > most or work - self.begun > pace
        return self.hopeless or self.deadline.over()

    def run(self) -> tuple[float, float]:
        """Bound all conjunctions of two propositions, and all of more."""
        search = self.search
        prefix = search.everything(len(self.weights))
        scan, bound = self._pairs(prefix)
        rest = self._rest(prefix, scan)
        if bound > self.threshold or self.found:
            return bound, rest
        while rest > self.threshold:
            self.marks = np.zeros_like(search.bins.fine)
            self.begun, self.share = search.work, 0.0
            rest = self._further(prefix, scan)
            if self.found or self.over() or not search.bins.divide(self.marks):
                break
        return bound, rest

    def _wanted(self, prefix: _Prefix, more: int = 2) -> float:
        """Return the smallest |S| of interest with ``more`` propositions, inf if too long."""
        length = len(prefix.node) + more
        divisors = self.search.divisors
        return self.threshold * float(divisors[length]) if length < len(divisors) else math.inf

    def _rest(self, prefix: _Prefix, scan: _Scan) -> float:
        """Bound the scores of conjunctions that add three propositions or more."""
        length, divisors = len(prefix.node) + 3, self.search.divisors
        return scan.rest / float(divisors[length]) if length < len(divisors) else 0.0

    def _scan(
        self,
        prefix: _Prefix,
        bins: Bins,
        pairs: NDArray[np.int64],
        places: NDArray[np.bool_] | None = None,
        hasty: bool = False,
    ) -> _Scan:
        """Scan pairs with a prefix; only coarse bins bound longer conjunctions."""
        own = self.weights[prefix.rows] if prefix.node else self.weights
        per_pair = len(own) * (own.shape[1] + PAIR_WORK)
        self.search.work += float(per_pair) * len(pairs) + SCAN_WORK
        longer = self._wanted(prefix, 3) if bins is self.search.coarse else math.inf
        scan = self.search.scan(
            prefix,
            np.concatenate([np.maximum(own, 0.0), np.maximum(-own, 0.0)], axis=1),
            bins,
            pairs,
            self._wanted(prefix),
            longer,
            hasty,
            places,
            deadline=self.deadline,
        )
        if prefix.exact:
            self.found += self.search.listed(prefix.node, scan, self.threshold)
        return scan

    def _bound(self, prefix: _Prefix) -> float:
        """Bound the scores of conjunctions that add two propositions or more to a prefix."""
        scan, bound = self._pairs(prefix)
        if bound <= self.threshold and not self.found:
            return max(bound, self._further(prefix, scan))
        return max(bound, self._rest(prefix, scan))

    def _pairs(self, prefix: _Prefix) -> tuple[_Scan, float]:
        """Scan pairs; return the scan, and a bound on their scores at all gaps.

        The first bins are coarse if they bound longer conjunctions too.  Pairs in doubt are scanned
        in finer bins, and at last at every gap.
        """
        search, wanted = self.search, self._wanted(prefix)
        divisor = float(search.divisors[len(prefix.node) + 2])
        longer = len(prefix.node) + 3 < len(search.divisors)
        unsure = (len(prefix.rows) - prefix.n_inner) * COARSE_BINS > len(self.weights)
        bins = search.coarse if longer else search.first
        hasty = not longer and not unsure
        scan = closer = self._scan(prefix, bins, prefix.pairs, hasty=hasty)
        first, most = not longer, MAX_CELLS_PER_ROW * len(prefix.rows)
        finer = (n for n in FINE_BINS if n == FINE_BINS[0] or n * n <= most)
        limit = closer.bound
        while limit > wanted and len(self.found) < self.enough and not unsure:
            places = closer.bounds > wanted
            some = places.any(axis=1)
            doubtful = closer.pairs[some], places[some]
            if not first:
                closer = self._scan(prefix, search.first, *doubtful, hasty=True)
                first = True
            elif n_bins := next(finer, None):
                closer = self._scan(prefix, search.fine(n_bins), *doubtful)
            else:
                limit = self._refined(prefix, closer)
                break
            limit = closer.bound
        # The quotient of a small bound may be rounded up beyond the threshold.
        bound = limit / divisor
        return scan, bound if limit > wanted else min(bound, self.threshold)

    def _refined(self, prefix: _Prefix, scan: _Scan) -> float:
        """Examine doubtful pairs at every gap, the largest bounds first; return a bound on |S|."""
        search, wanted = self.search, self._wanted(prefix)
        weights = np.ascontiguousarray(self.weights[prefix.rows])
        divisor = float(search.divisors[len(prefix.node) + 2])
        doubtful = (scan.bounds > wanted).any(axis=1)
        pairs, bounds = scan.pairs[doubtful], scan.bounds[doubtful]
        best = wanted
        for c in np.argsort(-bounds.max(axis=1), kind="stable").tolist():
            (j, h), limit = pairs[c].tolist(), max(best, float(bounds[c].max()))
            if len(self.found) >= self.enough or self.deadline.over():
                return limit
            if not (search.ordered[j] or search.ordered[h]):  # no gaps
                if prefix.n_inner == len(prefix.rows):
                    continue
                return limit
            refined = []
            for place in np.flatnonzero(bounds[c] > wanted).tolist():
                size, gaps, doubt = search.at_every_gap(prefix, weights, (j, h), place, wanted)
                if doubt:
                    return limit
                if size > 0.0:
                    best = max(best, size)
                    sides = zip((j, h), divmod(place, 2), gaps, strict=True)
                    node = (*prefix.node, *(search.at_gap(*one) for one in sides))
                    refined.append(Found(size / divisor, tuple(sorted(node))))
            self.found += refined if prefix.exact else ()
        return best

    def _further(self, prefix: _Prefix, scan: _Scan) -> float:
        """Bound the scores of conjunctions that add three propositions or more to a prefix."""
        if math.isinf(scan.rest):  # the deadline left out pairs
            return math.inf
        bound = 0.0
        opened = scan.pairs[scan.beyond > self._wanted(prefix, 3)]
        columns = np.flatnonzero(scan.open_ones.any(axis=(1, 2))).tolist()
        tasks = [
            (len(columns) - k, j, side, ends)  # conjunctions of j and earlier columns are known
            for k, j in enumerate(columns)
            for side in range(2)
            for ends in self._ranges(j, np.flatnonzero(scan.open_ones[j, side]))
        ]
        whole = sum(size for size, *_ in tasks)
        for size, j, side, ends in tasks:
            self.share += 0.0 if prefix.node else size / whole
            bound = max(bound, self._longer(prefix, j, side, ends, scan, opened))
            if self.found:
                return bound
        return bound

    def _ranges(self, j: int, places: NDArray[np.intp]) -> list[tuple[int, int]]:
        """Return ranges of the finer bins that hold these coarse ones."""
        if not len(places):
            return []
        if not self.search.ordered[j]:
            return [(r, r) for r in places.tolist()]
        ends, finer = self.search.coarse.ends(j), self.search.bins.ends(j)
        first = int(np.searchsorted(finer, ends[places[0]]))
        last = int(np.searchsorted(finer, ends[places[-1] + 1]))
        parts = np.array_split(np.arange(first, last), min(FIRST_PARTS, last - first))
        return [(int(part[0]), int(part[-1])) for part in parts]

    def _longer(
        self,
        prefix: _Prefix,
        j: int,
        side: int,
        ends: tuple[int, int],
        scan: _Scan,
        pairs: NDArray[np.int64],
    ) -> float:
        """Bound conjunctions that add a proposition in a range of bins, and two or more others."""
        if self.over():
            return self._rest(prefix, scan)
        search, bins, (first, last) = self.search, self.search.bins, ends
        own, n_bins = bins.of_row[j, prefix.rows], int(bins.number[j])
        single = first == last and not bins.fine[j, first]
        if not search.ordered[j]:
            outer, inner, exact = own == first, own == first, True
        elif side == 0:
            outer, inner = own <= last, own <= (last if single else first - 1)
            exact = last < n_bins - 1
        else:
            outer, inner = own >= first, own >= (first if single else last + 1)
            exact = first > 0
        if single and not exact:  # beyond the last gap
            return 0.0
        outer &= own < n_bins
        inner &= outer & (np.arange(len(own)) < prefix.n_inner)
        rows = np.concatenate([np.flatnonzero(inner), np.flatnonzero(outer & ~inner)])
        opened = scan.open_ones.any(axis=2)
        sides = np.where(opened, prefix.sides & prefix.sides[j, side], 0)
        sides[:j] = 0
        sides[j] = [0, sides[j, 1] if side == 0 and search.ordered[j] else 0]
        exact = exact and prefix.exact
        place = last if side == 0 or not search.ordered[j] else first
        name = search.proposition(bins, j, side, place) if exact else -1
        usable: NDArray[np.bool_] = np.asarray(sides.any(axis=1))
        child = _Prefix(
            (*prefix.node, name),
            prefix.rows[rows],
            int(np.count_nonzero(inner)),
            sides,
            pairs[usable[pairs].all(axis=1)],
            exact,
        )
        bound = self._bound(child)
        if bound <= self.threshold or self.found:
            return bound
        if first < last:
            middle = (first + last) // 2
            return max(
                self._longer(prefix, j, side, (first, middle), scan, pairs),
                self._longer(prefix, j, side, (middle + 1, last), scan, pairs),
            )
        self.marks[j, first] |= bins.fine[j, first]
        return bound
