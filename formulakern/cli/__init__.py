"""The command line: ``formulakern inspect | fit | gram``."""

from formulakern.cli.commands import main, run

__all__ = ["main", "run"]
