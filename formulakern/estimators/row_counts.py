"""The support, coverage and precision of rules on training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.rules.voting import WeightedRule, leading


@dataclass(frozen=True, eq=False)
class RowCounts:
    """The numbers and weights of the training rows that each row of a table represents.

    ``number`` (m,), int64, counts them, and ``of_class`` (m, K) is their sample weight by class, or
    None without classes.
    """

    number: npt.NDArray[np.int64]
    of_class: FloatArray | None = None

    @classmethod
    def of_classes(cls, codes: npt.NDArray[np.intp], n_classes: int, weights: FloatArray) -> Self:
        """Return the counts of rows with one class each, without rows of weight 0."""
        of_class = np.zeros((len(codes), n_classes))
        of_class[np.arange(len(codes)), codes] = weights
        return cls((weights > 0).astype(np.int64), of_class)

    def merged(self, kind: npt.NDArray[np.intp], n_kinds: int) -> Self:
        """Return the counts of merged rows; ``kind`` is the new number of each row."""
        number = np.bincount(kind, self.number, n_kinds).astype(np.int64)
        if self.of_class is None:
            return replace(self, number=number)
        columns = [np.bincount(kind, column, n_kinds) for column in self.of_class.T]
        return replace(self, number=number, of_class=np.stack(columns, axis=1))

    def shares(self, k: int, covered: npt.NDArray[np.bool_]) -> tuple[float, float]:
        """Return the share of class k among the covered rows and among all; NaN if unknown."""
        if self.of_class is None:
            return np.nan, np.nan
        parts = self.of_class[covered], self.of_class
        precision, base = (float(p[:, k].sum() / p.sum()) if p.sum() else np.nan for p in parts)
        return precision, base

    def described(
        self,
        rule: Any,
        covered: npt.NDArray[np.bool_],
        votes: Sequence[float],
        classes: Sequence[Any] | None = None,
    ) -> WeightedRule:
        """Return a rule with its votes, and its support, coverage and precision on the rows."""
        support = int(self.number[covered].sum())
        coverage = support / max(int(self.number.sum()), 1)
        shares = (np.nan, np.nan) if classes is None else self.shares(leading(votes), covered)
        return WeightedRule.of_votes(rule, votes, classes, support, coverage, *shares)
