"""Features of encoded rows as values: conjunctions, instances of a template, monomials.

A feature names columns of the encoded table by position; ``values`` evaluates it there, and
``named`` says it in the words of the user's own table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from formulakern.encoding.packed import PackedTable
from formulakern.encoding.table import Table
from formulakern.errors import DataError
from formulakern.rules.rule import Rule
from formulakern.syntax.formula import TRUE, Formula, Variable, evaluate
from formulakern.syntax.notation import latex_name
from formulakern.syntax.substitution import substitute

__all__ = ["BIAS", "Conjunction", "Feature", "Instance", "Monomial", "feature_values"]


@dataclass(frozen=True)
class Conjunction:
    """The feature that is 1 where all of some propositions are true.

    Parameters
    ----------
    propositions : tuple of int
        Columns of a packed table; none is the feature that is always 1.

    Examples
    --------
    >>> from formulakern.encoding.zero_one import read_packed
    >>> pair = Conjunction((0, 2))
    >>> pair.values(read_packed([[1, 0, 1], [0, 1, 1]]))
    array([ True, False])
    >>> print(pair.named([Variable("wet"), Variable("cold"), Variable("dark")]))
    wet & dark
    """

    propositions: tuple[int, ...]

    def values(self, table: PackedTable) -> npt.NDArray[np.bool_]:
        """On which rows of an encoded table it is 1, bool of shape (m,)."""
        return table.cover(self.propositions)

    def named(self, leaves: Sequence[Formula]) -> Rule:
        """The rule that it is, where proposition j says ``leaves[j]``."""
        formula: Formula = TRUE
        for place, j in enumerate(self.propositions):
            formula = leaves[j] if place == 0 else formula & leaves[j]
        return Rule(formula)


#: The feature that is 1 on every row.
BIAS = Conjunction(())


@dataclass(frozen=True)
class Instance:
    """A formula template with propositions in the places of its variables.

    Parameters
    ----------
    template : Formula
        Over the variables ``places``, constants and connectives.
    places : tuple of Variable
    propositions : tuple of int
        For each place a column of a packed table.

    Examples
    --------
    >>> from formulakern.encoding.zero_one import read_packed
    >>> a, b = Variable("a"), Variable("b")
    >>> instance = Instance(a & ~b, (a, b), (1, 0))
    >>> instance.values(read_packed([[1, 0, 1], [0, 1, 1]]))
    array([False,  True])
    >>> print(instance.named([Variable("wet"), Variable("cold"), Variable("dark")]))
    cold & ~wet
    """

    template: Formula
    places: tuple[Variable, ...]
    propositions: tuple[int, ...]

    def values(self, table: PackedTable) -> npt.NDArray[np.bool_]:
        """On which rows of an encoded table it is 1, bool of shape (m,)."""
        columns = table.truths(table.columns[list(self.propositions)])
        column_of: dict[Formula, Any] = dict(zip(self.places, columns, strict=True))
        value = evaluate(self.template, column_of.__getitem__)
        return np.array(np.broadcast_to(value, table.n_rows), dtype=np.bool_)

    def named(self, leaves: Sequence[Formula]) -> Rule:
        """The rule that it is, where proposition j says ``leaves[j]``."""
        said = zip(self.places, self.propositions, strict=True)
        return Rule(substitute(self.template, {place: leaves[j] for place, j in said}))


@dataclass(frozen=True)
class Monomial:
    """x ↦ x_{i₁}·…·x_{i_d}, a product of numeric columns.

    Parameters
    ----------
    columns : tuple of int, or of str
        Positions in an array or names in a table, with repetition; none is the constant 1.

    Examples
    --------
    >>> area = Monomial(("width", "height"))
    >>> print(area, area({"width": [2, 3], "height": [0.5, 2]}))
    width * height [1. 6.]
    >>> Monomial((0, 0)).values(np.array([[3.0, 1.0]]))
    array([9.])
    """

    columns: tuple[Any, ...]

    def values(self, X: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The product in every row of an array, float64 of shape (m,); columns are positions."""
        return np.asarray(X[:, list(self.columns)].prod(axis=1))

    def named(self, names: Sequence[str]) -> Monomial:
        """The same product, where column j is called ``names[j]``."""
        return Monomial(tuple(names[j] for j in self.columns))

    def __call__(self, table: Any) -> npt.NDArray[np.float64]:
        """The product in every row; columns are names.

        Parameters
        ----------
        table : DataFrame, mapping of columns, array-like or Table of m rows

        Returns
        -------
        ndarray of shape (m,), float64

        Raises
        ------
        DataError
            If a column is absent, holds text, or has a missing value.
        """
        rows = Table.of(table)
        product = np.ones(len(rows))
        for name in self.columns:
            column = rows.column(name)
            if column.dtype == object:
                raise DataError(f'column "{name}" holds text; a product needs numbers.')
            if (missing := np.flatnonzero(np.isnan(column))).size:
                raise DataError(
                    f'column "{name}" has no value in row {missing[0]}; a product needs numbers. '
                    "Impute them first."
                )
            product = product * column
        return product

    def __str__(self) -> str:
        return " * ".join(map(str, self.columns)) if self.columns else "1"

    def latex(self) -> str:
        """The product in LaTeX, for use inside math mode; columns are names."""
        return r" \cdot ".join(map(latex_name, self.columns)) if self.columns else "1"


Feature: TypeAlias = Conjunction | Instance | Monomial


def feature_values(features: Sequence[Any], encoded: Any) -> npt.NDArray[Any]:
    """Features on the rows of an encoded table.

    Parameters
    ----------
    features : sequence of r features of one kind
    encoded : PackedTable of m rows, or for monomials float64 (m, n)

    Returns
    -------
    ndarray of shape (m, r), bool, or float64 for monomials
    """
    kind = np.bool_ if isinstance(encoded, PackedTable) else np.float64
    values = np.empty((len(features), encoded.shape[0]), dtype=kind)
    for place, feature in enumerate(features):
        values[place] = feature.values(encoded)
    return values.T
