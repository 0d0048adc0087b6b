"""The ``free`` reading: every occurrence of a variable ranges over the columns by itself.

Names do not matter, no two leaves share anything, and every operation combines joint counts by
its truth table (THEORY §2).  This is the Propositional kernel as published.
"""

from __future__ import annotations

from formulakern.program.builder import Builder
from formulakern.program.node import Program
from formulakern.semantics.domains import domain_positions
from formulakern.semantics.steps import (
    Binary,
    ChoiceStep,
    ConstantStep,
    Leaf,
    Negation,
    Step,
    emit,
)
from formulakern.syntax.choice import Choice
from formulakern.syntax.formula import Constant, Formula, Variable
from formulakern.syntax.traversal import fold, postorder

__all__ = ["lower"]


def lower(formula: Formula) -> Program:
    """The program of a formula in the free reading; linear in the number of leaves."""
    domains = domain_positions(formula)
    steps: list[Step] = []
    root = _read(formula, domains, steps)

    def degree(node: Formula, parts: list[list[int]]) -> list[int]:
        if isinstance(node, Variable):
            return [int(domains[node.domain] == g) for g in range(len(domains))]
        return [sum(part[g] for part in parts) for g in range(len(domains))]

    degrees: list[int] = fold(formula, degree)
    builder = Builder(domains)
    output, dimension = emit(builder, steps, root, ("11", "**"))
    return builder.finish(output, dimension, degrees)


def _read(formula: Formula, domains: dict[str | None, int], steps: list[Step]) -> int:
    """Append the steps of a formula; returns the position of the last one."""
    position: dict[int, int] = {}
    for node in postorder(formula):
        if isinstance(node, Constant):
            steps.append(ConstantStep(node.value))
        elif isinstance(node, Variable):
            steps.append(Leaf(domains[node.domain]))
        elif isinstance(node, Choice):
            inside = _read(node.formula, domains, steps)  # at most MAX_NESTING deep
            steps.append(ChoiceStep(node, inside))
        elif node.connective is not None and node.connective.arity == 1:
            steps.append(Negation(position[id(node.arguments[0])]))
        elif node.connective is not None:
            left = position[id(node.arguments[0])]
            for argument in node.arguments[1:]:
                steps.append(Binary(node.connective, left, position[id(argument)]))
                left = len(steps) - 1
        position[id(node)] = len(steps) - 1
    return position[id(formula)]
