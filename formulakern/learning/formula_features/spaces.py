"""What a kernel counts, term by term: templates, and what they may be substituted for.

A kernel is a sum K(x, z) = Σ_t c_t·s_t(x)·s_t(z)·K_t(x, z) of *spaces*: K_t counts the
substitutions of one formula that are true in both rows, c_t is a weight, and s_t(x), for cosines,
is 1 over the length of a row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from formulakern.errors import ParameterError
from formulakern.gram.pair import TablePair
from formulakern.kernels.algebra import (
    Kernel,
    NormalizedKernel,
    ProductKernel,
    ScaledKernel,
    SumKernel,
)
from formulakern.kernels.boolean.counted import CountedKernel
from formulakern.kernels.boolean.families import FeatureSpace, rounded
from formulakern.kernels.formula import FormulaKernel
from formulakern.kernels.graded import GradedKernel
from formulakern.learning.svm_rules.feature_space import template_of, template_of_product
from formulakern.mining.templates.expansion import MAX_SLOTS, Expansion, expand
from formulakern.syntax.choice import Choice
from formulakern.syntax.connectives import AND, OR
from formulakern.syntax.formula import TRUE, Formula, Operation, Variable

__all__ = ["Space", "spaces_of"]


@dataclass(frozen=True, eq=False)
class Space:
    """The substitutions of one formula.

    Parameters
    ----------
    formula : Formula
        Equal names are one column.
    distinct : bool
        Different names of one formula are different columns.
    every_variable : bool
        Variables on which the truth value does not depend are substituted, too.
    ranges : dict
        Variable → positions of the columns that it ranges over, if not over all.
    n_columns : int
    size : int
        The number of substitutions that are counted.
    weight : float
        c: what each adds to the kernel, where it is true in both rows.
    divisors : tuple of Kernel
        Features are divided by the lengths √K(x, x) of a row in these kernels.
    """

    formula: Formula
    distinct: bool
    every_variable: bool
    ranges: dict[Variable, tuple[int, ...]]
    n_columns: int
    size: int
    weight: float = 1.0
    divisors: tuple[Kernel, ...] = ()

    @property
    def expansion(self) -> Expansion:
        """The template with its choices written out; every substitution is an instance.

        In the reading "distinct" those that are one feature, and count once, are one instance for
        formulas of at most six variables.
        """
        return expand(
            self.formula,
            self.distinct,
            self.ranges.get,
            every_substitution=True,
            every_variable=self.every_variable,
        )

    @property
    def counts_functions(self) -> bool:
        """Whether substitutions that are one Boolean function count as one."""
        leaves = self.formula.leaves
        return self.distinct and not any(isinstance(leaf, Choice) for leaf in leaves)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables of the formula, those inside choices included."""
        return self.formula.variables

    def columns_of(self, variable: Variable) -> tuple[int, ...]:
        """The columns that may stand for a variable, by position."""
        return self.ranges.get(variable, tuple(range(self.n_columns)))


def spaces_of(kernel: Kernel, rows: Any) -> list[Space]:
    """The spaces whose weighted sum a kernel is.

    Parameters
    ----------
    kernel : Kernel
        Formula kernels, families of conjunctions or disjunctions, sums, multiples and cosines of
        these, and products of formula kernels.
    rows : table of 0 and 1, or TablePair
        Its columns matter, not its rows.

    Raises
    ------
    ParameterError
        If the substitutions of the kernel cannot be named one by one.
    """
    pair = rows if isinstance(rows, TablePair) else TablePair(rows)
    if isinstance(kernel, NormalizedKernel):
        inner = kernel.kernel.within_range(pair)
        spaces = spaces_of(inner, pair)
        return [replace(space, divisors=(*space.divisors, inner)) for space in spaces]
    if isinstance(kernel, ScaledKernel):
        spaces = spaces_of(kernel.kernel, pair)
        return [replace(space, weight=space.weight * kernel.weight) for space in spaces]
    if isinstance(kernel, GradedKernel):  # on rows of 0 and 1 it is the kernel inside
        return spaces_of(kernel.kernel, pair)
    if isinstance(kernel, SumKernel):
        return [space for term in kernel.parts for space in spaces_of(term, pair)]
    if isinstance(kernel, ProductKernel):
        product = template_of_product(kernel, pair)
        factors: list[Any] = list(kernel.parts)
        size = math.prod(_size(factor, pair) for factor in factors)
        free = any(factor.variables == "free" for factor in factors)
        columns = pair.x.n_columns
        return [Space(product.formula, False, free, product.ranges, columns, size)]
    if isinstance(kernel, FormulaKernel):
        formula, ranges = template_of(kernel, pair, "")
        distinct, free = kernel.variables == "distinct", kernel.variables == "free"
        size = _size(kernel, pair)
        weight = 1.0 / size if kernel.scale == "probability" and size else 1.0
        return [Space(formula, distinct, free, ranges, pair.x.n_columns, size, weight)]
    if isinstance(kernel, CountedKernel) and kernel.features is not None:
        n = pair.x.n_columns
        kernel.diagonal_of(pair)  # the columns are enough
        total = rounded(kernel.family.total(n)) if kernel.scale == "probability" else 1.0
        return [replace(s, weight=s.weight / total) for s in _clauses(kernel.features, n)]
    raise ParameterError(
        f"the features of {kernel!r} are not listed one by one, so no column can stand for each. "
        "Use a formula kernel, a family of conjunctions or disjunctions, sums, multiples, cosines "
        "or products of formula kernels, or "
        "sklearn.kernel_approximation.Nystroem(kernel=k)."
    )


def _clauses(features: FeatureSpace, n: int) -> list[Space]:
    """The clauses of each length, and of each number of negated columns, over n columns."""
    longest = n if features.max_length is None else min(features.max_length, n)
    if longest > MAX_SLOTS:
        raise ParameterError(
            f"clauses of up to {longest} columns are not listed; at most {MAX_SLOTS} are. Use a "
            "family of shorter clauses."
        )
    row = AND if features.form == "conjunction" else OR
    spaces = []
    for length in range(features.min_length, longest + 1):
        names = [Variable(f"x{k}") for k in range(length)]
        for n_negated in range(length + 1 if features.signed else 1):
            plain = length - n_negated
            signed = [v if k < plain else ~v for k, v in enumerate(names)]
            clause: Formula = TRUE if row is AND else ~TRUE
            if signed:
                clause = Operation(row, signed) if length > 1 else signed[0]
            size = math.comb(n, length) * math.comb(length, n_negated)
            weight = features.weight(length) ** 2
            spaces.append(Space(clause, True, False, {}, n, size, weight))
    return spaces


def _size(kernel: FormulaKernel, pair: TablePair) -> int:
    """How many substitutions a formula kernel counts on these columns."""
    columns = pair.x.n_columns
    chosen = {name: pair.columns_of(name, kernel.domains) for name in kernel.program.domains}
    return kernel.dimension({n: columns if c is None else len(c) for n, c in chosen.items()})
