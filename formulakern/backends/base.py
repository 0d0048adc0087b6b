"""What a backend is: it says whether it can serve a program on two tables, and then serves it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf, log2, prod
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.backends.tables import Counts, PairedTables
from formulakern.program.program import Program
from formulakern.program.values import (
    FLOAT64_MAX,
    Extended,
    bits,
    dimension,
    run_extended,
    upper_bound,
)

__all__ = ["Backend", "BlockWriter", "Scale", "Support", "Task"]

Scale = Literal["count", "probability"]

#: Values are computed from exact integers where these have at most so many bits.
MAX_EXACT_BITS = 16_384


#: ``write(rows, columns, block)`` stores K for these rows of x and columns (rows of z) in a block,
#: float64, whose rows are contiguous.  ``columns.start`` is a multiple of 16.  A writer is safe to
#: call from several threads at once.
BlockWriter: TypeAlias = Callable[[slice, slice, FloatArray], object]


@dataclass(frozen=True)
class Support:
    """Yes, or no with the reason."""

    ok: bool
    reason: str


@dataclass(frozen=True, eq=False)
class Task:
    """A program to be evaluated on two tables, at a scale.

    ``scale="count"`` gives K itself, ``"probability"`` K divided by the dimension.
    """

    program: Program
    tables: PairedTables
    scale: Scale

    @property
    def n_pairs(self) -> int:
        """Number of kernel values."""
        rows, columns = self.tables.shape
        return rows * columns

    @property
    def counting(self) -> float:
        """Nanoseconds in which the compiled loop counts and stores, about."""
        return self.n_pairs * (0.5 + 0.1 * int(self.tables.spans[-1]))

    @cached_property
    def bound(self) -> int:
        """No number on the way to a kernel value exceeds this, unless it is ``BEYOND``."""
        tables = self.tables
        most_x, most_z = (
            [int(row.max(initial=0)) for row in counts]
            for counts in (tables.x_counts, tables.z_counts)
        )
        return upper_bound(self.program, tables.sizes, most_x, most_z)

    @property
    def exact_everywhere(self) -> bool:
        """Whether all backends give the same values to the last bit: integers below 2⁵³."""
        return self.scale == "count" and self.bound < 2**53

    @property
    def largest(self) -> float:
        """No kernel value exceeds this: infinite, if the bound is beyond float64."""
        if self.scale == "probability":
            return 2.0  # a share, and its roundings
        return float(self.bound) if self.bound <= FLOAT64_MAX else inf

    @property
    def weighted(self) -> bool:
        """Whether counts are divided by the numbers of columns, so that nothing can overflow.

        That needs a homogeneous program; a choice of features is none, and its probability is
        computed from whole numbers.
        """
        return self.scale == "probability" and self.program.degrees is not None

    def weights(self) -> list[float] | None:
        """What every count is multiplied by, per domain (None: by nothing)."""
        if not self.weighted:
            return None
        return [1.0 / max(size, 1) for size in self.tables.sizes]

    def factor(self) -> float:
        """What the program's value, on weighted counts where they are, is multiplied by.

        0 or infinite where it is beyond float64: a finite multiple of the divisor is 0 then, and
        everything else becomes infinite or not a number, which the guard computes again.
        """
        if self.scale == "count":
            return float(Fraction(1, self.program.divisor))
        if not self.exact:
            return float((Extended.of(1.0) / self._dimension(shares=True)).to_float())
        try:
            return float(Fraction(self.weighted_away(), self.divided_by()))
        except OverflowError:
            return inf

    @cached_property
    def bits(self) -> float:
        """The exact integers on the way to a value have at most about so many bits."""
        if self.limit is not None:
            return float(2 * self.limit.bit_length())
        sizes, program = self.tables.sizes, self.program
        found = bits(program, sizes)
        return (
            found if self.scale == "count" else max(found, bits(program, sizes, program.dimension))
        )

    @property
    def exact(self) -> bool:
        """Whether exact integers are short enough to be computed for every value."""
        return self.bits <= MAX_EXACT_BITS

    @cached_property
    def limit(self) -> int | None:
        """What is larger may be taken as this: it makes every value that it is in infinite.

        That is so at scale="count": products and sums of non-negative integers do not get smaller
        again, but for the divisions by symmetries, and none of these divides by more than its part
        of the limit.  Probabilities divide what is beyond float64 too.
        """
        if self.scale == "probability" or self.bound <= FLOAT64_MAX:
            return None
        divisors = (node[1] for node in self.program.nodes if node.kind == "quotient")
        return int(2**1025 * self.program.divisor * prod(divisors))

    def weighted_away(self) -> int:
        """What the weights divide the program's value by, at scale="probability"."""
        sizes = self.tables.sizes
        degrees = self.program.degrees or [0] * len(sizes)
        return prod(max(n, 1) ** d for n, d in zip(sizes, degrees, strict=True))

    def weighted_bits(self) -> float:
        """log₂ of that."""
        degrees = self.program.degrees or ()
        pairs = zip(self.tables.sizes, degrees, strict=False)
        return float(sum(min(d, 1e300) * log2(max(n, 1)) for n, d in pairs))

    def divided_by(self) -> int:
        """What the program's value is divided by, at scale="probability"."""
        return max(dimension(self.program, self.tables.sizes), 1) * self.program.divisor

    def extended(
        self, s: Sequence[Counts], p: Sequence[Counts], q: Sequence[Counts]
    ) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """The values in floating point with exponents of any size, and which of them are 0."""
        program = self.program
        values = run_extended(program, s, p, q, self.tables.sizes)
        whole = self.scale == "count"
        divide = Extended.of_integer(program.divisor) if whole else self._dimension()
        values = values / divide
        return values.to_float(), values.m == 0

    def _dimension(self, shares: bool = False) -> Extended:
        """The dimension times the divisor; with shares, of what the weights leave of it."""
        zeros = [np.zeros((), dtype=np.int64) for _ in self.tables.sizes]
        program, sizes = self.program, self.tables.sizes
        return run_extended(program, zeros, zeros, zeros, sizes, program.dimension, shares)

    def rounded(self, values: npt.NDArray[Any]) -> FloatArray:
        """Exact values of the output, scaled and rounded once; infinite beyond float64."""
        divide = self.program.divisor if self.scale == "count" else self.divided_by()
        if divide == 1 and values.dtype != object:
            return values.astype(np.float64)
        flat = [_quotient(int(value), divide) for value in values.ravel().tolist()]
        return np.array(flat, dtype=np.float64).reshape(values.shape)


def _quotient(value: int, divide: int) -> float:
    """Correctly rounded, for integers of any size."""
    try:
        return value / divide
    except OverflowError:
        return inf


class Backend(Protocol):
    """One way to compute kernel values."""

    name: str

    def supports(self, task: Task) -> Support:
        """Whether it can serve this task, and why or why not."""

    def size(self, task: Task) -> float:
        """Return about how many nanoseconds it takes, if its code is compiled."""

    def compile(self, task: Task) -> BlockWriter:
        """Return the function that fills blocks; all work that is not per pair is done here."""
