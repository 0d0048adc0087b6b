"""The radius of the data against the distance of the classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from formulakern.errors import DataError
from formulakern.measures.input import (
    ADVICE,
    check_range,
    check_stopping,
    read_labels,
    read_penalty,
    read_semidefinite,
)
from formulakern.solvers.simplex_qp.enclosing_ball import enclosing_ball
from formulakern.solvers.simplex_qp.margins import hull_margin
from formulakern.solvers.stopping import warn_unless

__all__ = ["radius_margin_ratio"]


def radius_margin_ratio(
    K: Any,
    y: Any,
    *,
    C: float | None = None,
    normalize: bool = True,
    tol: float = 1e-3,
    max_iter: int = 1_000_000,
    check: bool = True,
    progress: Callable[[float], None] | None = None,
) -> float:
    """R² / distance²: the squared radius of the data over the squared distance of the classes.

    R is the radius of the smallest ball around all feature vectors (:func:`enclosing_ball`), and
    the distance is that of the convex hulls of the classes, 2/‖w‖ (:func:`margin`).  With the
    margin 1/‖w‖ instead, the ratio would be 4 times as large.  The leave-one-out error of a
    hard-margin support vector machine is at most a constant times this number over m: the smaller,
    the better.

    Parameters
    ----------
    K : array-like of shape (m, m)
        A Gram matrix.
    y : array-like of shape (m,)
        Labels.  For more than two classes, the mean of the ratios of each class against the rest.
    C : float, optional
        Soft margin: both numbers are computed for K + I/C, the support vector machine with squared
        hinge loss, for which the bound is proven.  Without C, classes whose hulls meet have the
        ratio infinity.
    normalize : bool
        Whether to divide K_ij by √(K_ii K_jj) first, so that the measure does not depend on the
        lengths of the feature vectors; a vector of length zero stays zero.
    tol : float
        The relative gap of R² and of the distances; the ratio is exact to some 3 ``tol``.
    max_iter, check, progress
        As in :func:`enclosing_ball`.

    Returns
    -------
    float
        At least 1/4 for two classes, ``inf`` where hulls meet.

    Raises
    ------
    DataError
        If K is no Gram matrix, y not one label a row, there is only one class, or all feature
        vectors are equal, where without C the ratio would be 0/0.
    MagnitudeError, ParameterError
        As in :func:`margin`.

    Notes
    -----
    The cost of :func:`enclosing_ball` and, for each of more than two classes, of :func:`margin`.

    References
    ----------
    V. Vapnik, Statistical Learning Theory, Wiley, 1998.  O. Chapelle, V. Vapnik, O. Bousquet,
    S. Mukherjee, "Choosing multiple parameters for support vector machines", Machine Learning 46,
    2002, doi:10.1023/A:1012450327387 (K + I/C).  M. Polato, F. Aiolli, "Propositional kernels",
    Entropy 23(8), 2021, doi:10.3390/e23081020 (to rank random formulas).

    Examples
    --------
    Four points at right angles: R² = 3/4, and the midpoints of two pairs are at distance 1.

    >>> import numpy as np
    >>> from formulakern.measures import radius_margin_ratio
    >>> round(radius_margin_ratio(np.eye(4), [0, 0, 1, 1]), 6)
    0.75
    """
    ridge = 1 / read_penalty(C)
    check_stopping(tol, max_iter)
    gram = read_semidefinite(K, check, normalize=normalize)
    classes, codes = read_labels(y, len(gram))
    check_range(gram)
    parts = 1 if len(classes) == 2 else len(classes)
    options: dict[str, Any] = {"ridge": ridge, "tol": tol, "max_iter": max_iter}
    monitors = [_part_of(progress, part, parts + 1) for part in range(parts + 1)]
    ball = enclosing_ball(gram, progress=monitors[0], **options)
    if ball.squared_radius == 0:
        raise DataError(
            "all feature vectors are equal (the radius is 0), so there is no ratio of radius and "
            "margin. Use a kernel that tells some rows apart, or a soft margin, C=1."
        )
    warn_unless(ball.converged, "the relative gap of the squared radius", ball.gap, tol, ADVICE)
    what = "the relative gap of the distance of the classes"
    ratios = []
    for part in range(parts):
        signs = np.where(codes == len(classes) - 1 - part, 1, -1).astype(np.int8)
        found = hull_margin(gram, signs, progress=monitors[part + 1], **options)
        warn_unless(found.converged, what, found.gap, tol, ADVICE)
        ratios.append(ball.squared_radius / found.distance**2 if found.distance else math.inf)
    return math.fsum(ratios) / parts


def _part_of(
    progress: Callable[[float], None] | None, part: int, parts: int
) -> Callable[[float], None] | None:
    """Reports of one part as reports of the whole."""
    return None if progress is None else lambda share: progress((part + share) / parts)
