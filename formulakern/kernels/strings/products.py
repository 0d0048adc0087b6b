"""Inner products of rows of a few counts each, such as the k-mers of strings.

Where rows share few features, the rows of z that have a feature are listed for each: then the work
is one addition for every feature that two rows share.  Where they share many, the counts of z are
spread out, and those of neighbouring rows are added as vectors, for every feature of x.  So the
work for a pair is at most in proportion to the number of features of x.  (A matrix product by BLAS
starts threads of its own, which get into the way of those that fill the matrix.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import aligned
from formulakern.backends.base import BlockWriter, FloatArray, block_at
from formulakern.backends.intrinsics import vectorized
from formulakern.compilation import compiled

__all__ = ["counted", "inner_products", "squared_lengths", "weighted_sums"]

#: So many features are added as vectors in the time in which one shared feature is added.
DENSE = 8
#: Rows of z that are worked on side by side.
TILE = 256


@compiled(
    "void(Tuple((int32[::1], int32[::1], float64[::1])),"
    "Tuple((int32[::1], int32[::1], float64[::1])), UniTuple(int64, 4), float64[:, ::1],"
    "UniTuple(int64, 2))"
)
def _add_shared(x: Any, z: Any, block: Any, out: Any, corner: Any) -> None:
    """Fill a block of ``out`` with Σ_u x[i, u]·z[j, u].

    Parameters
    ----------
    x, z : (int32, int32, float64)
        The rows of x, and the columns of z, as SciPy's compressed matrices have them: ``indptr``,
        ``indices`` (ascending) and ``data``.
    block : tuple of int
        First and last row of x, first and last row of z; the last ones are left out.
    out : float64 (rows, columns)
    corner : tuple of int
        Row and column of ``out`` where the block begins.
    """
    x_starts, x_features, x_counts = x
    z_starts, z_rows, z_counts = z
    row_start, row_stop, column_start, column_stop = block
    for row in range(row_start, row_stop):
        to = out[corner[0] + row - row_start]
        for column in range(corner[1], corner[1] + column_stop - column_start):
            to[column] = 0.0
        for place in range(x_starts[row], x_starts[row + 1]):
            feature, count = x_features[place], x_counts[place]
            first, stop = z_starts[feature], z_starts[feature + 1]
            last = stop
            while first < last:  # the first that is not before the block
                middle = (first + last) // 2
                if z_rows[middle] < column_start:
                    first = middle + 1
                else:
                    last = middle
            while first < stop and z_rows[first] < column_stop:
                to[corner[1] + z_rows[first] - column_start] += count * z_counts[first]
                first += 1


@compiled(
    "void(Tuple((int32[::1], int32[::1], float64[::1])), float64[:, ::1], UniTuple(int64, 4),"
    "float64[::1], float64[:, ::1], UniTuple(int64, 2))"
)
def _add_all(x: Any, z: Any, block: Any, sums: Any, out: Any, corner: Any) -> None:
    """The same, with z as (features, rows of z and TILE more); ``sums`` holds TILE zeros."""
    row_start, row_stop, column_start, column_stop = block
    for start in range(column_start, column_stop, TILE):
        width = min(TILE, column_stop - start)
        for row in range(row_start, row_stop):
            _sum_row(x, z, row, start, sums)
            to = out[corner[0] + row - row_start]
            for j in range(width):
                to[corner[1] + start - column_start + j] = sums[j]
                sums[j] = 0.0
            for j in range(width, TILE):
                sums[j] = 0.0


@compiled()
def _sum_row(x: Any, z: Any, row: Any, start: Any, sums: Any) -> None:
    vectorized()
    starts, features, counts = x
    first = np.uint64(start)
    for place in range(starts[row], starts[row + 1]):
        feature, count = np.uint64(features[place]), counts[place]
        for j in range(np.uint64(TILE)):
            sums[j] += count * z[feature, first + j]


def counted(rows: npt.NDArray[np.int64], features: npt.NDArray[np.int64], shape: Any) -> Any:
    """How often each feature was named for each row: a SciPy CSR array of float64.

    Examples
    --------
    >>> counted(np.array([0, 0, 1]), np.array([2, 2, 0]), (2, 3)).toarray()
    array([[0., 0., 2.],
           [1., 0., 0.]])
    """
    from scipy.sparse import coo_array

    return coo_array((np.ones(len(rows)), (rows, features)), shape).tocsr()


def inner_products(x: Any, z: Any) -> BlockWriter:
    """The inner products of all rows of x and z.

    Parameters
    ----------
    x, z : CSR array of shape (rows, features), (other rows, features)
        Non-negative counts.

    Returns
    -------
    BlockWriter
        Exact below 2^53.
    """
    z_columns = z.tocsc()
    n_shared = np.diff(x.tocsc().indptr).astype(np.float64) @ np.diff(z_columns.indptr)
    if DENSE * n_shared >= x.nnz * z.shape[0]:
        return weighted_sums(x, z_columns.T.toarray())
    if not _add_shared.pays(int(n_shared)):
        return _in_scipy(x, z_columns.T)
    x.sort_indices()
    z_columns.sort_indices()
    of_x, of_z = _parts(x), _parts(z_columns)

    def fill(rows: slice, columns: slice, out: FloatArray, out_row: int, out_column: int) -> None:
        block = (rows.start, rows.stop, columns.start, columns.stop)
        _add_shared(of_x, of_z, block, out, (out_row, out_column))

    return fill


def weighted_sums(x: Any, values: FloatArray) -> BlockWriter:
    """The product of a CSR array, of shape (rows, features), with one of (features, columns)."""
    if not _add_all.pays(x.nnz * values.shape[1]):
        return _in_scipy(x, values)
    spread = aligned((len(values), values.shape[1] + TILE), np.float64)
    spread[:, : values.shape[1]] = values
    of_x = _parts(x)

    def fill(rows: slice, columns: slice, out: FloatArray, out_row: int, out_column: int) -> None:
        block = (rows.start, rows.stop, columns.start, columns.stop)
        _add_all(of_x, spread, block, np.zeros(TILE), out, (out_row, out_column))

    return fill


def _in_scipy(x: Any, values: Any) -> BlockWriter:
    def fill(rows: slice, columns: slice, out: FloatArray, out_row: int, out_column: int) -> None:
        product = x[rows] @ values[:, columns]
        block = block_at(out, rows, columns, out_row, out_column)
        block[...] = product if isinstance(product, np.ndarray) else product.toarray()

    return fill


def _parts(matrix: Any) -> tuple[Any, Any, FloatArray]:
    return matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data


def squared_lengths(x: Any) -> FloatArray:
    """The inner product of every row of a CSR array with itself."""
    lengths: FloatArray = np.asarray(x.power(2).sum(axis=1), dtype=np.float64).reshape(-1)
    return lengths
