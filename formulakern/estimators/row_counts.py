"""How rules do on training rows: support, coverage and precision, counted in one place."""

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
    """The training rows that each row of a table stands for; counts what rules cover.

    ``number`` is how many, int64 of shape (m,), and ``of_class`` their weight by class, of shape
    (m, K), if rows have a class; weights of classes do not count.
    """

    number: npt.NDArray[np.int64]
    of_class: FloatArray | None = None

    @classmethod
    def of_classes(cls, codes: npt.NDArray[np.intp], n_classes: int, weights: FloatArray) -> Self:
        """Of rows with a class each; those of weight 0 do not count."""
        of_class = np.zeros((len(codes), n_classes))
        of_class[np.arange(len(codes)), codes] = weights
        return cls((weights > 0).astype(np.int64), of_class)

    def merged(self, kind: npt.NDArray[np.intp], n_kinds: int) -> Self:
        """Return the counts of different rows: ``kind`` is the number of each row's own."""
        number = np.bincount(kind, self.number, n_kinds).astype(np.int64)
        if self.of_class is None:
            return replace(self, number=number)
        columns = [np.bincount(kind, column, n_kinds) for column in self.of_class.T]
        return replace(self, number=number, of_class=np.stack(columns, axis=1))

    def shares(self, k: int, covered: npt.NDArray[np.bool_]) -> tuple[float, float]:
        """Return the share of class k among the covered rows, and among all; NaN if not known."""
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
        """Return a rule with its votes, and its support, coverage and precision on the rows.

        ``classes`` are those of ``of_class``; None if a number is predicted.
        """
        support = int(self.number[covered].sum())
        coverage = support / max(int(self.number.sum()), 1)
        shares = (np.nan, np.nan) if classes is None else self.shares(leading(votes), covered)
        return WeightedRule.of_votes(rule, votes, classes, support, coverage, *shares)
