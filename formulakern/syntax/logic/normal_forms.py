"""Negations at the leaves; unions of conjunctions; conjunctions of unions.

Every form is read from the truth tables of the connectives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, Literal, TypeAlias

from formulakern.diagrams.implicants import Cube, irredundant_cover, ordered_cubes
from formulakern.errors import FormulaSizeError
from formulakern.syntax.connectives import AND, ARGUMENTS, OR, Connective
from formulakern.syntax.logic.functions import Functions
from formulakern.syntax.logic.node import N, both, either, literal, negated

__all__ = ["Form", "clauses_of", "from_cubes", "halves", "listed_form", "nnf"]

#: "dnf" is a disjunction of conjunctions of literals, "cnf" a conjunction of disjunctions.
Form: TypeAlias = Literal["dnf", "cnf"]


class Half(Generic[N]):
    """A part of a chain as a formula of two arguments."""

    truth: bool | None = None

    def __init__(self, connective: Connective, left: N | Half[N], right: N | Half[N]) -> None:
        self.connective = connective
        self.arguments = (left, right)


def halves(row: Connective, arguments: Sequence[N]) -> Half[N]:
    """A chain as a balanced tree of operations with two arguments; there are two at least.

    Its depth is log₂ of its length, so that what doubles from level to level stays quadratic.
    """
    layer: list[Any] = list(arguments)
    while len(layer) > 2:
        pairs = [Half(row, *layer[k : k + 2]) for k in range(0, len(layer) - 1, 2)]
        layer = pairs + layer[2 * len(pairs) :]
    return Half(row, *layer)


def nnf(root: N) -> N:
    """The formula by and, or, and negations of leaves.

    Every node of the given formula becomes at most a few nodes that are shared where they are used
    again; a chain of exclusive ors is halved again and again.
    """
    made: dict[tuple[int, bool], N] = {}
    kept: dict[int, Half[N]] = {}  # the balanced trees, by id of the chain
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


Join: TypeAlias = Callable[[Any, list[Any]], Any]


def _signed(
    node: Any, sign: bool, kept: dict[int, Half[Any]]
) -> tuple[list[tuple[Any, bool]], Join]:
    """The formulas, with signs, of which a formula or its negation is made, and how."""
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
            kept[id(node)] = halves(row, node.arguments)
        node = kept[id(node)]
    left, right = node.arguments
    return _of_two(left, right, "".join("01"[(bit == "1") == sign] for bit in truth))


def _of_two(left: Any, right: Any, truth: str) -> tuple[list[tuple[Any, bool]], Join]:
    """``left ∘ right`` by and, or and signs; the truth table is not constant."""
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


def listed_form(root: N, form: Form, limit: int) -> N:
    """The formula as a disjunction of conjunctions (dnf), or a conjunction of disjunctions (cnf).

    Raises
    ------
    FormulaError
        If a leaf is a comparison or a choice.
    FormulaSizeError
        If a diagram passes its limits, or there are more than ``limit`` terms or clauses.
    """
    if clauses_of(root, form) is not None:
        return root
    functions: Functions[N] = Functions(f"to_{form}()", root)
    diagrams, top = functions.diagrams, functions.tops[0]
    function = top if form == "dnf" else diagrams.negation(top)
    cover = irredundant_cover(diagrams, function, function)
    if cover.n_cubes > limit:
        what, advice = ("terms", "") if form == "dnf" else ("clauses", " Or use tseitin=True.")
        raise FormulaSizeError(
            f"to_{form}() of this formula has {cover.n_cubes:,} {what}; the limit is {limit:,}. "
            f"Give a larger limit, or bring parts of the formula into this form.{advice}"
        )
    return from_cubes(root, ordered_cubes(cover), functions.letters, form)


def from_cubes(like: N, cubes: Iterable[Cube], letters: Sequence[N], form: Form) -> N:
    """The union of cubes, or for cnf its negation, a conjunction of clauses."""
    parts = []
    for true, false in cubes:
        used = true | false
        places = [k for k in range(used.bit_length()) if used >> k & 1]
        positive = true if form == "dnf" else false
        literals = [letters[k] if positive >> k & 1 else negated(letters[k]) for k in places]
        parts.append((both if form == "dnf" else either)(like, literals))
    return (either if form == "dnf" else both)(like, parts)


def clauses_of(formula: N, form: Form) -> list[list[tuple[N, bool]]] | None:
    """The terms or clauses as lists of leaves with signs; None if the formula is not of the form.

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
