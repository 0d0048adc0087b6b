"""The features of a kernel: spaces of clauses and of substitutions, to be searched or listed.

A kernel is a sum K(x, z) = Σ_t c_t·s_t(x)·s_t(z)·K_t(x, z) of *terms*, where c_t is a weight; in
cosines, s_t(x) is 1 over the length of a row. The features of K_t are clauses, or the instances of
one formula: its substitutions. A trained support vector machine is f(x) = Σ_φ w_φ·φ(x) over all
features, with w_φ = Σ_i α_i y_i φ(x_i). :func:`parts_of` finds the heaviest of them;
:func:`spaces_of` serves to list or sample them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.backends.tables import TablePair
from formulakern.encoding.bits import all_ones
from formulakern.encoding.packed import PackedTable
from formulakern.errors import ParameterError
from formulakern.kernels.algebra import (
    Kernel,
    NormalizedKernel,
    ProductKernel,
    ScaledKernel,
    SumKernel,
    inverse_length,
)
from formulakern.kernels.boolean import CountedKernel, FeatureSpace, rounded
from formulakern.kernels.formula import FormulaKernel
from formulakern.kernels.graded import GradedKernel
from formulakern.mining.conjunctions.search import mine_conjunctions
from formulakern.mining.search import MiningResult
from formulakern.mining.templates.expansion import MAX_SLOTS, Expansion, expand
from formulakern.mining.templates.search import mine_templates
from formulakern.rules.features import Instance
from formulakern.solvers.solution import part_of
from formulakern.syntax.connectives import AND, OR
from formulakern.syntax.formula import TRUE, Formula, Operation, Variable, fold
from formulakern.syntax.leaves import Choice

#: The form of a plain clause by the connective of its variables.
FORMS: dict[object, Literal["conjunction", "disjunction"]] = {
    AND: "conjunction",
    OR: "disjunction",
    "all": "conjunction",
    "any": "disjunction",
}

#: Clauses up to this length are searched as templates, if there are at most this many chains of
#: nested propositions, as a share of the propositions.
MAX_TEMPLATE_LENGTH, MAX_CHAIN_SHARE = 4, 0.25

#: Features with their weights, largest absolute weight first, and a bound on all others.
Found = tuple[list[tuple[Instance, float]], MiningResult]


@dataclass(frozen=True, eq=False)
class Space:
    """The substitutions of one formula, in which equal names are one column.

    If ``distinct``, different names are different columns.  With ``every_variable``, variables that
    do not affect the truth value are substituted, too.  ``ranges`` has the positions of the columns
    of variables that do not range over all ``n_columns``.  ``size`` is the number of substitutions.
    A true feature is ``root`` = √c, divided by the lengths √K(x, x) of the row in the kernels
    ``divisors``.
    """

    formula: Formula
    distinct: bool
    every_variable: bool
    ranges: dict[Variable, tuple[int, ...]]
    n_columns: int
    size: int
    root: float = 1.0
    divisors: tuple[Kernel, ...] = ()

    @property
    def weight(self) -> float:
        """The contribution c of each substitution to the kernel if it is true in both rows."""
        return self.root**2

    @property
    def expansion(self) -> Expansion:
        """The template with its choices written out; every substitution is an instance.

        In the reading "distinct", substitutions that give one feature count once; they are one
        instance for formulas of at most six variables.
        """
        return expand(
            self.formula,
            self.distinct,
            self.ranges.get,
            every_substitution=True,
            every_variable=self.every_variable,
        )

    def columns_of(self, variable: Variable) -> tuple[int, ...]:
        """Return the positions of the columns that may replace a variable."""
        return self.ranges.get(variable, tuple(range(self.n_columns)))

    def run(self, columns: PackedTable, weights: FloatArray, **options: Any) -> Found:
        """Return the features with the largest |Σ_i weights_i φ(x_i)|, each Boolean one once."""
        result = mine_templates(
            self.formula, columns, weights, distinct=self.distinct, columns=self.ranges, **options
        )
        written, places = result.expansion.formula, result.expansion.leaves
        features = [
            (Instance(written, places, propositions), float(sums[0]))
            for propositions, sums in zip(result.assignments, result.sums, strict=True)
        ]
        return features, result


@dataclass(frozen=True, eq=False)
class Clauses:
    """Conjunctions or disjunctions of columns or literals, scaled like a :class:`Space`."""

    features: FeatureSpace
    n_columns: int
    root: float = 1.0
    divisors: tuple[Kernel, ...] = ()

    def spaces(self) -> Iterator[Space]:
        """Return the clauses of each length, and of each number of negated columns."""
        n, features = self.n_columns, self.features
        longest = n if features.max_length is None else min(features.max_length, n)
        if longest > MAX_SLOTS:
            raise ParameterError(
                f"clauses of up to {longest} columns cannot be listed; the limit is {MAX_SLOTS} "
                "columns. Use a family of shorter clauses."
            )
        for length in range(features.min_length, longest + 1):
            for negated in range(length + 1 if features.signed else 1):
                signed = [k >= length - negated for k in range(length)]
                clause, _ = _clause(signed, features.form == "disjunction")
                size = math.comb(n, length) * math.comb(length, negated)
                root = features.weight(length) * self.root
                yield Space(clause, True, False, {}, n, size, root, self.divisors)

    def run(self, columns: PackedTable, weights: FloatArray, **options: Any) -> Found:
        """Return the features with the largest |Σ_i weights_i φ(x_i)|.

        Disjunctions are searched as the complements of conjunctions of the negations, and short
        clauses of ordered propositions as instances of templates.
        """
        p, space = columns.n_columns, self.features
        short = space.max_length is not None and space.max_length <= MAX_TEMPLATE_LENGTH
        if short and len(columns.chains) <= MAX_CHAIN_SHARE * p:
            return self._run_templates(columns, weights, **options)
        either = space.form == "disjunction"
        literals = [columns.columns, columns.columns ^ all_ones(columns.n_rows)]
        table = np.vstack((literals[::-1] if either else literals)[: 1 + space.signed])
        longest = p if space.max_length is None else min(space.max_length, p)
        divisors = [1.0 / (space.weight(length) or 1.0) for length in range(longest + 1)]
        result = mine_conjunctions(
            PackedTable.of_columns(table, columns.n_rows),
            weights,
            min_length=space.min_length,
            max_length=space.max_length,
            length_factor=divisors,
            complement=either,
            exclusive=np.tile(np.arange(p), 1 + space.signed),
            **options,
        )
        total = float(weights.sum())
        features = []
        for literal, sums in zip(result.conjunctions, result.sums, strict=True):
            value = (total - sums[0] if either else sums[0]) / divisors[len(literal)]
            clause = _clause([j >= p for j in literal], either)
            features.append((Instance(*clause, tuple(j % p for j in literal)), float(value)))
        return features, result

    def _run_templates(
        self,
        columns: PackedTable,
        weights: FloatArray,
        top: int,
        progress: Any = None,
        **options: Any,
    ) -> Found:
        """Return the result of :meth:`run`, from a search over the clauses of each length."""
        features, outcomes, spaces = [], [], [*replace(self, root=1.0).spaces()]
        for number, space in enumerate(spaces):
            step = part_of(progress, number, len(spaces))
            own = weights * space.root
            found, outcome = space.run(columns, own, top=top, progress=step, **options)
            features += found
            outcomes.append(outcome)
        features.sort(key=lambda item: -abs(item[1]))
        rest = [abs(value) for _, value in features[top:]]
        values = np.array([value for _, value in features[:top]])
        result = MiningResult(
            scores=np.abs(values),
            sums=values[:, None],
            proven=all(one.proven for one in outcomes),
            complete=all(one.complete for one in outcomes) and not rest,
            bound=max([*rest, *(one.bound for one in outcomes)], default=0.0),
            n_evaluated=sum(one.n_evaluated for one in outcomes),
        )
        return features[:top], result


def _clause(signed: Sequence[bool], either: bool) -> tuple[Formula, tuple[Variable, ...]]:
    """Return a conjunction or disjunction of variables, some of which are negated."""
    places = tuple(Variable(f"x{k}") for k in range(len(signed)))
    literals = [~v if negated else v for v, negated in zip(places, signed, strict=True)]
    if not literals:
        return (~TRUE if either else TRUE), places
    joined = Operation(OR if either else AND, literals) if len(literals) > 1 else literals[0]
    return joined, places


def _terms_of(
    kernel: Kernel, pair: TablePair, root: float = 1.0, divisors: tuple[Kernel, ...] = ()
) -> Iterator[Space | Clauses]:
    """Yield the spaces whose sum is a kernel, through sums, multiples and cosines of kernels."""
    n = pair.x.n_columns
    if isinstance(kernel, NormalizedKernel):
        inner = kernel.kernel.within_range(pair)
        yield from _terms_of(inner, pair, root, (inner, *divisors))
    elif isinstance(kernel, ScaledKernel):
        yield from _terms_of(kernel.kernel, pair, root * math.sqrt(kernel.weight), divisors)
    elif isinstance(kernel, GradedKernel):  # on rows of 0 and 1 it equals the inner kernel
        yield from _terms_of(kernel.kernel, pair, root, divisors)
    elif isinstance(kernel, SumKernel):
        for part in kernel.parts:
            yield from _terms_of(part, pair, root, divisors)
    elif isinstance(kernel, (ProductKernel, FormulaKernel)):
        space = _substitutions(kernel, pair)
        yield replace(space, root=root * space.root, divisors=divisors)
    elif (
        isinstance(kernel, CountedKernel)
        and kernel.features is not None
        and math.isfinite(
            total := rounded(kernel.family.total(n)) if kernel.scale == "probability" else 1.0
        )
    ):
        kernel.diagonal_of(pair)  # the columns suffice
        yield Clauses(kernel.features, n, root / math.sqrt(total), divisors)
    else:
        raise ParameterError(
            f"the features of {kernel!r} cannot be listed as columns or rules. Use a formula "
            "kernel, a family of conjunctions or disjunctions, sums, multiples, cosines or "
            "products of formula kernels, or sklearn.kernel_approximation.Nystroem(kernel=k)."
        )


def spaces_of(kernel: Kernel, rows: Any) -> list[Space]:
    """Return the spaces whose weighted sum is a kernel.

    The kernel may be a formula kernel, a family of conjunctions or disjunctions, a sum, multiple or
    cosine of these, or a product of formula kernels; others raise ParameterError.  Only the columns
    of ``rows`` matter.
    """
    terms = _terms_of(kernel, TablePair(rows))
    return [one for term in terms for one in ([term] if isinstance(term, Space) else term.spaces())]


def parts_of(kernel: Kernel, rows: Any) -> list[tuple[Space | Clauses, FloatArray | float]]:
    """Return the searches of a kernel's features, and the factor of the values in each row.

    ``rows`` are the rows whose weights will be summed; normalised kernels divide by their lengths.
    Raises ParameterError if the features are not clauses or instances of a template.
    """
    pair = TablePair(rows)
    inverse: dict[int, FloatArray] = {}
    parts = []
    for term in _terms_of(kernel, pair):
        factor: FloatArray | float = term.root
        for divisor in term.divisors:
            if id(divisor) not in inverse:
                inverse[id(divisor)] = inverse_length(divisor.diagonal_of(pair))
            factor = factor * inverse[id(divisor)]
        clauses = _clauses(term) if isinstance(term, Space) and not term.ranges else None
        parts.append((term if clauses is None else Clauses(clauses, term.n_columns), factor))
    return parts


def _inverse_root(dimension: int) -> float:
    """Return 1/√N for integers of any size; 0 beyond float64."""
    digits = max(0, dimension.bit_length() - 1000) // 2
    return 1.0 / math.sqrt(dimension >> (2 * digits)) * 2.0**-digits if dimension else 1.0


def _clauses(space: Space) -> FeatureSpace | None:
    """Return the clauses that equal the instances of a formula over all columns, or None."""
    formula = space.formula
    if isinstance(formula, Variable):
        return FeatureSpace("conjunction", False, 1, 1)
    kind: object = formula.connective
    parts: Sequence[Formula] = formula.arguments
    if isinstance(formula, Choice):
        kind, parts = formula.kind, (formula.formula,)
    if kind not in FORMS or not all(isinstance(part, Variable) for part in parts):
        return None
    longest = formula.degree if isinstance(formula, Choice) else len(set(parts))
    exactly = space.distinct or isinstance(formula, Choice)
    return FeatureSpace(FORMS[kind], False, longest if exactly else 1, longest)


def _substitutions(kernel: FormulaKernel | ProductKernel, pair: TablePair) -> Space:
    """Return the substitutions of a formula, or of the conjunction of a product's formulas."""
    parts = kernel.parts if isinstance(kernel, ProductKernel) else (kernel,)
    alone, factors = len(parts) == 1, list[FormulaKernel]()
    for part in parts:
        if not isinstance(part, FormulaKernel) or not (
            alone or (part.variables != "distinct" and part.scale == "count")
        ):
            raise ParameterError(
                f"the features of {kernel!r} cannot be listed: the factors of a product must be "
                "formula kernels in the readings 'bound' or 'free', at scale='count'."
            )
        factors.append(part)
    every, size = tuple(range(pair.x.n_columns)), 1
    formulas: list[Formula] = []
    ranges: dict[Variable, tuple[int, ...]] = {}
    for number, factor in enumerate(factors):
        factor.task(pair)  # checks degrees and domains against the table
        names = itertools.count() if factor.variables == "free" else None
        prefix = "" if alone else f"f{number}_"
        formula = _renamed(factor.rewriting.formula, prefix, names)
        domains = {name: pair.columns_of(name, factor.domains) for name in factor.program.domains}
        sizes = {name: len(every if c is None else c) for name, c in domains.items()}
        size *= factor.dimension(sizes)
        found = {v: pair.columns_of(v.domain, factor.domains) for v in formula.variables}
        ranges |= {v: columns for v, columns in found.items() if columns is not None}
        formulas.append(formula)
    distinct = factors[0].variables == "distinct"
    free = any(factor.variables == "free" for factor in factors)
    root = _inverse_root(size) if factors[0].scale == "probability" else 1.0
    whole = formulas[0] if alone else Operation(AND, formulas)
    return Space(whole, distinct, free, ranges, len(every), size, root)


def _renamed(formula: Formula, prefix: str, numbers: Iterator[int] | None) -> Formula:
    """Return the formula with a prefix before names, or a number for each of their occurrences."""

    def build(node: Formula, parts: list[Formula]) -> Formula:
        if isinstance(node, Variable):
            name = node.name if numbers is None else f"v{next(numbers)}"
            return Variable(prefix + name, node.domain)
        if isinstance(node, Choice):
            return node.over(_renamed(node.formula, prefix, numbers))
        return node if node.connective is None else Operation(node.connective, parts)

    if numbers is None:
        return fold(formula, build) if prefix else formula
    pending, order, values = [formula], list[Formula](), list[Formula]()
    while pending:  # every occurrence of a node, not every node once
        order.append(pending.pop())
        pending += order[-1].arguments
    for node in reversed(order):
        first = len(values) - len(node.arguments)
        values[first:] = [build(node, values[first:])]
    return values[0]
