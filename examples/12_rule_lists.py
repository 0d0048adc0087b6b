"""Rule lists, trees, rules of trees, and the library's other learners on 30 tables
================================================================================

In a shell::

    python examples/12_rule_lists.py             # all: hours on two cores with --jobs 2
    python examples/12_rule_lists.py --quick     # four small tables, three folds, seconds

The study takes ten stratified folds of every classification table with up to 32,561 rows.  Every
method has its defaults and the same folds.  "optimal" are lists of at most three rules of two
conditions; they stop after ten seconds (the mean gap is printed), and so do PRL and HKL.  RIPPER of
the package wittgenstein, and RuleFit and boosted rules of imodels, run if they are installed and
there are two classes.  Seconds are CPU seconds per fit.
"""

import argparse
import csv
import sys
import time
import warnings
from functools import cache, partial
from importlib.util import find_spec

import numpy as np
from joblib import Parallel, delayed
from protocol import BASELINES, FOLDER, OUTPUT, SETS, Clock, present, read, show, spread, whole
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

import formulakern as fk

QUICK = ("tic-tac-toe", "house-votes-84", "breast-cancer-wisconsin", "balance-scale")


def rule_list(learner, X, y, **parameters):
    """Fit a rule list; return it with its rules, conditions and gap."""
    model = fk.RuleListClassifier(learner, random_state=0, **parameters).fit(X, y)
    return model.predict, len(model.rules_), model.rules_.n_conditions, getattr(model, "gap_", 0.0)


def tree(X, y):
    """Fit a tree of scikit-learn; a leaf is a rule, and its path is the conditions."""
    model = BASELINES["tree"]()[0].fit(X, y)
    fitted = model[-1].tree_
    leaves = np.flatnonzero(fitted.children_left < 0)
    depth = np.zeros(fitted.node_count)
    for node in range(fitted.node_count):
        for child in (fitted.children_left[node], fitted.children_right[node]):
            if child >= 0:
                depth[child] = depth[node] + 1
    return model.predict, len(leaves), depth[leaves].sum(), 0.0


def tree_rules(X, y):
    """Fit a tree over propositions and make rules of it, as C4.5 does."""
    from sklearn.pipeline import make_pipeline
    from sklearn.tree import DecisionTreeClassifier

    encoder = fk.PropositionEncoder(cut_points=16)
    model = make_pipeline(encoder, DecisionTreeClassifier(random_state=0)).fit(X, y)
    rules = fk.rules_from_tree(model, X, y)
    return rules.predict, len(rules), rules.n_conditions, 0.0


def votes(kind, X, y):
    """Fit one of the learners of weighted votes."""
    model = kind(time_limit=10).fit(X, y)
    rules = model.rules_
    return model.predict, len(rules), rules.n_conditions, getattr(model, "gap_", 0.0)


def wittgenstein(X, y):
    """Fit RIPPER of another package: two classes, and rules for the rarer class."""
    import wittgenstein

    def plain(X):
        named = [c for c in X if X[c].dtype == "category"]
        X = X.astype(dict.fromkeys(named, object))
        X[named] = X[named].fillna("missing")
        return X

    classes, counts = np.unique(y, return_counts=True)
    model = wittgenstein.RIPPER(random_state=0)
    model.fit(plain(X), y == classes[counts.argmin()])
    rules = model.ruleset_.rules
    other = classes[counts.argmax()]

    def predict(Z):
        return np.where(model.predict(plain(Z)), classes[counts.argmin()], other)

    return predict, len(rules), sum(len(rule.conds) for rule in rules), 0.0


def of_imodels(name, X, y):
    """Fit RuleFit or boosted rules of another package; missing numbers are filled.

    A boosted rule is a decision stump: one condition.
    """
    import imodels
    from sklearn.pipeline import make_pipeline

    classes = np.unique(y)
    model = make_pipeline(spread(scaled=True), getattr(imodels, name)(random_state=0))
    model.fit(X, (y == classes[1]).astype(int))
    learned = model[-1]
    stumps = name == "BoostedRulesClassifier"
    rules = [str(rule) for rule in (learned.estimators_ if stumps else learned.rules_)]
    conditions = len(rules) if stumps else sum(1 + rule.count(" and ") for rule in rules)
    return lambda Z: classes[np.asarray(model.predict(Z), dtype=int)], len(rules), conditions, 0.0


METHODS = {
    "RIPPER": partial(rule_list, "ripper"),
    "IREP": partial(rule_list, "irep"),
    "CN2": partial(rule_list, "cn2"),
    "CN2 unordered": partial(rule_list, "cn2-unordered"),
    "1R": partial(rule_list, "oner"),
    "optimal": partial(rule_list, "optimal", time_limit=10),
    "tree": tree,
    "rules of a tree": tree_rules,
    "PRL": partial(votes, fk.PRLClassifier),
    "HKL": partial(votes, fk.HKLClassifier),
    "wittgenstein": wittgenstein,
    "RuleFit": partial(of_imodels, "RuleFitClassifier"),
    "boosted rules": partial(of_imodels, "BoostedRulesClassifier"),
}
#: Methods of other packages; they run if these are installed and there are two classes.
PACKAGES = {"wittgenstein": "wittgenstein", "RuleFit": "imodels", "boosted rules": "imodels"}


def there(method):
    """Return True if a method can run on this table."""
    return method not in PACKAGES or find_spec(PACKAGES[method]) is not None


@cache
def compiled(method):
    """Fit a small table once in every process, so that no measured time includes compilation."""
    X, y = read("balance-scale.csv")[0]
    some = np.flatnonzero(y != "B")[::5]
    METHODS[method](X.iloc[some], y[some])


def measured(name, method, folds):
    """Return mean accuracy, rules, conditions, CPU seconds and gap of a method on a table."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.filterwarnings("ignore", category=UserWarning)
    warnings.filterwarnings("ignore", category=FutureWarning)  # of other packages
    X, y = whole(name)
    if method in PACKAGES and len(np.unique(y)) != 2:
        return None
    compiled(method)
    rows = []
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=0).split(y, y):
        begin = time.process_time()
        try:
            predict, *numbers = METHODS[method](X.iloc[train], y[train])
        except fk.ParameterError as error:
            print(f"{method} failed on {name}: {error}", file=sys.stderr)
            return None
        taken = time.process_time() - begin
        rows.append([100 * np.mean(predict(X.iloc[test]) == y[test]), *numbers, taken])
    return np.mean(rows, axis=0)


def main():
    """Measure, and print two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="four tables, three folds")
    parser.add_argument("--sets", nargs="+", choices=SETS, metavar="SET", help="these tables only")
    parser.add_argument("--methods", nargs="+", choices=METHODS, metavar="METHOD")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    given = parser.parse_args()
    clock = Clock()
    names = given.sets or present(
        QUICK if given.quick else [name for name in SETS if name != "connect-4"]
    )
    quick = ("RIPPER", "CN2", "1R", "tree", "rules of a tree") if given.quick else METHODS
    methods = [method for method in given.methods or quick if there(method)]
    if not names:
        print(f"This example reads UCI tables; {FOLDER} does not have them.")
        return
    tasks = [(name, method) for name in names for method in methods]
    run = Parallel(given.jobs, return_as="generator")
    found = {}
    folds = 3 if given.quick else 10
    OUTPUT.mkdir(exist_ok=True)
    with (OUTPUT / "rule_lists.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["table", "method", "accuracy", "rules", "conditions", "gap", "seconds"])
        results = run(delayed(measured)(name, method, folds) for name, method in tasks)
        for task, result in zip(tasks, results, strict=True):
            found[task] = result
            if result is not None:
                writer.writerow([*task, *(f"{number:.6g}" for number in result)])
                file.flush()
    tables(found, names, methods)
    print(f"{clock} in all")


def tables(found, names, methods):
    """Print the accuracy, then rules, conditions and seconds."""

    def cells(name, text):
        return ["" if found[name, m] is None else text(found[name, m]) for m in methods]

    def means(column):
        listed = [[found[name, m] for name in names] for m in methods]
        whole = [all(one is not None for one in some) for some in listed]
        return [
            f"{np.mean([one[column] for one in some]):.2f}" if full else ""
            for some, full in zip(listed, whole, strict=True)
        ]

    rows = [[name, *cells(name, lambda r: f"{r[0]:.2f}")] for name in names]
    show("Accuracy in percent", ["table", *methods], [*rows, ["mean", *means(0)]])
    rows = [
        [name, *cells(name, lambda r: f"{r[1]:.1f} / {r[2]:.1f} / {r[4]:.2g} s")] for name in names
    ]
    show("Rules / conditions / CPU seconds of a fit", ["table", *methods], rows)
    for method in methods:
        both = [n for n in names if found[n, method] is not None and (n, "RIPPER") in found]
        if method == "RIPPER" or not both:
            continue
        theirs, ours = (np.array([found[n, m] for n in both]) for m in (method, "RIPPER"))
        share = ours[:, 4] / theirs[:, 4]
        least, most = share.min(), share.max()
        print(
            f"{method} on {len(both)} tables: {theirs[:, 0].mean():.2f} with "
            f"{theirs[:, 1].mean():.0f} rules; RIPPER {ours[:, 0].mean():.2f} with "
            f"{ours[:, 1].mean():.0f}, in {least:.2g} to {most:.2g} of the time"
        )
    ran = [name for name in names if found.get((name, "optimal")) is not None]
    gaps = {name: found[name, "optimal"][3] for name in ran}
    unproven = [f"{name} {gap:.4f}" for name, gap in gaps.items() if gap > 1e-9]
    if gaps:
        print(f"optimal, not proven in every fold, mean gap: {', '.join(unproven) or '-'}")


if __name__ == "__main__":
    main()
