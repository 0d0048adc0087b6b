"""The matrix of a linear program as its solver needs it: dense blocks, or nonzero entries.

Both hold A + shift without writing the sum out where that would cost memory.  A rough solution is
found in single precision, which halves time and memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

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

Vector = NDArray[np.float64]


class Matrix(Protocol):
    """A + shift, of shape (n, k)."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n, k)."""

    @property
    def rounding(self) -> float:
        """Relative error of the entries of :meth:`normal`."""

    def sizes(self) -> Vector:
        """Σ_i |A_ik + shift|, or a little more, shape (k,)."""

    def product(self, x: Vector) -> Vector:
        """(A + shift) x, shape (n,)."""

    def transposed(self, y: Vector) -> Vector:
        """(A + shift)ᵀ y, shape (k,)."""

    def normal(self, d: Vector) -> NDArray[np.float64]:
        """(A + shift)ᵀ diag(d) (A + shift), shape (k, k), d ≥ 0."""


def matrix_of(A: NDArray[Any], shift: float, tol: float) -> Matrix:
    """A + shift, sparse where few entries of A are not zero.

    Parameters
    ----------
    A : ndarray of shape (n, k)
    shift : float
    tol : float
        What the solution of the program is to be correct to.

    Examples
    --------
    >>> matrix_of(np.eye(2, dtype=np.int8), 1.0, 1e-8).product(np.array([1.0, 2.0]))
    array([4., 5.])
    """
    if A.size > SMALL and np.count_nonzero(A) < SPARSE * A.size:
        return Sparse(A, shift)
    return Dense(A, shift, np.float32 if tol >= ROUGH and A.size > SMALL else np.float64)


class Dense:
    """By BLAS; bytes are turned to floats block by block if there are many."""

    def __init__(
        self, A: NDArray[Any], shift: float, dtype: type[np.floating[Any]] = np.float64
    ) -> None:
        self.A, self.shift, self.dtype = A, dtype(shift), dtype
        self.rounding = 4e-7 if dtype is np.float32 else 1e-14
        if A.size * self.shift.itemsize <= KEPT_BYTES:
            self.A, self.shift = A.astype(dtype) + self.shift, dtype(0.0)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, k)."""
        n, k = self.A.shape
        return n, k

    def _blocks(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        for first in range(0, len(self.A), BLOCK):
            rows = slice(first, first + BLOCK)
            block = self.A[rows].astype(self.dtype, copy=False)
            yield rows, block + self.shift if self.shift else block

    def sizes(self) -> Vector:
        """Σ_i |A_ik + shift|, shape (k,)."""
        total = np.zeros(self.A.shape[1])
        for _, block in self._blocks():
            total += np.abs(block).sum(axis=0)
        return total

    def product(self, x: Vector) -> Vector:
        """(A + shift) x."""
        result, x = np.empty(len(self.A)), x.astype(self.dtype)
        for rows, block in self._blocks():
            result[rows] = block @ x
        return result

    def transposed(self, y: Vector) -> Vector:
        """(A + shift)ᵀ y."""
        result, y = np.zeros(self.A.shape[1]), y.astype(self.dtype)
        for rows, block in self._blocks():
            result += y[rows] @ block
        return result

    def normal(self, d: Vector) -> NDArray[np.float64]:
        """(A + shift)ᵀ diag(d) (A + shift)."""
        k = self.A.shape[1]
        result = np.zeros((k, k))
        root = np.minimum(np.sqrt(d), HUGE).astype(self.dtype)
        for rows, block in self._blocks():
            block = block * root[rows, None]
            result += block.T @ block
        return result


class Sparse:
    """Row by row over the entries that are not zero."""

    rounding = 1e-14

    def __init__(self, A: NDArray[Any], shift: float) -> None:
        from scipy.sparse import csr_array

        rows = csr_array(A)
        self.shape = (A.shape[0], A.shape[1])
        self.shift = shift
        self.starts = rows.indptr.astype(np.int64)
        self.places = rows.indices.astype(np.int32)
        self.entries = rows.data.astype(np.float64)

    def sizes(self) -> Vector:
        """Σ_i |A_ik| + n·shift, shape (k,)."""
        n, k = self.shape
        total = np.bincount(self.places, np.abs(self.entries), k).astype(np.float64)
        return np.asarray(total + n * abs(self.shift))

    def product(self, x: Vector) -> Vector:
        """(A + shift) x."""
        from formulakern.solvers.capped_lp.loops import rows_product

        result = np.empty(self.shape[0])
        rows_product(self.starts, self.places, self.entries, x, result)
        return result + self.shift * float(x.sum()) if self.shift else result

    def transposed(self, y: Vector) -> Vector:
        """(A + shift)ᵀ y."""
        from formulakern.solvers.capped_lp.loops import rows_transposed

        result = np.zeros(self.shape[1])
        rows_transposed(self.starts, self.places, self.entries, y, result)
        return result + self.shift * float(y.sum()) if self.shift else result

    def normal(self, d: Vector) -> NDArray[np.float64]:
        """(A + shift)ᵀ diag(d) (A + shift)."""
        from formulakern.solvers.capped_lp.loops import rows_normal, rows_transposed

        k = self.shape[1]
        result = np.zeros((k, k))
        rows_normal(self.starts, self.places, self.entries, d, result)
        result += np.triu(result, 1).T
        if self.shift:
            sums = np.zeros(k)
            rows_transposed(self.starts, self.places, self.entries, d, sums)
            result += self.shift * (sums[:, None] + sums)
            result += self.shift**2 * float(d.sum())
        return result
