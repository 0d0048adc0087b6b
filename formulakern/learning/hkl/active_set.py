"""Hierarchical kernel learning over all conjunctions, with sets of nodes that grow until a proof.

The solver (:mod:`formulakern.solvers.hierarchical.solve`) works on a family W of conjunctions that
is closed under subsets, one for each score function.  Its dual variables β bound the problem over
the whole lattice too: :mod:`.frontier` bounds the dual norm outside W, and the larger of the two
norms gives a lower bound on the optimum over all 2^p conjunctions.  If the gap is too large, W
grows by the minimal conjunctions outside W that exceed the allowed norm.

A feature that is not a conjunction, such as a numeric column, adds d_j |f_j| to the norm.  Its
share of the dual norm is |Σ_i β_i z_ij| / d_j; it is added if that is too large.

If weights must have signs (:mod:`.options`), the part of the dual norm with the wrong sign is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.deadline import UNLIMITED, Deadline, TimeIsOver
from formulakern.interrupts import interruptible
from formulakern.learning.hkl.options import Node, Options, closed
from formulakern.learning.hkl.rows import Groups, Rows
from formulakern.solvers.hierarchical.losses import Loss
from formulakern.solvers.hierarchical.norm import right_signed
from formulakern.solvers.hierarchical.solve import (
    HierarchicalSolution,
    relative_gap,
    solve_hierarchical,
)

#: The set grows by at most this share of its size in one round, and at least by MIN_GROWTH.
GROWTH_SHARE, MIN_GROWTH = 0.25, 4
#: A search for missing nodes takes at most this share of the remaining time.
SEARCH_SHARE = 0.25
#: A solution on the set takes at most the first share of it.  Quick searches take the second share
#: of the whole time, and add up to this many nodes at once.
SOLVE_SHARE, FAST_SHARE, MAX_FAST_NODES = 0.6, 0.5, 16
#: The first solution with rules may always take this many seconds, but no more than this share.
FIRST_SECONDS, FIRST_SHARE = 0.25, 0.1
#: The gap to which the nodes of a round are solved: this share of the last gap, at most
#: MAX_ROUND_GAP.
ROUND_GAP_SHARE, MAX_ROUND_GAP = 0.05, 0.01
#: Weights below this share of the largest weight are ignored.
MIN_WEIGHT_SHARE = 1e-4


@dataclass(frozen=True)
class GrowthStep:
    """One round: nodes, objective on them, gap over all conjunctions, number of violators.

    ``n_used`` of the nodes carry noticeable weight.
    """

    n_nodes: int
    objective: float
    gap: float
    n_violators: int
    seconds: float
    n_used: int = 0


#: Called with the number of a function and each of its steps.
Report = Callable[[int, GrowthStep], None]


@dataclass(frozen=True, eq=False)
class GrownSolution:
    """A solution on grown sets of nodes, with a bound over all conjunctions.

    ``nodes`` are W of each function, closed under subsets, and ``others`` its other features, in
    the order of the ``solution``, whose own bound concerns these alone.  No weights on any
    conjunctions have an objective below ``lower_bound``, to which the ``gap`` is relative.
    ``tried`` are conjunctions that were in use at some time.  The bound concerns conjunctions of at
    most ``proven_length`` propositions, if this is not None, and the longer ones in use.
    """

    nodes: list[list[Node]]
    others: list[list[int]]
    solution: HierarchicalSolution
    lower_bound: float
    gap: float
    history: list[list[GrowthStep]]
    status: str
    tried: list[Node] = field(default_factory=list)
    proven_length: int | None = None

    @property
    def weights(self) -> list[dict[Node | int, float]]:
        """For each function, the weight of every conjunction and every other feature."""
        parts = zip(self.nodes, self.others, self.solution.weights, strict=True)
        return [dict(zip([*v, *j], f.tolist(), strict=True)) for v, j, f in parts]


@dataclass(eq=False)
class _Function:
    """The features of one score function, and the features that it lacks."""

    weights: dict[Node | int, float] = field(default_factory=dict)
    violators: list[Node] = field(default_factory=list)
    wanted: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        nodes = {v for v in self.weights if isinstance(v, tuple)} | {()}
        self.nodes = sorted(nodes, key=lambda v: (len(v), v))
        self.others = sorted(v for v in self.weights if isinstance(v, int))

    @property
    def features(self) -> list[Node | int]:
        """The nodes, then the others."""
        return [*self.nodes, *self.others]

    @property
    def max_added(self) -> int:
        """The number of nodes that may be added."""
        return max(MIN_GROWTH, int(GROWTH_SHARE * len(self.nodes)))

    def grow(self, max_nodes: int, least: int) -> bool:
        """Add violators, as far as there is room; return True if any was added."""
        fresh = self.violators[
            : max(0, min(max(self.max_added, least), max_nodes - len(self.nodes)))
        ]
        self.nodes += fresh
        self.others += self.wanted
        return bool(fresh or self.wanted)

    def start(self) -> FloatArray:
        """Return the last weights, 0 for new features."""
        return np.array([self.weights.get(one, 0.0) for one in self.features])


def grow(
    rows: Rows,
    options: Options,
    tol: float,
    deadline: Deadline,
    start: GrownSolution | None,
    report: Report,
) -> GrownSolution:
    """Solve the problem over all conjunctions to the relative duality gap ``tol``.

    With a time limit, the first rounds, in at most half of the time, add violators that are found
    fast, without a proof.  ``start`` is a solution for other parameters; its nodes with weight, and
    their weights, are the start.  After the deadline, a limit or Ctrl-C (once the first round is
    done) the best solution so far is returned, with its gap.

    Besides the solver's work, a round costs one exact search, and O(s²) for each doubtful source
    that covers s examples with β ≠ 0.

    References
    ----------
    P. Jawanpuria, J. S. Nath, G. Ramakrishnan, "Efficient rule ensemble learning using
    hierarchical kernels", ICML 2011.
    """
    fast = deadline.part(FAST_SHARE) if deadline.limited and not isinstance(rows, Groups) else None
    searching, needed = SEARCH_SHARE, 0.0  # seconds of the last search
    loss = rows.loss(options)
    functions = [_Function() for _ in range(loss.n_functions)]
    intercept = loss.cold
    if start is not None:
        functions = [_Function(_carrying(weights)) for weights in start.weights]
        intercept = start.solution.intercept
    history: list[list[GrowthStep]] = [[] for _ in functions]
    kept: tuple[HierarchicalSolution, list[list[Node]], list[list[int]]] | None = None
    gap, best, status = 1.0, 0.0, ""
    try:
        with interruptible():
            while not status:
                nodes = [v for one in functions for v in one.nodes]
                others = [j for one in functions for j in one.others]
                if rows.split_groups(nodes, others, deadline if kept else UNLIMITED):
                    loss = rows.loss(options)
                many = any(len(one.violators) > one.max_added for one in functions)
                inner = max(tol / 2, min(MAX_ROUND_GAP, ROUND_GAP_SHARE * gap)) if many else tol / 2
                solution = solve_hierarchical(
                    [rows.features(options, one.nodes, one.others) for one in functions],
                    loss,
                    tol=inner,
                    start=([one.start() for one in functions], intercept),
                    deadline=_solving(deadline, len(history[0])),
                )
                intercept = solution.intercept
                for one, f in zip(functions, solution.weights, strict=True):
                    one.weights = dict(zip(one.features, f.tolist(), strict=True))
                if kept is None or solution.objective <= kept[0].objective:
                    every = [[*one.nodes] for one in functions]
                    kept = solution, every, [[*one.others] for one in functions]
                search = _OutsideSearch(rows, options, functions, loss, solution, tol)
                loose = inner > tol / 2 or solution.status == "time_limit"
                bound, quick = 0.0, False
                if fast is not None:
                    search.fast(deadline.part(SEARCH_SHARE))
                    quick = any(one.violators or one.wanted for one in functions)
                    fast = fast if quick and not fast.over() else None
                late = not quick and deadline.over(needed)
                if not quick and not late:
                    begun = Deadline.clock()
                    bound = search.examine(deadline.part(searching), loose)
                    searching = 1.0 if search.given_up else SEARCH_SHARE
                    needed = Deadline.clock() - begun
                best = max(best, bound)  # each bound is valid
                gap = relative_gap(kept[0].objective, best)
                for k, one in enumerate(functions):
                    step = GrowthStep(
                        len(one.features),
                        kept[0].objective,
                        gap,
                        len(one.violators) + len(one.wanted),
                        deadline.taken(),
                        _used(solution.weights[k]),
                    )
                    history[k].append(step)
                    report(k, step)
                if gap <= tol:
                    status = "optimal"
                elif late or (deadline.over() and not (quick and len(history[0]) == 1)):
                    status = "time_limit"
                else:
                    grew = [
                        one.grow(options.max_nodes, MAX_FAST_NODES * quick) for one in functions
                    ]
                    if any(grew) or search.given_up:
                        continue
                    if not loose:  # no room, or the solver failed
                        full = any(one.violators for one in functions)
                        status = "node_limit" if full else "iteration_limit"
                    for one in functions:  # an accurate solution follows a loose one
                        one.violators = []
    except (KeyboardInterrupt, TimeIsOver) as ended:
        status = "time_limit" if isinstance(ended, TimeIsOver) else "interrupted"
        if kept is None:
            raise
    assert kept is not None
    solution, every, numbers = kept
    return GrownSolution(every, numbers, solution, best, gap, history, status)


class _OutsideSearch:
    """The search for features outside the sets that exceed the norm that a solution allows.

    It sets ``violators`` and ``wanted`` of the functions; ``given_up`` is True if the deadline
    passed without a sufficient result.
    """

    def __init__(
        self,
        rows: Rows,
        options: Options,
        functions: list[_Function],
        loss: Loss,
        solution: HierarchicalSolution,
        tol: float,
    ) -> None:
        self.rows, self.options, self.functions = rows, options, functions
        self.loss, self.solution, self.given_up = loss, solution, False
        self.betas = [np.ascontiguousarray(beta) for beta in np.atleast_2d(solution.dual.T)]
        inside = solution.squares
        total = 2 * (loss.conjugate(solution.dual) - (1 - tol) * solution.objective)
        spare = max(0.0, total - sum(inside)) / len(functions)
        self.allowed = [max(own + spare, 1e-300) for own in inside]
        self.beyond = []  # the largest square of other features
        signs = None if options.signs is None else options.signs.others
        for one, beta, allowed in zip(functions, self.betas, self.allowed, strict=True):
            beyond = right_signed(beta @ rows.examples.others, signs) / options.other_penalty
            over = np.flatnonzero(beyond**2 > allowed).tolist()
            one.violators = []
            one.wanted = [j for j in over if j not in one.others]
            self.beyond.append(float(np.square(beyond).max(initial=0.0)))

    def fast(self, deadline: Deadline) -> None:
        """Find violators of few propositions, without a bound."""
        for k, one in enumerate(self.functions):
            until = deadline.part(1 / (len(self.functions) - k))
            frontier = self.rows.frontier(self.betas[k], one.nodes, self.options, until)
            with suppress(TimeIsOver):
                one.violators = frontier.fast_violators(
                    self.allowed[k], max(one.max_added, MAX_FAST_NODES)
                )

    def examine(self, deadline: Deadline, loose: bool) -> float:
        """Find violators; return a lower bound on the optimum over everything."""
        if not self.solution.dual.any():  # smaller than rounding errors
            return 0.0
        square = 0.0
        for k, (one, inside) in enumerate(zip(self.functions, self.solution.squares, strict=True)):
            until = deadline.part(1 / (len(self.functions) - k))
            frontier = self.rows.frontier(self.betas[k], one.nodes, self.options, until)
            try:
                outside, one.violators = frontier.examine(self.allowed[k], inside, loose=loose)
                self.given_up |= frontier.cut and not one.violators
                square += max(inside, outside, self.beyond[k])
            except TimeIsOver:
                self.given_up, square = True, np.inf
        if not np.isfinite(square):
            return 0.0  # no objective is negative
        return min(self.loss.bound(self.solution.dual, square)[1], self.solution.lower_bound)


def _solving(deadline: Deadline, n_rounds: int) -> Deadline:
    """Return the deadline of a solution; the first one with rules always gets a short time."""
    until = deadline.part(SOLVE_SHARE)
    if n_rounds != 1 or not deadline.limited:
        return until
    moment = Deadline.of(min(FIRST_SECONDS, FIRST_SHARE * (deadline.end - deadline.begun)))
    return max(until, moment, key=lambda one: one.end)


def _used(weights: FloatArray) -> int:
    """Return the number of weights that are noticeable next to the largest one."""
    sizes = np.abs(weights)
    return int(np.count_nonzero(sizes > MIN_WEIGHT_SHARE * sizes.max(initial=0.0)))


def _carrying(weights: dict[Node | int, float]) -> dict[Node | int, float]:
    """Return the weights of the nodes with weight, of their subsets, and of other features."""
    largest = max(map(abs, weights.values()))
    heavy = [one for one, weight in weights.items() if abs(weight) > MIN_WEIGHT_SHARE * largest]
    kept: list[Node | int] = [one for one in heavy if isinstance(one, int)]
    kept += closed(one for one in heavy if isinstance(one, tuple))
    return {one: weights[one] for one in kept}
