"""The norm of hierarchical kernel learning over a finite lattice of sets, and its dual norm.

For a family W of finite sets that holds every subset of its members, d_v > 0 and 1 < ρ ≤ 2,

    Ω(f) = Σ_v d_v ‖f_{D(v)}‖_ρ,    D(v) the members of W that contain v.

*Variational form.*  By Hölder's inequality, for all η in the simplex {η ≥ 0, Σ_v η_v = 1},

    Ω(f)^ρ  ≤  Σ_v d_v^ρ η_v^{1−ρ} ‖f_{D(v)}‖_ρ^ρ  =  Σ_w ω_w(η) |f_w|^ρ,
    ω_w(η) = Σ_{v ⊆ w} d_v^ρ η_v^{1−ρ},

with equality at η_v = d_v ‖f_{D(v)}‖_ρ / Ω(f).  Similarly, with weights λ_v on D(v), Ω(f)² is the
least value of Σ_w f_w²/κ_w, 1/κ_w = Σ_{v ⊆ w} d_v²/(η_v λ_vw), attained at
λ_vw = (|f_w| / ‖f_{D(v)}‖_ρ)^{2−ρ}; then 1/κ_w = Ω(f) |f_w|^{ρ−2} Σ_{v ⊆ w} d_v ‖f_{D(v)}‖_ρ^{1−ρ}.

*Dual norm.*  Let 1/ρ + 1/ρ' = 1.  If g = Σ_v u^v with u^v zero outside D(v), then
⟨f, g⟩ ≤ Σ_v ‖f_{D(v)}‖_ρ ‖u^v‖_ρ' ≤ Ω(f) max_v ‖u^v‖_ρ'/d_v.  Splitting each g_w in proportion to
the terms of ω_w(η) gives for every η > 0

    Ω*(g)  ≤  max_v (d_v/η_v)^{ρ−1} ‖r_{D(v)}‖_ρ',    r_w = |g_w|/ω_w(η),

and from the variational form Ω*(g)^ρ' ≥ Σ_w ω_w r_w^ρ' (ρ' as an exponent).  The two bounds meet at
the best η, which the step η_v ← η_v · bound_v^{1/(ρ−1)} approaches.

*Features outside the lattice.*  A feature j that is not a conjunction adds d_j |f_j| to Ω.  It is
its own group, with itself as its only subset, and all of the above applies unchanged.

*Signs.*  If weights must be at least, or at most, 0, ⟨f, g⟩ is largest over Ω(f) ≤ 1 for g with
values of the wrong sign set to 0: Ω depends on |f| alone, and does not fall with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from formulakern.arrays import FloatArray, IntArray
from formulakern.errors import ParameterError

#: The smallest η that the dual norm uses: any positive value gives a valid bound.
MIN_ETA = 1e-14
#: Norms below this share of the largest |f_w| count as this share: keeps powers finite.
MIN_NORM_SHARE = 1e-120
#: The largest penalty of a node.
MAX_PENALTY = 1e60
#: The largest number of nodes whose inclusions are a dense matrix, for which BLAS is faster.
MAX_DENSE_NODES = 128


class DualNorm(NamedTuple):
    """Bounds on Ω*(g) = max {⟨f, g⟩ : Ω(f) ≤ 1}.

    ``eta`` is the point of the simplex that gives them; ``scales`` are κ_w at η and the best λ, for
    which Σ_w κ_w g_w² is at most Ω*(g)², and close to it.
    """

    lower: float
    upper: float
    eta: FloatArray
    scales: FloatArray


@dataclass(frozen=True, eq=False)
class Lattice:
    """A family of sets that is closed under subsets, and other features, with the norm Ω.

    Parameters
    ----------
    below : matrix (n, n)
        Z, which sums over the subsets v of each node w: Z_wv = 1 if v ⊆ w.  The n features are the
        nodes, and then those outside the lattice.
    penalties : float64 (n,)
        d.
    rho : float
    """

    below: Any
    penalties: FloatArray
    rho: float

    @classmethod
    def of(
        cls,
        nodes: Sequence[tuple[int, ...]],
        rho: float,
        depth_penalty: float,
        n_others: int = 0,
        other_penalty: float = 1.0,
    ) -> Lattice:
        """Return the lattice of sets with d_v = depth_penalty^|v|, and of other features.

        >>> Lattice.of([(), (0,)], 2.0, 2.0).norm(np.array([3.0, 4.0]))  # 1·√(3² + 4²) + 2·4
        13.0
        >>> Lattice.of([(), (0,)], 2.0, 2.0, 1, 0.5).norm(np.array([3.0, 4.0, -2.0]))  # + 0.5·2
        14.0
        """
        from scipy.sparse import csr_array

        depth = max(map(len, nodes))
        if depth * np.log(depth_penalty) > np.log(MAX_PENALTY):
            raise ParameterError(
                f"depth_penalty={depth_penalty!r} to the power {depth} exceeds {MAX_PENALTY:g}. "
                "Use a smaller penalty or shorter conjunctions."
            )
        index = {node: k for k, node in enumerate(nodes)}
        subsets = [
            [index[v] for size in range(len(w) + 1) for v in combinations(w, size)] for w in nodes
        ]
        subsets += [[len(nodes) + j] for j in range(n_others)]
        starts, ancestors = np.cumsum([0, *map(len, subsets)]), np.concatenate(subsets)
        below: Any = csr_array((np.ones(len(ancestors)), ancestors, starts))
        powers = [depth_penalty ** len(w) for w in nodes]
        penalties = np.array(powers + [other_penalty] * n_others, dtype=np.float64)
        return cls(below.toarray() if len(subsets) <= MAX_DENSE_NODES else below, penalties, rho)

    def __len__(self) -> int:
        """Return n."""
        return len(self.penalties)

    def group_norms(self, f: FloatArray) -> FloatArray:
        """Return ‖f_{D(v)}‖_ρ for every node v, float64 (n,); O(pairs)."""
        size = np.abs(f)
        largest = float(size.max())
        if largest == 0.0:
            return np.zeros(len(f))
        sums = self.below.T @ (size / largest) ** self.rho
        return np.asarray(largest * sums ** (1 / self.rho))

    def norm(self, f: FloatArray) -> float:
        """Return Ω(f)."""
        return float(self.penalties @ self.group_norms(f))

    def shares(self, f: FloatArray) -> FloatArray:
        """Return η_v = γ_v = d_v ‖f_{D(v)}‖_ρ / Ω(f), the best η for f (uniform if f is zero)."""
        parts = self.penalties * self.group_norms(f)
        total = float(parts.sum())
        return parts / total if total > 0 else np.full(len(f), 1 / len(f))

    def scales(self, f: FloatArray) -> FloatArray:
        """Return κ_w at the best η and λ for f: Σ_w f_w²/κ_w = Ω(f)², float64 (n,)."""
        size = np.abs(f)
        norms = np.maximum(self.group_norms(f), MIN_NORM_SHARE * float(size.max()))
        total = float(self.penalties @ norms)
        per_weight = self.below @ (self.penalties * norms ** (1 - self.rho))
        return np.asarray(size ** (2 - self.rho) / (total * per_weight))

    def dual_norm(self, g: FloatArray, eta: FloatArray, *, tol: float, steps: int) -> DualNorm:
        """Return bounds on Ω*(g) that differ by ``tol`` relative, or after ``steps`` steps.

        A step costs O(pairs) additions and O(n) powers; ``eta``, not negative, is the start.

        >>> lattice = Lattice.of([(), (0,)], 2.0, 2.0)
        >>> dual = lattice.dual_norm(np.array([3.0, 4.0]), np.ones(2), tol=1e-9, steps=500)
        >>> round(dual.lower, 6), round(dual.upper, 6)  # g = (3, 1) + (0, 3): √10 > 3/2
        (3.0, 3.0)
        """
        size = np.abs(g)
        n = len(size)
        if float(size.max()) == 0.0:
            return DualNorm(0.0, 0.0, np.full(n, 1 / n), np.zeros(n))
        rho, dual = self.rho, self.rho / (self.rho - 1)
        to_rho = self.penalties**rho
        to_less = self.penalties ** (rho - 1)
        highest, least_upper = 0.0, np.inf
        eta = np.maximum(eta / eta.sum(), MIN_ETA)
        for _ in range(max(1, steps)):
            eta /= eta.sum()
            power = eta ** (1 - rho)
            omega = self.below @ (to_rho * power)
            ratio = size / omega
            largest = float(ratio.max())
            terms = (ratio / largest) ** dual
            bounds = to_less * power * largest * (self.below.T @ terms) ** (1 / dual)
            upper = float(bounds.max())
            mass = float(omega @ terms)
            highest = max(highest, largest * mass ** (1 / dual))
            if upper <= least_upper:
                least_upper, best = upper, (eta, largest, mass, omega * terms)
            if least_upper - highest <= tol * least_upper:
                break
            eta = np.maximum(eta * (bounds / upper) ** (1 / (rho - 1)), MIN_ETA)
        eta, largest, mass, parts = best
        scales = np.zeros(n)
        factor = largest**2 * mass ** (2 / dual - 1)
        np.divide(factor * parts, size**2, out=scales, where=size > 0)
        return DualNorm(min(highest, least_upper), least_upper, eta, scales)


def right_signed(values: FloatArray, signs: IntArray | None) -> FloatArray:
    """Return values with 0 in place of those of the wrong sign.

    A sign is 1 for values of at least 0, −1 for values of at most 0, 0 for any; None frees all.

    >>> right_signed(np.array([1.0, -2.0, 3.0]), np.array([1, 1, -1]))
    array([1., 0., 0.])
    """
    return values if signs is None else np.where(values * signs < 0, 0.0, values)
