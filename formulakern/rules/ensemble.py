"""RuleEnsemble: a weighted vote of rules that predicts, prints and converts to text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.docstrings import parameters_from
from formulakern.errors import ParameterError
from formulakern.markup import Barred, small_table
from formulakern.optional import data_frame
from formulakern.partitions.lazy_rows import lazily
from formulakern.rules.export.cards import chance, possible_totals, total_cells
from formulakern.rules.export.json import JsonRules
from formulakern.rules.export.languages import ExportMixin, Votes
from formulakern.rules.export.tables import (
    columns_of,
    ensemble_html,
    ensemble_latex,
    ensemble_text,
    tabular,
)
from formulakern.rules.points import rules_with_points
from formulakern.rules.refitting import RIDGE, ensemble_curve, refitted_votes
from formulakern.rules.simplification import JoinedRules, joined_votes, simplified_votes
from formulakern.rules.voting import VotingRules
from formulakern.text import aligned

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False, repr=False)
class RuleEnsemble(ExportMixin, JsonRules, VotingRules):
    """A weighted vote of rules that predicts a class or a number.

    Let r(x) be 1 if the row x satisfies the rule r, else 0; r(x) is the value of a monomial or a
    linear term.  With votes V the scores of x are

        s_k(x) = intercept_k + Σ_r V_rk · r(x).

    With classes, the first class with the largest score is predicted.  Without classes, the only
    score is the predicted number.  With levels (ordered classes), level k is predicted if the only
    score is above the threshold θ_{k−1} and at most θ_k.

    Each rule is a row of V, with a vote for each class or one for a number.  :meth:`of` builds an
    ensemble from :class:`WeightedRule` objects, and iterating over an ensemble yields them.

    Parameters
    ----------
    rules : tuple of R rules, monomials or linear terms
        By convention in order of decreasing weight.
    votes : ndarray of shape (R, K), float64
        The votes V.
    classes : tuple of K, two at least, or None
        None for a predicted number; then K = 1.
    intercept : ndarray of shape (K,), float64
        The scores before any rule.
    support : ndarray of shape (R,), int64
        The number of training rows in which each rule is true.
    coverage, precision : ndarray of shape (R,), float64
        Share of the training rows that satisfy each rule, and share of these rows that belong to
        its class, weighted; nan if unknown.
    target : str
        The name of the predicted number.
    base_rate : ndarray of shape (R,), float64
        The share of that class among all training rows; one number counts for all rules.
    levels : tuple of L, or None
        The ordered classes, lowest first, if ``classes`` is None.
    thresholds : ndarray of shape (L − 1,), float64
        The thresholds θ in ascending order.  A level between equal thresholds is never predicted.
    expected : ndarray of shape (R,), float64
        The precision that the scores of the other rules suggest; nan if unknown.

    Raises
    ------
    ParameterError
        If shapes do not fit, or votes, intercepts or thresholds are not finite or not in order.

    Examples
    --------
    >>> from formulakern import WeightedRule, rule
    >>> poisonous = WeightedRule(rule("odor = foul"), 2.0, "p", "e", 2160, 0.27, 1.0, 0.48)
    >>> ensemble = RuleEnsemble.of([poisonous], ("e", "p"), (1.0, 0.0))
    >>> ensemble.votes
    array([[-2.,  2.]])
    >>> ensemble.predict({"odor": ["foul", "none"]})
    array(['p', 'e'], dtype='<U1')
    >>> print(ensemble)
    Add the weights of the rules that hold. Predict p if (for p) - (for e) > 0.5, else e.
    weight  class  coverage  precision  base rate  rule
       2.0  p         27.0%     100.0%      48.0%  odor = foul

    With more than two classes, each rule has a vote for each.

    >>> petal = WeightedRule(rule("petal >= 3"), -1.5, "a", votes=(-1.5, 1.0, 0.5))
    >>> print(RuleEnsemble.of([petal], "abc"))
    Add the votes of the rules that hold. Predict the class with the largest sum.
       a     b     c  rule
    -1.5  +1.0  +0.5  petal >= 3

    Levels make a scorecard.

    >>> from formulakern.rules.features import LinearTerm
    >>> age, smoker = LinearTerm("age", 20, 70), rule("smoker = yes")
    >>> cost = [WeightedRule(smoker, 20.0), WeightedRule(age, 15.0)]
    >>> levels, ends = ("low", "middle", "high"), (5.0, 20.0)
    >>> risk = RuleEnsemble.of(cost, target="risk", levels=levels, thresholds=ends)
    >>> print(risk)
    risk by the sum of weights: low up to 5, middle up to 20, high above
    weight  rule
      20.0  smoker = yes
      15.0  +0.3 per unit of age (from 20 to 70)
    A linear term from a to b rises from 0 at a to its weight at b, and is constant outside.
    >>> risk.predict({"smoker": ["no", "yes", "yes"], "age": [30, 20, 40]})
    array(['low', 'middle', 'high'], dtype='<U6')
    """

    FORMAT = "formulakern/ensemble/3"

    def simplified(self, domains: Any = None, missing: bool = True) -> Self:
        """Return fewer and shorter rules with the same scores on every table.

        Conditions that follow from the rest of their rule are removed.  Rules that are true of the
        same rows become one rule whose votes are added.  So do opposite rules r and s, since v·r(x)
        + w·s(x) = w + (v − w)·r(x).  Rules that are always true become part of the intercept.
        Rules that are never true, or whose votes cancel, are removed.  Every change is proved.

        Parameters
        ----------
        domains : mapping of column to allowed values or ``int``, or table, optional
            The possible entries, as for :func:`formulakern.exhaustive`; all entries by default.
        missing : bool
            True if entries of columns without allowed values may be missing.  Both x = 3 and x != 3
            are false for a missing entry, so they are opposite only without missing entries.

        Returns
        -------
        RuleEnsemble
            In order of decreasing weight; scores are equal up to rounding.  With more than two
            classes, the precision of a rule is nan if its largest vote changes to another class.

        Examples
        --------
        >>> from formulakern import WeightedRule, rule
        >>> listed = ["legs >= 1", "legs <= 0", "tail & legs >= 2 & legs >= 4", "true"]
        >>> items = [WeightedRule(rule(text), w) for text, w in zip(listed, (3.0, 1.0, 2.0, 0.5))]
        >>> print(RuleEnsemble.of(items).simplified({"legs": int}, missing=False))
        y = 1.5 + Σ weight · rule
        weight  rule
           2.0  legs >= 1
           2.0  tail & legs >= 4
        """
        return simplified_votes(self, domains, missing)

    def joined(
        self,
        X: Any,
        tolerance: float = 0.0,
        *,
        max_changed: int = 0,
        domains: Any = None,
        missing: bool = True,
    ) -> JoinedRules[Self]:
        """Return fewer rules with nearly the same scores on given rows.

        First, :meth:`simplified` joins rules.  Then consider rules r and s that differ in one
        condition: bounds of one column, or opposites (``age >= 30`` and ``age >= 31``; ``x = 3``
        and ``x != 3``).  The rule s may be removed: v·r + w·s becomes (v + w)·r, or w + (v − w)·r
        if s is mostly the opposite of r.  The pair with the least sum of squared changes comes
        first.  Only pairs are joined that keep every score s_k within the tolerance of its first
        value, ::

            max_i max_k |s_k(x_i) − s'_k(x_i)| ≤ tolerance,

        and all but ``max_changed`` predictions.

        Parameters
        ----------
        X : DataFrame, mapping of columns, array-like or Table of n rows
            For example, the training table.
        tolerance : float ≥ 0, default=0
            The largest change of a score.  0 joins rules that are equal or opposite on all rows.
        max_changed : int ≥ 0, default=0
            The number of rows whose prediction may change.
        domains, missing
            The possible entries, as for :meth:`simplified`.

        Returns
        -------
        JoinedRules
            The ensemble ``rules``, and its changes: ``change``, ``n_changed``, ``replaced``.

        Raises
        ------
        DataError
            If a column is absent, or its entries cannot be compared.
        ParameterError
            If a number is out of its range.

        Notes
        -----
        P pairs are compared in O(Pn).  Each step sorts the remaining pairs and tries them in this
        order until one may be joined; with K classes, a trial costs O(nK).

        Examples
        --------
        >>> from formulakern import WeightedRule, rule
        >>> listed = {"age >= 30": 2.0, "age >= 31": 0.5, "age <= 60": 0.25, "age >= 61": 0.75}
        >>> ensemble = RuleEnsemble.of(WeightedRule(rule(text), w) for text, w in listed.items())
        >>> print(ensemble.joined({"age": [20, 25, 29, 30, 35, 44, 58, 61, 70]}, tolerance=0.5))
        y = 0.25 + Σ weight · rule
        weight  rule
           2.5  age >= 30
           0.5  age >= 61
        Sums of the rules about a single column:
          age: below 30: 0; 30 to below 61: +2.5; from 61: +3.0
        2 rules joined: scores change by at most 0.5; 0 of 9 predictions change
        """
        return joined_votes(self, X, tolerance, max_changed, domains, missing)

    def refitted(self, table: Any, y: Any, ridge: float = RIDGE) -> Self:
        r"""Return the same rules with new weights, without the penalty of learning.

        With the scores s_k(x_i) = b_k + Σ_r β_r D_rk r(x_i), where β_r D_rk are the new votes,

            minimise  Σ_i (ln Σ_k exp(s_k(x_i)) − s_{y_i}(x_i))  +  ridge/2 · Σ_r β_r².

        D_r is 1 at the only class with a vote; 1 and −1 at two classes with the votes w and −w.  A
        rule with other votes is one term of the sum for each class with a vote, with 1 there.  If a
        number is predicted, the errors are squared, and the penalty is ridge·Σ_r β_r².  Classes
        without rows are never predicted.  Costs a few steps of O(n·R²·K).

        Parameters
        ----------
        table : DataFrame, mapping of columns, array-like or Table of n rows
            Training rows.
        y : array-like of shape (n,)
            Their classes, or numbers.
        ridge : float, default=0.001
            Above 0.  Without a ridge, weights have no finite optimum if rules separate the classes.
            The default keeps them finite and hardly changes other weights.  Use a larger ridge,
            such as 1, if few rows distinguish the rules.

        Returns
        -------
        RuleEnsemble
            In order of decreasing weight, with the same supports, precisions and base rates.  If
            the largest vote of a rule changes to the other of two classes, precision and base rate
            are complemented; with more classes they are nan.

        Raises
        ------
        DataError
            If ``y`` does not have one class per row, or has an unknown class.
        ParameterError
            If the classes are levels.

        Examples
        --------
        >>> from formulakern import WeightedRule, rule
        >>> shrunken = RuleEnsemble.of([WeightedRule(rule("size >= 3"), 0.01, 1, 0)], (0, 1))
        >>> table = {"size": [1, 1, 1, 1, 5, 5, 5, 5]}
        >>> found = shrunken.refitted(table, [0, 0, 0, 1, 1, 1, 1, 0], ridge=1e-6)
        >>> found.intercept.round(3), found[0].weight  # ln 1/3, and half of ln 9
        (array([ 0.   , -1.099]), 1.0986...)
        """
        return refitted_votes(self, table, y, ridge)

    def to_points(
        self, largest: int = 10, table: Any = None, y: Any = None, sample_weight: Any = None
    ) -> ScoreCard:
        r"""Return a score card: rules for two classes with small integer points.

        With points p_r, a row x has the total T(x) = Σ_r p_r · r(x), and ::

            P(second class | x) = 1/(1 + exp(−(T(x) − start)/unit)).

        *With rows*, points, ``start`` and ``unit`` > 0 are chosen to ::

            minimise  L = 1/W (Σ_i w_i ln(1 + exp(−z_i·(T(x_i) − start)/unit)) + ¼ Σ_r (p_r/unit)²)

        for ``|p_r| ≤ largest``, where z_i is 1 for the second class and −1 for the first, w_i is
        the weight of a row, and W the sum of all w_i.  The penalty keeps probabilities away from 0
        and 1 if there are few rows.  The search starts from several roundings of real weights.  It
        changes the points of one or two rules at a time, until no tried change lowers L.
        ``bound`` is a proven lower bound of L over all real points of these rules.

        *Without rows*, the weights β_r of the ensemble are rounded.  With β_r ≈ p_r/unit, the
        largest error of any score is ``½ Σ_r |β_r − p_r/unit|``; points, ``start`` and ``unit``
        minimise it.

        A linear term becomes at most three steps ``x >= c``.  Their cut points separate the classes
        of the rows, or without rows divide the range into equal parts.

        Parameters
        ----------
        largest : int ≥ 1, default=10
            The largest number of points of a rule, of either sign.
        table : DataFrame, mapping of columns, array-like or Table of n rows, optional
            Training rows.
        y : array-like of shape (n,), optional
            Their classes.
        sample_weight : array-like of shape (n,), optional
            The row weights w_i ≥ 0, 1 by default; rows of weight 0 are left out.  Cut points,
            support and coverage count rows without weights.

        Returns
        -------
        ScoreCard
            The rules whose points are not 0, in order of decreasing points.

        Raises
        ------
        DataError
            If ``y`` or ``sample_weight`` does not fit the rows, or ``y`` has only one class.
        ParameterError
            If there are not two classes, a rule is a monomial, or only one of ``table`` and ``y``
            is given.

        Notes
        -----
        The bound follows from ln(1 + exp(−z)) ≥ H(a) − a·z for all a in [0, 1], where H is the
        entropy in nats.  A step of the search costs O(n·R²), and a trial O(n·R).

        References
        ----------
        J. Liu, C. Zhong, B. Li, M. Seltzer, C. Rudin, "FasterRisk: fast and accurate interpretable
        risk scores", NeurIPS 2022, arXiv:2210.05846.

        B. Ustun, C. Rudin, "Learning optimized risk scores", JMLR 20(150), 2019.

        Examples
        --------
        >>> from formulakern import WeightedRule, rule
        >>> listed = {"age >= 60": 1.4, "smoker = yes": 0.8, "sport = yes": -0.3}
        >>> items = [WeightedRule(rule(text), w, "ill") for text, w in listed.items()]
        >>> print(RuleEnsemble.of(items, ("well", "ill"), [0.7, 0.0]).to_points(5))
        Add the points of the rules that hold. Predict ill if the total is 3 or more, else well.
        points  rule
            +5  age >= 60
            +3  smoker = yes
            -1  sport = yes
        <BLANKLINE>
        total  probability of ill  class
           -1               26.7%  well
            0               32.5%  well
            2               45.8%  well
            3               52.7%  ill
            4               59.6%  ill
            5               66.2%  ill
            7               77.4%  ill
            8               81.9%  ill
        """
        items, found = rules_with_points(self, largest, table, y, sample_weight)
        known = {name: getattr(found, name) for name in ("start", "unit", "loss", "bound")}
        return replace(ScoreCard.of(items, target=self.target, levels=self.classes), **known)

    def accuracy_curve(
        self,
        table: Any,
        y: Any,
        max_rules: int | None = None,
        *,
        refit: tuple[Any, Any] | None = None,
        ridge: float = RIDGE,
    ) -> FloatArray:
        """Return the accuracy of the first k rules alone, for k = 0, 1, 2, …; R² for numbers.

        Parameters
        ----------
        table : DataFrame, mapping of columns, array-like or Table of n rows
        y : array-like of shape (n,)
            Classes, or numbers.  A class that is not in the ensemble is never predicted.
        max_rules : int, optional
            The largest k; all by default.
        refit : (table, y) of training rows, optional
            For each k, the weights of the first k rules are refitted to these rows by
            :meth:`refitted`.  By default rules keep the weights and the intercept that were learned
            for all rules together, so k refitted rules can be more accurate.  Refitting on m rows
            costs O(m·R³·K) in all.
        ridge : float, default=0.001
            The penalty on the squared weights; see :meth:`refitted`.

        Returns
        -------
        ndarray of shape (number of rules + 1,), float64

        Raises
        ------
        DataError
            If there are no rows, or ``y`` does not have one class or finite number per row.
        ParameterError
            If ``refit`` is given and the classes are levels.

        Examples
        --------
        >>> from formulakern import WeightedRule, rule
        >>> items = [WeightedRule(rule("a"), 3.0, 1, 0), WeightedRule(rule("b"), 1.0, 1, 0)]
        >>> ensemble = RuleEnsemble.of(items, (0, 1), [7.0, 0.0])
        >>> table, y = {"a": [1, 1, 0, 0], "b": [1, 0, 1, 0]}, [1, 1, 0, 0]
        >>> ensemble.accuracy_curve(table, y)
        array([0.5 , 0.5 , 0.75])
        >>> ensemble.accuracy_curve(table, y, refit=(table, y))
        array([0.5, 1. , 1. ])
        """
        return ensemble_curve(self, table, y, max_rules, refit, ridge)

    def to_frame(self) -> pandas.DataFrame:
        """Return one row per rule: weight, class, support, coverage, precision, base_rate, rule.

        With more than two classes, the votes for each class are added.  If a number is predicted,
        class, precision and base rate are left out.
        """
        return data_frame(columns_of(self))

    def __str__(self) -> str:
        return ensemble_text(self)

    def _repr_html_(self) -> str:
        return ensemble_html(self)

    def _exported(self) -> Votes:
        levels = self.levels is not None
        return Votes(
            self.rules,
            self.votes,
            self.intercept.tolist(),
            self.levels if levels else self.classes,
            self.thresholds.tolist() if levels else None,
            self.target,
            is_opposite=self.is_opposite,
        )

    def to_latex(self, top: int | None = None) -> str:
        r"""Return a LaTeX ``tabular`` with a line per rule: weight and class (or votes), and text.

        Coverage, precision and base rate are included if known.

        Parameters
        ----------
        top : int, optional
            The number of rules shown; all by default.

        Examples
        --------
        >>> from formulakern import RuleEnsemble, WeightedRule, rule
        >>> large = WeightedRule(rule("size >= 3"), 0.5, "large", "small")
        >>> print(RuleEnsemble.of([large], ("large", "small")).to_latex())
        \begin{tabular}{rll}
        weight & class & rule \\
        \hline
        0.5 & $\text{large}$ & $\text{size} \geq 3$ \\
        \end{tabular}
        """
        return ensemble_latex(self if top is None else self.head(top))


@parameters_from()
@dataclass(frozen=True, eq=False, repr=False)
class ScoreCard(RuleEnsemble):
    """A score card: integer points for rules of two classes; see :meth:`RuleEnsemble.to_points`.

    The total T(x) of a row x is the sum of the points of the rules that it satisfies.  The second
    class has the probability 1/(1 + exp(−(T(x) − start)/unit)) and is predicted if T(x) > start.
    The classes are ``levels``.

    Parameters
    ----------
    votes : ndarray of shape (R, 1), float64
        The points.
    classes : None
        The classes are the levels.
    levels : tuple of two
        The classes.
    thresholds : ndarray of shape (1,)
        ⌊start⌋, the largest total for the first class; a given value is ignored.
    start : float
        The total at which both classes have probability ½.
    unit : float > 0
        The number of points that multiply the odds by e.
    loss : float, optional
        The penalised loss L on the training rows; see :meth:`RuleEnsemble.to_points`.
    bound : float, optional
        A lower bound of the loss of all cards with these rules.

    Raises
    ------
    ParameterError
        If points are not integers, there are not two levels, or ``unit`` is not positive.

    Examples
    --------
    >>> from formulakern import WeightedRule, rule
    >>> ensemble = RuleEnsemble.of([WeightedRule(rule("size >= 3"), 0.5, "L", "S")], ("S", "L"))
    >>> card = ensemble.to_points(10, {"size": [1, 2, 2, 3, 4, 5]}, ["S", "S", "L", "S", "L", "L"])
    >>> print(card)
    Add the points of the rules that hold. Predict L if the total is 1 or more, else S.
    points  coverage  rule
        +1     50.0%  size >= 3
    <BLANKLINE>
    total  probability of L  class
        0             42.9%  S
        1             57.1%  L
    The penalised log loss on training rows is 0.6694; no card with these rules is below 0.6693.
    >>> card.predict_proba({"size": [2, 7]}).round(3)
    array([[0.571, 0.429],
           [0.429, 0.571]])
    """

    FORMAT = "formulakern/score-card/1"
    AMOUNT = "points"

    start: float = 0.0
    unit: float = 1.0
    loss: float | None = None
    bound: float | None = None

    def __post_init__(self) -> None:
        known = math.isfinite(self.start) and 0 < self.unit < math.inf
        if not known or self.levels is None or len(self.levels) != 2:
            raise ParameterError(
                f"a score card of {self.levels!r} with start {self.start!r} and unit "
                f"{self.unit!r}; expected two levels, a finite start, and a unit above 0."
            )
        object.__setattr__(self, "thresholds", [math.floor(self.start)])
        super().__post_init__()
        if (self.votes % 1).any() or (self.intercept % 1).any():
            raise ParameterError(
                f"points are {self.votes[:, 0].tolist()}; expected integers. Round weights with "
                "to_points()."
            )

    def _key(self) -> tuple[Any, ...]:
        return (*super()._key(), self.start, self.unit, self.loss, self.bound)

    def take(self, positions: Sequence[int]) -> Self:
        """Return the rules at these positions; the loss is unknown if some are left out."""
        taken = super().take(positions)
        return taken if len(taken) == len(self) else replace(taken, loss=None, bound=None)

    @lazily
    def predict_proba(self, table: Any) -> FloatArray:
        """Return the probability of each class, shape (n, 2)."""
        logits = (self.scores(table) - self.start) / self.unit
        return np.exp(-np.logaddexp(0.0, np.hstack([logits, -logits])))

    def joined(self, X: Any, *given: Any, **options: Any) -> JoinedRules[Self]:
        """Return fewer rules with nearly the same totals on given rows; their loss is unknown."""
        found = super().joined(X, *given, **options)
        return replace(found, rules=replace(found.rules, loss=None, bound=None))

    def read_total(self, total: float) -> str:
        """Return a total and its probability in words."""
        yes = f"probability of {(self.levels or ())[1]}"
        return f"{total:+.0f} points, {yes} {chance(total, self.start, self.unit):.1%}"

    def total_cells(self) -> tuple[dict[str, list[str]], list[float]]:
        """Return totals, probabilities and classes as columns of text, and the probabilities."""
        shift = self.start - float(self.intercept[0])
        return total_cells(self.votes[:, 0], shift, self.unit, self.levels or ())

    def about_totals(self) -> str:
        """Return a note if ``total_cells`` leaves out totals between others, else an empty text."""
        shown = [int(text.split()[0]) for text in self.total_cells()[0]["total"]]
        every = possible_totals([int(p) for p in self.votes[:, 0]])
        if len(shown) == sum(shown[0] <= total <= shown[-1] for total in every):
            return ""
        return "A total between two lines has a probability between theirs."

    @property
    def gap(self) -> float:
        """The gap ``(loss − bound) / loss``; nan without training rows."""
        if self.loss is None or self.bound is None:
            return math.nan
        return (self.loss - self.bound) / self.loss if self.loss > 0 else 0.0

    def claim(self) -> str:
        """Return the loss and its bound in a sentence; an empty text without training rows."""
        if self.loss is None or self.bound is None:
            return ""
        loss, bound = math.ceil(1e4 * self.loss) / 1e4, math.floor(1e4 * self.bound) / 1e4
        best = f"no card with these rules is below {bound:.4f}"
        return f"The penalised log loss on training rows is {loss:.4f}; {best}."

    def __str__(self) -> str:
        cells, _ = self.total_cells()
        rows = [[*cells], *zip(*cells.values(), strict=True)]
        totals = [line.rstrip() for line in aligned(rows, ">><")]
        about = filter(None, [self.about_totals(), self.claim()])
        return "\n".join([ensemble_text(self), "", *totals, *about])

    def _repr_html_(self) -> str:
        cells, chances = self.total_cells()
        total, texts, classes = cells.values()
        bars = [Barred(text, 0.0, chance) for text, chance in zip(texts, chances, strict=True)]
        rows = [*zip(total, bars, classes, strict=True)]
        foot = f"{self.about_totals()} {self.claim()}".strip()
        return ensemble_html(self) + small_table([*cells], rows, ">><", foot=foot)

    def _exported(self) -> Votes:
        whole: Any = self.votes.astype(np.int64)
        return replace(
            super()._exported(),
            votes=whole,
            intercept=[int(self.intercept[0])],
            thresholds=[math.floor(self.start)],
        )

    def to_latex(self, top: int | None = None) -> str:
        r"""Return two LaTeX ``tabular``: one line per rule, and one line per total.

        Parameters
        ----------
        top : int, optional
            The number of rules shown; all by default.
        """
        cells, _ = self.total_cells()
        totals = tabular({title: [title, *texts] for title, texts in cells.items()})
        return f"{super().to_latex(top)}\n\n{totals}"
