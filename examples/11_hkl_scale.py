"""Hierarchical kernel learning on full-size tables, and how its time grows.

    python examples/11_hkl_scale.py             # three minutes
    python examples/11_hkl_scale.py --quick     # small parts of three tables, seconds

Every fit is proven optimal to a gap of 1 %, or the gap that was reached in the time limit is shown.
"hull" counts the conjunctions that were held at the end, "rules" those with weight.  With -v every
round is told on standard error.
"""

import argparse
import resource
import sys
import warnings
from time import perf_counter

import numpy as np
from data import path_of
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OrdinalEncoder
from threadpoolctl import threadpool_limits

import formulakern as fk
from formulakern.text import markdown

#: file → training rows, parameters
SETS = {
    "tic-tac-toe.csv": (862, {"C": 1000.0, "depth_penalty": 4.0}),
    "car.csv": (1555, {"C": 100.0}),
    "mushroom.csv": (7312, {"C": 10.0, "depth_penalty": 4.0}),
    "nursery.csv.gz": (11664, {"C": 10.0}),
    "adult-train.csv.gz": (32561, {"C": 1.0, "depth_penalty": 4.0}),
}
LIMIT = 300.0


def halves(name, rows):
    """Training table, classes, test table, classes."""
    dataset = fk.datasets.read_table(path_of(name))
    X, y = dataset.data, np.asarray(dataset.target)
    if name.startswith("adult"):
        other = fk.datasets.read_table(path_of("adult-test.csv.gz"))
        train = np.random.default_rng(0).permutation(len(y))[:rows]
        return X[train], y[train], other.data, np.asarray(other.target)
    train, test = train_test_split(np.arange(len(y)), train_size=rows, random_state=0)
    return X[train], y[train], X[test], y[test]


def fitted(X, y, verbose, **parameters):
    """The classifier and the seconds that it took."""
    begin = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the gap is printed
        model = fk.HKLClassifier(tol=0.01, time_limit=LIMIT, verbose=verbose, **parameters).fit(
            X, y
        )
    return model, perf_counter() - begin


def boosted(X, y, Z, t):
    """Accuracy of gradient boosting on the same rows."""
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    A = encoder.fit_transform(X.to_pandas().astype(str))
    B = encoder.transform(Z.to_pandas().astype(str))
    with threadpool_limits(1):  # threads that wait for each other take minutes on a busy machine
        model = HistGradientBoostingClassifier(random_state=0).fit(A, y)
        return model.score(B, t)


def full_size(names, share, verbose):
    """Each table once."""
    lines = []
    for name in names:
        rows, parameters = SETS[name]
        X, y, Z, t = halves(name, int(rows * share))
        model, seconds = fitted(X, y, verbose, **parameters)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        if sys.platform == "darwin":
            memory /= 2**10
        ratio = f"{model.hull_size_ / max(1, model.n_weights_):.1f}"
        lines.append(
            [name.split(".")[0], f"{len(y):,}", str(len(model._kept)), str(len(model.classes_)),
             f"{parameters['C']:g}", f"{model.depth_penalty:g}", f"{100 * model.score(Z, t):.2f}",
             f"{100 * boosted(X, y, Z, t):.2f}", str(len(model.rules_)), str(model.hull_size_),
             ratio, f"{model.gap_:.2%}", f"{seconds:.1f}", f"{memory:.1f}"]
        )  # fmt: skip
        print(f"{name}: done in {seconds:.1f} s", flush=True)
    head = ["data set", "rows", "propositions", "classes", "C", "a", "accuracy", "boosting",
            "rules", "hull", "ratio", "gap", "s", "GiB at most"]  # fmt: skip
    print(f"\n{markdown(head, lines)}\n")


def planted(m, p, k, seed, noise=0.05):
    """m rows of p propositions; the label is an OR of k random conjunctions of two or three."""
    rng = np.random.default_rng(seed)
    X = (rng.random((m, p)) < 0.5).astype(np.uint8)
    truth = [tuple(sorted(rng.choice(p, rng.integers(2, 4), replace=False))) for _ in range(k)]
    clean = np.any([X[:, list(w)].all(axis=1) for w in truth], axis=0)
    return X, clean ^ (rng.random(m) < noise), truth, clean


def growth(title, values, make, verbose):
    """Time against one number."""
    lines = []
    for value in values:
        X, y, parameters = make(value)
        model, seconds = fitted(X, y, verbose, encoder=None, **parameters)
        lines.append(
            [f"{value:,}", f"{seconds:.2f}", str(len(model.rules_)), str(model.hull_size_),
             f"{model.gap_:.2%}"]
        )  # fmt: skip
    print(f"{markdown([title, 's', 'rules', 'hull', 'gap'], lines)}\n", flush=True)


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small parts of three tables")
    parser.add_argument("-v", action="store_true", help="every round on standard error")
    parser.add_argument("only", nargs="*", help="such as adult-train.csv.gz; all by default")
    given = parser.parse_args()
    begin = perf_counter()
    verbose = int(given.v)
    names = given.only or list(SETS)[: 3 if given.quick else None]
    full_size(names, 0.25 if given.quick else 1.0, verbose)
    if not given.only:
        m, p = (500, 20) if given.quick else (2000, 50)
        times = (1, 2) if given.quick else (1, 2, 4, 8)
        options = {"C": 2.0}
        print(f"Planted rules, 5 % noise; {m:,} rows, {p} propositions, 3 rules, else as said\n")

        def rows(value):
            return (*planted(value, p, 3, 0)[:2], options)

        def propositions(value):
            return (*planted(m, value, 3, 0)[:2], options)

        def rules(value):
            return (*planted(m, p, value, 0)[:2], options)

        growth("rows", [m * k for k in times], rows, verbose)
        growth("propositions", [p * k for k in times], propositions, verbose)
        growth("planted rules", list(times), rules, verbose)
    print(f"{perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
