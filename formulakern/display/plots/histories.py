"""How an optimisation went: what is secured and what is possible, or the gap between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.display.plots.base import fitted
from formulakern.display.plots.style import SMALL, axes_for, colour_of, escaped, tidy
from formulakern.errors import ParameterError
from formulakern.text import clip

__all__ = ["draw_bounds", "draw_gaps", "history"]

#: Characters of a label.
LABEL = 48


def history(model: Any, *, ax: Any = None) -> Any:
    """How an optimisation went, from the history that a fitted model keeps.

    Of ``PRLClassifier`` the margin that is secured, its value v_t, and the largest that is
    possible, its bound, round by round: the optimum lies in the shaded band between both.  Of
    ``HKLClassifier`` the relative duality gap of each problem, on a logarithmic scale.  Of
    ``RuleListClassifier("optimal")`` objective and bound against seconds.

    Parameters
    ----------
    model : fitted estimator with ``history_``, or that
        Whose fit is drawn.
    ax : matplotlib.axes.Axes, optional
        A new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    NotFittedError
        If the model was not fitted.
    ParameterError
        If it keeps no history.
    MissingDependencyError
        If matplotlib is not installed.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import formulakern as fk
    >>> X, y = fk.datasets.monks(1)
    >>> model = fk.PRLClassifier().fit(X, y)
    >>> ax = fk.plot.history(model)
    >>> bool((ax.get_lines()[0].get_ydata() == model.history_.values("value")).all())
    True
    >>> matplotlib.pyplot.close(ax.figure)
    """
    expected = "an estimator with history_, such as PRLClassifier or HKLClassifier"
    steps = fitted(getattr(model, "best_estimator_", model), "history_", expected)
    if not hasattr(steps, "steps") or not hasattr(steps, "plot"):
        raise ParameterError(f"this is {type(steps).__name__}; expected {expected}.")
    if not len(steps):
        raise ParameterError("the history has no steps, so there is nothing to draw.")
    return steps.plot(ax)


def draw_bounds(
    ax: Any,
    x: NDArray[Any],
    secured: NDArray[Any],
    bound: NDArray[Any],
    labels: tuple[str, str, str, str],
    *,
    steps: bool = False,
) -> Any:
    """What is secured and what is possible over time, the band between them shaded.

    Parameters
    ----------
    ax : matplotlib Axes, optional
    x, secured, bound : ndarray of shape (n_steps,)
        Infinite bounds are left out.
    labels : tuple of 4 str
        Of x, of y, of what is secured, of the bound.
    steps : bool
        Whether values hold until the next step.
    """
    ax = tidy(axes_for(ax), "y")
    known = np.isfinite(bound)
    style: dict[str, Any] = {"drawstyle": "steps-post" if steps else "default", "linewidth": 1.7}
    ax.plot(x, secured, color=colour_of(0), label=labels[2], **style)
    ax.plot(x[known], bound[known], color=colour_of(1), label=labels[3], linestyle="--", **style)
    band = {"color": colour_of(0), "alpha": 0.12, "linewidth": 0}
    between = x[known], secured[known], bound[known]
    ax.fill_between(*between, step="post" if steps else None, **band)
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    ax.legend(frameon=False, fontsize=SMALL)
    if not steps:
        ax.xaxis.get_major_locator().set_params(integer=True)
    return ax


def draw_gaps(ax: Any, gaps: Mapping[str, NDArray[Any]], xlabel: str, ylabel: str) -> Any:
    """Gaps over the rounds, on a logarithmic scale, a line for each problem.

    Parameters
    ----------
    ax : matplotlib Axes, optional
    gaps : mapping of problem to ndarray of shape (rounds,)
    xlabel, ylabel : str
    """
    ax = tidy(axes_for(ax), "y")
    named: dict[bytes, list[str]] = {}
    series = {}
    for problem, values in gaps.items():  # problems that were solved together have the same gaps
        series[key := np.asarray(values).tobytes()] = values
        named.setdefault(key, []).append(problem)
    for k, (key, values) in enumerate(series.items()):
        style = {"color": colour_of(k), "linestyle": ("-", "--", ":", "-.")[k // 5 % 4]}
        rounds = np.arange(1, len(values) + 1)
        label = escaped(clip(", ".join(named[key]), LABEL)) or "gap"
        ax.plot(rounds, values, marker="o", markersize=3, linewidth=1.5, label=label, **style)
    ax.set_yscale("log")
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    ax.xaxis.get_major_locator().set_params(integer=True)
    if any(map(any, named.values())):
        ax.legend(frameon=False, fontsize=SMALL, ncols=1 + len(series) // 8)
    return ax
