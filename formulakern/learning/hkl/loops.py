"""Compiled: quadratic forms of the all-subsets kernel on the rows of many conjunctions."""

from __future__ import annotations

from typing import Any

import numpy as np

from formulakern.compilation import compiled

__all__ = ["overlap_sums", "subset_forms"]

_ONE, _TWO = np.uint64(1), np.uint64(2)
_FOUR, _LAST = np.uint64(4), np.uint64(56)
_PAIRS, _NIBBLES = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_BYTES, _SUM = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)


@compiled()
def _ones(word: Any) -> Any:
    """How many bits are set; LLVM knows the pattern and takes the processor's instruction."""
    word = word - ((word >> _ONE) & _PAIRS)
    word = (word & _NIBBLES) + ((word >> _TWO) & _NIBBLES)
    word = (word + (word >> _FOUR)) & _BYTES
    return (word * _SUM) >> _LAST


@compiled()
def _overlaps(packed: Any, a: Any, common: Any) -> None:
    """``common[b] = s_ab`` for b up to a; ``packed`` has a row per word, a column per example."""
    for b in range(a + 1):
        common[b] = _ones(packed[0, a] & packed[0, b])
    for k in range(1, packed.shape[0]):
        word = packed[k, a]
        for b in range(a + 1):
            common[b] += _ones(word & packed[k, b])


# adding in any order lets the sums be taken in vectors
@compiled(
    "void(uint64[:, ::1], float64[::1], float64[::1], int64[::1], int64[::1], float64[::1])",
    fastmath={"reassoc", "contract"},
)
def subset_forms(words: Any, beta: Any, powers: Any, rows: Any, starts: Any, out: Any) -> None:
    """``out[t] = Σ β_i β_j powers[s_ij]`` over pairs of ``rows[starts[t] : starts[t + 1]]``.

    s_ij is the number of bits that are set in both ``words[i]`` and ``words[j]``.
    """
    longest = 0
    for t in range(out.size):
        longest = max(longest, starts[t + 1] - starts[t])
    packed = np.empty((words.shape[1], longest), dtype=np.uint64)
    some = np.empty(longest)
    common = np.empty(longest, dtype=np.uint64)
    for t in range(out.size):
        n = starts[t + 1] - starts[t]
        for a in range(n):
            i = rows[starts[t] + a]
            some[a] = beta[i]
            for k in range(words.shape[1]):
                packed[k, a] = words[i, k]
        total = 0.0
        for a in range(n):
            _overlaps(packed, a, common)
            part = -0.5 * some[a] * powers[common[a]]
            for b in range(a + 1):
                part += some[b] * powers[common[b]]
            total += 2 * some[a] * part
        out[t] = total


@compiled("void(uint64[:, ::1], float64[::1], int64, int64, uint64[::1], float64[::1])")
def overlap_sums(packed: Any, beta: Any, first: Any, last: Any, common: Any, out: Any) -> None:
    """``out[s] += Σ β_i β_j`` over ordered pairs with s_ij = s, the larger in ``[first, last)``.

    ``packed`` has one row per word and one column per example; ``common`` is room for as many.
    """
    for a in range(first, last):
        _overlaps(packed, a, common)
        twice = 2 * beta[a]
        for b in range(a):
            out[common[b]] += twice * beta[b]
        out[common[a]] += beta[a] * beta[a]
