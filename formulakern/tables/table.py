"""Tables: named columns of equal length, the normal form of all input tables."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn, overload

import numpy as np
from numpy.typing import NDArray

from formulakern.errors import DataError
from formulakern.markup import small_table
from formulakern.optional import data_frame
from formulakern.syntax.temporal import TemporalKind
from formulakern.tables.column import Column, did_you_mean
from formulakern.tables.read import (
    Opened,
    default_names,
    opened,
    refuse_repeated,
    row_positions,
)
from formulakern.tables.temporal import is_temporal
from formulakern.text import aligned, clip

#: Rows that ``repr`` shows; characters of a line and of a cell; columns of the HTML form.
SHOWN_ROWS, SHOWN_WIDTH, SHOWN_CELL, SHOWN_COLUMNS = 6, 100, 24, 20


class Table:
    """Named columns of equal length; immutable.

    The entries of a column are numbers (bool, int64, uint64 or float64, NaN = missing), dates,
    times or durations (``datetime64`` or ``timedelta64``, NaT = missing), or ``str`` objects
    (None = missing).

    Parameters
    ----------
    columns : mapping of str to array of shape (n_rows,)
        The columns in order: numbers, texts, truth values, dates, times or durations.  Missing
        entries are None, NaN or NaT.  The columns are copied.

    Raises
    ------
    DataError
        If the lengths differ, a name is empty or not a str, or a column cannot be read.

    Examples
    --------
    >>> table = Table({"odor": ["foul", None, "none"], "gill_size": [3, 1, 4]})
    >>> table
    Table: 3 rows, 2 columns
       odor  gill_size
    0  foul          3
    1     ·          1
    2  none          4
    >>> table["gill_size"], table.missing("odor"), table.shape
    (array([3, 1, 4]), array([False,  True, False]), (3, 2))
    >>> table[[2, 0]]["odor"]
    array(['none', 'foul'], dtype=object)
    """

    __slots__ = ("_columns", "_n_rows")

    _columns: dict[str, Column]
    _n_rows: int

    def __init__(self, columns: Mapping[str, Any]) -> None:
        for name in columns:
            if not isinstance(name, str) or not name:
                fault = f"a column's name is a non-empty str; got {name!r}. Rename the column."
                raise DataError(fault)
        self._fill({name: Column.read(values, name) for name, values in columns.items()}, 0)

    def _fill(self, columns: dict[str, Column], n_rows: int) -> None:
        first = ""
        for name, column in columns.items():
            if first and len(column) != n_rows:
                raise DataError(
                    f'column "{name}" has {len(column)} rows, but column "{first}" has {n_rows}; '
                    "the columns of a table have equal length."
                )
            n_rows, first = len(column), first or name
        object.__setattr__(self, "_columns", columns)
        object.__setattr__(self, "_n_rows", n_rows)

    @classmethod
    def of_columns(cls, columns: dict[str, Column], n_rows: int = 0) -> Table:
        """Return a table of columns that have been read; without columns it has ``n_rows`` rows."""
        table = cls.__new__(cls)
        table._fill(columns, n_rows)
        return table

    @classmethod
    def of(cls, X: object, names: Sequence[str] | None = None) -> Table:
        """Read any table.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame, dict, list or Table of shape (n_rows, n_columns)
            NumPy array of any dtype but complex (object and str too), SciPy sparse matrix with at
            most ``MAX_DENSE_ENTRIES`` entries, pandas or polars DataFrame, Arrow table, mapping of
            names to columns, list of rows, or a Table, which is returned as it is.
        names : sequence of str, optional
            Names for the columns; by default those of X, or ``x0, x1, …`` if it has none.

        Returns
        -------
        Table

        Raises
        ------
        DataError
            If X is not two-dimensional, rows have different lengths, names repeat or do not match
            the number of columns, or the sparse matrix is too large to be made dense.

        Notes
        -----
        The cost is one copy of the table.  Categories become text, their labels.

        Examples
        --------
        >>> Table.of(np.array([[1, 2], [3, 4]])).names
        ('x0', 'x1')
        >>> Table.of([["x", 1], ["o", 2]], names=["square", "turn"])["turn"]
        array([1, 2])
        """
        if not isinstance(X, Table):
            found = opened(X)
        elif names is None:
            return X
        else:
            found = Opened(X.names, len(X), [*X._columns.values()])
        columns = found.columns
        own = default_names(len(columns)) if found.names is None else found.names
        labels = [str(name) for name in (own if names is None else names)]
        if len(labels) != len(columns):
            raise DataError(
                f"got {len(labels)} names for a table with {len(columns)} columns; expected one "
                "name per column."
            )
        refuse_repeated(labels)
        read = zip(labels, columns, strict=True)
        return cls.of_columns({name: Column.read(c, name) for name, c in read}, found.n_rows)

    # -- columns -----------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self._columns)

    @property
    def columns(self) -> Mapping[str, NDArray[Any]]:
        """A read-only mapping from names to the entries of columns, in order."""
        return MappingProxyType({name: column.entries for name, column in self._columns.items()})

    @property
    def orders(self) -> Mapping[str, tuple[str, ...]]:
        """The labels of each ordered categorical column, the lowest first.

        >>> import pandas as pd
        >>> size = pd.Categorical(["small"], ["small", "large"], ordered=True)
        >>> Table.of(pd.DataFrame({"size": size})).orders["size"]
        ('small', 'large')
        """
        listed = self._columns.items()
        return MappingProxyType({name: column.order for name, column in listed if column.order})

    @property
    def kinds(self) -> Mapping[str, TemporalKind]:
        """The kind of each temporal column: stamps, instants (with time zone), times or durations.

        >>> Table({"day": np.array(["2020-02-01"], "M8[D]"), "a": [1]}).kinds["day"]
        'stamp'
        """
        listed = self._columns.items()
        return MappingProxyType(
            {name: column.temporal for name, column in listed if column.temporal is not None}
        )

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of columns."""
        return self._n_rows, len(self._columns)

    #: The number of dimensions, always 2.
    ndim = 2

    @property
    def digest(self) -> str:
        """The SHA-256 hash of the names and entries, which identifies the table.

        >>> table = Table({"a": [1, 2]})
        >>> table.digest == table[[0, 1]].digest, table.digest == table[[1, 0]].digest
        (True, False)
        """
        found = hashlib.sha256()
        for name, column in self._columns.items():
            text = repr((name, column.entries.tolist()))
            found.update(text.encode(errors="surrogatepass"))
        return found.hexdigest()

    def typed(self, name: str) -> Column:
        """Return a column with its kind and categories.

        Raises
        ------
        DataError
            If there is no such column; the message lists the nearest names.
        """
        try:
            return self._columns[name]
        except (KeyError, TypeError):
            hint = did_you_mean(str(name), self.names) if self._columns else "it has no columns."
            raise DataError(f'no column "{name}" in the table; {hint}') from None

    def column(self, name: str) -> NDArray[Any]:
        """Return the read-only entries of a column.

        Parameters
        ----------
        name : str

        Returns
        -------
        ndarray of shape (n_rows,)
            bool, int64, uint64, float64 (NaN = missing), datetime64, timedelta64 (NaT = missing),
            or object (str, None = missing).

        Raises
        ------
        DataError
            If there is no such column; the message lists the nearest names.

        Examples
        --------
        >>> Table({"odor": ["foul"]}).column("odour")
        Traceback (most recent call last):
            ...
        formulakern.errors.DataError: no column "odour" in the table; did you mean "odor"?
        """
        return self.typed(name).entries

    def is_numeric(self, name: str) -> bool:
        """Return whether the column holds numbers or truth values."""
        return self.typed(name).is_numeric

    def missing(self, name: str) -> NDArray[np.bool_]:
        """Return a mask of the missing entries of a column.

        >>> Table({"a": [1.5, None]}).missing("a")
        array([False,  True])
        """
        return self.typed(name).missing

    def entry(self, name: str, row: int) -> Any:
        """Return one entry as a Python value or a Temporal, or None if it is missing.

        >>> print(Table({"day": np.array(["2020-02-01"], "M8[D]")}).entry("day", 0))
        2020-02-01
        """
        return self.typed(name).entry(row)

    # -- container ---------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._n_rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    @overload
    def __getitem__(self, key: str) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, key: Any) -> Table: ...
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self.column(key)
        if not isinstance(key, tuple):
            return self._select(key)
        if len(key) == 2 and key[1] is Ellipsis:
            return self._select(key[0])
        raise DataError(
            f"a table is indexed by a column's name or by rows; got {key!r}. Write "
            "table[rows] or table[name]; to select columns, table.select([name, …])."
        )

    def select(self, names: Sequence[str]) -> Table:
        """Return the table with only these columns, in this order.

        >>> Table({"a": [1], "b": [2]}).select(["b"]).names
        ('b',)
        """
        return Table.of_columns({name: self.typed(name) for name in names}, self._n_rows)

    def _select(self, key: Any) -> Table:
        rows = row_positions(key, self._n_rows, -self._n_rows)
        taken = {name: column.take(rows) for name, column in self._columns.items()}
        return Table.of_columns(taken, len(rows))

    # -- value -------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a table is immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a table is immutable: cannot delete {name!r}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        if (self.names, self.shape) != (other.names, other.shape):
            return False
        both = zip(self._columns.values(), other._columns.values(), strict=True)
        return all(one.same_as(another) for one, another in both)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[object, ...]:
        return (Table.of_columns, (self._columns, self._n_rows))

    # -- conversions -------------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return all columns as one array: numeric if all columns are, otherwise of objects."""
        if copy is False:
            raise ValueError("an array of a table is always a copy; expected copy=None or True.")
        columns = list(self.columns.values())
        if dtype is None:
            numeric = columns and all(column.dtype.kind in "biuf" for column in columns)
            dtype = np.result_type(*columns) if numeric else object
        array = np.empty(self.shape, dtype=dtype)
        for position, column in enumerate(columns):
            # NumPy would write nanoseconds into an object array as integers, but keeps its scalars
            array[:, position] = list(column) if is_temporal(column) else column
        return array

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame; numbers stay numbers, and text becomes str.

        Raises
        ------
        MissingDependencyError
            If pandas is not installed.

        Examples
        --------
        >>> Table({"a": [1, 2], "b": ["x", "y"]}).to_pandas()
           a  b
        0  1  x
        1  2  y
        """
        columns: dict[str, Any] = {name: entries.copy() for name, entries in self.columns.items()}
        frame = data_frame(columns)
        for name, kind in self.kinds.items():
            if kind == "instant":
                frame[name] = frame[name].dt.tz_localize("UTC")
            elif kind == "time":
                frame[name] = (np.datetime64(0, "s") + frame[name]).dt.time
        return frame.reindex(range(self._n_rows))

    # -- display -----------------------------------------------------------------------------

    def _head(self) -> list[list[str]]:
        rows = range(min(len(self), SHOWN_ROWS))
        return [[name, *(cell(self.entry(name, row)) for row in rows)] for name in self._columns]

    def __repr__(self) -> str:
        (rows, columns), head = self.shape, self._head()
        title = f"Table: {rows:,} row{'s'[: rows != 1]}, {columns:,} column{'s'[: columns != 1]}"
        n_shown = len(head[0]) - 1 if head else 0
        index = ["", *map(str, range(n_shown))]
        room = SHOWN_WIDTH - len(index[-1])
        widths = np.cumsum([2 + max(map(len, cells)) for cells in head])
        fitting = max(int((widths <= room).sum()), min(1, columns))
        cells = zip(index, *head[:fitting], strict=True)
        lines = aligned([*map(list, cells)], ">" * (fitting + 1)) if columns else []
        if fitting < columns:
            lines[0] += f"  … {columns - fitting} more"
        if rows > n_shown and columns:
            lines.append("…")
        return "\n".join([title, *lines])

    def _repr_html_(self) -> str:
        (rows, columns), shown = self.shape, self._head()[:SHOWN_COLUMNS]
        index = ["", *map(str, range(len(shown[0]) - 1 if shown else 0))]
        more = [["…", *[""] * (len(index) - 1)]] * (columns > len(shown))
        head, *body = zip(index, *shown, *more, strict=True)
        return small_table(head, body, "<" * len(head), f"{rows:,} rows, {columns:,} columns")


def cell(value: object) -> str:
    """Return an entry as short text, or "·" if it is missing.

    >>> cell(2 / 3), cell(None), cell("a\\tb")
    ('0.666667', '·', 'a�b')
    """
    if value is None or value != value:
        return "·"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return clip(text, SHOWN_CELL)
