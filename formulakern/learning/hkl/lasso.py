r"""The limit ρ = 1: weights for few conjunctions, including those at every gap of ordered columns.

For ρ → 1 the norm of hierarchical kernel learning is Σ_w (1 + a)^|w| |f_w|, since d_v = a^|v| adds
up to (1 + a)^|w| over the subsets v of w.  Its dual norm is the largest |g_w| / (1 + a)^|w|, so a
conjunction's own sum shows whether it is missing.  No family of subsets is therefore kept, and the
search is for the heaviest conjunction (:mod:`formulakern.mining.ordered`).  Functions of several
classes share their conjunctions: |f_w| is the Euclidean norm of the weights of all classes.

A round solves the problem on the features found so far (:mod:`formulakern.solvers.group_lasso`) and
adds features that exceed the norm that the gap allows: first the best of each column and of each
pair of columns, and once these are included, violators found by the proof over all conjunctions.
Partitions of rows agree on cut points, and the search for the best pair of propositions at these
is a proof (:mod:`formulakern.mining.ordered_sums`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, IntArray
from formulakern.deadline import UNLIMITED, Deadline, TimeIsOver
from formulakern.encoding.bits import n_words
from formulakern.encoding.ordered import GroupTable, OrderedTable
from formulakern.interrupts import interruptible
from formulakern.learning.hkl.active_set import GrownSolution, GrowthStep, Report
from formulakern.learning.hkl.options import Node, Options
from formulakern.learning.hkl.rows import Groups, Rows
from formulakern.mining.conjunctions.best_first import mine_partitioned
from formulakern.mining.conjunctions.search import mine_conjunctions
from formulakern.mining.ordered import Found, OrderedSearch, Proof, sides_of
from formulakern.mining.ordered_sums import SummedSearch
from formulakern.solvers.group_lasso import Curvature, LassoSolution, dual_norms, solve_group_lasso
from formulakern.solvers.hierarchical.losses import Loss
from formulakern.solvers.hierarchical.newton import Columns
from formulakern.solvers.hierarchical.solve import HierarchicalSolution, relative_gap

#: Features that are added at once: this share of the current number, and at least MIN_GROWTH.
GROWTH_SHARE, MIN_GROWTH = 0.25, 25
#: The longest conjunctions, and the largest penalty.
MAX_CONJUNCTION_LENGTH, MAX_PENALTY = 12, 1e100
#: Columns of codes, entries, and functions times rows times the cube of columns, beyond which only
#: pairs of propositions are searched.
MAX_TRIPLE_COLUMNS, MAX_TRIPLE_ENTRIES, MAX_TRIPLE_WORK = 80, 300_000, 4e9
#: The limit of the work of all proofs of a fit, about its nanoseconds.
MAX_PROOF_WORK = 7e9
#: The length of listed conjunctions that are searched first, and the limit of conjunctions times
#: words of 64 rows times functions, for one search of these and for all searches of longer ones.
SHORT_LENGTH, MAX_LISTED_WORK = 3, 3e8
#: The gap to which a round is solved: this share of the last gap, at most MAX_ROUND_GAP.
ROUND_GAP_SHARE, MAX_ROUND_GAP = 0.2, 0.05
#: The share of the gap allowed for missing features; below 1, so that rounding does not matter.
MISSING_GAP_SHARE = 0.999
#: The least share of that gap if all violators are already in use.
MIN_MISSING_GAP_SHARE = 1e-4
#: The largest share of the remaining time for a proof; the rest is for few features.
PROOF_TIME_SHARE = 0.8
#: Conjunctions that a search over partitions lists.
MAX_LISTED_CONJUNCTIONS = 100
#: Features without weight for this many rounds are removed.
MAX_IDLE_ROUNDS = 3


@dataclass(eq=False)
class Active:
    """The features found so far, with values and weights; ``tried`` are all ever added."""

    rows: Rows
    options: Options
    nodes: list[Node] = field(default_factory=list)
    others: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.weights: dict[Node | int, FloatArray] = {}
        self.idle: dict[Node | int, int] = {}
        self.left: set[Node] = set()
        self.tried: dict[Node, None] = {}
        self.curvature: tuple[Curvature, list[Node | int]] | None = None
        self.values: dict[Node, NDArray[np.uint8]] = {}

    @property
    def features(self) -> list[Node | int]:
        """The conjunctions, then the other features."""
        return [*self.nodes, *self.others]

    @property
    def penalties(self) -> FloatArray:
        """The addition to the norm by a weight of 1, for each feature."""
        lengths = np.array([len(node) for node in self.nodes], dtype=np.int64)
        others = np.full(len(self.others), self.options.other_penalty)
        return np.concatenate([powers(self.options, int(lengths.max(initial=0)))[lengths], others])

    @property
    def signs(self) -> IntArray | None:
        """The signs that their weights must have."""
        signs = self.options.signs
        return None if signs is None else signs.of_all(self.features)

    def columns(self, deadline: Deadline) -> Columns:
        """Return the values of the features on the examples."""
        table, examples = self.rows.table, self.rows.examples
        known = {} if isinstance(self.rows, Groups) else self.values  # groups may be divided
        fresh = [node for node in self.nodes if node not in known]
        bits = table.truths(table.covers(fresh))[:, examples.kind].view(np.uint8)
        self.values = known | dict(zip(fresh, bits, strict=True))
        self.values = {node: self.values[node] for node in self.nodes}
        listed = [*self.values.values()]
        bits = np.array(listed, dtype=np.uint8).reshape(len(listed), len(examples.kind))
        others = np.ascontiguousarray(examples.others[:, self.others].T)
        return Columns(bits, others, deadline)

    def known_curvature(self) -> Curvature | None:
        """Return the curvature of the last solution, if the examples are the same."""
        if self.curvature is None:
            return None
        places = {one: place for place, one in enumerate(self.features)}
        curvature, features = self.curvature
        return curvature.at(np.array([places.get(one, -1) for one in features], dtype=np.int64))

    def start(self, width: int) -> FloatArray:
        """Return the known weights, float64 (features, ``width``)."""
        none = np.zeros(width)
        listed = [self.weights.get(one, none) for one in self.features]
        return np.array(listed, dtype=np.float64).reshape(len(listed), width)

    def enter(self, nodes: list[Node], most: int) -> int:
        """Add up to ``most`` conjunctions of new covers, or shorter ones; return their number."""
        entered = 0
        known = dict(zip(self.keys(self.nodes), self.nodes, strict=True))
        for node, key in zip(nodes, self.keys(nodes), strict=True):
            before = known.get(key)
            if before is None and entered < most:
                self.nodes.append(node)
            elif before is not None and len(node) < len(before):
                self.nodes[self.nodes.index(before)] = node
            else:
                continue
            known[key] = node
            self.tried[node] = None
            entered += 1
        return entered

    def keys(self, nodes: list[Node]) -> list[Any]:
        """Return the keys of equal features: covers, or in partitions the conjunctions."""
        if isinstance(self.rows, Groups):
            return list(nodes)
        return [cover.tobytes() for cover in self.rows.table.covers(nodes)]

    def update(self, weights: FloatArray) -> None:
        """Store weights, and remove features once that had no weight for a while."""
        pairs = [*zip(self.features, weights, strict=True)]
        self.weights = {one: own for one, own in pairs if own.any()}
        self.idle = {one: 0 if own.any() else self.idle.get(one, 0) + 1 for one, own in pairs}
        leaving = {v for v in self.nodes if self.idle[v] > MAX_IDLE_ROUNDS} - self.left
        self.nodes = [node for node in self.nodes if node not in leaving]
        self.left |= leaving


@dataclass(eq=False)
class ListedSearch:
    """The search over the conjunctions of listed propositions, by their bits.

    Proofs are about conjunctions of at most ``longest`` propositions, which falls to 3 or 2 if they
    take too long.  Without ``proves`` only short ones are searched.
    """

    rows: Rows | Groups
    depth_penalty: float
    signs: IntArray | None
    proves: bool = True
    longest: int = field(default=MAX_CONJUNCTION_LENGTH, init=False)
    #: The work of all searches for conjunctions of more than SHORT_LENGTH propositions.
    work: float = field(default=0.0, init=False)

    def _mined(
        self, net: FloatArray, longest: int, most: float = math.inf, **options: Any
    ) -> tuple[Proof, float]:
        """Search for at most about ``most`` work; return the proof and the work."""
        table: Any = self.rows.table
        n = table.n_columns
        every = np.arange(n)
        options["objective"] = "norm" if net.shape[1] > 1 else "absolute"
        with np.errstate(over="ignore"):
            divisors = np.minimum((1 + self.depth_penalty) ** np.arange(n + 1.0), MAX_PENALTY)
        sides = {"both": every}
        if self.signs is not None:
            sides = {"positive": every[self.signs != -1], "negative": every[self.signs != 1]}
        bounds, found, work = [0.0], [], 0.0
        cost = n_words(table.n_rows) * net.shape[1]
        for direction, among in sides.items():
            if not len(among):
                continue
            options |= {
                "direction": direction,
                "max_length": longest,
                "top": MAX_LISTED_CONJUNCTIONS,
            }
            options["length_factor"] = divisors
            if isinstance(self.rows, Groups):
                parts = self.rows.parts(net)
                result = mine_partitioned(*parts, len(among), among=among, **options)
            else:
                options["max_evaluated"] = max(most - work, 0.0) / cost
                result = mine_conjunctions(table.select(among), net, **options)
                work += float(result.n_evaluated) * cost
            bounds.append(max(result.bound, float(result.scores.max(initial=0.0))))
            pairs = zip(result.scores.tolist(), result.conjunctions, strict=True)
            found += [Found(score, tuple(among[list(w)].tolist())) for score, w in pairs]
        best_first = sorted(found, key=lambda one: (-one.score, one.node))
        return Proof(max(bounds), best_first), work

    def best(self, net: FloatArray, least: float, *, every: bool) -> list[Found]:  # noqa: ARG002
        """Return the best propositions."""
        return self._mined(net, 1)[0].found

    def prove(
        self,
        net: FloatArray,
        threshold: float,
        deadline: Deadline,
        enough: int,  # noqa: ARG002
    ) -> Proof:
        """Bound the scores of all conjunctions, or find some above the threshold.

        Longer conjunctions are searched if no short one is found, in partitions at once.
        """
        while True:
            short = self.longest
            if not isinstance(self.rows, Groups):
                short = min(SHORT_LENGTH, short)
            most = MAX_LISTED_WORK if short > 2 else math.inf
            options = {"threshold": threshold, "time_limit": deadline}
            proof, work = self._mined(net, short, most, **options)
            if work > most:
                self.longest = 2
            elif self.longest == short:
                return proof
            elif proof.found or not self.proves:
                return Proof(math.inf, proof.found)
            else:
                most = MAX_LISTED_WORK - self.work
                proof, work = self._mined(net, self.longest, most, **options)
                if work <= most:
                    self.work += work
                    return proof
                self.longest = short

    def divide_at(self, nodes: list[Node]) -> None:
        """Do nothing: propositions are listed."""


def powers(options: Options, longest: int = MAX_CONJUNCTION_LENGTH + 1) -> FloatArray:
    """Return (1 + a)^l, the weights of conjunctions of l = 0, 1, … propositions in the norm."""
    with np.errstate(over="ignore"):
        found = (1 + options.depth_penalty) ** np.arange(longest + 1.0)
    return np.minimum(found, MAX_PENALTY)


def longest_of(table: Any, n_functions: int = 1) -> int:
    """Return the length of the longest conjunctions that are searched: 2 in large tables."""
    if not isinstance(table, OrderedTable):
        return MAX_CONJUNCTION_LENGTH
    n, m = len(table.columns), table.n_rows
    large = is_large(n, m) or n_functions * m * n**3 > MAX_TRIPLE_WORK
    return 2 if large or isinstance(table, GroupTable) else MAX_CONJUNCTION_LENGTH


def is_large(n_columns: int, n_rows: int) -> bool:
    """Return True if only pairs of propositions are searched in a table of this size."""
    return n_columns > MAX_TRIPLE_COLUMNS or n_columns * n_rows > MAX_TRIPLE_ENTRIES


def scope_of(table: Any, n_functions: int = 1, proven_length: int | None = None) -> str:
    """Return the set of conjunctions that a proof covers, in words.

    ``proven_length`` is that of a :class:`GrownSolution`.

    >>> scope_of(OrderedTable([], 0, np.zeros((0, 0))))
    'all conjunctions of its propositions, cut at every gap between two values'
    """
    longest = proven_length or longest_of(table, n_functions)
    least = f" of at most {longest} conditions" if longest < MAX_CONJUNCTION_LENGTH else ""
    cuts = f", cut at {table.cuts}" if isinstance(table, OrderedTable) else ""
    more = ", and the longer ones that were found" if proven_length else ""
    return f"all conjunctions{least} of its propositions{cuts}{more}"


def proven_length(search: Any) -> int | None:
    """Return the limit of lengths for the last proof of a search, if it would take too long."""
    if isinstance(search, ListedSearch):
        return search.longest if search.longest < MAX_CONJUNCTION_LENGTH else None
    return 2 if isinstance(search, OrderedSearch) and search.only_pairs else None


def searched(rows: Rows, options: Options, n_functions: int) -> OrderedSearch | ListedSearch:
    """Return the search over the conjunctions of the rows, with the required signs."""
    table: Any = rows.table
    signs = options.signs
    if not isinstance(table, OrderedTable):
        asked = None if signs is None else signs.propositions
        return ListedSearch(rows, options.depth_penalty, asked, options.proves)
    sides = sides_of(table, None if signs is None else signs.propositions)
    longest = min(longest_of(table, n_functions), int(np.count_nonzero(sides)))
    divisors = powers(options, longest)
    if not isinstance(rows, Groups):
        return OrderedSearch(table, divisors, sides, max_work=MAX_PROOF_WORK)
    return SummedSearch(table, divisors, sides, grouped=rows.parts)


def grow_lasso(
    rows: Rows,
    options: Options,
    tol: float,
    enough: float,
    deadline: Deadline,
    start: GrownSolution | None,
    report: Report,
) -> GrownSolution:
    """Solve the problem over all conjunctions to the relative duality gap ``enough``.

    Features are added as if the gap were to fall to ``tol``.
    After the deadline, a limit or Ctrl-C the best solution so far is returned, with its gap.
    """
    loss, active = rows.loss(options), Active(rows, options)
    search = searched(rows, options, loss.n_functions)
    intercept = loss.cold
    if start is not None:
        known = start.weights
        listed = {one for own in known for one, weight in own.items() if weight}
        nodes = sorted((one for one in listed if isinstance(one, tuple)), key=lambda v: (len(v), v))
        active.enter(nodes, len(nodes))
        active.others = sorted(one for one in listed if isinstance(one, int))
        active.weights = {one: np.array([own.get(one, 0.0) for own in known]) for one in listed}
        intercept = start.solution.intercept
    history: list[GrowthStep] = []
    kept: tuple[LassoSolution, list[Node], list[int]] | None = None
    gap, best, status, sharper = 1.0, 0.0, "", 1.0
    try:
        with interruptible():
            while not status:
                inner = sharper * max(tol / 2, min(MAX_ROUND_GAP, ROUND_GAP_SHARE * gap))
                if rows.split_groups(active.nodes, active.others, deadline if kept else UNLIMITED):
                    loss, active.curvature = rows.loss(options), None
                solution = solve_group_lasso(
                    active.columns(deadline),
                    active.penalties,
                    loss,
                    tol=inner,
                    start=(active.start(loss.n_functions), intercept),
                    signs=active.signs,
                    curvature=active.known_curvature(),
                    deadline=deadline,
                )
                if (curvature := solution.curvature) is not None:
                    names = active.features
                    active.curvature = curvature, [names[j] for j in curvature.features.tolist()]
                intercept = solution.intercept
                if kept is None or solution.objective <= kept[0].objective:
                    kept = solution, [*active.nodes], [*active.others]
                active.update(solution.weights)
                outside = _Outside(rows, options, search, loss, solution, tol)
                lacking, bound = outside.lacking(deadline, exact=inner <= tol / 2)
                best = max(best, bound)
                gap = relative_gap(kept[0].objective, best)
                history.append(
                    GrowthStep(
                        len(active.features),
                        kept[0].objective,
                        gap,
                        len(lacking),
                        deadline.taken(),
                        len(active.weights),
                    )
                )
                report(0, history[-1])
                if gap <= enough:
                    status = "optimal"
                elif deadline.over() or outside.out_of_time:
                    status = "time_limit"
                else:
                    room = max(MIN_GROWTH, int(GROWTH_SHARE * len(active.nodes)))
                    room = min(room, options.max_nodes - len(active.nodes))
                    entered = active.enter([w for w in lacking if isinstance(w, tuple)], room)
                    fresh = [j for j in lacking if isinstance(j, int) and j not in active.others]
                    active.others += fresh
                    search.divide_at(active.nodes)
                    if entered or fresh:
                        sharper = 1.0
                    elif room <= 0 and lacking:
                        status = "node_limit"
                    elif inner > tol / 2:
                        gap = 0.0
                    elif not options.proves:
                        status = "unproven"
                    elif sharper > MIN_MISSING_GAP_SHARE:  # the solution was not accurate enough
                        sharper /= 4
                    else:
                        status = "iteration_limit"
    except (KeyboardInterrupt, TimeIsOver) as ended:
        status = "time_limit" if isinstance(ended, TimeIsOver) else "interrupted"
        if kept is None:
            raise
    assert kept is not None
    found, nodes, others = kept
    gap = relative_gap(found.objective, best)
    K = loss.n_functions
    as_before = HierarchicalSolution(
        [*np.ascontiguousarray(found.weights.T)],
        found.intercept,
        found.objective,
        found.lower_bound,
        found.dual,
        [found.square],
        [],
        found.iterations,
        found.status,
    )
    every = [nodes] * K, [others] * K
    tried, length = [*active.tried], proven_length(search)
    return GrownSolution(*every, as_before, best, gap, [history], status, tried, length)


class _Outside:
    """The features that a solution lacks, and the bound that it proves."""

    def __init__(
        self,
        rows: Rows,
        options: Options,
        search: OrderedSearch | ListedSearch,
        loss: Loss,
        solution: LassoSolution,
        tol: float,
    ) -> None:
        self.rows, self.options, self.search = rows, options, search
        self.loss, self.solution = loss, solution
        beta = solution.dual.reshape(len(solution.dual), -1)
        examples, n = rows.examples, rows.table.n_rows
        self.net = np.stack([np.bincount(examples.kind, own, n) for own in beta.T], axis=1).astype(
            np.float64
        )
        total = 2 * (
            loss.conjugate(solution.dual) - (1 - MISSING_GAP_SHARE * tol) * solution.objective
        )
        self.threshold = float(np.sqrt(max(total, solution.square, 1e-300)))
        signs = None if options.signs is None else options.signs.others
        sums = examples.others.T @ beta
        penalties = np.full(len(sums), options.other_penalty)
        self.others = dual_norms(sums, penalties, signs)
        self.out_of_time = False

    def lacking(self, deadline: Deadline, *, exact: bool) -> tuple[list[Node | int], float]:
        """Return features that exceed the allowed norm, the worst first, and a lower bound."""
        if not self.solution.dual.any():  # smaller than rounding errors
            return [], 0.0
        over = np.flatnonzero(self.others > self.threshold)
        wanted = [Found(float(self.others[j]), (-1 - j,)) for j in over.tolist()]
        best = self.search.best(self.net, self.threshold, every=exact)
        found = [one for one in best if one.score > self.threshold]
        bound, summed = 0.0, isinstance(self.search, SummedSearch)
        proves = self.options.proves or isinstance(self.search, ListedSearch)  # it finds pairs
        if summed or (proves and exact and not found and not wanted):
            proving = deadline if summed else deadline.part(PROOF_TIME_SHARE)
            proof = self.search.prove(self.net, self.threshold, proving, MIN_GROWTH)
            self.out_of_time = proving.over() and not proof.found
            found = proof.found
            if np.isfinite(proof.bound):
                largest = max(proof.bound, float(self.others.max(initial=0.0)), self.longer())
                square = max(largest**2, self.solution.square)
                bound = self.loss.bound(self.solution.dual, square)[1]
                bound = min(bound, self.solution.lower_bound)
        every = sorted([*wanted, *found], key=lambda one: -one.score)
        nodes = [-1 - one.node[0] if one.node[0] < 0 else one.node for one in every]
        return nodes, bound

    def longer(self) -> float:
        """Bound the scores of conjunctions that are longer than the searched ones."""
        longest = longest_of(self.rows.table, self.net.shape[1])
        if longest < MAX_CONJUNCTION_LENGTH or proven_length(self.search):
            return 0.0
        above, below = np.maximum(self.net, 0.0).sum(axis=0), np.maximum(-self.net, 0.0).sum(axis=0)
        most = float(np.linalg.norm(np.maximum(above, below)))
        return float(most / powers(self.options)[MAX_CONJUNCTION_LENGTH + 1])
