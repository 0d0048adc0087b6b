"""Rules of all kinds as a file of Python: ``predict(row)``, and ``score(row)``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from formulakern.rules.export.exported import FirstRule, Votes
from formulakern.rules.export.json import plain
from formulakern.rules.features import Monomial, Term
from formulakern.rules.python.files import PythonConditions, PythonFile
from formulakern.rules.rule import Rule
from formulakern.rules.sums import in_groups

__all__ = ["python_file"]


def python_file(rules: FirstRule | Votes) -> str:
    """Return the file of what rules predict; see :meth:`formulakern.RuleEnsemble.to_python`."""
    file = PythonFile()
    return _first_rule(file, rules) if isinstance(rules, FirstRule) else _votes(file, rules)


def _first_rule(file: PythonFile, rules: FirstRule) -> str:
    lines = []
    for number, rule in enumerate(rules.terms):
        condition = file.conditions.condition(rule.formula)
        lines += [f"if {condition.text}:", f"    return {number}"]
    file.constants.append(f"LABELS = {_labels(rules.labels)}")
    file.define("predict", "The class of a row.", "Any", ["return LABELS[place(row, missing)]"])
    if rules.probabilities:
        shares = "".join(f"    {list(row)!r},\n" for row in rules.probabilities)
        file.constants.append(f"CLASSES = {_labels(rules.classes)}")
        file.constants.append(f"PROBABILITIES = [\n{shares}]")
        shown = ["return PROBABILITIES[place(row, missing)]"]
        file.define("score", "The probability of each of CLASSES.", "list[float]", shown)
    about = "Which rule covers a row first, counted from 0; behind the last if none does."
    last = f"return {len(rules.terms)}"
    file.define("place", about, "int", [*lines, last], reads=True)
    return file.text()


def _votes(file: PythonFile, rules: Votes) -> str:
    lines = [f"r{k} = {_value(file.conditions, term)}" for k, term in enumerate(rules.terms, 1)]
    sums = _sums(rules)
    if rules.labels is None or rules.thresholds is not None:
        total = [*lines, f"return {sums[0]}"]
    else:
        total = [*lines, "return [", *(f"    {text}," for text in sums), "]"]
    if rules.labels is None:
        file.define("predict", "The number that is predicted.", "float", total, reads=True)
        file.define("score", "The same.", "float", ["return predict(row, missing)"])
        return file.text()
    if rules.thresholds is not None:
        name, found, about = "LEVELS", "total", "The level of a row, one of LEVELS."
        file.constants.append(f"ENDS = {list(rules.thresholds)!r}")
        chosen = "LEVELS[sum(end < total for end in ENDS)]"
        scored, kind = "The number that the levels part.", "float"
    else:
        name, found, about = "CLASSES", "scores", "The class of a row; of equal scores the first."
        chosen = "CLASSES[scores.index(max(scores))]"
        scored, kind = "The score of each of CLASSES.", "list[float]"
    if rules.default:
        file.constants.append(f"DEFAULT = {plain(rules.default[0])!r}")
        about = "The class of a row; of equal scores the first, without votes the default."
        chosen += " if any(scores) else DEFAULT"
    file.constants.insert(0, f"{name} = {_labels(rules.labels)}")
    file.define("predict", about, "Any", [f"{found} = score(row, missing)", f"return {chosen}"])
    file.define("score", scored, kind, total, reads=True)
    return file.text()


def _sums(rules: Votes) -> list[str]:
    """Return the scores as sums of r1, r2, …, in :func:`formulakern.rules.sums`' order."""

    def added(parts: Sequence[str]) -> str:
        return parts[0] if len(parts) == 1 else f"({' + '.join(parts)})"

    sums = []
    for first, column in zip(rules.intercept, rules.votes.T.tolist(), strict=True):
        parts = [f"{weight!r} * r{r}" for r, weight in enumerate(column, 1) if weight]
        sums.append(" + ".join(in_groups([repr(first), *parts], added)).replace("+ -", "- "))
    return sums


def _value(conditions: PythonConditions, term: Term) -> str:
    """Return a term as a truth value or as a number."""
    if isinstance(term, Rule):
        return conditions.condition(term.formula).text
    if isinstance(term, Monomial):
        return " * ".join(["1.0", *(conditions.read("factor", name) for name in term.columns)])
    return conditions.read("share", term.column, term.least, term.largest)


def _labels(labels: Sequence[Any]) -> str:
    return repr([plain(label) for label in labels])
