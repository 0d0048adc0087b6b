"""From many rules to a short list: a subset for every class, then an order of the classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray, IntArray
from formulakern.compilation import compiled
from formulakern.encoding.bits import Words
from formulakern.learning.covering.description_length import exception_bits
from formulakern.learning.covering.pessimistic import LabelledRows, weigh

__all__ = ["OrderedRules", "decided", "default_class", "ordered", "shortest_subset"]

#: Of so many rules all subsets are looked at.
FEW_RULES = 10
#: The share of errors that are expected to be false positives.
EXPECTED = 0.5
#: Description lengths that differ by less are equal.
BITS = 1e-9

Truths = npt.NDArray[np.bool_]


def shortest_subset(covers: Words, bits: FloatArray, rows: LabelledRows, label: int) -> IntArray:
    """The rules for one class that give the shortest description of the training rows.

    The length is that of the rules themselves and of the exceptions to them (rows of other
    classes that one of them covers, rows of this class that none does): an exact search over all
    subsets of at most ten rules; else hill climbing from the empty set, that adds or removes the
    rule by which the length falls most, until none does.

    Parameters
    ----------
    covers : ndarray of shape (R, words), uint64
        What each rule covers.
    bits : ndarray of shape (R,), float64
        The length of each rule.
    rows : LabelledRows
    label : int
        The class.

    Returns
    -------
    ndarray, int64
        Positions of rules, ascending.

    Notes
    -----
    A step of the climb costs O(R n / 64).

    References
    ----------
    Quinlan (1993), C4.5: Programs for Machine Learning, Morgan Kaufmann, section 5.2, with the
    code of exceptions of Quinlan (1995), MDL and categorical theories (continued), ICML, 464-470.
    """
    lengths = _Lengths(rows, label)
    if len(covers) <= FEW_RULES:
        return _best_of_all(covers, bits, lengths)
    chosen = np.zeros(len(covers), dtype=np.bool_)
    covered = right = theory = 0.0
    shortest = float(lengths.of(covered, right))
    change = np.empty((len(covers), 2))
    while True:
        weigh_toggles(covers, chosen, rows.masks[-1], rows.masks[label], rows.weights, change)
        sign = np.where(chosen, -1.0, 1.0)
        covered_then, right_then = covered + sign * change[:, 0], right + sign * change[:, 1]
        theory_then = theory + sign * bits
        found = lengths.of(covered_then, right_then) + theory_then
        best = int(found.argmin())
        if not found[best] < shortest - BITS:
            return np.flatnonzero(chosen).astype(np.int64)
        chosen[best] = not chosen[best]
        shortest, theory = float(found[best]), float(theory_then[best])
        covered, right = float(covered_then[best]), float(right_then[best])


@dataclass(frozen=True)
class _Lengths:
    """The bits of the exceptions to a rule set for one class."""

    rows: LabelledRows
    label: int

    def of(self, covered: npt.ArrayLike, right: npt.ArrayLike) -> FloatArray:
        """Of the weight that the rules cover, and of that of their class among it."""
        every, own = float(self.rows.totals.sum()), float(self.rows.totals[self.label])
        covered, right = np.asarray(covered), np.asarray(right)
        wrong, missed = (covered - right).clip(0.0), (own - right).clip(0.0)
        return exception_bits(EXPECTED, covered, (every - covered).clip(0.0), wrong, missed)


def _best_of_all(covers: Words, bits: FloatArray, lengths: _Lengths) -> IntArray:
    """The best subset: number s has the rules of the bits of s; of equal ones the first wins."""
    together = np.zeros((1, covers.shape[1]), dtype=np.uint64)
    theory = np.zeros(1)
    for cover, length in zip(covers, bits.tolist(), strict=True):
        together = np.concatenate([together, together | cover])
        theory = np.concatenate([theory, theory + length])
    weights = lengths.rows.by_class(together)
    found = lengths.of(weights.sum(axis=1), weights[:, lengths.label]) + theory
    subset = int(np.flatnonzero(found <= found.min() + BITS)[0])
    return np.array([r for r in range(len(covers)) if subset >> r & 1], dtype=np.int64)


@compiled(
    "void(uint64[:, ::1], boolean[::1], uint64[::1], uint64[::1], float64[::1], float64[:, ::1])"
)
def weigh_toggles(covers: Any, chosen: Any, present: Any, own: Any, weights: Any, out: Any) -> None:
    """The weight that adding a rule to a set would cover more, or removing it would cover less.

    Parameters
    ----------
    covers : uint64 (R, words)
    chosen : bool (R,), the rules of the set
    present, own : uint64 (words,), all rows and those of the rules' class
    weights : of :class:`LabelledRows`
    out : float64 (R, 2), receives the weight of rows, and of those of the class
    """
    n_words = covers.shape[1]
    once, twice = np.zeros(n_words, np.uint64), np.zeros(n_words, np.uint64)
    for r in range(len(covers)):
        if chosen[r]:
            for w in range(n_words):
                twice[w] |= once[w] & covers[r, w]
                once[w] |= covers[r, w]
    for w in range(n_words):
        twice[w] = present[w] & once[w] & ~twice[w]
        once[w] = present[w] & ~once[w]
    for r in range(len(covers)):
        changed = twice if chosen[r] else once
        total, right = 0.0, 0.0
        for w in range(n_words):
            rows = covers[r, w] & changed[w]
            if rows:
                total += weigh(rows, w, weights)
                right += weigh(rows & own[w], w, weights)
        out[r, 0] = total
        out[r, 1] = right


@compiled("void(uint64[:, ::1], int64[::1], uint64[:, ::1], float64[::1], float64[::1])")
def weigh_harm(covers: Any, claims: Any, masks: Any, weights: Any, out: Any) -> None:
    """How much less a list of rules would err without each one of them.

    The rows that a rule decides would be decided by the next rule that covers them.

    Parameters
    ----------
    covers : uint64 (R, words), in the order of the list
    claims : int64 (R + 1,), the classes of the rules and the default class
    masks, weights : of :class:`LabelledRows`
    out : float64 (R,), to which the weights are added
    """
    n_rules = len(covers)
    first = np.empty(64, np.int64)
    for w in range(covers.shape[1]):
        once, twice = np.uint64(0), ~masks[-1, w]
        for r in range(n_rules + 1):
            met = ~twice & (covers[r, w] if r < n_rules else once)
            twice |= met & once
            once |= met
            own = masks[claims[r], w]
            place = 0
            while met:
                if met & np.uint64(1):
                    bit = np.uint64(1) << np.uint64(place)
                    if twice & bit:
                        weight = weights[64 * w + place] if len(weights) else 1.0
                        before = masks[claims[first[place]], w]
                        out[first[place]] += weight * ((own & bit != 0) - (before & bit != 0))
                    else:
                        first[place] = r
                met >>= np.uint64(1)
                place += 1


@dataclass(frozen=True)
class OrderedRules:
    """Rules in their order, and the class of the rows that none of them covers.

    Parameters
    ----------
    order : ndarray, int64
        Positions of rules.
    default : int
    """

    order: IntArray
    default: int


def decided(covers: Words, rows: LabelledRows) -> FloatArray:
    """The weight by class of the rows that each rule of a list decides, and of the other rows.

    Parameters
    ----------
    covers : ndarray of shape (R, words), uint64
        In the order of the list.
    rows : LabelledRows

    Returns
    -------
    ndarray of shape (R + 1, K), float64

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
    """The most frequent class of the rows that no rule covers; of several, that of all rows.

    Parameters
    ----------
    uncovered : ndarray of shape (K,), float64
        The weight of these rows by class.
    rows : LabelledRows
    """
    return int(np.lexsort((-rows.totals, -uncovered))[0])


def ordered(
    covers: Words, labels: IntArray, errors: FloatArray, rows: LabelledRows
) -> OrderedRules:
    """An ordered list of rules: class by class, and without rules that do harm.

    First come the rules of the class with the fewest false positives, then those of the class
    with the fewest among the rows that are not covered yet, and so on; within a class the order
    (by pessimistic error) changes no prediction.  The default class is the most frequent one of
    the rows that no rule covers (the most frequent of all, of several).  At last, while there is
    a rule without which the list errs less on the training rows, the worst of them is removed.

    Parameters
    ----------
    covers : ndarray of shape (R, words), uint64
    labels : ndarray of shape (R,), int64
    errors : ndarray of shape (R,), float64
        Pessimistic errors.
    rows : LabelledRows

    Returns
    -------
    OrderedRules

    References
    ----------
    Quinlan (1993), C4.5: Programs for Machine Learning, Morgan Kaufmann, sections 5.3 and 5.4.
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
    return OrderedRules(_without_harm(covers, labels, order, default, rows), default)


def _without_harm(
    covers: Words, labels: IntArray, order: list[int], default: int, rows: LabelledRows
) -> IntArray:
    """The list without rules whose rows the rest of it classifies better."""
    kept = np.array(order, dtype=np.int64)
    while len(kept):
        harm = np.zeros(len(kept))
        claims = np.append(labels[kept], default)
        weigh_harm(covers[kept], claims, rows.masks, rows.weights, harm)
        worst = int(harm.argmax())
        if harm[worst] <= 0:
            break
        kept = np.delete(kept, worst)
    return kept
