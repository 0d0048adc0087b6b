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
from formulakern.files.models import load, load_rules
from formulakern.files.replacing import replacing
from formulakern.markup import rendered
from formulakern.rules.sql import DialectName
from formulakern.text import blocks, clip, counted, width

if TYPE_CHECKING:
    from formulakern.datasets.reader import TableFile
    from formulakern.tables.table import Table

#: The number of rules of a model that are shown by default.
SHOWN_RULES = 15
#: The time limit of the search for the rules of a support vector machine.
RULES_SECONDS = 60.0
#: The most rows that are explained at once.
MAX_EXPLAINED = 1000


def uncalibrated(model: Any) -> Any:
    """Return the model of this library inside one with calibrated probabilities, or itself."""
    calibrated = getattr(model, "calibrated_classifiers_", [model])[0]
    return getattr(calibrated, "estimator", model)


def learned_text(model: Any, top: int | None) -> str:
    """Return what a model has learned: at most ``top`` of its rules, or what it holds instead."""
    model = uncalibrated(model)
    rules = getattr(model, "rules_", None)
    if rules is not None:
        sizes = model.path_.line() if hasattr(model, "path_") else ""
        if sizes:
            sizes = f"right among held-out rows: {sizes}; chosen: {len(rules)}"
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
        except FormulaKernError as error:  # a kernel without rules, or of degrees
            return f"no rules: {error}"
    support = getattr(inner, "support_", None)
    held = "no list of parts" if support is None else f"{len(support):,} support vectors"
    return f"{type(model).__name__} has no rules; it holds {held}."


# -- show ------------------------------------------------------------------------------------------


@command(
    ["model.json --top 5", "model.json --html rules.html"],
    MODEL,
    option("--top N", "only the N heaviest rules", type=int),
    *output("--html FILE", "write a page instead"),
)
def show(options: argparse.Namespace) -> None:
    """Print a model, what it learned, and what can be done with it; or write a page."""
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
        about.append(("held out", "\n".join(lines) or "no scores are saved"))
    gap = getattr(model, "gap_", None)
    if hasattr(model, "certificate_"):
        about.append(("proof", model.certificate_))
    elif gap is not None:
        about.append(("gap", f"{float(np.max(gap)):.2g}: how far the optimum may be away"))
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
    *output("-o --out FILE", "CSV, or .parquet of a Parquet file (default: CSV on the terminal)"),
    option("--probabilities", "also the probability of every class", default=False),
)
def predict(options: argparse.Namespace) -> None:
    """Write the rows of a file with their predictions, partition by partition."""
    model = load_rules(options.model)
    if options.probabilities and not hasattr(model, "predict_proba"):
        model = load(options.model)  # rules without probabilities may be of a model that has some
    if options.probabilities and not hasattr(model, "predict_proba"):
        raise ParameterError(
            f"this {type(model).__name__} has no probabilities. Learn it with --probabilities."
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
    """Write partitions next to the file, and join them."""
    import polars

    if rows.missing is not None:
        raise ParameterError(
            f"{options.out} is to be Parquet, and {options.data} is text, whose columns have no "
            "types. Write CSV, or give a Parquet file."
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
    """Return the columns that are added to a table."""
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
        "the number of the row, from 1; also several, as 1,4-6 (default: 1)",
        default="1",
    ),
)
def explain(options: argparse.Namespace) -> None:
    """Print the explanations of some rows of a file."""
    wanted = _row_numbers(options.row)
    model = uncalibrated(load_rules(options.model))
    if not hasattr(model, "explain"):
        raise ParameterError(
            f"{type(model).__name__} does not explain rows. Use a model of rules: --model hkl, "
            "prl or rules."
        )
    before, left = 0, sorted(wanted)
    reasons: dict[int, str] = {}
    for table, _ in open_file(options):
        while left and left[0] <= before + len(table):
            number = left.pop(0)
            row = training_columns(model, table[[number - 1 - before]])
            reasons[number] = str(model.explain(row))
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


def _row_numbers(text: str) -> list[int]:
    """Return the numbers that a text lists, as ``1,4-6``.

    >>> _row_numbers("7, 1-3")
    [7, 1, 2, 3]
    """
    found: dict[int, None] = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,12})(?:\s*-\s*(\d{1,12}))?\s*", part, re.ASCII)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if first < 1 or last < first:
            raise ParameterError(
                f"--row {text!r} names no rows; they count from 1. Write --row 3, or --row 1,4-6."
            )
        if last - first >= MAX_EXPLAINED or len(found) >= MAX_EXPLAINED:
            raise ParameterError(
                f"--row {text!r} names more than {MAX_EXPLAINED:,} rows. Name fewer."
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
        option("--python", "a file with predict(row), which needs nothing else", default=False),
        option("--latex", "a table of the rules", default=False),
        option("--json", "the rules alone", default=False),
    ],
    option("--table", "name of the table (default: data)", default="data"),
    *output("-o --out FILE", "default: the terminal"),
)
def export(options: argparse.Namespace) -> None:
    """Write the model in the language that is asked for."""
    model = uncalibrated(load_rules(options.model))
    rules = getattr(model, "rules_", None)
    if options.python and hasattr(model, "to_python"):
        text = model.to_python()
    elif rules is None or not hasattr(model, "to_sql"):
        raise ParameterError(
            f"{type(model).__name__} is no list of rules, and cannot be exported exactly; show "
            "lists what it holds. Use --model hkl, prl or rules."
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
    *output("-o --out FILE", "default: report.html", default=Path("report.html")),
    option("--title TEXT", "default: the name of the learner"),
    option("--rows N", "rows that the page holds (default: 200)", default=200),
    option(
        "--top N", "rules that are read from a support vector machine (default: 20)", default=20
    ),
    more=lambda: (
        "Give rows that the model was not learned from.  The page needs no network; it holds\n"
        "the entries of the rows that it shows."
    ),
)
def report(options: argparse.Namespace) -> None:
    """Write a page about a saved model and a table."""
    model = uncalibrated(load(options.model))
    if not hasattr(model, "report"):
        raise ParameterError(f"{type(model).__name__} predicts nothing that a report could show.")
    check_output(options.out, options.force, options.model, options.data)
    table, classes, name = _rows(model, options)
    shown = {"title": options.title, "max_rows": options.rows, "top": options.top}
    model.report(options.out, table, classes, **shown)
    told = "no column is left for the class: nothing is said of how good the model is"
    rows = f"{len(table):,}" + (f"; class: {name}" if classes is not None else f"; {told}")
    size = options.out.stat().st_size / 1000
    print(blocks([("rows", rows), ("written", f"{options.out}, {size:,.0f} kB")]))


def _rows(model: Any, options: argparse.Namespace) -> tuple[Table, Any, str]:
    """Return the columns of training, the class of every row (None if there is none), its name.

    The class is the column that is named; else the last one, or, if the model learned from that,
    the only one that it did not learn from.
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
                    f"{', '.join(others)} are no columns of training; which of them is the class? "
                    "Name it by --target."
                )
            options.target = others[0]
    dataset = read_dataset(options)
    return training_columns(model, dataset.data), dataset.target, dataset.target_name
