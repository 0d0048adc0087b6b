"""Hierarchical kernel learning of several classes together, by the multinomial logistic loss.

Every class k has a function s_k = Σ_w f_kw φ_w + b_k, and

    minimise  ½ Σ_k Ω(f_k)²  +  C Σ_i s_i (ln Σ_k e^{s_k(x_i)} − s_{y_i}(x_i)).

*One class at a time.*  Where the other functions are fixed, the loss of row i is, up to a constant,
ln(1 + e^{∓(s_k − o_i)}) with the offset o_i = ln Σ_{j≠k} e^{s_j(x_i)}, the sign that of [y_i = k].
So each step is a problem of two classes (:mod:`.active_set`), which starts from its last solution.

*Certificate.*  With p_i the probabilities of row i and β_ik = C s_i ([y_i = k] − p_ik), every
function obeys, by Fenchel's inequality and for t from 0 to 1,

    optimum  ≥  Σ_i C s_i H((1 − t) [y_i = ·] + t p_i)  −  t²/2 Σ_k Ω*(β_k)²,

H the entropy, if the sums of β_k over the rows are zero, as they are for the best intercepts.  Each
dual norm is bounded over the whole lattice as for two classes (:mod:`.frontier`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from formulakern.arrays import FloatArray
from formulakern.encoding.packed import PackedTable
from formulakern.learning.hkl.active_set import (
    GrownSolution,
    GrowthStep,
    grow_hierarchical,
    relative_gap,
)
from formulakern.learning.hkl.frontier import Frontier, Node
from formulakern.learning.hkl.problem import HierarchicalModel, joined_examples, shortened
from formulakern.solvers.hierarchical.norm import read_nodes

__all__ = ["learn_together"]

#: Rounds over all classes at most; a round is slow that gains less than this share of ``tol``.
SWEEPS, SLOW = 30, 0.2
#: The share of the tolerance for the problem of one class, and for rules that are dropped.
INNER, DROPPED = 0.3, 0.3
#: Newton steps for the intercepts, and steps and tolerance for dual norms.
INTERCEPTS, DUAL_STEPS, DUAL_TOL = 50, 200, 1e-3
#: Sources that are looked for outside the nodes of a class, at most, where only a bound is wanted.
MANY = 1 << 30


def learn_together(
    table: PackedTable,
    kind: NDArray[np.intp],
    codes: NDArray[np.intp],
    weights: FloatArray,
    options: dict[str, Any],
    *,
    tol: float,
    max_nodes: int,
    time_limit: float | None,
    start: Sequence[GrownSolution],
    report: Callable[[int, GrowthStep], None],
    others: FloatArray,
) -> tuple[list[HierarchicalModel], float, float]:
    """The functions of all classes, the objective, and a lower bound on the optimum.

    Parameters
    ----------
    table, kind, weights, options, max_nodes, others
        As for :func:`.problem.learn`.
    codes : intp (m,)
        The class of each example, from 0; every class has some.
    tol : float
        The relative duality gap to reach.
    time_limit : float, optional
        Seconds.
    start : sequence of GrownSolution
        One for each class, or none.
    report : callable
        Called with the class and every step of its problems.

    Returns
    -------
    models : list of HierarchicalModel
        One for each class; their objectives and bounds are those of their last problems.
    objective, lower_bound : float
    """
    deadline = None if time_limit is None else time.perf_counter() + time_limit
    K = int(codes.max()) + 1
    kind, y, weights, others = joined_examples(kind, codes.astype(np.float64), weights, others)
    codes = y.astype(np.intp)
    signs = np.where(codes[:, None] == np.arange(K), 1.0, -1.0)
    c = options["C"] * weights
    known = _Known(table, kind, codes, c, others, options)
    grown: list[GrownSolution | None] = [*start] if len(start) == K else [None] * K
    shares = np.bincount(codes, weights, K) / weights.sum()
    scores = np.tile(np.log(shares), (len(codes), 1))
    for k, before in enumerate(grown):
        if before is not None:
            scores[:, k] = known.values(before)
    objective, bound = np.inf, 0.0

    def left(parts: int = 1) -> float | None:
        return None if deadline is None else max(0.0, deadline - time.perf_counter()) / parts

    for _ in range(SWEEPS):
        for k in range(K):
            one = grow_hierarchical(
                table,
                signs[:, k],
                **options,
                sample_weight=weights,
                kind=kind,
                others=others,
                offset=_offset(scores, k),
                tol=INNER * tol,
                max_nodes=max_nodes,
                time_limit=left(K - k),
                start=grown[k],
                report=partial(report, k),
            )
            grown[k] = one
            scores[:, k] = known.values(one)
            if one.status == "interrupted":
                deadline = time.perf_counter()
        done: list[GrownSolution] = [one for one in grown if one is not None]
        before = objective
        penalty = 0.5 * sum(one.solution.norm**2 for one in done)
        objective = penalty + _loss(scores, codes, c)
        slow = objective > before * (1 - SLOW * tol)
        if slow or left() == 0:
            bound = max(bound, known.lower_bound(done, scores, tol * objective, deadline))
            certified = relative_gap(objective, bound) <= (1 - DROPPED) * tol
            if certified or left() == 0 or objective > before * (1 - SLOW**2 * tol):
                break
    goal = max(bound / (1 - tol), objective * (1 + DROPPED * tol))
    room = max(0.0, goal - objective) / K
    models: list[HierarchicalModel] = []
    penalty = 0.0
    for k, last in enumerate(done):
        offset = _offset(scores, k)
        now = 0.5 * last.solution.norm**2 + _two(signs[:, k] * (scores[:, k] - offset), c)
        model = shortened(
            last, table, kind, signs[:, k], weights, options, others, now + room, offset
        )
        scores[:, k] = known.sums(model.rules, model.weights) + model.bias
        penalty += model.objective - _two(signs[:, k] * (scores[:, k] - offset), c)
        models.append(model)
    return models, penalty + _loss(scores, codes, c), bound


def _offset(scores: FloatArray, k: int) -> FloatArray:
    """ln Σ_{j≠k} e^{s_j} of every row."""
    return np.asarray(np.logaddexp.reduce(np.delete(scores, k, axis=1), axis=1))


def _two(margins: FloatArray, c: FloatArray) -> float:
    """Σ_i c_i ln(1 + e^{−z_i})."""
    return float(c @ np.logaddexp(0.0, -margins))


def _loss(scores: FloatArray, codes: NDArray[np.intp], c: FloatArray) -> float:
    """Σ_i c_i (ln Σ_k e^{s_ik} − s_{i,y_i})."""
    right = scores[np.arange(len(codes)), codes]
    return float(c @ (np.logaddexp.reduce(scores, axis=1) - right))


@dataclass(frozen=True, eq=False)
class _Known:
    """The examples, and what is the same for all classes.

    Attributes
    ----------
    table, kind, others, options
        As for :func:`learn_together`.
    codes : intp (m,)
    c : float64 (m,)
        C times the weights.
    """

    table: PackedTable
    kind: NDArray[np.intp]
    codes: NDArray[np.intp]
    c: FloatArray
    others: FloatArray
    options: dict[str, Any]

    def columns(self, forms: Sequence[Node | int]) -> FloatArray:
        """Features on the examples, one a row."""
        nodes = [form for form in forms if isinstance(form, tuple)]
        rows = iter(self.table.truths(self.table.covers(nodes))[:, self.kind])
        listed = [self.others[:, f] if isinstance(f, int) else next(rows) for f in forms]
        return np.array(listed, dtype=np.float64).reshape(len(forms), len(self.kind))

    def sums(self, forms: Sequence[Node | int], weights: FloatArray) -> FloatArray:
        """A weighted sum of features on the examples."""
        return np.asarray(weights @ self.columns(forms))

    def values(self, grown: GrownSolution) -> FloatArray:
        """The function of one class on the examples."""
        solution = grown.solution
        return self.sums([*grown.nodes, *grown.others], solution.weights) - solution.intercept

    def lower_bound(
        self,
        grown: Sequence[GrownSolution],
        scores: FloatArray,
        allowed: float,
        deadline: float | None,
    ) -> float:
        """A lower bound on the optimum, from the probabilities; 0 where none is found.

        ``allowed`` is what the search outside the nodes may cost.
        """
        right = self.codes[:, None] == np.arange(scores.shape[1])
        chances = _balanced(scores, right, self.c)
        if chances is None:
            return 0.0
        beta = self.c[:, None] * (right - chances)
        slack = allowed / len(grown)
        parts = zip(grown, beta.T, strict=True)
        square = sum(self.square(one, column, slack, deadline) for one, column in parts)
        if not np.isfinite(square):
            return 0.0

        def bound(t: float) -> float:
            mixed = (1 - t) * right + t * chances
            entropy = -np.sum(mixed * np.log(np.maximum(mixed, 1e-300)), axis=1)
            return float(self.c @ entropy) - 0.5 * t**2 * square

        found = minimize_scalar(lambda t: -bound(t), bounds=(0, 1), method="bounded")
        rounding = 1e-12 * float(np.abs(beta).sum() + square)
        return max(bound(1.0), bound(float(found.x))) - rounding

    def square(
        self, grown: GrownSolution, beta: FloatArray, slack: float, deadline: float | None
    ) -> float:
        """A bound on Ω*(β)² over the whole lattice and the other features."""
        rho, a = self.options["rho"], self.options["depth_penalty"]
        penalty = self.options["other_penalty"]
        lattice = read_nodes(grown.nodes, rho=rho, depth_penalty=a)
        lattice = lattice.with_others(len(grown.others), penalty)
        g = self.columns([*grown.nodes, *grown.others]) @ beta
        eta = 1 / lattice.penalties
        eta = 0.5 * eta / eta.sum() + 0.5 * lattice.shares(grown.solution.weights)
        inside = lattice.dual_norm(g, eta, tol=DUAL_TOL, steps=DUAL_STEPS).upper ** 2
        net = np.bincount(self.kind, beta, self.table.n_rows).astype(np.float64)
        used = np.flatnonzero(net)
        frontier = Frontier(self.table.take(used), net[used], grown.nodes, rho, a, deadline)
        outside, _ = frontier.examine(inside + slack, MANY, inside)
        beyond = float(np.abs(beta @ self.others).max(initial=0.0)) / penalty
        return float(max(inside, outside, beyond**2))


def _balanced(scores: FloatArray, right: NDArray[np.bool_], c: FloatArray) -> FloatArray | None:
    """Probabilities by the best intercepts: each class has its share of them.

    None where rounding does not allow for that.
    """
    K = scores.shape[1]
    goal = c @ right
    shift = np.zeros(K)
    for _ in range(INTERCEPTS):
        logs = scores + shift
        chances = np.exp(logs - np.logaddexp.reduce(logs, axis=1)[:, None])
        lack = goal - c @ chances
        if np.abs(lack).max() <= 1e-13 * goal.sum():
            break
        curvature = np.diag(c @ chances) - (c[:, None] * chances).T @ chances
        curvature += np.full((K, K), goal.sum() / K**2)  # a common shift changes nothing
        shift += np.clip(np.linalg.solve(curvature, lack), -2, 2)
    room = c * chances.min(axis=1)
    most = int(room.argmax())
    if not room[most] > np.abs(lack).max():
        return None
    chances[most] += lack / c[most]  # what rounding has left
    return np.asarray(chances)
