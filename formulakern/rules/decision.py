"""Rules that conclude a class: one of them, and what ordered lists and unordered sets share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.encoding.propositions import evaluate_formula
from formulakern.encoding.table import Table
from formulakern.errors import ParameterError
from formulakern.rules.rule import Rule
from formulakern.syntax.formula import Formula

__all__ = ["ClassRule", "DecisionRules"]


@dataclass(frozen=True)
class ClassRule:
    """If a row satisfies the rule, then it is of this class.

    Parameters
    ----------
    rule : Rule
    label : object
        The class.
    counts : tuple of float
        Weight of training rows by class, in the order of the classes, that the rule decides: in a
        list those that no earlier rule covers, in a set those that it covers.  Empty where it is
        not known.

    Examples
    --------
    >>> from formulakern.rules.rule import rule
    >>> print(ClassRule(rule("odor = foul"), "p", (0.0, 2160.0)))
    if odor = foul then p
    """

    rule: Rule
    label: Any
    counts: tuple[float, ...] = ()

    def __str__(self) -> str:
        return f"if {self.rule} then {self.label}"


@dataclass(frozen=True)
class DecisionRules:
    """What :class:`formulakern.RuleList` and :class:`formulakern.RuleSet` hold."""

    rules: tuple[ClassRule, ...]
    classes: tuple[Any, ...]
    default: Any = None
    default_counts: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", tuple(self.rules))
        object.__setattr__(self, "classes", tuple(self.classes))
        known = {*self.classes, None}
        for label in [self.default, *(item.label for item in self.rules)]:
            if label not in known:
                raise ParameterError(f"class {label!r} is not among {list(self.classes)!r}.")

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[ClassRule]:
        return iter(self.rules)

    def __getitem__(self, position: int) -> ClassRule:
        return self.rules[position]

    def covers(self, table: Any) -> npt.NDArray[np.bool_]:
        """Which rows satisfy which rule, bool of shape (n, R)."""
        rows = Table.of(table)
        known: dict[Formula, npt.NDArray[np.bool_]] = {}
        covers = np.empty((len(self.rules), len(rows)), dtype=np.bool_)
        for place, item in enumerate(self.rules):
            covers[place] = evaluate_formula(item.rule.formula, rows, known)
        return covers.T
