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
    counts: ColumnCounts,
    read: Callable[[list[str]], Pieces],
    shares: Sequence[float],
    ranks: Sequence[int] = (),
    uniform: int | None = None,
) -> ColumnCounts:
    """Counts of a column of which not all values are listed, with those that cuts ask for.

    Parameters
    ----------
    counts : ColumnCounts
    read : callable
        Pieces whose values are tables with the columns of these names, each time read anew.
    shares : sequence of float
        The values up to which these shares of the finite ones lie come in, with their neighbours.
    ranks : sequence of int
        Also the values of these ranks, from 1.
    uniform : int, optional
        Also those about so many levels at equal distances.

    Returns
    -------
    ColumnCounts
        Without others.

    Notes
    -----
    Five passes over the column.
    """
    finite, name = counts.finite, counts.name
    pieces = read([name])
    dtype = counts.column.dtype
    order = np.argsort(counts.column[finite], kind="stable")
    ends, times = counts.column[finite][order], counts.repeats[finite][order]
    n = int(times.sum()) + counts.others
    asked = sorted({*(rank_of_share(share, n) for share in shares), *ranks})
    none = np.zeros(0)
    keys, before, equal = _values_of_ranks(asked, pieces, name, dtype)
    levels = none
    if uniform is not None:
        numbers = counts_of(ends) if is_temporal(ends) else ends
        parts = np.arange(1, uniform + 1) / (uniform + 1)
        levels = float(numbers[0]) * (1 - parts) + float(numbers[-1]) * parts
    near = Wanted(name, dtype, 0, keys, levels)
    answers = pieces.gather(_neighbours, near)
    largest_below = np.max([answer[0] for answer in answers], axis=0)
    least_above = np.min([answer[1] for answer in answers], axis=0)
    known: dict[int, int] = {}  # how many are at most each value, at least

    def learn(some: Keys, totals: Sequence[int]) -> None:
        for key, total in zip(some.tolist(), totals, strict=True):
            known[key] = max(known.get(key, 0), total)

    half = len(ends) // 2
    learn(ordered_keys(ends[:half]), np.cumsum(times[:half]).tolist())
    learn(
        ordered_keys(ends[half:]), (n - np.cumsum(times[half:][::-1])[::-1] + times[half:]).tolist()
    )
    has_less, has_more = before > 0, before + equal < n
    learn(keys, (before + equal).tolist())
    learn(largest_below[: len(keys)][has_less], before[has_less].tolist())
    learn(least_above[: len(keys)][has_more], (before + equal + 1)[has_more].tolist())
    for side in (largest_below[len(keys) :], least_above[len(keys) :]):
        there = side[(side != LEAST) & (side != LARGEST)]
        learn(there, [0] * len(there))
    listed = np.array(sorted(known), dtype=np.uint64)
    totals = np.maximum.accumulate(np.array([known[key] for key in sorted(known)], dtype=np.int64))
    repeats = np.diff(totals, prepend=0)
    column = np.concatenate([from_keys(listed, dtype), counts.column[~finite]])
    repeats = np.concatenate([repeats, counts.repeats[~finite]])
    return replace(counts, column=column, repeats=repeats, others=0)


def _values_of_ranks(
    ranks: Sequence[int], pieces: Pieces, name: str, dtype: np.dtype[Any]
) -> tuple[Keys, NDArray[np.int64], NDArray[np.int64]]:
    """The keys of the values of some ranks, how many are less, and how many are equal."""
    left = np.array(ranks, dtype=np.int64)
    prefix, before = np.zeros(len(left), np.uint64), np.zeros(len(left), np.int64)
    equal = np.zeros(len(left), np.int64)
    for shift in range(64 - BITS, -1, -BITS):
        prefixes = np.unique(prefix)
        wanted = Wanted(name, dtype, shift, prefixes, np.zeros(0))
        answers = pieces.gather(_digits, wanted)
        codes = np.concatenate([answer[0] for answer in answers])
        codes, times = counted(codes, np.concatenate([answer[1] for answer in answers]))
        for j in range(len(left)):
            own = int(np.searchsorted(prefixes, prefix[j])) * DIGITS
            first, last = np.searchsorted(codes, (own, own + DIGITS))
            totals = np.cumsum(times[first:last])
            place = int(np.searchsorted(totals, left[j]))
            less = int(totals[place] - times[first + place])
            before[j], left[j] = before[j] + less, left[j] - less
            equal[j] = times[first + place]
            digit = int(codes[first + place]) - own
            prefix[j] = (int(prefix[j]) << BITS) | digit
    return prefix, before, equal


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
