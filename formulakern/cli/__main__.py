"""``python -m formulakern.cli``: the command line."""

from formulakern.cli.commands import run

__all__: list[str] = []

if __name__ == "__main__":
    run()
