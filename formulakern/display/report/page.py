"""The page of a report: its values in the templates of ``formulakern/templates/report``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from formulakern.display.report.charts import (
    Picture,
    histogram,
    line_chart,
    point_chart,
    spark,
)
from formulakern.display.report.values import (
    Classified,
    ColumnSummary,
    ListedColumn,
    ListedTable,
    Reasons,
    Regressed,
    Report,
)
from formulakern.markup import rendered
from formulakern.text import significant

__all__ = ["page", "rule_parts"]

#: Connectives and relations of a rule, which are less prominent than what they join.
SIGNS = re.compile(r"(?<= )(&|\||\^|->|<->|<=|>=|!=|<|>|=|is not missing|is missing)(?= |$)|~")
CONNECTIVES = ("&", "|", "^", "->", "<->", "~")
#: Longer rules are shown as plain text.
MAX_RULE = 2000


def page(report: Report) -> str:
    """Return a report as HTML that needs no other file.

    All text is escaped; the page loads nothing, which its own policy forbids.
    """
    quality = report.quality
    return rendered(
        "report/page.html",
        report=report,
        figures=[] if isinstance(quality, str) else list(_figures(quality)),
        embedded=_embedded(report.reasons),
        rows=_rows,
        share=_share,
        short=_short,
        spark=_spark,
    )


# -- figures ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Figure:
    """A picture with its caption, a legend for several curves, and a sentence below."""

    caption: str
    picture: Picture
    note: str = ""
    legend: Sequence[str] = ()


def _figures(quality: Classified | Regressed) -> Iterator[_Figure]:
    unit: dict[str, Any] = {"x_range": (0, 1), "y_range": (0, 1), "diagonal": True}
    level = None
    if isinstance(quality, Regressed):
        yield from _errors(quality)
    else:
        level = None if math.isnan(quality.majority) else quality.majority
        if quality.roc:
            areas = [f"{curve.name}: area {curve.value}" for curve in quality.roc]
            label = f"ROC of {', '.join(areas)}"
            names = ("false positives", "true positives")
            chart = line_chart(quality.roc, label, names, **unit)
            one = len(areas) == 1
            yield _Figure(f"ROC of {areas[0]}" if one else "ROC", chart, "", [] if one else areas)
        if (curve := quality.calibration) is not None:
            names = ("predicted probability", "share of the rows")
            chart = line_chart([curve], f"Calibration of {curve.name}", names, **unit, points=True)
            yield _Figure(
                f"Calibration of {curve.name}: Brier score {curve.value}",
                chart,
                "Rows in ten groups by probability, with 95% intervals; on the diagonal, "
                "predicted probabilities come true.",
            )
    curve = quality.rules
    if curve is not None and len(curve.x) > 1:
        title = f"{curve.name[:1].upper()}{curve.name[1:]} against the number of rules"
        names, label = ("number of rules", curve.name), f"{title}: {curve.value}"
        chart = line_chart([curve], label, names, level=level, stairs=True)
        dashed = "" if level is None else " Dashed: always the most frequent class."
        yield _Figure(title, chart, f"{curve.about}{dashed}")


def _errors(quality: Regressed) -> Iterator[_Figure]:
    name, shown, total = quality.target, len(quality.truth), len(quality.errors)
    label = f"{name}: predicted against true numbers"
    names = (f"true {name}", f"predicted {name}")
    chart = point_chart(quality.truth, quality.predicted, label, names)
    some = f", {shown:,} of {total:,} rows" if shown < total else ""
    yield _Figure(f"Predicted and true {name}{some}", chart)
    chart = histogram(quality.errors, "Histogram of the errors", "predicted − true")
    yield _Figure("Errors", chart)


def _embedded(reasons: Reasons) -> dict[str, Any]:
    """Return the rows as the script of the page reads them, with short names."""
    rows: list[dict[str, Any]] = []
    for row in reasons.rows:
        item: dict[str, Any] = {"n": row.row, "p": row.predicted, "t": row.truth, "s": row.sentence}
        item |= {"ok": row.right, "e": row.entries}
        if row.sums:
            item["sums"] = [
                {"c": s.title, "b": s.start, "x": s.terms, "v": s.total, "o": s.others}
                for s in row.sums
            ]
        if row.steps:
            item["steps"] = [[step.term, step.state, step.why] for step in row.steps]
        rows.append(item)
    head = {"columns": reasons.columns, "terms": reasons.terms, "what": reasons.what}
    return head | {"rows": rows}


# -- tables ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Cell:
    """A cell of a sorted table: how it is sorted, its text or rule, and its bar."""

    kind: str
    value: str
    text: str = ""
    rule: Sequence[tuple[str, str]] = ()
    bar: tuple[float, float, str] | None = None
    mark: float | None = None
    is_number: bool = False


def _rows(table: ListedTable) -> Iterator[tuple[_Cell, ...]]:
    return zip(*(list(_cells(column)) for column in table.columns), strict=True)


def _cells(column: ListedColumn) -> Iterator[_Cell]:
    if not column.is_number:
        for value in map(str, column.values):
            parts = rule_parts(value) if column.kind == "rule" else []
            yield _Cell(column.kind, value, value, parts)
        return
    numbers = [float(value) for value in column.values]
    texts = column.texts or _written(numbers, column.kind)
    marks = column.marks or [math.nan] * len(numbers)
    finite = [x for x in numbers if math.isfinite(x)]
    largest = max(map(abs, finite), default=0.0) or 1.0
    zero = 0.5 if min(numbers, default=0.0) < 0 else 0.0
    for x, text, mark in zip(numbers, texts, marks, strict=True):
        bar = None
        if math.isfinite(x) and column.kind == "share":
            bar = (0.0, min(max(x, 0.0), 1.0), "share")
        elif math.isfinite(x) and column.kind == "signed":
            end = zero + (1 - zero) * x / largest
            bar = (min(zero, end), max(zero, end), "minus" if x < 0 else "plus")
            mark = zero or math.nan
        yield _Cell(
            f"number {column.kind}",
            repr(x) if math.isfinite(x) else "",
            text,
            bar=bar,
            mark=None if math.isnan(mark) else mark,
            is_number=True,
        )


def _written(numbers: Sequence[float], kind: str) -> list[str]:
    if kind == "share":
        return ["" if math.isnan(x) else f"{x:.1%}" for x in numbers]
    finite = [x for x in numbers if math.isfinite(x)]
    if kind == "number" and all(x == int(x) for x in finite):
        known = iter([f"{int(x):,}" for x in finite])
    else:
        known = iter(significant(finite))
    texts = [next(known) if math.isfinite(x) else "" for x in numbers]
    return [text.replace("-", "\N{MINUS SIGN}", 1) if text[:1] == "-" else text for text in texts]


def rule_parts(text: str) -> list[tuple[str, str]]:
    """Return the parts of a rule with their tags: "b" connectives, "i" relations, "" the others.

    >>> rule_parts("odor = foul & `a & b`")
    [('', 'odor '), ('i', '='), ('', ' foul '), ('b', '&'), ('', ' '), ('', '`a & b`')]
    """
    if len(text) > MAX_RULE:
        return [("", text)]
    parts: list[tuple[str, str]] = []
    for number, piece in enumerate(re.split(r"(`[^`]*`?)", text)):
        end = 0
        for sign in () if number % 2 else SIGNS.finditer(piece):  # odd pieces are quoted names
            parts.append(("", piece[end : sign.start()]))
            parts.append(("b" if sign[0] in CONNECTIVES else "i", sign[0]))
            end = sign.end()
        parts.append(("", piece[end:]))
    return [part for part in parts if part[1]]


# -- columns ---------------------------------------------------------------------------------------


def _spark(column: ColumnSummary) -> Picture:
    label = f"{column.name}: from {_short(column.ends[0])} to {_short(column.ends[1])}"
    return spark(column.counts, column.ends, [value for value, _ in column.cuts], label)


def _share(value: float) -> str:
    return "" if math.isnan(value) else "0" if value == 0 else f"{value:.1%}"


def _short(number: float) -> str:
    """Return a number in few characters, with separators of thousands."""
    return f"{number:,.4g}" if abs(number) < 1000 or abs(number) >= 1e9 else f"{number:,.0f}"
