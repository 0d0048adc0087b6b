"""The smallest ball around feature vectors, the distance of two classes, and the ratio of both."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.checks import check_choice, check_integer, check_number
from formulakern.errors import DataError, MagnitudeError, ParameterError
from formulakern.measures.input import SMALLEST, read_labels, read_semidefinite
from formulakern.solvers.input import LARGEST
from formulakern.solvers.simplex_qp import problems
from formulakern.solvers.simplex_qp.problems import EnclosingBall, Margin
from formulakern.solvers.simplex_qp.solve import Stopping
from formulakern.solvers.solution import warn_unless

__all__ = ["EnclosingBall", "Margin", "enclosing_ball", "margin", "radius", "radius_margin_ratio"]

Loss = Literal["hinge", "squared_hinge"]

#: What the relative gaps are of, for warnings, and what these add.
RADIUS = "the relative gap of the squared radius"
DISTANCE = "the relative gap of the distance of the classes"
ADVICE = "More steps (max_iter) are needed, or rounding hides the difference."


def enclosing_ball(
    K: Any,
    *,
    tol: float = 1e-3,
    max_iter: int = 1_000_000,
    check: bool = True,
    progress: Callable[[float], None] | None = None,
) -> EnclosingBall:
    """The smallest ball around the feature vectors φ(x_i), ⟨φ(x_i), φ(x_j)⟩ = K_ij.

    Its squared radius is R² = min_c max_i ‖φ(x_i) − c‖² over all centres c.  The dual problem is

        R² = max Σ β_i K_ii − β'Kβ   over β ≥ 0, Σ β_i = 1,   with the centre c = Σ β_i φ(x_i).

    So every β bounds R² from below, and its centre bounds R² from above.

    Parameters
    ----------
    K : array-like of shape (m, m)
        A Gram matrix: symmetric and positive semidefinite.
    tol : float
        The relative gap between the bounds of R² to reach, 0 < tol ≤ 1.
    max_iter : int
        At most so many steps, each of which changes two coefficients.
    check : bool
        Whether to test that K is symmetric and positive semidefinite.  Without the test, a matrix
        that is not gives a meaningless result.
    progress : callable, optional
        Called with the share that is done.

    Returns
    -------
    EnclosingBall
        With ``squared_radius``, ``radius``, ``coefficients`` β, and the bounds of R².

    Raises
    ------
    DataError
        If K is no Gram matrix.
    MagnitudeError
        If its diagonal is so large or small that squares leave the range of float64.
    ParameterError
        If ``tol`` or ``max_iter`` is out of range.

    Warns
    -----
    ConvergenceWarning
        If the gap is above ``tol``: after ``max_iter`` steps, or where rounding hides the rest.

    Notes
    -----
    A step costs O(m), reading two rows of K; some m steps are typical.  The test of K is one pass
    over it, and a Cholesky decomposition (up to 2,000 rows) or 24 products with K.

    References
    ----------
    V. Vapnik, Statistical Learning Theory, Wiley, 1998.  I. W. Tsang, J. T. Kwok, P.-M. Cheung,
    "Core vector machines: fast SVM training on very large data sets", JMLR 6, 2005, for the
    smallest ball in feature space.

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
    ball = problems.enclosing_ball(gram, tol=tol, max_iter=max_iter, progress=progress)
    warn_unless(ball.converged, RADIUS, ball.gap, tol, ADVICE)
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
    return enclosing_ball(K, tol=tol, max_iter=max_iter, check=check, progress=progress).radius


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
    """The distance 2/‖w‖ between two classes in feature space, and the margin 1/‖w‖.

    *Hard margin* (C None or infinite): the distance of the convex hulls of the classes,

        min ‖Σ a_i φ(x_i) − Σ b_j φ(x_j)‖   over a, b ≥ 0 of sum 1,

    i over one class and j over the other.  It equals 2/‖w‖ of the hard-margin support vector
    machine, and 0 where the hulls meet.  1/‖w‖ is the distance of the nearest points from the
    hyperplane in the middle.

    *Soft margin*: w is the minimiser of a support vector machine with f(x) = ⟨w, φ(x)⟩ + b.

    * ``loss="hinge"``: ½‖w‖² + C Σ max(0, 1 − y_i f(x_i)), which scikit-learn's ``SVC`` trains.
    * ``loss="squared_hinge"``: ½‖w‖² + C/2 Σ max(0, 1 − y_i f(x_i))².  This is the hard margin of
      K + I/C, and that distance is reported: 2/√(‖w‖² + C Σ max(0, 1 − y_i f(x_i))²).

    Parameters
    ----------
    K : array-like of shape (m, m)
        A Gram matrix.
    y : array-like of shape (m,)
        Labels of two classes.
    C : float, optional
        The penalty parameter; None for the hard margin.
    loss : {"hinge", "squared_hinge"}
        Which soft margin; without C, it does not matter.
    tol : float
        The relative gap between the bounds of the distance to reach.
    max_iter, check, progress
        As in :func:`enclosing_ball`.

    Returns
    -------
    Margin
        With ``distance``, ``margin``, ``coefficients``, and the bounds of the distance.

    Raises
    ------
    DataError
        If K is no Gram matrix, or y not one label a row of two classes.
    MagnitudeError
        If the diagonal of K is so large or small that squares leave the range of float64.
    ParameterError
        If C, ``loss``, ``tol`` or ``max_iter`` is out of range.

    Warns
    -----
    ConvergenceWarning
        If the gap is above ``tol``: after ``max_iter`` steps, or where rounding hides the rest.

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
    penalty = _read_penalty(C)
    check_choice("loss", loss, ("hinge", "squared_hinge"))
    _check_stopping(tol, max_iter)
    gram = read_semidefinite(K, check)
    _check_range(gram)
    _, codes = read_labels(y, len(gram), most=2)
    signs = (2 * codes - 1).astype(np.int8)
    stopping: Stopping = {"tol": tol, "max_iter": max_iter, "progress": progress}
    if math.isinf(penalty) or loss == "squared_hinge":
        found = problems.hull_margin(gram, signs, ridge=1 / penalty, **stopping)
    else:
        if penalty * float(gram.diagonal().max()) > LARGEST:
            raise ParameterError(
                f"C={C!r} is too large beside K for float64; C=None is the hard margin."
            )
        found = problems.hinge_margin(gram, signs, penalty, **stopping)
    warn_unless(found.converged, DISTANCE, found.gap, tol, ADVICE)
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
    ridge = 1 / _read_penalty(C)
    _check_stopping(tol, max_iter)
    gram = read_semidefinite(K, check, normalize=normalize)
    classes, codes = read_labels(y, len(gram))
    _check_range(gram)
    parts = 1 if len(classes) == 2 else len(classes)
    options: dict[str, Any] = {"ridge": ridge, "tol": tol, "max_iter": max_iter}

    def part_of_progress(part: int) -> Callable[[float], None] | None:
        return None if progress is None else lambda share: progress((part + share) / (parts + 1))

    ball = problems.enclosing_ball(gram, progress=part_of_progress(0), **options)
    if ball.squared_radius == 0:
        raise DataError(
            "all feature vectors are equal (the radius is 0), so there is no ratio of radius and "
            "margin. Use a kernel that tells some rows apart, or a soft margin, C=1."
        )
    warn_unless(ball.converged, RADIUS, ball.gap, tol, ADVICE)
    ratios = []
    for part in range(parts):
        signs = np.where(codes == len(classes) - 1 - part, 1, -1).astype(np.int8)
        found = problems.hull_margin(gram, signs, progress=part_of_progress(part + 1), **options)
        warn_unless(found.converged, DISTANCE, found.gap, tol, ADVICE)
        ratios.append(ball.squared_radius / found.distance**2 if found.distance else math.inf)
    return math.fsum(ratios) / parts


def _read_penalty(C: Any) -> float:
    """The penalty parameter of a soft margin; infinity, the hard margin, for None.

    Raises
    ------
    ParameterError
        If C is no positive number, or so small that 1/C leaves the range of float64.
    """
    if C is None or math.inf == C:
        return math.inf
    check_number(
        "C", C, 1 / LARGEST, expected="a positive number", otherwise="None for the hard margin"
    )
    return float(C)


def _check_stopping(tol: Any, max_iter: Any) -> None:
    """Check the relative gap to reach, 0 < tol ≤ 1, and the most steps, at least 1.

    Raises
    ------
    ParameterError
    """
    check_number("tol", tol, 0, 1, above=True)
    check_integer("max_iter", max_iter)


def _check_range(K: FloatArray) -> None:
    """Refuse a Gram matrix whose entries cannot be multiplied without overflow or underflow.

    Raises
    ------
    MagnitudeError
    """
    largest = float(K.diagonal().max())
    if largest and not SMALLEST <= largest <= LARGEST:
        raise MagnitudeError(
            f"the largest K[i, i] is {largest:.3g}, and its square is not safe in float64; "
            f"expected {SMALLEST:g} to {LARGEST:g}. Divide K by a number (radius and distance "
            "scale with its root), or normalise the kernel: kernel.normalized()."
        )
