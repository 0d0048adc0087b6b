"""Kernels of strings on DNA: promoters, splice junctions, and the k-mers of a model by position
=============================================================================================

There are ten folds.  Within the training rows of each, the accuracy on some of them chooses the
kernel's parameters and C (a quarter of the rows of the splice junctions, five such quarters of the
106 promoters); the model is then fitted to all training rows.  Kernels of strings are compared
with the Propositional kernel, logistic regression and a random forest, which use one column per
position and letter.  Needs promoters-sequences.csv and splice-sequences.csv; --quick takes two
folds, and 300 of the splice junctions.
"""

import sys
import warnings

import numpy as np
from protocol import OUTPUT, Clock, path_of, plotting, show
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import formulakern as fk

QUICK = "--quick" in sys.argv[1:]
CS = (1.0, 10.0)


def read(name):
    """Return sequences in capital letters, and their classes."""
    data = fk.datasets.read_table(path_of(name))
    sequences = np.array([text.upper() for text in data.data["sequence"]])
    return sequences, np.asarray(data.target)


def string_kernels(letters):
    """Return name → candidate kernels."""
    strings = fk.strings
    few = {
        "weighted degree": [strings.weighted_degree(d) for d in (5, 20)],
        "with shifts": [strings.weighted_degree_shifts(d, S) for d, S in ((5, 3), (20, 5))],
        "spectrum": [strings.spectrum(k) for k in (3, 4, 6)],
        "mismatch": [strings.mismatch(k, 1, letters) for k in (4, 5, 6)],
    }
    return {name: kernels[:1] for name, kernels in few.items()} if QUICK else few


def candidates(sequences):
    """Return name → candidate models, each with its table or Gram matrix."""
    one_hot = OneHotEncoder(sparse_output=False).fit_transform(np.array([[*s] for s in sequences]))
    letters = "".join(sorted(set("".join(sequences))))
    listed = string_kernels(letters)
    listed["a & b"] = [fk.kernel(text) for text in ("a & b", "a & b & c")[: 1 if QUICK else 2]]
    found = {}
    for name, kernels in listed.items():
        grams = [k.normalized()(one_hot if name == "a & b" else sequences) for k in kernels]
        found[name] = [(SVC(kernel="precomputed", C=C), gram) for gram in grams for C in CS]
    found["logistic"] = [(LogisticRegression(C=C, max_iter=300), one_hot) for C in (0.1, 1, 10)]
    found["forest"] = [
        (
            RandomForestClassifier(20 if QUICK else 200, min_samples_leaf=leaf, random_state=0),
            one_hot,
        )
        for leaf in (1, 3)[: 1 if QUICK else 2]
    ]
    return found


def accuracy(model, X, y, train, test):
    """Return the accuracy on other rows of a model fitted to some rows."""
    square = isinstance(model, SVC)
    model.fit(X[np.ix_(train, train)] if square else X[train], y[train])
    return accuracy_score(y[test], model.predict(X[np.ix_(test, train)] if square else X[test]))


def measured(choices, y, n_splits):
    """Return the accuracy in every fold, with settings chosen on its training rows."""
    folds = StratifiedKFold(2 if QUICK else 10, shuffle=True, random_state=0)
    inner = StratifiedShuffleSplit(n_splits, test_size=0.25, random_state=0)
    found = []
    for train, test in folds.split(y, y):
        parts = [(train[a], train[b]) for a, b in inner.split(train, y[train])]
        means = [np.mean([accuracy(*choice, y, *part) for part in parts]) for choice in choices]
        found.append(100 * accuracy(*choices[int(np.argmax(means))], y, train, test))
    return np.array(found)


def main():
    """Measure, print and draw."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    clock, columns, tables = Clock(), {}, ("promoters", "splice")
    with threadpool_limits(1):
        for name in tables:
            sequences, y = read(f"{name}-sequences.csv")
            if QUICK and name == "splice":
                some = np.random.default_rng(0).permutation(len(y))[:300]
                sequences, y = sequences[some], y[some]
            choices = candidates(sequences)
            columns[name] = {
                method: measured(models, y, 5 if name == "promoters" and not QUICK else 1)
                for method, models in choices.items()
            }
    rows = [
        [
            method,
            *(f"{columns[n][method].mean():.2f} ± {columns[n][method].std():.2f}" for n in tables),
        ]
        for method in columns[tables[0]]
    ]
    show("Accuracy in percent, and its deviation over folds", ["method", *tables], rows)

    junctions = np.where(y == "EI", "EI", "other")
    model = fk.StringSVC("weighted_degree(8)", C="cv", cv=3).fit(sequences, junctions)
    print(f"Splice junctions, EI (the intron begins at position 30) or not; C = {model.C_:g}.")
    print("The heaviest k-mers, by position:\n")
    print(model.position_weights(top=10))
    print(f"\n{clock} in all")
    if plotting() is not None:
        axes = model.plot_positions()
        axes.axvline(29.5, color="0.5", linewidth=0.8, linestyle=":")
        axes.set_title("Splice junctions, EI or not: largest weight of a k-mer at each position")
        OUTPUT.mkdir(exist_ok=True)
        axes.figure.savefig(OUTPUT / "14_sequences.png", dpi=130)
        print(f"Saved {OUTPUT / '14_sequences.png'}")


if __name__ == "__main__":
    main()
