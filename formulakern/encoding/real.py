"""The reader for kernels that are defined on real vectors too: tables of finite numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.encoding.bits import row_blocks, unpack_rows
from formulakern.encoding.packed import PackedTable
from formulakern.tables.read import check_columns, opened, spread_out, unfit_entry
from formulakern.tables.table import Table

__all__ = ["RealTable", "read_real"]

ADVICE = (
    "this kernel reads finite numbers.\n"
    "Fill or leave out such entries, and encode text as numbers, first."
)


@dataclass(frozen=True, eq=False)
class RealTable:
    """A table of finite numbers.

    Parameters
    ----------
    names : tuple of str or None
        The columns' names where the table has them (frames, mappings and Tables).
    values : ndarray of shape (n_rows, n_columns), float64
    """

    names: tuple[str, ...] | None
    values: NDArray[np.float64]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.values)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.values.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_columns)."""
        return self.n_rows, self.n_columns

    def take(self, rows: NDArray[Any]) -> RealTable:
        """The table with only these rows, given by position or by a mask."""
        return RealTable(self.names, self.values[rows])

    def select(self, columns: NDArray[Any]) -> RealTable:
        """The table with only these columns, given by position."""
        names = None if self.names is None else tuple(self.names[j] for j in columns.tolist())
        return RealTable(names, np.ascontiguousarray(self.values[:, columns]))


def read_real(X: object, role: str = "X") -> RealTable:
    """Read a table of finite numbers; a sparse matrix and a PackedTable are spread out.

    Raises
    ------
    DataError
        If an entry is missing, infinite or no real number (the message names its column and row),
        or X has not two dimensions or no columns.

    Examples
    --------
    >>> read_real([[0.5, 1], [0, None]])
    Traceback (most recent call last):
        ...
    formulakern.errors.DataError: column 1 holds nan (row 1); this kernel reads finite numbers.
    Fill or leave out such entries, and encode text as numbers, first.
    """
    names: tuple[str, ...] | None = None
    if isinstance(X, RealTable):
        return X
    if isinstance(X, PackedTable):
        return RealTable(X.names, unpack_rows(X.rows, X.n_columns).astype(np.float64))
    found = None if isinstance(X, Table) else opened(X, role)
    if found is not None and found.sparse is not None:
        array = spread_out(found.sparse)
    elif found is not None and type(found.array) is np.ndarray:
        array = found.array
    else:
        table = X if isinstance(X, Table) else Table.of(X)
        names = table.names if found is None or found.names is not None else None
        array = _columns_together(table, names, role)
    check_columns(array.shape, role)
    if array.dtype.kind not in "biuf":
        array = _columns_together(Table.of(array), None, role)
    values = np.ascontiguousarray(array, dtype=np.float64)
    for block in row_blocks(0, len(values), values.shape[1] * 8):
        finite = np.isfinite(values[block])
        if not finite.all():
            row, column = divmod(int(np.argmin(finite)), values.shape[1])
            shown = str(values[block][row, column])
            raise unfit_entry(column, block.start + row, shown, names, role, ADVICE)
    return RealTable(names, values)


def _columns_together(
    table: Table, names: tuple[str, ...] | None, role: str
) -> NDArray[np.float64]:
    values = np.empty(table.shape, dtype=np.float64)
    for position, name in enumerate(table.names):
        column = table[name]
        if not table.is_numeric(name):
            present = np.flatnonzero(~table.missing(name))
            if len(present):
                row = int(present[0])
                entry = table.entry(name, row)
                shown = str(entry) if name in table.kinds else repr(entry)
                raise unfit_entry(position, row, shown, names, role, ADVICE)
            values[:, position] = np.nan
        else:
            values[:, position] = column
    return values
