"""The steps of an optimisation, as a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from formulakern.markup import small_table
from formulakern.optional import data_frame
from formulakern.text import aligned

if TYPE_CHECKING:
    import pandas

#: Maximum number of steps of a table in a notebook.
MAX_SHOWN_STEPS = 40


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """A sequence of steps that prints as a table.

    Parameters
    ----------
    steps : tuple
        One object per step; its attributes are the columns of the table.
    problems : tuple of str, optional
        The problem of each step, if several problems were solved.

    Notes
    -----
    A subclass defines ``STEP``, the name of a step, and ``COLUMNS``: attribute, heading, format.
    """

    steps: tuple[Any, ...]
    problems: tuple[str, ...] = ()

    STEP: ClassVar[str] = "step"
    COLUMNS: ClassVar[tuple[tuple[str, str, str], ...]] = ()

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.steps)

    def __getitem__(self, position: int) -> Any:
        return self.steps[position]

    def values(self, name: str, problem: str | None = None) -> NDArray[Any]:
        """Return one attribute of all steps, or of the steps of one problem."""
        names = self.problems or ("",) * len(self.steps)
        chosen = zip(self.steps, names, strict=True)
        return np.array([getattr(s, name) for s, p in chosen if problem in (None, p)])

    def to_frame(self) -> pandas.DataFrame:
        """Return one row per step (needs pandas)."""
        columns: dict[str, Any] = {"problem": list(self.problems)} if self.problems else {}
        return data_frame(columns | {c[0]: self.values(c[0]) for c in self.COLUMNS})

    def __repr__(self) -> str:
        n = len(self.steps)
        return f"<{type(self).__name__}: {n:,} {self.STEP}{'s'[: n != 1]}>"

    def __str__(self) -> str:
        rows = self._cells()
        return "\n".join(aligned(rows, ">" * len(rows[0])))

    def _repr_html_(self) -> str:
        head, *rows = self._cells()
        shown, more = rows, ""
        if len(rows) > MAX_SHOWN_STEPS:
            shown = [
                *rows[: MAX_SHOWN_STEPS // 2],
                ["…"] * len(head),
                *rows[-MAX_SHOWN_STEPS // 2 :],
            ]
            more = f"{len(rows):,} in all"
        return small_table(head, shown, ">" * len(head), foot=more)

    def _cells(self) -> list[list[str]]:
        rows = [[self.STEP, *(title for _, title, _ in self.COLUMNS)]]
        for number, step in enumerate(self.steps, 1):
            values = ((getattr(step, name), form) for name, _, form in self.COLUMNS)
            cells = ("" if value != value else f"{value:{form}}" for value, form in values)
            rows.append([str(number), *cells])
        return rows
