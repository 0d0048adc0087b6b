"""Run the documented uses of one extra, in an environment with this extra alone.

Usage: python .ci/extra.py none|tables|plot|dask FOLDER

`none` runs the command line on a CSV file: learn, show, explain, predict, export, report; then an
estimator on frames of polars, and the command line on Parquet files.  The others run the functions
that need their libraries.  All files go to FOLDER, and the installed package is used.
"""

import csv
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars

import formulakern as fk

TABLE, CLASSES = fk.datasets.tic_tac_toe()
COLUMNS = {name: TABLE[name].tolist() for name in TABLE.names}


def command(*arguments: str) -> str:
    """Run the command line; return what it prints."""
    program = Path(sys.executable).with_name("formulakern")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def none() -> None:
    """Use the command line, the estimators and the kernels without any extra."""
    with open("table.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*COLUMNS, "class"])
        writer.writerows(zip(*COLUMNS.values(), CLASSES, strict=True))
    assert "accuracy" in command("learn", "table.csv", "--model", "hkl", "-o", "model.json")
    assert "weight" in command("show", "model.json")
    assert "positive" in command("explain", "model.json", "table.csv", "--row", "3")
    command("predict", "model.json", "table.csv", "-o", "predicted.csv")
    assert len(Path("predicted.csv").read_text().splitlines()) == 1 + len(CLASSES)
    for kind in ("--python", "--latex", "--json"):
        assert command("export", "model.json", kind)
    assert "SELECT" in command("export", "model.json", "--sql", "sqlite")
    command("report", "model.json", "table.csv", "-o", "report.html")
    assert "</html>" in Path("report.html").read_text()
    model = fk.load("model.json")
    assert model.score(COLUMNS, CLASSES) > 0.9
    frame = polars.DataFrame(COLUMNS)
    assert (model.predict(frame) == model.predict(COLUMNS)).all()
    assert len(frame.select(model.to_polars())) == len(CLASSES)
    frame.write_parquet("table.parquet")
    command("predict", "model.json", "table.parquet", "-o", "predicted.parquet")
    assert len(polars.read_parquet("predicted.parquet")) == len(CLASSES)


def tables() -> None:
    """Read and make frames of pandas."""
    import pandas

    model = fk.HKLClassifier().fit(pandas.DataFrame(COLUMNS), CLASSES)
    assert (model.predict(pandas.DataFrame(COLUMNS)) == model.predict(COLUMNS)).all()
    assert "weight" in model.rules_.to_frame().columns


def plot() -> None:
    """Draw the rules of a model, and a report with pictures."""
    model = fk.HKLClassifier().fit(COLUMNS, CLASSES)
    axes = fk.plot.rule_weights(model)
    axes.figure.savefig("rules.png")
    assert Path("rules.png").stat().st_size > 5_000


def dask() -> None:
    """Fit and predict on rows in partitions."""
    import dask.array as da

    X = np.random.default_rng(0).integers(0, 2, (4_000, 8))
    y = X[:, 0] & X[:, 1]
    model = fk.PRLClassifier(degree=2).fit(da.from_array(X, chunks=(1_000, 8)), da.from_array(y))
    assert model.score(X, y) == 1.0


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"none": none, "tables": tables, "plot": plot, "dask": dask}[sys.argv[1]]()
    print(f"extra {sys.argv[1]}: works")
