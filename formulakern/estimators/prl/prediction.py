"""What preference learners predict: classes by their scores, rankings, accuracy by size."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.estimators.rule_model import RuleClassifier

__all__ = ["PreferenceModel"]


@dataclass(eq=False, repr=False)
class PreferenceModel(RuleClassifier):
    """The base of :class:`PRLClassifier` and :class:`PRLClassifierCV`."""

    _margin: float = field(init=False)  # what the votes of ``rules_`` secure, with their slack

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """The scores of the classes.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or (n_rows,) for two classes: score of the second
        minus that of the first, which is the margin of the row where the second is right
        """
        scores = self._scores(X)
        return np.asarray(scores[:, 1] - scores[:, 0]) if scores.shape[1] == 2 else scores

    def predict_ranking(self, X: Any) -> npt.NDArray[Any]:
        """The classes of every row, best first.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        scores = self._scores(X)
        return np.asarray(self.classes_[np.argsort(-scores, axis=1, kind="stable")])

    def accuracy_curve(
        self, X: Any, y: npt.ArrayLike, max_rules: int | None = None
    ) -> npt.NDArray[np.float64]:
        """The accuracy of the k heaviest rules alone, with the weights that they have.

        The best k rules, with weights of their own, are those of ``max_rules=k``.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        y : array-like of shape (n_rows,)
        max_rules : int, optional
            All by default.

        Returns
        -------
        ndarray of shape (number of rules + 1,)
            For k = 0, 1, 2, ….
        """
        values = self._values(X)
        most = len(self.rules_) if max_rules is None else min(max_rules, len(self.rules_))
        scores = np.tile(self.rules_.intercept, (len(values), 1))
        accuracy = np.empty(most + 1)
        for k in range(most + 1):
            if k:
                scores += np.outer(values[:, k - 1], self.rules_.votes[k - 1])
            accuracy[k] = np.mean(self.rules_.decide(scores) == np.asarray(y))
        return accuracy
