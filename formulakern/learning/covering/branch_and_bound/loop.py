"""Compiled: branch and bound over rule lists, depth first.

:mod:`formulakern.learning.covering.optimal` explains it.  State is in arrays, so that the search
can stop after a slice of work and go on in the next call.
"""

# ruff: noqa: ARG001

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from formulakern.compilation import compiled, intrinsic
from formulakern.learning.covering.branch_and_bound.bounds import BUCKETS, bound_children
from formulakern.mining.sums import sort_descending
from formulakern.slices import DONE, SLICE

__all__ = ["ListState", "class_sums", "search_lists"]

#: Words that are counted together.
LANES = 8
#: Places of the table of states that are looked at for one state.
PROBES = 4


@intrinsic
def _weight(
    typing_context: Any, covers: Any, a: Any, left: Any, units: Any, start: Any, stop: Any
) -> Any:
    """``Σ units[w] · popcount(covers[a, w] & left[w])`` over words w from start to stop."""
    from numba import types

    def code(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        from llvmlite import ir
        from numba.core import cgutils
        from numba.np.arrayobj import make_array

        word, start, stop = ir.IntType(64), arguments[4], arguments[5]
        vector = ir.VectorType(word, LANES)
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        covers, *arrays = (
            make_array(sig.args[i])(context, builder, arguments[i]) for i in (0, 2, 3)
        )
        first = builder.mul(arguments[1], builder.extract_value(covers.shape, 1))
        data = [builder.gep(covers.data, [first]), *(array.data for array in arrays)]

        def product(place: Any, kind: Any) -> Any:
            count = cgutils.get_or_insert_function(
                builder.module,
                ir.FunctionType(kind, [kind]),
                f"llvm.ctpop.{'i64' if kind is word else f'v{LANES}i64'}",
            )
            cover, left, units = (
                builder.load(
                    builder.bitcast(builder.gep(pointer, [place]), kind.as_pointer()),
                    align=8,
                    typ=kind,
                )
                for pointer in data
            )
            return builder.mul(builder.call(count, [builder.and_(cover, left)]), units)

        whole = builder.and_(builder.sub(stop, start), word(-LANES))
        middle = builder.add(start, whole)
        sums = cgutils.alloca_once_value(builder, ir.Constant(vector, [word(0)] * LANES))
        with cgutils.for_range_slice(builder, start, middle, word(LANES)) as (place, _):
            builder.store(builder.add(builder.load(sums), product(place, vector)), sums)
        add = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(word, [vector]),
            f"llvm.vector.reduce.add.v{LANES}i64",
        )
        total = cgutils.alloca_once_value(builder, builder.call(add, [builder.load(sums)]))
        with cgutils.for_range_slice(builder, middle, stop, word(1)) as (place, _):
            builder.store(builder.add(builder.load(total), product(place, word)), total)
        return builder.load(total)

    return types.int64(covers, types.intp, left, units, types.intp, types.intp), code


class ListState(NamedTuple):
    """The arrays of a search over A antecedents, W words of atoms, K classes, lists of R rules.

    ``covers`` and ``units`` are as in :class:`.antecedents.Layout`, ``starts`` says where the words
    of each kind begin.  ``limits`` are K, R, the penalty, and the
    least improvement that counts.  ``counters`` are the level (−1 when done), whether it is to be
    evaluated, prefixes evaluated, the length of the best list; ``values`` the threshold (only lists
    below it are looked for) and the objective of the best list.

    Level L is a prefix of L rules: ``left`` the atoms that it leaves, with weights ``totals``;
    ``costs`` its errors and penalties; ``active`` the antecedents that may follow it, with weights
    ``sums`` within what is left, K classes and the sure errors, and in their order ``gains`` and
    ``losses``, which are P and N of :mod:`.bounds`, ``ranked`` by P and by P − N;
    ``children`` those of them that may follow directly, best of the ``bounds`` first; ``ranges``
    how many are active, how many children there are, which is next, and whether they are ranked;
    ``path`` the antecedent of the child that is open.

    The table of states, by a hash of what is left: ``keys`` two words each, ``proven`` a lower
    bound on what the rest of a list of at most ``rules`` further rules costs.
    """

    covers: Annotated[Any, "uint64[:, ::1]"]  # (A, W)
    units: Annotated[Any, "int64[::1]"]  # (W,)
    starts: Annotated[Any, "int64[::1]"]  # (K + 2,)
    limits: Annotated[Any, "int64[::1]"]  # (4,)
    counters: Annotated[Any, "int64[::1]"]  # (4,)
    values: Annotated[Any, "int64[::1]"]  # (2,)
    left: Annotated[Any, "uint64[:, ::1]"]  # (D, W)
    totals: Annotated[Any, "int64[:, ::1]"]  # (D, K + 1)
    costs: Annotated[Any, "int64[::1]"]  # (D,)
    active: Annotated[Any, "int64[:, ::1]"]  # (D, A)
    sums: Annotated[Any, "int64[:, :, ::1]"]  # (D, A, K + 1)
    children: Annotated[Any, "int64[:, ::1]"]  # (D, A)
    bounds: Annotated[Any, "int64[:, ::1]"]  # (D, A)
    ranges: Annotated[Any, "int64[:, ::1]"]  # (D, 4)
    path: Annotated[Any, "int64[::1]"]  # (R,)
    best: Annotated[Any, "int64[::1]"]  # (R,)
    gains: Annotated[Any, "int64[:, :, ::1]"]  # (D, K, A)
    losses: Annotated[Any, "int64[:, :, ::1]"]  # (D, K, A)
    ranked: Annotated[Any, "int64[:, :, ::1]"]  # (D, 2 K, A)
    keys: Annotated[Any, "uint64[:, ::1]"]  # (T, 2)
    proven: Annotated[Any, "int64[::1]"]  # (T,)
    rules: Annotated[Any, "int8[::1]"]  # (T,)


@compiled(
    "void(uint64[:, ::1], uint64[::1], int64[::1], int64[::1], int64[:, ::1])",
)
def class_sums(covers: Any, left: Any, units: Any, starts: Any, out: Any) -> None:
    """The weight of each kind within each cover and what is left.

    Parameters
    ----------
    covers : uint64 (A, W)
    left : uint64 (W,)
    units, starts :
        As in :class:`ListState`.
    out : int64 (A, K + 1), receives the sums
    """
    for a in range(covers.shape[0]):
        for kind in range(starts.shape[0] - 1):
            out[a, kind] = _weight(covers, a, left, units, starts[kind], starts[kind + 1])


@compiled()
def _remember(state: Any, length: Any, last: Any, value: Any) -> None:
    """A list that is better than the best one: the path, and a last rule."""
    values, counters, best = state.values, state.counters, state.best
    values[1] = value
    counters[3] = length
    for i in range(length - 1):
        best[i] = state.path[i]
    best[length - 1] = last
    values[0] = min(values[0], value - state.limits[3])


@compiled()
def _look_up(state: Any, first: Any, second: Any, n_rules: Any) -> Any:
    """A lower bound on what the rest of a list costs, 0 where none is known."""
    keys = state.keys
    mask = keys.shape[0] - 1
    for probe in range(PROBES):
        place = (np.int64(first >> np.uint64(1)) + probe) & mask
        if keys[place, 0] == first and keys[place, 1] == second:
            return state.proven[place] if state.rules[place] >= n_rules else 0
    return 0


@compiled()
def _store(state: Any, first: Any, second: Any, n_rules: Any, value: Any) -> None:
    """Keep a lower bound, in place of what fewer rules can do where there is no room."""
    keys, proven, rules = state.keys, state.proven, state.rules
    mask = keys.shape[0] - 1
    chosen = -1
    for probe in range(PROBES):
        place = (np.int64(first >> np.uint64(1)) + probe) & mask
        if keys[place, 0] == first and keys[place, 1] == second:
            if rules[place] > n_rules and proven[place] >= value:
                return
            chosen = place
            break
        if chosen < 0 or rules[place] < rules[chosen]:
            chosen = place
    if rules[chosen] > n_rules and (keys[chosen, 0] != first or keys[chosen, 1] != second):
        return
    keys[chosen, 0], keys[chosen, 1] = first, second
    rules[chosen], proven[chosen] = n_rules, value


@compiled()
def _hash(left: Any, salt: Any) -> Any:
    """64 bits of a packed set."""
    value = salt
    for w in range(left.shape[0]):
        value = (value ^ left[w]) * np.uint64(0x9E3779B97F4A7C15)
        value ^= value >> np.uint64(29)
    value *= np.uint64(0xBF58476D1CE4E5B9)
    return value ^ (value >> np.uint64(32))


@compiled()
def _evaluate(state: Any, level: Any, memory: Any, numbers: Any) -> Any:
    """Weigh what may follow a prefix, try each as a last rule, and list what to open; the work."""
    covers, units, starts = state.covers, state.units, state.starts
    limits, values = state.limits, state.values
    n_classes, most, penalty = limits[0], limits[1], limits[2]
    left, totals, cost = state.left[level], state.totals[level], state.costs[level]
    active, sums, ranges = state.active[level], state.sums[level], state.ranges[level]
    children, bounds = state.children[level], state.bounds[level]
    gains, losses = state.gains[level], state.losses[level]
    whole = np.int64(0)
    for k in range(n_classes):
        whole += totals[k]
    kept = 0
    for i in range(ranges[0]):
        a = active[i]
        covered, correct = np.int64(0), np.int64(0)
        for k in range(n_classes):
            weight = _weight(covers, a, left, units, starts[k], starts[k + 1])
            sums[a, k] = weight
            covered += weight
            correct = max(correct, weight)
        if correct <= penalty:  # as small in whatever follows
            continue
        rest = np.int64(0)
        for k in range(n_classes):
            rest = max(rest, totals[k] - sums[a, k])
        value = cost + penalty + (covered - correct) + (whole - covered - rest)
        if value < values[1]:
            _remember(state, level + 1, a, value)
        begin, stop = starts[n_classes], starts[n_classes + 1]
        sums[a, n_classes] = _weight(covers, a, left, units, begin, stop)
        active[kept] = a
        kept += 1
    work = ranges[0] * (covers.shape[1] + 8)
    ranges[0], ranges[1], ranges[2], ranges[3] = kept, 0, 0, 0
    further = most - level - 1  # rules that may follow a child
    threshold = values[0]
    if penalty > 0:
        further = min(further, (threshold - 1 - cost - penalty - totals[n_classes]) // penalty)
    if kept == 0 or further <= 0:
        return work
    for i in range(kept):
        bounds[i] = np.iinfo(np.int64).max
    others, before, wrong, sure = numbers[0], numbers[1], numbers[2], numbers[3]
    for c in range(n_classes):
        for i in range(kept):
            a, covered, correct, gain = active[i], np.int64(0), np.int64(0), np.int64(0)
            for k in range(n_classes):
                covered += sums[a, k]
                correct = max(correct, sums[a, k])
                if k != c:
                    gain = max(gain, sums[a, k])
            gains[c, i], losses[c, i], others[i] = gain, sums[a, c], covered - sums[a, c]
            before[i] = cost + penalty + covered - correct
            wrong[i] = whole - totals[c] - others[i]
            sure[i] = totals[n_classes] - sums[a, n_classes]
        bound_children(
            gains[c], losses[c], others, before, wrong, sure, kept, further, penalty, threshold,
            memory, bounds,
        )  # fmt: skip
    found = 0
    for i in range(kept):
        if bounds[i] < threshold:
            children[found], bounds[found] = active[i], -bounds[i]
            found += 1
    sort_descending(bounds, children, found, numbers[0], numbers[1])
    for i in range(found):
        bounds[i] = -bounds[i]
    ranges[1] = found
    return work + kept * 4 * n_classes


@compiled()
def _rank(state: Any, level: Any, numbers: Any) -> None:
    """Order the active antecedents of a level by P, and by P − N, the largest first."""
    n_classes, n = state.limits[0], state.ranges[level, 0]
    keys = numbers[2]
    for c in range(n_classes):
        gains, losses = state.gains[level, c], state.losses[level, c]
        for by in range(2):
            ranked = state.ranked[level, 2 * c + by]
            for i in range(n):
                keys[i] = gains[i] - by * losses[i]
                ranked[i] = i
            sort_descending(keys, ranked, n, numbers[0], numbers[1])
    state.ranges[level, 3] = 1


@compiled()
def _n_above(values: Any, minus: Any, factor: Any, ranked: Any, n: Any, least: Any) -> Any:
    """How many of ``values − factor · minus``, largest first in the order given, are above."""
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        i = ranked[middle]
        if values[i] - factor * minus[i] > least:
            low = middle + 1
        else:
            high = middle
    return low


@compiled()
def _last_rule(state: Any, level: Any, a: Any, left: Any, totals: Any, cost: Any, of: Any) -> Any:
    """Look for the best last rule behind child a of a level; the least cost of the rest, work.

    A rule b corrects at most P(b), and at most P(b) − N(b) and what a captures of N.
    """
    covers, units, starts = state.covers, state.units, state.starts
    values, n_classes, penalty = state.values, state.limits[0], state.limits[2]
    active, n_active = state.active[level], state.ranges[level, 0]
    captured = state.sums[level, a]
    whole = np.int64(0)
    for k in range(n_classes):
        whole += totals[k]
    least = values[0] - cost  # what is not looked at costs at least this
    tried = 0
    for c in range(n_classes):
        needed = whole - totals[c] + penalty - least  # a rule that gains no more is of no use
        gains, losses, shield = state.gains[level, c], state.losses[level, c], captured[c]
        by_gain, by_both = state.ranked[level, 2 * c], state.ranked[level, 2 * c + 1]
        n_first = _n_above(gains, losses, 0, by_gain, n_active, needed)
        n_second = _n_above(gains, losses, 1, by_both, n_active, needed - shield)
        ranked, n = (by_gain, n_first) if n_first < n_second else (by_both, n_second)
        tried += n
        for place in range(n):
            i = ranked[place]
            if gains[i] <= needed or gains[i] - losses[i] + shield <= needed:
                continue
            b, gain = active[i], np.int64(0)
            for k in range(n_classes):
                if k != c:
                    of[k] = _weight(covers, b, left, units, starts[k], starts[k + 1])
                    gain = max(gain, of[k])
            if gain <= needed:
                continue
            of[c] = _weight(covers, b, left, units, starts[c], starts[c + 1])
            correct, rest = np.int64(0), np.int64(0)
            for k in range(n_classes):
                correct = max(correct, of[k])
                rest = max(rest, totals[k] - of[k])
            value = penalty + whole - correct - rest
            if value < least:
                least = value
                needed = whole - totals[c] + penalty - least
                if cost + value < values[1]:
                    state.path[level] = a
                    _remember(state, level + 2, b, cost + value)
    return least, tried * (covers.shape[1] + 4)


@compiled("int64(state, int64)", state=ListState)
def search_lists(state: Any, work: Any) -> Any:
    """Go on with a depth-first branch and bound over rule lists.

    Parameters
    ----------
    state : ListState
    work : int
        Words to look at, about.

    Returns
    -------
    int
        DONE or SLICE.
    """
    counters, values, limits = state.counters, state.values, state.limits
    n_classes, most, penalty = limits[0], limits[1], limits[2]
    n_words, n_antecedents = state.covers.shape[1], state.covers.shape[0]
    memory = np.empty((6, BUCKETS, most), np.int64)
    numbers = np.empty((4, n_antecedents), np.int64)
    left, totals = np.empty(n_words, np.uint64), np.empty(n_classes + 1, np.int64)
    of = np.empty(n_classes + 1, np.int64)
    done = 0
    while counters[0] >= 0:
        if done >= work:
            return SLICE
        level = counters[0]
        ranges = state.ranges[level]
        if counters[1] == 1:
            counters[1] = 0
            counters[2] += 1
            done += _evaluate(state, level, memory, numbers)
            continue
        if ranges[2] >= ranges[1] or state.bounds[level, ranges[2]] >= values[0]:
            here = state.left[level]
            _store(
                state,
                _hash(here, np.uint64(1)),
                _hash(here, np.uint64(2)),
                most - level,
                values[0] - state.costs[level],
            )
            counters[0] -= 1
            continue
        a = state.children[level, ranges[2]]
        ranges[2] += 1
        captured = state.sums[level, a]
        covered, correct = np.int64(0), np.int64(0)
        for k in range(n_classes):
            covered += captured[k]
            correct = max(correct, captured[k])
        cost = state.costs[level] + penalty + covered - correct
        for w in range(n_words):
            left[w] = state.left[level, w] & ~state.covers[a, w]
        for k in range(n_classes + 1):
            totals[k] = state.totals[level, k] - captured[k]
        done += 2 * n_words + 8
        n_rules = most - level - 1
        first, second = _hash(left, np.uint64(1)), _hash(left, np.uint64(2))
        if cost + _look_up(state, first, second, n_rules) >= values[0]:
            continue
        further = n_rules
        if penalty > 0:
            further = min(further, (values[0] - 1 - cost - totals[n_classes]) // penalty)
        if further <= 1:
            if ranges[3] == 0:
                _rank(state, level, numbers)
                done += 16 * n_classes * ranges[0]
            least, more = _last_rule(state, level, a, left, totals, cost, of)
            counters[2] += 1
            done += more
            _store(state, first, second, n_rules, least)
            continue
        state.path[level] = a
        for w in range(n_words):
            state.left[level + 1, w] = left[w]
        for k in range(n_classes + 1):
            state.totals[level + 1, k] = totals[k]
        state.costs[level + 1] = cost
        for i in range(ranges[0]):
            state.active[level + 1, i] = state.active[level, i]
        state.ranges[level + 1, 0] = ranges[0]
        counters[0] += 1
        counters[1] = 1
    return DONE
