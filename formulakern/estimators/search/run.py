"""Scoring the candidates of a search: several at once, and within a time limit on few rows first.

The latter is successive halving: K. Jamieson, A. Talwalkar, "Non-stochastic best arm identification
and hyperparameter optimization", AISTATS 2016, arXiv:1502.07943.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from copy import copy
from dataclasses import replace
from functools import partial
from queue import SimpleQueue
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning

from formulakern.deadline import UNLIMITED, Deadline
from formulakern.errors import FormulaKernError
from formulakern.estimators.search.results import CandidateScore, SearchResults
from formulakern.estimators.search.scores import Scoring
from formulakern.estimators.svm.evaluation import subsample
from formulakern.estimators.svm.machines import FormulaSVC
from formulakern.estimators.targets import TrainingData
from formulakern.estimators.workers import Workers
from formulakern.interrupts import interruptible
from formulakern.kernels.algebra import Kernel
from formulakern.progress import Progress
from formulakern.syntax.formula import Formula

__all__ = ["fit_in_time", "score_all", "score_best_again", "score_in_time"]

Make = Callable[[], Kernel]
#: Scores that differ less are equal.
SAME = 1e-12
#: So many of the best candidates, and the first one, are scored with every C.
AGAIN = 3
#: The share of a bar that scoring has, where there is no time limit.
SCORING = 0.8
#: Rows that all candidates are scored on at first, by how much they grow, and by what power of that
#: a candidate takes longer, at most: a Gram matrix has n² entries, its solver takes up to n³ steps.
FIRST, GROWTH, POWER = 400, 2, 3
#: Rows that the second largest class has in the first sample, at least.
ENOUGH = 10
#: Seconds that a fit to all rows needs to be worth beginning, and rows for one more.
LAST, ROWS = 2.0, 20_000
#: A model of all rows whose relative duality gap is larger is not better than one of a sample.
OPEN = 0.5


def score_all(
    scoring: Scoring,
    kernels: Sequence[Make],
    formulas: Sequence[Formula | Kernel],
    by: str,
    n_jobs: int | None,
    bar: Progress,
    deadline: Deadline = UNLIMITED,
    C: float | None = None,
) -> list[CandidateScore]:
    """One score per candidate, whatever the order in which they are computed."""
    scores: dict[int, CandidateScore] = {}
    workers, interrupted = Workers(n_jobs), False
    try:
        with interruptible(finds=False):
            if workers.jobs > 1:
                ready = _in_processes(workers, scoring, kernels, deadline, C)
            else:
                jobs = min(effective_n_jobs(n_jobs), len(kernels))
                ready = _in_threads(scoring, kernels, jobs, deadline, C)
            with closing(ready):
                for number, score in ready:
                    scores[number] = score
                    finite = [s.mean_score for s in scores.values() if np.isfinite(s.mean_score)]
                    known = f"best score {max(finite):.4g}" if finite else ""
                    what = f"candidate {len(scores)} of {len(kernels)}"
                    share = 0.0 if deadline.limited else SCORING * len(scores) / len(kernels)
                    bar.at(share, what, known, _line(number, formulas[number], score))
    except KeyboardInterrupt:
        if not any(np.isfinite(getattr(score, by)) for score in scores.values()):
            raise
        interrupted = True
    if interrupted:
        warnings.warn(
            f"interrupted after {len(scores)} of {len(kernels)} candidates: the best of these is "
            "fitted.",
            stacklevel=3,
        )
    missing = CandidateScore(status="interrupted")
    return [scores.get(number, missing) for number in range(len(kernels))]


def score_best_again(
    scoring: Scoring,
    kernels: Sequence[Make],
    formulas: Sequence[Formula | Kernel],
    scores: list[CandidateScore],
    Cs: Sequence[float],
    n_jobs: int | None,
    bar: Progress,
    deadline: Deadline = UNLIMITED,
) -> list[CandidateScore]:
    """Score the first candidate and the three best with other C; keep the better scores."""
    found = list(scores)
    for C in Cs:
        ranked = SearchResults(list(formulas), scores, "mean_score").leading(AGAIN)
        again = [k for k in dict.fromkeys([0, *ranked]) if np.isfinite(scores[k].mean_score)]
        late = deadline.over(sum(scores[k].seconds for k in again))
        if not again or late or any(score.status == "interrupted" for score in found):
            break
        some = [kernels[k] for k in again], [formulas[k] for k in again]
        try:
            new = score_all(scoring, *some, "mean_score", n_jobs, bar, deadline, C)
        except KeyboardInterrupt:
            warnings.warn(f"interrupted before C={C:g} was tried.", stacklevel=3)
            break
        for place, score in zip(again, new, strict=True):
            before = found[place]
            if not np.isfinite(score.mean_score) or score.one_class > before.one_class:
                continue
            better = score.mean_score > before.mean_score + SAME
            if better or score.one_class < before.one_class:
                found[place] = score
    return found


def _in_threads(
    scoring: Scoring, kernels: Sequence[Make], jobs: int, deadline: Deadline, C: float | None
) -> Generator[tuple[int, CandidateScore], None, None]:
    """Scores as they are ready; each job writes its Gram matrices to one buffer."""
    if jobs == 1:
        buffer = scoring.grams.empty()
        for number, kernel in enumerate(kernels):
            if number and deadline.over():
                return
            yield number, scoring.score(kernel, buffer, C)
        return
    buffers: SimpleQueue[npt.NDArray[np.float64]] = SimpleQueue()
    for _ in range(jobs):
        buffers.put(scoring.grams.empty())

    def score(kernel: Make) -> CandidateScore:
        buffer = buffers.get()
        try:
            return scoring.score(kernel, buffer, C)
        finally:
            buffers.put(buffer)

    pool = ThreadPoolExecutor(jobs)
    try:
        futures = {pool.submit(score, kernel): number for number, kernel in enumerate(kernels)}
        for future in as_completed(futures):
            yield futures[future], future.result()
            if deadline.over():
                return
    finally:  # also after an interrupt or an error: what has not begun does not begin
        pool.shutdown(wait=True, cancel_futures=True)


def _in_processes(
    workers: Workers,
    scoring: Scoring,
    kernels: Sequence[Make],
    deadline: Deadline,
    C: float | None,
) -> Generator[tuple[int, CandidateScore], None, None]:
    """Scores as they are ready; kernels are built here, and the table is sent once."""
    sent, begun = workers.send(scoring), []
    for number, make in enumerate(kernels):
        try:
            begun.append((number, sent, make(), C))
        except FormulaKernError as error:
            yield number, scoring.score(partial(_raised, error), C=C)

    def in_time() -> Iterator[tuple[Any, ...]]:
        for place, one in enumerate(begun):
            if place and deadline.over():
                return
            yield one

    yield from workers.answers(_scored, in_time())


def _scored(
    number: int, scoring: Scoring, kernel: Kernel, C: float | None
) -> tuple[int, CandidateScore]:
    return number, scoring.score(lambda: kernel, None, C)


def _raised(error: FormulaKernError) -> Kernel:
    raise error


def _line(number: int, formula: Formula | Kernel, score: CandidateScore) -> str:
    parts = [f"candidate {number}: {formula}"]
    if not np.isnan(score.ratio):
        parts.append(f"ratio {score.ratio:.4g}")
    if not np.isnan(score.mean_score):
        parts.append(f"score {score.mean_score:.4g}")
    if score.status != "ok":
        parts.append(score.status)
    return ", ".join([*parts, f"{score.seconds:.2f} s"])


def score_in_time(
    scoring_of: Callable[[npt.NDArray[np.intp]], Scoring],
    classes: npt.NDArray[np.object_],
    kernels: Sequence[Make],
    formulas: Sequence[Formula | Kernel],
    by: str,
    Cs: Sequence[float],
    n_jobs: int | None,
    bar: Progress,
    deadline: Deadline,
) -> tuple[list[CandidateScore], int]:
    """One score per candidate, and on how many rows the best ones were compared."""
    found = [CandidateScore(status="the time was over") for _ in kernels]
    second = int(np.sort(np.unique(classes, return_counts=True)[1])[-2])
    places, size = list(range(len(kernels))), max(FIRST, -(-ENOUGH * len(classes) // second))
    rows = subsample(classes, size)
    size = len(rows)
    while True:
        scoring = scoring_of(rows)
        made, named = [kernels[k] for k in places], [formulas[k] for k in places]
        new = score_all(scoring, made, named, by, n_jobs, bar, deadline)
        ended = any(score.status == "interrupted" for score in new)
        if ended and len(rows) > size:
            break  # of the candidates on fewer rows all are known
        for place, score in zip(places, new, strict=True):
            found[place] = score
        done, size = len(rows), len(rows)
        ranked = [places[k] for k in SearchResults(named, new, by).leading(-(-len(places) // 2))]
        seconds = float(np.mean([found[k].seconds for k in ranked] or [0.0]))
        factor = min(GROWTH, len(classes) / done) ** POWER
        if ended or not ranked or done == len(classes):
            break
        if deadline.over(factor * seconds * len(ranked)):
            break
        for k in set(places) - set(ranked):
            found[k] = _left_out(found[k], done)
        places, rows = sorted(ranked), subsample(classes, GROWTH * done)
    if by == "mean_score" and not ended and not deadline.over(seconds * len(Cs)):
        new = score_best_again(scoring, made, named, new, Cs, n_jobs, bar, deadline)
        for place, score in zip(places, new, strict=True):
            found[place] = score
    return found, size


def _left_out(score: CandidateScore, n_rows: int) -> CandidateScore:
    """A candidate that was worse on fewer rows than the others had in the end."""
    if not np.isfinite(score.mean_score) and not np.isfinite(score.ratio):
        return score
    value = score.mean_score if np.isfinite(score.mean_score) else score.ratio
    blank = dict.fromkeys(("radius", "margin", "ratio", "mean_score", "std_score"), np.nan)
    status = f"left out: {value:.4g} on {n_rows:,} rows"
    return replace(score, **blank, scores=np.empty(0), status=status)  # type: ignore[arg-type]


def fit_in_time(
    model: FormulaSVC,
    table: Any,
    classes: npt.NDArray[Any],
    X: Any,
    n_compared: int,
    deadline: Deadline,
) -> None:
    """Fit the best candidate to all rows, or to those that it was compared on if time is short.

    Warns
    -----
    ConvergenceWarning
        If these were not all, or the dual solver has left a gap.
    """
    n_rows = len(classes)
    if not deadline.limited:
        model._fit_encoded(_weighted(model, table, classes), X)
        return
    sample = copy(model) if n_compared < n_rows else None
    if sample is not None:
        _fit_sample(sample, table, classes, X, n_compared)
    short = deadline.over(LAST + n_rows / ROWS if sample is not None else 0.0)
    if not short:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model._fit_encoded(_weighted(model, table, classes), X, deadline)
        short = unusable(model)
        for one in [] if short else told:
            warnings.warn(one.message, stacklevel=3)
    if sample is not None:
        warnings.warn(
            f"stopped by the time limit: of {n_rows:,} rows candidates were compared on "
            f"{n_compared:,}, and the best one is fitted to {n_compared if short else n_rows:,}. "
            "Allow more time.",
            ConvergenceWarning,
            stacklevel=3,
        )
    if short and sample is not None:
        model.__dict__.update(sample.__dict__)
    elif short:
        _fit_sample(model, table, classes, X, n_compared)


def _fit_sample(
    model: FormulaSVC, table: Any, classes: npt.NDArray[Any], X: Any, n_rows: int
) -> None:
    """Fit a model to the rows that candidates were compared on."""
    rows = subsample(classes, n_rows)
    model._fit_encoded(_weighted(model, table.take(rows), classes[rows]), X)
    model.support_ = rows[model.support_]


def _weighted(model: FormulaSVC, table: Any, classes: npt.NDArray[Any]) -> TrainingData:
    return TrainingData.of(table, classes, model.class_weight)


def unusable(model: FormulaSVC) -> bool:
    """Whether the time was over when the solver had hardly begun, for some pair of classes."""
    return len(model.support_) == 0 or not model.gap_ < OPEN
