"""``formulakern cache``: what lies on disk."""

from __future__ import annotations

import argparse
from typing import Any

from formulakern import cache

__all__ = ["add_cache"]


def add_cache(commands: Any) -> None:
    """Add the command to those of a parser, as ``add_subparsers`` returns them."""
    parser = commands.add_parser(
        "cache", help="where compiled functions are kept, and how many; --clear deletes them"
    )
    parser.add_argument("--clear", action="store_true", help="delete them")
    parser.set_defaults(run=_cache)


def _cache(options: argparse.Namespace) -> None:
    print(cache.info())
    if options.clear:
        cache.clear()
        print("deleted")
