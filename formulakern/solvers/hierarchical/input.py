"""Reading the data of :mod:`formulakern.solvers.hierarchical.solve`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray, IntArray, different_rows
from formulakern.errors import DataError
from formulakern.solvers.hierarchical.losses import Intercept
from formulakern.solvers.input import LARGEST, read_array, read_vector

__all__ = ["Problem", "read_problem", "read_start"]


@dataclass(frozen=True, eq=False)
class Problem:
    """The data with equal columns merged, and equal rows of equal labels merged with their weights.

    Columns of weights with different signs, and rows of different groups, are not merged.

    Attributes
    ----------
    bits : uint8 (k, r), C-contiguous
        The different columns, one a row, on the different rows.
    others : float64 (e, r), C-contiguous
        The features outside the lattice, one a row.
    column_of_node : int64 (n + e,)
    row_of_example : int64 (m,)
        −1 for examples without weight.
    y, c, offset : float64 (r,)
        Labels, C times the sum of the sample weights of the merged rows, and offsets.
    part : float64 (m,)
        The share of each example in the weight of its row.
    loss : str
    group : int64 (r,), optional
        Of the intercepts.
    signs : int64 (k + e,), optional
        Of the weights of the columns.
    node_signs : int64 (n + e,), optional
    """

    bits: npt.NDArray[np.uint8]
    others: FloatArray
    column_of_node: IntArray
    row_of_example: IntArray
    y: FloatArray
    c: FloatArray
    offset: FloatArray
    part: FloatArray
    loss: str
    group: IntArray | None = None
    signs: IntArray | None = None
    node_signs: IntArray | None = None

    def spread(self, beta: FloatArray) -> FloatArray:
        """Dual variables of the examples from those of the merged rows."""
        return np.where(self.row_of_example >= 0, beta[self.row_of_example] * self.part, 0.0)


def read_problem(
    columns: Any,
    n: int,
    others: Any,
    y: Any,
    sample_weight: Any,
    C: float,
    loss: str,
    offset: Any = None,
    group: Any = None,
    signs: Any = None,
) -> Problem:
    """Check the data, and merge equal rows and equal columns.

    Raises
    ------
    DataError
        If the shapes do not fit, columns are not 0/1, labels are not −1 and 1 (both, in every
        group), numbers are not finite, groups or signs are none, or sample weights are negative or
        all zero.
    """
    table = _read_columns(columns, n)
    m = len(table)
    numbers = _read_others(others, m)
    labels = read_vector(y, m, "y")
    offsets = np.zeros(m) if offset is None else read_vector(offset, m, "offset") + 0.0
    wrong = np.flatnonzero(np.abs(labels) != 1)
    if loss != "squared" and len(wrong):
        raise DataError(
            f"y[{wrong[0]}] = {labels[wrong[0]]:g}; expected −1 and 1 for loss={loss!r}. Use "
            "np.where(y == a_class, 1, -1), or loss='squared' for regression."
        )
    weights = np.ones(m)
    if sample_weight is not None:
        weights = read_vector(sample_weight, m, "sample_weight", low=0)
    if not weights.any():
        raise DataError("all sample weights are zero; expected some positive weight.")
    used = np.flatnonzero(weights > 0)
    labels_used = labels[used]
    if loss != "squared" and len(np.unique(labels_used)) < 2:
        side = "" if sample_weight is None else " among the examples of positive weight"
        raise DataError(
            f"y holds one class only, {labels_used[0]:g}{side}; expected −1 and 1. Pass rows of "
            "both."
        )
    groups = None if group is None else _read_groups(group, m)[used]
    if groups is not None:
        _check_groups(groups, labels_used, loss)
    node_signs = None if signs is None else _read_signs(signs, n + numbers.shape[1])
    exact = np.column_stack([labels_used, offsets[used], numbers[used]])
    if groups is not None:
        exact = np.column_stack([exact, groups])
    exact = np.ascontiguousarray(exact).view(np.uint8)
    keys = np.concatenate([np.packbits(table[used], axis=1), exact], axis=1)
    rows, row_of_used = _different(keys)
    share = weights[used]
    total = np.bincount(row_of_used, share)
    kept = np.ascontiguousarray(table[used[rows]].T)
    packed = np.packbits(kept, axis=1)
    if node_signs is not None:
        packed = np.column_stack([packed, (node_signs[:n] + 1).astype(np.uint8)])
    kinds, column_of_node = _different(packed)
    row_of_example = np.full(m, -1, dtype=np.int64)
    row_of_example[used] = row_of_used
    part = np.zeros(m)
    part[used] = share / total[row_of_used]
    return Problem(
        np.ascontiguousarray(kept[kinds]),
        np.ascontiguousarray(numbers[used[rows]].T),
        np.append(column_of_node, len(kinds) + np.arange(numbers.shape[1])),
        row_of_example,
        labels_used[rows],
        np.asarray(C * total, dtype=np.float64),
        offsets[used[rows]],
        part,
        loss,
        None if groups is None else groups[rows],
        None if node_signs is None else np.append(node_signs[:n][kinds], node_signs[n:]),
        node_signs,
    )


def _different(keys: npt.NDArray[np.uint8]) -> tuple[IntArray, IntArray]:
    """The first of each kind of row, in order, and the kind of each row."""
    first, kind = different_rows(np.ascontiguousarray(keys))
    order = np.argsort(first)
    return first[order].astype(np.int64), np.argsort(order)[kind]


def _read_columns(columns: Any, n: int) -> npt.NDArray[np.uint8]:
    table = read_array(columns, "columns", "a table of 0 and 1")
    if table.ndim != 2 or table.shape[1] != n:
        raise DataError(
            f"columns has shape {table.shape} for {n} nodes; expected (examples, {n}): one column "
            "for each node."
        )
    if table.shape[0] == 0:
        raise DataError("columns has no rows; expected at least one example of each class.")
    if table.dtype.kind not in "biuf":
        raise DataError(f"columns is of type {table.dtype}; expected 0 and 1.")
    if table.dtype.kind != "b":
        wrong = np.argwhere((table != 0) & (table != 1))
        if len(wrong):
            i, k = wrong[0].tolist()
            raise DataError(
                f"columns[{i}, {k}] = {table[i, k]}; expected 0 and 1: whether the conjunction "
                "covers the example."
            )
    return np.asarray(table, dtype=np.uint8)


def _read_others(others: Any, m: int) -> FloatArray:
    if others is None:
        return np.zeros((m, 0))
    numbers = read_array(others, "others", "a table of numbers")
    if numbers.ndim != 2 or len(numbers) != m or numbers.dtype.kind not in "biuf":
        raise DataError(
            f"others has shape {numbers.shape} and type {numbers.dtype}; expected numbers of shape "
            f"({m}, any): a row for each example."
        )
    if not np.isfinite(numbers).all():
        raise DataError("others holds a number that is not finite; expected finite numbers.")
    return np.asarray(numbers, dtype=np.float64) + 0.0  # no negative zeros


def _read_groups(group: Any, m: int) -> IntArray:
    numbers = read_vector(group, m, "group", low=0)
    wrong = np.flatnonzero(numbers != np.floor(numbers))
    if len(wrong):
        raise DataError(f"group[{wrong[0]}] = {numbers[wrong[0]]:g}; expected 0, 1, 2, ….")
    return numbers.astype(np.int64)


def _check_groups(groups: IntArray, labels: FloatArray, loss: str) -> None:
    """Whether every group has an intercept that is best."""
    number = int(groups.max()) + 1
    for sign in (0.0,) if loss == "squared" else (-1.0, 1.0):
        some = groups if sign == 0 else groups[labels == sign]
        lacking = np.flatnonzero(np.bincount(some, minlength=number) == 0)
        if len(lacking):
            what = "example" if sign == 0 else f"example of y = {sign:g}"
            raise DataError(
                f"group {lacking[0]} has no {what}, so it has no intercept. Number the groups "
                "from 0, and pass rows of both classes for each."
            )


def _read_signs(signs: Any, n: int) -> IntArray:
    numbers = read_vector(signs, n, "signs")
    wrong = np.flatnonzero(~np.isin(numbers, (-1, 0, 1)))
    if len(wrong):
        raise DataError(
            f"signs[{wrong[0]}] = {numbers[wrong[0]]:g}; expected 1 for a weight of at least 0, −1 "
            "for one of at most 0, 0 for any."
        )
    return numbers.astype(np.int64)


def read_start(start: Any, n: int, groups: int | None = None) -> tuple[FloatArray, Intercept]:
    """Check a starting point: weights (n,), and an intercept, or one for each group.

    Raises
    ------
    DataError
    """
    try:
        weights, intercept = start
        b: Intercept = float(intercept) if groups is None else np.array(intercept, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(
            "start cannot be read; expected (weights, intercept) or a HierarchicalSolution."
        ) from None
    f = read_vector(weights, n, "the weights of start")
    if np.shape(b) not in ((), (groups,)) or not np.all(np.abs(b) <= LARGEST):
        raise DataError(f"the intercept of start is {b}; expected a finite number.")
    return f, b
