"""Compiled: the conditions that a rule can be given next, what each is worth, and growing by them.

A rule under way is the list of the different rows that satisfy it.  In every column these rows are
counted by value and class: by a table of all values where the rows are many, by sorting where they
are few.  One pass over the counts then prices every condition of the column, at every cut point.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from formulakern.compilation import compiled
from formulakern.encoding.ranks import AT_LEAST, AT_MOST, EQUAL, UNEQUAL

__all__ = [
    "ENTROPY",
    "FOIL",
    "LAPLACE",
    "Growth",
    "candidates",
    "conditions_met",
    "grow",
    "growth_state",
]

#: What a condition is worth: FOIL's information gain for a class, the negative entropy of all
#: classes, the Laplace estimate of a class's share.
FOIL, ENTROPY, LAPLACE = range(3)


class Growth(NamedTuple):
    """A ranked table of C columns and m rows with the weights of K classes, and working memory.

    ``relations`` says which conditions a column has, as a sum of 1 for "= v", 2 for "<= c", 4 for
    ">= c", 8 for "!= v", 16 for "= 1" alone, 32 for "is missing".
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
    """The table with its working memory."""
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
def _sort(keys: Any, n: Any) -> None:
    """Sort the first n keys (Shell's sort with Ciura's gaps)."""
    for gap in (1750, 701, 301, 132, 57, 23, 10, 4, 1):
        for i in range(gap, n):
            key, j = keys[i], i
            while j >= gap and keys[j - gap] > key:
                keys[j] = keys[j - gap]
                j -= gap
            keys[j] = key


@compiled()
def _count(state: Any, column: Any, rows: Any, n_rows: Any) -> Any:
    """Weights by value and class of some rows in a column; the number of values that occur."""
    ranks, counts, values, keys = state.ranks[column], state.counts, state.values, state.keys
    weights, n_classes, top = state.weights, state.weights.shape[1], state.n_values[column]
    n_found = 0
    if n_rows * 8 < top:
        for t in range(n_rows):
            keys[t] = (np.int64(ranks[rows[t]]) << 32) | rows[t]
        _sort(keys, n_rows)
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
    """What a condition is worth that rows of these weights by class satisfy.

    −inf where it is no candidate; any number not above ``best`` where it is not above that.
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
    """The likelihood ratio statistic 2 Σ f ln(f/e) of weights against the expected shares."""
    total, ratio = 0.0, 0.0
    for k in range(len(sums)):
        total += sums[k]
    for k in range(len(sums)):
        if sums[k] > 0.0:
            ratio += sums[k] * np.log(sums[k] / (total * expected[k]))
    return 2.0 * ratio


@compiled()
def _offer(
    state: Any, n: Any, column: Any, relation: Any, value: Any, score: Any, ratio: Any
) -> Any:
    state.found[n, 0], state.found[n, 1], state.found[n, 2] = column, relation, value
    state.scores[n], state.ratios[n] = score, ratio
    return n + 1


@compiled()
def _cuts(
    state: Any,
    n: Any,
    column: Any,
    n_found: Any,
    up: Any,
    measure: Any,
    target: Any,
    share: Any,
    least: Any,
    least_ratio: Any,
    best: Any,
) -> Any:
    """The best ``<=`` (up) or ``>=`` of a column as one more candidate; how many there are then.

    If its likelihood ratio is too small, then also the best with one that is not.  A cut between
    two values that are both pure and of the same class is never the best one for FOIL.
    """
    counts, values, sums = state.counts, state.values, state.sums
    sums[:] = 0.0
    found, where, ratio = -np.inf, np.int64(-1), 0.0
    other, there, other_ratio = -np.inf, np.int64(-1), 0.0
    for step in range(n_found - 1):
        here = step if up else n_found - 1 - step
        beyond = here + 1 if up else here - 1
        for k in range(len(sums)):
            sums[k] += counts[here, k]
        if measure == FOIL:
            pure = counts[beyond, target] > 0.0
            for k in range(len(sums)):
                pure = pure and (k == target or counts[beyond, k] == 0.0)
            if pure or counts[here, target] == 0.0:
                continue
            score = _score(sums, measure, target, share, least, max(best, found))
            if score > found:
                found, where = score, values[here]
            continue
        score = _score(sums, measure, target, share, least, best)
        if score > found or score > other:
            here_ratio = _ratio(sums, state.expected)
            if score > found:
                found, where, ratio = score, values[here], here_ratio
            if score > other and here_ratio > least_ratio:
                other, there, other_ratio = score, values[here], here_ratio
    relation = AT_MOST if up else AT_LEAST
    if where >= 0 and found > best:
        n = _offer(state, n, column, relation, where, found, ratio)
        if there >= 0 and there != where:
            n = _offer(state, n, column, relation, there, other, other_ratio)
    return n


@compiled()
def _candidates(
    state: Any,
    rows: Any,
    n_rows: Any,
    measure: Any,
    target: Any,
    share: Any,
    least: Any,
    least_ratio: Any,
    single: Any,
) -> Any:
    """The next conditions, in ``found`` with their ``scores``; how many.

    With ``single`` each is better than the one before, so that the last is the best.
    """
    sums, counts, values = state.sums, state.counts, state.values
    n, best = 0, 0.0 if single else -np.inf
    for column in range(len(state.n_values)):
        top, asked = state.n_values[column], state.relations[column]
        n_found = _count(state, column, rows, n_rows)
        if n_found < 2:
            continue
        for place in range(n_found):
            value = values[place]
            missing = value == top
            if (asked & 32) if missing else (asked & 1 or (asked & 16 and value == 1)):
                for k in range(len(sums)):
                    sums[k] = counts[place, k]
                score = _score(sums, measure, target, share, least, best)
                if score > best:
                    ratio = 0.0 if single else _ratio(sums, state.expected)
                    n = _offer(state, n, column, EQUAL, value, score, ratio)
                    best = score if single else best
            if asked & 8 and not missing:
                sums[:] = 0.0
                for other in range(n_found):
                    if other != place and values[other] != top:
                        for k in range(len(sums)):
                            sums[k] += counts[other, k]
                score = _score(sums, measure, target, share, least, best)
                if score > best:
                    ratio = 0.0 if single else _ratio(sums, state.expected)
                    n = _offer(state, n, column, UNEQUAL, value, score, ratio)
                    best = score if single else best
        if values[n_found - 1] == top:
            n_found -= 1
        for up in (True, False):
            if asked & (2 if up else 4):
                n = _cuts(
                    state,
                    n,
                    column,
                    n_found,
                    up,
                    measure,
                    target,
                    share,
                    least,
                    least_ratio,
                    best,
                )
                if single and n:
                    best = max(best, state.scores[n - 1])
    return n


@compiled()
def _meets(rank: Any, relation: Any, value: Any, top: Any) -> Any:
    if relation == EQUAL:
        return rank == value
    if rank == top:
        return False
    if relation == AT_MOST:
        return rank <= value
    if relation == AT_LEAST:
        return rank >= value
    return rank != value


@compiled("int64(state, int64[::1], int64, int64, float64, float64)", state=Growth)
def candidates(
    state: Any, rows: Any, measure: Any, target: Any, least: Any, least_ratio: Any
) -> Any:
    """The conditions that tell some of these rows from others, and what each is worth.

    Of the cuts of a column in each direction only the best, and the best of a large enough ratio.

    Parameters
    ----------
    state : Growth
        Receives ``found`` (column, relation, value), ``scores`` and ``ratios``.
    rows : int64 (r,)
    measure : ENTROPY or LAPLACE
    target : int
        The class, for LAPLACE.
    least : float
        The least weight of the rows that satisfy a condition.
    least_ratio : float
        Of the likelihood ratio statistic.

    Returns
    -------
    int
        How many.
    """
    return _candidates(state, rows, len(rows), measure, target, 1.0, least, least_ratio, False)


@compiled("int64(state, int64[::1], int64, float64, int64[:, ::1], int64)", state=Growth)
def grow(state: Any, rows: Any, target: Any, least: Any, conditions: Any, n_conditions: Any) -> Any:
    """Add conditions of the largest FOIL gain until no row of another class is left.

    Parameters
    ----------
    state : Growth
    rows : int64 (r,)
        Those that satisfy the rule; changed.
    target : int
        The class.
    least : float
        The least weight of this class that a condition leaves.
    conditions : int64 (most, 3)
        The rule: ``n_conditions`` of them, and room for more.

    Returns
    -------
    int
        The number of conditions.
    """
    n_rows = len(rows)
    while n_conditions < len(conditions):
        right, wrong = 0.0, 0.0
        for t in range(n_rows):
            for k in range(state.weights.shape[1]):
                if k == target:
                    right += state.weights[rows[t], k]
                else:
                    wrong += state.weights[rows[t], k]
        if wrong <= 0.0 or right <= 0.0:
            break
        share = right / (right + wrong)
        n = _candidates(state, rows, n_rows, FOIL, target, share, least, 0.0, True)
        if n == 0:
            break
        column, relation, value = state.found[n - 1]
        conditions[n_conditions] = state.found[n - 1]
        n_conditions += 1
        kept = 0
        for t in range(n_rows):
            if _meets(state.ranks[column, rows[t]], relation, value, state.n_values[column]):
                rows[kept] = rows[t]
                kept += 1
        n_rows = kept
    return n_conditions


@compiled("void(int32[:, ::1], int64[::1], int64[:, ::1], int64[::1], int64[::1])")
def conditions_met(ranks: Any, n_values: Any, conditions: Any, rows: Any, met: Any) -> None:
    """How many conditions of a rule each row satisfies before the first that it does not.

    Parameters
    ----------
    ranks : int32 (C, m)
    n_values : int64 (C,)
    conditions : int64 (c, 3)
    rows : int64 (r,)
    met : int64 (r,)
        Receives the numbers; ``c`` where all are satisfied.
    """
    for t in range(len(rows)):
        n = 0
        while n < len(conditions) and _meets(
            ranks[conditions[n, 0], rows[t]],
            conditions[n, 1],
            conditions[n, 2],
            n_values[conditions[n, 0]],
        ):
            n += 1
        met[t] = n
