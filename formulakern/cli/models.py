"""What is done with a saved model: ``formulakern show | predict | explain | export``."""

from __future__ import annotations

import argparse
import csv
import re
import shlex
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from formulakern.cli.learners import uncalibrated
from formulakern.cli.learning import learnt_text
from formulakern.cli.output import add_command, add_output, check_output, opened_output
from formulakern.cli.tables import columns_of, open_file, table_arguments
from formulakern.datasets.reader import TableFile
from formulakern.errors import DataError, ParameterError
from formulakern.files.model_file import load
from formulakern.files.replacing import replacing
from formulakern.tables.table import Table
from formulakern.text import blocks, clip

__all__ = ["add_models"]

#: Dialects of SQL.
DIALECTS = ("standard", "sqlite", "duckdb", "postgres", "mysql", "bigquery", "spark")
#: Rows that are explained at once.
MOST_EXPLAINED = 1000


def add_models(commands: Any) -> None:
    """Add the commands to those of a parser, as ``add_subparsers`` returns them."""
    model = argparse.ArgumentParser(add_help=False)
    model.add_argument("model", metavar="model.json", help="what learn -o wrote")
    rows = table_arguments(classes=False)

    show = add_command(
        commands,
        "show",
        "say what a model has learned",
        ["model.json --top 5", "model.json --html rules.html"],
        model,
    )
    show.add_argument("--top", type=int, metavar="N", help="only the N heaviest rules")
    add_output(show, "--html", metavar="FILE", help="write a page instead")
    show.set_defaults(run=_show)

    predict = add_command(
        commands,
        "predict",
        "predict the rows of a file of any size",
        [
            "model.json new.csv -o predicted.csv",
            "model.json new.parquet -o predicted.parquet",
            "model.json new.csv",
        ],
        model,
        rows,
    )
    add_output(
        predict,
        "-o",
        "--out",
        metavar="FILE",
        help="CSV, or .parquet of a Parquet file (default: CSV on the terminal)",
    )
    predict.add_argument(
        "--probabilities", action="store_true", help="also the probability of every class"
    )
    predict.set_defaults(run=_predict)

    explain = add_command(
        commands,
        "explain",
        "say why rows are predicted as they are",
        ["model.json new.csv --row 3", "model.json new.csv --row 1,4-6"],
        model,
        rows,
    )
    explain.add_argument(
        "--row",
        default="1",
        metavar="N",
        help="which, the first is 1; also several, as 1,4-6 (default: 1)",
    )
    explain.set_defaults(run=_explain)

    export = add_command(
        commands,
        "export",
        "write a model as a query, as code, as a table",
        [
            "model.json --sql duckdb --table bank",
            "model.json --python -o predict_bank.py",
            "model.json --latex",
        ],
        model,
    )
    which = export.add_mutually_exclusive_group(required=True)
    which.add_argument("--sql", metavar="DIALECT", help=", ".join(DIALECTS))
    which.add_argument(
        "--python", action="store_true", help="a file with predict(row), which needs nothing else"
    )
    which.add_argument("--latex", action="store_true", help="a table of the rules")
    which.add_argument("--json", action="store_true", help="the rules alone")
    export.add_argument("--table", default="data", help="name of the table (default: data)")
    add_output(export, "-o", "--out", metavar="FILE", help="default: the terminal")
    export.set_defaults(run=_export)


# -- show ------------------------------------------------------------------------------------------


def _show(options: argparse.Namespace) -> None:
    model = uncalibrated(load(options.model))
    if options.top is not None and options.top < 1:
        raise ParameterError(f"--top is a number of at least 1; got {options.top}.")
    if options.html is not None:
        with opened_output(options.html, options.force, options.model) as file:
            file.write(_page(model, options.model))
        return
    about = [("model", clip(" ".join(repr(model).split()), 300))]
    columns = getattr(model, "feature_names_in_", None)
    if columns is not None:
        about.append(("columns", clip(", ".join(map(str, columns)), 300)))
    if getattr(model, "classes_", None) is not None:
        about.append(("classes", clip(", ".join(map(str, model.classes_)), 300)))
    gap = getattr(model, "gap_", None)
    if gap is not None:
        about.append(("gap", f"{float(np.max(gap)):.2g}: how far the optimum may be away"))
    path = shlex.quote(str(options.model))
    after = [f"formulakern explain {path} FILE --row 1"] * hasattr(model, "explain")
    after += [f"formulakern report {path} FILE"] * hasattr(model, "report")
    after += [f"formulakern predict {path} FILE -o predicted.csv"]
    following = blocks([("next", "\n".join(after))])
    print(f"{blocks(about)}\n\n{learnt_text(model, options.top)}\n\n{following}")


def _page(model: Any, name: str) -> str:
    """A page of HTML without scripts or further files."""
    import html

    shown: Any = getattr(model, "rules_", None)
    rules = shown._repr_html_() if hasattr(shown, "_repr_html_") else ""
    rules = rules or f"<pre>{html.escape(learnt_text(model, None))}</pre>"
    title = html.escape(f"{type(model).__name__} of {Path(name).name}")
    style = (
        "body{font-family:sans-serif;max-width:70em;margin:2em auto;padding:0 1em;"
        "color-scheme:light dark}pre{overflow-x:auto}"
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{style}</style></head>\n<body><h1>{title}</h1>\n"
        f"<p><code>{html.escape(' '.join(repr(model).split()))}</code></p>\n{rules}\n"
        "</body></html>\n"
    )


# -- predict ---------------------------------------------------------------------------------------


def _predict(options: argparse.Namespace) -> None:
    model = load(options.model)
    if options.probabilities and not hasattr(model, "predict_proba"):
        raise ParameterError(
            f"this {type(model).__name__} has no probabilities. Learn it with --probabilities."
        )
    if options.out is not None:
        check_output(options.out, options.force, options.model, options.data)
    rows = open_file(options)
    classes = getattr(model, "classes_", ()) if options.probabilities else ()
    known = [*rows.names]
    for name in ("prediction", *(f"probability of {label}" for label in classes)):
        known.append(_new_name(name, known))
    names = known[len(rows.names) :]
    if options.out is not None and options.out.suffix.lower() in (".parquet", ".pq"):
        _write_parquet(model, rows, names, options)
        return
    with opened_output(options.out, options.force) as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow([*rows.names, *names])
        for table, frame in rows:
            found = zip(*_answers(model, table, options), strict=True)
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
            found = zip(names, _answers(model, table, options), strict=True)
            parts.append(Path(folder, f"{len(parts)}.parquet"))
            frame.with_columns(
                polars.Series(name, values, strict=False) for name, values in found
            ).write_parquet(parts[-1])
        if not parts:
            raise DataError(f"{Path(options.data).name} has no rows.")
        polars.scan_parquet(parts, glob=False).sink_parquet(new)
    print(blocks([("written", str(options.out))]))


def _answers(model: Any, whole: Table, options: argparse.Namespace) -> list[list[Any]]:
    """What is added to a table, column by column."""
    table = _columns(model, whole)
    answers = [model.predict(table).tolist()]
    return answers + (model.predict_proba(table).T.tolist() if options.probabilities else [])


def _new_name(name: str, known: list[str]) -> str:
    """The name, with a number where there is such a column."""
    found, number = name, 1
    while found in known:
        number += 1
        found = f"{name} {number}"
    return found


def _columns(model: Any, table: Table) -> Table:
    """The columns of training, whatever else the file has."""
    names = getattr(model, "feature_names_in_", table.names)
    return columns_of(table, list(map(str, names)))


# -- explain ---------------------------------------------------------------------------------------


def _explain(options: argparse.Namespace) -> None:
    wanted = _row_numbers(options.row)
    model = uncalibrated(load(options.model))
    if not hasattr(model, "explain"):
        raise ParameterError(
            f"{type(model).__name__} does not explain rows. Use a model of rules: --model hkl, "
            "prl or rules."
        )
    before, left = 0, sorted(wanted)
    said: dict[int, str] = {}
    for table, rows in open_file(options):
        while left and left[0] <= before + len(rows):
            number = left.pop(0)
            row = _columns(model, table[[number - 1 - before]])
            said[number] = str(model.explain(row))
        before += len(rows)
        if not left:
            break
    if left:
        raise DataError(
            f"{Path(options.data).name} has {before:,} rows; there is no row {left[0]:,}."
        )
    if len(wanted) == 1:
        print(said[wanted[0]])
        return
    print("\n\n".join(f"row {number}: {said[number]}" for number in wanted))


def _row_numbers(text: str) -> list[int]:
    """The numbers that a text lists, as ``1,4-6``.

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
        if last - first >= MOST_EXPLAINED or len(found) >= MOST_EXPLAINED:
            raise ParameterError(
                f"--row {text!r} names more than {MOST_EXPLAINED:,} rows. Name fewer."
            )
        found |= dict.fromkeys(range(first, last + 1))
    return list(found)


# -- export ----------------------------------------------------------------------------------------


def _export(options: argparse.Namespace) -> None:
    if options.sql is not None and options.sql not in DIALECTS:
        raise ParameterError(
            f'there is no dialect "{options.sql}"; there are {", ".join(DIALECTS)}.'
        )
    model = uncalibrated(load(options.model))
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
    elif options.latex:
        text = rules.to_latex()
    else:
        text = rules.to_json()
    with opened_output(options.out, options.force, options.model) as file:
        file.write(text.rstrip("\n") + "\n")
