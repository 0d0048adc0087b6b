"""The reading ``bound``: equal names are the same variable, and different names may coincide.

The kernel depends on the Boolean function alone; variables on which the function does not depend
are not substituted.  Where a formula names its variables once, joint counts combine as in the
reading ``free``.  Where names repeat, the subformulas that share them become a decision diagram,
whose pairs of nodes are counted (:mod:`formulakern.semantics.pairs`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from formulakern.program.program import Builder, Program
from formulakern.semantics.names import ATOMS, HARD, Occurrence, check_names, groups, occurrences
from formulakern.semantics.pairs import Branches, reach, sum_up
from formulakern.semantics.steps import ConstantStep, Step, Steps, Values
from formulakern.syntax.connectives import Connective
from formulakern.syntax.formula import Formula
from formulakern.syntax.logic.diagrams import Diagrams

__all__ = ["MAX_PAIRS", "lower"]

#: Counting on more pairs of diagram nodes than this, in all, is refused.
MAX_PAIRS = 400_000


def lower(formula: Formula) -> Program:
    """Return the program of a formula in the reading ``bound``.

    Raises
    ------
    FormulaError
        If one name has two domains, or stands inside a choice and outside of it.
    FormulaSizeError
        If the formula, a diagram, or the counting on it passes a stated size.

    Notes
    -----
    Linear where names do not repeat; polynomial in the size of the diagrams elsewhere.
    """
    check_names(formula)
    steps = Steps(formula)
    return steps.program(_Reader(formula, steps).read())


class _Reader:
    """Turns the occurrences in a formula into steps, modules first."""

    def __init__(self, formula: Formula, steps: Steps) -> None:
        self.places = occurrences(formula)
        self.diagrams = Diagrams(HARD)  # one for all: its limits are limits of the formula
        self.steps = steps
        self.step_of: dict[int, int] = {}  # module → position of its step

    def read(self) -> int:
        """Append the steps; returns the position of the whole formula."""
        for position, place in enumerate(self.places):
            if place.module:
                self.step_of[position] = self._module(place)
        return self.step_of[len(self.places) - 1]

    def _module(self, place: Occurrence) -> int:
        row = place.formula.connective
        if row is None:
            return self._leaf(place.formula)
        if row.arity == 1:
            return self.steps.negate(self.step_of[place.children[0]])
        sharing = [child for child in place.children if not self.places[child].module]
        if sharing and row.chain != "flat":  # not associative: the arguments keep their places
            return self._diagram(row, list(place.children))
        parts = [self.step_of[child] for child in place.children if self.places[child].module]
        for group in groups([self._shared_atoms(child) for child in sharing]):
            parts.append(self._diagram(row, [sharing[i] for i in group]))
        return self._chain(row, parts)

    def _leaf(self, leaf: Formula) -> int:
        return self.steps.leaf(leaf, lambda inside: _Reader(inside, self.steps).read())

    def _chain(self, row: Connective, parts: list[int]) -> int:
        return self.steps.chain(row, parts, self.steps.fuse)

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

    def _shared_atoms(self, root: int) -> set[Formula]:
        """Return the variables and choices inside ``root`` that also occur outside of it."""
        formulas = (self.places[position].formula for position in self._inside(root))
        return {formula for formula in formulas if isinstance(formula, ATOMS)}

    def _diagram(self, row: Connective, roots: list[int]) -> int:
        """Return a decision diagram for ``row`` applied to occurrences that share variables."""
        diagrams = self.diagrams
        atoms: list[int] = []  # steps, by level
        level_of: dict[Formula, int] = {}
        functions: dict[int, int] = {}

        def atom(step: int) -> int:
            operand = self.steps[step]
            if isinstance(operand, ConstantStep):
                return int(operand.value)
            atoms.append(step)
            return diagrams.variable(len(atoms) - 1)

        def function(place: Occurrence) -> int:
            inner = place.formula.connective
            if inner is None:
                if place.formula not in level_of:
                    level_of[place.formula] = len(atoms)
                    atoms.append(self._leaf(place.formula))
                return diagrams.variable(level_of[place.formula])
            if inner.chain == "flat":
                values = [functions[child] for child in place.children if child in functions]
                modules = [self.step_of[c] for c in place.children if self.places[c].module]
                if modules:  # together they are one atom
                    values.append(atom(self._chain(inner, modules)))
            else:
                values = [
                    atom(self.step_of[child]) if self.places[child].module else functions[child]
                    for child in place.children
                ]
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

    def __init__(self, diagrams: Diagrams, top: int, arguments: tuple[int, ...]) -> None:
        self.diagrams = diagrams
        self.top = top
        self.arguments = arguments
        self._reached: dict[str, tuple[Pair, dict[Pair, Branches[Term, Pair]]]] = {}

    def reads(self, cell: str) -> Iterator[tuple[int, str]]:
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
        ranges = {range(self._level(root))}
        for level, atom_cell, skipped in (term for found in branches.values() for term, _ in found):
            yield self.arguments[level], atom_cell
            ranges.add(skipped)
        seen = 0
        for skipped in sorted(ranges, key=lambda levels: levels.start):
            for level in range(max(skipped.start, seen), skipped.stop):
                yield self.arguments[level], "**"
            seen = max(seen, skipped.stop)

    def emit(self, cell: str, builder: Builder, values: Values) -> int:
        """Emit g for every pair, deepest level first."""
        one = builder.constant(1)
        known: dict[int, list[int]] = {}  # by start: products of more and more totals from there

        def totals(skipped: range) -> int:
            products = known.setdefault(skipped.start, [one])
            while len(products) <= len(skipped):
                total = values[self.arguments[skipped.start + len(products) - 1]]["**"]
                products.append(builder.product((products[-1], total)))
            return products[len(skipped)]

        root, branches = self._reached[cell]
        g = sum_up(
            builder,
            branches,
            self._level,
            lambda term: (values[self.arguments[term[0]]][term[1]], totals(term[2])),
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
