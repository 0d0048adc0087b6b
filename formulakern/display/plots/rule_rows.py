"""Rules on rows: which rows two rules share, and how many a rule covers and how purely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.display.plots.base import Display, conditions_of, shown_number
from formulakern.display.plots.style import (
    SEQUENTIAL,
    SMALL,
    axes_for,
    colour_of,
    colour_scale,
    escaped,
    ink_on,
    marker_of,
    name_points,
    rule_axes,
    spread,
    tidy,
)
from formulakern.errors import ParameterError
from formulakern.rules.decision import DecisionRules
from formulakern.rules.quality import rule_quality
from formulakern.rules.rule_list import RuleList

__all__ = ["CoverageDisplay", "RuleOverlapDisplay", "coverage_precision", "rule_overlap"]

#: Rules that are drawn by default, and of which the numbers are written.
TOP, WRITTEN = 15, 15


@dataclass(eq=False, repr=False)
class RuleOverlapDisplay(Display):
    """How many rows two rules share, as a matrix.

    In row r and column s stands n_rs, how many rows satisfy both rules; on the diagonal, how many
    satisfy one.  The colour is n_rs / (n_rr + n_ss − n_rs), the share of the rows of either that
    are of both: 1 where two rules are true of the same rows.

    Parameters
    ----------
    texts : sequence of R str
        The rules.
    counts : ndarray of shape (R, R), int64
        n.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn last.
    image_ : AxesImage

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> shown = RuleOverlapDisplay(("turbo", "doors = 2"), [[4, 1], [1, 2]]).plot()
    >>> shown.image_.get_array().tolist()
    [[1.0, 0.2], [0.2, 1.0]]
    >>> matplotlib.pyplot.close(shown.figure_)
    """

    texts: tuple[str, ...]
    counts: NDArray[np.int64]

    @classmethod
    def from_estimator(cls, model: Any, X: Any, *, top: int | None = TOP, ax: Any = None) -> Self:
        """Draw which rows of a table two rules share; see :func:`rule_overlap`."""
        rules = conditions_of(model)
        places: dict[str, int] = {}
        for place, item in enumerate(rules):  # one that votes about several classes counts once
            places.setdefault(str(item.rule), place)
        texts = tuple(places)[: shown_number("top", top, len(places))]
        covers = np.asarray(rules.covers(X))[:, [places[text] for text in texts]].astype(np.int64)
        return cls(texts, covers.T @ covers).plot(ax)

    def _draw(self, ax: Any) -> Any:
        counts = np.asarray(self.counts)
        n = len(counts)
        own = np.diagonal(counts)
        either = own[:, None] + own - counts
        shares = np.divide(counts, either, out=np.zeros((n, n)), where=either > 0)
        numbered = [f"{text}  ({k})" for k, text in enumerate(self.texts, 1)]
        ax, _ = rule_axes(ax, numbered, room=1.1)
        self.image_ = ax.imshow(shares, cmap=SEQUENTIAL, vmin=0, vmax=1, aspect="auto")
        ax.set_xticks(range(n), [f"({k})" for k in range(1, n + 1)], fontsize=SMALL)
        ax.tick_params(axis="x", length=0)
        ax.set_xlabel("rule")
        if n <= WRITTEN:
            size = SMALL - 0.5 if n <= 8 and counts.max() < 10_000 else SMALL - 2.5
            for i, j in np.ndindex(n, n):
                ink = ink_on(self.image_.to_rgba(shares[i, j]))
                text = f"{counts[i, j]}"
                ax.text(j, i, text, ha="center", va="center", color=ink, fontsize=size)
        ax.spines[:].set_visible(False)
        colour_scale(self.image_, "rows of both / rows of either")
        return ax


def rule_overlap(model: Any, X: Any, *, top: int | None = TOP, ax: Any = None) -> Any:
    """How many rows two rules share, as a matrix.

    With r(x) = 1 where the row x satisfies the rule r, written is

        n_rs = Σ_x r(x) s(x),

    and the colour is n_rs / (n_rr + n_ss − n_rs), Jaccard's index: 1 where two rules are true of
    the same rows, 0 where no row satisfies both.

    Parameters
    ----------
    model : fitted estimator with rules, RuleExtraction, RuleEnsemble, RuleList or RuleSet
        Whose rules are drawn.
    X : table of shape (n_rows, n_columns)
        With the columns that the rules name.
    top : int, optional
        How many rules are drawn, the first ones (those of the largest weights); all for None.
    ax : matplotlib.axes.Axes, optional
        A new figure by default, as high as the rules need.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    NotFittedError
        If the model was not fitted.
    ParameterError
        If there are no rules.
    DataError
        If a column is absent.
    MissingDependencyError
        If matplotlib is not installed.

    Notes
    -----
    Numbers are written for up to 15 rules.  Linear terms are left out.  O(n_rows · R²).

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import formulakern as fk
    >>> items = [fk.WeightedRule(fk.rule(text), 1.0) for text in ("size >= 2", "size <= 3")]
    >>> ax = fk.plot.rule_overlap(fk.RuleEnsemble.of(items), {"size": [1, 2, 3, 4]})
    >>> [text.get_text() for text in ax.texts]
    ['3', '2', '2', '3']
    >>> matplotlib.pyplot.close(ax.figure)
    """
    return RuleOverlapDisplay.from_estimator(model, X, top=top, ax=ax).ax_


@dataclass(eq=False, repr=False)
class CoverageDisplay(Display):
    """Precision of rules against their coverage, a point for each.

    Parameters
    ----------
    texts : sequence of R str
        The rules.
    coverage : ndarray of shape (R,), float64
        Share of the rows that satisfy the rule.
    precision : ndarray of shape (R,), float64
        Share, among these, of the rule's class.
    winners : ndarray of shape (R,), int64
        The number of that class.
    classes : tuple of K
        All classes.
    base_rates : dict of class number to float
        Share of the class among all rows: the precision of a rule that is always true.
    sizes : ndarray of shape (R,), float64, optional
        The area of a point is proportional to it.
    named : int
        So many rules are named beside the axes, the first ones.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn last.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> shown = CoverageDisplay(("turbo",), [0.25], [0.9], [1], ("no", "yes"), {1: 0.5}).plot()
    >>> shown.ax_.collections[0].get_offsets().data.tolist()
    [[0.25, 0.9]]
    >>> matplotlib.pyplot.close(shown.figure_)
    """

    texts: tuple[str, ...]
    coverage: FloatArray
    precision: FloatArray
    winners: NDArray[np.int64]
    classes: tuple[Any, ...]
    base_rates: dict[int, float]
    sizes: FloatArray | None = None
    named: int = 5

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any = None, y: Any = None, *, named: int = 5, ax: Any = None
    ) -> Self:
        """Draw how many rows rules cover and how purely; see :func:`coverage_precision`."""
        rules = conditions_of(model)
        if (X is None) != (y is None):
            raise ParameterError("X and y go together: pass both, or neither for training rows.")
        if rules.classes is None:
            raise ParameterError(
                "these rules predict a number, so that they have no precision. "
                "Draw their weights: fk.plot.rule_weights(model)."
            )
        classes, decide = tuple(rules.classes), isinstance(rules, DecisionRules)
        items = list(rules)
        labels = [item.label if decide else item.winner for item in items]
        winners = np.array([classes.index(label) for label in labels])
        sizes = None if decide else np.abs([item.weight for item in items])
        if X is not None:
            found = rule_quality([item.rule for item in items], X, y, labels=labels)
            coverage, precision = found.coverage, found.accuracy
            totals = dict(zip(found.classes, found.totals / found.totals.sum(), strict=True))
            rates = {k: float(totals.get(classes[k], 0.0)) for k in set(winners.tolist())}
        elif isinstance(rules, RuleList):
            coverage, precision, rates = _counted(rules, winners)
        elif decide:  # rows that several rules cover are counted by each of them
            raise ParameterError("the rules of a set share rows. Pass X and y to count them.")
        else:
            coverage, precision = rules.coverage, rules.precision
            rates = {int(k): float(r) for k, r in zip(winners, rules.base_rate, strict=True)}
        if np.isnan(coverage).all() or np.isnan(precision).all():
            raise ParameterError(
                "these rules do not know how many rows they cover. Pass X and y to count them."
            )
        texts = tuple(str(item.rule) for item in items)
        shares = coverage, precision, winners
        return cls(texts, *shares, classes, rates, sizes, named).plot(ax)

    def _draw(self, ax: Any) -> Any:
        ax = axes_for(ax)
        x, y = np.asarray(self.coverage), np.asarray(self.precision)
        winners = np.asarray(self.winners)
        sizes = np.ones(len(x)) if self.sizes is None else np.asarray(self.sizes)
        areas = 24 + 110 * sizes / (sizes.max() or 1.0) * (self.sizes is not None)
        for k in sorted(set(winners.tolist())):
            of = winners == k
            name = escaped(f"for {self.classes[k]}")
            style: dict[str, Any] = {"color": colour_of(k), "marker": marker_of(k), "alpha": 0.75}
            ax.scatter(x[of], y[of], areas[of], label=name, linewidths=0, **style)
        known = np.isfinite(x) & np.isfinite(y)
        low = min([*self.base_rates.values(), *y[known]])
        ax.set_ylim(max(-0.03, low - 0.08), 1.03)
        ax.set_xlim(0, min(1.03, 1.08 * float(x[known].max())))
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
        ax.set_xlabel("coverage: share of the rows")
        ax.set_ylabel("precision: share of the class in these")
        if len(self.base_rates) > 1:
            ax.legend(frameon=False, fontsize=SMALL, markerscale=0.8)
        tidy(ax, "both")
        low, high = ax.get_ylim()
        rates = np.array(list(self.base_rates.values()))
        for k, rate, at in zip(
            self.base_rates, rates, spread(rates, 0.035 * (high - low)), strict=True
        ):
            ax.axhline(rate, color=colour_of(k), linewidth=1, linestyle=":")
            ax.annotate(
                f"share of {escaped(self.classes[k])}", (1, at), (-2, 2),
                xycoords=ax.get_yaxis_transform(), textcoords="offset points", ha="right",
                fontsize=SMALL - 1,
            )  # fmt: skip
        chosen = [r for r in np.flatnonzero(known).tolist() if r < self.named]
        colours = [colour_of(int(winners[r])) for r in chosen]
        name_points(ax, x[chosen], y[chosen], [self.texts[r] for r in chosen], colours)
        return ax


def coverage_precision(
    model: Any, X: Any = None, y: Any = None, *, named: int = 5, ax: Any = None
) -> Any:
    """The precision of rules against their coverage, a point for each.

    With r(x) = 1 where the row x of n satisfies the rule r for the class c,

        coverage = Σ_x r(x) / n,    precision = Σ_{x: y = c} r(x) / Σ_x r(x).

    A dotted line for each class is its share among all rows, the precision of a rule that is
    always true.  The area of a point is proportional to the weight of its rule, if it has one.

    Parameters
    ----------
    model : fitted estimator with rules for classes, RuleExtraction, RuleEnsemble, RuleList, RuleSet
        Whose rules are drawn.
    X : table of shape (n_rows, n_columns), optional
        By default the figures are those of the training rows, which the rules know; of a
        list, of the rows that each rule decides; of a set they are needed.
    y : array-like of shape (n_rows,), optional
        Their classes.
    named : int
        So many rules are named beside the axes, the first ones (those of the largest weights).
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
        If there are no rules, they predict a number, or their rows were not counted.
    DataError
        If a column is absent, or there is not a class for every row.
    MissingDependencyError
        If matplotlib is not installed.

    Notes
    -----
    Linear terms, which nearly all rows satisfy, are left out.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import formulakern as fk
    >>> large = fk.RuleEnsemble.of([fk.WeightedRule(fk.rule("size >= 2"), 1.0, "L", "S")], "SL")
    >>> ax = fk.plot.coverage_precision(large, {"size": [1, 2, 3, 4]}, ["S", "S", "L", "L"])
    >>> ax.collections[0].get_offsets().data.round(3).tolist()
    [[0.75, 0.667]]
    >>> matplotlib.pyplot.close(ax.figure)
    """
    return CoverageDisplay.from_estimator(model, X, y, named=named, ax=ax).ax_


def _counted(
    rules: RuleList, winners: NDArray[np.int64]
) -> tuple[FloatArray, FloatArray, dict[int, float]]:
    """Coverage, precision and shares of classes, of the training rows that rules decide."""
    blank = (np.nan,) * len(rules.classes)
    counts = np.array([item.counts or blank for item in rules])
    covered, right = counts.sum(axis=1), counts[np.arange(len(winners)), winners]
    whole = np.array(rules.default_counts or blank) + counts.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = whole / whole.sum()
        known = {k: float(rates[k]) for k in set(winners.tolist()) if np.isfinite(rates[k])}
        return covered / whole.sum(), right / covered, known
