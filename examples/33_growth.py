"""The growth of time with rows, columns, values of a column and classes, on tables of numbers
===========================================================================================

In a shell::

    python examples/33_growth.py              # half an hour on one core
    python examples/33_growth.py --quick      # one table, one learner, seconds
    python examples/33_growth.py --only rows  # one of rows, columns, values, classes

The table shows CPU seconds of ``fit`` on one core, with encoding and without compilation, then the
accuracy on 10,000 further rows.  The learners are those of 16_league.py with their defaults;
explainable boosting (interpret) and RuleFit (imodels) run if they are installed.

The tables come from scikit-learn's ``make_classification`` (seed 0), with 5 % of the classes drawn
at random.  The standard size is 5,000 rows, 20 columns, 10 of them informative, and two classes;
one number changes at a time.  A fit of more than --time-limit CPU seconds is stopped (">").
"""

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings

import numpy as np
import pandas as pd
from league_learners import LEARNERS
from protocol import markdown
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits

#: The size that changes, and the other sizes.
SWEEPS = {
    "rows": [{"rows": n, "columns": 10} for n in (1_000, 10_000, 100_000, 1_000_000)],
    "columns": [{"rows": 2_000, "columns": q} for q in (10, 50, 100, 200, 500)],
    "values": [{"values": v} for v in (8, 32, 255, None)],
    "classes": [{"classes": k} for k in (2, 5, 11, 26)],
}
NAMES = ("HKL", "PRL", "formula SVC", "RIPPER", "boosting", "forest", "EBM", "RuleFit")
TEST = 10_000


def table(rows=5_000, columns=20, values=None, classes=2):
    """Return a table of numbers with this many different values per column, and its classes."""
    X, y = make_classification(
        rows + TEST, columns, n_informative=min(10, columns // 2), n_redundant=0,
        n_classes=classes, n_clusters_per_class=2 if classes == 2 else 1, flip_y=0.05,
        random_state=0,
    )  # fmt: skip
    if values is not None:
        ranks = X.argsort(axis=0).argsort(axis=0)
        X = (ranks * values // len(X)).astype(float)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(columns)])
    return frame, y.astype(str)


def measured(name, limit, sizes):
    """Fit one learner in this process, and print the seconds, the accuracy and the rules."""
    warnings.simplefilter("ignore")
    learner = LEARNERS[name]
    X, y = table(**sizes)
    with threadpool_limits(1):
        small, labels = table(rows=300, classes=2)
        learner.fit(small[:300], labels[:300])  # compiles
        used = resource.getrusage(resource.RUSAGE_SELF)
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        end = int(used.ru_utime + used.ru_stime + limit) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (end, hard))
        begin = time.process_time()
        model = learner.fit(X[:-TEST], y[:-TEST])
        seconds = time.process_time() - begin
        resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))
        right = np.mean(model.predict(X[-TEST:]) == y[-TEST:])
    print(json.dumps([seconds, right, learner.size(model)[0]]))


def cell(name, limit, sizes):
    """Measure in another process; return the cell of the table."""
    command = [sys.executable, __file__, "--one", json.dumps([name, limit, sizes])]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode:
        return f"> {limit:.0f}" if found.returncode < 0 else "failed"
    seconds, right, _ = json.loads(found.stdout.splitlines()[-1])
    return (
        f"{seconds:.2g} ({100 * right:.1f})"
        if seconds < 10
        else f"{seconds:.0f} ({100 * right:.1f})"
    )


def main():
    """Measure and print a table for each sweep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one table, one learner")
    parser.add_argument("--only", choices=SWEEPS)
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=NAMES)
    parser.add_argument("--time-limit", type=float, default=120.0, help="CPU seconds of a fit")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        return measured(*json.loads(given.one))
    if given.quick:
        given.only, given.learners = "rows", ("HKL",)
    names = [name for name in given.learners if LEARNERS[name].installed]
    for what, sweep in SWEEPS.items():
        if given.only not in (None, what):
            continue
        rows, late = [], set()
        for sizes in sweep[:1] if given.quick else sweep:
            cells = {}
            for name in names:
                cells[name] = "" if name in late else cell(name, given.time_limit, sizes)
                if cells[name].startswith(">"):
                    late.add(name)
            number = sizes[what]
            rows.append([f"{number:,}" if number else "all", *cells.values()])
        if rows:
            print(f"\nCPU seconds (accuracy in percent) by {what}\n", flush=True)
            print(markdown([what, *names], rows), flush=True)
    return None


if __name__ == "__main__":
    main()
