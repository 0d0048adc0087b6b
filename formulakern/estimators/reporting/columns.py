"""The rows of a report, column by column."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from formulakern.display.report import ColumnSummary, DataSummary, ListedColumn, ListedTable
from formulakern.encoding.plan import ColumnPlan, unseen_shares
from formulakern.syntax.leaves import Comparison
from formulakern.tables.table import Table, cell
from formulakern.text import clip

__all__ = ["summary", "target_table"]

#: Columns, values of a column, bins, cut points and classes that are shown.
MAX_COLUMNS, MAX_VALUES, BINS, MAX_CUTS, MAX_CLASSES = 100, 5, 24, 12, 30


def summary(
    table: Table,
    plans: Sequence[ColumnPlan],
    used: Mapping[str, int] | None,
    target: ListedTable | None,
) -> DataSummary:
    """The columns of a table."""
    of_name = {plan.name: plan for plan in plans}
    unseen = unseen_shares(table, plans)
    names = list(table.names)
    columns = [
        _column(table, name, of_name.get(name), used, unseen.get(name, math.nan))
        for name in names[:MAX_COLUMNS]
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
    """Return how often each class occurs, and how often it is predicted."""
    there, said = Counter(map(str, truth)), Counter(map(str, predicted))
    classes = sorted({*there, *said}, key=lambda k: (-there[k], k))
    shown, n = classes[:MAX_CLASSES], max(len(truth), 1)
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
    numeric, missing = table.is_numeric(name), table.missing(name)
    summary = ColumnSummary(
        name,
        plan.kind if plan is not None else "number" if numeric else "values",
        None if plan is None else len(plan.propositions),
        None if used is None else used.get(name, 0),
        missing=float(missing.mean()) if len(missing) else 0.0,
        unseen=unseen,
    )
    if plan is not None:
        summary = replace(summary, cuts=_cuts(plan), known=_known_values(plan))
    if numeric and (plan is None or plan.kind not in ("boolean", "nominal")):
        numbers = np.asarray(table.column(name), dtype=np.float64)
        numbers = numbers[np.isfinite(numbers)]
        if len(numbers):
            ends = (float(numbers.min()), float(numbers.max()))
            bins, _ = np.histogram(numbers, bins=BINS if ends[1] > ends[0] else 1)
            return replace(summary, counts=bins.tolist(), ends=ends)
    present = np.flatnonzero(~missing)
    entries = table.column(name)[present].tolist()
    common = Counter(entries).most_common()
    counts = [count for _, count in common[:MAX_VALUES]]
    values = [
        cell(table.entry(name, int(present[entries.index(value)])))
        for value, _ in common[:MAX_VALUES]
    ]
    if len(common) > MAX_VALUES:
        values.append(f"{len(common) - MAX_VALUES:,} more")
        counts.append(len(entries) - sum(counts))
    return replace(summary, counts=counts, values=values)


def _cuts(plan: ColumnPlan) -> list[tuple[float, str]]:
    """Return the cut points of a column with their texts."""
    places = {
        str(p.value): _number(p.value)
        for p in plan.propositions
        if isinstance(p, Comparison) and p.relation in ("<=", ">=")
    }
    cuts = sorted(((place, text) for text, place in places.items()), key=lambda cut: cut[0])
    return cuts[:MAX_CUTS] + [(math.nan, "…")] * (len(cuts) > MAX_CUTS)


def _known_values(plan: ColumnPlan) -> str:
    if not plan.values:
        return ""
    listed = ", ".join(clip(str(v), 30) for v in plan.values[:MAX_CUTS])
    more = ", …" * (len(plan.values) > MAX_CUTS)
    return f"{len(plan.values):,} values in training: {listed}{more}"


def _number(value: Any) -> float:
    """Return a cut point as a number; nan for dates, which have no histogram."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan
