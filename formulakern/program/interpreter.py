"""A program evaluated over whole arrays of counts, exactly where asked.

With exact integers (``int64`` where nothing can overflow, Python integers otherwise) this is the
specification that all compiled code must equal.  Counts of one row enter as the columns and rows of
a broadcast, so what depends on one row only is computed once per row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add, mul
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.program.fold import fold
from formulakern.program.magnitude import exact_choices
from formulakern.program.node import (
    Count,
    Program,
    cell_count,
)

__all__ = ["run"]

Array = npt.NDArray[Any]


def run(
    program: Program,
    s: Sequence[Array],
    p: Sequence[Array],
    q: Sequence[Array],
    sizes: Sequence[Any],
    dtype: npt.DTypeLike,
    outputs: Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
) -> list[Array]:
    """Evaluate a program on arrays of counts, one array per domain.

    Parameters
    ----------
    program : Program
    s, p, q : sequence of ndarray
        For every domain ⟨x,z⟩, ⟨x,x⟩ and ⟨z,z⟩; shapes broadcast against each other.
    sizes : sequence of int
        Numbers of columns.
    dtype : dtype
        ``object`` for Python integers, ``int64``, or ``float64``.
    outputs : sequence of int, optional
        Positions of the nodes wanted; the kernel's own output (not divided) by default.
    weights : sequence of float, optional
        For every domain a number that each count is multiplied by.

    Returns
    -------
    list of ndarray
        The values, in broadcast shape or smaller.

    Notes
    -----
    An array is dropped as soon as nothing needs it any more.
    """
    wanted = [program.output] if outputs is None else list(outputs)
    values: dict[int, Array] = dict.fromkeys(wanted, np.empty(0))
    for position, value in fold(program, _Arrays(s, p, q, sizes, dtype, weights), outputs):
        if position in values:
            values[position] = value
    return [np.asarray(values[position], dtype=dtype) for position in wanted]


@dataclass(frozen=True)
class _Arrays:
    """Arrays of one dtype, at these counts."""

    s: Sequence[Array]
    p: Sequence[Array]
    q: Sequence[Array]
    sizes: Sequence[Any]
    dtype: npt.DTypeLike
    weights: Sequence[float] | None

    def count(self, node: Count) -> Array:
        g = node.domain
        value = cell_count(node.cell, self.s[g], self.p[g], self.q[g], self.sizes[g])
        if node.used:
            value = np.maximum(value - node.used, 0)
        value = np.asarray(value).astype(self.dtype)
        return value if self.weights is None else value * self.weights[g]

    def constant(self, value: int) -> Array:
        return np.array(value, dtype=self.dtype)

    def sum(self, operands: Sequence[Array]) -> Array:
        return reduce(add, operands)

    def product(self, operands: Sequence[Array]) -> Array:
        return reduce(mul, operands)

    def binomial(self, operand: Array, lower: int) -> Array:
        """Exact in integers, and in float64 as long as nothing passes 2⁵³."""
        if np.dtype(self.dtype) == object:
            exact = np.frompyfunc(lambda n: exact_choices(n, lower), 1, 1)
            return np.asarray(exact(operand), dtype=object)
        result = operand
        for i in range(1, lower):  # 0 as soon as operand < lower: one of the factors is
            result = result * (operand - i)
            result = result / (i + 1) if self._floating else result // (i + 1)
        return result

    def quotient(self, operand: Array, divisor: int) -> Array:
        """Where the quotient is an integer that float64 holds, that integer."""
        if not self._floating:
            return np.asarray(operand // divisor)
        value = operand / float(divisor)
        return np.where(np.abs(value) < 2.0**50, np.rint(value), value)

    @property
    def _floating(self) -> bool:
        return np.dtype(self.dtype).kind == "f"
