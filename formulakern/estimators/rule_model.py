"""What estimators share whose models are votes of rules."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from formulakern.errors import DataError
from formulakern.estimators.base import PropositionLearner
from formulakern.rules.ensemble import RuleEnsemble
from formulakern.rules.explanation import Explanation, explained
from formulakern.rules.features import Feature, feature_values

__all__ = ["RuleModel"]

FloatArray = NDArray[np.float64]


class RuleModel(PropositionLearner):
    """An estimator that learns a :class:`formulakern.RuleEnsemble`.

    Attributes
    ----------
    rules_ : RuleEnsemble
        Rules in the table's own words, largest weight first.
    """

    rules_: RuleEnsemble
    _features: list[Feature]  # the same rules, on the encoded table

    def explain(self, X: Any) -> Explanation:
        """The rules that one row satisfies, and what they contribute.

        Parameters
        ----------
        X : table of shape (1, n_columns)

        Returns
        -------
        Explanation
            Prints as a list, the largest contribution first.

        Raises
        ------
        DataError
            If there is not exactly one row.
        """
        values = self._values(X)
        if len(values) != 1:
            raise DataError(f"explain() takes one row; got {len(values)}. Pass X[i : i + 1].")
        return explained(self.rules_, values[0].astype(np.float64))

    def _values(self, X: Any) -> NDArray[Any]:
        """What each rule of ``rules_`` is on each row."""
        check_is_fitted(self, "rules_")
        return feature_values(self._features, self._read_table(X))

    def _scores(self, X: Any) -> FloatArray:
        return np.asarray(self._values(X) @ self.rules_.votes() + np.array(self.rules_.intercept))
