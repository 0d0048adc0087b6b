"""The reading ``distinct``: different names are different columns, and equal features count once.

All-different (injective) substitutions are counted by the recursion on pairs of functions
(:mod:`formulakern.semantics.pairs`), each joint count reduced by the columns of its cell that are
in use already.  Permutations of the variables that leave the function unchanged act freely on these
substitutions and give the same feature, so that dividing by the number of such symmetries, exactly,
counts every feature once.  The kernels are those of Polato, Lauriola & Aiolli (2018),
doi:10.3390/e20060444: ``a & b`` has C(s, 2).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from formulakern.errors import FormulaError, FormulaSizeError
from formulakern.program.program import Builder, Program
from formulakern.semantics.automorphisms import count_automorphisms
from formulakern.semantics.choices import ChoiceTerms
from formulakern.semantics.names import HARD, check_names, domain_positions
from formulakern.semantics.pairs import reach, sum_up
from formulakern.semantics.steps import opposite
from formulakern.syntax.choice import Choice
from formulakern.syntax.formula import Constant, Formula
from formulakern.syntax.logic.forms import diagrams_of
from formulakern.syntax.traversal import evaluate

__all__ = ["MAX_STATES", "MAX_VARIABLES", "lower"]

#: Counting with more states (pairs of diagram nodes, columns in use per cell) than this is refused.
MAX_STATES = 300_000

#: A formula with more different names is refused before anything is counted.
MAX_VARIABLES = 4_000

#: Columns in use, per domain, in the cells 11, 10, 01, 00; or, once only one row is still read,
#: those that are true and false in that row.
Used = tuple[tuple[int, ...], ...]
#: What remains to be counted: a function of x and one of z, and the columns in use.
State = tuple[int, int, Used]
#: What a state is multiplied by: columns of a domain in a cell, less those in use.
Term = tuple[int, str, int]


def lower(formula: Formula) -> Program:
    """Return the program of a formula in the reading ``distinct``.

    Raises
    ------
    FormulaError
        If one name has two domains, or anything stands beside a choice.
    FormulaSizeError
        If the formula, its diagram, the search for symmetries or the counting passes a stated size.

    Notes
    -----
    The number of states grows with the third power of the number of variables in the worst case,
    times the pairs of diagram nodes.
    """
    check_names(formula)
    domains = domain_positions(formula)
    builder = Builder(domains)
    if any(isinstance(leaf, Choice) for leaf in formula.leaves):
        counts = _choice_counts(builder, formula, domains, ("11", "**"))
        return builder.finish(counts["11"], counts["**"], None)
    space = _Space(formula, domains, builder)
    return builder.finish(space.emit("11"), space.emit("**"), space.degrees, space.symmetries)


def _choice_counts(
    builder: Builder, formula: Formula, domains: dict[str | None, int], cells: Iterable[str]
) -> dict[str, int]:
    """Return the wanted cells of a choice, alone or negated; at most MAX_NESTING deep.

    Raises
    ------
    FormulaError
        If anything stands beside the choice: the columns that a choice uses up are not single
        columns, so "different from them" has no meaning.
    """
    atoms = [leaf for leaf in formula.leaves if not isinstance(leaf, Constant)]
    choice = atoms[0]
    if len(atoms) > 1 or not isinstance(choice, Choice):
        raise FormulaError(
            f"in the reading 'distinct' a choice stands alone or negated; {str(formula)!r} has "
            "something beside it. Use variables='bound', or multiply two kernels: k1 * k2."
        )
    atom: Formula = choice
    when_true, when_false = (evaluate(formula, {atom: value}.get) for value in (True, False))
    if when_true == when_false:
        one, zero = builder.constant(1), builder.constant(0)
        return {cell: zero if "01"[not when_true] in cell else one for cell in cells}
    terms = {cell: ChoiceTerms(choice, opposite(cell) if when_false else cell) for cell in cells}
    needed = dict.fromkeys(read for cell in terms for read in terms[cell].reads())
    counts = _counts(builder, choice.formula, domains, needed)
    return {cell: terms[cell].emit(builder, counts) for cell in terms}


def _counts(
    builder: Builder, formula: Formula, domains: dict[str | None, int], cells: Iterable[str]
) -> dict[str, int]:
    """Return the wanted cells of the feature space of a formula, each feature counted once."""
    if any(isinstance(leaf, Choice) for leaf in formula.leaves):
        return _choice_counts(builder, formula, domains, cells)
    space = _Space(formula, domains, builder)
    return {cell: builder.quotient(space.emit(cell), space.symmetries) for cell in cells}


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
        self.symmetries = count_automorphisms(self.diagrams, self.top, self.domain_of)

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
