"""The losses of hierarchical kernel learning: values, derivatives, conjugates, best intercepts.

A loss is L(u) = Σ_i c_i ℓ(y_i, u_i) of the predictions u.  β = −∂L/∂u are the dual variables
(β_i = α_i y_i with labels ±1).  Since the intercept is not penalised, Σ_i β_i = 0 at its best
value, and then every f gives a feasible point of the dual problem.  By Fenchel's inequality
L(u) ≥ conjugate(β) − ⟨β, u⟩, with the conjugate for feasible β

    hinge          Σ y_i β_i                         0 ≤ y_i β_i ≤ c_i
    squared_hinge  Σ y_i β_i − β_i² / (4c_i)         0 ≤ y_i β_i
    logistic       Σ c_i H(y_i β_i / c_i)            0 ≤ y_i β_i ≤ c_i,  H the entropy in nats
    squared        Σ y_i β_i − β_i² / (4c_i)
    multinomial    Σ c_i H([y_i = ·] − β_i / c_i)    a probability of each class

With offsets o the loss is L(u − o), which adds ⟨β, o⟩ to the conjugate.  Groups of examples have an
intercept each, so the β of each group sum to zero.  The multinomial loss
Σ_i c_i (ln Σ_k e^{u_ik} − u_{i,y_i}) has a prediction, an intercept and a β for each class.

The hinge is smoothed for Newton's method: its corner becomes a parabola of width ν in the margin,
t²/(2ν) for t = 1 − y_i u_i from 0 to ν.  The objective and its bound are computed with the hinge
itself.  The squared losses are such parabolas of width ½ without an end.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from formulakern.arrays import FloatArray, IntArray

#: The losses of one function.
LOSSES = ("hinge", "squared_hinge", "logistic", "squared")
#: Sums of dual variables below this share of Σ c_i count as zero in the search for the intercept.
BALANCED_SHARE = 1e-10
#: Intercepts that differ by less, relative to 1 or to their size, are the same.
NEIGHBOURS = 2 * float(np.finfo(np.float64).eps)
#: Keeps a logarithm of zero finite if its factor is zero.
MIN_LOGARITHM_ARGUMENT = 1e-300
#: Keeps divisions by sums of dual variables finite.
MIN_DIVISOR = 1e-200
#: The best intercepts are at most this far outside the predictions, up to a loss below
#: BALANCED_SHARE.
REACH = 40.0
#: Allowance for the rounding of sums, as a share of the sum of their sizes.
ROUNDING = 256 * float(np.finfo(np.float64).eps)


class Expansion(NamedTuple):
    """The value, β = −∂L/∂u and the second derivatives of a loss at some predictions.

    The multinomial loss has the probabilities of the classes instead of second derivatives.
    """

    value: float
    beta: FloatArray
    curvature: FloatArray


class Loss:
    """The loss L(u) = Σ_i c_i ℓ(y_i, u_i), with the hinge's corner smoothed to ``width``.

    Parameters
    ----------
    name : str
        One of ``LOSSES``.
    y : float64 (m,)
        ±1, or any real numbers for "squared".
    c : float64 (m,)
        Positive.
    group : int64 (m,), optional
        From 0; example i, of group k, has the prediction u_i − b_k.  One group by default.
    offset : float64 (m,), optional
        o, 0 by default.
    """

    #: The number of functions.
    n_functions = 1

    def __init__(
        self,
        name: str,
        y: FloatArray,
        c: FloatArray,
        group: IntArray | None = None,
        offset: FloatArray | None = None,
    ) -> None:
        self.name, self.y, self.c = name, y, c
        self.group = np.zeros(len(y), dtype=np.int64) if group is None else group
        self.offset = np.zeros(len(y)) if offset is None else offset
        self.cold = np.zeros(int(self.group.max()) + 1)  # the initial intercepts
        self.parts: list[tuple[Any, Loss]] = [(slice(None), self)]
        if len(self.cold) > 1:
            places = [np.flatnonzero(self.group == k) for k in range(len(self.cold))]
            offsets = self.offset
            self.parts = [(own, Loss(name, y[own], c[own], None, offsets[own])) for own in places]
        self.width, self.true_width = (1.0, 0.0) if name == "hinge" else (0.5, 0.5)

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sum over the examples of each group."""
        return np.bincount(self.group, values, len(self.cold)).astype(np.float64)

    def expand(self, u: FloatArray) -> Expansion:
        """Return value, dual variables and curvature at u, float64 (m,); the hinge is smoothed."""
        c, y, u = self.c, self.y, u - self.offset
        if self.name == "logistic":
            z = y * u
            small = np.exp(-np.abs(z))  # exp(z) can overflow
            value = float(c @ np.log1p(small)) - float(c @ np.minimum(z, 0))
            share = np.where(z > 0, small, 1.0) / (1 + small)  # 1 / (1 + exp(z))
            return Expansion(value, c * y * share, c * share * (1 - share))
        if self.name == "squared":  # the whole parabola
            rest = y - u
            return Expansion(float(c @ rest**2), 2 * c * rest, 2 * c)
        high = 1.0 if self.name == "hinge" else math.inf
        part = (1 - y * u) / self.width
        share = np.clip(part, 0, high)
        value = float(c @ (self.width * share * (part - share / 2)))
        curvature = c / self.width * ((part > 0) & (part < high))
        return Expansion(value, c * y * share, curvature)

    def conjugate(self, beta: FloatArray) -> float:
        """Return min_u L(u) + ⟨β, u⟩ for feasible β; the hinge is not smoothed."""
        if self.name == "logistic":
            share = np.clip(self.y * beta / self.c, 0, 1)
            entropy = float(self.c @ (_entropy(share) + _entropy(1 - share)))
            return entropy + float(self.offset @ beta)
        linear = float((self.y + self.offset) @ beta)
        return linear - self.true_width / 2 * float(np.sum(beta**2 / self.c))

    def bound(
        self, beta: FloatArray, square: float, objective: float = -math.inf
    ) -> tuple[float, float]:
        """Return a multiple s of β, and conjugate(sβ) − s²·square/2 minus the possible rounding.

        This is a lower bound on the optimum if ``square`` is at least Ω*(g)²; s is nearly optimal.
        The search for s ends when it changes the gap to the objective by at most a hundredth.
        """
        size = float(np.abs(beta) @ (1 + np.abs(self.y)))
        if self.name == "logistic":
            share = np.clip(self.y * beta / self.c, 0, 1)
            right, part = np.array([[1.0], [0.0]]), np.stack([-share, share])
            shift = float(self.offset @ beta)
            s, best = entropy_bound(self.c, right, part, shift, square, objective)
        else:  # any s is feasible; at most 1 for the hinge
            linear = float((self.y + self.offset) @ beta)
            curved = square + self.true_width * float(np.sum(beta**2 / self.c))
            s = max(0.0, linear) / curved if curved > 0 else float(linear > 0)
            s = min(1.0, s) if self.name == "hinge" else s
            best = self.conjugate(s * beta) - 0.5 * s**2 * square
        return s, best - ROUNDING * (s * size + 0.5 * s**2 * square)

    def balanced(self, beta: FloatArray) -> FloatArray:
        """Return β summing to zero by group: the larger of its two signed parts is shrunk."""
        up, down = self.sums(np.maximum(beta, 0)), self.sums(np.maximum(-beta, 0))
        least = np.minimum(up, down)
        above, below = least / np.maximum(up, MIN_DIVISOR), least / np.maximum(down, MIN_DIVISOR)
        return beta * np.where(beta > 0, above[self.group], below[self.group])

    def intercept(self, u: FloatArray, start: FloatArray | float) -> tuple[FloatArray, Expansion]:
        """Return the b of all groups that minimise L(u − b), smoothed, so that Σ_i β_i = 0."""
        b = start + 0 * self.cold
        for k, (own, part) in enumerate(self.parts):
            part.width = self.width
            b[k], here = part._intercept(u[own], float(b[k]))
        return b, here if len(b) == 1 else self.expand(u - b[self.group])

    def _intercept(self, u: FloatArray, b: float) -> tuple[float, Expansion]:
        """Return the b of one group, from b on, by a guarded Newton method."""
        c, z = self.c, u - self.offset
        if self.name == "squared":
            b = float(c @ (z - self.y) / c.sum())
            return b, self.expand(u - b)
        if self.name == "hinge":
            b = self._balance(z)
            return b, self.expand(u - b)
        high = math.sqrt(float(z @ z)) + REACH
        low = -high
        scale = BALANCED_SHARE * float(c.sum())
        for _ in range(200):
            here = self.expand(u - b)
            slope, bend = float(here.beta.sum()), float(here.curvature.sum())
            if abs(slope) <= scale:
                break
            low, high = (low, b) if slope > 0 else (b, high)
            last, b = b, b - slope / bend if bend > 0 else np.nan
            b = b if low < b < high else (low + high) / 2
            if abs(b - last) <= NEIGHBOURS * max(1.0, abs(b)):
                break
        return b, here

    def _balance(self, z: FloatArray) -> float:
        """Return the b at which Σ_i β_i of the smoothed hinge, piecewise linear in b, is 0."""
        starts = z - self.y - np.where(self.y < 0, self.width, 0.0)
        points = np.concatenate([starts, starts + self.width])
        order = np.argsort(points, kind="stable")
        points, bends = points[order], np.concatenate([self.c, -self.c])[order] / self.width
        bends = np.cumsum(bends)[:-1]
        negative = float(self.c @ (self.y < 0))
        sums = np.cumsum(np.concatenate([[-negative], bends * np.diff(points)]))
        place = min(int(np.searchsorted(sums, 0.0)), len(sums) - 1)
        if place == 0 or bends[place - 1] <= 0:
            return float(points[place])
        return float(points[place] - sums[place] / bends[place - 1])

    def true_intercept(self, u: FloatArray, smooth: FloatArray) -> tuple[FloatArray, float]:
        """Return the b that minimise L(u − b) without smoothing, and its value; O(m log m)."""
        if self.name != "hinge":
            return smooth, self.expand(u - smooth[self.group]).value
        corners, b = u - self.offset - self.y, 0 * self.cold
        for k, (own, _) in enumerate(self.parts):
            order = np.argsort(corners[own], kind="stable")
            slopes = np.cumsum(self.c[own][order])
            negative = float(self.c[own] @ (self.y[own] < 0))
            place = min(int(np.searchsorted(slopes, negative)), len(order) - 1)
            b[k] = corners[own][order[place]]
        return b, float(self.c @ np.maximum(0, 1 - self.y * (u - self.offset - b[self.group])))


#: The number of Newton steps for the intercepts of classes, and the largest step.
MAX_INTERCEPT_STEPS, MAX_INTERCEPT_STEP = 100, 2.0
#: The share that is added to their curvature.
DAMPING = 1e-8
#: The smallest part of a Newton step that is tried.
MIN_STEP = 2.0**-30
#: The relative accuracy of the multiple of β that gives the best bound, or of the bound, or of the
#: gap.
MULTIPLE_TOL, BOUND_TOL, GAP_TOL = 1e-6, 1e-9, 1e-2


class MultinomialLoss(Loss):
    """The loss Σ_i c_i (ln Σ_k e^{u_ik} − u_{i,y_i}) of predictions u, float64 (m, K).

    Parameters
    ----------
    y : float64 (m,)
        Classes, from 0; each class occurs.
    c : float64 (m,)
        Positive.
    """

    def __init__(self, y: FloatArray, c: FloatArray) -> None:
        super().__init__("multinomial", y, c)
        self.codes = y.astype(np.intp)
        self.n_functions = int(self.codes.max()) + 1
        # sums over a few classes are fast over rows of examples
        self.right = (self.codes == np.arange(self.n_functions)[:, None]).T
        self.places = np.arange(len(y))
        self.goal = c @ self.right
        self.total = float(self.goal.sum())
        self.cold = -np.log(self.goal / self.total)

    def alone(self, scores: FloatArray, k: int) -> Loss:
        """Return the logistic loss of class k against the others, with fixed other scores."""
        offset = np.logaddexp.reduce(np.delete(scores, k, axis=1), axis=1)
        return Loss("logistic", np.where(self.right[:, k], 1.0, -1.0), self.c, None, offset)

    def expand(self, u: FloatArray) -> Expansion:
        """Return value, dual variables and probabilities at u."""
        return self._expansion(*self._probabilities(np.ascontiguousarray(u.T)))

    def _probabilities(self, scores: FloatArray) -> tuple[float, FloatArray]:
        """Return the value, and probabilities, at scores of shape (K, m)."""
        parts = scores - scores.max(axis=0)
        own = parts[self.codes, self.places]
        np.exp(parts, out=parts)
        total = parts.sum(axis=0)
        parts /= total
        return float(self.c @ (np.log(total) - own)), parts

    def _expansion(self, value: float, chances: FloatArray) -> Expansion:
        return Expansion(value, (self.c * (self.right.T - chances)).T, chances.T)

    def conjugate(self, beta: FloatArray) -> float:
        """Return Σ_i c_i H([y_i = ·] − β_i / c_i)."""
        chances = np.maximum(self.right - beta / self.c[:, None], MIN_LOGARITHM_ARGUMENT)
        return -float(self.c @ np.sum(chances * np.log(chances), axis=1))

    def bound(
        self, beta: FloatArray, square: float, objective: float = -math.inf
    ) -> tuple[float, float]:
        """Return a multiple s ≤ 1 of β, and its lower bound on the optimum."""
        part = (-beta / self.c[:, None]).T  # p − [y = k]
        multiple, best = entropy_bound(self.c, self.right.T, part, 0.0, square, objective)
        return multiple, best - 1e-12 * (float(np.abs(beta).sum()) + square)

    def intercept(self, u: FloatArray, start: FloatArray | float) -> tuple[FloatArray, Expansion]:
        """Return the b, float64 (K,), that gives each class its share, by damped Newton steps."""
        K, b = self.n_functions, np.array(start, dtype=np.float64)
        scores, before, largest = np.ascontiguousarray(u.T), math.inf, math.inf
        value, chances = self._probabilities(scores - b[:, None])
        for _ in range(MAX_INTERCEPT_STEPS):
            sums = chances @ self.c
            lack = self.goal - sums
            now = float(np.abs(lack).max())
            rounding = before <= 1e-7 * self.total or largest <= MIN_STEP
            if now <= 1e-9 * self.total or (now > before / 2 and rounding):
                break
            before = now
            curvature = (-self.c * chances) @ chances.T
            curvature.flat[:: K + 1] += sums
            curvature += self.total / K**2  # a common shift changes nothing
            curvature.flat[:: K + 1] *= 1 + DAMPING
            # for probabilities of 0 and 1
            curvature.flat[:: K + 1] += DAMPING**2 * self.total
            step = np.linalg.solve(curvature, lack)
            step = np.clip(step, -MAX_INTERCEPT_STEP, MAX_INTERCEPT_STEP)
            while True:
                largest = float(np.abs(step).max())
                after, moved = self._probabilities(scores - (b - step)[:, None])
                if after <= value + 1e-12 * abs(value) or largest <= MIN_STEP:
                    break
                step /= 4
            b, value, chances = b - step, after, moved
        return b, self._expansion(value, chances)

    def true_intercept(self, u: FloatArray, smooth: FloatArray) -> tuple[FloatArray, float]:
        """Return ``smooth``, since the loss is not smoothed, and the value."""
        return smooth, self.expand(u - smooth).value

    def balanced(self, beta: FloatArray) -> FloatArray:
        """Return β with column sums of zero up to rounding, or 0 if rounding prevents this."""
        chances = self.right - beta / self.c[:, None]
        lack = self.goal - self.c @ chances
        if not np.abs(lack).max() <= 1e-6 * self.total:
            return np.zeros_like(beta)
        gains = np.maximum(lack, 0.0)
        # a surplus goes to other classes, in the row that has most of its class
        for k in np.flatnonzero((lack < 0) & gains.any()):
            row = int((self.c * chances[:, k]).argmax())
            chances[row, k] += lack[k] / self.c[row]
            chances[row] -= lack[k] / self.c[row] * gains / gains.sum()
            if chances[row, k] < 0:
                return np.zeros_like(beta)
        return np.asarray(self.c[:, None] * (self.right - chances))


def loss_of(name: str, y: FloatArray, c: FloatArray, group: IntArray | None = None) -> Loss:
    """Return the loss of this name, with an intercept for each group if there are groups."""
    return MultinomialLoss(y, c) if name == "multinomial" else Loss(name, y, c, group)


def entropy_bound(
    c: FloatArray,
    right: FloatArray,
    part: FloatArray,
    shift: float,
    square: float,
    objective: float = -math.inf,
) -> tuple[float, float]:
    """Return the s ≤ 1 of the largest Σ_i c_i H(right + s·part) + s·shift − s²·square/2, and it.

    Probabilities have a row for each class.  The bound is concave in s.  It may be too small by a
    share of its distance to the objective.
    """

    def at(s: float) -> tuple[float, float, float]:
        """Return the bound, and its first and second derivative."""
        mixed = np.maximum(right + s * part, MIN_LOGARITHM_ARGUMENT)
        logs = np.log(mixed)
        value = s * shift - float(((mixed * logs) @ c).sum()) - 0.5 * s**2 * square
        slope = shift - float(((part * logs) @ c).sum()) - s * square
        return value, slope, -float((part * part / mixed @ c).sum()) - square

    low, high, s = 0.0, 1.0, 1.0
    best, slope, curvature = at(s)
    multiple, before = s, math.inf
    while slope < 0 or s < 1:  # otherwise the bound rises up to 1
        low, high = (s, high) if slope > 0 else (low, s)
        possible = abs(slope) * (high - low)  # the largest gain, since the bound is concave
        enough = max(BOUND_TOL * abs(best), GAP_TOL * (objective - best))
        if possible <= enough or high - low <= MULTIPLE_TOL * high:
            break
        step = s - slope / curvature if curvature < 0 else low
        if abs(slope) > before / 2 or not low < step < high:  # Newton's step is not useful
            step = math.sqrt(low * high) if low > 0 else high / 10
        before, s = abs(slope), step
        value, slope, curvature = at(s)
        if value > best:
            best, multiple = value, s
    return multiple, best


def _entropy(share: FloatArray) -> FloatArray:
    return -share * np.log(np.maximum(share, MIN_LOGARITHM_ARGUMENT))
