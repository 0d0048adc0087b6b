"""What a report asks of a fitted model: what it learned, and how it decides on some rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from formulakern.display.report.values import Curve, Learned, ScoreSum, Step

__all__ = ["ModelValues"]


@dataclass(frozen=True)
class ModelValues:
    """What is known of a model and of some rows.

    Parameters
    ----------
    learned : Learned
    classes : sequence, or None where numbers are predicted
    target : str
    n_rules, n_conditions : int, optional
    rule_columns : sequence of sequences, optional
        The columns of each rule.
    terms : sequence of str
    sums : sequence of sequences of ScoreSum
        Of each row.
    steps : sequence of sequences of Step
        Of each row.
    sentences : mapping of row to str
    term : str
        What a term is called.
    how, no_reasons, no_curve : str
        How reasons are read; why there are none; why there is no curve.
    curve : callable, optional
        From (X, y) to the score against the number of rules.
    """

    learned: Learned
    classes: Sequence[Any] | None
    target: str = "class"
    n_rules: int | None = None
    n_conditions: int | None = None
    rule_columns: Sequence[Sequence[Any]] | None = None
    terms: Sequence[str] = ()
    sums: Sequence[Sequence[ScoreSum]] = ()
    steps: Sequence[Sequence[Step]] = ()
    sentences: Mapping[int, str] = field(default_factory=dict)
    term: str = "rule"
    how: str = ""
    no_reasons: str = ""
    no_curve: str = ""
    curve: Callable[[Any, npt.NDArray[Any]], Curve | None] | None = None
