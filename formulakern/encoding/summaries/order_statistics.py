"""Exact order statistics of columns that lie in pieces, in passes that count digits.

A number, date or time is read as 64 bits that are ordered as it is.  A pass counts, for every value
of the bits that are known, the next 16; counts of pieces add up; so four passes give the value of
every rank that is asked for, whatever the pieces are.  As soon as few values share the bits that
are known these are listed, with their neighbours: after two passes, mostly.

A column is then given to plans by these values alone: the ones next to the cuts, the least and the
largest, with repeats whose running totals are those of the whole column.  A cut between two values
of the column is so the same as if all values were listed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulakern.encoding.cut_points import counted
from formulakern.encoding.summaries.counts import ColumnCounts
from formulakern.encoding.summaries.summary import nearest_rank
from formulakern.partitions.partitioned import Partitioned
from formulakern.tables.table import Table
from formulakern.tables.temporal import counts_of, is_temporal

__all__ = ["completed", "from_keys", "ordered_keys", "rank_of_share"]

Keys = NDArray[np.uint64]

#: Bits that a pass tells, and the digits of those.
BITS = 16
DIGITS = 1 << BITS
#: So many rows of a column are listed; after so few prefixes digits are counted in a table.
LISTED, FEW = 1 << 13, 16
TOP = np.uint64(1 << 63)
#: The least and the largest key; where they are values, they are ends of the column.
LEAST, LARGEST = np.uint64(0), np.uint64(2**64 - 1)


class Listed(NamedTuple):
    """The values of a column that begin with some bits, and what is next to them.

    Attributes
    ----------
    keys : uint64 (v,)
        Ascending.
    times : int64 (v,)
        How often each of them occurs.
    below, above : uint64 (k + l,)
        For each prefix the largest key below all that begin with it, and the least above; for each
        level those about it.
    """

    keys: Keys
    times: NDArray[np.int64]
    below: Keys
    above: Keys


@dataclass(frozen=True, eq=False)
class Wanted:
    """What a pass asks of a column.

    Attributes
    ----------
    name : str
    dtype : dtype
        Of the whole column, in normal form.
    unknown : int
        Bits that are not known yet.
    prefixes : uint64 (k,)
        Ascending: the bits that are known.
    levels : float64 (l,)
        Ascending: the greatest value up to each of these, and the next one, are asked for.
    """

    name: str
    dtype: np.dtype[Any]
    unknown: int
    prefixes: Keys
    levels: NDArray[np.float64]


def ordered_keys(column: NDArray[Any]) -> Keys:
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


def from_keys(keys: Keys, dtype: np.dtype[Any]) -> NDArray[Any]:
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
    read: Callable[[list[str]], Partitioned],
    shares: Sequence[float],
    always: Sequence[float] = (),
    uniform: int | None = None,
) -> list[ColumnCounts]:
    """Counts of columns of which not all values are listed, with those that cuts ask for.

    Parameters
    ----------
    columns : sequence of ColumnCounts
    read : callable
        Returns partitions of tables with the columns of these names, each time read anew.
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
    Two to five passes over the columns, which are read together.
    """
    if not columns:
        return []
    sought = [_Sought(one, shares, always, uniform) for one in columns]
    while many := [one for one in sought if one.many]:
        wanted = [one.wanted() for one in many]
        pieces = read([one.name for one in wanted])
        for one, part in zip(many, _added(pieces.map(_digits_of_all, wanted)), strict=True):
            one.narrow(*part)
    wanted = [one.wanted() for one in sought]
    pieces = read([one.name for one in wanted])
    listed = _listed_together(pieces.map(_listed_of_all, wanted))
    return [one.found(part) for one, part in zip(sought, listed, strict=True)]


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
        self.unknown, self.prefix = 64, np.zeros(len(ranks), np.uint64)
        self.before, self.alike = np.zeros(len(ranks), np.int64), np.full(len(ranks), n)
        self.levels = np.zeros(0)
        if uniform is not None:
            numbers = counts_of(self.ends) if is_temporal(self.ends) else self.ends
            parts = np.arange(1, uniform + 1) / (uniform + 1)
            self.levels = float(numbers[0]) * (1 - parts) + float(numbers[-1]) * parts

    @property
    def many(self) -> bool:
        """Whether too many rows begin with the bits that are known."""
        _, first = np.unique(self.prefix, return_index=True)
        return self.unknown > 0 and int(self.alike[first].sum()) > LISTED

    def wanted(self) -> Wanted:
        """What the next pass asks."""
        name, prefixes = self.counts.name, np.unique(self.prefix)
        return Wanted(name, self.dtype, self.unknown, prefixes, self.levels)

    def narrow(self, codes: NDArray[np.int64], times: NDArray[np.int64]) -> None:
        """The next digits, from how often each follows the bits that are known."""
        prefixes = np.unique(self.prefix)
        self.unknown -= BITS
        for j in range(len(self.left)):
            own = int(np.searchsorted(prefixes, self.prefix[j])) * DIGITS
            first, last = np.searchsorted(codes, (own, own + DIGITS))
            totals = np.cumsum(times[first:last])
            place = int(np.searchsorted(totals, self.left[j]))
            self.alike[j] = times[first + place]
            less = int(totals[place] - self.alike[j])
            self.before[j] += less
            self.left[j] -= less
            self.prefix[j] = (int(self.prefix[j]) << BITS) | (int(codes[first + place]) - own)

    def found(self, listed: Listed) -> ColumnCounts:
        """The values and their neighbours, with repeats whose running totals are right."""
        prefixes, n = np.unique(self.prefix), self.n
        first, last = _extents(listed.keys, prefixes, self.unknown)
        own = np.searchsorted(prefixes, self.prefix)
        keys, below, above = (np.zeros(len(own), np.uint64) for _ in range(3))
        before, equal = (np.zeros(len(own), np.int64) for _ in range(2))
        for j, k in enumerate(own.tolist()):
            totals = np.cumsum(listed.times[first[k] : last[k]])
            at = first[k] + int(np.searchsorted(totals, self.left[j]))
            keys[j], equal[j] = listed.keys[at], listed.times[at]
            before[j] = self.before[j] + totals[at - first[k]] - equal[j]
            below[j] = listed.keys[at - 1] if at > first[k] else listed.below[k]
            above[j] = listed.keys[at + 1] if at + 1 < last[k] else listed.above[k]
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
        learn(below[less], before[less].tolist())
        learn(above[more], (before + equal + 1)[more].tolist())
        for side in (listed.below[len(prefixes) :], listed.above[len(prefixes) :]):
            there = side[(side != LEAST) & (side != LARGEST)]
            learn(there, [0] * len(there))
        every = np.array(sorted(known), dtype=np.uint64)
        totals = np.maximum.accumulate(np.array([known[key] for key in sorted(known)], np.int64))
        column, repeats = from_keys(every, self.dtype), np.diff(totals, prepend=0)
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


def _listed_of_all(table: Table, wanted: Sequence[Wanted]) -> list[Listed]:
    return [_listed(table, one) for one in wanted]


def _listed_together(answers: Sequence[list[Listed]]) -> list[Listed]:
    """Lists of several parts as one, with the nearest of their neighbours."""
    together = []
    for parts in zip(*answers, strict=True):
        keys, times = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        below = np.max([part.below for part in parts], axis=0)
        above = np.min([part.above for part in parts], axis=0)
        together.append(Listed(*counted(keys, times), below, above))
    return together


def _finite_keys(table: Table, wanted: Wanted) -> Keys:
    """The finite values of a part of a column."""
    column = table.column(wanted.name).astype(wanted.dtype)
    if column.dtype.kind == "f":
        column = column[np.isfinite(column)]
    elif is_temporal(column):
        column = column[~np.isnat(column)]
    return ordered_keys(column)


def _digits(table: Table, wanted: Wanted) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How often each digit follows each of the prefixes, as codes place · 2¹⁶ + digit."""
    keys = _finite_keys(table, wanted)
    shift = np.uint64(wanted.unknown - BITS)
    digits = ((keys >> shift) & np.uint64(DIGITS - 1)).astype(np.int64)
    if wanted.unknown < 64:
        prefix = keys >> np.uint64(wanted.unknown)
        place = np.searchsorted(wanted.prefixes, prefix)
        place[place == len(wanted.prefixes)] = 0
        kept = wanted.prefixes[place] == prefix
        digits = place[kept] * DIGITS + digits[kept]
    if len(wanted.prefixes) > FEW:
        return counted(digits, None)
    times = np.bincount(digits)
    codes = np.flatnonzero(times)
    return codes, times[codes]


def _extents(keys: Keys, prefixes: Keys, unknown: int) -> tuple[list[int], list[int]]:
    """Where the keys that begin with each prefix stand among ascending ones, and where they end."""
    least = prefixes << np.uint64(unknown)
    largest = least | np.uint64((1 << unknown) - 1)
    first, last = np.searchsorted(keys, least), np.searchsorted(keys, largest, side="right")
    return first.tolist(), last.tolist()


def _listed(table: Table, wanted: Wanted) -> Listed:
    """The keys that begin with some bits, and their neighbours; for levels, those about them."""
    keys = np.sort(_finite_keys(table, wanted))
    first, last = _extents(keys, wanted.prefixes, wanted.unknown)
    ends = zip(first, last, strict=True)
    chosen = np.concatenate([np.zeros(0, np.uint64), *(keys[i:j] for i, j in ends)])
    column = from_keys(keys, wanted.dtype)
    numbers = counts_of(column) if is_temporal(column) else column
    upto = np.searchsorted(numbers, wanted.levels, side="right")
    padded = np.concatenate([[LEAST], keys, [LARGEST]])
    below = np.concatenate([padded[first], padded[upto]])
    above = np.concatenate([padded[np.add(last, 1, dtype=np.intp)], padded[upto + 1]])
    return Listed(*counted(chosen, None), below, above)
