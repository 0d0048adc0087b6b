"""``python -m formulakern``: the command line, where its script is not on the path."""

from formulakern.cli import run

if __name__ == "__main__":
    run()
