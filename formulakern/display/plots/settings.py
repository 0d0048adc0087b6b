"""What settings are worth: scores of a cross-validation, and candidates of a search."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.checks import check_choice
from formulakern.display.plots.base import Display, fitted
from formulakern.display.plots.style import (
    SMALL,
    axes_for,
    colour_of,
    foreground,
    logarithmic,
    marker_of,
    name_points,
    tidy,
)
from formulakern.errors import ParameterError

__all__ = ["CVResultsDisplay", "SearchResultsDisplay", "cv_results", "search_results"]

#: How parameters and measures are called beside a picture.
TITLES = {
    "mean_score": "mean score of the rows held out",
    "mean_rules": "mean number of rules",
    "mean_length": "mean length of the rules",
    "depth_penalty": "depth penalty",
}
#: Values that differ by more than this are on a logarithmic scale.
SPAN = 20.0


@dataclass(eq=False, repr=False)
class CVResultsDisplay(Display):
    """Scores of a cross-validation against a parameter, with error bars, a line for each other one.

    Parameters
    ----------
    results : mapping of str to ndarray of shape (settings,)
        ``cv_results_``: the parameters, then ``mean_score``, ``std_score`` and ``split0_score``, ….
    x : str
        What is drawn from left to right.
    best : int, optional
        Which setting was chosen.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn last.
    lines_ : list of ErrorbarContainer

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> found = {"C": [1, 10], "mean_score": [0.7, 0.8], "std_score": [0.03, 0.04]}
    >>> found |= {f"split{k}_score": [0.7, 0.8] for k in range(5)}
    >>> shown = CVResultsDisplay(found, best=1).plot()
    >>> shown.lines_[0].lines[0].get_xydata().tolist()
    [[1.0, 0.7], [10.0, 0.8]]
    >>> matplotlib.pyplot.close(shown.figure_)
    """

    results: Mapping[str, Any]
    x: str = "C"
    best: int | None = None

    @classmethod
    def from_estimator(cls, model: Any, *, x: str = "C", ax: Any = None) -> Self:
        """Draw what a model's cross-validation found; see :func:`cv_results`."""
        expected = "an estimator that chooses by cross-validation, such as HKLClassifierCV"
        results = fitted(model, "cv_results_", expected)
        if not isinstance(results, Mapping) or "mean_score" not in results:
            raise ParameterError(f"this is {type(results).__name__}; expected {expected}.")
        return cls(results, x, getattr(model, "best_index_", None)).plot(ax)

    def _draw(self, ax: Any) -> Any:
        columns = {name: np.asarray(values) for name, values in self.results.items()}
        numeric = [n for n, v in columns.items() if v.dtype.kind in "iuf" and n != "mean_score"]
        check_choice("x", self.x, [n for n in numeric if not n.startswith("split")])
        x, score = columns[self.x].astype(np.float64), columns["mean_score"]
        shown = np.isfinite(x) & np.isfinite(score)
        if not shown.any():
            raise ParameterError(
                "no setting has a score: the time limit left none. Fit with a longer time_limit."
            )
        ax = tidy(axes_for(ax), "y")
        error = _standard_errors(columns)
        kinds = list(itertools.takewhile(lambda name: name != "mean_score", columns))
        by_path = self.x in kinds
        kinds = [n for n in kinds if n not in ("C", self.x) and len(set(columns[n].tolist())) > 1]
        groups = [tuple(columns[n][i] for n in kinds) for i in range(len(x))]
        self.lines_ = []
        low, high = float(x[shown].min()), float(x[shown].max())
        if low > 0 and high > SPAN * low:
            logarithmic(ax, low, high)
        for k, group in enumerate(dict.fromkeys(groups)):
            rows = [i for i in np.flatnonzero(shown).tolist() if groups[i] == group]
            rows.sort(key=lambda i: x[i] if by_path else columns["C"][i])
            if rows:
                named = zip(kinds, group, strict=True)
                label = ", ".join(f"{TITLES.get(n, n)} {v:g}" for n, v in named)
                style: dict[str, Any] = {"color": colour_of(k), "marker": marker_of(k)}
                style |= {"markersize": 5, "capsize": 3, "linewidth": 1.4, "elinewidth": 1}
                bars = None if error is None else error[rows]
                line = ax.errorbar(x[rows], score[rows], bars, label=label or "score", **style)
                self.lines_.append(line)
        if self.best is not None and shown[self.best]:
            ring = {"facecolors": "none", "edgecolors": foreground(ax), "linewidths": 1.6}
            at = x[self.best], score[self.best]
            ax.scatter(*at, s=110, zorder=5, label="chosen", **ring)
        ax.set_xlabel(TITLES.get(self.x, self.x))
        said = "" if error is None else "\n(bar: standard error over the folds)"
        ax.set_ylabel(TITLES["mean_score"] + said)
        ax.legend(frameon=False, fontsize=SMALL)
        return ax


def cv_results(model: Any, *, x: str = "C", ax: Any = None) -> Any:
    """What a cross-validation found: mean scores with their standard errors, along each path.

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
    ax : matplotlib.axes.Axes, optional
        A new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    NotFittedError
        If the model was not fitted.
    ParameterError
        If there was no cross-validation, it has no such column, or no setting has a score.
    MissingDependencyError
        If matplotlib is not installed.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import formulakern as fk
    >>> found = {"C": [1.0, 10.0], "mean_rules": [2.0, 8.0], "mean_score": [0.7, 0.8]}
    >>> ax = fk.plot.cv_results(found, x="mean_rules")
    >>> ax.get_lines()[0].get_xydata().tolist(), ax.get_xlabel()
    ([[2.0, 0.7], [8.0, 0.8]], 'mean number of rules')
    >>> matplotlib.pyplot.close(ax.figure)
    """
    return CVResultsDisplay.from_estimator(model, x=x, ax=ax).ax_


@dataclass(eq=False, repr=False)
class SearchResultsDisplay(Display):
    """Candidates of a search for a formula, a point for each, the best ones named.

    Parameters
    ----------
    formulas : sequence of str
        The candidates.
    x, y : ndarray of shape (candidates,), float64
        Not a number for those that were not scored.
    xlabel, ylabel : str
        What x and y are.
    best : int, optional
        Which one was chosen.
    leading : sequence of int
        Which ones are named.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn last.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> shown = SearchResultsDisplay(("a & b", "a | b"), [1, 2], [0.9, 0.8], "rank", "score", 0)
    >>> shown.plot().ax_.collections[0].get_offsets().data.tolist()
    [[1.0, 0.9], [2.0, 0.8]]
    >>> matplotlib.pyplot.close(shown.figure_)
    """

    formulas: Sequence[str]
    x: FloatArray
    y: FloatArray
    xlabel: str
    ylabel: str
    best: int | None = None
    leading: Sequence[int] = ()

    @classmethod
    def from_estimator(cls, search: Any, *, named: int = 5, ax: Any = None) -> Self:
        """Draw the candidates of a search; see :func:`search_results`."""
        expected = "a fitted FormulaSearch, or its results_"
        results = fitted(search, "results_", expected)
        if not hasattr(results, "pictured"):
            raise ParameterError(f"this is {type(results).__name__}; expected {expected}.")
        criterion = getattr(search, "criterion", "score")
        name = "roc_auc" if criterion == "radius-margin" else criterion
        display = cls(**results.pictured(name if isinstance(name, str) else "score"))
        display.leading = [i for i in results.leading(named) if np.isfinite(display.y[i])]
        return display.plot(ax)

    def _draw(self, ax: Any) -> Any:
        x, y = (np.asarray(values, dtype=np.float64) for values in (self.x, self.y))
        ax = tidy(axes_for(ax), "both")
        shown: NDArray[np.bool_] = np.isfinite(x) & np.isfinite(y)
        ax.scatter(x[shown], y[shown], s=26, color=colour_of(0), alpha=0.75, linewidths=0)
        if self.best is not None and shown[self.best]:
            ring = {"facecolors": "none", "edgecolors": colour_of(1), "linewidths": 1.8}
            ax.scatter(x[self.best], y[self.best], s=130, **ring)
        if shown.any() and x[shown].min() > 0 and x[shown].max() > SPAN * x[shown].min():
            logarithmic(ax, float(x[shown].min()), float(x[shown].max()))
        ax.set_xlabel(self.xlabel)
        ax.set_ylabel(self.ylabel)
        ax.set_xlim(ax.get_xlim())
        ax.set_ylim(ax.get_ylim())
        chosen = [i for i in self.leading if shown[i]]
        texts = [f"{self.formulas[i]}{'  (chosen)' * (i == self.best)}" for i in chosen]
        colours = [colour_of(int(i == self.best)) for i in chosen]
        name_points(ax, x[chosen], y[chosen], texts, colours)
        return ax


def search_results(search: Any, *, named: int = 5, ax: Any = None) -> Any:
    """The candidates of a search for a formula: score against radius-margin ratio.

    Where only one of both was computed, that against the rank; ``FormulaSearch(compare=True)``
    computes both.  The one that was chosen has a ring.

    Parameters
    ----------
    search : fitted FormulaSearch, or its ``results_``
        Whose candidates are drawn.
    named : int
        So many of the best candidates are named beside the axes.
    ax : matplotlib.axes.Axes, optional
        A new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    NotFittedError
        If the search was not fitted.
    ParameterError
        If it is something else.
    MissingDependencyError
        If matplotlib is not installed.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import formulakern as fk
    >>> X, y = fk.datasets.monks(1)
    >>> search = fk.FormulaSearch(["a", "a & b"], cv=2, random_state=0).fit(X, y)
    >>> ax = fk.plot.search_results(search, named=1)
    >>> [text.get_text() for text in ax.texts], ax.get_xlabel()
    (['a & b  (chosen)'], 'rank')
    >>> matplotlib.pyplot.close(ax.figure)
    """
    return SearchResultsDisplay.from_estimator(search, named=named, ax=ax).ax_


def _standard_errors(columns: Mapping[str, NDArray[Any]]) -> FloatArray | None:
    """Of the mean over the folds; None where it is not known."""
    folds = sum(name.startswith("split") and name.endswith("_score") for name in columns)
    if folds < 2 or "std_score" not in columns:
        return None
    return np.asarray(columns["std_score"] / np.sqrt(folds - 1), dtype=np.float64)
