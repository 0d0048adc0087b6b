"""Dialects of SQL: how each writes names, texts and numbers, and what its columns can hold.

This is a table of our own rather than sqlglot's, which translates queries from one dialect into
another.  What has to be right here is what no translation knows: that 0.1 is a decimal in some
engines and a double in others, that NaN is larger than every number, that texts which differ in
case or in blanks at the end are equal, that names are cut at 63 bytes.  The tests let the engines
answer, and let sqlglot read what is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from formulakern.errors import DataError, ParameterError
from formulakern.syntax.temporal import DAY, KINDS, PARTS_OF, UNITS, Temporal, TemporalKind, date_of
from formulakern.text import is_unicode

__all__ = [
    "Dialect",
    "DialectName",
    "TableName",
    "bounded",
    "constant",
    "dialect_of",
    "is_held",
    "part_of",
    "temporal_column",
]

#: The parts of a qualified name, or them with dots between.
TableName = str | Sequence[str]
DialectName = Literal["standard", "sqlite", "duckdb", "postgres", "mysql", "bigquery", "spark"]

#: Columns that tables have without having been given them, in lower case.
HIDDEN = {
    "sqlite": {"rowid", "oid", "_rowid_"},
    "duckdb": {"rowid", "rowsort", "filename", "file_row_number", "file_index"},
    "postgres": {"ctid", "oid", "xmin", "xmax", "cmin", "cmax", "tableoid"},
    "mysql": {"_rowid"},
    "bigquery": {"_partitiontime", "_partitiondate", "_table_suffix", "_file_name"},
    "spark": {"_metadata"},
}


@dataclass(frozen=True)
class Dialect:
    r"""The syntax of one family of databases, and what its columns hold.

    Parameters
    ----------
    name : str
    quote : str
        What stands around names, and is doubled inside (in BigQuery it has a backslash before it).
    backslash : {"plain", "escape", "E", "hex"}
        A backslash in a text is one character; or begins an escape; or the text is written
        ``E'…'``, in which it does; or, where that is a setting of the server, in hexadecimal.
    nul : str
        A character of code 0 in a text, as an expression of the whole text in hexadecimal, or the
        empty text where there is none.
    real : str
        A double-precision constant, of its shortest decimal.
    double : str
        The type of such a number.
    boolean : bool
        Whether columns hold truth values, rather than 1 and 0.
    truth : str
        Whether a column that may hold truth values or numbers is a number (``{1}``, or ``{0}``).
    true : str
        The truth value; in SQLite a column may be named ``true``, and is meant first.
    nan : str
        How NaN is written where a number is made text; empty where columns do not hold it.
    floating : str
        Whether a column, of which nothing is known, is one of a type that holds NaN.
    characters : str
        The type of texts.
    text : str
        A column of text, compared character by character.
    greatest : str
        The function that gives the largest of some numbers.
    longest : int, optional
        Names with more bytes are cut.
    folds : bool
        Whether names that differ in case are one column.

    Examples
    --------
    >>> for name in ("standard", "postgres", "mysql", "bigquery"):
    ...     dialect = dialect_of(name)
    ...     print(dialect.identifier('a "b`'), dialect.string("it's\\"), dialect.number(0.5))
    "a ""b`" 'it''s\' 0.5e0
    "a ""b`" E'it''s\\' CAST(0.5 AS DOUBLE PRECISION)
    `a "b``` CONVERT(X'697427735C' USING utf8mb4) 0.5e0
    `a "b\`` 'it\'s\\' 0.5
    """

    name: str
    quote: str = '"'
    backslash: Literal["plain", "escape", "E", "hex"] = "plain"
    nul: str = ""
    real: str = "{}"
    double: str = "DOUBLE PRECISION"
    boolean: bool = True
    truth: str = "{column} = {number}"
    true: str = "TRUE"
    nan: str = "'NaN'"
    floating: str = ""
    characters: str = "TEXT"
    text: str = "{column}"
    greatest: str = "GREATEST"
    longest: int | None = None
    folds: bool = True

    @property
    def hidden(self) -> frozenset[str]:
        """Names that a table answers to although it has no such column, in lower case."""
        names: Iterable[set[str]] = HIDDEN.values()
        if self.name in HIDDEN:
            names = [HIDDEN[self.name]]
        return frozenset[str]().union(*names)

    def identifier(self, name: str) -> str:
        """A name in quotes."""
        reason = ""
        if not name or "\0" in name or not is_unicode(name):
            reason = "a name is not empty, and holds neither NUL nor half of a surrogate pair"
        elif self.longest is not None and len(name.encode()) > self.longest:
            reason = (
                f"{self.name} cuts names at {self.longest} bytes, so it may mean another column"
            )
        if reason:
            raise DataError(f"no SQL for the name {name!r}: {reason}. Rename it.")
        if self.name == "bigquery":
            return self.quote + _escaped(name, self.quote) + self.quote
        return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote

    def holds(self, text: str) -> bool:
        """Whether a column of text can hold a text."""
        return is_unicode(text) and ("\0" not in text or self._writes_nul)

    @property
    def _writes_nul(self) -> bool:
        return bool(self.nul) or self.backslash == "escape"

    def string(self, text: str) -> str:
        """A text as an SQL expression."""
        if not self.holds(text):
            raise DataError(f"{self.name} SQL holds no text {text!r}. Write it without NUL.")
        if self.backslash == "escape":
            return "'" + _escaped(text, "'") + "'"
        if "\0" in text or ("\\" in text and self.backslash == "hex"):
            return self.nul.format(text.encode().hex().upper())
        plain = "'" + text.replace("'", "''") + "'"
        return (
            "E" + plain.replace("\\", "\\\\") if self.backslash == "E" and "\\" in text else plain
        )

    def number(self, value: int | float, exact: bool = True) -> str:
        """A constant: whole numbers as they are; others, and those beyond 2⁶³, as doubles."""
        if isinstance(value, int) and abs(value) < 2**63:
            return str(value)
        shown = repr(float(value))
        if self.real == "{}e0":
            return shown if "e" in shown else self.real.format(shown)
        return shown if self.name == "postgres" and not exact else self.real.format(shown)

    @property
    def infinity(self) -> str:
        """The largest double."""
        return f"CAST('Infinity' AS {self.double})"


def _escaped(text: str, quote: str) -> str:
    r"""A text with a backslash before itself and the quote; control characters as ``\uXXXX``."""
    return "".join(
        f"\\{c}" if c in ("\\", quote) else f"\\u{ord(c):04x}" if ord(c) < 32 or c == "\x7f" else c
        for c in text
    )


#: All dialects by name.  Constants with an exponent are doubles in most.
DIALECTS = {
    row.name: row
    for row in (
        Dialect("standard", real="{}e0", nan="", folds=False),
        Dialect(
            "sqlite",
            nul="CAST(X'{}' AS TEXT)",
            double="REAL",
            boolean=False,
            true="1",
            nan="",
            text="{column} COLLATE BINARY",
            greatest="MAX",
        ),
        Dialect(
            "duckdb",
            nul="DECODE(UNHEX('{}'))",
            real="{}e0",
            double="DOUBLE",
            nan="'nan'",
            floating="TYPEOF({column}) IN ('DOUBLE', 'FLOAT')",
            characters="VARCHAR",
            truth="TRY_CAST({column} AS DOUBLE) = {number}",
        ),
        Dialect(
            "postgres",
            backslash="E",
            real="CAST({} AS DOUBLE PRECISION)",
            truth="TO_JSONB({column}) IN ('{number}', '{word}', '\"{number}\"', '\"{word}\"')",
            floating="PG_TYPEOF({column}) IN ('double precision', 'real', 'numeric')",
            longest=63,
            folds=False,
        ),
        Dialect(
            "mysql",
            quote="`",
            backslash="hex",
            nul="CONVERT(X'{}' USING utf8mb4)",
            real="{}e0",
            double="DOUBLE",
            boolean=False,
            nan="",
            text="CAST(CONVERT({column} USING utf8mb4) AS BINARY)",
        ),
        Dialect(
            "bigquery",
            quote="`",
            backslash="escape",
            double="FLOAT64",
            characters="STRING",
            truth="CAST({column} AS STRING) IN ('{number}', '{word}')",
            floating="STARTS_WITH(FORMAT('%T', {column}), 'CAST(')",
        ),
        Dialect(
            "spark",
            quote="`",
            backslash="escape",
            real="{}D",
            double="DOUBLE",
            characters="STRING",
            truth="CAST({column} AS DOUBLE) = {number}",
            floating="TYPEOF({column}) IN ('double', 'float')",
        ),
    )
}


def dialect_of(name: str) -> Dialect:
    """The dialect of this name."""
    if not isinstance(name, str) or name not in DIALECTS:
        raise ParameterError(
            f"dialect={name!r}; expected one of {', '.join(map(repr, get_args(DialectName)))}."
        )
    return DIALECTS[name]


# -- dates, times and durations: constants, columns and parts of the calendar
#
# SQLite has no types for them.  There a date or time stamp is text as ISO 8601 has it, such as
# 2020-02-01, 2020-02-01 10:30 or 2020-02-01T10:30:15.25, a time of day 10:30:15.25; a time stamp
# with a time zone is such a text with Z or an offset, in whole milliseconds.  Columns are brought
# into one form there before they are compared.


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
