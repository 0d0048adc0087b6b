"""Explicit features of a formula's kernel: linear models on all rows of adult
===========================================================================

In a shell::

    python examples/19_formula_features.py            # three minutes
    python examples/19_formula_features.py --quick    # 1,000 rows, seconds

(a) Models on all 32,561 training rows, tested on the 16,281 held-out rows.  ``FormulaFeatures``
makes all features of "a & b", or a sample of them, for a linear model, which is the kernel machine
of the same kernel.  The study compares ``FormulaSVC`` on a sample of the rows, and Nystroem's
features: sampled rows as landmarks, K between all rows and these, whitened.  Seconds are those of
fitting, features included (the table is encoded once for all).  C is always 1.

(b) The distance of products of sampled features from the cosines of the kernel: root mean square
over pairs of training rows (a sample of these), next to the stated bound and Nystroem's distance.

(c) The heaviest features of one linear model, as rules.
"""

import argparse
import warnings
from time import perf_counter, process_time

import numpy as np
from protocol import Clock, read, show
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import formulakern as fk


class Nystroem(TransformerMixin, BaseEstimator):
    """Nystroem features, whose products approximate the kernel; scikit-learn's, with K whole."""

    def __init__(self, kernel, n_components=100):
        self.kernel = kernel
        self.n_components = n_components

    def fit(self, X, y=None):  # noqa: ARG002
        rows = np.random.default_rng(0).permutation(len(X))[: self.n_components]
        self.landmarks_ = X[rows]
        values, vectors = np.linalg.eigh(self.kernel(self.landmarks_))
        self.whitening_ = vectors / np.sqrt(np.maximum(values, 1e-12))
        return self

    def transform(self, X):
        return self.kernel(X, self.landmarks_) @ self.whitening_


def features(formula, number, reading="bound"):
    return fk.FormulaFeatures(formula, number, reading, encoder=None)


def linear():
    return LinearSVC(C=1.0, tol=1e-3, random_state=0)


def logistic():
    return LogisticRegression(C=1.0, max_iter=300)


def descent(rows):
    """Return SGD with enough steps for some passes over the rows, and the penalty of C = 1."""
    return SGDClassifier(alpha=1.0 / rows, random_state=0, average=True)


def compared(X, y, Z, t, few, many, sample):
    """Yield rows of the table of models: number of features, seconds, accuracy."""
    pair, triple = fk.kernel("a & b").normalized(), fk.kernel("a & b & c").normalized()
    chosen = np.random.default_rng(0).permutation(len(y))[:sample]
    every = np.arange(len(y))
    models = {
        "a & b, all features, LinearSVC": (features("a & b", None), linear(), every),
        "a & b, all features, logistic": (features("a & b", None), logistic(), every),
        "a & b, all features, SGD": (features("a & b", None), descent(len(y)), every),
        f"a & b, {few:,} features, LinearSVC": (features("a & b", few), linear(), every),
        f"a & b & c, {few:,} features, LinearSVC": (features("a & b & c", few), linear(), every),
        f"a & b & c, {many:,} features, LinearSVC": (features("a & b & c", many), linear(), every),
        f"a & b, Nystroem {few:,}, LinearSVC": (Nystroem(pair, few), linear(), every),
        f"a & b & c, Nystroem {few:,}, LinearSVC": (Nystroem(triple, few), linear(), every),
        f"a & b, FormulaSVC, {sample:,} rows": (
            "passthrough", fk.FormulaSVC("a & b", C=1.0, encoder=None), chosen,
        ),
    }  # fmt: skip
    for name, (first, last, rows) in models.items():
        model = make_pipeline(first, last)
        wall, cpu = perf_counter(), process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X[rows], y[rows])
        wall, cpu = perf_counter() - wall, process_time() - cpu
        number = f"{first.transform(X[:1]).shape[1]:,}" if first != "passthrough" else ""
        score = model.score(Z, t)
        yield [name, number, f"{wall:.1f}", f"{cpu:.1f}", f"{100 * score:.2f}"]


def errors(X, formula, numbers):
    """Yield rows of the table of errors: of samples, their bound, and Nystroem's features."""
    kernel = fk.kernel(formula).normalized()
    some = X[np.random.default_rng(1).permutation(len(X))[:1000]]
    K = kernel(some)
    for number in numbers:
        model = features(formula, number).fit(X)
        sampled = model.transform(some)
        landmarks = Nystroem(kernel, number).fit(X).transform(some)
        both = (sampled @ sampled.T).toarray(), landmarks @ landmarks.T
        ours, theirs = (np.sqrt(np.mean((products - K) ** 2)) for products in both)
        bound = model.error_bound(0.05)
        yield [formula, f"{number:,}", f"{ours:.4f}", f"{bound:.4f}", f"{theirs:.4f}"]


def main():
    """Fit, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1,000 rows")
    given = parser.parse_args()
    clock = Clock()
    (X, y), (Z, t) = read("adult-train.csv.gz", "adult-test.csv.gz")
    if given.quick:
        X, y, Z, t = X[:1000], y[:1000], Z[:1000], t[:1000]
    encoder = fk.PropositionEncoder().fit(X)
    names = encoder.get_feature_names_out()
    X, Z = encoder.transform(X), encoder.transform(Z)
    print(f"{len(X):,} training rows, {len(Z):,} test rows, {len(names)} propositions\n")

    few, many, sample = (200, 1000, 500) if given.quick else (1000, 5000, 5000)
    head = ["model", "features", "seconds", "CPU seconds", "accuracy"]
    show("(a) fitting, and test rows", head, compared(X, y, Z, t, few, many, sample))

    numbers = (100, 400) if given.quick else (100, 300, 1000, 3000)
    head = ["kernel", "features", "sample", "bound, 95 %", "Nystroem"]
    rows = [row for text in ("a & b", "a & b & c & d & e & f") for row in errors(X, text, numbers)]
    show("(b) distance from the cosines", head, rows)

    model = fk.FormulaFeatures("a & b", None, normalize=False, encoder=None).fit(X)
    weights = LinearSVC(C=0.01, penalty="l1", dual=False, random_state=0)
    weights.fit(model.transform(X), y)
    order = np.argsort(-np.abs(weights.coef_[0] * np.sqrt(model.weights_)))[:8]
    said = model.get_feature_names_out(names)
    rows = [[f"{weights.coef_[0][f] * np.sqrt(model.weights_[f]):+.2f}", said[f]] for f in order]
    show(f"(c) rules for {weights.classes_[1]}", ["weight", "rule"], rows)
    print(f"{clock} in all")


if __name__ == "__main__":
    main()
