"""Gaps of a numeric column that tell most about the classes: least entropy, least description."""

from __future__ import annotations

import heapq
import math

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray

__all__ = ["informative_gaps"]


def informative_gaps(counts: FloatArray, number: int) -> NDArray[np.intp]:
    r"""The gaps that the minimum description length principle accepts; the best one in any case.

    With Ent(S) the entropy in bits of the k classes that occur among N rows S, a gap that divides S
    in S₁ and S₂ gains

        G = Ent(S) − |S₁|/N · Ent(S₁) − |S₂|/N · Ent(S₂).

    The gap with the largest gain is a cut if

        N·G > log₂(N − 1) + log₂(3^k − 2) − k·Ent(S) + k₁·Ent(S₁) + k₂·Ent(S₂),

    and both sides are divided in the same way, where N·G is largest first.  The first cut is made
    without that test: a column says something together with others that says little alone.

    Parameters
    ----------
    counts : ndarray of shape (m, K), float64
        How many rows of each class have the smallest value, the next one, ….  m is at least 2.
    number : int
        How many gaps at most.

    Returns
    -------
    ndarray of shape (at most number,), intp
        Gap j is between values j and j + 1; ascending.

    Notes
    -----
    mK for each level of divisions.

    References
    ----------
    U. M. Fayyad, K. B. Irani, "Multi-interval discretization of continuous-valued attributes for
    classification learning", IJCAI 1993.

    Examples
    --------
    Three runs of eight rows of one class each; and two classes that alternate.

    >>> informative_gaps(np.repeat(np.eye(3), 8, axis=0), 4)
    array([ 7, 15])
    >>> informative_gaps(np.tile(np.eye(2), (8, 1)), 4)
    array([0])
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
    """−N·G of the best gap, the gap, the values that it divides, and whether it is accepted."""
    all_of = below[last] - below[first]
    left = below[first + 1 : last] - below[first]
    right = all_of - left
    whole, n = _bits(all_of[None])[0], float(all_of.sum())
    gains = np.round(whole - _bits(left) - _bits(right), 9)  # equal ones stay equal
    best = int(np.argmax(gains))
    sides = [all_of, left[best], right[best]]
    classes = [np.count_nonzero(side) for side in sides]
    entropies = [_bits(side[None])[0] / side.sum() for side in sides]
    k = classes[0]
    change = k * entropies[0] - classes[1] * entropies[1] - classes[2] * entropies[2]
    least = math.log2(n - 1) + math.log2(3**k - 2) - change if k > 1 else math.inf
    return -float(gains[best]), first + best, first, last, bool(gains[best] > least)


def _bits(counts: FloatArray) -> FloatArray:
    """N · entropy of rows of counts, float64 of shape (rows,)."""
    totals = counts.sum(axis=1, keepdims=True)
    shares = counts / totals
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(-(counts * logs).sum(axis=1))
