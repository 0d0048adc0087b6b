"""Support vector regression and novelty detection with the kernel of a formula."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import OutlierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from formulakern.arrays import FloatArray
from formulakern.checks import check_number
from formulakern.deadline import Deadline, check_time_limit
from formulakern.estimators.base import number_score
from formulakern.estimators.svm.base import FormulaMachine, number_C
from formulakern.estimators.svm.classifier import AUTOMATIC_C
from formulakern.estimators.targets import read_numbers, require_target, row_weights
from formulakern.learning.kernel_machines import KernelRows, MachineProblem, novelty, regression
from formulakern.partitions.lazy_rows import lazily

__all__ = ["FormulaOneClass", "FormulaSVR"]


@dataclass(eq=False, repr=False)
class FormulaSVR(RegressorMixin, FormulaMachine):  # type: ignore[misc]
    """Support vector regression with the kernel of a formula.

    Over the functions f of the formula's features and an intercept b, ::

        minimise  ½‖f‖² + Σ_i C_i·max(0, |y_i − f(x_i) − b| − ε),

    so that errors up to ε are free.  The dual problem needs only K (see
    :func:`formulakern.kernel`).

    Parameters
    ----------
    formula, variables, normalize, encoder, domains, inputs
        As in :class:`FormulaSVC`.
    C : "auto" or float, default="auto"
        Weight of the errors; ``"auto"`` is 10.
    epsilon : float, default=0.1
        ε, in units of y.
    tol, max_iter, time_limit, cache_size, verbose
        As in :class:`FormulaSVC`.

    Attributes
    ----------
    kernel_, encoder_, propositions_, n_features_in_, feature_names_in_, gap_, stopped_
        As in :class:`FormulaSVC`.
    support_ : ndarray of shape (n_support,), intp
        Rows with coefficients other than 0.
    dual_coef_ : ndarray of shape (1, n_support)
    intercept_ : ndarray of shape (1,)
    n_iter_ : int
        Steps with two coefficients.

    References
    ----------
    A. J. Smola, B. Schölkopf, "A tutorial on support vector regression", Statistics and Computing
    14:199–222, 2004, doi:10.1023/B:STCO.0000035301.49549.88.

    Examples
    --------
    The number of pairs of ones is a linear function of the features of ``a & b``.

    >>> X = np.random.default_rng(0).integers(0, 2, (60, 8))
    >>> y = X.sum(axis=1) ** 2
    >>> model = FormulaSVR(encoder=None, normalize=False, C=100, epsilon=0.01).fit(X[:40], y[:40])
    >>> bool(np.abs(model.predict(X[40:]) - y[40:]).max() < 0.5)
    True
    """

    C: float | Literal["auto"] = "auto"
    epsilon: float = 0.1

    score = number_score

    def fit(self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Encode the table, and solve.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        y : array-like of shape (n_rows,)
            Numbers.
        sample_weight : array-like of shape (n_rows,), optional
            Multiplies C per row.

        Returns
        -------
        FormulaSVR
            Itself.

        Raises
        ------
        DataError, FormulaSyntaxError, ParameterError
            If the table, the numbers, the formula or a parameter cannot be used.
        """
        self._check_rows()
        require_target(self, y, "the number of every row")
        check_time_limit(self.time_limit)
        with self._showing():
            deadline = Deadline.of(self.time_limit)
            table = self._fit_table(X, y)
            targets = read_numbers(y, table.shape[0])
            check_number("epsilon", self.epsilon, 0)
            weights = row_weights(np.zeros(len(targets)), None, sample_weight)
            self.kernel_ = self._make_kernel(X)
            self._train(table, targets, number_C(self.C, AUTOMATIC_C) * weights, deadline)
            self._warn_of_traps(table)
            return self

    def _problem(
        self, rows: KernelRows, targets: npt.NDArray[Any], boxes: FloatArray
    ) -> MachineProblem:
        return MachineProblem.of(
            regression(targets, boxes, float(self.epsilon)), rows, self._memory
        )

    @lazily
    def predict(self, X: Any) -> FloatArray:
        """Return f(x) + b of every row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,), float64
        """
        check_is_fitted(self, "dual_coef_")
        rows = self._read_table(X)
        return np.asarray(self._values(rows, self.dual_coef_)[:, 0] + self.intercept_)


@dataclass(eq=False, repr=False)
class FormulaOneClass(OutlierMixin, FormulaMachine):  # type: ignore[misc]
    """The one-class support vector machine with the kernel of a formula.

    Separates the rows from the origin of the formula's feature space: minimises
    ½‖f‖² + Σ_i w_i·max(0, ρ − f(x_i)) − ν·Σ_i w_i·ρ, so that at most a share ν of the rows has
    f(x) < ρ, and at least as many are support vectors.

    Parameters
    ----------
    formula, variables, normalize, encoder, domains, inputs
        As in :class:`FormulaSVC`.
    nu : float, default=0.1
        ν, above 0 and at most 1.
    tol, max_iter, time_limit, cache_size, verbose
        As in :class:`FormulaSVC`.

    Attributes
    ----------
    kernel_, encoder_, propositions_, n_features_in_, feature_names_in_, gap_, stopped_
        As in :class:`FormulaSVC`.
    support_ : ndarray of shape (n_support,), intp
    dual_coef_ : ndarray of shape (1, n_support)
        From 0 to 1, adding up to ν·n_rows if rows weigh the same.
    intercept_ : ndarray of shape (1,)
        −ρ.
    offset_ : float
        ρ.
    n_iter_ : int
        Steps with two coefficients.

    References
    ----------
    B. Schölkopf, J. Platt, J. Shawe-Taylor, A. Smola, R. Williamson, "Estimating the support of a
    high-dimensional distribution", Neural Computation 13:1443–1471, 2001,
    doi:10.1162/089976601750264965.

    Examples
    --------
    Rows with the first four of eight columns, and one with the others.

    >>> X = np.zeros((50, 8), dtype=int)
    >>> X[:, :4] = np.random.default_rng(0).random((50, 4)) < 0.8
    >>> model = FormulaOneClass(encoder=None, nu=0.05).fit(X)
    >>> model.predict([[1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1]])
    array([ 1, -1])
    """

    nu: float = 0.1

    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Encode the table, and solve.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        y : ignored
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        FormulaOneClass
            Itself.

        Raises
        ------
        DataError, FormulaSyntaxError, ParameterError
            If the table, the formula or a parameter cannot be used.
        """
        self._check_rows()
        check_time_limit(self.time_limit)
        with self._showing():
            deadline = Deadline.of(self.time_limit)
            table = self._fit_table(X, None)
            check_number("nu", self.nu, 0, 1, above=True)
            nothing = np.zeros(table.shape[0])
            weights = row_weights(nothing, None, sample_weight)
            self.kernel_ = self._make_kernel(X)
            self._train(table, nothing, weights, deadline)
            self._warn_of_traps(table)
            return self

    def _problem(
        self,
        rows: KernelRows,
        targets: npt.NDArray[Any],  # noqa: ARG002
        boxes: FloatArray,
    ) -> MachineProblem:
        inside = float(self.nu) * float(boxes.sum())
        return MachineProblem.of(novelty(boxes, inside), rows, self._memory)

    @property
    def offset_(self) -> float:
        """ρ."""
        return -float(self.intercept_[0])

    @lazily
    def score_samples(self, X: Any) -> FloatArray:
        """Return f(x), which is large if a row has what the rows of training have.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,), float64
        """
        check_is_fitted(self, "dual_coef_")
        return np.asarray(self._values(self._read_table(X), self.dual_coef_)[:, 0])

    @lazily
    def decision_function(self, X: Any) -> FloatArray:
        """Return f(x) − ρ, which is negative for what is new.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,), float64
        """
        return np.asarray(self.score_samples(X) - self.offset_)

    @lazily
    def predict(self, X: Any) -> npt.NDArray[np.intp]:
        """Return 1 for rows like those of training, −1 for others.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,), intp
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)
