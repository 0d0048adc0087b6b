"""What the search for an optimal rule list reports: how the gap closed."""

from __future__ import annotations

from typing import Any

from formulakern.display.history import History
from formulakern.display.plots.fits import draw_bounds
from formulakern.learning.covering.optimal import ListProgress

__all__ = ["ListHistory", "progress_line"]


class ListHistory(History):
    """Objective and bound whenever one changed; a sequence of :class:`ListProgress`."""

    STEP = "step"
    COLUMNS = (
        ("objective", "objective", ".6g"),
        ("bound", "bound", ".6g"),
        ("seconds", "seconds", ".2f"),
    )

    def plot(self, ax: Any = None) -> Any:
        """Objective and bound against seconds: the optimum lies between the two lines.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            A new figure by default.
        """

        labels = "seconds", "error + penalty", "best list", "no list is below (bound)"
        objective, bound = self.values("objective"), self.values("bound")
        return draw_bounds(ax, self.values("seconds"), objective, bound, labels, steps=True)


def progress_line(step: ListProgress) -> str:
    """One change, as ``verbose`` shows it."""
    return f"best list {step.objective:.6g}, no list below {step.bound:.6g}; {step.seconds:.1f} s"
