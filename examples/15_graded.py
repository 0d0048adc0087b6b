"""Degrees of truth instead of cut points: tables for which they help a formula's kernel
=====================================================================================

In a shell::

    python examples/15_graded.py             # twelve tables with numbers
    python examples/15_graded.py --quick     # one table, two folds, seconds

The study takes five stratified folds of every table.  Three support vector machines have the kernel
of a formula: on propositions (four cut points per number, the default of ``FormulaSVC``), on
degrees from the smallest to the largest training value (``inputs="graded"``, its default), and on
degrees by rank.  Each chooses its formula and C by cross-validation within the training rows, from
the same lists.  A machine with the Gaussian kernel chooses its C and width in the same way.
"""

import argparse
import warnings

import numpy as np
from joblib import Parallel, delayed
from protocol import FOLDER, Clock, baseline, folds, read, show, tuned

import formulakern as fk

FILES = (
    "balance-scale.csv",
    "breast-cancer-wisconsin.csv",
    "cmc.csv",
    "cpu-ordinal.csv",
    "den-bosch-normalised.csv",
    "esl.csv",
    "haberman.csv",
    "lev.csv",
    "mammographic-masses.csv",
    "pima-diabetes.csv",
    "tic-tac-toe.csv",
    "transfusion.csv",
)
QUICK = ("den-bosch-normalised.csv",)
#: One literal, two, and three with a negation.
FORMULAS = ("a", "a & b", "(a & ~b) | c")
GRID = {"formula": FORMULAS, "C": [0.1, 1.0, 10.0, 100.0]}
WAYS = {
    "cut points": {},
    "degrees": {"inputs": "graded"},
    "degrees by rank": {"inputs": "graded", "encoder": fk.PropositionEncoder(graded="rank")},
}


def measured(file, n_folds, quick):
    """Return the accuracy in percent of every encoding on every fold."""
    warnings.filterwarnings("ignore", message="The least populated class")
    X, y = read(file)[0]
    rows = []
    outer = folds(n_folds)
    for train, test in outer.split(y, y):
        grid = {"formula": FORMULAS[:2], "C": [1.0]} if quick else GRID
        models = [
            tuned(fk.FormulaSVC(**parameters), grid, X.iloc[train], y[train])
            for parameters in WAYS.values()
        ]
        models.append(baseline("Gaussian SVM", X.iloc[train], y[train], quick=quick))
        rows.append([100 * np.mean(model.predict(X.iloc[test]) == y[test]) for model in models])
    return np.array(rows)


def main():
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one table, two folds")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    given = parser.parse_args()
    clock = Clock()
    files = [file for file in (QUICK if given.quick else FILES) if (FOLDER / file).exists()]
    if not files:
        print(f"This example reads UCI tables; {FOLDER} does not have them.")
        return
    run = Parallel(given.jobs)
    n_folds = 2 if given.quick else 5
    found = run(delayed(measured)(file, n_folds, given.quick) for file in files)
    head = ["table", *WAYS, "Gaussian SVM"]
    rows = [
        [file.removesuffix(".csv"), *(f"{a:.2f} ± {b:.2f}" for a, b in zip(m, s, strict=True))]
        for file, m, s in (
            (f, r.mean(axis=0), r.std(axis=0)) for f, r in zip(files, found, strict=True)
        )
    ]
    means = np.mean([result.mean(axis=0) for result in found], axis=0)
    rows.append(["mean", *(f"{mean:.2f}" for mean in means)])
    show("Accuracy in percent, mean and standard deviation over the folds", head, rows)
    gains = [result[:, 1].mean() - result[:, 0].mean() for result in found]
    better = sum(gain > 0 for gain in gains)
    print(f"degrees against cut points: better on {better} of {len(files)} tables, {clock} in all")


if __name__ == "__main__":
    main()
