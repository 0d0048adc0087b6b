"""Reading the labels that go with a Gram matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.errors import DataError

__all__ = ["read_labels"]


def read_labels(y: Any, m: int, most: int | None = None) -> tuple[Any, npt.NDArray[np.int64]]:
    """The classes, sorted, and the number of the class of each row.

    Parameters
    ----------
    y : array-like of shape (m,)
        Numbers or strings.
    m : int
        Rows of the Gram matrix.
    most : int, optional
        The largest number of classes that is accepted.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
    codes : int64 (m,)

    Raises
    ------
    DataError
        If there is not one label a row, a label is missing, or there are too few or many classes.

    Examples
    --------
    >>> classes, codes = read_labels(["b", "a", "b"], 3)
    >>> classes.tolist(), codes.tolist()
    (['a', 'b'], [1, 0, 1])
    """
    try:
        labels = np.asarray(y)
    except ValueError:
        raise DataError("y cannot be read as an array; expected one label a row.") from None
    if labels.shape != (m,):
        raise DataError(
            f"y has shape {labels.shape}, but K has {m} rows; expected one label a row, in one "
            "dimension."
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        i = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise DataError(f"y[{i}] = {labels[i]} is no label. Leave out rows without a class.")
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError:
        raise DataError(
            "the labels in y cannot be sorted: they are of different types, or missing. Pass "
            "numbers only or strings only."
        ) from None
    if len(classes) < 2:
        raise DataError(
            f"y holds one class only, {classes.tolist()}; expected at least two. Pass rows of both."
        )
    if most is not None and len(classes) > most:
        raise DataError(
            f"y holds {len(classes)} classes; a margin lies between two. Pass y == a_class, once "
            "for each class, or use radius_margin_ratio, which takes their mean."
        )
    return classes, codes.astype(np.int64)
