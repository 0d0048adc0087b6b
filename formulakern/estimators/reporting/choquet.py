"""What a Choquet integral learned, and how it decides, as values of a report."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.display.report.values import Learned, ListedColumn, ListedTable, ScoreSum
from formulakern.estimators.reporting.facts import ModelValues
from formulakern.estimators.reporting.kernels import pair_of_row
from formulakern.tables.table import Table

__all__ = ["choquet_sums", "of_choquet"]

#: Weights that are shown.
MOST_WEIGHTS = 24


def of_choquet(model: Any, X: Any, held: int) -> ModelValues:
    """Of a Choquet integral: what columns weigh, and how its levels add up on the first rows."""
    functions = model._functions
    names = list(map(str, getattr(model, "feature_names_in_", ())))
    names = names or [f"x{j}" for j in range(model.n_features_in_)]
    classes = getattr(model, "classes_", None)
    pairs = [(0, 1)] if classes is None else list(itertools.combinations(range(len(classes)), 2))
    titles = ["The prediction"]
    if classes is not None:
        known = classes.tolist()
        titles = [f"{known[j]} (above 0) against {known[i]}" for i, j in pairs]
    degrees = model.degrees(_first(X, held))
    intercepts = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
    chosen = np.zeros(len(degrees), dtype=np.intp)
    if len(pairs) > 1:
        scores = np.asarray(model.decision_function(_first(X, held)))
        chosen = np.array([pair_of_row(row, pairs) for row in scores], dtype=np.intp)
    terms: list[str] = []
    sums: list[list[ScoreSum]] = [[] for _ in degrees]
    for k in np.unique(chosen).tolist():
        rows = np.flatnonzero(chosen == k)
        texts, found = choquet_sums(
            functions[k], degrees[rows], names, float(intercepts[k]), titles[k]
        )
        for row, one in zip(rows.tolist(), found, strict=True):
            shifted = [(term + len(terms), amount) for term, amount in one.terms]
            sums[row] = [replace(one, terms=shifted)]
        terms += texts
    sentence = (
        "A Choquet integral of the columns, each as a degree from 0 to 1 that grows with the "
        "class: what the larger of them share counts by how many have it together."
    )
    return ModelValues(
        Learned([sentence], _weights(model, names, titles)),
        classes,
        terms=terms,
        sums=sums,
        term="set of columns",
        how=(
            "Columns from the largest degree on: each bar is what a set has together, above the "
            "next one, times what the set weighs; bars start where the one before ends."
        ),
    )


def _first(X: Any, held: int) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[:held]
    if hasattr(X, "shape"):
        return X[:held]
    return Table.of(X)[list(range(min(held, len(Table.of(X)))))]


def _weights(model: Any, names: list[str], titles: list[str]) -> list[ListedTable]:
    """What columns weigh alone and in pairs, for each score that there is."""
    n, one = len(names), len(titles) == 1
    shapley = np.reshape(model.shapley_values_, (len(titles), n))
    together = np.reshape(model.interaction_indices_, (len(titles), n, n))
    directions = ["larger" if d > 0 else "smaller" for d in model.directions_.tolist()]
    alone = [(abs(shapley[k, j]), k, j) for k in range(len(titles)) for j in range(n)]
    both = [
        (abs(together[k, i, j]), k, i, j)
        for k in range(len(titles))
        for i, j in itertools.combinations(range(n), 2)
        if together[k, i, j]
    ]
    first = sorted(alone, key=lambda item: -item[0])[:MOST_WEIGHTS]
    second = sorted(both, key=lambda item: -item[0])[:MOST_WEIGHTS]
    tables = [
        ListedTable(
            "What each column weighs (Shapley values)",
            [
                ListedColumn("column", [names[j] for _, _, j in first]),
                ListedColumn("speaks up", [f"where it is {directions[j]}" for _, _, j in first]),
                ListedColumn(
                    "Shapley value", [float(shapley[k, j]) for _, k, j in first], "signed"
                ),
                *([] if one else [ListedColumn("score", [titles[k] for _, k, _ in first])]),
            ],
            len(alone),
        )
    ]
    if second:
        note = "Positive: they complement each other; negative: they replace each other."
        values = [float(together[k, i, j]) for _, k, i, j in second]
        columns = [
            ListedColumn("columns", [f"{names[i]}, {names[j]}" for _, _, i, j in second]),
            ListedColumn("interaction", values, "signed"),
            *([] if one else [ListedColumn("score", [titles[k] for _, k, _, _ in second])]),
        ]
        title = "How columns go together (interaction indices)"
        tables.append(ListedTable(title, columns, len(both), note=note))
    return tables


def choquet_sums(
    function: Any, degrees: FloatArray, names: Sequence[str], intercept: float, title: str
) -> tuple[list[str], list[ScoreSum]]:
    """f(x) = Σᵢ (x₍ᵢ₎ − x₍ᵢ₊₁₎)·μ(the columns of the i largest) + b, the sum as it stands.

    Parameters
    ----------
    function : SetFunction
        μ.
    degrees : ndarray of shape (n_rows, n)
    names : sequence of n str
    intercept : float
    title : str

    Returns
    -------
    list of str, list of ScoreSum
        What the terms say, and for each row its sum.
    """
    texts: dict[str, int] = {}
    found = []
    order = np.argsort(-degrees, axis=1, kind="stable")
    sorted_ = np.take_along_axis(degrees, order, axis=1)
    widths = sorted_ - np.append(sorted_[:, 1:], np.zeros((len(degrees), 1)), axis=1)
    for columns, width in zip(order, widths, strict=True):
        steps = np.flatnonzero(width > 0)
        sets = np.zeros((len(steps), len(names)), dtype=np.bool_)
        for place, step in enumerate(steps.tolist()):
            sets[place, columns[: step + 1]] = True
        given = width[steps] * function.measures(sets) if len(steps) else np.zeros(0)
        terms = []
        for inside, amount in zip(sets, given.tolist(), strict=True):
            text = _all_of([name for name, on in zip(names, inside, strict=True) if on])
            terms.append((texts.setdefault(text, len(texts)), amount))
        found.append(ScoreSum(title, intercept, terms, float(given.sum() + intercept)))
    return list(texts), found


def _all_of(names: Sequence[str]) -> str:
    """What is common to some columns, in few words."""
    listed = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return f"{listed}, together" if len(names) > 1 else listed
