"""The classes and weights of rows in partitions: codes where the rows are, counts here."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import _check_sample_weight, assert_all_finite

from formulakern.arrays import FloatArray
from formulakern.encoding.partitioned import PackedPartitions, PartitionedTable
from formulakern.errors import DataError
from formulakern.estimators.targets import (
    check_any_weight,
    check_signs,
    check_spread,
    class_factors,
    class_order,
    one_class,
    read_classes,
    read_weights,
    refused,
)
from formulakern.optional import needed
from formulakern.partitions.collections import is_dask, joined
from formulakern.partitions.partitioned import Partitioned, partitions_of, put
from formulakern.progress import stage

__all__ = [
    "PartitionedClasses",
    "PartitionedColumn",
    "PartitionedWeights",
    "Told",
    "first_of_each",
    "rows_of",
    "told",
]


class PartitionedColumn:
    """A dask series, or a dask array of one dimension, of which no row is here.

    Parameters
    ----------
    parts : sequence of dask.delayed.Delayed
        Of a Series, an Index or an array each.
    """

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = list(parts)

    @classmethod
    def of(cls, values: Any) -> PartitionedColumn:
        """The partitions of a dask series or array."""
        return cls(partitions_of(values))

    def pieces(self, function: Callable[..., Any] | None = None, *shared: Any) -> Partitioned:
        """The parts, or what a function makes of each; nothing is computed yet."""
        if function is None:
            return Partitioned(self.parts, lazy=True)
        make, sent = put(function), list(map(put, shared))
        return Partitioned([make(part, *sent) for part in self.parts], lazy=True)

    def cut(self, lengths: Sequence[int], wanted: Sequence[int]) -> PartitionedColumn:
        """The same rows in parts of other lengths.

        Parameters
        ----------
        lengths : sequence of int
            Of the parts as they are.
        wanted : sequence of int
            Of the parts as they are to be, of the same sum.
        """
        if list(lengths) == list(wanted):
            return self
        make = needed("dask", "A dask collection", "dask").delayed(_cut, pure=False)
        starts = np.cumsum([0, *lengths])
        ends = np.cumsum([0, *wanted]).tolist()
        made = []
        for start, end in itertools.pairwise(ends):
            first = int(np.searchsorted(starts, start, "right")) - 1
            last = max(first, int(np.searchsorted(starts, end, "left")) - 1)
            first, last = (min(place, len(self.parts) - 1) for place in (first, last))
            offset = int(starts[first])
            made.append(make(start - offset, end - offset, *self.parts[first : last + 1]))
        return PartitionedColumn(made)


def rows_of(part: Any, rows: Any) -> Any:
    """Some rows of a Series, an Index or an array, which stay what they are."""
    return part.iloc[rows] if hasattr(part, "iloc") else part[rows]


def _cut(start: int, end: int, *parts: Any) -> Any:
    return rows_of(parts[0] if len(parts) == 1 else joined(parts), slice(start, end))


class Told(NamedTuple):
    """What a part of a column tells of its values.

    Parameters
    ----------
    n_rows : int
    rows : ndarray of shape (k,), intp
        The first row of each different value, in their order.
    some : Series, Index or array
        These rows.
    counts : ndarray of shape (k,), int64
        How many rows have the value.
    """

    n_rows: int
    rows: NDArray[np.intp]
    some: Any
    counts: NDArray[np.int64]


def told(part: Any, most: int) -> Told:
    """The different values of a part, and how many rows have each.

    Of more than ``most`` different values the first ones.

    >>> told(np.array(["b", "a", "b"]), 10)
    Told(n_rows=3, rows=array([0, 1]), some=array(['b', 'a'], dtype='<U1'), counts=array([2, 1]))
    """
    if np.ma.is_masked(part):
        first = np.flatnonzero(np.ma.getmaskarray(part))[:1]
        return Told(len(part), first, part[first], np.ones(1, dtype=np.int64))
    rows, kind = first_of_each(np.asarray(part))
    counts = np.bincount(kind, minlength=len(rows)).astype(np.int64)
    order = np.argsort(rows)[: most + 1]
    return Told(len(part), rows[order], rows_of(part, rows[order]), counts[order])


def first_of_each(values: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first row of each different value, and which of these every row has.

    What cannot be hashed counts as equal to others of its type, and so do missing values.

    >>> first_of_each(np.array(["b", 1, None, "b"], dtype=object))
    (array([0, 1, 2]), array([0, 1, 2, 0]))
    """
    if values.dtype != object:
        _, first, kind = np.unique(values, return_index=True, return_inverse=True)
        return first, kind.ravel()
    known: dict[Any, int] = {}
    rows: list[int] = []
    kinds: list[int] = []
    for row, value in enumerate(values.tolist()):
        try:
            there = value is not None and bool(value == value)
            place = known.setdefault(value if there else (type(value),), len(known))
        except (TypeError, ValueError):
            place = known.setdefault((type(value),), len(known))
        if place == len(rows):
            rows.append(row)
        kinds.append(place)
    return np.array(rows, dtype=np.intp), np.array(kinds, dtype=np.intp)


#: There are at most so many classes.
MOST = 10_000
ONE_EACH = "Pass one class per row: all text, or all numbers or bools."


@dataclass(frozen=True, eq=False)
class PartitionedClasses:
    """The class of every row of a table in pieces.

    Parameters
    ----------
    table : PartitionedTable
    y : array-like of shape (n_rows,)
        As the user gave it.
    classes : ndarray of shape (K,)
        Those that occur, sorted.
    counts : ndarray of shape (K,), int64
        How many rows each has.
    codes : Partitioned
        Beside the pieces of the table: the place of each row's class, a narrow whole number.
    """

    table: PartitionedTable
    y: Any
    classes: NDArray[Any]
    counts: NDArray[np.int64]
    codes: Partitioned

    @classmethod
    def of(cls, table: PartitionedTable, y: Any) -> PartitionedClasses:
        """The class of every row, checked as :func:`.read_classes` checks it.

        Parameters
        ----------
        table : PartitionedTable
        y : array-like of shape (n_rows,)
            Of a series or an array of dask no row comes here.  Its partitions need not be those of
            the table, as rows go by their order.

        Raises
        ------
        DataError
            As :func:`.read_classes`, or if a y of dask has more than 10,000 different classes.

        Notes
        -----
        Of a y of dask one pass, in which each partition tells its different values.
        """
        if not is_dask(y):
            labels = read_classes(y, len(table))
            classes, codes = np.unique(labels, return_inverse=True)
            narrow = codes.astype(_narrow(len(classes)))
            counts = np.bincount(codes, minlength=len(classes)).astype(np.int64)
            return cls(table, y, classes, counts, _split(narrow, table))
        with refused(ONE_EACH):
            column = PartitionedColumn.of(_one_dimension(y, len(table)))
        with stage("reading classes"):
            parts: list[Told] = column.pieces().map(told, MOST)
        lengths = [part.n_rows for part in parts]
        with refused(ONE_EACH):
            check_consistent_length(range(len(table)), range(sum(lengths)))
        labels = _classes_told(parts)
        classes, codes = np.unique(labels, return_inverse=True)
        for number, part in enumerate(parts):
            if len(part.rows) > MOST or len(classes) > MOST:
                where = f" in partition {number}" if len(part.rows) > MOST else ""
                raise DataError(
                    f"y has more than {MOST:,} different values{where}; expected the class of "
                    f"every row, of at most {MOST:,} classes. Join classes, or bring the rows here "
                    "with formulakern.gather_limit, if they fit into memory."
                )
        sums = np.zeros(len(classes), dtype=np.int64)
        np.add.at(sums, codes, np.concatenate([part.counts for part in parts]))
        coded = column.cut(lengths, table.lengths).pieces(_coded, classes)
        return cls(table, y, classes, sums, coded)

    @cached_property
    def order(self) -> NDArray[Any]:
        """The classes, lowest first; see :func:`.class_order`."""
        return class_order(self.y, self.classes)

    def places_in(self, order: NDArray[Any]) -> NDArray[np.intp]:
        """The place of each class in a list of some of them, −1 of the others."""
        place_of = {name: place for place, name in enumerate(order.tolist())}
        names = self.classes.tolist()
        return np.array([place_of.get(name, -1) for name in names], dtype=np.intp)

    def weighted(self, class_weight: Any, sample_weight: Any) -> PartitionedWeights:
        """With the weight of every row: its own times that of its class.

        Parameters
        ----------
        class_weight : mapping of class to float, "balanced" or None
        sample_weight : array-like of shape (n_rows,), or None
            Of a series or an array of dask no row comes here, as of a y.

        Raises
        ------
        DataError
            As :func:`.row_weights` and :func:`.several_classes`.

        Notes
        -----
        Where there are weights two passes: one counts those of dask, and one adds them up by class.
        """
        n, own = len(self.table), None
        if sample_weight is None:
            least = most = np.ones(len(self.classes))
            sums = self.counts.astype(np.float64)
        else:
            with stage("reading weights"):
                own = self._own_weights(sample_weight, n)
                parts = self.codes.zip(own).map(_weights_by_class, len(self.classes))
            by_class = zip(*(part.sums.tolist() for part in parts), strict=True)
            sums = np.array([math.fsum(some) for some in by_class])
            least = np.min([part.least for part in parts], axis=0)
            most = np.max([part.most for part in parts], axis=0)
            with refused("Pass one weight per row, some of them positive."):
                check_any_weight(bool(most.any()))
        factors = class_factors(self.classes, self.counts, class_weight)
        present = factors * most > 0
        if present.any():
            lightest = (factors[present] * least[present]).min()
            check_spread(float(lightest), float((factors * most).max()))
        if present.sum() < 2:
            raise one_class(self.classes.tolist()[present.argmax()], weighted=True)
        return PartitionedWeights(self, factors, present, np.where(present, sums, 0.0), own)

    def _own_weights(self, sample_weight: Any, n: int) -> Partitioned:
        if not is_dask(sample_weight):
            return _split(read_weights(sample_weight, n), self.table)
        with refused("Pass one weight per row, some of them positive."):
            if sample_weight.ndim != 1:
                _check_sample_weight(np.ones((1,) * sample_weight.ndim), np.empty((n, 0)))
            column = PartitionedColumn.of(sample_weight)
            lengths = column.pieces().map(len)
            if sum(lengths) != n:
                raise ValueError(f"sample_weight.shape == {(sum(lengths),)}, expected {(n,)}!")
        return column.cut(lengths, self.table.lengths).pieces(_numbers)


@dataclass(frozen=True, eq=False)
class PartitionedWeights:
    """The classes and weights of rows in pieces; two classes at least have weight.

    Parameters
    ----------
    of : PartitionedClasses
    factors : ndarray of shape (K,), float64
        What the weights of rows of each class are multiplied by.
    present : ndarray of shape (K,), bool
        Whether a class has rows of positive weight.
    sums : ndarray of shape (K,), float64
        The weights that the user gave the rows of each class, where it is present.
    own : Partitioned, optional
        Those weights, beside the pieces of the table; None where each is 1.
    """

    of: PartitionedClasses
    factors: FloatArray
    present: NDArray[np.bool_]
    sums: FloatArray
    own: Partitioned | None

    @property
    def places(self) -> NDArray[np.intp]:
        """The number of each class among those that are present, −1 of the others."""
        return np.where(self.present, np.cumsum(self.present) - 1, -1)

    def rows(
        self,
        encoded: PackedPartitions,
        places: NDArray[np.intp] | None = None,
        *,
        with_factors: bool = True,
    ) -> Partitioned:
        """Return partitions of WeightedRows; rows of weight 0 are left out.

        Parameters
        ----------
        encoded : PackedPartitions
            Of the table.
        places : ndarray of shape (K,), intp, optional
            The codes of classes; :attr:`places` by default.
        with_factors : bool
            Whether weights are multiplied by the factors of classes.
        """
        codes = np.where(self.present, self.places if places is None else places, -1)
        return encoded.weighted(
            self.of.codes, self.own, codes, self.factors if with_factors else None
        )


class _ByClass(NamedTuple):
    """What a piece tells of its weights: of each class their sum, the least, and the most."""

    sums: FloatArray
    least: FloatArray  # of positive ones
    most: FloatArray


def _narrow(n_classes: int) -> np.dtype[Any]:
    return np.min_scalar_type(max(n_classes - 1, 0))


def _split(values: NDArray[Any], table: PartitionedTable) -> Partitioned:
    return Partitioned(np.split(values, np.cumsum(table.lengths)[:-1]))


def _one_dimension(y: Any, n_rows: int) -> Any:
    """A series or an array of one dimension; of a table of one column this."""
    if y.ndim == 1:
        return y
    if y.ndim == 2 and y.shape[1] == 1:
        column_or_1d(np.empty((0, 1)), warn=True)
        return y[:, 0] if hasattr(y, "chunks") else y[y.columns[0]]
    shape = (n_rows, *y.shape[1:]) if y.ndim else ()
    return column_or_1d(np.broadcast_to(0.0, shape))  # says that it is none


def _classes_told(parts: Sequence[Told]) -> NDArray[Any]:
    """The class of every row that parts have told of; checked as those of all rows."""
    n_rows, n_told = sum(part.n_rows for part in parts), sum(len(part.rows) for part in parts)
    starts = np.cumsum([0, *(part.n_rows for part in parts)])
    rows = np.concatenate([part.rows + s for part, s in zip(parts, starts, strict=False)])
    some = joined([part.some for part in parts])
    # of more than twenty rows that are mostly of different classes there is a warning: to give it
    # where all rows would, and only there, some rows are repeated
    more = min(n_rows, 2 * n_told + 22) - n_told if n_told else 0
    places = np.concatenate([np.arange(n_told), np.zeros(more, dtype=np.intp)])
    longer = some.iloc[places] if hasattr(some, "iloc") else some[places]
    return read_classes(longer, len(places), lambda place: int(rows[places[place]]))[:n_told]


def _coded(part: Any, classes: NDArray[Any]) -> NDArray[Any]:
    """The place of every row's class among all classes."""
    values = np.asarray(part)
    first, kind = first_of_each(values)
    found = values[first]
    if classes.dtype.kind not in "US":
        found = found.astype(classes.dtype)
    places = np.minimum(np.searchsorted(classes, found), len(classes) - 1)
    if not np.all(classes[places] == found):
        raise DataError(
            "a partition of y has a class that it had not when the classes were counted; expected "
            "that it is the same whenever it is read. Write what makes it to files, and read these."
        )
    return places.astype(_narrow(len(classes)))[kind]


def _numbers(part: Any) -> FloatArray:
    """The weights of the rows of a part.

    Raises
    ------
    DataError
        If they are no finite numbers, or negative.
    """
    with refused("Pass one weight per row, some of them positive."):
        values = np.asarray(part)
        if np.ma.is_masked(part):
            raise DataError("sample_weight is masked. Pass one weight per row.")
        weights = np.asarray(values, dtype=np.float64)
        assert_all_finite(weights, input_name="sample_weight")
    check_signs(weights)
    return weights


def _weights_by_class(beside: tuple[NDArray[Any], FloatArray], n_classes: int) -> _ByClass:
    codes, weights = beside
    order, counts = np.argsort(codes, kind="stable"), np.bincount(codes, minlength=n_classes)
    of_class = np.split(weights[order], np.cumsum(counts)[:-1])
    least, most = np.full(n_classes, np.inf), np.zeros(n_classes)
    np.maximum.at(most, codes, weights)
    np.minimum.at(least, codes[weights > 0], weights[weights > 0])
    return _ByClass(np.array([math.fsum(some) for some in of_class]), least, most)
