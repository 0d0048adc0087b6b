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
from formulakern.estimators.validation import TrainingData
from formulakern.partitions.lazy_rows import lazily
from formulakern.rules.voting import log_probabilities

#: The values of ``Cs="auto"``, as multiples of the automatic C of the preferences.
MULTIPLES = (0.25, 1.0, 4.0)
#: The relative gap of the fits within the folds, unless ``tol`` is larger.
FOLD_GAP = 0.03


class Setting(NamedTuple):
    """One candidate: C or its multiple of the automatic C, the degree, the depth penalty."""

    C: float
    degree: Any
    depth_penalty: float


#: The defaults of the classifier, with C as a multiple of the automatic C.
DEFAULT = Setting(1.0, 2, 2.0)


@parameters_from(PRLClassifier)
@dataclass(eq=False, repr=False)
class PRLClassifierCV(SearchedModel, PreferenceModel):
    r""":class:`PRLClassifier` with C, degree and depth penalty chosen by cross-validation.

    For every degree, depth penalty and fold the games for C₁ < C₂ < … are solved in order, each
    from the columns of the last.  The setting with the best mean score on held-out rows is fitted
    to all rows.

    Parameters
    ----------
    Cs : "auto" or sequence of float, default="auto"
        ``"auto"``: ¼, 1 and 4 times the C of ``PRLClassifier(C="auto")``.
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
        The fewest rules (mean over folds) among the settings within a tenth of a standard error of
        the best mean score, or with ``"1se"`` within one; ties go to the best score.  With
        ``"best"`` and ``Cs="auto"`` the setting of ``PRLClassifier()``, if compared, wins within
        one.  The standard error is that of the mean difference, over rows, or over folds with a
        scorer.  Settings that predict several classes, on held-out rows and on all rows, take
        precedence.
    encoder : "auto", None or transformer, default="auto"
        The encoder of the table.  ``"auto"``: numbers are cut at every gap between two values.
        None: the table must be 0/1.  A transformer is cloned and fitted; it must not cut columns by
        the classes, as ``strategy="mdlp"`` does.
    time_limit : float, optional
        Seconds for everything.  At most half is for the settings, the rest for the last fit.  If
        time runs out, the last settings are left out.  On a large table all may be: then the fit
        uses the default setting, or the middle one.
    random_state : int, RandomState or None, default=0
        For the folds.

    Attributes
    ----------
    C_, degree_, depth_penalty_ : float, int, float
        The chosen values, with C for all rows.
    best_score_, best_index_ : float, int
        The mean score of the chosen setting, and its position in ``cv_results_``.
    cv_results_ : dict of str to ndarray of shape (settings,)
        ``C`` (for all rows), ``degree``, ``depth_penalty``, ``mean_score``, ``std_score`` (over the
        folds), ``behind`` and ``error``, the mean difference to the best and its standard error,
        ``mean_rules``, ``mean_length``, ``certified``, the share of the folds solved to a gap of
        3 % of the bound (``tol`` if that is larger), ``temperature``, and ``split0_score``,
        ``split1_score``, ….  NaN for settings that were left out.
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
    in the folds too.  A path ends at a C that is behind the best smaller C by more than half a
    standard error.

    Propositions do not depend on the classes, so they are encoded once, for all rows.  Other
    encoders are refitted for every fold.  Fits within folds have a ``tol`` of at least 0.03; fits
    that stop early (``epochs``, ``time_limit``) count.  After Ctrl-C the best setting so far is
    fitted to all rows.

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

    of_path: ClassVar[bool] = True

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
        Cs = [*MULTIPLES] if self._automatic else numbers_of("Cs", self.Cs, 0, strict=True)
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
        """Yield the path over C of each degree and penalty, starting from the last columns."""
        for path in dict.fromkeys(setting[1:] for setting in search.settings):
            places = [k for k, setting in enumerate(search.settings) if setting[1:] == path]
            yield Path(places, next(reversed(search.known.values()), None))

    def _model(self, setting: Setting = DEFAULT, fold: Fold | None = None) -> PRLClassifier:
        shared = self._shared_parameters(PRLClassifier()) | setting._asdict()
        tol = self.tol if fold is None else max(self.tol, FOLD_GAP)
        return PRLClassifier(**shared | {"tol": tol}, verbose=int(self.verbose) > 1)

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
        default = self._automatic and DEFAULT in search.settings
        usual = search.settings.index(DEFAULT) if default else None
        left, several = [*search.known], False
        while not several:
            self._choose(settings, search.trials, usual, left)
            self._bar.at(0.9, f"C {self.C_:.3g}, all rows")
            model.set_params(C=self.C_, degree=self.degree_, depth_penalty=self.depth_penalty_)
            model._fit_encoded(everyone, None, deadline, stacklevel=6)
            left = [place for place in left if place != self.best_index_]
            several = deadline.over() or not left or len(set(model.predict(everyone.table))) > 1
        self.best_estimator_ = model
        self._copy_from(
            model, ("_features", "_margin", "rules_", "value_", "bound_", "gap_", "certificate_")
        )
        return open_share(self.value_, self.bound_), model._decides

    def _choose(
        self,
        settings: Sequence[Setting],
        trials: Sequence[Trial | None],
        usual: int | None,
        left: Sequence[int],
    ) -> None:
        """Choose among ``left``, preferably a setting that predicts several classes."""
        several = [k for k in left if (trial := trials[k]) and trial.several]
        among = np.array(several or left, dtype=np.intp)
        otherwise = len(settings) // 2 if usual is None else usual
        chosen = self._chosen(settings, trials, otherwise, among, usual)
        self.C_, self.degree_, self.depth_penalty_ = chosen
