"""Why rows were predicted as they were by lists and by sets of rules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.markup import small_table
from formulakern.rules.decision import ClassRule, DecisionRules, conditions_of, covers_of
from formulakern.rules.explanation.rows import RowExplanations, reasons
from formulakern.rules.rule import Rule
from formulakern.tables.table import Table
from formulakern.text import clip

__all__ = ["ListExplanation", "SetExplanation", "first_of"]

#: Characters of a reason of one of many rows.
SHORT = 60


@dataclass(frozen=True, eq=False, repr=False)
class DecisionExplanation(RowExplanations):
    """What explanations of lists and of sets share.

    Parameters
    ----------
    decision : RuleList or RuleSet
    table : Table of n rows
    covers : ndarray of shape (n, R), bool
        Which rows satisfy which rule.
    """

    decision: DecisionRules
    table: Table
    covers: npt.NDArray[np.bool_]

    @property
    def predictions(self) -> npt.NDArray[Any]:
        """The class of each row; None where it is unknown."""
        return self.decision.decide(self.covers)

    def _take(self, rows: slice) -> Self:
        return replace(self, table=self.table[rows], covers=self.covers[rows])

    def _label(self, prediction: Any) -> str:
        unknown = prediction is None and None not in self.decision.classes
        return "unknown" if unknown else str(prediction)


@dataclass(frozen=True, eq=False, repr=False)
class ListExplanation(DecisionExplanation):
    """Which rule of a list decides each row, and which conditions of earlier ones fail.

    It is a sequence of explanations of one row each.

    Parameters
    ----------
    decision : RuleList
    table : Table of n rows
    covers : ndarray of shape (n, R), bool
        Which rows satisfy which rule.
    """

    @property
    def positions(self) -> npt.NDArray[np.intp]:
        """The number of the rule that decides each row, from 0; R if it is the default."""
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
        """The rule that decides the only row; None if none is satisfied."""
        return self.decision[self.position] if self.position < len(self.decision) else None

    @cached_property
    def failed(self) -> tuple[tuple[Rule, ...], ...]:
        """Of each earlier rule the conditions that are false on the only row."""
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

    def _since(self, condition: Rule) -> str:
        return ", ".join(f"{name} is {self._entry(name)}" for name in condition.columns)

    def _lines(self) -> list[str]:
        lines = [self._title()]
        for number, (item, conditions) in enumerate(
            zip(self.decision, self.failed, strict=False), start=1
        ):
            for condition in conditions:
                since = self._since(condition)
                lines.append(
                    f"  not by rule {number} ({item.label}): {condition} is false"
                    + (f", since {since}" if since else "")
                )
        return lines

    def _html(self) -> str:
        rows = [
            [str(number), str(item.label), str(condition), self._since(condition)]
            for number, (item, conditions) in enumerate(
                zip(self.decision, self.failed, strict=False), start=1
            )
            for condition in conditions
        ]
        head = ["rule", "class", "is false", "since"]
        return small_table(head, rows, "><r<", self._title())

    def _cells(self) -> tuple[list[str], list[list[str]], str]:
        rows = []
        for label, at in zip(self.predictions.tolist(), self.positions.tolist(), strict=True):
            inside = at < len(self.decision)
            rule = str(self.decision[at].rule) if inside else "otherwise"
            rows.append([self._label(label), str(at + 1) if inside else "", clip(rule, 2 * SHORT)])
        return ["class", "by rule", ""], rows, "<><"

    def _columns(self) -> dict[str, list[Any]]:
        at = self.positions.tolist()
        inside = [k if k < len(self.decision) else None for k in at]
        return {
            "row": [*range(len(at))],
            "prediction": self.predictions.tolist(),
            "by": [None if k is None else k + 1 for k in inside],
            "rule": [None if k is None else str(self.decision[k].rule) for k in inside],
        }

    def _entry(self, name: str) -> str:
        missing = self.row.missing(name)[0]
        return "missing" if missing else str(self.row.column(name).tolist()[0])


@dataclass(frozen=True, eq=False, repr=False)
class SetExplanation(DecisionExplanation):
    """The rules of a set that each row satisfies, and how they vote.

    It is a sequence of explanations of one row each.

    Parameters
    ----------
    decision : RuleSet
    table : Table of n rows
    covers : ndarray of shape (n, R), bool
        Which rows satisfy which rule.
    rule_votes : ndarray of shape (R, K)
        What each rule votes for each class.
    """

    rule_votes: FloatArray

    @property
    def sums(self) -> FloatArray:
        """The votes for each class, shape (n, K)."""
        return np.asarray(self.covers @ self.rule_votes.reshape(-1, len(self.decision.classes)))

    @property
    def votes(self) -> dict[Any, float]:
        """Class → sum of the votes of the only row."""
        row = self._only("votes")
        return dict(zip(self.decision.classes, self.sums[row].tolist(), strict=True))

    @property
    def fired(self) -> tuple[int, ...]:
        """The rules that the only row satisfies, from 0."""
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
            return f"class {self.prediction}, which stands first: a tie of {names}"
        if votes:
            return f"class {self.prediction} ({votes})"
        if self.decision.default is None:
            return "class unknown: no rule votes"
        return f"class {self.prediction}, the default: no rule votes"

    def _said(self, k: int) -> str:
        given = zip(self.decision.classes, self.rule_votes[k].tolist(), strict=True)
        return ", ".join(f"{name} {vote:g}" for name, vote in given if vote) or "nothing"

    def _lines(self) -> list[str]:
        fired = self.fired
        return [
            self._title(),
            *(f"  rule {k + 1} votes {self._said(k)}: {self.decision[k].rule}" for k in fired),
        ]

    def _html(self) -> str:
        rows = [[str(k + 1), self._said(k), str(self.decision[k].rule)] for k in self.fired]
        return small_table(["", "votes", "rule"], rows, "><r", self._title())

    def _cells(self) -> tuple[list[str], list[list[str]], str]:
        rows = []
        for label, on in zip(self.predictions.tolist(), self.covers, strict=True):
            fired = np.flatnonzero(on).tolist()
            said = [f"{self._said(k)}: {clip(str(self.decision[k].rule), SHORT)}" for k in fired]
            rows.append([self._label(label), reasons(said[:3], max(len(said) - 3, 0))])
        return ["class", "votes of the rules it satisfies"], rows, "<<"

    def _columns(self) -> dict[str, list[Any]]:
        names = ("row", "prediction", *(f"votes {name}" for name in self.decision.classes), "rule")
        columns: dict[str, list[Any]] = {name: [] for name in names}
        predicted = self.predictions.tolist()
        for row, k in np.argwhere(self.covers).tolist():
            entries = (
                row,
                predicted[row],
                *self.rule_votes[k].tolist(),
                str(self.decision[k].rule),
            )
            for column, entry in zip(columns.values(), entries, strict=True):
                column.append(entry)
        return columns


def first_of(covers: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """The first true column of every row; the number of columns where none is."""
    padded = np.column_stack([covers, np.ones(len(covers), dtype=np.bool_)])
    return np.asarray(padded.argmax(axis=1), dtype=np.intp)
