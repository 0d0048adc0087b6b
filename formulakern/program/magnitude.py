"""How large the numbers of a program can get, as exact integers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from formulakern.program.node import Constant, Count, Program, Sum

__all__ = ["FLOAT64_MAX", "dimension", "upper_bound"]

#: The largest finite float64, as an integer.
FLOAT64_MAX = (2**53 - 1) * 2 ** (1023 - 52)


def dimension(program: Program, sizes: Sequence[int]) -> int:
    """The dimension N of the feature space for domains of these sizes, an exact integer."""
    values = _values(program, program.dimension_nodes, sizes, sizes, sizes)
    return values[program.dimension] // program.divisor


def upper_bound(
    program: Program, sizes: Sequence[int], most_x: Sequence[int], most_z: Sequence[int]
) -> int:
    """No number on the way to the kernel exceeds this, for any pair of rows of two tables.

    Parameters
    ----------
    program : Program
    sizes : sequence of int
        Number of columns of every domain.
    most_x, most_z : sequence of int
        For every domain the largest number of ones in a row of x, of z.

    Notes
    -----
    All arithmetic is on non-negative numbers and so monotone: the bound is the program itself,
    evaluated at the largest possible counts (a factor of 0 counted as 1, because the factors before
    it may have been multiplied already).  Cost: one exact evaluation.
    """
    values = _values(program, program.kernel_nodes, sizes, most_x, most_z, partial=True)
    return max(values.values())


def _values(
    program: Program,
    positions: Sequence[int],
    sizes: Sequence[int],
    most_x: Sequence[int],
    most_z: Sequence[int],
    partial: bool = False,
) -> dict[int, int]:
    """The value of every node; with ``partial`` also bounds products of some of the factors."""
    values: dict[int, int] = {}
    for position in positions:
        node = program.nodes[position]
        if isinstance(node, Count):
            g = node.domain
            most = {
                "11": min(most_x[g], most_z[g]),
                "10": most_x[g],
                "1*": most_x[g],
                "01": most_z[g],
                "*1": most_z[g],
            }.get(node.cell, sizes[g])
            values[position] = max(most - node.used, 0)
        elif isinstance(node, Constant):
            values[position] = node.value
        elif isinstance(node, Sum):
            values[position] = sum(values[i] for i in node.operands)
        else:
            factors = [values[i] for i in node.operands]
            values[position] = prod(max(f, 1) for f in factors) if partial else prod(factors)
    return values
