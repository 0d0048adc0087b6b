"""Blocks of kernel values → one dense Gram matrix, by all processors, half of it where symmetric.

Threads take blocks from one queue; the loops that fill them run without Python's lock.  No thread
outlives a call, so kernels may be used from any thread, in forked workers, and be interrupted.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator

import numpy as np

from formulakern.backends.base import Fill, FloatArray
from formulakern.backends.tables import ROWS
from formulakern.errors import GramSizeError, ParameterError

__all__ = [
    "assemble",
    "available_memory",
    "n_threads",
    "output",
    "row_blocks",
    "share_blocks",
]

#: Rows and columns of the blocks of a symmetric matrix: one is mirrored while the cache holds it,
#: and the rows of its mirror image are long enough (a kilobyte) for memory.
SYMMETRIC_BLOCK = (128, 512)
#: Rows and pairs of the largest other blocks.  All rows of a block pass before the next columns
#: come, so it wants many; an interrupt waits for the block at work, so it wants few pairs.
MAX_HEIGHT, MAX_PAIRS = 256, 1 << 23
#: Fewer pairs than this are done by the calling thread alone.
FEW_PAIRS = 1 << 16


def n_threads() -> int:
    """How many threads fill a matrix: the processors that this process may use.

    ``NUMBA_NUM_THREADS`` or ``OMP_NUM_THREADS`` lower it (joblib sets the latter in its workers).
    """
    if hasattr(os, "sched_getaffinity"):
        available = len(os.sched_getaffinity(0))
    else:
        available = os.cpu_count() or 1
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        value = os.environ.get(name, "")
        if value.isdecimal() and int(value) > 0:
            available = min(available, int(value))
    return available


def available_memory() -> int | None:
    """Bytes of memory that can be had without swapping; None where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def assemble(
    shape: tuple[int, int],
    symmetric: bool,
    fill: Fill,
    progress: Callable[[float], None] | None = None,
    out: FloatArray | None = None,
) -> FloatArray:
    """The matrix whose blocks ``fill`` writes.

    Parameters
    ----------
    shape : (int, int)
    symmetric : bool
        Only blocks on and above the diagonal are filled; the rest is mirrored.
    fill : Fill
        See :class:`formulakern.backends.base.Fill`.
    progress : callable, optional
        Called with the share of the blocks that are done, from the calling thread.
    out : float64 of shape ``shape``, C-contiguous, optional
        Receives the matrix.

    Returns
    -------
    ndarray of shape ``shape``, float64

    Raises
    ------
    GramSizeError
        If the matrix is larger than the memory that is left.
    ParameterError
        If ``out`` is not what can be written to.
    """
    out = output(shape, out)
    if not out.size:
        return out
    blocks = list(_symmetric_blocks(shape[0]) if symmetric else row_blocks(shape))
    threads = min(n_threads(), len(blocks)) if out.size >= FEW_PAIRS else 1

    def one(block: tuple[slice, slice]) -> None:
        rows, columns = block
        fill(rows, columns, out, rows.start, columns.start)
        if symmetric and columns.stop > rows.stop:
            _mirror(out, rows, slice(max(columns.start, rows.stop), columns.stop))

    share_blocks(blocks, one, threads, progress)
    return out


def output(shape: tuple[int, int], out: FloatArray | None) -> FloatArray:
    """The matrix to write to: ``out``, checked, or a new one.

    Raises
    ------
    GramSizeError
        If a new one does not fit into memory.
    ParameterError
        If ``out`` is not what is written to.
    """
    if out is None:
        return _allocate(shape)
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != np.float64:
        given = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ParameterError(
            f"out is {given}; expected a float64 array of shape {shape}, or None for a new one."
        )
    if not (out.flags.c_contiguous and out.flags.writeable):
        raise ParameterError(
            "out is not a writeable C-contiguous array. Pass np.empty(shape), or None for a new "
            "one."
        )
    return out


def _allocate(shape: tuple[int, int]) -> FloatArray:
    needed = 8 * shape[0] * shape[1]
    left = available_memory()
    if left is not None and needed > left:
        raise GramSizeError(
            f"the Gram matrix of {shape[0]:,} x {shape[1]:,} rows takes {needed / 2**30:.1f} GiB, "
            f"and {left / 2**30:.1f} GiB of memory are free. Use fewer rows, or an approximation: "
            "sklearn.kernel_approximation.Nystroem(kernel=...)."
        )
    return np.empty(shape, dtype=np.float64)


def row_blocks(shape: tuple[int, int]) -> Iterator[tuple[slice, slice]]:
    """Bands of rows: rows are written from left to right, as memory lies."""
    height = min(MAX_HEIGHT, MAX_PAIRS // shape[1], shape[0] // (16 * n_threads()))
    height = max(ROWS, height // ROWS * ROWS)
    for start in range(0, shape[0], height):
        yield slice(start, min(start + height, shape[0])), slice(0, shape[1])


def _symmetric_blocks(n: int) -> Iterator[tuple[slice, slice]]:
    height, width = SYMMETRIC_BLOCK
    for row in range(0, n, height):
        rows = slice(row, min(row + height, n))
        first = row // width * width
        for column in range(first, n, width):
            yield rows, slice(max(column, row), min(column + width, n))


def _mirror(out: FloatArray, rows: slice, columns: slice) -> None:
    from formulakern.backends.mirror import mirror  # numba loads when it is first needed

    mirror(out, rows.start, rows.stop, columns.start, columns.stop)


def share_blocks(
    blocks: list[tuple[slice, slice]],
    one: Callable[[tuple[slice, slice]], None],
    threads: int,
    progress: Callable[[float], None] | None,
) -> None:
    """Let threads work the blocks off; the first exception stops all of them and is raised."""
    queue = iter(enumerate(blocks, start=1))
    lock = threading.Lock()
    stop = threading.Event()
    failures: list[BaseException] = []

    def work(progress: Callable[[float], None] | None = None) -> None:
        while not stop.is_set():
            with lock:
                number, block = next(queue, (0, None))
            if block is None:
                return
            one(block)
            if progress is not None and number < len(blocks):
                progress(number / len(blocks))

    def help_out() -> None:
        try:
            work()
        except BaseException as failure:
            stop.set()
            failures.append(failure)

    helpers = [threading.Thread(target=help_out) for _ in range(threads - 1)]
    try:
        for helper in helpers:
            helper.start()
        work(progress)
        for helper in helpers:
            helper.join()
    finally:  # also after an interrupt no thread is left behind
        stop.set()
        for helper in helpers:
            if helper.ident is not None:
                helper.join()
    if failures:
        raise failures[0]
    if progress is not None:
        progress(1.0)
