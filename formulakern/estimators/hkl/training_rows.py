"""Encoded training rows with their classes or numbers, in this process or in partitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.partitioned import PackedPartitions
from formulakern.estimators.partitioned_targets import PartitionedWeights
from formulakern.learning.hkl.options import Node
from formulakern.learning.hkl.ordinal import Examples
from formulakern.learning.hkl.rows import Groups, Rows

__all__ = ["PartitionedRows", "SeenRows", "TrainingRows", "WholeRows"]

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
    """Rows in partitions, with their weights and, intp (K,), the number of each class or −1."""

    table: PackedPartitions
    weighted: PartitionedWeights
    places: npt.NDArray[np.intp]
    _last: Groups = field(init=False)

    def __post_init__(self) -> None:
        self.total = float((self.weighted.sums * self.weighted.factors).sum())
        self._rows = self.weighted.rows(self.table, self.places)

    def rows(self, made: Made) -> Rows:
        """Return the rows of a problem."""
        sizes = self.table.n_columns, len(self.table.terms), int(self.places.max()) + 1
        self._last = Groups(self._rows, *sizes, made)
        return self._last

    def seen(self, rules: Sequence[Node | int]) -> SeenRows:
        """Return groups of rows of one class each, on which these rules are constant."""
        groups = self._last
        nodes = [rule for rule in rules if isinstance(rule, tuple)]
        groups.tell_apart(nodes, [rule for rule in rules if isinstance(rule, int)])
        used = np.flatnonzero(self.places >= 0)
        class_of = used[np.argsort(self.places[used])][groups.codes]
        labels = self.weighted.of.classes[class_of]
        counts = groups.weights / self.weighted.factors[class_of]
        return SeenRows(
            groups.table, labels, groups.weights, counts, groups.numbers.astype(np.float64)
        )


TrainingRows = WholeRows | PartitionedRows
