"""Lookup tables: the kernel has few different values, so compute each once and look them up.

K depends on the integers (s, p, q) only.  For every pair of numbers of ones (p, q) that occurs one
table of length min(p, q) + 1 holds the kernel for every s, computed in exact integers and rounded
once.  One-hot data has a single p: any formula is then one table of p + 1 numbers, and no formula
needs compiling.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from formulakern.backends.base import Fill, FloatArray, Support, Task, looping
from formulakern.backends.exact import exact_dtype, exact_values
from formulakern.backends.frame import fill_loop
from formulakern.backends.guard import guarded
from formulakern.backends.interpreter import run
from formulakern.backends.tables import PairedTables

__all__ = [
    "COUNT_AND_LOOK_UP",
    "MAX_ENTRIES",
    "MAX_EXACT_OPERATIONS",
    "LookupBackend",
    "count_entries",
    "fill_by_count",
    "lay_out",
    "row_classes",
]

#: Tables with more entries in all are not built.
MAX_ENTRIES = 1 << 22
#: Exact tables in Python integers are built up to this many operations; longer ones in float64.
MAX_EXACT_OPERATIONS = 4_000_000
#: More operations than this in all are refused.
MAX_OPERATIONS = 200_000_000_000

#: The loop that counts and looks up, as text (see :mod:`formulakern.backends.cache`).
COUNT_AND_LOOK_UP = '''\
"""Emitted by formulakern: joint counts looked up in tables."""

import numpy as np
from numba import njit

from formulakern.backends.loops import ROWS, TILE, count_tile, vectorized


@njit(nogil=True)
def finish(values, tile, r, row, column, x_class, steps, table):
    vectorized()
    step = steps[x_class[row]]
    if len(tile) == 1:
        for j in range(np.uint64(len(values))):
            values[j] = table[np.uint64(step[0, column + j]) + tile[0, r, j]]
    else:
        for j in range(np.uint64(len(values))):
            place = np.uint64(step[0, column + j])
            for g in range(len(tile)):
                place += tile[g, r, j] * np.uint64(step[g + 1, column + j])
            values[j] = table[place]

''' + fill_loop(x_class="int64[::1]", steps="int32[:, :, ::1]", table="float64[::1]")

_COUNTED = '''\
"""Emitted by formulakern: one table, looked up at an integer that is linear in the joint count."""

import numpy as np
from numba import njit

from formulakern.backends.loops import ROWS, TILE, count_tile, vectorized


@njit(nogil=True)
def finish(values, tile, r, row, column, x_start, z_start, stride, table):
    vectorized()
    start = x_start[row]
    for j in range(np.uint64(len(values))):
        values[j] = table[start + z_start[column + j] + stride * tile[0, r, j]]

''' + fill_loop(x_start="uint64[::1]", z_start="uint64[::1]", stride="uint64", table="float64[::1]")


@dataclass(frozen=True, eq=False)
class _Layout:
    """Where each pair of row classes has its table, and the counts of every entry."""

    x_class: npt.NDArray[np.int64]
    steps: npt.NDArray[np.int32]  # (classes of x, 1 + domains, rows of z): start, strides
    s: list[npt.NDArray[np.int64]]
    p: list[npt.NDArray[np.int64]]
    q: list[npt.NDArray[np.int64]]


class LookupBackend:
    """Tabulated kernels; see the module."""

    name = "lookup"

    def supports(self, task: Task) -> Support:
        """Yes, if the tables have at most ``MAX_ENTRIES`` entries."""
        tables = task.tables
        x, z = row_classes(tables.x_counts)[0], row_classes(tables.z_counts)[0]
        entries = count_entries(tables)
        index = x.shape[1] * tables.shape[1] * (1 + len(tables.sizes))
        if entries > MAX_ENTRIES or index > MAX_ENTRIES * 8:
            return Support(
                False, f"at least {entries:,} triples of counts are too many to tabulate"
            )
        if entries * len(task.program.kernel_nodes) > MAX_OPERATIONS:
            return Support(False, "the program is too long to be tabulated")
        pairs = x.shape[1] * z.shape[1]
        what = "one table" if pairs == 1 else f"{pairs:,} tables"
        return Support(True, f"{what} of {entries:,} numbers in all hold every value of the kernel")

    def compile(self, task: Task) -> Fill:
        """Build the tables; no code is compiled for the formula."""
        from formulakern.backends.cache import load  # numba loads when it is first needed

        layout = lay_out(task.tables)
        table = np.array(_values(task, layout))
        tables = task.tables
        fill = looping(
            load(COUNT_AND_LOOK_UP).fill,
            tables.x_words,
            tables.z_panels,
            tables.spans,
            layout.x_class,
            layout.steps,
            table,
        )
        return guarded(task, fill)


def fill_by_count(
    tables: PairedTables,
    table: FloatArray,
    x_start: npt.NDArray[np.int64] | None = None,
    z_start: npt.NDArray[np.int64] | None = None,
    stride: int = 1,
) -> Fill:
    """K(x, z) = table[x_start + z_start + stride·⟨x,z⟩], for kernels of one integer.

    Parameters
    ----------
    tables : PairedTables
        Of a single domain.
    table : float64 (entries,)
        Every index that occurs must lie inside; it is not checked here.
    x_start : int64 (rows of x,), optional
    z_start : int64 (rows of z,), optional
        Zeros by default; a term may be negative where the sum is not.
    stride : int

    Returns
    -------
    Fill

    Examples
    --------
    >>> from formulakern.gram.dense import assemble
    >>> from formulakern.gram.pair import TablePair
    >>> tables = TablePair([[1, 1, 0], [0, 1, 1]]).tables((None,))
    >>> assemble((2, 2), False, fill_by_count(tables, np.array([1.0, 2.0, 4.0])))
    array([[4., 2.],
           [2., 4.]])
    """
    from formulakern.backends.cache import load  # numba loads when it is first needed

    starts = [
        np.zeros(rows, dtype=np.uint64) if start is None else start.astype(np.uint64)
        for rows, start in zip(tables.shape, (x_start, z_start), strict=True)
    ]  # the sum of wrapped numbers is right where the sum is not negative
    return looping(
        load(_COUNTED).fill,
        tables.x_words,
        tables.z_panels,
        tables.spans,
        *starts,
        np.uint64(stride),
        np.array(table),  # a copy that may be written to, as the compiled loop's signature says
    )


def count_entries(tables: PairedTables) -> int:
    """Number of (s, p, q) triples that the tables of two tables would hold.

    Where there are more pairs of row classes than ``MAX_ENTRIES``, the number of these pairs, so
    that nothing large is built; numbers beyond 10¹⁸ are 10¹⁸.
    """
    x, z = row_classes(tables.x_counts)[0], row_classes(tables.z_counts)[0]
    pairs: int = x.shape[1] * z.shape[1]
    if pairs > MAX_ENTRIES:
        return pairs
    total = np.ones((x.shape[1], z.shape[1]))
    for p, q in zip(x, z, strict=True):
        total = np.minimum(total * (np.minimum(p[:, None], q[None, :]) + 1), 1e18)
    return int(min(total.sum(), 1e18))


def row_classes(
    counts: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The different columns of counts (one per class of rows), and the class of every row."""
    first = np.zeros(min(1, counts.shape[1]), dtype=np.intp)
    row_class = np.zeros(counts.shape[1], dtype=np.int64)
    for ones in counts:  # domain after domain, which is faster than sorting columns whole
        if (ones != ones[:1]).any():
            key = row_class * (ones.max() + 1) + ones
            _, first, row_class = np.unique(key, return_index=True, return_inverse=True)
    return counts[:, first], row_class


def lay_out(tables: PairedTables) -> _Layout:
    """Where the values for every pair of classes of rows stand in one long table."""
    x, x_class = row_classes(tables.x_counts)
    z, z_class = row_classes(tables.z_counts)
    domains, n_x = x.shape
    n_z = z.shape[1]
    lengths = np.minimum(x[:, :, None], z[:, None, :]) + 1  # (domains, x classes, z classes)
    strides = np.ones_like(lengths)
    for g in range(domains - 2, -1, -1):
        strides[g] = strides[g + 1] * lengths[g + 1]
    volume = lengths.prod(axis=0)
    starts = (np.cumsum(volume.ravel()) - volume.ravel()).reshape(n_x, n_z)
    steps = np.empty((n_x, 1 + domains, tables.shape[1]), dtype=np.int32)
    steps[:, 0] = starts[:, z_class]
    for g in range(domains):
        steps[:, g + 1] = strides[g][:, z_class]
    pair = np.repeat(np.arange(n_x * n_z), volume.ravel())
    within = np.arange(len(pair)) - starts.ravel()[pair]
    s, p, q = [], [], []
    for g in range(domains):
        s.append(within // strides[g].ravel()[pair] % lengths[g].ravel()[pair])
        p.append(x[g][pair // n_z])
        q.append(z[g][pair % n_z])
    return _Layout(x_class, steps, s, p, q)


def _values(task: Task, layout: _Layout) -> FloatArray:
    dtype = exact_dtype(task)
    entries = len(layout.s[0]) if layout.s else 1
    operations = entries * len(task.program.kernel_nodes)
    if dtype is np.int64 or operations <= MAX_EXACT_OPERATIONS:
        s, p, q = (_possible(counts, layout, task) for counts in (layout.s, layout.p, layout.q))
        # what does not fit is refused only where it is looked up, by the guard
        return np.asarray(exact_values(task, s, p, q, dtype, refuse=False))
    with np.errstate(over="ignore", invalid="ignore"):
        value = run(
            task.program,
            layout.s,
            layout.p,
            layout.q,
            task.tables.sizes,
            np.float64,
            weights=task.weights(),
        )[0]
        return np.broadcast_to(value * task.factor(), (entries,))


def _possible(
    counts: list[npt.NDArray[np.int64]], layout: _Layout, task: Task
) -> list[npt.NDArray[np.int64]]:
    """Counts in which impossible entries (fewer than no columns in neither row) cannot occur.

    A table starts at s = 0 although p + q − n columns must be shared; those entries are never
    looked up, and here they borrow the counts of the first possible one.
    """
    if counts is not layout.s:
        return counts
    sizes = task.tables.sizes
    return [
        np.maximum(s, p + q - n)
        for s, p, q, n in zip(layout.s, layout.p, layout.q, sizes, strict=True)
    ]
