"""Support vector regression with the kernel of a formula."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from formulakern.arrays import FloatArray
from formulakern.checks import check_number
from formulakern.deadline import Deadline, check_time_limit
from formulakern.estimators.base import number_score
from formulakern.estimators.svm.base import KernelEstimator, number_C
from formulakern.estimators.svm.classifier import AUTOMATIC_C
from formulakern.estimators.targets import read_numbers, require_target, row_weights
from formulakern.learning.kernel_machines.box_problem import regression
from formulakern.partitions.lazy_rows import lazily

__all__ = ["FormulaSVR"]


@dataclass(eq=False, repr=False)
class FormulaSVR(RegressorMixin, KernelEstimator):  # type: ignore[misc]
    """Support vector regression with the kernel of a formula.

    Over the functions f of the formula's features and an intercept b, ::

        minimise  ½‖f‖² + Σ_i C_i·max(0, |y_i − f(x_i) − b| − ε),

    so that errors up to ε are free.  The dual problem needs only K (see
    :func:`formulakern.kernel`), and its rows are computed when they are needed.

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
            As :class:`FormulaSVC`.
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
            boxes = number_C(self.C, AUTOMATIC_C) * weights
            self._train(regression(targets, boxes, float(self.epsilon)), table, deadline)
            self._warn_of_traps(table)
            return self

    @lazily
    def predict(self, X: Any) -> FloatArray:
        """f(x) + b.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,), float64
        """
        check_is_fitted(self, "dual_coef_")
        return np.asarray(
            self._values(self._read_table(X), self.dual_coef_)[:, 0] + self.intercept_
        )
