"""What both searches take, as one value: examples, what is maximised, which results count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypedDict

import numpy as np
from numpy.typing import NDArray

from formulakern.checks import check_integer, is_number
from formulakern.deadline import Deadline, TimeLimit, check_time_limit
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.zero_one import read_packed
from formulakern.errors import DataError, ParameterError
from formulakern.mining.objective import Objective, objective_of, read_weights
from formulakern.slices import Search, run_slices

__all__ = [
    "MAX_RESULTS",
    "SearchOptions",
    "Task",
    "check_threshold",
    "read_limit",
    "read_task",
]

#: With ``top=None``, at most this many results unless ``max_results`` says otherwise.
MAX_RESULTS = 100_000
#: Results times examples whose sums are computed at once.
BATCH = 1 << 20


class SearchOptions(TypedDict, total=False):
    """The options that both searches have; :func:`read_task` explains them."""

    top: int | None
    objective: str
    direction: str
    threshold: float
    max_results: int
    time_limit: TimeLimit
    progress: Callable[[float], None] | None


class LoopSearch(Search, Protocol):
    """A search whose slices are calls of a compiled function."""

    def ready(self, deadline: Deadline) -> bool:
        """Whether that can be called before the time is over."""


@dataclass(frozen=True, eq=False)
class Task:
    """What a search is asked.

    Parameters
    ----------
    table : PackedTable
        Propositions on the examples that have weight.
    goal : Objective
        What is maximised, on these examples.
    limit : int
        The largest number of results.
    threshold : float
        Only higher scores are results.
    deadline : Deadline
    progress :
        As in :func:`read_task`.
    started : float
        The clock of deadlines, when the work began.
    """

    table: PackedTable
    goal: Objective
    limit: int
    threshold: float
    deadline: Deadline
    progress: Callable[[float], None] | None
    started: float

    def run(self, search: LoopSearch) -> bool:
        """Go on with a search; whether it ended by itself, and not at the time limit."""
        if not search.ready(self.deadline):
            return False
        return run_slices(search, self.deadline, self.progress).finished

    def seconds(self) -> float:
        """Since the work began."""
        return Deadline.clock() - self.started

    def sums(
        self,
        found: Sequence[tuple[int, ...]],
        covers: Callable[[PackedTable, Sequence[tuple[int, ...]]], NDArray[np.bool_]],
    ) -> NDArray[np.float64]:
        """S_k of each result, summed pairwise from the weights as given, shape (r, K).

        Parameters
        ----------
        found : sequence of r tuples of int
        covers : callable
            Where some of the results are true on the rows of a table, one row of truth values each.
        """
        sums = np.zeros((len(found), self.goal.weights.shape[1]))
        step = max(1, BATCH // max(1, self.table.n_rows))
        for start in range(0, len(found), step):
            truths = covers(self.table, found[start : start + step])
            for k, column in enumerate(self.goal.weights.T):
                sums[start : start + step, k] = np.where(truths, column, 0.0).sum(axis=1)
        return sums

    def ranked(self, found: Sequence[tuple[int, ...]], scores: NDArray[np.float64]) -> list[int]:
        """The results above the threshold: best first, then of few propositions, then as tuples."""
        passed = np.flatnonzero(scores > self.threshold).tolist()
        return sorted(passed, key=lambda r: (-scores[r], len(set(found[r])), found[r]))


def read_task(
    propositions: object,
    weights: object,
    *,
    top: int | None = 10,
    objective: str = "absolute",
    direction: str = "both",
    threshold: float = 0.0,
    max_results: int = MAX_RESULTS,
    time_limit: TimeLimit = None,
    progress: Callable[[float], None] | None = None,
) -> Task:
    """Check what a search is given; examples without weight are left out.

    Parameters
    ----------
    propositions : PackedTable, or a table of 0 and 1 of shape (m, p)
    weights : array-like of shape (m,) or (m, K)
        c, finite; one column per vector.
    top : int or None
        How many results; None for all that score more than ``threshold``.
    objective : {"absolute", "spread"}
    direction : {"both", "positive", "negative"}
        For "absolute": the score is max_k |S_k|, max_k S_k or max_k −S_k.
    threshold : float
        Only higher scores are results.
    max_results : int
        The most results with ``top=None``; where it is reached, ``complete`` is false and the
        best ones are returned.
    time_limit : float or Deadline, optional
        Seconds; then the best so far is returned, with a bound on all the rest.
    progress : callable, optional
        Called every 0.05 s or so with an estimate of the share that is done.

    Raises
    ------
    DataError
        If there are no examples or propositions, or weights do not fit or are not finite.
    ParameterError
        If an option is out of its range.
    """
    started = Deadline.clock()
    table = read_packed(propositions)
    if table.n_rows == 0 or table.n_columns == 0:
        raise DataError(
            f"{table.n_rows} examples of {table.n_columns} propositions; a search "
            "needs at least one of each."
        )
    limit = read_limit(top, max_results)
    read = read_weights(weights, table.n_rows)
    check_threshold(threshold)
    check_time_limit(time_limit)
    deadline = Deadline.of(time_limit)
    weighted = (read != 0).any(axis=1)
    if not weighted.all():
        table, read = table.take(weighted), read[weighted]
    goal = objective_of(read, objective, direction)
    return Task(table, goal, limit, float(threshold), deadline, progress, started)


def read_limit(top: int | None, max_results: int) -> int:
    """The largest number of results, of options that are checked."""
    check_integer("top", top, otherwise="None for all")
    check_integer("max_results", max_results)
    return int(max_results if top is None else top)


def check_threshold(threshold: object) -> None:
    """Check that a threshold is a number."""
    if not is_number(threshold) or threshold != threshold:
        raise ParameterError(
            f"threshold={threshold!r}; expected a number. Give 0.0 for any positive score."
        )
