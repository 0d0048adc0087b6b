"""How large the numbers of a program can get, as exact integers."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, prod

from formulakern.errors import MagnitudeError
from formulakern.program.node import Binomial, Constant, Count, Program, Quotient, Sum

__all__ = ["FLOAT64_MAX", "choices", "dimension", "exact_choices", "upper_bound"]

#: Exact integers of more bits than this are not computed.
MAX_BITS = 4_000_000

#: The largest finite float64, as an integer.
FLOAT64_MAX = (2**53 - 1) * 2 ** (1023 - 52)


def dimension(program: Program, sizes: Sequence[int]) -> int:
    """The dimension N of the feature space for domains of these sizes, an exact integer."""
    values = _values(program, program.dimension_nodes, sizes, sizes, sizes)
    return values[program.dimension] // program.divisor


def choices(program: Program, sizes: Sequence[int]) -> list[tuple[int, int]]:
    """For every choice of features, how many there are to choose from, and how many are chosen."""
    values = _values(program, program.choice_nodes, sizes, sizes, sizes)
    return [(values[position], degree) for position, degree in program.choices]


def exact_choices(n: int, lower: int) -> int:
    """C(n, lower), an exact integer.

    Raises
    ------
    MagnitudeError
        If it would have more than ``MAX_BITS`` bits.
    """
    smaller = min(lower, n - lower)
    if smaller > 0 and smaller * (n.bit_length() - smaller.bit_length() + 1) > MAX_BITS:
        raise MagnitudeError(
            f"the number of choices of {lower:,} out of a number of {n.bit_length():,} bits is too "
            "large to be computed. Choose fewer features, or nest fewer choices."
        )
    return comb(n, lower)


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
        elif isinstance(node, Quotient):
            values[position] = -(-values[node.operands[0]] // node.divisor)
        elif isinstance(node, Binomial):
            n = values[node.operands[0]]
            if partial:  # the largest on the way, before its last division
                lower = min(node.lower, n // 2)
                values[position] = max(lower, 1) * exact_choices(n, lower)
            else:
                values[position] = exact_choices(n, node.lower)
        else:
            factors = [values[i] for i in node.operands]
            values[position] = prod(max(f, 1) for f in factors) if partial else prod(factors)
    return values
