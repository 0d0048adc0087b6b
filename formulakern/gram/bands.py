"""Gram matrices band by band: float32, files larger than memory, products without the matrix."""

from __future__ import annotations

import mmap
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.backends.base import BlockWriter, block_at
from formulakern.backends.block_writers import bound_of
from formulakern.backends.tables import PANEL
from formulakern.errors import MagnitudeError
from formulakern.gram.dense import row_blocks, work_off

__all__ = ["MAX_BAND", "bands", "fill_file", "fill_rows", "narrowed", "product", "transposing"]

#: Rows and columns of the tiles that are rounded, or multiplied by vectors, while the cache holds
#: them: two megabytes for each thread.
TILE_ROWS, TILE_COLUMNS = 64, 4096
#: Bytes of a band of rows of a matrix that is written to a file, or handed out in bands.
MAX_BAND = 1 << 26


def tiles(rows: slice, columns: slice) -> Iterator[tuple[slice, slice]]:
    """The parts of a block, from left to right in each band of rows."""
    for top in range(rows.start, rows.stop, TILE_ROWS):
        for left in range(columns.start, columns.stop, TILE_COLUMNS):
            yield (
                slice(top, min(top + TILE_ROWS, rows.stop)),
                slice(left, min(left + TILE_COLUMNS, columns.stop)),
            )


class _Tiles:
    """Memory for one tile of values, for each thread."""

    def __init__(self) -> None:
        self._mine = threading.local()

    def filled(self, fill: BlockWriter, rows: slice, columns: slice) -> FloatArray:
        """The values of a tile, until the next one."""
        if not hasattr(self._mine, "memory"):
            self._mine.memory = np.empty(TILE_ROWS * TILE_COLUMNS)
        shape = (rows.stop - rows.start, columns.stop - columns.start)
        tile: FloatArray = self._mine.memory[: shape[0] * shape[1]].reshape(shape)
        fill(rows, columns, tile, 0, 0)
        return tile


def narrowed(fill: BlockWriter) -> BlockWriter:
    """The same for matrices of float32: every value rounded once, from its float64.

    Notes
    -----
    The relative error of this rounding is at most 2⁻²⁴ ≈ 6·10⁻⁸; that of values below 1.2·10⁻³⁸ may
    be larger, as float32 ends there (the absolute one is at most 2⁻¹⁵⁰).
    """
    memory = _Tiles()
    fits = bound_of(fill) < float(np.finfo(np.float32).max)

    def narrow(rows: slice, columns: slice, out: Any, out_row: int, out_column: int) -> None:
        for some, part in tiles(rows, columns):
            values = memory.filled(fill, some, part)
            top, left = out_row + some.start - rows.start, out_column + part.start - columns.start
            block = block_at(out, some, part, top, left)
            with np.errstate(over="ignore"):
                block[...] = values
            if not fits and not np.isfinite(block).all():
                raise MagnitudeError(
                    "a kernel value is beyond 3.4e38, the end of float32. Use dtype='float64', "
                    "scale='probability' or kernel.normalized()."
                )

    return narrow


def transposing(fill: BlockWriter) -> BlockWriter:
    """Blocks of a symmetric matrix: what lies below its diagonal is the transpose of what is above.

    So any band of rows is that of the whole matrix, to the last bit, although K(x, z) and K(z, x)
    are rounded in different orders.
    """

    def mirrored(
        rows: slice, columns: slice, out: FloatArray, out_row: int, out_column: int
    ) -> None:
        block = block_at(out, rows, columns, out_row, out_column)
        start = min(max(columns.start, rows.start), columns.stop)  # the diagonal begins here
        left = max(columns.start, start // PANEL * PANEL)  # where fills may begin
        if start < columns.stop:
            fill(rows, slice(left, columns.stop), out, out_row, out_column + left - columns.start)
        if start > columns.start:
            below, first = slice(columns.start, start), rows.start // PANEL * PANEL
            values = np.empty((start - below.start, rows.stop - first))
            fill(below, slice(first, rows.stop), values, 0, 0)
            block[:, : len(values)] = values[:, rows.start - first :].T
        square = block[max(start - rows.start, 0) :, start - columns.start :]
        size = min(square.shape)
        lower = np.tril_indices(size, -1)
        square[lower] = square[:size, :size].T[lower]

    return mirrored


def fill_rows(
    fill: BlockWriter,
    rows: slice,
    out: npt.NDArray[Any],
    progress: Callable[[float], None] | None = None,
) -> None:
    """``out``, of any float type, receives these rows of the matrix; by all processors."""

    def one(some: slice, columns: slice) -> None:
        of_matrix = slice(rows.start + some.start, rows.start + some.stop)
        fill(of_matrix, columns, out, some.start, columns.start)

    if out.size:
        work_off(row_blocks((out.shape[0], out.shape[1])), one, progress)


def bands(shape: tuple[int, int], itemsize: int, height: int | None = None) -> Iterator[slice]:
    """Bands of rows, of 64 MB each if not told how high."""
    if height is None:
        height = max(MAX_BAND // max(shape[1] * itemsize, 1) // PANEL, 1) * PANEL
    for start in range(0, shape[0], height):
        yield slice(start, min(start + height, shape[0]))


def fill_file(
    matrix: np.memmap[Any, Any], fill: BlockWriter, progress: Callable[[float], None] | None = None
) -> None:
    """Fill a memory map from top to bottom, leaving what was written to the file's cache.

    The memory of the process stays that of some bands.
    """
    whole: Any = matrix._mmap  # type: ignore[attr-defined]
    begin = matrix.ctypes.data - np.frombuffer(whole, dtype=np.uint8).ctypes.data
    for rows in bands(matrix.shape, matrix.itemsize):
        fill_rows(fill, rows, matrix[rows])
        if hasattr(whole, "madvise") and hasattr(mmap, "MADV_DONTNEED"):
            # from the page of its first byte; a page of the band before is read again if asked for
            first = (begin + rows.start * matrix.strides[0]) // mmap.PAGESIZE * mmap.PAGESIZE
            last = begin + rows.stop * matrix.strides[0]
            whole.madvise(mmap.MADV_DONTNEED, first, last - first)
        if progress is not None:
            progress(rows.stop / matrix.shape[0])


def product(fill: BlockWriter, shape: tuple[int, int], vectors: FloatArray) -> FloatArray:
    """K times some vectors, without K.

    Parameters
    ----------
    fill : BlockWriter
    shape : (int, int)
        Of K.
    vectors : float64 (columns of K, m)

    Returns
    -------
    float64 (rows of K, m)
        The same however many threads there are.
    """
    out = np.zeros((shape[0], vectors.shape[1]))
    memory = _Tiles()

    def one(rows: slice, columns: slice) -> None:
        for some, part in tiles(rows, columns):
            out[some] += memory.filled(fill, some, part) @ vectors[part]

    if out.size and shape[1]:
        work_off(row_blocks(shape, TILE_ROWS), one)
    return out
