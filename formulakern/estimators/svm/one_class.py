"""Novelty detection with the kernel of a formula."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from formulakern.arrays import FloatArray
from formulakern.checks import check_number
from formulakern.deadline import Deadline, check_time_limit
from formulakern.estimators.svm.base import KernelEstimator
from formulakern.estimators.targets import row_weights
from formulakern.learning.kernel_machines.box_problem import novelty
from formulakern.partitions.lazy_rows import lazily

__all__ = ["FormulaOneClass"]


@dataclass(eq=False, repr=False)
class FormulaOneClass(OutlierMixin, KernelEstimator):  # type: ignore[misc]
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
        From 0 to 1, adding up to ν·n_rows where rows weigh the same.
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
            As :class:`FormulaSVC`.
        """
        self._check_rows()
        check_time_limit(self.time_limit)
        with self._showing():
            deadline = Deadline.of(self.time_limit)
            table = self._fit_table(X, None)
            check_number("nu", self.nu, 0, 1, above=True)
            weights = row_weights(np.zeros(table.shape[0]), None, sample_weight)
            self.kernel_ = self._make_kernel(X)
            inside = float(self.nu) * float(weights.sum())
            self._train(novelty(weights, inside), table, deadline)
            self._warn_of_traps(table)
            return self

    @property
    def offset_(self) -> float:
        """ρ."""
        return -float(self.intercept_[0])

    @lazily
    def score_samples(self, X: Any) -> FloatArray:
        """f(x): large where a row has what the rows of training have.

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
        """f(x) − ρ: negative for what is new.

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
        """1 for rows like those of training, −1 for others.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,), intp
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)
