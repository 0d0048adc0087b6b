"""The published dynamics of preference learners: random columns, and iterated play of the games.

A fixed budget of columns is drawn, the restricted game is solved by fictitious play, columns
without weight are replaced, and the best hypothesis of all epochs is kept.  Only one bound is
computed, at the end.

M. Polato, F. Aiolli, "Interpretable preference learning: a game theoretic framework for large
margin on-line feature and rule learning", AAAI 33, 2019, doi:10.1609/aaai.v33i01.33014723.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from formulakern.deadline import UNLIMITED, Deadline
from formulakern.errors import ParameterError
from formulakern.learning.prl.column_generation import ColumnGeneration, used
from formulakern.learning.prl.features import Column, MonomialFeatures, TemplateFeatures
from formulakern.learning.prl.preferences import Preferences
from formulakern.learning.prl.restricted_game import RestrictedGame, Solution
from formulakern.mining.templates.expansion import expand
from formulakern.rules.features import BIAS, Conjunction, Instance, Monomial
from formulakern.solvers.games import solve_game
from formulakern.syntax.formula import evaluate

#: The largest number of entries of the matrix that holds the slack columns.
MAX_ENTRIES = 1 << 28
#: Attempts to replace drawn columns that are already known.
MAX_REFILLS = 8
#: Random pairs of preference and feature that are drawn at once, and the number of attempts.
DRAWN_PAIRS, MAX_ATTEMPTS = 4096, 64

#: The feature of each draw, and the values of all draws on one row each.
Drawn = tuple[Callable[[int], Any], Callable[[NDArray[Any]], NDArray[Any]]]


@dataclass(eq=False)
class IteratedGame(RestrictedGame):
    """A restricted game whose strategies are the means of ``max_iter`` rounds."""

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
        """Return the mean strategies, with explicit slack columns."""
        rows, caps, _, weights, inverse = self._program()
        k = rows.shape[1]
        if self.C is not None:
            if rows.size + len(rows) ** 2 > MAX_ENTRIES:
                raise ParameterError(
                    f"{len(rows):,} different preferences, each with a slack column, are too many "
                    f"for solver={self.solver!r}. Use solver='linprog', or margin='hard'."
                )
            rows = np.hstack([rows, np.diag(1.0 / caps)])
        game = solve_game(rows, self.solver, tol=0, max_iter=self.max_iter, time_limit=deadline)
        strategy, q = np.asarray(game.row_strategy), np.asarray(game.column_strategy)[:k]
        return self._split(strategy, q, weights, inverse)


@dataclass(eq=False)
class RandomColumns(ColumnGeneration):
    """Column generation that draws a ``budget`` of columns in each epoch."""

    _: KW_ONLY
    generator: np.random.Generator

    def _search(self, solution: Solution) -> None:
        outcome, game = self.outcome, self.game
        for _ in range(self.epochs):
            if self._until.over():
                outcome.reason = "time_limit"
                break
            if (solution.q > 0).any():
                game.keep(used(solution))
            if not self._refill():
                outcome.reason = "columns" if outcome.history else "epochs"
                break
            every = np.arange(len(game.columns))
            # a basic solution leaves most columns without weight
            basic = game.basic_solution(every, self._crossover_deadline()) if game.exact else None
            solution = game.solve(deadline=self._until) if basic is None else basic
            self._remember(solution)
            self._end_epoch()
        if outcome.history or outcome.reason == "time_limit":
            self._price(solution)
        if outcome.history:
            outcome.history[-1] = self._epoch()

    def _refill(self) -> int:
        """Draw columns up to the budget, and return the number of new ones."""
        game, before = self.game, len(self.game.columns)
        for _ in range(MAX_REFILLS):
            missing = self.budget - len(game.columns)
            if not missing:
                break
            game.enter(random_columns(game.family, game.preferences, missing, self.generator))
        return len(game.columns) - before


def random_columns(
    family: Any, preferences: Preferences, count: int, generator: np.random.Generator
) -> list[Column]:
    """Draw uniform pairs of a preference j and a feature φ with φ(x_j) ≠ 0, at most ``count``."""
    draws: dict[type, Any] = {MonomialFeatures: _monomials, TemplateFeatures: _instances}
    draw = draws.get(type(family), _conjunctions)
    columns: dict[Column, None] = {}
    asked = getattr(family, "asked", None)  # the classes that propositions may vote for
    for _ in range(MAX_ATTEMPTS):
        before = len(columns)
        feature_of, values_on = draw(family, generator)
        chosen = preferences.origin[generator.integers(len(preferences.origin), size=DRAWN_PAIRS)]
        values = values_on(preferences.rows[chosen])
        for place in np.flatnonzero(values).tolist():
            j = int(chosen[place])
            winner, loser = int(preferences.winners[j]), int(preferences.losers[j])
            feature = feature_of(place)
            scale = float(values[place]) * family.scale(feature)
            if asked is None or (-1 if winner else 1) not in asked[list(feature.propositions)]:
                columns.setdefault(Column(feature, winner, loser, scale))
            if len(columns) == count:
                return list(columns)
        if before and len(columns) == before:
            break  # hardly any are left
    return list(columns)


def _conjunctions(family: Any, generator: np.random.Generator) -> Drawn:
    """Draw random propositions, different ones that do not exclude each other."""
    p = family.table.n_columns
    greatest = min(family.greatest, p)
    lengths = generator.integers(family.least, greatest + 1, DRAWN_PAIRS)
    if family.bias:
        lengths[generator.random(DRAWN_PAIRS) < 1 / (p + 1)] = 0
    drawn = generator.integers(0, p, (DRAWN_PAIRS, greatest))
    beyond = np.arange(greatest) >= lengths[:, None]
    ordered = np.sort(np.where(beyond, p, drawn), axis=1)
    repeated = (np.diff(ordered, axis=1) == 0) & (ordered[:, 1:] < p)
    right = ~repeated.any(axis=1)  # a conjunction has different propositions

    def values(rows: NDArray[Any]) -> NDArray[Any]:
        true = (family.table.entries(rows[:, None], drawn) | beyond).all(axis=1)
        return np.asarray(right & true)

    return (lambda i: Conjunction(tuple(ordered[i, : lengths[i]].tolist()))), values


def _instances(family: Any, generator: np.random.Generator) -> Drawn:
    """Draw random propositions for the variables of a random template, different if required."""
    p = family.table.n_columns
    expansions = [expand(template, True) for template in family.templates]
    which = generator.integers(len(expansions), size=DRAWN_PAIRS)
    if family.bias:
        which[generator.random(DRAWN_PAIRS) < 1 / (p + 1)] = -1
    drawn = [generator.integers(p, size=(DRAWN_PAIRS, len(e.leaves))) for e in expansions]

    def feature(i: int) -> Any:
        if which[i] < 0:
            return BIAS
        expansion, chosen = expansions[which[i]], tuple(drawn[which[i]][i].tolist())
        return Instance(expansion.formula, expansion.leaves, chosen)

    def values(rows: NDArray[Any]) -> NDArray[Any]:
        true = which < 0
        for number, expansion in enumerate(expansions):
            mine = np.flatnonzero(which == number)
            chosen = drawn[number][mine]
            entries = family.table.entries(rows[mine, None], chosen)
            columns = dict(zip(expansion.leaves, entries.T, strict=True))
            right = np.ones(len(mine), dtype=np.bool_)
            for group in expansion.all_different:
                right &= (np.diff(np.sort(chosen[:, list(group)], axis=1)) != 0).all(axis=1)
            true[mine] = right & evaluate(expansion.formula, columns.__getitem__)
        return true

    return feature, values


def _monomials(family: Any, generator: np.random.Generator) -> Drawn:
    """Draw random columns of the table, with repetition."""
    X = family.table
    drawn = np.sort(generator.integers(0, X.shape[1], (DRAWN_PAIRS, family.degree)), axis=1)

    def values(rows: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(X[rows[:, None], drawn].prod(axis=1))

    return (lambda i: Monomial(tuple(drawn[i].tolist()))), values
