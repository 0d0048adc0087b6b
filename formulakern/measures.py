"""Measures of Gram matrices, each to a stated duality gap."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from formulakern.arrays import FloatArray, IntArray
from formulakern.checks import check_choice, check_integer, check_number
from formulakern.docstrings import parameters_from
from formulakern.errors import DataError, MagnitudeError, ParameterError
from formulakern.solvers import simplex_qp
from formulakern.solvers.blas import one_thread
from formulakern.solvers.input import LARGEST, read_array, read_matrix
from formulakern.solvers.simplex_qp import EnclosingBall, Margin
from formulakern.solvers.solution import warn_unless

__all__ = [
    "EnclosingBall",
    "Margin",
    "alignment",
    "enclosing_ball",
    "margin",
    "radius",
    "radius_margin_ratio",
    "spectral_ratio",
]

#: Rows that are compared with their columns together.
BAND = 256
#: Up to so many rows, a Cholesky decomposition decides; beyond, so many Lanczos steps look.
DECIDED, LANCZOS_STEPS = 2_000, 24
#: From here to LARGEST for the largest K_ii, products of two entries cannot overflow or vanish.
SMALLEST = 1e-100
#: An eigenvalue below minus this share of the trace is not rounding.
NEGATIVE = 1e-8


def read_semidefinite(
    K: Any, check: bool = True, name: str = "K", normalize: bool = False
) -> FloatArray:
    """The matrix as float64 (m, m), C-contiguous, the same memory if it is such an array.

    Without ``check`` only its shape is tested and that it is finite; else also its symmetry,
    |K_ij| ≤ √(K_ii K_jj), in one pass by bands, and :func:`check_semidefinite`.
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
    rounding = float(np.finfo(kind if kind in (np.float16, np.float32) else np.float64).eps)
    if check:
        _check_entries(gram, rounding, name)
    gram = _cosines(gram) if normalize else gram
    if check:
        # entries rounded to a shorter type move an eigenvalue by at most that share of the trace
        check_semidefinite(gram, rounding, name)
    return gram


def _check_entries(gram: FloatArray, rounding: float, name: str) -> None:
    diagonal, slack = gram.diagonal(), math.sqrt(rounding)
    if diagonal.min() < 0:
        i = int(diagonal.argmin())
        raise DataError(
            f"{name}[{i}, {i}] = {diagonal[i]} is negative; the diagonal of a Gram matrix holds "
            f"squared lengths. Pass the matrix of a positive semidefinite kernel."
        )
    lengths = np.sqrt(diagonal)
    noise = 100 * rounding * float(diagonal.max())  # entries that are rounding beside the largest
    for start in range(0, len(gram), BAND):
        rows = slice(start, start + BAND)
        band = gram[rows, start:]
        largest = lengths[rows, None] * lengths[None, start:]
        too_large = np.abs(band) > largest * (1 + slack) + noise
        uneven = np.abs(band - gram[start:, rows].T) > largest * slack + noise
        if not (too_large.any() or uneven.any()):
            continue
        i, j = np.argwhere(too_large if too_large.any() else uneven)[0] + start
        if too_large.any():
            problem = (
                f"{name}[{i}, {j}] = {gram[i, j]} is larger than √({name}[{i}, {i}]·"
                f"{name}[{j}, {j}]) = {lengths[i] * lengths[j]}; so {name} is not positive "
                "semidefinite, as every Gram matrix is."
            )
        else:
            problem = (
                f"{name} is not symmetric: {name}[{i}, {j}] = {gram[i, j]}, but {name}[{j}, {i}] = "
                f"{gram[j, i]}."
            )
        raise DataError(
            f"{problem} Pass the matrix of a kernel between the same rows in the same order."
        )


def check_semidefinite(K: FloatArray, slack: float = NEGATIVE, name: str = "K") -> None:
    """Refuse a symmetric matrix with an eigenvalue below −1e-8 (or −slack) of the trace.

    Up to 2,000 rows a Cholesky decomposition of K plus a multiple of the identity decides, O(m³/3),
    in one thread.  Beyond, 24 Lanczos steps, O(m²) each, look for a vector v with v'Kv < 0: what
    they find is a proof, but a small negative eigenvalue may escape them.
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


def read_labels(y: Any, m: int, most: int | None = None) -> tuple[Any, IntArray]:
    """The classes of m rows, sorted, and the number of the class of each row, int64.

    ``y`` are numbers or strings, of at least two and at ``most`` so many classes.

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
    basis, images = np.zeros((2, LANCZOS_STEPS, len(K)))
    vector = np.random.default_rng(0).standard_normal(len(K))
    for step in range(LANCZOS_STEPS):
        before = float(np.linalg.norm(vector))
        for _ in range(2):  # twice is enough to be orthogonal to working precision
            vector = vector - (basis[:step] @ vector) @ basis[:step]
        length = float(np.linalg.norm(vector))
        if length <= 1e-12 * before:
            break
        basis[step] = vector / length
        images[step] = vector = K @ basis[step]
    return float(np.linalg.eigvalsh(basis @ images.T)[0])


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
    A step costs O(m); some m steps are typical.  The test of K is one pass over it, and a Cholesky
    decomposition (up to 2,000 rows) or 24 products with K.

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
    gram = _solvable(K, check, tol, max_iter)
    ball = simplex_qp.enclosing_ball(gram, tol=tol, max_iter=max_iter, progress=progress)
    warn_unless(ball.converged, RADIUS, ball.gap, tol, ADVICE)
    return ball


@parameters_from(enclosing_ball)
def radius(
    K: Any,
    *,
    tol: float = 1e-3,
    max_iter: int = 1_000_000,
    check: bool = True,
    progress: Callable[[float], None] | None = None,
) -> float:
    """R, the radius of the smallest ball that holds all feature vectors.

    Returns
    -------
    float
        Relative error at most half of ``tol``.

    Examples
    --------
    The corners of a regular simplex, √(1 − 1/m):

    >>> from formulakern.measures import radius
    >>> round(radius([[1, 0], [0, 1]]), 6)
    0.707107
    """
    return enclosing_ball(K, tol=tol, max_iter=max_iter, check=check, progress=progress).radius


@parameters_from(enclosing_ball)
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
    y : array-like of shape (m,)
        Labels of two classes.
    C : float, optional
        The penalty parameter; None for the hard margin.
    loss : {"hinge", "squared_hinge"}
        Which soft margin; without C, it does not matter.
    tol : float
        The relative gap between the bounds of the distance to reach.

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
    gram = _solvable(K, check, tol, max_iter)
    _, codes = read_labels(y, len(gram), most=2)
    signs = (2 * codes - 1).astype(np.int8)
    stopping: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "progress": progress}
    if math.isinf(penalty) or loss == "squared_hinge":
        found = simplex_qp.hull_margin(gram, signs, ridge=1 / penalty, **stopping)
    else:
        if penalty * float(gram.diagonal().max()) > LARGEST:
            raise ParameterError(
                f"C={C!r} is too large beside K for float64; C=None is the hard margin."
            )
        found = simplex_qp.hinge_margin(gram, signs, penalty, **stopping)
    warn_unless(found.converged, DISTANCE, found.gap, tol, ADVICE)
    return found


@parameters_from(enclosing_ball)
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
    return ball_and_ratio(K, y, C, normalize, tol, max_iter, check, progress)[1]


def ball_and_ratio(
    K: Any,
    y: Any,
    C: float | None,
    normalize: bool,
    tol: float = 1e-3,
    max_iter: int = 1_000_000,
    check: bool = True,
    progress: Callable[[float], None] | None = None,
) -> tuple[EnclosingBall, float]:
    """Return the smallest ball, too; see :func:`radius_margin_ratio`."""
    ridge = 1 / _read_penalty(C)
    gram = _solvable(K, check, tol, max_iter, normalize)
    classes, codes = read_labels(y, len(gram))
    parts = 1 if len(classes) == 2 else len(classes)
    options: dict[str, Any] = {"ridge": ridge, "tol": tol, "max_iter": max_iter}

    def part_of_progress(part: int) -> Callable[[float], None] | None:
        return None if progress is None else lambda share: progress((part + share) / (parts + 1))

    ball = simplex_qp.enclosing_ball(gram, progress=part_of_progress(0), **options)
    if ball.squared_radius == 0:
        raise DataError(
            "all feature vectors are equal (the radius is 0), so there is no ratio of radius and "
            "margin. Use a kernel that tells some rows apart, or a soft margin, C=1."
        )
    warn_unless(ball.converged, RADIUS, ball.gap, tol, ADVICE)
    ratios = []
    for part in range(parts):
        signs = np.where(codes == len(classes) - 1 - part, 1, -1).astype(np.int8)
        found = simplex_qp.hull_margin(gram, signs, progress=part_of_progress(part + 1), **options)
        warn_unless(found.converged, DISTANCE, found.gap, tol, ADVICE)
        ratios.append(ball.squared_radius / found.distance**2 if found.distance else math.inf)
    return ball, math.fsum(ratios) / parts


def _read_penalty(C: Any) -> float:
    """The penalty parameter of a soft margin; infinity, the hard margin, for None."""
    if C is None or math.inf == C:
        return math.inf
    check_number(
        "C", C, 1 / LARGEST, expected="a positive number", otherwise="None for the hard margin"
    )
    return float(C)


def _solvable(K: Any, check: bool, tol: Any, max_iter: Any, normalize: bool = False) -> FloatArray:
    """The checked matrix, if its entries can be multiplied without overflow or underflow."""
    check_number("tol", tol, 0, 1, above=True)
    check_integer("max_iter", max_iter)
    gram = read_semidefinite(K, check, normalize=normalize)
    largest = float(gram.diagonal().max())
    if largest and not SMALLEST <= largest <= LARGEST:
        raise MagnitudeError(
            f"the largest K[i, i] is {largest:.3g}, and its square is not safe in float64; "
            f"expected {SMALLEST:g} to {LARGEST:g}. Divide K by a number (radius and distance "
            "scale with its root), or normalise the kernel: kernel.normalized()."
        )
    return gram


@parameters_from(enclosing_ball)
def alignment(K: Any, target: Any, *, centered: bool = False, check: bool = True) -> float:
    """⟨K, L⟩ / (‖K‖ ‖L‖), Frobenius: the cosine of two Gram matrices, or of one and labels.

    Two classes of labels give L = yy' with y = ±1.  More give L_ij = 1 where i and j are of one
    class and 0 elsewhere.  Centred, K and L are replaced by HKH and HLH with H = I − 11'/m: the
    Gram matrices of the feature vectors minus their mean.

    Parameters
    ----------
    target : array-like of shape (m,) or (m, m)
        Labels of at least two classes, or another Gram matrix.
    centered : bool
        Whether to subtract the mean of the feature vectors first.

    Returns
    -------
    float
        Between 0 and 1, for two positive semidefinite matrices.

    Raises
    ------
    DataError
        If a matrix is no Gram matrix, shapes differ, there is one class only, or a matrix is zero
        (centred: all feature vectors are equal).

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


@parameters_from(enclosing_ball)
def spectral_ratio(K: Any, *, normalize: bool = True, check: bool = True) -> float:
    """trace(K) / ‖K‖_F, the 1-norm of the eigenvalues over their 2-norm.

    It is 1 where K has rank one, and √m where K is a multiple of the identity: the more directions
    of feature space the data spreads over, the larger.  Normalised it is (ratio − 1) / (√m − 1),
    0 for the least expressive kernels and 1 for the most.

    Parameters
    ----------
    normalize : bool
        Whether to map the ratio onto [0, 1].

    Returns
    -------
    float

    Raises
    ------
    DataError
        If K is no Gram matrix, or is zero; normalised, also if it has a single row.

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
