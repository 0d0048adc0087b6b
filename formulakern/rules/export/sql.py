"""Rules of all kinds as SQL queries of what they predict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from formulakern.rules.column_types import ColumnType, inferred_types, read_types
from formulakern.rules.decision import ClassRule, DecisionRules
from formulakern.rules.features import Monomial, Term
from formulakern.rules.rule import Rule
from formulakern.rules.sql.conditions import TableName
from formulakern.rules.sql.dialects import DialectName
from formulakern.rules.sql.query import Lines, Query, cases, wrapped
from formulakern.rules.sums import LONGEST_CHAIN
from formulakern.rules.voting import VotingRules

__all__ = ["ensemble_query", "list_query", "term_types", "votes_query"]


def term_types(terms: Iterable[Term], types: Any = None) -> dict[str, ColumnType]:
    """What is known of the columns that terms read: what is said of them, else what they suggest.

    >>> from formulakern.rules.rule import rule
    >>> term_types([rule("odor = foul"), Monomial(("size", "age"))], {"age": [1, 2]})
    {'size': 'number', 'age': 'integer', 'odor': 'text'}
    """
    terms = tuple(terms)
    numeric = [name for term in terms if not isinstance(term, Rule) for name in term.columns]
    formulas = (term.formula for term in terms if isinstance(term, Rule))
    return inferred_types(formulas, numeric) | read_types(types)


def ensemble_query(
    ensemble: VotingRules,
    table: TableName,
    dialect: DialectName,
    types: Any = None,
    scores: bool = False,
) -> str:
    """What :meth:`formulakern.RuleEnsemble.to_sql` documents."""
    query = _query(ensemble.rules, table, dialect, types)
    sums = _sums(query, ensemble.rules, ensemble.votes, ensemble.intercept.tolist())
    shown = sums if scores else []
    if ensemble.classes is None and ensemble.levels is None:
        return query.text(sums[0], f"predicted {ensemble.target}")
    lines: Lines = []
    factors = [term.columns for term in ensemble.rules if isinstance(term, Monomial)]
    if names := dict.fromkeys(name for columns in factors for name in columns):
        present = " AND ".join(map(query.writer.present, names))
        lines.append(f"WHEN NOT ({present}) THEN NULL")
    if ensemble.levels is not None:
        labels = query.labels(ensemble.levels)
        for label, end in zip(labels, ensemble.thresholds.tolist(), strict=False):
            lines += wrapped("WHEN ", sums[0])
            lines[-1] += f" <= {query.dialect.number(end, exact=False)} THEN {label}"
        return query.text(cases(lines, labels[-1]), scores=shown)
    labels = query.labels(ensemble.classes or ())
    start, votes = ensemble.intercept, ensemble.votes
    opposite = (
        len(start) == 2 and start[0] == -start[1] and bool((votes[:, 0] == -votes[:, 1]).all())
    )
    return query.text(query.leading(sums, labels, lines, opposite), scores=shown)


def list_query(
    items: Sequence[ClassRule],
    default: Any,
    table: TableName,
    dialect: DialectName,
    types: Any = None,
) -> str:
    """The query of rules of which the first decides that covers a row."""
    query = _query([item.rule for item in items], table, dialect, types)
    *labels, otherwise = query.labels([*(item.label for item in items), default])
    lines = [
        f"WHEN {query.writer.condition(item.rule.formula)} THEN {label}"
        for item, label in zip(items, labels, strict=True)
    ]
    return query.text(cases(lines, otherwise) if lines else [otherwise])


def votes_query(
    decision: DecisionRules,
    votes: Any,
    table: TableName,
    dialect: DialectName,
    types: Any = None,
    scores: bool = False,
) -> str:
    """What :meth:`formulakern.RuleSet.to_sql` documents, with votes of shape (R, K)."""
    rules = [item.rule for item in decision]
    query = _query(rules, table, dialect, types)
    sums = _sums(query, rules, votes, [0.0] * len(decision.classes))
    *labels, default = query.labels([*decision.classes, decision.default])
    lines = [f"WHEN 0 THEN {default}"]
    for total, label in zip(sums[:-1], labels, strict=False):
        lines += wrapped("WHEN ", total)
        lines[-1] += f" THEN {label}"
    return query.text(cases(lines, labels[-1], query.maximum(sums)), scores=sums if scores else [])


def _query(terms: Sequence[Term], table: TableName, dialect: DialectName, types: Any) -> Query:
    columns = (name for term in terms for name in term.columns)
    return Query(table, dialect, columns, term_types(terms, types))


def _sums(
    query: Query, terms: Sequence[Term], votes: Any, intercept: Sequence[float]
) -> list[Lines]:
    """The scores of all classes."""
    said = [_said(query, term) for term in terms]
    exact = len(said) >= LONGEST_CHAIN  # then sums begin with weights too, and are of doubles
    sums = []
    for first, column in zip(intercept, votes.T.tolist(), strict=True):
        listed = []
        for term, text, weight in zip(terms, said, column, strict=True):
            number = query.dialect.number(weight, exact=exact)
            if weight and isinstance(term, Rule):
                listed.append(f"CASE WHEN {text} THEN {number} ELSE 0 END")
            elif weight:
                listed.append(f"{number} * {text}")
        sums.append(query.total(first, listed))
    return sums


def _said(query: Query, term: Term) -> str:
    """A rule as a condition, a monomial or a linear term as its value.

    >>> from formulakern.rules.features import LinearTerm
    >>> query = Query("t", "sqlite", ["age"], {"age": "number"})
    >>> print(_said(query, LinearTerm("age", 20, 70)).replace(" WHEN", "\\n WHEN"))
    (CASE
     WHEN "t"."age" <= 20.0 THEN 0.0
     WHEN "t"."age" < 70.0 THEN (CAST("t"."age" AS REAL) / 2.0 - 10.0) / 25.0
     WHEN "t"."age" IS NOT NULL THEN 1.0 ELSE 0.0 END)
    """
    writer, double = query.writer, query.dialect.double

    def number(value: float) -> str:
        return query.dialect.number(value, exact=False)

    if isinstance(term, Rule):
        return writer.condition(term.formula)
    if isinstance(term, Monomial):
        factors = [f"CAST({writer.number(name)} AS {double})" for name in term.columns]
        return f"({' * '.join(factors)})" if factors else number(1.0)
    least, largest = term.least / 2, term.largest / 2 - term.least / 2
    column = writer.number(term.column)
    share = f"(CAST({column} AS {double}) / {number(2.0)} - {number(least)}) / {number(largest)}"
    return (
        f"(CASE WHEN {column} <= {number(term.least)} THEN {number(0.0)} "
        f"WHEN {column} < {number(term.largest)} THEN {share} "
        f"WHEN {writer.present(term.column)} THEN {number(1.0)} ELSE {number(0.0)} END)"
    )
