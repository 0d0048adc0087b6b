"""``model.report(path, X, y)``: what all learners share, and the values that it shows."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_outlier_detector, is_regressor
from sklearn.utils.validation import check_is_fitted

from formulakern.checks import check_integer
from formulakern.display.report import (
    Classified,
    DataSummary,
    Reason,
    Reasons,
    Regressed,
    Report,
    page,
)
from formulakern.errors import DataError, FormulaKernError
from formulakern.estimators.reporting.columns import summary, target_table
from formulakern.estimators.reporting.kernels import of_choquet, of_kernel, of_search
from formulakern.estimators.reporting.quality import Tiles, classified, one_column, regressed
from formulakern.estimators.reporting.rules import ModelValues, of_decision, of_ensemble
from formulakern.estimators.targets import read_classes, read_numbers
from formulakern.files.replacing import replacing
from formulakern.rules.decision import DecisionRules
from formulakern.rules.ensemble import RuleEnsemble
from formulakern.tables.read import is_sparse
from formulakern.tables.table import Table, cell

__all__ = ["report"]

#: Columns whose entries are shown of a row.
MAX_ENTRIES = 60


def report(
    self: Any,
    path: str | os.PathLike[str],
    X: Any,
    y: Any = None,
    *,
    title: str | None = None,
    max_rows: int = 200,
    top: int = 20,
) -> None:
    """Write one page of HTML: what was learned, how good it is, why, and of what data.

    The page needs no network and no other file.  It has the rules in a table that can be
    sorted; confusion matrix, ROC curve, calibration and accuracy against the number of rules
    (of numbers: predicted against true ones, errors, R²); for each of the first rows the terms
    that add up to its score, the intercept among them; and the columns with their cut points,
    missing and unseen values.

    Parameters
    ----------
    path : str or path
        Of the file, ``report.html`` for example.  It replaces what was there when it is
        complete.
    X : table of shape (n_rows, n_columns)
        Rows that were not learned from, else figures are too good.
    y : array-like of shape (n_rows,), optional
        Their classes, or numbers; without them nothing is said of how good the model is.
    title : str, optional
        By default the name of the estimator.
    max_rows : int, default=200
        So many rows, the first ones, are held in the page with their entries.
    top : int, default=20
        Rules that are read from a model that is a kernel's, for each pair of classes.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    DataError
        If rows or classes cannot be read, or there are none.
    ParameterError
        If a number is out of its range.

    Notes
    -----
    The file has the entries of the rows that it shows: it is as confidential as they are.

    Examples
    --------
    >>> import os, tempfile
    >>> import formulakern as fk
    >>> X, y = fk.datasets.tic_tac_toe()
    >>> model = fk.RuleListClassifier(random_state=0).fit(X[::2], y[::2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "report.html")
    ...     model.report(path, X[1::2], y[1::2], title="Tic-tac-toe")
    ...     with open(path, encoding="utf-8") as file:
    ...         text = file.read()
    >>> "<h1>Tic-tac-toe</h1>" in text, "https://" in text
    (True, False)
    """
    check_is_fitted(self)
    check_integer("max_rows", max_rows)
    check_integer("top", top)
    text = page(_collected(self, X, y, max_rows, top, title))
    with replacing(path) as file:
        file.write_text(text, encoding="utf-8", errors="replace", newline="\n")


def _collected(model: Any, X: Any, y: Any, max_rows: int, top: int, title: str | None) -> Report:
    """Return all that the report of a fitted model shows."""
    table = _table(model, X)
    predicted = np.asarray(model.predict(X))
    n = len(predicted)
    if not n:
        raise DataError("a report needs rows; X has none.")
    truth = None
    if y is not None:
        truth = read_numbers(y, n) if is_regressor(model) else read_classes(y, n)
    held = min(max_rows, n)
    values = _values(model, X, held, top)
    quality, tiles = _quality(model, X, truth, predicted, values)
    if values.n_rules is not None:
        conditions = "" if values.n_conditions is None else f"{values.n_conditions:,} conditions"
        tiles = [*tiles, ("Rules", f"{values.n_rules:,}", conditions)]
    shape = f"{n:,} rows" + (f", {table.shape[1]:,} columns" if table is not None else "")
    learned = values.learned
    gap = getattr(model, "gap_", None)
    if gap is not None and np.isfinite(np.max(gap)):
        proof = f"The solver proved that its optimum is at most {float(np.max(gap)):.2g} away."
        learned = replace(learned, sentences=[*learned.sentences, proof])
    parameters = [
        f"    {' '.join(f'{name} = {value!r}'.split())}"
        for name, value in model.get_params(deep=False).items()
    ]
    kind = type(model).__name__
    return Report(
        title or kind,
        f"{_prediction(model, getattr(y, 'name', None) or values.target)}; {shape}",
        tiles,
        learned,
        quality,
        _reasons(values, table, truth, predicted, held),
        _data(model, table, values, truth, predicted),
        "\n".join([kind, *parameters]),
        "Written by formulakern.",
    )


def _values(model: Any, X: Any, held: int, top: int) -> ModelValues:
    """Return what the model learned, and why the first ``held`` rows are decided as they are."""
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
    """Return the rows as a table with the names of training, or None if they are no table."""
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


def _prediction(model: Any, target: str) -> str:
    """Return what is predicted, in words."""
    classes = getattr(model, "classes_", None)
    if is_outlier_detector(model):
        return "Rows like those of training, or not"
    if classes is None:
        return f"A number, {target}"
    named = ", ".join(str(c) for c in classes[:6]) + ", …" * (len(classes) > 6)
    of = "" if target == "class" else f" of {target}"
    return f"{len(classes)} classes{of}: {named}"


def _quality(
    model: Any,
    X: Any,
    truth: npt.NDArray[Any] | None,
    predicted: npt.NDArray[Any],
    values: ModelValues,
) -> tuple[Classified | Regressed | str, Tiles]:
    if truth is None:
        return "How good predictions are is not known: the report was made without y.", []
    curve = None if values.curve is None else values.curve(truth)
    missing = [values.no_curve] if values.no_curve else []
    if is_regressor(model):
        return regressed(truth, predicted, values.target, curve, missing)
    classes = [-1, 1] if is_outlier_detector(model) else model.classes_.tolist()
    if is_outlier_detector(model) and not np.isin(truth, classes).all():
        return "How good predictions are needs a y of 1 and −1.", []
    chances = scores = None
    if hasattr(model, "predict_proba"):
        chances = np.asarray(model.predict_proba(X))
    else:
        missing.append("No calibration: the model has no probabilities.")
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X), dtype=np.float64)
        scores = one_column(scores, len(classes))
        if scores is None and chances is None:
            missing.append("No ROC curve: the model has one score for all of its ordered classes.")
    return classified(classes, truth, predicted, scores, chances, curve, missing)


def _reasons(
    values: ModelValues,
    table: Table | None,
    truth: npt.NDArray[Any] | None,
    predicted: npt.NDArray[Any],
    held: int,
) -> Reasons:
    names = [] if table is None else list(table.names[:MAX_ENTRIES])
    number = values.classes is None

    def text(value: Any) -> str:
        return f"{value:.6g}" if number else str(value)

    rows = []
    for row in range(held):
        ours, theirs = text(predicted[row]), "" if truth is None else text(truth[row])
        rows.append(
            Reason(
                row + 1,
                ours,
                theirs,
                None if truth is None or number else ours == theirs,
                values.sentences.get(row, ""),
                [cell(table.entry(name, row)) for name in names] if table is not None else [],
                values.sums[row] if values.sums else (),
                values.steps[row] if values.steps else (),
            )
        )
    return Reasons(names, values.terms, rows, len(predicted), values.term, values.how)


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
    used = None
    if values.rule_columns is not None:
        used = Counter(str(name) for columns in values.rule_columns for name in set(columns))
    with warnings.catch_warnings():  # the prediction has warned already
        warnings.simplefilter("ignore")
        return summary(table, _plans(model), used, target)
