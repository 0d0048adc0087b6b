"""Sums over pairs of examples, by how many propositions are true in both, compiled if large."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.compilation import compiled
from formulakern.deadline import UNLIMITED, Deadline, TimeIsOver
from formulakern.encoding.packed import PackedTable

__all__ = ["pair_form", "pair_forms"]

#: Pairs of examples that are looked at in one call, between which Ctrl-C is felt.
PAIRS = 1 << 26

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
    "float64(uint64[:, ::1], float64[::1], float64[::1], int64, int64)",
    fastmath={"reassoc", "contract"},
)
def pair_form(packed: Any, beta: Any, powers: Any, first: Any, last: Any) -> Any:
    """``Σ β_i β_j powers[s_ij]`` over ordered pairs, the larger in ``[first, last)``."""
    common = np.empty(last, dtype=np.uint64)
    total = 0.0
    for a in range(first, last):
        _overlaps(packed, a, common)
        part = -0.5 * beta[a] * powers[common[a]]
        for b in range(a + 1):
            part += beta[b] * powers[common[b]]
        total += 2 * beta[a] * part
    return total


def pair_forms(
    table: PackedTable,
    beta: FloatArray,
    covers: list[NDArray[np.intp]],
    powers: FloatArray,
    deadline: Deadline = UNLIMITED,
) -> FloatArray:
    """Σ β_i β_j powers[s_ij] over the pairs of examples of each cover, from above.

    Parameters
    ----------
    table : PackedTable of r rows
        s_ij, the overlap, is the number of columns that are 1 in rows i and j.
    beta : float64 (r,)
    covers : list of intp
        Positions of examples.
    powers : float64, for s = 0, 1, …
    deadline : Deadline, optional
        After it TimeIsOver is raised.
    """
    forms = np.zeros(len(covers))
    pays = pair_form.pays(sum(len(cover) ** 2 for cover in covers))
    if pays and not pair_form.ready(deadline):
        raise TimeIsOver
    for t, cover in enumerate(covers):
        deadline.check()
        words, own, n = table.rows[cover], beta[cover], len(cover)
        if pays:
            packed, step = np.ascontiguousarray(words.T), max(1, PAIRS // max(1, n))
            for start in range(0, n, step):
                deadline.check()
                forms[t] += pair_form(packed, own, powers, start, min(start + step, n))
        else:
            common = np.bitwise_count(words[:, None] & words[None]).sum(2, dtype=np.intp)
            forms[t] = own @ powers[common] @ own
        # rounding of a sum of terms of both signs, as a share of their sizes
        forms[t] += 1e-13 * float(np.abs(own).sum()) ** 2 * powers[-1]
    return np.maximum(forms, 0.0)
