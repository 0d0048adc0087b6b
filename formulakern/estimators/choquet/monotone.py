"""Support vector machines whose 2-additive set function is monotone.

The features of a row are its entries xᵢ and, for k = 2, the minima min(xᵢ, xⱼ); their weights are
the Möbius transform m of a set function μ.  It is monotone if and only if, for every column i and
every set B of others, mᵢ + Σ mᵢⱼ over j ∈ B is at least 0.  The set of all j with negative mᵢⱼ
gives the strongest constraint.  Violated constraints are added to a quadratic program, which is
solved again until none is violated.  Raising mᵢ makes any m monotone: the value of this m is an
upper bound of the optimum, the dual value is a lower bound, and their difference is the duality
gap.
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

#: The most rounds of constraints, and the most interior-point steps of a round.
MAX_ROUNDS, MAX_STEPS = 100, 100
#: The fraction of the way to the boundary that a step takes.
STEP_SHARE = 0.995


@dataclass(frozen=True, eq=False)
class Losses:
    """Hinge losses Cᵢ·max(0, tᵢ − sᵢ·(⟨m, φ(xᵢ)⟩ + b)) of some rows, with sign, target and C."""

    rows: np.ndarray[tuple[int], np.dtype[np.intp]]
    sign: FloatArray
    target: FloatArray
    C: FloatArray

    def value(self, scores: FloatArray) -> float:
        """Return the sum of the losses for the scores ⟨m, φ(xᵢ)⟩ + b of all rows."""
        return float(self.C @ np.maximum(0.0, self.target - self.sign * scores[self.rows]))


class MonotoneModel(NamedTuple):
    """The Möbius transform m of a monotone set function, of columns and of pairs, and an intercept.

    The objective is ‖m‖² / (2·weight) + Σ losses, and ``gap`` bounds its excess over the optimum as
    a share of it.  ``rounds`` is the number of quadratic programs that were solved.
    """

    moebius: FloatArray
    intercept: float
    objective: float
    gap: float
    rounds: int


@dataclass(frozen=True, eq=False)
class MonotoneProblem:
    """The training problems, each of degrees and losses, one for each pair of classes."""

    parts: Sequence[tuple[FloatArray, Losses]]
    additivity: int
    weight: float
    labels: Any = None

    def solve(self, limits: Limits, factor: float = 1.0, **_: Any) -> tuple[Any, None]:
        """Solve the problems with C times a factor; return (labels, models), and no warm start."""
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

    ``rows`` are degrees in [0, 1], the kernel is weight·⟨φ(x), φ(z)⟩, and ``tol`` is the relative
    duality gap at which to stop.  A round solves the dual by a primal-dual interior-point method.
    With p features and l losses a step costs O((l + constraints)·p²).  A round has about twenty
    steps, and there are mostly fewer than ten rounds.
    """
    n = rows.shape[1]
    features = pair_features(rows, additivity) * weight**0.5
    data = losses.sign[:, None] * features[losses.rows]
    constraints = np.eye(n, features.shape[1])  # mᵢ ≥ 0, of the empty B
    best = np.inf, constraints[0], 0.0  # the objective, m and b
    bound, gap, rounds = -np.inf, np.inf, 0
    least = 1e-9 * float(losses.C @ (1.0 + np.abs(losses.target)))  # the least objective in a gap
    while rounds < MAX_ROUNDS:
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
    """Return the weights of pairs as a symmetric matrix."""
    found = np.zeros((n, n))
    if len(m) > n:
        found[np.triu_indices(n, 1)] = m[n:]
    return found + found.T


def _violated(m: FloatArray, n: int) -> FloatArray:
    """Return the strongest constraint of each column, if it is violated."""
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
    """Minimise ‖Zᵀu‖²/2 − ⟨target, u⟩ over 0 ≤ u ≤ upper with ⟨e, u⟩ = 0; return u and b.

    The method is Mehrotra's predictor-corrector.  Its linear systems are reduced to p + 1
    unknowns: the weights Zᵀu, and the multiplier of the constraint, which is the intercept b.
    """
    boxed = np.isfinite(upper)
    largest = float(upper[boxed].max())  # the unknown is u / largest
    Z = np.column_stack([Z * largest**0.5, e])
    room = np.where(boxed, upper / largest, 1.0) / 2
    u = room.copy()
    w = np.append(Z.T[:-1] @ u, 0.0)  # the weights and the multiplier
    slope = Z @ w - target
    start = 1.0 + np.abs(slope).max()
    z, v = np.full(len(u), start), np.where(boxed, start - slope, 0.0)
    z, v = z + np.maximum(0.0, -v), v + np.maximum(0.0, -v)

    def newton(to_z: Any, to_v: Any) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the changes of u, w, z and v that bring z·u and v·room to the given values."""
        change_z, change_v = to_z - z * u, np.where(boxed, to_v - v * room, 0.0)
        right = -dual + change_z / u - change_v / room
        dw = scipy.linalg.cho_solve(factor, Z.T @ (inverse * right) + primal)
        du = inverse * (right - Z @ dw)
        return du, dw, (change_z - z * du) / u, np.where(boxed, (change_v + v * du) / room, 0.0)

    def longest(du: FloatArray, dz: FloatArray, dv: FloatArray) -> float:
        """Return the longest step up to 1 / STEP_SHARE that makes nothing negative."""
        values = np.concatenate([u, z, room[boxed], v[boxed]])
        changes = np.concatenate([du, dz, -du[boxed], dv[boxed]])
        falling = changes < 0
        return float((-values[falling] / changes[falling]).min(initial=1.0 / STEP_SHARE))

    for _ in range(MAX_STEPS):
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
        except np.linalg.LinAlgError:  # the limit of float64
            break
        du, dw, dz, dv = newton(0.0, 0.0)
        length = longest(du, dz, dv)
        ahead = float(
            (z + length * dz) @ (u + length * du) + (v + length * dv) @ (room - length * du * boxed)
        )
        aim = mean * (ahead / count / mean) ** 3
        du, dw, dz, dv = newton(aim - du * dz, aim + du * dv)
        length = min(1.0, STEP_SHARE * longest(du, dz, dv))
        u, w, z, v = u + length * du, w + length * dw, z + length * dz, v + length * dv
        room = room - length * du * boxed
    for sign, more in ((1.0, float(e @ u)), (-1.0, -float(e @ u))):
        if more > 0:  # shrink the heavier side, so that ⟨e, u⟩ = 0
            side = e * sign > 0
            u[side] *= 1.0 - more / float(u[side] @ (e * sign)[side])
    return u * largest, float(w[-1])
