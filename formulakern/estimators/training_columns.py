"""The columns of a table against those of training: as many, of the same names, in their order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_feature_names, _check_n_features

from formulakern.encoding.partitioned import PartitionedTable
from formulakern.errors import DataError
from formulakern.estimators.targets import refused
from formulakern.partitions.collections import is_dask, is_dask_array
from formulakern.tables.read import is_pandas, is_sparse
from formulakern.tables.table import Table

__all__ = ["read_checked"]


def read_checked(encoder: Any, X: Any, *, reset: bool) -> Table | PartitionedTable:
    """The table, after checking its columns against training (or remembering them).

    Parameters
    ----------
    encoder : PropositionEncoder
        Where they are remembered, as scikit-learn does.
    X : any table, or a collection of dask, of which no row is read here
    reset : bool
        Whether this is the table of training.

    Raises
    ------
    DataError
        If it is no table, has no columns, or others than in training.
    """
    if is_dask(X):
        pieced = PartitionedTable(X)
        none = np.empty((0, X.shape[1]), dtype=X.dtype) if is_dask_array(X) else X._meta
        head = read_checked(encoder, none, reset=reset)
        return pieced if head.names == pieced.names else PartitionedTable(X, head.names)
    table = X if isinstance(X, Table) else Table.of(X)
    if table.shape[1] == 0:
        raise DataError(
            f"0 feature(s) (shape={table.shape}) while a minimum of 1 is required: the table "
            "has no columns."
        )
    if isinstance(X, Table) or (isinstance(X, Mapping) and not is_sparse(X)):
        _check_names(encoder, table, reset=reset)
    else:
        source = X if hasattr(X, "shape") else np.empty(table.shape, dtype=np.bool_)
        with refused("Pass the columns of training, by their names."):
            _check_labels(encoder, source, reset=reset)
            _check_n_features(encoder, source, reset=reset)
    if reset or table.names == tuple(plan.name for plan in encoder.plans_):
        return table
    return Table.of(table, names=[plan.name for plan in encoder.plans_])


def _check_labels(encoder: Any, X: Any, *, reset: bool) -> None:
    """Remember the names of columns, or compare them with those of training."""
    labels = X.columns.tolist() if is_pandas(X) else []
    if {*map(type, labels)} != {str}:
        _check_feature_names(encoder, X, reset=reset)
    elif reset:
        encoder.feature_names_in_ = np.array(labels, dtype=object)
    elif list(getattr(encoder, "feature_names_in_", ())) != labels:
        _check_feature_names(encoder, X, reset=reset)  # says what differs


def _check_names(encoder: Any, table: Table, *, reset: bool) -> None:
    with refused("Pass the columns of training."):
        _check_n_features(encoder, table, reset=reset)
    if reset:
        encoder.feature_names_in_ = np.array(table.names, dtype=object)
    known = getattr(encoder, "feature_names_in_", None)
    if known is not None and list(table.names) != list(known):
        place = next(j for j, name in enumerate(table.names) if name != known[j])
        raise DataError(
            f'column {place} is "{table.names[place]}" and was "{known[place]}" in training. '
            f"Pass the columns of training in their order: table.select(names)."
        )
