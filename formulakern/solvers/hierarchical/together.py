"""The problem of :mod:`.solve` for several classes at once, with the multinomial logistic loss.

    minimise over f_1, …, f_K, b   ½ Σ_k Ω_k(f_k)² + Σ_i c_i (ln Σ_k e^{s_ik} − s_{i,y_i}),
    s_ik = Σ_w f_kw φ_kw(x_i) + b_k.

As for one function, Ω_k(f)² is the least value of Σ_w f_w²/κ_w, so that each round solves a ridge
problem by Newton's method and chooses κ anew for every class.  With probabilities p and
β_ik = c_i ([y_i = k] − p_ik), of which the sums over i are zero for the best b, and t in [0, 1],

    optimum  ≥  Σ_i c_i H((1 − t) [y_i = ·] + t p_i) − t²/2 Σ_k Ω_k*(Σ_i β_ik φ_k(x_i))²,

H the entropy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.deadline import UNLIMITED, Deadline, TimeIsOver
from formulakern.solvers.blas import one_thread
from formulakern.solvers.hierarchical.norm import DualNorm, Lattice
from formulakern.solvers.hierarchical.solve import (
    DUAL_STEPS,
    FLOOR,
    LIFT,
    MOMENTUM,
    MOST_DUAL_STEPS,
    NEWTON,
)

__all__ = ["Together", "balanced", "dual_bound", "multinomial_loss", "solve_together"]

#: Rounds at most.
ROUNDS = 500
#: Features whose κ Σ_i c_i φ_i² is less move to κ g alone in a Newton step.
LEFT_OUT = 1e-3
#: Newton steps for the intercepts alone, and their largest one.
INTERCEPTS, LONGEST = 100, 2.0
#: What is added to their curvature, as a share.
DAMPING = 1e-8
#: The smallest part of a Newton step that is tried.
SHORTEST = 2.0**-30
#: The multiple of β that gives the best bound is found to this relative accuracy, or the bound.
NEAREST, SLIGHT = 1e-6, 1e-9


@dataclass(frozen=True, eq=False)
class Together:
    """The functions of all classes on their features, and what is proven of them.

    Attributes
    ----------
    weights : list of float64 (n_k,)
    intercepts : float64 (K,)
    objective, lower_bound : float
        For these features.
    scores, beta : float64 (m, K)
    """

    weights: list[FloatArray]
    intercepts: FloatArray
    objective: float
    lower_bound: float
    scores: FloatArray
    beta: FloatArray


def multinomial_loss(scores: FloatArray, codes: npt.NDArray[np.intp], c: FloatArray) -> float:
    """Σ_i c_i (ln Σ_k e^{s_ik} − s_{i,y_i})."""
    right = scores[np.arange(len(codes)), codes]
    return float(c @ (np.logaddexp.reduce(scores, axis=1) - right))


def balanced(
    scores: FloatArray, codes: npt.NDArray[np.intp], c: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """What to add to the scores so that every class has its share, and β then.

    Parameters
    ----------
    scores : float64 (m, K)
    codes : intp (m,)
    c : float64 (m,)

    Returns
    -------
    shift : float64 (K,)
    beta : float64 (m, K)
        With column sums of zero, up to rounding.
    None
        Where rounding does not allow for that.
    """
    K = scores.shape[1]
    right = codes[:, None] == np.arange(K)
    goal = c @ right
    total = float(goal.sum())

    def at(shift: FloatArray) -> tuple[float, FloatArray]:
        """What is least at the best shift, and the probabilities."""
        logs = scores + shift
        sums = np.logaddexp.reduce(logs, axis=1)
        return float(c @ sums - goal @ shift), np.exp(logs - sums[:, None])

    shift = np.zeros(K)
    value, chances = at(shift)
    lack = goal - c @ chances
    for _ in range(INTERCEPTS):
        if np.abs(lack).max() <= 1e-13 * total:
            break
        curvature = np.diag(c @ chances) - (c[:, None] * chances).T @ chances
        curvature += np.full((K, K), total / K**2)  # a common shift changes nothing
        curvature[range(K), range(K)] *= 1 + DAMPING
        curvature[range(K), range(K)] += DAMPING**2 * total  # where probabilities are 0 and 1
        step = np.clip(np.linalg.solve(curvature, lack), -LONGEST, LONGEST)
        after, moved = at(shift + step)
        while after > value + 1e-12 * abs(value) and np.abs(step).max() > SHORTEST:
            step /= 4
            after, moved = at(shift + step)
        before = np.abs(lack).max()
        lack = goal - c @ moved
        shift, value, chances = shift + step, after, moved
        if np.abs(lack).max() > before / 2 and (
            before <= 1e-9 * total or np.abs(step).max() <= SHORTEST
        ):
            break  # the rest is rounding
    rest = float(np.abs(lack).max())
    if not rest <= 1e-6 * goal.sum():
        return None
    # what rounding has left goes to one row, in which no class has a probability of nearly zero
    most = int(c.argmax())
    share = min(1.0, 4 * rest / float(c[most] * goal.min() / goal.sum()))
    chances = (1 - share) * chances + share * goal / goal.sum()
    chances[most] += (goal - c @ chances) / c[most]
    if chances[most].min() < 0:
        return None
    return shift, c[:, None] * (right - chances)


def dual_bound(
    beta: FloatArray, codes: npt.NDArray[np.intp], c: FloatArray, square: float
) -> float:
    """The best lower bound over t, where ``square`` is Σ_k Ω_k*²."""
    right = codes[:, None] == np.arange(beta.shape[1])
    part = -beta / c[:, None]  # p − [y = k]

    def at(t: float) -> tuple[float, float, float]:
        """The bound, and its first and second derivative; it is concave."""
        mixed = np.maximum(right + t * part, 1e-300)
        logs = np.log(mixed)
        value = -float((c @ (mixed * logs)).sum()) - 0.5 * t**2 * square
        slope = -float((c @ (part * logs)).sum()) - t * square
        return value, slope, -float((c @ (part * part / mixed)).sum()) - square

    low, high, t = 0.0, 1.0, 1.0
    best, slope, curvature = at(t)
    before = math.inf
    while slope < 0 or t < 1:  # else the bound rises up to 1
        low, high = (t, high) if slope > 0 else (low, t)
        possible = abs(slope) * (high - low)  # more cannot be gained, as the bound is concave
        if possible <= SLIGHT * abs(best) or high - low <= NEAREST * high:
            break
        step = t - slope / curvature if curvature < 0 else low
        if abs(slope) > before / 2 or not low < step < high:  # Newton's step is of no use
            step = math.sqrt(low * high) if low > 0 else high / 10
        before, t = abs(slope), step
        value, slope, curvature = at(t)
        best = max(best, value)
    return best - 1e-12 * (float(np.abs(beta).sum()) + square)


def solve_together(
    columns: Sequence[FloatArray],
    lattices: Sequence[Lattice],
    codes: npt.NDArray[np.intp],
    c: FloatArray,
    *,
    tol: float,
    start: Sequence[FloatArray],
    deadline: Deadline = UNLIMITED,
) -> Together:
    """Solve the problem to a relative gap.

    Parameters
    ----------
    columns : K arrays, float64 (n_k, m)
        φ_k, one feature a row.
    lattices : K lattices
        Of n_k features.
    codes : intp (m,)
        Classes, from 0; all of them.
    c : float64 (m,)
        Positive.
    tol : float
    start : K arrays, float64 (n_k,)
        Weights to begin with.
    deadline : Deadline, optional
        After it no round begins, and a Newton step that is not done is given up.

    Notes
    -----
    A Newton step solves a system of the size of all features that matter: O((Σ n_k)² (m + Σ n_k)).
    """
    K = len(columns)
    shares = np.bincount(codes, c, K) / c.sum()
    intercepts = np.log(shares)
    weights = [np.array(f, dtype=np.float64) for f in start]
    cold = [1 / lattice.penalties**2 for lattice in lattices]
    cold = [one / one.sum() for one in cold]
    scales = [
        np.maximum(0.9 * lattice.scales(f) + 0.1 * one if np.any(f) else one, FLOOR)
        for lattice, f, one in zip(lattices, weights, cold, strict=True)
    ]
    etas = [1 / lattice.penalties for lattice in lattices]
    last: list[FloatArray] | None = None
    best: Together | None = None
    lower, gap, value_before, steps = 0.0, 1.0, np.inf, DUAL_STEPS
    for _ in range(ROUNDS):
        accuracy = min(1e-3, max(0.01 * gap**2, 0.01 * tol**2, 1e-13))
        with one_thread():
            weights, intercepts = _ridge(
                columns, scales, codes, c, weights, intercepts, accuracy, deadline
            )
        scores = _scores(columns, weights, intercepts)
        found = balanced(scores, codes, c)
        if found is not None:
            intercepts, scores = intercepts + found[0], scores + found[0]
        norms = [lattice.norm(f) for lattice, f in zip(lattices, weights, strict=True)]
        value = 0.5 * float(np.square(norms).sum()) + multinomial_loss(scores, codes, c)
        if found is None:
            break
        beta = found[1]
        duals: list[DualNorm] = []
        for k, lattice in enumerate(lattices):
            eta = 0.5 * etas[k] / etas[k].sum() + 0.5 * lattice.shares(weights[k])
            g = columns[k] @ beta[:, k]
            duals.append(lattice.dual_norm(g, eta, tol=0.02 * tol, steps=steps))
            etas[k] = duals[k].eta
        bound = dual_bound(beta, codes, c, float(sum(dual.upper**2 for dual in duals)))
        lower = max(lower, bound)
        if best is None or value < best.objective:
            best = Together(weights, intercepts, value, lower, scores, beta)
        gap = max(0.0, (best.objective - lower) / best.objective) if best.objective > 0 else 0.0
        if gap <= tol or deadline.over():
            break
        following = []
        for k, (lattice, f) in enumerate(zip(lattices, weights, strict=True)):
            now = np.maximum(lattice.scales(f), FLOOR) if np.any(f) else duals[k].scales
            after = now
            if last is not None and value <= value_before * (1 + tol):
                ratio = np.maximum(now, FLOOR) / np.maximum(last[k], FLOOR)
                after = now * np.clip(ratio, 0.01, 100.0) ** MOMENTUM
            lifted = np.maximum(after, min(LIFT, gap) * duals[k].scales)
            following.append((now, np.maximum(lifted, FLOOR)))
        last, scales = [now for now, _ in following], [after for _, after in following]
        if abs(value - value_before) <= 1e-12 * value:  # what is left may be the dual norms'
            steps = min(2 * steps, MOST_DUAL_STEPS)
        value_before = value
    if best is None:  # rounding hides everything
        best = Together(weights, intercepts, value, 0.0, scores, np.zeros_like(scores))
    return Together(best.weights, best.intercepts, best.objective, lower, best.scores, best.beta)


def _scores(
    columns: Sequence[FloatArray], weights: Sequence[FloatArray], intercepts: FloatArray
) -> FloatArray:
    parts = [f @ Phi for f, Phi in zip(weights, columns, strict=True)]
    return np.stack(parts, axis=1) + intercepts


def _ridge(
    columns: Sequence[FloatArray],
    scales: Sequence[FloatArray],
    codes: npt.NDArray[np.intp],
    c: FloatArray,
    weights: list[FloatArray],
    intercepts: FloatArray,
    tol: float,
    deadline: Deadline,
) -> tuple[list[FloatArray], FloatArray]:
    """Newton steps for minimal ½ Σ f²/κ plus the loss, to this relative duality gap."""
    K = len(columns)
    right = codes[:, None] == np.arange(K)
    scores = _scores(columns, weights, intercepts)

    def value_of(f: Sequence[FloatArray], s: FloatArray) -> float:
        penalty = sum(float(np.sum(one**2 / kappa)) for one, kappa in zip(f, scales, strict=True))
        return 0.5 * penalty + multinomial_loss(s, codes, c)

    value = value_of(weights, scores)
    began, seconds = Deadline.clock(), 0.0
    for _ in range(NEWTON):
        if deadline.over(seconds):
            break
        chances = np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None])
        beta = c[:, None] * (right - chances)
        g = [Phi @ beta[:, k] for k, Phi in enumerate(columns)]
        entropy = -np.sum(chances * np.log(np.maximum(chances, 1e-300)), axis=1)
        square = sum(float(kappa @ one**2) for kappa, one in zip(scales, g, strict=True))
        away = float(np.abs(beta.sum(axis=0)).max())
        if value - (float(c @ entropy) - 0.5 * square) <= tol * value and away <= 1e-6 * float(
            c.sum()
        ):
            break
        aim = [kappa * one for kappa, one in zip(scales, g, strict=True)]
        try:
            moves, shift = _newton(columns, scales, c, chances, weights, aim, g, beta, deadline)
        except (np.linalg.LinAlgError, TimeIsOver):  # or rounding hides the rest
            break
        step = _scores(columns, moves, shift)
        part = 1.0
        while True:
            after = [f + part * d for f, d in zip(weights, moves, strict=True)]
            now = value_of(after, scores + part * step)
            if now <= value or part <= SHORTEST:
                break
            part /= 4
        if now > value:
            break
        gain, value = value - now, now
        weights, intercepts, scores = after, intercepts + part * shift, scores + part * step
        if gain <= 1e-15 * value:
            break
        seconds, began = Deadline.clock() - began, Deadline.clock()
    return weights, intercepts


def _newton(
    columns: Sequence[FloatArray],
    scales: Sequence[FloatArray],
    c: FloatArray,
    chances: FloatArray,
    weights: Sequence[FloatArray],
    aim: Sequence[FloatArray],
    g: Sequence[FloatArray],
    beta: FloatArray,
    deadline: Deadline,
) -> tuple[list[FloatArray], FloatArray]:
    """The Newton step of weights and intercepts, in the units f/√κ."""
    from scipy.linalg import cho_factor, cho_solve

    K = len(columns)
    matter, parts, roots = [], [], []
    for k, Phi in enumerate(columns):
        curvature = c * chances[:, k] * (1 - chances[:, k])
        importance = scales[k] * ((Phi**2) @ curvature)
        which = np.flatnonzero(importance > LEFT_OUT / len(importance))
        root = np.sqrt(scales[k][which])
        matter.append(which)
        roots.append(root)
        # the intercept is a feature that costs nothing
        parts.append(np.vstack([root[:, None] * Phi[which], np.ones((1, len(c)))]))
    ends = np.cumsum([0, *(len(part) for part in parts)])
    hessian = np.zeros((ends[-1], ends[-1]))
    slope = np.zeros(ends[-1])
    for k in range(K):
        here = slice(ends[k], ends[k + 1])
        n = len(matter[k])
        slope[here][:n] = roots[k] * g[k][matter[k]] - weights[k][matter[k]] / roots[k]
        slope[here][n] = beta[:, k].sum()
        for j in range(k + 1):
            deadline.check()
            there = slice(ends[j], ends[j + 1])
            middle = c * chances[:, k] * ((1.0 if j == k else 0.0) - chances[:, j])
            hessian[here, there] = (parts[k] * middle) @ parts[j].T
            hessian[there, here] = hessian[here, there].T
        hessian[range(ends[k], ends[k] + n), range(ends[k], ends[k] + n)] += 1.0
    free = ends[1:] - 1
    hessian[np.ix_(free, free)] += float(c.sum()) / K**2  # a common shift changes nothing
    hessian[free, free] += 1e-12 * float(c.sum())
    if not np.isfinite(hessian).all():
        raise np.linalg.LinAlgError("the matrix overflows")
    step = cho_solve(cho_factor(hessian, overwrite_a=True), slope)
    moves = []
    for k in range(K):
        move = aim[k] - weights[k]
        n = len(matter[k])
        move[matter[k]] = roots[k] * step[ends[k] : ends[k] + n]
        moves.append(move)
    return moves, step[free]
