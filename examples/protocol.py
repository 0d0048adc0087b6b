"""Shared by the examples: data files and their columns, splits, other methods, tables.

The protocol of all figures about held-out rows:

* test rows only count errors; cross-validation within the training rows chooses every setting of
  every method, ours and others;
* all methods get the same columns: numbers as numbers, words as categories, and ordered words as
  ordered categories.  Boosting takes categories unchanged, trees, forests and support vector
  machines take one column per category, and logistic regression takes our propositions;
* no result depends on the time of a fit.
"""

from __future__ import annotations

import os
import re
import resource
import sys
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.datasets import (
    load_breast_cancer,
    load_iris,
    load_wine,
    make_circles,
    make_moons,
)
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

import formulakern as fk

FOLDER = Path(
    os.environ.get("FORMULAKERN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
)
OUTPUT = Path(__file__).resolve().parent / "output"

# -- data ---------------------------------------------------------------------------------------

#: The files of the classification tables.
FILES = (
    "adult-train.csv.gz",
    "balance-scale.csv",
    "bank-marketing-4521.csv",
    "breast-cancer-ljubljana.csv",
    "breast-cancer-wisconsin.csv",
    "car.csv",
    "cmc.csv",
    "connect-4.csv.gz",
    "cpu-ordinal.csv",
    "den-bosch-normalised.csv",
    "era.csv",
    "esl.csv",
    "haberman.csv",
    "house-votes-84.csv",
    "lev.csv",
    "madelon-train.csv.gz",
    "mammographic-masses.csv",
    "monks-1-test.csv",
    "monks-2-test.csv",
    "monks-3-test.csv",
    "mushroom.csv",
    "nursery.csv.gz",
    "optdigits.csv.gz",
    "penbased.csv.gz",
    "pima-diabetes.csv",
    "poker-hand-train.csv.gz",
    "primary-tumor.csv",
    "promoters.csv",
    "satimage.csv.gz",
    "segment.csv.gz",
    "soybean.csv",
    "splice.csv",
    "tic-tac-toe.csv",
    "transfusion.csv",
    "twonorm.csv.gz",
    "vehicle.csv.gz",
)
#: name of a classification table → its files, which are concatenated
SETS = {name.split(".")[0].removesuffix("-train"): (name,) for name in FILES} | {
    "spect": ("spect-train.csv", "spect-test.csv")
}


def _squares(n, columns, border, noise=0.05):
    """Return numbers from 0 to 1, and classes on two sides of a border, some of them flipped."""
    random = np.random.default_rng(0)
    X = random.random((n, columns))
    return X, border(X) ^ (random.random(n) < noise)


#: name → function that makes a table of numbers, or reads one of scikit-learn.
MADE = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "breast-cancer-diagnostic": lambda: load_breast_cancer(return_X_y=True),
    "moons-500": lambda: make_moons(500, noise=0.25, random_state=0),
    "moons-5000": lambda: make_moons(5000, noise=0.25, random_state=0),
    "circles-500": lambda: make_circles(500, noise=0.15, factor=0.5, random_state=0),
    "circles-5000": lambda: make_circles(5000, noise=0.15, factor=0.5, random_state=0),
    "thresholds-xor": lambda: _squares(3000, 4, lambda X: (X[:, 0] > 0.43) ^ (X[:, 1] > 0.61)),
    "checkerboard": lambda: _squares(4000, 3, lambda X: (4 * X[:, :2]).astype(int).sum(1) % 2 > 0),
    "rotated-xor": lambda: _squares(
        3000, 4, lambda X: (X[:, 0] + X[:, 1] > 1) ^ (X[:, 0] > X[:, 1])
    ),
}
#: The tables of numbers alone.
NUMBERS = (
    "balance-scale", "breast-cancer-wisconsin", "cpu-ordinal", "den-bosch-normalised", "era", "esl",
    "haberman", "lev", "madelon", "optdigits", "penbased", "pima-diabetes", "satimage", "segment",
    "transfusion", "twonorm", "vehicle", *MADE,
)  # fmt: skip

#: Ordered words, by table and column, the lowest first.
COST = "low med high vhigh"
ORDERS = {
    "car": {
        "buying": COST,
        "maint": COST,
        "doors": "2 3 4 5more",
        "persons": "2 4 more",
        "lug_boot": "small med big",
        "safety": "low med high",
    },
    "nursery": {
        "parents": "usual pretentious great_pret",
        "has_nurs": "proper less_proper improper critical very_crit",
        "form": "complete completed incomplete foster",
        "children": "1 2 3 more",
        "housing": "convenient less_conv critical",
        "finance": "convenient inconv",
        "social": "nonprob slightly_prob problematic",
        "health": "recommended priority not_recom",
    },
    "breast-cancer-ljubljana": {
        "age": "20-29 30-39 40-49 50-59 60-69 70-79",
        "tumor-size": "0-4 5-9 10-14 15-19 20-24 25-29 30-34 35-39 40-44 45-49 50-54",
        "inv-nodes": "0-2 3-5 6-8 9-11 12-14 15-17 24-26",
    },
}
#: Columns whose numbers are categories.
NAMES = {
    "cmc": ("husband-occupation",),
    "mammographic-masses": ("shape", "margin"),
    "monks-3": ("a1", "a2", "a3", "a4", "a5", "a6"),
}


def path_of(name):
    """Return the path of a data file; end the script with a message if it is missing."""
    path = FOLDER / name
    if not path.exists():
        print(f"This example reads {name}, but {FOLDER} does not have it.")
        print("Set FORMULAKERN_DATA to a folder with the UCI files as CSV, the class column last.")
        sys.exit(0)
    return path


def read(*files):
    """Return (table, classes) of each file; the files are parts of one table.

    Tables are pandas frames: numbers, categories, and ordered categories.
    """
    import pandas as pd

    parts = [fk.datasets.read_table(path_of(name)) for name in files]
    whole = pd.concat([part.data.to_pandas() for part in parts], ignore_index=True)
    table = re.sub(r"(-train|-test)?\.csv(\.gz)?$", "", files[0])
    for column in whole:
        if column in ORDERS.get(table, ()):
            kind = pd.CategoricalDtype(ORDERS[table][column].split(), ordered=True)
            if not set(whole[column].dropna()) <= set(kind.categories):
                raise ValueError(f"{table}: ORDERS does not name all values of {column}")
            whole[column] = whole[column].astype(kind)
        elif column in NAMES.get(table, ()) or not pd.api.types.is_numeric_dtype(whole[column]):
            whole[column] = whole[column].astype("category")
    ends = np.cumsum([len(part) for part in parts])
    frames = [whole[end - len(part) : end] for part, end in zip(parts, ends, strict=True)]
    return [(frame, np.asarray(part.target)) for frame, part in zip(frames, parts, strict=True)]


def whole(name):
    """Return all rows of a table of ``SETS`` or ``MADE``, and their classes."""
    import pandas as pd

    if name in MADE:
        X, y = MADE[name]()
        return pd.DataFrame(X).rename(columns=lambda k: f"x{k}"), np.asarray(y).astype(str)
    frames, classes = zip(*read(*SETS[name]), strict=True)
    return pd.concat(frames, ignore_index=True), np.concatenate(classes)


def present(names):
    """Return the names of ``SETS`` and ``MADE`` whose files exist."""
    return [name for name in names if all((FOLDER / file).exists() for file in SETS.get(name, ()))]


def splits(y, train_size, number=1, seed=0):
    """Yield numbers of training and test rows; stratified if each class has two rows."""
    alone = np.unique(y, return_counts=True)[1].min() == 1
    kind = ShuffleSplit if alone else StratifiedShuffleSplit
    return list(kind(number, train_size=train_size, random_state=seed).split(y, y))


def split(y, train_size, seed=0):
    """Return the training and test rows of the first of ``splits``."""
    [parts] = splits(y, train_size, 1, seed)
    return parts


# -- other methods, and choosing ----------------------------------------------------------------


def _named(X):
    return [c for c in X if X[c].dtype == "category" and not X[c].cat.ordered]


def _ordered(X):
    return [c for c in X if X[c].dtype == "category" and X[c].cat.ordered]


def _numbers(X):
    return [c for c in X if X[c].dtype != "category"]


def _places(X):
    """Return the rank of each word in its order."""
    return X.apply(lambda column: column.cat.codes.replace(-1, np.nan))


def spread(scaled=False):
    """Return numbers, ranks, and a 0/1 column per category."""
    fill = [SimpleImputer(strategy="median"), StandardScaler()] if scaled else ["passthrough"]
    return make_column_transformer(
        (make_pipeline(*fill), _numbers),
        (make_pipeline(FunctionTransformer(_places), *fill), _ordered),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), _named),
    )


def _boosting():
    places = make_column_transformer(
        (FunctionTransformer(_places), _ordered),
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    model = HistGradientBoostingClassifier(
        max_iter=100, early_stopping=False, categorical_features="from_dtype", random_state=0
    )
    return make_pipeline(places, model)


#: name → (pipeline, grid)
BASELINES = {
    "tree": lambda: (
        make_pipeline(spread(), DecisionTreeClassifier(random_state=0)),
        {"min_samples_leaf": [1, 3, 10], "ccp_alpha": [0.0, 0.001, 0.01]},
    ),
    "forest": lambda: (
        make_pipeline(spread(), RandomForestClassifier(200, random_state=0)),
        {"min_samples_leaf": [1, 3], "max_features": ["sqrt", 0.5]},
    ),
    "boosting": lambda: (
        _boosting(),
        [
            {"learning_rate": [0.1, 0.3], "max_leaf_nodes": [7, 31]} | leaves
            for leaves in (
                {"min_samples_leaf": [20], "l2_regularization": [0.0, 1.0]},
                {"min_samples_leaf": [2], "l2_regularization": [1.0]},
            )
        ],
    ),
    "logistic": lambda: (
        make_pipeline(fk.PropositionEncoder(numeric="<="), LogisticRegression(max_iter=5000)),
        {"C": [10.0**k for k in range(-3, 4)]},
    ),
    "Gaussian SVM": lambda: (
        make_pipeline(spread(scaled=True), SVC()),
        {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.003, 0.01, 0.03, 0.1, 0.3]},
    ),
}


def folds(n=3):
    """Return the folds within the training rows."""
    return StratifiedKFold(n, shuffle=True, random_state=0)


def tuned(model, grid, X, y, scoring="accuracy"):
    """Fit the settings of a grid with the best mean score of three folds to all these rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="The least populated class")
        warnings.filterwarnings("ignore", message="no rule has weight")  # a small C, in some fold
        return GridSearchCV(model, grid, scoring=scoring, cv=folds()).fit(X, y)


def baseline(name, X, y, scoring="accuracy", quick=False):
    """Return another method tuned on these rows; ``quick`` takes settings from the middle."""
    model, grids = BASELINES[name]()
    step = model.steps[-1][0]
    grids = [
        {f"{step}__{setting}": values for setting, values in grid.items()}
        for grid in (grids if isinstance(grids, list) else [grids])
    ]
    with threadpool_limits(1):  # threads that wait for each other take minutes on a busy machine
        if quick:
            middle = {setting: values[len(values) // 2] for setting, values in grids[0].items()}
            return model.set_params(**middle).fit(X, y)
        return tuned(model, grids, X, y, scoring)


# -- what is printed ----------------------------------------------------------------------------


class Clock:
    """Seconds since this object was created: ``f"{clock}"``."""

    def __init__(self):
        self.start = perf_counter()

    def __str__(self):
        taken = perf_counter() - self.start
        return f"{taken:.1f} s" if taken < 10 else f"{taken:.0f} s"


def memory():
    """Return the largest memory of this process so far, in GiB."""
    unit = 2**30 if sys.platform == "darwin" else 2**20
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit:.1f} GiB"


def markdown(head, rows):
    """Return a table in Markdown: the first column to the left, the others to the right."""
    lines = [[cell.replace("|", "\\|") for cell in row] for row in [head, *rows]]
    text = ["| " + " | ".join(row) + " |" for row in lines]
    return "\n".join([text[0], "|---" + "|---:" * (len(head) - 1) + "|", *text[1:]])


def show(title, head, rows):
    """Print a table in Markdown, under its title."""
    print(f"{title}\n\n{markdown(head, rows)}\n", flush=True)


def plotting():
    """Return matplotlib.pyplot without a window, or None and a message if it is missing."""
    try:
        import matplotlib
    except ImportError:
        print("(No picture: matplotlib is not installed. pip install 'formulakern[plot]')")
        return None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt
