"""The ``bound`` reading: equal names are the same variable; different names may coincide.

The kernel depends on the Boolean function alone; variables on which the function does not depend
are dropped.  Where a formula names its variables once, joint counts combine as in the free
reading; where names repeat, the region is turned into a decision diagram and counted on pairs of
its nodes (THEORY §2): splitting on a variable,

    g(F, G) = n11·g(F₁, G₁) + n10·g(F₁, G₀) + n01·g(F₀, G₁) + n00·g(F₀, G₀).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from formulakern.errors import FormulaSizeError
from formulakern.program.builder import Builder
from formulakern.program.node import Program
from formulakern.semantics.choices import own_names
from formulakern.semantics.diagram import Diagrams
from formulakern.semantics.domains import domain_positions, one_domain_each
from formulakern.semantics.regions import ATOMS, Occurrence, groups, occurrences
from formulakern.semantics.steps import (
    Binary,
    ChoiceStep,
    ConstantStep,
    Leaf,
    Negation,
    Step,
    emit,
    fuse,
    negate,
)
from formulakern.syntax.choice import Choice
from formulakern.syntax.connectives import Connective
from formulakern.syntax.formula import Constant, Formula, Variable

__all__ = ["MAX_PAIRS", "lower"]

#: Counting on more pairs of diagram nodes than this, in all, is refused.
MAX_PAIRS = 400_000


def lower(formula: Formula) -> Program:
    """The program of a formula in the bound reading.

    Raises
    ------
    FormulaError
        If one name has two domains.
    FormulaSizeError
        If a diagram, or the counting on it, passes a stated size.

    Notes
    -----
    Linear where names do not repeat; polynomial in the size of the diagrams elsewhere.
    """
    own_names(formula)
    one_domain_each(formula)
    domains = domain_positions(formula)
    steps: list[Step] = []
    root = _Reader(formula, domains, steps).read()
    builder = Builder(domains)
    output, dimension = emit(builder, steps, root, ("11", "**"))
    return builder.finish(output, dimension, _degrees(steps, root, len(domains)))


def _degrees(steps: Sequence[Step], root: int, n_domains: int) -> list[int]:
    """For each domain the number of variables that the function depends on."""
    needed = {root}
    degrees = [0] * n_domains
    for position in range(root, -1, -1):
        if position not in needed:
            continue
        step = steps[position]
        if isinstance(step, Leaf):
            degrees[step.domain] += 1
        elif isinstance(step, Negation):
            needed.add(step.argument)
        elif isinstance(step, Binary):
            needed.update((step.left, step.right))
        elif isinstance(step, DiagramStep):
            needed.update(step.atoms)
        elif isinstance(step, ChoiceStep):
            needed.add(step.argument)
    return degrees


class _Reader:
    """Turns the places of a formula into steps, modules first."""

    def __init__(self, formula: Formula, domains: dict[str | None, int], steps: list[Step]) -> None:
        self.places = occurrences(formula)
        self.domains = domains
        self.diagrams = Diagrams()  # one for all regions: its limits are limits of the formula
        self.steps = steps
        self.step_of: dict[int, int] = {}  # module place → position of its step

    def read(self) -> int:
        """Append the steps; returns the position of the whole formula."""
        for position, place in enumerate(self.places):
            if place.module:
                self.step_of[position] = self._module(place)
        return self.step_of[len(self.places) - 1]

    def _append(self, step: Step) -> int:
        self.steps.append(step)
        return len(self.steps) - 1

    def _module(self, place: Occurrence) -> int:
        row = place.connective
        if row is None:
            return self._leaf(place.formula)
        if row.arity == 1:
            return negate(self.steps, self.step_of[place.children[0]])
        if row.chain != "flat":  # not associative: the arguments keep their places
            if all(self.places[child].module for child in place.children):
                left, right = (self.step_of[child] for child in place.children)
                return fuse(self.steps, row, left, right)
            return self._region(row, list(place.children))
        parts = [self.step_of[child] for child in place.children if self.places[child].module]
        tangled = [child for child in place.children if not self.places[child].module]
        for group in groups([self._open_atoms(child) for child in tangled]):
            parts.append(self._region(row, [tangled[i] for i in group]))
        return self._chain(row, parts)

    def _leaf(self, leaf: Formula) -> int:
        if isinstance(leaf, Constant):
            return self._append(ConstantStep(leaf.value))
        if isinstance(leaf, Choice):
            inside = _Reader(leaf.formula, self.domains, self.steps)  # at most MAX_NESTING deep
            return self._append(ChoiceStep(leaf, inside.read()))
        assert isinstance(leaf, Variable)
        return self._append(Leaf(self.domains[leaf.domain]))

    def _chain(self, row: Connective, parts: list[int]) -> int:
        result = parts[0]
        for part in parts[1:]:
            result = fuse(self.steps, row, result, part)
        return result

    def _inside(self, root: int) -> list[int]:
        """Places of a region from ``root`` down to the modules (left out), operands first."""
        order: list[int] = []
        pending = [root]
        while pending:
            position = pending.pop()
            if not self.places[position].module:
                order.append(position)
                pending.extend(self.places[position].children)
        return order[::-1]

    def _open_atoms(self, root: int) -> set[Formula]:
        """The atoms of a region that also occur outside of the subformula at ``root``."""
        formulas = (self.places[position].formula for position in self._inside(root))
        return {formula for formula in formulas if isinstance(formula, ATOMS)}

    def _region(self, row: Connective, roots: list[int]) -> int:
        """A decision diagram for ``row`` over places that share variables."""
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
            inner = place.connective
            if inner is None:
                if place.formula not in level_of:
                    level_of[place.formula] = len(atoms)
                    atoms.append(self._leaf(place.formula))
                return diagrams.variable(level_of[place.formula])
            if inner.arity == 1:
                return diagrams.negation(functions[place.children[0]])
            if inner.chain != "flat":
                left, right = (
                    atom(self.step_of[child]) if self.places[child].module else functions[child]
                    for child in place.children
                )
                return diagrams.apply(inner, left, right)
            values = [functions[child] for child in place.children if child in functions]
            modules = [self.step_of[c] for c in place.children if self.places[c].module]
            if modules:  # together they are one atom
                values.append(atom(self._chain(inner, modules)))
            return diagrams.combine(inner, values)

        for root in roots:
            for position in self._inside(root):
                functions[position] = function(self.places[position])
        tops = [functions[root] for root in roots]
        combine = diagrams.combine(row, tops) if row.chain == "flat" else None
        top = diagrams.apply(row, *tops) if combine is None else combine
        if top < 2:
            return self._append(ConstantStep(bool(top)))
        support = diagrams.support(top)
        new_level = {old: new for new, old in enumerate(support)}
        top = diagrams.relevel(top, new_level.__getitem__)
        return self._append(DiagramStep(diagrams, top, tuple(atoms[old] for old in support)))


@dataclass(frozen=True, eq=False)
class DiagramStep:
    """A function of earlier steps (its atoms), none of which share a variable."""

    diagrams: Diagrams
    top: int
    atoms: tuple[int, ...]

    def plan(self, cell: str) -> _PairPlan:
        """The counting of one cell: the recursion on pairs of diagram nodes."""
        side = {"1": self.top, "0": self.diagrams.negation(self.top), "*": 1}
        return _PairPlan(self, (side[cell[0]], side[cell[1]]))


Pair = tuple[int, int]


@dataclass(frozen=True)
class _Term:
    """count(atom, cell) · g(pair) · the totals of the atoms that lie between and are not tested."""

    level: int
    cell: str
    pair: Pair
    skipped: range


class _PairPlan:
    """g(F, G) for one pair of functions, unrolled over the pairs that it reaches."""

    def __init__(self, step: DiagramStep, root: Pair) -> None:
        self.step = step
        self.root = root
        self.terms: dict[Pair, list[_Term]] = {}
        pending = [root]
        while pending:
            pair = pending.pop()
            if pair in self.terms or pair == (1, 1):
                continue
            step.diagrams.pairs += 1
            if step.diagrams.pairs > MAX_PAIRS:
                raise FormulaSizeError(
                    f"counting this formula needs more than {MAX_PAIRS:,} pairs of diagram nodes. "
                    "Repeat fewer names, split the formula, or use variables='free'."
                )
            self.terms[pair] = self._split(pair)
            pending.extend(term.pair for term in self.terms[pair])

    def _level(self, pair: Pair) -> int:
        level = self.step.diagrams.level
        return min(level[pair[0]], level[pair[1]], len(self.step.atoms))

    def _split(self, pair: Pair) -> list[_Term]:
        diagrams = self.step.diagrams
        level = self._level(pair)
        sides = []
        for function in pair:
            tested = diagrams.level[function] == level
            high, low = diagrams.cofactors(function, level)
            sides.append([("1", high), ("0", low)] if tested else [("*", function)])
        terms = []
        for x, f in sides[0]:
            for z, g in sides[1]:
                if f and g:
                    skipped = range(level + 1, self._level((f, g)))
                    terms.append(_Term(level, x + z, (f, g), skipped))
        return terms

    def reads(self) -> Iterator[tuple[int, str]]:
        """The counts of the atoms that occur in a term."""
        atoms = self.step.atoms
        ranges = {self._skipped_at_root()}
        for terms in self.terms.values():
            for term in terms:
                yield atoms[term.level], term.cell
                ranges.add(term.skipped)
        longest: dict[int, int] = {}
        for skipped in ranges:
            longest[skipped.start] = max(longest.get(skipped.start, 0), skipped.stop)
        seen = 0
        for start in sorted(longest):
            for level in range(max(start, seen), longest[start]):
                yield atoms[level], "**"
            seen = max(seen, longest[start])

    def emit(self, builder: Builder, values: dict[tuple[int, str], int]) -> int:
        """Emit g for every pair, deepest level first."""
        atoms = self.step.atoms
        g = {(1, 1): builder.constant(1)}
        known: dict[int, list[int]] = {}  # by start: products of more and more totals from there

        def totals(skipped: range) -> int:
            products = known.setdefault(skipped.start, [builder.constant(1)])
            while len(products) <= len(skipped):
                total = values[atoms[skipped.start + len(products) - 1], "**"]
                products.append(builder.product((products[-1], total)))
            return products[len(skipped)]

        for pair in sorted(self.terms, key=self._level, reverse=True):
            g[pair] = builder.sum(
                builder.product(
                    (values[atoms[term.level], term.cell], g[term.pair], totals(term.skipped))
                )
                for term in self.terms[pair]
            )
        return builder.product((g[self.root], totals(self._skipped_at_root())))

    def _skipped_at_root(self) -> range:
        return range(self._level(self.root))
