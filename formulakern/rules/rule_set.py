"""RuleSet: unordered rules, all of which vote that cover a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from formulakern.rules.decision import ClassRule, DecisionRules

__all__ = ["ClassRule", "RuleSet"]


@dataclass(frozen=True)
class RuleSet(DecisionRules):
    """An unordered set of rules; those that cover a row vote for its class."""

    vote: Literal["counts", "rules"] = "counts"
