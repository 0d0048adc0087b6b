"""What explanations of rows share: a sequence of rows, each an explanation of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from formulakern.errors import DataError
from formulakern.markup import small_table
from formulakern.optional import data_frame
from formulakern.tables.table import Table
from formulakern.text import aligned, clip, width

if TYPE_CHECKING:
    import pandas

__all__ = ["RowExplanations", "given_rows", "reasons"]

#: Rows of an explanation of many that are printed.
MAX_ROWS = 30


class RowExplanations(ABC):
    """Why n rows were predicted as they were; of one row alone it says all, of more a line each.

    Iterating gives an explanation for each row; so does indexing, with a number, and with a slice
    one of the rows inside.
    """

    @property
    @abstractmethod
    def predictions(self) -> npt.NDArray[Any]:
        """What is predicted for each row, shape (n,)."""

    @abstractmethod
    def _take(self, rows: slice) -> Self:
        """The explanation of these rows."""

    @abstractmethod
    def _lines(self) -> list[str]:
        """What is said of one row."""

    @abstractmethod
    def _html(self) -> str:
        """What is said of one row, for notebooks."""

    @abstractmethod
    def _cells(self) -> tuple[list[str], list[list[str]], str]:
        """Headings, a line for each row, and how columns stand; the last holds the reasons."""

    @abstractmethod
    def _columns(self) -> dict[str, list[Any]]:
        """The columns of a data frame."""

    def __len__(self) -> int:
        return len(self.predictions)

    def __iter__(self) -> Iterator[Self]:
        return (self._take(slice(row, row + 1)) for row in range(len(self)))

    def __getitem__(self, place: int | slice) -> Self:
        if isinstance(place, slice):
            return self._take(place)
        row = range(len(self))[place]  # refuses what is outside
        return self._take(slice(row, row + 1))

    def _only(self, name: str) -> int:
        """0, the number of the only row.

        Raises
        ------
        DataError
            If there are more.
        """
        if len(self) != 1:
            raise DataError(
                f"{name} is that of one row; this explains {len(self):,}. Take one: explained[i]."
            )
        return 0

    @property
    def prediction(self) -> Any:
        """What is predicted for the only row.

        Raises
        ------
        DataError
            If there are more.
        """
        return self.predictions.tolist()[self._only("prediction")]

    def to_frame(self) -> pandas.DataFrame:
        """The explanation as a data frame; ``row`` is the number of a row, from 0.

        Raises
        ------
        MissingDependencyError
            If pandas is not installed.
        """
        return data_frame(self._columns())

    def __repr__(self) -> str:
        if len(self) == 1:
            return f"<{type(self).__name__}: {clip(self._lines()[0], 80)}>"
        return f"<{type(self).__name__} of {len(self):,} rows>"

    def __str__(self) -> str:
        if len(self) == 1:
            return "\n".join(self._lines())
        head, rows, sides = self._take(slice(MAX_ROWS))._cells()
        numbered = [["row", *head], *([str(k), *cells] for k, cells in enumerate(rows))]
        lines = [clip(line.rstrip(), width()) for line in aligned(numbered, f">{sides}")]
        return "\n".join([*lines, *self._more()])

    def _repr_html_(self) -> str:
        if len(self) == 1:
            return self._html()
        head, rows, sides = self._take(slice(MAX_ROWS))._cells()
        numbered = [[str(k), *cells] for k, cells in enumerate(rows)]
        return small_table(
            ["row", *head], numbered, f">{sides[:-1]}r", foot="; ".join(self._more())
        )

    def _foot(self) -> str:
        """What holds of all rows."""
        return ""

    def _more(self) -> list[str]:
        more, foot = len(self) - MAX_ROWS, self._foot()
        return [f"… and {more:,} more rows"] * (more > 0) + [foot] * bool(foot)


def given_rows(rows: Any) -> Table:
    """A table of rows; one row may be given as column → value.

    Raises
    ------
    DataError
        If there is none.

    Examples
    --------
    >>> len(given_rows({"odor": "foul"})), len(given_rows({"odor": ["foul", "none"]}))
    (1, 2)
    """
    if not isinstance(rows, Mapping) and hasattr(rows, "items") and not hasattr(rows, "columns"):
        rows = dict(rows.items())  # a pandas Series
    if isinstance(rows, Mapping):
        many = (list, tuple, np.ndarray)
        rows = {
            str(name): value if isinstance(value, many) or hasattr(value, "to_numpy") else [value]
            for name, value in rows.items()
        }
    table = Table.of(rows)
    if not len(table):
        raise DataError("explain() needs a row; got none. Pass X[i : i + 1].")
    return table


def reasons(parts: Sequence[str], more: int = 0) -> str:
    """A few reasons in one line.

    >>> reasons(["+2 a", "-1 b"], 3)
    '+2 a; -1 b; 3 more'
    """
    return "; ".join([*parts, *([f"{more} more"] if more else [])])
