"""The losses of hierarchical kernel learning: values, derivatives, conjugates, best intercepts.

A loss is L(u) = Σ_i c_i ℓ(y_i, u_i) of the predictions u.  β = −∂L/∂u are the dual variables
(β_i = α_i y_i with labels ±1).  Since the intercept is not penalised, Σ_i β_i = 0 at its best
value, and then every f gives a feasible point of the dual problem.  By Fenchel's inequality
L(u) ≥ conjugate(β) − ⟨β, u⟩, where for feasible β

    hinge          Σ y_i β_i                         0 ≤ y_i β_i ≤ c_i
    squared_hinge  Σ y_i β_i − β_i² / (4c_i)         0 ≤ y_i β_i
    logistic       Σ c_i H(y_i β_i / c_i)            0 ≤ y_i β_i ≤ c_i,  H the entropy in nats
    squared        Σ y_i β_i − β_i² / (4c_i)

With offsets o the loss is L(u − o), for which ⟨β, o⟩ is added to the conjugate.

Where the examples are in groups, each of which has an intercept of its own, the β of each group sum
to zero.

The hinge is smoothed for Newton's method: its corner becomes a parabola of width ν in the margin,
t²/(2ν) for t = 1 − y_i u_i from 0 to ν.  The objective and its bound are computed with the hinge
itself.  The squared losses are such parabolas of width ½ without an end.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np

from formulakern.arrays import FloatArray, IntArray

__all__ = ["LOSSES", "Expansion", "GroupedLoss", "Intercept", "Loss", "loss_of"]


LOSSES = ("hinge", "squared_hinge", "logistic", "squared")
#: Sums of dual variables below this share of Σ c_i count as zero while the intercept is sought.
BALANCED = 1e-14
#: Intercepts that differ by less, relative to 1 or to their size, are the same.
NEIGHBOURS = 2 * float(np.finfo(np.float64).eps)
#: Keeps a logarithm of zero finite where its factor is zero.
TINY = 1e-300
#: Keeps divisions by sums of dual variables finite.
LEAST = 1e-200

#: b, or where there are groups float64 (groups,).
Intercept: TypeAlias = float | FloatArray


class Expansion(NamedTuple):
    """Value, β = −∂L/∂u and second derivatives of a loss at some predictions."""

    value: float
    beta: FloatArray
    curvature: FloatArray


class Loss:
    """L(u) = Σ_i c_i ℓ(y_i, u_i), the corner of the hinge smoothed to the width ``width``.

    Parameters
    ----------
    name : {"hinge", "squared_hinge", "logistic", "squared"}
    y : float64 (m,)
        ±1, or any real numbers for "squared".
    c : float64 (m,)
        Positive.
    offset : float64 (m,), optional
        o, 0 by default.
    """

    #: The group of each example, where these have intercepts of their own.
    group: IntArray | None = None

    def __init__(
        self, name: str, y: FloatArray, c: FloatArray, offset: FloatArray | None = None
    ) -> None:
        self.name, self.y, self.c = name, y, c
        self.offset = np.zeros(len(y)) if offset is None else offset
        self.width, self.true_width = (1.0, 0.0) if name == "hinge" else (0.5, 0.5)

    def expand(self, u: FloatArray) -> Expansion:
        """Value, dual variables and curvature at u, float64 (m,); smoothed for the hinge."""
        c, y = self.c, self.y
        u = u - self.offset
        if self.name == "logistic":
            z = y * u
            share = 0.5 * (1 - np.tanh(z / 2))  # 1 / (1 + exp(z)), which cannot overflow
            value = float(c @ np.logaddexp(0, -z))
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

    def conjugate(self, beta: FloatArray, smoothed: bool = False) -> float:
        """min_u L(u) + ⟨β, u⟩ for feasible β; smoothed, of the loss as :meth:`expand` has it."""
        if self.name == "logistic":
            share = np.clip(self.y * beta / self.c, 0, 1)
            entropy = float(self.c @ (_entropy(share) + _entropy(1 - share)))
            return entropy + float(self.offset @ beta)
        width = self.width if smoothed else self.true_width
        linear = float((self.y + self.offset) @ beta)
        return linear - width / 2 * float(np.sum(beta**2 / self.c))

    def best_multiple(self, beta: FloatArray, square: float) -> float:
        """A multiple s ≥ 0 of β that makes conjugate(sβ) − s²·square/2 about as large as it can be.

        Any s (at most 1 for the hinge and the logistic loss) keeps β feasible.
        """
        if self.name == "logistic":
            share = np.clip(self.y * beta / self.c, 0, 1 - NEIGHBOURS)
            low, high, s = 0.0, 1.0, 1.0
            shift = float(self.offset @ beta)
            for _ in range(30):
                part = s * share
                logit = np.log1p(-part) - np.log(np.maximum(part, TINY))
                if float((self.c * share) @ logit) + shift > s * square:
                    if s == 1.0:
                        break
                    low = s
                else:
                    high = s
                s = (low + high) / 2
            return s
        linear = float((self.y + self.offset) @ beta)
        quadratic = square + self.true_width * float(np.sum(beta**2 / self.c))
        if linear <= 0:
            return 0.0
        best = linear / quadratic if quadratic > 0 else 1.0
        return min(1.0, best) if self.name == "hinge" else best

    def balanced(self, beta: FloatArray) -> FloatArray:
        """β with the larger of its positive and negative parts shrunk, so that it sums to zero."""
        up, down = float(beta[beta > 0].sum()), float(-beta[beta < 0].sum())
        least = min(up, down)
        return beta * np.where(beta > 0, least / max(up, LEAST), least / max(down, LEAST))

    def intercept(self, u: FloatArray, start: Intercept) -> tuple[Intercept, Expansion]:
        """The b that minimises L(u − b), smoothed, so that Σ_i β_i = 0; by a guarded Newton method.

        Parameters
        ----------
        u : float64 (m,)
        start : float
        """
        if self.name == "squared":
            b = float(self.c @ (u - self.offset - self.y) / self.c.sum())
            return b, self.expand(u - b)
        b, step = float(start), 1.0
        low, high = -np.inf, np.inf
        scale = BALANCED * float(self.c.sum())
        for _ in range(200):
            here = self.expand(u - b)
            slope = float(here.beta.sum())
            if abs(slope) <= scale:
                break
            low, high = (low, b) if slope > 0 else (b, high)
            bend = float(here.curvature.sum())
            following = b - slope / bend if bend > 0 else np.nan
            if np.isinf(low) or np.isinf(high):
                if not abs(following - b) <= step:
                    following = b - step if slope > 0 else b + step
                step *= 2
            elif not low < following < high:
                following = (low + high) / 2
            last, b = b, following
            if abs(b - last) <= NEIGHBOURS * max(1.0, abs(b)):
                break
        return b, here

    def true_intercept(self, u: FloatArray, smooth: Intercept) -> tuple[Intercept, float]:
        """The b that minimises L(u − b) without smoothing, and the value there; O(m log m)."""
        if self.name != "hinge":
            return smooth, self.expand(u - smooth).value
        corners = u - self.offset - self.y
        order = np.argsort(corners, kind="stable")
        slopes = np.cumsum(self.c[order])
        negative = float(self.c[self.y < 0].sum())
        place = min(int(np.searchsorted(slopes, negative)), len(order) - 1)
        b = float(corners[order[place]])
        return b, float(self.c @ np.maximum(0, 1 - self.y * (u - self.offset - b)))


class GroupedLoss(Loss):
    """L(u) where example i, of group k_i, is predicted u_i − b_k: an intercept for each group.

    Parameters
    ----------
    name, y, c, offset
        As for :class:`Loss`.
    group : int64 (m,)
        k, from 0.
    """

    def __init__(
        self, name: str, y: FloatArray, c: FloatArray, offset: FloatArray | None, group: IntArray
    ) -> None:
        super().__init__(name, y, c, offset)
        self.group = group
        self.members = [np.flatnonzero(group == k) for k in range(int(group.max()) + 1)]
        self.parts = [Loss(name, y[at], c[at], self.offset[at]) for at in self.members]

    def balanced(self, beta: FloatArray) -> FloatArray:
        """β with a part of each group shrunk, so that each sums to zero."""
        found = beta.copy()
        for at, part in zip(self.members, self.parts, strict=True):
            found[at] = part.balanced(beta[at])
        return found

    def intercept(self, u: FloatArray, start: Intercept) -> tuple[FloatArray, Expansion]:
        """The b of all groups, float64 (groups,), as :meth:`Loss.intercept` finds one."""
        b = np.array(np.broadcast_to(start, len(self.parts)), dtype=np.float64)
        for k, (at, part) in enumerate(zip(self.members, self.parts, strict=True)):
            part.width = self.width
            b[k], _ = part.intercept(u[at], b[k])
        return b, self.expand(u - b[self.group])

    def true_intercept(self, u: FloatArray, smooth: Intercept) -> tuple[FloatArray, float]:
        """The b of all groups without smoothing, and the value there."""
        b = np.array(smooth, dtype=np.float64)
        if self.name != "hinge":
            return b, self.expand(u - b[self.group]).value
        value = 0.0
        for k, (at, part) in enumerate(zip(self.members, self.parts, strict=True)):
            b[k], more = part.true_intercept(u[at], b[k])
            value += more
        return b, value


def loss_of(
    name: str,
    y: FloatArray,
    c: FloatArray,
    offset: FloatArray | None = None,
    group: IntArray | None = None,
) -> Loss:
    """The loss with an intercept for each group, or with one where there are no groups."""
    return Loss(name, y, c, offset) if group is None else GroupedLoss(name, y, c, offset, group)


def _entropy(share: FloatArray) -> FloatArray:
    return -share * np.log(np.maximum(share, TINY))
