"""How good the first k rules of a vote are, with the weights they have or with refitted ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.checks import check_integer, check_number
from formulakern.encoding.table import Table
from formulakern.errors import DataError, ParameterError
from formulakern.rules.refitting import logistic_weights, ridge_weights
from formulakern.rules.voting import VotingRules, class_codes

__all__ = ["RIDGE", "ensemble_curve", "refitted_votes"]

#: The penalty on refitted weights by default: they stay finite if rules separate the classes.
RIDGE = 1e-3

V = TypeVar("V", bound=VotingRules)


def refitted_votes(ensemble: V, table: Any, y: Any, ridge: float) -> V:
    """What :meth:`formulakern.RuleEnsemble.refitted` documents."""
    check_number("ridge", ridge, 0, above=True)
    _refuse_levels(ensemble)
    rows = Table.of(table)
    target = _target(ensemble, y, len(rows), training=True)
    weights, intercept = _fitted(ensemble, ensemble.values(rows), target, ridge)
    order = np.argsort(-np.abs(weights), kind="stable")
    changed = weights[:, None] * _directions(ensemble)
    turned = _turned(ensemble.votes, changed)
    known: dict[str, Any] = {}
    for name in ("precision", "base_rate"):
        share = getattr(ensemble, name)
        other = 1 - share if ensemble.classes and len(ensemble.classes) == 2 else np.nan
        known[name] = np.where(turned, other, share)
    return replace(ensemble, votes=changed, intercept=intercept, **known).take(order.tolist())


def ensemble_curve(
    ensemble: VotingRules,
    table: Any,
    y: Any,
    max_rules: int | None,
    refit: tuple[Any, Any] | None,
    ridge: float,
) -> FloatArray:
    """What :meth:`formulakern.RuleEnsemble.accuracy_curve` documents."""
    check_integer("max_rules", max_rules, 0, otherwise="None for all")
    check_number("ridge", ridge, 0, above=True)
    rows = Table.of(table)
    values, target = ensemble.values(rows), _target(ensemble, y, len(rows), training=False)
    most = len(ensemble) if max_rules is None else min(max_rules, len(ensemble))
    directions = _directions(ensemble)
    weights, intercept = np.ones(most), ensemble.intercept
    votes = ensemble.votes
    if refit is not None:
        _refuse_levels(ensemble)
        known = Table.of(refit[0])
        training = ensemble.values(known), _target(ensemble, refit[1], len(known), training=True)
        weights, votes = np.zeros(0), directions
    curve = np.empty(most + 1)
    for k in range(most + 1):
        if refit is not None:
            weights, intercept = _fitted(
                ensemble.head(k), training[0][:, :k], training[1], ridge, weights
            )
        scores = values[:, :k] @ (weights[:k, None] * votes[:k]) + intercept
        curve[k] = _score(ensemble, scores, target)
    return curve


def _fitted(
    ensemble: VotingRules,
    values: FloatArray,
    target: npt.NDArray[Any],
    ridge: float,
    start: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Weights and intercepts for the values of the rules on some rows."""
    if ensemble.classes is None:
        return ridge_weights(values, target, ridge)
    return logistic_weights(values, _directions(ensemble), target, ridge, start)


def _refuse_levels(ensemble: VotingRules) -> None:
    """Thresholds belong to the weights that were learned with them.

    Raises
    ------
    ParameterError
    """
    if ensemble.levels is not None:
        raise ParameterError(
            f"the weights of rules for the ordered classes {list(ensemble.levels)!r} are not "
            "refitted here. HKLClassifier(ordinal=True, max_rules=k) learns the best k rules."
        )


def _directions(ensemble: VotingRules) -> FloatArray:
    """What a weight of 1 adds to the scores: the votes, divided by their absolute values.

    A rule that votes for one class, of any sign, has 1 there; one without votes has none.
    """
    votes = ensemble.votes
    alone = np.count_nonzero(votes, axis=1) == 1
    return np.asarray(np.where(alone[:, None], votes != 0, np.sign(votes)), dtype=np.float64)


def _turned(before: FloatArray, after: FloatArray) -> npt.NDArray[np.bool_]:
    """Which rules for one class against another have come to speak for the other."""
    pair = np.count_nonzero(before, axis=1) == 2
    return np.asarray(pair & ((before * after).sum(axis=1) < 0))


def _target(ensemble: VotingRules, y: Any, n: int, *, training: bool) -> npt.NDArray[Any]:
    """The place of the class of every row, −1 for others; or the number of every row.

    Raises
    ------
    DataError
        If there are not n, or training rows are of other classes.
    """
    classes = ensemble.classes or ensemble.levels
    target: npt.NDArray[Any] = (
        np.asarray(y, dtype=np.float64) if classes is None else class_codes(y, classes)
    )
    if target.shape != (n,) or not n:
        raise DataError(f"{n} rows and y of shape {target.shape}; expected some, and one for each.")
    if training and ensemble.classes is not None and (target < 0).any():
        row = int(np.flatnonzero(target < 0)[0])
        raise DataError(
            f"y holds {np.asarray(y, dtype=object)[row]!r} (row {row}); the classes are "
            f"{list(ensemble.classes)!r}."
        )
    if not np.isfinite(target).all():
        raise DataError("y holds numbers that are not finite; leave such rows out.")
    return target


def _score(ensemble: VotingRules, scores: FloatArray, target: npt.NDArray[Any]) -> float:
    """The share of right classes, or R²."""
    if ensemble.levels is not None:
        return float(np.mean(np.searchsorted(ensemble.thresholds, scores[:, 0]) == target))
    if ensemble.classes is not None:
        return float(np.mean(scores.argmax(axis=1) == target))
    total = float(((target - target.mean()) ** 2).sum())
    wrong = float(((target - scores[:, 0]) ** 2).sum())
    return 1 - wrong / total if total else float(wrong == 0)
