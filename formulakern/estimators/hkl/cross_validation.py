"""HKLClassifierCV: C and the depth penalty by cross-validation, along warm-started paths."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from formulakern.arrays import FloatArray
from formulakern.deadline import Deadline
from formulakern.docstrings import parameters_from
from formulakern.encoding.ordered import OrderedTable
from formulakern.estimators.hkl.base import STOPPED_EARLY, HierarchicalClassifier
from formulakern.estimators.hkl.classifier import HKLClassifier
from formulakern.estimators.path_search import (
    MIN_LOG_PROBABILITY,
    Fold,
    Path,
    PathSearch,
    SearchedModel,
    Trial,
    numbers_of,
    stretched,
)
from formulakern.estimators.validation import TrainingData
from formulakern.learning.hkl.ordinal import decision_thresholds, log_chances
from formulakern.rules.voting import log_probabilities, normalized

#: Thresholds below and above all scores.
FAR = 1e6
#: The relative gap of the fits within the folds, unless ``tol`` is larger.
FOLD_GAP = 0.05
#: The limit of conjunctions in these fits for all classes, unless ``max_active`` is smaller.
MAX_FOLD_CONJUNCTIONS = 1000


class Pair(NamedTuple):
    """The C of a fit, or its multiple of the automatic C, and the depth penalty."""

    C: float
    depth_penalty: float


class Candidate(NamedTuple):
    """A pair with a limit of rules."""

    C: float
    depth_penalty: float
    max_rules: Any


#: The setting of models that check parameters or encode folds.
MIDDLE = Pair(1.0, 2.0)
#: The multiples of the automatic C, with the depth penalties, that are compared by default: for
#: tables with numeric columns, with numeric columns of few values, and without numeric columns.
PAIRS = (
    (Pair(1.0, 2.0), Pair(1.0, 4.0)),
    (Pair(3.0, 1.0), Pair(1.0, 2.0), Pair(1.0, 4.0)),
    (Pair(0.3, 1.0), Pair(3.0, 1.0), Pair(0.3, 2.0)),
)
#: The most propositions of a numeric column of few values: x ≤ c and x ≥ c between ten values.
MAX_FEW_CUTS = 18


def calibrated(
    scores: FloatArray, codes: npt.NDArray[np.intp], shares: FloatArray, tau: float
) -> tuple[float, FloatArray]:
    """Return the factor t that stretches scores best, and the values of the stretched scores.

    With π_k the share of class k, a score s_k becomes b_k + t·(s_k − b_k), where b_k = ln π_k, and
    ±ln π_1/π_0 for two classes.  For the thresholds of ordered classes b_k are the log odds of the
    classes above, and thresholds keep their order.  With the probabilities p_k of the scores, t
    from 1/20 to 20 maximises the weighted mean of ln p̃_y, where p̃_k ∝ p_k/π_k^τ and a row of
    class k weighs π_k^{−τ} (1 on average).  The values (m,) are the weighted ln p̃_y.

    ``scores`` have the shape (m, K), or (m, K − 1) for ordered classes; ``codes`` (m,) are the true
    classes and ``shares`` (K,) are π.  The method is temperature scaling: C. Guo, G. Pleiss,
    Y. Sun, K. Q. Weinberger, "On calibration of modern neural networks", ICML 2017,
    arXiv:1706.04599.
    """
    ordered = scores.shape[1] < len(shares)
    base = base_scores(shares, ordered)
    weights = shares[codes] ** -tau
    weights /= weights.mean()

    def values(t: float) -> FloatArray:
        moved = base + t * (scores - base)
        logs = log_margins(moved) if ordered else log_probabilities(moved)
        right = normalized(logs - tau * np.log(shares))[np.arange(len(codes)), codes]
        return np.asarray(weights * np.maximum(right, MIN_LOG_PROBABILITY))

    return stretched(values)


def log_margins(margins: FloatArray) -> FloatArray:
    """Return ln P(y = k) from the scores less the ascending thresholds, (m, K − 1)."""
    kept = np.minimum.accumulate(margins, axis=1)
    return np.maximum(log_chances(np.zeros(len(kept)), -kept), MIN_LOG_PROBABILITY)


def base_scores(shares: FloatArray, ordered: bool = False) -> FloatArray:
    """Return the scores that give every class its share as probability.

    For ordered classes return the score less each threshold.

    >>> base_scores(np.array([0.5, 0.25, 0.25]), ordered=True).round(6)  # odds 1 and 1/3
    array([ 0.      , -1.098612])
    """
    if ordered:
        above = np.cumsum(shares[::-1])[::-1][1:]
        return np.asarray(np.log(above / (1 - above)))
    logs = np.log(shares)
    return np.asarray(logs - logs[::-1] if len(logs) == 2 else logs)


@parameters_from(HKLClassifier)
@dataclass(eq=False, repr=False)
class HKLClassifierCV(SearchedModel, HierarchicalClassifier):
    """:class:`HKLClassifier` with depth penalty, number of rules and C chosen by cross-validation.

    For each depth penalty and fold the problems for C₁ < C₂ < … are solved in order, each from the
    solution of the last.  From each solution a path leads to models of fewer rules: 15, 10, 8, 5,
    3, 2, 1.  The candidate (C, depth penalty, number of rules) with the best mean score on
    held-out rows is fitted to all rows.

    Parameters
    ----------
    Cs : "auto" or sequence of float, default="auto"
        ``"auto"``: the C of ``HKLClassifier(C="auto")``, but 3 times this C with the depth penalty
        1.  For tables whose default depth penalty is 1: 0.3 and 3 times this C with it, and 0.3
        times with 2.
    depth_penalties : "auto" or sequence of float, default="auto"
        Values of ``depth_penalty`` of :class:`HKLClassifier` to compare.  ``"auto"``: 2 and 4; also
        1 if no numeric column has more than ten values; 1 and 2 for tables whose default is 1.
    cv : "auto", int or splitter, default="auto"
        An integer: the number of folds, stratified and shuffled by ``random_state``.  ``"auto"``:
        three folds, repeated twice for at most 45 rows and three times for at most 30.
    scoring : str, callable or None, default=None
        None: the mean of ln p̃_y over held-out rows, p̃_k ∝ p_k/π_k^τ, where p_k is the
        probability of class k, π_k its share and τ = ``logit_adjustment``; rows of class k weigh
        π_k^{−τ}.  Before, one factor t stretches all scores to b_k + t·(s_k − b_k), with
        b_k = ln π_k (for two classes the log odds), so that this mean is largest.  Rows whose class
        is missing from the training rows of their fold do not count.  Otherwise a name of
        ``sklearn.metrics.get_scorer_names()``, or a scorer, with one score per fold.  Larger is
        better.
    selection : {"best", "1se"}, default="best"
        The fewest rules (mean over folds) among the candidates within a tenth of a standard error
        of the best mean score, or with ``"1se"`` within one; ties go to the best score.  The
        standard error is that of the mean difference, over rows, or over folds with a scorer.
    max_rules : "auto", int or None, default="auto"
        The limit of rules and linear terms; ``"auto"``: 15.  Smaller numbers are compared, too.
        None: no limit.
    time_limit : float, optional
        Seconds for everything.  At most half is for the pairs, the rest for the last fit.  If time
        runs out, pairs without a finished fit in each fold are left out.  On a large table all may
        be: then the fit uses the largest depth penalty, and with it the largest automatic C or the
        middle one of ``Cs``.
    random_state : int, RandomState or None, default=0
        For the folds.

    Attributes
    ----------
    C_, depth_penalty_ : float
        The chosen values, with C for all rows.
    best_score_, best_index_ : float, int
        The mean score of the chosen candidate, and its position in ``cv_results_``.
    cv_results_ : dict of str to ndarray of shape (candidates,)
        ``C`` (for all rows), ``depth_penalty``, ``max_rules``, ``mean_score``, ``std_score`` (over
        the folds), ``behind`` and ``error``, the mean difference to the best and its standard
        error, ``mean_rules``, ``mean_length``, ``accuracy``, ``temperature``, and ``split0_score``,
        ``split1_score``, ….  NaN for candidates that were left out; only the first four keys if all
        were.
    path_ : RulePath
        Models of 1, 2, 3, 5, 8, 10, 15, 20, 30 rules for the chosen C and depth penalty: accuracy
        on held-out rows with its standard error, mean score, and, for the model of all rows, the
        objective and its gap to the best model of any size.
        :func:`formulakern.plot.accuracy_by_rules` draws it.
    best_estimator_ : HKLClassifier
        The model of all rows.
    objective_, lower_bound_, gap_, certificate_
        The certificate of ``best_estimator_``, before its scores are stretched.
    temperature_ : float
        t.
    rules_, intercept_ : RuleEnsemble, ndarray
        The rules and intercepts of ``best_estimator_``, times t.  The decisions are the same, the
        probabilities are stretched.
    thresholds_ : ndarray of shape (n_classes − 1,)
        With ``ordinal=True``: thresholds for the stretched scores.  Decisions are then for the
        class with the largest ln P(y = k) − τ ln π_k by the stretched probabilities.
    classes_, adjustment_, n_features_in_, feature_names_in_
        Classes, adjustment of scores and columns, described in :class:`HKLClassifier`.

    Notes
    -----
    ``Cs="auto"`` multiplies the automatic C of the training rows of each fold.

    Propositions that do not depend on the classes are encoded once, for all rows.  Other encoders,
    and encoders that cut by class, are refitted for every fold.  Fits within folds have a ``tol``
    of at least 0.05 and hold at most 1000 conjunctions for all classes together.  For ``rho=1``
    they prove nothing, and at each number of rules they try one exchange.

    Under ``joblib.parallel_config(backend="dask")``, or ``backend="loky", n_jobs=2``, the folds of
    one pair are fitted in parallel in other processes.  The table is sent once.

    References
    ----------
    The one-standard-error rule: L. Breiman, J. Friedman, R. Olshen, C. Stone, "Classification and
    Regression Trees", 1984, section 3.4.3.

    Examples
    --------
    >>> from formulakern import datasets
    >>> X, y = datasets.tic_tac_toe()
    >>> search = HKLClassifierCV([1, 1000], [4.0], cv=3, max_rules=20).fit(X[::4], y[::4])
    >>> search.C_, len(search.rules_)
    (1000.0, 18)
    >>> bool(search.score(X, y) > 0.95)
    True
    """

    encodes_folds: ClassVar[bool] = True
    shares: ClassVar[bool] = False  # since unfinished fits do not count
    candidate: ClassVar[Any] = Candidate

    Cs: Sequence[float] | Literal["auto"] = "auto"
    depth_penalties: Sequence[float] | Literal["auto"] = "auto"
    cv: Any = "auto"
    scoring: Any = None
    selection: Literal["1se", "best"] = "best"
    _: KW_ONLY
    rho: float = 1.0
    max_rules: int | Literal["auto"] | None = "auto"
    random_state: int | np.random.RandomState | None = 0
    temperature_: float = field(init=False)

    def _stretch(self, model: HKLClassifier, shares: FloatArray) -> None:
        """Set rules, intercepts, adjustment and thresholds to those of ``model``, times t."""
        t, rules = self.temperature_, model.rules_
        bias, votes = t * rules.intercept, t * rules.votes
        if rules.levels is None:
            self.adjustment_ = (1 - t) * base_scores(shares) + t * model.adjustment_
            self.rules_ = replace(rules, votes=votes, intercept=bias)
            self.intercept_ = bias[1:] if len(bias) == 2 else bias
            return
        known = np.isin(model.classes_, rules.levels)
        base = base_scores(shares[known] / shares[known].sum(), ordered=True)
        thresholds = np.maximum.accumulate(t * model.thresholds_ - (1 - t) * base)
        self.adjustment_ = model.adjustment_
        ends = decision_thresholds(thresholds, self.adjustment_[known])
        shift = float(ends[0]) if len(ends) == 1 else 0.0  # two classes: the sign decides
        self.thresholds_, self.intercept_ = thresholds - shift, bias - shift
        self.rules_ = replace(
            rules, votes=votes, intercept=self.intercept_, thresholds=ends - shift
        )

    def _settings(self) -> list[Pair]:
        default: Sequence[Pair] = PAIRS[0]
        if hasattr(self, "_encoding"):
            default = PAIRS[self._few_rules(MAX_FEW_CUTS) + self._few_rules()]
        own_Cs, own_depths = (list(dict.fromkeys(part)) for part in zip(*default, strict=True))
        Cs = numbers_of("Cs", own_Cs if self._automatic else self.Cs, 0.0, strict=True)
        given: Any = self.depth_penalties
        if automatic := isinstance(given, str) and given == "auto":
            given = own_depths
        depths = numbers_of("depth_penalties", given, 1.0, strict=False, otherwise="'auto'")
        pairs = [Pair(C, a) for a in depths for C in Cs]
        if automatic and self._automatic:
            pairs = list(default)
        self._model(pairs[0])._check_parameters()
        return pairs

    def _everyone(self, data: TrainingData) -> TrainingData:
        """Return all rows, with ordered classes as numbers so that folds keep the order."""
        self._order = data.classes
        if self.ordinal:
            data = replace(data, classes=np.arange(len(data.classes)))
        self._numbers, sums = data.classes, np.bincount(data.codes, data.sample_weights)
        self._class_shares, self._tau = self._shares(sums.astype(np.float64))
        return data

    def _paths(self, search: PathSearch) -> Iterator[Path]:
        """Yield the pairs of each depth penalty, the largest first."""
        starts: Any = None
        for depth in sorted({pair.depth_penalty for pair in search.settings}, reverse=True):
            places = [k for k, pair in enumerate(search.settings) if pair.depth_penalty == depth]
            yield Path(places, starts)
            starts = search.known[places[0]]

    def _model(self, pair: Pair = MIDDLE, fold: Fold | None = None) -> HKLClassifier:
        """Return a model for all rows, or for a fold, with fewer conjunctions and a larger tol."""
        shared = self._shared_parameters(HKLClassifier()) | pair._asdict()
        if fold is not None:
            several = not self.ordinal and len(self._order) > 2
            held = (
                max(1, MAX_FOLD_CONJUNCTIONS // len(self._order))
                if several
                else MAX_FOLD_CONJUNCTIONS
            )
            shared["tol"] = max(self.tol, FOLD_GAP)
            shared["max_active"] = min(self.max_active, held)
        model = HKLClassifier(**shared, verbose=max(0, int(self.verbose) - 1))
        model._proves = fold is None
        return model

    def _unit(self, data: TrainingData) -> float:
        losses = len(data.classes) - 1 if self.ordinal else 1
        return self._automatic_C(float(data.weights.sum()), losses)

    def _folds(self, everyone: TrainingData) -> list[Fold]:
        """Return the folds, without propositions that are equal on their training rows."""
        folds = super()._folds(everyone)
        if isinstance(everyone.table, OrderedTable):
            return folds
        for k, fold in enumerate(folds):
            different = fold.data.table.different_columns()
            data = replace(fold.data, table=fold.data.table.select(different))
            unseen, encoding = fold.unseen.select(different), fold.encoding.keep(different)
            folds[k] = replace(fold, data=data, unseen=unseen, encoding=encoding)
        return folds

    def _held_out(self, fold: Fold, model: HKLClassifier) -> FloatArray:
        """Return the unadjusted scores of all classes on the held-out rows.

        A class that the fold lacks has scores of −∞.  For ordered classes return the score less
        each threshold, (rows, classes − 1).
        """
        levels, classes = model.rules_.levels, self._numbers
        if levels is not None:
            ends = np.concatenate([[-FAR], model.thresholds_, [FAR]])
            above = np.searchsorted(np.asarray(levels), classes[1:])
            return np.asarray(model._scores(fold.unseen) - ends[above])
        scores = np.full((len(fold.right), len(classes)), -np.inf)
        known = np.searchsorted(classes, model.classes_)
        found = model._scores(fold.unseen) + model.adjustment_
        scores[:, known] = found / 2 if len(known) == 2 < len(classes) else found
        return scores

    def _calibrated(
        self, scores: FloatArray, codes: npt.NDArray[np.intp]
    ) -> tuple[float, FloatArray]:
        return calibrated(scores, codes, self._class_shares, self._tau)

    def _fit_chosen(
        self,
        settings: Sequence[Pair],
        search: PathSearch,
        everyone: TrainingData,
        deadline: Deadline,
    ) -> tuple[float, bool]:
        """Fit the best candidate to all rows and stretch its scores."""
        rules = self._choose(settings, search.trials)
        model = self._model(Pair(self.C_, self.depth_penalty_)).set_params(max_rules=rules)
        self._bar.at(0.9, f"C {self.C_:.3g}, all rows")
        model._take_encoding(self._encoding)
        data = replace(everyone, classes=self._order)
        with warnings.catch_warnings():  # ``_warn_if_open`` below warns once
            warnings.simplefilter("ignore", ConvergenceWarning)
            model._fit_encoded(data, None, deadline)
        self.best_estimator_ = model
        proof = "objective_", "lower_bound_", "gap_", "certificate_"
        self._copy_from(model, ("classes_", "_features", *proof))
        self.path_ = self._scored(model.path_, len(data.codes))
        self._stretch(model, self._class_shares)
        for passing in ("_order", "_numbers", "_class_shares", "_tau"):
            delattr(self, passing)
        model._warn_if_open()
        return model.gap_, model.stopped_ not in STOPPED_EARLY

    def _choose(self, pairs: Sequence[Pair], trials: Sequence[Trial | None]) -> Any:
        """Choose a candidate, preferably one that predicts several classes; return its rule limit.

        Without any trial choose the largest depth penalty, and with it the largest automatic or the
        middle C, as well as if the time did not suffice for a trial that predicts several classes.
        """
        listed, known = self._candidates(pairs, trials)
        middle = len(pairs) - 1
        if not self._automatic:
            middle -= len({C for C, _ in pairs}) // 2
        several = np.flatnonzero([trial is not None and trial.several for trial in known])
        if not len(several) and None in trials:
            known = [None] * len(listed)
        among = several if len(several) else None
        last = (middle + 1) * len(listed) // len(pairs) - 1
        chosen = self._chosen(listed, known, last, among)
        self.C_, self.depth_penalty_, rules = chosen
        return rules
