"""The strict reader: any foreign table as one packed table, when it holds nothing but 0 and 1.

Kernels take 0 and 1 and refuse the rest with a sentence that names the first offending column and
row; the lenient edge, which encodes any table, is
:class:`formulakern.estimators.encoder.PropositionEncoder`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.encoding.bits import first_offence, is_zero_or_one, pack_rows
from formulakern.encoding.packed import PackedTable
from formulakern.errors import DataError
from formulakern.tables.column import as_series, has_plain_numbers, text_column
from formulakern.tables.read import (
    check_columns,
    check_lengths,
    is_pandas,
    is_sparse,
    opened,
    refuse_records,
    unfit_entry,
)
from formulakern.tables.table import Table

__all__ = ["read_packed"]


def read_packed(X: object, role: str = "X") -> PackedTable:
    """Read a table that holds 0 and 1 and nothing else; a PackedTable is returned as it is.

    Parameters
    ----------
    X : array, sparse matrix, DataFrame, Table, dict, list or PackedTable of shape (m, n)
        bool, any integer or floating point dtype, or objects that are 0, 1, True, False; sparse
        matrices and frames stay sparse until words are needed.  At least one column.
    role : str
        The name of the table in messages, such as ``"X"`` or ``"Z"``.

    Raises
    ------
    DataError
        If an entry is not 0 or 1 (the message names its column and row), if X has not two
        dimensions, no columns, rows of different lengths, or is no table.

    Examples
    --------
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
        return _read_sparse(found.sparse, role)
    if found.array is not None:
        return _read_array(found.array, None, role)
    names = None if found.names is None else tuple(map(str, found.names))
    dtypes = [getattr(column, "dtype", None) for column in found.columns]
    if is_pandas(X) and dtypes and len({*map(str, dtypes)}) == 1:
        frame: Any = X
        if isinstance(dtypes[0], np.dtype) and dtypes[0].kind in "biuf":
            return _read_array(frame.to_numpy(), names, role)
        if _is_mostly_zero(dtypes[0]):
            return _read_sparse_frame(frame, names or (), role)
    return _read_columns(map(_entries, found.columns), names, found.n_rows, role)


def _not_zero_or_one(
    column: int, row: int, value: object, names: Sequence[str] | None, role: str
) -> DataError:
    """The error for an entry that is neither 0 nor 1."""
    shown = value.item() if isinstance(value, np.generic) else value
    advice = (
        "a formula kernel reads 0 and 1.\n"
        f"Encode the table first: fk.PropositionEncoder().fit_transform({role}), "
        "or use an estimator, which does it for you."
    )
    return unfit_entry(column, row, repr(shown), names, role, advice)


def _array_of_rows(X: Sequence[Any], role: str) -> NDArray[Any]:
    refuse_records(X, role)
    try:
        array = np.array(X)
    except ValueError:
        if all(isinstance(row, Sequence) for row in X):
            check_lengths([len(row) for row in X])
        raise DataError(
            f"{role} is a list whose entries are not rows of one length; "
            "a table is a list of rows of equal length."
        ) from None
    # a list that mixes numbers and text would have become all text
    return array if array.dtype.kind in "biuf" else np.array(X, dtype=object)


def _read_array(array: NDArray[Any], names: tuple[str, ...] | None, role: str) -> PackedTable:
    if isinstance(array, np.ma.MaskedArray):
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
    """Pack columns of different types through one table of bytes."""
    check_columns((n_rows, len(names or ())), role)
    table = np.empty((n_rows, len(names or ())), dtype=np.uint8, order="F")
    for position, values in enumerate(columns):
        if values.dtype != np.bool_ and (found := first_offence(values[:, None])) is not None:
            raise _not_zero_or_one(position, found[0], values[found[0]], names, role)
        table[:, position] = values == 1 if values.dtype == object else values
    return PackedTable.of_rows(pack_rows(table), table.shape[1], names)


def _entries(column: Any) -> NDArray[Any]:
    """Return an array or Series as numbers if it plainly holds them, else as objects."""
    series = as_series(column)
    if series is None:
        return np.asarray(column)
    native = series.to_native()
    if isinstance(native.dtype, np.dtype) or has_plain_numbers(series):
        return np.asarray(native)
    return text_column(series.to_list())


def _is_mostly_zero(dtype: Any) -> bool:
    """Whether a pandas dtype is a sparse one that leaves out the zeros."""
    fill = getattr(dtype, "fill_value", None) if hasattr(dtype, "subtype") else None
    return is_zero_or_one(fill) and not fill


def _read_sparse_frame(frame: Any, names: tuple[str, ...], role: str) -> PackedTable:
    from scipy.sparse import csc_array

    starts, rows = [0], []
    for position in range(frame.shape[1]):
        array = frame.iloc[:, position].array
        values, places = np.asarray(array.sp_values), array.sp_index.indices
        if (found := first_offence(values[:, None])) is not None:
            row = int(places[found[0]])
            raise _not_zero_or_one(position, row, values[found[0]], names, role)
        rows.append(places[values == 1])
        starts.append(starts[-1] + len(rows[-1]))
    ones = (np.ones(starts[-1], dtype=np.bool_), np.concatenate(rows), starts)
    sparse = csc_array(ones, shape=frame.shape).tocsr()
    return PackedTable(len(frame), len(names), names, sparse=sparse)


def _read_sparse(X: Any, role: str) -> PackedTable:
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
        raise _not_zero_or_one(int(rows.indices[place]), row, rows.data[place], None, role)
    return PackedTable(n_rows, n_columns, sparse=rows)
