"""Sums over pairs of examples, by how many propositions are true in both, compiled if large."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.compilation import CompiledFunction, compiled
from formulakern.deadline import UNLIMITED, Deadline, TimeIsOver
from formulakern.encoding.packed import PackedTable

__all__ = ["BATCH", "overlap_sums", "pair_forms", "subset_forms", "sums_by_overlap"]


#: Sets, or examples, that are done in one compiled call, between which Ctrl-C is felt.
BATCH = 256
#: Pairs of examples that are looked at in one call.
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

    Raises
    ------
    TimeIsOver
    """
    starts = np.zeros(len(covers) + 1, dtype=np.int64)
    np.cumsum([len(cover) for cover in covers], out=starts[1:])
    rows = np.concatenate(covers).astype(np.int64)
    if subset_forms.pays(sum(len(cover) ** 2 for cover in covers)):
        _load(subset_forms, deadline)
        forms = np.empty(len(covers))
        first, last = 0, len(covers)
        while first < len(covers):
            if deadline.limited:
                deadline.check()
                work = np.cumsum(np.diff(starts[first:]) ** 2)
                last = first + max(1, int(np.searchsorted(work, PAIRS, side="right")))
            if deadline.limited and len(covers[first]) ** 2 > PAIRS:  # in slices of its own
                some = table.take(covers[first])
                sums = sums_by_overlap(some, beta[covers[first]], deadline)
                forms[first] = sums @ powers[: len(sums)]
            else:
                ends = starts[first : last + 1]
                subset_forms(table.rows, beta, powers, rows, ends, forms[first:last])
            first = last
    else:
        parts = [(beta[cover], powers[_all_overlaps(table, cover)]) for cover in covers]
        forms = np.array([some @ values @ some for some, values in parts])
    sizes = np.add.reduceat(np.append(np.abs(beta)[rows], 0.0), starts[:-1])
    sizes[starts[:-1] == starts[1:]] = 0.0
    # rounding of a sum of terms of both signs, as a share of their sizes
    forms += 1e-13 * sizes**2 * powers[-1]
    return np.asarray(np.maximum(forms, 0.0))


def sums_by_overlap(
    table: PackedTable, beta: FloatArray, deadline: Deadline = UNLIMITED
) -> FloatArray:
    """For s = 0, 1, …: Σ β_i β_j over the pairs of examples with s_ij = s.

    Raises
    ------
    TimeIsOver
    """
    n = len(beta)
    sums = np.zeros(int(table.counts.max(initial=0)) + 1)
    if overlap_sums.pays(n**2):
        _load(overlap_sums, deadline)
        packed = np.ascontiguousarray(table.rows.T)
        common = np.empty(n, dtype=np.uint64)
        for start in range(0, n, BATCH):
            deadline.check()
            overlap_sums(packed, beta, start, min(start + BATCH, n), common, sums)
    else:
        np.add.at(sums, _all_overlaps(table, np.arange(n)), np.outer(beta, beta))
    return sums


def _load(loop: CompiledFunction[..., None], deadline: Deadline) -> None:
    if not loop.ready(deadline):
        raise TimeIsOver


def _all_overlaps(table: PackedTable, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    words = table.rows[rows]
    return np.asarray(np.bitwise_count(words[:, None] & words[None]).sum(2, dtype=np.intp))
