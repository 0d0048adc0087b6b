"""The truth table of a formula as a value that prints."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from formulakern.errors import FormulaSizeError
from formulakern.markup import small_table
from formulakern.optional import data_frame
from formulakern.syntax.logic.diagrams import models
from formulakern.syntax.logic.forms import Node, diagrams_of
from formulakern.text import aligned, clip

if TYPE_CHECKING:
    import pandas

__all__ = ["MAX_TABLE_NAMES", "TruthTable", "truth_table"]

#: A table of more names has too many rows.
MAX_TABLE_NAMES = 16
#: So many rows are printed at most.
SHOWN = 64


@dataclass(frozen=True, repr=False)
class TruthTable:
    """The values of a formula, in the order 11, 10, 01, 00 of those of its names.

    Parameters
    ----------
    names : tuple of str
        In order of appearance.
    formula : str
        As it prints.
    values : tuple of bool
        2ᵏ of them for k names.

    Examples
    --------
    >>> import formulakern as fk
    >>> print(fk.parse("a -> b").truth_table())
    a  b │ a -> b
    1  1 │ 1
    1  0 │ 0
    0  1 │ 1
    0  0 │ 1
    """

    names: tuple[str, ...]
    formula: str
    values: tuple[bool, ...]

    def __iter__(self) -> Iterator[tuple[bool, ...]]:
        """Yield rows: the values of the names, and then that of the formula."""
        for row, value in zip(self._arguments(), self.values, strict=True):
            yield *row, value

    def __len__(self) -> int:
        return len(self.values)

    def __str__(self) -> str:
        head = [*self.names, f"│ {clip(self.formula, 60)}"]
        rows = [[*row[:-1], f"│ {row[-1]}"] for row in self._shown()]
        lines = aligned([head, *rows], "<" * len(head))
        text = "\n".join(line.replace("  │", " │").rstrip() for line in lines)
        return f"{text}\n{self._rest()}" if self._rest() else text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = [*self.names, clip(self.formula, 60)]
        return small_table(head, self._shown(), ">" * len(head), foot=self._rest())

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame of bool: a column for each name, and one for the formula.

        Raises
        ------
        MissingDependencyError
            If pandas is not installed.
        """
        columns = zip(*self, strict=True)
        return data_frame(dict(zip([*self.names, self.formula], columns, strict=True)))

    def _arguments(self) -> Iterator[tuple[bool, ...]]:
        return itertools.product((True, False), repeat=len(self.names))

    def _shown(self) -> list[list[str]]:
        return [["01"[value] for value in row] for row in itertools.islice(self, SHOWN)]

    def _rest(self) -> str:
        left = len(self) - SHOWN
        return f"… {left:,} more rows, {sum(self.values):,} of {len(self):,} true" * (left > 0)


def truth_table(formula: Node) -> TruthTable:
    """Return what :meth:`formulakern.Formula.truth_table` documents."""
    diagrams, letters, (top,) = diagrams_of("a truth table", formula)
    n = len(letters)
    if n > MAX_TABLE_NAMES:
        raise FormulaSizeError(
            f"the truth table of {n} names has 2^{n} rows; at most {MAX_TABLE_NAMES} names are "
            "tabulated. Ask count_models() or simplify() instead."
        )
    values = [False] * 2**n
    for model in models(diagrams, top, n):
        values[sum((not value) << (n - 1 - k) for k, value in enumerate(model))] = True
    return TruthTable(tuple(map(str, letters)), str(formula), tuple(values))
