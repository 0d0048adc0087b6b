"""Hierarchical kernel learning on full-size tables, and the growth of its time
============================================================================

In a shell::

    python examples/11_hkl_scale.py             # minutes
    python examples/11_hkl_scale.py --quick     # small parts of two tables, seconds

Nine tenths of the rows are for training, stratified (adult: its own two files).  Three folds of at
most 3,000 training rows choose the penalty parameter and the depth penalty by the best mean
accuracy.  Only fits count that reach a gap of 1 % with at most 300 conjunctions for each class.
"held" is the number of conjunctions at the end, "rules" the number with a weight.  Boosting is
tuned on all training rows.  With -v every round of the last fit is printed on standard error.
"""

import argparse
import warnings

import numpy as np
from protocol import Clock, baseline, memory, read, show, split
from sklearn.exceptions import ConvergenceWarning

import formulakern as fk

SETS = (
    *("tic-tac-toe.csv", "car.csv", "mushroom.csv", "nursery.csv.gz", "adult-train.csv.gz"),
    "connect-4.csv.gz",
)
PROBLEM = {"linear": False, "max_rules": None}
LIMITS = {"tol": 0.01, "max_active": 300}
CHOOSING = 3000
PENALTIES = {"Cs": (0.1, 1.0, 10.0, 100.0), "depth_penalties": (2.0, 4.0)}
QUICK = {"Cs": (1.0, 10.0), "depth_penalties": (4.0,)}


def parts(name, share):
    """Return the training table, its classes, the test table, and its classes."""
    if name.startswith("adult"):
        (X, y), (Z, t) = read(name, "adult-test.csv.gz")
        return X, y, Z, t
    [(X, y)] = read(name)
    train, test = split(y, 0.9 * share)
    return X.iloc[train], y[train], X.iloc[test], y[test]


def fitted(X, y, **parameters):
    """Return the classifier and the seconds of its fit."""
    clock = Clock()
    model = fk.HKLClassifier(tol=LIMITS["tol"], **{**PROBLEM, **parameters}).fit(X, y)
    return model, str(clock)


def full_size(names, quick, verbose):
    """Fit each table once."""
    rows = []
    for name in names:
        X, y, Z, t = parts(name, 0.1 if quick else 1.0)
        some = np.arange(len(y)) if len(y) <= CHOOSING else split(y, CHOOSING)[0]
        choosing = Clock()
        search = fk.HKLClassifierCV(
            **LIMITS,
            **PROBLEM,
            cv=3,
            **(QUICK if quick else PENALTIES),
            scoring="accuracy",
            selection="best",
        ).fit(X.iloc[some], y[some])
        chosen = {"C": search.C_, "depth_penalty": search.depth_penalty_}
        print(f"{name}: {chosen}, chosen in {choosing}", flush=True)
        model, seconds = fitted(X, y, verbose=verbose, **chosen)
        took = f"{seconds}, {memory()}"
        boosted = baseline("boosting", X, y, quick=quick).score(Z, t)
        rows.append(
            [name.split(".")[0].removesuffix("-train"), f"{len(y):,}", f"{len(t):,}",
             str(len(model.classes_)), f"{search.C_:g}", f"{search.depth_penalty_:g}",
             str(len(model.rules_)), f"{100 * model.score(Z, t):.2f}", f"{100 * boosted:.2f}",
             str(model.hull_size_), f"{100 * model.gap_:.1f} %", took]
        )  # fmt: skip
    head = ["data set", "training rows", "test rows", "classes", "C", "depth penalty", "rules",
            "accuracy", "boosted trees", "held", "gap", "fit"]  # fmt: skip
    show("Accuracy on the test rows in percent; settings are chosen on training rows", head, rows)


def planted(m, p, k, noise=0.05):
    """Return m rows of p propositions; the label is an OR of k conjunctions of two or three."""
    rng = np.random.default_rng(0)
    X = (rng.random((m, p)) < 0.5).astype(np.uint8)
    truth = [tuple(sorted(rng.choice(p, rng.integers(2, 4), replace=False))) for _ in range(k)]
    clean = np.any([X[:, list(w)].all(axis=1) for w in truth], axis=0)
    return X, clean ^ (rng.random(m) < noise)


def growth(quick):
    """Measure the time against the number of rows, propositions and planted rules."""
    m, p = (500, 20) if quick else (2000, 50)
    for place, what in enumerate(("rows", "propositions", "planted rules")):
        rows = []
        for times in (1, 2) if quick else (1, 2, 4, 8):
            size = [m, p, 3]
            size[place] = times if what == "planted rules" else times * size[place]
            model, seconds = fitted(*planted(*size), encoder=None, C=2.0, depth_penalty=2.0)
            rows.append(
                [f"{size[place]:,}", seconds, str(len(model.rules_)), str(model.hull_size_),
                 f"{100 * model.gap_:.1f} %"]
            )  # fmt: skip
        title = f"Planted rules, 5 % noise; {m:,} rows, {p} propositions, 3 rules; varied: {what}"
        show(title, [what, "fit", "rules", "held", "gap"], rows)


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small parts of two tables")
    parser.add_argument("-v", action="store_true", help="print every round on standard error")
    parser.add_argument("only", nargs="*", help="such as adult-train.csv.gz; default: all")
    given = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # gaps are printed
    clock = Clock()
    full_size(given.only or (SETS[:3:2] if given.quick else SETS), given.quick, int(given.v))
    if not given.only:
        growth(given.quick)
    print(f"{clock} in all")


if __name__ == "__main__":
    main()
