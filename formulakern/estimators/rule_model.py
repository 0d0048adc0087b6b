"""What estimators share whose models are votes of rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from formulakern.errors import DataError
from formulakern.estimators.base import PropositionLearner
from formulakern.rules.ensemble import RuleEnsemble, WeightedRule
from formulakern.rules.explanation import Explanation
from formulakern.rules.features import Feature, feature_values

__all__ = ["RuleClassifier", "RuleModel"]

FloatArray = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class RuleModel(PropositionLearner):
    """An estimator that learns a :class:`formulakern.RuleEnsemble`.

    Attributes
    ----------
    rules_ : RuleEnsemble
        Rules in the table's own words, largest weight first.
    """

    _: KW_ONLY
    time_limit: float | None = None
    verbose: int = 0
    rules_: RuleEnsemble = field(init=False)
    _features: list[Feature] = field(init=False)  # the same rules, on the encoded table

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


@dataclass(eq=False, repr=False)
class RuleClassifier(ClassifierMixin, RuleModel):  # type: ignore[misc]
    """A rule model whose ensemble votes for classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    """

    _: KW_ONLY
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None
    classes_: NDArray[Any] = field(init=False)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row; ties go to the class that stands first.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        scores = self._scores(X)
        return np.asarray(self.classes_[scores.argmax(axis=1)])
