"""``formulakern compare``: several learners on the same folds of a table."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Collection, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from formulakern.cli.learners import learner_of, listed_learners
from formulakern.cli.options import (
    add_command,
    add_output,
    fold_options,
    fold_values,
    identifier_advice,
    read_dataset,
    table_options,
)
from formulakern.cli.output import about_lines, check_output
from formulakern.cli.scores import (
    SHARES,
    Score,
    check_target,
    expected_warnings_ignored,
    fold_scores,
    plain_learners,
    scores_table,
)
from formulakern.errors import ParameterError
from formulakern.files.replacing import replacing
from formulakern.registry import LEARNERS
from formulakern.text import blocks

__all__ = ["add"]

#: The learners that are compared by default, and those that "all" leaves out.
COMPARED = "hkl,prl,rules,svm"
APART = ("strings", "novelty")


def add(commands: Any) -> None:
    """Add the command to those of a parser."""
    compare = add_command(
        commands,
        "compare",
        "score several learners, and plain ones, on the same folds of a table",
        [
            "bank.csv --cv 2",
            "bank.csv --drop id --models rules,prl --cv 2 --picture scores.png",
            'tic-tac-toe --formula a --formula "a & b & c" --variables distinct --cv 2',
        ],
        table_options(),
        fold_options(),
        more=f"models:\n{listed_learners()}",
    )
    compare.add_argument(
        "--models",
        metavar="NAMES",
        help="with commas, or all of classes (default: " + COMPARED + "; none with --formula)",
    )
    compare.add_argument(
        "--formula",
        action="append",
        default=[],
        help="also a support vector machine with the kernel of this formula; may be given again",
    )
    compare.add_argument(
        "--variables", metavar="READING", help="of the formulas: bound, free or distinct"
    )
    add_output(compare, "--picture", metavar="FILE", help="draw the scores (png, svg)")
    compare.set_defaults(run=_compare)


def _compare(options: argparse.Namespace) -> None:
    begin = perf_counter()
    listed = "" if options.formula else COMPARED
    listed = listed if options.models is None else options.models
    names = [name.strip() for name in listed.split(",") if name.strip()]
    if names == ["all"]:
        names = [n for n, k in LEARNERS.items() if not k.predicts_numbers and n not in APART]
    models = {name: learner_of(name, options) for name in names}
    reading = {"variables": options.variables} if options.variables else {}
    for formula in options.formula:
        models[formula] = learner_of("svm", options, formula=formula, **reading)
    if not models:
        raise ParameterError("--models names no learner. Write --models hkl,prl.")
    known = [LEARNERS.get(name, LEARNERS["svm"]) for name in models]
    if unscored := [name for name in names if LEARNERS[name].novelty]:
        raise ParameterError(f"{unscored[0]} reads no class, and has no score. Leave it out.")
    if len({learner.predicts_numbers for learner in known}) > 1:
        raise ParameterError("--models has learners of classes and of numbers. Name one kind.")
    if options.picture is not None:
        _check_picture(options)
    numbers = known[0].predicts_numbers
    dataset = read_dataset(options)
    check_target(dataset, numbers)
    about = [*about_lines(dataset, numbers), *identifier_advice(dataset.data, options)]
    print(blocks([("data", "\n".join(about))]), flush=True)
    with expected_warnings_ignored():
        scores = fold_scores(
            models, plain_learners(numbers), dataset, numbers, **fold_values(options)
        )
    scores.sort(key=lambda score: np.inf if score.failed else -np.mean(score.first))
    print(f"\n{scores_table(scores, f'{options.cv} folds')}")
    foot = [("time", f"{perf_counter() - begin:.1f} s in all")]
    if options.picture is not None:
        _draw(scores, options.picture, models)
        foot.append(("picture", str(options.picture)))
    best = next(score.name for score in scores if score.name in models and not score.failed)
    model = f"--model {best}" if best in LEARNERS else f"--formula {shlex.quote(best)}"
    learn = f"formulakern learn {_same_table(options)} {model} -o model.json"
    print(f"\n{blocks([*foot, ('next', learn)])}")


def _same_table(options: argparse.Namespace) -> str:
    """Return the arguments that name the same table."""
    words = [options.data]
    for name in ("target", "drop", "encoding", "delimiter"):
        if (given := getattr(options, name)) is not None:
            words += [f"--{name}", given]
    return shlex.join(words)


def _check_picture(options: argparse.Namespace) -> None:
    """Raise before the work if the picture could not be drawn."""
    from formulakern.optional import needed

    path = options.picture
    check_output(path, options.force, options.data)
    canvas = needed("matplotlib.backend_bases", "--picture", "plot").FigureCanvasBase
    kinds = sorted(canvas.get_supported_filetypes())
    if path.suffix.lower().removeprefix(".") not in kinds:
        raise ParameterError(
            f"--picture {path}: a picture is a file of {', '.join(kinds)}. Write scores.png."
        )


def _draw(scores: Sequence[Score], path: Path, models: Collection[str]) -> None:
    """Draw mean and standard deviation over the folds, a line for every learner."""
    from formulakern.optional import new_axes

    done = [score for score in scores if not score.failed][::-1]
    name = next(iter(done[0].values))
    scale = 100 if name in SHARES else 1
    axes: Any = new_axes(6.0, 1.2 + 0.34 * len(done))
    for own in (True, False):
        places = [k for k, score in enumerate(done) if (score.name in models) == own]
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
    axes.set_xlabel(f"{name}{' in percent' * (scale == 100)}: mean and deviation over folds")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.15), ncols=2, frameon=False)
    with replacing(path) as new:
        kind = path.suffix.removeprefix(".").lower()
        axes.figure.savefig(new, format=kind, bbox_inches="tight", dpi=150)
