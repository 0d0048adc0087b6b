"""What an estimator is told about rows beside the table: classes, numbers, weights."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, assert_all_finite

from formulakern.arrays import FloatArray
from formulakern.checks import is_integer
from formulakern.errors import DataError

__all__ = [
    "Split",
    "class_order",
    "read_classes",
    "read_numbers",
    "refused",
    "require_target",
    "row_weights",
    "several_classes",
    "splits",
]

#: Positions of training rows and of test rows.
Split = tuple[NDArray[np.intp], NDArray[np.intp]]

#: The largest weight of a row, and how many times the smallest positive one it may be.
HEAVIEST, SPREAD = 1e50, 1e15
#: Of numbers to learn: their squares and the sums of these stay finite.
LARGEST = 1e100


@contextmanager
def refused(advice: str) -> Iterator[None]:
    """What scikit-learn refuses inside is a DataError that also says what to do.

    Raises
    ------
    DataError
    """
    try:
        yield
    except DataError:
        raise
    except (TypeError, ValueError) as error:
        raise DataError(f"{str(error).rstrip('.')}. {advice}") from None


def require_target(estimator: object, y: Any, what: str = "the class of every row") -> None:
    """Refuse a y that is None.

    Raises
    ------
    DataError
    """
    if y is None:
        raise DataError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None. "
            f"Pass {what}."
        )


def read_classes(y: Any, n_rows: int) -> NDArray[Any]:
    """The class of every row, shape (n_rows,).

    Raises
    ------
    DataError
        If there is not one for each row, one is missing, or they are no classes.
    """
    if _are_classes(y, n_rows):
        return np.ascontiguousarray(y)
    with refused("Pass one class per row: all text, or all numbers or bools."):
        labels = column_or_1d(y, warn=True)
        check_consistent_length(range(n_rows), labels)
        assert_all_finite(labels, input_name="y")
        if labels.dtype == object:
            missing = [i for i, label in enumerate(labels) if label is None or label != label]
            if missing:
                raise DataError(
                    f"the class of row {missing[0]} is missing ({labels[missing[0]]}). Leave such "
                    "rows out."
                )
            np.unique(labels)  # raises where classes have no order
        check_classification_targets(labels)
    return np.asarray(labels)


def _are_classes(y: Any, n_rows: int) -> bool:
    """Whether an array plainly holds the class of every row, so that there is nothing to refuse.

    scikit-learn's checks say the same, and take as long as a small table is learnt from.
    """
    if type(y) is not np.ndarray or y.shape != (n_rows,):
        return False
    if y.dtype.kind not in "biuU" and not (y.dtype == object and {*map(type, y)} == {str}):
        return False
    return 2 * len(np.unique(y)) < n_rows  # it warns of more: they may be numbers to learn


def class_order(y: Any, labels: NDArray[Any]) -> NDArray[Any]:
    """The classes that occur, lowest first: as an ordered categorical has them, else sorted.

    Parameters
    ----------
    y : array-like
        As the user gave it.
    labels : ndarray of shape (n_rows,)
        What :func:`read_classes` made of it.

    Examples
    --------
    >>> import pandas
    >>> size = pandas.Categorical(["mid", "low"], categories=["low", "mid", "high"], ordered=True)
    >>> class_order(size, np.asarray(size)).tolist()
    ['low', 'mid']
    """
    found = np.unique(labels)
    kind: Any = getattr(y, "dtype", None)
    if not getattr(kind, "ordered", False):
        return found
    places = {name: place for place, name in enumerate(kind.categories.tolist())}
    return np.asarray(found[np.argsort([places[name] for name in found.tolist()])])


def several_classes(labels: NDArray[Any], weights: FloatArray | None = None) -> NDArray[Any]:
    """The classes of the rows (of positive weight), sorted; two at least.

    Raises
    ------
    DataError
        If there is one class only.
    """
    present = np.unique(labels if weights is None else labels[weights > 0])
    if len(present) < 2:
        some = "" if weights is None else " (of positive weight)"
        raise DataError(
            f"all rows{some} are of one class, {labels.tolist()[0]!r}; "
            "a classifier needs at least two classes."
        )
    return present


def read_numbers(y: Any, n_rows: int) -> FloatArray:
    """The number of every row, float64 of shape (n_rows,).

    Raises
    ------
    DataError
        If there is not one for each row, or one is no finite number or larger than ``LARGEST``.
    """
    with refused("Pass one number per row."):
        target = column_or_1d(y, warn=True)
        check_consistent_length(range(n_rows), target)
    try:
        target = np.asarray(target, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("y holds what is no number; use HKLClassifier for classes.") from None
    assert_all_finite(target, input_name="y")
    if np.abs(target).max() > LARGEST:
        raise DataError(
            f"y holds {target[np.abs(target).argmax()]:g}; expected numbers up to {LARGEST:g}, "
            "whose squares are finite. Choose another unit for y."
        )
    return np.asarray(target)


def row_weights(labels: NDArray[Any], class_weight: Any, sample_weight: Any) -> FloatArray:
    """The weight of every row: its own times that of its class.

    Raises
    ------
    DataError
        If one is negative, not finite, too large, or very much smaller than another, all are
        zero, the length differs, or a class is not among those of ``class_weight``.
    """
    weights = np.ones(len(labels))
    if sample_weight is None and class_weight is None:
        return weights
    if sample_weight is not None:
        with refused("Pass one weight per row, some of them positive."):
            weights = _check_sample_weight(sample_weight, np.zeros((len(labels), 1)), copy=True)
        if (weights < 0).any():
            raise DataError("sample_weight holds negative numbers; give 0 to leave a row out.")
    classes, codes = np.unique(labels, return_inverse=True)
    with refused("Pass class_weight={class: weight, ...}, 'balanced' or None."):
        factors = compute_class_weight(class_weight, classes=classes, y=labels)
    if not np.isfinite(factors).all():
        raise DataError(f"class_weight={class_weight!r}; expected finite numbers.")
    found: FloatArray = weights * factors[codes]
    if (found < 0).any():
        raise DataError("class_weight holds negative numbers; give 0 to leave a class out.")
    some = found[found > 0]
    if len(some) and not (some.max() <= HEAVIEST and some.min() * SPREAD >= some.max()):
        raise DataError(
            f"the weights of rows lie between {some.min():.3g} and {some.max():.3g}; expected at "
            f"most {HEAVIEST:g}, and none {SPREAD:g} times another. Give 0 to leave a row out."
        )
    return found


def splits(cv: Any, labels: NDArray[Any], seed: int) -> list[Split]:
    """The folds of a cross-validation: so many stratified ones, or what scikit-learn makes of cv.

    Classes with fewer rows than there are folds are missing from some, in silence.
    """
    if is_integer(cv):
        folds = StratifiedKFold(int(cv), shuffle=True, random_state=seed)
    else:
        folds = check_cv(cv, labels, classifier=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        return list(folds.split(np.zeros((len(labels), 1)), labels))
