"""Support vector machines whose 2-additive set function is monotone.

The features of a row are its entries xᵢ and, for k = 2, the minima min(xᵢ, xⱼ); their weights are
the Möbius transform m of a set function μ.  It is monotone if and only if, for every column i and
every set B of others, mᵢ + Σ mᵢⱼ over j ∈ B is at least 0; most is asked where B holds the j of
negative mᵢⱼ.  So only sets that were violated once are constraints of a quadratic program, which is
solved again until none is.  Raising mᵢ to what is asked makes any m monotone: the value of this m
is at least the optimum, the dual value at most, and their difference is the duality gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from formulakern.arrays import FloatArray
from formulakern.estimators.choquet.set_function import pair_features
from formulakern.learning.kernel_machines import Limits

#: Rounds of constraints, and steps of an interior-point method within a round.
ROUNDS, STEPS = 100, 100
#: The part of the way to the boundary that a step goes.
FRACTION = 0.995


@dataclass(frozen=True, eq=False)
class Losses:
    """Hinge losses Cᵢ·max(0, tᵢ − sᵢ·(⟨m, φ(xᵢ)⟩ + b)) of some rows, with sign, target and C."""

    rows: np.ndarray[tuple[int], np.dtype[np.intp]]
    sign: FloatArray
    target: FloatArray
    C: FloatArray

    def value(self, scores: FloatArray) -> float:
        """Return their sum for the scores ⟨m, φ(xᵢ)⟩ + b of all rows."""
        return float(self.C @ np.maximum(0.0, self.target - self.sign * scores[self.rows]))


class MonotoneModel(NamedTuple):
    """The Möbius transform m of a monotone set function, of columns and of pairs, and an intercept.

    The objective ‖m‖² / (2·weight) + Σ losses exceeds the optimum at most by its share ``gap``;
    ``rounds`` quadratic programs were solved.
    """

    moebius: FloatArray
    intercept: float
    objective: float
    gap: float
    rounds: int


@dataclass(frozen=True, eq=False)
class MonotoneProblem:
    """The problems of degrees with losses, one for each pair of classes."""

    parts: Sequence[tuple[FloatArray, Losses]]
    additivity: int
    weight: float
    labels: Any = None

    def solve(self, limits: Limits, factor: float = 1.0, **_: Any) -> tuple[Any, None]:
        """Solve them with C times a factor: (labels, models), and nothing to begin another with."""
        given = self.additivity, self.weight, limits.tol
        models = [
            solve_monotone(rows, replace(losses, C=losses.C * factor), *given)
            for rows, losses in self.parts
        ]
        return (self.labels, models), None


def solve_monotone(
    rows: FloatArray, losses: Losses, additivity: int, weight: float, tol: float
) -> MonotoneModel:
    """Minimise ‖m‖² / (2·weight) + Σ losses over monotone m and all b.

    ``rows`` are degrees in [0, 1], ``weight`` that of the kernel weight·⟨φ(x), φ(z)⟩, ``tol`` the
    relative duality gap at which to stop.  A round is a primal-dual interior-point method on the
    dual, whose matrix has the rank of the number p of features: O((l + constraints)·p²) a step,
    some twenty steps, and mostly fewer than ten rounds.
    """
    n = rows.shape[1]
    features = pair_features(rows, additivity) * weight**0.5
    data = losses.sign[:, None] * features[losses.rows]
    constraints = np.eye(n, features.shape[1])  # B is empty: mᵢ ≥ 0
    best = np.inf, constraints[0], 0.0  # the objective, m and b
    bound, gap, rounds = -np.inf, np.inf, 0
    least = 1e-9 * float(losses.C @ (1.0 + np.abs(losses.target)))  # an objective of almost nothing
    while rounds < ROUNDS:
        rounds += 1
        both = np.vstack([data, constraints])
        filled = zip((losses.target, losses.sign, losses.C), (0.0, 0.0, np.inf), strict=True)
        target, e, C = (np.append(part, np.full(len(constraints), m)) for part, m in filled)
        dual, intercept = _interior_point(both, target, e, C, tol)
        multipliers = both.T @ dual
        value = losses.target @ dual[: len(data)] - multipliers @ multipliers / 2
        bound = max(bound, float(value))
        m = multipliers.copy()
        asked = _violated(m, n)
        m[:n] = np.maximum(m[:n], -np.minimum(_pairs(m, n), 0.0).sum(axis=1))
        reached = float(m @ m / 2 + losses.value(features @ m + intercept))
        if reached < best[0]:
            best = reached, m, intercept
        gap = max(0.0, best[0] - bound) / max(best[0], least)
        if gap <= tol or not len(asked):
            break
        constraints = np.unique(np.vstack([constraints, asked]), axis=0)
    objective, m, intercept = best
    moebius = np.zeros(n * (n + 1) // 2)
    moebius[: len(m)] = m * weight**0.5
    return MonotoneModel(moebius, intercept, objective, gap, rounds)


def _pairs(m: FloatArray, n: int) -> FloatArray:
    """The weights of pairs as a symmetric matrix."""
    found = np.zeros((n, n))
    if len(m) > n:
        found[np.triu_indices(n, 1)] = m[n:]
    return found + found.T


def _violated(m: FloatArray, n: int) -> FloatArray:
    """For each column the set of which most is asked, where that is not met."""
    negative = _pairs(m, n) < 0
    i, j = np.triu_indices(n, 1)
    found = np.eye(n, len(m))
    if len(m) > n:
        found[:, n:][j, np.arange(len(j))] = negative[j, i]
        found[:, n:][i, np.arange(len(i))] = negative[i, j]
    return found[found @ m < 0]


def _interior_point(
    Z: FloatArray, target: FloatArray, e: FloatArray, upper: FloatArray, tol: float
) -> tuple[FloatArray, float]:
    """Minimise ‖Zᵀu‖²/2 − ⟨target, u⟩ over 0 ≤ u ≤ upper with ⟨e, u⟩ = 0: u, and its multiplier.

    Mehrotra's predictor and corrector; p + 1 unknowns are left of its linear systems, the
    weights Zᵀu and the multiplier, which is the intercept b.
    """
    boxed = np.isfinite(upper)
    largest = float(upper[boxed].max())  # u / largest is what is found
    Z = np.column_stack([Z * largest**0.5, e])
    room = np.where(boxed, upper / largest, 1.0) / 2
    u = room.copy()
    w = np.append(Z.T[:-1] @ u, 0.0)  # and the multiplier
    slope = Z @ w - target
    start = 1.0 + np.abs(slope).max()
    z, v = np.full(len(u), start), np.where(boxed, start - slope, 0.0)
    z, v = z + np.maximum(0.0, -v), v + np.maximum(0.0, -v)

    def newton(to_z: Any, to_v: Any) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the changes of u, w, z and v that make z·u and v·room what is given."""
        change_z, change_v = to_z - z * u, np.where(boxed, to_v - v * room, 0.0)
        right = -dual + change_z / u - change_v / room
        dw = scipy.linalg.cho_solve(factor, Z.T @ (inverse * right) + primal)
        du = inverse * (right - Z @ dw)
        return du, dw, (change_z - z * du) / u, np.where(boxed, (change_v + v * du) / room, 0.0)

    def longest(du: FloatArray, dz: FloatArray, dv: FloatArray) -> float:
        """Return the longest step up to 1 / FRACTION for which nothing becomes negative."""
        values = np.concatenate([u, z, room[boxed], v[boxed]])
        changes = np.concatenate([du, dz, -du[boxed], dv[boxed]])
        falling = changes < 0
        return float((-values[falling] / changes[falling]).min(initial=1.0 / FRACTION))

    for _ in range(STEPS):
        dual = Z @ w - target - z + v  # the gradient of the Lagrangian
        primal = Z.T @ u - np.append(w[:-1], 0.0)
        count = len(u) + int(boxed.sum())
        mean = float(z @ u + v @ room) / count
        off = float(np.abs(dual) @ u + np.abs(primal) @ np.abs(w))
        if mean * count + off <= 1e-2 * tol * abs(float(target @ u)):
            break
        inverse = 1.0 / (z / u + v / room)
        inner = Z.T @ (Z * inverse[:, None])
        inner[np.diag_indices_from(inner)] += np.append(np.ones(len(w) - 1), 1e-14 * inner[-1, -1])
        try:
            factor = scipy.linalg.cho_factor(inner)
        except np.linalg.LinAlgError:  # as near as float64 comes
            break
        du, dw, dz, dv = newton(0.0, 0.0)
        length = longest(du, dz, dv)
        ahead = float(
            (z + length * dz) @ (u + length * du) + (v + length * dv) @ (room - length * du * boxed)
        )
        aim = mean * (ahead / count / mean) ** 3
        du, dw, dz, dv = newton(aim - du * dz, aim + du * dv)
        length = min(1.0, FRACTION * longest(du, dz, dv))
        u, w, z, v = u + length * du, w + length * dw, z + length * dz, v + length * dv
        room = room - length * du * boxed
    for sign, more in ((1.0, float(e @ u)), (-1.0, -float(e @ u))):
        if more > 0:  # the heavier side is made lighter: ⟨e, u⟩ = 0
            side = e * sign > 0
            u[side] *= 1.0 - more / float(u[side] @ (e * sign)[side])
    return u * largest, float(w[-1])
