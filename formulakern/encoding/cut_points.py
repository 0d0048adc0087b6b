"""Where to cut a numeric column in two: gaps between its values, and short numbers inside them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Cut", "Strategy", "cut_between", "cuts", "shortest_between"]

Strategy = Literal["quantile", "uniform"]

#: Decimals are only compared and averaged here; a float64 prints with at most 17 digits.
CONTEXT = Context(prec=40)


@dataclass(frozen=True)
class Cut:
    """One gap between two neighbouring values of a column.

    Parameters
    ----------
    at_most : int or float
        ``x <= at_most`` holds exactly for the values below the gap.
    at_least : int or float
        ``x >= at_least`` holds exactly for the values above the gap. The two are the same number
        inside the gap; for whole numbers, neighbours such as 3 and 4.
    """

    at_most: int | float
    at_least: int | float


def cuts(values: NDArray[Any], number: int, strategy: Strategy = "quantile") -> tuple[Cut, ...]:
    """At most so many cuts of a numeric column, ascending; each separates some of its values.

    Parameters
    ----------
    values : ndarray of shape (n,), any real dtype
        Missing (NaN) and infinite values are left out.
    number : int
        How many cuts at most; fewer where the values leave fewer different gaps.
    strategy : {"quantile", "uniform"}
        ``"quantile"``: the gaps whose share of smaller values is nearest to 1/(number+1),
        2/(number+1), …; ``"uniform"``: the gaps at equal distances between the extremes.

    Returns
    -------
    tuple of Cut

    Notes
    -----
    One sort: n log n.

    Examples
    --------
    >>> cuts(np.array([1, 1, 2, 9]), 4)
    (Cut(at_most=1, at_least=2), Cut(at_most=6, at_least=7))
    >>> cuts(np.array([0.1, 0.2, 0.9]), 1, "uniform")
    (Cut(at_most=0.6, at_least=0.6),)
    """
    finite = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    distinct, repeats = np.unique(finite, return_counts=True)
    if len(distinct) < 2:
        return ()
    fractions = np.arange(1, number + 1) / (number + 1)
    if number >= len(distinct) - 1 and strategy == "quantile":
        gaps = np.arange(len(distinct) - 1)
    elif strategy == "quantile":
        shares = np.cumsum(repeats)[:-1] / len(finite)
        above = np.searchsorted(shares, fractions).clip(1, max(1, len(shares) - 1))
        below = above - 1
        above = above.clip(0, len(shares) - 1)
        nearer = np.abs(shares[below] - fractions) <= np.abs(shares[above] - fractions)
        gaps = np.unique(np.where(nearer, below, above))
    else:
        low, high = float(distinct[0]), float(distinct[-1])
        levels = low * (1 - fractions) + high * fractions
        places = np.searchsorted(distinct, levels, side="right") - 1
        gaps = np.unique(places.clip(0, len(distinct) - 2))
    whole = distinct.dtype.kind != "f" or bool(
        (np.floor(distinct) == distinct).all() and np.abs(distinct).max() < 2**53
    )
    return tuple(cut_between(distinct[gap].item(), distinct[gap + 1].item(), whole) for gap in gaps)


def shortest_between(low: float, high: float) -> int | float | None:
    """The number strictly between two others with the fewest decimals; nearest to the middle.

    Parameters
    ----------
    low, high : int or float
        ``low < high``, both finite.

    Returns
    -------
    int, float or None
        An int if it is whole; None if no float64 lies between.

    Examples
    --------
    >>> shortest_between(4.9, 5.15), shortest_between(0.123, 0.127), shortest_between(37, 188)
    (5, 0.125, 100)
    """
    bottom, top = Decimal(repr(low)), Decimal(repr(high))
    middle = CONTEXT.divide(CONTEXT.add(bottom, top), Decimal(2))
    largest = CONTEXT.subtract(top, bottom).adjusted() + 1
    for exponent in range(largest, largest - 20, -1):
        scaled = CONTEXT.scaleb(middle, -exponent)
        candidate = CONTEXT.scaleb(CONTEXT.to_integral_value(scaled), exponent)
        if not bottom < candidate < top:
            continue
        number: int | float = float(candidate)
        if candidate == CONTEXT.to_integral_value(candidate) and abs(candidate) < 2**64:
            number = int(candidate)
        if low < number < high:
            return number
    return None


def cut_between(low: int | float, high: int | float, whole: bool) -> Cut:
    """The cut between two neighbouring values, in whole numbers where all values are whole.

    >>> cut_between(3, 4, True), cut_between(3.0, 9.0, True), cut_between(0.123, 0.127, False)
    (Cut(at_most=3, at_least=4), Cut(at_most=6, at_least=7), Cut(at_most=0.125, at_least=0.125))
    """
    if whole:
        low, high = int(low), int(high)
        inside = shortest_between(low, high) if high - low >= 2 else low
        at_most = low if inside is None else int(inside)
        return Cut(at_most, at_most + 1)
    inside = shortest_between(low, high)
    return Cut(low, high) if inside is None else Cut(inside, inside)
