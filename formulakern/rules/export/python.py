"""Rules of all kinds as a file of Python: ``predict(row)``, and ``score(row)``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from formulakern.rules.decision import ClassRule, DecisionRules
from formulakern.rules.export.json import plain
from formulakern.rules.features import Monomial, Term
from formulakern.rules.python.conditions import Conditions
from formulakern.rules.python.files import PythonFile
from formulakern.rules.rule import Rule
from formulakern.rules.sums import in_groups
from formulakern.rules.voting import VotingRules

__all__ = ["ensemble_python", "list_python", "votes_python"]


def ensemble_python(ensemble: VotingRules) -> str:
    """What :meth:`formulakern.RuleEnsemble.to_python` documents."""
    file = PythonFile()
    lines, sums = _sums(
        file.conditions, ensemble.rules, ensemble.votes, ensemble.intercept.tolist()
    )
    total = [*lines, f"return {sums[0]}"]
    if ensemble.levels is not None:
        ends = ensemble.thresholds.tolist()
        file.constants += [f"LEVELS = {_labels(ensemble.levels)}", f"ENDS = {ends!r}"]
        place = "sum(end < total for end in ENDS)"
        shown = ["total = score(row, missing)", f"return LEVELS[{place}]"]
        file.define("predict", "The level of a row, one of LEVELS.", "Any", shown)
        file.define("score", "The number that the levels part.", "float", total, reads=True)
    elif ensemble.classes is None:
        file.define("predict", "The number that is predicted.", "float", total, reads=True)
        file.define("score", "The same.", "float", ["return predict(row, missing)"])
    else:
        file.constants.append(f"CLASSES = {_labels(ensemble.classes)}")
        shown = ["scores = score(row, missing)", "return CLASSES[scores.index(max(scores))]"]
        file.define("predict", "The class of a row; of equal scores the first.", "Any", shown)
        about = "The score of each of CLASSES."
        file.define("score", about, "list[float]", [*lines, *_listed(sums)], reads=True)
    return file.text()


def list_python(
    items: Sequence[ClassRule],
    default: Any,
    classes: Sequence[Any] = (),
    probabilities: Sequence[Sequence[float]] = (),
) -> str:
    """The file of R rules of which the first decides that covers a row.

    Parameters
    ----------
    items : sequence of R ClassRule
    default : object
        The class of rows that none covers.
    classes : sequence of K, optional
    probabilities : R + 1 sequences, optional
        Of each rule and of the default the probability of each class.
    """
    file, lines = PythonFile(), list[str]()
    for number, item in enumerate(items):
        condition = file.conditions.condition(item.rule.formula)
        lines += [f"if {condition.text}:", f"    return {number}"]
    file.constants.append(f"LABELS = {_labels([*(item.label for item in items), default])}")
    file.define("predict", "The class of a row.", "Any", ["return LABELS[place(row, missing)]"])
    if probabilities:
        shares = "".join(f"    {list(row)!r},\n" for row in probabilities)
        file.constants.append(f"CLASSES = {_labels(classes)}")
        file.constants.append(f"PROBABILITIES = [\n{shares}]")
        shown = ["return PROBABILITIES[place(row, missing)]"]
        file.define("score", "The probability of each of CLASSES.", "list[float]", shown)
    about = "Which rule covers a row first, counted from 0; behind the last if none does."
    file.define("place", about, "int", [*lines, f"return {len(items)}"], reads=True)
    return file.text()


def votes_python(decision: DecisionRules, votes: Any) -> str:
    """What :meth:`formulakern.RuleSet.to_python` documents, with votes of shape (R, K)."""
    file = PythonFile()
    rules = [item.rule for item in decision]
    lines, sums = _sums(file.conditions, rules, votes, [0.0] * len(decision.classes))
    file.constants.append(f"CLASSES = {_labels(decision.classes)}")
    file.constants.append(f"DEFAULT = {plain(decision.default)!r}")
    about = "The class of a row; of equal votes the first, without votes the default."
    shown = ["votes = score(row, missing)"]
    shown += ["return CLASSES[votes.index(max(votes))] if any(votes) else DEFAULT"]
    file.define("predict", about, "Any", shown)
    about = "The votes for each of CLASSES."
    file.define("score", about, "list[float]", [*lines, *_listed(sums)], reads=True)
    return file.text()


def _sums(
    conditions: Conditions, terms: Sequence[Term], votes: Any, intercept: Sequence[float]
) -> tuple[list[str], list[str]]:
    """Lines with the rules, and the scores of all classes as sums of them.

    These are added as :func:`formulakern.rules.sums.weighted_sums` does.
    """
    lines = [f"r{place} = {_value(conditions, term)}" for place, term in enumerate(terms, 1)]

    def added(parts: Sequence[str]) -> str:
        return parts[0] if len(parts) == 1 else f"({' + '.join(parts)})"

    sums = []
    for first, column in zip(intercept, votes.T.tolist(), strict=True):
        listed = [f"{weight!r} * r{r}" for r, weight in enumerate(column, 1) if weight]
        sums.append(" + ".join(in_groups([repr(first), *listed], added)).replace("+ -", "- "))
    return lines, sums


def _value(conditions: Conditions, term: Term) -> str:
    """A term as a truth value or as a number."""
    if isinstance(term, Rule):
        return conditions.condition(term.formula).text
    if isinstance(term, Monomial):
        return " * ".join(["1.0", *(conditions.read("factor", name) for name in term.columns)])
    return conditions.read("share", term.column, term.least, term.largest)


def _listed(sums: Sequence[str]) -> list[str]:
    return ["return [", *(f"    {total}," for total in sums), "]"]


def _labels(labels: Sequence[Any]) -> str:
    return repr([plain(label) for label in labels])
