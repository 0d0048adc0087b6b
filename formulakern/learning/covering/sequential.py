"""What all sequential covering shares: rules as arrays of conditions, and the rows they cover."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray, IntArray
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.encoding.ranks import RankedTable
from formulakern.learning.covering.growth import Growth, conditions_met, growth_state

__all__ = ["Decision", "LearnedRules", "TrainingTable", "of_conditions", "rows_of"]


@dataclass(frozen=True, eq=False)
class Decision:
    """A rule that was learned: its conditions, int64 of shape (c, 3), and the class."""

    conditions: IntArray
    label: int


@dataclass(frozen=True, eq=False)
class LearnedRules:
    """What a learner returns.

    Parameters
    ----------
    rules : list of Decision
    default : int
        The class of rows that no rule covers.
    stopped : {"complete", "rules", "time"}
    """

    rules: list[Decision]
    default: int
    stopped: str = "complete"


@dataclass(eq=False)
class TrainingTable:
    """A ranked table with the weights of its rows by class.

    Parameters
    ----------
    table : RankedTable of m different rows
    weights : ndarray of shape (m, K), float64
    relations : ndarray of shape (C,), int64
        As in :class:`~formulakern.learning.covering.growth.Growth`.
    deadline : Deadline, optional
    report : callable, optional
        Is told about every rule.
    unit : float, default=1.0
        The weight that counts as one row.  Equal rows are merged, so that it is not to be seen.
    """

    table: RankedTable
    weights: FloatArray
    relations: IntArray
    deadline: Deadline = UNLIMITED
    report: Callable[[Decision, FloatArray], None] | None = None
    unit: float = 1.0

    @property
    def n_classes(self) -> int:
        """K."""
        return int(self.weights.shape[1])

    @property
    def n_conditions(self) -> int:
        """How many different conditions a rule may have."""
        several, one = self.table.n_values, np.ones_like(self.table.n_values)
        cuts = np.maximum(several - 1, 0)
        asked = self.relations[None] >> np.arange(6)[:, None] & 1
        return int((np.array([several, cuts, cuts, several, one, one]) * asked).sum())

    def growth(self, weights: FloatArray) -> Growth:
        """The table for compiled loops, with other weights of its rows."""
        return growth_state(self.table.ranks, self.table.n_values, self.relations, weights)

    def met(self, conditions: IntArray, rows: npt.NDArray[np.int64]) -> IntArray:
        """How many conditions each row satisfies before the first that it does not."""
        return conditions_met(self.table.ranks, self.table.n_values, conditions, rows)

    def covered(self, conditions: IntArray, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Which of these rows satisfy a rule."""
        return np.asarray(self.met(conditions, rows) == len(conditions))

    def out_of_time(self) -> bool:
        """Whether the time limit has passed."""
        return self.deadline.over()

    @property
    def stopped(self) -> str:
        """How learning ended."""
        return "time" if self.out_of_time() else "complete"

    def tell(self, rule: Decision, counts: FloatArray) -> None:
        """Report a rule with the weight by class of the rows that it decides."""
        if self.report is not None:
            self.report(rule, counts)


def rows_of(weights: FloatArray) -> npt.NDArray[np.int64]:
    """The rows of positive weight."""
    return np.flatnonzero(weights.any(axis=1))


def of_conditions(conditions: Sequence[tuple[int, int, int]]) -> IntArray:
    """Conditions as an array."""
    return np.array(conditions, dtype=np.int64).reshape(-1, 3)
