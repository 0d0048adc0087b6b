"""The classes and weights of the rows of a table in partitions, as codes in this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d

from formulakern.arrays import FloatArray
from formulakern.encoding.partitioned import PackedPartitions, PartitionedTable
from formulakern.estimators.targets import (
    check_spread,
    class_factors,
    class_order,
    one_class,
    read_classes,
    read_weights,
    refused,
)
from formulakern.partitions.collections import is_dask, joined
from formulakern.partitions.partitioned import Partitioned, partitions_of
from formulakern.progress import stage

__all__ = ["PartitionedClasses", "PartitionedWeights", "different_values"]


@dataclass(frozen=True, eq=False)
class PartitionedClasses:
    """The class of every row of a table in partitions.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        As the user gave it.
    classes : ndarray of shape (K,)
        Those that occur, sorted.
    codes : ndarray of shape (n_rows,)
        The place of each row's class, a narrow whole number.
    """

    y: Any
    classes: NDArray[Any]
    codes: NDArray[Any]

    @classmethod
    def of(cls, table: PartitionedTable, y: Any) -> PartitionedClasses:
        """Read the class of every row, checked as :func:`.read_classes` checks it.

        The partitions of a y of dask need not be those of the table.  In one pass each returns its
        different values and narrow codes.

        Raises
        ------
        DataError
            As :func:`.read_classes`.
        """
        n = len(table)
        if not is_dask(y):
            labels = read_classes(y, n)
            classes, codes = np.unique(labels, return_inverse=True)
            return cls(y, classes, codes.astype(_narrow(len(classes))))
        with refused("Pass one class per row: all text, or all numbers or bools."):
            column = Partitioned(partitions_of(_one_dimension(y, n)), lazy=True)
            with stage("reading classes"):
                parts: list[_Different] = column.map(different_values)
            check_consistent_length(range(n), range(sum(len(part.kind) for part in parts)))
        classes, codes = np.unique(_checked(parts), return_inverse=True)
        ends = np.cumsum([len(part.rows) for part in parts])[:-1]
        own = np.split(codes.astype(_narrow(len(classes))), ends)
        pairs = zip(own, parts, strict=True)
        return cls(y, classes, np.concatenate([some[part.kind] for some, part in pairs]))

    @property
    def order(self) -> NDArray[Any]:
        """The classes, lowest first; see :func:`.class_order`."""
        return class_order(self.y, self.classes)

    def places_in(self, order: NDArray[Any]) -> NDArray[np.intp]:
        """Return the place of each class in a list of some of them, −1 of the others."""
        place_of = {name: place for place, name in enumerate(order.tolist())}
        return np.array([place_of.get(name, -1) for name in self.classes.tolist()], dtype=np.intp)

    def weighted(self, class_weight: Any, sample_weight: Any) -> PartitionedWeights:
        """Return the weight of every row: its own times that of its class.

        Raises
        ------
        DataError
            As :func:`.row_weights` and :func:`.several_classes`.
        """
        n_classes = len(self.classes)
        own = None if sample_weight is None else read_weights(sample_weight, len(self.codes))
        factors = class_factors(
            self.classes, np.bincount(self.codes, minlength=n_classes), class_weight
        )
        codes = np.arange(n_classes) if own is None else self.codes
        found = factors if own is None else own * factors[codes]
        used = found > 0
        if used.any():
            check_spread(float(found[used].min()), float(found.max()))
        present = np.bincount(codes[used], minlength=n_classes) > 0
        if present.sum() < 2:
            raise one_class(self.classes.tolist()[present.argmax()], weighted=True)
        sums = np.bincount(self.codes, own, n_classes) * present
        return PartitionedWeights(self, factors, present, sums.astype(np.float64), own)


@dataclass(frozen=True, eq=False)
class PartitionedWeights:
    """The weights of rows in partitions; two classes at least have weight.

    Parameters
    ----------
    of : PartitionedClasses
    factors : ndarray of shape (K,), float64
        Factors of the weights by class.
    present : ndarray of shape (K,), bool
        Whether a class has rows of positive weight.
    sums : ndarray of shape (K,), float64
        The weights that the user gave the rows of each class, where it is present.
    own : ndarray of shape (n_rows,), float64, optional
        Those weights; None where each is 1.
    """

    of: PartitionedClasses
    factors: FloatArray
    present: NDArray[np.bool_]
    sums: FloatArray
    own: FloatArray | None

    def rows(
        self, encoded: PackedPartitions, places: NDArray[np.intp], *, with_factors: bool = True
    ) -> Partitioned:
        """Return partitions of WeightedRows without rows of weight 0.

        ``places`` are the codes of classes, intp of shape (K,); the factors of classes multiply
        the weights if ``with_factors``.
        """
        codes = np.where(self.present, places, -1)
        factors = self.factors if with_factors else None
        return encoded.weighted(self.of.codes, self.own, codes, factors)


class _Different(NamedTuple):
    """The different values of a partition of a column."""

    rows: NDArray[np.intp]  # the first row of each
    some: Any  # these rows: a Series, an Index or an array
    kind: NDArray[Any]  # which of them each row has


def different_values(part: Any) -> _Different:
    """Return the different values of a Series, an Index or an array, in the order of their rows.

    Values that cannot be hashed count as equal to others of their type, and so do missing values.

    >>> different_values(np.array(["b", 1, None, "b"], dtype=object)).kind
    array([0, 1, 2, 0], dtype=uint8)
    """
    values = np.asarray(part)
    if np.ma.is_masked(part):
        values = np.ma.getmaskarray(part)
    elif values.dtype == object:
        known: dict[Any, int] = {}
        keys = map(_key, values.tolist())
        values = np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.intp)
    _, rows, kind = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(rows)
    rows, kind = rows[order], np.argsort(order)[kind.ravel()]
    some = part.iloc[rows] if hasattr(part, "iloc") else part[rows]
    return _Different(rows, some, kind.astype(_narrow(len(rows))))


def _key(value: Any) -> Any:
    try:
        hash(value)
        there = value is not None and bool(value == value)
    except (TypeError, ValueError):
        there = False
    return value if there else (type(value),)


def _narrow(n_classes: int) -> np.dtype[Any]:
    return np.min_scalar_type(max(n_classes - 1, 0))


def _one_dimension(y: Any, n_rows: int) -> Any:
    """Return a series or an array of one dimension; of a table of one column this."""
    if y.ndim == 1:
        return y
    if y.ndim == 2 and y.shape[1] == 1:
        column_or_1d(np.empty((0, 1)), warn=True)
        return y[:, 0] if hasattr(y, "chunks") else y[y.columns[0]]
    shape = (n_rows, *y.shape[1:]) if y.ndim else ()
    return column_or_1d(np.broadcast_to(0.0, shape))  # raises


def _checked(parts: Sequence[_Different]) -> NDArray[Any]:
    """Return the classes of the first rows of each value, checked as those of all rows."""
    n_rows, n_given = sum(len(part.kind) for part in parts), sum(len(part.rows) for part in parts)
    starts = np.cumsum([0, *(len(part.kind) for part in parts)])
    rows = np.concatenate([part.rows + s for part, s in zip(parts, starts, strict=False)])
    some = joined([part.some for part in parts])
    # scikit-learn warns of more than twenty rows that are mostly of different classes: to warn
    # where all rows would, and only there, some rows are repeated
    more = min(n_rows, 2 * n_given + 22) - n_given if n_given else 0
    places = np.concatenate([np.arange(n_given), np.zeros(more, dtype=np.intp)])
    longer = some.iloc[places] if hasattr(some, "iloc") else some[places]
    return read_classes(longer, len(places), lambda place: int(rows[places[place]]))[:n_given]
