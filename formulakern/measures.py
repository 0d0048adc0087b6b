"""Measures of Gram matrices: enclosing ball, margin, alignment and spectral ratio."""

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
from formulakern.solvers.input import MAX_INPUT, read_array, read_matrix
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

#: Number of rows that are compared with their columns at a time.
BLOCK_ROWS = 256
#: Rows up to which a Cholesky decomposition decides; with more, Lanczos steps search.
MAX_CHOLESKY_ROWS, LANCZOS_STEPS = 2_000, 24
#: If the largest K_ii is from MIN_DIAGONAL to MAX_INPUT, products of two entries stay in float64.
MIN_DIAGONAL = 1e-100
#: An eigenvalue below minus this share of the trace is not rounding.
MAX_NEGATIVE_SHARE = 1e-8


def read_semidefinite(
    K: Any, check: bool = True, name: str = "K", normalize: bool = False
) -> FloatArray:
    """Return the matrix as C-contiguous float64 (m, m), without a copy if it is one already.

    Its shape is always checked, and that it is finite.  With ``check``, also its symmetry,
    |K_ij| ≤ √(K_ii K_jj), and :func:`check_semidefinite`.
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
            f"{name} has shape {gram.shape}; a Gram matrix is square, with a row and a column for "
            "each row of the table. Pass the matrix of a kernel, such as fk.kernel(...)(X)."
        )
    if not gram.size:
        raise DataError(f"{name} has no rows; a measure needs at least one. Pass a Gram matrix.")
    kind = np.asarray(K).dtype
    rounding = float(np.finfo(kind if kind in (np.float16, np.float32) else np.float64).eps)
    if check:
        _check_entries(gram, rounding, name)
    gram = _cosines(gram) if normalize else gram
    if check:
        # rounding of the entries moves an eigenvalue by at most that share of the trace
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
    noise = 100 * rounding * float(diagonal.max())  # smaller entries are rounding errors
    for start in range(0, len(gram), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
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
                f"{name}[{j}, {j}]) = {lengths[i] * lengths[j]}; therefore {name} is not positive "
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


def check_semidefinite(K: FloatArray, slack: float = MAX_NEGATIVE_SHARE, name: str = "K") -> None:
    """Raise DataError if a symmetric matrix has an eigenvalue below −1e-8 (or −slack) of the trace.

    For up to 2,000 rows, a Cholesky decomposition of K plus a multiple of the identity decides, in
    O(m³/3) and one thread.  For more, 24 Lanczos steps of O(m²) search for a vector v with
    v'Kv < 0.  Such a vector is a proof, but they may miss a small negative eigenvalue.
    """
    scale = float(K.diagonal().max())
    if not scale:
        return
    shift = max(MAX_NEGATIVE_SHARE, slack) * float((K.diagonal() / scale).sum())
    if len(K) <= MAX_CHOLESKY_ROWS:
        shifted = K / scale
        shifted.flat[:: len(K) + 1] += shift
        with one_thread():  # threads would wait for each other for longer than this takes
            try:
                np.linalg.cholesky(shifted)
                return
            except np.linalg.LinAlgError:
                least = float(np.linalg.eigvalsh(shifted)[0]) - shift
        how, allowed = "equal to", shift / 2  # not a failure from rounding alone
    else:
        unit = K if MIN_DIAGONAL < scale < MAX_INPUT else K / scale
        least = _least_ritz_value(unit) / float(unit.diagonal().max())
        how, allowed = "at most", shift
    if least < -allowed:
        raise DataError(
            f"{name} has an eigenvalue {how} {least * scale:.3g}, so it is not positive "
            "semidefinite, as every Gram matrix is. Pass the matrix of a positive semidefinite "
            "kernel."
        )


def read_labels(y: Any, m: int, most: int | None = None) -> tuple[Any, IntArray]:
    """Return the sorted classes of m rows, and the index of the class of each row, int64.

    ``y`` holds numbers or strings, of at least two classes and of at most ``most``.

    >>> classes, codes = read_labels(["b", "a", "b"], 3)
    >>> classes.tolist(), codes.tolist()
    (['a', 'b'], [1, 0, 1])
    """
    labels = read_array(y, "y", "one label per row")
    if labels.shape != (m,):
        raise DataError(
            f"y has shape {labels.shape}, but K has {m} rows; expected one label per row, in one "
            "dimension."
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        i = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise DataError(f"y[{i}] = {labels[i]} is not a label. Remove rows without a class.")
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError:
        raise DataError(
            "the labels in y cannot be sorted: they are of different types, or missing. Pass "
            "numbers only or strings only."
        ) from None
    if len(classes) < 2:
        raise DataError(
            f"y holds one class only, {classes.tolist()}; expected at least two. Add rows of "
            "another class."
        )
    if most is not None and len(classes) > most:
        raise DataError(
            f"y holds {len(classes)} classes; a margin separates two. Pass y == a_class for each "
            "class in turn, or use radius_margin_ratio, which averages over the classes."
        )
    return classes, codes.astype(np.int64)


def _least_ritz_value(K: FloatArray) -> float:
    """Return the smallest v'Kv over unit vectors v of a Krylov space."""
    basis, images = np.zeros((2, LANCZOS_STEPS, len(K)))
    vector = np.random.default_rng(0).standard_normal(len(K))
    for step in range(LANCZOS_STEPS):
        before = float(np.linalg.norm(vector))
        for _ in range(2):  # twice, for orthogonality to working precision
            vector = vector - (basis[:step] @ vector) @ basis[:step]
        length = float(np.linalg.norm(vector))
        if length <= 1e-12 * before:
            break
        basis[step] = vector / length
        images[step] = vector = K @ basis[step]
    return float(np.linalg.eigvalsh(basis @ images.T)[0])


def _cosines(gram: FloatArray) -> FloatArray:
    """Return K_ij / √(K_ii K_jj), 0 for vectors of length 0; K itself if it has this form."""
    diagonal = gram.diagonal()
    if np.isin(diagonal, (0.0, 1.0)).all():
        return gram
    inverse = np.divide(1, np.sqrt(diagonal), where=diagonal > 0, out=np.zeros(len(gram)))
    cosines = gram * inverse[:, None]
    cosines *= inverse
    np.fill_diagonal(cosines, diagonal > 0)
    return cosines


Loss = Literal["hinge", "squared_hinge"]

#: Names of the relative gaps in warnings, and the advice that follows them.
RADIUS = "the relative gap of the squared radius"
DISTANCE = "the relative gap of the distance of the classes"
ADVICE = "More steps (max_iter) are needed, or rounding errors prevent a smaller gap."


def enclosing_ball(
    K: Any,
    *,
    tol: float = 1e-3,
    max_iter: int = 1_000_000,
    check: bool = True,
    progress: Callable[[float], None] | None = None,
) -> EnclosingBall:
    """Return the smallest ball around the feature vectors φ(x_i), ⟨φ(x_i), φ(x_j)⟩ = K_ij.

    Its squared radius is R² = min_c max_i ‖φ(x_i) − c‖² over all centres c.  The dual problem is

        R² = max Σ β_i K_ii − β'Kβ   over β ≥ 0, Σ β_i = 1,   with the centre c = Σ β_i φ(x_i).

    Every β therefore bounds R² from below, and its centre bounds R² from above.

    Parameters
    ----------
    K : array-like of shape (m, m)
        A Gram matrix: symmetric and positive semidefinite.
    tol : float
        The relative gap between the bounds of R² at which to stop, 0 < tol ≤ 1.
    max_iter : int
        The largest number of steps, each of which changes two coefficients.
    check : bool
        Whether to test that K is symmetric and positive semidefinite.  Without the test, any other
        matrix gives a meaningless result.
    progress : callable, optional
        Called with the share of the work that is done.

    Returns
    -------
    EnclosingBall
        With ``squared_radius``, ``radius``, ``coefficients`` β, and the bounds of R².

    Raises
    ------
    DataError
        If K is not a Gram matrix.
    MagnitudeError
        If the diagonal of K is so large or small that its squares leave the range of float64.
    ParameterError
        If ``tol`` or ``max_iter`` is out of range.

    Warns
    -----
    ConvergenceWarning
        If the gap is above ``tol`` after ``max_iter`` steps, or when rounding stops progress.

    Notes
    -----
    A step costs O(m), and about m steps are typical.  The test of K is one pass over it, and a
    Cholesky decomposition (up to 2,000 rows) or 24 products with K.

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
    """Return R, the radius of the smallest ball that contains all feature vectors.

    Returns
    -------
    float
        The radius, with a relative error of at most half of ``tol``.

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
    """Return the distance 2/‖w‖ between two classes in feature space, and the margin 1/‖w‖.

    *Hard margin* (C None or infinite): the distance of the convex hulls of the classes,

        min ‖Σ a_i φ(x_i) − Σ b_j φ(x_j)‖   over a, b ≥ 0 of sum 1,

    with i over one class and j over the other.  It equals 2/‖w‖ of the hard-margin support vector
    machine, or 0 if the hulls meet.  1/‖w‖ is the distance of the nearest points from the
    hyperplane in the middle.

    *Soft margin*: w is the minimiser of a support vector machine with f(x) = ⟨w, φ(x)⟩ + b.

    * ``loss="hinge"``: ½‖w‖² + C Σ max(0, 1 − y_i f(x_i)), which scikit-learn's ``SVC`` minimises.
    * ``loss="squared_hinge"``: ½‖w‖² + C/2 Σ max(0, 1 − y_i f(x_i))².  This is the hard margin of
      K + I/C, whose distance is returned: 2/√(‖w‖² + C Σ max(0, 1 − y_i f(x_i))²).

    Parameters
    ----------
    y : array-like of shape (m,)
        Labels of two classes.
    C : float, optional
        The penalty parameter; None for the hard margin.
    loss : {"hinge", "squared_hinge"}
        The loss of the soft margin; it has no effect without C.
    tol : float
        The relative gap between the bounds of the distance at which to stop.

    Returns
    -------
    Margin
        With ``distance``, ``margin``, ``coefficients``, and the bounds of the distance.

    Raises
    ------
    DataError
        If K is not a Gram matrix, or y does not hold one label of two classes for each row.
    MagnitudeError
        If the diagonal of K is so large or small that its squares leave the range of float64.
    ParameterError
        If C, ``loss``, ``tol`` or ``max_iter`` is out of range.

    Warns
    -----
    ConvergenceWarning
        If the gap is above ``tol`` after ``max_iter`` steps, or when rounding stops progress.

    Notes
    -----
    Hulls nearer than 1e-5 of the largest distance of a point from the mean count as meeting:
    ``distance`` is 0, and ``upper_bound`` is the distance that is proven.  With hinge loss, a small
    C draws w towards 0: compare kernels at one C only.  The distance is infinite if w = 0.

    A step costs O(m).  About m steps are typical, and many more if the classes nearly touch.

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
        if penalty * float(gram.diagonal().max()) > MAX_INPUT:
            raise ParameterError(
                f"C={C!r} is too large for float64, given the entries of K. Pass a smaller C, or "
                "C=None for the hard margin."
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
    """Return R² / distance²: squared radius of the data over squared distance of the classes.

    R is the radius of the smallest ball around all feature vectors (:func:`enclosing_ball`).  The
    distance of the convex hulls of the classes is 2/‖w‖ (:func:`margin`); with the margin 1/‖w‖
    instead, the ratio would be 4 times as large.  The leave-one-out error of a hard-margin support
    vector machine is at most a constant times this ratio over m, so smaller ratios are better.

    Parameters
    ----------
    y : array-like of shape (m,)
        Labels.  For more than two classes, the result is the mean of the ratios of each class
        against the rest.
    C : float, optional
        The penalty of a soft margin: radius and distance are those of K + I/C, the support vector
        machine with squared hinge loss, for which the bound is proven.  Without C, the ratio is
        infinite if the hulls of the classes meet.
    normalize : bool
        Whether to divide K_ij by √(K_ii K_jj) first, so that the measure does not depend on the
        lengths of the feature vectors; a vector of length 0 stays 0.
    tol : float
        The relative gap of R² and of the distances; the relative error of the ratio is about 3 tol.

    Returns
    -------
    float
        At least 1/4 for two classes, and ``inf`` if their hulls meet.

    Raises
    ------
    DataError
        If K is not a Gram matrix, y does not hold one label for each row, there is only one class,
        or all feature vectors are equal, so that the ratio without C would be 0/0.
    MagnitudeError, ParameterError
        If the diagonal of K, C, ``tol`` or ``max_iter`` is out of range.

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
    """Return the smallest ball and the ratio of :func:`radius_margin_ratio`."""
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
            "all feature vectors are equal (the radius is 0), so the ratio of radius and margin is "
            "not defined. Use a kernel that distinguishes some rows, or a soft margin, C=1."
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
    """Return the penalty of a soft margin as a float, infinite for None (the hard margin)."""
    if C is None or math.inf == C:
        return math.inf
    check_number(
        "C", C, 1 / MAX_INPUT, expected="a positive number", otherwise="None for the hard margin"
    )
    return float(C)


def _solvable(K: Any, check: bool, tol: Any, max_iter: Any, normalize: bool = False) -> FloatArray:
    """Return the checked matrix if products of its entries neither overflow nor underflow."""
    check_number("tol", tol, 0, 1, above=True)
    check_integer("max_iter", max_iter)
    gram = read_semidefinite(K, check, normalize=normalize)
    largest = float(gram.diagonal().max())
    if largest and not MIN_DIAGONAL <= largest <= MAX_INPUT:
        raise MagnitudeError(
            f"the largest K[i, i] is {largest:.3g}, whose square is outside the safe range of "
            f"float64; expected {MIN_DIAGONAL:g} to {MAX_INPUT:g}. Divide K by a number (radius "
            "and distance scale with its root), or normalise the kernel: kernel.normalized()."
        )
    return gram


@parameters_from(enclosing_ball)
def alignment(K: Any, target: Any, *, centered: bool = False, check: bool = True) -> float:
    """Return ⟨K, L⟩ / (‖K‖ ‖L‖), the cosine of two Gram matrices, or of one and labels.

    Product and norms are Frobenius.  Labels of two classes give L = yy' with y = ±1.  More classes
    give L_ij = 1 if i and j are of one class, and 0 otherwise.  Centred, K and L are replaced by
    HKH and HLH with H = I − 11'/m, the Gram matrices of the feature vectors minus their mean.

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
        If a matrix is not a Gram matrix, shapes differ, there is only one class, or a matrix is
        zero (centred: all feature vectors are equal).

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
    """Return trace(K) / ‖K‖_F, the 1-norm of the eigenvalues over their 2-norm.

    The ratio is 1 if K has rank one, and √m if K is a multiple of the identity: it grows with the
    number of directions of feature space over which the data spread.  Normalised it is
    (ratio − 1) / (√m − 1), from 0 for the least expressive kernels to 1 for the most.

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
        If K is not a Gram matrix, or is zero; if normalised, also if it has a single row.

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
    except ValueError:  # lists of different lengths, which the reader of labels refuses
        return True


def _unit(gram: FloatArray, name: str, centered: bool) -> FloatArray:
    """Return K / ‖K‖_F, after subtraction of the mean if centred."""
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
            "has no direction to measure. Use a kernel that distinguishes some rows."
        )
    gram /= np.linalg.norm(gram)
    return gram
