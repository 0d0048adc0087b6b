"""Dates, time stamps, times of day and durations as values that a rule compares with.

Every one is a whole number of nanoseconds, so nothing is rounded; text is ISO 8601 for stamps and
times, and numbers with units, such as ``3d4h30m``, for durations.
"""

from __future__ import annotations

from dataclasses import dataclass

from formulakern.errors import ParameterError
from formulakern.syntax.moments import (
    DAY,
    MINUTE,
    SECOND,
    UNITS,
    TemporalKind,
    date_of,
    read_moment,
)

__all__ = ["KINDS", "PARTS", "Temporal", "part_number", "part_text", "read_temporal"]

#: Kind → what a column of it holds, in words, and how a rule writes such a value.
KINDS: dict[TemporalKind, tuple[str, str]] = {
    "stamp": ("dates or time stamps without time zone", "2020-02-01 or 2020-02-01T10:30"),
    "instant": ("time stamps with a time zone", "2020-02-01T10:30Z or 2020-02-01T10:30+01:00"),
    "time": ("times of day", "10:30 or 10:30:15.5"),
    "duration": ("durations", "3d4h30m or 1.5s"),
}

#: Parts of a date or stamp, and of a time of day, with the least and the largest number of each.
PARTS: dict[str, tuple[int, int]] = {
    "year": (-(10**9), 10**9),
    "quarter": (1, 4),
    "month": (1, 12),
    "day": (1, 31),
    "weekday": (1, 7),
    "hour": (0, 23),
    "minute": (0, 59),
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

    Parameters
    ----------
    kind : {"stamp", "instant", "time", "duration"}
        A stamp has no time zone; a date is the stamp of its midnight.  An instant has one.
    nanoseconds : int
        Of a stamp since 1970-01-01T00:00, of an instant since then in UTC, of a time since
        midnight, of a duration its length; any size.

    Raises
    ------
    ParameterError
        If the kind is unknown, or a time is not within one day.

    Examples
    --------
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
        """Whether it is a stamp of midnight, which is written as a date."""
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
    """The date, stamp, time or duration that a text spells; None if it spells none.

    Parameters
    ----------
    text : str
        ``2020-02-01``, ``2020-02-01T10:30:15.25`` (``T`` or a blank), with ``Z`` or an offset such
        as ``+01:00`` where there is a time zone, ``10:30``, ``3d4h30m``.  Durations are also read
        as ISO 8601 has them, ``P3DT4H30M`` without months and years, and as ``3 days 04:30:00``.
    kind : str, optional
        Only values of this kind; ``04:30`` is a duration only where that is asked for.

    Examples
    --------
    >>> [str(read_temporal(t)) for t in ("2020-02-01 10:30+01:00", "P1DT90M", "3 days", "25:00")]
    ['2020-02-01T09:30Z', '1d1h30m', '3d', 'None']
    >>> print(read_temporal("04:30", "duration"))
    4h30m
    """
    found = read_moment(text, kind)
    return None if found is None else Temporal(*found)


def part_text(part: str, number: int) -> str:
    """The number of a part of the calendar as a rule spells it.

    >>> part_text("month", 2), part_text("weekday", 7), part_text("hour", 23)
    ('February', 'Sunday', '23')
    """
    return WORDS[part][number - 1] if part in WORDS else str(number)


def part_number(part: str, word: str) -> int | None:
    """The number of a month or of a weekday, of which three letters suffice; None if it is none.

    >>> part_number("month", "February"), part_number("weekday", "sun"), part_number("hour", "x")
    (2, 7, None)
    """
    for number, name in enumerate(WORDS.get(part, ()), 1):
        if word.lower() in (name.lower(), name[:3].lower()):
            return number
    return None


def _spelled_date(days: int) -> str:
    year, month, day = date_of(days)
    return f"{'-' * (year < 0)}{abs(year):04d}-{month:02d}-{day:02d}"


def _spelled_clock(nanoseconds: int) -> str:
    minutes, rest = divmod(nanoseconds, MINUTE)
    text = f"{minutes // 60:02d}:{minutes % 60:02d}"
    if rest:
        second, fraction = divmod(rest, SECOND)
        text += f":{second:02d}" + f".{fraction:09d}".rstrip("0") * bool(fraction)
    return text


def _spelled_duration(nanoseconds: int) -> str:
    if not nanoseconds:
        return "0s"
    rest, parts = abs(nanoseconds), []
    for unit in ("d", "h", "m"):
        count, rest = divmod(rest, UNITS[unit])
        parts += [f"{count}{unit}"] * bool(count)
    if rest:
        second, fraction = divmod(rest, SECOND)
        parts.append(f"{second}" + f".{fraction:09d}".rstrip("0") * bool(fraction) + "s")
    return "-" * (nanoseconds < 0) + "".join(parts)
