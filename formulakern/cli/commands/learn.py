"""``formulakern learn``: a model of a table, its scores, its rules, its file."""

from __future__ import annotations

import argparse
import shlex
from collections import Counter
from dataclasses import replace
from time import perf_counter
from typing import Any

from formulakern.cli import learners, scores
from formulakern.cli.options import (
    FOLDS,
    TABLE,
    Command,
    check_at_least_one,
    check_domains,
    described,
    fold_values,
    option,
    output,
    read_dataset,
    select_columns,
)
from formulakern.cli.output import check_output, data_line
from formulakern.datasets.dataset import Dataset
from formulakern.errors import FormulaKernError, FormulaSizeError
from formulakern.files.models import save
from formulakern.progress import Progress
from formulakern.registry import LEARNERS
from formulakern.text import blocks, clip

__all__ = ["COMMAND"]

#: Characters of a formula or of a closed form that are shown.
MAX_CHARACTERS = 80


def _learn(options: argparse.Namespace) -> None:
    begin = perf_counter()
    check_at_least_one("--top", options.top)
    name = options.model or ("hkl" if options.formula is None else "svm")
    given = {key: vars(options)[key] for key in ("formula", "variables") if vars(options)[key]}
    model = learners.learner_of(name, options, options.set, **given)
    if options.probabilities:
        model = learners.with_probabilities(model, options.seed)
    opening = _formula_lines(options) if options.formula else []
    row = LEARNERS[name]
    dataset = read_dataset(options)
    test = _test_rows(options, dataset, name)
    scores.check_target(dataset, row)
    if options.out is not None:
        check_output(options.out, options.force, options.data, options.test)
    learners.check_columns(model, name, dataset.data)
    about = described(dataset, row, options)
    if options.formula:
        opening.append(("table", "\n".join([data_line(dataset), *about[2:]])))
    else:
        opening = [("data", "\n".join(about)), ("model", clip(" ".join(repr(model).split()), 300))]
        print(blocks(opening), flush=True)
    scored, numbers = row.predicts != "novelty", row.predicts_numbers
    others = scores.plain_learners(numbers) if scored else {}
    if options.formula and scored:
        constant = next(iter(others))
        linear = learners.learner_of(name, options, options.set, formula="a")
        others = {"a linear kernel": linear, constant: others[constant]}
    with scores.expected_warnings_ignored():
        if options.cv and scored:
            found = scores.fold_scores(
                {name: model}, others, dataset, numbers, **fold_values(options)
            )
            folds = f"{options.cv} folds"
            if options.formula:
                opening.append(("score", scores.score_line(found, folds)))
            else:
                print(f"\n{scores.scores_table(found, folds)}", flush=True)
        if options.formula:
            print(blocks(opening), flush=True)
        with Progress() as progress:
            if test is not None and scored:
                every = {name: model, **others}
                found = scores.held_scores(every, dataset, test, numbers, progress)
            else:
                progress.at(0.0, f"{name} on {len(dataset):,} rows")
                model.fit(dataset.data, dataset.target if scored else None)
    if not scored:
        print(f"\n{blocks(_unlike(model, dataset, test))}")
    elif test is not None:
        print(f"\n{scores.scores_table(found, f'{len(test):,} test rows')}")
    if options.formula and hasattr(learners.uncalibrated(model), "rules"):
        print(_brief_rules(learners.uncalibrated(model), options.top))
    else:
        print(f"\n{learners.learned_text(model, options.top)}")
    if options.out is not None:
        save(model, options.out)
    if options.out is not None or not options.formula:
        print(f"\n{blocks(_foot(model, options, perf_counter() - begin))}")


def _foot(model: Any, options: argparse.Namespace, seconds: float) -> list[tuple[str, str]]:
    foot = [("time", f"{seconds:.1f} s in all")]
    if options.out is None:
        return [*foot, ("next", "-o model.json keeps the model")]
    path = shlex.quote(str(options.out))
    after = [f"formulakern show {path}"]
    if hasattr(learners.uncalibrated(model), "report"):
        rows = options.data if options.test is None else options.test
        advice = "" if options.test else "  (better: rows that the model was not learned from)"
        after.append(f"formulakern report {path} {shlex.quote(rows)}{advice}")
    written = f"{options.out}, {options.out.stat().st_size:,} bytes"
    return [*foot, ("written", written), ("next", "\n".join(after))]


def _test_rows(options: argparse.Namespace, dataset: Dataset, name: str) -> Dataset | None:
    if options.test is None:
        return None
    same = {**vars(options), "target": dataset.target_name, "drop": None}
    given = read_dataset(argparse.Namespace(**same), options.test)
    if LEARNERS[name].predicts_numbers:
        scores.check_target(given, LEARNERS[name])
    return replace(given, data=select_columns(given.data, dataset.data.names))


def _unlike(model: Any, dataset: Dataset, test: Dataset | None) -> list[tuple[str, str]]:
    """Return how many rows a model finds unlike the others."""
    shown = []
    for name, rows in (("training", dataset), ("test", test)):
        if rows is not None:
            new = int((model.predict(rows.data) < 0).sum())
            share = f"{new:,} of {len(rows):,} rows, {new / len(rows):.1%}"
            shown.append((name, f"{share}, are unlike the others"))
    return shown


# -- formulas --------------------------------------------------------------------------------------


def _formula_lines(options: argparse.Namespace) -> list[tuple[str, str]]:
    """Return a formula, its shorter form with the rewrites, and its kernel in closed form."""
    from formulakern.kernels.formula import kernel

    made = kernel(options.formula, options.variables or "bound")
    check_domains(made)
    rewriting = made.rewriting
    text = _short(str(rewriting.original), f"{made.formula.n_leaves:,} leaves")
    steps = Counter(step.rule for result in rewriting.passes for step in result.steps)
    if steps:
        after = rewriting.passes[-1].formula
        rules = ", ".join(f"{name} {n} times" if n > 1 else name for name, n in steps.items())
        text += f"  =  {_short(str(after), f'{after.n_leaves:,} leaves')}   ({rules})"
    try:
        closed = f"K(x, z) = {made.polynomial()}"
    except FormulaSizeError:
        closed = "K(x, z)"
    size = f"{len(made.program.kernel_nodes):,} operations for a pair"
    return [("formula", text), ("kernel", _short(closed, size))]


def _short(text: str, otherwise: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else otherwise


def _brief_rules(model: Any, top: int) -> str:
    """Return the heaviest rules of a support vector machine, a line each."""
    try:
        found = model.rules(top, time_limit=learners.RULES_SECONDS)
    except FormulaKernError as error:  # a kernel without rules, or of degrees
        return blocks([("  rules", f"none: {error}")])
    right = all(item.precision == 1 for item in found)
    lines = [
        f"{item.weight:.2f} for {item.winner}: {item.rule}"
        + ("" if right else f"  ({100 * item.precision:.1f} %)")
        for item in found
    ]
    claim = "proven" if found.proven else "not proven: time is over"
    head = f"the {len(found)} heaviest of the model ({claim})"
    if right and len(found):
        head += ", each always right"
    return "\n".join([blocks([("  rules", head)]), "", *lines])


COMMAND = Command(
    "learn",
    "learn a model of a table, score it, show its rules, save it",
    [
        "bank.csv -o model.json",
        "bank.csv --class y --drop id --model prl --set degree=1 -o model.json",
        'bank.csv --drop id --formula "a & b" --top 5',
        "train.csv --model svm --cv 0 --test test.csv",
    ],
    [
        *TABLE,
        *FOLDS,
        option("--model NAME", "the learner (default: hkl, and svm with --formula)"),
        option("--formula", "the formula of a support vector machine's kernel"),
        option("--variables READING", "of a formula: bound, free or distinct"),
        option(
            "--set NAME=VALUE",
            "a parameter of the model; may be given again",
            action="append",
            default=[],
        ),
        option(
            "--probabilities",
            "a model with probabilities of classes, by five further fits if it has none",
            default=False,
        ),
        option("--test FILE", "a table whose rows are only predicted"),
        option(
            "--top N",
            f"show at most N rules (default: {learners.SHOWN_RULES})",
            default=learners.SHOWN_RULES,
        ),
        *output("-o --out model.json", "save the model"),
    ],
    _learn,
    learners.listed_learners,
)
