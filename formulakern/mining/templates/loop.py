"""Compiled: the depth-first branch and bound over instances of a template, resumable.

Slots are filled in order.  With the slots before d filled and those behind unknown, the template
is evaluated twice, three-valued (surely true, surely false, unknown), with slot d true everywhere
and with slot d false everywhere.  Whatever proposition fills slot d, each example is in one of the
two cases, so the bounds for *all* propositions are sums of two modified weights over their bits.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from formulakern.compilation import compiled
from formulakern.mining.sums import bit, column_sums, offer, sort_descending
from formulakern.slices import DONE, FULL, SLICE

__all__ = ["InstanceState", "search_instances"]


@compiled()
def _run(steps: Any, first: Any, planes: Any) -> None:
    """Evaluate the program: plane r of a reference r holds where it is surely true."""
    for i in range(len(steps)):
        a, b, to = steps[i, 1], steps[i, 2], 2 * (first + i)
        if steps[i, 0] == 0:
            for w in range(planes.shape[1]):
                planes[to, w] = planes[a, w] & planes[b, w]
                planes[to + 1, w] = planes[a ^ 1, w] | planes[b ^ 1, w]
        else:
            for w in range(planes.shape[1]):
                a1, a0, b1, b0 = planes[a, w], planes[a ^ 1, w], planes[b, w], planes[b ^ 1, w]
                planes[to, w] = (a1 & b0) | (a0 & b1)
                planes[to + 1, w] = (a1 & b1) | (a0 & b0)


@compiled()
def _fill(planes: Any, reference: Any, true: Any, false: Any) -> None:
    """Say where a reference is surely true and surely false.

    (A loop: numba takes seconds to compile an assignment from one slice to another.)
    """
    for w in range(planes.shape[1]):
        planes[2 * reference, w] = true[w]
        planes[2 * reference + 1, w] = false[w]


@compiled()
def _ordered(assigned: Any, slot: Any, orders: Any, strict: Any) -> Any:
    """Whether the slots up to ``slot`` respect every lexicographic order so far."""
    for i in range(orders.shape[0]):
        equal = True
        for t in range(orders.shape[1]):
            left, right = orders[i, t, 0], orders[i, t, 1]
            if left < 0:
                break
            if left > slot or right > slot or assigned[left] < assigned[right]:
                equal = False
                break
            if assigned[left] > assigned[right]:
                return False
        if equal and strict[i]:
            return False
    return True


class InstanceState(NamedTuple):
    """The arrays of a search over S slots, p propositions, W words of examples, K columns.

    ``columns`` are in units, 0 behind the last example; ``flags`` are upwards, downwards; ``steps``
    and ``output`` the program (:class:`formulakern.mining.templates.expansion.BitProgram`).
    ``planes`` say where each reference is surely true, filled for slots and for the constant;
    ``unknown`` are those of slots that are not filled.  ``different`` marks slots that hold
    different propositions; ``orders`` are pairs of slots to be compared one after the other, then
    −1, strictly or not.  ``counters`` are open levels, results, instances and parts evaluated, and
    whether it has begun; a row of ``levels`` has the number of children and the next, which
    ``items`` and ``bounds`` list, best bound first.  At most ``limit`` results score above
    ``threshold``: ``scores``, with a heap of the rows, and what was ``found``.
    """

    words: Annotated[Any, "uint64[:, ::1]"]  # (p, W)
    columns: Annotated[Any, "float64[:, ::1]"]  # (K, 64 W)
    flags: Annotated[Any, "boolean[::1]"]  # (2,)
    steps: Annotated[Any, "int64[:, ::1]"]  # (n, 3)
    output: Annotated[Any, "int64"]
    planes: Annotated[Any, "uint64[:, ::1]"]  # (2 (S + 1 + n), W)
    unknown: Annotated[Any, "uint64[:, ::1]"]  # (2 S, W)
    allowed: Annotated[Any, "boolean[:, ::1]"]  # (S, p)
    different: Annotated[Any, "boolean[:, ::1]"]  # (S, S)
    orders: Annotated[Any, "int64[:, :, ::1]"]  # (L, T, 2)
    strict: Annotated[Any, "boolean[::1]"]  # (L,)
    limit: Annotated[Any, "int64"]
    threshold: Annotated[Any, "float64"]
    assigned: Annotated[Any, "int64[::1]"]  # (S,)
    counters: Annotated[Any, "int64[::1]"]  # (4,)
    levels: Annotated[Any, "int64[:, ::1]"]  # (S, 2)
    items: Annotated[Any, "int64[:, ::1]"]  # (S, p)
    bounds: Annotated[Any, "float64[:, ::1]"]  # (S, p)
    scores: Annotated[Any, "float64[::1]"]  # (R,)
    heap: Annotated[Any, "int64[::1]"]  # (R,)
    found: Annotated[Any, "int32[:, ::1]"]  # (R, S)


@compiled("int64(state, int64)", state=InstanceState)
def search_instances(state: Any, work: Any) -> Any:
    """Go on with the search; see :mod:`.search`.

    Parameters
    ----------
    state : InstanceState
    work : int
        Words of 64 examples to look at, about.

    Returns
    -------
    int
        DONE, SLICE, or FULL: R must grow, then go on.
    """
    words, columns, flags, steps = state.words, state.columns, state.flags, state.steps
    planes, unknown, output, allowed = state.planes, state.unknown, state.output, state.allowed
    different, orders, strict = state.different, state.orders, state.strict
    assigned, limit, threshold = state.assigned, state.limit, state.threshold
    counters, levels, items, bounds = state.counters, state.levels, state.items, state.bounds
    scores, heap, found = state.scores, state.heap, state.found
    n_slots, p = allowed.shape
    n_words, n_columns = words.shape[1], columns.shape[0]
    upwards, downwards = flags[0], flags[1]
    first = n_slots + 1
    index = np.empty(n_words, np.int64)
    high, low = np.empty(64 * n_words), np.empty(64 * n_words)
    cases = np.empty((4, n_words), np.uint64)  # true if 1, not false if 1, and the same if 0
    eight, sums = np.empty(8), np.empty((p, 2))
    best, candidates = np.empty(p), np.empty(p, np.int64)
    done = 0
    while True:
        n_found = counters[1]
        lowest = threshold if n_found < limit else max(threshold, scores[heap[0]])
        if min(limit, n_found + p) > scores.shape[0]:
            return FULL
        if counters[3] == 0:
            counters[3] = 1
            slot = 0
        elif counters[0] == 0:
            return DONE
        elif done >= work:
            return SLICE
        else:
            slot = counters[0] - 1
            following = levels[slot, 1]
            if following >= levels[slot, 0] or bounds[slot, following] <= lowest:
                _fill(planes, slot, unknown[2 * slot], unknown[2 * slot + 1])
                counters[0] -= 1
                continue
            levels[slot, 1] += 1
            item = items[slot, following]
            assigned[slot] = item
            for w in range(n_words):
                planes[2 * slot, w] = words[item, w]
                planes[2 * slot + 1, w] = ~words[item, w]
            slot += 1
        n_candidates = 0
        for j in range(p):
            if allowed[slot, j]:
                fits = True
                for other in range(slot):
                    if different[slot, other] and assigned[other] == j:
                        fits = False
                assigned[slot] = j
                if fits and _ordered(assigned, slot, orders, strict):
                    candidates[n_candidates] = j
                    n_candidates += 1
        if n_candidates == 0:
            continue
        for case in range(2):
            for w in range(n_words):
                planes[2 * slot + case, w] = ~np.uint64(0)
                planes[2 * slot + 1 - case, w] = np.uint64(0)
            _run(steps, first, planes)
            for w in range(n_words):
                cases[2 * case, w] = planes[output, w]
                cases[2 * case + 1, w] = ~planes[output ^ 1, w]
        _fill(planes, slot, unknown[2 * slot], unknown[2 * slot + 1])
        n_index = 0
        for w in range(n_words):
            if cases[0, w] != cases[2, w] or cases[1, w] != cases[3, w]:
                index[n_index] = w
                n_index += 1
        best[:n_candidates] = -np.inf
        for k in range(n_columns):
            least, most = 0.0, 0.0
            for w in range(n_words):
                true, possible = cases[2, w], cases[3, w]
                for t in range(64):
                    weight, surely, perhaps = columns[k, 64 * w + t], bit(true, t), bit(possible, t)
                    most += max(weight, 0.0) * perhaps + min(weight, 0.0) * surely
                    least += max(weight, 0.0) * surely + min(weight, 0.0) * perhaps
            for i in range(n_index):
                w = index[i]
                for t in range(64):
                    weight = columns[k, 64 * w + t]
                    surely = bit(cases[0, w], t) - bit(cases[2, w], t)
                    perhaps = bit(cases[1, w], t) - bit(cases[3, w], t)
                    high[64 * i + t] = max(weight, 0.0) * perhaps + min(weight, 0.0) * surely
                    low[64 * i + t] = max(weight, 0.0) * surely + min(weight, 0.0) * perhaps
            column_sums(words, candidates, n_candidates, index, n_index, high, low, eight, sums)
            for j in range(n_candidates):
                if upwards:
                    best[j] = max(best[j], most + sums[j, 0])
                if downwards:
                    best[j] = max(best[j], -(least + sums[j, 1]))
        done += n_candidates * n_columns * n_index + n_words * (2 * len(steps) + 8)
        counters[2] += n_candidates
        if slot == n_slots - 1:  # nothing is unknown: what was bounded is the score
            for j in range(n_candidates):
                if best[j] > threshold:
                    place = offer(scores, heap, counters, limit, best[j])
                    if place >= 0:
                        assigned[slot] = candidates[j]
                        for i in range(n_slots):
                            found[place, i] = assigned[i]
            continue
        kept = 0
        for i in range(n_candidates):
            if best[i] > lowest:
                items[slot, kept] = candidates[i]
                bounds[slot, kept] = best[i]
                kept += 1
        sort_descending(bounds[slot], items[slot], kept, best, candidates)
        levels[slot, 0], levels[slot, 1] = kept, 0
        counters[0] = slot + 1
    return DONE
