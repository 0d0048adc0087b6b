"""The interpreter: a program evaluated over whole arrays of counts, exactly where asked.

With exact integers (``int64`` where nothing can overflow, Python integers otherwise) it is the
specification that every other backend must equal.  Counts of one row enter as columns and rows of
a broadcast, so what depends on one row only is computed once per row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.program.magnitude import exact_choices
from formulakern.program.node import Binomial, Constant, Count, Program, Quotient, Sum

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
    A number is dropped as soon as nothing needs it any more.
    """
    outputs = [program.output] if outputs is None else list(outputs)
    order = _order(program, outputs)
    last_use = {position: position for position in order}
    for position in order:
        node = program.nodes[position]
        for operand in node.operands:
            last_use[operand] = position
    for position in outputs:
        last_use[position] = len(program.nodes)
    dying: dict[int, list[int]] = {}
    for position, user in last_use.items():
        dying.setdefault(user, []).append(position)
    values: dict[int, Array] = {}
    for position in order:
        node = program.nodes[position]
        if isinstance(node, Count):
            value = _count(node, s, p, q, sizes, dtype)
            if weights is not None:
                value = value * weights[node.domain]
        elif isinstance(node, Constant):
            value = np.array(node.value, dtype=dtype)
        elif isinstance(node, Binomial):
            value = _binomial(values[node.operands[0]], node.lower, dtype)
        elif isinstance(node, Quotient):
            value = _quotient(values[node.operands[0]], node.divisor, dtype)
        else:
            value = values[node.operands[0]]
            for operand in node.operands[1:]:
                other = values[operand]
                value = value + other if isinstance(node, Sum) else value * other
        values[position] = value
        for dead in dying.get(position, ()):
            if dead != position:
                del values[dead]
    return [np.asarray(values[position], dtype=dtype) for position in outputs]


def _binomial(value: Array, lower: int, dtype: npt.DTypeLike) -> Array:
    """C(value, lower): exact in integers, and in float64 as long as nothing passes 2⁵³."""
    if np.dtype(dtype) == object:
        exact = np.frompyfunc(lambda n: exact_choices(n, lower), 1, 1)
        return np.asarray(exact(value), dtype=object)
    result = value
    for i in range(1, lower):  # 0 as soon as value < lower: one of the factors is
        factor = value - i
        result = result * factor
        result = result / (i + 1) if np.dtype(dtype).kind == "f" else result // (i + 1)
    return result


def _quotient(value: Array, divisor: int, dtype: npt.DTypeLike) -> Array:
    """The value divided; where it is an integer that float64 holds, that integer."""
    if np.dtype(dtype).kind != "f":
        return np.asarray(value // divisor)
    exact = value / float(divisor)
    return np.where(np.abs(exact) < 2.0**50, np.rint(exact), exact)


def _order(program: Program, outputs: Sequence[int]) -> list[int]:
    if list(outputs) == [program.output]:
        return list(program.kernel_nodes)
    needed = set(outputs)
    for position in range(max(outputs, default=-1), -1, -1):
        node = program.nodes[position]
        if position in needed:
            needed.update(node.operands)
    return sorted(needed)


def _count(
    node: Count,
    s: Sequence[Array],
    p: Sequence[Array],
    q: Sequence[Array],
    sizes: Sequence[Any],
    dtype: npt.DTypeLike,
) -> Array:
    g, n = node.domain, sizes[node.domain]
    cell = node.cell
    value: Any
    if cell == "11":
        value = s[g]
    elif cell == "10":
        value = p[g] - s[g]
    elif cell == "01":
        value = q[g] - s[g]
    elif cell == "00":
        value = (n - p[g]) - (q[g] - s[g])
    elif cell == "1*":
        value = p[g]
    elif cell == "0*":
        value = n - p[g]
    elif cell == "*1":
        value = q[g]
    elif cell == "*0":
        value = n - q[g]
    else:
        value = np.array(n)
    if node.used:
        value = np.maximum(value - node.used, 0)
    return np.asarray(value).astype(dtype)
