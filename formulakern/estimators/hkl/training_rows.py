"""Encoded rows with their classes or numbers, as hierarchical kernel learning asks for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.partitioned import PackedPartitions
from formulakern.estimators.partitioned_targets import PartitionedWeights
from formulakern.learning.hkl.options import Node
from formulakern.learning.hkl.ordinal import Examples, cumulative_examples
from formulakern.learning.hkl.rows import Groups, Rows

__all__ = ["PiecedRows", "SeenRows", "TrainingRows", "WholeRows"]


class SeenRows(NamedTuple):
    """Rows, or groups of rows that no rule tells apart.

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


@dataclass(eq=False)
class WholeRows:
    """Encoded rows in this process, and what is to be learned of them.

    Parameters
    ----------
    total : float
        The sum of all weights.
    table : PackedTable
        The different rows.
    n_thresholds : int
        Of ordered classes, one less than there are; 0 without an order.
    targets : list of float64 (n_rows,)
        For each problem what is learned: −1 or 1, a number, or the place of an ordered class.
    weights : float64 (n_rows,)
        Rows of weight 0 are left out.
    known : SeenRows, optional
        Of classes: all rows.
    """

    total: float
    table: PackedTable
    n_thresholds: int
    targets: list[FloatArray]
    weights: FloatArray
    known: SeenRows | None = None
    _merged: tuple[PackedTable, npt.NDArray[np.intp], FloatArray] = field(init=False)
    _used: npt.NDArray[np.bool_] = field(init=False)

    @classmethod
    def of(
        cls,
        table: PackedTable,
        targets: list[FloatArray],
        weights: FloatArray,
        known: SeenRows | None = None,
        ordered: bool = False,
    ) -> WholeRows:
        """All rows of a table; where classes are ``ordered`` the only target holds their places."""
        number = int(targets[0].max()) if ordered else 0
        rows = cls(float(weights.sum()), table, number, targets, weights, known)
        rows._used = used = weights > 0
        kept = table if used.all() else table.take(used)
        rows.table, kind = kept.distinct()
        rows._merged = rows.table, kind, kept.degrees
        return rows

    def problem(self, k: int, n_problems: int) -> Rows:  # noqa: ARG002
        """Return the k-th of so many problems; of ordered classes the only one."""
        table, kind, degrees = self._merged
        used = self._used
        examples = Examples(kind, self.targets[k][used], self.weights[used], degrees)
        if self.n_thresholds:
            examples = cumulative_examples(examples)
        return Rows.merged(table, examples)

    def together(self) -> Rows:
        """Return all classes together."""
        table, kind, degrees = self._merged
        codes = np.array(self.targets).argmax(axis=0)[self._used]
        return Rows.merged(table, Examples(kind, codes + 0.0, self.weights[self._used], degrees))

    def seen(self, rules: Sequence[Sequence[Node | int]]) -> SeenRows:  # noqa: ARG002
        """Return all rows, of classes; ``rules`` has those of each model."""
        assert self.known is not None
        return self.known


@dataclass(eq=False)
class PiecedRows:
    """Encoded rows in partitions; see :class:`WholeRows`.

    Parameters
    ----------
    total, table, n_thresholds :
        As of :class:`WholeRows`; the table is partitioned.
    weighted : PartitionedWeights
        Their classes and weights.
    places : intp (K,)
        The number of each class in learning, −1 where its rows weigh nothing.
    """

    total: float
    table: PackedPartitions
    n_thresholds: int
    weighted: PartitionedWeights
    places: npt.NDArray[np.intp]
    _pieces: Any = field(init=False)
    _last: Groups | None = field(default=None, init=False)

    @classmethod
    def of(
        cls,
        table: PackedPartitions,
        weighted: PartitionedWeights,
        order: npt.NDArray[Any] | None = None,
    ) -> PiecedRows:
        """Rows of some classes; ``order`` has those that are present, where they are ordered."""
        places = weighted.places if order is None else weighted.of.places_in(order)
        total = float((weighted.sums * weighted.factors).sum())
        rows = cls(total, table, 0 if order is None else len(order) - 1, weighted, places)
        rows._pieces = weighted.rows(table, places)
        return rows

    def problem(self, k: int, n_problems: int) -> Rows:
        """Return the k-th of so many problems."""
        if self.n_thresholds:
            return self._grouped(cumulative_examples)
        return self._grouped(partial(_against, 1 if n_problems == 1 else k))

    def together(self) -> Rows:
        """Return all classes together."""
        return self._grouped(_same)

    def _grouped(self, made: Callable[[Examples], Examples]) -> Groups:
        n_others, n_classes = len(self.table.terms), int(self.places.max()) + 1
        self._last = Groups(self._pieces, self.table.n_columns, n_others, n_classes, made)
        return self._last

    def seen(self, rules: Sequence[Sequence[Node | int]]) -> SeenRows:
        """Return groups on which every rule is constant, of which each has one class."""
        groups = self._last
        assert groups is not None
        listed = [rule for some in rules for rule in some]
        nodes = [rule for rule in listed if isinstance(rule, tuple)]
        groups.tell_apart(nodes, [rule for rule in listed if isinstance(rule, int)])
        used = np.flatnonzero(self.places >= 0)
        class_of = used[np.argsort(self.places[used])][groups.codes]
        labels = self.weighted.of.classes[class_of]
        counts = groups.weights / self.weighted.factors[class_of]
        return SeenRows(
            groups.table, labels, groups.weights, counts, groups.numbers.astype(np.float64)
        )


TrainingRows: TypeAlias = WholeRows | PiecedRows


def _same(examples: Examples) -> Examples:
    return examples


def _against(k: int, examples: Examples) -> Examples:
    """One class against the rest."""
    return examples._replace(y=np.where(examples.y == k, 1.0, -1.0))
