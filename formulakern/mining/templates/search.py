"""The instances of a formula template of largest weighted sum, found by branch and bound.

The variables of the template are replaced by propositions.  While some are still open, every
example is surely covered, surely not covered, or unknown.  In this three-valued evaluation, an open
variable is true if all of its propositions are, and false if none is.  With T the examples surely
covered and U the unknown ones, all completions satisfy

    Σ_T c − Σ_U c⁻  ≤  S  ≤  Σ_T c + Σ_U c⁺,

and those that cannot exceed the results already found are skipped.

*Ranges.*  Successive propositions that cover more and more examples, such as x ≤ 1, x ≤ 2, …, are
bounded together: an example is surely covered by a range of them if the narrowest one covers it,
and unknown if only the widest one does.  All slots are first filled with whole ranges, which are
then divided while their bounds exceed the results.  Cut points therefore need not be tried singly.

*Sums.*  A compiled loop fills the slots, depth first; its state is in arrays, so that it can be
resumed.  For one slot, the template is evaluated twice, three-valued: with the slot true everywhere
and with the slot false everywhere.  For any proposition in the slot, each example is in one of the
two cases, so the bounds for *all* propositions are sums of modified weights over their bits.  For a
range, examples between the narrowest and the widest proposition count with the larger case.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulakern.compilation import compiled
from formulakern.deadline import DONE, SLICE
from formulakern.encoding.bits import n_words
from formulakern.encoding.packed import PackedTable
from formulakern.mining.search import (
    CompiledSearch,
    MiningResult,
    MiningTask,
    SearchOptions,
    ranked,
)
from formulakern.mining.sums import bit, column_sums, offer, sort_descending
from formulakern.mining.templates.expansion import (
    Expansion,
    bit_program,
    depends,
    expand,
    truth_table,
)
from formulakern.syntax.formula import Formula, Variable, evaluate

#: Parts into which a range of nested propositions is divided.
PARTS = 4


@compiled()
def _run(steps: Any, first: Any, planes: Any) -> None:
    """Evaluate the program: plane r marks the examples on which reference r is surely true."""
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
def _fill(planes: Any, slot: Any, ranges: Any, sizes: Any, words: Any, unknown: Any) -> None:
    """Set where the propositions of a slot are surely true and surely false."""
    low, high = ranges[slot, 0], ranges[slot, 1]
    inner, outer = (low, high) if sizes[low] <= sizes[high] else (high, low)
    for w in range(planes.shape[1]):  # slices would compile slowly
        if low < 0:
            planes[2 * slot, w] = unknown[2 * slot, w]
            planes[2 * slot + 1, w] = unknown[2 * slot + 1, w]
        else:
            planes[2 * slot, w] = words[inner, w]
            planes[2 * slot + 1, w] = ~words[outer, w]


@compiled()
def _ordered(ranges: Any, orders: Any, strict: Any) -> Any:
    """Return True if some propositions of the ranges respect every lexicographic order."""
    for i in range(orders.shape[0]):
        equal = True
        for t in range(orders.shape[1]):
            left, right = orders[i, t, 0], orders[i, t, 1]
            if left < 0:
                break
            if ranges[left, 0] < 0 or ranges[right, 0] < 0:  # open
                equal = False
                break
            if ranges[left, 0] > ranges[right, 1]:
                return False
            if ranges[left, 1] != ranges[right, 0] or ranges[left, 0] != ranges[right, 1]:
                equal = False  # smaller, or not decided
                break
        if equal and strict[i]:
            return False
    return True


class InstanceState(NamedTuple):
    """The arrays of a search over S slots, p propositions, W words of examples, K columns.

    ``columns`` are in units, 0 after the last example; ``flags`` are upwards, downwards; ``steps``
    and ``output`` the program (:class:`formulakern.mining.templates.expansion.BitProgram`).
    ``planes`` hold the rows on which each reference is surely true, set for slots and the constant;
    ``unknown`` holds them for open slots.  ``different`` marks slots that hold different
    propositions; ``orders`` are pairs of slots to be compared one after the other, then −1,
    strictly or not.  ``roots`` are the first and last propositions of the ranges of each slot, then
    −1; ``sizes`` count the examples of propositions.  ``ranges`` are those in the slots, −1 if
    open.  ``counters`` are open levels, results, evaluated instances and parts, and whether the
    search has begun.  A row of ``levels`` has the number of children, the next child, the slot
    that they fill, and its range before; ``items`` (first proposition times p plus the last) and
    ``bounds`` list them, best bound first.  At most ``limit`` results score above ``threshold``:
    ``scores``, with a heap of the rows, and the instances ``found``.
    """

    words: Annotated[Any, "uint64[:, ::1]"]  # (p, W)
    columns: Annotated[Any, "float64[:, ::1]"]  # (K, 64 W)
    flags: Annotated[Any, "boolean[::1]"]  # (2,)
    steps: Annotated[Any, "int64[:, ::1]"]  # (n, 3)
    output: Annotated[Any, "int64"]
    planes: Annotated[Any, "uint64[:, ::1]"]  # (2 (S + 1 + n), W)
    unknown: Annotated[Any, "uint64[:, ::1]"]  # (2 S, W)
    roots: Annotated[Any, "int64[:, :, ::1]"]  # (S, R, 2)
    sizes: Annotated[Any, "int64[::1]"]  # (p,)
    different: Annotated[Any, "boolean[:, ::1]"]  # (S, S)
    orders: Annotated[Any, "int64[:, :, ::1]"]  # (L, T, 2)
    strict: Annotated[Any, "boolean[::1]"]  # (L,)
    limit: Annotated[Any, "int64"]
    threshold: Annotated[Any, "float64"]
    ranges: Annotated[Any, "int64[:, ::1]"]  # (S, 2)
    counters: Annotated[Any, "int64[::1]"]  # (4,)
    levels: Annotated[Any, "int64[:, ::1]"]  # (D, 5)
    items: Annotated[Any, "int64[:, ::1]"]  # (D, children)
    bounds: Annotated[Any, "float64[:, ::1]"]  # (D, children)
    scores: Annotated[Any, "float64[::1]"]  # (R,)
    heap: Annotated[Any, "int64[::1]"]  # (R,)
    found: Annotated[Any, "int32[:, ::1]"]  # (R, S)


@compiled()
def _larger(weight: Any, surely: Any, possibly: Any) -> Any:
    """Return the largest contribution of a weight that counts surely, or possibly."""
    return max(weight, 0.0) * possibly + min(weight, 0.0) * surely


@compiled("int64(state, int64)", state=InstanceState)
def search_instances(state: Any, work: Any) -> Any:
    """Continue the search for about ``work`` words of 64 examples; return DONE or SLICE."""
    words, columns, flags, steps = state.words, state.columns, state.flags, state.steps
    planes, unknown, output, roots = state.planes, state.unknown, state.output, state.roots
    different, orders, strict, sizes = state.different, state.orders, state.strict, state.sizes
    ranges, limit, threshold = state.ranges, state.limit, state.threshold
    counters, levels, items, bounds = state.counters, state.levels, state.items, state.bounds
    scores, heap, found = state.scores, state.heap, state.found
    n_slots, p, first, most_items = len(roots), len(words), len(roots) + 1, items.shape[1]
    n_words, n_columns = words.shape[1], columns.shape[0]
    upwards, downwards = flags[0], flags[1]
    index = np.empty(n_words, np.int64)
    # weights of the examples of widest propositions and, less, of narrowest ones
    high, low = np.empty(64 * n_words), np.empty(64 * n_words)
    high_less, low_less = np.empty(64 * n_words), np.empty(64 * n_words)
    cases = np.empty((4, n_words), np.uint64)  # true if 1, not false if 1, and the same if 0
    eight, sums, less = np.empty(8), np.empty((most_items, 2)), np.zeros((most_items, 2))
    best, children = np.empty(most_items), np.empty(most_items, np.int64)
    outer, inner = np.empty(most_items, np.int64), np.empty(most_items, np.int64)
    done = 0
    while True:
        n_found = counters[1]
        lowest = threshold if n_found < limit else max(threshold, scores[heap[0]])
        if counters[3] == 0:
            counters[3] = 1
        elif counters[0] == 0:
            return DONE
        elif done >= work:
            return SLICE
        else:
            level = counters[0] - 1
            slot, following = levels[level, 2], levels[level, 1]
            ended = following >= levels[level, 0] or bounds[level, following] <= lowest
            if ended:
                ranges[slot, 0], ranges[slot, 1] = levels[level, 3], levels[level, 4]
                counters[0] -= 1
            else:
                levels[level, 1] += 1
                ranges[slot, 0] = items[level, following] // p
                ranges[slot, 1] = items[level, following] % p
            _fill(planes, slot, ranges, sizes, words, unknown)
            if ended:
                continue
        # the first open slot, or the slot with the most examples in doubt
        slot, doubt, closed = -1, -1, 0
        for other in range(n_slots):
            if ranges[other, 0] < 0:
                slot = other
                break
            rows = abs(sizes[ranges[other, 1]] - sizes[ranges[other, 0]])
            if ranges[other, 0] == ranges[other, 1]:
                closed += 1
            elif rows > doubt:
                slot, doubt = other, rows
        before, until = ranges[slot, 0], ranges[slot, 1]
        n_parts = roots.shape[1] if before < 0 else min(PARTS, until - before + 1)
        n_children, divided = 0, False
        for part in range(n_parts):
            if before < 0:
                begin, end = roots[slot, part, 0], roots[slot, part, 1]
                if begin < 0:
                    break
            else:
                begin = before + part * (until - before + 1) // n_parts
                end = before + (part + 1) * (until - before + 1) // n_parts - 1
            ranges[slot, 0], ranges[slot, 1] = begin, end
            fits = _ordered(ranges, orders, strict)
            for other in range(n_slots):
                same = begin == end == ranges[other, 0] == ranges[other, 1]
                fits = fits and not (same and other != slot and different[slot, other])
            if fits:
                wider = end if sizes[begin] <= sizes[end] else begin
                outer[n_children], inner[n_children] = wider, begin + end - wider
                children[n_children] = begin * p + end
                divided = divided or begin < end
                n_children += 1
        ranges[slot, 0], ranges[slot, 1] = before, until
        if n_children == 0:
            continue
        for case in range(2):
            for w in range(n_words):
                planes[2 * slot + case, w] = ~np.uint64(0)
                planes[2 * slot + 1 - case, w] = np.uint64(0)
            _run(steps, first, planes)
            for w in range(n_words):
                cases[2 * case, w] = planes[output, w]
                cases[2 * case + 1, w] = ~planes[output ^ 1, w]
        _fill(planes, slot, ranges, sizes, words, unknown)
        n_index = 0
        for w in range(n_words):
            if cases[0, w] != cases[2, w] or cases[1, w] != cases[3, w]:
                index[n_index] = w
                n_index += 1
        best[:n_children] = -np.inf
        for k in range(n_columns):
            least, most = 0.0, 0.0
            for w in range(n_words):
                true, possible = cases[2, w], cases[3, w]
                for t in range(64):
                    weight, surely, perhaps = columns[k, 64 * w + t], bit(true, t), bit(possible, t)
                    most += _larger(weight, surely, perhaps)
                    least -= _larger(-weight, surely, perhaps)
            for i in range(n_index):
                w = index[i]
                for t in range(64):
                    weight = columns[k, 64 * w + t]
                    one, zero = bit(cases[0, w], t), bit(cases[2, w], t)
                    perhaps, never = bit(cases[1, w], t), bit(cases[3, w], t)
                    up, up_without = _larger(weight, one, perhaps), _larger(weight, zero, never)
                    down, down_without = (
                        _larger(-weight, one, perhaps),
                        _larger(-weight, zero, never),
                    )
                    most_up = max(up, up_without) if divided else up
                    most_down = max(down, down_without) if divided else down
                    high[64 * i + t], low[64 * i + t] = (
                        most_up - up_without,
                        most_down - down_without,
                    )
                    high_less[64 * i + t], low_less[64 * i + t] = most_up - up, most_down - down
            column_sums(words, outer, n_children, index, n_index, high, low, eight, sums)
            if divided:
                column_sums(
                    words, inner, n_children, index, n_index, high_less, low_less, eight, less
                )
            for j in range(n_children):
                if upwards:
                    best[j] = max(best[j], most + sums[j, 0] - divided * less[j, 0])
                if downwards:
                    best[j] = max(best[j], -least + sums[j, 1] - divided * less[j, 1])
        done += n_children * n_columns * n_index + n_words * (2 * len(steps) + 8)
        counters[2] += n_children
        kept, level = 0, counters[0]
        for j in range(n_children):
            begin, end = children[j] // p, children[j] % p
            if closed == n_slots - 1 and begin == end:  # nothing is unknown: this is the score
                if best[j] > threshold:
                    place = offer(scores, heap, counters, limit, best[j])
                    if place >= 0:
                        for i in range(n_slots):
                            found[place, i] = begin if i == slot else ranges[i, 0]
            elif best[j] > lowest:
                items[level, kept] = children[j]
                bounds[level, kept] = best[j]
                kept += 1
        if kept > 0:
            sort_descending(bounds[level], items[level], kept, best, children)
            levels[level, 0], levels[level, 1], levels[level, 2] = kept, 0, slot
            levels[level, 3], levels[level, 4] = before, until
            counters[0] = level + 1
    return DONE


@dataclass(frozen=True, eq=False)
class MinedInstances(MiningResult):
    """Instances of a template, best first, and a bound on the scores of all the others.

    ``assignments`` have for each instance the proposition in every slot of the ``expansion``, the
    template with its choices written out; sorted by score (largest first), then by the number of
    different propositions, then as tuples.
    """

    assignments: list[tuple[int, ...]]
    expansion: Expansion


def mine_templates(
    formula: Formula,
    propositions: object,
    weights: object,
    *,
    distinct: bool = False,
    columns: Mapping[Any, Sequence[int]] | None = None,
    **options: Any,
) -> MinedInstances:
    """Find the instances of a template with the largest scores.

    An instance φ replaces every variable by a proposition, equal names by the same one.  With
    S_k(φ) = Σ_i c_ik over the examples on which φ is true, the score is max_k |S_k| ("absolute")
    or max_k S_k − min_k S_k ("spread").

    Parameters
    ----------
    formula : Formula
        Variables, constants, connectives, and choices; the d copies of a choice's inner formula
        represent d different features of its space.
    propositions : PackedTable, or a table of 0 and 1 of shape (m, p)
    weights : array-like of shape (m,) or (m, K)
    distinct : bool
        Whether different variables of one formula must be different propositions.
    columns : mapping, optional
        Variable (or its name) → positions of the propositions that it ranges over; all by
        default.
    **options
        The options of :class:`~formulakern.mining.search.SearchOptions`.

    Instances that are the same Boolean function of the propositions are returned once, with the
    first assignment found; different functions with equal covers are all candidates.  Those that
    tie with the last result may be missing.  For a conjunction of plain variables,
    :func:`~formulakern.mining.conjunctions.search.mine_conjunctions` has sharper bounds.

    >>> from formulakern.syntax.parser import parse
    >>> X = [[1, 1, 0], [1, 1, 1], [1, 0, 1], [0, 1, 1]]
    >>> result = mine_templates(parse("a & ~b"), X, [2.0, 1.0, -1.0, -1.5], top=1)
    >>> result.assignments, result.scores
    ([(0, 2)], array([2.]))
    >>> result.expansion.formula
    Formula('s0 & ~s1')
    """
    task = MiningTask(propositions, weights, SearchOptions(**options))
    ranges = {
        v: tuple(sorted(set(positions)))
        for key, positions in (columns or {}).items()
        for v in formula.variables
        if key in (v, v.name)
    }
    expansion = expand(formula, bool(distinct), ranges.get)
    limit = capacity = task.top
    while True:
        task.top = capacity
        search = _InstanceSearch(task, expansion, ranges)
        finished = task.run(search)
        assignments = _different(expansion, search.assignments())
        if len(assignments) >= limit or search.n_found < capacity or not finished:
            break
        capacity *= 4  # too many of the results are instances of equal functions

    def covers(table: PackedTable, some: Sequence[tuple[int, ...]]) -> NDArray[np.bool_]:
        positions = np.array(some, dtype=np.intp).T
        value_of: dict[Formula, NDArray[np.bool_]] = {
            leaf: table.truths(table.columns[chosen])
            for leaf, chosen in zip(expansion.leaves, positions, strict=True)
        }
        truths = evaluate(expansion.formula, value_of.__getitem__)
        return np.broadcast_to(truths, (len(some), table.n_rows))

    sums = task.sums(assignments, covers)
    scores = task.goal.scores(sums)
    order = ranked(assignments, scores, task.threshold)
    bound = task.goal.from_units(search.bound()) + task.goal.rounding
    if len(order) > limit:
        bound = max(bound, float(scores[order[limit]]))
    order = order[:limit]
    return MinedInstances(
        assignments=[assignments[r] for r in order],
        scores=scores[order],
        sums=sums[order],
        proven=finished,
        complete=finished and search.n_found < capacity and len(order) < limit,
        bound=bound,
        n_evaluated=search.n_evaluated,
        expansion=expansion,
    )


class _InstanceSearch(CompiledSearch):
    """The arrays of :func:`formulakern.mining.templates.search.search_instances`."""

    def __init__(
        self, task: MiningTask, expansion: Expansion, ranges: Mapping[Variable, Sequence[int]]
    ) -> None:
        self.loop = search_instances
        (m, p), n, goal = task.table.shape, len(expansion.slots), task.goal
        super().__init__(task, n)
        program = bit_program(expansion.formula, expansion.leaves)
        numbered = [(j, c) for c, chain in enumerate(task.chains) for j in chain]
        self.order, chain_of = np.array(numbered, dtype=np.int64).reshape(-1, 2).T
        self.symmetric = expansion.orders
        self.common["words"] = words = np.ascontiguousarray(task.table.columns[self.order])
        unknown = np.zeros((2 * n, n_words(m)), dtype=np.uint64)
        listed = []
        for i, slot in enumerate(expansion.slots):
            allowed = np.flatnonzero(np.isin(self.order, ranges.get(slot.variable, range(p))))
            unknown[2 * i] = np.bitwise_and.reduce(words[allowed], axis=0)
            unknown[2 * i + 1] = ~np.bitwise_or.reduce(words[allowed], axis=0)
            ends = np.flatnonzero((np.diff(allowed) > 1) | (np.diff(chain_of[allowed]) > 0))
            firsts, lasts = np.append(0, ends + 1), np.append(ends, len(allowed) - 1)
            listed.append(np.stack([allowed[firsts], allowed[lasts]], axis=1))
        most = max([len(own) for own in listed], default=0)
        roots = np.full((n, most, 2), -1, dtype=np.int64)
        depth = n
        for own, some in zip(roots, listed, strict=True):
            own[: len(some)] = some
            longest = int(np.diff(some, axis=1).max(initial=0)) + 1
            depth += math.ceil(math.log(longest, PARTS)) + 1
        n_registers = n + 1 + len(program.steps)
        planes = np.zeros((2 * n_registers, unknown.shape[1]), dtype=np.uint64)
        planes[: 2 * n] = unknown
        planes[2 * n] = ~np.uint64(0)
        different = np.zeros((n, n), dtype=np.bool_)
        for group in expansion.all_different:
            different[np.ix_(group, group)] = True
        longest = max((len(order.left) for order in expansion.orders), default=1)
        orders = np.full((len(expansion.orders), longest, 2), -1, dtype=np.int64)
        for i, order in enumerate(expansion.orders):
            orders[i, : len(order.left)] = np.array([order.left, order.right]).T
        self.state = InstanceState(
            **self.common,
            flags=np.array([goal.upwards, goal.downwards]),
            steps=program.steps,
            output=program.output,
            planes=planes,
            unknown=unknown,
            roots=roots,
            sizes=np.bitwise_count(words).sum(axis=1, dtype=np.int64),
            different=different,
            orders=orders,
            strict=np.array([order.strict for order in expansion.orders], dtype=np.bool_),
            limit=task.top,
            ranges=np.full((n, 2), -1, dtype=np.int64),
            levels=np.zeros((depth, 5), dtype=np.int64),
            items=np.zeros((depth, max(most, PARTS)), dtype=np.int64),
            bounds=np.zeros((depth, max(most, PARTS))),
        )
        empty = expansion.empty
        if n == 0 and not empty:  # a template without variables has one instance
            value = bool(evaluate(expansion.formula, lambda _: False))
            self.offer_first(float(goal.unit_scores(self.totals[None] * value)[0]))
            self.state.counters[2] = 1
            empty = True
        self.nothing = empty

    def assignments(self) -> list[tuple[int, ...]]:
        """Return the results, best first."""
        rows = [
            self._smallest(row) for row in self.order[self.state.found[: self.n_found]].tolist()
        ]
        order = sorted(range(self.n_found), key=lambda r: (-self.state.scores[r], rows[r]))
        return [tuple(rows[r]) for r in order]

    def _smallest(self, row: list[int]) -> list[int]:
        """Return the lexicographically smallest of the equal instances."""
        changed = True
        while changed:
            changed = False
            for one in self.symmetric:
                left, right = [row[i] for i in one.left], [row[i] for i in one.right]
                if left > right:
                    for i, j, a, b in zip(one.left, one.right, left, right, strict=True):
                        row[i], row[j] = b, a
                    changed = True
        return row


def _different(
    expansion: Expansion, assignments: Sequence[tuple[int, ...]]
) -> list[tuple[int, ...]]:
    """Return the first assignment of each Boolean function.

    A function is identified by the sorted propositions on which it depends, and its truth table.
    """
    first: dict[object, tuple[int, ...]] = {}
    tables: dict[tuple[int, ...], tuple[tuple[int, ...], bytes]] = {}
    for assignment in assignments:
        used = sorted(set(assignment))
        pattern = tuple(used.index(j) for j in assignment)
        if pattern not in tables:
            tables[pattern] = function_of(expansion, pattern, len(used))
        needed, table = tables[pattern]
        first.setdefault((tuple(used[i] for i in needed), table), assignment)
    return list(first.values())


def function_of(
    expansion: Expansion, pattern: Sequence[int], n: int
) -> tuple[tuple[int, ...], bytes]:
    """Return the arguments, of n, on which a template depends, and the bytes of its truth table.

    ``pattern`` has for every slot the argument, 0 … n − 1, that it holds.
    """
    table = truth_table(expansion.formula, dict(zip(expansion.leaves, pattern, strict=True)))
    needed = tuple(i for i in range(n) if depends(table, i))
    index = tuple(slice(None) if i in needed else 0 for i in range(n))
    return needed, np.ascontiguousarray(table[index]).tobytes()
