"""C4.5's conversion of the paths of a tree to a short list of rules, on packed covers.

Each rule is generalised: conditions are dropped as long as the pessimistic error, the upper limit
of a confidence interval for the error rate, does not rise. For every class a subset of the rules
is chosen by its description length, and the classes are ordered.

Reference: Quinlan (1993), C4.5: Programs for Machine Learning, Morgan Kaufmann, chapter 5.
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
from formulakern.encoding.bits import Words, ones, pack_rows, row_counts
from formulakern.learning.covering.description_length import exception_bits

#: Approximate bytes for the conditions of the rules that are generalised at a time.
BLOCK_BYTES = 1 << 27

#: Padding that sorts after every condition.
END = np.iinfo(np.int64).max


def upper_error(errors: npt.ArrayLike, covered: npt.ArrayLike, confidence: float) -> FloatArray:
    r"""Return the pessimistic error U_CF(E, N) of a rule that covers N rows with E errors.

    It is the error rate p for which at most E errors among N rows have probability CF,

    .. math:: \sum_{i \le E} \binom{N}{i} p^i (1 - p)^{N - i} = CF,

    the upper confidence limit of the binomial distribution, which is the quantile 1 − CF of
    the beta distribution with parameters E + 1 and N − E.

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
    """The classes and weights of n rows, for weighing packed covers.

    ``masks`` (K + 1, ceil(n / 64)) are the rows of each class, then all rows, without those of
    weight 0. ``weights`` is (n,), or (0,) if all weights are 0 or 1.

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
        """Return rows of the classes 0 … n_classes − 1."""
        present = weights > 0
        masks = [*(codes == np.arange(n_classes)[:, None]) & present, present]
        plain = bool(np.isin(weights, (0.0, 1.0)).all())
        return cls(pack_rows(np.array(masks)), weights[:0] if plain else weights)

    @property
    def n_classes(self) -> int:
        """The number of classes, K."""
        return len(self.masks) - 1

    @cached_property
    def totals(self) -> FloatArray:
        """The weight of every class, float64 of shape (K,)."""
        totals: FloatArray = self.by_class(self.masks[-1:])[0]
        return totals

    def by_class(self, covers: Words) -> FloatArray:
        """Return the weight of every class in every cover, float64 of shape (R, K)."""
        return self.within(covers, self.masks[:-1])

    def within(self, covers: Words, masks: Words) -> FloatArray:
        """Return the weight of every cover within every mask, float64 (covers, masks)."""
        sums = np.empty((len(covers), len(masks)))
        weigh_covers(np.ascontiguousarray(covers), masks, self.weights, sums)
        return sums


@compiled()
def weigh(word: Any, place: Any, weights: Any) -> Any:
    """Return the weight of the rows in one word of a cover, or their number without weights."""
    if not len(weights):
        return np.float64(ones(word))
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
    """Compute the weight of every cover within every mask."""
    for r in range(len(covers)):
        for k in range(len(masks)):
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
    """Weigh the cover of each rule without condition d in column d, the full rule in the last.

    A row is gained by dropping a condition if it is the only one that fails.  ``right`` has the
    weight of the rule's class within ``covered``, both float64 (R, k + 1).
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
    """Return the rows of positive weight on which all conditions of each rule are true."""
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
    """Drop the conditions of rules that their pessimistic error does not need.

    A round drops from each rule the condition whose removal gives the lowest pessimistic error (in
    a tie, the one that is true on the fewest rows), as long as the error does not rise.  Returns
    the conditions of each rule, ascending and padded with −1, their numbers, and the pessimistic
    errors.  A round costs O(k n / 64) per rule.
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
    """Yield blocks of rules, their conditions, and the rules as positions in these."""
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
    # rarely true conditions first: they soon settle that a row fails twice
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


#: The largest number of rules for which all subsets are searched.
MAX_EXACT_RULES = 10
#: The expected share of false positives among the errors.
EXPECTED_SHARE = 0.5
#: Description lengths that differ by less count as equal.
MIN_BITS = 1e-9

Truths = npt.NDArray[np.bool_]


def shortest_subset(covers: Words, bits: FloatArray, rows: LabelledRows, label: int) -> IntArray:
    """Return the rules for one class that give the shortest description of the training rows.

    The length counts the rules and their exceptions: rows of other classes that a rule covers, and
    rows of this class that no rule covers.  The search is exact over all subsets of at most ten
    rules; otherwise it is hill climbing from the empty set, which adds or removes the rule that
    shortens the description most.

    References
    ----------
    Quinlan (1993), C4.5: Programs for Machine Learning, Morgan Kaufmann, section 5.2, with the
    code of exceptions of Quinlan (1995), MDL and categorical theories (continued), ICML, 464-470.
    """
    every, own = float(rows.totals.sum()), float(rows.totals[label])

    def exceptions(covered: Any, right: Any) -> FloatArray:
        """Return the bits of the exceptions for the weight covered, in all and of the class."""
        covered, right = np.asarray(covered), np.asarray(right)
        wrong, missed = (covered - right).clip(0.0), (own - right).clip(0.0)
        return exception_bits(EXPECTED_SHARE, covered, (every - covered).clip(0.0), wrong, missed)

    # the bits of s select the rules of subset s; the first one wins
    if len(covers) <= MAX_EXACT_RULES:
        together, theory = np.zeros((1, covers.shape[1]), dtype=np.uint64), np.zeros(1)
        for cover, length in zip(covers, bits.tolist(), strict=True):
            together = np.concatenate([together, together | cover])
            theory = np.concatenate([theory, theory + length])
        weights = rows.by_class(together)
        found = exceptions(weights.sum(axis=1), weights[:, label]) + theory
        subset = int(np.flatnonzero(found <= found.min() + MIN_BITS)[0])
        return np.flatnonzero(subset >> np.arange(len(covers)) & 1)
    chosen = np.zeros(len(covers), dtype=np.bool_)
    covered = right = spent = 0.0
    shortest = float(exceptions(covered, right))
    while True:
        change = rows.within(toggled(covers, chosen), rows.masks[[-1, label]])
        sign = np.where(chosen, -1.0, 1.0)
        covered_then, right_then = covered + sign * change[:, 0], right + sign * change[:, 1]
        spent_then = spent + sign * bits
        found = exceptions(covered_then, right_then) + spent_then
        best = int(found.argmin())
        if not found[best] < shortest - MIN_BITS:
            return np.flatnonzero(chosen).astype(np.int64)
        chosen[best] = not chosen[best]
        shortest, spent = float(found[best]), float(spent_then[best])
        covered, right = float(covered_then[best]), float(right_then[best])


def toggled(covers: Words, chosen: Truths) -> Words:
    """Return the rows whose coverage changes if each rule is added to a set, or removed."""
    once, twice = np.zeros_like(covers[:2])
    for cover in covers[chosen]:
        twice |= once & cover
        once |= cover
    return np.asarray(covers & np.where(chosen[:, None], ~twice, ~once))


def harm(covers: Words, claims: IntArray, rows: LabelledRows) -> FloatArray:
    """Return the decrease in the weight of errors if each rule of a list is removed.

    ``claims`` are the classes of the rules and of the default.
    """
    own, without = rows.masks[claims[:-1]], np.empty_like(covers)
    right = rows.masks[claims[-1]]  # rows that the later rules classify correctly
    for r in reversed(range(len(covers))):
        without[r] = right
        right = covers[r] & own[r] | ~covers[r] & right
    alone = covers.copy()
    alone[1:] &= ~np.bitwise_or.accumulate(covers, axis=0)[:-1]
    gained, lost = (
        rows.within(alone & now & ~then, rows.masks[-1:])[:, 0]
        for now, then in ((without, own), (own, without))
    )
    return np.asarray(gained - lost)


def decided(covers: Words, rows: LabelledRows) -> FloatArray:
    """Return the weight by class of the rows that each rule of a list decides, then of the rest.

    Examples
    --------
    >>> rows = LabelledRows.of(np.array([0, 1, 1, 0]), 2, np.ones(4))
    >>> decided(np.array([[0b0011], [0b0110]], dtype=np.uint64), rows)
    array([[1., 1.],
           [0., 1.],
           [1., 0.]])
    """
    before = np.bitwise_or.accumulate(covers, axis=0) if len(covers) else covers
    own = np.concatenate([covers, np.full((1, covers.shape[1]), ~np.uint64(0))])
    own[1:] &= ~before
    return rows.by_class(own)


def default_class(uncovered: FloatArray, rows: LabelledRows) -> int:
    """Return the class of the largest uncovered weight; in a tie, of the largest total weight."""
    return int(np.lexsort((-rows.totals, -uncovered))[0])


def ordered(
    covers: Words, labels: IntArray, errors: FloatArray, rows: LabelledRows
) -> tuple[IntArray, int]:
    """Return an ordered list of rules, class by class, without harmful rules, and the default.

    The first class is the one with the fewest false positives, the next the one with the fewest
    among the rows not covered yet, and so on; within a class the order (by pessimistic error)
    changes no prediction.  The default is the most frequent class of the uncovered rows (in a tie,
    of all rows).  Finally, the worst rule is removed as long as this reduces the training errors.
    """
    order: list[int] = []
    left = rows.masks[-1].copy()
    waiting = set(labels.tolist())
    while waiting:
        classes = sorted(waiting)
        unions = [np.bitwise_or.reduce(covers[labels == k], axis=0) & left for k in classes]
        weights = rows.by_class(np.array(unions))
        wrong = weights.sum(axis=1) - weights[np.arange(len(classes)), classes]
        first = int(wrong.argmin())
        own = np.flatnonzero(labels == classes[first])
        order += own[np.argsort(errors[own], kind="stable")].tolist()
        left &= ~unions[first]
        waiting.remove(classes[first])
    default = default_class(rows.by_class(left[None])[0], rows)
    kept = np.array(order, dtype=np.int64)
    while len(kept):
        harms = harm(covers[kept], np.append(labels[kept], default), rows)
        worst = int(harms.argmax())
        if harms[worst] <= 0:
            break
        kept = np.delete(kept, worst)
    return kept, default
