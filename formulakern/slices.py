"""Long searches in short slices: progress, a time limit and Ctrl-C work between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from formulakern.deadline import Deadline, TimeLimit

__all__ = ["DONE", "FULL", "SLICE", "Outcome", "Search", "enlarged", "run_slices"]

#: What a compiled search returns: it ran to the end; its slice is over; an array must grow.
DONE, SLICE, FULL = 0, 1, 2

#: Seconds that a slice should take: short enough to feel an interrupt, long enough to pay off.
SLICE_SECONDS = 0.05
#: Work of the first slice, in words of 64 examples looked at.
FIRST_WORK = 500_000
#: However short the slices are: searches that end them early never use up what they are given.
MOST_WORK = 2**50


class Search(Protocol):
    """A search that can stop and go on."""

    def advance(self, work: int) -> bool:
        """Do about so much work (words of 64 examples); whether the search has ended."""

    def share(self) -> float:
        """An estimate of the share that is done, 0 to 1, which never falls."""


@dataclass(frozen=True)
class Outcome:
    """How a search ended: whether by itself, and after how many seconds."""

    finished: bool
    seconds: float


def run_slices(
    search: Search,
    time_limit: TimeLimit,
    progress: Callable[[float], None] | None = None,
) -> Outcome:
    """Run a search to its end or to the time limit."""
    deadline, work = Deadline.of(time_limit), FIRST_WORK
    started = Deadline.clock()
    finished = False
    while not finished:
        begin = Deadline.clock()
        finished = search.advance(work)
        now = Deadline.clock()
        factor = min(4.0, max(0.25, SLICE_SECONDS / max(now - begin, 1e-6)))
        work = min(int(work * factor) + 1, MOST_WORK)
        if progress is not None:
            progress(1.0 if finished else min(search.share(), 1.0))
        if deadline.over():
            break
    return Outcome(finished, Deadline.clock() - started)


def enlarged(array: NDArray[Any], size: int) -> NDArray[Any]:
    """A copy with more rows, the new ones 0."""
    larger = np.zeros((size, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
