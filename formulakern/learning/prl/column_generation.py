"""Column generation for the game of a preference learner, until no column prices out.

With exact columns, every epoch solves the restricted game and asks for the columns that answer the
row player's strategy p best, in the whole game.  What the best of them pays is an upper bound of
the value V* for every p, and what the column player secures is a lower bound,

    V_t ≤ V* ≤ min_t max_columns (pᵀM),

so the difference proves how good the hypothesis is.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from formulakern.deadline import Deadline, TimeIsOver
from formulakern.interrupts import held, interruptible
from formulakern.learning.prl.features import FeatureFamily, Priced
from formulakern.learning.prl.restricted_game import Column, RestrictedGame, Solution
from formulakern.text import counted

__all__ = ["ZERO", "ColumnGeneration", "Epoch", "Outcome", "used"]

#: Columns of a weight below this share of the largest one count as unused.
UNUSED = 1e-5
#: Where many rows are told apart, those below this share are dropped.
LIGHT = 1e-2
#: From so many budgets of columns on, those unused for longest are dropped.
CROWDED = 15
#: A restricted game is solved again, a hundred times as exactly, until this share of the usual.
SHARPEST = 1e-9
#: Seconds that finding a solution with few rules may always take.
LEAST_PATIENCE = 10.0
#: Relative gap of the first restricted game, where it has columns of another one.
KNOWN = 1e-3
#: Under a time limit so many columns come in at a time at first, a game is solved to this gap, and
#: so often.
FIRST, ROUGH, ROUNDS = 12, 0.02, 12
#: A search for columns takes at most this share of the time that is left.
SEARCHING = 0.5
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
class Outcome:
    """The best strategies found.

    Parameters
    ----------
    columns : list of Column
        Those of positive weight.
    weights : list of float
    solution : Solution
    bound : float
    reason : {"optimal", "epochs", "time", "interrupted", "columns", "inseparable"}
        Why it ended; "columns": there were no new ones; "inseparable": the hard margin is 0.
    history : list of Epoch
    softened : bool
        Whether a soft margin decided the weights, because the value of the hard one is 0.
    """

    columns: list[Column] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    solution: Solution | None = None
    bound: float = np.inf
    reason: str = "epochs"
    history: list[Epoch] = field(default_factory=list)
    softened: bool = False

    @property
    def value(self) -> float:
        """The margin that is secured."""
        return -np.inf if self.solution is None else self.solution.value

    @property
    def stopped_short(self) -> bool:
        """Whether the time was over, or Ctrl-C came, before the game was solved."""
        return self.reason in ("time", "interrupted")


@dataclass(eq=False)
class ColumnGeneration:
    """Solves a game over columns that are too many to list.

    Parameters
    ----------
    game : RestrictedGame
    family : FeatureFamily
    budget : int
        Columns that come in per epoch.
    epochs : int
    tol : float
        Stop when bound − value is at most this share of the bound.
    deadline : Deadline
    report : callable
        Called with every :class:`Epoch`.
    known : sequence of Column
        Columns to begin with: those of a similar game on the same rows.
    """

    game: RestrictedGame
    family: FeatureFamily
    budget: int
    epochs: int
    tol: float
    deadline: Deadline
    report: Callable[[Epoch], None]
    known: Sequence[Column] = ()
    outcome: Outcome = field(default_factory=Outcome, init=False)
    _half: Deadline = field(init=False)

    def __post_init__(self) -> None:
        self._half = self.deadline.part(0.5)

    def run(self) -> Outcome:
        """Search until the gap closes; Ctrl-C keeps the best hypothesis so far."""
        try:
            with interruptible():
                self._search()
        except TimeIsOver:  # rows in pieces did not answer
            self.outcome.reason = "time"
        except KeyboardInterrupt:
            if not self.outcome.history:
                raise
            self.outcome.reason = "interrupted"
            taken = counted(len(self.outcome.history), "epoch")
            warnings.warn(
                f"interrupted after {taken}: the best hypothesis so far is kept.",
                stacklevel=5,
            )
        return self.outcome

    def _search(self) -> None:
        """Best responses until the gap closes."""
        outcome, game = self.outcome, self.game
        solution = game.start()
        self._without_rules(solution)
        self.family.enter(game, self.known)
        if game.columns:
            solution = game.solve(KNOWN, self.outcome.value, self._until)
            self._remember(solution)
            self._end_epoch()
        elif self.deadline.limited:
            solution = self._first_rules(solution)
        idle, sharper, share = np.zeros(len(game.columns), dtype=np.int64), 1.0, SEARCHING
        for _ in range(self.epochs):
            priced = self._price(solution, share)
            share = SEARCHING if priced.columns else 1.0
            if self._closed():
                outcome.reason = "optimal"
                break
            if outcome.history and self._until.over():
                outcome.reason = "time"
                break
            fresh = self.family.enter(game, priced.columns, self._until)
            if not game.columns:  # there is none that pays anything
                self._remember(solution)
                outcome.reason = "optimal" if priced.proven else "time"
                break
            if not fresh and not priced.proven:
                continue
            if not fresh:  # what pays is there already: this game was not solved well enough
                sharper /= 100
                if sharper < SHARPEST:
                    outcome.reason = "columns"
                    break
            accuracy = max(self._accuracy() * sharper, 1e-13)
            solution = game.solve(accuracy, self.outcome.value, self._until)
            self._remember(solution)
            self._end_epoch()
            idle = np.append(idle, np.zeros(len(fresh), np.int64)) + 1
            idle[used(solution)] = 0
            kept = np.arange(len(idle))
            if self.family.crowded:
                kept = used(solution, LIGHT)
            elif len(idle) > CROWDED * self.budget:
                longest = np.argsort(-idle, kind="stable")[: self.budget]
                kept = np.delete(kept, longest[idle[longest] > 0])
            if len(kept) < len(idle):
                game.keep(kept)
                solution = replace(solution, p=self.family.settle(game, solution.p))
                idle = idle[kept]
        else:
            self._price(solution)
            outcome.reason = "optimal" if self._closed() else "epochs"
        self._crossover()
        if outcome.reason in ("epochs", "columns", "time") and self._closed():
            outcome.reason = "optimal"  # a basic solution is more exact
        if outcome.history:  # the last bound belongs to the last value
            outcome.history[-1] = self._epoch()

    def _first_rules(self, solution: Solution) -> Solution:
        """Games of few columns that are found fast, before the long searches begin."""
        game, fast = self.game, self._until.part(SEARCHING)
        for _ in range(ROUNDS):
            weights = game.preferences.row_weights(solution.p)
            first = self.family.first(weights, self._threshold(solution), FIRST, fast)
            if not self.family.enter(game, first, self._until):
                break
            solution = game.solve(max(self._accuracy(), ROUGH), self.outcome.value, self._until)
            self._remember(solution)
            self._end_epoch()
            if fast.over():
                break
        return solution

    def _without_rules(self, solution: Solution) -> None:
        """Slack alone secures a margin, which rules must improve upon."""
        if self.game.C is not None:
            self._remember(solution)

    def _crossover(self) -> None:
        """A basic solution, of few rules, in place of one inside the optimal face."""
        outcome, game = self.outcome, self.game
        best = set(outcome.columns)
        used = np.flatnonzero([column in best for column in game.columns])
        if not len(used) or self._until.over():
            return
        basic = game.basic_solution(used, self._patience())
        least = outcome.value * (1 - self.tol / 10) - ZERO * self.family.unit
        if basic is not None and basic.value >= least:
            self._remember(basic, at_any_rate=True)

    def _threshold(self, solution: Solution) -> float:
        """What a column must pay to be of use."""
        outcome = self.outcome
        secured = max(outcome.value, solution.value if outcome.solution is None else -np.inf)
        return float(max(secured * (1 + self.tol / 2), ZERO * self.family.unit))

    def _price(self, solution: Solution, share: float = SEARCHING) -> Priced:
        """Best responses to a strategy; lowers the bound."""
        outcome = self.outcome
        threshold = self._threshold(solution)
        weights = self.game.preferences.row_weights(solution.p)
        searching = self._until.part(share)
        priced = self.family.price(weights, threshold, self.budget, searching)
        best = min(priced.best, self.family.unit)
        outcome.bound = min(outcome.bound, max(best, solution.slack_bound))
        return priced

    @property
    def _until(self) -> Deadline:
        """The end; a hard margin of 0 leaves half of the time for a soft one."""
        hopeless = self.game.C is None and self.outcome.value <= ZERO * self.family.unit
        return self._half if hopeless else self.deadline

    def _patience(self) -> Deadline:
        """What is given to crossover: about as long as the game took until now."""
        patience = Deadline.of(max(LEAST_PATIENCE, self.deadline.taken()))
        return min(patience, self.deadline, key=lambda one: one.end)

    def _accuracy(self) -> float:
        """How exactly a restricted game is worth solving, while the gap is what it is."""
        outcome = self.outcome
        gap = 1.0 if outcome.solution is None else 1.0 - max(outcome.value, 0.0) / outcome.bound
        return min(max(0.1 * gap, 0.03 * self.tol, 1e-9), 5e-2)

    def _closed(self) -> bool:
        outcome = self.outcome
        if outcome.solution is None:
            return False
        gap = outcome.bound - outcome.value
        return gap <= max(self.tol * outcome.bound, 4 * ZERO * self.family.unit)

    def within(self, share: float) -> ColumnGeneration:
        """The same in a share of the time that is left."""
        return replace(self, deadline=self.deadline.part(share))

    def softened(self, C: float) -> ColumnGeneration:
        """The same for a soft margin, in the time that is left."""
        soft = RestrictedGame(self.game.preferences, C, binary=self.game.binary)
        return replace(self, game=soft)

    def _remember(self, solution: Solution, at_any_rate: bool = False) -> None:
        outcome = self.outcome
        if at_any_rate or outcome.solution is None or solution.value >= outcome.value:
            places = used(solution)
            with held():
                outcome.columns = [self.game.columns[j] for j in places.tolist()]
                outcome.weights = solution.q[places].tolist()
                outcome.solution = solution

    def _epoch(self) -> Epoch:
        outcome, held = self.outcome, len(self.game.columns)
        seconds = self.deadline.taken()
        return Epoch(outcome.value, outcome.bound, held, len(outcome.columns), seconds)

    def _end_epoch(self) -> None:
        self.outcome.history.append(self._epoch())
        self.report(self.outcome.history[-1])


def used(solution: Solution, share: float = UNUSED) -> NDArray[np.intp]:
    """Positions of the columns whose weight is more than a share of the largest one."""
    return np.flatnonzero(solution.q > share * solution.q.max(initial=0.0))
