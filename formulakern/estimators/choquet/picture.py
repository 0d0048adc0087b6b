"""A picture of a set function: what every column weighs, and how columns go together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.optional import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_importance"]

#: Numbers are written into the picture up to so many columns.
WRITTEN = 12


def draw_importance(
    shapley: FloatArray, interactions: FloatArray, names: Sequence[str], ax: Axes | None
) -> Axes:
    """Shapley values on the diagonal of a matrix, interaction indices beside it.

    Parameters
    ----------
    shapley : ndarray of shape (n,)
    interactions : ndarray of shape (n, n)
    names : sequence of str
    ax : matplotlib Axes, optional
        New axes by default.

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    """
    n = len(shapley)
    size = min(12.0, 2.5 + 0.55 * n)
    ax = new_axes(size + 1.0, size) if ax is None else ax
    values = interactions.copy()
    np.fill_diagonal(values, shapley)
    largest = float(np.abs(values).max()) or 1.0
    image = ax.imshow(values, cmap="RdBu_r", vmin=-largest, vmax=largest)
    ax.set_xticks(range(n), names, rotation=90)
    ax.set_yticks(range(n), names)
    places = np.ndindex(n, n) if n <= WRITTEN else ()
    for i, j in places:
        style: dict[str, Any] = {"weight": "bold" if i == j else "normal", "fontsize": "small"}
        style["color"] = "white" if abs(values[i, j]) > 0.6 * largest else "black"
        ax.text(j, i, f"{values[i, j]:.2g}", ha="center", va="center", **style)
    ax.set_title("Shapley values (diagonal) and interactions")
    ax.figure.colorbar(image, ax=ax, shrink=0.8)
    return ax
