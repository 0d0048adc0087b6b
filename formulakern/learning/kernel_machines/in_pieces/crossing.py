"""Where the sum of weights of points that lie in pieces, in ascending order, reaches a level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.partitions.partitioned import Partitioned

__all__ = ["Crossing", "crossing"]

#: Points that a piece tells of at a time.
MOST = 1024


@dataclass(frozen=True)
class Crossing:
    """The first point up to which the weights add up to a level.

    Attributes
    ----------
    point, following : float
        It, and the next one; the same where there is none.
    reached : float
        The weights up to the point.
    """

    point: float
    following: float
    reached: float


@dataclass(frozen=True, eq=False)
class _Steps:
    """The weights of a piece's points in an interval, added up.

    Attributes
    ----------
    before : float
        Weights up to the interval.
    points, reached : float64 (k,)
        Different points of the interval, ascending, and the weights up to each; the last one is
        among them.
    beyond : float
        The first point behind the interval.
    complete : bool
        Whether these are all points of the interval.
    """

    before: float
    points: FloatArray
    reached: FloatArray
    beyond: float
    complete: bool

    def bounds(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The least and the most that the weights up to each point may be."""
        reached = np.concatenate([[self.before], self.reached])
        place = np.searchsorted(self.points, points, side="right")
        if self.complete or not len(self.points):
            return reached[place], reached[place]
        known = np.concatenate([[-np.inf], self.points])[place] == points
        return reached[place], reached[np.minimum(place + ~known, len(self.points))]


def crossing(
    pieces: Partitioned, points_of: Callable[[Any], tuple[FloatArray, FloatArray]], level: float
) -> Crossing | None:
    """The least point b with Σ {weights of points ≤ b} ≥ level; the last one if there is none.

    Parameters
    ----------
    pieces : Partitioned
    points_of : callable
        The points of a piece, and their weights, at least 0; defined at the top of a module.
    level : float

    Returns
    -------
    Crossing or None
        None where there are no points.

    Notes
    -----
    Each round divides the number of points that are left by some hundred.

    Examples
    --------
    >>> from formulakern.partitions.partitioned import Partitioned
    >>> pieces = Partitioned([(np.array([3.0, 1.0]), np.ones(2)), (np.array([2.0]), np.ones(1))])
    >>> crossing(pieces, tuple, 2.0)
    Crossing(point=2.0, following=3.0, reached=2.0)
    """
    low, high, most = -np.inf, np.inf, MOST
    while True:
        steps: list[_Steps] = pieces.map(steps_between, points_of, low, high, most)
        points = np.unique(np.concatenate([part.points for part in steps]))
        if not len(points):
            return None
        bounds = [part.bounds(points) for part in steps]
        least, greatest = (np.sum(part, axis=0) for part in zip(*bounds, strict=True))
        if all(part.complete for part in steps):
            place = min(int(np.searchsorted(least, level)), len(points) - 1)
            ends = [*points[place + 1 :][:1].tolist(), *(part.beyond for part in steps)]
            point, following = float(points[place]), min(ends)
            following = following if np.isfinite(following) else point
            return Crossing(point, following, float(least[place]))
        if least[-1] < level and np.isinf(high):  # not even all of them
            return Crossing(float(points[-1]), float(points[-1]), float(least[-1]))
        short, enough = np.flatnonzero(greatest < level), np.flatnonzero(least >= level)
        low = float(points[short[-1]]) if len(short) else low
        high = float(points[enough[0]]) if len(enough) else high
        most *= 2  # so that an end is certain


def steps_between(
    value: Any,
    points_of: Callable[[Any], tuple[FloatArray, FloatArray]],
    low: float,
    high: float,
    most: int,
) -> _Steps:
    """The points of a piece in an interval (low, high], at most so many of them."""
    points, weights = points_of(value)
    inside = (points > low) & (points <= high)
    before = float(weights[points <= low].sum())
    beyond = float(points[points > high].min(initial=np.inf))
    points, kind = np.unique(points[inside], return_inverse=True)
    reached = before + np.cumsum(np.bincount(kind, weights[inside], len(points)))
    complete = len(points) <= most
    if not complete:
        chosen = np.linspace(0, len(points) - 1, most).astype(np.intp)
        points, reached = points[chosen], reached[chosen]
    return _Steps(before, points, np.asarray(reached, dtype=np.float64), beyond, complete)
