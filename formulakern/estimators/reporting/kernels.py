"""What kernel models learned, and how they decide, as values of a report."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.display.report.values import Learned, ListedColumn, ListedTable, ScoreSum
from formulakern.errors import ParameterError
from formulakern.estimators.reporting.facts import ModelValues
from formulakern.estimators.reporting.rules import learned_ensemble
from formulakern.kernels.strings.strings import read_strings
from formulakern.text import clip

__all__ = ["expansion_sums", "of_kernel", "of_search", "pair_of_row"]

#: Terms of a sum that are shown one by one.
MOST_TERMS = 12
#: Characters of a string that is a training row; seconds of a search for rules.
MOST_STRING, SECONDS = 60, 30.0


def of_search(model: Any, X: Any, held: int, top: int) -> ModelValues:
    """Of a search for formulas: the candidates, and what is known of the best one."""
    found = of_kernel(model.best_estimator_, X, held, top)
    results = model.results_
    shown = results.leading(50) or list(range(min(len(results["formula"]), 50)))
    names = [n for n in ("ratio", "mean_score", "behind", "error", "C", "seconds")
             if np.isfinite(results[n]).any()]  # fmt: skip
    columns = [ListedColumn("rank", [int(results["rank"][i]) for i in shown], "number")]
    columns.append(ListedColumn("formula", [str(results["formula"][i]) for i in shown], "rule"))
    for name in names:
        numbers = [float(results[name][i]) for i in shown]
        columns.append(ListedColumn(name.replace("_", " "), numbers, "number"))
    columns.append(ListedColumn("status", [results["status"][i] for i in shown]))
    n = len(results["formula"])
    table = ListedTable(f"{n:,} candidates, the best first", columns, results.n_scored)
    sentence = f"Of {n:,} formulas the search chose {model.best_formula_}."
    learned = found.learned
    learned = replace(
        learned, sentences=[sentence, *learned.sentences], tables=[*learned.tables, table]
    )
    return replace(found, learned=learned)


def of_kernel(model: Any, X: Any, held: int, top: int) -> ModelValues:
    """A vote of support vectors; the heaviest rules are read from it where there are any."""
    weights, pairs, title = _expansions(model)
    strings = not hasattr(model, "_read_table")
    rows = _encoded(model, X, held)
    gram = np.asarray(model.kernel_(rows, model._support_rows), dtype=np.float64)
    intercepts = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
    every = [
        expansion_sums(gram, own, float(b), t)
        for own, b, t in zip(weights, intercepts, title, strict=True)
    ]
    if len(pairs) > 1:
        scores = _class_scores(gram @ weights.T + intercepts, pairs)
        sums = [[every[pair_of_row(s, pairs)][k]] for k, s in enumerate(scores)]
    else:
        sums = [[one] for one in every[0]]
    labels = _support_labels(model)
    support = model._support_rows
    texts = None
    if strings:
        texts = [clip(str(support[k]), MOST_STRING) for k in range(len(support))]
    learned, found = _learned_by_kernel(model, top)
    classes = getattr(model, "classes_", None)
    n = len(model.support_)
    return ModelValues(
        learned,
        None if classes is None and title[0] == "The prediction" else classes
        if classes is not None else (-1, 1),
        n_rules=None,
        rule_columns=None if found is None else [rule.columns for rule in found],
        terms=_support_texts(model.support_, labels, texts),
        sums=sums,
        term="training row",
        how=(
            f"The score is a sum over {n:,} support vectors, each weighed by how alike it and the "
            "row are; bars start where the one before ends."
        ),
        no_curve=(
            "Accuracy against the number of rules: all features of the kernel vote; "
            "fk.simplify_svm says how few of them do."
            if found is not None
            else ""
        ),
    )  # fmt: skip


def _expansions(model: Any) -> tuple[Any, list[tuple[int, int]], list[str]]:
    """Weights of the support vectors for each pair of classes, with what each score says."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        regression = hasattr(model, "epsilon")
        title = "The prediction" if regression else "The score: below 0 a row is new"
        return np.atleast_2d(model.dual_coef_), [(0, 1)], [title]
    names = classes.tolist()
    pairs = list(itertools.combinations(range(len(names)), 2))
    weights = model._pair_weights
    if len(names) == 2:
        return weights, pairs, [f"The score: above 0 it says {names[1]}, else {names[0]}"]
    titles = [f"{names[i]} (above 0) against {names[j]}" for i, j in pairs]
    return weights, pairs, titles


def _class_scores(values: FloatArray, pairs: Sequence[tuple[int, int]]) -> FloatArray:
    """Votes for each class of decisions that are positive for the first of each pair.

    Equal votes are told apart by the sums of the decisions.

    >>> _class_scores(np.array([[1.0, 1.0, -1.0]]), [(0, 1), (0, 2), (1, 2)]).argsort().tolist()
    [[1, 2, 0]]
    """
    n_classes = 1 + max(j for _, j in pairs)
    votes, sums = np.zeros((len(values), n_classes)), np.zeros((len(values), n_classes))
    for column, (i, j) in zip(values.T, pairs, strict=True):
        votes[:, i] += column > 0
        votes[:, j] += column <= 0
        sums[:, i] += column
        sums[:, j] -= column
    return np.asarray(votes + sums / (3 * (np.abs(sums) + 1)))


def _encoded(model: Any, X: Any, held: int) -> Any:
    if hasattr(model, "_read_table"):
        return model._read_table(X).take(np.arange(held))
    return read_strings(X, model.column).take(np.arange(held))


def _support_labels(model: Any) -> list[Any] | None:
    n = getattr(model, "n_support_", None)
    classes = getattr(model, "classes_", None)
    if n is None or classes is None:
        return None
    return np.repeat(classes, n).tolist()


def _learned_by_kernel(model: Any, top: int) -> tuple[Learned, Sequence[Any] | None]:
    """The heaviest rules of a kernel, or why there are none."""
    kernel, n = repr(model.kernel_), len(model.support_)
    formula = getattr(model, "formula", getattr(model, "kernel", None))
    said = f"A weighted vote of {n:,} training rows by the kernel {clip(kernel, 300)}."
    if formula is not None and not hasattr(model, "weights_"):
        said = f"A weighted vote of {n:,} training rows by the kernel of {clip(str(formula), 300)}."
    sentences = [said]
    tables = []
    if hasattr(model, "position_weights"):
        table, why = _positions(model, top)
        return Learned([*sentences, *([why] if why else [])], [table] if table else []), None
    if hasattr(model, "summary_"):
        tables.append(_weights_table(model.summary_))
    if not hasattr(model, "rules"):
        what = "These features vote for a number" if hasattr(model, "epsilon") else "They say"
        sentences.append(
            f"{what}, not for classes: rules are read from classifiers."
            if hasattr(model, "epsilon")
            else "A model of new rows compares with all rows of training: it has no rules of "
            "classes."
        )
        return Learned(sentences, tables), None
    try:
        found = model.rules(top, time_limit=SECONDS)
    except ParameterError as error:
        return Learned([*sentences, f"No rules are listed: {error}"], tables), None
    shown = learned_ensemble(found.ensemble, f"The {len(found)} heaviest rules", whole=False)
    bound = max(found.bounds.values(), default=0.0)
    proof = (
        f"It is proven that no other feature of the kernel weighs more than {bound:.4g}."
        if found.proven
        else f"The search for rules was stopped: others weigh at most {bound:.4g}."
    )
    return Learned([*sentences, proof], [*shown.tables, *tables]), found.ensemble.rules


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


def _positions(model: Any, top: int) -> tuple[ListedTable | None, str]:
    try:
        found = model.position_weights(top)
    except ParameterError as error:
        return None, f"No positions are listed: {error}"
    items = list(found)
    return ListedTable(
        "The heaviest substrings, by position",
        [
            ListedColumn("substring", [item.k_mer for item in items]),
            ListedColumn("position", [item.position for item in items], "number"),
            ListedColumn("weight", [item.weight for item in items], "signed"),
            ListedColumn("speaks", [f"for {item.winner} against {item.loser}" for item in items]),
        ],
        note="Positions count from 0.",
    ), ""


def expansion_sums(
    gram: FloatArray, weights: FloatArray, intercept: float, title: str
) -> list[ScoreSum]:
    """f(x) = Σ_i β_i K(x_i, x) + b as a sum over support vectors, one for each row.

    Parameters
    ----------
    gram : ndarray of shape (n_rows, n_support)
    weights : ndarray of shape (n_support,)
        β.
    intercept : float
    title : str
    """
    found = []
    for row in gram * weights:
        order = np.argsort(-np.abs(row), kind="stable")
        places = order[row[order] != 0]
        first, rest = places[:MOST_TERMS], places[MOST_TERMS:]
        total = float(row.sum() + intercept)
        terms = [(int(k), float(row[k])) for k in first]
        found.append(ScoreSum(title, intercept, terms, total, (len(rest), float(row[rest].sum()))))
    return found


def pair_of_row(votes: FloatArray, pairs: Sequence[tuple[int, int]]) -> int:
    """The pair of the two classes that a row's scores put first.

    >>> pair_of_row(np.array([0.1, 2.0, 1.0]), [(0, 1), (0, 2), (1, 2)])
    2
    """
    first, second = sorted(np.argsort(-votes, kind="stable")[:2].tolist())
    return list(pairs).index((first, second))


def _support_texts(
    support: npt.NDArray[np.intp], labels: Sequence[Any] | None, shown: Sequence[str] | None
) -> list[str]:
    """Support vectors in words: the number of the training row from 1, its class, itself."""
    texts = []
    for place, row in enumerate(support.tolist()):
        text = f"training row {row + 1:,}"
        if labels is not None:
            text += f", {labels[place]}"
        if shown is not None:
            text += f": {shown[place]}"
        texts.append(text)
    return texts
