"""HKLClassifier: a weighted sum of rules with a proof of optimality among all conjunctions."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.checks import check_choice, check_number
from formulakern.deadline import Deadline, TimeIsOver
from formulakern.docstrings import parameters_from
from formulakern.errors import ParameterError
from formulakern.estimators.hkl.base import (
    MIN_CLASS_SHARE,
    STOPPED_EARLY,
    HierarchicalClassifier,
    problems_of,
    seen_rows,
)
from formulakern.estimators.monotone import check_one_score
from formulakern.estimators.row_counts import RowCounts
from formulakern.estimators.rule_path import share_of
from formulakern.estimators.validation import TrainingData
from formulakern.learning.hkl.ordinal import decision_thresholds
from formulakern.learning.hkl.rows import Rows
from formulakern.rules.features import Feature
from formulakern.rules.voting import WeightedRule

LOSSES = ("hinge", "squared_hinge", "logistic")


@parameters_from()
@dataclass(eq=False, repr=False)
class HKLClassifier(HierarchicalClassifier):
    r"""Hierarchical kernel learning: a weighted sum of rules, optimal among all conjunctions.

    The propositions of the table are x = v, and x ≤ c and x ≥ c at every gap between two values of
    a numeric column.  For each set w of propositions let φ_w(x) be 1 if all are true, else 0.  For
    each numeric column let z_j(x), a linear term, be its value clipped to the 2.5 % and 97.5 %
    quantiles and scaled to [0, 1].  Over weights f for all 2^p conjunctions, g for the linear
    terms, and an intercept b, ::

        minimise  ½ (Σ_v d_v ‖f_{D(v)}‖_ρ + Σ_j |g_j|)²  +  C Σ_i s_i ℓ(y_i s(x_i)),
        s(x) = Σ_w f_w φ_w(x) + Σ_j g_j z_j(x) + b,

    where D(v) are the supersets of v and d_v = a^|v|.  A long conjunction pays for all its subsets,
    so most weights are zero and rules are short.  For ρ = 1 the sum is Σ_w (1 + a)^|w| ‖f_w‖.  A
    small set of conjunctions grows until its dual solution proves that no weights on any
    conjunctions are better by more than ``tol``::

        lower_bound_ ≤ optimum ≤ objective_,   objective_ − lower_bound_ ≤ tol · objective_.

    With more than two classes each class has a function s_k.  The logistic loss learns the
    functions together by the multinomial loss ln Σ_k e^{s_k} − s_y.  For ρ = 1 they share their
    rules, and ‖f_w‖ is the Euclidean norm of the weights of all classes; for ρ > 1 their penalties
    are added.  The other losses learn each class against the rest.

    *Ordered classes.*  With ``ordinal=True`` there is one score s(x) = Σ_w f_w φ_w(x) +
    Σ_j g_j z_j(x), and unpenalised thresholds θ_1 ≤ … ≤ θ_{K−1}: P(y > k | x) =
    1/(1 + e^{θ_k − s(x)}).  The loss of a row is Σ_k ln(1 + e^{−y_k (s(x) − θ_k)}), where y_k = 1
    if its class is above the k-th, else −1 (the all-threshold loss).  Classes are sorted by NumPy,
    or have the order of a pandas categorical.

    *Decisions.*  The class with the largest s_k − τ ln π_k wins, where π_k is its share in training
    (for two classes: the second if s > τ ln π_2/π_1).  τ = 0 favours accuracy and τ = 1 balanced
    accuracy; τ = ½ favours macro F1 at some cost of accuracy.  The probabilities of
    ``predict_proba`` are not adjusted.  For ordered classes the largest ln P(y = k | x) − τ ln π_k
    wins.  This class never falls as s(x) rises, so the thresholds of ``rules_`` on s(x) decide.

    Parameters
    ----------
    rho : float in [1, 2], default=1.0
        ρ.  1 gives few rules with cut points anywhere, and is the fastest.  2 is Bach's
        hierarchical kernel learning, in which a rule with weight brings in all its parts.  Above 1
        columns are cut at the quantiles of the encoder.
    C : "auto" or float, default="auto"
        Penalty parameter of errors.  ``"auto"`` is 6000/√n, where n is the sum of the row weights
        (times K − 1 for K ordered classes, whose rows have K − 1 losses).
    depth_penalty : "auto" or float ≥ 1, default="auto"
        a; larger values give shorter rules.  ``"auto"`` is 3.  For tables without numeric columns,
        with a limit of rules and the logistic loss, it is 1 and ``C="auto"`` is 800 (800/√(K − 1)
        for K ordered classes).  For ``rho=1`` and tables of more than 80 columns or 300,000
        entries, whose rules have at most two conditions, it is 2; ``C="auto"`` and the penalty of
        linear terms are 3/4 of the usual ones.
    max_rules : "auto", int or None, default="auto"
        The limit of rules and linear terms, for all classes together.  ``"auto"``: 15.  If the
        optimum has more, a search selects the best rules near it and refits their weights; ``gap_``
        then bounds the cost of the limit.  None: no limit.
    loss : {"logistic", "hinge", "squared_hinge"}, default="logistic"
        ℓ(z): ln(1 + e^{−z}), max(0, 1 − z), or max(0, 1 − z)².
    logit_adjustment : float ≥ 0, default=0.5
        τ, for the logistic loss; ignored if ``class_weight`` is given.
    ordinal : bool, default=False
        Whether classes are ordered; for the logistic loss.
    linear : bool, default=True
        Whether numeric columns have linear terms; only with ``encoder="auto"`` or a
        :class:`PropositionEncoder`.  Dates, times and durations have propositions only; to get a
        linear term, pass a number such as days since a date.
    monotone : mapping of column to 1 or −1, optional
        The score (of the second of two classes) does not fall (1) or does not rise (−1) with a
        numeric or Boolean column, given by name or position.  If columns change so that the score
        may rise, f_w ≥ 0 if a proposition of w can become true, f_w ≤ 0 if one can become false,
        f_w = 0 if both; the same for g_j.  Only for two or ordered classes, and with encoders as
        for ``linear``.
    tol : float, default=1e-2
        The relative duality gap to reach, for all classes together (for each class if learned
        separately).
    max_active : int, default=5000
        The limit of conjunctions held at once, for each class.
    encoder : "auto", None or transformer, default="auto"
        The encoder of the table.  ``"auto"``: :class:`PropositionEncoder`; pass
        ``PropositionEncoder(cut_points=8)`` for only eight cut points per column.  None: the table
        must be 0/1.  A transformer is cloned and fitted.

    Attributes
    ----------
    rules_ : RuleEnsemble
        Rules and linear terms on the columns of the table, largest absolute vote first.  Its scores
        are those of :meth:`decision_function`, for two classes with both signs.  With more than two
        classes a rule has a signed vote for each.  Ordered classes have one score and signed
        weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        b, adjusted.
    adjustment_ : ndarray of shape (n_classes,)
        The values subtracted from the scores, for two classes with both signs.  For ordered classes
        τ ln π_k.
    thresholds_ : ndarray of shape (n_classes − 1,)
        θ, for ordered classes; a class without weight has no threshold.
    C_ : float
        The penalty parameter in use.
    objective_, lower_bound_ : float
        The objective and its lower bound, summed over classes that are learned separately.
    gap_ : float
        ``(objective_ − lower_bound_) / objective_``.
    certificate_ : str
        The proven statement, with the conjunctions and cut points that it covers.
    hull_size_ : int
        Number of conjunctions in the final sets, for all classes together.
    n_weights_ : int
        Number of conjunctions with weight, before conjunctions of equal covers were merged.
    path_ : RulePath
        The objective and its gap to the best model of any size, for models of 1, 2, 3, 5, 8, 10,
        15, 20, 30 rules, up to the size of the optimum.  One model if ``max_rules`` is None; empty
        for ``rho`` above 1.
    history_ : GrowthHistory
        Nodes, objective and gap of every round.
    n_iter_ : int
        Rounds.
    stopped_ : {"optimal", "time_limit", "node_limit", "iteration_limit", "interrupted"}
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the table has names.

    Notes
    -----
    Constant propositions are left out, and propositions that are equal on all training rows are
    merged.  Rows of equal propositions and class are merged too; this is exact.  Conjunctions of
    equal covers are merged into the shortest, and the smallest weights are dropped as far as
    ``tol`` allows; ``objective_`` contains the norm of the weights before the merge.  Ctrl-C keeps
    the best solution so far.

    If a proof over all conjunctions takes too long, it covers those of at most two or three
    conditions, and the longer ones that were found (see ``certificate_``).

    Rows of a dask collection beyond :func:`formulakern.gather_limit` stay in their partitions.  The
    local problem has one example for each group of rows of equal class and equal propositions and
    linear terms in use; if linear terms have many different values, use ``linear=False``.

    For ``rho=1`` the partitions agree on at most 31 quantiles of each numeric column, or on the cut
    points of the encoder, and the proof covers conjunctions of at most two conditions at these cut
    points.  The search uses the listed propositions of the encoder, at four quantiles by default,
    and longer conjunctions for tables of at most 300,000 entries and 80 columns,
    ``strategy="all"``, more than 254 cut points, or ``rho`` above 1.  For ``rho`` above 1 the bound
    comes from sums over covers alone, and is weak for ``rho`` near 2.

    References
    ----------
    P. Jawanpuria, J. S. Nath, G. Ramakrishnan, "Efficient rule ensemble learning using
    hierarchical kernels", ICML 2011.  F. Bach, "High-dimensional non-linear variable selection
    through hierarchical kernel learning", 2009, arXiv:0909.0844 (ρ = 2).  J. H. Friedman,
    B. E. Popescu, "Predictive learning via rule ensembles", Annals of Applied Statistics 2, 2008,
    doi:10.1214/07-AOAS148 (linear terms).  A. K. Menon et al., "Long-tail learning via logit
    adjustment", ICLR 2021, arXiv:2007.07314.  J. D. M. Rennie, N. Srebro, "Loss functions for
    preference levels: regression with discrete ordered labels", IJCAI workshop on advances in
    preference handling, 2005 (ordered classes).

    Examples
    --------
    >>> from formulakern import datasets
    >>> X, y = datasets.tic_tac_toe()
    >>> model = HKLClassifier(C=1000, depth_penalty=4, max_rules=None).fit(X[::4], y[::4])
    >>> model.stopped_, bool(model.gap_ <= 0.01)
    ('optimal', True)
    >>> bool(model.score(X, y) > 0.97), len(model.rules_) <= model.hull_size_
    (True, True)
    >>> few = HKLClassifier(C=1000, depth_penalty=4).fit(X[::4], y[::4])
    >>> len(few.rules_), bool(few.gap_ > 0.1)  # the cost of the limit
    (15, True)

    Ordered classes, and a score that does not fall with age:

    >>> import pandas
    >>> people = {"age": [20, 30, 40, 50, 60, 70] * 5, "smoker": ["no"] * 15 + ["yes"] * 15}
    >>> risk = ["low", "low", "low", "mid", "mid", "high"] * 2 + ["low", "mid", "mid"] * 2
    >>> risk = pandas.Categorical(risk + ["high"] * 12, ["low", "mid", "high"], ordered=True)
    >>> model = HKLClassifier(ordinal=True, monotone={"age": 1}).fit(people, risk)
    >>> model.classes_.tolist(), len(model.thresholds_), len(model.rules_.thresholds)
    (['low', 'mid', 'high'], 2, 2)
    >>> scores = model.decision_function({"age": [25, 45, 65], "smoker": ["no"] * 3})
    >>> bool((np.diff(scores) >= 0).all())
    True
    """

    learns_in_partitions: ClassVar[bool] = True

    rho: float = 1.0
    C: float | Literal["auto"] = "auto"
    depth_penalty: float | Literal["auto"] = "auto"
    max_rules: int | Literal["auto"] | None = "auto"

    def _learn(self, data: TrainingData, deadline: Deadline) -> tuple[bool, str]:
        self._fit_encoded(data, None, deadline)
        line = f"gap {self.gap_:.2g}, {len(self.rules_)} rules, {self.stopped_}"
        return self.stopped_ not in STOPPED_EARLY, line

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("loss", self.loss, LOSSES)
        check_number("logit_adjustment", self.logit_adjustment, 0, 10)
        check_choice("ordinal", self.ordinal, (False, True))
        if self.ordinal and self.loss != "logistic":
            raise ParameterError(
                f"ordinal=True with loss={self.loss!r}; expected loss='logistic', which has the "
                "probabilities of ordered classes."
            )

    def _fit_encoded(
        self, data: TrainingData, start: HKLClassifier | None, deadline: Deadline
    ) -> Self:
        """Fit the functions and set the rules."""
        self._set_rules_of_functions(data, self._fit_functions(data, start, deadline))
        self._warn_if_open()
        return self

    def _fit_functions(
        self, data: TrainingData, start: HKLClassifier | None, deadline: Deadline
    ) -> Rows:
        """Fit the functions, and return the rows of the last problem.

        Each class has a function, or only the second of two; ordered classes share one function.
        """
        self.classes_, present = data.classes, data.present
        check_one_score(self, len(present))
        learned = self._learned(present)
        thresholds = int(present.sum()) - 1 if self.ordinal else 0
        called = [str(self.classes_[k]) for k in learned] if len(learned) > 1 else [""]
        total = float(data.sums @ data.factors)
        return self._solve(problems_of(data), total, called, start, deadline, thresholds)

    def _learned(self, present: NDArray[np.bool_]) -> list[Any]:
        """Return the classes with a function of their own; classes without weight have none."""
        if self.ordinal:
            return [None]
        return [1] if len(present) == 2 else np.flatnonzero(present).tolist()

    def _fit_sizes(
        self, data: TrainingData, start: HKLClassifier | None, deadline: Deadline
    ) -> tuple[list[Self], Self]:
        """Return the models of all sizes, and the start of the next setting; raise if it is late.

        Models are not compared if the deadline ended the fit, or its path to few rules.
        """
        rows = self._fit_functions(data, start, deadline)
        if self.stopped_ == "time_limit" or deadline.over():
            raise TimeIsOver
        return [self._limited(size, data, rows) for size in self._sizes or (None,)], self

    def _limited(self, size: int | None, data: TrainingData, rows: Rows) -> Self:
        """Return the model of at most ``size`` rules on the path of this model."""
        model, number = copy(self), len(self._models)
        model._models = [
            own.limited(share_of(size, k, number)) for k, own in enumerate(self._models)
        ]
        model._prove(rows)
        model._set_rules_of_functions(data, rows)
        return model

    def _set_rules_of_functions(self, data: TrainingData, rows: Rows) -> None:
        """Set the rules.

        If a fit that ended early is worse than the largest class, drop the adjustment or the rules.
        """
        present, learned = data.present, self._learned(data.present)
        shares, tau = self._shares(data.sums * data.factors)
        adjustment = np.where(shares > MIN_CLASS_SHARE, tau * np.log(shares), 0.0)
        two = len(present) == 2 and not self.ordinal
        seen = seen_rows(data, rows, [rule for one in self._functions for rule in one.rules])
        of_class = np.where(seen.labels[:, None] == self.classes_, seen.counts[:, None], 0.0)
        counts = RowCounts(np.where(seen.counts > 0, seen.numbers, 0).astype(np.int64), of_class)
        signs = np.array([[-1.0, 1.0]]) if two else np.ones((1, 1))
        directions = signs if two or self.ordinal else np.eye(len(shares))[learned]
        found = self._rules_of(directions, seen.table, counts, not self.ordinal)
        logs = np.log(shares)
        if self.ordinal:
            bias = np.maximum.accumulate(np.negative(self._functions[0].bias))  # undo rounding
            below = np.cumsum(shares[present])[:-1]
            prior = np.log(below) - np.log1p(-below)
        else:
            bias, prior = np.full(len(shares), -np.inf), logs - logs[::-1] if two else logs
            bias[learned] = [function.bias for function in self._functions]
            if not two and len(learned) < len(bias):  # never predict the other classes
                lowest = sum(abs(rule.weight) for _, rule in found) + np.abs(bias[learned]).max()
                bias[np.isinf(bias)] = -2 * lowest - 1
        for rules, b, a in ((found, bias, adjustment), (found, bias, 0.0), ([], prior, 0.0)):
            self._decide(rules, b, np.broadcast_to(a, len(adjustment)), data)
            if self._beats_largest_class(*seen[:3]):
                break

    def _decide(
        self,
        found: list[tuple[Feature, WeightedRule]],
        bias: FloatArray,
        adjustment: FloatArray,
        data: TrainingData,
    ) -> None:
        """Set the rules, and intercepts or thresholds less the adjustment of each class."""
        two, present = len(bias) == 2, data.present
        if self.ordinal:
            ends = decision_thresholds(bias, adjustment[present])
            shift = float(ends[0]) if len(present) == 2 else 0.0  # two classes: the sign decides
            self.adjustment_, self.thresholds_ = adjustment, bias - shift
            self.intercept_ = np.array([-shift])
            more: dict[str, Any] = {"thresholds": ends - shift}
            more["levels"] = self.classes_[present].tolist()
            self._set_rules(found, None, self.intercept_, data.name, **more)
            return
        self.adjustment_ = adjustment - adjustment[::-1] if two else adjustment
        bias = bias - self.adjustment_
        if two:
            bias[0] = -bias[1]
        self.intercept_ = bias[1:] if two else bias
        self._set_rules(found, self.classes_.tolist(), bias)
