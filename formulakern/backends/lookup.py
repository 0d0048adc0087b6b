"""Lookup tables: values by the counts of a pair of rows, all in one long table.

A kernel of counts is a function of the integers (s, p, q).  For every pair of numbers of ones
(p, q) that occurs, the long table holds the value for every s.  A row of x has a place in the
table, a row of z a place relative to it, and each domain a stride per column that both rows share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.backends.block_writers import CountWriter
from formulakern.backends.loops import look_up, look_up_domains
from formulakern.backends.tables import PairedTables

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CountLayout:
    """The places x_start + z_start + Σ_g strides_g · ⟨x,z⟩_g of pairs, and the counts of places."""

    x_start: Integers  # (rows of x,)
    z_start: Integers  # (rows of z,)
    strides: Integers  # (domains, rows of z)
    s: Integers  # (domains, entries), like p and q
    p: Integers
    q: Integers
    possible: npt.NDArray[np.bool_]  # (entries,): True if a pair of rows can have these counts

    def look_up(self, tables: PairedTables, table: FloatArray) -> CountWriter:
        """Return the entries of a table at the places of all pairs of rows."""
        strides = self.strides[:, :1] if len(self.strides) == 1 else self.strides
        return look_up_sums(tables, table, self.x_start, self.z_start, strides)


def look_up_sums(
    tables: PairedTables,
    table: FloatArray,
    x_start: Integers | None = None,
    z_start: Integers | None = None,
    strides: Any = 1,
) -> CountWriter:
    """Return K(x, z) = table[x_start + z_start + Σ_g strides_g·⟨x,z⟩_g].

    Starts are zeros by default; a term may be negative if the sum is not.  With one domain the
    stride is one number; with more there is one for every domain and row of z.  Every index that
    occurs must be inside the table, which is not checked.
    """
    domains = len(tables.sizes)
    # a sum of unsigned terms is right if it is not negative; the loop needs a writeable table
    starts = (
        np.zeros(rows, dtype=np.uint64) if start is None else start.astype(np.uint64)
        for rows, start in zip(tables.shape, (x_start, z_start), strict=True)
    )
    data = (*starts, np.ravel(strides).astype(np.uint64), np.array(table))
    bound = float(table.max(initial=0.0))

    def values(
        tables: PairedTables, data: tuple[Any, ...], rows: slice, columns: slice
    ) -> FloatArray:
        x, z, strides, table = data
        strides = np.broadcast_to(strides.reshape(domains, -1), (domains, len(z)))[:, columns]
        s = tables.joint_counts(rows, columns).astype(np.uint64)
        place = x[rows, None] + z[columns] + (strides[:, None] * s).sum(axis=0, dtype=np.uint64)
        return np.asarray(table[place.astype(np.intp)])

    loop = look_up if domains == 1 else look_up_domains
    numbers = int(tables.spans[-1]) + domains + 1  # for every pair
    pays = loop.pays(tables.shape[0] * tables.shape[1] * numbers)
    bound = bound if np.isfinite(bound) else np.inf
    return CountWriter(tables, data, (0,), loop if pays else values, bound)


def count_entries(tables: PairedTables) -> int:
    """Return the number of (s, p, q) triples to tabulate, at most 10¹⁸."""
    x, z = row_classes(tables.x_counts)[0], row_classes(tables.z_counts)[0]
    with np.errstate(over="ignore"):
        return int(min(x.shape[1] * (z + 1.0).prod(axis=0).sum(), 1e18))


def row_classes(counts: Integers) -> tuple[Integers, Integers]:
    """Return the different columns of counts, one per class of rows, and the class of every row."""
    first = np.zeros(min(1, counts.shape[1]), dtype=np.intp)
    row_class = np.zeros(counts.shape[1], dtype=np.int64)
    for ones in counts:  # one domain at a time is faster than sorting whole columns
        if (ones != ones[:1]).any():
            key = row_class * (ones.max() + 1) + ones
            _, first, row_class = np.unique(key, return_index=True, return_inverse=True)
    return counts[:, first], row_class


def lay_out(tables: PairedTables) -> CountLayout:
    """Return the places of all triples; a class of rows of x has one block for all rows of z."""
    x, x_class = row_classes(tables.x_counts)
    z, z_class = row_classes(tables.z_counts)
    lengths = z + 1
    after = np.cumprod(lengths[::-1], axis=0)[::-1]  # the last domain has stride 1
    strides = np.vstack([after[1:], np.ones_like(after[:1])])
    volume = after[0]
    starts = np.cumsum(volume) - volume
    of = np.repeat(np.arange(len(volume)), volume)
    s = (np.arange(len(of)) - starts[of]) // strides[:, of] % lengths[:, of]
    p, q = np.repeat(x, len(of), axis=1), np.tile(z[:, of], x.shape[1])
    s, sizes = np.tile(s, x.shape[1]), np.array(tables.sizes)[:, None]
    possible = ((s <= p) & (s >= p + q - sizes)).all(axis=0)
    return CountLayout(x_class * len(of), starts[z_class], strides[:, z_class], s, p, q, possible)
