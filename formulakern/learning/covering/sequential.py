"""What sequential covering shares: the training table, and the conditions that a rule may be given.

A rule under way is the list of the different rows that satisfy it. In every column these rows are
counted by value and class: by a table of all values if the rows are many, by sorting if they are
few. One pass over the counts then scores every condition of the column, at every cut point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray, IntArray
from formulakern.compilation import compiled
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.encoding.ranks import AT_LEAST, AT_MOST, EQUAL, UNEQUAL, RankedTable

__all__ = [
    "ENTROPY",
    "LAPLACE",
    "Decision",
    "Growth",
    "LearnedRules",
    "TrainingTable",
    "candidates",
    "conditions_met",
    "grow",
    "growth_state",
    "of_conditions",
    "rows_of",
]

#: Bits of the relations that a column has, for each relation.
ASKED = (1 + 16 + 32, 2, 4, 8)
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


@compiled("int64(state, int64[::1], int64, int64, float64, float64, float64)", state=Growth)
def candidates(
    state: Any,
    rows: Any,
    measure: Any,
    target: Any,
    share: Any,
    least: Any,
    least_ratio: Any,
) -> Any:
    """Return the conditions that tell some of these rows from others, and what each is worth.

    Of the cuts of a column in each direction only the best, and the best of a large enough ratio.
    With FOIL only those that are better than all before, so that the last is the best.

    Parameters
    ----------
    state : Growth
        Receives ``found`` (column, relation, value), ``scores`` and ``ratios``.
    rows : int64 (r,)
    measure : FOIL, ENTROPY or LAPLACE
    target : int
        The class, for FOIL and LAPLACE.
    share : float
        Of the class among the rows, for FOIL.
    least : float
        The least weight of the rows that satisfy a condition; for FOIL of those of the class.
    least_ratio : float
        Of the likelihood ratio statistic.

    Returns
    -------
    int
        How many.
    """
    single, n_rows = measure == FOIL, len(rows)
    sums, counts, values = state.sums, state.counts, state.values
    n, best = 0, 0.0 if single else -np.inf
    for column in range(len(state.n_values)):
        top, asked = state.n_values[column], state.relations[column]
        n_all = _count(state, column, rows, n_rows)
        n_present = n_all - 1 if values[n_all - 1] == top else n_all
        for relation in range(4):
            cut = relation in (AT_MOST, AT_LEAST)
            if n_all < 2 or not asked & ASKED[relation]:
                continue
            n_steps = n_present - 1 if cut else n_all if relation == EQUAL else n_present
            sums[:] = 0.0
            # the best so far of a direction, and the best of a large enough ratio
            score_1, value_1, ratio_1 = -np.inf, np.int64(-1), 0.0
            score_2, value_2, ratio_2 = -np.inf, np.int64(-1), 0.0
            for step in range(n_steps):
                place = n_present - 1 - step if relation == AT_LEAST else step
                value = values[place]
                if not cut:
                    sums[:] = 0.0
                for other in range(n_present if relation == UNEQUAL else 1):
                    if relation != UNEQUAL:
                        other = place
                    elif other == place:
                        continue
                    for k in range(len(sums)):
                        sums[k] += counts[other, k]
                if relation == EQUAL:
                    if value == top:
                        possible = asked & 32 != 0
                    else:
                        possible = asked & 1 != 0 or (asked & 16 != 0 and value == 1)
                elif cut and single:
                    # A value of this class alone belongs on the side of the class, except the
                    # last beside missing entries: no cut has all values and leaves these out.
                    beyond = place + 1 if relation == AT_MOST else place - 1
                    others = 1.0 if step + 1 == n_steps and n_present < n_all else 0.0
                    for k in range(len(sums)):
                        others += counts[beyond, k] if k != target else 0.0
                    possible = counts[place, target] > 0.0 and others > 0.0
                else:
                    possible = True
                if possible:
                    held = max(best, score_1) if single else best
                    score = _score(sums, measure, target, share, least, held)
                    if score > score_1 or score > score_2:
                        ratio = 0.0 if single else _ratio(sums, state.expected)
                        if score > score_1:
                            score_1, value_1, ratio_1 = score, value, ratio
                        if score > score_2 and ratio > least_ratio:
                            score_2, value_2, ratio_2 = score, value, ratio
                if cut and step + 1 < n_steps:
                    continue
                for _ in range(2):
                    if value_1 >= 0 and score_1 > best:
                        state.found[n, 0], state.found[n, 1] = column, relation
                        state.found[n, 2] = value_1
                        state.scores[n], state.ratios[n] = score_1, ratio_1
                        n += 1
                        best = score_1 if single else best
                    if single or value_2 == value_1:
                        break
                    score_1, value_1, ratio_1 = score_2, value_2, ratio_2
                score_1, value_1 = -np.inf, np.int64(-1)
                score_2, value_2 = -np.inf, np.int64(-1)
    return n


def conditions_met(
    ranks: npt.NDArray[np.int32],
    n_values: npt.NDArray[np.int64],
    conditions: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Return how many conditions of a rule each row satisfies before the first that it does not.

    Parameters
    ----------
    ranks : ndarray of shape (C, m), int32
    n_values : ndarray of shape (C,), int64
    conditions : ndarray of shape (c, 3), int64
    rows : ndarray of shape (r,), int64

    Returns
    -------
    ndarray of shape (r,), int64
        c where all are satisfied.
    """
    met = np.zeros(len(rows), dtype=np.int64)
    alive = np.arange(len(rows))
    for column, relation, value in conditions.tolist():
        entries = ranks[column][rows[alive]]
        if relation == EQUAL:
            truths = entries == value
        elif relation == AT_LEAST:
            truths = (entries >= value) & (entries < n_values[column])
        elif relation == AT_MOST:
            truths = entries <= min(value, n_values[column] - 1)
        else:
            truths = (entries != value) & (entries < n_values[column])
        alive = alive[truths]
        met[alive] += 1
    return met


def grow(
    state: Growth,
    rows: npt.NDArray[np.int64],
    target: int,
    least: float,
    start: npt.NDArray[np.int64],
    longest: int,
) -> npt.NDArray[np.int64]:
    """Add conditions of the largest FOIL gain until no row of another class is left.

    Parameters
    ----------
    state : Growth
    rows : ndarray of shape (r,), int64
        Those that satisfy the rule.
    target : int
        The class.
    least : float
        The least weight of this class that a condition leaves.
    start : ndarray of shape (c, 3), int64
        The rule.
    longest : int
        The largest number of conditions.

    Returns
    -------
    ndarray of shape (conditions, 3), int64
    """
    conditions = list(start)
    while len(conditions) < longest:
        weights = state.weights[rows].sum(axis=0)
        right, total = float(weights[target]), float(weights.sum())
        if right <= 0.0 or np.delete(weights, target).sum() <= 0.0:
            break
        n = candidates(state, rows, FOIL, target, right / total, least, 0.0)
        if n == 0:
            break
        conditions.append(state.found[n - 1].copy())
        met = conditions_met(state.ranks, state.n_values, conditions[-1][None], rows)
        rows = rows[met == 1]
    return np.array(conditions, dtype=np.int64).reshape(-1, 3)


@dataclass(frozen=True, eq=False)
class Decision:
    """A rule that was learned: its conditions, int64 of shape (c, 3), and the class."""

    conditions: IntArray
    label: int


@dataclass(frozen=True, eq=False)
class LearnedRules:
    """What a learner returns.

    Parameters
    ----------
    rules : list of Decision
    default : int
        The class of rows that no rule covers.
    stopped : {"complete", "rules", "time"}
    """

    rules: list[Decision]
    default: int
    stopped: str = "complete"


@dataclass(eq=False)
class TrainingTable:
    """A ranked table with the weights of its rows by class.

    Parameters
    ----------
    table : RankedTable of m different rows
    weights : ndarray of shape (m, K), float64
    relations : ndarray of shape (C,), int64
        As in :class:`~formulakern.learning.covering.growth.Growth`.
    deadline : Deadline, optional
    report : callable, optional
        Is told about every rule.
    unit : float, default=1.0
        The weight that counts as one row.  Equal rows are merged, so that it is not to be seen.
    """

    table: RankedTable
    weights: FloatArray
    relations: IntArray
    deadline: Deadline = UNLIMITED
    report: Callable[[Decision, FloatArray], None] | None = None
    unit: float = 1.0

    @property
    def n_classes(self) -> int:
        """K."""
        return int(self.weights.shape[1])

    @property
    def n_conditions(self) -> int:
        """How many different conditions a rule may have."""
        several, one = self.table.n_values, np.ones_like(self.table.n_values)
        cuts = np.maximum(several - 1, 0)
        asked = self.relations[None] >> np.arange(6)[:, None] & 1
        return int((np.array([several, cuts, cuts, several, one, one]) * asked).sum())

    def growth(self, weights: FloatArray) -> Growth:
        """Return the table for compiled loops, with other weights of its rows."""
        return growth_state(self.table.ranks, self.table.n_values, self.relations, weights)

    def met(self, conditions: IntArray, rows: npt.NDArray[np.int64]) -> IntArray:
        """Return how many conditions each row satisfies before the first that it does not."""
        return conditions_met(self.table.ranks, self.table.n_values, conditions, rows)

    def covered(self, conditions: IntArray, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return which of these rows satisfy a rule."""
        return np.asarray(self.met(conditions, rows) == len(conditions))

    def out_of_time(self) -> bool:
        """Return whether the time limit has passed."""
        return self.deadline.over()

    @property
    def stopped(self) -> str:
        """How learning ended."""
        return "time" if self.out_of_time() else "complete"

    def tell(self, rule: Decision, counts: FloatArray) -> None:
        """Report a rule with the weight by class of the rows that it decides."""
        if self.report is not None:
            self.report(rule, counts)


def rows_of(weights: FloatArray) -> npt.NDArray[np.int64]:
    """Return the rows of positive weight."""
    return np.flatnonzero(weights.any(axis=1))


def of_conditions(conditions: Sequence[tuple[int, int, int]]) -> IntArray:
    """Conditions as an array."""
    return np.array(conditions, dtype=np.int64).reshape(-1, 3)
