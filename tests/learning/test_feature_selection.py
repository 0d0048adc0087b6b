"""The best of few rules, against all subsets of the features."""

from itertools import combinations

import numpy as np
import pytest

import formulakern as fk
from formulakern.learning import selection
from formulakern.learning.selection import PATH_SIZES, FeatureSelection, Selection
from formulakern.solvers.hierarchical.losses import loss_of
from formulakern.solvers.hierarchical.newton import Columns


def problem(seed, most, name="logistic"):
    """All conjunctions of three propositions and a number, and the optimum with all of them."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (60, 3))
    numbers = rng.random((1, 60))
    score = X @ rng.normal(size=3) + numbers[0] + 0.5 * rng.normal(size=60)
    y = np.digitize(score, np.quantile(score, [0.3, 0.7])).astype(np.float64)
    if name != "multinomial":
        y = score if name == "squared" else np.where(y > 0, 1.0, -1.0)
    nodes = [v for size in range(1, 4) for v in combinations(range(3), size)]
    bits = np.stack([X[:, list(v)].all(axis=1) for v in nodes]).view(np.uint8)
    penalties = np.array([4.0 ** len(v) for v in nodes] + [1.0])
    loss = loss_of(name, y, np.full(60, 30.0))
    search = FeatureSelection(
        Columns(bits, numbers), penalties, None, loss, 1e-5, most, proves=True
    )
    n, K = len(penalties), loss.n_functions
    return search, search.solved(np.arange(n), np.zeros((n, K)), loss.cold)


@pytest.mark.parametrize("name", ["logistic", "multinomial", "squared"])
def test_the_best_of_all_subsets_is_found(name):
    for seed in range(6):
        search, whole = problem(seed, 2, name)
        search.evidence = np.zeros(len(search.penalties))  # weights may have any sign
        path = search.path(whole, whole.objective * (1 + 1e-4))
        sizes = [len(few) for few in path]
        assert sizes == sorted(sizes, reverse=True)
        assert {size for size in PATH_SIZES if size < sizes[0]} <= {*sizes}
        [few] = [few for few in path if len(few) == 2]
        none = np.zeros((2, search.loss.n_functions))
        every = [
            search.solved(np.array(kept), none, search.loss.cold).objective
            for kept in combinations(range(len(search.penalties)), 2)
        ]
        assert whole.objective <= min(every) * (1 + 1e-5)
        assert few.objective >= min(every) * (1 - 2e-5)
        assert few.objective <= min(every) * (1 + 2e-5)
        if sizes[0] > 2:  # else the optimum has no more features
            assert search.subset_bound <= min(every) * (1 + 2e-5)
            assert few.objective <= search.subset_bound * (1 + 1e-4)


@pytest.mark.parametrize(("name", "parts"), [("MAX", 1), ("MAX", 3), ("MAX", 10), ("MIN", 0)])
def test_branch_and_bound_that_ends_early_has_a_bound(monkeypatch, name, parts):
    monkeypatch.setattr(selection, f"{name}_PARTS", parts)
    search, whole = problem(3, 2)
    search.path(whole, whole.objective)
    none, pairs = np.zeros((2, 1)), combinations(range(len(search.penalties)), 2)
    every = [search.solved(np.array(kept), none, search.loss.cold).objective for kept in pairs]
    assert whole.lower_bound * (1 - 1e-6) <= search.subset_bound <= min(every) * (1 + 2e-5)


def test_the_certificate_names_the_best_choice():
    X, _, y = table()
    one = fk.HKLClassifier(max_rules=1).fit(X, y)
    assert "No choice of 1 rule from the" in one.certificate_
    assert "No choice" not in fk.HKLClassifier(max_rules=6).fit(X, y).certificate_


@pytest.mark.parametrize(("share", "chosen"), [(0.05, [0, 2]), (0.01, [0, 1])])
def test_weights_agree_with_their_evidence_if_that_costs_little(monkeypatch, share, chosen):
    """Part 1 of the rows of 0 has more of the class than all rows have, and less than 0 has."""
    sizes, right = [200, 80, 120], [60, 72, 72]
    kind = np.repeat(np.arange(3), sizes)
    parts = zip(sizes, right, strict=True)
    y = np.concatenate([np.where(np.arange(n) < k, 1.0, -1.0) for n, k in parts])
    bits = np.stack([kind > 0, kind == 2, kind == 1]).view(np.uint8)
    loss = loss_of("logistic", y, np.full(400, 30.0))
    penalties = np.array([1.0, 1.0, 10.0])
    search = FeatureSelection(Columns(bits, np.zeros((0, 400))), penalties, None, loss, 1e-6, 2)
    assert search.evidence.tolist() == [1, 1, 1]
    best = search.solved(np.arange(2), np.zeros((2, 1)), loss.cold)
    monkeypatch.setattr(selection, "MAX_AGREEMENT_COST", share)
    few = search.sensible(best)
    assert few.which.tolist() == chosen
    assert (few.weights > 0).all() == (chosen == [0, 2])


def test_the_choice_within_the_limit_is_reported_once():
    search, whole = problem(1, 3)
    reported = []
    search.report = reported.append
    path = search.path(whole, whole.objective)
    [few] = reported
    assert len(few) == 3
    assert any(few is one for one in path)


def test_ctrl_c_keeps_the_best_so_far():
    search, whole = problem(0, 2)
    solved, calls = search.solved, []

    def interrupted(*of):
        calls.append(of)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return solved(*of)

    search.solved = interrupted
    assert isinstance(search.path(whole, whole.objective)[-1], Selection)
    assert len(search.path(whole, whole.objective)[-1]) <= 2
    assert search.interrupted


def table(m=200, classes=2):
    rng = np.random.default_rng(0)
    X = {"age": rng.integers(20, 70, m), "sex": rng.choice(["m", "f"], m), "dose": rng.random(m)}
    score = 0.1 * X["age"] + 2 * (X["sex"] == "m") * (X["dose"] > 0.4) + rng.gumbel(size=m)
    return X, score, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier_of_few_rules(classes):
    X, _, y = table(classes=classes)
    full = fk.HKLClassifier(max_rules=None).fit(X, y)
    gaps = []
    for most in (4, 2):
        few = fk.HKLClassifier(max_rules=most).fit(X, y)  # an open gap is no warning
        assert len(few.rules_) <= most < len(full.rules_)
        assert few.objective_ >= full.lower_bound_
        assert full.lower_bound_ * (1 - few.tol) <= few.lower_bound_ <= full.objective_
        np.testing.assert_array_equal(few.rules_.predict(X), few.predict(X))
        gaps.append(few.gap_)
    assert 0 < gaps[0] < gaps[1] < 1
    many = fk.HKLClassifier(max_rules=500).fit(X, y)
    assert many.gap_ <= many.tol
    assert full.lower_bound_ <= many.objective_ <= full.objective_ / (1 - many.tol)


def test_the_choice_is_told(capsys):
    X, _, y = table()
    few = fk.HKLClassifier(max_rules=2, verbose=1).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > len(few.history_)  # rounds, then better choices
    assert lines[-1].startswith("2 conjunctions, objective")


def test_a_regressor_of_one_rule():
    X, score, _ = table()
    few = fk.HKLRegressor(max_rules=1).fit(X, score)
    assert len(few.rules_) == 1
    assert few.score(X, score) > 0.2


@pytest.mark.parametrize("most", [2, 7])
def test_one_against_the_rest_has_as_many_in_all_classes(most):
    X, _, y = table(classes=3)
    few = fk.HKLClassifier(loss="squared_hinge", max_rules=most).fit(X, y)
    assert 1 <= len(few.rules_) <= most


def test_a_path_of_sizes():
    X, score, y = table(classes=3)
    model = fk.HKLClassifier().fit(X, y)
    sizes = [step.n_rules for step in model.path_]
    assert sizes[:5] == [1, 2, 3, 5, 8]
    gaps = model.path_.values("gap")
    assert (np.diff(gaps) <= 0).all()
    assert str(model.path_).splitlines()[0].split() == ["rules", "objective", "gap"]
    few = fk.HKLClassifier(max_rules=5).fit(X, y)
    assert few.objective_ == pytest.approx(model.path_[3].objective)
    assert few.gap_ == pytest.approx(model.path_[3].gap)
    assert len(fk.HKLClassifier(max_rules=None).fit(X, y).path_) == 1
    number = fk.HKLRegressor(max_rules=2).fit(X, score)
    assert number.objective_ in number.path_.values("objective")


@pytest.mark.parametrize("rho", [1.0, 1.2])
def test_fifteen_rules_by_default(rho):
    rng = np.random.default_rng(1)
    X = rng.random((200, 5))
    y = np.digitize(np.sin(6 * X).sum(axis=1), [-1.0, 0.5])
    model = fk.HKLClassifier(rho=rho, tol=0.1).fit(X, y)
    assert 10 <= len(model.rules_) <= 15


@pytest.mark.filterwarnings("ignore:the model predicts .* for all training rows")
def test_time_is_kept():
    X, _, y = table()
    with pytest.warns(UserWarning, match="time limit"):
        few = fk.HKLClassifier(max_rules=2, time_limit=0.0).fit(X, y)
    assert len(few.rules_) <= 2


@pytest.mark.parametrize("most", [0, -1, 1.5, "2", True])
def test_wrong_numbers(most):
    X, _, y = table()
    with pytest.raises(fk.ParameterError, match=f"max_rules={most!r}"):
        fk.HKLClassifier(max_rules=most).fit(X, y)
