"""Where the examples find data: $FORMULAKERN_DATA, or ../shared/data beside the repository."""

from __future__ import annotations

import os
import sys
from pathlib import Path

FOLDER = Path(
    os.environ.get("FORMULAKERN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
)
OUTPUT = Path(__file__).resolve().parent / "output"


def path_of(name: str) -> Path:
    """The path of a data file; ends the script with a sentence if it is not there."""
    path = FOLDER / name
    if not path.exists():
        print(f"This example reads {name}, which is not in {FOLDER}.")
        print("Set FORMULAKERN_DATA to a folder with the UCI files as CSV, the class column last.")
        sys.exit(0)
    return path


def plotting():
    """matplotlib.pyplot without a window, or None after a sentence if it is not installed."""
    try:
        import matplotlib
    except ImportError:
        print("(No picture: matplotlib is not installed. pip install 'formulakern[plot]')")
        return None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt
