"""Decisions of classifiers that compare classes one against one."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from formulakern.arrays import FloatArray
from formulakern.checks import check_choice, check_flag
from formulakern.errors import ParameterError
from formulakern.partitions.lazy_rows import lazily

__all__ = ["PairwiseDecisions", "pairwise_decisions", "pairwise_votes"]


class PairwiseDecisions:
    """What a classifier says of later rows, by a decision for every pair of classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    intercept_ : float64 (pairs,)
    """

    classes_: npt.NDArray[Any]
    intercept_: FloatArray
    decision_function_shape: str
    break_ties: bool
    _pair_weights: FloatArray  # coefficients of the support vectors, a row for each pair

    if TYPE_CHECKING:  # of the classes that have these decisions

        def _read_table(self, X: Any) -> Any: ...

        def _values(self, rows: Any, weights: FloatArray) -> FloatArray: ...

    def _check_decisions(self) -> None:
        check_choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))
        check_flag("break_ties", self.break_ties)

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
