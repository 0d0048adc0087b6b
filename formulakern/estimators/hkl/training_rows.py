"""Encoded training rows with their classes or numbers, in this process or in partitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.encoding.packed import PackedTable
from formulakern.estimators.targets import TrainingData
from formulakern.learning.hkl.options import Node
from formulakern.learning.hkl.ordinal import Examples
from formulakern.learning.hkl.rows import Groups, Rows

__all__ = ["Made", "Problems", "SeenRows", "problems_of", "seen_rows", "whole_problems"]

#: Returns examples to learn from, given one for each row or group, whose y is its class or number.
Made = Callable[[Examples], Examples]
#: Returns the rows of the problem with these examples.
Problems = Callable[[Made], Rows]


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


def whole_problems(table: PackedTable, y: FloatArray, weights: FloatArray) -> Problems:
    """Return the problems of rows in this process; those of weight 0 are left out."""
    used = weights > 0
    kept = table if used.all() else table.take(used)
    different, kind = kept.distinct()
    examples = Examples(kind, y[used], weights[used], kept.degrees)
    return lambda made: Rows.merged(different, made(examples))


def problems_of(data: TrainingData) -> Problems:
    """Return the problems of rows of classes; classes without weight have no number."""
    places = np.where(data.present, np.cumsum(data.present) - 1, -1)
    if not data.partitioned:
        return whole_problems(data.table, places[data.codes].astype(np.float64), data.weights)
    rows, sizes = data.rows(places), (data.table.n_columns, len(data.table.terms))
    return lambda made: Groups(rows, *sizes, int(places.max()) + 1, made)


def seen_rows(data: TrainingData, rows: Rows, rules: Sequence[Node | int]) -> SeenRows:
    """Return the rows, or groups of rows of one class each, on which these rules are constant."""
    if not isinstance(rows, Groups):
        counts = np.where(data.weights > 0, data.own, 0.0)
        return SeenRows(data.table, data.labels, data.weights, counts, np.ones(len(counts)))
    nodes = [rule for rule in rules if isinstance(rule, tuple)]
    rows.tell_apart(nodes, [rule for rule in rules if isinstance(rule, int)])
    classes = np.flatnonzero(data.present)[rows.codes]
    counts, numbers = rows.weights / data.factors[classes], rows.numbers.astype(np.float64)
    return SeenRows(rows.table, data.classes[classes], rows.weights, counts, numbers)
