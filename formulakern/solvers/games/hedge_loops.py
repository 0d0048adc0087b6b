"""Compiled: rounds of two players who both hedge, one pass over the matrix a round."""

from __future__ import annotations

from typing import Any

import numpy as np

from formulakern.compilation import compiled

__all__ = ["hedge_rounds"]


@compiled()
def _weigh(losses: Any, hint: Any, eta: Any, prior: Any, weights: Any) -> None:
    """``weights ∝ prior · exp(−eta (losses + hint))``, of sum 1."""
    least = np.inf
    for k in range(losses.size):
        weights[k] = losses[k] + hint[k]
        least = min(least, weights[k])
    total = 0.0
    for k in range(losses.size):
        weights[k] = prior[k] * np.exp(-eta * (weights[k] - least))
        total += weights[k]
    for k in range(losses.size):
        weights[k] /= total


@compiled()
def _mixed(losses: Any, eta: Any, prior: Any) -> Any:
    """−ln(Σ prior exp(−eta · losses)) / eta, which lies between the least and the mean loss."""
    if losses.size == 1:  # eta = ln 1 = 0
        return losses[0]
    least = losses.min()
    total = 0.0
    for k in range(losses.size):
        total += prior[k] * np.exp(-eta * (losses[k] - least))
    return least - np.log(total) / eta


@compiled()
def _suffer(losses: Any, last: Any, eta: Any, prior: Any, weights: Any, sums: Any) -> Any:
    """Add a round's losses and weights to the sums; the round's mixability gap, at least 0."""
    before = _mixed(losses, eta, prior)
    mean = 0.0
    for k in range(losses.size):
        mean += weights[k] * last[k]
        losses[k] += last[k]
        sums[k] += weights[k]
    return max(0.0, mean - (_mixed(losses, eta, prior) - before))


# adding in any order lets the sum be taken in vectors
@compiled(fastmath={"reassoc", "contract"})
def _use_row(row: Any, weight: Any, weights: Any, sums: Any) -> Any:
    """``sums += weight · row``; returns ``row · weights``."""
    product = 0.0
    for k in range(row.size):
        sums[k] += weight * row[k]
        product += row[k] * weights[k]
    return product


_REALS = "float64[::1]"
_MATRIX = "Array(float64, 2, 'C', readonly=True)"


@compiled(
    f"int64({_MATRIX}, float64, {_REALS}, {_REALS}, {_REALS}, {_REALS}, {_REALS}, {_REALS},"
    f" {_REALS}, {_REALS}, {_REALS}, int64, float64, int64)"
)
def hedge_rounds(
    M: Any,
    middle: Any,
    row_prior: Any,
    column_prior: Any,
    row_losses: Any,
    column_losses: Any,
    row_last: Any,
    column_last: Any,
    row_sums: Any,
    column_sums: Any,
    gaps: Any,
    played: Any,
    tol: Any,
    rounds: Any,
) -> Any:
    """Both players weigh their choices by what these would have lost, and by what they lost last.

    Parameters
    ----------
    M : float64 (m, n), C-contiguous
    middle : float64
        Subtracted from every payoff, so that a large constant in M costs no digits.
    row_prior, column_prior : float64 (m,), (n,)
        Weights before any loss, positive, of sum 1.
    row_losses, column_losses : float64 (m,), (n,)
        Sums over the rounds of (M − middle) q and of −(M − middle)'p; change in place.
    row_last, column_last : float64 (m,), (n,)
        Those of the last round, the forecast of the next; change in place.
    row_sums, column_sums : float64 (m,), (n,)
        Sums of the strategies p and q over the rounds; change in place.
    gaps : float64 (2,)
        Each player's sum of mixability gaps, positive from the start; changes in place.
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
    m, n = M.shape
    p, q = np.empty(m), np.empty(n)
    for number in range(1, rounds + 1):
        row_eta, column_eta = np.log(m) / gaps[0], np.log(n) / gaps[1]
        _weigh(row_losses, row_last, row_eta, row_prior, p)
        _weigh(column_losses, column_last, column_eta, column_prior, q)
        column_last[:] = 0.0
        for i in range(m):
            row_last[i] = _use_row(M[i], -p[i], q, column_last) - middle
        for j in range(n):
            column_last[j] += middle
        gaps[0] += _suffer(row_losses, row_last, row_eta, row_prior, p, row_sums)
        gaps[1] += _suffer(column_losses, column_last, column_eta, column_prior, q, column_sums)
        if -column_losses.min() - row_losses.min() <= tol * (played + number):
            return -number
    return rounds
