"""Bars of rules: their weights, and the rows that they decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.display.plots.base import Display, rules_of, shown_number
from formulakern.display.plots.style import (
    SMALL,
    colour_of,
    escaped,
    foreground,
    rule_axes,
    tidy,
)
from formulakern.errors import ParameterError
from formulakern.rules.decision import DecisionRules
from formulakern.rules.export.text import said
from formulakern.text import significant

__all__ = ["RuleCountsDisplay", "RuleWeightsDisplay", "rule_counts", "rule_weights"]

#: Rules that are drawn by default.
TOP = 15


@dataclass(eq=False, repr=False)
class RuleWeightsDisplay(Display):
    """The weights of rules as bars, the largest on top.

    Of two classes a bar points to the right for the second one and to the left for the first.  Of
    more classes, or of a number, it points to the right where the rule speaks for its class, or
    makes the number larger.  The length of the bar of rule r is ``|w_r|``.

    Parameters
    ----------
    texts : sequence of R str
        The rules.
    weights : ndarray of shape (R,), float64
        What a row that satisfies the rule gains for its class, or for the predicted number.
    winners : ndarray of shape (R,), int64
        The number of the class that each is about; 0 where a number is predicted.
    classes : tuple of K, or None
        None for a predicted number.
    target : str
        What that is called.
    n_rules : int
        How many rules there are, of which these are shown.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn last.
    bars_ : BarContainer

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> shown = RuleWeightsDisplay(("doors = 2", "turbo"), [-3.0, 2.0], [0, 0], None, "price")
    >>> [float(bar.get_width()) for bar in shown.plot().bars_]
    [-3.0, 2.0]
    >>> matplotlib.pyplot.close(shown.figure_)
    """

    texts: tuple[str, ...]
    weights: FloatArray
    winners: NDArray[np.int64]
    classes: tuple[Any, ...] | None = None
    target: str = "y"
    n_rules: int = 0

    @classmethod
    def from_estimator(cls, model: Any, *, top: int | None = TOP, ax: Any = None) -> Self:
        """Draw the weights of a model's rules; see :func:`rule_weights`."""
        rules = rules_of(model)
        if isinstance(rules, DecisionRules):
            raise ParameterError(
                f"the rules of a {type(rules).__name__} have no weights. "
                "Draw the rows that they decide: fk.plot.rule_counts(model)."
            )
        order = np.argsort(-np.abs([item.weight for item in rules]), kind="stable")
        items = [rules[r] for r in order[: shown_number("top", top, len(rules))].tolist()]
        names = rules.classes
        display = cls(
            tuple(said(item.rule, item.weight) for item in items),
            np.array([item.weight for item in items]),
            np.array([0 if names is None else names.index(item.winner) for item in items]),
            names,
            rules.target,
            len(rules),
        )
        return display.plot(ax)

    def _draw(self, ax: Any) -> Any:
        weights, winners = np.asarray(self.weights), np.asarray(self.winners)
        ax, _ = rule_axes(ax, self.texts)
        two = self.classes is not None and len(self.classes) == 2
        lengths = np.where(winners == 0, -weights, weights) if two else weights
        sides = (lengths > 0).astype(int) if two or self.classes is None else winners
        bars = ax.barh(range(len(lengths)), lengths, 0.62, color=[colour_of(k) for k in sides])
        ax.axvline(0, color=foreground(ax), linewidth=0.8, zorder=0.9)
        label_ends(ax, lengths, significant(np.abs(weights).tolist()))
        if two:
            first, second = map(escaped, self.classes or ())
            ax.set_xlabel(f"← for {first}      weight      for {second} →")
        elif self.classes is None:
            ax.set_xlabel(f"weight: what a rule adds to {escaped(self.target)}")
        else:
            ax.set_xlabel("weight" + ("" if (lengths >= 0).all() else " (to the left: against)"))
            _class_legend(ax, [(k, self.classes[k]) for k in sorted({*winners.tolist()})])
        tidy(ax, "x")
        _note(ax, len(self.texts), self.n_rules)
        self.bars_ = bars
        return ax


@dataclass(eq=False, repr=False)
class RuleCountsDisplay(Display):
    """The rows that each rule of a list or a set decides, by class, in the order of the rules.

    The bar of rule r has a part for each class, as long as the weight of the training rows of that
    class that r decides: in a list those that no earlier rule covers, in a set those that it
    covers.  The last bar is that of the rows that no rule covers.

    Parameters
    ----------
    texts : sequence of R str
        The class that a rule is for, and the rule.
    counts : ndarray of shape (R, K), float64
        Weight of the rows of each class that the rule decides about.
    classes : tuple of K
        The columns of ``counts``.
    n_rules : int
        How many rules there are, of which these are shown.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn last.
    bars_ : list of K BarContainer

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> shown = RuleCountsDisplay(("bird: fly", "fish: otherwise"), [[3, 1], [0, 2]], ("b", "f"))
    >>> [[float(bar.get_width()) for bar in part] for part in shown.plot().bars_]
    [[3.0, 0.0], [1.0, 2.0]]
    >>> matplotlib.pyplot.close(shown.figure_)
    """

    texts: tuple[str, ...]
    counts: FloatArray
    classes: tuple[Any, ...]
    n_rules: int = 0

    @classmethod
    def from_estimator(cls, model: Any, *, top: int | None = TOP, ax: Any = None) -> Self:
        """Draw the rows that a model's rules decide; see :func:`rule_counts`."""
        rules = rules_of(model)
        if not isinstance(rules, DecisionRules):
            raise ParameterError(
                f"the rules of a {type(rules).__name__} vote, and decide no rows by themselves. "
                "Draw their weights: fk.plot.rule_weights(model)."
            )
        items = rules.rules[: shown_number("top", top, len(rules))]
        texts = [f"{item.label}: {item.rule}" for item in items]
        counts = [item.counts for item in items]
        if len(items) == len(rules) and rules.default_counts:
            texts.append(f"{rules.default}: otherwise")
            counts.append(rules.default_counts)
        if not all(counts):
            raise ParameterError(
                "these rules do not know which training rows they decide. "
                "Count them: rules.with_counts(X, y)."
            )
        return cls(tuple(texts), np.array(counts), rules.classes, len(rules)).plot(ax)

    def _draw(self, ax: Any) -> Any:
        counts = np.asarray(self.counts, dtype=np.float64)
        ax, _ = rule_axes(ax, self.texts)
        left, places = np.zeros(len(counts)), range(len(counts))
        self.bars_ = []
        for k, part in enumerate(counts.T):
            self.bars_.append(ax.barh(places, part, 0.62, left, color=colour_of(k)))
            left = left + part
        label_ends(ax, left, [f"{total:,.6g}" for total in left])
        ax.set_xlabel("training rows that the rule decides")
        _class_legend(
            ax, [(k, self.classes[k]) for k in np.flatnonzero(counts.any(axis=0)).tolist()]
        )
        tidy(ax, "x")
        _note(ax, min(len(counts), self.n_rules), self.n_rules)
        return ax


def rule_weights(model: Any, *, top: int | None = TOP, ax: Any = None) -> Any:
    """The weights of rules as bars, the largest on top.

    The bar of a rule r is as long as ``|w_r|``, what a row that satisfies r gains for a class, or
    for the predicted number.  Of two classes it points to the right for the second one and to the
    left for the first; of more classes, to the right for the class of its colour and to the left
    against it; of a number, to the right where the number becomes larger.

    Parameters
    ----------
    model : fitted estimator with rules, RuleExtraction or RuleEnsemble
        ``HKLClassifier``, ``HKLRegressor``, ``PRLClassifier``, …, and what ``FormulaSVC.rules()``
        gives.
    top : int, optional
        How many rules are drawn, those of the largest weights; all for None.
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
        If there are no rules, or they have no weights.
    MissingDependencyError
        If matplotlib is not installed.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import formulakern as fk
    >>> items = [fk.WeightedRule(fk.rule(text), w, 1) for text, w in (("a = x", 2.0), ("b", -0.5))]
    >>> ax = fk.plot.rule_weights(fk.RuleEnsemble.of(items, (0, 1)))
    >>> [float(bar.get_width()) for bar in ax.patches], ax.get_xlabel()
    ([2.0, -0.5], '← for 0      weight      for 1 →')
    >>> matplotlib.pyplot.close(ax.figure)
    """
    return RuleWeightsDisplay.from_estimator(model, top=top, ax=ax).ax_


def rule_counts(model: Any, *, top: int | None = TOP, ax: Any = None) -> Any:
    """The training rows that the rules of a list or a set decide, by class.

    The bar of rule r has a part of length n_rk for each class k: the weight of the training rows of
    class k that r decides, which are those that no earlier rule covers (list) or those that it
    covers (set).  The last bar is that of the rows that no rule covers.

    Parameters
    ----------
    model : fitted RuleListClassifier, RuleList or RuleSet
        Whose rules are drawn.
    top : int, optional
        How many rules are drawn, the first ones; all for None.
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
        If there are no rules, they have weights instead, or their rows were not counted.
    MissingDependencyError
        If matplotlib is not installed.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import formulakern as fk
    >>> listed = fk.RuleList((fk.ClassRule(fk.rule("fly"), "bird", (3, 1)),), ("bird", "fish"))
    >>> ax = fk.plot.rule_counts(listed)
    >>> [float(bar.get_width()) for bar in ax.patches], ax.get_yticklabels()[0].get_text()
    ([3.0, 1.0], 'bird: fly')
    >>> matplotlib.pyplot.close(ax.figure)
    """
    return RuleCountsDisplay.from_estimator(model, top=top, ax=ax).ax_


def label_ends(
    ax: Any, ends: FloatArray, texts: list[str], starts: FloatArray | None = None
) -> None:
    """Write a number at the end of each bar, and make room for it."""
    starts = np.zeros(len(ends)) if starts is None else starts
    for place, (end, start, text) in enumerate(zip(ends, starts, texts, strict=True)):
        right = end >= start
        ax.annotate(
            text,
            (end, place),
            (3 if right else -3, 0),
            textcoords="offset points",
            ha="left" if right else "right",
            va="center",
            fontsize=SMALL - 1,
        )
    low, high = min(0.0, *ends, *starts), max(0.0, *ends, *starts)
    room = 0.16 * ((high - low) or 1.0)
    beside = np.where(ends >= starts, ends + room, ends - room)
    ax.set_xlim(min(low, *beside), max(high, *beside))


def _class_legend(ax: Any, classes: list[tuple[int, Any]]) -> None:
    """A square of its colour for each class, below the axes where there are many."""
    from matplotlib.patches import Patch

    patches = [Patch(color=colour_of(k), label=escaped(name)) for k, name in classes]
    ax.legend(handles=patches, frameon=False, fontsize=SMALL, loc="best", handlelength=1.0)


def _note(ax: Any, shown: int, n_rules: int) -> None:
    if shown < n_rules:
        ax.set_title(f"{shown} of {n_rules:,} rules", fontsize=SMALL + 1, loc="left")
