"""Learning dynamics of matrix games: both players choose again and again, and averages converge.

A dynamic is played in slices of compiled rounds of some 0.05 s.  Between slices progress is
reported, the time limit is looked at, and Ctrl-C is felt.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from formulakern.solvers.stopping import Monitor

__all__ = ["TINY", "Dynamics", "Outcome", "iterate"]

FloatArray = npt.NDArray[np.float64]

#: Seconds that a slice should take.
SLICE_SECONDS = 0.05
#: Entries of vectors or of the matrix that the first slice goes through.
FIRST_WORK = 500_000
#: Differences of payoffs below this count as none; it can be divided by.
TINY = 1e-200


class Dynamics(Protocol):
    """Two players who update their mixed strategies round by round."""

    #: The gap falls as the number of rounds to the power −1/speed.
    speed: float

    def advance(self, rounds: int, tol: float) -> int:
        """Play; the number of rounds, or minus that if the last one brought the gap to ``tol``."""

    def weights(self) -> tuple[FloatArray, FloatArray]:
        """Vectors (m,) and (n,) that the mean strategies so far are proportional to."""

    def refresh(self) -> None:
        """Compute afresh from the matrix what was summed up round by round."""

    def round_cost(self) -> int:
        """Entries of vectors or of the matrix that a round goes through."""


class Outcome(NamedTuple):
    """After how many rounds a run ended, and whether the time limit ended it."""

    rounds: int
    timed_out: bool


def iterate(
    dynamics: Dynamics,
    gap_of: Callable[[FloatArray, FloatArray], float],
    *,
    tol: float,
    max_iter: int,
    time_limit: float | None,
    progress: Callable[[float], None] | None,
) -> Outcome:
    """Play until the gap is at most ``tol``, or the rounds or the seconds are over.

    Parameters
    ----------
    dynamics : Dynamics
    gap_of : callable
        The duality gap of two vectors of weights, computed from the matrix.  The gap that the
        dynamic sums up round by round only says when it is worth looking.
    tol : float
    max_iter : int
    time_limit : float, optional
        Seconds.  It is passed by some 0.05 s at most, or by one round; one round is always played.
    progress : callable, optional
        Called between slices with an estimate of the share that is done, which never falls.

    Returns
    -------
    Outcome
    """
    monitor = Monitor(progress, time_limit)
    slice_rounds = max(1, FIRST_WORK // dynamics.round_cost())
    rounds, timed_out = 0, False
    while rounds < max_iter and not timed_out:
        begin = time.perf_counter()
        asked = min(slice_rounds, max_iter - rounds)
        done = dynamics.advance(asked, tol)
        rounds += abs(done)
        seconds = time.perf_counter() - begin
        speed = SLICE_SECONDS / max(seconds, 1e-6) if abs(done) == asked else 1.0
        slice_rounds = int(slice_rounds * min(4.0, max(0.25, speed))) + 1
        gap = gap_of(*dynamics.weights()) if done < 0 or (progress and tol) else np.inf
        if gap <= tol:
            break
        if done < 0:  # rounding had hidden the rest of the gap
            dynamics.refresh()
        monitor.report(max(rounds / max_iter, (tol / gap) ** dynamics.speed))
        timed_out = rounds < max_iter and monitor.time_is_over()
    if not timed_out:
        monitor.report(1.0)
    return Outcome(rounds, timed_out)
