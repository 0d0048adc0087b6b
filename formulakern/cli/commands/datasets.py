"""``formulakern datasets``: the built-in tables."""

from __future__ import annotations

import argparse
import csv

from formulakern.cli.options import Command, option, output
from formulakern.cli.output import opened_output
from formulakern.errors import ParameterError
from formulakern.text import blocks, table

__all__ = ["COMMAND"]


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
    rows, about = [], []
    for name in datasets.BUILT_IN:
        dataset = datasets.load(name)
        size = [f"{n:,}" for n in (*dataset.data.shape, len(dataset.target_names))]
        rows.append([name, *size])
        about.append((name, f"{dataset.description.partition('. ')[0].rstrip('.')}."))
    print(table(["name", "rows", "columns", "classes"], rows))
    print(f"\n{blocks(about)}")
    print("\n" + blocks([("next", "formulakern learn monks-1 --model rules")]))


COMMAND = Command(
    "datasets",
    "list the built-in tables, or write one as CSV",
    ["", "monks-1", "monks-1 -o monks-1.csv"],
    [
        option("name", "write this one (default: list all)", nargs="?"),
        *output("-o --out FILE", "default: the terminal"),
    ],
    _datasets,
)
