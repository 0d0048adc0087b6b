"""Refitted weights of voting rules, and the accuracy of the first k rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.checks import check_integer, check_number
from formulakern.errors import DataError, ParameterError
from formulakern.rules.decision import class_positions
from formulakern.rules.voting import VotingRules, class_codes, leading
from formulakern.tables.table import Table

#: The default penalty on refitted weights, which keeps them finite if rules separate the classes.
RIDGE = 1e-3
#: Newton's method ends at a step that promises less than this share of the objective.
MIN_PROMISE_SHARE, MAX_STEPS = 1e-10, 200
#: The distance of the intercept of a class without rows below the others.
ABSENT = 30.0

V = TypeVar("V", bound=VotingRules)


def refitted_votes(ensemble: V, table: Any, y: Any, ridge: float) -> V:
    """Implement :meth:`formulakern.RuleEnsemble.refitted`."""
    check_number("ridge", ridge, 0, above=True)
    _refuse_levels(ensemble)
    rows = Table.of(table)
    target = _target(ensemble, y, len(rows), training=True)
    terms = _terms(ensemble)
    weights, intercept = _fitted(ensemble, ensemble.values(rows), target, ridge, terms)
    votes = _votes(len(ensemble), terms, weights)
    order = np.argsort(-np.abs(votes).max(axis=1), kind="stable")
    pairs = zip(ensemble.votes.tolist(), votes.tolist(), strict=True)
    turned = np.array([leading(old) != leading(new) for old, new in pairs], dtype=np.bool_)
    known: dict[str, Any] = {"expected": np.full(len(ensemble), np.nan)}  # other votes
    for name in ("precision", "base_rate"):
        share = getattr(ensemble, name)
        other = 1 - share if ensemble.classes and len(ensemble.classes) == 2 else np.nan
        known[name] = np.where(turned, other, share)
    return replace(ensemble, votes=votes, intercept=intercept, **known).take(order.tolist())


def ensemble_curve(
    ensemble: VotingRules,
    table: Any,
    y: Any,
    max_rules: int | None,
    refit: tuple[Any, Any] | None,
    ridge: float,
) -> FloatArray:
    """Implement :meth:`formulakern.RuleEnsemble.accuracy_curve`."""
    check_integer("max_rules", max_rules, 0, otherwise="None for all")
    check_number("ridge", ridge, 0, above=True)
    rows = Table.of(table)
    values, target = ensemble.values(rows), _target(ensemble, y, len(rows), training=False)
    most = len(ensemble) if max_rules is None else min(max_rules, len(ensemble))
    votes, intercept = ensemble.votes, ensemble.intercept
    if refit is not None:
        _refuse_levels(ensemble)
        known = Table.of(refit[0])
        training = ensemble.values(known), _target(ensemble, refit[1], len(known), training=True)
        places, directions = _terms(ensemble)
        weights = np.zeros(0)
    curve = np.empty(most + 1)
    for k in range(most + 1):
        if refit is not None:
            n = int(np.searchsorted(places, k))
            terms = places[:n], directions[:n]
            weights, intercept = _fitted(ensemble, *training, ridge, terms, weights)
            votes = _votes(k, terms, weights)
        curve[k] = _score(ensemble, values[:, :k] @ votes[:k] + intercept, target)
    return curve


#: The rule of each term, in order, and the scores that a weight of 1 adds, shape (C, K).
Terms = tuple[npt.NDArray[np.intp], FloatArray]


def _terms(ensemble: VotingRules) -> Terms:
    """Return the terms whose weights are fitted.

    A rule with the votes w and -w is one term; another rule has a term for each class with a vote.
    """
    places, directions = [], []
    for row, votes in enumerate(ensemble.votes):
        used = np.flatnonzero(votes)
        pair = len(used) == 2 and votes.sum() == 0
        own = np.sign(votes)[None] if pair else np.eye(len(votes))[used]
        places += [row] * len(own)
        directions.append(own)
    none = np.zeros((0, ensemble.votes.shape[1]))
    return np.array(places, dtype=np.intp), np.concatenate([none, *directions])


def _votes(n_rules: int, terms: Terms, weights: FloatArray) -> FloatArray:
    """Return the votes of rules from the weights of their terms, shape (n_rules, K)."""
    places, directions = terms
    votes = np.zeros((n_rules, directions.shape[1]))
    np.add.at(votes, places, weights[:, None] * directions)
    return votes


def _fitted(
    ensemble: VotingRules,
    values: FloatArray,
    target: npt.NDArray[Any],
    ridge: float,
    terms: Terms,
    start: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return the weights of terms, and intercepts, from the values of all rules on some rows."""
    places, directions = terms
    if ensemble.classes is None:
        return ridge_weights(values[:, places], target, ridge)
    return logistic_weights(values[:, places], directions, target, ridge, start)


def _refuse_levels(ensemble: VotingRules) -> None:
    """Raise ParameterError for levels, whose thresholds belong to the learned weights."""
    if ensemble.levels is not None:
        raise ParameterError(
            f"rules for the ordered classes {list(ensemble.levels)!r} cannot be refitted. "
            "HKLClassifier(ordinal=True, max_rules=k) learns the best k rules."
        )


def _target(ensemble: VotingRules, y: Any, n: int, *, training: bool) -> npt.NDArray[Any]:
    """Return the position of each row's class, −1 for other classes; or each row's number."""
    classes = ensemble.classes or ensemble.levels
    target: npt.NDArray[Any] = (
        np.asarray(y, dtype=np.float64) if classes is None else class_codes(y, classes)
    )
    if target.shape != (n,) or not n:
        raise DataError(
            f"{n} rows and y of shape {target.shape}; expected at least one row, and one entry of "
            "y per row."
        )
    if training and ensemble.classes is not None:
        class_positions(y, ensemble.classes, n)  # raises DataError for other classes
    if not np.isfinite(target).all():
        raise DataError("y has numbers that are not finite; leave these rows out.")
    return target


def _score(ensemble: VotingRules, scores: FloatArray, target: npt.NDArray[Any]) -> float:
    """Return the share of correct classes, or R²."""
    if ensemble.levels or ensemble.classes:
        return float(np.mean(ensemble.places(scores) == target))
    total = float(((target - target.mean()) ** 2).sum())
    wrong = float(((target - scores[:, 0]) ** 2).sum())
    return 1 - wrong / total if total else float(wrong == 0)


def logistic_weights(
    values: npt.NDArray[np.generic],
    directions: FloatArray,
    codes: npt.NDArray[np.intp],
    ridge: float,
    start: FloatArray | None = None,
    sample_weight: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    r"""Return the weights β of rules and the intercepts b of a multinomial logistic regression.

    With the scores s_ik = b_k + Σ_r β_r D_rk v_ir and weights w_i of rows, 1 by default,

        minimise  Σ_i w_i (ln Σ_k exp(s_ik) − s_i,y_i)  +  ridge/2 · Σ_r β_r².

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
    each = np.ones(n) if sample_weight is None else sample_weight
    losses_of = _two_classes if len(present) == 2 else _several_classes
    losses_at, slopes = losses_of(columns, D, y, each)
    theta = np.zeros(len(D))
    if start is not None:
        theta[: len(start)] = start

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        losses, known = losses_at(theta)
        return float(penalty @ theta**2 / 2 + each @ losses), known

    value, known = loss(theta)
    for _ in range(MAX_STEPS):
        gradient, hessian = slopes(known)
        gradient, hessian = gradient + penalty * theta, hessian + np.diag(penalty)
        least = 1e-12 * max(1.0, float(hessian.diagonal().max()))  # above rounding of eigenvalues
        step = -np.linalg.solve(hessian + least * np.eye(len(hessian)), gradient)
        promised = -float(gradient @ step) / 2
        if promised <= MIN_PROMISE_SHARE * max(1.0, value):
            break
        size = 1.0
        new = loss(theta + step)
        while new[0] > value - 0.5 * size * promised and size > 1e-9:
            size /= 2
            new = loss(theta + size * step)
        if new[0] >= value:
            break  # rounding
        theta, (value, known) = theta + size * step, new
    offsets = np.append(0.0, theta[len(directions) :])
    intercept = np.full(n_classes, offsets.min() - ABSENT)
    intercept[present] = offsets
    return theta[: len(directions)], intercept


#: The losses of the rows at θ, with numbers from which the second function computes the gradient
#: and the Hessian matrix of their weighted sum.
_Losses = tuple[
    Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    Callable[[FloatArray], tuple[FloatArray, FloatArray]],
]


def _two_classes(
    columns: FloatArray, D: FloatArray, y: npt.NDArray[np.intp], each: FloatArray
) -> _Losses:
    columns = columns * (D[:, 1] - D[:, 0])
    sign = np.where(y == 1, -1.0, 1.0)

    def losses_at(theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        losses = np.logaddexp(0.0, sign * (columns @ theta))
        return losses, losses

    def slopes(losses: FloatArray) -> tuple[FloatArray, FloatArray]:
        wrong = each * -np.expm1(-losses)  # the probability of the other class
        return columns.T @ (sign * wrong), (columns.T * (wrong * np.exp(-losses))) @ columns

    return losses_at, slopes


def _several_classes(
    columns: FloatArray, D: FloatArray, y: npt.NDArray[np.intp], each: FloatArray
) -> _Losses:
    rows = np.arange(len(y))

    def losses_at(theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        scores = columns @ (theta[:, None] * D)
        scores -= scores.max(axis=1, keepdims=True)
        logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        return -logs[rows, y], logs

    def slopes(logs: FloatArray) -> tuple[FloatArray, FloatArray]:
        p = np.exp(logs)
        mean = columns * (p @ D.T) * np.sqrt(each)[:, None]
        hessian = -mean.T @ mean
        p *= each[:, None]
        for k in range(D.shape[1]):
            of_class = np.flatnonzero(D[:, k])
            part = columns[:, of_class] * D[of_class, k]
            hessian[np.ix_(of_class, of_class)] += (part * p[:, k, None]).T @ part
        p[rows, y] -= each
        return ((columns.T @ p) * D).sum(axis=1), hessian

    return losses_at, slopes


def ridge_weights(
    values: npt.NDArray[np.generic], target: FloatArray, ridge: float
) -> tuple[FloatArray, FloatArray]:
    """Return the weights β of rules and the intercept b of a ridge regression.

    They minimise Σ_i (y_i − b − Σ_r β_r v_ir)² + ridge · Σ_r β_r².

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
