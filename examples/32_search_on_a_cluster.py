"""Candidates and folds on a dask cluster: the same results, and the time of each process
======================================================================================

In a shell::

    python examples/32_search_on_a_cluster.py            # adult, two worker processes: two minutes
    python examples/32_search_on_a_cluster.py --quick    # tic-tac-toe, two threads

FormulaSearch scores its candidates, and cross-validations fit their folds, in the processes of
joblib's active backend.  In this script that is a cluster on the same computer; with the address of
a scheduler, ``Client("tcp://...")``, it is any other.  The table is sent once.  Each task then
contains only its kernel, or the solution from which it starts.

CPU time is that of the local process and of the workers.
"""

import argparse
import logging
import os
import time
import warnings

import joblib
import numpy as np
from dask.distributed import Client, LocalCluster
from protocol import markdown, path_of

import formulakern as fk
from formulakern import datasets


def processor_seconds():
    """Return the CPU seconds of the local process."""
    return time.process_time()


def models(quick):
    """Return estimators by the name of their class."""
    listed = [
        fk.FormulaSearch(4 if quick else 10, random_state=0),
        fk.PRLClassifierCV(cv=2 if quick else 3, degrees=(1,) if quick else (1, 2)),
        fk.HKLClassifierCV([1.0, 10.0] if quick else "auto", cv=2 if quick else 3),
        fk.FormulaSVCCV("a & b", Cs=[0.1, 1.0, 10.0], cv=3),
    ]
    return {type(model).__name__: model for model in listed}


def learned(model):
    """Return the scores of all candidates or settings, which must be the same."""
    return model.results_["mean_score"] if hasattr(model, "results_") else model.cv_results_


def same(one, other):
    """Return True if all numbers agree to the last bit."""
    if not isinstance(one, dict):
        one, other = {"": one}, {"": other}
    return all(np.array_equal(one[name], other[name], equal_nan=True) for name in one)


def compare(X, y, quick, client):
    """Return a row of the table for each estimator."""
    for name, model in models(quick).items():
        began = processor_seconds()
        alone = learned(model.fit(X, y))
        here = processor_seconds() - began
        before = sum(client.run(processor_seconds).values())
        began = processor_seconds()
        with joblib.parallel_config(backend="dask"):
            model.fit(X, y)
        left = processor_seconds() - began
        workers = sum(client.run(processor_seconds).values()) - before
        agree = "yes" if same(alone, learned(model)) else "no"
        yield [name, f"{here:.1f}", f"{left:.1f}", f"{workers:.1f}", agree]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=int, default=3000, help="rows of adult (default: 3000)")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")  # about ports, and about fits that stop early
    if options.quick:
        X, y = datasets.tic_tac_toe()
        X, y = X[::8], y[::8]
    else:
        import pandas as pd

        frame = pd.read_csv(path_of("adult-train.csv.gz"))[: options.rows]
        X, y = frame.iloc[:, :-1], frame.iloc[:, -1].to_numpy()
    logging.getLogger("distributed").setLevel(logging.ERROR)  # connections that close at the end
    workers = {"n_workers": 1 if options.quick else 2, "threads_per_worker": 1 + options.quick}
    with (
        LocalCluster(processes=not options.quick, dashboard_address=None, **workers) as cluster,
        Client(cluster) as client,
    ):
        head = ["", "alone: s", "local: s", "workers: s", "equal"]
        print(f"{len(y):,} rows, {os.cpu_count()} cores; seconds of processor time")
        print(markdown(head, list(compare(X, y, options.quick, client))))


if __name__ == "__main__":
    main()
