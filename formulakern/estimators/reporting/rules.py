"""What models of rules learned, and why rows got what they got, as values of a report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.display.report.values import (
    Curve,
    Learned,
    ListedColumn,
    ListedTable,
    ScoreSum,
    Step,
)
from formulakern.encoding.propositions import evaluate_formula
from formulakern.estimators.reporting.facts import ModelValues
from formulakern.rules.decision import DecisionRules, conditions_of
from formulakern.rules.ensemble import RuleEnsemble
from formulakern.rules.export.text import listed_levels, said, stance
from formulakern.rules.rule import Rule
from formulakern.rules.rule_list import RuleList
from formulakern.rules.rule_set import RuleSet
from formulakern.text import clip

__all__ = ["learned_ensemble", "of_decision", "of_ensemble"]

ADDS = "Bars start where the one before ends: what rules add, and the intercept, is the score."
#: Rules of a table, characters of a rule, terms of one sum, and rules of a curve.
MOST_RULES, MOST_TEXT, MOST_TERMS, MOST_CURVE = 500, 600, 60, 300


def _is_symmetric(ensemble: RuleEnsemble) -> bool:
    """Whether there are two classes whose scores are s and −s."""
    start = ensemble.intercept
    return (
        ensemble.classes is not None
        and len(ensemble.classes) == 2
        and start[0] == -start[1]
        and bool((ensemble.votes[:, 0] == -ensemble.votes[:, 1]).all())
    )


def _term_texts(ensemble: RuleEnsemble) -> list[str]:
    """The rules as text."""
    return [clip(str(rule), MOST_TEXT) for rule in ensemble.rules]


def learned_ensemble(
    ensemble: RuleEnsemble, caption: str, sentences: Sequence[str] = (), whole: bool = True
) -> Learned:
    """Rules with weights: how they decide, and a table.

    ``whole`` is False of rules that are not all of a model.
    """
    shown = ensemble.head(MOST_RULES)
    classes = ensemble.classes
    items = list(shown)
    weights = [item.weight for item in items]
    numbers = list(range(1, len(items) + 1))
    speaks: list[str] = []
    texts: list[str] = []
    known: list[list[float]] = [x.tolist() for x in (shown.coverage, shown.precision)]
    base = shown.base_rate.tolist()
    two = classes is not None and len(classes) == 2
    if classes is not None:
        speaks = [stance(item, item.weight, len(classes)) for item in items]
        if two:  # the sign says the class
            weights = [
                -w if _sided(item.winner, classes) else w
                for w, item in zip(weights, items, strict=True)
            ]
        else:
            weights = [abs(w) for w in weights]
    texts = [clip(said(rule, w), MOST_TEXT) for rule, w in zip(shown.rules, weights, strict=True)]
    if whole:
        for name, start in _starts(ensemble):
            numbers.append(0)
            weights.append(start)
            speaks.append("" if name is None else f"for {name}")
            texts.append("every row (the intercept)")
            for column in (*known, base):
                column.append(math.nan)
    columns = [ListedColumn("#", [n or math.nan for n in numbers], "number",
                            [str(n) if n else "" for n in numbers])]  # fmt: skip
    columns.append(ListedColumn("rule", texts, "rule"))
    title = f"weight, + for {clip(str(classes[1]), 20)}" if two and classes else "weight"
    columns.append(ListedColumn(title, weights, "signed", help=_weight_help(ensemble)))
    if classes is not None:
        columns.append(ListedColumn("speaks", speaks))
    if not np.isnan(known[0]).all():
        about = "Share of the training rows that satisfy the rule."
        columns.append(ListedColumn("coverage", known[0], "share", help=about))
    if classes is not None and not np.isnan(known[1]).all():
        about = "Share of these rows that are of the rule's class; the mark is its share of all."
        columns.append(ListedColumn("precision", known[1], "share", marks=base, help=about))
    note = "Coverage and precision are those of training."
    if classes is not None:
        note += " The mark in a bar of precision is what a rule that is always true would have."
    table = ListedTable(caption, columns, None, len(items) > 8, note)
    if len(ensemble) > MOST_RULES:
        more = f"The table has the {MOST_RULES} heaviest of {len(ensemble):,} votes of rules."
        sentences = [*sentences, more]
    first = [_decision(ensemble)] if whole else []
    return Learned([*first, *sentences], [table])


def _starts(ensemble: RuleEnsemble) -> list[tuple[Any, float]]:
    """Intercepts that are not 0: (class, or None of a number, intercept)."""
    start = ensemble.intercept.tolist()
    if ensemble.classes is None:
        return [(None, start[0])] if start[0] else []
    if _is_symmetric(ensemble):
        return [(ensemble.classes[1 if start[1] > 0 else 0], start[1])] if start[1] else []
    return [(c, x) for c, x in zip(ensemble.classes, start, strict=True) if x]


def _sided(winner: Any, classes: Sequence[Any]) -> bool:
    return bool(winner == classes[0])


def _weight_help(ensemble: RuleEnsemble) -> str:
    if ensemble.classes is None:
        return "What a row that satisfies the rule gains."
    if len(ensemble.classes) == 2:
        return f"Positive speaks for {ensemble.classes[1]}, negative for {ensemble.classes[0]}."
    return "What a row that satisfies the rule gains for its class."


def _decision(ensemble: RuleEnsemble) -> str:
    if ensemble.levels is not None:
        ends = listed_levels(ensemble, scores=True)
        return f"Weights of the rules that a row satisfies are added up, and the intercept: {ends}."
    if ensemble.classes is None:
        return (
            f"The prediction of {ensemble.target} is the intercept and the weights of all rules "
            "that a row satisfies; a linear term counts with the share of its range."
        )
    if _is_symmetric(ensemble):
        low, high = ensemble.classes
        return (
            "Weights of the rules that a row satisfies are added up, and the intercept: a sum "
            f"above 0 says {high}, else {low}."
        )
    return (
        "For each class the weights of the rules that a row satisfies are added up, and the "
        "intercept; the class with the largest sum is predicted."
    )


def _ensemble_curve(
    ensemble: RuleEnsemble, values: FloatArray, truth: npt.NDArray[Any]
) -> Curve | None:
    """Accuracy, or R², of the first k rules alone."""
    if not len(ensemble):
        return None
    most = min(len(ensemble), MOST_CURVE)
    scores = np.tile(ensemble.intercept, (len(values), 1))
    number = ensemble.classes is None and ensemble.levels is None
    reached = np.empty(most + 1)
    if number:
        total = float(((truth - truth.mean()) ** 2).sum())
        if not total:
            return None
    texts = None if number else np.array([str(x) for x in truth.tolist()], dtype=object)
    for k in range(most + 1):
        if k:
            scores += np.outer(values[:, k - 1], ensemble.votes[k - 1])
        if number:
            reached[k] = 1 - float(((scores[:, 0] - truth) ** 2).sum()) / total
        else:
            said = [str(x) for x in ensemble.decide(scores).tolist()]
            reached[k] = np.mean(np.array(said, dtype=object) == texts)
    at = np.arange(most + 1, dtype=np.float64)
    name = "R²" if number else "accuracy"
    about = "The k heaviest rules alone, with the weights that they have in the whole model."
    return Curve(name, at, reached, f"{reached[-1]:.3f} with {most}", about=about)


def _two_scores(ensemble: RuleEnsemble, scores: FloatArray) -> list[int]:
    """The classes whose scores are told of a row: the largest, and the one behind it."""
    if ensemble.classes is None:
        return [0]
    if _is_symmetric(ensemble):
        return [1]
    return [int(k) for k in np.argsort(-scores, kind="stable")[:2]]


def _ensemble_sums(ensemble: RuleEnsemble, values: FloatArray) -> list[list[ScoreSum]]:
    """For each row scores as sums over the rules that it satisfies.

    Parameters
    ----------
    ensemble : RuleEnsemble
    values : ndarray of shape (n_rows, n_rules)
    """
    scores = ensemble.scores_of(values)
    found = []
    for row, own in zip(values, scores, strict=True):
        sums = []
        for k in _two_scores(ensemble, own):
            given = row * ensemble.votes[:, k]
            sums.append(
                _sum(_score_title(ensemble, k), float(ensemble.intercept[k]), given, float(own[k]))
            )
        found.append(sums)
    return found


def _sum(title: str, start: float, given: FloatArray, total: float) -> ScoreSum:
    order = np.argsort(-np.abs(given), kind="stable")
    places = order[given[order] != 0]
    first, rest = places[:MOST_TERMS], places[MOST_TERMS:]
    terms = [(int(r), float(given[r])) for r in first]
    return ScoreSum(title, start, terms, total, (len(rest), float(given[rest].sum())))


def _score_title(ensemble: RuleEnsemble, k: int) -> str:
    if ensemble.levels is not None:
        return f"The score: {listed_levels(ensemble, scores=True)}"
    if ensemble.classes is None:
        return f"The prediction of {ensemble.target}"
    if _is_symmetric(ensemble):
        return f"The score: above 0 it says {ensemble.classes[1]}, else {ensemble.classes[0]}"
    return f"The score of {ensemble.classes[k]}"


# -- lists and sets --------------------------------------------------------------------------------


def _learned_decision(decision: DecisionRules) -> Learned:
    """The rules of a list, or of a set, with the training rows behind them."""
    items = list(decision)[:MOST_RULES]
    labels = [item.label for item in items] + [decision.default]
    counts = [item.counts for item in items] + [decision.default_counts]
    covered = [math.fsum(c) if c else math.nan for c in counts]
    every = [c for c in counts if c]
    whole = math.fsum(map(math.fsum, every)) if isinstance(decision, RuleList) else math.nan
    precision = []
    for label, count, n in zip(labels, counts, covered, strict=True):
        known = bool(count) and n > 0 and label in decision.classes
        precision.append(count[decision.classes.index(label)] / n if known else math.nan)
    ordered = isinstance(decision, RuleList)
    numbers = [*range(1, len(items) + 1), math.nan]
    texts = [clip(str(item.rule), MOST_TEXT) for item in items] + ["otherwise"]
    columns = [
        ListedColumn("#", numbers, "number", [*map(str, numbers[:-1]), ""]),
        ListedColumn("rule", texts, "rule"),
        ListedColumn("class", ["unknown" if x is None else str(x) for x in labels]),
        ListedColumn("rows", covered, "number", help="Weight of the training rows it decides."),
    ]
    if ordered and whole > 0:
        columns.append(
            ListedColumn("coverage", [n / whole for n in covered], "share",
                         help="Share of the training rows that it decides.")
        )  # fmt: skip
    about = "Share of these rows that are of its class."
    columns.append(ListedColumn("precision", precision, "share", help=about))
    how = (
        "Rules are asked in this order; the first that a row satisfies decides."
        if ordered
        else "All rules that a row satisfies vote, each with its training rows by class."
    )
    caption = f"{len(decision):,} rules, and what is said otherwise"
    note = "Rows, coverage and precision are those of training."
    table = ListedTable(caption, columns, None, len(items) > 8, note)
    more = [f"The table has the first {MOST_RULES}."] if len(decision) > MOST_RULES else []
    texts_ = []
    if ordered and len(decision) <= MOST_TERMS:
        tree = str(decision.to_tree()) if isinstance(decision, RuleList) else ""
        texts_ = [("The same as a tree", tree)]
    return Learned([how, *more], [table], texts_)


def _decision_steps(
    decision: DecisionRules, covers: npt.NDArray[np.bool_], failing: Sequence[Sequence[str]]
) -> list[list[Step]]:
    """For each row which rules of a list were asked, and what came of them.

    The text of rule k has the number k, that of the default the number of rules.

    Parameters
    ----------
    decision : RuleList
    covers : ndarray of shape (n_rows, n_rules)
    failing : sequence of sequences of str
        For each row and rule why it is false, or "".
    """
    found = []
    for row, why in zip(covers, failing, strict=True):
        at = int(row.argmax()) if row.any() else len(decision)
        steps = [Step(k, "false", why[k]) for k in range(min(at, MOST_TERMS))]
        steps.append(Step(at, "decides"))
        found.append(steps)
    return found


def _set_sums(decision: RuleSet, covers: npt.NDArray[np.bool_]) -> list[list[ScoreSum]]:
    """For each row the votes for the two classes that have most."""
    votes = decision.votes.reshape(-1, len(decision.classes))
    found = []
    for row in covers:
        given = row[:, None] * votes
        totals = given.sum(axis=0)
        order = np.argsort(-totals, kind="stable")[:2].tolist()
        found.append([
            _sum(f"Votes for {decision.classes[k]}", 0.0, given[:, k], float(totals[k]))
            for k in order
        ])  # fmt: skip
    return found


def _why_false(rule: Rule, truths: dict[Any, npt.NDArray[np.bool_]], row: int) -> str:
    """The conditions of a rule that are false on a row."""
    wrong = [str(part) for part in conditions_of(rule.formula) if not truths[part][row]]
    return clip(f"false: {', '.join(wrong)}", 200) if wrong else ""


def of_ensemble(model: Any, rules: RuleEnsemble, X: Any, held: int) -> ModelValues:
    """Of a model whose rules have weights: a table, and sums on the first rows."""
    values = np.asarray(model._values(X), dtype=np.float64)
    n = rules.n_rules
    caption = f"{n:,} rule{'s'[: n != 1]}"
    if len(rules) > n:
        caption += f" with {len(rules):,} votes, each for a class against another"
    if rules.classes is not None:
        classes: Sequence[Any] | None = rules.classes
    else:
        classes = rules.levels
    return ModelValues(
        learned_ensemble(rules, caption),
        classes,
        rules.target if rules.classes is None else "class",
        n,
        rules.n_conditions,
        [rule.columns for rule in dict.fromkeys(rules.rules)],
        _term_texts(rules),
        _ensemble_sums(rules, values[:held]),
        how=ADDS,
        curve=lambda _, truth: _ensemble_curve(rules, values, truth),
    )


def of_decision(model: Any, rules: DecisionRules, X: Any, held: int) -> ModelValues:
    """Of a list or a set of rules: a table, and what decides on the first rows."""
    covers = model._covers(X)
    terms = [*(f"{item.rule}" for item in rules), "otherwise"]
    terms = [f"{text} → {label}" for text, label in zip(terms, _labels(rules), strict=True)]
    common: dict[str, Any] = {
        "classes": rules.classes,
        "n_rules": len(rules),
        "n_conditions": rules.n_conditions,
        "rule_columns": [item.rule.columns for item in rules],
        "terms": terms,
        "curve": lambda _, truth: _decision_curve(rules, covers, truth),
    }
    learned = _learned_decision(rules)
    if isinstance(rules, RuleSet):
        how = "Bars start where the one before ends: votes of the rules that the row satisfies."
        sums = _set_sums(rules, covers[:held])
        none = dict.fromkeys(
            np.flatnonzero(~covers[:held].any(axis=1)).tolist(),
            f"No rule votes: the default, {rules.default}, is predicted.",
        )
        return ModelValues(learned, sums=sums, sentences=none, how=how, **common)
    failing = _failing(model, rules, X, covers[:held])
    steps = _decision_steps(rules, covers[:held], failing)
    how = "Rules are asked one after another; the first that the row satisfies decides."
    return ModelValues(learned, steps=steps, how=how, **common)


def _labels(rules: DecisionRules) -> list[str]:
    labels = [item.label for item in rules] + [rules.default]
    return ["unknown" if label is None else str(label) for label in labels]


def _decision_curve(
    rules: DecisionRules, covers: npt.NDArray[np.bool_], truth: npt.NDArray[Any]
) -> Curve | None:
    """The accuracy of the first k rules of a list or set, and its default."""
    most = min(len(rules), MOST_CURVE)
    if not most:
        return None
    texts = np.array([str(x) for x in truth.tolist()], dtype=object)
    reached = np.empty(most + 1)
    for k in range(most + 1):
        first = replace(rules, rules=rules.rules[:k], default_counts=())
        said = [str(x) for x in first.decide(covers[:, :k]).tolist()]
        reached[k] = np.mean(np.array(said, dtype=object) == texts)
    ordered = isinstance(rules, RuleList)
    about = f"The first k rules{', in their order,' if ordered else ''} and the default."
    value = f"{reached[-1]:.3f} with {most}"
    return Curve("accuracy", np.arange(most + 1.0), reached, value, about=about)


def _failing(
    model: Any, rules: DecisionRules, X: Any, covers: npt.NDArray[np.bool_]
) -> list[list[str]]:
    """For each row and rule the conditions that are false, where the columns are at hand."""
    nothing = [[""] * len(rules) for _ in covers]
    if getattr(model, "_conditions", None) is not None:
        return nothing
    table = model.encoder_.read_table(X)
    table = table[list(range(len(covers)))]
    parts = {part for item in rules for part in conditions_of(item.rule.formula)}
    known: dict[Any, npt.NDArray[np.bool_]] = {}
    truths = {part: evaluate_formula(part, table, known) for part in parts}
    return [[_why_false(item.rule, truths, row) for item in rules] for row in range(len(covers))]
