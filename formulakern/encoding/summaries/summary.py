"""What the plan of a column is made from: its rows, or its different values and their numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulakern.encoding.cut_points import Grain
from formulakern.errors import DataError
from formulakern.tables.table import Table

__all__ = ["Summary", "nearest_rank"]


def nearest_rank(share: float, n: int) -> int:
    """The rank, from 1, of the value that ``np.quantile(method="nearest")`` takes of n.

    >>> [nearest_rank(0.5, n) for n in (1, 2, 3, 4)]
    [1, 1, 2, 3]
    """
    return int(np.rint(share * (n - 1))) + 1


@dataclass(frozen=True, eq=False)
class Summary:
    """One training column.

    Parameters
    ----------
    table : Table of m rows
        Has the column.
    name : str
    classes : ndarray of shape (m,), intp, optional
        The class of every row, from 0.
    repeats : ndarray of shape (m,), int64, optional
        How many training rows each row stands for; one by default.
    grain : Grain, optional
        That of all values, where the table has only those that cuts ask for: ``repeats`` are then
        such that running totals are right at the values next to a cut.
    """

    table: Table
    name: str
    classes: NDArray[np.intp] | None = None
    repeats: NDArray[np.int64] | None = None
    grain: Grain | None = None

    @property
    def n_rows(self) -> int:
        """The number of training rows."""
        return len(self.table) if self.repeats is None else int(self.repeats.sum())

    @property
    def n_present(self) -> int:
        """Those of them whose entry is not missing."""
        missing = self.table.missing(self.name)
        return self.n_rows - int(
            missing.sum() if self.repeats is None else self.repeats[missing].sum()
        )

    @property
    def numbers(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The finite numbers of the column, ascending, and how many rows have at most each.

        >>> table = Table({"a": [3, 1, 3]})
        >>> Summary(table, "a").numbers
        (array([1., 3., 3.]), array([1, 2, 3]))
        """
        column = np.array(self.table.column(self.name), dtype=np.float64)
        repeats = np.ones(len(column), np.int64) if self.repeats is None else self.repeats
        known = np.isfinite(column) & ~self.table.missing(self.name)
        order = np.argsort(column[known], kind="stable")
        return column[known][order], np.cumsum(repeats[known][order])

    def nearest(self, share: float) -> float:
        """The quantile of the finite numbers, as ``np.quantile(method="nearest")`` has it.

        >>> Summary(Table({"a": [3, 1, 8]}), "a").nearest(0.5)
        3.0
        """
        numbers, totals = self.numbers
        return float(numbers[np.searchsorted(totals, nearest_rank(share, int(totals[-1])))])

    def refuse_many(self, what: str) -> None:
        """Refuse what needs every value, where only some are here.

        Parameters
        ----------
        what : str
            Ends the sentence "column … has too many different values for".

        Raises
        ------
        DataError
            If not all values are here.
        """
        if self.grain is not None:
            raise DataError(
                f'column "{self.name}" has too many different values in this table of '
                f"{self.n_rows:,} rows for {what}. Leave the column out if it is an identifier; "
                'else cut it by strategy="quantile" or "uniform".'
            )
