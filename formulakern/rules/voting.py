"""Rules with a matrix of votes: a value, a sequence of its rows, and a predictor."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.encoding.propositions import evaluate_formula
from formulakern.errors import ParameterError
from formulakern.partitions.lazy_rows import lazily
from formulakern.rules.features import Term
from formulakern.rules.rule import Rule
from formulakern.rules.sums import weighted_sums
from formulakern.syntax.formula import Formula
from formulakern.tables.table import Table

#: The arrays of an ensemble: the first has one entry per class, the others one row per rule.
NUMBERS = ("intercept", "votes", "support", "coverage", "precision", "base_rate", "expected")


@dataclass(frozen=True)
class WeightedRule:
    """One row of an ensemble: a rule, its votes, and its counts on the training rows.

    Parameters
    ----------
    rule : Rule, Monomial or LinearTerm
        A monomial or linear term contributes its value, and is satisfied if that is not 0.
    weight : float
        The vote for ``winner``, or for the predicted number; positive if there is a ``loser``.
    winner : object
        The class that the rule votes for; None if a number is predicted.
    loser : object
        The class with the vote ``-weight``; None if no other class has a vote.
    support : int
        The number of training rows that satisfy the rule.
    coverage : float
        ``support`` as a share of the training rows; nan if unknown.
    precision : float
        The share of class ``winner`` in the supporting rows, with sample weights; nan if unknown.
    base_rate : float
        The same share among all training rows: the precision of a rule that is always true.
    votes : tuple of K floats
        The votes for all classes if ``weight``, ``winner`` and ``loser`` do not determine them,
        otherwise empty.  ``weight`` is the largest absolute vote, and ``winner`` its class.
    expected : float
        The precision that the scores of the other rules suggest; nan if unknown.

    Examples
    --------
    >>> from formulakern.rules.rule import rule
    >>> WeightedRule(rule("odor = foul"), 2.0, "p", "e", 2160, 0.27, 1.0).support
    2160
    """

    rule: Term
    weight: float
    winner: Any = None
    loser: Any = None
    support: int = 0
    coverage: float = math.nan
    precision: float = math.nan
    base_rate: float = math.nan
    votes: tuple[float, ...] = ()
    expected: float = math.nan

    @classmethod
    def of_votes(
        cls, rule: Term, votes: Sequence[float], classes: Sequence[Any] | None, *counts: Any
    ) -> Self:
        """Return a rule from its votes for all classes, or from its only vote for a number.

        >>> from formulakern.rules.rule import rule
        >>> foul = WeightedRule.of_votes(rule("odor = foul"), (0.5, -2.0, 1.5), "abc")
        >>> foul.weight, foul.winner, foul.votes
        (-2.0, 'b', (0.5, -2.0, 1.5))
        """
        if classes is None:
            return cls(rule, votes[0], None, None, *counts)
        k = leading(votes)
        others = [classes[j] for j, vote in enumerate(votes) if vote and j != k]
        pair = len(others) == 1 and sum(votes) == 0
        loser = others[0] if pair else None
        known = votes[k] != 0 and (pair or not others) and None not in (classes[k], *others)
        found = cls(rule, votes[k], classes[k], loser, *counts)
        return found if known else replace(found, votes=tuple(votes))


def leading(votes: Sequence[float]) -> int:
    """Return the position of the largest absolute vote, the positive one of w and -w.

    >>> leading([0.0, -2.0, 2.0]), leading([0.5, -2.0])
    (2, 1)
    """
    return max(range(len(votes)), key=lambda k: (abs(votes[k]), votes[k]))


@dataclass(frozen=True, eq=False, repr=False)
class VotingRules:
    """The fields and predictions of a :class:`formulakern.RuleEnsemble`."""

    #: The heading of weights in print.
    AMOUNT = "weight"

    rules: tuple[Term, ...]
    votes: FloatArray
    classes: tuple[Any, ...] | None
    intercept: FloatArray
    support: npt.NDArray[np.int64]
    coverage: FloatArray
    precision: FloatArray
    target: str = "y"
    base_rate: FloatArray = field(default_factory=partial(np.array, math.nan))
    levels: tuple[Any, ...] | None = None
    thresholds: FloatArray = field(default_factory=partial(np.zeros, 0))
    expected: FloatArray = field(default_factory=partial(np.array, math.nan))

    def __post_init__(self) -> None:
        for name in ("rules", "classes", "levels"):
            given = getattr(self, name)
            object.__setattr__(self, name, None if given is None else tuple(given))
        n, k = len(self.rules), 1 if self.classes is None else len(self.classes)
        n_ends = 0 if self.levels is None else max(1, len(self.levels) - 1)
        shapes = {"votes": (n, k), "intercept": (k,), "thresholds": (n_ends,)}
        for name in (*NUMBERS, "thresholds"):
            kind, shape = np.int64 if name == "support" else np.float64, shapes.get(name, (n,))
            array = np.array(getattr(self, name), dtype=kind) + kind(0)  # no -0.0
            if name in ("base_rate", "expected") and not array.ndim:
                array = np.full(n, array)
            right = array.shape == shape and (name not in shapes or np.isfinite(array).all())
            if name != "thresholds" and not right:
                raise ParameterError(
                    f"{name} of shape {array.shape}; expected finite numbers of shape {shape}, for "
                    f"{n} rules and {'a number' if self.classes is None else f'{k} classes'}."
                )
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        both = self.levels is not None and self.classes is not None
        if both or not right or (np.diff(self.thresholds) < 0).any():
            raise ParameterError(
                f"levels {self.levels!r} with thresholds {self.thresholds.tolist()} and classes "
                f"{self.classes!r}; expected no classes, at least two levels, and a finite "
                "threshold between each level and the next, in ascending order."
            )
        if self.classes is not None and k < 2:
            raise ParameterError(f"classes {self.classes!r}; expected at least two classes.")

    @classmethod
    def of(
        cls,
        items: Iterable[WeightedRule],
        classes: Sequence[Any] | None = None,
        intercept: npt.ArrayLike | None = None,
        target: str = "y",
        levels: Sequence[Any] | None = None,
        thresholds: npt.ArrayLike = (),
    ) -> Self:
        """Build an ensemble from its rows.

        Parameters
        ----------
        items : iterable of WeightedRule
            The rows.  A winner or loser of None is not a class; if None is a class, give ``votes``.
        classes : sequence of K, optional
            All classes, in the learner's order; None if a number is predicted.
        intercept : array-like of shape (K,), optional
            0 by default; of shape (1,) without classes.
        target : str
            The name of the predicted number.
        levels : sequence, optional
            Ordered classes, if thresholds divide the number into levels.
        thresholds : array-like
            The upper ends of all levels but the last.

        Raises
        ------
        ParameterError
            If a rule votes for an unknown class, has a loser but no positive weight, or its votes
            do not fit the classes or its weight.

        Examples
        --------
        >>> from formulakern.rules.rule import rule
        >>> items = [WeightedRule(rule("doors = 2"), -3.0), WeightedRule(rule("turbo"), 2.0)]
        >>> ensemble = VotingRules.of(items, intercept=[12.5])
        >>> ensemble.predict({"doors": [2, 4], "turbo": [True, False]})
        array([11.5, 12.5])
        """
        items, classes = tuple(items), None if classes is None else tuple(classes)
        places = {name: k for k, name in enumerate([None] if classes is None else classes)}
        votes = np.zeros((len(items), len(places)))
        for row, item in enumerate(items):
            names = [item.winner] if item.loser is None else [item.winner, item.loser]
            right = set(names) <= set(places) and (len(names) == 1 or item.weight >= 0)
            if right and item.votes:
                k, right = places[item.winner], len(item.votes) == len(places)
                right = right and k == leading(item.votes) and item.votes[k] == item.weight
            if not right:
                raise ParameterError(
                    f"rule {str(item.rule)!r} votes {item.votes or item.weight} for "
                    f"{item.winner!r} against {item.loser!r}; expected classes among "
                    f"{list(places)!r}, a positive weight if there is a loser, and, if there are "
                    "votes, the largest absolute vote as the weight."
                )
            if item.votes:
                votes[row] = item.votes
                continue
            for name, vote in zip(names, (item.weight, -item.weight), strict=False):
                votes[row, places[name]] += vote
        known: dict[str, Any] = {n: [getattr(item, n) for item in items] for n in NUMBERS[2:]}
        biases = np.zeros(len(places)) if intercept is None else np.asarray(intercept)
        rules = tuple(item.rule for item in items)
        whole: dict[str, Any] = {"target": target, "levels": levels, "thresholds": thresholds}
        return cls(rules, votes, classes, biases, **known, **whole)

    # -- as a value, and as a sequence of its rows ----------------------------------------------

    def _key(self) -> tuple[Any, ...]:
        """Return the values to compare: numbers as text, which is the same for every nan."""
        numbers = (repr(getattr(self, name).tolist()) for name in NUMBERS)
        ends = repr(self.thresholds.tolist())
        return (self.rules, self.classes, self.target, *numbers, self.levels, ends)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VotingRules) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        classes = self.classes or self.levels
        about = self.target if classes is None else list(classes)
        return f"<{type(self).__name__}: {len(self)} rules for {about!r}>"

    @cached_property
    def _items(self) -> tuple[WeightedRule, ...]:
        numbers = (getattr(self, name).tolist() for name in NUMBERS[1:-1])
        rows = zip(self.rules, *numbers, strict=True)
        items = (WeightedRule.of_votes(r, v, self.classes, *known) for r, v, *known in rows)
        expected = zip(items, self.expected.tolist(), strict=True)
        return tuple(item if math.isnan(x) else replace(item, expected=x) for item, x in expected)

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[WeightedRule]:
        return iter(self._items)

    def __getitem__(self, position: int) -> WeightedRule:
        return self._items[position]

    @property
    def n_conditions(self) -> int:
        """The number of conditions in all rules; each factor of a monomial counts as one."""
        return sum(rule.n_conditions for rule in self.rules)

    @property
    def is_pairwise(self) -> bool:
        """True if there are two classes, and the votes of every rule are w and -w."""
        return self.votes.shape[1] == 2 and not self.votes.sum(axis=1).any()

    @property
    def is_opposite(self) -> bool:
        """True if there are two classes with opposite scores."""
        return self.is_pairwise and bool(self.intercept[0] == -self.intercept[1])

    def head(self, n: int) -> Self:
        """Return the first n rules, with the same classes and intercepts."""
        return self.take(range(len(self))[:n])

    def take(self, positions: Sequence[int]) -> Self:
        """Return the rules at these positions, with the same classes and intercepts."""
        rows = np.array(positions, dtype=np.intp)
        numbers: dict[str, Any] = {name: getattr(self, name)[rows] for name in NUMBERS[1:]}
        return replace(self, rules=tuple(self.rules[r] for r in positions), **numbers)

    # -- as a predictor -----------------------------------------------------------------------

    @lazily
    def covers(self, table: Any) -> npt.NDArray[np.bool_]:
        """Return which rows of a table satisfy which rules, bool of shape (n, R)."""
        return np.asarray(self.values(table) != 0)

    @lazily
    def values(self, table: Any) -> FloatArray:
        """Return the values of rules (1 if a row satisfies it, else 0) and terms, shape (n, R)."""
        rows = Table.of(table)
        known: dict[Formula, npt.NDArray[np.bool_]] = {}
        values = np.empty((len(self.rules), len(rows)))
        for place, rule in enumerate(self.rules):
            if isinstance(rule, Rule):
                values[place] = evaluate_formula(rule.formula, rows, known)
            else:
                values[place] = rule(rows)
        return values.T

    @lazily
    def scores(self, table: Any) -> FloatArray:
        """Return the score of each class, shape (n, K), or the predicted number, shape (n, 1)."""
        return self.scores_of(self.values(table))

    def scores_of(self, values: npt.NDArray[Any]) -> FloatArray:
        """Return the scores of rows from the values of the rules on them, shape (n, R)."""
        return weighted_sums(np.asarray(values), self.votes, self.intercept)

    @lazily
    def predict(self, table: Any) -> npt.NDArray[Any]:
        """Predict the class, level or number of each row, shape (n,)."""
        return self.decide(self.scores(table))

    def growing(self, values: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
        """Yield the predictions of the first 0, 1, 2, … rules, given the values of all rules.

        Yields
        ------
        ndarray of shape (m,)
        """
        scores = np.tile(self.intercept, (len(values), 1))
        yield self.decide(scores)
        for value, votes in zip(values.T, self.votes, strict=True):
            scores += np.outer(value, votes)
            yield self.decide(scores)

    def decide(self, scores: FloatArray) -> npt.NDArray[Any]:
        """Return the predictions for rows with these scores, shape (n, K)."""
        names = self.levels or self.classes
        return scores[:, 0] if names is None else class_array(names)[self.places(scores)]

    def places(self, scores: FloatArray) -> npt.NDArray[np.intp]:
        """Return the number of each row's class or level; 0 if a number is predicted."""
        if self.levels is None:
            return np.asarray(scores.argmax(axis=1))
        return np.asarray(np.searchsorted(self.thresholds, scores[:, 0]))


def class_array(classes: Sequence[Any]) -> npt.NDArray[Any]:
    """Return classes as an array of their dtype if all are of one type, else of objects.

    >>> class_array(["e", "p"]), class_array(["e", None])
    (array(['e', 'p'], dtype='<U1'), array(['e', None], dtype=object))
    """
    alike = len(set(map(type, classes))) == 1 and np.ndim(classes[0]) == 0
    return np.asarray(np.array(classes) if alike else np.fromiter(classes, dtype=object))


def class_codes(y: Any, classes: Sequence[Any]) -> npt.NDArray[np.intp]:
    """Return the position of each row's class, −1 for other classes.

    >>> class_codes(["p", "e", "x"], ("e", "p"))
    array([ 1,  0, -1])
    """
    places = {name: place for place, name in enumerate(classes)}
    labels = y.tolist() if hasattr(y, "tolist") else list(y)
    return np.array([places.get(label, -1) for label in labels], dtype=np.intp)


def log_probabilities(scores: FloatArray) -> FloatArray:
    """Return s_k − ln Σ_j e^{s_j}; for two classes s is half of the (opposite) scores.

    >>> log_probabilities(np.array([[-np.log(3), np.log(3)]])).round(6)  # 1/4 and 3/4
    array([[-1.386294, -0.287682]])
    """
    return normalized(scores / 2 if scores.shape[1] == 2 else scores)


def normalized(logs: FloatArray) -> FloatArray:
    """Return logarithms less the logarithm of the sum of each row, ln Σ_k e^{l_k}."""
    parts = np.ascontiguousarray(logs.T)  # sums over rows of a few classes are slow
    parts = parts - parts.max(axis=0)
    return np.asarray((parts - np.log(np.exp(parts).sum(axis=0))).T)
