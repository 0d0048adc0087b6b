"""Conditions and queries of one table in SQL, in the dialects of several databases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

from formulakern.encoding.propositions import number_of
from formulakern.errors import DataError, ParameterError
from formulakern.rules.conditions import ColumnType, ConditionWriter
from formulakern.rules.sums import in_groups
from formulakern.syntax.formula import Formula, Variable
from formulakern.syntax.leaves import ORDERS, ColumnName, Comparison, Level
from formulakern.syntax.temporal import DAY, KINDS, PARTS_OF, UNITS, Temporal, TemporalKind, date_of
from formulakern.tables.temporal import RELATIONS, value_of_kind
from formulakern.text import is_unicode

#: A qualified name, with dots between its parts, or a sequence of the parts.
TableName = str | Sequence[str]
DialectName = Literal["standard", "sqlite", "duckdb", "postgres", "mysql", "bigquery", "spark"]


@dataclass(frozen=True)
class Dialect:
    r"""The syntax of one family of databases, and the semantics of their columns.

    This table replaces sqlglot, which translates queries between dialects.  A translation ignores
    that 0.1 is a decimal in some engines and a double in others, that NaN can be larger than every
    number, that texts differing in case may be equal, and that names may be cut at 63 bytes.

    SQLite has no types of dates and times.  There, a date or time stamp is ISO 8601 text, such as
    2020-02-01, 2020-02-01 10:30 or 2020-02-01T10:30:15.25, and a time of day 10:30:15.25.  A time
    stamp with a time zone has Z or an offset, and whole milliseconds.

    >>> for name in ("standard", "postgres", "mysql", "bigquery"):
    ...     dialect = dialect_of(name)
    ...     print(dialect.identifier('a "b`'), dialect.string("it's\\"), dialect.number(0.5))
    "a ""b`" 'it''s\' 0.5e0
    "a ""b`" E'it''s\\' CAST(0.5 AS DOUBLE PRECISION)
    `a "b``` CONVERT(X'697427735C' USING utf8mb4) 0.5e0
    `a "b\`` 'it\'s\\' 0.5
    """

    name: str
    #: Implicit columns of every table, in lower case.
    hidden: str = ""
    #: The quote around names; inside a name it is doubled, or escaped by a backslash in BigQuery.
    quote: str = '"'
    #: A backslash in text is plain, or begins an escape; or the text is written ``E'…'``, in which
    #: it begins an escape; or in hexadecimal, if a setting of the server decides.
    backslash: Literal["plain", "escape", "E", "hex"] = "plain"
    #: The hexadecimal expression of a text with NUL; empty if there is none.
    nul: str = ""
    #: The form of a double-precision constant, and the name of its type.
    real: str = "{}"
    double: str = "DOUBLE PRECISION"
    #: True if columns have truth values rather than 1 and 0; and the literal of true (a column of
    #: SQLite may be named ``true``).
    boolean: bool = True
    true: str = "TRUE"
    #: The condition that a column of truth values or numbers equals 1 or 0.
    truth: str = "{column} = {number}"
    #: NaN as text, empty if columns cannot have it; and the condition that the type has NaN.
    nan: str = "'NaN'"
    floating: str = ""
    #: The type of text, and a column of text that is compared character by character.
    characters: str = "TEXT"
    text: str = "{column}"
    #: The function of the largest of several numbers.
    greatest: str = "GREATEST"
    #: The length of names in bytes, beyond which they are cut; True if names ignore case.
    longest: int | None = None
    folds: bool = True
    #: Constants of dates and times, empty if there is no such type.
    stamp: str = "TIMESTAMP '{}'"
    instant: str = "TIMESTAMP '{}+00:00'"
    time: str = "TIME '{}'"
    duration: str = "{sign}INTERVAL '{days} {clock}' DAY TO SECOND"
    #: Parts of a date.
    weekday: str = ""
    quarter: str = "EXTRACT(QUARTER FROM {})"
    #: The type of time stamps, to which dates are cast to extract hours.
    whole: str = "TIMESTAMP"
    #: The resolution of columns of dates and times, in nanoseconds.
    resolution: int = UNITS["us"]

    def identifier(self, name: str) -> str:
        """Return a name in quotes."""
        reason = ""
        if not name or "\0" in name or not is_unicode(name):
            reason = "a name must not be empty, and has neither NUL nor half of a surrogate pair"
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
        """Return True if a column of text can have this entry."""
        return is_unicode(text) and (
            "\0" not in text or bool(self.nul or self.backslash == "escape")
        )

    def string(self, text: str) -> str:
        """Return a text as an SQL expression."""
        if not self.holds(text):
            raise DataError(f"{self.name} SQL cannot represent the text {text!r}. Remove NUL.")
        if self.backslash == "escape":
            return "'" + _escaped(text, "'") + "'"
        if "\0" in text or ("\\" in text and self.backslash == "hex"):
            return self.nul.format(text.encode().hex().upper())
        plain = "'" + text.replace("'", "''") + "'"
        escapes = self.backslash == "E" and "\\" in text
        return "E" + plain.replace("\\", "\\\\") if escapes else plain

    def number(self, value: int | float, exact: bool = True) -> str:
        """Return a constant: whole numbers below 2⁶³ as they are, other numbers as doubles."""
        if isinstance(value, int) and abs(value) < 2**63:
            return str(value)
        shown = repr(float(value))
        if self.real == "{}e0":
            return shown if "e" in shown else self.real.format(shown)
        return shown if self.name == "postgres" and not exact else self.real.format(shown)

    @property
    def infinity(self) -> str:
        """An infinite double."""
        return f"CAST('Infinity' AS {self.double})"

    # -- dates, times and durations -----------------------------------------------------------

    def instant_of(self, value: Temporal) -> str:
        """Return a date, time stamp, time or duration as an SQL expression.

        >>> from formulakern.syntax.temporal import read_temporal
        >>> for name in ("duckdb", "sqlite", "spark"):
        ...     print(dialect_of(name).instant_of(read_temporal("2020-02-01")))
        DATE '2020-02-01'
        '2020-02-01 00:00:00.000000000'
        DATE '2020-02-01'
        >>> print(dialect_of("bigquery").instant_of(read_temporal("-3d4h30m")))
        -INTERVAL '3 04:30:00' DAY TO SECOND
        """
        form = self._form(value.kind)
        days, clock = divmod(abs(value.nanoseconds), DAY)
        if value.kind == "duration":
            if abs(value.nanoseconds) >= 2**63 * UNITS["us"]:
                raise DataError(f"no SQL for the duration {value}, which exceeds 64 bits of µs.")
            sign, count = "-" * (value.nanoseconds < 0), value.nanoseconds // UNITS["us"]
            return form.format(sign=sign, days=days, clock=_clock(clock), count=count)
        days, clock = divmod(value.nanoseconds, DAY)
        shown = _clock(clock) + "." * (self.name == "sqlite" and not clock % UNITS["s"])
        if value.kind == "time":
            return form.format(shown)
        year, month, day = date_of(days)
        if not 1 <= year <= 9999:
            raise DataError(f"no SQL for {value}: the years of SQL are from 1 to 9999.")
        date = f"{year:04d}-{month:02d}-{day:02d}"
        if value.is_date and self.name != "sqlite":
            return f"DATE '{date}'"
        return form.format(f"{date} {shown}")

    def _form(self, kind: TemporalKind) -> str:
        if not (form := str(getattr(self, kind))):
            raise DataError(
                f"{self.name} SQL has no columns of {KINDS[kind][0]}. Convert the column to "
                "numbers, such as seconds, before learning."
            )
        return form

    def bounded(self, relation: str, value: Temporal) -> tuple[str, Temporal]:
        """Return an equivalent order relation with a value that columns can have.

        If c is the largest such value below x, y < x is y <= c, and y >= x is y > c.

        >>> relation, value = dialect_of("duckdb").bounded(">=", Temporal("time", 1500))
        >>> print(relation, value)
        > 00:00:00.000001
        """
        unit = self.resolution
        if self.name == "sqlite" and value.kind == "instant":
            unit = UNITS["ms"]
        count, rest = divmod(value.nanoseconds, unit)
        if rest:
            relation = {"<": "<=", ">=": ">"}.get(relation, relation)
        return relation, Temporal(value.kind, count * unit)

    def compared(self, column: str, kind: TemporalKind) -> str:
        """Return a column of dates or times for comparisons; SQLite needs texts of equal length."""
        self._form(kind)
        if self.name != "sqlite":
            return column
        if kind == "instant":
            return f"STRFTIME('%Y-%m-%d %H:%M:%f', {column})"
        if kind == "time":
            return f"({column} || SUBSTR('00:00:00.000000000', LENGTH({column}) + 1))"
        padded = f"SUBSTR(' 00:00:00.000000000', LENGTH({column}) - 9)"
        return f"(REPLACE({column}, 'T', ' ') || {padded})"

    def part(self, column: str, part: str, kind: TemporalKind | None) -> str:
        """Return the year, quarter, month, …, or minute of a column as a number.

        >>> for dialect in ("postgres", "mysql", "sqlite"):
        ...     print(dialect_of(dialect).part("seen", "weekday", "stamp"))
        EXTRACT(ISODOW FROM seen)
        (WEEKDAY(seen) + 1)
        ((CAST(STRFTIME('%w', SUBSTR(seen, 1, 10)) AS INTEGER) + 6) % 7 + 1)
        """
        if part in ("weekday", "quarter"):
            form = self.weekday if part == "weekday" else self.quarter
            if not form:
                raise DataError(f"{self.name} SQL has no {part} of a date; choose another dialect.")
            return form.format(column)
        if self.name == "sqlite":
            if part in PLACES:
                return f"CAST(SUBSTR({column}, {PLACES[part]}) AS INTEGER)"
            colon = f"INSTR({column}, ':')"
            text = f"SUBSTR({column}, {colon} {'- 2' if part == 'hour' else '+ 1'}, 2)"
            return f"CASE WHEN {colon} = 0 THEN 0 ELSE CAST({text} AS INTEGER) END"
        if part in ("hour", "minute") and kind == "stamp":
            column = f"CAST({column} AS {self.whole})"
        return f"EXTRACT({part.upper()} FROM {column})"


#: The first character and the number of characters of each part of a date in SQLite's text.
PLACES = {"year": "1, 4", "month": "6, 2", "day": "9, 2"}


def _clock(nanoseconds: int) -> str:
    seconds, rest = divmod(nanoseconds, UNITS["s"])
    minutes, second = divmod(seconds, 60)
    fraction = f".{rest:09d}".rstrip("0") * bool(rest)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{second:02d}{fraction}"


def _escaped(text: str, quote: str) -> str:
    r"""Escape backslashes and quotes in a text by a backslash, control characters as ``\uXXXX``."""
    return "".join(
        f"\\{c}" if c in ("\\", quote) else f"\\u{ord(c):04x}" if ord(c) < 32 or c == "\x7f" else c
        for c in text
    )


ZONED = "TIMESTAMP WITH TIME ZONE '{}+00:00'"
COUNTED = "INTERVAL '{count} microseconds'"
#: All dialects by name.  In most of them, constants with an exponent are doubles.
DIALECTS = {
    row.name: row
    for row in (
        Dialect(
            "standard",
            "rowid oid _rowid_ rowsort filename file_row_number file_index ctid xmin xmax cmin "
            "cmax tableoid _partitiontime _partitiondate _table_suffix _file_name _metadata",
            real="{}e0",
            nan="",
            folds=False,
            quarter="FLOOR((EXTRACT(MONTH FROM {}) + 2) / 3.0)",
            resolution=1,
        ),
        Dialect(
            "sqlite",
            "rowid oid _rowid_",
            nul="CAST(X'{}' AS TEXT)",
            double="REAL",
            boolean=False,
            true="1",
            nan="",
            text="{column} COLLATE BINARY",
            greatest="MAX",
            stamp="'{:0<29}'",
            instant="'{:0<23}'",
            time="'{:0<18}'",
            duration="",
            weekday="((CAST(STRFTIME('%w', SUBSTR({}, 1, 10)) AS INTEGER) + 6) % 7 + 1)",
            quarter="((CAST(SUBSTR({}, 6, 2) AS INTEGER) + 2) / 3)",
            resolution=1,
        ),
        Dialect(
            "duckdb",
            "rowid rowsort filename file_row_number file_index",
            nul="DECODE(UNHEX('{}'))",
            real="{}e0",
            double="DOUBLE",
            nan="'nan'",
            floating="TYPEOF({column}) IN ('DOUBLE', 'FLOAT')",
            characters="VARCHAR",
            truth="TRY_CAST({column} AS DOUBLE) = {number}",
            instant=ZONED,
            duration=COUNTED,
            weekday="EXTRACT(ISODOW FROM {})",
        ),
        Dialect(
            "postgres",
            "ctid oid xmin xmax cmin cmax tableoid",
            backslash="E",
            real="CAST({} AS DOUBLE PRECISION)",
            truth="TO_JSONB({column}) IN ('{number}', '{word}', '\"{number}\"', '\"{word}\"')",
            floating="PG_TYPEOF({column}) IN ('double precision', 'real', 'numeric')",
            longest=63,
            folds=False,
            instant=ZONED,
            duration=COUNTED,
            weekday="EXTRACT(ISODOW FROM {})",
        ),
        Dialect(
            "mysql",
            "_rowid",
            quote="`",
            backslash="hex",
            nul="CONVERT(X'{}' USING utf8mb4)",
            real="{}e0",
            double="DOUBLE",
            boolean=False,
            nan="",
            text="CAST(CONVERT({column} USING utf8mb4) AS BINARY)",
            duration="",
            weekday="(WEEKDAY({}) + 1)",
            whole="DATETIME",
        ),
        Dialect(
            "bigquery",
            "_partitiontime _partitiondate _table_suffix _file_name",
            quote="`",
            backslash="escape",
            double="FLOAT64",
            characters="STRING",
            truth="CAST({column} AS STRING) IN ('{number}', '{word}')",
            floating="STARTS_WITH(FORMAT('%T', {column}), 'CAST(')",
            stamp="DATETIME '{}'",
            weekday="(MOD(EXTRACT(DAYOFWEEK FROM {}) + 5, 7) + 1)",
            whole="DATETIME",
        ),
        Dialect(
            "spark",
            "_metadata",
            quote="`",
            backslash="escape",
            real="{}D",
            double="DOUBLE",
            characters="STRING",
            truth="CAST({column} AS DOUBLE) = {number}",
            floating="TYPEOF({column}) IN ('double', 'float')",
            stamp="TIMESTAMP_NTZ '{}'",
            time="",
            weekday="(WEEKDAY({}) + 1)",
            whole="TIMESTAMP_NTZ",
        ),
    )
}


def dialect_of(name: str) -> Dialect:
    """Return the dialect of this name."""
    if not isinstance(name, str) or name not in DIALECTS:
        raise ParameterError(
            f"dialect={name!r}; expected one of {', '.join(map(repr, get_args(DialectName)))}."
        )
    return DIALECTS[name]


TRUE, FALSE = "1 = 1", "1 = 0"
#: A condition, and True if it may be unknown (NULL) rather than false.
Condition = tuple[str, bool]


@dataclass(frozen=True)
class SqlConditions(ConditionWriter[Condition]):
    """A writer of conditions on the columns of one table in one dialect.

    A subclass writes polars expressions: it replaces the operations, which come first.

    >>> from formulakern.syntax.parser import parse_rule
    >>> writer = SqlConditions(dialect_of("duckdb"), '"t"', {"ring": "boolean", "size": "number"})
    >>> print(writer.expression(parse_rule("~ring & odor != foul")))
    (("t"."ring") IS NOT TRUE AND "t"."odor" <> 'foul')
    >>> print(writer.expression(parse_rule("size > 3")))
    ("t"."size" > 3 AND "t"."size" <= CAST('Infinity' AS DOUBLE))
    >>> writer = SqlConditions(dialect_of("sqlite"), '"t"', writer.types)
    >>> print(writer.expression(parse_rule("~ring ^ size > 3")))
    (("t"."ring" = 1) IS NOT 1) <> (("t"."size" > 3) IS 1)
    """

    TARGET = "SQL"

    dialect: Dialect
    table: str
    types: Mapping[str, ColumnType]

    # -- operations -------------------------------------------------------------------------------

    def column(self, name: str) -> str:
        """Return a column, qualified by its table."""
        return f"{self.table}.{self.dialect.identifier(name)}"

    def present(self, name: str) -> Condition:
        """Return the condition that an entry is not missing; it is never unknown."""
        column, kind = self.column(name), self.types.get(name)
        if (finite := self._finite(name)) is not None:
            return f"({finite[0]}) IS TRUE", False
        if self.dialect.nan and kind in ("truth", "open", None):
            known = f"CAST({column} AS {self.dialect.characters}) <> {self.dialect.nan}"
            if kind is None:  # perhaps text, in which NaN is a word
                floating = self.dialect.floating.format(column=column)
                known = f"CASE WHEN {floating} THEN {known} ELSE {column} IS NOT NULL END"
            return f"({known}) IS TRUE", False
        return f"{column} IS NOT NULL", False

    def _absent(self, name: str) -> Condition:
        present = self.present(name)[0]
        if present.endswith("IS TRUE"):
            return present[: -len("TRUE")] + "NOT TRUE", False
        return f"{self.column(name)} IS NULL", False

    def _finite(self, name: str) -> Condition | None:
        """Return the condition that an entry is not NaN, or None if the column cannot have NaN.

        NaN is larger than every number in most databases.
        """
        has_nan = self.dialect.nan and self.types.get(name) == "number"
        return (f"{self.column(name)} <= {self.dialect.infinity}", True) if has_nan else None

    def _equals(self, name: str, value: bool) -> Condition:
        """Return the condition that a column is true (or 1), or that it is false (or 0)."""
        column, kind = self.column(name), self.types.get(name, "open")
        if kind == "boolean" and self.dialect.boolean:
            return (column if value else f"NOT {column}"), True
        form = self.dialect.truth if kind in ("truth", "open") else "{column} = {number}"
        return form.format(column=column, number=int(value), word=str(value).lower()), True

    def _one_or_zero(self, name: str) -> str:
        """Return a column of truth values as numbers."""
        if not self.dialect.boolean:
            return self.column(name)
        true, false = self._equals(name, True)[0], self._equals(name, False)[0]
        return f"CASE WHEN {true} THEN 1 WHEN {false} THEN 0 END"

    def _text(self, name: str) -> str:
        return self.dialect.text.format(column=self.column(name))

    def _moment(self, name: str, kind: TemporalKind) -> str:
        """Return a column of dates or times for comparisons."""
        return self.dialect.compared(self.column(name), kind)

    def _part(self, name: str, part: str, kind: TemporalKind | None) -> str:
        return self.dialect.part(self.column(name), part, kind)

    def literal(self, value: Any) -> str:
        """Return a constant to compare columns with."""
        if isinstance(value, Temporal):
            return self.dialect.instant_of(value)
        if isinstance(value, str):
            return self.dialect.string(value)
        return self.dialect.number(value, exact=False)

    def _compared(self, column: str, relation: str, other: str) -> Condition:
        """Return the condition that a column is in a relation to a column or constant."""
        return f"{column} {relation.replace('!=', '<>')} {other}", True

    def _among(self, column: str, relation: str, constants: Sequence[str]) -> Condition:
        """Return the condition that a column equals one of the constants, or none of them."""
        if len(constants) == 1:
            return self._compared(column, relation, constants[0])
        return f"{column} {'IN' if relation == '=' else 'NOT IN'} ({', '.join(constants)})", True

    def constant(self, value: bool) -> Condition:
        """Return a condition that is always true or always false."""
        return (TRUE if value else FALSE), False

    def negated(self, part: Condition) -> Condition:
        """Return the negation of a condition, which is true if the condition is unknown."""
        text, unknown = part
        return (f"({text}) IS NOT {self.dialect.true}" if unknown else f"NOT ({text})"), False

    def joined(self, word: str, parts: Sequence[Condition]) -> Condition:
        """Return conditions joined by "and" or "or"."""
        if len(parts) <= 1:
            return parts[0] if parts else self.constant(word == "and")
        parts = in_groups(parts, lambda group: self.joined(word, group))
        text = f" {word.upper()} ".join(text for text, _ in parts)
        return f"({text})", any(unknown for _, unknown in parts)

    def equal(self, left: Condition, right: Condition, same: bool) -> Condition:
        """Return the condition that two others are equal, or differ if ``same`` is False."""
        sides = [
            f"(({text}) IS {self.dialect.true})" if unknown else f"({text})"
            for text, unknown in (left, right)
        ]
        return f"{sides[0]} {'=' if same else '<>'} {sides[1]}", False

    # -- conditions built from these operations ---------------------------------------------------

    def expression(self, formula: Formula) -> str:
        """Return a condition that is true in the rows of a formula, and false or unknown in others.

        A comparison with NULL is unknown in SQL and false in a rule.  The difference matters only
        under ``NOT`` and connectives that contain it, which test if the comparison is true.
        """
        return self.condition(formula)[0]

    def number(self, name: str) -> str:
        """Return a column of numbers or truth values as a number."""
        kind = self.types.get(name)
        if kind == "text":
            raise DataError(
                f'column "{name}" holds text, but a rule compares it with numbers; {self.TARGET} '
                "does that differently. Make it a column of numbers, and give its type in types."
            )
        if kind in KINDS:
            raise DataError(f'column "{name}" holds {KINDS[kind][0]}, which are not numbers.')
        truths = kind in ("boolean", "truth", "open")
        return self._one_or_zero(name) if truths else self.column(name)

    def truth(self, name: str, value: bool = True) -> Condition:
        """Return the condition that a column is true (or 1), or that it is false (or 0)."""
        kind = self.types.get(name)
        if kind == "text" or kind in KINDS:
            raise DataError(
                f'column "{name}" holds {_content(kind)}, which is not a truth value in '
                f"{self.TARGET}. Compare it with a value: {Variable(name)} = …"
            )
        return self._equals(name, value)

    def comparison(self, leaf: Comparison) -> Condition:
        """Return the condition of a comparison."""
        name, relation, values = leaf.column, leaf.relation, leaf.values
        if leaf.value is None:
            return self.present(name) if relation == "is not missing" else self._absent(name)
        sign = {"in": "=", "not in": "!="}.get(relation, relation)
        if leaf.part is not None:
            number = self._part_of(name, leaf.part)
            return self._among(number, sign, list(map(self.literal, values)))
        if relation in ORDERS:
            return self._order(name, relation, values[0])
        constants = [value for value in values if not isinstance(value, ColumnName)]
        parts = [self._equal(name, sign, constants)] if constants else []
        parts += [self._pair(name, sign, v.name) for v in values if isinstance(v, ColumnName)]
        return self.joined("or" if sign == "=" else "and", parts)

    def _part_of(self, name: str, part: str) -> str:
        kind = self._temporal(name)
        if kind == "instant":
            raise DataError(
                f'the {part} of column "{name}" depends on a time zone. Convert it to local '
                "time without a time zone."
            )
        if kind is not None and part not in PARTS_OF[kind]:
            raise DataError(f'column "{name}" holds {KINDS[kind][0]}, which have no {part}.')
        return self._part(name, part, kind)

    def _one_of(self, name: str, truths: Sequence[int]) -> Condition:
        """Return the condition that a column of truth values has one of these."""
        if len(truths) == 1:
            return self.truth(name, bool(truths[0]))
        return self.present(name) if truths else self.constant(False)

    def _order(self, name: str, relation: str, value: Any) -> Condition:
        if isinstance(value, ColumnName):
            return self._pair(name, relation, value.name)
        if isinstance(value, Level):
            if (held := self.types.get(name)) not in (None, "text"):
                raise DataError(
                    f'column "{name}" holds {_content(held)}, but a rule compares it with ordered '
                    "categories. Make it a column of text, and give its type in types."
                )
            return self._equal(name, "=", value.passed(relation))
        if (kind := self._temporal(name, value)) is not None:
            found = value_of_kind(value, kind, name)
            relation, found = self.dialect.bounded(relation, found)
            return self._compared(self._moment(name, kind), relation, self.literal(found))
        number = number_of(value) if isinstance(value, str) else value
        if number is None:
            raise self._unordered(name, value)
        if self.types.get(name) in ("boolean", "truth"):
            return self._one_of(name, [k for k in (1, 0) if RELATIONS[relation](k, number)])
        compared = self._compared(self.number(name), relation, self.literal(number))
        return self._guarded(compared, [name] if relation in (">", ">=") else [])

    def _temporal(self, name: str, *values: Any) -> TemporalKind | None:
        """Return the kind of dates or times of a column, or of a value compared with it."""
        kind = self.types.get(name)
        if kind in KINDS:
            return kind
        found = [value for value in values if isinstance(value, Temporal)]
        if found and kind is not None:
            raise DataError(
                f'column "{name}" holds {_content(kind)}, but a rule compares it with {found[0]}, '
                f"of {KINDS[found[0].kind][0]}. Make it a column of these, and give its type in "
                f"types: {{{name!r}: {found[0].kind!r}}}."
            )
        return found[0].kind if found else None

    def _guarded(self, condition: Condition, names: Iterable[str]) -> Condition:
        """Return a comparison joined with the condition that these columns are not NaN."""
        known = [finite for name in names if (finite := self._finite(name)) is not None]
        return self.joined("and", [condition, *known])

    def _pair(self, name: str, relation: str, other: str) -> Condition:
        """Return the comparison of two columns."""
        kinds, names = [self.types.get(name), self.types.get(other)], (name, other)
        read: Callable[[str], str] = self.column
        if (kind := self._temporal(name) or self._temporal(other)) is not None:
            if not set(kinds) <= {kind, None}:
                held = [f'"{c}" holds {_content(k)}' for c, k in zip(names, kinds, strict=True)]
                raise DataError(
                    f"a rule compares two columns that differ in kind: {' and '.join(held)}. "
                    "Convert one of them, and give its type in types."
                )
            read = partial(self._moment, kind=kind)
        elif kinds == ["text", "text"] and relation in ("=", "!="):
            read = self._text
        elif "text" in kinds and None not in kinds:
            numbers, texts = names if kinds[1] == "text" else (other, name)
            raise DataError(
                f'column "{texts}" holds text and "{numbers}" does not; {self.TARGET} compares '
                "them differently than a rule. Make them columns of one type, and give it in types."
            )
        elif None not in kinds and kinds != ["boolean", "boolean"]:
            read = self.number
        compared = self._compared(read(name), relation, read(other))
        return self._guarded(compared, dict.fromkeys(names))

    def _equal(self, name: str, sign: str, values: Sequence[Any]) -> Condition:
        """Return the condition that a column equals one of the constants, or none of them."""
        column, kind = self.column(name), self.types.get(name)
        if (temporal := self._temporal(name, *values)) is not None:
            found = [value_of_kind(value, temporal, name) for value in values]
            values = [value for value in found if self.dialect.bounded("=", value)[1] == value]
            column = self._moment(name, temporal)
        elif kind == "text":
            column = self._text(name)
            for value in values:
                if not isinstance(value, str):
                    raise DataError(
                        f'column "{name}" holds text, but a rule compares it with the number '
                        f"{value!r}, which equals several texts. To compare with one text, write "
                        f'{Variable(name)} = "{value}".'
                    )
        elif kind is not None:
            read = [number_of(value) if isinstance(value, str) else value for value in values]
            values = [number for number in read if number is not None]
            if kind in ("boolean", "truth"):
                return self._one_of(name, [k for k in (1, 0) if (k in values) == (sign == "=")])
            if kind == "open":
                equal = self.joined(
                    "or", [self.truth(name, bool(k)) for k in (1, 0) if k in values]
                )
                if sign == "=":
                    return equal
                return self.joined("and", [self.negated(equal), self.present(name)])
        values = [v for v in values if not isinstance(v, str) or self.dialect.holds(v)]
        if not values:
            return self.constant(False) if sign == "=" else self.present(name)
        equal = self._among(column, sign, list(map(self.literal, values)))
        return self._guarded(equal, [name] if sign == "!=" else [])


def _content(kind: ColumnType | None) -> str:
    """Return the content of a column of a type, in words."""
    if kind in KINDS:
        return KINDS[kind][0]
    return {"text": "text", None: "entries of an unknown type"}.get(kind, "numbers or truth values")


#: A placeholder for line breaks of expressions; texts can have line breaks, but not NUL.
BREAK = "\0"


class Query:
    """A query of one table, and its expressions."""

    dialect: Dialect
    writer: SqlConditions

    def __init__(
        self,
        table: TableName,
        dialect: DialectName,
        columns: Iterable[str],
        types: Mapping[str, ColumnType],
    ) -> None:
        self.dialect = dialect_of(dialect)
        parts = table.split(".") if isinstance(table, str) else list(table)
        if not parts or not all(isinstance(part, str) and part for part in parts):
            raise ParameterError(
                f"table={table!r}; expected a name such as 'data' or 'schema.data', or its "
                "parts: ('schema', 'data')."
            )
        names = [self.dialect.identifier(part) for part in parts]
        self._from, qualifier = ".".join(names), names[-1]
        read = list(dict.fromkeys(columns))
        if len(parts) > 1:
            self._from += f" AS {qualifier}"
        if {*self.dialect.hidden.split()} & {name.lower() for name in read}:
            # a table has these implicit columns; a subquery only if they are real columns
            qualifier = self.dialect.identifier("all rows")
            self._from = f"(SELECT * FROM {'.'.join(names)}) AS {qualifier}"
        folded: dict[str, str] = {}
        for name in read if self.dialect.folds else ():
            if (other := folded.setdefault(name.lower(), name)) != name:
                raise DataError(
                    f'columns "{other}" and "{name}" differ in case only; {self.dialect.name} '
                    "treats them as one column. Rename one of them."
                )
        self._known = {name.casefold() for name in (*read, *types)}
        self.writer = SqlConditions(self.dialect, qualifier, types)

    def text(self, answer: str, name: str = "predicted_class", scores: Sequence[str] = ()) -> str:
        """Return the query of all columns, scores, and the prediction."""
        added = [*((total, f"score_{k}") for k, total in enumerate(scores, 1)), (answer, name)]
        columns = [f"{BREAK}{expression} AS {self._fresh(wanted)}" for expression, wanted in added]
        head = indented(",".join([f"SELECT {self.writer.table}.*", *columns]))
        return f"{head}{BREAK}FROM {self._from}".replace(BREAK, "\n")

    def rows(self, condition: str) -> str:
        """Return the query of the rows in which a condition is true."""
        return f"SELECT {self.writer.table}.*\nFROM {self._from}\nWHERE {condition}"

    def _fresh(self, wanted: str) -> str:
        try:
            self.dialect.identifier(wanted)
        except DataError:
            wanted = "predicted"
        name, number = wanted, 1
        while name.casefold() in self._known:
            number += 1
            name = f"{wanted}_{number}"
        self._known.add(name.casefold())
        return self.dialect.identifier(name)

    # -- expressions ------------------------------------------------------------------------------

    def label(self, label: Any) -> str:
        """Return a class as a constant."""
        if label is None:
            return "NULL"
        if isinstance(label, bool):
            return str(label).upper() if self.dialect.boolean else str(int(label))
        if isinstance(label, (int, float)):
            return self.dialect.number(label)
        return self.dialect.string(str(label))

    def total(self, intercept: float, terms: Iterable[str]) -> str:
        """Return a sum, in the order of :func:`formulakern.rules.sums.weighted_sums`.

        The first number decides the type: all are doubles, or all are integers.
        """

        def added(parts: Sequence[str]) -> str:
            return f"{BREAK}+ ".join(parts)

        parts = [self.dialect.number(intercept), *terms]
        return added(in_groups(parts, lambda group: wrapped("", added(group))))

    def leading(
        self, sums: Sequence[str], labels: Sequence[str], first: Sequence[str], opposite: bool
    ) -> str:
        """Return the label of the largest sum, the first of several, after the cases ``first``.

        ``opposite`` means that there are two sums, and the second is −1 times the first.
        """
        if len(sums) == 2:
            other = " >= 0" if opposite else wrapped(" >= ", sums[1])
            ahead = f"{wrapped('WHEN ', sums[0])}{other} THEN {labels[0]}"
            return cases([*first, ahead], labels[1])
        answer = self.largest(sums, labels)
        return cases(first, answer) if first else answer

    def largest(self, sums: Sequence[str], labels: Sequence[str], first: Sequence[str] = ()) -> str:
        """Return the label of the largest sum, the first of several.

        ``first`` are cases of the largest sum, such as ``WHEN 0 THEN …``.
        """

        def greatest(group: Sequence[str]) -> str:
            more = wrapped(self.dialect.greatest, f",{BREAK}".join(group))
            return more if len(group) > 1 else group[0]

        before = zip(sums[:-1], labels, strict=False)
        others = [f"{wrapped('WHEN ', total)} THEN {label}" for total, label in before]
        return cases([*first, *others], labels[-1], f" {greatest(in_groups(sums, greatest))}")


def cases(conditions: Sequence[str], otherwise: str, of: str = "") -> str:
    """Return a ``CASE`` with these conditions, and its value if none of them applies."""
    lines = [*conditions, f"ELSE {otherwise}"]
    return f"CASE{of}{indented(''.join(BREAK + line for line in lines))}{BREAK}END"


def wrapped(before: str, text: str) -> str:
    """Return an expression in parentheses after a word."""
    return f"{before}({indented(BREAK + text) + BREAK if BREAK in text else text})"


def indented(text: str) -> str:
    """Indent all lines of an expression but the first."""
    return text.replace(BREAK, f"{BREAK}  ")
