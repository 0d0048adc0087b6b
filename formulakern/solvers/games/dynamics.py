"""Two players who learn a matrix game by playing it, in short slices of compiled rounds.

Between slices progress is reported, a time limit is looked at, and Ctrl-C is felt.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from formulakern.solvers.games.fictitious_loops import BLOCK, fictitious_rounds
from formulakern.solvers.games.hedge_loops import hedge_rounds

__all__ = ["TINY", "Dynamics", "FictitiousPlay", "Hedge", "Outcome", "iterate"]

FloatArray = npt.NDArray[np.float64]

#: Seconds that a slice should take.
SLICE_SECONDS = 0.05
#: Entries of vectors or of the matrix that the first slice goes through.
FIRST_WORK = 500_000
#: What the sum of mixability gaps starts with, as a share of the range of payoffs.  AdaHedge starts
#: with 0, that is with all weight on the best choice so far, and there rounding decides between
#: choices that are equally good.
FIRST_GAP = 0.25
#: Differences of payoffs below this count as none; it can be divided by.
TINY = 1e-200
#: Payoffs up to this fit in a byte together with their negatives.
LARGEST_BYTE = 127
#: Sums of whole payoffs up to this fit in 32 bits.
LARGEST_SUM = 2**31 - 1


class Dynamics(Protocol):
    """Both sides of a game, which can be played for some rounds, and then for some more."""

    #: The gap falls as the number of rounds to the power −1/speed.
    speed: float

    def advance(self, rounds: int, tol: float) -> int:
        """Play; the number of rounds, or minus that if the last one brought the gap to ``tol``."""

    def weights(self) -> tuple[FloatArray, FloatArray]:
        """What the strategies are proportional to."""

    def refresh(self) -> None:
        """Compute afresh from the matrix what was summed up round by round."""

    def round_cost(self) -> int:
        """Entries of vectors or of the matrix that a round goes through."""


class Outcome(NamedTuple):
    """How a play ended: after how many rounds, and whether the time limit ended it."""

    rounds: int
    timed_out: bool


class FictitiousPlay:
    """In each round the row player, then the column player, answers best what was played so far.

    Parameters
    ----------
    M : float64 (m, n)
    row_counts, column_counts : float64 (m,), (n,)
        Rounds that count as played before the first.
    max_iter : int
        Rounds that will be played at most.

    Notes
    -----
    Where all payoffs are whole numbers up to 127 in size, and so are the counts, they are kept in a
    byte each and summed in 32 bits: the same rounds, in an eighth of the memory.
    """

    speed = 2.0

    def __init__(
        self, M: FloatArray, row_counts: FloatArray, column_counts: FloatArray, max_iter: int
    ) -> None:
        self._M = M
        self._row_counts, self._column_counts = row_counts.copy(), column_counts.copy()
        largest = max(float(M.max()), -float(M.min()))
        total = max(float(row_counts.sum()), float(column_counts.sum())) + max_iter
        small = largest <= LARGEST_BYTE and largest * total <= LARGEST_SUM
        self._whole = small and all(map(_is_whole, (M, row_counts, column_counts)))
        m, n = M.shape
        kind = np.int8 if self._whole else np.float64
        self._payoffs = _aligned((m, _padded(n)), kind)
        self._payoffs[:, :n] = M
        self._losses = _aligned((n, _padded(m)), kind)
        self._losses[:, :m] = M.T
        np.negative(self._losses, out=self._losses)
        self.refresh()

    def refresh(self) -> None:
        """Compute the payoffs of all choices against the counts afresh."""
        self._row_totals, self._row_tops = self._totals(-(self._M @ self._column_counts))
        self._column_totals, self._column_tops = self._totals(self._row_counts @ self._M)

    def advance(self, rounds: int, tol: float) -> int:
        """Play; the number of rounds, or minus that if the last one brought the gap to ``tol``."""
        return int(
            fictitious_rounds(
                self._payoffs,
                self._losses,
                self._row_totals,
                self._column_totals,
                self._row_tops,
                self._column_tops,
                self._row_counts,
                self._column_counts,
                float(self._row_counts.sum()),
                float(self._column_counts.sum()),
                tol,
                rounds,
            )
        )

    def weights(self) -> tuple[FloatArray, FloatArray]:
        """How often each row and each column was played."""
        return self._row_counts, self._column_counts

    def round_cost(self) -> int:
        """A row and a column."""
        return sum(self._M.shape)

    def _totals(self, values: FloatArray) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Padded with the lowest number, and the largest entry of each block."""
        kind = np.int32 if self._whole else np.float64
        totals = _aligned((_padded(len(values)),), kind)
        totals[:] = np.iinfo(np.int32).min if self._whole else -np.inf
        totals[: len(values)] = values
        return totals, totals.reshape(-1, BLOCK).max(axis=1)


class Hedge:
    """In each round both players weigh their choices by exp(−η · loss so far), with a forecast.

    η = ln(choices) / (a quarter of the payoffs' range + the player's sum of mixability gaps).

    Parameters
    ----------
    M : float64 (m, n), C-contiguous
    row_counts, column_counts : float64 (m,), (n,)
        The weights before the first round are half these, scaled to sum 1, and half uniform.
    """

    speed = 1.0

    def __init__(self, M: FloatArray, row_counts: FloatArray, column_counts: FloatArray) -> None:
        m, n = M.shape
        self._M = M
        low, high = float(M.min()), float(M.max())
        self._middle = (low + high) / 2
        self._priors = _half_uniform(row_counts), _half_uniform(column_counts)
        self._losses = np.zeros(m), np.zeros(n)
        self._last = np.zeros(m), np.zeros(n)
        self._sums = np.zeros(m), np.zeros(n)
        self._gaps = np.full(2, max(FIRST_GAP * (high - low), TINY))
        self._played = 0

    def refresh(self) -> None:
        """Nothing: the sums decide the strategies, but the bounds are computed from the matrix."""

    def advance(self, rounds: int, tol: float) -> int:
        """Play; the number of rounds, or minus that if the last one brought the gap to ``tol``."""
        done = int(
            hedge_rounds(
                self._M,
                self._middle,
                *self._priors,
                *self._losses,
                *self._last,
                *self._sums,
                self._gaps,
                self._played,
                tol,
                rounds,
            )
        )
        self._played += abs(done)
        return done

    def weights(self) -> tuple[FloatArray, FloatArray]:
        """The sums of the strategies over all rounds."""
        return self._sums

    def round_cost(self) -> int:
        """The matrix; an exponential counts as some ten numbers."""
        return self._M.size + 30 * sum(self._M.shape)


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
        The gap of two vectors of weights, computed from the matrix: what was summed up round by
        round only says when it is worth looking.
    tol : float
    max_iter : int
    time_limit : float, optional
        Seconds; passed by some 0.05 s at most, or by one round; at least one round is played.
    progress : callable, optional
        Called between slices with an estimate of the share that is done, which never falls.

    Returns
    -------
    Outcome
    """
    started = time.perf_counter()
    slice_rounds = max(1, FIRST_WORK // dynamics.round_cost())
    rounds, share = 0, 0.0
    while rounds < max_iter:
        begin = time.perf_counter()
        asked = min(slice_rounds, max_iter - rounds)
        done = dynamics.advance(asked, tol)
        rounds += abs(done)
        now = time.perf_counter()
        speed = SLICE_SECONDS / max(now - begin, 1e-6) if abs(done) == asked else 1.0
        slice_rounds = int(slice_rounds * min(4.0, max(0.25, speed))) + 1
        gap = gap_of(*dynamics.weights()) if done < 0 or (progress and tol) else np.inf
        if gap <= tol:
            break
        if done < 0:  # rounding had hidden the rest of the gap
            dynamics.refresh()
        if progress is not None:
            share = max(share, rounds / max_iter, (tol / gap) ** dynamics.speed)
            progress(min(share, 1.0))
        if time_limit is not None and now - started >= time_limit:
            return Outcome(rounds, timed_out=rounds < max_iter)
    if progress is not None:
        progress(1.0)
    return Outcome(rounds, timed_out=False)


def _is_whole(array: FloatArray) -> bool:
    return bool((array == np.rint(array)).all())


def _padded(size: int) -> int:
    return -(-size // BLOCK) * BLOCK


def _aligned(shape: tuple[int, ...], kind: Any) -> npt.NDArray[Any]:
    """Zeros that start at a cache line: a vector that lies across two is read twice."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    memory = np.zeros(size + 64, np.uint8)
    begin = -memory.ctypes.data % 64
    aligned: npt.NDArray[Any] = memory[begin : begin + size].view(kind).reshape(shape)
    return aligned


def _half_uniform(counts: FloatArray) -> FloatArray:
    uniform = np.full(len(counts), 1 / len(counts))
    total = float(counts.sum())
    return (counts / total + uniform) / 2 if total > 0 else uniform
