"""Stratified samples, checks of folds, and the area under the ROC curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

from formulakern.checks import check_integer
from formulakern.errors import DataError

Matrix = npt.NDArray[np.float64]


def subsample(
    classes: npt.NDArray[Any], n_rows: int, random_state: int = 0
) -> npt.NDArray[np.intp]:
    """Return the sorted positions of a stratified random sample of at most ``n_rows`` rows.

    Every class keeps its share, and at least one row.
    """
    if len(classes) <= n_rows:
        return np.arange(len(classes))
    generator = np.random.default_rng(random_state)
    chosen = []
    for value in np.unique(classes):
        rows = np.flatnonzero(classes == value)
        size = max(1, round(len(rows) * n_rows / len(classes)))
        chosen.append(generator.choice(rows, size, replace=False))
    return np.sort(np.concatenate(chosen))


def area_under_curve(truth: npt.NDArray[Any], decision: Matrix, labels: Sequence[Any]) -> float:
    """Return the area under the ROC curve; for several classes, the mean of one against the rest.

    ``labels`` are the classes of the columns; classes absent from ``truth`` do not count.
    """
    if decision.ndim == 1:
        return float(roc_auc_score(truth == labels[1], decision))
    areas = [
        roc_auc_score(truth == label, decision[:, column])
        for column, label in enumerate(labels)
        if 0 < np.count_nonzero(truth == label) < len(truth)
    ]
    return float(np.mean(areas))


def check_folds(classes: npt.NDArray[Any], n_folds: int) -> None:
    """Raise DataError unless two classes have a row for every fold.

    Further classes may be smaller; folds without them are scored on the others.
    """
    check_integer("n_folds", n_folds, 2)
    labels, counts = np.unique(classes, return_counts=True)
    if len(labels) < 2:
        raise DataError(
            f"every row has the class {labels[0]}; a classifier needs at least two classes. "
            "If another column holds the classes, name it."
        )
    most = int(np.sort(counts)[-2])
    if most >= n_folds:
        return
    if most < 2:
        raise DataError(
            f"there are {len(labels):,} classes, of which fewer than two have two rows; "
            "cross-validation needs two such classes. Name another class column, or merge classes."
        )
    raise DataError(
        f"{n_folds} folds need two classes with {n_folds} rows or more each, but the second "
        f"largest class has {most}. Use at most {most} folds."
    )
