"""A report of a model as one page: its values, and its charts as shapes of SVG."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.markup import rendered
from formulakern.text import significant

__all__ = [
    "Classified",
    "ColumnSummary",
    "Curve",
    "DataSummary",
    "Learned",
    "ListedColumn",
    "ListedTable",
    "Reason",
    "Reasons",
    "Regressed",
    "Report",
    "ScoreSum",
    "Step",
    "page",
    "rule_parts",
    "ticks",
]


@dataclass(frozen=True)
class ListedColumn:
    """A column of a sorted table.

    Numbers that are not known are nan; a share has a bar from 0 to 1 with ``marks`` in it, a signed
    number has a bar on either side of 0.
    """

    title: str
    values: Sequence[Any]
    kind: Literal["text", "rule", "number", "share", "signed"] = "text"
    texts: Sequence[str] | None = None
    marks: Sequence[float] | None = None
    help: str = ""

    @property
    def is_number(self) -> bool:
        """Whether the column is sorted by numbers."""
        return self.kind in ("number", "share", "signed")


@dataclass(frozen=True)
class ListedTable:
    """A sorted table of columns of one length.

    ``total`` is the number of rows before some were left out; a ``filtered`` table has a field to
    search in it; ``note`` is a sentence below.
    """

    caption: str
    columns: Sequence[ListedColumn]
    total: int | None = None
    filtered: bool = False
    note: str = ""

    def __len__(self) -> int:
        return len(self.columns[0].values) if self.columns else 0


@dataclass(frozen=True)
class Learned:
    """Sentences, tables, and preformatted texts with their titles, of what was learned."""

    sentences: Sequence[str] = ()
    tables: Sequence[ListedTable] = ()
    texts: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Curve:
    """A line through points x, y.

    ``value`` is a figure next to the name, ``bars`` are intervals of y of shape (2, points), and
    ``about`` is a sentence below.
    """

    name: str
    x: FloatArray
    y: FloatArray
    value: str = ""
    bars: FloatArray | None = None
    about: str = ""


@dataclass(frozen=True)
class Classified:
    """The quality of predicted classes."""

    classes: Sequence[str]
    confusion: Sequence[Sequence[int]]
    roc: Sequence[Curve] = ()
    calibration: Curve | None = None
    rules: Curve | None = None
    majority: float = math.nan
    missing: Sequence[str] = ()


@dataclass(frozen=True)
class Regressed:
    """The quality of predicted numbers.

    ``truth`` and ``predicted`` are of some rows, ``errors`` (predicted − true) of all; ``rules`` is
    R² against the number of rules.
    """

    truth: FloatArray
    predicted: FloatArray
    errors: FloatArray
    rules: Curve | None = None
    target: str = "y"
    missing: Sequence[str] = ()


@dataclass(frozen=True)
class ScoreSum:
    """A score as a sum: ``start + Σ amounts = total``.

    ``terms`` are numbers of texts of :class:`Reasons` with their amounts, the largest first;
    ``others`` is the number of further terms, and their sum.
    """

    title: str
    start: float
    terms: Sequence[tuple[int, float]]
    total: float
    others: tuple[int, float] = (0, 0.0)


@dataclass(frozen=True)
class Step:
    """A rule that was asked about a row: the number of its text, its answer, and why."""

    term: int
    state: Literal["decides", "false"]
    why: str = ""


@dataclass(frozen=True)
class Reason:
    """The reasons of one prediction, for a row that is counted from 1.

    ``right`` is None for numbers, and if the truth is not known.
    """

    row: int
    predicted: str
    truth: str
    right: bool | None
    sentence: str
    entries: Sequence[str]
    sums: Sequence[ScoreSum] = ()
    steps: Sequence[Step] = ()


@dataclass(frozen=True)
class Reasons:
    """The reasons of the first of ``total`` predictions.

    ``columns`` are those of the table, ``terms`` the texts of rules or other terms, ``what`` is the
    name of a term, and ``sentence`` explains how to read sums or steps.
    """

    columns: Sequence[str]
    terms: Sequence[str]
    rows: Sequence[Reason]
    total: int
    what: str = "rule"
    sentence: str = ""


@dataclass(frozen=True)
class ColumnSummary:
    """A column of the rows that were given.

    ``cuts`` are cut points and their texts; ``missing`` and ``unseen`` are shares of the entries;
    ``counts`` are rows in bins of equal width between ``ends``, or with each of ``values``.
    """

    name: str
    kind: str
    n_propositions: int | None
    n_rules: int | None
    cuts: Sequence[tuple[float, str]] = ()
    missing: float = 0.0
    unseen: float = math.nan
    counts: Sequence[int] = ()
    ends: tuple[float, float] = (math.nan, math.nan)
    values: Sequence[str] = ()
    known: str = ""


@dataclass(frozen=True)
class DataSummary:
    """The first of ``total`` columns, with sentences and a table of the target."""

    sentences: Sequence[str]
    columns: Sequence[ColumnSummary]
    total: int
    target: ListedTable | None = None

    @property
    def knows_unseen(self) -> bool:
        """Whether a column has a share of unseen values."""
        return any(not math.isnan(column.unseen) for column in self.columns)


@dataclass(frozen=True)
class Report:
    """All that a report shows.

    ``tiles`` are figures (name, value, note); a str for ``quality`` or ``data`` is the reason why
    the part is absent.
    """

    title: str
    subtitle: str
    tiles: Sequence[tuple[str, str, str]]
    learned: Learned
    quality: Classified | Regressed | str
    reasons: Reasons
    data: DataSummary | str
    parameters: str
    made_by: str


#: Size of a chart, and its margins: left, right, top, bottom.
WIDTH, HEIGHT = 340, 260
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 10, 38
Range = tuple[float, float]


@dataclass
class Picture:
    """An SVG element as its shapes."""

    label: str
    shapes: list[tuple[str, dict[str, object], str | None]] = field(default_factory=list)
    width: int = WIDTH
    height: int = HEIGHT
    kind: str = "chart"

    def add(self, tag: str, kind: str, text: str | None = None, **attributes: object) -> None:
        """Add a shape of a class; numbers are written with at most one digit."""
        written = {
            name: f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value
            for name, value in attributes.items()
        }
        self.shapes.append((tag, {"class": kind, **written}, text))


class _Chart(Picture):
    """A picture with two axes, on which numbers have places."""

    def __init__(
        self, label: str, names: tuple[str, str], x: Range, y: Range, *, percent: bool = False
    ) -> None:
        super().__init__(label)
        self.x, self.y = (r if r[1] > r[0] else (r[0] - 0.5, r[0] + 0.5) for r in (x, y))
        bottom, left = self.at(self.x[0], self.y[0])[1], self.at(self.x[0], self.y[0])[0]
        for tick in ticks(*self.x):
            at = self.at(tick, self.y[0])[0]
            self.add("text", "tick middle", f"{tick:g}", x=at, y=bottom + 15)
        for tick in ticks(*self.y):
            self.line(self.x, (tick, tick), "grid")
            text = f"{100 * tick:g}%" if percent else f"{tick:g}"
            at = self.at(self.x[0], tick)[1]
            self.add("text", "tick end", text, x=left - 6, y=at + 3.5)
        self.line(self.x, (self.y[0], self.y[0]), "axis")
        middle, half = (LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2
        self.add("text", "name middle", names[0], x=middle, y=HEIGHT - 6)
        self.add("text", "name middle", names[1], x=-half, y=10, transform="rotate(-90)")

    def at(self, x: float, y: float) -> tuple[float, float]:
        across = LEFT + (WIDTH - LEFT - RIGHT) * (x - self.x[0]) / (self.x[1] - self.x[0])
        up = HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (y - self.y[0]) / (self.y[1] - self.y[0])
        return across, up

    def line(self, x: Range, y: Range, kind: str) -> None:
        (x1, y1), (x2, y2) = self.at(x[0], y[0]), self.at(x[1], y[1])
        self.add("line", kind, x1=x1, y1=y1, x2=x2, y2=y2)

    def path(self, x: FloatArray, y: FloatArray, kind: str) -> None:
        points = [self.at(a, b) for a, b in _points(x, y)]
        if points:
            self.add("path", kind, d="M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in points))

    def dots(self, x: FloatArray, y: FloatArray, size: float, kind: str) -> None:
        for a, b in _points(x, y):
            cx, cy = self.at(a, b)
            self.add("circle", kind, cx=cx, cy=cy, r=size)


def line_chart(
    curves: Sequence[Curve],
    label: str,
    names: tuple[str, str],
    *,
    x_range: Range | None = None,
    y_range: Range | None = None,
    diagonal: bool = False,
    level: float | None = None,
    stairs: bool = False,
    points: bool = False,
) -> Picture:
    """Draw lines, with a diagonal or a level to compare with."""
    levels = [] if level is None else [np.array([level])]
    x_range = x_range or _range(np.concatenate([curve.x for curve in curves]))
    y_range = y_range or _range(np.concatenate([*(curve.y for curve in curves), *levels]), 0.08)
    chart = _Chart(label, names, x_range, y_range, percent=level is not None)
    if diagonal:
        chart.line(x_range, y_range, "compare")
    if level is not None:
        chart.line(x_range, (level, level), "compare")
    for number, curve in enumerate(curves):
        colour = f"c{number % 6}"
        x, y = curve.x, curve.y
        if stairs:
            x, y = np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]
        chart.path(x, y, f"curve {colour}")
        if curve.bars is not None:
            for at, low, high in zip(curve.x, *curve.bars, strict=True):
                chart.line((at, at), (low, high), f"whisker {colour}")
        if points:
            chart.dots(curve.x, curve.y, 3.0, f"dot {colour}")
    return chart


def point_chart(x: FloatArray, y: FloatArray, label: str, names: tuple[str, str]) -> Picture:
    """Draw points, with the diagonal on which x and y are equal."""
    ends = _range(np.concatenate([x, y]), 0.03)
    chart = _Chart(label, names, ends, ends)
    chart.line(ends, ends, "compare")
    chart.dots(x, y, 2.2, "dot faint c0")
    return chart


def histogram(values: FloatArray, label: str, name: str, max_bins: int = 30) -> Picture:
    """Draw how many values are in bins of equal width."""
    counts, edges = np.histogram(values, bins=min(max_bins, 5 + len(values) // 5))
    top = float(counts.max()) * 1.05 or 1.0
    chart = _Chart(label, (name, "rows"), (float(edges[0]), float(edges[-1])), (0.0, top))
    for left, right, count in zip(edges[:-1], edges[1:], counts, strict=True):
        (x1, y1), (x2, y2) = chart.at(left, count), chart.at(right, 0.0)
        width = max(x2 - x1 - 0.8, 0.4)
        chart.add("rect", "column c0", x=x1, y=y1, width=width, height=y2 - y1)
    if edges[0] < 0 < edges[-1]:
        chart.line((0.0, 0.0), chart.y, "compare")
    return chart


def spark(counts: Sequence[int], ends: Range, cuts: Sequence[float], label: str) -> Picture:
    """Draw a histogram as high as two lines of text, with marks at cut points."""
    picture = Picture(label, width=150, height=30, kind="spark")
    largest, step, span = max(counts) or 1, 150 / len(counts), ends[1] - ends[0]
    for k, count in enumerate(counts):
        height = 30 * count / largest
        width = max(step - 1, 0.5)
        picture.add("rect", "column c0", x=k * step + 0.5, y=30 - height, width=width,
                    height=height)  # fmt: skip
    for cut in cuts:
        if span > 0 and ends[0] <= cut <= ends[1]:
            at = 150 * (cut - ends[0]) / span
            picture.add("line", "cut", x1=at, x2=at, y1=0, y2=30)
    return picture


def ticks(low: float, high: float, number: int = 5) -> list[float]:
    """Return about ``number`` round numbers from ``low`` to ``high``.

    >>> ticks(0, 1), ticks(0, 43), ticks(2, 2)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 10.0, 20.0, 30.0, 40.0], [2.0])
    """
    span = high - low
    if not (math.isfinite(span) and span > 0):
        return [float(low)]
    rough = span / number
    unit = 10.0 ** math.floor(math.log10(rough))
    step = min((m * unit for m in (1, 2, 5, 10)), key=lambda m: abs(m - rough))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return list(dict.fromkeys(float(f"{k * step:.12g}") for k in range(first, last + 1)))


def _points(x: FloatArray, y: FloatArray) -> Iterator[tuple[float, float]]:
    both = np.column_stack([x, y])
    return ((float(a), float(b)) for a, b in both[np.isfinite(both).all(axis=1)])


def _range(values: FloatArray, room: float = 0.0) -> Range:
    known = values[np.isfinite(values)]
    if not len(known):
        return (0.0, 1.0)
    low, high = float(known.min()), float(known.max())
    return low - room * (high - low), high + room * (high - low)


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
