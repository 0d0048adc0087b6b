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

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.encoding.packed import PackedTable
from formulakern.errors import ParameterError
from formulakern.learning.prl.preferences import Preferences
from formulakern.learning.prl.restricted_game import Column, RestrictedGame
from formulakern.mining.conjunctions.search import MinedConjunctions, mine_conjunctions
from formulakern.mining.search import MiningResult
from formulakern.mining.templates.expansion import expand
from formulakern.mining.templates.search import mine_templates
from formulakern.rules.features import BIAS, Conjunction, Feature, Instance
from formulakern.syntax.formula import Formula
from formulakern.syntax.traversal import evaluate

__all__ = [
    "ConjunctionFeatures",
    "Drawn",
    "FeatureFamily",
    "Priced",
    "RuleFeatures",
    "TemplateFeatures",
]

#: Features that were drawn: the one of each draw, and their values on one row each.
Drawn = tuple[Callable[[int], Any], Callable[[NDArray[Any]], NDArray[Any]]]

#: Truth values that are held at once.
ENTRIES = 1 << 22
#: Mined results per column that is asked for: many have equal covers.
SPARE = 3
#: Random pairs of preference and feature that are tried at once, and how often.
DRAWS, ATTEMPTS = 4096, 64
#: Payoffs are divided by no more than this: what is so long pays nothing in any case.
FINITE = 1e299


@dataclass(frozen=True, eq=False)
class Priced:
    """Columns that answer a strategy of the row player best.

    Parameters
    ----------
    columns : list of Column
        Best first, with different values on the rows.
    best : float
        No column of the family pays more (up to rounding, which is added).
    proven : bool
        False where a time limit ended the search; ``best`` is a bound then too.
    """

    columns: list[Column]
    best: float
    proven: bool


class FeatureFamily(ABC):
    """What a preference learner asks of its features.

    Attributes
    ----------
    table : PackedTable, or for monomials ndarray of shape (m, n)
        The different training rows.
    bias : bool
        Whether the feature that is always true belongs to the family.
    binary : bool
        Whether features are 0 or 1.
    unit : float
        The largest payoff that there can be; what is very much smaller counts as 0.
    always : Feature
        The feature that is always true.
    full : bool
        Whether a column could not enter, because it tells too many rows apart.
    """

    table: Any
    bias: bool
    binary = True
    unit = 2.0
    always: Feature = BIAS
    full = False

    @abstractmethod
    def price(
        self, weights: FloatArray, threshold: float, top: int, deadline: Deadline = UNLIMITED
    ) -> Priced:
        """The columns that pay most, and more than the threshold.

        Parameters
        ----------
        weights : ndarray of shape (m, K)
            Σ p_i (e_{y⁺} − e_{y⁻}) over the preferences of every row.
        threshold : float
        top : int
            At most so many.
        deadline : Deadline, optional
        """

    def first(
        self, weights: FloatArray, threshold: float, top: int, deadline: Deadline
    ) -> list[Column]:
        """Columns that pay much and are found fast, for a hypothesis before long searches begin.

        Parameters are those of :meth:`price`.
        """
        return self.price(weights, threshold, top, deadline).columns

    def free(self, column: Column) -> bool:
        """Whether the column is the bias, which does not count as a rule."""
        return self.bias and column.feature == self.always

    def scale(self, feature: Any) -> float:  # noqa: ARG002 - of families that scale none
        """What the payoffs of a feature are multiplied by, at most 1."""
        return 1.0

    def admits(self, feature: Any) -> bool:  # noqa: ARG002 - of families that are never reduced
        """Whether a feature of a similar family belongs to this one."""
        return True

    def allows(self, column: Column) -> bool:  # noqa: ARG002 - of families that allow all
        """Whether the feature may speak for the winner of the column."""
        return True

    def best_free(self, weights: FloatArray) -> tuple[Column, float] | None:
        """Of the columns that do not count as rules the one that pays most, and what it pays.

        Parameters
        ----------
        weights : ndarray of shape (m, K)
            As for :meth:`price`.
        """
        if not self.bias:
            return None
        total = weights.sum(axis=0)
        column = Column(self.always, int(total.argmax()), int(total.argmin()))
        return column, float(np.ptp(total))

    def scaled(self, column: Column) -> Column:
        """The column of a similar family, scaled as in this one."""
        return replace(column, scale=self.scale(column.feature))

    @property
    def n_rows(self) -> int:
        """The number of rows that features have values on."""
        return int(self.table.n_rows)

    @property
    def crowded(self) -> bool:
        """Whether so many rows are told apart that columns without weight should go."""
        return False

    def enter(
        self, game: RestrictedGame, columns: Sequence[Column], deadline: Deadline = UNLIMITED
    ) -> list[Column]:
        """Add columns to a game; those that were not there.

        Raises
        ------
        TimeIsOver
            Where rows lie in pieces, and their answers are not there in time.
        """
        self.prepare(game, [column.feature for column in columns], deadline)
        known = [column for column in columns if self.knows(column.feature)]
        return [column for column in known if game.add(column, self.values(column.feature))]

    def prepare(  # noqa: B027 - where features have values on rows, nothing is to be done
        self, game: RestrictedGame, features: Sequence[Any], deadline: Deadline = UNLIMITED
    ) -> None:
        """Get ready to say what the values of features are, which may need smaller groups."""

    def settle(self, game: RestrictedGame, p: FloatArray) -> FloatArray:  # noqa: ARG002
        """Forget what no column of a game needs, after some went; p on what is left."""
        return p

    def knows(self, feature: Any) -> bool:  # noqa: ARG002 - of families that have the rows
        """Whether the values of a feature can be said."""
        return True

    def values(self, feature: Any) -> NDArray[Any]:
        """The feature on the training rows, shape (m,)."""
        values: NDArray[Any] = feature.values(self.table)
        return values

    @abstractmethod
    def drawn(self, generator: np.random.Generator, size: int) -> Drawn:
        """So many random features: what gives each, and their values on as many rows."""

    def draw(
        self, preferences: Preferences, count: int, generator: np.random.Generator
    ) -> list[Column]:
        """Pairs (preference j, feature φ) with φ(x_j) ≠ 0, each equally likely.

        They are drawn and rejected; fewer than ``count`` come back where few draws succeed.
        """
        columns: dict[Column, None] = {}
        for _ in range(ATTEMPTS):
            before = len(columns)
            feature_of, values_on = self.drawn(generator, DRAWS)
            chosen = preferences.origin[generator.integers(len(preferences.origin), size=DRAWS)]
            values = values_on(preferences.rows[chosen])
            for place in np.flatnonzero(values).tolist():
                j = int(chosen[place])
                winner, loser = int(preferences.winners[j]), int(preferences.losers[j])
                feature = feature_of(place)
                scale = float(values[place]) * self.scale(feature)
                column = Column(feature, winner, loser, scale)
                if self.allows(column):
                    columns.setdefault(column)
                if len(columns) == count:
                    return list(columns)
            if before and len(columns) == before:
                break  # there are hardly more
        return list(columns)


@dataclass(eq=False)
class RuleFeatures(FeatureFamily):
    """What families of 0/1 features over packed propositions share."""

    table: PackedTable
    bias: bool

    @abstractmethod
    def mined(
        self, weights: FloatArray, threshold: float, **options: Any
    ) -> Iterator[tuple[MiningResult, list[Feature], FloatArray]]:
        """What the searches of the family find: features that pay more, and their v, (r, K)."""

    def price(
        self, weights: FloatArray, threshold: float, top: int, deadline: Deadline = UNLIMITED
    ) -> Priced:
        """By branch and bound; one column for each set of covered rows."""
        return self._priced(weights, threshold, top, time_limit=deadline)

    def _priced(self, weights: FloatArray, threshold: float, top: int, **options: Any) -> Priced:
        """The columns that pay most, of those that a search with these options finds."""
        listed: list[tuple[Feature, FloatArray]] = []
        bounds: list[float] = []
        for result, features, found in self.mined(weights, threshold, top=SPARE * top, **options):
            listed += [
                (feature, self.scale(feature) * sums)
                for feature, sums in zip(features, found, strict=True)
            ]
            bounds += [result.bound] * (not result.proven)
        if self.bias:
            listed.append((BIAS, weights.sum(axis=0)))
        columns = self._best(listed, threshold, top)
        best = max([threshold, *bounds, *(float(np.ptp(sums)) for _, sums in listed[:1])])
        return Priced(columns, best + self.rounding(weights), not bounds)

    def rounding(self, weights: FloatArray) -> float:
        """How much more a feature may pay than its sums say, generously."""
        return 1e-12 * float(np.abs(weights).sum())

    def _best(
        self, listed: list[tuple[Feature, FloatArray]], threshold: float, top: int
    ) -> list[Column]:
        """The columns of features and their v that pay most, each cover once; sorts the list."""
        listed.sort(key=lambda item: -float(np.ptp(item[1])))
        paying = [item for item in listed if np.ptp(item[1]) > threshold]
        covers = self.covers([feature for feature, _ in paying])
        columns: dict[bytes, Column] = {}
        for (feature, sums), cover in zip(paying, covers, strict=False):
            pair = int(sums.argmax()), int(sums.argmin())
            columns.setdefault(cover, Column(feature, *pair, self.scale(feature)))
            if len(columns) == top:
                break
        return list(columns.values())

    def covers(self, features: Sequence[Any]) -> Iterable[bytes]:
        """For each feature what is the same for those that cover the same rows."""
        return (np.packbits(self.values(feature)).tobytes() for feature in features)


@dataclass(eq=False)
class ConjunctionFeatures(RuleFeatures):
    """Conjunctions of so many propositions; what l of them pay is divided by a^(l − least).

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
    depth_penalty : float
        a, at least 1.
    asked : ndarray of shape (p,), int64, optional
        Of two classes: 1 for propositions that may only speak for the second one, alone and in
        conjunctions, −1 for those that may only speak for the first, 0 for free ones.
    """

    groups: NDArray[np.int64]
    least: int
    greatest: int
    depth_penalty: float = 1.0
    asked: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        p = self.table.n_columns
        longer = np.maximum(np.arange(min(self.greatest, p) + 1) - self.least, 0)
        with np.errstate(over="ignore"):
            self._divisors = np.minimum(float(self.depth_penalty) ** longer, FINITE)
        if self.least > max(p, 1):
            raise ParameterError(
                f"degree={self.least} and the table has {p} propositions; a conjunction needs as "
                "many. Lower the degree, or use features='rules'."
            )
        self._sides: list[tuple[str, NDArray[np.intp], PackedTable]] = []
        asked = np.zeros(p, dtype=np.int64) if self.asked is None else self.asked
        for direction, sign in {"both": 0, "positive": 1, "negative": -1}.items():
            if (sign == 0) == asked.any():
                continue
            side = np.flatnonzero((asked == 0) | (asked == sign))
            if self.least <= 1 and len(side):  # a longer one with an equal cover is no other column
                side = side[self.different_columns(side)]
            if len(side) >= self.least:
                self._sides.append((direction, side, self.table.select(side)))

    def different_columns(self, side: NDArray[np.intp]) -> NDArray[np.intp]:
        """Which of these propositions to learn from: of equal ones the first."""
        return self.table.select(side).different_columns(everywhere=not self.bias)

    def heaviest(
        self,
        side: NDArray[np.intp],  # noqa: ARG002 - for rows in pieces
        table: PackedTable,
        weights: FloatArray,
        **options: Any,
    ) -> MinedConjunctions:
        """The heaviest conjunctions of some propositions: those of a side, whose table is given."""
        return mine_conjunctions(table, weights, **options)

    def mined(
        self, weights: FloatArray, threshold: float, **options: Any
    ) -> Iterator[tuple[MiningResult, list[Feature], FloatArray]]:
        """Conjunctions of different columns; for each side apart, where some have one."""
        whole = Deadline.of(options.pop("time_limit"))
        longest = options.pop("max_length", self.greatest)
        for number, (direction, side, table) in enumerate(self._sides):
            options["time_limit"] = whole.part(1 / (len(self._sides) - number))
            both = direction == "both"
            # of two classes v_1 = −v_0, so that the spread is 2·|v_1|
            result = self.heaviest(
                side,
                table,
                weights if both else 2 * weights[:, 1:],
                min_length=self.least,
                max_length=longest,
                length_factor=self._divisors,
                exclusive=self.groups[side],
                objective="spread" if both else "absolute",
                direction=direction,
                threshold=threshold,
                **options,
            )
            features = [Conjunction(tuple(side[list(w)].tolist())) for w in result.conjunctions]
            sums = result.sums if both else result.sums * [-0.5, 0.5]
            yield result, [*features], sums

    def first(
        self, weights: FloatArray, threshold: float, top: int, deadline: Deadline
    ) -> list[Column]:
        """Those of single propositions, whose sums need no search."""
        if self.least > 1:
            return super().first(weights, threshold, top, deadline)
        every = np.arange(self.table.n_columns)
        step = max(1, ENTRIES // max(1, self.table.n_rows))
        listed: list[tuple[Feature, FloatArray]] = []
        for start in range(0, len(every), step):
            some = every[start : start + step]
            sums = self.table.truths(self.table.columns[some]) @ weights
            sums *= self.scale(Conjunction((0,)))
            listed += [(Conjunction((int(j),)), own) for j, own in zip(some, sums, strict=True)]
            if deadline.over():
                break
        if self.bias:
            listed.append((BIAS, weights.sum(axis=0)))
        columns = self._best(listed, threshold, 2 * top)
        return [column for column in columns if self.allows(column)][:top]

    def scale(self, feature: Any) -> float:
        """1/a^(l − least) for l propositions; 1 for the bias."""
        return float(1 / self._divisors[len(feature.propositions)])

    def admits(self, feature: Any) -> bool:
        """Whether the number of propositions is right."""
        return feature == BIAS or self.least <= len(feature.propositions) <= self.greatest

    def allows(self, column: Column) -> bool:
        """Whether no proposition may only speak for the other class."""
        feature: Any = column.feature
        wrong = -1 if column.winner else 1
        return self.asked is None or wrong not in self.asked[list(feature.propositions)]

    def drawn(self, generator: np.random.Generator, size: int) -> Drawn:
        """Random propositions, different ones and none that exclude each other."""
        p = self.table.n_columns
        greatest = min(self.greatest, p)
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


@dataclass(eq=False)
class TemplateFeatures(RuleFeatures):
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

    def mined(
        self, weights: FloatArray, threshold: float, **options: Any
    ) -> Iterator[tuple[MiningResult, list[Feature], FloatArray]]:
        """The instances of each template."""
        options |= {"objective": "spread", "threshold": threshold, "distinct": True}
        for template in self.templates:
            result = mine_templates(template, self.table, weights, **options)
            formula, leaves = result.expansion.formula, result.expansion.leaves
            found = [Instance(formula, leaves, chosen) for chosen in result.assignments]
            yield result, [*found], result.sums

    def drawn(self, generator: np.random.Generator, size: int) -> Drawn:
        """Random propositions for the variables of a random template."""
        p = self.table.n_columns
        expansions = [expand(template, True) for template in self.templates]
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
                columns: dict[Formula, NDArray[np.bool_]] = {
                    leaf: self.table.entries(rows[mine], chosen[:, k])
                    for k, leaf in enumerate(expansion.leaves)
                }
                right = np.ones(len(mine), dtype=np.bool_)
                for group in expansion.all_different:  # these are different propositions
                    right &= (np.diff(np.sort(chosen[:, list(group)], axis=1)) != 0).all(axis=1)
                true[mine] = right & evaluate(expansion.formula, columns.__getitem__)
            return true

        return feature, values


def _different(generator: np.random.Generator, size: int, n: int, p: int) -> NDArray[np.int64]:
    """n of the numbers below p, different ones where there are as many; shape (size, n)."""
    if n > p:
        return generator.integers(p, size=(size, n))
    chosen = generator.integers(0, p - np.arange(n), (size, n))
    for k in range(1, n):  # counted among those that are left, so skip those before
        for earlier in np.sort(chosen[:, :k], axis=1).T:
            chosen[:, k] += chosen[:, k] >= earlier
    return chosen
