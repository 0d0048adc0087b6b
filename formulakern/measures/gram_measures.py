"""Measures of a Gram matrix, to choose among kernels: radius, margin, alignment, spectral ratio.

Radius and margin are solutions of quadratic programs; each comes with the proof of how exact it is.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from formulakern.errors import DataError, MagnitudeError, ParameterError
from formulakern.measures.gram_input import (
    check_semidefinite,
    read_gram,
    read_semidefinite,
    read_square,
)
from formulakern.measures.label_input import read_labels
from formulakern.solvers.simplex_qp import enclosing_ball as _ball
from formulakern.solvers.simplex_qp import margins as _hulls
from formulakern.solvers.simplex_qp.enclosing_ball import EnclosingBall
from formulakern.solvers.simplex_qp.margins import Margin

__all__ = [
    "EnclosingBall",
    "Margin",
    "enclosing_ball",
    "margin",
    "radius",
    "radius_margin_ratio",
]

FloatArray = npt.NDArray[np.float64]
Loss = Literal["hinge", "squared_hinge"]

#: Range of the largest K_ii within which products of two numbers cannot overflow.
SMALLEST, LARGEST = 1e-100, 1e100


def enclosing_ball(
    K: Any,
    *,
    tol: float = 1e-3,
    max_iter: int = 1_000_000,
    check: bool = True,
    progress: Callable[[float], None] | None = None,
) -> EnclosingBall:
    """The smallest ball that holds all feature vectors φ(x_i).

    R² = max Σ β_i K_ii − β'Kβ over β ≥ 0 with Σ β_i = 1; the centre is Σ β_i φ(x_i), and every
    centre gives the upper bound R² ≤ max_i ‖φ(x_i) − centre‖².

    Parameters
    ----------
    K : array-like of shape (m, m)
        A Gram matrix: symmetric and positive semidefinite.
    tol : float
        The relative gap between the bounds of R² to reach.
    max_iter : int
        At most so many steps; a warning where they do not suffice.
    check : bool
        Whether to test that K is symmetric and positive semidefinite.  False is for matrices that
        are known to be: K is then trusted.
    progress : callable, optional
        Called with the share that is done.

    Returns
    -------
    EnclosingBall
        ``squared_radius``, ``radius``, ``coefficients``, ``lower_bound``, ``upper_bound``, ``gap``.

    Raises
    ------
    DataError
        If K is no Gram matrix.
    MagnitudeError
        If its diagonal is so large or small that squares leave the range of float64.
    ParameterError
        If ``tol`` or ``max_iter`` is out of range.

    Notes
    -----
    A step costs O(m), reading two rows of K; some m steps are typical.  The test of K is one
    pass, and a Cholesky decomposition (up to 2,000 rows) or 24 products with K.

    References
    ----------
    V. Vapnik, Statistical Learning Theory, Wiley, 1998.  I. W. Tsang, J. T. Kwok, P.-M. Cheung,
    "Core vector machines", JMLR 6, 2005, for the smallest ball in feature space.

    Examples
    --------
    Two points at distance 2:

    >>> from formulakern.measures import enclosing_ball
    >>> ball = enclosing_ball([[1, -1], [-1, 1]])
    >>> ball.radius, ball.coefficients
    (1.0, array([0.5, 0.5]))
    """
    gram = read_semidefinite(K, check)
    _check_range(gram)
    _check_stopping(tol, max_iter)
    ball = _ball.enclosing_ball(gram, tol=tol, max_iter=max_iter, progress=progress)
    _warn_unless(ball.converged, "squared radius", ball.gap, tol)
    return ball


def radius(
    K: Any,
    *,
    tol: float = 1e-3,
    max_iter: int = 1_000_000,
    check: bool = True,
    progress: Callable[[float], None] | None = None,
) -> float:
    """R, the radius of the smallest ball that holds all feature vectors.

    Parameters
    ----------
    K : array-like of shape (m, m)
        A Gram matrix.
    tol, max_iter, check, progress
        As in :func:`enclosing_ball`, which also tells the bounds.

    Returns
    -------
    float
        Relative error at most half of ``tol``.

    Raises
    ------
    DataError, MagnitudeError, ParameterError
        As in :func:`enclosing_ball`.

    Examples
    --------
    The corners of a regular simplex, √(1 − 1/m):

    >>> from formulakern.measures import radius
    >>> round(radius([[1, 0], [0, 1]]), 6)
    0.707107
    """
    ball = enclosing_ball(K, tol=tol, max_iter=max_iter, check=check, progress=progress)
    return ball.radius


def margin(
    K: Any,
    y: Any,
    C: float | None = None,
    *,
    loss: Loss = "hinge",
    tol: float = 1e-3,
    max_iter: int = 1_000_000,
    check: bool = True,
    progress: Callable[[float], None] | None = None,
) -> Margin:
    """How far apart two classes lie in feature space, hard or soft.

    *Hard* (C None or infinite): ``distance`` is that of the convex hulls of the classes,
    min ‖Σ a_i φ(x_i) − Σ b_j φ(x_j)‖ over a, b ≥ 0 of sum 1; it equals 2/‖w‖ of the hard-margin
    support vector machine, and 0 where the hulls meet.  ``margin`` is half of it, 1/‖w‖, the
    distance of the nearest points from the hyperplane in the middle.

    *Soft*: ``distance`` is 2/‖w‖ with w the minimiser of ½‖w‖² + C Σ max(0, 1 − y_i f(x_i)),
    f(x) = ⟨w, φ(x)⟩ + b (``loss="hinge"``, what ``SVC`` trains); or, for ``"squared_hinge"``, with
    ½‖w‖² + C/2 Σ max(0, 1 − y_i f(x_i))², which is the hard margin of K + I/C and is reported as
    such: 2/√(‖w‖² + C Σ max(0, …)²).

    Parameters
    ----------
    K : array-like of shape (m, m)
        A Gram matrix.
    y : array-like of shape (m,)
        Labels of two classes.
    C : float, optional
        The weight of the losses; none for the hard margin.
    loss : {"hinge", "squared_hinge"}
        Which soft margin; without C, it does not matter.
    tol : float
        The relative gap between the bounds of the distance to reach.
    max_iter, check, progress
        As in :func:`enclosing_ball`.

    Returns
    -------
    Margin
        ``distance``, ``margin``, ``coefficients``, ``lower_bound``, ``upper_bound``, ``gap``.

    Raises
    ------
    DataError
        If K is no Gram matrix, or y not one label a row of two classes.
    MagnitudeError
        If the diagonal of K is so large or small that squares leave the range of float64.
    ParameterError
        If C, ``loss``, ``tol`` or ``max_iter`` is out of range.

    Notes
    -----
    Hulls nearer than 1e-5 of the largest distance of a point from the mean are taken to meet:
    ``distance`` is 0, and ``upper_bound`` how near they are proven to be.  A small C draws w
    towards 0, so distances with hinge loss compare kernels at one C only, and are infinite where
    w = 0.

    A step costs O(m); some m steps are typical, far more where the classes nearly touch.

    References
    ----------
    V. Vapnik, Statistical Learning Theory, Wiley, 1998.  K. P. Bennett, E. J. Bredensteiner,
    "Duality and geometry in SVM classifiers", ICML 2000, for the convex hulls.

    Examples
    --------
    >>> import numpy as np
    >>> from formulakern.measures import margin
    >>> x = np.array([0.0, 1.0, 4.0])  # one feature, so the distance is the one from 1 to 4
    >>> found = margin(np.outer(x, x), ["no", "no", "yes"])
    >>> round(found.distance, 6), round(found.margin, 6)
    (3.0, 1.5)
    """
    penalty = _check_penalty(C)
    if loss not in ("hinge", "squared_hinge"):
        raise ParameterError(f"loss={loss!r} is unknown; expected 'hinge' or 'squared_hinge'.")
    _check_stopping(tol, max_iter)
    gram = read_semidefinite(K, check)
    _check_range(gram)
    _, codes = read_labels(y, len(gram), most=2)
    signs = (2 * codes - 1).astype(np.int8)
    stopping: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "progress": progress}
    if math.isinf(penalty) or loss == "squared_hinge":
        found = _hulls.hull_margin(gram, signs, ridge=1 / penalty, **stopping)
    else:
        if penalty * float(gram.diagonal().max()) > LARGEST:
            raise ParameterError(
                f"C={C!r} is too large beside K for float64; C=None is the hard margin."
            )
        found = _hulls.hinge_margin(gram, signs, penalty, **stopping)
    _warn_unless(found.converged, "distance of the classes", found.gap, tol)
    return found


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
    """R² / distance²: the radius of the data against the distance of the classes, both squared.

    The smaller, the better: the leave-one-out error of a hard-margin support vector machine is at
    most a constant times this number over m.  R is the radius of the smallest ball around all
    points, and the distance that of the convex hulls of the classes, 2/‖w‖: with the margin 1/‖w‖
    instead, the ratio would be 4 times as large.

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
    S. Mukherjee, Machine Learning 46, 2002, doi:10.1023/A:1012450327387 (K + I/C).  M. Polato,
    F. Aiolli, "Propositional kernels", Entropy 23(8), 2021, doi:10.3390/e23081020 (to rank random
    formulas).

    Examples
    --------
    Four points at right angles: R² = 3/4, and the midpoints of two pairs are at distance 1.

    >>> import numpy as np
    >>> from formulakern.measures import radius_margin_ratio
    >>> round(radius_margin_ratio(np.eye(4), [0, 0, 1, 1]), 6)
    0.75
    """
    ridge = 1 / _check_penalty(C)
    _check_stopping(tol, max_iter)
    gram, slack = read_gram(K) if check else read_square(K)
    classes, codes = read_labels(y, len(gram))
    if normalize:
        gram = _cosines(gram)
    if check:
        check_semidefinite(gram, slack**2)
    _check_range(gram)
    parts = 1 if len(classes) == 2 else len(classes)

    def stopping(part: int) -> dict[str, Any]:
        report = None
        if progress is not None:
            report = _part_of(progress, part, parts + 1)
        return {"ridge": ridge, "tol": tol, "max_iter": max_iter, "progress": report}

    ball = _ball.enclosing_ball(gram, **stopping(0))
    if ball.squared_radius == 0:
        raise DataError(
            "all feature vectors are equal (the radius is 0), so there is no ratio of radius and "
            "margin. Use a kernel that tells some rows apart, or a soft margin, C=1."
        )
    _warn_unless(ball.converged, "squared radius", ball.gap, tol)
    ratios = []
    for part in range(parts):
        signs = np.where(codes == len(classes) - 1 - part, 1, -1).astype(np.int8)
        found = _hulls.hull_margin(gram, signs, **stopping(part + 1))
        _warn_unless(found.converged, "distance of the classes", found.gap, tol)
        ratios.append(ball.squared_radius / found.distance**2 if found.distance else math.inf)
    return math.fsum(ratios) / parts


def _check_penalty(C: float | None) -> float:
    try:
        penalty = math.inf if C is None else float(C)
    except (TypeError, ValueError):
        penalty = math.nan
    if not penalty > 0 or 1 / penalty > LARGEST:
        raise ParameterError(
            f"C={C!r} is not a positive number; expected the weight of the losses, or None for the "
            "hard margin."
        )
    return penalty


def _check_stopping(tol: float, max_iter: int) -> None:
    if not isinstance(tol, (int, float, np.number)) or not 0 < tol < 1:
        raise ParameterError(f"tol={tol!r} is not a relative gap; expected 0 < tol < 1.")
    if not isinstance(max_iter, (int, np.integer)) or max_iter < 1:
        raise ParameterError(f"max_iter={max_iter!r}; expected a whole number of at least 1.")


def _check_range(gram: FloatArray) -> None:
    largest = float(gram.diagonal().max())
    if largest and not SMALLEST <= largest <= LARGEST:
        raise MagnitudeError(
            f"the largest K[i, i] is {largest:.3g}, and its square is not safe in float64; "
            f"expected {SMALLEST:g} to {LARGEST:g}. Divide K by a number (radius and distance "
            "scale with its root), or normalise the kernel: kernel.normalized()."
        )


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


def _part_of(progress: Callable[[float], None], part: int, parts: int) -> Callable[[float], None]:
    """Reports of one part as reports of the whole."""
    return lambda share: progress((part + share) / parts)


def _warn_unless(converged: bool, what: str, gap: float, tol: float) -> None:
    if not converged:
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(
            f"the relative gap of the {what} is {gap:.2g}, more than tol={tol:g}: more steps "
            "(max_iter) are needed, or rounding hides the difference.",
            ConvergenceWarning,
            stacklevel=3,
        )
