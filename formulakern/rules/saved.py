"""A saved model of rules without its learner: it predicts, explains and exports its rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.encoding.fitted import Encoding, FittedPlans
from formulakern.encoding.plan import warn_of_unseen
from formulakern.rules.conditions import ColumnType
from formulakern.rules.ensemble import RuleEnsemble, ScoreCard
from formulakern.rules.explanation import Explanation
from formulakern.rules.features import Feature, feature_values
from formulakern.rules.sql import DialectName, TableName
from formulakern.rules.voting import log_probabilities
from formulakern.tables.table import Table


class IgnoredState:
    """A part of a saved model that its rules do not need."""

    def __new__(cls, *_: Any) -> Self:
        return super().__new__(cls)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Discard the state."""


class SavedEncoder(FittedPlans):
    """A saved encoder of propositions that reads later tables."""

    column_types_: dict[str, ColumnType]

    def read_table(self, table: Table) -> Table:
        """Return the columns of training; warn of values that training did not have."""
        read = Table.of(table, [plan.name for plan in self.plans_])
        warn_of_unseen(read, self.plans_)
        return read


class SavedRules:
    """A saved model of rules, with the learner's fitted attributes but without its learning code.

    Its methods return the same values as those of the learner.
    """

    text: str
    rules_: Any  # an ensemble, a list or a set
    encoder_: Any
    _encoding: Encoding
    _features: list[Feature]  # of an ensemble
    _conditions: Any = None  # of a list on encoded columns
    loss: str = ""
    adjustment_: FloatArray  # of HKL: scores with it have probabilities

    def __repr__(self) -> str:
        return self.text

    @property
    def suffices(self) -> bool:
        """True if the rules read named columns, so that they need no other part of the model."""
        named = hasattr(self, "rules_") and hasattr(self, "feature_names_in_")
        return named and isinstance(self.encoder_, SavedEncoder)

    def predict(self, X: Table) -> NDArray[Any]:
        """Return the prediction for every row."""
        values = self._values(X)
        if isinstance(self.rules_, RuleEnsemble):
            values = self.rules_.scores_of(values)
        return np.asarray(self.rules_.decide(values))

    @property
    def predict_proba(self) -> Callable[[Table], FloatArray]:
        """The function that returns class probabilities; AttributeError if there are none."""
        if isinstance(self.rules_, ScoreCard):
            card = self.rules_
            return lambda X: card.predict_proba(self.encoder_.read_table(X))
        if isinstance(self.rules_, RuleEnsemble):
            rules, moved = self.rules_, self.adjustment_
            if self.loss != "logistic" or rules.levels is not None:
                raise AttributeError("these scores are not logarithms of probabilities")
            return lambda X: np.exp(log_probabilities(rules.scores_of(self._values(X)) + moved))
        found: Callable[[Any], FloatArray] = self.rules_.probabilities
        return lambda X: found(self._values(X))

    @property
    def decision_function(self) -> Callable[[Table], FloatArray]:
        """The function that returns scores; AttributeError for rules without scores."""
        if not isinstance(self.rules_, RuleEnsemble):
            raise AttributeError("these rules have no scores")
        return self._decisions

    def _decisions(self, X: Table) -> FloatArray:
        scores = self.rules_.scores_of(self._values(X))
        if scores.shape[1] == 2:
            return np.asarray(scores[:, 1] - scores[:, 0])
        return np.asarray(scores if scores.shape[1] > 2 else scores[:, 0])

    def explain(self, X: Table) -> Any:
        """Return the explanation of every row."""
        if isinstance(self.rules_, RuleEnsemble):
            return Explanation.of(self.rules_, self._values(X))
        read = self._conditions is None
        return self.rules_.explain(self.encoder_.read_table(X) if read else X)

    def to_sql(self, table: TableName = "data", dialect: DialectName = "standard") -> str:
        """Return a query that predicts every row of a database table."""
        types = self.encoder_.column_types_
        return str(self.rules_.to_sql(table, dialect, types=types))

    def to_python(self) -> str:
        """Return a Python file with a function that predicts one row."""
        return str(self.rules_.to_python())

    def _values(self, X: Table) -> NDArray[Any]:
        """Return the values of all rules on every row."""
        table, rules = self.encoder_.read_table(X), self.rules_
        if isinstance(rules, ScoreCard):
            return rules.values(table)
        if isinstance(rules, RuleEnsemble) or self._conditions is not None:  # on propositions
            packed = self.encoder_.pack(table, self._encoding.terms).select(self._encoding.kept)
            if isinstance(rules, RuleEnsemble):
                return feature_values(self._features, packed)
        return np.asarray(rules.covers(table))
