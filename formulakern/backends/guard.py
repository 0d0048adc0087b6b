"""Re-evaluating the few values that floating point cannot vouch for.

Every operation on the way is a sum or product of non-negative numbers, so a float64 result is
accurate unless something left its range on the way: a count that overflowed, or a probability so
small that a factor may have been flushed to zero.  Those entries, and only those, are computed
again: in integers, or with exponents of any size.
"""

from __future__ import annotations

from math import inf, log2

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.backends.base import BlockWriter, Task
from formulakern.backends.interpreter import exact_values, too_large
from formulakern.errors import MagnitudeError
from formulakern.program.values import BEYOND

__all__ = ["guarded"]

#: Above this a count may have overflowed on the way; its inverse for probabilities.
SAFE = 10**290
#: Exact re-evaluation of more (operations × words per number) than this is refused.
MAX_EXACT_WORK = 2_000_000_000
#: What an operation with exponents of any size costs, in operations on words.
EXTENDED_WORDS = 100


def guarded(task: Task, fill: BlockWriter) -> BlockWriter:
    """The same function, its out-of-range entries replaced by exact ones."""
    if task.weighted:
        if task.weighted_bits() < log2(SAFE):
            return fill
        # what was flushed to zero, or lost digits, before the factor came is below this after it
        smallest = max(task.factor(), 1.0) / SAFE
    else:
        whole = task.scale == "count"
        divided_by = 1 if whole else task.divided_by() if task.exact else BEYOND
        if max(task.bound, divided_by) < SAFE:
            return fill
        smallest = 0.0 if divided_by < SAFE else inf  # beyond: all of it again, exactly

    def checked(rows: slice, columns: slice, block: FloatArray) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            fill(rows, columns, block)
        doubtful = ~np.isfinite(block) | (block < smallest)
        if np.any(doubtful):
            block[doubtful] = _again(task, rows, columns, doubtful)

    return checked


def _again(task: Task, rows: slice, columns: slice, doubtful: npt.NDArray[np.bool_]) -> FloatArray:
    tables = task.tables
    i, j = np.nonzero(doubtful)
    triples = np.concatenate(
        [
            tables.joint_counts(rows, columns)[:, i, j],
            tables.x_counts[:, rows][:, i],
            tables.z_counts[:, columns][:, j],
        ]
    )
    keys, inverse = np.unique(triples, axis=1, return_inverse=True)
    words = task.bits / 64 if task.exact else EXTENDED_WORDS
    if keys.shape[1] * len(task.program.kernel_nodes) * (1 + words) > MAX_EXACT_WORK:
        if task.scale == "count":
            raise too_large(task)
        raise MagnitudeError(
            "some kernel values lie below 1e-290 at scale='probability' and the program is too "
            "long to compute them exactly. Use a formula with fewer literals."
        )
    s, p, q = np.split(keys, 3)
    return exact_values(task, list(s), list(p), list(q), object)[inverse.ravel()]
