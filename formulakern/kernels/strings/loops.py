"""The compiled loop of the weighted degree kernels: matches of 64 positions in one word.

The letters of a string are numbers below 2^P; bit p of the letter at position i is bit i of *plane*
p, a row of 64-bit words.  The positions at which x and z agree are then P exclusive ors of words,
and the positions at which their k-mers agree are a *mask* M_k:

    M_1 = the positions that agree,    M_{k+1} = M_k & (M_k shifted down by one).

With P_k the number of ones of M_k, the sum over k ≤ d of (d − k + 1)·P_k is the running sum, over
k, of the running sums of P_k.  TILE strings of z are worked on side by side, so that every loop is
one over neighbours in memory, which the compiler turns into vectors.  They are done when all masks
are zero, as they are past the longest run of agreeing positions.  Where some is not after ROUNDS
letters, what is left is summed position by position, so that the work for a pair is linear in the
length.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from formulakern.backends.intrinsics import vectorized
from formulakern.compilation import compiled
from formulakern.encoding.bits import ones

__all__ = ["TILE", "weighted_degree_block"]

#: Strings of z that are worked on side by side, and the longest k-mer that is.
TILE, ROUNDS = 64, 64
#: Unsigned, so that no index is taken for one from the end.
LANES, ONE, LAST = np.uint64(TILE), np.uint64(1), np.uint64(63)


@compiled()
def _of_runs(masks: Any, j: Any, degree: Any) -> Any:
    """Σ (degree − k + 1)·P_k over k ≤ degree, for one mask, position by position."""
    total, run, ending = 0, 0, 0  # ending: the weights of all k-mers that end here
    for bit in range(64 * len(masks)):  # the last word is one of zeros
        if masks[bit >> 6, j] >> np.uint64(bit & 63) & ONE:
            ending += max(degree - run, 0)
            run += 1
            total += ending
        else:
            run, ending = 0, 0
    return total


@compiled()
def _sum_matches(
    x: Any, valid: Any, z: Any, place: Any, degree: Any, masks: Any, sums: Any
) -> None:
    """Add Σ (degree − k + 1)·P_k to ``sums[1]``, for one string of x and TILE strings of z.

    ``place`` is the row of x, the move, and the first of the strings of z; ``sums[0]``, which holds
    P_1 + … + P_k, is 0 before and after.
    """
    vectorized()
    row, move, start = place
    words = np.uint64(valid.shape[1])
    for w in range(words):
        for j in range(LANES):
            masks[w, j] = valid[move, w]
        for p in range(np.uint64(x.shape[2])):
            letters = x[row, move, p, w]
            for j in range(LANES):
                masks[w, j] &= ~(letters ^ z[p, w, start + j])
    k, left = 0, ONE
    while k < min(degree, ROUNDS) and left:
        left = np.uint64(0)
        for w in range(words):
            for j in range(LANES):
                word = masks[w, j]
                sums[0, j] += ones(word)
                word &= (word >> ONE) | (masks[w + ONE, j] << LAST)
                masks[w, j] = word
                left |= word
        for j in range(LANES):
            sums[1, j] += sums[0, j]
        k += 1
    rest = np.uint64(degree - k)
    for j in range(LANES):
        sums[1, j] += sums[0, j] * rest
        sums[0, j] = 0
    if left and rest:
        for j in range(LANES):
            sums[1, j] += np.uint64(_of_runs(masks, j, degree - k))


@compiled(
    "void(uint64[:, :, :, ::1], uint64[:, ::1], float64[::1], uint64[:, :, ::1], int64,"
    "Tuple((uint64[:, ::1], uint64[:, ::1], float64[::1])), UniTuple(int64, 2), float64[:, ::1],"
    "UniTuple(int64, 2))"
)
def weighted_degree_block(
    x: Any, valid: Any, weights: Any, z: Any, degree: Any, work: Any, columns: Any, out: Any,
    corner: Any,
) -> None:  # fmt: skip
    """Fill a block with weighted degree kernels, with or without shifts.

    Parameters
    ----------
    x : uint64 (rows, 2·S + 1, planes, words)
        Every string of x as it is, then moved by 1, −1, 2, −2, …, S, −S positions.
    valid : uint64 (2·S + 1, words)
        The positions that have a letter in both strings.
    weights : float64 (S + 1,)
        Of the matches at each shift.
    z : uint64 (planes, words, strings of z padded to a multiple of TILE)
    degree : int
    work : (uint64 (words + 1, TILE), uint64 (2, TILE), float64 (TILE,))
        Zeros; all are 0 again afterwards, but the masks before the last word.
    columns : (int, int)
        The first string of z, and that behind the last.
    out : float64 (rows, columns)
    corner : (int, int)
        Row and column of ``out`` where the block begins.
    """
    masks, sums, values = work
    divisor = degree * (degree + 1) / 2
    for start in range(columns[0], columns[1], TILE):
        first = np.uint64(corner[1] + start - columns[0])
        width = np.uint64(min(TILE, columns[1] - start))
        for row in range(np.uint64(len(x))):
            for s in range(len(weights)):
                for move in range(max(2 * s - 1, 0), 2 * s + 1):
                    place = row, np.uint64(move), np.uint64(start)
                    _sum_matches(x, valid, z, place, degree, masks, sums)
                for j in range(LANES):
                    values[j] += np.float64(np.int64(sums[1, j])) * weights[s]
                    sums[1, j] = 0
            to = out[corner[0] + np.int64(row)]
            for j in range(width):
                to[first + j] = values[j] / divisor
                values[j] = 0
