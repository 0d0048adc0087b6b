"""The totals of a score card with their probabilities, as columns of text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.text import clip

#: Maximum number of lines; the probability (or 1 minus it) below which totals are merged.
MAX_TOTALS, MIN_TOTAL_PROBABILITY = 16, 0.01


def chance(total: float, start: float, unit: float) -> float:
    """Return 1/(1 + exp(−(total − start)/unit)).

    >>> chance(5, 5.0, 2.0), chance(-10_000, 5.0, 0.01)
    (0.5, 0.0)
    """
    return float(np.exp(-np.logaddexp(0.0, -(total - start) / unit)))


def possible_totals(points: Sequence[int]) -> list[int]:
    """Return the sums of all subsets of points in ascending order.

    >>> possible_totals([3, -1])
    [-1, 0, 2, 3]
    """
    least = sum(p for p in points if p < 0)
    there = 1 << -least  # bit k is the total k + least
    for p in points:
        there |= there << p if p > 0 else there >> -p
    return [k + least for k, bit in enumerate(reversed(bin(there)[2:])) if bit == "1"]


def total_cells(
    points: FloatArray, start: float, unit: float, classes: Sequence[Any]
) -> tuple[dict[str, list[str]], list[float]]:
    """Return totals, probabilities of the second class and predictions, and the probabilities.

    If there are more than ``MAX_TOTALS`` totals, those with nearly certain predictions become one
    line at each end.  Every k-th of the others is shown, including the first for the second class.

    >>> cells, _ = total_cells(np.array([2, -1]), 0.5, 1.0, ("no", "yes"))
    >>> cells["total"], cells["probability of yes"], cells["class"]
    (['-1', '0', '1', '2'], ['18.2%', '37.8%', '62.2%', '81.8%'], ['no', 'no', 'yes', 'yes'])
    """
    totals = possible_totals([int(p) for p in points])
    chances = [chance(total, start, unit) for total in totals]
    shown, words = [*range(len(totals))], [("", "")] * len(totals)
    if len(totals) > MAX_TOTALS:
        inner = [k for k in shown if MIN_TOTAL_PROBABILITY < chances[k] < 1 - MIN_TOTAL_PROBABILITY]
        first = inner[0] if inner else int(np.searchsorted(chances, 0.5))
        last = inner[-1] if inner else first - 1
        pivot = next((k for k in inner if totals[k] > start), first)
        every = math.ceil(len(inner) / (MAX_TOTALS - 2))
        shown = [k for k in inner if (k - pivot) % every == 0]
        if first > 0:
            shown.insert(0, first - 1)
            words[first - 1] = (" or less", "at most ")
        if last + 1 < len(totals):
            shown.append(last + 1)
            words[last + 1] = (" or more", "at least ")
    cells = {
        "total": [f"{totals[k]}{words[k][0]}" for k in shown],
        f"probability of {clip(str(classes[1]), 40)}": [
            f"{words[k][1]}{chances[k]:.1%}" for k in shown
        ],
        "class": [str(classes[int(totals[k] > start)]) for k in shown],
    }
    return cells, [chances[k] for k in shown]
