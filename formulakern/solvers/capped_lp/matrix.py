"""The matrix A + shift of a linear program: dense by blocks of rows, or by its nonzero entries.

The sum is not written out where that would cost memory.  A rough solution is found in single
precision, which halves time and memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.compilation import compiled
from formulakern.deadline import UNLIMITED, Deadline

__all__ = ["Dense", "Matrix", "Sparse", "matrix_of"]

#: Up to so many bytes A is turned to floats once; else so many rows whenever needed.
KEPT_BYTES = 1 << 28
BLOCK = 16_384
#: Below this share of nonzero entries, sums over them are faster than BLAS over all.
SPARSE = 0.2
#: From this tolerance on, single precision does.
ROUGH = 1e-4
#: What is above this, squared and summed up, would overflow in single precision.
HUGE = 1e15
#: Smaller matrices stay dense: there is nothing to be gained.
SMALL = 1 << 16


@compiled("void(int64[::1], int32[::1], float64[::1], float64[::1], float64[:, ::1])")
def rows_normal(starts: Any, places: Any, entries: Any, d: Any, out: Any) -> None:
    """The upper triangle of ``out += Aᵀ diag(d) A``.

    Parameters
    ----------
    starts : int64 (n + 1,)
    places : int32 (nonzeros,)
        ``places[starts[i]:starts[i + 1]]`` are the columns of row i's nonzero entries, increasing.
    entries : float64 (nonzeros,)
        These entries.
    d : float64 (n,)
    out : float64 (k, k)
        Changes in place.
    """
    for i in range(len(d)):
        for e in range(starts[i], starts[i + 1]):
            weight = entries[e] * d[i]
            row = out[places[e]]
            for f in range(e, starts[i + 1]):
                row[places[f]] += weight * entries[f]


class Dense:
    """A + shift by BLAS; bytes are turned to floats block by block if there are many.

    Parameters
    ----------
    A : ndarray of shape (n, k)
    shift : float
    dtype : type
        What it is multiplied in: float32 or float64.
    """

    def __init__(
        self, A: NDArray[Any], shift: float, dtype: type[np.floating[Any]] = np.float64
    ) -> None:
        self.A, self.shift, self.dtype = A, dtype(shift), dtype
        self.shape = (A.shape[0], A.shape[1])
        #: Relative error of the entries of :meth:`normal`.
        self.rounding = 4e-7 if dtype is np.float32 else 1e-14
        if A.size * self.shift.itemsize <= KEPT_BYTES:
            self.A, self.shift = A.astype(dtype) + self.shift, dtype(0.0)

    def _blocks(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        for first in range(0, len(self.A), BLOCK):
            rows = slice(first, first + BLOCK)
            block = self.A[rows].astype(self.dtype, copy=False)
            yield rows, block + self.shift if self.shift else block

    def sizes(self) -> FloatArray:
        """Σ_i |A_ik + shift|, or a little more, shape (k,)."""
        return np.asarray(sum(np.abs(block).sum(axis=0) for _, block in self._blocks()), np.float64)

    def product(self, x: FloatArray) -> FloatArray:
        """(A + shift) x, shape (n,)."""
        x = x.astype(self.dtype)
        return np.concatenate([block @ x for _, block in self._blocks()], dtype=np.float64)

    def transposed(self, y: FloatArray) -> FloatArray:
        """(A + shift)ᵀ y, shape (k,)."""
        result, y = np.zeros(self.shape[1]), y.astype(self.dtype)
        for rows, block in self._blocks():
            result += y[rows] @ block
        return result

    def normal(self, d: FloatArray, deadline: Deadline = UNLIMITED) -> FloatArray:
        """(A + shift)ᵀ diag(d) (A + shift), shape (k, k), for d ≥ 0 of shape (n,)."""
        result = np.zeros((self.shape[1], self.shape[1]))
        root = np.minimum(np.sqrt(d), HUGE).astype(self.dtype)
        for rows, block in self._blocks():
            deadline.check()
            block = block * root[rows, None]
            result += block.T @ block
        return result


class Sparse:
    """A + shift by the nonzero entries of A; shift is added to the products.

    Parameters
    ----------
    A : ndarray of shape (n, k)
    shift : float
    """

    rounding = 1e-14

    def __init__(self, A: NDArray[Any], shift: float) -> None:
        from scipy.sparse import csr_array

        self.rows: Any = csr_array(A).astype(np.float64)
        self.columns = self.rows.T
        self.shape, self.shift = (A.shape[0], A.shape[1]), shift
        self.entries = (
            self.rows.indptr.astype(np.int64),
            self.rows.indices.astype(np.int32),
            self.rows.data,
        )

    def sizes(self) -> FloatArray:
        """Σ_i |A_ik| + n·|shift|, shape (k,)."""
        return np.asarray(abs(self.rows).sum(axis=0) + self.shape[0] * abs(self.shift))

    def product(self, x: FloatArray) -> FloatArray:
        """(A + shift) x, shape (n,)."""
        return np.asarray(self.rows @ x + self.shift * float(x.sum()))

    def transposed(self, y: FloatArray) -> FloatArray:
        """(A + shift)ᵀ y, shape (k,)."""
        return np.asarray(self.columns @ y + self.shift * float(y.sum()))

    def normal(self, d: FloatArray, deadline: Deadline = UNLIMITED) -> FloatArray:
        """(A + shift)ᵀ diag(d) (A + shift), shape (k, k), for d ≥ 0 of shape (n,)."""
        result = np.zeros((self.shape[1], self.shape[1]))
        starts, places, entries = self.entries
        for first in range(0, len(d), BLOCK):
            deadline.check()
            part = slice(first, first + BLOCK)
            rows_normal(starts[first : first + BLOCK + 1], places, entries, d[part], result)
        result += np.triu(result, 1).T
        if self.shift:
            sums = self.columns @ d
            result += self.shift * (sums[:, None] + sums) + self.shift**2 * float(d.sum())
        return result


Matrix = Dense | Sparse


def matrix_of(A: NDArray[Any], shift: float, tol: float, deadline: Deadline = UNLIMITED) -> Matrix:
    """A + shift, by its nonzero entries where they are few.

    Parameters
    ----------
    A : ndarray of shape (n, k)
    shift : float
    tol : float
        What the solution of the program is to be correct to.
    deadline : Deadline, optional
        Where there is one, nobody waits for machine code.

    Examples
    --------
    >>> matrix_of(np.eye(2, dtype=np.int8), 1.0, 1e-8).product(np.array([1.0, 2.0]))
    array([4., 5.])
    """
    few = A.size > SMALL and np.count_nonzero(A) < SPARSE * A.size
    if few and rows_normal.ready(deadline, wait=False):
        return Sparse(A, shift)
    return Dense(A, shift, np.float32 if tol >= ROUGH and A.size > SMALL else np.float64)
