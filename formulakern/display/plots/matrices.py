"""Pictures of matrices: Gram matrices, their principal components, weights of a set function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.checks import check_integer
from formulakern.display.plots.style import (
    DIVERGING,
    SEQUENTIAL,
    SMALL,
    axes_for,
    colour_of,
    colour_scale,
    escaped,
    fitted,
    ink_on,
    marker_of,
    picture,
    tidy,
)
from formulakern.errors import DataError, ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_importance", "gram", "kernel_pca"]

#: Classes whose names are written beside a matrix; columns of a matrix with written numbers.
MAX_NAMED_CLASSES, MAX_WRITTEN_COLUMNS = 12, 12
#: Targets with more different numbers than this are not classes.
MAX_CLASSES = 20


@picture
def gram(kernel: Any, X: Any = None, y: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw the Gram matrix of a kernel as a heat map, rows and columns ordered by class.

    Drawn is K_ij = k(x_i, x_j), rows of one class side by side, in the order in which they came;
    or rows by their number, where y is that.  A kernel that suits the classes has light blocks on
    the diagonal.

    Parameters
    ----------
    kernel : Kernel, fitted estimator, callable or ndarray of shape (n_rows, n_rows)
        What X is given to: ``fk.kernel("a & b")``; an estimator with a method ``gram``, such as
        ``FormulaSVC``, which encodes tables; a function with k(X) an array; or the matrix itself.
    X : table of shape (n_rows, n_columns), optional
        Not where the matrix itself is given.
    y : array-like of shape (n_rows,), optional
        Classes, or numbers (fractions, or more than twenty different ones).
    {shared}
    ParameterError
        If the kernel is something else, or X is missing.
    DataError
        If the matrix is not square and finite, or there is not a class for every row.

    Notes
    -----
    O(n_rows²) numbers: of large tables, draw a sample.

    Examples
    --------
    >>> import formulakern as fk
    >>> X = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 1]])
    >>> ax = fk.plot.gram(fk.kernel("a & b"), X, ["no", "yes", "no"])
    >>> ax.images[0].get_array().tolist()
    [[4.0, 4.0, 1.0], [4.0, 9.0, 4.0], [1.0, 4.0, 4.0]]
    """
    K = _matrix_of(kernel, X)
    n, targets = len(K), _targets_of(y, len(K))
    names, places = _classes_of(targets, n)
    order = np.argsort(places, kind="stable")
    negative, largest = bool((K < 0).any()), float(np.abs(K).max()) or 1.0
    ax = axes_for(ax, 5.4, 4.4)
    image = ax.imshow(
        K[np.ix_(order, order)],
        cmap=DIVERGING if negative else SEQUENTIAL,
        vmin=-largest if negative else 0.0,
        vmax=largest,
        interpolation="nearest" if n <= 400 else "antialiased",
    )
    ends = np.cumsum(np.bincount(places.astype(np.intp), minlength=len(names)) if names else [])
    for end in ends[:-1]:
        for line in (ax.axhline, ax.axvline):
            line(end - 0.5, color="black" if negative else "white", linewidth=0.9)
    ax.set_xticks([])
    ax.set_yticks([])
    if 0 < len(names) <= MAX_NAMED_CLASSES:
        middles, texts = (np.append(0, ends[:-1]) + ends - 1) / 2, list(map(escaped, names))
        turned = 90 if sum(map(len, texts)) > 40 else 0
        ax.set_xticks(middles, texts, fontsize=SMALL, rotation=turned)
        ax.set_yticks(middles, texts, fontsize=SMALL, rotation=90, va="center")
    by = "" if targets is None else ", by class" if names else ", by target"
    ax.set_xlabel(f"{n:,} rows{by}")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    colour_scale(image, "kernel value")
    return ax


@picture
def kernel_pca(
    kernel: Any,
    X: Any = None,
    y: Any = None,
    *,
    components: tuple[int, int] = (0, 1),
    ax: Axes | None = None,
) -> Axes:
    """Draw rows in the plane of two kernel principal components, coloured by class.

    Let K̃ = (I − 11ᵀ/n) K (I − 11ᵀ/n) be the matrix of the centred features, with eigenvalues
    λ₁ ≥ λ₂ ≥ … and orthonormal eigenvectors u_c.  Row i stands at √λ_c · u_ci, its place along
    component c, which has the share λ_c / tr K̃ of the variance.  The sign of a component is chosen
    so that its largest coordinate is positive.

    Parameters
    ----------
    kernel : Kernel, fitted estimator, callable or ndarray of shape (n_rows, n_rows)
        As in :func:`gram`.
    X : table of shape (n_rows, n_columns), optional
        Not where the matrix itself is given.
    y : array-like of shape (n_rows,), optional
        Classes, or numbers (fractions, or more than twenty different ones).
    components : tuple of two int
        Which components, from 0.
    {shared}
    ParameterError
        If the kernel is something else, X is missing, or there is no such component.
    DataError
        If the matrix is not square and finite, or there is not a class for every row.

    Notes
    -----
    O(n_rows³) for the eigenvectors, by LAPACK: of large tables, draw a sample.

    References
    ----------
    Schölkopf, Smola & Müller (1998), Nonlinear component analysis as a kernel eigenvalue problem,
    Neural Computation 10.  doi:10.1162/089976698300017467

    Examples
    --------
    >>> import formulakern as fk
    >>> X = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    >>> ax = fk.plot.kernel_pca(fk.kernel("a"), X, [0, 0, 1, 1])
    >>> ax.get_ylabel()
    'component 2: 50 % of the variance'
    """
    K = _matrix_of(kernel, X)
    targets = _targets_of(y, len(K))
    try:
        first, second = components
    except (TypeError, ValueError):
        raise ParameterError(
            f"components={components!r}; expected two integers, such as (0, 1)."
        ) from None
    for number in (first, second):
        check_integer("components", number, 0)
    if max(first, second) >= len(K):
        raise ParameterError(
            f"components={components!r} of {len(K)} rows; there are no more than rows."
        )
    points, shares = _principal_components(K, [int(first), int(second)])
    x, z = points.T
    names, places = _classes_of(targets, len(K))
    ax = axes_for(ax, 5.6, 4.4)
    style: dict[str, Any] = {"alpha": 0.7, "linewidths": 0}
    style["s"] = float(np.clip(3000 / len(x), 7, 36))
    if targets is None:
        ax.scatter(x, z, color=colour_of(0), **style)
    elif not names:
        colour_scale(ax.scatter(x, z, c=places, cmap=SEQUENTIAL, **style), "target")
    else:
        for k, name in enumerate(names):
            of, style["color"], style["marker"] = places == k, colour_of(k), marker_of(k)
            ax.scatter(x[of], z[of], label=escaped(name), **style)
        legend: Any = ax.legend(frameon=False, fontsize=SMALL, ncols=1 + len(names) // 12)
        for handle in legend.legend_handles:
            handle.set_alpha(1.0)
            handle.set_sizes([30.0])
    labels = [
        f"component {number + 1}: {100 * share:.0f} % of the variance"
        for number, share in zip(components, shares, strict=True)
    ]
    ax.set(xlabel=labels[0], ylabel=labels[1])
    return tidy(ax)


def draw_importance(
    shapley: FloatArray, interactions: FloatArray, names: Sequence[str], ax: Axes | None
) -> Axes:
    """Draw Shapley values on the diagonal of a matrix, and interaction indices next to it."""
    n = len(shapley)
    size = min(12.0, 2.5 + 0.55 * n)
    ax = axes_for(ax, size + 1.0, size)
    values = interactions.copy()
    np.fill_diagonal(values, shapley)
    largest = float(np.abs(values).max()) or 1.0
    image = ax.imshow(values, cmap=DIVERGING, vmin=-largest, vmax=largest)
    ax.set_xticks(range(n), map(escaped, names), rotation=90)
    ax.set_yticks(range(n), map(escaped, names))
    for i, j in np.ndindex(n, n) if n <= MAX_WRITTEN_COLUMNS else ():
        style: dict[str, Any] = {"weight": "bold" if i == j else "normal", "fontsize": "small"}
        style["color"] = ink_on(image.to_rgba(values[i, j]))
        ax.text(j, i, f"{values[i, j]:.2g}", ha="center", va="center", **style)
    ax.set_title("Shapley values (diagonal) and interactions")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    colour_scale(image, "Shapley value, interaction")
    return ax


def _matrix_of(kernel: Any, X: Any) -> FloatArray:
    """Return the Gram matrix of X, or the given matrix."""
    expected = "a kernel, a fitted estimator with a kernel, or a square array"
    if X is None:
        if callable(kernel) or hasattr(kernel, "fit"):
            raise ParameterError("a kernel needs rows: pass X. Only a matrix is drawn without X.")
        matrix = kernel
    elif hasattr(kernel, "fit"):
        model = getattr(kernel, "best_estimator_", kernel)
        own = fitted(model, "kernel_", expected)
        if hasattr(model, "gram"):
            matrix = model.gram(X)
        elif own.reads != "tables":
            matrix = own(X)
        else:
            raise ParameterError(
                f"{type(model).__name__} encodes tables in its own way. Pass model.kernel_ with "
                "the encoded rows."
            )
    elif callable(kernel):
        matrix = kernel(X)
    else:
        raise ParameterError(f"this is {type(kernel).__name__}; expected {expected}.")
    try:
        found = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"this is {type(kernel).__name__}; expected {expected}.") from None
    if found.ndim != 2 or found.shape[0] != found.shape[1] or not found.size:
        raise DataError(f"the matrix has shape {found.shape}; expected (n_rows, n_rows).")
    if not np.isfinite(found).all():
        raise DataError("the matrix holds values that are not finite, which cannot be drawn.")
    return found


def _targets_of(y: Any, n: int) -> NDArray[Any] | None:
    """Return one class or number for each row."""
    if y is None:
        return None
    targets = np.asarray(y)
    if targets.shape != (n,):
        raise DataError(f"y has shape {targets.shape}; expected ({n},), one entry for each row.")
    return targets


def _classes_of(y: NDArray[Any] | None, n: int) -> tuple[list[Any], NDArray[Any]]:
    """Return the classes in order and the number of each row's class; numbers as they are.

    Numbers are fractions, or more than ``MAX_CLASSES`` different ones; they have no classes.

    >>> _classes_of(np.array(["b", "a", "b"]), 3)
    (['a', 'b'], array([1, 0, 1]))
    >>> _classes_of(np.array([1.5, 2.0]), 2), _classes_of(None, 1)
    (([], array([1.5, 2. ])), ([], array([0.])))
    """
    if y is None:
        return [], np.zeros(n)
    whole = y.dtype.kind != "f" or bool(np.all(y == np.round(y)))
    if y.dtype.kind in "iuf" and (not whole or len(np.unique(y)) > MAX_CLASSES):
        return [], y
    try:
        names, places = np.unique(y, return_inverse=True)
    except TypeError:
        names, places = np.unique([str(value) for value in y], return_inverse=True)
    return names.tolist(), places


def _principal_components(
    matrix: FloatArray, components: list[int]
) -> tuple[FloatArray, tuple[float, float]]:
    """Return coordinates of rows along kernel principal components, and shares of the variance.

    >>> points, shares = _principal_components(np.diag([1.0, 1.0, 4.0]), [0, 1])
    >>> points.round(3), np.round(shares, 3).tolist()
    (array([[-0.707,  0.707],
           [-0.707, -0.707],
           [ 1.414,  0.   ]]), [0.75, 0.25])
    """
    from scipy.linalg import eigh

    n, mean = len(matrix), matrix.mean(axis=0)
    centred = matrix - mean - mean[:, None] + mean.mean()
    values, vectors = eigh(centred, subset_by_index=[n - 1 - max(components), n - 1])
    variance = float(np.trace(centred)) or 1.0
    values, vectors = values[::-1][components], vectors[:, ::-1][:, components]
    values = np.maximum(values, 0.0)
    largest = np.abs(vectors.round(9)).argmax(axis=0)
    vectors = vectors * np.sign(vectors[largest, np.arange(2)])
    first, second = (values / variance).tolist()
    return vectors * np.sqrt(values), (first, second)
