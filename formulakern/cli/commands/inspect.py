"""``formulakern inspect``: every stage of a formula's kernel."""

from __future__ import annotations

import argparse

from formulakern.cli.options import FORMULA, Command, kernel_of

__all__ = ["COMMAND"]


def _inspect(options: argparse.Namespace) -> None:
    from formulakern.display.terminal import show_inspection

    show_inspection(kernel_of(options).inspect())


COMMAND = Command(
    "inspect",
    "show every stage of a formula's kernel",
    ['"(a & ~b) | c"', '"a -> b" --variables free'],
    FORMULA,
    _inspect,
)
