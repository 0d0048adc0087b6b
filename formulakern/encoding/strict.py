"""Strict readers of tables for kernels: tables of 0 and 1, or of finite numbers.

Other entries raise DataError, with the column and the row of the first one.  To encode any table,
use :class:`formulakern.estimators.encoder.PropositionEncoder`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import is_masked
from formulakern.encoding.bits import first_offence, is_zero_or_one, pack_rows, row_blocks
from formulakern.encoding.packed import PackedTable
from formulakern.errors import DataError
from formulakern.tables.column import as_series, has_plain_numbers, text_column
from formulakern.tables.read import (
    check_columns,
    check_lengths,
    densified,
    is_pandas,
    is_sparse,
    opened,
    refuse_records,
    unfit_entry,
)
from formulakern.tables.table import Table

REAL = (
    "this kernel reads finite numbers.\n"
    "Fill or drop such entries, and encode text as numbers, first."
)
BINARY = (
    "a formula kernel reads 0 and 1.\n"
    "Encode the table first: fk.PropositionEncoder().fit_transform({}), "
    "or use an estimator, which does it for you."
)


def read_packed(X: object, role: str = "X") -> PackedTable:
    """Return a table of 0 and 1 as a PackedTable.

    ``X`` is a PackedTable, array, sparse matrix, DataFrame, Table, dict or list of shape (m, n) of
    bool, any integer or floating point dtype, or objects 0, 1, True and False, with at least one
    column.  Sparse matrices and frames are packed at the first use.  ``role`` is the name of ``X``
    in messages.  Raise DataError for any other table.

    >>> read_packed([[1, 0, 1], [0, 1, 0]]).counts
    array([2, 1])
    >>> read_packed([[1, 0], [0, 3]])
    Traceback (most recent call last):
        ...
    formulakern.errors.DataError: column 1 holds 3 (row 1); a formula kernel reads 0 and 1.
    Encode the table first: fk.PropositionEncoder().fit_transform(X), or use an estimator, which does it for you.
    """  # noqa: E501
    if isinstance(X, PackedTable):
        return X
    if isinstance(X, Mapping) and not is_sparse(X):
        X = Table.of(X)
    if isinstance(X, Table):
        return _read_columns(X.columns.values(), X.names, len(X), role)
    if isinstance(X, Sequence) and not isinstance(X, (str, bytes)):
        return _read_array(_array_of_rows(X, role), None, role)
    found = opened(X, role)
    if found.sparse is not None:
        return _read_sparse(found.sparse, None, role)
    if found.array is not None:
        return _read_array(found.array, None, role)
    names = None if found.names is None else tuple(map(str, found.names))
    dtypes = [getattr(column, "dtype", None) for column in found.columns]
    if is_pandas(X) and dtypes and len({*map(str, dtypes)}) == 1:
        frame: Any = X
        if isinstance(dtypes[0], np.dtype) and dtypes[0].kind in "biuf":
            return _read_array(frame.to_numpy(), names, role)
        fill = getattr(dtypes[0], "fill_value", None) if hasattr(dtypes[0], "subtype") else None
        if is_zero_or_one(fill) and not fill:  # a sparse frame that does not store zeros
            return _read_sparse(frame.sparse.to_coo(), names, role)
    return _read_columns(map(_entries, found.columns), names, found.n_rows, role)


def _not_zero_or_one(
    column: int, row: int, value: object, names: Sequence[str] | None, role: str
) -> DataError:
    shown = value.item() if isinstance(value, np.generic) else value
    return unfit_entry(column, row, repr(shown), names, role, BINARY.format(role))


def _array_of_rows(X: Sequence[Any], role: str) -> NDArray[Any]:
    refuse_records(X, role)
    try:
        array = np.array(X)
    except ValueError:
        if all(isinstance(row, Sequence) for row in X):
            check_lengths([len(row) for row in X])
        raise DataError(
            f"{role} is a list whose entries are not rows of one length. "
            "Pass a list of rows of equal length."
        ) from None
    # np.array would turn a mixture of numbers and text into text
    return array if array.dtype.kind in "biuf" else np.array(X, dtype=object)


def _read_array(array: NDArray[Any], names: tuple[str, ...] | None, role: str) -> PackedTable:
    if is_masked(array):
        masked, array = np.ma.getmaskarray(array), np.asarray(array).astype(object)
        array[masked] = None
    n_rows, n_columns = check_columns(array.shape, role)
    if array.dtype.kind == "c" and n_rows:
        raise DataError(
            f"{role} holds complex numbers (dtype {array.dtype}); a formula kernel reads 0 and "
            f"1. Complex data not supported: pass {role}.real if the imaginary parts are 0."
        )
    try:
        words = pack_rows(array)
    except DataError:
        row, column = first_offence(array) or (0, 0)
        raise _not_zero_or_one(column, row, array[row, column], names, role) from None
    return PackedTable.of_rows(words, n_columns, names)


def _read_columns(
    columns: Iterable[NDArray[Any]], names: tuple[str, ...] | None, n_rows: int, role: str
) -> PackedTable:
    """Return the packed table of columns of different types."""
    check_columns((n_rows, len(names or ())), role)
    table = np.empty((n_rows, len(names or ())), dtype=np.uint8, order="F")
    for position, values in enumerate(columns):
        if values.dtype != np.bool_ and (found := first_offence(values[:, None])) is not None:
            raise _not_zero_or_one(position, found[0], values[found[0]], names, role)
        table[:, position] = values == 1 if values.dtype == object else values
    return PackedTable.of_rows(pack_rows(table), table.shape[1], names)


def _entries(column: Any) -> NDArray[Any]:
    """Return an array or Series as numbers if its dtype is plainly numeric, else as objects."""
    series = as_series(column)
    if series is None:
        return np.asarray(column)
    native = series.to_native()
    if isinstance(getattr(native, "dtype", None), np.dtype) or has_plain_numbers(series):
        return np.asarray(native)
    return text_column(series.to_list())


def _read_sparse(X: Any, names: tuple[str, ...] | None, role: str) -> PackedTable:
    n_rows, n_columns = check_columns(X.shape, role)
    if X.dtype.kind not in "biuf":
        raise DataError(
            f"{role} is a sparse matrix of dtype {X.dtype}; a formula kernel reads 0 and 1: "
            "a Boolean or a real dtype."
        )
    rows = X.tocsr()
    if not rows.has_canonical_format or not rows.data.all():
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    wrong = rows.data != 1
    if wrong.any():
        place = int(np.argmax(wrong))
        row = int(np.searchsorted(rows.indptr, place, side="right")) - 1
        raise _not_zero_or_one(int(rows.indices[place]), row, rows.data[place], names, role)
    return PackedTable(n_rows, n_columns, names, sparse=rows)


# -- real numbers ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RealTable:
    """A table of finite numbers, float64 of shape (n_rows, n_columns), perhaps with names."""

    names: tuple[str, ...] | None
    values: NDArray[np.float64]

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.values)

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return int(self.values.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of columns."""
        return self.n_rows, self.n_columns

    def take(self, rows: NDArray[Any]) -> RealTable:
        """Return the table with only these rows, given by position or by a mask."""
        return RealTable(self.names, self.values[rows])

    def select(self, columns: NDArray[Any]) -> RealTable:
        """Return the table with only these columns, given by position."""
        names = None if self.names is None else tuple(self.names[j] for j in columns.tolist())
        return RealTable(names, np.ascontiguousarray(self.values[:, columns]))


def read_real(X: object, role: str = "X") -> RealTable:
    """Return a table of finite numbers as a dense RealTable.

    Raise DataError if an entry is missing, infinite or not a real number, or X is not a table.

    >>> read_real([[0.5, 1], [0, None]])
    Traceback (most recent call last):
        ...
    formulakern.errors.DataError: column 1 holds nan (row 1); this kernel reads finite numbers.
    Fill or drop such entries, and encode text as numbers, first.
    """
    if isinstance(X, RealTable):
        return X
    if isinstance(X, PackedTable):
        return RealTable(X.names, X.unpacked().astype(np.float64))
    names: tuple[str, ...] | None = None
    array: NDArray[Any] | None = None
    if isinstance(X, Table):
        names = X.names
    else:
        found = opened(X, role)
        array = found.array if found.sparse is None else densified(found.sparse)
        names = None if found.names is None else tuple(map(str, found.names))
    if type(array) is not np.ndarray or array.dtype.kind not in "biuf":
        array = _column_values(Table.of(X if array is None else array), names, role)
    check_columns(array.shape, role)
    values = np.ascontiguousarray(array, dtype=np.float64)
    for block in row_blocks(0, len(values), values.shape[1] * 8):
        finite = np.isfinite(values[block])
        if not finite.all():
            row, column = divmod(int(np.argmin(finite)), values.shape[1])
            shown = str(values[block][row, column])
            raise unfit_entry(column, block.start + row, shown, names, role, REAL)
    return RealTable(names, values)


def _column_values(table: Table, names: tuple[str, ...] | None, role: str) -> NDArray[np.float64]:
    values = np.full(table.shape, np.nan)
    for position, name in enumerate(table.names):
        column = table.typed(name)
        present = np.flatnonzero(~column.missing)
        if column.is_numeric:
            values[:, position] = column.values
        elif len(present):
            row = int(present[0])
            entry = column.entry(row)
            shown = repr(entry) if column.temporal is None else str(entry)
            raise unfit_entry(position, row, shown, names, role, REAL)
    return values
