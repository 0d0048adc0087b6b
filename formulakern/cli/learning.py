"""``formulakern learn`` and ``compare``: models of a table, their scores, their rules."""

from __future__ import annotations

import argparse
import shlex
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from formulakern.cli.learners import (
    LEARNERS,
    learner,
    listed_learners,
    plain_learners,
    uncalibrated,
    with_probabilities,
)
from formulakern.cli.output import add_command, add_output, check_output
from formulakern.cli.report import data_line
from formulakern.cli.scoring import Score, fold_scores, held_scores, scores_table
from formulakern.cli.tables import columns_of, identifier_advice, read_dataset
from formulakern.datasets.dataset import Dataset
from formulakern.errors import DataError, FormulaKernError, ParameterError
from formulakern.files.model_file import write_model
from formulakern.files.replacing import replacing
from formulakern.progress import Progress
from formulakern.text import blocks, clip

__all__ = ["add_learning", "learnt_text"]

#: Larger tables are sampled for the scores.
MAX_ROWS = 50_000
#: A column with more different numbers is not one of classes.
MAX_NUMBERS = 100
#: Rules that are shown of a model.
SHOWN = 15
#: The search for the rules of a support vector machine stops after so many seconds.
RULES_SECONDS = 30.0
#: What ``compare`` tries unless told otherwise, and what "all" leaves out.
COMPARED = "hkl,prl,rules,svm"
APART = ("strings", "novelty")


def add_learning(commands: Any, data: argparse.ArgumentParser) -> None:
    """Add the commands to those of a parser.

    Parameters
    ----------
    commands
        As ``add_subparsers`` returns them.
    data : ArgumentParser
        The arguments that say which table.
    """
    folds = argparse.ArgumentParser(add_help=False)
    folds.add_argument(
        "--cv", type=int, default=5, metavar="FOLDS", help="folds; 0 for no scores (default: 5)"
    )
    folds.add_argument("--seed", type=int, default=0, help="for folds and learners (default: 0)")
    folds.add_argument(
        "--max-rows",
        type=int,
        default=MAX_ROWS,
        metavar="N",
        help=f"scores are from at most so many rows (default: {MAX_ROWS:,})",
    )
    folds.add_argument(
        "--time-limit", type=float, metavar="SECONDS", help="for each fit of a rule learner"
    )
    models = f"models:\n{listed_learners()}"
    learn = add_command(
        commands,
        "learn",
        "learn a model of a table, score it, show its rules, save it",
        [
            "bank.csv -o model.json",
            "bank.csv --class y --drop id --model prl --set degree=1 -o model.json",
            "train.csv --model svm --cv 0 --test test.csv",
        ],
        data,
        folds,
        more=models,
    )
    learn.add_argument("--model", default="hkl", metavar="NAME", help="which (default: hkl)")
    learn.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the model; may be given again",
    )
    learn.add_argument(
        "--probabilities",
        action="store_true",
        help="a model with probabilities of classes, by five further fits where it has none",
    )
    learn.add_argument("--test", metavar="FILE", help="a table whose rows are only predicted")
    add_output(learn, "-o", "--out", metavar="model.json", help="save the model")
    learn.set_defaults(run=_learn)
    compare = add_command(
        commands,
        "compare",
        "score several learners, and plain ones, on the same folds of a table",
        ["bank.csv --cv 2", "bank.csv --drop id --models rules,prl --cv 2 --picture scores.png"],
        data,
        folds,
        more=models,
    )
    compare.add_argument(
        "--models",
        default=COMPARED,
        metavar="NAMES",
        help=f"which, with commas, or all of classes (default: {COMPARED})",
    )
    add_output(compare, "--picture", metavar="FILE", help="draw the scores (png, svg)")
    compare.set_defaults(run=_compare)


# -- learn -----------------------------------------------------------------------------------------


def _learn(options: argparse.Namespace) -> None:
    begin = perf_counter()
    model = _made(options.model, options, options.set)
    if options.probabilities:
        model = with_probabilities(model, options.seed)
    known = LEARNERS[options.model]
    numbers = known.predicts_numbers
    dataset = read_dataset(options)
    test = _test_rows(options, dataset, numbers)
    _check_target(dataset, numbers, known.novelty)
    if options.out is not None:
        check_output(options.out, options.force, options.data, options.test)
    about = _about(dataset, numbers, known.novelty)
    if options.model != "strings":
        about += identifier_advice(dataset.data, options)
    shown = clip(" ".join(repr(model).split()), 300)
    print(blocks([("data", "\n".join(about)), ("model", shown)]), flush=True)
    others = {} if known.novelty else plain_learners(numbers)
    with warnings.catch_warnings():
        _leave_out_what_is_said()
        if options.cv and not known.novelty:
            scores = fold_scores({options.model: model, **others}, dataset, options, numbers)
            print(f"\n{scores_table(scores, f'{options.cv} folds', numbers)}", flush=True)
        with Progress(total=1 + (len(others) if test else 0)) as progress:
            if test is not None and not known.novelty:
                every = {options.model: model, **others}
                scores = held_scores(every, dataset, test, numbers, progress)
            else:
                progress.advance(f"{options.model} on {len(dataset):,} rows")
                model.fit(dataset.data, None if known.novelty else dataset.target)
    if known.novelty:
        print(f"\n{blocks(_unlike(model, dataset, test))}")
    elif test is not None:
        print(f"\n{scores_table(scores, f'{len(test):,} test rows', numbers)}")
    print(f"\n{learnt_text(model, SHOWN)}")
    foot = [("time", f"{perf_counter() - begin:.1f} s in all")]
    if options.out is not None:
        write_model(model, options.out)
        size, path = options.out.stat().st_size, shlex.quote(str(options.out))
        foot.append(("written", f"{options.out}, {size:,} bytes"))
        shown = options.data if options.test is None else options.test
        page = f"formulakern report {path} {shlex.quote(shown)}"
        if options.test is None:
            page += "  (fairer: rows that were not learned from)"
        after = [f"formulakern show {path}", *[page] * hasattr(uncalibrated(model), "report")]
        foot.append(("next", "\n".join(after)))
    else:
        foot.append(("next", "-o model.json keeps the model"))
    print(f"\n{blocks(foot)}")


def _leave_out_what_is_said() -> None:
    """Warnings of what this command says itself."""
    warnings.filterwarnings("ignore", message="The least populated class")
    warnings.filterwarnings("ignore", message=".*another value in every row")


def _test_rows(options: argparse.Namespace, dataset: Dataset, numbers: bool) -> Dataset | None:
    if options.test is None:
        return None
    asked = {**vars(options), "target": dataset.target_name, "drop": None}
    given = read_dataset(argparse.Namespace(**asked), options.test)
    if numbers:
        _check_target(given, numbers, False)
    return replace(given, data=columns_of(given.data, dataset.data.names))


def _unlike(model: Any, dataset: Dataset, test: Dataset | None) -> list[tuple[str, str]]:
    """How many rows a model calls unlike the others."""
    shown = []
    for name, rows in (("training", dataset), ("test", test)):
        if rows is not None:
            new = int((model.predict(rows.data) < 0).sum())
            share = f"{new:,} of {len(rows):,} rows, {new / len(rows):.1%}"
            shown.append((name, f"{share}, are unlike the others"))
    return shown


def learnt_text(model: Any, top: int | None) -> str:
    """What a model has learned, as text: its rules, or those that can be read out of it.

    Parameters
    ----------
    model : fitted estimator
    top : int or None
        At most so many of them; None for all.
    """
    model = uncalibrated(model)
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


def _held(model: Any) -> str:
    support = getattr(model, "support_", None)
    return "no list of parts" if support is None else f"{len(support):,} support vectors"


def _made(name: str, options: argparse.Namespace, settings: Iterable[str] = ()) -> Any:
    usual: dict[str, Any] = {"random_state": options.seed}
    if options.time_limit is not None:
        usual["time_limit"] = options.time_limit
    return learner(name, tuple(settings), **usual)


def _check_target(dataset: Dataset, numbers: bool, novelty: bool) -> None:
    target = dataset.target
    if numbers and target.dtype.kind not in "biuf":
        raise DataError(
            f'the column "{dataset.target_name}" is no number. Name another one by --target, or '
            "take a learner of classes."
        )
    if numbers or novelty or target.dtype.kind not in "iuf":
        return
    many, classes = len(np.unique(target)), 20 if target.dtype.kind == "f" else 50
    if many > min(MAX_NUMBERS, max(classes, len(target) // 10)):
        raise DataError(
            f'the column "{dataset.target_name}" is a number: it has {many:,} different values. '
            "Predict it with --model hkl-regression (HKLRegressor in Python), or name a column of "
            "classes by --target."
        )


def _about(dataset: Dataset, numbers: bool, novelty: bool = False) -> list[str]:
    """The table, and which column is predicted."""
    rows, columns = dataset.data.shape
    plain = f"{dataset.name}: {rows:,} rows, {columns:,} columns"
    said = f'the class is the column "{dataset.target_name}"'
    if numbers:
        said = f'the number is the column "{dataset.target_name}"'
    elif novelty:
        said = f'the column "{dataset.target_name}" is left aside'
    return [plain if numbers or novelty else data_line(dataset), said]


# -- compare ---------------------------------------------------------------------------------------


def _compare(options: argparse.Namespace) -> None:
    begin = perf_counter()
    names = [name.strip() for name in options.models.split(",") if name.strip()]
    if names == ["all"]:
        names = [n for n, k in LEARNERS.items() if not k.predicts_numbers and n not in APART]
    if not names:
        raise ParameterError("--models names no learner. Write --models hkl,prl.")
    models = {name: _made(name, options) for name in names}
    if unscored := [name for name in names if LEARNERS[name].novelty]:
        raise ParameterError(f"{unscored[0]} reads no class, and has no score. Leave it out.")
    kinds = {LEARNERS[name].predicts_numbers for name in names}
    if len(kinds) > 1:
        raise ParameterError("--models has learners of classes and of numbers. Name one kind.")
    if options.picture is not None:
        _check_picture(options)
    numbers = kinds.pop()
    dataset = read_dataset(options)
    _check_target(dataset, numbers, False)
    about = _about(dataset, numbers) + identifier_advice(dataset.data, options)
    print(blocks([("data", "\n".join(about))]), flush=True)
    with warnings.catch_warnings():
        _leave_out_what_is_said()
        scores = fold_scores({**models, **plain_learners(numbers)}, dataset, options, numbers)
    scores.sort(key=lambda score: -float(np.mean(score.first)) if score.first else np.inf)
    print(f"\n{scores_table(scores, f'{options.cv} folds', numbers)}")
    foot = [("time", f"{perf_counter() - begin:.1f} s in all")]
    if options.picture is not None:
        _draw(scores, options.picture, numbers)
        foot.append(("picture", str(options.picture)))
    best = next(score.name for score in scores if score.name in LEARNERS and not score.failed)
    learn = f"formulakern learn {_same_table(options)} --model {best} -o model.json"
    print(f"\n{blocks([*foot, ('next', learn)])}")


def _same_table(options: argparse.Namespace) -> str:
    """The arguments that name the same table again."""
    words = [options.data]
    for name in ("target", "drop", "encoding", "delimiter"):
        if (given := getattr(options, name)) is not None:
            words += [f"--{name}", given]
    return shlex.join(words)


def _check_picture(options: argparse.Namespace) -> None:
    """Refuse before the work a picture that could not be drawn."""
    from formulakern.optional import needed

    path = options.picture
    check_output(path, options.force, options.data)
    canvas = needed("matplotlib.backend_bases", "--picture", "plot").FigureCanvasBase
    kinds = sorted(canvas.get_supported_filetypes())
    if path.suffix.lower().removeprefix(".") not in kinds:
        raise ParameterError(
            f"--picture {path}: a picture is a file of {', '.join(kinds)}. Write scores.png."
        )


def _draw(scores: Sequence[Score], path: Path, numbers: bool) -> None:
    """Mean and standard deviation over the folds, a line for every learner."""
    from formulakern.optional import new_axes

    done = [score for score in scores if score.first][::-1]
    axes: Any = new_axes(6.0, 1.2 + 0.34 * len(done))
    scale = 1 if numbers else 100
    for own in (True, False):
        places = [k for k, score in enumerate(done) if (score.name in LEARNERS) == own]
        values = [np.array(done[k].first) * scale for k in places]
        axes.errorbar(
            [v.mean() for v in values],
            places,
            xerr=[v.std() for v in values],
            fmt="o" if own else "s",
            mfc=None if own else "white",
            capsize=3,
            label="formulakern" if own else "scikit-learn",
        )
    axes.set_yticks(range(len(done)), [score.name for score in done])
    axes.set_xlabel("R2" if numbers else "accuracy in percent: mean and deviation over folds")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.15), ncols=2, frameon=False)
    with replacing(path) as new:
        kind = path.suffix.removeprefix(".").lower()
        axes.figure.savefig(new, format=kind, bbox_inches="tight", dpi=150)
