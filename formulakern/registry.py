"""The learners of this package, one row each.

Public names, model files, the command line and the tests of all learners read these rows: a new
learner needs one module and one row.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple


class Learner(NamedTuple):
    """A learner: its class and module, a short description, and its data."""

    estimator: str
    module: str
    about: str
    #: With "novelty", no classes are read, and rows unlike the training rows are found.
    predicts: Literal["classes", "numbers", "novelty"] = "classes"
    reads: Literal["tables", "numbers", "strings"] = "tables"

    @property
    def predicts_numbers(self) -> bool:
        """True if the predicted column holds numbers rather than classes."""
        return self.predicts == "numbers"


_HKL = "few weighted rules, by hierarchical kernel learning"
_SAME = "like the learner without -cv, with penalties chosen by cross-validation"
_LIST = "a list of rules: if ... else if ... else"
_SUM = "a number, as a sum of few weighted rules"
_SVM = "a support vector machine with the kernel of a formula"
_MKL = "a support vector machine with a weighted sum of kernels of formulas"
_STRINGS = "a support vector machine on strings; --set kernel=..."
_SETS = "weights of sets of numeric columns"
_BY_SETS = "a number, by sets of numeric columns"
_NOVELTY = "rows that are unlike the others; reads no class"

#: The name on the command line, then the row; modules are in ``formulakern.estimators``.
_ROWS: tuple[tuple[Any, ...], ...] = (
    ("hkl", "HKLClassifier", "hkl.classifier", _HKL),
    ("hkl-cv", "HKLClassifierCV", "hkl.cross_validation", _SAME),
    ("prl", "PRLClassifier", "prl.classifier", "weighted rules of a large margin"),
    ("prl-cv", "PRLClassifierCV", "prl.cross_validation", _SAME),
    ("prl-published", "PublishedPRL", "prl.published", "prl as published, on random columns"),
    ("rules", "RuleListClassifier", "rule_lists.classifier", _LIST),
    ("svm", "FormulaSVC", "svm.machines", _SVM),
    ("svm-cv", "FormulaSVCCV", "svm.machines", _SAME.replace("penalties", "penalty")),
    ("search", "FormulaSearch", "search.estimator", "svm with a formula found by a search"),
    ("mkl", "FormulaMKL", "multiple_kernels", _MKL),
    ("choquet", "ChoquetSVC", "choquet.machines", _SETS, "classes", "numbers"),
    ("strings", "StringSVC", "strings", _STRINGS, "classes", "strings"),
    ("hkl-regression", "HKLRegressor", "hkl.regressor", _SUM, "numbers"),
    ("svm-regression", "FormulaSVR", "svm.machines", "a number, by support vectors", "numbers"),
    ("choquet-regression", "ChoquetRegressor", "choquet.machines", _BY_SETS, "numbers", "numbers"),
    ("novelty", "FormulaOneClass", "svm.machines", _NOVELTY, "novelty"),
)
LEARNERS: dict[str, Learner] = {
    name: Learner(estimator, f"formulakern.estimators.{module}", *more)
    for name, estimator, module, *more in _ROWS
}


def module_of(estimator: str) -> str | None:
    """Return the module of a learner's class, or None if the class is not a learner.

    >>> module_of("HKLRegressor"), module_of("Rule")
    ('formulakern.estimators.hkl.regressor', None)
    """
    return next((row.module for row in LEARNERS.values() if row.estimator == estimator), None)
