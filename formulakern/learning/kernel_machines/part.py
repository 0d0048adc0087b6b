"""What the decomposition asks of a problem and its rows, wherever these lie."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.learning.kernel_machines.box_problem import Values

__all__ = ["Part", "Rows", "SmallProblem", "Violators"]

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Violators:
    """The rows that violate optimality most.

    Attributes
    ----------
    rows : intp
        Ascending.
    differ : float
        How much the slopes of all rows differ: at most 0 at the optimum.
    largest : float
        The largest |Kβ| of a row.
    """

    rows: Rows
    differ: float
    largest: float


@dataclass(frozen=True, eq=False)
class SmallProblem:
    """A few rows, while all other coefficients stay as they are.

    Attributes
    ----------
    gram : float64 (q, q)
        K of these rows.
    gradient, beta, lower, upper : float64 (q,)
        Kβ − p, the coefficients, and their box.
    """

    gram: FloatArray
    gradient: FloatArray
    beta: FloatArray
    lower: FloatArray
    upper: FloatArray


class Part(ABC):
    """A problem, the rows that make its matrix, and how far it is solved.

    Rows are numbered 0, 1, …; of these numbers arrays are ascending.

    Attributes
    ----------
    largest : float
        The largest |p|.
    total, epsilon : float
        See :class:`.BoxProblem`.
    values : Values or None
        Both objectives when they were last computed.
    computed : float
        Rows of K that were computed.
    sampled : bool
        Whether to begin with a sample where there are many rows.
    """

    largest: float
    total: float
    epsilon: float
    values: Values | None = None
    computed: float = 0.0
    sampled: bool = True

    @abstractmethod
    def __len__(self) -> int:
        """The number of rows."""

    # -- where to begin ----------------------------------------------------------------------------

    @abstractmethod
    def begin(self) -> None:
        """The first coefficients: 0, or the upper bounds of one row after the other."""

    @abstractmethod
    def sample(self, share: int) -> Part:
        """A problem of one row of so many, drawn at random, with boxes as much larger.

        The losses of the sample then weigh as much as those of all.
        """

    @abstractmethod
    def support_counts(self) -> tuple[int, int]:
        """How many coefficients are not 0, and how many of these are inside their boxes."""

    @abstractmethod
    def begin_as(self, sample: Part) -> None:
        """Begin with the coefficients that the solution of the sample suggests.

        Every row that was not inside its box there is at the end that its margin asks for.
        """

    # -- descent -----------------------------------------------------------------------------------

    @abstractmethod
    def look(self) -> Values:
        """Compute both objectives."""

    @abstractmethod
    def violation(self) -> float:
        """How much the slopes of all rows differ; at least 0."""

    @abstractmethod
    def violators(self, kept: Rows, size: int) -> Violators:
        """The rows that violate optimality most, so many with those that are kept."""

    @abstractmethod
    def small(self, rows: Rows) -> SmallProblem:
        """The problem of these rows."""

    @abstractmethod
    def move(self, rows: Rows, beta: FloatArray) -> None:
        """Give coefficients to the rows of the last small problem, or some of these."""

    @abstractmethod
    def near(self, most: float) -> Part | None:
        """The problem of the rows that are inside their boxes, or that a near step would move.

        None where they are more than this share of all, or fewer than two.
        """

    @abstractmethod
    def absorb(self, few: Self | Part) -> None:
        """Take over the coefficients of the rows that :meth:`near` has given."""
