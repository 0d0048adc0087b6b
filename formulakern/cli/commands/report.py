"""``formulakern report``: a page about a saved model and a table."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formulakern.cli.learners import saved_model
from formulakern.cli.options import (
    MODEL,
    TABLE,
    Command,
    open_file,
    option,
    output,
    read_dataset,
    training_columns,
)
from formulakern.cli.output import check_output
from formulakern.errors import DataError, ParameterError
from formulakern.text import blocks

if TYPE_CHECKING:
    from formulakern.tables.table import Table

__all__ = ["COMMAND"]


def _report(options: argparse.Namespace) -> None:
    model = saved_model(options)
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


COMMAND = Command(
    "report",
    "write a page: the rules, how good they are on a table, why each row got its class",
    [
        "model.json test.csv -o report.html",
        'model.json test.csv --target y --rows 50 --title "Who says yes"',
    ],
    [
        MODEL,
        *TABLE,
        *output("-o --out FILE", "default: report.html", default=Path("report.html")),
        option("--title TEXT", "default: the name of the learner"),
        option("--rows N", "rows that the page holds (default: 200)", default=200),
        option(
            "--top N", "rules that are read from a support vector machine (default: 20)", default=20
        ),
    ],
    _report,
    lambda: (
        "Give rows that the model was not learned from.  The page needs no network; it holds\n"
        "the entries of the rows that it shows."
    ),
)
