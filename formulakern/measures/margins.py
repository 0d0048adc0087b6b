"""The distance between two classes in feature space, hard or soft."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from formulakern.checks import check_choice
from formulakern.errors import ParameterError
from formulakern.measures.input import (
    ADVICE,
    check_range,
    check_stopping,
    read_labels,
    read_penalty,
    read_semidefinite,
)
from formulakern.solvers.input import LARGEST
from formulakern.solvers.simplex_qp.margins import Margin, hinge_margin, hull_margin
from formulakern.solvers.simplex_qp.solve import Stopping
from formulakern.solvers.stopping import warn_unless

__all__ = ["Margin", "margin"]

Loss = Literal["hinge", "squared_hinge"]


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
    penalty = read_penalty(C)
    check_choice("loss", loss, ("hinge", "squared_hinge"))
    check_stopping(tol, max_iter)
    gram = read_semidefinite(K, check)
    check_range(gram)
    _, codes = read_labels(y, len(gram), most=2)
    signs = (2 * codes - 1).astype(np.int8)
    stopping: Stopping = {"tol": tol, "max_iter": max_iter, "progress": progress}
    if math.isinf(penalty) or loss == "squared_hinge":
        found = hull_margin(gram, signs, ridge=1 / penalty, **stopping)
    else:
        if penalty * float(gram.diagonal().max()) > LARGEST:
            raise ParameterError(
                f"C={C!r} is too large beside K for float64; C=None is the hard margin."
            )
        found = hinge_margin(gram, signs, penalty, **stopping)
    what = "the relative gap of the distance of the classes"
    warn_unless(found.converged, what, found.gap, tol, ADVICE)
    return found
