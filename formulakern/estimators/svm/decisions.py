"""Decisions of classifiers that compare classes one against one."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from formulakern.arrays import FloatArray
from formulakern.checks import check_choice, check_flag
from formulakern.encoding.real import RealTable
from formulakern.errors import ParameterError
from formulakern.estimators.svm.extraction import RuleExtraction, TrainedModel, pair_weights
from formulakern.partitions.lazy_rows import lazily

__all__ = ["SOLVED", "PairwiseDecisions", "pairwise_decisions", "pairwise_votes"]

#: Attributes that are copied from the solved model.
SOLVED = ("classes_", "support_", "n_support_", "dual_coef_", "intercept_", "n_iter_")


class PairwiseDecisions:
    """Predictions and rules of a classifier that decides for every pair of classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    intercept_ : float64 (pairs,)
    """

    classes_: npt.NDArray[Any]
    intercept_: FloatArray
    decision_function_shape: str
    break_ties: bool
    svc_: Any
    support_: npt.NDArray[np.intp]
    _support_rows: Any
    _trained: TrainedModel
    _leaves: tuple[Any, ...]
    _pair_weights: FloatArray  # coefficients of the support vectors, a row for each pair

    if TYPE_CHECKING:  # of the classes that have these decisions

        def _read_table(self, X: Any) -> Any: ...

        def _values(self, rows: Any, weights: FloatArray) -> FloatArray: ...

    def _check_decisions(self) -> None:
        check_choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))
        check_flag("break_ties", self.break_ties)

    def _take_over_pairs(self, solved: Any, table: Any) -> None:
        """Copy what a solved model of all pairs has learned from a table."""
        self.svc_ = solved
        for name in SOLVED:
            setattr(self, name, getattr(solved, name))
        self._pair_weights = np.array([w for _, _, w in pair_weights(solved)])
        self._support_rows = table.take(self.support_)

    @lazily
    def decision_function(self, X: Any) -> FloatArray:
        """Signed distances from the separating surfaces, in units of the margin.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes), or per pair
        """
        return self._decisions(self._pair_values(self._later(X)))

    @lazily
    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of every row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ParameterError("break_ties=True needs decision_function_shape='ovr'.")
        values, n_classes = self._pair_values(self._later(X)), len(self.classes_)
        if n_classes == 2:
            return np.asarray(self.classes_[(values[:, 0] > 0).astype(np.intp)])
        if self.break_ties:
            return np.asarray(self.classes_[pairwise_decisions(values, n_classes).argmax(axis=1)])
        return np.asarray(self.classes_[pairwise_votes(values, n_classes)])

    def rules(
        self,
        top: int = 10,
        *,
        time_limit: float | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> RuleExtraction:
        """The heaviest features of the hypothesis, as rules in the table's own words.

        The model is a weighted vote of all features of its kernel; these are the ones with the
        largest absolute weights Σ_i α_i y_i φ(x_i), found by branch and bound and proven to be so.

        Parameters
        ----------
        top : int, default=10
            How many rules, per pair of classes.
        time_limit : float, optional
            Seconds; the best rules found so far come with a proven bound on all others.
        progress : callable, optional
            Called with the share that is done.

        Returns
        -------
        RuleExtraction
            Prints as a table with weight, classes, coverage and precision on the training rows.  A
            rule that several terms of a sum of kernels have is listed for each.

        Raises
        ------
        ParameterError
            If the kernel's features cannot be listed (see :func:`formulakern.extract_rules`), or
            inputs are graded: degrees are not rules.

        Examples
        --------
        >>> from formulakern import FormulaSVC, datasets
        >>> X, y = datasets.tic_tac_toe()
        >>> model = FormulaSVC("all[3](x)", variables="distinct", C=100).fit(X, y)
        >>> result = model.rules(top=8)  # three in a row
        >>> result.proven, {(item.winner, item.precision) for item in result}
        (True, {('positive', 1.0)})
        """
        check_is_fitted(self, "svc_")
        if isinstance(self._support_rows, RealTable):
            raise ParameterError(
                "a model of graded inputs votes by degrees, which are not rules: fit one with "
                'inputs="binary" to read its rules.'
            )
        return self._trained.rules(self._leaves, top, time_limit, progress)

    def _class_scores(self, X: Any) -> FloatArray:
        """Of two classes the decision, else the mean decision for each class against another."""
        values, n_classes = self._pair_values(self._later(X)), len(self.classes_)
        if n_classes == 2:
            return values
        sums = np.zeros((len(values), n_classes))
        for pair, (i, j) in enumerate(itertools.combinations(range(n_classes), 2)):
            sums[:, i] += values[:, pair]
            sums[:, j] -= values[:, pair]
        return sums / (n_classes - 1)

    def _later(self, X: Any) -> Any:
        check_is_fitted(self, "svc_")
        return self._read_table(X)

    def _pair_values(self, table: Any) -> FloatArray:
        """The decision of every pair of classes: float64 (rows, pairs)."""
        return np.asarray(self._values(table, self._pair_weights) + self.intercept_)

    def _decisions(self, values: FloatArray) -> FloatArray:
        """Decisions as they are asked for, from those of the pairs."""
        if len(self.classes_) == 2:
            return np.ascontiguousarray(values[:, 0])
        if self.decision_function_shape == "ovo":
            return values
        return pairwise_decisions(values, len(self.classes_))


def pairwise_decisions(ovo: FloatArray, n_classes: int) -> FloatArray:
    """One column for each class: its votes, and between −⅓ and ⅓ for the sum of its decisions.

    Parameters
    ----------
    ovo : float64 (rows, pairs)
        Positive for the first class of the pair.
    n_classes : int

    Examples
    --------
    >>> pairwise_decisions(np.array([[1.0, 1.0, -1.0]]), 3).round(2)
    array([[ 2.22, -0.22,  1.  ]])
    """
    votes = np.zeros((len(ovo), n_classes))
    sums = np.zeros((len(ovo), n_classes))
    for pair, (i, j) in enumerate(itertools.combinations(range(n_classes), 2)):
        first = ovo[:, pair] > 0
        votes[first, i] += 1
        votes[~first, j] += 1
        sums[:, i] += ovo[:, pair]
        sums[:, j] -= ovo[:, pair]
    return np.asarray(votes + sums / (3 * (np.abs(sums) + 1)))


def pairwise_votes(ovo: FloatArray, n_classes: int) -> npt.NDArray[np.intp]:
    """The class with the most votes of all pairs, the first of several.

    >>> pairwise_votes(np.array([[1.0, 1.0, -1.0]]), 3)
    array([0])
    """
    votes = np.zeros((len(ovo), n_classes), dtype=np.intp)
    for pair, (i, j) in enumerate(itertools.combinations(range(n_classes), 2)):
        first = ovo[:, pair] > 0
        votes[first, i] += 1
        votes[~first, j] += 1
    return np.asarray(votes.argmax(axis=1))
