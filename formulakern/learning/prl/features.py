"""Families of features for a preference learner, priced exactly.

For weights p of the preferences let v_c(φ) = Σ_i p_i φ(x_i)(δ(y⁺ᵢ=c) − δ(y⁻ᵢ=c)).  The column
(φ, a, b) pays v_a(φ) − v_b(φ) against p, so the best response is the feature whose v has the
largest spread, found by branch and bound (:mod:`formulakern.mining`).  Columns are all features
with all pairs of classes.  Among those with the largest spread, in classification, v_a > 0, since
Σ_c v_c = 0; then a row of class a is covered and its preference over b makes the column: the value
is that of the game in which preferences make the columns.

All monomials are priced in one sweep: for degree 2 the sums v_c of all of them are the upper
triangle of Xᵀ diag(w_c) X, and for degree d one such product for each product of d − 2 columns.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.encoding.packed import PackedTable
from formulakern.errors import DataError, ParameterError
from formulakern.learning.prl.preferences import Preferences
from formulakern.mining.conjunctions.search import MinedConjunctions, mine_conjunctions
from formulakern.mining.search import MiningResult
from formulakern.mining.templates.search import mine_templates
from formulakern.rules.features import BIAS, Conjunction, Feature, Instance, Monomial
from formulakern.syntax.formula import Formula

__all__ = [
    "Column",
    "ConjunctionFeatures",
    "FeatureFamily",
    "MonomialFeatures",
    "Priced",
    "TemplateFeatures",
]

#: Mined results per column that is wanted: many have equal covers.
SPARE = 3
#: Payoffs are divided by no more than this: a longer rule pays nothing in any case.
FINITE = 1e299
#: More monomials than this are not priced.
MAX_MONOMIALS = 20_000_000
#: Payoffs are squares of monomials, and sums of many of them must not overflow.
LARGEST = 1e100

#: Features with their v.
Listed = list[tuple[Feature, FloatArray]]


@dataclass(frozen=True)
class Column:
    """A feature that votes for one class against another, times a scale.

    Parameters
    ----------
    feature : Conjunction, Instance, Monomial or Step
    winner, loser : int
        Positions of classes.
    scale : float
        φ(x_j) of the preference j that made the column of a monomial; of a rule, at most 1, less
        for long rules.
    """

    feature: Any
    winner: int
    loser: int
    scale: float = 1.0


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
        False if a time limit ended the search; ``best`` is a bound then too.
    """

    columns: list[Column]
    best: float
    proven: bool


@dataclass(eq=False)
class FeatureFamily(ABC):
    """Features of 0 and 1 over packed propositions, found by branch and bound.

    Parameters
    ----------
    table : PackedTable, or for monomials ndarray of shape (m, n)
        The different training rows.
    bias : bool
        Whether the feature ``always`` belongs to the family.

    Attributes
    ----------
    binary : bool
        Whether features are 0 or 1.
    unit : float
        The largest possible payoff; much smaller ones count as 0.
    always : Feature
        The feature that is always true.
    full, crowded : bool
        Of rows in partitions: whether a column could not enter, as it divides too many groups of
        rows; whether columns without weight should go, as there are so many groups.
    quick : mapping
        Options of searches that are fast.
    """

    table: Any
    bias: bool
    binary: ClassVar[bool] = True
    unit: ClassVar[float] = 2.0
    always: ClassVar[Any] = BIAS
    full: ClassVar[bool] = False
    crowded: ClassVar[bool] = False
    quick: ClassVar[Mapping[str, Any]] = {}

    @abstractmethod
    def mined(
        self, weights: FloatArray, threshold: float, **options: Any
    ) -> Iterator[tuple[MiningResult, Listed]]:
        """The features that pay more than a threshold, by each search of the family."""

    def price(
        self, weights: FloatArray, threshold: float, top: int, deadline: Deadline = UNLIMITED
    ) -> Priced:
        """The columns that pay most, and more than the threshold, one for each cover.

        Parameters
        ----------
        weights : ndarray of shape (m, K)
            Σ p_i (e_{y⁺} − e_{y⁻}) over the preferences of every row.
        threshold : float
        top : int
            The most columns.
        deadline : Deadline, optional
        """
        return self._priced(weights, threshold, top, time_limit=deadline)

    def _priced(self, weights: FloatArray, threshold: float, top: int, **options: Any) -> Priced:
        listed: Listed = []
        bounds = [threshold]
        for result, found in self.mined(weights, threshold, top=SPARE * top, **options):
            listed += [(feature, self.scale(feature) * sums) for feature, sums in found]
            bounds += [result.bound] * (not result.proven)
        listed.sort(key=lambda item: -float(np.ptp(item[1])))
        paying = [item for item in listed if np.ptp(item[1]) > threshold]
        columns: dict[bytes, Column] = {}
        covers = self.covers([feature for feature, _ in paying])
        for (feature, sums), cover in zip(paying, covers, strict=False):
            pair = int(sums.argmax()), int(sums.argmin())
            columns.setdefault(cover, Column(feature, *pair, self.scale(feature)))
            if len(columns) == top:
                break
        best = max([*bounds, *(float(np.ptp(sums)) for _, sums in listed[:1])])
        return Priced([*columns.values()], best + self.rounding(weights), len(bounds) == 1)

    def first(
        self, weights: FloatArray, threshold: float, top: int, deadline: Deadline
    ) -> list[Column]:
        """Columns that pay much and are found fast, for a hypothesis before long searches."""
        return self._priced(weights, threshold, top, time_limit=deadline, **self.quick).columns

    def rounding(self, weights: FloatArray) -> float:
        """How much more a feature may pay than its sums, generously."""
        return 1e-12 * float(np.abs(weights).sum()) * self.unit / 2

    def covers(self, features: Sequence[Any]) -> Iterable[bytes]:
        """A digest of the rows that each feature covers."""
        return (np.packbits(self.values(feature)).tobytes() for feature in features)

    def scale(self, feature: Any) -> float:  # noqa: ARG002 - of families that scale none
        """What the payoffs of a feature are multiplied by, at most 1."""
        return 1.0

    @property
    def n_rows(self) -> int:
        """The number of rows that features have values on."""
        return len(self.table) if isinstance(self.table, np.ndarray) else int(self.table.n_rows)

    def values(self, feature: Any) -> Any:
        """The feature on the training rows, shape (m,); None if it does not fit (see ``full``)."""
        return feature.values(self.table)

    def prepare(  # noqa: B027 - where features have values on rows, nothing is to be done
        self, game: Any, features: Sequence[Any], deadline: Deadline
    ) -> None:
        """Make the values of features known, which may divide groups of rows."""

    def settle(self, game: Any, p: FloatArray) -> FloatArray:  # noqa: ARG002
        """Forget what no column of a game needs, after some left; return p on what remains."""
        return p


@dataclass(eq=False)
class ConjunctionFeatures(FeatureFamily):
    """Conjunctions of so many propositions; what l of them pay is divided by a^(l − least).

    Parameters
    ----------
    table, bias :
        As of :class:`FeatureFamily`.
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
        self.quick = {"max_length": 1} if self.least <= 1 else {}  # type: ignore[misc]
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
        found: NDArray[np.intp] = self.table.select(side).different_columns(not self.bias)
        return found

    def heaviest(
        self,
        side: NDArray[np.intp],  # noqa: ARG002 - of rows in partitions
        table: PackedTable,
        weights: FloatArray,
        **options: Any,
    ) -> MinedConjunctions:
        """The heaviest conjunctions of the propositions of a side, whose table is given."""
        return mine_conjunctions(table, weights, **options)

    def mined(
        self, weights: FloatArray, threshold: float, **options: Any
    ) -> Iterator[tuple[MiningResult, Listed]]:
        """Conjunctions of different columns, one search for each side."""
        whole = Deadline.of(options.pop("time_limit"))
        longest = options.pop("max_length", self.greatest)
        for number, (direction, side, table) in enumerate(self._sides):
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
                time_limit=whole.part(1 / (len(self._sides) - number)),
                **options,
            )
            features = (Conjunction(tuple(side[list(w)].tolist())) for w in result.conjunctions)
            sums = result.sums if both else result.sums * [-0.5, 0.5]
            yield result, list(zip(features, sums, strict=True))

    def scale(self, feature: Any) -> float:
        """1/a^(l − least) for l propositions; 1 for the bias."""
        return float(1 / self._divisors[len(feature.propositions)])


@dataclass(eq=False)
class TemplateFeatures(FeatureFamily):
    """The instances of formula templates; different variables are different propositions."""

    templates: tuple[Formula, ...]

    def mined(
        self, weights: FloatArray, threshold: float, **options: Any
    ) -> Iterator[tuple[MiningResult, Listed]]:
        """The instances of each template."""
        options |= {"objective": "spread", "threshold": threshold, "distinct": True}
        for template in self.templates:
            result = mine_templates(template, self.table, weights, **options)
            formula, leaves = result.expansion.formula, result.expansion.leaves
            found = (Instance(formula, leaves, chosen) for chosen in result.assignments)
            yield result, list(zip(found, result.sums, strict=True))


class MonomialFeatures(FeatureFamily):
    """Products x_{i₁}·…·x_{i_d}, i₁ ≤ … ≤ i_d, of real columns.

    A column of the game is a monomial with the preference j that made it, and pays φ(x_j) times
    what the monomial pays; so for each pair of classes the largest and the smallest φ(x_j) matter.

    Parameters
    ----------
    X : ndarray of shape (m, n), float64
    degree : int
        d, at least 1.
    bias : bool
    preferences : Preferences

    Raises
    ------
    ParameterError
        If there are more than ``MAX_MONOMIALS`` monomials.
    DataError
        If one is larger than ``LARGEST``.
    """

    binary: ClassVar[bool] = False
    always: ClassVar[Any] = Monomial(())

    def __init__(self, X: FloatArray, degree: int, bias: bool, preferences: Preferences) -> None:
        super().__init__(X, bias)
        n = X.shape[1]
        self.degree, self.size = degree, math.comb(n + degree - 1, degree)
        if self.size > MAX_MONOMIALS:
            raise ParameterError(
                f"{self.size:,} monomials of degree {degree} over {n:,} columns; at most "
                f"{MAX_MONOMIALS:,} are priced. Lower the degree or select columns."
            )
        with np.errstate(over="ignore", invalid="ignore"):
            self.extremes = self._extremes(preferences)
        largest = float(np.max([1.0 * bias, *(abs(v).max() for v in self.extremes.values())]))
        if not largest < LARGEST:
            raise DataError(
                f"products of {degree} numbers as large as {float(np.abs(X).max()):.3g} exceed "
                f"{LARGEST:g}. Scale the columns first, for example with StandardScaler."
            )
        self.unit = 2.0 * largest**2  # type: ignore[misc]

    def mined(self, *_: Any, **__: Any) -> Any:
        """Nothing: all monomials are priced."""

    def first(self, *arguments: Any) -> list[Column]:
        """The same in one sweep."""
        return self.price(*arguments).columns

    def price(
        self,
        weights: FloatArray,
        threshold: float,
        top: int,
        deadline: Deadline = UNLIMITED,  # noqa: ARG002 - one sweep has no shorter form
    ) -> Priced:
        """Every monomial with every pair of classes."""
        sums, n = self._sums(weights), self.table.shape[1]
        listed: list[tuple[float, Column]] = []
        for (a, b), (high, low) in self.extremes.items():
            difference = sums[a] - sums[b]
            payoff = np.maximum(high * difference, low * difference)
            places = np.argpartition(payoff, -min(top, len(payoff)))[-top:]
            for place in places.tolist():
                scale = high if high[place] * difference[place] >= payoff[place] else low
                column = Column(_monomial(place, n, self.degree), a, b, float(scale[place]))
                listed.append((float(payoff[place]), column))
        listed.sort(key=lambda item: -item[0])
        best = max(threshold, listed[0][0]) + self.rounding(weights)
        return Priced([column for pays, column in listed[:top] if pays > threshold], best, True)

    def _sums(self, weights: FloatArray) -> FloatArray:
        """Σ_i weights_ic φ(x_i) of every class and monomial; shape (K, monomials)."""
        X, done = self.table, 0
        if self.degree == 1:
            return np.asarray(weights.T @ X)
        sums = np.empty((weights.shape[1], self.size))
        for head in itertools.combinations_with_replacement(range(X.shape[1]), self.degree - 2):
            rest = X[:, (head or (0,))[-1] :]
            upper = np.triu_indices(rest.shape[1])
            for own, weight in zip(sums, weights.T, strict=True):
                products = (rest * (weight * Monomial(head).values(X))[:, None]).T @ rest
                own[done : done + len(upper[0])] = products[upper]
            done += len(upper[0])
        return sums

    def _extremes(self, preferences: Preferences) -> dict[tuple[int, int], FloatArray]:
        """Of each pair of classes the largest and the smallest φ(x_j), shape (2, monomials)."""
        winners, losers = preferences.winners, preferences.losers
        known: dict[bytes, FloatArray] = {}
        found = {}
        for a, b in sorted(set(zip(winners.tolist(), losers.tolist(), strict=True))):
            rows = np.unique(preferences.rows[(winners == a) & (losers == b)])
            if rows.tobytes() not in known:
                X, parts = self.table[rows], []
                n, heads = X.shape[1], itertools.combinations_with_replacement
                for head in heads(range(n), self.degree - 1):
                    block = X[:, (head or (0,))[-1] :] * Monomial(head).values(X)[:, None]
                    parts.append([block.max(axis=0), block.min(axis=0)])
                known[rows.tobytes()] = np.concatenate(parts, axis=1)
            found[a, b] = known[rows.tobytes()]
        return found


def _monomial(place: int, n: int, degree: int) -> Monomial:
    """The monomial of a number, in lexicographic order, without a table of all."""
    columns: list[int] = []
    first = 0
    for left in range(degree - 1, -1, -1):
        for j in range(first, n):
            count = math.comb(n - j + left - 1, left)
            if place < count:
                columns.append(j)
                first = j
                break
            place -= count
    return Monomial(tuple(columns))
