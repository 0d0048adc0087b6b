"""The best of few rules, against all subsets of the features."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import formulakern as fk
from formulakern.deadline import UNLIMITED
from formulakern.encoding.strict import read_packed
from formulakern.learning.hkl.active_set import grow
from formulakern.learning.hkl.options import Options
from formulakern.learning.hkl.ordinal import Examples
from formulakern.learning.hkl.problem import FeatureSelection
from formulakern.learning.hkl.rows import Rows

OPTIONS = Options("logistic", C=30.0, rho=1.2, tol=4e-5)


def selection(seed, most):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (40, 3))
    numbers = rng.random((40, 1))
    y = np.where((X @ rng.normal(size=3)) + numbers[:, 0] + rng.normal(size=40) > 0, 1.0, -1.0)
    y[:2] = 1, -1
    table, kind = read_packed(X).distinct()
    rows = Rows.merged(table, Examples(kind, y, np.ones(40), numbers))
    grown = grow(rows, OPTIONS, 1e-3, UNLIMITED, None, lambda *_: None)
    nodes = [v for size in range(4) for v in combinations(range(3), size)]
    whole = replace(grown, nodes=[nodes], others=[[0]])
    held = [one for one, weight in grown.weights[0].items() if weight]
    parts = rows, OPTIONS, whole, lambda *better: None
    return grown, FeatureSelection(held, most, UNLIMITED, *parts)


def test_most_often_the_best_of_all_subsets_is_found():
    best = 0
    for seed in range(6):
        grown, chooser = selection(seed, 2)
        objective = chooser.run().solution.objective
        every = [chooser.solved(kept).solution.objective for kept in combinations(chooser.forms, 2)]
        assert grown.lower_bound <= min(every) * (1 + 1e-9)
        assert objective >= min(every) * (1 - 2e-5)
        best += objective <= min(every) * (1 + 2e-4)
    assert best >= 5


def test_ctrl_c_keeps_the_best_so_far():
    _, chooser = selection(0, 2)
    solved, calls = chooser.solved, []

    def interrupted(*features):
        calls.append(features)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return solved(*features)

    chooser.solved = interrupted
    assert len(chooser.run().kept) <= 2
    assert chooser.interrupted


def table(m=200, classes=2):
    rng = np.random.default_rng(0)
    X = {"age": rng.integers(20, 70, m), "sex": rng.choice(["m", "f"], m), "dose": rng.random(m)}
    score = 0.1 * X["age"] + 2 * (X["sex"] == "m") * (X["dose"] > 0.4) + rng.gumbel(size=m)
    return X, score, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier_of_few_rules(classes):
    X, _, y = table(classes=classes)
    full = fk.HKLClassifier().fit(X, y)
    gaps = []
    for most in (4, 2):
        few = fk.HKLClassifier(max_rules=most).fit(X, y)  # an open gap is no warning
        assert few.rules_.n_rules <= most < full.rules_.n_rules
        assert few.objective_ >= full.lower_bound_
        np.testing.assert_allclose(few.lower_bound_, full.lower_bound_, rtol=1e-6)
        np.testing.assert_array_equal(few.rules_.predict(X), few.predict(X))
        gaps.append(few.gap_)
    assert 0 < gaps[0] < gaps[1] < 1
    assert fk.HKLClassifier(max_rules=500).fit(X, y).rules_ == full.rules_


def test_the_choice_is_told(capsys):
    X, _, y = table()
    few = fk.HKLClassifier(max_rules=2, verbose=1).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > len(few.history_)  # rounds, then better choices
    assert lines[-1].startswith("2 conjunctions, objective")


def test_a_regressor_of_one_rule():
    X, score, _ = table()
    few = fk.HKLRegressor(max_rules=1).fit(X, score)
    assert few.rules_.n_rules == 1
    assert few.score(X, score) > 0.2


def test_one_against_the_rest_has_as_many_for_each_class():
    X, _, y = table(classes=3)
    few = fk.HKLClassifier(loss="squared_hinge", max_rules=2).fit(X, y)
    for_each = [sum(rule.winner == k for rule in few.rules_) for k in range(3)]
    assert max(for_each) <= 2


@pytest.mark.filterwarnings("ignore:the model gives all training rows one class")
def test_time_is_kept():
    X, _, y = table()
    with pytest.warns(UserWarning, match="time limit"):
        few = fk.HKLClassifier(max_rules=2, time_limit=0.0).fit(X, y)
    assert few.rules_.n_rules <= 2


@pytest.mark.parametrize("most", [0, -1, 1.5, "2"])
def test_wrong_numbers(most):
    X, _, y = table()
    with pytest.raises(fk.ParameterError, match=f"max_rules={most!r}"):
        fk.HKLClassifier(max_rules=most).fit(X, y)
