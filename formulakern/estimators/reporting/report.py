"""The report of a model as a page of HTML: its predictions, their quality, and the data."""

from __future__ import annotations

import math
import os
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.checks import check_integer
from formulakern.display.report import ListedColumn, ListedTable, around, page
from formulakern.encoding.plan import ColumnPlan, unseen_shares
from formulakern.errors import DataError, FormulaKernError
from formulakern.estimators.reporting.models import ModelValues, r_squared, texts_of, values_of
from formulakern.files.replacing import replacing
from formulakern.syntax.leaves import Comparison
from formulakern.tables.read import is_sparse
from formulakern.tables.table import Table, cell
from formulakern.text import SHARES, clip, score_text

#: The quantile of the normal distribution for two-sided intervals of 95 %.
NORMAL = 1.959963984540054
#: The most columns whose entries are shown for a row.
MAX_ENTRIES = 60
#: The most classes of a confusion matrix, lines and points of a picture, and groups of
#: probabilities.
MAX_MATRIX_CLASSES, MAX_LINES, MAX_POINTS, GROUPS = 12, 6, 500, 10
#: The most columns, values of a column, bins, cut points and classes that are shown.
MAX_COLUMNS, MAX_VALUES, BINS, MAX_CUTS, MAX_CLASSES = 100, 5, 24, 12, 30


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
    """Write a report of the model as one page of HTML.

    The page needs no network and no other file.  It has

    * the held-out scores that ``formulakern learn`` saved with the model;
    * the rules in a table that can be sorted (of a score card: the card);
    * confusion matrix, ROC curve, calibration, and accuracy against the number of rules; for
      numbers: predicted against true ones, errors and R²;
    * for each of the first rows, the terms that add up to its score;
    * the columns with their cut points, missing and unseen values.

    Parameters
    ----------
    path : str or path
        The file, for example ``report.html``.  It is replaced when the report is complete.
    X : table of shape (n_rows, n_columns)
        Rows that the model was not trained on; on training rows the figures are too good.  The page
        has a note if the model is from ``formulakern learn`` and X is its training table.
    y : array-like of shape (n_rows,), optional
        Their classes or numbers; without them, the page has no figures of quality.
    title : str, optional
        By default the name of the estimator, or "Score card".
    max_rows : int, default=200
        The most rows whose entries are in the page; they are the first ones.
    top : int, default=20
        The number of rules for each pair of classes, if the model has a kernel.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    DataError
        If rows or classes cannot be read, or X has no rows.
    ParameterError
        If a number is out of its range.

    Notes
    -----
    The file has the entries of the first rows, and is as confidential as they are.

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
    from sklearn.base import is_outlier_detector, is_regressor
    from sklearn.utils.validation import check_is_fitted

    from formulakern.estimators.validation import read_classes, read_numbers

    check_is_fitted(self)
    parameters = [
        f"    {' '.join(f'{name} = {value!r}'.split())}"
        for name, value in self.get_params(deep=False).items()
    ]
    kind = type(self).__name__
    write_report(
        self,
        path,
        X,
        y,
        read_numbers if is_regressor(self) else read_classes,
        kind=kind,
        parameters="\n".join([kind, *parameters]),
        numbers=is_regressor(self),
        novelty=is_outlier_detector(self),
        title=title,
        max_rows=max_rows,
        top=top,
    )


def write_report(
    model: Any,
    path: str | os.PathLike[str],
    X: Any,
    y: Any,
    read: Callable[[Any, int], npt.NDArray[Any]],
    *,
    kind: str,
    parameters: str,
    numbers: bool = False,
    novelty: bool = False,
    title: str | None = None,
    max_rows: int = 200,
    top: int = 20,
) -> None:
    """Write the report of an estimator, or of its saved rules without scikit-learn.

    ``read(y, n)`` returns the target of n rows; ``numbers`` are predicted by a regressor, and 1 or
    −1 by the detector of a ``novelty``.
    """
    check_integer("max_rows", max_rows)
    check_integer("top", top)
    table = _table(model, X)
    predicted = np.asarray(model.predict(X))
    n = len(predicted)
    if not n:
        raise DataError("X has no rows; pass at least one row for a report.")
    truth = None if y is None else read(y, n)
    values = values_of(model, X, truth, min(max_rows, n), top)
    gap = float(np.max(getattr(model, "gap_", math.nan)))
    classes = getattr(model, "classes_", None)
    quality: dict[str, Any] | str
    if truth is None:
        quality = "The quality of the predictions is unknown: the report was made without y."
    elif numbers:
        missing = [values.no_curve] if values.no_curve else []
        figures = _regressed(truth, predicted) | _rule_curve(values)
        quality = {**figures, "target": values.target, "confusion": None, "missing": missing}
    elif novelty and not np.isin(truth, [-1, 1]).all():
        quality = "The quality of the predictions is unknown: it needs a y of 1 and −1."
    else:
        known = [-1, 1] if novelty else np.asarray(classes).tolist()
        quality = _classified(model, X, truth, predicted, values, known)
    text = page(
        title=title or ("Score card" if values.learned.card else kind),
        novelty=novelty,
        classes=None if classes is None else list(map(str, classes)),
        target=getattr(y, "name", None) or values.target,
        size=values.size,
        learned=values.learned,
        gap=gap if math.isfinite(gap) else None,
        training=_training(model, table),
        certificate=getattr(model, "certificate_", None),
        quality=quality,
        reasons=_reasons(values, table, truth, predicted),
        data=_data(model, table, values, truth, predicted),
        parameters=parameters,
    )
    with replacing(path) as file:
        file.write_text(text, encoding="utf-8", errors="replace", newline="\n")


def _training(model: Any, table: Table | None) -> dict[str, Any] | None:
    """Return the origin of a model, its held-out scores, and whether ``table`` is its training."""
    origin = getattr(model, "training_", None)
    if origin is None:
        return None
    listed = []
    for where, found in origin["scores"].items():
        names = list(next(iter(found.values())))
        columns = [ListedColumn("learner", list(found))]
        for name in names:
            cells = [score_text(name, scores[name]) for scores in found.values()]
            columns.append(ListedColumn(f"{name}, %" if name in SHARES else name, cells))
        note = "Mean ± standard error over the folds." if "fold" in where else ""
        listed.append(ListedTable(f"Held-out scores: {where}", columns, note=note))
    same = table is not None and table.digest == origin["digest"]
    return {**origin, "tables": listed, "same": same}


def _table(model: Any, X: Any) -> Table | None:
    """Return the rows as a table with the names of training, or None if they are not a table."""
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


def _reasons(
    values: ModelValues,
    table: Table | None,
    truth: npt.NDArray[Any] | None,
    predicted: npt.NDArray[Any],
) -> dict[str, Any]:
    """Return the reasons of the first predictions, and the rows, in the form of the script."""
    names = [] if table is None else list(table.names[:MAX_ENTRIES])
    number = values.classes is None

    def text(value: Any) -> str:
        return f"{value:.6g}" if number else str(value)

    rows = []
    for row, reason in enumerate(values.reasons):
        ours, theirs = text(predicted[row]), "" if truth is None else text(truth[row])
        rows.append(
            {
                "n": row + 1,
                "p": ours,
                "t": theirs,
                "ok": None if truth is None or number else ours == theirs,
                "e": [] if table is None else [cell(table.entry(name, row)) for name in names],
                "s": "",
                **reason,
            }
        )
    data = {"columns": names, "terms": values.terms, "what": values.term, "rows": rows}
    return {"how": values.how, "total": len(predicted), "data": data}


# -- quality --------------------------------------------------------------------------------------


def _classified(
    model: Any,
    X: Any,
    truth: npt.NDArray[Any],
    predicted: npt.NDArray[Any],
    values: ModelValues,
    classes: list[Any],
) -> dict[str, Any]:
    """Return the figures of quality of predicted classes, with notes on missing ones."""
    missing = [values.no_curve] if values.no_curve else []
    chances = scores = None
    if hasattr(model, "predict_proba"):
        chances = np.asarray(model.predict_proba(X))
    else:
        missing.append("No calibration: the model has no probabilities.")
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X), dtype=np.float64)
        scores = _one_column(scores, len(classes))
        if scores is None and chances is None:
            missing.append("No ROC curve: the model has one score for all of its ordered classes.")
    known = list(map(str, classes))
    is_of, said = texts_of(truth), texts_of(predicted)
    names = known + sorted({*is_of, *said} - {*known})
    places = {name: k for k, name in enumerate(names)}
    pairs = [[places[name] for name in some] for some in (is_of, said)]
    matrix = np.zeros((len(names), len(names)), dtype=np.int64)
    np.add.at(matrix, tuple(pairs), 1)
    rows = matrix.sum(axis=1)
    n, hits = len(truth), int(np.trace(matrix))
    present = rows > 0
    shown = np.arange(len(names))
    if len(names) > MAX_MATRIX_CLASSES:
        shown = np.sort(np.argsort(-rows, kind="stable")[:MAX_MATRIX_CLASSES])
        missing.append(
            f"The confusion matrix has the {MAX_MATRIX_CLASSES} largest of {len(names)} classes."
        )
    quality = {
        "confusion": ([names[k] for k in shown], matrix[np.ix_(shown, shown)].tolist()),
        "accuracy": (hits / n, *_interval(hits, n)),
        "largest": names[int(rows.argmax())],
        "recall": np.mean(np.diag(matrix)[present] / rows[present]),
        "n_present": present.sum(),
        "second": known[1] if len(known) == 2 else None,
        "roc": [],
        "calibration": None,
        "loss": None,
        "missing": missing,
        **_rule_curve(values, float(rows.max() / n)),
    }
    if scores is not None or chances is not None:
        quality |= _roc(known, is_of, scores if chances is None else chances, missing)
    if chances is not None:
        quality["calibration"] = _calibration(known, is_of, chances)
        true = is_of[:, None] == np.array(known)
        if len(known) > 1 and true.any(axis=1).all():
            clipped = np.clip(chances, 1e-12, None)
            clipped = clipped / clipped.sum(axis=1, keepdims=True)
            loss = -np.log(clipped[true]).mean()
            shares = rows[present] / n
            quality["loss"] = loss, -float(shares @ np.log(shares))
    return quality


def _interval(hits: int, n: int) -> tuple[float, float]:
    """Return the ends of Wilson's interval of a proportion, which has 95 % confidence.

    >>> [round(end, 4) for end in _interval(8, 10)]
    [0.4902, 0.9433]
    """
    middle = (hits + NORMAL**2 / 2) / (n + NORMAL**2)
    half = NORMAL / (n + NORMAL**2) * math.sqrt(hits * (n - hits) / n + NORMAL**2 / 4)
    return max(0.0, middle - half), min(1.0, middle + half)


def _one_column(scores: FloatArray, n_classes: int) -> FloatArray | None:
    """Return scores with a column for each class, or None for scores of another kind."""
    scores = scores.reshape(len(scores), -1)
    if n_classes == 2 and scores.shape[1] == 1:
        return np.hstack([-scores, scores])
    return scores if scores.shape[1] == n_classes else None


def _regressed(truth: FloatArray, predicted: FloatArray) -> dict[str, Any]:
    """Return points and errors of predicted numbers, with the errors of a constant."""
    errors = predicted - truth
    points = np.column_stack([truth, predicted])[:MAX_POINTS]
    counts, edges = np.histogram(errors, bins=min(30, 5 + len(errors) // 5))
    return {
        "r2": r_squared(truth, predicted) if np.ptp(truth) else None,
        "absolute": (np.abs(errors).mean(), np.abs(truth - np.median(truth)).mean()),
        "square": (np.sqrt(np.mean(errors**2)), truth.std()),
        "points": points,
        "ends": around(points, 0.03),
        "counts": counts,
        "edges": (edges[0], edges[-1]),
    }


def _rule_curve(values: ModelValues, majority: float | None = None) -> dict[str, Any]:
    """Return the score against the number of rules as a staircase, and its range."""
    if values.curve is None:
        return {"rules": None, "majority": majority}
    name, reached, about = values.curve
    numbers = np.arange(float(len(reached)))
    stairs = np.column_stack([np.repeat(numbers, 2)[1:], np.repeat(reached, 2)[:-1]])
    heights = around(reached if majority is None else [*reached, majority], 0.08)
    return {"rules": (name, stairs, about), "heights": heights, "majority": majority}


def _roc(
    known: list[str], is_of: npt.NDArray[Any], scores: Any, missing: list[str]
) -> dict[str, Any]:
    """Return the curves of the most frequent classes, and the mean area."""
    found = []
    for k in [1] if len(known) == 2 else range(len(known)):
        positive = is_of == known[k]
        if positive.any() and not positive.all():
            order = np.argsort(-scores[:, k], kind="stable")
            ends = np.append(np.flatnonzero(np.diff(scores[order, k])), len(order) - 1)
            hits = np.cumsum(positive[order])[ends]
            x, y = (np.append(0, some) / some[-1] for some in (ends + 1 - hits, hits))
            at = np.linspace(0, len(x) - 1, min(len(x), MAX_POINTS)).round().astype(np.intp)
            area = float(np.trapezoid(y, x))
            found.append((int(positive.sum()), area, known[k], np.column_stack([x, y])[at]))
    if not found:
        missing.append("No ROC curve: all rows are of one class.")
        return {}
    mean = np.mean([area for _, area, _, _ in found])
    found.sort(key=lambda one: -one[0])
    if len(found) > MAX_LINES:
        missing.append(f"ROC curves of the {MAX_LINES} largest of {len(found)} classes.")
    curves = [(f"{name}: area {area:.3f}", line) for _, area, name, line in found[:MAX_LINES]]
    return {"roc": curves, "area": mean}


def _calibration(
    known: list[str], is_of: npt.NDArray[Any], chances: FloatArray
) -> tuple[str, float, FloatArray, FloatArray]:
    """Return groups of rows by the probability of the second, or of the most probable, class."""
    every = (is_of[:, None] == np.array(known, dtype=object)).astype(np.float64)
    if len(known) == 2:
        name, probability, true = known[1], chances[:, 1], every[:, 1]
        score = float(np.mean((probability - true) ** 2))
    else:
        name, best = "the most probable class", chances.argmax(axis=1)
        probability, true = chances.max(axis=1), every[np.arange(len(best)), best]
        score = float(np.mean(((chances - every) ** 2).sum(axis=1)))
    order = np.argsort(probability, kind="stable")
    cuts = np.arange(1, GROUPS) * len(order) // GROUPS
    ends = np.searchsorted(probability[order], probability[order][cuts])
    groups = [g for g in np.split(order, np.unique(ends)) if len(g)]
    points = [(probability[g].mean(), true[g].mean()) for g in groups]
    bars = np.array([_interval(int(true[g].sum()), len(g)) for g in groups])
    return name, score, np.array(points), bars


# -- columns --------------------------------------------------------------------------------------


def _data(
    model: Any,
    table: Table | None,
    values: ModelValues,
    truth: npt.NDArray[Any] | None,
    predicted: npt.NDArray[Any],
) -> dict[str, Any] | str:
    """Return the first columns of a table, their unseen values, and a table of the target."""
    if table is None:
        return "These rows are not a table with columns of their own, so columns are not described."
    used = None
    if values.rule_columns is not None:
        used = Counter(str(name) for columns in values.rule_columns for name in set(columns))
    plans = {plan.name: plan for plan in _plans(model)}
    names = list(table.names)
    with warnings.catch_warnings():  # the prediction already gave these warnings
        warnings.simplefilter("ignore")
        unseen = unseen_shares(table, list(plans.values()))
        columns = [
            {
                "name": name,
                "n_rules": None if used is None else used[name],
                "unseen": unseen.get(name, math.nan),
                **_column(table, name, plans.get(name)),
            }
            for name in names[:MAX_COLUMNS]
        ]
    missing = sum(int(table.missing(name).sum()) for name in names)
    target = None
    if values.classes is not None and truth is not None:
        target = _target_table(values.target, truth.tolist(), predicted.tolist())
    return {
        "missing": missing / max(len(table) * len(names), 1),
        "new": [name for name in names if unseen.get(name, 0.0) > 0],
        "planned": bool(plans),
        "columns": columns,
        "total": len(names),
        "knows_unseen": any(name in unseen for name in names[:MAX_COLUMNS]),
        "target": target,
    }


def _target_table(name: str, truth: Sequence[Any], predicted: Sequence[Any]) -> ListedTable:
    """Return a table of the frequency of each class in the rows and in the predictions."""
    there, said = Counter(map(str, truth)), Counter(map(str, predicted))
    classes = sorted({*there, *said}, key=lambda k: (-there[k], k))
    shown, n = classes[:MAX_CLASSES], max(len(truth), 1)
    return ListedTable(
        "Classes" if name == "class" else f"Classes of {name}",
        [
            ListedColumn("class", shown),
            ListedColumn("rows", [there[k] for k in shown], "number"),
            ListedColumn("share", [there[k] / n for k in shown], "share"),
            ListedColumn("predicted", [said[k] / n for k in shown], "share"),
        ],
        len(classes),
    )


def _column(table: Table, name: str, plan: ColumnPlan | None) -> dict[str, Any]:
    """Return the plan of a column, and its rows in bins of equal width or by value."""
    numeric, missing = table.is_numeric(name), table.missing(name)
    known = [] if plan is None else [clip(str(value), 30) for value in plan.values]
    summary = {
        "kind": plan.kind if plan is not None else "number" if numeric else "values",
        "n_propositions": None if plan is None else len(plan.propositions),
        "missing": float(missing.mean()) if len(missing) else 0.0,
        "cuts": [] if plan is None else _cuts(plan),
        "known": known[:MAX_CUTS],
        "n_known": len(known),
        "counts": [],
        "values": [],
    }
    if numeric and (plan is None or plan.kind not in ("boolean", "nominal")):
        numbers = np.asarray(table.column(name), dtype=np.float64)
        numbers = numbers[np.isfinite(numbers)]
        if len(numbers):
            ends = (float(numbers.min()), float(numbers.max()))
            bins, _ = np.histogram(numbers, bins=BINS if ends[1] > ends[0] else 1)
            return summary | {"counts": bins.tolist(), "ends": ends}
    present = np.flatnonzero(~missing)
    entries = table.column(name)[present].tolist()
    common = Counter(entries).most_common()
    counts = [count for _, count in common[:MAX_VALUES]]
    values = [
        cell(table.entry(name, int(present[entries.index(value)])))
        for value, _ in common[:MAX_VALUES]
    ]
    if len(common) > MAX_VALUES:
        values.append(f"{len(common) - MAX_VALUES:,} more")
        counts.append(len(entries) - sum(counts))
    return summary | {"counts": counts, "values": values}


def _cuts(plan: ColumnPlan) -> list[tuple[float, str]]:
    """Return the cut points of a column with their texts; dates, without histogram, are nan."""
    places = {
        str(p.value): float(p.value) if isinstance(p.value, int | float) else math.nan
        for p in plan.propositions
        if isinstance(p, Comparison) and p.relation in ("<=", ">=")
    }
    cuts = sorted(((place, text) for text, place in places.items()), key=lambda cut: cut[0])
    return cuts[:MAX_CUTS] + [(math.nan, "…")] * (len(cuts) > MAX_CUTS)
