"""Blocks of a matrix, worked off by all processors.

Threads take blocks from one queue; the loops that fill them run without Python's lock.  No thread
outlives a call, so kernels may be used from any thread and in forked workers, and be interrupted.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from formulakern.backends.tables import ROWS

__all__ = ["Block", "n_threads", "row_blocks", "symmetric_blocks", "work_off"]

#: Rows and columns of a block.
Block = tuple[slice, slice]

#: Rows and columns of the blocks of a symmetric matrix: one is mirrored while the cache holds it,
#: and the rows of its mirror image are long enough (a kilobyte) for memory.
SYMMETRIC_BLOCK = (128, 512)
#: Rows and pairs of the largest other blocks.  All rows of a block pass before the next columns
#: come, so it wants many; an interrupt waits for the block at work, so it wants few pairs.
MAX_HEIGHT, MAX_PAIRS = 256, 1 << 23
#: For fewer pairs than this no thread is started, and for fewer than these no block is begun.
FEW_PAIRS, MIN_PAIRS = 1 << 15, 1 << 12


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


def row_blocks(shape: tuple[int, int], height: int | None = None) -> Iterator[Block]:
    """Bands of rows, so high or as suits: rows are written from left to right, as memory lies."""
    if height is None:
        width = max(shape[1], 1)
        height = min(MAX_HEIGHT, MAX_PAIRS // width, shape[0] // (16 * n_threads()))
        height = max(ROWS, max(height, MIN_PAIRS // width) // ROWS * ROWS)
    for start in range(0, shape[0], height):
        yield slice(start, min(start + height, shape[0])), slice(0, shape[1])


def symmetric_blocks(n: int) -> Iterator[Block]:
    """Blocks on and above the diagonal."""
    height, width = SYMMETRIC_BLOCK
    for row in range(0, n, height):
        rows = slice(row, min(row + height, n))
        for column in range(row // width * width, n, width):
            yield rows, slice(max(column, row), min(column + width, n))


def work_off(
    blocks: Iterable[Block],
    one: Callable[[slice, slice], None],
    progress: Callable[[float], None] | None = None,
) -> None:
    """Call ``one(rows, columns)`` for every block, from several threads where that pays.

    The first exception in any thread ends the work, and is raised.  ``progress`` is called from the
    calling thread, with the share of the blocks that have been begun.
    """
    queue = deque(blocks)
    n_blocks = len(queue)
    n_pairs = sum((x.stop - x.start) * (z.stop - z.start) for x, z in queue)
    threads = min(n_threads(), n_blocks, n_pairs // FEW_PAIRS)
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

        with ThreadPoolExecutor(threads - 1) as pool:  # waits for its threads in any case
            helpers = [pool.submit(work) for _ in range(threads - 1)]
            work(progress)
        for helper in helpers:
            helper.result()
    if progress is not None:
        progress(1.0)
