"""Cross-validation of a formula's kernel beside the linear and the polynomial kernel.

All kernels see the same encoded rows, are normalised to cosines, and share C, so that the kernel
is the only difference.  The encoder is fitted on the training rows of each fold alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from formulakern.checks import check_choice, check_integer, check_number
from formulakern.errors import DataError
from formulakern.estimators.encoder import PropositionEncoder
from formulakern.estimators.svm.classifier import FormulaSVC
from formulakern.gram.pair import TablePair
from formulakern.kernels.boolean import polynomial as monomials
from formulakern.kernels.formula import FormulaKernel, inner_formula
from formulakern.kernels.graded import GradedKernel
from formulakern.syntax.choice import columns_read
from formulakern.tables.table import Table

__all__ = [
    "BASELINES",
    "Comparison",
    "KernelScores",
    "area_under_curve",
    "check_folds",
    "compare_estimators",
    "compare_kernels",
    "subsample",
]

Matrix = npt.NDArray[np.float64]

#: How degrees are computed with, in words.
GRADED = ("level sets", "rows of degrees are mixtures of rows of 0 and 1")
#: What a formula's kernel is compared with.
BASELINES = ("linear", "polynomial")


@dataclass
class KernelScores:
    """What one kernel reached, fold by fold.

    Attributes
    ----------
    name : str
    accuracy, auc : list of float
        One entry per fold.
    fit_seconds, predict_seconds : float
        Time over all folds.
    """

    name: str
    accuracy: list[float] = field(default_factory=list)
    auc: list[float] = field(default_factory=list)
    fit_seconds: float = 0.0
    predict_seconds: float = 0.0


@dataclass(frozen=True)
class Comparison:
    """The scores of all kernels, and how the formula's was computed."""

    scores: tuple[KernelScores, ...]
    n_propositions: int
    backend: str
    reason: str


def compare_kernels(
    kernel: FormulaKernel | GradedKernel,
    table: Table,
    classes: npt.NDArray[Any],
    *,
    n_folds: int = 10,
    C: float = 10.0,
    encoder: Any = None,
    baselines: Sequence[str] = BASELINES,
    random_state: int = 0,
    step: Callable[[str], None] | None = None,
) -> Comparison:
    """Stratified cross-validation of a formula's kernel and of others on one table.

    The linear kernel is ⟨x,z⟩; the polynomial kernel is (⟨x,z⟩ + 1)^d with d the number of
    literals that the formula's program multiplies, so that both see features of one degree.

    Parameters
    ----------
    kernel : FormulaKernel, or a GradedKernel of one
        A graded one and the other kernels then read degrees.
    table : Table of n_rows rows
    classes : ndarray of shape (n_rows,)
    n_folds : int, default=10
    C : float, default=10
    encoder : transformer, optional
        Cloned and fitted per fold; a :class:`PropositionEncoder` by default.
    baselines : sequence of {"linear", "polynomial"}
        The other kernels; both by default.
    random_state : int
        For the folds.
    step : callable, optional
        Called with a word before each fold and kernel.

    Returns
    -------
    Comparison

    Raises
    ------
    DataError
        If fewer than two classes have a row for every fold.
    ParameterError
        If ``n_folds`` or ``C`` is out of range, or a baseline is unknown.
    """
    check_folds(classes, n_folds, C)
    inside = inner_formula(kernel)
    if encoder is None:
        encoder = PropositionEncoder(graded=kernel is not inside)
    # a choice of features has no degrees
    degrees = inside.program.degrees or (columns_read(inside.formula),)
    degree = max(1, sum(degrees))
    kernels = {"formula": kernel.normalized()}
    for baseline in baselines:
        check_choice("baseline", baseline, BASELINES)
        if baseline == "linear":
            kernels["linear"] = monomials(1, 0.0).normalized()
        else:
            kernels[f"polynomial, degree {degree}"] = monomials(degree, 1.0).normalized()
    scores = tuple(KernelScores(name) for name in kernels)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=random_state)
    for number, (train, test) in enumerate(folds.split(np.zeros(len(table)), classes), 1):
        fitted = clone(encoder).fit(table[train])
        pair = kernel.read(*(fitted.transform(table[part]) for part in (train, test)))
        rows = (pair.x, pair.z)
        if number == 1:
            n_propositions = pair.x.n_columns
            backend, reason = GRADED if pair.is_real else _backend(inside, pair)
        for score, used in zip(scores, kernels.values(), strict=True):
            if step is not None:
                step(f"fold {number} of {n_folds}, {score.name} kernel")
            start = perf_counter()
            model = FormulaSVC(used, C=C, normalize=False, encoder=None)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=".*it was interrupted")
                model._fit_encoded(rows[0], classes[train], rows[0])
            if model.stopped_ == "interrupted":
                raise KeyboardInterrupt
            middle = perf_counter()
            decision = model.decision_function(rows[1])
            right = model.predict(rows[1]) == classes[test]
            score.accuracy.append(float(right.mean()))
            score.auc.append(area_under_curve(classes[test], decision, model.classes_.tolist()))
            score.fit_seconds += middle - start
            score.predict_seconds += perf_counter() - middle
    return Comparison(scores, n_propositions, backend, reason)


def compare_estimators(
    estimators: Mapping[str, Any],
    table: Any,
    classes: npt.NDArray[Any],
    *,
    n_folds: int = 10,
    random_state: int = 0,
    step: Callable[[str], None] | None = None,
) -> tuple[KernelScores, ...]:
    """Stratified cross-validation of classifiers with decision functions, on the same folds.

    Parameters
    ----------
    estimators : mapping of str to classifiers
        Cloned for every fold; ``fit_seconds`` of their scores is all time.
    table : Table, frame or array of n_rows rows
    classes : ndarray of shape (n_rows,)
    n_folds, random_state, step
        See :func:`compare_kernels`.

    Returns
    -------
    tuple of KernelScores

    Raises
    ------
    DataError, ParameterError
        As :func:`compare_kernels`.
    """
    check_folds(classes, n_folds, 1.0)
    scores = tuple(KernelScores(name) for name in estimators)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=random_state)
    for number, (train, test) in enumerate(folds.split(np.zeros(len(classes)), classes), 1):
        for score, estimator in zip(scores, estimators.values(), strict=True):
            if step is not None:
                step(f"fold {number} of {n_folds}, {score.name}")
            start = perf_counter()
            model = clone(estimator).fit(table[train], classes[train])
            decision = model.decision_function(table[test])
            score.accuracy.append(float(np.mean(model.predict(table[test]) == classes[test])))
            score.auc.append(area_under_curve(classes[test], decision, model.classes_.tolist()))
            score.fit_seconds += perf_counter() - start
    return scores


def _backend(kernel: FormulaKernel, pair: TablePair) -> tuple[str, str]:
    choice = kernel.choose(pair.rows_of_x())
    return choice.backend.name, choice.reason


def subsample(
    classes: npt.NDArray[Any], n_rows: int, random_state: int = 0
) -> npt.NDArray[np.intp]:
    """Sorted positions of a stratified random sample of at most ``n_rows`` rows.

    Every class keeps its share, and at least one row.
    """
    if len(classes) <= n_rows:
        return np.arange(len(classes))
    generator = np.random.default_rng(random_state)
    chosen = []
    for value in np.unique(classes):
        rows = np.flatnonzero(classes == value)
        size = max(1, round(len(rows) * n_rows / len(classes)))
        chosen.append(generator.choice(rows, size, replace=False))
    return np.sort(np.concatenate(chosen))


def area_under_curve(truth: npt.NDArray[Any], decision: Matrix, labels: Sequence[Any]) -> float:
    """Area under the ROC curve; with several classes the mean over one-against-rest curves.

    Parameters
    ----------
    truth : ndarray of shape (n_rows,)
    decision : ndarray of shape (n_rows,) or (n_rows, n_classes)
    labels : sequence
        The classes in the order of the columns; classes absent from ``truth`` are left out.
    """
    if decision.ndim == 1:
        return float(roc_auc_score(truth == labels[1], decision))
    areas = [
        roc_auc_score(truth == label, decision[:, column])
        for column, label in enumerate(labels)
        if 0 < np.count_nonzero(truth == label) < len(truth)
    ]
    return float(np.mean(areas))


def check_folds(classes: npt.NDArray[Any], n_folds: int, C: float) -> None:
    """Whether these classes can be cross-validated with so many folds, before any work is done.

    Two classes at least must reach every fold: otherwise there is nothing to learn in one, or
    nothing to rank.  Further classes may be smaller; folds without them are scored on the rest.

    Raises
    ------
    DataError
        If fewer than two classes have a row for every fold.
    ParameterError
        If ``n_folds`` or ``C`` is out of range.
    """
    check_integer("n_folds", n_folds, 2)
    check_number("C", C, 0, above=True)
    labels, counts = np.unique(classes, return_counts=True)
    if len(labels) < 2:
        raise DataError(
            f"every row has the class {labels[0]}; a classifier needs at least two classes. "
            "Name the class column if it is another one."
        )
    most = int(np.sort(counts)[-2])
    if most >= n_folds:
        return
    if most < 2:
        raise DataError(
            f"the class takes {len(labels):,} values, of which fewer than two have two rows or "
            "more; a classifier cannot be validated on them. Name another class column, or merge "
            "values."
        )
    raise DataError(
        f"{n_folds} folds need two classes with {n_folds} rows or more, one for every fold; the "
        f"second largest class has {most}. Use at most {most} folds."
    )
