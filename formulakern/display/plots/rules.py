"""Pictures of rules: weights, coverage, overlap, one row's score, scores by number of rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulakern.arrays import FloatArray
from formulakern.checks import check_integer
from formulakern.display.plots.style import (
    SEQUENTIAL,
    SMALL,
    axes_for,
    bar_chart,
    colour_of,
    colour_scale,
    escaped,
    fitted,
    foreground,
    ink_on,
    marker_of,
    name_points,
    picture,
    rule_axes,
    spread,
    tidy,
)
from formulakern.errors import DataError, ParameterError
from formulakern.rules.decision import DecisionRules
from formulakern.rules.export.tables import said
from formulakern.rules.quality import rule_quality
from formulakern.rules.rule import Rule
from formulakern.rules.rule_list import RuleList
from formulakern.rules.voting import VotingRules
from formulakern.text import significant

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "coverage_precision",
    "rule_counts",
    "rule_curves",
    "rule_overlap",
    "rule_weights",
    "waterfall",
]

#: Rules that are drawn by default: as bars and in a matrix, and in a waterfall.
MAX_BARS, MAX_STEPS = 15, 12
#: The colour of bars that support no class.
NEUTRAL = "#7a8791"
#: Distance of names, in heights of a letter; the longest curve on a linear scale.
NAME_DISTANCE, MAX_LINEAR = 1.35, 40


# -- bars ------------------------------------------------------------------------------------------


@picture
def rule_weights(model: Any, *, top: int | None = MAX_BARS, ax: Axes | None = None) -> Axes:
    """Draw the weights of rules as bars, the largest on top.

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
    {shared}
    ParameterError
        If there are no rules, or they have no weights.

    Examples
    --------
    >>> import formulakern as fk
    >>> items = [fk.WeightedRule(fk.rule(text), w, 1) for text, w in (("a = x", 2.0), ("b", -0.5))]
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
    items = [rules[r] for r in order[: _number_drawn("top", top, len(rules))].tolist()]
    weights = np.array([item.weight for item in items])
    classes = rules.classes
    winners = np.array([0 if classes is None else classes.index(item.winner) for item in items])
    two = classes is not None and len(classes) == 2
    lengths = np.where(winners == 0, -weights, weights) if two else weights
    sides = (lengths > 0).astype(int) if two or classes is None else winners
    texts = [said(item.rule, item.weight) for item in items]
    written = significant(np.abs(weights).tolist())
    ax = bar_chart(ax, texts, lengths, [colour_of(k) for k in sides], written)
    if classes is None:
        ax.set_xlabel(f"weight: what a rule adds to {escaped(rules.target)}")
    elif two:
        first, second = map(escaped, classes)
        ax.set_xlabel(f"← for {first}      weight      for {second} →")
    else:
        ax.set_xlabel("weight" + ("" if (lengths >= 0).all() else " (to the left: against)"))
        _class_legend(ax, [(k, classes[k]) for k in sorted({*winners.tolist()})])
    return _noted(ax, len(items), len(rules))


@picture
def rule_counts(model: Any, *, top: int | None = MAX_BARS, ax: Axes | None = None) -> Axes:
    """Draw how many training rows the rules of a list or a set decide, by class.

    The bar of rule r has a part of length n_rk for each class k: the weight of the training rows of
    class k that r decides, which are those that no earlier rule covers (list) or those that it
    covers (set).  The last bar is that of the rows that no rule covers.

    Parameters
    ----------
    model : fitted RuleListClassifier, RuleList or RuleSet
        Whose rules are drawn.
    top : int, optional
        How many rules are drawn, the first ones; all for None.
    {shared}
    ParameterError
        If there are no rules, they have weights instead, or their rows were not counted.

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
            f"the rules of a {type(rules).__name__} vote, and decide no rows by themselves. "
            "Draw their weights: fk.plot.rule_weights(model)."
        )
    items = rules.rules[: _number_drawn("top", top, len(rules))]
    texts = [f"{item.label}: {item.rule}" for item in items]
    rows = [item.counts for item in items]
    if len(items) == len(rules) and rules.default_counts:
        texts.append(f"{rules.default}: otherwise")
        rows.append(rules.default_counts)
    if not all(rows):
        raise ParameterError(
            "these rules do not know which training rows they decide. "
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
    """Draw the score of one row as a sum: where all rows start, then rule by rule.

    With votes V and intercepts b of an ensemble, s_k(x) = b_k + Σ_r V_rk · r(x).  Drawn is

        s_k(x) − s_j(x) = (b_k − b_j) + Σ_r (V_rk − V_rj) · r(x),

    k the predicted class and j the one of the second largest score: where it is above 0, k is
    before j.  Of two classes whose scores are always opposite s_k alone is drawn, half of it.  Of a
    predicted number, or of levels, the score itself is drawn, with the thresholds of the levels.

    Parameters
    ----------
    model : fitted estimator with rules, or Explanation
        An estimator whose ``explain`` gives an Explanation, or that.
    X : table of shape (1, n_columns), optional
        The row; needed for an estimator.
    label : object, optional
        The class k.
    against : object, optional
        The class j.
    top : int, optional
        How many rules are drawn, those of the largest contributions; the others are one bar.
    {shared}
    DataError
        If there is not exactly one row.
    ParameterError
        If the rules have no weights, or a class is not known.

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
            "weights with one row, or what its explain() gives. "
            "A list of rules decides by its first one: print(model.explain(row))."
        )
    values = np.asarray(explanation.values, dtype=np.float64)
    if len(values) != 1:
        raise DataError(f"a waterfall is of one row; got {len(values)}. Pass X[i : i + 1].")
    start, votes, name, sides = _score(rules, values[0], label, against)
    given = votes * values[0]
    order = np.argsort(-np.abs(given), kind="stable")
    order = order[given[order] != 0]
    n = _number_drawn("top", top, len(order))
    n = len(order) if len(order) == n + 1 else n  # a bar for one other rule is as long as its own
    steps = given[order[:n]].tolist()
    texts = [said(rules.rules[r], float(votes[r])) for r in order[:n].tolist()]
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
        ax.annotate(
            escaped(f"{level} up to {threshold:.3g}"),
            (threshold, 0.02),
            (-2, 0),
            xycoords=ax.get_xaxis_transform(),
            textcoords="offset points",
            ha="right",
            rotation=90,
            fontsize=SMALL - 1,
        )
    ax.set_xlabel(escaped(name))
    return ax


def _score(
    rules: VotingRules, values: FloatArray, label: Any, against: Any
) -> tuple[float, FloatArray, str, tuple[int, int]]:
    """Start and votes of the score that is drawn, its name, and which classes it is between."""
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
    """Draw how many rows two rules share, as a matrix.

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
    {shared}
    ParameterError
        If there are no rules.
    DataError
        If a column is absent.

    Notes
    -----
    Numbers are written for up to 15 rules.  Linear terms are left out.  O(n_rows · R²).

    Examples
    --------
    >>> import formulakern as fk
    >>> items = [fk.WeightedRule(fk.rule(text), 1.0) for text in ("size >= 2", "size <= 3")]
    >>> ax = fk.plot.rule_overlap(fk.RuleEnsemble.of(items), {"size": [1, 2, 3, 4]})
    >>> [text.get_text() for text in ax.texts]
    ['3', '2', '2', '3']
    """
    rules = _conditions_of(model)
    places: dict[str, int] = {}
    for place, item in enumerate(rules):  # a rule that votes about several classes counts once
        places.setdefault(str(item.rule), place)
    texts = list(places)[: _number_drawn("top", top, len(places))]
    covers = np.asarray(rules.covers(X))[:, [places[text] for text in texts]].astype(np.int64)
    counts = covers.T @ covers
    n, own = len(counts), np.diagonal(counts)
    either = own[:, None] + own - counts
    shares = np.divide(counts, either, out=np.zeros((n, n)), where=either > 0)
    ax = rule_axes(ax, [f"{text}  ({k})" for k, text in enumerate(texts, 1)])
    image = ax.imshow(shares, cmap=SEQUENTIAL, vmin=0, vmax=1, aspect="auto")
    ax.set_xticks(range(n), [f"({k})" for k in range(1, n + 1)], fontsize=SMALL)
    ax.tick_params(axis="x", length=0)
    ax.set_xlabel("rule")
    if n <= MAX_BARS:
        size = SMALL - 0.5 if n <= 8 and counts.max() < 10_000 else SMALL - 2.5
        for i, j in np.ndindex(n, n):
            ink = ink_on(image.to_rgba(shares[i, j]))
            ax.text(j, i, str(counts[i, j]), ha="center", va="center", color=ink, fontsize=size)
    ax.spines[:].set_visible(False)
    colour_scale(image, "rows of both / rows of either")
    return ax


@picture
def coverage_precision(
    model: Any, X: Any = None, y: Any = None, *, named: int = 5, ax: Axes | None = None
) -> Axes:
    """Draw the precision of rules against their coverage, a point for each.

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
    {shared}
    ParameterError
        If there are no rules, they predict a number, or their rows were not counted.
    DataError
        If a column is absent, or there is not a class for every row.

    Notes
    -----
    Linear terms, which nearly all rows satisfy, are left out.

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
    if X is not None:
        found = rule_quality([item.rule for item in items], X, y, labels=labels)
        x, y = found.coverage, found.accuracy
        totals = dict(zip(found.classes, found.totals / found.totals.sum(), strict=True))
        rates = {k: float(totals.get(classes[k], 0.0)) for k in set(winners.tolist())}
    elif isinstance(rules, RuleList):
        x, y, rates = _counted(rules, winners)
    elif decide:  # several rules count a row that they share
        raise ParameterError("the rules of a set share rows. Pass X and y to count them.")
    else:
        x, y = rules.coverage, rules.precision
        rates = {int(k): float(r) for k, r in zip(winners, rules.base_rate, strict=True)}
    known = np.isfinite(x) & np.isfinite(y)
    if np.isnan(x).all() or np.isnan(y).all():
        raise ParameterError(
            "these rules do not know how many rows they cover. Pass X and y to count them."
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
        ylabel="precision: share of the class in these",
    )
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
    if len(rates) > 1:
        ax.legend(frameon=False, fontsize=SMALL, markerscale=0.8)
    tidy(ax, "both")
    heights = spread(np.array(list(rates.values())), 0.035 * (high - low))
    for (k, rate), height in zip(rates.items(), heights, strict=True):
        ax.axhline(rate, color=colour_of(k), linewidth=1, linestyle=":")
        ax.annotate(
            f"share of {escaped(classes[k])}",
            (1, height),
            (-2, 2),
            xycoords=ax.get_yaxis_transform(),
            textcoords="offset points",
            ha="right",
            fontsize=SMALL - 1,
        )
    chosen = [r for r in np.flatnonzero(known).tolist() if r < named]
    texts = [str(items[r].rule) for r in chosen]
    name_points(ax, x[chosen], y[chosen], texts, [colour_of(int(winners[r])) for r in chosen])
    return ax


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
    """Draw a score against the number of rules, a line for each learner.

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
    {shared}
    ParameterError
        If something is neither a learner with rules nor two lists of one length, or X and y are
        missing.

    Notes
    -----
    A rule that votes in several rows of an ensemble, about other classes, counts once.  Refitting
    costs what :meth:`formulakern.RuleEnsemble.accuracy_curve` says.

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
    lines: dict[str, Any] = {}
    for name, (numbers, scores) in curves.items():
        k = len(lines)
        style: dict[str, Any] = {"color": colour_of(k), "linewidth": 1.6, "markersize": 3.5}
        style["marker"] = marker_of(k) if len(numbers) <= MAX_LINEAR else None
        (lines[name],) = ax.plot(numbers, scores, label=name, drawstyle="steps-post", **style)
    if last > MAX_LINEAR:
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
    shares = spread((ends - low) / (high - low), NAME_DISTANCE * size / height)
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


# -- what they share -------------------------------------------------------------------------------


def _rules_of(model: Any) -> Any:
    """Return the rules of a model, or the given rules."""
    expected = "a learner of rules that is fitted, a RuleEnsemble, a RuleList or a RuleSet"
    rules = fitted(model, "rules_", expected)
    rules = getattr(rules, "ensemble", rules)
    if not isinstance(rules, (VotingRules, DecisionRules)):
        raise ParameterError(f"this is {type(rules).__name__}; expected {expected}.")
    if not len(rules):
        raise ParameterError("the model has no rules, so there is nothing to draw.")
    return rules


def _conditions_of(model: Any) -> Any:
    """Return the rules that are true or false of a row: no linear terms and monomials."""
    rules = _rules_of(model)
    if isinstance(rules, DecisionRules):
        return rules
    kept = [r for r, term in enumerate(rules.rules) if isinstance(term, Rule)]
    if not kept:
        raise ParameterError("all terms of the model are numbers; expected a rule at least.")
    return rules.take(kept)


def _number_drawn(name: str, number: Any, available: int) -> int:
    if number is None:
        return available
    check_integer(name, number)
    return min(int(number), available)


def _class_legend(ax: Any, classes: list[tuple[int, Any]]) -> None:
    """A square of its colour for each class, below the axes where there are many."""
    from matplotlib.patches import Patch

    patches = [Patch(color=colour_of(k), label=escaped(name)) for k, name in classes]
    ax.legend(handles=patches, frameon=False, fontsize=SMALL, loc="best", handlelength=1.0)


def _noted(ax: Any, shown: int, n_rules: int) -> Any:
    if shown < n_rules:
        ax.set_title(f"{shown} of {n_rules:,} rules", fontsize=SMALL + 1, loc="left")
    return ax
