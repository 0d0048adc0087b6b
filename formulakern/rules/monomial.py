"""A product of numeric columns: the rule-like feature of a polynomial hypothesis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.encoding.table import Table
from formulakern.errors import DataError
from formulakern.syntax.notation import latex_name

__all__ = ["Monomial"]


@dataclass(frozen=True)
class Monomial:
    """x ↦ x_{i₁}·…·x_{i_d}.

    Parameters
    ----------
    names : tuple of str
        Columns, with repetition; none is the constant 1.

    Examples
    --------
    >>> area = Monomial(("width", "height"))
    >>> print(area, area({"width": [2, 3], "height": [0.5, 2]}))
    width * height [1. 6.]
    """

    names: tuple[str, ...]

    def __call__(self, table: Any) -> npt.NDArray[np.float64]:
        """The product in every row.

        Parameters
        ----------
        table : DataFrame, mapping of columns, array-like or Table of n rows

        Returns
        -------
        ndarray of shape (n,), float64

        Raises
        ------
        DataError
            If a column is absent or holds text.
        """
        rows = Table.of(table)
        product = np.ones(len(rows))
        for name in self.names:
            column = rows.column(name)
            if column.dtype == object:
                raise DataError(f'column "{name}" holds text; a product needs numbers.')
            product = product * column
        return product

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns, each once."""
        return tuple(dict.fromkeys(self.names))

    def __str__(self) -> str:
        return " * ".join(self.names) if self.names else "1"

    def latex(self) -> str:
        """The product in LaTeX, for use inside math mode."""
        return r" \cdot ".join(map(latex_name, self.names)) if self.names else "1"
