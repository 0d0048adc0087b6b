"""How an exported function integrates degrees: what Choquet models predict by.

These functions are copied into what is exported, so they need Python alone.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import combinations

__all__ = ["choquet_integral", "linear_degree", "rank_degree", "surest_winner", "winner"]


def linear_degree(x: float, least: float, largest: float) -> float:
    """Where a number lies between two others, from 0 to 1."""
    return min(max((x / 2 - least / 2) / (largest / 2 - least / 2), 0.0), 1.0)


def rank_degree(x: float, known: Sequence[float]) -> float:
    """The share of sorted numbers below x, and half of those equal to it."""
    return (bisect_left(known, x) + bisect_right(known, x)) / (2 * len(known))


def choquet_integral(degrees: Sequence[float], measure: Sequence[float]) -> float:
    """The integral of degrees by a set function, whose set t holds column i where bit i is 1.

    >>> choquet_integral([0.5, 0.25], [0.0, 1.0, 10.0, 14.0])
    3.75
    """
    order = sorted(range(len(degrees)), key=lambda column: -degrees[column])
    total, inside = 0.0, 0
    for place, column in enumerate(order):
        inside |= 1 << column
        below = degrees[order[place + 1]] if place + 1 < len(order) else 0.0
        total += (degrees[column] - below) * measure[inside]
    return total


def winner(scores: Sequence[float], n_classes: int) -> int:
    """The class with most votes of pairs, of several the first; a pair's score is for its second.

    >>> winner([1.0, -1.0, -1.0], 3), winner([-0.5], 2)
    (1, 0)
    """
    votes = [0] * n_classes
    for score, (first, second) in zip(scores, combinations(range(n_classes), 2), strict=True):
        votes[second if score >= 0 else first] += 1
    return votes.index(max(votes))


def surest_winner(scores: Sequence[float], n_classes: int) -> int:
    """The same, but of several the one with the largest scores.

    >>> surest_winner([-1.0, 1.0, -0.5], 3), surest_winner([0.0], 2)
    (2, 0)
    """
    votes, sums = [0] * n_classes, [0.0] * n_classes
    for score, (first, second) in zip(scores, combinations(range(n_classes), 2), strict=True):
        votes[second if score > 0 else first] += 1
        sums[first] -= score
        sums[second] += score
    shares = [n + total / (3 * (abs(total) + 1)) for n, total in zip(votes, sums, strict=True)]
    return shares.index(max(shares))
