"""Support vector classification with the Choquet kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from itertools import combinations
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from formulakern.arrays import FloatArray
from formulakern.estimators.choquet.base import ChoquetEstimator
from formulakern.estimators.choquet.monotone import Losses
from formulakern.estimators.path_search import folds_of
from formulakern.estimators.svm.classifier import PairwiseMachine
from formulakern.estimators.targets import (
    Split,
    read_classes,
    require_target,
    row_weights,
    several_classes,
)
from formulakern.learning.kernel_machines import KernelRows

__all__ = ["ChoquetSVC"]


@dataclass(eq=False, repr=False)
class ChoquetSVC(PairwiseMachine, ClassifierMixin, ChoquetEstimator):  # type: ignore[misc]
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
        The relative duality gap at which the solver stops.
    max_iter : int, default=-1
        Limit on the steps with two coefficients, for each pair of classes; −1: 10 million, or 100
        for each row if that is more.
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
        ``additivity``, ``C``, ``mean_score``, ``std_score``, ``gap``, ``split0_score``, …,
        accuracies; only if something was chosen.
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
    svc_ : PairwiseModel
        The solved model; not with ``enforce_monotone``.
    support_ : ndarray of int
    intercept_ : ndarray of shape (pairs,)
        b of every pair, positive for the larger class.
    gap_ : float
        The largest relative duality gap of all pairs of classes.
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
    decision_function_shape: ClassVar[Literal["ovr"]] = "ovr"  # type: ignore[misc]

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
        self._check_parameters()
        values = self._read(X, reset=True)
        labels = read_classes(y, len(values))
        classes = several_classes(labels)
        weights = row_weights(labels, self.class_weight, None)
        several_classes(labels, weights)
        self.pairs_ = list(combinations(classes.tolist(), 2))
        codes = np.searchsorted(classes, labels).astype(np.float64)
        self._fit(values, labels, codes, weights, 1.0, "accuracy")
        return self

    def _splits(self, targets: npt.NDArray[Any]) -> list[Split]:
        return folds_of(self._n_folds, targets, self._seed)

    def _problem(self, rows: KernelRows, targets: npt.NDArray[Any], boxes: FloatArray) -> Any:
        if not self.enforce_monotone:
            return super()._problem(rows, targets, boxes)
        labels, parts = several_classes(targets, boxes), []
        for first, second in combinations(labels, 2):
            some = np.flatnonzero((targets == first) | (targets == second))
            sign = np.where(targets[some] == second, 1.0, -1.0)
            losses = Losses(np.arange(len(some)), sign, np.ones(len(some)), boxes[some])
            parts.append((rows.rows.values[some], losses))
        return self._monotone(rows.kernel, parts, labels)

    def _take_over(self, solved: Any, solution: Any, rows: Any) -> None:
        if self.enforce_monotone:
            self.classes_, models = solved
            self._pair_weights = np.empty((len(models), 0))
            self._take_over_monotone(models)
            return
        super()._take_over(solved, solution, rows)
        if len(self.classes_) > 2:  # here positive for the second class of a pair
            self._pair_weights, self.intercept_ = -self._pair_weights, -self.intercept_
        self._functions = self._row_functions(self._pair_weights)

    def _decided(self, X: Any) -> FloatArray:
        values = super()._decided(X)
        return values if len(self.classes_) == 2 else -values
