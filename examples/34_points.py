"""Score cards: rules with small integer points, next to their real weights on held-out rows
=========================================================================================

In a shell::

    python examples/34_points.py

Half of the rows are for training.  HKLClassifier learns at most ten rules and linear terms.
``to_points`` makes a score card of them, and chooses the points by the log loss of the training
rows with a penalty on large weights.  "bound" is proven: no points, not even real numbers, have a
smaller loss with the rules of the card.
"""

import numpy as np
from protocol import read, show, split
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss, roc_auc_score

import formulakern as fk


def tables():
    """Yield (name, table, classes) of each table."""
    yield ("bank-marketing", *read("bank-marketing-4521.csv")[0])
    cells = load_breast_cancer(as_frame=True)
    yield "breast cancer", cells.data, np.array(["malignant", "benign"])[cells.target]


def scores(y, chances, classes):
    """Return accuracy, area under the ROC curve, and log loss."""
    second = np.asarray(y) == classes[1]
    accuracy = np.mean((chances > 0.5) == second)
    return [
        f"{100 * accuracy:.1f}",
        f"{100 * roc_auc_score(second, chances):.1f}",
        f"{log_loss(second, chances):.3f}",
    ]


def main():
    rows = []
    for name, X, y in tables():
        train, test = split(y, 0.5)
        model = fk.HKLClassifier(max_rules=10).fit(X.iloc[train], y[train])
        real = model.predict_proba(X.iloc[test])[:, 1]
        rows.append([name, "real weights", str(len(model.rules_)), "", ""])
        rows[-1] += scores(y[test], real, model.classes_)
        for largest in (10, 5, 2):
            card = model.to_points(X.iloc[train], y[train], largest)
            found = card.rules_
            fitted = [str(len(found)), f"{found.loss:.4f}", f"{found.bound:.4f}"]
            rows.append([name, f"points up to {largest}", *fitted])
            rows[-1] += scores(y[test], card.predict_proba(X.iloc[test])[:, 1], model.classes_)
            if largest == 5:
                print(f"{name}\n\n{found}\n")
                print(f"{card.explain(X.iloc[test[:1]])}\n", flush=True)
    names = "penalised training loss, bound, accuracy, AUC, log loss"
    show("Held-out rows", ["table", "weights", "rules", *names.split(", ")], rows)


if __name__ == "__main__":
    main()
