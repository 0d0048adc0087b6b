"""Formulas from other tools: SymPy expressions and DIMACS files."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from formulakern.errors import FormulaError, FormulaSyntaxError, FormulaTypeError
from formulakern.syntax.connectives import IMPLIES, connective
from formulakern.syntax.formula import FALSE, TRUE, Formula, Operation, Variable
from formulakern.syntax.logic.forms import both, either
from formulakern.syntax.traversal import fold

__all__ = ["from_dimacs", "from_sympy", "is_sympy"]


def is_sympy(value: object) -> bool:
    """Return whether a value is an object of SymPy, which is not loaded to find out."""
    return type(value).__module__.partition(".")[0] == "sympy"


def from_sympy(expression: Any) -> Formula:
    """Return what :func:`formulakern.parse` does with a Boolean expression of SymPy.

    Raises
    ------
    FormulaError
        If it holds something else, such as an inequality.

    Examples
    --------
    >>> from sympy import symbols
    >>> a, b = symbols("a b")
    >>> from_sympy(~a | (a ^ b))
    Formula('~a | a ^ b')
    """

    def step(node: Any, parts: list[Formula]) -> Formula:
        word = type(node).__name__
        if node.is_Symbol:
            return Variable(node.name)
        if word in ("BooleanTrue", "BooleanFalse"):
            return TRUE if word == "BooleanTrue" else FALSE
        if word not in _FROM_SYMPY:
            raise FormulaError(
                f"{str(node)[:60]!r} is no formula over names. Of SymPy, symbols, true, false, "
                f"{', '.join(sorted(_FROM_SYMPY))} are read."
            )
        return _FROM_SYMPY[word](parts)

    def inside(node: Any) -> Sequence[Any]:
        known = type(node).__name__ in _FROM_SYMPY
        return list(node.args) if known else []

    return fold(expression, step, inside)


def _operation(name: str, shortest: Formula) -> Callable[[list[Formula]], Formula]:
    """Return a chain; of one part itself, of none a constant."""
    row = connective(name)

    def build(parts: list[Formula]) -> Formula:
        if len(parts) > 1:
            return Operation(row, parts)
        return parts[0] if parts else shortest

    return build


def _all_equal(parts: list[Formula]) -> Formula:
    equal = connective("iff")
    return both(TRUE, [Operation(equal, pair) for pair in itertools.pairwise(parts)])


_and, _or, _xor = _operation("and", TRUE), _operation("or", FALSE), _operation("xor", FALSE)
_FROM_SYMPY: dict[str, Callable[[list[Formula]], Formula]] = {
    "Not": lambda parts: ~parts[0],
    "And": _and,
    "Or": _or,
    "Xor": _xor,
    "Nand": lambda parts: ~_and(parts),
    "Nor": lambda parts: ~_or(parts),
    "Xnor": lambda parts: ~_xor(parts),
    "Implies": lambda parts: Operation(IMPLIES, parts),
    "Equivalent": _all_equal,
    "ITE": lambda parts: parts[0] & parts[1] | ~parts[0] & parts[2],
}


def from_dimacs(text: str) -> Formula:
    """Return the formula of a text in DIMACS format: a conjunction of clauses.

    Parameters
    ----------
    text : str
        Comments of the form ``c 1 "rain"`` name variables, as :meth:`Formula.to_dimacs` writes
        them; others are called ``x1``, ``x2``, ….

    Returns
    -------
    Formula

    Raises
    ------
    FormulaSyntaxError
        With a caret under the place where the text is not in this format.
    FormulaTypeError
        If it is not a ``str``.

    Examples
    --------
    >>> from_dimacs("p cnf 3 2\\n1 -3 0\\n2 3 -1 0")
    Formula('(x1 | ~x3) & (x2 | x3 | ~x1)')
    """
    if not isinstance(text, str):
        raise FormulaTypeError(f"from_dimacs reads a str; got {type(text).__name__}.")
    names: dict[int, str] = {}
    clauses: list[Formula] = []
    clause: list[Formula] = []
    head: tuple[int, int] | None = None
    for line in re.finditer(r"[^\n]+", text):
        words = line.group().split()
        if not words or words[0].startswith("%"):
            continue
        if words[0] == "c":
            named = re.fullmatch(r'\s*c\s+(\d{1,9})\s+(".+")\s*', line.group())
            if named and (name := _read_name(named[2])):
                names[int(named[1])] = name
            continue
        if head is None:
            sizes = re.fullmatch(r"\s*p\s+cnf\s+(\d{1,9})\s+(\d{1,9})\s*", line.group())
            if sizes is None:
                what = "no line 'p cnf …' comes first"
                raise _problem(text, line.start(), len(line.group()), what)
            head = int(sizes[1]), int(sizes[2])
            continue
        for word in re.finditer(r"\S+", line.group()):
            place = line.start() + word.start()
            number = int(word.group()) if re.fullmatch(r"-?\d{1,9}", word.group()) else None
            if number is None or abs(number) > head[0]:
                what = f"expected 0 or a variable from 1 to {head[0]}"
                raise _problem(text, place, len(word.group()), what)
            if number:
                variable = Variable(names.get(abs(number), f"x{abs(number)}"))
                clause.append(variable if number > 0 else ~variable)
            else:
                clauses.append(either(FALSE, clause))
                clause = []
    if head is None or clause or len(clauses) != head[1]:
        expected = "a line 'p cnf …'" if head is None else f"{head[1]} clauses that end in 0"
        raise _problem(text, len(text), 1, f"the text ends before {expected}")
    return both(TRUE, clauses)


def _read_name(text: str) -> str:
    """Return the name in quotes; a comment that only looks like one is a comment."""
    try:
        return str(json.loads(text))
    except ValueError:
        return ""


def _problem(text: str, place: int, width: int, problem: str) -> FormulaSyntaxError:
    advice = "Write 'p cnf 3 2' for 3 variables and 2 clauses, then for each its literals and 0."
    return FormulaSyntaxError(problem, text, place, advice, width)
