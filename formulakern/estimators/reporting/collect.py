"""The values of a report, asked of a fitted estimator by what it holds."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_outlier_detector, is_regressor

from formulakern.arrays import FloatArray
from formulakern.display.report.values import (
    Classified,
    DataSummary,
    Reason,
    Reasons,
    Regressed,
    Report,
)
from formulakern.errors import DataError, FormulaKernError
from formulakern.estimators.reporting import quality as measures
from formulakern.estimators.reporting.choquet import of_choquet
from formulakern.estimators.reporting.columns import summary, target_table
from formulakern.estimators.reporting.facts import ModelValues
from formulakern.estimators.reporting.kernels import of_kernel, of_search
from formulakern.estimators.reporting.rules import of_decision, of_ensemble
from formulakern.estimators.targets import read_classes, read_numbers
from formulakern.rules.decision import DecisionRules
from formulakern.rules.ensemble import RuleEnsemble
from formulakern.tables.read import is_sparse
from formulakern.tables.table import Table, cell

__all__ = ["collect"]

#: Columns whose entries are shown of a row.
MOST_ENTRIES = 60


def collect(
    model: Any, X: Any, y: Any, max_rows: int, rules: int, title: str | None, made_by: str
) -> Report:
    """All that the report of a fitted model shows.

    Parameters
    ----------
    model : estimator
        Fitted.
    X : table of n_rows rows
    y : array-like of shape (n_rows,), optional
    max_rows : int
        So many rows are held in the page.
    rules : int
        Rules that are read from a kernel.
    title : str, optional
    made_by : str
    """
    table = _table(model, X)
    predicted = np.asarray(model.predict(X))
    n = len(predicted)
    if not n:
        raise DataError("a report needs rows; X has none.")
    truth = None if y is None else _truth(model, y, n)
    held = min(max_rows, n)
    values = _values(model, X, held, rules)
    quality, tiles = _quality(model, X, truth, predicted, values)
    learned = values.learned
    counted = values.n_rules
    if counted is not None:
        conditions = "" if values.n_conditions is None else f"{values.n_conditions:,} conditions"
        tiles = [*tiles, ("Rules", f"{counted:,}", conditions)]
    name = title or type(model).__name__
    what = _what(model, values.target if y is None else getattr(y, "name", None) or values.target)
    shape = f"{n:,} rows" + (f", {table.shape[1]:,} columns" if table is not None else "")
    return Report(
        name,
        f"{what}; {shape}" if what else shape,
        tiles,
        replace(learned, sentences=[*learned.sentences, *_proofs(model)]),
        quality,
        _reasons(values, table, truth, predicted, held, n),
        _data(model, table, values, truth, predicted),
        _parameters(model),
        made_by,
    )


def _values(model: Any, X: Any, held: int, top: int) -> ModelValues:
    """What the model learned, and why the first ``held`` rows are decided as they are."""
    rules = getattr(model, "rules_", None)
    if isinstance(rules, RuleEnsemble):
        return of_ensemble(model, rules, X, held)
    if isinstance(rules, DecisionRules):
        return of_decision(model, rules, X, held)
    if hasattr(model, "best_estimator_"):
        return of_search(model, X, held, top)
    if hasattr(model, "scaling_"):
        return of_choquet(model, X, held)
    return of_kernel(model, X, held, top)


def _table(model: Any, X: Any) -> Table | None:
    """The rows as a table, under the names of training; None of what is no table."""
    if is_sparse(X):
        return None
    try:
        table = X if isinstance(X, Table) else Table.of(X)
    except (FormulaKernError, TypeError, ValueError):
        return None
    names = [plan.name for plan in _plans(model)]
    if names and len(names) == table.shape[1] and tuple(names) != table.names:
        return Table.of(table, names=names)
    return table


def _plans(model: Any) -> Sequence[Any]:
    return getattr(getattr(model, "encoder_", None), "plans_", ())


def _truth(model: Any, y: Any, n: int) -> npt.NDArray[Any]:
    return read_numbers(y, n) if is_regressor(model) else read_classes(y, n)


def _what(model: Any, target: str) -> str:
    classes = getattr(model, "classes_", None)
    if is_outlier_detector(model):
        return "Rows like those of training, or not"
    if classes is None:
        return f"A number, {target}"
    named = ", ".join(str(c) for c in classes[:6]) + ", …" * (len(classes) > 6)
    of = "" if target == "class" else f" of {target}"
    return f"{len(classes)} classes{of}: {named}"


def _proofs(model: Any) -> list[str]:
    """How near the optimum the solver came, in a sentence."""
    gap = getattr(model, "gap_", None)
    if gap is None or not np.isfinite(np.max(gap)):
        return []
    return [f"The solver proved that its optimum is at most {float(np.max(gap)):.2g} away."]


def _parameters(model: Any) -> str:
    """The parameters, one a line."""
    lines = [f"{name} = {value!r}" for name, value in model.get_params(deep=False).items()]
    return "\n".join([type(model).__name__, *(f"    {' '.join(line.split())}" for line in lines)])


# -- how good --------------------------------------------------------------------------------------


def _quality(
    model: Any,
    X: Any,
    truth: npt.NDArray[Any] | None,
    predicted: npt.NDArray[Any],
    values: ModelValues,
) -> tuple[Classified | Regressed | str, measures.Tiles]:
    if truth is None:
        return "How good predictions are is not known: the report was made without y.", []
    curve = values.curve(X, truth) if values.curve is not None else None
    missing = [values.no_curve] if values.no_curve else []
    if is_regressor(model):
        return measures.regressed(truth, predicted, values.target, curve, missing)
    if is_outlier_detector(model):
        classes: Sequence[Any] = (-1, 1)
        scores = measures.one_column(np.asarray(model.decision_function(X)), 2)
        if not np.isin(truth, classes).all():
            return "How good predictions are needs a y of 1 and −1.", []
        missing.append("A model of new rows has no probabilities.")
        return measures.classified(classes, truth, predicted, scores, None, curve, missing)
    chances = _chances(model, X, missing)
    scores = None
    if hasattr(model, "decision_function"):
        scores = measures.one_column(
            np.asarray(model.decision_function(X), dtype=np.float64), len(model.classes_)
        )
        if scores is None and chances is None:
            missing.append("No ROC curve: the model has one score for all of its ordered classes.")
    return measures.classified(
        model.classes_.tolist(), truth, predicted, scores, chances, curve, missing
    )


def _chances(model: Any, X: Any, missing: list[str]) -> FloatArray | None:
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))
    missing.append("No calibration: the model has no probabilities.")
    return None


# -- why, and of what ------------------------------------------------------------------------------


def _reasons(
    values: ModelValues,
    table: Table | None,
    truth: npt.NDArray[Any] | None,
    predicted: npt.NDArray[Any],
    held: int,
    n: int,
) -> Reasons | str:
    if values.no_reasons:
        return values.no_reasons
    names = [] if table is None else list(table.names[:MOST_ENTRIES])
    number = values.classes is None
    rows = []
    for row in range(held):
        said = f"{predicted[row]:.6g}" if number else str(predicted[row])
        is_of = "" if truth is None else f"{truth[row]:.6g}" if number else str(truth[row])
        right = None if truth is None or number else said == is_of
        entries = [cell(table.entry(name, row)) for name in names] if table is not None else []
        reason = Reason(row + 1, said, is_of, right, values.sentences.get(row, ""), entries)
        if values.sums:
            reason = replace(reason, sums=values.sums[row])
        if values.steps:
            reason = replace(reason, steps=values.steps[row])
        rows.append(reason)
    return Reasons(names, values.terms, rows, n, values.term, values.how)


def _data(
    model: Any,
    table: Table | None,
    values: ModelValues,
    truth: npt.NDArray[Any] | None,
    predicted: npt.NDArray[Any],
) -> DataSummary | str:
    if table is None:
        return "These rows are no table with columns of their own: nothing is said of columns."
    target = None
    if values.classes is not None and truth is not None:
        target = target_table(values.target, truth.tolist(), predicted.tolist())
    used: Mapping[str, int] | None = None
    if values.rule_columns is not None:
        every = itertools.chain.from_iterable(map(set, values.rule_columns))
        counts: dict[str, int] = {}
        for name in every:
            counts[str(name)] = counts.get(str(name), 0) + 1
        used = counts
    with warnings.catch_warnings():  # the prediction has said what there is to say
        warnings.simplefilter("ignore")
        return summary(table, _plans(model), used, target)
