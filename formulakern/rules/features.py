"""Features of rows: conjunctions, template instances, monomials, linear terms.

A feature refers to columns of the encoded table by position.  ``values`` evaluates it there, and
``named`` expresses it in the columns of the user's table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from formulakern.checks import is_number
from formulakern.encoding.ordered import OrderedTable
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.plan import Degrees
from formulakern.encoding.propositions import content_of
from formulakern.errors import DataError, ParameterError
from formulakern.rules.rule import Rule
from formulakern.syntax.connectives import latex_name
from formulakern.syntax.formula import Formula, Variable, both, evaluate, substitute
from formulakern.syntax.leaves import in_order
from formulakern.tables.column import numbers_in
from formulakern.tables.table import Table


@dataclass(frozen=True)
class Conjunction:
    """The feature that is 1 if all given propositions (columns of a packed table) are true.

    >>> print(Conjunction((0, 2)).named([Variable("wet"), Variable("cold"), Variable("dark")]))
    wet & dark
    """

    propositions: tuple[int, ...]

    def values(self, table: PackedTable) -> npt.NDArray[np.bool_]:
        """Return True for the encoded rows in which the feature is 1, shape (m,)."""
        return table.cover(self.propositions)

    def named(self, leaves: Sequence[Formula]) -> Rule:
        """Return the feature as a rule in which ``leaves[j]`` is proposition j."""
        return Rule(both(in_order(leaves[j] for j in self.propositions)))


#: The feature that is 1 on every row.
BIAS = Conjunction(())


@dataclass(frozen=True)
class Instance:
    """A formula template whose variables are propositions, columns of a packed table.

    >>> a, b = Variable("a"), Variable("b")
    >>> instance = Instance(a & ~b, (a, b), (1, 0))
    >>> print(instance.named([Variable("wet"), Variable("cold"), Variable("dark")]))
    cold & ~wet
    """

    template: Formula
    places: tuple[Variable, ...]
    propositions: tuple[int, ...]

    def values(self, table: PackedTable) -> npt.NDArray[np.bool_]:
        """Return True for the encoded rows in which the feature is 1, shape (m,)."""
        columns = table.truths(table.columns[list(self.propositions)])
        column_of: dict[Formula, Any] = dict(zip(self.places, columns, strict=True))
        value = evaluate(self.template, column_of.__getitem__)
        return np.array(np.broadcast_to(value, table.n_rows), dtype=np.bool_)

    def named(self, leaves: Sequence[Formula]) -> Rule:
        """Return the feature as a rule in which ``leaves[j]`` is proposition j."""
        said = zip(self.places, self.propositions, strict=True)
        return Rule(substitute(self.template, {place: leaves[j] for place, j in said}))


@dataclass(frozen=True)
class Monomial:
    """x ↦ x_{i₁}·…·x_{i_d}, a product of numeric columns.

    ``columns`` are positions in an array or names in a table; () is the constant 1.

    >>> area = Monomial(("width", "height"))
    >>> print(area, area({"width": [2, 3], "height": [0.5, 2]}))
    width * height [1. 6.]
    >>> Monomial((0, 0)).values(np.array([[3.0, 1.0]]))
    array([9.])
    """

    columns: tuple[Any, ...]

    @property
    def n_conditions(self) -> int:
        """The number of factors, each counted as a condition."""
        return len(self.columns)

    def values(self, X: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the product in each row of an array, float64 of shape (m,)."""
        return np.asarray(X[:, list(self.columns)].prod(axis=1))

    def named(self, names: Sequence[str]) -> Monomial:
        """Return the same product with names: column j is ``names[j]``."""
        return Monomial(tuple(names[j] for j in self.columns))

    def __call__(self, table: Any) -> npt.NDArray[np.float64]:
        """Return the product of the named columns in each row, shape (m,).

        Raise DataError if a column is absent, holds text, or has a missing value.
        """
        rows = Table.of(table)
        product = np.ones(len(rows))
        for name in self.columns:
            column = rows.column(name)
            if not rows.is_numeric(name):
                raise DataError(
                    f'column "{name}" holds {content_of(rows.typed(name))}; a product needs '
                    "numbers."
                )
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
        """Return the product of named columns in LaTeX, for use inside math mode."""
        return r" \cdot ".join(map(latex_name, self.columns)) if self.columns else "1"


@dataclass(frozen=True)
class LinearTerm:
    """A numeric column between two numbers, as a number from 0 to 1.

    x ↦ (min(max(x, least), largest) − least) / (largest − least), and 0 if x is missing.

    ``column`` is a name in the user's table.  Raise ParameterError if ``least`` and ``largest`` are
    not finite, or not in order.

    >>> age = LinearTerm("age", 20, 70)
    >>> age({"age": [30, 20, 95, None]})
    array([0.2, 0. , 1. , 0. ])
    >>> print(age, "-", age.effect(1.5))
    age from 20 to 70 - +0.03 per unit
    """

    column: str
    least: float
    largest: float

    def __post_init__(self) -> None:
        ends = (self.least, self.largest)
        if not all(is_number(end) and math.isfinite(end) for end in ends) or self._half <= 0:
            raise ParameterError(
                f"a linear term from {self.least!r} to {self.largest!r}; expected two finite "
                "numbers, the smaller one first."
            )
        object.__setattr__(self, "least", float(self.least))
        object.__setattr__(self, "largest", float(self.largest))

    @property
    def columns(self) -> tuple[str, ...]:
        """The column that the term reads."""
        return (self.column,)

    @property
    def n_conditions(self) -> int:
        """1, since the term counts as one condition."""
        return 1

    @property
    def _half(self) -> float:
        """Half of the range, which is finite even if the range overflows."""
        return self.largest / 2 - self.least / 2

    def __call__(self, table: Any) -> npt.NDArray[np.float64]:
        """Return the value of the term in each row, shape (m,).

        Raise DataError if the column is absent, or has text that is not a number.
        """
        values = self.numbers(Table.of(table))
        return Degrees("linear", (self.least, self.largest)).of(values)

    def numbers(self, table: Table) -> npt.NDArray[np.float64]:
        """Return the numbers of the column, nan if missing."""
        column = table.typed(self.column)
        is_text = column.labels is not None
        numbers = numbers_in(column.entries.tolist()) if is_text else column.values
        if numbers is None or column.temporal is not None:
            found = content_of(column)
            raise DataError(f'column "{self.column}" holds {found}; a linear term needs numbers.')
        values = np.array(numbers, dtype=np.float64)
        values[column.missing] = np.nan
        return values

    def __str__(self) -> str:
        return f"{Variable(self.column)} from {_plain(self.least)} to {_plain(self.largest)}"

    def latex(self) -> str:
        """Return the term in LaTeX, for use inside math mode."""
        words = (r"\text{ from }", r"\text{ to }")
        ends = (_plain(self.least), _plain(self.largest))
        return latex_name(self.column) + "".join(map("".join, zip(words, ends, strict=True)))

    def effect(self, weight: float) -> str:
        """Return the effect of a weight for a step of the column, in words.

        The step is 1 if the range is from 2 to 200, or any range up to 200 between whole numbers;
        otherwise it is the power of ten that divides the range into 2 to 20 steps.

        >>> LinearTerm("density", 2, 3).effect(1.0), LinearTerm("dose", 0.5, 1.5).effect(1.0)
        ('+1 per unit', '+0.1 per 0.1')
        """
        whole = self.least.is_integer() and self.largest.is_integer()
        ones = (0 if whole else 1) <= self._half < 100
        step = 1.0 if ones else 10.0 ** math.floor(math.log10(self._half))
        per = "unit" if step == 1 else _plain(step)
        return f"{weight * (step / 2 / self._half):+.2g} per {per}"


def _plain(number: float) -> str:
    """Return a number as rules spell it, whole numbers without a decimal point."""
    whole = number.is_integer() and abs(number) < 2**53
    return str(int(number)) if whole else repr(number)


@dataclass(frozen=True)
class LinearFeature:
    """The feature that is a linear column of an encoded table, named by its term."""

    place: int
    term: LinearTerm

    def values(self, table: PackedTable) -> npt.NDArray[np.float64]:
        """Return the values of all rows of an encoded table, float64 of shape (m,)."""
        return np.asarray(table.linear_columns[:, self.place])

    def named(self, leaves: Sequence[Any]) -> LinearTerm:  # noqa: ARG002
        """Return the linear term."""
        return self.term


Feature: TypeAlias = Conjunction | Instance | Monomial | LinearFeature

#: A term of an ensemble: a rule is 1 or 0 in a row, the others are numbers.
Term: TypeAlias = Rule | Monomial | LinearTerm


def feature_values(features: Sequence[Any], encoded: Any) -> npt.NDArray[Any]:
    """Evaluate r features on m encoded rows (float64 (m, n) for monomials), shape (m, r).

    All features are of one kind, or conjunctions and degrees; degrees and monomials give float64.
    """
    graded = any(isinstance(feature, LinearFeature) for feature in features)
    kind = (
        np.bool_ if isinstance(encoded, (OrderedTable, PackedTable)) and not graded else np.float64
    )
    values = np.empty((len(features), encoded.shape[0]), dtype=kind)
    for place, feature in enumerate(features):
        values[place] = feature.values(encoded)
    return values.T
