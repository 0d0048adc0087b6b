"""Weights of given rules, learned anew: a penalised logistic or least-squares regression."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve

from formulakern.arrays import FloatArray

__all__ = ["logistic_weights", "ridge_weights"]

#: Newton's method ends where the quadratic model promises less than this share of the objective.
PROMISE, MOST_STEPS = 1e-10, 200
#: The score of a class that no row has, below the others.
ABSENT = 30.0


def logistic_weights(
    values: npt.NDArray[np.generic],
    directions: FloatArray,
    codes: npt.NDArray[np.intp],
    ridge: float,
    start: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    r"""The weights β of rules, and the intercepts b, of a multinomial logistic regression.

    With the scores s_ik = b_k + Σ_r β_r D_rk v_ir,

        minimise  Σ_i (ln Σ_k exp(s_ik) − s_i,y_i)  +  ridge/2 · Σ_r β_r².

    Parameters
    ----------
    values : (n, R)
        v_ir, the value of rule r on row i.
    directions : float64 (R, K)
        D: what a weight of 1 adds to the score of each class.
    codes : intp (n,)
        y, the place of the class of every row.
    ridge : float, above 0
    start : float64 (at most R,), optional
        Where β begins; what is missing is 0.

    Returns
    -------
    weights : float64 (R,)
    intercept : float64 (K,)
        0 for the first class that some row has; 30 less than the smallest for those that none has.

    Notes
    -----
    Newton's method with halved steps, until the quadratic model promises less than 10⁻¹⁰ of the
    objective.  A step costs O(n·P²·K), P = R + K − 1.

    Examples
    --------
    >>> values, votes = np.array([[1], [1], [0], [0]]), np.array([[0.0, 1.0]])
    >>> weights, intercept = logistic_weights(values, votes, np.array([1, 0, 0, 0]), 1e-9)
    >>> intercept[1] < -15, abs(weights + intercept[1]) < 1e-6  # none of two rows, one of two
    (np.True_, array([ True]))
    """
    n, n_classes = len(values), directions.shape[1]
    present = np.unique(codes)
    y = np.searchsorted(present, codes)
    free = np.eye(len(present))[1:]  # an intercept is a rule that is always true
    columns = np.hstack([np.asarray(values, dtype=np.float64), np.ones((n, len(free)))])
    D = np.vstack([directions[:, present], free])
    penalty = np.repeat([float(ridge), 0.0], [len(directions), len(free)])
    theta = np.zeros(len(D))
    if start is not None:
        theta[: len(start)] = start
    hit = np.zeros((n, len(present)))
    hit[np.arange(n), y] = 1.0

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        scores = columns @ (theta[:, None] * D)
        scores -= scores.max(axis=1, keepdims=True)
        logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        return float(penalty @ theta**2 / 2 - logs[np.arange(n), y].sum()), np.exp(logs)

    value, p = loss(theta)
    for _ in range(MOST_STEPS):
        gradient = ((columns.T @ (p - hit)) * D).sum(axis=1) + penalty * theta
        step = -cho_solve(_factor(columns, D, p, penalty), gradient)
        promised = -float(gradient @ step) / 2
        if promised <= PROMISE * max(1.0, value):
            break
        size = 1.0
        new = loss(theta + step)
        while new[0] > value - 0.5 * size * promised and size > 1e-9:
            size /= 2
            new = loss(theta + size * step)
        if new[0] >= value:
            break  # the last digits
        theta, (value, p) = theta + size * step, new
    known = np.append(0.0, theta[len(directions) :])
    intercept = np.full(n_classes, known.min() - ABSENT)
    intercept[present] = known
    return theta[: len(directions)], intercept


def _factor(
    columns: FloatArray, D: FloatArray, p: FloatArray, penalty: FloatArray
) -> tuple[FloatArray, bool]:
    """The Cholesky factor of the Hessian matrix."""
    if D.shape[1] == 2:  # p₀ p₁ times the square of the difference
        part = columns * np.sqrt(p[:, :1] * p[:, 1:]) * (D[:, 1] - D[:, 0])
        hessian = np.diag(penalty) + part.T @ part
    else:
        mean = columns * (p @ D.T)
        hessian = np.diag(penalty) - mean.T @ mean
        for k in range(D.shape[1]):
            of_class = np.flatnonzero(D[:, k])
            part = columns[:, of_class] * D[of_class, k]
            hessian[np.ix_(of_class, of_class)] += (part * p[:, k, None]).T @ part
    least = 1e-12 * max(1.0, float(hessian.diagonal().max()))
    while True:
        try:
            return cho_factor(hessian + least * np.eye(len(hessian)))
        except np.linalg.LinAlgError:
            least *= 100


def ridge_weights(
    values: npt.NDArray[np.generic], target: FloatArray, ridge: float
) -> tuple[FloatArray, FloatArray]:
    """The weights β of rules, and the intercept b, of a ridge regression.

    They minimise Σ_i (y_i − b − Σ_r β_r v_ir)² + ridge · Σ_r β_r².

    Parameters
    ----------
    values : (n, R)
        v_ir, the value of rule r on row i.
    target : float64 (n,)
        y.
    ridge : float, above 0

    Returns
    -------
    weights : float64 (R,)
    intercept : float64 (1,)

    Notes
    -----
    Costs O(n·R²).

    Examples
    --------
    >>> values, target = np.array([[0], [0], [1]]), np.array([1.0, 3.0, 7.0])
    >>> weights, intercept = ridge_weights(values, target, 1e-9)
    >>> weights.round(6), intercept.round(6)
    (array([5.]), array([2.]))
    """
    values = np.asarray(values, dtype=np.float64)
    middle, mean = values.mean(axis=0), target.mean()
    centred = values - middle
    normal = centred.T @ centred + ridge * np.eye(values.shape[1])
    weights = np.linalg.solve(normal, centred.T @ (target - mean))
    return weights, np.array([mean - middle @ weights])
