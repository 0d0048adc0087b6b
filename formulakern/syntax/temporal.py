"""Dates, time stamps, times of day and durations as values in rules, and their text.

A value is a kind and a whole number of nanoseconds, so nothing is rounded.  Text is ISO 8601 for
stamps and times, and numbers with units, such as ``3d4h30m``, for durations.  The functions that
read text use only Python's standard library, because exported Python code contains them.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import Literal

from formulakern.errors import ParameterError

TemporalKind = Literal["stamp", "instant", "time", "duration"]
#: The kind and the nanoseconds of a :class:`Temporal`.
Moment = tuple[TemporalKind, int]

#: The ordinal number of 1970-01-01 in Python, and the number of days in 400 years.
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

#: Kind → a description of its values, and examples as written in rules.
KINDS: dict[TemporalKind, tuple[str, str]] = {
    "stamp": ("dates or time stamps without time zone", "2020-02-01 or 2020-02-01T10:30"),
    "instant": ("time stamps with a time zone", "2020-02-01T10:30Z or 2020-02-01T10:30+01:00"),
    "time": ("times of day", "10:30 or 10:30:15.5"),
    "duration": ("durations", "3d4h30m or 1.5s"),
}

#: Parts of dates, stamps and times of day, with the least and the largest number of each.
PARTS: dict[str, tuple[int, int]] = {
    "year": (-(10**9), 10**9),
    "quarter": (1, 4),
    "month": (1, 12),
    "day": (1, 31),
    "weekday": (1, 7),
    "hour": (0, 23),
    "minute": (0, 59),
}

#: Kind → the parts of its values; for an instant they depend on the time zone.
PARTS_OF: dict[TemporalKind, frozenset[str]] = {
    "stamp": frozenset(PARTS),
    "instant": frozenset(PARTS),
    "time": frozenset({"hour", "minute"}),
    "duration": frozenset(),
}

#: The words for the numbers of months and of weekdays.
WORDS = {
    "month": (
        *("January", "February", "March", "April", "May", "June"),
        *("July", "August", "September", "October", "November", "December"),
    ),
    "weekday": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
}


@dataclass(frozen=True)
class Temporal:
    """A date, a time stamp, a time of day or a duration, exact to the nanosecond.

    A stamp has no time zone, an instant has one; a date is the stamp of its midnight.  Nanoseconds,
    of any size, count from 1970-01-01T00:00 for a stamp, from this time in UTC for an instant, and
    from midnight for a time of day; for a duration they are its length.

    >>> noon = Temporal("time", 12 * 3600 * 10**9)
    >>> print(noon, Temporal("stamp", 0), Temporal("instant", 1), Temporal("duration", -90 * 10**9))
    12:00 1970-01-01 1970-01-01T00:00:00.000000001Z -1m30s
    """

    kind: TemporalKind
    nanoseconds: int

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ParameterError(f"kind={self.kind!r}; expected one of {', '.join(KINDS)}.")
        if self.kind == "time" and not 0 <= self.nanoseconds < DAY:
            raise ParameterError(
                f"a time of day of {self.nanoseconds} nanoseconds; expected 0 to {DAY - 1}."
            )

    @property
    def is_date(self) -> bool:
        """True if the value is a stamp of midnight, which is written as a date."""
        return self.kind == "stamp" and self.nanoseconds % DAY == 0

    def __str__(self) -> str:
        if self.kind == "duration":
            return _spelled_duration(self.nanoseconds)
        days, clock = divmod(self.nanoseconds, DAY)
        if self.kind == "time":
            return _spelled_clock(clock)
        date = _spelled_date(days)
        if self.is_date:
            return date
        return f"{date}T{_spelled_clock(clock)}{'Z' * (self.kind == 'instant')}"


def read_temporal(text: str, kind: TemporalKind | None = None) -> Temporal | None:
    """Return the date, stamp, time or duration of a text, or None.

    Accepted forms are ``2020-02-01``, ``2020-02-01T10:30:15.25`` (``T`` or a space), the same with
    ``Z`` or an offset such as ``+01:00``, ``10:30`` and ``3d4h30m``.  Durations may also be ISO
    8601 without months and years, ``P3DT4H30M``, or ``3 days 04:30:00``.  With a kind, only values
    of this kind are accepted; ``04:30`` is a duration only if ``kind="duration"``.

    >>> [str(read_temporal(t)) for t in ("2020-02-01 10:30+01:00", "P1DT90M", "3 days", "25:00")]
    ['2020-02-01T09:30Z', '1d1h30m', '3d', 'None']
    >>> print(read_temporal("04:30", "duration"))
    4h30m
    """
    found = read_moment(text, kind)
    return None if found is None else Temporal(*found)


def read_moment(text: str, kind: TemporalKind | None = None) -> Moment | None:
    """Return the kind and the nanoseconds of a date, stamp, time or duration, or None."""
    text = text.strip()
    found = None if kind == "duration" else _read_stamp(text) or _read_time(text)
    found = found or _read_duration(text, kind == "duration")
    return found if found is not None and kind in (None, found[0]) else None


def days_of(year: int, month: int, day: int) -> int | None:
    """Return the days from 1970-01-01 to a date, or None if the date does not exist.

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
    """Return the year, month and day of a number of days after 1970-01-01.

    >>> date_of(31), date_of(-10**9)
    ((1970, 2, 1), (-2735938, 12, 29))
    """
    cycles, rest = divmod(days, CYCLE)
    date = datetime.date.fromordinal(EPOCH + rest)
    return date.year + 400 * cycles, date.month, date.day


def part_text(part: str, number: int) -> str:
    """Return the number of a part of a date as written in a rule."""
    return WORDS[part][number - 1] if part in WORDS else str(number)


def part_number(part: str, word: str) -> int | None:
    """Return the number of a month or weekday from its name or first three letters, or None."""
    names = enumerate(WORDS.get(part, ()), 1)
    return next((n for n, name in names if word.title() in (name, name[:3])), None)


def _spelled_date(days: int) -> str:
    year, month, day = date_of(days)
    return f"{'-' * (year < 0)}{abs(year):04d}-{month:02d}-{day:02d}"


def _spelled_clock(nanoseconds: int) -> str:
    minutes, rest = divmod(nanoseconds, MINUTE)
    text = f"{minutes // 60:02d}:{minutes % 60:02d}"
    return f"{text}:{_spelled_seconds(rest, 2)}" if rest else text


def _spelled_duration(nanoseconds: int) -> str:
    rest, text = abs(nanoseconds), ""
    for unit in ("d", "h", "m"):
        count, rest = divmod(rest, UNITS[unit])
        text += f"{count}{unit}" if count else ""
    if rest or not text:
        text += f"{_spelled_seconds(rest, 1)}s"
    return "-" * (nanoseconds < 0) + text


def _spelled_seconds(nanoseconds: int, digits: int) -> str:
    second, fraction = divmod(nanoseconds, SECOND)
    return f"{second:0{digits}d}" + (f".{fraction:09d}".rstrip("0") if fraction else "")


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
    hours, minutes = (0, 0) if zone == "Z" else (int(zone[1:3]), int(zone[-2:] if zone[3:] else 0))
    if hours > 23 or minutes > 59:
        return None
    offset = hours * HOUR + minutes * MINUTE
    return ("instant", days * DAY + clock + (offset if zone[0] == "-" else -offset))


def _read_time(text: str) -> Moment | None:
    match = _TIME.fullmatch(text)
    clock = None if match is None else _clock(match)
    return None if clock is None else ("time", clock)


def _clock(match: re.Match[str]) -> int | None:
    """Return the nanoseconds since midnight, or None if the time does not exist."""
    hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    if hour > 23 or minute > 59 or second > 59:
        return None
    fraction = int((match["fraction"] or "0").ljust(9, "0"))
    return hour * HOUR + minute * MINUTE + second * SECOND + fraction


def _read_duration(text: str, clock: bool) -> Moment | None:
    """Return the duration of a text, or None; read ``04:30`` only if ``clock`` is True."""
    if match := _DURATION.fullmatch(text):
        amounts = re.findall(r"([\d.]+)([a-z]+)", match[2])
    elif match := _ISO.fullmatch(text):
        amounts = [*zip(match.groups("0")[1:], "wdhms", strict=True)]
    elif (match := _WORDS.fullmatch(text)) and (match[2] or (clock and match[3])):
        amounts = [*zip(match.groups("0")[1:], "dhms", strict=True)]
    else:
        return None
    total = 0
    for amount, unit in amounts:
        whole, _, fraction = amount.partition(".")
        nanoseconds, rest = divmod(int(whole + fraction) * UNITS[unit], 10 ** len(fraction))
        if rest:
            return None
        total += nanoseconds
    return ("duration", -total if match[1] == "-" else total)
