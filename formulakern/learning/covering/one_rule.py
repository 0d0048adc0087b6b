"""1R: the one column that classifies best, as a list of one rule per value or interval.

R. C. Holte, *Very simple classification rules perform well on most commonly used datasets*, Machine
Learning 11, 1993, doi:10.1023/A:1022631118932.
"""

from __future__ import annotations

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.encoding.ranks import AT_LEAST, AT_MOST, EQUAL, Condition
from formulakern.learning.covering.sequential import (
    Decision,
    LearnedRules,
    TrainingTable,
    of_conditions,
)

__all__ = ["one_rule"]


def one_rule(training: TrainingTable, min_bucket: float) -> LearnedRules:
    """Return the rules of the column with the fewest errors; of equal ones the first.

    A nominal column has one rule per value.  The values of an ordered one are joined, from the
    least on, until some class has ``min_bucket`` rows, and on while the next value has the same
    most frequent class (the last interval may have fewer); then neighbouring intervals of one class
    are joined.

    Parameters
    ----------
    training : TrainingTable
    min_bucket : float

    Returns
    -------
    LearnedRules
    """
    totals = training.weights.sum(axis=0)
    default = int(totals.argmax())
    best: list[Decision] = []
    right = -1.0
    for column in range(len(training.table.columns)):
        rules, weight = _of_column(training, column, min_bucket)
        if weight > right:
            best, right = rules, weight
    for rule in best:
        rows = np.arange(training.table.n_rows)
        inside = training.covered(rule.conditions, rows)
        training.tell(rule, training.weights[inside].sum(axis=0))
    return LearnedRules(best, default)


def _of_column(
    training: TrainingTable, column: int, min_bucket: float
) -> tuple[list[Decision], float]:
    """Return the rules of a column, and the weight of the rows that they classify rightly."""
    ranks, top = training.table.ranks[column], int(training.table.n_values[column])
    counts = np.array(
        [np.bincount(ranks, training.weights[:, k], top + 1) for k in range(training.n_classes)]
    ).T
    listed: list[tuple[list[Condition], FloatArray]] = []
    if training.relations[column] & 2:
        listed = _intervals(counts[:top], column, min_bucket)
    else:
        listed = [([(column, EQUAL, value)], counts[value]) for value in range(top)]
    listed.append(([(column, EQUAL, top)], counts[top]))
    rules, right = [], 0.0
    for conditions, inside in listed:
        if inside.any():
            rules.append(Decision(of_conditions(conditions), int(inside.argmax())))
            right += float(inside.max())
    return rules, right


def _intervals(
    counts: FloatArray, column: int, min_bucket: float
) -> list[tuple[list[Condition], FloatArray]]:
    """Intervals of an ordered column, with the weight by class in each."""
    buckets: list[tuple[int, FloatArray]] = []  # first value, weights
    first, inside = 0, np.zeros(counts.shape[1])
    for value, here in enumerate(counts):
        full = inside.max() >= min_bucket
        if full and here.any() and here.argmax() != inside.argmax():
            buckets.append((first, inside))
            first, inside = value, np.zeros_like(inside)
        inside = inside + here
    buckets.append((first, inside))
    joined = buckets[:1]
    for start, weights in buckets[1:]:
        before = joined[-1]
        if before[1].argmax() == weights.argmax():
            joined[-1] = (before[0], before[1] + weights)
        else:
            joined.append((start, weights))
    found = []
    for place, (start, weights) in enumerate(joined):
        conditions = [(column, AT_LEAST, start)] * (place > 0)
        if place + 1 < len(joined):
            conditions.append((column, AT_MOST, joined[place + 1][0] - 1))
        found.append((conditions, weights))
    return [(conditions, weights) for conditions, weights in found if conditions]
