"""What the rows of a report looked like, column by column."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from formulakern.display.report.values import ColumnSummary, DataSummary, ListedColumn, ListedTable
from formulakern.encoding.column_plan import ColumnPlan
from formulakern.encoding.surprises import unseen_shares
from formulakern.syntax.comparison import Comparison
from formulakern.tables.table import Table, cell
from formulakern.text import clip

__all__ = ["summary", "target_table"]

#: Columns, values of a column, bins, cut points and classes that are shown.
MOST_COLUMNS, MOST_VALUES, BINS, MOST_CUTS, MOST_CLASSES = 100, 5, 24, 12, 30


def summary(
    table: Table,
    plans: Sequence[ColumnPlan],
    used: Mapping[str, int] | None,
    target: ListedTable | None,
) -> DataSummary:
    """The columns of a table.

    Parameters
    ----------
    table : Table
        The rows that were given.
    plans : sequence of ColumnPlan
        What a fitted encoder knows of each column; empty where there is none.
    used : mapping of column to int, optional
        How many rules are about it; None where that is not known.
    target : ListedTable, optional
    """
    of_name = {plan.name: plan for plan in plans}
    unseen = unseen_shares(table, plans)
    names = list(table.names)
    columns = [
        _column(table, name, of_name.get(name), used, unseen.get(name, math.nan))
        for name in names[:MOST_COLUMNS]
    ]
    rows, missing = len(table), sum(int(table.missing(name).sum()) for name in names)
    said = [f"{rows:,} rows were given to this report."]
    share = missing / max(rows * len(names), 1)
    said.append(f"{share:.1%} of their entries are missing." if missing else "No entry is missing.")
    new = [name for name in names if unseen.get(name, 0.0) > 0]
    if plans:
        said.append(
            "Values that training did not show, which count as none of the known ones, are in "
            f"{', '.join(new[:8])}{', …' * (len(new) > 8)}."
            if new
            else "No column of values holds one that training did not show."
        )
    return DataSummary([" ".join(said)], columns, len(names), target)


def target_table(name: str, truth: Sequence[Any], predicted: Sequence[Any]) -> ListedTable:
    """How often each class is there, and how often it is predicted."""
    there, said = Counter(map(str, truth)), Counter(map(str, predicted))
    classes = sorted({*there, *said}, key=lambda k: (-there[k], k))
    shown, n = classes[:MOST_CLASSES], max(len(truth), 1)
    return ListedTable(
        "Classes" if name == "class" else f"Classes of {name}",
        [
            ListedColumn("class", shown),
            ListedColumn("rows", [there[k] for k in shown], "number"),
            ListedColumn("share", [there[k] / n for k in shown], "share"),
            ListedColumn("predicted", [said[k] / n for k in shown], "share"),
        ],
        len(classes),
    )


def _column(
    table: Table, name: str, plan: ColumnPlan | None, used: Mapping[str, int] | None, unseen: float
) -> ColumnSummary:
    column, missing = table.column(name), table.missing(name)
    n_missing = int(missing.sum())
    counts: list[int] = []
    values: list[str] = []
    ends = (math.nan, math.nan)
    numeric = table.is_numeric(name)
    boolean = plan is not None and plan.kind in ("boolean", "nominal")
    if numeric and not boolean:
        numbers = np.asarray(column, dtype=np.float64)
        numbers = numbers[np.isfinite(numbers)]
        if len(numbers):
            ends = (float(numbers.min()), float(numbers.max()))
            width = BINS if ends[1] > ends[0] else 1
            counts = np.histogram(numbers, bins=width)[0].tolist()
    if not counts:
        present = np.flatnonzero(~missing)
        entries = column[present].tolist()
        common = Counter(entries).most_common()
        for value, count in common[:MOST_VALUES]:
            values.append(cell(table.entry(name, int(present[entries.index(value)]))))
            counts.append(count)
        if len(common) > MOST_VALUES:
            values.append(f"{len(common) - MOST_VALUES:,} more")
            counts.append(sum(count for _, count in common[MOST_VALUES:]))
    cuts: list[tuple[float, str]] = []
    known = ""
    if plan is not None:
        ordered = [
            p for p in plan.propositions if isinstance(p, Comparison) and p.relation in ("<=", ">=")
        ]
        places = {str(p.value): _number(p.value) for p in ordered}
        cuts = sorted(((place, text) for text, place in places.items()), key=lambda cut: cut[0])
        if plan.values:
            listed = ", ".join(clip(str(v), 30) for v in plan.values[:MOST_CUTS])
            more = len(plan.values) - MOST_CUTS
            known = f"{len(plan.values):,} values in training: {listed}" + ", …" * (more > 0)
    return ColumnSummary(
        name,
        plan.kind if plan is not None else "number" if numeric else "values",
        None if plan is None else len(plan.propositions),
        None if used is None else used.get(name, 0),
        cuts[:MOST_CUTS] + [(math.nan, "…")] * (len(cuts) > MOST_CUTS),
        n_missing / max(len(table), 1),
        unseen,
        counts,
        ends,
        values,
        known,
    )


def _number(value: Any) -> float:
    """A cut point as a number; that of a date has no place in a histogram."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan
