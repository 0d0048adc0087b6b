"""Preference learners of ordered classes and of monotone constraints, against whole games."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import formulakern as fk
from formulakern import PRLClassifier, PRLClassifierCV

TIGHT = {"tol": 1e-4, "epochs": 400}
WEIGHTS = "cut points are quantiles of the unweighted rows"
ONE = "decision_function has one score, not one for each class"
generators = st.integers(0, 10_000).map(np.random.default_rng)


@parametrize_with_checks(
    [PRLClassifier(ordinal=True, degree=1, tol=0.1)],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
        "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
        "check_classifiers_classes": ONE,
        "check_classifiers_train": ONE,
    },
)
def test_scikit_learn_estimator_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


# -- the slow definition ---------------------------------------------------------------------------


def value_of(columns, C):
    """1 / min Σλ + C Σξ with Mλ ≥ 1 − ξ, a linear program written out."""
    n, k = columns.shape
    found = linprog(
        np.append(np.ones(k), np.full(n, C)),
        A_ub=-np.hstack([columns, np.eye(n)]),
        b_ub=-np.ones(n),
        bounds=(0, None),
    )
    assert found.status == 0
    return 1 / found.fun


def quiet(model, *data):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no rule has weight")
        return model.fit(*data)


def ordered_game(X, y, K, a=2.0):
    """All columns of rules of up to two propositions, and of thresholds, on rows (i, k)."""
    side = np.where(y[:, None] > np.arange(K - 1), 2.0, -2.0)
    columns = []
    for length in (1, 2):
        for w in itertools.combinations(range(X.shape[1]), length):
            values = X[:, list(w)].all(axis=1)[:, None] / a ** (length - 1) * side
            columns += [values.ravel(), -values.ravel()]
    columns += [side.ravel(), -side.ravel()]
    columns += [(-side * (np.arange(K - 1) >= j)).ravel() for j in range(1, K - 1)]
    return np.stack(columns, axis=1)


@settings(deadline=None, max_examples=10)
@given(generators, st.sampled_from([0.1, 0.5, 5.0]), st.integers(2, 4))
def test_the_value_of_ordered_classes_is_that_of_the_whole_game(generator, C, K):
    X = (generator.random((12, 4)) < 0.5).astype(int)
    y = np.concatenate([np.arange(K), generator.integers(0, K, 12 - K)])
    model = quiet(PRLClassifier(ordinal=True, C=C, encoder=None, **TIGHT), X, y)
    value = value_of(ordered_game(X, y, K), C)
    assert model.value_ == pytest.approx(value, rel=2e-4)
    assert model.value_ - 1e-9 <= value <= model.bound_ + 1e-6
    ends = model.rules_.thresholds
    assert (np.diff(ends) >= 0).all()
    scores = model.decision_function(X)
    np.testing.assert_array_equal(model.predict(X), np.searchsorted(ends, scores))
    if K == 2:  # the classifier of two classes, with another name for its scores
        two = quiet(PRLClassifier(C=C, encoder=None, **TIGHT), X, y)
        assert two.value_ == pytest.approx(model.value_, rel=2e-4)
        assert ends.tolist() == [0.0]


def people(generator, m=150):
    X = pd.DataFrame(
        {
            "age": generator.integers(20, 80, m).astype(float),
            "bmi": generator.normal(25, 4, m).round(),
            "sex": generator.choice(["m", "f"], m),
        }
    )
    X.loc[generator.random(m) < 0.05, "age"] = np.nan
    risk = 0.05 * X["age"].fillna(50) + 0.1 * X["bmi"] + (X["sex"] == "m")
    return X, (risk + generator.normal(0, 0.7, m)).to_numpy()


def test_ordered_classes_are_a_scorecard():
    X, risk = people(np.random.default_rng(0))
    codes = np.digitize(risk, np.quantile(risk, [0.3, 0.6, 0.8]))
    names = ["low", "mid", "high", "top"]
    y = pd.Series(pd.Categorical.from_codes(codes, names, ordered=True), name="risk")
    model = PRLClassifier(ordinal=True, max_rules=None).fit(X, y)
    assert model.classes_.tolist() == names
    assert model.rules_.levels == tuple(names)
    assert model.stopped_ == "optimal"
    assert model.gap_ <= 0.01 * model.bound_
    assert str(model.rules_).startswith("risk by the sum of weights: low up to ")
    np.testing.assert_array_equal(model.rules_.predict(X), model.predict(X))
    plain = PRLClassifier(max_rules=None).fit(X, codes)
    off = np.abs(np.searchsorted(model.rules_.thresholds, model.decision_function(X)) - codes)
    assert off.mean() <= np.abs(codes - np.median(codes)).mean() / 2
    assert len(model.rules_) < len(plain.rules_)
    few = PRLClassifier(ordinal=True, max_rules=3).fit(X, y)
    assert len(few.rules_) <= 3
    assert model.value_ <= few.bound_ * (1 + 1e-6)
    assert few.bound_ * (1 - 5 * few.tol) <= model.bound_
    assert few.value_ <= few.bound_
    assert few.accuracy_curve(X, np.asarray(y))[-1] == few.score(X, np.asarray(y))
    assert model.explain(X[:1]).prediction == model.predict(X[:1])[0]
    without = PRLClassifier(ordinal=True).fit(X, y, sample_weight=(codes != 1).astype(float))
    assert without.rules_.levels == ("low", "high", "top")
    assert without.classes_.tolist() == names


# -- monotone constraints --------------------------------------------------------------------------


def sweeps(X, column, values):
    """Every row with each of the values, tables stacked; and how many values there are."""
    parts = [X.assign(**{column: value}) for value in values]
    return pd.concat(parts, ignore_index=True), len(values)


def allowed_game(X, y, leaves, directions, a=2.0):
    """Columns of all rules that never vote against a direction, found by sweeping."""
    side = np.where(y, 2.0, -2.0)
    rules = list(map(fk.Rule, leaves))
    values = [rule(X) for rule in rules]
    swept = {column: sweeps(X, column, np.arange(-1, 9)) for column in directions}
    moved = {c: [rule(table).reshape(n, -1) for rule in rules] for c, (table, n) in swept.items()}
    columns = [side, -side]
    for length in (1, 2):
        for w in itertools.combinations(range(len(rules)), length):
            ways = {1, -1}
            for column, direction in directions.items():
                whole = np.all([moved[column][j] for j in w], axis=0).astype(int)
                steps = np.diff(whole, axis=0) * direction
                ways -= {way for way in (1, -1) if (way * steps < 0).any()}
            column = side * np.all([values[j] for j in w], axis=0) / a ** (length - 1)
            columns += [way * column for way in ways]
    return np.stack(columns, axis=1)


@settings(deadline=None, max_examples=6)
@given(generators, st.sampled_from([0.2, 2.0]), st.sampled_from([{"u": 1}, {"u": -1, "v": 1}]))
def test_the_value_is_that_of_the_game_that_is_left(generator, C, directions):
    X = pd.DataFrame(generator.integers(1, 8, (16, 2)), columns=["u", "v"])
    X["w"] = generator.choice(["a", "b"], 16)
    y = np.append([0, 1], generator.integers(0, 2, 14))
    options = {"C": C, "encoder": fk.PropositionEncoder(cut_points=3, negations=True)}
    free = quiet(PRLClassifier(**options), X, y)
    options |= {"monotone": directions, **TIGHT}
    model, few = (quiet(PRLClassifier(max_rules=n, **options), X, y) for n in (None, "auto"))
    leaves = fk.PropositionEncoder(cut_points=3, negations=True).fit(X).propositions_
    assert set(model.propositions_) <= {str(leaf) for leaf in leaves}
    value = value_of(allowed_game(X, y, leaves, directions), C)
    assert model.value_ == pytest.approx(value, rel=2e-4)
    assert value <= free.bound_ + 1e-9
    for one in (model, few):
        assert one.value_ - 1e-9 <= value <= one.bound_ + 1e-6
        assert_monotone(one, X, directions, np.arange(-1, 9))


def assert_monotone(model, X, directions, values):
    for column, direction in directions.items():
        swept, n = sweeps(X, column, values)
        steps = np.diff(model.decision_function(swept).reshape(n, -1), axis=0)
        assert (direction * steps >= -1e-12).all()


@pytest.mark.parametrize(
    "options",
    [
        {"degree": 3, "depth_penalty": 1.5},
        {"max_rules": 3},
        {"features": "conjunctions"},
        {"solver": "linprog", "budget": 40, "epochs": 5},
        {"ordinal": True},
        {"encoder": fk.PropositionEncoder(negations=True)},
    ],
)
def test_predictions_do_not_move_the_wrong_way(options):
    X, risk = people(np.random.default_rng(1))
    y = np.digitize(risk, np.quantile(risk, [0.3, 0.7] if "ordinal" in options else [0.5]))
    wrong = {"age": -1, "bmi": 1}  # of which the data know nothing
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no rule has weight")
        for directions in ({"age": 1, "bmi": 1}, wrong):
            made = fk.PublishedPRL if "solver" in options else PRLClassifier
            model = made(monotone=directions, **options).fit(X, y)
            assert_monotone(model, X, directions, np.arange(10.0, 90.0, 2))
            said = " ".join(map(str, model.rules_.rules))
            assert "age =" not in said
            assert "age !=" not in said


def test_monotone_in_cross_validation():
    X, risk = people(np.random.default_rng(2), 90)
    y = risk > np.median(risk)
    search = PRLClassifierCV(degrees=[2], cv=2, monotone={"age": 1, 1: 1}).fit(X, y)
    assert_monotone(search, X, {"age": 1, "bmi": 1}, np.arange(10.0, 90.0, 2))
    assert search.score(X, y) > 0.7


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"monotone": {"height": 1}}, "height"),
        ({"monotone": {"age": 0}}, "monotone has 0 for the column 'age'"),
        ({"monotone": {"sex": 1}}, 'column "sex" of monotone holds text'),
        ({"monotone": ["age"]}, "expected a mapping"),
        ({"monotone": {"age": 1}, "features": "a & b"}, "features='a & b'; expected"),
        ({"monotone": {"age": 1}, "encoder": None}, "encoder=None"),
        ({"ordinal": True, "features": "polynomial"}, "with features='polynomial'"),
        ({"ordinal": 1}, "ordinal=1"),
    ],
)
def test_refused_options(options, message):
    X, risk = people(np.random.default_rng(0), 40)
    if options.get("encoder", "") is None:
        X = X[["bmi"]].gt(25).rename(columns={"bmi": "age"}).astype(int)
    with pytest.raises((fk.ParameterError, fk.DataError), match=message):
        PRLClassifier(**options).fit(X, risk > 5)


def test_refused_targets():
    X, risk = people(np.random.default_rng(0), 40)
    three = np.digitize(risk, np.quantile(risk, [0.3, 0.7]))
    with pytest.raises(fk.ParameterError, match="with 3 classes; expected two classes"):
        PRLClassifier(monotone={"age": 1}).fit(X, three)
    with pytest.raises(fk.ParameterError, match="ordinal=True is only for fit"):
        PRLClassifier(ordinal=True).fit_preferences(X, [(0, "a", "b")])
    with pytest.raises(fk.ParameterError, match="no ranking of all classes"):
        PRLClassifier(ordinal=True).fit(X, three).predict_ranking(X)
