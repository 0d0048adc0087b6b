"""The search over settings: along paths with warm starts, on folds, with a deadline.

The settings of a path are fitted in order and scored on held-out rows.  Each fit starts from the
last fit of the path to the same fold.  A path may end early when its scores fall.  The settings of
a round are independent, and are fitted in parallel to folds of the round.  After Ctrl-C or at the
time limit the search compares the finished settings.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.model_selection import RepeatedStratifiedKFold

from formulakern.arrays import FloatArray
from formulakern.checks import check_choice, is_integer, is_number
from formulakern.deadline import Deadline, TimeIsOver
from formulakern.encoding.fitted import Encoding
from formulakern.errors import DataError, FormulaKernError, ParameterError
from formulakern.estimators.encoder import PropositionEncoder
from formulakern.estimators.rule_path import RulePath
from formulakern.estimators.validation import TrainingData, random_source, splits
from formulakern.estimators.workers import Workers
from formulakern.interrupts import interruptible
from formulakern.progress import Progress
from formulakern.rules.rule import Rule
from formulakern.tables.table import Table

#: For ``cv="auto"``: the number of folds, the number of held-out rows to reach by repetition, and
#: the limit of repetitions.
FOLDS, MIN_HELD_OUT_ROWS, MAX_REPEATS = 3, 90, 3
#: The share of a time limit for comparing settings, and the least share of that for one setting.
COMPARISON_SHARE, MIN_SETTING_SHARE = 0.5, 0.25
#: A mean score that is this number of standard errors behind the best counts as equal to it.
EQUAL = {"best": 0.1, "1se": 1.0}
#: The accuracy of the logarithm of the factor that stretches scores.
FACTOR_TOL = 1e-4
#: Limits of logarithms: the absolute value for the factor that stretches scores, and the least
#: value for a probability.
MAX_LOG_FACTOR, MIN_LOG_PROBABILITY = float(np.log(20)), float(np.log(1e-6))


class Trial(NamedTuple):
    """The results of all folds for one setting.

    ``scores`` has one score per row or fold, NaN if nothing was held out, and ``splits`` one per
    fold.  ``shapes`` (folds, s) are facts about every fit, such as its number of rules.
    ``temperature`` is the factor that stretches scores best.  ``several`` is True if several
    classes are predicted on held-out rows.
    """

    scores: FloatArray
    splits: FloatArray
    shapes: FloatArray
    temperature: float = 1.0
    several: bool = True
    path: tuple[Any, ...] = ()


class Path(NamedTuple):
    """The positions of settings in order, the start of each fold, and the patience.

    The path ends after ``patience`` consecutive settings that are behind.  A round has its own
    ``folds`` and independent settings.
    """

    places: Sequence[int]
    starts: Sequence[Any] | None = None
    patience: int = 1
    folds: Sequence[Any] | None = None


@dataclass(eq=False)
class PathSearch:
    """A search among settings.

    Parameters
    ----------
    settings, folds : sequence of objects
        The inputs of fits; no folds if time runs out before the first fit.
    fit : callable
        A function of a module or class: ``fit(fold, *arguments, deadline)`` → a result, and the
        start of the next setting of the path.
    arguments, judge : callable
        Setting, number of a fold and start → arguments of ``fit``; results of all folds → Trial.
    name, line : callable
        The texts to show for a setting, and for a setting and its Trial.
    behind : float
        A setting this number of standard errors below the best setting counts as behind.
    shares : bool
        Whether each setting has a share of the time; otherwise it may take all that is left.
    words : (str, str)
        The word for settings in warnings, and the setting to use if none was fitted.

    Attributes
    ----------
    trials : list of Trial or None
        None for settings that were left out.
    known : dict of int to list
        For each finished setting, the start of the next setting in each fold.
    """

    settings: Sequence[Any]
    folds: Sequence[Any]
    fit: Callable[..., tuple[Any, Any]]
    arguments: Callable[[Any, int, Any], tuple[Any, ...]]
    judge: Callable[[list[Any]], Any]
    name: Callable[[Any], str]
    line: Callable[[Any, Any], str]
    behind: float = np.inf
    shares: bool = True
    words: tuple[str, str] = ("settings", "a middle setting")
    workers: Workers = field(default_factory=Workers)

    def __post_init__(self) -> None:
        self.trials: list[Any] = [None] * len(self.settings)
        self.known: dict[int, list[Any]] = {}
        self._best = -np.inf

    def add(self, settings: Sequence[Any]) -> range:
        """Add settings and return their places."""
        self.settings = [*self.settings, *settings]
        self.trials += [None] * len(settings)
        return range(len(self.trials) - len(settings), len(self.trials))

    def run(
        self, paths: Iterable[Path], bar: Progress, deadline: Deadline, stacklevel: int = 4
    ) -> list[Any]:
        """Fit and score the settings of paths, which are read during the search.

        The first setting is always fitted, unless there are no folds or a fit raises TimeIsOver.  A
        warning reports settings that were left out.  Ctrl-C raises KeyboardInterrupt if no setting
        is finished.
        """
        self._bar, self._deadline = bar, deadline
        why, advice, category = None, "", UserWarning
        try:
            with interruptible(finds=False):
                if not self._run(paths):
                    why, category = "stopped by the time limit", ConvergenceWarning
                    advice = f" Allow more time, or pass fewer {self.words[0]}."
        except KeyboardInterrupt:
            if not any(self.trials):
                raise
            why = "interrupted"
        if why is not None:
            kept = "the best of these" if any(self.trials) else self.words[1]
            warnings.warn(
                f"{why} after {len(self.known)} of {len(self.settings)} {self.words[0]}: {kept} is "
                f"fitted to all rows.{advice}",
                category,
                stacklevel=stacklevel,
            )
        return self.trials

    @property
    def _share(self) -> float:
        """The finished share of all work; the remaining tenth is the fit to all rows."""
        return 0.9 * len(self.known) / len(self.settings)

    def _run(self, paths: Iterable[Path]) -> bool:
        """Run the search and return True if time sufficed."""
        best = None
        for places, starts, patience, folds in paths:
            self.folds = self.folds if folds is None else folds
            before = [None] * len(self.folds) if starts is None else list(starts)
            worse = 0
            for some in [[place] for place in places] if folds is None else [places]:
                if not self._fitted(some, before):
                    return False
                if folds is not None:
                    continue
                trial = self.trials[some[0]]
                if best is None or np.nanmean(trial.scores) > np.nanmean(best.scores):
                    best = trial
                behind, error = compared(best.scores, trial.scores)
                worse = worse + 1 if behind > self.behind * error and behind > 0 else 0
                if worse == patience:
                    break
        return True

    def _fitted(self, places: Sequence[int], before: list[Any]) -> bool:
        """Fit and judge settings, and return True if time sufficed for all."""
        ready: Any = self.workers.results(self.fit, self._tasks(places, before))
        with closing(ready) as answers:
            for place in places:
                try:
                    pairs = list(islice(answers, len(self.folds)))
                except TimeIsOver:
                    return False
                if not pairs or len(pairs) < len(self.folds):
                    return False
                found, before[:] = zip(*pairs, strict=True)
                trial = self.judge(list(found))
                self.trials[place], self.known[place] = trial, [*before]
                if not np.isnan(trial.scores).all():
                    self._best = max(self._best, float(np.nanmean(trial.scores)))
                best = "" if np.isinf(self._best) else f"best score {self._best:.4g}"
                setting = self.settings[place]
                self._bar.at(self._share, self.name(setting), best, self.line(setting, trial))
        return True

    def _tasks(self, places: Sequence[int], before: list[Any]) -> Iterator[tuple[Any, ...]]:
        """Yield the fits of settings to all folds, each with its share of the time."""
        folds, first = [*map(self.workers.send, self.folds)], not self.known
        for place in places:
            setting, n = self.settings[place], len(folds)
            left = max(1, len(self.settings) - len(self.known))
            until = setting_deadline(self._deadline, left) if self.shares else self._deadline
            for k, fold in enumerate(folds):
                if self._deadline.over() and not first:
                    return
                first, part = False, f", fold {k + 1} of {n}" * (n > 1)
                self._bar.at(self._share, self.name(setting) + part)
                later = until.part(1 / -(-(n - k) // self.workers.jobs))  # parallel fits
                yield fold, *self.arguments(setting, k, before[k]), later


class Scores:
    """The trials of all settings as arrays, NaN for settings that were left out.

    ``tried`` are the finished settings; the other attributes have one row per setting.
    """

    def __init__(self, trials: Sequence[Trial | None]) -> None:
        known = list(filter(None, trials))
        self.tried = np.flatnonzero([trial is not None for trial in trials])

        def of_all(values: Sequence[Any]) -> FloatArray:
            whole = np.full((len(trials), *np.shape(values[0])), np.nan)
            whole[self.tried] = values
            return whole

        parts = map(of_all, zip(*(trial[:4] for trial in known), strict=True))
        self.scores, self.splits, self.shapes, self.temperatures = parts
        self.means = of_all([np.nanmean(trial.scores) for trial in known])

    def best(self, ties: FloatArray, among: npt.NDArray[np.intp] | None = None) -> int:
        """Return the setting of the largest mean score; ties go to the smallest ``ties``."""
        some = self.tried if among is None else among
        return int(some[np.lexsort((ties[some], -np.round(self.means[some], 12)))[0]])

    def chosen(
        self,
        selection: str,
        among: npt.NDArray[np.intp] | None = None,
    ) -> tuple[int, dict[str, FloatArray]]:
        """Choose the fewest rules (the first shape) within a share of a standard error of the best.

        Return also ``behind`` and ``error``, the mean difference to the best and its standard
        error.
        """
        some, rules = self.tried if among is None else among, self.shapes[:, :, 0].mean(axis=1)
        place = self.best(rules, some)
        behind, error = np.array([compared(self.scores[place], one) for one in self.scores]).T
        few = some[behind[some] <= EQUAL[selection] * error[some] + 1e-12]
        place = int(few[np.lexsort((-self.means[few], rules[few]))[0]])
        return place, {"behind": behind, "error": error}

    def results(self, listed: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``cv_results_``: settings, scores, ``more`` columns, and scores of folds."""
        with warnings.catch_warnings():  # about settings that were left out
            warnings.simplefilter("ignore", RuntimeWarning)
            errors = np.nanstd(self.splits, axis=1)
        folds = {f"split{k}_score": column for k, column in enumerate(self.splits.T)}
        return {**listed, "mean_score": self.means, "std_score": errors, **more, **folds}


# -- folds of encoded rows -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Fold:
    """The encoded training rows of a fold, and the held-out rows ``unseen``.

    ``right`` are the classes of the held-out rows, and ``test`` their numbers.
    """

    data: TrainingData
    unseen: Any
    right: npt.NDArray[Any]
    test: npt.NDArray[np.intp]
    encoding: Encoding


class SearchedModel:
    """The shared fit of cross-validated rule models.

    A subclass has ``_settings`` (named tuples that begin with C), ``_paths`` and ``_fit_chosen``.
    ``_model`` returns the model of a setting, with a method ``_fit_encoded``, and ``_unit`` the
    automatic C of a fold.  ``_held_out`` returns scores, and ``_calibrated`` the factor and values
    of :func:`stretched` for them.  ``_everyone`` returns all rows, with class names for the folds.
    """

    #: The named tuple of a setting with its limit of rules.
    candidate: ClassVar[Any]
    #: Whether each setting has a share of the time; see :class:`PathSearch`.
    shares: ClassVar[bool] = True
    #: The names of the facts about every fit in ``cv_results_``.
    shape_names: ClassVar[tuple[str, ...]] = ("mean_rules", "mean_length", "accuracy")

    @staticmethod
    def fit_fold(fold: Fold, model: Any, start: Any, deadline: Deadline) -> tuple[Any, Any]:
        """Fit a model; return the models of all sizes, and the start of the next setting."""
        model._take_encoding(fold.encoding)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about an early end, or no rules
            models, known = model._fit_sizes(fold.data, start, deadline)
        if model.stopped_ == "interrupted":
            raise KeyboardInterrupt
        return models, known

    def _facts(self, model: Any) -> tuple[float, ...]:  # noqa: ARG002
        """Return further facts about a fit, for ``shape_names`` after the first two."""
        return ()

    def _settle(self: Any) -> None:
        super()._settle()  # type: ignore[misc]
        model = self.best_estimator_
        model._take_encoding(self._encoding)
        model._features = self._features

    def _check_parameters(self: Any) -> None:
        check_choice("selection", self.selection, tuple(EQUAL))
        self._scorer()
        self._settings()

    def _scorer(self: Any) -> Any:
        return None if self.scoring is None else scorer_of(self.scoring)

    def _learn(self: Any, data: TrainingData, deadline: Deadline) -> tuple[bool, str]:
        """Score every setting, choose one, and fit it to all rows."""
        settings, everyone = self._settings(), self._everyone(data)
        comparing = deadline.part(COMPARISON_SHARE)
        # a fit takes at least as long as the encoding: start no comparison without time for it
        late = comparing.over(FOLDS * deadline.taken())
        folds = [] if late else self._folds(everyone)
        search = PathSearch(
            settings,
            folds,
            self.fit_fold,
            lambda setting, k, start: (
                self._model(self._scaled(setting, folds[k].data), folds[k]),
                start,
            ),
            partial(self._judged, folds, everyone.labels, self._scorer()),
            lambda setting: ", ".join(_setting_texts(setting, ".3g")),
            self._line,
            shares=self.shares,
        )
        search.run(self._paths(search), self._bar, comparing)
        settings = [self._scaled(setting, everyone) for setting in settings]
        gap, ended = self._fit_chosen(settings, search, everyone, deadline)
        return ended, f"C {self.C_:.3g}, gap {gap:.2g}, {len(self.rules_)} rules"

    def _scaled(self: Any, setting: Any, data: TrainingData) -> Any:
        """Return the setting with C in place of its multiple of the automatic C."""
        return setting._replace(C=setting.C * self._unit(data)) if self._automatic else setting

    def _judged(
        self: Any, folds: Sequence[Fold], labels: npt.NDArray[Any], scorer: Any, models: list[Any]
    ) -> Trial:
        """Score the models of each size, and return the trial of the best size."""
        path = [self._judged_size(folds, labels, scorer, own) for own in zip(*models, strict=True)]
        best: Trial = max(path, key=lambda trial: np.nanmean(trial.scores))
        return best._replace(path=tuple(path))

    def _judged_size(
        self: Any, folds: Sequence[Fold], labels: npt.NDArray[Any], scorer: Any, models: Any
    ) -> Trial:
        """Score the models of all folds on their held-out rows.

        Rows whose class is missing from the training rows of their fold do not count, unless no
        rows would remain.  A scorer gives one score per fold.
        """
        pairs = [*zip(folds, models, strict=True)]
        shapes = np.array(
            [
                (
                    *shape_of(model),
                    np.mean(model.predict(fold.unseen) == fold.right),
                    *self._facts(model),
                )
                for fold, model in pairs
            ]
        )
        codes = np.unique(labels, return_inverse=True)[1]
        known = np.concatenate([np.isin(fold.right, fold.data.classes) for fold in folds])
        known |= not known.any()
        rows = np.concatenate([fold.test for fold in folds])[known]
        held_out = np.concatenate([self._held_out(fold, model) for fold, model in pairs])
        several = len(np.unique(held_out.argmax(axis=1))) > 1
        t, found = self._calibrated(held_out[known], codes[rows])
        if scorer is not None:
            splits = np.array([scorer(model, fold.unseen, fold.right) for fold, model in pairs])
            return Trial(splits, splits, shapes, t, several)
        number = np.repeat(np.arange(len(folds)), [len(fold.test) for fold in folds])[known]
        means = _means(found, rows, len(labels))
        return Trial(means, _means(found, number, len(folds)), shapes, t, several)

    def _candidates(
        self: Any, settings: Sequence[Any], trials: Sequence[Trial | None]
    ) -> tuple[list[Any], list[Trial | None]]:
        """Return every setting with every limit of rules, and their trials."""
        sizes: list[Any] = self._sizes or [self.max_rules]
        listed = [self.candidate(*setting, size) for setting in settings for size in sizes]
        nothing: list[Any] = [None] * len(sizes)
        known = [one for trial in trials for one in (trial.path or [trial] if trial else nothing)]
        return listed, known

    def _scored(self: Any, path: RulePath, n: int) -> RulePath:
        """Return a path of ``n`` rows with the held-out scores for the chosen setting."""
        found, steps = self.cv_results_, []
        names = [name for name in self.candidate._fields if name != "max_rules"]
        same = np.all([found[name] == getattr(self, f"{name}_") for name in names], axis=0)
        for step in path:
            [*places] = np.flatnonzero(same)
            if self._sizes:
                places = [k for k in places if found["max_rules"][k] >= step.n_rules]
            if places and "accuracy" in found:
                share, score = float(found["accuracy"][places[0]]), found["mean_score"][places[0]]
                error = math.sqrt(share * (1 - share) / n)
                step = step._replace(accuracy=share, error=error, score=float(score))
            steps.append(step)
        return RulePath(tuple(steps))

    def _line(self, setting: Any, trial: Trial) -> str:
        """Return the line that ``verbose`` prints for a setting."""
        shape = dict(zip(self.shape_names, trial.shapes.mean(axis=0), strict=False))
        automatic = " (C in automatic ones)" * self._automatic
        return (
            f"{', '.join(_setting_texts(setting, '.4g', ' = '))}{automatic}: score "
            f"{np.nanmean(trial.scores):.4f}, {shape['mean_rules']:.1f} rules"
        )

    @property
    def _automatic(self) -> bool:
        Cs = vars(self)["Cs"]
        return isinstance(Cs, str) and Cs == "auto"

    def _folds(self: Any, everyone: TrainingData) -> list[Fold]:
        """Return the folds, encoded separately if the encoder needs to be refitted."""
        labels, X = everyone.labels, everyone.source
        seed = random_source(self.random_state).randint(2**31 - 1)
        rows: Any = None
        if isinstance(self.encoder_, PropositionEncoder):
            rows = Table.of(X) if self.encoder_.reads_classes else None
        elif self.encoder_ is not None:
            rows = X.tocsr() if hasattr(X, "tocsr") else getattr(X, "iloc", None)
            rows = np.asarray(X) if rows is None else rows
        folds = []
        for train, test in folds_of(self.cv, labels, seed):
            encoding = self._encoding
            if rows is None:
                table, unseen = everyone.table.take(train), everyone.table.take(test)
            else:
                reader = self._model()
                table = reader._fit_table(rows[train], labels[train])
                unseen, encoding = reader._read_table(rows[test]), reader._encoding
            learned = everyone.take(train, table)
            folds.append(Fold(learned, unseen, labels[test], test, encoding))
        return folds

    def _chosen(
        self: Any,
        settings: Sequence[Any],
        trials: Sequence[Trial | None],
        otherwise: int,
        among: npt.NDArray[np.intp] | None = None,
    ) -> Any:
        """Set the results of all settings, and return the chosen setting or ``otherwise``."""
        columns = map(np.array, zip(*settings, strict=True))
        listed = dict(zip(settings[0]._fields, columns, strict=True))
        if not any(trials):
            self.best_index_, self.best_score_, self.temperature_ = otherwise, np.nan, 1.0
            self.cv_results_ = {**listed, "mean_score": np.full(len(settings), np.nan)}
            return settings[otherwise]
        found = Scores(trials)
        self.best_index_, more = found.chosen(self.selection, among)
        self.best_score_ = float(found.means[self.best_index_])
        self.temperature_ = float(found.temperatures[self.best_index_])
        shapes = found.shapes.mean(axis=1).T
        more |= dict(zip(self.shape_names, shapes, strict=False))
        self.cv_results_ = found.results(listed, more | {"temperature": found.temperatures})
        return settings[self.best_index_]


def _setting_texts(setting: Any, form: str, sign: str = " ") -> Iterator[str]:
    """Yield the name and value of each part of a setting as text."""
    for name, value in setting._asdict().items():
        yield f"{name.replace('_', ' ')}{sign}{value:{form}}"


def _means(values: FloatArray, group: npt.NDArray[np.intp], n: int) -> FloatArray:
    """Return the mean value of each group, NaN for empty groups."""
    with np.errstate(invalid="ignore"):
        means = np.bincount(group, values, n) / np.bincount(group, minlength=n)
    return np.asarray(means, dtype=np.float64)


def stretched(values: Callable[[float], FloatArray]) -> tuple[float, FloatArray]:
    """Return the factor t from 1/20 to 20 with the largest mean of ``values(t)``, and its values.

    The values are weighted logarithms of probabilities, one per row.
    """
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(
        lambda log_t: -float(values(np.exp(log_t)).mean()),
        bounds=(-MAX_LOG_FACTOR, MAX_LOG_FACTOR),
        method="bounded",
        options={"xatol": FACTOR_TOL},
    )
    return float(np.exp(found.x)), values(np.exp(found.x))


def shape_of(model: Any) -> tuple[float, float]:
    """Return the number of rules of a model and their mean length."""
    rules = model.rules_.rules
    lengths = [len(rule.formula.leaves) if isinstance(rule, Rule) else 1 for rule in rules]
    return float(len(lengths)), float(np.mean(lengths)) if lengths else 0.0


def folds_of(
    cv: Any, labels: npt.NDArray[Any], seed: int
) -> list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
    """Return training rows and held-out rows, for "auto", a number of folds or a splitter."""
    automatic = isinstance(cv, str) and cv == "auto"
    if automatic or is_integer(cv):
        folds = FOLDS if automatic else int(cv)
        if folds < 2:
            raise ParameterError(f"cv={folds}; expected at least 2 folds.")
        counts = np.unique(labels, return_counts=True)[1]
        if np.sort(counts)[-2] < 2 or counts.max() < folds:
            raise DataError(
                f"{len(counts)} classes of {sorted(counts.tolist())} rows for {folds} folds; "
                "expected two classes with at least 2 rows, one of them with a row for every fold. "
                "Pass more rows, or fewer folds."
            )
    if automatic:
        repeats = int(np.clip(MIN_HELD_OUT_ROWS // len(labels), 1, MAX_REPEATS))
        cv = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=repeats, random_state=seed)
    return splits(cv, labels, seed)


def scorer_of(scoring: Any, name: str = "scoring", others: str = "") -> Any:
    """Return the scorer of a name, or a scorer itself, as a function of (model, rows, classes).

    Raise ParameterError if ``scoring`` is not the name of a score or a scorer, and later if it
    fails.  ``others`` lists further names for the error.
    """

    def refused(why: str) -> ParameterError:
        return ParameterError(
            f"{name}={scoring!r} {why}; expected {others}the name of a score, such as 'accuracy' "
            "or 'f1_macro', or a function of a model, rows and their classes."
        )

    try:
        scorer = get_scorer("none" if scoring is None else scoring)
    except (TypeError, ValueError):
        raise refused("is not a score") from None

    def score(model: Any, rows: Any, labels: npt.NDArray[Any]) -> float:
        try:
            return float(scorer(model, rows, labels))
        except FormulaKernError:
            raise
        except (AttributeError, TypeError, ValueError) as error:
            raise refused(f"fails ({str(error).splitlines()[0].rstrip('.')})") from error

    return score


def compared(best: FloatArray, other: FloatArray) -> tuple[float, float]:
    """Return the mean of best − other over common entries, and its standard error; NaN if none.

    >>> behind, error = compared(np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 1.0]))
    >>> behind, round(error, 6)  # 1/√3
    (1.0, 0.57735)
    """
    difference = best - other
    difference = difference[~np.isnan(difference)]
    n = len(difference)
    if not n:
        return np.nan, np.nan
    return float(difference.mean()), float(difference.std(ddof=1)) / n**0.5 if n > 1 else 0.0


def setting_deadline(deadline: Deadline, remaining: int) -> Deadline:
    """Return the deadline of the next setting: an equal share, at least a quarter of the time."""
    least = MIN_SETTING_SHARE * (deadline.end - deadline.begun) if deadline.limited else np.inf
    left = deadline.left()
    return deadline.part(min(1.0, max(1 / remaining, least / left))) if left else deadline


def numbers_of(
    name: str, values: Any, least: float, *, strict: bool, otherwise: str = ""
) -> list[float]:
    """Return the distinct numbers of a parameter in ascending order, or raise ParameterError."""
    listed = list(values) if np.iterable(values) and not isinstance(values, str) else [values]
    right = [is_number(v) and least <= v < 1e100 and not (strict and v == least) for v in listed]
    if not listed or not all(right):
        above = f"above {least:g}" if strict else f"of at least {least:g}"
        rest = f", or {otherwise}" if otherwise else ""
        raise ParameterError(f"{name}={values!r}; expected finite numbers {above}{rest}.")
    return sorted({float(v) for v in listed})
