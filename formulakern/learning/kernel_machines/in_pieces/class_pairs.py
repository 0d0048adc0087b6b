"""Rows of some classes that lie in pieces: the problem of two classes, and what pieces tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.encoding.packed import PackedTable
from formulakern.encoding.weighted_rows import WeightedRows
from formulakern.kernels.base import MatrixKernel
from formulakern.learning.kernel_machines.box_problem import BoxProblem, classification
from formulakern.rules.features import Instance

__all__ = ["class_pair", "counted_covers", "has_values"]

#: Rows whose K(x, x) is computed at a time.
LOOKED_AT = 4096


def class_pair(
    rows: WeightedRows, C: float, winner: int, loser: int
) -> tuple[PackedTable, BoxProblem]:
    """The rows of two classes, and their part of the problem that tells these apart.

    Parameters
    ----------
    rows : WeightedRows
    C : float
        Multiplied by the weights.
    winner, loser : int
        The classes with p = 1 and p = −1.

    Examples
    --------
    >>> table = PackedTable.of_rows(np.array([[1], [2], [3]], dtype=np.uint64), 2)
    >>> rows = WeightedRows.of(table, np.array([2, 0, 1]), np.array([1.0, 2.0, 1.0]))
    >>> table, problem = class_pair(rows, 10.0, 0, 2)
    >>> table.n_rows, problem.linear, problem.upper - problem.lower
    (2, array([-1.,  1.]), array([10., 20.]))
    """
    chosen = np.flatnonzero((rows.codes == winner) | (rows.codes == loser))
    signs = np.where(rows.codes[chosen] == winner, 1.0, -1.0)
    table = rows.table if len(chosen) == len(rows) else rows.table.take(chosen)
    return table, classification(signs, C * rows.weights[chosen])


def has_values(rows: WeightedRows, kernel: MatrixKernel) -> bool:
    """Whether K(x, x) is not 0 for some row."""
    for start in range(0, len(rows), LOOKED_AT):
        part = rows.table.take(np.arange(start, min(start + LOOKED_AT, len(rows))))
        if np.asarray(kernel.diagonal(part)).any():
            return True
    return False


def counted_covers(
    rows: WeightedRows, features: Sequence[Instance], n_classes: int
) -> npt.NDArray[np.int64]:
    """How many rows of each class each feature covers, and last how many there are in all.

    Parameters
    ----------
    rows : WeightedRows
    features : sequence of Instance
    n_classes : int

    Returns
    -------
    int64 (len(features) + 1, n_classes)
    """
    counts = np.zeros((len(features) + 1, n_classes), dtype=np.int64)
    for number, feature in enumerate([*features, None] if len(rows) else []):
        cover: Any = slice(None) if feature is None else feature.values(rows.table)
        np.add.at(counts[number], rows.codes[cover], rows.numbers[cover])
    return counts
