"""The problems of two classes that weights of kernels are learnt from, and what is found."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.solvers.solution import Certified

__all__ = ["KernelWeights", "Task", "one_against_one"]


@dataclass(frozen=True, eq=False)
class Task:
    """Rows of two classes.

    Parameters
    ----------
    rows : intp (m,)
        Their positions in the table.
    signs : int8 (m,)
        1 and −1, both present.
    row_weights : float64 (m,)
        Positive; a row of weight 2 counts as two equal rows.
    """

    rows: npt.NDArray[np.intp]
    signs: npt.NDArray[np.int8]
    row_weights: FloatArray

    def spread(self, u: FloatArray, n_rows: int) -> FloatArray:
        """Coefficients of these rows as coefficients of all rows of the table, 0 elsewhere."""
        spread = np.zeros(n_rows)
        spread[self.rows] = u
        return spread

    def part(self, K: FloatArray) -> FloatArray:
        """The Gram matrix between these rows alone; itself where they are all there are."""
        return K if len(self.rows) == len(K) else K[np.ix_(self.rows, self.rows)]


def one_against_one(
    codes: npt.NDArray[np.integer], row_weights: FloatArray
) -> dict[tuple[int, int], Task]:
    """A task for each pair of classes, that of the larger number positive.

    Parameters
    ----------
    codes : integers (m,)
        The class of every row, as a number.
    row_weights : float64 (m,)
        Rows of weight 0 are left out.

    Returns
    -------
    dict of (int, int) to Task
        By the numbers of the positive and of the other class.

    Examples
    --------
    >>> tasks = one_against_one(np.array([0, 1, 2, 1]), np.ones(4))
    >>> [(pair, task.rows.tolist(), task.signs.tolist()) for pair, task in tasks.items()]
    [((1, 0), [0, 1, 3], [-1, 1, 1]), ((2, 0), [0, 2], [-1, 1]), ((2, 1), [1, 2, 3], [-1, 1, -1])]
    """
    found = {}
    for low, high in itertools.combinations(np.unique(codes[row_weights > 0]).tolist(), 2):
        rows = np.flatnonzero(np.isin(codes, (low, high)) & (row_weights > 0))
        signs = np.where(codes[rows] == high, 1, -1).astype(np.int8)
        found[high, low] = Task(rows, signs, row_weights[rows])
    return found


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelWeights(Certified):
    """Weights of kernels, and the proof of how good they are.

    Attributes
    ----------
    weights : float64 (R,)
        At least 0.
    coefficients : tuple of float64 (m,)
        Of each task: u with w proportional to Σ u_i φ(x_i).
    value : float
        The objective that the algorithm minimises; its documentation says which.
    lower_bound, upper_bound : float
        The smallest value there is lies between.
    gap : float
        (upper_bound − lower_bound) / upper_bound.
    iterations : int
        Rounds over the tasks.
    converged : bool
    """

    weights: FloatArray
    coefficients: tuple[FloatArray, ...]
