"""The rules behind a support vector machine: the heaviest features of its hypothesis, exactly.

The model f(x) = Σ_i α_i y_i K(x_i, x) + b is a weighted vote of all features φ of its kernel,
f(x) = Σ_φ w_φ φ(x) + b with w_φ = Σ_i α_i y_i φ(x_i).  Their number is astronomical and w is never
written down; branch and bound over the covers of the support vectors finds the largest |w_φ| and
proves that no other feature weighs more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from formulakern.checks import check_integer
from formulakern.deadline import check_time_limit
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.zero_one import read_packed
from formulakern.errors import ParameterError
from formulakern.estimators.base import propositions_of
from formulakern.estimators.row_counts import RowCounts
from formulakern.estimators.targets import read_classes
from formulakern.kernels.algebra import Kernel
from formulakern.learning.feature_spaces import parts_of
from formulakern.rewrite.pipeline import without_repeats
from formulakern.rules.ensemble import RuleEnsemble, WeightedRule
from formulakern.rules.export.tables import ensemble_html, ensemble_text
from formulakern.rules.features import Instance
from formulakern.rules.rule import Rule
from formulakern.syntax.formula import Formula

__all__ = ["RuleExtraction", "TrainedModel", "extract_rules", "pair_weights"]

#: How far decision values of training rows may be from what the solver promises.
SLACK = 1e-2


@dataclass(frozen=True, eq=False, repr=False)
class RuleExtraction:
    """The rules of largest weight in a support vector machine, and the proof that they are.

    Prints as a table, and is a sequence of :class:`formulakern.WeightedRule`.

    Parameters
    ----------
    ensemble : RuleEnsemble
        The rules, largest weight first, for every pair of classes.
    features : tuple of Instance
        The same rules, by columns of the encoded table.
    proven : bool
        Whether the search ran to the end.
    bounds : dict
        (class, other class) → no feature that is not listed for this pair has a larger absolute
        weight.
    n_evaluated : int
        Features, and partial features, whose weights or bounds were computed.
    seconds : float
        What the search took.

    Examples
    --------
    >>> from formulakern import FormulaSVC, datasets
    >>> X, y = datasets.tic_tac_toe()
    >>> found = FormulaSVC("a & b & c", "distinct").fit(X, y).rules(top=8)
    >>> found.proven, {item.winner for item in found}
    (True, {'positive'})
    """

    ensemble: RuleEnsemble
    features: tuple[Instance, ...]
    proven: bool
    bounds: dict[tuple[Any, Any], float]
    n_evaluated: int
    seconds: float

    def __len__(self) -> int:
        return len(self.ensemble)

    def __iter__(self) -> Any:
        return iter(self.ensemble)

    def __getitem__(self, position: int) -> WeightedRule:
        return self.ensemble[position]

    def to_frame(self) -> Any:
        """One row per rule, as :meth:`RuleEnsemble.to_frame`."""
        return self.ensemble.to_frame()

    def __repr__(self) -> str:
        return f"<RuleExtraction: {len(self)} rules. {self._claim()}>"

    def __str__(self) -> str:
        return f"{ensemble_text(self.ensemble, decides=False)}\n\n{self._claim()}"

    def _repr_html_(self) -> str:
        return ensemble_html(self.ensemble, decides=False, foot=self._claim())

    def _claim(self) -> str:
        bound = max(self.bounds.values(), default=0.0)
        effort = f"{self.n_evaluated:,} features evaluated in {self.seconds:.2f} s"
        claim = "Stopped by the time limit: features that were not reached weigh at most"
        if self.proven:
            claim = "Proven: no other feature weighs more than"
        return f"{claim} {bound:.4g}; {effort}."


def extract_rules(
    svc: SVC,
    kernel: Kernel,
    X: Any,
    y: npt.ArrayLike,
    *,
    top: int = 10,
    names: Sequence[str] | None = None,
    time_limit: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> RuleExtraction:
    """The features with the largest absolute weights in a fitted support vector machine, as rules.

    Parameters
    ----------
    svc : sklearn.svm.SVC
        Fitted with this kernel: ``SVC(kernel=kernel)``, or on the precomputed ``kernel(X)``.
    kernel : Kernel
        A formula kernel (choices included), a family of :mod:`formulakern.boolean` whose features
        are conjunctions or disjunctions, or sums, multiples, cosines and products of these.
    X : table of 0 and 1 of shape (rows, n)
        The training rows.
    y : array-like of shape (rows,)
        Their classes.
    top : int
        How many rules, per pair of classes.
    names : sequence of str, optional
        What the columns say: a rule such as ``"odor = foul"``, or a name. By default the table's
        column names, else x0, x1, ….
    time_limit : float, optional
        Seconds; the best rules found so far come with a proven bound on all others.
    progress : callable, optional
        Called with the share that is done.

    Returns
    -------
    RuleExtraction
        A feature that several substitutions give is listed once, with the weight of one of them.
        The terms of a sum of kernels have features of their own: a rule that two of them share is
        listed for each.
        Features that tie with the last one may be left out.

    Raises
    ------
    ParameterError
        If the model was trained with another kernel or on other rows, or the kernel's features
        cannot be listed.
    DataError
        If X is not a table of 0 and 1, or y does not fit.

    Notes
    -----
    Only support vectors matter to the search. How long it takes depends on how sharply the
    weights are distributed: with a million features it is mostly well below a second.

    References
    ----------
    Polato, Lauriola & Aiolli (2018), A Novel Boolean Kernels Family for Categorical Data,
    Entropy 20(6):444, doi:10.3390/e20060444 (there by a genetic algorithm).

    Examples
    --------
    >>> import formulakern as fk
    >>> X, y = fk.datasets.tic_tac_toe()
    >>> encoder = fk.PropositionEncoder().fit(X)
    >>> table, names = encoder.transform(X), encoder.get_feature_names_out()
    >>> three = fk.kernel("all[3](x)", variables="distinct")
    >>> svc = SVC(kernel=three, C=10).fit(table, y)
    >>> result = fk.extract_rules(svc, three, table, y, names=names, top=8)
    >>> result.proven, {item.winner for item in result}, {item.precision for item in result}
    (True, {'positive'}, {1.0})
    """
    if not isinstance(svc, SVC):
        raise ParameterError(
            f"rules are read from a fitted sklearn.svm.SVC; got {type(svc).__name__}. "
            "For a FormulaSVC call its method rules()."
        )
    if not isinstance(kernel, Kernel):
        raise ParameterError(
            f"kernel is a kernel of this library; got {type(kernel).__name__}. "
            "Write for example fk.kernel('all[3](x)')."
        )
    check_is_fitted(svc)
    table = read_packed(X)
    classes = read_classes(y, table.n_rows)
    model = TrainedModel(svc, kernel, table, classes)
    model.check()
    if names is None:
        names = table.names or [f"x{j}" for j in range(table.n_columns)]
    if len(names) != table.n_columns:
        raise ParameterError(
            f"{len(names):,} names for {table.n_columns:,} columns; give one per column."
        )
    return model.rules(propositions_of(names), top, time_limit, progress)


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A fitted support vector machine, and what it was trained with.

    Parameters
    ----------
    svc : sklearn.svm.SVC
    kernel : Kernel
    rows : PackedTable
        The training rows.
    classes : ndarray of shape (rows,)
    """

    svc: SVC
    kernel: Kernel
    rows: PackedTable
    classes: npt.NDArray[Any]

    def rules(
        self,
        leaves: Sequence[Formula],
        top: int,
        time_limit: float | None,
        progress: Callable[[float], None] | None,
    ) -> RuleExtraction:
        """What :func:`extract_rules` documents; column j of the rows says ``leaves[j]``."""
        check_integer("top", top)
        check_time_limit(time_limit)
        started = time.perf_counter()
        columns = self.rows.take(self.svc.support_)
        parts = parts_of(self.kernel, columns)
        pairs = list(pair_weights(self.svc))
        chosen: list[tuple[Instance, float, tuple[Any, Any]]] = []
        bounds: dict[tuple[Any, Any], float] = {}
        proven, n_evaluated = True, 0
        for number, (winner, loser, weights) in enumerate(pairs):
            found: list[tuple[float, Instance]] = []
            bound = 0.0
            for place, (search, factor) in enumerate(parts):
                spent = time.perf_counter() - started
                left = None if time_limit is None else max(time_limit - spent, 1e-3)
                step = _share(progress, number * len(parts) + place, len(pairs) * len(parts))
                listed_features, outcome = search.run(
                    columns, weights * factor, top=int(top), time_limit=left, progress=step
                )
                found += [(weight, feature) for feature, weight in listed_features]
                bound = max(bound, outcome.bound)
                proven &= outcome.proven
                n_evaluated += outcome.n_evaluated
            found.sort(key=lambda item: -abs(item[0]))
            bounds[winner, loser] = max(bound, *(abs(w) for w, _ in found[top:]), 0.0)
            for weight, feature in found[:top]:
                votes = (winner, loser) if weight > 0 else (loser, winner)
                chosen.append((feature, abs(weight), votes))
        labels = self.svc.classes_.tolist()
        right = [self.classes == label for label in self.svc.classes_]  # also dates
        counts = RowCounts(
            np.ones(len(self.classes), dtype=np.int64), np.stack(right, axis=1).astype(np.float64)
        )
        listed: list[tuple[Instance, WeightedRule]] = []
        for feature, weight, votes in chosen:
            rule = Rule(without_repeats(feature.named(leaves).formula))
            cover, k = feature.values(self.rows), labels.index(votes[0])
            listed.append((feature, counts.described(rule, cover, weight, *votes, k)))
        listed.sort(key=lambda pair: -pair[1].weight)
        if progress is not None:
            progress(1.0)
        ensemble = RuleEnsemble.of((item for _, item in listed), self.svc.classes_.tolist())
        features, seconds = tuple(f for f, _ in listed), time.perf_counter() - started
        return RuleExtraction(ensemble, features, proven, bounds, n_evaluated, seconds)

    def check(self) -> None:
        """Refuse a model that this kernel on these rows cannot have given.

        At the optimum, rows that are no support vectors have y·f(x) ≥ 1 and support vectors have
        y·f(x) ≤ 1, up to the solver's tolerance.
        """
        svc, kernel, rows, classes = self.svc, self.kernel, self.rows, self.classes
        if isinstance(svc.kernel, Kernel) and svc.kernel != kernel:
            raise ParameterError(
                f"the model was trained with {svc.kernel!r}, and the rules of {kernel!r} were "
                "asked for. Pass the kernel that it was trained with."
            )
        if svc.shape_fit_[0] != rows.n_rows:
            raise ParameterError(
                f"the model was trained on {svc.shape_fit_[0]:,} rows; X has {rows.n_rows:,}. "
                "Pass the rows that it was trained on."
            )
        unknown = sorted(set(np.unique(classes).tolist()) ^ set(svc.classes_.tolist()), key=str)
        if unknown:
            raise ParameterError(
                f"the model's classes are {svc.classes_.tolist()}, and y differs in {unknown}. "
                "Pass the classes that it was trained on."
            )
        gram = kernel(rows.take(svc.support_), rows)
        intercepts = np.asarray(svc.intercept_)
        slack = max(SLACK, 10 * svc.tol)
        for (winner, loser, weights), intercept in zip(pair_weights(svc), intercepts, strict=True):
            signs = (classes == winner).astype(float) - (classes == loser)
            used = np.zeros(rows.n_rows, dtype=np.bool_)
            used[svc.support_[weights != 0]] = True
            values = signs * (weights @ gram + intercept)
            scale = slack * max(1.0, float(np.abs(values).max()))
            outside = (signs != 0) & ~used & (values < 1 - scale)
            inside = used & (values > 1 + scale)
            if outside.any() or inside.any():
                row = int(np.flatnonzero(outside | inside)[0])
                raise ParameterError(
                    f"this model is not an optimum for {kernel!r} on these rows: row {row} has a "
                    f"margin of {values[row]:.4g} where the model has "
                    f"{'at least' if outside[row] else 'at most'} 1. "
                    "Pass the kernel, the rows and the classes that it was trained with (and let "
                    "it converge; rows of sample weight 0 are rows that it was not trained with)."
                )


def pair_weights(svc: SVC) -> Any:
    """(class, other class, α_i y_i of the support vectors): positive votes for the first one.

    libsvm's layout: the support vectors are ordered by class, and the row of ``dual_coef_`` for
    a vector of class i against class j is j − 1 if i < j, else j.
    """
    classes = svc.classes_.tolist()
    coefficients = np.asarray(svc.dual_coef_)
    if len(classes) == 2:
        yield classes[1], classes[0], coefficients[0]
        return
    ends = np.cumsum([0, *svc.n_support_])
    for i in range(len(classes)):
        for j in range(i + 1, len(classes)):
            weights = np.zeros(coefficients.shape[1])
            for own, other in ((i, j), (j, i)):
                span = slice(ends[own], ends[own + 1])
                weights[span] = coefficients[other - 1 if own < other else other, span]
            yield classes[i], classes[j], weights


def _share(
    progress: Callable[[float], None] | None, part: int, parts: int
) -> Callable[[float], None] | None:
    if progress is None:
        return None
    return lambda share: progress((part + share) / parts)
