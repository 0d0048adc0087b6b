"""Degrees of truth: a numeric column as numbers from 0 to 1, learnt from the training column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["DegreeScale", "Degrees", "learn_degrees"]

DegreeScale = Literal["linear", "rank"]


@dataclass(frozen=True)
class Degrees:
    """The scale of a numeric column: its extremes, or for "rank" all training values, sorted."""

    scale: DegreeScale
    values: tuple[float, ...]

    def of(self, column: NDArray[np.float64]) -> NDArray[np.float64]:
        """The degrees of numbers; 0 for missing ones.

        "linear": (x − least) / (largest − least), cut off at 0 and 1.  "rank": the share of the
        training values below x, and half of those equal to it.
        """
        if self.scale == "rank":
            known = np.array(self.values)
            sides: tuple[Literal["left"], Literal["right"]] = ("left", "right")
            below = [np.searchsorted(known, column, side=side) for side in sides]
            found = (below[0] + below[1]) / (2 * len(known))
        else:
            least, largest = self.values
            with np.errstate(invalid="ignore", over="ignore"):
                # halves: the range of finite numbers may be beyond float64
                found = (column / 2 - least / 2) / (largest / 2 - least / 2)
        return np.where(np.isnan(column), 0.0, np.clip(found, 0.0, 1.0))


def learn_degrees(column: NDArray[np.float64], scale: DegreeScale) -> Degrees | None:
    """Learn the scale of numbers; None if fewer than two finite ones are different.

    >>> column = np.array([1.0, 2.0, 5.0, np.nan])
    >>> for scale in ("linear", "rank"):
    ...     learn_degrees(column, scale).of(column)
    array([0.  , 0.25, 1.  , 0.  ])
    array([0.16666667, 0.5       , 0.83333333, 0.        ])
    """
    present = column[~np.isnan(column)]
    finite = present[np.isfinite(present)]
    if not len(finite) or finite.min() == finite.max():
        return None
    if scale == "rank":
        return Degrees(scale, tuple(np.sort(present).tolist()))
    return Degrees(scale, (float(finite.min()), float(finite.max())))
