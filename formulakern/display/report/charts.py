"""Pictures of a report as SVG: lines in a square, points, a histogram."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.display.report.values import Curve
from formulakern.markup import Markup, element

__all__ = ["bar_chart", "line_chart", "point_chart", "spark", "ticks"]

#: Size of a picture, and its margins: left, right, top, bottom.
WIDTH, HEIGHT = 340, 260
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 10, 38


def ticks(low: float, high: float, number: int = 5) -> list[float]:
    """Round numbers from ``low`` to ``high``, about so many.

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


def line_chart(
    curves: Sequence[Curve],
    label: str,
    xlabel: str,
    ylabel: str,
    *,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    diagonal: bool = False,
    level: float | None = None,
    stairs: bool = False,
    points: bool = False,
    percent: bool = False,
) -> Markup:
    """Lines, with a diagonal or a level to compare with.

    Parameters
    ----------
    curves : sequence of Curve
    label : str
        What the picture says, for those who do not see it.
    xlabel, ylabel : str
    x_range, y_range : (float, float), optional
        All points by default.
    diagonal : bool
    level : float, optional
        A horizontal line.
    stairs, points : bool
        Whether y stays until the next x, and whether points are marked.
    percent : bool
        Whether y is written in percent.
    """
    every_y = [curve.y for curve in curves] + ([np.array([level])] if level is not None else [])
    x_range = x_range or _range(np.concatenate([curve.x for curve in curves]))
    y_range = y_range or _range(np.concatenate(every_y), 0.08)
    place = _Places(x_range, y_range)
    parts = [place.axes(xlabel, ylabel, percent)]
    if diagonal:
        parts.append(place.line(x_range, y_range, "compare"))
    if level is not None:
        parts.append(place.line(x_range, (level, level), "compare"))
    for number, curve in enumerate(curves):
        x, y = curve.x, curve.y
        if stairs:
            x, y = np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]
        parts.append(place.path(x, y, f"curve c{number % 6}"))
        if curve.bars is not None:
            for at, low, high in zip(curve.x, *curve.bars, strict=True):
                parts.append(place.line((at, at), (low, high), f"whisker c{number % 6}"))
        if points:
            parts += [place.dot(a, b, 3, f"dot c{number % 6}") for a, b in _pairs(curve.x, curve.y)]
    return _picture(parts, label)


def point_chart(x: FloatArray, y: FloatArray, label: str, xlabel: str, ylabel: str) -> Markup:
    """Points, with the diagonal on which x and y are equal."""
    ends = _range(np.concatenate([x, y]), 0.03)
    place = _Places(ends, ends)
    parts = [place.axes(xlabel, ylabel, False), place.line(ends, ends, "compare")]
    parts += [place.dot(a, b, 2.2, "dot faint c0") for a, b in _pairs(x, y)]
    return _picture(parts, label)


def bar_chart(counts: FloatArray, edges: FloatArray, label: str, xlabel: str) -> Markup:
    """A histogram."""
    place = _Places((float(edges[0]), float(edges[-1])), (0.0, float(counts.max()) * 1.05 or 1.0))
    bars = [
        place.box(left, right, count, "column c0")
        for left, right, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    zero = [place.line((0.0, 0.0), place.y, "compare")] if edges[0] < 0 < edges[-1] else []
    return _picture([place.axes(xlabel, "rows", False), *bars, *zero], label)


def spark(
    counts: Sequence[int], ends: tuple[float, float], cuts: Sequence[float], label: str
) -> Markup:
    """A histogram the height of two lines, with marks at cut points.

    Parameters
    ----------
    counts : sequence of int
    ends : (float, float)
        Of the bins.
    cuts : sequence of float
    label : str
    """
    width, height = 150.0, 30.0
    largest = max(counts, default=0) or 1
    step = width / max(len(counts), 1)
    bars = [
        element(
            "rect", class_="column c0",
            x=f"{k * step + 0.5:.1f}", y=f"{height * (1 - n / largest):.1f}",
            width=f"{max(step - 1, 0.5):.1f}", height=f"{height * n / largest:.1f}",
        )
        for k, n in enumerate(counts)
    ]  # fmt: skip
    span = ends[1] - ends[0]
    marks = []
    for cut in cuts:
        if span > 0 and ends[0] <= cut <= ends[1]:
            at = f"{width * (cut - ends[0]) / span:.1f}"
            marks.append(element("line", class_="cut", x1=at, x2=at, y1="0", y2=f"{height:g}"))
    view = f"0 0 {width:g} {height:g}"
    return element(
        "svg", *bars, *marks, viewBox=view, class_="spark", role="img", aria_label=label,
        preserveAspectRatio="none",
    )  # fmt: skip


class _Places:
    """Where numbers stand in a picture."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float]) -> None:
        self.x = x if x[1] > x[0] else (x[0] - 0.5, x[0] + 0.5)
        self.y = y if y[1] > y[0] else (y[0] - 0.5, y[0] + 0.5)

    def at(self, x: float, y: float) -> tuple[str, str]:
        across = LEFT + (WIDTH - LEFT - RIGHT) * (x - self.x[0]) / (self.x[1] - self.x[0])
        up = HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (y - self.y[0]) / (self.y[1] - self.y[0])
        return f"{across:.1f}", f"{up:.1f}"

    def line(self, x: tuple[float, float], y: tuple[float, float], kind: str) -> Markup:
        (x1, y1), (x2, y2) = self.at(x[0], y[0]), self.at(x[1], y[1])
        return element("line", class_=kind, x1=x1, y1=y1, x2=x2, y2=y2)

    def path(self, x: FloatArray, y: FloatArray, kind: str) -> Markup:
        points = [" ".join(self.at(a, b)) for a, b in _pairs(x, y)]
        return element("path", class_=kind, d="M" + "L".join(points)) if points else Markup()

    def dot(self, x: float, y: float, size: float, kind: str) -> Markup:
        cx, cy = self.at(x, y)
        return element("circle", class_=kind, cx=cx, cy=cy, r=f"{size:g}")

    def box(self, left: float, right: float, count: float, kind: str) -> Markup:
        (x1, y1), (x2, y2) = self.at(left, count), self.at(right, self.y[0])
        width, height = float(x2) - float(x1) - 0.8, float(y2) - float(y1)
        return element(
            "rect", class_=kind, x=x1, y=y1, width=f"{max(width, 0.4):.1f}", height=f"{height:.1f}"
        )

    def axes(self, xlabel: str, ylabel: str, percent: bool) -> Markup:
        parts = []
        for tick in ticks(*self.x):
            x, y = self.at(tick, self.y[0])
            parts.append(element("text", f"{tick:g}", class_="tick middle", x=x, y=float(y) + 15))
        for tick in ticks(*self.y):
            parts.append(self.line(self.x, (tick, tick), "grid"))
            x, y = self.at(self.x[0], tick)
            said = f"{100 * tick:g}%" if percent else f"{tick:g}"
            where = {"x": f"{float(x) - 6:.1f}", "y": f"{float(y) + 3.5:.1f}"}
            parts.append(element("text", said, class_="tick end", **where))
        parts.append(self.line(self.x, (self.y[0], self.y[0]), "axis"))
        middle = (LEFT + WIDTH - RIGHT) / 2
        parts.append(element("text", xlabel, class_="name middle", x=middle, y=HEIGHT - 6))
        half = (TOP + HEIGHT - BOTTOM) / 2
        turned = {"x": -half, "y": 10, "transform": "rotate(-90)"}
        parts.append(element("text", ylabel, class_="name middle", **turned))
        return Markup("".join(parts))


def _picture(parts: Sequence[Markup], label: str) -> Markup:
    view = f"0 0 {WIDTH} {HEIGHT}"
    return element("svg", *parts, viewBox=view, class_="chart", role="img", aria_label=label)


def _pairs(x: FloatArray, y: FloatArray) -> list[tuple[float, float]]:
    both = np.column_stack([x, y])
    return [(float(a), float(b)) for a, b in both[np.isfinite(both).all(axis=1)]]


def _range(values: FloatArray, room: float = 0.0) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    if not len(known):
        return (0.0, 1.0)
    low, high = float(known.min()), float(known.max())
    more = room * (high - low)
    return low - more, high + more
