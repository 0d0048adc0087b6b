"""Write a logical formula, get a kernel; train on it; read what was learned back as rules.

The folders are the pipeline::

    syntax      text → Formula              rewrite    Formula → Formula
    semantics   Formula → Program           program    arithmetic on joint counts
    backends    Program → compiled code     encoding   data → packed 0/1 columns
    gram        blocks → Gram matrix        kernels    what users hold
    mining      the heaviest conjunctions   solvers    margins, balls, games
    rules       what is learned             estimators scikit-learn faces
    datasets    generators, a CSV reader    display    how things look

Names load when they are first used: importing formulakern loads neither numba, SymPy nor
scikit-learn.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formulakern import datasets as datasets
    from formulakern.encoding.table import Table as Table
    from formulakern.errors import (
        DataError as DataError,
    )
    from formulakern.errors import (
        FormulaError as FormulaError,
    )
    from formulakern.errors import (
        FormulaKernError as FormulaKernError,
    )
    from formulakern.errors import (
        FormulaSizeError as FormulaSizeError,
    )
    from formulakern.errors import (
        FormulaSyntaxError as FormulaSyntaxError,
    )
    from formulakern.errors import (
        GramSizeError as GramSizeError,
    )
    from formulakern.errors import (
        MagnitudeError as MagnitudeError,
    )
    from formulakern.errors import (
        ParameterError as ParameterError,
    )
    from formulakern.estimators.extraction import RuleExtraction as RuleExtraction
    from formulakern.estimators.extraction import extract_rules as extract_rules
    from formulakern.estimators.hkl import HKLClassifier as HKLClassifier
    from formulakern.estimators.hkl_cv import HKLClassifierCV as HKLClassifierCV
    from formulakern.estimators.hkl_regressor import HKLRegressor as HKLRegressor
    from formulakern.estimators.prl import PRLClassifier as PRLClassifier
    from formulakern.estimators.search import FormulaSearch as FormulaSearch
    from formulakern.estimators.simplification import Simplification as Simplification
    from formulakern.estimators.simplification import simplify_svm as simplify_svm
    from formulakern.estimators.svm import FormulaSVC as FormulaSVC
    from formulakern.estimators.transformers import PropositionEncoder as PropositionEncoder
    from formulakern.kernels import boolean as boolean
    from formulakern.kernels import measures as measures
    from formulakern.kernels.algebra import Kernel as Kernel
    from formulakern.kernels.candidates import CandidateGrams as CandidateGrams
    from formulakern.kernels.formula import FormulaKernel as FormulaKernel
    from formulakern.kernels.formula import kernel as kernel
    from formulakern.rules.ensemble import RuleEnsemble as RuleEnsemble
    from formulakern.rules.ensemble import WeightedRule as WeightedRule
    from formulakern.rules.rule import Rule as Rule
    from formulakern.rules.rule import rule as rule
    from formulakern.solvers.matrix_game import GameSolution as GameSolution
    from formulakern.solvers.matrix_game import solve_game as solve_game
    from formulakern.syntax.choice import Choice as Choice
    from formulakern.syntax.formula import (
        Formula as Formula,
    )
    from formulakern.syntax.formula import (
        Variable as Variable,
    )
    from formulakern.syntax.formula import (
        variables as variables,
    )
    from formulakern.syntax.parser import parse as parse
    from formulakern.syntax.random import random_formula as random_formula

__version__ = "0.1.0"

#: public name → the module that defines it
_HOME = {
    "CandidateGrams": "kernels.candidates",
    "Choice": "syntax.choice",
    "DataError": "errors",
    "Formula": "syntax.formula",
    "FormulaError": "errors",
    "FormulaKernError": "errors",
    "FormulaKernel": "kernels.formula",
    "FormulaSVC": "estimators.svm",
    "FormulaSearch": "estimators.search",
    "FormulaSizeError": "errors",
    "FormulaSyntaxError": "errors",
    "GramSizeError": "errors",
    "HKLClassifier": "estimators.hkl",
    "HKLClassifierCV": "estimators.hkl_cv",
    "HKLRegressor": "estimators.hkl_regressor",
    "Kernel": "kernels.algebra",
    "MagnitudeError": "errors",
    "PRLClassifier": "estimators.prl",
    "ParameterError": "errors",
    "PropositionEncoder": "estimators.transformers",
    "Rule": "rules.rule",
    "RuleEnsemble": "rules.ensemble",
    "RuleExtraction": "estimators.extraction",
    "Simplification": "estimators.simplification",
    "WeightedRule": "rules.ensemble",
    "GameSolution": "solvers.matrix_game",
    "extract_rules": "estimators.extraction",
    "simplify_svm": "estimators.simplification",
    "Table": "encoding.table",
    "Variable": "syntax.formula",
    "kernel": "kernels.formula",
    "parse": "syntax.parser",
    "random_formula": "syntax.random",
    "rule": "rules.rule",
    "solve_game": "solvers.matrix_game",
    "variables": "syntax.formula",
}

#: public name → the module that it is
_MODULES = {"boolean": "kernels.boolean", "datasets": "datasets", "measures": "kernels.measures"}

__all__ = ["__version__", *sorted(_HOME | _MODULES)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        module = importlib.import_module(f"formulakern.{_MODULES[name]}")
        globals()[name] = module
        return module
    if name not in _HOME:
        raise AttributeError(f"module 'formulakern' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"formulakern.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
