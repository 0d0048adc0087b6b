"""Families of features for a preference learner: priced exactly, drawn at random, read as rules.

For weights p of the preferences let v_c(φ) = Σ_i p_i φ(x_i)(δ(y⁺ᵢ=c) − δ(y⁻ᵢ=c)).  The column
(φ, a, b) pays v_a(φ) − v_b(φ) against p, so the best response is the feature whose v has the
largest spread, found by branch and bound (:mod:`formulakern.mining`).  Columns are all features
with all pairs of classes.  Among those with the largest spread, in classification, v_a > 0, since
Σ_c v_c = 0; then a row of class a is covered and its preference over b makes the column: the value
is that of the game in which preferences make the columns.

The feature that is always true (:data:`formulakern.rules.features.BIAS`) is the bias of families of
0/1 features; of monomials it is the empty product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from formulakern.encoding.packed import PackedTable
from formulakern.errors import ParameterError
from formulakern.learning.prl.preferences import Preferences
from formulakern.learning.prl.restricted_game import Column
from formulakern.mining.conjunctions.search import mine_conjunctions
from formulakern.mining.templates.expansion import expand
from formulakern.mining.templates.search import mine_templates
from formulakern.rules.features import BIAS, Conjunction, Feature, Instance
from formulakern.syntax.formula import Formula, evaluate

__all__ = [
    "ConjunctionFeatures",
    "FeatureFamily",
    "Priced",
    "TemplateFeatures",
    "draw_columns",
]

#: Features that were drawn: the one of each draw, and their values on one row each.
Drawn = tuple[Callable[[int], Any], Callable[[NDArray[Any]], NDArray[Any]]]

#: Mined results per column that is asked for: many have equal covers.
SPARE = 3
#: Random pairs of preference and feature that are tried at once, and how often.
DRAWS, ATTEMPTS = 4096, 64


@dataclass(frozen=True, eq=False)
class Priced:
    """Columns that answer a strategy of the row player best.

    Parameters
    ----------
    columns : list of Column
        Best first, with different values on the rows.
    payoffs : list of float
    best : float
        No column of the family pays more (up to rounding, which is added).
    proven : bool
        False where a time limit ended the search; ``best`` is a bound then too.
    """

    columns: list[Column]
    payoffs: list[float]
    best: float
    proven: bool


class FeatureFamily(Protocol):
    """What a preference learner asks of its features."""

    @property
    def binary(self) -> bool:
        """Whether features are 0 or 1."""

    @property
    def unit(self) -> float:
        """The largest payoff that there can be; what is very much smaller counts as 0."""

    def price(
        self,
        weights: NDArray[np.float64],
        threshold: float,
        top: int,
        time_limit: float | None,
        progress: Callable[[float], None] | None,
    ) -> Priced:
        """The columns that pay most, and more than the threshold.

        Parameters
        ----------
        weights : ndarray of shape (m, K)
            Σ p_i (e_{y⁺} − e_{y⁻}) over the preferences of every row.
        """

    def values(self, feature: Any) -> NDArray[Any]:
        """The feature on the training rows, shape (m,)."""

    def draw(
        self, preferences: Preferences, count: int, generator: np.random.Generator
    ) -> list[Column]:
        """Columns of random preferences and features, those that are 0 on their row left out."""


@dataclass(eq=False)
class _Rules:
    """What families of 0/1 features over packed propositions share."""

    table: PackedTable
    bias: bool

    binary = True
    unit = 2.0

    def values(self, feature: Feature) -> NDArray[Any]:
        """The feature on the training rows."""
        return feature.values(self.table)  # type: ignore[arg-type]

    def _columns(
        self,
        found: Sequence[tuple[Feature, NDArray[np.float64]]],
        weights: NDArray[np.float64],
        threshold: float,
        top: int,
    ) -> tuple[list[Column], list[float]]:
        """The best columns of features with these sums, one for each set of covered rows."""
        listed = list(found)
        if self.bias:
            listed.append((BIAS, weights.sum(axis=0)))
        listed.sort(key=lambda item: -float(item[1].max() - item[1].min()))
        columns: list[Column] = []
        payoffs: list[float] = []
        seen: set[bytes] = set()
        for feature, sums in listed:
            payoff = float(sums.max() - sums.min())
            if payoff <= threshold or len(columns) == top:
                break
            cover = np.packbits(self.values(feature)).tobytes()
            if cover not in seen:
                seen.add(cover)
                columns.append(Column(feature, int(sums.argmax()), int(sums.argmin())))
                payoffs.append(payoff)
        return columns, payoffs


@dataclass(eq=False)
class ConjunctionFeatures(_Rules):
    """Conjunctions of so many propositions.

    Parameters
    ----------
    table : PackedTable
        The different training rows.
    bias : bool
        Whether the feature that is always true belongs to the family.
    groups : ndarray of shape (p,), int64
        Propositions of one group exclude each other; −1 for none.
    least, greatest : int
        Numbers of propositions in a conjunction.
    """

    groups: NDArray[np.int64]
    least: int
    greatest: int
    _usable: NDArray[np.intp] = field(init=False)
    _columns_used: PackedTable = field(init=False)

    def __post_init__(self) -> None:
        p = self.table.n_columns
        self._usable = np.arange(p)
        if self.least <= 1:  # a longer conjunction with an equal cover is no other column
            most = self.table.n_rows - self.bias  # what is true everywhere is the bias
            counts = np.bitwise_count(self.table.columns).sum(axis=1, dtype=np.int64)
            first = self.table.first_equal == np.arange(p)
            self._usable = np.flatnonzero(first & (counts > 0) & (counts <= most))
            if not len(self._usable):
                self._usable = np.arange(1)
        elif self.least > p:
            raise ParameterError(
                f"degree={self.least} and the table has {p} propositions; a conjunction needs as "
                "many. Lower the degree, or use features='rules'."
            )
        self._columns_used = self.table.select(self._usable)

    def price(
        self,
        weights: NDArray[np.float64],
        threshold: float,
        top: int,
        time_limit: float | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Priced:
        """By branch and bound over conjunctions; see :class:`FeatureFamily`."""
        usable = self._usable
        mined = mine_conjunctions(
            self._columns_used,
            weights,
            top=SPARE * top,
            min_length=self.least,
            max_length=self.greatest,
            objective="spread",
            exclusive=self.groups[usable],
            threshold=threshold,
            time_limit=time_limit,
            progress=progress,
        )
        features = [Conjunction(tuple(usable[list(w)].tolist())) for w in mined.conjunctions]
        found: list[tuple[Feature, NDArray[np.float64]]] = [*zip(features, mined.sums, strict=True)]
        columns, payoffs = self._columns(found, weights, threshold, top)
        best = max([threshold, *payoffs[:1]] + [mined.bound] * (not mined.proven))
        return Priced(columns, payoffs, best + _rounding(weights), mined.proven)

    def draw(
        self, preferences: Preferences, count: int, generator: np.random.Generator
    ) -> list[Column]:
        """Random propositions, different ones and none that exclude each other."""
        p = self.table.n_columns
        greatest = min(self.greatest, p)

        def features(size: int) -> Drawn:
            lengths = generator.integers(self.least, greatest + 1, size)
            if self.bias:
                lengths[generator.random(size) < 1 / (p + 1)] = 0
            drawn = generator.integers(0, p, (size, greatest))
            beyond = np.arange(greatest) >= lengths[:, None]
            ordered = np.sort(np.where(beyond, p, drawn), axis=1)
            repeated = (np.diff(ordered, axis=1) == 0) & (ordered[:, 1:] < p)
            right = ~repeated.any(axis=1)  # propositions of a conjunction are different ones

            def values(rows: NDArray[Any]) -> NDArray[Any]:
                true = (self.table.entries(rows[:, None], drawn) | beyond).all(axis=1)
                return np.asarray(right & true)

            return (lambda i: Conjunction(tuple(ordered[i, : lengths[i]].tolist()))), values

        return draw_columns(preferences, count, generator, features)


@dataclass(eq=False)
class TemplateFeatures(_Rules):
    """The instances of formula templates; different variables are different propositions.

    Parameters
    ----------
    table : PackedTable
        The different training rows.
    bias : bool
        Whether the feature that is always true belongs to the family.
    templates : tuple of Formula
    """

    templates: tuple[Formula, ...]

    def price(
        self,
        weights: NDArray[np.float64],
        threshold: float,
        top: int,
        time_limit: float | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Priced:
        """By branch and bound over the instances of each template."""
        found: list[tuple[Feature, NDArray[np.float64]]] = []
        bound, proven = threshold, True
        for template in self.templates:
            mined = mine_templates(
                template,
                self.table,
                weights,
                distinct=True,
                top=SPARE * top,
                objective="spread",
                threshold=threshold,
                time_limit=time_limit,
                progress=progress,
            )
            for rank, sums in enumerate(mined.sums):
                expansion, propositions = mined.expansion, mined.assignments[rank]
                found.append((Instance(expansion.formula, expansion.leaves, propositions), sums))
            if not mined.proven:
                bound, proven = max(bound, mined.bound), False
        columns, payoffs = self._columns(found, weights, threshold, top)
        return Priced(columns, payoffs, max([bound, *payoffs[:1]]) + _rounding(weights), proven)

    def draw(
        self, preferences: Preferences, count: int, generator: np.random.Generator
    ) -> list[Column]:
        """Random propositions for the variables of a random template."""
        p = self.table.n_columns
        expansions = [expand(template, True) for template in self.templates]

        def features(size: int) -> Drawn:
            which = generator.integers(len(expansions), size=size)
            if self.bias:
                which[generator.random(size) < 1 / (p + 1)] = -1
            drawn = [_different(generator, size, len(e.leaves), p) for e in expansions]

            def feature(i: int) -> Feature:
                if which[i] < 0:
                    return BIAS
                expansion, chosen = expansions[which[i]], tuple(drawn[which[i]][i].tolist())
                return Instance(expansion.formula, expansion.leaves, chosen)

            def values(rows: NDArray[Any]) -> NDArray[Any]:
                true = which < 0
                for number, expansion in enumerate(expansions):
                    mine = np.flatnonzero(which == number)
                    chosen = drawn[number][mine]
                    leaves = enumerate(expansion.leaves)
                    columns: dict[Formula, NDArray[np.bool_]] = {
                        leaf: self.table.entries(rows[mine], chosen[:, k]) for k, leaf in leaves
                    }
                    right = np.ones(len(mine), dtype=np.bool_)
                    for group in expansion.all_different:  # these are different propositions
                        right &= (np.diff(np.sort(chosen[:, list(group)], axis=1)) != 0).all(axis=1)
                    true[mine] = right & evaluate(expansion.formula, columns.__getitem__)
                return true

            return feature, values

        return draw_columns(preferences, count, generator, features)


def _different(generator: np.random.Generator, size: int, n: int, p: int) -> NDArray[np.int64]:
    """n of the numbers below p, different ones where there are as many; shape (size, n)."""
    if n > p:
        return generator.integers(p, size=(size, n))
    chosen = generator.integers(0, p - np.arange(n), (size, n))
    for k in range(1, n):  # counted among those that are left, so skip those before
        for earlier in np.sort(chosen[:, :k], axis=1).T:
            chosen[:, k] += chosen[:, k] >= earlier
    return chosen


def draw_columns(
    preferences: Preferences,
    count: int,
    generator: np.random.Generator,
    features: Callable[[int], Drawn],
) -> list[Column]:
    """Pairs (preference j, feature φ) with φ(x_j) ≠ 0, each equally likely: drawn and rejected.

    Parameters
    ----------
    preferences : Preferences
    count : int
        How many; fewer come back where few draws succeed.
    generator : numpy.random.Generator
    features : callable
        Of a number of draws: what gives the feature of each, and what gives the values of all of
        them on as many rows.
    """
    columns: dict[Column, None] = {}
    for _ in range(ATTEMPTS):
        before = len(columns)
        feature_of, values_on = features(DRAWS)
        chosen = preferences.origin[generator.integers(len(preferences.origin), size=DRAWS)]
        values = values_on(preferences.rows[chosen])
        for place in np.flatnonzero(values).tolist():
            j = int(chosen[place])
            winner, loser = int(preferences.winners[j]), int(preferences.losers[j])
            columns.setdefault(Column(feature_of(place), winner, loser, float(values[place])))
            if len(columns) == count:
                return list(columns)
        if before and len(columns) == before:
            break  # there are hardly more
    return list(columns)


def _rounding(weights: NDArray[np.float64]) -> float:
    """How far sums of these weights may be off, generously."""
    return 1e-12 * float(np.abs(weights).sum())
