"""Hierarchical kernel learning over all conjunctions, by a set of nodes that grows until proof.

The solver of :mod:`formulakern.solvers.hierarchical` works on a family W closed under subsets.  Its
dual variables β bound the problem over the whole lattice too.  Let g_w = Σ_i β_i φ_w(x_i).  For
every w outside W split g_w over its subsets v outside W in proportion to d_v = a^|v|.  If t is a
source (t is not in W, all its proper subsets are), then for every v ⊇ t

    ‖u^v‖_ρ' / d_v  ≤  ‖r_t‖_ρ',    r_t(w) = |g_w| / (a^|t| (1 + a)^(|w| − |t|)),  w ⊇ t,

because Σ {d_v : t ⊆ v ⊆ w} = a^|t| (1 + a)^(|w| − |t|).  So the dual norm over the whole lattice is
at most the larger of that over W and of max_t ‖r_t‖_ρ', which gives a lower bound on the optimum
over all 2^p conjunctions.

*How a source is bounded.*  One exact search lists all conjunctions w with
q_w = |g_w| / (1 + a)^|w| above a threshold; r_t(w) = q_w ((1 + a)/a)^|t|.  With θ_t the threshold
on this scale, ‖r_t‖_ρ'^ρ' is at most the sum over the listed ones plus θ_t^(ρ' − 2) times what
the others leave of

    Σ_{w ⊇ t} r_t(w)² = a^(−2|t|) Σ_{i, j covered by t} β_i β_j (1 + (1 + a)^−2)^(s_ij − |t|),

s_ij the number of propositions that are true in both i and j.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.errors import GramSizeError, ParameterError
from formulakern.mining.conjunctions import mine_conjunctions
from formulakern.mining.covers import PackedPropositions
from formulakern.solvers.hierarchical import HierarchicalSolution, solve_hierarchical
from formulakern.solvers.hierarchical_losses import Loss

__all__ = ["GrownSolution", "GrowthStep", "grow_hierarchical"]

FloatArray = NDArray[np.float64]
Node = tuple[int, ...]

#: Conjunctions that one search lists at most.
LISTED = 20_000
#: Halvings of the search's threshold before a source that is undecided is added.
HALVINGS = 4
#: Larger powers count as infinite.
HUGE = 1e300
#: Bytes for the two matrices over the examples with β ≠ 0.
MEMORY = 4 << 30
#: Entries of the blocks in which quadratic forms over the sources are computed.
BLOCK = 1 << 22


@dataclass(frozen=True)
class GrowthStep:
    """One round: nodes, objective on them, gap over all conjunctions, sources that stand out."""

    n_nodes: int
    objective: float
    gap: float
    n_violators: int
    seconds: float


@dataclass(frozen=True, eq=False)
class GrownSolution:
    """A solution on the nodes W, and what is proven about all conjunctions.

    Attributes
    ----------
    nodes : list of tuple of int
        W, closed under subsets.
    solution : HierarchicalSolution
        On W; its ``lower_bound`` and ``gap`` concern W.
    lower_bound : float
        No weights on any conjunctions have a smaller objective.
    gap : float
        (objective − lower_bound) / objective, over the whole lattice.
    history : list of GrowthStep
    status : {"optimal", "time limit", "node limit", "iteration limit", "interrupted"}
    """

    nodes: list[Node]
    solution: HierarchicalSolution
    lower_bound: float
    gap: float
    history: list[GrowthStep]
    status: str


def grow_hierarchical(
    propositions: Any,
    y: Any,
    *,
    rho: float = 1.1,
    C: float = 1.0,
    depth_penalty: float = 2.0,
    loss: str = "hinge",
    sample_weight: Any = None,
    tol: float = 1e-3,
    max_nodes: int = 2000,
    time_limit: float | None = None,
    start: GrownSolution | None = None,
    progress: Callable[[float], None] | None = None,
) -> GrownSolution:
    """The problem of :func:`.solve_hierarchical` over all conjunctions of p propositions.

    Parameters
    ----------
    propositions : array-like of shape (m, p), 0/1
    y : array-like of shape (m,)
        −1 and 1, or real numbers for the squared loss.
    rho, C, depth_penalty, loss, sample_weight
        As for the solver.
    tol : float
        The relative duality gap to reach, over the whole lattice.
    max_nodes : int
        The set grows no further once it is as large.
    time_limit : float, optional
        Seconds.
    start : GrownSolution, optional
        A solution for other parameters, whose nodes with weight and weights are the start.
    progress : callable, optional
        Called with the share that is done, measured by the logarithm of the gap.

    Returns
    -------
    GrownSolution
        After a limit or Ctrl-C (once the first round is done) the best so far, with its gap.

    Raises
    ------
    DataError, ParameterError
        As the solver.
    GramSizeError
        If so many examples have a dual variable that the matrix over them takes more than 4 GiB.

    Notes
    -----
    Memory O(s²), s the number of examples with β ≠ 0 (for the hinge, support vectors).

    References
    ----------
    P. Jawanpuria, J. S. Nath, G. Ramakrishnan, "Efficient rule ensemble learning using
    hierarchical kernels", ICML 2011.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (200, 30))
    >>> y = np.where(X[:, 3] & X[:, 7], 1, -1)
    >>> grown = grow_hierarchical(X, y, C=10.0, depth_penalty=1.2)
    >>> size = np.abs(grown.solution.weights)
    >>> sorted(v for v, s in zip(grown.nodes, size) if s > 0.05 * size.max())
    [(3,), (3, 7), (7,)]
    >>> grown.gap <= 1e-3
    True
    """
    started = time.perf_counter()
    if not isinstance(max_nodes, (int, np.integer)) or isinstance(max_nodes, bool) or max_nodes < 1:
        raise ParameterError(f"max_nodes={max_nodes!r}; expected an integer, at least 1.")
    packed = PackedPropositions.of(propositions)
    bits = np.stack([packed.cover((i,)) for i in range(packed.n_propositions)], axis=1)
    options: dict[str, Any] = {
        "rho": rho,
        "C": C,
        "depth_penalty": depth_penalty,
        "loss": loss,
        "sample_weight": sample_weight,
    }
    nodes: list[Node] = [()]
    weights: dict[Node, float] = {(): 0.0}
    intercept = 0.0
    if start is not None:
        weights, intercept = _carrying(start), start.solution.intercept
        nodes = sorted(weights, key=lambda v: (len(v), v))
    columns = {v: _cover(bits, v) for v in nodes}
    history: list[GrowthStep] = []
    grown: GrownSolution | None = None
    try:
        while True:
            remaining = None
            if time_limit is not None:
                remaining = max(0.0, time_limit - (time.perf_counter() - started))
            first = np.array([weights.get(v, 0.0) for v in nodes])
            solution = solve_hierarchical(
                np.stack([columns[v] for v in nodes], axis=1),
                nodes,
                y,
                **options,
                tol=tol / 2,
                time_limit=remaining,
                start=(first, intercept) if first.any() else None,
            )
            weights = dict(zip(nodes, solution.weights.tolist(), strict=True))
            intercept = solution.intercept
            frontier = _Frontier(packed, bits, nodes, columns, solution, y, options)
            bound, violators = frontier.examine(tol)
            gap = max(0.0, (solution.objective - bound) / solution.objective)
            seconds = time.perf_counter() - started
            history.append(GrowthStep(len(nodes), solution.objective, gap, len(violators), seconds))
            status = "optimal" if gap <= tol else ""
            if not status and time_limit is not None and seconds >= time_limit:
                status = "time limit"
            if not status and (len(nodes) >= max_nodes or not violators):
                # without violators only a solver that gave up can leave a gap
                status = "node limit" if violators else "iteration limit"
            grown = GrownSolution(list(nodes), solution, bound, gap, history, status)
            if progress is not None:
                done = np.log(1 / max(gap, 1e-300)) / np.log(1 / tol)
                progress(1.0 if status else float(min(1.0, max(0.0, done))))
            if status:
                return grown
            room = max(8, len(nodes) // 4)
            for t in violators[: min(room, max_nodes - len(nodes))]:
                nodes.append(t)
                columns[t] = _cover(bits, t)
    except KeyboardInterrupt:
        if grown is None:
            raise
        return GrownSolution(
            grown.nodes, grown.solution, grown.lower_bound, grown.gap, history, "interrupted"
        )


def _cover(bits: NDArray[np.bool_], node: Node) -> NDArray[np.bool_]:
    return np.asarray(bits[:, list(node)].all(axis=1))


def _carrying(start: GrownSolution) -> dict[Node, float]:
    """The weights of the nodes that carry weight, and of all their subsets."""
    weights = dict(zip(start.nodes, start.solution.weights.tolist(), strict=True))
    largest = max(map(abs, weights.values()))
    kept: dict[Node, float] = {(): weights[()]}
    for node, weight in weights.items():
        if abs(weight) > 1e-4 * largest:
            for size in range(len(node) + 1):
                for subset in combinations(node, size):
                    kept[subset] = weights[subset]
    return kept


class _Frontier:
    """The sources of the nodes outside W, and bounds on what lies behind them."""

    def __init__(
        self,
        packed: PackedPropositions,
        bits: NDArray[np.bool_],
        nodes: list[Node],
        columns: dict[Node, NDArray[np.bool_]],
        solution: HierarchicalSolution,
        y: Any,
        options: dict[str, Any],
    ) -> None:
        self.packed = packed
        self.solution = solution
        self.a = float(options["depth_penalty"])
        self.dual = options["rho"] / (options["rho"] - 1)
        weight = options["sample_weight"]
        c = options["C"] * (np.ones(len(bits)) if weight is None else np.asarray(weight, float))
        self.used = np.flatnonzero(solution.dual)
        self.beta = solution.dual[self.used]
        self.loss = Loss(options["loss"], np.asarray(y, float)[self.used], c[self.used])
        self.bits = bits[self.used]
        self.columns = columns
        self.sources = _sources(nodes, bits.shape[1])
        self.mass = self._masses()

    def _masses(self) -> FloatArray:
        """Σ r_t(w)² over w ⊇ t, for each source."""
        needed = 16 * len(self.beta) ** 2
        if needed > MEMORY:
            raise GramSizeError(
                f"the test of the whole lattice needs {needed / 2**30:.1f} GiB for "
                f"{len(self.beta)} examples with a dual variable; it uses at most "
                f"{MEMORY / 2**30:.0f} GiB. Use fewer examples, or the hinge loss and a smaller C."
            )
        base = 1 + (1 + self.a) ** -2
        table = self.bits.astype(np.float64)
        kernel = base ** (table @ table.T)
        masses = np.empty(len(self.sources))
        step = max(1, BLOCK // max(1, len(self.beta)))
        for start in range(0, len(self.sources), step):
            some = self.sources[start : start + step]
            covers = np.stack([self.columns[t[:-1]][self.used] & self.bits[:, t[-1]] for t in some])
            signed = covers * self.beta
            lengths = np.array([len(t) for t in some])
            form = np.einsum("ti,ti->t", signed @ kernel, signed)
            # rounding of a sum of terms of both signs, as a share of their sizes
            form += 1e-13 * np.abs(self.beta).sum() ** 2 * kernel.max(initial=0.0)
            masses[start : start + step] = form / (self.a**2 * base) ** lengths
        return np.maximum(masses, 0.0)

    def examine(self, tol: float) -> tuple[float, list[Node]]:
        """A lower bound on the optimum over all conjunctions, and sources that stand in its way."""
        conjugate = self.loss.conjugate(self.beta) if len(self.beta) else 0.0
        inside = 2 * max(0.0, conjugate - self.solution.lower_bound)
        if not self.sources or len(self.beta) == 0:
            return self.solution.lower_bound, []
        allowed = max(2 * (conjugate - (1 - tol) * self.solution.objective), inside, 1e-300)
        unit = float(np.sqrt(allowed))  # in this unit a source may reach 1
        growth = (1 + self.a) / self.a
        lengths = np.array([len(t) for t in self.sources])
        threshold = 0.5 * unit * growth ** -float(np.median(lengths))
        scale = growth**lengths / unit
        with np.errstate(over="ignore"):
            upper = (self.mass / allowed) ** (self.dual / 2)
        lower = np.zeros(len(self.sources))
        if self.dual > 2:
            for _ in range(HALVINGS):
                if not np.any((upper > 1) & (lower <= 1)):
                    break
                listed, scores, threshold = self._list(threshold)
                lower, upper = self._bounds(listed, scores, threshold, scale, upper)
                if len(listed) >= LISTED:
                    break
                threshold /= 2
        order = [int(k) for k in np.argsort(-upper) if upper[k] > 1]
        violators = [self.sources[k] for k in order]
        square = max(inside, allowed * float(upper.max()) ** (2 / self.dual))
        if not np.isfinite(square):
            return 0.0, violators  # no objective is negative
        multiple = self.loss.best_multiple(self.beta, square)
        bound = self.loss.conjugate(multiple * self.beta) - 0.5 * multiple**2 * square
        return min(bound, self.solution.lower_bound), violators

    def _list(self, threshold: float) -> tuple[list[Node], FloatArray, float]:
        """Conjunctions with q_w above a threshold, q, and what no other one passes."""
        p = self.packed.n_propositions
        found = mine_conjunctions(
            self.packed.restrict(self.used),
            self.beta,
            top=None,
            min_length=1,
            max_length=None,
            length_factor=(1 + self.a) ** np.minimum(np.arange(p + 1.0), 200),
            threshold=threshold,
            max_results=LISTED,
        )
        return found.conjunctions, found.scores, max(found.bound, threshold)

    def _bounds(
        self,
        listed: list[Node],
        scores: FloatArray,
        threshold: float,
        scale: FloatArray,
        upper: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:
        """Bounds on Σ (r_t(w)/unit)^ρ' over w ⊇ t from the listed conjunctions.

        ``scale`` is ((1 + a)/a)^|t| / unit.
        """
        place = {t: k for k, t in enumerate(self.sources)}
        longest = max(len(t) for t in self.sources)
        powers, squares = np.zeros(len(self.sources)), np.zeros(len(self.sources))
        for w, score in zip(listed, scores.tolist(), strict=True):
            for size in range(1, min(longest, len(w)) + 1):
                for subset in combinations(w, size):
                    k = place.get(subset)
                    if k is not None:
                        ratio = score * scale[k]
                        powers[k] += ratio**self.dual if ratio < HUGE ** (1 / self.dual) else np.inf
                        squares[k] += ratio**2
        unit_squared = ((1 + self.a) / self.a) ** (
            2 * np.array([len(t) for t in self.sources])
        ) / scale**2
        rest = np.maximum(self.mass / unit_squared * (1 + 1e-12) - squares, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            sharper = powers + (threshold * scale) ** (self.dual - 2) * rest
        sharper = np.where(np.isnan(sharper), np.inf, sharper)
        return powers, np.minimum(upper, sharper)


def _sources(nodes: list[Node], p: int) -> list[Node]:
    """The sets outside the family whose proper subsets are all inside."""
    inside = set(nodes)
    found: list[Node] = []
    for v in nodes:
        for i in range(v[-1] + 1 if v else 0, p):
            t = (*v, i)
            if t not in inside and all(t[:k] + t[k + 1 :] in inside for k in range(len(v))):
                found.append(t)
    return found
