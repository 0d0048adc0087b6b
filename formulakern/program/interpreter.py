"""A program evaluated over whole arrays of counts, exactly where asked.

With exact integers (``int64`` where nothing can overflow, Python integers otherwise) this is the
specification that all compiled code must equal.  Counts of one row enter as the columns and rows of
a broadcast, so what depends on one row only is computed once per row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from operator import add, mul
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.program.magnitude import as_float, capped_choices, exact_choices
from formulakern.program.node import (
    Count,
    Program,
    cell_count,
    fold,
)

__all__ = ["MAX_BYTES", "run"]

#: The numbers on the way take about so much memory: longer arrays are evaluated in parts.
MAX_BYTES = 1 << 28

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
    limit: int | None = None,
    number_bytes: float = 8.0,
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
    limit : int, optional
        For Python integers: larger numbers become this one.
    number_bytes : float
        About how many bytes a number takes.

    Returns
    -------
    list of ndarray
        The values, in broadcast shape or smaller.

    Notes
    -----
    An array is dropped as soon as nothing needs it any more.  Where all that are needed at a time
    would take more than ``MAX_BYTES``, the counts are taken in parts.
    """
    wanted = [program.output] if outputs is None else list(outputs)
    counts = (s, p, q)
    shape = np.broadcast_shapes(*(array.shape for arrays in counts for array in arrays))
    together = max(1, int(MAX_BYTES / (number_bytes * program.width)))
    if prod(shape) > together:
        flat = [[np.broadcast_to(a, shape).reshape(-1) for a in arrays] for arrays in counts]
        parts = []
        for start in range(0, prod(shape), together):
            some = slice(start, min(start + together, prod(shape)))
            here = [[array[some] for array in arrays] for arrays in flat]
            rest = (sizes, dtype, wanted, weights, limit, number_bytes)
            found = run(program, here[0], here[1], here[2], *rest)
            parts.append([np.broadcast_to(value, some.stop - some.start) for value in found])
        return [np.concatenate(values).reshape(shape) for values in zip(*parts, strict=True)]
    values: dict[int, Array] = dict.fromkeys(wanted, np.empty(0))
    for position, value in fold(program, _Arrays(s, p, q, sizes, dtype, weights, limit), outputs):
        if position in values:
            values[position] = value
    return [np.asarray(values[position], dtype=dtype) for position in wanted]


@dataclass(frozen=True)
class _Arrays:
    """Arrays of one dtype, at these counts.

    Arithmetic on arrays of Python integers without axes returns a bare integer, for which NumPy
    would choose a machine type: what makes an array of one names the dtype.
    """

    s: Sequence[Array]
    p: Sequence[Array]
    q: Sequence[Array]
    sizes: Sequence[Any]
    dtype: npt.DTypeLike
    weights: Sequence[float] | None
    limit: int | None

    def count(self, node: Count) -> Array:
        g = node.domain
        value = cell_count(node.cell, self.s[g], self.p[g], self.q[g], self.sizes[g])
        if node.used:
            value = np.maximum(value - node.used, 0)
        value = np.asarray(value).astype(self.dtype)  # to Python integers where it is object
        return value if self.weights is None else value * self.weights[g]

    def constant(self, value: int) -> Array:
        return np.array(as_float(value) if self._floating else value, dtype=self.dtype)

    def sum(self, operands: Sequence[Array]) -> Array:
        return self._limited(reduce(add, operands))

    def product(self, operands: Sequence[Array]) -> Array:
        if self.limit is None:
            return reduce(mul, operands)
        return reduce(lambda one, two: self._limited(one * two), operands)

    def binomial(self, operand: Array, lower: int) -> Array:
        """Return C(operand, lower): exact in integers, and in float64 up to 2⁵³."""
        if np.dtype(self.dtype) == object:
            limit = self.limit
            exact = np.frompyfunc(
                (lambda n: exact_choices(n, lower))
                if limit is None
                else (lambda n: capped_choices(n, lower, limit)),
                1,
                1,
            )
            return np.asarray(exact(operand), dtype=object)
        result = operand
        for i in range(1, lower):  # 0 as soon as operand < lower: one of the factors is
            result = result * (operand - i)
            result = result / (i + 1) if self._floating else result // (i + 1)
        return result

    def quotient(self, operand: Array, divisor: int) -> Array:
        """Return the quotient, rounded to an integer if float64 holds it."""
        if not self._floating:
            return np.asarray(operand // divisor, dtype=self.dtype)
        value = operand / as_float(divisor)  # a finite multiple of what is infinite is 0
        return np.where(np.abs(value) < 2.0**50, np.rint(value), value)

    def _limited(self, values: Array) -> Array:
        if self.limit is None:
            return values
        limit = np.array(self.limit, dtype=object)
        return np.asarray(np.minimum(values, limit), dtype=object)

    @property
    def _floating(self) -> bool:
        return np.dtype(self.dtype).kind == "f"
