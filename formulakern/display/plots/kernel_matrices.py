"""Gram matrices: as a heat map ordered by class, and as points of kernel principal components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.checks import check_integer
from formulakern.display.plots.base import Display, class_names, fitted, takes_numbers
from formulakern.display.plots.style import (
    DIVERGING,
    SEQUENTIAL,
    SMALL,
    axes_for,
    colour_of,
    colour_scale,
    escaped,
    marker_of,
    tidy,
)
from formulakern.errors import DataError, ParameterError

__all__ = ["GramDisplay", "KernelPCADisplay", "gram", "kernel_pca"]

#: Classes whose names are written beside a matrix.
NAMED = 12


@dataclass(eq=False, repr=False)
class GramDisplay(Display):
    """A Gram matrix as a heat map, rows and columns ordered by class.

    Parameters
    ----------
    matrix : ndarray of shape (n, n), float64
        The values of the kernel.
    y : ndarray of shape (n,), optional
        Classes, or numbers, which are ordered too.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn last.
    order_ : ndarray of shape (n,), int64
        Which row of the matrix stands where.
    image_ : AxesImage

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> shown = GramDisplay(np.eye(3), np.array(["b", "a", "b"])).plot()
    >>> shown.order_.tolist(), [tick.get_text() for tick in shown.ax_.get_xticklabels()]
    ([1, 0, 2], ['a', 'b'])
    >>> matplotlib.pyplot.close(shown.figure_)
    """

    matrix: FloatArray
    y: NDArray[Any] | None = None

    @classmethod
    def from_estimator(cls, kernel: Any, X: Any = None, y: Any = None, *, ax: Any = None) -> Self:
        """Draw the matrix of a kernel or of a fitted estimator; see :func:`gram`."""
        matrix = matrix_of(kernel, X)
        return cls(matrix, targets_of(y, len(matrix))).plot(ax)

    def _draw(self, ax: Any) -> Any:
        K, y = np.asarray(self.matrix), self.y
        ax = axes_for(ax, 5.4, 4.4)
        n, negative = len(K), bool((K < 0).any())
        numbers = y is not None and takes_numbers(y)
        names, places = ([], np.zeros(n)) if y is None else ([], y) if numbers else class_names(y)
        self.order_ = np.argsort(places, kind="stable")
        most = float(np.abs(K).max()) or 1.0
        self.image_ = ax.imshow(
            K[np.ix_(self.order_, self.order_)],
            cmap=DIVERGING if negative else SEQUENTIAL,
            vmin=-most if negative else 0.0,
            vmax=most,
            interpolation="nearest" if n <= 400 else "antialiased",
        )
        ends = np.cumsum(np.bincount(places.astype(np.intp), minlength=len(names)) if names else [])
        for end in ends[:-1]:
            for line in (ax.axhline, ax.axvline):
                line(end - 0.5, color="black" if negative else "white", linewidth=0.9)
        if names and len(names) <= NAMED:
            starts = np.concatenate([[0], ends[:-1]])
            middles, texts = (starts + ends - 1) / 2, [escaped(name) for name in names]
            turned = sum(map(len, texts)) > 40
            ax.set_xticks(middles, texts, fontsize=SMALL, rotation=90 if turned else 0)
            ax.set_yticks(middles, texts, fontsize=SMALL, rotation=90, va="center")
        else:
            ax.set_xticks([])
            ax.set_yticks([])
        by = "" if y is None else ", by target" if numbers else ", by class"
        ax.set_xlabel(f"{n:,} rows{by}")
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        colour_scale(self.image_, "kernel value")
        return ax


def gram(kernel: Any, X: Any = None, y: Any = None, *, ax: Any = None) -> Any:
    """The Gram matrix of a kernel as a heat map, rows and columns ordered by class.

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
    ax : matplotlib.axes.Axes, optional
        A new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    NotFittedError
        If an estimator was not fitted.
    ParameterError
        If the kernel is something else, or X is missing.
    DataError
        If the matrix is not square and finite, or there is not a class for every row.
    MissingDependencyError
        If matplotlib is not installed.

    Notes
    -----
    O(n_rows²) numbers: of large tables, draw a sample.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import formulakern as fk
    >>> X = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 1]])
    >>> ax = fk.plot.gram(fk.kernel("a & b"), X, ["no", "yes", "no"])
    >>> ax.images[0].get_array().tolist()
    [[4.0, 4.0, 1.0], [4.0, 9.0, 4.0], [1.0, 4.0, 4.0]]
    >>> matplotlib.pyplot.close(ax.figure)
    """
    return GramDisplay.from_estimator(kernel, X, y, ax=ax).ax_


@dataclass(eq=False, repr=False)
class KernelPCADisplay(Display):
    """Rows as points of two kernel principal components.

    Parameters
    ----------
    points : ndarray of shape (n, 2), float64
        The rows on the two components.
    shares : tuple of 2 float
        Shares of the variance along the components.
    y : ndarray of shape (n,), optional
        Classes, or numbers.
    components : tuple of 2 int
        Which components these are, from 0.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn last.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> shown = KernelPCADisplay(np.array([[1.0, 0.0], [-1.0, 0.0]]), (0.7, 0.1)).plot()
    >>> shown.ax_.get_xlabel()
    'component 1: 70 % of the variance'
    >>> matplotlib.pyplot.close(shown.figure_)
    """

    points: FloatArray
    shares: tuple[float, float]
    y: NDArray[Any] | None = None
    components: tuple[int, int] = (0, 1)

    @classmethod
    def from_estimator(
        cls,
        kernel: Any,
        X: Any = None,
        y: Any = None,
        *,
        components: tuple[int, int] = (0, 1),
        ax: Any = None,
    ) -> Self:
        """Draw the components of a kernel or a fitted estimator; see :func:`kernel_pca`."""
        matrix = matrix_of(kernel, X)
        targets = targets_of(y, len(matrix))
        try:
            first, second = components
        except (TypeError, ValueError):
            raise ParameterError(
                f"components={components!r}; expected two integers, such as (0, 1)."
            ) from None
        for place in (first, second):
            check_integer("components", place, 0)
        if max(first, second) >= len(matrix):
            raise ParameterError(
                f"components={components!r} of {len(matrix)} rows; there are no more than rows."
            )
        points, shares = principal_components(matrix, [int(first), int(second)])
        return cls(points, shares, targets, (int(first), int(second))).plot(ax)

    def _draw(self, ax: Any) -> Any:
        ax = axes_for(ax, 5.6, 4.4)
        (x, z), y = np.asarray(self.points).T, self.y
        area = float(np.clip(3000 / len(x), 7, 36))
        style: dict[str, Any] = {"s": area, "alpha": 0.7, "linewidths": 0}
        if y is None:
            ax.scatter(x, z, color=colour_of(0), **style)
        elif takes_numbers(y):
            colour_scale(ax.scatter(x, z, c=y, cmap=SEQUENTIAL, **style), "target")
        else:
            names, places = class_names(y)
            for k, name in enumerate(names):
                of, look = places == k, {"color": colour_of(k), "marker": marker_of(k)}
                ax.scatter(x[of], z[of], label=escaped(name), **look, **style)
            legend = ax.legend(frameon=False, fontsize=SMALL, ncols=1 + len(names) // 12)
            for handle in legend.legend_handles:
                handle.set_alpha(1.0)
                handle.set_sizes([30.0])
        for share, place, label in zip(
            self.shares, self.components, (ax.set_xlabel, ax.set_ylabel), strict=True
        ):
            label(f"component {place + 1}: {100 * share:.0f} % of the variance")
        tidy(ax)
        return ax


def kernel_pca(
    kernel: Any,
    X: Any = None,
    y: Any = None,
    *,
    components: tuple[int, int] = (0, 1),
    ax: Any = None,
) -> Any:
    """Rows of a table in the plane of two kernel principal components, coloured by class.

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
    ax : matplotlib.axes.Axes, optional
        A new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    NotFittedError
        If an estimator was not fitted.
    ParameterError
        If the kernel is something else, X is missing, or there is no such component.
    DataError
        If the matrix is not square and finite, or there is not a class for every row.
    MissingDependencyError
        If matplotlib is not installed.

    Notes
    -----
    O(n_rows³) for the eigenvectors, by LAPACK: of large tables, draw a sample.

    References
    ----------
    Schölkopf, Smola & Müller (1998), Nonlinear component analysis as a kernel eigenvalue problem,
    Neural Computation 10.  doi:10.1162/089976698300017467

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import formulakern as fk
    >>> X = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    >>> ax = fk.plot.kernel_pca(fk.kernel("a"), X, [0, 0, 1, 1])
    >>> ax.get_ylabel()
    'component 2: 50 % of the variance'
    >>> matplotlib.pyplot.close(ax.figure)
    """
    return KernelPCADisplay.from_estimator(kernel, X, y, components=components, ax=ax).ax_


def matrix_of(kernel: Any, X: Any) -> FloatArray:
    """The Gram matrix of X, or the matrix that is given itself."""
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


def targets_of(y: Any, n: int) -> NDArray[Any] | None:
    """One class or number for each row."""
    if y is None:
        return None
    targets = np.asarray(y)
    if targets.shape != (n,):
        raise DataError(f"y has shape {targets.shape}; expected ({n},), one entry for each row.")
    return targets


def principal_components(
    matrix: FloatArray, components: list[int]
) -> tuple[FloatArray, tuple[float, float]]:
    """Places of rows along kernel principal components, and their shares of the variance.

    >>> points, shares = principal_components(np.diag([1.0, 1.0, 4.0]), [0, 1])
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
