"""The best pair of propositions of ordered columns over rows in partitions.

Every partition adds up the weights of its rows in the two-way tables of all pairs of columns, and
the tables of all partitions add up.  The propositions are those at the ends of the bins that the
partitions share, so the search over the sums is exact: its maximum is the proof.

Weights are whole numbers of one unit, whose sums are exact: they do not depend on the order of the
rows, and conjunctions of equal covers score the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.compilation import compiled
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.mining.conjunctions.partition_sums import RowsInGroups
from formulakern.mining.ordered import (
    MAX_CLOSE_PAIRS,
    Bins,
    Found,
    OrderedSearch,
    Proof,
    added,
    rank,
)
from formulakern.mining.search import unit_exponent
from formulakern.partitions.partitioned import Partitioned

#: Bytes of sums that a partition returns at once, plus those of one pair of columns.
MAX_SUMS = 1 << 26

#: Codes of rows, (columns + 1, m), with zeros in the last column, and weights, (m, K).
CodedRows = tuple[NDArray[np.int16], FloatArray]


def coded_rows(rows: RowsInGroups, exponent: int, vectors: FloatArray) -> CodedRows:
    """Return the codes of rows, and their weights in units of 2^exponent."""
    zeros = np.zeros(len(rows.group))
    codes = np.array([*(one.codes for one in rows.table.columns), zeros], dtype=np.int16)
    exact = np.ldexp(vectors, -exponent)[rows.group] * rows.share[:, None]
    return codes, np.rint(exact)


@compiled("void(int16[:, ::1], int64[::1], int64[:, ::1], float64[:, ::1], float64[:, ::1])")
def add_pairs(bins: Any, n_bins: Any, pairs: Any, weights: Any, sums: Any) -> None:
    """Add up the weights of rows for all pairs of columns in turn, in the rows of ``sums``."""
    begin = 0
    for c in range(pairs.shape[0]):
        j, h = pairs[c, 0], pairs[c, 1]
        end = begin + n_bins[j] * n_bins[h]
        own = sums[begin:end].reshape((n_bins[j], n_bins[h], sums.shape[1]))
        added(bins[j], bins[h], n_bins[j], n_bins[h], weights, own)
        begin = end


def pair_sums(rows: CodedRows, n_values: NDArray[np.int64], pairs: NDArray[np.int64]) -> FloatArray:
    """Return the sums of weights for each pair of values of pairs of columns."""
    codes, weights = rows
    sums = np.zeros((int(n_values[pairs].prod(axis=1).sum()), weights.shape[1]))
    add_pairs(codes, n_values, pairs, weights, sums)
    return sums


@dataclass(eq=False)
class SummedSearch(OrderedSearch):
    """The search over conjunctions of at most two propositions of rows in partitions.

    Parameters
    ----------
    table : GroupTable
    divisors, sides, spread
        The parameters of :class:`OrderedSearch`, for conjunctions of at most two propositions.
    grouped : callable
        Takes the weights of all groups, and returns the partitions of RowsInGroups and the weights
        of the groups of each partition.
    """

    grouped: Callable[[FloatArray], tuple[Partitioned, list[FloatArray]]] = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        # one row for each value of each column, missing in the other columns, and one for the rest
        ends = np.cumsum(self.n_values)
        self.codes = np.repeat(self.n_values[:, None], ends[-1] + 1, axis=1).astype(np.int32)
        for own, n, end in zip(self.codes, self.n_values.tolist(), ends.tolist(), strict=True):
            own[end - n : end] = np.arange(n)
        self.bins = Bins(self, [np.arange(n - 1, dtype=np.int32) for n in self.n_values])

    def best(
        self,
        weights: FloatArray,  # noqa: ARG002
        least: float = 0.0,  # noqa: ARG002
        *,
        every: bool = True,  # noqa: ARG002
    ) -> list[Found]:
        """Return no conjunctions: :meth:`prove` finds all of them."""
        return []

    def prove(
        self,
        weights: FloatArray,
        threshold: float,
        deadline: Deadline = UNLIMITED,
        enough: int = 1,  # noqa: ARG002
    ) -> Proof:
        """Find the best conjunctions; the bound is the best score.

        If there are more than ``MAX_CLOSE_PAIRS`` pairs of columns, those that were best before are
        searched first.  If one of them scores more than the threshold, the bound is infinite.
        Raises TimeIsOver after the deadline.
        """
        n, n_values = len(self.ordered), np.append(self.n_values, 1)
        exponent = unit_exponent(float(np.abs(weights).sum(axis=0).max()))
        parts, vectors = self.grouped(weights)
        rows = parts.persist(coded_rows, exponent, each=vectors)

        def sums(pairs: NDArray[np.int64]) -> Any:
            return np.ldexp(rows.sum(pair_sums, n_values, pairs, deadline=deadline), exponent)

        columns = sums(np.stack([np.arange(n), np.full(n, n)], axis=1))
        columns = np.vstack([columns, weights.sum(axis=0) - columns.sum(axis=0)])
        singles = self.singles(columns)
        bound = max((one.score for one in singles), default=0.0)
        found = {one for one in singles if one.score > threshold}
        tried = [self.close, self.pairs] if len(self.close) else [self.pairs]
        for pairs in tried if len(self.divisors) > 2 else ():
            best, divisor = [], float(self.divisors[2])
            for some in self._portions(pairs, 8 * weights.shape[1]):
                prefix = self.everything(len(columns))
                scan = self.scan(prefix, columns, self.bins, some, given=sums(some))
                found |= {*self.listed((), scan, threshold)}
                best.append(scan.scores.max(axis=1))
            if pairs is self.close and found:
                return Proof(math.inf, sorted(found, key=rank))
            scores = np.concatenate(best)
            bound = max(bound, float(scores.max(initial=0.0)) / divisor)
            if len(pairs) > MAX_CLOSE_PAIRS:
                self.close = pairs[np.sort(np.argsort(-scores, kind="stable")[:MAX_CLOSE_PAIRS])]
        return Proof(bound, sorted(found, key=rank))

    def divide_at(self, nodes: Any) -> None:
        """Do nothing: every gap ends a bin."""

    def _portions(self, pairs: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
        """Divide pairs of columns into parts whose sums take about ``MAX_SUMS`` bytes."""
        ends = np.cumsum(size * self.n_values[pairs].prod(axis=1)) // MAX_SUMS
        return np.split(pairs, np.flatnonzero(np.diff(ends)) + 1)
