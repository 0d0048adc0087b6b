"""Time limits: whether they are met, and the gap, rules and training accuracy of the models
=========================================================================================

In a shell::

    python examples/24_time_limits.py                          # adult and connect-4: six minutes
    python examples/24_time_limits.py --quick                  # tic-tac-toe, half a second each
    python examples/24_time_limits.py adult-train.csv.gz --limits 1 5
    FORMULAKERN_CACHE_DIR=$(mktemp -d) python examples/24_time_limits.py adult-train.csv.gz --once

A limit covers all of fit: encoding, packing, machine code (read, or compiled if there is none), the
search, the simplification, the comparison of settings and the last fit.  With --once every fit has
a process of its own, which also reads or compiles the machine code.  Processor time is next to
elapsed time, which other processes prolong.
"""

import argparse
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from protocol import path_of, show
from sklearn.exceptions import ConvergenceWarning

import formulakern as fk

SETS = ("adult-train.csv.gz", "connect-4.csv.gz")
MODELS = ("PRLClassifier", "HKLClassifier", "HKLClassifierCV", "FormulaSearch")
LIMITS = (1.0, 2.0, 5.0, 20.0)
#: The number of rows for the training accuracy.
SEEN = 5_000


def measured(X, y, model, limit):
    """Return the measured columns of one fit."""
    options = {"random_state": 0} if model == "FormulaSearch" else {}
    learner = getattr(fk, model)(time_limit=limit, **options)
    began, processor = time.monotonic(), time.process_time()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        learner.fit(X, y)
    wall, processor = time.monotonic() - began, time.process_time() - processor
    best = getattr(learner, "best_estimator_", learner)
    rows = np.random.default_rng(0).permutation(len(y))[:SEEN]
    accuracy = float(np.mean(learner.predict(X[rows]) == y[rows]))
    majority = float(np.unique(y[rows], return_counts=True)[1].max() / len(rows))
    rules = str(len(best.rules_)) if hasattr(best, "rules_") else f"{len(best.support_)} vectors"
    warned = any(issubclass(one.category, ConvergenceWarning) for one in told)
    return [
        f"{limit:g}",
        f"{wall:.2f}",
        f"{processor:.2f}",
        "yes" if wall <= limit + max(0.1 * limit, 0.5) else "no",
        f"{best.gap_:.2g}",
        rules,
        f"{accuracy:.4f}",
        f"{majority:.4f}",
        "yes" if warned else "no",
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("only", nargs="*", default=SETS, help="such as connect-4.csv.gz")
    parser.add_argument("--limits", nargs="+", type=float, default=LIMITS)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--once", action="store_true", help="a process for every fit")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    rows = []
    if given.quick:
        tables, limits = {"tic-tac-toe": fk.datasets.tic_tac_toe()}, [0.5]
    else:
        tables, limits = {name: fk.datasets.read_table(path_of(name)) for name in given.only}, None
    for name, (X, y) in tables.items():
        for model in given.models:
            for limit in limits or given.limits:
                if given.once:
                    text = f"import runpy; m = runpy.run_path({str(Path(__file__).resolve())!r}); "
                    text += f"X, y = m['fk'].datasets.read_table(m['path_of']({name!r})); "
                    text += f"print('|'.join(m['measured'](X, y, {model!r}, {limit})))"
                    run = [sys.executable, "-c", text]
                    here = Path(__file__).resolve().parent
                    out = subprocess.run(run, cwd=here, capture_output=True, check=True)
                    row = out.stdout.decode().strip().split("|")
                else:
                    row = measured(X, np.asarray(y), model, limit)
                rows.append([name.split(".")[0], model, *row])
                if sys.stderr.isatty():  # the whole table is printed at the end
                    print(*rows[-1], sep="\t", file=sys.stderr, flush=True)
    names = "limit s, took s, processor s, met, gap, rules, accuracy, largest class, warned"
    show("Time limits", ["table", "model", *names.split(", ")], rows)


if __name__ == "__main__":
    main()
