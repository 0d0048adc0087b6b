"""From the strategies of a finished game to rules, and to advice where something went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from formulakern.learning.prl.column_generation import ZERO, Outcome
from formulakern.learning.prl.features import (
    ConjunctionFeatures,
    FeatureFamily,
    TemplateFeatures,
)
from formulakern.learning.prl.preferences import Preferences
from formulakern.rules.ensemble import WeightedRule
from formulakern.rules.features import Feature

__all__ = ["advice_on", "rules_of"]


def rules_of(
    outcome: Outcome,
    preferences: Preferences,
    family: FeatureFamily,
    multiplicity: np.ndarray[Any, Any],
    words: Sequence[Any],
    names: Sequence[Any],
) -> list[tuple[Feature, WeightedRule]]:
    """The features of positive weight, and what they say; weights before joining sum to 1.

    Columns of one feature and one pair of classes are joined, opposite ones with opposite signs.

    Parameters
    ----------
    outcome : Outcome
    preferences : Preferences
    family : FeatureFamily
    multiplicity : ndarray of shape (m,), int
        How many training rows each different row stands for.
    words : sequence of Formula or of str
        What the columns of the encoded table say.
    names : sequence
        The classes.
    """
    total = sum(outcome.weights) or 1.0
    weight_of: dict[tuple[Feature, int, int], float] = {}
    for column, q in zip(outcome.columns, outcome.weights, strict=True):
        a, b = column.winner, column.loser
        key = (column.feature, min(a, b), max(a, b))
        vote = column.scale * q / total
        weight_of[key] = weight_of.get(key, 0.0) + (vote if a < b else -vote)
    found = []
    for (feature, a, b), weight in weight_of.items():
        if weight == 0.0:
            continue
        winner, loser = (a, b) if weight > 0 else (b, a)
        votes = (abs(weight), names[winner], names[loser])
        fired = family.values(feature) != 0
        right, wrong = preferences.counts(winner, loser, fired)
        share = right / (right + wrong) if right + wrong else float("nan")
        support = int(multiplicity[fired].sum())
        coverage = support / int(multiplicity.sum())
        rule = WeightedRule(feature.named(words), *votes, support, coverage, share)
        found.append((feature, rule))
    return found


def advice_on(
    estimator: Any, outcome: Outcome, preferences: Preferences, family: FeatureFamily
) -> tuple[str, type[Warning]] | None:
    """What a user would otherwise find out late, as a warning; None where all is well."""
    lost = estimator.margin == "hard" and estimator.value_ <= ZERO * family.unit
    clash = 0
    if isinstance(family, (ConjunctionFeatures, TemplateFeatures)) and (
        lost or not len(estimator.rules_)
    ):
        clash = preferences.contradictions()
    why = f": {clash:,} preferences are opposite on rows that no rule tells apart" * bool(clash)
    if lost:
        kept = f"the soft margin's at C={estimator.C_:g}" if outcome.softened else "mean strategies"
        few = "so few rules" if outcome.reason != "inseparable" else "these rules"
        return (
            f"the hard margin's value is {max(estimator.value_, 0.0):.3g}: no vote of {few} "
            f"separates the classes{why}. The rules that are kept are {kept}. "
            "Use margin='soft', or a larger degree."
        ), UserWarning
    if not len(estimator.rules_):
        return (
            f"no rule is worth its weight at C={estimator.C_:g}, everything is margin error{why}. "
            f"Use a larger C{', or more columns' * bool(clash)}."
        ), UserWarning
    if estimator.column_selection == "exact" and outcome.reason in ("epochs", "columns"):
        last = outcome.history[-1]
        return (
            f"{len(outcome.history)} epochs closed the gap to "
            f"{1 - last.value / last.bound:.2%} of the bound, not to tol={estimator.tol:g}. "
            "Allow more epochs, or a larger tol."
        ), ConvergenceWarning
    return None
