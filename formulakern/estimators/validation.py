"""The inputs of an estimator next to the table: classes, numbers and weights of rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, assert_all_finite

from formulakern.arrays import FloatArray
from formulakern.checks import is_integer
from formulakern.encoding.partitioned import PackedPartitions
from formulakern.errors import DataError, ParameterError
from formulakern.partitions.collections import (
    Different,
    common_dtype,
    concatenated,
    different_values,
    in_memory,
    is_dask,
)
from formulakern.partitions.partitioned import Partitioned, partitions_of
from formulakern.progress import stage
from formulakern.tables.column import is_missing
from formulakern.tables.table import Table
from formulakern.text import clip

#: Positions of training rows and of test rows.
Split = tuple[NDArray[np.intp], NDArray[np.intp]]

#: The largest weight of a row, and the largest ratio of positive weights.
MAX_WEIGHT, MAX_WEIGHT_RATIO = 1e50, 1e15
#: The largest absolute value of a target number, so that sums of squares are finite.
MAX_TARGET = 1e100


@contextmanager
def refused(advice: str) -> Iterator[None]:
    """Raise errors of scikit-learn as DataError, with advice."""
    try:
        yield
    except DataError:
        raise
    except (OverflowError, TypeError, ValueError) as error:
        said = str(error).rstrip(".\n ")
        raise DataError(f"{said}. {advice}") from None


def require_target(estimator: object, y: Any, what: str = "the class of every row") -> None:
    """Raise DataError if y is None."""
    if y is None:
        raise DataError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None. "
            f"Pass {what}."
        )


def read_classes(y: Any, n_rows: int, row_of: Callable[[int], int] = int) -> NDArray[Any]:
    """Return the class of every row, shape (n_rows,).

    ``row_of`` returns the row of the table for a place in y, if y has only some rows.  Raise
    DataError if the length of y is wrong, a class is missing, a value is not text, number, bool or
    date, or y mixes text and other values.
    """
    y = in_memory(y)
    if _are_classes(y, n_rows):
        return np.ascontiguousarray(y)
    with refused("Pass one class per row: all text, or all numbers or bools."):
        if isinstance(y, (list, tuple)):
            _check_kinds(y, row_of)
        _check_mask(y, row_of)
        labels = column_or_1d(y, warn=True)
        check_consistent_length(range(n_rows), labels)
        if labels.dtype == object:
            _check_kinds(labels.tolist(), row_of)
            np.unique(labels)  # raises if classes cannot be sorted
        assert_all_finite(labels, input_name="y")
        if labels.dtype.kind == "S":
            raise TypeError("a class of bytes is not supported")
        if labels.dtype.kind in "mM" and np.isnat(labels).any():
            raise _missing(row_of(int(np.isnat(labels).argmax())), "NaT")
        check_classification_targets(labels)
    return np.asarray(labels)


def _check_kinds(values: Sequence[Any], row_of: Callable[[int], int]) -> None:
    """Raise DataError unless values are classes of one kind."""
    if {*map(type, values)} in ({str}, {int}, {bool}):
        return
    first: dict[str, int] = {}
    for row, value in enumerate(values):
        if is_missing(value):
            raise _missing(row_of(row), value)
        if isinstance(value, (Mapping, set, frozenset, list)):
            if isinstance(value, list) and len(value) == 1:
                return  # a column, checked below
            raise DataError(
                f"y holds a {type(value).__name__}, {clip(repr(value), 40)} (row {row_of(row)}); "
                "expected one class per row: all text, or all numbers or bools. Pass single values."
            )
        first.setdefault("text" if isinstance(value, str) else "others", row)
    if len(first) == 2:
        text, other = first["text"], first["others"]
        raise DataError(
            f"y mixes text, {clip(repr(values[text]), 40)} (row {row_of(text)}), and "
            f"{type(values[other]).__name__}, {clip(repr(values[other]), 40)} (row "
            f"{row_of(other)}); expected one class per row, of one kind. Write all as text, or all "
            "as numbers."
        )


def _check_mask(y: Any, row_of: Callable[[int], int] = int) -> None:
    if isinstance(y, np.ma.MaskedArray) and np.ma.getmaskarray(y).any():
        raise _missing(row_of(int(np.ma.getmaskarray(y).ravel().argmax())), "masked")


def _missing(row: int, value: Any) -> DataError:
    return DataError(f"the class of row {row} is missing ({value}). Leave such rows out.")


def _are_classes(y: Any, n_rows: int) -> bool:
    """Return True if y clearly has one class per row, so that slow checks can be skipped."""
    if type(y) is not np.ndarray or y.shape != (n_rows,):
        return False
    if y.dtype.kind not in "biuU" and not (y.dtype == object and {*map(type, y)} == {str}):
        return False
    return 2 * len(np.unique(y)) < n_rows  # scikit-learn warns about more classes


def class_order(y: Any, labels: NDArray[Any]) -> NDArray[Any]:
    """Return the classes that occur, in the order of an ordered categorical, or sorted.

    >>> import pandas
    >>> size = pandas.Categorical(["mid", "low"], categories=["low", "mid", "high"], ordered=True)
    >>> class_order(size, np.asarray(size)).tolist()
    ['low', 'mid']
    """
    found = np.unique(labels)
    kind: Any = getattr(y, "dtype", None)
    if not getattr(kind, "ordered", False):
        return found
    if is_dask(y) and not y.cat.known:
        kind = common_dtype(y)
    if not getattr(kind, "ordered", False):
        raise DataError(
            "the ordered categories of y differ between partitions; expected one order. "
            "Write y.astype(pandas.CategoricalDtype([lowest, ..., highest], ordered=True))."
        )
    places = {name: place for place, name in enumerate(kind.categories.tolist())}
    return np.asarray(found[np.argsort([places[name] for name in found.tolist()])])


def several_classes(labels: NDArray[Any], weights: FloatArray) -> NDArray[Any]:
    """Return the sorted classes of the rows of positive weight; raise DataError if only one."""
    present = np.unique(labels[weights > 0])
    if len(present) < 2:
        raise one_class(labels.tolist()[0], weighted=True)
    return present


def one_class(name: Any, weighted: bool) -> DataError:
    """Return the error for rows (of positive weight) of only one class."""
    some = " (of positive weight)" if weighted else ""
    return DataError(
        f"all rows{some} are of one class, {name!r}; a classifier needs at least two classes."
    )


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Encoded rows with the class and the weight of each; at least two classes have weight.

    Classes and weights are in this process, even if the rows are in partitions.

    Parameters
    ----------
    table : PackedTable, Table, Strings, ndarray or PackedPartitions of n rows
    classes : ndarray of shape (K,)
        The classes that occur, sorted or in their own order.
    codes : ndarray of shape (n,)
        The place of each row's class, of the smallest integer dtype for rows in partitions.
    given : ndarray of shape (n,), float64, optional
        The sample weights; None if each is 1.
    factors : ndarray of shape (K,), float64
        Factors of the weights by class.
    name : str
        The name of y.
    source : table, optional
        The rows before encoding, for encodings of subsets.
    """

    table: Any
    classes: NDArray[Any]
    codes: NDArray[Any]
    given: FloatArray | None
    factors: FloatArray
    name: str = "class"
    source: Any = None

    @classmethod
    def of(
        cls,
        table: Any,
        y: Any,
        class_weight: Any = None,
        sample_weight: Any = None,
        ordered: bool = False,
        source: Any = None,
    ) -> Self:
        """Read the class and the weight of every row; classes have their own order if ``ordered``.

        Raises
        ------
        DataError
            If classes or weights cannot be read, or only one class has weight.
        """
        partitioned = isinstance(table, PackedPartitions)
        n_rows = table.n_rows if hasattr(table, "n_rows") else len(table)
        classes, codes = read_codes(y, n_rows)
        if ordered:
            order = class_order(y, classes)
            codes = np.argsort(np.searchsorted(classes, order)).astype(codes.dtype)[codes]
            classes = order
        given = None if sample_weight is None else read_weights(sample_weight, len(codes))
        counts = np.bincount(codes, minlength=len(classes))
        factors = class_factors(classes, counts, class_weight)
        found = factors if given is None else given * factors[codes]
        check_weight_range(found[found > 0])
        name = str(getattr(y, "name", None) or "class")
        codes = codes if partitioned else codes.astype(np.intp)
        return cls(table, classes, codes, given, factors, name, source)

    def __post_init__(self) -> None:
        if self.present.sum() < 2:
            weighted = self.given is not None or bool((self.factors != 1).any())
            raise one_class(self.classes.tolist()[self.present.argmax()], weighted)

    @property
    def partitioned(self) -> bool:
        """True if the rows stay in their partitions."""
        return isinstance(self.table, PackedPartitions)

    @property
    def labels(self) -> NDArray[Any]:
        """The class of every row."""
        return np.asarray(self.classes[self.codes])

    @cached_property
    def sample_weights(self) -> FloatArray:
        """The sample weight of every row, 1 by default."""
        return np.ones(len(self.codes)) if self.given is None else self.given

    @cached_property
    def weights(self) -> FloatArray:
        """The weight of every row: its sample weight times the factor of its class."""
        return np.asarray(self.sample_weights * self.factors[self.codes])

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        """True for each class with rows of positive weight."""
        codes = self.codes if self.given is None else self.codes[self.given > 0]
        return (np.bincount(codes, minlength=len(self.classes)) > 0) & (self.factors > 0)

    @cached_property
    def sums(self) -> FloatArray:
        """The sum of the sample weights of each class that is present."""
        sums = np.bincount(self.codes, self.given, len(self.classes)) * self.present
        return np.asarray(sums, dtype=np.float64)

    def take(self, rows: NDArray[np.intp], table: Any = None) -> Self:
        """Return some rows and the classes that occur there; ``table`` may contain these rows."""
        found, codes = np.unique(self.codes[rows], return_inverse=True)
        if table is None:
            listed = isinstance(self.table, (Table, np.ndarray))
            table = self.table[rows] if listed else self.table.take(rows)
        given = None if self.given is None else self.given[rows]
        return type(self)(table, self.classes[found], codes, given, self.factors[found], self.name)

    def used(self) -> Self:
        """Return the rows of positive weight, and their classes."""
        rows = np.flatnonzero(self.weights)
        return self if len(rows) == len(self.codes) else self.take(rows)

    def rows(self, places: NDArray[np.intp], *, with_factors: bool = True) -> Partitioned:
        """Return partitions of WeightedRows without rows of weight 0.

        ``places`` (K,) are the new codes of the classes.  If ``with_factors``, the factors of the
        classes multiply the weights.
        """
        places = np.where(self.present, places, -1)
        factors = self.factors if with_factors else np.ones(len(places))
        found: Partitioned = self.table.weighted(self.codes, self.given, places, factors)
        return found


def read_codes(y: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the classes that occur, sorted, and the place of each row's class.

    Places have the smallest integer dtype.  A dask y may have other partitions than the table.
    """
    if not is_dask(y):
        classes, codes = np.unique(read_classes(y, n_rows), return_inverse=True)
        return classes, codes.astype(_narrow(len(classes)))
    with refused("Pass one class per row: all text, or all numbers or bools."):
        column = Partitioned(partitions_of(_one_dimension(y, n_rows)), lazy=True)
        with stage("reading classes"):
            parts: list[Different] = column.map(different_values)
        check_consistent_length(range(n_rows), range(sum(len(part.kind) for part in parts)))
    classes, codes = np.unique(_checked(parts), return_inverse=True)
    ends = np.cumsum([len(part.rows) for part in parts])[:-1]
    own = np.split(codes.astype(_narrow(len(classes))), ends)
    pairs = zip(own, parts, strict=True)
    return classes, np.concatenate([some[part.kind] for some, part in pairs])


def _narrow(n_classes: int) -> np.dtype[Any]:
    return np.min_scalar_type(max(n_classes - 1, 0))


def _one_dimension(y: Any, n_rows: int) -> Any:
    """Return y as a series or an array of one dimension."""
    if y.ndim == 1:
        return y
    if y.ndim == 2 and y.shape[1] == 1:
        column_or_1d(np.empty((0, 1)), warn=True)
        return y[:, 0] if hasattr(y, "chunks") else y[y.columns[0]]
    shape = (n_rows, *y.shape[1:]) if y.ndim else ()
    return column_or_1d(np.broadcast_to(0.0, shape))  # raises


def _checked(parts: Sequence[Different]) -> NDArray[Any]:
    """Return the class of the first row of each value, after the checks of all rows."""
    n_rows, n_given = sum(len(part.kind) for part in parts), sum(len(part.rows) for part in parts)
    starts = np.cumsum([0, *(len(part.kind) for part in parts)])
    rows = np.concatenate([part.rows + s for part, s in zip(parts, starts, strict=False)])
    some = concatenated([part.some for part in parts])
    # scikit-learn warns about more than twenty rows of mostly distinct classes: repeat rows so
    # that it warns exactly when it would for all rows
    more = min(n_rows, 2 * n_given + 22) - n_given if n_given else 0
    places = np.concatenate([np.arange(n_given), np.zeros(more, dtype=np.intp)])
    longer = some.iloc[places] if hasattr(some, "iloc") else some[places]
    return read_classes(longer, len(places), lambda place: int(rows[places[place]]))[:n_given]


def read_numbers(y: Any, n_rows: int) -> FloatArray:
    """Return the number of every row, float64 of shape (n_rows,).

    Raise DataError unless each row has one finite number of at most ``MAX_TARGET``.
    """
    y = in_memory(y)
    with refused("Pass one finite number per row; use HKLClassifier for classes."):
        _check_mask(y)
        target = column_or_1d(y, warn=True)
        check_consistent_length(range(n_rows), target)
        if target.dtype.kind not in "biufOUS":
            raise DataError(
                f"y is of type {target.dtype}; expected numbers. Convert it, such as dates to days."
            )
        target = np.asarray(target, dtype=np.float64)
        assert_all_finite(target, input_name="y")
    if np.abs(target).max() > MAX_TARGET:
        raise DataError(
            f"y holds {target[np.abs(target).argmax()]:g}; expected numbers up to {MAX_TARGET:g}, "
            "so that squares are finite. Choose another unit for y."
        )
    return np.asarray(target)


def read_weights(sample_weight: Any, n_rows: int) -> FloatArray:
    """Return the weight of every row, float64 of shape (n_rows,); by default 1.

    Raise DataError unless each row has one finite, non-negative weight, one of them is positive,
    and their ratios are not too large.
    """
    if sample_weight is None:
        return np.ones(n_rows)
    with refused("Pass one weight per row, some of them positive."):
        none = np.empty((n_rows, 0))
        given = _check_sample_weight(in_memory(sample_weight), none, copy=True)
        if not given.any():  # scikit-learn raises this from 1.7 on
            raise ValueError("Sample weights must contain at least one non-zero number.")
    weights = np.asarray(given, dtype=np.float64)
    if (weights < 0).any():
        raise DataError("sample_weight holds negative numbers; give 0 to leave a row out.")
    check_weight_range(weights[weights > 0])
    return weights


def check_weight_range(weights: FloatArray) -> None:
    """Raise DataError if positive weights are too large or too different."""
    least, most = weights.min(initial=np.inf), weights.max(initial=0.0)
    if not (most <= MAX_WEIGHT and least * MAX_WEIGHT_RATIO >= most):
        raise DataError(
            f"the weights of rows are from {least:.3g} to {most:.3g}; expected at most "
            f"{MAX_WEIGHT:g}, and none more than {MAX_WEIGHT_RATIO:g} times another. Use 0 to "
            "leave out a row."
        )


def class_factors(classes: NDArray[Any], counts: NDArray[Any], class_weight: Any) -> FloatArray:
    """Return the factor of every class, float64 of shape (K,), from the counts of their rows.

    A class that a mapping lacks has factor 1.  Raise DataError if the mapping lacks a class but has
    an unknown name, if ``class_weight`` has another type, or for a negative or infinite factor.
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        return np.asarray(counts.sum() / (len(classes) * counts))
    if not isinstance(class_weight, Mapping):
        raise DataError(
            f"class_weight={class_weight!r}. Pass class_weight={{class: weight, ...}}, 'balanced' "
            "or None."
        )
    names = classes.tolist()
    unknown = [name for name in class_weight if name not in names]
    if unknown and any(name not in class_weight for name in names):
        raise DataError(
            f"class_weight has {unknown[0]!r}, but the classes are "
            f"{clip(', '.join(map(repr, names)), 60)}. Pass class_weight={{class: weight, ...}}, "
            "'balanced' or None."
        )
    with refused("Pass class_weight={class: weight, ...}, 'balanced' or None."):
        factors = np.array([class_weight.get(name, 1.0) for name in names], dtype=np.float64)
    if not np.isfinite(factors).all():
        raise DataError(f"class_weight={class_weight!r}; expected finite numbers.")
    if (factors < 0).any():
        raise DataError("class_weight holds negative numbers; give 0 to leave a class out.")
    return factors


def random_source(random_state: Any) -> np.random.RandomState:
    """Return the random generator of ``random_state``, or raise ParameterError."""
    try:
        source: np.random.RandomState = check_random_state(random_state)
    except (TypeError, ValueError):
        raise ParameterError(
            f"random_state={random_state!r}; expected None, an integer from 0 to 2**32 - 1, or a "
            "numpy.random.RandomState."
        ) from None
    return source


def splits(cv: Any, labels: NDArray[Any], seed: int) -> list[Split]:
    """Return the folds of a cross-validation: stratified folds, or the splits of ``cv``.

    Classes with fewer rows than folds are missing from some folds, without a warning.
    """
    from sklearn.model_selection import StratifiedKFold, check_cv

    if is_integer(cv):
        folds = StratifiedKFold(int(cv), shuffle=True, random_state=seed)
    else:
        try:
            folds = check_cv(cv, labels, classifier=True)
        except (TypeError, ValueError):
            raise _no_folds(cv) from None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        rows = np.arange(len(labels))
        try:
            return [
                (rows[train], rows[test])
                for train, test in folds.split(np.zeros((len(labels), 1)), labels)
            ]
        except (TypeError, IndexError):
            raise _no_folds(cv) from None


def _no_folds(cv: Any) -> ParameterError:
    return ParameterError(
        f"cv={cv!r}; expected a number of folds, a splitter of scikit-learn, or pairs of training "
        "and test rows."
    )
