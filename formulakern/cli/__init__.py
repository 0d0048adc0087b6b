"""The command line: ``formulakern inspect | fit | gram | cache``."""

from formulakern.cli.commands import main, run

__all__ = ["main", "run"]
