"""How large the numbers of a program can get: exact integers, or their lengths in bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, inf, lgamma, log, log2, prod

from formulakern.errors import MagnitudeError
from formulakern.program.node import Count, Program, fold, last

__all__ = [
    "BEYOND",
    "FLOAT64_MAX",
    "MAX_BITS",
    "as_float",
    "bits",
    "capped_choices",
    "choices",
    "dimension",
    "exact_choices",
    "upper_bound",
]

#: Exact integers of more bits than this are not computed.
MAX_BITS = 8_000_000

#: The largest finite float64, as an integer.
FLOAT64_MAX = (2**53 - 1) * 2 ** (1023 - 52)
#: Bounds beyond this are this: whoever asks for a bound compares it with the ends of a data type.
BEYOND = 1 << 4096


def as_float(value: int) -> float:
    """Return a non-negative integer as float64, infinite beyond its range.

    Examples
    --------
    >>> as_float(3), as_float(10**309)
    (3.0, inf)
    """
    return float(value) if value <= FLOAT64_MAX else inf


def dimension(program: Program, sizes: Sequence[int]) -> int:
    """Return the dimension N of the feature space for domains of these sizes, an exact integer.

    Raises
    ------
    MagnitudeError
        If it would have more than ``MAX_BITS`` bits.
    """
    length = bits(program, sizes, program.dimension)
    if length > MAX_BITS:
        raise MagnitudeError(
            f"the feature space of this formula has about 2^{length:.4g} dimensions, too large a "
            f"number to be computed exactly: at most 2^{MAX_BITS:,} are. Use a formula with fewer "
            "literals; values at scale='probability' and cosines do not need this number."
        )
    return (
        last(fold(program, _Largest(sizes, sizes, sizes), [program.dimension])) // program.divisor
    )


def choices(program: Program, sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Return how many features each choice chooses from, and how many it chooses.

    Numbers beyond ``BEYOND`` are that.
    """
    outputs = {position for position, _ in program.choices}
    algebra = _Largest(sizes, sizes, sizes, BEYOND)
    found = fold(program, algebra, sorted(outputs))
    values = {position: value for position, value in found if position in outputs}
    return [(values[position], degree) for position, degree in program.choices]


def bits(program: Program, sizes: Sequence[int], output: int | None = None) -> float:
    """Return about the largest number of bits on the way to an output, by default the kernel.

    Cost: a few additions for every operation of the program, whatever the numbers are.
    """
    wanted = [program.output if output is None else output]
    return max(length for _, length in fold(program, _Bits(sizes), wanted))


def exact_choices(n: int, lower: int) -> int:
    """Return C(n, lower), an exact integer.

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


def capped_choices(n: int, lower: int, limit: int) -> int:
    """Return min(C(n, lower), limit), also if n was capped itself.

    Examples
    --------
    >>> capped_choices(5, 2, 100), capped_choices(50, 20, 100), capped_choices(1 << 999, 99, 100)
    (10, 100, 100)
    """
    smaller = min(lower, n - lower)
    # C(n, k) is at least (n / k)^k
    if smaller > 0 and smaller * (n.bit_length() - 1 - smaller.bit_length()) > limit.bit_length():
        return limit
    return min(comb(n, lower), limit)


def upper_bound(
    program: Program, sizes: Sequence[int], most_x: Sequence[int], most_z: Sequence[int]
) -> int:
    """Return a bound for all numbers on the way to the kernel of any pair of rows.

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
    counts as 1, because the factors before it may have been multiplied already.  What is beyond
    ``BEYOND`` is that, which bounds nothing any more, and keeps the numbers on the way short.
    Cost: one evaluation with integers of at most 4,096 bits.
    """
    return max(value for _, value in fold(program, _OnTheWay(sizes, most_x, most_z, BEYOND)))


@dataclass(frozen=True)
class _Largest:
    """Integers at the largest possible counts, numbers beyond a limit as the limit."""

    sizes: Sequence[int]
    most_x: Sequence[int]
    most_z: Sequence[int]
    limit: int | None = None

    def count(self, node: Count) -> int:
        x = self.most_x[node.domain] if node.cell[0] == "1" else self.sizes[node.domain]
        z = self.most_z[node.domain] if node.cell[1] == "1" else self.sizes[node.domain]
        return max(min(x, z) - node.used, 0)

    def constant(self, value: int) -> int:
        return value

    def sum(self, operands: Sequence[int]) -> int:
        total = sum(operands)
        return total if self.limit is None else min(total, self.limit)

    def product(self, operands: Sequence[int]) -> int:
        if self.limit is None:
            return prod(operands)
        value = 1
        for factor in operands:
            value = min(value * factor, self.limit)
        return value

    def binomial(self, operand: int, lower: int) -> int:
        if self.limit is None:
            return exact_choices(operand, lower)
        return capped_choices(operand, lower, self.limit)

    def quotient(self, operand: int, divisor: int) -> int:
        return operand if operand == self.limit else -(-operand // divisor)


class _OnTheWay(_Largest):
    """The largest of the partial results of every node."""

    def product(self, operands: Sequence[int]) -> int:
        return super().product([max(factor, 1) for factor in operands])

    def binomial(self, operand: int, lower: int) -> int:
        lower = min(lower, operand // 2)  # the largest, before its last division
        return max(lower, 1) * super().binomial(operand, lower)


@dataclass(frozen=True)
class _Bits:
    """The lengths of integers in bits, as floats; at least 1, and at most ``MOST``."""

    sizes: Sequence[int]
    MOST = 1e100

    def count(self, node: Count) -> float:
        return log2(max(self.sizes[node.domain], 2))

    def constant(self, value: int) -> float:
        return float(max(value.bit_length(), 1))

    def sum(self, operands: Sequence[float]) -> float:
        return max(operands) + log2(len(operands))

    def product(self, operands: Sequence[float]) -> float:
        return min(sum(operands), self.MOST)

    def binomial(self, operand: float, lower: int) -> float:
        whole = 2.0**operand if operand < 60 else self.MOST  # C(n, k) ≤ 2ⁿ
        return min(lower * operand - lgamma(lower + 1) / log(2), whole, self.MOST)

    def quotient(self, operand: float, divisor: int) -> float:  # noqa: ARG002
        return operand
