r"""Column generation for the game of a preference learner, and the selection of its hypothesis.

Every epoch solves the restricted game and prices, in the whole game, the columns that answer the
row player's strategy p best.  The payoff of the best column is an upper bound of the value V* for
every p, and the value secured by the column player is a lower bound,

    V_t ≤ V* ≤ min_t max_columns (pᵀM),

so the difference bounds the distance of the hypothesis from the optimum.

*At most k rules.*  Let V(S) be the value of the game over all columns of the features S, that is

    1/V(S) = min Σ_j λ_j + C Σ_i w_i ξ_i   with (Mλ)_i ≥ 1 − ξ_i,  λ, ξ ≥ 0,

where j is a feature of S with a pair of classes.  :mod:`formulakern.learning.prl.vote_selection`
chooses S.  S secures V(S), and the bound of V* holds for every hypothesis, so their difference
bounds the cost of the limit.  The bias and thresholds are free: they belong to every S.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, IntArray
from formulakern.deadline import Deadline, TimeIsOver
from formulakern.interrupts import held, interruptible
from formulakern.learning.prl.features import Column, Priced
from formulakern.learning.prl.restricted_game import RestrictedGame, Solution
from formulakern.learning.prl.vote_selection import SelectedVotes, select_votes
from formulakern.learning.selection import DEFAULT_MAX_RULES
from formulakern.text import counted

#: Columns of a weight below this share of the largest one count as unused.
UNUSED_SHARE = 1e-5
#: The largest such share for the columns of a basic solution.
BASIC_UNUSED_SHARE = 1e-3
#: If many groups of rows are distinguished, columns below this share are dropped.
LIGHT_SHARE = 1e-2
#: Columns below that share that pay less than the bound of the game, by more than SLACK_SHARE, for
#: this many epochs are dropped.
SLACK_SHARE, MAX_IDLE_EPOCHS = 0.05, 3
#: A quick search is followed by a long one if it finds less than this share of the wanted columns.
FEW_SHARE = 0.5
#: A restricted game is solved again, a hundred times more accurately, down to this factor.
MIN_GAP_FACTOR = 1e-9
#: Seconds that the search for a solution with few rules may always take.
MIN_FEW_RULES_SECONDS = 10.0
#: Rules are chosen from this many of the heaviest features for each.
CANDIDATES_PER_RULE = 10
#: Features above this share of the largest weight have much weight.
HEAVY_SHARE = 0.1
#: The allowed gap, in units of the tolerance, of a hypothesis from which a few rules are chosen.
LIMITED_GAP = 5.0
#: In a game of more columns than this per rule of the limit, or of the default limit, LARGE_GAP is
#: enough.
LARGE_COLUMNS, LARGE_GAP = 10, 0.25
#: A soft margin's game ends at this number of columns per rule; an automatic penalty parameter is
#: then divided by C_DIVISOR.  With more than MANY_PREFERENCES, the number of columns falls with the
#: root of their number.
MAX_COLUMNS, C_DIVISOR, MANY_PREFERENCES = 30, 4, 20_000
#: The largest relative gap of the solution of a restricted game.
MAX_GAP = 0.05
#: Relative gap of the first restricted game if it has columns of another game, unless the number
#: of rules is limited and there are MANY_PREFERENCES.
KNOWN_COLUMNS_GAP = 1e-3
#: First rounds with a time limit: columns that enter at a time, gap of a game, number of rounds.
FIRST_COLUMNS, FIRST_GAP, FIRST_ROUNDS = 12, 0.02, 12
#: The largest share of the remaining time for a search for columns.
SEARCH_SHARE = 0.5
#: A value below this share of the largest payoff is 0.
ZERO_SHARE = 1e-7
#: The share of the time for the game without a limit of rules, if there is a limit.
GAME_TIME_SHARE = 0.5
#: Relative gap of the linear programs on the way to few rules, and of the last one.
ROUGH_GAP, EXACT_GAP = 1e-6, 1e-10
#: Relative gap of the game of few rules if its margin is soft and it has MANY_PREFERENCES.
LARGE_GAME_GAP = 1e-3
#: Relative gap of the games of fewer rules than the limit.
SMALLER_GAME_GAP = 1e-2


@dataclass(frozen=True)
class Epoch:
    """One epoch: the best margin so far, a bound on all margins, the columns, seconds.

    No hypothesis over all columns has a larger margin than ``bound``; inf if it was not computed.
    ``support`` is the number of columns of positive weight.
    """

    value: float
    bound: float
    columns: int
    support: int
    seconds: float


@dataclass(eq=False)
class Outcome:
    """The columns of positive weight, their weights, strategies, and the history of the search.

    ``reason`` is "optimal", "max_rules" (far more columns than rules are allowed), "epochs",
    "time_limit", "interrupted", "columns" (no new columns) or "inseparable" (the hard margin is 0);
    if ``softened``, a soft margin therefore determined the weights.  ``C`` is the penalty parameter
    in use, inf for a hard margin.  ``selected`` are the features and votes within a limit.
    """

    columns: list[Column] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    solution: Solution | None = None
    bound: float = np.inf
    reason: str = "epochs"
    history: list[Epoch] = field(default_factory=list)
    softened: bool = False
    C: float = np.inf
    selected: SelectedVotes | None = None

    @property
    def value(self) -> float:
        """The secured margin."""
        return -np.inf if self.solution is None else self.solution.value


@dataclass(eq=False)
class ColumnGeneration:
    """The solver of a game over columns that are too many to list.

    Each epoch adds ``budget`` columns, until bound − value is at most the share ``tol`` of the
    bound, or LIMITED_GAP times this share if the hypothesis has more than ``most`` features.  A
    game that is large beside this limit ends at LARGE_GAP, or without: the limit costs far more.
    ``report`` is called with the history after every epoch, and ``known`` are the first columns,
    from a similar game on the same rows.
    """

    game: RestrictedGame
    budget: int
    epochs: int
    tol: float
    deadline: Deadline
    report: Callable[[Sequence[Epoch]], None]
    known: Sequence[Column] = ()
    most: int | None = None
    crowd: int = MAX_COLUMNS
    outcome: Outcome = field(default_factory=Outcome, init=False)

    def __post_init__(self) -> None:
        self._half = self.deadline.part(0.5)
        #: The payoff of the best known column.
        self._likely = np.inf
        self._crossed: Solution | None = None
        self._allowed = self.tol if self.most is None else LIMITED_GAP * self.tol
        self._crowded = False
        #: The strategy, and the payoff that a column may have, of a bound to be computed.
        self._unproven: tuple[FloatArray, float] | None = None
        #: Values up to this count as 0.
        self.zero = ZERO_SHARE * self.game.family.unit

    def run(self) -> Outcome:
        """Search until the gap closes; Ctrl-C keeps the best hypothesis so far."""
        return self._ended_early(self._begin)

    def finish(self) -> Outcome:
        """Return the outcome, with a bound if the game has far more columns than rules."""
        return self.outcome if self._unproven is None else self._ended_early(self._bound)

    def _bound(self) -> None:
        """Prove a bound if the game ended without one."""
        unproven, self._unproven = self._unproven, None  # once, also after an interrupt
        if unproven is not None:
            self._lowered(*unproven, self.budget, self._until)

    def _ended_early(self, step: Callable[[], None]) -> Outcome:
        """Return the outcome of a step; it ends at the deadline, or at Ctrl-C with a hypothesis."""
        try:
            with interruptible():
                step()
        except TimeIsOver:  # partitions did not finish in time
            self.outcome.reason = "time_limit"
        except KeyboardInterrupt:
            if not self.outcome.history:
                raise
            self.outcome.reason = "interrupted"
            taken = counted(len(self.outcome.history), "epoch")
            warnings.warn(
                f"interrupted after {taken}: the best hypothesis so far is kept.",
                stacklevel=6,
            )
        return self.outcome

    def _begin(self) -> None:
        start = self.game.start()
        if self.game.C is not None:  # slack alone secures a margin
            self._remember(start)
        self._search(start)

    def _search(self, solution: Solution) -> None:
        """Add best responses until the gap closes."""
        outcome, game = self.outcome, self.game
        game.enter(self.known)
        if self.known:
            game.family.restart()
        if game.columns:
            many = len(game.preferences) > MANY_PREFERENCES and self.most is not None
            solution = self._solve(MAX_GAP if many else max(KNOWN_COLUMNS_GAP, self._allowed / 10))
        elif self.deadline.limited:
            solution = self._first_rules(solution)
        idle, sharper, share = np.zeros(len(game.columns), dtype=np.int64), 1.0, SEARCH_SHARE
        left: set[Column] = set()
        for _ in range(self.epochs):
            priced = self._price(solution, share)
            share = SEARCH_SHARE if priced.columns else 1.0
            if self._closed():
                if self._ended():
                    break
                continue
            if self._crowded:
                if outcome.bound == np.inf:
                    self._unproven = solution.p, priced.likely
                if self.deadline.limited:  # later there may be no time
                    self._bound()
                outcome.reason = "max_rules"
                break
            if outcome.history and self._until.over():
                outcome.reason = "time_limit"
                break
            fresh = game.enter(priced.columns, self._until)
            if not game.columns:  # no column pays anything
                self._remember(solution)
                outcome.reason = "optimal" if priced.proven else "time_limit"
                break
            if not fresh and not priced.proven:
                continue
            if not fresh:  # the best columns are in use: this game was not solved accurately enough
                sharper /= 100
                if sharper < MIN_GAP_FACTOR:
                    outcome.reason = "columns"
                    break
            solution = self._solve(max(self._accuracy() * sharper, 1e-13))
            # columns that come back stay
            idle = np.append(idle, [-self.epochs * (column in left) for column in fresh]) + 1
            heavy, good = used(solution, LIGHT_SHARE), (1 - SLACK_SHARE) * solution.bound
            busy = np.union1d(heavy, np.flatnonzero(solution.paid >= good))
            idle[busy] = np.minimum(idle[busy], 0)
            kept = heavy if game.family.crowded else np.flatnonzero(idle < MAX_IDLE_EPOCHS)
            if len(kept) < len(idle):
                left.update(np.delete(np.array(game.columns, dtype=object), kept).tolist())
                game.keep(kept)
                game.family.settle(game)
                solution = replace(solution, p=game.moved(solution.p))
                idle = idle[kept]
        else:
            priced = self._price(solution)
            if priced.bound == np.inf:  # columns were found before a bound was proven
                self._lowered(solution.p, priced.likely, self.budget, self._until)
        closed = self._closed() and self._ended()
        self._crossover()
        if closed or (self._closed() and self._ended()):  # a basic solution is more accurate
            outcome.reason = "optimal"
        if outcome.history:  # the last bound belongs to the last value
            outcome.history[-1] = self._epoch()

    def _ended(self) -> bool:
        """Return True unless a hypothesis of at most ``most`` features has a gap above ``tol``."""
        if self.most is not None:
            self._crossover()
            if len(features_of(self.outcome, self.game)) <= self.most:
                self._allowed = self.tol
                return self._closed()
        return True

    def _allow(self) -> None:
        """Set the allowed gap, and whether the game has far more columns than rules are allowed."""
        if self.most is None:
            return
        heavy = len(features_of(self.outcome, self.game, HEAVY_SHARE)) > self.most
        per_rule = len(self.game.columns) / max(self.most, DEFAULT_MAX_RULES)
        if heavy and per_rule > LARGE_COLUMNS and self._allowed > self.tol:
            self._allowed = max(self._allowed, LARGE_GAP)
        fewer = min(1.0, (MANY_PREFERENCES / len(self.game.preferences)) ** 0.5)
        self._crowded = heavy and self.game.C is not None and per_rule > fewer * self.crowd

    def _solve(self, accuracy: float) -> Solution:
        """Solve the restricted game, which ends an epoch."""
        solution = self.game.solve(accuracy, self.outcome.value, self._until)
        self._remember(solution)
        self._allow()
        self._end_epoch()
        return solution

    def _first_rules(self, solution: Solution) -> Solution:
        """Solve games of a few quickly found columns before the long searches."""
        fast = self._until.part(SEARCH_SHARE)
        for _ in range(FIRST_ROUNDS):
            first = self.game.price(
                solution.p, self._threshold(solution), FIRST_COLUMNS, fast, quick=True
            )
            if not self.game.enter(first.columns, self._until):
                break
            solution = self._solve(max(self._accuracy(), FIRST_GAP))
            if fast.over():
                break
        return solution

    def _crossover(self) -> None:
        """Replace a solution inside the optimal face by a basic solution of few rules.

        If more than ``most`` features have much weight, a choice of features follows instead.
        """
        outcome = self.outcome
        heavy = features_of(outcome, self.game, HEAVY_SHARE)
        many = self.most is not None and len(heavy) > self.most
        if many or outcome.solution is self._crossed:
            return
        least = min(self.tol / 10, BASIC_UNUSED_SHARE) * max(outcome.weights, default=0.0)
        pairs = zip(outcome.columns, outcome.weights, strict=True)
        some = {column for column, weight in pairs if weight > least}
        places = np.flatnonzero([column in some for column in self.game.columns])
        if not len(places) or self._until.over():
            return
        basic = self.game.basic_solution(places, self._crossover_deadline())
        if basic is not None and basic.value >= outcome.value * (1 - self.tol / 10) - self.zero:
            self._remember(basic, at_any_rate=True)
        self._crossed = outcome.solution

    def _threshold(self, solution: Solution) -> float:
        """Return the payoff that a useful column must exceed."""
        outcome = self.outcome
        secured = max(outcome.value, solution.value if outcome.solution is None else -np.inf)
        return float(max(secured * (1 + 0.9 * self._allowed), self.zero))

    def _price(self, solution: Solution, share: float = SEARCH_SHARE) -> Priced:
        """Return best responses to a strategy; a long search follows a quick one that finds few."""
        game, searching = self.game, self._until.part(share)
        options = self._threshold(solution), self.budget, searching
        if not game.family.guesses:
            priced = self._lowered(solution.p, *options)
        else:
            priced = game.price(solution.p, *options, quick=True)
            fresh = set(priced.columns).difference(game.columns)
            if len(fresh) < FEW_SHARE * self.budget or searching.over():
                priced = self._lowered(solution.p, *options)
        self._likely = min(self.outcome.bound, max(priced.likely, solution.slack_bound))
        return priced

    def _lowered(self, p: FloatArray, *options: Any) -> Priced:
        """Return best responses to a strategy, after its bound was used."""
        priced, slack = self.game.price(p, *options), self.game.slack_bound(p)
        bound = min(priced.bound, self.game.family.unit)
        self.outcome.bound = min(self.outcome.bound, max(bound, slack))
        return priced

    @property
    def _until(self) -> Deadline:
        """The deadline; a hard margin of 0 leaves half of the time for a soft margin."""
        hopeless = self.game.C is None and self.outcome.value <= self.zero
        return self._half if hopeless else self.deadline

    def _crossover_deadline(self) -> Deadline:
        """Return the deadline of crossover: about as much time as the game took so far."""
        patience = Deadline.of(max(MIN_FEW_RULES_SECONDS, self.deadline.taken()))
        return min(patience, self.deadline, key=lambda one: one.end)

    def _accuracy(self) -> float:
        """Return the accuracy that a restricted game needs at the current gap."""
        outcome = self.outcome
        gap = 1.0 if outcome.solution is None else 1.0 - max(outcome.value, 0.0) / self._likely
        return min(max(0.1 * gap, 0.03 * self.tol, 1e-9), MAX_GAP)

    def _closed(self) -> bool:
        outcome = self.outcome
        if outcome.solution is None or outcome.bound == np.inf:
            return False
        within = max(self._allowed * outcome.bound, 4 * self.zero)
        return bool(outcome.bound - outcome.value <= within)

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
        self.report(self.outcome.history)


def used(solution: Solution, share: float = UNUSED_SHARE) -> NDArray[np.intp]:
    """Return the positions of columns whose weight exceeds a share of the largest one."""
    return np.flatnonzero(solution.q > share * solution.q.max(initial=0.0))


def features_of(outcome: Outcome, game: RestrictedGame, share: float = 0.0) -> list[Any]:
    """Return the features of a hypothesis that count as rules, the heaviest first.

    They have more than this share of the largest weight.
    """
    weight: dict[Any, float] = {}
    for column, q in zip(outcome.columns, outcome.weights, strict=True):
        if not game.free(column):
            weight[column.feature] = weight.get(column.feature, 0.0) + q
    least = share * max(weight.values(), default=0.0)
    return sorted((one for one in weight if weight[one] > least), key=lambda one: -weight[one])


def best_hypothesis(
    generation: ColumnGeneration,
    C: float,
    most: int | None = None,
    sizes: Sequence[int] = (),
    signs: Callable[[Sequence[Any]], IntArray | None] = lambda _: None,
    ordered: bool = False,
    automatic: bool = False,
    valued: bool = True,
) -> list[Outcome]:
    """Solve a game; then choose at most ``most`` features, and soften a hard margin of value 0.

    The outcomes of fewer features follow, for each of the ``sizes``.  Unless ``valued``, selected
    votes of a soft margin have no value.

    C is the penalty parameter of the soft margin; value and bound remain those of the hard margin.
    An ``automatic`` C falls while the game has far more columns than rules are allowed, and more
    than ``most`` features remain.
    The bias does not count towards ``most``.  The iterated solvers need no softening: their mean
    strategies are usable votes.  ``signs`` are the required signs of the votes of features.
    """
    game, deadline = generation.game, generation.deadline
    if most is not None:
        crowd = MAX_COLUMNS if valued else CANDIDATES_PER_RULE
        until = deadline.part(GAME_TIME_SHARE)
        generation = replace(generation, deadline=until, most=most, crowd=crowd)
    generation.run()
    if automatic and most is not None:
        generation = _smaller(generation, most)
    game, outcome = generation.game, generation.finish()
    if game.C is not None:
        outcome.C = C = game.C
    if game.C is None and game.exact and outcome.value <= generation.zero:
        game = RestrictedGame(game.preferences, game.family, C)
        soft = replace(generation, game=game, deadline=deadline).run()
        reason = soft.reason if soft.reason in ("interrupted", "time_limit") else "inseparable"
        columns, weights = soft.columns, soft.weights
        outcome = replace(
            outcome, columns=columns, weights=weights, C=C, reason=reason, softened=True
        )
    features = features_of(outcome, game)
    few = most is None or len(features) <= most
    with suppress(TimeIsOver):  # the game may have dropped columns of its best hypothesis
        game.enter(outcome.columns, deadline)
    present = {column.feature for column in game.columns}
    features = [feature for feature in features if feature in present]
    most = len(features) if most is None else min(most, len(features))
    if few and outcome.solution is not None and not outcome.softened:
        outcome = replace(outcome, solution=_secured(outcome.solution, game))
    if deadline.over() and not few:  # keep the heaviest, with the votes of their own game
        kept = {*features[:most]}
        columns = _with(kept, game.columns, game)
        solution = _exact(game.of(columns, game.C), deadline)
        weights, solution = solution.q.tolist(), _secured(solution, game)
        outcome = replace(outcome, columns=columns, weights=weights, solution=solution)
        if outcome.reason != "interrupted":
            outcome.reason = "time_limit"
    listed = [*([] if few else [most]), *(size for size in sizes if size < most)]
    if deadline.over() or not listed:
        return [outcome]
    features = features[: CANDIDATES_PER_RULE * max(listed)]
    votes, interrupted = select_votes(
        game, features, listed, signs(features), ordered, deadline, valued
    )
    if not votes and not few:  # one class wins everywhere, or no feature is in use
        return [replace(outcome, columns=[], weights=[])]
    if interrupted:
        outcome = replace(outcome, reason="interrupted")
        warnings.warn("interrupted: the best rules so far are kept.", stacklevel=4)
    found = [outcome] if few else []
    known: list[Column] = []
    for own in votes:
        if not valued and game.C is not None:
            found.append(replace(outcome, solution=None, selected=own))
        elif not found or not deadline.over():
            one, known = _selected(outcome, game, own, known, C, deadline, rough=bool(found))
            found.append(one)
    return found


def _selected(
    outcome: Outcome,
    game: RestrictedGame,
    few: SelectedVotes,
    known: Sequence[Column],
    C: float,
    deadline: Deadline,
    rough: bool,
) -> tuple[Outcome, list[Column]]:
    """Return the outcome of few features: selected votes, or the game's if it separates.

    Return also the columns of their game, which starts from ``known`` columns.
    """
    columns, solution = _solved(game, few.features, known, C, deadline, rough)
    own: dict[str, Any] = {"columns": columns, "weights": solution.q.tolist()}
    separates = game.C is None and solution.value > ZERO_SHARE * game.family.unit
    softened = outcome.softened or (game.C is None and not separates)
    found = replace(
        outcome,
        **(own if separates else {}),
        solution=outcome.solution if outcome.softened else solution,
        softened=softened,
        C=C if softened else outcome.C,
        selected=None if separates else few,
    )
    return found, columns


def _smaller(generation: ColumnGeneration, most: int) -> ColumnGeneration:
    """Divide C while the game has far more columns than rules are allowed.

    Return the last solved game of more than ``most`` features.
    """
    game, outcome = generation.game, generation.outcome
    while outcome.reason == "max_rules" and game.C is not None:
        features = features_of(outcome, game)[: CANDIDATES_PER_RULE * most]
        known = _with({*features}, outcome.columns, game)
        present = {*game.columns}
        next_game = game.of([column for column in known if column in present], game.C / C_DIVISOR)
        smaller = replace(generation, game=next_game, known=known)
        try:
            found = smaller.run()
        except KeyboardInterrupt:  # in its first epoch
            warnings.warn(f"interrupted: the rules for C={game.C:.3g} are kept.", stacklevel=5)
            outcome.reason = "interrupted"
            break
        open_ended = found.bound == np.inf and found.reason != "max_rules"
        if len(features_of(found, next_game)) <= most or open_ended:
            if found.reason in ("interrupted", "time_limit"):
                outcome.reason = found.reason
            break
        generation, game, outcome = smaller, next_game, found
    return generation


def _with(features: Set[Any], columns: Iterable[Column], game: RestrictedGame) -> list[Column]:
    """Return the columns of some features, and the free columns."""
    return [column for column in columns if column.feature in features or game.free(column)]


def _solved(
    game: RestrictedGame,
    features: Sequence[Any],
    known: Iterable[Column],
    C: float,
    deadline: Deadline,
    rough: bool,
) -> tuple[list[Column], Solution]:
    """Return the useful columns of some features, with all pairs of classes, and their solution.

    C finds the columns of a hard margin.  Solutions become more accurate as the gap over all pairs
    closes; that of a soft margin need not be exact if it is ``rough`` or has many preferences.
    """
    own = game.of(_with({*features}, game.columns, game), C if game.C is None else game.C)
    own.enter(_with({*features}, known, game))
    large = game.C is not None and (rough or len(game.preferences) > MANY_PREFERENCES)
    allowed = SMALLER_GAME_GAP if rough else LARGE_GAME_GAP if large else ROUGH_GAP
    accuracy, last, fresh, gap = MAX_GAP, allowed / 10, True, np.inf
    while fresh or (gap > allowed and accuracy > last):
        if deadline.over() and gap < np.inf:
            break
        accuracy = accuracy if fresh else last
        solution = own.solve(accuracy, deadline=deadline) if own.columns else own.start()
        paying = own.free_columns(solution.p) | own.pairs_of(features, solution.p)
        bound = max([solution.bound, *paying.values()])
        least = solution.value * (1 + allowed / 2)
        fresh = bool(own.enter(c for c, pays in paying.items() if pays > least))
        gap = 1 - solution.value / bound
        accuracy = max(last, min(accuracy, 0.1 * gap))
    if not large:
        solution = _exact(own.of(own.columns, game.C), deadline)
    return own.columns, _secured(solution, game)


def _secured(solution: Solution, game: RestrictedGame) -> Solution:
    """Return the solution, or slack alone if it secures more than an unfinished solution."""
    return solution if game.C is None else max(solution, game.start(), key=lambda one: one.value)


def _exact(game: RestrictedGame, deadline: Deadline) -> Solution:
    """Return optimal strategies over all columns of a restricted game."""
    every = np.arange(len(game.columns))
    if not game.columns:
        return game.start()
    if deadline.over():
        return game.solve(ROUGH_GAP, deadline=deadline)
    basic = game.basic_solution(every, deadline)
    return game.solve(EXACT_GAP) if basic is None else basic
