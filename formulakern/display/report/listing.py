"""Tables of a report: sorted by a click on a heading, with bars behind shares and weights."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from formulakern.display.report.values import ListedColumn, ListedTable
from formulakern.markup import Markup, element, joined
from formulakern.text import significant

__all__ = ["listing", "rule_text"]

#: Connectives and relations of a rule, which stand back behind what they join.
SIGNS = re.compile(r"(?<= )(&|\||\^|->|<->|<=|>=|!=|<|>|=|is not missing|is missing)(?= |$)|~")
#: Text that ``rule_text`` looks at; longer rules are text as they are.
LONGEST = 2000


def listing(table: ListedTable, name: str) -> Markup:
    """A table as HTML.

    Parameters
    ----------
    table : ListedTable
    name : str
        An identifier that no other table of the page has.
    """
    cells = [list(_cells(column)) for column in table.columns]
    heads = [
        element(
            "th",
            element("button", column.title, element("span", aria_hidden="true"), type="button"),
            scope="col",
            class_="number" if column.kind in ("number", "share", "signed") else column.kind,
            aria_sort="none",
            title=column.help or None,
        )
        for column in table.columns
    ]
    rows = [element("tr", *row) for row in zip(*cells, strict=True)]
    shown = element(
        "table",
        element("caption", table.caption),
        element("thead", element("tr", *heads)),
        element("tbody", *rows),
        class_="listing wide" if any(c.kind == "rule" for c in table.columns) else "listing",
        id=name,
    )
    parts: list[object] = []
    if table.filtered:
        find = element(
            "input", type="search", id=f"{name}-find", aria_controls=name, autocomplete="off"
        )
        said = element("span", role="status", class_="found")
        label = element("label", "Search ", for_=f"{name}-find")
        parts.append(element("p", label, find, " ", said, class_="find controls"))
    parts.append(element("div", shown, class_="scroll", tabindex="0", role="region",
                         aria_label=table.caption))  # fmt: skip
    if table.total is not None and table.total > len(table):
        parts.append(element("p", f"The first {len(table):,} of {table.total:,}.", class_="note"))
    if table.note:
        parts.append(element("p", table.note, class_="note"))
    return joined(parts)


def rule_text(text: str) -> Markup:
    """A rule, with its connectives and relations set back.

    >>> rule_text("odor = foul & size >= 3")[:43]
    'odor <i>=</i> foul <b>&amp;</b> size <i>&gt'
    """
    if len(text) > LONGEST:
        return joined([text])
    parts: list[object] = []
    pieces = text.split("`")
    for number, outside in enumerate(pieces):
        if number % 2:  # a quoted name
            parts.append(f"`{outside}" + "`" * (number + 1 < len(pieces)))
            continue
        before = 0
        for match in SIGNS.finditer(outside):
            parts.append(outside[before : match.start()])
            tag = "b" if match[0] in ("&", "|", "^", "->", "<->", "~") else "i"
            parts.append(element(tag, match[0]))
            before = match.end()
        parts.append(outside[before:])
    return joined(parts)


def _cells(column: ListedColumn) -> Iterator[Markup]:
    kind = column.kind
    if kind in ("text", "rule"):
        for value in column.values:
            inside = element("code", rule_text(str(value))) if kind == "rule" else value
            yield element("td", inside, class_=kind, data_value=str(value))
        return
    numbers = [float(value) for value in column.values]
    texts = column.texts or _written(numbers, kind)
    largest = max((abs(x) for x in numbers if math.isfinite(x)), default=0.0) or 1.0
    marks = column.marks or [math.nan] * len(numbers)
    for number, text, mark in zip(numbers, texts, marks, strict=True):
        bar: Markup | str = ""
        if math.isfinite(number) and kind == "share":
            bar = _bar(0.0, min(max(number, 0.0), 1.0), "share", mark)
        elif math.isfinite(number) and kind == "signed":
            both = any(x < 0 for x in numbers)
            ends = (0.0, number / largest)
            if both:
                ends = (0.5, 0.5 + number / largest / 2)
            sign = "minus" if number < 0 else "plus"
            bar = _bar(min(ends), max(ends), sign, 0.5 if both else math.nan)
        value = repr(number) if math.isfinite(number) else ""
        text_ = element("span", text, class_="figure")
        yield element("td", text_, bar, class_=f"number {kind}", data_value=value)


def _written(numbers: Sequence[float], kind: str) -> list[str]:
    if kind == "share":
        return ["" if math.isnan(x) else f"{x:.1%}" for x in numbers]
    known = iter(significant([x for x in numbers if math.isfinite(x)]))
    texts = [next(known) if math.isfinite(x) else "" for x in numbers]
    if kind == "number" and all(x == int(x) for x in numbers if math.isfinite(x)):
        texts = [f"{int(x):,}" if math.isfinite(x) else "" for x in numbers]
    return [text.replace("-", "\N{MINUS SIGN}", 1) if text[:1] == "-" else text for text in texts]


def _bar(start: float, end: float, kind: str, mark: float) -> Markup:
    fill = element(
        "span", style=f"left:{100 * start:.1f}%;width:{100 * (end - start):.1f}%", class_=kind
    )
    line = "" if math.isnan(mark) else element("span", style=f"left:{100 * mark:.1f}%",
                                               class_="mark")  # fmt: skip
    return element("span", fill, line, class_="bar", aria_hidden="true")
