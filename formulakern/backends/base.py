"""What a backend is: it says whether it can serve a program on two tables, and then serves it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.backends.tables import PairedTables
from formulakern.program.magnitude import FLOAT64_MAX, dimension, upper_bound
from formulakern.program.node import Program

__all__ = ["Backend", "Fill", "FloatArray", "Scale", "Support", "Task", "block_at"]

Scale = Literal["count", "probability"]


class Fill(Protocol):
    """Writes a block of kernel values; safe to call from several threads at once."""

    def __call__(
        self, rows: slice, columns: slice, out: FloatArray, out_row: int, out_column: int
    ) -> None:
        """``out[out_row:, out_column:]`` receives K for these rows of x and columns (rows of z).

        ``columns.start`` is a multiple of 16; ``out`` is C-contiguous.
        """


def block_at(
    out: FloatArray, rows: slice, columns: slice, out_row: int, out_column: int
) -> FloatArray:
    """The part of ``out`` that a :class:`Fill` writes for these rows and columns."""
    return out[
        out_row : out_row + rows.stop - rows.start,
        out_column : out_column + columns.stop - columns.start,
    ]


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

    @cached_property
    def bound(self) -> int:
        """No number on the way to a kernel value exceeds this."""
        tables = self.tables
        most_x, most_z = (
            [int(row.max(initial=0)) for row in counts]
            for counts in (tables.x_counts, tables.z_counts)
        )
        return upper_bound(self.program, tables.sizes, most_x, most_z)

    @property
    def largest(self) -> float:
        """No kernel value exceeds this: infinite, if the bound is beyond float64."""
        if self.scale == "probability":
            return 2.0  # a share, and its roundings
        return float(self.bound) if self.bound <= FLOAT64_MAX else math.inf

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
        try:
            return float(Fraction(self.weighted_away(), self.divided_by()))
        except OverflowError:
            return math.inf

    def weighted_away(self) -> int:
        """What the weights divide the program's value by, at scale="probability"."""
        sizes = self.tables.sizes
        degrees = self.program.degrees or [0] * len(sizes)
        return prod(max(n, 1) ** d for n, d in zip(sizes, degrees, strict=True))

    def divided_by(self) -> int:
        """What the program's value is divided by, at scale="probability"."""
        return max(dimension(self.program, self.tables.sizes), 1) * self.program.divisor

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
        return math.inf


class Backend(Protocol):
    """One way to compute kernel values."""

    name: str

    def supports(self, task: Task) -> Support:
        """Whether it can serve this task, and why or why not."""

    def compile(self, task: Task) -> Fill:
        """The function that fills blocks; everything that is not per pair is done here."""
