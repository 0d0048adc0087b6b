"""Fitted encodings, which evaluate the propositions of training on other tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.encoding.packed import PackedTable
from formulakern.encoding.plan import ColumnPlan, refuse_missing, refuse_unknown
from formulakern.errors import ParameterError
from formulakern.tables.table import Table


class FittedPlans:
    """The plans of a fitted encoder, which evaluate its propositions on a table."""

    graded: Any
    missing: Any
    unknown: Any
    plans_: tuple[ColumnPlan, ...]

    def pack(self, table: Table, terms: Sequence[Any] = ()) -> PackedTable:
        """Return the propositions and linear terms on the rows of a table."""
        if self._gives_degrees():
            raise ParameterError(
                f"PropositionEncoder(graded={self.graded!r}) gives degrees of truth; expected 0 "
                'and 1. Use graded=False, or FormulaSVC(inputs="graded").'
            )
        words = np.concatenate([plan.packed(table) for _, plan in self._checked_plans(table)])
        linear_columns = np.empty((len(table), len(terms)))
        for j, term in enumerate(terms):
            linear_columns[:, j] = term(table)
        return PackedTable.of_columns(words, len(table), linear_columns=linear_columns)

    def _checked_plans(self, table: Table) -> Iterator[tuple[int, ColumnPlan]]:
        """Yield every plan and the position of its first proposition, after checking its column."""
        first = 0
        for plan in self.plans_:
            if self.missing == "error":
                refuse_missing(table.typed(plan.name), plan.name)
            if self.unknown == "error":
                refuse_unknown(table, plan)
            yield first, plan
            first += len(plan.propositions)

    def _gives_degrees(self) -> bool:
        return any(plan.degrees is not None for plan in self.plans_)


@dataclass(frozen=True, eq=False)
class Encoding:
    """The fitted encoding of a table as the propositions of an estimator.

    Parameters
    ----------
    encoder : transformer or None
        The fitted encoder, or None if the table needs none.
    names, leaves : tuple
        The propositions as text and as formulas.
    kept : ndarray of shape (n_propositions,), intp
        The positions of the propositions among the columns that the encoder returns.
    features : dict
        The attributes of scikit-learn for the columns of the training table.
    terms : tuple of LinearTerm
        The linear terms.
    directions : dict of str to int
        1 or −1 for each column with a monotone constraint.
    """

    encoder: Any
    names: tuple[str, ...]
    leaves: Sequence[Any]
    kept: NDArray[np.intp]
    features: dict[str, Any]
    terms: tuple[Any, ...] = ()
    directions: dict[str, int] = field(default_factory=dict)

    def keep(self, positions: NDArray[np.intp]) -> Encoding:
        """Return the encoding with only the propositions at these positions."""
        some = positions.tolist()
        names, leaves = (tuple(one[j] for j in some) for one in (self.names, self.leaves))
        return replace(self, names=names, leaves=leaves, kept=self.kept[positions])
