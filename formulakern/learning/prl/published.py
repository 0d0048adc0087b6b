"""The published dynamics of preference learners: random columns, and iterated play of the games.

A fixed budget of columns is drawn, the restricted game is solved by fictitious play, columns
without weight are replaced, and the best hypothesis of all epochs is kept.  There is one bound, at
the end.

M. Polato, F. Aiolli, "Interpretable preference learning: a game theoretic framework for large
margin on-line feature and rule learning", AAAI 33, 2019, doi:10.1609/aaai.v33i01.33014723.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

import numpy as np

from formulakern.deadline import UNLIMITED, Deadline
from formulakern.errors import ParameterError
from formulakern.learning.prl.column_generation import ColumnGeneration, used
from formulakern.learning.prl.restricted_game import RestrictedGame, Solution
from formulakern.solvers.games import solve_game

__all__ = ["IteratedGame", "RandomColumns"]

#: The slack columns are held as a matrix; it has at most this number of entries.
MAX_ENTRIES = 1 << 28
#: Some drawn columns are known already; the rest is drawn again at most this often.
REFILLS = 8


@dataclass(eq=False)
class IteratedGame(RestrictedGame):
    """A restricted game whose strategies are the means of many rounds.

    Parameters
    ----------
    solver : {"fictitious-play", "multiplicative-weights"}
    max_iter : int
        Rounds.
    """

    _: KW_ONLY
    solver: Literal["fictitious-play", "multiplicative-weights"] = "fictitious-play"
    max_iter: int = 1_000_000
    exact: ClassVar[bool] = False

    def solve(
        self,
        tol: float = 0.0,  # noqa: ARG002
        secured: float = -np.inf,  # noqa: ARG002
        deadline: Deadline = UNLIMITED,
    ) -> Solution:
        """Return the mean strategies, slack columns written out.

        Raises
        ------
        ParameterError
            If the matrix with its slack columns is too large.
        """
        rows, weights, inverse = self._merged()
        k = rows.shape[1]
        if self.C is not None:
            if rows.size + len(rows) ** 2 > MAX_ENTRIES:
                raise ParameterError(
                    f"{len(rows):,} different preferences with a slack column each are too many "
                    f"for solver={self.solver!r}. Use solver='linprog', or margin='hard'."
                )
            rows = np.hstack([rows, np.diag(1.0 / (self.C * weights))])
        game = solve_game(rows, self.solver, tol=0, max_iter=self.max_iter, time_limit=deadline)
        strategy, q = np.asarray(game.row_strategy), np.asarray(game.column_strategy)[:k]
        return self._split(strategy, q, weights, inverse)


@dataclass(eq=False)
class RandomColumns(ColumnGeneration):
    """Column generation that draws a ``budget`` of columns in each epoch.

    Parameters
    ----------
    generator : numpy.random.Generator
    """

    _: KW_ONLY
    generator: np.random.Generator

    def _search(self) -> None:
        outcome, game = self.outcome, self.game
        solution, first = None, game.start()
        self._without_rules(first)
        for _ in range(self.epochs):
            if self._until.over():
                outcome.reason = "time"
                break
            if solution is not None and (solution.q > 0).any():
                game.keep(used(solution))
            if not self._refill() and solution is not None:
                outcome.reason = "columns"
                break
            if not game.columns:
                break
            every = np.arange(len(game.columns))
            # a basic solution leaves most columns without weight
            basic = game.basic_solution(every, self._patience()) if game.exact else None
            solution = game.solve(deadline=self._until) if basic is None else basic
            self._remember(solution)
            self._end_epoch()
        if solution is not None or outcome.reason == "time":
            self._price(first if solution is None else solution)
        if outcome.history:
            outcome.history[-1] = self._epoch()

    def _refill(self) -> int:
        """Draw columns up to the budget, and return the number of new ones."""
        game, before = self.game, len(self.game.columns)
        for _ in range(REFILLS):
            missing = self.budget - len(game.columns)
            if not missing:
                break
            self.family.enter(game, self.family.draw(game.preferences, missing, self.generator))
        return len(game.columns) - before
