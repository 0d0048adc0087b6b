"""What a kernel machine says while its dual solver works: the gap, and why it takes long."""

from __future__ import annotations

import math
import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from formulakern.checks import is_number
from formulakern.deadline import Deadline
from formulakern.estimators.long_fits import (
    Cause,
    Pace,
    many_rows,
    penalty_cause,
    tolerance_cause,
)

__all__ = ["SolverPace", "warn_stopped"]

#: ``tol`` by default.
USUAL_TOL = 1e-3


class SolverPace:
    """How far the solver is, on the progress bar of an estimator, and the cause if it is long.

    Parameters
    ----------
    model : KernelEstimator
    deadline : Deadline
    table : PackedTable or RealTable
        The training rows.
    C : float
        What the penalty parameter is; NaN where there is none.
    n_classes : int
    """

    def __init__(
        self, model: Any, deadline: Deadline, table: Any, C: float = math.nan, n_classes: int = 2
    ) -> None:
        self.model, self.deadline, self.alone = model, deadline, n_classes <= 2
        usual = getattr(type(model), "C", math.nan)
        self.rows = many_rows(table.shape[0], n_classes, different=False)
        known = is_number(usual) and math.isfinite(C)
        self.penalty = penalty_cause(C, float(usual), automatic=False) if known else None
        self.gaps: list[float] = []
        self.seconds: list[float] = []
        self.pace = Pace(deadline, self._causes)

    def step(self, share: float, gap: float) -> None:
        """Show the share that is done, and the gap."""
        if self.alone:  # else it is that of one pair of classes
            self.gaps.append(gap)
            self.seconds.append(self.deadline.taken())
        self.model._bar.at(share, "solving", f"gap {gap:.1e}")
        self.model._bar.foresee(self.pace, share)

    def warn(self, stopped: str, gap: float, stacklevel: int) -> None:
        """Give scikit-learn's ConvergenceWarning where a solution is not as near as was asked."""
        why = self.pace.reason() if stopped in ("time_limit", "max_iter") else ""
        warn_stopped(stopped, gap, float(self.model.tol), why, stacklevel)

    def _causes(self) -> list[Cause | None]:
        tol = tolerance_cause(float(self.model.tol), USUAL_TOL, self.gaps, self.seconds)
        return [self.penalty, self.rows, tol]


def warn_stopped(stopped: str, gap: float, tol: float, why: str = "", stacklevel: int = 3) -> None:
    """Give scikit-learn's ConvergenceWarning where a solution is not as near as was asked.

    ``why`` it takes long stands in place of the usual advice.
    """
    if stopped == "optimal":
        return
    reasons = {
        "max_iter": "max_iter steps were done",
        "time_limit": "the time limit was reached",
        "interrupted": "it was interrupted",
        "stalled": "no step changes float64 numbers any more",
    }
    advice = {
        "stalled": "Normalize the kernel, or choose a smaller C.",
        "interrupted": "The best coefficients so far are kept.",
    }.get(stopped, "Allow more, choose a smaller C, or a larger tol.")
    share = f"{gap:.2g} of the objective" if math.isfinite(gap) else "not known"
    warnings.warn(
        f"the duality gap is {share}, above tol={tol:.2g}: {reasons[stopped]}. {why or advice}",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )
