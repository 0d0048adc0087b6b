"""Pictures of a report as shapes of SVG: lines in a square, points, histograms."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.display.report.values import Curve

__all__ = ["Picture", "histogram", "line_chart", "point_chart", "spark", "ticks"]

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
