"""``formulakern export``: a model as a query, as code, as a table."""

from __future__ import annotations

import argparse
from typing import get_args

from formulakern.cli.learners import saved_model
from formulakern.cli.options import MODEL, Command, option, output
from formulakern.cli.output import opened_output
from formulakern.errors import ParameterError
from formulakern.rules.sql import DialectName

__all__ = ["COMMAND"]


def _export(options: argparse.Namespace) -> None:
    model = saved_model(options)
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


COMMAND = Command(
    "export",
    "write a model as a query, as code, as a table",
    [
        "model.json --sql duckdb --table bank",
        "model.json --python -o predict_bank.py",
        "model.json --latex",
    ],
    [
        MODEL,
        [
            option("--sql DIALECT", ", ".join(get_args(DialectName))),
            option("--python", "a file with predict(row), which needs nothing else", default=False),
            option("--latex", "a table of the rules", default=False),
            option("--json", "the rules alone", default=False),
        ],
        option("--table", "name of the table (default: data)", default="data"),
        *output("-o --out FILE", "default: the terminal"),
    ],
    _export,
)
