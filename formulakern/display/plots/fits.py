"""Pictures of fits and settings: optimisations, cross-validations, searches for a formula."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.checks import check_choice
from formulakern.display.plots.style import (
    SMALL,
    axes_for,
    colour_of,
    escaped,
    fitted,
    foreground,
    marker_of,
    name_points,
    picture,
    tidy,
)
from formulakern.errors import ParameterError
from formulakern.text import clip

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["cv_results", "draw_bounds", "draw_gaps", "history", "search_results"]

#: Characters of a label.
MAX_LABEL = 48
#: Texts of parameters and measures on an axis.
TITLES = {
    "mean_score": "mean score of the rows held out",
    "mean_rules": "mean number of rules",
    "mean_length": "mean length of the rules",
    "depth_penalty": "depth penalty",
}
#: Values whose ratio is larger than this are drawn on a logarithmic scale.
MAX_LINEAR_RATIO = 20.0


@picture
def history(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how an optimisation went, from the history of a fitted model.

    Of ``PRLClassifier`` the margin that is secured, its value v_t, and the largest that is
    possible, its bound, round by round: the optimum lies in the shaded band between both.  Of
    ``HKLClassifier`` the relative duality gap of each problem, on a logarithmic scale.  Of
    ``RuleListClassifier("optimal")`` objective and bound against seconds.

    Parameters
    ----------
    model : fitted estimator with ``history_``, or that
        Whose fit is drawn.
    {shared}
    ParameterError
        If it keeps no history.

    Examples
    --------
    >>> import formulakern as fk
    >>> X, y = fk.datasets.monks(1)
    >>> model = fk.PRLClassifier().fit(X, y)
    >>> ax = fk.plot.history(model)
    >>> bool((ax.get_lines()[0].get_ydata() == model.history_.values("value")).all())
    True
    """
    expected = "an estimator with history_, such as PRLClassifier or HKLClassifier"
    steps = fitted(getattr(model, "best_estimator_", model), "history_", expected)
    if not hasattr(steps, "steps") or not hasattr(steps, "plot"):
        raise ParameterError(f"this is {type(steps).__name__}; expected {expected}.")
    if not len(steps):
        raise ParameterError("the history has no steps, so there is nothing to draw.")
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
    """Draw secured and possible values over time, and shade the band between them.

    Infinite bounds are left out.  ``labels`` are those of x, y, what is secured, and the bound;
    with ``steps``, values hold until the next one.
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
    ax.legend(frameon=False, fontsize=SMALL)
    if not steps:
        ax.xaxis.get_major_locator().set_params(integer=True)
    return ax


def draw_gaps(ax: Any, gaps: Mapping[str, NDArray[Any]], xlabel: str, ylabel: str) -> Any:
    """Draw gaps over the rounds, on a logarithmic scale, a line for each problem."""
    ax = tidy(axes_for(ax), "y")
    named: dict[bytes, list[str]] = {}
    series = {}
    for problem, values in gaps.items():  # problems that were solved together have the same gaps
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
        ax.legend(frameon=False, fontsize=SMALL, ncols=1 + len(series) // 8)
    return ax


@picture
def cv_results(model: Any, *, x: str = "C", ax: Axes | None = None) -> Axes:
    """Draw the mean scores of a cross-validation with their standard errors, along each path.

    Of the scores q₁, …, q_F of the F folds a point has the mean that the estimator chose by, and a
    bar of s/√(F − 1) above and below, s² = Σ_f (q_f − q̄)²/F.  A line joins the settings that differ
    in ``x`` alone, and a ring marks what was chosen.

    Parameters
    ----------
    model : fitted estimator with ``cv_results_``, or such a mapping
        ``HKLClassifierCV``, ``PRLClassifierCV``, ``FormulaSVCCV``, ``ChoquetSVC``, ….
    x : str
        What is drawn from left to right: a parameter, or a measure such as ``"mean_rules"``, which
        shows what fewer rules cost.
    {shared}
    ParameterError
        If there was no cross-validation, it has no such column, or no setting has a score.

    Examples
    --------
    >>> import formulakern as fk
    >>> found = {"C": [1.0, 10.0], "mean_rules": [2.0, 8.0], "mean_score": [0.7, 0.8]}
    >>> ax = fk.plot.cv_results(found, x="mean_rules")
    >>> ax.get_lines()[0].get_xydata().tolist(), ax.get_xlabel()
    ([[2.0, 0.7], [8.0, 0.8]], 'mean number of rules')
    """
    expected = "an estimator that chooses by cross-validation, such as HKLClassifierCV"
    results = fitted(model, "cv_results_", expected)
    if not isinstance(results, Mapping) or "mean_score" not in results:
        raise ParameterError(f"this is {type(results).__name__}; expected {expected}.")
    best = getattr(model, "best_index_", None)
    columns = {name: np.asarray(values) for name, values in results.items()}
    numeric = [n for n, v in columns.items() if v.dtype.kind in "iuf" and n != "mean_score"]
    check_choice("x", x, [n for n in numeric if not n.startswith("split")])
    places, score = columns[x].astype(np.float64), columns["mean_score"]
    shown = np.isfinite(places) & np.isfinite(score)
    if not shown.any():
        raise ParameterError(
            "no setting has a score: the time limit left none. Fit with a longer time_limit."
        )
    ax = tidy(axes_for(ax), "y")
    _logarithmic_if_wide(ax, places[shown])
    parameters = list(itertools.takewhile(lambda name: name != "mean_score", columns))
    path = places if x in parameters else columns["C"]
    kinds = [n for n in parameters if n not in ("C", x) and len(set(columns[n].tolist())) > 1]
    groups = [tuple(columns[n][i] for n in kinds) for i in range(len(places))]
    error = _standard_errors(columns)
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
    ax.legend(frameon=False, fontsize=SMALL)
    return ax


def _standard_errors(columns: Mapping[str, NDArray[Any]]) -> FloatArray | None:
    """Of the mean over the folds; None where it is not known."""
    folds = sum(name.startswith("split") and name.endswith("_score") for name in columns)
    if folds < 2 or "std_score" not in columns:
        return None
    return np.asarray(columns["std_score"] / np.sqrt(folds - 1), dtype=np.float64)


@picture
def search_results(search: Any, *, named: int = 5, ax: Axes | None = None) -> Axes:
    """Draw the candidates of a search for a formula: score against radius-margin ratio.

    Where only one of both was computed, that against the rank; ``FormulaSearch(compare=True)``
    computes both.  The one that was chosen has a ring.

    Parameters
    ----------
    search : fitted FormulaSearch, or its ``results_``
        Whose candidates are drawn.
    named : int
        So many of the best candidates are named beside the axes.
    {shared}
    ParameterError
        If it is something else.

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
    results = fitted(search, "results_", expected)
    if not hasattr(results, "pictured"):
        raise ParameterError(f"this is {type(results).__name__}; expected {expected}.")
    criterion = getattr(search, "criterion", "score")
    name = "roc_auc" if criterion == "radius-margin" else criterion
    pictured = results.pictured(name if isinstance(name, str) else "score")
    formulas, best = pictured["formulas"], pictured["best"]
    x, y = (np.asarray(pictured[axis], dtype=np.float64) for axis in "xy")
    shown = np.isfinite(x) & np.isfinite(y)
    ax = tidy(axes_for(ax), "both")
    ax.scatter(x[shown], y[shown], s=26, color=colour_of(0), alpha=0.75, linewidths=0)
    if best is not None and shown[best]:
        ax.scatter(
            x[best], y[best], s=130, facecolors="none", edgecolors=colour_of(1), linewidths=1.8
        )
    _logarithmic_if_wide(ax, x[shown])
    ax.set(xlabel=pictured["xlabel"], ylabel=pictured["ylabel"])
    ax.set(xlim=ax.get_xlim(), ylim=ax.get_ylim())
    chosen = [i for i in results.leading(named) if shown[i]]
    texts = [f"{formulas[i]}{'  (chosen)' * (i == best)}" for i in chosen]
    name_points(ax, x[chosen], y[chosen], texts, [colour_of(int(i == best)) for i in chosen])
    return ax


def _logarithmic_if_wide(ax: Axes, values: FloatArray) -> None:
    """Set a logarithmic scale with plain numbers if the ratio of the values is large."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = values.min(initial=np.inf), values.max(initial=0.0)
    if low > 0 and high > MAX_LINEAR_RATIO * low:
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0,) if high > 1e2 * low else (1.0, 2.0, 5.0)))
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")
        ax.xaxis.set_minor_formatter(NullFormatter())
