"""Closed forms: a program as a SymPy expression in the counts s, p, q and n."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sympy
from sympy.core.function import AppliedUndef

from formulakern.errors import FormulaSizeError
from formulakern.program.fold import fold
from formulakern.program.node import (
    Count,
    Program,
    cell_count,
)

__all__ = ["MAX_OPERATIONS", "closed_form", "on_diagonal", "symbols"]

#: Programs with more operations are not written out symbolically.
MAX_OPERATIONS = 2_000
#: Shorter programs are tried in factored and in expanded form, and the shortest is shown.
TIDY_OPERATIONS = 60


def symbols(domain: str | None) -> dict[str, sympy.Symbol]:
    """The symbols s, p, q, n; with a domain, each carries its name as a subscript."""
    suffix = f"_{domain}" if domain else ""
    return {name: sympy.Symbol(name + suffix, integer=True, nonnegative=True) for name in "spqn"}


def closed_form(program: Program, probability: bool) -> sympy.Expr:
    """The kernel as an expression; divided by the dimension if ``probability``.

    Raises
    ------
    FormulaSizeError
        If the program has more than ``MAX_OPERATIONS`` operations.
    """
    if len(program.kernel_nodes) > MAX_OPERATIONS:
        raise FormulaSizeError(
            f"a program of {len(program.kernel_nodes):,} operations is not written out in closed "
            f"form; at most {MAX_OPERATIONS:,} are. Look at kernel.inspect() instead."
        )
    divide = _value(program, program.dimension) if probability else program.divisor
    expression = _value(program, program.output) / divide
    if len(program.kernel_nodes) > TIDY_OPERATIONS:
        return expression
    forms = [expression, sympy.expand(expression), sympy.factor(expression)]
    return min(forms, key=lambda form: (sympy.count_ops(form), len(str(form))))


def on_diagonal(expression: sympy.Expr, row: str) -> sympy.Expr:
    """The expression for a row with itself: s, p and q all become the count of that row.

    Where they are functions of the levels of two rows, s(α, β) becomes the count at the larger one.
    """
    replaced = {}
    for function in expression.atoms(AppliedUndef):
        letter, underscore, domain = function.func.__name__.partition("_")
        if letter in ("s", "p", "q"):
            count = sympy.Function(row + underscore + domain)
            replaced[function] = count(sympy.Max(*function.args))
    for symbol in expression.free_symbols:
        letter, underscore, domain = symbol.name.partition("_")
        if letter in ("s", "p", "q"):
            replaced[symbol] = symbols(domain if underscore else None)[row]
    return expression.subs(replaced, simultaneous=True)


def _value(program: Program, output: int) -> sympy.Expr:
    return dict(fold(program, _Symbolic(program.domains), [output]))[output]


@dataclass(frozen=True)
class _Symbolic:
    """Expressions in s, p, q and n."""

    domains: tuple[str | None, ...]

    def count(self, node: Count) -> sympy.Expr:
        return cell_count(node.cell, **symbols(self.domains[node.domain])) - node.used

    def constant(self, value: int) -> sympy.Expr:
        return sympy.Integer(value)

    def sum(self, operands: Sequence[sympy.Expr]) -> sympy.Expr:
        return sympy.Add(*operands)

    def product(self, operands: Sequence[sympy.Expr]) -> sympy.Expr:
        return sympy.Mul(*operands)

    def binomial(self, operand: sympy.Expr, lower: int) -> sympy.Expr:
        return sympy.binomial(operand, lower)

    def quotient(self, operand: sympy.Expr, divisor: int) -> sympy.Expr:
        return operand / divisor
