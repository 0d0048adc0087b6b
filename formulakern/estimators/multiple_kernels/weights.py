"""The weights of formulas in a sum of kernels, as a table and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.display.plots.style import colour_of, label_ends, rule_axes, tidy
from formulakern.markup import Barred, small_table
from formulakern.optional import data_frame
from formulakern.text import clip, significant, table

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

__all__ = ["FormulaWeights"]

HEAD = ("formula", "weight", "share of the model")
#: Characters of a formula in the table.
WIDTH = 60


@dataclass(frozen=True, eq=False, repr=False)
class FormulaWeights:
    """What each formula weighs in a sum of kernels, and how much of the model is its own.

    Parameters
    ----------
    formulas : sequence of str
    weights : float64 (number of formulas,)
        η_r of K = Σ_r η_r K_r.
    shares : float64 (number of formulas,)
        ‖w_r‖²/η_r as a share of their sum, the squared length of the model's normal vector:
        what the features of this formula contribute.
    method : str
        How the weights were learnt, and the gap that is proven.

    Examples
    --------
    >>> print(FormulaWeights(["a", "a & b"], np.array([0.2, 0.8]), np.array([0.1, 0.9]), "easy"))
    formula  weight  share of the model
    ───────────────────────────────────
    a & b       0.8               90.0%
    a           0.2               10.0%
    <BLANKLINE>
    easy
    """

    formulas: Sequence[str]
    weights: FloatArray
    shares: FloatArray
    method: str

    def __len__(self) -> int:
        return len(self.formulas)

    @property
    def order(self) -> list[int]:
        """The positions of the formulas, the largest weight first."""
        return [int(r) for r in np.argsort(-self.weights, kind="stable")]

    def __repr__(self) -> str:
        return f"<FormulaWeights of {len(self)} formulas: {self.method}>"

    def __str__(self) -> str:
        written = significant(self.weights.tolist())
        rows = [
            [clip(self.formulas[r], WIDTH), written[r], f"{self.shares[r]:.1%}"] for r in self.order
        ]
        return f"{table(HEAD, rows)}\n\n{self.method}"

    def _repr_html_(self) -> str:
        written = significant(self.weights.tolist())
        shares = self.shares.tolist()
        rows: list[list[str | Barred]] = [
            [self.formulas[r], written[r], Barred(f"{shares[r]:.1%}", 0.0, shares[r])]
            for r in self.order
        ]
        return small_table(HEAD, rows, "r>>", foot=self.method)

    def to_frame(self) -> pandas.DataFrame:
        """A row for each formula, in the order that they were given in.

        Raises
        ------
        MissingDependencyError
            If pandas is not installed.
        """
        columns = {"formula": [*self.formulas], "weight": self.weights, "share": self.shares}
        return data_frame(columns)

    def plot(self, ax: Axes | None = None) -> Axes:
        """A bar for each formula, the largest weight on top.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.

        Raises
        ------
        MissingDependencyError
            If matplotlib is not installed.
        """
        order = self.order
        ax, _ = rule_axes(ax, [self.formulas[r] for r in order])
        weights = self.weights[order]
        ax.barh(range(len(order)), weights, 0.62, color=colour_of(0))
        label_ends(ax, weights, significant(weights.tolist()))
        ax.set_xlabel("weight in the sum of kernels")
        return tidy(ax, "x")
