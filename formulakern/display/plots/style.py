"""One look for all pictures: colours, labels that are not cut, axes of a fitting size."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError

from formulakern.arrays import FloatArray
from formulakern.errors import ParameterError
from formulakern.optional import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "COLOURS",
    "DIVERGING",
    "SEQUENTIAL",
    "axes_for",
    "bar_chart",
    "colour_of",
    "colour_scale",
    "escaped",
    "fitted",
    "foreground",
    "ink_on",
    "marker_of",
    "name_points",
    "picture",
    "rule_axes",
    "spread",
    "tidy",
    "wrapped",
]

#: Their contrast with white and with #111111 is 3:1 at least.  No two look alike to eyes without
#: red or green cones; markers tell them apart too.
COLOURS = ("#2a7fbf", "#d5620f", "#00785a", "#8a4bd6", "#9c9440")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
#: Colour maps: from none to all, and from negative to positive.
SEQUENTIAL, DIVERGING = "cividis", "RdBu_r"

#: Inches of a new figure; the share of it that rules may take; the most lines of a rule.
WIDTH, SHARE, LINES = 6.4, 0.46, 3
#: Width of a character and height of a line of small text, in parts of its size.
CHARACTER, LINE = 0.56, 1.22
#: Points.
SMALL = 8.5
#: A rule is broken after these.
CONNECTIVES = ("&", "|", "^", "->")

#: What the docstrings of all pictures have in common.
SHARED = """\
ax : matplotlib.axes.Axes, optional
        A new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    NotFittedError
        If the model was not fitted.
    MissingDependencyError
        If matplotlib is not installed."""
F = TypeVar("F", bound=Callable[..., Any])


def picture(draw: F) -> F:
    """Complete the docstring of a picture."""
    draw.__doc__ = (draw.__doc__ or "").replace("{shared}", SHARED)
    return draw


def fitted(model: Any, name: str, expected: str) -> Any:
    """An attribute of a fitted model, or the value itself where it is no model."""
    if hasattr(model, name):
        return getattr(model, name)
    if not hasattr(model, "fit"):
        return model
    kind = type(model).__name__
    if not any(key.endswith("_") and not key.startswith("_") for key in vars(model)):
        raise NotFittedError(f"this {kind} is not fitted; call fit(X, y) before it is drawn.")
    advice = " Pass model.rules()." if name == "rules_" and hasattr(model, "rules") else ""
    raise ParameterError(f"{kind} has no {name}; expected {expected}.{advice}")


def axes_for(ax: Any, width: float = WIDTH, height: float = 3.8) -> Axes:
    """The given axes, or those of a new figure of this size, in inches."""
    if ax is None:
        return new_axes(width, height)
    if not hasattr(ax, "get_xlim") or not hasattr(ax, "figure"):
        raise ParameterError(
            f"ax is {type(ax).__name__}; expected axes of matplotlib, such as "
            "matplotlib.pyplot.figure().subplots()."
        )
    axes: Axes = ax
    return axes


def tidy(ax: Axes, grid: Literal["", "x", "y", "both"] = "") -> Axes:
    """Axes without a frame above and on the right, with a faint grid along "x", "y" or "both"."""
    ax.spines[["top", "right"]].set_visible(False)
    if grid:
        ax.grid(axis=grid, alpha=0.25, linewidth=0.7)
        ax.set_axisbelow(True)
    return ax


def colour_of(number: int) -> str:
    """The colour of a class or a line, by its number; colours repeat.

    >>> colour_of(0), colour_of(5) == colour_of(0)
    ('#2a7fbf', True)
    """
    return COLOURS[number % len(COLOURS)]


def marker_of(number: int) -> str:
    """The marker of it; colours and markers together repeat after 35."""
    return MARKERS[number % len(MARKERS)]


def foreground(ax: Axes) -> Any:
    """The colour of the text on these axes: dark on a light ground, light on a dark one."""
    return ax.xaxis.label.get_color()


def ink_on(colour: ArrayLike) -> str:
    """Black or white, whichever is legible on a colour of red, green, blue from 0 to 1.

    >>> ink_on((1.0, 1.0, 0.6)), ink_on((0.0, 0.1, 0.3))
    ('black', 'white')
    """
    parts = np.asarray(colour, dtype=np.float64)[:3]
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return "black" if linear @ [0.2126, 0.7152, 0.0722] > 0.179 else "white"


def escaped(text: object) -> str:
    """A text in which matplotlib finds no formula of TeX.

    >>> print(escaped("price in $"))
    price in \\$
    """
    return str(text).replace("$", r"\$")


def wrapped(text: str, characters: int, lines: int = LINES) -> str:
    """A rule on a few lines, broken after connectives where that is possible; the rest is "…".

    >>> print(wrapped("age >= 30 & job = student & balance <= 1500", 26))
    age >= 30 & job = student &
    balance <= 1500
    >>> print(wrapped("age >= 30 & job = student & balance <= 1500", 12, lines=2))
    age >= 30 &
    job = …
    """
    pieces = [""]
    for word in text.split(" "):
        pieces[-1] += word
        pieces[-1] += " " if word not in CONNECTIVES else ""
        if word in CONNECTIVES:
            pieces.append("")
    pieces = [piece.strip() for piece in pieces]
    whole = (p.replace(" ", "\0") if len(p) <= characters + 2 else p for p in pieces)
    found = textwrap.wrap(
        " ".join(whole), characters + 2, max_lines=lines, placeholder=" …", break_on_hyphens=False
    )
    return "\n".join(found).replace("\0", " ")


def rule_axes(ax: Any, texts: Sequence[str]) -> Axes:
    """Axes with a row for each text, the first on top."""
    high = SMALL * LINE / 72
    whole, tall = WIDTH, np.inf
    if ax is not None:
        place, figure = axes_for(ax).get_position(), ax.figure
        whole, tall = place.width * figure.get_figwidth(), place.height * figure.get_figheight()
    characters = max(14, int(whole * SHARE * 72 / (SMALL * CHARACTER)))
    lines = int(np.clip(tall / max(1, len(texts)) / high, 1, LINES))
    labels = [wrapped(text, characters, lines) for text in texts]
    rows = sum(max(1.5, label.count("\n") + 1.5) for label in labels) * high
    axes = axes_for(ax, WIDTH, max(1.6, 1.0 + rows))
    axes.set_yticks(range(len(labels)), [escaped(label) for label in labels], fontsize=SMALL)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    return axes


def bar_chart(
    ax: Any,
    texts: Sequence[str],
    lengths: FloatArray,
    colours: Any,
    written: Sequence[str],
    starts: FloatArray | float = 0.0,
) -> Axes:
    """Horizontal bars next to texts, the first on top, with the last bar's number at each end.

    With more bars than texts, bar k is that of text k modulo their number.
    """
    ax = rule_axes(ax, texts)
    starts = np.zeros(len(lengths)) + starts
    ends, n = starts + lengths, len(texts)
    ax.barh(np.arange(len(ends)) % n, lengths, 0.62, starts, color=colours)
    ax.axvline(0, color=foreground(ax), linewidth=0.8, alpha=0.7, zorder=0.9)
    right = lengths[-n:] >= 0
    for place, (end, forward, text) in enumerate(zip(ends[-n:], right, written, strict=True)):
        ax.annotate(
            text,
            (end, place),
            (3 if forward else -3, 0),
            textcoords="offset points",
            ha="left" if forward else "right",
            va="center",
            fontsize=SMALL - 1,
        )
    low, high = min(0.0, *ends, *starts), max(0.0, *ends, *starts)
    room = 0.16 * ((high - low) or 1.0)
    beyond = ends[-n:] + np.where(right, room, -room)
    ax.set_xlim(min(low, *beyond), max(high, *beyond))
    return tidy(ax, "x")


def colour_scale(image: Any, label: str) -> Any:
    """Add a scale of colours next to an image."""
    ax = image.axes
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.05, pad=0.03)
    bar.set_label(label, fontsize=SMALL + 1)
    bar.ax.tick_params(labelsize=SMALL)
    bar.outline.set_visible(False)
    return bar


def name_points(
    ax: Any, x: FloatArray, y: FloatArray, texts: Sequence[str], colours: Sequence[str]
) -> None:
    """Write texts on the right of the axes, with a line from each to its point.

    No text covers another; they have two lines at most.  Limits of the axes stay as they are.
    """
    if not len(texts):
        return
    figure = ax.figure
    place = ax.get_position()
    height = place.height * figure.get_figheight() * 72
    characters = max(14, int(place.width * figure.get_figwidth() * 0.36 * 72 / (SMALL * CHARACTER)))
    labels = [wrapped(text, characters, 2) for text in texts]
    display = ax.transData.transform(np.column_stack([x, y]))
    shares = ax.transAxes.inverted().transform(display)[:, 1]
    rows = 1 + max(label.count("\n") for label in labels)
    gap = (rows + 0.35) * LINE * SMALL / height
    places = spread(shares, gap)
    shift = max(0.0, places.max() - 1.0) or min(0.0, places.min())
    for text, colour, px, py, share in zip(labels, colours, x, y, places - shift, strict=True):
        ax.annotate(
            escaped(text),
            (px, py),
            (1.03, share),
            textcoords="axes fraction",
            va="center",
            fontsize=SMALL,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-", "color": colour, "alpha": 0.7, "linewidth": 0.9,
                "shrinkA": 1, "shrinkB": 4, "relpos": (0.0, 0.5),
            },
        )  # fmt: skip


def spread(places: FloatArray, gap: float) -> FloatArray:
    """The nearest places, by squares, in the same order, that are at least ``gap`` apart.

    >>> spread(np.array([0.5, 0.5, 0.9]), 0.2).round(3)
    array([0.4, 0.6, 0.9])
    """
    from scipy.optimize import isotonic_regression

    order = np.argsort(places, kind="stable")
    steps = gap * np.arange(len(places))
    found = np.empty(len(places))
    found[order] = isotonic_regression(places[order] - steps).x + steps
    return found
