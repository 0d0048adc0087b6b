"""Why learning the weights of kernels takes long."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.deadline import Deadline
from formulakern.estimators.long_fits import Cause, Pace, many_rows, penalty_cause

__all__ = ["family_pace"]

#: Formulas are so many by default.
USUAL = 6


def family_pace(model: Any, n_formulas: int, labels: NDArray[Any]) -> Pace:
    """What tells whether and why the weights of so many kernels take long.

    Parameters
    ----------
    model : FormulaMKL
    n_formulas : int
    labels : ndarray of shape (n_rows,)
    """
    causes: list[Cause | None] = [
        Cause(n_formulas / USUAL, f"{n_formulas:,} formulas are weighed", "fewer formulas"),
        many_rows(len(labels), len(np.unique(labels)), different=False),
        penalty_cause(float(model.C), float(type(model).C), automatic=False),
    ]
    return Pace(Deadline.of(None), lambda: causes)
