"""Playing the game of a preference learner: columns come in, until no better answer exists.

With exact columns, every epoch solves the restricted game and asks for the columns that answer the
row player's strategy p best, in the whole game.  What the best of them pays is an upper bound of
the value V* for every p, and what the column player secures is a lower bound,

    V_t ≤ V* ≤ min_t max_columns (pᵀM),

so the difference proves how good the hypothesis is.  With random columns, a budget of them is
drawn, those without weight are replaced in every epoch, and there is one bound, at the end.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from formulakern.learning.prl.features import FeatureFamily, Priced
from formulakern.learning.prl.restricted_game import Column, RestrictedGame, Solution

__all__ = ["ZERO", "Epoch", "Played", "Player"]

#: Columns of a weight below this share of the largest one count as unused,
UNUSED = 1e-5
#: and from so many budgets of columns on, those unused for longest are dropped.
CROWDED = 15
#: Some columns that are drawn are there already; so often the rest is drawn again.
REFILLS = 8
#: A restricted game is solved again, a hundred times as exactly, until this share of the usual.
SHARPEST = 1e-9
#: Seconds that finding a solution with few rules may always take.
LEAST_PATIENCE = 10.0
#: A value below this share of the largest payoff is 0.
ZERO = 1e-7


@dataclass(frozen=True)
class Epoch:
    """One epoch: what is secured and what is possible.

    Parameters
    ----------
    value : float
        V_t, the best margin so far.
    bound : float
        No hypothesis over all columns has a larger margin; inf where it was not computed.
    columns, support : int
        Columns in the restricted game, and those of positive weight.
    seconds : float
        Since the start.
    """

    value: float
    bound: float
    columns: int
    support: int
    seconds: float


@dataclass(eq=False)
class Played:
    """The best strategies found.

    Parameters
    ----------
    columns : list of Column
        Those of positive weight.
    weights : list of float
    solution : Solution
    bound : float
    reason : {"optimal", "epochs", "time", "interrupted", "columns"}
        Why it ended; "columns": there were no new ones.
    history : list of Epoch
    """

    columns: list[Column] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    solution: Solution | None = None
    bound: float = np.inf
    reason: str = "epochs"
    history: list[Epoch] = field(default_factory=list)

    @property
    def value(self) -> float:
        """The margin that is secured."""
        return -np.inf if self.solution is None else self.solution.value


class Player:
    """Plays a game to its end.

    Parameters
    ----------
    game : RestrictedGame
    family : FeatureFamily
    budget : int
        Columns that come in per epoch (exact), or that are held (random).
    epochs : int
    tol : float
        Stop when bound − value is at most this share of the bound.
    time_limit : float or None
        Seconds.
    tell : callable
        Called with every :class:`Epoch`.
    """

    def __init__(
        self,
        game: RestrictedGame,
        family: FeatureFamily,
        budget: int,
        epochs: int,
        tol: float,
        time_limit: float | None,
        tell: Callable[[Epoch], None],
    ) -> None:
        self.game, self.family, self.unit = game, family, family.unit
        self.budget, self.epochs, self.tol = budget, epochs, tol
        self.time_limit, self.tell = time_limit, tell
        self.started = time.perf_counter()
        self.played = Played()

    def exact(self) -> Played:
        """Best responses until the gap closes."""
        return self._until_interrupted(self._exact)

    def random(self, generator: np.random.Generator) -> Played:
        """The published algorithm: random columns, a fixed budget, a number of epochs."""
        return self._until_interrupted(lambda: self._random(generator))

    def _until_interrupted(self, run: Callable[[], None]) -> Played:
        try:
            run()
        except KeyboardInterrupt:
            if not self.played.history:
                raise
            self.played.reason = "interrupted"
            warnings.warn(
                f"interrupted after {len(self.played.history)} epochs: the best hypothesis so far "
                "is kept.",
                stacklevel=5,
            )
        return self.played

    def _exact(self) -> None:
        played, game = self.played, self.game
        solution = game.start()
        self._without_rules(solution)
        idle, sharper = np.zeros(0, dtype=np.int64), 1.0
        for _ in range(self.epochs):
            priced = self._price(solution)
            if self._closed():
                played.reason = "optimal"
                break
            if played.history and (not priced.proven or self._late()):
                played.reason = "time"
                break
            fresh = [c for c in priced.columns if game.add(c, self.family.values(c.feature))]
            if not game.columns:  # there is none that pays anything
                self._remember(solution)
                played.reason = "optimal" if priced.proven else "time"
                break
            if not fresh:  # what pays is there already: this game was not solved well enough
                sharper /= 100
                if sharper < SHARPEST or game.solver != "linprog":
                    played.reason = "columns"
                    break
            solution = game.solve(max(self._accuracy() * sharper, 1e-13), self.played.value)
            self._remember(solution)
            self._report()
            idle = np.append(idle, np.zeros(len(fresh), np.int64)) + 1
            idle[solution.q > UNUSED * solution.q.max(initial=0.0)] = 0
            if len(idle) > CROWDED * self.budget:
                longest = np.argsort(-idle, kind="stable")[: self.budget]
                kept = np.ones(len(idle), dtype=np.bool_)
                kept[longest[idle[longest] > 0]] = False
                game.keep(kept)
                idle = idle[kept]
        else:
            self._price(solution)
            played.reason = "optimal" if self._closed() else "epochs"
        self._thin()
        if played.reason in ("epochs", "columns") and self._closed():  # a corner is more exact
            played.reason = "optimal"
        if played.history:  # the last bound belongs to the last value
            played.history[-1] = self._epoch()

    def _without_rules(self, solution: Solution) -> None:
        """Slack alone secures a margin, which rules must improve upon."""
        if self.game.C is not None:
            self._remember(solution)

    def _thin(self) -> None:
        """An optimal hypothesis of few rules in place of one in the middle of all optimal ones."""
        played, game = self.played, self.game
        if played.solution is None or game.solver != "linprog":
            return
        place_of = {column: j for j, column in enumerate(game.columns)}
        used = np.array([place_of[c] for c in played.columns if c in place_of], dtype=np.intp)
        if len(used):
            thin = game.vertex(used, self._patience())
            if (
                thin is not None
                and thin.value >= played.value * (1 - self.tol / 10) - ZERO * self.family.unit
            ):
                self._remember(thin, at_any_rate=True)

    def _random(self, generator: np.random.Generator) -> None:
        played, game = self.played, self.game
        solution = None
        self._without_rules(game.start())
        for _ in range(self.epochs):
            if solution is not None and (solution.q > 0).any():
                game.keep(solution.q > UNUSED * solution.q.max())
            if not self._refill(generator) and solution is not None:
                played.reason = "columns"
                break
            if not game.columns:
                break
            every = np.arange(len(game.columns))
            exact = game.solver == "linprog"  # a corner, so that most columns have no weight
            corner = game.vertex(every, self._patience()) if exact else None
            solution = game.solve() if corner is None else corner
            self._remember(solution)
            self._report()
            if self._late():
                played.reason = "time"
                break
        if solution is not None:
            self._price(solution)
            played.history[-1] = self._epoch()

    def _refill(self, generator: np.random.Generator) -> int:
        """Draw columns until there are as many as the budget; how many were new."""
        game, before = self.game, len(self.game.columns)
        for _ in range(REFILLS):
            held = len(game.columns)
            if held == self.budget:
                break
            for column in self.family.draw(game.preferences, self.budget - held, generator):
                game.add(column, self.family.values(column.feature))
        return len(game.columns) - before

    def _price(self, solution: Solution) -> Priced:
        """Best responses to a strategy; lowers the bound."""
        played = self.played
        secured = max(played.value, solution.value if played.solution is None else -np.inf)
        threshold = max(secured * (1 + self.tol / 2), ZERO * self.unit)
        left = None
        if self.time_limit is not None:
            left = max(self.time_limit - (time.perf_counter() - self.started), 0.05)
        pull = self.game.preferences.pull(solution.p)
        priced = self.family.price(pull, threshold, self.budget, left, None)
        played.bound = min(played.bound, max(priced.best, solution.slack_bound))
        return priced

    def _patience(self) -> float:
        """Seconds that are given to finding a corner: about what the game took until now."""
        return max(LEAST_PATIENCE, time.perf_counter() - self.started)

    def _accuracy(self) -> float:
        """How exactly a restricted game is worth solving, while the gap is what it is."""
        played = self.played
        gap = 1.0 if played.solution is None else 1.0 - max(played.value, 0.0) / played.bound
        return min(max(0.1 * gap, 0.03 * self.tol, 1e-9), 5e-2)

    def _closed(self) -> bool:
        played = self.played
        if played.solution is None:
            return False
        gap = played.bound - played.value
        return gap <= max(self.tol * played.bound, 4 * ZERO * self.unit)

    def _late(self) -> bool:
        taken = time.perf_counter() - self.started
        return self.time_limit is not None and taken >= self.time_limit

    def _remember(self, solution: Solution, at_any_rate: bool = False) -> None:
        played = self.played
        if at_any_rate or played.solution is None or solution.value >= played.value:
            places = np.flatnonzero(solution.q > UNUSED * solution.q.max(initial=0.0)).tolist()
            played.columns = [self.game.columns[j] for j in places]
            played.weights = solution.q[places].tolist()
            played.solution = solution

    def _epoch(self) -> Epoch:
        played = self.played
        return Epoch(
            played.value,
            played.bound,
            len(self.game.columns),
            len(played.columns),
            time.perf_counter() - self.started,
        )

    def _report(self) -> None:
        self.played.history.append(self._epoch())
        self.tell(self.played.history[-1])
