"""Learned weights of several kernels: EasyMKL, and l_p-norm multiple kernel learning.

Learning weights η of kernels K_1, …, K_R needs two operations repeatedly: the matrix Σ_r η_r K_r,
and the numbers u'K_r u for a vector u. On 0/1 tables a formula's kernel is a function of the joint
counts of two rows, and few different triples of counts occur
(:mod:`formulakern.gram.triple_index`). With t(i, j) the triple of a pair of rows and v_r the values
of a kernel on the triples,

    Σ_r η_r K_r(x_i, x_j) = (Σ_r η_r v_r)[t(i, j)],    u'K_r u = Σ_t h_t v_r[t],
    h_t = Σ over pairs with t(i, j) = t of u_i u_j,

so both cost one pass over the pairs of rows, for any number of kernels.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.encoding.packed import PackedTable
from formulakern.gram.matrix import output
from formulakern.gram.triple_index import TripleIndex
from formulakern.kernels.algebra import Kernel
from formulakern.kernels.shared_grams import CandidateGrams
from formulakern.learning.kernel_machines import BoxProblem, classification
from formulakern.solvers.games import optimal_strategies
from formulakern.solvers.simplex_qp import (
    ROUNDING,
    Certificate,
    QuadraticProgram,
    Weighted,
    hull_margin,
    minimise,
)
from formulakern.solvers.solution import Certified, part_of, share_done

#: Pairs of rows whose products are summed together.
BLOCK_PAIRS = 1 << 18


class KernelFamily:
    """Kernels on one table: weighted sums of their Gram matrices, and quadratic forms.

    Parameters
    ----------
    kernels : sequence of R kernels
    rows : PackedTable of m rows
        Or any table that the kernels read.

    Attributes
    ----------
    n_shared : int
        The number of kernels that are tabulated on joint counts; each other kernel (for example, on
        a table with very many different counts) has its own Gram matrix.

    Examples
    --------
    >>> from formulakern.kernels.formula import kernel
    >>> family = KernelFamily([kernel("a"), kernel("a & b")], [[1, 1, 0], [0, 1, 1]])
    >>> family.combined(np.array([1.0, 0.5]))
    array([[4. , 1.5],
           [1.5, 4. ]])
    >>> family.forms(np.array([1.0, -1.0]))
    array([2., 6.])
    """

    def __init__(self, kernels: Sequence[Kernel], rows: PackedTable) -> None:
        grams = CandidateGrams(rows)
        self.n_rows, self.n_kernels = grams.shape[0], len(kernels)
        self._diagonals = np.array([grams.diagonal(kernel) for kernel in kernels])
        self._alone: dict[int, FloatArray] = {}
        shared: dict[TripleIndex, dict[int, FloatArray]] = {}
        for place, kernel in enumerate(kernels):
            found = grams.tabulated(kernel)
            if found is None:
                self._alone[place] = grams.gram(kernel)
            else:
                shared.setdefault(found[0], {})[place] = found[1]
        self._shared = [
            _Shared(index, np.array([*values]), np.stack([*values.values()]))
            for index, values in shared.items()
        ]
        self.n_shared = self.n_kernels - len(self._alone)

    @property
    def largest(self) -> FloatArray:
        """The largest K_r(x, x) of the rows, float64 (R,)."""
        return np.asarray(self._diagonals.max(axis=1, initial=0.0))

    def scaled(self, factors: FloatArray) -> KernelFamily:
        """Return the family of c_r K_r."""
        family = copy(self)
        family._diagonals = factors[:, None] * self._diagonals
        family._shared = [
            replace(one, values=factors[one.places, None] * one.values) for one in self._shared
        ]
        family._alone = {place: factors[place] * gram for place, gram in self._alone.items()}
        return family

    def variances(self, row_weights: FloatArray) -> FloatArray:
        """Return the mean squared distance of the feature vectors from their mean, by kernel.

        Σ_i c_i K_r(x_i, x_i) − Σ_ij c_i c_j K_r(x_i, x_j), with c the weights divided by their sum.
        """
        shares = row_weights / row_weights.sum()
        found: FloatArray = np.maximum(self._diagonals @ shares - self.forms(shares), 0.0)
        return found

    def combined(self, weights: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Return Σ_r η_r K_r."""
        out = output((self.n_rows, self.n_rows), out)
        if not self._shared:
            out[...] = 0.0
        for number, one in enumerate(self._shared):
            values = weights[one.places] @ one.values
            if number == 0:
                one.index.look_up(values, out)
            else:
                out += one.index.look_up(values)
        for place, gram in self._alone.items():
            if weights[place]:
                out += weights[place] * gram
        return out

    def forms(self, u: FloatArray) -> FloatArray:
        """Return u'K_r u for every kernel."""
        found = np.zeros(self.n_kernels)
        support = np.flatnonzero(u)
        own = u[support]
        for one in self._shared:
            found[one.places] = one.values @ _products(one.index, support, own)
        for place, gram in self._alone.items():
            found[place] = own @ gram[np.ix_(support, support)] @ own
        return np.maximum(found, 0.0)


@dataclass(frozen=True, eq=False)
class _Shared:
    """Kernels that are functions of the same counts: their places, and values on the triples."""

    index: TripleIndex
    places: np.typing.NDArray[np.intp]
    values: FloatArray


def _products(index: TripleIndex, support: np.typing.NDArray[np.intp], u: FloatArray) -> FloatArray:
    """Return h_t, the sum of u_i u_j over the pairs of these rows that have triple t."""
    sums = np.zeros(index.counts.same.size)
    height = max(1, BLOCK_PAIRS // max(1, len(support)))
    for start in range(0, len(support), height):
        band = slice(start, start + height)
        triples = index.index[support[band, None], support]
        products = np.outer(u[band], u)
        sums += np.bincount(triples.ravel(), products.ravel(), len(sums))
    return sums


@dataclass(frozen=True, eq=False)
class ClassPair:
    """Rows of two classes by position, their signs 1 and −1, and their positive weights."""

    rows: npt.NDArray[np.intp]
    signs: npt.NDArray[np.int8]
    row_weights: FloatArray

    def expanded(self, u: FloatArray, n_rows: int) -> FloatArray:
        """Return coefficients of these rows as coefficients of all rows, 0 for the others."""
        spread = np.zeros(n_rows)
        spread[self.rows] = u
        return spread

    def part(self, K: FloatArray) -> FloatArray:
        """Return the Gram matrix between these rows; K itself if they are all rows."""
        return K if len(self.rows) == len(K) else K[np.ix_(self.rows, self.rows)]


def one_against_one(
    codes: npt.NDArray[np.integer], row_weights: FloatArray
) -> dict[tuple[int, int], ClassPair]:
    """Return a task for each pair of classes; the class of the larger number is positive.

    Examples
    --------
    >>> tasks = one_against_one(np.array([0, 1, 2, 1]), np.ones(4))
    >>> [(pair, task.rows.tolist(), task.signs.tolist()) for pair, task in tasks.items()]
    [((1, 0), [0, 1, 3], [-1, 1, 1]), ((2, 0), [0, 2], [-1, 1]), ((2, 1), [1, 2, 3], [-1, 1, -1])]
    """
    found = {}
    for low, high in itertools.combinations(np.unique(codes[row_weights > 0]).tolist(), 2):
        rows = np.flatnonzero(np.isin(codes, (low, high)) & (row_weights > 0))
        signs = np.where(codes[rows] == high, 1, -1).astype(np.int8)
        found[high, low] = ClassPair(rows, signs, row_weights[rows])
    return found


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelWeights(Certified):
    """Weights of kernels, and proven bounds on the smallest ``value``.

    ``coefficients`` has u of each task, with w proportional to Σ u_i φ(x_i).
    """

    weights: FloatArray
    coefficients: tuple[FloatArray, ...]


def easy_weights(
    family: KernelFamily,
    tasks: Sequence[ClassPair],
    lam: float = 0.1,
    *,
    tol: float = 1e-6,
    max_iter: int = 1_000_000,
    progress: Callable[[float], None] | None = None,
) -> KernelWeights:
    """Weigh kernels by their contributions to the distance of the classes in the sum of all.

    For classes y_i = ±1 let Γ contain the γ ≥ 0 that sum to 1 in each class: γ represents a point
    in the convex hull of each class, and γ'YKYγ is the squared distance of the two.  With

        γ* = argmin over Γ of (1 − λ) γ'Y(Σ_r K_r)Yγ + λ‖γ‖²

    the weights are η_r = γ*'YK_rYγ* / Σ_s γ*'YK_sYγ*.  λ = 0 is the distance of the hulls, λ = 1
    the distance of the class means.  In between, up to a scale, η maximises over the unit sphere
    the distance in the weighted sum, which γ* minimises.

    *Several tasks* (pairs of classes) have a γ each, and share the weights: η_r is proportional
    to the sum of γ*'YK_rYγ* over the tasks.  *Rows of weight c* have λγ_i²/c_i: a row of weight 2
    is equivalent to two equal rows.

    Weights sum to 1, and are equal if all hulls meet.  The value is the sum of the minima over the
    tasks.  With g its gap and D the value, the square root of each γ*'YK_rYγ*, summed over the
    tasks, is exact to within √(g·D / (1 − λ)).

    References
    ----------
    F. Aiolli, M. Donini, "EasyMKL: a scalable multiple kernel learning algorithm", Neurocomputing
    169, 2015, doi:10.1016/j.neucom.2014.11.078.

    Examples
    --------
    >>> from formulakern.kernels.formula import kernel
    >>> family = KernelFamily([kernel("a"), kernel("a & b", "distinct")], [[1, 1, 0], [0, 1, 1]])
    >>> task = ClassPair(np.arange(2), np.array([1, -1], np.int8), np.ones(2))
    >>> easy_weights(family, [task]).weights
    array([0.5, 0.5])
    """
    forms = np.zeros(family.n_kernels)
    coefficients, margins, lower, upper = [], [], 0.0, 0.0
    K = family.combined(np.ones(family.n_kernels)) if lam < 1 else None
    for number, task in enumerate(tasks):
        u, margin = _means(task), None
        if K is not None:
            part = task.part(K)
            diagonal = part.diagonal().copy()
            np.fill_diagonal(part, diagonal + lam / (1 - lam) / task.row_weights)
            share = part_of(progress, number, len(tasks))
            margin = hull_margin(part, task.signs, tol=tol, max_iter=max_iter, progress=share)
            np.fill_diagonal(part, diagonal)
            u = margin.coefficients
            margins.append(margin)
            lower += (1 - lam) * margin.lower_bound**2
            upper += (1 - lam) * margin.upper_bound**2
        else:
            lower += float((u**2 / task.row_weights).sum())
            upper = lower
        coefficients.append(u)
        if margin is None or margin.distance > 0:  # otherwise the hulls meet, up to rounding
            forms += family.forms(task.expanded(u, family.n_rows))
    total = float(forms.sum())
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


def _means(task: ClassPair) -> FloatArray:
    """Return the class means as coefficients: the limit of the hull points for a large ridge."""
    positive, c = task.signs > 0, task.row_weights
    totals = np.where(positive, c[positive].sum(), c[~positive].sum())
    return np.asarray(task.signs * c / totals)


#: The relative gap of the support vector machines: of the first, as a share of the overall gap,
#: and the least, as a share of ``tol``.
FIRST_GAP, GAP_SHARE, MIN_GAP_SHARE = 0.05, 0.2, 0.02
#: The largest number of steps of a support vector machine.
MAX_STEPS = 10_000_000
#: For p = 1, the number of recent rounds whose duals are kept.
MAX_CUTS = 100
#: The largest factor by which steps extend beyond the best weights, and its growth per round.
MAX_EXTENSION, EXTENSION_GROWTH = 32.0, 1.5


def lp_norm_weights(
    family: KernelFamily,
    tasks: Sequence[ClassPair],
    p: float = 2.0,
    C: float = 1.0,
    *,
    tol: float = 1e-3,
    max_iter: int = 200,
    progress: Callable[[float], None] | None = None,
) -> KernelWeights:
    """Return the weights of kernels, and a support vector machine with their sum, optimal together.

        min over η ≥ 0 with ‖η‖_p ≤ 1, w_r, b of
            ½ Σ_r ‖w_r‖² / η_r + Σ_i C_i max(0, 1 − y_i (Σ_r ⟨w_r, φ_r(x_i)⟩ + b))

    For fixed η this is the support vector machine with K = Σ_r η_r K_r.  For fixed norms the best
    weights are η_r = ‖w_r‖^{2/(p+1)} / (Σ_s ‖w_s‖^{2p/(p+1)})^{1/p}.  The two steps alternate.
    Each support vector machine starts from the last solution, and weights go further in the
    direction of a step (in logarithms) as long as the objective falls.  For p = 1 this is slow, so
    the weights are the mean of these and of the best weights for all duals so far (a linear
    program, whose value is a lower bound too).  p = 1 leaves many weights near 0; a larger p makes
    them more equal, and p = ∞ is the plain sum.

    *Certificate.*  With u_i = α_i y_i and d_r = u'K_r u the dual problem is

        max over 0 ≤ α_i ≤ C_i, Σ_i u_i = 0 of Σ_i α_i − ½ ‖d‖_q,   1/p + 1/q = 1,

    and the primal objective, with the best weights for w_r = η_r Σ_i u_i φ_r(x_i), is
    ½ ‖(‖w_r‖)_r‖²_{2p/(p+1)} plus the losses at the best b.  The bounds allow for rounding.

    *Several tasks* (pairs of classes) have their own w and b, share the weights, and their
    objectives are summed: ‖w_r‖² and d_r are then sums over the tasks.  *Rows of weight c* have
    C_i = C·c.

    The value is the primal objective: a support vector machine with the weighted sum of kernels has
    at most this objective, and the smallest objective for any weights is at least ``lower_bound``.
    A round costs one pass over the pairs of rows, for any number of kernels, and the steps of the
    solver.

    References
    ----------
    M. Kloft, U. Brefeld, S. Sonnenburg, A. Zien, "lp-norm multiple kernel learning", Journal of
    Machine Learning Research 12, 2011, https://www.jmlr.org/papers/v12/kloft11a.html (Algorithm 1).

    Examples
    --------
    >>> from formulakern.kernels.formula import kernel
    >>> rows = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [0, 0, 1]])
    >>> family = KernelFamily([kernel("a"), kernel("a & ~a")], rows)
    >>> task = ClassPair(np.arange(4), np.array([1, -1, 1, -1], np.int8), np.ones(4))
    >>> found = lp_norm_weights(family, [task])
    >>> found.weights, found.converged  # the second formula is never true
    (array([1., 0.]), True)
    """
    weights = norm_weights(np.ones(family.n_kernels), p)
    us = [np.zeros(len(task.rows)) for task in tasks]
    boxes = [C * task.row_weights for task in tasks]
    K: FloatArray | None = None
    lower, upper, best, first = 0.0, math.inf, weights, 1.0
    inner, rounds, stride = FIRST_GAP, 0, 1.0
    cuts: list[FloatArray] = []
    dual_norm = 1.0 if p == math.inf else p / (p - 1) if p > 1 else math.inf
    mixed_norm = 2.0 if p == math.inf else 2 * p / (p + 1)
    while True:
        K = family.combined(weights, K)
        forms, scaled = np.zeros(family.n_kernels), np.zeros(family.n_kernels)
        losses = 0.0
        for place, task in enumerate(tasks):
            part = task.part(K)
            problem = classification(task.signs.astype(np.float64), boxes[place])
            us[place] = _machine(part, problem, us[place], inner)
            scale, lost = _best_primal(part, problem, us[place])
            own = family.forms(task.expanded(us[place], family.n_rows))
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
            stride = min(MAX_EXTENSION, EXTENSION_GROWTH * stride)
        else:
            weights, stride, inner = best, 1.0, inner / 4
            lost = (best == 0) & (forms > 0)
            if 1 < p < math.inf and lost.any():  # no step leaves 0
                weights = np.where(lost, (forms / forms.max()) ** (1 / (p - 1)), best)
                weights /= _norm(weights, p)
        if p == 1:
            cuts = [*cuts[-MAX_CUTS:], sum(sizes) - noise - forms / 2]
            dual, planes = _cutting_planes(np.array(cuts).T)
            weights = (weights + planes) / 2
        lower = max(lower, dual)
        gap = max(0.0, upper - lower) / upper
        if progress is not None:
            first = max(first, gap)
            progress(share_done(first, gap, tol))
        if gap <= tol or rounds == max_iter:
            break
        inner = max(min(inner, GAP_SHARE * gap), MIN_GAP_SHARE * tol)
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
    """Return the η with ‖η‖_p ≤ 1 that minimises Σ_r ‖w_r‖² / η_r; equal weights if all w are 0.

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
    """Return a lower bound for p = 1 from the duals of several rounds, and the weights for it.

    By the u of round t, weights η of sum 1 have an objective of at least Σ_r η_r M_rt, with
    M_rt = Σ_i |u_i| − ½ d_r.  So min_η max_t Σ_r η_r M_rt is a lower bound: a matrix game.  The
    strategy λ of the other player bounds its value despite rounding.
    """
    found = optimal_strategies(payoffs)
    if found is None:
        return -math.inf, np.full(len(payoffs), 1 / len(payoffs))
    weights, mixture = np.maximum(found[0], 0.0), np.maximum(found[1], 0.0)
    return float((payoffs @ (mixture / mixture.sum())).min()), weights / weights.sum()


def _beyond(weights: FloatArray, best: FloatArray, stride: float, p: float) -> FloatArray:
    """Return weights ``stride`` times as far as the best weights for their norms, in logarithms."""
    ratio = np.divide(best, weights, out=np.zeros_like(weights), where=weights > 0)
    beyond = weights * ratio**stride
    return beyond / _norm(beyond, p)


def _norm(values: FloatArray, p: float) -> float:
    """Return (Σ v_r^p)^{1/p} of nonnegative numbers; the largest for p = ∞."""
    largest = float(values.max())
    if largest == 0 or p == math.inf:
        return largest
    return largest * math.pow(float(((values / largest) ** p).sum()), 1 / p)


def _machine(K: FloatArray, problem: BoxProblem, start: FloatArray, tol: float) -> FloatArray:
    """Return the coefficients of a support vector machine, to a relative gap, from a start."""
    group = np.zeros(len(problem), dtype=np.int8)
    program = QuadraticProgram(-problem.linear, group, problem.lower, problem.upper)

    def certificate(u: FloatArray, product: FloatArray) -> Certificate:
        found = problem.values(u, product)
        return Certificate(found.primal, found.dual, found.primal)

    found = minimise(K, program, start, certificate, Weighted, tol=tol, max_iter=MAX_STEPS)
    return found.coefficients


def _best_primal(K: FloatArray, problem: BoxProblem, u: FloatArray) -> tuple[float, float]:
    """Return the better of two primal points, as (scale, losses): w = scale · Σ u_i φ(x_i).

    One is Σ u_i φ(x_i) with the b that minimises Σ C_i max(0, 1 − y_i(f_i + b)).  The other exists
    if the classes are separated; it is longer, so that no row has a loss.  For a large C the
    rounding of the losses would otherwise hide the optimum.
    """
    product, lengths, y = K @ u, np.sqrt(K.diagonal()), problem.linear
    noise = ROUNDING * lengths * float(lengths @ np.abs(u))  # of f_i
    residual, positive, box = y - product, y > 0, problem.upper - problem.lower
    b = problem.best_intercept(residual)
    xi = y * (residual - b) + noise + ROUNDING * (1 + abs(b))
    losses = float(box @ np.maximum(0.0, xi))
    apart = (product - noise)[positive].min() - (product + noise)[~positive].max()
    half = float(u @ product) / 2
    if apart > 0 and half * (4 / apart**2 - 1) < losses:
        return 2.0 / float(apart), 0.0
    return 1.0, losses
