"""The time that work may take: one moment, handed down to every loop that can be long."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formulakern.checks import is_number
from formulakern.errors import ParameterError


class TimeIsOver(Exception):
    """A step that cannot be divided was given up, because its time was over."""


@dataclass(frozen=True)
class Deadline:
    """The moment at which work ends.

    Work in several steps looks at :meth:`over` between them and keeps the best so far.  A long step
    of which nothing can be kept calls :meth:`check` between its parts.

    A clock is that of a computer: what is pickled are seconds, from when it is read again.

    >>> deadline = Deadline.of(60)
    >>> deadline.over(), 59 < deadline.left() <= 60, 29 < deadline.part(0.5).left() <= 30
    (False, True, True)
    >>> Deadline.of(None).left(), Deadline.of(deadline) is deadline
    (inf, True)
    """

    begun: float
    end: float = math.inf

    @staticmethod
    def clock() -> float:
        """Seconds that pass as on a watch, whatever this process does."""
        return time.monotonic()

    @classmethod
    def of(cls, limit: TimeLimit) -> Deadline:
        """So many seconds from now; a deadline is itself, and None is no limit."""
        if isinstance(limit, Deadline):
            return limit
        now = cls.clock()
        return cls(now, math.inf if limit is None else now + float(limit))

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_now, (self.taken(), self.left())

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return math.isfinite(self.end)

    def taken(self) -> float:
        """Seconds since the beginning."""
        return self.clock() - self.begun

    def left(self) -> float:
        """Seconds until the end, at least 0."""
        return max(0.0, self.end - self.clock()) if self.limited else math.inf

    def over(self, needed: float = 0.0) -> bool:
        """Whether less time is left than is ``needed``, or none."""
        return self.limited and self.clock() + needed >= self.end

    def part(self, share: float) -> Deadline:
        """The end of a share of the time that is left."""
        if not self.limited:
            return self
        now = self.clock()
        return Deadline(self.begun, now + share * max(0.0, self.end - now))

    def check(self) -> None:
        """Give up what is being computed if the time is over."""
        if self.over():
            raise TimeIsOver


def _from_now(taken: float, left: float) -> Deadline:
    """A deadline of which so many seconds are taken, and so many left."""
    now = Deadline.clock()
    return Deadline(now - taken, now + left)


#: No limit.
UNLIMITED = Deadline(0.0)
#: Seconds, a moment, or None for no limit.
TimeLimit: TypeAlias = float | Deadline | None


def check_time_limit(time_limit: TimeLimit) -> None:
    """Check that a time limit is None or a number of seconds."""
    if time_limit is None or isinstance(time_limit, Deadline):
        return
    if not (is_number(time_limit) and time_limit >= 0):
        raise ParameterError(
            f"time_limit={time_limit!r}; expected seconds, at least 0, or None for no limit."
        )


# -- long searches in short slices: progress, a time limit and Ctrl-C work between them ------------

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


def run_slices(
    search: Search,
    time_limit: TimeLimit,
    progress: Callable[[float], None] | None = None,
) -> bool:
    """Run a search to its end or to the time limit; return whether it ended by itself."""
    deadline, work, finished = Deadline.of(time_limit), FIRST_WORK, False
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
    return finished


def enlarged(array: NDArray[Any], size: int) -> NDArray[Any]:
    """A copy with more rows, the new ones 0."""
    larger = np.zeros((size, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
