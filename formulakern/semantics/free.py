"""The reading ``free``: every occurrence of a variable is substituted independently.

No two leaves share anything, so the cells of every operation follow from those of its operands.
This is the Propositional kernel of Polato & Aiolli (2021), doi:10.3390/e23081020.
"""

from __future__ import annotations

from formulakern.program.program import Program
from formulakern.semantics.steps import Negation, Steps
from formulakern.syntax.formula import Formula
from formulakern.syntax.traversal import fold

__all__ = ["lower"]


def lower(formula: Formula) -> Program:
    """Return the program of a formula in the reading ``free``; linear in its nodes."""
    steps = Steps(formula)

    def read(part: Formula) -> int:
        return fold(part, step)

    def step(node: Formula, arguments: list[int]) -> int:
        """Append the steps of a node; returns the position of the last one."""
        row = node.connective
        if row is None:
            return steps.leaf(node, read)
        if row.arity == 1:
            return steps.add(Negation((arguments[0],)))
        return steps.chain(row, arguments, steps.binary)

    return steps.program(read(formula))
