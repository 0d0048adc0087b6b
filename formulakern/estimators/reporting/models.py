"""Fitted models as values of a report: the learned rules, and the reasons of predictions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.display.report import Learned, ListedColumn, ListedTable
from formulakern.encoding.propositions import evaluate_formula
from formulakern.errors import ParameterError
from formulakern.rules.class_rules import RuleList, RuleSet
from formulakern.rules.decision import DecisionRules, conditions_of
from formulakern.rules.ensemble import RuleEnsemble, ScoreCard
from formulakern.rules.explanation import Explanation
from formulakern.rules.export.notes import below_base_rate, table_notes
from formulakern.rules.export.tables import (
    decision_columns,
    decision_sentences,
    listed_levels,
    listed_votes,
    term_text,
)
from formulakern.text import clip, counted

#: The most rules of a table, characters of a rule, terms of a sum, and rules of a curve.
MAX_RULES, MAX_TEXT, MAX_TERMS, MAX_CURVE = 500, 600, 60, 300
#: The most classes with a column of votes each; otherwise the most characters of a rule's votes.
MAX_CLASSES, MAX_VOTES = 8, 200
#: The most support vectors of a sum, candidates of a search, weights of a set function, and
#: characters of a string.
MAX_VECTORS, MAX_CANDIDATES, MAX_WEIGHTS, MAX_STRING = 12, 50, 24, 60
#: The time limit of a search for rules, in seconds.
RULES_SECONDS = 30.0
#: The explanation of the bars of a sum.
BARS = "Each bar starts at the end of the previous one"


#: The name of a score, its values for the first k rules, k = 0, 1, …, and a sentence about it.
ScoreCurve = tuple[str, list[float], str]


@dataclass(frozen=True)
class ModelValues:
    """The values of a model and of its decisions on the first rows.

    ``classes`` is None if numbers are predicted, ``size`` has the numbers of rules and of
    conditions, and ``rule_columns`` has the columns of each rule.  ``reasons`` has sums or steps
    for each row, in the form that the script of the page reads; they refer to ``terms`` by
    position.  ``term`` is the name of a term, and ``how`` explains the reasons.  ``curve`` is the
    score against the number of rules; ``no_curve`` is the reason that there is none.
    """

    learned: Learned
    classes: Sequence[Any] | None
    reasons: Sequence[dict[str, Any]]
    terms: Sequence[str]
    how: str
    term: str = "rule"
    target: str = "class"
    size: tuple[int, int] | None = None
    rule_columns: Sequence[Sequence[Any]] | None = None
    curve: ScoreCurve | None = None
    no_curve: str = ""


def values_of(
    model: Any, X: Any, truth: npt.NDArray[Any] | None, held: int, top: int
) -> ModelValues:
    """Return the values of a model, with the reasons of its first ``held`` predictions."""
    rules = getattr(model, "rules_", None)
    if isinstance(rules, RuleEnsemble):
        return _of_ensemble(model, rules, X, truth, held)
    if isinstance(rules, DecisionRules):
        return _of_decision(model, rules, X, truth, held)
    if hasattr(model, "best_estimator_"):
        return _of_search(model, X, held, top)
    if hasattr(model, "scaling_"):
        return _of_choquet(model, X, held)
    return _of_kernel(model, X, held, top)


def _score_sum(
    title: str, start: float, given: FloatArray, max_terms: int = MAX_TERMS
) -> dict[str, Any]:
    """Return a score as a sum of its largest terms and the total of the others."""
    order = np.argsort(-np.abs(given), kind="stable")
    places = order[given[order] != 0]
    first, rest = places[:max_terms], places[max_terms:]
    terms = [(int(k), float(given[k])) for k in first]
    others = (len(rest), float(given[rest].sum()))
    return {"c": title, "b": start, "x": terms, "o": others, "v": float(start + given.sum())}


def texts_of(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return classes as texts, which can be compared."""
    return np.array([str(value) for value in values.tolist()], dtype=object)


def r_squared(truth: FloatArray, predicted: FloatArray) -> float:
    """Return 1 − Σ_i (y_i − p_i)² / Σ_i (y_i − ȳ)², if the y_i differ.

    >>> r_squared(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 2.0]))
    0.5
    """
    return 1 - float(((truth - predicted) ** 2).sum() / ((truth - truth.mean()) ** 2).sum())


def _curve(
    truth: npt.NDArray[Any] | None,
    predictions: Iterable[npt.NDArray[Any]],
    about: str,
    number: bool = False,
) -> ScoreCurve | None:
    """Return the accuracy, or R², of the predictions of the first k rules alone."""
    if truth is None or (number and not np.ptp(truth)):
        return None
    every, texts = itertools.islice(predictions, MAX_CURVE + 1), texts_of(truth)
    if number:
        reached = [r_squared(truth, np.asarray(some)) for some in every]
    else:
        reached = [float(np.mean(texts_of(some) == texts)) for some in every]
    return ("R²" if number else "accuracy", reached, about) if len(reached) > 1 else None


# -- votes -----------------------------------------------------------------------------------------


def _of_ensemble(
    model: Any, rules: RuleEnsemble, X: Any, truth: npt.NDArray[Any] | None, held: int
) -> ModelValues:
    """Return the values of a model whose rules have weights."""
    values = np.asarray(model._values(X), dtype=np.float64)
    explained, card = Explanation.of(rules, values[:held]), isinstance(rules, ScoreCard)
    return ModelValues(
        _learned_ensemble(rules, counted(len(rules), "rule")),
        rules.levels if rules.classes is None else rules.classes,
        [
            {
                "sums": [
                    _score_sum(
                        _score_title(rules, k, explained.totals[row]),
                        float(rules.intercept[k]),
                        given * rules.votes[:, k],
                    )
                    for k in explained.shown_scores(row)
                ]
            }
            for row, given in enumerate(explained.values)
        ],
        [clip(str(rule), MAX_TEXT) for rule in rules.rules],
        f"{BARS}: the score is the sum of the terms{'' if card else ' and the intercept'}.",
        target=rules.target if rules.classes is None and not card else "class",
        size=(len(rules), rules.n_conditions),
        rule_columns=[rule.columns for rule in rules.rules],
        curve=_curve(
            truth,
            rules.growing(values),
            "The k heaviest rules alone, with their weights in the whole model.",
            rules.classes is None and rules.levels is None,
        ),
    )


def _learned_ensemble(ensemble: RuleEnsemble, caption: str, whole: bool = True) -> Learned:
    """Return weighted rules as a table; a ``whole`` model also has its intercept and a sentence.

    For two classes the sign of a weight shows its class; more classes have a column of votes each.
    """
    shown, classes = ensemble.head(MAX_RULES), ensemble.classes
    several = classes is not None and not ensemble.is_pairwise
    start = ensemble.intercept if whole and ensemble.intercept.any() else None
    if several:
        texts, columns = [str(rule) for rule in shown.rules], _vote_columns(shown, start)
    else:
        texts, columns = _weight_columns(shown, start)
    texts = [clip(text, MAX_TEXT) for text in texts]
    extra = [] if start is None else ["every row (the intercept)"]
    blank = [math.nan] * len(extra)
    columns = [
        ListedColumn("#", [*range(1, len(shown) + 1), *blank], "number"),
        ListedColumn("rule", [*texts, *extra], "rule"),
        *columns,
    ]
    coverage, precision, base = (
        [*values.tolist(), *blank] for values in (shown.coverage, shown.precision, shown.base_rate)
    )
    notes = []
    if not np.isnan(coverage).all():
        about = "Share of the training rows that satisfy the rule."
        notes = ["Coverage is the share of the training rows that satisfy the rule."]
        columns.append(ListedColumn("coverage", coverage, "share", help=about))
    if classes is not None and not np.isnan(precision).all():
        notes = [
            "Coverage and precision are computed on the training rows.",
            "The mark in a precision bar is the precision of a rule that is always true.",
        ]
        whose = "the class with the largest absolute vote" if several else "the rule's class"
        about = f"Share of these rows that belong to {whose}; the mark is its share of all rows."
        columns.append(ListedColumn("precision", precision, "share", marks=base, help=about))
    if any(marks := below_base_rate(shown)):
        columns.append(ListedColumn("*", ["*" * mark for mark in marks] + [""] * len(extra)))
    note = "\n".join(filter(None, [" ".join(notes), *table_notes(shown)]))
    sentences = [f"{decision_sentences(ensemble).rstrip('.')}."] if whole else []
    if len(ensemble) > MAX_RULES:
        sentences.append(f"The table has the first {MAX_RULES} of {len(ensemble):,} rules.")
    card = isinstance(ensemble, ScoreCard)
    tables = [ListedTable(caption, columns, None, len(shown) > 8 and not card, note)]
    if isinstance(ensemble, ScoreCard):
        tables.append(_totals(ensemble))
    return Learned(sentences, tables, card=card)


def _totals(card: ScoreCard) -> ListedTable:
    """Return the totals of a score card with their probabilities."""
    cells, chances = card.total_cells()
    total, chance, label = cells
    numbers = [int(text.split()[0]) for text in cells[total]]
    columns = [
        ListedColumn(total, numbers, "number", words=cells[total]),
        ListedColumn(chance, chances, "share", words=cells[chance]),
        ListedColumn(label, cells[label]),
    ]
    return ListedTable("Totals and their probabilities", columns, note=card.about_totals())


def _weight_columns(
    shown: RuleEnsemble, start: FloatArray | None
) -> tuple[list[str], list[ListedColumn]]:
    """Return the texts of rules, and columns of weights and classes, for a number or two classes.

    Positive weights support the second of two classes.
    """
    weights = shown.votes[:, -1].tolist()
    texts = [term_text(rule, w) for rule, w in zip(shown.rules, weights, strict=True)]
    if start is not None:
        weights.append(float(start[0] if len(start) == 1 else (start[1] - start[0]) / 2))
    if shown.classes is None:
        about = "Added to the score of a row that satisfies the rule."
        words = [f"{w:+.0f}" for w in weights] if isinstance(shown, ScoreCard) else None
        return texts, [ListedColumn(shown.AMOUNT, weights, "signed", help=about, words=words)]
    first, second = shown.classes
    about = f"Positive weights support {second}, negative ones {first}."
    return texts, [
        ListedColumn(f"weight, + for {clip(str(second), 20)}", weights, "signed", help=about),
        ListedColumn("class", [first if weight < 0 else second for weight in weights]),
    ]


def _vote_columns(shown: RuleEnsemble, start: FloatArray | None) -> list[ListedColumn]:
    """Return a column of votes for each class, or one column for all."""
    classes = shown.classes or ()
    whole = shown.votes if start is None else np.vstack([shown.votes, start])
    if len(classes) > MAX_CLASSES:
        return [ListedColumn("votes", listed_votes(whole, list(map(str, classes)), MAX_VOTES))]
    about = "Added to the score of this class for a row that satisfies the rule."
    return [
        ListedColumn(clip(str(name), 20), [x or math.nan for x in own], "signed", help=about)
        for name, own in zip(classes, whole.T.tolist(), strict=True)
    ]


def _score_title(ensemble: RuleEnsemble, k: int, totals: FloatArray) -> str:
    if isinstance(ensemble, ScoreCard):
        return f"The total: {ensemble.read_total(totals[0])}"
    if ensemble.levels is not None:
        return f"The score: {listed_levels(ensemble, scores=True)}"
    if ensemble.classes is None:
        return f"The prediction of {ensemble.target}"
    if ensemble.is_opposite:
        return f"The score: {ensemble.classes[1]} above 0, else {ensemble.classes[0]}"
    return f"The score of {ensemble.classes[k]}"


# -- lists and sets --------------------------------------------------------------------------------


def _of_decision(
    model: Any, rules: DecisionRules, X: Any, truth: npt.NDArray[Any] | None, held: int
) -> ModelValues:
    """Return the values of a list or a set of rules."""
    covers = model._values(X)
    columns = decision_columns(rules)
    columns["class"] = ["unknown" if label is None else str(label) for label in columns["class"]]
    columns["rule"][-1] = "otherwise"
    if isinstance(rules, RuleSet):
        reasons, order = [_votes_of(rules, row) for row in covers[:held]], ""
        how = f"{BARS}: votes of the rules that the row satisfies."
    else:
        reasons, order = _steps(model, rules, X, covers[:held]), ", in their order,"
        how = "Rules are tried in order; the first one that the row satisfies decides."
    return ModelValues(
        _learned_decision(rules, columns),
        rules.classes,
        reasons,
        [
            f"{text} → {label}"
            for text, label in zip(columns["rule"], columns["class"], strict=True)
        ],
        how,
        size=(len(rules), rules.n_conditions),
        rule_columns=[item.rule.columns for item in rules],
        curve=_curve(
            truth,
            (
                replace(rules, rules=rules.rules[:k], default_counts=()).decide(covers[:, :k])
                for k in range(len(rules) + 1)
            ),
            f"The first k rules{order} and the default.",
        ),
    )


def _learned_decision(decision: DecisionRules, known: dict[str, list[Any]]) -> Learned:
    """Return the rules of a list, or of a set, with the training rows behind them."""
    n, ordered = min(len(decision), MAX_RULES), isinstance(decision, RuleList)
    labels, covered, precision, texts = ([*column[:n], column[-1]] for column in known.values())
    columns = [
        ListedColumn("#", [*range(1, n + 1), math.nan], "number"),
        ListedColumn("rule", [clip(text, MAX_TEXT) for text in texts], "rule"),
        ListedColumn("class", labels),
        ListedColumn("rows", covered, "number", help="Weight of the training rows it decides."),
    ]
    whole = math.fsum(weight for weight in known["covered"] if weight == weight)
    if ordered and whole > 0:
        about = "Share of the training rows that it decides."
        columns.append(ListedColumn("coverage", [x / whole for x in covered], "share", help=about))
    about = "Share of these rows that belong to its class."
    columns.append(ListedColumn("precision", precision, "share", help=about))
    sentences = [
        "Rules are tried in this order; the first one that a row satisfies decides."
        if ordered
        else "All rules that a row satisfies vote, each with the class counts of its training rows."
    ]
    if len(decision) > MAX_RULES:
        sentences.append(f"The table has the first {MAX_RULES}.")
    note = "Rows, coverage and precision are computed on the training rows."
    caption = f"{counted(len(decision), 'rule')}, and the default prediction"
    table = ListedTable(caption, columns, None, n > 8, note)
    tree = []
    if isinstance(decision, RuleList) and len(decision) <= MAX_TERMS:
        tree = [("The list as a tree", str(decision.to_tree()))]
    return Learned(sentences, [table], tree)


def _steps(
    model: Any, rules: DecisionRules, X: Any, covers: npt.NDArray[np.bool_]
) -> list[dict[str, Any]]:
    """Return for each row the rules of a list that were tried, with the conditions that failed.

    Rule k has the number k, and the default has the number of rules.
    """
    parts = [conditions_of(item.rule.formula) for item in rules]
    truths: dict[Any, npt.NDArray[np.bool_]] = {}
    if getattr(model, "_conditions", None) is None:  # otherwise an encoder made the columns
        table = model.encoder_.read_table(X)[list(range(len(covers)))]
        known: dict[Any, npt.NDArray[np.bool_]] = {}
        truths = {part: evaluate_formula(part, table, known) for some in parts for part in some}
    found = []
    for row, covered in enumerate(covers):
        at = int(covered.argmax()) if covered.any() else len(rules)
        steps = []
        for k, some in enumerate(parts[: min(at, MAX_TERMS)]):
            wrong = ", ".join(str(part) for part in some if truths and not truths[part][row])
            steps.append((k, "false", clip(f"false: {wrong}", 200) if wrong else ""))
        found.append({"steps": [*steps, (at, "decides", "")]})
    return found


def _votes_of(rules: RuleSet, covered: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """Return the votes for the two classes with the most votes in a row."""
    given = covered[:, None] * rules.votes.reshape(-1, len(rules.classes))
    order = np.argsort(-given.sum(axis=0), kind="stable")[:2].tolist()
    sums = [_score_sum(f"Votes for {rules.classes[k]}", 0.0, given[:, k]) for k in order]
    none = f"No rule votes, so the default, {rules.default}, is predicted."
    return {"sums": sums, "s": "" if covered.any() else none}


# -- votes of support vectors ----------------------------------------------------------------------


def _of_kernel(model: Any, X: Any, held: int, top: int) -> ModelValues:
    """Return the values of a vote of support vectors, with the heaviest rules if it has any."""
    from formulakern.kernels.strings import Strings
    from formulakern.learning.kernel_machines import pairwise_votes

    support = model._support_rows
    gram = model.kernel_(model._read_table(X).take(np.arange(held)), support)
    gram = np.asarray(gram, dtype=np.float64)
    intercepts = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
    terms = [f"training row {row + 1:,}" for row in model.support_.tolist()]
    chosen = [0] * held
    if hasattr(model, "classes_"):
        weights, classes = model._pair_weights, model.classes_.tolist()
        titles = [f"{a} (above 0) against {b}" for a, b in itertools.combinations(classes, 2)]
        if len(classes) == 2:
            titles = [f"The score: {classes[1]} above 0, else {classes[0]}"]
        else:
            values = gram @ weights.T + intercepts
            chosen = _shown_pairs(pairwise_votes(values, len(classes))[1])
        labels = np.repeat(classes, model.n_support_).tolist()
        terms = [f"{term}, {label}" for term, label in zip(terms, labels, strict=True)]
    else:
        weights, novelty = np.atleast_2d(model.dual_coef_), not hasattr(model, "epsilon")
        titles = ["The score: below 0 a row is new" if novelty else "The prediction"]
        classes = [-1, 1] if novelty else None
    reasons = [
        {"sums": [_score_sum(titles[k], float(intercepts[k]), values * weights[k], MAX_VECTORS)]}
        for values, k in zip(gram, chosen, strict=True)
    ]
    if isinstance(support, Strings):
        terms = [f"{t}: {clip(str(support[k]), MAX_STRING)}" for k, t in enumerate(terms)]
    learned, found = _learned_by_kernel(model, top)
    return ModelValues(
        learned,
        classes,
        reasons,
        terms,
        f"The score is a sum over {len(terms):,} support vectors, weighted by their similarity "
        f"to the row. {BARS}.",
        "training row",
        rule_columns=None if found is None else [rule.columns for rule in found],
        no_curve=""
        if found is None
        else "No accuracy against the number of rules: all features of the kernel vote. "
        "fk.simplify_svm shows how few of them suffice.",
    )


def _shown_pairs(scores: FloatArray) -> list[int]:
    """Return for each row the number of the pair of the classes with the two largest scores.

    >>> _shown_pairs(np.array([[0.1, 2.0, 1.0]]))
    [2]
    """
    pairs = list(itertools.combinations(range(scores.shape[1]), 2))
    best = np.sort(np.argsort(-scores, axis=1, kind="stable")[:, :2], axis=1)
    return [pairs.index((first, second)) for first, second in best.tolist()]


def _learned_by_kernel(model: Any, top: int) -> tuple[Learned, Sequence[Any] | None]:
    """Return the heaviest rules of a kernel, or the reason that there are none."""
    formula = getattr(model, "formula", getattr(model, "kernel", None))
    kernel = clip(repr(model.kernel_), 300)
    if formula is not None and not hasattr(model, "weights_"):
        kernel = f"of {clip(str(formula), 300)}"
    vote = f"A weighted vote of {len(model.support_):,} training rows by the kernel {kernel}."
    if hasattr(model, "position_weights"):
        return _learned_by_positions(model, top, vote), None
    tables, why = [_weights_table(model.summary_)] if hasattr(model, "summary_") else [], ""
    if hasattr(model, "epsilon"):
        why = "No rules are listed: this model predicts numbers; only classifiers have rules."
    elif not hasattr(model, "rules"):
        why = "No rules are listed: a model that finds new rows has no classes."
    else:
        try:
            found = model.rules(top, time_limit=RULES_SECONDS)
        except ParameterError as error:
            why = f"No rules are listed: {error}"
    if why:
        return Learned([vote, why], tables), None
    shown = _learned_ensemble(found.ensemble, f"The {len(found)} heaviest rules", whole=False)
    bound = max(found.bounds.values(), default=0.0)
    proof = (
        f"It is proven that no other feature of the kernel weighs more than {bound:.4g}."
        if found.proven
        else f"The search for rules was stopped: other features weigh at most {bound:.4g}."
    )
    return Learned([vote, proof], [*shown.tables, *tables]), found.ensemble.rules


def _weights_table(summary: Any) -> ListedTable:
    order = summary.order
    return ListedTable(
        f"Weights of the formulas: {summary.method}",
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
        ListedColumn("class", [f"{item.winner} against {item.loser}" for item in items]),
    ]
    title = "The heaviest substrings, by position"
    return Learned([vote], [ListedTable(title, columns, note="Positions count from 0.")])


# -- Choquet integrals -----------------------------------------------------------------------------


def _of_choquet(model: Any, X: Any, held: int) -> ModelValues:
    """Return the values of a Choquet integral: weights of columns, and sums over sets of columns.

    With the degrees x₍₁₎ ≥ x₍₂₎ ≥ … of a row, f(x) = Σᵢ (x₍ᵢ₎ − x₍ᵢ₊₁₎)·μ(the i largest) + b.
    """
    names = list(map(str, getattr(model, "feature_names_in_", ())))
    names = names or [f"x{j}" for j in range(model.n_features_in_)]
    classes = getattr(model, "classes_", None)
    titles = ["The prediction"]
    if classes is not None:  # the scores of pairs are positive for the second class
        titles = [f"{b} (above 0) against {a}" for a, b in model.pairs_]
    first, chosen = model._read_table(X).take(np.arange(held)), [0] * held
    if len(titles) > 1:
        chosen = _shown_pairs(np.asarray(model.decision_function(first)))
    terms: dict[str, int] = {}
    reasons = []
    for row, k in zip(first.values, chosen, strict=True):
        steps, start = [], float(model.intercept_[k])
        for columns, width, weight in _levels(row, model._functions[k]):
            place = terms.setdefault(_set_text([names[j] for j in columns]), len(terms))
            steps.append((place, float(width * weight)))
        total = sum(amount for _, amount in steps) + start
        one = {"c": titles[k], "b": start, "x": steps, "o": (0, 0.0), "v": total}
        reasons.append({"sums": [one]})
    sentence = (
        "A Choquet integral of the columns, each as a degree from 0 to 1 that grows with the "
        "class: every step between sorted degrees counts by the weight of the columns above it."
    )
    return ModelValues(
        Learned([sentence], _column_weights(model, names, titles)),
        classes,
        reasons,
        list(terms),
        "Columns are added from the largest degree on. A bar is the step to the next degree, times "
        f"the weight of the set of columns so far. {BARS}.",
        "set of columns",
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
    """Return the weights of columns and of pairs of columns, for each score."""
    n, number = len(names), len(titles)
    shapley = np.reshape(model.shapley_values_, (number, n))
    together = np.reshape(model.interaction_indices_, (number, n, n))
    i, j = np.triu_indices(n, 1)
    pairs = [f"{names[a]}, {names[b]}" for a, b in zip(i.tolist(), j.tolist(), strict=True)]
    up = [f"if it is {'larger' if d > 0 else 'smaller'}" for d in model.directions_.tolist()]
    note = "Positive: they complement each other; negative: they replace each other."
    tables = []
    for title, name, weights, texts, more in (
        ("Weights of columns (Shapley values)", "Shapley value", shapley, names, up),
        (
            "Interactions of columns (interaction indices)",
            "interaction",
            together[:, i, j],
            pairs,
            [],
        ),
    ):
        weighty = np.flatnonzero(weights) if not more else np.arange(weights.size)
        order = np.argsort(-np.abs(weights.flat[weighty]), kind="stable")
        scores, places = np.unravel_index(weighty[order][:MAX_WEIGHTS], weights.shape)
        shown = places.tolist()
        columns = [ListedColumn("column" if more else "columns", [texts[k] for k in shown])]
        if more:
            columns.append(ListedColumn("raises the score", [more[k] for k in shown]))
        columns.append(ListedColumn(name, weights[scores, places].tolist(), "signed"))
        if number > 1:
            columns.append(ListedColumn("score", [titles[k] for k in scores.tolist()]))
        if shown:
            tables.append(ListedTable(title, columns, len(weighty), note="" if more else note))
    return tables


# -- searches -------------------------------------------------------------------------------------


def _of_search(model: Any, X: Any, held: int, top: int) -> ModelValues:
    """Return the values of the best model of a search, with a table of the candidates."""
    found = _of_kernel(model.best_estimator_, X, held, top)
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
        [f"The best of {n:,} formulas is {model.best_formula_}.", *found.learned.sentences],
        [*found.learned.tables, table],
    )
    return replace(found, learned=learned)
