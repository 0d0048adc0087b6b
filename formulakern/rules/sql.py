"""Rules as SQL: conditions with SQL's three truth values made two, and the query of an ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from formulakern.errors import DataError
from formulakern.rules.features import Monomial
from formulakern.rules.rule import Rule
from formulakern.syntax.comparison import ColumnName, Comparison
from formulakern.syntax.formula import Constant, Formula, Variable
from formulakern.syntax.traversal import fold

__all__ = ["condition", "score_query", "sql_of"]

RELATIONS = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


#: Arguments of the entries of a truth table.
CASES = ((True, True), (True, False), (False, True), (False, False))


def sql_of(item: Rule | Monomial) -> str:
    """A rule as an SQL expression that is 1 or 0; a monomial as the product.

    Examples
    --------
    >>> from formulakern.rules.rule import rule
    >>> sql_of(rule("odor = foul & size < 3"))
    'CASE WHEN ("odor" = \\'foul\\' AND "size" < 3) THEN 1 ELSE 0 END'
    >>> sql_of(Monomial(("width", "height")))
    '"width" * "height"'
    """
    if isinstance(item, Monomial):
        return " * ".join(map(_name, item.columns)) if item.columns else "1"
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
                f"({_signed(value, a)} AND {_signed(other, b)})"
                for (a, b), bit in zip(CASES, node.connective.truth, strict=True)
                if bit == "1"
            ]
            value = "(" + " OR ".join(true) + ")"
        return value, False

    return fold(formula, build)[0]


def score_query(
    table: str,
    classes: Sequence[Any],
    intercept: Sequence[float],
    votes: Sequence[Sequence[float]],
    terms: Sequence[str],
) -> str:
    """The query behind :meth:`formulakern.RuleEnsemble.to_sql`.

    Parameters
    ----------
    table : str
    classes : sequence of length K
    intercept : sequence of K floats
    votes : (rules, K)
        What each rule adds to the score of each class.
    terms : sequence of str
        The rules in SQL.
    """
    scores = [f"score {name}" for name in classes]
    if len(set(scores)) < len(scores):
        scores = [f"score {number}" for number in range(len(classes))]
    lines = ["SELECT scored.*,"]
    if len(classes) == 1:
        lines.append(f"  {_value(classes[0])} AS predicted_class")
    else:
        lines.append("  CASE")
        for k in range(len(classes) - 1):
            ahead = [f"{_name(scores[k])} >= {_name(other)}" for other in scores[k + 1 :]]
            lines.append(f"    WHEN {' AND '.join(ahead)} THEN {_value(classes[k])}")
        lines += [f"    ELSE {_value(classes[-1])}", "  END AS predicted_class"]
    lines += ["FROM (", f"  SELECT {_name(table)}.*,"]
    for k, score in enumerate(scores):
        lines.append(f"    {float(intercept[k])!r}")
        for vote, term in zip(votes, terms, strict=True):
            if vote[k]:
                sign = "+" if vote[k] > 0 else "-"
                lines.append(f"      {sign} {abs(float(vote[k]))!r} * {term}")
        lines.append(f"      AS {_name(score)}{',' if k < len(scores) - 1 else ''}")
    return "\n".join([*lines, f"  FROM {_name(table)}", ") AS scored"])


def _comparison(leaf: Comparison) -> tuple[str, bool]:
    name = _name(leaf.column)
    if leaf.relation == "is missing":
        return f"{name} IS NULL", False
    if leaf.relation == "is not missing":
        return f"{name} IS NOT NULL", False
    if leaf.relation in ("in", "not in"):
        assert isinstance(leaf.value, tuple)
        values = ", ".join(_value(value) for value in leaf.value)
        return f"{name} {leaf.relation.upper()} ({values})", True
    return f"{name} {RELATIONS[leaf.relation]} {_value(leaf.value)}", True


def _signed(text: str, sign: bool) -> str:
    return text if sign else f"NOT ({text})"


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _value(value: Any) -> str:
    if isinstance(value, ColumnName):
        return _name(value.name)
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, (int, float)):
        return repr(value)
    return "'" + str(value).replace("'", "''") + "'"
