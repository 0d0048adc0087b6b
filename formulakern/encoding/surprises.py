"""Columns that say nothing about other rows: identifiers, values that training did not show."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from formulakern.encoding.column_plan import ColumnPlan
from formulakern.encoding.summary import Summary
from formulakern.errors import DataError
from formulakern.partitions.lazy_rows import first_told
from formulakern.tables.table import Table

__all__ = [
    "identifiers",
    "refuse_unknown",
    "unseen_shares",
    "warn_of_identifiers",
    "warn_of_unseen",
]

#: A column of fewer rows may have as many values as rows by chance.
FEWEST_ROWS = 20
#: Entries of unseen values that are told: at least so many, and so large a share more than twice
#: that of the training entries whose value was there once.
FEWEST_UNSEEN, LARGE = 10, 0.1


def warn_of_identifiers(summaries: Sequence[Summary], plans: Sequence[ColumnPlan]) -> None:
    """Warn of columns that have a proposition for every row.

    These are nominal columns with as many values as rows, and columns of numbers that number the
    rows: n different whole numbers from some a to a + n − 1.

    Parameters
    ----------
    summaries : sequence of Summary
        Of the training rows; of fewer than 20 nothing is said.
    plans : sequence of ColumnPlan
        Of the same columns.
    """
    both = zip(summaries, plans, strict=True)
    names = [f'"{plan.name}"' for one, plan in both if _is_identifier(one, plan)]
    if names:
        one = len(names) == 1
        warnings.warn(
            f"{'column' if one else 'columns'} {', '.join(names[:5])}{', …' * (len(names) > 5)} "
            f"{'has' if one else 'have'} another value in every row, as an identifier has, which "
            f"says nothing about other rows; leave {'it' if one else 'them'} out.",
            stacklevel=4,
        )


def identifiers(table: Table) -> tuple[str, ...]:
    """The columns of text that is another one in every row, and those that number the rows.

    >>> identifiers(Table({"name": [f"n{k}" for k in range(30)], "size": [1, 2] * 15}))
    ('name',)
    """
    found = []
    for name in table.names:
        known = len(table) - int(table.missing(name).sum())
        column = table.typed(name)
        if column.labels is not None:
            same = len({*column.numbered[0]} - {None}) == known >= FEWEST_ROWS
        else:
            same = _numbers_rows(Summary.of(table, name))
        if same:
            found.append(name)
    return tuple(found)


def _is_identifier(one: Summary, plan: ColumnPlan) -> bool:
    if plan.kind == "nominal":
        return len(plan.values) == one.n_present >= FEWEST_ROWS
    return plan.kind == "numeric" and _numbers_rows(one)


def _numbers_rows(one: Summary) -> bool:
    """Return whether a column has n different whole numbers from some a to a + n − 1."""
    column = one.column.values
    if len(column) < FEWEST_ROWS or column.dtype.kind not in "iu" or not one.column.is_numeric:
        return False
    return int(column.max()) - int(column.min()) + 1 == len(np.unique(column)) == one.n_rows


def unseen_shares(table: Table, plans: Sequence[ColumnPlan]) -> dict[str, float]:
    """Of every nominal column, the share of its entries whose values training did not show.

    Parameters
    ----------
    table : Table
        Missing entries do not count.
    plans : sequence of ColumnPlan

    Examples
    --------
    >>> from formulakern.encoding.column_plan import plan_nominal
    >>> plan = plan_nominal(Summary.of(Table({"x": ["a", "b"]}), "x"), False)
    >>> unseen_shares(Table({"x": ["a", "c", "c", None]}), [plan])
    {'x': 0.6666666666666666}
    """
    return {plan.name: _unseen(table, plan)[1] for plan in plans if plan.kind == "nominal"}


def _unseen(table: Table, plan: ColumnPlan) -> tuple[int, float]:
    """How many entries have values that training did not show, and their share."""
    present = len(table) - int(table.missing(plan.name).sum())
    number = int(plan.unknown(table).sum())
    return number, number / present if present else 0.0


def warn_of_unseen(table: Table, plans: Sequence[ColumnPlan]) -> None:
    """Warn of columns with more unseen values than their training rows let expect.

    The share of the training entries whose value is there once estimates the share of later ones
    whose value is new (Good and Turing).  Of the partitions of a dask collection the first such one
    is told.

    References
    ----------
    I. J. Good, "The population frequencies of species and the estimation of population
    parameters", Biometrika 40, 1953.  doi:10.1093/biomet/40.3-4.237
    """
    found = []
    for plan in plans:
        if plan.kind == "nominal":
            number, share = _unseen(table, plan)
            many = number >= FEWEST_UNSEEN and share > LARGE + 2 * plan.once
            if many and first_told(plan.name):
                found.append(f'"{plan.name}" ({share:.0%})')
    if found:
        warnings.warn(
            "values that training did not show stand in "
            f"{'column' if len(found) == 1 else 'columns'} {', '.join(found[:5])}"
            f"{', …' * (len(found) > 5)}, and count as none of the known ones; look whether they "
            "are written as in training.",
            stacklevel=4,
        )


def refuse_unknown(table: Table, plan: ColumnPlan) -> None:
    """Raise if a column has a value that training did not show."""
    row = plan.first_unknown(table)
    if row is None:
        return
    value = table.entry(plan.name, row)
    known = (*plan.values, *plan.pooled) if plan.kind == "nominal" else (0, 1)
    shown = ", ".join(map(repr, known[:8])) + (", …" if len(known) > 8 else "")
    raise DataError(
        f'column "{plan.name}" holds {value!r} (row {row}), which is not among the values of '
        f'training: {shown}. Write PropositionEncoder(unknown="false") to let it be none of '
        "them."
    )
