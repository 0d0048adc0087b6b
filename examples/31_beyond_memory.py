"""Learning from a folder of Parquet files that is larger than the memory of its workers
=====================================================================================

The script generates one of two tables, with 100,000 rows per file.  *Planted*: 100 Boolean columns
and 50 columns of floating point numbers.  Three rules determine the class, and one row in fifty has
the other class.  *Poker*: hands of five cards as ten numbers, twenty Boolean columns for equal
suits and equal ranks of cards i and j, and the class "a pair or better".

A dask cluster with a few worker processes, each with a memory limit, reads the files.  Rows stay on
the workers; only a support vector machine gathers their packed rows in the local process.  A line
shows the gigabytes of the plain table, seconds, CPU seconds of the local process, the proven gap,
the number of rules or support vectors, and the largest memory of a worker and of the local process.
For features it shows the accuracy on a held-out file instead of the gap.

In a shell::

    python examples/31_beyond_memory.py                      # a million rows: minutes
    python examples/31_beyond_memory.py --rows 10000000      # ten million
    python examples/31_beyond_memory.py --learner hkl --table poker
    python examples/31_beyond_memory.py --learner features
    python examples/31_beyond_memory.py --learner svm --table poker
    python examples/31_beyond_memory.py --gather             # gather packed rows locally
    python examples/31_beyond_memory.py --growth             # rows x2, x4, x8, and one worker
    python examples/31_beyond_memory.py --quick              # seconds, in one process

It needs the extra ``formulakern[dask]``.
"""

import argparse
import logging
import os
import resource
import shutil
import tempfile
import time
import warnings
from itertools import combinations
from pathlib import Path

# pyarrow's own pool keeps memory after it reads a file; a worker would need twice as much
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

import numpy as np
import pandas as pd

import formulakern as fk

FILE_ROWS = 100_000
NOISE = 0.02
N_FLAGS, N_NUMBERS = 100, 50
#: The total cost of all margin errors, if every row is one.
COST = {"prl": 100.0, "hkl": 100_000.0, "svm": 100_000.0}
LEARNERS = ("prl", "hkl", "svm", "features")
#: The number of rows whose features are computed together.
AT_ONCE = 4_000
#: Candidate penalties of logistic regression.
PENALTIES = (1e-4, 1e-5, 1e-6, 1e-7)


def planted(n: int, seed: int) -> pd.DataFrame:
    """Return rows of the planted table with their class."""
    random = np.random.default_rng(seed)
    flags = random.integers(0, 256, (n, (N_FLAGS + 7) // 8), dtype=np.uint8)
    X = np.unpackbits(flags, axis=1)[:, :N_FLAGS].astype(bool)
    numbers = random.random((n, N_NUMBERS))
    rules = (X[:, 3] & X[:, 17]) | (X[:, 40] & (numbers[:, 5] >= 0.5)) | (X[:, 8] & X[:, 60])
    y = rules ^ (random.random(n) < NOISE)
    frame = pd.DataFrame(X, columns=[f"b{j}" for j in range(N_FLAGS)])
    for j in range(N_NUMBERS):
        frame[f"x{j}"] = numbers[:, j]
    return frame.copy().assign(y=y)


def poker(n: int, seed: int) -> pd.DataFrame:
    """Return rows of the table of hands: "pair" is a pair or better, "nothing" all others."""
    data = fk.datasets.poker_hands(n, random_state=seed)
    cards = {name: np.asarray(data.data.column(name)) for name in data.data.names}
    for a, b in combinations(range(1, 6), 2):
        cards[f"suits {a}{b}"] = cards[f"S{a}"] == cards[f"S{b}"]
        cards[f"ranks {a}{b}"] = cards[f"C{a}"] == cards[f"C{b}"]
    return pd.DataFrame(cards).assign(y=np.where(data.target > 0, "pair", "nothing"))


TABLES = {"planted": planted, "poker": poker}


def written(table: str, rows: int, folder: Path) -> tuple[Path, float]:
    """Return a folder with files of this many rows, and their gigabytes as a plain table."""
    place = folder / f"{table}-{rows}"
    place.mkdir(parents=True, exist_ok=True)
    size = 0.0
    most = min(FILE_ROWS, -(-rows // 2))
    for number, start in enumerate(range(0, rows, most)):
        file = place / f"part-{number:05}.parquet"
        count = min(most, rows - start)
        if not file.exists() or not size:
            frame = TABLES[table](count, number)
            size = frame.memory_usage(index=False).sum() / count
            frame.to_parquet(file)
    return place, size * rows / 1e9


def largest_memory() -> float:
    """Return the largest memory of this process so far, in megabytes."""
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss of a new process is at least that of its parent
        [line] = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def learned(name: str, X, y, rows: int):
    """Return a learner with a gap of 1 % and a total cost of margin errors independent of rows."""
    C = COST[name] / rows
    if name == "hkl":
        model = fk.HKLClassifier(
            rho=1.1,
            encoder=fk.PropositionEncoder(cut_points=1),
            linear=False,
            tol=1e-2,
            C=C,
            max_rules=None,
        ).fit(X, y)
        return model, 100 * model.gap_
    if name == "svm":
        encoder = fk.PropositionEncoder(cut_points=1)
        model = fk.FormulaSVC("a & b", C=C, encoder=encoder, tol=1e-2).fit(X, y)
        return model, 100 * model.gap_
    encoder = fk.PropositionEncoder(cut_points=1)
    model = fk.PRLClassifier(encoder=encoder, budget=5, tol=1e-2, C=C, max_rules=None).fit(X, y)
    return model, 100 * model.gap_ / model.bound_


def linear(frame):
    """Fit logistic regression on all features of "a & b" in batches; return its accuracy.

    Features take far more memory than their columns.  So partitions move to this process one by
    one, and features are computed for a few thousand of their rows.  The penalty is the one whose
    model of the first partition is best on the second.  The last partition is held out.
    """
    from sklearn.linear_model import SGDClassifier

    encoder = fk.PropositionEncoder(cut_points=1)
    features = fk.FormulaFeatures("a & b", None, encoder=encoder, dtype=np.float32)
    features.fit(frame.drop(columns="y"))
    names = np.unique(frame.y.head(1000))

    def parts(k):
        rows = frame.partitions[k].compute()
        X, y = rows.drop(columns="y"), rows["y"]
        for start in range(0, len(y), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            yield features.transform(X[some]), y[some]

    def accuracy(model, k):
        return np.concatenate([model.predict(X) == y for X, y in parts(k)]).mean()

    models = [SGDClassifier(loss="log_loss", random_state=0, alpha=alpha) for alpha in PENALTIES]
    for X, y in parts(0):
        for model in models:
            model.partial_fit(X, y, classes=names)
    best = max(models, key=lambda model: accuracy(model, 1))
    for k in range(1, frame.npartitions - 1):
        for X, y in parts(k):
            best.partial_fit(X, y)
    return accuracy(best, frame.npartitions - 1)


def run(options: argparse.Namespace, rows: int, workers: int, folder: Path) -> None:
    """Learn from one folder on one cluster, and print a line of the table."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.ERROR)  # connections that close at the end
    place, size = written(options.table, rows, folder)
    spill = tempfile.mkdtemp(dir=folder)
    settings = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    settings |= {"memory_limit": options.memory, "local_directory": spill}
    with (
        LocalCluster(processes=not options.quick, **settings) as cluster,
        Client(cluster) as client,
        fk.gather_limit((1 << 30) if options.gather or options.learner == "svm" else 0),
    ):
        frame = dd.read_parquet(str(place))
        X, y = frame.drop(columns="y"), frame["y"]
        begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_utime
        if options.learner == "features":
            model, found, rules = None, 100 * linear(frame), 0
        else:
            easier = 5 if options.quick else 1  # a smaller C
            model, found = learned(options.learner, X, y, easier * rows)
            rules = len(model.support_ if options.learner == "svm" else model.rules_)
        seconds = time.perf_counter() - begin
        own = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
        peaks = client.run(largest_memory).values()
    print(
        f"| {options.learner} | {options.table} | {rows:,} | {size:.2f} | {workers} | "
        f"{seconds:.0f} | {own:.0f} | {found:.2f} | {rules} | {max(peaks):.0f} | "
        f"{largest_memory():.0f} |",
        flush=True,
    )
    if options.show and hasattr(model, "rules_"):
        print(model.rules_)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--table", choices=TABLES, default="planted")
    parser.add_argument("--learner", choices=LEARNERS, default="prl")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--gather", action="store_true")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = 2_000 if options.quick else options.rows
    folder = options.folder or Path(tempfile.mkdtemp())
    names = "learner table rows GB workers s local-CPU-s gap-% parts worker-MB local-MB"
    titles = names.split()
    print("| " + " | ".join(name.replace("-", " ") for name in titles) + " |")
    print("|---|---|" + "---:|" * (len(titles) - 2))
    try:
        run(options, rows, options.workers, folder)
        if options.growth:
            for times in (2, 4, 8):
                run(options, times * rows, options.workers, folder)
            run(options, rows, 1, folder)
    finally:
        if options.folder is None:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
