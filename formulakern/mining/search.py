"""What the compiled searches share: examples with weight, a heap of results, how far they are."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.compilation import CompiledFunction
from formulakern.deadline import Deadline
from formulakern.encoding.bits import n_words
from formulakern.mining.options import Task
from formulakern.slices import DONE, FULL, enlarged

__all__ = ["CompiledSearch", "MiningResult"]

#: Arrays with a row for every result.
PER_RESULT = ("scores", "heap", "found", "found_lengths")


@dataclass(frozen=True, eq=False)
class MiningResult:
    """What a search found, best first, and what is known about all the rest.

    Parameters
    ----------
    scores : ndarray of shape (r,), float64
    sums : ndarray of shape (r, K), float64
        S_k of each, summed pairwise from the weights as given (not T_k − S_k, for complements).
    proven : bool
        Whether the search ran to the end.
    complete : bool
        Whether everything that scores more than the threshold is here; false after a time limit,
        and when there may be more results than ``top`` or ``max_results``.
    bound : float
        Nothing that is not here scores more.  Where the search ran to the end, the score that it
        took to be among the results: the last one's, or the threshold; plus rounding (see
        :mod:`formulakern.mining.objective`), which is 0 for integer weights.
    n_evaluated : int
        Conjunctions, instances and partial instances whose sums or bounds were computed.
    seconds : float
    """

    scores: NDArray[np.float64]
    sums: NDArray[np.float64]
    proven: bool
    complete: bool
    bound: float
    n_evaluated: int
    seconds: float


class CompiledSearch:
    """A depth-first search whose state is in arrays, so that a compiled loop can stop and go on.

    Parameters
    ----------
    task : Task
    capacity, width : int
        Results that there is room for at first, and numbers that describe one.

    Attributes
    ----------
    state : NamedTuple
        What ``loop`` works on, made of ``common`` and of arrays of the search's own.
    """

    state: Any
    loop: CompiledFunction[[Any, int], int]
    begun = nothing = False  # whether it has begun; whether there is nothing to search

    def __init__(self, task: Task, capacity: int, width: int) -> None:
        n, capacity = task.table.n_rows, min(task.limit, capacity)
        columns = np.zeros((len(task.goal.columns), 64 * n_words(n)))
        columns[:, :n] = task.goal.columns
        self.limit = task.limit
        self.totals: NDArray[np.float64] = columns.sum(axis=1)
        self.common: dict[str, Any] = {
            "words": task.table.columns,
            "columns": columns,
            "threshold": task.goal.in_units(task.threshold),
            "counters": np.zeros(4, dtype=np.int64),  # open levels, results, evaluated, begun
            "scores": np.zeros(capacity),
            "heap": np.zeros(capacity, dtype=np.int64),
            "found": np.zeros((capacity, width), dtype=np.int32),
        }

    @property
    def n_found(self) -> int:
        """Results so far."""
        return int(self.state.counters[1])

    @property
    def n_evaluated(self) -> int:
        """Nodes whose sums or bounds were computed."""
        return int(self.state.counters[2])

    def offer_first(self, score: float) -> None:
        """Start with one result, if it scores enough."""
        self.state.scores[0] = score
        self.state.counters[1] = int(score > self.state.threshold)

    def ready(self, deadline: Deadline) -> bool:
        """Whether the loop can be called before the time is over."""
        return self.nothing or self.loop.ready(deadline)

    def advance(self, work: int) -> bool:
        """Do about so much work (words of 64 examples); whether the search has ended."""
        self.begun = True
        while not self.nothing:
            status = self.loop(self.state, work)
            if status != FULL:
                return bool(status == DONE)
            self._grow()
        return True

    def share(self) -> float:
        """The children that are done at each open level, as shares of their parent's share."""
        total, part = 0.0, 1.0
        for count, following, _ in self._open_levels():
            total += part * max(following - 1, 0) / max(count, 1)
            part /= max(count, 1)
        return total

    def bound(self) -> float:
        """In units: what nothing that is not among the results passes."""
        if not self.begun:
            return math.inf
        bound = float(self.state.threshold)
        if self.n_found == self.limit:
            bound = max(bound, float(self.state.scores[self.state.heap[0]]))
        for count, following, bounds in self._open_levels():
            if following < count:
                bound = max(bound, float(bounds[following]))
        return bound

    def _make_room(self, needed: int) -> None:
        """Room for so many results, if the limit allows them."""
        state = self.state
        needed = min(self.limit, needed)
        if needed > len(state.scores):
            capacity = min(self.limit, max(needed, 2 * len(state.scores)))
            self._enlarge([name for name in PER_RESULT if name in state._fields], capacity)

    def _enlarge(self, names: Iterable[str], size: int) -> None:
        arrays = {name: enlarged(getattr(self.state, name), size) for name in names}
        self.state = self.state._replace(**arrays)

    def _grow(self) -> None:
        """Twice the room in everything that can be too small."""
        raise NotImplementedError

    def _open_levels(self) -> Iterable[tuple[int, int, NDArray[Any]]]:
        """For each open level its number of children, the next one, and their bounds."""
        raise NotImplementedError
