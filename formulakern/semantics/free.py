"""The reading ``free``: every occurrence of a variable is substituted independently.

No two leaves share anything, so the cells of every operation follow from those of its operands.
This is the Propositional kernel of Polato & Aiolli (2021), doi:10.3390/e23081020.
"""

from __future__ import annotations

from functools import reduce

from formulakern.program.node import Program
from formulakern.semantics.names import domain_positions
from formulakern.semantics.steps import (
    Binary,
    ChoiceStep,
    ConstantStep,
    Leaf,
    Negation,
    Step,
    append,
    program,
)
from formulakern.syntax.choice import Choice
from formulakern.syntax.formula import Constant, Formula, Variable
from formulakern.syntax.traversal import fold

__all__ = ["lower"]


def lower(formula: Formula) -> Program:
    """The program of a formula in the reading ``free``; linear in the number of its nodes."""
    domains = domain_positions(formula)
    steps: list[Step] = []

    def step(node: Formula, arguments: list[int]) -> int:
        """Append the steps of a node; returns the position of the last one."""
        if isinstance(node, Constant):
            return append(steps, ConstantStep(node.value))
        if isinstance(node, Variable):
            return append(steps, Leaf(domains[node.domain]))
        if isinstance(node, Choice):
            return append(steps, ChoiceStep(node, (fold(node.formula, step),)))
        row = node.connective
        assert row is not None
        if row.arity == 1:
            return append(steps, Negation((arguments[0],)))
        return reduce(lambda one, two: append(steps, Binary(row, (one, two))), arguments)

    root = fold(formula, step)
    return program(tuple(domains), steps, root)
