"""One search over settings: along paths with warm starts, on folds, with a deadline.

The settings of a path are fitted one after the other, each fold from what it knows of the setting
before, and scored on the rows that the folds hold out.  A path may end early when its scores fall.
The settings of a round do not depend on each other: they are fitted at once, to folds of the round.
After Ctrl-C, or when the time is over, the settings that are known are compared.
"""

from __future__ import annotations

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
from formulakern.deadline import Deadline
from formulakern.encoding.fitted import Encoding
from formulakern.errors import DataError, FormulaKernError, ParameterError
from formulakern.estimators.encoder import PropositionEncoder
from formulakern.estimators.targets import TrainingData, random_source, splits
from formulakern.estimators.workers import Workers
from formulakern.interrupts import interruptible
from formulakern.progress import Progress
from formulakern.rules.rule import Rule
from formulakern.tables.table import Table

#: ``cv="auto"``: the number of folds, repeated until this number of rows is held out, at most
#: ``REPEATS`` times.
FOLDS, HELD_OUT, REPEATS = 3, 90, 3
#: The share of a time limit in which settings are compared, and of that the share for one setting.
COMPARING, ONE = 0.5, 0.25
#: The logarithm of the factor that stretches scores has at most this absolute value, and that of a
#: probability is at least this.
WIDEST, LEAST = float(np.log(20)), float(np.log(1e-6))


class Trial(NamedTuple):
    """What the folds found about one setting.

    ``scores`` are of every row or of every fold, NaN where nothing was held out, and ``splits`` of
    every fold.  ``shapes`` (folds, s) are facts about every fit, such as its number of rules and
    its gap.  ``temperature`` is the factor that stretches scores best; ``several`` is whether the
    rows held out have their largest scores in several classes.
    """

    scores: FloatArray
    splits: FloatArray
    shapes: FloatArray
    temperature: float = 1.0
    several: bool = True
    path: tuple[Any, ...] = ()


class Path(NamedTuple):
    """Positions of settings, in order; what each fold knows before; how many may be behind.

    A round has ``folds`` of its own, and its settings do not depend on each other.
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
        What every fit to a fold reads; no folds if the time is over before the first fit.
    fit : callable
        ``fit(fold, *arguments, deadline)`` → an answer, and what the next setting of the path
        begins with.  A function of a module or class.
    arguments, judge : callable
        From the setting, the number of a fold and what is known → the arguments of ``fit``; from
        the answers of all folds → Trial.
    name, line : callable
        What is shown of a setting, and of it and its Trial.
    behind : float
        Standard errors by which a setting is behind the best one (of its path alone, if
        ``of_path``) when its path is running out.
    words : (str, str)
        What settings are called in warnings, and which one is taken if none is known.
    workers : Workers
        Where fits to several folds, or with several settings of a round, run at once.

    Attributes
    ----------
    trials : list of Trial or None
        None for settings that were left out.
    known : dict of int to list
        What the folds know after each setting.
    """

    settings: Sequence[Any]
    folds: Sequence[Any]
    fit: Callable[..., tuple[Any, Any]]
    arguments: Callable[[Any, int, Any], tuple[Any, ...]]
    judge: Callable[[list[Any]], Any]
    name: Callable[[Any], str]
    line: Callable[[Any, Any], str]
    behind: float = np.inf
    of_path: bool = False
    words: tuple[str, str] = ("settings", "one of the middle")
    workers: Workers = field(default_factory=Workers)

    def __post_init__(self) -> None:
        self.trials: list[Any] = [None] * len(self.settings)
        self.known: dict[int, list[Any]] = {}
        self._best = -np.inf

    def add(self, settings: Sequence[Any]) -> range:
        """Return the places of further settings."""
        self.settings = [*self.settings, *settings]
        self.trials += [None] * len(settings)
        return range(len(self.trials) - len(settings), len(self.trials))

    def run(
        self, paths: Iterable[Path], bar: Progress, deadline: Deadline, stacklevel: int = 4
    ) -> list[Any]:
        """Fit and score the settings of some paths, which are read as the search goes on.

        The first setting is fitted in any case, unless there are no folds.  Warnings, which name
        what was left out, are of the function that calls the caller at ``stacklevel=4``.  Ctrl-C
        raises if no setting is known.
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
        """The share of all work that is done; the rest is the fit to all rows."""
        return 0.9 * len(self.known) / len(self.settings)

    def _run(self, paths: Iterable[Path]) -> bool:
        """Return whether the time sufficed."""
        best = None
        for places, starts, patience, folds in paths:
            self.folds = self.folds if folds is None else folds
            before = [None] * len(self.folds) if starts is None else list(starts)
            worse, best = 0, None if self.of_path else best
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
        """Fit and judge some settings, and return whether the time sufficed for all."""
        ready: Any = self.workers.answers(self.fit, self._tasks(places, before))
        with closing(ready) as answers:
            for place in places:
                pairs = list(islice(answers, len(self.folds)))
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
        """Yield the fits of some settings to all folds, each with its part of the time."""
        folds, first = [*map(self.workers.send, self.folds)], not self.known
        for place in places:
            setting, n = self.settings[place], len(folds)
            until = turn(self._deadline, max(1, len(self.settings) - len(self.known)))
            for k, fold in enumerate(folds):
                if self._deadline.over() and not first:
                    return
                first, part = False, f", fold {k + 1} of {n}" * (n > 1)
                self._bar.at(self._share, self.name(setting) + part)
                later = until.part(1 / -(-(n - k) // self.workers.jobs))  # some fits at once
                yield fold, *self.arguments(setting, k, before[k]), later


class Scores:
    """The trials of all settings as arrays, NaN for settings that were left out.

    Attributes
    ----------
    tried : intp (number of known settings,)
    scores, splits, shapes : float64 (settings, units), (settings, folds), (settings, folds, s)
    means, temperatures : float64 (settings,)
    """

    def __init__(self, trials: Sequence[Trial | None]) -> None:
        known = list(filter(None, trials))
        self.tried = np.flatnonzero([trial is not None for trial in trials])

        def spread(values: Sequence[Any]) -> FloatArray:
            whole = np.full((len(trials), *np.shape(values[0])), np.nan)
            whole[self.tried] = values
            return whole

        parts = map(spread, zip(*(trial[:4] for trial in known), strict=True))
        self.scores, self.splits, self.shapes, self.temperatures = parts
        self.means = spread([np.nanmean(trial.scores) for trial in known])

    def best(self, ties: FloatArray, among: npt.NDArray[np.intp] | None = None) -> int:
        """The setting of the largest mean score, of equals that of the smallest ``ties``."""
        some = self.tried if among is None else among
        return int(some[np.lexsort((ties[some], -np.round(self.means[some], 12)))[0]])

    def chosen(
        self,
        selection: str,
        among: npt.NDArray[np.intp] | None = None,
        usual: int | None = None,
    ) -> tuple[int, dict[str, FloatArray]]:
        """Choose the best score, or the fewest rules (the first shape) within a standard error.

        ``usual`` is taken where it is behind by at most a standard error.  Returned are also
        ``behind`` and ``error``: the mean difference to the best, and its standard error.
        """
        some, rules = self.tried if among is None else among, self.shapes[:, :, 0].mean(axis=1)
        place = self.best(rules, some)
        behind, error = np.array([compared(self.scores[place], one) for one in self.scores]).T
        if usual in some and behind[usual] <= error[usual]:
            place = int(usual or 0)
        if selection == "1se":
            few = some[behind[some] <= error[some] + 1e-12]
            place = int(few[np.lexsort((-self.means[few], rules[few]))[0]])
        return place, {"behind": behind, "error": error}

    def results(self, listed: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
        """``cv_results_``: the settings, their scores, more of them, and the score of each fold."""
        with warnings.catch_warnings():  # of settings that were left out
            warnings.simplefilter("ignore", RuntimeWarning)
            errors = np.nanstd(self.splits, axis=1)
        folds = {f"split{k}_score": column for k, column in enumerate(self.splits.T)}
        return {**listed, "mean_score": self.means, "std_score": errors, **more, **folds}


# -- folds of encoded rows -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Fold:
    """Encoded training rows of a fold, and the ``unseen`` rows that are held out.

    ``right`` are the classes of these, and ``test`` their numbers; ``encoding`` is that of
    the rows.
    """

    data: TrainingData
    unseen: Any
    right: npt.NDArray[Any]
    test: npt.NDArray[np.intp]
    encoding: Encoding


class SearchedModel:
    """The fit that cross-validations of rule models share.

    A subclass has methods ``_settings`` (named tuples that begin with C), ``_paths``, ``_model``
    (of a setting, for a fold or all rows, with a method ``_fit_encoded``), ``_unit`` (the automatic
    C of the rows of a fold), ``_held_out`` (scores), ``_calibrated`` (from scores and the numbers
    of the right classes → the factor of :func:`stretched`, values), ``_everyone``
    (which names classes have within folds), and ``_fit_chosen``.
    """

    #: A path over automatic Cs ends where one is so many standard errors behind.
    behind: ClassVar[float] = 0.5
    #: See :class:`PathSearch`.
    of_path: ClassVar[bool] = False
    #: What the facts about every fit are called in ``cv_results_``.
    shape_names: ClassVar[tuple[str, ...]] = ("mean_rules", "mean_length", "certified")

    @staticmethod
    def fit_fold(fold: Fold, model: Any, start: Any, deadline: Deadline) -> tuple[Any, Any]:
        """Fit a model; return it, and what the next setting begins with.

        Ctrl-C raises also if the learner would keep its best so far.
        """
        model._take_encoding(fold.encoding)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that it ended early, or has no rules
            known = model._fit_encoded(fold.data, start, deadline)
        if model.stopped_ == "interrupted":
            raise KeyboardInterrupt
        return model, known

    def _facts(self, model: Any) -> tuple[float, ...]:  # noqa: ARG002
        """Further facts about a fit, called as ``shape_names`` after the first two."""
        return ()

    def _settle(self: Any) -> None:
        super()._settle()  # type: ignore[misc]
        model = self.best_estimator_
        model._take_encoding(self._encoding)
        model._features = self._features

    def _check_parameters(self: Any) -> None:
        check_choice("selection", self.selection, ("best", "1se"))
        self._scorer()
        self._settings()

    def _scorer(self: Any) -> Any:
        return None if self.scoring is None else scorer_of(self.scoring)

    def _learn(self: Any, data: TrainingData, deadline: Deadline) -> tuple[bool, str]:
        """Score every setting, choose one, fit to all rows."""
        settings, everyone = self._settings(), self._everyone(data)
        comparing = deadline.part(COMPARING)
        # a fit takes as long as the encoding did, at least; what cannot be done is not begun
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
            lambda setting: ", ".join(_said(setting, ".3g")),
            self._line,
            self.behind if self._automatic else np.inf,
            self.of_path,
        )
        search.run(self._paths(search), self._bar, comparing)
        settings = [self._scaled(setting, everyone) for setting in settings]
        gap, ended = self._fit_chosen(settings, search, everyone, deadline)
        return ended, f"C {self.C_:.3g}, gap {gap:.2g}, {len(self.rules_)} rules"

    def _scaled(self: Any, setting: Any, data: TrainingData) -> Any:
        """A setting with C itself in place of its factor."""
        return setting._replace(C=setting.C * self._unit(data)) if self._automatic else setting

    def _judged(
        self: Any, folds: Sequence[Fold], labels: npt.NDArray[Any], scorer: Any, models: list[Any]
    ) -> Trial:
        """What the models of all folds are worth on the rows that each does not know.

        Rows of a class that the training rows of their fold lack do not count, unless no rows
        would remain.  A scorer, if there is one, gives each fold one score.
        """
        shapes = np.array([(*shape_of(model), *self._facts(model)) for model in models])
        codes = np.unique(labels, return_inverse=True)[1]
        known = np.concatenate([np.isin(fold.right, fold.data.classes) for fold in folds])
        known |= not known.any()
        rows = np.concatenate([fold.test for fold in folds])[known]
        held_out = np.concatenate(list(map(self._held_out, folds, models)))
        several = len(np.unique(held_out.argmax(axis=1))) > 1
        t, found = self._calibrated(held_out[known], codes[rows])
        if scorer is not None:
            pairs = zip(folds, models, strict=True)
            splits = np.array([scorer(model, fold.unseen, fold.right) for fold, model in pairs])
            return Trial(splits, splits, shapes, t, several)
        number = np.repeat(np.arange(len(folds)), [len(fold.test) for fold in folds])[known]
        means = _means(found, rows, len(labels))
        return Trial(means, _means(found, number, len(folds)), shapes, t, several)

    def _line(self, setting: Any, trial: Trial) -> str:
        """One setting, as ``verbose`` shows it."""
        shape = dict(zip(self.shape_names, trial.shapes.mean(axis=0), strict=False))
        automatic = " (C in automatic ones)" * self._automatic
        return (
            f"{', '.join(_said(setting, '.4g', ' = '))}{automatic}: score "
            f"{np.nanmean(trial.scores):.4f}, {shape['mean_rules']:.1f} rules"
        )

    @property
    def _automatic(self) -> bool:
        Cs = vars(self)["Cs"]
        return isinstance(Cs, str) and Cs == "auto"

    def _folds(self: Any, everyone: TrainingData) -> list[Fold]:
        """The folds, encoded together with all rows where the encoding does not read classes."""
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
        usual: int | None = None,
    ) -> Any:
        """Set what is known of settings, named tuples; the one that is chosen, or ``otherwise``."""
        columns = map(np.array, zip(*settings, strict=True))
        listed = dict(zip(settings[0]._fields, columns, strict=True))
        if not any(trials):
            self.best_index_, self.best_score_, self.temperature_ = otherwise, np.nan, 1.0
            self.cv_results_ = {**listed, "mean_score": np.full(len(settings), np.nan)}
            return settings[otherwise]
        found = Scores(trials)
        self.best_index_, more = found.chosen(self.selection, among, usual)
        self.best_score_ = float(found.means[self.best_index_])
        self.temperature_ = float(found.temperatures[self.best_index_])
        shapes = found.shapes.mean(axis=1).T
        more |= dict(zip(self.shape_names, shapes, strict=False))
        self.cv_results_ = found.results(listed, more | {"temperature": found.temperatures})
        return settings[self.best_index_]


def _said(setting: Any, form: str, sign: str = " ") -> Iterator[str]:
    """The parts of a setting by name."""
    for name, value in setting._asdict().items():
        yield f"{name.replace('_', ' ')}{sign}{value:{form}}"


def _means(values: FloatArray, group: npt.NDArray[np.intp], n: int) -> FloatArray:
    """The mean value of each group; NaN of those without any."""
    with np.errstate(invalid="ignore"):
        means = np.bincount(group, values, n) / np.bincount(group, minlength=n)
    return np.asarray(means, dtype=np.float64)


def stretched(values: Callable[[float], FloatArray]) -> tuple[float, FloatArray]:
    """The factor t of scores, from 1/20 to 20, of the largest mean value, and its values.

    A value is the logarithm of a probability for every row, or a multiple.
    """
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(
        lambda log_t: -float(values(np.exp(log_t)).mean()),
        bounds=(-WIDEST, WIDEST),
        method="bounded",
    )
    return float(np.exp(found.x)), values(np.exp(found.x))


def shape_of(model: Any) -> tuple[float, float]:
    """The number of the rules of a model, and their mean length."""
    rules = model.rules_.rules
    lengths = [len(rule.formula.leaves) if isinstance(rule, Rule) else 1 for rule in rules]
    return float(len(lengths)), float(np.mean(lengths)) if lengths else 0.0


def folds_of(
    cv: Any, labels: npt.NDArray[Any], seed: int
) -> list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
    """Rows to learn from and rows that are held out: "auto", so many folds, or a splitter's."""
    automatic = isinstance(cv, str) and cv == "auto"
    if automatic or is_integer(cv):
        folds = FOLDS if automatic else int(cv)
        if folds < 2:
            raise ParameterError(f"cv={folds}; expected at least 2 folds.")
        counts = np.unique(labels, return_counts=True)[1]
        if np.sort(counts)[-2] < 2 or counts.max() < folds:
            raise DataError(
                f"{len(counts)} classes of {sorted(counts.tolist())} rows for {folds} folds; "
                "expected two classes with 2 rows or more, one of them with a row for every fold. "
                "Pass more rows, or fewer folds."
            )
    if automatic:
        repeats = int(np.clip(HELD_OUT // len(labels), 1, REPEATS))
        cv = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=repeats, random_state=seed)
    return splits(cv, labels, seed)


def scorer_of(scoring: Any, name: str = "scoring", others: str = "") -> Any:
    """The function of (model, rows, classes) that a name stands for, or a scorer is.

    Raises ParameterError if there is no score of that name (``others`` are further ones), or it is
    no scorer; when it is called, if it fails.
    """

    def refused(why: str) -> ParameterError:
        return ParameterError(
            f"{name}={scoring!r} {why}; expected {others}the name of a score, such as 'accuracy' "
            "or 'f1_macro', or a function of a model, rows and their classes."
        )

    try:
        scorer = get_scorer("none" if scoring is None else scoring)
    except (TypeError, ValueError):
        raise refused("is none") from None

    def score(model: Any, rows: Any, labels: npt.NDArray[Any]) -> float:
        try:
            return float(scorer(model, rows, labels))
        except FormulaKernError:
            raise
        except (AttributeError, TypeError, ValueError) as error:
            raise refused(f"fails ({str(error).splitlines()[0].rstrip('.')})") from error

    return score


def compared(best: FloatArray, other: FloatArray) -> tuple[float, float]:
    """The mean of best − other over what both have, and its standard error; NaN for nothing.

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


def turn(deadline: Deadline, remaining: int) -> Deadline:
    """When the next of so many settings must be done: equal parts, but at least a quarter of all.

    The last settings may be left with nothing; a little time for each would not suffice for any.
    """
    least = ONE * (deadline.end - deadline.begun) if deadline.limited else np.inf
    left = deadline.left()
    return deadline.part(min(1.0, max(1 / remaining, least / left))) if left else deadline


def numbers_of(
    name: str, values: Any, least: float, *, strict: bool, otherwise: str = ""
) -> list[float]:
    """Different numbers of a range, smallest first; one number is a list of one."""
    listed = list(values) if np.iterable(values) and not isinstance(values, str) else [values]
    right = [is_number(v) and least <= v < 1e100 and not (strict and v == least) for v in listed]
    if not listed or not all(right):
        above = f"above {least:g}" if strict else f"of at least {least:g}"
        rest = f", or {otherwise}" if otherwise else ""
        raise ParameterError(f"{name}={values!r}; expected finite numbers {above}{rest}.")
    return sorted({float(v) for v in listed})
