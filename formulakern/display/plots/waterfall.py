"""How the score of one row comes about, rule by rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.display.plots.base import Display, shown_number
from formulakern.display.plots.rule_bars import label_ends
from formulakern.display.plots.style import SMALL, colour_of, escaped, foreground, rule_axes, tidy
from formulakern.errors import DataError, ParameterError
from formulakern.rules.export.text import said
from formulakern.rules.voting import VotingRules
from formulakern.text import significant

__all__ = ["WaterfallDisplay", "waterfall"]

#: Rules that are drawn by default.
TOP = 12
#: The colour of what speaks for no class.
NEUTRAL = "#7a8791"


@dataclass(eq=False, repr=False)
class WaterfallDisplay(Display):
    """Steps from where every row starts to the score of one row.

    With start b and contributions c₁, c₂, …, bar r goes from b + c₁ + … + c_{r−1} to
    b + c₁ + … + c_r, and the last bar from 0 to their sum.

    Parameters
    ----------
    texts : sequence of R str
        The rules that the row satisfies.
    contributions : ndarray of shape (R,), float64
        What each adds to the score.
    start : float
        b.
    label : str
        What the score is called.
    thresholds : dict of str to float
        Lines that the score is compared with.
    sides : tuple of int
        The numbers of the classes that negative and positive contributions speak for, which have
        the colours of these; of a number, 0 and 1.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn last.
    bars_ : BarContainer
        Start, rules, score.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> shown = WaterfallDisplay(("turbo", "doors = 2"), [3.0, -1.0], 10.0, "price").plot()
    >>> [(float(bar.get_x()), float(bar.get_width())) for bar in shown.bars_]
    [(0.0, 10.0), (10.0, 3.0), (13.0, -1.0), (0.0, 12.0)]
    >>> matplotlib.pyplot.close(shown.figure_)
    """

    texts: tuple[str, ...]
    contributions: FloatArray
    start: float = 0.0
    label: str = "score"
    thresholds: dict[str, float] | None = None
    sides: tuple[int, int] = (0, 1)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        *,
        label: Any = None,
        against: Any = None,
        top: int | None = TOP,
        ax: Any = None,
    ) -> Self:
        """Draw the score of one row; see :func:`waterfall`."""
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
        given_texts = [said(term, float(v)) for term, v in zip(rules.rules, votes, strict=True)]
        order = np.argsort(-np.abs(given), kind="stable")
        order = order[np.abs(given[order]) > 0]
        n = shown_number("top", top, len(order))
        n = len(order) if len(order) == n + 1 else n  # one other rule is no shorter than itself
        texts = [given_texts[r] for r in order[:n]]
        steps = given[order[:n]].tolist()
        if len(order) > n:
            texts.append(f"{len(order) - n} other rules")
            steps.append(float(given[order[n:]].sum()))
        ends = None
        if rules.levels is not None:
            below = [f"{level} up to" for level in map(str, rules.levels[:-1])]
            ends = dict(zip(below, rules.thresholds.tolist(), strict=True))
        return cls(tuple(texts), np.array(steps), start, name, ends, sides).plot(ax)

    def _draw(self, ax: Any) -> Any:
        given = np.asarray(self.contributions, dtype=np.float64)
        ends = self.start + np.concatenate([[0.0], np.cumsum(given)])
        total = float(ends[-1])
        left = np.concatenate([[0.0], ends[:-1], [0.0]])
        right = np.concatenate([ends, [total]])
        texts = ["every row starts with", *self.texts, "the score of this row"]
        ax, _ = rule_axes(ax, texts)
        ink = foreground(ax)
        colours = [NEUTRAL, *(colour_of(self.sides[int(c > 0)]) for c in given), NEUTRAL]
        self.bars_ = ax.barh(range(len(texts)), right - left, 0.62, left, color=colours)
        for place, end in enumerate(ends):
            ax.plot([end, end], [place, place + 1], color=ink, linewidth=0.6, alpha=0.6)
        ax.axvline(0, color=ink, linewidth=0.8, alpha=0.5, zorder=0.9)
        amounts = significant([self.start, *given.tolist(), total])
        signs = [text if text.startswith("-") else f"+{text}" for text in amounts[1:-1]]
        label_ends(ax, right, [amounts[0], *signs, amounts[-1]], left)
        for name, threshold in (self.thresholds or {}).items():
            ax.axvline(threshold, color=ink, linewidth=0.8, linestyle="--")
            text = escaped(f"{name} {threshold:.3g}")
            at = {"xycoords": ax.get_xaxis_transform(), "rotation": 90, "fontsize": SMALL - 1}
            ax.annotate(
                text, (threshold, 0.02), (-2, 0), textcoords="offset points", ha="right", **at
            )
        ax.set_xlabel(escaped(self.label))
        tidy(ax, "x")
        return ax


def waterfall(
    model: Any,
    X: Any = None,
    *,
    label: Any = None,
    against: Any = None,
    top: int | None = TOP,
    ax: Any = None,
) -> Any:
    """How the score of one row comes about: where all rows start, then rule by rule.

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
    ax : matplotlib.axes.Axes, optional
        A new figure by default, as high as the rules need.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    NotFittedError
        If the model was not fitted.
    DataError
        If there is not exactly one row.
    ParameterError
        If the rules have no weights, or a class is not known.
    MissingDependencyError
        If matplotlib is not installed.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import formulakern as fk
    >>> X, y = fk.datasets.monks(1)
    >>> model = fk.HKLClassifier().fit(X, y)
    >>> ax = fk.plot.waterfall(model, X[:1])
    >>> round(float(abs(ax.patches[-1].get_width() - model.decision_function(X[:1])[0])), 6)
    0.0
    >>> matplotlib.pyplot.close(ax.figure)
    """
    options = {"label": label, "against": against, "top": top, "ax": ax}
    return WaterfallDisplay.from_estimator(model, X, **options).ax_


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
