"""The kinds of tables there are, and how each is opened: names, columns, number of rows.

Data frames of any library are read through narwhals; neither they nor SciPy are imported for
tables of other kinds.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.errors import DataError
from formulakern.partitions.collections import in_memory
from formulakern.text import clip

__all__ = [
    "MAX_DENSE_ENTRIES",
    "as_frame",
    "check_columns",
    "check_lengths",
    "default_names",
    "is_pandas",
    "is_sparse",
    "opened",
    "refuse_records",
    "spread_out",
    "unfit_entry",
    "wrong_dimensions",
]

#: A sparse matrix with more entries than this (2 GB of numbers) is not spread out into a table.
MAX_DENSE_ENTRIES = 250_000_000


def as_frame(X: object) -> Any:
    """X as a ``narwhals.DataFrame``, if it is a data frame (pandas, polars, …), else None.

    Raises
    ------
    DataError
        If two columns have one name.
    """
    plain = isinstance(X, (np.ndarray, Mapping, list, tuple))
    if plain or not hasattr(type(X), "columns") or not hasattr(X, "shape"):
        return None
    import narwhals
    from narwhals.exceptions import DuplicateError

    twice: list[str] = []
    frame: Any = None
    try:
        frame = narwhals.from_native(X, eager_only=True, pass_through=True)
        if not isinstance(frame, narwhals.DataFrame):
            return None
        twice = _repeated(frame.columns)  # some versions of narwhals accept them
    except DuplicateError:
        twice = _repeated(X.columns)  # type: ignore[attr-defined]
    if twice:
        raise DataError(
            f'two columns are named "{twice[0]}"; a rule could not tell them apart. '
            "Rename one of them."
        )
    return frame


def _repeated(names: Iterable[object]) -> list[str]:
    """Return the names that occur several times."""
    return [str(name) for name, number in Counter(names).items() if number > 1]


def is_pandas(X: object) -> bool:
    """Whether X is a pandas DataFrame whose columns have different names, one for each.

    Those of pandas are read without narwhals, whose wrappers cost more than a short column.
    """
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(X, pandas.DataFrame):
        return False
    return X.columns.nlevels == 1 and bool(X.columns.is_unique)


def is_sparse(X: object) -> bool:
    """Whether X is a SciPy sparse matrix or array."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))


def opened(X: object) -> tuple[Sequence[object], Sequence[Any], int]:
    """The names, the columns as they are, and the number of rows of any table.

    Parameters
    ----------
    X : array, sparse matrix, DataFrame, mapping or list
        Any table but a :class:`~formulakern.encoding.table.Table`, which is open already.

    Returns
    -------
    names : sequence of str or of labels
    columns : sequence of array of shape (n_rows,)
        Views where X has them.
    n_rows : int
        0 for a mapping, whose columns may still disagree.

    Raises
    ------
    DataError
        If X is no table, or its dimensions are not two.

    Examples
    --------
    >>> opened([["x", 1], ["o", 2]])
    (['x0', 'x1'], [('x', 'o'), (1, 2)], 2)
    """
    source: Any = in_memory(X)
    X = source
    if is_pandas(X):
        return source.columns.tolist(), [column for _, column in source.items()], len(source)
    frame = as_frame(X)
    if frame is not None:
        names = frame.columns
        return names, [frame.get_column(name) for name in names], len(frame)
    if isinstance(X, Mapping) and not is_sparse(X):  # a matrix in DOK format is a dict
        return list(X), list(X.values()), 0
    if is_sparse(X):
        array = spread_out(source)
    elif isinstance(X, np.ndarray):
        array = X if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
        if array.dtype.names is not None and array.ndim == 1:
            return array.dtype.names, [array[name] for name in array.dtype.names], len(array)
    elif isinstance(X, Sequence) and not isinstance(X, (str, bytes)):
        return _opened_rows(X)
    elif hasattr(X, "__array__"):
        array = np.asarray(X)
    else:
        hint = " Call .collect() first." if type(X).__name__ == "LazyFrame" else ""
        raise DataError(
            f"a table was expected (NumPy array, SciPy sparse matrix, pandas or polars DataFrame, "
            f"dict of columns, list of rows, Table); got {type(X).__name__}.{hint}"
        )
    if array.ndim != 2:
        raise DataError(wrong_dimensions(array.shape, "X"))
    return default_names(array.shape[1]), list(array.T), array.shape[0]


def default_names(n_columns: int) -> list[str]:
    """``x0, x1, …``, as scikit-learn names the columns of an array."""
    return [f"x{position}" for position in range(n_columns)]


def wrong_dimensions(shape: tuple[int, ...], role: str) -> str:
    """The sentence for an array that has not two dimensions."""
    advice = f"{role}.reshape(len({role}), -1) puts all that belongs to one row beside each other."
    if len(shape) == 1:
        advice = f"{role}.reshape(1, -1) for one row, {role}.reshape(-1, 1) for one column."
    if len(shape) == 0:
        advice = "[[value]]."
    return (
        f"Expected 2D array, got {len(shape)}D array: {role} has shape {shape}; "
        f"a table has rows and columns. Reshape your data: {advice}"
    )


def check_columns(shape: tuple[int, ...], role: str) -> tuple[int, int]:
    """The numbers of rows and of columns of an array of two dimensions with at least one column.

    Raises
    ------
    DataError
    """
    if len(shape) != 2:
        raise DataError(wrong_dimensions(shape, role))
    if shape[1] == 0:
        raise DataError(
            f"0 feature(s) (shape=({shape[0]}, 0)) while a minimum of 1 is required: {role} has no "
            "columns for a kernel to compare rows on."
        )
    return int(shape[0]), int(shape[1])


def unfit_entry(
    column: int, row: int, found: str, names: Sequence[str] | None, role: str, advice: str
) -> DataError:
    """The error for an entry that a kernel cannot read, with its column, its row and advice."""
    label = f"column {column}" if names is None else f'column "{names[column]}"'
    of_role = "" if role == "X" else f" of {role}"
    return DataError(f"{label}{of_role} holds {clip(found, 40)} (row {row}); {advice}")


def _opened_rows(X: Sequence[Any]) -> tuple[Sequence[object], Sequence[Any], int]:
    refuse_records(X, "X")
    rows = [list(row) if _is_row(row) else None for row in X]
    if any(row is None for row in rows):
        raise DataError(wrong_dimensions((len(rows),), "X"))
    lengths = [len(row) for row in rows if row is not None]
    check_lengths(lengths)
    width = lengths[0] if lengths else 0
    return default_names(width), list(zip(*[r for r in rows if r], strict=True)), len(rows)


def refuse_records(X: object, role: str) -> None:
    """Refuse a list of dicts, one for each row.

    Raises
    ------
    DataError
    """
    if isinstance(X, (list, tuple)) and len(X) and isinstance(X[0], Mapping):
        raise DataError(
            f"{role} is a list of dicts, one per row; expected a table. Write "
            f"pandas.DataFrame({role}), or a dict of columns."
        )


def check_lengths(lengths: Sequence[int]) -> None:
    """Check that the rows of a list are of equal length.

    Raises
    ------
    DataError
    """
    for position, length in enumerate(lengths):
        if length != lengths[0]:
            raise DataError(
                f"row {position} has {length} values and row 0 has {lengths[0]}; "
                "the rows of a table have equal length."
            )


def _is_row(row: object) -> bool:
    if isinstance(row, np.ndarray):
        return row.ndim == 1
    return isinstance(row, Sequence) and not isinstance(row, (str, bytes))


def spread_out(X: Any) -> NDArray[Any]:
    """A sparse matrix as a dense array, unless it is too large for that."""
    if X.ndim != 2:
        raise DataError(wrong_dimensions(X.shape, "X"))
    n_rows, n_columns = X.shape
    if (size := int(n_rows) * int(n_columns)) > MAX_DENSE_ENTRIES:
        raise DataError(
            f"a sparse matrix of {n_rows:,} x {n_columns:,} = {size:,} entries is "
            f"too large to spread out into a table (at most {MAX_DENSE_ENTRIES:,}). Select columns "
            "first; a 0/1 matrix goes to a kernel as it is."
        )
    return np.asarray(X.toarray())
