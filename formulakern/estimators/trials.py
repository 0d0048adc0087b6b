"""Cross-validation of learners with paths of settings: folds, and what they say of a setting."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
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

__all__ = [
    "COMPARING",
    "FOLDS",
    "Trial",
    "check_folds",
    "compared",
    "countable",
    "folds_of",
    "means_of",
    "numbers_of",
    "scorer_of",
    "selectable",
    "turn",
    "warn_incomplete",
    "warn_late",
]

#: ``cv="auto"``: so many folds, repeated until so many rows were held out, at most so often.
FOLDS, HELD_OUT, REPEATS = 3, 90, 3
#: The share of a time limit in which settings are compared, and of that what one may always have.
COMPARING, ONE = 0.5, 0.25


@dataclass(frozen=True, eq=False)
class Trial:
    """What the folds say of one pair.

    Attributes
    ----------
    scores : float64 (units,)
        Of every row, or of every fold; NaN where nothing was held out.
    splits : float64 (folds,)
    shapes : float64 (folds, 3)
        Rules, their mean length and the gap of every fit.
    temperature : float
    """

    scores: FloatArray
    splits: FloatArray
    shapes: FloatArray
    temperature: float


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


def warn_late(trials: Sequence[Trial | None]) -> None:
    """Warn that the time was over before all settings were compared."""
    advice = " Allow more time, or pass fewer settings."
    warn_incomplete(trials, "stopped by the time limit", ConvergenceWarning, advice, 5)


def warn_incomplete(
    trials: Sequence[Trial | None],
    why: str,
    category: type[Warning] = UserWarning,
    more: str = "",
    stacklevel: int = 4,
) -> None:
    """Say that not all settings were compared.

    Raises
    ------
    KeyboardInterrupt
        If nothing is known of any, unless the time was over.
    """
    known = sum(trial is not None for trial in trials)
    if not known and category is UserWarning:
        raise KeyboardInterrupt
    fitted = "the best of these" if known else "one of the middle"
    warnings.warn(
        f"{why} after {known} of {len(trials)} settings: {fitted} is fitted to all rows.{more}",
        category,
        stacklevel=stacklevel,
    )


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
