"""Dates, time stamps, times of day and durations as text, and as whole numbers of nanoseconds.

A moment is a pair of its kind and its nanoseconds.  Only Python itself is needed here: these
functions are also written into what a model exports as Python.
"""

from __future__ import annotations

import datetime
import re
from typing import Literal

__all__ = ["DAY", "UNITS", "Moment", "TemporalKind", "date_of", "days_of", "read_moment"]

TemporalKind = Literal["stamp", "instant", "time", "duration"]
#: What :class:`formulakern.syntax.temporal.Temporal` holds.
Moment = tuple[TemporalKind, int]

#: 1970-01-01 as Python numbers it, and the days of 400 years.
EPOCH = datetime.date(1970, 1, 1).toordinal()
CYCLE = 146_097
SECOND = 10**9
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

#: Units of durations, in nanoseconds.
UNITS = {
    **{"w": 7 * DAY, "d": DAY, "h": HOUR, "m": MINUTE, "s": SECOND},
    **{"ms": 10**6, "us": 10**3, "ns": 1},
}

_CLOCK = r"(?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d{1,9}))?)?"
_ZONE = r"(?P<zone>Z|[+-]\d\d(?::?\d\d)?)"
_DAY = r"(?P<date>[+-]?\d{4,15}-\d\d-\d\d)"
_STAMP = re.compile(rf"{_DAY}(?:[T ]{_CLOCK}{_ZONE}?)?", re.ASCII)
_TIME = re.compile(_CLOCK, re.ASCII)
_AMOUNT = r"(?:\d+(?:\.\d+)?)(?:ns|us|ms|[wdhms])"
_DURATION = re.compile(rf"([+-]?)((?:{_AMOUNT})+)", re.ASCII)
_ISO = re.compile(
    r"([+-]?)P(?=.)(?:(\d+)W)?(?:(\d+)D)?"
    r"(?:T(?=.)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d{1,9})?)S)?)?",
    re.ASCII,
)
_WORDS = re.compile(
    r"([+-]?)(?:(\d+) days?)?,? ?(?:(?:^|(?<= ))(\d+):(\d\d)(?::(\d\d(?:\.\d{1,9})?))?)?", re.ASCII
)


def read_moment(text: str, kind: TemporalKind | None = None) -> Moment | None:
    """The date, stamp, time or duration that a text spells; None if it spells none.

    It is what :func:`formulakern.syntax.temporal.read_temporal` documents.

    >>> read_moment("1970-01-02"), read_moment("P1D"), read_moment("1")
    (('stamp', 86400000000000), ('duration', 86400000000000), None)
    """
    text = text.strip()
    found: Moment | None = None
    if kind != "duration":
        found = _read_stamp(text) or _read_time(text)
    if found is None and (amount := _read_duration(text, kind == "duration")) is not None:
        found = ("duration", amount)
    return found if found is None or kind in (None, found[0]) else None


def days_of(year: int, month: int, day: int) -> int | None:
    """Days from 1970-01-01 to a date; None if there is no such date.

    >>> days_of(1970, 2, 1), days_of(-400, 3, 1) - days_of(0, 3, 1), days_of(2021, 2, 29)
    (31, -146097, None)
    """
    cycles, rest = divmod(year, 400)
    try:
        found = datetime.date(2000 + rest, month, day)
    except ValueError:
        return None
    return found.toordinal() - EPOCH + (cycles - 5) * CYCLE


def date_of(days: int) -> tuple[int, int, int]:
    """Year, month and day of the date so many days after 1970-01-01.

    >>> date_of(31), date_of(-10**9)
    ((1970, 2, 1), (-2735938, 12, 29))
    """
    cycles, rest = divmod(days, CYCLE)
    date = datetime.date.fromordinal(EPOCH + rest)
    return date.year + 400 * cycles, date.month, date.day


def _read_stamp(text: str) -> Moment | None:
    match = _STAMP.fullmatch(text)
    if match is None:
        return None
    date = match["date"]
    days = days_of(int(date[:-6]), int(date[-5:-3]), int(date[-2:]))
    clock = _clock(match) if match["hour"] else 0
    if days is None or clock is None:
        return None
    zone = match["zone"]
    if zone is None:
        return ("stamp", days * DAY + clock)
    offset = 0
    if zone != "Z":
        hours, minutes = int(zone[1:3]), int(zone[3:].removeprefix(":") or 0)
        if hours > 23 or minutes > 59:
            return None
        offset = (hours * HOUR + minutes * MINUTE) * (-1 if zone[0] == "-" else 1)
    return ("instant", days * DAY + clock - offset)


def _read_time(text: str) -> Moment | None:
    match = _TIME.fullmatch(text)
    clock = None if match is None else _clock(match)
    return None if clock is None else ("time", clock)


def _clock(match: re.Match[str]) -> int | None:
    """Nanoseconds since midnight; None if there is no such time."""
    hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    if hour > 23 or minute > 59 or second > 59:
        return None
    fraction = int((match["fraction"] or "0").ljust(9, "0"))
    return hour * HOUR + minute * MINUTE + second * SECOND + fraction


def _read_duration(text: str, clock: bool) -> int | None:
    """Nanoseconds; ``04:30`` is 4 hours and a half only where ``clock`` is True."""
    if match := _DURATION.fullmatch(text):
        parts = re.findall(r"([\d.]+)([a-z]+)", match[2])
    elif match := _ISO.fullmatch(text):
        parts = [(part, u) for part, u in zip(match.groups()[1:], "wdhms", strict=True) if part]
    elif (match := _WORDS.fullmatch(text)) and (match[2] or (clock and match[3])):
        parts = [(part, u) for part, u in zip(match.groups()[1:], "dhms", strict=True) if part]
    else:
        return None
    total = 0
    for amount, unit in parts:
        exact = _times(amount, UNITS[unit])
        if exact is None:
            return None
        total += exact
    return -total if match[1] == "-" else total


def _times(amount: str, unit: int) -> int | None:
    """A decimal times a whole number; None if that is not whole."""
    whole, _, fraction = amount.partition(".")
    scale = 10 ** len(fraction)
    product, rest = divmod(int(whole + fraction) * unit, scale)
    return None if rest else product
