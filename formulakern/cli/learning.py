"""``formulakern learn`` and ``compare``: models of a table, their scores, their rules."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.checks import check_integer
from formulakern.cli.learners import LEARNERS, learner, listed_learners, plain_learners
from formulakern.cli.report import data_line, spread
from formulakern.datasets.dataset import Dataset
from formulakern.encoding.columns import did_you_mean
from formulakern.encoding.table import Table
from formulakern.errors import DataError, FormulaKernError, ParameterError
from formulakern.progress import Progress
from formulakern.text import blocks, clip, table

__all__ = ["add_learning", "columns_of", "learnt_text"]

#: Larger tables are sampled for the scores.
MAX_ROWS = 50_000
#: Rules that are shown of a model.
SHOWN = 15
#: The search for the rules of a support vector machine stops after so many seconds.
RULES_SECONDS = 30.0

Read = Callable[[argparse.Namespace], Dataset]


def add_learning(commands: Any, data: argparse.ArgumentParser, read: Read) -> None:
    """Add the commands to those of a parser.

    Parameters
    ----------
    commands
        As ``add_subparsers`` returns them.
    data : ArgumentParser
        The arguments that say which table.
    read : callable
        What reads it.
    """
    folds = argparse.ArgumentParser(add_help=False)
    folds.add_argument("--cv", type=int, default=5, metavar="FOLDS", help="folds (default: 5)")
    folds.add_argument("--seed", type=int, default=0, help="for folds and learners (default: 0)")
    folds.add_argument(
        "--max-rows",
        type=int,
        default=MAX_ROWS,
        metavar="N",
        help=f"scores are from at most so many rows (default: {MAX_ROWS:,})",
    )
    folds.add_argument("--drop", metavar="COLUMNS", help="columns to leave out, with commas")
    folds.add_argument(
        "--time-limit", type=float, metavar="SECONDS", help="for each fit of a rule learner"
    )
    learn = commands.add_parser(
        "learn",
        parents=[data, folds],
        help="learn a model of a table, score it, show its rules, save it",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"models:\n{listed_learners()}\n\nexamples:\n"
        "  formulakern learn mushroom.csv --model hkl -o model.json\n"
        "  formulakern learn bank.csv --target y --drop id --model prl --set degree=1\n"
        "  formulakern learn train.csv --model svm --test test.csv --cv 0",
    )
    learn.add_argument("--model", default="hkl", metavar="NAME", help="which (default: hkl)")
    learn.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the model; may be given again",
    )
    learn.add_argument("--test", metavar="FILE", help="a table whose rows are only predicted")
    learn.add_argument("-o", "--out", type=Path, metavar="model.json", help="save the model")
    learn.set_defaults(run=lambda options: _learn(options, read))
    compare = commands.add_parser(
        "compare",
        parents=[data, folds],
        help="score several learners, and plain ones, on the same folds of a table",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"models:\n{listed_learners()}\n\nexamples:\n"
        "  formulakern compare mushroom.csv\n"
        "  formulakern compare bank.csv --models hkl,prl --picture scores.png",
    )
    compare.add_argument(
        "--models", default="hkl,prl,rules,svm", help="which (default: hkl,prl,rules,svm)"
    )
    compare.add_argument("--picture", type=Path, metavar="FILE", help="draw the scores (png, svg)")
    compare.set_defaults(run=lambda options: _compare(options, read))


# -- learn -----------------------------------------------------------------------------------------


def _learn(options: argparse.Namespace, read: Read) -> None:
    begin = perf_counter()
    model = _made(options.model, options, options.set)
    numbers = LEARNERS[options.model].predicts_numbers
    dataset = _dropped(read(options), options)
    test = None
    if options.test is not None:
        asked = {"data": options.test, "target": dataset.target_name}
        given = read(argparse.Namespace(**{**vars(options), **asked}))
        test = replace(given, data=columns_of(given.data, dataset.data.names))
    _check_target(dataset, numbers)
    if options.out is not None and not options.out.resolve().parent.is_dir():
        raise ParameterError(f"there is no folder {options.out.parent} to write the model to.")
    shown = clip(" ".join(repr(model).split()), 300)
    print(blocks([("data", _about(dataset, numbers)), ("model", shown)]), flush=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        scored = {options.model: model, **plain_learners(numbers)}
        if options.cv:
            scores = _folds_scores(scored, dataset, options, numbers)
            print(f"\n{_scores_table(scores, f'{options.cv} folds', numbers)}", flush=True)
        with Progress(total=1 + (len(scored) if test else 0)) as progress:
            progress.advance(f"{options.model} on {len(dataset):,} rows")
            fitted = model.fit(dataset.data, dataset.target)
            if test is not None:
                scores = [
                    _test_score(name, one, dataset, test, numbers, progress)
                    for name, one in {options.model: fitted, **plain_learners(numbers)}.items()
                ]
    if test is not None:
        print(f"\n{_scores_table(scores, f'{len(test):,} test rows', numbers)}")
    print(f"\n{learnt_text(fitted, SHOWN)}")
    foot = [("time", f"{perf_counter() - begin:.1f} s in all")]
    if options.out is not None:
        fitted.save(options.out)
        size = options.out.stat().st_size
        foot.append(("written", f"{options.out}, {size:,} bytes: formulakern show {options.out}"))
    print(f"\n{blocks(foot)}")


def learnt_text(model: Any, top: int | None) -> str:
    """What a model has learned, as text: its rules, or those that can be read out of it.

    Parameters
    ----------
    model : fitted estimator
    top : int or None
        At most so many of them; None for all.
    """
    rules = getattr(model, "rules_", None)
    if rules is not None:
        more = hasattr(rules, "head") and top is not None and len(rules) > top
        text = str(rules.head(top) if more else rules)
        return f"{text}\n... {len(rules) - top:,} more rules" if more and top else text
    inner = getattr(model, "best_estimator_", model)
    if hasattr(inner, "rules") and hasattr(inner, "kernel_"):
        try:
            return str(inner.rules(top or SHOWN, time_limit=RULES_SECONDS))
        except FormulaKernError as error:  # a kernel without rules, or of degrees
            return f"no rules: {error}"
    return f"{type(model).__name__} has no rules; it holds {_held(inner)}."


def columns_of(table: Table, names: Iterable[str]) -> Table:
    """These columns of a table, whatever else it has.

    Raises
    ------
    DataError
        If one is missing.
    """
    for name in names:
        if name not in table.names:
            raise DataError(f'the file has no column "{name}"; {did_you_mean(name, table.names)}')
    return Table({name: table[name] for name in names})


def _held(model: Any) -> str:
    support = getattr(model, "support_", None)
    return "no list of parts" if support is None else f"{len(support):,} support vectors"


def _made(name: str, options: argparse.Namespace, settings: Iterable[str] = ()) -> Any:
    usual: dict[str, Any] = {"random_state": options.seed}
    if options.time_limit is not None:
        usual["time_limit"] = options.time_limit
    return learner(name, tuple(settings), **usual)


def _dropped(dataset: Dataset, options: argparse.Namespace) -> Dataset:
    """The data set without the columns that are left out."""
    names = [name.strip() for name in (options.drop or "").split(",") if name.strip()]
    for name in names:
        if name not in dataset.data.names:
            raise DataError(f'no column "{name}" to drop; {did_you_mean(name, dataset.data.names)}')
    if not names:
        return dataset
    kept = [name for name in dataset.data.names if name not in names]
    if not kept:
        raise ParameterError("--drop leaves no column to learn from.")
    return replace(dataset, data=columns_of(dataset.data, kept))


def _check_target(dataset: Dataset, numbers: bool) -> None:
    target = dataset.target
    if numbers and target.dtype.kind not in "biuf":
        raise DataError(
            f'the column "{dataset.target_name}" is no number. Name another one by --target, or '
            "take a learner of classes."
        )
    many = len(np.unique(target))
    if not numbers and target.dtype.kind == "f" and many > max(20, len(target) // 10):
        raise DataError(
            f'the column "{dataset.target_name}" has {many:,} different numbers. Take a model that '
            "predicts numbers, as --model hkl-regression, or another --target."
        )


def _about(dataset: Dataset, numbers: bool) -> str:
    """The table, and which column is predicted."""
    what = "number" if numbers else "class"
    line = data_line(dataset) if not numbers else f"{dataset.name}: {len(dataset):,} rows"
    return f'{line}\nthe {what} is the column "{dataset.target_name}"'


# -- scores ----------------------------------------------------------------------------------------


@dataclass
class _Score:
    """What a learner reached, a number for each fold."""

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


def _folds_scores(
    models: Mapping[str, Any], dataset: Dataset, options: argparse.Namespace, numbers: bool
) -> list[_Score]:
    """Every learner on the same folds; one that fails says why, and the others go on."""
    from sklearn.base import clone
    from sklearn.model_selection import KFold, StratifiedKFold

    from formulakern.estimators.svm.evaluation import check_folds, subsample

    check_integer("--cv", options.cv, 2)
    check_integer("--max-rows", options.max_rows, 2)
    X, y = dataset
    kind = KFold if numbers else StratifiedKFold
    if not numbers:
        check_folds(y, options.cv, 1.0)
    if len(y) > options.max_rows:
        if numbers:
            drawn = np.random.default_rng(options.seed).permutation(len(y))[: options.max_rows]
        else:
            drawn = subsample(y, options.max_rows, options.seed)
        X, y = X[np.sort(drawn)], y[np.sort(drawn)]
    splits = kind(options.cv, shuffle=True, random_state=options.seed).split(np.zeros(len(y)), y)
    scores = {name: _Score(name) for name in models}
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


def _test_score(
    name: str, model: Any, dataset: Dataset, test: Dataset, numbers: bool, progress: Progress
) -> _Score:
    progress.advance(f"{name} on the test rows")
    begin = perf_counter()
    if name not in LEARNERS:
        model.fit(dataset.data, dataset.target)
    score = _Score(name)
    score.note(model, test.data, test.target, numbers)
    score.seconds = perf_counter() - begin
    return score


def _scores_table(scores: Iterable[_Score], where: str, numbers: bool) -> str:
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


def _numbers_of(score: _Score, numbers: bool) -> list[str]:
    both = (score.first, score.second)
    if len(score.first) == 1:
        return [f"{x:.4g}" if numbers else f"{100 * x:.2f}" for (x,) in both]
    if numbers:
        return [f"{np.mean(x):.4g} ± {np.std(x):.2g}" for x in both]
    return list(map(spread, both))


# -- compare ---------------------------------------------------------------------------------------


def _compare(options: argparse.Namespace, read: Read) -> None:
    begin = perf_counter()
    names = [name.strip() for name in options.models.split(",") if name.strip()]
    if not names:
        raise ParameterError("--models names no learner. Write --models hkl,prl.")
    models = {name: _made(name, options) for name in names}
    kinds = {LEARNERS[name].predicts_numbers for name in names}
    if len(kinds) > 1:
        raise ParameterError("--models has learners of classes and of numbers. Name one kind.")
    numbers = kinds.pop()
    dataset = _dropped(read(options), options)
    _check_target(dataset, numbers)
    print(blocks([("data", _about(dataset, numbers))]), flush=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        scores = _folds_scores({**models, **plain_learners(numbers)}, dataset, options, numbers)
    scores.sort(key=lambda score: -np.mean(score.first) if score.first else np.inf)
    print(f"\n{_scores_table(scores, f'{options.cv} folds', numbers)}")
    foot = [("time", f"{perf_counter() - begin:.1f} s in all")]
    if options.picture is not None:
        _draw(scores, options.picture, numbers)
        foot.append(("picture", str(options.picture)))
    print(f"\n{blocks(foot)}")


def _draw(scores: Iterable[_Score], path: Path, numbers: bool) -> None:
    """Mean and standard deviation over the folds, a line for every learner."""
    from formulakern.optional import new_axes

    done = [score for score in scores if score.first][::-1]
    axes: Any = new_axes()
    scale = 1 if numbers else 100
    values = [np.array(score.first) * scale for score in done]
    places = np.arange(len(done))
    axes.errorbar(
        [v.mean() for v in values], places, xerr=[v.std() for v in values], fmt="o", capsize=3
    )
    axes.set_yticks(places, [score.name for score in done])
    axes.set_xlabel("R2" if numbers else "accuracy in percent: mean and deviation over folds")
    axes.grid(axis="x", alpha=0.3)
    try:
        axes.figure.savefig(path, bbox_inches="tight", dpi=150)
    except ValueError as error:  # an ending that is no format
        raise ParameterError(f"cannot draw {path}: {error}") from None
