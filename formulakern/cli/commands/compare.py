"""``formulakern compare``: several learners on the same folds of a table."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Collection, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from formulakern.cli import scores
from formulakern.cli.learners import learner_of, listed_learners
from formulakern.cli.options import (
    FOLDS,
    TABLE,
    Command,
    described,
    fold_values,
    listed,
    option,
    output,
    read_dataset,
)
from formulakern.cli.output import check_output
from formulakern.errors import ParameterError
from formulakern.files.replacing import replacing
from formulakern.registry import LEARNERS
from formulakern.text import blocks

__all__ = ["COMMAND"]

#: The learners that are compared by default.
COMPARED = "hkl,prl,rules,svm"


def _compare(options: argparse.Namespace) -> None:
    begin = perf_counter()
    usual = "" if options.formula else COMPARED
    names = listed(usual if options.models is None else options.models)
    if names == ["all"]:
        of_classes = [name for name, row in LEARNERS.items() if row.predicts == "classes"]
        names = [name for name in of_classes if LEARNERS[name].reads != "strings"]
    models = {name: learner_of(name, options) for name in names}
    reading = {"variables": options.variables} if options.variables else {}
    for formula in options.formula:
        models[formula] = learner_of("svm", options, formula=formula, **reading)
    if not models:
        raise ParameterError("--models names no learner. Write --models hkl,prl.")
    rows = [LEARNERS.get(name, LEARNERS["svm"]) for name in models]
    if unscored := [name for name in names if LEARNERS[name].predicts == "novelty"]:
        raise ParameterError(f"{unscored[0]} reads no class, and has no score. Leave it out.")
    if len({row.predicts for row in rows}) > 1:
        raise ParameterError("--models has learners of classes and of numbers. Name one kind.")
    if options.picture is not None:
        _check_picture(options)
    dataset = read_dataset(options)
    scores.check_target(dataset, rows[0])
    about = described(dataset, LEARNERS["svm"]._replace(predicts=rows[0].predicts), options)
    print(blocks([("data", "\n".join(about))]), flush=True)
    numbers = rows[0].predicts_numbers
    plain = scores.plain_learners(numbers)
    with scores.expected_warnings_ignored():
        found = scores.fold_scores(models, plain, dataset, numbers, **fold_values(options))
    found.sort(key=lambda score: np.inf if score.failed else -np.mean(score.first))
    print(f"\n{scores.scores_table(found, f'{options.cv} folds')}")
    foot = [("time", f"{perf_counter() - begin:.1f} s in all")]
    if options.picture is not None:
        _draw(found, options.picture, models)
        foot.append(("picture", str(options.picture)))
    best = next(score.name for score in found if score.name in models and not score.failed)
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


def _draw(found: Sequence[scores.Score], path: Path, models: Collection[str]) -> None:
    """Draw mean and standard deviation over the folds, a line for every learner."""
    from formulakern.optional import new_axes

    done = [score for score in found if not score.failed][::-1]
    name = next(iter(done[0].values))
    scale = 100 if name in scores.SHARES else 1
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


COMMAND = Command(
    "compare",
    "score several learners, and plain ones, on the same folds of a table",
    [
        "bank.csv --cv 2",
        "bank.csv --drop id --models rules,prl --cv 2 --picture scores.png",
        'tic-tac-toe --formula a --formula "a & b & c" --variables distinct --cv 2',
    ],
    [
        *TABLE,
        *FOLDS,
        option(
            "--models NAMES",
            "with commas, or all of classes (default: " + COMPARED + "; none with --formula)",
        ),
        option(
            "--formula",
            "also a support vector machine with the kernel of this formula; may be given again",
            action="append",
            default=[],
        ),
        option("--variables READING", "of the formulas: bound, free or distinct"),
        *output("--picture FILE", "draw the scores (png, svg)"),
    ],
    _compare,
    listed_learners,
)
