r"""From a game to the hypothesis that is kept: of few rules, and usable where none separates.

Let V(S) be the value of the game over the columns S, that is

    1/V(S) = min Σ_{k ∈ S} λ_k + C Σ_i w_i ξ_i   with (Mλ)_i ≥ 1 − ξ_i,  λ, ξ ≥ 0,

and V* ≥ V(S) the value over all columns.  Wanted is S of at most k columns with the largest V(S);
weights are refitted for every S that is looked at.  The search is that of
:mod:`formulakern.learning.selection`; columns are promising if they pay most against the row
player's optimal strategy over S, that is, have the largest reduced cost, priced exactly.

V(S) is what S secures and the bound of V* holds for every hypothesis, so their difference says how
much the limit can cost at most.  The feature that is always true is free: it is in every S.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from formulakern.deadline import Deadline
from formulakern.learning.prl.column_generation import ZERO, ColumnGeneration, Outcome
from formulakern.learning.prl.features import FeatureFamily
from formulakern.learning.prl.restricted_game import Column, RestrictedGame, Solution
from formulakern.learning.selection import Selection

__all__ = ["ColumnSelection", "best_hypothesis"]

#: Share of the time for the game without a limit of rules, where there is one.
GAME = 0.5
#: The columns that pay most, of which each is tried.
TRIED = 8
#: Relative gap of the linear programs on the way, and of the last one.
ROUGHLY = 1e-6
EXACTLY = 1e-10


@dataclass(frozen=True, eq=False)
class Chosen:
    """Columns, heaviest first, the free ones of the same game, and optimal strategies.

    Parameters
    ----------
    kept, free : tuple of Column
    solution : Solution
        Of the game of these columns, in this order.
    """

    kept: tuple[Column, ...]
    free: tuple[Column, ...]
    solution: Solution

    @property
    def value(self) -> float:
        """V(S)."""
        return self.solution.value


@dataclass(eq=False)
class ColumnSelection(Selection[Chosen]):
    """Choose at most ``most`` of the columns of a game.

    Parameters
    ----------
    support, most, deadline :
        Columns without the free ones, k and the time limit; see :class:`.Selection`.
    game : RestrictedGame
        With a soft margin; more columns come in as they are priced.
    family : FeatureFamily
    """

    better = apart = 1e-5

    game: RestrictedGame
    family: FeatureFamily

    def solved(self, kept: Sequence[Column], before: Chosen | None = None) -> Chosen:  # noqa: ARG002
        """Solve the game of these columns and of the free ones that it needs."""
        while True:
            free = tuple(filter(self.family.free, self.game.columns))
            solution = self.game.start()
            if columns := [*kept, *free]:
                some = self.game.of(columns, self.game.C)
                solution = some.solve(ROUGHLY, deadline=self.deadline)
            if not self._add_free(solution):
                break
        order = np.argsort(-solution.q[: len(kept)], kind="stable").tolist()
        q = solution.q[[*order, *range(len(kept), len(columns))]]
        return Chosen(tuple(kept[j] for j in order), free, replace(solution, q=q))

    def promising(self, chosen: Chosen) -> list[Column]:
        """Return the columns that pay most against the row player's strategy.

        If no column pays more than the value, V(S) is V*.
        """
        weights = self.game.preferences.row_weights(self.game.divided(chosen.solution.p))
        threshold = max(chosen.value, 0.0)
        priced = self.family.price(weights, threshold, TRIED, self.deadline)
        self.family.enter(self.game, priced.columns)
        payoffs = self.game.divided(chosen.solution.p) @ self.game.unscaled * self.game.scales
        order = np.argsort(-payoffs, kind="stable")
        paying = [self.game.columns[j] for j in order[payoffs[order] > threshold].tolist()]
        inside = set(chosen.kept)
        return [c for c in paying if c not in inside and not self.family.free(c)][:TRIED]

    def improves(self, chosen: Chosen, before: Chosen, share: float = 0.0) -> bool:
        """Whether the value is larger."""
        return chosen.value > before.value * (1 + share)

    def _add_free(self, solution: Solution) -> bool:
        """Add the free column that pays most, if it pays and is new."""
        weights = self.game.preferences.row_weights(solution.p)
        best = self.family.best_free(weights)
        if best is None or best[1] <= solution.value * (1 + self.better):
            return False
        return self.game.add(best[0], self.family.values(best[0].feature))


def best_hypothesis(
    generation: ColumnGeneration,
    C: float,
    most: int | None = None,
) -> Outcome:
    """Solve a game; then choose at most so many columns, and soften a hard margin of value 0.

    Value and bound stay those of the hard margin.  The iterated solvers need no softening: their
    mean strategies are a usable vote.

    Parameters
    ----------
    generation : ColumnGeneration
    C : float
        The penalty parameter of the soft margin that takes the place of a hard one of value 0.
    most : int or None
        Columns of the hypothesis, the bias not counted; None for any number.
    """
    outcome = (generation if most is None else generation.within(GAME)).run()
    game, unit = generation.game, generation.family.unit
    if game.C is None and game.exact and outcome.value <= ZERO * unit:
        generation = generation.softened(C)
        soft = generation.run()
        reason = soft.reason if soft.reason in ("interrupted", "time") else "inseparable"
        columns, weights = soft.columns, soft.weights
        outcome = replace(outcome, columns=columns, weights=weights, reason=reason, softened=True)
    return outcome if most is None else _limited(generation, outcome, C, most)


def _limited(generation: ColumnGeneration, outcome: Outcome, C: float, most: int) -> Outcome:
    """The best columns of a game that was solved, at most so many, with their exact weights."""
    game, family = generation.game, generation.family
    soft = game.of(game.columns, C if game.C is None else game.C)
    heaviest = np.argsort(-np.array(outcome.weights), kind="stable").tolist()
    support = [outcome.columns[j] for j in heaviest if not family.free(outcome.columns[j])]
    if len(support) <= most:
        return outcome
    selection = ColumnSelection(support, most, generation.deadline, soft, family)
    best, reason = selection.run(), outcome.reason
    if selection.interrupted:
        reason = "interrupted"
        warnings.warn("interrupted: the best rules so far are kept.", stacklevel=5)
    columns = [*best.kept, *best.free]
    solution = _exact(soft.of(columns, game.C), generation.deadline)
    weights, softened = solution.q, outcome.softened
    if game.C is None and solution.value <= ZERO * family.unit:
        weights, softened = _exact(soft.of(columns, C), generation.deadline).q, True
    return replace(
        outcome,
        columns=columns,
        weights=weights.tolist(),
        solution=outcome.solution if outcome.softened else solution,
        reason=reason,
        softened=softened,
    )


def _exact(game: RestrictedGame, deadline: Deadline) -> Solution:
    """Optimal strategies over all columns that a restricted game has."""
    every = np.arange(len(game.columns))
    basic = None if deadline.over() else game.basic_solution(every, deadline)
    return game.solve(EXACTLY) if basic is None else basic
