"""Features on the rows of a packed table: a sparse matrix, or sums over the rows."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array

from formulakern.arrays import FloatArray, IntArray
from formulakern.encoding.bits import n_words
from formulakern.encoding.packed import PackedTable
from formulakern.learning.formula_features.listing import FeatureList, Function
from formulakern.mining.templates.expansion import BitProgram, bit_program
from formulakern.syntax.formula import Variable

__all__ = ["FeatureColumns", "count_ones", "rows_of_bits"]

#: From so many words of all features on, threads share the rows.
THREADED_WORDS = 1 << 16


@dataclass(frozen=True, eq=False)
class FeatureColumns:
    """The columns that features are.

    Parameters
    ----------
    features : FeatureList
    """

    features: FeatureList

    def sums(self, table: PackedTable, measure: FloatArray) -> FloatArray:
        """Σ_x μ(x) over the rows in which a feature is true.

        Parameters
        ----------
        table : PackedTable of m rows
        measure : ndarray of shape (m,), float64

        Returns
        -------
        ndarray of shape (F,), float64

        Notes
        -----
        O(F·m/64) words, and O(1) for each row in which a feature is true.
        """
        from formulakern.learning.formula_features import loops

        whole = np.zeros(64 * n_words(table.n_rows))
        whole[: table.n_rows] = measure
        sums = np.zeros(len(self.features))

        def work(start: int, stop: int) -> None:
            part = FeatureColumns(self.features.take(np.arange(start, stop)))
            loops.sum_true(part._program(table), whole, sums[start:stop])

        _in_threads(work, _shares(len(sums), len(sums) * n_words(table.n_rows)))
        return sums

    def counts(self, table: PackedTable) -> IntArray:
        """The number of features that are true in every row, int64 of shape (m,)."""
        words = n_words(table.n_rows)
        bounds = _shares(words, words * len(self.features))
        return _counts(self._program(table), bounds)[: table.n_rows]

    def matrix(
        self, table: PackedTable, factors: FloatArray, dtype: DTypeLike = np.float64
    ) -> csr_array:
        """√weight·s(x)·φ(x) for every row and feature.

        Parameters
        ----------
        table : PackedTable of m rows
        factors : ndarray of shape (groups, m), float64
            s of the rows, for the features of each group.
        dtype : float64 or float32

        Returns
        -------
        csr_array of shape (m, F)

        Notes
        -----
        Two passes of O(F·m/64) word operations, the second of which writes what is not 0.  Beside
        the result no memory grows with the rows but the packed table itself.
        """
        from formulakern.learning.formula_features import loops

        m, n_features = table.n_rows, len(self.features)
        program, words = self._program(table), n_words(m)
        bounds = _shares(words, words * n_features)
        indptr = np.zeros(m + 1, dtype=np.int64)
        np.cumsum(_counts(program, bounds)[:m], out=indptr[1:])
        data = np.empty(indptr[-1], dtype=dtype)
        indices = np.empty(indptr[-1], dtype=np.int32)
        values, group = np.sqrt(self.features.weights), _writeable(self.features.group)
        rest = (indptr, values, group, _writeable(factors))
        _in_threads(lambda a, b: loops.fill_rows(data, indices, program, a, b, *rest), bounds)
        kind = np.int32 if indptr[-1] < 2**31 else np.int64
        indices, indptr = indices.astype(kind, copy=False), indptr.astype(kind, copy=False)
        return csr_array((data, indices, indptr), shape=(m, n_features))

    def _program(self, table: PackedTable) -> Any:
        from formulakern.learning.formula_features import loops

        listed = self.features
        columns = listed.columns
        used, plane = np.unique(columns[columns >= 0], return_inverse=True)
        planes = np.zeros_like(columns)  # which plane holds an argument of a feature
        planes[columns >= 0] = plane.reshape(-1)
        programs = [bit_program(f.formula, f.arguments) for f in listed.functions]
        first = len(used) + 1 + max((len(program.steps) for program in programs), default=0)
        parts, owners = [np.zeros((0, 4), dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for k, (function, program) in enumerate(zip(listed.functions, programs, strict=True)):
            chosen = np.flatnonzero(listed.function == k)
            to = first + chosen % loops.CHUNK
            arity = len(function.arguments)
            steps = _plane_steps(program, planes[chosen, :arity], len(used), to)
            parts.append(steps.reshape(-1, 4))
            owners.append(np.repeat(chosen, steps.shape[1]))
        owner = np.concatenate(owners)
        order = np.argsort(owner, kind="stable")
        chunks = np.arange(0, len(listed) + loops.CHUNK, loops.CHUNK)
        starts = np.searchsorted(owner[order], chunks).astype(np.int64)
        steps = np.ascontiguousarray(np.vstack(parts)[order])
        held = used.astype(np.int64)
        if table.sparse is not None:  # of many columns only those that are read are packed
            table, held = table.select(used), np.arange(len(used))
        words = _writeable(table.columns)
        return loops.FeatureProgram(words, held, steps, starts, first, len(listed))


def count_ones(table: PackedTable, columns: Sequence[int]) -> IntArray:
    """The number of ones in some columns of every row.

    Parameters
    ----------
    table : PackedTable of m rows
    columns : sequence of int

    Returns
    -------
    ndarray of shape (m,), int64
    """
    if table.sparse is not None:
        return table.select(columns).counts
    places, none = np.array(columns, dtype=np.int64), np.zeros(len(columns), dtype=np.int64)
    itself = Variable("s0")
    identity = Function(itself, (itself,), b"\0\1")
    listed = FeatureList((identity,), none, places[:, None], none.astype(np.float64), none)
    return FeatureColumns(listed).counts(table)


def rows_of_bits(table: PackedTable, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Some rows of a table, read from its packed columns: bool of shape (rows, n)."""
    if table.sparse is not None:
        return np.asarray(table.sparse[rows].toarray() != 0)
    words = table.columns[:, rows >> 6] >> (rows & 63).astype(np.uint64)
    return np.asarray(words.T & np.uint64(1) != 0)


def _counts(program: Any, bounds: list[int]) -> IntArray:
    """How many features are true in every row, and 0 behind the last."""
    from formulakern.learning.formula_features import loops

    counts = np.zeros(64 * program.words.shape[1], dtype=np.int64)
    _in_threads(lambda a, b: loops.count_true(program, a, b, counts), bounds)
    return counts


def _plane_steps(
    program: BitProgram, arguments: IntArray, ones: int, to: NDArray[np.intp]
) -> IntArray:
    """The steps of features of one function, of shape (features, steps, 4).

    Parameters
    ----------
    program : BitProgram
    arguments : ndarray of shape (features, arity), int64
        The planes of the arguments.
    ones : int
        The plane of ones; intermediate results stand behind it.
    to : ndarray of shape (features,)
        The planes of the features.
    """
    number, arity = arguments.shape

    def plane(reference: int) -> NDArray[Any]:
        register, negated = reference >> 1, reference & 1
        if register < arity:
            return 2 * arguments[:, register] + negated
        return np.full(number, 2 * (ones + register - arity) + negated)

    last = arity + len(program.steps)
    made = [(kind, plane(a), plane(b)) for kind, a, b in program.steps.tolist()]
    if made and program.output >> 1 == last:
        kind, left, right = made[-1]
        negated = program.output & 1
        made[-1] = (kind, left ^ negated, right) if kind else (2 * negated, left, right)
    else:
        made.append((0, plane(program.output), np.full(number, 2 * ones)))
    steps = np.empty((number, len(made), 4), dtype=np.int64)
    for i, (kind, left, right) in enumerate(made):
        target = to if i == len(made) - 1 else np.full(number, ones + 1 + i)
        for column, value in enumerate((kind, left, right, target)):
            steps[:, i, column] = value
    return steps


def _writeable(array: NDArray[Any]) -> NDArray[Any]:
    """The array, in C order: a copy where it lies in a file, for the signatures of the loops."""
    return np.require(array, requirements=["C", "W"])


def _shares(number: int, work: int) -> list[int]:
    """Bounds of parts that threads do, one after the other where there is little to do."""
    threads = os.cpu_count() or 1
    parts = 4 * threads if work >= THREADED_WORDS and threads > 1 else 1
    return sorted({number * part // parts for part in range(parts + 1)})


def _in_threads(work: Callable[[int, int], Any], bounds: list[int]) -> None:
    if len(bounds) <= 2:
        for start, stop in itertools.pairwise(bounds):
            work(start, stop)
        return
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(work, bounds[:-1], bounds[1:]))
