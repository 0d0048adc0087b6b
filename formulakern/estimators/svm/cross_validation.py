"""FormulaSVC with C chosen by cross-validation, along paths that start where the last one ended."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.deadline import Deadline
from formulakern.estimators.path_search import (
    COMPARING,
    Path,
    PathSearch,
    Scores,
    Trial,
    folds_of,
    numbers_of,
    scorer_of,
)
from formulakern.estimators.svm.classifier import FormulaSVC, SupportVectorClassifier
from formulakern.estimators.svm.pairwise import PairwiseProblem
from formulakern.estimators.targets import random_source
from formulakern.learning.kernel_machines.decomposition import DualSolution, Limits
from formulakern.learning.kernel_machines.kernel_rows import KernelRows

__all__ = ["FormulaSVCCV"]

#: ``Cs="auto"``.
GRID = tuple(float(C) for C in np.logspace(-2, 2.5, 10).round(4))
#: The relative gap of fits within folds, unless ``tol`` is larger.
COARSE = 0.01
#: ``cv="auto"``.
FOLDS = 5
#: The path ends after so many values in a row that are behind the best by this many standard
#: errors, of the mean over folds.
PATIENCE, BEHIND = 2, 1.0


@dataclass(eq=False, repr=False)
class FormulaSVCCV(SupportVectorClassifier):
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
    cv : "auto", int or splitter, default="auto"
        An integer: so many folds, stratified and shuffled under ``random_state``; ``"auto"`` is 5.
    scoring : str, callable or None, default=None
        A name of ``sklearn.metrics.get_scorer_names()``, or a scorer; None is "f1_macro".
    normalize, encoder, domains, class_weight, inputs
        As in :class:`FormulaSVC`, but for encoders that read classes.
    tol, max_iter, time_limit, cache_size
        As in :class:`FormulaSVC`.
    decision_function_shape
        As in :class:`FormulaSVC`.
    random_state : int, RandomState or None, default=0
        For the folds.
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

    _: KW_ONLY
    Cs: Sequence[float] | Literal["auto"] = "auto"
    cv: Any = "auto"
    scoring: Any = None
    random_state: int | np.random.RandomState | None = 0
    best_score_: float = field(init=False)
    best_index_: int = field(init=False)
    cv_results_: dict[str, npt.NDArray[Any]] = field(init=False)

    def _chosen_C(
        self, table: Any, classes: npt.NDArray[Any], weights: FloatArray, deadline: Deadline
    ) -> float:
        automatic = isinstance(self.Cs, str) and self.Cs == "auto"
        values = [*GRID] if automatic else numbers_of("Cs", self.Cs, 0.0, strict=True)
        scoring = "f1_macro" if self.scoring is None else self.scoring
        limits = self._limits(deadline)
        limits = replace(limits, tol=max(limits.tol, COARSE), seconds=np.inf)
        comparing = deadline.part(COMPARING)
        late = comparing.over()
        folds = None if late else self._folds(table, classes, weights, scorer_of(scoring))
        number = len(folds.splits) if folds else 0

        def judge(found: list[tuple[float, float]]) -> Trial:
            scores, gaps = np.array(found).T
            return Trial(scores, scores, gaps[:, None])

        def line(C: float, trial: Trial) -> str:
            score, gap = trial.scores.mean(), trial.shapes.max()
            return f"C = {C:g}: {scoring} {score:.4f}, gap {gap:.1e}"

        search = PathSearch(
            values,
            [folds] * number,
            _Folds.solve,
            lambda C, k, last: (k, last, limits, C),
            judge,
            lambda C: f"C {C:.3g}",
            line,
            BEHIND if automatic else np.inf,
            words=("values of C", "the one nearest to 1"),
        )
        path = Path(range(len(values)), patience=PATIENCE)
        trials = search.run([path], self._bar, comparing, stacklevel=6)
        self._choose(values, trials)
        C = values[self.best_index_]
        self._bar.at(0.9, f"C {C:.3g}, all rows")
        return C

    def _folds(
        self, table: Any, classes: npt.NDArray[Any], weights: FloatArray, scorer: Any
    ) -> _Folds:
        seed = random_source(self.random_state).randint(2**31 - 1)
        model = FormulaSVC(**self._shared_parameters(FormulaSVC()))
        model._share_encoding(self)
        model.kernel_ = self.kernel_
        cv = FOLDS if isinstance(self.cv, str) and self.cv == "auto" else self.cv
        splits = folds_of(cv, classes, seed)
        return _Folds(model, scorer, table, classes, weights, float(self.cache_size), splits)

    def _choose(self, values: list[float], trials: Sequence[Trial | None]) -> None:
        """Set what is known of all values, and the one that is chosen."""
        if not any(trials):
            self.best_index_ = int(np.argmin(np.abs(np.log(values))))  # C=1, or nearest to it
            self.best_score_, blank = np.nan, np.full(len(values), np.nan)
            self.cv_results_ = {"C": np.array(values), "mean_score": blank}
            return
        found = Scores(trials)
        self.best_index_ = found.best(np.array(values))
        self.best_score_ = float(found.means[self.best_index_])
        more = {"gap": found.shapes[:, :, 0].max(axis=1)}
        self.cv_results_ = found.results({"C": np.array(values)}, more)


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
        last: tuple[float, list[DualSolution]] | None,
        limits: Limits,
        C: float,
        deadline: Deadline,
    ) -> tuple[tuple[float, float], tuple[float, list[DualSolution]]]:
        """Score and gap of a fold for C; C and its solution, from the last one of a smaller C."""
        fold = self.fold(k)
        limits = replace(limits, seconds=deadline.left())
        nearer, near = (1.0, None) if last is None else (C / last[0], last[1])
        solved, found = fold.problem.solve(limits, factor=C, near=near, nearer=nearer)
        if solved.stopped_ == "interrupted":
            raise KeyboardInterrupt
        model = copy(self.model)
        model._take_over_pairs(solved, fold.train)
        score = self.scorer(model, fold.test, fold.truth)
        return (score, float(solved.gaps_.max())), (C, found)


#: A Gram matrix that several threads need is made by one.
_MAKING = Lock()
