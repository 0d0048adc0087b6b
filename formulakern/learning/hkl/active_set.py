"""Hierarchical kernel learning over all conjunctions, by a set of nodes that grows until proof.

The solver (:mod:`formulakern.solvers.hierarchical`) works on a family W closed under subsets.  Its
dual variables β bound the problem over the whole lattice too: :mod:`.frontier` bounds the share
of the dual norm that lies outside W, and the larger of the two shares gives a lower bound on the
optimum over all 2^p conjunctions.  Where it is not close enough, the minimal conjunctions outside W
that stand in its way come in.

Features that are no conjunctions, such as numeric columns as they are, each add d_j |f_j| to the
norm.  The share of the dual norm of one that is not in use is |Σ_i β_i z_ij| / d_j; it comes in
where that stands in the way.

Where weights must have signs (:mod:`.signs`), the part of the dual norm of what has the wrong sign
is 0.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, combinations
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, IntArray
from formulakern.checks import check_integer
from formulakern.deadline import Deadline, TimeIsOver, TimeLimit, check_time_limit
from formulakern.encoding.zero_one import read_packed
from formulakern.interrupts import interruptible
from formulakern.learning.hkl.frontier import Frontier, Node, frontier_of, standing_out
from formulakern.learning.hkl.groups import Groups, PiecedFrontier
from formulakern.learning.hkl.signs import Signs
from formulakern.solvers.hierarchical.losses import Intercept, Loss
from formulakern.solvers.hierarchical.norm import right_signed
from formulakern.solvers.hierarchical.solve import HierarchicalSolution, solve_hierarchical

__all__ = [
    "GrownSolution",
    "GrowthStep",
    "Node",
    "OutsideSearch",
    "Solved",
    "carrying",
    "grow_hierarchical",
    "relative_gap",
    "solving",
    "used_weights",
]


class OutsideSearch:
    """What stands outside the set in the way of a solution on it.

    Parameters
    ----------
    frontier : Frontier or PiecedFrontier
    solution : HierarchicalSolution
    y, options, tol :
        As for :func:`.grow_hierarchical`.
    beyond : float64 (e,)
        The dual norm of each feature that is no conjunction.

    Attributes
    ----------
    given_up : bool
        Whether the time was over before enough was known.
    """

    def __init__(
        self,
        frontier: Frontier | PiecedFrontier,
        solution: HierarchicalSolution,
        y: Any,
        options: dict[str, Any],
        tol: float,
        beyond: FloatArray,
    ) -> None:
        self.frontier, self.solution, self.beyond = frontier, solution, beyond
        self.given_up = False
        weight = options["sample_weight"]
        self.used = used = np.flatnonzero(solution.dual)
        share = np.ones(len(used)) if weight is None else np.asarray(weight, float)[used]
        self.beta = solution.dual[used]
        values = np.asarray(y, float)[used]
        self.loss = Loss(options["loss"], values, options["C"] * share)
        conjugate = self.loss.conjugate(self.beta)
        self.inside = 2 * max(0.0, conjugate - solution.lower_bound)
        allowed = 2 * (conjugate - (1 - tol) * solution.objective)
        self.allowed = max(allowed, self.inside, 1e-300)
        self.wanted: list[int] = np.flatnonzero(beyond**2 > self.allowed).tolist()

    def fast(self, most: int) -> tuple[float, list[Node], list[int]]:
        """What :meth:`examine` returns, of short conjunctions alone and without a bound."""
        assert isinstance(self.frontier, Frontier)  # rows in pieces are searched as a whole
        try:
            return 0.0, standing_out(self.frontier, self.allowed, most), self.wanted
        except TimeIsOver:
            return 0.0, [], self.wanted

    def examine(
        self, enough: int, *, sharing: bool, loose: bool
    ) -> tuple[float, list[Node], list[int]]:
        """A lower bound on the optimum over everything, and sources and others in its way."""
        lower, inside = self.solution.lower_bound, self.inside
        if not len(self.used):
            return lower, [], []
        try:
            square, violators = self.frontier.examine(
                self.allowed, enough, inside if sharing else None, loose
            )
            self.given_up = self.frontier.cut and not violators
        except TimeIsOver:
            self.given_up = True
            square, violators = np.inf, []
        square = max(inside, square, float(self.beyond.max(initial=0.0)) ** 2)
        if not np.isfinite(square):
            return 0.0, violators, self.wanted  # no objective is negative
        multiple = self.loss.best_multiple(self.beta, square)
        bound = self.loss.conjugate(multiple * self.beta) - 0.5 * multiple**2 * square
        return min(bound, lower), violators, self.wanted


#: The set grows by at most this share of its size in one round, and at least by LEAST.
SHARE, LEAST = 0.25, 4
#: A search for what the set lacks takes at most this share of the time that is left.
SEARCHING = 0.25
#: A solution on the set takes at most this share of it; what is found fast, of the whole time, and
#: so many come in at once.
SOLVING, FAST, ONCE = 0.6, 0.5, 16
#: Seconds that the first solution with rules may always take, and of the whole time.
MOMENT, TENTH = 0.25, 0.1
#: The gap to which the nodes of a round are solved: this share of the last one, at most LOOSE.
CARE, LOOSE = 0.05, 0.01
#: Weights below this share of the largest one count for nothing.
NEGLIGIBLE = 1e-4


@dataclass(frozen=True)
class GrowthStep:
    """One round: nodes, objective on them, gap over all conjunctions, sources that stand out.

    ``n_used`` of the nodes carry noticeable weight.
    """

    n_nodes: int
    objective: float
    gap: float
    n_violators: int
    seconds: float
    n_used: int = 0


class Solved(Protocol):
    """The weights of given features, the intercept that is subtracted, and the objective."""

    @property
    def weights(self) -> FloatArray: ...  # noqa: D102
    @property
    def intercept(self) -> Intercept: ...  # noqa: D102
    @property
    def objective(self) -> float: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class GrownSolution:
    """A solution on the nodes W, and what is proven about all conjunctions.

    Attributes
    ----------
    nodes : list of tuple of int
        W, closed under subsets.
    others : list of int
        The features in use that are no conjunctions.
    solution : HierarchicalSolution or Solved
        On W and them, in this order; what it says of bounds concerns these alone.
    lower_bound : float
        No weights on any conjunctions have a smaller objective.
    gap : float
        (objective − lower_bound) / objective, over the whole lattice.
    history : list of GrowthStep
    status : {"optimal", "time limit", "node limit", "iteration limit", "interrupted"}
    """

    nodes: list[Node]
    others: list[int]
    solution: Solved
    lower_bound: float
    gap: float
    history: list[GrowthStep]
    status: str

    @property
    def weights(self) -> dict[Node | int, float]:
        """The weight of every conjunction, and of every other feature by its number."""
        return dict(zip([*self.nodes, *self.others], self.solution.weights.tolist(), strict=True))


def grow_hierarchical(
    propositions: Any,
    y: Any,
    *,
    rho: float = 1.1,
    C: float = 1.0,
    depth_penalty: float = 2.0,
    loss: str = "hinge",
    sample_weight: Any = None,
    kind: NDArray[np.intp] | None = None,
    others: FloatArray | None = None,
    other_penalty: float = 1.0,
    group: IntArray | None = None,
    signs: Signs | None = None,
    groups: Groups | None = None,
    tol: float = 1e-3,
    max_nodes: int = 5000,
    time_limit: TimeLimit = None,
    start: GrownSolution | None = None,
    report: Callable[[GrowthStep], None] | None = None,
) -> GrownSolution:
    """The problem of :func:`.solve_hierarchical` over all conjunctions of p propositions.

    Parameters
    ----------
    propositions : PackedTable of m rows and p columns, or what ``read_packed`` reads
    y : array-like of shape (n,)
        −1 and 1, or real numbers for the squared loss.
    rho, C, depth_penalty, loss, sample_weight
        As for the solver.
    kind : ndarray of shape (n,), intp, optional
        The row of ``propositions`` that each example is about; these rows are different.  By
        default example i is about row i, and equal rows are found here.
    others : float64 (n, e), optional
        Features z that are no conjunctions.
    other_penalty : float
        d of each of them.
    group : int64 (n,), optional
        As for the solver.
    signs : Signs, optional
        Of the weights.
    groups : Groups, optional
        Of rows in pieces.  What else is given of examples is then that of these groups at first,
        and is replaced by theirs whenever they are divided.
    tol : float
        The relative duality gap to reach, over the whole lattice.
    max_nodes : int
        The set grows no further once it is as large.
    time_limit : float or Deadline, optional
        Seconds; then the first rounds, in at most half of the time, take in what is found fast and
        prove nothing.
    start : GrownSolution, optional
        A solution for other parameters, whose nodes with weight and weights are the start.
    report : callable, optional
        Called with every step of the history.

    Returns
    -------
    GrownSolution
        After a limit or Ctrl-C (once the first round is done) the best so far, with its gap.

    Raises
    ------
    DataError, ParameterError
        As the solver.

    Notes
    -----
    Beside the solver's work, a round costs one exact search, and for each source that is in doubt
    O(s²) where s of the examples that it covers have β ≠ 0.

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
    check_time_limit(time_limit)
    deadline = Deadline.of(time_limit)
    fast = deadline.part(FAST) if deadline.limited and groups is None else None
    check_integer("max_nodes", max_nodes)
    table = read_packed(propositions)
    if kind is None:
        table, kind = table.distinct()
    options: dict[str, Any] = {
        "rho": rho,
        "C": C,
        "depth_penalty": depth_penalty,
        "loss": loss,
        "sample_weight": sample_weight,
        "group": group,
    }
    numbers = np.zeros((len(kind), 0)) if others is None else others
    nodes: list[Node] = [()]
    held: list[int] = []
    weights: dict[Node | int, float] = {(): 0.0}
    intercept: Intercept = 0.0
    gap, best, room = 1.0, 0.0, LEAST
    asked = None if signs is None else signs.others
    violators: list[Node] = []
    pause, waiting, searching = 0, 0, SEARCHING
    if start is not None:
        weights, intercept = carrying(start), start.solution.intercept
        nodes = sorted((v for v in weights if isinstance(v, tuple)), key=lambda v: (len(v), v))
        held = sorted(v for v in weights if isinstance(v, int))
    if groups is not None and groups.tell_apart(nodes, held):
        table, (kind, y, weight, numbers, group) = groups.table, groups.examples
        options |= {"sample_weight": weight, "group": group}
    columns = {v: table.cover(v)[kind] for v in nodes}
    history: list[GrowthStep] = []
    grown: GrownSolution | None = None
    try:
        with interruptible():
            while True:
                first = np.array(
                    [*(weights.get(v, 0.0) for v in nodes), *(weights.get(j, 0.0) for j in held)]
                )
                inner = max(tol / 2, min(LOOSE, CARE * gap)) if len(violators) > room else tol / 2
                with warnings.catch_warnings():  # the gap over the whole lattice is what counts
                    warnings.filterwarnings(
                        "ignore", message="after .* rounds the relative duality"
                    )
                    solution = solve_hierarchical(
                        np.stack([columns[v] for v in nodes], axis=1),
                        nodes,
                        y,
                        **options,
                        others=numbers[:, held],
                        other_penalty=other_penalty,
                        signs=None if signs is None else signs.of_all([*nodes, *held]),
                        tol=inner,
                        time_limit=solving(deadline, len(history)),
                        start=(first, intercept) if first.any() else None,
                    )
                if solution.status == "interrupted":
                    raise KeyboardInterrupt
                intercept = solution.intercept
                net = np.bincount(kind, solution.dual, table.n_rows).astype(np.float64)
                until = deadline.part(searching)
                outside = partial(frontier_of, table) if groups is None else groups.frontier
                frontier = outside(net, nodes, rho, depth_penalty, until, signs)
                room = max(LEAST, int(SHARE * len(nodes)))
                tight, waiting = inner == tol / 2 and solution.status != "time limit", waiting - 1
                sharing = waiting < 0 or len(violators) <= room
                beyond = np.abs(right_signed(solution.dual @ numbers, asked)) / other_penalty
                search = OutsideSearch(frontier, solution, y, options, tol, beyond)
                quick = False
                if fast is not None:
                    room = max(room, ONCE)
                    bound, violators, wanted = search.fast(room)
                    quick = bool(violators or set(wanted) - set(held))
                    fast = fast if quick and not fast.over() else None
                if not quick:
                    bound, violators, wanted = search.examine(
                        room, sharing=sharing, loose=not tight
                    )
                    searching = 1.0 if search.given_up else SEARCHING
                wanted = [j for j in wanted if j not in held]
                if sharing and not quick:  # what failed is tried again after twice as many rounds
                    pause = 0 if frontier.reached else 2 * pause + 1
                    waiting = pause
                best = max(best, bound)  # each of them holds
                gap = relative_gap(solution.objective, best)
                seconds = deadline.taken()
                n_violators = len(violators) + len(wanted)
                size = len(nodes) + len(held)
                n_used = used_weights(solution.weights)
                step = GrowthStep(size, solution.objective, gap, n_violators, seconds, n_used)
                history.append(step)
                status = "optimal" if gap <= tol else ""
                if not status and deadline.over() and not (quick and len(history) == 1):
                    status = "time limit"
                if not status and len(nodes) >= max_nodes:
                    violators, wanted = [], []  # a loose solution is followed by a good one
                    status = "node limit" if tight else ""
                elif not status and not n_violators and search.given_up:
                    pass
                elif not status and not n_violators and tight:
                    status = "iteration limit"  # the solver gave up
                earlier = grown
                grown = GrownSolution(list(nodes), list(held), solution, best, gap, history, status)
                weights = grown.weights
                if report is not None:
                    report(step)
                if status == "time limit" and earlier is not None:  # no time to improve on it
                    better = earlier.solution.objective < solution.objective
                    kept = earlier if better else grown
                    gap = relative_gap(kept.solution.objective, best)
                    return replace(kept, lower_bound=best, gap=gap, status=status)
                if status:
                    return grown
                fresh = violators[: min(room, max_nodes - len(nodes))]
                if groups is not None and groups.tell_apart(fresh, wanted, deadline):
                    table, (kind, y, weight, numbers, group) = groups.table, groups.examples
                    options |= {"sample_weight": weight, "group": group}
                    columns = {v: table.cover(v)[kind] for v in nodes}
                columns |= {t: table.cover(t)[kind] for t in fresh}
                nodes += fresh
                held += wanted
    except TimeIsOver:  # pieces do not answer in time
        if grown is None:
            raise
        return replace(grown, status="time limit")
    except KeyboardInterrupt:
        if grown is None:
            raise
        return replace(grown, status="interrupted")


def solving(deadline: Deadline, n_rounds: int) -> Deadline:
    """When a solution must be there: what was found first gets a moment, however late it is."""
    until = deadline.part(SOLVING)
    if n_rounds != 1 or not deadline.limited:
        return until
    moment = Deadline.of(min(MOMENT, TENTH * (deadline.end - deadline.begun)))
    return max(until, moment, key=lambda one: one.end)


def relative_gap(objective: float, bound: float) -> float:
    """(objective − bound) / objective; 0 where nothing is left to gain."""
    return max(0.0, (objective - bound) / objective) if objective > 0 else 0.0


def used_weights(weights: FloatArray) -> int:
    """How many weights are noticeable beside the largest one."""
    sizes = np.abs(weights)
    return int(np.count_nonzero(sizes > NEGLIGIBLE * sizes.max(initial=0.0)))


def carrying(start: GrownSolution) -> dict[Node | int, float]:
    """The weights of the nodes that carry weight, and of all their subsets; and of the others."""
    weights = start.weights
    largest = max(map(abs, weights.values()))
    kept: dict[Node | int, float] = {(): weights[()]}
    for node, weight in weights.items():
        if abs(weight) > NEGLIGIBLE * largest:
            if isinstance(node, int):
                kept[node] = weight
                continue
            subsets = (combinations(node, size) for size in range(len(node) + 1))
            kept.update((v, weights[v]) for v in chain.from_iterable(subsets))
    return kept
