"""Building programs: equal nodes are shared, and trivial arithmetic never enters.

``0·x`` is 0, ``1·x`` and ``0 + x`` are x, constants fold, a repeated operand of a sum becomes a
product with a constant.  Sharing a number is always sound, whatever the reading; merging two
occurrences of a variable would not be, and never happens here.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from math import comb, prod

from formulakern.errors import FormulaSizeError
from formulakern.program.node import (
    Binomial,
    Constant,
    Count,
    Node,
    Product,
    Program,
    Quotient,
    Sum,
    needed,
    with_operands,
)

__all__ = ["MAX_NODES", "Builder", "check_nodes"]

#: A program with more nodes is refused while it is being built.
MAX_NODES = 2_000_000


class Builder:
    """Collects the nodes of one program.

    Parameters
    ----------
    domains : iterable of str or None
        The groups of columns that counts may refer to, by position.
    """

    def __init__(self, domains: Iterable[str | None]) -> None:
        self.domains = tuple(domains)
        self.nodes: list[Node] = []
        self._position: dict[Node, int] = {}
        self._choices: dict[tuple[int, int], None] = {}

    def count(self, domain: int, cell: str, used: int = 0) -> int:
        """Return the position of ``max(count − used, 0)``."""
        return self._add(Count(domain, cell, used))

    def constant(self, value: int) -> int:
        """Return the position of an integer."""
        return self._add(Constant(value))

    def product(self, operands: Iterable[int]) -> int:
        """Return the position of the product of nodes."""
        constants, factors = self._parted(operands)
        constant = prod(constants)
        if constant == 0:
            return self.constant(0)
        if constant != 1 or not factors:
            factors.append(self.constant(constant))
        return factors[0] if len(factors) == 1 else self._add(Product(tuple(sorted(factors))))

    def sum(self, operands: Iterable[int]) -> int:
        """Return the position of the sum of nodes."""
        constants, others = self._parted(operands)
        terms = [
            operand if repeats == 1 else self.product((operand, self.constant(repeats)))
            for operand, repeats in Counter(others).items()
        ]
        total = sum(constants)
        if total or not terms:
            terms.append(self.constant(total))
        return terms[0] if len(terms) == 1 else self._add(Sum(tuple(sorted(terms))))

    def power(self, operand: int, exponent: int) -> int:
        """Return the position of node^exponent, by repeated squaring."""
        factors = []
        while exponent:
            if exponent % 2:
                factors.append(operand)
            exponent //= 2
            if exponent:
                operand = self.product((operand, operand))
        return self.product(factors)

    def binomial(self, operand: int, lower: int) -> int:
        """Return the position of C(node, lower)."""
        node = self.nodes[operand]
        if lower == 0:
            return self.constant(1)
        if isinstance(node, Constant):
            return self.constant(comb(node.value, lower))
        return operand if lower == 1 else self._add(Binomial((operand,), lower))

    def quotient(self, operand: int, divisor: int) -> int:
        """Return the position of a node divided by an integer that divides it."""
        node = self.nodes[operand]
        if isinstance(node, Constant):
            return self.constant(node.value // divisor)
        return operand if divisor == 1 else self._add(Quotient((operand,), divisor))

    def choose(self, total: int, degree: int) -> None:
        """Note that ``degree`` of the node's value are chosen, so that it must be as large."""
        self._choices.setdefault((total, degree))

    def finish(
        self, output: int, dimension: int, degrees: Iterable[int] | None, divisor: int = 1
    ) -> Program:
        """Return the program with these outputs; nodes that neither needs are dropped.

        Where features were chosen there are no degrees.
        """
        self._position.clear()  # nothing is added any more
        nodes = self.nodes
        kept = needed(nodes, [output, dimension, *(total for total, _ in self._choices)])
        moved = array("q", bytes(8 * len(nodes)))
        for new, old in enumerate(kept):  # in place: a second list would take as much again
            moved[old] = new
            nodes[new] = with_operands(nodes[old], moved)
        del nodes[len(kept) :]
        return Program(
            tuple(nodes),
            moved[output],
            moved[dimension],
            self.domains,
            None if degrees is None or self._choices else tuple(degrees),
            divisor,
            tuple((moved[total], degree) for total, degree in self._choices),
        )

    def _parted(self, operands: Iterable[int]) -> tuple[list[int], list[int]]:
        """Return the values of the constants, and the positions of the other operands."""
        constants: list[int] = []
        others: list[int] = []
        for operand in operands:
            node = self.nodes[operand]
            if isinstance(node, Constant):
                constants.append(node.value)
            else:
                others.append(operand)
        return constants, others

    def _add(self, node: Node) -> int:
        position = self._position.setdefault(node, len(self.nodes))
        if position == len(self.nodes):
            check_nodes(position)
            self.nodes.append(node)
        return position


def check_nodes(n: int) -> None:
    """Refuse programs of more than ``MAX_NODES`` operations.

    Raises
    ------
    FormulaSizeError
    """
    if n >= MAX_NODES:
        raise FormulaSizeError(
            f"the formula needs a program of more than {MAX_NODES:,} operations. Split it into "
            "smaller formulas, or write it with fewer changes of connective: the length of a "
            "chain of one connective does not matter."
        )
