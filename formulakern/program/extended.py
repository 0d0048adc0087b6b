"""A program evaluated in floating point with exponents of any size.

Where a formula is so long that its exact integers would have tens of thousands of bits, its counts
are beyond float64 and its probabilities below it, although a quotient of two of them need not be.
A number m·2ᵉ with 53 bits of m and an e of its own passes no end.  All arithmetic is on
non-negative numbers, so nothing cancels: the relative error is at most about 2⁻⁵² for every literal
and every operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.program.node import Count, Program, cell_count, fold, last

__all__ = ["Extended", "run_extended"]

#: Beyond this difference of exponents, the smaller number is nothing beside the larger one.
APART = 2_000.0
#: The exponent of 0, where a finite one is wanted.
LEAST = -np.finfo(np.float64).max
#: Factors of a binomial that are multiplied in float64: 16 numbers below 2⁶⁰ have a product.
TOGETHER = 16
#: Every so many of them what was multiplied is kept, for binomials of the same number with more.
STRIDE = 64
#: What is kept is dropped when it is of more numbers, or has more of their binomials, than this.
MOST_OPERANDS, MOST_NUMBERS = 64, 1 << 22


@dataclass(frozen=True, eq=False)
class Extended:
    """The numbers m · 2ᵉ.

    Parameters
    ----------
    m : float64
        0, or from 0.5 to 1.
    e : float64
        Whole numbers; minus infinity for 0.

    Examples
    --------
    >>> large = Extended.of(np.array([0.0, 10.0])) * Extended.of(1e300) * Extended.of(1e300)
    >>> (large / Extended.of(1e299) / Extended.of(1e299)).to_float()
    array([   0., 1000.])
    """

    m: FloatArray
    e: FloatArray

    @classmethod
    def of(cls, values: npt.ArrayLike, shift: FloatArray | float = 0.0) -> Extended:
        """Return values · 2^shift, for finite values of at least 0."""
        m, e = np.frexp(np.asarray(values, dtype=np.float64))
        return cls(m, np.where(m == 0, -np.inf, e + shift))

    @classmethod
    def of_integer(cls, value: int) -> Extended:
        """Return an integer of any size, to 53 bits."""
        shift = max(value.bit_length() - 64, 0)
        return cls.of(float(value >> shift), float(shift))

    def __mul__(self, other: Extended) -> Extended:
        return Extended.of(self.m * other.m, self.e + other.e)

    def __truediv__(self, other: Extended) -> Extended:
        """Divide by numbers other than 0."""
        return Extended.of(self.m / other.m, self.e - other.e)

    def __add__(self, other: Extended) -> Extended:
        top = np.maximum(np.maximum(self.e, other.e), LEAST)
        return Extended.of(self._below(top) + other._below(top), top)

    def to_float(self) -> FloatArray:
        """Return float64 numbers: infinite above its range, and 0 below it."""
        with np.errstate(over="ignore", under="ignore"):
            return Extended(self.m, np.minimum(self.e, APART))._below(0.0)

    def _below(self, top: FloatArray | float) -> FloatArray:
        """Return the numbers, divided by 2^top, a power that is not much below any of them."""
        shift = np.maximum(self.e - top, -APART)
        return np.asarray(np.ldexp(self.m, shift.astype(np.int32)))


def run_extended(
    program: Program,
    s: Sequence[npt.NDArray[np.int64]],
    p: Sequence[npt.NDArray[np.int64]],
    q: Sequence[npt.NDArray[np.int64]],
    sizes: Sequence[int],
    output: int | None = None,
    shares: bool = False,
) -> Extended:
    """Evaluate a program on arrays of counts, as :func:`.interpreter.run` does.

    Returns
    -------
    Extended
        The values of one output, by default the kernel's own (not divided).

    Notes
    -----
    With ``shares`` every count is divided by the number of columns of its domain.
    """
    outputs = None if output is None else [output]
    return last(fold(program, _Numbers(s, p, q, sizes, shares), outputs))


@dataclass(frozen=True)
class _Numbers:
    """Extended numbers at these counts."""

    s: Sequence[npt.NDArray[np.int64]]
    p: Sequence[npt.NDArray[np.int64]]
    q: Sequence[npt.NDArray[np.int64]]
    sizes: Sequence[int]
    shares: bool
    #: By the id of n: n, and some of its binomials.
    binomials: dict[int, tuple[Extended, list[Extended]]] = field(default_factory=dict)

    def count(self, node: Count) -> Extended:
        g = node.domain
        value = cell_count(node.cell, self.s[g], self.p[g], self.q[g], self.sizes[g])
        value = np.maximum(value - node.used, 0)
        return Extended.of(value / max(self.sizes[g], 1) if self.shares else value)

    def constant(self, value: int) -> Extended:
        return Extended.of_integer(value)

    def sum(self, operands: Sequence[Extended]) -> Extended:
        return reduce(Extended.__add__, operands)

    def product(self, operands: Sequence[Extended]) -> Extended:
        return reduce(Extended.__mul__, operands)

    def binomial(self, operand: Extended, lower: int) -> Extended:
        """Return the product of the factors (n − i) / (i + 1), begun where others ended."""
        begun = self._begun(operand)
        start = min(lower // STRIDE, len(begun) - 1)
        result = begun[start]
        for i in range(start * STRIDE, lower, TOGETHER):
            after = min(i + TOGETHER, lower)
            result = result * _factors(operand, i, after)
            if after % STRIDE == 0:
                begun.append(result)
        return result

    def _begun(self, operand: Extended) -> list[Extended]:
        """Return C(n, i) for i = 0, STRIDE, 2·STRIDE, …, as far as they are known."""
        numbers = sum(n.m.size * len(begun) for n, begun in self.binomials.values())
        if len(self.binomials) > MOST_OPERANDS or numbers > MOST_NUMBERS:
            self.binomials.clear()
        one = Extended.of(np.ones(()))
        return self.binomials.setdefault(id(operand), (operand, [one]))[1]

    def quotient(self, operand: Extended, divisor: int) -> Extended:
        return operand / Extended.of_integer(divisor)


def _factors(n: Extended, start: int, stop: int) -> Extended:
    """Return the product of (n − i) / (i + 1); i is negligible if n is beyond 2⁶⁰."""
    i = np.arange(start, stop, dtype=np.float64)
    whole = np.minimum(n.to_float(), 2.0**1000)
    small = whole < 2.0**60
    ratios = np.maximum(np.where(small, whole, 0.0)[..., None] - i, 0.0) / (i + 1)
    here = Extended.of(np.prod(ratios, axis=-1))
    if small.all():
        return here
    there = Extended.of(n.m ** len(i) / np.prod(i + 1), n.e * len(i))
    return Extended(np.where(small, here.m, there.m), np.where(small, here.e, there.e))
