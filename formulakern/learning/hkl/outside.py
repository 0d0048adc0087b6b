"""What stands outside the set in the way of a solution on it, and the bound that follows."""

from __future__ import annotations

from typing import Any

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.deadline import TimeIsOver
from formulakern.learning.hkl.found_fast import standing_out
from formulakern.learning.hkl.frontier import Frontier, Node
from formulakern.learning.hkl.groups import PiecedFrontier
from formulakern.solvers.hierarchical.losses import Loss
from formulakern.solvers.hierarchical.solve import HierarchicalSolution

__all__ = ["OutsideSearch"]


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
        offset = None if options["offset"] is None else options["offset"][used]
        values = np.asarray(y, float)[used]
        self.loss = Loss(options["loss"], values, options["C"] * share, offset)
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
