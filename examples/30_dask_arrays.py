"""Rows on disk: predictions and Gram matrices of dask collections
===============================================================

A model is learned from a sample.  It predicts a folder of Parquet files that need not fit into
memory: one file at a time is read, predicted and written.  Then a Gram matrix larger than memory
is written to a file block by block, and multiplied by a vector without the whole matrix.

In a shell::

    python examples/30_dask_arrays.py            # a million rows: half a minute
    python examples/30_dask_arrays.py --quick    # seconds

It needs the extra ``formulakern[dask]``.
"""

import argparse
import tempfile
import threading
import time
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import psutil

import formulakern as fk

SIZES = {True: (4, 1_000, 1_000), False: (50, 20_000, 20_000)}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows: seconds")
    return parser.parse_args()


def patients(n: int, seed: int) -> pd.DataFrame:
    """Return rows of a table with words, numbers and missing values, and their classes."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "smoker": random.choice(["yes", "no", "stopped"], n),
            "age": random.integers(18, 95, n),
            "pressure": np.where(random.random(n) < 0.05, np.nan, random.normal(130, 15, n)),
            "ward": random.choice([f"ward {k}" for k in range(20)], n),
        }
    )
    ill = (frame["smoker"] == "yes") & (frame["age"] >= 50) | (frame["pressure"] > 150)
    return frame.assign(ill=ill ^ (random.random(n) < 0.02))


class Memory:
    """The growth of this process's memory, without files, since a block began."""

    def __enter__(self) -> "Memory":
        self.process, self.over = psutil.Process(), threading.Event()
        self.first = self.most = self.used()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.began = time.process_time()
        self.thread.start()
        return self

    def watch(self) -> None:
        while not self.over.wait(0.01):
            self.most = max(self.most, self.used())

    def used(self) -> int:
        info = self.process.memory_info()
        return int(info.rss - getattr(info, "shared", 0))

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()
        self.seconds = time.process_time() - self.began

    def __str__(self) -> str:
        return f"{(self.most - self.first) / 2**20:,.0f} MiB more, {self.seconds:.1f} CPU seconds"


def predicted_files(folder: Path, files: int, rows: int) -> None:
    """Learn from one file, and predict all."""
    (folder / "rows").mkdir()
    for k in range(files):
        patients(rows, k).to_parquet(folder / "rows" / f"{k:03}.parquet")
    sample = patients(2_000, files)
    model = fk.PRLClassifier(max_rules=4).fit(sample.drop(columns="ill"), sample["ill"])
    print(model.rules_)

    frame = dd.read_parquet(folder / "rows")
    X = frame.drop(columns="ill")
    print(f"\n{files} files, {files * rows:,} rows")
    with Memory() as memory:
        frame.assign(said=model.predict(X)).to_parquet(folder / "said", write_index=False)
    print(f"predicted and written: {memory}")
    with Memory() as memory:
        right = model.score(X, frame["ill"])
    print(f"{right:.4f} of them right: {memory}")
    covers = model.rules_.covers(X).sum(axis=0).compute()
    print(f"rows that satisfy the heaviest rule, {model.rules_[0].rule}: {covers[0]:,}")


def large_gram(folder: Path, n: int) -> None:
    """Write a Gram matrix to a file, and multiply it by a vector."""
    bits = np.random.default_rng(0).random((n, 40)) < 0.3
    X = da.from_array(bits, chunks=(n // 10, 40))
    kernel = fk.kernel("(a & ~b) | c").normalized()
    gram = kernel(X)
    print(f"\nthe Gram matrix: blocks of {gram.chunksize}, {gram.nbytes / 2**20:,.0f} MiB")
    out = np.lib.format.open_memmap(folder / "gram.npy", "w+", "float64", gram.shape)
    with Memory() as memory:
        da.store(gram, out, lock=False)
    print(f"written: {memory}")
    v = np.random.default_rng(1).normal(size=n)
    with Memory() as memory:
        product = kernel.matvec(X, v).compute()
    print(f"its product with a vector, without the matrix: {memory}")
    some = slice(0, 100)
    same = np.array_equal(out[some, : n // 10], kernel(bits[: n // 10])[some])
    print(f"the first entries are those of the kernel in memory: {same}")
    print(f"largest difference of the product: {np.abs(out[some] @ v - product[some]).max():.1e}")


if __name__ == "__main__":
    arguments = parse_arguments()
    n_files, n_rows, n_gram = SIZES[arguments.quick]
    with tempfile.TemporaryDirectory() as place, dask.config.set(scheduler="threads"):
        predicted_files(Path(place), n_files, n_rows)
        large_gram(Path(place), n_gram)
