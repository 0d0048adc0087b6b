"""The Choquet kernel of two sorted rows, for blocks of pairs.

Let S be the set of the columns so far, when columns are taken in the order of descending x, and
z₍₁₎ ≥ z₍₂₎ ≥ … the sorted entries of z with the differences wⱼ = z₍ⱼ₎ − z₍ⱼ₊₁₎.  A minimum over
columns is the sum of the differences from the last of them on, so

    D(S) = Σ min_T z over non-empty T ⊆ S = Σⱼ wⱼ·f(number of columns of S up to j),
    K(x, z) = Σᵢ (x₍ᵢ₎ − x₍ᵢ₊₁₎)·D(the first i columns),

where f(s) is the number of subsets of s columns that count.  For all subsets, f(s) = 2^s − 1, and
D is kept by a tree in O(log n) steps per column; for those of at most k columns, the next column
adds Σⱼ wⱼ·g(number up to j) over the j from its own on, g(s) = f(s + 1) − f(s).
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from formulakern.arrays import FloatArray, IntArray
from formulakern.compilation import compiled
from formulakern.kernels.boolean.dyadic import TINY

__all__ = ["SPREAD", "SortedRows", "Terms", "additive_rows", "full_rows", "in_numpy"]

#: A sum below this, when the largest entry of either row is about 1, may have lost digits.
SMALL = 2.0**-960
#: Tables with numbers up to 2^SPREAD times as large as others are looked up as they are.
SPREAD = 900


class SortedRows(NamedTuple):
    """Rows of non-negative numbers, each divided by a power of two and sorted, largest first.

    Parameters
    ----------
    order : ndarray of shape (rows, n), int32
        The columns of the sorted entries.
    rank : ndarray of shape (rows, n), int32
        The place of every column in this order.
    values : ndarray of shape (rows, n), float64
        The sorted entries; the first is in [1/2, 1), or 0.
    steps : ndarray of shape (rows, n), float64
        Every sorted entry less the next.
    positive : ndarray of shape (rows,), int64
        How many are positive.
    exponent : ndarray of shape (rows,), int64
        Kernel values are multiplied by two to the power of the exponents of both rows.
    """

    order: Annotated[Any, "int32[:, ::1]"]
    rank: Annotated[Any, "int32[:, ::1]"]
    values: Annotated[Any, "float64[:, ::1]"]
    steps: Annotated[Any, "float64[:, ::1]"]
    positive: Annotated[Any, "int64[::1]"]
    exponent: Annotated[Any, "int64[::1]"]


class Terms(NamedTuple):
    """How sums become kernel values.

    Parameters
    ----------
    fraction, exponent : ndarray of shape (n,), float64 and int64
        g(0), g(1), … as fraction·2^exponent.
    divisor : float
        Kernel values are divided by it.
    strict : bool
        Whether a value too small for float64 becomes NaN, and not 0.
    """

    fraction: FloatArray
    exponent: IntArray
    divisor: float
    strict: bool


_BLOCK = "float64, boolean, boolean, UniTuple(int64, 4), float64[:, ::1], UniTuple(int64, 2)"


@compiled()
def _value(total: float, exponent: int, common: int, divisor: float, strict: bool) -> float:
    """total·2^exponent / divisor of two rows with so many positive columns in common."""
    value: float = math.ldexp(total / divisor, exponent)
    if strict and common > 0 and (total < SMALL or value < TINY):
        return math.nan
    return value


@compiled(f"void(state, state, {_BLOCK})", state=SortedRows)
def full_rows(
    x: SortedRows,
    z: SortedRows,
    divisor: float,
    strict: bool,
    half: bool,
    block: tuple[int, int, int, int],
    out: FloatArray,
    at: tuple[int, int],
) -> None:
    """Fill a block of the kernel of all subsets, O(n log n) a pair; ``half``: with j ≥ i only.

    A tree stands over the sorted entries of z.  A node knows the number c of its columns that are
    in S, as 2^−c, and D·2^−c, D = Σⱼ wⱼ·(2^(number of its columns up to j) − 1).  Joined, with W
    the sum of the differences on the right,

        D·2^−c = D_left·2^−c_left·2^−c_right + D_right·2^−c_right + (1 − 2^−c_left)·2^−c_right·W:

    nothing is subtracted, and nothing exceeds the largest entry, for any number of columns.
    """
    start, stop, first, last = block
    size = 1
    while size < x.order.shape[1]:
        size *= 2
    weight = np.zeros(2 * size)
    scaled = np.empty(2 * size)
    share = np.empty(2 * size)
    for j in range(first, last):
        for place in range(x.order.shape[1]):
            weight[size + place] = z.steps[j, place]
        for node in range(size - 1, 0, -1):
            weight[node] = weight[2 * node] + weight[2 * node + 1]
        for i in range(start, min(stop, j + 1) if half else stop):
            scaled[:] = 0.0
            share[:] = 1.0
            common = 0
            total = 0.0
            for place in range(x.positive[i]):
                node = z.rank[j, x.order[i, place]]
                if node < z.positive[j]:
                    common += 1
                    total *= 0.5
                    node += size
                    scaled[node] = 0.5 * weight[node]
                    share[node] = 0.5
                    node >>= 1
                    while node > 0:
                        left, right = 2 * node, 2 * node + 1
                        more = scaled[right] + (1.0 - share[left]) * share[right] * weight[right]
                        scaled[node] = scaled[left] * share[right] + more
                        share[node] *= 0.5
                        node >>= 1
                total += x.steps[i, place] * scaled[1]
            exponent = x.exponent[i] + z.exponent[j] + common
            value = _value(total, exponent, common, divisor, strict)
            out[at[0] + i - start, at[1] + j - first] = value


@compiled(
    f"void(state, state, float64[::1], int64[::1], {_BLOCK})",
    state=SortedRows,
    fastmath={"reassoc", "contract", "nsz"},
)
def additive_rows(
    x: SortedRows,
    z: SortedRows,
    fraction: FloatArray,
    exponents: IntArray,
    divisor: float,
    strict: bool,
    half: bool,
    block: tuple[int, int, int, int],
    out: FloatArray,
    at: tuple[int, int],
) -> None:
    """Fill a block of a k-additive kernel, O(n²) a pair; ``half``: with j ≥ i only."""
    start, stop, first, last = block
    n = x.order.shape[1]
    table = np.empty(n)
    counts = np.empty(n, np.int32)
    scale = -1
    for j in range(first, last):
        end = z.positive[j]
        for i in range(start, min(stop, j + 1) if half else stop):
            common = 0
            for place in range(x.positive[i]):
                common += z.rank[j, x.order[i, place]] < end
            largest = exponents[max(common - 1, 0)]
            wanted = largest if largest > SPREAD else 0
            if wanted != scale:
                scale = wanted
                for t in range(n):
                    table[t] = math.ldexp(fraction[t], exponents[t] - scale)
            counts[:] = 0
            total = 0.0
            for place in range(x.positive[i]):
                added = 0.0
                for t in range(z.rank[j, x.order[i, place]], end):
                    added += z.steps[j, t] * table[counts[t]]
                    counts[t] += 1
                total += x.values[i, place] * added
            exponent = x.exponent[i] + z.exponent[j] + scale
            value = _value(total, exponent, common, divisor, strict)
            out[at[0] + i - start, at[1] + j - first] = value


def in_numpy(
    x: SortedRows, z: SortedRows, terms: Terms, block: tuple[int, int, int, int]
) -> FloatArray:
    """The values of a block of either kernel, in NumPy: for few rows and columns."""
    start, stop, first, last = block
    table = np.ldexp(terms.fraction, terms.exponent)
    places = np.arange(x.order.shape[1])
    counts = np.zeros((stop - start, last - first, len(places)), np.int64)
    total = np.zeros(counts.shape[:2])
    steps, end = z.steps[first:last], z.positive[first:last, None]
    for order, values in zip(x.order[start:stop].T, x.values[start:stop].T, strict=True):
        rank = z.rank[first:last, order].T
        above = (places >= rank[:, :, None]) & (places < end) & (values > 0)[:, None, None]
        total += values[:, None] * (above * steps * table[counts]).sum(axis=2)
        counts += above
    exponent = x.exponent[start:stop, None] + z.exponent[None, first:last]
    found = np.ldexp(total / terms.divisor, np.clip(exponent, -5000, 5000))
    lost = (counts.max(axis=2) > 0) & ((total < SMALL) | (found < TINY))
    return np.where(lost, np.nan, found) if terms.strict else found
