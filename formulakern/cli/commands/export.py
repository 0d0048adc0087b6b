"""``formulakern export``: a model as a query, as code, as a table."""

from __future__ import annotations

import argparse
from typing import Any, get_args

from formulakern.cli.learners import saved_model
from formulakern.cli.options import add_command, add_output, model_options
from formulakern.cli.output import opened_output
from formulakern.errors import ParameterError
from formulakern.rules.sql.dialects import DialectName

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add the command to those of a parser."""
    export = add_command(
        commands,
        "export",
        "write a model as a query, as code, as a table",
        [
            "model.json --sql duckdb --table bank",
            "model.json --python -o predict_bank.py",
            "model.json --latex",
        ],
        model_options(),
    )
    which = export.add_mutually_exclusive_group(required=True)
    which.add_argument("--sql", metavar="DIALECT", help=", ".join(get_args(DialectName)))
    which.add_argument(
        "--python", action="store_true", help="a file with predict(row), which needs nothing else"
    )
    which.add_argument("--latex", action="store_true", help="a table of the rules")
    which.add_argument("--json", action="store_true", help="the rules alone")
    export.add_argument("--table", default="data", help="name of the table (default: data)")
    add_output(export, "-o", "--out", metavar="FILE", help="default: the terminal")
    export.set_defaults(run=_export)


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
