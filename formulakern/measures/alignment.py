"""Measures of a Gram matrix that are ratios of norms: alignment and spectral ratio."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.errors import DataError
from formulakern.measures.input import read_labels, read_semidefinite

__all__ = ["alignment", "spectral_ratio"]


def alignment(K: Any, target: Any, *, centered: bool = False, check: bool = True) -> float:
    """⟨K, L⟩ / (‖K‖ ‖L‖), Frobenius: the cosine of two Gram matrices, or of one and labels.

    Two classes of labels give L = yy' with y = ±1.  More give L_ij = 1 where i and j are of one
    class and 0 elsewhere.  Centred, K and L are replaced by HKH and HLH with H = I − 11'/m: the
    Gram matrices of the feature vectors minus their mean.

    Parameters
    ----------
    K : array-like of shape (m, m)
        A Gram matrix.
    target : array-like of shape (m,) or (m, m)
        Labels of at least two classes, or another Gram matrix.
    centered : bool
        Whether to subtract the mean of the feature vectors first.
    check : bool
        As in :func:`enclosing_ball`.

    Returns
    -------
    float
        Between 0 and 1, for two positive semidefinite matrices.

    Raises
    ------
    DataError
        If a matrix is no Gram matrix, shapes differ, there is one class only, or a matrix is zero
        (centred: all feature vectors are equal).

    Notes
    -----
    O(m²).

    References
    ----------
    N. Cristianini, J. Shawe-Taylor, A. Elisseeff, J. Kandola, "On kernel-target alignment", NIPS
    2001.  C. Cortes, M. Mohri, A. Rostamizadeh, "Algorithms for learning kernels based on centered
    alignment", JMLR 13, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from formulakern.measures import alignment
    >>> round(alignment(np.eye(4), [0, 0, 1, 1]), 6)  # 4 / (2 * 4)
    0.5
    """
    gram = _unit(read_semidefinite(K, check), "K", centered)
    if _is_matrix(target):
        other = read_semidefinite(target, check, "the second matrix")
        if len(other) != len(gram):
            raise DataError(
                f"K has {len(gram)} rows and the second matrix {len(other)}; an alignment compares "
                "Gram matrices of the same rows."
            )
        return float(np.vdot(gram, _unit(other, "the second matrix", centered)))
    classes, codes = read_labels(target, len(gram))
    if len(classes) == 2:
        indicator = (2.0 * codes - 1)[:, None]
    else:
        indicator = (codes[:, None] == np.arange(len(classes))).astype(np.float64)
    if centered:
        indicator -= indicator.mean(axis=0)
    product = float(np.vdot(indicator, gram @ indicator))
    return product / float(np.linalg.norm(indicator.T @ indicator))


def spectral_ratio(K: Any, *, normalize: bool = True, check: bool = True) -> float:
    """trace(K) / ‖K‖_F, the 1-norm of the eigenvalues over their 2-norm.

    It is 1 where K has rank one, and √m where K is a multiple of the identity: the more directions
    of feature space the data spreads over, the larger.  Normalised it is (ratio − 1) / (√m − 1),
    0 for the least expressive kernels and 1 for the most.

    Parameters
    ----------
    K : array-like of shape (m, m)
        A Gram matrix.
    normalize : bool
        Whether to map the ratio onto [0, 1].
    check : bool
        As in :func:`enclosing_ball`.

    Returns
    -------
    float

    Raises
    ------
    DataError
        If K is no Gram matrix, or is zero; normalised, also if it has a single row.

    Notes
    -----
    O(m²).

    References
    ----------
    M. Donini, F. Aiolli, "Learning deep kernels in the space of dot product polynomials", Machine
    Learning 106, 2017, doi:10.1007/s10994-016-5590-8.

    Examples
    --------
    >>> import numpy as np
    >>> from formulakern.measures import spectral_ratio
    >>> spectral_ratio(np.eye(9)), spectral_ratio(np.ones((9, 9)))
    (1.0, 0.0)
    """
    gram = _unit(read_semidefinite(K, check), "K", False)
    m = len(gram)
    ratio = min(max(1.0, float(np.trace(gram))), math.sqrt(m))
    if not normalize:
        return ratio
    if m == 1:
        raise DataError(
            "the spectral ratio of one row is always 1 and cannot be normalised. Pass at least two "
            "rows, or normalize=False."
        )
    return (ratio - 1) / (math.sqrt(m) - 1)


def _is_matrix(target: Any) -> bool:
    try:
        return np.ndim(target) == 2
    except ValueError:  # lists of different lengths; whoever reads them says so
        return True


def _unit(gram: FloatArray, name: str, centered: bool) -> FloatArray:
    """K / ‖K‖_F, about the mean if centred."""
    size = float(np.abs(gram).max())
    if size:
        gram = gram / size
        if centered:
            means = gram.mean(axis=0)
            gram -= means
            gram -= means[:, None] - means.mean()
            if np.abs(gram).max() <= 16 * np.finfo(np.float64).eps:
                size = 0.0
    if not size:
        raise DataError(
            f"{name} is zero{' about its mean: all feature vectors are equal' * centered}, so it "
            "has no direction to measure. Use a kernel that tells some rows apart."
        )
    gram /= np.linalg.norm(gram)
    return gram
