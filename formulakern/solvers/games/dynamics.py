"""Learning dynamics of matrix games: both players choose again and again, and averages converge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray

__all__ = ["TINY", "Dynamics", "Run", "aligned", "scaled"]


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


@dataclass
class Run:
    """A dynamic that is played until its gap is at most ``tol``, in slices (:mod:`.slices`).

    Parameters
    ----------
    dynamics : Dynamics
    gap_of : callable
        The duality gap of two vectors of weights, computed from the matrix.  The gap that the
        dynamic sums up round by round only says when it is worth looking.
    tol : float
    max_iter : int
        At most so many rounds.
    """

    dynamics: Dynamics
    gap_of: Callable[[FloatArray, FloatArray], float]
    tol: float
    max_iter: int
    rounds: int = 0
    _share: float = 0.0

    def advance(self, work: int) -> bool:
        """Play rounds that go through about so many entries; whether the run has ended."""
        left = min(max(1, work // self.dynamics.round_cost()), self.max_iter - self.rounds)
        while left:
            done = self.dynamics.advance(left, self.tol)
            self.rounds += abs(done)
            left -= abs(done)
            if done < 0:
                if self.gap_of(*self.dynamics.weights()) <= self.tol:
                    return True
                self.dynamics.refresh()  # rounding had hidden the rest of the gap
        return self.rounds == self.max_iter

    def share(self) -> float:
        """An estimate of the share that is done, which never falls."""
        gap = self.gap_of(*self.dynamics.weights()) if self.tol else np.inf
        reached = (self.tol / gap) ** self.dynamics.speed if gap > self.tol else 1.0
        self._share = max(self._share, self.rounds / self.max_iter, reached)
        return self._share


def aligned(shape: tuple[int, ...], kind: Any) -> npt.NDArray[Any]:
    """Zeros that start at a cache line: a vector that lies across two is read twice."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    memory = np.zeros(size + 64, np.uint8)
    begin = -memory.ctypes.data % 64
    array: npt.NDArray[Any] = memory[begin : begin + size].view(kind).reshape(shape)
    return array


def scaled(counts: FloatArray) -> FloatArray:
    """To sum 1; uniform where nothing was counted."""
    total = float(counts.sum())
    return counts / total if total > 0 else np.full(len(counts), 1 / len(counts))
