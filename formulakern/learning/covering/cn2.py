"""CN2: beam search for the best conjunction, again and again.

P. Clark and T. Niblett, *The CN2 induction algorithm*, Machine Learning 3, 1989,
doi:10.1023/A:1022641700528 (ordered lists, entropy); P. Clark and R. Boswell, *Rule induction with
CN2: some recent improvements*, EWSL 1991, doi:10.1007/BFb0017011 (unordered sets, Laplace).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri

from formulakern.arrays import FloatArray, IntArray
from formulakern.encoding.ranks import Condition
from formulakern.learning.covering.sequential import (
    ENTROPY,
    LAPLACE,
    Decision,
    LearnedRules,
    TrainingTable,
    candidates,
    of_conditions,
    rows_of,
)

__all__ = ["BeamOptions", "cn2_list", "cn2_set"]

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class BeamOptions:
    """How wide and how far the search goes.

    Parameters
    ----------
    beam_width : int
        Conjunctions that are made longer at a time.
    significance : float
        The probability with which a rule is kept out whose classes are distributed as those of all
        rows are, in [0, 1); 0 lets every rule in.
    min_weight : float
        The least weight of the rows that a rule covers.
    max_conditions, max_rules : int
    """

    beam_width: int = 5
    significance: float = 0.99
    min_weight: float = 1.0
    max_conditions: int = 255
    max_rules: int = 2**31


@dataclass(frozen=True, eq=False)
class _Complex:
    """A conjunction with the rows that satisfy it."""

    conditions: tuple[Condition, ...]
    rows: Rows
    score: float


def cn2_list(training: TrainingTable, options: BeamOptions) -> LearnedRules:
    """Learn an ordered list: each rule has the smallest entropy of the rows that are left."""
    search = _BeamSearch(training, options, ENTROPY)
    left = training.weights.copy()
    rules: list[Decision] = []
    while left.any() and len(rules) < options.max_rules and not training.out_of_time():
        best = search.best(left, 0)
        if best is None:
            break
        counts = left[best.rows].sum(axis=0)
        rules.append(Decision(of_conditions(best.conditions), int(counts.argmax())))
        training.tell(rules[-1], counts)
        left[best.rows] = 0.0
    rest = (left if left.any() else training.weights).sum(axis=0)
    return LearnedRules(rules, int(rest.argmax()), training.stopped)


def cn2_set(training: TrainingTable, options: BeamOptions) -> LearnedRules:
    """Learn an unordered set: for every class rules of the largest Laplace estimate."""
    search = _BeamSearch(training, options, LAPLACE)
    rules: list[Decision] = []
    totals = training.weights.sum(axis=0)
    for label in np.flatnonzero(totals).tolist():
        left, found = training.weights.copy(), 0
        while left[:, label].any() and found < options.max_rules and not training.out_of_time():
            best = search.best(left, label)
            if best is None:
                break
            rules.append(Decision(of_conditions(best.conditions), label))
            training.tell(rules[-1], training.weights[best.rows].sum(axis=0))
            left[best.rows, label] = 0.0  # only rows of the class are covered once
            found += 1
    return LearnedRules(rules, int(totals.argmax()), training.stopped)


class _BeamSearch:
    """The best significant conjunction of some rows."""

    def __init__(self, training: TrainingTable, options: BeamOptions, measure: int) -> None:
        self.training, self.options, self.measure = training, options, measure
        self.growth = training.growth(training.weights)
        freedom = max(1, int(np.count_nonzero(training.weights.any(axis=0))) - 1)
        quantile = float(chdtri(freedom, 1.0 - options.significance))
        self.least_ratio = quantile if options.significance > 0 else -np.inf

    def best(self, weights: FloatArray, label: int) -> _Complex | None:
        """Return the conjunction of the largest score among the significant ones, if there is any.

        Parameters
        ----------
        weights : ndarray of shape (m, K)
            Of the rows that are left, by class.
        label : int
            The class, for the Laplace estimate.
        """
        growth, options = self.growth, self.options
        growth.weights[:] = weights
        everything = weights.sum(axis=0)
        growth.expected[:] = everything / everything.sum()
        beam = [_Complex((), rows_of(weights), self._score(everything, label))]
        best, least = None, beam[0].score
        for _ in range(options.max_conditions):
            listed: list[tuple[FloatArray, FloatArray, IntArray]] = []
            for item in beam:
                n = candidates(
                    growth, item.rows, self.measure, label, 1.0, options.min_weight,
                    self.least_ratio,
                )  # fmt: skip
                found = growth.scores[:n], growth.ratios[:n], growth.found[:n]
                listed.append((found[0].copy(), found[1].copy(), found[2].copy()))
            parents = np.repeat(np.arange(len(beam)), [len(scores) for scores, _, _ in listed])
            scores = np.concatenate([scores for scores, _, _ in listed])
            ratios = np.concatenate([ratios for _, ratios, _ in listed])
            conditions = np.concatenate([conditions for _, _, conditions in listed])
            fit = np.where(ratios > self.least_ratio, scores, -np.inf)
            if len(fit) and fit.max() > least + 1e-12:
                place = int(fit.argmax())
                best = self._longer(beam[parents[place]], conditions[place], fit[place])
                least = best.score
            order = np.argsort(-scores, kind="stable")
            if self.measure == ENTROPY:  # a pure conjunction does not get any better
                order = order[scores[order] < 0.0]
            different: dict[bytes, _Complex] = {}
            for place in order.tolist():
                item = self._longer(beam[parents[place]], conditions[place], scores[place])
                if self._limit(item, label) > least + 1e-12:
                    different.setdefault(item.rows.tobytes(), item)
                if len(different) == options.beam_width:
                    break
            beam = list(different.values())
            if not beam or self.training.out_of_time():
                break
        return best

    def _longer(self, parent: _Complex, condition: IntArray, score: float) -> _Complex:
        """Return a conjunction with one more condition."""
        rows = parent.rows[self.training.covered(condition[None], parent.rows)]
        column, relation, rank = condition.tolist()
        return _Complex((*parent.conditions, (column, relation, rank)), rows, float(score))

    def _limit(self, item: _Complex, label: int) -> float:
        """Return a bound on the score of all longer conjunctions."""
        if self.measure == ENTROPY:
            return 0.0
        right = float(self.growth.weights[item.rows, label].sum())
        return (right + 1.0) / (right + self.training.n_classes)

    def _score(self, counts: FloatArray, label: int) -> float:
        total = counts.sum()
        if self.measure == LAPLACE:
            return float((counts[label] + 1.0) / (total + len(counts)))
        shares = counts[counts > 0] / total
        return float((shares * np.log2(shares)).sum())
