"""Closed forms: programs as SymPy expressions in the counts s, p, q and n."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import sympy
from sympy.core.function import AppliedUndef

from formulakern.errors import FormulaSizeError
from formulakern.program import CELLS, Program, cell_count, values_of

#: The largest number of operations in a closed form.
MAX_OPERATIONS = 2_000
#: Up to these numbers of operations and terms, the shortest of the plain, the factored and the
#: expanded form is shown.
TIDY_OPERATIONS, TIDY_TERMS = 60, 500
#: Counts of operations are capped at this number.
MAX_COUNTED_OPERATIONS = 10**18


def symbols(domain: str | None) -> dict[str, sympy.Symbol]:
    """Return the symbols s, p, q and n, with the name of a domain as subscript if given."""
    suffix = f"_{domain}" if domain else ""
    return {name: sympy.Symbol(name + suffix, integer=True, nonnegative=True) for name in "spqn"}


def closed_form(program: Program, probability: bool) -> sympy.Expr:
    """Return the kernel as an expression, divided by the dimension if ``probability``."""
    _check_length(program, program.output)
    if probability:
        _check_length(program, program.dimension)
    divide = _value(program, program.dimension) if probability else program.divisor
    expression = _value(program, program.output) / divide
    if len(program.kernel_nodes) > TIDY_OPERATIONS or _terms(program) > TIDY_TERMS:
        return expression
    forms = [expression, sympy.expand(expression), sympy.factor(expression)]
    return min(forms, key=lambda form: (sympy.count_ops(form), len(str(form))))


def _check_length(program: Program, output: int) -> None:
    operations = values_of(program, _Lengths(), [output])[0]
    if operations > MAX_OPERATIONS:
        shown = (
            f"{operations:,}"
            if operations < MAX_COUNTED_OPERATIONS
            else f"more than {MAX_COUNTED_OPERATIONS:.0e}"
        )
        raise FormulaSizeError(
            f"the closed form has {shown} operations; the limit is {MAX_OPERATIONS:,}. Look at "
            "the program in kernel.inspect() instead."
        )


def _terms(program: Program) -> int:
    """Return an upper bound on the number of terms of an expanded polynomial, else 0."""
    if program.degrees is None:
        return 0
    letters = {
        (node[1], letter)
        for node in (program.nodes[position] for position in program.kernel_nodes)
        if node.kind == "count"
        for letter in CELLS[node[2]]
        if letter.isalpha()
    }
    degree = sum(program.degrees)
    return (
        comb(degree + len(letters), len(letters))
        if degree <= TIDY_TERMS
        else MAX_COUNTED_OPERATIONS
    )


@dataclass(frozen=True)
class _Lengths:
    """The number of operations of an expression."""

    def count(self, domain: int, cell: str, used: int) -> int:  # noqa: ARG002
        return 1 + CELLS[cell].count(" ") // 2 + bool(used)

    def constant(self, value: int) -> int:
        return 1 + value.bit_length() // 64

    def sum(self, *operands: int) -> int:
        return min(sum(operands), MAX_COUNTED_OPERATIONS)

    product = sum

    def binomial(self, lower: int, operand: int) -> int:  # noqa: ARG002
        return operand + 1

    def quotient(self, divisor: int, operand: int) -> int:
        return operand + self.constant(divisor)


def on_diagonal(expression: sympy.Expr, row: str) -> sympy.Expr:
    """Return the expression for a row with itself: s, p and q become the count of that row.

    If the counts are functions of levels, s(α, β) becomes the count at the larger level.
    """
    replaced = {}
    for count in expression.atoms(AppliedUndef) | expression.free_symbols:
        letter, underscore, domain = count.name.partition("_")
        if letter in ("s", "p", "q"):
            own = symbols(domain if underscore else None)[row]
            levels = count.args and [sympy.Max(*count.args)]
            replaced[count] = sympy.Function(own.name)(*levels) if levels else own
    return expression.subs(replaced, simultaneous=True)


def _value(program: Program, output: int) -> sympy.Expr:
    return values_of(program, _Symbolic(program.domains), [output])[0]


@dataclass(frozen=True)
class _Symbolic:
    """The evaluation of a program to an expression in s, p, q and n."""

    domains: tuple[str | None, ...]

    constant = staticmethod(sympy.Integer)
    sum = staticmethod(sympy.Add)
    product = staticmethod(sympy.Mul)

    def count(self, domain: int, cell: str, used: int) -> sympy.Expr:
        return cell_count(cell, **symbols(self.domains[domain])) - used

    def binomial(self, lower: int, operand: sympy.Expr) -> sympy.Expr:
        return sympy.binomial(operand, lower)

    def quotient(self, divisor: int, operand: sympy.Expr) -> sympy.Expr:
        return operand / divisor
