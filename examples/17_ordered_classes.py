"""Ordered classes: one score with thresholds, or a score for each class
=====================================================================

In a shell::

    python examples/17_ordered_classes.py            # six tables: some minutes
    python examples/17_ordered_classes.py --quick    # one table, one split, seconds

The tables have ordered classes; 10 and 30 % of the rows are for training, in five stratified splits
(those of 16_league.py).  The learners are ``HKLClassifier`` with its defaults, with
``ordinal=True``, and cross-validated with ``ordinal=True``; ``PRLClassifier`` with its defaults and
ordinal; and balanced logistic regression on one-hot columns, whose C is chosen on the training rows
for F1.  The error is the mean distance of class numbers.
"""

import argparse

import numpy as np
import pandas as pd
from league_learners import LEARNERS
from protocol import Clock, present, show, splits, whole
from sklearn.metrics import f1_score

import formulakern as fk

#: table → its classes, lowest first
ORDERS = {
    "balance-scale": [*"LBR"],
    "car": ["unacc", "acc", "good", "vgood"],
    "cpu-ordinal": [*"0123"],
    "era": [*"123456789"],
    "esl": [*"123456789"],
    "lev": [*"01234"],
}
QUICK = ("balance-scale",)
MODELS = {
    "HKL": fk.HKLClassifier,
    "HKL, ordinal": lambda: fk.HKLClassifier(ordinal=True),
    "HKL CV, ordinal": lambda: fk.HKLClassifierCV(ordinal=True),
    "PRL": fk.PRLClassifier,
    "PRL, ordinal": lambda: fk.PRLClassifier(ordinal=True),
}
LOGISTIC = "logistic balanced CV"


def measured(name, share, number, quick):
    """Return model → F1, accuracy, error and rules, means over the splits."""
    X, y = whole(name)
    y = np.array([str(one).removesuffix(".0") for one in y])
    order = {label: place for place, label in enumerate(ORDERS[name])}
    found = {}
    for train, test in splits(y, share, number):
        known = pd.Categorical(y[train], ORDERS[name], ordered=True)
        fits = {label: lambda make=make: make().fit(X.iloc[train], known)  # noqa: B023
                for label, make in MODELS.items() if not (quick and "CV" in label)}  # fmt: skip
        fits[LOGISTIC] = lambda: LEARNERS[LOGISTIC].fit(X.iloc[train], y[train])  # noqa: B023
        for label, fit in fits.items():
            model = fit()
            said, right = model.predict(X.iloc[test]), y[test]
            error = np.mean([abs(order[a] - order[b]) for a, b in zip(said, right, strict=True)])
            rules = len(model.rules_) if hasattr(model, "rules_") else np.nan
            scores = f1_score(right, said, average="macro"), np.mean(said == right), error, rules
            found.setdefault(label, []).append(scores)
    return {label: np.mean(rows, axis=0) for label, rows in found.items()}


def main():
    """Measure, and print a table for each share."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one table, one split")
    given = parser.parse_args()
    clock = Clock()
    names = present(QUICK if given.quick else ORDERS)
    if not names:
        print("This example reads UCI tables; the folder of data does not have them.")
        return
    for share in (0.1,) if given.quick else (0.1, 0.3):
        number = 1 if given.quick else 5
        results = {name: measured(name, share, number, given.quick) for name in names}
        models = list(results[names[0]])
        stacked = np.array([[results[name][model] for model in models] for name in names])
        rows = [
            [name, *(f"{f1:.3f}" for f1 in one[:, 0])]
            for name, one in zip([*names, "mean F1"], [*stacked, stacked.mean(axis=0)], strict=True)
        ]
        mean = stacked.mean(axis=0).T
        for what, values, digits in zip(
            ("accuracy", "error", "rules"), mean[1:], (3, 3, 0), strict=True
        ):
            rows.append([what, *("" if np.isnan(v) else f"{v:.{digits}f}" for v in values)])
        show(f"{share:.0%} training rows: macro F1, and means", ["table", *models], rows)
    print(f"{clock} in all")


if __name__ == "__main__":
    main()
