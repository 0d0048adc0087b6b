"""Reading a Gram matrix, which is positive semidefinite, and the labels of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from formulakern.arrays import FloatArray, IntArray
from formulakern.errors import DataError
from formulakern.solvers.blas import one_thread
from formulakern.solvers.input import LARGEST, read_array, read_matrix

__all__ = ["check_semidefinite", "read_gram", "read_labels", "read_semidefinite"]


#: Rows that are compared with their columns together.
BAND = 256
#: Up to so many rows, a Cholesky decomposition decides; beyond, so many Lanczos steps look.
DECIDED, LANCZOS_STEPS = 2_000, 24
#: From here to LARGEST for the largest K_ii, products of two entries cannot overflow or vanish.
SMALLEST = 1e-100
#: An eigenvalue below minus this share of the trace is not rounding.
NEGATIVE = 1e-8


def read_gram(K: Any, name: str = "K", check: bool = True) -> tuple[FloatArray, float]:
    """The matrix as float64, checked for shape, finiteness, symmetry and |K_ij| ≤ √(K_ii K_jj).

    Parameters
    ----------
    K : array-like of shape (m, m)
    name : str
        What error messages call it.
    check : bool
        False tests shape and finiteness only.

    Returns
    -------
    K : float64 (m, m), C-contiguous
        The same memory where it is such an array.
    slack : float
        √ε, ε the relative rounding error of its original type.

    Raises
    ------
    DataError
        If it is no Gram matrix; the message names an entry.

    Notes
    -----
    One pass over K, by bands.

    Examples
    --------
    >>> read_gram([[1, 2], [2, 1]])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    formulakern.errors.DataError: K[0, 1] = 2.0 is larger than √(K[0, 0]·K[1, 1]) = 1.0; so K is ...
    """
    gram = read_matrix(
        K,
        name,
        unread="Pass a Gram matrix, such as fk.kernel(...)(X).",
        infinite="a Gram matrix holds finite numbers. Look for missing values in the table, or "
        "normalise the kernel: kernel.normalized().",
    )
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1]:
        raise DataError(
            f"{name} has shape {gram.shape}; a Gram matrix is square, a row and a column for each "
            "row of the table. Pass the matrix of a kernel, such as fk.kernel(...)(X)."
        )
    if not gram.size:
        raise DataError(f"{name} has no rows; a measure needs at least one. Pass a Gram matrix.")
    kind = np.asarray(K).dtype
    precision = kind if kind.kind == "f" and kind.itemsize < 8 else np.float64
    slack = float(np.sqrt(np.finfo(precision).eps))
    if not check:
        return gram, slack
    diagonal = gram.diagonal()
    if diagonal.min() < 0:
        i = int(diagonal.argmin())
        raise DataError(
            f"{name}[{i}, {i}] = {diagonal[i]} is negative; the diagonal of a Gram matrix holds "
            f"squared lengths. Pass the matrix of a positive semidefinite kernel."
        )
    lengths = np.sqrt(diagonal)
    noise = 100 * slack**2 * float(diagonal.max())  # entries that are rounding beside the largest
    for start in range(0, len(gram), BAND):
        rows = slice(start, start + BAND)
        band = gram[rows, start:]
        largest = lengths[rows, None] * lengths[None, start:]
        too_large = np.abs(band) > largest * (1 + slack) + noise
        if too_large.any():
            i, j = np.argwhere(too_large)[0] + start
            raise DataError(
                f"{name}[{i}, {j}] = {gram[i, j]} is larger than √({name}[{i}, {i}]·"
                f"{name}[{j}, {j}]) = {lengths[i] * lengths[j]}; so {name} is not positive "
                "semidefinite, as every Gram matrix is. Pass the matrix of a kernel between the "
                "same rows in the same order."
            )
        uneven = np.abs(band - gram[start:, rows].T) > largest * slack + noise
        if uneven.any():
            i, j = np.argwhere(uneven)[0] + start
            raise DataError(
                f"{name} is not symmetric: {name}[{i}, {j}] = {gram[i, j]}, but {name}[{j}, {i}] = "
                f"{gram[j, i]}. Pass the matrix of a kernel between the same rows in the same "
                "order."
            )
    return gram, slack


def check_semidefinite(K: FloatArray, slack: float = NEGATIVE, name: str = "K") -> None:
    """Refuse a matrix with an eigenvalue below −1e-8 of the trace.

    Parameters
    ----------
    K : float64 (m, m), symmetric
    slack : float
        Instead of 1e-8, if it is larger.
    name : str
        What error messages call it.

    Raises
    ------
    DataError
        With the negative eigenvalue, or a number that it is proven to lie below.

    Notes
    -----
    Up to 2,000 rows a Cholesky decomposition of K plus a multiple of the identity decides, O(m³/3),
    in one thread.
    Beyond, 24 Lanczos steps, O(m²) each, look for a vector v with v'Kv < 0: what they find is a
    proof, but a small negative eigenvalue may escape them.
    """
    scale = float(K.diagonal().max())
    if not scale:
        return
    shift = max(NEGATIVE, slack) * float((K.diagonal() / scale).sum())
    if len(K) <= DECIDED:
        shifted = K / scale
        shifted.flat[:: len(K) + 1] += shift
        with one_thread():  # others would wait for each other longer than this takes
            try:
                np.linalg.cholesky(shifted)
                return
            except np.linalg.LinAlgError:
                least = float(np.linalg.eigvalsh(shifted)[0]) - shift
        how, allowed = "equal to", shift / 2  # not a failure by rounding alone
    else:
        unit = K if SMALLEST < scale < LARGEST else K / scale
        least = _least_ritz_value(unit) / float(unit.diagonal().max())
        how, allowed = "at most", shift
    if least < -allowed:
        raise DataError(
            f"{name} has an eigenvalue {how} {least * scale:.3g}, so it is not positive "
            "semidefinite, as every Gram matrix is. Pass the matrix of a positive semidefinite "
            "kernel."
        )


def read_semidefinite(
    K: Any, check: bool = True, name: str = "K", normalize: bool = False
) -> FloatArray:
    """The matrix as float64, checked by :func:`read_gram` and :func:`check_semidefinite`.

    Parameters
    ----------
    K : array-like of shape (m, m)
    check : bool
        False tests shape and finiteness only.
    name : str
    normalize : bool
        Whether to divide K_ij by √(K_ii K_jj); 0 where a vector has no length.

    Returns
    -------
    float64 (m, m), C-contiguous

    Raises
    ------
    DataError
    """
    gram, slack = read_gram(K, name, check)
    gram = _cosines(gram) if normalize else gram
    if check:
        # entries rounded to a shorter type move an eigenvalue by at most that share of the trace
        check_semidefinite(gram, slack**2, name)
    return gram


def read_labels(y: Any, m: int, most: int | None = None) -> tuple[Any, IntArray]:
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
    labels = read_array(y, "y", "one label a row")
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


def _least_ritz_value(K: FloatArray) -> float:
    """The smallest v'Kv over unit vectors of a Krylov space."""
    basis, images = np.empty((0, len(K))), np.empty((0, len(K)))
    vector, length = np.random.default_rng(0).standard_normal(len(K)), 0.0
    for _ in range(LANCZOS_STEPS):
        before = length
        for _ in range(2):  # twice is enough to be orthogonal to working precision
            vector -= basis.T @ (basis @ vector)
        length = float(np.linalg.norm(vector))
        if length <= 1e-12 * before:
            break
        basis = np.vstack([basis, vector / length])
        vector = K @ basis[-1]
        images, length = np.vstack([images, vector]), float(np.linalg.norm(vector))
    projected = basis @ images.T
    return float(np.linalg.eigvalsh((projected + projected.T) / 2)[0])


def _cosines(gram: FloatArray) -> FloatArray:
    """K_ij / √(K_ii K_jj), 0 where a vector has no length; K itself if it is so already."""
    diagonal = gram.diagonal()
    if np.isin(diagonal, (0.0, 1.0)).all():
        return gram
    inverse = np.divide(1, np.sqrt(diagonal), where=diagonal > 0, out=np.zeros(len(gram)))
    cosines = gram * inverse[:, None]
    cosines *= inverse
    np.fill_diagonal(cosines, diagonal > 0)
    return cosines
