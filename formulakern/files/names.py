"""What model files may be made of: the names of classes in the files, and where they live now."""

from __future__ import annotations

from formulakern.registry import LEARNERS

__all__ = ["known_names"]

#: Classes by the module that has them.  A class that moves keeps its name in the files, and one
#: that has another name there is ``"name in files=name"``.
_CLASSES: dict[str, tuple[str, ...]] = {
    "formulakern.encoding.plan": ("ColumnPlan",),
    "formulakern.encoding.degrees": ("Degrees",),
    "formulakern.encoding.packed": ("PackedTable",),
    "formulakern.encoding.real": ("RealTable",),
    "formulakern.estimators.choquet.machines": ("AttributeScaling",),
    "formulakern.estimators.choquet.set_function": ("SetFunction",),
    "formulakern.estimators.encoder": ("PropositionEncoder",),
    "formulakern.estimators.features": ("FormulaFeatures",),
    "formulakern.estimators.hkl.base": ("GrowthHistory",),
    "formulakern.estimators.multiple_kernels": ("FormulaWeights",),
    "formulakern.estimators.prl.base": ("EpochHistory",),
    "formulakern.estimators.rule_lists.classifier": ("ListHistory",),
    "formulakern.estimators.search.results": ("SearchResults",),
    "formulakern.estimators.svm.extraction": ("TrainedModel",),
    "formulakern.kernels.algebra": (
        "NormalizedKernel",
        "ProductKernel",
        "ScaledKernel",
        "SumKernel",
    ),
    "formulakern.kernels.boolean.counted": (
        "BalancedKernel",
        "ClausesOfClauses",
        "Conjunctions",
        "CountedKernel",
        "Powers",
        "Subsets",
        "TanimotoKernel",
    ),
    "formulakern.kernels.choquet": ("BalancedChoquet", "ChoquetKernel", "SubsetsUpTo"),
    "formulakern.kernels.formula": ("FormulaKernel",),
    "formulakern.kernels.graded": ("GradedKernel",),
    "formulakern.kernels.strings.k_mers": ("MismatchKernel", "SpectrumKernel"),
    "formulakern.kernels.strings.strings": ("Strings",),
    "formulakern.kernels.strings.weighted_degrees": ("WeightedDegreeKernel",),
    "formulakern.learning.covering.optimal": ("ListProgress",),
    "formulakern.learning.formula_features": (
        *("ChosenFeatures", "FeatureList", "Function", "RowLengths"),
    ),
    "formulakern.learning.hkl.active_set": ("GrownSolution", "GrowthStep"),
    "formulakern.learning.hkl.problem": ("HierarchicalModel", "ScoreFunction"),
    "formulakern.learning.kernel_machines": ("PairwiseModel",),
    "formulakern.learning.prl.column_generation": ("Epoch",),
    "formulakern.rules.decision": ("ClassRule",),
    "formulakern.rules.ensemble": ("RuleEnsemble",),
    "formulakern.rules.features": ("Conjunction", "Degree", "Instance", "LinearTerm", "Monomial"),
    "formulakern.rules.rule": ("Rule",),
    "formulakern.rules.rule_list": ("RuleList",),
    "formulakern.rules.rule_set": ("RuleSet",),
    "formulakern.rules.voting": ("WeightedRule",),
    "formulakern.solvers.hierarchical.solve": ("HierarchicalSolution",),
    "formulakern.syntax.leaves": ("ColumnName", "Comparison", "Level"),
    "formulakern.syntax.formula": ("Constant", "Variable", "_assemble"),
    "formulakern.syntax.temporal": ("Temporal",),
    "sklearn.calibration": (
        "CalibratedClassifierCV",
        "_CalibratedClassifier",
        "_SigmoidCalibration",
    ),
    "sklearn.model_selection._split": (
        "KFold",
        "RepeatedKFold",
        "RepeatedStratifiedKFold",
        "StratifiedKFold",
    ),
}


def known_names() -> dict[str, str]:
    """Name in a file → ``"module:name"``, of the learners too."""
    listed = {
        name.partition("=")[0]: f"{module}:{name.rpartition('=')[2]}"
        for module, names in _CLASSES.items()
        for name in names
    }
    return listed | {row.estimator: f"{row.module}:{row.estimator}" for row in LEARNERS.values()}
