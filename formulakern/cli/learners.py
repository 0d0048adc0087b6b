"""The learners by the names that they have on the command line, and plain ones beside them."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import formulakern as fk
from formulakern.arrays import FloatArray
from formulakern.errors import ParameterError
from formulakern.tables.table import Table
from formulakern.text import blocks

__all__ = [
    "LEARNERS",
    "Learner",
    "learner",
    "listed_learners",
    "plain_learners",
    "uncalibrated",
    "with_probabilities",
]

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
        Whether it reads no classes, and tells rows that are unlike those of training.
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
    """The names, with what they learn.

    >>> print(listed_learners().splitlines()[0].strip())
    hkl │ few weighted rules, by hierarchical kernel learning
    """
    return blocks([(name, known.about) for name, known in LEARNERS.items()])


def learner(name: str, settings: Sequence[str] = (), **usual: Any) -> Any:
    """A new estimator.

    Parameters
    ----------
    name : str
        One of ``LEARNERS``.
    settings : sequence of str
        ``"parameter=value"``; a value is a literal of Python, or else text.
    **usual
        Parameters that are set where the estimator has them, and ``settings`` do not say others.

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
        near = difflib.get_close_matches(name, LEARNERS, n=1)
        hint = f'did you mean "{near[0]}"?' if near else f"expected one of {', '.join(LEARNERS)}."
        raise ParameterError(f'there is no learner "{name}"; {hint}')
    made = getattr(fk, LEARNERS[name].estimator)
    known = _defaults(made)
    given: dict[str, Any] = {key: value for key, value in usual.items() if key in known}
    for setting in settings:
        key, equals, text = setting.partition("=")
        key = key.strip()
        if not equals or not key:
            raise ParameterError(f'--set "{setting}" is not name=value. Write --set C=10.')
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f'did you mean "{near[0]}"?' if near else f"it has {', '.join(known)}."
            raise ParameterError(f'{made.__name__} has no parameter "{key}"; {hint}')
        given[key] = _value(text.strip())
    return made(**given)


def with_probabilities(model: Any, seed: int) -> Any:
    """A model that has ``predict_proba``: itself, or calibrated on rows that five folds hold out.

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
    """The model of this library inside of a fitted one that ``with_probabilities`` made."""
    calibrated = getattr(model, "calibrated_classifiers_", None)
    return calibrated[0].estimator if calibrated else model


def _defaults(made: Any) -> list[str]:
    """The names of the parameters of an estimator's class."""
    return list(made._get_param_names())


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text


def plain_learners(numbers: bool) -> dict[str, Any]:
    """Well-known learners of scikit-learn by name, on columns as their users would make them.

    Numbers stay numbers (a missing one becomes the median, and for linear models they have unit
    variance); every category is a column.

    Parameters
    ----------
    numbers : bool
        Whether a number is predicted rather than a class.
    """
    from sklearn.dummy import DummyClassifier, DummyRegressor
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, RidgeCV
    from sklearn.pipeline import make_pipeline, make_union
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    def columns(*scaler: Any) -> Any:
        return make_union(
            make_pipeline(
                FunctionTransformer(_numbers), SimpleImputer(keep_empty_features=True), *scaler
            ),
            make_pipeline(FunctionTransformer(_texts), OneHotEncoder(handle_unknown="ignore")),
        )

    if numbers:
        return {
            "the mean": make_pipeline(FunctionTransformer(_numbers), DummyRegressor()),
            "a tree": make_pipeline(
                columns(), DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
            ),
            "ridge regression": make_pipeline(
                columns(StandardScaler()), RidgeCV(np.logspace(-3, 3, 7))
            ),
        }
    return {
        "majority vote": make_pipeline(FunctionTransformer(_numbers), DummyClassifier()),
        "a tree": make_pipeline(
            columns(), DecisionTreeClassifier(min_samples_leaf=5, random_state=0)
        ),
        "logistic regression": make_pipeline(
            columns(StandardScaler()), LogisticRegression(max_iter=1000)
        ),
    }


def _numbers(table: Table) -> FloatArray:
    """The numeric columns, float64, and one of zeros in front (there may be none)."""
    found = [_as_numbers(table[name]) for name in table.names if table[name].dtype != object]
    return np.column_stack([np.zeros(len(table)), *found])


def _as_numbers(column: NDArray[Any]) -> FloatArray:
    """Float64; a date is its distance from the epoch."""
    if column.dtype.kind not in "mM":
        return column.astype(np.float64)
    return np.where(np.isnat(column), np.nan, column.astype(np.int64).astype(np.float64))


def _texts(table: Table) -> Any:
    """The columns of text, and one that is always the same; missing is a category."""
    found = [table[name].astype(str) for name in table.names if table[name].dtype == object]
    same = np.full(len(table), "", dtype=object)
    return np.column_stack([same, *(column.astype(object) for column in found)])
