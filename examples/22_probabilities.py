"""Probabilities of calibrated margins, of raw margins, and of logistic regression
===============================================================================

In a shell::

    python examples/22_probabilities.py              # five tables, three splits: three minutes
    python examples/22_probabilities.py --splits 10  # more of them
    python examples/22_probabilities.py --quick      # one split of one table, seconds

Half of the rows, at most 500, are for training, and the others for testing.  The log loss is the
mean of −ln p of the right class, and the Brier score the mean of Σ_k (p_k − [k is right])²; less is
better.

"raw" does not calibrate: the logistic function (softmax for several classes) maps decisions to
probabilities.  "calibrated" is scikit-learn's ``CalibratedClassifierCV(model, ensemble=False)``,
which fits the logistic function to decisions on held-out rows, in five folds within the training
rows, and the model to all of them.  HKLClassifier learns with the hinge loss, which has no
probabilities, and with the logistic loss, which has.  Logistic regression gets the same
propositions, and cross-validation chooses its C.
"""

import argparse
import warnings

import numpy as np
from protocol import read, show, split
from scipy.special import expit, softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import formulakern as fk

TABLES = ("pima-diabetes.csv", "cmc.csv", "car.csv", "mammographic-masses.csv", "soybean.csv")
#: Smaller probabilities are set to this value.
LEAST = 1e-6
#: The largest number of training rows.
ROWS = 500


def learners(tol=0.05):
    """Return (name, estimator, whether there are raw decisions to compare with)."""
    hinge = {"loss": "hinge", "C": 100, "tol": tol}
    logistic = make_pipeline(
        fk.PropositionEncoder(),
        GridSearchCV(
            LogisticRegression(max_iter=2000),
            {"C": [0.03, 0.1, 0.3, 1, 3]},
            cv=3,
            scoring="neg_log_loss",
        ),
    )
    return [
        ("FormulaSVC", fk.FormulaSVC("a & b", C=1), True),
        ("PRLClassifier", fk.PRLClassifier(), True),
        ("HKLClassifier, hinge", fk.HKLClassifier(**hinge), True),
        ("HKLClassifier, logistic", fk.HKLClassifier(tol=tol), False),
        ("logistic regression", logistic, False),
    ]


def raw(decisions):
    """Return probabilities from decisions taken as logits."""
    if decisions.ndim == 1:
        return np.stack([expit(-decisions), expit(decisions)], axis=1)
    return softmax(decisions, axis=1)


def scores(labels, chances, classes):
    """Return the log loss and the Brier score."""
    chances = np.clip(chances, LEAST, 1)
    chances = chances / chances.sum(axis=1, keepdims=True)
    right = np.asarray(labels)[:, None] == classes
    return log_loss(labels, chances, labels=classes), ((chances - right) ** 2).sum(axis=1).mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--splits", type=int, default=3)
    arguments = parser.parse_args()
    quick, n_splits = arguments.quick, 1 if arguments.quick else arguments.splits
    found = {}
    tables = TABLES[:1] if quick else TABLES
    for name in tables:
        [(X, y)] = read(name)
        labels, counts = np.unique(y, return_counts=True)
        common = np.flatnonzero(np.isin(y, labels[counts >= 10]))  # for five folds of one half
        X, y = X.iloc[common], y[common]
        for seed in range(n_splits):
            train, test = split(y, 0.5, seed)
            train = train[: 80 if quick else ROWS]
            for learner, model, has_raw in learners(0.3 if quick else 0.05):
                if has_raw:
                    model = CalibratedClassifierCV(model, cv=2 if quick else 5, ensemble=False)
                with warnings.catch_warnings():  # gaps of short fits
                    warnings.simplefilter("ignore")
                    model.fit(X.iloc[train], y[train])
                rows = X.iloc[test]
                pairs = [(learner, model.predict_proba(rows))]
                if has_raw:
                    inside = model.calibrated_classifiers_[0].estimator
                    pairs = [(f"{learner}, raw", raw(inside.decision_function(rows))), *pairs]
                    pairs[1] = (f"{learner}, calibrated", pairs[1][1])
                for what, chances in pairs:
                    place = found.setdefault(what, {}).setdefault(name, [])
                    place.append(scores(y[test], chances, model.classes_))
    for k, title in enumerate(("Log loss", "Brier score")):
        rows = [
            [what, *(f"{np.mean(by[name], axis=0)[k]:.3f}" for name in tables)]
            for what, by in found.items()
        ]
        show(title, ["", *(name.split(".")[0] for name in tables)], rows)


if __name__ == "__main__":
    main()
