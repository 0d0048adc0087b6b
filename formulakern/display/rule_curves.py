"""How good models are with how few rules, several learners in one picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from formulakern.errors import ParameterError
from formulakern.optional import new_axes

__all__ = ["plot_rule_curves"]


def plot_rule_curves(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]], ylabel: str = "accuracy", ax: Any = None
) -> Any:
    """A score against the number of rules, a line for each learner.

    A line is a staircase: with k rules a learner has the score of the largest of its numbers that
    is at most k.

    Parameters
    ----------
    curves : mapping of str to (numbers, scores)
        Two arrays of shape (n_points,), in any order; points where one of both is nan are left out.
    ylabel : str
        What the scores are.
    ax : matplotlib.axes.Axes, optional
        A new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        If numbers and scores are not two lists of one length.
    MissingDependencyError
        If matplotlib is not installed.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> curves = {"HKL": ([1, 3, 8], [0.7, 0.9, 0.92]), "tree": ([2, 9], [0.6, 0.8])}
    >>> axes = plot_rule_curves(curves)
    >>> [line.get_label() for line in axes.get_lines()]
    ['HKL', 'tree']
    """
    lines = {name: _points(name, *curve) for name, curve in curves.items()}
    ax = new_axes() if ax is None else ax
    for name, (numbers, scores) in lines.items():
        ax.plot(numbers, scores, marker=".", drawstyle="steps-post", label=name)
    ax.set_xlabel("number of rules")
    ax.set_ylabel(ylabel)
    if lines:
        ax.legend()
    return ax


def _points(name: str, numbers: ArrayLike, scores: ArrayLike) -> np.ndarray[Any, Any]:
    """Numbers and scores in order of the numbers, shape (2, n_points)."""
    pair = [np.asarray(values, dtype=np.float64) for values in (numbers, scores)]
    if pair[0].ndim != 1 or pair[0].shape != pair[1].shape:
        raise ParameterError(
            f"the curve {name!r} has numbers of shape {pair[0].shape} and scores of shape "
            f"{pair[1].shape}; expected two lists of one length."
        )
    points = np.stack(pair)
    points = points[:, ~np.isnan(points).any(axis=0)]
    return points[:, np.argsort(points[0], kind="stable")]
