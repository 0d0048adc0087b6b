"""Substitutions as Boolean functions of columns: each different function is one feature.

Substitutions that give the same function of the same columns are always true together, so that w of
them are one coordinate √w: under "bound" ``a & b`` with columns (i, j) and (j, i) is one column √2.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, IntArray, different_rows
from formulakern.errors import ParameterError
from formulakern.learning.feature_spaces import Space
from formulakern.mining.templates.expansion import Expansion, Order, truth_table
from formulakern.mining.templates.search import function_of
from formulakern.rewrite.pipeline import rewrite, without_repeats
from formulakern.syntax.connectives import AND, OR
from formulakern.syntax.formula import FALSE, TRUE, Formula, Operation, Variable, substitute

__all__ = [
    "MAX_LISTED",
    "FeatureList",
    "Function",
    "features_of",
    "list_features",
    "merged",
    "n_instances",
]

#: So many substitutions of a formula are listed; of more, a sample is drawn.
MAX_LISTED = 1 << 22
#: Instances that are extended together.
CHUNK = 1 << 20


@dataclass(frozen=True)
class Function:
    """A Boolean function of its arguments, written as a formula over s0, s1, …

    Parameters
    ----------
    formula : Formula
    arguments : tuple of Variable
    table : bytes
        Its values for all truth values of the arguments; functions with one table are equal.
    """

    formula: Formula
    arguments: tuple[Variable, ...]
    table: bytes


@dataclass(frozen=True, eq=False)
class FeatureList:
    """Features, one column each: a function of columns of a table, times the root of a weight.

    Parameters
    ----------
    functions : tuple of Function
    function : ndarray of shape (F,), int64
        Which of them a feature is.
    columns : ndarray of shape (F, most arguments), int64
        What it is a function of, ascending; −1 behind the last.
    weights : ndarray of shape (F,), float64
        What a feature adds to the kernel, where it is true in both rows.
    group : ndarray of shape (F,), int64
        Of several spaces, which one it is from; its rows are divided by the same lengths.
    """

    functions: tuple[Function, ...]
    function: IntArray
    columns: IntArray
    weights: FloatArray
    group: IntArray

    def __len__(self) -> int:
        return len(self.function)

    def take(self, chosen: NDArray[np.intp]) -> FeatureList:
        """Some of the features, in this order."""
        parts = {
            name: getattr(self, name)[chosen]
            for name in ("function", "columns", "weights", "group")
        }
        return replace(self, **parts)


def list_features(space: Space) -> FeatureList:
    """Return all features of a space that can be true."""
    expansion = space.expansion
    together = _ascending(space, expansion)
    pairs = [pair for places in together for pair in itertools.pairwise(places)]
    orders = (*expansion.orders, *(Order((i,), (j,), strict=False) for i, j in pairs))
    instances = _instances(space, replace(expansion, orders=orders))
    listed = features_of(expansion, instances, _permutations(instances, together))
    weights = listed.weights
    if space.counts_functions:
        weights = np.ones_like(weights)
    listed, total = replace(listed, weights=weights), int(weights.sum())
    if total != space.size:
        raise ParameterError(
            f"{str(space.formula)!r} counts {space.size:,} substitutions, of which {total:,} can "
            "be told apart: with more than six variables inside a choice, or beside constants in "
            "a product, they are not listed. Use fewer variables, or variables='bound'."
        )
    kept = [k for k, f in enumerate(listed.functions) if f.formula != FALSE]
    chosen = np.flatnonzero(np.isin(listed.function, kept))
    listed = listed.take(chosen)
    return replace(listed, weights=listed.weights * space.weight)


def n_instances(space: Space) -> int:
    """About how many instances are looked at to list the features of a space."""
    orders = (math.factorial(len(places)) for places in _ascending(space, space.expansion))
    return space.size // math.prod(orders)


def _ascending(space: Space, expansion: Expansion) -> list[list[int]]:
    """Slots whose columns need to be listed in one order only, as they are exchangeable."""
    if expansion.orders or expansion.all_different:
        return []
    return [
        places
        for places in _exchangeable(expansion)
        if len({space.columns_of(expansion.slots[place].variable) for place in places}) == 1
    ]


def features_of(
    expansion: Expansion, instances: IntArray, numbers: FloatArray | None = None
) -> FeatureList:
    """Return the different functions among the instances of a template, and how many are each."""
    functions: dict[tuple[int, bytes], int] = {}
    written: list[Function] = []
    found: list[tuple[int, IntArray, FloatArray]] = []
    numbers = np.ones(len(instances)) if numbers is None else numbers
    instances = instances.copy()
    for places in _exchangeable(expansion):
        instances[:, places] = np.sort(instances[:, places], axis=1)
    order = np.sort(instances, axis=1)
    new = np.ones_like(order, dtype=np.bool_)
    new[:, 1:] = order[:, 1:] != order[:, :-1]
    # which of its different columns, in their order, an instance holds in each slot
    rank = np.zeros(instances.shape, dtype=np.uint8)
    for slot in range(instances.shape[1]):
        rank[:, slot] = (new & (order < instances[:, slot, None])).sum(axis=1)
    first, kind = _different(rank.astype(np.int64))
    patterns = rank[first]
    for k in np.argsort(patterns.max(axis=1, initial=0), kind="stable"):
        n_used = len(set(patterns[k].tolist()))
        needed, table = function_of(expansion, patterns[k].tolist(), n_used)
        number = functions.setdefault((len(needed), table), len(written))
        if number == len(written):
            written.append(_written(expansion, patterns[k].tolist(), needed, table))
        chosen = np.flatnonzero(kind == k)
        places = [int(np.flatnonzero(patterns[k] == i)[0]) for i in needed]
        found.append((number, instances[chosen][:, places], numbers[chosen]))
    return _collected(tuple(written), found)


def merged(lists: Sequence[FeatureList]) -> FeatureList:
    """Several lists as one: equal features of one group, where they are, add their weights.

    Ordered by the number of their columns, then by these.
    """
    functions: dict[bytes, Function] = {}
    for listed in lists:
        for function in listed.functions:
            functions.setdefault(function.table, function)
    places = {table: place for place, table in enumerate(functions)}
    wide = max((listed.columns.shape[1] for listed in lists), default=0)
    parts = []
    for listed in lists:
        place = np.array([places[f.table] for f in listed.functions], dtype=np.int64)
        padded = np.full((len(listed), wide), -1, dtype=np.int64)
        padded[:, : listed.columns.shape[1]] = listed.columns
        length = (padded >= 0).sum(axis=1)
        parts.append(np.column_stack([listed.group, length, padded, place[listed.function]]))
    if not parts:
        raise ParameterError("a kernel without terms has no features.")
    keys = np.vstack(parts)
    weights = np.concatenate([listed.weights for listed in lists])
    first, kind = _different(keys)
    keys = keys[first]
    weights = np.bincount(kind, weights, minlength=len(first)).astype(np.float64)
    used, number = np.unique(keys[:, -1], return_inverse=True)
    written = tuple(functions.values())
    return FeatureList(
        tuple(written[k] for k in used.tolist()),
        number.reshape(-1).astype(np.int64),
        np.ascontiguousarray(keys[:, 2:-1]),
        weights,
        np.ascontiguousarray(keys[:, 0]),
    )


def _different(rows: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first of each set of equal rows, in lexicographic order, and the set of every row."""
    if not rows.shape[1] or not len(rows):
        return np.arange(min(1, len(rows))), np.zeros(len(rows), dtype=np.intp)
    least = rows.min(axis=0).astype(np.int64)
    widths = (rows.max(axis=0) - least + 1).tolist()
    if math.prod(widths) >= 2**62:
        return different_rows(np.ascontiguousarray((rows - least).astype(">u8")))
    codes = np.zeros(len(rows), dtype=np.int64)  # a row as one number is compared at once
    for column, (width, smallest) in enumerate(zip(widths, least.tolist(), strict=True)):
        codes *= width
        codes += rows[:, column] - smallest
    _, first, kind = np.unique(codes, return_index=True, return_inverse=True)
    return first, kind.reshape(-1)


def _exchangeable(expansion: Expansion) -> list[list[int]]:
    """Slots that may be put in any order without another function."""
    n = len(expansion.slots)
    table = truth_table(expansion.formula, {leaf: i for i, leaf in enumerate(expansion.leaves)})
    classes: list[list[int]] = []
    for i in range(n):
        for together in classes:
            if np.array_equal(table, table.swapaxes(i, together[0])):
                together.append(i)
                break
        else:
            classes.append([i])
    return [together for together in classes if len(together) > 1]


def _written(
    expansion: Expansion, pattern: Sequence[int], needed: Sequence[int], table: bytes
) -> Function:
    """Return the function of the needed arguments, without the repetitions that are easily seen."""
    arguments = tuple(Variable(f"s{i}") for i in range(len(needed)))
    truths = np.frombuffer(table, dtype=np.bool_)
    if not needed:
        return Function(TRUE if truths[0] else FALSE, (), table)
    said: dict[int, Formula] = dict(zip(needed, arguments, strict=True))
    leaf = {v: said.get(i, TRUE) for v, i in zip(expansion.leaves, pattern, strict=True)}
    formula = substitute(expansion.formula, leaf)
    if formula.n_leaves == len(arguments):
        return Function(formula, arguments, table)
    for value, connective in ((True, AND), (False, OR)):
        (cells,) = np.nonzero(truths == value)
        if len(cells) == 1:  # a conjunction, or a disjunction, of literals
            bits = np.unravel_index(cells[0], (2,) * len(arguments))
            signed = [v if b == value else ~v for v, b in zip(arguments, bits, strict=True)]
            clause = signed[0] if len(signed) == 1 else Operation(connective, signed)
            return Function(clause, arguments, table)
    return Function(without_repeats(rewrite(formula).formula), arguments, table)


def _permutations(instances: IntArray, together: list[list[int]]) -> FloatArray:
    """In how many orders the columns in exchangeable slots, which ascend, can stand there."""
    numbers = np.ones(len(instances))
    for places in together:
        run = np.ones(len(instances))
        for k, (i, j) in enumerate(itertools.pairwise(places)):
            run = np.where(instances[:, i] == instances[:, j], run + 1, 1)
            numbers *= (k + 2) / run
    return np.rint(numbers)


def _collected(
    functions: tuple[Function, ...], found: list[tuple[int, IntArray, FloatArray]]
) -> FeatureList:
    """Features from (function, columns of some instances, how many these are)."""
    wide = max((len(f.arguments) for f in functions), default=0)
    numbers, columns, weights = [], [], []
    for number in range(len(functions)):
        rows = np.concatenate([columns for k, columns, _ in found if k == number])
        many = np.concatenate([times for k, _, times in found if k == number])
        first, kind = _different(rows)
        padded = np.full((len(first), wide), -1, dtype=np.int64)
        padded[:, : rows.shape[1]] = rows[first]
        columns.append(padded)
        numbers.append(np.full(len(first), number, dtype=np.int64))
        weights.append(np.bincount(kind, many, minlength=len(first)).astype(np.float64))
    if not functions:
        return FeatureList((), *_EMPTY)
    together = np.concatenate(numbers)
    none = np.zeros_like(together)
    return FeatureList(functions, together, np.vstack(columns), np.concatenate(weights), none)


_EMPTY = (np.zeros(0, np.int64), np.zeros((0, 0), np.int64), np.zeros(0), np.zeros(0, np.int64))


# -- all instances ---------------------------------------------------------------------------------


def _instances(space: Space, expansion: Expansion) -> IntArray:
    """Every instance of a template, slot by slot: int64 of shape (N, slots)."""
    if expansion.empty:
        return np.zeros((0, len(expansion.slots)), dtype=np.int64)
    found = np.zeros((1, 0), dtype=np.int64)
    for slot, place in enumerate(expansion.slots):
        columns = np.array(space.columns_of(place.variable), dtype=np.int64)
        height = max(1, CHUNK // max(1, len(columns)))
        parts = []
        n_kept = 0
        for start in range(0, len(found), height):
            part = found[start : start + height]
            grown = np.empty((len(part) * len(columns), slot + 1), dtype=np.int64)
            grown[:, :slot] = np.repeat(part, len(columns), axis=0)
            grown[:, slot] = np.tile(columns, len(part))
            parts.append(grown[_allowed(expansion, grown, slot)])
            n_kept += len(parts[-1])
            if n_kept > 4 * MAX_LISTED:
                raise ParameterError(
                    f"listing the substitutions of {str(space.formula)!r} passes "
                    f"{4 * MAX_LISTED:,} partial ones. Use fewer columns."
                )
        found = np.concatenate(parts) if parts else np.zeros((0, slot + 1), np.int64)
    return found


def _allowed(expansion: Expansion, grown: IntArray, slot: int) -> NDArray[np.bool_]:
    """Return which partial instances hold different columns where they must, in the right order."""
    fits = np.ones(len(grown), dtype=np.bool_)
    for together in expansion.all_different:
        if slot in together:
            for other in together:
                if other < slot:
                    fits &= grown[:, other] != grown[:, slot]
    for order in expansion.orders:
        if slot not in order.left + order.right:
            continue
        before = np.zeros(len(grown), dtype=np.bool_)
        equal = np.ones(len(grown), dtype=np.bool_)
        for left, right in zip(order.left, order.right, strict=True):
            if max(left, right) > slot:
                break
            before |= equal & (grown[:, left] < grown[:, right])
            equal &= grown[:, left] == grown[:, right]
        else:
            if order.strict:
                equal[:] = False
        fits &= before | equal
    return fits
