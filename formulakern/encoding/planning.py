"""Which propositions every column of a table gets: what an encoder is told, put to work."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from formulakern.checks import check_choice, check_integer, check_number, is_integer
from formulakern.encoding.column_plan import (
    ColumnPlan,
    levels_of,
    plan_boolean,
    plan_graded,
    plan_nominal,
    plan_numeric,
    refuse_missing,
)
from formulakern.encoding.cut_points import Strategy
from formulakern.encoding.degrees import Scales, check_scales, scale_of
from formulakern.encoding.summary import Summary
from formulakern.errors import DataError, ParameterError
from formulakern.syntax.comparison import Comparison
from formulakern.syntax.temporal import KINDS, PARTS
from formulakern.tables.column import Column
from formulakern.tables.select import column_positions
from formulakern.tables.table import Table

__all__ = ["Planner"]

CHOICES: dict[str, tuple[str, ...]] = {
    "numeric": ("both", "<=", ">="),
    "strategy": ("quantile", "uniform", "mdlp", "all"),
    "missing": ("value", "false", "error"),
    "unknown": ("false", "error"),
}


@dataclass(frozen=True)
class Planner:
    """The parameters of :class:`formulakern.PropositionEncoder` that say what is true of a row.

    Raises
    ------
    ParameterError
        If one is outside its range.
    """

    negations: bool
    numeric: Literal["both", "<=", ">="]
    cut_points: int
    strategy: Strategy
    nominal: Literal["auto", "all"] | Sequence[str | int]
    max_nominal: int
    min_frequency: float
    missing: Literal["value", "false", "error"]
    unknown: Literal["false", "error"]
    graded: Scales
    calendar: Sequence[str]

    def __post_init__(self) -> None:
        for parameter, choices in CHOICES.items():
            check_choice(parameter, getattr(self, parameter), choices)
        if isinstance(self.nominal, str) and self.nominal not in ("auto", "all"):
            raise ParameterError(
                f'nominal={self.nominal!r}; expected "auto", "all" or a list of columns. '
                f"Write nominal=[{self.nominal!r}] for one column."
            )
        check_scales(self.graded)
        unknown = [self.calendar] if isinstance(self.calendar, str) else self.calendar
        for part in unknown:
            if part not in PARTS or isinstance(self.calendar, str):
                raise ParameterError(
                    f"calendar={self.calendar!r}; expected a list of parts of a date or time, of "
                    f'{", ".join(PARTS)}. Write for example calendar=["month", "weekday"].'
                )
        check_integer("cut_points", self.cut_points)
        check_integer("max_nominal", self.max_nominal, 0)
        if is_integer(self.min_frequency):
            check_integer("min_frequency", self.min_frequency)
        else:
            expected = "a number of rows, or a share of them between 0 and 1"
            check_number("min_frequency", self.min_frequency, 0, 1, above=True, expected=expected)

    def plans(
        self, table: Table, classes: NDArray[np.intp] | None = None
    ) -> tuple[ColumnPlan, ...]:
        """One plan for every column of the training table.

        Parameters
        ----------
        table : Table of n_rows rows
        classes : ndarray of shape (n_rows,), intp, optional
            From 0; for ``strategy="mdlp"``.

        Raises
        ------
        DataError
            If a column is named that is not there, or has what is refused.
        """
        return self.plans_of([Summary.of(table, name, classes) for name in table.names])

    def plans_of(self, summaries: Sequence[Summary]) -> tuple[ColumnPlan, ...]:
        """One plan for every column of a training table, of which what they hold is known.

        Raises
        ------
        DataError
            As :meth:`plans`.
        """
        header = Table({one.name: () for one in summaries})
        forced: set[str] = set()
        if not isinstance(self.nominal, str) and len(self.nominal):
            forced = {header.names[j] for j in column_positions(header, self.nominal)}
        if isinstance(self.graded, Mapping):
            column_positions(header, list(self.graded))  # refuses names that are not there
            kinds = {one.name: one.column.temporal for one in summaries}
            for name in self.graded:
                if (kind := kinds[name]) is not None:
                    raise DataError(
                        f'column "{name}" of graded holds {KINDS[kind][0]}; degrees '
                        "are of numbers. Leave it out, or pass it as a number, such as its days."
                    )
        return tuple(self._plan(one, one.name in forced) for one in summaries)

    def _plan(self, one: Summary, forced: bool) -> ColumnPlan:
        column, name = one.column, one.name
        if self.missing == "error":
            refuse_missing(column, name, rows=False)
        relations = ("<=", ">=") if self.numeric == "both" else (self.numeric,)
        number, strategy = self.cut_points, self.strategy
        if not forced and one.is_boolean:
            plan = plan_boolean(name, self.negations)
        elif forced or column.order or self._is_nominal(column):
            levels: Sequence[Comparison] = ()
            if self.nominal == "auto" and column.order:
                levels = levels_of(one, number, strategy, relations)
            plan = plan_nominal(one, self.negations, self._least(one.n_rows), levels)
        elif column.temporal is None and (scale := scale_of(self.graded, name)) is not None:
            plan = plan_graded(one, scale, relations)
        else:
            plan = plan_numeric(one, number, strategy, relations)
        if column.temporal is not None and self.calendar:
            plan = plan.with_parts(one.table, self.calendar, self.negations)
        if self.missing == "value" and column.missing.any():
            plan = plan.with_missing(self.negations)
        return plan

    def _least(self, n_rows: int) -> int:
        """The number of rows that a value needs for a proposition of its own."""
        if is_integer(self.min_frequency):
            return int(self.min_frequency)
        return math.ceil(self.min_frequency * n_rows)

    def _is_nominal(self, column: Column) -> bool:
        """Return whether a column is one of categories."""
        if column.labels is not None:
            return True
        if self.nominal != "auto" or column.temporal is not None:
            return self.nominal == "all"
        present = column.values[~column.missing]
        distinct: NDArray[Any] = np.unique(present[: 10 * self.max_nominal + 1])
        if len(distinct) > self.max_nominal:
            return False
        distinct = np.unique(present)
        whole = np.isfinite(distinct) & (np.floor(distinct) == distinct)
        return 2 <= len(distinct) <= self.max_nominal and bool(whole.all())
