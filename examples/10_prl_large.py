"""Rules beside boosted trees on larger tables: mushroom, nursery, adult, connect-4.

    python examples/10_prl_large.py             # about twenty minutes
    python examples/10_prl_large.py --quick     # 1,000 rows of mushroom and nursery, seconds

Half of the rows train (adult: its own test part); every epoch is told on standard error with -v.
The price C of margin errors is c/√(weight of the preferences), the c of 2, 4, 8, 16 that does best
on a third of 4,000 training rows when it learns from the other two.
"""

import argparse
import resource
from time import perf_counter

import numpy as np
from data import path_of
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

import formulakern as fk
from formulakern.text import markdown

SETS = {
    "mushroom.csv": {"degree": 2},
    "nursery.csv.gz": {"degree": 3},
    "adult-train.csv.gz": {"degree": 2, "time_limit": 300},
    "connect-4.csv.gz": {"degree": 2, "time_limit": 480, "tol": 0.05},
}


def halves(name, limit):
    """Training table, classes, test table, classes."""
    dataset = fk.datasets.read_table(path_of(name))
    if name.startswith("adult") and limit is None:
        other = fk.datasets.read_table(path_of("adult-test.csv.gz"))
        return dataset.data, dataset.target, other.data, other.target
    rows = np.arange(len(dataset))
    if limit is not None:
        rows = np.random.default_rng(0).permutation(rows)[:limit]
    train, test = train_test_split(rows, test_size=0.5, random_state=0)
    return dataset.data[train], dataset.target[train], dataset.data[test], dataset.target[test]


def beside(X, y, Z, t):
    """Accuracy of boosted trees and of one tree; numbers as they are, text one-hot."""
    text = [j for j, name in enumerate(X.names) if not X.is_numeric(name)]
    X, Z = (np.array(part, dtype=object) for part in (X, Z))
    X[:, text], Z[:, text] = X[:, text].astype(str), Z[:, text].astype(str)
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    for model in (
        HistGradientBoostingClassifier(random_state=0),
        DecisionTreeClassifier(random_state=0),
    ):
        encoder = make_column_transformer((one_hot, text), remainder="passthrough")
        with threadpool_limits(1):  # threads that wait for each other take minutes
            pipeline = make_pipeline(encoder, model).fit(X, y)
            yield f"{100 * pipeline.score(Z, t):.2f}"


def chosen(X, y, options):
    """The best c on a part of the training rows; ties go to the fewer rules."""
    rows = np.random.default_rng(0).permutation(len(y))[:4000]
    learn, judge = np.split(rows, [2 * len(rows) // 3])
    scores = []
    for c in (2, 4, 8, 16):
        C = c / ((len(np.unique(y)) - 1) * len(learn)) ** 0.5
        model = fk.PRLClassifier(C=C, **options | {"tol": 0.05, "time_limit": 30})
        scores.append((model.fit(X[learn], y[learn]).score(X[judge], y[judge]), -c))
    return -max(scores)[1]


def main():
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1,000 rows of the first two")
    parser.add_argument("-v", action="store_true", help="every epoch on standard error")
    parser.add_argument("only", nargs="*", help="such as connect-4.csv.gz; all by default")
    given = parser.parse_args()
    names = given.only or list(SETS)[: 2 if given.quick else None]
    rows = []
    for name in names:
        X, y, Z, t = halves(name, 1000 if given.quick else None)
        c = chosen(X, y, SETS[name])
        C = c / ((len(np.unique(y)) - 1) * len(y)) ** 0.5
        begin = perf_counter()
        model = fk.PRLClassifier(C=C, verbose=given.v, **SETS[name]).fit(X, y)
        seconds = perf_counter() - begin
        curve = model.accuracy_curve(Z, t)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        rows.append(
            [
                name.split(".")[0], f"{len(y):,}", f"{100 * curve[-1]:.2f}", str(len(model.rules_)),
                f"{100 * curve[min(10, len(curve) - 1)]:.2f}", *beside(X, y, Z, t),
                str(c), f"{seconds:.0f} s, {memory:.1f} GiB", f"{model.gap_ / model.bound_:.1%}",
            ]
        )  # fmt: skip
        print(f"{name}:\n{model.rules_.head(5)}\n")
    head = ["data set", "rows", "rules: accuracy", "number", "ten heaviest", "boosting", "tree",
            "c", "fit", "gap"]  # fmt: skip
    print(markdown(head, rows))


if __name__ == "__main__":
    main()
