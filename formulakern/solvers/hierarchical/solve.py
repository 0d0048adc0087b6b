"""Hierarchical kernel learning over a given set of conjunctions, with a certificate.

For a family W of sets that is closed under subsets, a 0/1 column φ_w for each of its members,
penalties d_v = a^|v| and 1 < ρ ≤ 2,

    P = min over f, b of   ½ Ω(f)² + C Σ_i s_i ℓ(y_i, Σ_w f_w φ_w(x_i) − b),
    Ω(f) = Σ_v d_v ‖f_{D(v)}‖_ρ,    D(v) the members of W that contain v.

*The lower bound.*  For β with Σ_i β_i = 0 Fenchel's inequality gives, with g_w = Σ_i β_i φ_w(x_i),

    P  ≥  min_u [L(u) + ⟨β, u⟩] + min_f [½ Ω(f)² − ⟨f, g⟩]  =  L°(β) − ½ Ω*(g)²,

where L° are the conjugates listed in :mod:`formulakern.solvers.hierarchical.losses`.  Every f has
such a β: minus the derivative of the loss at its best intercept.  Ω* is bounded from above by any
split of g over the groups (:mod:`formulakern.solvers.hierarchical.norm`), and β is scaled by the
best multiple, so the reported bound does not depend on the iteration.

*Groups and signs.*  If each group of examples has its own intercept, the β of each group sum to
zero.  If weights must be at least, or at most, 0, values of g with the wrong sign are set to 0.

*The iteration.*  Ω(f)² is the least value of Σ_w f_w²/κ_w over a convex set of κ, attained in
closed form.  For given κ the problem is a ridge problem, and κ follows from its f: majorisation and
minimisation, each round of which lowers the objective.  Four things make it fast.  A round starts
Newton's method (:mod:`formulakern.solvers.hierarchical.newton`) at the end of the last one.  The
logarithms of κ are extrapolated.  A κ_w that vanished although the dual solution has g_w ≠ 0 is set
to a share, which falls with the gap, of the κ_w that attains Ω*(g).  Equal columns are merged in
the ridge problem, as are equal rows.

*Several functions.*  With the multinomial loss each class k has its own function, and the problem
is ½ Σ_k Ω_k(f_k)² + L(u_1, …, u_K).  All of the above applies: Ω*(g)² becomes Σ_k Ω_k*(g_k)².
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray, IntArray, different_rows
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.solvers.blas import one_thread
from formulakern.solvers.hierarchical.losses import Loss, loss_of
from formulakern.solvers.hierarchical.newton import (
    Columns,
    Functions,
    Point,
    minimise_ridge,
    point,
)
from formulakern.solvers.hierarchical.norm import Lattice, right_signed

#: The power of the last change of κ that is added to it; 0 is plain majorisation.
MOMENTUM = 0.6
#: The least κ, as a share of the κ at which the dual norm is attained; or the gap, if that is less,
#: because weights that κ keeps too large leave a gap of about this share.
LIFT = 0.03
#: The share of the gap that the smoothing of the hinge may cost.
SMOOTHING = 0.2
#: Newton steps of one round, and the first and the largest number of steps for the dual norm.
NEWTON_STEPS, DUAL_STEPS, MAX_DUAL_STEPS = 30, 60, 5000
#: Keeps divisions by κ finite.
MIN_DIVISOR = 1e-200


class Features(NamedTuple):
    """The features of one function: the nodes of a lattice, and others.

    Parameters
    ----------
    lattice : Lattice
        The lattice of n nodes, and e other features.
    bits : bool (n, m)
        φ_w(x_i) of the nodes.
    others : float64 (e, m)
    signs : int64 (n + e,), optional
        For the weights: 1 for at least 0, −1 for at most 0, 0 for free.
    """

    lattice: Lattice
    bits: npt.NDArray[np.bool_]
    others: FloatArray
    signs: IntArray | None = None


def _merged(
    functions: Sequence[Features], loss: Loss, deadline: Deadline
) -> tuple[Columns | Functions, IntArray, Loss, IntArray, IntArray | None]:
    """Merge equal rows of equal labels and groups, and equal columns of weights of equal signs.

    Returns the columns, the column of each feature, the loss of the rows, the row of each example,
    and the signs of the columns.
    """
    exact = np.column_stack([loss.y, loss.group, *(one.others.T for one in functions)])
    exact = np.ascontiguousarray(exact + 0.0)  # no negative zeros
    bits = [np.packbits(one.bits, axis=0).T for one in functions]
    keys = np.concatenate([*bits, exact.view(np.uint8)], axis=1)
    rows, row = different_rows(np.ascontiguousarray(keys))
    total = np.bincount(row, loss.c).astype(np.float64)
    parts, kinds, signs, size = [], [], [], 0
    for one in functions:
        kept, n = np.ascontiguousarray(one.bits[:, rows]), len(one.bits)
        keys = np.packbits(kept, axis=1)
        if one.signs is not None:
            keys = np.column_stack([keys, (one.signs[:n] + 1).astype(np.uint8)])
        first, kind = different_rows(np.ascontiguousarray(keys))
        others = np.ascontiguousarray(one.others[:, rows])
        parts.append(Columns(kept[first].view(np.uint8), others, deadline))
        kinds.append(size + np.append(kind, len(first) + np.arange(len(others))))
        size += len(parts[-1])
        if one.signs is not None:
            signs.append(np.append(one.signs[:n][first], one.signs[n:]))
    return (
        parts[0] if loss.n_functions == 1 else Functions(parts),
        np.concatenate(kinds),
        loss_of(loss.name, loss.y[rows], total, loss.group[rows]),
        row,
        np.concatenate(signs) if signs else None,
    )


@dataclass(frozen=True, eq=False)
class HierarchicalSolution:
    """The best functions found, with a bound on the optimum.

    ``weights`` are f of each function, float64 (n + e,); a prediction is Σ_w f_w φ_w(x) − b.
    ``dual`` is β, float64 (m,) or (m, K), with sum 0 over each group.  ``squares`` are upper bounds
    on Ω*(g)² of each function, and ``certificates`` the η that prove them.
    """

    weights: list[FloatArray]
    intercept: FloatArray
    objective: float
    lower_bound: float
    dual: FloatArray
    squares: list[float]
    certificates: list[FloatArray]
    iterations: int
    status: str


def relative_gap(objective: float, bound: float) -> float:
    """Return (objective − bound) / objective, or 0 if no gain is possible."""
    return max(0.0, (objective - bound) / objective) if objective > 0 else 0.0


def solve_hierarchical(
    functions: Sequence[Features],
    loss: Loss,
    *,
    tol: float,
    start: tuple[Sequence[FloatArray], FloatArray] | None = None,
    max_iter: int = 2000,
    deadline: Deadline = UNLIMITED,
) -> HierarchicalSolution:
    """Solve the problem on given features to a relative duality gap.

    A round costs O(mn) and O(pairs), pairs = Σ_w 2^|w|.  A Newton step solves one linear system, of
    the size of the columns that still matter or, if fewer, of the rows with curvature.  The memory
    is two copies of the columns, one byte per entry, and blocks of 32 MiB.

    References
    ----------
    F. Bach, "High-dimensional non-linear variable selection through hierarchical kernel learning",
    2009, arXiv:0909.0844 (ρ = 2).  P. Jawanpuria, J. S. Nath, G. Ramakrishnan, "Generalized
    hierarchical kernel learning", JMLR 16, 2015 (1 < ρ ≤ 2).
    """
    search = _Search(functions, loss, start, tol, max_iter, deadline)
    with one_thread():
        while not (finished := search.advance()) and not deadline.over():
            pass
    status = "iteration_limit" if finished else "time_limit"
    return search.solution("optimal" if search.gap <= tol else status)


class _Search:
    """The state of the iteration, and the best f and β so far; all functions in one vector."""

    def __init__(
        self,
        functions: Sequence[Features],
        loss: Loss,
        start: tuple[Sequence[FloatArray], FloatArray] | None,
        tol: float,
        max_iter: int,
        deadline: Deadline,
    ) -> None:
        merged = _merged(functions, loss, deadline)
        self.columns, self.kind, self.loss, self.row, self.column_signs = merged
        self.part = loss.c / self.loss.c[self.row]  # the share of an example in its row's weight
        self.tol, self.max_iter, self.deadline = tol, max_iter, deadline
        self.lattices = [one.lattice for one in functions]
        self.ends = np.cumsum([len(lattice) for lattice in self.lattices])[:-1]
        signs = self.column_signs
        self.signs = None if signs is None else signs[self.kind]  # of the features
        cold = [1 / lattice.penalties**2 for lattice in self.lattices]
        cold = [one / one.sum() for one in cold]
        b, self.scales = self.loss.cold, np.concatenate(cold)
        f = np.zeros(len(self.scales))
        if start is not None:
            given = right_signed(np.concatenate(start[0]), self.signs)
            if given.any():
                f, b = given, start[1]
                self.loss.width /= 8 if loss.name == "hinge" else 1
                near = zip(self._scales_at(f), cold, self._parts(f), strict=True)
                self.scales = np.concatenate(
                    [0.9 * at + 0.1 * one if own.any() else one for at, one, own in near]
                )
        self.scales = np.maximum(self.scales, MIN_DIVISOR)
        joined = self._sums_by_column(f)
        self.at: Point = point(self.columns, self.loss, joined, self.columns.predict(joined), b)
        self.last_scales: FloatArray | None = None
        self.etas = [1 / lattice.penalties for lattice in self.lattices]
        self.weights, self.intercept = f, b
        self.objective, self.lower, self.last_value = math.inf, 0.0, math.inf
        self.dual = np.zeros_like(self.at.expansion.beta)
        self.squares = [0.0] * len(self.lattices)
        self.certificates = [eta / eta.sum() for eta in self.etas]
        self.dual_steps, self.iterations, self.hidden = DUAL_STEPS, 0, False
        self.sharper = 1.0  # a factor of the accuracy of the ridge problems

    @property
    def gap(self) -> float:
        return relative_gap(self.objective, self.lower) if self.iterations else 1.0

    def _parts(self, values: FloatArray) -> list[FloatArray]:
        """Split values by the features of each function."""
        return np.split(values, self.ends)

    def _sums_by_column(self, values: FloatArray) -> FloatArray:
        """Return sums over the nodes of equal columns."""
        return np.bincount(self.kind, values, len(self.columns)).astype(np.float64)

    def _scales_at(self, f: FloatArray) -> list[FloatArray]:
        own = zip(self.lattices, self._parts(f), strict=True)
        return [lattice.scales(part) if part.any() else part for lattice, part in own]

    def advance(self) -> bool:
        """Solve the ridge problem, bound the optimum and choose the next κ."""
        joined = self._sums_by_column(self.scales)
        # the bound depends on errors of g to first order, which are the square root of this
        accuracy = self.sharper * 0.01 * max(self.gap, self.tol) ** 2
        self.at, steps = minimise_ridge(
            self.columns,
            joined,
            self.loss,
            self.at,
            tol=min(1e-3, max(accuracy, 1e-16)),
            max_steps=NEWTON_STEPS,
            deadline=self.deadline,
            signs=self.column_signs,
        )
        self.iterations += 1
        f = self.scales * (self.at.weights / joined)[self.kind]
        value, excess = self._upper(f)
        still = steps == 0 or abs(value - self.last_value) <= 1e-12 * value
        if still:  # the dual norm may be inexact, or the ridge problem
            self.dual_steps = min(2 * self.dual_steps, MAX_DUAL_STEPS)
            self.sharper /= 10
        dual_scales = self._lower(f, 0.0 if still else 0.5)
        if self.loss.name == "hinge" and excess > 0:
            wanted = SMOOTHING * max(self.gap, self.tol) * self.objective / excess
            if steps == 0:  # the rest of the gap may be due to smoothing
                wanted = min(0.5, wanted)
            if wanted < 1:  # reduce the smoothing
                self.loss.width *= max(0.25, wanted)
                at = self.at
                self.at = point(self.columns, self.loss, at.weights, at.predictions, at.intercept)
        self._rescale(f, dual_scales, value)
        stuck = self.hidden and steps == 0
        return stuck or self.gap <= self.tol or self.iterations == self.max_iter

    def _upper(self, f: FloatArray) -> tuple[float, float]:
        """Return the objective at f, and the cost of smoothing the loss."""
        u = self.at.predictions
        b, loss = self.loss.true_intercept(u, self.at.intercept)
        norms = [one.norm(own) for one, own in zip(self.lattices, self._parts(f), strict=True)]
        value = 0.5 * sum(norm**2 for norm in norms) + loss
        if value < self.objective:
            self.objective, self.weights, self.intercept = value, f, b
        beta = self.at.expansion.beta
        return value, loss - self.loss.conjugate(beta) + float(np.vdot(beta, u))

    def _lower(self, f: FloatArray, share: float) -> FloatArray:
        """Bound the objective from below by β at f; return the κ that attain the dual norms.

        The dual norms start from a mixture of their last η and this share of the η of f.
        """
        beta = self.loss.balanced(self.at.expansion.beta)
        self.hidden = not beta.any()  # smaller than rounding errors
        g = right_signed(self.columns.sums(beta)[self.kind], self.signs)
        duals = []
        each = zip(self.lattices, self._parts(f), self._parts(g), strict=True)
        for k, (lattice, weights, sums) in enumerate(each):
            last, own = self.etas[k] / self.etas[k].sum(), lattice.shares(weights)
            eta = (1 - share) * last + share * own
            duals.append(lattice.dual_norm(sums, eta, tol=0.02 * self.tol, steps=self.dual_steps))
        self.etas = [dual.eta for dual in duals]
        squares = [dual.upper**2 for dual in duals]
        multiple, bound = self.loss.bound(beta, sum(squares))
        if bound > self.lower:
            self.lower, self.dual, self.certificates = bound, multiple * beta, self.etas
            self.squares = [multiple**2 * square for square in squares]
        return np.concatenate([dual.scales for dual in duals])

    def _rescale(self, f: FloatArray, dual_scales: FloatArray, value: float) -> None:
        """Set κ from f, extrapolated; at least a share of the κ that attains the dual norm."""
        own = zip(self._scales_at(f), self._parts(f), self._parts(dual_scales), strict=True)
        scales = np.concatenate([at if part.any() else dual for at, part, dual in own])
        following = scales = np.maximum(scales, MIN_DIVISOR)
        if not f.any():
            self.scales = scales
            return
        if self.last_scales is not None and value <= self.last_value * (1 + self.tol):
            following = scales * np.clip(scales / self.last_scales, 0.01, 100.0) ** MOMENTUM
        self.last_scales, self.last_value = scales, value
        lift = min(LIFT, self.gap)
        self.scales = np.maximum(np.maximum(following, lift * dual_scales), MIN_DIVISOR)

    def solution(self, status: str) -> HierarchicalSolution:
        """Return the best solution found."""
        beta, part = self.dual[self.row], self.part
        return HierarchicalSolution(
            self._parts(self.weights),
            self.intercept,
            self.objective,
            self.lower,
            beta * (part if beta.ndim == 1 else part[:, None]),
            self.squares,
            self.certificates,
            self.iterations,
            status,
        )
