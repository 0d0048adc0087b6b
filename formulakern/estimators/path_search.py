"""One search over settings: along paths with warm starts, on folds, with a deadline.

The settings of a path are fitted one after the other, each fold from what it knows of the setting
before, and scored on the rows that the folds hold out.  A path may end early when its scores fall.
After Ctrl-C, or when the time is over, the settings that are known are compared.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.model_selection import RepeatedStratifiedKFold

from formulakern.arrays import FloatArray
from formulakern.checks import is_integer, is_number
from formulakern.deadline import Deadline
from formulakern.errors import DataError, FormulaKernError, ParameterError
from formulakern.estimators.targets import splits
from formulakern.estimators.workers import FoldFits
from formulakern.interrupts import interruptible
from formulakern.progress import FitProgress
from formulakern.rules.rule import Rule

__all__ = [
    "COMPARING",
    "FOLDS",
    "Paths",
    "Scores",
    "Trial",
    "best_factor",
    "check_folds",
    "compared",
    "countable",
    "folds_of",
    "means_of",
    "numbers_of",
    "scorer_of",
    "search_paths",
    "selectable",
    "shape_of",
    "turn",
]

#: ``cv="auto"``: the number of folds, repeated until this number of rows is held out, at most
#: ``REPEATS`` times.
FOLDS, HELD_OUT, REPEATS = 3, 90, 3
#: The share of a time limit in which settings are compared, and of that the share for one setting.
COMPARING, ONE = 0.5, 0.25
#: The logarithm of the factor that stretches scores has at most this absolute value.
WIDEST = float(np.log(20))


@dataclass(frozen=True, eq=False)
class Trial:
    """What the folds say of one setting.

    Attributes
    ----------
    scores : float64 (units,)
        Of every row, or of every fold; NaN where nothing was held out.
    splits : float64 (folds,)
    shapes : float64 (folds, s)
        What is known of every fit, as its number of rules and its gap.
    temperature : float
        The factor that stretches scores best.
    """

    scores: FloatArray
    splits: FloatArray
    shapes: FloatArray
    temperature: float = 1.0


@dataclass(frozen=True, eq=False)
class Paths:
    """The settings of a search, and how they are fitted.

    Parameters
    ----------
    number : int
        Of settings.
    paths : iterable of (sequence of int, sequence of objects or None)
        The settings of each path, in order, and what each fold knows before the first of them.  It
        is read as the search goes on.
    fit : callable
        ``fit(fold, *arguments, deadline)`` → what ``judge`` reads, and what the next setting of
        the path begins with.  A function of a module or class.
    arguments : callable
        From the setting, the number of a fold and what is known → the arguments of ``fit``.
    judge : callable
        From the setting and what the folds gave → Trial.
    name, line : callable
        What is shown of a setting, and of it and its Trial.
    patience : callable
        From the setting → the number of settings in a row that are behind, after which a path ends.
    behind : float, default=inf
        Standard errors by which a setting must be behind the best one.
    of_path : bool, default=False
        Whether a setting is compared with the best of its path alone.
    settled : callable, optional
        Called with a setting, what the folds know after it, and its Trial.
    """

    number: int
    paths: Iterable[tuple[Sequence[int], Sequence[Any] | None]]
    fit: Callable[..., tuple[Any, Any]]
    arguments: Callable[[int, int, Any], tuple[Any, ...]]
    judge: Callable[[int, list[Any]], Trial]
    name: Callable[[int], str]
    line: Callable[[int, Trial], str]
    patience: Callable[[int], int]
    behind: float = np.inf
    of_path: bool = False
    settled: Callable[[int, list[Any], Trial], None] | None = None


def search_paths(
    asked: Paths,
    trials: list[Trial | None],
    folds: Sequence[Any],
    bar: FitProgress,
    deadline: Deadline,
    *,
    words: tuple[str, str] = ("settings", "one of the middle"),
    advice: str = "Allow more time, or pass fewer settings.",
    elsewhere: bool = True,
    share: float = 1.0,
    stacklevel: int = 4,
) -> list[Trial | None]:
    """Fit and score settings along paths.

    Parameters
    ----------
    asked : Paths
    trials : list of None
        One for each setting; they are filled in.
    folds : sequence of objects
        What every fit to a fold reads; none if the time is over before the first fit.
    bar : FitProgress
    deadline : Deadline
        The first setting is fitted in any case, unless there are no folds.
    words : (str, str)
        What settings are called in warnings, and which one is taken if none is known.
    advice : str
        What to do if the time is over.
    elsewhere : bool, default=True
        Whether folds may be sent to the processes of joblib's active backend.
    share : float, default=1.0
        Of the bar, for the search.
    stacklevel : int, default=4
        Of warnings; 4 is that of the function that calls the caller.

    Returns
    -------
    list of Trial or None
        None for settings that were left out; there is a warning if that was not the end of a path.

    Raises
    ------
    KeyboardInterrupt
        If no setting is known at Ctrl-C.
    """
    fits, best = FoldFits(folds, elsewhere), None

    def known() -> int:
        return sum(trial is not None for trial in trials)

    def warn(why: str, more: str, category: type[Warning]) -> None:
        kept = "the best of these" if known() else words[1]
        warnings.warn(
            f"{why} after {known()} of {asked.number} {words[0]}: {kept} is fitted to all rows."
            f"{more}",
            category,
            stacklevel=stacklevel,
        )

    try:
        with interruptible(finds=False):
            for places, starts in asked.paths:
                before = [None] * len(folds) if starts is None else list(starts)
                worse, best = 0, None if asked.of_path else best
                for place in places:
                    if not folds or (known() and deadline.over()):
                        warn("stopped by the time limit", f" {advice}", ConvergenceWarning)
                        return trials
                    done = share * known() / asked.number
                    until = turn(deadline, asked.number - known())
                    given = [asked.arguments(place, k, one) for k, one in enumerate(before)]
                    begins = partial(bar.fold_at, done, asked.name(place), len(folds))
                    found: list[Any] = []
                    answers = fits.answers(asked.fit, given, until, begins)
                    while len(found) < len(folds):
                        if not known() and deadline.over():
                            warn("stopped by the time limit", f" {advice}", ConvergenceWarning)
                            return trials
                        answer, before[len(found)] = next(answers)
                        found.append(answer)
                    trial = trials[place] = asked.judge(place, found)
                    if asked.settled is not None:
                        asked.settled(place, before, trial)
                    bar.at(done, asked.name(place), line=asked.line(place, trial))
                    if best is None or np.nanmean(trial.scores) > np.nanmean(best.scores):
                        best = trial
                    behind, error = compared(best.scores, trial.scores)
                    worse = worse + 1 if behind > asked.behind * error and behind > 0 else 0
                    if worse and worse == asked.patience(place):
                        break
    except KeyboardInterrupt:
        if not known():
            raise
        warn("interrupted", "", UserWarning)
    return trials


class Scores:
    """The trials of all settings as arrays, NaN for settings that were left out.

    Parameters
    ----------
    trials : sequence of Trial or None
        At least one is known.

    Attributes
    ----------
    tried : intp (number of known settings,)
    scores : float64 (settings, units)
    splits : float64 (settings, folds)
    shapes : float64 (settings, folds, s)
    means, temperatures : float64 (settings,)
    """

    def __init__(self, trials: Sequence[Trial | None]) -> None:
        known = [trial for trial in trials if trial is not None]
        self.tried = np.array([k for k, trial in enumerate(trials) if trial is not None])
        self._number = len(trials)
        self.scores = self._spread([trial.scores for trial in known])
        self.splits = self._spread([trial.splits for trial in known])
        self.shapes = self._spread([trial.shapes for trial in known])
        self.means = self._spread([np.nanmean(trial.scores) for trial in known])
        self.temperatures = self._spread([trial.temperature for trial in known])

    def _spread(self, values: list[Any]) -> FloatArray:
        spread = np.full((self._number, *np.shape(values[0])), np.nan)
        spread[self.tried] = values
        return spread

    def best(self, ties: FloatArray, among: npt.NDArray[np.intp] | None = None) -> int:
        """The setting of the largest mean score, of equals that of the smallest ``ties``."""
        some = self.tried if among is None else among
        return int(some[np.lexsort((ties[some], -np.round(self.means[some], 12)))[0]])

    def behind(self, best: int) -> tuple[FloatArray, FloatArray]:
        """By how much each setting is behind one, and the standard errors of that."""
        pairs = np.array([compared(self.scores[best], one) for one in self.scores])
        return pairs[:, 0], pairs[:, 1]

    def simplest(
        self,
        behind: FloatArray,
        error: FloatArray,
        size: FloatArray,
        among: npt.NDArray[np.intp] | None = None,
    ) -> int:
        """The smallest of those that are behind by no more than a standard error."""
        some = self.tried if among is None else among
        near = some[behind[some] <= error[some] + 1e-12]
        return int(near[np.lexsort((-self.means[near], size[near]))[0]])

    def results(self, listed: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
        """``cv_results_``: the settings, their scores, more of them, and the score of each fold."""
        with warnings.catch_warnings():  # of settings that were left out
            warnings.simplefilter("ignore", RuntimeWarning)
            errors = np.nanstd(self.splits, axis=1)
        folds = {f"split{k}_score": column for k, column in enumerate(self.splits.T)}
        return {**listed, "mean_score": self.means, "std_score": errors, **more, **folds}


def folds_of(
    cv: Any, labels: npt.NDArray[Any], seed: int
) -> list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
    """Rows to learn from and rows that are held out: "auto", so many folds, or a splitter's.

    Raises
    ------
    DataError, ParameterError
        As :func:`check_folds`.
    """
    if isinstance(cv, str) and cv == "auto":
        check_folds(FOLDS, labels)
        repeats = int(np.clip(HELD_OUT // len(labels), 1, REPEATS))
        cv = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=repeats, random_state=seed)
    elif is_integer(cv):
        check_folds(int(cv), labels)
    return splits(cv, labels, seed)


def scorer_of(scoring: Any) -> Any:
    """The function of (model, rows, classes) that a name stands for, or a scorer is.

    Raises
    ------
    ParameterError
        If there is no score of that name, or it is no scorer; when it is called, if it fails.
    """
    try:
        scorer = get_scorer(scoring)
    except (TypeError, ValueError):
        raise _no_scorer(scoring, "is none") from None

    def score(model: Any, rows: Any, labels: npt.NDArray[Any]) -> float:
        try:
            return float(scorer(model, rows, labels))
        except FormulaKernError:
            raise
        except (AttributeError, TypeError, ValueError) as error:
            raise _no_scorer(
                scoring, f"fails ({str(error).splitlines()[0].rstrip('.')})"
            ) from error

    return score


def _no_scorer(scoring: Any, why: str) -> ParameterError:
    return ParameterError(
        f"scoring={scoring!r} {why}; expected the name of a score, such as 'accuracy' or "
        "'f1_macro', or a function of a model, rows and their classes."
    )


def selectable(X: Any) -> Any:
    """A table whose rows can be selected by an array of positions."""
    if hasattr(X, "tocsr"):
        return X.tocsr()
    return X.iloc if hasattr(X, "iloc") else np.asarray(X)


def countable(folds: Sequence[tuple[npt.NDArray[Any], npt.NDArray[Any]]]) -> npt.NDArray[np.bool_]:
    """Which rows that are held out count: those of a class that the training rows have.

    What no model can know says nothing of any.  All count where else none would.

    Parameters
    ----------
    folds : sequence of (labels of the training rows, labels of the rows that are held out)

    Returns
    -------
    bool (rows that are held out,)
        One fold after the other.

    Examples
    --------
    >>> countable([(np.array(["a", "b"]), np.array(["a", "c"]))])
    array([ True, False])
    """
    known = np.concatenate([np.isin(unseen, labels) for labels, unseen in folds])
    return np.asarray(known if known.any() else np.ones_like(known))


def means_of(
    tests: Sequence[npt.NDArray[np.intp]], values: FloatArray, n_rows: int
) -> tuple[FloatArray, FloatArray]:
    """The mean value of every row, and of every fold; NaN where nothing is known.

    Parameters
    ----------
    tests : sequence of intp arrays
        The rows that each fold holds out.
    values : float64 (sum of their lengths,)
        One after the other; NaN does not count.
    n_rows : int

    Examples
    --------
    >>> rows, folds = means_of([np.array([0, 1]), np.array([1])], np.array([1.0, 2.0, 4.0]), 3)
    >>> rows, folds
    (array([ 1.,  3., nan]), array([1.5, 4. ]))
    """
    rows, known = np.concatenate(tests), ~np.isnan(values)
    ends = np.cumsum([len(test) for test in tests])[:-1]
    folds = [part[~np.isnan(part)] for part in np.split(values, ends)]
    times = np.bincount(rows[known], minlength=n_rows)
    with np.errstate(invalid="ignore"):
        means = np.bincount(rows[known], values[known], n_rows) / times
    return means, np.array([part.mean() if len(part) else np.nan for part in folds])


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

    The last settings may be left with nothing; a little time for each would say nothing of any.
    """
    least = ONE * (deadline.end - deadline.begun) if deadline.limited else np.inf
    left = deadline.left()
    return deadline.part(min(1.0, max(1 / remaining, least / left))) if left else deadline


def best_factor(values: Callable[[float], FloatArray]) -> tuple[float, FloatArray]:
    """The factor t of scores, from 1/20 to 20, of the largest mean value, and its values.

    Parameters
    ----------
    values : callable
        From t to a value for every row, such as the logarithm of a probability.
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


def check_folds(folds: int, labels: npt.NDArray[Any]) -> None:
    """Check that so many stratified folds can be made.

    Raises
    ------
    ParameterError
        If there are fewer than two.
    DataError
        If the rows do not suffice.
    """
    if folds < 2:
        raise ParameterError(f"cv={folds}; expected at least 2 folds.")
    counts = np.unique(labels, return_counts=True)[1]
    if np.sort(counts)[-2] < 2 or counts.max() < folds:
        raise DataError(
            f"{len(counts)} classes of {sorted(counts.tolist())} rows for {folds} folds; expected "
            "two classes with 2 rows or more, one of them with a row for every fold. Pass more "
            "rows, or fewer folds."
        )


def numbers_of(name: str, values: Any, least: float, *, strict: bool) -> list[float]:
    """Different numbers of a range, smallest first."""
    listed = [values] if is_number(values) or isinstance(values, str) else list(values)
    right = [is_number(v) and least <= v < 1e100 and not (strict and v == least) for v in listed]
    if not listed or not all(right):
        above = f"above {least:g}" if strict else f"of at least {least:g}"
        raise ParameterError(f"{name}={values!r}; expected finite numbers {above}.")
    return sorted({float(v) for v in listed})
