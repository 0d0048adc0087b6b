"""Support vector regression with the Choquet kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.model_selection import KFold, check_cv
from sklearn.svm import SVR

from formulakern.arrays import FloatArray
from formulakern.checks import check_number, is_integer
from formulakern.estimators.base import number_score
from formulakern.estimators.choquet.base import ChoquetEstimator, Problem, Solution
from formulakern.estimators.choquet.monotone import Losses, solve_monotone
from formulakern.estimators.choquet.set_function import RowFunction
from formulakern.estimators.targets import Split, read_numbers, require_target
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
    svr_ : SVR
        The solved model on the precomputed Gram matrix; not with ``enforce_monotone``.
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
    _solver: ClassVar[str] = "svr_"
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
        values = self._read(X, reset=True)
        target = read_numbers(y, len(values))
        unit = float(target.std()) or 1.0
        with self._showing() as bar:
            self._fit(values, target, target, unit, self._folds(values))
            bar.end(f"C {self.C_:.3g}, additivity {self.additivity_}")
        return self

    def _folds(self, values: FloatArray) -> Any:
        def made(seed: int) -> list[Split]:
            folds = self._n_folds
            if is_integer(folds):
                folds = KFold(int(folds), shuffle=True, random_state=seed)
            return list(check_cv(folds).split(values))

        return made

    def _solve(self, problem: Problem, target: npt.NDArray[Any], C: float) -> Solution:
        if self.enforce_monotone:
            every = np.arange(len(target))
            losses = Losses(
                np.append(every, every),
                np.repeat([1.0, -1.0], len(target)),
                np.append(target, -target) - self.epsilon,
                np.full(2 * len(target), C),
            )
            model = solve_monotone(
                problem.degrees, problem.additivity, losses, problem.squared_feature, self.tol
            )
            intercepts = np.array([model.intercept])
            return Solution(None, (model.function,), intercepts, model.gap, model.rounds)
        model = SVR(
            C=C, kernel="precomputed", epsilon=self.epsilon, tol=self.tol, max_iter=self.max_iter
        ).fit(problem.gram, target)
        weights = model.dual_coef_[0] * problem.weight
        function = RowFunction(problem.degrees[model.support_], weights, problem.additivity)
        return Solution(model, (function,), model.intercept_, 0.0, model.n_iter_)

    def _predicted(
        self, solution: Solution, degrees: FloatArray, gram: FloatArray | None
    ) -> FloatArray:
        if solution.model is not None:
            return np.asarray(solution.model.predict(gram))
        return solution.scores(degrees)[:, 0]

    def _score(self, truth: npt.NDArray[Any], predicted: npt.NDArray[Any]) -> float:
        spread = float(((truth - truth.mean()) ** 2).sum())
        return 1.0 - float(((truth - predicted) ** 2).sum()) / (spread or 1.0)

    @lazily
    def predict(self, X: Any) -> FloatArray:
        """f(x) of every row.

        Parameters
        ----------
        X : table of shape (n_rows, n)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        degrees = self.degrees(X)
        grams = [None] if self.enforce_monotone else self._grams(degrees)
        found = [self._predicted(self._solution, degrees, gram) for gram in grams]
        return np.concatenate([np.empty(0), *found])
