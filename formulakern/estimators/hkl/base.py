"""What the estimators of hierarchical kernel learning share: parameters, tables, fitting, rules."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from formulakern.arrays import FloatArray
from formulakern.checks import check_flag, check_integer, check_number
from formulakern.deadline import Deadline, check_time_limit
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.partitioned import summary_of
from formulakern.encoding.summary import Summary
from formulakern.errors import DataError, ParameterError
from formulakern.estimators.base import TableEstimator, encoded_rows
from formulakern.estimators.encoder import PropositionEncoder
from formulakern.estimators.hkl.history import GrowthHistory, step_line
from formulakern.estimators.hkl.monotone import asked_of, read_directions, signs_of
from formulakern.estimators.hkl.training_rows import TrainingRows
from formulakern.estimators.rule_model import RuleModel
from formulakern.learning.hkl.active_set import GrowthStep, relative_gap
from formulakern.learning.hkl.multinomial import learn_together
from formulakern.learning.hkl.problem import HierarchicalModel, learn
from formulakern.rules.ensemble import WeightedRule
from formulakern.rules.features import Conjunction, Degree, Feature, LinearTerm
from formulakern.solvers.solution import share_done
from formulakern.text import counted

__all__ = ["HierarchicalEstimator", "HierarchicalLearner"]


#: Parameters and their ranges: least, whether it is allowed itself, largest, what is expected.
RANGES: dict[str, tuple[float, bool, float, str]] = {
    "rho": (1.0, False, 2.0, "1 < rho <= 2; near 1 few rules get weight"),
    "C": (0.0, False, 1e50, "'auto', or a number above 0 and at most 1e50"),
    "depth_penalty": (1.0, True, 1e30, "a number from 1 to 1e30"),
    "tol": (0.0, False, 0.999, "a relative duality gap between 0 and 1"),
}


#: ``C="auto"`` is this over the square root of the number of rows; for squared errors, of numbers
#: that differ from their mean by at most 1, the latter.
AUTOMATIC_C, AUTOMATIC_SQUARED = 6000.0, 300.0
#: What a linear term adds to the norm, per unit of its weight; a conjunction of l propositions adds
#: (1 + depth_penalty)^l.
LINEAR_PENALTY = 1.0


@dataclass(eq=False, repr=False)
class HierarchicalEstimator(RuleModel):
    """What all estimators of hierarchical kernel learning are told, and how they read a table."""

    _: KW_ONLY
    relations: Sequence[str] = ("=", "<=", ">=")
    tol: float = 1e-2
    max_active: int = 5000
    linear: bool = True
    monotone: Mapping[str, int] | None = None
    _terms: tuple[LinearTerm, ...] = field(init=False)
    _directions: dict[str, int] = field(init=False)  # of the columns of ``monotone``

    def _encode(self, encoder: Any, X: Any, y: Any = None, *, reset: bool = True) -> Any:
        """The propositions, and beside them the numeric columns as degrees."""
        if not isinstance(encoder, PropositionEncoder):
            self._terms = ()
            return super()._encode(encoder, X, y, reset=reset)
        table = encoder.fit_table(X, y) if reset else encoder.read_table(X)
        if reset:
            automatic = isinstance(self.encoder, str)
            self._directions = read_directions(self.monotone, encoder, table, automatic)
            numeric = (plan.name for plan in encoder.plans_ if plan.kind == "numeric")
            terms = (linear_term(summary_of(table, name)) for name in numeric if self.linear)
            self._terms = tuple(term for term in terms if term is not None)
        return encoded_rows(encoder, table, self._terms)

    def _share_encoding(self, other: TableEstimator) -> None:
        super()._share_encoding(other)
        self._copy_from(other, ("_terms", "_directions"))

    def _fit_table(self, X: Any, y: Any) -> Any:
        """The encoded training rows; only different propositions that vary are kept."""
        self._terms, self._directions = (), {}
        table = super()._fit_table(X, y)
        different = self._signed_columns(table) if self.monotone else table.different_columns()
        self._keep(different)
        return table.select(different)

    def _signed_columns(self, table: PackedTable) -> npt.NDArray[np.intp]:
        """The propositions that may get a weight under ``monotone``.

        Of equal ones only those are left out whose weights have the same sign.
        """
        if not isinstance(self.encoder_, PropositionEncoder):
            raise ParameterError(
                f"monotone={self.monotone!r} with encoder={self.encoder!r} on this table: the "
                "propositions of its columns are not known. Write encoder='auto' and pass a dense "
                "table, or give a PropositionEncoder."
            )
        asked = np.array([asked_of(leaf, self._directions) for leaf in self._leaves], dtype=object)
        if all(sign is None for sign in asked):
            raise DataError(
                "no proposition with <= or >= in this table, and the others get no weight under "
                f"monotone={self.monotone!r}. Add relations, or pass rows that differ."
            )
        alike = [np.flatnonzero(asked == sign) for sign in (-1, 0, 1)]
        kept = [some[table.select(some).different_columns()] for some in alike if len(some)]
        return np.sort(np.concatenate(kept))


@dataclass(eq=False, repr=False)
class HierarchicalLearner(HierarchicalEstimator):
    """The base of :class:`HKLClassifier` and :class:`HKLRegressor`."""

    rho: float = 1.1
    C: float | Literal["auto"] = "auto"
    depth_penalty: float = 3.0
    max_rules: int | None = None
    loss: Any = field(init=False)
    C_: float = field(init=False)
    _models: list[HierarchicalModel] = field(init=False)

    def _check_parameters(self) -> None:
        for name, (least, allowed, largest, expected) in RANGES.items():
            value = getattr(self, name)
            if name == "C" and isinstance(value, str) and value == "auto":
                continue
            check_number(name, value, least, largest, above=not allowed, expected=expected)
        check_integer("max_active", self.max_active)
        check_integer("max_rules", self.max_rules, otherwise="None for no limit")
        check_integer("cut_points", self.cut_points)
        check_time_limit(self.time_limit)
        check_flag("linear", self.linear)
        self._checked_relations()

    def _learn(
        self,
        rows: TrainingRows,
        names: Sequence[str],
        start: HierarchicalLearner | None,
        *,
        deadline: Deadline,
    ) -> None:
        """Solve the problem of each name, and set what is known of the solutions."""
        squared, ordered = self.loss == "squared", rows.n_thresholds > 0
        automatic = automatic_C(rows.total, AUTOMATIC_SQUARED if squared else AUTOMATIC_C)
        if ordered:  # a row has as many losses
            automatic /= math.sqrt(rows.n_thresholds)
        self.C_ = automatic if isinstance(self.C, str) else float(self.C)
        options = {"rho": float(self.rho), "C": self.C_}
        options |= {"depth_penalty": float(self.depth_penalty), "other_penalty": LINEAR_PENALTY}
        warm = start._models if start is not None and start._leaves == self._leaves else []
        limits: dict[str, Any] = {"tol": float(self.tol), "max_nodes": int(self.max_active)}
        limits["max_rules"] = None if self.max_rules is None else int(self.max_rules)
        signs = signs_of(self._leaves, self._terms, self._directions)
        self._bar.at(0.0, "growing")
        reports = [partial(self._report, name) for name in names]
        if len(names) > 1 and self.loss == "logistic":
            all_classes = rows.together()
            data = all_classes.examples
            models, objective, bound = learn_together(
                all_classes.table,
                data.kind,
                all_classes.codes,
                data.weights,
                {**options, "loss": self.loss},
                deadline=deadline,
                start=[model.grown for model in warm],
                report=lambda k, step: reports[k](step),
                others=data.others,
                groups=all_classes.groups,
                **limits,
            )
        else:
            models = []
            for k in range(len(names)):
                until = deadline.part(1 / (len(names) - k))
                if any(model.grown.status == "interrupted" for model in models):
                    until = Deadline.of(0.0)  # the others are what is found at once
                problem = rows.problem(k, len(names))
                data = problem.examples
                model = learn(
                    problem.table,
                    data.kind,
                    data.y,
                    data.weights,
                    {**options, "loss": self.loss},
                    deadline=until,
                    start=warm[k].grown if warm else None,
                    report=reports[k],
                    signs=signs,
                    others=data.others,
                    group=data.group,
                    groups=problem.groups,
                    **limits,
                )
                models.append(model)
            objective = float(sum(model.objective for model in models))
            bound = float(sum(model.grown.lower_bound for model in models))
        self._models = models
        self.objective_, self.lower_bound_ = objective, bound
        self.gap_ = relative_gap(self.objective_, self.lower_bound_)
        self.hull_size_ = sum(len(model.grown.nodes) for model in models)
        self.n_weights_ = sum(model.n_weights for model in models)
        steps = [(s, n) for n, m in zip(names, models, strict=True) for s in m.grown.history]
        self.history_ = GrowthHistory(tuple(s for s, _ in steps), tuple(n for _, n in steps))
        self.n_iter_ = max(1, len(self.history_))
        open_ones = [m.grown.status for m in models if m.grown.status != "optimal"]
        self.stopped_ = [*open_ones, "optimal"][0]

    def _report(self, problem: str, step: GrowthStep) -> None:
        """Say how far it is."""
        alone = not problem or self.loss == "logistic"  # else classes are learned apart
        share = share_done(1.0, step.gap, self.tol) if alone else 0.0
        known = f"gap {step.gap:.2g}, {step.n_used} rules"
        what = f"growing {problem}" if problem else "growing"
        self._bar.at(share, what, known, step_line(problem, step))

    def _warn_if_open(self, stacklevel: int = 4) -> None:
        """Say by how much the gap is not closed; of a fit that calls this itself, at level 3."""
        gap, size = self.gap_, counted(self.hull_size_, "conjunction")
        if self.stopped_ == "interrupted":
            warnings.warn(
                f"interrupted at {size}: the best model so far is kept, whose relative duality gap "
                f"is {gap:.2g}.",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )
            return
        if self.max_rules is not None:  # what the limit costs is no fault of the search
            gap = min(gap, max(model.grown.gap for model in self._models))
        if gap <= self.tol:
            return
        advice = {
            "time limit": "Allow more time, a larger tol, or a smaller C.",
            "node limit": "Raise max_active or tol, lower rho towards 1, or choose a smaller C.",
        }.get(self.stopped_, "Raise tol, or choose a smaller C.")
        warnings.warn(
            f"stopped by the {self.stopped_} at {size}; the relative duality gap is {gap:.2g}, "
            f"above tol={self.tol:g}. {advice}",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )

    def _rules_of(
        self,
        model: HierarchicalModel,
        table: PackedTable,
        weights: FloatArray,
        right: npt.NDArray[np.bool_] | None = None,
        winner: Any = None,
        loser: Any = None,
        numbers: FloatArray | None = None,
    ) -> list[tuple[Feature, WeightedRule]]:
        """The rules of one model, which speaks for ``winner`` if there are classes.

        Where it speaks against one class, ``loser``, a rule of negative weight is one for that;
        else the weight stays negative.  ``right`` marks the rows of the class ``winner``; of the
        rows of positive weight those that a rule covers and those of the class are counted by
        ``weights``, which are 1 unless the user gave others.  A row of the table stands for
        ``numbers`` rows, 1 by default.
        """
        used = weights > 0
        weights = weights[used]
        numbers = np.ones(len(weights)) if numbers is None else numbers[used]
        base = np.nan if right is None else float(np.average(right[used], weights=weights))
        found: list[tuple[Feature, WeightedRule]] = []
        for node, weight in zip(model.rules, model.weights.tolist(), strict=True):
            names, shares = (winner, loser), (np.nan, base)
            if isinstance(node, int):  # it counts in every row, with a number
                if weight < 0 and loser is not None:
                    weight, names = -weight, (loser, winner)
                term = self._terms[node]
                found.append((Degree(node, term), WeightedRule(term, weight, *names)))
                continue
            cover = table.cover(node)[used]
            if right is not None:
                shares = float(weights[cover & right[used]].sum() / weights[cover].sum()), base
            if weight < 0 and loser is not None:
                weight, names, shares = -weight, (loser, winner), (1 - shares[0], 1 - base)
            support = int(numbers[cover].sum())
            coverage = float(support / numbers.sum())
            feature = Conjunction(node)
            rule = feature.named(self._leaves)
            found.append((feature, WeightedRule(rule, weight, *names, support, coverage, *shares)))
        return found


def automatic_C(total: float, factor: float = AUTOMATIC_C) -> float:
    """The penalty parameter that ``"auto"`` stands for, by the number of rows Σw."""
    return factor / math.sqrt(total)


def linear_term(one: Summary) -> LinearTerm | None:
    """A numeric column between its 2.5 % and 97.5 % quantiles; None where it does not vary."""
    extent = one.extent()
    return None if extent is None else LinearTerm(one.name, *extent)
