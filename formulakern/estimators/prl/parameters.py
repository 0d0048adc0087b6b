"""The parameters of a preference learner: checked before work begins, and turned into features."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from formulakern.errors import ParameterError
from formulakern.estimators.base import Encoding, check_relations
from formulakern.learning.prl.features import (
    ConjunctionFeatures,
    FeatureFamily,
    TemplateFeatures,
)
from formulakern.learning.prl.monomials import MonomialFeatures
from formulakern.learning.prl.preferences import Preferences
from formulakern.mining.covers import PackedPropositions
from formulakern.mining.options import is_integer
from formulakern.syntax.formula import Formula
from formulakern.syntax.parser import parse

__all__ = ["FAMILIES", "check_parameters", "feature_family"]

FAMILIES = ("rules", "conjunctions", "polynomial")
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
        value = getattr(estimator, name)
        if value not in accepted:
            raise ParameterError(
                f"{name}={value!r}; expected one of {', '.join(map(repr, accepted))}."
            )
    for name in ("degree", "epochs", "solver_iterations", "budget", "cut_points"):
        value = getattr(estimator, name)
        if value is None and name == "budget":
            continue
        if not is_integer(value) or value < 1:
            raise ParameterError(f"{name}={value!r}; expected an integer, at least 1.")
    for name in ("C", "tol", "time_limit"):
        value = getattr(estimator, name)
        if value is None and name == "time_limit":
            continue
        if isinstance(value, str) and value == "auto" and name == "C":
            continue
        right = isinstance(value, Real) and not isinstance(value, bool)
        if not right or not (0 < value < np.inf or (name != "C" and value == 0)):
            least = "positive" if name == "C" else "not negative"
            raise ParameterError(f"{name}={value!r}; expected a finite number, {least}.")
    if not isinstance(estimator.bias_rule, (bool, np.bool_)):
        raise ParameterError(f"bias_rule={estimator.bias_rule!r}; expected True or False.")
    check_relations(estimator.relations)
    return _templates(estimator.features)


def feature_family(
    estimator: Any,
    encoding: Encoding,
    encoded: Any,
    preferences: Preferences,
    templates: tuple[Formula, ...],
) -> FeatureFamily:
    """The features that an estimator's parameters ask for, on its encoded training rows."""
    bias, degree = bool(estimator.bias_rule), int(estimator.degree)
    if encoding.real:
        return MonomialFeatures(encoded, degree, bias, preferences)
    packed = PackedPropositions.of(encoded)
    if templates:
        return TemplateFeatures(packed, bias, templates)
    least = degree if estimator.features == "conjunctions" else 1
    return ConjunctionFeatures(packed, bias, encoding.groups, least, degree)


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
    return tuple(parse(item) if isinstance(item, str) else item for item in listed)
