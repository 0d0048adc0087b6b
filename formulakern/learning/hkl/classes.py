"""What each of several classes that are learned together holds, and the examples of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.deadline import Deadline
from formulakern.encoding.packed import PackedTable
from formulakern.learning.hkl.active_set import LEAST, ONCE, SHARE
from formulakern.learning.hkl.found_fast import standing_out
from formulakern.learning.hkl.frontier import Node, frontier_of
from formulakern.learning.hkl.groups import Groups
from formulakern.solvers.hierarchical.norm import Lattice, read_nodes

__all__ = ["Examples", "Function", "OneClass"]


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
