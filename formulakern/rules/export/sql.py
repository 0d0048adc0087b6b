"""Rules of all kinds as SQL queries of what they predict."""

from __future__ import annotations

from typing import Any

from formulakern.errors import ParameterError
from formulakern.rules.export.exported import FirstRule, Votes, term_types
from formulakern.rules.features import Monomial, Term
from formulakern.rules.rule import Rule
from formulakern.rules.sql.dialects import DialectName, TableName
from formulakern.rules.sql.query import Lines, Query, cases, wrapped
from formulakern.rules.sums import LONGEST_CHAIN

__all__ = ["sql_query"]


def sql_query(
    rules: FirstRule | Votes, table: TableName, dialect: DialectName, types: Any, scores: bool
) -> str:
    """Return the query of what rules predict; see :meth:`formulakern.RuleEnsemble.to_sql`."""
    if isinstance(rules, FirstRule) and scores:
        raise ParameterError(f"{rules.name} has no scores; leave scores=False.")
    columns = (name for term in rules.terms for name in term.columns)
    query = Query(table, dialect, columns, term_types(rules.terms, types))
    lines: Lines = []
    if isinstance(rules, FirstRule):
        *labels, otherwise = query.labels(rules.labels)
        for rule, label in zip(rules.terms, labels, strict=True):
            lines.append(f"WHEN {query.writer.expression(rule.formula)} THEN {label}")
        return query.text(cases(lines, otherwise) if lines else [otherwise])
    sums = _sums(query, rules)
    if rules.labels is None:
        return query.text(sums[0], f"predicted {rules.target}")
    if rules.factors:
        present = " AND ".join(map(query.writer.present, rules.factors))
        lines.append(f"WHEN NOT ({present}) THEN NULL")
    labels = query.labels([*rules.labels, *rules.default])
    if rules.thresholds is not None:
        for label, end in zip(labels, rules.thresholds, strict=False):
            lines += wrapped("WHEN ", sums[0])
            lines[-1] += f" <= {query.dialect.number(end, exact=False)} THEN {label}"
        answer = cases(lines, labels[-1])
    elif rules.default:
        answer = query.largest(sums, labels[:-1], [f"WHEN 0 THEN {labels[-1]}"])
    else:
        answer = query.leading(sums, labels, lines, rules.is_opposite)
    return query.text(answer, scores=sums if scores else ())


def _sums(query: Query, rules: Votes) -> list[Lines]:
    """Return the scores of all classes."""
    texts = [_value(query, term) for term in rules.terms]
    exact = len(texts) >= LONGEST_CHAIN  # then sums begin with weights too, and are of doubles
    sums = []
    for first, column in zip(rules.intercept, rules.votes.T.tolist(), strict=True):
        parts = []
        for term, text, weight in zip(rules.terms, texts, column, strict=True):
            number = query.dialect.number(weight, exact=exact)
            if weight and isinstance(term, Rule):
                parts.append(f"CASE WHEN {text} THEN {number} ELSE 0 END")
            elif weight:
                parts.append(f"{number} * {text}")
        sums.append(query.total(first, parts))
    return sums


def _value(query: Query, term: Term) -> str:
    """Return a rule as a condition, a monomial or a linear term as its value.

    >>> from formulakern.rules.features import LinearTerm
    >>> query = Query("t", "sqlite", ["age"], {"age": "number"})
    >>> print(_value(query, LinearTerm("age", 20, 70)).replace(" WHEN", "\\n WHEN"))
    (CASE
     WHEN "t"."age" <= 20.0 THEN 0.0
     WHEN "t"."age" < 70.0 THEN (CAST("t"."age" AS REAL) / 2.0 - 10.0) / 25.0
     WHEN "t"."age" IS NOT NULL THEN 1.0 ELSE 0.0 END)
    """
    writer, double = query.writer, query.dialect.double

    def number(value: float) -> str:
        return query.dialect.number(value, exact=False)

    if isinstance(term, Rule):
        return writer.expression(term.formula)
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
