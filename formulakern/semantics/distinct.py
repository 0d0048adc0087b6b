"""The ``distinct`` reading: different names are different columns; equal features count once.

The recursion on pairs of diagram nodes of the bound reading, with every joint count reduced by the
columns already used up in its cell; divided at the end by the number of symmetries of the formula
(permutations of its variables that leave the function unchanged), which is exact (THEORY §1).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from formulakern.errors import FormulaError, FormulaSizeError
from formulakern.program.builder import Builder
from formulakern.program.node import Program
from formulakern.semantics.automorphisms import count_automorphisms
from formulakern.semantics.choices import ChoicePlan, own_names
from formulakern.semantics.diagram import Diagrams
from formulakern.semantics.domains import domain_positions, one_domain_each
from formulakern.semantics.regions import MAX_LEAVES
from formulakern.syntax.choice import Choice
from formulakern.syntax.formula import Constant, Formula, Variable, evaluate
from formulakern.syntax.traversal import fold

__all__ = ["MAX_STATES", "lower"]

#: Counting with more states (pairs of diagram nodes, columns used per cell) than this is refused.
MAX_STATES = 300_000

#: Columns used up per domain in the cells 11, 10, 01, 00; or, once only one row is still read,
#: those that are true and false in that row.
Used = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class _State:
    """What remains to be counted: a pair of functions, and the columns used up so far."""

    first: int
    second: int
    used: Used


@dataclass(frozen=True)
class _Term:
    domain: int
    cell: str
    already: int
    state: _State


def lower(formula: Formula) -> Program:
    """The program of a formula in the distinct reading.

    Raises
    ------
    FormulaError
        If one name has two domains.
    FormulaSizeError
        If the diagram, the symmetries or the counting pass a stated size.

    Notes
    -----
    The number of states grows with the third power of the number of variables in the worst case,
    times the pairs of diagram nodes.
    """
    own_names(formula)
    one_domain_each(formula)
    domains = domain_positions(formula)
    if any(isinstance(leaf, Choice) for leaf in formula.leaves):
        builder = Builder(domains)
        counts = _choice_counts(builder, formula, domains, ("11", "**"))
        return builder.finish(counts["11"], counts["**"], None)
    builder = Builder(domains)
    counting, top, degrees, symmetries = _space(formula, domains, builder)
    return builder.finish(counting.emit(top, top), counting.emit(1, 1), degrees, symmetries)


def _choice_counts(
    builder: Builder, formula: Formula, domains: dict[str | None, int], cells: Iterable[str]
) -> dict[str, int]:
    """The wanted cells of a choice, alone or negated; at most MAX_NESTING deep.

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
        value = builder.constant(1), builder.constant(0)
        return {c: value[any(bit == "01"[not when_true] for bit in c)] for c in cells}
    swap = {"1": "0", "0": "1", "*": "*"} if when_false else {"1": "1", "0": "0", "*": "*"}
    plans = {cell: ChoicePlan(choice, swap[cell[0]] + swap[cell[1]]) for cell in cells}
    needed = dict.fromkeys(cell for plan in plans.values() for cell in plan.reads())
    counts = _counts(builder, choice.formula, domains, needed)
    return {cell: plan.emit(builder, counts) for cell, plan in plans.items()}


def _counts(
    builder: Builder, formula: Formula, domains: dict[str | None, int], cells: Iterable[str]
) -> dict[str, int]:
    """The wanted cells of the feature space of a formula, each feature counted once."""
    if any(isinstance(leaf, Choice) for leaf in formula.leaves):
        return _choice_counts(builder, formula, domains, cells)
    counting, top, _, symmetries = _space(formula, domains, builder)
    side = {"1": top, "0": counting.diagrams.negation(top), "*": 1}
    return {
        cell: builder.quotient(counting.emit(side[cell[0]], side[cell[1]]), symmetries)
        for cell in cells
    }


def _space(
    formula: Formula, domains: dict[str | None, int], builder: Builder
) -> tuple[_Counting, int, list[int], int]:
    """The counting of a formula without choices: also its degrees and number of symmetries."""
    diagrams, top, names = _diagram(formula)
    support = diagrams.support(top)
    new_level = {old: new for new, old in enumerate(support)}
    top = diagrams.relevel(top, new_level.__getitem__)
    domain_of = [domains[names[old].domain] for old in support]
    degrees = [domain_of.count(g) for g in range(len(domains))]
    counting = _Counting(diagrams, domain_of, degrees, builder)
    return counting, top, degrees, count_automorphisms(diagrams, top, domain_of)


def _diagram(formula: Formula) -> tuple[Diagrams, int, list[Variable]]:
    """The decision diagram of a whole formula, variables in order of appearance."""
    if formula.n_leaves > MAX_LEAVES:
        raise FormulaSizeError(
            f"the formula has {formula.n_leaves:,} leaves; at most {MAX_LEAVES:,} are accepted "
            "where equal names mean one variable. Use variables='free', or a smaller formula."
        )
    names = list(formula.variables)
    level = {variable: position for position, variable in enumerate(names)}
    diagrams = Diagrams()

    def function(node: Formula, values: list[int]) -> int:
        if isinstance(node, Constant):
            return int(node.value)
        if isinstance(node, Variable):
            return diagrams.variable(level[node])
        row = node.connective
        assert row is not None
        if row.arity == 1:
            return diagrams.negation(values[0])
        return (
            diagrams.combine(row, values) if row.chain == "flat" else diagrams.apply(row, *values)
        )

    return diagrams, fold(formula, function), names


class _Counting:
    """The recursion over states, unrolled into one program."""

    def __init__(
        self, diagrams: Diagrams, domain_of: list[int], degrees: list[int], builder: Builder
    ) -> None:
        self.diagrams = diagrams
        self.domain_of = domain_of
        self.degrees = degrees
        self.builder = builder

    def emit(self, first: int, second: int) -> int:
        """Position of g(first, second): injective substitutions, true in x and in z."""
        if not first or not second:
            return self.builder.constant(0)
        nothing: Used = tuple((0, 0, 0, 0) for _ in self.degrees)
        root = _State(first, second, nothing)
        terms: dict[_State, list[_Term]] = {}
        order: list[_State] = []
        pending = [root]
        while pending:
            state = pending.pop()
            if state in terms:
                continue
            if len(terms) >= MAX_STATES:
                raise FormulaSizeError(
                    f"counting different columns for this formula needs more than {MAX_STATES:,} "
                    "states. Use fewer variables, or variables='bound'."
                )
            terms[state] = self._split(state)
            order.append(state)
            pending.extend(term.state for term in terms[state])
        values: dict[_State, int] = {}
        for state in sorted(order, key=self._level, reverse=True):
            if state.first == 1 and state.second == 1:
                values[state] = self._rest(state)
                continue
            values[state] = self.builder.sum(
                self.builder.product(
                    (
                        self.builder.count(term.domain, term.cell, term.already),
                        values[term.state],
                    )
                )
                for term in terms[state]
            )
        return values[root]

    def _level(self, state: _State) -> int:
        levels = self.diagrams.level
        return min(levels[state.first], levels[state.second])

    def _split(self, state: _State) -> list[_Term]:
        f, g = state.first, state.second
        if f == 1 and g == 1:
            return []
        level = self._level(state)
        domain = self.domain_of[level]
        f_high, f_low = self.diagrams.cofactors(f, level)
        g_high, g_low = self.diagrams.cofactors(g, level)
        if g == 1:
            branches = [("1*", f_high, 1), ("0*", f_low, 1)]
        elif f == 1:
            branches = [("*1", 1, g_high), ("*0", 1, g_low)]
        else:
            branches = [
                ("11", f_high, g_high),
                ("10", f_high, g_low),
                ("01", f_low, g_high),
                ("00", f_low, g_low),
            ]
        terms = []
        for index, (cell, new_f, new_g) in enumerate(branches):
            if not new_f or not new_g:
                continue
            used = list(state.used)
            cells = list(used[domain])
            already = cells[index]
            cells[index] += 1
            used[domain] = tuple(cells)
            after = tuple(used)
            if (f != 1 and g != 1) and (new_f == 1) != (new_g == 1):
                after = _marginal(after, keep_x=new_g == 1)
            terms.append(_Term(domain, cell, already, _State(new_f, new_g, after)))
        return terms

    def _rest(self, state: _State) -> int:
        """The untested variables take any of the columns that are left."""
        factors = []
        for domain, degree in enumerate(self.degrees):
            taken = sum(state.used[domain])
            factors += [self.builder.count(domain, "**", used) for used in range(taken, degree)]
        return self.builder.product(factors)


def _marginal(used: Used, keep_x: bool) -> Used:
    """Used columns by their value in the one row that is still read."""
    if keep_x:
        return tuple((a + b, c + d) for a, b, c, d in used)
    return tuple((a + c, b + d) for a, b, c, d in used)
