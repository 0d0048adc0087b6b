"""k-mers, the runs of k letters of a string, as numbers; and all k-mers near to one."""

from __future__ import annotations

from itertools import accumulate, combinations, product
from math import comb

import numpy as np

from formulakern.arrays import IntArray
from formulakern.kernels.strings.strings import Codes

__all__ = ["k_mers", "n_near", "near", "near_both"]

#: Products of numbers below this are 64-bit integers.
ROOT = 1 << 31


def k_mers(codes: Codes, lengths: IntArray, k: int) -> tuple[IntArray, IntArray, IntArray]:
    """The k-mers of strings that follow each other.

    Parameters
    ----------
    codes : integers of shape (letters,)
    lengths : int64 of shape (strings,)
        Of every string, at least k.
    k : int

    Returns
    -------
    rows, places, numbers : int64 of shape (k-mers,)
        The string of each, where it begins in ``codes``, and a number; two k-mers have one number
        if and only if they are equal.

    Notes
    -----
    A k-mer is known by the numbers of the two halves of it, which may overlap: O(log k) passes.

    Examples
    --------
    >>> k_mers(np.array([0, 1, 0, 1, 1]), np.array([3, 2]), 2)[0]
    array([0, 0, 1])
    """
    numbers, length = codes.astype(np.int64), 1
    while length < k and len(numbers):
        step = min(length, k - length)
        if int(numbers.max()) >= ROOT:
            numbers = np.unique(numbers, return_inverse=True)[1].reshape(-1)
        pairs = numbers[: len(numbers) - step] * (int(numbers.max()) + 1)
        numbers, length = pairs + numbers[step:], length + step
    inside = lengths - k + 1
    rows = np.repeat(np.arange(len(lengths)), inside)
    gaps = np.repeat(np.cumsum(lengths - inside) - (lengths - inside), inside)
    places = np.arange(len(rows)) + gaps
    return rows, places, numbers[places]


def n_near(k: int, m: int, letters: int) -> int:
    """The number of k-mers that differ from one at m positions at most."""
    return sum(comb(k, j) * (letters - 1) ** j for j in range(m + 1))


def near(k_mers: Codes, m: int, letters: int) -> IntArray:
    """All k-mers that differ from some at m positions at most, as numbers to the base ``letters``.

    Parameters
    ----------
    k_mers : integers of shape (n, k)
        ``letters``^k is below 2^63.
    m, letters : int

    Returns
    -------
    int64 of shape (n, number of near ones)

    Examples
    --------
    >>> near(np.array([[1, 0]]), 1, 2)
    array([[2, 0, 3]])
    """
    k = k_mers.shape[1]
    values = letters ** np.arange(k - 1, -1, -1, dtype=np.int64)
    digits = k_mers.astype(np.int64)
    found = [digits @ values]
    for n_changed in range(1, m + 1):
        for places in combinations(range(k), n_changed):
            chosen = digits[:, places]
            for change in product(range(1, letters), repeat=n_changed):
                difference = (chosen + change) % letters - chosen
                found.append(found[0] + difference @ values[[*places]])
    return np.stack(found, axis=1)


def near_both(h: int, k: int, m: int, letters: int) -> int:
    """How many k-mers differ from a at m positions at most and from b at m at most.

    a and b differ at h positions.  At t of the k − h others, u differs from both; at i of the h it
    equals a, at j it equals b, and at the rest neither:

        Σ C(k − h, t)·(A − 1)^t · h!/(i!·j!·(h − i − j)!)·(A − 2)^(h − i − j)

    over all t, i, j with t + h − i ≤ m and t + h − j ≤ m.

    Parameters
    ----------
    h, k, m : int
    letters : int
        A, the size of the alphabet.

    Examples
    --------
    >>> [near_both(h, 3, 1, 4) for h in range(4)]
    [10, 4, 2, 0]
    """
    others = [comb(k - h, t) * (letters - 1) ** t for t in range(min(m, k - h) + 1)]
    up_to = list(accumulate(others))  # for all t up to one
    total = 0
    for i in range(max(0, h - m), min(m, h) + 1):
        for j in range(max(0, h - m), h - i + 1):
            most = min(m - h + min(i, j), len(up_to) - 1)
            neither = max(letters - 2, 0) ** (h - i - j)
            total += up_to[most] * comb(h, i) * comb(h - i, j) * neither
    return total
