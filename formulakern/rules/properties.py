"""Whether rules are mutually exclusive or exhaustive: on the rows of a table, or by logic."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.errors import FormulaError
from formulakern.rules.cases import Assignments, Box
from formulakern.rules.decision import ClassRule, covers_of
from formulakern.rules.rule import Rule, rule
from formulakern.syntax.formula import Formula
from formulakern.tables.table import Table

__all__ = ["LogicalAnswer", "exhaustive", "formulas_of", "mutually_exclusive"]


@dataclass(frozen=True)
class LogicalAnswer:
    """Yes, or no with a row that shows it; true or false like a bool.

    Parameters
    ----------
    question : str
        What was asked about the rules.
    holds : bool
        The answer.
    witness : mapping of column to entry, or None
        A row for which it does not hold, with None for a missing entry.
    row : int or None
        Its number in the table that was asked about, from 0.
    rules : tuple of int
        The rules that the witness satisfies, from 0: two at least, or none.

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
    """Return whether no row satisfies two of the rules: r_i ∧ r_j is false for all i < j.

    Parameters
    ----------
    rules : iterable of Rule, str, Formula or ClassRule
        Also a RuleList or RuleSet; its default is left out.
    table : DataFrame, mapping of columns, array-like or Table, optional
        Asks about the rows of this table.  Without it the question is one of logic: about all rows
        that there can be.
    domains : mapping of column to allowed values or ``int``, or table, optional
        For logic: the entries that there can be, in any combination; None among them is a missing
        one, and ``int`` stands for all whole numbers.  Other columns may hold any number and any
        text of which the rules can be asked.
    missing : bool
        For logic: whether entries of columns without allowed values may be missing.  Comparisons
        with a missing entry are false.

    Returns
    -------
    LogicalAnswer
        True or false, and then ``witness``: a row that satisfies the rules ``rules``.

    Raises
    ------
    FormulaSizeError
        If logic needs more than 2 million comparisons of conjunctions.
    FormulaError
        If the answer of logic depends on a comparison of two columns.
    DataError
        If a column is absent, or cannot be compared.

    Notes
    -----
    By logic the answer is exact.  The constants that a column is compared with split its values
    into finitely many cases; a rule is a union of boxes, which allow each column some cases; two
    boxes meet if they do in every column.

    Examples
    --------
    >>> import formulakern as fk
    >>> print(fk.mutually_exclusive(["x <= 3 & y = red", "x > 3", "y = blue & x = 2"]))
    mutually exclusive
    >>> answer = fk.mutually_exclusive(["x <= 3", "y = red"])
    >>> print(answer)
    not mutually exclusive: rules 1 and 2 are true of x = 2, y = red
    >>> bool(fk.mutually_exclusive(["x <= 3", "y = red"], {"x": [1, 5], "y": ["blue", "red"]}))
    True
    """
    formulas = formulas_of(rules)
    question = "mutually exclusive"
    if table is not None:
        rows = Table.of(table)
        covers = covers_of(formulas, rows)
        return _on_table(question, rows, covers, np.asarray(covers.sum(axis=1) > 1), formulas)
    logic = Assignments.of(formulas, domains, missing)

    def shared() -> Iterator[Box]:
        listed = [logic.boxes(formula) for formula in formulas]
        for left, right in itertools.combinations(listed, 2):
            for one, other in itertools.product(left, right):
                box = logic.meet(one, other)
                if box is not None:
                    yield box

    return _by_logic(question, logic, shared(), formulas)


def exhaustive(
    rules: Iterable[Any], table: Any = None, *, domains: Any = None, missing: bool = True
) -> LogicalAnswer:
    """Return whether every row satisfies one of the rules: r₁ ∨ … ∨ r_R is true.

    Parameters
    ----------
    rules : iterable of Rule, str, Formula or ClassRule
        Also a RuleList or RuleSet; its default is left out.
    table : DataFrame, mapping of columns, array-like or Table, optional
        Asks about the rows of this table.  Without it the question is one of logic: about all rows
        that there can be.
    domains : mapping of column to allowed values or ``int``, or table, optional
        For logic: the entries that there can be, in any combination; None among them is a missing
        one, and ``int`` stands for all whole numbers.  Other columns may hold any number and any
        text of which the rules can be asked.
    missing : bool
        For logic: whether entries of columns without allowed values may be missing.  Comparisons
        with a missing entry are false.

    Returns
    -------
    LogicalAnswer
        True or false, and then ``witness``: a row that satisfies no rule.

    Raises
    ------
    FormulaSizeError
        If logic needs more than 2 million comparisons of conjunctions.
    FormulaError
        If the answer of logic depends on a comparison of two columns.
    DataError
        If a column is absent, or cannot be compared.

    Notes
    -----
    By logic the answer is exact, as for :func:`mutually_exclusive`.  The boxes of the rules are
    taken off the space of all rows, one after the other, the one with the fewest columns first.

    Examples
    --------
    >>> import formulakern as fk
    >>> print(fk.exhaustive(["x <= 3", "x > 3 & y = red", "x > 2"], missing=False))
    exhaustive
    >>> print(fk.exhaustive(["x <= 3", "y = red"], domains={"x": [1, 4], "y": ["red", "blue"]}))
    not exhaustive: no rule is true of x = 4, y = blue
    """
    formulas = formulas_of(rules)
    if table is not None:
        rows = Table.of(table)
        covers = covers_of(formulas, rows)
        none = np.asarray(~covers.any(axis=1))
        return _on_table("exhaustive", rows, covers, none, formulas)
    logic = Assignments.of(formulas, domains, missing)
    boxes = [box for formula in formulas for box in logic.boxes(formula)]
    return _by_logic("exhaustive", logic, logic.uncovered({}, boxes), formulas)


def formulas_of(rules: Iterable[Any]) -> list[Formula]:
    """Return the conditions of rules, texts, formulas, or rules with a class."""
    if isinstance(rules, (str, Formula, Rule, ClassRule)):
        rules = [rules]
    formulas = []
    for item in rules:
        item = item.rule if isinstance(item, ClassRule) else item
        formulas.append((item if isinstance(item, Rule) else rule(item)).formula)
    return formulas


def _on_table(
    question: str,
    rows: Table,
    covers: npt.NDArray[np.bool_],
    wrong: npt.NDArray[np.bool_],
    formulas: list[Formula],
) -> LogicalAnswer:
    if not wrong.any():
        return LogicalAnswer(question, True)
    row = int(np.argmax(wrong))
    columns = dict.fromkeys(name for formula in formulas for name in Rule(formula).columns)
    witness = {name: rows.entry(name, row) for name in columns}
    rules = tuple(np.flatnonzero(covers[row]).tolist())
    return LogicalAnswer(question, False, witness, row, rules)


def _by_logic(
    question: str, logic: Assignments, boxes: Iterator[Box], formulas: list[Formula]
) -> LogicalAnswer:
    """Return the answer from boxes in which the property does not hold."""
    undecided = False
    for box in boxes:
        if logic.depends_on_pairs(box):
            undecided = True
            continue
        point = logic.point(box)
        fired = [
            any(not any(point[key] & ~bits for key, bits in box.items()) for box in boxes)
            for boxes in map(logic.boxes, formulas)
        ]
        rules = tuple(np.flatnonzero(fired).tolist())
        return LogicalAnswer(question, False, logic.row(point), None, rules)
    if undecided:
        pair = next((str(leaf) for leaf in logic.cases if leaf in logic.values), None)
        what = f"a comparison of two columns, {pair!r}"
        if pair is None:
            what = f"{next(iter(logic.bases))} together with another condition on its column"
        raise FormulaError(
            f"whether these rules are {question} depends on {what}, which logic does not decide "
            "here. Ask about a table: give it as the second argument."
        )
    return LogicalAnswer(question, True)
