"""Predicting with a model on a precomputed Gram matrix, so many rows at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.kernels.algebra import Kernel

__all__ = ["answers_from_grams", "grams_with_training"]

#: Kernel values that are held at a time.
PREDICTION_BLOCK = 1 << 24


def grams_with_training(
    model: Any, kernel: Kernel, rows: Any, support_rows: Any
) -> Iterator[FloatArray]:
    """K between rows and the training rows, part by part; 0 off the support, which does not count.

    Parameters
    ----------
    model : SVC or SVR of scikit-learn
        Fitted to the Gram matrix of the training rows.
    kernel : Kernel
    rows : PackedTable, RealTable or Strings
    support_rows : the same
        The support vectors, in the order of ``model.support_``.

    Yields
    ------
    ndarray of shape (rows of the part, training rows), float64
    """
    n_train = model.shape_fit_[0]
    height = max(1, PREDICTION_BLOCK // n_train)
    for start in range(0, rows.n_rows, height):
        part = rows.take(np.arange(start, min(start + height, rows.n_rows)))
        gram = np.zeros((part.n_rows, n_train))
        if len(model.support_):
            gram[:, model.support_] = kernel(part, support_rows)
        yield gram


def answers_from_grams(model: Any, method: str, grams: Iterable[FloatArray]) -> NDArray[Any]:
    """What a model of scikit-learn answers for rows, from :func:`grams_with_training`.

    Parameters
    ----------
    model : SVC or SVR of scikit-learn
    method : {"predict", "decision_function"}
    grams : iterable of arrays

    Returns
    -------
    ndarray of shape (n_rows, …)
        Of no rows as well, which the model itself refuses.
    """
    ask = getattr(model, method)
    found = [ask(gram) for gram in grams]
    return np.concatenate(found) if found else ask(np.zeros((1, model.shape_fit_[0])))[:0]
