"""The parameters of a preference learner: checked before work begins, and turned into features."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from formulakern.checks import (
    check_choice,
    check_flag,
    check_integer,
    check_no_keyword,
    check_number,
)
from formulakern.deadline import check_time_limit
from formulakern.encoding.packed import PackedTable
from formulakern.errors import ParameterError
from formulakern.estimators.hkl.monotone import asked_of
from formulakern.learning.prl.features import ConjunctionFeatures, FeatureFamily, TemplateFeatures
from formulakern.learning.prl.monomials import MonomialFeatures
from formulakern.learning.prl.ordered import OrderedFeatures
from formulakern.learning.prl.preferences import Preferences
from formulakern.learning.prl.row_groups import PiecedConjunctions, RowGroups
from formulakern.syntax.formula import Formula
from formulakern.syntax.parser import parse

__all__ = ["FAMILIES", "automatic_C", "check_parameters", "feature_family"]

FAMILIES = ("rules", "conjunctions", "polynomial")
#: C="auto" is this over the root of the weight of all preferences.
AUTO_C = 8.0
#: Of a condition more.
MOST_PENALTY = 1e30
CHOICES = {
    "margin": ("soft", "hard"),
    "column_selection": ("exact", "random"),
    "solver": ("linprog", "fictitious-play", "multiplicative-weights"),
}


def check_parameters(estimator: Any) -> tuple[Formula, ...]:
    """Refuse what is out of range; the templates, if the features are such.

    Raises
    ------
    ParameterError
    FormulaSyntaxError
        If a template cannot be read.
    """
    for name, accepted in CHOICES.items():
        check_choice(name, getattr(estimator, name), accepted)
    for name in ("degree", "epochs", "solver_iterations", "cut_points"):
        check_integer(name, getattr(estimator, name))
    check_integer("budget", estimator.budget, otherwise="None for the default")
    check_integer("max_rules", estimator.max_rules, otherwise="None for no limit")
    if not (isinstance(estimator.C, str) and estimator.C == "auto"):
        check_number("C", estimator.C, 0, above=True, otherwise="'auto'")
    check_number("tol", estimator.tol, 0)
    check_number("depth_penalty", estimator.depth_penalty, 1, MOST_PENALTY)
    check_time_limit(estimator.time_limit)
    check_flag("bias_rule", estimator.bias_rule)
    check_flag("ordinal", estimator.ordinal)
    templates = _templates(estimator.features)
    for name, wrong, right in (
        ("column_selection", "random", "column_selection='exact'"),
        ("features", "polynomial", "features='rules', 'conjunctions' or templates"),
    ):
        if estimator.ordinal and getattr(estimator, name) == wrong:
            raise ParameterError(f"ordinal=True with {name}={wrong!r}; expected {right}.")
    if estimator.monotone and (templates or estimator.features == "polynomial"):
        raise ParameterError(
            f"monotone={estimator.monotone!r} with features={estimator.features!r}; expected "
            "features='rules' or 'conjunctions', whose conditions have a direction."
        )
    return templates


def automatic_C(preferences: Preferences) -> float:
    """The penalty parameter that ``"auto"`` stands for."""
    return AUTO_C / math.sqrt(preferences.weights.sum())


def feature_family(
    estimator: Any, encoded: Any, preferences: Preferences, templates: tuple[Formula, ...]
) -> FeatureFamily:
    """The features that an estimator's parameters ask for, on its different training rows.

    Parameters
    ----------
    estimator : PRLClassifier
    encoded : PackedTable, RowGroups, or for monomials float64 (m, n)
    preferences : Preferences
        On the rows of ``encoded``, or of ordered classes on these with every threshold.
    templates : tuple of Formula
    """
    if estimator.ordinal:
        family = _rows_family(estimator, encoded, preferences, templates)
        return OrderedFeatures(family, preferences.n_rows // encoded.n_rows)
    return _rows_family(estimator, encoded, preferences, templates)


def _rows_family(
    estimator: Any, encoded: Any, preferences: Preferences, templates: tuple[Formula, ...]
) -> FeatureFamily:
    """The features on rows, whatever the order of classes."""
    bias, degree = bool(estimator.bias_rule), int(estimator.degree)
    if not isinstance(encoded, (PackedTable, RowGroups)):
        return MonomialFeatures(encoded, degree, bias, preferences)
    if templates and isinstance(encoded, PackedTable):
        return TemplateFeatures(encoded, bias, templates)
    least = degree if estimator.features == "conjunctions" else 1
    a, asked = float(estimator.depth_penalty), None
    if directions := estimator._directions:
        asked = np.array([asked_of(leaf, directions) for leaf in estimator._leaves], dtype=np.int64)
    groups = estimator._exclusive()
    if isinstance(encoded, RowGroups):
        p = encoded.n_propositions
        none = PackedTable.of_columns(np.zeros((p, 0), dtype=np.uint64), 0)
        return PiecedConjunctions(none, bias, groups, least, degree, a, asked, rows=encoded)
    return ConjunctionFeatures(encoded, bias, groups, least, degree, a, asked)


def _templates(given: Any) -> tuple[Formula, ...]:
    if isinstance(given, str) and given in FAMILIES:
        return ()
    listed = [given] if isinstance(given, (str, Formula)) else given
    if (
        not isinstance(listed, (list, tuple))
        or not listed
        or not all(isinstance(item, (str, Formula)) for item in listed)
    ):
        raise ParameterError(
            f"features={given!r}; expected one of {', '.join(map(repr, FAMILIES))}, a formula "
            "such as 'a & ~b', or a list of formulas."
        )
    for item in listed:
        check_no_keyword("features", item, {"features": FAMILIES})
    return tuple(parse(item) if isinstance(item, str) else item for item in listed)
