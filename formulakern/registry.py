"""The learners of this package, a row each.

Public names, model files, the command line and the tests of all learners read these rows: a new
learner is one module and one row.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["LEARNERS", "Learner", "module_of"]


class Learner(NamedTuple):
    """A row."""

    estimator: str
    module: str
    about: str
    predicts: Literal["classes", "numbers", "novelty"] = "classes"

    @property
    def predicts_numbers(self) -> bool:
        """Whether the column that it predicts is a number rather than a class."""
        return self.predicts == "numbers"

    @property
    def novelty(self) -> bool:
        """Whether it reads no classes."""
        return self.predicts == "novelty"


_HERE = "formulakern.estimators."

#: The name on the command line → the row.
LEARNERS: dict[str, Learner] = {
    "hkl": Learner(
        "HKLClassifier",
        f"{_HERE}hkl.classifier",
        "few weighted rules, by hierarchical kernel learning",
    ),
    "hkl-cv": Learner(
        "HKLClassifierCV",
        f"{_HERE}hkl.cross_validation",
        "the same, its penalties chosen by cross-validation",
    ),
    "prl": Learner("PRLClassifier", f"{_HERE}prl.classifier", "weighted rules of a large margin"),
    "prl-cv": Learner(
        "PRLClassifierCV",
        f"{_HERE}prl.cross_validation",
        "the same, its penalties chosen by cross-validation",
    ),
    "prl-published": Learner(
        "PublishedPRL", f"{_HERE}prl.published", "the same as published, of random columns"
    ),
    "rules": Learner(
        "RuleListClassifier",
        f"{_HERE}rule_lists.classifier",
        "a list of rules: if ... else if ... else",
    ),
    "svm": Learner(
        "FormulaSVC",
        f"{_HERE}svm.classifier",
        "a support vector machine with the kernel of a formula",
    ),
    "svm-cv": Learner(
        "FormulaSVCCV",
        f"{_HERE}svm.cross_validation",
        "the same, its penalty chosen by cross-validation",
    ),
    "search": Learner(
        "FormulaSearch", f"{_HERE}search.estimator", "the same, its formula found by a search"
    ),
    "mkl": Learner(
        "FormulaMKL",
        f"{_HERE}multiple_kernels",
        "the same, with a weighted sum of several formulas' kernels",
    ),
    "choquet": Learner(
        "ChoquetSVC", f"{_HERE}choquet.classifier", "weights of sets of numeric columns"
    ),
    "strings": Learner(
        "StringSVC",
        f"{_HERE}strings.classifier",
        "a support vector machine on strings; --set kernel=...",
    ),
    "hkl-regression": Learner(
        "HKLRegressor",
        f"{_HERE}hkl.regressor",
        "a number, as a sum of few weighted rules",
        "numbers",
    ),
    "svm-regression": Learner(
        "FormulaSVR", f"{_HERE}svm.regressor", "a number, by support vectors", "numbers"
    ),
    "choquet-regression": Learner(
        "ChoquetRegressor",
        f"{_HERE}choquet.regressor",
        "a number, by sets of numeric columns",
        "numbers",
    ),
    "novelty": Learner(
        "FormulaOneClass",
        f"{_HERE}svm.one_class",
        "which rows are unlike the others; reads no class",
        "novelty",
    ),
}


def module_of(estimator: str) -> str | None:
    """The module of a learner's class; None if there is no such learner.

    >>> module_of("HKLRegressor"), module_of("Rule")
    ('formulakern.estimators.hkl.regressor', None)
    """
    return next((row.module for row in LEARNERS.values() if row.estimator == estimator), None)
