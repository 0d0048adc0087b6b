"""Tables 1 and 2 of Jawanpuria, Nath & Ramakrishnan (ICML 2011): small rule ensembles on ten sets.

    python examples/11_hkl_tables.py             # all, some half an hour on two cores
    python examples/11_hkl_tables.py --quick     # three sets, two splits, rho = 1.1: half a minute

The two most populated classes of each set; five stratified splits, 10 % of the rows train (monks-3:
its own two files); C from 0.001 to 1000 by three folds; x = v, x != v, and x <= c, x >= c at four
cut points.  F1 is the macro average.  Published numbers (for rho = 1.1) stand beside ours; their
splits, and their d_v ("increased exponentially"), are not known; ours is 2^|v|.

"chosen" are our own settings: see CHOSEN below.  Trees are fitted to numbers and one-hot columns
of the same splits, logistic regression to the propositions.
"""

import argparse
import warnings
from time import perf_counter

import numpy as np
from data import path_of
from joblib import Parallel, delayed
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import formulakern as fk
from formulakern.text import markdown

#: name → published F1, rules, length
PUBLISHED = {
    "tic-tac-toe": (0.935, 79, 1.77),
    "balance-scale": (0.899, 28, 1.23),
    "haberman": (0.594, 12, 1.20),
    "car": (0.935, 50, 1.68),
    "transfusion": (0.593, 7, 1.40),
    "cmc": (0.659, 43, 1.70),
    "monks-3": (0.972, 2, 1.00),
    "house-votes-84": (0.969, 3, 1.00),
    "breast-cancer-ljubljana": (0.515, 14, 1.00),
    "mammographic-masses": (0.815, 5, 1.18),
}
QUICK = ("balance-scale", "monks-3", "house-votes-84")
GRID = [10.0**k for k in range(-3, 4)]
#: The gap that a solution must reach, and the conjunctions it may hold; for rho > 1.1 and a large C
#: some sets need thousands, so that the gap of what was chosen is printed.
LIMITS = {"tol": 1e-2, "max_active": 1000}
PAPER = {
    "rho = 1.1": {"rho": 1.1, "Cs": GRID, "selection": "best"},
    "rho = 1.5": {"rho": 1.5, "Cs": GRID, "selection": "best", "max_active": 400},
    "rho = 2.0": {"rho": 2.0, "Cs": GRID, "selection": "best", "max_active": 400},
}
#: Settings that were chosen on other splits than those reported: the protocol with seed 100, where
#: they had 0.799 with 14 rules on average.  Hinge: 0.781 to 0.789; squared hinge and balanced
#: classes: 0.798; logistic and C up to 1000: 0.774; the same, balanced: 0.781.
CHOSEN = {
    "rho": 1.1,
    "loss": "logistic",
    "class_weight": "balanced",
    "Cs": [10.0**k for k in range(-1, 6)],
    "depth_penalties": (2.0, 4.0),
    "cv": RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
}
OURS = {
    "chosen": CHOSEN | {"selection": "best"},
    "chosen, one standard error": CHOSEN | {"selection": "one-standard-error"},
}


def encoding():
    """Numbers scaled and everything else one-hot."""
    return make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
         make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    )  # fmt: skip


def logistic():
    """Logistic regression on the propositions x = v and x <= c, C by three folds."""
    grid = GridSearchCV(LogisticRegression(max_iter=3000), {"C": GRID}, cv=3, scoring="f1_macro")
    return make_pipeline(fk.PropositionEncoder(numeric="<="), grid)


BASELINES = {
    "tree": lambda: make_pipeline(encoding(), DecisionTreeClassifier(random_state=0)),
    "forest": lambda: make_pipeline(encoding(), RandomForestClassifier(300, random_state=0)),
    "boosting": lambda: make_pipeline(encoding(), GradientBoostingClassifier(random_state=0)),
    "logistic": logistic,
}


def splits(name, number):
    """Training table and classes, test table and classes, so many times."""
    if name == "monks-3":
        parts = [
            fk.datasets.read_table(path_of(f"monks-3-{part}.csv")) for part in ("train", "test")
        ]
        yield parts[0].data, parts[0].target, parts[1].data, parts[1].target
        return
    dataset = fk.datasets.read_table(path_of(f"{name}.csv"))
    y = np.asarray(dataset.target)
    classes, counts = np.unique(y, return_counts=True)
    rows = np.flatnonzero(np.isin(y, classes[np.argsort(-counts, kind="stable")[:2]]))
    X, y = dataset.data[rows], y[rows]
    for train, test in StratifiedShuffleSplit(number, train_size=0.1, random_state=0).split(y, y):
        yield X[train], y[train], X[test], y[test]


def measure(model, X, y, Z, t):
    """F1, error, rules, their mean length, gap, seconds of one model on one split."""
    begin = perf_counter()
    model.fit(X, y)
    seconds = perf_counter() - begin
    predicted = model.predict(Z)
    lengths = [len(item.rule.formula.leaves) for item in getattr(model, "rules_", ())]
    best = getattr(model, "best_estimator_", None)
    return (
        f1_score(t, predicted, average="macro"), 1 - accuracy_score(t, predicted), len(lengths),
        np.mean(lengths) if lengths else np.nan, best.gap_ if best is not None else 0.0, seconds,
    )  # fmt: skip


def study(name, learners, number):
    """Learner → means over the splits of one data set; and of the baselines."""
    found = {label: [] for label in [*learners, *BASELINES]}
    for X, y, Z, t in splits(name, number):
        for label, options in learners.items():
            found[label].append(measure(fk.HKLClassifierCV(**LIMITS | options), X, y, Z, t))
        A, B = X.to_pandas(), Z.to_pandas()
        for label, make in BASELINES.items():
            found[label].append(measure(make(), A, y, B, t))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Mean of empty slice")
        mean = {label: np.nanmean(rows, axis=0) for label, rows in found.items()}
    return name, mean, {label: np.std([row[0] for row in rows]) for label, rows in found.items()}


def quietly(*arguments):
    """A study whose gaps are printed in the end, not warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return study(*arguments)


def single_fits(names):
    """The seconds of each fit at a fixed C, on the first split, and the widest gap."""
    rows = []
    for name in names:
        X, y, _, _ = next(splits(name, 1))
        row = [name, f"{len(y):,}"]
        for options in PAPER.values():
            times, gaps = [], []
            for C in options["Cs"]:
                limits = {k: v for k, v in (LIMITS | options).items() if k in ("tol", "max_active")}
                begin = perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    model = fk.HKLClassifier(options["rho"], C, **limits).fit(X, y)
                times.append(perf_counter() - begin)
                gaps.append(model.gap_)
            row += [f"{np.median(times):.2f}", f"{max(times):.2f}", f"{max(gaps):.1%}"]
        rows.append(row)
    head = ["data set", "rows"]
    head += [f"{what}, {label}" for label in PAPER for what in ("median s", "largest s", "gap")]
    print(f"Single fits, C = 0.001 to 1000\n\n{markdown(head, rows)}\n")


def report(label, results, spread):
    """One learner beside the published numbers of rho = 1.1."""
    rows = []
    for name, found in results.items():
        f1, error, rules, length, gap, seconds = found[label]
        published = PUBLISHED[name]
        rows.append(
            [name, f"{f1:.3f} ± {spread[name][label]:.3f}", f"{published[0]:.3f}", f"{error:.3f}",
             f"{rules:.1f}", str(published[1]), f"{length:.2f}", f"{published[2]:.2f}",
             f"{gap:.1%}", f"{seconds:.1f}"]
        )  # fmt: skip
    mean = np.mean([found[label] for found in results.values()], axis=0)
    theirs = np.mean([PUBLISHED[name] for name in results], axis=0)
    rows.append(
        ["mean", f"{mean[0]:.3f}", f"{theirs[0]:.3f}", f"{mean[1]:.3f}", f"{mean[2]:.1f}",
         f"{theirs[1]:.1f}", f"{mean[3]:.2f}", f"{theirs[2]:.2f}", f"{mean[4]:.1%}",
         f"{mean[5]:.1f}"]
    )  # fmt: skip
    head = [
        "data set",
        "F1",
        "(publ.)",
        "error",
        "rules",
        "(publ.)",
        "length",
        "(publ.)",
        "gap",
        "s",
    ]
    print(f"{label}\n\n{markdown(head, rows)}\n")


def main():
    """Measure, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three sets, two splits, rho = 1.1")
    parser.add_argument(
        "--sets", nargs="+", choices=PUBLISHED, metavar="SET", help="these sets only"
    )
    parser.add_argument("--fits", action="store_true", help="time each fit instead")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    given = parser.parse_args()
    begin = perf_counter()
    names = given.sets or (QUICK if given.quick else list(PUBLISHED))
    if given.fits:
        single_fits(names)
        return
    learners = {"rho = 1.1": PAPER["rho = 1.1"]} if given.quick else PAPER | OURS
    results, spread = {}, {}
    tasks = (delayed(quietly)(name, learners, 2 if given.quick else 5) for name in names)
    workers = Parallel(n_jobs=given.jobs, return_as="generator_unordered")
    for name, mean, deviation in workers(tasks):
        results[name], spread[name] = mean, deviation
        if not given.quick:
            shown = ", ".join(f"{k}: {mean[k][0]:.3f} ({mean[k][2]:.0f})" for k in learners)
            print(f"{perf_counter() - begin:6.0f} s  {name}  F1 (rules)  {shown}", flush=True)
    results = {name: results[name] for name in names}
    print()
    for label in learners:
        report(label, results, spread)
    rows = [
        [name, *(f"{found[label][0]:.3f}" for label in [*learners, *BASELINES])]
        for name, found in results.items()
    ]
    every = [*learners, *BASELINES]
    means = np.mean([[found[label][0] for label in every] for found in results.values()], axis=0)
    rows.append(["mean", *(f"{value:.3f}" for value in means)])
    print(f"F1, same splits\n\n{markdown(['data set', *every], rows)}\n")
    print(f"{perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
