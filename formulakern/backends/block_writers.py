"""Writers of blocks: kernel values from joint counts, multiplied and joined as they are stored.

A kernel of counts writes a row of a tile, 256 values, and goes on to the next.  What is done with
the values afterwards (division by the lengths of the rows, a weight, addition to the values of
another kernel, multiplication with them) is done at once, in the same loop, while they are in the
first-level cache: it costs nothing beside writing them to memory.
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

#: Values that the steps of a composed kernel pass over together: one megabyte.
BAND = 1 << 17
#: Values that NumPy computes together.
FEW_PAIRS = 1 << 15
#: Values below this cannot leave float64 by the few roundings on the way.
SAFE = 1e308

Join = Literal["store", "add", "multiply"]
#: The values of a block from the joint counts of its pairs of rows, in NumPy.
InNumPy = Callable[[PairedTables, tuple[Any, ...], slice, slice], FloatArray]

#: The operation of a join on blocks of values.
UFUNCS: dict[str, np.ufunc] = {"add": np.add, "multiply": np.multiply}
_NO_FACTORS, _NO_ROWS = np.empty(0), np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Factors:
    """What values are multiplied by: the inverse lengths of their rows, then a weight.

    value · max(x_i, z_j) · min(x_i, z_j) · weight, rounded in this order: so it is the same for
    (x, z) and (z, x).  ``x`` and ``z`` are 1/√K(x, x), 0 for rows without length, or empty;
    ``same`` is which row of z is the row of x itself, -1 for none: its cosine with itself is 1.
    """

    x: FloatArray = field(default_factory=lambda: _NO_FACTORS)
    z: FloatArray = field(default_factory=lambda: _NO_FACTORS)
    same: IntArray = field(default_factory=lambda: _NO_ROWS)
    weight: float = 1.0

    def then(self, later: Factors) -> Factors | None:
        """These and the later ones as one; None where that is more than they hold."""
        if not len(self.x) and self.weight == 1.0:
            return later
        if not len(later.x) and self.weight == 1.0:
            return replace(self, weight=later.weight)
        return None

    def rows_at(self, rows: npt.NDArray[np.intp]) -> Factors:
        """Those of some rows of x."""
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
        """No value exceeds this after it, where none exceeded ``before``."""
        return (2.0 if len(self.x) else before) * self.weight

    @cached_property
    def for_loop(self) -> tuple[int, int, int, float]:
        """As the compiled loop takes them, as long as this lives."""
        x, z, same = (
            int(part.ctypes.data) if len(part) else 0 for part in (self.x, self.z, self.same)
        )
        return x, z, same, self.weight


@dataclass(frozen=True, eq=False)
class CountWriter:
    """A :data:`.tables.BlockWriter` by joint counts: compiled, or in NumPy for little work.

    The values are multiplied by ``before``, stored in the output, added to what it holds or
    multiplied with it, and the output is multiplied by ``after``.
    """

    tables: PairedTables
    #: C-contiguous arrays from which else the values are computed.
    data: tuple[Any, ...]
    #: Which of the data belong to the rows of x, their last axis.
    of_x: tuple[int, ...]
    #: ``finish`` of :mod:`formulakern.backends.loops`, or a function of ``tables``, ``data``, rows
    #: and columns.
    values: CompiledFunction[..., int] | InNumPy
    #: No value exceeds it.
    bound: float = inf
    before: Factors = field(default_factory=Factors)
    join: Join = "store"
    after: Factors = field(default_factory=Factors)
    memory: threading.local = field(default_factory=threading.local)

    def __call__(self, rows: slice, columns: slice, block: FloatArray) -> None:
        """Fill a block; see :data:`.tables.BlockWriter`."""
        if not isinstance(self.values, CompiledFunction):
            height = max(1, FEW_PAIRS // max(columns.stop - columns.start, 1))
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
        """The data as the compiled code takes it; the arrays live as long as this."""
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
        """A fill whose row i is row ``rows[i]`` of x, at the cost of copying these rows."""
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
        """The same, the output multiplied as well; None where factors stand there already."""
        place = "before" if self.join == "store" else "after"
        together = getattr(self, place).then(factors)
        return None if together is None else replace(self, **{place: together})


@dataclass(frozen=True, eq=False)
class ChainedWriter:
    """Fills of the same block, one after the other, in bands of rows that stay in a cache.

    The first overwrites, the others change what they find; no value exceeds ``bound`` at the end.
    """

    parts: tuple[BlockWriter, ...]
    bound: float = inf

    def __call__(self, rows: slice, columns: slice, block: FloatArray) -> None:
        """Fill a block; see :data:`.tables.BlockWriter`."""
        height = max(ROWS, BAND // max(columns.stop - columns.start, 1) // ROWS * ROWS)
        for band in cut(rows, height):
            for part in self.parts:
                part(band, columns, block[within(band, rows)])


def cut(rows: slice, height: int) -> Iterator[slice]:
    """Yield parts of some rows, each of this height but perhaps the last."""
    for start in range(rows.start, rows.stop, height):
        yield slice(start, min(start + height, rows.stop))


def within(some: slice, rows: slice) -> slice:
    """Return the place of some rows in a block that begins at ``rows.start``."""
    return slice(some.start - rows.start, some.stop - rows.start)


def then(inner: BlockWriter, change: BlockWriter, bound: float = inf) -> ChainedWriter:
    """Fill with ``inner``, then change what it wrote: ``change(rows, columns, block)``."""

    return ChainedWriter((*_parts(inner), change), bound)


def multiplied(fill: BlockWriter, factors: Factors) -> BlockWriter:
    """Fill, then multiply, in the loop that counts if there is one; refuse infinite values."""
    *first, last = _parts(fill)
    bound = factors.bound(bound_of(fill))
    together = last.multiplied(factors) if isinstance(last, CountWriter) else None
    if together is None:
        return _checked(then(fill, factors.multiply, bound))
    if first:
        return _checked(ChainedWriter((*first, together), bound))
    return _checked(replace(together, bound=bound))


def joined(fills: Sequence[BlockWriter], join: Literal["add", "multiply"]) -> BlockWriter:
    """Fill with the first, then add the others, or multiply with them; refuse infinite values."""
    first, *others = fills
    parts = [*_parts(first)]
    for fill in others:
        if isinstance(fill, CountWriter) and fill.join == "store":
            parts.append(replace(fill, join=join))
        else:
            parts.append(_apart(fill, UFUNCS[join]))
    bounds = [bound_of(fill) for fill in fills]
    return _checked(ChainedWriter(tuple(parts), sum(bounds) if join == "add" else prod(bounds)))


def rows_of(fill: BlockWriter, positions: npt.NDArray[np.intp]) -> BlockWriter:
    """Return a fill whose row i is row ``positions[i]`` of x; nothing is laid out again."""
    if isinstance(fill, CountWriter):
        return fill.rows_at(positions)
    if isinstance(fill, ChainedWriter) and all(isinstance(p, CountWriter) for p in fill.parts):
        return ChainedWriter(tuple(rows_of(part, positions) for part in fill.parts), fill.bound)

    def one_by_one(rows: slice, columns: slice, block: FloatArray) -> None:
        for place, row in enumerate(positions[rows].tolist()):
            fill(slice(row, row + 1), columns, block[place : place + 1])

    return one_by_one


def check_finite(values: FloatArray) -> FloatArray:
    """The values, or MagnitudeError."""
    if not np.isfinite(values).all():
        raise MagnitudeError(
            "a sum or product of kernel values is beyond 1.8e308, the end of float64. "
            "Use scale='probability' in its parts, or normalise them first."
        )
    return values


def _parts(fill: BlockWriter) -> tuple[BlockWriter, ...]:
    return fill.parts if isinstance(fill, ChainedWriter) else (fill,)


def bound_of(fill: BlockWriter) -> float:
    """No value of the fill exceeds this."""
    return fill.bound if isinstance(fill, CountWriter | ChainedWriter) else inf


def _checked(fill: CountWriter | ChainedWriter) -> BlockWriter:
    """The same, its values checked where they may leave float64."""
    if fill.bound < SAFE:
        return fill
    return then(fill, lambda _, __, block: check_finite(block))


def _apart(fill: BlockWriter, ufunc: np.ufunc) -> BlockWriter:
    """Fill memory of its own, then join."""

    def join(rows: slice, columns: slice, block: FloatArray) -> None:
        values = np.empty(block.shape)
        fill(rows, columns, values)
        with np.errstate(over="ignore"):
            ufunc(block, values, out=block)

    return join
