"""ChoquetSVC and ChoquetRegressor: the learned set function, choices, constraints, interface."""

import copy
import itertools
import math
import pickle

import numpy as np
import oracle
import pandas as pd
import pytest
from certified import apart
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import formulakern as fk
from formulakern import ChoquetRegressor, ChoquetSVC
from formulakern.estimators.choquet import set_function as module
from formulakern.estimators.choquet.monotone import Losses, solve_monotone
from formulakern.estimators.choquet.set_function import (
    SetFunction,
    monotonicity_degree,
    pair_features,
)
from formulakern.learning import kernel_machines


@parametrize_with_checks(
    [
        ChoquetSVC(),
        ChoquetSVC(additivity=1, enforce_monotone=True, scaling="rank"),
        ChoquetRegressor(),
        ChoquetRegressor(additivity=1, enforce_monotone=True),
    ]
)
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


def table(rows=90, n=4, seed=0, classes=2):
    """Rows whose class grows with columns 0 and 1 together and falls with column 2."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, n)) * 10
    score = np.minimum(X[:, 0], X[:, 1]) - 0.5 * X[:, 2] + generator.normal(size=rows)
    cuts = np.quantile(score, np.arange(1, classes) / classes)
    return X, np.searchsorted(cuts, score), score


# -- the set function --------------------------------------------------------------------------


def subsets(n):
    return [list(T) for size in range(n + 1) for T in itertools.combinations(range(n), size)]


@settings(max_examples=20)
@given(
    hnp.arrays(float, (3, 4), elements=st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0, 1)),
    hnp.arrays(float, 3, elements=st.floats(-5, 5)),
    st.integers(1, 4),
)
def test_row_functions_equal_enumeration(rows, weights, k):
    function = SetFunction(rows, weights, k)
    sets = subsets(4)
    count = sum(1 for T in sets if 1 <= len(T) <= k)
    m = {
        tuple(T): weights @ rows[:, T].min(axis=1) / count if 1 <= len(T) <= k else 0.0
        for T in sets
    }
    _check_function(function, m)


@settings(max_examples=10)
@given(hnp.arrays(float, (4, 4), elements=st.floats(-5, 5)))
def test_pair_functions_equal_enumeration(values):
    m = {tuple(T): values[T[0], T[-1]] if 1 <= len(T) <= 2 else 0.0 for T in subsets(4)}
    listed = np.append(np.diag(values), values[np.triu_indices(4, 1)])
    _check_function(SetFunction.of_pairs(listed, 4), m)


def _check_function(function, m):
    close = {"rtol": 1e-9, "atol": 1e-9}
    mu = {A: sum(m[T] for T in m if set(T) <= set(A)) for A in m}
    for A in m:
        np.testing.assert_allclose(function.moebius(A), m[A], **close)
        np.testing.assert_allclose(function.measure(A), mu[A], **close)
    table = function.transform()
    for A in m:
        np.testing.assert_allclose(table[sum(1 << i for i in A)], m[A], **close)
    shapley = [sum(m[T] / len(T) for T in m if i in T) for i in range(4)]
    np.testing.assert_allclose(function.shapley(), shapley, **close)
    interactions = [
        [0 if i == j else sum(m[T] / (len(T) - 1) for T in m if {i, j} <= set(T)) for j in range(4)]
        for i in range(4)
    ]
    np.testing.assert_allclose(function.interactions(), interactions, **close)
    least = -1e-9 * max(map(abs, mu.values()))
    steps = [mu[tuple(sorted((*A, i)))] - mu[A] for A in m for i in range(4) if i not in A]
    if not any(abs(step - least) < 1e-12 for step in steps):
        degree = sum(step >= least for step in steps) / len(steps)
        assert monotonicity_degree(function, 0) == (pytest.approx(degree, abs=1e-12), 0.0)


def test_many_columns_are_sampled(monkeypatch):
    generator = np.random.default_rng(0)
    small = SetFunction(generator.random((6, 10)), generator.normal(size=6), 10)
    exact, none = monotonicity_degree(small, 0)
    assert none == 0.0
    assert 0 < exact < 1
    monkeypatch.setattr(module, "MAX_LISTED_COLUMNS", 5)
    drawn, error = monotonicity_degree(small, 0)
    assert 0 < error < 0.01
    assert abs(drawn - exact) < 4 * error
    assert monotonicity_degree(small, 0) == (drawn, error)
    wide = SetFunction(generator.random((3, 2000)), np.ones(3), 2000)
    single = SetFunction.of_pairs(np.repeat([1.0, 0.0], [50, 1225]), 50)
    degree, error = monotonicity_degree(single, 0)
    assert degree == 1
    assert error > 0
    assert np.isfinite(wide.shapley()).all()
    np.testing.assert_allclose(wide.shapley().sum(), wide.measure(range(2000)))


# -- the classifier ----------------------------------------------------------------------------


@pytest.mark.parametrize("additivity", [None, 1, 2, 3])
def test_the_decision_is_a_choquet_integral(additivity):
    X, y, _ = table()
    model = ChoquetSVC(10, additivity, tol=1e-12).fit(X[:60], y[:60])
    degrees = model.degrees(X)
    assert degrees.min() == 0
    assert degrees.max() == 1
    sets = [T for T in subsets(4) if T]
    by_hand = sum(model.moebius(T) * degrees[:, T].min(axis=1) for T in sets) + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), by_hand, atol=1e-9)
    for A in sets:
        row = np.isin(np.arange(4), A).astype(float)
        whole = model.measure(A) + model.intercept_[0]
        gram = model.kernel_(row[None], model.degrees(X[:60])[model.support_])
        np.testing.assert_allclose(gram @ model.dual_coef_[0] + model.intercept_, whole, atol=1e-9)
    np.testing.assert_allclose(model.shapley_values_.sum(), model.measure(range(4)))
    assert model.predict(X).tolist() == (by_hand > 0).astype(int).tolist()
    kernel = fk.choquet(additivity)
    scaled = kernel(degrees[:60]) / kernel.diagonal(degrees[:60]).mean()
    same = SVC(kernel="precomputed", C=10, tol=1e-9).fit(scaled, y[:60])
    signs = np.where(y[:60] == 1, 1.0, -1.0)
    bound = apart(scaled, signs, 10.0, (model, same), scaled.diagonal())
    np.testing.assert_allclose(same.decision_function(scaled), by_hand[:60], rtol=0, atol=bound)
    one = [float(oracle.choquet(degrees[0], z, additivity)) for z in degrees[:60]]
    mean = np.mean([float(oracle.choquet(z, z, additivity)) for z in degrees[:60]])
    np.testing.assert_allclose(scaled[0], np.array(one) / mean, rtol=1e-12)


def test_several_classes():
    X, y, _ = table(classes=4)
    names = np.array(["a", "b", "c", "d"])[y]
    model = ChoquetSVC(10, 2).fit(X, names)
    degrees = model.degrees(X)
    assert model.score(X, names) >= 0.75
    assert model.pairs_[1] == ("a", "c")
    assert model.measure([0, 1]).shape == model.monotonicity_degree_.shape == (6,)
    assert model.shapley_values_.shape == (6, 4)
    assert model.interaction_indices_.shape == (6, 4, 4)
    assert model.decision_function(X).shape == (90, 4)
    scores = sum(
        model.moebius(T) * degrees[:, T].min(axis=1)[:, None]
        for T in subsets(4)
        if len(T) in (1, 2)
    )
    votes = np.zeros((90, 4))
    for k, (i, j) in enumerate(itertools.combinations(range(4), 2)):
        wins = scores[:, k] + model.intercept_[k] > 0
        votes[wins, j] += 1
        votes[~wins, i] += 1
    sure = votes.max(axis=1) == 3
    assert sure.mean() > 0.9
    np.testing.assert_array_equal(
        model.classes_[votes.argmax(axis=1)][sure], model.predict(X)[sure]
    )
    two = ChoquetSVC(10, 2).fit(X, y > 1)
    assert (two.moebius(0) > 0) and (two.shapley_values_[2] > 0)  # noqa: PT018


def test_directions_and_scaling():
    X, y, _ = table(rows=40)
    model = ChoquetSVC().fit(X, y)
    assert model.directions_[:3].tolist() == [1, 1, -1]
    frame = pd.DataFrame(X, columns=list("abcd"))
    for signs in ([1, -1, 1, 1], {1: -1, "c": 1, "d": 1}, np.array([1, -1, 1, 1.0])):
        fitted = ChoquetSVC(directions=signs).fit(frame, y)
        assert fitted.directions_.tolist() == [1, -1, 1, 1]
    low, high = X.min(axis=0), X.max(axis=0)
    later = np.vstack([low - 5, high + 5, (low + high) / 2])
    np.testing.assert_allclose(
        fitted.degrees(pd.DataFrame(later, columns=list("abcd")))[:, 1], [1, 0, 0.5]
    )
    ranks = ChoquetSVC(scaling="rank", directions=[1] * 4).fit(X, y).degrees(X)
    places = (np.argsort(np.argsort(X, axis=0), axis=0) + 0.5) / 40
    np.testing.assert_allclose(ranks, places)
    X[:, 3] = 7.0  # a constant column does not count
    model = ChoquetSVC(directions={3: -1}).fit(X, y)
    X[:, 3] = 8.0
    assert (model.degrees(X)[:, 3] == 0).all()
    for wrong, sentence in (
        ("up", "directions='up'; expected 'auto'"),
        ([1, 1], ".1 or -1 for each of 4 columns"),
        ([1, 1, 0, 1], "direction of column 2 is 0"),
        ({"z": 1}, "no column 'z'"),
        ({4: 1}, "no column 4 among the 4"),
        ({0: True}, "is True"),
    ):
        with pytest.raises(fk.ParameterError, match=sentence):
            ChoquetSVC(directions=wrong).fit(X, y)


def test_choosing_by_cross_validation():
    X, y, _ = table(rows=100)
    model = ChoquetSVC("cv", "cv", cv=3).fit(X, y)
    results = model.cv_results_
    assert len(results["C"]) == 4 * 7
    best = results["mean_score"].max()
    first = np.flatnonzero(results["mean_score"] >= best - 1e-12)[0]
    assert (model.C_, model.additivity_) == (results["C"][first], results["additivity"][first])
    again = ChoquetSVC(model.C_, model.additivity_).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), again.decision_function(X))
    assert not hasattr(again, "cv_results_")
    some = ChoquetSVC([1, 100], [None, 2], cv=3).fit(X, y)
    assert [*zip(some.cv_results_["additivity"], some.cv_results_["C"], strict=True)] == [
        (2, 1.0), (2, 100.0), (None, 1.0), (None, 100.0),
    ]  # fmt: skip
    one = some.cv_results_["split0_score"][0]
    from formulakern.estimators.validation import splits

    train, test = splits(3, y, some._seed)[0]
    kernel = fk.choquet(2, scale="probability")
    degrees = some.degrees(X)
    gram = kernel(degrees) / kernel.diagonal(degrees).mean()
    machine = SVC(C=1, kernel="precomputed").fit(gram[np.ix_(train, train)], y[train])
    assert machine.score(gram[np.ix_(test, train)], y[test]) == pytest.approx(one)
    monotone = ChoquetSVC([1, 10], "cv", cv=3, enforce_monotone=True).fit(X, y)
    assert set(monotone.cv_results_["additivity"]) == {1, 2}
    search = GridSearchCV(ChoquetSVC(), {"additivity": [1, 2]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.7


# -- monotone ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("C", "weight", "seed"), [(3.0, 1.0, 0), (0.5, 4.0, 1), (30.0, 1.0, 2)])
def test_constrained_solutions_are_optimal(C, weight, seed):
    """No feasible point that SciPy finds, with every constraint explicit, is below the bound."""
    generator = np.random.default_rng(seed)
    X = generator.random((30, 3))
    y = np.where(X[:, 0] - 0.6 * X[:, 1] + 0.4 * generator.normal(size=30) > 0.3, 1.0, -1.0)
    F = pair_features(X, 2)
    pairs = list(itertools.combinations(range(3), 2))
    A = np.array([
        [float(j == i) for j in range(3)] + [float(i in p and {*p} - {i} <= {*B}) for p in pairs]
        for i in range(3)
        for B in subsets(3) if i not in B
    ])  # fmt: skip
    rules = [
        {"type": "ineq", "fun": lambda w: A @ w[:6]},
        {"type": "ineq", "fun": lambda w: y * (F @ w[:6] + w[6]) - 1 + w[7:]},
        {"type": "ineq", "fun": lambda w: w[7:]},
    ]
    found = minimize(
        lambda w: w[:6] @ w[:6] / 2 / weight + C * w[7:].sum(), np.append(np.zeros(7), np.ones(30)),
        constraints=rules, method="SLSQP", options={"maxiter": 500, "ftol": 1e-12},
    )  # fmt: skip
    losses = Losses(np.arange(30), y, np.ones(30), np.full(30, C))
    solved = solve_monotone(X, losses, 2, weight, 1e-8)
    w = found.x[:6] + np.repeat([max(0.0, -(A @ found.x[:6]).min()), 0.0], 3)  # now A w >= 0
    feasible = w @ w / 2 / weight + losses.value(F @ w + found.x[6])
    assert solved.objective * (1 - solved.gap) <= feasible * (1 + 1e-12)
    assert solved.gap <= 1e-8
    m = solved.moebius
    assert (A @ m).min() >= -1e-12
    assert solved.objective == pytest.approx(
        m @ m / 2 / weight + losses.value(F @ m + solved.intercept), rel=1e-12
    )


@pytest.mark.parametrize("C", [0.1, 10.0, 1e4])
@pytest.mark.parametrize("k", [1, 2])
def test_monotone_machines(k, C):
    X, y, score = table(rows=120, seed=3)
    noisy = np.where(np.random.default_rng(0).random(120) < 0.2, 1 - y, y)
    loose = ChoquetSVC(C, k, tol=1e-8).fit(X, noisy)
    model = ChoquetSVC(C, k, enforce_monotone=True, tol=1e-6).fit(X, noisy)
    assert model.gap_ <= 1e-6
    assert model.monotonicity_degree_ == 1.0
    assert model.monotonicity_degree_error_ == 0.0
    degrees = np.random.default_rng(1).random((200, 4))
    higher = np.clip(degrees + np.random.default_rng(2).random((200, 4)) * 0.3, 0, 1)
    sets = [T for T in subsets(4) if T]
    before, after = (
        sum(model.moebius(T) * rows[:, T].min(axis=1) for T in sets) for rows in (degrees, higher)
    )
    assert (after - before).min() >= -1e-9 * np.abs(before).max()
    sets = [T for T in subsets(4) if T]
    rows = model.degrees(X)
    by_hand = sum(model.moebius(T) * rows[:, T].min(axis=1) for T in sets) + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), by_hand, atol=1e-9)
    if loose.monotonicity_degree_ == 1.0:  # the constraints do not bind: the same machine
        np.testing.assert_allclose(
            loose.decision_function(X), model.decision_function(X), atol=0.05
        )
    regression = ChoquetRegressor(C, k, enforce_monotone=True, tol=1e-6).fit(X, score)
    assert regression.gap_ <= 1e-6
    assert regression.monotonicity_degree_ == 1.0


def test_constraints_that_do_not_bind_change_nothing():
    generator = np.random.default_rng(0)
    X = generator.random((80, 3))
    y = (X.sum(axis=1) + np.minimum(X[:, 0], X[:, 1]) > 1.8).astype(int)
    loose = ChoquetSVC(1.0, 2, tol=1e-8).fit(X, y)
    assert loose.monotonicity_degree_ == 1.0
    tight = ChoquetSVC(1.0, 2, enforce_monotone=True, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(loose.decision_function(X), tight.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(loose.shapley_values_, tight.shapley_values_, atol=1e-4)
    target = X @ [3, 2, 2] + np.minimum(X[:, 1], X[:, 2])
    both = [
        ChoquetRegressor(1.0, 2, enforce_monotone=flag, tol=1e-8).fit(X, target)
        for flag in (False, True)
    ]
    assert both[0].monotonicity_degree_ == 1.0
    np.testing.assert_allclose(both[0].predict(X), both[1].predict(X), atol=1e-4)


def test_monotone_machines_of_several_classes():
    X, y, _ = table(classes=3)
    model = ChoquetSVC(10, 2, enforce_monotone=True, class_weight={1: 2.0}).fit(X, y)
    assert (model.monotonicity_degree_ == 1).all()
    assert model.decision_function(X).shape == (90, 3)
    assert model.score(X, y) > 0.8
    weighted = ChoquetSVC(10, 2, class_weight={1: 2.0}).fit(X, y)
    assert (weighted.predict(X) == model.predict(X)).mean() > 0.9


# -- regression --------------------------------------------------------------------------------


def test_regression():
    X, _, score = table(rows=150)
    model = ChoquetRegressor([1, 10, 100], "cv", cv=3).fit(X, score)
    assert model.directions_[:3].tolist() == [1, 1, -1]
    assert model.score(X, score) > 0.9
    assert len(model.cv_results_["C"]) == 12
    sets = [T for T in subsets(4) if T]
    rows = model.degrees(X)
    by_hand = sum(model.moebius(T) * rows[:, T].min(axis=1) for T in sets) + model.intercept_
    np.testing.assert_allclose(model.predict(X), by_hand, atol=1e-8)
    constant = ChoquetRegressor(enforce_monotone=True, additivity=1).fit(X, np.ones(150))
    np.testing.assert_allclose(constant.predict(X), 1, atol=0.11)
    with pytest.raises(fk.ParameterError, match="epsilon=-1"):
        ChoquetRegressor(epsilon=-1).fit(X, score)


# -- manners -----------------------------------------------------------------------------------


def test_every_kind_of_table():
    X, y, _ = table()
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = ChoquetSVC(additivity=2).fit(frame, y)
    expected = model.decision_function(frame)
    for one in (fk.Table.of(frame), {name: X[:, j] for j, name in enumerate("abcd")}):
        again = ChoquetSVC(additivity=2).fit(one, y)
        np.testing.assert_array_equal(again.decision_function(one), expected)
        np.testing.assert_array_equal(again.feature_names_in_, list("abcd"))
        np.testing.assert_array_equal(again.decision_function(frame), expected)
        with pytest.raises(fk.DataError, match="were a, b, c, d in training"):
            again.predict(fk.Table.of(frame).select(["b", "a", "c", "d"]))
    np.testing.assert_array_equal(ChoquetSVC(additivity=2).fit(X, y).decision_function(X), expected)
    assert model.measure(["b", "a"]) == model.measure([0, 1]) == model.measure({1, -4})
    assert model.moebius("c") == model.moebius(2) == model.moebius([2, 2])
    assert model.measure([]) == model.moebius([]) == 0
    with pytest.raises(fk.ParameterError, match=r"no column 'e'.*; there are"):
        model.moebius("e")
    with pytest.raises(fk.DataError, match="Pass a table of finite numbers"):
        model.predict(frame.assign(a=np.nan))
    with pytest.raises(fk.DataError, match="Pass a table of finite numbers"):
        model.fit([["x", "y"]] * 4, [0, 1] * 2)


def test_blocks_copies_and_refits(monkeypatch):
    X, y, _ = table()
    model = ChoquetSVC(10, 2).fit(X, y)
    expected, shapley = model.decision_function(X), model.shapley_values_
    monkeypatch.setattr(kernel_machines, "TILE_COLUMNS", 7)
    np.testing.assert_allclose(model.decision_function(X), expected)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(again.shapley_values_, shapley)
    assert repr(clone(model)) == "ChoquetSVC(C=10, additivity=2)"
    model.fit(X[:, :3], y)
    assert model.shapley_values_.shape == (3,)
    model.set_params(enforce_monotone=True).fit(X, y)
    assert not hasattr(model, "svc_")
    assert model.gap_ <= model.tol
    assert model.set_params(enforce_monotone=False).fit(X, y).gap_ <= model.tol


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"C": 0}, r"C=\[0\]; expected finite numbers above 0, or 'auto', 'cv'"),
        ({"C": "best"}, "C='best'; expected one of 'cv'"),
        ({"C": []}, "at least one value"),
        ({"additivity": 0}, "additivity=0; expected an integer, at least 1, or None"),
        ({"additivity": 5}, "additivity=5; expected at most the number of columns, 4"),
        (
            {"additivity": 3, "enforce_monotone": True},
            "an additivity of at most 2. Pass additivity=1, 2",
        ),
        ({"enforce_monotone": True}, "enforce_monotone=True with additivity=None"),
        ({"enforce_monotone": 1}, "True or False"),
        ({"scaling": "z"}, "'minmax', 'rank'"),
        ({"tol": 0}, "tol=0"),
        ({"max_iter": 1.5}, "max_iter=1.5"),
    ],
)
def test_parameters_are_checked_in_fit(parameters, sentence):
    X, y, _ = table()
    with pytest.raises(fk.ParameterError, match=sentence):
        ChoquetSVC(**parameters).fit(X, y)


def test_refusals():
    X = table()[0]
    with pytest.raises(NotFittedError):
        ChoquetSVC().predict(X)
    with pytest.raises(NotFittedError):
        _ = ChoquetSVC().shapley_values_
    with pytest.raises(fk.DataError, match="all rows are of one class"):
        ChoquetSVC().fit(X, np.ones(90))
    with pytest.raises(fk.DataError, match="a number for every row"):
        ChoquetRegressor().fit(X, None)
    with pytest.raises(fk.DataError, match="class_weight"):
        ChoquetSVC(class_weight={7: 2.0}).fit(X, [0, 1] * 45)
    with pytest.raises(fk.DataError, match="fewer folds"):
        ChoquetSVC("cv").fit(X[:4], [0, 0, 0, 1])


def test_many_columns_of_zeros():
    X = np.eye(60, 1500)
    with pytest.raises(fk.MagnitudeError, match="Choose a small additivity, such as 2"):
        ChoquetSVC().fit(X + 0.5 * np.eye(60, 1500, 1), [0, 1] * 30)
    assert ChoquetSVC(additivity=1).fit(X, [0, 1] * 30).score(X, [0, 1] * 30) == 1


def test_verbose_says_what_was_chosen(capsys):
    X, y, _ = table(rows=40)
    ChoquetSVC([1, 10], 1, cv=2, verbose=True).fit(X, y)
    assert capsys.readouterr().err.startswith("additivity=1, C=")


def test_a_picture():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X, y, _ = table()
    model = ChoquetSVC(10, 2).fit(pd.DataFrame(X, columns=["a", "b", "c", "d"]), y)
    ax = model.plot_importance()
    assert [text.get_text() for text in ax.get_xticklabels()] == list("abcd")
    drawn = ax.images[0].get_array()
    np.testing.assert_allclose(np.diag(drawn), model.shapley_values_)
    np.testing.assert_allclose(drawn[0, 1], model.interaction_indices_[0, 1])
    assert math.isclose(ax.images[0].norm.vmax, np.abs(drawn).max())
    matplotlib.pyplot.close(ax.figure)
