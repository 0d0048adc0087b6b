"""Models of rules as values of a report: what is learned, and the reasons of predictions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.display.report import (
    Curve,
    Learned,
    ListedColumn,
    ListedTable,
    ScoreSum,
    Step,
)
from formulakern.encoding.propositions import evaluate_formula
from formulakern.rules.decision import DecisionRules, conditions_of
from formulakern.rules.ensemble import RuleEnsemble
from formulakern.rules.explanation import Explanation
from formulakern.rules.export.tables import decision_columns, listed_levels, said, stance
from formulakern.rules.rule_list import RuleList
from formulakern.rules.rule_set import RuleSet
from formulakern.text import clip, counted

__all__ = ["ModelValues", "learned_ensemble", "of_decision", "of_ensemble", "score_sum"]

#: Rules of a table, characters of a rule, terms of one sum, and rules of a curve.
MAX_RULES, MAX_TEXT, MAX_TERMS, MAX_CURVE = 500, 600, 60, 300
#: How to read the bars of a sum.
BARS = "Bars start where the one before ends"


@dataclass(frozen=True)
class ModelValues:
    """The values of a model, and of its decisions on the first rows.

    Parameters
    ----------
    learned : Learned
    classes : sequence, or None where numbers are predicted
    target : str
    n_rules, n_conditions : int, optional
    rule_columns : sequence of sequences, optional
        The columns of each rule.
    terms : sequence of str
        The texts that sums and steps refer to.
    sums : sequence of sequences of ScoreSum
        Of each row.
    steps : sequence of sequences of Step
        Of each row.
    sentences : mapping of row to str
    term, how : str
        The name of a term, and how to read the sums or steps.
    no_curve : str
        Why there is no curve.
    curve : callable, optional
        From the true classes or numbers to the score against the number of rules.
    """

    learned: Learned
    classes: Sequence[Any] | None
    target: str = "class"
    n_rules: int | None = None
    n_conditions: int | None = None
    rule_columns: Sequence[Sequence[Any]] | None = None
    terms: Sequence[str] = ()
    sums: Sequence[Sequence[ScoreSum]] = ()
    steps: Sequence[Sequence[Step]] = ()
    sentences: Mapping[int, str] = field(default_factory=dict)
    term: str = "rule"
    how: str = ""
    no_curve: str = ""
    curve: Callable[[npt.NDArray[Any]], Curve | None] | None = None


def score_sum(
    title: str, start: float, given: FloatArray, total: float, max_terms: int = MAX_TERMS
) -> ScoreSum:
    """Return a score as the sum of its largest terms and of all others."""
    order = np.argsort(-np.abs(given), kind="stable")
    places = order[given[order] != 0]
    first, rest = places[:max_terms], places[max_terms:]
    terms = [(int(k), float(given[k])) for k in first]
    return ScoreSum(title, start, terms, total, (len(rest), float(given[rest].sum())))


# -- votes -----------------------------------------------------------------------------------------


def of_ensemble(model: Any, rules: RuleEnsemble, X: Any, held: int) -> ModelValues:
    """Return the values of a model whose rules have weights."""
    values = np.asarray(model._values(X), dtype=np.float64)
    caption = counted(rules.n_rules, "rule")
    if len(rules) > rules.n_rules:
        caption += f" with {len(rules):,} votes, each for a class against another"
    explained = Explanation.of(rules, values[:held])
    sums = [
        [
            score_sum(
                _score_title(rules, k),
                float(rules.intercept[k]),
                explained.values[row] * rules.votes[:, k],
                float(explained.totals[row, k]),
            )
            for k in explained.shown_scores(row)
        ]
        for row in range(len(explained))
    ]
    return ModelValues(
        learned_ensemble(rules, caption),
        rules.levels if rules.classes is None else rules.classes,
        rules.target if rules.classes is None else "class",
        rules.n_rules,
        rules.n_conditions,
        [rule.columns for rule in dict.fromkeys(rules.rules)],
        [clip(str(rule), MAX_TEXT) for rule in rules.rules],
        sums,
        how=f"{BARS}: what rules add, and the intercept, is the score.",
        curve=lambda truth: _ensemble_curve(rules, values, truth),
    )


def learned_ensemble(ensemble: RuleEnsemble, caption: str, whole: bool = True) -> Learned:
    """Return rules with weights as a table; ``whole`` models get their intercepts and a sentence.

    The sign of a weight shows its class where there are two.
    """
    shown = ensemble.head(MAX_RULES)
    items, classes = list(shown), ensemble.classes
    two = classes is not None and len(classes) == 2
    signs = {classes[0]: -1.0} if classes and two else {}
    weights = [item.weight * signs.get(item.winner, 1.0) for item in items]
    if classes is not None and not two:
        weights = [abs(weight) for weight in weights]
    texts = [clip(said(rule, w), MAX_TEXT) for rule, w in zip(shown.rules, weights, strict=True)]
    votes = [stance(item, item.weight, len(classes)) for item in items] if classes else []
    starts = _starts(ensemble) if whole else []
    blank = [math.nan] * len(starts)
    coverage, precision, base = (
        [*values.tolist(), *blank] for values in (shown.coverage, shown.precision, shown.base_rate)
    )
    title = f"weight, + for {clip(str(classes[1]), 20)}" if classes and two else "weight"
    columns = [
        ListedColumn("#", [*range(1, len(items) + 1), *blank], "number"),
        ListedColumn("rule", [*texts, *("every row (the intercept)" for _ in starts)], "rule"),
        ListedColumn(
            title, [*weights, *(start for _, start in starts)], "signed", help=_weight_help(classes)
        ),
    ]
    note = "Coverage and precision are those of training."
    if classes is not None:
        columns.append(ListedColumn("speaks", [*votes, *(f"for {name}" for name, _ in starts)]))
        note += " The mark in a bar of precision is what a rule that is always true would have."
    if not np.isnan(coverage).all():
        about = "Share of the training rows that satisfy the rule."
        columns.append(ListedColumn("coverage", coverage, "share", help=about))
    if classes is not None and not np.isnan(precision).all():
        about = "Share of these rows that are of the rule's class; the mark is its share of all."
        columns.append(ListedColumn("precision", precision, "share", marks=base, help=about))
    sentences = [_decision(ensemble)] if whole else []
    if len(ensemble) > MAX_RULES:
        sentences.append(f"The table has the {MAX_RULES} heaviest of {len(ensemble):,} votes.")
    return Learned(sentences, [ListedTable(caption, columns, None, len(items) > 8, note)])


def _starts(ensemble: RuleEnsemble) -> list[tuple[Any, float]]:
    """Return the intercepts that are not 0, with their classes."""
    start, classes = ensemble.intercept.tolist(), ensemble.classes or (None,)
    if ensemble.is_opposite:
        return [(classes[1 if start[1] > 0 else 0], start[1])] if start[1] else []
    return [(name, x) for name, x in zip(classes, start, strict=True) if x]


def _weight_help(classes: Sequence[Any] | None) -> str:
    if classes is None:
        return "What a row that satisfies the rule gains."
    if len(classes) == 2:
        return f"Positive weights are for {classes[1]}, negative ones for {classes[0]}."
    return "What a row that satisfies the rule gains for its class."


def _decision(ensemble: RuleEnsemble) -> str:
    added = "Weights of the rules that a row satisfies are added up, and the intercept"
    if ensemble.levels is not None:
        return f"{added}: {listed_levels(ensemble, scores=True)}."
    if ensemble.classes is None:
        return (
            f"The prediction of {ensemble.target} is the intercept and the weights of all rules "
            "that a row satisfies; a linear term counts with the share of its range."
        )
    if ensemble.is_opposite:
        low, high = ensemble.classes
        return f"{added}: {high} is predicted for a sum above 0, else {low}."
    return f"{added}, for each class; the class with the largest sum is predicted."


def _score_title(ensemble: RuleEnsemble, k: int) -> str:
    if ensemble.levels is not None:
        return f"The score: {listed_levels(ensemble, scores=True)}"
    if ensemble.classes is None:
        return f"The prediction of {ensemble.target}"
    if ensemble.is_opposite:
        return f"The score: {ensemble.classes[1]} above 0, else {ensemble.classes[0]}"
    return f"The score of {ensemble.classes[k]}"


def _ensemble_curve(
    ensemble: RuleEnsemble, values: FloatArray, truth: npt.NDArray[Any]
) -> Curve | None:
    """Return the accuracy, or R², of the first k rules alone."""
    number = ensemble.classes is None and ensemble.levels is None
    total = float(((truth - truth.mean()) ** 2).sum()) if number else 1.0
    if not len(ensemble) or not total:
        return None
    texts = [] if number else list(map(str, truth.tolist()))
    scores = np.tile(ensemble.intercept, (len(values), 1))
    reached = []
    for k in range(min(len(ensemble), MAX_CURVE) + 1):
        if k:
            scores += np.outer(values[:, k - 1], ensemble.votes[k - 1])
        if number:
            reached.append(1 - float(((scores[:, 0] - truth) ** 2).sum()) / total)
        else:
            reached.append(_accuracy(ensemble.decide(scores), texts))
    about = "The k heaviest rules alone, with the weights that they have in the whole model."
    return _curve("R²" if number else "accuracy", reached, about)


def _accuracy(predicted: npt.NDArray[Any], truth: Sequence[str]) -> float:
    return float(np.mean([str(a) == b for a, b in zip(predicted.tolist(), truth, strict=True)]))


def _curve(name: str, reached: Sequence[float], about: str) -> Curve:
    most = len(reached) - 1
    value = f"{reached[-1]:.3f} with {most}"
    return Curve(name, np.arange(most + 1.0), np.array(reached), value, about=about)


# -- lists and sets --------------------------------------------------------------------------------


def of_decision(model: Any, rules: DecisionRules, X: Any, held: int) -> ModelValues:
    """Return the values of a list or a set of rules."""
    covers = model._covers(X)
    labels = _labels([item.label for item in rules] + [rules.default])
    texts = [*(str(item.rule) for item in rules), "otherwise"]
    shared = ModelValues(
        _learned_decision(rules),
        rules.classes,
        n_rules=len(rules),
        n_conditions=rules.n_conditions,
        rule_columns=[item.rule.columns for item in rules],
        terms=[f"{text} → {label}" for text, label in zip(texts, labels, strict=True)],
        curve=lambda truth: _decision_curve(rules, covers, truth),
    )
    first = covers[:held]
    if isinstance(rules, RuleSet):
        none = f"No rule votes: the default, {rules.default}, is predicted."
        return replace(
            shared,
            sums=_set_sums(rules, first),
            sentences=dict.fromkeys(np.flatnonzero(~first.any(axis=1)).tolist(), none),
            how=f"{BARS}: votes of the rules that the row satisfies.",
        )
    return replace(
        shared,
        steps=_steps(model, rules, X, first),
        how="Rules are asked one after another; the first that the row satisfies decides.",
    )


def _learned_decision(decision: DecisionRules) -> Learned:
    """Return the rules of a list, or of a set, with the training rows behind them."""
    known = decision_columns(decision)
    n = min(len(decision), MAX_RULES)
    labels, covered, precision, texts = ([*column[:n], column[-1]] for column in known.values())
    ordered = isinstance(decision, RuleList)
    rules = [*(clip(text, MAX_TEXT) for text in texts[:-1]), "otherwise"]
    columns = [
        ListedColumn("#", [*range(1, n + 1), math.nan], "number"),
        ListedColumn("rule", rules, "rule"),
        ListedColumn("class", _labels(labels)),
        ListedColumn("rows", covered, "number", help="Weight of the training rows it decides."),
    ]
    whole = math.fsum(weight for weight in known["covered"] if weight == weight)
    if ordered and whole > 0:
        about = "Share of the training rows that it decides."
        columns.append(ListedColumn("coverage", [x / whole for x in covered], "share", help=about))
    about = "Share of these rows that are of its class."
    columns.append(ListedColumn("precision", precision, "share", help=about))
    sentences = [
        "Rules are asked in this order; the first that a row satisfies decides."
        if ordered
        else "All rules that a row satisfies vote, each with its training rows by class."
    ]
    if len(decision) > MAX_RULES:
        sentences.append(f"The table has the first {MAX_RULES}.")
    note = "Rows, coverage and precision are those of training."
    caption = f"{counted(len(decision), 'rule')}, and what is predicted otherwise"
    table = ListedTable(caption, columns, None, n > 8, note)
    tree = []
    if isinstance(decision, RuleList) and len(decision) <= MAX_TERMS:
        tree = [("The same as a tree", str(decision.to_tree()))]
    return Learned(sentences, [table], tree)


def _labels(labels: Sequence[Any]) -> list[str]:
    return ["unknown" if label is None else str(label) for label in labels]


def _steps(
    model: Any, rules: DecisionRules, X: Any, covers: npt.NDArray[np.bool_]
) -> list[list[Step]]:
    """Return for each row the rules of a list that were asked, with the conditions that failed.

    The text of rule k has the number k, that of the default the number of rules.
    """
    parts = [conditions_of(item.rule.formula) for item in rules]
    truths: dict[Any, npt.NDArray[np.bool_]] = {}
    if getattr(model, "_conditions", None) is None:  # else the columns are those of an encoder
        table = model.encoder_.read_table(X)
        table = table[list(range(len(covers)))]
        known: dict[Any, npt.NDArray[np.bool_]] = {}
        truths = {part: evaluate_formula(part, table, known) for some in parts for part in some}
    found = []
    for row, covered in enumerate(covers):
        at = int(covered.argmax()) if covered.any() else len(rules)
        steps = []
        for k, some in enumerate(parts[: min(at, MAX_TERMS)]):
            wrong = ", ".join(str(part) for part in some if truths and not truths[part][row])
            steps.append(Step(k, "false", clip(f"false: {wrong}", 200) if wrong else ""))
        found.append([*steps, Step(at, "decides")])
    return found


def _set_sums(decision: RuleSet, covers: npt.NDArray[np.bool_]) -> list[list[ScoreSum]]:
    """Return for each row the votes for the two classes that have most."""
    votes = decision.votes.reshape(-1, len(decision.classes))
    found = []
    for row in covers:
        given = row[:, None] * votes
        totals = given.sum(axis=0)
        order = np.argsort(-totals, kind="stable")[:2].tolist()
        titles = {k: f"Votes for {decision.classes[k]}" for k in order}
        found.append([score_sum(titles[k], 0.0, given[:, k], float(totals[k])) for k in order])
    return found


def _decision_curve(
    rules: DecisionRules, covers: npt.NDArray[np.bool_], truth: npt.NDArray[Any]
) -> Curve | None:
    """Return the accuracy of the first k rules of a list or set, and its default."""
    if not len(rules):
        return None
    texts = list(map(str, truth.tolist()))
    reached = []
    for k in range(min(len(rules), MAX_CURVE) + 1):
        first = replace(rules, rules=rules.rules[:k], default_counts=())
        reached.append(_accuracy(first.decide(covers[:, :k]), texts))
    order = ", in their order," if isinstance(rules, RuleList) else ""
    return _curve("accuracy", reached, f"The first k rules{order} and the default.")
