"""Round dates, times and durations in the gap between two neighbouring values of a column."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from formulakern.syntax.moments import DAY, UNITS, TemporalKind, date_of, days_of
from formulakern.syntax.temporal import Temporal

__all__ = ["measure_of", "roundest_between", "temporal_bounds"]

#: Steps of clocks in nanoseconds, coarsest first, and the multiple of each that is rounder still.
CLOCK = [(UNITS["h"], 6), (UNITS["m"], 15), (UNITS["s"], 15)]
CLOCK += [(10**k, 5) for k in range(8, -1, -1)]
#: Likewise of durations, and of dates in months.
AMOUNTS = [(DAY * 10**k, 5) for k in range(9, -1, -1)] + CLOCK
MONTHS = [(12, 10), (1, 3)]
#: Units that columns are measured in.
MEASURES = [DAY, UNITS["h"], UNITS["m"], *(10**k for k in range(9, -1, -1))]


def roundest_between(low: int, high: int, kind: TemporalKind, closed: bool = False) -> int | None:
    """The roundest value after one and before another, in nanoseconds; None if there is none.

    Dates are round at the first of a year, then of a month, then at midnight; times at a whole
    hour, minute, second, tenth of a second, ….  Of equally round values it is one nearest to the
    middle; a multiple of 10 years, 3 months, 6 hours, 15 minutes or seconds comes first where it is
    in the middle half.

    Parameters
    ----------
    low, high : int
        ``low < high``, in nanoseconds.
    kind : {"stamp", "instant", "time", "duration"}
    closed : bool
        Whether ``high`` itself may be it.

    Examples
    --------
    >>> from formulakern.syntax.temporal import read_temporal
    >>> for pair in ("2020-01-15 2020-02-20", "2019-11-30 2021-02-01", "10:12:58 10:58", "3h 2d"):
    ...     low, high = map(read_temporal, pair.split())
    ...     print(Temporal(low.kind, roundest_between(low.nanoseconds, high.nanoseconds, low.kind)))
    2020-02-01
    2020-01-01
    10:30
    1d
    """
    for quarter, candidates in _levels(low + high, kind):
        for candidate in sorted(candidates, key=lambda c: (abs(2 * c - low - high), c)):
            inside = low < candidate < high or (closed and candidate == high)
            if inside and (not quarter or 2 * abs(2 * candidate - low - high) <= high - low):
                return candidate
    return None


def _levels(twice: int, kind: TemporalKind) -> Iterator[tuple[bool, tuple[int, int]]]:
    """Round values below and above half of a number, the roundest pairs first.

    The first of each pair says whether they have to be in the middle half of the gap.
    """
    steps = AMOUNTS if kind == "duration" else CLOCK
    if kind in ("stamp", "instant"):
        year, month, _ = date_of(twice // (2 * DAY))
        for step, more in MONTHS:
            for size in (step * more, step):
                first = (year * 12 + month - 1) // size * size
                yield size != step, (_first_of(first), _first_of(first + size))
        steps = [(DAY, 1), *CLOCK]
    for step, more in steps:
        for size in (step * more, step):
            below = twice // (2 * size) * size
            yield size != step, (below, below + size)


def _first_of(months: int) -> int:
    """The first moment of a month, numbered from that of the year 0."""
    days = days_of(months // 12, months % 12 + 1, 1)
    assert days is not None
    return days * DAY


def measure_of(counts: NDArray[np.int64], length: int) -> int:
    """The largest of day, hour, minute, second, …, nanosecond of which all values are multiples.

    Parameters
    ----------
    counts : ndarray of shape (m,), int64
    length : int
        What they count, in nanoseconds.

    Examples
    --------
    >>> measure_of(np.array([0, 3600, 7200]), 10**9) // 10**9, measure_of(np.array([5]), DAY) == DAY
    (3600, True)
    """
    coarser = (m for m in MEASURES if m > length and not (counts % (m // length)).any())
    return next(coarser, length)


def temporal_bounds(
    low: int, high: int, kind: TemporalKind, measure: int
) -> tuple[Temporal, Temporal]:
    """What ``<=`` and ``>=`` compare with to part two neighbouring values of a column.

    Values that are a measure apart stand for themselves.  Else both compare with the roundest
    value between; of whole days ``<=`` with the day before.

    Examples
    --------
    >>> def bounds(low, high, measure):
    ...     print(*temporal_bounds(low, high, "stamp", measure))
    >>> bounds(0, 5 * DAY, DAY), bounds(0, DAY, DAY), bounds(0, DAY, DAY // 24)
    1970-01-02 1970-01-03
    1970-01-01 1970-01-02
    1970-01-01T12:00 1970-01-01T12:00
    (None, None, None)
    """
    if high - low > measure:
        days = measure >= DAY
        found = roundest_between(low, high, kind, closed=days)
        if found is not None:
            low, high = (found - DAY if days else found), found
    return Temporal(kind, low), Temporal(kind, high)
