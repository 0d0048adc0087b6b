"""Why rows were predicted as they were by weighted votes of rules: the intercept and the rules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.errors import ParameterError
from formulakern.markup import Barred, small_table
from formulakern.rules.ensemble import RuleEnsemble
from formulakern.rules.explanation.rows import RowExplanations, reasons
from formulakern.rules.export.text import listed_levels, said
from formulakern.text import aligned, clip, significant

__all__ = ["Explanation"]

#: Reasons that are told of each of many rows, and characters of one.
FEW, SHORT = 3, 60
START = "every row (the intercept)"


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(RowExplanations):
    """Why n rows were predicted as they were: s_k(x) = intercept_k + Σ_r V_rk · r(x), term by term.

    It is a sequence of explanations of one row each.  ``explained[i]`` prints all terms of row i,
    which add up to its score; more rows print one below the other with their heaviest reasons.

    Parameters
    ----------
    ensemble : RuleEnsemble
        All rules, with votes V.
    values : ndarray of shape (n, R), float64
        r(x): 1 where a row satisfies a rule, else 0; of monomials and linear terms their values.

    Examples
    --------
    >>> from formulakern.rules.ensemble import WeightedRule
    >>> from formulakern.rules.rule import rule
    >>> cost = [WeightedRule(rule("smoker"), 20.0), WeightedRule(rule("age >= 50"), 15.0)]
    >>> ensemble = RuleEnsemble.of(cost, None, [3.0], "cost")
    >>> explained = Explanation.of(ensemble, [[1, 1], [0, 1]])
    >>> print(explained[0])
    cost = 38
       +3.0  every row (the intercept)
      +20.0  smoker
      +15.0  age >= 50
    >>> print(explained)
    row  cost  reasons, the largest first
      0    38  +20 smoker; +15 age >= 50
      1    18  +15 age >= 50
    every row begins with 3, the intercept
    """

    ensemble: RuleEnsemble
    values: FloatArray

    @classmethod
    def of(cls, ensemble: RuleEnsemble, values: npt.ArrayLike) -> Self:
        """The explanation of rows on which the rules have these values, shape (n, R)."""
        return cls(ensemble, np.asarray(values, dtype=np.float64))

    # -- all rows ------------------------------------------------------------------------------

    @cached_property
    def totals(self) -> FloatArray:
        """The scores, shape (n, K): a column for each class, or one for a number."""
        return self.ensemble.scores_of(self.values)

    @property
    def predictions(self) -> npt.NDArray[Any]:
        """The class of the largest score, the level, or the number, of each row."""
        return self.ensemble.decide(self.totals)

    @property
    def intercept(self) -> FloatArray:
        """What every row begins with, shape (K,)."""
        return self.ensemble.intercept

    def added(self, name: Any = None) -> FloatArray:
        """What each rule adds to a score: V_rk · r(x); with the intercept they sum to the score.

        Parameters
        ----------
        name : object, optional
            The class, where there are classes.

        Returns
        -------
        ndarray of shape (n, R)

        Raises
        ------
        ParameterError
            If there is no such class.
        """
        return np.asarray(self.values * self.ensemble.votes[:, self._place(name)])

    def _place(self, name: Any) -> int:
        classes = self.ensemble.classes
        if classes is None and name is None:
            return 0
        if classes is None or name not in classes:
            known = "None, for a number" if classes is None else f"one of {list(classes)!r}"
            raise ParameterError(f"class {name!r}; expected {known}.")
        return classes.index(name)

    # -- one row -------------------------------------------------------------------------------

    @property
    def scores(self) -> dict[Any, float]:
        """Class → score of the only row; for a number, what it is called → the number."""
        row = self._only("scores")
        names = [self.ensemble.target] if self.ensemble.classes is None else self.ensemble.classes
        return dict(zip(names, self.totals[row].tolist(), strict=True))

    @property
    def rules(self) -> RuleEnsemble:
        """The rules that the only row satisfies, largest contribution first."""
        self._only("rules")
        return self.ensemble.take(self._order)

    @property
    def contributions(self) -> tuple[float, ...]:
        """What each of these gives to its class and takes from the other one, if there is one.

        Or what it adds to the number; negative where a monomial or the weight is.
        """
        self._only("contributions")
        return tuple(self._given[self._order].tolist())

    @cached_property
    def _given(self) -> FloatArray:
        return np.asarray(self.values[0] * [item.weight for item in self.ensemble])

    @cached_property
    def _order(self) -> list[int]:
        order = np.argsort(-np.abs(self._given), kind="stable").tolist()
        return [r for r in order if self._given[r] != 0]

    # -- in print ------------------------------------------------------------------------------

    def _take(self, rows: slice) -> Self:
        return replace(self, values=self.values[rows])

    def shown_scores(self, row: int) -> list[int]:
        """Return the scores that explain a row: the only one, or those of the two best classes."""
        if self.ensemble.classes is None:
            return [0]
        if self.ensemble.is_opposite:
            return [1]
        return [int(k) for k in np.argsort(-self.totals[row], kind="stable")[:2]]

    def _terms(self, row: int, k: int) -> list[tuple[float, str]]:
        """What adds up to a score, the intercept and then the largest first."""
        given = self.values[row] * self.ensemble.votes[:, k]
        order = np.argsort(-np.abs(given), kind="stable").tolist()
        start = float(self.intercept[k])
        terms = [(start, START)] if start else []
        return terms + [(float(given[r]), self._said(r, k)) for r in order if given[r] != 0]

    def _said(self, r: int, k: int) -> str:
        return said(self.ensemble.rules[r], float(self.ensemble.votes[r, k]))

    def _title(self) -> str:
        """What is predicted of the only row, and by which score."""
        told, total = self.shown_scores(0), self.totals[0]
        if self.ensemble.levels is not None:
            ends = listed_levels(self.ensemble, scores=True)
            return f"{self.ensemble.target} {self.prediction}: the score is {total[0]:.6g}; {ends}"
        if self.ensemble.classes is None:
            return f"{self.ensemble.target} = {total[0]:.6g}"
        names = self.ensemble.classes
        if self.ensemble.is_opposite:
            rule = f"above 0 {names[1]}, else {names[0]}"
            return f"class {self.prediction}: the score is {total[1]:+.4g}; {rule}"
        first, second = (f"{names[k]} {total[k]:+.4g}" for k in told)
        more = len(names) - 2
        others = f", and {more} lower" if more else ""
        return f"class {self.prediction}: the largest score is {first}, then {second}{others}"

    def _table(self) -> list[tuple[list[float], str]]:
        """What each term of the only row adds to the scores that are told."""
        told = self.shown_scores(0)
        rows: dict[str, list[float]] = {}
        for place, k in enumerate(told):
            for amount, text in self._terms(0, k):
                rows.setdefault(text, [0.0] * len(told))[place] += amount
        listed = [(amounts, text) for text, amounts in rows.items()]
        return sorted(listed, key=lambda item: (item[1] != START, -max(map(abs, item[0]))))

    def _lines(self) -> list[str]:
        lines, rows, told = [self._title()], self._table(), self.shown_scores(0)
        if not rows:
            return [*lines, "no rule is satisfied"]
        flat = iter(_signed([x for amounts, _ in rows for x in amounts]))
        cells = [[*(next(flat) for _ in amounts), text] for amounts, text in rows]
        if len(told) > 1:
            names = [clip(str((self.ensemble.classes or ())[k]), 11) for k in told]
            cells.insert(0, [*names, ""])
        sides = ">" * len(told) + "<"
        return [*lines, *(f"  {line.rstrip()}" for line in aligned(cells, sides))]

    def _html(self) -> str:
        told, rows = self.shown_scores(0), self._table()
        if not rows:
            return small_table(["adds", "rule"], [], ">r", self._title(), "no rule is satisfied")
        names = ["adds"]
        if len(told) > 1:
            names = [f"adds to {(self.ensemble.classes or ())[k]}" for k in told]
        largest = max(max(map(abs, amounts)) for amounts, _ in rows) or 1.0
        totals = self.totals[0, told].tolist()
        texts = iter(_signed([x for amounts, _ in rows for x in amounts] + totals))
        cells: list[list[str | Barred]] = []
        for amounts, text in rows:
            bars = [
                Barred(text, 0.5, 0.5 + x / largest / 2) if x else ""
                for x, text in zip(amounts, texts, strict=False)
            ]
            cells.append([*bars, clip(text, 400)])
        what = "together" if self.ensemble.classes is None else "the score"
        cells.append([*(next(texts) for _ in told), what])
        return small_table([*names, "rule"], cells, ">" * len(told) + "r", self._title())

    def _cells(self) -> tuple[list[str], list[list[str]], str]:
        number = self.ensemble.classes is None and self.ensemble.levels is None
        head = [self.ensemble.target if number else "class", *([] if number else ["score"])]
        rows = []
        for row, predicted in enumerate(self.predictions.tolist()):
            k = self.shown_scores(row)[0]
            terms = [term for term in self._terms(row, k) if term[1] != START]
            said_ = [f"{amount:+.4g} {clip(text, SHORT)}" for amount, text in terms[:FEW]]
            front = (
                [f"{predicted:.6g}"] if number else [str(predicted), f"{self.totals[row, k]:+.4g}"]
            )
            rows.append([*front, reasons(said_, max(len(terms) - FEW, 0))])
        return [*head, "reasons, the largest first"], rows, (">" if number else "<>") + "<"

    def _foot(self) -> str:
        if not self.intercept.any():
            return ""
        if self.ensemble.classes is None or self.ensemble.is_opposite:
            return f"every row begins with {self.intercept[-1]:.4g}, the intercept"
        named = zip(self.ensemble.classes, self.intercept.tolist(), strict=True)
        starts = [f"{name} {start:+.4g}" for name, start in named if start]
        return f"every row begins with the intercepts {clip(', '.join(starts), 60)}"

    def _columns(self) -> dict[str, list[Any]]:
        """A line for each row, class and term that adds something, and for the intercept."""
        names = ("row", "prediction", "class", "adds", "value", "rule")
        columns: dict[str, list[Any]] = {name: [] for name in names}
        classes: tuple[Any, ...] = self.ensemble.classes or (None,)
        texts = [str(rule) for rule in self.ensemble.rules]
        predicted = self.predictions.tolist()
        for row, values in enumerate(self.values):
            for k, name in enumerate(classes):
                given = values * self.ensemble.votes[:, k]
                lines: list[tuple[float, float, str | None]]
                lines = [(float(self.intercept[k]), 1.0, None)]
                lines += [
                    (float(given[r]), float(values[r]), texts[r])
                    for r in np.flatnonzero(given).tolist()
                ]
                for line in lines:
                    entries = (row, predicted[row], name, *line)
                    for column, entry in zip(columns.values(), entries, strict=True):
                        column.append(entry)
        if self.ensemble.classes is None:
            del columns["class"]
        return columns

    def to_frame(self) -> Any:
        """A line for each row, class and rule that adds something to its score: ``adds``.

        The line without a rule is the intercept; sums of ``adds`` by row and class are the scores.
        Columns: row (from 0), prediction, class (not of numbers), adds, value, rule.

        Raises
        ------
        MissingDependencyError
            If pandas is not installed.
        """
        return super().to_frame()


def _signed(amounts: list[float]) -> list[str]:
    """Numbers of one format with their signs; nothing for 0."""
    texts = significant(amounts)
    return [
        "" if not x else text if x < 0 else f"+{text}"
        for x, text in zip(amounts, texts, strict=True)
    ]
