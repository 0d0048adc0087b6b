"""Compiled: the branch and bound over conjunctions, depth first; see :mod:`.conjunctions`.

State is in arrays, so that the search can stop after a slice of work and go on in the next call.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from formulakern.compilation import compiled
from formulakern.mining.sums import bit, column_sums, divided, offer, sort_descending
from formulakern.slices import DONE, FULL, SLICE

__all__ = ["ConjunctionState", "search_conjunctions"]


@compiled()
def _bound(
    total: Any, size: Any, everywhere: Any, complement: Any, upwards: Any, downwards: Any
) -> Any:
    """The best value of a column over all subsets of a cover with sum ``total``.

    ``size`` is the sum of absolute weights over the cover, ``everywhere`` the sum of weights over
    all examples.
    """
    above, below = (size + total) / 2, (total - size) / 2
    if complement:
        above, below = everywhere - below, everywhere - above
    if upwards and downwards:
        return max(above, -below)
    return above if upwards else -below


class ConjunctionState(NamedTuple):
    """The arrays of a search for p propositions, W words of examples, K columns of weights.

    ``columns`` are in units, 0 behind the last example, with sums ``totals``; ``flags`` are
    complement, upwards, downwards; ``lengths`` the least and greatest length and the largest number
    of results.  Row 0 of ``factors`` divides the scores of each length; rows 1 and 2 are the
    smallest and largest of these among the lengths from here on that are reported (1 and 1 where
    there is none).  ``counters`` are open levels, results, conjunctions evaluated, and whether the
    root is open.  A row of ``levels`` says where the children of a level start in ``items`` and
    ``bounds`` (best bound first), how many there are, the next, and the one open; ``covers`` has
    the cover of the conjunction whose children a level holds.  Only scores above ``threshold`` are
    results: ``scores``, with a heap of the rows, and what was ``found``.
    """

    words: Annotated[Any, "uint64[:, ::1]"]  # (p, W)
    groups: Annotated[Any, "int64[::1]"]  # (p,), −1 for no group
    columns: Annotated[Any, "float64[:, ::1]"]  # (K, 64 W)
    totals: Annotated[Any, "float64[::1]"]  # (K,)
    flags: Annotated[Any, "boolean[::1]"]  # (3,)
    lengths: Annotated[Any, "int64[::1]"]  # (3,)
    factors: Annotated[Any, "float64[:, ::1]"]  # (3, greatest length + 1)
    threshold: Annotated[Any, "float64"]
    counters: Annotated[Any, "int64[::1]"]  # (4,)
    levels: Annotated[Any, "int64[:, ::1]"]  # (D, 4)
    items: Annotated[Any, "int64[::1]"]  # (C,)
    bounds: Annotated[Any, "float64[::1]"]  # (C,)
    covers: Annotated[Any, "uint64[:, ::1]"]  # (D, W)
    scores: Annotated[Any, "float64[::1]"]  # (R,)
    heap: Annotated[Any, "int64[::1]"]  # (R,)
    found: Annotated[Any, "int32[:, ::1]"]  # (R, D)
    found_lengths: Annotated[Any, "int64[::1]"]  # (R,)


@compiled("int64(state, int64)", state=ConjunctionState)
def search_conjunctions(state: Any, work: Any) -> Any:
    """Go on with a depth-first branch and bound over conjunctions; see :mod:`.search`.

    Parameters
    ----------
    state : ConjunctionState
    work : int
        Words of 64 examples to look at, about.

    Returns
    -------
    int
        DONE, SLICE, or FULL: D, C or R must grow, then go on.
    """
    words, groups, columns, totals = state.words, state.groups, state.columns, state.totals
    flags, lengths, factors, threshold = state.flags, state.lengths, state.factors, state.threshold
    counters, levels, covers = state.counters, state.levels, state.covers
    items, bounds, scores, heap = state.items, state.bounds, state.scores, state.heap
    found, found_lengths = state.found, state.found_lengths
    n_words = words.shape[1]
    n_columns = columns.shape[0]
    complement, upwards, downwards = flags[0], flags[1], flags[2]
    least, greatest, limit = lengths[0], lengths[1], lengths[2]
    index = np.empty(n_words, np.int64)
    signed = np.empty((n_columns, 64 * n_words))
    absolute = np.empty((n_columns, 64 * n_words))
    active = np.empty(n_columns, np.int64)
    eight, sums = np.empty(8), np.empty((words.shape[0], 2))
    best, bound_of = np.empty(words.shape[0]), np.empty(words.shape[0])
    spare_items, spare_bounds = np.empty(words.shape[0], np.int64), np.empty(words.shape[0])
    done = 0
    while True:
        n_found = counters[1]
        lowest = threshold if n_found < limit else max(threshold, scores[heap[0]])
        if counters[3] == 0:  # the root, whose candidates and cover are there already
            level, fresh, n_candidates = -1, 0, levels[0, 1]
            counters[3] = 1
        elif counters[0] == 0:
            return DONE
        elif done >= work:
            return SLICE
        else:
            level = counters[0] - 1
            start, count, following = levels[level, 0], levels[level, 1], levels[level, 2]
            if following >= count or bounds[start + following] <= lowest:
                counters[0] -= 1
                continue
            # a child is extended by the children with better bounds than its own, so that the
            # best one, which is opened first, has the fewest candidates
            item, group = items[start + following], groups[items[start + following]]
            fresh = start + count
            if level + 1 >= levels.shape[0] or fresh + following > items.shape[0]:
                return FULL
            if min(limit, n_found + following) > scores.shape[0]:
                return FULL
            n_candidates = 0
            for i in range(start, start + following):
                if group < 0 or groups[items[i]] != group:
                    items[fresh + n_candidates] = items[i]
                    n_candidates += 1
            levels[level, 2] += 1
            levels[level, 3] = item
            if n_candidates == 0:
                continue
            for w in range(n_words):
                covers[level + 1, w] = covers[level, w] & words[item, w]
        length = level + 2  # of the conjunctions evaluated now
        n_index = 0
        for w in range(n_words):
            if covers[level + 1, w] != 0:
                index[n_index] = w
                n_index += 1
        n_active = 0
        for k in range(n_columns):
            row, total, size = n_active, 0.0, 0.0
            for i in range(n_index):
                w = index[i]
                together = covers[level + 1, w]
                for t in range(64):
                    weight = columns[k, 64 * w + t] * bit(together, t)
                    signed[row, 64 * i + t] = weight
                    absolute[row, 64 * i + t] = abs(weight)
                    total += weight
                    size += abs(weight)
            bound = _bound(total, size, totals[k], complement, upwards, downwards)
            if divided(bound, factors[1, length], factors[2, length]) > lowest:
                active[row] = k  # any other column scores no result below here
                n_active += 1
        done += n_candidates * (n_active * n_index + 4) + n_words
        counters[2] += n_candidates
        if n_active == 0:
            continue
        for j in range(n_candidates):
            best[j] = bound_of[j] = -np.inf
        for row in range(n_active):
            total = totals[active[row]]
            column_sums(
                words, items[fresh:], n_candidates, index, n_index,
                signed[row], absolute[row], eight, sums,
            )  # fmt: skip
            for j in range(n_candidates):
                value = total - sums[j, 0] if complement else sums[j, 0]
                if upwards:
                    best[j] = max(best[j], value)
                if downwards:
                    best[j] = max(best[j], -value)
                bound = _bound(sums[j, 0], sums[j, 1], total, complement, upwards, downwards)
                bound_of[j] = max(bound_of[j], bound)
        for j in range(n_candidates):
            score = best[j] / factors[0, length]
            if length >= least and score > threshold:
                place = offer(scores, heap, counters, limit, score)
                if place >= 0:
                    found_lengths[place] = length
                    for i in range(level + 1):
                        found[place, i] = levels[i, 3]
                    found[place, level + 1] = items[fresh + j]
        if length >= greatest:
            continue
        lowest = threshold if counters[1] < limit else max(threshold, scores[heap[0]])
        kept = 0
        for j in range(n_candidates):
            bound = divided(bound_of[j], factors[1, length + 1], factors[2, length + 1])
            if bound > lowest:
                items[fresh + kept] = items[fresh + j]
                bound_of[kept] = bound
                kept += 1
        if kept > 1:
            sort_descending(bound_of, items[fresh:], kept, spare_bounds, spare_items)
            for j in range(kept):
                bounds[fresh + j] = bound_of[j]
            levels[level + 1, 0], levels[level + 1, 1], levels[level + 1, 2] = fresh, kept, 1
            counters[0] += 1
    return DONE
