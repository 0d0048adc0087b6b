"""Ordered classes: one function and thresholds, by cumulative logistic losses.

For classes 0 < 1 < … < K − 1 and thresholds θ_1 ≤ … ≤ θ_{K−1} let P(y ≥ k | x) = σ(f(x) − θ_k),
σ(t) = 1/(1 + e^{−t}).  The loss of a row is the sum over the K − 1 questions whether y ≥ k,

    Σ_k ln(1 + exp(−y_k (f(x) − θ_k))),    y_k = 1 if y ≥ k, else −1.

A row becomes K − 1 examples of equal features, in K − 1 groups with an intercept each, so the
problem has two classes.  For every f the best thresholds are in order: θ_k makes the sum of the
probabilities σ(f − θ_k) of all rows equal to the weight of the rows with y ≥ k, which falls with k.

References
----------
J. D. M. Rennie, N. Srebro, "Loss functions for preference levels: regression with discrete ordered
labels", IJCAI workshop on advances in preference handling, 2005 (the all-threshold loss).
P. McCullagh, "Regression models for ordinal data", JRSS B 42, 1980,
doi:10.1111/j.2517-6161.1980.tb01109.x (cumulative links).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, IntArray

#: Halvings of an interval, after which only rounding errors remain.
HALVINGS = 200


class Examples(NamedTuple):
    """The examples of :func:`.learn`.

    Parameters
    ----------
    kind : intp (m,)
        The row of a table that each example belongs to.
    y, weights : float64 (m,)
    others : float64 (m, e)
    group : int64 (m,), optional
    """

    kind: NDArray[np.intp]
    y: FloatArray
    weights: FloatArray
    others: FloatArray
    group: IntArray | None = None


def cumulative_examples(ordered: Examples) -> Examples:
    """Return the K − 1 examples of every row.

    >>> rows = Examples(np.arange(3), np.arange(3.0), np.ones(3), np.zeros((3, 0)))
    >>> examples = cumulative_examples(rows)
    >>> examples.y, examples.group
    (array([-1.,  1.,  1., -1., -1.,  1.]), array([0, 0, 0, 1, 1, 1]))
    """
    number = int(ordered.y.max())
    asked = np.arange(1, number + 1)
    return Examples(
        np.tile(ordered.kind, number),
        np.where(ordered.y >= asked[:, None], 1.0, -1.0).ravel(),
        np.tile(ordered.weights, number),
        np.tile(ordered.others, (number, 1)),
        np.repeat(asked - 1, len(ordered.y)).astype(np.int64),
    )


def log_chances(f: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return ln P(y = k) = ln(σ(f − θ_k) − σ(f − θ_{k+1})), without cancellation.

    σ(a) − σ(b) = σ(a) σ(−b) (1 − e^{b−a}).

    Parameters
    ----------
    f : float64 (m,)
    thresholds : float64 (K − 1,), or (m, K − 1)
        θ, ascending; for all rows, or for each.

    Returns
    -------
    float64 (m, K)

    >>> np.exp(log_chances(np.zeros(1), np.log([1 / 3, 3]))).round(6)
    array([[0.25, 0.5 , 0.25]])
    """
    away = f[:, None] - thresholds
    above, below = -np.logaddexp(0, -away), -np.logaddexp(0, away)
    found = np.zeros((len(f), thresholds.shape[-1] + 1))
    found[:, 1:] += above
    found[:, :-1] += below
    with np.errstate(divide="ignore"):  # ln 0 between equal thresholds
        found[:, 1:-1] += np.log(-np.expm1(-np.diff(thresholds)))
    return found


def decision_thresholds(thresholds: FloatArray, adjustment: FloatArray) -> FloatArray:
    """Return the f at which the class of the largest ln P(y = k | f) − a_k changes.

    For j < k the difference of ln P(y = k | f) and ln P(y = j | f) rises with f, since the
    logistic density is log-concave; so the predicted class never falls.

    Parameters
    ----------
    thresholds : float64 (K − 1,)
        θ, ascending.
    adjustment : float64 (K,)
        a.

    Returns
    -------
    float64 (K − 1,)
        Ascending; class k is predicted above the k-th and up to the next one.  A class that is
        never the best is between two equal thresholds.

    >>> decision_thresholds(np.array([-1.0, 1.0]), np.zeros(3)).round(6)
    array([-0.68437,  0.68437])
    >>> decision_thresholds(np.array([-0.1, 0.1]), np.zeros(3)).round(6)  # never the middle
    array([0., 0.])
    """
    number = len(thresholds)
    places = np.arange(number)

    def higher(f: FloatArray) -> NDArray[np.bool_]:
        """Return True if the best class at the k-th point is above the k-th threshold."""
        best = (log_chances(f, thresholds) - adjustment).argmax(axis=1)
        return np.asarray(best > places)

    span = 1.0
    low, high = np.full(number, thresholds[0]), np.full(number, thresholds[-1])
    while higher(low).any() or not higher(high).all():
        low, high, span = low - span, high + span, 2 * span
    for _ in range(HALVINGS):
        middle = low + (high - low) / 2
        above = higher(middle)
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.asarray(np.maximum.accumulate(low))
