"""The choice of few features of a game, with newly fitted votes.

The weights of a game secure a margin on all preferences, which needs many rules.  With few rules,
votes of high likelihood predict better.  They minimise P(S) of
:mod:`formulakern.learning.selection`, where each feature has the penalty 1 and the loss is the
logistic loss of the winning class of each row, or of each threshold of ordered classes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from formulakern.arrays import FloatArray, IntArray
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.learning.prl.preferences import ABOVE
from formulakern.learning.prl.restricted_game import RestrictedGame
from formulakern.learning.selection import FeatureSelection, Selection
from formulakern.solvers.hierarchical.losses import Loss, loss_of
from formulakern.solvers.hierarchical.newton import Columns

#: C is this over the square root of the weight of all rows.
AUTOMATIC_C = 375.0
#: The relative gap of P(S), a larger one for rough choices, and the relative cost allowed for
#: dropping small weights.
RELATIVE_GAP, ROUGH_GAP, MAX_DROP_COST = 1e-3, 1e-2, 1e-2
#: The score of a class that never wins, relative to the others.
ABSENT = 30.0


@dataclass(frozen=True, eq=False)
class SelectedVotes:
    """Features, heaviest first, their votes (k, K), and the constant terms of the scores (K,).

    Ordered classes have one score, and their thresholds instead of constant terms.
    """

    features: list[Any]
    votes: FloatArray
    start: FloatArray


def select_votes(
    game: RestrictedGame,
    features: Sequence[Any],
    sizes: Sequence[int],
    signs: IntArray | None,
    ordered: bool,
    deadline: Deadline,
    thorough: bool = True,
) -> tuple[list[SelectedVotes], bool]:
    """Return choices of some features with their votes, and True if Ctrl-C ended the search.

    There is a choice of at most k features for each of the ``sizes`` k, the largest first, or for
    the largest size alone after the deadline; none if only one class wins, or without features.
    """
    if not features:
        return [], False
    preferences = game.preferences
    rows, winners, weights = preferences.rows, preferences.winners, preferences.weights
    n = preferences.n_classes
    if not ordered:
        keys, same = np.unique(rows * n + winners, return_inverse=True)
        rows, winners = np.divmod(keys, n)
        weights = np.bincount(same, weights).astype(np.float64) / (n - 1)
    values = np.stack([game.family.values(feature) for feature in features])[:, rows]
    none = values[:0]
    bits, others = (values, none) if game.family.binary else (none, values)
    columns = Columns(
        np.ascontiguousarray(bits, dtype=np.uint8), np.ascontiguousarray(others, dtype=np.float64)
    )
    if ordered:
        C = AUTOMATIC_C / math.sqrt(float(weights.sum()))
        y = np.where(winners == ABOVE, 1.0, -1.0)
        loss = Loss("logistic", y, C * weights, preferences.thresholds)
        path, interrupted = _path(columns, loss, sizes, signs, deadline, thorough)
        found = []
        for best in path:
            order = best.heaviest_first()
            kept, start = best.which[order].tolist(), np.maximum.accumulate(best.intercept)
            found.append(SelectedVotes(kept, best.weights[order], start))
    else:
        found, interrupted = select_votes_of_classes(
            columns, winners, n, weights, sizes, signs, deadline, thorough
        )
    named = [replace(few, features=[features[k] for k in few.features]) for few in found]
    return named, interrupted


def select_votes_of_classes(
    columns: Columns,
    codes: IntArray,
    n_classes: int,
    weights: FloatArray,
    sizes: Sequence[int],
    signs: IntArray | None = None,
    deadline: Deadline = UNLIMITED,
    thorough: bool = True,
) -> tuple[list[SelectedVotes], bool]:
    """Return choices of features, by their numbers; none if the rows are of one class."""
    present, codes = np.unique(codes, return_inverse=True)
    if len(present) < 2:
        return [], False
    C = AUTOMATIC_C / math.sqrt(float(weights.sum()))
    two = len(present) == 2
    y = np.asarray(2 * codes - 1 if two else codes, dtype=np.float64)
    loss = loss_of("logistic" if two else "multinomial", y, C * weights)
    path, interrupted = _path(columns, loss, sizes, signs, deadline, thorough)
    found = []
    for best in path:
        order = best.heaviest_first()
        own, b = best.weights[order], best.intercept / 2
        votes, start = np.zeros((len(order), n_classes)), np.full(n_classes, -math.inf)
        votes[:, present] = np.hstack([-own / 2, own / 2]) if two else own
        start[present] = np.append(b, -b) if two else -best.intercept
        start[np.isinf(start)] = start[present].min() - np.abs(votes).sum() - ABSENT
        found.append(SelectedVotes(best.which[order].tolist(), votes, start))
    return found, interrupted


def _path(
    columns: Columns,
    loss: Loss,
    sizes: Sequence[int],
    signs: IntArray | None,
    deadline: Deadline,
    thorough: bool,
) -> tuple[list[Selection], bool]:
    """Return the choices of features, and whether the search was interrupted."""
    n, most = len(columns), max(sizes)
    search = FeatureSelection(
        columns,
        np.ones(n),
        signs,
        loss,
        RELATIVE_GAP if thorough else ROUGH_GAP,
        most,
        deadline,
        sizes=sizes,
        thorough=thorough,
    )
    whole = search.solved(np.arange(n), np.zeros((n, loss.n_functions)), loss.cold)
    path = search.path(whole, (1 + MAX_DROP_COST) * whole.objective)
    return [few for few in path if len(few) <= most], search.interrupted
