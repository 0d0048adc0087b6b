"""Optimistic Hedge: both players weigh their pure strategies by their losses so far and last."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from formulakern.arrays import FloatArray, aligned
from formulakern.compilation import compiled

__all__ = ["TINY", "Hedge", "HedgeState", "hedge_rounds", "scaled"]


#: Differences of payoffs below this count as none; it can be divided by.
TINY = 1e-200
#: What the sum of mixability gaps starts with, as a share of the range of payoffs.  AdaHedge starts
#: with 0, that is with all weight on the best strategy so far, and there rounding decides between
#: strategies that are equally good.
FIRST_GAP = 0.25


# adding in any order lets the sum be taken in vectors
@compiled(fastmath={"reassoc", "contract"})
def _use_row(row: Any, weight: Any, weights: Any, sums: Any) -> Any:
    """``sums += weight · row``; returns ``row · weights``."""
    product = 0.0
    for k in range(row.size):
        sums[k] += weight * row[k]
        product += row[k] * weights[k]
    return product


@compiled()
def _mixed(losses: Any, first: Any, stop: Any, eta: Any, prior: Any) -> Any:
    """−ln(Σ prior exp(−eta · losses)) / eta, which lies between the least and the mean loss."""
    if stop - first == 1:  # eta = ln 1 = 0
        return losses[first]
    least = np.inf
    for k in range(first, stop):
        if losses[k] < least:
            least = losses[k]
    total = 0.0
    for k in range(first, stop):
        total += prior[k] * np.exp(-eta * (losses[k] - least))
    return least - np.log(total) / eta


class HedgeState(NamedTuple):
    """Both players; vectors of length n + m hold the columns' entries, then the rows'.

    Parameters
    ----------
    middle : float64
        Subtracted from every payoff, so that a large constant in M costs no digits.
    prior : float64 (n + m,)
        Weights before any loss, positive, of sum 1 for each player.
    losses : float64 (n + m,)
        Sums over the rounds of −(M − middle)'p and of (M − middle) q.
    last : float64 (n + m,)
        Those of the last round, the forecast of the next.
    strategies : float64 (n + m,)
        q and p of the last round.
    sums : float64 (n + m,)
        Sums of q and p over the rounds.
    gaps : float64 (2,)
        Each player's sum of mixability gaps, positive from the start.
    """

    middle: Annotated[float, "float64"]
    prior: Annotated[Any, "float64[::1]"]
    losses: Annotated[Any, "float64[::1]"]
    last: Annotated[Any, "float64[::1]"]
    strategies: Annotated[Any, "float64[::1]"]
    sums: Annotated[Any, "float64[::1]"]
    gaps: Annotated[Any, "float64[::1]"]


@compiled(
    "int64(Array(float64, 2, 'C', readonly=True), state, int64, float64, int64)", state=HedgeState
)
def hedge_rounds(M: Any, state: HedgeState, played: int, tol: float, rounds: int) -> int:
    """Rounds of both players; the state changes in place.

    Parameters
    ----------
    M : float64 (m, n), C-contiguous
    state : HedgeState
    played : int64
        Rounds before this call.
    tol : float64
        Stop after the first round whose gap is at most this.
    rounds : int64

    Returns
    -------
    int64
        Rounds played; minus that where the gap has reached ``tol``.
    """
    middle, prior, losses, last, strategies, sums, gaps = state
    m, n = M.shape
    q, column_last = strategies[:n], last[:n]
    for number in range(1, rounds + 1):
        for player in range(2):
            first, stop = player * n, n + player * m
            eta = np.log(stop - first) / gaps[player]
            least, total = np.inf, 0.0
            for k in range(first, stop):
                strategies[k] = losses[k] + last[k]
                if strategies[k] < least:
                    least = strategies[k]
            for k in range(first, stop):
                strategies[k] = prior[k] * np.exp(-eta * (strategies[k] - least))
                total += strategies[k]
            for k in range(first, stop):
                strategies[k] /= total
        for j in range(n):
            column_last[j] = 0.0
        for i in range(m):
            last[n + i] = _use_row(M[i], -strategies[n + i], q, column_last) - middle
        for j in range(n):
            column_last[j] += middle
        bound = 0.0
        for player in range(2):
            first, stop = player * n, n + player * m
            eta = np.log(stop - first) / gaps[player]
            before = _mixed(losses, first, stop, eta, prior)
            mean, least = 0.0, np.inf
            for k in range(first, stop):
                mean += strategies[k] * last[k]
                losses[k] += last[k]
                sums[k] += strategies[k]
                if losses[k] < least:
                    least = losses[k]
            gap = mean - (_mixed(losses, first, stop, eta, prior) - before)
            if gap > 0.0:
                gaps[player] += gap
            bound -= least
        if bound <= tol * (played + number):
            return -number
    return rounds


class Hedge:
    """Each player's weights are exp(−η · (losses so far + the last loss)), scaled to sum 1.

    The last loss stands for a forecast of the next.  η = ln(pure strategies) / (a quarter of the
    payoffs' range + the player's sum of mixability gaps), as in AdaHedge.

    Parameters
    ----------
    M : float64 (m, n), C-contiguous
        What the row player pays to the column player.
    row_counts, column_counts : float64 (m,), (n,)
        The strategies of the first round are half in proportion to these, and half uniform.
    """

    speed = 1.0

    def __init__(self, M: FloatArray, row_counts: FloatArray, column_counts: FloatArray) -> None:
        self._M, self._played = M, 0
        low, high = float(M.min()), float(M.max())
        counts = column_counts, row_counts
        prior = np.concatenate([(scaled(count) + 1 / len(count)) / 2 for count in counts])
        losses, last, strategies, sums = (aligned((len(prior),), np.float64) for _ in range(4))
        gaps = np.full(2, max(FIRST_GAP * (high - low), TINY))
        self._state = HedgeState((low + high) / 2, prior, losses, last, strategies, sums, gaps)

    def refresh(self) -> None:
        """Nothing: the sums decide the strategies, but the bounds are computed from the matrix."""

    def advance(self, rounds: int, tol: float) -> int:
        """Play; the number of rounds, or minus that if the last one brought the gap to ``tol``."""
        done = hedge_rounds(self._M, self._state, self._played, tol, rounds)
        self._played += abs(done)
        return done

    def weights(self) -> tuple[FloatArray, FloatArray]:
        """The sums of the strategies over all rounds."""
        n = self._M.shape[1]
        return self._state.sums[n:], self._state.sums[:n]

    def round_cost(self) -> int:
        """The matrix; an exponential counts as some ten numbers."""
        return self._M.size + 30 * sum(self._M.shape)


def scaled(counts: FloatArray) -> FloatArray:
    """To sum 1; uniform where nothing was counted."""
    total = float(counts.sum())
    return counts / total if total > 0 else np.full(len(counts), 1 / len(counts))
