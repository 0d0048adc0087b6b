"""Tests for mutually exclusive and for exhaustive rules, on a table or by logic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from formulakern.errors import FormulaError
from formulakern.rules.cases import RowFunctions
from formulakern.rules.decision import ClassRule, covers_of
from formulakern.rules.rule import Rule, rule
from formulakern.syntax.formula import Formula
from formulakern.tables.table import Table


@dataclass(frozen=True)
class LogicalAnswer:
    """True, or False with a row that proves it; usable as a bool.

    Parameters
    ----------
    question : str
        The property of the rules.
    holds : bool
        True if the rules have the property.
    witness : mapping of column to entry, or None
        A row that violates it, with None for a missing entry.
    row : int or None
        The number of the witness in the table, from 0.
    rules : tuple of int
        The rules that the witness satisfies, from 0: at least two, or none.

    Examples
    --------
    >>> answer = exhaustive(["x <= 3", "x > 3"])
    >>> bool(answer), answer.witness
    (False, {'x': None})
    >>> print(answer)
    not exhaustive: no rule is true of x missing
    """

    question: str
    holds: bool
    witness: Mapping[str, Any] | None = None
    row: int | None = None
    rules: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        if self.holds:
            return self.question
        numbers = [str(number + 1) for number in self.rules]
        listed = f"rules {', '.join(numbers[:-1])} and {numbers[-1]} are" if numbers else ""
        place = "" if self.row is None else f"row {self.row}: "
        entries = ", ".join(
            f"{name} missing" if value is None else f"{name} = {value}"
            for name, value in (self.witness or {}).items()
        )
        return (
            f"not {self.question}: {listed or 'no rule is'} true of {place}{entries or 'every row'}"
        )


def mutually_exclusive(
    rules: Iterable[Any], table: Any = None, *, domains: Any = None, missing: bool = True
) -> LogicalAnswer:
    """Return True if no row satisfies two of the rules: r_i ∧ r_j is false for all i < j.

    Parameters
    ----------
    rules : iterable of Rule, str, Formula or ClassRule
        The rules; of a RuleList or RuleSet, without its default.
    table : DataFrame, mapping of columns, array-like or Table, optional
        The rows.  Without a table, the result is exact for all possible rows, by logic.
    domains : mapping of column to allowed values or ``int``, or table, optional
        The possible entries without a table, in any combination: None for a missing entry, and
        ``int`` for all whole numbers.  Other columns may have any number and any text.
    missing : bool
        Without a table: True if entries of columns without allowed values may be missing.
        Comparisons with a missing entry are false.

    Returns
    -------
    LogicalAnswer
        True; or False with a row ``witness`` that satisfies the rules ``rules``.

    Raises
    ------
    FormulaSizeError
        If a decision diagram exceeds its limits.
    FormulaError
        If the result depends on a comparison of two columns, and no table is given.
    DataError
        If a column is absent, or its entries cannot be compared.

    Examples
    --------
    >>> import formulakern as fk
    >>> print(fk.mutually_exclusive(["x <= 3 & y = red", "x > 3", "y = blue & x = 2"]))
    mutually exclusive
    >>> print(fk.mutually_exclusive(["x <= 3", "y = red"]))
    not mutually exclusive: rules 1 and 2 are true of x = 2, y = red
    >>> bool(fk.mutually_exclusive(["x <= 3", "y = red"], {"x": [1, 5], "y": ["blue", "red"]}))
    True
    """
    formulas, question = formulas_of(rules), "mutually exclusive"
    if table is not None:
        return _on_table(question, table, formulas)
    logic = RowFunctions(formulas, domains, missing)
    found = list(map(logic.of, formulas))
    shared, earlier = [], 0
    for k, function in enumerate(found):
        if logic.diagrams.both([function, earlier]):
            shared += [logic.diagrams.both([function, other]) for other in found[:k]]
        earlier = logic.diagrams.either([function, earlier])
    return _by_logic(question, logic, found, [both for both in shared if both])


def exhaustive(
    rules: Iterable[Any], table: Any = None, *, domains: Any = None, missing: bool = True
) -> LogicalAnswer:
    """Return True if every row satisfies at least one rule: r₁ ∨ … ∨ r_R is true.

    Parameters
    ----------
    rules : iterable of Rule, str, Formula or ClassRule
        The rules; of a RuleList or RuleSet, without its default.
    table : DataFrame, mapping of columns, array-like or Table, optional
        The rows.  Without a table, the result is exact for all possible rows, by logic.
    domains : mapping of column to allowed values or ``int``, or table, optional
        The possible entries without a table, in any combination: None for a missing entry, and
        ``int`` for all whole numbers.  Other columns may have any number and any text.
    missing : bool
        Without a table: True if entries of columns without allowed values may be missing.
        Comparisons with a missing entry are false.

    Returns
    -------
    LogicalAnswer
        True; or False with a row ``witness`` that satisfies no rule.

    Raises
    ------
    FormulaSizeError
        If a decision diagram exceeds its limits.
    FormulaError
        If the result depends on a comparison of two columns, and no table is given.
    DataError
        If a column is absent, or its entries cannot be compared.

    Examples
    --------
    >>> import formulakern as fk
    >>> print(fk.exhaustive(["x <= 3", "x > 3 & y = red", "x > 2"], missing=False))
    exhaustive
    >>> print(fk.exhaustive(["x <= 3", "y = red"], domains={"x": [1, 4], "y": ["red", "blue"]}))
    not exhaustive: no rule is true of x = 4, y = blue
    """
    formulas, question = formulas_of(rules), "exhaustive"
    if table is not None:
        return _on_table(question, table, formulas)
    logic = RowFunctions(formulas, domains, missing)
    found = list(map(logic.of, formulas))
    others = logic.diagrams.negation(logic.diagrams.either(found))
    return _by_logic(question, logic, found, [others] if others else [])


def formulas_of(rules: Iterable[Any]) -> list[Formula]:
    """Return the conditions of rules, texts, formulas, or rules with a class."""
    if isinstance(rules, (str, Formula, Rule, ClassRule)):
        rules = [rules]
    formulas = []
    for item in rules:
        item = item.rule if isinstance(item, ClassRule) else item
        formulas.append((item if isinstance(item, Rule) else rule(item)).formula)
    return formulas


def _on_table(question: str, table: Any, formulas: list[Formula]) -> LogicalAnswer:
    """Return the result for the rows of a table."""
    rows = Table.of(table)
    covers = covers_of(formulas, rows)
    satisfied = covers.sum(axis=1)
    wrong = satisfied == 0 if question == "exhaustive" else satisfied > 1
    if not wrong.any():
        return LogicalAnswer(question, True)
    row = int(np.argmax(wrong))
    columns = dict.fromkeys(name for formula in formulas for name in Rule(formula).columns)
    witness = {name: rows.entry(name, row) for name in columns}
    rules = tuple(np.flatnonzero(covers[row]).tolist())
    return LogicalAnswer(question, False, witness, row, rules)


def _by_logic(
    question: str, logic: RowFunctions, rules: Sequence[int], wrong: Iterable[int]
) -> LogicalAnswer:
    """Return the result from functions that are true of counterexamples only."""
    undecided = None
    for function in wrong:
        try:
            witness, bits = logic.first_row(logic.rows(function, f"whether rules are {question}"))
        except FormulaError as error:
            undecided = error
        else:
            held = [logic.diagrams.restrict(rule, bits) == 1 for rule in rules]
            return LogicalAnswer(
                question, False, witness, None, tuple(np.flatnonzero(held).tolist())
            )
    if undecided is not None:
        raise undecided
    return LogicalAnswer(question, True)
