"""The common parts of all searches: weights on a grid, options, compiled searches, results.

A search compares millions of sums.  Floating point sums depend on the order of addition, so a
bound could fall below a sum that it bounds.  The weights are therefore first rounded to whole
multiples of a unit, 2⁻⁵⁰ of their total or finer, and all their sums are exact in float64.
``Objective.rounding`` bounds the effect on a score; it is 0 for weights such as ±1, 0.25 or
integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.compilation import CompiledFunction
from formulakern.deadline import DONE, FULL, Deadline, TimeLimit, run_slices
from formulakern.encoding.bits import n_words
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.strict import read_packed

#: Totals in units are at most 2 to this power.
TOTAL_BITS = 50


@dataclass(frozen=True, eq=False)
class SearchOptions:
    """The options of every search: the best ``top`` results of a score above ``threshold``.

    ``objective`` and ``direction`` ("both", "positive" or "negative") select the score, see
    :class:`Objective`; "norm" is for conjunctions only.  ``progress`` is called about every 0.05 s
    with an estimate of the completed share.  A search that evaluates more than ``max_evaluated``
    candidates ends as at the time limit.
    """

    top: int = 10
    objective: str = "absolute"
    direction: str = "both"
    threshold: float = 0.0
    time_limit: TimeLimit = None
    progress: Callable[[float], None] | None = None
    max_evaluated: float = math.inf


@dataclass(frozen=True, eq=False)
class Objective:
    """The score of a set of examples, and the rounded weights that searches add up.

    With S_k the sum of weights of column k over the set, the score is max_k |S_k| ("absolute",
    "both"), max_k S_k ("positive"), max_k −S_k ("negative"), the root of Σ_k S_k² ("norm"), or
    max_k S_k − min_k S_k ("spread").  The last is the first over all differences of two columns:
    it is searched in this form, which gives sharper bounds than bounds on each S_k.

    Parameters
    ----------
    columns : ndarray of shape (K', m), float64
        Whole numbers of units: the K columns, or the K(K − 1)/2 differences.
    kind : {"absolute", "spread", "norm"}
    upwards, downwards : bool
        Whether large S_k score, and whether small S_k score.
    exponent : int
        The unit is 2 to this power.
    rounding : float
        A bound on the difference between each score and that of the rounded weights.
    """

    columns: FloatArray
    kind: str
    upwards: bool
    downwards: bool
    exponent: int
    rounding: float

    def in_units(self, value: float) -> float:
        """Return a score in units (infinite if out of range)."""
        with np.errstate(over="ignore"):
            return float(np.ldexp(value, -self.exponent))

    def from_units(self, value: float) -> float:
        """Return a score from units."""
        return math.ldexp(value, self.exponent)

    def scores(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores of sets with these sums, (r, K) → (r,)."""
        if self.kind == "spread":
            return np.asarray(np.ptp(sums, axis=1))
        return self.unit_scores(sums)

    def unit_scores(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores, in units, of sets with these sums of ``columns``, (r, K') → (r,)."""
        signed = [sums] * self.upwards + [-sums] * self.downwards
        return self.largest(np.max(signed, axis=0))

    def largest(self, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Combine the contributions of the columns to scores, (r, K') → (r,)."""
        if self.kind == "norm":
            return np.asarray(np.linalg.norm(sizes, axis=1))
        return np.asarray(np.max(sizes, axis=1))


def objective_of(
    weights: FloatArray, objective: str = "absolute", direction: str = "both"
) -> Objective:
    """Put weights, float64 (m, K), on a grid.

    >>> objective_of(np.array([[1.0], [-2.0], [0.5]])).rounding
    0.0
    >>> objective_of(np.array([[1.0], [2.0], [0.1]])).rounding < 1e-12
    True
    """
    largest = float(np.abs(weights).sum(axis=0).max())
    exponent = unit_exponent(largest)
    units = np.rint(np.ldexp(weights, -exponent))
    columns = units.T
    # exact: differences of neighbours
    moved = np.abs(weights - np.ldexp(units, exponent)).sum(axis=0)
    rounding = float(moved.max())
    if objective == "spread":
        k, other = np.triu_indices(weights.shape[1], 1)
        columns = columns[k] - columns[other]
        rounding = float((moved[k] + moved[other]).max())
    if objective == "norm":  # squares are rounded
        rounding = float(np.linalg.norm(moved)) + 2.0**-49 * largest * weights.shape[1]
    return Objective(
        columns=np.ascontiguousarray(columns),
        kind=objective,
        upwards=direction != "negative",
        downwards=direction != "positive",
        exponent=exponent,
        # the second term is for pairwise summation, when scores are computed from the weights
        rounding=rounding * (1 + 1e-9) + (128 * 2.0**-52 * largest if rounding else 0.0),
    )


def unit_exponent(largest: float) -> int:
    """Return the exponent of 2 of the unit for weights whose absolute values sum to this.

    >>> unit_exponent(1.0), unit_exponent(0.0)
    (-49, 0)
    """
    return math.frexp(largest)[1] - TOTAL_BITS if largest else 0


#: Results times examples per batch of sums.
BATCH_ENTRIES = 1 << 20


class MiningTask:
    """A search in a table in this process, without the examples of weight zero.

    Parameters
    ----------
    propositions : PackedTable, or a table of 0 and 1 of shape (m, p)
    weights : array-like of shape (m,) or (m, K)
        c, finite; one column per vector.
    options : SearchOptions
    """

    def __init__(self, propositions: object, weights: Any, options: SearchOptions) -> None:
        table = read_packed(propositions)
        #: Of all examples, so also of those with a weight.
        self.chains = table.chains
        read = np.asarray(weights, dtype=np.float64)
        read = read[:, None] if read.ndim == 1 else read
        weighted = (read != 0).any(axis=1)
        if not weighted.all():
            table, read = table.take(weighted), read[weighted]
        self.table, self.weights = table, read
        self.goal = objective_of(read, options.objective, options.direction)
        self.top, self.threshold = options.top, options.threshold
        self.deadline, self.progress = Deadline.of(options.time_limit), options.progress
        self.max_evaluated = options.max_evaluated

    def run(self, search: CompiledSearch) -> bool:
        """Continue a search; return True if it ended by itself, not at a limit."""
        if not search.ready(self.deadline):
            return False
        most = self.max_evaluated
        return run_slices(search, self.deadline, self.progress, lambda: search.n_evaluated > most)

    def sums(
        self,
        found: Sequence[tuple[int, ...]],
        covers: Callable[[PackedTable, Sequence[tuple[int, ...]]], NDArray[np.bool_]],
    ) -> FloatArray:
        """Return S_k of each result, summed pairwise from the original weights, shape (r, K).

        ``covers`` returns the truth values of some results on the rows of a table, one row each.
        """
        sums = np.zeros((len(found), self.weights.shape[1]))
        step = max(1, BATCH_ENTRIES // max(1, self.table.n_rows))
        for start in range(0, len(found), step):
            truths = covers(self.table, found[start : start + step])
            for k, column in enumerate(self.weights.T):
                sums[start : start + step, k] = np.where(truths, column, 0.0).sum(axis=1)
        return sums


def ranked(found: Sequence[tuple[int, ...]], scores: FloatArray, threshold: float) -> list[int]:
    """Return the results above the threshold: best first, then fewest propositions, then tuples."""
    passed = np.flatnonzero(scores > threshold).tolist()
    return sorted(passed, key=lambda r: (-scores[r], len(set(found[r])), found[r]))


@dataclass(frozen=True, eq=False)
class MiningResult:
    """The results of a search, best first, and a bound on the score of everything else.

    Parameters
    ----------
    scores : float64 (r,)
    sums : float64 (r, K)
        S_k of each, summed pairwise from the original weights (not T_k − S_k, for complements).
    proven : bool
        Whether the search ran to the end.
    complete : bool
        Whether the results include everything that scores more than the threshold; False after a
        time limit, and if there may be more results than ``top``.
    bound : float
        No other candidate scores more.  If the search ran to the end, this is the last result's
        score or the threshold, plus rounding, which is 0 for integer weights.
    n_evaluated : int
        Conjunctions, instances and partial instances whose sums or bounds were computed.
    """

    scores: FloatArray
    sums: FloatArray
    proven: bool
    complete: bool
    bound: float
    n_evaluated: int


class CompiledSearch:
    """A depth-first search with its state in arrays, so that a compiled loop can be resumed."""

    state: Any
    loop: CompiledFunction[[Any, int], int]
    begun = nothing = False  # nothing: there is nothing to search

    def __init__(self, task: MiningTask, width: int) -> None:
        n = task.table.n_rows
        columns = np.zeros((len(task.goal.columns), 64 * n_words(n)))
        columns[:, :n] = task.goal.columns
        self.limit = task.top
        self.totals: FloatArray = columns.sum(axis=1)
        self.common: dict[str, Any] = {
            "words": task.table.columns,
            "columns": columns,
            "threshold": task.goal.in_units(task.threshold),
            "counters": np.zeros(4, dtype=np.int64),  # open levels, results, evaluated, begun
            # untouched zeros take no memory
            "scores": np.zeros(task.top),
            "heap": np.zeros(task.top, dtype=np.int64),
            "found": np.zeros((task.top, width), dtype=np.int32),
        }

    @property
    def n_found(self) -> int:
        """The number of results so far."""
        return int(self.state.counters[1])

    @property
    def n_evaluated(self) -> int:
        """The number of nodes whose sums or bounds were computed."""
        return int(self.state.counters[2])

    def offer_first(self, score: float) -> None:
        """Start with one result if its score is above the threshold."""
        self.state.scores[0] = score
        self.state.counters[1] = int(score > self.state.threshold)

    def ready(self, deadline: Deadline) -> bool:
        """Return True if the loop can be called before the deadline."""
        return self.nothing or self.loop.ready(deadline)

    def advance(self, work: int) -> bool:
        """Do about ``work`` units of work (words of 64 examples); return True at the end."""
        self.begun = True
        while not self.nothing:
            status = self.loop(self.state, work)
            if status != FULL:
                return bool(status == DONE)
            self._grow()
        return True

    def share(self) -> float:
        """Estimate the completed share from the finished children of each open level."""
        total, part = 0.0, 1.0
        for count, following, _ in self._open_levels():
            total += part * max(following - 1, 0) / max(count, 1)
            part /= max(count, 1)
        return total

    def bound(self) -> float:
        """Return a bound, in units, on the scores of all other candidates."""
        if not self.begun:
            return math.inf
        bound = float(self.state.threshold)
        if self.n_found == self.limit:
            bound = max(bound, float(self.state.scores[self.state.heap[0]]))
        for count, following, bounds in self._open_levels():
            if following < count:
                bound = max(bound, float(bounds[following]))
        return bound

    def _grow(self) -> None:
        """Enlarge the arrays for more levels."""
        raise NotImplementedError

    def _open_levels(self) -> Iterator[tuple[int, int, NDArray[Any]]]:
        """Yield for each open level its number of children, the next child, and their bounds."""
        levels = self.state.levels[: self.state.counters[0], :2].tolist()
        for (count, following), bounds in zip(levels, self.state.bounds, strict=False):
            yield count, following, bounds
