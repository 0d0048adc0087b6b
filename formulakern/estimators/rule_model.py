"""What estimators share whose models are votes of rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from formulakern.errors import DataError
from formulakern.estimators.base import PropositionLearner
from formulakern.rules.ensemble import RuleEnsemble, WeightedRule
from formulakern.rules.explanation import Explanation
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
        return Explanation.of(self.rules_, values)

    def _set_rules(
        self,
        found: Iterable[tuple[Feature, WeightedRule]],
        classes: Sequence[Any] | None = None,
        intercept: ArrayLike | None = None,
        target: str = "y",
    ) -> None:
        """Keep features with what they say, largest weight first."""
        listed = sorted(found, key=lambda pair: -abs(pair[1].weight))
        self._features = [feature for feature, _ in listed]
        items = (item for _, item in listed)
        self.rules_ = RuleEnsemble.of(items, classes, intercept, target)

    def _values(self, X: Any) -> NDArray[Any]:
        """What each rule of ``rules_`` is on each row."""
        check_is_fitted(self, "rules_")
        return feature_values(self._features, self._read_table(X))

    def _scores(self, X: Any) -> FloatArray:
        values = self._values(X)  # refuses before the fit
        return self.rules_.scores_of(values)
