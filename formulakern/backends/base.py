"""A program on two tables: its exact values, the guard of the others, and the interpreter.

Exact integers are the specification that every backend must equal, for whole tables or for chosen
counts: int64 if that suffices, else Python's own.  Every operation is a sum or product of
non-negative numbers, so a float64 result is accurate unless a number left its range on the way: a
count that overflowed, or a probability so small that a factor may have been flushed to zero.  The
guard computes those entries, and only those, again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf, log2, prod
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.backends.block_writers import CountWriter
from formulakern.backends.tables import BlockWriter, Counts, PairedTables
from formulakern.errors import MagnitudeError
from formulakern.program.program import Program
from formulakern.program.values import (
    BEYOND,
    FLOAT64_MAX,
    Extended,
    bits,
    dimension,
    run,
    run_extended,
    upper_bound,
)

__all__ = [
    "Backend",
    "InterpreterBackend",
    "Scale",
    "Support",
    "Task",
    "exact_dtype",
    "exact_values",
    "guarded",
]

Scale = Literal["count", "probability"]

#: Values are computed from exact integers where these have at most so many bits.
MAX_EXACT_BITS = 16_384
#: Above this a count may have overflowed on the way; its inverse for probabilities.
SAFE = 10**290
#: Exact re-evaluation of more (operations × words per number) than this is refused.
MAX_EXACT_WORK = 2_000_000_000
#: What an operation with exponents of any size costs, in operations on words.
EXTENDED_WORDS = 100


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
        """Return what the program's value, on weighted counts if they are, is multiplied by.

        It is 0 or infinite if it is beyond float64: a finite multiple of the divisor is 0 then, and
        everything else becomes infinite or not a number, which the guard computes again.
        """
        if self.scale == "count":
            return float(Fraction(1, self.program.divisor))
        if not self.exact:
            return float((Extended.of(1.0) / self._dimension(shares=True)).to_float())
        sizes = self.tables.sizes
        degrees = self.program.degrees or [0] * len(sizes)
        weighted_away = prod(max(n, 1) ** d for n, d in zip(sizes, degrees, strict=True))
        try:
            return float(Fraction(weighted_away, self.divided_by()))
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

    def divided_by(self) -> int:
        """Return what the program's value is divided by, at scale="probability"."""
        return max(dimension(self.program, self.tables.sizes), 1) * self.program.divisor

    def _dimension(self, shares: bool = False) -> Extended:
        """The dimension times the divisor; with shares, of what the weights leave of it."""
        zeros = [np.zeros((), dtype=np.int64) for _ in self.tables.sizes]
        program, sizes = self.program, self.tables.sizes
        return run_extended(program, zeros, zeros, zeros, sizes, program.dimension, shares)

    def values(
        self,
        s: Sequence[Counts],
        p: Sequence[Counts],
        q: Sequence[Counts],
        dtype: type[Any],
    ) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Return the values at arrays of counts, rounded once, and which of them are 0.

        Infinite beyond float64.  Integers of more than ``MAX_EXACT_BITS`` bits are computed to 53
        of them.
        """
        program, sizes, count = self.program, self.tables.sizes, self.scale == "count"
        if dtype is object and not self.exact:
            divide = Extended.of_integer(program.divisor) if count else self._dimension()
            extended = run_extended(program, s, p, q, sizes) / divide
            return extended.to_float(), extended.m == 0
        ss, pp, qq = ([array.astype(dtype) for array in counts] for counts in (s, p, q))
        limit = self.limit if dtype is object else None
        number_bytes = 8 if dtype is np.int64 else 40 + self.bits / 8
        found = run(program, ss, pp, qq, sizes, dtype, limit=limit, number_bytes=number_bytes)[0]
        divisor = program.divisor if count else self.divided_by()
        if divisor == 1 and dtype is np.int64:
            return found.astype(np.float64), found == 0
        flat = [_quotient(int(value), divisor) for value in found.ravel().tolist()]
        return np.array(flat, dtype=np.float64).reshape(found.shape), found == 0


def _quotient(value: int, divide: int) -> float:
    """Return the quotient, correctly rounded, for integers of any size."""
    try:
        return value / divide
    except OverflowError:
        return inf


def exact_dtype(task: Task) -> type[Any]:
    """Return ``int64`` if no number can pass it, else ``object`` for Python integers."""
    return np.int64 if task.bound < 2**63 else object


def exact_values(
    task: Task,
    s: Sequence[Counts],
    p: Sequence[Counts],
    q: Sequence[Counts],
    dtype: type[Any],
    refuse: bool = True,
) -> FloatArray:
    """Return the kernel for arrays of counts, computed in integers and rounded once.

    Values outside the range of float64 at this scale are refused by MagnitudeError; with
    ``refuse=False`` they become infinite or not a number.
    """
    shape = np.broadcast_shapes(*(a.shape for counts in (s, p, q) for a in counts))
    rounded, zero = task.values(s, p, q, dtype)
    if refuse and np.isinf(rounded).any():
        raise _too_large(task)
    if task.scale == "probability":
        lost = ~zero & (rounded < np.finfo(np.float64).tiny)
        if np.any(lost) and not refuse:
            rounded[lost] = np.nan
        elif np.any(lost):
            raise MagnitudeError(
                "a kernel value is below 2.2e-308 at scale='probability', where float64 ends: "
                "too few of the substitutions are true in both rows. "
                "Use scale='count', or a formula with fewer literals."
            )
    return np.broadcast_to(rounded, shape)


def _too_large(task: Task) -> MagnitudeError:
    """The error for values beyond float64."""
    return MagnitudeError(
        f"a kernel value of this formula on {max(task.tables.sizes, default=0):,} columns is "
        "beyond 1.8e308, the end of float64. Use scale='probability' (the share of substitutions "
        "that are true in both rows), or kernel.normalized()."
    )


def guarded(task: Task, fill: BlockWriter) -> BlockWriter:
    """The same function, its out-of-range entries replaced by exact ones."""
    if task.weighted:
        pairs = zip(task.tables.sizes, task.program.degrees or (), strict=False)
        weighted_bits = sum(min(degree, 1e300) * log2(max(n, 1)) for n, degree in pairs)
        if weighted_bits < log2(SAFE):
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
            raise _too_large(task)
        raise MagnitudeError(
            "some kernel values lie below 1e-290 at scale='probability' and the program is too "
            "long to compute them exactly. Use a formula with fewer literals."
        )
    s, p, q = np.split(keys, 3)
    return exact_values(task, list(s), list(p), list(q), object)[inverse.ravel()]


class Backend(Protocol):
    """One way to compute kernel values."""

    name: str

    def supports(self, task: Task) -> Support:
        """Whether it can serve this task, and why or why not."""

    def size(self, task: Task) -> float:
        """Return about how many nanoseconds it takes, if its code is compiled."""

    def compile(self, task: Task) -> BlockWriter:
        """Return the function that fills blocks; all work that is not per pair is done here."""


class InterpreterBackend:
    """Exact integers for every pair, rounded once, in NumPy; needs no compiler.

    Where they would have more than ``MAX_EXACT_BITS`` bits, floating point with exponents of any
    size: see :class:`formulakern.program.values.Extended`.
    """

    name = "interpreter"

    def supports(self, task: Task) -> Support:
        """Always."""
        if task.exact:
            return Support(True, "exact integers for every pair")
        return Support(
            True,
            f"integers of {task.bits:.3g} bits are too long for every pair: "
            "53 bits, and exponents of any size",
        )

    def size(self, task: Task) -> float:
        """Counting takes 3 ns a word; an operation takes 1 ns, and more on long integers."""
        operation = 1.1 if exact_dtype(task) is np.int64 else 60.0 + min(task.bits / 64, 100.0)
        words = int(task.tables.spans[-1])
        return task.n_pairs * (3 + 3 * words + operation * len(task.program.kernel_nodes))

    def compile(self, task: Task) -> BlockWriter:
        """Nothing to compile."""
        dtype = exact_dtype(task)

        def values(tables: PairedTables, _: object, rows: slice, columns: slice) -> FloatArray:
            s = tables.joint_counts(rows, columns)
            p = [counts[rows][:, None] for counts in tables.x_counts]
            q = [counts[columns][None, :] for counts in tables.z_counts]
            return exact_values(task, list(s), p, q, dtype)

        return CountWriter(task.tables, (), (), values, task.largest)
