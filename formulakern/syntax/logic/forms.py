"""Normal forms of a formula, and its diagram: plain functions of the tree of connectives.

Every form is read from the truth tables of the connectives.  :class:`Node` is what logic needs of
a formula, so that :class:`formulakern.Formula` can have these functions as methods.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

from formulakern.errors import FormulaError, FormulaSizeError
from formulakern.syntax.connectives import AND, ARGUMENTS, NOT, OR, Connective
from formulakern.syntax.logic.covers import Cube, irredundant_cover, ordered_cubes
from formulakern.syntax.logic.diagrams import ADVICE, Diagrams
from formulakern.syntax.traversal import fold, postorder

__all__ = [
    "Form",
    "Node",
    "both",
    "clauses_of",
    "clauses_with_definitions",
    "diagram_of",
    "diagrams_of",
    "either",
    "from_cubes",
    "letters_of",
    "listed_form",
    "literal",
    "negated",
    "nnf",
    "substitute",
]

#: "dnf" is a disjunction of conjunctions of literals, "cnf" a conjunction of disjunctions.
Form: TypeAlias = Literal["dnf", "cnf"]


class Node:
    """A formula, as far as logic needs it."""

    __slots__ = ()

    #: The connective at the root, or None for a leaf; its operands.
    connective: Connective | None = None
    arguments: tuple[Any, ...] = ()
    #: The truth value of a constant; else None.
    truth: bool | None = None
    #: Number of leaves, with repetition (an exact integer, even where subformulas are shared).
    n_leaves: int
    #: Why a leaf is not a letter, which is true or false by itself; empty if it is one.
    no_letter: ClassVar[str] = ""

    def _built(self, row: Connective, arguments: Sequence[Any]) -> Any:
        """Return the formula that a connective makes of others."""
        raise NotImplementedError

    def _constant(self, value: bool) -> Any:
        """Return true or false as a formula."""
        raise NotImplementedError

    def _variable(self, name: str) -> Any:
        """Return the variable of this name."""
        raise NotImplementedError


N = TypeVar("N", bound=Node)


def both(like: N, parts: Iterable[N]) -> N:
    """Return the conjunction of some formulas, which is true for none."""
    return _chain(like, AND, list(parts), True)


def either(like: N, parts: Iterable[N]) -> N:
    """Return the disjunction of some formulas, which is false for none."""
    return _chain(like, OR, list(parts), False)


def _chain(like: N, row: Connective, parts: list[N], neutral: bool) -> N:
    if len(parts) > 1:
        found: N = like._built(row, parts)
        return found
    return parts[0] if parts else like._constant(neutral)


def negated(formula: N) -> N:
    """Return the negation; a negation loses its sign instead."""
    if formula.connective is NOT:
        inner: N = formula.arguments[0]
        return inner
    if formula.truth is not None:
        constant: N = formula._constant(not formula.truth)
        return constant
    built: N = formula._built(NOT, [formula])
    return built


def literal(formula: N) -> tuple[N, bool] | None:
    """Return the leaf and the sign of a literal, or None for other formulas."""
    leaf, sign = (formula.arguments[0], False) if formula.connective is NOT else (formula, True)
    return None if leaf.connective or leaf.truth is not None else (leaf, sign)


def letters_of(formulas: Iterable[N], question: str) -> list[N]:
    """Return the leaves of formulas that are true or false, in order of appearance.

    Raises
    ------
    FormulaError
        If a leaf has no truth value of its own; the message begins with ``question``.
    """
    found: dict[N, None] = {}
    for formula in formulas:
        for node in postorder(formula):
            if node.connective is None and node.truth is None:
                found.setdefault(node)
    for leaf in found:
        if leaf.no_letter:
            raise FormulaError(f"{question} needs names that are true or false: {leaf.no_letter}")
    return list(found)


def substitute(formula: N, leaf: Mapping[Any, N]) -> N:
    """Return the formula with leaves replaced; leaves that are not named stay.

    >>> from formulakern.syntax.formula import variables
    >>> a, b, c = variables("a b c")
    >>> substitute(a & ~b, {b: a | c})
    Formula('a & ~(a | c)')
    """

    def step(node: N, values: list[N]) -> N:
        found: N = node._built(node.connective, values) if node.connective else leaf.get(node, node)
        return found

    return fold(formula, step)


def diagrams_of(
    question: str, *formulas: N, advice: str = ADVICE
) -> tuple[Diagrams, list[N], list[int]]:
    """Return the diagrams of formulas in one manager; equal functions are equal integers.

    Parameters
    ----------
    question : str
        The first words of an error message.
    *formulas : Formula
    advice : str
        The last sentence of the message if a diagram is too large.

    Returns
    -------
    diagrams : Diagrams
    letters : list of Formula
        In order of appearance; letter k is the variable k of the diagrams.
    tops : list of int
        The function of every formula.

    Raises
    ------
    FormulaError
        If a leaf is a comparison or a choice.
    FormulaSizeError
        If a diagram passes its limits.
    """
    diagrams = Diagrams(advice)
    letters = letters_of(formulas, question)
    level: dict[Any, int] = {letter: k for k, letter in enumerate(letters)}
    tops = [diagram_of(diagrams, f, lambda leaf: diagrams.variable(level[leaf])) for f in formulas]
    return diagrams, letters, tops


def diagram_of(diagrams: Diagrams, formula: N, leaf: Callable[[N], int]) -> int:
    """Return the diagram of a formula, given those of its leaves."""

    def function(node: N, values: list[int]) -> int:
        if node.connective is not None:
            return diagrams.connect(node.connective.truth, values)
        return leaf(node) if node.truth is None else int(node.truth)

    return fold(formula, function)


# -- negation normal form --------------------------------------------------------------------------


class _Half:
    """A part of a chain as an operation with two arguments."""

    truth = None

    def __init__(self, connective: Connective, *arguments: Any) -> None:
        self.connective, self.arguments = connective, arguments


def _halves(row: Connective, arguments: Sequence[Any]) -> _Half:
    """Return a chain as a balanced tree of operations with two arguments.

    Its depth is log₂ of its length, so that what doubles from level to level stays quadratic.
    """
    layer = list(arguments)
    while len(layer) > 2:
        pairs = [_Half(row, *layer[k : k + 2]) for k in range(0, len(layer) - 1, 2)]
        layer = pairs + layer[2 * len(pairs) :]
    return _Half(row, *layer)


def nnf(root: N) -> N:
    """Return the formula by and, or, and negations of leaves.

    Every node of the given formula becomes at most a few nodes that are shared if they are used
    again; a chain of exclusive ors is halved again and again.
    """
    made: dict[tuple[int, bool], N] = {}
    kept: dict[int, _Half] = {}  # the balanced trees, by id of the chain
    pending: list[tuple[Any, bool]] = [(root, True)]
    while pending:
        node, sign = pending[-1]
        if (id(node), sign) in made:
            pending.pop()
            continue
        parts, join = _signed(node, sign, kept)
        missing = [part for part in parts if (id(part[0]), part[1]) not in made]
        if missing:
            pending.extend(reversed(missing))
            continue
        made[id(node), sign] = join(root, [made[id(part), s] for part, s in parts])
        pending.pop()
    return made[id(root), True]


_Join: TypeAlias = Callable[[Any, list[Any]], Any]


def _signed(node: Any, sign: bool, kept: dict[int, _Half]) -> tuple[list[tuple[Any, bool]], _Join]:
    """Return the signed formulas that a formula or its negation is made of, and how."""
    row = node.connective
    if row is None:
        return [], lambda _, __: node if sign else negated(node)
    if row.arity == 1:
        return [(node.arguments[0], not sign)], lambda _, parts: parts[0]
    truth = row.truth
    if row.chain == "flat" and truth in ("1000", "1110"):
        join = both if (truth == "1000") == sign else either
        return [(argument, sign) for argument in node.arguments], join
    if len(node.arguments) > 2:
        if id(node) not in kept:
            kept[id(node)] = _halves(row, node.arguments)
        node = kept[id(node)]
    left, right = node.arguments
    return _of_two(left, right, "".join("01"[(bit == "1") == sign] for bit in truth))


def _of_two(left: Any, right: Any, truth: str) -> tuple[list[tuple[Any, bool]], _Join]:
    """Return ``left ∘ right`` by and, or and signs; the truth table is not constant."""
    true = [cell for cell, bit in zip(ARGUMENTS, truth, strict=True) if bit == "1"]
    if len(true) == 1:
        (p, q) = true[0]
        return [(left, p), (right, q)], both
    if len(true) == 3:
        (p, q) = next(cell for cell in ARGUMENTS if cell not in true)
        return [(left, not p), (right, not q)], either
    (p, q), (r, s) = true
    if p == r:
        return [(left, p)], lambda _, parts: parts[0]
    if q == s:
        return [(right, q)], lambda _, parts: parts[0]

    def join(like: Any, parts: list[Any]) -> Any:
        return either(like, [both(like, parts[:2]), both(like, parts[2:])])

    return [(left, p), (right, q), (left, r), (right, s)], join


# -- disjunctive and conjunctive normal forms ------------------------------------------------------


def listed_form(root: N, form: Form, limit: int) -> N:
    """Return the formula as a disjunction of conjunctions (dnf), or the other way round (cnf).

    Raises
    ------
    FormulaError
        If a leaf is a comparison or a choice.
    FormulaSizeError
        If a diagram passes its limits, or there are more than ``limit`` terms or clauses.
    """
    if clauses_of(root, form) is not None:
        return root
    diagrams, letters, (top,) = diagrams_of(f"to_{form}()", root)
    function = top if form == "dnf" else diagrams.negation(top)
    cover = irredundant_cover(diagrams, function, function)
    if cover.n_cubes > limit:
        what, advice = ("terms", "") if form == "dnf" else ("clauses", " Or use tseitin=True.")
        raise FormulaSizeError(
            f"to_{form}() of this formula has {cover.n_cubes:,} {what}; the limit is {limit:,}. "
            f"Give a larger limit, or bring parts of the formula into this form.{advice}"
        )
    return from_cubes(root, ordered_cubes(cover), letters, form)


def from_cubes(like: N, cubes: Iterable[Cube], letters: Sequence[N], form: Form) -> N:
    """Return the union of cubes; for cnf its negation, a conjunction of clauses."""
    parts = []
    for true, false in cubes:
        used = true | false
        places = [k for k in range(used.bit_length()) if used >> k & 1]
        positive = true if form == "dnf" else false
        literals = [letters[k] if positive >> k & 1 else negated(letters[k]) for k in places]
        parts.append((both if form == "dnf" else either)(like, literals))
    return (either if form == "dnf" else both)(like, parts)


def clauses_of(formula: N, form: Form) -> list[list[tuple[N, bool]]] | None:
    """Return the terms or clauses as lists of signed leaves, or None if there is another form.

    >>> from formulakern.syntax.parser import parse
    >>> clauses_of(parse("(a | ~b) & c"), "cnf")
    [[(Formula('a'), True), (Formula('b'), False)], [(Formula('c'), True)]]
    """
    outer, inner = (OR, AND) if form == "dnf" else (AND, OR)
    if formula.truth is not None:  # no terms are false, no clauses true; an empty one is the other
        return [] if formula.truth == (form == "cnf") else [[]]
    found = []
    for part in formula.arguments if formula.connective is outer else (formula,):
        parts = part.arguments if part.connective is inner else (part,)
        literals = [literal(leaf) for leaf in parts]
        known = [each for each in literals if each is not None]
        if len(known) < len(literals):
            return None
        found.append(known)
    return found


# -- a conjunction of clauses that grows with the formula alone ------------------------------------


def clauses_with_definitions(root: N) -> N:
    """Return clauses over the names of a formula and new ones, one for each operation in it.

    Every model of the formula extends to exactly one model of the clauses, and each of these is a
    model of the formula: over all names both have equally many.  G. S. Tseitin (1968), On the
    complexity of derivation in propositional calculus, doi:10.1007/978-3-642-81955-1_28.

    Raises
    ------
    FormulaError
        If a leaf is a comparison or a choice.
    """
    letters = letters_of([root], "to_cnf()")
    if clauses_of(root, "cnf") is not None:
        return root
    taken = {str(getattr(letter, "name", letter)) for letter in letters}
    names = (root._variable(name) for k in itertools.count(1) if (name := f"_{k}") not in taken)
    clauses: dict[N, None] = {}

    def add(*literals: N) -> None:
        """Add a clause without its false literals, unless it is always true."""
        found = dict.fromkeys(part for part in literals if part.truth is not False)
        if not any(part.truth or negated(part) in found for part in found):
            clauses.setdefault(either(root, found))

    def conjunction(parts: list[N]) -> N:
        name: N = next(names)
        for part in parts:
            add(negated(name), part)
        add(name, *map(negated, parts))
        return name

    def operation(left: N, right: N, truth: str) -> N:
        name: N = next(names)
        for implied, clause in _prime_clauses(left, right, truth):
            add(name if implied else negated(name), *clause)
        return name

    def step(node: N, parts: list[N]) -> N:
        row = node.connective
        if row is None:
            return node
        if row.arity == 1:
            return negated(parts[0])
        if row is AND:
            return conjunction(parts)
        if row is OR:
            return negated(conjunction([negated(part) for part in parts]))
        return reduce(lambda left, right: operation(left, right, row.truth), parts)

    add(fold(root, step))
    false = root._constant(False)
    return false if false in clauses else both(root, clauses)


def _prime_clauses(left: N, right: N, truth: str) -> Iterator[tuple[bool, list[N]]]:
    """Yield clauses ``literals | ±name`` that define a name as ``left ∘ right``.

    There is one for each prime implicant of the operation, and of its negation.
    """

    def refuted(formula: N, value: bool) -> N:
        return negated(formula) if value else formula

    for value in (True, False):
        cells = [cell for cell, bit in zip(ARGUMENTS, truth, strict=True) if (bit == "1") == value]
        for p in (True, False):
            if (p, True) in cells and (p, False) in cells:
                yield value, [refuted(left, p)]
            if (True, p) in cells and (False, p) in cells:
                yield value, [refuted(right, p)]
        for p, q in cells:
            if (not p, q) not in cells and (p, not q) not in cells:
                yield value, [refuted(left, p), refuted(right, q)]
