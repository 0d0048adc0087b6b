"""Rules, boosted trees and one tree on larger tables: mushroom, nursery, adult, connect-4
=======================================================================================

In a shell::

    python examples/10_prl_large.py             # all four: a quarter of an hour
    python examples/10_prl_large.py --quick     # 300 rows of mushroom and nursery, one C, seconds

Half of the rows are for training, stratified (adult: its own two files).  Three folds of at most
4,000 training rows choose the degree and the penalty parameter of the rules by the best mean
accuracy.  The degree is 1 or 2, or 3 if a table has at most ten columns.  The penalty is
C = c/√(number of preferences) with c = 1, 4, 16, 64.  Trees are tuned on all training rows.  With
-v every epoch is printed on standard error.
"""

import argparse
import warnings

import numpy as np
from protocol import Clock, baseline, folds, memory, read, show, split
from sklearn.model_selection import cross_val_score

import formulakern as fk

SETS = ("mushroom.csv", "nursery.csv.gz", "adult-train.csv.gz", "connect-4.csv.gz")
CHOOSING = 4_000
GRID = (1, 4, 16, 64)
FEW_COLUMNS = 10
#: Eight cut points per number limit the time on many rows.
OPTIONS = {
    "depth_penalty": 1,
    "encoder": fk.PropositionEncoder(cut_points=8),
    "max_rules": None,
}


def parts(name, limit):
    """Return the training table, its classes, the test table, and its classes."""
    if name.startswith("adult") and limit is None:
        (X, y), (Z, t) = read(name, "adult-test.csv.gz")
        return X, y, Z, t
    [(X, y)] = read(name)
    if limit is not None:
        rows = np.random.default_rng(0).permutation(len(y))[:limit]
        X, y = X.iloc[rows], y[rows]
    train, test = split(y, 0.5)
    return X.iloc[train], y[train], X.iloc[test], y[test]


def penalty(c, n_rows, y):
    """Return C = c/√(number of preferences)."""
    return c / (n_rows * (len(np.unique(y)) - 1)) ** 0.5


def chosen(X, y, grid):
    """Return (degree, c) with the best mean accuracy of three folds of at most 4,000 rows."""
    rows = np.arange(len(y)) if len(y) <= CHOOSING else split(y, CHOOSING)[0]
    X, y = X.iloc[rows], y[rows]
    found = []
    for degree in range(1, 4 if X.shape[1] <= FEW_COLUMNS else 3):
        for c in grid:
            options = OPTIONS | {"degree": degree, "C": penalty(c, 2 / 3 * len(y), y)}
            model = fk.PRLClassifier(**options, tol=0.05)
            mean = cross_val_score(model, X, y, cv=folds()).mean()
            found.append((mean, -degree, -c))
    return -max(found)[1], -max(found)[2]


def main():
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="300 rows of the first two")
    parser.add_argument("-v", action="store_true", help="print every epoch on standard error")
    parser.add_argument("only", nargs="*", help="such as connect-4.csv.gz; default: all")
    given = parser.parse_args()
    # a class of two rows is missing in one of three folds
    warnings.filterwarnings("ignore", message="The least populated class")
    rows = []
    for name in given.only or SETS[: 2 if given.quick else None]:
        X, y, Z, t = parts(name, 300 if given.quick else None)
        choosing = Clock()
        degree, c = chosen(X, y, GRID[1:2] if given.quick else GRID)
        print(f"{name}: degree {degree}, c = {c}, chosen in {choosing}", flush=True)
        fitting = Clock()
        options = OPTIONS | {"degree": degree, "C": penalty(c, len(y), y)}
        model = fk.PRLClassifier(**options, verbose=given.v)
        model.fit(X, y)
        took = f"{fitting}, {memory()}"
        print(f"{model.rules_.head(5)}\n", flush=True)
        others = [
            baseline(method, X, y, quick=given.quick).score(Z, t) for method in ("boosting", "tree")
        ]
        rows.append(
            [name.split(".")[0].removesuffix("-train"), f"{len(y):,}", f"{len(t):,}",
             str(len(model.classes_)), str(degree), str(c), str(len(model.rules_)),
             f"{100 * model.score(Z, t):.2f}", *(f"{100 * score:.2f}" for score in others), took,
             f"{100 * model.gap_ / model.bound_:.1f} %"]
        )  # fmt: skip
    head = ["data set", "training rows", "test rows", "classes", "degree", "c", "rules", "accuracy",
            "boosted trees", "one tree", "fit", "gap"]  # fmt: skip
    show("Accuracy on the test rows in percent; settings are chosen on training rows", head, rows)


if __name__ == "__main__":
    main()
