"""Foreign tables as packed words or as sparse rows, when they hold nothing but 0 and 1.

Every kind of table has its road here, and every road ends either in a :class:`Packed` or in a
``DataError`` that names the first offending column and row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from formulakern.encoding.bits import Words, first_offence, is_zero_or_one, n_words, pack_rows
from formulakern.encoding.sources import frame_library, is_sparse, ragged_row, wrong_dimensions
from formulakern.encoding.table import Table
from formulakern.errors import DataError

__all__ = ["Packed", "SparseRows", "read_zero_one"]


@dataclass(frozen=True, eq=False)
class SparseRows:
    """The columns that are 1, row after row (compressed sparse rows without the values).

    Parameters
    ----------
    starts : ndarray of shape (n_rows + 1,), int64
        Row i owns ``columns[starts[i]:starts[i + 1]]``.
    columns : ndarray of shape (n_ones,), int64
        Ascending and without repetition inside each row.
    """

    starts: NDArray[np.int64]
    columns: NDArray[np.int64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Ones per row."""
        return np.diff(self.starts)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The row of every one."""
        return np.repeat(np.arange(len(self.starts) - 1, dtype=np.int64), self.counts)

    def select(self, positions: NDArray[np.intp], n_columns: int) -> SparseRows:
        """Only these columns, renumbered in the order given; linear in ones and columns."""
        renumbered = np.full(n_columns, -1, dtype=np.int64)
        renumbered[positions] = np.arange(len(positions))
        rows, columns = self.rows, renumbered[self.columns]
        kept = columns >= 0
        return _from_coordinates(rows[kept], columns[kept], len(self.starts) - 1)

    def pack(self, n_columns: int) -> Words:
        """The rows as words; linear in the ones and in the result."""
        width = n_words(n_columns)
        words = np.zeros((len(self.starts) - 1, width), dtype=np.uint64)
        if len(self.columns):
            places = self.rows * width + (self.columns >> 6)
            bits = np.uint64(1) << (self.columns & 63).astype(np.uint64)
            first = np.flatnonzero(np.diff(places, prepend=-1))
            words.reshape(-1)[places[first]] = np.bitwise_or.reduceat(bits, first)
        return words


@dataclass(frozen=True, eq=False)
class Packed:
    """A table of 0 and 1 as it was read: dense words, or sparse rows."""

    n_rows: int
    n_columns: int
    names: tuple[str, ...] | None
    body: Words | SparseRows


def read_zero_one(X: object, role: str) -> Packed:
    """Read any table that holds nothing but 0 and 1.

    Parameters
    ----------
    X : array, sparse matrix, DataFrame, Table, dict or list of shape (n_rows, n_columns)
    role : str
        What the table is called in messages, such as ``"X"`` or ``"Z"``.

    Returns
    -------
    Packed

    Raises
    ------
    DataError
        If X is no table, has no columns, or holds anything else; it names the column and the row.
    """
    library = frame_library(X)
    frame: Any = X
    if is_sparse(X):  # before the mappings: a matrix in DOK format is a dict
        return _read_sparse(frame, role)
    if isinstance(X, Mapping):
        X = Table.of(X)
    if isinstance(X, Table):
        columns = list(X.columns.values())
        return _read_columns(columns, X.names, len(X), role, lambda column: column)
    if library == "pandas":
        return _read_pandas(frame, role)
    if library == "polars":
        names = tuple(frame.columns)
        return _read_columns(frame.get_columns(), names, frame.height, role, _polars_values)
    return _read_array(_as_array(X, role), None, role)


def refuse_entry(
    column: int, row: int, value: object, names: Sequence[str] | None, role: str
) -> NoReturn:
    """Raise the sentence for an entry that is neither 0 nor 1."""
    shown = value.item() if isinstance(value, np.generic) else value
    text = repr(shown)
    text = text if len(text) <= 40 else text[:39] + "…"
    label = f'column "{names[column]}"' if names is not None else f"column {column}"
    of_role = "" if role == "X" else f" of {role}"
    raise DataError(
        f"{label}{of_role} holds {text} (row {row}); a formula kernel reads 0 and 1.\n"
        f"Encode the table first: fk.PropositionEncoder().fit_transform({role}), "
        "or use an estimator, which does it for you."
    )


def _refuse_no_columns(n_rows: int, role: str) -> NoReturn:
    raise DataError(
        f"0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is required: {role} has no "
        "columns for a formula's variables to range over."
    )


def _as_array(X: object, role: str) -> NDArray[Any]:
    if isinstance(X, np.ma.MaskedArray):
        values = np.asarray(X).astype(object)
        values[np.ma.getmaskarray(X)] = None
        return values
    if isinstance(X, np.ndarray) or (hasattr(X, "__array__") and not isinstance(X, (list, tuple))):
        return np.asarray(X)
    if isinstance(X, Sequence) and not isinstance(X, (str, bytes)):
        try:
            array = np.array(X)
        except ValueError:
            lengths = [len(row) if isinstance(row, Sequence) else -1 for row in X]
            for position, length in enumerate(lengths):
                if length != lengths[0] and min(length, lengths[0]) >= 0:
                    raise DataError(ragged_row(position, length, lengths[0])) from None
            raise DataError(
                f"{role} is a list whose entries are not rows of one length; "
                "a table is a list of rows of equal length."
            ) from None
        # a list that mixes numbers and text would have become all text
        return array if array.dtype.kind in "biuf" else np.array(X, dtype=object)
    if isinstance(X, (int, float, complex)):
        raise DataError(wrong_dimensions((), role))
    found = "None" if X is None else f"of type {type(X).__name__}"
    hint = " Call .collect() first." if type(X).__name__ == "LazyFrame" else ""
    raise DataError(
        f"{role} is {found}; a formula kernel reads a table of 0 and 1: NumPy array, SciPy sparse "
        f"matrix, pandas or polars DataFrame, Table, list of rows.{hint}"
    )


def _read_array(array: NDArray[Any], names: tuple[str, ...] | None, role: str) -> Packed:
    if array.ndim != 2:
        raise DataError(wrong_dimensions(array.shape, role))
    n_rows, n_columns = array.shape
    if n_columns == 0:
        _refuse_no_columns(n_rows, role)
    if array.dtype.kind not in "biufO":
        if n_rows == 0:
            return Packed(0, n_columns, names, np.zeros((0, n_words(n_columns)), np.uint64))
        if array.dtype.kind == "c":
            raise DataError(
                f"{role} holds complex numbers (dtype {array.dtype}); a formula kernel reads 0 and "
                f"1. Complex data not supported: pass {role}.real if the imaginary parts are 0."
            )
        refuse_entry(0, 0, array[0, 0], names, role)
    try:
        words = pack_rows(array)
    except DataError:
        row, column = first_offence(array) or (0, 0)
        refuse_entry(column, row, array[row, column], names, role)
    return Packed(n_rows, n_columns, names, words)


def _read_columns(
    columns: Sequence[Any],
    names: tuple[str, ...],
    n_rows: int,
    role: str,
    values_of: Callable[[Any], NDArray[Any]],
) -> Packed:
    """Columns of different types, one after the other, into one table of bytes."""
    if not columns:
        _refuse_no_columns(n_rows, role)
    table = np.empty((n_rows, len(columns)), dtype=np.uint8, order="F")
    for position, column in enumerate(columns):
        values = values_of(column)
        if values.dtype != np.bool_:
            row = _first_offence_in(values)
            if row is not None:
                refuse_entry(position, row, values[row], names, role)
        table[:, position] = values == 1 if values.dtype == object else values
    return Packed(n_rows, len(columns), names, pack_rows(table))


def _first_offence_in(values: NDArray[Any]) -> int | None:
    if values.dtype.kind in "biufO":
        found = first_offence(values.reshape(-1, 1))
        return found[0] if found else None
    if len(values) == 0:
        return None
    return 0


def _polars_values(series: Any) -> NDArray[Any]:
    plain = series.dtype.is_numeric() and not series.dtype.is_decimal()
    if series.null_count() == 0 and (plain or str(series.dtype) == "Boolean"):
        return np.asarray(series.to_numpy())
    values = np.empty(len(series), dtype=object)
    values[:] = series.to_list()
    return values


def _pandas_values(series: Any) -> NDArray[Any]:
    if isinstance(series.dtype, np.dtype) or hasattr(series, "sparse"):
        return np.asarray(series)
    return np.asarray(series.astype(object))


def _read_pandas(frame: Any, role: str) -> Packed:
    names = tuple(str(name) for name in frame.columns)
    n_rows, n_columns = frame.shape
    dtypes = list(frame.dtypes)
    if n_columns and all(isinstance(d, np.dtype) and d == dtypes[0] for d in dtypes):
        if dtypes[0].kind in "biuf":
            return _read_array(frame.to_numpy(), names, role)
    elif n_columns and all(_is_mostly_zero(dtype) for dtype in dtypes):
        return _read_sparse_frame(frame, names, role)
    columns = [frame.iloc[:, position] for position in range(n_columns)]
    return _read_columns(columns, names, n_rows, role, _pandas_values)


def _is_mostly_zero(dtype: Any) -> bool:
    """Whether a pandas dtype is a sparse one that leaves out the zeros."""
    fill = getattr(dtype, "fill_value", None) if hasattr(dtype, "subtype") else None
    return is_zero_or_one(fill) and not fill


def _read_sparse_frame(frame: Any, names: tuple[str, ...], role: str) -> Packed:
    rows, columns = [], []
    for position in range(frame.shape[1]):
        array = frame.iloc[:, position].array
        values, places = np.asarray(array.sp_values), array.sp_index.indices
        offence = _first_offence_in(values)
        if offence is not None:
            refuse_entry(position, int(places[offence]), values[offence], names, role)
        ones = np.asarray(places, dtype=np.int64)[values == 1]
        rows.append(ones)
        columns.append(np.full(len(ones), position, dtype=np.int64))
    body = _from_coordinates(np.concatenate(rows), np.concatenate(columns), len(frame))
    return Packed(len(frame), len(names), names, body)


def _read_sparse(X: Any, role: str) -> Packed:
    if X.ndim != 2:
        raise DataError(wrong_dimensions(X.shape, role))
    n_rows, n_columns = (int(size) for size in X.shape)
    if n_columns == 0:
        _refuse_no_columns(n_rows, role)
    if X.dtype.kind not in "biuf":
        raise DataError(
            f"{role} is a sparse matrix of dtype {X.dtype}; a formula kernel reads 0 and 1: "
            "a Boolean or a real dtype."
        )
    rows = X.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    starts, columns = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
    ones = rows.data == 1
    wrong = ~ones & (rows.data != 0)
    if wrong.any():
        place = int(np.argmax(wrong))
        row = int(np.searchsorted(starts, place, side="right")) - 1
        refuse_entry(int(columns[place]), row, rows.data[place], None, role)
    if not ones.all():  # zeros that were stored
        starts, columns = np.concatenate([[0], np.cumsum(ones)])[starts], columns[ones]
    return Packed(n_rows, n_columns, None, SparseRows(starts, columns))


def _from_coordinates(
    rows: NDArray[np.int64], columns: NDArray[np.int64], n_rows: int
) -> SparseRows:
    order = np.lexsort((columns, rows))
    starts = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=n_rows), out=starts[1:])
    return SparseRows(starts, columns[order])
