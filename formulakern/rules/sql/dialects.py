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
from formulakern.text import is_unicode

__all__ = ["Dialect", "DialectName", "TableName", "dialect_of"]

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
