"""The interpreter: exact integers, in int64 where that suffices, else in Python's own.

It is the specification that every other backend must equal, for whole tables or for chosen counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.backends.base import BlockWriter, Support, Task
from formulakern.backends.block_writers import CountWriter
from formulakern.backends.tables import PairedTables
from formulakern.errors import MagnitudeError
from formulakern.program.values import run

__all__ = ["InterpreterBackend", "exact_dtype", "exact_values", "too_large"]

Counts = npt.NDArray[np.int64]


class InterpreterBackend:
    """Exact integers for every pair, rounded once, in NumPy; needs no compiler.

    Where they would have more than ``MAX_EXACT_BITS`` bits, floating point with exponents of any
    size: see :class:`formulakern.program.values.Extended`.
    """

    name = "interpreter"

    def supports(self, task: Task) -> Support:
        """Always."""
        if task.exact:
            return Support(True, "exact integers for every pair")
        return Support(
            True,
            f"integers of {task.bits:.3g} bits are too long for every pair: "
            "53 bits, and exponents of any size",
        )

    def size(self, task: Task) -> float:
        """Counting takes 3 ns a word; an operation takes 1 ns, and more on long integers."""
        operation = 1.1 if exact_dtype(task) is np.int64 else 60.0 + min(task.bits / 64, 100.0)
        words = int(task.tables.spans[-1])
        return task.n_pairs * (3 + 3 * words + operation * len(task.program.kernel_nodes))

    def compile(self, task: Task) -> BlockWriter:
        """Nothing to compile."""
        dtype = exact_dtype(task)

        def values(tables: PairedTables, _: object, rows: slice, columns: slice) -> FloatArray:
            s = tables.joint_counts(rows, columns)
            p = [counts[rows][:, None] for counts in tables.x_counts]
            q = [counts[columns][None, :] for counts in tables.z_counts]
            return exact_values(task, list(s), p, q, dtype)

        return CountWriter(task.tables, (), (), values, task.largest)


def exact_dtype(task: Task) -> type[Any]:
    """``int64`` if no number can pass it, else ``object`` for Python integers."""
    return np.int64 if task.bound < 2**63 else object


def exact_values(
    task: Task,
    s: Sequence[Counts],
    p: Sequence[Counts],
    q: Sequence[Counts],
    dtype: type[Any],
    refuse: bool = True,
) -> FloatArray:
    """The kernel for arrays of counts, computed in integers and rounded once.

    Integers of more than ``MAX_EXACT_BITS`` bits are computed to 53 of them, with a relative error
    of at most about 2⁻⁵² for every literal and every operation.  With ``refuse=False`` values
    outside the range of float64 become infinite or not a number.

    Raises
    ------
    MagnitudeError
        If a value does not fit into float64 at this scale.
    """
    shape = np.broadcast_shapes(*(a.shape for counts in (s, p, q) for a in counts))
    if dtype is object and not task.exact:
        rounded, zero = task.extended(s, p, q)
    else:
        ss, pp, qq = ([array.astype(dtype) for array in counts] for counts in (s, p, q))
        number_bytes = 8 if dtype is np.int64 else 40 + task.bits / 8
        value = run(
            *(task.program, ss, pp, qq, task.tables.sizes, dtype),
            limit=task.limit if dtype is object else None,
            number_bytes=number_bytes,
        )[0]
        rounded, zero = task.rounded(value), value == 0
    if refuse and np.isinf(rounded).any():
        raise too_large(task)
    if task.scale == "probability":
        lost = ~zero & (rounded < np.finfo(np.float64).tiny)
        if np.any(lost) and not refuse:
            rounded[lost] = np.nan
        elif np.any(lost):
            raise MagnitudeError(
                "a kernel value is below 2.2e-308 at scale='probability', where float64 ends: "
                "too few of the substitutions are true in both rows. "
                "Use scale='count', or a formula with fewer literals."
            )
    return np.broadcast_to(rounded, shape)


def too_large(task: Task) -> MagnitudeError:
    """The error for values beyond float64."""
    return MagnitudeError(
        f"a kernel value of this formula on {max(task.tables.sizes, default=0):,} columns is "
        "beyond 1.8e308, the end of float64. Use scale='probability' (the share of substitutions "
        "that are true in both rows), or kernel.normalized()."
    )
