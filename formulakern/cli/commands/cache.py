"""``formulakern cache``: the compiled functions on disk."""

from __future__ import annotations

import argparse

from formulakern import cache
from formulakern.cli.options import Command, option

__all__ = ["COMMAND"]


def _cache(options: argparse.Namespace) -> None:
    print(cache.info())
    if options.clear:
        cache.clear()
        print("deleted")


COMMAND = Command(
    "cache",
    "show where compiled functions are kept, and how many; --clear deletes them",
    [""],
    [option("--clear", "delete them", default=False)],
    _cache,
)
