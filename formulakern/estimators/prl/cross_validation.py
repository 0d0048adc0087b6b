"""PRLClassifierCV: C, degree and depth penalty by cross-validation, along warm-started paths."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
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
from formulakern.estimators.hkl.base import log_probabilities
from formulakern.estimators.path_search import (
    COMPARING,
    FOLDS,
    Paths,
    Scores,
    Trial,
    best_factor,
    countable,
    folds_of,
    means_of,
    scorer_of,
    search_paths,
    selectable,
    shape_of,
)
from formulakern.estimators.prl.base import (
    PreferenceModel,
    automatic_C,
    check_parameters,
    open_share,
)
from formulakern.estimators.prl.classifier import PRLClassifier
from formulakern.estimators.targets import random_source, row_weights, several_classes
from formulakern.learning.prl.restricted_game import Column
from formulakern.partitions.lazy_rows import lazily

__all__ = ["PRLClassifierCV", "calibrated_votes"]

#: The least logarithm of a probability that counts.
LEAST = float(np.log(1e-6))
#: The logarithm of the factor of the scores is at most so large, and at least less that.
WIDEST = float(np.log(20))
#: What is known of every fit beside its score.
SHAPE = ("rules", "length", "certified", "several")
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


@dataclass(frozen=True, eq=False)
class Fold:
    """Training rows of one fold, encoded, and the rows that are held out.

    Attributes
    ----------
    train, unseen : PackedTable
    labels : ndarray of shape (train.n_rows,)
    weights : ndarray of shape (train.n_rows,), or None
    right : ndarray of shape (unseen.n_rows,)
        The classes of the rows that are held out.
    test : ndarray of shape (unseen.n_rows,), intp
        Their numbers.
    reader : PRLClassifier
        With the encoding of these rows.
    """

    train: PackedTable
    unseen: PackedTable
    labels: npt.NDArray[Any]
    weights: FloatArray | None
    right: npt.NDArray[Any]
    test: npt.NDArray[np.intp]
    reader: PRLClassifier

    def fitted(
        self, model: PRLClassifier, automatic: bool, known: Sequence[Column], deadline: Deadline
    ) -> tuple[PRLClassifier, Sequence[Column]]:
        """A model fitted to the training rows, and the columns of its game.

        Parameters
        ----------
        model : PRLClassifier
        automatic : bool
            Whether its C counts automatic ones.
        known : sequence of Column
            Those of the game before.
        deadline : Deadline

        Raises
        ------
        KeyboardInterrupt
            Also where the learner would keep its best so far.
        """
        model._share_encoding(self.reader)
        model.classes_ = np.unique(self.labels)
        preferences, rows = model._of_classes(self.labels, self.weights)
        if automatic:
            model.C = float(model.C) * automatic_C(preferences)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that it ended early, or has no rules
            columns = model._solve(self.train, preferences, rows, known=known, deadline=deadline)
        if model.stopped_ == "interrupted":
            raise KeyboardInterrupt
        return model, columns

    def scores(self, model: PRLClassifier, classes: npt.NDArray[Any]) -> FloatArray:
        """The votes for all classes on the rows that are held out, with a margin of 1; −∞ for
        classes that the training rows lack.
        """
        scores = np.full((len(self.right), len(classes)), -np.inf)
        known = np.searchsorted(classes, model.classes_)
        scores[:, known] = model._scores(self.unseen) / model._margin
        return scores


def trial_of(
    folds: Sequence[Fold], models: Sequence[PRLClassifier], labels: npt.NDArray[Any], scorer: Any
) -> Trial:
    """What the models of all folds are worth on the rows that each does not know.

    Rows of a class that the training rows of their fold lack do not count.

    Parameters
    ----------
    folds : sequence of Fold
    models : sequence of PRLClassifier, one for each
    labels : ndarray of shape (n_rows,)
        Of all rows.
    scorer : callable or None
    """
    rows = np.concatenate([fold.test for fold in folds])
    classes, codes = np.unique(labels, return_inverse=True)
    held_out = [fold.scores(model, classes) for fold, model in zip(folds, models, strict=True)]
    several = len(np.unique(np.concatenate(held_out).argmax(axis=1))) > 1  # classes are predicted
    shapes = np.array([(*shape_of(m), m.stopped_ == "optimal", several) for m in models])
    known = countable([(fold.labels, fold.right) for fold in folds])
    weights = (np.bincount(codes)[codes] / len(codes))[rows][known] ** -0.5
    values = np.full(len(rows), np.nan)
    t, values[known] = calibrated_votes(
        np.concatenate(held_out)[known], codes[rows][known], weights / weights.mean()
    )
    if scorer is not None:
        pairs = zip(folds, models, strict=True)
        by_fold = np.array([float(scorer(model, f.unseen, f.right)) for f, model in pairs])
        return Trial(by_fold, by_fold, shapes, t)
    return Trial(*means_of([fold.test for fold in folds], values, len(labels)), shapes, t)


def calibrated_votes(
    votes: FloatArray, codes: npt.NDArray[np.intp], weights: FloatArray
) -> tuple[float, FloatArray]:
    """The factor t by which votes are best stretched to logarithms of odds, and ln p_y of each row.

    p_k ∝ e^{t·s_k}, and t makes the weighted mean of ln p_y the largest.

    Parameters
    ----------
    votes : float64 (m, K)
        s, for two classes both signs of half the logarithm.
    codes : intp (m,)
        y, the number of the right class.
    weights : float64 (m,)

    Returns
    -------
    t : float
        From 1/20 to 20.
    values : float64 (m,)
        The logarithms, times the weights.

    Examples
    --------
    Right in three of four rows: the odds are 3.

    >>> votes = np.array([[1.0, -1.0]] * 4)
    >>> t, values = calibrated_votes(votes, np.array([0, 0, 0, 1]), np.ones(4))
    >>> round(float(np.exp(t)), 2), np.exp(values).round(2)
    (3.0, array([0.75, 0.75, 0.75, 0.25]))
    """

    def values(t: float) -> FloatArray:
        logs = log_probabilities(t * votes)
        return np.asarray(weights * np.maximum(logs[np.arange(len(codes)), codes], LEAST))

    return best_factor(values)


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
    max_rules, bias_rule, epochs, tol, monotone
        As in :class:`PRLClassifier`.
    encoder, class_weight, time_limit
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
    bias_rule: bool = True
    epochs: int = 200
    tol: float = 1e-2
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
        return PRLClassifier(**shared, verbose=int(self.verbose) > 1)

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
        columns: list[Any] = [()] * len(folds)

        def paths() -> Iterator[tuple[list[int], list[Any]]]:
            for path in dict.fromkeys(setting[1:] for setting in settings):
                yield [k for k, setting in enumerate(settings) if setting[1:] == path], columns

        def keep(_: int, found: list[Any], __: Trial) -> None:
            columns[:] = found

        asked = Paths(
            len(settings),
            paths(),
            Fold.fitted,
            lambda k, _, known: (self._model(settings[k], COARSE), self._automatic, known),
            lambda _, models: trial_of(folds, models, labels, scorer),
            lambda k: f"C {settings[k].C:g}, degree {settings[k].degree}",
            lambda k, trial: _line(settings[k], trial, self._automatic),
            lambda _: 1,
            BEHIND if self._automatic else np.inf,
            of_path=True,
            settled=keep,
        )
        return search_paths(asked, trials, folds, self._bar, deadline, stacklevel=5)

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
        listed = {name: np.array([getattr(s, name) for s in settings]) for name in Setting._fields}
        if not any(trials):  # the default, or that of the middle
            self.best_index_ = len(settings) // 2 if usual is None else usual
            self.C_, self.degree_, self.depth_penalty_ = settings[self.best_index_]
            self.best_score_, self.temperature_ = np.nan, 1.0
            self.cv_results_ = {**listed, "mean_score": np.full(len(settings), np.nan)}
            return
        found = Scores(trials)
        shapes = found.shapes.mean(axis=1)
        rules, several = shapes[:, 0], shapes[:, SHAPE.index("several")]
        left = np.setdiff1d(found.tried, passed)
        left = left if len(left) else found.tried
        some = left[several[left] > 0] if (several[left] > 0).any() else left
        self.best_index_ = best = found.best(rules, some)
        behind, error = found.behind(best)
        if usual in some and behind[usual] <= NEAR * error[usual]:
            self.best_index_ = int(usual or 0)
        if self.selection == "one-standard-error":
            self.best_index_ = found.simplest(behind, error, rules, some)
        self.C_, self.degree_, self.depth_penalty_ = settings[self.best_index_]
        self.best_score_ = float(found.means[self.best_index_])
        self.temperature_ = float(found.temperatures[self.best_index_])
        more = {
            "behind": behind,
            "error": error,
            **{f"mean_{name}": shapes[:, j] for j, name in enumerate(SHAPE[:2])},
            "certified": shapes[:, 2],
            "temperature": found.temperatures,
        }
        self.cv_results_ = found.results(listed, more)


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
