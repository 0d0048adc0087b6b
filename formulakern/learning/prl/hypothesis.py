"""From a game to the hypothesis that is kept: of few rules, and usable where none separates."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from formulakern.deadline import Deadline
from formulakern.interrupts import interruptible
from formulakern.learning.prl.column_generation import ZERO, ColumnGeneration, Outcome
from formulakern.learning.prl.restricted_game import RestrictedGame, Solution
from formulakern.learning.prl.selection import ColumnSelection

__all__ = ["best_hypothesis"]

#: Share of the time for the game without a limit of rules, where there is one.
GAME = 0.5
#: Relative gap of a linear program that is the last one.
EXACTLY = 1e-10


def best_hypothesis(
    generation: ColumnGeneration,
    generator: np.random.Generator | None,
    C: float,
    most: int | None = None,
) -> Outcome:
    """Solve a game; then choose at most so many columns, and soften a hard margin of value 0.

    Value and bound stay those of the hard margin.  The iterated solvers need no softening: their
    mean strategies are a usable vote.

    Parameters
    ----------
    generation : ColumnGeneration
    generator : numpy.random.Generator or None
        Draws columns; None for exact ones.
    C : float
        The penalty parameter of the soft margin that takes the place of a hard one of value 0.
    most : int or None
        Columns of the hypothesis, the bias not counted; None for any number.
    """
    outcome = (generation if most is None else generation.within(GAME)).run(generator)
    game, unit = generation.game, generation.family.unit
    if game.C is None and game.solver == "linprog" and outcome.value <= ZERO * unit:
        generation = generation.softened(C)
        soft = generation.run(generator)
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
    selection = ColumnSelection(soft, family, support, most, generation.deadline)
    reason = outcome.reason
    try:
        with interruptible():
            selection.run()
    except KeyboardInterrupt:
        reason = "interrupted"
        warnings.warn("interrupted: the best rules so far are kept.", stacklevel=5)
    columns = list(selection.best.columns)
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
