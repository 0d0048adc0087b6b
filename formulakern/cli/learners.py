"""The learners by the names that they have on the command line, and what a fitted one learned."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import formulakern as fk
from formulakern.cli.options import nominal_columns
from formulakern.errors import FormulaKernError, ParameterError
from formulakern.tables.column import did_you_mean
from formulakern.text import blocks

__all__ = [
    "LEARNERS",
    "RULES_SECONDS",
    "SHOWN_RULES",
    "Learner",
    "learned_text",
    "learner",
    "learner_of",
    "listed_learners",
    "saved_model",
    "uncalibrated",
    "with_probabilities",
]

#: Rules that are shown of a model unless more or fewer are asked for.
SHOWN_RULES = 15
#: The search for the rules of a support vector machine stops after so many seconds.
RULES_SECONDS = 60.0
#: Class names of regression estimators end so.
NUMBERS = ("Regressor", "SVR")


@dataclass(frozen=True)
class Learner:
    """A learner of the command line.

    Parameters
    ----------
    estimator : str
        The name of its class in this package.
    about : str
        What it learns, in a few words.
    novelty : bool
        Whether it reads no classes, and finds rows that are unlike those of training.
    """

    estimator: str
    about: str
    novelty: bool = False

    @property
    def predicts_numbers(self) -> bool:
        """Whether the column that it predicts is a number rather than a class."""
        return self.estimator.endswith(NUMBERS)


LEARNERS = {
    "hkl": Learner("HKLClassifier", "few weighted rules, by hierarchical kernel learning"),
    "hkl-cv": Learner("HKLClassifierCV", "the same, its penalties chosen by cross-validation"),
    "prl": Learner("PRLClassifier", "weighted rules of a large margin"),
    "prl-cv": Learner("PRLClassifierCV", "the same, its penalties chosen by cross-validation"),
    "rules": Learner("RuleListClassifier", "a list of rules: if ... else if ... else"),
    "svm": Learner("FormulaSVC", "a support vector machine with the kernel of a formula"),
    "svm-cv": Learner("FormulaSVCCV", "the same, its penalty chosen by cross-validation"),
    "search": Learner("FormulaSearch", "the same, its formula found by a search"),
    "mkl": Learner("FormulaMKL", "the same, with a weighted sum of several formulas' kernels"),
    "choquet": Learner("ChoquetSVC", "weights of sets of numeric columns"),
    "strings": Learner("StringSVC", "a support vector machine on strings; --set kernel=..."),
    "hkl-regression": Learner("HKLRegressor", "a number, as a sum of few weighted rules"),
    "svm-regression": Learner("FormulaSVR", "a number, by support vectors"),
    "choquet-regression": Learner("ChoquetRegressor", "a number, by sets of numeric columns"),
    "novelty": Learner("FormulaOneClass", "which rows are unlike the others; reads no class", True),
}


def listed_learners() -> str:
    """Return the names, with what they learn.

    >>> print(listed_learners().splitlines()[0].strip())
    hkl │ few weighted rules, by hierarchical kernel learning
    """
    return blocks([(name, known.about) for name, known in LEARNERS.items()])


def learner(
    name: str, settings: Sequence[str] = (), given: Mapping[str, Any] = {}, **usual: Any
) -> Any:
    """Return a new estimator.

    Parameters
    ----------
    name : str
        One of ``LEARNERS``.
    settings : sequence of str
        ``"parameter=value"``; a value is a literal of Python, or else text.
    given : mapping of str to value
        Further parameters.
    **usual
        Parameters that are set if the estimator has them and ``settings`` do not.

    Raises
    ------
    ParameterError
        If there is no such learner or parameter.

    Examples
    --------
    >>> learner("prl", ["degree=1", "C=10"])
    PRLClassifier(C=10, degree=1)
    >>> learner("prl", ["depth=1"])
    Traceback (most recent call last):
    formulakern.errors.ParameterError: PRLClassifier has no parameter "depth"; ...
    """
    if name not in LEARNERS:
        raise ParameterError(
            f'there is no learner "{name}"; {did_you_mean(name, [*LEARNERS], len(LEARNERS))}'
        )
    made = getattr(fk, LEARNERS[name].estimator)
    known = list(made._get_param_names())
    values = dict(given)
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key.strip():
            raise ParameterError(f'--set "{setting}" is not name=value. Write --set C=10.')
        values[key.strip()] = _value(text.strip())
    for key in values:
        if key not in known:
            raise ParameterError(
                f'{made.__name__} has no parameter "{key}"; {did_you_mean(key, known, len(known))}'
            )
    return made(**{key: value for key, value in usual.items() if key in known} | values)


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


def with_probabilities(model: Any, seed: int) -> Any:
    """Return a model that has ``predict_proba``, calibrated on held-out rows if it has none.

    Raises
    ------
    ParameterError
        If it predicts no classes.

    Examples
    --------
    >>> with_probabilities(fk.PRLClassifier(), 0).estimator
    PRLClassifier()
    """
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
    """Return the model of this library in a fitted one that ``with_probabilities`` made."""
    calibrated = getattr(model, "calibrated_classifiers_", None)
    return calibrated[0].estimator if calibrated else model


def saved_model(options: argparse.Namespace) -> Any:
    """Return the model of this library in the file that the options name."""
    return uncalibrated(fk.load(options.model))


def learned_text(model: Any, top: int | None) -> str:
    """Return what a model has learned, as text: its rules, or those that can be read out of it.

    Parameters
    ----------
    model : fitted estimator
    top : int or None
        At most this number of rules; None for all.
    """
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
