r"""The conjunctions of largest weighted sum, found and proven by branch and bound.

For a conjunction w of propositions let S_k(w) = Σ_{i covered by w} c_ik.  A larger conjunction
covers fewer examples, so with P_k and N_k the sums of the positive and of the negative weights
(in absolute value) over the cover of w, every w' ⊇ w has

    −N_k(w) ≤ S_k(w') ≤ P_k(w),    T_k − P_k(w) ≤ T_k − S_k(w') ≤ T_k + N_k(w),

where T_k is the sum over all examples.  The search goes depth first through sets of propositions
and skips those that cannot exceed the results already found.  Children of a node are evaluated
together and opened in the order of their bounds, the best first.  A child is extended only by the
children before it, so every set is visited once and the most promising children have the smallest
subtrees (the order of G. I. Webb, *OPUS: an efficient admissible algorithm for unordered search*,
JAIR 3, 1995, https://doi.org/10.1613/jair.227).

The conjunctions of a small table are enumerated level by level with NumPy, without compilation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.compilation import compiled
from formulakern.deadline import DONE, FULL, SLICE, enlarged
from formulakern.encoding.bits import all_ones, n_words
from formulakern.mining.search import (
    CompiledSearch,
    MiningResult,
    MiningTask,
    SearchOptions,
    ranked,
)
from formulakern.mining.sums import bit, column_sums, largest_quotient, offer, sort_descending

#: Conjunctions times examples up to which enumeration is faster than the compiled search.
MAX_ENTRIES = 1 << 19


@dataclass(frozen=True, eq=False)
class ConjunctionLattice:
    """The set of conjunctions that is searched.

    Parameters
    ----------
    least, greatest : int
        Lengths that are reported.
    factors : float64 (3, greatest length + 1)
        For each length its divisor of scores, and the smallest and largest divisor among the
        reported lengths from there on.
    groups : int64 (p,)
        Propositions of one group exclude each other; −1 for no group.
    complement : bool
        Whether to score the examples that are not covered.
    """

    least: int
    greatest: int
    factors: FloatArray
    groups: NDArray[np.int64]
    complement: bool

    @property
    def smallest(self) -> float:
        """The smallest factor of the reported lengths."""
        return float(self.factors[1, 0])


@dataclass(frozen=True, eq=False)
class ConjunctionOptions(SearchOptions):
    """The options of every search, and the set of conjunctions that is searched.

    Parameters
    ----------
    min_length, max_length : int
        Numbers of propositions; ``min_length=0`` admits the empty conjunction, which is true
        everywhere, ``max_length=None`` any length.
    length_factor : sequence of float, optional
        Positive divisors of the scores of lengths 0, 1, …, up to the greatest possible length; in
        any order, growing or not.
    exclusive : sequence of int of length p, optional
        Groups from which a conjunction has at most one proposition (the values of one column, or a
        literal and its negation); −1 for propositions without a group.
    """

    min_length: int = 1
    max_length: int | None = 3
    length_factor: Sequence[float] | NDArray[Any] | None = None
    exclusive: Sequence[int] | NDArray[Any] | None = None

    def lattice(self, p: int, complement: bool = False) -> ConjunctionLattice:
        """Return the set of conjunctions of p propositions."""
        groups = np.full(p, -1) if self.exclusive is None else np.asarray(self.exclusive)
        greatest = int(np.count_nonzero(groups < 0)) + len(np.unique(groups[groups >= 0]))
        if self.max_length is not None:
            greatest = min(self.max_length, greatest)
        factors = np.ones((3, greatest + 1))
        if self.length_factor is not None:
            factors[0] = np.asarray(self.length_factor)[: greatest + 1]
        for length in range(greatest + 1):
            ahead = factors[0, max(length, self.min_length) :]
            if len(ahead):
                factors[1:, length] = ahead.min(), ahead.max()
        groups = np.ascontiguousarray(groups, dtype=np.int64)
        return ConjunctionLattice(self.min_length, greatest, factors, groups, complement)


class Listed(NamedTuple):
    """The conjunctions that a search found, and a bound in units on all others."""

    conjunctions: list[tuple[int, ...]]
    bound: float
    n_evaluated: int


def enumerated(task: MiningTask, lattice: ConjunctionLattice) -> Listed | None:
    """Return the best conjunctions, found level by level, or None if there are too many.

    Every conjunction of a length is extended by the propositions after its last one, unless the
    bounds show that no extension can exceed the results so far.
    """
    (m, p), goal, limit = task.table.shape, task.goal, task.top
    threshold = goal.in_units(task.threshold)
    groups, factors, complement = lattice.groups, lattice.factors, lattice.complement
    cost = max(m, 1)
    left = MAX_ENTRIES - p * cost
    if left < 0:
        return None
    columns = task.table.truths(task.table.columns).astype(np.float64)
    totals = goal.columns.sum(axis=1)
    sets: NDArray[np.intp] = np.zeros((1, 0), dtype=np.intp)
    covers = np.ones((1, m))
    found: list[tuple[int, ...]] = []
    scores = np.zeros(0)
    lowest, n_evaluated = threshold, 0
    for length in range(lattice.greatest + 1):
        if length:
            last = sets[:, -1] if length > 1 else np.full(len(sets), -1)
            after = p - 1 - last
            left -= int(after.sum()) * cost
            if left < 0:
                return None
            parent = np.repeat(np.arange(len(sets)), after)
            item = np.arange(len(parent)) + p - np.cumsum(after)[parent]
            clash = (groups[sets[parent]] == groups[item][:, None]).any(axis=1)
            kept = ~(clash & (groups[item] >= 0))
            parent, item = parent[kept], item[kept]
            sets = np.concatenate([sets[parent], item[:, None]], axis=1)
            covers = covers[parent] * columns[item]
            n_evaluated += len(sets)
        sums = covers @ goal.columns.T  # whole numbers of units: exact in any order
        if length >= lattice.least:
            values = goal.unit_scores(totals - sums if complement else sums) / factors[0, length]
            passed = np.flatnonzero(values > threshold)
            found += map(tuple, sets[passed].tolist())
            scores = np.append(scores, values[passed])
            if len(scores) >= limit:
                lowest = max(threshold, float(np.partition(scores, len(scores) - limit)[-limit]))
        if length < lattice.greatest:
            size = covers @ np.abs(goal.columns.T)
            above, below = (size + sums) / 2, (sums - size) / 2
            if complement:
                above, below = totals - below, totals - above
            ahead = [above] * goal.upwards + [-below] * goal.downwards
            best = goal.largest(np.max(ahead, axis=0))
            best = np.where(best >= 0, best / factors[1, length + 1], best / factors[2, length + 1])
            sets, covers = sets[best > lowest], covers[best > lowest]
        if not len(sets):
            break
    order = np.argsort(-scores, kind="stable")[:limit]
    return Listed([found[r] for r in order.tolist()], lowest, n_evaluated)


@compiled()
def _bound(
    total: Any, size: Any, everywhere: Any, complement: Any, upwards: Any, downwards: Any
) -> Any:
    """Return the best value of a column over the subsets of a cover, from sums of weights."""
    above, below = (size + total) / 2, (total - size) / 2
    if complement:
        above, below = everywhere - below, everywhere - above
    if upwards and downwards:
        return max(above, -below)
    return above if upwards else -below


class ConjunctionState(NamedTuple):
    """The arrays of a search for p propositions, W words of examples, K columns of weights.

    ``columns`` are in units, 0 after the last example, with sums ``totals``; ``flags`` are
    complement, upwards, downwards and norm; ``lengths`` the least and greatest length and the
    largest number of results.  Row 0 of ``factors`` divides the scores of each length; rows 1 and 2
    are the smallest and largest of these among the reported lengths from there on (1 and 1 if there
    are none).  ``counters`` are open levels, results, evaluated conjunctions, and whether the root
    is open.  A row of ``levels`` has the number of children of a level, the next child, and the
    open child; ``items`` and ``bounds`` list the children, best bound first, and ``covers`` has the
    cover of their parent.  Only scores above ``threshold`` are results: ``scores``, with a heap of
    the rows, and the conjunctions ``found``, as positions counted from 1.
    """

    words: Annotated[Any, "uint64[:, ::1]"]  # (p, W)
    groups: Annotated[Any, "int64[::1]"]  # (p,), −1 for no group
    columns: Annotated[Any, "float64[:, ::1]"]  # (K, 64 W)
    totals: Annotated[Any, "float64[::1]"]  # (K,)
    flags: Annotated[Any, "boolean[::1]"]  # (4,)
    lengths: Annotated[Any, "int64[::1]"]  # (3,)
    factors: Annotated[Any, "float64[:, ::1]"]  # (3, greatest length + 1)
    threshold: Annotated[Any, "float64"]
    counters: Annotated[Any, "int64[::1]"]  # (4,)
    levels: Annotated[Any, "int64[:, ::1]"]  # (D, 3)
    items: Annotated[Any, "int64[:, ::1]"]  # (D, p)
    bounds: Annotated[Any, "float64[:, ::1]"]  # (D, p)
    covers: Annotated[Any, "uint64[:, ::1]"]  # (D, W)
    scores: Annotated[Any, "float64[::1]"]  # (R,)
    heap: Annotated[Any, "int64[::1]"]  # (R,)
    found: Annotated[Any, "int32[:, ::1]"]  # (R, D)


@compiled("int64(state, int64)", state=ConjunctionState)
def search_conjunctions(state: Any, work: Any) -> Any:
    """Continue a depth-first branch and bound, for about ``work`` words of 64 examples.

    Returns DONE, SLICE, or FULL, which requires a larger D before the next call.
    """
    words, groups, columns, totals = state.words, state.groups, state.columns, state.totals
    flags, lengths, factors, threshold = state.flags, state.lengths, state.factors, state.threshold
    counters, levels, covers = state.counters, state.levels, state.covers
    items, bounds, scores, heap = state.items, state.bounds, state.scores, state.heap
    found, n_words, n_columns = state.found, words.shape[1], columns.shape[0]
    complement, upwards, downwards, norm = flags[0], flags[1], flags[2], flags[3]
    least_score = 0.0 if norm else -np.inf
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
        if counters[3] == 0:  # the root, with its candidates and cover already set
            level, n_candidates = -1, levels[0, 0]
            counters[3] = 1
        elif counters[0] == 0:
            return DONE
        elif done >= work:
            return SLICE
        else:
            level = counters[0] - 1
            following = levels[level, 1]
            if following >= levels[level, 0] or bounds[level, following] <= lowest:
                counters[0] -= 1
                continue
            # a child is extended by the children with better bounds than its own, so the best
            # one, which is opened first, has the fewest candidates
            item, group = items[level, following], groups[items[level, following]]
            if level + 1 >= levels.shape[0]:
                return FULL
            n_candidates = 0
            for i in range(following):
                if group < 0 or groups[items[level, i]] != group:
                    items[level + 1, n_candidates] = items[level, i]
                    n_candidates += 1
            levels[level, 1] += 1
            levels[level, 2] = item
            for w in range(n_words):
                covers[level + 1, w] = covers[level, w] & words[item, w]
        if n_candidates == 0:
            continue
        length, candidates = level + 2, items[level + 1]  # of the new conjunctions
        n_index = 0
        for w in range(n_words):
            if covers[level + 1, w] != 0:
                index[n_index] = w
                n_index += 1
        n_active, squares = 0, 0.0
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
            squares += bound * bound
            if norm or largest_quotient(bound, factors[1, length], factors[2, length]) > lowest:
                active[row] = k  # no other column gives a result below this node
                n_active += 1
        if (
            norm
            and largest_quotient(math.sqrt(squares), factors[1, length], factors[2, length])
            <= lowest
        ):
            n_active = 0
        done += n_candidates * (n_active * n_index + 4) + n_words
        counters[2] += n_candidates
        if n_active == 0:
            continue
        for j in range(n_candidates):
            best[j] = bound_of[j] = least_score
        for row in range(n_active):
            total = totals[active[row]]
            column_sums(
                words, candidates, n_candidates, index, n_index,
                signed[row], absolute[row], eight, sums,
            )  # fmt: skip
            for j in range(n_candidates):
                value = total - sums[j, 0] if complement else sums[j, 0]
                bound = _bound(sums[j, 0], sums[j, 1], total, complement, upwards, downwards)
                if norm:
                    best[j] += value * value
                    bound_of[j] += bound * bound
                    continue
                if upwards:
                    best[j] = max(best[j], value)
                if downwards:
                    best[j] = max(best[j], -value)
                bound_of[j] = max(bound_of[j], bound)
        for j in range(n_candidates):
            if norm:
                best[j], bound_of[j] = math.sqrt(best[j]), math.sqrt(bound_of[j])
            score = best[j] / factors[0, length]
            if length >= least and score > threshold:
                place = offer(scores, heap, counters, limit, score)
                if place >= 0:
                    for i in range(found.shape[1]):
                        found[place, i] = 1 + levels[i, 2] if i <= level else 0
                    found[place, level + 1] = 1 + candidates[j]
        if length >= greatest:
            continue
        lowest = threshold if counters[1] < limit else max(threshold, scores[heap[0]])
        kept = 0
        for j in range(n_candidates):
            bound = largest_quotient(bound_of[j], factors[1, length + 1], factors[2, length + 1])
            if bound > lowest:
                candidates[kept] = candidates[j]
                bound_of[kept] = bound
                kept += 1
        if kept > 1:
            sort_descending(bound_of, candidates, kept, spare_bounds, spare_items)
            for j in range(kept):
                bounds[level + 1, j] = bound_of[j]
            levels[level + 1, 0], levels[level + 1, 1] = kept, 1
            counters[0] += 1
    return DONE


@dataclass(frozen=True, eq=False)
class MinedConjunctions(MiningResult):
    """Conjunctions, best first, and a bound on the scores of all the others.

    ``conjunctions`` are sorted positions of propositions; sorted by score (largest first), then
    length, then positions.
    """

    conjunctions: list[tuple[int, ...]]

    @classmethod
    def listed(
        cls,
        found: Sequence[tuple[int, ...]],
        scores: FloatArray,
        sums: FloatArray,
        asked: MiningTask | SearchOptions,
        finished: bool,
        **known: Any,
    ) -> MinedConjunctions:
        """Return the results above the threshold: best first, then shortest, then by positions."""
        order = ranked(found, scores, asked.threshold)
        complete = finished and len(found) < asked.top
        listed = [found[r] for r in order]
        return cls(scores[order], sums[order], finished, complete, conjunctions=listed, **known)


def mine_conjunctions(
    propositions: object, weights: object, *, complement: bool = False, **options: Any
) -> MinedConjunctions:
    """Find the conjunctions w of different propositions with the largest scores.

    With S_k(w) = Σ_i c_ik over the examples that w covers, the score is max_k |S_k| ("absolute"),
    max_k S_k − min_k S_k ("spread"), or the root of Σ_k S_k² ("norm"), divided by
    ``length_factor[|w|]``.

    Parameters
    ----------
    propositions : PackedTable, or a table of 0 and 1 of shape (m, p)
    weights : array-like of shape (m,) or (m, K)
        c, finite; one column per vector.
    complement : bool
        Replace S_k by T_k − S_k, where T_k is the sum over all examples.  This is the sum over the
        examples that w does *not* cover, that is, of the disjunction of the negated propositions.
    **options
        The options of :class:`ConjunctionOptions`.

    Conjunctions with equal covers are all candidates; those that tie with the last result may be
    missing.  If at most 2¹⁹ conjunctions times examples are evaluated, nothing is compiled.
    Otherwise a conjunction costs about 10 ns per 64 examples and column of weights; the number of
    evaluated conjunctions depends on the pruning by the bound.

    >>> X = [[1, 1, 0], [1, 1, 1], [1, 0, 1], [0, 1, 1]]
    >>> result = mine_conjunctions(X, [2.0, 1.0, -1.0, -1.0], top=1, max_length=2)
    >>> result.conjunctions, result.scores, result.proven
    ([(0, 1)], array([3.]), True)
    """
    asked = ConjunctionOptions(**options)
    task = MiningTask(propositions, weights, asked)
    goal, lattice = task.goal, asked.lattice(task.table.n_columns, complement)
    listed, finished = enumerated(task, lattice), True
    if listed is None:
        search = _ConjunctionSearch(task, lattice)
        finished = task.run(search)
        listed = search.listed()
    elif task.progress is not None:
        task.progress(1.0)
    found, factor, smallest = listed.conjunctions, lattice.factors[0], lattice.smallest
    sums = task.sums(found, lambda table, some: table.truths(table.covers(some)))
    values = task.weights.sum(axis=0) - sums if complement else sums
    scores = goal.scores(values) / factor[[len(w) for w in found]]
    bound = goal.from_units(listed.bound) + goal.rounding * (1 + complement) / smallest
    known = {"bound": bound, "n_evaluated": listed.n_evaluated}
    return MinedConjunctions.listed(found, scores, sums, task, finished, **known)


class _ConjunctionSearch(CompiledSearch):
    """The arrays of the compiled loop ``search_conjunctions``."""

    def __init__(self, task: MiningTask, lattice: ConjunctionLattice) -> None:
        self.loop = search_conjunctions
        p, m, goal = *task.table.shape[::-1], task.goal
        least, greatest, complement = lattice.least, lattice.greatest, lattice.complement
        depth = max(1, min(greatest, 8))
        super().__init__(task, depth)
        items = np.zeros((depth, p), dtype=np.int64)
        items[0] = np.arange(p)
        covers = np.zeros((depth, n_words(m)), dtype=np.uint64)
        covers[0] = all_ones(m)
        levels = np.zeros((depth, 3), dtype=np.int64)
        levels[0, 0] = p if greatest >= max(least, 1) else 0
        self.state = ConjunctionState(
            **self.common,
            groups=lattice.groups,
            totals=self.totals,
            flags=np.array([complement, goal.upwards, goal.downwards, goal.kind == "norm"]),
            lengths=np.array([least, greatest, task.top]),
            factors=lattice.factors,
            levels=levels,
            items=items,
            bounds=np.zeros((depth, p)),
            covers=covers,
        )
        if least == 0:  # the empty conjunction
            values = np.zeros_like(self.totals) if complement else self.totals
            score = float(goal.unit_scores(values[None])[0])
            self.offer_first(score / float(lattice.factors[0, 0]))

    def listed(self) -> Listed:
        """Return the results, unsorted, and a bound on the others."""
        rows = self.state.found[: self.n_found].tolist()
        found = [tuple(sorted(j - 1 for j in row if j)) for row in rows]
        return Listed(found, self.bound(), self.n_evaluated)

    def _grow(self) -> None:
        state = self.state
        depth = min(2 * len(state.levels), int(state.lengths[1]))
        self.state = state._replace(
            levels=enlarged(state.levels, depth),
            items=enlarged(state.items, depth),
            bounds=enlarged(state.bounds, depth),
            covers=enlarged(state.covers, depth),
            found=np.ascontiguousarray(enlarged(state.found.T, depth).T),
        )
