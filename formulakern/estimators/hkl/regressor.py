"""HKLRegressor: an intercept and a weighted sum of rules, optimal among all conjunctions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin

from formulakern.deadline import Deadline
from formulakern.docstrings import parameters_from
from formulakern.estimators.base import number_score
from formulakern.estimators.hkl.base import HierarchicalBase, whole_problems
from formulakern.estimators.hkl.classifier import HKLClassifier
from formulakern.estimators.row_counts import RowCounts
from formulakern.estimators.validation import read_numbers, read_weights, require_target
from formulakern.partitions.lazy_rows import lazily
from formulakern.solvers.blas import one_thread


@parameters_from(HKLClassifier)
@dataclass(eq=False, repr=False)
class HKLRegressor(RegressorMixin, HierarchicalBase):  # type: ignore[misc]
    """Hierarchical kernel learning for numbers: an intercept and a weighted sum of rules.

    The problem, in the notation of :class:`HKLClassifier` but with squared errors, is ::

        minimise  ½ (Σ_v d_v ‖f_{D(v)}‖_ρ + Σ_j |g_j|)²  +  C Σ_i s_i (y_i − s(x_i))²,

    over all conjunctions, to a proven relative gap.  Internally y is centred and scaled, so the
    rules and ``tol`` do not depend on the units of y; the weights are in these units.

    Parameters
    ----------
    C : "auto" or float, default="auto"
        Penalty parameter of errors.  ``"auto"`` is 300/√n, where n is the total weight of the rows.
    depth_penalty : "auto" or float ≥ 1, default="auto"
        a; larger values give shorter rules.  ``"auto"`` is 3.  For ``rho=1`` and tables of more
        than 80 columns or 300,000 entries, whose rules have at most two conditions, it is 2;
        ``C="auto"`` and the penalty of linear terms are 3/4 of the usual ones.
    max_rules : "auto", int or None, default="auto"
        The most rules and linear terms.  ``"auto"``: 15.  If the optimum has more, the best ones
        that the search finds near it replace them, with the best weights for these; ``gap_`` then
        bounds the cost of the limit.  None: as many as the optimum has.
    monotone : mapping of column to 1 or −1, optional
        The predicted number does not fall (1) or does not rise (−1) with the column.
    tol : float, default=1e-2
        The relative duality gap to reach.
    max_active : int, default=5000
        The most conjunctions that are held at once.

    Attributes
    ----------
    rules_ : RuleEnsemble
        The rules and linear terms with signed weights; the ensemble predicts the same numbers.
    intercept_ : float
        b.
    objective_, lower_bound_, gap_, path_, hull_size_, n_weights_, history_, n_iter_, stopped_
        The certificate, path and history of the fit, described in :class:`HKLClassifier`.
        Objectives and bounds are in the units of y².
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the table has names.

    References
    ----------
    The papers on the problem and on linear terms in :class:`HKLClassifier`.

    Examples
    --------
    >>> X = {"engine": ["gas", "gas", "diesel", "diesel"] * 5, "doors": [2, 4] * 10}
    >>> price = [10.0, 10.0, 14.0, 18.0] * 5
    >>> model = HKLRegressor(C=1e5).fit(X, price)
    >>> model.predict({"engine": ["gas", "diesel"], "doors": [2, 4]}).round(1)
    array([10., 18.])
    """

    rho: float = 1.0
    C: float | Literal["auto"] = "auto"
    depth_penalty: float | Literal["auto"] = "auto"
    max_rules: int | Literal["auto"] | None = "auto"

    loss = "squared"
    score = number_score

    def fit(self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Fit the model to one number per row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Anything that :class:`formulakern.Table` reads.
        y : array-like of shape (n_rows,)
            Finite numbers.
        sample_weight : array-like of shape (n_rows,), optional
            Non-negative weights s.

        Returns
        -------
        HKLRegressor
            The fitted model.

        Raises
        ------
        DataError
            If the table or the numbers cannot be read.
        ParameterError
            If a parameter is out of range.

        Warns
        -----
        ConvergenceWarning
            If ``gap_`` is above ``tol``.
        """
        self._check_parameters()
        with self._progress_bar() as bar, one_thread():
            deadline = Deadline.of(self.time_limit)
            require_target(self, y, "a number for every row")
            table = self._fit_table(X, y)
            target = read_numbers(y, table.n_rows)
            weights = read_weights(sample_weight, len(target))
            mean = float(np.average(target, weights=weights))
            largest = float(np.abs(target - mean)[weights > 0].max())
            unit = largest if largest > 1e-14 * abs(mean) else 0.0
            scaled = (target - mean) / unit if unit > 0 else np.zeros(len(target))
            problems = whole_problems(table, scaled, weights)
            self._solve(problems, float(weights.sum()), [""], None, deadline)
            [model] = self._functions
            self.objective_ *= unit**2
            self.lower_bound_ *= unit**2
            self.path_ = self.path_.times(unit**2)
            self.intercept_ = float(mean + unit * model.bias)
            counts = RowCounts((weights > 0).astype(np.int64))
            found = self._rules_of(np.array([[unit]]), table, counts, of_classes=False)
            self._set_rules(found, None, [self.intercept_], str(getattr(y, "name", None) or "y"))
            self._warn_if_open(stacklevel=3)
            self._settle()
            bar.end(f"gap {self.gap_:.2g}, {len(self.rules_)} rules, {self.stopped_}")
            return self

    @lazily
    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the predicted number of each row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return np.asarray(self._scores(X)[:, 0])
