"""Lookup tables: the kernel has few different values, so compute each once and look them up.

K depends on the integers (s, p, q) only.  For every pair of numbers of ones (p, q) that occurs, one
table of length min(p, q) + 1 holds the kernel for every s, computed in exact integers and rounded
once.  One-hot data has a single p: any formula is then one table of p + 1 numbers.  No code is
compiled for a formula, and for few pairs of rows none at all: NumPy counts and looks up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.backends.base import Support, Task, exact_dtype, exact_values, guarded
from formulakern.backends.block_writers import CountWriter
from formulakern.backends.loops import look_up, look_up_domains, look_up_sum
from formulakern.backends.tables import BlockWriter, PairedTables
from formulakern.compilation import CompiledFunction
from formulakern.program.values import run

__all__ = [
    "LAYING_OUT",
    "MAX_ENTRIES",
    "MAX_EXACT_OPERATIONS",
    "Layout",
    "LookupBackend",
    "count_entries",
    "fill_by_count",
    "fill_by_layout",
    "lay_out",
    "row_classes",
]

Integers = npt.NDArray[np.int64]

#: Nanoseconds to lay out the tables, however few entries they have.
LAYING_OUT = 3e5
#: Tables with more entries in all are not built.
MAX_ENTRIES = 1 << 22
#: Exact tables in Python integers are built up to this many operations; longer ones in float64.
MAX_EXACT_OPERATIONS = 4_000_000
#: More operations than this in all are refused.
MAX_OPERATIONS = 200_000_000_000


@dataclass(frozen=True, eq=False)
class Layout:
    """Where each pair of row classes has its table, and the counts of every entry."""

    x_class: Integers
    starts: npt.NDArray[np.int32]  # (classes of x, rows of z)
    strides: npt.NDArray[np.int32]  # (classes of x, domains, rows of z)
    s: list[Integers]
    p: list[Integers]
    q: list[Integers]


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

    def size(self, task: Task) -> float:
        """Laying out takes some 0.3 ms; an entry takes 45 ns and its operations."""
        entries = count_entries(task.tables)
        operation = 1.4 if exact_dtype(task) is np.int64 else 60.0 + min(task.bits / 64, 100.0)
        build = entries * (45 + operation * len(task.program.kernel_nodes))
        distant = 0.18 * task.n_pairs * log2(1 + entries / 4096)
        return LAYING_OUT + build + task.counting + distant

    def compile(self, task: Task) -> BlockWriter:
        """Build the tables."""
        layout = lay_out(task.tables)
        table = np.array(_values(task, layout))
        return guarded(task, fill_by_layout(task.tables, layout, table))


def fill_by_layout(tables: PairedTables, layout: Layout, table: FloatArray) -> BlockWriter:
    """The entry of a table for every pair of rows, where :func:`lay_out` says that it stands."""

    data = (layout.x_class, layout.starts, layout.strides, table)
    loop = look_up if len(tables.sizes) == 1 else look_up_domains
    return _looking_up(tables, loop, data, (0,), _places)


def _places(data: tuple[Any, ...], s: Integers, rows: slice, columns: slice) -> Integers:
    x_class, starts, strides, _ = data
    which = x_class[rows]
    each = strides[:, :, columns][which].swapaxes(0, 1)
    parts = (stride * count for stride, count in zip(each, s, strict=True))
    return np.asarray(sum(parts, starts[:, columns][which]))


def fill_by_count(
    tables: PairedTables,
    table: FloatArray,
    x_start: Integers | None = None,
    z_start: Integers | None = None,
    stride: int = 1,
) -> BlockWriter:
    """Return K(x, z) = table[x_start + z_start + stride·⟨x,z⟩], for kernels of one integer.

    The tables have a single domain.  Starts are zeros by default; a term may be negative if the sum
    is not.  Every index that occurs must be inside the table, which is not checked.

    >>> from formulakern.gram.matrix import fill_matrix
    >>> from formulakern.backends.tables import TablePair
    >>> tables = TablePair([[1, 1, 0], [0, 1, 1]]).tables((None,))
    >>> fill_matrix(np.empty((2, 2)), False, fill_by_count(tables, np.array([1.0, 2.0, 4.0])))
    array([[4., 2.],
           [2., 4.]])
    """
    x_start, z_start = (
        np.zeros(rows, dtype=np.int64) if start is None else start
        for rows, start in zip(tables.shape, (x_start, z_start), strict=True)
    )

    # unsigned, the sum is right wherever it is not negative; a copy of the table may be written to
    starts = (x_start.astype(np.uint64), z_start.astype(np.uint64))
    data = (*starts, np.array([stride], dtype=np.uint64), np.array(table))
    return _looking_up(tables, look_up_sum, data, (0,), _sums)


def _sums(data: tuple[Any, ...], s: Integers, rows: slice, columns: slice) -> Integers:
    x, z, stride, _ = data
    place = x[rows, None] + z[columns] + stride[0] * s[0].astype(np.uint64)
    return np.asarray(place, dtype=np.intp)


def _looking_up(
    tables: PairedTables,
    loop: CompiledFunction[..., int],
    data: tuple[Any, ...],
    of_x: tuple[int, ...],
    places: Callable[[tuple[Any, ...], Integers, slice, slice], Integers],
) -> CountWriter:
    """By the compiled loop, or in NumPy where there is little to do; ``data[-1]`` is the table."""
    bound = float(data[-1].max(initial=0.0))
    bound = bound if np.isfinite(bound) else np.inf

    def values(
        tables: PairedTables, data: tuple[Any, ...], rows: slice, columns: slice
    ) -> FloatArray:
        place = places(data, tables.joint_counts(rows, columns), rows, columns)
        return np.asarray(data[-1][place])

    numbers = int(tables.spans[-1]) + len(tables.sizes) + 1  # of every pair
    pays = loop.pays(tables.shape[0] * tables.shape[1] * numbers)
    return CountWriter(tables, data, of_x, loop if pays else values, bound)


def count_entries(tables: PairedTables) -> int:
    """Return the number of (s, p, q) triples to tabulate, at most 10¹⁸.

    If there are more pairs of row classes than ``MAX_ENTRIES``, it is the number of these pairs.
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
    counts: Integers,
) -> tuple[Integers, Integers]:
    """The different columns of counts (one per class of rows), and the class of every row."""
    first = np.zeros(min(1, counts.shape[1]), dtype=np.intp)
    row_class = np.zeros(counts.shape[1], dtype=np.int64)
    for ones in counts:  # domain after domain, which is faster than sorting columns whole
        if (ones != ones[:1]).any():
            key = row_class * (ones.max() + 1) + ones
            _, first, row_class = np.unique(key, return_index=True, return_inverse=True)
    return counts[:, first], row_class


def lay_out(tables: PairedTables) -> Layout:
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
    z_starts = np.ascontiguousarray(starts.astype(np.int32)[:, z_class])
    z_strides = strides.astype(np.int32).swapaxes(0, 1)[:, :, z_class]
    pair = np.repeat(np.arange(n_x * n_z), volume.ravel())
    within = np.arange(len(pair)) - starts.ravel()[pair]
    p, q = list(x[:, pair // n_z]), list(z[:, pair % n_z])
    # a table starts at s = 0, although p + q − n columns must be shared: what is impossible is
    # never looked up, and borrows the counts of the first possible entry
    s = [
        np.maximum(
            within // strides[g].ravel()[pair] % lengths[g].ravel()[pair],
            p[g] + q[g] - tables.sizes[g],
        )
        for g in range(domains)
    ]
    return Layout(x_class, z_starts, np.ascontiguousarray(z_strides), s, p, q)


def _values(task: Task, layout: Layout) -> FloatArray:
    dtype = exact_dtype(task)
    counts = (layout.s, layout.p, layout.q)
    entries = len(layout.s[0])
    operations = entries * len(task.program.kernel_nodes)
    if dtype is np.int64 or operations <= MAX_EXACT_OPERATIONS:
        # what does not fit is refused only where it is looked up, by the guard
        return exact_values(task, *counts, dtype, refuse=False)
    with np.errstate(over="ignore", invalid="ignore"):
        sizes, weights = task.tables.sizes, task.weights()
        value = run(task.program, *counts, sizes, np.float64, weights=weights)[0]
        return np.broadcast_to(value * task.factor(), (entries,))
