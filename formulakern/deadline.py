"""Time limits: one deadline that every long loop receives."""

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
    """A step that cannot be divided has been abandoned because its time is over."""


@dataclass(frozen=True)
class Deadline:
    """The moment at which work ends.

    Work in several steps calls :meth:`over` between them and keeps the best result so far.  A long
    step without a partial result calls :meth:`check` between its parts.

    Clocks differ between computers: a pickle holds seconds, which count from the moment of loading.

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
        """Return the seconds of a monotonic clock."""
        return time.monotonic()

    @classmethod
    def of(cls, limit: TimeLimit) -> Deadline:
        """Return the deadline ``limit`` seconds from now; None means no limit."""
        if isinstance(limit, Deadline):
            return limit
        now = cls.clock()
        return cls(now, math.inf if limit is None else now + float(limit))

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_now, (self.taken(), self.left())

    @property
    def limited(self) -> bool:
        """True if there is a limit."""
        return math.isfinite(self.end)

    def taken(self) -> float:
        """Return the seconds since the beginning."""
        return self.clock() - self.begun

    def left(self) -> float:
        """Return the seconds until the end, at least 0."""
        return max(0.0, self.end - self.clock()) if self.limited else math.inf

    def over(self, needed: float = 0.0) -> bool:
        """Return True if no more than ``needed`` seconds are left."""
        return self.limited and self.clock() + needed >= self.end

    def part(self, share: float) -> Deadline:
        """Return a deadline after a share of the time that is left."""
        if not self.limited:
            return self
        now = self.clock()
        return Deadline(self.begun, now + share * max(0.0, self.end - now))

    def check(self) -> None:
        """Raise TimeIsOver if the time is over."""
        if self.over():
            raise TimeIsOver


def _from_now(taken: float, left: float) -> Deadline:
    """Return a deadline with these seconds taken and left."""
    now = Deadline.clock()
    return Deadline(now - taken, now + left)


#: No limit.
UNLIMITED = Deadline(0.0)
#: Seconds, a deadline, or None for no limit.
TimeLimit: TypeAlias = float | Deadline | None


def check_time_limit(time_limit: TimeLimit) -> None:
    """Check that a time limit is None or a number of seconds."""
    if time_limit is None or isinstance(time_limit, Deadline):
        return
    if not (is_number(time_limit) and time_limit >= 0):
        raise ParameterError(
            f"time_limit={time_limit!r}; expected seconds, at least 0, or None for no limit."
        )


# -- searches in short slices, with progress, a time limit and Ctrl-C between them -----------------

#: Results of a slice of a search: it has ended; its work is used up; an array must grow.
DONE, SLICE, FULL = 0, 1, 2

#: Seconds that a slice should take: short enough for interrupts, long enough to be efficient.
SLICE_SECONDS = 0.05
#: Work of the first slice, in words of 64 rows.
FIRST_WORK = 500_000
#: The largest work of a slice, for searches that end their slices early.
MAX_WORK = 2**50


class Search(Protocol):
    """A search that can be stopped and continued."""

    def advance(self, work: int) -> bool:
        """Do about ``work`` words of 64 rows of work; return True if the search has ended."""

    def share(self) -> float:
        """Return an estimate of the share that is done, from 0 to 1, which never decreases."""


def run_slices(
    search: Search,
    time_limit: TimeLimit,
    progress: Callable[[float], None] | None = None,
    spent: Callable[[], bool] = lambda: False,
) -> bool:
    """Run a search to its end, to the time limit, or until ``spent``; return True at its end."""
    deadline, work, finished = Deadline.of(time_limit), FIRST_WORK, False
    while not finished:
        begin = Deadline.clock()
        finished = search.advance(work)
        now = Deadline.clock()
        factor = min(4.0, max(0.25, SLICE_SECONDS / max(now - begin, 1e-6)))
        work = min(int(work * factor) + 1, MAX_WORK)
        if progress is not None:
            progress(1.0 if finished else min(search.share(), 1.0))
        if deadline.over() or spent():
            break
    return finished


def enlarged(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Return a copy with ``size`` rows, the new ones 0."""
    larger = np.zeros((size, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
