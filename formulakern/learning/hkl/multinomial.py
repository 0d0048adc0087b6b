"""Hierarchical kernel learning of several classes together, by the multinomial logistic loss.

Every class k has a function s_k = Σ_w f_kw φ_w + b_k over all conjunctions, and

    minimise  ½ Σ_k Ω(f_k)²  +  C Σ_i s_i (ln Σ_k e^{s_k(x_i)} − s_{i,y_i}(x_i)).

Each class has a set of nodes of its own, which grows as that of a problem of two classes does
(:mod:`.active_set`): the solution on all sets (:mod:`formulakern.solvers.hierarchical.together`)
gives dual variables β_ik for every class, :mod:`.frontier` bounds their dual norms over the whole
lattice, and the sum of the squares of these gives a lower bound on the optimum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.deadline import UNLIMITED, Deadline, TimeIsOver
from formulakern.encoding.packed import PackedTable
from formulakern.interrupts import interruptible
from formulakern.learning.hkl.active_set import (
    CARE,
    FAST,
    LEAST,
    LOOSE,
    ONCE,
    SEARCHING,
    SHARE,
    GrownSolution,
    GrowthStep,
    carrying,
    relative_gap,
    solving,
    used_weights,
)
from formulakern.learning.hkl.few_rules import (
    Answer,
    FeatureSelection,
    Restriction,
    candidates,
    positions,
)
from formulakern.learning.hkl.frontier import Node, frontier_of, standing_out
from formulakern.learning.hkl.groups import Groups
from formulakern.learning.hkl.problem import GROWING, HierarchicalModel, joined_examples, shortened
from formulakern.solvers.hierarchical.norm import Lattice, read_nodes
from formulakern.solvers.hierarchical.together import (
    Together,
    dual_bound,
    multinomial_loss,
    solve_together,
)

__all__ = ["Examples", "Function", "OneClass", "learn_together"]


@dataclass(frozen=True, eq=False)
class Function:
    """The function of one class on its features; the intercept is subtracted."""

    weights: FloatArray
    intercept: float
    objective: float


@dataclass(eq=False)
class OneClass:
    """The features that one class holds, and how its searches went.

    Attributes
    ----------
    nodes : list of tuple of int
        Closed under subsets.
    held : list of int
        Features in use that are no conjunctions.
    weights : dict
        Of nodes and of the others, by number.
    columns : float64 (len(nodes) + len(held), m)
    violators, wanted : list
        What comes in next.
    found : int
        How many violators the search before found.
    pause, waiting : int
        After a failed search with shares, so many rounds go without one.
    """

    nodes: list[Node] = field(default_factory=lambda: [()])
    held: list[int] = field(default_factory=list)
    weights: dict[Node | int, float] = field(default_factory=dict)
    columns: FloatArray = field(init=False)
    lattice: Lattice = field(init=False)
    violators: list[Node] = field(default_factory=list)
    wanted: list[int] = field(default_factory=list)
    found: int = 0
    pause: int = 0
    waiting: int = 0

    @property
    def features(self) -> list[Node | int]:
        """Nodes, then the others."""
        return [*self.nodes, *self.held]

    @property
    def room(self) -> int:
        """How many nodes may come in."""
        return max(LEAST, int(SHARE * len(self.nodes)))

    def grow(self, max_nodes: int, least: int = 0) -> bool:
        """Take in what stands out, as far as there is room; whether anything was."""
        room = max(self.room, least)
        fresh = self.violators[: max(0, min(room, max_nodes - len(self.nodes)))]
        self.nodes += fresh
        self.held += self.wanted
        return bool(fresh or self.wanted)

    def start(self) -> FloatArray:
        """The last weights, 0 for what is new."""
        return np.array([self.weights.get(one, 0.0) for one in self.features])


@dataclass(frozen=True, eq=False)
class Examples:
    """The examples, and the parameters of the problem.

    Attributes
    ----------
    table, kind, others, options, groups
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
    groups: Groups | None = None

    @classmethod
    def of_groups(cls, groups: Groups, options: dict[str, Any]) -> Examples:
        """One example for each group of rows."""
        one = groups.examples
        codes, c = groups.codes.astype(np.intp), options["C"] * one.weights
        return cls(groups.table, one.kind, codes, c, one.others, options, groups)

    def columns(self, features: Sequence[Node | int]) -> FloatArray:
        """Features on the examples, one a row."""
        nodes = [one for one in features if isinstance(one, tuple)]
        rows = iter(self.table.truths(self.table.covers(nodes))[:, self.kind])
        listed = [self.others[:, one] if isinstance(one, int) else next(rows) for one in features]
        return np.array(listed, dtype=np.float64).reshape(len(features), len(self.kind))

    def prepare(self, one: OneClass) -> None:
        """Set the columns and the lattice of the features of a class."""
        one.columns = self.columns(one.features)
        rho, a = self.options["rho"], self.options["depth_penalty"]
        lattice = read_nodes(one.nodes, rho=rho, depth_penalty=a)
        one.lattice = lattice.with_others(len(one.held), self.options["other_penalty"])

    def examine(
        self,
        one: OneClass,
        beta: FloatArray,
        inside: float,
        allowed: float,
        deadline: Deadline,
        loose: bool,
        fast: bool,
    ) -> float:
        """A bound on the square of the dual norm of β over everything, and what stands out.

        Sets ``violators`` and ``wanted`` of the class.
        """
        net = np.bincount(self.kind, beta, self.table.n_rows).astype(np.float64)
        rho, a = self.options["rho"], self.options["depth_penalty"]
        beyond = np.abs(beta @ self.others) / self.options["other_penalty"]
        one.wanted = [j for j in np.flatnonzero(beyond**2 > allowed).tolist() if j not in one.held]
        if not net.any():  # no conjunction tells what β does, but numbers may
            one.violators = []
            return float(max(inside, beyond.max(initial=0.0) ** 2))
        if self.groups is not None:
            outside = self.groups.frontier(net, one.nodes, rho, a, deadline)
            square, one.violators = outside.examine(allowed, one.room, inside, loose)
            return float(max(inside, square, beyond.max(initial=0.0) ** 2))
        frontier = frontier_of(self.table, net, one.nodes, rho, a, deadline)
        if fast:
            one.violators = standing_out(frontier, allowed, max(one.room, ONCE))
            return float("inf")
        one.waiting -= 1
        sharing = one.waiting < 0 or one.found <= one.room
        square, one.violators = frontier.examine(
            allowed, one.room, inside if sharing else None, loose
        )
        if sharing:  # what failed is tried again after twice as many rounds
            one.pause = 0 if frontier.reached else 2 * one.pause + 1
            one.waiting = one.pause
        return float(max(inside, square, beyond.max(initial=0.0) ** 2))


def learn_together(
    table: PackedTable,
    kind: NDArray[np.intp],
    codes: NDArray[np.intp],
    weights: FloatArray,
    options: dict[str, Any],
    *,
    tol: float,
    max_nodes: int,
    deadline: Deadline,
    start: Sequence[GrownSolution],
    report: Callable[[int, GrowthStep], None],
    others: FloatArray,
    max_rules: int | None = None,
    groups: Groups | None = None,
) -> tuple[list[HierarchicalModel], float, float]:
    """The functions of all classes, the objective, and a lower bound on the optimum.

    Parameters
    ----------
    table, kind, weights, options, max_nodes, others
        As for :func:`.problem.learn`; nodes are those of one class.
    codes : intp (m,)
        The class of each example, from 0; every class has some.
    tol : float
        The relative duality gap to reach.
    deadline : Deadline
    start : sequence of GrownSolution
        One for each class, or none.
    report : callable
        Called with the class and every step, of which objective and gap are those of all classes.
    groups : Groups, optional
        Rows in pieces, as for :func:`.grow_hierarchical`.
    max_rules : int, optional
        If the rules of all classes are more, the best of so many (:mod:`.few_rules`) take their
        place.

    Returns
    -------
    models : list of HierarchicalModel
        One for each class.
    objective, lower_bound : float
    """
    growing = deadline if max_rules is None else deadline.part(GROWING)
    fast = growing.part(FAST) if growing.limited and groups is None else None
    searching, needed = SEARCHING, 0.0  # seconds of the last search
    K = int(codes.max()) + 1
    if groups is None:
        kind, y, weights, others = joined_examples(kind, codes.astype(np.float64), weights, others)
        codes = y.astype(np.intp)
        examples = Examples(table, kind, codes, options["C"] * weights, others, options)
    else:
        examples = Examples.of_groups(groups, options)
    classes = [OneClass() for _ in range(K)]
    for one, before in zip(classes, start, strict=False):
        one.weights = carrying(before)
        nodes = (v for v in one.weights if isinstance(v, tuple))
        one.nodes = sorted(nodes, key=lambda v: (len(v), v))
        one.held = sorted(v for v in one.weights if isinstance(v, int))
    history: list[list[GrowthStep]] = [[] for _ in classes]
    solved: list[tuple[Together, list[tuple[list[Node], list[int]]]]] = []  # the last one
    gap, best, status = 1.0, 0.0, ""
    try:
        with interruptible():
            while not status:
                if groups is not None and groups.tell_apart(
                    [v for one in classes for v in one.nodes],
                    [j for one in classes for j in one.held],
                    growing if solved else UNLIMITED,
                ):
                    examples = Examples.of_groups(groups, options)
                for one in classes:
                    examples.prepare(one)
                many = any(len(one.violators) > one.room for one in classes)
                inner = max(tol / 4, min(LOOSE, CARE * gap)) if many else tol / 4
                together = solve_together(
                    [one.columns for one in classes],
                    [one.lattice for one in classes],
                    examples.codes,
                    examples.c,
                    tol=inner,
                    start=[one.start() for one in classes],
                    deadline=solving(growing, len(history[0])),
                )
                if not solved or together.objective <= solved[0][0].objective:
                    solved = [(together, [(list(one.nodes), list(one.held)) for one in classes])]
                    for one, f in zip(classes, together.weights, strict=True):
                        one.weights = dict(zip(one.features, f.tolist(), strict=True))
                loose = inner > tol / 4
                search = partial(_searched, examples, classes, together, tol / 2, loose)
                bound, quick, given_up = 0.0, False, False
                if fast is not None:
                    search(growing.part(SEARCHING), fast=True)
                    quick = any(one.violators or one.wanted for one in classes)
                    fast = fast if quick and not fast.over() else None
                late = not quick and growing.over(needed)
                if not quick and not late:
                    begun = Deadline.clock()
                    bound, given_up = search(growing.part(searching), fast=False)
                    searching, needed = 1.0 if given_up else SEARCHING, Deadline.clock() - begun
                best = max(best, bound)  # each of them holds
                objective = solved[0][0].objective
                gap = relative_gap(objective, best)
                seconds = deadline.taken()
                for k, one in enumerate(classes):
                    size, found = len(one.features), len(one.violators) + len(one.wanted)
                    n_used = used_weights(together.weights[k])
                    step = GrowthStep(size, objective, gap, found, seconds, n_used)
                    history[k].append(step)
                    report(k, step)
                if gap <= tol / 2:
                    status = "optimal"
                elif late or (growing.over() and not (quick and len(history[0]) == 1)):
                    status = "time limit"
                else:
                    grew = [one.grow(max_nodes, ONCE if quick else 0) for one in classes]
                    if not any(grew) and given_up:
                        continue
                    if not any(grew) and not loose:  # no room, or the solver gave up
                        full = any(one.violators for one in classes)
                        status = "node limit" if full else "iteration limit"
                    elif not any(grew):
                        for one in classes:  # a loose solution is followed by a good one
                            one.violators = []
    except (KeyboardInterrupt, TimeIsOver) as ended:
        status = "time limit" if isinstance(ended, TimeIsOver) else "interrupted"
        if not solved:
            raise
    [(together, features)] = solved
    if groups is not None:  # which may have been told apart further since
        scores = [
            f @ examples.columns([*nodes, *held]) + b
            for f, b, (nodes, held) in zip(
                together.weights, together.intercepts.tolist(), features, strict=True
            )
        ]
        together = replace(together, scores=np.array(scores).T)
    parts = zip(features, together.weights, together.intercepts.tolist(), history, strict=True)
    functions = [
        GrownSolution(nodes, held, Function(f, -b, together.objective), best, gap, steps, status)
        for (nodes, held), f, b, steps in parts
    ]
    shorten = partial(
        _shortened, examples, weights=examples.c / options["C"], tol=tol, deadline=deadline
    )
    models, objective, best = shorten(functions, together, bound=best)
    if max_rules is not None:

        def tell(number: int, value: float) -> None:
            gap = relative_gap(value, best)
            report(0, GrowthStep(number, value, gap, 0, deadline.taken(), number))

        chosen = _few(examples, functions, models, max_rules, tol, deadline, tell)
        if chosen is not None:
            return shorten(*chosen, bound=best)
    return models, objective, best


def _few(
    examples: Examples,
    functions: list[GrownSolution],
    models: list[HierarchicalModel],
    most: int,
    tol: float,
    deadline: Deadline,
    tell: Callable[[int, float], None],
) -> tuple[list[GrownSolution], Together] | None:
    """The functions of the best rules, at most so many; None where there are no more anyway."""
    options, table, kind = examples.options, examples.table, examples.kind
    rho, a, penalty = (options[name] for name in ("rho", "depth_penalty", "other_penalty"))
    nodes = [node for function in functions for node in function.nodes]
    others = sorted({j for function in functions for j in function.others})
    found = candidates(nodes, others, table, kind, examples.others, a, penalty)
    listed = [(w, r) for m in models for w, r in zip(m.weights.tolist(), m.rules, strict=True)]
    listed.sort(key=lambda one: -abs(one[0]))
    support = positions(found, table, kind, [rule for _, rule in listed])
    if len(support) <= most:
        return None
    K = len(functions)

    def solve(one: Restriction, start: FloatArray) -> Answer:
        lattice = read_nodes(one.nodes, rho=rho, depth_penalty=a)
        lattice = lattice.with_others(len(one.others), penalty)
        together = solve_together(
            [one.columns] * K,
            [lattice] * K,
            examples.codes,
            examples.c,
            tol=tol / 4,
            start=list(start),
            deadline=deadline,
        )
        return Answer(np.array(together.weights), together.objective, together.beta, together)

    selection = FeatureSelection(support, most, deadline, found, solve, K, tell)
    best = selection.run()
    together, one = best.answer.solution, best.restriction
    parts = zip(functions, together.weights, together.intercepts.tolist(), strict=True)
    few = [
        replace(
            function,
            nodes=one.nodes,
            others=one.others,
            solution=Function(f, -b, together.objective),
            status="interrupted" if selection.interrupted else function.status,
        )
        for function, f, b in parts
    ]
    return few, together


def _searched(
    examples: Examples,
    classes: list[OneClass],
    together: Together,
    tol: float,
    loose: bool,
    deadline: Deadline,
    *,
    fast: bool,
) -> tuple[float, bool]:
    """A lower bound on the optimum over everything; classes learn what stands in its way.

    And whether the time was over before anything was known.
    """
    beta, codes, c = together.beta, examples.codes, examples.c
    for one in classes:
        one.found = len(one.violators)
        one.violators, one.wanted = [], []
    if not beta.any():  # rounding hides everything
        return 0.0, False
    inside = []
    for one, b, f in zip(classes, beta.T, together.weights, strict=True):
        eta = 1 / one.lattice.penalties
        eta = 0.5 * eta / eta.sum() + 0.5 * one.lattice.shares(f)
        dual = one.lattice.dual_norm(one.columns @ b, eta, tol=0.01 * tol, steps=100)
        inside.append(dual.upper**2)
    total = 2 * (dual_bound(beta, codes, c, 0.0) - (1 - tol) * together.objective)
    spare = max(0.0, total - sum(inside)) / len(classes)
    square, given_up = 0.0, False
    for k, (one, b, own) in enumerate(zip(classes, beta.T, inside, strict=True)):
        allowed, until = max(own + spare, 1e-300), deadline.part(1 / (len(classes) - k))
        try:
            beta_k = np.ascontiguousarray(b)
            square += examples.examine(one, beta_k, own, allowed, until, loose, fast)
        except TimeIsOver:
            square, given_up = np.inf, True
    bound = dual_bound(beta, codes, c, square) if np.isfinite(square) else 0.0
    return bound, given_up


def _shortened(
    examples: Examples,
    functions: list[GrownSolution],
    together: Together,
    weights: FloatArray,
    bound: float,
    tol: float,
    deadline: Deadline,
) -> tuple[list[HierarchicalModel], float, float]:
    """Drop the smallest weights of each class in turn as far as ``tol`` allows."""
    goal = max(bound / (1 - tol), together.objective / (1 - tol / 2))
    room = max(0.0, goal - together.objective) / len(functions)
    scores = together.scores.copy()
    models: list[HierarchicalModel] = []
    penalty = 0.0
    for k, function in enumerate(functions):
        y = np.where(examples.codes == k, 1.0, -1.0)
        offset = np.logaddexp.reduce(np.delete(scores, k, axis=1), axis=1)

        def loss(s: FloatArray, y: FloatArray = y, offset: FloatArray = offset) -> float:
            return float(examples.c @ np.logaddexp(0.0, -y * (s - offset)))

        rho, a = examples.options["rho"], examples.options["depth_penalty"]
        lattice = read_nodes(function.nodes, rho=rho, depth_penalty=a)
        lattice = lattice.with_others(len(function.others), examples.options["other_penalty"])
        now = 0.5 * lattice.norm(function.solution.weights) ** 2 + loss(scores[:, k])
        model = shortened(
            function,
            examples.table,
            examples.kind,
            y,
            weights,
            examples.options,
            examples.others,
            now + room,
            offset,
            deadline=deadline,
        )
        scores[:, k] = model.weights @ examples.columns(model.rules) + model.bias
        penalty += model.objective - loss(scores[:, k])
        models.append(model)
    return models, penalty + multinomial_loss(scores, examples.codes, examples.c), bound
