"""The learners by the names that they have on the command line, and what a fitted one learned."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Mapping, Sequence
from typing import Any

import formulakern as fk
from formulakern.cli.options import nominal_columns
from formulakern.errors import FormulaKernError, ParameterError
from formulakern.registry import LEARNERS
from formulakern.tables.column import did_you_mean
from formulakern.tables.table import Table
from formulakern.text import blocks

__all__ = [
    "RULES_SECONDS",
    "SHOWN_RULES",
    "check_columns",
    "learned_text",
    "learner",
    "learner_of",
    "listed_learners",
    "saved_model",
    "uncalibrated",
    "with_probabilities",
]

#: The number of rules of a model that are shown by default.
SHOWN_RULES = 15
#: The time limit of the search for the rules of a support vector machine.
RULES_SECONDS = 60.0


def listed_learners() -> str:
    """Return the names, with what they learn."""
    shown = blocks([(name, known.about) for name, known in LEARNERS.items()])
    return f"models:\n{shown}"


def learner(
    name: str, settings: Sequence[str] = (), given: Mapping[str, Any] = {}, **usual: Any
) -> Any:
    """Return a new estimator.

    Parameters
    ----------
    name : str
        One of ``LEARNERS``.
    settings : sequence of str
        ``"parameter=value"``; a value is a literal of Python, or else text.  A parameter of the
        automatic encoder is ``"encoder__parameter=value"``.
    given : mapping of str to value
        Further parameters.
    **usual
        Parameters that are set if the estimator has them and ``settings`` do not.

    >>> learner("prl", ["degree=1", "C=10"])
    PRLClassifier(C=10, degree=1)
    >>> learner("hkl", ["encoder__cut_points=2"])
    HKLClassifier(encoder=PropositionEncoder(cut_points=2))
    """
    if name not in LEARNERS:
        raise ParameterError(
            f'there is no learner "{name}"; {did_you_mean(name, [*LEARNERS], len(LEARNERS))}'
        )
    made = getattr(fk, LEARNERS[name].estimator)
    values = dict(given)
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key.strip():
            raise ParameterError(f'--set "{setting}" is not name=value. Write --set C=10.')
        values[key.strip()] = _value(text.strip())
    encoder: dict[str, Any] = {}
    if hasattr(made, "_auto_encoder"):
        inside = [key for key in values if key.startswith("encoder__")]
        encoder = {key.removeprefix("encoder__"): values.pop(key) for key in inside}
    for owner, names in ((made, values), (fk.PropositionEncoder, encoder)):
        known = list(owner._get_param_names())
        for key in names:
            if key not in known:
                hint = did_you_mean(key, known, len(known))
                raise ParameterError(f'{owner.__name__} has no parameter "{key}"; {hint}')
    usual = {key: value for key, value in usual.items() if key in made._get_param_names()}
    model = made(**usual | values)
    if encoder:
        model.set_params(encoder=model._auto_encoder().set_params(**encoder))
    return model


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text


def learner_of(
    name: str, options: argparse.Namespace, settings: Sequence[str] = (), **given: Any
) -> Any:
    """Return a new estimator with the seed, time limit and nominal columns of the options."""
    usual: dict[str, Any] = {"random_state": options.seed}
    if options.time_limit is not None:
        usual["time_limit"] = options.time_limit
    made = learner(name, settings, given, **usual)
    if options.nominal != "auto":
        encoder = getattr(made, "_auto_encoder", fk.PropositionEncoder)()
        given["encoder"] = encoder.set_params(nominal=nominal_columns(options))
        made = learner(name, settings, given, **usual)
    return made


def check_columns(model: Any, name: str, X: Table) -> None:
    """Raise DataError if a model reads numbers or strings alone, and a table has no such ones."""
    from formulakern.encoding.real import read_real
    from formulakern.kernels.strings.strings import read_strings

    if LEARNERS[name].reads == "numbers":
        read_real(X)
    if LEARNERS[name].reads == "strings":
        read_strings(X, uncalibrated(model).column)


def with_probabilities(model: Any, seed: int) -> Any:
    """Return a model that has ``predict_proba``, calibrated on held-out rows if it has none."""
    from sklearn.base import is_classifier
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.model_selection import StratifiedKFold

    if not is_classifier(model):
        raise ParameterError(
            f"--probabilities with {type(model).__name__}, which predicts no classes. Leave it out."
        )
    if hasattr(model, "predict_proba"):
        return model
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    return CalibratedClassifierCV(model, cv=folds, ensemble=False)


def uncalibrated(model: Any) -> Any:
    """Return the model of this library in one that ``with_probabilities`` made, fitted or not."""
    calibrated = getattr(model, "calibrated_classifiers_", [model])[0]
    return getattr(calibrated, "estimator", model)


def saved_model(options: argparse.Namespace) -> Any:
    """Return the model of this library in the file that the options name."""
    return uncalibrated(fk.load(options.model))


def learned_text(model: Any, top: int | None) -> str:
    """Return what a model has learned: at most ``top`` of its rules, or what it holds instead."""
    model = uncalibrated(model)
    rules = getattr(model, "rules_", None)
    if rules is not None:
        more = hasattr(rules, "head") and top is not None and len(rules) > top
        text = str(rules.head(top) if more else rules)
        return f"{text}\n... {len(rules) - top:,} more rules" if more and top else text
    inner = getattr(model, "best_estimator_", model)
    if hasattr(inner, "rules") and hasattr(inner, "kernel_"):
        try:
            return str(inner.rules(top or SHOWN_RULES, time_limit=RULES_SECONDS))
        except FormulaKernError as error:  # a kernel without rules, or of degrees
            return f"no rules: {error}"
    support = getattr(inner, "support_", None)
    held = "no list of parts" if support is None else f"{len(support):,} support vectors"
    return f"{type(model).__name__} has no rules; it holds {held}."
