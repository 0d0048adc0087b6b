"""Pictures of rules, kernels, fits and settings in a common style."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError

from formulakern.arrays import FloatArray
from formulakern.checks import check_choice, check_integer
from formulakern.docstrings import parameters_from
from formulakern.errors import DataError, ParameterError
from formulakern.optional import new_axes
from formulakern.rules.class_rules import RuleList
from formulakern.rules.decision import DecisionRules
from formulakern.rules.export.tables import term_text
from formulakern.rules.quality import rule_quality
from formulakern.rules.rule import Rule
from formulakern.rules.voting import VotingRules
from formulakern.text import clip, significant

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Colours with a contrast of at least 3:1 to white and to #111111.  They are distinct for
#: colour-blind readers, and markers distinguish them too.
COLOURS = ("#2a7fbf", "#d5620f", "#00785a", "#8a4bd6", "#9c9440")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
#: Colour maps: from none to all, and from negative to positive.
SEQUENTIAL, DIVERGING = "cividis", "RdBu_r"

#: Width of a new figure in inches; the share of it for rules; the maximum lines of a rule.
WIDTH, SHARE, LINES = 6.4, 0.46, 3
#: Width of a character and height of a line of small text, in units of the font size.
CHARACTER, LINE = 0.56, 1.22
#: The size of small text in points.
SMALL_FONT_SIZE = 8.5
#: The blanks at which a rule may be split.
AFTER_CONNECTIVE = re.compile(r"(?:(?<= [&|^])|(?<= ->)) ")

#: The shared part of the docstrings of all pictures.
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
    """Insert the shared part into the docstring of a picture."""
    draw.__doc__ = (draw.__doc__ or "").replace("{shared}", SHARED)
    return draw


def fitted(model: Any, name: str, expected: str, fits: Callable[[Any], bool] | None = None) -> Any:
    """Return an attribute of a fitted model, or the argument itself if it is not a model.

    Raise ParameterError if the attribute is missing or does not fit.
    """
    found = getattr(model, name, model)
    if found is model and hasattr(model, "fit"):
        kind = type(model).__name__
        if not any(key.endswith("_") and not key.startswith("_") for key in vars(model)):
            raise NotFittedError(f"this {kind} is not fitted. Call fit(X, y) before drawing it.")
        advice = " Pass model.rules()." if name == "rules_" and hasattr(model, "rules") else ""
        raise ParameterError(f"{kind} has no {name}; expected {expected}.{advice}")
    if fits is not None and not fits(found):
        raise ParameterError(f"this is {type(found).__name__}; expected {expected}.")
    return found


def axes_for(ax: Any, width: float = WIDTH, height: float = 3.8) -> Axes:
    """Return the given axes, or axes of a new figure of this size in inches."""
    if ax is None:
        return new_axes(width, height)
    if not hasattr(ax, "get_xlim") or not hasattr(ax, "figure"):
        raise ParameterError(
            f"ax is {type(ax).__name__}; expected matplotlib axes, such as "
            "matplotlib.pyplot.figure().subplots()."
        )
    axes: Axes = ax
    return axes


def tidy(ax: Axes, grid: Literal["", "x", "y", "both"] = "") -> Axes:
    """Remove the top and right frame, and add a faint grid along "x", "y" or "both"."""
    ax.spines[["top", "right"]].set_visible(False)
    if grid:
        ax.grid(axis=grid, alpha=0.25, linewidth=0.7)
        ax.set_axisbelow(True)
    return ax


def colour_of(number: int) -> str:
    """Return the colour of a class or line by its number; colours repeat.

    >>> colour_of(0), colour_of(5) == colour_of(0)
    ('#2a7fbf', True)
    """
    return COLOURS[number % len(COLOURS)]


def marker_of(number: int) -> str:
    """Return the marker of a class or line; colour and marker together repeat after 35."""
    return MARKERS[number % len(MARKERS)]


def foreground(ax: Axes) -> Any:
    """Return the text colour of the axes: dark on light backgrounds, light on dark ones."""
    return ax.xaxis.label.get_color()


def ink_on(colour: ArrayLike) -> str:
    """Return the colour, black or white, that is legible on an RGB colour (0 to 1).

    >>> ink_on((1.0, 1.0, 0.6)), ink_on((0.0, 0.1, 0.3))
    ('black', 'white')
    """
    parts = np.asarray(colour, dtype=np.float64)[:3]
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return "black" if linear @ [0.2126, 0.7152, 0.0722] > 0.179 else "white"


def escaped(text: object) -> str:
    """Escape dollar signs, which would start a TeX formula in matplotlib.

    >>> print(escaped("price in $"))
    price in \\$
    """
    return str(text).replace("$", r"\$")


def wrapped(text: str, characters: int, lines: int = LINES) -> str:
    """Split a rule into a few lines, after connectives if possible; the rest becomes "…".

    >>> print(wrapped("age >= 30 & job = student & balance <= 1500", 26))
    age >= 30 & job = student &
    balance <= 1500
    >>> print(wrapped("age >= 30 & job = student & balance <= 1500", 12, lines=2))
    age >= 30 &
    job = …
    """
    pieces = AFTER_CONNECTIVE.split(text)
    whole = (p.replace(" ", "\0") if len(p) <= characters + 2 else p for p in pieces)
    found = textwrap.wrap(
        " ".join(whole), characters + 2, max_lines=lines, placeholder=" …", break_on_hyphens=False
    )
    return "\n".join(found).replace("\0", " ")


def rule_axes(ax: Any, texts: Sequence[str]) -> Axes:
    """Return axes with a row for each text, the first one on top."""
    high = SMALL_FONT_SIZE * LINE / 72
    whole, tall = WIDTH, np.inf
    if ax is not None:
        place, figure = axes_for(ax).get_position(), ax.figure
        whole, tall = place.width * figure.get_figwidth(), place.height * figure.get_figheight()
    characters = max(14, int(whole * SHARE * 72 / (SMALL_FONT_SIZE * CHARACTER)))
    lines = int(np.clip(tall / max(1, len(texts)) / high, 1, LINES))
    labels = [wrapped(text, characters, lines) for text in texts]
    rows = sum(max(1.5, label.count("\n") + 1.5) for label in labels) * high
    axes = axes_for(ax, WIDTH, max(1.6, 1.0 + rows))
    axes.set_yticks(
        range(len(labels)), [escaped(label) for label in labels], fontsize=SMALL_FONT_SIZE
    )
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
    """Draw horizontal bars next to texts, the first on top, with a number at each end.

    With more bars than texts, bar k belongs to text k modulo the number of texts.
    """
    ax = rule_axes(ax, texts)
    starts = np.zeros(len(lengths)) + starts
    ends, n = starts + lengths, len(texts)
    ax.barh(np.arange(len(ends)) % n, lengths, 0.62, starts, color=colours)
    ax.axvline(0, color=foreground(ax), linewidth=0.8, alpha=0.7, zorder=0.9)
    right = lengths[-n:] >= 0
    for place, (end, forward, text) in enumerate(zip(ends[-n:], right, written, strict=True)):
        side = "left" if forward else "right"
        note(ax, text, (end, place), (3 if forward else -3, 0), ha=side, va="center")
    low, high = min(0.0, *ends, *starts), max(0.0, *ends, *starts)
    room = 0.16 * ((high - low) or 1.0)
    beyond = ends[-n:] + np.where(right, room, -room)
    ax.set_xlim(min(low, *beyond), max(high, *beyond))
    return tidy(ax, "x")


def note(
    ax: Any, text: str, xy: tuple[float, float], offset: tuple[float, float], **style: Any
) -> None:
    """Write small text next to a point, with an offset in points."""
    ax.annotate(text, xy, offset, textcoords="offset points", fontsize=SMALL_FONT_SIZE - 1, **style)


def heat_map(ax: Any, values: FloatArray, label: str, *, signed: bool, **style: Any) -> Any:
    """Draw a matrix with a colour scale from 0 or, if signed, on both sides of 0."""
    largest = float(np.abs(values).max()) or 1.0
    colours = {"cmap": SEQUENTIAL, "vmin": 0.0, "vmax": largest}
    if signed:
        colours |= {"cmap": DIVERGING, "vmin": -largest}
    image = ax.imshow(values, **colours | style)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    colour_scale(image, label)
    return image


def colour_scale(image: Any, label: str) -> None:
    """Add a colour scale next to an image."""
    ax = image.axes
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.05, pad=0.03)
    bar.set_label(label, fontsize=SMALL_FONT_SIZE + 1)
    bar.ax.tick_params(labelsize=SMALL_FONT_SIZE)
    bar.outline.set_visible(False)


def name_points(
    ax: Any, x: FloatArray, y: FloatArray, texts: Sequence[str], colours: Sequence[str]
) -> None:
    """Write texts to the right of the axes, with a line from each text to its point.

    Texts have at most two lines and do not overlap.  The limits of the axes do not change.
    """
    if not len(texts):
        return
    figure = ax.figure
    place = ax.get_position()
    height = place.height * figure.get_figheight() * 72
    characters = max(
        14, int(place.width * figure.get_figwidth() * 0.36 * 72 / (SMALL_FONT_SIZE * CHARACTER))
    )
    labels = [wrapped(text, characters, 2) for text in texts]
    display = ax.transData.transform(np.column_stack([x, y]))
    shares = ax.transAxes.inverted().transform(display)[:, 1]
    rows = 1 + max(label.count("\n") for label in labels)
    gap = (rows + 0.35) * LINE * SMALL_FONT_SIZE / height
    places = separated(shares, gap)
    shift = max(0.0, places.max() - 1.0) or min(0.0, places.min())
    for text, colour, px, py, share in zip(labels, colours, x, y, places - shift, strict=True):
        ax.annotate(
            escaped(text),
            (px, py),
            (1.03, share),
            textcoords="axes fraction",
            va="center",
            fontsize=SMALL_FONT_SIZE,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-", "color": colour, "alpha": 0.7, "linewidth": 0.9,
                "shrinkA": 1, "shrinkB": 4, "relpos": (0.0, 0.5),
            },
        )  # fmt: skip


def separated(places: FloatArray, gap: float) -> FloatArray:
    """Return the nearest positions (least squares) in the same order, at least ``gap`` apart.

    >>> separated(np.array([0.5, 0.5, 0.9]), 0.2).round(3)
    array([0.4, 0.6, 0.9])
    """
    from scipy.optimize import isotonic_regression

    order = np.argsort(places, kind="stable")
    steps = gap * np.arange(len(places))
    found = np.empty(len(places))
    found[order] = isotonic_regression(places[order] - steps).x + steps
    return found


#: Maximum number of characters of a label.
MAX_LABEL = 48
#: Axis titles of parameters and measures.
TITLES = {
    "mean_score": "mean score on held-out rows",
    "mean_rules": "mean number of rules",
    "mean_length": "mean length of the rules",
    "depth_penalty": "depth penalty",
}
#: The ratio of values above which their scale is logarithmic.
MAX_LINEAR_RATIO = 20.0


@picture
def history(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the progress of an optimisation, from the history of a fitted model.

    For ``PRLClassifier``: the margin that is reached, v_t, and its upper bound, round by round; the
    optimum is in the shaded band between them.  For ``HKLClassifier``: the relative duality gap of
    each problem, on a logarithmic scale.  For ``RuleListClassifier("optimal")``: objective and
    bound against seconds.

    Parameters
    ----------
    model : fitted estimator with ``history_``, or a history
        The estimator whose fit is drawn.
    {shared}
    ParameterError
        If the estimator has no history.

    Examples
    --------
    >>> import formulakern as fk
    >>> X, y = fk.datasets.monks(1)
    >>> model = fk.PRLClassifier().fit(X, y)
    >>> ax = fk.plot.history(model)
    >>> bool((ax.get_lines()[0].get_ydata() == model.history_.values("value")).all())
    True
    """
    steps = fitted(
        getattr(model, "best_estimator_", model),
        "history_",
        "an estimator with history_, such as PRLClassifier or HKLClassifier",
        lambda steps: hasattr(steps, "steps") and hasattr(steps, "plot"),
    )
    if not len(steps):
        raise ParameterError("the history has no steps; there is nothing to draw.")
    axes: Axes = steps.plot(ax)
    return axes


def draw_bounds(
    ax: Any,
    x: NDArray[Any],
    secured: NDArray[Any],
    bound: NDArray[Any],
    labels: tuple[str, str, str, str],
    *,
    steps: bool = False,
) -> Any:
    """Draw reached and possible values over time, and shade the band between them.

    Infinite bounds are left out.  ``labels`` describe x, y, the reached values, and the bound.
    With ``steps``, each value holds until the next one.
    """
    ax = tidy(axes_for(ax), "y")
    known = np.isfinite(bound)
    style: dict[str, Any] = {"drawstyle": "steps-post" if steps else "default", "linewidth": 1.7}
    ax.plot(x, secured, color=colour_of(0), label=labels[2], **style)
    ax.plot(x[known], bound[known], color=colour_of(1), label=labels[3], linestyle="--", **style)
    band = {"color": colour_of(0), "alpha": 0.12, "linewidth": 0}
    between = x[known], secured[known], bound[known]
    ax.fill_between(*between, step="post" if steps else None, **band)
    ax.set(xlabel=labels[0], ylabel=labels[1])
    ax.legend(frameon=False, fontsize=SMALL_FONT_SIZE)
    if not steps:
        ax.xaxis.get_major_locator().set_params(integer=True)
    return ax


def draw_gaps(ax: Any, gaps: Mapping[str, NDArray[Any]], xlabel: str, ylabel: str) -> Any:
    """Draw gaps over the rounds on a logarithmic scale, with a line for each problem."""
    ax = tidy(axes_for(ax), "y")
    named: dict[bytes, list[str]] = {}
    series = {}
    for problem, values in gaps.items():  # problems solved together have equal gaps
        series[key := np.asarray(values).tobytes()] = values
        named.setdefault(key, []).append(problem)
    for k, (key, values) in enumerate(series.items()):
        style = {"color": colour_of(k), "linestyle": ("-", "--", ":", "-.")[k // 5 % 4]}
        rounds = np.arange(1, len(values) + 1)
        label = escaped(clip(", ".join(named[key]), MAX_LABEL)) or "gap"
        ax.plot(rounds, values, marker="o", markersize=3, linewidth=1.5, label=label, **style)
    ax.set(yscale="log", xlabel=xlabel, ylabel=ylabel)
    ax.xaxis.get_major_locator().set_params(integer=True)
    if any(map(any, named.values())):
        ax.legend(frameon=False, fontsize=SMALL_FONT_SIZE, ncols=1 + len(series) // 8)
    return ax


@picture
def cv_results(model: Any, *, x: str = "C", ax: Axes | None = None) -> Axes:
    """Draw the mean scores of a cross-validation with their standard errors, along each path.

    A point is the mean of the scores q₁, …, q_F of the F folds, by which the estimator chooses.
    Its bar is ±s/√(F − 1), where s² = Σ_f (q_f − q̄)²/F.  A line joins the settings that differ
    only in ``x``, and a ring marks the chosen setting.

    Parameters
    ----------
    model : fitted estimator with ``cv_results_``, or such a mapping
        For example ``HKLClassifierCV``, ``PRLClassifierCV``, ``FormulaSVCCV`` or ``ChoquetSVC``.
    x : str
        The horizontal axis: a parameter, or a measure such as ``"mean_rules"``.
    {shared}
    ParameterError
        If there was no cross-validation, there is no column ``x``, or no setting has a score.

    Examples
    --------
    >>> import formulakern as fk
    >>> found = {"C": [1.0, 10.0], "mean_rules": [2.0, 8.0], "mean_score": [0.7, 0.8]}
    >>> ax = fk.plot.cv_results(found, x="mean_rules")
    >>> ax.get_lines()[0].get_xydata().tolist(), ax.get_xlabel()
    ([[2.0, 0.7], [8.0, 0.8]], 'mean number of rules')
    """
    results = fitted(
        model,
        "cv_results_",
        "an estimator that chooses by cross-validation, such as HKLClassifierCV",
        lambda results: isinstance(results, Mapping) and "mean_score" in results,
    )
    best = getattr(model, "best_index_", None)
    columns = {name: np.asarray(values) for name, values in results.items()}
    numeric = [n for n, v in columns.items() if v.dtype.kind in "iuf" and n != "mean_score"]
    check_choice("x", x, [n for n in numeric if not n.startswith("split")])
    places, score = columns[x].astype(np.float64), columns["mean_score"]
    shown = np.isfinite(places) & np.isfinite(score)
    if not shown.any():
        raise ParameterError(
            "no setting has a score, because of the time limit. Fit with a longer time_limit."
        )
    ax = tidy(axes_for(ax), "y")
    _logarithmic_if_wide(ax, places[shown])
    parameters = list(itertools.takewhile(lambda name: name != "mean_score", columns))
    path = places if x in parameters else columns["C"]
    kinds = [n for n in parameters if n not in ("C", x) and len(set(columns[n].tolist())) > 1]
    groups = [tuple(columns[n][i] for n in kinds) for i in range(len(places))]
    folds = sum(name.startswith("split") and name.endswith("_score") for name in columns)
    known = folds > 1 and "std_score" in columns
    error = columns["std_score"] / np.sqrt(folds - 1) if known else None
    for k, group in enumerate(dict.fromkeys(groups)):
        rows = [i for i in np.flatnonzero(shown).tolist() if groups[i] == group]
        rows.sort(key=path.__getitem__)
        if rows:
            named = zip(kinds, group, strict=True)
            label = ", ".join(f"{TITLES.get(n, n)} {v:g}" for n, v in named) or "score"
            style: dict[str, Any] = {"color": colour_of(k), "marker": marker_of(k), "label": label}
            style |= {"markersize": 5, "capsize": 3, "linewidth": 1.4, "elinewidth": 1}
            bars = None if error is None else error[rows]
            ax.errorbar(places[rows], score[rows], bars, **style)
    if best is not None and shown[best]:
        at, ink = (places[best], score[best]), foreground(ax)
        ax.scatter(
            *at, s=110, facecolors="none", edgecolors=ink, linewidths=1.6, zorder=5, label="chosen"
        )
    bar = "" if error is None else "\n(bar: standard error over the folds)"
    ax.set(xlabel=TITLES.get(x, x), ylabel=TITLES["mean_score"] + bar)
    ax.legend(frameon=False, fontsize=SMALL_FONT_SIZE)
    return ax


@picture
def accuracy_by_rules(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the accuracy on held-out rows against the number of rules, with standard errors.

    A ring marks the chosen number of rules.

    Parameters
    ----------
    model : fitted HKLClassifierCV or PRLClassifierCV
        Or another model whose ``path_`` has scores on held-out rows.
    {shared}
    ParameterError
        If there are no scores on held-out rows.

    Examples
    --------
    >>> import formulakern as fk
    >>> X, y = fk.datasets.tic_tac_toe()
    >>> model = fk.HKLClassifierCV([100.0], [3.0], max_rules=8).fit(X[::3], y[::3])
    >>> ax = fk.plot.accuracy_by_rules(model)
    >>> ax.get_xlabel(), ax.get_lines()[0].get_xdata().astype(int).tolist()
    ('number of rules', [1, 2, 3, 5, 8])
    """
    choosing = "an estimator that chooses a number of rules, such as HKLClassifierCV"
    path = fitted(model, "path_", choosing)
    known = [step for step in path if np.isfinite(step.accuracy)]
    if not known:
        raise ParameterError(
            f"{type(model).__name__} has no scores on held-out rows. HKLClassifierCV has them if "
            "max_rules is set and time_limit suffices."
        )
    sizes, shares, errors = np.array([(s.n_rules, s.accuracy, s.error) for s in known]).T
    ax = tidy(axes_for(ax), "y")
    style: dict[str, Any] = {"color": colour_of(0), "marker": "o", "markersize": 5, "capsize": 3}
    ax.errorbar(sizes, 100 * shares, 100 * errors, label="± standard error", **style)
    here = sizes == getattr(getattr(model, "best_estimator_", model), "max_rules", None)
    ring = {"facecolors": "none", "edgecolors": foreground(ax), "linewidths": 1.6, "zorder": 5}
    ax.scatter(sizes[here], 100 * shares[here], s=110, label="chosen", **ring)
    ax.set(xlabel="number of rules", ylabel="accuracy on held-out rows, %", xticks=sizes)
    ax.legend(frameon=False, fontsize=SMALL_FONT_SIZE)
    return ax


@picture
def search_results(search: Any, *, named: int = 5, ax: Axes | None = None) -> Axes:
    """Draw the candidates of a formula search: score against radius-margin ratio.

    If only one of these is known, it is drawn against the rank; ``FormulaSearch(compare=True)``
    computes both.  A ring marks the chosen candidate.

    Parameters
    ----------
    search : fitted FormulaSearch, or its ``results_``
        The search whose candidates are drawn.
    named : int
        The number of best candidates that are named next to the axes.
    {shared}
    ParameterError
        If ``search`` has another type.

    Examples
    --------
    >>> import formulakern as fk
    >>> X, y = fk.datasets.monks(1)
    >>> search = fk.FormulaSearch(["a", "a & b"], cv=2, random_state=0).fit(X, y)
    >>> ax = fk.plot.search_results(search, named=1)
    >>> [text.get_text() for text in ax.texts], ax.get_xlabel()
    (['a & b  (chosen)'], 'rank')
    """
    expected = "a fitted FormulaSearch, or its results_"
    results = fitted(search, "results_", expected, lambda results: hasattr(results, "pictured"))
    criterion = getattr(search, "criterion", "score")
    name = "roc_auc" if criterion == "radius-margin" else criterion
    x, y, xlabel, ylabel = results.pictured(name if isinstance(name, str) else "score")
    best = results.best_index
    shown = np.isfinite(x) & np.isfinite(y)
    ax = tidy(axes_for(ax), "both")
    ax.scatter(x[shown], y[shown], s=26, color=colour_of(0), alpha=0.75, linewidths=0)
    if best is not None and shown[best]:
        ax.scatter(
            x[best], y[best], s=130, facecolors="none", edgecolors=colour_of(1), linewidths=1.8
        )
    _logarithmic_if_wide(ax, x[shown])
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.set(xlim=ax.get_xlim(), ylim=ax.get_ylim())
    chosen = [i for i in results.leading(named) if shown[i]]
    texts = [f"{results['formula'][i]}{'  (chosen)' * (i == best)}" for i in chosen]
    name_points(ax, x[chosen], y[chosen], texts, [colour_of(int(i == best)) for i in chosen])
    return ax


def _logarithmic_if_wide(ax: Axes, values: FloatArray) -> None:
    """Set a logarithmic scale with plain numbers if the range of the values is wide."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = values.min(initial=np.inf), values.max(initial=0.0)
    if low > 0 and high > MAX_LINEAR_RATIO * low:
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0,) if high > 1e2 * low else (1.0, 2.0, 5.0)))
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")
        ax.xaxis.set_minor_formatter(NullFormatter())


#: Maximum number of classes named next to a matrix, and of columns with written numbers.
MAX_NAMED_CLASSES, MAX_WRITTEN_COLUMNS = 12, 12
#: Targets with more distinct numbers are not classes.
MAX_CLASSES = 20


@picture
def gram(kernel: Any, X: Any = None, y: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw the Gram matrix of a kernel as a heat map, with rows and columns ordered by class.

    K_ij = k(x_i, x_j).  Rows are grouped by class, or sorted by y if it has numbers.  A kernel that
    suits the classes has light blocks on the diagonal.  O(n_rows²) memory: sample large tables.

    Parameters
    ----------
    kernel : Kernel, fitted estimator, callable or ndarray of shape (n_rows, n_rows)
        A kernel such as ``fk.kernel("a & b")``; an estimator with a method ``gram`` that encodes
        tables, such as ``FormulaSVC``; a function of X that returns an array; or the matrix.
    X : table of shape (n_rows, n_columns), optional
        The rows; left out if the matrix is given.
    y : array-like of shape (n_rows,), optional
        Classes, or numbers (fractions, or more than twenty distinct values).
    {shared}
    ParameterError
        If the kernel has another type, or X is missing.
    DataError
        If the matrix is not square and finite, or ``y`` does not have one entry per row.

    Examples
    --------
    >>> import formulakern as fk
    >>> X = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 1]])
    >>> ax = fk.plot.gram(fk.kernel("a & b"), X, ["no", "yes", "no"])
    >>> ax.images[0].get_array().tolist()
    [[4.0, 4.0, 1.0], [4.0, 9.0, 4.0], [1.0, 4.0, 4.0]]
    """
    K = _matrix_of(kernel, X)
    n = len(K)
    names, places = _classes_of(y, n)
    order = np.argsort(places, kind="stable")
    negative = bool((K < 0).any())
    ax = axes_for(ax, 5.4, 4.4)
    smooth = "nearest" if n <= 400 else "antialiased"
    heat_map(ax, K[np.ix_(order, order)], "kernel value", signed=negative, interpolation=smooth)
    ends = np.cumsum(np.bincount(places.astype(np.intp), minlength=len(names)) if names else [])
    for end in ends[:-1]:
        for line in (ax.axhline, ax.axvline):
            line(end - 0.5, color="black" if negative else "white", linewidth=0.9)
    ax.set_xticks([])
    ax.set_yticks([])
    if 0 < len(names) <= MAX_NAMED_CLASSES:
        middles, texts = (np.append(0, ends[:-1]) + ends - 1) / 2, list(map(escaped, names))
        turned = 90 if sum(map(len, texts)) > 40 else 0
        ax.set_xticks(middles, texts, fontsize=SMALL_FONT_SIZE, rotation=turned)
        ax.set_yticks(middles, texts, fontsize=SMALL_FONT_SIZE, rotation=90, va="center")
    by = "" if y is None else ", by class" if names else ", by target"
    ax.set_xlabel(f"{n:,} rows{by}")
    return ax


@parameters_from(gram)
@picture
def kernel_pca(
    kernel: Any,
    X: Any = None,
    y: Any = None,
    *,
    components: tuple[int, int] = (0, 1),
    ax: Axes | None = None,
) -> Axes:
    """Draw rows in the plane of two kernel principal components, coloured by class.

    Let K̃ = (I − 11ᵀ/n) K (I − 11ᵀ/n) be the matrix of the centred features, with eigenvalues
    λ₁ ≥ λ₂ ≥ … and orthonormal eigenvectors u_c.  The coordinate of row i along component c is
    √λ_c · u_ci.  The component has the share λ_c / tr K̃ of the variance, and its sign makes the
    largest coordinate positive.  O(n_rows³) time: sample large tables.

    Parameters
    ----------
    X : table of shape (n_rows, n_columns), optional
        The rows; not with a matrix.
    components : tuple of two int
        The numbers of the components, from 0.
    {shared}
    ParameterError
        If the kernel has another type, X is missing, or a component does not exist.
    DataError
        If the matrix is not square and finite, or ``y`` does not have one entry per row.

    References
    ----------
    Schölkopf, Smola & Müller (1998), Nonlinear component analysis as a kernel eigenvalue problem,
    Neural Computation 10.  doi:10.1162/089976698300017467

    Examples
    --------
    >>> import formulakern as fk
    >>> X = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    >>> ax = fk.plot.kernel_pca(fk.kernel("a"), X, [0, 0, 1, 1])
    >>> ax.get_ylabel()
    'component 2: 50 % of the variance'
    """
    K = _matrix_of(kernel, X)
    names, places = _classes_of(y, len(K))
    try:
        first, second = components
    except (TypeError, ValueError):
        raise ParameterError(
            f"components={components!r}; expected two integers, such as (0, 1)."
        ) from None
    for number in (first, second):
        check_integer("components", number, 0)
    if max(first, second) >= len(K):
        raise ParameterError(
            f"components={components!r}; expected numbers below the number of rows, {len(K)}."
        )
    points, shares = _principal_components(K, [int(first), int(second)])
    x, z = points.T
    ax = axes_for(ax, 5.6, 4.4)
    style: dict[str, Any] = {"alpha": 0.7, "linewidths": 0}
    style["s"] = float(np.clip(3000 / len(x), 7, 36))
    if y is None:
        ax.scatter(x, z, color=colour_of(0), **style)
    elif not names:
        colour_scale(ax.scatter(x, z, c=places, cmap=SEQUENTIAL, **style), "target")
    else:
        for k, name in enumerate(names):
            of, style["color"], style["marker"] = places == k, colour_of(k), marker_of(k)
            ax.scatter(x[of], z[of], label=escaped(name), **style)
        legend: Any = ax.legend(frameon=False, fontsize=SMALL_FONT_SIZE, ncols=1 + len(names) // 12)
        for handle in legend.legend_handles:
            handle.set_alpha(1.0)
            handle.set_sizes([30.0])
    labels = [
        f"component {number + 1}: {100 * share:.0f} % of the variance"
        for number, share in zip(components, shares, strict=True)
    ]
    ax.set(xlabel=labels[0], ylabel=labels[1])
    return tidy(ax)


def draw_importance(
    shapley: FloatArray, interactions: FloatArray, names: Sequence[str], ax: Axes | None
) -> Axes:
    """Draw a matrix of Shapley values (diagonal) and interaction indices."""
    n = len(shapley)
    size = min(12.0, 2.5 + 0.55 * n)
    ax = axes_for(ax, size + 1.0, size)
    values = interactions.copy()
    np.fill_diagonal(values, shapley)
    image = heat_map(ax, values, "Shapley value, interaction", signed=True)
    ax.set_xticks(range(n), map(escaped, names), rotation=90)
    ax.set_yticks(range(n), map(escaped, names))
    for i, j in np.ndindex(n, n) if n <= MAX_WRITTEN_COLUMNS else ():
        style: dict[str, Any] = {"weight": "bold" if i == j else "normal", "fontsize": "small"}
        style["color"] = ink_on(image.to_rgba(values[i, j]))
        ax.text(j, i, f"{values[i, j]:.2g}", ha="center", va="center", **style)
    ax.set_title("Shapley values (diagonal) and interactions")
    return ax


def _matrix_of(kernel: Any, X: Any) -> FloatArray:
    """Return the Gram matrix of X, or the given matrix."""
    expected = "a kernel, a fitted estimator with a kernel, or a square array"
    if X is None:
        if callable(kernel) or hasattr(kernel, "fit"):
            raise ParameterError("a kernel needs rows. Pass X; only a matrix is drawn without X.")
        matrix = kernel
    elif hasattr(kernel, "fit"):
        model = getattr(kernel, "best_estimator_", kernel)
        own = fitted(model, "kernel_", expected)
        if hasattr(model, "gram"):
            matrix = model.gram(X)
        elif own.reads != "tables":
            matrix = own(X)
        else:
            raise ParameterError(
                f"{type(model).__name__} encodes tables itself. Pass model.kernel_ and the encoded "
                "rows."
            )
    elif callable(kernel):
        matrix = kernel(X)
    else:
        raise ParameterError(f"this is {type(kernel).__name__}; expected {expected}.")
    try:
        found = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"this is {type(kernel).__name__}; expected {expected}.") from None
    if found.ndim != 2 or found.shape[0] != found.shape[1] or not found.size:
        raise DataError(f"the matrix has shape {found.shape}; expected (n_rows, n_rows).")
    if not np.isfinite(found).all():
        raise DataError("the matrix has values that are not finite and cannot be drawn.")
    return found


def _classes_of(y: Any, n: int) -> tuple[list[Any], NDArray[Any]]:
    """Return the classes in order and the class number of each row; or no classes and numbers.

    Fractions, or more than ``MAX_CLASSES`` distinct numbers, are not classes.

    >>> _classes_of(["b", "a", "b"], 3)
    (['a', 'b'], array([1, 0, 1]))
    >>> _classes_of([1.5, 2.0], 2), _classes_of(None, 1)
    (([], array([1.5, 2. ])), ([], array([0.])))
    """
    if y is None:
        return [], np.zeros(n)
    y = np.asarray(y)
    if y.shape != (n,):
        raise DataError(f"y has shape {y.shape}; expected ({n},), one entry per row.")
    whole = y.dtype.kind != "f" or bool(np.all(y == np.round(y)))
    if y.dtype.kind in "iuf" and (not whole or len(np.unique(y)) > MAX_CLASSES):
        return [], y
    try:
        names, places = np.unique(y, return_inverse=True)
    except TypeError:
        names, places = np.unique([str(value) for value in y], return_inverse=True)
    return names.tolist(), places


def _principal_components(
    matrix: FloatArray, components: list[int]
) -> tuple[FloatArray, tuple[float, float]]:
    """Return row coordinates along kernel principal components, and shares of the variance.

    >>> points, shares = _principal_components(np.diag([1.0, 1.0, 4.0]), [0, 1])
    >>> points.round(3), np.round(shares, 3).tolist()
    (array([[-0.707,  0.707],
           [-0.707, -0.707],
           [ 1.414,  0.   ]]), [0.75, 0.25])
    """
    from scipy.linalg import eigh

    n, mean = len(matrix), matrix.mean(axis=0)
    centred = matrix - mean - mean[:, None] + mean.mean()
    values, vectors = eigh(centred, subset_by_index=[n - 1 - max(components), n - 1])
    variance = float(np.trace(centred)) or 1.0
    values, vectors = values[::-1][components], vectors[:, ::-1][:, components]
    values = np.maximum(values, 0.0)
    largest = np.abs(vectors.round(9)).argmax(axis=0)
    vectors = vectors * np.sign(vectors[largest, np.arange(2)])
    first, second = (values / variance).tolist()
    return vectors * np.sqrt(values), (first, second)


#: Default number of rules in bars and matrices, and in a waterfall.
MAX_BARS, MAX_STEPS = 15, 12
#: The colour of bars that support no class.
NEUTRAL = "#7a8791"
#: Maximum number of points of a curve on a linear scale.
MAX_LINEAR_POINTS = 40


# -- bars ------------------------------------------------------------------------------------------


@picture
def rule_weights(model: Any, *, top: int | None = MAX_BARS, ax: Axes | None = None) -> Axes:
    """Draw the weights of rules as bars, the largest on top.

    The bar of a rule r has the length ``|w_r|``, the contribution of r to a class or to the
    predicted number.  With two classes, it points right for the second class and left for the
    first.  For a number, it points right if the number increases.  With votes for more classes,
    each class has a part of the bar in its colour: positive votes to the right, the largest first,
    and negative votes to the left.

    Parameters
    ----------
    model : fitted estimator with rules, RuleExtraction or RuleEnsemble
        For example ``HKLClassifier``, ``HKLRegressor``, ``PRLClassifier``, or the result of
        ``FormulaSVC.rules()``.
    top : int, optional
        The number of rules, those with the largest weights; None for all.
    {shared}
    ParameterError
        If there are no rules, or the rules have no weights.

    Examples
    --------
    >>> import formulakern as fk
    >>> items = [fk.WeightedRule(fk.rule("a = x"), 2.0, 1, 0)]
    >>> items.append(fk.WeightedRule(fk.rule("b"), 0.5, 0, 1))
    >>> ax = fk.plot.rule_weights(fk.RuleEnsemble.of(items, (0, 1)))
    >>> [float(bar.get_width()) for bar in ax.patches], ax.get_xlabel()
    ([2.0, -0.5], '← for 0      weight      for 1 →')
    """
    rules = _rules_of(model)
    if isinstance(rules, DecisionRules):
        raise ParameterError(
            f"the rules of a {type(rules).__name__} have no weights. "
            "Draw the rows that they decide: fk.plot.rule_counts(model)."
        )
    order = np.argsort(-np.abs([item.weight for item in rules]), kind="stable")
    shown, classes = rules.take(order[: _checked(top)].tolist()), rules.classes
    weights = [item.weight for item in shown]
    if classes is not None and not rules.is_pairwise:
        texts = [str(rule) for rule in shown.rules]
        lengths, starts, ranked = _stacked(shown.votes)
        colours = [colour_of(k) for k in ranked.ravel().tolist()]
        ax = bar_chart(ax, texts, lengths.ravel(), colours, [""] * len(texts), starts.ravel())
        ax.set_xlabel("votes" + ("" if (lengths >= 0).all() else " (to the left: against)"))
        _class_legend(
            ax, [(k, classes[k]) for k in np.flatnonzero(shown.votes.any(axis=0)).tolist()]
        )
        return _noted(ax, len(shown), len(rules))
    texts = [term_text(item.rule, item.weight) for item in shown]
    lengths, written = shown.votes[:, -1], significant(np.abs(weights).tolist())
    ax = bar_chart(ax, texts, lengths, [colour_of(int(w > 0)) for w in lengths], written)
    if classes is None:
        ax.set_xlabel(f"weight: contribution of a rule to {escaped(rules.target)}")
    else:
        first, second = map(escaped, classes)
        ax.set_xlabel(f"← for {first}      weight      for {second} →")
    return _noted(ax, len(shown), len(rules))


def _stacked(votes: FloatArray) -> tuple[FloatArray, FloatArray, NDArray[np.intp]]:
    """Return lengths, starts and classes of the parts of bars, each of shape (K, R).

    >>> _stacked(np.array([[-1.0, 0.5, 2.0]]))[1].ravel().tolist()
    [0.0, 0.0, 2.0]
    """
    ranked = np.argsort(-np.abs(votes), axis=1, kind="stable")
    lengths = np.take_along_axis(votes, ranked, axis=1)
    sides = (np.maximum(lengths, 0.0), np.minimum(lengths, 0.0))
    before = [np.cumsum(side, axis=1) - side for side in sides]
    return lengths.T, np.where(lengths > 0, *before).T, ranked.T


@picture
def rule_counts(model: Any, *, top: int | None = MAX_BARS, ax: Axes | None = None) -> Axes:
    """Draw the number of training rows that the rules of a list or set decide, by class.

    The bar of rule r has a part of length n_rk for each class k, the weight of the training rows of
    class k that r decides.  In a list, these are the rows that no earlier rule covers; in a set,
    all rows that r covers.  The last bar is for rows that no rule covers.

    Parameters
    ----------
    model : fitted RuleListClassifier, RuleList or RuleSet
        The model or rules to draw.
    top : int, optional
        The number of rules, from the first; None for all.
    {shared}
    ParameterError
        If there are no rules, the rules have weights, or their rows were not counted.

    Examples
    --------
    >>> import formulakern as fk
    >>> listed = fk.RuleList((fk.ClassRule(fk.rule("fly"), "bird", (3, 1)),), ("bird", "fish"))
    >>> ax = fk.plot.rule_counts(listed)
    >>> [float(bar.get_width()) for bar in ax.patches], ax.get_yticklabels()[0].get_text()
    ([3.0, 1.0], 'bird: fly')
    """
    rules = _rules_of(model)
    if not isinstance(rules, DecisionRules):
        raise ParameterError(
            f"the rules of a {type(rules).__name__} vote; a single rule decides no rows. "
            "Draw their weights: fk.plot.rule_weights(model)."
        )
    items = rules.rules[: _checked(top)]
    texts = [f"{item.label}: {item.rule}" for item in items]
    rows = [item.counts for item in items]
    if len(items) == len(rules) and rules.default_counts:
        texts.append(f"{rules.default}: otherwise")
        rows.append(rules.default_counts)
    if not all(rows):
        raise ParameterError(
            "these rules have no counts of the training rows that they decide. "
            "Count them: rules.with_counts(X, y)."
        )
    counts = np.array(rows, dtype=np.float64).T
    ends = np.cumsum(counts, axis=0)
    colours = [colour_of(k) for k in np.repeat(range(len(counts)), len(texts)).tolist()]
    totals = [f"{total:,.6g}" for total in ends[-1]]
    ax = bar_chart(ax, texts, counts.ravel(), colours, totals, (ends - counts).ravel())
    ax.set_xlabel("training rows that the rule decides")
    present = np.flatnonzero(counts.any(axis=1)).tolist()
    _class_legend(ax, [(k, rules.classes[k]) for k in present])
    return _noted(ax, len(items), len(rules))


# -- one row ---------------------------------------------------------------------------------------


@picture
def waterfall(
    model: Any,
    X: Any = None,
    *,
    label: Any = None,
    against: Any = None,
    top: int | None = MAX_STEPS,
    ax: Axes | None = None,
) -> Axes:
    """Draw the score of one row as a sum: the start of all rows, then rule by rule.

    The scores of an ensemble with votes V and intercepts b are s_k(x) = b_k + Σ_r V_rk · r(x).  The
    picture shows

        s_k(x) − s_j(x) = (b_k − b_j) + Σ_r (V_rk − V_rj) · r(x),

    where k is the predicted class and j the class with the second largest score.  If the sum is
    above 0, class k is ahead of j.  For two classes with opposite scores, only s_k is drawn, which
    is half of the sum.  For a number or levels, the score is drawn, with thresholds of levels.

    Parameters
    ----------
    model : fitted estimator with rules, or Explanation
        An estimator whose ``explain`` returns an Explanation, or the explanation itself.
    X : table of shape (1, n_columns), optional
        The row; needed for an estimator.
    label : object, optional
        The class k.
    against : object, optional
        The class j.
    top : int, optional
        The number of rules, those with the largest contributions; the others share one bar.
    {shared}
    DataError
        If there is not exactly one row.
    ParameterError
        If the rules have no weights, or a class is unknown.

    Examples
    --------
    >>> import formulakern as fk
    >>> X, y = fk.datasets.monks(1)
    >>> model = fk.HKLClassifier().fit(X, y)
    >>> ax = fk.plot.waterfall(model, X[:1])
    >>> round(float(abs(ax.patches[-1].get_width() - model.decision_function(X[:1])[0])), 6)
    0.0
    """
    explanation = model.explain(X) if hasattr(model, "explain") else model
    rules: Any = getattr(explanation, "ensemble", None)
    if not hasattr(explanation, "values") or not isinstance(rules, VotingRules):
        raise ParameterError(
            f"this is {type(explanation).__name__}; expected a fitted model whose rules have "
            "weights, with one row, or the result of its explain(). "
            "For a list of rules, use print(model.explain(row))."
        )
    values = np.asarray(explanation.values, dtype=np.float64)
    if len(values) != 1:
        raise DataError(f"a waterfall shows one row; got {len(values)}. Pass X[i : i + 1].")
    start, votes, name, sides = _score(rules, values[0], label, against)
    given = votes * values[0]
    order = np.argsort(-np.abs(given), kind="stable")
    order = order[given[order] != 0]
    n = len(order[: _checked(top)])
    n = len(order) if len(order) == n + 1 else n  # show a single other rule by its own bar
    steps = given[order[:n]].tolist()
    texts = [term_text(rules.rules[r], float(votes[r])) for r in order[:n].tolist()]
    if len(order) > n:
        texts.append(f"{len(order) - n} other rules")
        steps.append(float(given[order[n:]].sum()))
    ends = np.cumsum([start, *steps])
    total = float(ends[-1])
    left, right = np.array([0.0, *ends[:-1], 0.0]), np.append(ends, total)
    texts = ["every row starts with", *texts, "the score of this row"]
    colours = [NEUTRAL, *(colour_of(sides[int(step > 0)]) for step in steps), NEUTRAL]
    first, *amounts, last = significant([start, *steps, total])
    signed = [text if text.startswith("-") else f"+{text}" for text in amounts]
    ax = bar_chart(ax, texts, right - left, colours, [first, *signed, last], left)
    ink = foreground(ax)
    for place, end in enumerate(ends):
        ax.plot([end, end], [place, place + 1], color=ink, linewidth=0.6, alpha=0.6)
    levels = rules.levels or ()
    for level, threshold in zip(levels, rules.thresholds.tolist() if levels else (), strict=False):
        ax.axvline(threshold, color=ink, linewidth=0.8, linestyle="--")
        text, frame = escaped(f"{level} up to {threshold:.3g}"), ax.get_xaxis_transform()
        note(ax, text, (threshold, 0.02), (-2, 0), xycoords=frame, ha="right", rotation=90)
    ax.set_xlabel(escaped(name))
    return ax


def _score(
    rules: VotingRules, values: FloatArray, label: Any, against: Any
) -> tuple[float, FloatArray, str, tuple[int, int]]:
    """Return start and votes of the drawn score, its name, and the two classes it compares."""
    votes = rules.votes
    if rules.classes is None:
        return float(rules.intercept[0]), votes[:, 0], rules.target, (0, 1)
    names = list(rules.classes)
    for name, value in (("label", label), ("against", against)):
        if value is not None and value not in names:
            raise ParameterError(f"{name}={value!r}; expected one of {names!r}.")
    order = np.argsort(-rules.scores_of(values[None])[0], kind="stable").tolist()
    k = order[0] if label is None else names.index(label)
    j = next(j for j in order if j != k) if against is None else names.index(against)
    if j == k:
        raise ParameterError(f"label and against are both {names[k]!r}; expected two classes.")
    start = float(rules.intercept[k] - rules.intercept[j])
    if len(names) == 2 and np.array_equal(votes[:, 0], -votes[:, 1]):
        name = f"score of {names[k]} (above 0: {names[k]}, else {names[j]})"
        return start / 2, votes[:, k], name, (j, k)
    return start, votes[:, k] - votes[:, j], f"score of {names[k]} − score of {names[j]}", (j, k)


# -- rules on rows ---------------------------------------------------------------------------------


@picture
def rule_overlap(model: Any, X: Any, *, top: int | None = MAX_BARS, ax: Axes | None = None) -> Axes:
    """Draw the number of rows that each pair of rules shares, as a matrix.

    Let r(x) be 1 if the row x satisfies the rule r, else 0.  The written number is

        n_rs = Σ_x r(x) s(x),

    and the colour is Jaccard's index n_rs / (n_rr + n_ss − n_rs): 1 if both rules are true of the
    same rows, 0 if no row satisfies both.  Numbers are written for at most 15 rules; linear terms
    are left out.  O(n_rows · R²).

    Parameters
    ----------
    model : fitted estimator with rules, RuleExtraction, RuleEnsemble, RuleList or RuleSet
        The model or rules to draw.
    X : table of shape (n_rows, n_columns)
        The rows, with the columns that the rules name.
    top : int, optional
        The number of rules, those with the largest weights or from the first; None for all.
    {shared}
    ParameterError
        If there are no rules.
    DataError
        If a column is absent.

    Examples
    --------
    >>> import formulakern as fk
    >>> items = [fk.WeightedRule(fk.rule(text), 1.0) for text in ("size >= 2", "size <= 3")]
    >>> ax = fk.plot.rule_overlap(fk.RuleEnsemble.of(items), {"size": [1, 2, 3, 4]})
    >>> [text.get_text() for text in ax.texts]
    ['3', '2', '2', '3']
    """
    rules = _conditions_of(model)
    texts = [str(item.rule) for item in rules][: _checked(top)]
    covers = np.asarray(rules.covers(X))[:, : len(texts)].astype(np.int64)
    counts = covers.T @ covers
    n, own = len(counts), np.diagonal(counts)
    either = own[:, None] + own - counts
    shares = np.divide(counts, either, out=np.zeros((n, n)), where=either > 0)
    ax = rule_axes(ax, [f"{text}  ({k})" for k, text in enumerate(texts, 1)])
    label = "rows of both / rows of either"
    image = heat_map(ax, shares, label, signed=False, vmax=1.0, aspect="auto")
    ax.set_xticks(range(n), [f"({k})" for k in range(1, n + 1)], fontsize=SMALL_FONT_SIZE)
    ax.set_xlabel("rule")
    if n <= MAX_BARS:
        size = SMALL_FONT_SIZE - 0.5 if n <= 8 and counts.max() < 10_000 else SMALL_FONT_SIZE - 2.5
        for i, j in np.ndindex(n, n):
            ink = ink_on(image.to_rgba(shares[i, j]))
            ax.text(j, i, str(counts[i, j]), ha="center", va="center", color=ink, fontsize=size)
    return ax


@picture
def coverage_precision(
    model: Any, X: Any = None, y: Any = None, *, named: int = 5, ax: Axes | None = None
) -> Axes:
    """Draw the precision of rules against their coverage, one point per rule.

    Let r(x) be 1 if the row x (of n) satisfies the rule r for the class c, else 0:

        coverage = Σ_x r(x) / n,    precision = Σ_{x: y = c} r(x) / Σ_x r(x).

    A dotted line for each class is its share of all rows, the precision of a rule that is always
    true.  The area of a point grows linearly with the weight of its rule, if it has one.
    Linear terms are left out, because nearly all rows satisfy them.

    Parameters
    ----------
    model : fitted estimator with rules for classes, RuleExtraction, RuleEnsemble, RuleList, RuleSet
        The model or rules to draw.
    X : table of shape (n_rows, n_columns), optional
        The rows; needed for a set.  By default the training rows or, for a list, the training
        rows that each rule decides.
    y : array-like of shape (n_rows,), optional
        The class of each row.
    named : int
        The number of rules that are named next to the axes, those with the largest weights.
    {shared}
    ParameterError
        If there are no rules, they predict a number, or their rows were not counted.
    DataError
        If a column is absent, or ``y`` does not have one class per row.

    Examples
    --------
    >>> import formulakern as fk
    >>> large = fk.RuleEnsemble.of([fk.WeightedRule(fk.rule("size >= 2"), 1.0, "L", "S")], "SL")
    >>> ax = fk.plot.coverage_precision(large, {"size": [1, 2, 3, 4]}, ["S", "S", "L", "L"])
    >>> ax.collections[0].get_offsets().data.round(3).tolist()
    [[0.75, 0.667]]
    """
    rules = _conditions_of(model)
    if (X is None) != (y is None):
        raise ParameterError("X and y belong together. Pass both, or neither for training rows.")
    if rules.classes is None:
        raise ParameterError(
            "these rules predict a number, so they have no precision. "
            "Draw their weights: fk.plot.rule_weights(model)."
        )
    classes, decide = tuple(rules.classes), isinstance(rules, DecisionRules)
    items = list(rules)
    labels = [item.label if decide else item.winner for item in items]
    winners = np.array([classes.index(label) for label in labels])
    if X is not None:
        found = rule_quality([item.rule for item in items], X, y, labels=labels)
        x, y = found.coverage, found.accuracy
        totals = dict(zip(found.classes, found.totals / found.totals.sum(), strict=True))
        base = np.array([totals.get(label, 0.0) for label in labels])
    elif isinstance(rules, RuleList):
        x, y, base = _counted(rules, winners)
    elif decide:  # the rules of a set count shared rows repeatedly
        raise ParameterError("the rules of a set share rows. Pass X and y to count them.")
    else:
        x, y, base = rules.coverage, rules.precision, rules.base_rate
    of_class = sorted(set(zip(winners.tolist(), map(float, base), strict=True)))
    rates = {k: rate for k, rate in of_class if not np.isnan(rate)}
    known = np.isfinite(x) & np.isfinite(y)
    if np.isnan(x).all() or np.isnan(y).all():
        raise ParameterError(
            "these rules have no counts of the rows that they cover. Pass X and y to count them."
        )
    ax = axes_for(ax)
    areas = np.full(len(items), 24.0)
    if not decide:
        sizes = np.abs([item.weight for item in items])
        areas += 110 * sizes / (sizes.max() or 1.0)
    for k in sorted(set(winners.tolist())):
        of = winners == k
        style: dict[str, Any] = {"color": colour_of(k), "marker": marker_of(k), "alpha": 0.75}
        style["label"] = escaped(f"for {classes[k]}")
        ax.scatter(x[of], y[of], areas[of], linewidths=0, **style)
    low, high = max(-0.03, min([*rates.values(), *y[known]]) - 0.08), 1.03
    ax.set(
        xlim=(0, min(1.03, 1.08 * float(x[known].max()))),
        ylim=(low, high),
        xlabel="coverage: share of the rows",
        ylabel="precision: share of the class in these rows",
    )
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
    if len(rates) > 1:
        ax.legend(frameon=False, fontsize=SMALL_FONT_SIZE, markerscale=0.8)
    tidy(ax, "both")
    heights = separated(np.array(list(rates.values())), 0.035 * (high - low))
    for (k, rate), height in zip(rates.items(), heights, strict=True):
        ax.axhline(rate, color=colour_of(k), linewidth=1, linestyle=":")
        text, frame = f"share of {escaped(classes[k])}", ax.get_yaxis_transform()
        note(ax, text, (1, height), (-2, 2), xycoords=frame, ha="right")
    chosen = [r for r in np.flatnonzero(known).tolist() if r < named]
    texts = [str(items[r].rule) for r in chosen]
    name_points(ax, x[chosen], y[chosen], texts, [colour_of(int(winners[r])) for r in chosen])
    return ax


def _counted(
    rules: RuleList, winners: NDArray[np.int64]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return coverage, precision and base rates on the training rows that rules decide."""
    blank = (np.nan,) * len(rules.classes)
    counts = np.array([item.counts or blank for item in rules])
    covered, right = counts.sum(axis=1), counts[np.arange(len(winners)), winners]
    whole = np.array(rules.default_counts or blank) + counts.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return covered / whole.sum(), right / covered, (whole / whole.sum())[winners]


# -- scores by the number of rules -----------------------------------------------------------------


@picture
def rule_curves(
    learners: Any,
    X: Any = None,
    y: Any = None,
    *,
    refit: tuple[Any, Any] | None = None,
    max_rules: int | None = None,
    ylabel: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a score against the number of rules, one line per learner.

    A line is a staircase: at k rules, it has the score of the learner's largest number of rules
    that is at most k.  It is dotted after the last number.

    Parameters
    ----------
    learners : learner, or mapping of str to learner or to (numbers, scores)
        A learner is a fitted estimator whose ``rules_`` are a :class:`formulakern.RuleEnsemble`,
        :class:`formulakern.RuleList` or :class:`formulakern.RuleSet` (such as ``HKLClassifier``,
        ``PRLClassifier``, ``RuleListClassifier``), these rules, or another object with a method
        ``accuracy_curve``, which computes the scores.  Instead of a learner, two arrays of shape
        (n_points,) in any order are allowed; points with nan are left out.
    X : table of shape (n_rows, n_columns), optional
        Rows that were not used for training; needed unless all curves are given as numbers.
    y : array-like of shape (n_rows,), optional
        The class or number of each row.
    refit : (table, y) of training rows, optional
        For each k, the weights of the first k rules are refitted to these rows.  By default, rules
        keep their weights in the whole model.  Only for the library's own rules; for the cost see
        :meth:`formulakern.RuleEnsemble.accuracy_curve`.
    max_rules : int, optional
        The largest number of rules; all by default.
    ylabel : str, optional
        The name of the scores; "accuracy" by default.
    {shared}
    ParameterError
        If a value is neither a learner with rules nor two equally long lists, or X or y is missing.

    Examples
    --------
    >>> import formulakern as fk
    >>> items = [fk.WeightedRule(fk.rule("size >= 3"), 0.5, "L", "S")]
    >>> learners = {"one rule": fk.RuleEnsemble.of(items, "SL"), "tree": ([2, 9], [0.6, 0.8])}
    >>> ax = fk.plot.rule_curves(learners, {"size": [1, 2, 3, 4]}, ["S", "S", "L", "L"])
    >>> [text.get_text() for text in ax.texts], ax.get_lines()[0].get_xydata().tolist()
    (['one rule', 'tree'], [[0.0, 0.5], [1.0, 1.0]])
    """
    if not isinstance(learners, Mapping):
        learners = {type(learners).__name__: learners}
    curves = {
        name: _points(name, learner, X, y, refit, max_rules) for name, learner in learners.items()
    }
    curves = {name: points for name, points in curves.items() if points.size}
    ax = tidy(axes_for(ax), "y")
    ax.set(xlabel="number of rules", ylabel="accuracy" if ylabel is None else ylabel)
    if not curves:
        return ax
    last = max(float(numbers[-1]) for numbers, _ in curves.values())
    colours = [colour_of(k) for k in range(len(curves))]
    for k, (name, (numbers, scores)) in enumerate(curves.items()):
        style: dict[str, Any] = {"color": colours[k], "linewidth": 1.6, "markersize": 3.5}
        style["marker"] = marker_of(k) if len(numbers) <= MAX_LINEAR_POINTS else None
        ax.plot(numbers, scores, label=name, drawstyle="steps-post", **style)
        ax.hlines(scores[-1], numbers[-1], last, colours[k], linestyles="dotted", linewidth=1)
    if last > MAX_LINEAR_POINTS:
        ax.set_xscale("symlog", linthresh=1.0, linscale=0.3)
        ax.xaxis.set_major_formatter("{x:g}")
    ax.set_xlim(right=last)
    ax.set_ylim(ax.get_ylim())
    ends = np.array([scores[-1] for _, scores in curves.values()])
    name_points(ax, np.full(len(ends), last), ends, list(curves), colours)
    return ax


def _points(
    name: str, learner: Any, X: Any, y: Any, refit: tuple[Any, Any] | None, max_rules: int | None
) -> FloatArray:
    """Return numbers of rules in ascending order and their scores, shape (2, n_points)."""
    rules = getattr(learner, "rules_", learner)
    rules = rules if hasattr(rules, "accuracy_curve") else learner
    if not hasattr(rules, "accuracy_curve"):
        fitted(learner, "rules_", "a learner of rules")
        return _given(name, learner)
    if X is None or y is None:
        raise ParameterError(f"the curve of {name!r} needs rows. Pass X and y.")
    options = {} if refit is None else {"refit": refit}
    scores = np.asarray(rules.accuracy_curve(X, y, max_rules, **options))
    return np.stack([np.arange(len(scores)), scores])


def _given(name: str, curve: tuple[ArrayLike, ArrayLike]) -> FloatArray:
    """Return two lists as numbers of rules and scores, shape (2, n_points)."""
    try:
        pair = [np.asarray(values, dtype=np.float64) for values in curve]
    except (TypeError, ValueError):
        raise ParameterError(
            f"the curve {name!r} is {type(curve).__name__}; expected a learner with rules, "
            "or a pair (numbers, scores)."
        ) from None
    shapes = [values.shape for values in pair]
    if len(pair) != 2 or pair[0].ndim != 1 or shapes[0] != shapes[1]:
        raise ParameterError(
            f"the curve {name!r} has lists of shapes {shapes}; expected two lists of equal length."
        )
    points = np.stack(pair)
    points = points[:, ~np.isnan(points).any(axis=0)]
    return points[:, np.argsort(points[0], kind="stable")]


# -- shared functions ------------------------------------------------------------------------------


def _rules_of(model: Any) -> Any:
    """Return the rules of a model, or the given rules."""
    expected = "a fitted learner of rules, a RuleEnsemble, a RuleList or a RuleSet"
    kinds = (VotingRules, DecisionRules)
    rules = fitted(
        model,
        "rules_",
        expected,
        lambda rules: isinstance(getattr(rules, "ensemble", rules), kinds),
    )
    rules = getattr(rules, "ensemble", rules)
    if not len(rules):
        raise ParameterError("the model has no rules; there is nothing to draw.")
    return rules


def _conditions_of(model: Any) -> Any:
    """Return the rules of a model without linear terms and monomials."""
    rules = _rules_of(model)
    if isinstance(rules, DecisionRules):
        return rules
    kept = [r for r, term in enumerate(rules.rules) if isinstance(term, Rule)]
    if not kept:
        raise ParameterError("all terms of the model are numbers; expected at least one rule.")
    return rules.take(kept)


def _checked(top: int | None) -> int | None:
    check_integer("top", top, otherwise="None for all")
    return top


def _class_legend(ax: Any, classes: list[tuple[int, Any]]) -> None:
    """Add a legend with a coloured square for each class."""
    from matplotlib.patches import Patch

    patches = [Patch(color=colour_of(k), label=escaped(name)) for k, name in classes]
    ax.legend(
        handles=patches, frameon=False, fontsize=SMALL_FONT_SIZE, loc="best", handlelength=1.0
    )


def _noted(ax: Axes, shown: int, n_rules: int) -> Axes:
    if shown < n_rules:
        ax.set_title(f"{shown} of {n_rules:,} rules", fontsize=SMALL_FONT_SIZE + 1, loc="left")
    return ax
