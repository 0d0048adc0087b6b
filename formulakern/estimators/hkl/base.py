"""The shared base of the HKL estimators: fitting, scores, rules and histories."""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from formulakern.arrays import FloatArray
from formulakern.checks import check_flag, check_integer, check_number
from formulakern.deadline import Deadline, check_time_limit
from formulakern.display.history import History
from formulakern.display.plots import draw_gaps
from formulakern.encoding.fitted import Encoding
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.summary import Summary
from formulakern.estimators.encoder import PropositionEncoder
from formulakern.estimators.monotone import required_sign, required_signs
from formulakern.estimators.row_counts import RowCounts
from formulakern.estimators.rule_model import RuleClassifier, RuleModel
from formulakern.estimators.rule_path import RulePath, share_of, sizes_of
from formulakern.estimators.validation import TrainingData
from formulakern.learning.hkl.active_set import GrowthStep
from formulakern.learning.hkl.lasso import is_large, longest_of, scope_of
from formulakern.learning.hkl.options import Node, Options, Signs
from formulakern.learning.hkl.ordinal import Examples, cumulative_examples, log_chances
from formulakern.learning.hkl.problem import HierarchicalModel, ScoreFunction, learn
from formulakern.learning.hkl.rows import Groups, Rows
from formulakern.learning.selection import rule_limit
from formulakern.partitions.lazy_rows import lazily
from formulakern.rules.features import Conjunction, Feature, LinearFeature, LinearTerm
from formulakern.rules.voting import WeightedRule, log_probabilities
from formulakern.solvers.hierarchical.solve import relative_gap
from formulakern.solvers.solution import share_done
from formulakern.text import counted

#: Ranges of parameters: lower limit, whether it is included, upper limit, expected values.
RANGES: dict[str, tuple[float, bool, float, str]] = {
    "rho": (1.0, True, 2.0, "1 <= rho <= 2; near 1 few rules get weight"),
    "C": (0.0, False, 1e50, "'auto', or a number above 0 and at most 1e50"),
    "depth_penalty": (1.0, True, 1e30, "a number from 1 to 1e30"),
    "tol": (0.0, False, 0.999, "a relative duality gap between 0 and 1"),
}
#: ``C="auto"`` is ``AUTOMATIC_C`` over the square root of the number of rows.  Squared errors use
#: ``AUTOMATIC_SQUARED``, for target numbers scaled to differ from their mean by at most 1.
AUTOMATIC_C, AUTOMATIC_SQUARED = 6000.0, 300.0
#: The cost of a linear term in the norm, per unit of its weight.  A conjunction of l propositions
#: costs (1 + depth_penalty)^l.
LINEAR_PENALTY = 1.0
#: The automatic depth penalty is ``DEPTH``.  For tables without numeric columns, with a limit of
#: rules and the logistic loss, it is ``DEPTH_OF_WORDS``, and the automatic C is ``C_OF_WORDS``.
DEPTH, DEPTH_OF_WORDS, C_OF_WORDS = 3.0, 1.0, 800.0
#: The automatic depth penalty of tables so large that only pairs of propositions are searched, and
#: the factor of the automatic C and of ``LINEAR_PENALTY``.
DEPTH_OF_PAIRS, PENALTY_SHARE_OF_PAIRS = 2.0, 0.75
#: The values of ``stopped_`` of a fit that keeps the best solution so far.
STOPPED_EARLY = ("time_limit", "interrupted")
#: The smallest share of a class.
MIN_CLASS_SHARE = 1e-12


#: Makes the examples of a problem from one example for each row or group, with its class or number.
MakeExamples = Callable[[Examples], Examples]
#: Returns the rows of the problem whose examples a ``MakeExamples`` function makes.
ProblemOf = Callable[[MakeExamples], Rows]


class SeenRows(NamedTuple):
    """Rows, or groups of rows of one class on which every rule is constant.

    ``weights``, ``counts`` and ``numbers`` (m,) are the weight of each group in learning, the sum
    of its sample weights, and its number of rows.
    """

    table: PackedTable
    labels: npt.NDArray[Any]
    weights: FloatArray
    counts: FloatArray
    numbers: FloatArray


def whole_problems(table: PackedTable, y: FloatArray, weights: FloatArray) -> ProblemOf:
    """Return the problems of rows in this process, without rows of weight 0."""
    used = weights > 0
    kept = table if used.all() else table.take(used)
    different, kind = kept.distinct()
    examples = Examples(kind, y[used], weights[used], kept.linear_columns)
    return lambda made: Rows.merged(different, made(examples))


def problems_of(data: TrainingData) -> ProblemOf:
    """Return the problems of classified rows; only classes with weight are numbered."""
    places = np.where(data.present, np.cumsum(data.present) - 1, -1)
    if not data.partitioned:
        return whole_problems(data.table, places[data.codes].astype(np.float64), data.weights)
    rows, table = data.rows(places), data.table
    n_classes = int(places.max()) + 1
    return lambda made: Groups(rows, table.n_columns, n_classes, made, table.ordered)


def seen_rows(data: TrainingData, rows: Rows, rules: Sequence[Node | int]) -> SeenRows:
    """Return the rows, or groups of rows of one class on which each of ``rules`` is constant."""
    if not isinstance(rows, Groups):
        counts = np.where(data.weights > 0, data.sample_weights, 0.0)
        return SeenRows(data.table, data.labels, data.weights, counts, np.ones(len(counts)))
    nodes = [rule for rule in rules if isinstance(rule, tuple)]
    rows.split_groups(nodes, [rule for rule in rules if isinstance(rule, int)])
    classes = np.flatnonzero(data.present)[rows.codes]
    counts, numbers = rows.weights / data.factors[classes], rows.numbers.astype(np.float64)
    return SeenRows(rows.table, data.classes[classes], rows.weights, counts, numbers)


@dataclass(eq=False, repr=False)
class HierarchicalBase(RuleModel):
    """The base of the estimators of hierarchical kernel learning."""

    _: KW_ONLY
    rho: float = 1.0
    tol: float = 1e-2
    max_active: int = 5000
    linear: bool = True
    loss: Any = field(init=False)
    _proves: bool = field(init=False, default=True)  # False in the folds of a cross-validation
    _has_path: bool = field(init=False, default=True)  # False if only the scores are of interest
    C_: float = field(init=False)
    path_: RulePath = field(init=False)
    classes_: npt.NDArray[Any] = field(init=False)
    _models: list[HierarchicalModel] = field(init=False)

    def _linear_terms(
        self, encoder: PropositionEncoder, summaries: Mapping[str, Summary]
    ) -> tuple[LinearTerm, ...]:
        numeric = (plan.name for plan in encoder.plans_ if plan.kind == "numeric")
        terms = (linear_term(summaries[name]) for name in numeric if self.linear)
        return tuple(term for term in terms if term is not None)

    def _settle(self) -> None:
        """Remove the solutions that warm-start the next problem of a path."""
        super()._settle()
        for model in (self, getattr(self, "best_estimator_", self)):
            vars(model).pop("_models", None)

    def _searches(self) -> bool:
        return float(self.rho) == 1.0

    def _searches_partitions(self, n_columns: int, n_rows: int) -> bool:
        return self.learns_in_partitions and is_large(n_columns, n_rows)

    def _useful(self, encoding: Encoding, table: Any) -> npt.NDArray[np.intp]:
        """Return the positions of distinct propositions that vary.

        Under ``monotone`` equal propositions are merged only if their weights have the same sign.
        """
        kept = super()._useful(encoding, table)
        asked = np.array(
            [required_sign(encoding.leaves[j], encoding.directions) for j in kept.tolist()]
        )
        alike = [kept[asked == sign] for sign in (-1, 0, 1) if (asked == sign).any()]
        different = [some[table.select(some).different_columns()] for some in alike]
        return np.sort(np.concatenate(different))

    def _check_parameters(self) -> None:
        given = self.get_params(deep=False)
        for name, (least, allowed, largest, expected) in RANGES.items():
            value = given[name]
            if name in ("C", "depth_penalty") and isinstance(value, str) and value == "auto":
                continue
            check_number(name, value, least, largest, above=not allowed, expected=expected)
        check_integer("max_active", self.max_active)
        rule_limit(given["max_rules"])
        check_time_limit(self.time_limit)
        check_flag("linear", self.linear)

    def _solve(
        self,
        problems: ProblemOf,
        total: float,
        names: Sequence[str],
        start: HierarchicalBase | None,
        deadline: Deadline,
        n_thresholds: int = 0,
    ) -> Rows:
        """Solve the problem of each name, set the attributes, and return the rows of the last."""
        squared = self.loss == "squared"
        automatic = self._automatic_C(total, max(1, n_thresholds))
        given = self.get_params(deep=False)
        together = len(names) > 1 and self.loss == "logistic"
        number = 1 if together else len(names)

        def examples_of(k: int) -> MakeExamples:
            if together or squared:
                return lambda examples: examples
            return (
                cumulative_examples if n_thresholds else partial(_against, 1 if number == 1 else k)
            )

        rows = problems(examples_of(0))
        depth, linear = given["depth_penalty"], LINEAR_PENALTY
        if isinstance(depth, str):
            depth = DEPTH_OF_WORDS if self._few_rules() else DEPTH
            if longest_of(rows.table, len(names) if together else 1) == 2:
                depth, linear = DEPTH_OF_PAIRS, PENALTY_SHARE_OF_PAIRS * LINEAR_PENALTY
                automatic *= PENALTY_SHARE_OF_PAIRS
        self.C_ = automatic if isinstance(given["C"], str) else float(given["C"])
        options = Options(
            "multinomial" if together else self.loss,
            self.C_,
            float(self.rho),
            float(depth),
            linear,
            float(self.tol),
            int(self.max_active),
            signs=signs_of(self._encoding),
            proves=self._proves,
            has_path=self._has_path,
            leaves=self._encoding.leaves,
        )
        same = start is not None and start._encoding.leaves == self._encoding.leaves
        warm = start._models if start is not None and same else []
        self._bar.at(0.0, "growing")
        models: list[HierarchicalModel] = []
        shared = together and options.rho == 1.0  # all functions have one history
        for k in range(number):
            until = deadline.part(1 / (number - k))
            if any(model.grown.status == "interrupted" for model in models):
                until = Deadline.of(0.0)  # the remaining problems stop at once
            rows = problems(examples_of(k)) if k else rows
            before = warm[k].grown if warm else None
            report = partial(self._report, [""] if shared else names[k:])
            most = share_of(self._limit, k, number)
            models.append(learn(rows, replace(options, max_rules=most), until, before, report))
        self._models = models
        self._prove(rows)
        self.path_ = RulePath.of(models, self._limit)
        self.hull_size_ = sum(len(nodes) for model in models for nodes in model.grown.nodes)
        histories = [history for model in models for history in model.grown.history]
        named = zip([""] if shared else names, histories, strict=True)
        steps = [(s, n) for n, history in named for s in history]
        self.history_ = GrowthHistory(tuple(s for s, _ in steps), tuple(n for _, n in steps))
        self.n_iter_ = max(1, len(self.history_))
        open_ones = [m.grown.status for m in models if m.grown.status != "optimal"]
        self.stopped_ = [*open_ones, "optimal"][0]
        return rows

    def _prove(self, rows: Rows) -> None:
        """Set the objective, its lower bound, the gap and the certificate."""
        self.objective_ = float(sum(model.objective for model in self._models))
        self.lower_bound_ = float(sum(model.grown.lower_bound for model in self._models))
        self.gap_ = relative_gap(self.objective_, self.lower_bound_)
        most = f"{100 * self.gap_:.2g} %"
        every = [model.grown for model in self._models]
        lengths = [grown.proven_length for grown in every if grown.proven_length is not None]
        scope = scope_of(rows.table, len(every[0].nodes), min(lengths, default=None))
        self.certificate_ = f"The objective is at most {most} above the minimum over {scope}."
        whole = [model.path[0] for model in self._models if model.path]
        gap = relative_gap(sum(own[2] for own in whole), self.lower_bound_)
        if self._limit is not None and len(whole) == len(self._models) and self.gap_ > gap:
            n = counted(sum(own[0] for own in whole), "rule")
            self.certificate_ += (
                f" Without the limit on rules, {n} are at most {100 * gap:.2g} % above it."
            )
        if len(self._models) == 1 and (compared := self._models[0].compared) is not None:
            gap = relative_gap(self.objective_, compared[1])
            if gap <= self.tol:
                self.certificate_ += (
                    f" No choice of {counted(self._limit or 0, 'rule')} from the {compared[0]} "
                    f"candidates has an objective more than {100 * gap:.2g} % below it."
                )
        self.n_weights_ = sum(one.n_weights for one in self._functions)

    @property
    def _limit(self) -> int | None:
        """The limit of rules for all classes together."""
        return rule_limit(vars(self)["max_rules"])

    def _few_rules(self, most: int = 0) -> bool:
        """Return True if the rules are few and so are the propositions of each numeric column."""
        encoder = self._encoding.encoder
        few = isinstance(encoder, PropositionEncoder) and all(
            plan.kind in ("boolean", "nominal")
            or (plan.kind == "numeric" and len(plan.gaps or plan.propositions) <= most)
            for plan in encoder.plans_
        )
        return few and self._limit is not None and self.loss == "logistic" and self.rho == 1

    def _automatic_C(self, total: float, n_losses: int = 1) -> float:
        """Return the C of ``C="auto"`` for rows of total weight ``total`` with some losses each."""
        if self._few_rules():
            return C_OF_WORDS / math.sqrt(n_losses)
        factor = AUTOMATIC_SQUARED if self.loss == "squared" else AUTOMATIC_C
        return factor / math.sqrt(total * n_losses)

    @property
    def _sizes(self) -> list[int]:
        """The limits of rules that a path compares, empty if there is no limit or no path."""
        return [] if self._limit is None or self.rho > 1 else sizes_of(self._limit, self._limit)

    @property
    def _functions(self) -> list[ScoreFunction]:
        return [one for model in self._models for one in model.functions]

    def _report(self, names: Sequence[str], k: int, step: GrowthStep) -> None:
        """Show the progress of one function."""
        problem = names[k]
        alone = not problem or self.loss == "logistic"  # other losses learn classes separately
        share = share_done(1.0, step.gap, self.tol) if alone else 0.0
        known = f"gap {step.gap:.2g}, {step.n_used} rules"
        what = f"growing {problem}" if problem else "growing"
        self._bar.at(share, what, known, step_line(problem, step))

    def _warn_if_open(self, stacklevel: int = 5) -> None:
        """Warn if the gap exceeds ``tol`` or the fit was interrupted."""
        if self.stopped_ == "unproven":  # a fold, whose scores alone are of interest
            return
        gap, size = self.gap_, counted(self.hull_size_, "conjunction")
        if self.stopped_ == "interrupted":
            message = f"interrupted at {size}: the fit keeps the best model so far. Its relative "
            message += f"duality gap is {gap:.2g}."
        else:
            if self._limit is not None:  # exclude the cost of the limit
                gap = min(gap, max(model.grown.gap for model in self._models))
            if gap <= self.tol:
                return
            advice = {
                "time_limit": "Allow more time, a larger tol, or a smaller C.",
                "node_limit": "Raise max_active or tol, lower rho towards 1, or choose a smaller "
                "C.",
            }.get(self.stopped_, "Raise tol, or choose a smaller C.")
            limit = self.stopped_.replace("_", " ")
            message = f"stopped by the {limit} at {size}; the relative duality gap is "
            message += f"{gap:.2g}, above tol={self.tol:g}. {advice}"
        warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel)

    def _rules_of(
        self, directions: FloatArray, table: PackedTable, counts: RowCounts, of_classes: bool = True
    ) -> list[tuple[Feature, WeightedRule]]:
        """Return the distinct rules of all functions, with their counts on the rows.

        ``directions`` (functions, K) are the votes of each function per unit of weight.
        """
        names = self.classes_.tolist() if of_classes else None
        votes: dict[Node | int, FloatArray] = defaultdict(lambda: np.zeros(directions.shape[1]))
        for function, direction in zip(self._functions, directions, strict=True):
            for node, weight in zip(function.rules, function.weights.tolist(), strict=True):
                votes[node] += weight * direction
        found: list[tuple[Feature, WeightedRule]] = []
        for node, own in votes.items():
            if isinstance(node, int):  # a linear term, which has a value in every row
                term = self._encoding.terms[node]
                found.append(
                    (LinearFeature(node, term), WeightedRule.of_votes(term, own.tolist(), names))
                )
                continue
            rule, cover = Conjunction(node).named(self._encoding.leaves), table.cover(node)
            found.append((Conjunction(node), counts.described(rule, cover, own.tolist(), names)))
        return found


def _against(k: int, examples: Examples) -> Examples:
    """Return examples of class k (1) against the rest (−1)."""
    return examples._replace(y=np.where(examples.y == k, 1.0, -1.0))


def linear_term(one: Summary) -> LinearTerm | None:
    """Return a column as a linear term between its 2.5 % and 97.5 % quantiles; None if constant."""
    extent = one.extent()
    return None if extent is None else LinearTerm(one.name, *extent)


def signs_of(encoding: Encoding) -> Signs | None:
    """Return the signs that ``monotone`` requires of weights, or None without directions."""
    directions = encoding.directions
    if not directions:
        return None
    others = np.array([directions.get(term.column, 0) for term in encoding.terms], dtype=np.int64)
    return Signs(required_signs(encoding.leaves, directions), others)


@dataclass(eq=False, repr=False)
class HierarchicalClassifier(HierarchicalBase, RuleClassifier):
    """The base of :class:`HKLClassifier` and :class:`HKLClassifierCV`."""

    _: KW_ONLY
    loss: Literal["hinge", "squared_hinge", "logistic"] = "logistic"
    logit_adjustment: float = 0.5
    ordinal: bool = False
    adjustment_: FloatArray = field(init=False)
    thresholds_: FloatArray = field(init=False)  # for ordered classes

    def _shares(self, sums: FloatArray) -> tuple[FloatArray, float]:
        """Return the share of each class in the total weight, and τ (0 without an adjustment)."""
        adjusted = self.loss == "logistic" and self.class_weight is None
        tau = float(self.logit_adjustment) if adjusted else 0.0
        return np.maximum(sums / sums.sum(), MIN_CLASS_SHARE), tau

    def _beats_largest_class(
        self, table: PackedTable, labels: npt.NDArray[Any], weights: FloatArray
    ) -> bool:
        """Return True if the fit ended normally, or is as accurate as the largest class alone."""
        if self.stopped_ not in STOPPED_EARLY:
            return True
        right = np.average(self.predict(table) == labels, weights=weights)
        return bool(right >= self._shares(class_sums(labels, weights))[0].max())

    @lazily
    def decision_function(self, X: Any) -> FloatArray:
        """Return the score of each class, Σ_w f_w φ_w(x) + b, less its adjustment.

        The largest score wins.  Ordered classes have one score, which thresholds divide.

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
        if self.loss == "logistic" or super()._has_probabilities():
            return True
        raise AttributeError(
            f"{type(self).__name__} has predict_proba only with loss='logistic'; this model has "
            f"loss={self.loss!r}. For other losses use sklearn.calibration.CalibratedClassifierCV("
            "model, ensemble=False)."
        )

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    @lazily
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the class probabilities e^{s_k} / Σ_j e^{s_j}.

        s are the scores before the adjustment, for two classes half of them.  For ordered classes
        P(y > k) = 1/(1 + e^{θ_k − s}).  Only with ``loss="logistic"``.  :meth:`predict` uses the
        adjusted scores, so its class need not be the most probable one.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        if super()._has_probabilities():
            return np.asarray(super().predict_proba(X))
        scores = self._scores(X)
        levels = self.rules_.levels
        if levels is None:
            return np.asarray(np.exp(log_probabilities(scores + self.adjustment_)))
        chances = np.zeros((len(scores), len(self.classes_)))
        chances[:, np.isin(self.classes_, levels)] = np.exp(
            log_chances(scores[:, 0], self.thresholds_)
        )
        return chances


def class_sums(labels: npt.NDArray[Any], weights: FloatArray) -> FloatArray:
    """Return the total weight of each class, in sorted order of the classes.

    >>> class_sums(np.array(["b", "a", "b"]), np.array([1.0, 2.0, 3.0]))
    array([2., 4.])
    """
    return np.array([weights[labels == name].sum() for name in np.unique(labels)])


class GrowthHistory(History):
    """The rounds of all solved problems, a sequence of :class:`GrowthStep`."""

    STEP = "round"
    COLUMNS = (
        ("n_nodes", "nodes", "d"),
        ("objective", "objective", ".6g"),
        ("gap", "gap", ".2g"),
        ("n_violators", "violators", "d"),
        ("seconds", "seconds", ".2f"),
    )

    def plot(self, ax: Any = None) -> Any:
        """Draw the relative gap against the rounds, one line per problem.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            A new figure by default.
        """

        gaps = {name: self.values("gap", name) for name in dict.fromkeys(self.problems)}
        gaps = gaps or {"": self.values("gap")}
        return draw_gaps(ax, gaps, self.STEP, "relative duality gap")


def step_line(problem: str, step: GrowthStep) -> str:
    """Return the line that ``verbose`` prints for a round."""
    return (
        f"{problem}{': ' if problem else ''}{step.n_nodes} conjunctions, objective "
        f"{step.objective:.6g}, gap {step.gap:.2g}; {step.n_violators} in doubt; "
        f"{step.seconds:.1f} s"
    )
