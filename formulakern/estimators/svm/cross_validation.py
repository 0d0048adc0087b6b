"""A penalty chosen by cross-validation, along paths that start where the last one ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from threading import Lock
from typing import Any, Literal

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
from formulakern.estimators.svm.machines import KernelMachine, SupportVectorClassifier
from formulakern.estimators.targets import Split, random_source
from formulakern.kernels.algebra import Kernel
from formulakern.learning.kernel_machines import KernelRows, Limits, memory_for

__all__ = ["FOLDS", "FormulaSVCCV", "search_penalties"]

#: ``Cs="auto"``.
GRID = tuple(float(C) for C in np.logspace(-2, 2.5, 10).round(4))
#: The relative gap of fits within folds of FormulaSVCCV, unless ``tol`` is larger.
COARSE = 0.01
#: ``cv="auto"``.
FOLDS = 5
#: The path ends after so many values in a row that are behind the best by this many standard
#: errors, of the mean over folds.
PATIENCE, BEHIND = 2, 1.0


def search_penalties(
    machine: KernelMachine,
    kernels: Sequence[Kernel],
    settings: Mapping[str, Sequence[Any]],
    training: tuple[Any, npt.NDArray[Any], FloatArray],
    splits: list[Split],
    scoring: Any,
    limits: Limits,
    deadline: Deadline,
    behind: float = np.inf,
    stacklevel: int = 6,
) -> tuple[int, dict[str, npt.NDArray[Any]]]:
    """Fit a machine to folds for every kernel and penalty, and return the best setting.

    In every fold the problems for C₁ < C₂ < … are solved one after the other, each from the
    coefficients of the last, times C₂/C₁: they are in the box, and add up to 0.  ``settings`` are
    columns of ``cv_results_``, the last one "C": for each kernel the same ascending penalties.
    ``limits`` are of one fit, ``deadline`` of all.  A path ends after two penalties that are behind
    the best by ``behind`` standard errors.  Of equal settings the first is the best.
    """
    machine = copy(machine)
    machine.__dict__.pop("_progress", None)
    folds = _Folds(machine, scorer_of(scoring), kernels, *training, splits, limits)
    number, n = len(settings["C"]), len(settings["C"]) // len(kernels)
    names = [
        ", ".join(f"{name}={value}" for name, value in zip(settings, values, strict=True))
        for values in zip(*settings.values(), strict=True)
    ]

    def judge(found: list[tuple[float, float]]) -> Trial:
        scores, gaps = np.array(found).T
        return Trial(scores, scores, gaps[:, None])

    def line(place: int, trial: Trial) -> str:
        score, gap = trial.scores.mean(), trial.shapes.max()
        return f"{names[place]}: {scoring} {score:.4f}, gap {gap:.1e}"

    comparing = deadline.part(COMPARING)
    search = PathSearch(
        range(number),
        [] if comparing.over() else [folds] * len(splits),
        _Folds.solve,
        lambda place, k, last: (place // n, k, settings["C"][place], last),
        judge,
        names.__getitem__,
        line,
        behind,
        words=("values of C", "the one nearest to 1"),
    )
    paths = [Path(range(start, start + n), patience=PATIENCE) for start in range(0, number, n)]
    trials = search.run(paths, machine._bar, comparing, stacklevel=stacklevel)
    listed = {name: np.array(values) for name, values in settings.items()}
    if not any(trials):
        best = int(np.argmin(np.abs(np.log(listed["C"]))))  # C=1, or nearest to it
        return best, {**listed, "mean_score": np.full(number, np.nan)}
    found = Scores(trials)
    results = found.results(listed, {"gap": found.shapes[:, :, 0].max(axis=1)})
    return found.best(np.arange(number, dtype=np.float64)), results


@dataclass(frozen=True, eq=False)
class _Folds:
    """What the fits to all folds share.

    Problems are made where they are solved, from the rows and a kernel: Gram matrices are large,
    and not sent to other processes.
    """

    machine: KernelMachine
    scorer: Any
    kernels: Sequence[Kernel]
    rows: Any
    targets: npt.NDArray[Any]
    weights: FloatArray
    splits: list[Split]
    limits: Limits
    made: dict[Any, Any] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        given = self.machine, self.scorer, self.kernels, self.rows, self.targets, self.weights
        return _Folds, (*given, self.splits, self.limits)

    def problem(self, number: int, k: int) -> Any:
        """Return the problem of fold k with C = 1; all folds share a Gram matrix that is held."""
        with _MAKING:
            if number not in self.made:
                self.made.clear()  # of the last kernel
                matrices = 1 + len(self.splits)
                memory = memory_for(self.rows, self.machine._memory, matrices)
                rows = KernelRows(self.kernels[number], self.rows, memory)
                if rows.held:
                    _ = rows.gram
                self.made[number] = rows
            if (number, k) not in self.made:
                train, _ = self.splits[k]
                part = self.made[number].take(train, self.machine._memory)
                boxes = self.weights[train]
                self.made[number, k] = self.machine._problem(part, self.targets[train], boxes)
            return self.made[number, k]

    def solve(
        self, number: int, k: int, C: float, last: tuple[float, Any] | None, deadline: Deadline
    ) -> tuple[tuple[float, float], tuple[float, Any]]:
        """Return score and gap of a fold; C and its solution, from the last one of a smaller C."""
        machine, (train, test) = copy(self.machine), self.splits[k]
        machine.kernel_ = self.kernels[number]
        limits = replace(self.limits, seconds=deadline.left())
        nearer, near = (1.0, None) if last is None else (C / last[0], last[1])
        solved, solution = self.problem(number, k).solve(limits, factor=C, near=near, nearer=nearer)
        machine._take_over(solved, solution, self.rows.take(train))
        if machine.stopped_ == "interrupted":
            raise KeyboardInterrupt
        score = self.scorer(machine, self.rows.take(test), self.targets[test])
        return (score, machine.gap_), (C, solution)


#: A Gram matrix that several threads need is made by one.
_MAKING = Lock()


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
        limits = self._limits()
        seed = random_source(self.random_state).randint(2**31 - 1)
        cv = FOLDS if isinstance(self.cv, str) and self.cv == "auto" else self.cv
        self.best_index_, self.cv_results_ = search_penalties(
            self,
            [self.kernel_],
            {"C": values},
            (table, classes, weights),
            folds_of(cv, classes, seed),
            "f1_macro" if self.scoring is None else self.scoring,
            replace(limits, tol=max(limits.tol, COARSE)),
            deadline,
            BEHIND if automatic else np.inf,
            stacklevel=7,
        )
        self.best_score_ = float(self.cv_results_["mean_score"][self.best_index_])
        C = values[self.best_index_]
        self._bar.at(0.9, f"C {C:.3g}, all rows")
        return C
