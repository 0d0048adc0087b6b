"""Equal rows as one: their boxes add up, and the solution is divided among them again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.encoding.packed import PackedTable
from formulakern.learning.kernel_machines.box_problem import BoxProblem

__all__ = ["Merged", "merge_equal"]


@dataclass(frozen=True, eq=False)
class Merged:
    """A problem without equal rows.

    Attributes
    ----------
    problem : BoxProblem of m rows
    first : intp (m,)
        A row of the whole problem for each.
    kind : intp (n,)
        Which of the m every row is.
    whole : BoxProblem of n rows
    """

    problem: BoxProblem
    first: npt.NDArray[np.intp]
    kind: npt.NDArray[np.intp]
    whole: BoxProblem

    def spread(self, beta: FloatArray) -> FloatArray:
        """The coefficients of all rows: each has the same share of its box as the merged row."""
        room = np.where(beta > 0, self.problem.upper, self.problem.lower)
        share = np.divide(beta, room, out=np.zeros_like(beta), where=room != 0)[self.kind]
        own = np.where(share * room[self.kind] > 0, self.whole.upper, self.whole.lower)
        return np.asarray(share * own)

    def gathered(self, beta: FloatArray) -> FloatArray:
        """The coefficients of the merged rows, the sums of those of all."""
        return np.asarray(np.bincount(self.kind, beta, len(self.first)), dtype=np.float64)


def merge_equal(problem: BoxProblem, rows: Any) -> Merged:
    """Rows with equal entries and equal p as one row with the sum of their boxes.

    The optimum is the same: equal rows have equal K and f, so only the sum of their coefficients
    counts.  Rows of tables that are not packed stay as they are.

    Parameters
    ----------
    problem : BoxProblem of n rows
    rows : PackedTable, RealTable or Strings of n rows

    Notes
    -----
    One sort of the rows.

    Examples
    --------
    >>> from formulakern.learning.kernel_machines.box_problem import classification
    >>> table = PackedTable.of_rows(np.array([[1], [2], [1]], dtype=np.uint64), 2)
    >>> merged = merge_equal(classification(np.array([1.0, -1.0, 1.0]), np.ones(3)), table)
    >>> merged.problem.upper, merged.spread(np.array([1.0, -1.0]))
    (array([2., 0.]), array([ 0.5, -1. ,  0.5]))
    """
    n = len(problem)
    everything = np.arange(n)
    if not isinstance(rows, PackedTable):
        return Merged(problem, everything, everything, problem)
    _, entries = rows.distinct()
    _, target = np.unique(problem.linear, return_inverse=True)
    _, first, kind = np.unique(
        entries * (int(target.max(initial=0)) + 1) + target, return_index=True, return_inverse=True
    )
    if len(first) == n:
        return Merged(problem, everything, everything, problem)
    kind = kind.astype(np.intp)
    boxes = np.array([np.bincount(kind, box) for box in (problem.lower, problem.upper)])
    merged = replace(problem, linear=problem.linear[first], lower=boxes[0], upper=boxes[1])
    return Merged(merged, first.astype(np.intp), kind, problem)
