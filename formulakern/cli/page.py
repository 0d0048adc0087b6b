"""``formulakern report``: a page about a saved model and a table, to be looked at in a browser."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formulakern.cli.learners import uncalibrated
from formulakern.cli.output import add_command, add_output, check_output
from formulakern.cli.tables import columns_of, open_file, read_dataset, table_arguments
from formulakern.errors import DataError, ParameterError
from formulakern.files.model_file import load
from formulakern.text import blocks

if TYPE_CHECKING:
    from formulakern.tables.table import Table

__all__ = ["add_page"]


def add_page(commands: Any) -> None:
    """Add the command to those of a parser, as ``add_subparsers`` returns them."""
    model = argparse.ArgumentParser(add_help=False)
    model.add_argument("model", metavar="model.json", help="what learn -o wrote")
    report = add_command(
        commands,
        "report",
        "write a page: the rules, how good they are on a table, why each row got its class",
        [
            "model.json test.csv -o report.html",
            'model.json test.csv --target y --rows 50 --title "Who says yes"',
        ],
        model,
        table_arguments(),
        more="Give rows that were not learned from.  The page needs no network; it holds the "
        "entries\nof the rows that it shows.",
    )
    add_output(
        report,
        "-o",
        "--out",
        metavar="FILE",
        default=Path("report.html"),
        help="default: report.html",
    )
    report.add_argument("--title", metavar="TEXT", help="default: the name of the learner")
    report.add_argument(
        "--rows",
        type=int,
        metavar="N",
        default=200,
        help="rows that the page holds (default: 200)",
    )
    report.add_argument(
        "--top",
        type=int,
        metavar="N",
        default=20,
        help="rules that are read from a support vector machine (default: 20)",
    )
    report.set_defaults(run=_report)


def _report(options: argparse.Namespace) -> None:
    model = uncalibrated(load(options.model))
    if not hasattr(model, "report"):
        raise ParameterError(f"{type(model).__name__} predicts nothing that a report could show.")
    check_output(options.out, options.force, options.model, options.data)
    table, classes, name = _rows(model, options)
    model.report(
        options.out,
        table,
        classes,
        title=options.title,
        max_rows=options.rows,
        top=options.top,
    )
    told = "no column is left for the class: nothing is said of how good the model is"
    rows = f"{len(table):,}" + (f"; class: {name}" if classes is not None else f"; {told}")
    size = options.out.stat().st_size / 1000
    print(blocks([("rows", rows), ("written", f"{options.out}, {size:,.0f} kB")]))


def _rows(model: Any, options: argparse.Namespace) -> tuple[Table, Any, str]:
    """The columns of training, the class of every row (None where there is none), its name.

    The class is the column that is named; else the last one, unless the model learned from it, and
    then the only one that it did not learn from.
    """
    known = getattr(model, "feature_names_in_", None)
    names = None if known is None else list(map(str, known))
    if names is not None and options.target is None and Path(options.data).exists():
        header = list(open_file(options).names)
        others = [name for name in header if name not in names]
        if not others:
            return columns_of(next(iter(open_file(options)))[0], names), None, ""
        if header[-1] not in others:
            if len(others) > 1:
                raise DataError(
                    f"{', '.join(others)} are no columns of training; which of them is the class? "
                    "Name it by --target."
                )
            options.target = others[0]
    dataset = read_dataset(options)
    table = dataset.data
    return columns_of(table, names or table.names), dataset.target, dataset.target_name
