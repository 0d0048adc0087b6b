"""Scores of several learners on the same folds or test rows, and their table."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.checks import check_integer
from formulakern.datasets.dataset import Dataset
from formulakern.errors import DataError, FormulaKernError
from formulakern.interrupts import presses
from formulakern.progress import Progress
from formulakern.registry import Learner
from formulakern.tables.table import Table
from formulakern.text import SHARES, blocks, score_text, table

#: The largest number of different numbers in a column of classes.
MAX_NUMERIC_CLASSES = 100


@dataclass
class Score:
    """The scores of one learner: by name, a number for every fold.

    With ``points``, the model is a score card with at most this number of points per rule.
    """

    name: str
    points: int | None = None
    values: dict[str, list[float]] = field(default_factory=dict)
    rules: list[int] = field(default_factory=list)
    seconds: float = 0.0
    failed: str = ""

    @property
    def first(self) -> list[float]:
        """The values of the first score: accuracy, or R2."""
        return next(iter(self.values.values()))

    def add(self, model: Any, train: Dataset, held: Dataset | None, numbers: bool) -> Any:
        """Fit a model and return it; score it on held-out rows, if any."""
        from sklearn import metrics

        begin = perf_counter()
        try:
            model.fit(train.data, train.target)
            if self.points is not None:
                model = model.to_points(train.data, train.target, self.points)
            if held is None:
                return model
            y, predicted = held.target, model.predict(held.data)
            if numbers:
                found = {
                    "R2": metrics.r2_score(y, predicted),
                    "mean error": metrics.mean_absolute_error(y, predicted),
                }
            else:
                found = {
                    "accuracy": metrics.accuracy_score(y, predicted),
                    "macro F1": metrics.f1_score(y, predicted, average="macro", zero_division=0),
                    "AUC": _area_under_curve(model, *held),
                }
            for name, value in found.items():
                self.values.setdefault(name, []).append(float(value))
            rules = getattr(model, "rules_", None)
            if rules is not None:
                self.rules.append(len(rules))
            return model
        finally:
            self.seconds += perf_counter() - begin


def _area_under_curve(model: Any, X: Table, y: NDArray[Any]) -> float:
    """Return the area under the ROC curve; nan if it is not defined.

    A score of one of several classes has no meaning without the scores of the others.  So rows are
    ranked by probabilities, or by the difference to the largest other score.
    """
    from formulakern.estimators.svm.evaluation import area_under_curve

    classes = model.classes_.tolist()
    names = ["decision_function", "predict_proba"]
    known = [name for name in names if hasattr(model, name)]
    if not known or len(np.intersect1d(y, classes)) < 2:
        return np.nan
    name = known[0] if len(classes) == 2 else known[-1]
    values = getattr(model, name)(X)
    if values.ndim == 1 and len(classes) > 2:  # one score of ordered classes
        return np.nan
    if values.ndim == 2 and name == "decision_function":
        second, best = np.sort(values, axis=1).T[-2:, :, None]
        values = values - np.where(values == best, second, best)
    return area_under_curve(y, values, classes)


def check_target(dataset: Dataset, learner: Learner) -> None:
    """Raise DataError if the column to predict does not fit the learner: text or numbers."""
    target = dataset.target
    if learner.predicts_numbers and target.dtype.kind not in "biuf":
        raise DataError(
            f'the column "{dataset.target_name}" is not numeric. Name another column with '
            "--target, or use a learner for classes."
        )
    if learner.predicts != "classes" or target.dtype.kind not in "iuf":
        return
    many, classes = len(np.unique(target)), 20 if target.dtype.kind == "f" else 50
    if many > min(MAX_NUMERIC_CLASSES, max(classes, len(target) // 10)):
        raise DataError(
            f'the column "{dataset.target_name}" is numeric, with {many:,} different values. '
            "Predict it with --model hkl-regression (HKLRegressor in Python), or name a column of "
            "classes with --target."
        )


@contextmanager
def expected_warnings_ignored() -> Iterator[None]:
    """Ignore warnings about facts that the commands print themselves."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        warnings.filterwarnings("ignore", message=".*a different value in every row")
        warnings.filterwarnings("ignore", message=".*interrupted")
        yield


def check_sizes(dataset: Dataset, numbers: bool, n_folds: int, max_rows: int) -> None:
    """Raise an error if the table or one of its classes has too few rows for the folds."""
    from formulakern.estimators.svm.evaluation import check_folds

    check_integer("--cv", n_folds, 2)
    check_integer("--max-rows", max_rows, 2)
    if not numbers:
        check_folds(dataset.target, n_folds)
    elif len(dataset) < n_folds:
        raise DataError(f"{n_folds} folds need at least one row each; there are {len(dataset)}.")


def fold_scores(
    models: Mapping[str, Any],
    plain: Mapping[str, Any],
    dataset: Dataset,
    numbers: bool = False,
    *,
    n_folds: int,
    max_rows: int,
    seed: int = 0,
    points: int | None = None,
) -> list[Score]:
    """Score learners on the same folds; a learner that fails keeps the reason.

    ``plain`` are the baselines.  ``numbers`` means that the target is numeric.  A table with more
    than ``max_rows`` rows is sampled by class.  With ``points``, ``models`` become score cards.
    """
    from sklearn.base import clone
    from sklearn.model_selection import KFold, StratifiedKFold

    from formulakern.estimators.svm.evaluation import subsample

    check_sizes(dataset, numbers, n_folds, max_rows)
    X, y = dataset
    if len(y) > max_rows:
        some = subsample(np.zeros(len(y)) if numbers else y, max_rows, seed)
        X, y = X[some], y[some]
    kind = KFold if numbers else StratifiedKFold
    splits = kind(n_folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), y)
    every = {**models, **plain}
    scores = {name: Score(name, points if name in models else None) for name in every}
    before = presses()
    with Progress() as progress:
        for number, rows in enumerate(splits):
            train, held = (Dataset(X[some], y[some], "", "") for some in rows)
            for place, (name, score) in enumerate(scores.items()):
                done = (number + place / len(scores)) / n_folds
                progress.at(done, f"fold {number + 1} of {n_folds}, {name}")
                if score.failed:
                    continue
                model = clone(every[name])
                if hasattr(model, "_proves"):  # scores need no certificate and no path
                    model._proves = model._has_path = False
                try:
                    score.add(model, train, held, numbers)
                    if presses() > before:  # Ctrl-C ended the fit early
                        raise KeyboardInterrupt
                except FormulaKernError as error:
                    score.failed = str(error)
    if all(scores[name].failed for name in models):
        raise DataError(next(iter(scores.values())).failed)
    return list(scores.values())


def held_scores(
    models: Mapping[str, Any], dataset: Dataset, test: Dataset, numbers: bool
) -> list[Score]:
    """Fit models to a data set, and score them on test rows."""
    scores = [Score(name) for name in models]
    with Progress() as progress:
        for place, (score, model) in enumerate(zip(scores, models.values(), strict=True)):
            progress.at(place / len(models), f"{score.name} on {len(dataset):,} rows")
            score.add(model, dataset, test, numbers)
    return scores


def scores_table(scores: Iterable[Score], where: str) -> str:
    """Return a table with a line for each learner, and below it the reasons of failures."""
    done = [score for score in scores if not score.failed]
    names = list(done[0].values)
    rows = []
    for score in done:
        rules = f"{np.mean(score.rules):.1f}".removesuffix(".0") if score.rules else ""
        cells = [score_text(name, score.values[name]) for name in names]
        rows.append([score.name, *cells, rules, f"{score.seconds:.1f}"])
    text = table([where, *names, "rules", "seconds"], rows)
    about = ["mean ± standard error over the folds; total seconds"] * (len(done[0].first) > 1)
    about += ["scores in percent"] * (names[0] in SHARES)
    text += f"\n{'; '.join(about)}".rstrip()
    failed = [(score.name, score.failed) for score in scores if score.failed]
    return f"{text}\n\n{blocks(failed)}" if failed else text


def score_line(scores: Mapping[str, Mapping[str, Sequence[float]]], where: str) -> str:
    """Return the first score of each learner in one sentence.

    >>> scores = {"ours": {"accuracy": [1.0, 0.9]}, "a tree": {"accuracy": [0.8, 0.8]}}
    >>> score_line(scores, "2 folds")
    'accuracy 95.00 ± 5.00 in 2 folds; a tree 80.00 ± 0.00'
    """
    name = next(iter(next(iter(scores.values()))))
    own, *others = ((learner, score_text(name, found[name])) for learner, found in scores.items())
    return "; ".join([f"{name} {own[1]} in {where}", *map(" ".join, others)])


# -- plain learners --------------------------------------------------------------------------------


def plain_learners(numbers: bool) -> dict[str, Any]:
    """Return well-known scikit-learn learners by name, with their usual encoding.

    Numbers stay numbers; missing ones become the mean, and linear models scale to unit variance.
    Categories are one-hot encoded.
    """
    from sklearn.dummy import DummyClassifier, DummyRegressor
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, RidgeCV
    from sklearn.pipeline import make_pipeline, make_union
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    def on_columns(learner: Any, *scaler: Any) -> Any:
        imputer = SimpleImputer(keep_empty_features=True)
        columns = make_union(
            make_pipeline(FunctionTransformer(_numbers), imputer, *scaler),
            make_pipeline(FunctionTransformer(_texts), OneHotEncoder(handle_unknown="ignore")),
        )
        return make_pipeline(columns, learner)

    tree = {"min_samples_leaf": 5, "random_state": 0}
    if numbers:
        return {
            "the mean": DummyRegressor(),
            "a tree": on_columns(DecisionTreeRegressor(**tree)),
            "ridge regression": on_columns(RidgeCV(np.logspace(-3, 3, 7)), StandardScaler()),
        }
    return {
        "largest class": DummyClassifier(),
        "a tree": on_columns(DecisionTreeClassifier(**tree)),
        "logistic regression": on_columns(LogisticRegression(max_iter=1000), StandardScaler()),
    }


def _numbers(table: Table) -> FloatArray:
    """Return the numeric columns as float64, after a column of zeros in case there are none."""
    found = [_as_numbers(table[name]) for name in table.names if table[name].dtype != object]
    return np.column_stack([np.zeros(len(table)), *found])


def _as_numbers(column: NDArray[Any]) -> FloatArray:
    """Return a column as float64; a date is its distance from the epoch."""
    if column.dtype.kind not in "mM":
        return column.astype(np.float64)
    return np.where(np.isnat(column), np.nan, column.astype(np.int64).astype(np.float64))


def _texts(table: Table) -> Any:
    """Return the text columns, after a constant column; a missing entry is a category."""
    found = [table[name].astype(str) for name in table.names if table[name].dtype == object]
    same = np.full(len(table), "", dtype=object)
    return np.column_stack([same, *(column.astype(object) for column in found)])
