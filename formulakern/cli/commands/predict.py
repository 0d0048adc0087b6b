"""``formulakern predict``: the rows of a file of any size with their predictions."""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from formulakern.cli.options import (
    MODEL,
    ROWS,
    Command,
    open_file,
    option,
    output,
    training_columns,
)
from formulakern.cli.output import check_output, opened_output
from formulakern.datasets.reader import TableFile
from formulakern.errors import DataError, ParameterError
from formulakern.files.models import load
from formulakern.files.replacing import replacing
from formulakern.tables.table import Table
from formulakern.text import blocks

__all__ = ["COMMAND"]


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


def _new_name(name: str, known: list[str]) -> str:
    """Return the name, with a number if there is such a column."""
    found, number = name, 1
    while found in known:
        number += 1
        found = f"{name} {number}"
    return found


COMMAND = Command(
    "predict",
    "predict the rows of a file of any size",
    [
        "model.json new.csv -o predicted.csv",
        "model.json new.parquet -o predicted.parquet",
        "model.json new.csv",
    ],
    [
        MODEL,
        *ROWS,
        *output(
            "-o --out FILE", "CSV, or .parquet of a Parquet file (default: CSV on the terminal)"
        ),
        option("--probabilities", "also the probability of every class", default=False),
    ],
    _predict,
)
