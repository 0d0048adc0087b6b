"""The reading ``free``: every occurrence of a variable is substituted independently.

No two leaves share anything, so the cells of every operation follow from those of its operands.
This is the Propositional kernel of Polato & Aiolli (2021), doi:10.3390/e23081020.
"""

from __future__ import annotations

from formulakern.program.node import Program
from formulakern.semantics.names import domain_positions
from formulakern.semantics.steps import (
    Binary,
    ChoiceStep,
    ConstantStep,
    Leaf,
    Negation,
    Step,
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
        row = node.connective
        if isinstance(node, Constant):
            steps.append(ConstantStep(node.value))
        elif isinstance(node, Variable):
            steps.append(Leaf(domains[node.domain]))
        elif isinstance(node, Choice):
            inside = fold(node.formula, step)  # at most MAX_NESTING deep
            steps.append(ChoiceStep(node, (inside,)))
        elif row is not None and row.arity == 1:
            steps.append(Negation((arguments[0],)))
        elif row is not None:
            left = arguments[0]
            for right in arguments[1:]:
                steps.append(Binary(row, (left, right)))
                left = len(steps) - 1
        return len(steps) - 1

    root = fold(formula, step)
    return program(tuple(domains), steps, root)
