"""A support vector machine of a kernel on rows: equal rows merged, solved, and what is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.encoding.packed import PackedTable
from formulakern.kernels.base import MatrixKernel
from formulakern.learning.kernel_machines.box_problem import BoxProblem
from formulakern.learning.kernel_machines.decomposition import DualSolution, Limits, solve_dual
from formulakern.learning.kernel_machines.kernel_rows import KernelRows
from formulakern.learning.kernel_machines.merging import Merged, merge_equal

__all__ = ["KernelExpansion", "Prepared", "prepare", "train"]

#: A relative gap of 0.001, and no other limit.
DEFAULT = Limits()
#: Matrices of kernels of other rows than packed ones are held up to this share of the memory that
#: is free: their values cost a hundred times as much.
SLOW_KERNELS = 0.5


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


@dataclass(frozen=True, eq=False)
class Prepared:
    """A problem without equal rows, and the rows of its matrix: it may be solved several times.

    Attributes
    ----------
    merged : Merged
    rows : KernelRows
        Of the different rows.
    """

    merged: Merged
    rows: KernelRows

    def solve(
        self,
        limits: Limits,
        *,
        factor: float = 1.0,
        near: DualSolution | None = None,
        nearer: float = 1.0,
        progress: Callable[[float, float], None] | None = None,
    ) -> KernelExpansion:
        """Solve it, with boxes times a factor.

        Parameters
        ----------
        limits : Limits
        factor : float
        near : DualSolution, optional
            A solution for other boxes, to begin with.
        nearer : float
            What its coefficients are multiplied by, so that they are in the box of this one.
        progress : callable, optional
            Called with the seconds and the relative gap.
        """
        merged, problem = self.merged, self.merged.problem
        if factor != 1.0:
            lower, upper = problem.lower * factor, problem.upper * factor
            problem = replace(problem, lower=lower, upper=upper)
        start = None
        if near is not None:
            start = (near.beta * nearer, near.products * nearer)
        solution = solve_dual(problem, self.rows, limits, start, progress)
        beta = merged.spread(solution.beta / factor) * factor
        return KernelExpansion(beta, np.flatnonzero(beta), solution.values.intercept, solution)


def prepare(problem: BoxProblem, kernel: MatrixKernel, rows: Any, memory: float) -> Prepared:
    """Merge equal rows.

    Parameters
    ----------
    problem : BoxProblem of n rows
    kernel : Kernel
    rows : PackedTable, RealTable, Strings or KernelRows of n rows
    memory : float
        Megabytes; a matrix of K that takes no more is held.
    """
    known = rows if isinstance(rows, KernelRows) else None
    table = rows.rows if isinstance(rows, KernelRows) else rows
    merged = merge_equal(problem, table)
    if not isinstance(table, PackedTable):
        import psutil  # only these kernels are worth loading it for

        memory = max(memory, SLOW_KERNELS * psutil.virtual_memory().available / 1e6)
    same = len(merged.first) == len(problem)
    if known is not None:
        return Prepared(merged, known if same else known.take(merged.first, memory))
    return Prepared(merged, KernelRows(kernel, table if same else table.take(merged.first), memory))


def train(
    problem: BoxProblem,
    kernel: MatrixKernel,
    rows: Any,
    limits: Limits = DEFAULT,
    *,
    memory: float = 200.0,
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
    progress : callable, optional
        Called with the seconds and the relative gap.

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
    return prepare(problem, kernel, rows, memory).solve(limits, progress=progress)
