"""Encoded training rows with their classes or numbers, in this process or in partitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.encoding.packed import PackedTable
from formulakern.estimators.targets import TrainingData
from formulakern.learning.hkl.options import Node
from formulakern.learning.hkl.ordinal import Examples
from formulakern.learning.hkl.rows import Groups, Rows

__all__ = ["SeenRows", "TrainingRows", "WholeRows", "training_rows"]

#: Returns examples to learn from, given one for each row or group, whose y is its class or number.
Made = Callable[[Examples], Examples]


class SeenRows(NamedTuple):
    """Rows, or groups of rows on which every rule is constant.

    Parameters
    ----------
    table : PackedTable of m rows
    labels : ndarray of shape (m,)
        Classes.
    weights, counts, numbers : float64 (m,)
        What each weighs in learning, the sum of the weights that the user gave its rows, and how
        many rows it stands for.
    """

    table: PackedTable
    labels: npt.NDArray[Any]
    weights: FloatArray
    counts: FloatArray
    numbers: FloatArray


class WholeRows:
    """Rows in this process.

    Parameters
    ----------
    table : PackedTable
    y, weights : float64 (n_rows,)
        The number of the class, or a number to predict; rows of weight 0 are left out.
    known : SeenRows, optional
        All rows, if they have classes.
    """

    def __init__(
        self, table: PackedTable, y: FloatArray, weights: FloatArray, known: SeenRows | None = None
    ) -> None:
        used = weights > 0
        kept = table if used.all() else table.take(used)
        self.table, kind = kept.distinct()
        self.examples = Examples(kind, y[used], weights[used], kept.degrees)
        self.total, self.known = float(weights.sum()), known

    def rows(self, made: Made) -> Rows:
        """Return the rows of a problem."""
        return Rows.merged(self.table, made(self.examples))

    def seen(self, rules: Sequence[Node | int]) -> SeenRows:
        """Return rows, or groups of rows, on which these rules are constant."""
        del rules
        assert self.known is not None
        return self.known


@dataclass(eq=False)
class PartitionedRows:
    """Rows in partitions, and, intp (K,), the number of each class or −1."""

    data: TrainingData
    places: npt.NDArray[np.intp]
    _last: Groups = field(init=False)

    def __post_init__(self) -> None:
        self.total = float((self.data.sums * self.data.factors).sum())
        self._rows = self.data.rows(self.places)

    def rows(self, made: Made) -> Rows:
        """Return the rows of a problem."""
        table = self.data.table
        sizes = table.n_columns, len(table.terms), int(self.places.max()) + 1
        self._last = Groups(self._rows, *sizes, made)
        return self._last

    def seen(self, rules: Sequence[Node | int]) -> SeenRows:
        """Return groups of rows of one class each, on which these rules are constant."""
        groups = self._last
        nodes = [rule for rule in rules if isinstance(rule, tuple)]
        groups.tell_apart(nodes, [rule for rule in rules if isinstance(rule, int)])
        class_of = np.flatnonzero(self.places >= 0)[groups.codes]
        labels = self.data.classes[class_of]
        counts = groups.weights / self.data.factors[class_of]
        return SeenRows(
            groups.table, labels, groups.weights, counts, groups.numbers.astype(np.float64)
        )


TrainingRows = WholeRows | PartitionedRows


def training_rows(data: TrainingData) -> TrainingRows:
    """Return the rows to learn classes from; classes without weight have no number."""
    places = np.where(data.present, np.cumsum(data.present) - 1, -1)
    if data.partitioned:
        return PartitionedRows(data, places)
    weights = data.weights
    counts = np.where(weights > 0, data.own, 0.0)
    seen = SeenRows(data.table, data.labels, weights, counts, np.ones(len(weights)))
    return WholeRows(data.table, places[data.codes].astype(np.float64), weights, seen)
