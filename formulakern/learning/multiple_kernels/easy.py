"""EasyMKL: weights of kernels by the margin between the hulls of the classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.learning.multiple_kernels.family import KernelFamily
from formulakern.learning.multiple_kernels.tasks import KernelWeights, Task
from formulakern.solvers.simplex_qp.problems import hull_margin

__all__ = ["easy_weights"]


def easy_weights(
    family: KernelFamily,
    tasks: Sequence[Task],
    lam: float = 0.1,
    *,
    tol: float = 1e-6,
    max_iter: int = 1_000_000,
    progress: Callable[[float], None] | None = None,
) -> KernelWeights:
    """Kernels weigh what they contribute to the distance of the classes in the sum of all.

    For classes y_i = ±1 let Γ hold the γ ≥ 0 that sum to 1 in each class: γ stands for a point in
    the convex hull of each class, and γ'YKYγ is the squared distance of the two.  With

        γ* = argmin over Γ of (1 − λ) γ'Y(Σ_r K_r)Yγ + λ‖γ‖²

    the weights are η_r = γ*'YK_rYγ* / Σ_s γ*'YK_sYγ*.  λ = 0 is the distance of the hulls
    themselves, λ = 1 that of the means of the classes.  In between, up to a scale,
    η maximises over the unit sphere what γ* minimises, the distance in the weighted sum.

    *Several tasks* (pairs of classes) have a γ each, and share the weights: η_r is proportional
    to the sum of γ*'YK_rYγ* over the tasks.  *Rows of weight c* have λγ_i²/c_i: a row of weight 2
    is the same as two equal rows.

    Parameters
    ----------
    family : KernelFamily of R kernels
    tasks : sequence of Task
    lam : float
        λ, from 0 to 1.
    tol : float
        The relative gap of the distances to reach.
    max_iter : int
        At most so many steps for a task.
    progress : callable, optional
        Called with the share that is done.

    Returns
    -------
    KernelWeights
        Weights sum to 1; they are equal where no kernel contributes, as all hulls meet.  The value
        is the sum of the minima over the tasks.  With g the gap and D the value, every
        γ*'YK_rYγ*, summed over the tasks, is known to √ within √(g·D / (1 − λ)).

    Notes
    -----
    One Gram matrix is held, and one between the rows of a task, if these are not all.

    References
    ----------
    F. Aiolli, M. Donini, "EasyMKL: a scalable multiple kernel learning algorithm", Neurocomputing
    169, 2015, doi:10.1016/j.neucom.2014.11.078.

    Examples
    --------
    >>> from formulakern.kernels.formula import kernel
    >>> family = KernelFamily([kernel("a"), kernel("a & b", "distinct")], [[1, 1, 0], [0, 1, 1]])
    >>> task = Task(np.arange(2), np.array([1, -1], np.int8), np.ones(2))
    >>> easy_weights(family, [task]).weights
    array([0.5, 0.5])
    """
    forms = np.zeros(family.n_kernels)
    coefficients, margins = [], []
    K = family.combined(np.ones(family.n_kernels)) if lam < 1 else None
    for number, task in enumerate(tasks):
        u, margin = _means(task), None
        if K is not None:
            part = task.part(K)
            diagonal = part.diagonal().copy()
            np.fill_diagonal(part, diagonal + lam / (1 - lam) / task.row_weights)
            share = _share_of(progress, number, len(tasks))
            margin = hull_margin(part, task.signs, tol=tol, max_iter=max_iter, progress=share)
            np.fill_diagonal(part, diagonal)
            u = margin.coefficients
            margins.append(margin)
        coefficients.append(u)
        if margin is None or margin.distance > 0:  # else the hulls meet: what is left is rounding
            forms += family.forms(task.spread(u, family.n_rows))
    total = float(forms.sum())
    lower = (1 - lam) * sum(one.lower_bound**2 for one in margins)
    upper = (1 - lam) * sum(one.upper_bound**2 for one in margins)
    if lam == 1:
        lower = upper = sum(
            float((u**2 / task.row_weights).sum())
            for u, task in zip(coefficients, tasks, strict=True)
        )
    return KernelWeights(
        weights=forms / total if total > 0 else np.full(len(forms), 1 / len(forms)),
        coefficients=tuple(coefficients),
        value=upper,
        lower_bound=lower,
        upper_bound=upper,
        gap=max((one.gap for one in margins), default=0.0),
        iterations=sum(one.iterations for one in margins),
        converged=all(one.converged for one in margins),
    )


def _means(task: Task) -> FloatArray:
    """The means of the classes, as coefficients: what a large ridge leaves of the hulls."""
    totals = np.where(
        task.signs > 0,
        task.row_weights[task.signs > 0].sum(),
        task.row_weights[task.signs < 0].sum(),
    )
    means: FloatArray = task.signs * task.row_weights / totals
    return means


def _share_of(
    progress: Callable[[float], None] | None, part: int, parts: int
) -> Callable[[float], None] | None:
    """The share of all tasks that is done, as this one calls it."""
    if progress is None:
        return None
    return lambda share: progress((part + share) / parts)
