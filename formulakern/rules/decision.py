"""A rule that concludes a class, and the base class of ordered lists and unordered sets."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.checks import check_integer, is_number
from formulakern.encoding.propositions import evaluate_formula
from formulakern.errors import DataError, ParameterError
from formulakern.partitions.lazy_rows import lazily
from formulakern.rules.rule import Rule
from formulakern.rules.voting import class_array, class_codes
from formulakern.syntax.connectives import AND
from formulakern.syntax.formula import TRUE, Formula
from formulakern.tables.table import Table


@dataclass(frozen=True)
class ClassRule:
    """A rule and the class of the rows that satisfy it.

    Parameters
    ----------
    rule : Rule
        The condition.
    label : object
        The class.
    counts : tuple of float
        Weight by class of the training rows that the rule decides, in the order of the classes.  In
        a list these are the rows that no earlier rule covers, in a set all covered rows.
        Empty if unknown.

    Raises
    ------
    ParameterError
        If a count is negative or not finite.

    Examples
    --------
    >>> from formulakern.rules.rule import rule
    >>> foul = ClassRule(rule("odor = foul & size >= 3"), "p", (0.0, 2160.0))
    >>> print(foul)
    if odor = foul & size >= 3 then p
    >>> foul.n_conditions
    2
    """

    rule: Rule
    label: Any
    counts: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", _checked_counts(self.counts))

    @property
    def n_conditions(self) -> int:
        """The number of comparisons and Boolean columns in the rule, with repetition."""
        return self.rule.n_conditions

    def __str__(self) -> str:
        return f"if {self.rule} then {self.label}"


@dataclass(frozen=True, repr=False)
class DecisionRules:
    """The base class of :class:`formulakern.RuleList` and :class:`formulakern.RuleSet`."""

    rules: tuple[ClassRule, ...]
    classes: tuple[Any, ...]
    default: Any = None
    default_counts: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", tuple(self.rules))
        object.__setattr__(self, "classes", tuple(self.classes))
        object.__setattr__(self, "default_counts", _checked_counts(self.default_counts))
        known = set(self.classes)
        if not known or len(known) < len(self.classes):
            raise ParameterError(
                f"classes={self.classes!r}; expected at least one class, each listed once."
            )
        unknown = [item.label for item in self.rules if item.label not in known]
        unknown += [self.default] if self.default not in known | {None} else []
        if unknown:
            raise ParameterError(
                f"class {unknown[0]!r} is not among the classes {list(self.classes)!r}."
            )
        for counts in (self.default_counts, *(item.counts for item in self.rules)):
            if len(counts) not in (0, len(self.classes)):
                raise ParameterError(
                    f"counts {counts!r}; expected none, or one for each of the "
                    f"{len(self.classes)} classes."
                )

    # -- as a sequence of its rules -------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[ClassRule]:
        return iter(self.rules)

    def __getitem__(self, position: int) -> ClassRule:
        return self.rules[position]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} rules for {list(self.classes)!r}>"

    @property
    def n_conditions(self) -> int:
        """The number of comparisons and Boolean columns in all rules, with repetition."""
        return sum(item.n_conditions for item in self.rules)

    # -- as a predictor -------------------------------------------------------------------------

    @lazily
    def covers(self, table: Any) -> npt.NDArray[np.bool_]:
        """Return which rows satisfy which rules.

        Parameters
        ----------
        table : DataFrame, mapping of columns, array-like or Table of n rows
            The columns that the rules name.

        Returns
        -------
        ndarray of shape (n, R), bool

        Raises
        ------
        DataError
            If a column is absent, or its entries cannot be compared.
        """
        return covers_of((item.rule.formula for item in self.rules), Table.of(table))

    @lazily
    def predict(self, table: Any) -> npt.NDArray[Any]:
        """Predict the class of each row.

        Parameters
        ----------
        table : DataFrame, mapping of columns, array-like or Table of n rows

        Returns
        -------
        ndarray of shape (n,)
            The dtype is that of the classes, or object if the default is None (unknown).
        """
        return self.decide(self.covers(table))

    @lazily
    def predict_proba(self, table: Any) -> FloatArray:
        """Return the probability of each class, by Laplace's correction of the counts.

        It is (n_k + 1) / (n + K) if n_k of the n training rows decided are of class k of K.

        Parameters
        ----------
        table : DataFrame, mapping of columns, array-like or Table of n rows

        Returns
        -------
        ndarray of shape (n, K), float64
            Without counts, 1 for the predicted class and 0 for others, or 1/K for an unknown class.
        """
        return self.probabilities(self.covers(table))

    def decide(self, covers: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the class of each row, given the rules that it satisfies.

        Parameters
        ----------
        covers : array-like of shape (n, R), bool
            The result of :meth:`covers`.

        Returns
        -------
        ndarray of shape (n,)
            The classes that :meth:`predict` returns.

        Raises
        ------
        DataError
            If ``covers`` does not have one column per rule.
        """
        known = self._places[self.default] < len(self.classes)
        answers = class_array(self.classes if known else [*self.classes, None])
        return answers[self._positions(self._checked(covers))]

    def probabilities(self, covers: npt.ArrayLike) -> FloatArray:
        """Return the probabilities of each row, given the rules that it satisfies.

        Parameters
        ----------
        covers : array-like of shape (n, R), bool
            The result of :meth:`covers`.

        Returns
        -------
        ndarray of shape (n, K), float64
            The probabilities that :meth:`predict_proba` returns.
        """
        return self._probabilities(self._checked(covers))

    def with_counts(self, table: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Return the same rules with the counts of the given rows.

        Parameters
        ----------
        table : DataFrame, mapping of columns, array-like or Table of n rows
        y : array-like of shape (n,)
            Classes.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        RuleList or RuleSet
            Each rule and the default have the weight by class of the rows that they decide.

        Raises
        ------
        DataError
            If the lengths differ, a class is unknown, or a weight is negative or not finite.
        """
        rows = Table.of(table)
        places, weights = (
            class_positions(y, self.classes, len(rows)),
            row_weights(sample_weight, len(rows)),
        )
        counts = [
            tuple(np.bincount(places[on], weights[on], len(self.classes)).tolist())
            for on in self._shares(self.covers(rows)).T
        ]
        rules = (replace(item, counts=c) for item, c in zip(self.rules, counts[:-1], strict=True))
        return replace(self, rules=tuple(rules), default_counts=counts[-1])

    def accuracy_curve(
        self,
        table: Any,
        y: Any,
        max_rules: int | None = None,
        *,
        refit: tuple[Any, Any] | None = None,
    ) -> FloatArray:
        """Return the accuracy of the first k rules alone, for k = 0, 1, 2, …; costs O(n·R²).

        Parameters
        ----------
        table : DataFrame, mapping of columns, array-like or Table of n rows
        y : array-like of shape (n,)
            Classes; a class that is not among ``classes`` is never predicted.
        max_rules : int, optional
            The largest k; all by default.
        refit : (table, y) of training rows, optional
            For each k, the default becomes the most frequent class of the rows that none of the
            first k rules covers.  Without ``refit`` or such rows, the default stays.

        Returns
        -------
        ndarray of shape (number of rules + 1,), float64

        Raises
        ------
        DataError
            If there are no rows, or ``y`` does not have one class per row.

        Examples
        --------
        >>> from formulakern.rules.rule import rule
        >>> from formulakern.rules.class_rules import RuleList
        >>> items = [ClassRule(rule("x <= 3"), "a"), ClassRule(rule("x <= 9"), "b")]
        >>> table, y = {"x": [1, 5, 7, 10]}, ["a", "b", "b", "c"]
        >>> RuleList(items, ("a", "b", "c"), "c").accuracy_curve(table, y)
        array([0.25, 0.5 , 1.  ])
        >>> RuleList(items, ("a", "b", "c"), "c").accuracy_curve(table, y, refit=(table, y))
        array([0.5 , 0.75, 1.  ])
        """
        check_integer("max_rules", max_rules, 0, otherwise="None for all")
        covers, codes = self.covers(table), class_codes(y, self.classes)
        if codes.shape != (len(covers),) or not len(codes):
            raise DataError(
                f"{len(covers)} rows and y of shape {codes.shape}; expected at least one row, and "
                "one class per row."
            )
        most = len(self) if max_rules is None else min(max_rules, len(self))
        if refit is not None:
            training = self.covers(refit[0])
            known = class_positions(refit[1], self.classes, len(training))
        curve = np.empty(most + 1)
        for k in range(most + 1):
            first = replace(self, rules=self.rules[:k], default_counts=())
            if refit is not None:
                left = known[~training[:, :k].any(axis=1)]
                if len(left):
                    label = self.classes[int(np.bincount(left).argmax())]
                    first = replace(first, default=label)
            curve[k] = np.mean(first._positions(covers[:, :k]) == codes)
        return curve

    @abstractmethod
    def _positions(self, covers: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
        """Return the position of each row's class, or the number of classes if it is unknown."""

    @abstractmethod
    def _probabilities(self, covers: npt.NDArray[np.bool_]) -> FloatArray: ...

    @abstractmethod
    def _shares(self, covers: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return which rows count for which rule or (last) the default, bool (n, R + 1)."""

    def _checked(self, covers: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        truths = np.asarray(covers, dtype=np.bool_)
        if truths.ndim != 2 or truths.shape[1] != len(self):
            raise DataError(
                f"covers has shape {truths.shape}; expected one column per rule, (n, {len(self)})."
            )
        return truths

    @property
    def _places(self) -> dict[Any, int]:
        """The mapping of each class to its position; the default None comes after the last."""
        return {None: len(self.classes)} | {label: k for k, label in enumerate(self.classes)}

    def _corrected(self, counts: tuple[float, ...], label: Any) -> FloatArray:
        """Return the probabilities of one decision, shape (K,)."""
        k = len(self.classes)
        if counts:
            return np.asarray((np.array(counts) + 1) / (sum(counts) + k))
        sure = np.zeros(k + 1)
        sure[self._places[label]] = 1
        return np.full(k, 1 / k) if sure[k] else sure[:k]


def covers_of(formulas: Iterable[Formula], table: Table) -> npt.NDArray[np.bool_]:
    """Return which rows satisfy which formulas, bool (n, R); evaluate equal leaves once."""
    formulas = tuple(formulas)
    known: dict[Formula, npt.NDArray[np.bool_]] = {}
    covers = np.empty((len(formulas), len(table)), dtype=np.bool_)
    for place, formula in enumerate(formulas):
        covers[place] = evaluate_formula(formula, table, known)
    return covers.T


def conditions_of(formula: Formula) -> tuple[Formula, ...]:
    """Return the parts of a conjunction, () for the constant true, or else the formula alone.

    >>> from formulakern.rules.rule import rule
    >>> [str(condition) for condition in conditions_of(rule("x = 1 & (y = 2 | z)").formula)]
    ['x = 1', 'y = 2 | z']
    """
    if formula.connective is AND:
        return formula.arguments
    return () if formula == TRUE else (formula,)


def class_positions(y: Any, classes: tuple[Any, ...], n: int) -> npt.NDArray[np.intp]:
    """Return the position of the class of each of n rows, shape (n,)."""
    codes = class_codes(y, classes)
    if len(codes) != n:
        raise DataError(f"{n} rows and {len(codes)} classes; expected one class per row.")
    if (codes < 0).any():
        row = int(codes.argmin())
        label = np.asarray(y, dtype=object)[row]
        raise DataError(f"y holds {label!r} (row {row}); the classes are {list(classes)!r}.")
    return codes


def row_weights(sample_weight: npt.ArrayLike | None, n: int) -> FloatArray:
    """Return the weights of n rows, 1 each by default."""
    if sample_weight is None:
        return np.ones(n)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n,) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise DataError(
            f"sample_weight of shape {weights.shape} with minimum {weights.min(initial=np.inf):g}; "
            f"expected {n} finite numbers of at least 0."
        )
    return weights


def _checked_counts(counts: Iterable[float]) -> tuple[float, ...]:
    numbers = tuple(counts)
    for number in numbers:
        if not (is_number(number) and 0 <= number < np.inf):
            raise ParameterError(f"count {number!r}; expected a finite number of at least 0.")
    return tuple(float(number) for number in numbers)
