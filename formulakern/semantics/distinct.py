"""The reading ``distinct``: different names are different columns, and equal features count once.

All-different (injective) substitutions are counted by the recursion on pairs of functions
(:mod:`formulakern.semantics.pairs`), each joint count reduced by the columns of its cell that are
in use already.  Permutations of the variables that leave the function unchanged act freely on these
substitutions and give the same feature, so that dividing by the number of such symmetries, exactly,
counts every feature once.  The kernels are those of Polato, Lauriola & Aiolli (2018),
doi:10.3390/e20060444: ``a & b`` has C(s, 2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product

from formulakern.errors import FormulaError, FormulaSizeError
from formulakern.program.program import Builder, Program
from formulakern.semantics.free import ChoiceTerms, opposite
from formulakern.semantics.pairs import HARD, reach, sum_up
from formulakern.syntax.diagrams import Diagrams, models_with_each
from formulakern.syntax.formula import Constant, Formula, diagrams_of, evaluate
from formulakern.syntax.leaves import Choice

__all__ = ["MAX_STATES", "MAX_VARIABLES", "lower"]

#: Counting with more states (pairs of diagram nodes, columns in use per cell) than this is refused.
MAX_STATES = 300_000

#: The search for symmetries is refused when it passes this many comparisons of variables.
MAX_SEARCH_STEPS = 10_000_000

#: A formula with more different names is refused before anything is counted.
MAX_VARIABLES = 4_000

#: Columns in use, per domain, in the cells 11, 10, 01, 00; or, once only one row is still read,
#: those that are true and false in that row.
Used = tuple[tuple[int, ...], ...]
#: What remains to be counted: a function of x and one of z, and the columns in use.
State = tuple[int, int, Used]
#: What a state is multiplied by: columns of a domain in a cell, less those in use.
Term = tuple[int, str, int]


def lower(formula: Formula, domains: dict[str | None, int]) -> Program:
    """Return the program of a formula in the reading ``distinct``.

    The number of states grows with the third power of the number of variables in the worst case,
    times the pairs of diagram nodes.
    """
    builder = Builder(domains)
    if any(isinstance(leaf, Choice) for leaf in formula.leaves):
        counts = _counts(builder, formula, domains, ("11", "**"))
        return builder.finish(counts["11"], counts["**"], None)
    space = _Space(formula, domains, builder)
    return builder.finish(space.emit("11"), space.emit("**"), space.degrees, space.symmetries)


def _counts(
    builder: Builder, formula: Formula, domains: dict[str | None, int], cells: Iterable[str]
) -> dict[str, int]:
    """Return cells of the feature space of a formula; choices at most MAX_NESTING deep.

    A choice is alone or negated: the columns that it uses up are not single columns, so "different
    from them" has no meaning.
    """
    atoms = [leaf for leaf in formula.leaves if not isinstance(leaf, Constant)]
    choice = next((leaf for leaf in atoms if isinstance(leaf, Choice)), None)
    if choice is None:
        space = _Space(formula, domains, builder)
        return {cell: builder.quotient(space.emit(cell), space.symmetries) for cell in cells}
    if len(atoms) > 1:
        raise FormulaError(
            f"in the reading 'distinct' a choice stands alone or negated; {str(formula)!r} has "
            "something beside it. Use variables='bound', or multiply two kernels: k1 * k2."
        )
    atom: Formula = choice
    when_true, when_false = (evaluate(formula, {atom: value}.get) for value in (True, False))
    if when_true == when_false:
        return {cell: builder.constant(int("01"[not when_true] not in cell)) for cell in cells}
    terms = {cell: ChoiceTerms(choice, opposite(cell) if when_false else cell) for cell in cells}
    needed = dict.fromkeys(read for cell in terms for read in terms[cell].reads())
    counts = _counts(builder, choice.formula, domains, needed)
    return {cell: terms[cell].emit(builder, counts.__getitem__) for cell in terms}


class _Space:
    """The all-different substitutions of a formula without choices, counted in one program."""

    def __init__(self, formula: Formula, domains: dict[str | None, int], builder: Builder) -> None:
        self.builder = builder
        names = formula.variables
        if len(names) > MAX_VARIABLES:
            raise FormulaSizeError(
                f"the formula has {len(names):,} different names; in the reading 'distinct' at "
                f"most {MAX_VARIABLES:,} are accepted. Use fewer variables, or variables='bound'."
            )
        self.diagrams, _, (top,) = diagrams_of("a kernel", formula, advice=HARD)
        self.top, support = self.diagrams.compact(top)
        self.domain_of = [domains[names[old].domain] for old in support]
        self.degrees = [self.domain_of.count(g) for g in range(len(domains))]
        self.symmetries = _Symmetries(self.diagrams, self.top, self.domain_of).order()

    def emit(self, cell: str) -> int:
        """Return the position of the number of substitutions in a cell."""
        side = {"1": self.top, "0": self.diagrams.negation(self.top), "*": 1}
        first, second = side[cell[0]], side[cell[1]]
        if not first or not second:
            return self.builder.constant(0)
        root: State = (first, second, tuple((0, 0, 0, 0) for _ in self.degrees))
        branches = reach(
            root,
            self._split,
            MAX_STATES,
            f"counting different columns for this formula needs more than {MAX_STATES:,} "
            "states. Use fewer variables, or variables='bound'.",
            self.diagrams,
            self.domain_of,
        )
        values = sum_up(
            self.builder,
            branches,
            self._level,
            lambda term: (self.builder.count(*term),),
            lambda state: self._rest(state[2]) if state[:2] == (1, 1) else None,
        )
        return values[root]

    def _level(self, state: State) -> int:
        levels = self.diagrams.level
        return min(levels[state[0]], levels[state[1]])

    def _split(self, state: State) -> list[tuple[Term, State]]:
        f, g, used = state
        if f == g == 1:
            return []
        level = self._level(state)
        domain = self.domain_of[level]
        x, z = (
            [("*", 1)]
            if h == 1
            else list(zip("10", self.diagrams.cofactors(h, level), strict=True))
            for h in (f, g)
        )
        branches = []
        for index, ((bit_x, new_f), (bit_z, new_g)) in enumerate(product(x, z)):
            if new_f and new_g:
                cells = list(used[domain])
                cells[index] += 1
                after = (*used[:domain], tuple(cells), *used[domain + 1 :])
                if f != 1 and g != 1 and (new_f == 1) != (new_g == 1):
                    after = _marginal(after, keep_x=new_g == 1)
                term = (domain, bit_x + bit_z, used[domain][index])
                branches.append((term, (new_f, new_g, after)))
        return branches

    def _rest(self, used: Used) -> int:
        """Return the untested variables take any of the columns that are left."""
        return self.builder.product(
            self.builder.count(domain, "**", taken)
            for domain, degree in enumerate(self.degrees)
            for taken in range(sum(used[domain]), degree)
        )


def _marginal(used: Used, keep_x: bool) -> Used:
    """Return the used columns by their value in the one row that is still read."""
    return tuple((a + b, c + d) if keep_x else (a + c, b + d) for a, b, c, d in used)


# -- symmetries


class _Symmetries:
    """The permutations of its variables 0 … k−1, all tested, that leave a function unchanged.

    Their number is the product of orbit lengths along a chain of stabilisers: to how many variables
    can the first one be moved, then the second one with the first kept fixed, and so on.  A
    backtracking search compares model counts of cofactors first and whole diagrams last; exchanging
    two variables of one class (domain) is tried before anything else, and settles most formulas.
    """

    def __init__(self, diagrams: Diagrams, top: int, classes: list[int]) -> None:
        self.diagrams, self.top, self.classes = diagrams, top, classes
        self.n = len(classes)
        self.steps = 0
        self.single = models_with_each(diagrams, top, self.n)
        self._pairs: dict[int, list[int]] = {}
        #: For every variable the smallest one that it can be exchanged with.
        self.exchangeable = list(range(self.n))
        for j in range(self.n):
            for i in range(j):
                if self.exchangeable[i] == i and self._compatible({}, i, j) and self._swaps(i, j):
                    self.exchangeable[j] = i
                    break

    def order(self) -> int:
        """Return their number."""
        order = 1
        for first in range(self.n):
            fixed = {i: i for i in range(first)}
            goals = self.exchangeable[first + 1 :]  # exchangeable ones: all, or none
            order *= 1 + sum(
                times
                for kind, times in Counter(goals).items()
                if self._can_move(fixed, first, first + 1 + goals.index(kind))
            )
        return order

    def _swaps(self, i: int, j: int) -> bool:
        """Return whether the function stays the same when two variables are exchanged."""
        one, other = (
            self.diagrams.restrict(self.top, {i: value, j: not value}) for value in (True, False)
        )
        return one == other

    def _both(self, i: int) -> list[int]:
        """Return for every variable the number of models in which it and variable i are true."""
        if i not in self._pairs:
            cofactor = self.diagrams.restrict(self.top, {i: True})
            self._pairs[i] = models_with_each(self.diagrams, cofactor, self.n)
        return self._pairs[i]

    def _can_move(self, fixed: dict[int, int], first: int, to: int) -> bool:
        """Return whether some symmetry keeps the fixed variables and moves one to another."""
        if self.exchangeable[first] == self.exchangeable[to]:
            return True
        if not self._compatible(fixed, first, to):
            return False
        trail = {**fixed, first: to}
        variables = [i for i in range(self.n) if i not in trail]
        untried: list[Iterator[int]] = []  # one for every depth
        while True:
            if len(untried) < len(variables):
                untried.append(iter(self._candidates(trail, variables[len(untried)])))
            elif self._keeps(trail):
                return True
            while untried:
                variable = variables[len(untried) - 1]
                trail.pop(variable, None)
                image = next(untried[-1], None)
                if image is not None:
                    trail[variable] = image
                    break
                untried.pop()
            else:
                return False

    def _candidates(self, trail: dict[int, int], variable: int) -> list[int]:
        """Return images to try: the variable itself, then one of every class of exchangeables."""
        taken, seen = set(trail.values()), set[int]()
        found = []
        for to in sorted(range(self.n), key=lambda j: (j != variable, j)):
            kind = self.exchangeable[to]
            if to not in taken and kind not in seen and self._compatible(trail, variable, to):
                seen.add(kind)
                found.append(to)
        return found

    def _compatible(self, trail: dict[int, int], variable: int, to: int) -> bool:
        self.steps += 1 + len(trail)
        if self.steps > MAX_SEARCH_STEPS:
            raise FormulaSizeError(
                f"counting the symmetries of this formula takes more than {MAX_SEARCH_STEPS:,} "
                "comparisons. Use fewer variables, or variables='bound'."
            )
        if self.classes[variable] != self.classes[to] or self.single[variable] != self.single[to]:
            return False
        if to in trail.values():
            return False
        if not trail:
            return True
        before, after = self._both(variable), self._both(to)
        return all(before[other] == after[image] for other, image in trail.items())

    def _keeps(self, image: dict[int, int]) -> bool:
        """Return whether renaming the variables gives the same function."""
        d = self.diagrams

        def make(level: int, high: int, low: int) -> int:
            test = d.variable(image.get(level, level))
            return d.either([d.both([test, high]), d.both([d.negation(test), low])])

        return d.rebuild(self.top, make) == self.top
