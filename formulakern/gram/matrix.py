"""Blocks of kernel values → Gram matrix: whole, by bands, or only its product with vectors.

Symmetric matrices are computed by halves.  Threads take blocks from one queue, and their loops run
without Python's lock.  All threads of a call end with it, so kernels may be used from any thread
and in forked workers, and may be interrupted.
"""

from __future__ import annotations

import itertools
import mmap
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.backends.block_writers import bound_of, cut, within
from formulakern.backends.tables import PANEL, ROWS, BlockWriter
from formulakern.errors import GramSizeError, MagnitudeError, ParameterError

#: Rows and columns of a block.
Block = tuple[slice, slice]

#: Rows and columns of the blocks of a symmetric matrix.  A block is mirrored while the cache holds
#: it, and the rows of its mirror image (a kilobyte) are long enough for memory.
SYMMETRIC_BLOCK = (128, 512)
#: The largest rows and pairs of other blocks.  All rows of a block are computed before the next
#: columns, so many are better; an interrupt waits for the current block, so few pairs are better.
MAX_BLOCK_ROWS, MAX_BLOCK_PAIRS = 256, 1 << 23
#: Pairs for each thread, which take as long as starting one on a busy machine, and the smallest
#: number of pairs of a block.
THREAD_PAIRS, MIN_BLOCK_PAIRS = 1 << 18, 1 << 14
#: Smaller matrices, in bytes, are allocated without a check of the free memory.
MIN_CHECKED_BYTES = 1 << 26


def fill_matrix(
    matrix: npt.NDArray[Any],
    symmetric: bool,
    fill: BlockWriter,
    progress: Callable[[float], None] | None = None,
    first: int = 0,
) -> npt.NDArray[Any]:
    """Fill the blocks of a C-contiguous matrix, and return it.

    For a symmetric matrix, only blocks on and above the diagonal are computed, and mirrored.  The
    first row of the matrix is row ``first`` of x.  ``progress`` is called from the calling thread
    with the share of the blocks that are done.
    """
    values = np.asarray(matrix)  # views of memory maps are slow

    def one(rows: slice, columns: slice) -> None:
        fill(slice(first + rows.start, first + rows.stop), columns, values[rows, columns])
        if symmetric and columns.stop > rows.stop:
            columns = slice(max(columns.start, rows.stop), columns.stop)
            values[columns, rows] = values[rows, columns].T

    if values.size:
        blocks = symmetric_blocks(len(values)) if symmetric else row_blocks(values.shape)
        work_off(blocks, one, progress)
    return matrix


def output(
    shape: tuple[int, int], out: npt.NDArray[Any] | None, dtype: str = "float64"
) -> npt.NDArray[Any]:
    """Return the output matrix: ``out``, checked, or a new one if it fits into memory."""
    if out is None:
        _check_memory(shape, np.dtype(dtype).itemsize)
        return np.empty(shape, dtype=dtype)
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != dtype:
        given = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ParameterError(
            f"out is {given}; expected a {dtype} array of shape {shape}, or None for a new one."
        )
    if not (out.flags.c_contiguous and out.flags.writeable):
        raise ParameterError(
            "out is not a writeable C-contiguous array. Pass np.empty(shape), or None for a new "
            "one."
        )
    return out


def float_type(dtype: npt.DTypeLike | None, out: Any) -> str:
    """Return the type of the entries, "float64" or "float32": ``dtype``, or the type of out."""
    asked = getattr(out, "dtype", "float64") if dtype is None else dtype
    try:
        name = np.dtype(asked).name
    except TypeError:
        name = repr(asked)
    if name not in ("float64", "float32"):
        which = "out holds" if dtype is None else "dtype is"
        raise ParameterError(f"{which} {name}; expected 'float64' or 'float32'.")
    return name


def _check_memory(shape: tuple[int, int], itemsize: int) -> None:
    needed = itemsize * shape[0] * shape[1]
    if needed <= MIN_CHECKED_BYTES:
        return
    import psutil  # loaded for large matrices only

    left = psutil.virtual_memory().available
    if needed > left:
        raise GramSizeError(
            f"the Gram matrix of {shape[0]:,} x {shape[1]:,} rows needs {needed / 2**30:.1f} GiB, "
            f"but {left / 2**30:.1f} GiB of memory are free. Use fewer rows, an approximation: "
            "sklearn.kernel_approximation.Nystroem(kernel=...), or a file: "
            "out=np.lib.format.open_memmap(...)."
        )


def n_threads() -> int:
    """Return the number of threads that fill a matrix: the processors that this process may use.

    ``NUMBA_NUM_THREADS`` or ``OMP_NUM_THREADS`` lower it (joblib sets the latter in its workers).
    """
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    available = len(affinity(0)) if affinity else os.cpu_count() or 1
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        value = os.environ.get(name, "")
        if value.isdecimal() and int(value) > 0:
            available = min(available, int(value))
    return available


def row_blocks(shape: tuple[int, int], height: int | None = None) -> Iterator[Block]:
    """Yield bands of rows of a suitable height, over all columns."""
    if height is None:
        width = max(shape[1], 1)
        height = min(MAX_BLOCK_ROWS, MAX_BLOCK_PAIRS // width, shape[0] // (16 * n_threads()))
        height = max(ROWS, max(height, MIN_BLOCK_PAIRS // width) // ROWS * ROWS)
    for rows in cut(slice(0, shape[0]), height):
        yield rows, slice(0, shape[1])


def symmetric_blocks(n: int) -> Iterator[Block]:
    """Yield blocks on and above the diagonal."""
    height, width = SYMMETRIC_BLOCK
    for rows in cut(slice(0, n), height):
        for columns in cut(slice(rows.start // width * width, n), width):
            yield rows, slice(max(columns.start, rows.start), columns.stop)


def work_off(
    blocks: Iterable[Block],
    one: Callable[[slice, slice], None],
    progress: Callable[[float], None] | None = None,
) -> None:
    """Call ``one(rows, columns)`` for every block, from several threads if there is enough work.

    The first exception in any thread ends the work and is raised.  ``progress`` is called from the
    calling thread with the share of the blocks that have been begun.
    """
    queue = deque(blocks)
    n_blocks = len(queue)
    n_pairs = sum((x.stop - x.start) * (z.stop - z.start) for x, z in queue)
    threads = min(n_blocks, n_pairs // THREAD_PAIRS)
    threads = min(n_threads(), threads) if threads > 1 else threads
    stop = threading.Event()

    def work(progress: Callable[[float], None] | None = None) -> None:
        try:
            while not stop.is_set():
                try:
                    block = queue.popleft()
                except IndexError:
                    return
                one(*block)
                if progress is not None and queue:
                    progress(1 - len(queue) / n_blocks)
        except BaseException:
            stop.set()
            raise

    if threads < 2:
        work(progress)
    else:
        from concurrent.futures import ThreadPoolExecutor

        # compile in this thread before the others start: an interrupt inside numba can leave its
        # lock held by this thread, and a helper that needs the lock would wait for ever
        one(*queue.popleft())
        with ThreadPoolExecutor(threads - 1) as pool:  # always waits for its threads
            helpers = [pool.submit(work) for _ in range(threads - 1)]
            work(progress)
        for helper in helpers:
            helper.result()
    if progress is not None:
        progress(1.0)


#: Rows and columns of the tiles that are rounded or multiplied by vectors while the cache holds
#: them: two megabytes for each thread.
TILE = 64, 4096
#: Bytes of a band of rows of a matrix that is written to a file or returned in bands.
MAX_BAND_BYTES = 1 << 26


def tiles(rows: slice, columns: slice, size: tuple[int, int]) -> Iterator[Block]:
    """Return the tiles of a block, from left to right in each band of rows."""
    return itertools.product(cut(rows, size[0]), cut(columns, size[1]))


class _Tiles:
    """Memory for one tile of values in each thread."""

    def __init__(self) -> None:
        self._mine = threading.local()

    def filled(self, fill: BlockWriter, rows: slice, columns: slice) -> FloatArray:
        """Return the values of a tile, valid until the next call in this thread."""
        if not hasattr(self._mine, "memory"):
            self._mine.memory = np.empty(TILE[0] * TILE[1])
        shape = (rows.stop - rows.start, columns.stop - columns.start)
        tile: FloatArray = self._mine.memory[: shape[0] * shape[1]].reshape(shape)
        fill(rows, columns, tile)
        return tile


def narrowed(fill: BlockWriter) -> BlockWriter:
    """Return a writer for matrices of float32: every float64 value is rounded once.

    The relative error of the rounding is at most 2⁻²⁴ ≈ 6·10⁻⁸.  It may be larger for values below
    1.2·10⁻³⁸, the end of float32; their absolute error is at most 2⁻¹⁵⁰.
    """
    memory = _Tiles()
    fits = bound_of(fill) < float(np.finfo(np.float32).max)

    def narrow(rows: slice, columns: slice, block: Any) -> None:
        for some, part in tiles(rows, columns, TILE):
            tile = block[within(some, rows), within(part, columns)]
            with np.errstate(over="ignore"):
                tile[...] = memory.filled(fill, some, part)
            if not fits and not np.isfinite(tile).all():
                raise MagnitudeError(
                    "a kernel value is beyond 3.4e38, the end of float32. Use dtype='float64', "
                    "scale='probability' or kernel.normalized()."
                )

    return narrow


def transposing(fill: BlockWriter) -> BlockWriter:
    """Return a writer of symmetric matrices that copies values above the diagonal to below it.

    Any band of rows is then equal to these rows of the whole matrix to the last bit, although
    K(x, z) and K(z, x) are rounded in different orders.
    """

    def mirrored(rows: slice, columns: slice, block: FloatArray) -> None:
        start = min(max(columns.start, rows.start), columns.stop)  # the diagonal begins here
        left = max(columns.start, start // PANEL * PANEL)  # a position where blocks may begin
        if start < columns.stop:
            fill(rows, slice(left, columns.stop), block[:, left - columns.start :])
        if start > columns.start:
            below, first = slice(columns.start, start), rows.start // PANEL * PANEL
            values = np.empty((start - below.start, rows.stop - first))
            fill(below, slice(first, rows.stop), values)
            block[:, : len(values)] = values[:, rows.start - first :].T
        square = block[max(start - rows.start, 0) :, start - columns.start :]
        size = min(square.shape)
        lower = np.tril_indices(size, -1)
        square[lower] = square[:size, :size].T[lower]

    return mirrored


def bands(shape: tuple[int, int], itemsize: int, height: int | None = None) -> Iterator[slice]:
    """Return bands of rows, of 64 MB each unless a height is given."""
    if height is None:
        height = max(MAX_BAND_BYTES // max(shape[1] * itemsize, 1) // PANEL, 1) * PANEL
    return cut(slice(0, shape[0]), height)


def fill_file(
    matrix: np.memmap[Any, Any], fill: BlockWriter, progress: Callable[[float], None] | None = None
) -> None:
    """Fill a memory map by bands from top to bottom, and release the memory of each band."""
    whole: Any = matrix._mmap  # type: ignore[attr-defined]
    begin = matrix.ctypes.data - np.frombuffer(whole, dtype=np.uint8).ctypes.data
    for rows in bands(matrix.shape, matrix.itemsize):
        fill_matrix(matrix[rows], False, fill, first=rows.start)
        if hasattr(whole, "madvise") and hasattr(mmap, "MADV_DONTNEED"):
            # from the page of its first byte, which also holds the end of the previous band
            first = (begin + rows.start * matrix.strides[0]) // mmap.PAGESIZE * mmap.PAGESIZE
            last = begin + rows.stop * matrix.strides[0]
            whole.madvise(mmap.MADV_DONTNEED, first, last - first)
        if progress is not None:
            progress(rows.stop / matrix.shape[0])


def product(fill: BlockWriter, shape: tuple[int, int], vectors: FloatArray) -> FloatArray:
    """Return K times some vectors without storing K; the number of threads has no effect on it."""
    out = np.zeros((shape[0], vectors.shape[1]))
    memory = _Tiles()

    def one(rows: slice, columns: slice) -> None:
        for some, part in tiles(rows, columns, TILE):
            out[some] += memory.filled(fill, some, part) @ vectors[part]

    if out.size and shape[1]:
        work_off(row_blocks(shape, TILE[0]), one)
    return out
