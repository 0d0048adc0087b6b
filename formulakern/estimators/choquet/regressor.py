"""Support vector regression with the Choquet kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.model_selection import KFold, check_cv
from sklearn.utils.validation import check_is_fitted

from formulakern.arrays import FloatArray
from formulakern.checks import check_number, is_integer
from formulakern.estimators.base import number_score
from formulakern.estimators.choquet.base import ChoquetEstimator
from formulakern.estimators.choquet.monotone import Losses
from formulakern.estimators.targets import Split, read_numbers, refused, require_target
from formulakern.learning.kernel_machines import KernelRows, MachineProblem, regression
from formulakern.partitions.lazy_rows import lazily

__all__ = ["ChoquetRegressor"]


@dataclass(eq=False, repr=False)
class ChoquetRegressor(RegressorMixin, ChoquetEstimator):  # type: ignore[misc]
    """Support vector regression by a Choquet integral of the attributes.

    The prediction is f(x) = Σ m(T)·min_T x + b over non-empty sets T of at most k columns of
    degrees x_i in [0, 1], as in :class:`ChoquetSVC`; errors up to ``epsilon`` are free.

    Parameters
    ----------
    C : "auto", float, "cv" or sequence of float, default="auto"
        Penalty parameter of errors; ``"auto"`` is 10, and ``"cv"`` chooses of 10⁻², …, 10⁴ times
        the standard deviation of y.
    additivity, directions, scaling, cv, enforce_monotone, tol, max_iter, random_state, verbose
        As in :class:`ChoquetSVC`; directions are learnt by the rank correlation with y, folds are
        not stratified, and cross-validation maximises R².
    epsilon : float, default=0.1
        Errors up to this are free, in the unit of y.

    Attributes
    ----------
    directions_, C_, additivity_, cv_results_, kernel_, support_, intercept_, gap_, n_iter_
        As in :class:`ChoquetSVC`.
    monotonicity_degree_, monotonicity_degree_error_, shapley_values_, interaction_indices_
        As in :class:`ChoquetSVC`, of the one set function.
    dual_coef_ : ndarray of shape (1, n_support)
        Not with ``enforce_monotone``.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Tehrani, Strickert & Hüllermeier (2014), The Choquet kernel for monotone data, ESANN 2014,
    337–342.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((100, 3))
    >>> y = 10 * np.minimum(X[:, 0], X[:, 1])
    >>> model = ChoquetRegressor(C=100, additivity=2).fit(X, y)
    >>> bool(model.score(X, y) > 0.99)
    True
    >>> float(round(model.measure([0, 1]) - model.measure([0]) - model.measure([1]), 1))
    9.4
    """

    C: float | str | Sequence[float] = "auto"
    _: KW_ONLY
    epsilon: float = 0.1
    _automatic_C: ClassVar[float] = 10.0

    score = number_score

    def fit(self, X: Any, y: npt.ArrayLike) -> Self:
        """Learn directions and scaling, choose C and additivity if asked, train.

        Parameters
        ----------
        X : table of shape (n_rows, n)
            Of finite numbers: an array, a frame, a :class:`formulakern.Table`.
        y : array-like of shape (n_rows,)

        Returns
        -------
        ChoquetRegressor
            Itself.

        Raises
        ------
        DataError
            If the table or y cannot be read.
        ParameterError
            If a parameter is wrong.

        Warns
        -----
        ConvergenceWarning
            If ``enforce_monotone`` leaves a duality gap above ``tol``.
        """
        require_target(self, y, "a number for every row")
        check_number("epsilon", self.epsilon, 0)
        self._check_parameters()
        values = self._read(X, reset=True)
        target = read_numbers(y, len(values))
        unit = float(target.std()) or 1.0
        self._fit(values, target, target, np.ones(len(target)), unit, "r2")
        return self

    def _splits(self, targets: npt.NDArray[Any]) -> list[Split]:
        folds = self._n_folds
        if is_integer(folds):
            folds = KFold(int(folds), shuffle=True, random_state=self._seed)
        with refused("Pass a smaller cv, or more rows."):
            return list(check_cv(folds).split(targets))

    def _problem(self, rows: KernelRows, targets: npt.NDArray[Any], boxes: FloatArray) -> Any:
        if not self.enforce_monotone:
            problem = regression(targets, boxes, float(self.epsilon))
            return MachineProblem.of(problem, rows, self._memory)
        n = len(targets)
        every, signs = np.tile(np.arange(n), 2), np.repeat([1.0, -1.0], n)
        losses = Losses(every, signs, signs * targets[every] - self.epsilon, boxes[every])
        return self._monotone(rows.kernel, [(rows.rows.values, losses)])

    def _take_over(self, solved: Any, solution: Any, rows: Any) -> None:
        if self.enforce_monotone:
            self.dual_coef_ = np.empty((1, 0))
            self._take_over_monotone(solved[1])
            return
        super()._take_over(solved, solution, rows)
        self._functions = self._row_functions(self.dual_coef_)

    @lazily
    def predict(self, X: Any) -> FloatArray:
        """Return f(x) of every row.

        Parameters
        ----------
        X : table of shape (n_rows, n)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self, "scaling_")
        rows = self._read_table(X)
        return np.asarray(self._values(rows, self.dual_coef_)[:, 0] + self.intercept_)
