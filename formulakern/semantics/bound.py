"""The reading ``bound``: equal names are the same variable, and different names may coincide.

The kernel depends on the Boolean function alone; variables on which the function does not depend
are not substituted.  A *module* is a subformula whose variables occur nowhere else in the formula:
modules combine as in the reading ``free``.  If names repeat, the subformulas that share them become
a decision diagram over modules (a disjoint-support decomposition), and pairs of its nodes are
counted (:mod:`formulakern.semantics.pairs`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from formulakern.program.program import Builder, Program
from formulakern.semantics.free import ConstantStep, Reference, Step, Steps, Value
from formulakern.semantics.pairs import HARD, Branches, reach, sum_up
from formulakern.syntax.connectives import Connective
from formulakern.syntax.diagrams import Diagrams
from formulakern.syntax.formula import Formula, Variable
from formulakern.syntax.leaves import Choice

__all__ = ["MAX_PAIRS", "lower"]

#: Counting on more pairs of diagram nodes than this, in all, is refused.
MAX_PAIRS = 400_000
#: Leaves that mean the same if they are equal.
ATOMS = (Variable, Choice)


def lower(formula: Formula, domains: dict[str | None, int]) -> Program:
    """Return the program of a formula in the reading ``bound``.

    Linear if names do not repeat; polynomial in the size of the diagrams elsewhere.
    """
    steps = Steps(domains)
    return steps.program(_Reader(formula, steps).read())


@dataclass(slots=True)
class _Occurrence:
    """One occurrence of a subformula, with the positions of the occurrences of its operands."""

    formula: Formula
    children: tuple[int, ...]
    module: bool = False


def _occurrences(formula: Formula) -> list[_Occurrence]:
    """Return all occurrences of subformulas, operands before what uses them, with modules marked.

    Linear.  An occurrence covers an interval of leaves; it is a module if the first and the last
    occurrence of every variable inside are in that interval.
    """
    places: list[_Occurrence] = []
    stack: list[tuple[Formula, list[int]]] = [(formula, [])]
    while stack:  # shared objects are as many places as they have in the text
        node, done = stack[-1]
        if len(done) < len(node.arguments):
            stack.append((node.arguments[len(done)], []))
            continue
        stack.pop()
        places.append(_Occurrence(node, tuple(done)))
        if stack:
            stack[-1][1].append(len(places) - 1)
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


def _groups(sets: Sequence[Collection[Formula]]) -> list[list[int]]:
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


class _Reader:
    """Turns the occurrences in a formula into steps, modules first."""

    def __init__(self, formula: Formula, steps: Steps) -> None:
        self.places = _occurrences(formula)
        self.diagrams = Diagrams(HARD)  # one for all: its limits are limits of the formula
        self.steps = steps
        self.step_of: dict[int, Reference] = {}  # of every module

    def read(self) -> Reference:
        """Append the steps; return the whole formula's."""
        for position, place in enumerate(self.places):
            if place.module:
                self.step_of[position] = self._module(place)
        return self.step_of[len(self.places) - 1]

    def _module(self, place: _Occurrence) -> Reference:
        row = place.formula.connective
        if row is None:
            return self._leaf(place.formula)
        if row.arity == 1:
            return ~self.step_of[place.children[0]]
        sharing = [child for child in place.children if not self.places[child].module]
        if sharing and row.chain != "flat":  # not associative: the arguments keep their places
            return self._diagram(row, list(place.children))
        parts = [self.step_of[child] for child in place.children if self.places[child].module]
        atoms = [
            {f for at in self._inside(child) if isinstance(f := self.places[at].formula, ATOMS)}
            for child in sharing
        ]
        parts += [self._diagram(row, [sharing[i] for i in group]) for group in _groups(atoms)]
        return self.steps.chain(row, parts, self.steps.fuse)

    def _leaf(self, leaf: Formula) -> Reference:
        return self.steps.leaf(leaf, lambda inside: _Reader(inside, self.steps).read())

    def _inside(self, root: int) -> list[int]:
        """Return occurrences from ``root`` down to the modules, which are left out."""
        order: list[int] = []
        pending = [root]
        while pending:
            position = pending.pop()
            if not self.places[position].module:
                order.append(position)
                pending.extend(self.places[position].children)
        return order[::-1]

    def _diagram(self, row: Connective, roots: list[int]) -> Reference:
        """Return a decision diagram for ``row`` applied to occurrences that share variables."""
        diagrams = self.diagrams
        atoms: list[Reference] = []  # by level
        level_of: dict[Formula, int] = {}
        functions: dict[int, int] = {}

        def atom(step: Reference) -> int:
            constant = self.steps.constant(step)
            if constant is not None:
                return int(constant)
            atoms.append(step)
            return diagrams.variable(len(atoms) - 1)

        def function(place: _Occurrence) -> int:
            inner = place.formula.connective
            if inner is None:
                if place.formula not in level_of:
                    level_of[place.formula] = len(atoms)
                    atoms.append(self._leaf(place.formula))
                return diagrams.variable(level_of[place.formula])
            if inner.chain != "flat":
                values = [
                    functions[child] if child in functions else atom(self.step_of[child])
                    for child in place.children
                ]
            else:
                values = [functions[child] for child in place.children if child in functions]
                modules = [self.step_of[c] for c in place.children if self.places[c].module]
                if modules:  # together they are one atom
                    values.append(atom(self.steps.chain(inner, modules, self.steps.fuse)))
            return diagrams.connect(inner.truth, values)

        for root in roots:
            for position in self._inside(root):
                functions[position] = function(self.places[position])
        top = diagrams.connect(row.truth, [functions[root] for root in roots])
        if top < 2:
            return self.steps.add(ConstantStep(bool(top)))
        top, support = diagrams.compact(top)
        return self.steps.add(DiagramStep(diagrams, top, tuple(atoms[old] for old in support)))


#: The functions that are true in x and in z.
Pair = tuple[int, int]
#: What a pair of cofactors is multiplied by: the level and the cell of the atom that was split on,
#: and the levels in between, whose atoms are not tested and may be anything.
Term = tuple[int, str, range]


class DiagramStep(Step):
    """A function of earlier steps (its arguments), none of which share a variable."""

    def __init__(self, diagrams: Diagrams, top: int, arguments: tuple[Reference, ...]) -> None:
        self.diagrams = diagrams
        self.top = top
        self.arguments = arguments
        self._reached: dict[str, tuple[Pair, dict[Pair, Branches[Term, Pair]]]] = {}

    def reads(self, cell: str) -> Iterator[tuple[Reference, str]]:
        """Yield the cells of the arguments that the recursion splits on or passes over."""
        side = {"1": self.top, "0": self.diagrams.negation(self.top), "*": 1}
        root = side[cell[0]], side[cell[1]]
        before = self.diagrams.pairs
        branches = reach(
            root,
            self._split,
            MAX_PAIRS - before,
            f"counting this formula needs more than {MAX_PAIRS:,} pairs of diagram nodes. "
            "Repeat fewer names, split the formula, or use variables='free'.",
            self.diagrams,
        )
        self.diagrams.pairs = before + len(branches)
        self._reached[cell] = root, branches
        skips = self._level(root) > 0
        for level, atom_cell, skipped in (term for found in branches.values() for term, _ in found):
            yield self.arguments[level], atom_cell
            skips = skips or bool(skipped)
        if skips:
            yield from ((argument, "**") for argument in self.arguments)

    def emit(self, cell: str, builder: Builder, value: Value) -> int:
        """Emit g for every pair, deepest level first."""
        one = builder.constant(1)
        known: dict[int, list[int]] = {}  # by start: products of more and more totals from there

        def totals(skipped: range) -> int:
            products = known.setdefault(skipped.start, [one])
            while len(products) <= len(skipped):
                total = value(self.arguments[skipped.start + len(products) - 1], "**")
                products.append(builder.product((products[-1], total)))
            return products[len(skipped)]

        root, branches = self._reached[cell]
        g = sum_up(
            builder,
            branches,
            self._level,
            lambda term: (value(self.arguments[term[0]], term[1]), totals(term[2])),
            lambda pair: one if pair == (1, 1) else None,
        )
        return builder.product((g[root], totals(range(self._level(root)))))

    def _level(self, pair: Pair) -> int:
        level = self.diagrams.level
        return min(level[pair[0]], level[pair[1]], len(self.arguments))

    def _split(self, pair: Pair) -> list[tuple[Term, Pair]]:
        if pair == (1, 1):
            return []
        diagrams = self.diagrams
        level = self._level(pair)
        sides = [
            zip("10", diagrams.cofactors(function, level), strict=True)
            if diagrams.level[function] == level
            else [("*", function)]
            for function in pair
        ]
        return [
            ((level, x + z, range(level + 1, self._level((f, g)))), (f, g))
            for (x, f), (z, g) in product(*sides)
            if f and g
        ]
