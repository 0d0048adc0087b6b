"""Two tables as a kernel receives them: read once, laid out once for each choice of columns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from formulakern.backends.tables import PairedTables, pair_tables
from formulakern.encoding.packed import PackedTable, check_same_columns
from formulakern.encoding.real import RealTable, read_real
from formulakern.encoding.zero_one import read_packed
from formulakern.errors import DataError
from formulakern.tables.select import column_positions

__all__ = ["RowPair", "TablePair"]

Value = TypeVar("Value")

Columns = tuple[int, ...] | None


class RowPair:
    """Rows x and z of any kind; ``z`` is None if it is x."""

    def __init__(self, x: Any, z: Any) -> None:
        self.x, self.z = x, z
        self._made: dict[Hashable, Any] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """Rows of X, rows of Z."""
        return self.x.n_rows, self.x.n_rows if self.z is None else self.z.n_rows

    @property
    def symmetric(self) -> bool:
        """Whether Z is X."""
        return self.z is None

    def rows_of_x(self) -> Self:
        """Pair X with itself."""
        return self if self.z is None else self._alone(self.x)

    def rows_of_z(self) -> Self:
        """Pair Z with itself."""
        return self if self.z is None else self._alone(self.z)

    def _alone(self, rows: Any) -> Self:
        pair = object.__new__(type(self))
        RowPair.__init__(pair, rows, None)
        return pair

    def remembered(self, owner: object, make: Callable[[Self], Value]) -> Value:
        """Return what an object makes of this pair, made once."""
        _, value = self._once(id(owner), lambda: (owner, make(self)))  # it keeps the owner alive
        return value

    def _once(self, key: Hashable, make: Callable[[], Value]) -> Value:
        if key not in self._made:
            self._made[key] = make()
        value: Value = self._made[key]
        return value


class TablePair(RowPair):
    """Tables X and Z of 0 and 1 with equal columns, read and checked.

    ``Z=None``, or the same object as X, makes the Gram matrix symmetric.  With ``real`` other
    finite numbers are read too: if one of the tables holds any, both are real tables.
    """

    def __init__(self, X: Any, Z: Any = None, *, real: bool = False) -> None:
        alone = Z is None or Z is X
        read: Callable[..., PackedTable | RealTable] = read_packed
        try:
            x, z = read(X, role="X"), None if alone else read(Z, role="Z")
        except DataError:
            if not real:
                raise
            read = read_real
            x, z = read(X, role="X"), None if alone else read(Z, role="Z")
        super().__init__(x, z)
        if z is not None:
            check_same_columns(x, z)

    @property
    def is_real(self) -> bool:
        """Whether the tables are real ones: they have values, and no counts."""
        return isinstance(self.x, RealTable)

    @property
    def values(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """The entries of X and of Z, both float64 (rows, n); of real tables."""
        x, z = self.x, self.x if self.z is None else self.z
        if not (isinstance(x, RealTable) and isinstance(z, RealTable)):
            raise DataError("tables of 0 and 1 are packed: read their counts by tables().")
        return x.values, z.values

    def columns_of(self, domain: str | None, domains: Mapping[str, Any]) -> Columns:
        """Return the columns of a domain (None: all of them), by position in X."""
        if domain is None:
            return None
        if domain not in domains:
            known = ", ".join(map(repr, domains)) or "none"
            raise DataError(
                f"the formula names the domain {domain!r}, and the kernel knows {known}. "
                f"Say which columns it has: domains={{{domain!r}: [columns]}}."
            )
        return column_positions(self.x, domains[domain])

    def tables(self, columns: tuple[Columns, ...]) -> PairedTables:
        """Return the tables laid out for counting, one domain per entry of ``columns``."""

        def laid_out() -> PairedTables:
            x = [self._select(self.x, chosen) for chosen in columns]
            z = None if self.z is None else [self._select(self.z, chosen) for chosen in columns]
            return pair_tables(x, z)

        return self._once(columns, laid_out)

    def _select(self, table: PackedTable | RealTable, columns: Columns) -> PackedTable:
        if isinstance(table, RealTable):
            raise DataError("a table of real numbers has no counts: read its values.")
        if columns is None:
            return table
        return self._once((table is self.x, columns), lambda: table.select(columns))
