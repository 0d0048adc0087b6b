"""RuleListClassifier: decision lists and rule sets, by sequential covering or branch and bound."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from formulakern.arrays import FloatArray
from formulakern.checks import check_choice, check_integer, check_number
from formulakern.deadline import Deadline
from formulakern.display.history import History
from formulakern.display.plots import draw_bounds
from formulakern.docstrings import parameters_from
from formulakern.encoding.fitted import Encoding
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.ranks import EQUAL, Condition, RankedTable
from formulakern.errors import DataError, ParameterError
from formulakern.estimators.base import class_score
from formulakern.estimators.encoder import PropositionEncoder
from formulakern.estimators.fit_warnings import warn_of_largest_class
from formulakern.estimators.rule_model import PropositionModel
from formulakern.estimators.validation import (
    TrainingData,
    random_source,
    require_target,
)
from formulakern.learning.covering.optimal import ListProgress, optimal_rule_list
from formulakern.learning.covering.sequential import (
    CoveringOptions,
    Decision,
    LearnedRules,
    TrainingTable,
    cn2,
    of_conditions,
    one_rule,
    ripper,
)
from formulakern.partitions.collections import in_memory
from formulakern.partitions.lazy_rows import lazily, needs_rows
from formulakern.rules.class_rules import RuleList, RuleSet
from formulakern.rules.decision import ClassRule
from formulakern.rules.rule import Rule
from formulakern.syntax.formula import Formula
from formulakern.syntax.leaves import Comparison
from formulakern.tables.read import is_sparse
from formulakern.tables.table import Table
from formulakern.text import counted


class ListHistory(History):
    """The objective and bound at every change, a sequence of :class:`ListProgress`."""

    STEP = "step"
    COLUMNS = (
        ("objective", "objective", ".6g"),
        ("bound", "bound", ".6g"),
        ("seconds", "seconds", ".2f"),
    )

    def plot(self, ax: Any = None) -> Any:
        """Draw objective and bound against seconds; the optimum is between the two lines.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            A new figure by default.
        """

        labels = "seconds", "error + penalty", "best list", "lower bound"
        objective, bound = self.values("objective"), self.values("bound")
        return draw_bounds(ax, self.values("seconds"), objective, bound, labels, steps=True)


LEARNERS = ("ripper", "irep", "cn2", "cn2-unordered", "oner", "optimal")
#: A limit of None, and the default limits of ``"optimal"``.
UNLIMITED = 2**31
OPTIMAL_LIMITS = {"max_rules": 3, "max_conditions": 2}
#: The least and the most cut points per number of ``"optimal"``, and their number in all columns.
MIN_CUTS, MAX_CUTS, MANY_CUTS = 4, 16, 32

#: The relations of conditions.
RELATIONS = ("=", "!=", "<=", ">=")
#: The advice for a list that predicts only one class.
OTHER_CLASS = "class_weight='balanced', or weaker limits"


@parameters_from()
@dataclass(eq=False, repr=False)
class RuleListClassifier(ClassifierMixin, PropositionModel):  # type: ignore[misc]
    r"""Rules of the form "if conditions then class": decision lists and rule sets.

    A rule is a conjunction of conditions on columns.  A nominal column has ``x = v``; a numeric
    column has ``x <= c`` and ``x >= c`` at *every* cut between neighbouring values; an ordered
    category has ``x in {…}`` for a lower or upper part.  Any column may have ``x is missing``.

    * ``"ripper"`` (Cohen 1995) learns rules class by class, the rarest class first; the most
      frequent class is the default.  Each rule is learned from the remaining rows.  It is grown on
      two thirds of them until it covers no other class.  Each step adds the condition of the
      largest information gain of FOIL,

      .. math:: p \left(\log_2 \frac{p}{p + n} - \log_2 \frac{p_0}{p_0 + n_0}\right)

      where p rows of the class and n others satisfy the rule with the condition, and p₀ and n₀
      without it.  The rule is then pruned, from the last condition, to the largest
      (p − n)/(p + n) on the other third.  The class ends if a rule is wrong on half of its rows, or
      the description length of rules and exceptions is 64 bits above the shortest so far.  Then,
      ``optimizations`` times, every rule competes with a new rule and a longer rule, both pruned
      for the errors of the whole set.  The shortest description wins, remaining rows get new rules,
      and rules that lengthen the description are removed.
    * ``"irep"`` (Fürnkranz & Widmer 1994) uses no description lengths.  It prunes rules by
      (p + N − n)/(P + N).  A class ends at the first rule wrong on half of the pruning rows.
    * ``"cn2"`` (Clark & Niblett 1989) learns a list.  It searches for a rule of the smallest
      entropy by beam search, removes the rows that the rule covers, and repeats.
    * ``"cn2-unordered"`` (Clark & Boswell 1991) learns a set: for every class, rules of the largest
      Laplace estimate.  All rules that cover a row vote with the classes of their training rows.
    * ``"oner"`` (Holte 1993) uses the one column that classifies best.
    * ``"optimal"`` (Angelino et al. 2018) finds, by branch and bound, the list with the smallest
      share of errors plus ``penalty`` per rule.  Lists have at most ``max_rules`` conjunctions of
      at most ``max_conditions`` propositions, and ``bound_`` is a lower bound for all of them.
      Numbers have the cut points of the encoder; the other learners consider all cuts.

    Parameters
    ----------
    learner : {"ripper", "irep", "cn2", "cn2-unordered", "oner", "optimal"}, default="ripper"
        One of the algorithms above.
    relations : sequence of {"=", "!=", "<=", ">="}, default=("=", "<=", ">=")
        The relations of conditions.  With only ``=`` and ``!=``, numbers are nominal too.
    max_rules : int, optional
        The limit of rules of the list, or of each class for ``"ripper"``, ``"irep"`` and
        ``"cn2-unordered"``.  By default 3 for ``"optimal"``, otherwise no limit.
    max_conditions : int, optional
        The limit of conditions of a rule.  By default 2 for ``"optimal"``, otherwise no limit.
    min_weight : float, optional
        The least weight of the rows that a rule covers, among the rows it is learned from; only
        rows of its class count for ``"ripper"`` and ``"irep"``.  By default 2 for these, else 1.
    optimizations : int, default=2
        The rounds of optimization of ``"ripper"``.
    beam_width : int, default=5
        For both kinds of CN2: the number of conjunctions that beam search extends at a time.
    significance : float, default=0.99
        For both kinds of CN2: keep a rule only if its likelihood ratio statistic is above this
        quantile of the distribution for a rule independent of the class.
    min_bucket : float, default=6
        For ``"oner"``: the least number of rows of the most frequent class in an interval.
    encoder : "auto", None or transformer, default="auto"
        ``"auto"`` reads any table; for ``"optimal"`` numbers have 16 cut points, fewer if there are
        more than two columns, at least 4.  ``PropositionEncoder(strategy="all")`` has every cut
        point.  None takes a table of 0 and 1, and a transformer makes one;
        conditions are then that a column is 1 (or 0, if ``relations`` has ``!=``).
    penalty : float, default=0.01
        For ``"optimal"``: the cost of a rule, as a share of the rows.
    tol : float, default=0
        For ``"optimal"``: stop when the gap is at most this.
    time_limit : float, optional
        Seconds; then the rules so far are kept, or the best list so far with its proven bound.
    random_state : int, RandomState or None
        For the split into rows to grow on and rows to prune on.
    verbose : bool, default=False
        Show every rule on standard error.

    Attributes
    ----------
    rules_ : RuleList or RuleSet
        Rules on the columns of the table, with the training rows by class.  A set for
        ``"cn2-unordered"``.
    stopped_ : {"complete", "time_limit", "optimal", "interrupted"}
    objective_, bound_, gap_ : float
        For ``"optimal"``: the share of errors plus penalty of the list, a lower bound for every
        list, and the difference.
    certificate_ : str
        For ``"optimal"``: the proof in words.
    history_ : ListHistory
        For ``"optimal"``: objective and bound at every change.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the table has names.

    Notes
    -----
    A row of weight 2 counts as two rows.  Equal rows are merged, so the order of rows has no
    effect.  (The cut points of ``"optimal"`` are quantiles of the rows without weights.)
    A rule of r rows costs O(C·r) per condition in C columns, plus O(r log r) in columns with more
    than r values.

    References
    ----------
    Cohen (1995), Fast effective rule induction, ICML, doi:10.1016/B978-1-55860-377-6.50023-2.
    Fürnkranz & Widmer (1994), Incremental reduced error pruning, ICML,
    doi:10.1016/B978-1-55860-335-6.50017-9.
    Clark & Niblett (1989), The CN2 induction algorithm, Machine Learning 3,
    doi:10.1023/A:1022641700528.
    Clark & Boswell (1991), Rule induction with CN2, EWSL, doi:10.1007/BFb0017011.
    Angelino, Larus-Stone, Alabi, Seltzer & Rudin (2018), Learning certifiably optimal rule lists
    for categorical data, JMLR 18(234), https://jmlr.org/papers/v18/17-716.html.
    Holte (1993), Very simple classification rules perform well on most commonly used datasets,
    Machine Learning 11, doi:10.1023/A:1022631118932.

    Examples
    --------
    >>> from formulakern import datasets
    >>> X, y = datasets.tic_tac_toe()
    >>> model = RuleListClassifier(random_state=0).fit(X, y)
    >>> print(model.rules_.head(1))
       class     covered  accuracy  rule
    1  negative       50    100.0%  `middle-middle-square` = o & `bottom-left-square` = o &
                                    `top-right-square` = o
       positive                     otherwise
    >>> model.score(X, y) > 0.98
    True
    """

    learner: Literal["ripper", "irep", "cn2", "cn2-unordered", "oner", "optimal"] = "ripper"
    _: KW_ONLY
    relations: Sequence[str] = ("=", "<=", ">=")
    max_rules: int | None = None
    max_conditions: int | None = None
    min_weight: float | None = None
    optimizations: int = 2
    beam_width: int = 5
    significance: float = 0.99
    min_bucket: float = 6
    penalty: float = 0.01
    tol: float = 0.0
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None
    random_state: int | np.random.RandomState | None = None
    rules_: RuleList | RuleSet = field(init=False)
    classes_: npt.NDArray[Any] = field(init=False)
    stopped_: str = field(init=False)
    objective_: float = field(init=False)
    bound_: float = field(init=False)
    gap_: float = field(init=False)
    certificate_: str = field(init=False)
    history_: ListHistory = field(init=False)
    _conditions: list[list[Condition]] | None = field(init=False)  # for tables of 0 and 1
    _n_columns: int = field(init=False, default=1)

    score = class_score

    def fit(self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Fit the model to one class per row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Anything that :class:`formulakern.Table` reads.
        y : array-like of shape (n_rows,)
            Classes, of any type.
        sample_weight : array-like of shape (n_rows,), optional
            Non-negative weights.

        Returns
        -------
        RuleListClassifier
            The fitted model.

        Raises
        ------
        DataError
            If the table or the classes cannot be read, or there is only one class.
        ParameterError
            If a parameter is out of range.
        """
        learn = self._learner()
        with self._progress_bar():
            deadline = Deadline.of(self.time_limit)
            self._checked_relations()
            for certificate in ("objective_", "bound_", "gap_", "certificate_", "history_"):
                self.__dict__.pop(certificate, None)
            require_target(self, y)
            read = TrainingData.of(
                self._read_training_table(X, y), y, self.class_weight, sample_weight
            )
            data = read.used()
            table, weights, self.classes_ = data.table, data.weights, data.classes
            ranked = self._ranked(table, len(read.codes))
            by_class = ranked.weights_by_class(data.codes, len(data.classes), weights)
            say_rule = self._reporter(ranked) if self.verbose else None
            relations = self._relations_of(ranked)
            unit = 1.0 if (weights % 1 == 0).all() else float(weights.min())
            training = TrainingTable(ranked, by_class, relations, deadline, say_rule, unit)
            self._set_rules(training, learn(training))
            if self.stopped_ == "time_limit":
                self._warn_late()
            elif all(rule.label == self.rules_.default for rule in self.rules_.rules):
                encoder = PropositionEncoder()
                known = isinstance(table, PackedTable)
                encoded: Any = table if known else encoder.pack(encoder.fit_table(table)[0])
                names = self.propositions_ if known else encoder.get_feature_names_out()
                warn_of_largest_class(self.rules_.default, encoded, data.labels, names, OTHER_CLASS)
            return self

    # -- prediction ---------------------------------------------------------------------------

    @lazily
    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of every row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        covers = self._values(X)  # raises before the fit
        return self.rules_.decide(covers)

    @lazily
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class, (n_k + 1)/(n + K).

        In a list, the rule that decides the row also decides n training rows, n_k of class k.  In a
        set, n and n_k count the training rows of all rules that cover the row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        covers = self._values(X)
        return self.rules_.probabilities(covers)

    def explain(self, X: Any) -> Any:
        """Explain predictions by the rules that rows satisfy and the deciding rule.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            A table with the columns that the rules name.

        Returns
        -------
        ListExplanation or SetExplanation
            It prints all reasons for one row, or a line for each of several rows.

        Raises
        ------
        DataError
            If the table cannot be read as in training, or has no rows.
        """
        check_is_fitted(self, "rules_")
        table = self.encoder_.read_table(X) if self._conditions is None else Table.of(X)
        return self.rules_.explain(table)

    def _values(self, X: Any) -> npt.NDArray[np.bool_]:
        """Return the truth of every rule on every row, bool of shape (n, R)."""
        check_is_fitted(self, "rules_")
        if self._conditions is None:
            table = self.encoder_.read_table(X)
            if not len(table) and needs_rows():
                raise DataError(f"X has 0 sample(s) (shape={table.shape}); pass at least one row.")
            return self.rules_.covers(table)
        packed = self._read_table(X)
        truths = packed.truths(packed.columns)
        covers = np.ones((len(self._conditions), packed.n_rows), dtype=np.bool_)
        for cover, conditions in zip(covers, self._conditions, strict=True):
            for column, _, rank in conditions:
                cover &= truths[column] == rank
        return covers.T

    # -- learning -----------------------------------------------------------------------------

    def _learner(self) -> Callable[[TrainingTable], LearnedRules]:
        """Check the parameters and return the learner."""
        check_choice("learner", self.learner, LEARNERS)
        for name in ("max_rules", "max_conditions"):
            check_integer(name, getattr(self, name), otherwise="None for the default")
        check_integer("optimizations", self.optimizations, 0)
        check_integer("beam_width", self.beam_width)
        check_number("min_weight", self.min_weight, 0, otherwise="None for the default")
        check_number("significance", self.significance, 0, np.nextafter(1, 0))
        check_number("min_bucket", self.min_bucket, 0, above=True)
        check_number("penalty", self.penalty, 0)
        check_number("tol", self.tol, 0)
        check_number("time_limit", self.time_limit, 0, otherwise="None for no limit")
        if self.learner == "optimal":
            return self._optimal
        if self.learner == "oner":
            return partial(one_rule, min_bucket=float(self.min_bucket))
        own = self.learner in ("ripper", "irep")  # min_weight counts a rule's own class
        options = CoveringOptions(
            description_length=self.learner == "ripper",
            optimizations=int(self.optimizations),
            beam_width=int(self.beam_width),
            significance=float(self.significance),
            min_weight=float((2 if own else 1) if self.min_weight is None else self.min_weight),
            max_conditions=int(self.max_conditions or UNLIMITED),
            max_rules=int(self.max_rules or UNLIMITED),
        )
        if not own:
            return partial(cn2, options=options, ordered=self.learner == "cn2")
        seed = random_source(self.random_state).randint(2**31 - 1, size=4)
        return partial(ripper, options=options, generator=np.random.default_rng(seed))

    def _read_training_table(self, X: Any, y: Any) -> Table | PackedTable:
        """Return the table itself, or its packed propositions."""
        automatic = isinstance(self.encoder, str) and self.encoder == "auto"
        if automatic and self.learner == "optimal":
            self._n_columns = (X if len(getattr(X, "shape", ())) == 2 else Table.of(X)).shape[1]
        if not automatic or self.learner == "optimal" or is_sparse(X):
            packed: PackedTable = self._fit_table(X, y)
            if not automatic or self.learner == "optimal" or self.encoder_ is None:
                return packed
        self.__dict__.pop("feature_names_in_", None)
        self.encoder_ = self._auto_encoder()
        table: Table = self.encoder_.fit_table(in_memory(X))[0]  # conditions cut numbers anywhere
        self._copy_from(self.encoder_, ("n_features_in_", "feature_names_in_"))
        return table

    def _ranked(self, table: Table | PackedTable, n_read: int) -> RankedTable:
        """Return the table as ranks, without any influence of rows of weight 0."""
        if isinstance(table, Table):
            if len(table) < n_read:
                self.encoder_.learn(table)
            return RankedTable.of(table, self.encoder_.plans_)
        return RankedTable.of_packed(table, self._encoding.leaves)

    def _auto_encoder(self) -> PropositionEncoder:
        relations = self._checked_relations()
        orders = [relation for relation in ("<=", ">=") if relation in relations]
        nominal: Any = "auto" if {"=", "!="} & {*relations} else []
        cuts = min(MAX_CUTS, MANY_CUTS // max(1, self._n_columns))
        return PropositionEncoder(
            cut_points="auto" if self.learner != "optimal" else max(MIN_CUTS, cuts),
            negations="!=" in relations,
            numeric="both" if len(orders) != 1 else orders[0],
            nominal="all" if not orders else nominal,
        )

    def _useful(self, encoding: Encoding, table: Any) -> npt.NDArray[np.intp]:
        """Return the positions of propositions with allowed relations or of Boolean columns."""
        every = super()._useful(encoding, table)
        if not isinstance(self.encoder, str):
            return every
        useful = [j for j in every.tolist() if self._is_allowed(encoding.leaves[j])]
        if not useful:
            raise DataError(
                f"no proposition with {', '.join(self.relations)} in this table. Add relations: "
                "'=' for columns of text, '<=' and '>=' for numbers."
            )
        return np.array(useful, dtype=np.intp)

    def _is_allowed(self, leaf: Formula) -> bool:
        if isinstance(leaf, Comparison) and leaf.relation in RELATIONS:
            asked = leaf.relation in self._checked_relations()
            return asked or (leaf.relation == "=" and leaf.value == 0)
        return True  # Boolean columns and missing values

    def _checked_relations(self) -> tuple[str, ...]:
        """Return the relations as a tuple."""
        one = isinstance(self.relations, str) or not isinstance(self.relations, Iterable)
        given: tuple[Any, ...] = (self.relations,) if one else tuple(self.relations)
        if not given or any(relation not in RELATIONS for relation in given):
            raise ParameterError(
                f"relations={self.relations!r}; expected some of {', '.join(map(repr, RELATIONS))}."
            )
        return given

    def _relations_of(self, ranked: RankedTable) -> npt.NDArray[np.int64]:
        """Return the kinds of conditions of each column as bits, in the code of :class:`Growth`."""
        asked = self._checked_relations()
        orders = 2 * ("<=" in asked) + 4 * (">=" in asked)
        values = 1 * ("=" in asked) + 8 * ("!=" in asked)
        found = []
        for column in ranked.columns:
            if column.encoded:
                relations = 1 if "!=" in asked else 16
            elif column.proposition is not None:
                relations = 1
            else:
                relations = orders if column.ordered and orders else values
            found.append(relations + 32 * column.missing)
        return np.array(found, dtype=np.int64)

    def _warn_late(self) -> None:
        """Warn that the time limit stopped the fit."""
        what = f"the list has {counted(len(self.rules_.rules), 'rule')} so far"
        advice = "Allow more time."
        if hasattr(self, "gap_"):
            what = f"another list may have an objective that is smaller by {self.gap_:.2g}"
            advice = "Allow more time, or a larger tol."
        said = f"stopped by the time limit: {what}. {advice}"
        warnings.warn(said, ConvergenceWarning, stacklevel=3)

    def _optimal(self, training: TrainingTable) -> LearnedRules:
        """Return the optimal list, and set its certificate."""
        ranked, bar = training.table, self._bar

        def report(step: ListProgress) -> None:
            gap = step.objective - step.bound
            known = f"objective {step.objective:.4g}, gap {gap:.2g}"
            share = 0.0 if gap > self.tol else 1.0
            line = f"best list {step.objective:.6g}, lower bound {step.bound:.6g}"
            bar.at(share, "searching", known, f"{line}; {step.seconds:.1f} s")

        assert ranked.packed is not None  # this learner gets an encoded table
        limits = {
            name: default if getattr(self, name) is None else int(getattr(self, name))
            for name, default in OPTIMAL_LIMITS.items()
        }
        found = optimal_rule_list(
            ranked.packed,
            training.weights,
            penalty=float(self.penalty),
            exclusive=self._exclusive(),
            min_support=float(self.min_weight or 0.0) / float(training.weights.sum()),
            tol=float(self.tol),
            time_limit=training.deadline,
            report=report,
            **limits,
        )
        self.objective_, self.bound_, self.gap_ = found.objective, found.bound, found.gap
        least = f"at most {found.gap:.2g} above the least" if found.gap > 1e-9 else "the least"
        self.certificate_ = (
            f"The objective is {least} over all lists of at most {limits['max_rules']} rules of at "
            f"most {limits['max_conditions']} of its {ranked.packed.n_columns} propositions each."
        )
        self.history_ = ListHistory(found.history)
        rules = [
            Decision(of_conditions([(j, EQUAL, 1) for j in conjunction]), label)
            for conjunction, label in zip(found.conjunctions, found.labels, strict=True)
        ]
        return LearnedRules(rules, found.default, found.stopped)

    def _reporter(self, ranked: RankedTable) -> Callable[[Decision, FloatArray], None]:
        """Return a function that shows each new rule with the rows that it decides."""

        def report(rule: Decision, counts: FloatArray) -> None:
            said = ranked.conjunction(rule.conditions.tolist())
            label = self.classes_[rule.label]
            self._bar.at(
                0.0,
                "searching",
                line=f"if {said} then {label} ({counts[rule.label]:g} of {counts.sum():g})",
            )

        return report

    def _set_rules(self, training: TrainingTable, learned: LearnedRules) -> None:
        """Set the rules, with the training rows that they decide."""
        ranked, rows = training.table, np.arange(training.table.n_rows)
        unordered, left = self.learner == "cn2-unordered", np.ones(len(rows), dtype=np.bool_)
        items = []
        labels = self.classes_.tolist()
        for decision in learned.rules:
            inside = training.covered(decision.conditions, rows)
            among = inside if unordered else inside & left
            left &= ~inside
            counts = tuple(training.weights[among].sum(axis=0).tolist())
            rule = Rule(ranked.conjunction(decision.conditions.tolist()))
            items.append(ClassRule(rule, labels[decision.label], counts))
        rest = tuple(training.weights[left].sum(axis=0).tolist())
        kind = RuleSet if unordered else RuleList
        self.rules_ = kind(tuple(items), tuple(labels), labels[learned.default], rest)
        encoded = any(column.encoded for column in ranked.columns)
        self._conditions = (
            [[tuple(c) for c in d.conditions.tolist()] for d in learned.rules] if encoded else None
        )
        self.stopped_ = learned.stopped
