"""HKLClassifierCV: C and the depth penalty by cross-validation, along warm-started paths."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.utils import check_random_state

from formulakern.arrays import FloatArray
from formulakern.checks import check_choice, is_integer, is_number
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.table import Table
from formulakern.errors import DataError, ParameterError
from formulakern.estimators.hkl.classifier import HierarchicalClassifier, HKLClassifier
from formulakern.estimators.targets import row_weights, several_classes, splits
from formulakern.progress import say
from formulakern.rules.rule import Rule

__all__ = ["HKLClassifierCV"]


SELECTIONS = ("best", "one-standard-error")
#: What is known of every fit.
MEASURES = ("score", "rules", "length", "gap")


@dataclass(eq=False, repr=False)
class HKLClassifierCV(HierarchicalClassifier):
    """:class:`HKLClassifier` with C and the depth penalty chosen by cross-validation.

    For each depth penalty and fold the problems for C₁ < C₂ < … are solved one after the other,
    each from the solution of the last.  Of all pairs (C, depth penalty) one is chosen by the mean
    score over the folds, and the classifier is fitted to all rows along the same path.

    Parameters
    ----------
    Cs : sequence of float, default=(1e-3, 1e-2, …, 1e3)
    depth_penalties : sequence of float, default=(2.0,)
    cv : int or splitter, default=3
        Folds; an integer is stratified and shuffled under ``random_state``.
    scoring : str or callable, default="f1_macro"
        A name of ``sklearn.metrics.get_scorer_names()``, or a scorer; larger is better.
    selection : {"one-standard-error", "best"}, default="one-standard-error"
        ``"best"``: the largest mean score, of equals the fewest rules.  ``"one-standard-error"``:
        the fewest rules, mean over folds, among all pairs whose mean score is within one standard
        error (over the folds, of the best pair) of the largest; of equals the best score.
    rho, loss, tol, max_active, time_limit, encoder, relations, cut_points, class_weight
        As in :class:`HKLClassifier`; ``time_limit`` is for each single fit.
    random_state : int, RandomState or None, default=0
        For the folds.
    verbose : int, default=0
        1: a line for every pair on standard error.  2: also for every round of a fit.

    Attributes
    ----------
    C_, depth_penalty_ : float
        What was chosen.
    best_score_ : float
        Its mean score.
    best_index_ : int
        Its position in ``cv_results_``.
    cv_results_ : dict of str to ndarray of shape (pairs,)
        ``C``, ``depth_penalty``, ``mean_score``, ``std_score``, ``mean_rules``, ``mean_length``,
        ``mean_gap``, and ``split0_score``, ``split1_score``, ….
    best_estimator_ : HKLClassifier
        Fitted to all rows.
    rules_, intercept_, classes_, n_features_in_, feature_names_in_
        Those of ``best_estimator_``.

    Notes
    -----
    Every fold has an encoder of its own, fitted to its training rows.  Where a fit stops before
    the gap is closed (``max_active``, ``time_limit``) its score counts; only for the last fit is
    that a warning.

    References
    ----------
    The grid and the three folds are those of P. Jawanpuria, J. S. Nath, G. Ramakrishnan,
    "Efficient rule ensemble learning using hierarchical kernels", ICML 2011.  The rule of one
    standard error: L. Breiman, J. Friedman, R. Olshen, C. Stone, "Classification and Regression
    Trees", 1984, section 3.4.3.

    Examples
    --------
    >>> from formulakern import datasets
    >>> X, y = datasets.tic_tac_toe()
    >>> search = HKLClassifierCV([1, 100], depth_penalties=[2, 4], tol=0.02).fit(X[::4], y[::4])
    >>> search.C_
    100.0
    >>> bool(search.score(X, y) > 0.95)
    True
    """

    Cs: Sequence[float] = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)
    depth_penalties: Sequence[float] = (2.0,)
    cv: Any = 3
    scoring: Any = "f1_macro"
    selection: Literal["one-standard-error", "best"] = "one-standard-error"
    _: KW_ONLY
    rho: float = 1.1
    random_state: int | np.random.RandomState | None = 0

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
        penalties = _numbers("Cs", self.Cs, 0.0, strict=True)
        depths = _numbers("depth_penalties", self.depth_penalties, 1.0, strict=False)
        check_choice("selection", self.selection, SELECTIONS)
        self._model(penalties[0], depths[0])._check_parameters()
        whole, labels = self._read_training(X, y)
        several_classes(labels)
        rows = self._rows(X)
        weights = row_weights(labels, None, sample_weight)
        scorer = get_scorer(self.scoring)
        self._check_folds(labels)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        folds = splits(self.cv, labels, seed)
        pairs = [(C, a) for a in depths for C in penalties]
        found = np.zeros((len(pairs), len(folds), len(MEASURES)))
        for number, (train, test) in enumerate(folds):
            reader = self._model(penalties[0], depths[0])
            table = reader._fit_table(rows[train], labels[train])
            unseen = reader._read_table(rows[test])
            path = self._path(pairs, reader, table, labels[train], weights[train])
            for place, model in enumerate(path):
                score = float(scorer(model, unseen, labels[test]))
                found[place, number] = score, *_shape(model)
                if self.verbose:
                    say(_line(pairs[place], number, found[place, number]))
        self.cv_results_ = _results(pairs, found)
        self.best_index_ = self._choice(found)
        self.C_, self.depth_penalty_ = pairs[self.best_index_]
        self.best_score_ = float(found[self.best_index_, :, 0].mean())
        before = [(C, a) for C, a in pairs if a == self.depth_penalty_ and C < self.C_]
        start = None
        for start in self._path(before, self, whole, labels, weights):  # noqa: B007
            pass
        model = self._model(self.C_, self.depth_penalty_)
        model._share_encoding(self)
        self.best_estimator_ = model._fit_encoded(whole, labels, weights, start)
        self._copy_from(model, ("classes_", "rules_", "intercept_", "_features"))
        return self

    # -- what is computed -------------------------------------------------------------------------

    def _model(self, C: float, depth_penalty: float) -> HKLClassifier:
        shared = self._shared_parameters(HKLClassifier())
        verbose = max(0, int(self.verbose) - 1)
        return HKLClassifier(C=C, depth_penalty=depth_penalty, verbose=verbose, **shared)

    def _rows(self, X: Any) -> Any:
        """A table whose rows can be selected by an array of positions."""
        if hasattr(X, "tocsr"):
            return X.tocsr()
        if self.encoder is not None:
            return Table.of(X)
        return X.iloc if hasattr(X, "iloc") else np.asarray(X)

    def _check_folds(self, labels: npt.NDArray[Any]) -> None:
        if not is_integer(self.cv):
            return
        if self.cv < 2:
            raise ParameterError(f"cv={self.cv}; expected at least 2 folds.")
        counts = np.unique(labels, return_counts=True)[1]
        if np.sort(counts)[-2] < 2 or counts.max() < self.cv:
            raise DataError(
                f"{len(counts)} classes of {sorted(counts.tolist())} rows for cv={self.cv} "
                "folds; expected two classes with 2 rows or more, one of them with a row for "
                "every fold. Pass more rows, or fewer folds."
            )

    def _path(
        self,
        pairs: list[tuple[float, float]],
        reader: HierarchicalClassifier,
        table: PackedTable,
        labels: npt.NDArray[Any],
        weights: FloatArray,
    ) -> Iterator[HKLClassifier]:
        """The fitted model of each pair, each from the last one of the same depth penalty.

        All are fitted to one table, which ``reader`` has encoded.
        """
        before: HKLClassifier | None = None
        for C, depth_penalty in pairs:
            if before is not None and before.depth_penalty != depth_penalty:
                before = None
            model = self._model(C, depth_penalty)
            model._share_encoding(reader)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                before = model._fit_encoded(table, labels, weights, before)
            yield before

    def _choice(self, found: FloatArray) -> int:
        """The chosen pair; found : (pairs, folds, measures)."""
        scores, rules = found[:, :, 0].mean(axis=1), found[:, :, 1].mean(axis=1)
        best = int(np.lexsort((rules, -np.round(scores, 12)))[0])
        if self.selection == "best":
            return best
        folds = found.shape[1]
        error = float(found[best, :, 0].std(ddof=1)) / folds**0.5 if folds > 1 else 0.0
        near = np.flatnonzero(scores >= scores[best] - error - 1e-12)
        return int(near[np.lexsort((-scores[near], rules[near]))[0]])


def _numbers(name: str, values: Any, least: float, *, strict: bool) -> list[float]:
    """Different numbers of a range, smallest first."""
    listed = [values] if is_number(values) else list(values)
    right = [is_number(v) and least <= v < 1e100 and not (strict and v == least) for v in listed]
    if not listed or not all(right):
        above = f"above {least:g}" if strict else f"of at least {least:g}"
        raise ParameterError(f"{name}={values!r}; expected finite numbers {above}.")
    return sorted({float(v) for v in listed})


def _line(pair: tuple[float, float], fold: int, measures: FloatArray) -> str:
    """One fit, as ``verbose`` shows it."""
    return (
        f"fold {fold + 1}, depth penalty {pair[1]:g}, C = {pair[0]:g}: score "
        f"{measures[0]:.4f}, {measures[1]:.0f} rules, gap {measures[3]:.2g}"
    )


def _shape(model: HKLClassifier) -> tuple[float, float, float]:
    """Number of rules, their mean length, and the gap."""
    lengths = [len(r.formula.leaves) for r in model.rules_.rules if isinstance(r, Rule)]
    return float(len(lengths)), float(np.mean(lengths)) if lengths else 0.0, model.gap_


def _results(pairs: list[tuple[float, float]], found: FloatArray) -> dict[str, Any]:
    Cs, depth_penalties = np.array(pairs).T
    means = {f"mean_{name}": found[:, :, j].mean(axis=1) for j, name in enumerate(MEASURES)}
    results = {"C": Cs, "depth_penalty": depth_penalties, **means}
    results["std_score"] = found[:, :, 0].std(axis=1)
    return results | {f"split{k}_score": found[:, k, 0] for k in range(found.shape[1])}
