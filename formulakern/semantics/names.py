"""The names of a formula: the domains of its variables, checks, and where each name occurs.

A *module* is a subformula whose variables occur nowhere else in the formula.  Modules are counted
by themselves.  Only variables that repeat need a decision diagram, and in it a module is a single
atom (a disjoint-support decomposition).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from formulakern.errors import FormulaError, FormulaSizeError
from formulakern.syntax.choice import Choice
from formulakern.syntax.formula import Constant, Formula, Variable

__all__ = [
    "ATOMS",
    "HARD",
    "MAX_LEAVES",
    "Occurrence",
    "check_names",
    "domain_positions",
    "groups",
    "occurrences",
]

#: Leaves that mean the same if they are equal.
ATOMS = (Variable, Choice)

#: A formula with more leaves is refused by the readings in which names matter.
MAX_LEAVES = 1_000_000

#: What to do where a diagram passes its limits.
HARD = (
    "Counting with repeated names is hard in general: repeat fewer names, split the formula, or "
    "use variables='free'."
)


def domain_positions(formula: Formula) -> dict[str | None, int]:
    """Return domains in order of first appearance, each with its position.

    A formula without variables is given the domain of all columns.

    Raises
    ------
    FormulaError
        If a leaf is neither a variable nor a constant (a rule is not a template).
    """
    for leaf in formula.leaves:
        if not isinstance(leaf, Variable | Choice | Constant):
            raise FormulaError(
                f"the leaf {str(leaf)!r} is a comparison; a kernel's formula is a template over "
                "variables. Evaluate rules with fk.rule(...), or write a variable instead."
            )
    found = dict.fromkeys(variable.domain for variable in formula.variables) or {None: None}
    return {domain: position for position, domain in enumerate(found)}


def check_names(formula: Formula) -> None:
    """Refuse what has no meaning, or too much of it, where equal names mean the same variable.

    Raises
    ------
    FormulaError
        If a name stands inside a choice and also outside of it, or has two domains.  (Equal
        choices may share names: they are the same choice.)
    FormulaSizeError
        If the formula has more than ``MAX_LEAVES`` leaves.
    """
    owner: dict[str, Formula | None] = {}
    pending: list[tuple[Formula, Choice | None]] = [(formula, None)]
    seen: set[Choice] = set()
    while pending:
        part, inside = pending.pop()
        for leaf in part.leaves:
            if isinstance(leaf, Variable):
                other = owner.setdefault(leaf.name, inside)
                if other is not inside and other != inside:
                    shown = other if inside is None else inside
                    raise FormulaError(
                        f"the name {leaf.name!r} stands inside {str(shown)!r} and outside of it; a "
                        "choice's names are its own, as behind a quantifier. "
                        "Rename one of them, or use variables='free'."
                    )
            elif isinstance(leaf, Choice) and leaf not in seen:
                seen.add(leaf)
                pending.append((leaf.formula, leaf))
    domain_of: dict[str, str | None] = {}
    for variable in formula.variables:
        domain = domain_of.setdefault(variable.name, variable.domain)
        if domain != variable.domain:
            names = [repr(d) if d else "all columns" for d in (domain, variable.domain)]
            raise FormulaError(
                f"variable {variable.name!r} has two domains, {names[0]} and {names[1]}; "
                "equal names are the same variable in this reading. "
                "Rename one of them, or use variables='free'."
            )
    if formula.n_leaves > MAX_LEAVES:
        raise FormulaSizeError(
            f"the formula has {formula.n_leaves:,} leaves; at most {MAX_LEAVES:,} are accepted "
            "where equal names mean one variable. Use variables='free', or a smaller formula."
        )


@dataclass(slots=True)
class Occurrence:
    """One occurrence of a subformula.

    Parameters
    ----------
    formula : Formula
    children : tuple of int
        The occurrences of its operands, by their positions in the list of all occurrences.
    module : bool
        Whether no variable inside occurs outside.
    """

    formula: Formula
    children: tuple[int, ...]
    module: bool = False


def occurrences(formula: Formula) -> list[Occurrence]:
    """Return all occurrences of subformulas, operands before what uses them, with modules marked.

    Notes
    -----
    Linear.  An occurrence covers an interval of leaves; it is a module when the first and the last
    occurrence of every variable inside lie in that interval.
    """
    places = _unfold(formula)
    leaves = list(enumerate(place.formula for place in places if not place.children))
    first = {leaf: index for index, leaf in reversed(leaves)}
    last = {leaf: index for index, leaf in leaves}
    bounds: list[tuple[int, int, int, int]] = []  # leaves covered, and leaves that must be
    next_leaf = 0
    for place in places:
        if place.children:
            inside = [bounds[child] for child in place.children]
            begin, end = inside[0][0], inside[-1][1]
            low = min(entry[2] for entry in inside)
            high = max(entry[3] for entry in inside)
        else:
            begin = end = low = high = next_leaf
            if isinstance(place.formula, ATOMS):
                low, high = first[place.formula], last[place.formula]
            next_leaf += 1
        bounds.append((begin, end, low, high))
        place.module = begin <= low and high <= end
    return places


def _unfold(formula: Formula) -> list[Occurrence]:
    """Return every place once (shared objects as often as they stand in the text)."""
    places: list[Occurrence] = []
    stack: list[tuple[Formula, list[int]]] = [(formula, [])]
    while stack:
        node, done = stack[-1]
        if len(done) < len(node.arguments):
            stack.append((node.arguments[len(done)], []))
            continue
        stack.pop()
        places.append(Occurrence(node, tuple(done)))
        if stack:
            stack[-1][1].append(len(places) - 1)
    return places


def groups(sets: Sequence[set[Formula]]) -> list[list[int]]:
    """Return the positions of the sets, grouped so that sets with a common element are together."""
    parent = list(range(len(sets)))

    def find(position: int) -> int:
        while parent[position] != position:
            parent[position] = parent[parent[position]]
            position = parent[position]
        return position

    owner: dict[Formula, int] = {}
    for position, elements in enumerate(sets):
        for element in elements:
            parent[find(position)] = find(owner.setdefault(element, position))
    grouped: dict[int, list[int]] = {}
    for position in range(len(sets)):
        grouped.setdefault(find(position), []).append(position)
    return list(grouped.values())
