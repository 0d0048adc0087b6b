"""Rules that conclude a class: one of them, and what ordered lists and unordered sets share."""

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
    """If a row satisfies the rule, then it is of this class.

    Parameters
    ----------
    rule : Rule
        When it is true, it says ``label``.
    label : object
        The class.
    counts : tuple of float
        Weight of training rows by class, in the order of the classes, that the rule decides: in a
        list those that no earlier rule covers, in a set those that it covers.  Empty where it is
        not known.

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
        """Number of comparisons and Boolean columns in the rule, with repetition."""
        return self.rule.n_conditions

    def __str__(self) -> str:
        return f"if {self.rule} then {self.label}"


@dataclass(frozen=True, repr=False)
class DecisionRules:
    """What :class:`formulakern.RuleList` and :class:`formulakern.RuleSet` hold."""

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
            raise ParameterError(f"classes={self.classes!r}; expected one at least, each once.")
        unknown = [item.label for item in self.rules if item.label not in known]
        unknown += [self.default] if self.default not in known | {None} else []
        if unknown:
            raise ParameterError(
                f"class {unknown[0]!r} is not among the classes {list(self.classes)!r}."
            )
        for counts in (self.default_counts, *(item.counts for item in self.rules)):
            if len(counts) not in (0, len(self.classes)):
                raise ParameterError(
                    f"counts {counts!r}; expected none, or one for each of "
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
        """Number of comparisons and Boolean columns in all rules, with repetition."""
        return sum(item.n_conditions for item in self.rules)

    # -- as a predictor -------------------------------------------------------------------------

    @lazily
    def covers(self, table: Any) -> npt.NDArray[np.bool_]:
        """Which rows satisfy which rule.

        Parameters
        ----------
        table : DataFrame, mapping of columns, array-like or Table of n rows
            With the columns that the rules name.

        Returns
        -------
        ndarray of shape (n, R), bool

        Raises
        ------
        DataError
            If a column is absent, or cannot be compared.
        """
        return covers_of((item.rule.formula for item in self.rules), Table.of(table))

    @lazily
    def predict(self, table: Any) -> npt.NDArray[Any]:
        """The class of every row.

        Parameters
        ----------
        table : DataFrame, mapping of columns, array-like or Table of n rows

        Returns
        -------
        ndarray of shape (n,)
            Of the dtype of the classes; of dtype object if the default is None, which stands for
            an unknown class.
        """
        return self.decide(self.covers(table))

    @lazily
    def predict_proba(self, table: Any) -> FloatArray:
        """The probability of every class, by Laplace's correction of the counts.

        With n_k training rows of class k, n in all, behind the decision, and K classes, it is
        (n_k + 1) / (n + K).

        Parameters
        ----------
        table : DataFrame, mapping of columns, array-like or Table of n rows

        Returns
        -------
        ndarray of shape (n, K), float64
            Where counts are not known, 1 for the class that is decided and 0 for the others; 1/K
            for each where the class is unknown.
        """
        return self.probabilities(self.covers(table))

    def decide(self, covers: npt.ArrayLike) -> npt.NDArray[Any]:
        """The class of rows for which is known which rules they satisfy.

        Parameters
        ----------
        covers : array-like of shape (n, R), bool
            As :meth:`covers` gives them.

        Returns
        -------
        ndarray of shape (n,)
            As of :meth:`predict`.

        Raises
        ------
        DataError
            If the shape is another one.
        """
        known = self._places[self.default] < len(self.classes)
        answers = class_array(self.classes if known else [*self.classes, None])
        return answers[self._positions(self._checked(covers))]

    def probabilities(self, covers: npt.ArrayLike) -> FloatArray:
        """The probabilities of rows for which is known which rules they satisfy.

        Parameters
        ----------
        covers : array-like of shape (n, R), bool

        Returns
        -------
        ndarray of shape (n, K), float64
            As of ``predict_proba``.
        """
        return self._probabilities(self._checked(covers))

    def with_counts(self, table: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """The same rules, with counts of these rows.

        Parameters
        ----------
        table : DataFrame, mapping of columns, array-like or Table of n rows
        y : array-like of shape (n,)
            Classes.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        RuleList or RuleSet
            Of rules and default, the weight of the rows by class that they decide.

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
        """The accuracy of the first k rules alone, k = 0, 1, 2, …; costs O(n·R²).

        Parameters
        ----------
        table : DataFrame, mapping of columns, array-like or Table of n rows
        y : array-like of shape (n,)
            Classes that the rules do not know are never right.
        max_rules : int, optional
            The largest k; all by default.
        refit : (table, y) of training rows, optional
            For each k the default is the class that most of these rows have that none of the first
            k rules covers; where there are none, as by default, it stays as it is.

        Returns
        -------
        ndarray of shape (number of rules + 1,), float64

        Raises
        ------
        DataError
            If there is not a class for every row, or no row.

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
                f"{len(covers)} rows and y of shape {codes.shape}; expected some, and one for each."
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
        """The place of the class of every row; the number of classes where it is unknown."""

    @abstractmethod
    def _probabilities(self, covers: npt.NDArray[np.bool_]) -> FloatArray: ...

    @abstractmethod
    def _shares(self, covers: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Which rows count for which rule and, last, for the default, bool of shape (n, R + 1)."""

    def _checked(self, covers: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        truths = np.asarray(covers, dtype=np.bool_)
        if truths.ndim != 2 or truths.shape[1] != len(self):
            raise DataError(
                f"covers has shape {truths.shape}; expected one column per rule, (n, {len(self)})."
            )
        return truths

    @property
    def _places(self) -> dict[Any, int]:
        """Class → its place; the default None stands behind the last."""
        return {None: len(self.classes)} | {label: k for k, label in enumerate(self.classes)}

    def _corrected(self, counts: tuple[float, ...], label: Any) -> FloatArray:
        """Probabilities of one decision, shape (K,)."""
        k = len(self.classes)
        if counts:
            return np.asarray((np.array(counts) + 1) / (sum(counts) + k))
        sure = np.zeros(k + 1)
        sure[self._places[label]] = 1
        return np.full(k, 1 / k) if sure[k] else sure[:k]


def covers_of(formulas: Iterable[Formula], table: Table) -> npt.NDArray[np.bool_]:
    """Which rows satisfy which formula, bool of shape (n, R); equal leaves are evaluated once."""
    formulas = tuple(formulas)
    known: dict[Formula, npt.NDArray[np.bool_]] = {}
    covers = np.empty((len(formulas), len(table)), dtype=np.bool_)
    for place, formula in enumerate(formulas):
        covers[place] = evaluate_formula(formula, table, known)
    return covers.T


def conditions_of(formula: Formula) -> tuple[Formula, ...]:
    """What a conjunction joins: none for the constant true, one for what is no conjunction.

    >>> from formulakern.rules.rule import rule
    >>> [str(condition) for condition in conditions_of(rule("x = 1 & (y = 2 | z)").formula)]
    ['x = 1', 'y = 2 | z']
    """
    if formula.connective is AND:
        return formula.arguments
    return () if formula == TRUE else (formula,)


def class_positions(y: Any, classes: tuple[Any, ...], n: int) -> npt.NDArray[np.intp]:
    """The place of the class of every one of n rows among the classes, shape (n,)."""
    codes = class_codes(y, classes)
    if len(codes) != n:
        raise DataError(f"{n} rows and {len(codes)} classes; expected one class per row.")
    if (codes < 0).any():
        row = int(codes.argmin())
        label = np.asarray(y, dtype=object)[row]
        raise DataError(f"y holds {label!r} (row {row}); the classes are {list(classes)!r}.")
    return codes


def row_weights(sample_weight: npt.ArrayLike | None, n: int) -> FloatArray:
    """The weights of n rows, 1 each by default."""
    if sample_weight is None:
        return np.ones(n)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n,) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise DataError(
            f"sample_weight of shape {weights.shape} with the smallest "
            f"{weights.min(initial=np.inf):g}; expected {n} finite numbers, none negative."
        )
    return weights


def _checked_counts(counts: Iterable[float]) -> tuple[float, ...]:
    numbers = tuple(counts)
    for number in numbers:
        if not (is_number(number) and 0 <= number < np.inf):
            raise ParameterError(f"count {number!r}; expected a finite number, not negative.")
    return tuple(float(number) for number in numbers)
