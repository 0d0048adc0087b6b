"""The shared bases of estimators that learn from propositions, and of weighted rule models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from formulakern.arrays import FloatArray
from formulakern.deadline import Deadline, check_time_limit
from formulakern.encoding.fitted import Encoding
from formulakern.encoding.ordered import Leaves
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.summary import Summary
from formulakern.errors import DataError, ParameterError
from formulakern.estimators.base import TableEstimator, class_score
from formulakern.estimators.encoder import PropositionEncoder
from formulakern.estimators.fit_warnings import warn_of_one_class
from formulakern.estimators.monotone import read_directions, required_sign
from formulakern.estimators.reporting.report import report
from formulakern.estimators.row_counts import RowCounts
from formulakern.estimators.validation import TrainingData
from formulakern.partitions.lazy_rows import lazily
from formulakern.rules.conditions import ColumnType, read_types
from formulakern.rules.ensemble import RuleEnsemble, ScoreCard
from formulakern.rules.explanation import Explanation
from formulakern.rules.export.notes import below_base_rate
from formulakern.rules.features import Conjunction, Feature, LinearTerm, feature_values
from formulakern.rules.sql import DialectName, TableName
from formulakern.rules.voting import WeightedRule, leading
from formulakern.solvers.blas import one_thread
from formulakern.syntax.leaves import Comparison

if TYPE_CHECKING:
    import pandas
    import polars

#: The number of marked rules whose expected precision is computed.
MAX_EXPECTED = 20


@dataclass(eq=False, repr=False)
class PropositionModel(TableEstimator):
    """An estimator that learns rules from propositions, with exports to other programs."""

    _: KW_ONLY
    time_limit: float | None = None
    verbose: int = 0

    report = report

    def to_sql(
        self,
        table: TableName = "data",
        dialect: DialectName = "standard",
        *,
        types: Any = None,
    ) -> str:
        """Return a query that gives every row of a database table its prediction.

        Parameters
        ----------
        table : str, or sequence of str
            Name of the table, which has the columns of the rules.  Dots separate a schema and its
            table; to use dots in names pass the parts, ``("schema", "my.table")``.
        dialect : {"standard", "sqlite", "duckdb", "postgres", "mysql", "bigquery", "spark"}
            The SQL dialect.
        types : mapping of column to type, optional
            Types of columns that differ from training, as for
            :meth:`formulakern.RuleEnsemble.to_sql`.

        Raises
        ------
        DataError
            If a rule, a name or a class cannot be written in this dialect, or the types of columns
            do not match the rules.
        ParameterError
            If the dialect or a type is unknown, or ``table`` is not a name.
        """
        return self._fitted_rules.to_sql(table, dialect, types=self._types(types))

    def to_polars(self, types: Any = None) -> polars.Expr:
        """Return a polars expression that gives every row its prediction.

        ``types`` overrides the types of training; see :meth:`formulakern.RuleEnsemble.to_polars`.

        Raises
        ------
        DataError
            If a rule has no polars expression.
        """
        return self._fitted_rules.to_polars(self._types(types))

    def to_pandas(self) -> Callable[[pandas.DataFrame], pandas.Series[Any]]:
        """Return a function that predicts the rows of a pandas data frame.

        Raises
        ------
        MissingDependencyError
            If pandas is not installed.
        """
        return self._fitted_rules.to_pandas()

    def to_python(self) -> str:
        """Return a Python file with a function that predicts one row.

        See :meth:`formulakern.RuleEnsemble.to_python`.

        Raises
        ------
        DataError
            If a rule cannot be written.
        """
        return self._fitted_rules.to_python()

    @property
    def _fitted_rules(self) -> RuleEnsemble:  # or a list
        check_is_fitted(self, "rules_")
        return cast("RuleEnsemble", vars(self)["rules_"])

    def _types(self, types: Any) -> dict[str, ColumnType]:
        """Return the types of columns: of training, overridden by ``types``."""
        return getattr(self.encoder_, "column_types_", {}) | read_types(types)

    def _exclusive(self) -> NDArray[np.int64]:
        """Return the number of the nominal column of each proposition, or −1."""
        leaves = self._encoding.leaves
        groups = np.full(len(leaves), -1, dtype=np.int64)
        if isinstance(self.encoder_, PropositionEncoder):
            number_of = {plan.name: k for k, plan in enumerate(self.encoder_.plans_) if plan.values}
            for place, leaf in enumerate(leaves):
                if isinstance(leaf, Comparison) and leaf.relation == "=":
                    groups[place] = number_of.get(leaf.column, -1)
        return groups


@dataclass(eq=False, repr=False)
class RuleModel(PropositionModel):
    """An estimator that learns a :class:`formulakern.RuleEnsemble`.

    Attributes
    ----------
    rules_ : RuleEnsemble
        Rules on the columns of the table, largest weight first.
    """

    _: KW_ONLY
    monotone: Mapping[str, int] | None = None
    rules_: RuleEnsemble = field(init=False)
    _features: list[Feature] = field(init=False)  # the rules on the encoded table

    def _linear_terms(
        self,
        encoder: PropositionEncoder,  # noqa: ARG002
        summaries: Mapping[str, Summary],  # noqa: ARG002
    ) -> tuple[LinearTerm, ...]:
        """Return the numeric columns to learn from, in addition to propositions."""
        return ()

    def _next_to(
        self, encoder: PropositionEncoder, table: Any, summaries: Mapping[str, Summary]
    ) -> dict[str, Any]:
        automatic = isinstance(self.encoder, str)
        directions = read_directions(self.monotone, encoder, table, summaries, automatic)
        encoder.keep_order(directions)
        return {"directions": directions, "terms": self._linear_terms(encoder, summaries)}

    def _useful(self, encoding: Encoding, table: Any) -> NDArray[np.intp]:
        """Return the positions of the propositions that ``monotone`` allows."""
        if not self.monotone:
            return super()._useful(encoding, table)
        if not isinstance(encoding.encoder, PropositionEncoder):
            raise ParameterError(
                f"monotone={self.monotone!r} with encoder={self.encoder!r} on this table: the "
                "propositions of its columns are not known. Use encoder='auto' and a dense table, "
                "or a PropositionEncoder."
            )
        asked = [required_sign(leaf, encoding.directions) for leaf in encoding.leaves]
        kept = np.array([j for j, sign in enumerate(asked) if sign is not None], dtype=np.intp)
        if not len(kept):
            raise DataError(
                "no proposition with <= or >= in this table, and others get no weight with "
                f"monotone={self.monotone!r}. Use an encoder with cut points, or rows that differ."
            )
        return kept

    def _settle(self) -> None:
        """After a search for cut points, keep only the cut points of the rules in the encoder."""
        if not isinstance(self._encoding.leaves, Leaves):
            return
        used = {p for one in self._features for p in getattr(one, "propositions", ())}
        encoder = self._encoding.encoder
        places = encoder.choose(used)
        names = tuple(map(str, encoder.get_feature_names_out()))
        every = np.arange(len(names))
        encoding = replace(self._encoding, names=names, leaves=encoder.propositions_, kept=every)
        self._take_encoding(encoding)
        self._features = [
            Conjunction(tuple(sorted(places[p] for p in one.propositions)))
            if isinstance(one, Conjunction)
            else one
            for one in self._features
        ]

    def explain(self, X: Any) -> Explanation:
        """Explain predictions: the intercept and what each rule adds.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        Explanation
            It prints all terms of the score for one row, or a line for each of several rows.
            ``explained[i]`` is the explanation of row i; ``to_frame()`` has a line for each row and
            rule.

        Raises
        ------
        DataError
            If the table cannot be read as in training, or has no rows.
        """
        return Explanation.of(self.rules_, self._values(X))

    def _set_rules(
        self,
        found: Iterable[tuple[Feature, WeightedRule]],
        classes: Sequence[Any] | None = None,
        intercept: ArrayLike | None = None,
        target: str = "y",
        **levels: Any,
    ) -> None:
        """Set the features and their rules, largest absolute vote first."""
        listed = sorted(found, key=lambda pair: -abs(pair[1].weight))
        self._features = [feature for feature, _ in listed]
        items = (item for _, item in listed)
        self.rules_ = RuleEnsemble.of(items, classes, intercept, target, **levels)

    def _values(self, X: Any) -> NDArray[Any]:
        """Return the value of each rule on each row."""
        check_is_fitted(self, "rules_")
        if isinstance(self.rules_, ScoreCard):  # its steps are not propositions of the encoder
            return self.rules_.values(self.encoder_.read_table(X))
        return feature_values(self._features, self._read_table(X))

    def _scores(self, X: Any) -> NDArray[np.float64]:
        values = self._values(X)  # raises before the fit
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

    score = class_score

    def _has_probabilities(self) -> bool:
        return isinstance(getattr(self, "rules_", None), ScoreCard)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    @lazily
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class, shape (n_rows, 2); only for a score card."""
        return cast("ScoreCard", self.rules_).predict_proba(self.encoder_.read_table(X))

    def to_points(
        self, X: Any, y: ArrayLike, largest: int = 10, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Return a copy of the model that predicts by a score card of its rules.

        Its ``rules_`` are a :class:`formulakern.ScoreCard`, fitted to these rows as by
        :meth:`formulakern.RuleEnsemble.to_points`.  ``predict``, ``predict_proba``, ``explain``,
        ``report`` and the exports use the card; ``gap_`` and ``certificate_`` are about its loss.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            The training rows.
        y : array-like of shape (n_rows,)
        largest : int ≥ 1, default=10
            The largest number of points of a rule.
        sample_weight : array-like of shape (n_rows,), optional
            The weights of the rows in the loss, 1 by default.

        Raises
        ------
        DataError
            If the rows cannot be read as in training.
        ParameterError
            If there are not two classes, or the rules are not on the columns of the table.
        """
        rules = self._fitted_rules
        if not isinstance(self.encoder_, PropositionEncoder):
            raise ParameterError(
                f"to_points reads the columns of the table, but encoder={self.encoder!r} made "
                "others. Use encoder='auto' and a dense table, or make a card of rules_."
            )
        table = self.encoder_.read_table(X)
        card = rules.to_points(largest, table, np.asarray(y), sample_weight)
        made = copy(self)
        known = {"rules_": card, "certificate_": card.claim(), "gap_": card.gap, "_features": []}
        made.__dict__.update(known)
        return made

    def _expect(self, data: TrainingData) -> None:
        """Set the precision that the scores of the other rules suggest for each rule of a pair.

        A logistic regression of the class on these scores gives the share of each row.
        """
        rules = self._fitted_rules
        if rules.classes is None or not (rules.is_pairwise and any(below_base_rate(rules))):
            return
        from sklearn.linear_model import LogisticRegression

        weights = data.sample_weights
        votes = (rules.votes[:, 1] / np.abs(rules.votes).max()).tolist()
        whole, expected = np.zeros(len(weights)), np.full(len(rules), np.nan)
        for feature, vote in zip(self._features, votes, strict=True):
            whole += vote * feature.values(data.table)
        for place in np.flatnonzero(below_base_rate(rules))[:MAX_EXPECTED].tolist():
            values = self._features[place].values(data.table)
            others, covered = (whole - votes[place] * values)[:, None], values != 0
            model = LogisticRegression().fit(others, data.codes, weights)
            shares = model.predict_proba(others[covered])[:, leading(rules.votes[place].tolist())]
            expected[place] = np.average(shares, weights=weights[covered])
        self.rules_ = replace(rules, expected=expected)

    def _votes(
        self,
        table: PackedTable,
        codes: NDArray[np.intp],
        weights: FloatArray,
        deadline: Deadline,
    ) -> tuple[Iterable[tuple[Conjunction, float, int, int]], ArrayLike | None]:
        """Learn votes of rules.  A new learner overrides this method, or ``fit``.

        Rows have positive weight; ``codes`` are places in ``classes_``.  Return for each rule its
        propositions, a weight, and the places of the classes that it supports and opposes.  Return
        also the scores (n_classes,) of a row that no rule covers, or None for zeros.
        """
        raise NotImplementedError

    def _check_parameters(self) -> None:
        """Raise ParameterError if a parameter is out of range."""
        check_time_limit(self.time_limit)

    def _learn(self, data: TrainingData, deadline: Deadline) -> tuple[bool, str]:
        """Set rules from encoded rows; return True at a normal end, and a line about the result."""
        data = data.used()
        self.classes_, table, codes = data.classes, data.table, data.codes
        names = self.classes_.tolist()
        counts = RowCounts.of_classes(codes, len(names), data.sample_weights)
        learned, intercept = self._votes(table, codes, data.weights, deadline)
        votes: dict[Conjunction, FloatArray] = {}
        for feature, weight, winner, loser in learned:
            own = votes.setdefault(feature, np.zeros(len(names)))
            own[winner] += weight
            own[loser] -= weight
        found = []
        for feature, own in votes.items():
            rule, cover = feature.named(self._encoding.leaves), table.cover(feature.propositions)
            found.append((feature, counts.described(rule, cover, own.tolist(), names)))
        self._set_rules(found, names, intercept, data.name)
        return len(self.rules_) > 0, f"{len(self.rules_)} rules"

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model to one class per row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Anything that :class:`formulakern.Table` reads; for HKLClassifier and PRLClassifier
            also a dask frame or array.
        y : array-like of shape (n_rows,)
            Classes, of any type.
        sample_weight : array-like of shape (n_rows,), optional
            Non-negative weights.  A row of weight 2 counts as two rows; cross-validated scores are
            not weighted.

        Returns
        -------
        estimator
            The fitted model.

        Raises
        ------
        DataError
            If the table or the classes cannot be read, or there is only one class.
        ParameterError, FormulaSyntaxError
            If a parameter is out of range.

        Warns
        -----
        ConvergenceWarning
            If the proven gap is above ``tol``.
        """
        self._check_parameters()
        with self._progress_bar() as bar, one_thread():
            deadline = Deadline.of(self.time_limit)
            ordered = getattr(self, "ordinal", False)
            data = self._read_training(X, y, sample_weight, self.class_weight, ordered)
            ended, line = self._learn(data, deadline)
            if ended and not data.partitioned:
                warn_of_one_class(self, data)
                self._expect(data.used())
            self._settle()
            bar.end(line)
            return self

    @lazily
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every row; ties go to the first class in ``classes_``.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        scores = self._scores(X)
        if self.rules_.levels is not None:
            return np.asarray(self.rules_.decide(scores), dtype=self.classes_.dtype)
        return np.asarray(self.classes_[scores.argmax(axis=1)])
