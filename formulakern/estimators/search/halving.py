"""Scoring candidates within a time limit: all on few rows, the better half on twice as many, ….

That is successive halving: K. Jamieson, A. Talwalkar, "Non-stochastic best arm identification and
hyperparameter optimization", AISTATS 2016, arXiv:1502.07943.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from formulakern.deadline import Deadline
from formulakern.estimators.search.results import CandidateScore, SearchResults
from formulakern.estimators.search.run import Make, score_all, score_best_again
from formulakern.estimators.search.scores import Scoring
from formulakern.estimators.svm.classifier import FormulaSVC
from formulakern.estimators.svm.evaluation import subsample
from formulakern.kernels.algebra import Kernel
from formulakern.progress import FitProgress
from formulakern.syntax.formula import Formula

__all__ = ["fit_in_time", "score_in_time"]

#: Rows that all candidates are scored on at first, by how much they grow, and by what power of that
#: a candidate takes longer, at most: a Gram matrix has n² entries, its solver takes up to n³ steps.
FIRST, GROWTH, POWER = 400, 2, 3
#: Rows that the second largest class has in the first sample, at least.
ENOUGH = 10
#: Seconds that a fit to all rows needs to be worth beginning, and rows for one more.
LAST, ROWS = 2.0, 20_000
#: A model of all rows whose relative duality gap is larger is not better than one of a sample.
OPEN = 0.5


def score_in_time(
    scoring_of: Callable[[npt.NDArray[np.intp]], Scoring],
    classes: npt.NDArray[np.object_],
    kernels: Sequence[Make],
    formulas: Sequence[Formula | Kernel],
    by: str,
    Cs: Sequence[float],
    n_jobs: int | None,
    bar: FitProgress,
    deadline: Deadline,
) -> tuple[list[CandidateScore], int]:
    """One score per candidate, and on how many rows the best ones were compared.

    Parameters
    ----------
    scoring_of : callable
        From the rows of a sample.
    classes : ndarray of shape (n_rows,)
    kernels, formulas, by, n_jobs, bar
        As for :func:`score_all`.
    Cs : sequence of float
        Further penalty parameters, for the best ones in the end.
    deadline : Deadline
        Looked at before each candidate; more rows are only taken if all that is planned on them
        should be done in time, by how long candidates took on fewer.
    """
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

    Parameters
    ----------
    model : FormulaSVC
        That is to be fitted.
    table : PackedTable of n_rows rows
    classes : ndarray of shape (n_rows,)
    X : table
        As the user gave it.
    n_compared : int
        On how many rows the best candidates were scored.
    deadline : Deadline

    Warns
    -----
    ConvergenceWarning
        If these were not all, or the dual solver has left a gap.
    """
    n_rows = len(classes)
    if not deadline.limited:
        model._fit_encoded(table, classes, X)
        return
    sample = copy(model) if n_compared < n_rows else None
    if sample is not None:
        _fit_sample(sample, table, classes, X, n_compared)
    short = deadline.over(LAST + n_rows / ROWS if sample is not None else 0.0)
    if not short:
        model.set_params(time_limit=deadline.left())
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model._fit_encoded(table, classes, X)
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
    model.set_params(solver="libsvm")
    model._fit_encoded(table.take(rows), classes[rows], X)
    model.support_ = rows[model.support_]


def unusable(model: FormulaSVC) -> bool:
    """Whether the time was over when the solver had hardly begun, for some pair of classes."""
    return len(model.support_) == 0 or not model.gap_ < OPEN
