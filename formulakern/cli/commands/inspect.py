"""``formulakern inspect``: every stage of a formula's kernel."""

from __future__ import annotations

import argparse
from typing import Any

from formulakern.cli.options import add_command, formula_options, kernel_of

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add the command to those of a parser."""
    inspect = add_command(
        commands,
        "inspect",
        "show every stage of a formula's kernel",
        ['"(a & ~b) | c"', '"a -> b" --variables free'],
        formula_options(),
    )
    inspect.set_defaults(run=_inspect)


def _inspect(options: argparse.Namespace) -> None:
    from formulakern.display.terminal import show_inspection

    show_inspection(kernel_of(options).inspect())
