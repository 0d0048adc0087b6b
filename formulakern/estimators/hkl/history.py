"""What hierarchical kernel learning reports: how the gap closed, round by round."""

from __future__ import annotations

from typing import Any

from formulakern.display.history import History
from formulakern.display.plots.fits import draw_gaps
from formulakern.learning.hkl.active_set import GrowthStep

__all__ = ["GrowthHistory", "step_line"]


class GrowthHistory(History):
    """The rounds of all problems that were solved; a sequence of :class:`GrowthStep`."""

    STEP = "round"
    COLUMNS = (
        ("n_nodes", "nodes", "d"),
        ("objective", "objective", ".6g"),
        ("gap", "gap", ".2g"),
        ("n_violators", "violators", "d"),
        ("seconds", "seconds", ".2f"),
    )

    def plot(self, ax: Any = None) -> Any:
        """The relative gap against the rounds, a line for each problem.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            A new figure by default.
        """

        gaps = {name: self.values("gap", name) for name in dict.fromkeys(self.problems)}
        gaps = gaps or {"": self.values("gap")}
        return draw_gaps(ax, gaps, self.STEP, "relative duality gap")


def step_line(problem: str, step: GrowthStep) -> str:
    """One round, as ``verbose`` shows it."""
    return (
        f"{problem}{': ' if problem else ''}{step.n_nodes} conjunctions, objective "
        f"{step.objective:.6g}, gap {step.gap:.2g}; {step.n_violators} in doubt; "
        f"{step.seconds:.1f} s"
    )
