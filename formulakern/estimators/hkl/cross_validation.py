"""HKLClassifierCV: C and the depth penalty by cross-validation, along warm-started paths."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from formulakern.arrays import FloatArray
from formulakern.checks import check_choice, check_verbosity
from formulakern.deadline import Deadline
from formulakern.encoding.packed import PackedTable
from formulakern.estimators.advice import warn_of_one_class
from formulakern.estimators.encoder import PropositionEncoder
from formulakern.estimators.hkl.base import automatic_C
from formulakern.estimators.hkl.class_scores import EARLY, HierarchicalClassifier, class_sums
from formulakern.estimators.hkl.classifier import HKLClassifier
from formulakern.estimators.hkl.folds import SHAPE, Part, base_scores, setting_line, trial_of
from formulakern.estimators.targets import class_order, random_source, row_weights, several_classes
from formulakern.estimators.trials import (
    COMPARING,
    FOLDS,
    Trial,
    compared,
    folds_of,
    numbers_of,
    scorer_of,
    selectable,
    turn,
    warn_incomplete,
    warn_late,
)
from formulakern.estimators.workers import FoldFits
from formulakern.interrupts import interruptible
from formulakern.learning.hkl.ordinal import decision_thresholds
from formulakern.rules.ensemble import RuleEnsemble
from formulakern.tables.table import Table

__all__ = ["HKLClassifierCV"]


SELECTIONS = ("best", "one-standard-error")
#: ``Cs="auto"`` are these multiples of the C that is automatic for as many rows.
MULTIPLES = (0.1, 1.0, 10.0, 100.0)
#: The relative gap of the fits within the folds, unless ``tol`` is larger.
COARSE = 0.02
#: The most conjunctions that are held in them for all classes, unless ``max_active`` is smaller.
HELD = 1000
#: A path ends where C is so many standard errors behind the best pair so far; the first path only
#: after so many C in a row.
BEHIND, PATIENCE = 0.5, 2

#: C, or its multiple of the automatic one, and the depth penalty.
Pair: TypeAlias = tuple[float, float]


@dataclass(eq=False, repr=False)
class HKLClassifierCV(HierarchicalClassifier):
    """:class:`HKLClassifier` with C and the depth penalty chosen by cross-validation.

    For each depth penalty and fold the problems for C₁ < C₂ < … are solved one after the other,
    each from the solution of the last.  Of all pairs (C, depth penalty) one is chosen by the mean
    score of what is held out, and the classifier is fitted to all rows.

    Parameters
    ----------
    Cs : "auto" or sequence of float, default="auto"
        ``"auto"``: 0.1, 1, 10 and 100 times the C that ``HKLClassifier(C="auto")`` takes.
    depth_penalties : sequence of float, default=(2.0, 4.0)
        Those that are compared; see ``depth_penalty`` of :class:`HKLClassifier`.
    cv : "auto", int or splitter, default="auto"
        An integer: so many folds, stratified and shuffled under ``random_state``.  ``"auto"``:
        three folds, twice where there are at most 45 rows.
    scoring : str, callable or None, default=None
        None: with p_k the probability of class k and π_k its share, the mean over the rows held
        out of ln(p̃_y), p̃_k ∝ p_k/π_k^τ, τ = ``logit_adjustment``, where rows of class k weigh
        π_k^{−τ}: the logarithm of the probability of the right class where classes are as
        frequent as decisions are made for.  First the scores of all rows are stretched, by one
        factor t, from b_k = ln π_k (for two classes their odds) to b_k + t·(s_k − b_k), so that
        this is largest.
        Rows of a class that the training rows of their fold lack do not count.
        Else a name of ``sklearn.metrics.get_scorer_names()``, or a scorer, which gives each fold
        one number.  Larger is better.
    selection : {"one-standard-error", "best"}, default="best"
        ``"best"``: the largest mean score, of equals the fewest rules.  ``"one-standard-error"``:
        the fewest rules, mean over folds, among all pairs that are behind the best by no more than
        the standard error of the mean difference (over rows, or folds where there is a scorer); of
        equals the best score.
    rho, loss, logit_adjustment, ordinal, tol, max_active, linear, monotone
        As in :class:`HKLClassifier`.
    encoder, relations, cut_points, cut_strategy, class_weight, time_limit
        As there; ``time_limit`` is for everything: at most half of it for the pairs, of which the
        last may be left out, or all where the table is large (then it is the middle one of ``Cs``
        and the largest depth penalty), the rest for the last fit.
    random_state : int, RandomState or None, default=0
        For the folds.
    verbose : int, default=0
        1: a progress bar on a terminal or in a notebook, else a line for every pair, on standard
        error.  2: both, and a line for every round of a fit.

    Attributes
    ----------
    C_, depth_penalty_ : float
        What was chosen, C for all rows.
    best_score_ : float
        Its mean score.
    best_index_ : int
        Its position in ``cv_results_``.
    cv_results_ : dict of str to ndarray of shape (pairs,)
        ``C`` (for all rows), ``depth_penalty``, ``mean_score``, ``std_score`` (over the folds),
        ``behind`` and ``error``, the mean difference to the best and its standard error,
        ``mean_rules``, ``mean_length``, ``mean_gap``, ``certified``, the share of the folds whose
        gap is at most 0.02, and ``split0_score``, ``split1_score``, ….  NaN for pairs that were
        left out; the first three alone where all were.
    best_estimator_ : HKLClassifier
        Fitted to all rows.
    temperature_ : float
        t.
    rules_, intercept_ : RuleEnsemble, ndarray
        Those of ``best_estimator_``, times t; so decisions are its decisions, and probabilities
        are stretched.
    thresholds_ : ndarray of shape (n_classes − 1,)
        With ``ordinal=True``: those for the stretched scores.  Decisions are then for the class
        with the largest ln P(y = k) − τ ln π_k by the stretched probabilities.
    classes_, adjustment_, n_features_in_, feature_names_in_
        As in :class:`HKLClassifier`.

    Notes
    -----
    With ``Cs="auto"`` C falls with the square root of the number of rows, in the folds too.  A path
    then ends where C is behind the best pair so far by more than half a standard error, that of the
    largest depth penalty after two such C in a row.  Smaller depth penalties begin at the best C of
    the larger ones, and from its solutions.

    Propositions that do not depend on the classes are those of all rows, encoded once; an encoder
    of another kind, or one that cuts by class, is fitted anew for every fold.  Fits within folds
    have a ``tol`` of 0.02 at least, and hold at most 1000 conjunctions, for all classes together.
    Where a fit stops before the gap is closed (``max_active``, ``time_limit``) its score counts,
    and ``certified`` tells; only for the last fit is that a warning.

    Under ``joblib.parallel_config(backend="dask")``, or ``backend="loky", n_jobs=2``, the fits to
    the folds of one pair run at once in other processes; the table is sent once.

    References
    ----------
    The rule of one standard error: L. Breiman, J. Friedman, R. Olshen, C. Stone, "Classification
    and Regression Trees", 1984, section 3.4.3.

    Examples
    --------
    >>> from formulakern import datasets
    >>> X, y = datasets.tic_tac_toe()
    >>> search = HKLClassifierCV([1, 1000], [4.0], cv=3).fit(X[::4], y[::4])
    >>> search.C_
    1000.0
    >>> bool(search.score(X, y) > 0.95)
    True
    """

    encodes_folds: ClassVar[bool] = True

    Cs: Sequence[float] | Literal["auto"] = "auto"
    depth_penalties: Sequence[float] = (2.0, 4.0)
    cv: Any = "auto"
    scoring: Any = None
    selection: Literal["one-standard-error", "best"] = "best"
    _: KW_ONLY
    rho: float = 1.1
    random_state: int | np.random.RandomState | None = 0
    temperature_: float = field(init=False)

    def fit(self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Score every pair, choose one, fit to all rows.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Anything that :class:`formulakern.Table` reads.
        y : array-like of shape (n_rows,)
            Classes, of any type.
        sample_weight : array-like of shape (n_rows,), optional
            Of the errors in training; scores are not weighted.

        Returns
        -------
        HKLClassifierCV
            Itself.

        Raises
        ------
        DataError, ParameterError
            As :class:`HKLClassifier`.

        Warns
        -----
        ConvergenceWarning
            If the gap of ``best_estimator_`` is above ``tol``.
        """
        penalties = [*MULTIPLES] if self._automatic else numbers_of("Cs", self.Cs, 0.0, strict=True)
        depths = numbers_of("depth_penalties", self.depth_penalties, 1.0, strict=False)
        check_choice("selection", self.selection, SELECTIONS)
        check_verbosity(self.verbose)
        self._model(penalties[0], depths[0])._check_parameters()
        with self._showing() as bar:
            deadline = Deadline.of(self.time_limit)
            scorer = None if self.scoring is None else scorer_of(self.scoring)
            whole, labels = self._read_training(X, y)
            several_classes(labels)
            order, class_weight = class_order(y, labels), self.class_weight
            if self.ordinal:  # by number, so that folds have them in order
                number_of = {name: k for k, name in enumerate(order.tolist())}
                labels = np.array([number_of[name] for name in labels.tolist()])
                if isinstance(class_weight, Mapping):
                    class_weight = {
                        number_of[k]: w for k, w in class_weight.items() if k in number_of
                    }
            weights = row_weights(labels, None, sample_weight)
            comparing = deadline.part(COMPARING)
            # a fit takes as long as the encoding did, at least; what cannot be done is not begun
            late = comparing.over(FOLDS * deadline.taken())
            parts = [] if late else self._parts(X, whole, labels, weights)
            shares, tau = self._shares(class_sums(labels, weights))
            pairs = [(C, a) for a in depths for C in penalties]
            held = HELD if self.ordinal or len(order) == 2 else max(1, HELD // len(order))

            def model_of(part: Part, pair: Pair) -> HKLClassifier:
                C, depth = pair
                model = self._model(C * self._unit(part, class_weight), depth, held)
                model.class_weight = class_weight
                return model

            trials: list[Trial | None] = [None] * len(pairs)
            try:
                with interruptible(finds=False):
                    for k, models in self._paths(pairs, trials, parts, model_of, comparing):
                        trials[k] = trial_of(parts, models, labels, shares, tau, scorer)
            except KeyboardInterrupt:
                warn_incomplete(trials, "interrupted")
            everyone = Part(whole, whole, labels, weights, labels, np.arange(len(labels)), self)
            factor = self._unit(everyone, class_weight)
            self._choose([(C * factor, a) for C, a in pairs], trials)
            model = self._model(self.C_, self.depth_penalty_)
            bar.at(0.9, f"C {self.C_:.3g}, all rows")
            if self.ordinal:
                name = str(getattr(y, "name", None) or "class")
                model._share_encoding(self)
                with warnings.catch_warnings():  # told below
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    model._fit_ordered(whole, order[labels], order, weights, None, deadline, name)
            else:
                model = everyone.fitted(model, None, deadline)
            self.best_estimator_ = model
            self._copy_from(model, ("classes_", "_features"))
            self._stretch(model, shares)
            model._warn_if_open(stacklevel=3)
            if model.stopped_ not in EARLY:  # else it is said, or known, why
                warn_of_one_class(self, whole, labels, sample_weight)
            bar.end(f"C {self.C_:.3g}, gap {model.gap_:.2g}, {len(self.rules_)} rules")
            return self

    def _stretch(self, model: HKLClassifier, shares: FloatArray) -> None:
        """Set the rules, and what else is known of scores, to those of a model, times t."""
        t, rules = self.temperature_, model.rules_
        scaled = [replace(rule, weight=t * rule.weight) for rule in rules]
        bias = t * rules.intercept
        if rules.levels is None:
            self.adjustment_ = (1 - t) * base_scores(shares) + t * model.adjustment_
            self.rules_ = RuleEnsemble.of(scaled, rules.classes, bias)
            self.intercept_ = bias[1:] if len(bias) == 2 else bias
            return
        known = np.isin(model.classes_, rules.levels)
        base = base_scores(shares[known] / shares[known].sum(), ordered=True)
        thresholds = np.maximum.accumulate(t * model.thresholds_ - (1 - t) * base)
        self.adjustment_ = model.adjustment_
        ends = decision_thresholds(thresholds, self.adjustment_[known])
        shift = float(ends[0]) if len(ends) == 1 else 0.0  # decisions for two are by the sign
        self.thresholds_, self.intercept_ = thresholds - shift, bias - shift
        self.rules_ = RuleEnsemble.of(
            scaled, None, self.intercept_, rules.target, rules.levels, ends - shift
        )

    # -- what is computed -------------------------------------------------------------------------

    def _paths(
        self,
        pairs: list[Pair],
        trials: list[Trial | None],
        parts: list[Part],
        model_of: Callable[[Part, Pair], HKLClassifier],
        deadline: Deadline,
    ) -> Iterator[tuple[int, list[HKLClassifier]]]:
        """The models of all parts for one pair after the other, larger C from those of smaller C.

        Before the next pair the one that came must stand in ``trials``.
        """
        penalties, depths = ([*dict.fromkeys(values)] for values in zip(*pairs, strict=True))
        least = penalties[0]  # other depth penalties begin at the best C of the one before
        solved: dict[float, list[HKLClassifier]] = {}
        best: Trial | None = None
        fits = FoldFits(parts)
        for depth in reversed(depths):
            starts: Sequence[HKLClassifier | None] = solved.get(least, [None] * len(parts))
            worse = 0
            for place in [k for k, (C, a) in enumerate(pairs) if a == depth and least <= C]:
                if not parts or (best is not None and deadline.over()):
                    warn_late(trials)
                    return
                C = pairs[place][0]
                models: list[HKLClassifier] = []
                remaining = sum(trial is None for trial in trials)
                share, what = 1 - remaining / len(trials), f"C {C:.3g}, depth {depth:g}"
                until = turn(deadline, remaining)
                asked = [(model_of(p, pairs[place]), s) for p, s in zip(parts, starts, strict=True)]
                begins = partial(self._bar.fold_at, share, what, len(parts))
                found = fits.answers(Part.fitted, asked, until, begins)
                while len(models) < len(parts):
                    if best is None and deadline.over():
                        warn_late(trials)
                        return
                    models.append(next(found))
                    if models[-1].stopped_ == "interrupted":
                        raise KeyboardInterrupt
                yield place, models
                solved[C] = starts = models
                trial = trials[place]
                assert trial is not None
                self._bar.at(share, what, line=setting_line(pairs[place], trial))
                if best is None or np.nanmean(trial.scores) > np.nanmean(best.scores):
                    best = trial
                    least = C if self._automatic else least
                behind, error = compared(best.scores, trial.scores)
                worse = worse + 1 if behind > BEHIND * error > 0 else 0
                if self._automatic and worse == (PATIENCE if depth == depths[-1] else 1):
                    break  # nor will a larger C be better

    def _model(self, C: float, depth_penalty: float, held: int | None = None) -> HKLClassifier:
        """A model for all rows, or for a fold, which holds so many conjunctions for each class."""
        shared = self._shared_parameters(HKLClassifier())
        if held is not None:
            shared["tol"] = max(self.tol, COARSE)
            shared["max_active"] = min(self.max_active, held)
        verbose = max(0, int(self.verbose) - 1)
        return HKLClassifier(C=C, depth_penalty=depth_penalty, verbose=verbose, **shared)

    @property
    def _automatic(self) -> bool:
        return isinstance(self.Cs, str) and self.Cs == "auto"

    def _unit(self, part: Part, class_weight: Any) -> float:
        """What Cs are multiples of: the automatic C, or 1."""
        if not self._automatic:
            return 1.0
        weights = row_weights(part.labels, class_weight, part.weights)
        found = automatic_C(float(weights.sum()))
        losses = len(np.unique(part.labels)) - 1 if self.ordinal else 1
        return found / math.sqrt(losses)

    def _parts(
        self, X: Any, whole: PackedTable, labels: npt.NDArray[Any], weights: FloatArray
    ) -> list[Part]:
        """The folds."""
        seed = random_source(self.random_state).randint(2**31 - 1)
        rows: Any = None
        if isinstance(self.encoder_, PropositionEncoder):
            rows = Table.of(X) if self.encoder_.reads_classes else None
        elif self.encoder_ is not None:
            rows = selectable(X)
        parts = []
        for train, test in folds_of(self.cv, labels, seed):
            reader: HierarchicalClassifier = self._model(1.0, 1.0)
            if rows is not None:
                table = reader._fit_table(rows[train], labels[train])
                unseen = reader._read_table(rows[test])
            else:
                reader._share_encoding(self)
                table, unseen = whole.take(train), whole.take(test)
                different = table.different_columns()
                reader._keep(different)
                table, unseen = table.select(different), unseen.select(different)
            learned = table, unseen, labels[train], weights[train]
            parts.append(Part(*learned, labels[test], test, reader))
        return parts

    def _choose(self, pairs: list[tuple[float, float]], trials: list[Trial | None]) -> None:
        """Set what is known of the pairs, and the one that is chosen."""
        tried = np.array([k for k, trial in enumerate(trials) if trial is not None])
        known = [trial for trial in trials if trial is not None]
        Cs, depth_penalties = np.array(pairs).T
        if not known:  # the C of the middle, for which the automatic one stands, and short rules
            self.best_index_ = len(pairs) - 1 - len(np.unique(Cs)) // 2
            self.C_, self.depth_penalty_ = pairs[self.best_index_]
            self.best_score_, self.temperature_ = np.nan, 1.0
            blank = np.full(len(pairs), np.nan)
            self.cv_results_ = {"C": Cs, "depth_penalty": depth_penalties, "mean_score": blank}
            return

        def spread(values: list[Any]) -> FloatArray:
            """One value for each pair, NaN for those that were not tried."""
            spread = np.full((len(pairs), *np.shape(values[0])), np.nan)
            spread[tried] = values
            return spread

        scores, splits_of = spread([t.scores for t in known]), spread([t.splits for t in known])
        shapes = spread([t.shapes for t in known])
        closed = shapes[:, :, 2] <= max(self.tol, COARSE)
        means, rules = spread([np.nanmean(t.scores) for t in known]), shapes[:, :, 0].mean(axis=1)
        order = np.lexsort((rules[tried], -np.round(means[tried], 12)))
        self.best_index_ = best = int(tried[order[0]])
        behind, error = np.array([compared(scores[best], one) for one in scores]).T
        if self.selection == "one-standard-error":
            near = tried[behind[tried] <= error[tried] + 1e-12]
            self.best_index_ = int(near[np.lexsort((-means[near], rules[near]))[0]])
        self.C_, self.depth_penalty_ = pairs[self.best_index_]
        self.best_score_ = float(means[self.best_index_])
        temperatures = spread([t.temperature for t in known])
        self.temperature_ = float(temperatures[self.best_index_])
        self.cv_results_ = {
            "C": Cs,
            "depth_penalty": depth_penalties,
            "mean_score": means,
            "std_score": spread([np.nanstd(t.splits) for t in known]),
            "behind": behind,
            "error": error,
            **{f"mean_{name}": shapes[:, :, j].mean(axis=1) for j, name in enumerate(SHAPE)},
            "certified": np.where(np.isnan(means), np.nan, closed.mean(axis=1)),
            "temperature": temperatures,
            **{f"split{k}_score": column for k, column in enumerate(splits_of.T)},
        }
