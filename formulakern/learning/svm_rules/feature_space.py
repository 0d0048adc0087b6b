"""Which search finds the heaviest features of a kernel: its feature space, in parts.

A trained support vector machine is f(x) = Σ_φ w_φ·φ(x) over the features of its kernel, with
w_φ = Σ_i α_i y_i φ(x_i).  A kernel's space is made of parts (the terms of a sum), each of which is
a set of clauses, searched by :mod:`formulakern.mining.conjunctions.search`, or the instances of a
template, searched by :mod:`formulakern.mining.templates.search`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, Unpack

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.encoding.bits import all_ones
from formulakern.encoding.packed import PackedTable
from formulakern.errors import ParameterError
from formulakern.gram.pair import TablePair
from formulakern.kernels.algebra import (
    Kernel,
    NormalizedKernel,
    ProductKernel,
    ScaledKernel,
    SumKernel,
    inverse_length,
)
from formulakern.kernels.boolean.counted import CountedKernel
from formulakern.kernels.boolean.families import FeatureSpace, rounded
from formulakern.kernels.formula import FormulaKernel
from formulakern.kernels.graded import GradedKernel
from formulakern.mining.conjunctions.search import mine_conjunctions
from formulakern.mining.options import SearchOptions
from formulakern.mining.search import MiningResult
from formulakern.mining.templates.search import mine_templates
from formulakern.rules.features import Instance
from formulakern.syntax.choice import Choice
from formulakern.syntax.connectives import AND, OR
from formulakern.syntax.formula import TRUE, Formula, Operation, Variable
from formulakern.syntax.traversal import fold

__all__ = ["Part", "parts_of", "template_of", "template_of_product"]

T = TypeVar("T")

#: What joins the variables of a plain clause.
FORMS: dict[object, Literal["conjunction", "disjunction"]] = {
    AND: "conjunction",
    OR: "disjunction",
    "all": "conjunction",
    "any": "disjunction",
}

#: Features with their weights, largest absolute weight first, and what is known of all others.
Found = tuple[list[tuple[Instance, float]], MiningResult]


@dataclass(frozen=True)
class Part:
    """A part of a kernel's feature space.

    Parameters
    ----------
    search : ClauseSearch or TemplateSearch
    factor : ndarray of shape (rows,) or float
        What a feature's value in each row is multiplied by, for weighted and normalised kernels.
    """

    search: ClauseSearch | TemplateSearch
    factor: FloatArray | float = 1.0

    def times(self, factor: FloatArray | float) -> Part:
        """The part of a kernel whose features are multiplied."""
        return replace(self, factor=self.factor * factor)


def parts_of(kernel: Kernel, rows: Any) -> list[Part]:
    """The parts of a kernel's feature space.

    Parameters
    ----------
    kernel : Kernel
    rows : table of 0 and 1
        The rows whose weights will be summed; normalised kernels divide by their lengths.

    Raises
    ------
    ParameterError
        If the features of the kernel are not clauses or instances of a template.
    """
    pair = rows if isinstance(rows, TablePair) else TablePair(rows)
    if isinstance(kernel, NormalizedKernel):
        inner = kernel.kernel.within_range(pair)
        inverse = inverse_length(inner.diagonal_of(pair))
        return [part.times(inverse) for part in parts_of(inner, pair)]
    if isinstance(kernel, ScaledKernel):
        return [part.times(math.sqrt(kernel.weight)) for part in parts_of(kernel.kernel, pair)]
    if isinstance(kernel, GradedKernel):  # on rows of 0 and 1 it is the kernel inside
        return parts_of(kernel.kernel, pair)
    if isinstance(kernel, SumKernel):
        return [part for term in kernel.parts for part in parts_of(term, pair)]
    if isinstance(kernel, ProductKernel):
        return [Part(template_of_product(kernel, pair))]
    if isinstance(kernel, FormulaKernel):
        scale = 1.0
        if kernel.scale == "probability":
            sizes = {name: len(_columns(kernel, name, pair)) for name in kernel.program.domains}
            scale = _inverse_root(kernel.dimension(sizes))
        return [Part(_formula_search(kernel, pair), scale)]
    if isinstance(kernel, CountedKernel) and kernel.features is not None:
        total = 1.0
        if kernel.scale == "probability":
            total = rounded(kernel.family.total(pair.x.n_columns))
        if math.isfinite(total):
            return [Part(ClauseSearch(kernel.features), 1.0 / math.sqrt(total))]
    raise ParameterError(
        f"the features of {kernel!r} on {pair.x.n_columns:,} columns are not listed one by one, "
        "so none can be named as a rule. Use a formula kernel, a family of conjunctions or "
        "disjunctions, their sums, multiples or cosines."
    )


def _inverse_root(dimension: int) -> float:
    """1/√N, for integers of any size; 0 beyond float64."""
    digits = max(0, dimension.bit_length() - 1000) // 2
    return 1.0 / math.sqrt(dimension >> (2 * digits)) * 2.0**-digits if dimension else 1.0


# -- clauses ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClauseSearch:
    """Conjunctions or disjunctions of columns or literals."""

    space: FeatureSpace

    def run(
        self, columns: PackedTable, weights: FloatArray, **options: Unpack[SearchOptions]
    ) -> Found:
        """The features with the largest |Σ_i weights_i φ(x_i)|.

        Disjunctions are searched as the complements of conjunctions of the negations.
        """
        p, space = columns.n_columns, self.space
        either = space.form == "disjunction"
        literals = [columns.columns, columns.columns ^ all_ones(columns.n_rows)]
        table = np.vstack((literals[::-1] if either else literals)[: 1 + space.signed])
        longest = p if space.max_length is None else min(space.max_length, p)
        divisors = [
            1.0 / weight if (weight := space.weight(length)) > 0 else 1.0
            for length in range(longest + 1)
        ]
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
        for clause, sums in zip(result.conjunctions, result.sums, strict=True):
            value = (total - sums[0] if either else sums[0]) / divisors[len(clause)]
            features.append((_clause(clause, p, either), float(value)))
        return features, result


def _clause(literals: Sequence[int], p: int, either: bool) -> Instance:
    """A conjunction or disjunction of literals; from p on they are negations."""
    places = tuple(Variable(f"s{k}") for k in range(len(literals)))
    signed = [~v if j >= p else v for v, j in zip(places, literals, strict=True)]
    if not signed:
        template = ~TRUE if either else TRUE
    else:
        template = signed[0] if len(signed) == 1 else Operation(OR if either else AND, signed)
    return Instance(template, places, tuple(j % p for j in literals))


# -- templates --------------------------------------------------------------------------------


@dataclass(frozen=True)
class TemplateSearch:
    """Instances of a formula."""

    formula: Formula
    distinct: bool
    ranges: dict[Variable, tuple[int, ...]]

    def run(
        self, columns: PackedTable, weights: FloatArray, **options: Unpack[SearchOptions]
    ) -> Found:
        """The features with the largest |Σ_i weights_i φ(x_i)|.

        Every Boolean feature once, whatever the number of substitutions that give it.
        """
        result = mine_templates(
            self.formula,
            columns,
            weights,
            distinct=self.distinct,
            columns=self.ranges,
            **options,
        )
        written, places = result.expansion.formula, result.expansion.leaves
        features = [
            (Instance(written, places, propositions), float(sums[0]))
            for propositions, sums in zip(result.assignments, result.sums, strict=True)
        ]
        return features, result


def _formula_search(kernel: FormulaKernel, pair: TablePair) -> ClauseSearch | TemplateSearch:
    formula, ranges = template_of(kernel, pair, "")
    if all(name is None for name in kernel.program.domains):
        clauses = _clauses(kernel.rewriting.formula, kernel.variables)
        if clauses is not None:
            return ClauseSearch(clauses)
    return TemplateSearch(formula, kernel.variables == "distinct", ranges)


def _clauses(formula: Formula, reading: str) -> FeatureSpace | None:
    """The clauses that a formula means, where it is a plain one."""
    if isinstance(formula, Variable):
        return FeatureSpace("conjunction", False, 1, 1)
    kind: object = formula.connective
    parts: Sequence[Formula] = formula.arguments
    if isinstance(formula, Choice):
        kind, parts = formula.kind, (formula.formula,)
    if kind not in FORMS or not all(isinstance(part, Variable) for part in parts):
        return None
    if isinstance(formula, Choice):
        return FeatureSpace(FORMS[kind], False, formula.degree, formula.degree)
    names = len(set(parts))
    longest = len(parts) if reading == "free" else names
    return FeatureSpace(FORMS[kind], False, names if reading == "distinct" else 1, longest)


def _columns(kernel: FormulaKernel, domain: str | None, pair: TablePair) -> tuple[int, ...]:
    columns = pair.columns_of(domain, kernel.domains)
    return tuple(range(pair.x.n_columns)) if columns is None else columns


def template_of(
    kernel: FormulaKernel, pair: TablePair, prefix: str
) -> tuple[Formula, dict[Variable, tuple[int, ...]]]:
    """The formula of a kernel over names with a prefix, and the columns of those with a domain.

    In the free reading every occurrence of a variable has a name of its own.

    Parameters
    ----------
    kernel : FormulaKernel
    pair : TablePair
        The degrees and the domains are checked against its columns.
    prefix : str
        None, if "".

    Returns
    -------
    formula : Formula
    ranges : dict
        Variable → positions of columns, for variables with a domain.

    Raises
    ------
    DataError, ParameterError
        If a domain is not described, or a choice asks for more features than there are.
    """
    kernel.task(pair)  # degrees and domains are checked against the table
    formula, numbers = kernel.rewriting.formula, itertools.count()
    if kernel.variables == "free":
        formula = _renamed(formula, lambda _: f"{prefix}v{next(numbers)}", _fold_occurrences)
    elif prefix:
        formula = _renamed(formula, lambda variable: prefix + variable.name, fold)
    return formula, {
        variable: _columns(kernel, variable.domain, pair)
        for variable in formula.variables
        if variable.domain is not None
    }


def _renamed(
    formula: Formula, name_of: Callable[[Variable], str], walk: Callable[..., Formula]
) -> Formula:
    """The formula with other names for its variables."""

    def build(node: Formula, parts: list[Formula]) -> Formula:
        if isinstance(node, Variable):
            return Variable(name_of(node), node.domain)
        if isinstance(node, Choice):
            return node.over(_renamed(node.formula, name_of, walk))
        return node if node.connective is None else Operation(node.connective, parts)

    return walk(formula, build)


def _fold_occurrences(root: Formula, function: Callable[[Formula, list[T]], T]) -> T:
    """Compute ``function(node, values of its operands)``, once for every place of a node."""
    open_nodes: list[tuple[Formula, list[T]]] = [(root, [])]
    while True:
        node, values = open_nodes[-1]
        if len(values) < len(node.arguments):
            open_nodes.append((node.arguments[len(values)], []))
            continue
        open_nodes.pop()
        value = function(node, values)
        if not open_nodes:
            return value
        open_nodes[-1][1].append(value)


def template_of_product(kernel: ProductKernel, pair: TablePair) -> TemplateSearch:
    """Pairs of features of formula kernels are the instances of the conjunction.

    Raises
    ------
    ParameterError
        If a factor is something else, or counts features of different columns.
    """
    formulas: list[Formula] = []
    ranges: dict[Variable, tuple[int, ...]] = {}
    for number, factor in enumerate(kernel.parts):
        if (
            not isinstance(factor, FormulaKernel)
            or factor.variables == "distinct"
            or factor.scale != "count"
        ):
            raise ParameterError(
                f"the features of {kernel!r} are not listed one by one: a product is searched "
                "where its factors are formula kernels in the readings 'bound' or 'free', at "
                "scale='count'."
            )
        formula, named = template_of(factor, pair, f"f{number}_")
        formulas.append(formula)
        ranges |= named
    return TemplateSearch(Operation(AND, formulas), False, ranges)
