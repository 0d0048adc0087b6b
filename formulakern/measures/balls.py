"""The smallest ball around the feature vectors of a Gram matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from formulakern.measures.input import ADVICE, check_range, check_stopping, read_semidefinite
from formulakern.solvers.simplex_qp import enclosing_ball as solver
from formulakern.solvers.simplex_qp.enclosing_ball import EnclosingBall
from formulakern.solvers.stopping import warn_unless

__all__ = ["EnclosingBall", "enclosing_ball", "radius"]


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
    check_range(gram)
    check_stopping(tol, max_iter)
    ball = solver.enclosing_ball(gram, tol=tol, max_iter=max_iter, progress=progress)
    warn_unless(ball.converged, "the relative gap of the squared radius", ball.gap, tol, ADVICE)
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
