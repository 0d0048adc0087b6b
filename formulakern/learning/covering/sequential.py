"""Sequential covering: RIPPER, IREP, CN2 and 1R, and the candidate conditions of a rule.

A growing rule is the list of the different rows that satisfy it. In every column these rows are
counted by value and class: with a table of all values if the rows are many, by sorting if they are
few. One pass over the counts then scores every condition of the column, at every cut point.

References
----------
Cohen (1995), Fast effective rule induction, ICML, doi:10.1016/B978-1-55860-377-6.50023-2.
Fürnkranz & Widmer (1994), Incremental reduced error pruning, ICML,
doi:10.1016/B978-1-55860-335-6.50017-9.
Clark & Niblett (1989), The CN2 induction algorithm, Machine Learning 3, doi:10.1023/A:1022641700528
(ordered lists, entropy).
Clark & Boswell (1991), Rule induction with CN2: some recent improvements, EWSL,
doi:10.1007/BFb0017011 (unordered sets, Laplace).
Holte (1993), Very simple classification rules perform well on most commonly used datasets, Machine
Learning 11, doi:10.1023/A:1022631118932.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri

from formulakern.arrays import FloatArray, IntArray
from formulakern.compilation import compiled
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.encoding.ranks import AT_LEAST, AT_MOST, EQUAL, UNEQUAL, Condition, RankedTable
from formulakern.learning.covering.description_length import exception_bits, theory_bits

#: Bits of ``relations`` that allow each relation.
RELATION_BITS = (1 + 16 + 32, 2, 4, 8)
#: The comparison of each relation, in the order of their numbers.
COMPARISONS = (np.equal, np.less_equal, np.greater_equal, np.not_equal)
#: The measures of a condition: FOIL's information gain for a class, the negative entropy of all
#: classes, the Laplace estimate of a class's share.
FOIL, ENTROPY, LAPLACE = range(3)

Rows = npt.NDArray[np.int64]


class Growth(NamedTuple):
    """A ranked table of C columns and m rows with the weights of K classes, and working memory.

    ``relations`` encodes the allowed conditions of a column as a sum of 1 for "= v", 2 for "<= c",
    4 for ">= c", 8 for "!= v", 16 for "= 1" alone, 32 for "is missing".
    """

    ranks: Annotated[Any, "int32[:, ::1]"]  # (C, m)
    n_values: Annotated[Any, "int64[::1]"]  # (C,)
    relations: Annotated[Any, "int64[::1]"]  # (C,)
    weights: Annotated[Any, "float64[:, ::1]"]  # (m, K)
    keys: Annotated[Any, "int64[::1]"]  # (m,)
    values: Annotated[Any, "int64[::1]"]  # (greatest n_values + 1,)
    counts: Annotated[Any, "float64[:, ::1]"]  # the same, and K
    sums: Annotated[Any, "float64[::1]"]  # (K,)
    expected: Annotated[Any, "float64[::1]"]  # (K,), shares of the classes among all rows
    found: Annotated[Any, "int64[:, ::1]"]  # (number of candidates, 3)
    scores: Annotated[Any, "float64[::1]"]
    ratios: Annotated[Any, "float64[::1]"]  # likelihood ratio statistics


def growth_state(ranks: Any, n_values: Any, relations: Any, weights: Any) -> Growth:
    """Return the table with its working memory."""
    most, n_classes = int(n_values.max(initial=0)) + 1, weights.shape[1]
    n_candidates = int((2 * n_values[(relations & 9) > 0]).sum()) + 5 * len(n_values)
    return Growth(
        ranks,
        n_values,
        relations,
        np.array(weights, dtype=np.float64, order="C"),
        np.empty(ranks.shape[1], dtype=np.int64),
        np.empty(most, dtype=np.int64),
        np.empty((most, n_classes)),
        np.empty(n_classes),
        weights.sum(axis=0) / max(weights.sum(), 1e-300),
        np.empty((n_candidates, 3), dtype=np.int64),
        np.empty(n_candidates),
        np.empty(n_candidates),
    )


@compiled()
def _count(state: Any, column: Any, rows: Any, n_rows: Any) -> Any:
    """Sum weights by value and class of some rows in a column; return the number of values."""
    ranks, counts, values, keys = state.ranks[column], state.counts, state.values, state.keys
    weights, n_classes, top = state.weights, state.weights.shape[1], state.n_values[column]
    n_found = 0
    if n_rows * 8 < top:
        for t in range(n_rows):
            keys[t] = (np.int64(ranks[rows[t]]) << 32) | rows[t]
        keys[:n_rows].sort()
        last = np.int64(-1)
        for t in range(n_rows):
            value, row = keys[t] >> 32, keys[t] & 0xFFFFFFFF
            if value != last:
                values[n_found] = last = value
                for k in range(n_classes):
                    counts[n_found, k] = 0.0
                n_found += 1
            for k in range(n_classes):
                counts[n_found - 1, k] += weights[row, k]
        return n_found
    for value in range(top + 1):
        values[value] = 0
        for k in range(n_classes):
            counts[value, k] = 0.0
    for t in range(n_rows):
        row = rows[t]
        value = ranks[row]
        values[value] += 1
        for k in range(n_classes):
            counts[value, k] += weights[row, k]
    for value in range(top + 1):
        if values[value]:
            values[n_found] = value
            for k in range(n_classes):
                counts[n_found, k] = counts[value, k]
            n_found += 1
    return n_found


@compiled()
def _score(sums: Any, measure: Any, target: Any, share: Any, least: Any, best: Any) -> Any:
    """Return the score of a condition from the weights by class of the rows that satisfy it.

    The score is −inf if the condition is not a candidate; below ``best`` it may be any number.
    """
    right, total = sums[target], 0.0
    for k in range(len(sums)):
        total += sums[k]
    if measure == FOIL:
        if right < least or right <= 0.0:
            return -np.inf
        ratio = right / total / share
        if right * (ratio - 1.0) * 1.4426950408889634 <= best:  # log₂ x ≤ (x − 1)·log₂ e
            return best
        return right * np.log2(ratio)
    if total < least or total <= 0.0:
        return -np.inf
    if measure == LAPLACE:
        return (right + 1.0) / (total + len(sums)) if right > 0.0 else -np.inf
    score = 0.0
    for k in range(len(sums)):
        if sums[k] > 0.0:
            score += sums[k] / total * np.log2(sums[k] / total)
    return score


@compiled()
def _ratio(sums: Any, expected: Any) -> Any:
    """Return the likelihood ratio statistic 2 Σ f ln(f/e) of weights and expected shares."""
    total, ratio = 0.0, 0.0
    for k in range(len(sums)):
        total += sums[k]
    for k in range(len(sums)):
        if sums[k] > 0.0:
            ratio += sums[k] * np.log(sums[k] / (total * expected[k]))
    return 2.0 * ratio


@compiled(
    "Tuple((int64[:, ::1], float64[::1], float64[::1]))"
    "(state, int64[::1], int64, int64, float64, float64, float64)",
    state=Growth,
)
def candidates(
    state: Any,
    rows: Any,
    measure: Any,
    target: Any,
    share: Any,
    least: Any,
    least_ratio: Any,
) -> Any:
    """Return the conditions that separate some rows from others, their scores, and their ratios.

    For each column and direction only the best cut, and the best cut of a sufficient ratio, are
    candidates.  With FOIL each condition is better than all before, so the last is the best.
    """
    single = measure == FOIL
    sums, counts, values = state.sums, state.counts, state.values
    tops, places, ratios = np.empty(2), np.empty(2, np.int64), np.empty(2)
    n, best = 0, 0.0 if single else -np.inf
    for column in range(len(state.n_values)):
        top, asked = state.n_values[column], state.relations[column]
        n_all = _count(state, column, rows, len(rows))
        n_present = n_all - 1 if values[n_all - 1] == top else n_all
        for relation in range(4):
            cut = relation in (AT_MOST, AT_LEAST)
            if n_all < 2 or not asked & RELATION_BITS[relation]:
                continue
            n_steps = n_present - 1 if cut else n_all if relation == EQUAL else n_present
            sums[:] = 0.0
            # the best so far of a direction, and the best of a sufficient ratio
            tops[:], places[:] = -np.inf, -1
            for step in range(n_steps):
                place = n_present - 1 - step if relation == AT_LEAST else step
                value, possible = values[place], True
                if not cut:
                    sums[:] = 0.0
                for other in range(n_present if relation == UNEQUAL else 1):
                    if relation != UNEQUAL:
                        other = place
                    elif other == place:
                        continue
                    for k in range(len(sums)):
                        sums[k] += counts[other, k]
                if relation == EQUAL and value == top:
                    possible = asked & 32 != 0
                elif relation == EQUAL:
                    possible = asked & 1 != 0 or (asked & 16 != 0 and value == 1)
                elif cut and single:
                    # A cut includes a next value of this class alone, unless it is the last one and
                    # entries are missing: no cut has all values without the missing ones.
                    beyond = place + 1 if relation == AT_MOST else place - 1
                    others = 1.0 if step + 1 == n_steps and n_present < n_all else 0.0
                    for k in range(len(sums)):
                        others += counts[beyond, k] if k != target else 0.0
                    possible = counts[place, target] > 0.0 and others > 0.0
                if possible:
                    score = _score(sums, measure, target, share, least, max(best, tops[0]))
                    if score > tops[1]:  # never above tops[0]
                        ratio = 0.0 if single else _ratio(sums, state.expected)
                        for k in range(2):
                            if score > tops[k] and (k == 0 or ratio > least_ratio):
                                tops[k], places[k], ratios[k] = score, value, ratio
                if cut and step + 1 < n_steps:
                    continue
                for k in range(1 if single or places[0] == places[1] else 2):
                    if places[k] >= 0 and tops[k] > best:
                        state.found[n, 0], state.found[n, 1] = column, relation
                        state.found[n, 2] = places[k]  # assigning a row takes long to compile
                        state.scores[n], state.ratios[n] = tops[k], ratios[k]
                        n += 1
                        best = tops[k] if single else best
                tops[:], places[:] = -np.inf, -1
    return state.found[:n].copy(), state.scores[:n].copy(), state.ratios[:n].copy()


def conditions_met(
    ranks: npt.NDArray[np.int32],
    n_values: IntArray,
    conditions: IntArray,
    rows: Rows,
) -> IntArray:
    """Return the number of conditions that each row satisfies before the first that fails."""
    met = np.zeros(len(rows), dtype=np.int64)
    alive = np.arange(len(rows))
    for column, relation, value in conditions.tolist():
        entries = ranks[column][rows[alive]]
        truths = COMPARISONS[relation](entries, value)
        if relation in (AT_LEAST, UNEQUAL):  # missing values sort last
            truths &= entries < n_values[column]
        alive = alive[truths]
        met[alive] += 1
    return met


def grow(
    state: Growth,
    rows: Rows,
    target: int,
    least: float,
    start: IntArray,
    longest: int,
) -> IntArray:
    """Add conditions of the largest FOIL gain until no row of another class is left."""
    conditions = list(start)
    while len(conditions) < longest:
        weights = state.weights[rows].sum(axis=0)
        right, total = float(weights[target]), float(weights.sum())
        if right <= 0.0 or np.delete(weights, target).sum() <= 0.0:
            break
        found, _, _ = candidates(state, rows, FOIL, target, right / total, least, 0.0)
        if not len(found):
            break
        conditions.append(found[-1])
        met = conditions_met(state.ranks, state.n_values, conditions[-1][None], rows)
        rows = rows[met == 1]
    return np.array(conditions, dtype=np.int64).reshape(-1, 3)


@dataclass(frozen=True, eq=False)
class Decision:
    """A learned rule: its conditions, int64 of shape (c, 3), and its class."""

    conditions: IntArray
    label: int


@dataclass(frozen=True, eq=False)
class LearnedRules:
    """Rules, the class of uncovered rows, and "complete" or "time_limit"."""

    rules: list[Decision]
    default: int
    stopped: str = "complete"


@dataclass(eq=False)
class TrainingTable:
    """A ranked table of m different rows with their weights by class, float64 (m, K).

    ``relations`` are those of :class:`Growth`, and ``report`` is called with every rule.  ``unit``
    is the weight of one original row, which cannot be derived after equal rows are merged.
    """

    table: RankedTable
    weights: FloatArray
    relations: IntArray
    deadline: Deadline = UNLIMITED
    report: Callable[[Decision, FloatArray], None] | None = None
    unit: float = 1.0

    @property
    def n_conditions(self) -> int:
        """The number of different conditions that a rule may have."""
        several, one = self.table.n_values, np.ones_like(self.table.n_values)
        cuts = np.maximum(several - 1, 0)
        asked = self.relations[None] >> np.arange(6)[:, None] & 1
        return int((np.array([several, cuts, cuts, several, one, one]) * asked).sum())

    def growth(self, weights: FloatArray) -> Growth:
        """Return the table for compiled loops, with other weights of its rows."""
        return growth_state(self.table.ranks, self.table.n_values, self.relations, weights)

    def met(self, conditions: IntArray, rows: Rows) -> IntArray:
        """Return the number of conditions that each row satisfies before the first that fails."""
        return conditions_met(self.table.ranks, self.table.n_values, conditions, rows)

    def covered(self, conditions: IntArray, rows: Rows) -> npt.NDArray[np.bool_]:
        """Return True for each of these rows that satisfies a rule."""
        return np.asarray(self.met(conditions, rows) == len(conditions))

    @property
    def stopped(self) -> str:
        """The reason why learning ended."""
        return "time_limit" if self.deadline.over() else "complete"

    def report_rule(self, rule: Decision, counts: FloatArray) -> None:
        """Report a rule with the weight by class of the rows that it decides."""
        if self.report is not None:
            self.report(rule, counts)


def of_conditions(conditions: Sequence[Condition] | Sequence[IntArray]) -> IntArray:
    """Return conditions as an array."""
    return np.array(conditions, dtype=np.int64).reshape(-1, 3)


# -- RIPPER and IREP -------------------------------------------------------------------------------

#: A rule set stops growing when it is this many bits above the shortest description.
MAX_SURPLUS_BITS = 64.0
#: One row in this many is used for pruning.
FOLDS = 3
#: The largest number of conditions of a rule.
MAX_RULE_CONDITIONS = 255


@dataclass(frozen=True)
class CoveringOptions:
    """The options of the covering learners.

    Without ``description_length`` RIPPER is IREP. ``min_weight`` is the weight of the rows that a
    rule covers, for RIPPER and IREP only those of its class; ``max_rules`` counts the rules of a
    class or of an ordered list.
    """

    description_length: bool = True
    optimizations: int = 2
    beam_width: int = 5
    significance: float = 0.99
    min_weight: float = 1.0
    max_conditions: int = MAX_RULE_CONDITIONS
    max_rules: int = 2**31


def ripper(
    training: TrainingTable, options: CoveringOptions, generator: np.random.Generator
) -> LearnedRules:
    """Learn an ordered list of rules, the rarest class first; the most frequent is the default."""
    totals = training.weights.sum(axis=0)
    order = [k for k in np.argsort(totals, kind="stable").tolist() if totals[k] > 0]
    rows = np.flatnonzero(training.weights.any(axis=1))
    rules: list[Decision] = []
    for label in order[:-1]:
        learner = _OneClass(training, label, rows, options, generator)
        learner.learn()
        for conditions in learner.rules:
            inside = training.covered(conditions, rows)
            decision = Decision(conditions, label)
            training.report_rule(decision, training.weights[rows[inside]].sum(axis=0))
            rules.append(decision)
            rows = rows[~inside]
    return LearnedRules(rules, order[-1], training.stopped)


class _OneClass:
    """The rules of one class against the rest, over the rows that no earlier class covers."""

    def __init__(
        self,
        training: TrainingTable,
        label: int,
        rows: Rows,
        options: CoveringOptions,
        generator: np.random.Generator,
    ) -> None:
        self.training, self.options, self.generator, self.rows = training, options, generator, rows
        weights = training.weights[rows]
        #: by row: the weight of other classes, and of this class
        others = np.delete(weights, label, axis=1).sum(axis=1)
        self.weights = np.column_stack([others, weights[:, label]])
        self.totals = self.weights.sum(axis=0)
        self.growth = training.growth(np.zeros((training.table.n_rows, 2)))
        self.n_conditions = training.n_conditions
        self.rules: list[IntArray] = []
        self.covers: list[npt.NDArray[np.bool_]] = []
        #: bits of a rule, by its length
        self.theory = theory_bits(
            self.n_conditions, np.arange(min(self.n_conditions, MAX_RULE_CONDITIONS) + 1)
        )
        #: the number of rules that cover each row
        self.times = np.zeros(len(rows), dtype=np.int32)

    def learn(self) -> None:
        """Build the rule set, optimise it, cover remaining rows, and drop rules that cost bits."""
        self._build()
        if not self.options.description_length:
            return
        for _ in range(self.options.optimizations):
            self._optimize()
            self._build()
            self._reduce()

    # -- building -----------------------------------------------------------------------------

    def _build(self) -> None:
        """Add rules while rows of the class are left."""
        shortest = self._bits(self.times)
        while len(self.rules) < self.options.max_rules and not self.training.deadline.over():
            left = self.times == 0
            rows = np.flatnonzero(left)
            if self.weights[rows, 1].sum() <= 0:
                return
            grown, kept = self._split(rows)
            rule = self._grow(grown, rows, of_conditions([]))
            rule, right, wrong = self._prune(rule, kept, rows)
            if not len(rule):
                return
            cover = self.training.covered(rule, self.rows)
            if self.options.description_length:
                other, own = self.weights[cover & left].sum(axis=0)
                bits = self._bits(self.times + cover) + self.theory[len(rule)]
                if other >= own or bits > shortest + MAX_SURPLUS_BITS:
                    return
                shortest = min(bits, shortest)
            elif wrong >= right:
                return
            self.rules.append(rule)
            self.covers.append(cover)
            self.times += cover

    def _split(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        """Split the weights of all rows for growing and pruning: 2/3 and 1/3 of every class.

        Of each three units of weight, in random order, two grow: a row of weight 3 is three rows.
        """
        grown, rest = np.zeros_like(self.weights), np.zeros_like(self.weights)
        order = self.generator.permutation(rows)
        for k in range(2):
            some = order[self.weights[order, k] > 0]
            weights = self.weights[some, k]
            units = weights / self.training.unit
            if units.max(initial=1.0) == 1.0:
                part = (np.arange(len(some)) % FOLDS < FOLDS - 1).astype(np.float64)
            else:
                part = np.diff(_grown_units(np.cumsum(units)), prepend=0.0) / units
                part[part < 1e-9] = 0.0
                part[part > 1 - 1e-9] = 1.0
            grown[some, k] = part * weights
            rest[some, k] = (1.0 - part) * weights
        return grown, rest

    def _grow(self, weights: FloatArray, rows: Rows, start: IntArray) -> IntArray:
        """Return a rule that extends ``start``, grown on the rows of positive weight."""
        rows = rows[weights[rows].any(axis=1)]
        there = self.rows[rows]
        self.growth.weights[there] = weights[rows]
        if len(start):
            there = there[self.training.covered(start, there)]
        longest = min(max(self.options.max_conditions, len(start)), MAX_RULE_CONDITIONS)
        return grow(self.growth, there, 1, self.options.min_weight, start, longest)

    def _prune(
        self, rule: IntArray, weights: FloatArray, rows: Rows, whole: bool = False
    ) -> tuple[IntArray, float, float]:
        """Return the best first conditions of a rule, and the right and wrong weight they cover.

        The best have the largest (p − n)/(p + n), or (p + N − n)/(P + N) for IREP; with ``whole``
        they make the fewest errors on these rows.
        """
        met = self.training.met(rule, self.rows[rows])
        wrong, right = (
            np.bincount(met, weights[rows, k], len(rule) + 1)[::-1].cumsum()[::-1] for k in (0, 1)
        )
        if whole or not self.options.description_length:
            worth = right - wrong
        else:
            total = right + wrong
            worth = np.divide(right - wrong, total, out=np.zeros_like(total), where=total > 0)
        n = int(np.argmax(worth > worth.max() - 1e-12 * max(1.0, abs(worth.max()))))
        return rule[:n], right[n], wrong[n]

    # -- optimising ---------------------------------------------------------------------------

    def _optimize(self) -> None:
        """Replace rules by new or longer ones if these shorten the description."""
        before = np.zeros_like(self.times)
        for place, old in enumerate(self.rules):
            if self.training.deadline.over():
                return
            others = self.times - self.covers[place]
            rows = np.flatnonzero(before == 0)
            grown, kept = self._split(rows)
            kept[others > before] = 0.0  # later rules decide these rows
            rules = [old]
            for start in (of_conditions([]), old):
                rule = self._prune(self._grow(grown, rows, start), kept, rows, whole=True)[0]
                if len(rule) and not any(np.array_equal(rule, known) for known in rules):
                    rules.append(rule)
            covers = [self.training.covered(rule, self.rows) for rule in rules[1:]]
            covers.insert(0, self.covers[place])
            bits = self._exceptions(*(others + cover for cover in covers))
            best = int(np.argmin(bits + self.theory[[len(rule) for rule in rules]]))
            self.rules[place], self.covers[place] = rules[best], covers[best]
            self.times = others + self.covers[place]
            before += self.covers[place]

    def _reduce(self) -> None:
        """Drop rules, the last first, until each remaining rule shortens the description."""
        place, kept = len(self.rules) - 1, 0
        while kept < len(self.rules):
            without = self.times - self.covers[place]
            shorter, longer = self._exceptions(self.times, without)
            if longer - shorter <= self.theory[len(self.rules[place])]:
                self.times, kept = without, 0
                del self.rules[place], self.covers[place]
            else:
                kept += 1
            place = (place or len(self.rules)) - 1

    # -- description length -------------------------------------------------------------------

    def _bits(self, times: npt.NDArray[np.int32]) -> float:
        """Return the bits of the rules and of the exceptions, if ``times`` rules cover each row."""
        theory = self.theory[[len(rule) for rule in self.rules]] if self.rules else 0.0
        return float(np.sum(theory) + self._exceptions(times)[0])

    def _exceptions(self, *times: npt.NDArray[np.int32]) -> FloatArray:
        """Return the bits of the exceptions for each array of the numbers of rules per row."""
        fp, right = np.array([(t > 0) @ self.weights for t in times]).T
        other, own = self.totals
        covered = fp + right
        share = own / (own + other)
        return exception_bits(share, covered, own + other - covered, fp, own - right)


def _grown_units(ends: FloatArray) -> FloatArray:
    """Return how many of the first ``ends`` units grow: of each three, the first two."""
    whole, rest = np.divmod(ends, FOLDS)
    return np.asarray(whole * (FOLDS - 1) + np.minimum(rest, FOLDS - 1))


# -- CN2 -------------------------------------------------------------------------------------------


def cn2(training: TrainingTable, options: CoveringOptions, ordered: bool) -> LearnedRules:
    """Learn a list of rules, or an unordered set.

    Each rule of a list has the smallest entropy among the remaining rows.  A set has, for every
    class, rules of the largest Laplace estimate; only covered rows of the class are removed.
    """
    search = _BeamSearch(training, options, ENTROPY if ordered else LAPLACE)
    totals = rest = training.weights.sum(axis=0)
    rules: list[Decision] = []
    for label in [0] if ordered else np.flatnonzero(totals).tolist():
        left, most = training.weights.copy(), len(rules) + options.max_rules
        covered_once = slice(None) if ordered else label
        while left[:, covered_once].any() and len(rules) < most and not training.deadline.over():
            best = search.best(left, label)
            if best is None:
                break
            conditions, rows = best
            counts = (left if ordered else training.weights)[rows].sum(axis=0)
            decided = int(counts.argmax()) if ordered else label
            rules.append(Decision(of_conditions(conditions), decided))
            training.report_rule(rules[-1], counts)
            left[rows, covered_once] = 0.0
        rest = left.sum(axis=0) if ordered and left.any() else totals
    return LearnedRules(rules, int(rest.argmax()), training.stopped)


#: The conditions of a conjunction, and the rows that satisfy it.
_Complex = tuple[tuple[IntArray, ...], Rows]


class _BeamSearch:
    """The best significant conjunction of some rows."""

    def __init__(self, training: TrainingTable, options: CoveringOptions, measure: int) -> None:
        self.training, self.options, self.measure = training, options, measure
        self.growth = training.growth(training.weights)
        freedom = max(1, int(np.count_nonzero(training.weights.any(axis=0))) - 1)
        quantile = float(chdtri(freedom, 1.0 - options.significance))
        self.least_ratio = quantile if options.significance > 0 else -np.inf

    def best(self, weights: FloatArray, label: int) -> _Complex | None:
        """Return the significant conjunction of the largest score on weights (m, K), if any."""
        growth, options, entropy = self.growth, self.options, self.measure == ENTROPY
        growth.weights[:] = weights
        everything = weights.sum(axis=0)
        growth.expected[:] = everything / everything.sum()
        beam: list[_Complex] = [((), np.flatnonzero(weights.any(axis=1)))]
        best, least = None, self._score(everything, label)
        for _ in range(options.max_conditions):
            listed = [
                candidates(
                    growth, rows, self.measure, label, 1.0, options.min_weight, self.least_ratio
                )
                for _, rows in beam
            ]
            parents = np.repeat(np.arange(len(beam)), [len(scores) for _, scores, _ in listed])
            found, scores, ratios = map(np.concatenate, zip(*listed, strict=True))
            fit = np.where(ratios > self.least_ratio, scores, -np.inf)
            if len(fit) and fit.max() > least + 1e-12:
                place = int(fit.argmax())
                best, least = self._longer(beam[parents[place]], found[place]), float(fit[place])
            order = np.argsort(-scores, kind="stable")
            if entropy:  # a pure conjunction cannot improve
                order = order[scores[order] < 0.0]
            different: dict[bytes, _Complex] = {}
            for place in order.tolist():
                item = self._longer(beam[parents[place]], found[place])
                limit = 0.0  # no longer conjunction has a larger score
                if not entropy:
                    right = float(weights[item[1], label].sum())
                    limit = (right + 1.0) / (right + len(everything))
                if limit > least + 1e-12:
                    different.setdefault(item[1].tobytes(), item)
                if len(different) == options.beam_width:
                    break
            beam = list(different.values())
            if not beam or self.training.deadline.over():
                break
        return best

    def _longer(self, parent: _Complex, condition: IntArray) -> _Complex:
        """Return a conjunction with one more condition."""
        conditions, rows = parent
        inside = self.training.covered(condition[None], rows)
        return (*conditions, condition), rows[inside]

    def _score(self, counts: FloatArray, label: int) -> float:
        total = counts.sum()
        if self.measure == LAPLACE:
            return float((counts[label] + 1.0) / (total + len(counts)))
        shares = counts[counts > 0] / total
        return float((shares * np.log2(shares)).sum())


# -- 1R --------------------------------------------------------------------------------------------


def one_rule(training: TrainingTable, min_bucket: float) -> LearnedRules:
    """Return the rules of the column with the fewest errors; in a tie, of the first.

    A nominal column has one rule per value.  The values of an ordered column are joined, from the
    smallest on, until some class has ``min_bucket`` rows.  An interval extends while the next value
    has the same most frequent class; the last interval may have fewer rows.  Finally, adjacent
    intervals of one class are joined.
    """
    columns = [_of_column(training, j, min_bucket) for j in range(len(training.table.columns))]
    best = max(columns, key=lambda listed: sum(float(inside.max()) for _, inside in listed))
    rules = []
    for conditions, inside in best:
        rules.append(Decision(of_conditions(conditions), int(inside.argmax())))
        training.report_rule(rules[-1], inside)
    return LearnedRules(rules, int(training.weights.sum(axis=0).argmax()))


def _of_column(
    training: TrainingTable, column: int, min_bucket: float
) -> list[tuple[list[Condition], FloatArray]]:
    """Return the conditions of a column that some rows satisfy, and their weights by class."""
    ranks, top = training.table.ranks[column], int(training.table.n_values[column])
    counts = np.array([np.bincount(ranks, by_class, top + 1) for by_class in training.weights.T]).T
    listed: list[tuple[list[Condition], FloatArray]] = []
    if training.relations[column] & 2:
        listed = _intervals(counts[:top], column, min_bucket)
    else:
        listed = [([(column, EQUAL, value)], counts[value]) for value in range(top)]
    listed.append(([(column, EQUAL, top)], counts[top]))
    return [(conditions, inside) for conditions, inside in listed if inside.any()]


def _intervals(
    counts: FloatArray, column: int, min_bucket: float
) -> list[tuple[list[Condition], FloatArray]]:
    """Return intervals of an ordered column, with the weights by class in each."""
    buckets = [(0, np.zeros(counts.shape[1]))]  # first value, weights
    for value, here in enumerate(counts):
        first, inside = buckets[-1]
        if inside.max() >= min_bucket and here.any() and here.argmax() != inside.argmax():
            buckets.append((value, here))
        else:
            buckets[-1] = (first, inside + here)
    found = []
    for _, equal in groupby(buckets, key=lambda bucket: int(bucket[1].argmax())):
        starts, weights = zip(*equal, strict=True)
        found.append((starts[0], np.sum(weights, axis=0)))
    ends = [start for start, _ in found[1:]]
    intervals = []
    for (start, weights), end in zip_longest(found, ends):
        conditions = [(column, AT_LEAST, start)] * (start > 0)
        conditions += [] if end is None else [(column, AT_MOST, end - 1)]
        intervals.append((conditions, weights))
    return [interval for interval in intervals if interval[0]]
