"""Writers of blocks: kernel values from joint counts, multiplied and joined as they are stored.

A kernel of counts writes the 128 values of a row of a tile at a time.  All further operations
(division by the lengths of the rows, a weight, addition to the values of another kernel or
multiplication with them) follow in the same loop, while the values are in the first-level cache.
Their cost is small next to that of writing to memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, prod
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray, IntArray, aligned
from formulakern.backends.loops import JOINS, TILE, fill_block, packed
from formulakern.backends.tables import ROWS, BlockWriter, PairedTables
from formulakern.compilation import CompiledFunction
from formulakern.errors import MagnitudeError

#: Values that a composed kernel processes at a time: one megabyte.
BLOCK_VALUES = 1 << 17
#: Values that NumPy computes at a time.
NUMPY_BLOCK_VALUES = 1 << 15
#: Values below this stay in float64 under a few roundings.
MAX_SAFE_VALUE = 1e308

Join = Literal["store", "add", "multiply"]
#: Returns the values of a block from the joint counts of its pairs of rows, in NumPy.
InNumPy = Callable[[PairedTables, tuple[Any, ...], slice, slice], FloatArray]

#: The operation on blocks of values for each join.
UFUNCS: dict[str, np.ufunc] = {"add": np.add, "multiply": np.multiply}
_NO_FACTORS, _NO_ROWS = np.empty(0), np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Factors:
    """Factors of values: the inverse lengths of their rows, then a weight.

    The result is value · max(x_i, z_j) · min(x_i, z_j) · weight, rounded in this order, so that it
    is equal for (x, z) and (z, x).  ``x`` and ``z`` are 1/√K(x, x), 0 for rows without length, or
    empty.  ``same`` is the row of z that is the row of x itself, or -1; its cosine is 1.
    """

    x: FloatArray = field(default_factory=lambda: _NO_FACTORS)
    z: FloatArray = field(default_factory=lambda: _NO_FACTORS)
    same: IntArray = field(default_factory=lambda: _NO_ROWS)
    weight: float = 1.0

    def then(self, later: Factors) -> Factors | None:
        """Merge with ``later``, or return None if they cannot be merged."""
        if not len(self.x) and self.weight == 1.0:
            return later
        if not len(later.x) and self.weight == 1.0:
            return replace(self, weight=later.weight)
        return None

    def rows_at(self, rows: npt.NDArray[np.intp]) -> Factors:
        """Return the factors of some rows of x."""
        x = self.x[rows] if len(self.x) else self.x
        same = self.same[rows] if len(self.same) else self.same
        return replace(self, x=x, same=same)

    def multiply(self, rows: slice, columns: slice, block: FloatArray) -> None:
        """Multiply a block of values, in NumPy."""
        if len(self.x):
            x, z = self.x[rows, None], self.z[None, columns]
            block *= np.maximum(x, z)
            block *= np.minimum(x, z)
        if len(self.same):
            place = self.same[rows] - columns.start
            row = np.flatnonzero((place >= 0) & (place < block.shape[1]))
            block[row, place[row]] = self.x[rows][row] > 0
        if self.weight != 1.0:
            with np.errstate(over="ignore"):
                block *= self.weight

    def bound(self, before: float) -> float:
        """Return a bound on the values after multiplication, from a bound before it."""
        return (2.0 if len(self.x) else before) * self.weight

    @cached_property
    def for_loop(self) -> tuple[int, int, int, float]:
        """The arguments of the compiled loop, valid during the lifetime of this object."""
        x, z, same = (
            int(part.ctypes.data) if len(part) else 0 for part in (self.x, self.z, self.same)
        )
        return x, z, same, self.weight


@dataclass(frozen=True, eq=False)
class CountWriter:
    """A :data:`.tables.BlockWriter` by joint counts: compiled, or in NumPy for little work.

    The values are multiplied by ``before``, and stored in the output, added to it or multiplied
    with it; then the output is multiplied by ``after``.
    """

    tables: PairedTables
    #: C-contiguous arrays of all other numbers from which the values are computed.
    data: tuple[Any, ...]
    #: The positions of the data whose last axis is the rows of x.
    of_x: tuple[int, ...]
    #: ``finish`` of :mod:`formulakern.backends.loops`, or a function of ``tables``, ``data``, rows
    #: and columns.
    values: CompiledFunction[..., int] | InNumPy
    #: An upper bound on the values.
    bound: float = inf
    before: Factors = field(default_factory=Factors)
    join: Join = "store"
    after: Factors = field(default_factory=Factors)
    memory: threading.local = field(default_factory=threading.local)

    def __call__(self, rows: slice, columns: slice, block: FloatArray) -> None:
        """Fill a block; see :data:`.tables.BlockWriter`."""
        if not isinstance(self.values, CompiledFunction):
            height = max(1, NUMPY_BLOCK_VALUES // max(columns.stop - columns.start, 1))
            for some in cut(rows, height):
                self._by_numpy(some, columns, block[within(some, rows)])
            return
        mine, tables = self.memory, self.tables
        if not hasattr(mine, "tile"):
            mine.tile = aligned((len(tables.sizes), ROWS, TILE), np.uint64)
            mine.row = aligned((TILE,), np.float64)
        words = (tables.x_words, tables.z_panels, tables.spans)
        steps = (JOINS[self.join], self.before.for_loop, self.after.for_loop)
        where = (rows.start, rows.stop, columns.start, columns.stop)
        memory = (mine.tile, mine.row)
        finish = (self.values.address, self.packed)
        fill_block(words, memory, finish, steps, where, block)

    @cached_property
    def packed(self) -> IntArray:
        """The data for the compiled code; the arrays must outlive it."""
        return packed(self.data, len(self.tables.sizes))

    def _by_numpy(self, rows: slice, columns: slice, block: FloatArray) -> None:
        compute: Any = self.values
        values = np.array(compute(self.tables, self.data, rows, columns))
        self.before.multiply(rows, columns, values)
        if self.join == "store":
            block[...] = values
        else:
            with np.errstate(over="ignore"):
                UFUNCS[self.join](block, values, out=block)
        self.after.multiply(rows, columns, block)

    def rows_at(self, rows: npt.NDArray[np.intp]) -> CountWriter:
        """Return a writer whose row i is row ``rows[i]`` of x, by copying these rows."""
        data = list(self.data)
        for place in self.of_x:
            data[place] = np.ascontiguousarray(data[place][..., rows])
        return replace(
            self,
            tables=self.tables.rows_at(rows),
            data=tuple(data),
            before=self.before.rows_at(rows),
            after=self.after.rows_at(rows),
        )

    def multiplied(self, factors: Factors) -> CountWriter | None:
        """Return a writer that also multiplies the output, or None if it has factors already."""
        place = "before" if self.join == "store" else "after"
        together = getattr(self, place).then(factors)
        return None if together is None else replace(self, **{place: together})


@dataclass(frozen=True, eq=False)
class ChainedWriter:
    """Writers of one block in order, in bands that stay in a cache; the first overwrites it."""

    parts: tuple[BlockWriter, ...]
    bound: float = inf

    def __call__(self, rows: slice, columns: slice, block: FloatArray) -> None:
        """Fill a block; see :data:`.tables.BlockWriter`."""
        height = max(ROWS, BLOCK_VALUES // max(columns.stop - columns.start, 1) // ROWS * ROWS)
        for band in cut(rows, height):
            for part in self.parts:
                part(band, columns, block[within(band, rows)])


def cut(rows: slice, height: int) -> Iterator[slice]:
    """Yield consecutive parts of some rows, each of this height except perhaps the last."""
    for start in range(rows.start, rows.stop, height):
        yield slice(start, min(start + height, rows.stop))


def within(some: slice, rows: slice) -> slice:
    """Return the place of some rows in a block that begins at ``rows.start``."""
    return slice(some.start - rows.start, some.stop - rows.start)


def then(inner: BlockWriter, change: BlockWriter, bound: float = inf) -> ChainedWriter:
    """Write with ``inner``, then change the block by ``change(rows, columns, block)``."""

    return ChainedWriter((*_parts(inner), change), bound)


def multiplied(fill: BlockWriter, factors: Factors) -> BlockWriter:
    """Write, then multiply, in the counting loop if there is one; check for infinite values."""
    *first, last = _parts(fill)
    bound = factors.bound(bound_of(fill))
    together = last.multiplied(factors) if isinstance(last, CountWriter) else None
    if together is None:
        return _checked(then(fill, factors.multiply, bound))
    if first:
        return _checked(ChainedWriter((*first, together), bound))
    return _checked(replace(together, bound=bound))


def combined(fills: Sequence[BlockWriter], join: Literal["add", "multiply"]) -> BlockWriter:
    """Write with the first, then add or multiply the others; check for infinite values."""
    first, *others = fills
    parts = [*_parts(first)]
    for fill in others:
        if isinstance(fill, CountWriter) and fill.join == "store":
            parts.append(replace(fill, join=join))
        else:
            parts.append(_separately(fill, UFUNCS[join]))
    bounds = [bound_of(fill) for fill in fills]
    return _checked(ChainedWriter(tuple(parts), sum(bounds) if join == "add" else prod(bounds)))


def rows_of(fill: BlockWriter, positions: npt.NDArray[np.intp]) -> BlockWriter:
    """Return a writer whose row i is row ``positions[i]`` of x, without a new layout."""
    if isinstance(fill, CountWriter):
        return fill.rows_at(positions)
    if isinstance(fill, ChainedWriter) and all(isinstance(p, CountWriter) for p in fill.parts):
        return ChainedWriter(tuple(rows_of(part, positions) for part in fill.parts), fill.bound)

    def one_by_one(rows: slice, columns: slice, block: FloatArray) -> None:
        for place, row in enumerate(positions[rows].tolist()):
            fill(slice(row, row + 1), columns, block[place : place + 1])

    return one_by_one


def check_finite(values: FloatArray) -> FloatArray:
    """Return the values, or raise MagnitudeError if one is not finite."""
    if not np.isfinite(values).all():
        raise MagnitudeError(
            "a sum or product of kernel values is beyond 1.8e308, the end of float64. "
            "Use scale='probability' in its parts, or normalise them first."
        )
    return values


def _parts(fill: BlockWriter) -> tuple[BlockWriter, ...]:
    return fill.parts if isinstance(fill, ChainedWriter) else (fill,)


def bound_of(fill: BlockWriter) -> float:
    """Return an upper bound on the values of the writer."""
    return fill.bound if isinstance(fill, CountWriter | ChainedWriter) else inf


def _checked(fill: CountWriter | ChainedWriter) -> BlockWriter:
    """Return the writer, with a check of its values if they may leave float64."""
    if fill.bound < MAX_SAFE_VALUE:
        return fill
    return then(fill, lambda _, __, block: check_finite(block))


def _separately(fill: BlockWriter, ufunc: np.ufunc) -> BlockWriter:
    """Write to separate memory, then join."""

    def join(rows: slice, columns: slice, block: FloatArray) -> None:
        values = np.empty(block.shape)
        fill(rows, columns, values)
        with np.errstate(over="ignore"):
            ufunc(block, values, out=block)

    return join
