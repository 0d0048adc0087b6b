"""Features on the rows of a packed table: a sparse matrix, or sums over the rows."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array

from formulakern.arrays import FloatArray
from formulakern.encoding.bits import n_words
from formulakern.encoding.packed import PackedTable
from formulakern.learning.formula_features.listing import FeatureList
from formulakern.mining.templates.expansion import BitProgram, bit_program

__all__ = ["FeatureColumns"]

#: Words of features that are evaluated before they are read off; they stay in a cache.
BLOCK_WORDS = 1 << 17
#: Words of one column that are evaluated together, at least and at most.
WIDTHS = (8, 512)
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
    _compiled: list[BitProgram] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        made = [bit_program(f.formula, f.arguments) for f in self.features.functions]
        object.__setattr__(self, "_compiled", made)

    @cached_property
    def _steps(self) -> tuple[NDArray[np.int64], ...]:
        """Steps of all functions, where each begins, its output, and its arguments."""
        steps = [program.steps for program in self._compiled]
        starts = np.concatenate([[0], np.cumsum([len(s) for s in steps])]).astype(np.int64)
        together = np.vstack([*steps, np.zeros((0, 3), np.int64)]).astype(np.int64)
        output = np.array([program.output for program in self._compiled], dtype=np.int64)
        arity = np.array([len(f.arguments) for f in self.features.functions], dtype=np.int64)
        return together, starts, output, arity

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
        bounds = _shares(len(sums), table.columns.size)

        def work(start: int, stop: int) -> None:
            part = FeatureColumns(self.features.take(np.arange(start, stop)))
            loops.sum_true(part._programs(table), whole, sums[start:stop])

        _in_threads(work, bounds)
        return sums

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
        programs, words = self._programs(table), n_words(m)
        width = int(np.clip(BLOCK_WORDS // max(n_features, 1), *WIDTHS))
        bounds = _shares(words, words * n_features)
        counts = np.zeros(64 * words, dtype=np.int64)
        _in_threads(lambda a, b: loops.count_true(programs, a, b, counts, width), bounds)
        indptr = np.zeros(m + 1, dtype=np.int64)
        np.cumsum(counts[:m], out=indptr[1:])
        data = np.empty(indptr[-1], dtype=dtype)
        indices = np.empty(indptr[-1], dtype=np.int32)
        values, group = np.sqrt(self.features.weights), _writeable(self.features.group)
        rest = (indptr, values, group, _writeable(factors), width)
        _in_threads(
            lambda a, b: loops.fill_rows(data, indices, programs, a, b, *rest),
            bounds,
        )
        kind = np.int32 if indptr[-1] < 2**31 else np.int64
        indices, indptr = indices.astype(kind, copy=False), indptr.astype(kind, copy=False)
        return csr_array((data, indices, indptr), shape=(m, n_features))

    def _programs(self, table: PackedTable) -> Any:
        from formulakern.learning.formula_features import loops

        arrays = (table.columns, self.features.columns, self.features.function, *self._steps)
        return loops.Programs(*map(_writeable, arrays))


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
