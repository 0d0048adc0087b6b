"""Cut points of a column: gaps between its values, and short numbers inside the gaps."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.syntax.temporal import Temporal, TemporalKind
from formulakern.tables.temporal import (
    counts_of,
    is_temporal,
    measure_of,
    temporal_bounds,
    value_at,
)

Strategy = Literal["quantile", "uniform", "mdlp", "all"]

#: The precision of comparisons and averages of float64 numbers, which have at most 17 digits.
CONTEXT = Context(prec=40)
#: The largest number of decimals of a unit.
MAX_UNIT_DECIMALS = 6
#: The smallest number of different values for a unit other than 1: fewer may share one by chance.
MIN_UNIT_VALUES = 5


@dataclass(frozen=True)
class Cut:
    """A cut point in the gap between two neighbouring values of a column.

    ``x <= at_most`` is true exactly for the values below the gap, ``x >= at_least`` for the values
    above it.  Both are one number inside the gap, or differ by the column's unit, such as 3 and 4.
    """

    at_most: int | float | Temporal
    at_least: int | float | Temporal


def cuts(
    values: NDArray[Any],
    number: int,
    strategy: Strategy = "quantile",
    classes: NDArray[np.intp] | None = None,
    kind: TemporalKind | None = None,
    repeats: NDArray[np.int64] | None = None,
) -> tuple[Cut, ...]:
    """Return at most ``number`` cuts of a column, ascending.

    Missing (NaN, NaT) and infinite values are ignored.  "quantile" chooses the gaps whose share of
    smaller values is nearest to 1/(number+1), 2/(number+1), …; "uniform" those at equal distances
    between the extremes; "mdlp" those of :func:`informative_gaps` for ``classes``, from 0; "all"
    chooses all gaps.  ``kind`` is the kind of dates, times and durations, and ``repeats`` the count
    of each value, 1 by default.

    >>> cuts(np.array([1, 1, 2, 9]), 4)
    (Cut(at_most=1, at_least=2), Cut(at_most=5, at_least=6))
    >>> cuts(np.array([0.1, 0.2, 0.9]), 1, "uniform")
    (Cut(at_most=0.5, at_least=0.5),)
    """
    distinct, gaps = cut_gaps(values, number, strategy, classes, repeats)
    if not len(gaps):
        return ()
    cut_at = cutter(distinct, kind)
    return tuple(cut_at(gap) for gap in gaps.tolist())


def cutter(distinct: NDArray[Any], kind: TemporalKind | None = None) -> Callable[[int], Cut]:
    """Return a function of j that returns the cut between the different values j and j + 1."""
    if kind is not None:
        unit, counts = value_at(distinct, "duration", 1).nanoseconds, counts_of(distinct)
        measure = measure_of(counts, unit)
        return lambda gap: Cut(
            *temporal_bounds(unit * int(counts[gap]), unit * int(counts[gap + 1]), kind, measure)
        )
    step = unit_of(distinct)
    return lambda gap: cut_between(distinct[gap].item(), distinct[gap + 1].item(), step)


def cut_gaps(
    values: NDArray[Any],
    number: int,
    strategy: Strategy = "quantile",
    classes: NDArray[np.intp] | None = None,
    repeats: NDArray[np.int64] | None = None,
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the different values of a column, and the positions before the gaps of its cuts."""
    finite: Any = np.isfinite(values) if values.dtype.kind in "fmM" else slice(None)
    distinct, times = counted(values[finite], None if repeats is None else repeats[finite])
    if len(distinct) < 2:
        return distinct, np.array([], dtype=np.intp)
    fractions = np.arange(1, number + 1) / (number + 1)
    if strategy == "mdlp":
        assert classes is not None
        table = np.zeros((len(distinct), int(classes.max()) + 1))
        place = np.searchsorted(distinct, values[finite])
        np.add.at(table, (place, classes[finite]), 1 if repeats is None else repeats[finite])
        gaps = informative_gaps(table, number)
    elif strategy == "all" or (strategy == "quantile" and number >= len(distinct) - 1):
        gaps = np.arange(len(distinct) - 1)
    elif strategy == "quantile":
        below_gap = np.cumsum(times)
        shares = below_gap[:-1] / below_gap[-1]
        last = len(shares) - 1
        above = np.minimum(np.maximum(np.searchsorted(shares, fractions), 1), max(1, last))
        below = above - 1
        above = np.minimum(above, last)
        nearer = np.abs(shares[below] - fractions) <= np.abs(shares[above] - fractions)
        gaps = np.array(sorted({*np.where(nearer, below, above).tolist()}))
    else:
        numbers = counts_of(distinct) if is_temporal(distinct) else distinct
        low, high = float(numbers[0]), float(numbers[-1])
        levels = low * (1 - fractions) + high * fractions
        places = np.searchsorted(numbers, levels, side="right") - 1
        gaps = np.unique(places.clip(0, len(numbers) - 2))
    return distinct, np.asarray(gaps, dtype=np.intp)


def counted(
    values: NDArray[Any], repeats: NDArray[np.int64] | None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the different values, ascending, and the count of each.

    >>> counted(np.array([3, 1, 3]), np.array([1, 5, 2]))
    (array([1, 3]), array([5, 3]))
    """
    if repeats is None:
        if values.dtype.kind in "iuf" and np.array_equal(ones := values == 1, values != 0):
            number = np.count_nonzero(ones)
            times = np.array([len(values) - number, number])
        elif values.dtype.itemsize < 8:  # codes need no sort
            times = np.bincount(values)
        else:
            return np.unique(values, return_counts=True)
        distinct = np.flatnonzero(times)
        return distinct.astype(values.dtype), times[distinct]
    if bool((values[1:] > values[:-1]).all()):
        return values, repeats
    order = np.argsort(values, kind="stable")  # merges sorted runs
    values = values[order]
    same = values[1:] == values[:-1]
    if values.dtype.kind in "fmM":  # missing entries are one value
        same |= (values[1:] != values[1:]) & (values[:-1] != values[:-1])
    first = np.flatnonzero(np.append(True, ~same))
    return values[first], np.add.reduceat(repeats[order], first)


def unit_of(distinct: NDArray[Any]) -> Decimal | None:
    """Return the largest round unit that divides all different values of a column, or None.

    Units are …, 10, 5, 1, 0.5, 0.1, …, 0.000001; for fewer than five values only 1.

    >>> [unit_of(np.array(v)) for v in ([70, 80, 90, 100, 120], [1.5, 2, 3, 4, 6.5], [70, 80])]
    [Decimal('1E+1'), Decimal('0.5'), Decimal('1')]
    >>> unit_of(np.array([0.1, 0.7])) is None
    True
    """
    several = len(distinct) >= MIN_UNIT_VALUES
    for decimals in range(MAX_UNIT_DECIMALS + 1 if several else 1):
        common = _common_divisor(distinct, decimals)
        if common is None:
            continue
        unit = Decimal(1).scaleb(-decimals)
        while several and common and not common % 10:
            common, unit = common // 10, unit.scaleb(1)
        return unit * 5 if several and not common % 5 else unit
    return None


def _common_divisor(values: NDArray[Any], decimals: int) -> int | None:
    """Return the greatest common divisor of values, in multiples of 10^−decimals.

    Return None if a value is not such a multiple, or float64 cannot distinguish all multiples.
    """
    if values.dtype.kind != "f":
        whole = values.astype(np.int64) if values.dtype.kind == "b" else values
        return int(np.gcd.reduce(whole)) if len(whole) else 0
    if float(np.abs(values).max(initial=0.0)) >= 2**53 / 10.0**decimals:
        return None
    if not np.array_equal(np.round(values, decimals), values):
        return None
    multiples = np.rint(values * 10.0**decimals).astype(np.int64)
    return int(np.gcd.reduce(multiples)) if len(multiples) else 0


def shortest_between(low: float, high: float) -> int | float | None:
    """Return the number between two others with the fewest decimals, nearest to the middle.

    Among numbers with the same number of decimals, one that ends in 5 is preferred if it is in the
    middle half of the gap.  Return an int if it is whole, or None if no float64 is in between.

    >>> shortest_between(4.9, 5.15), shortest_between(0.123, 0.127), shortest_between(37, 188)
    (5, 0.125, 100)
    >>> shortest_between(21, 33), shortest_between(32, 39), shortest_between(33, 37.5)
    (30, 35, 35)
    """
    bottom, top = Decimal(repr(low)), Decimal(repr(high))
    middle = CONTEXT.divide(CONTEXT.add(bottom, top), Decimal(2))
    quarter = CONTEXT.divide(CONTEXT.subtract(top, bottom), Decimal(4))
    largest = CONTEXT.subtract(top, bottom).adjusted() + 1
    for exponent in range(largest, largest - 20, -1):
        five = _nearest(middle, Decimal(5).scaleb(exponent))
        near = CONTEXT.subtract(five, middle).copy_abs() <= quarter
        candidate = five if near else _nearest(middle, Decimal(1).scaleb(exponent))
        if not bottom < candidate < top:
            continue
        number: int | float = float(candidate)
        if candidate == CONTEXT.to_integral_value(candidate) and abs(candidate) < 2**64:
            number = int(candidate)
        if low < number < high:
            return number
    return None


def _nearest(number: Decimal, unit: Decimal) -> Decimal:
    """Return the multiple of a unit nearest to a number."""
    times = CONTEXT.to_integral_value(CONTEXT.divide(number, unit))
    return CONTEXT.multiply(times, unit)


def cut_between(low: int | float, high: int | float, unit: Decimal | None) -> Cut:
    """Return the cut between two neighbouring values of a column with this unit.

    >>> one, tenth = Decimal(1), Decimal("0.1")
    >>> cut_between(3, 4, one), cut_between(3.0, 9.0, one), cut_between(70, 80, Decimal(10))
    (Cut(at_most=3, at_least=4), Cut(at_most=5, at_least=6), Cut(at_most=70, at_least=80))
    >>> cut_between(1.6, 1.7, tenth), cut_between(1.6, 1.7, None)
    (Cut(at_most=1.6, at_least=1.7), Cut(at_most=1.65, at_least=1.65))
    """
    if unit is not None and unit >= 1:
        low, high = int(low), int(high)
    step = CONTEXT.subtract(Decimal(repr(high)), Decimal(repr(low)))
    inside = None if step == unit else shortest_between(low, high)
    if inside is None:
        return Cut(low, high)
    return Cut(inside, int(inside + int(unit)) if unit is not None and unit >= 1 else inside)


def informative_gaps(counts: FloatArray, number: int) -> NDArray[np.intp]:
    """Return the gaps that the minimum description length principle accepts, at least the best.

    Let Ent(S) be the entropy in bits of the k classes that occur in N rows S.  The gain of a gap
    that divides S into S₁ and S₂ is

        G = Ent(S) − |S₁|/N · Ent(S₁) − |S₂|/N · Ent(S₂).

    The gap with the largest gain is a cut if

        N·G > log₂(N − 1) + log₂(3^k − 2) − k·Ent(S) + k₁·Ent(S₁) + k₂·Ent(S₂),

    and both sides are divided in the same way, the largest N·G first, up to ``number`` gaps.  The
    first cut is made without the test, because a column may be informative only with others.
    ``counts`` has a row for each value, ascending, and a column for each class.

    References
    ----------
    U. M. Fayyad, K. B. Irani, "Multi-interval discretization of continuous-valued attributes for
    classification learning", IJCAI 1993.

    Examples
    --------
    >>> informative_gaps(np.repeat(np.eye(3), 8, axis=0), 4), informative_gaps(np.eye(2), 4)
    (array([ 7, 15]), array([0]))
    """
    below = np.vstack([np.zeros(counts.shape[1]), np.cumsum(counts, axis=0)])
    found: list[int] = []
    divisions = [_division(below, 0, len(counts))]
    while divisions and len(found) < number:
        _, gap, first, last, accepted = heapq.heappop(divisions)
        if not accepted and found:
            continue
        found.append(gap)
        for part in ((first, gap + 1), (gap + 1, last)):
            if part[1] - part[0] >= 2 and accepted:
                heapq.heappush(divisions, _division(below, *part))
    return np.sort(np.array(found, dtype=np.intp))


def _division(below: FloatArray, first: int, last: int) -> tuple[float, int, int, int, bool]:
    """Return −N·G of the best gap, the gap, its range of values, and True if it is accepted."""
    all_of = below[last] - below[first]
    left = below[first + 1 : last] - below[first]
    right = all_of - left
    whole, n = _bits(all_of[None])[0], float(all_of.sum())
    gains = np.round(whole - _bits(left) - _bits(right), 9)  # equal gains stay equal
    best = int(np.argmax(gains))
    sides = [all_of, left[best], right[best]]
    classes = [np.count_nonzero(side) for side in sides]
    entropies = [_bits(side[None])[0] / side.sum() for side in sides]
    k = classes[0]
    change = k * entropies[0] - classes[1] * entropies[1] - classes[2] * entropies[2]
    least = math.log2(n - 1) + math.log2(3**k - 2) - change if k > 1 else math.inf
    return -float(gains[best]), first + best, first, last, bool(gains[best] > least)


def _bits(counts: FloatArray) -> FloatArray:
    """Return N times the entropy of each row of counts, float64 of shape (rows,)."""
    totals = counts.sum(axis=1, keepdims=True)
    shares = counts / totals
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(-(counts * logs).sum(axis=1))
