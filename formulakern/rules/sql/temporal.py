"""Dates, times and durations in SQL: constants, columns and parts of the calendar.

SQLite has no types for them.  There a date or time stamp is text as ISO 8601 has it, such as
``2020-02-01``, ``2020-02-01 10:30`` or ``2020-02-01T10:30:15.25``, a time of day ``10:30:15.25``; a
time stamp with a time zone is such a text with ``Z`` or an offset, in whole milliseconds.  Columns
are brought into one form there before they are compared.
"""

from __future__ import annotations

from dataclasses import dataclass

from formulakern.errors import DataError
from formulakern.rules.sql.dialects import Dialect
from formulakern.syntax.temporal import DAY, KINDS, PARTS_OF, UNITS, Temporal, TemporalKind, date_of

__all__ = ["bounded", "constant", "is_held", "part_of", "temporal_column"]


@dataclass(frozen=True)
class Calendar:
    """The constants of four kinds and the parts of dates in a dialect; empty if it has none.

    ``resolution`` is that of columns, in nanoseconds; ``whole`` the type of stamps, which dates are
    made to have hours.
    """

    stamp: str = "TIMESTAMP '{}'"
    instant: str = "TIMESTAMP '{}+00:00'"
    time: str = "TIME '{}'"
    duration: str = "{sign}INTERVAL '{days} {clock}' DAY TO SECOND"
    weekday: str = ""
    quarter: str = "EXTRACT(QUARTER FROM {})"
    whole: str = "TIMESTAMP"
    resolution: int = UNITS["us"]


ZONED = "TIMESTAMP WITH TIME ZONE '{}+00:00'"
COUNTED = "INTERVAL '{count} microseconds'"
CALENDARS = {
    "standard": Calendar(quarter="FLOOR((EXTRACT(MONTH FROM {}) + 2) / 3.0)", resolution=1),
    "sqlite": Calendar(
        stamp="'{:0<29}'",
        instant="'{:0<23}'",
        time="'{:0<18}'",
        duration="",
        weekday="((CAST(STRFTIME('%w', SUBSTR({}, 1, 10)) AS INTEGER) + 6) % 7 + 1)",
        quarter="((CAST(SUBSTR({}, 6, 2) AS INTEGER) + 2) / 3)",
        resolution=1,
    ),
    "duckdb": Calendar(instant=ZONED, duration=COUNTED, weekday="EXTRACT(ISODOW FROM {})"),
    "postgres": Calendar(instant=ZONED, duration=COUNTED, weekday="EXTRACT(ISODOW FROM {})"),
    "mysql": Calendar(duration="", weekday="(WEEKDAY({}) + 1)", whole="DATETIME"),
    "bigquery": Calendar(
        stamp="DATETIME '{}'",
        weekday="(MOD(EXTRACT(DAYOFWEEK FROM {}) + 5, 7) + 1)",
        whole="DATETIME",
    ),
    "spark": Calendar(
        stamp="TIMESTAMP_NTZ '{}'",
        time="",
        weekday="(WEEKDAY({}) + 1)",
        whole="TIMESTAMP_NTZ",
    ),
}

#: Where the parts of a date stand in a text of SQLite: the first character, and how many.
PLACES = {"year": (1, 4), "month": (6, 2), "day": (9, 2)}


def constant(dialect: Dialect, value: Temporal) -> str:
    """A date, stamp, time or duration as an SQL expression.

    Examples
    --------
    >>> from formulakern.rules.sql.dialects import dialect_of
    >>> from formulakern.syntax.temporal import read_temporal
    >>> for name in ("duckdb", "sqlite", "spark"):
    ...     dialect = dialect_of(name)
    ...     print(*(constant(dialect, read_temporal(t)) for t in ("2020-02-01", "2020-02-01T10Z")
    ...             if read_temporal(t)))
    DATE '2020-02-01'
    '2020-02-01 00:00:00.000000000'
    DATE '2020-02-01'
    >>> print(constant(dialect_of("bigquery"), read_temporal("-3d4h30m")))
    -INTERVAL '3 04:30:00' DAY TO SECOND
    """
    calendar = CALENDARS[dialect.name]
    form = str(getattr(calendar, value.kind))
    _check_kind(dialect, value.kind)
    days, clock = divmod(abs(value.nanoseconds), DAY)
    if value.kind == "duration":
        if abs(value.nanoseconds) >= 2**63 * UNITS["us"]:
            raise DataError(f"no SQL for the duration {value}, which is beyond 64 bits of µs.")
        sign, count = "-" * (value.nanoseconds < 0), value.nanoseconds // UNITS["us"]
        return form.format(sign=sign, days=days, clock=_clock(clock), count=count)
    if value.kind == "time":
        return form.format(_clock(clock) + "." * _padded(dialect, clock))
    days, clock = divmod(value.nanoseconds, DAY)
    year, month, day = date_of(days)
    if not 1 <= year <= 9999:
        raise DataError(f"no SQL for {value}: the years of SQL are those from 1 to 9999.")
    date = f"{year:04d}-{month:02d}-{day:02d}"
    if value.is_date and dialect.name != "sqlite":
        return f"DATE '{date}'"
    return form.format(f"{date} {_clock(clock)}" + "." * _padded(dialect, clock))


def _padded(dialect: Dialect, clock: int) -> bool:
    """Whether zeros are to follow whole seconds."""
    return dialect.name == "sqlite" and not clock % UNITS["s"]


def _clock(nanoseconds: int) -> str:
    seconds, rest = divmod(nanoseconds, UNITS["s"])
    minutes, second = divmod(seconds, 60)
    fraction = f".{rest:09d}".rstrip("0") * bool(rest)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{second:02d}{fraction}"


def _check_kind(dialect: Dialect, kind: TemporalKind) -> None:
    if not getattr(CALENDARS[dialect.name], kind):
        raise DataError(
            f"{dialect.name} SQL has no columns of {KINDS[kind][0]}; make the column one of "
            "numbers, such as of seconds, before the model is learnt."
        )


def _resolution(dialect: Dialect, kind: TemporalKind) -> int:
    """The unit of columns, in nanoseconds."""
    if (dialect.name, kind) == ("sqlite", "instant"):
        return UNITS["ms"]
    return CALENDARS[dialect.name].resolution


def is_held(dialect: Dialect, value: Temporal) -> bool:
    """Whether a column of this dialect can hold a value, which has no more digits than it."""
    return value.nanoseconds % _resolution(dialect, value.kind) == 0


def bounded(dialect: Dialect, relation: str, value: Temporal) -> tuple[str, Temporal]:
    """An order as one with a value that columns can hold, true of the same of those.

    With c the next below x, y < x is y <= c, and y >= x is y > c.

    >>> from formulakern.rules.sql.dialects import dialect_of
    >>> relation, value = bounded(dialect_of("duckdb"), ">=", Temporal("time", 1500))
    >>> print(relation, value)
    > 00:00:00.000001
    """
    unit = _resolution(dialect, value.kind)
    count, rest = divmod(value.nanoseconds, unit)
    if rest:
        relation = {"<": "<=", ">=": ">"}.get(relation, relation)
    return relation, Temporal(value.kind, count * unit)


def temporal_column(dialect: Dialect, column: str, kind: TemporalKind) -> str:
    """A column as it is compared: in SQLite texts of one length."""
    _check_kind(dialect, kind)
    if dialect.name != "sqlite":
        return column
    if kind == "instant":
        return f"STRFTIME('%Y-%m-%d %H:%M:%f', {column})"
    if kind == "time":
        return f"({column} || SUBSTR('00:00:00.000000000', LENGTH({column}) + 1))"
    padded = f"SUBSTR(' 00:00:00.000000000', LENGTH({column}) - 9)"
    return f"(REPLACE({column}, 'T', ' ') || {padded})"


def part_of(dialect: Dialect, column: str, name: str, part: str, kind: TemporalKind | None) -> str:
    """The year, quarter, month, …, minute of a column, as a number.

    Examples
    --------
    >>> from formulakern.rules.sql.dialects import dialect_of
    >>> for dialect in ("postgres", "mysql", "sqlite"):
    ...     print(part_of(dialect_of(dialect), "seen", "seen", "weekday", "stamp"))
    EXTRACT(ISODOW FROM seen)
    (WEEKDAY(seen) + 1)
    ((CAST(STRFTIME('%w', SUBSTR(seen, 1, 10)) AS INTEGER) + 6) % 7 + 1)
    """
    if kind == "instant":
        raise DataError(
            f'the {part} of column "{name}" depends on a time zone. Make it a column of local '
            "time, without one."
        )
    if kind is not None and part not in PARTS_OF[kind]:
        raise DataError(f'column "{name}" holds {KINDS[kind][0]}, which have no {part}.')
    calendar = CALENDARS[dialect.name]
    if part in ("weekday", "quarter"):
        form = calendar.weekday if part == "weekday" else calendar.quarter
        if not form:
            raise DataError(f"{dialect.name} SQL has no {part} of a date; say a dialect.")
        return form.format(column)
    if dialect.name == "sqlite":
        if part in PLACES:
            first, length = PLACES[part]
            return f"CAST(SUBSTR({column}, {first}, {length}) AS INTEGER)"
        colon = f"INSTR({column}, ':')"
        text = f"SUBSTR({column}, {colon} {'- 2' if part == 'hour' else '+ 1'}, 2)"
        return f"CASE WHEN {colon} = 0 THEN 0 ELSE CAST({text} AS INTEGER) END"
    if part in ("hour", "minute") and kind == "stamp":
        column = f"CAST({column} AS {calendar.whole})"
    return f"EXTRACT({part.upper()} FROM {column})"
