"""``formulakern cache``: the compiled functions on disk."""

from __future__ import annotations

import argparse
from typing import Any

from formulakern import cache
from formulakern.cli.options import add_command

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add the command to those of a parser."""
    stored = add_command(
        commands,
        "cache",
        "show where compiled functions are kept, and how many; --clear deletes them",
        [""],
    )
    stored.add_argument("--clear", action="store_true", help="delete them")
    stored.set_defaults(run=_cache)


def _cache(options: argparse.Namespace) -> None:
    print(cache.info())
    if options.clear:
        cache.clear()
        print("deleted")
