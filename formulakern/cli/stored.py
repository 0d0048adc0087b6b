"""``formulakern datasets`` and ``cache``: which tables there are, and what lies on disk."""

from __future__ import annotations

import argparse
import csv
from typing import Any

from formulakern import cache
from formulakern.cli.output import add_command, add_output, opened_output
from formulakern.errors import ParameterError
from formulakern.text import blocks, table

__all__ = ["add_stored"]


def add_stored(commands: Any) -> None:
    """Add the commands to those of a parser, as ``add_subparsers`` returns them."""
    sets = add_command(
        commands,
        "datasets",
        "list the built-in tables, or write one as CSV",
        ["", "monks-1", "monks-1 -o monks-1.csv"],
    )
    sets.add_argument("name", nargs="?", help="write this one (default: list all)")
    add_output(sets, "-o", "--out", metavar="FILE", help="default: the terminal")
    sets.set_defaults(run=_datasets)
    stored = add_command(
        commands,
        "cache",
        "where compiled functions are kept, and how many; --clear deletes them",
        [""],
    )
    stored.add_argument("--clear", action="store_true", help="delete them")
    stored.set_defaults(run=_cache)


def _datasets(options: argparse.Namespace) -> None:
    from formulakern import datasets

    if options.name is not None:
        dataset = datasets.load(options.name)
        with opened_output(options.out, options.force) as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow([*dataset.data.names, dataset.target_name])
            columns = [dataset.data[name].tolist() for name in dataset.data.names]
            lines.writerows(zip(*columns, dataset.target.tolist(), strict=True))
        return
    if options.out is not None:
        raise ParameterError("-o writes one table: name it, as in formulakern datasets monks-1.")
    rows = []
    for name in datasets.BUILT_IN:
        dataset = datasets.load(name)
        size = [f"{n:,}" for n in (*dataset.data.shape, len(dataset.target_names))]
        rows.append([name, *size, dataset.description.partition(". ")[0].rstrip(".")])
    print(table(["name", "rows", "columns", "classes"], [row[:4] for row in rows]))
    print("\n" + blocks([(row[0], f"{row[-1]}.") for row in rows]))
    print("\n" + blocks([("next", "formulakern learn monks-1 --model rules")]))


def _cache(options: argparse.Namespace) -> None:
    print(cache.info())
    if options.clear:
        cache.clear()
        print("deleted")
