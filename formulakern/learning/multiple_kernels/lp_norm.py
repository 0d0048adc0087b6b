"""l_p-norm multiple kernel learning: weights and support vector machines, optimal together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.learning.multiple_kernels.family import KernelFamily
from formulakern.learning.multiple_kernels.tasks import KernelWeights, Task
from formulakern.solvers.games.linprog import optimal_strategies
from formulakern.solvers.simplex_qp.solve import (
    ROUNDING,
    Certificate,
    QuadraticProgram,
    Weighted,
    minimise,
)
from formulakern.solvers.solution import share_done

__all__ = ["lp_norm_weights", "norm_weights"]

#: The relative gap of the support vector machines: the first, as a share of the gap of the whole,
#: and as a share of ``tol`` at the least.
COARSE, INNER, FINE = 0.05, 0.2, 0.02
#: Steps of one of them, at most.
STEPS = 10_000_000
#: p = 1: the duals of so many rounds are kept.
CUTS = 100
#: How many times further than the best weights for the last norms, at most, and what this grows by.
LONGEST, GROWTH = 32.0, 1.5


def lp_norm_weights(
    family: KernelFamily,
    tasks: Sequence[Task],
    p: float = 2.0,
    C: float = 1.0,
    *,
    tol: float = 1e-3,
    max_iter: int = 200,
    progress: Callable[[float], None] | None = None,
) -> KernelWeights:
    """The weights of kernels, and a support vector machine with their sum, optimal together.

        min over η ≥ 0 with ‖η‖_p ≤ 1, w_r, b of
            ½ Σ_r ‖w_r‖² / η_r + Σ_i C_i max(0, 1 − y_i (Σ_r ⟨w_r, φ_r(x_i)⟩ + b))

    For fixed η this is the support vector machine with K = Σ_r η_r K_r.  For fixed norms the best
    weights are η_r = ‖w_r‖^{2/(p+1)} / (Σ_s ‖w_s‖^{2p/(p+1)})^{1/p}.  The two take turns, each
    support vector machine from the solution of the last one, and weights go further in the
    direction of a step (in logarithms) as long as that pays.  For p = 1, where this is slow, the
    weights are the mean of these and of those that all duals so far would have (a linear program,
    whose value is a lower bound too).  p = 1 leaves many weights near 0, the larger p the more
    equal they are, and p = ∞ is the plain sum.

    *Certificate.*  With u_i = α_i y_i and d_r = u'K_r u the dual problem is

        max over 0 ≤ α_i ≤ C_i, Σ_i u_i = 0 of Σ_i α_i − ½ ‖d‖_q,   1/p + 1/q = 1,

    and the primal one, with the best weights for w_r = η_r Σ_i u_i φ_r(x_i), has the value
    ½ ‖(‖w_r‖)_r‖²_{2p/(p+1)} plus the losses at the best b.  Rounding is allowed for.

    *Several tasks* (pairs of classes) have w and b each, share the weights, and their objectives
    are summed: ‖w_r‖² and d_r then are sums over the tasks.  *Rows of weight c* have C_i = C·c.

    Parameters
    ----------
    family : KernelFamily of R kernels
    tasks : sequence of Task
    p : float
        At least 1; may be infinite.
    C : float
        Positive.
    tol : float
        The relative gap to reach.
    max_iter : int
        At most so many rounds.
    progress : callable, optional
        Called with the share that is done, measured by the logarithm of the gap.

    Returns
    -------
    KernelWeights
        ‖weights‖_p = 1.  The value is the primal objective: a support vector machine that is
        solved with the weighted sum of kernels has at most this objective, and the smallest that
        any weights allow is at least ``lower_bound``.

    Notes
    -----
    One Gram matrix is held, and one between the rows of a task, if these are not all.  A round is a
    pass over the pairs of rows, whatever the number of kernels, and the steps of the solver, O(m)
    each.

    References
    ----------
    M. Kloft, U. Brefeld, S. Sonnenburg, A. Zien, "lp-norm multiple kernel learning", Journal of
    Machine Learning Research 12, 2011, https://www.jmlr.org/papers/v12/kloft11a.html (Algorithm 1).

    Examples
    --------
    >>> from formulakern.kernels.formula import kernel
    >>> rows = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [0, 0, 1]])
    >>> family = KernelFamily([kernel("a"), kernel("a & ~a")], rows)
    >>> task = Task(np.arange(4), np.array([1, -1, 1, -1], np.int8), np.ones(4))
    >>> found = lp_norm_weights(family, [task])
    >>> found.weights, found.converged  # the second formula is never true
    (array([1., 0.]), True)
    """
    weights = norm_weights(np.ones(family.n_kernels), p)
    us = [np.zeros(len(task.rows)) for task in tasks]
    boxes = [C * task.row_weights for task in tasks]
    K: FloatArray | None = None
    lower, upper, best, first = 0.0, math.inf, weights, 1.0
    inner, rounds, stride = COARSE, 0, 1.0
    cuts: list[FloatArray] = []
    dual_norm = 1.0 if p == math.inf else p / (p - 1) if p > 1 else math.inf
    mixed_norm = 2.0 if p == math.inf else 2 * p / (p + 1)
    while True:
        K = family.combined(weights, K)
        forms, scaled = np.zeros(family.n_kernels), np.zeros(family.n_kernels)
        losses = 0.0
        for place, task in enumerate(tasks):
            problem = _Problem(task.part(K), task.signs.astype(np.float64), boxes[place])
            us[place], scale, lost = problem.solve(us[place], inner)
            own = family.forms(task.spread(us[place], family.n_rows))
            forms += own
            scaled += scale**2 * own
            losses += lost
        sizes = [float(np.abs(u).sum()) for u in us]
        noise = ROUNDING * sum(size**2 for size in sizes) * float(family.largest.sum()) / 2
        norms = weights * np.sqrt(scaled)
        primal = losses + _norm(norms, mixed_norm) ** 2 / 2 + noise
        dual = sum(sizes) - _norm(forms, dual_norm) / 2 - noise
        rounds += 1
        if primal < upper:
            upper, best = primal, norm_weights(norms, p)
            weights = _beyond(weights, best, stride, p)
            stride = min(LONGEST, GROWTH * stride)
        else:
            weights, stride, inner = best, 1.0, inner / 4
            lost = (best == 0) & (forms > 0)
            if 1 < p < math.inf and lost.any():  # from 0 no step leads away
                weights = np.where(lost, (forms / forms.max()) ** (1 / (p - 1)), best)
                weights /= _norm(weights, p)
        if p == 1:
            cuts = [*cuts[-CUTS:], sum(sizes) - noise - forms / 2]
            dual, planes = _cutting_planes(np.array(cuts).T)
            weights = (weights + planes) / 2
        lower = max(lower, dual)
        gap = max(0.0, upper - lower) / upper
        if progress is not None:
            first = max(first, gap)
            progress(share_done(first, gap, tol))
        if gap <= tol or rounds == max_iter:
            break
        inner = max(min(inner, INNER * gap), FINE * tol)
    if progress is not None:
        progress(1.0)
    return KernelWeights(
        weights=best,
        coefficients=tuple(us),
        value=upper,
        lower_bound=lower,
        upper_bound=upper,
        gap=gap,
        iterations=rounds,
        converged=gap <= tol,
    )


def norm_weights(norms: FloatArray, p: float) -> FloatArray:
    """The η with ‖η‖_p ≤ 1 that minimises Σ_r ‖w_r‖² / η_r; equal ones where all w are 0.

    Parameters
    ----------
    norms : float64 (R,)
        ‖w_r‖.
    p : float
        At least 1.

    Examples
    --------
    >>> norm_weights(np.array([3.0, 1.0]), 1.0), norm_weights(np.array([3.0, 1.0]), math.inf)
    (array([0.75, 0.25]), array([1., 1.]))
    """
    if p == math.inf:
        return np.ones(len(norms))
    largest = float(norms.max())
    shares = norms / largest if largest > 0 else np.ones(len(norms))
    weights: FloatArray = shares ** (2 / (p + 1))
    return weights / _norm(weights, p)


def _cutting_planes(payoffs: FloatArray) -> tuple[float, FloatArray]:
    """A lower bound for p = 1 from the duals of several rounds, and the weights that attain it.

    The u of round t says that weights η of sum 1 have an objective of at least Σ_r η_r M_rt, with
    M_rt = Σ_i |u_i| − ½ d_r.  So min_η max_t Σ_r η_r M_rt is a lower bound: a matrix game.  Its
    value is bounded by the strategy λ of the other player, whatever rounding did to that.
    """
    found = optimal_strategies(payoffs)
    if found is None:
        return -math.inf, np.full(len(payoffs), 1 / len(payoffs))
    weights, mixture = np.maximum(found[0], 0.0), np.maximum(found[1], 0.0)
    return float((payoffs @ (mixture / mixture.sum())).min()), weights / weights.sum()


def _beyond(weights: FloatArray, best: FloatArray, stride: float, p: float) -> FloatArray:
    """From the weights to the best for their norms and so many times further, in logarithms."""
    ratio = np.divide(best, weights, out=np.zeros_like(weights), where=weights > 0)
    beyond = weights * ratio**stride
    return beyond / _norm(beyond, p)


def _norm(values: FloatArray, p: float) -> float:
    """(Σ v_r^p)^{1/p} of numbers of at least 0; the largest for p = ∞."""
    largest = float(values.max())
    if largest == 0 or p == math.inf:
        return largest
    return largest * math.pow(float(((values / largest) ** p).sum()), 1 / p)


@dataclass(frozen=True, eq=False)
class _Problem:
    """The support vector machine of one task: max Σ|u| − ½u'Ku over 0 ≤ u_i y_i ≤ C_i, Σu = 0."""

    K: FloatArray
    y: FloatArray
    box: FloatArray

    def solve(self, start: FloatArray, tol: float) -> tuple[FloatArray, float, float]:
        """The coefficients u to a relative gap, and the scale and the losses of the best primal."""
        positive = self.y > 0
        program = QuadraticProgram(
            -self.y,
            np.zeros(len(self.y), np.int8),
            np.where(positive, 0.0, -self.box),
            np.where(positive, self.box, 0.0),
        )
        found = minimise(
            self.K, program, start, self.certificate, Weighted, tol=tol, max_iter=STEPS
        )
        u = found.coefficients
        return u, *self.primal(u, self.K @ u)

    def certificate(self, u: FloatArray, product: FloatArray) -> Certificate:
        """Bounds on the optimal objective."""
        half = max(0.0, float(u @ product)) / 2
        scale, losses = self.primal(u, product)
        lower = float(np.abs(u).sum()) - half
        return Certificate(lower, max(0.0, lower), scale**2 * half + losses)

    def primal(self, u: FloatArray, product: FloatArray) -> tuple[float, float]:
        """The better of two primal points, as (scale, losses): w = scale · Σ u_i φ(x_i).

        One is Σ u_i φ(x_i) itself with the b at which Σ C_i max(0, 1 − y_i(f_i + b)) is least:
        where rows of as much C ask for a smaller b as for a larger one.  The other, if the classes
        are apart, is longer, so that no row has a loss: with a large C the rounding of the losses
        would hide the optimum.
        """
        lengths = np.sqrt(self.K.diagonal())
        noise = ROUNDING * lengths * float(lengths @ np.abs(u))  # of f_i
        residual = self.y - product
        order = residual.argsort()
        below = np.cumsum(self.box[order])
        positive = self.y > 0
        b = residual[order[int(np.searchsorted(below, self.box[positive].sum()))]]
        xi = self.y * (residual - b) + noise + ROUNDING * (1 + abs(b))
        losses = float(self.box @ np.maximum(0.0, xi))
        apart = (product - noise)[positive].min() - (product + noise)[~positive].max()
        half = float(u @ product) / 2
        if apart > 0 and half * (4 / apart**2 - 1) < losses:
            return 2.0 / float(apart), 0.0
        return 1.0, losses
