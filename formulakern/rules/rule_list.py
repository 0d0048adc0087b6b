"""RuleList: an ordered decision list, in which the first rule that covers a row decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.rules.decision import ClassRule, DecisionRules

__all__ = ["ClassRule", "RuleList"]


@dataclass(frozen=True)
class RuleList(DecisionRules):
    """An ordered list of rules; the first that covers a row decides its class.

    Examples
    --------
    >>> from formulakern.rules.rule import rule
    >>> birds = ClassRule(rule("`can fly` = yes"), "bird")
    >>> RuleList((birds,), ("bird", "fish"), "fish").predict({"can fly": ["yes", "no"]})
    array(['bird', 'fish'], dtype='<U4')
    """

    def predict(self, table: Any) -> npt.NDArray[Any]:
        """The class of every row."""
        first = self.first_match(table)
        return np.array([*(item.label for item in self.rules), self.default])[first]

    def first_match(self, table: Any) -> npt.NDArray[np.intp]:
        """The number of the first rule that covers each row; the number of rules if none does."""
        covers = self.covers(table)
        padded = np.column_stack([covers, np.ones(len(covers), dtype=np.bool_)])
        return padded.argmax(axis=1)
