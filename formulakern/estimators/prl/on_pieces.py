"""What a preference learner asks of rows that lie in pieces, and what it does not do there."""

from __future__ import annotations

from typing import Any

import numpy as np

from formulakern.encoding.partitioned import PackedPartitions
from formulakern.errors import ParameterError
from formulakern.estimators.partitioned_targets import PartitionedClasses
from formulakern.estimators.prl.reading import TrainingRows
from formulakern.learning.prl.column_generation import Outcome
from formulakern.learning.prl.ordered import ordered_preferences
from formulakern.learning.prl.preferences import Preferences
from formulakern.learning.prl.row_groups import RowGroups

__all__ = ["described_groups", "row_groups", "rows_here", "usual_budget"]

#: Columns per epoch ("exact"), or held at a time ("random"), where no budget is given.
BUDGET = {"exact": 30, "random": 1000}
#: Columns per epoch where more than so many rows stay in pieces: each may double their groups.
FEW, MANY_ROWS = 5, 100_000

#: Why a parameter needs the rows here.
HERE = (
    "while the packed rows stay in pieces. Write {advice}; or bring the rows here with "
    "formulakern.gather_limit, if they fit into memory."
)


def row_groups(
    estimator: Any, encoded: PackedPartitions, classes: PartitionedClasses, sample_weight: Any
) -> RowGroups:
    """The rows of pieces as groups that a preference learner works with.

    Parameters
    ----------
    estimator : PRLClassifier
        Its ``classes_`` are set.
    encoded : PackedPartitions
    classes : PartitionedClasses
        Of its rows.
    sample_weight : array-like of shape (n_rows,), or None

    Raises
    ------
    DataError
        If weights cannot be read, or there is one class only.
    ParameterError
        If a parameter needs the rows here.
    """
    features = estimator.features
    conjunctions = isinstance(features, str) and features in ("rules", "conjunctions")
    for refused, given, advice in (
        (not conjunctions, f"features={features!r}", "features='rules' or 'conjunctions'"),
        (
            estimator.column_selection != "exact",
            f"column_selection={estimator.column_selection!r}",
            "column_selection='exact'",
        ),
    ):
        if refused:
            raise ParameterError(f"{given} {HERE.format(advice=advice)}")
    weighted = classes.weighted(estimator.class_weight, sample_weight)
    known = classes.order if estimator.ordinal else classes.classes
    estimator.classes_ = known
    if estimator.ordinal:
        known = known[np.isin(known, classes.classes[weighted.present])]
    estimator._levels = known.tolist() if estimator.ordinal else None
    places = classes.places_in(known)
    factors = np.ones(len(known))
    used = np.flatnonzero(weighted.present)
    factors[places[used]] = weighted.factors[used]
    rows = weighted.rows(encoded, places, with_factors=False)
    read = ordered_preferences if estimator.ordinal else Preferences.of_classes
    return RowGroups(rows, len(known), factors, encoded.n_columns, read)


def described_groups(groups: RowGroups, outcome: Outcome) -> TrainingRows:
    """What the groups stand for, after they are divided by the features that are kept."""
    groups.divide(getattr(column.feature, "propositions", ()) for column in outcome.columns)
    return TrainingRows(groups.numbers, groups.of_class)


def rows_here(encoded: Any) -> Any:
    """A table of which every row is here.

    Raises
    ------
    ParameterError
        If rows lie in pieces.
    """
    if isinstance(encoded, PackedPartitions):
        raise ParameterError(
            f"preferences on {encoded.n_rows:,} rows {HERE.format(advice='fit, with classes')}"
        )
    return encoded


def usual_budget(estimator: Any, rows: TrainingRows | RowGroups) -> int:
    """How many columns come in per epoch, or are held, where no budget is given."""
    if isinstance(rows, RowGroups) and int(rows.numbers.sum()) > MANY_ROWS:
        return FEW
    return BUDGET[estimator.column_selection]
