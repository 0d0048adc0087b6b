"""Scores of several learners on the same folds of a table, or on test rows; as a table."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulakern.arrays import FloatArray
from formulakern.checks import check_integer
from formulakern.cli.models import uncalibrated
from formulakern.datasets.dataset import Dataset
from formulakern.errors import DataError, FormulaKernError
from formulakern.progress import Progress
from formulakern.registry import Learner
from formulakern.tables.table import Table
from formulakern.text import blocks, table

#: Scores that are shares, shown in percent.
SHARES = ("accuracy", "macro F1", "AUC")
#: A column with more different numbers is not one of classes.
MAX_NUMBERS = 100


@dataclass
class Score:
    """The scores of one learner: under each name a number for every fold."""

    name: str
    values: dict[str, list[float]] = field(default_factory=dict)
    rules: list[int] = field(default_factory=list)
    seconds: float = 0.0
    failed: str = ""

    @property
    def first(self) -> list[float]:
        """The values of the first score, accuracy or R2."""
        return next(iter(self.values.values()))

    def add(self, model: Any, train: Dataset, held: Dataset, numbers: bool) -> None:
        """Fit a model, and predict rows that it was not learned from; the seconds include both."""
        from sklearn import metrics

        begin = perf_counter()
        try:
            model.fit(train.data, train.target)
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
                self.values.setdefault(name, []).append(value)
            rules = getattr(model, "rules_", None)
            if rules is not None:
                self.rules.append(len(rules))
        finally:
            self.seconds += perf_counter() - begin


def _area_under_curve(model: Any, X: Table, y: NDArray[Any]) -> float:
    """Return the area under the ROC curve; NaN if the model or the rows have none."""
    from formulakern.estimators.svm.evaluation import area_under_curve

    classes = model.classes_.tolist()
    for name in ("decision_function", "predict_proba"):
        if hasattr(model, name) and len(np.intersect1d(y, classes)) > 1:
            values = getattr(model, name)(X)
            if values.ndim == 2 or len(classes) == 2:
                return area_under_curve(y, values, classes)
    return np.nan


def check_target(dataset: Dataset, learner: Learner) -> None:
    """Raise DataError if the column to predict is text instead of a number, or the reverse."""
    target = dataset.target
    if learner.predicts_numbers and target.dtype.kind not in "biuf":
        raise DataError(
            f'the column "{dataset.target_name}" is no number. Name another one by --target, or '
            "take a learner of classes."
        )
    if learner.predicts != "classes" or target.dtype.kind not in "iuf":
        return
    many, classes = len(np.unique(target)), 20 if target.dtype.kind == "f" else 50
    if many > min(MAX_NUMBERS, max(classes, len(target) // 10)):
        raise DataError(
            f'the column "{dataset.target_name}" is a number: it has {many:,} different values. '
            "Predict it with --model hkl-regression (HKLRegressor in Python), or name a column of "
            "classes by --target."
        )


@contextmanager
def expected_warnings_ignored() -> Iterator[None]:
    """Ignore warnings about what the commands print themselves."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        warnings.filterwarnings("ignore", message=".*another value in every row")
        yield


def fold_scores(
    models: Mapping[str, Any],
    plain: Mapping[str, Any],
    dataset: Dataset,
    numbers: bool = False,
    *,
    n_folds: int,
    max_rows: int,
    seed: int = 0,
) -> list[Score]:
    """Score learners on the same folds; one that fails has the reason, and the others go on.

    ``plain`` are learners of others, ``numbers`` means that no class is predicted; a table of more
    than ``max_rows`` is sampled, class by class.
    """
    from sklearn.base import clone
    from sklearn.model_selection import KFold, StratifiedKFold

    from formulakern.estimators.svm.evaluation import check_folds, subsample

    check_integer("--cv", n_folds, 2)
    check_integer("--max-rows", max_rows, 2)
    X, y = dataset
    if not numbers:
        check_folds(y, n_folds)
    elif len(y) < n_folds:
        raise DataError(f"{n_folds} folds need as many rows; there are {len(y)}.")
    if len(y) > max_rows:
        some = subsample(np.zeros(len(y)) if numbers else y, max_rows, seed)
        X, y = X[some], y[some]
    kind = KFold if numbers else StratifiedKFold
    splits = kind(n_folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), y)
    every = {**models, **plain}
    scores = {name: Score(name) for name in every}
    with warnings.catch_warnings(), Progress() as progress:
        warnings.filterwarnings("ignore", message=".*it was interrupted")
        for number, rows in enumerate(splits):
            train, held = (Dataset(X[some], y[some], "", "") for some in rows)
            for place, (name, score) in enumerate(scores.items()):
                done = (number + place / len(scores)) / n_folds
                progress.at(done, f"fold {number + 1} of {n_folds}, {name}")
                if score.failed:
                    continue
                try:
                    score.add(model := clone(every[name]), train, held, numbers)
                    if getattr(uncalibrated(model), "stopped_", "") == "interrupted":
                        raise KeyboardInterrupt
                except FormulaKernError as error:
                    score.failed = str(error)
    if all(scores[name].failed for name in models):
        raise DataError(next(iter(scores.values())).failed)
    return list(scores.values())


def held_scores(
    models: Mapping[str, Any], dataset: Dataset, test: Dataset, numbers: bool, progress: Progress
) -> list[Score]:
    """Fit models to a data set and score them on test rows."""
    scores = [Score(name) for name in models]
    for place, (score, model) in enumerate(zip(scores, models.values(), strict=True)):
        progress.at(place / len(models), f"{score.name} on {len(dataset):,} rows")
        score.add(model, dataset, test, numbers)
    return scores


def spread(values: ArrayLike) -> str:
    """Return mean and standard deviation of shares, in percent.

    >>> spread([0.9, 1.0])
    '95.00 ± 5.00'
    """
    shares = 100 * np.asarray(values, dtype=np.float64)
    return f"{shares.mean():.2f} ± {shares.std():.2f}"


def scores_table(scores: Iterable[Score], where: str) -> str:
    """Return a line for each learner; below the table, the reasons of those that failed."""
    done = [score for score in scores if not score.failed]
    names = list(done[0].values)
    rows = []
    for score in done:
        rules = f"{np.mean(score.rules):.1f}".removesuffix(".0") if score.rules else ""
        cells = [_cell(name, score.values[name]) for name in names]
        rows.append([score.name, *cells, rules, f"{score.seconds:.1f}"])
    text = table([where, *names, "rules", "seconds"], rows)
    failed = [(score.name, score.failed) for score in scores if score.failed]
    return f"{text}\n\n{blocks(failed)}" if failed else text


def score_line(scores: Iterable[Score], where: str) -> str:
    """Return the first score of every learner in one sentence.

    >>> ours, tree = (Score(name, {"accuracy": [1.0, 0.9]}) for name in ("ours", "a tree"))
    >>> score_line([ours, tree], "2 folds")
    'accuracy 95.00 ± 5.00 in 2 folds; a tree 95.00 ± 5.00'
    """
    own, *others = (score for score in scores if not score.failed)
    name = next(iter(own.values))
    shown = [f"{name} {_cell(name, own.first)} in {where}"]
    return "; ".join(shown + [f"{score.name} {_cell(name, score.first)}" for score in others])


def _cell(name: str, values: list[float]) -> str:
    if np.isnan(values).any():
        return ""
    if name in SHARES:
        return spread(values) if len(values) > 1 else f"{100 * values[0]:.2f}"
    return f"{np.mean(values):.4g}" + f" ± {np.std(values):.2g}" * (len(values) > 1)


# -- plain learners --------------------------------------------------------------------------------


def plain_learners(numbers: bool) -> dict[str, Any]:
    """Return well-known learners of scikit-learn by name, with the encoding their users choose.

    Numbers stay numbers (a missing one becomes the mean, and for linear models they have unit
    variance); every category is a column.
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
        "majority vote": DummyClassifier(),
        "a tree": on_columns(DecisionTreeClassifier(**tree)),
        "logistic regression": on_columns(LogisticRegression(max_iter=1000), StandardScaler()),
    }


def _numbers(table: Table) -> FloatArray:
    """Return the numeric columns, float64, after one of zeros, as there may be none."""
    found = [_as_numbers(table[name]) for name in table.names if table[name].dtype != object]
    return np.column_stack([np.zeros(len(table)), *found])


def _as_numbers(column: NDArray[Any]) -> FloatArray:
    """Return float64; a date is its distance from the epoch."""
    if column.dtype.kind not in "mM":
        return column.astype(np.float64)
    return np.where(np.isnat(column), np.nan, column.astype(np.int64).astype(np.float64))


def _texts(table: Table) -> Any:
    """Return the columns of text, after a constant one; missing is a category."""
    found = [table[name].astype(str) for name in table.names if table[name].dtype == object]
    same = np.full(len(table), "", dtype=object)
    return np.column_stack([same, *(column.astype(object) for column in found)])
