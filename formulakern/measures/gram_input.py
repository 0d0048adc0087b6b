"""Reading a Gram matrix: square, finite, symmetric and semidefinite, or a sentence why not."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.errors import DataError

__all__ = ["check_semidefinite", "read_gram", "read_semidefinite", "read_square"]

FloatArray = npt.NDArray[np.float64]

#: Rows that are compared with their columns together.
BAND = 256
#: Up to so many rows, a Cholesky decomposition decides; beyond, so many Lanczos steps look.
DECIDED, LANCZOS_STEPS = 2_000, 24
#: An eigenvalue below minus this share of the trace is not rounding.
NEGATIVE = 1e-8


def read_gram(K: Any, name: str = "K") -> tuple[FloatArray, float]:
    """The matrix as float64, checked for shape, finiteness, symmetry and |K_ij| ≤ √(K_ii K_jj).

    Parameters
    ----------
    K : array-like of shape (m, m)
    name : str
        What error messages call it.

    Returns
    -------
    K : float64 (m, m), C-contiguous
        The same memory where it is such an array.
    slack : float
        The relative rounding error that its original type allows for.

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
    gram, slack = read_square(K, name)
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


def read_square(K: Any, name: str = "K") -> tuple[FloatArray, float]:
    """The matrix as float64, checked for shape and finiteness only.

    Parameters
    ----------
    K : array-like of shape (m, m)
    name : str

    Returns
    -------
    K : float64 (m, m), C-contiguous
    slack : float
        √ε of its original type.

    Raises
    ------
    DataError
    """
    try:
        array = np.asarray(K)
        if array.dtype.kind == "c":
            raise TypeError("complex numbers")
        gram = np.require(array, np.float64, ["C", "ALIGNED"])
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(
            f"{name} cannot be read as a matrix of real numbers ({error}). Pass a Gram matrix, "
            "such as fk.kernel(...)(X)."
        ) from None
    if array.ndim != 2 or gram.shape[0] != gram.shape[1]:
        raise DataError(
            f"{name} has shape {array.shape}; a Gram matrix is square, a row and a column for each "
            "row of the table. Pass the matrix of a kernel, such as fk.kernel(...)(X)."
        )
    if not gram.size:
        raise DataError(f"{name} has no rows; a measure needs at least one. Pass a Gram matrix.")
    if not np.isfinite(gram.min()) or not np.isfinite(gram.max()):
        i, j = np.argwhere(~np.isfinite(gram))[0]
        raise DataError(
            f"{name}[{i}, {j}] = {gram[i, j]}; a Gram matrix holds finite numbers. Look for "
            "missing values in the table, or normalise the kernel: kernel.normalized()."
        )
    precision = array.dtype if array.dtype.kind == "f" and array.dtype.itemsize < 8 else np.float64
    return gram, float(np.sqrt(np.finfo(precision).eps))


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
    Up to 2,000 rows a Cholesky decomposition of K plus a multiple of the identity decides, O(m³/3).
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
        try:
            np.linalg.cholesky(shifted)
        except np.linalg.LinAlgError:
            least = float(np.linalg.eigvalsh(shifted)[0]) - shift
            if least < -shift / 2:  # not a failure by rounding alone
                raise _indefinite(name, "equal to", least * scale) from None
        return
    if 1e-100 < scale < 1e100:
        least = _least_ritz_value(K) / scale
    else:
        least = _least_ritz_value(K / scale)
    if least < -shift:
        raise _indefinite(name, "at most", least * scale)


def read_semidefinite(K: Any, check: bool = True, name: str = "K") -> FloatArray:
    """The matrix as float64, checked by :func:`read_gram` and :func:`check_semidefinite`.

    Parameters
    ----------
    K : array-like of shape (m, m)
    check : bool
        False tests shape and finiteness only.
    name : str

    Returns
    -------
    float64 (m, m), C-contiguous

    Raises
    ------
    DataError
    """
    if not check:
        return read_square(K, name)[0]
    gram, slack = read_gram(K, name)
    # entries rounded to a shorter type move an eigenvalue by at most that share of the trace
    check_semidefinite(gram, slack**2, name)
    return gram


def _least_ritz_value(K: FloatArray) -> float:
    """The smallest v'Kv over unit vectors of a Krylov space."""
    m = len(K)
    basis = np.zeros((LANCZOS_STEPS, m))
    images = np.zeros((LANCZOS_STEPS, m))
    vector = np.random.default_rng(0).standard_normal(m)
    size = 0
    for step in range(LANCZOS_STEPS):
        for _ in range(2):  # twice is enough to be orthogonal to working precision
            vector -= basis[:step].T @ (basis[:step] @ vector)
        length = float(np.linalg.norm(vector))
        if length <= 1e-12 * float(np.linalg.norm(images[step - 1])) if step else length == 0:
            break
        basis[step] = vector / length
        images[step] = K @ basis[step]
        vector = images[step].copy()
        size = step + 1
    projected = basis[:size] @ images[:size].T
    return float(np.linalg.eigvalsh((projected + projected.T) / 2)[0])


def _indefinite(name: str, how: str, eigenvalue: float) -> DataError:
    return DataError(
        f"{name} has an eigenvalue {how} {eigenvalue:.3g}, so it is not positive semidefinite, as "
        "every Gram matrix is. Pass the matrix of a positive semidefinite kernel."
    )
