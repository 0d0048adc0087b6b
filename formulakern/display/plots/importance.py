"""A picture of a set function: what every column weighs, and how columns go together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.display.plots.style import (
    DIVERGING,
    axes_for,
    colour_scale,
    escaped,
    ink_on,
)

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
    ax = axes_for(ax, size + 1.0, size)
    values = interactions.copy()
    np.fill_diagonal(values, shapley)
    largest = float(np.abs(values).max()) or 1.0
    image = ax.imshow(values, cmap=DIVERGING, vmin=-largest, vmax=largest)
    ax.set_xticks(range(n), map(escaped, names), rotation=90)
    ax.set_yticks(range(n), map(escaped, names))
    places = np.ndindex(n, n) if n <= WRITTEN else ()
    for i, j in places:
        style: dict[str, Any] = {"weight": "bold" if i == j else "normal", "fontsize": "small"}
        style["color"] = ink_on(image.to_rgba(values[i, j]))
        ax.text(j, i, f"{values[i, j]:.2g}", ha="center", va="center", **style)
    ax.set_title("Shapley values (diagonal) and interactions")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    colour_scale(image, "Shapley value, interaction")
    return ax
