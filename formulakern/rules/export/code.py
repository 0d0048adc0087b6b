"""Rules as text of Python: expressions over a pandas or polars data frame.

Names and values of the rules stand in the text as Python literals only.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Sequence
from typing import Any

from formulakern.encoding.propositions import ORDERS, number_of
from formulakern.errors import DataError, ParameterError
from formulakern.rules.decision import DecisionRules
from formulakern.rules.export.json import plain
from formulakern.syntax.comparison import ColumnName, Comparison, Value
from formulakern.syntax.connectives import ARGUMENTS
from formulakern.syntax.formula import Constant, Formula, Variable
from formulakern.syntax.temporal import Temporal
from formulakern.syntax.traversal import fold
from formulakern.text import is_unicode

__all__ = ["list_pandas", "list_polars", "plain_classes", "votes_pandas", "votes_polars"]

#: Text of a leaf of a rule that is no constant: an expression of truth values, none missing.
Leaf = Callable[[Comparison | Variable], str]


def list_pandas(decision: DecisionRules, frame: str) -> str:
    """What :meth:`formulakern.RuleList.to_pandas_code` documents."""
    answers = _answers([*(item.label for item in decision), decision.default])
    conditions = _pandas_conditions(decision, frame)
    if not conditions:
        return f"numpy.repeat({answers}, len({frame}))"
    return "\n".join(
        [
            f"{answers}[",
            "    numpy.select([",
            *(f"        {condition}," for condition in conditions),
            f"    ], range({len(conditions)}), {len(conditions)})",
            "]",
        ]
    )


def votes_pandas(decision: DecisionRules, votes: Any, frame: str) -> str:
    """What :meth:`formulakern.RuleSet.to_pandas_code` documents, with votes of shape (R, K)."""
    answers = _answers([decision.default, *decision.classes])
    conditions = _pandas_conditions(decision, frame)
    if not conditions:
        return f"numpy.repeat({answers}[:1], len({frame}))"
    rows = [[0.0, *row] for row in votes.tolist()]  # the default leads where there are no votes
    return "\n".join(
        [
            f"{answers}[",
            "    (numpy.column_stack([",
            *(f"        {condition}," for condition in conditions),
            "    ]) @ numpy.array([",
            *(f"        {row}," for row in rows),
            "    ])).argmax(axis=1)",
            "]",
        ]
    )


def list_polars(decision: DecisionRules) -> str:
    """What :meth:`formulakern.RuleList.to_polars_code` documents."""
    *labels, default = _polars_values([*(item.label for item in decision), decision.default])
    lines = ["("]
    for item, label in zip(decision, labels, strict=True):
        start = "polars" if len(lines) == 1 else ""
        condition = _condition(item.rule.formula, _polars_leaf, "polars.lit({})")
        lines += [f"    {start}.when({condition})", f"    .then({label})"]
    lines += [f"    .otherwise({default})" if len(lines) > 1 else f"    {default}"]
    return "\n".join([*lines, '    .alias("predicted_class")', ")"])


def votes_polars(decision: DecisionRules, votes: Any) -> str:
    """What :meth:`formulakern.RuleSet.to_polars_code` documents, with votes of shape (R, K)."""
    values = _polars_values([decision.default, *decision.classes])
    terms = [
        f"{_condition(item.rule.formula, _polars_leaf, 'polars.lit({})')}.cast(polars.Float64)"
        for item in decision
    ]
    lines = ["(", "    polars.concat_list([", "        polars.lit(0.0),"]
    for column in votes.T.tolist():
        lines.append("        polars.lit(0.0)")
        lines += [f"        + {t} * {v!r}" for v, t in zip(column, terms, strict=True) if v]
        lines[-1] += ","
    lines += ["    ]).list.arg_max().pipe(lambda best:"]
    for k, value in enumerate(values[:-1]):
        start = "polars" if k == 0 else ""
        lines.append(f"        {start}.when(best == {k}).then({value})")
    return "\n".join(
        [*lines, f"        .otherwise({values[-1]})", '    ).alias("predicted_class")', ")"]
    )


def _condition(formula: Formula, leaf: Leaf, constant: str) -> str:
    """A formula as an expression in parentheses; connectives are written with ``& | ~``."""

    def build(node: Formula, parts: list[str]) -> str:
        if isinstance(node, Constant):
            return constant.format(node.value)
        if isinstance(node, (Comparison, Variable)):
            return leaf(node)
        if node.connective is None:
            raise DataError(f"{node} has no Python code here; write the rule with comparisons.")
        if node.connective.arity == 1:
            return f"(~{parts[0]})"
        if sign := {"and": " & ", "or": " | ", "xor": " ^ "}.get(node.connective.name):
            return f"({sign.join(parts)})"
        value, *others = parts
        for other in others:
            true = [
                f"({'' if a else '~'}{value} & {'' if b else '~'}{other})"
                for (a, b), bit in zip(ARGUMENTS, node.connective.truth, strict=True)
                if bit == "1"
            ]
            value = f"({' | '.join(true)})"
        return value

    return fold(formula, build)


def _pandas_conditions(decision: DecisionRules, frame: str) -> list[str]:
    if not isinstance(frame, str) or not frame.isidentifier() or keyword.iskeyword(frame):
        raise ParameterError(f"frame={frame!r}; expected the name of a Python variable.")

    def column(name: str) -> str:
        return f"{frame}[{name!r}]"

    def equal(name: str, value: Value) -> str:
        if isinstance(value, str) and (number := number_of(value)) is not None:
            return f"{column(name)}.isin([{value!r}, {number!r}])"
        return f"({column(name)} == {_side(value, column)})"

    def leaf(node: Comparison | Variable) -> str:
        text = _relation(node, column, equal, lambda name, _: f"{column(name)}.notna()")
        return f"({text}).to_numpy(dtype=bool, na_value=False)"

    constant = f"numpy.full(len({frame}), {{}})"
    return [_condition(item.rule.formula, leaf, constant) for item in decision]


def _polars_leaf(node: Comparison | Variable) -> str:
    """Comparisons with null are null; NaN is larger than every number, and equals itself."""

    def column(name: str) -> str:
        return f"polars.col({name!r})"

    def present(name: str, value: Value | None) -> str:
        text = f"{column(name)}.is_not_null()"
        if isinstance(value, str):
            return text
        number = f"{column(name)}.cast(polars.Float64, strict=False)"
        return f"({text} & {number}.is_not_nan().fill_null(True))"

    def equal(name: str, value: Value) -> str:
        if isinstance(value, str) and not is_unicode(value):
            return "polars.lit(False)"  # which would read it as U+FFFD
        text = f"({column(name)} == {_side(value, column)})"
        return f"({text} & {present(name, value)})" if isinstance(value, ColumnName) else text

    text = _relation(node, column, equal, present, guarded=(">", ">="))
    return f"({text}).fill_null(False)"


def _relation(
    node: Comparison | Variable,
    column: Callable[[str], str],
    equal: Callable[[str, Value], str],
    present: Callable[[str, Value | None], str],
    guarded: Sequence[str] = (),
) -> str:
    """A leaf, by the texts of a column, of an equality, and of that an entry is not missing.

    Relations that are ``guarded`` may be true of missing entries, unless these are excluded; and
    so may then any order of two columns.
    """
    if isinstance(node, Variable):
        return equal(node.name, 1)
    name, relation, value = node.column, node.relation, node.value
    ranked = relation in ORDERS and isinstance(value, str)
    if node.part is not None or ranked or any(isinstance(v, Temporal) for v in node.values):
        raise DataError(
            f"{node} has no Python code here: it is about dates, times or ordered categories; "
            "use to_polars() or to_pandas(), which give expressions."
        )
    if value is None:
        return f"{'~' if relation == 'is missing' else ''}{present(name, None)}"
    values = value if isinstance(value, tuple) else (value,)
    if relation in ("=", "in"):
        return " | ".join(equal(name, item) for item in values)
    known = [present(name, values[0] if all(isinstance(v, str) for v in values) else None)]
    known += [present(item.name, item) for item in values if isinstance(item, ColumnName)]
    if relation in ("!=", "not in"):
        return " & ".join([*(f"~{equal(name, item)}" for item in values), *known])
    text = f"({column(name)} {relation} {_side(values[0], column)})"
    doubtful = relation in guarded or (guarded and isinstance(values[0], ColumnName))
    return " & ".join([text, *known]) if doubtful else text


def _side(value: Value, column: Callable[[str], str]) -> str:
    return column(value.name) if isinstance(value, ColumnName) else repr(value)


def _answers(labels: Sequence[Any]) -> str:
    """An array of classes; of objects where they are not all of one type."""
    values = [plain(label) for label in labels]
    kind = "" if len({type(value) for value in values}) == 1 else ", dtype=object"
    return f"numpy.array({values!r}{kind})"


def _polars_values(labels: Sequence[Any]) -> list[str]:
    """Classes as literals: all text, all truth values or all numbers, and null."""
    return [f"polars.lit({value!r})" for value in plain_classes(labels)]


def plain_classes(labels: Sequence[Any]) -> list[Any]:
    """Classes as plain values: all text, all truth values or all numbers, and None.

    Raises
    ------
    DataError
        If they are of several types, or of others; if a text among them has no encoding.
    """
    values = [plain(label) for label in labels]
    kinds = {"number" if type(v) in (int, float) else type(v) for v in values if v is not None}
    if len(kinds) > 1:
        raise DataError(
            f"the classes {values!r} are of several types, which a column of polars does not hold; "
            "use classes that are all text or all numbers."
        )
    for value in values:
        if isinstance(value, str) and not is_unicode(value):
            raise DataError(
                f"the class {value!r} holds half of a surrogate pair, which a column of polars "
                "does not hold; rename it."
            )
    return values
