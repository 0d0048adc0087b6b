"""A user's script in a terminal: fits on a cluster that it has begun, on rows of its workers.

Without Ctrl-C, each takes seconds.  What came of it is a line of JSON in a file.
"""

import fcntl
import gc
import json
import os
import sys
import termios
import warnings

import numpy as np
import pandas as pd

import formulakern as fk

LEARNERS = {
    "PRL": lambda: fk.PRLClassifier(C=5.0, tol=1e-9, max_rules=None, verbose=1),
    "HKL": lambda: fk.HKLClassifier(C=1e4, tol=1e-9, max_rules=None, verbose=1),
    "SVM": lambda: fk.FormulaSVC("a & b", C=100.0, tol=1e-12, verbose=1),
}


def rows_of(seed, m=500):
    generator = np.random.default_rng(seed)
    X = generator.random((m, 40)) < 0.5
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(40)])
    return frame.assign(y=(X[:, 0] & X[:, 3] | X[:, 5]) ^ (generator.random(m) < 0.2))


def main(folder):
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # this terminal tells this program of Ctrl-C
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(local_directory=folder, **options) as cluster, Client(cluster) as client:
        workers = client.run(os.getpid)
        gc.callbacks.clear()  # Python ignores an interrupt in one of them
        frame = dd.from_map(rows_of, [0, 1, 2], meta=rows_of(0, 0))
        X, y = frame.drop(columns="y"), frame.y
        for name, make in LEARNERS.items():
            print(f"fitting {name}", flush=True)
            stays = name != "SVM"  # whose rows are brought into this process
            limit = fk.gather_limit(0 if stays else 1 << 30)
            with limit, warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                model = make().fit(X, y)
            right = float((model.predict(X).compute() == y.compute()).mean())
            found = {
                "stopped": model.stopped_,
                "gap": model.gap_,
                "said": [str(one.message) for one in told],
                "right": right,
                "same": client.run(os.getpid) == workers,
            }
            with open(os.path.join(folder, "found"), "a") as file:
                file.write(json.dumps(found) + "\n")
            print(f"fitted {name}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
