"""Tables: named columns of equal length, the one normal form of every table that comes in.

NumPy arrays, SciPy sparse matrices, pandas and polars frames, dictionaries of columns and lists of
rows all become a :class:`Table`, whose columns are numeric, temporal or text and say which entries
are missing; text of an ordered category also knows its order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn, overload

import numpy as np
from numpy.typing import NDArray

from formulakern.encoding.bits import row_positions
from formulakern.encoding.columns import Column, did_you_mean, normal_column, order_of
from formulakern.encoding.shown_table import cell, table_html, table_text
from formulakern.encoding.sources import opened
from formulakern.encoding.temporal import counts_of, is_temporal, kind_of, value_at
from formulakern.errors import DataError
from formulakern.optional import data_frame
from formulakern.syntax.temporal import TemporalKind

__all__ = ["Table"]

#: Rows that ``repr`` shows.
SHOWN_ROWS = 6


class Table:
    """Named columns of equal length; immutable.

    Every column is a numeric array (bool, int64, uint64 or float64, NaN = missing), one of dates,
    times or durations (``datetime64`` or ``timedelta64``, NaT = missing), or an object array of
    ``str`` (None = missing).

    Parameters
    ----------
    columns : mapping of str to array of shape (n_rows,)
        The columns in order: numbers, texts, truth values, dates, times or durations, each with
        gaps where they are missing.  They are copied.

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

    __slots__ = ("_columns", "_kinds", "_missing", "_n_rows", "_numbered", "_orders")

    _columns: dict[str, Column]
    _kinds: dict[str, TemporalKind]
    _missing: dict[str, NDArray[np.bool_]]  # of the columns that were asked for it
    _numbered: dict[str, tuple[tuple[str | None, ...], NDArray[Any]]]  # likewise
    _n_rows: int
    _orders: dict[str, tuple[str, ...]]

    def __init__(self, columns: Mapping[str, Any]) -> None:
        for name in columns:
            if not isinstance(name, str) or not name:
                fault = f"a column's name is a non-empty str; got {name!r}. Rename the column."
                raise DataError(fault)
        orders = {name: order_of(values) for name, values in columns.items()}
        read = {name: normal_column(values, name) for name, values in columns.items()}
        kinds = {name: kind_of(columns[name], column) for name, column in read.items()}
        self._fill(read, orders, kinds)

    def _fill(
        self,
        columns: dict[str, Column],
        orders: Mapping[str, tuple[str, ...]],
        kinds: Mapping[str, TemporalKind | None],
        without_columns: int = 0,
    ) -> None:
        n_rows = _common_length(columns, without_columns)
        for column in columns.values():
            column.flags.writeable = False
        held = {"_columns": columns, "_n_rows": n_rows, "_missing": {}, "_numbered": {}}
        held["_orders"] = {name: orders[name] for name in columns if orders.get(name)}
        held["_kinds"] = {name: kinds[name] for name in columns if kinds.get(name)}
        for name, value in held.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of_normal(
        cls,
        columns: dict[str, Column],
        n_rows: int,
        orders: Mapping[str, tuple[str, ...]],
        kinds: Mapping[str, TemporalKind | None],
    ) -> Table:
        """A table of columns in normal form, which become read-only."""
        table = cls.__new__(cls)
        table._fill(columns, orders, kinds, n_rows)
        return table

    @classmethod
    def of(cls, X: object, names: Sequence[str] | None = None) -> Table:
        """Read any table.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame, dict, list or Table of shape (n_rows, n_columns)
            NumPy array of any dtype but complex (object and str too), SciPy sparse matrix with at
            most ``MAX_DENSE_ENTRIES`` entries, pandas or polars DataFrame, mapping of names to
            columns, list of rows, or a Table.
        names : sequence of str, optional
            Names for the columns; default: those of X, or ``x0, x1, …`` where it has none.

        Returns
        -------
        Table

        Raises
        ------
        DataError
            If X is not two-dimensional, rows have different lengths, names repeat or do not fit
            the number of columns, or the sparse matrix is too large to spread out.

        Notes
        -----
        Costs one copy of the table. Categories become their labels, as text.

        Examples
        --------
        >>> Table.of(np.array([[1, 2], [3, 4]])).names
        ('x0', 'x1')
        >>> Table.of([["x", 1], ["o", 2]], names=["square", "turn"])["turn"]
        array([1, 2])
        """
        own, columns, n_rows = opened(X._columns if isinstance(X, Table) else X)
        labels = [str(name) for name in (own if names is None else names)]
        if len(labels) != len(columns):
            raise DataError(
                f"{len(labels)} names for a table with {len(columns)} columns; give one per column."
            )
        read: dict[str, Column] = {}
        known = X._orders if isinstance(X, Table) else {}
        temporal = X._kinds if isinstance(X, Table) else {}
        orders: dict[str, tuple[str, ...]] = {}
        kinds: dict[str, TemporalKind | None] = {}
        for place, (name, values) in enumerate(zip(labels, columns, strict=True)):
            if name in read:
                raise DataError(
                    f'two columns are named "{name}"; a rule could not tell them apart. '
                    "Rename one of them."
                )
            read[name] = normal_column(values, name)
            orders[name] = known.get(str(own[place]), ()) or order_of(values)
            kinds[name] = temporal.get(str(own[place])) or kind_of(values, read[name])
        return cls.of_normal(read, n_rows, orders, kinds)

    # -- columns -----------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self._columns)

    @property
    def columns(self) -> Mapping[str, Column]:
        """A read-only mapping from names to columns, in order."""
        return MappingProxyType(self._columns)

    @property
    def orders(self) -> Mapping[str, tuple[str, ...]]:
        """The labels of each ordered categorical column, the least first.

        >>> import pandas as pd
        >>> size = pd.Categorical(["small"], ["small", "large"], ordered=True)
        >>> Table.of(pd.DataFrame({"size": size})).orders["size"]
        ('small', 'large')
        """
        return MappingProxyType(self._orders)

    @property
    def kinds(self) -> Mapping[str, TemporalKind]:
        """What each temporal column holds: stamps, instants (with time zone), times or durations.

        >>> Table({"day": np.array(["2020-02-01"], "M8[D]"), "a": [1]}).kinds["day"]
        'stamp'
        """
        return MappingProxyType(self._kinds)

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_columns)."""
        return self._n_rows, len(self._columns)

    #: A table has two dimensions.
    ndim = 2

    def column(self, name: str) -> Column:
        """The column of this name, read-only.

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
            If there is no such column; the message has the nearest names.

        Examples
        --------
        >>> Table({"odor": ["foul"]}).column("odour")
        Traceback (most recent call last):
            ...
        formulakern.errors.DataError: no column "odour" in the table; did you mean "odor"?
        """
        try:
            return self._columns[name]
        except (KeyError, TypeError):
            hint = did_you_mean(str(name), self.names) if self._columns else "it has no columns."
            raise DataError(f'no column "{name}" in the table; {hint}') from None

    def is_numeric(self, name: str) -> bool:
        """Whether the column holds numbers or truth values."""
        return self.column(name).dtype.kind in "biuf"

    def missing(self, name: str) -> NDArray[np.bool_]:
        """Which entries of a column are missing.

        >>> Table({"a": [1.5, None]}).missing("a")
        array([False,  True])
        """
        if name not in self._missing:
            column = self.column(name)
            if column.dtype == object:
                texts, numbers = self.numbered(name)
                missing = numbers == (texts.index(None) if None in texts else len(texts))
            elif column.dtype.kind == "f":
                missing = np.isnan(column)
            elif is_temporal(column):
                missing = np.isnat(column)
            else:
                missing = np.zeros(len(column), dtype=np.bool_)
            self._missing[name] = missing
            missing.flags.writeable = False
        return self._missing[name]

    def entry(self, name: str, row: int) -> Any:
        """One entry as a value of Python; a Temporal, or None where it is missing.

        >>> print(Table({"day": np.array(["2020-02-01"], "M8[D]")}).entry("day", 0))
        2020-02-01
        """
        column, kind = self.column(name), self._kinds.get(name)
        if self.missing(name)[row]:
            return None
        if kind is not None:
            return value_at(column, kind, int(counts_of(column)[row]))
        value = column[row]
        return value.item() if isinstance(value, np.generic) else value

    def numbered(self, name: str) -> tuple[tuple[str | None, ...], NDArray[Any]]:
        """The different entries of a column of text, and the number of every row's among them.

        Parameters
        ----------
        name : str

        Returns
        -------
        texts : tuple of str, and None where some are missing
            In the order in which they come.
        numbers : ndarray of shape (n_rows,), the narrowest unsigned integers
            ``texts[numbers[i]]`` is entry i.

        Examples
        --------
        >>> Table({"a": ["x", None, "x"]}).numbered("a")
        (('x', None), array([0, 1, 0], dtype=uint8))
        """
        if name not in self._numbered:
            entries = self.column(name).tolist()
            place = {text: number for number, text in enumerate(dict.fromkeys(entries))}
            kind = np.min_scalar_type(len(place))
            numbers = np.fromiter(map(place.__getitem__, entries), kind, len(entries))
            numbers.flags.writeable = False
            self._numbered[name] = tuple(place), numbers
        return self._numbered[name]

    def texts(self, name: str) -> frozenset[str | None]:
        """The different entries of a column of text; None among them where some are missing.

        >>> sorted(Table({"a": ["x", "y", "x"]}).texts("a"))
        ['x', 'y']
        """
        return frozenset(self.numbered(name)[0])

    # -- container ---------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._n_rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    @overload
    def __getitem__(self, key: str) -> Column: ...
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
            "table[rows] or table[name]; for some columns: table.select([name, …])."
        )

    def select(self, names: Sequence[str]) -> Table:
        """The table with only these columns, in this order.

        >>> Table({"a": [1], "b": [2]}).select(["b"]).names
        ('b',)
        """
        columns = {name: self.column(name) for name in names}
        return Table.of_normal(columns, self._n_rows, self._orders, self._kinds)

    def _select(self, key: Any) -> Table:
        rows = row_positions(key, self._n_rows, -self._n_rows)
        columns = {name: column[rows] for name, column in self._columns.items()}
        return Table.of_normal(columns, len(rows), self._orders, self._kinds)

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
        if (self._orders, self._kinds) != (other._orders, other._kinds):
            return False
        return all(
            _same_column(column, other._columns[name]) for name, column in self._columns.items()
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[object, ...]:
        return (Table.of_normal, (self._columns, self._n_rows, self._orders, self._kinds))

    # -- to other shapes ---------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """All columns in one array: numeric if all are, else of Python objects."""
        if copy is False:
            raise ValueError("a table's columns lie apart; an array of them is always a copy.")
        columns = list(self._columns.values())
        if dtype is None:
            numeric = columns and all(column.dtype.kind in "biuf" for column in columns)
            dtype = np.result_type(*columns) if numeric else object
        array = np.empty(self.shape, dtype=dtype)
        for position, column in enumerate(columns):
            # NumPy writes nanoseconds into objects as integers, but its scalars as they are
            array[:, position] = list(column) if is_temporal(column) else column
        return array

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame (numbers stay numbers, text becomes pandas' text).

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
        columns: dict[str, Any] = {name: col.copy() for name, col in self._columns.items()}
        frame = data_frame(columns)
        for name, kind in self._kinds.items():
            if kind == "instant":
                frame[name] = frame[name].dt.tz_localize("UTC")
            elif kind == "time":
                frame[name] = (np.datetime64(0, "s") + frame[name]).dt.time
        return frame.reindex(range(self._n_rows))

    # -- looking at it -----------------------------------------------------------------------

    def _head(self) -> list[list[str]]:
        rows = range(min(len(self), SHOWN_ROWS))
        return [[name, *(cell(self.entry(name, row)) for row in rows)] for name in self._columns]

    def __repr__(self) -> str:
        return table_text(self._head(), *self.shape)

    def _repr_html_(self) -> str:
        return table_html(self._head(), *self.shape)


def _common_length(columns: dict[str, Column], without_columns: int) -> int:
    """The number of rows that all columns agree on."""
    n_rows, first = without_columns, ""
    for name, column in columns.items():
        if first and len(column) != n_rows:
            raise DataError(
                f'column "{name}" has {len(column)} rows and column "{first}" has {n_rows}; '
                "the columns of a table have equal length."
            )
        n_rows, first = len(column), first or name
    return n_rows


def _same_column(left: Column, right: Column) -> bool:
    if (left.dtype == object) != (right.dtype == object):
        return False
    same = left.dtype.kind == right.dtype.kind
    return np.array_equal(left, right, equal_nan=same and left.dtype.kind in "fmM")
