"""A program evaluated in floating point with exponents of any size.

Where a formula is so long that its exact integers would have tens of thousands of bits, its counts
are beyond float64 and its probabilities below it, although a quotient of two of them need not be.
A number m·2ᵉ with 53 bits of m and an e of its own passes no end.  All arithmetic is on
non-negative numbers, so nothing cancels: the relative error is at most about 2⁻⁵² for every literal
and every operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.program.fold import fold
from formulakern.program.node import Count, Program, cell_count

__all__ = ["Extended", "run_extended"]

#: Beyond this difference of exponents, the smaller number is nothing beside the larger one.
APART = 2_000.0


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
        """values · 2^shift, for finite values of at least 0."""
        m, e = np.frexp(np.asarray(values, dtype=np.float64))
        return cls(m, np.where(m == 0, -np.inf, e + shift))

    @classmethod
    def of_integer(cls, value: int) -> Extended:
        """An integer of any size, to 53 bits."""
        shift = max(value.bit_length() - 64, 0)
        return cls.of(float(value >> shift), float(shift))

    def __mul__(self, other: Extended) -> Extended:
        return Extended.of(self.m * other.m, self.e + other.e)

    def __truediv__(self, other: Extended) -> Extended:
        """Other numbers than 0 divide."""
        return Extended.of(self.m / other.m, self.e - other.e)

    def __add__(self, other: Extended) -> Extended:
        top = np.maximum(np.maximum(self.e, other.e), -np.finfo(np.float64).max)
        return Extended.of(self._beside(top) + other._beside(top), top)

    def to_float(self) -> FloatArray:
        """As float64: infinite above its range, and 0 below it."""
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(self._beside(np.zeros(())))

    def _beside(self, top: FloatArray) -> FloatArray:
        """The numbers, divided by 2^top."""
        shift = np.clip(self.e - top, -APART, APART).astype(np.int64)
        return np.asarray(np.ldexp(self.m, shift))


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
    wanted = program.output if output is None else output
    *_, (_, value) = fold(program, _Numbers(s, p, q, sizes, shares), [wanted])
    return value


@dataclass(frozen=True)
class _Numbers:
    """Extended numbers at these counts."""

    s: Sequence[npt.NDArray[np.int64]]
    p: Sequence[npt.NDArray[np.int64]]
    q: Sequence[npt.NDArray[np.int64]]
    sizes: Sequence[int]
    shares: bool

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
        """A factor n − i is exact below 2⁵³; beyond, i is nothing beside n, or nearly so."""
        whole = np.minimum(operand.to_float(), 2.0**1000)
        small = whole < 2.0**60
        result = Extended.of(np.ones(()))
        for i in range(lower):
            factor = Extended.of(np.where(small, np.maximum(whole - i, 0.0), 0.0))
            m, e = np.where(small, factor.m, operand.m), np.where(small, factor.e, operand.e)
            result = result * Extended(m, e) / Extended.of(float(i + 1))
        return result

    def quotient(self, operand: Extended, divisor: int) -> Extended:
        return operand / Extended.of_integer(divisor)
