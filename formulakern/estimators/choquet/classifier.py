"""Support vector classification with the Choquet kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from itertools import combinations
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.svm import SVC
from sklearn.utils.multiclass import _ovr_decision_function

from formulakern.arrays import FloatArray
from formulakern.estimators.base import class_score
from formulakern.estimators.choquet.base import ChoquetEstimator, Problem, Solution
from formulakern.estimators.choquet.monotone import Losses, solve_monotone
from formulakern.estimators.choquet.set_function import RowFunction
from formulakern.estimators.svm.prediction import answers_from_grams
from formulakern.estimators.targets import (
    read_classes,
    require_target,
    row_weights,
    several_classes,
    splits,
)
from formulakern.partitions.lazy_rows import lazily

__all__ = ["ChoquetSVC"]


@dataclass(eq=False, repr=False)
class ChoquetSVC(ClassifierMixin, ChoquetEstimator):  # type: ignore[misc]
    """Support vector classification by a Choquet integral of the attributes.

    Every attribute becomes a degree x_i in [0, 1] that grows with the class.  The decision is

        f(x) = Σ m(T)·min_T x + b = Σᵢ (x₍ᵢ₎ − x₍ᵢ₊₁₎)·μ(the columns of the i largest) + b,

    the sum over non-empty sets T of at most k columns: a Choquet integral with the set function
    μ(A) = Σ m(T) over T ⊆ A.  The weights m maximise the margin, found from the Choquet kernel
    (:func:`formulakern.choquet`) without building the features.

    Parameters
    ----------
    C : "auto", float, "cv" or sequence of float, default="auto"
        Penalty parameter of margin errors; ``"auto"`` is 1.  Of several the best in
        cross-validation (``"cv"``: of 10⁻², 10⁻¹, …, 10⁴).  The kernel is divided by its mean
        K(x, x) on the training rows, so that C means about the same for every number of columns
        and every k.
    additivity : int, None, "cv" or sequence, default=None
        k, the most columns in a set; None for all sets; of several the best (``"cv"``: of 1, 2, 3,
        5 and None).
    directions : "auto", mapping or sequence, default="auto"
        +1 where larger values of a column speak for the larger class, −1 where smaller ones do: one
        for each column, or a mapping from names or positions.  What is not given is the sign of
        Spearman's rank correlation with the class.  The larger of two classes is the second of
        ``classes_``; more are taken in that order.
    scaling : {"minmax", "rank"}, default="minmax"
        A degree is the place between the least and the largest training value, or the share of
        training values below (equal ones count half).  Later values outside are clipped.
    cv : "auto", int or splitter, default="auto"
        Folds of the training rows; an integer is stratified and shuffled, ``"auto"`` is 5.  The
        scaling is that of all training rows.
    enforce_monotone : bool, default=False
        Train under the constraint that μ is monotone, for ``additivity`` of at most 2: then f never
        falls when a degree rises.
    class_weight : mapping or "balanced", optional
        Multiplies C per class.
    tol : float, default=1e-3
        Stopping tolerance of the solver; with ``enforce_monotone`` the relative duality gap.
    max_iter : int, default=-1
        Limit on its iterations; −1 for none.
    random_state : int, RandomState or None, default=0
        For folds, and for the pairs drawn for ``monotonicity_degree_``.
    verbose : int, default=0
        Say on standard error what was chosen.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    pairs_ : list of (class, class)
        The two classes that each of the functions below tells apart, the larger one second: one
        pair for two classes, else all pairs.
    directions_ : ndarray of shape (n_features,), int64
    C_, additivity_
        What was used, or chosen.
    cv_results_ : dict of str to ndarray
        ``additivity``, ``C``, ``mean_score``, ``std_score``, ``split0_score``, …, accuracies; only
        where something was chosen.
    monotonicity_degree_ : float
        The share of the pairs A ⊂ A ∪ {i} with μ(A) ≤ μ(A ∪ {i}); exact for up to 20 columns, from
        up to 10,000 random pairs beyond.  Computed when first asked for.
    monotonicity_degree_error_ : float
        Its standard error; 0.0 where it is exact.
    shapley_values_ : ndarray of shape (n_features,)
        Σ m(T) / size(T) over the sets that hold a column; they sum to μ of all columns.
    interaction_indices_ : ndarray of shape (n_features, n_features)
        Σ m(T) / (size(T) − 1) over the sets that hold both columns; zero on the diagonal.
    kernel_ : Kernel
        Of degrees.
    svc_ : SVC
        The solved model on the precomputed Gram matrix; not with ``enforce_monotone``.
    support_ : ndarray of int
    intercept_ : ndarray of shape (pairs,)
        b of every pair, positive for the larger class.
    gap_ : float
        The relative duality gap; only with ``enforce_monotone``.
    n_iter_ : int or ndarray
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where the table has names.

    Notes
    -----
    For more than two classes, the attributes of a pair have one more axis at the front.  A Gram
    matrix costs O(n log n) a pair of rows, for k < n O(n²).

    References
    ----------
    Tehrani, Strickert & Hüllermeier (2014), The Choquet kernel for monotone data, ESANN 2014,
    337–342.  Grabisch (1997), k-order additive discrete fuzzy measures and their representation,
    Fuzzy Sets and Systems 92(2):167–189, doi:10.1016/S0165-0114(97)00168-1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 3))
    >>> y = np.where(np.minimum(X[:, 0], 1 - X[:, 1]) > 0.4, "good", "bad")
    >>> model = ChoquetSVC(C=100, additivity=2).fit(X, y == "good")
    >>> model.directions_[:2]
    array([ 1, -1])
    >>> model.score(X, y == "good") > 0.95
    True
    >>> int(np.argmax(model.interaction_indices_))  # of columns 0 and 1
    1
    """

    _: KW_ONLY
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None
    classes_: npt.NDArray[Any] = field(init=False)
    pairs_: list[tuple[Any, Any]] = field(init=False)
    _solver: ClassVar[str] = "svc_"

    score = class_score

    def fit(self, X: Any, y: npt.ArrayLike) -> Self:
        """Learn directions and scaling, choose C and additivity if asked, train.

        Parameters
        ----------
        X : table of shape (n_rows, n)
            Of finite numbers: an array, a frame, a :class:`formulakern.Table`.
        y : array-like of shape (n_rows,)
            Classes, of any type that has an order.

        Returns
        -------
        ChoquetSVC
            Itself.

        Raises
        ------
        DataError
            If the table or the classes cannot be read.
        ParameterError
            If a parameter is wrong.

        Warns
        -----
        ConvergenceWarning
            If ``enforce_monotone`` leaves a duality gap above ``tol``.
        """
        require_target(self, y)
        values = self._read(X, reset=True)
        labels = read_classes(y, len(values))
        self.classes_ = several_classes(labels)
        several_classes(labels, row_weights(labels, self.class_weight, None))
        codes = np.searchsorted(self.classes_, labels)
        self.pairs_ = list(combinations(self.classes_.tolist(), 2))
        with self._showing() as bar:
            self._fit(
                values, codes, codes.astype(float), 1.0, partial(splits, self._n_folds, codes)
            )
            bar.end(f"C {self.C_:.3g}, additivity {self.additivity_}")
        return self

    def _solve(self, problem: Problem, target: npt.NDArray[Any], C: float) -> Solution:
        present = np.unique(target)
        pairs = list(combinations(present.tolist(), 2))
        if self.enforce_monotone:
            return self._solve_monotone(problem, target, C, pairs)
        weight = self.class_weight
        if isinstance(weight, Mapping):
            known = dict(enumerate(self.classes_.tolist()))
            weight = {code: weight.get(label, 1.0) for code, label in known.items()}
        model = SVC(
            C=C, kernel="precomputed", class_weight=weight, tol=self.tol, max_iter=self.max_iter
        ).fit(problem.gram, target)
        rows = problem.degrees[model.support_]
        owners = np.repeat(np.arange(len(present)), model.n_support_)
        functions = []
        for first, second in combinations(range(len(present)), 2):
            beta = np.where(owners == first, model.dual_coef_[second - 1], 0.0)
            beta = np.where(owners == second, model.dual_coef_[first], beta)
            sign = 1.0 if len(present) == 2 else -1.0  # libsvm's positive class is the first
            functions.append(RowFunction(rows, sign * beta * problem.weight, problem.additivity))
        intercepts = model.intercept_ * (1.0 if len(present) == 2 else -1.0)
        return Solution(model, tuple(functions), intercepts, 0.0, model.n_iter_)

    def _solve_monotone(
        self, problem: Problem, target: npt.NDArray[Any], C: float, pairs: list[tuple[int, int]]
    ) -> Solution:
        weights = C * row_weights(self.classes_[target], self.class_weight, None)
        models = []
        for first, second in pairs:
            rows = np.flatnonzero((target == first) | (target == second))
            sign = np.where(target[rows] == second, 1.0, -1.0)
            losses = Losses(np.arange(len(rows)), sign, np.ones(len(rows)), weights[rows])
            models.append(
                solve_monotone(
                    problem.degrees[rows],
                    problem.additivity,
                    losses,
                    problem.squared_feature,
                    self.tol,
                )
            )
        return Solution(
            None,
            tuple(model.function for model in models),
            np.array([model.intercept for model in models]),
            max(model.gap for model in models),
            max(model.rounds for model in models),
        )

    def _predicted(
        self, solution: Solution, degrees: FloatArray, gram: FloatArray | None
    ) -> npt.NDArray[Any]:
        if solution.model is not None:
            return np.asarray(solution.model.predict(gram))
        scores = _by_class(solution.scores(degrees))
        return (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)

    def _score(self, truth: npt.NDArray[Any], predicted: npt.NDArray[Any]) -> float:
        return float((truth == predicted).mean())

    @lazily
    def decision_function(self, X: Any) -> FloatArray:
        """f(x), positive for the second of two classes; for more, one column per class.

        Parameters
        ----------
        X : table of shape (n_rows, n)

        Returns
        -------
        ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
        """
        degrees = self.degrees(X)
        if self.enforce_monotone:
            return _by_class(self._solution.scores(degrees))
        return answers_from_grams(self.svc_, "decision_function", self._grams(degrees))

    @lazily
    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of every row.

        Parameters
        ----------
        X : table of shape (n_rows, n)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        degrees = self.degrees(X)
        grams = [None] if self.enforce_monotone else self._grams(degrees)
        codes = [self._predicted(self._solution, degrees, gram) for gram in grams]
        none = np.empty(0, dtype=np.intp)
        return np.asarray(self.classes_[np.concatenate([none, *codes])])


def _by_class(scores: FloatArray) -> FloatArray:
    """Scores of pairs: the only one, or votes for every class, ties broken by the scores."""
    if scores.shape[1] == 1:
        return scores[:, 0]
    n_classes = int((1 + (1 + 8 * scores.shape[1]) ** 0.5) / 2)
    return np.asarray(_ovr_decision_function(scores > 0, scores, n_classes))
