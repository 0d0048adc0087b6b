"""A support vector machine of a kernel on rows: equal rows merged, solved, and what is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.encoding.packed import PackedTable
from formulakern.kernels.base import MatrixKernel
from formulakern.learning.kernel_machines.box_problem import BoxProblem
from formulakern.learning.kernel_machines.decomposition import DualSolution, Limits, solve_dual
from formulakern.learning.kernel_machines.kernel_rows import KernelRows
from formulakern.learning.kernel_machines.merging import merge_equal

__all__ = ["KernelExpansion", "train"]

#: A relative gap of 0.001, and no other limit.
DEFAULT = Limits()
#: Matrices of kernels of other rows than packed ones are held up to so many megabytes at least:
#: their values cost a hundred times as much.
SLOW_KERNELS = 2000.0


@dataclass(frozen=True, eq=False)
class KernelExpansion:
    """f(x) = Σ_i β_i K(x_i, x) + b, and how near to the optimum it is.

    Attributes
    ----------
    beta : float64 (n,)
        Coefficients of all rows.
    support : intp
        Rows with coefficients other than 0.
    intercept : float
    solution : DualSolution
        That of the problem without equal rows.
    """

    beta: FloatArray
    support: npt.NDArray[np.intp]
    intercept: float
    solution: DualSolution


def train(
    problem: BoxProblem,
    kernel: MatrixKernel,
    rows: Any,
    limits: Limits = DEFAULT,
    *,
    memory: float = 200.0,
    start: FloatArray | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> KernelExpansion:
    """Solve the dual problem of a kernel on rows.

    Parameters
    ----------
    problem : BoxProblem of n rows
    kernel : Kernel
    rows : PackedTable, RealTable or Strings of n rows
    limits : Limits
    memory : float
        Megabytes; a matrix of K that takes no more is held.
    start, progress
        As for :func:`.decomposition.solve_dual`; ``start`` has n entries.

    Returns
    -------
    KernelExpansion

    Examples
    --------
    >>> import formulakern as fk
    >>> from formulakern.encoding.zero_one import read_packed
    >>> from formulakern.learning.kernel_machines.box_problem import classification
    >>> table = read_packed([[1, 0], [0, 1], [1, 0]])
    >>> problem = classification(np.array([1.0, -1.0, 1.0]), np.full(3, 5.0))
    >>> found = train(problem, fk.kernel("a"), table)
    >>> found.beta, found.intercept
    (array([ 0.5, -1. ,  0.5]), 0.0)
    """
    merged = merge_equal(problem, rows)
    if not isinstance(rows, PackedTable):
        memory = max(memory, SLOW_KERNELS)
    different = rows if len(merged.first) == len(problem) else rows.take(merged.first)
    begin = None if start is None else merged.gathered(start)
    gram = KernelRows(kernel, different, memory)
    solution = solve_dual(merged.problem, gram, limits, begin, progress)
    beta = merged.spread(solution.beta)
    return KernelExpansion(beta, np.flatnonzero(beta), solution.values.intercept, solution)
