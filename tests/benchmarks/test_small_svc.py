"""Small tables, as ratios: ``pytest -s tests/benchmarks/test_small_svc.py``.

``FormulaSVC`` against LIBSVM's polynomial of degree 2 on the same encoded columns; with its
encoder; and in fresh processes with machine code on disk.
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import SVC

from formulakern import datasets
from formulakern.estimators.encoder import PropositionEncoder
from formulakern.estimators.svm.machines import FormulaSVC

DATA = Path(os.environ.get("FORMULAKERN_DATA", Path(__file__).parents[3] / "shared" / "data"))
GOAL = 1.2
C = 10.0

FRESH = {
    "ours": "from formulakern import FormulaSVC; import pandas, numpy; "
    "X, y = pandas.read_pickle({table!r}); FormulaSVC().fit(X, y).predict(X)",
    "theirs": "from sklearn.svm import SVC; import pandas, numpy; "
    "X, y = pandas.read_pickle({table!r}); "
    "SVC(kernel='poly', degree=2, C=10.0).fit(X, y).predict(X)",
}


def report(what, value, goal, unit="x"):
    print(f"\n    {what:<70} {value:9.2f} {unit:<3} goal {goal:g}", end="")


def some(X, y, n):
    """Return n rows, or all if there are fewer."""
    rows = np.random.default_rng(0).permutation(len(y))[:n]
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows], np.asarray(y)[rows]


def read(name):
    """A file of FORMULAKERN_DATA, its last column the class; text as categories."""
    if not (DATA / name).exists():
        pytest.skip("needs the data sets of FORMULAKERN_DATA")
    frame = pd.read_csv(DATA / name, na_values="?", skipinitialspace=True)
    X, y = frame.iloc[:, :-1], frame.iloc[:, -1].to_numpy()
    texts = [label for label in X.columns if X[label].dtype.kind not in "iuf"]
    return X.astype(dict.fromkeys(texts, "category")), y.astype(str)


def adult():
    """Fourteen columns, of categories and of numbers."""
    return read("adult-train.csv.gz")


def tic_tac_toe():
    """Nine columns of text, 958 rows."""
    return datasets.tic_tac_toe()


def pima():
    """Eight columns of numbers, 768 rows."""
    return read("pima-diabetes.csv")


def ratios(X, y, repeats=9):
    """CPU time over LIBSVM's: fit and predict with an encoder, and fit of encoded columns."""
    D = PropositionEncoder().fit(X).transform(X)
    entrants = {
        "encoder": (lambda: FormulaSVC(C=C), X),
        "none": (lambda: FormulaSVC(C=C, encoder=None), D.astype(np.uint8)),
        "theirs": (lambda: SVC(kernel="poly", degree=2, C=C), D.astype(np.float64)),
    }
    spent = {name: ([], []) for name in entrants}
    for repeat in range(repeats + 1):
        for name, (new, table) in entrants.items():
            model = new()
            begin = time.process_time()
            model.fit(table, y)
            middle = time.process_time()
            model.predict(table)
            if repeat:  # the first one loads code
                spent[name][0].append(middle - begin)
                spent[name][1].append(time.process_time() - middle)
    fit, predict = median(spent["theirs"][0]), median(spent["theirs"][1])
    whole, encoded = (median(spent[name][0]) / fit for name in ("encoder", "none"))
    return whole, encoded, median(spent["none"][1]) / predict


@pytest.mark.parametrize("n", [100, 300, 1_000, 2_000])
@pytest.mark.parametrize("table", [adult, tic_tac_toe, pima], ids=lambda f: f.__name__)
def test_warm(table, n):
    whole, encoded, predict = ratios(*some(*table(), n))
    report(f"{table.__name__}, {n:,} rows: fit of encoded columns, beside SVC(poly)", encoded, GOAL)
    report(f"{table.__name__}, {n:,} rows: predict of encoded columns", predict, GOAL)
    report(f"{table.__name__}, {n:,} rows: fit, the encoder included", whole, GOAL)
    assert max(whole, encoded) < 20
    assert predict < 40


@pytest.mark.parametrize("n", [300, 2_000])
def test_fresh_process(tmp_path, n):
    X, y = some(*adult(), n)
    D = PropositionEncoder().fit(X).transform(X).astype(np.float64)
    seconds = {"ours": [], "theirs": []}
    # modules are compiled once, as they are where they are installed
    unset = ("PYTHONDONTWRITEBYTECODE",)
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment["PYTHONPYCACHEPREFIX"] = str(tmp_path / "bytecode")
    for repeat in range(5):
        for name, table in (("ours", X), ("theirs", D)):
            path = str(tmp_path / f"{name}.pickle")
            pd.to_pickle((table, y), path)
            before = os.times()
            code = FRESH[name].format(table=path)
            subprocess.run([sys.executable, "-c", code], check=True, env=environment)
            after = os.times()
            if repeat:  # the first one compiles
                used = after.children_user + after.children_system
                seconds[name].append(used - before.children_user - before.children_system)
    ratio = median(seconds["ours"]) / median(seconds["theirs"])
    report(f"{n:,} rows in a fresh process, imports and all", ratio, GOAL)
    assert ratio < 20
