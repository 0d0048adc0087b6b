"""RIPPER and IREP: rules grown on two thirds of the rows and pruned on the rest, class by class.

W. W. Cohen, *Fast effective rule induction*, ICML 1995, doi:10.1016/B978-1-55860-377-6.50023-2;
J. Fürnkranz and G. Widmer, *Incremental reduced error pruning*, ICML 1994,
doi:10.1016/B978-1-55860-335-6.50017-9.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray, IntArray
from formulakern.learning.covering.description_length import exception_bits, theory_bits
from formulakern.learning.covering.sequential import (
    Decision,
    LearnedRules,
    TrainingTable,
    grow,
    of_conditions,
    rows_of,
)

__all__ = ["RipperOptions", "ripper"]

#: So many bits above the shortest description a rule set stops to grow.
SURPLUS = 64.0
#: Of the rows, one share in so many prunes.
FOLDS = 3
#: A rule ends with so many conditions at the latest.
LONGEST = 255

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RipperOptions:
    """What the two algorithms differ in, and how far they go.

    Parameters
    ----------
    description_length : bool
        RIPPER: a rule set is judged by its description length.  Without it, IREP: it stops at the
        first rule that is wrong on half of the rows that it covers for pruning.
    optimizations : int
        Rounds in which every rule may be replaced.
    min_weight : float
        The least weight of its class that a rule covers.
    max_conditions, max_rules : int
        Of a rule, and of a class.
    """

    description_length: bool = True
    optimizations: int = 2
    min_weight: float = 2.0
    max_conditions: int = LONGEST
    max_rules: int = 2**31


def ripper(
    training: TrainingTable, options: RipperOptions, generator: np.random.Generator
) -> LearnedRules:
    """Learn an ordered list of rules, the rarest class first; the most frequent is the default.

    ``generator`` divides the rows into those that rules are grown on and those that prune them.
    """
    totals = training.weights.sum(axis=0)
    order = [k for k in np.argsort(totals, kind="stable").tolist() if totals[k] > 0]
    rows = rows_of(training.weights)
    rules: list[Decision] = []
    for label in order[:-1]:
        learner = _OneClass(training, label, rows, options, generator)
        learner.learn()
        for conditions in learner.rules:
            inside = training.covered(conditions, rows)
            decision = Decision(conditions, label)
            training.tell(decision, training.weights[rows[inside]].sum(axis=0))
            rules.append(decision)
            rows = rows[~inside]
    return LearnedRules(rules, order[-1], training.stopped)


class _OneClass:
    """The rules of one class against the rest, over the rows that no earlier class took."""

    def __init__(
        self,
        training: TrainingTable,
        label: int,
        rows: Rows,
        options: RipperOptions,
        generator: np.random.Generator,
    ) -> None:
        self.training, self.options, self.generator, self.rows = training, options, generator, rows
        weights = training.weights[rows]
        #: by row: the weight of other classes, and of this one
        others = np.delete(weights, label, axis=1).sum(axis=1)
        self.weights = np.column_stack([others, weights[:, label]])
        self.totals = self.weights.sum(axis=0)
        self.growth = training.growth(np.zeros((training.table.n_rows, 2)))
        self.n_conditions = training.n_conditions
        self.rules: list[IntArray] = []
        self.covers: list[npt.NDArray[np.bool_]] = []
        #: bits of a rule, by its length
        self.theory: dict[int, float] = {}
        #: how many rules cover each row
        self.times = np.zeros(len(rows), dtype=np.int32)

    def learn(self) -> None:
        """Build the rule set, optimise it, cover what is left, and drop rules that cost bits."""
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
        while len(self.rules) < self.options.max_rules and not self.training.out_of_time():
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
                bits = self._bits(self.times + cover) + self._theory(rule)
                if other >= own or bits > shortest + SURPLUS:
                    return
                shortest = min(bits, shortest)
            elif wrong >= right:
                return
            self.rules.append(rule)
            self.covers.append(cover)
            self.times += cover

    def _split(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        """Weights to grow and to prune, of all rows: two thirds and one third of every class.

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
                ends = _grown_units(np.cumsum(units))
                part = np.diff(ends, prepend=0.0) / units
                part[part < 1e-9] = 0.0
                part[part > 1 - 1e-9] = 1.0
            grown[some, k] = part * weights
            rest[some, k] = (1.0 - part) * weights
        return grown, rest

    def _grow(self, weights: FloatArray, rows: Rows, start: IntArray) -> IntArray:
        """Return a rule, longer than the one to start from, on the rows of positive weight."""
        rows = rows[weights[rows].any(axis=1)]
        there = self.rows[rows]
        self.growth.weights[there] = weights[rows]
        if len(start):
            there = there[self.training.covered(start, there)]
        longest = min(max(self.options.max_conditions, len(start)), LONGEST)
        return grow(self.growth, there, 1, self.options.min_weight, start, longest)

    def _prune(
        self, rule: IntArray, weights: FloatArray, rows: Rows, whole: bool = False
    ) -> tuple[IntArray, float, float]:
        """The best first conditions of a rule, and the weights that these cover rightly, wrongly.

        The best have the largest (p − n)/(p + n), or (p + N − n)/(P + N) for IREP; or make the
        fewest errors on these rows, ``whole``.
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
        """Replace rules by new ones, or by longer ones, where that describes the rows better."""
        before = np.zeros_like(self.times)
        for place, old in enumerate(self.rules):
            if self.training.out_of_time():
                return
            others = self.times - self.covers[place]
            rows = np.flatnonzero(before == 0)
            grown, kept = self._split(rows)
            kept[others > before] = 0.0  # later rules decide these
            rules = [old]
            for start in (of_conditions([]), old):
                rule = self._prune(self._grow(grown, rows, start), kept, rows, whole=True)[0]
                if len(rule) and not any(np.array_equal(rule, known) for known in rules):
                    rules.append(rule)
            covers = [self.training.covered(rule, self.rows) for rule in rules[1:]]
            covers.insert(0, self.covers[place])
            bits = self._exceptions(*(others + cover for cover in covers))
            best = int(np.argmin(bits + [self._theory(rule) for rule in rules]))
            self.rules[place], self.covers[place] = rules[best], covers[best]
            self.times = others + self.covers[place]
            before += self.covers[place]

    def _reduce(self) -> None:
        """Drop rules, the last first, until each that is left makes the description shorter."""
        place, kept = len(self.rules) - 1, 0
        while kept < len(self.rules):
            without = self.times - self.covers[place]
            shorter, longer = self._exceptions(self.times, without)
            if longer - shorter <= self._theory(self.rules[place]):
                self.times, kept = without, 0
                del self.rules[place], self.covers[place]
            else:
                kept += 1
            place = (place or len(self.rules)) - 1

    # -- description length -------------------------------------------------------------------

    def _bits(self, times: npt.NDArray[np.int32]) -> float:
        """Return the bits of the rules, and of the exceptions if so many rules cover each row."""
        return sum(map(self._theory, self.rules)) + float(self._exceptions(times)[0])

    def _theory(self, rule: IntArray) -> float:
        n = len(rule)
        if n not in self.theory:
            self.theory[n] = float(theory_bits(self.n_conditions, n))
        return self.theory[n]

    def _exceptions(self, *times: npt.NDArray[np.int32]) -> FloatArray:
        """Return the bits of the exceptions if so many rules cover each row, for several cases."""
        fp, right = np.array([(t > 0) @ self.weights for t in times]).T
        other, own = self.totals
        covered = fp + right
        share = own / (own + other)
        return exception_bits(share, covered, own + other - covered, fp, own - right)


def _grown_units(ends: FloatArray) -> FloatArray:
    """Return how many of the first so many units grow: of each three, the first two."""
    whole, rest = np.divmod(ends, FOLDS)
    return np.asarray(whole * (FOLDS - 1) + np.minimum(rest, FOLDS - 1))
