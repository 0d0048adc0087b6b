"""Scores of several learners on the same folds of a table, or on test rows; as a table."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.checks import check_integer
from formulakern.cli.learners import LEARNERS
from formulakern.cli.report import spread
from formulakern.datasets.dataset import Dataset
from formulakern.errors import DataError, FormulaKernError
from formulakern.progress import Progress
from formulakern.tables.table import Table
from formulakern.text import blocks, table

__all__ = ["Score", "fold_scores", "held_scores", "scores_table"]


@dataclass
class Score:
    """What a learner reached, a number for each fold.

    ``first`` and ``second`` are accuracy and macro F1, or R² and the mean absolute error.
    """

    name: str
    first: list[float] = field(default_factory=list)
    second: list[float] = field(default_factory=list)
    rules: list[float] = field(default_factory=list)
    seconds: float = 0.0
    failed: str = ""

    def note(self, model: Any, X: Table, y: NDArray[Any], numbers: bool) -> None:
        """Predict rows that the model has not seen."""
        from sklearn.metrics import accuracy_score, f1_score, mean_absolute_error, r2_score

        predicted = model.predict(X)
        if numbers:
            self.first.append(r2_score(y, predicted))
            self.second.append(mean_absolute_error(y, predicted))
        else:
            self.first.append(accuracy_score(y, predicted))
            self.second.append(f1_score(y, predicted, average="macro", zero_division=0))
        rules = getattr(model, "rules_", None)
        if rules is not None:
            self.rules.append(len(rules))


def fold_scores(
    models: Mapping[str, Any], dataset: Dataset, options: argparse.Namespace, numbers: bool
) -> list[Score]:
    """Every learner on the same folds; one that fails says why, and the others go on.

    Raises
    ------
    DataError
        If all fail that are of this library.
    """
    from sklearn.base import clone
    from sklearn.model_selection import KFold, StratifiedKFold

    from formulakern.estimators.svm.evaluation import check_folds, subsample

    check_integer("--cv", options.cv, 2)
    check_integer("--max-rows", options.max_rows, 2)
    X, y = dataset
    kind = KFold if numbers else StratifiedKFold
    if not numbers:
        check_folds(y, options.cv, 1.0)
    elif len(y) < options.cv:
        raise DataError(f"{options.cv} folds need as many rows; there are {len(y)}.")
    if len(y) > options.max_rows:
        if numbers:
            drawn = np.random.default_rng(options.seed).permutation(len(y))[: options.max_rows]
        else:
            drawn = subsample(y, options.max_rows, options.seed)
        X, y = X[np.sort(drawn)], y[np.sort(drawn)]
    splits = kind(options.cv, shuffle=True, random_state=options.seed).split(np.zeros(len(y)), y)
    scores = {name: Score(name) for name in models}
    with Progress(total=len(models) * options.cv) as progress:
        for number, (train, held) in enumerate(splits, 1):
            for name, score in scores.items():
                progress.advance(f"fold {number} of {options.cv}, {name}")
                if score.failed:
                    continue
                begin = perf_counter()
                try:
                    fitted = clone(models[name]).fit(X[train], y[train])
                    score.note(fitted, X[held], y[held], numbers)
                except FormulaKernError as error:
                    score.failed = str(error)
                score.seconds += perf_counter() - begin
    found = list(scores.values())
    if all(score.failed for score in found if score.name in LEARNERS):
        raise DataError(found[0].failed)
    return found


def held_scores(
    models: Mapping[str, Any], dataset: Dataset, test: Dataset, numbers: bool, progress: Progress
) -> list[Score]:
    """Fit models to a data set and score them on test rows; the seconds are those of both."""
    scores = []
    for name, model in models.items():
        progress.advance(f"{name} on {len(dataset):,} rows")
        begin = perf_counter()
        model.fit(dataset.data, dataset.target)
        scores.append(Score(name))
        scores[-1].note(model, test.data, test.target, numbers)
        scores[-1].seconds = perf_counter() - begin
    return scores


def scores_table(scores: Iterable[Score], where: str, numbers: bool) -> str:
    """A line for each learner; below it, why others failed."""
    rows, failed = [], []
    for score in scores:
        if score.failed:
            failed.append((score.name, score.failed))
            continue
        rules = f"{np.mean(score.rules):.1f}".removesuffix(".0") if score.rules else ""
        rows.append([score.name, *_numbers_of(score, numbers), rules, f"{score.seconds:.1f}"])
    head = ["R2", "mean error"] if numbers else ["accuracy", "macro F1"]
    text = table([where, *head, "rules", "seconds"], rows)
    return f"{text}\n\n{blocks(failed)}" if failed else text


def _numbers_of(score: Score, numbers: bool) -> list[str]:
    both = (score.first, score.second)
    if len(score.first) == 1:
        return [f"{x:.4g}" if numbers else f"{100 * x:.2f}" for (x,) in both]
    if numbers:
        return [f"{np.mean(x):.4g} ± {np.std(x):.2g}" for x in both]
    return list(map(spread, both))
