"""Why a row was classified as it was, and how few of an ensemble's rules would have done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.rules.ensemble import RuleEnsemble, WeightedRule

__all__ = ["Explanation", "accuracy_by_size", "explained"]


@dataclass(frozen=True, eq=False)
class Explanation:
    """The rules that a row satisfies, and what they add up to.

    Parameters
    ----------
    prediction : object
        The class of the largest score.
    scores : dict
        Class → score.
    rules : RuleEnsemble
        Those that the row satisfies, largest contribution first.
    contributions : tuple of float
        What each of them gives to its class and takes from the other one, where there is one;
        negative where a monomial or the weight is.
    """

    prediction: Any
    scores: dict[Any, float]
    rules: RuleEnsemble
    contributions: tuple[float, ...]

    def __str__(self) -> str:
        scores = ", ".join(f"{name}: {score:+.4g}" for name, score in self.scores.items())
        lines = [f"class {self.prediction} ({scores})"]
        for given, item in zip(self.contributions, self.rules, strict=True):
            other = "the rest" if item.loser == item.winner else item.loser
            lines.append(f"{given:+10.4f}  for {item.winner} against {other}:  {item.rule}")
        if not self.contributions:
            lines.append("no rule is satisfied")
        return "\n".join(lines)


def explained(ensemble: RuleEnsemble, values: NDArray[np.float64]) -> Explanation:
    """The explanation of a row on which the rules have these values, shape (rules,)."""
    given = values * np.array([item.weight for item in ensemble.rules])
    order = [r for r in np.argsort(-np.abs(given), kind="stable").tolist() if given[r] != 0]
    scores = values @ ensemble.votes() + np.array(ensemble.intercept)
    fired: tuple[WeightedRule, ...] = tuple(ensemble.rules[r] for r in order)
    return Explanation(
        ensemble.classes[int(scores.argmax())],
        dict(zip(ensemble.classes, scores.tolist(), strict=True)),
        RuleEnsemble(fired, ensemble.classes, ensemble.intercept),
        tuple(given[order].tolist()),
    )


def accuracy_by_size(
    ensemble: RuleEnsemble,
    values: NDArray[Any],
    truth: Sequence[Any] | NDArray[Any],
    most: int,
) -> NDArray[np.float64]:
    """The accuracy of the k rules of largest weight alone, k = 0 … most; shape (most + 1,)."""
    scores = np.tile(np.array(ensemble.intercept), (len(values), 1))
    classes, votes = np.asarray(ensemble.classes), ensemble.votes()
    accuracy = np.empty(most + 1)
    for k in range(most + 1):
        if k:
            scores += np.outer(values[:, k - 1], votes[k - 1])
        accuracy[k] = np.mean(classes[scores.argmax(axis=1)] == np.asarray(truth))
    return accuracy
