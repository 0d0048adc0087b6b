"""The command line: ``formulakern --help`` lists its commands."""

from formulakern.cli.parser import main, run

__all__ = ["main", "run"]
