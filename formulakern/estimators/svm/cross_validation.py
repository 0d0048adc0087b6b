"""FormulaSVC with C chosen by cross-validation, along paths that start where the last one ended."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property, partial
from threading import Lock
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from formulakern.arrays import FloatArray
from formulakern.checks import check_choice, is_number
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.errors import ParameterError
from formulakern.estimators.svm.classifier import FormulaSVC
from formulakern.estimators.svm.pairwise import PairwiseProblem
from formulakern.estimators.targets import random_source, row_weights, several_classes
from formulakern.estimators.trials import COMPARING, compared, folds_of, scorer_of, turn
from formulakern.estimators.workers import FoldFits
from formulakern.interrupts import interruptible
from formulakern.learning.kernel_machines.decomposition import DualSolution, Limits
from formulakern.learning.kernel_machines.kernel_rows import KernelRows

__all__ = ["FormulaSVCCV"]

#: ``Cs="auto"``.
GRID = tuple(float(C) for C in np.logspace(-2, 2.5, 10).round(4))
#: The relative gap of fits within folds, unless ``tol`` is larger.
COARSE = 0.01
#: The path ends after so many values in a row that are behind the best by this many standard
#: errors, of the mean over folds.
PATIENCE, BEHIND = 2, 1.0


@dataclass(eq=False, repr=False)
class FormulaSVCCV(FormulaSVC):
    """:class:`FormulaSVC` with C chosen by cross-validation.

    In every fold the problems for C₁ < C₂ < … are solved one after the other.  Each starts from the
    coefficients of the last, times C₂/C₁: they are in the box, and add up to 0.  So the path costs
    little more than its last problem.  The Gram matrix of all rows, where it is held, serves all
    folds.

    Parameters
    ----------
    formula, variables
        As in :class:`FormulaSVC`.
    Cs : "auto" or sequence of float, default="auto"
        ``"auto"``: ten values from 0.01 to 316.
    cv : int or splitter, default=5
        An integer: so many folds, stratified and shuffled under ``random_state``.
    scoring : str or callable, default="f1_macro"
        A name of ``sklearn.metrics.get_scorer_names()``, or a scorer.
    C
        Has no effect.
    normalize, encoder, domains, class_weight, scale, backend, inputs
        As in :class:`FormulaSVC`, but for encoders that read classes.
    tol, max_iter, time_limit, cache_size
        As in :class:`FormulaSVC`.
    decision_function_shape, break_ties
        As in :class:`FormulaSVC`.
    random_state : int, RandomState or None, default=0
        For the folds.
    solver
        Of the last fit; within folds it is the dual solver.
    verbose : int, default=0
        1: a line for every C on standard error, and the progress of the last fit.

    Attributes
    ----------
    C_ : float
        The one with the largest mean score, of equals the smallest.
    best_score_ : float
    best_index_ : int
        Its position in ``cv_results_``.
    cv_results_ : dict of str to ndarray of shape (values,)
        ``C``, ``mean_score``, ``std_score``, ``gap`` (the largest of all folds), ``split0_score``,
        ….  NaN for values that were left out: a path ends after two that are behind the best by
        more than a standard error.
    classes_, kernel_, support_, …
        As in :class:`FormulaSVC`, fitted with ``C_`` to all rows.

    Notes
    -----
    Fits within folds have a ``tol`` of 0.01 at least.  Propositions do not depend on classes, and
    are those of all rows.  A Gram matrix that is held (``cache_size``) is so once for all rows, and
    in part for every fold: with five folds it takes four times as much.  After Ctrl-C the best C so
    far is fitted to all rows.

    Under ``joblib.parallel_config(backend="dask")``, or ``backend="loky", n_jobs=2``, the fits to
    the folds with one C run at once in other processes; the table is sent once, and each process
    has its own Gram matrix.

    Examples
    --------
    >>> from formulakern import datasets
    >>> X, y = datasets.tic_tac_toe()
    >>> search = FormulaSVCCV("a & b", "distinct").fit(X[::2], y[::2])
    >>> search.C_ > 1, bool(search.score(X, y) > 0.95)
    (True, True)
    """

    Cs: Sequence[float] | Literal["auto"] = field(default="auto", kw_only=True)
    cv: Any = field(default=5, kw_only=True)
    scoring: Any = field(default="f1_macro", kw_only=True)
    _: KW_ONLY
    random_state: int | np.random.RandomState | None = 0
    C_: float = field(init=False)
    best_score_: float = field(init=False)
    best_index_: int = field(init=False)
    cv_results_: dict[str, npt.NDArray[Any]] = field(init=False)

    def _fit_encoded(
        self,
        table: Any,
        classes: npt.NDArray[Any],
        X: Any,
        sample_weight: Any = None,
        deadline: Deadline | None = None,
    ) -> Self:
        values = self._values_of_C()
        self._check_decisions()
        weights = row_weights(classes, self.class_weight, sample_weight)
        several_classes(classes, weights)
        self.kernel_ = self._make_kernel(X)
        deadline = UNLIMITED if deadline is None else deadline
        comparing = deadline.part(COMPARING)
        late = comparing.over()
        folds = None if late else self._folds(table, classes, weights)
        scores, gaps = self._path(values, folds, comparing)
        self._choose(values, scores, gaps)
        self._bar.at(0.9, f"C {self.C_:.3g}, all rows")
        self._solve(table, classes, np.asarray(self.C_ * weights), deadline)
        return self

    def _folds(self, table: Any, classes: npt.NDArray[Any], weights: FloatArray) -> _Folds:
        seed = random_source(self.random_state).randint(2**31 - 1)
        model = FormulaSVC(**self._shared_parameters(FormulaSVC()))
        model._share_encoding(self)
        model.kernel_ = self.kernel_
        memory, scorer = float(self.cache_size), scorer_of(self.scoring)
        folds = folds_of(self.cv, classes, seed)
        return _Folds(model, scorer, table, classes, weights, memory, folds)

    def _path(
        self, values: list[float], folds: _Folds | None, deadline: Deadline
    ) -> tuple[FloatArray, FloatArray]:
        """The score of every value in every fold, and its largest gap; NaN for what is left out."""
        limits = self._limits(deadline)
        limits = replace(limits, tol=max(limits.tol, COARSE), seconds=np.inf)
        n_folds = len(folds.splits) if folds else 0
        fits, last = FoldFits([folds] * n_folds), [None] * n_folds
        scores = np.full((len(values), max(1, n_folds)), np.nan)
        gaps, late = np.full(len(values), np.nan), 0
        try:
            with interruptible(finds=False):
                for place, C in enumerate(values):
                    nearer = C / values[place - 1] if place else 1.0
                    row, found = np.empty(n_folds), np.empty(n_folds)
                    if not folds or deadline.over():
                        self._warn_incomplete(place, values)
                        break
                    until = turn(deadline, len(values) - place)
                    asked = [(k, one, limits, C, nearer) for k, one in enumerate(last)]
                    begins = partial(self._bar.fold_at, place / len(values), f"C {C:.3g}", n_folds)
                    for k, answer in enumerate(fits.answers(_Folds.solve, asked, until, begins)):
                        row[k], found[k], last[k] = answer
                    scores[place], gaps[place] = row, found.max()
                    said = f"C = {C:g}: {self.scoring} {row.mean():.4f}, gap {gaps[place]:.1e}"
                    self._bar.at(place / len(values), f"C {C:.3g}", line=said)
                    best = int(np.nanargmax(scores.mean(axis=1)))
                    behind, error = compared(scores[best], row)
                    late = late + 1 if behind > BEHIND * error and behind > 0 else 0
                    if late >= PATIENCE and self._automatic:
                        break
        except KeyboardInterrupt:
            known = int((~np.isnan(gaps)).sum())
            if not known:
                raise
            warnings.warn(
                f"interrupted after {known} of {len(values)} values of C: the best of these is "
                "fitted to all rows.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return scores, gaps

    @staticmethod
    def _warn_incomplete(known: int, values: list[float]) -> None:
        fitted = "the best of these" if known else "the one nearest to 1"
        warnings.warn(
            f"stopped by the time limit after {known} of {len(values)} values of C: {fitted} is "
            "fitted to all rows. Allow more time, or pass fewer Cs.",
            ConvergenceWarning,
            stacklevel=5,
        )

    @property
    def _automatic(self) -> bool:
        return isinstance(self.Cs, str) and self.Cs == "auto"

    def _values_of_C(self) -> list[float]:
        """The values, smallest first.

        Raises
        ------
        ParameterError
        """
        if isinstance(self.Cs, str):
            check_choice("Cs", self.Cs, ("auto",))
            return [*GRID]
        listed = np.atleast_1d(np.asarray(self.Cs, dtype=object)).tolist()
        if not listed or not all(is_number(C) and 0 < C < np.inf for C in listed):
            raise ParameterError(f"Cs={self.Cs!r}; expected positive numbers, one at least.")
        return sorted({float(C) for C in listed})

    def _choose(self, values: list[float], scores: FloatArray, gaps: FloatArray) -> None:
        """Set what is known of all values, and the one that is chosen."""
        means = scores.mean(axis=1)
        known = not np.isnan(means).all()
        middle = int(np.argmin(np.abs(np.log(values))))  # the C that is 1, or nearest to it
        self.best_index_ = int(np.nanargmax(np.round(means, 12))) if known else middle
        self.C_, self.best_score_ = values[self.best_index_], float(means[self.best_index_])
        self.cv_results_ = {
            "C": np.array(values),
            "mean_score": means,
            "std_score": scores.std(axis=1),
            "gap": gaps,
            **{f"split{k}_score": column for k, column in enumerate(scores.T)},
        }


class _Fold(NamedTuple):
    """The problem of the training rows with C = 1, these rows, and those that are held out."""

    problem: PairwiseProblem
    train: Any
    test: Any
    truth: npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class _Folds:
    """What the fits to all folds share.

    Problems are made where they are solved, from the table and the kernel: Gram matrices are large,
    and not sent.

    Attributes
    ----------
    model : FormulaSVC
        With the encoding and the kernel.
    scorer : callable
    table : PackedTable or RealTable
        All rows.
    classes, weights : ndarray of shape (n_rows,)
    memory : float
        Megabytes for a matrix that is held.
    splits : list of (intp array, intp array)
        Rows to learn from and rows that are held out.
    """

    model: FormulaSVC
    scorer: Any
    table: Any
    classes: npt.NDArray[Any]
    weights: FloatArray
    memory: float
    splits: list[Any]
    made: dict[int, _Fold] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        given = self.model, self.scorer, self.table, self.classes, self.weights
        return _Folds, (*given, self.memory, self.splits)

    @cached_property
    def _rows(self) -> KernelRows:
        """Those of all folds; they share the Gram matrix where it is held."""
        kernel = self.model.kernel_
        rows = KernelRows(kernel, self.table, self.memory)
        return KernelRows.of_matrix(kernel, self.table, rows.gram) if rows.held else rows

    def fold(self, k: int) -> _Fold:
        """The k-th fold."""
        with _MAKING:
            if k not in self.made:
                train, test = self.splits[k]
                part = self._rows.take(train), self.classes[train], self.weights[train]
                problem = PairwiseProblem.of(self.model.kernel_, *part, self.memory)
                rows = self.table.take(train), self.table.take(test)
                self.made[k] = _Fold(problem, *rows, self.classes[test])
        return self.made[k]

    def solve(
        self,
        k: int,
        last: list[DualSolution] | None,
        limits: Limits,
        C: float,
        nearer: float,
        deadline: Deadline,
    ) -> tuple[float, float, list[DualSolution]]:
        """Score, gap and solution of a fold for C, from the last solution times a factor."""
        fold = self.fold(k)
        limits = replace(limits, seconds=deadline.left())
        solved, found = fold.problem.solve(limits, factor=C, near=last, nearer=nearer)
        if solved.stopped_ == "interrupted":
            raise KeyboardInterrupt
        model = copy(self.model)
        model._take_over_pairs(solved, fold.train)
        return self.scorer(model, fold.test, fold.truth), solved.gaps_.max(), found


#: A Gram matrix that several threads need is made by one.
_MAKING = Lock()
