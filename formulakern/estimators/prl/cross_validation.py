"""PRLClassifierCV: C, degree and depth penalty by cross-validation, along warm-started paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.checks import check_choice, check_verbosity, is_number
from formulakern.deadline import Deadline
from formulakern.encoding.packed import PackedTable
from formulakern.errors import ParameterError
from formulakern.estimators.advice import warn_of_one_class
from formulakern.estimators.encoder import PropositionEncoder
from formulakern.estimators.hkl.class_scores import log_probabilities
from formulakern.estimators.prl.classifier import PRLClassifier
from formulakern.estimators.prl.folds import SHAPE, Fold, trial_of
from formulakern.estimators.prl.history import open_share
from formulakern.estimators.prl.parameters import automatic_C, check_parameters
from formulakern.estimators.prl.prediction import PreferenceModel
from formulakern.estimators.targets import random_source, row_weights, several_classes
from formulakern.estimators.trials import (
    COMPARING,
    FOLDS,
    Trial,
    compared,
    folds_of,
    scorer_of,
    selectable,
    turn,
    warn_incomplete,
    warn_late,
)
from formulakern.estimators.workers import FoldFits
from formulakern.interrupts import interruptible
from formulakern.partitions.lazy_rows import lazily

__all__ = ["PRLClassifierCV"]

#: What is taken over from the classifier that is fitted to all rows.
FITTED = ("_features", "_margin", "rules_", "value_", "bound_", "gap_")
SELECTIONS = ("best", "one-standard-error")
#: ``Cs="auto"`` are these multiples of the C that is automatic for as many preferences.
MULTIPLES = (0.25, 1.0, 4.0)
#: The relative gap of the fits within the folds, unless ``tol`` is larger.
COARSE = 0.03
#: A path ends where C is so many standard errors behind the best smaller one; and the default stays
#: where it is behind by no more than so many.
BEHIND, NEAR = 0.5, 1.0


class Setting(NamedTuple):
    """One candidate: the factor of C (or C itself), the degree, the depth penalty."""

    C: float
    degree: int
    depth_penalty: float


#: What the classifier takes by default, with C in automatic ones.
DEFAULT = Setting(1.0, 2, 2.0)


@dataclass(eq=False, repr=False)
class PRLClassifierCV(PreferenceModel):
    r""":class:`PRLClassifier` with C, degree and depth penalty chosen by cross-validation.

    For every degree, depth penalty and fold the games for C₁ < C₂ < … are solved one after the
    other, each from the columns of the last.  Of all settings one is chosen by the mean score of
    what is held out, and the classifier is fitted to all rows.

    Parameters
    ----------
    Cs : "auto" or sequence of float, default="auto"
        ``"auto"``: ¼, 1 and 4 times the C that ``PRLClassifier(C="auto")`` takes.
    degrees : sequence of int, default=(1, 2)
        Those that are compared; see ``degree`` of :class:`PRLClassifier`.
    depth_penalties : sequence of float, default=(2.0,)
        For degrees above 1.
    cv : "auto", int or splitter, default="auto"
        An integer: so many folds, stratified and shuffled under ``random_state``.  ``"auto"``:
        three folds, twice where there are at most 45 rows, thrice at most 30.
    scoring : str, callable or None, default=None
        None: votes s_k, with a margin of 1, give probabilities p_k ∝ exp(t·s_k).  One factor t,
        for all rows that are held out, makes the mean of ln p_y over them the largest, where rows
        of class k weigh 1/√π_k, π_k its share: between accuracy (weights of 1) and balanced
        accuracy (1/π_k).  That mean is the score.  Else a name of
        ``sklearn.metrics.get_scorer_names()``, or a scorer, of predictions or decisions, which
        gives each fold one number.  Larger is better.
    selection : {"best", "one-standard-error"}, default="best"
        ``"best"``: the largest mean score, of equals the fewest rules; but what
        ``PRLClassifier()`` takes, where that is among the settings and behind by no more than one
        standard error.  ``"one-standard-error"``: the fewest rules, mean over folds, among all
        settings that are behind the best by no more than one; of equals the best score.  Standard
        errors are of the mean difference, over rows, or folds where there is a scorer.  A setting
        that predicts one class for all rows, of those held out or of all that it is fitted to at
        the end, is chosen only where all do.
    max_rules, relations, bias_rule, epochs, tol, monotone
        As in :class:`PRLClassifier`.
    encoder, cut_points, cut_strategy, class_weight, time_limit
        As there, but for cuts that are chosen by classes; ``time_limit`` is for everything: at most
        half of it for the settings, of which the last may be left out, or all where the table is
        large (then it is the default, or the middle one), the rest for the last fit.
    random_state : int, RandomState or None, default=0
        For the folds.
    verbose : int, default=0
        1: a progress bar on a terminal or in a notebook, else a line for every setting, on standard
        error.  2: both, and a line for every epoch of a fit.

    Attributes
    ----------
    C_, degree_, depth_penalty_ : float, int, float
        What was chosen, C for all rows.
    best_score_ : float
        Its mean score.
    best_index_ : int
        Its position in ``cv_results_``.
    cv_results_ : dict of str to ndarray of shape (settings,)
        ``C`` (for all rows), ``degree``, ``depth_penalty``, ``mean_score``, ``std_score`` (over the
        folds), ``behind`` and ``error``, the mean difference to the best and its standard error,
        ``mean_rules``, ``mean_length``, ``certified``, the share of the folds that were solved to a
        gap of 3 % of the bound (``tol`` where that is larger), ``temperature``, and
        ``split0_score``, ``split1_score``, ….  NaN for settings that were left out.
    best_estimator_ : PRLClassifier
        Fitted to all rows.
    temperature_ : float
        t.
    rules_ : RuleEnsemble
        Those of ``best_estimator_``.
    value_, bound_, gap_ : float
        Those of ``best_estimator_``.
    classes_, n_features_in_, feature_names_in_
        As in :class:`PRLClassifier`.

    Notes
    -----
    With ``Cs="auto"`` C falls with the square root of the number of preferences, in the folds too,
    and a path ends where C is behind the best smaller one by more than half a standard error.

    Propositions do not depend on the classes, and are those of all rows, encoded once; an encoder
    of another kind is fitted anew for every fold.  Fits within folds have a ``tol`` of 0.03 at
    least.  Where one stops early (``epochs``, ``time_limit``) its score counts.  After Ctrl-C the
    best setting so far is fitted to all rows.

    Under ``joblib.parallel_config(backend="dask")``, or ``backend="loky", n_jobs=2``, the fits to
    the folds of one setting run at once in other processes; the table is sent once.

    References
    ----------
    The factor t: C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On calibration of modern neural
    networks", ICML 2017, arXiv:1706.04599.  The rule of one standard error: L. Breiman,
    J. Friedman, R. Olshen, C. Stone, "Classification and Regression Trees", 1984, section 3.4.3.

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

    Cs: Sequence[float] | Literal["auto"] = "auto"
    degrees: Sequence[int] = (1, 2)
    depth_penalties: Sequence[float] = (2.0,)
    cv: Any = "auto"
    scoring: Any = None
    selection: Literal["best", "one-standard-error"] = "best"
    _: KW_ONLY
    max_rules: int | None = None
    relations: Sequence[str] = ("=", "<=", ">=")
    bias_rule: bool = True
    epochs: int = 200
    tol: float = 1e-2
    cut_points: int = 8
    random_state: int | np.random.RandomState | None = 0
    temperature_: float = field(init=False)

    def fit(self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Score every setting, choose one, fit to all rows.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Anything that :class:`formulakern.Table` reads.
        y : array-like of shape (n_rows,)
            Classes, of any type.
        sample_weight : array-like of shape (n_rows,), optional
            Of the rows in training; scores are not weighted.

        Returns
        -------
        PRLClassifierCV
            Itself.

        Raises
        ------
        DataError, ParameterError
            As :class:`PRLClassifier`.
        """
        settings = self._settings()
        with self._showing() as bar:
            deadline = Deadline.of(self.time_limit)
            scorer = None if self.scoring is None else scorer_of(self.scoring)
            whole, labels = self._read_training(X, y)
            several_classes(labels)
            self.classes_ = np.unique(labels)
            comparing = deadline.part(COMPARING)
            # a fit takes as long as the encoding did, at least; what cannot be done is not begun
            late = comparing.over(FOLDS * deadline.taken())
            folds = [] if late else self._folds(X, whole, labels, sample_weight)
            trials = self._trials(settings, folds, labels, scorer, comparing)
            model = self._model(settings[0])
            model._share_encoding(self)
            model.classes_ = self.classes_
            preferences, rows = model._of_classes(labels, sample_weight)
            unit = automatic_C(preferences) if self._automatic else 1.0
            usual = settings.index(DEFAULT) if self._automatic and DEFAULT in settings else None
            settings = [setting._replace(C=setting.C * unit) for setting in settings]
            passed: list[int] = []
            known = sum(trial is not None for trial in trials)
            while True:
                self._choose(settings, trials, usual, passed)
                bar.at(0.9, f"C {self.C_:.3g}, all rows")
                model.set_params(C=self.C_, degree=self.degree_, depth_penalty=self.depth_penalty_)
                model._solve(whole, preferences, rows, deadline=deadline)
                passed.append(self.best_index_)
                late = deadline.over() or len(passed) >= known
                if late or len(np.unique(model.predict(whole))) > 1:
                    break
            self.best_estimator_ = model
            self._copy_from(model, FITTED)
            if len(self.rules_):  # without any it is said why
                warn_of_one_class(self, whole, labels, sample_weight)
            gap = open_share(self.value_, self.bound_)
            bar.end(f"C {self.C_:.3g}, gap {gap:.2g}, {len(self.rules_)} rules")
            return self

    @lazily
    def predict_proba(self, X: Any) -> FloatArray:
        """e^{t·s_k} / Σ_j e^{t·s_j}, s the votes over their margin (for two classes, half of them).

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        scores = self._scores(X)
        return np.asarray(np.exp(log_probabilities(self.temperature_ * scores / self._margin)))

    # -- what is computed --------------------------------------------------------------------------

    def _settings(self) -> list[Setting]:
        """All settings that are asked for, a path over C after the other."""
        check_choice("selection", self.selection, SELECTIONS)
        check_verbosity(self.verbose)
        Cs = [*MULTIPLES] if self._automatic else _listed("Cs", self.Cs)
        degrees = _listed("degrees", self.degrees)
        penalties = _listed("depth_penalties", self.depth_penalties)
        settings = [
            Setting(C, degree, a)
            for degree in degrees
            for a in (penalties if degree != 1 else penalties[:1])
            for C in Cs
        ]
        for setting in settings:
            check_parameters(self._model(setting))
        return settings

    @property
    def _automatic(self) -> bool:
        return isinstance(self.Cs, str) and self.Cs == "auto"

    def _model(self, setting: Setting, coarse: float | None = None) -> PRLClassifier:
        shared = self._shared_parameters(PRLClassifier()) | setting._asdict()
        if coarse is not None:
            shared["tol"] = max(self.tol, coarse)
        return PRLClassifier(**shared | {"random_state": None}, verbose=int(self.verbose) > 1)

    def _folds(
        self, X: Any, whole: PackedTable, labels: npt.NDArray[Any], sample_weight: Any
    ) -> list[Fold]:
        """Rows to learn from and rows that are held out; encoded together where that is fair."""
        seed = random_source(self.random_state).randint(2**31 - 1)
        weights = None
        if sample_weight is not None:
            weights = row_weights(labels, None, sample_weight)
        own = self.encoder_ is None or isinstance(self.encoder_, PropositionEncoder)
        rows = None if own else selectable(X)
        folds = []
        for train, test in folds_of(self.cv, labels, seed):
            reader = PRLClassifier(**self._shared_parameters(PRLClassifier()))
            if rows is None:
                reader._share_encoding(self)
                table, unseen = whole.take(train), whole.take(test)
            else:
                table = reader._fit_table(rows[train], labels[train])
                unseen = reader._read_table(rows[test])
            w = None if weights is None else weights[train]
            folds.append(Fold(table, unseen, labels[train], w, labels[test], test, reader))
        return folds

    def _trials(
        self,
        settings: list[Setting],
        folds: list[Fold],
        labels: npt.NDArray[Any],
        scorer: Any,
        deadline: Deadline,
    ) -> list[Trial | None]:
        """What is known of each setting; None for those that were left out."""
        trials: list[Trial | None] = [None] * len(settings)
        path, best, bar = None, None, self._bar
        fits, columns = FoldFits(folds), [()] * len(folds)
        try:
            with interruptible(finds=False):
                for place, setting in enumerate(settings):
                    if setting[1:] != path:
                        path, best = setting[1:], None
                    elif best is None:
                        continue  # the path has ended
                    if not folds or (any(trials) and deadline.over()):
                        warn_late(trials)
                        break
                    models, until = [], turn(deadline, len(settings) - place)
                    share, what = place / len(settings), f"C {setting.C:g}, degree {setting.degree}"
                    asked = [
                        (self._model(setting, COARSE), self._automatic, one) for one in columns
                    ]
                    begins = partial(bar.fold_at, share, what, len(folds))
                    for number, answer in enumerate(
                        fits.answers(Fold.fitted, asked, until, begins)
                    ):
                        model, columns[number] = answer
                        models.append(model)
                    trial = trials[place] = trial_of(folds, models, labels, scorer)
                    bar.at(share, what, line=_line(setting, trial, self._automatic))
                    if best is None or np.nanmean(trial.scores) > np.nanmean(best.scores):
                        best = trial
                    behind, error = compared(best.scores, trial.scores)
                    if self._automatic and behind > BEHIND * error > 0:
                        best = None  # nor will a larger C be better
        except KeyboardInterrupt:
            warn_incomplete(trials, "interrupted")
        return trials

    def _choose(
        self,
        settings: Sequence[Setting],
        trials: Sequence[Trial | None],
        usual: int | None = None,
        passed: Sequence[int] = (),
    ) -> None:
        """Set what is known of the settings, and the one that is chosen.

        ``usual`` is the position of the one that a classifier has by default; those of ``passed``
        are passed over, as long as there are others.
        """
        tried = np.array([k for k, trial in enumerate(trials) if trial is not None])
        known = [trial for trial in trials if trial is not None]
        listed = {name: np.array([getattr(s, name) for s in settings]) for name in Setting._fields}
        if not known:  # the default, or that of the middle
            self.best_index_ = len(settings) // 2 if usual is None else usual
            self.C_, self.degree_, self.depth_penalty_ = settings[self.best_index_]
            self.best_score_, self.temperature_ = np.nan, 1.0
            self.cv_results_ = {**listed, "mean_score": np.full(len(settings), np.nan)}
            return

        def spread(values: list[Any]) -> FloatArray:
            """One value for each setting, NaN for those that were not tried."""
            spread = np.full((len(settings), *np.shape(values[0])), np.nan)
            spread[tried] = values
            return spread

        scores, by_fold = spread([t.scores for t in known]), spread([t.splits for t in known])
        means = spread([np.nanmean(t.scores) for t in known])
        shapes = spread([t.shapes.mean(axis=0) for t in known])
        rules, several = shapes[:, 0], shapes[:, SHAPE.index("several")]
        left = np.setdiff1d(tried, passed) if {*tried.tolist()} - {*passed} else tried
        some = left[several[left] > 0] if (several[left] > 0).any() else left
        best = int(some[np.lexsort((rules[some], -np.round(means[some], 12)))[0]])
        behind, error = np.array([compared(scores[best], one) for one in scores]).T
        self.best_index_ = best
        if usual in some and behind[usual] <= NEAR * error[usual]:
            self.best_index_ = int(usual or 0)
        if self.selection == "one-standard-error":
            near = some[behind[some] <= error[some] + 1e-12]
            self.best_index_ = int(near[np.lexsort((-means[near], rules[near]))[0]])
        self.C_, self.degree_, self.depth_penalty_ = settings[self.best_index_]
        self.best_score_ = float(means[self.best_index_])
        temperatures = spread([t.temperature for t in known])
        self.temperature_ = float(temperatures[self.best_index_])
        self.cv_results_ = {
            **listed,
            "mean_score": means,
            "std_score": by_fold.std(axis=1),
            "behind": behind,
            "error": error,
            **{f"mean_{name}": shapes[:, j] for j, name in enumerate(SHAPE[:2])},
            "certified": shapes[:, 2],
            "temperature": temperatures,
            **{f"split{k}_score": column for k, column in enumerate(by_fold.T)},
        }


def _listed(name: str, values: Any) -> list[Any]:
    """Different numbers, smallest first; what is no number is left for later checks."""
    listed = [values] if is_number(values) or isinstance(values, str) else list(values)
    if not listed or not all(map(is_number, listed)):
        raise ParameterError(f"{name}={values!r}; expected numbers, one at least.")
    return sorted({*listed})


def _line(setting: Setting, trial: Trial, automatic: bool) -> str:
    """One setting, as ``verbose`` shows it."""
    rules, _, certified, _ = trial.shapes.mean(axis=0)
    return (
        f"C = {setting.C:g}{' automatic ones' * automatic}, degree {setting.degree}, depth penalty "
        f"{setting.depth_penalty:g}: score {np.nanmean(trial.scores):.4f}, {rules:.1f} rules, "
        f"{certified:.0%} certified"
    )
