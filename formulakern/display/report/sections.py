"""The parts of a report: what was learned, how good it is, why, and what the data looked like."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from formulakern.display.report.charts import bar_chart, line_chart, point_chart, spark
from formulakern.display.report.listing import listing
from formulakern.display.report.values import (
    Classified,
    ColumnSummary,
    Curve,
    DataSummary,
    Learned,
    Reasons,
    Regressed,
)
from formulakern.markup import Markup, element, joined

__all__ = ["data_section", "learned_section", "quality_section", "reasons_section"]

#: Bins of the histogram of errors.
BINS = 30
#: A confusion matrix of more classes is as wide as the page.
BROAD = 6
#: Percent of a confusion matrix's cell that colour covers at most, so that its number is read.
DARKEST = 45


def learned_section(learned: Learned) -> Markup:
    """Sentences, tables, and texts that stand as they are."""
    parts: list[object] = [element("p", sentence) for sentence in learned.sentences]
    parts += [listing(table, f"learned-{k}") for k, table in enumerate(learned.tables)]
    for title, text in learned.texts:
        pre = element("pre", text, tabindex="0", role="region", aria_label=title)
        parts.append(element("details", element("summary", title), pre, open=len(text) < 2000))
    return joined(parts)


def quality_section(quality: Classified | Regressed | str) -> Markup:
    """Tables and pictures of how good predictions are."""
    if isinstance(quality, Classified):
        figures = _classification(quality)
    elif isinstance(quality, Regressed):
        figures = _regression(quality)
    else:
        return element("p", quality, class_="note")
    if quality.rules is not None and len(quality.rules.x) > 1:
        figures.append(_rules_figure(quality.rules, getattr(quality, "majority", math.nan)))
    shown = element("div", *figures, class_="figures")
    missing = [element("p", sentence, class_="note") for sentence in quality.missing]
    return joined([shown, *missing])


def reasons_section(reasons: Reasons | str) -> Markup:
    """A row to pick, with all that the page needs to say why it was predicted so."""
    if isinstance(reasons, str):
        return element("p", reasons, class_="note")
    given, shown = reasons.total, len(reasons.rows)
    told = any(row.right is not None for row in reasons.rows)
    which = [("all", "all rows"), ("wrong", "wrong ones"), ("right", "right ones")]
    show = element(
        "span",
        element("label", "Show ", for_="row-show"),
        element("select", *(element("option", t, value=v) for v, t in which), id="row-show"),
        hidden=not told,
    )
    pick = element(
        "span",
        element("button", "‹", type="button", id="row-before", aria_label="row before"),
        element("label", "Row ", for_="row-pick"),
        element("select", id="row-pick", aria_controls="reason"),
        element("button", "›", type="button", id="row-after", aria_label="row after"),
    )
    score = element(
        "span",
        element("label", "Score ", for_="row-score"),
        element("select", id="row-score", aria_controls="reason"),
        hidden=True,
        id="row-score-part",
    )
    many = f"The page holds the first {shown:,} of {given:,} rows." if shown < given else ""
    return joined([
        element("p", reasons.sentence),
        element("div", show, pick, score, class_="controls"),
        element("noscript", element("p", "This part needs JavaScript.", class_="note")),
        element("p", id="verdict", class_="verdict", role="status"),
        element("div", id="reason"),
        element("p", many, class_="note") if many else "",
        _embedded(reasons),
    ])  # fmt: skip


def data_section(data: DataSummary | str) -> Markup:
    """The target, and a table of the columns."""
    if isinstance(data, str):
        return element("p", data, class_="note")
    parts: list[object] = [element("p", sentence) for sentence in data.sentences]
    if data.target is not None:
        parts.append(listing(data.target, "target"))
    unseen = any(not math.isnan(column.unseen) for column in data.columns)
    names = ["column", "kind", "rows", "missing", *(["unseen"] if unseen else [])]
    names += ["propositions", "in rules", "cut points and values"]
    numbers = ("missing", "unseen", "propositions", "in rules")
    sides = dict.fromkeys(numbers, "number")
    heads = [element("th", name, scope="col", class_=sides.get(name)) for name in names]
    rows = [_column_row(column, unseen) for column in data.columns]
    table = element(
        "table",
        element("caption", f"{data.total:,} column{'s'[: data.total != 1]}"),
        element("thead", element("tr", *heads)),
        element("tbody", *rows),
        class_="columns",
    )
    parts.append(element("div", table, class_="scroll", tabindex="0", role="region",
                         aria_label="Columns"))  # fmt: skip
    if data.total > len(data.columns):
        parts.append(element("p", f"The first {len(data.columns):,} of {data.total:,} columns.",
                             class_="note"))  # fmt: skip
    return joined(parts)


# -- how good --------------------------------------------------------------------------------------


def _figure(shown: Markup, caption: object, *more: object) -> Markup:
    return element("figure", element("figcaption", caption), shown, *more)


def _classification(quality: Classified) -> list[Markup]:
    figures = [_confusion(quality)] if quality.classes else []
    if quality.roc:
        one = len(quality.roc) == 1
        said = ", ".join(f"{curve.name} {curve.value}" for curve in quality.roc)
        chart = line_chart(
            quality.roc, f"ROC: area {said}", "false positives", "true positives",
            x_range=(0, 1), y_range=(0, 1), diagonal=True,
        )  # fmt: skip
        title = f"ROC of {quality.roc[0].name}: area {quality.roc[0].value}" if one else "ROC"
        figures.append(_figure(chart, title, "" if one else _legend(quality.roc, "area")))
    if quality.calibration is not None:
        curve = quality.calibration
        chart = line_chart(
            [curve], f"Calibration of {curve.name}", "predicted probability", "share of the rows",
            x_range=(0, 1), y_range=(0, 1), diagonal=True, points=True,
        )  # fmt: skip
        title = f"Calibration of {curve.name}: Brier score {curve.value}"
        note = "Rows in ten groups by probability, with 95% intervals; on the diagonal what is"
        figures.append(_figure(chart, title, element("p", f"{note} said comes true.",
                                                     class_="note")))  # fmt: skip
    return figures


def _confusion(quality: Classified) -> Markup:
    heads = [element("th", name, scope="col") for name in quality.classes]
    body = []
    for name, counts in zip(quality.classes, quality.confusion, strict=True):
        total = sum(counts)
        cells = [
            element(
                "td",
                f"{count:,}",
                element("small", f"{count / total:.0%}") if total else "",
                class_="hit" if other == name else "miss",
                style=f"--part:{DARKEST * count / total:.0f}%" if total else None,
            )
            for other, count in zip(quality.classes, counts, strict=True)
        ]
        body.append(element("tr", element("th", name, scope="row"), *cells))
    corner = element("th", "is ↓ predicted →", scope="col", class_="corner")
    table = element(
        "table",
        element("thead", element("tr", corner, *heads)),
        element("tbody", *body),
        class_="confusion",
    )
    shown = element("div", table, class_="scroll", tabindex="0", role="region",
                    aria_label="Confusion matrix")  # fmt: skip
    broad = "broad" if len(quality.classes) > BROAD else None
    title = element("figcaption", "Confusion matrix, with shares of each class")
    return element("figure", title, shown, class_=broad)


def _legend(curves: Sequence[Curve], what: str) -> Markup:
    items = [
        element("li", element("span", class_=f"key c{k % 6}", aria_hidden="true"),
                f"{curve.name}: {what} {curve.value}")
        for k, curve in enumerate(curves)
    ]  # fmt: skip
    return element("ul", *items, class_="legend")


def _rules_figure(curve: Curve, level: float) -> Markup:
    known = None if math.isnan(level) else level
    title = f"{curve.name[:1].upper()}{curve.name[1:]} against the number of rules"
    chart = line_chart(
        [curve], f"{title}: {curve.value}", "number of rules", curve.name,
        level=known, stairs=True, percent=known is not None,
    )  # fmt: skip
    dashed = " Dashed: always the most frequent class." if known is not None else ""
    return _figure(chart, title, element("p", f"{curve.about}{dashed}", class_="note"))


def _regression(quality: Regressed) -> list[Markup]:
    name = quality.target
    scatter = point_chart(
        quality.truth, quality.predicted, f"{name}: predicted against true numbers",
        f"true {name}", f"predicted {name}",
    )  # fmt: skip
    counts, edges = np.histogram(quality.errors, bins=min(BINS, 5 + len(quality.errors) // 5))
    errors = bar_chart(counts, edges, "Histogram of the errors", "predicted − true")
    shown = len(quality.truth)
    some = f", {shown:,} of {len(quality.errors):,} rows" if shown < len(quality.errors) else ""
    return [_figure(scatter, f"Predicted and true {name}{some}"), _figure(errors, "Errors")]


# -- why -------------------------------------------------------------------------------------------


def _embedded(reasons: Reasons) -> Markup:
    """The rows as JSON that no entry can end."""
    rows: list[dict[str, Any]] = []
    for row in reasons.rows:
        item: dict[str, Any] = {"n": row.row, "p": row.predicted, "t": row.truth, "s": row.sentence}
        item["ok"] = row.right
        item["e"] = list(row.entries)
        if row.sums:
            item["sums"] = [
                {"c": s.title, "b": s.start, "x": [[k, v] for k, v in s.terms], "v": s.total,
                 "o": list(s.others)}
                for s in row.sums
            ]  # fmt: skip
        if row.steps:
            item["steps"] = [[step.term, step.state, step.why] for step in row.steps]
        rows.append(item)
    whole = {
        "columns": list(reasons.columns), "terms": list(reasons.terms), "what": reasons.what,
        "rows": rows,
    }  # fmt: skip
    text = json.dumps(whole, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return element("script", Markup(text), type="application/json", id="reasons")


# -- data ------------------------------------------------------------------------------------------


def _column_row(column: ColumnSummary, unseen: bool) -> Markup:
    def share(value: float) -> str:
        return "" if math.isnan(value) else "0" if value == 0 else f"{value:.1%}"

    def number(value: int | None) -> str:
        return "" if value is None else f"{value:,}"

    pictured: Markup | str = ""
    if column.counts and not column.values:
        about = f"{column.name}: from {_plain(column.ends[0])} to {_plain(column.ends[1])}"
        cuts = [value for value, _ in column.cuts]
        pictured = spark(column.counts, column.ends, cuts, about) + element(
            "span", element("span", _plain(column.ends[0])), element("span",
            _plain(column.ends[1])), class_="ends"
        )  # fmt: skip
    elif column.values:
        largest = max(column.counts) or 1
        pictured = element("ul", *(
            element("li", element("span", value, class_="value"), element("span", f"{count:,}"),
                    style=f"--part:{100 * count / largest:.0f}%")
            for value, count in zip(column.values, column.counts, strict=True)
        ), class_="values")  # fmt: skip
    cells = [
        element("th", column.name, scope="row"),
        element("td", column.kind),
        element("td", pictured, class_="pictured"),
        element("td", share(column.missing), class_="number"),
        element("td", share(column.unseen), class_="number") if unseen else "",
        element("td", number(column.n_propositions), class_="number"),
        element("td", number(column.n_rules), class_="number"),
        element("td", element("code", ", ".join(t for _, t in column.cuts)), " ", column.known),
    ]
    return element("tr", *cells)


def _plain(number: float) -> str:
    """A number in few characters, with separators of thousands."""
    return f"{number:,.4g}" if abs(number) < 1000 or abs(number) >= 1e9 else f"{number:,.0f}"
