"""Columns that say nothing about other rows: identifiers, values not seen in training."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from formulakern.encoding.plan import ColumnPlan
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
#: A warning of unseen values needs this many entries, and this share more than twice that of the
#: training entries whose value was there once.
FEWEST_UNSEEN, LARGE = 10, 0.1


def identifiers(table: Table) -> tuple[str, ...]:
    """Return the text columns with a text of its own in every row, and those that number rows.

    >>> identifiers(Table({"name": [f"n{k}" for k in range(30)], "size": [1, 2] * 15}))
    ('name',)
    """
    return tuple(name for name in table.names if _is_identifier(Summary.of(table, name)))


def warn_of_identifiers(summaries: Sequence[Summary], plans: Sequence[ColumnPlan]) -> None:
    """Warn of columns with a proposition for every row, and of those that number the rows."""
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


def _is_identifier(one: Summary, plan: ColumnPlan | None = None) -> bool:
    column = one.column
    if plan is not None and plan.kind == "nominal":
        number = len(plan.values)
    elif column.labels is not None:
        number = len(column.labels)
    elif column.values.dtype.kind not in "iu" or not (plan is None or plan.kind == "numeric"):
        return False
    else:  # n different whole numbers from some a to a + n - 1
        number = len(np.unique(column.values))
        if number and int(column.values.max()) - int(column.values.min()) + 1 != number:
            return False
    return number == one.n_present >= FEWEST_ROWS


def unseen_shares(table: Table, plans: Sequence[ColumnPlan]) -> dict[str, float]:
    """Return for every nominal column the share of its entries with values not seen in training.

    Missing entries do not count.

    >>> from formulakern.encoding.plan import plan_nominal
    >>> plan = plan_nominal(Summary.of(Table({"x": ["a", "b"]}), "x"), False)
    >>> unseen_shares(Table({"x": ["a", "c", "c", None]}), [plan])
    {'x': 0.6666666666666666}
    """
    return {plan.name: _unseen(table, plan)[1] for plan in plans if plan.kind == "nominal"}


def _unseen(table: Table, plan: ColumnPlan) -> tuple[int, float]:
    """Return the number of entries with values not seen in training, and their share."""
    present = len(table) - int(table.missing(plan.name).sum())
    number = int(plan.unknown(table).sum())
    return number, number / present if present else 0.0


def warn_of_unseen(table: Table, plans: Sequence[ColumnPlan]) -> None:
    """Warn of columns with more unseen values than their training rows let expect.

    The share of the training entries whose value is there once estimates the share of later ones
    whose value is new (Good and Turing).  A dask collection warns once.

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
    """Raise DataError if a column has a value not seen in training."""
    unknown = plan.unknown(table)
    if not unknown.any():
        return
    row = int(np.argmax(unknown))
    value = table.entry(plan.name, row)
    known = (*plan.values, *plan.pooled) if plan.kind == "nominal" else (0, 1)
    shown = ", ".join(map(repr, known[:8])) + (", …" if len(known) > 8 else "")
    raise DataError(
        f'column "{plan.name}" holds {value!r} (row {row}), which is not among the values of '
        f'training: {shown}. Write PropositionEncoder(unknown="false") to let it be none of '
        "them."
    )
