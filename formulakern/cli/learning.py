"""Commands on tables: learn a model, compare learners, list the built-in tables."""

from __future__ import annotations

import argparse
import ast
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import formulakern as fk
from formulakern.checks import check_integer
from formulakern.cli import scores
from formulakern.cli.models import RULES_SECONDS, SHOWN_RULES, learned_text, uncalibrated
from formulakern.cli.options import (
    FOLDS,
    TABLE,
    check_output,
    command,
    data_line,
    described,
    kernel_of,
    listed,
    nominal_columns,
    opened_output,
    option,
    output,
    read_dataset,
    select_columns,
)
from formulakern.datasets.dataset import Dataset
from formulakern.errors import FormulaKernError, FormulaSizeError, ParameterError
from formulakern.files.models import save
from formulakern.files.replacing import replacing
from formulakern.interrupts import held, presses
from formulakern.progress import Progress
from formulakern.registry import LEARNERS
from formulakern.tables.column import did_you_mean
from formulakern.tables.table import Table
from formulakern.text import SHARES, blocks, clip, table

#: The learners that `compare` scores by default.
COMPARED = "hkl,prl,rules,svm"
#: Maximum number of characters of a formula or closed form in the output.
MAX_CHARACTERS = 80


# -- learners by their names -----------------------------------------------------------------------


def _listed_learners() -> str:
    shown = blocks([(name, known.about) for name, known in LEARNERS.items()])
    return f"models:\n{shown}"


def learner(
    name: str,
    settings: Sequence[str] = (),
    given: Mapping[str, Any] = {},
    nominal: str | list[str] = "auto",
    **usual: Any,
) -> Any:
    """Return a new estimator by its name in ``LEARNERS``.

    ``settings`` are texts ``"parameter=value"``, with a Python literal or else text as the value;
    ``"encoder__parameter=value"`` sets a parameter of the automatic encoder.  ``given`` are further
    parameters, ``nominal`` the numeric columns that hold names, and ``usual`` defaults for
    parameters that the estimator has.

    >>> learner("prl", ["degree=1", "C=10"])
    PRLClassifier(C=10, degree=1)
    >>> learner("hkl", ["encoder__cut_points=2"])
    HKLClassifier(encoder=PropositionEncoder(cut_points=2))
    """
    if name not in LEARNERS:
        raise ParameterError(
            f'there is no learner "{name}"; {did_you_mean(name, [*LEARNERS], len(LEARNERS))}'
        )
    made = getattr(fk, LEARNERS[name].estimator)
    values = dict(given)
    encoder: dict[str, Any] = {} if nominal == "auto" else {"nominal": nominal}
    for setting in settings:
        key, equals, text = (word.strip() for word in setting.partition("="))
        if not equals or not key:
            raise ParameterError(f'--set "{setting}" is not name=value. Write --set C=10.')
        inside = key.startswith("encoder__") and hasattr(made, "_auto_encoder")
        (encoder if inside else values)[key.removeprefix("encoder__" * inside)] = _value(text)
    known = made._get_param_names()
    asked = [*values, *(["encoder"] if encoder else [])]
    for owner, names in ((made, asked), (fk.PropositionEncoder, encoder)):
        parameters = list(owner._get_param_names())
        for key in names:
            if key not in parameters:
                hint = did_you_mean(key, parameters, len(parameters))
                raise ParameterError(f'{owner.__name__} has no parameter "{key}"; {hint}')
    usual = {key: value for key, value in usual.items() if key in known and value is not None}
    model = made(**usual | values)
    if encoder:
        model.set_params(encoder=model._auto_encoder().set_params(**encoder))
    return model


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text


def _learner(
    name: str, options: argparse.Namespace, settings: Sequence[str] = (), **given: Any
) -> Any:
    """Return a new estimator with the seed, time limit and nominal columns of the options."""
    usual = {"random_state": options.seed, "time_limit": options.time_limit}
    return learner(name, settings, given, nominal_columns(options), **usual)


def _sizes(options: argparse.Namespace) -> dict[str, int]:
    sizes = {"n_folds": options.cv, "max_rows": options.max_rows, "seed": options.seed}
    return sizes | ({"points": options.points} if "points" in options else {})


# -- learn -----------------------------------------------------------------------------------------


@command(
    [
        "bank.csv -o model.json",
        "bank.csv --class y --drop id --model prl --set degree=1 -o model.json",
        'bank.csv --drop id --formula "a & b" --top 5',
        "train.csv --model svm --cv 0 --test test.csv",
        "bank.csv --model prl --points 5 -o card.json",
    ],
    *TABLE,
    *FOLDS,
    option("--model NAME", "the learner (default: hkl, or svm with --formula)"),
    option("--formula", "the formula of the kernel of a support vector machine"),
    option("--variables READING", "how to read names in the formula: bound, free or distinct"),
    option(
        "--set NAME=VALUE",
        "set a parameter of the learner; can be repeated",
        action="append",
        default=[],
    ),
    option(
        "--probabilities",
        "add class probabilities; a learner without them is calibrated with five further fits",
        default=False,
    ),
    option(
        "--points N",
        "make a score card: at most N points per rule (default: 10), two classes only",
        type=int,
        nargs="?",
        const=10,
    ),
    option("--test FILE", "a table of test rows, on which the model is scored"),
    option("--top N", f"show at most N rules (default: {SHOWN_RULES})", default=SHOWN_RULES),
    *output("-o --out model.json", "save the model"),
    more=_listed_learners,
)
def learn(options: argparse.Namespace) -> None:
    """Score a learner on folds, fit it to the whole table, print its rules, and save it."""
    begin, before = perf_counter(), presses()
    check_integer("--top", options.top)
    name = options.model or ("hkl" if options.formula is None else "svm")
    given = {key: vars(options)[key] for key in ("formula", "variables") if vars(options)[key]}
    model = _learner(name, options, options.set, **given)
    if options.probabilities:
        model = _with_probabilities(model, options.seed)
    if options.points is not None:
        check_integer("--points", options.points)
        if not hasattr(model, "to_points"):
            raise ParameterError(f"--points needs rules for classes, not {name}. Use --model hkl.")
    row, opening = LEARNERS[name], _formula_lines(options) if options.formula else []
    dataset = read_dataset(options)
    test = _test_rows(options, dataset, name)
    scores.check_target(dataset, row)
    if options.out is not None:
        check_output(options.out, options.force, options.data, options.test)
    scored, numbers = row.predicts != "novelty", row.predicts_numbers
    if options.cv and scored:
        scores.check_sizes(dataset, numbers, options.cv, options.max_rows)
    _check_columns(model, name, dataset.data)
    about = described(dataset, row.predicts, options, row.reads == "strings")
    if options.formula:
        opening.append(("table", "\n".join([data_line(dataset), *about[2:]])))
    else:
        words = f"{name}: {row.about}\n{clip(' '.join(repr(model).split()), 300)}"
        opening = [("data", "\n".join(about)), ("model", words)]
        print(blocks(opening), flush=True)
    others = scores.plain_learners(numbers) if scored else {}
    if options.formula and scored:
        constant = next(iter(others))
        linear = _learner(name, options, options.set, formula="a")
        others = {"a linear kernel": linear, constant: others[constant]}
    label = name + ", score card" * (options.points is not None)
    own, kept = scores.Score(label, options.points), dict[str, Any]()
    with scores.expected_warnings_ignored(), Progress() as progress:
        progress.at(0.0, f"{name} on {len(dataset):,} rows")
        try:
            if scored:
                model = own.add(model, dataset, test, numbers)
            else:
                model.fit(dataset.data)
        except KeyboardInterrupt as interrupt:
            if options.out is not None:
                interrupt.args = (f"no model was found yet; {options.out} was not written.",)
            raise
    with _saved(model, dataset, kept, options), scores.expected_warnings_ignored():
        if presses() > before:  # Ctrl-C ended the fit early
            raise KeyboardInterrupt
        if not options.formula:
            print(f"\n{learned_text(model, options.top)}", flush=True)
        if options.cv and scored:
            found = scores.fold_scores({label: model}, others, dataset, numbers, **_sizes(options))
            folds = f"{options.cv} folds"
            kept[folds] = {score.name: score.values for score in found if not score.failed}
            if options.formula:
                opening.append(("score", scores.score_line(kept[folds], folds)))
            else:
                print(f"\n{scores.scores_table(found, folds)}", flush=True)
        if options.formula:
            print(blocks(opening), flush=True)
        if not scored:
            print(f"\n{blocks(_unlike(model, dataset, test))}")
        elif test is not None:
            found = [own, *scores.held_scores(others, dataset, test, numbers)]
            rows = f"{len(test):,} test rows"
            kept[rows] = {score.name: score.values for score in found}
            print(f"\n{scores.scores_table(found, rows)}")
        if options.formula and hasattr(uncalibrated(model), "rules"):
            print(_brief_rules(uncalibrated(model), options.top))
        elif options.formula:
            print(f"\n{learned_text(model, options.top)}")
    if options.out is not None or not options.formula:
        print(f"\n{blocks(_foot(model, options, perf_counter() - begin))}")


@contextmanager
def _saved(
    model: Any, dataset: Dataset, found: dict[str, Any], options: argparse.Namespace
) -> Iterator[None]:
    """Save a model with its origin and its scores, even if Ctrl-C ends the block."""
    interrupted = False
    try:
        yield
    except KeyboardInterrupt:
        if options.out is None:
            raise
        interrupted = True
    if options.out is None:
        return
    rows, columns = dataset.data.shape
    training = {
        "data": Path(options.data).name,
        "date": date.today().isoformat(),
        "rows": rows,
        "columns": columns,
        "digest": dataset.data.digest,
        "scores": found,
    }
    with held():
        for part in (model, uncalibrated(model)):
            part.training_ = training
        save(model, options.out)
    if interrupted:
        without = "" if found else ", without held-out scores"
        raise KeyboardInterrupt(f"{options.out} has the best model so far{without}.")


def _with_probabilities(model: Any, seed: int) -> Any:
    """Return a model that has ``predict_proba``, calibrated on held-out rows if necessary."""
    from sklearn.base import is_classifier
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.model_selection import StratifiedKFold

    if not is_classifier(model):
        raise ParameterError(
            f"--probabilities needs a model that predicts classes; got {type(model).__name__}."
        )
    if hasattr(model, "predict_proba"):
        return model
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    return CalibratedClassifierCV(model, cv=folds, ensemble=False)


def _check_columns(model: Any, name: str, X: Table) -> None:
    """Raise DataError if the table has no columns of the kind that the model reads."""
    from formulakern.encoding.strict import read_real
    from formulakern.kernels.strings import read_strings

    if LEARNERS[name].reads == "numbers":
        read_real(X)
    if LEARNERS[name].reads == "strings":
        read_strings(X, uncalibrated(model).column)


def _test_rows(options: argparse.Namespace, dataset: Dataset, name: str) -> Dataset | None:
    if options.test is None:
        return None
    same = {**vars(options), "target": dataset.target_name, "drop": None}
    given = read_dataset(argparse.Namespace(**same), options.test)
    if LEARNERS[name].predicts_numbers:
        scores.check_target(given, LEARNERS[name])
    return replace(given, data=select_columns(given.data, dataset.data.names))


def _unlike(model: Any, dataset: Dataset, test: Dataset | None) -> list[tuple[str, str]]:
    """Return the numbers of novel rows."""
    shown = []
    for name, rows in (("training", dataset), ("test", test)):
        if rows is not None:
            new = int((model.predict(rows.data) < 0).sum())
            share = f"{new:,} of {len(rows):,} rows, {new / len(rows):.1%}"
            shown.append((name, f"{share}, are unlike most training rows"))
    return shown


def _foot(model: Any, options: argparse.Namespace, seconds: float) -> list[tuple[str, str]]:
    foot = [("time", f"{seconds:.1f} s in total")]
    if options.out is None:
        return [*foot, ("next", "add -o model.json to save the model")]
    path = shlex.quote(str(options.out))
    after = [f"formulakern show {path}"]
    if hasattr(uncalibrated(model), "report"):
        rows = "FILE" if options.test is None else shlex.quote(options.test)
        advice = "" if options.test else "  (FILE: rows that were not used for training)"
        after.append(f"formulakern report {path} {rows}{advice}")
    written = f"{options.out}, {options.out.stat().st_size:,} bytes"
    return [*foot, ("written", written), ("next", "\n".join(after))]


def _formula_lines(options: argparse.Namespace) -> list[tuple[str, str]]:
    """Return a formula, its rewritten form, and its kernel in closed form."""
    made: Any = kernel_of(options)
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
    size = f"{len(made.program.kernel_nodes):,} operations per pair"
    return [("formula", text), ("kernel", _short(closed, size))]


def _short(text: str, otherwise: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else otherwise


def _brief_rules(model: Any, top: int) -> str:
    """Return the heaviest rules of a support vector machine, one per line."""
    try:
        found = model.rules(top, time_limit=RULES_SECONDS)
    except FormulaKernError as error:  # a kernel that has no rules
        return blocks([("  rules", f"none: {error}")])
    right = all(item.precision == 1 for item in found)
    lines = [
        f"{item.weight:.2f} for {item.winner}: {item.rule}"
        + ("" if right else f"  ({100 * item.precision:.1f} %)")
        for item in found
    ]
    claim = "proven" if found.proven else "not proven: the time limit was reached"
    head = f"the {len(found)} heaviest of the model ({claim})"
    if right and len(found):
        head += ", each always right"
    return "\n".join([blocks([("  rules", head)]), "", *lines])


# -- compare ---------------------------------------------------------------------------------------


@command(
    [
        "bank.csv --cv 2",
        "bank.csv --drop id --models rules,prl --cv 2 --picture scores.png",
        'tic-tac-toe --formula a --formula "a & b & c" --variables distinct --cv 2',
    ],
    *TABLE,
    *FOLDS,
    option(
        "--models NAMES",
        "comma-separated learners, or all (default: " + COMPARED + "; none with --formula)",
    ),
    option(
        "--formula",
        "add a support vector machine with the kernel of this formula; can be repeated",
        action="append",
        default=[],
    ),
    option("--variables READING", "how to read names in the formulas: bound, free or distinct"),
    *output("--picture FILE", "draw the scores (png, svg)"),
    more=_listed_learners,
)
def compare(options: argparse.Namespace) -> None:
    """Print a table of scores, best first, and draw it if requested."""
    begin = perf_counter()
    usual = "" if options.formula else COMPARED
    names = listed(usual if options.models is None else options.models)
    if names == ["all"]:
        of_classes = [name for name, row in LEARNERS.items() if row.predicts == "classes"]
        names = [name for name in of_classes if LEARNERS[name].reads != "strings"]
    models = {name: _learner(name, options) for name in names}
    reading = {"variables": options.variables} if options.variables else {}
    for formula in options.formula:
        models[formula] = _learner("svm", options, formula=formula, **reading)
    if not models:
        raise ParameterError("--models names no learner. Write, for example, --models hkl,prl.")
    rows = [LEARNERS.get(name, LEARNERS["svm"]) for name in models]
    if unscored := [name for name in names if LEARNERS[name].predicts == "novelty"]:
        raise ParameterError(f"{unscored[0]} predicts no classes and has no score. Leave it out.")
    if len({row.predicts for row in rows}) > 1:
        raise ParameterError("--models mixes learners of classes and of numbers. Name one kind.")
    if options.picture is not None:
        _check_picture(options)
    dataset = read_dataset(options)
    scores.check_target(dataset, rows[0])
    about = described(dataset, rows[0].predicts, options)
    print(blocks([("data", "\n".join(about))]), flush=True)
    numbers = rows[0].predicts_numbers
    plain = scores.plain_learners(numbers)
    with scores.expected_warnings_ignored():
        found = scores.fold_scores(models, plain, dataset, numbers, **_sizes(options))
    found.sort(key=lambda score: np.inf if score.failed else -np.mean(score.first))
    print(f"\n{scores.scores_table(found, f'{options.cv} folds')}")
    foot = [("time", f"{perf_counter() - begin:.1f} s in total")]
    if options.picture is not None:
        _draw(found, options.picture, models)
        foot.append(("picture", str(options.picture)))
    best = next(score.name for score in found if score.name in models and not score.failed)
    words = [options.data]
    for key in ("target", "drop", "encoding", "delimiter"):
        if (value := vars(options)[key]) is not None:
            words += [f"--{key}", value]
    words += ["--model" if best in LEARNERS else "--formula", best]
    print(f"\n{blocks([*foot, ('next', f'formulakern learn {shlex.join(words)} -o model.json')])}")


def _check_picture(options: argparse.Namespace) -> None:
    """Raise an error before the work if the picture cannot be drawn."""
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
    """Draw the mean and standard deviation over the folds, one line per learner."""
    from formulakern.optional import new_axes

    done = [score for score in found if not score.failed][::-1]
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


# -- built-in tables -------------------------------------------------------------------------------


@command(
    ["", "monks-1", "monks-1 -o monks-1.csv"],
    option("name", "the table to write (default: list all tables)", nargs="?"),
    *output("-o --out FILE", "file to write (default: the terminal)"),
)
def datasets(options: argparse.Namespace) -> None:
    """List the built-in tables, or write one of them."""
    if options.name is not None:
        import polars

        dataset = fk.datasets.load(options.name)
        with opened_output(options.out, options.force) as file:
            columns = {name: dataset.data[name] for name in dataset.data.names}
            frame = polars.DataFrame({**columns, dataset.target_name: dataset.target})
            file.write(frame.write_csv())
        return
    if options.out is not None:
        raise ParameterError("-o needs the name of a table, as in formulakern datasets monks-1.")
    rows, about = [], []
    for name in fk.datasets.BUILT_IN:
        dataset = fk.datasets.load(name)
        size = [f"{n:,}" for n in (*dataset.data.shape, len(dataset.target_names))]
        rows.append([name, *size])
        about.append((name, f"{dataset.description.partition('. ')[0].rstrip('.')}."))
    print(table(["name", "rows", "columns", "classes"], rows))
    print(f"\n{blocks(about)}")
    print("\n" + blocks([("next", "formulakern learn monks-1 --model rules")]))
