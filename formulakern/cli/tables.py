"""Tables on the command line: which file, which columns, which of them is the class."""

from __future__ import annotations

import argparse
import difflib
import os
import shlex
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formulakern.errors import DataError, ParameterError

if TYPE_CHECKING:
    from formulakern.datasets.dataset import Dataset
    from formulakern.datasets.reader import TableFile
    from formulakern.tables.table import Table

__all__ = ["columns_of", "identifier_advice", "open_file", "read_dataset", "table_arguments"]

#: What files are called that are read.
ENDINGS = (".csv", ".tsv", ".parquet", ".pq")


def table_arguments(*, classes: bool = True) -> argparse.ArgumentParser:
    """A parser of the arguments that say which table; without ``classes`` of rows alone."""
    parser = argparse.ArgumentParser(add_help=False)
    kinds = "a file of CSV (also .tsv, .csv.gz) or Parquet"
    if classes:
        kinds += ", or the name of a built-in set"
    parser.add_argument("data", metavar="DATA", help=kinds)
    if classes:
        parser.add_argument(
            "--target",
            "--class",
            metavar="COLUMN",
            help="the column of the class, or of the number that is predicted (default: the last)",
        )
        parser.add_argument("--drop", metavar="COLUMNS", help="columns to leave out, with commas")
    parser.add_argument("--encoding", metavar="NAME", help="of a text file (default: utf-8)")
    parser.add_argument(
        "--delimiter", metavar="CHARACTER", help="of a text file (default: as its header has it)"
    )
    return parser


def read_dataset(options: argparse.Namespace, data: str | None = None) -> Dataset:
    """The table that options name, or another one that is like it, without what they drop.

    Raises
    ------
    DataError, ParameterError
        If there is no such table or column.
    """
    from formulakern import datasets

    name = options.data if data is None else data
    built_in = list(datasets.BUILT_IN)
    if name in built_in:
        dataset = datasets.load(name)
        if options.target not in (None, dataset.target_name):
            raise ParameterError(
                f'the class of the built-in set {name} is "{dataset.target_name}"; '
                f'--target "{options.target}" is for files.'
            )
    else:
        _check_exists(name, built_in)
        dataset = datasets.read_table(
            name,
            target=options.target,
            encoding=options.encoding,
            delimiter=_delimiter(options),
        )
    return _dropped(dataset, options)


def open_file(options: argparse.Namespace) -> TableFile:
    """Open the file that options name, to read its rows in partitions."""
    from formulakern.datasets.reader import open_table

    _check_exists(options.data, [])
    return open_table(options.data, encoding=options.encoding, delimiter=_delimiter(options))


def _delimiter(options: argparse.Namespace) -> str | None:
    r"""What is written as ``\t``, or as the word, is a tab."""
    given: str | None = options.delimiter
    return "\t" if given in ("\\t", "tab") else given


def _check_exists(name: str, built_in: list[str]) -> None:
    path = Path(name)
    if path.exists():
        return
    what, sought, known = f'file and no built-in data set "{name}"', name.lower(), built_in
    if not built_in or path.suffix or path.name != name:
        if not path.parent.is_dir():
            raise ParameterError(f"there is no folder {path.parent} (to read {name} from).")
        what, sought = f"file {name}", path.name
        try:
            entries = sorted(os.listdir(path.parent))
        except OSError:
            entries = []
        known = [entry for entry in entries if any(end in entry.lower() for end in ENDINGS)]
    close = [entry for entry in known if difflib.get_close_matches(_stem(sought), [_stem(entry)])]
    near = difflib.get_close_matches(sought, close, n=1, cutoff=0)
    hint = f"built in are {', '.join(built_in)}." if built_in else "give the path of one."
    if near:
        hint = f"did you mean {path.parent / near[0]}?"
    raise ParameterError(f"there is no {what}; {hint}")


def _stem(name: str) -> str:
    """Return the lower-case name without its endings, which most tables share."""
    return name.lower().partition(".")[0]


def _dropped(dataset: Dataset, options: argparse.Namespace) -> Dataset:
    """The data set without the columns that are left out."""
    from formulakern.tables.column import did_you_mean

    names = [name.strip() for name in (options.drop or "").split(",") if name.strip()]
    for name in names:
        if name == dataset.target_name:
            raise ParameterError(
                f'--drop names "{name}", which is predicted. Name another column by --target.'
            )
        if name not in dataset.data.names:
            raise DataError(f'no column "{name}" to drop; {did_you_mean(name, dataset.data.names)}')
    if not names:
        return dataset
    kept = [name for name in dataset.data.names if name not in names]
    if not kept:
        raise ParameterError("--drop leaves no column to learn from.")
    return replace(dataset, data=dataset.data.select(kept))


def columns_of(table: Table, names: Iterable[str]) -> Table:
    """These columns of a table, whatever else it has.

    Raises
    ------
    DataError
        If one is missing.
    """
    from formulakern.tables.column import did_you_mean

    names = list(names)
    for name in names:
        if name not in table.names:
            raise DataError(f'the file has no column "{name}"; {did_you_mean(name, table.names)}')
    return table.select(names)


def identifier_advice(table: Table, options: Any) -> list[str]:
    """What to say of columns that tell every row from all others, if anything."""
    from formulakern.encoding.surprises import identifiers

    found = identifiers(table)
    if not found:
        return []
    dropped = ",".join([*filter(None, [options.drop]), *found])
    listed = ", ".join(f'"{name}"' for name in found)
    have = "has" if len(found) == 1 else "have"
    advice = f"--drop {shlex.quote(dropped)}"
    return [f"{listed} {have} another value in every row: {advice} leaves out an identifier"]
