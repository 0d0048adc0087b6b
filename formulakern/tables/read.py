"""Access to any table: its names, columns and number of rows; choice of columns and rows."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import is_masked
from formulakern.checks import is_integer
from formulakern.errors import DataError
from formulakern.partitions.collections import in_memory
from formulakern.tables.column import did_you_mean
from formulakern.text import clip

#: The largest number of entries of a sparse matrix that is made dense (2 GB of numbers).
MAX_DENSE_ENTRIES = 250_000_000


def as_frame(X: object) -> Any:
    """Return a data frame as a ``narwhals.DataFrame``, or None; raise DataError for equal names."""
    plain = isinstance(X, (np.ndarray, Mapping, list, tuple))
    if plain or not hasattr(type(X), "columns") or not hasattr(X, "shape"):
        return None
    import narwhals
    from narwhals.exceptions import DuplicateError

    frame: Any = None
    try:
        frame = narwhals.from_native(X, eager_only=True, pass_through=True)
    except DuplicateError:
        refuse_repeated(X.columns)  # type: ignore[attr-defined]
    if not isinstance(frame, narwhals.DataFrame):
        return None
    refuse_repeated(frame.columns)  # some versions of narwhals accept repeated names
    return frame


def refuse_repeated(names: Iterable[object]) -> None:
    """Raise DataError if a name occurs more than once."""
    for name, number in Counter(names).items():
        if number > 1:
            raise DataError(
                f'two columns are named "{name}", but rules refer to columns by name. '
                "Rename one of them."
            )


def is_pandas(X: object) -> bool:
    """Return True for a pandas DataFrame with one level of different names."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(X, pandas.DataFrame):
        return False
    return X.columns.nlevels == 1 and bool(X.columns.is_unique)


def is_sparse(X: object) -> bool:
    """Return whether X is a SciPy sparse matrix or array."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))


@dataclass(frozen=True, eq=False)
class Opened:
    """A table that is opened but not read; exactly one of the last three fields is not None.

    ``names`` is None if the table has none.  ``n_rows`` is 0 for a mapping, whose columns may have
    different lengths.
    """

    names: Sequence[object] | None
    n_rows: int
    listed: Sequence[Any] | None = None
    array: NDArray[Any] | None = None
    sparse: Any = None

    @property
    def columns(self) -> Sequence[Any]:
        """The columns; a sparse matrix becomes dense arrays, or DataError if it is too large."""
        if self.listed is not None:
            return self.listed
        return list((densified(self.sparse) if self.array is None else self.array).T)


def opened(X: object, role: str = "X") -> Opened:
    """Open any table except a :class:`~formulakern.Table`.

    X is a NumPy array, a SciPy sparse matrix, a frame that narwhals reads (pandas, polars, Arrow),
    a mapping of names to columns, a list of rows, or a dask collection, which is computed.
    ``role`` is its name in messages.  Raise DataError if X is not a table of two dimensions.
    """
    source: Any = in_memory(X)
    X = source
    if is_pandas(X):
        columns = [column for _, column in source.items()]
        return Opened(source.columns.tolist(), len(source), columns)
    frame = as_frame(X)
    if frame is not None:
        columns = [frame.get_column(name) for name in frame.columns]
        return Opened(frame.columns, len(frame), columns)
    if is_sparse(X):  # before the mappings: a matrix in DOK format is a dict
        if source.ndim != 2:
            raise DataError(wrong_dimensions(source.shape, role))
        return Opened(None, source.shape[0], sparse=source)
    if isinstance(X, Mapping):
        return Opened(list(X), 0, list(X.values()))
    if isinstance(X, Sequence) and not isinstance(X, (str, bytes)):
        return _opened_rows(X)
    if is_masked(X):
        array: NDArray[Any] = source
    elif hasattr(X, "__array__"):
        array = np.asarray(X)
    elif isinstance(X, (int, float, complex)):
        raise DataError(wrong_dimensions((), role))
    else:
        found = "None" if X is None else f"of type {type(X).__name__}"
        hint = " Call .collect() first." if type(X).__name__ == "LazyFrame" else ""
        raise DataError(
            f"{role} is {found}; expected a table: NumPy array, SciPy sparse matrix, pandas or "
            f"polars DataFrame, dict of columns, list of rows, Table.{hint}"
        )
    if array.dtype.names is not None and array.ndim == 1:
        names = array.dtype.names
        return Opened(names, len(array), [array[name] for name in names])
    if array.ndim != 2:
        raise DataError(wrong_dimensions(array.shape, role))
    return Opened(None, array.shape[0], array=array)


def default_names(n_columns: int) -> list[str]:
    """Return ``x0, x1, …``, as scikit-learn names the columns of an array."""
    return [f"x{position}" for position in range(n_columns)]


def wrong_dimensions(shape: tuple[int, ...], role: str) -> str:
    """Return the message for an array that does not have two dimensions."""
    advice = f"{role}.reshape(len({role}), -1) puts all values of a row next to each other."
    if len(shape) == 1:
        advice = f"{role}.reshape(1, -1) for one row, {role}.reshape(-1, 1) for one column."
    if len(shape) == 0:
        advice = "[[value]]."
    return (
        f"Expected 2D array, got {len(shape)}D array: {role} has shape {shape}; "
        f"a table has rows and columns. Reshape your data: {advice}"
    )


def check_columns(shape: tuple[int, ...], role: str) -> tuple[int, int]:
    """Return the numbers of rows and columns; raise DataError if there is no column."""
    if len(shape) != 2:
        raise DataError(wrong_dimensions(shape, role))
    if shape[1] == 0:
        raise DataError(
            f"0 feature(s) (shape=({shape[0]}, 0)) while a minimum of 1 is required: {role} has no "
            "columns by which to compare rows."
        )
    return int(shape[0]), int(shape[1])


def unfit_entry(
    column: int, row: int, found: str, names: Sequence[str] | None, role: str, advice: str
) -> DataError:
    """Return the error for an entry that a kernel cannot read, with its place and advice."""
    label = f"column {column}" if names is None else f'column "{names[column]}"'
    of_role = "" if role == "X" else f" of {role}"
    return DataError(f"{label}{of_role} holds {clip(found, 40)} (row {row}); {advice}")


def _opened_rows(X: Sequence[Any]) -> Opened:
    refuse_records(X, "X")
    rows = [list(row) if _is_row(row) else None for row in X]
    if any(row is None for row in rows):
        raise DataError(wrong_dimensions((len(rows),), "X"))
    check_lengths([len(row) for row in rows if row is not None])
    return Opened(None, len(rows), list(zip(*[row for row in rows if row], strict=True)))


def refuse_records(X: object, role: str) -> None:
    """Raise DataError for a list of dicts, one for each row."""
    if isinstance(X, (list, tuple)) and len(X) and isinstance(X[0], Mapping):
        raise DataError(
            f"{role} is a list of dicts, one per row; expected a table. Pass "
            f"pandas.DataFrame({role}), or a dict of columns."
        )


def check_lengths(lengths: Sequence[int]) -> None:
    """Raise DataError unless all rows of a list have the same length."""
    for position, length in enumerate(lengths):
        if length != lengths[0]:
            raise DataError(
                f"row {position} has {length} values, but row 0 has {lengths[0]}; "
                "the rows of a table have equal length."
            )


def _is_row(row: object) -> bool:
    if isinstance(row, np.ndarray):
        return row.ndim == 1
    return isinstance(row, Sequence) and not isinstance(row, (str, bytes))


def densified(X: Any) -> NDArray[Any]:
    """Return a sparse matrix as a dense array, or raise DataError if it is too large."""
    n_rows, n_columns = X.shape
    if (size := int(n_rows) * int(n_columns)) > MAX_DENSE_ENTRIES:
        raise DataError(
            f"a sparse matrix of {n_rows:,} x {n_columns:,} = {size:,} entries is "
            f"too large to spread out into a table (at most {MAX_DENSE_ENTRIES:,}). Select columns "
            "first; kernels accept sparse 0/1 matrices directly."
        )
    return np.asarray(X.toarray())


# -- choice of columns and rows -------------------------------------------------------------------


def column_positions(X: object, spec: object) -> tuple[int, ...]:
    """Return the positions of chosen columns, such as the columns of one domain.

    ``spec`` is a list of names or positions, one of them, a Boolean mask, a slice or a range.
    Names need a table with names; negative positions count from the end.  Only the names and the
    width of X are read.  Raise DataError if a name is unknown, a position is out of range, a column
    is chosen twice, or none is chosen.

    >>> table = {"fever": [1], "rash": [0], "brca1": [1]}
    >>> column_positions(table, ["rash", "fever"]), column_positions(table, slice(1, None))
    ((1, 0), (1, 2))
    """
    shape: Any = getattr(X, "shape", ())
    names: tuple[str, ...] | None = None
    if hasattr(X, "names"):  # a Table, or packed rows of 0 and 1
        names, width = X.names, int(shape[1])
    elif len(shape) == 2 and not hasattr(X, "columns"):  # an array: nothing is read
        width = int(shape[1])
    else:
        found = opened(X)
        names = None if found.names is None else tuple(map(str, found.names))
        width = len(found.columns)
    listed: Any = spec
    if isinstance(spec, slice):
        listed = range(width)[spec]
    elif isinstance(spec, str) or is_integer(spec):
        listed = [spec]
    elif hasattr(spec, "tolist"):
        listed = spec.tolist()
    if isinstance(listed, (str, bytes)) or not isinstance(listed, Iterable):
        _refuse_spec(spec)
    items = list(listed)
    if items and all(isinstance(item, (bool, np.bool_)) for item in items):
        if len(items) != width:
            raise DataError(
                f"the mask has length {len(items)}, but the table has {width} columns; "
                "expected one entry per column."
            )
        items = [position for position, chosen in enumerate(items) if chosen]
    index = {name: position for position, name in enumerate(names or ())}
    positions: dict[int, object] = {}
    for item in items:
        position = _position(item, names, index, width)
        if position in positions:
            raise DataError(
                f"column {item!r} is chosen twice (also as {positions[position]!r}); "
                "the columns of a domain must differ. Name each once."
            )
        positions[position] = item
    if not positions:
        raise DataError(f"no column is chosen by {spec!r}; a domain has at least one column.")
    return tuple(positions)


def _position(
    item: object, names: tuple[str, ...] | None, index: dict[str, int], width: int
) -> int:
    if isinstance(item, str):
        if names is None:
            raise DataError(
                f"column {item!r} is chosen by name, but the table has no names. Pass positions "
                "(0, 1, …), or pass a DataFrame or a Table."
            )
        if item not in index:
            raise DataError(f'no column "{item}" in the table; {did_you_mean(item, names)}')
        return index[item]
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        if not -width <= item < width:
            raise DataError(
                f"column {item} is out of range: the table has {width} columns, numbered "
                f"0 to {width - 1}."
            )
        return int(item) % width
    if names is not None and str(item) in index:  # labels of pandas that are not str
        return index[str(item)]
    _refuse_spec(item)


def _refuse_spec(spec: object) -> NoReturn:
    raise DataError(
        f"columns are chosen by names, positions, a Boolean mask, a slice or a range; "
        f"got {spec!r} ({type(spec).__name__})."
    )


def row_positions(key: Any, n_rows: int, least: int = 0) -> NDArray[np.intp]:
    """Return the positions of rows that are chosen by a slice, a mask or their numbers.

    ``least`` is −n_rows if negative numbers count from the end.  Raise DataError if the length of a
    mask is not the number of rows, or a number is out of range.
    """
    every = np.arange(n_rows)
    rows = every[key] if isinstance(key, slice) else np.asarray(key)
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "biu"):
        raise DataError(
            f"rows are chosen by a slice, a Boolean mask or a list of row numbers; got {key!r}."
        )
    if rows.dtype == np.bool_:
        if len(rows) != n_rows:
            raise DataError(
                f"the mask has length {len(rows)}, but the table has {n_rows:,} rows; "
                "expected one entry per row."
            )
        return np.flatnonzero(rows)
    if rows.size and not least <= int(rows.min()) <= int(rows.max()) < n_rows:
        raise DataError(f"rows are numbered 0 to {n_rows - 1}; got {rows.min()} to {rows.max()}.")
    return every[rows.astype(np.intp, copy=False)]
