"""PRLClassifierCV: C, degree and depth penalty by cross-validation, along warm-started paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.deadline import Deadline
from formulakern.docstrings import parameters_from
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
from formulakern.estimators.prl.base import PreferenceModel, open_share
from formulakern.estimators.prl.classifier import PRLClassifier, automatic_C
from formulakern.estimators.rule_path import RulePath, sizes_of
from formulakern.estimators.validation import TrainingData
from formulakern.learning.selection import rule_limit
from formulakern.partitions.lazy_rows import lazily
from formulakern.rules.voting import log_probabilities

#: ``Cs="auto"`` is this multiple of the automatic C of the preferences: the game of a large C has
#: many rules to choose from.
MULTIPLE = 4.0
#: The relative gap of the fits within the folds, unless ``tol`` is larger.
FOLD_GAP = 0.03


class Setting(NamedTuple):
    """One candidate: C or its multiple of the automatic C, the degree, the depth penalty."""

    C: float
    degree: Any
    depth_penalty: float


class Candidate(NamedTuple):
    """A setting with a limit of rules."""

    C: float
    degree: Any
    depth_penalty: float
    max_rules: Any


#: The setting of models that check parameters or encode folds.
MIDDLE = Setting(1.0, 2, 2.0)


@parameters_from(PRLClassifier)
@dataclass(eq=False, repr=False)
class PRLClassifierCV(SearchedModel, PreferenceModel):
    r""":class:`PRLClassifier` with its settings and number of rules chosen by cross-validation.

    For every degree, depth penalty and fold the games for C₁ < C₂ < … are solved in order, each
    from the columns of the last.  From the rules of each game a path leads to models of fewer
    rules: 15, 10, 8, 5, 3, 2, 1.  The candidate (C, degree, depth penalty, number of rules) with
    the best mean score on held-out rows is fitted to all rows.

    Parameters
    ----------
    Cs : "auto" or sequence of float, default="auto"
        ``"auto"``: 4 times the C of ``PRLClassifier(C="auto")``, for more rules to choose from.
    degrees : sequence of int, default=(1, 2)
        Values of ``degree`` of :class:`PRLClassifier` to compare.
    depth_penalties : sequence of float, default=(2.0,)
        Values of ``depth_penalty`` to compare, for degrees above 1.
    cv : "auto", int or splitter, default="auto"
        An integer: the number of folds, stratified and shuffled by ``random_state``.  ``"auto"``:
        three folds, repeated twice for at most 45 rows and three times for at most 30.
    scoring : str, callable or None, default=None
        None: votes s_k, with a margin of 1, give probabilities p_k ∝ exp(t·s_k).  The score is the
        mean of ln p_y over held-out rows, for the factor t that makes it largest.  Rows of class k
        weigh 1/√π_k, π_k its share: between accuracy (weights of 1) and balanced accuracy (1/π_k).
        Otherwise a name of ``sklearn.metrics.get_scorer_names()``, or a scorer of predictions or
        decisions, with one score per fold.  Larger is better.
    selection : {"best", "1se"}, default="best"
        The fewest rules (mean over folds) among the candidates within a tenth of a standard error
        of the best mean score, or with ``"1se"`` within one; ties go to the best score.  The
        standard error is that of the mean difference, over rows, or over folds with a scorer.
        Candidates that predict several classes, on held-out rows and on all rows, take precedence.
    max_rules : "auto", int or None, default="auto"
        The limit of rules; ``"auto"``: 15.  Smaller numbers are compared, too.  None: no limit.
    encoder : "auto", None or transformer, default="auto"
        The encoder of the table.  ``"auto"``: numbers are cut at every gap between two values.
        None: the table must be 0/1.  A transformer is cloned and fitted; it must not cut columns by
        the classes, as ``strategy="mdlp"`` does.
    time_limit : float, optional
        Seconds for everything.  At most half is for the settings, the rest for the last fit.  If
        time runs out, the last settings are left out.  On a large table all may be: then the fit
        uses the middle one, without a choice of fewer rules.
    random_state : int, RandomState or None, default=0
        For the folds.

    Attributes
    ----------
    C_, degree_, depth_penalty_ : float, int, float
        The chosen values, with C for all rows.
    best_score_, best_index_ : float, int
        The mean score of the chosen candidate, and its position in ``cv_results_``.
    cv_results_ : dict of str to ndarray of shape (candidates,)
        ``C`` (for all rows), ``degree``, ``depth_penalty``, ``max_rules``, ``mean_score``,
        ``std_score`` (over the folds), ``behind`` and ``error``, the mean difference to the best
        and its standard error, ``mean_rules``, ``mean_length``, ``accuracy``, ``certified``, the
        share of the folds whose game ended with a proof (see Notes), ``temperature``, and
        ``split0_score``, ``split1_score``, ….  NaN for candidates that were left out.
    path_ : RulePath
        Models of 1, 2, 3, 5, … rules for the chosen setting: accuracy on held-out rows with its
        standard error, mean score, and, for the model of all rows, the margin as ``objective`` (of
        fewer rules than chosen at most 1 % below their value) and its gap to the bound for any
        number of rules.  :func:`formulakern.plot.accuracy_by_rules` draws it.
    best_estimator_ : PRLClassifier
        The model of all rows.
    temperature_ : float
        t.
    rules_, value_, bound_, gap_, certificate_
        The rules and the certificate of ``best_estimator_``.
    classes_, n_features_in_, feature_names_in_
        Classes and columns, as for every classifier.

    Notes
    -----
    With ``Cs="auto"`` C is inversely proportional to the square root of the number of preferences,
    in the folds too.

    Propositions do not depend on the classes, so they are encoded once, for all rows.  Other
    encoders are refitted for every fold.  Fits within folds have a ``tol`` of at least 0.03.  Their
    games end at 10 columns per rule of the limit, without the margin of fewer rules, and at each
    number of rules they try one exchange.  Fits that stop early (``epochs``, ``time_limit``) count.
    After Ctrl-C the best setting so far is fitted to all rows.

    Under ``joblib.parallel_config(backend="dask")``, or ``backend="loky", n_jobs=2``, the folds of
    one setting are fitted in parallel in other processes.  The table is sent once.

    References
    ----------
    The factor t: C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On calibration of modern neural
    networks", ICML 2017, arXiv:1706.04599.  The one-standard-error rule: L. Breiman, J. Friedman,
    R. Olshen, C. Stone, "Classification and Regression Trees", 1984, section 3.4.3.

    Examples
    --------
    >>> from formulakern import datasets
    >>> X, y = datasets.tic_tac_toe()
    >>> search = PRLClassifierCV(degrees=[1, 3]).fit(X[::3], y[::3])
    >>> search.degree_
    3
    >>> bool(search.score(X, y) > 0.98)
    True
    """

    candidate: ClassVar[Any] = Candidate
    shape_names: ClassVar[tuple[str, ...]] = (*SearchedModel.shape_names, "certified")

    Cs: Sequence[float] | Literal["auto"] = "auto"
    degrees: Sequence[int] = (1, 2)
    depth_penalties: Sequence[float] = (2.0,)
    cv: Any = "auto"
    scoring: Any = None
    selection: Literal["best", "1se"] = "best"
    _: KW_ONLY
    max_rules: int | Literal["auto"] | None = "auto"
    bias_rule: bool = True
    epochs: int = 200
    tol: float = 1e-2
    random_state: int | np.random.RandomState | None = 0
    temperature_: float = field(init=False)
    path_: RulePath = field(init=False)

    @property
    def _sizes(self) -> list[int]:
        """The limits of rules that are compared, empty without a limit."""
        limit = rule_limit(self.max_rules)
        return [] if limit is None else sizes_of(limit, limit)

    @lazily
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the class probabilities e^{t·s_k} / Σ_j e^{t·s_j}.

        s are the votes divided by their margin, for two classes half of that.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        scores = self._scores(X)
        return np.asarray(np.exp(log_probabilities(self.temperature_ * scores / self._margin)))

    def _settings(self) -> list[Setting]:
        """Return all settings, one path over C after another."""
        Cs = numbers_of("Cs", [MULTIPLE] if self._automatic else self.Cs, 0, strict=True)
        degrees = numbers_of("degrees", self.degrees, 1, strict=False)
        penalties = numbers_of("depth_penalties", self.depth_penalties, 1, strict=False)
        settings = [
            Setting(C, degree, a)
            for degree in (int(d) if d.is_integer() else d for d in degrees)
            for a in (penalties if degree != 1 else penalties[:1])
            for C in Cs
        ]
        for setting in settings:
            self._model(setting)._check_parameters()
        return settings

    def _paths(self, search: PathSearch) -> Iterator[Path]:
        """Yield the path over C of each degree and penalty."""
        for path in dict.fromkeys(setting[1:] for setting in search.settings):
            yield Path([k for k, one in enumerate(search.settings) if one[1:] == path])

    def _model(self, setting: Setting = MIDDLE, fold: Fold | None = None) -> PRLClassifier:
        shared = self._shared_parameters(PRLClassifier()) | setting._asdict()
        tol = self.tol if fold is None else max(self.tol, FOLD_GAP)
        model = PRLClassifier(**shared | {"tol": tol}, verbose=int(self.verbose) > 1)
        model._valued, model._sizes = fold is None, self._sizes
        return model

    def _everyone(self, data: TrainingData) -> TrainingData:
        self.classes_ = data.classes
        return data

    def _unit(self, data: TrainingData) -> float:
        return automatic_C(float(data.weights.sum()) * (len(data.classes) - 1), data.table)

    def _held_out(self, fold: Fold, model: PRLClassifier) -> FloatArray:
        """Return the votes for all classes, scaled to a margin of 1; −∞ for unseen classes."""
        scores = np.full((len(fold.right), len(self.classes_)), -np.inf)
        known = np.searchsorted(self.classes_, model.classes_)
        scores[:, known] = model._scores(fold.unseen) / model._margin
        return scores

    def _calibrated(
        self, votes: FloatArray, codes: npt.NDArray[np.intp]
    ) -> tuple[float, FloatArray]:
        """Return the factor t with the largest mean of ln p_y, and the weighted ln p_y.

        p_k ∝ e^{t·s_k}, and rows of class k, whose share is π_k, weigh 1/√π_k (1 on average).
        """
        weights = np.bincount(codes)[codes] ** -0.5
        weights /= weights.mean()

        def values(t: float) -> FloatArray:
            logs = log_probabilities(t * votes)
            return np.asarray(
                weights * np.maximum(logs[np.arange(len(codes)), codes], MIN_LOG_PROBABILITY)
            )

        return stretched(values)

    def _facts(self, model: PRLClassifier) -> tuple[float, ...]:
        return (float(model.stopped_ == "optimal"),)

    def _fit_chosen(
        self,
        settings: Sequence[Setting],
        search: PathSearch,
        everyone: TrainingData,
        deadline: Deadline,
    ) -> tuple[float, bool]:
        """Fit the best setting to all rows; try the next one if it predicts a single class."""
        model = self._model()
        model._take_encoding(self._encoding)
        listed, trials = self._candidates(settings, search.trials)
        left, several = [k for k, trial in enumerate(trials) if trial], False
        while not several:
            rules = self._choose(settings, search.trials, left)
            self._bar.at(0.9, f"C {self.C_:.3g}, all rows")
            chosen = Setting(self.C_, self.degree_, self.depth_penalty_)
            model.set_params(**chosen._asdict(), max_rules=rules)
            solved = model._fit_encoded(everyone, None, deadline, stacklevel=6)
            left = [place for place in left if listed[place][:-1] != listed[self.best_index_][:-1]]
            several = deadline.over() or not left or len(set(model.predict(everyone.table))) > 1
        self.best_estimator_ = model
        proof = "value_", "bound_", "gap_", "certificate_"
        self._copy_from(model, ("_features", "_margin", "rules_", *proof))
        self.path_ = self._scored(solved.path, len(everyone.codes))
        return open_share(self.value_, self.bound_), model._decides

    def _choose(
        self,
        settings: Sequence[Setting],
        trials: Sequence[Trial | None],
        left: Sequence[int],
    ) -> Any:
        """Choose among the candidates ``left``, preferably one that predicts several classes.

        Return its limit of rules.
        """
        listed, known = self._candidates(settings, trials)
        several = [k for k in left if (trial := known[k]) and trial.several]
        among = np.array(several or left, dtype=np.intp)
        middle = (len(settings) // 2 + 1) * len(listed) // len(settings) - 1
        self.C_, self.degree_, self.depth_penalty_, rules = self._chosen(
            listed, known, middle, among
        )
        return rules
