"""Rules as SQL: conditions with SQL's three truth values made two, and queries of what they say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from formulakern.errors import DataError
from formulakern.rules.decision import DecisionRules
from formulakern.rules.features import LinearTerm, Monomial, Term
from formulakern.rules.voting import VotingRules
from formulakern.syntax.comparison import ColumnName, Comparison
from formulakern.syntax.formula import Constant, Formula, Variable
from formulakern.syntax.traversal import fold

__all__ = ["condition", "ensemble_query", "list_query", "sql_of", "votes_query"]

#: Longer sums are sums of sums: databases limit how deep an expression may be.
MAX_TERMS = 400

#: Arguments of the entries of a truth table.
CASES = ((True, True), (True, False), (False, True), (False, False))


def sql_of(item: Term) -> str:
    """A rule as an SQL expression that is 1 or 0; a monomial or a linear term as its value.

    Examples
    --------
    >>> from formulakern.rules.rule import rule
    >>> sql_of(rule("odor = foul & size < 3"))
    'CASE WHEN ("odor" = \\'foul\\' AND "size" < 3) THEN 1 ELSE 0 END'
    >>> sql_of(Monomial(("width", "height")))
    '"width" * "height"'
    >>> sql_of(LinearTerm("age", 20, 70))
    'CASE WHEN "age" >= 70.0 THEN 1.0 WHEN "age" > 20.0 THEN ("age" - 20.0) / 50.0 ELSE 0.0 END'
    """
    if isinstance(item, Monomial):
        return " * ".join(map(_name, item.columns)) if item.columns else "1"
    if isinstance(item, LinearTerm):
        name, least, largest = _name(item.column), item.least, item.largest
        share = f"({name} - {least!r}) / {largest - least!r}"
        if not math.isfinite(largest - least):
            share = f"({name} / 2.0 - {least / 2!r}) / {largest / 2 - least / 2!r}"
        return (
            f"CASE WHEN {name} >= {largest!r} THEN 1.0 WHEN {name} > {least!r} THEN {share} "
            "ELSE 0.0 END"  # of NULL too
        )
    return f"CASE WHEN {condition(item.formula)} THEN 1 ELSE 0 END"


def condition(formula: Formula) -> str:
    """A formula of comparisons as an SQL condition.

    A comparison with NULL is unknown in SQL and false here.  Only under ``NOT`` (and the
    connectives that hold one) is that a difference, so there each comparison is guarded.

    Raises
    ------
    DataError
        If the formula holds something that has no SQL here.
    """

    def build(node: Formula, parts: list[tuple[str, bool]]) -> tuple[str, bool]:
        """The text, and whether it may be unknown rather than false."""
        if isinstance(node, Constant):
            return ("1 = 1" if node.value else "1 = 0"), False
        if isinstance(node, Variable):
            return f"{_name(node.name)} = 1", True
        if isinstance(node, Comparison):
            return _comparison(node)
        texts = [text for text, _ in parts]
        unknown = any(u for _, u in parts)
        name = node.connective.name if node.connective is not None else ""
        if name in ("and", "or"):
            return "(" + f" {name.upper()} ".join(texts) + ")", unknown
        known = [f"(CASE WHEN {text} THEN 1 ELSE 0 END) = 1" if u else text for text, u in parts]
        if name == "not":
            return f"NOT ({known[0]})", False
        if node.connective is None:
            raise DataError(f"{node} has no SQL here; write the rule with comparisons.")
        value, *others = known
        for other in others:  # the rows of the truth table in which the connective is true
            true = [
                f"({'' if a else 'NOT '}({value}) AND {'' if b else 'NOT '}({other}))"
                for (a, b), bit in zip(CASES, node.connective.truth, strict=True)
                if bit == "1"
            ]
            value = "(" + " OR ".join(true) + ")"
        return value, False

    return fold(formula, build)[0]


def ensemble_query(ensemble: VotingRules, table: str) -> str:
    """What :meth:`formulakern.RuleEnsemble.to_sql` documents."""
    name = _name(table)
    terms = [sql_of(item) for item in ensemble.rules]
    sums = [
        _sum(bias, [(vote, term) for vote, term in zip(column, terms, strict=True) if vote])
        for bias, column in zip(ensemble.intercept.tolist(), ensemble.votes.T.tolist(), strict=True)
    ]
    if ensemble.levels is not None:
        return _levels_query(ensemble, name, sums[0])
    if ensemble.classes is None:
        answer = _name(f"predicted {ensemble.target}")
        lines = [f"SELECT {name}.*,", *(f"  {line}" for line in sums[0]), f"    AS {answer}"]
        return "\n".join([*lines, f"FROM {name}"])
    lines = []
    scores = _score_names(ensemble.classes)
    answers = [_value(label) for label in ensemble.classes]
    if any(isinstance(item, Monomial) and item.columns for item in ensemble.rules):
        lines.append(f"    WHEN {' + '.join(scores)} IS NULL THEN NULL")
    return _scored(name, dict(zip(scores, sums, strict=True)), lines, answers)


def _levels_query(ensemble: VotingRules, name: str, total: list[str]) -> str:
    """The query for the level of a score."""
    score = _name(f"score {ensemble.target}")
    *answers, last = [_value(level) for level in ensemble.levels or ()]
    lines = ["SELECT scored.*,", "  CASE"]
    if any(isinstance(item, Monomial) and item.columns for item in ensemble.rules):
        lines.append(f"    WHEN {score} IS NULL THEN NULL")
    for answer, end in zip(answers, ensemble.thresholds.tolist(), strict=True):
        lines.append(f"    WHEN {score} <= {end!r} THEN {answer}")
    lines += [f"    ELSE {last}", "  END AS predicted_class", "FROM (", f"  SELECT {name}.*,"]
    lines += [*(f"    {line}" for line in total), f"      AS {score}"]
    return "\n".join([*lines, f"  FROM {name}", ") AS scored"])


def list_query(decision: DecisionRules, table: str) -> str:
    """What :meth:`formulakern.RuleList.to_sql` documents."""
    name = _name(table)
    lines = [
        f"    WHEN {condition(item.rule.formula)} THEN {_value(item.label)}" for item in decision
    ] or ["    WHEN 1 = 0 THEN NULL"]
    last = [f"    ELSE {_value(decision.default)}", "  END AS predicted_class", f"FROM {name}"]
    return "\n".join([f"SELECT {name}.*,", "  CASE", *lines, *last])


def votes_query(decision: DecisionRules, votes: Any, table: str) -> str:
    """What :meth:`formulakern.RuleSet.to_sql` documents, with votes of shape (R, K)."""
    terms = [sql_of(item.rule) for item in decision]
    scores = _score_names(decision.classes)
    sums = [
        _sum(0.0, [(vote, term) for vote, term in zip(column, terms, strict=True) if vote])
        for column in votes.T.tolist()
    ]
    none = f"    WHEN {' + '.join(scores)} = 0 THEN {_value(decision.default)}"
    answers = [_value(label) for label in decision.classes]
    return _scored(_name(table), dict(zip(scores, sums, strict=True)), [none], answers)


def _score_names(classes: Sequence[Any]) -> list[str]:
    scores = [f"score {label}" for label in classes]
    if len({score.casefold() for score in scores}) < len(scores):  # SQL takes A for a
        scores = [f"score {number}" for number in range(len(scores))]
    return [_name(score) for score in scores]


def _scored(
    name: str, sums: dict[str, list[str]], special: list[str], answers: Sequence[str]
) -> str:
    """The query for the answer of the largest score, ties going to the first."""
    scores = [*sums]
    lines = ["SELECT scored.*,", "  CASE", *special]
    for k, answer in enumerate(answers[:-1]):
        ahead = " AND ".join(f"{scores[k]} >= {other}" for other in scores[k + 1 :])
        lines.append(f"    WHEN {ahead} THEN {answer}")
    lines += [f"    ELSE {answers[-1]}", "  END AS predicted_class", "FROM ("]
    lines.append(f"  SELECT {name}.*,")
    for score, total in sums.items():
        lines += [*(f"    {line}" for line in total), f"      AS {score},"]
    lines[-1] = lines[-1][:-1]
    return "\n".join([*lines, f"  FROM {name}", ") AS scored"])


def _sum(intercept: float, terms: Sequence[tuple[float, str]]) -> list[str]:
    """A weighted sum, one term a line."""
    lines = [f"  {'-' if vote < 0 else '+'} {abs(vote)!r} * {term}" for vote, term in terms]
    while len(lines) > MAX_TERMS:
        parts = (lines[k : k + MAX_TERMS] for k in range(0, len(lines), MAX_TERMS))
        lines = ["  + (0.0\n" + "\n".join(part) + ")" for part in parts]
    return [repr(intercept), *lines]


def _comparison(leaf: Comparison) -> tuple[str, bool]:
    name = _name(leaf.column)
    if leaf.relation in ("is missing", "is not missing"):
        return f"{name} {leaf.relation.upper().replace('MISSING', 'NULL')}", False
    if leaf.relation in ("in", "not in"):
        assert isinstance(leaf.value, tuple)
        values = ", ".join(_value(value) for value in leaf.value)
        return f"{name} {leaf.relation.upper()} ({values})", True
    relation = leaf.relation.replace("!=", "<>")
    return f"{name} {relation} {_value(leaf.value)}", True


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _value(value: Any) -> str:
    if isinstance(value, ColumnName):
        return _name(value.name)
    value = value.item() if hasattr(value, "item") else value
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, (int, float)):
        return repr(value)
    return "'" + str(value).replace("'", "''") + "'"
