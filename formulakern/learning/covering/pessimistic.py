"""Generalising rules by their pessimistic error, on packed covers.

A rule that a decision tree gives tests whatever stood on its path, needed or not.  C4.5's remedy is
to drop conditions one after another, as long as the error that has to be feared of the rule on new
rows does not rise.  That is not the share of errors on the training rows, which only falls as a
rule grows longer, but the upper limit of a confidence interval about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray, IntArray
from formulakern.compilation import compiled
from formulakern.encoding.bits import Words, pack_rows, row_counts

__all__ = ["LabelledRows", "covers_of", "generalised", "upper_error", "weigh"]

#: Conditions of rules that are generalised at a time take about this many bytes.
BLOCK_BYTES = 1 << 27

#: Sorts behind every condition.
END = np.iinfo(np.int64).max


def upper_error(errors: npt.ArrayLike, covered: npt.ArrayLike, confidence: float) -> FloatArray:
    r"""The pessimistic error U_CF(E, N) of a rule that covers N rows, E of them wrongly.

    It is the error rate p at which E errors or fewer among N rows have probability CF,

    .. math:: \sum_{i \le E} \binom{N}{i} p^i (1 - p)^{N - i} = CF,

    the upper confidence limit of the binomial distribution, which is the quantile 1 − CF of
    the beta distribution with parameters E + 1 and N − E.

    Parameters
    ----------
    errors, covered : array-like, float
        0 ≤ E ≤ N; weights may add up to fractions.
    confidence : float
        CF in (0, 1); the smaller, the more pessimistic.

    Returns
    -------
    ndarray of the common shape, float64
        1 where all rows are errors, or there are none.

    References
    ----------
    Clopper & Pearson (1934), Biometrika 26(4):404-413, doi:10.1093/biomet/26.4.404.
    Quinlan (1993), C4.5: Programs for Machine Learning, Morgan Kaufmann, chapters 4 and 5.

    Examples
    --------
    The leaves of 6, 9 and 1 rows without errors in Quinlan's chapter 4:

    >>> upper_error(0, [6, 9, 1], 0.25).round(3)
    array([0.206, 0.143, 0.75 ])
    """
    from scipy.special import betaincinv

    e, n = np.broadcast_arrays(np.asarray(errors, np.float64), np.asarray(covered, np.float64))
    pairs, place = np.unique(n + 1j * e, return_inverse=True)
    n, e = pairs.real, pairs.imag
    some = n > e
    limits = np.ones(len(pairs))
    limits[some] = betaincinv(e[some] + 1.0, n[some] - e[some], 1.0 - confidence)
    return np.asarray(limits[place])


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """The classes and weights of n rows, to weigh packed covers by.

    Parameters
    ----------
    masks : ndarray of shape (K + 1, ceil(n / 64)), uint64
        The rows of every class, and the rows of any; those of weight 0 are in none.
    weights : ndarray of shape (n,), or (0,) if all weights are 0 or 1, float64

    Examples
    --------
    >>> rows = LabelledRows.of(np.array([0, 1, 1]), 2, np.array([1.0, 0.5, 2.0]))
    >>> rows.by_class(pack_rows(np.array([[1, 1, 0], [1, 1, 1]])))
    array([[1. , 0.5],
           [1. , 2.5]])
    """

    masks: Words
    weights: FloatArray

    @classmethod
    def of(cls, codes: npt.NDArray[Any], n_classes: int, weights: FloatArray) -> LabelledRows:
        """Rows of the classes 0 … n_classes − 1."""
        present = weights > 0
        masks = [*(codes == np.arange(n_classes)[:, None]) & present, present]
        plain = bool(np.isin(weights, (0.0, 1.0)).all())
        return cls(pack_rows(np.array(masks)), weights[:0] if plain else weights)

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.masks) - 1

    @cached_property
    def totals(self) -> FloatArray:
        """The weight of every class, float64 of shape (K,)."""
        totals: FloatArray = self.by_class(self.masks[-1:])[0]
        return totals

    def by_class(self, covers: Words) -> FloatArray:
        """The weight of every class in every cover, float64 of shape (R, K)."""
        sums = np.empty((len(covers), self.n_classes))
        weigh_covers(np.ascontiguousarray(covers), self.masks, self.weights, sums)
        return sums


@compiled()
def weigh(word: Any, place: Any, weights: Any) -> Any:
    """The weight of the rows in one word of a cover; their number, if there are no weights."""
    if not len(weights):
        word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
        word = (word & np.uint64(0x3333333333333333)) + (
            (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
        )
        word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
        return np.float64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
    total = 0.0
    row = 64 * place
    while word:
        if word & np.uint64(1):
            total += weights[row]
        word >>= np.uint64(1)
        row += 1
    return total


@compiled("void(uint64[:, ::1], uint64[:, ::1], float64[::1], float64[:, ::1])")
def weigh_covers(covers: Any, masks: Any, weights: Any, out: Any) -> None:
    """The weight of every class in every cover."""
    for r in range(len(covers)):
        for k in range(out.shape[1]):
            total = 0.0
            for w in range(covers.shape[1]):
                total += weigh(covers[r, w] & masks[k, w], w, weights)
            out[r, k] = total


@compiled(
    "void(uint64[:, ::1], int64[:, ::1], int64[::1], int64[::1], uint64[:, ::1], float64[::1],"
    " float64[:, ::1], float64[:, ::1])"
)
def weigh_drops(
    words: Any,
    members: Any,
    sizes: Any,
    labels: Any,
    masks: Any,
    weights: Any,
    covered: Any,
    right: Any,
) -> None:
    """What every rule covers, and what it would cover without each one of its conditions.

    A row is gained by dropping a condition if that is the only one that it fails.

    Parameters
    ----------
    words : uint64 (C, words), on which rows each condition is true
    members : int64 (R, k), the conditions of rules, of which the first ``sizes[r]`` count
    sizes, labels : int64 (R,)
    masks, weights : of :class:`LabelledRows`
    covered, right : float64 (R, k + 1), receive the weight of all rows and of those of the rule's
        class: without condition d in column d, with all conditions in the last
    """
    width = members.shape[1]
    for r in range(len(members)):
        covered[r] = 0.0
        right[r] = 0.0
        for w in range(words.shape[1]):
            present, own = masks[-1, w], masks[labels[r], w]
            once, twice = np.uint64(0), np.uint64(0)
            for d in range(sizes[r]):
                fails = present & ~words[members[r, d], w]
                twice |= once & fails
                once |= fails
                if twice == present:
                    break
            every = present & ~once
            if every:
                covered[r, width] += weigh(every, w, weights)
                right[r, width] += weigh(every & own, w, weights)
            near = once & ~twice
            if near:
                for d in range(sizes[r]):
                    gained = near & ~words[members[r, d], w]
                    if gained:
                        covered[r, d] += weigh(gained, w, weights)
                        right[r, d] += weigh(gained & own, w, weights)
        for d in range(sizes[r]):
            covered[r, d] += covered[r, width]
            right[r, d] += right[r, width]


def covers_of(
    words_of: Callable[[IntArray], Words], members: IntArray, sizes: IntArray, rows: LabelledRows
) -> Words:
    """The rows on which all conditions of each rule are true.

    Parameters
    ----------
    words_of, members, sizes, rows
        As :func:`generalised` has them.

    Returns
    -------
    ndarray of shape (R, words), uint64
        Without the rows of weight 0.
    """
    covers = np.repeat(rows.masks[-1:], len(members), axis=0)
    for part, known, local in _blocks(members, sizes, rows):
        words = words_of(known)
        for d in range(int(sizes[part].max(initial=0))):
            longer = np.flatnonzero(sizes[part] > d)
            covers[part.start + longer] &= words[local[longer, d]]
    return covers


def generalised(
    words_of: Callable[[IntArray], Words],
    members: IntArray,
    sizes: IntArray,
    labels: IntArray,
    rows: LabelledRows,
    confidence: float,
) -> tuple[IntArray, IntArray, FloatArray]:
    """Rules without the conditions that their pessimistic error does not need.

    Of every rule the condition is dropped whose removal gives the lowest pessimistic error (of
    several, the one that is true on the fewest rows), as long as this is not above that of the
    rule as it stands.

    Parameters
    ----------
    words_of : callable
        Words of the conditions of these numbers, uint64 of shape (number of them, words); asked
        for blocks of rules, so that memory does not grow with the number of rules.
    members : ndarray of shape (R, k), int64
        Conditions of rules, k ≥ 1.
    sizes : ndarray of shape (R,), int64
        How many of them each rule has; what stands behind these is not read.
    labels : ndarray of shape (R,), int64
        The classes that rules conclude.
    rows : LabelledRows
    confidence : float

    Returns
    -------
    members, sizes : ndarray of shape (R, k) and (R,), int64
        The conditions of every rule, ascending, then −1.
    errors : ndarray of shape (R,), float64
        Pessimistic errors.

    Notes
    -----
    A round costs O(k n / 64) for a rule, and there is one for each condition that is dropped.

    References
    ----------
    Quinlan (1993), C4.5: Programs for Machine Learning, Morgan Kaufmann, section 5.1.
    """
    members, sizes = members.copy(), sizes.copy()
    errors = np.empty(len(members))
    for part, known, local in _blocks(members, sizes, rows):
        words = words_of(known)
        errors[part] = _generalise(words, local, sizes[part], labels[part], rows, confidence)
        held = np.arange(members.shape[1]) < sizes[part, None]
        kept = np.sort(np.where(held, np.append(known, END)[local], END), axis=1)
        members[part] = np.where(kept == END, -1, kept)
    return members, sizes, errors


def _blocks(
    members: IntArray, sizes: IntArray, rows: LabelledRows
) -> Iterator[tuple[slice, IntArray, IntArray]]:
    """Blocks of rules, the conditions that they have, and the rules as positions in these."""
    most = max(BLOCK_BYTES // (8 * rows.masks.shape[1]), int(sizes.max(initial=1)))
    block = np.cumsum(sizes) // most * (len(np.unique(members)) > most)
    ends = np.flatnonzero(np.diff(block, append=-1)) + 1
    for start, stop in pairwise([0, *ends.tolist()]):
        held = np.arange(members.shape[1]) < sizes[start:stop, None]
        used, places = np.unique(np.where(held, members[start:stop], -1), return_inverse=True)
        known = used[used >= 0]
        local = places.reshape(stop - start, -1) - (len(used) - len(known))
        yield slice(start, stop), known, np.ascontiguousarray(local, dtype=np.int64)


def _generalise(
    words: Words,
    members: IntArray,
    sizes: IntArray,
    labels: IntArray,
    rows: LabelledRows,
    confidence: float,
) -> FloatArray:
    """Generalise rules in place, and return their pessimistic errors."""
    errors = np.empty(len(members))
    active, width = np.arange(len(members)), members.shape[1]
    # what is rarely true stands first: it soon settles that a row fails twice
    true_rows = np.append(row_counts(words), END)
    order = np.argsort(true_rows[members], axis=1, kind="stable")
    members[:] = np.take_along_axis(members, order, axis=1)
    while len(active):
        covered = np.empty((len(active), width + 1))
        right = np.empty_like(covered)
        part, counts = np.ascontiguousarray(members[active]), sizes[active]
        weigh_drops(words, part, counts, labels[active], rows.masks, rows.weights, covered, right)
        there = np.arange(width) < counts[:, None]
        limits = np.full(covered.shape, np.inf)
        asked = np.column_stack([there, np.ones(len(active), dtype=np.bool_)])
        wrong = (covered - right).clip(0.0)[asked]
        limits[asked] = upper_error(wrong, covered[asked], confidence)
        errors[active] = limits[:, -1]
        place = limits[:, :-1].argmin(axis=1)
        better = (counts > 0) & (limits[np.arange(len(active)), place] <= limits[:, -1])
        active, place = active[better], place[better, None]
        left = np.arange(width - 1) + (np.arange(width - 1) >= place)
        members[active, :-1] = np.take_along_axis(members[active], left, axis=1)
        sizes[active] -= 1
    return errors
