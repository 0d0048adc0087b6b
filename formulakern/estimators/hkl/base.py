"""What the estimators of hierarchical kernel learning share: parameters, tables, fitting, rules."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from formulakern.encoding.sources import is_sparse
from formulakern.errors import DataError, ParameterError
from formulakern.estimators.base import (
    Encoding,
    check_relations,
    named_formula,
)
from formulakern.estimators.explanation import Explanation, explained
from formulakern.estimators.hkl.history import GrowthHistory, teller
from formulakern.learning.hkl.active_set import GrownSolution, relative_gap
from formulakern.learning.hkl.problem import Machine, different_columns, evaluate, learn
from formulakern.rules.ensemble import RuleEnsemble, WeightedRule
from formulakern.rules.rule import Rule

__all__ = ["HierarchicalLearner"]

FloatArray = npt.NDArray[np.float64]

#: Parameters and their ranges: least, whether it is allowed itself, largest, what is expected.
RANGES: dict[str, tuple[float, bool, float, str]] = {
    "rho": (1.0, False, 2.0, "1 < rho <= 2; near 1 few rules get weight"),
    "C": (0.0, False, 1e50, "a number above 0 and at most 1e50, the price of errors"),
    "depth_penalty": (1.0, True, 1e30, "a number from 1 to 1e30"),
    "tol": (0.0, False, 0.999, "a relative duality gap between 0 and 1"),
}


class HierarchicalLearner(BaseEstimator):  # type: ignore[misc]
    """The base of :class:`HKLClassifier` and :class:`HKLRegressor`."""

    rho: float
    C: float
    depth_penalty: float
    loss: str
    tol: float
    max_active: int
    time_limit: float | None
    encoder: Any
    relations: Sequence[str]
    cut_points: int
    verbose: int
    rules_: RuleEnsemble
    _machines: list[Machine]
    _kept: npt.NDArray[np.intp]

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

    # -- what the estimators call -----------------------------------------------------------------

    def _check_parameters(self) -> None:
        for name, (least, allowed, largest, expected) in RANGES.items():
            value = getattr(self, name)
            right = isinstance(value, Real) and not isinstance(value, bool)
            if not right or not (least <= value <= largest) or (value == least and not allowed):
                raise ParameterError(f"{name}={value!r}; expected {expected}.")
        for name in ("max_active", "cut_points"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise ParameterError(f"{name}={value!r}; expected an integer, at least 1.")
        limit = self.time_limit
        if limit is not None and (
            not isinstance(limit, Real) or isinstance(limit, bool) or not 0 <= limit < np.inf
        ):
            raise ParameterError(f"time_limit={limit!r}; expected seconds, or None for no limit.")
        check_relations(self.relations)

    def _fit_encoding(self, X: Any, y: Any) -> Any:
        """Fit the encoder, and keep the different propositions; the encoded training rows."""
        self._encoding, encoded = Encoding.fit(
            self, X, y, self.encoder, check_relations(self.relations), self.cut_points
        )
        self._kept = different_columns(encoded)
        return encoded[:, self._kept]

    def _learn(
        self,
        encoded: Any,
        problems: dict[str, FloatArray],
        weights: FloatArray,
        start: HierarchicalLearner | None,
    ) -> None:
        """Solve a problem for each label vector, and set what is known of the solutions."""
        begun = time.perf_counter()
        dense = encoded.toarray() if is_sparse(encoded) else np.asarray(encoded)
        used = weights > 0
        bits = dense[used] != 0
        options = {"rho": float(self.rho), "C": float(self.C), "loss": self.loss}
        options["depth_penalty"] = float(self.depth_penalty)
        machines: list[Machine] = []
        for k, (name, y) in enumerate(problems.items()):
            limit = None
            if self.time_limit is not None:
                left = self.time_limit - (time.perf_counter() - begun)
                limit = max(0.0, left / (len(problems) - k))
            before: GrownSolution | None = None
            if start is not None and np.array_equal(start._kept, self._kept):
                before = start._machines[k].grown
            machine = learn(
                bits,
                y[used],
                weights[used],
                options,
                tol=float(self.tol),
                max_nodes=int(self.max_active),
                time_limit=limit,
                start=before,
                tell=teller(self.verbose, name),
            )
            machines.append(machine)
        self._machines = machines
        self.objective_ = float(sum(machine.objective for machine in machines))
        self.lower_bound_ = float(sum(machine.grown.lower_bound for machine in machines))
        self.gap_ = relative_gap(self.objective_, self.lower_bound_)
        self.hull_size_ = sum(len(machine.grown.nodes) for machine in machines)
        self.n_weights_ = sum(machine.n_weights for machine in machines)
        steps = [(s, n) for n, m in zip(problems, machines, strict=True) for s in m.grown.history]
        self.history_ = GrowthHistory(tuple(s for s, _ in steps), tuple(n for _, n in steps))
        self.n_iter_ = max(1, len(self.history_))
        self.stopped_ = next(
            (m.grown.status for m in machines if m.grown.status != "optimal"), "optimal"
        )

    def _warn_if_open(self) -> None:
        """Say by how much the gap is not closed."""
        if self.gap_ <= self.tol or self.stopped_ == "interrupted":
            return
        advice = {
            "time limit": "Allow more time, a larger tol, or a smaller C.",
            "node limit": "Raise max_active or tol, lower rho towards 1, or choose a smaller C.",
        }.get(self.stopped_, "Raise tol, or choose a smaller C.")
        warnings.warn(
            f"stopped by the {self.stopped_} at {self.hull_size_} conjunctions; the relative "
            f"duality gap is {self.gap_:.2g}, above tol={self.tol:g}. {advice}",
            ConvergenceWarning,
            stacklevel=4,
        )

    def _rules_of(
        self,
        machine: Machine,
        encoded: Any,
        winner: Any,
        loser: Any,
        right: npt.NDArray[np.bool_],
        weights: FloatArray,
    ) -> tuple[list[Any], list[WeightedRule]]:
        """The rules of one machine that speaks for ``winner``, against ``loser``.

        Where they differ, a rule of negative weight is one for ``loser``; else the weight stays
        negative.  ``right`` marks the rows of the class ``winner``.
        """
        used = weights > 0
        covers = evaluate(machine.rules, encoded)[used]
        right, weights = right[used], weights[used]
        rules = []
        for place, node in enumerate(machine.rules):
            weight, cover = float(machine.weights[place]), covers[:, place]
            share = float(weights[cover & right].sum() / weights[cover].sum())
            names = (winner, loser)
            if weight < 0 and winner != loser:
                weight, share, names = -weight, 1 - share, (loser, winner)
            rules.append(
                WeightedRule(
                    Rule(named_formula(self._original(node), self._encoding.leaves)),
                    weight,
                    *names,
                    int(cover.sum()),
                    float(cover.mean()),
                    share,
                )
            )
        return [self._original(node) for node in machine.rules], rules

    def _original(self, node: tuple[int, ...]) -> tuple[int, ...]:
        """A conjunction by the positions of the encoding."""
        return tuple(int(self._kept[i]) for i in node)

    def _values(self, X: Any) -> npt.NDArray[np.bool_]:
        """Which rows satisfy which rule of ``rules_``."""
        check_is_fitted(self, "rules_")
        return evaluate(self._features, self._encoding.read(self, X))

    def _scores(self, X: Any) -> FloatArray:
        values = self._values(X)
        return np.asarray(values @ self.rules_.votes() + np.array(self.rules_.intercept))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        if self.encoder is not None:
            tags.input_tags.allow_nan = True
            tags.input_tags.string = True
            tags.input_tags.categorical = True
        return tags
