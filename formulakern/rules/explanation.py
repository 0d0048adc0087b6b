"""Explanations of predictions by votes, lists and sets of rules.

An explanation is a sequence of rows; each item is an explanation of one row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.errors import DataError, ParameterError
from formulakern.markup import Barred, small_table
from formulakern.optional import data_frame
from formulakern.rules.decision import ClassRule, DecisionRules, conditions_of, covers_of
from formulakern.rules.ensemble import RuleEnsemble, ScoreCard
from formulakern.rules.export.tables import listed_levels, term_text
from formulakern.rules.rule import Rule
from formulakern.tables.table import Table
from formulakern.text import aligned, clip, signed, width

if TYPE_CHECKING:
    import pandas

#: Maxima for a print of several rows: rows, reasons per row, characters per reason.
MAX_ROWS, MAX_REASONS, MAX_REASON = 30, 3, 60
START = "every row (the intercept)"


class RowExplanations(ABC):
    """Explanations of n rows; one row prints all its reasons, several rows print one line each.

    Indexing with a number and iterating yield explanations of one row; a slice yields several.
    """

    #: The attributes with one entry per row.
    ROWS: ClassVar[tuple[str, ...]]

    @property
    @abstractmethod
    def predictions(self) -> npt.NDArray[Any]:
        """The prediction for each row, shape (n,)."""

    @abstractmethod
    def _lines(self) -> list[str]:
        """Return the lines that explain the only row."""

    def _html(self) -> str:
        """Return the table that explains the only row."""
        title, *lines = self._lines()
        return small_table([title], [[line.strip()] for line in lines], "r")

    @abstractmethod
    def _cells(self) -> tuple[list[str], list[list[str]], str]:
        """Return headings, a line for each row, and alignments; reasons are in the last column."""

    @abstractmethod
    def _columns(self) -> dict[str, list[Any]]:
        """Return the columns of a data frame."""

    def _foot(self) -> str:
        """Return a note about all rows."""
        return ""

    def __len__(self) -> int:
        return len(self.predictions)

    def __iter__(self) -> Iterator[Self]:
        return (self[row] for row in range(len(self)))

    def __getitem__(self, place: int | slice) -> Self:
        if not isinstance(place, slice):
            row = range(len(self))[place]  # raises IndexError
            place = slice(row, row + 1)
        rows: dict[str, Any] = {name: getattr(self, name)[place] for name in self.ROWS}
        return replace(self, **rows)  # type: ignore[type-var]

    def _only(self, name: str) -> int:
        """Return 0, the number of the only row; raise DataError if there are several."""
        if len(self) != 1:
            raise DataError(
                f"{name} is defined for one row, but this explains {len(self):,}. Index it first: "
                "explained[i]."
            )
        return 0

    @property
    def prediction(self) -> Any:
        """The prediction for the only row; DataError if there are several."""
        return self.predictions.tolist()[self._only("prediction")]

    def to_frame(self) -> pandas.DataFrame:
        """Return the explanation as a data frame; ``row`` is the number of a row, from 0."""
        return data_frame(self._columns())

    def __repr__(self) -> str:
        if len(self) == 1:
            return f"<{type(self).__name__}: {clip(self._lines()[0], 80)}>"
        return f"<{type(self).__name__} of {len(self):,} rows>"

    def __str__(self) -> str:
        if len(self) == 1:
            return "\n".join(self._lines())
        head, rows, sides = self._numbered()
        lines = [clip(line.rstrip(), width()) for line in aligned([head, *rows], sides)]
        return "\n".join([*lines, *self._more()])

    def _repr_html_(self) -> str:
        if len(self) == 1:
            return self._html()
        head, rows, sides = self._numbered()
        return small_table(head, rows, f"{sides[:-1]}r", foot="; ".join(self._more()))

    def _numbered(self) -> tuple[list[str], list[list[str]], str]:
        head, rows, sides = self[:MAX_ROWS]._cells()
        return ["row", *head], [[str(k), *cells] for k, cells in enumerate(rows)], f">{sides}"

    def _more(self) -> list[str]:
        more, foot = len(self) - MAX_ROWS, self._foot()
        return [f"… and {more:,} more rows"] * (more > 0) + [foot] * bool(foot)


def given_rows(rows: Any) -> Table:
    """Return a table of at least one row; a mapping of columns to values is one row.

    >>> len(given_rows({"odor": "foul"})), len(given_rows({"odor": ["foul", "none"]}))
    (1, 2)
    """
    if not isinstance(rows, Mapping) and hasattr(rows, "items") and not hasattr(rows, "columns"):
        rows = dict(rows.items())  # a pandas Series
    if isinstance(rows, Mapping):
        many = (list, tuple, np.ndarray)
        rows = {
            str(name): value if isinstance(value, many) or hasattr(value, "to_numpy") else [value]
            for name, value in rows.items()
        }
    table = Table.of(rows)
    if not len(table):
        raise DataError("explain() needs a row, but the table has none. Pass X[i : i + 1].")
    return table


def _reasons(parts: Sequence[str]) -> str:
    """Join the first reasons in one line, and count the others.

    >>> _reasons(["+2 a", "-1 b", "+1 c", "+1 d"])
    '+2 a; -1 b; +1 c; 1 more'
    """
    more = [f"{len(parts) - MAX_REASONS} more"] if len(parts) > MAX_REASONS else []
    return "; ".join([*parts[:MAX_REASONS], *more])


def _transposed(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> dict[str, list[Any]]:
    """Transpose rows of entries into named columns."""
    entries = list(rows)
    return {name: [row[k] for row in entries] for k, name in enumerate(names)}


# -- votes -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(RowExplanations):
    """The reasons of n predictions: s_k(x) = intercept_k + Σ_r V_rk · r(x), term by term.

    ``explained[i]`` prints all terms of row i, which add up to its score.  An explanation of
    several rows prints one line per row, with the largest terms.  ``to_frame()`` has a line for
    each row, class and rule with a contribution, ``adds``.  The intercept is the line without a
    rule, so sums of ``adds`` by row and class are the scores.

    Parameters
    ----------
    ensemble : RuleEnsemble
        All rules, with votes V.
    values : ndarray of shape (n, R), float64
        r(x): 1 if a row satisfies a rule, else 0; the value of a monomial or a linear term.

    >>> from formulakern.rules.voting import WeightedRule
    >>> from formulakern.rules.rule import rule
    >>> cost = [WeightedRule(rule("smoker"), 20.0), WeightedRule(rule("age >= 50"), 15.0)]
    >>> explained = Explanation.of(RuleEnsemble.of(cost, None, [3.0], "cost"), [[1, 1], [0, 1]])
    >>> print(explained[0])
    cost = 38
       +3.0  every row (the intercept)
      +20.0  smoker
      +15.0  age >= 50
    >>> print(explained)
    row  cost  reasons, the largest first
      0    38  +20 smoker; +15 age >= 50
      1    18  +15 age >= 50
    every score includes the intercept, 3
    """

    ROWS = ("values",)

    ensemble: RuleEnsemble
    values: FloatArray

    @classmethod
    def of(cls, ensemble: RuleEnsemble, values: npt.ArrayLike) -> Self:
        """Build the explanation of rows from the values of the rules on them, shape (n, R)."""
        return cls(ensemble, np.asarray(values, dtype=np.float64))

    # -- all rows ------------------------------------------------------------------------------

    @cached_property
    def totals(self) -> FloatArray:
        """The scores, shape (n, K): a column for each class, or one for a number."""
        return self.ensemble.scores_of(self.values)

    @property
    def predictions(self) -> npt.NDArray[Any]:
        """The predicted class, level or number of each row."""
        return self.ensemble.decide(self.totals)

    @property
    def intercept(self) -> FloatArray:
        """The part of every score that does not depend on the row, shape (K,)."""
        return self.ensemble.intercept

    def added(self, name: Any = None) -> FloatArray:
        """Return the contribution V_rk · r(x) of each rule to the score of a class, shape (n, R).

        ``name`` is the class, or None if a number is predicted.
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
        """The mapping of each class (or the name of the number) to the only row's score."""
        row = self._only("scores")
        names = [self.ensemble.target] if self.ensemble.classes is None else self.ensemble.classes
        return dict(zip(names, self.totals[row].tolist(), strict=True))

    @property
    def rules(self) -> RuleEnsemble:
        """The rules that the only row satisfies, in order of decreasing contribution."""
        self._only("rules")
        return self.ensemble.take([*self._given])

    @property
    def contributions(self) -> tuple[float, ...]:
        """The contribution of each of ``rules`` to its class, or to the predicted number."""
        self._only("contributions")
        return tuple(self._given.values())

    @cached_property
    def _given(self) -> dict[int, float]:
        return _largest_first(self.values[0] * [item.weight for item in self.ensemble])

    # -- in print ------------------------------------------------------------------------------

    def shown_scores(self, row: int) -> list[int]:
        """Return the scores that explain a row: the only one, or those of the two best classes."""
        if self.ensemble.classes is None:
            return [0]
        if self.ensemble.is_opposite:
            return [1]
        return [int(k) for k in np.argsort(-self.totals[row], kind="stable")[:2]]

    def _terms(self, row: int, k: int) -> list[tuple[float, str]]:
        """Return the contributions of rules to a score, in decreasing order."""
        rules, votes = self.ensemble.rules, self.ensemble.votes[:, k]
        given = _largest_first(self.values[row] * votes)
        return [(amount, term_text(rules[r], float(votes[r]))) for r, amount in given.items()]

    def _title(self) -> str:
        """Return the prediction for the only row, and its score."""
        shown, total = self.shown_scores(0), self.totals[0]
        if isinstance(self.ensemble, ScoreCard):
            return f"class {self.prediction}: {self.ensemble.read_total(total[0])}"
        if self.ensemble.levels is not None:
            ends = listed_levels(self.ensemble, scores=True)
            return f"{self.ensemble.target} {self.prediction}: the score is {total[0]:.6g}; {ends}"
        if self.ensemble.classes is None:
            return f"{self.ensemble.target} = {total[0]:.6g}"
        names = self.ensemble.classes
        if self.ensemble.is_opposite:
            rule = f"predict {names[1]} if it is above 0, else {names[0]}"
            return f"class {self.prediction}: the score is {total[1]:+.4g}; {rule}"
        first, second = (f"{names[k]} {total[k]:+.4g}" for k in shown)
        more = len(names) - 2
        others = f", and {more} lower" if more else ""
        return f"class {self.prediction}: the largest score is {first}, then {second}{others}"

    def _signed(self, amounts: list[float]) -> list[str]:
        """Return signed numbers in one format; an empty text for 0."""
        if isinstance(self.ensemble, ScoreCard):
            return [f"{x:+.0f}" if x else "" for x in amounts]
        return signed(amounts)

    def _table(self) -> list[tuple[list[float], str]]:
        """Return the contributions of intercept and rules to the shown scores of the only row."""
        shown, rules = self.shown_scores(0), self.ensemble.rules
        votes = self.ensemble.votes[:, shown]
        given = self.values[0][:, None] * votes
        rows = [(self.intercept[shown].tolist(), START)]
        for r in np.argsort(-np.abs(given).max(axis=1, initial=0.0), kind="stable").tolist():
            weight = float(votes[r, 0]) if len(shown) == 1 else None
            rows.append((given[r].tolist(), term_text(rules[r], weight)))
        return [(amounts, text) for amounts, text in rows if any(amounts)]

    def _lines(self) -> list[str]:
        lines, rows, shown = [self._title()], self._table(), self.shown_scores(0)
        if not rows:
            return [*lines, "no rule is satisfied"]
        flat = iter(self._signed([x for amounts, _ in rows for x in amounts]))
        cells = [[*(next(flat) for _ in amounts), text] for amounts, text in rows]
        if len(shown) > 1:
            names = [clip(str((self.ensemble.classes or ())[k]), 11) for k in shown]
            cells.insert(0, [*names, ""])
        sides = ">" * len(shown) + "<"
        return [*lines, *(f"  {line.rstrip()}" for line in aligned(cells, sides))]

    def _html(self) -> str:
        shown, rows = self.shown_scores(0), self._table()
        if not rows:
            return small_table(["adds", "rule"], [], ">r", self._title(), "no rule is satisfied")
        names = ["adds"]
        if len(shown) > 1:
            names = [f"adds to {(self.ensemble.classes or ())[k]}" for k in shown]
        largest = max(max(map(abs, amounts)) for amounts, _ in rows) or 1.0
        totals = self.totals[0, shown].tolist()
        texts = iter(self._signed([x for amounts, _ in rows for x in amounts] + totals))
        cells: list[list[str | Barred]] = []
        for amounts, text in rows:
            bars = [
                Barred(text, 0.5, 0.5 + x / largest / 2) if x else ""
                for x, text in zip(amounts, texts, strict=False)
            ]
            cells.append([*bars, clip(text, 400)])
        what = "together" if self.ensemble.classes is None else "the score"
        cells.append([*(next(texts) for _ in shown), what])
        return small_table([*names, "rule"], cells, ">" * len(shown) + "r", self._title())

    def _cells(self) -> tuple[list[str], list[list[str]], str]:
        number = self.ensemble.classes is None and self.ensemble.levels is None
        head = [self.ensemble.target if number else "class", *([] if number else ["score"])]
        rows = []
        for row, predicted in enumerate(self.predictions.tolist()):
            k = self.shown_scores(row)[0]
            reasons = [f"{x:+.4g} {clip(text, MAX_REASON)}" for x, text in self._terms(row, k)]
            score = f"{self.totals[row, k]:+.4g}"
            front = [f"{predicted:.6g}"] if number else [str(predicted), score]
            rows.append([*front, _reasons(reasons)])
        return [*head, "reasons, the largest first"], rows, (">" if number else "<>") + "<"

    def _foot(self) -> str:
        if not self.intercept.any():
            return ""
        if self.ensemble.classes is None or self.ensemble.is_opposite:
            return f"every score includes the intercept, {self.intercept[-1]:.4g}"
        named = zip(self.ensemble.classes, self.intercept.tolist(), strict=True)
        starts = [f"{name} {start:+.4g}" for name, start in named if start]
        return f"the scores include the intercepts {clip(', '.join(starts), 60)}"

    def _columns(self) -> dict[str, list[Any]]:
        texts = [str(rule) for rule in self.ensemble.rules]
        rows: list[tuple[Any, ...]] = []
        for row, predicted in enumerate(self.predictions.tolist()):
            for k, name in enumerate(self.ensemble.classes or (None,)):
                front, values = (row, predicted, name), self.values[row]
                given = values * self.ensemble.votes[:, k]
                rows.append((*front, float(self.intercept[k]), 1.0, None))
                for r in np.flatnonzero(given).tolist():
                    rows.append((*front, float(given[r]), float(values[r]), texts[r]))
        columns = _transposed(("row", "prediction", "class", "adds", "value", "rule"), rows)
        if self.ensemble.classes is None:
            del columns["class"]
        return columns


def _largest_first(amounts: FloatArray) -> dict[int, float]:
    """Return the non-zero amounts by position, in decreasing order."""
    order = np.argsort(-np.abs(amounts), kind="stable").tolist()
    return {place: float(amounts[place]) for place in order if amounts[place] != 0}


# -- lists and sets --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class DecisionExplanation(RowExplanations):
    """The base class of explanations of lists and sets, from the rules that cover each row."""

    ROWS = ("table", "covers")

    decision: DecisionRules
    table: Table
    covers: npt.NDArray[np.bool_]

    @property
    def predictions(self) -> npt.NDArray[Any]:
        """The class of each row; None if it is unknown."""
        return self.decision.decide(self.covers)

    def _label(self, prediction: Any) -> str:
        unknown = prediction is None and None not in self.decision.classes
        return "unknown" if unknown else str(prediction)


@dataclass(frozen=True, eq=False, repr=False)
class ListExplanation(DecisionExplanation):
    """The rule of a list that decides each row, and the conditions of earlier rules that fail.

    ``covers`` has the shape (n, R) for n rows and R rules.
    """

    @property
    def positions(self) -> npt.NDArray[np.intp]:
        """The number of the rule that decides each row, from 0; R for the default."""
        return first_of(self.covers)

    @property
    def position(self) -> int:
        """The number of the rule that decides the only row."""
        return int(self.positions[self._only("position")])

    @property
    def row(self) -> Table:
        """The only row."""
        self._only("row")
        return self.table

    @property
    def rule(self) -> ClassRule | None:
        """The rule that decides the only row, or None for the default."""
        return self.decision[self.position] if self.position < len(self.decision) else None

    @cached_property
    def failed(self) -> tuple[tuple[Rule, ...], ...]:
        """The conditions of each earlier rule that are false on the only row."""
        earlier = [item.rule.formula for item in self.decision.rules[: self.position]]
        parts = [conditions_of(formula) or (formula,) for formula in earlier]
        every = list(dict.fromkeys(part for some in parts for part in some))
        known = dict(zip(every, covers_of(every, self.row)[0].tolist(), strict=True))
        return tuple(tuple(Rule(part) for part in some if not known[part]) for some in parts)

    def _title(self) -> str:
        label = self._label(self.prediction)
        if self.rule is not None:
            return f"class {label}, by rule {self.position + 1}: {self.rule.rule}"
        if self.decision.default is None:
            return "class unknown: no rule is satisfied"
        return f"class {label}, the default: no rule is satisfied"

    def _lines(self) -> list[str]:
        lines = [self._title()]
        earlier = zip(self.decision, self.failed, strict=False)
        for number, (item, conditions) in enumerate(earlier, start=1):
            for condition in conditions:
                found = {name: self.row.entry(name, 0) for name in condition.columns}
                entries = [f"{n} is {'missing' if x is None else x}" for n, x in found.items()]
                why = f", since {', '.join(entries)}" * bool(entries)
                lines.append(f"  not by rule {number} ({item.label}): {condition} is false{why}")
        return lines

    def _cells(self) -> tuple[list[str], list[list[str]], str]:
        columns = self._columns()
        rows = [
            [self._label(label), str(by or ""), clip(rule or "otherwise", 2 * MAX_REASON)]
            for _, label, by, rule in zip(*columns.values(), strict=True)
        ]
        return ["class", "by rule", ""], rows, "<><"

    def _columns(self) -> dict[str, list[Any]]:
        at = self.positions.tolist()
        rules = [*(str(item.rule) for item in self.decision), None]
        return {
            "row": [*range(len(at))],
            "prediction": self.predictions.tolist(),
            "by": [None if rules[k] is None else k + 1 for k in at],
            "rule": [rules[k] for k in at],
        }


@dataclass(frozen=True, eq=False, repr=False)
class SetExplanation(DecisionExplanation):
    """The rules of a set that each row satisfies, and their votes.

    ``covers`` has the shape (n, R) for n rows and R rules, and ``rule_votes`` (R, K) for K classes.
    """

    rule_votes: FloatArray

    @property
    def sums(self) -> FloatArray:
        """The votes for each class, shape (n, K)."""
        return np.asarray(self.covers @ self.rule_votes.reshape(-1, len(self.decision.classes)))

    @property
    def votes(self) -> dict[Any, float]:
        """The mapping of each class to the sum of its votes for the only row."""
        row = self._only("votes")
        return dict(zip(self.decision.classes, self.sums[row].tolist(), strict=True))

    @property
    def fired(self) -> tuple[int, ...]:
        """The numbers of the rules that the only row satisfies, from 0."""
        return tuple(np.flatnonzero(self.covers[self._only("fired")]).tolist())

    @property
    def tie(self) -> tuple[Any, ...]:
        """The classes that share the largest sum of the only row, if several; else empty."""
        votes = self.votes
        best = [name for name, vote in votes.items() if vote == max(votes.values()) > 0]
        return tuple(best) if len(best) > 1 else ()

    def _title(self) -> str:
        votes = ", ".join(f"{name}: {vote:g}" for name, vote in self.votes.items() if vote)
        if self.tie:
            names = ", ".join(map(str, self.tie))
            return f"class {self.prediction}, the first of a tie: {names}"
        if votes:
            return f"class {self.prediction} ({votes})"
        if self.decision.default is None:
            return "class unknown: no rule votes"
        return f"class {self.prediction}, the default: no rule votes"

    def _votes_text(self, k: int) -> str:
        given = zip(self.decision.classes, self.rule_votes[k].tolist(), strict=True)
        return ", ".join(f"{vote:g} for {name}" for name, vote in given if vote) or "nothing"

    def _lines(self) -> list[str]:
        voting = [
            f"  rule {k + 1} votes {self._votes_text(k)}: {self.decision[k].rule}"
            for k in self.fired
        ]
        return [self._title(), *voting]

    def _cells(self) -> tuple[list[str], list[list[str]], str]:
        rules = [
            f"{self._votes_text(k)}: {clip(str(item.rule), MAX_REASON)}"
            for k, item in enumerate(self.decision)
        ]
        rows = [
            [self._label(label), _reasons([rules[k] for k in np.flatnonzero(on).tolist()])]
            for label, on in zip(self.predictions.tolist(), self.covers, strict=True)
        ]
        return ["class", "votes of the rules it satisfies"], rows, "<<"

    def _columns(self) -> dict[str, list[Any]]:
        predicted = self.predictions.tolist()
        rows = [
            (row, predicted[row], *self.rule_votes[k].tolist(), str(self.decision[k].rule))
            for row, k in np.argwhere(self.covers).tolist()
        ]
        votes = (f"votes {name}" for name in self.decision.classes)
        return _transposed(["row", "prediction", *votes, "rule"], rows)


def first_of(covers: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """Return the first true column of each row, or the number of columns if there is none."""
    padded = np.column_stack([covers, np.ones(len(covers), dtype=np.bool_)])
    return np.asarray(padded.argmax(axis=1), dtype=np.intp)
