"""What a preference learner reports: how the gap closed, epoch by epoch."""

from __future__ import annotations

from typing import Any

import numpy as np

from formulakern.display.history import History
from formulakern.display.plots.fits import draw_bounds
from formulakern.learning.prl.column_generation import Epoch

__all__ = ["EpochHistory", "epoch_line", "open_share"]


class EpochHistory(History):
    """Value and bound of every epoch; a sequence of :class:`Epoch`."""

    STEP = "epoch"
    COLUMNS = (
        ("value", "value", ".6g"),
        ("bound", "bound", ".6g"),
        ("columns", "columns", "d"),
        ("support", "used", "d"),
        ("seconds", "seconds", ".2f"),
    )

    def plot(self, ax: Any = None) -> Any:
        """Value and bound against epochs: the optimum lies between the two lines.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            A new figure by default.
        """

        number = np.arange(1, len(self) + 1)
        labels = self.STEP, "margin", "margin secured (value)", "best possible (bound)"
        return draw_bounds(ax, number, self.values("value"), self.values("bound"), labels)


def open_share(value: float, bound: float) -> float:
    """The gap as a share of the bound.

    >>> open_share(0.9, 1.0), open_share(-1.0, np.inf), open_share(0.0, 0.0)
    (0.09999999999999998, 1.0, 0.0)
    """
    return 1 - max(value, 0.0) / bound if bound > 0 else 0.0


def epoch_line(number: int, epoch: Epoch) -> str:
    """One epoch, as ``verbose`` shows it."""
    return (
        f"epoch {number}: margin {epoch.value:.6g}, at most {epoch.bound:.6g}; "
        f"{epoch.support} of {epoch.columns} columns used; {epoch.seconds:.1f} s"
    )
