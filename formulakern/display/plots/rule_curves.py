"""How good models are with how few rules, several learners in one picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from formulakern.arrays import FloatArray
from formulakern.display.plots.base import fitted
from formulakern.display.plots.style import axes_for, colour_of, escaped, marker_of, spread, tidy
from formulakern.errors import ParameterError

__all__ = ["rule_curves"]

#: Names are so many heights of a letter apart; longer curves than this are on a logarithmic scale.
APART, MANY = 1.35, 40


def rule_curves(
    learners: Any,
    X: Any = None,
    y: Any = None,
    *,
    refit: tuple[Any, Any] | None = None,
    max_rules: int | None = None,
    ylabel: str | None = None,
    ax: Any = None,
) -> Any:
    """A score against the number of rules, a line for each learner.

    A line is a staircase: with k rules a learner has the score of the largest of its numbers that
    is at most k; behind its last number it is dotted.  The names of the learners stand where the
    lines end.

    Parameters
    ----------
    learners : learner, or mapping of str to learner or to (numbers, scores)
        A learner is a fitted estimator whose ``rules_`` are a :class:`formulakern.RuleEnsemble`,
        :class:`formulakern.RuleList` or :class:`formulakern.RuleSet` (``HKLClassifier``,
        ``PRLClassifier``, ``RuleListClassifier``, …), or these rules themselves; the score is then
        that of their ``accuracy_curve``.  Or an object of another kind with such a method; or two
        arrays of shape (n_points,), in any order, of which points with a nan are left out.
    X : table of shape (n_rows, n_columns), optional
        Rows that were not learned from; needed unless all curves are given as numbers.
    y : array-like of shape (n_rows,), optional
        Their classes, or numbers.
    refit : (table, y) of training rows, optional
        Weights of the first k rules are refitted to these rows for every k; by default rules have
        the weights that they have in the whole model.  Not for objects of another kind.
    max_rules : int, optional
        The largest number of rules; all by default.
    ylabel : str, optional
        What the scores are; "accuracy" by default.
    ax : matplotlib.axes.Axes, optional
        A new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        If something is neither a learner with rules nor two lists of one length, or X and y are
        missing.
    MissingDependencyError
        If matplotlib is not installed.

    Notes
    -----
    A rule that votes in several rows of an ensemble, about other classes, counts once.  Refitting
    costs what :meth:`formulakern.RuleEnsemble.accuracy_curve` says.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import formulakern as fk
    >>> items = [fk.WeightedRule(fk.rule("size >= 3"), 0.5, "L", "S")]
    >>> learners = {"one rule": fk.RuleEnsemble.of(items, "SL"), "tree": ([2, 9], [0.6, 0.8])}
    >>> ax = fk.plot.rule_curves(learners, {"size": [1, 2, 3, 4]}, ["S", "S", "L", "L"])
    >>> [text.get_text() for text in ax.texts], ax.get_lines()[0].get_xydata().tolist()
    (['one rule', 'tree'], [[0.0, 0.5], [1.0, 1.0]])
    >>> matplotlib.pyplot.close(ax.figure)
    """
    if not isinstance(learners, Mapping):
        learners = {type(learners).__name__: learners}
    curves = {
        name: _points(name, learner, X, y, refit, max_rules) for name, learner in learners.items()
    }
    curves = {name: points for name, points in curves.items() if points.size}
    ax = tidy(axes_for(ax), "y")
    ax.set_xlabel("number of rules")
    ax.set_ylabel("accuracy" if ylabel is None else ylabel)
    if not curves:
        return ax
    last = max(float(numbers[-1]) for numbers, _ in curves.values())
    lines: dict[str, Any] = {}
    for name, (numbers, scores) in curves.items():
        k = len(lines)
        style: dict[str, Any] = {"color": colour_of(k), "linewidth": 1.6, "markersize": 3.5}
        style["marker"] = marker_of(k) if len(numbers) <= MANY else None
        (lines[name],) = ax.plot(numbers, scores, label=name, drawstyle="steps-post", **style)
    if last > MANY:
        ax.set_xscale("symlog", linthresh=1.0, linscale=0.3)
        ax.xaxis.set_major_formatter("{x:g}")
    ax.set_xlim(right=last)
    for name, (numbers, scores) in curves.items():
        color = lines[name].get_color()
        ax.hlines(scores[-1], numbers[-1], last, color, linestyles="dotted", linewidth=1)
    _name_ends(ax, lines)
    return ax


def _points(
    name: str, learner: Any, X: Any, y: Any, refit: tuple[Any, Any] | None, max_rules: int | None
) -> FloatArray:
    """Numbers of rules in order, with their scores, shape (2, n_points)."""
    rules = getattr(learner, "rules_", learner)
    rules = rules if hasattr(rules, "accuracy_curve") else learner
    if not hasattr(rules, "accuracy_curve"):
        fitted(learner, "rules_", "a learner of rules")
        return _given(name, learner)
    if X is None or y is None:
        raise ParameterError(f"the curve of {name!r} needs rows: pass X and y.")
    options = {} if refit is None else {"refit": refit}
    scores = np.asarray(rules.accuracy_curve(X, y, max_rules, **options))
    numbers = np.arange(len(scores))
    if hasattr(rules, "n_rules"):
        seen: set[Any] = set()
        for k, rule in enumerate(rules.rules[: len(scores) - 1], start=1):
            seen.add(rule)
            numbers[k] = len(seen)
    return np.stack([numbers, scores])


def _given(name: str, curve: tuple[ArrayLike, ArrayLike]) -> FloatArray:
    """The same of two lists."""
    try:
        pair = [np.asarray(values, dtype=np.float64) for values in curve]
    except (TypeError, ValueError):
        raise ParameterError(
            f"the curve {name!r} is {type(curve).__name__}; expected a learner with rules, "
            "or (numbers, scores)."
        ) from None
    shapes = [values.shape for values in pair]
    if len(pair) != 2 or pair[0].ndim != 1 or shapes[0] != shapes[1]:
        raise ParameterError(
            f"the curve {name!r} has lists of shapes {shapes}; expected two lists of one length."
        )
    points = np.stack(pair)
    points = points[:, ~np.isnan(points).any(axis=0)]
    return points[:, np.argsort(points[0], kind="stable")]


def _name_ends(ax: Any, lines: Mapping[str, Any]) -> None:
    """Write the names beside the ends of the lines, so that none covers another."""
    height = ax.get_position().height * ax.figure.get_size_inches()[1] * 72  # in points
    size = ax.xaxis.label.get_fontsize()
    low, high = ax.get_ylim()
    ax.set_ylim(low, high)
    ends = np.array([line.get_ydata()[-1] for line in lines.values()])
    shares = spread((ends - low) / (high - low), APART * size / height)
    for (name, line), share in zip(lines.items(), shares, strict=True):
        ax.annotate(
            escaped(name),
            (1.0, share),
            xycoords="axes fraction",
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=size,
            color=line.get_color(),
            annotation_clip=False,
        )
