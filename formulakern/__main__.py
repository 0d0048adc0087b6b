"""The command line as ``python -m formulakern``, for when its script is not on the path."""

from formulakern.cli import run

if __name__ == "__main__":
    run()
