"""RuleEnsemble: a weighted vote of rules that predicts, prints, and is kept as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from formulakern.arrays import FloatArray
from formulakern.optional import data_frame
from formulakern.rules.export.json import JsonRules
from formulakern.rules.export.languages import Votes, Written
from formulakern.rules.export.tables import columns_of, ensemble_html, ensemble_latex, ensemble_text
from formulakern.rules.refitting import RIDGE, ensemble_curve, refitted_votes
from formulakern.rules.simplification import JoinedRules, joined_votes, simplified_votes
from formulakern.rules.voting import VotingRules

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False, repr=False)
class RuleEnsemble(Written, JsonRules, VotingRules):
    """A weighted vote of rules, which predicts a class or a number.

    Let r(x) be 1 if the row x satisfies the rule r, else 0; a monomial and a linear term have
    their values.  With votes V the scores of x are

        s_k(x) = intercept_k + Σ_r V_rk · r(x).

    With classes, the one of the largest score is predicted, the first one of several.  Without
    classes there is one score, the predicted number.  With levels, which are ordered classes, there
    is one score too, and level k is predicted if it is above θ_{k−1} and at most θ_k, the
    thresholds.

    A row of V has one of three shapes: w for one class and −w for another (pairwise); w, of any
    sign, for one class (against the rest); one number (regression).  :meth:`of` builds an ensemble
    from such rows, and iterating over an ensemble yields them, as :class:`WeightedRule`.

    Parameters
    ----------
    rules : tuple of R rules, monomials or linear terms
        By convention the largest weight first.
    votes : ndarray of shape (R, K), float64
        V.
    classes : tuple of K, two at least, or None
        None for a predicted number; then K = 1.
    intercept : ndarray of shape (K,), float64
        The scores before any rule.
    support : ndarray of shape (R,), int64
        Number of training rows in which each rule is true.
    coverage, precision : ndarray of shape (R,), float64
        As in :class:`WeightedRule`.
    target : str
        The name of the predicted number.
    base_rate : ndarray of shape (R,), float64
        As in :class:`WeightedRule`; one number counts for all.
    levels : tuple of L, or None
        The ordered classes, lowest first; only without ``classes``.
    thresholds : ndarray of shape (L − 1,), float64
        θ, in ascending order.  A level that ends at its beginning is never predicted.

    Raises
    ------
    ParameterError
        If shapes do not fit, votes, intercepts or thresholds are not finite, thresholds are not in
        order, or a row of V has another shape.

    Notes
    -----
    A rule of negative weight is printed against its class, with the weight without its sign; its
    precision, still the share of that class, is below the base rate.

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
    p where the weights for it exceed those for e by more than 0.5, else e
    weight  speaks  coverage  precision   base  rule
       2.0  for p      27.0%     100.0%  48.0%  odor = foul

    Levels make it a scorecard.

    >>> from formulakern.rules.features import LinearTerm
    >>> age, smoker = LinearTerm("age", 20, 70), rule("smoker = yes")
    >>> cost = [WeightedRule(smoker, 20.0), WeightedRule(age, 15.0)]
    >>> levels, ends = ("low", "middle", "high"), (5.0, 20.0)
    >>> risk = RuleEnsemble.of(cost, target="risk", levels=levels, thresholds=ends)
    >>> print(risk)
    risk by Σ weight · rule: low up to 5, middle up to 20, high above
    weight  rule
      20.0  smoker = yes
      15.0  age from 20 to 70, 0.3 per unit
    >>> risk.predict({"smoker": ["no", "yes", "yes"], "age": [30, 20, 40]})
    array(['low', 'middle', 'high'], dtype='<U6')
    """

    FORMAT = "formulakern/ensemble/3"

    def simplified(self, domains: Any = None, missing: bool = True) -> Self:
        """Fewer and shorter rules of the same scores on every table, by logic.

        Conditions that others of their rule imply are removed.  Rules that are true of the same
        rows become one, whose votes are added; so do opposite rules r and s, since v·r(x) + w·s(x)
        = w + (v − w)·r(x).  Rules that are always true become part of the intercept; rules that are
        never true, or whose votes cancel, are removed.  Each class keeps its votes: of three
        classes, one vote for a against b and one for a against c stay two.

        Parameters
        ----------
        domains : mapping of column to allowed values or ``int``, or table, optional
            The possible entries, as for :func:`formulakern.exhaustive`; by default all.
        missing : bool
            Whether entries of columns without allowed values may be missing.  Both x = 3 and x != 3
            are false for a missing entry, so they are opposite only without missing entries.

        Returns
        -------
        RuleEnsemble
            Largest weight first; scores are equal up to rounding.  The precision of a rule that
            comes to vote for another one of more than two classes is nan.

        Notes
        -----
        Every change is proved by a decision diagram or by cases within their limits.

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
        """Fewer rules of nearly the same scores on given rows.

        First, rules are joined by :meth:`simplified`.  Then, of two rules r and s with votes for
        the same classes and the same conditions but one each, bounds of one column or opposites
        (``age >= 30`` and ``age >= 31``; ``x = 3`` and ``x != 3``), s may be removed: v·r + w·s
        becomes (v + w)·r, or w + (v − w)·r if s is mostly the opposite of r.  The pair with the
        least sum of squared changes goes first, among all that keep every score s_k within the
        tolerance of its first value, ::

            max_i max_k |s_k(x_i) − s'_k(x_i)| ≤ tolerance,

        and all predictions but ``max_changed``.

        Parameters
        ----------
        X : DataFrame, mapping of columns, array-like or Table of n rows
            Such as the training table.
        tolerance : float ≥ 0, default=0
            In units of the scores.  0 joins rules that are equal or opposite on all rows.
        max_changed : int ≥ 0, default=0
            The number of rows whose prediction may change.
        domains, missing
            As for :meth:`simplified`.

        Returns
        -------
        JoinedRules
            ``rules``, and their changes: ``change``, ``n_changed``, ``replaced``.

        Raises
        ------
        DataError
            If a column is absent, or cannot be compared.
        ParameterError
            If a number is out of its range.

        Notes
        -----
        P pairs are compared in O(Pn).  Each step sorts the remaining pairs and tries them in this
        order, in O(nK) each, K the number of classes, until one may be joined.

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
        2 rules joined: scores change by at most 0.5, 0 of 9 predictions
        """
        return joined_votes(self, X, tolerance, max_changed, domains, missing)

    def refitted(self, table: Any, y: Any, ridge: float = RIDGE) -> Self:
        r"""Return the same rules with new weights, without the penalty of learning.

        With the scores s_k(x_i) = b_k + Σ_r β_r D_rk r(x_i), where β_r D_rk are the new votes,

            minimise  Σ_i (ln Σ_k exp(s_k(x_i)) − s_{y_i}(x_i))  +  ridge/2 · Σ_r β_r².

        D_r is 1 at the class that r votes for, and −1 at the one that it votes against, if any.
        If a number is predicted, the errors are squared, and the penalty is ridge·Σ_r β_r².

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
            Largest weight first, with the same supports, precisions and base rates.  A rule for one
            class against another whose weight changes its sign votes for the other one, and has
            their complements, or nan if there are more than these two classes.

        Raises
        ------
        DataError
            If there is not a class for every row, or it is not among those of the ensemble.
        ParameterError
            If the classes are levels.

        Notes
        -----
        Some steps of Newton's method, O(n·R²·K) each.  Classes without rows are never predicted.

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

    def accuracy_curve(
        self,
        table: Any,
        y: Any,
        max_rules: int | None = None,
        *,
        refit: tuple[Any, Any] | None = None,
        ridge: float = RIDGE,
    ) -> FloatArray:
        """The accuracy of the first k rules alone, k = 0, 1, 2, …; R² of a predicted number.

        Parameters
        ----------
        table : DataFrame, mapping of columns, array-like or Table of n rows
        y : array-like of shape (n,)
            Classes, or numbers.  Classes that the ensemble does not know are never right.
        max_rules : int, optional
            The largest k; all by default.
        refit : (table, y) of training rows, optional
            The weights of the first k rules are refitted to these rows for each k, as by
            :meth:`refitted`.  By default rules keep their weights, and the intercept stays, which
            are for all rules together: k of them can do better than that.
        ridge : float, default=0.001
            See :meth:`refitted`.

        Returns
        -------
        ndarray of shape (number of rules + 1,), float64

        Raises
        ------
        DataError
            If there is not a class or finite number for every row, or no row.
        ParameterError
            If weights are to be refitted and the classes are levels.

        Notes
        -----
        Refitting begins at the weights for k − 1 and costs some steps of O(m·k²·K), m the number of
        training rows; O(m·R³·K) for all.

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
        """One row per rule: weight, class, against, support, coverage, precision, base_rate, rule.

        Class, against, precision and base rate are left out where a number is predicted.
        """
        return data_frame(columns_of(self))

    __str__ = ensemble_text

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
        r"""A LaTeX ``tabular`` with one line per rule: weight, class, and the rule.

        Coverage, precision and base rate are included if known.

        Parameters
        ----------
        top : int, optional
            Only the first rules; all by default.

        Examples
        --------
        >>> from formulakern import RuleEnsemble, WeightedRule, rule
        >>> large = WeightedRule(rule("size >= 3"), 0.5, "large", "small")
        >>> print(RuleEnsemble.of([large], ("large", "small")).to_latex())
        \begin{tabular}{rll}
        weight & speaks & rule \\
        \hline
        0.5 & for $\text{large}$ & $\text{size} \geq 3$ \\
        \end{tabular}
        """
        return ensemble_latex(self if top is None else self.head(top))
