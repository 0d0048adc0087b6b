"""Exact order statistics of columns that lie in pieces, in passes that count digits.

A number, date or time is read as 64 bits that are ordered as it is.  A pass counts, for every value
of the bits that are known, the next 16; counts of pieces add up; so four passes give the value of
every rank that is asked for, whatever the pieces are.  One more pass finds its neighbours.

A column is then given to plans by these values alone: the ones next to the cuts, the least and the
largest, with repeats whose running totals are those of the whole column.  A cut between two values
of the column is so the same as if all values were listed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.encoding.columns import Column
from formulakern.encoding.cut_points import counted
from formulakern.encoding.summaries.counts import ColumnCounts
from formulakern.encoding.summaries.summary import nearest_rank
from formulakern.encoding.table import Table
from formulakern.encoding.temporal_columns import counts_of, is_temporal
from formulakern.partitions.pieces import Pieces

__all__ = ["completed", "from_keys", "ordered_keys", "rank_of_share"]

Keys = NDArray[np.uint64]

#: Bits that a pass tells, and the digits of those.
BITS = 16
DIGITS = 1 << BITS
TOP = np.uint64(1 << 63)
#: The least and the largest key; where they are values, they are ends of the column.
LEAST, LARGEST = np.uint64(0), np.uint64(2**64 - 1)


@dataclass(frozen=True, eq=False)
class Wanted:
    """What a pass asks of a column.

    Attributes
    ----------
    name : str
    dtype : dtype
        Of the whole column, in normal form.
    shift : int
        Bits below the digit that is asked for.
    prefixes : uint64 (k,)
        Ascending: the bits above the digit; for the neighbours of values, these.
    levels : float64 (l,)
        Ascending: the greatest value up to each of these, and the next one, are asked for.
    """

    name: str
    dtype: np.dtype[Any]
    shift: int
    prefixes: Keys
    levels: NDArray[np.float64]


def ordered_keys(column: Column) -> Keys:
    """Numbers, dates or times as 64 bits that are ordered as they are.

    >>> keys = ordered_keys(np.array([-np.inf, -1.5, 0.0, 2.0]))
    >>> bool((np.diff(keys.astype(object)) > 0).all())
    True
    """
    if column.dtype.kind == "f":
        bits = (column + 0.0).view(np.uint64)  # no negative zeros
        return np.asarray(np.where(bits & TOP, ~bits, bits | TOP))
    if column.dtype.kind == "u":
        return column.astype(np.uint64)
    return np.asarray(column.astype(np.int64).view(np.uint64) ^ TOP)


def from_keys(keys: Keys, dtype: np.dtype[Any]) -> Column:
    """What :func:`ordered_keys` read.

    >>> column = np.array([-2.5, 0.0, 7.0])
    >>> from_keys(ordered_keys(column), column.dtype).tolist()
    [-2.5, 0.0, 7.0]
    """
    if dtype.kind == "f":
        return np.where(keys & TOP, keys & ~TOP, ~keys).view(np.float64)
    if dtype.kind == "u":
        return keys
    return (
        (keys ^ TOP).view(np.int64).view(dtype)
        if dtype.kind in "mM"
        else ((keys ^ TOP).view(np.int64).astype(dtype))
    )


def rank_of_share(share: float, n: int) -> int:
    """The least number r of n values with r / n ≥ ``share`` in floating point.

    >>> rank_of_share(0.5, 4), rank_of_share(0.51, 4), rank_of_share(0.1, 30)
    (2, 3, 3)
    """
    rank = min(n, max(1, math.ceil(share * n)))
    while rank > 1 and (rank - 1) / n >= share:
        rank -= 1
    while rank < n and rank / n < share:
        rank += 1
    return rank


def completed(
    columns: Sequence[ColumnCounts],
    read: Callable[[list[str]], Pieces],
    shares: Sequence[float],
    always: Sequence[float] = (),
    uniform: int | None = None,
) -> list[ColumnCounts]:
    """Counts of columns of which not all values are listed, with those that cuts ask for.

    Parameters
    ----------
    columns : sequence of ColumnCounts
    read : callable
        Pieces whose values are tables with the columns of these names, each time read anew.
    shares : sequence of float
        The values up to which these shares of the finite ones lie come in, with their neighbours.
    always : sequence of float
        Also these quantiles, as ``np.quantile(method="nearest")`` has them.
    uniform : int, optional
        Also the values about so many levels at equal distances.

    Returns
    -------
    list of ColumnCounts
        Without others.

    Notes
    -----
    Five passes over the columns, which are read together.
    """
    if not columns:
        return []
    pieces = read([one.name for one in columns])
    sought = [_Sought(one, shares, always, uniform) for one in columns]
    for shift in range(64 - BITS, -1, -BITS):
        wanted = [one.wanted(shift) for one in sought]
        for one, part in zip(sought, pieces.combined(_digits_of_all, _added, wanted), strict=True):
            one.narrow(*part)
    nearest = pieces.combined(_neighbours_of_all, _nearest, [one.wanted(0) for one in sought])
    return [one.found(*part) for one, part in zip(sought, nearest, strict=True)]


class _Sought:
    """The values of some ranks of one column, as far as their bits are known."""

    def __init__(
        self,
        counts: ColumnCounts,
        shares: Sequence[float],
        always: Sequence[float],
        uniform: int | None,
    ) -> None:
        self.counts, self.dtype = counts, counts.column.dtype
        finite = counts.finite
        order = np.argsort(counts.column[finite], kind="stable")
        self.ends, self.times = counts.column[finite][order], counts.repeats[finite][order]
        self.n = n = int(self.times.sum()) + counts.others
        ranks = {*(rank_of_share(f, n) for f in shares), *(nearest_rank(f, n) for f in always)}
        self.left = np.array(sorted(ranks), dtype=np.int64)
        self.prefix = np.zeros(len(ranks), np.uint64)
        self.before, self.equal = (np.zeros(len(ranks), np.int64) for _ in range(2))
        self.levels = np.zeros(0)
        if uniform is not None:
            numbers = counts_of(self.ends) if is_temporal(self.ends) else self.ends
            parts = np.arange(1, uniform + 1) / (uniform + 1)
            self.levels = float(numbers[0]) * (1 - parts) + float(numbers[-1]) * parts

    def wanted(self, shift: int) -> Wanted:
        """What the next pass asks."""
        return Wanted(self.counts.name, self.dtype, shift, np.unique(self.prefix), self.levels)

    def narrow(self, codes: NDArray[np.int64], times: NDArray[np.int64]) -> None:
        """The next digits, from how often each follows the bits that are known."""
        prefixes = np.unique(self.prefix)
        for j in range(len(self.left)):
            own = int(np.searchsorted(prefixes, self.prefix[j])) * DIGITS
            first, last = np.searchsorted(codes, (own, own + DIGITS))
            totals = np.cumsum(times[first:last])
            place = int(np.searchsorted(totals, self.left[j]))
            self.equal[j] = times[first + place]
            less = int(totals[place] - self.equal[j])
            self.before[j] += less
            self.left[j] -= less
            self.prefix[j] = (int(self.prefix[j]) << BITS) | (int(codes[first + place]) - own)

    def found(self, below: Keys, above: Keys) -> ColumnCounts:
        """The values and their neighbours, with repeats whose running totals are right."""
        keys, n = np.unique(self.prefix), self.n
        at = np.searchsorted(self.prefix, keys)
        before, equal = self.before[at], self.equal[at]
        known: dict[int, int] = {}  # how many are at most each value, at least

        def learn(some: Keys, totals: Sequence[int]) -> None:
            for key, total in zip(some.tolist(), totals, strict=True):
                known[key] = max(known.get(key, 0), total)

        half = len(self.ends) // 2
        learn(ordered_keys(self.ends[:half]), np.cumsum(self.times[:half]).tolist())
        later = np.cumsum(self.times[half:][::-1])[::-1] - self.times[half:]
        learn(ordered_keys(self.ends[half:]), (n - later).tolist())
        less, more = before > 0, before + equal < n
        learn(keys, (before + equal).tolist())
        learn(below[: len(keys)][less], before[less].tolist())
        learn(above[: len(keys)][more], (before + equal + 1)[more].tolist())
        for side in (below[len(keys) :], above[len(keys) :]):
            there = side[(side != LEAST) & (side != LARGEST)]
            learn(there, [0] * len(there))
        listed = np.array(sorted(known), dtype=np.uint64)
        totals = np.maximum.accumulate(np.array([known[key] for key in sorted(known)], np.int64))
        column, repeats = from_keys(listed, self.dtype), np.diff(totals, prepend=0)
        rest = ~self.counts.finite
        column = np.concatenate([column, self.counts.column[rest]])
        repeats = np.concatenate([repeats, self.counts.repeats[rest]])
        return replace(self.counts, column=column, repeats=repeats, others=0)


def _digits_of_all(
    table: Table, wanted: Sequence[Wanted]
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    return [_digits(table, one) for one in wanted]


def _added(
    answers: Sequence[list[tuple[NDArray[np.int64], NDArray[np.int64]]]],
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Counts of digits of several parts, added up."""
    together = []
    for parts in zip(*answers, strict=True):
        codes, times = map(np.concatenate, zip(*parts, strict=True))
        together.append(counted(codes, times))
    return together


def _nearest(answers: Sequence[list[tuple[Keys, Keys]]]) -> list[tuple[Keys, Keys]]:
    """Neighbours in several parts: the nearest of them."""
    return [
        (np.max([part[0] for part in parts], axis=0), np.min([part[1] for part in parts], axis=0))
        for parts in zip(*answers, strict=True)
    ]


def _neighbours_of_all(table: Table, wanted: Sequence[Wanted]) -> list[tuple[Keys, Keys]]:
    return [_neighbours(table, one) for one in wanted]


def _finite_keys(table: Table, wanted: Wanted) -> tuple[Column, Keys]:
    """The finite values of a part of a column, ascending, and their keys."""
    column = table.column(wanted.name).astype(wanted.dtype)
    if column.dtype.kind == "f":
        column = column[np.isfinite(column)]
    elif is_temporal(column):
        column = column[~np.isnat(column)]
    column = np.unique(column)
    return column, ordered_keys(column)


def _digits(table: Table, wanted: Wanted) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How often each digit follows each of the prefixes, as codes place · 2¹⁶ + digit."""
    column = table.column(wanted.name).astype(wanted.dtype)
    if column.dtype.kind == "f":
        column = column[np.isfinite(column)]
    elif is_temporal(column):
        column = column[~np.isnat(column)]
    keys = ordered_keys(column)
    digits = ((keys >> np.uint64(wanted.shift)) & np.uint64(DIGITS - 1)).astype(np.int64)
    above = wanted.shift + BITS
    if above < 64:
        prefix = keys >> np.uint64(above)
        place = np.searchsorted(wanted.prefixes, prefix)
        place[place == len(wanted.prefixes)] = 0
        kept = wanted.prefixes[place] == prefix
        digits = place[kept] * DIGITS + digits[kept]
    codes, times = np.unique(digits, return_counts=True)
    return codes.astype(np.int64), times.astype(np.int64)


def _neighbours(table: Table, wanted: Wanted) -> tuple[Keys, Keys]:
    """The largest keys below and the least above some keys; for levels, those about them."""
    column, keys = _finite_keys(table, wanted)
    numbers = counts_of(column) if is_temporal(column) else column
    padded = np.concatenate([[LEAST], keys, [LARGEST]])
    at_least = np.searchsorted(keys, wanted.prefixes)
    beyond = np.searchsorted(keys, wanted.prefixes, side="right")
    upto = np.searchsorted(numbers, wanted.levels, side="right")
    below = np.concatenate([padded[at_least], padded[upto]])
    above = np.concatenate([padded[beyond + 1], padded[upto + 1]])
    return below, above
