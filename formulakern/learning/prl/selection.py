r"""The best hypothesis of few columns, in a game that column generation has solved.

Let V(S) be the value of the game over the columns S, that is

    1/V(S) = min Σ_{k ∈ S} λ_k + C Σ_i w_i ξ_i   with (Mλ)_i ≥ 1 − ξ_i,  λ, ξ ≥ 0,

and V* ≥ V(S) the value over all columns.  Wanted is S of at most k columns with the largest V(S);
weights are refitted for every S that is looked at.  To find the best S is NP-hard (sparse
approximation: B. K. Natarajan, "Sparse approximate solutions to linear systems", SIAM Journal on
Computing 24, 1995, doi:10.1137/S0097539792240406).  So two starts are improved by exchanges:

* *forward*: from no column on, the best of those that pay most against the row player's optimal
  strategy over S (the columns of largest reduced cost, priced exactly) comes in;
* *backward*: from the optimal support on, those of least weight go, a tenth at a time;
* *exchange*: one column goes, the best of those that pay most against the strategy without it comes
  in, as long as V(S) grows.

V(S) is what S secures and the bound of V* holds for every hypothesis, so their difference says how
much the limit can cost at most.  The feature that is always true is free: it is in every S.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from formulakern.deadline import Deadline
from formulakern.learning.prl.features import FeatureFamily
from formulakern.learning.prl.restricted_game import Column, RestrictedGame, Solution

__all__ = ["Chosen", "ColumnSelection"]

#: Columns that pay most, of which each is tried,
TRIED = 8
#: and what the value has to grow by, as a share.
BETTER = 1e-5
#: Columns that leave at a time on the way back from the optimal support.
LEAVING = 0.1
#: Relative gap of the linear programs on the way.
ROUGHLY = 1e-6


@dataclass(frozen=True, eq=False)
class Chosen:
    """Some columns and their optimal strategies.

    Parameters
    ----------
    columns : tuple of Column
        Those that count, then those that are free.
    solution : Solution
        Of the game of these columns.
    """

    columns: tuple[Column, ...]
    solution: Solution

    @property
    def value(self) -> float:
        """V(S)."""
        return self.solution.value


@dataclass(eq=False)
class ColumnSelection:
    """Chooses at most so many of the columns of a game.

    Parameters
    ----------
    game : RestrictedGame
        With a soft margin; more columns come in as they are priced.
    family : FeatureFamily
    support : list of Column
        Those of an optimal strategy, heaviest first, without the free ones.
    most : int
        k.
    deadline : Deadline
        Then it is content with what is found.

    Attributes
    ----------
    best : Chosen
        The best until now.
    """

    game: RestrictedGame
    family: FeatureFamily
    support: list[Column]
    most: int
    deadline: Deadline
    best: Chosen = field(init=False)

    def __post_init__(self) -> None:
        self.best = self._solved(self.support[: self.most])

    def run(self) -> None:
        """Improve two starts by exchanges."""
        self._exchanged(self._backward())
        self._exchanged(self._forward(self._solved([])))

    def _forward(self, chosen: Chosen) -> Chosen:
        """Columns come in until there are enough."""
        while len(self._counted(chosen)) < self.most and not self.deadline.over():
            larger = self._with_one_more(chosen)
            if larger is None:
                break
            chosen = larger  # also where only two together are worth something
        return self._remember(chosen)

    def _backward(self) -> Chosen:
        """The columns of least weight go until there are few enough."""
        chosen = self._solved(self.support)
        while len(kept := self._counted(chosen)) > self.most and not self.deadline.over():
            leaving = max(1, min(int(LEAVING * len(kept)), len(kept) - self.most))
            chosen = self._solved(kept[:-leaving])
        return self._forward(self._solved(kept[: self.most]))

    def _exchanged(self, chosen: Chosen) -> None:
        """One goes and another comes, while the value grows."""
        improved = True
        while improved and not self.deadline.over():
            improved = False
            kept = self._counted(chosen)
            for column in reversed(kept):  # the one of least weight first
                if self.deadline.over():
                    break
                others = self._solved([other for other in kept if other != column])
                better = self._with_one_more(others)
                if better is not None and better.value > chosen.value * (1 + BETTER):
                    chosen, improved = self._forward(better), True
                    break

    def _with_one_more(self, chosen: Chosen) -> Chosen | None:
        """The best with one of the columns that pay most against the row player's strategy.

        None where no column pays more than the value: then V(S) is V*.
        """
        weights = self.game.preferences.row_weights(self.game.divided(chosen.solution.p))
        threshold = max(chosen.value, 0.0)
        priced = self.family.price(weights, threshold, TRIED, self.deadline)
        self.family.enter(self.game, priced.columns)
        payoffs = self.game.divided(chosen.solution.p) @ self.game.unscaled * self.game.scales
        order = np.argsort(-payoffs, kind="stable")
        inside, best = set(chosen.columns), None
        fresh = (
            self.game.columns[j]
            for j in order[payoffs[order] > threshold].tolist()
            if self.game.columns[j] not in inside and not self.family.free(self.game.columns[j])
        )
        counted = self._counted(chosen)
        for _, column in zip(range(TRIED), fresh, strict=False):
            tried = self._solved([*counted, column])
            if best is None or tried.value > best.value * (1 + BETTER):
                best = tried
        return best

    def _solved(self, counted: list[Column]) -> Chosen:
        """The game of these columns and of the free ones that it needs; heaviest first."""
        while True:
            columns = [*counted, *filter(self.family.free, self.game.columns)]
            solution = self.game.start()
            if columns:
                some = self.game.of(columns, self.game.C)
                solution = some.solve(ROUGHLY, deadline=self.deadline)
            if not self._add_free(solution):
                break
        order = np.argsort(-solution.q[: len(counted)], kind="stable").tolist()
        order += range(len(counted), len(columns))
        ordered = tuple(columns[j] for j in order)
        return Chosen(ordered, replace(solution, q=solution.q[order]))

    def _add_free(self, solution: Solution) -> bool:
        """Add the free column that pays most, if it pays and is new."""
        weights = self.game.preferences.row_weights(solution.p)
        best = self.family.best_free(weights)
        if best is None or best[1] <= solution.value * (1 + BETTER):
            return False
        return self.game.add(best[0], self.family.values(best[0].feature))

    def _remember(self, chosen: Chosen) -> Chosen:
        if chosen.value > self.best.value and len(self._counted(chosen)) <= self.most:
            self.best = chosen
        return chosen

    def _counted(self, chosen: Chosen) -> list[Column]:
        return [column for column in chosen.columns if not self.family.free(column)]
