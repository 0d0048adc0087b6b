"""Commands on a saved model: show, predict, explain, export, report."""

from __future__ import annotations

import argparse
import csv
import re
import shlex
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import wrap
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from formulakern.checks import check_integer
from formulakern.cli.options import (
    MODEL,
    ROWS,
    TABLE,
    check_output,
    command,
    open_file,
    opened_output,
    option,
    output,
    read_dataset,
    training_columns,
)
from formulakern.cli.scores import score_line
from formulakern.errors import DataError, FormulaKernError, ParameterError
from formulakern.estimators.reporting.report import write_report
from formulakern.files.models import load, load_rules
from formulakern.files.replacing import replacing
from formulakern.markup import rendered
from formulakern.rules.ensemble import ScoreCard
from formulakern.rules.saved import SavedRules
from formulakern.rules.sql import DialectName
from formulakern.text import blocks, clip, counted, width

if TYPE_CHECKING:
    from formulakern.datasets.reader import TableFile
    from formulakern.tables.table import Table

#: The default number of rules in the output.
SHOWN_RULES = 15
#: The time limit in seconds of the search for the rules of a support vector machine.
RULES_SECONDS = 60.0
#: Maximum number of rows to explain at once, and of classes with their probabilities.
MAX_EXPLAINED, MAX_CLASSES = 1000, 3


def uncalibrated(model: Any) -> Any:
    """Return this library's model inside a model with calibrated probabilities, or itself."""
    calibrated = getattr(model, "calibrated_classifiers_", [model])[0]
    return getattr(calibrated, "estimator", model)


def learned_text(model: Any, top: int | None) -> str:
    """Return at most ``top`` rules of a model as text, or a sentence if it has no rules."""
    model = uncalibrated(model)
    rules = getattr(model, "rules_", None)
    if rules is not None:
        sizes = model.path_.line() if hasattr(model, "path_") else ""
        if sizes:
            sizes = f"accuracy on held-out rows: {sizes}; chosen: {len(rules)}"
            sizes = "\n\n" + "\n".join(wrap(sizes, width()))
        whole = not hasattr(rules, "head") or getattr(rules, "AMOUNT", "") == "points"
        if top is None or len(rules) <= top or whole:
            return f"{rules}{sizes}"
        more = counted(len(rules) - top, "more rule")
        return f"{rules.head(top)}\n... {more} (--top {len(rules)} shows all){sizes}"
    inner = getattr(model, "best_estimator_", model)
    if hasattr(inner, "rules") and hasattr(inner, "kernel_"):
        try:
            return str(inner.rules(top or SHOWN_RULES, time_limit=RULES_SECONDS))
        except FormulaKernError as error:  # a kernel that has no rules
            return f"no rules: {error}"
    support = getattr(inner, "support_", None)
    held = "parameters only" if support is None else f"{len(support):,} support vectors"
    return f"{type(model).__name__} has no rules; it has {held}."


# -- show ------------------------------------------------------------------------------------------


@command(
    ["model.json --top 5", "model.json --html rules.html"],
    MODEL,
    option("--top N", "show only the N heaviest rules", type=int),
    *output("--html FILE", "write an HTML page instead"),
)
def show(options: argparse.Namespace) -> None:
    """Print a model, its rules and the next commands; or write an HTML page."""
    model = uncalibrated(load_rules(options.model))
    check_integer("--top", options.top, otherwise="None")
    words = " ".join(repr(model).split())
    if options.html is not None:
        rules: Any = getattr(model, "rules_", None)
        page = rendered(
            "model.html",
            title=f"{words.partition('(')[0]} of {Path(options.model).name}",
            model=words,
            rules=rules._repr_html_() if hasattr(rules, "_repr_html_") else "",
            text=learned_text(model, None),
        )
        with opened_output(options.html, options.force, options.model) as file:
            file.write(page)
        return
    about = [("model", clip(words, 300))]
    for name, attribute in (("columns", "feature_names_in_"), ("classes", "classes_")):
        values = getattr(model, attribute, None)
        if values is not None:
            about.append((name, clip(", ".join(map(str, values)), 300)))
    if training := getattr(model, "training_", None):
        size = f"{counted(training['rows'], 'row')}, {counted(training['columns'], 'column')}"
        about.append(("trained", f"{training['date']}, on {training['data']}: {size}"))
        found = training["scores"].items()
        lines = [score_line(learners, where) for where, learners in found]
        about.append(("held out", "\n".join(lines) or "the model has no saved scores"))
    gap = getattr(model, "gap_", None)
    if hasattr(model, "certificate_"):
        about.append(("proof", model.certificate_))
    elif gap is not None:
        about.append(("gap", f"{float(np.max(gap)):.2g}: at most this far from the best objective"))
    path = shlex.quote(str(options.model))
    after = [f"formulakern explain {path} FILE --row 1"] * hasattr(model, "explain")
    after += [f"formulakern report {path} FILE"] * (
        hasattr(model, "report") or hasattr(model, "rules_")
    )
    after += [f"formulakern predict {path} FILE -o predicted.csv"]
    following = blocks([("next", "\n".join(after))])
    print(f"{blocks(about)}\n\n{learned_text(model, options.top)}\n\n{following}")


# -- predict ---------------------------------------------------------------------------------------


@command(
    [
        "model.json new.csv -o predicted.csv",
        "model.json new.parquet -o predicted.parquet",
        "model.json new.csv",
    ],
    MODEL,
    *ROWS,
    *output("-o --out FILE", "CSV, or Parquet from a Parquet file (default: CSV on the terminal)"),
    option("--probabilities", "add the probability of every class", default=False),
)
def predict(options: argparse.Namespace) -> None:
    """Write the rows of a file and their predictions, partition by partition."""
    model = load_rules(options.model)
    if options.probabilities and not hasattr(model, "predict_proba"):
        model = load(options.model)  # the full model may have probabilities that its rules lack
    if options.probabilities and not hasattr(model, "predict_proba"):
        raise ParameterError(
            f"{type(model).__name__} has no probabilities. Learn it with --probabilities."
        )
    if options.out is not None:
        check_output(options.out, options.force, options.model, options.data)
    rows = open_file(options)
    classes = getattr(model, "classes_", ()) if options.probabilities else ()
    names: list[str] = []
    for name in ("prediction", *(f"probability of {label}" for label in classes)):
        new, number = name, 1
        while new in (*rows.names, *names):
            new, number = f"{name} {number + 1}", number + 1
        names.append(new)
    if options.out is not None and options.out.suffix.lower() in (".parquet", ".pq"):
        _write_parquet(model, rows, names, options)
        return
    with opened_output(options.out, options.force) as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow([*rows.names, *names])
        for table, frame in rows:
            found = zip(*_predictions(model, table, options), strict=True)
            lines.writerows(
                [*row, *more] for row, more in zip(frame.iter_rows(), found, strict=True)
            )


def _write_parquet(
    model: Any, rows: TableFile, names: list[str], options: argparse.Namespace
) -> None:
    """Write each partition to a file, and join them."""
    import polars

    if rows.missing is not None:
        raise ParameterError(
            f"cannot write {options.out} as Parquet: {options.data} is text, whose columns have no "
            "types. Write CSV, or read a Parquet file."
        )
    with replacing(options.out) as new, TemporaryDirectory(prefix=".", dir=new.parent) as folder:
        parts: list[Path] = []
        for table, frame in rows:
            found = zip(names, _predictions(model, table, options), strict=True)
            parts.append(Path(folder, f"{len(parts)}.parquet"))
            frame.with_columns(
                polars.Series(name, values, strict=False) for name, values in found
            ).write_parquet(parts[-1])
        if not parts:
            raise DataError(f"{Path(options.data).name} has no rows.")
        polars.scan_parquet(parts, glob=False).sink_parquet(new)
    print(blocks([("written", str(options.out))]))


def _predictions(model: Any, whole: Table, options: argparse.Namespace) -> list[list[Any]]:
    """Return the prediction columns for a table."""
    table = training_columns(model, whole)
    predictions = [model.predict(table).tolist()]
    return predictions + (model.predict_proba(table).T.tolist() if options.probabilities else [])


# -- explain ---------------------------------------------------------------------------------------


@command(
    ["model.json new.csv --row 3", "model.json new.csv --row 1,4-6"],
    MODEL,
    *ROWS,
    option(
        "--row N",
        "row numbers from 1, such as 3 or 1,4-6 (default: 1)",
        default="1",
    ),
)
def explain(options: argparse.Namespace) -> None:
    """Explain the predictions of some rows of a file."""
    wanted = _row_numbers(options.row)
    whole = load_rules(options.model)
    model = uncalibrated(whole)
    if not hasattr(model, "explain"):
        raise ParameterError(
            f"{type(model).__name__} cannot explain rows. Use a model of rules: --model hkl, "
            "prl or rules."
        )
    before, left = 0, sorted(wanted)
    reasons: dict[int, str] = {}
    for table, _ in open_file(options):
        while left and left[0] <= before + len(table):
            number = left.pop(0)
            row = training_columns(model, table[[number - 1 - before]])
            reasons[number] = "\n".join([str(model.explain(row)), *_probabilities(whole, row)])
        before += len(table)
        if not left:
            break
    if left:
        raise DataError(
            f"{Path(options.data).name} has {before:,} rows; there is no row {left[0]:,}."
        )
    if len(wanted) == 1:
        print(reasons[wanted[0]])
        return
    print("\n\n".join(f"row {number}: {reasons[number]}" for number in wanted))


def _probabilities(model: Any, row: Table) -> list[str]:
    """Return a line about the most probable classes of a row, if the model has probabilities."""
    if not hasattr(model, "predict_proba") or isinstance(getattr(model, "rules_", None), ScoreCard):
        return []  # the explanation of a score card has a probability
    shares = zip(model.predict_proba(row)[0].tolist(), model.classes_.tolist(), strict=True)
    likely = sorted(shares, key=lambda one: -one[0])[:MAX_CLASSES]
    return [f"probability: {', '.join(f'{name} {share:.1%}' for share, name in likely)}"]


def _row_numbers(text: str) -> list[int]:
    """Return the row numbers in a text such as ``1,4-6``.

    >>> _row_numbers("7, 1-3")
    [7, 1, 2, 3]
    """
    found: dict[int, None] = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,12})(?:\s*-\s*(\d{1,12}))?\s*", part, re.ASCII)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if first < 1 or last < first:
            raise ParameterError(
                f"--row {text!r} names no rows; rows start at 1. Write --row 3, or --row 1,4-6."
            )
        if last - first >= MAX_EXPLAINED or len(found) >= MAX_EXPLAINED:
            raise ParameterError(
                f"--row {text!r} names more than {MAX_EXPLAINED:,} rows. Name fewer rows."
            )
        found |= dict.fromkeys(range(first, last + 1))
    return list(found)


# -- export and report -----------------------------------------------------------------------------


@command(
    [
        "model.json --sql duckdb --table bank",
        "model.json --python -o predict_bank.py",
        "model.json --latex",
    ],
    MODEL,
    [
        option("--sql DIALECT", ", ".join(get_args(DialectName))),
        option("--python", "a self-contained file with predict(row)", default=False),
        option("--latex", "a table of the rules", default=False),
        option("--json", "the rules only", default=False),
    ],
    option("--table", "name of the database table (default: data)", default="data"),
    *output("-o --out FILE", "file to write (default: the terminal)"),
)
def export(options: argparse.Namespace) -> None:
    """Write the model in the requested language."""
    model = uncalibrated(load_rules(options.model))
    rules = getattr(model, "rules_", None)
    if options.python and hasattr(model, "to_python"):
        text = model.to_python()
    elif rules is None or not hasattr(model, "to_sql"):
        raise ParameterError(
            f"{type(model).__name__} is not a list of rules and cannot be exported exactly; "
            "`show` prints its contents. Use --model hkl, prl or rules."
        )
    elif options.sql:
        text = model.to_sql(options.table, options.sql)
    else:
        text = rules.to_latex() if options.latex else rules.to_json()
    with opened_output(options.out, options.force, options.model) as file:
        file.write(text.rstrip("\n") + "\n")


@command(
    [
        "model.json test.csv -o report.html",
        'model.json test.csv --target y --rows 50 --title "Who says yes"',
    ],
    MODEL,
    *TABLE,
    *output("-o --out FILE", "file to write (default: report.html)", default=Path("report.html")),
    option("--title TEXT", "title of the page (default: the name of the learner)"),
    option("--rows N", "number of rows on the page (default: 200)", default=200),
    option("--top N", "number of rules of a support vector machine (default: 20)", default=20),
    more=lambda: (
        "Give rows that were not used for training.  The page needs no network; it contains the\n"
        "entries of the rows that it shows."
    ),
)
def report(options: argparse.Namespace) -> None:
    """Write an HTML page about a saved model and a table."""
    model = uncalibrated(load_rules(options.model))
    saved = isinstance(model, SavedRules)
    if not saved and not hasattr(model, "report"):
        raise ParameterError(f"{type(model).__name__} makes no predictions that a report can show.")
    check_output(options.out, options.force, options.model, options.data)
    table, classes, name = _rows(model, options)
    shown = {"title": options.title, "max_rows": options.rows, "top": options.top}
    if saved and hasattr(model, "classes_") and (classes is None or classes.dtype.kind in "biuU"):
        kind = model.text.partition("(")[0]
        written = {"kind": kind, "parameters": model.text, **shown}
        write_report(model, options.out, table, classes, lambda y, _: y, **written)
    else:
        (load(options.model) if saved else model).report(options.out, table, classes, **shown)
    unknown = "no column has the class, so the page has no scores"
    rows = f"{len(table):,}" + (
        f'; the class is the column "{name}"' if classes is not None else f"; {unknown}"
    )
    size = options.out.stat().st_size / 1000
    print(blocks([("rows", rows), ("written", f"{options.out}, {size:,.0f} kB")]))


def _rows(model: Any, options: argparse.Namespace) -> tuple[Table, Any, str]:
    """Return the training columns, the class of each row (None if absent), and its name.

    The class is the column of ``--target``; by default the last column or, if the model was trained
    on it, the only column that is not a training column.
    """
    known = getattr(model, "feature_names_in_", None)
    if known is not None and options.target is None and Path(options.data).exists():
        file, names = open_file(options), {*map(str, known)}
        others = [name for name in file.names if name not in names]
        if not others:
            table, _ = next(iter(file))
            return training_columns(model, table), None, ""
        if file.names[-1] not in others:
            if len(others) > 1:
                raise DataError(
                    f"the model was not trained on {', '.join(others)}. Name the class with "
                    "--target."
                )
            options.target = others[0]
    dataset = read_dataset(options)
    return training_columns(model, dataset.data), dataset.target, dataset.target_name
