"""What hierarchical kernel learning reports: how the gap closed, what a prediction is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from formulakern.learning.hkl.active_set import GrowthStep
from formulakern.optional import data_frame, new_axes
from formulakern.rules.explanation import Explanation

if TYPE_CHECKING:
    import pandas

__all__ = ["GrowthHistory", "RegressionExplanation", "step_line"]

FIELDS = ("n_nodes", "objective", "gap", "n_violators", "seconds")


@dataclass(frozen=True, eq=False)
class GrowthHistory:
    """The rounds of all problems that were solved; a sequence of :class:`GrowthStep`.

    Parameters
    ----------
    steps : tuple of GrowthStep
        Of one problem after the other.
    problems : tuple of str
        What the problem of each step is about: a class against the rest; empty for two classes.
    """

    steps: tuple[GrowthStep, ...]
    problems: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[GrowthStep]:
        return iter(self.steps)

    def __getitem__(self, position: int) -> GrowthStep:
        return self.steps[position]

    def to_frame(self) -> pandas.DataFrame:
        """One row per round: problem, n_nodes, objective, gap, n_violators, seconds."""
        columns: dict[str, list[Any]] = {"problem": list(self.problems)}
        columns |= {name: [getattr(step, name) for step in self.steps] for name in FIELDS}
        return data_frame(columns)

    def plot(self, ax: Any = None) -> Any:
        """The relative gap against the rounds, a line for each problem.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            A new figure by default.
        """
        ax = new_axes() if ax is None else ax
        for problem in dict.fromkeys(self.problems):
            gaps = [s.gap for s, p in zip(self.steps, self.problems, strict=True) if p == problem]
            ax.plot(np.arange(1, len(gaps) + 1), gaps, label=problem or "gap")
        ax.set_yscale("log")
        ax.set_xlabel("round")
        ax.set_ylabel("relative duality gap")
        ax.legend()
        return ax

    def __str__(self) -> str:
        head = ("round", "nodes", "objective", "gap", "violators", "seconds")
        lines = ["  ".join(f"{name:>9}" for name in head)]
        for number, s in enumerate(self.steps, 1):
            lines.append(
                f"{number:>9}  {s.n_nodes:>9}  {s.objective:>9.6g}  {s.gap:>9.2g}  "
                f"{s.n_violators:>9}  {s.seconds:>9.2f}"
            )
        return "\n".join(lines)


class RegressionExplanation(Explanation):
    """The rules that a row satisfies, and what each adds to the prediction."""

    def __str__(self) -> str:
        [bias] = self.rules.intercept
        lines = [f"{next(iter(self.scores.values())):.6g} = {bias:.6g} for every row"]
        for given, item in zip(self.contributions, self.rules, strict=True):
            lines.append(f"{given:+10.4g}  {item.rule}")
        return "\n".join(lines)


def step_line(problem: str, step: GrowthStep) -> str:
    """One round, as ``verbose`` shows it."""
    return (
        f"{problem}{': ' if problem else ''}{step.n_nodes} conjunctions, objective "
        f"{step.objective:.6g}, gap {step.gap:.2g}; {step.n_violators} in doubt; "
        f"{step.seconds:.1f} s"
    )
