"""What the classifiers of hierarchical kernel learning share: scores, chances, early ends."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils.metaestimators import available_if

from formulakern.arrays import FloatArray
from formulakern.encoding.packed import PackedTable
from formulakern.estimators.hkl.base import HierarchicalEstimator
from formulakern.estimators.rule_model import RuleClassifier
from formulakern.learning.hkl.ordinal import log_chances
from formulakern.partitions.lazy_rows import lazily

__all__ = ["EARLY", "RAREST", "HierarchicalClassifier", "class_sums", "log_probabilities"]

#: Why a fit stopped whose solution is only the best so far.
EARLY = ("time limit", "interrupted")
#: No class has a smaller share.
RAREST = 1e-12


@dataclass(eq=False, repr=False)
class HierarchicalClassifier(HierarchicalEstimator, RuleClassifier):
    """The base of :class:`HKLClassifier` and :class:`HKLClassifierCV`."""

    _: KW_ONLY
    loss: Literal["hinge", "squared_hinge", "logistic"] = "logistic"
    logit_adjustment: float = 0.5
    ordinal: bool = False
    adjustment_: FloatArray = field(init=False)
    thresholds_: FloatArray = field(init=False)  # of ordered classes

    def _shares(self, sums: FloatArray) -> tuple[FloatArray, float]:
        """The share of every class in the weight of all rows, and τ, 0 where none is asked for."""
        adjusted = self.loss == "logistic" and self.class_weight is None
        tau = float(self.logit_adjustment) if adjusted else 0.0
        return np.maximum(sums / sums.sum(), RAREST), tau

    def _as_good(self, table: PackedTable, labels: npt.NDArray[Any], weights: FloatArray) -> bool:
        """Whether the fit came to its end, or does no worse than the largest class alone."""
        if self.stopped_ not in EARLY:
            return True
        right = np.average(self.predict(table) == labels, weights=weights)
        return bool(right >= self._shares(class_sums(labels, weights))[0].max())

    @lazily
    def decision_function(self, X: Any) -> FloatArray:
        """The score of each class, Σ_w f_w φ_w(x) + b, less its adjustment; the largest wins.

        Of ordered classes the one score that is compared with thresholds.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,) for two or for ordered classes, else (n_rows, n_classes)
        """
        scores = self._scores(X)
        return np.asarray(scores[:, -1]) if scores.shape[1] <= 2 else scores

    def _has_probabilities(self) -> bool:
        if self.loss == "logistic":
            return True
        raise AttributeError(
            f"{type(self).__name__} has predict_proba with loss='logistic'; this one has "
            f"loss={self.loss!r}. For others wrap it: sklearn.calibration.CalibratedClassifierCV("
            "model, ensemble=False)."
        )

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    @lazily
    def predict_proba(self, X: Any) -> FloatArray:
        """e^{s_k} / Σ_j e^{s_j}, s the scores before they are adjusted (for two classes, half).

        Of ordered classes P(y > k) is 1/(1 + e^{θ_k − s}).  Only with ``loss="logistic"``;
        :meth:`predict` goes by the decisions.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        scores = self._scores(X)
        levels = self.rules_.levels
        if levels is None:
            return np.asarray(np.exp(log_probabilities(scores + self.adjustment_)))
        chances = np.zeros((len(scores), len(self.classes_)))
        chances[:, np.isin(self.classes_, levels)] = np.exp(
            log_chances(scores[:, 0], self.thresholds_)
        )
        return chances


def class_sums(
    labels: npt.NDArray[Any], weights: FloatArray, classes: npt.NDArray[Any] | None = None
) -> FloatArray:
    """The weight of the rows of each class; classes sorted, or as given.

    >>> class_sums(np.array(["b", "a", "b"]), np.array([1.0, 2.0, 3.0]))
    array([2., 4.])
    """
    classes = np.unique(labels) if classes is None else classes
    return np.array([weights[labels == name].sum() for name in classes])


def log_probabilities(scores: FloatArray) -> FloatArray:
    """s_k − ln Σ_j e^{s_j}; two classes have scores of both signs, of which s is half.

    >>> log_probabilities(np.array([[-np.log(3), np.log(3)]])).round(6)  # 1/4 and 3/4
    array([[-1.386294, -0.287682]])
    """
    if scores.shape[1] == 2:
        scores = scores / 2
    return np.asarray(scores - np.logaddexp.reduce(scores, axis=1)[:, None])
