"""Kernel models and Choquet integrals as values of a report: what is learned, and sums."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.display.report import Learned, ListedColumn, ListedTable, ScoreSum
from formulakern.errors import ParameterError
from formulakern.estimators.reporting.rules import (
    BARS,
    ModelValues,
    learned_ensemble,
    score_sum,
)
from formulakern.kernels.strings.strings import Strings
from formulakern.learning.kernel_machines import pairwise_votes
from formulakern.tables.table import Table
from formulakern.text import clip

__all__ = ["of_choquet", "of_kernel", "of_search", "pair_of_row"]

#: Terms of a sum, candidates of a search, weights of a set function, characters of a string.
MAX_TERMS, MAX_CANDIDATES, MAX_WEIGHTS, MAX_STRING = 12, 50, 24, 60
#: Seconds of a search for rules.
SECONDS = 30.0


def of_search(model: Any, X: Any, held: int, top: int) -> ModelValues:
    """Return the values of a search for formulas: its best model's, and all candidates."""
    found = of_kernel(model.best_estimator_, X, held, top)
    results = model.results_
    n = len(results["formula"])
    shown = results.leading(MAX_CANDIDATES) or list(range(min(n, MAX_CANDIDATES)))
    columns = [
        ListedColumn("rank", [int(results["rank"][i]) for i in shown], "number"),
        ListedColumn("formula", [str(results["formula"][i]) for i in shown], "rule"),
    ]
    for name in ("ratio", "mean_score", "behind", "error", "C", "seconds"):
        if np.isfinite(results[name]).any():
            numbers = [float(results[name][i]) for i in shown]
            columns.append(ListedColumn(name.replace("_", " "), numbers, "number"))
    columns.append(ListedColumn("status", [results["status"][i] for i in shown]))
    table = ListedTable(f"{n:,} candidates, the best first", columns, results.n_scored)
    learned = Learned(
        [f"Of {n:,} formulas the search chose {model.best_formula_}.", *found.learned.sentences],
        [*found.learned.tables, table],
    )
    return replace(found, learned=learned)


# -- votes of support vectors ----------------------------------------------------------------------


def of_kernel(model: Any, X: Any, held: int, top: int) -> ModelValues:
    """Return the values of a vote of support vectors, with the heaviest rules if it has any."""
    weights, titles, classes = _expansions(model)
    support = model._support_rows
    gram = model.kernel_(model._read_table(X).take(np.arange(held)), support)
    gram = np.asarray(gram, dtype=np.float64)
    intercepts = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
    values = gram @ weights.T + intercepts
    chosen = _shown_pairs(pairwise_votes(values, len(classes))[1]) if len(titles) > 1 else None
    sums = []
    for row in range(len(gram)):
        k = 0 if chosen is None else chosen[row]
        given, start = gram[row] * weights[k], float(intercepts[k])
        total = float(given.sum() + start)
        sums.append([score_sum(titles[k], start, given, total, MAX_TERMS)])
    terms = [f"training row {row + 1:,}" for row in model.support_.tolist()]
    if hasattr(model, "n_support_") and hasattr(model, "classes_"):
        labels = np.repeat(model.classes_, model.n_support_).tolist()
        terms = [f"{term}, {label}" for term, label in zip(terms, labels, strict=True)]
    if isinstance(support, Strings):
        terms = [f"{t}: {clip(str(support[k]), MAX_STRING)}" for k, t in enumerate(terms)]
    learned, found = _learned_by_kernel(model, top)
    return ModelValues(
        learned,
        classes or None,
        rule_columns=None if found is None else [rule.columns for rule in found],
        terms=terms,
        sums=sums,
        term="training row",
        how=(
            f"The score is a sum over {len(terms):,} support vectors, each weighed by its "
            f"similarity to the row. {BARS}."
        ),
        no_curve=""
        if found is None
        else "Accuracy against the number of rules: all features of the kernel vote; "
        "fk.simplify_svm shows how few of them suffice.",
    )


def _expansions(model: Any) -> tuple[FloatArray, list[str], list[Any]]:
    """Return weights of the support vectors and a title for each score; and the classes."""
    if hasattr(model, "classes_"):
        classes = model.classes_.tolist()
        titles = _pair_titles(classes)
        if len(classes) == 2:
            titles = [f"The score: {classes[1]} above 0, else {classes[0]}"]
        return model._pair_weights, titles, classes
    weights = np.atleast_2d(model.dual_coef_)
    if hasattr(model, "epsilon"):
        return weights, ["The prediction"], []
    return weights, ["The score: below 0 a row is new"], [-1, 1]


def _pair_titles(classes: Sequence[Any]) -> list[str]:
    return [f"{a} (above 0) against {b}" for a, b in itertools.combinations(classes, 2)]


def _shown_pairs(scores: FloatArray) -> list[int]:
    pairs = list(itertools.combinations(range(scores.shape[1]), 2))
    return [pair_of_row(row, pairs) for row in scores]


def pair_of_row(scores: FloatArray, pairs: Sequence[tuple[int, int]]) -> int:
    """Return the pair of the two classes with the largest scores.

    >>> pair_of_row(np.array([0.1, 2.0, 1.0]), [(0, 1), (0, 2), (1, 2)])
    2
    """
    first, second = sorted(np.argsort(-scores, kind="stable")[:2].tolist())
    return list(pairs).index((first, second))


def _learned_by_kernel(model: Any, top: int) -> tuple[Learned, Sequence[Any] | None]:
    """Return the heaviest rules of a kernel, or why there are none."""
    formula = getattr(model, "formula", getattr(model, "kernel", None))
    kernel = clip(repr(model.kernel_), 300)
    if formula is not None and not hasattr(model, "weights_"):
        kernel = f"of {clip(str(formula), 300)}"
    vote = f"A weighted vote of {len(model.support_):,} training rows by the kernel {kernel}."
    if hasattr(model, "position_weights"):
        return _learned_by_positions(model, top, vote), None
    tables = [_weights_table(model.summary_)] if hasattr(model, "summary_") else []
    if hasattr(model, "epsilon"):
        why = "These features vote for a number, not for classes: rules are read from classifiers."
        return Learned([vote, why], tables), None
    if not hasattr(model, "rules"):
        why = "A model of new rows compares with all rows of training: it has no rules of classes."
        return Learned([vote, why], tables), None
    try:
        found = model.rules(top, time_limit=SECONDS)
    except ParameterError as error:
        return Learned([vote, f"No rules are listed: {error}"], tables), None
    shown = learned_ensemble(found.ensemble, f"The {len(found)} heaviest rules", whole=False)
    bound = max(found.bounds.values(), default=0.0)
    proof = (
        f"It is proven that no other feature of the kernel weighs more than {bound:.4g}."
        if found.proven
        else f"The search for rules was stopped: others weigh at most {bound:.4g}."
    )
    return Learned([vote, proof], [*shown.tables, *tables]), found.ensemble.rules


def _weights_table(summary: Any) -> ListedTable:
    order = summary.order
    return ListedTable(
        f"What each formula weighs: {summary.method}",
        [
            ListedColumn("formula", [summary.formulas[r] for r in order], "rule"),
            ListedColumn("weight", [float(summary.weights[r]) for r in order], "signed"),
            ListedColumn("share of the model", [float(summary.shares[r]) for r in order], "share"),
        ],
    )


def _learned_by_positions(model: Any, top: int, vote: str) -> Learned:
    try:
        items = list(model.position_weights(top))
    except ParameterError as error:
        return Learned([vote, f"No positions are listed: {error}"])
    columns = [
        ListedColumn("substring", [item.k_mer for item in items]),
        ListedColumn("position", [item.position for item in items], "number"),
        ListedColumn("weight", [item.weight for item in items], "signed"),
        ListedColumn("speaks", [f"for {item.winner} against {item.loser}" for item in items]),
    ]
    title = "The heaviest substrings, by position"
    return Learned([vote], [ListedTable(title, columns, note="Positions count from 0.")])


# -- Choquet integrals -----------------------------------------------------------------------------


def of_choquet(model: Any, X: Any, held: int) -> ModelValues:
    """Return the values of a Choquet integral: weights of columns, and sums over its levels.

    With the degrees x₍₁₎ ≥ x₍₂₎ ≥ … of a row, f(x) = Σᵢ (x₍ᵢ₎ − x₍ᵢ₊₁₎)·μ(the i largest) + b.
    """
    names = list(map(str, getattr(model, "feature_names_in_", ())))
    names = names or [f"x{j}" for j in range(model.n_features_in_)]
    classes = getattr(model, "classes_", None)
    titles = ["The prediction"]
    if classes is not None:  # the scores of pairs are positive for the second class
        pairs = itertools.combinations(classes.tolist(), 2)
        titles = [f"{b} (above 0) against {a}" for a, b in pairs]
    first = X.iloc[:held] if hasattr(X, "iloc") else X[:held] if hasattr(X, "shape") else None
    if first is None:
        table = Table.of(X)
        first = table[list(range(min(held, len(table))))]
    degrees = model.degrees(first)
    chosen = [0] * len(degrees)
    if len(titles) > 1:
        chosen = _shown_pairs(np.asarray(model.decision_function(first)))
    intercepts = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64)).tolist()
    terms: dict[str, int] = {}
    sums = []
    for row, k in zip(degrees, chosen, strict=True):
        steps = []
        for columns, width, weight in _levels(row, model._functions[k]):
            place = terms.setdefault(_set_text([names[j] for j in columns]), len(terms))
            steps.append((place, float(width * weight)))
        total = sum(amount for _, amount in steps) + intercepts[k]
        sums.append([ScoreSum(titles[k], intercepts[k], steps, total)])
    sentence = (
        "A Choquet integral of the columns, each as a degree from 0 to 1 that grows with the "
        "class: what the larger of them share counts by how many have it together."
    )
    return ModelValues(
        Learned([sentence], _column_weights(model, names, titles)),
        classes,
        terms=list(terms),
        sums=sums,
        term="set of columns",
        how=(
            "Columns from the largest degree on: each bar is what a set has together, above the "
            f"next one, times what the set weighs. {BARS}."
        ),
    )


def _levels(degrees: FloatArray, function: Any) -> list[tuple[list[int], float, float]]:
    """Return the sets of the i largest degrees, in order, with their widths and measures."""
    order = np.argsort(-degrees, kind="stable")
    widths = degrees[order] - np.append(degrees[order][1:], 0.0)
    steps = np.flatnonzero(widths > 0).tolist()
    sets = np.zeros((len(steps), len(degrees)), dtype=np.bool_)
    for place, step in enumerate(steps):
        sets[place, order[: step + 1]] = True
    measures = function.measures(sets) if steps else ()
    inside = [np.flatnonzero(row).tolist() for row in sets]
    return list(zip(inside, widths[steps], measures, strict=True))


def _set_text(names: Sequence[str]) -> str:
    listed = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return f"{listed}, together" if len(names) > 1 else listed


def _column_weights(model: Any, names: list[str], titles: list[str]) -> list[ListedTable]:
    """Return what columns weigh alone and in pairs, for each score."""
    n, scores = len(names), range(len(titles))
    shapley = np.reshape(model.shapley_values_, (len(titles), n))
    together = np.reshape(model.interaction_indices_, (len(titles), n, n))
    directions = ["larger" if d > 0 else "smaller" for d in model.directions_.tolist()]

    def listed(title: str, weights: list[tuple[float, int, str, str]], name: str) -> ListedTable:
        shown = sorted(weights, key=lambda item: -abs(item[0]))[:MAX_WEIGHTS]
        alone = name == "Shapley value"
        columns = [ListedColumn("column" if alone else "columns", [item[2] for item in shown])]
        if alone:
            columns.append(ListedColumn("speaks up", [item[3] for item in shown]))
        columns.append(ListedColumn(name, [item[0] for item in shown], "signed"))
        if len(titles) > 1:
            columns.append(ListedColumn("score", [titles[item[1]] for item in shown]))
        note = "Positive: they complement each other; negative: they replace each other."
        return ListedTable(title, columns, len(weights), note="" if alone else note)

    single = [
        (float(shapley[k, j]), k, names[j], f"where it is {directions[j]}")
        for k in scores
        for j in range(n)
    ]
    pairs = [
        (float(together[k, i, j]), k, f"{names[i]}, {names[j]}", "")
        for k in scores
        for i, j in itertools.combinations(range(n), 2)
        if together[k, i, j]
    ]
    tables = [listed("What each column weighs (Shapley values)", single, "Shapley value")]
    if pairs:
        title = "How columns go together (interaction indices)"
        tables.append(listed(title, pairs, "interaction"))
    return tables
