"""What is done with a saved model: ``formulakern show | predict | explain | export``."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from formulakern.cli.learning import columns_of, learnt_text
from formulakern.datasets.blocks import CsvBlocks
from formulakern.encoding.table import Table
from formulakern.errors import DataError, ParameterError
from formulakern.files.model_file import load
from formulakern.rules.decision_tree import DecisionTree
from formulakern.text import blocks, clip

__all__ = ["add_models"]

#: Names that ``export`` has for what it writes.
FORMS = ("sql", "pandas", "polars", "latex", "json")
DIALECTS = ("standard", "sqlite", "duckdb", "postgres", "mysql", "bigquery", "spark")


def add_models(commands: Any) -> None:
    """Add the commands to those of a parser, as ``add_subparsers`` returns them."""
    model = argparse.ArgumentParser(add_help=False)
    model.add_argument("model", metavar="model.json", help="what learn -o wrote")
    rows = argparse.ArgumentParser(add_help=False)
    rows.add_argument("data", metavar="DATA.csv", help="a CSV file with the columns of training")

    show = _command(commands, "show", model, "say what a model has learned", "model.json --top 5")
    show.add_argument("--top", type=int, metavar="N", help="only the N heaviest rules")
    show.add_argument("--html", type=Path, metavar="FILE", help="write a page instead")
    show.set_defaults(run=_show)

    predict = _command(
        commands,
        "predict",
        model,
        "predict the rows of a file of any size",
        "model.json new.csv -o predicted.csv",
        rows,
    )
    predict.add_argument("-o", "--out", type=Path, metavar="FILE", help="default: the terminal")
    predict.add_argument(
        "--probabilities", action="store_true", help="also the probability of every class"
    )
    predict.set_defaults(run=_predict)

    explain = _command(
        commands,
        "explain",
        model,
        "say why a row is predicted as it is",
        "model.json new.csv",
        rows,
    )
    explain.add_argument(
        "--row", type=int, default=1, metavar="N", help="which, the first is 1 (default: 1)"
    )
    explain.set_defaults(run=_explain)

    export = _command(
        commands,
        "export",
        model,
        "write a model as a query, as code, as a table",
        "model.json --sql duckdb --table bank",
    )
    which = export.add_mutually_exclusive_group(required=True)
    which.add_argument("--sql", choices=DIALECTS, metavar="DIALECT", help=", ".join(DIALECTS))
    which.add_argument("--pandas", action="store_true", help="an expression on a pandas frame df")
    which.add_argument("--polars", action="store_true", help="an expression of polars")
    which.add_argument("--latex", action="store_true", help="a table of the rules")
    which.add_argument("--json", action="store_true", help="the rules alone")
    export.add_argument("--table", default="data", help="name of the table (default: data)")
    export.add_argument("-o", "--out", type=Path, metavar="FILE", help="default: the terminal")
    export.set_defaults(run=_export)


def _command(
    commands: Any,
    name: str,
    model: argparse.ArgumentParser,
    about: str,
    example: str,
    *parents: argparse.ArgumentParser,
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        parents=[model, *parents],
        help=about,
        epilog=f"example: formulakern {name} {example}",
    )
    return parser


def _show(options: argparse.Namespace) -> None:
    model = load(options.model)
    if options.top is not None and options.top < 1:
        raise ParameterError(f"--top is a number of at least 1; got {options.top}.")
    if options.html is not None:
        options.html.write_text(_page(model, options.model), encoding="utf-8")
        print(blocks([("written", str(options.html))]))
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
    print(f"{blocks(about)}\n\n{learnt_text(model, options.top)}")


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


def _predict(options: argparse.Namespace) -> None:
    model = load(options.model)
    if options.probabilities and not hasattr(model, "predict_proba"):
        raise ParameterError(
            f"this {type(model).__name__} has no probabilities. Learn it with --set "
            "probability=True."
        )
    rows = CsvBlocks.of(options.data)
    classes = getattr(model, "classes_", ())
    name = _new_name("prediction", rows.names)
    more = [_new_name(f"probability of {label}", rows.names) for label in classes]
    with _output(options.out) as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow([*rows.names, name, *(more if options.probabilities else [])])
        for whole, texts in rows:
            table = _columns(model, whole)
            found = model.predict(table).tolist()
            extra = [[value] for value in found]
            if options.probabilities:
                chances = model.predict_proba(table).tolist()
                extra = [[*one, *p] for one, p in zip(extra, chances, strict=True)]
            lines.writerows([*old, *new] for old, new in zip(texts, extra, strict=True))


def _new_name(name: str, known: tuple[str, ...]) -> str:
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


def _explain(options: argparse.Namespace) -> None:
    model = load(options.model)
    if not hasattr(model, "explain"):
        raise ParameterError(
            f"{type(model).__name__} does not explain rows. Use a model of rules: --model hkl, "
            "prl or rules."
        )
    if options.row < 1:
        raise ParameterError(f"--row counts from 1; got {options.row}.")
    before = 0
    for table, texts in CsvBlocks.of(options.data):
        if options.row <= before + len(texts):
            place = options.row - 1 - before
            print(model.explain(_columns(model, table[[place]])))
            return
        before += len(texts)
    raise DataError(
        f"{Path(options.data).name} has {before:,} rows; there is no row {options.row:,}."
    )


def _export(options: argparse.Namespace) -> None:
    model = load(options.model)
    rules = getattr(model, "rules_", None)
    if rules is None or isinstance(rules, DecisionTree):
        raise ParameterError(
            f"{type(model).__name__} is no list of rules, and cannot be exported. Use --model hkl, "
            "prl or rules."
        )
    if options.sql:
        text = model.to_sql(options.table, options.sql)
    elif options.pandas or options.polars:
        name = "to_pandas_code" if options.pandas else "to_polars_code"
        if not hasattr(rules, name):
            raise ParameterError(
                f"the rules of {type(model).__name__} have no such code, those of --model rules "
                "have. Use --sql."
            )
        text = getattr(rules, name)()
    elif options.latex:
        text = rules.to_latex()
    else:
        text = rules.to_json()
    with _output(options.out) as file:
        print(text, file=file)


@contextmanager
def _output(path: Path | None) -> Iterator[TextIO]:
    """The terminal, or a file that replaces what was there when it is complete."""
    if path is None:
        yield sys.stdout
        return
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as file:
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    print(blocks([("written", str(path))]))
