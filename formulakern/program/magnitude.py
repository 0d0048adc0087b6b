"""How large the numbers of a program can get, as exact integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, prod

from formulakern.errors import MagnitudeError
from formulakern.program.fold import fold
from formulakern.program.node import Count, Program

__all__ = ["FLOAT64_MAX", "choices", "dimension", "exact_choices", "upper_bound"]

#: Exact integers of more bits than this are not computed.
MAX_BITS = 4_000_000

#: The largest finite float64, as an integer.
FLOAT64_MAX = (2**53 - 1) * 2 ** (1023 - 52)


def dimension(program: Program, sizes: Sequence[int]) -> int:
    """The dimension N of the feature space for domains of these sizes, an exact integer."""
    values = dict(fold(program, _Largest(sizes, sizes, sizes), [program.dimension]))
    return values[program.dimension] // program.divisor


def choices(program: Program, sizes: Sequence[int]) -> list[tuple[int, int]]:
    """For every choice of features, how many there are to choose from, and how many are chosen."""
    outputs = [position for position, _ in program.choices]
    values = dict(fold(program, _Largest(sizes, sizes, sizes), outputs))
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
    All arithmetic is on non-negative numbers, and so monotone.  The bound is therefore the largest
    value that the program has on the way, evaluated at the largest possible counts.  A factor of 0
    counts as 1, because the factors before it may have been multiplied already.  Cost: one exact
    evaluation.
    """
    return max(dict(fold(program, _OnTheWay(sizes, most_x, most_z))).values())


@dataclass(frozen=True)
class _Largest:
    """Integers at the largest possible counts."""

    sizes: Sequence[int]
    most_x: Sequence[int]
    most_z: Sequence[int]

    def count(self, node: Count) -> int:
        x = self.most_x[node.domain] if node.cell[0] == "1" else self.sizes[node.domain]
        z = self.most_z[node.domain] if node.cell[1] == "1" else self.sizes[node.domain]
        return max(min(x, z) - node.used, 0)

    def constant(self, value: int) -> int:
        return value

    def sum(self, operands: Sequence[int]) -> int:
        return sum(operands)

    def product(self, operands: Sequence[int]) -> int:
        return prod(operands)

    def binomial(self, operand: int, lower: int) -> int:
        return exact_choices(operand, lower)

    def quotient(self, operand: int, divisor: int) -> int:
        return -(-operand // divisor)


class _OnTheWay(_Largest):
    """The largest of the partial results of every node."""

    def product(self, operands: Sequence[int]) -> int:
        return super().product([max(factor, 1) for factor in operands])

    def binomial(self, operand: int, lower: int) -> int:
        lower = min(lower, operand // 2)  # the largest, before its last division
        return max(lower, 1) * exact_choices(operand, lower)
