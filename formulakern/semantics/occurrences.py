"""The occurrences of subformulas, and which of them share no variable with the rest.

A *module* is a subformula whose variables occur nowhere else in the formula.  Modules are counted
by themselves.  Only where variables repeat is a decision diagram needed, and in it a module is a
single atom (a disjoint-support decomposition).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from formulakern.syntax.choice import Choice
from formulakern.syntax.formula import Formula, Variable

__all__ = ["ATOMS", "Occurrence", "groups", "occurrences"]

#: Leaves that mean the same wherever they are equal.
ATOMS = (Variable, Choice)


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
    """All occurrences of subformulas, operands before what uses them, with modules marked.

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
    """Every place once (shared objects as often as they stand in the text)."""
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
    """Positions of the sets, grouped so that sets with a common element are together."""
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
