r"""Rule lists that are certified to be optimal, by branch and bound.

A list of R rules over conjunctions of at most d propositions costs

    (weight of the rows that it misclassifies) / (total weight) + λ·R.

The search adds rules to prefixes, depth first. The errors and penalties of a prefix are a lower
bound for every list that begins with it. Further lower bounds use

* rows of different classes that no antecedent separates: all but one class is wrong;
* the largest weight that further rules can correct, see below;
* rules that capture at most λ correctly, which can be left out;
* rules whose ends on ordered columns can move without any loss, see below;
* other prefixes that leave the same rows: a table of states holds, for the remaining rows, a lower
  bound on the cost of the rest of the list.

Each evaluated prefix weighs all rules that may follow, which gives the best list with one more
rule; the last rule needs no further node. The bounds are those of E. Angelino, N. Larus-Stone,
D. Alabi, M. Seltzer and C. Rudin, *Learning certifiably optimal rule lists for categorical data*,
JMLR 18(234), 2018, https://jmlr.org/papers/v18/17-716.html, for weighted rows and several classes;
the second is ours.

The search runs with thresholds that rise from the lower bound to the best list's objective. Each
run proves that no list is below its threshold, or finds one. A bound is therefore available at
every moment, and the search needs only the memory of a depth-first search.

The largest weight that further rules can correct
-------------------------------------------------
Let U be the rows that a prefix leaves, c the class of the default, and E_c the weight of U in other
classes, which is wrong if no rule follows. For an antecedent a let P(a) be its largest weight
within U in one class other than c, and N(a) its weight in c. Rules for c correct nothing
themselves; let q of the s rules that follow be rules for c, and V the rows that the others decide.
These correct at most the sum of their P. They misclassify the weight of V in c, which is at least
N(a), minus the weight that earlier rules capture, for each of their antecedents a. Therefore

    gain ≤ Σ_{s − q} P(a) − max(0, max N(a) − t − X_q),

where Σ_i is the sum of the i largest, t is the weight that the first rule captures in c, and X_q
the sum of the q largest N.

Ends that can move
------------------
Propositions of which each covers more rows than the one before, such as x ≤ 1, x ≤ 2, …, form a
chain.  Let a rule for class l cover P, and let P' be the next cover if one of its propositions is
replaced by the next wider or narrower one of its chain, or is left out.  If P' ⊃ P and all rows of
P' − P are of class l, the rule may cover P': it decides these rows right.  If P' ⊂ P and no row of
P − P' is of class l, it may cover P', too: it decided these rows wrong.  Either way more rows of l,
or fewer of others, are covered, so this ends.  An antecedent for which every class allows a move is
not needed.  Of all cut points of clean columns few remain (U. Fayyad and K. Irani, *On the handling
of continuous-valued attributes in decision tree generation*, Machine Learning 8, 1992,
doi:10.1007/BF00994007, for a single split).

Rows laid out for counting
--------------------------
Let row i weigh w_ik in class k.  A rule that predicts l for it errs by Σ_{k≠l} w_ik, which equals
(K − 1)·min_k w_ik + Σ_{k≠l} v_ik with v_ik = w_ik − min_k w_ik.  The first part is the same for
every list, so all work is on v, which has mostly zero entries.  An entry is an *atom*: a row, a
class and a weight.  Atoms of one class and weight are packed 64 to a word, so a class's weight
within a cover is one population count per word, times the word's weight.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray, IntArray, different_rows
from formulakern.checks import check_integer, check_number
from formulakern.compilation import compiled
from formulakern.deadline import (
    DONE,
    SLICE,
    UNLIMITED,
    Deadline,
    TimeLimit,
    check_time_limit,
    run_slices,
)
from formulakern.encoding.bits import (
    Words,
    n_words,
    ones,
    row_counts,
    select_bits,
    transposed,
)
from formulakern.encoding.packed import PackedTable
from formulakern.errors import DataError, ParameterError
from formulakern.interrupts import interruptible
from formulakern.mining.search import unit_exponent
from formulakern.mining.sums import sort_descending

#: If weights are too different to be grouped, they are whole numbers of this many bits.
PLANES = 20
#: They are too different if grouping needs this many times the words of equal weights.
MAX_WORDS_RATIO = 8
#: Words of covers that are processed at once.
BLOCK_WORDS = 1 << 20


@dataclass(frozen=True, eq=False)
class Grid:
    """Weights as whole numbers of a common unit, so that sums are exact in any order.

    ``units`` (m, K) count 2 to the power of ``exponent``; with ``planes`` a weight is stored as a
    sum of powers of 2. Rounding changes no list's error by more than ``moved``, the sum of the
    rounding errors of all weights.
    """

    units: IntArray
    exponent: int
    planes: bool
    moved: float

    @classmethod
    def of(cls, weights: FloatArray) -> Grid:
        """Return the finest grid on which sums fit; a coarser one if weights differ much."""
        fine = cls._at(weights, unit_exponent(float(weights.sum())), planes=False)
        if len(RowLayout.of(fine.units, False).kinds) <= MAX_WORDS_RATIO * (
            n_words(len(weights)) + 8
        ):
            return fine
        return cls._at(weights, int(np.frexp(weights.max())[1]) - PLANES, planes=True)

    @classmethod
    def _at(cls, weights: FloatArray, exponent: int, planes: bool) -> Grid:
        units = np.rint(np.ldexp(weights, -exponent))
        moved = float(np.abs(weights - np.ldexp(units, exponent)).sum())
        return cls(units.astype(np.int64), exponent, planes, moved)

    def floor(self, value: float) -> int:
        """Convert a weight to units, rounded down."""
        return int(np.floor(np.ldexp(value, -self.exponent)))

    def value(self, units: int) -> float:
        """Convert a weight from units."""
        return float(np.ldexp(float(units), self.exponent))


@dataclass(frozen=True, eq=False)
class RowLayout:
    """Atoms, packed 64 to a word; all atoms of a word have one kind and one weight.

    ``rows`` (64 W,) has the row of each bit, −1 for none; ``kinds`` and ``units`` (W,) have the
    column of the weights of a word's atoms, and the weight of each atom.
    """

    rows: IntArray
    kinds: IntArray
    units: IntArray

    @classmethod
    def of(cls, units: IntArray, planes: bool) -> RowLayout:
        """Return the atoms of a matrix of weights."""
        parts: list[tuple[IntArray, int, int]] = []
        for kind, column in enumerate(units.T):
            if planes:
                for power in range(int(column.max(initial=0)).bit_length()):
                    rows = np.flatnonzero(column >> power & 1)
                    parts.append((rows, kind, 1 << power))
            else:
                order = np.argsort(column, kind="stable")
                values, first = np.unique(column[order], return_index=True)
                of_value = np.split(order, first[1:])[: len(values)]
                for value, rows in zip(values.tolist(), of_value, strict=True):
                    parts.append((rows, kind, value))
        parts = [part for part in parts if len(part[0]) and part[2]]
        counts = np.array([n_words(len(rows)) for rows, _, _ in parts], dtype=np.int64)
        bits = np.full(64 * int(counts.sum()), -1, dtype=np.int64)
        start = 0
        for (rows, _, _), count in zip(parts, counts.tolist(), strict=True):
            bits[start : start + len(rows)] = rows
            start += 64 * count
        kinds = np.repeat(np.array([kind for _, kind, _ in parts], dtype=np.int64), counts)
        return cls(bits, kinds, np.repeat(np.array([u for *_, u in parts], dtype=np.int64), counts))

    def laid_out(self, columns: Words, n_rows: int) -> Words:
        """Convert packed truths over rows, (r, ceil(m / 64)), to truths over atoms, (r, W)."""
        step = max(1, BLOCK_WORDS // max(1, len(self.rows) // 8))
        covers = np.empty((len(columns), len(self.kinds)), dtype=np.uint64)
        positions = np.maximum(self.rows, 0)
        for start in range(0, len(columns), step):
            part = columns[start : start + step]
            covers[start : start + step] = select_bits(part, n_rows, positions)
        return covers & self.everything

    @cached_property
    def everything(self) -> Words:
        """All atoms, uint64 of shape (W,)."""
        bits = np.packbits(self.rows >= 0, bitorder="little")
        return bits.view("<u8").astype(np.uint64, copy=False)

    def sums(self, covers: Words, kinds: int, left: Words | None = None) -> IntArray:
        """Return the weight of each kind within packed covers and ``left``, (r, W) → (r, kinds)."""
        sums = np.empty((len(covers), kinds), dtype=np.int64)
        starts = np.searchsorted(self.kinds, np.arange(kinds + 1))
        left = self.everything if left is None else left
        class_sums(np.ascontiguousarray(covers), left, self.units, starts, sums)
        return sums


@dataclass(frozen=True, eq=False)
class Antecedents:
    """Conjunctions with different covers, shorter ones first, and the rows that they separate.

    ``covers`` (A, W) are over the atoms of ``layout``. Its kinds are the K classes, then the weight
    that is always misclassified because no antecedent separates rows of different classes. Every
    list misclassifies ``base`` more units, which ``layout`` omits.
    """

    conjunctions: list[tuple[int, ...]]
    covers: Words
    layout: RowLayout
    n_classes: int
    base: int


def mine_antecedents(
    table: PackedTable,
    grid: Grid,
    *,
    max_conditions: int,
    groups: IntArray,
    least_correct: int,
    least_support: int,
    max_bytes: int,
    deadline: Deadline = UNLIMITED,
) -> tuple[Antecedents, bool]:
    """Return the conjunctions that an optimal list may need, one for each cover.

    The second value is False if the time did not suffice for the longest conjunctions.

    A rule whose correctly captured weight is at most the penalty is not worth its cost: without it,
    the later rules misclassify this weight at worst.  So an antecedent needs more of v in one class
    than the penalty.  This weight and the support only decrease as conditions are added.
    """
    began = Deadline.clock()
    smallest = grid.units.min(axis=1, keepdims=True)
    n_classes = grid.units.shape[1]
    whole = grid.units.sum(axis=1, keepdims=True) if least_support > 0 else smallest * 0
    layout = RowLayout.of(np.hstack([grid.units - smallest, whole]), grid.planes)
    columns = layout.laid_out(table.columns, table.n_rows)

    def enough(covers: Words) -> npt.NDArray[np.bool_]:
        sums = layout.sums(covers, n_classes + 1)
        correct = sums[:, :n_classes].max(axis=1, initial=0)
        return np.asarray((correct > least_correct) & (sums[:, n_classes] >= least_support))

    kept = enough(columns)
    items = np.flatnonzero(kept)
    found: list[tuple[int, ...]] = [(j,) for j in items.tolist()]
    level, covers = found, columns[kept]
    levels, taken, late = [covers], covers.nbytes, False
    for _ in range(1, max_conditions):
        conjunctions: list[tuple[int, ...]] = []
        parts: list[Words] = []
        for parents, children in _extensions(level, items, groups, layout.kinds.size):
            if late := deadline.over():
                break
            both = covers[parents] & columns[children]
            new = (both != covers[parents]).any(axis=1) & (both != columns[children]).any(axis=1)
            new[new] = enough(both[new])
            parts.append(both[new])
            taken += parts[-1].nbytes
            if taken > max_bytes:
                raise ParameterError(
                    f"the covers of the conjunctions of {len(level[0]) + 1} propositions need more "
                    f"than max_bytes={max_bytes:,}. Use a larger penalty or min_support, fewer "
                    "propositions or max_conditions, or more memory."
                )
            pairs = zip(parents[new].tolist(), children[new].tolist(), strict=True)
            conjunctions += [(*level[parent], child) for parent, child in pairs]
        late = late or deadline.over(Deadline.clock() - began)  # merging takes about as long
        if late or not conjunctions:
            break
        level, covers = conjunctions, np.concatenate(parts)
        found, levels = found + level, [*levels, covers]
    covers = np.concatenate(levels)
    if len(covers) and covers.shape[1]:
        first = np.sort(different_rows(covers)[0])
        first = first[(covers[first] != layout.everything).any(axis=1)]
        found, covers = [found[i] for i in first.tolist()], covers[first]
        wider = _wider(table, groups)
        directions = (True,) if least_support > 0 else (True, False)
        limits = directions, least_correct, deadline
        needed = np.flatnonzero(_needed(found, covers, columns, layout, n_classes, wider, *limits))
        found, covers = [found[i] for i in needed.tolist()], covers[needed]
    base = (n_classes - 1) * int(smallest.sum())
    return _merged(found, covers, layout, n_classes, base, grid.planes), not late


def _wider(table: PackedTable, groups: IntArray) -> IntArray:
    """Return the next wider proposition of the same chain and group, −1 if there is none."""
    sizes, wider = row_counts(table.columns), np.full(len(groups), -1)
    for chain in table.chains:
        own = np.array(chain)[np.argsort(sizes[chain], kind="stable")]
        same = groups[own[1:]] == groups[own[:-1]]
        wider[own[:-1][same]] = own[1:][same]
    return wider


def _needed(
    found: list[tuple[int, ...]],
    covers: Words,
    columns: Words,
    layout: RowLayout,
    n_classes: int,
    wider: IntArray,
    directions: tuple[bool, ...],
    least_correct: int,
    deadline: Deadline,
) -> npt.NDArray[np.bool_]:
    """Return True for conjunctions whose ends cannot move without a loss for some class.

    ``directions`` are those of the moves, wider (True) and narrower.  After the deadline, moves are
    not tried.
    """
    narrower = np.full(len(wider), -1)
    narrower[wider[wider >= 0]] = np.flatnonzero(wider >= 0)
    columns = np.vstack([columns, layout.everything])  # the last, −1, leaves a proposition out
    lengths = np.array([len(one) for one in found])
    step = max(1, BLOCK_WORDS // columns.shape[1])
    needed = np.ones(len(found), dtype=np.bool_)
    for length in np.unique(lengths).tolist():
        places = np.flatnonzero(lengths == length)
        for some in np.split(places, range(step, len(places), step)):
            if deadline.over():
                return needed
            nodes = np.array([found[i] for i in some.tolist()])
            own = layout.sums(covers[some], n_classes)
            free = own > least_correct  # by class: no move is known
            for member, wide in product(range(length), directions):
                others = np.delete(nodes, member, axis=1)
                rest = np.bitwise_and.reduce(columns[others], axis=1) & layout.everything
                which, at = np.arange(len(nodes)), nodes[:, member]
                while len(which):
                    at = (wider if wide else narrower)[at]
                    if not wide:
                        which, at = which[at >= 0], at[at >= 0]
                    moved = layout.sums(rest[which] & columns[at], n_classes) - own[which]
                    differs = moved.any(axis=1)
                    change = moved[differs]
                    free[which[differs]] &= change != (change.sum(axis=1)[:, None] if wide else 0)
                    same = ~differs & (at >= 0)
                    which, at = which[same], at[same]
            needed[some] = free.any(axis=1)
    return needed


def _extensions(
    level: list[tuple[int, ...]], items: IntArray, groups: IntArray, width: int
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield parents and the later propositions that may extend them, some at a time."""
    if not level:
        return
    sets = np.array(level)
    start = np.searchsorted(items, sets[:, -1], side="right")
    after = len(items) - start
    step = max(1, BLOCK_WORDS // max(1, width * len(items)))
    for begin in range(0, len(sets), step):
        count = after[begin : begin + step]
        parents = np.repeat(np.arange(begin, begin + len(count)), count)
        place = np.arange(len(parents)) - np.repeat(np.cumsum(count) - count, count)
        children = items[start[parents] + place]
        clash = (groups[sets[parents]] == groups[children][:, None]).any(axis=1)
        free = ~(clash & (groups[children] >= 0))
        yield parents[free], children[free]


def _merged(
    found: list[tuple[int, ...]],
    covers: Words,
    layout: RowLayout,
    n_classes: int,
    base: int,
    planes: bool,
) -> Antecedents:
    """Merge rows that are in the same covers, and count the weight that is then always wrong."""
    bits = np.flatnonzero((layout.rows >= 0) & np.repeat(layout.kinds < n_classes, 64))
    if len(found) and len(bits):
        first, kind = different_rows(transposed(covers, 64 * covers.shape[1])[bits])
    else:  # no antecedent separates any rows
        first, kind = np.zeros(min(1, len(bits)), np.intp), np.zeros(len(bits), np.intp)
    merged = np.zeros((len(first), n_classes), dtype=np.int64)
    np.add.at(merged, (kind, layout.kinds[bits >> 6]), layout.units[bits >> 6])
    smallest = merged.min(axis=1, keepdims=True, initial=np.iinfo(np.int64).max)
    if len(merged):
        base += (n_classes - 1) * int(smallest.sum())
        merged -= smallest
    sure = merged.sum(axis=1) - merged.max(axis=1, initial=0)
    after = RowLayout.of(np.hstack([merged, sure[:, None]]), planes)
    whole = select_bits(covers, 64 * covers.shape[1], bits[first])
    return Antecedents(found, after.laid_out(whole, len(first)), after, n_classes, base)


#: The share of the time for the antecedents; if it is too short, the longest ones are missing.
MINING_SHARE = 0.4
#: The default memory of the search.
MAX_BYTES = 2**29
#: The last threshold is the objective itself, as soon as the gap is this share of it.
LAST_GAP = 0.02
#: Any other threshold raises the bound by one part in this many of the gap: each search takes
#: several times as long as the one before, so all but the last cost little.
THRESHOLD_STEPS = 3


@dataclass(frozen=True)
class ListProgress:
    """The state of a search at one moment.

    Parameters
    ----------
    seconds : float
        Time since the start.
    objective : float
        The objective of the best list so far.
    bound : float
        No list has a smaller objective.
    """

    seconds: float
    objective: float
    bound: float


@dataclass(frozen=True, eq=False)
class OptimalList:
    """A rule list with a certificate of its quality.

    Rule r is a conjunction of propositions, by position, for the class of the column ``labels[r]``
    of the weights; uncovered rows have the class ``default``. ``counts`` (R + 1, K) are the weights
    by class that each rule decides, and last the default. ``error`` is the misclassified share of
    the weight, and ``objective`` adds ``penalty * R``. No list has an objective below ``bound``,
    which is ``gap`` less than ``objective``. ``rounding`` is how far rounding weights and penalties
    may have moved the bound, which allows for it: 0 for weights such as whole numbers. ``stopped``
    is "optimal" (the gap is at most ``tol``, apart from rounding), "time_limit" or "interrupted".
    """

    conjunctions: list[tuple[int, ...]]
    labels: list[int]
    default: int
    counts: FloatArray
    objective: float
    error: float
    bound: float
    gap: float
    rounding: float
    n_antecedents: int
    n_evaluated: int
    seconds: float
    stopped: str
    history: tuple[ListProgress, ...]


def optimal_rule_list(
    table: PackedTable,
    weights: FloatArray,
    *,
    max_rules: int = 5,
    max_conditions: int = 2,
    penalty: float = 0.01,
    exclusive: Any = None,
    min_support: float = 0.0,
    tol: float = 0.0,
    time_limit: TimeLimit = None,
    max_bytes: int = MAX_BYTES,
    report: Callable[[ListProgress], None] | None = None,
) -> OptimalList:
    r"""Return the rule list that minimises error + penalty × number of rules, with a certificate.

    Rule r decides the rows that it covers and no earlier rule covers.  Each rule, and the default
    for the uncovered rows, predicts the class of the largest weight among the rows that it decides.
    ``weights`` (m, K) are the weights of row i in class k; a rule has at most one proposition of
    each group in ``exclusive`` (−1 for none).  The ends of nested propositions that follow each
    other, such as x <= 1, x <= 2, …, move as described above.

    Weights are rounded to 2⁻⁵⁰ of their total, or to 2⁻²⁰ of the largest if many differ; later sums
    are exact, so the bound is valid to the accuracy of float64.  If the time does not suffice for
    all antecedents, those with fewer conditions are searched, and the bound is 0.  An interrupt
    (Ctrl-C) ends the search like the time limit, with a warning.

    Examples
    --------
    >>> table = PackedTable.of_columns(np.array([[0b0011], [0b0101]], dtype=np.uint64), 4)
    >>> found = optimal_rule_list(table, [[9, 0], [0, 5], [0, 7], [8, 0]])
    >>> found.conjunctions, found.labels, found.default, found.stopped
    ([(0, 1), (1,), (0,)], [0, 1, 1], 0, 'optimal')
    >>> found.error, round(found.objective, 6), round(found.gap, 6)
    (0.0, 0.03, 0.0)
    """
    check_integer("max_rules", max_rules, 0)
    check_integer("max_conditions", max_conditions)
    check_integer("max_bytes", max_bytes)
    check_number("penalty", penalty, 0.0)
    check_number("min_support", min_support, 0.0, 1.0)
    check_number("tol", tol, 0.0)
    check_time_limit(time_limit)
    deadline = Deadline.of(time_limit)
    if table.n_rows == 0 or table.n_columns == 0:
        raise DataError(
            f"the table has {table.n_rows} rows of {table.n_columns} propositions; a rule list "
            "needs at least one of each."
        )
    read = np.asarray(weights, dtype=np.float64)
    groups = np.full(table.n_columns, -1) if exclusive is None else np.asarray(exclusive)
    total = float(read.sum())
    if read.min() < 0 or total <= 0:
        raise DataError(
            f"weights between {read.min():g} and {read.max():g}; expected none below 0 and one "
            "above it. Give the weight of each row in each class."
        )
    grid = Grid.of(read)
    units = grid.floor(penalty * total)
    found, whole = mine_antecedents(
        table,
        grid,
        max_conditions=max_conditions if max_rules else 1,
        groups=np.ascontiguousarray(groups, dtype=np.int64),
        least_correct=units,
        least_support=-grid.floor(-min_support * total * (1 - 1e-12)),
        max_bytes=max_bytes // 3,
        deadline=deadline.part(MINING_SHARE),
    )
    search = ListSearch(
        found, max_rules, units, grid.floor(tol * total), max_bytes - max_bytes // 3
    )

    def share(units: int) -> float:
        return grid.value(units) / total

    history: list[ListProgress] = []
    stopped, proven = _prove(search, share, deadline, report, history)
    chosen = [found.conjunctions[a] for a in search.best]
    counts = _counts(table, read, chosen)
    # errors of rounded and given weights may rank lists differently; both are exact at this point
    error = float((counts.sum(axis=1) - counts.max(axis=1)).sum()) / total
    objective = error + penalty * len(chosen)
    moved = grid.moved / total
    bound = max(0.0, min(objective, share(proven)) - moved) if whole else 0.0
    # penalties are rounded down, which only lowers the bound
    rounding = moved + len(chosen) * max(0.0, penalty - share(units))
    labels = counts.argmax(axis=1).tolist()
    return OptimalList(
        conjunctions=chosen,
        labels=labels[:-1],
        default=labels[-1],
        counts=counts,
        objective=objective,
        error=error,
        bound=bound,
        gap=objective - bound,
        rounding=rounding,
        n_antecedents=len(found.conjunctions),
        n_evaluated=int(search.state.counters[2]),
        seconds=deadline.taken(),
        stopped=stopped if whole else "time_limit",
        history=tuple(history),
    )


def _prove(
    search: ListSearch,
    share: Callable[[int], float],
    deadline: Deadline,
    report: Callable[[ListProgress], None] | None,
    history: list[ListProgress],
) -> tuple[str, int]:
    """Raise the threshold to the best objective; return the reason for stopping, and a bound."""
    bound = search.found.base

    def note(lower: int) -> None:
        """Record a bound that is now valid."""
        nonlocal bound
        bound = max(bound, min(lower, search.objective))
        step = share(search.objective), share(bound)
        if not history or step != (history[-1].objective, history[-1].bound):
            history.append(ListProgress(deadline.taken(), *step))
            if report is not None:
                report(history[-1])

    try:
        with interruptible():
            search.start(deadline.over)
            note(bound)
            while (gap := search.objective - bound) > search.tol:
                if deadline.over():
                    return "time_limit", bound
                last = gap <= max(LAST_GAP * search.objective, search.penalty, search.tol)
                search.restart(
                    search.objective - search.tol if last else bound - (-gap // THRESHOLD_STEPS)
                )
                if not run_slices(search, deadline, lambda _: note(search.lower())):
                    return "time_limit", bound
                note(search.threshold)
    except KeyboardInterrupt:
        warnings.warn("interrupted: the best rule list so far is kept.", stacklevel=4)
        return "interrupted", bound
    note(search.objective - search.tol)
    return "optimal", bound


def _counts(
    table: PackedTable, weights: FloatArray, conjunctions: list[tuple[int, ...]]
) -> FloatArray:
    """Return the weight by class of the rows that each rule decides, and last the default."""
    left = np.ones(table.n_rows, dtype=np.bool_)
    counts = np.empty((len(conjunctions) + 1, weights.shape[1]))
    for rule, conjunction in enumerate(conjunctions):
        decided = left & table.cover(conjunction)
        counts[rule] = weights[decided].sum(axis=0)
        left &= ~decided
    counts[-1] = weights[left].sum(axis=0)
    return counts


#: Prefixes of each length that a beam keeps.
BEAM = 20
#: The cost of an error of the prefix relative to one that a later rule may correct, per beam.
EAGERNESS = (1, 3, 10)
#: Classes that beams try as the default.
DEFAULTS = 3
#: Bytes of a state in the table of states, and its largest number of states.
STATE_BYTES, MAX_STATES = 25, 2**24


class ListSearch:
    """A search that can be resumed (:class:`formulakern.deadline.Search`).

    Costs are in units; the arrays omit the errors ``found.base`` of every list.
    """

    def __init__(
        self, found: Antecedents, max_rules: int, penalty: int, tol: int, max_bytes: int
    ) -> None:
        self.found, self.penalty, self.tol = found, penalty, tol
        n, n_words = found.covers.shape
        n_classes, everything = found.n_classes, found.layout.everything
        self.starts = np.searchsorted(found.layout.kinds, np.arange(n_classes + 2))
        self.totals = found.layout.sums(everything[None], n_classes + 1)[0]
        self.most = min(max_rules, n)
        wrong = int(self.totals[:n_classes].sum() - self.totals[:n_classes].max())
        if penalty:  # with more rules than this, penalties exceed the possible corrections
            self.most = min(self.most, (wrong - int(self.totals[n_classes])) // penalty)
        depth = max(1, self.most - 1)
        level_bytes = depth * n * 8 * (5 * n_classes + 4)
        if level_bytes > max_bytes:
            raise ParameterError(
                f"prefixes of up to {depth} rules over {n:,} conjunctions need "
                f"{level_bytes:,} bytes; max_bytes leaves {max_bytes:,}. Use a smaller "
                "max_rules or max_conditions, a larger penalty or min_support, or more memory."
            )
        states = max(64, min(MAX_STATES, (max_bytes - level_bytes) // STATE_BYTES))
        states = 1 << (int(states).bit_length() - 1)
        per_class = (depth, n_classes, n)
        self.state = ListState(
            covers=found.covers,
            units=found.layout.units,
            starts=self.starts,
            limits=np.array([n_classes, self.most, penalty, tol], dtype=np.int64),
            counters=np.array([-1, 0, 0, 0], dtype=np.int64),
            values=np.zeros(2, dtype=np.int64),
            left=np.zeros((depth, n_words), dtype=np.uint64),
            totals=np.zeros((depth, n_classes + 1), dtype=np.int64),
            costs=np.zeros(depth, dtype=np.int64),
            active=np.zeros((depth, n), dtype=np.int64),
            sums=np.zeros((depth, n, n_classes + 1), dtype=np.int64),
            children=np.zeros((depth, n), dtype=np.int64),
            bounds=np.zeros((depth, n), dtype=np.int64),
            ranges=np.zeros((depth, 3), dtype=np.int64),
            path=np.zeros(max(1, self.most), dtype=np.int64),
            best=np.zeros(max(1, self.most), dtype=np.int64),
            gains=np.zeros(per_class, dtype=np.int64),
            losses=np.zeros(per_class, dtype=np.int64),
            keys=np.zeros((states, 2), dtype=np.uint64),
            proven=np.zeros(states, dtype=np.int64),
            rules=np.zeros(states, dtype=np.int8),
        )
        self.state.values[1] = wrong

    # -- results ---------------------------------------------------------------------------------

    @property
    def best(self) -> list[int]:
        """The antecedents of the best list."""
        found: list[int] = self.state.best[: self.state.counters[3]].tolist()
        return found

    @property
    def objective(self) -> int:
        """The objective of the best list."""
        return int(self.state.values[1]) + self.found.base

    @property
    def threshold(self) -> int:
        """The objective below which lists are searched for."""
        return int(self.state.values[0]) + self.found.base

    def lower(self) -> int:
        """Return a lower bound on all lists: of open nodes, and the threshold for pruned ones."""
        state, bound = self.state, int(self.state.values[0])
        pending = int(state.counters[1])  # the children of the last level are not listed yet
        for level in range(state.counters[0] + 1 - pending):
            count, following = state.ranges[level, 1:3].tolist()
            if pending and level == state.counters[0] - 1:
                following -= 1  # the child whose own children are not listed
            if following < count:
                bound = min(bound, int(state.bounds[level, following]))
        if pending and state.counters[0] == 0:
            bound = 0
        return bound + self.found.base

    # -- searching -------------------------------------------------------------------------------

    def restart(self, threshold: int) -> None:
        """Restart with the empty prefix, for lists below a threshold."""
        state, n = self.state, len(self.found.covers)
        state.values[0] = threshold - self.found.base
        if self.most == 0 or n == 0:
            return
        state.counters[:2] = 0, 1
        state.left[0] = self.found.layout.everything
        state.totals[0] = self.totals
        state.costs[0] = 0
        state.active[0] = np.arange(n)
        state.ranges[0] = n, 0, 0

    def advance(self, work: int) -> bool:
        """Do about ``work`` units of work; return True if the search has ended."""
        return bool(search_lists(self.state, work) == DONE)

    def share(self) -> float:
        """Return 0: the completed share is unknown."""
        return 0.0

    def start(self, late: Callable[[], bool]) -> None:
        """Run beam searches for a first list, until ``late`` returns True."""
        largest = np.argsort(-self.totals[: self.found.n_classes], kind="stable")
        for default in [None, *largest[:DEFAULTS].tolist()]:
            for eagerness in EAGERNESS:
                if late() or not self.most:
                    return
                self._beam(eagerness, default)

    def _beam(self, eagerness: int, default: int | None) -> None:
        """Extend prefixes rule by rule, scored with one class or the best class as the default."""
        n_classes = self.found.n_classes
        beam: list[tuple[Words, int, list[int]]] = [(self.found.layout.everything, 0, [])]
        for _ in range(self.most):
            ranked: dict[bytes, tuple[int, Words, int, list[int]]] = {}
            for left, errors, path in beam:
                sums = self.found.layout.sums(self.found.covers, n_classes, left)
                totals = self.found.layout.sums(left[None], n_classes)[0]
                covered, rest = sums.sum(axis=1), totals - sums
                wrong = errors + covered - sums.max(axis=1)
                open_errors = rest.sum(axis=1) - rest.max(axis=1)
                self._offer(path, wrong + open_errors)
                if default is not None:
                    open_errors = rest.sum(axis=1) - rest[:, default]
                score = eagerness * wrong + open_errors
                score[covered == 0] = np.iinfo(np.int64).max
                for a in np.argsort(score, kind="stable")[:BEAM].tolist():
                    after = left & ~self.found.covers[a]
                    key = after.tobytes()
                    if covered[a] and (key not in ranked or score[a] < ranked[key][0]):
                        ranked[key] = int(score[a]), after, int(wrong[a]), [*path, a]
            best = sorted(ranked.values(), key=lambda item: (item[0], item[3]))[:BEAM]
            beam = [item[1:] for item in best]

    def _offer(self, path: list[int], errors: npt.NDArray[np.int64]) -> None:
        """Keep a path and its best last rule if they make the best list so far."""
        state, last = self.state, int(errors.argmin())
        value = int(errors[last]) + self.penalty * (len(path) + 1)
        if value < state.values[1]:
            state.values[1], state.counters[3] = value, len(path) + 1
            state.best[: len(path) + 1] = [*path, last]


#: Places of the table of states that may hold one state.
PROBES = 4


@compiled()
def _weight(covers: Any, a: Any, left: Any, units: Any, start: Any, stop: Any) -> Any:
    """Return ``Σ units[w] · popcount(covers[a, w] & left[w])`` over w from start to stop."""
    total = np.int64(0)
    for w in range(np.uint64(start), np.uint64(stop)):
        total += np.int64(ones(covers[a, w] & left[w])) * units[w]
    return total


class ListState(NamedTuple):
    """The arrays of a search over A antecedents, W words of atoms, K classes, lists of R rules.

    ``covers`` and ``units`` are the packed truths and the weights of :class:`RowLayout`; ``starts``
    has the first word of each kind.  ``limits`` are K, R, the penalty, and the least improvement
    that counts.  ``counters`` are the level (−1 when done), whether it must be evaluated, the
    evaluated prefixes, and the length of the best list.  ``values`` are the threshold (only lists
    below it are searched for) and the objective of the best list.

    Level L is a prefix of L rules.  It leaves the atoms ``left``, with weights ``totals``; its
    errors and penalties are ``costs``.  The antecedents ``active`` may follow it, with weights
    ``sums`` within the remaining atoms, by class and of the sure errors; ``gains`` and ``losses``,
    in their order, are P and N above.  ``children`` may follow directly, best of the ``bounds``
    first; ``ranges`` has the numbers of active antecedents and of children, and the next child;
    ``path`` is the antecedent of the open child.

    The table of states, by a hash of the remaining atoms: ``keys``, two words each, and
    ``proven``, a lower bound on the cost of the rest of a list of at most ``rules`` further rules.
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
    ranges: Annotated[Any, "int64[:, ::1]"]  # (D, 3)
    path: Annotated[Any, "int64[::1]"]  # (R,)
    best: Annotated[Any, "int64[::1]"]  # (R,)
    gains: Annotated[Any, "int64[:, :, ::1]"]  # (D, K, A)
    losses: Annotated[Any, "int64[:, :, ::1]"]  # (D, K, A)
    keys: Annotated[Any, "uint64[:, ::1]"]  # (T, 2)
    proven: Annotated[Any, "int64[::1]"]  # (T,)
    rules: Annotated[Any, "int8[::1]"]  # (T,)


@compiled(
    "void(uint64[:, ::1], uint64[::1], int64[::1], int64[::1], int64[:, ::1])",
)
def class_sums(covers: Any, left: Any, units: Any, starts: Any, out: Any) -> None:
    """Compute the weight of each kind within each cover and ``left``."""
    for a in range(covers.shape[0]):
        for kind in range(starts.shape[0] - 1):
            out[a, kind] = _weight(covers, a, left, units, starts[kind], starts[kind + 1])


@compiled()
def _remember(state: Any, length: Any, last: Any, value: Any) -> None:
    """Keep the path and a last rule as the best list."""
    values, counters, best = state.values, state.counters, state.best
    values[1] = value
    counters[3] = length
    for i in range(length - 1):
        best[i] = state.path[i]
    best[length - 1] = last
    values[0] = min(values[0], value - state.limits[3])


@compiled()
def _look_up(state: Any, first: Any, second: Any, n_rules: Any) -> Any:
    """Return a lower bound on the cost of the rest of a list, 0 if none is stored."""
    keys = state.keys
    mask = keys.shape[0] - 1
    for probe in range(PROBES):
        place = (np.int64(first >> np.uint64(1)) + probe) & mask
        if keys[place, 0] == first and keys[place, 1] == second:
            return state.proven[place] if state.rules[place] >= n_rules else 0
    return 0


@compiled()
def _store(state: Any, first: Any, second: Any, n_rules: Any, value: Any) -> None:
    """Store a lower bound; without a free place, replace one for fewer rules."""
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
    """Return a 64-bit hash of a packed set."""
    value = salt
    for w in range(left.shape[0]):
        value = (value ^ left[w]) * np.uint64(0x9E3779B97F4A7C15)
        value ^= value >> np.uint64(29)
    value *= np.uint64(0xBF58476D1CE4E5B9)
    return value ^ (value >> np.uint64(32))


@compiled()
def _evaluate(state: Any, level: Any, memory: Any, numbers: Any) -> Any:
    """Weigh antecedents after a prefix, try each as the last rule, list children; return work."""
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
        if correct <= penalty:  # no more in any later prefix
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
    ranges[0], ranges[1], ranges[2] = kept, 0, 0
    further = most - level - 1  # rules that may follow a child
    threshold = values[0]
    if penalty > 0:
        further = min(further, (threshold - 1 - cost - penalty - totals[n_classes]) // penalty)
    if kept == 0 or further <= 0:
        return work
    for i in range(kept):
        bounds[i] = np.iinfo(np.int64).max
    before, wrong, sure = numbers[0], numbers[1], numbers[2]
    for c in range(n_classes):
        for i in range(kept):
            a, covered, correct, gain = active[i], np.int64(0), np.int64(0), np.int64(0)
            for k in range(n_classes):
                covered += sums[a, k]
                correct = max(correct, sums[a, k])
                if k != c:
                    gain = max(gain, sums[a, k])
            gains[c, i], losses[c, i] = gain, sums[a, c]
            before[i] = cost + penalty + covered - correct
            wrong[i] = whole - totals[c] - (covered - sums[a, c])
            sure[i] = totals[n_classes] - sums[a, n_classes]
        bound_children(
            gains[c], losses[c], before, wrong, sure, kept, further, penalty, threshold, memory,
            bounds,
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
def _last_rule(state: Any, level: Any, a: Any, left: Any, totals: Any, cost: Any, of: Any) -> Any:
    """Find the best last rule after child a; return the least cost of the rest, and the work.

    A rule b corrects at most P(b), and at most P(b) − N(b) plus the part of N captured by a.
    """
    covers, units, starts = state.covers, state.units, state.starts
    values, n_classes, penalty = state.values, state.limits[0], state.limits[2]
    active, n_active = state.active[level], state.ranges[level, 0]
    captured = state.sums[level, a]
    whole = np.int64(0)
    for k in range(n_classes):
        whole += totals[k]
    least = values[0] - cost  # skipped rules cost at least this
    tried = 0
    for c in range(n_classes):
        needed = whole - totals[c] + penalty - least  # a rule must gain more than this
        gains, losses, shield = state.gains[level, c], state.losses[level, c], captured[c]
        tried += n_active // 8
        for i in range(n_active):
            if gains[i] <= needed or gains[i] - losses[i] + shield <= needed:
                continue
            b, gain = active[i], np.int64(0)
            tried += 1
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
    """Continue a depth-first branch and bound for ``work`` words; return DONE or SLICE."""
    counters, values, limits = state.counters, state.values, state.limits
    n_classes, most, penalty = limits[0], limits[1], limits[2]
    n_words, n_antecedents = state.covers.shape[1], state.covers.shape[0]
    memory = np.empty((4, BUCKETS, most), np.int64)
    numbers = np.empty((3, n_antecedents), np.int64)
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


#: Steps into which N is divided, rounded down.
BUCKETS = 256


@compiled()
def _insert(table: Any, row: Any, n: Any, value: Any) -> None:
    """Insert a value into a row of the n largest values, in descending order."""
    place = n - 1
    if value <= table[row, place]:
        return
    while place > 0 and table[row, place - 1] < value:
        table[row, place] = table[row, place - 1]
        place -= 1
    table[row, place] = value


@compiled()
def _largest_up_to(keys: Any, values: Any, n: Any, shift: Any, most: Any, out: Any) -> Any:
    """Set row b to sums of the largest values with keys up to step b; return the last row."""
    top = np.int64(0)
    for i in range(n):
        top = max(top, keys[i] >> shift)
    for b in range(top + 1):
        for s in range(most):
            out[b, s] = 0
    for i in range(n):
        _insert(out, keys[i] >> shift, most, values[i])
    for b in range(1, top + 1):
        for s in range(most):
            if out[b - 1, s] == 0:
                break
            _insert(out, b, most, out[b - 1, s])
    for b in range(top + 1):
        for s in range(1, most):
            out[b, s] += out[b, s - 1]
    return top


@compiled()
def _gain(best: Any, without: Any, top: Any, shift: Any, n_rules: Any, captured: Any) -> Any:
    """Return the largest gain of ``n_rules`` rules for other classes, given the captured c."""
    step = captured >> shift
    if step >= top:
        return best[top, n_rules - 1]
    return max(best[step, n_rules - 1], captured + without[step + 1, n_rules - 1])


@compiled()
def bound_children(
    gains: Any,
    losses: Any,
    before: Any,
    wrong: Any,
    sure: Any,
    n: Any,
    n_rules: Any,
    penalty: Any,
    threshold: Any,
    memory: Any,
    bounds: Any,
) -> None:
    """Lower ``bounds`` to those of lists below the threshold with a first rule and 1, …, S more.

    The default has one class: ``gains`` and ``losses`` are P and N of n antecedents.  ``before`` is
    the cost of the list up to its next rule; ``wrong`` are the errors after it if no rule follows,
    and ``sure`` the least possible errors.
    """
    best, without, shields, reach = memory[0], memory[1], memory[2], memory[3]
    shift = 0
    for i in range(n):
        while losses[i] >> shift >= BUCKETS:
            shift += 1
    top = _largest_up_to(losses, gains, n, shift, n_rules, best)
    _largest_up_to(losses, losses, n, shift, n_rules, shields)
    for s in range(n_rules):
        following = best[top, s] - (top << shift)
        for b in range(top, -1, -1):
            following = max(following, best[b, s] - (b << shift))
            without[b, s] = following
    for s in range(1, n_rules + 1):
        for b in range(top + 1):
            captured = ((b + 1) << shift) - 1
            largest = _gain(best, without, top, shift, s, captured)
            for q in range(1, s):
                shield = captured + shields[top, q - 1]
                largest = max(largest, _gain(best, without, top, shift, s - q, shield))
            reach[b, s - 1] = largest
    for i in range(n):
        for s in range(1, n_rules + 1):
            least, limit = before[i] + s * penalty, min(bounds[i], threshold)
            if least + sure[i] >= limit:
                break
            errors = max(wrong[i] - reach[losses[i] >> shift, s - 1], sure[i])
            bounds[i] = min(limit, least + errors)
