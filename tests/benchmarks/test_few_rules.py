"""CPU time of few rules: a limit and cross-validation, in fits of the same table.

Run with ``python -m pytest -s tests/benchmarks/test_few_rules.py``.
"""

import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import formulakern as fk

sys.path.append(str(Path(__file__).parents[2] / "examples"))
from protocol import NUMBERS, SETS, present, splits, whole

#: Tables of more rows are left out, and so are fits of less CPU seconds.
MAX_ROWS, MIN_SECONDS = 6_000, 0.1


def tables():
    """Yield the name, the rows and the classes of each table."""
    for name in present([*dict.fromkeys([*NUMBERS, *SETS])]):
        X, y = whole(name)
        if len(y) <= MAX_ROWS:
            yield name, X, np.asarray(y)


def seconds(model, X, y):
    """Return the fitted model and the median CPU time of three fits."""
    taken = []
    for _ in range(3):
        begin = time.process_time()
        model.fit(X, y)
        taken.append(time.process_time() - begin)
    return model, float(np.median(taken))


def report(what, found, goal):
    """Print the median ratio, and the tables above the goal."""
    over = ", ".join(f"{name} {ratio:.1f}" for name, ratio in found.items() if ratio > goal)
    print(f"\n    {what}: median {np.median([*found.values()]):.2f} of {len(found)} tables", end="")
    print(f", goal {goal}; over: {over or 'none'}", end="", flush=True)


def test_a_limit():
    """HKL at 70 % of the rows: at most 15 rules or any number, at the same C and depth penalty."""
    found = {}
    for name, X, y in tables():
        train, _ = splits(y, 0.7, 1)[0]
        X, y = X.iloc[train], y[train]
        few, limited = seconds(fk.HKLClassifier(), X, y)
        depth = 1.0 if few.C_ == 800 else 3.0  # the automatic ones of words and of numbers
        any_number = fk.HKLClassifier(C=few.C_, depth_penalty=depth, max_rules=None)
        found[name] = limited / seconds(any_number, X, y)[1]
    report("HKL, at most 15 rules / any number", found, 2)
    assert np.median([*found.values()]) < 2


@pytest.mark.parametrize("share", [10, 30, 70])
@pytest.mark.parametrize("learner", ["HKL", "PRL"])
def test_cross_validation(learner, share):
    """The search against a fit of its model, and against one with the defaults."""
    search, alone = getattr(fk, f"{learner}ClassifierCV"), getattr(fk, f"{learner}Classifier")
    of_chosen, of_default = {}, {}
    for name, X, y in tables():
        train, _ = splits(y, share / 100, 1)[0]
        X, y = X.iloc[train], y[train]
        _, default = seconds(alone(), X, y)
        if default < MIN_SECONDS:
            continue
        model, taken = seconds(search(), X, y)
        of_chosen[name] = taken / seconds(clone(model.best_estimator_), X, y)[1]
        of_default[name] = taken / default
    report(f"{learner} CV at {share} % / its model", of_chosen, 5)
    report(f"{learner} CV at {share} % / {alone.__name__}()", of_default, 5)
    assert np.median([*of_chosen.values()]) < 5
