"""From the strategies of a finished game to rules, and to advice where something went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from formulakern.arrays import FloatArray
from formulakern.estimators.row_counts import RowCounts
from formulakern.learning.prl.column_generation import ZERO, Outcome
from formulakern.learning.prl.features import ConjunctionFeatures, FeatureFamily, TemplateFeatures
from formulakern.learning.prl.ordered import ABOVE, OrderedFeatures, Step
from formulakern.learning.prl.preferences import Preferences
from formulakern.rules.ensemble import WeightedRule
from formulakern.rules.features import Feature
from formulakern.text import counted

__all__ = ["advice_on", "largest_alone", "ordered_rules_of", "rules_of"]


def rules_of(
    outcome: Outcome,
    family: FeatureFamily,
    rows: RowCounts,
    words: Sequence[Any],
    names: Sequence[Any],
) -> list[tuple[Feature, WeightedRule]]:
    """The features of positive weight, and what they say; weights before joining sum to 1.

    Columns of one feature and one pair of classes are joined, opposite ones with opposite signs.

    Parameters
    ----------
    outcome : Outcome
    family : FeatureFamily
    rows : RowCounts
        What the different rows of the family's table stand for.
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
        votes = abs(weight), names[winner], names[loser]
        fired = family.values(feature) != 0
        found.append((feature, rows.described(feature.named(words), fired, *votes, winner)))
    return found


def ordered_rules_of(
    outcome: Outcome, family: OrderedFeatures, rows: RowCounts, words: Sequence[Any]
) -> tuple[list[tuple[Feature, WeightedRule]], FloatArray]:
    """Rules of any sign for the one score of ordered classes, and its thresholds.

    Parameters are as for :func:`rules_of`.
    """
    total = sum(outcome.weights) or 1.0
    ends = np.zeros(family.n_thresholds)
    weight_of: dict[Feature, float] = {}
    for column, q in zip(outcome.columns, outcome.weights, strict=True):
        vote = column.scale * q / total * (1 if column.winner == ABOVE else -1)
        if isinstance(column.feature, Step):
            ends[column.feature.first - 1 :] -= vote
        elif family.free(column):
            ends -= vote
        else:
            weight_of[column.feature] = weight_of.get(column.feature, 0.0) + vote
    found = []
    for feature, weight in weight_of.items():
        fired = family.family.values(feature) != 0
        found.append((feature, rows.described(feature.named(words), fired, weight)))
    return found, ends


def largest_alone(rows: RowCounts) -> FloatArray:
    """Thresholds that give every row, of score 0, the largest of the ordered classes.

    >>> largest_alone(RowCounts.of_classes(np.array([0, 1, 1, 2]), 3, np.ones(4)))
    array([-1.,  1.])
    """
    assert rows.of_class is not None  # ordered classes are classes of rows
    sizes = rows.of_class.sum(axis=0)
    return np.where(np.arange(len(sizes) - 1) < sizes.argmax(), -1.0, 1.0)


def advice_on(
    estimator: Any,
    outcome: Outcome,
    preferences: Preferences,
    family: FeatureFamily,
) -> tuple[str, type[Warning]] | None:
    """What a user would otherwise find out late, as a warning; None where all is well."""
    taken = counted(len(outcome.history), "epoch")
    if outcome.reason == "time":
        gap = 1 - max(estimator.value_, 0.0) / estimator.bound_
        kept = "" if outcome.columns else " No rule was found: the largest class is predicted."
        return (
            f"stopped by the time limit after {taken}; the gap is {gap:.2%} of the bound, above "
            f"tol={estimator.tol:g}.{kept} Allow more time, or a larger tol."
        ), ConvergenceWarning
    lost = estimator.margin == "hard" and estimator.value_ <= ZERO * family.unit
    clash = 0
    if isinstance(family, (ConjunctionFeatures, TemplateFeatures)) and (
        lost or not outcome.columns
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
    if not outcome.columns:
        return (
            f"no rule is worth its weight at C={estimator.C_:g}, everything is margin error{why}. "
            f"Use a larger C{', or more columns' * bool(clash)}."
        ), UserWarning
    if estimator.proves and outcome.reason in ("epochs", "columns"):
        last = outcome.history[-1]
        more = "Allow more epochs, or a larger tol."
        if family.full:
            more = (
                "Further rules would tell apart too many groups of rows, which lie in pieces "
                f"(there are {family.n_rows:,}). Write a smaller C, degree or budget, or a larger "
                "tol."
            )
        return (
            f"{taken} closed the gap to {1 - last.value / last.bound:.2%} of the bound, not to "
            f"tol={estimator.tol:g}. {more}"
        ), ConvergenceWarning
    return None
