"""Monotone constraints: predictions never fall, or never rise, with a column."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from formulakern import (
    DataError,
    HKLClassifier,
    HKLClassifierCV,
    HKLRegressor,
    ParameterError,
    PropositionEncoder,
)

COLUMNS = ("age", "bmi", "dose", "smoker")


def table_of(seed, m=40):
    """Two columns of numbers, a count, a Boolean one, and two that are free; some are missing."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 70, m).astype(float),
            "bmi": rng.normal(25, 4, m).round(1),
            "dose": rng.integers(0, 3, m),
            "smoker": rng.integers(0, 2, m),
            "weight": rng.normal(70, 9, m).round(),
            "town": rng.choice(["Ulm", "Bonn", "Kiel"], m),
        }
    )
    X.loc[rng.random(m) < 0.1, "age"] = np.nan
    s = X["age"].fillna(40) / 15 - X["bmi"] / 6 + (X["town"] == "Ulm") + rng.normal(size=m)
    return X, s.to_numpy()


def steps(score, X, column):
    """The changes of a score of rows as a column goes from its lowest value up."""
    known = np.unique(np.quantile(X[column].dropna(), np.arange(9) / 8, method="nearest"))
    if column != "smoker":
        known = np.unique(np.concatenate([known - 0.5, known, [known.min() - 9, known.max() + 9]]))
    return np.diff([score(X.assign(**{column: value})) for value in known], axis=0)


@settings(max_examples=6, deadline=None)
@given(
    st.integers(0, 10**6),
    st.dictionaries(st.sampled_from(COLUMNS), st.sampled_from([-1, 1]), min_size=1),
    st.sampled_from(["two", "ordinal", "numbers"]),
    st.booleans(),
)
def test_predictions_are_monotone(seed, monotone, kind, linear):
    X, s = table_of(seed)
    options = {"monotone": monotone, "linear": linear, "tol": 0.05, "C": 30.0}
    if kind == "numbers":
        model = HKLRegressor(**options).fit(X, s)
        score, among = (
            model.predict,
            [
                lambda Z, rules=rules: rules.predict(Z)
                for rules in (model.rules_, model.rules_.simplified())
            ],
        )
    else:
        y = pd.qcut(s, 2 if kind == "two" else 4, labels=False)
        model = HKLClassifier(ordinal=kind == "ordinal", **options).fit(X, y)
        score = model.decision_function
        among = [
            lambda Z, rules=rules: rules.scores(Z)[:, -1]
            for rules in (model.rules_, model.rules_.simplified())
        ]
    assert model.gap_ <= 0.05
    for column, direction in monotone.items():
        for one in (score, *among):
            assert (direction * steps(one, X, column)).min() >= -1e-9 * np.abs(s).max()
    if kind == "ordinal":  # decisions never fall either
        for column, direction in monotone.items():
            assert (direction * steps(model.predict, X, column)).min() >= 0


def test_equal_and_opposite_columns_do_not_lend_their_weight():
    """In training, income determines age with the other sign, and has no constraint."""
    age = np.array([20.0, 30, 40, 50, 60, 70] * 6)
    X = {"age": age, "income": 1000 - age, "town": ["a", "b"] * 18}
    y = np.where(age > 45, "no", "yes")  # rises with what age must not rise with
    model = HKLClassifier(monotone={"age": 1}, linear=False).fit(X, y)
    assert model.score(X, y) == 1.0
    table = pd.DataFrame(X)
    assert (steps(model.decision_function, table, "age") >= 0).all()
    assert not any(
        "age" in str(item.rule) and item.winner == "no"
        for item in model.rules_
        if ">=" in str(item.rule)
    )


def test_the_constraint_binds_and_costs():
    X, s = table_of(3, 60)
    y = s > np.median(s)
    free = HKLClassifier().fit(X, y)
    wrong = HKLClassifier(monotone={"age": -1, "bmi": 1}).fit(X, y)
    right = HKLClassifier(monotone={"age": 1, "bmi": -1}).fit(X, y)
    assert free.lower_bound_ <= right.objective_
    assert right.objective_ < wrong.lower_bound_
    assert right.score(X, y) > wrong.score(X, y)
    assert all(model.gap_ <= 0.01 for model in (free, wrong, right))


def test_no_column_is_named_is_no_constraint():
    X, s = table_of(5, 60)
    plain = HKLClassifier().fit(X, s > 0)
    assert HKLClassifier(monotone={}).fit(X, s > 0).rules_ == plain.rules_


def test_few_rules_are_monotone_too():
    X, s = table_of(6, 80)
    y = pd.qcut(s, 3, labels=False)
    monotone = {"age": -1, "bmi": 1, "dose": -1}  # mostly against the data
    for model in (
        HKLClassifier(monotone=monotone, ordinal=True, max_rules=4, C=30.0),
        HKLClassifier(monotone=monotone, max_rules=3, C=30.0),
    ):
        model.fit(X, y if model.ordinal else y == 2)
        assert 1 <= len(model.rules_) <= model.max_rules
        for column, direction in monotone.items():
            assert (direction * steps(model.decision_function, X, column)).min() >= -1e-9


def test_columns_by_position_and_of_two_values():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(1, 3, 80), rng.integers(4, 6, 80), rng.normal(size=80)])
    y = (X[:, 0] + rng.normal(size=80) > 1.5).astype(int)
    model = HKLClassifier(monotone={0: 1}).fit(X, y)
    words = " ".join(str(item.rule) for item in model.rules_)
    assert "x0 from 1 to 2" in words  # a number again
    assert "x1 = 4" in model.propositions_
    rows = np.array([[x, 4, 0] for x in (0, 1, 1.4, 1.6, 2, 3)])
    assert (np.diff(model.decision_function(rows)) >= 0).all()
    assert np.ptp(model.decision_function(rows)) > 0


def test_cross_validation_passes_it_on():
    X, s = table_of(8, 60)
    model = HKLClassifierCV(Cs=[1.0, 10.0], depth_penalties=(3.0,), cv=2, monotone={"bmi": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, s > 0)
    assert clone(model).monotone == model.best_estimator_.monotone == {"bmi": 1}
    assert steps(model.decision_function, X, "bmi").min() >= -1e-9


@pytest.mark.parametrize(
    ("monotone", "error", "message"),
    [
        ({"agee": 1}, DataError, 'did you mean "age"'),
        ({"town": 1}, ParameterError, "holds text"),
        ({"age": 0}, ParameterError, r"monotone has 0 for the column 'age'; expected 1"),
        ({"age": 1.5}, ParameterError, "expected 1"),
        ({"age": "+"}, ParameterError, "expected 1"),
        (["age"], ParameterError, "expected a mapping"),
        ({9: 1}, DataError, "9"),
    ],
)
def test_wrong_constraints(monotone, error, message):
    X, s = table_of(0)
    for model in (HKLClassifier(monotone=monotone), HKLClassifierCV(monotone=monotone)):
        with pytest.raises(error, match=message):
            model.fit(X, s > 0)
    with pytest.raises(error, match=message):
        HKLRegressor(monotone=monotone).fit(X, s)


def test_constraints_that_cannot_be_kept():
    X, s = table_of(0)
    numbers = X[["bmi", "dose"]]
    with pytest.raises(ParameterError, match="3 classes; expected two classes, or ordinal=True"):
        HKLClassifier(monotone={"bmi": 1}).fit(X, np.digitize(s, [-1, 1]))
    for encoder in (None, "auto"):
        sparse = csr_array(np.eye(2)[X["smoker"]])
        with pytest.raises(ParameterError, match="propositions of its columns are not known"):
            HKLClassifier(monotone={"x0": 1}, encoder=encoder).fit(sparse, s > 0)
    with pytest.raises(ParameterError, match="is encoded by its values"):
        HKLClassifier(monotone={"bmi": 1}, encoder=PropositionEncoder(nominal=["bmi"])).fit(
            numbers, s > 0
        )
    own = PropositionEncoder(nominal="all")
    with pytest.raises(ParameterError, match="is encoded by its values"):
        HKLClassifier(monotone={"dose": 1}, encoder=own).fit(numbers, s > 0)
    fine = HKLClassifier(monotone={"dose": 1}, encoder=PropositionEncoder(), tol=0.05)
    fine.fit(numbers, s > 0)
    assert steps(fine.decision_function, numbers, "dose").min() >= 0
    single = PropositionEncoder(cut_points=1, numeric="<=")
    counts, y = {"n": [0, 0, 0, 0, 1, 2]}, [0, 0, 0, 0, 1, 1]
    with pytest.raises(DataError, match="no proposition with <= or >="):
        HKLClassifier(rho=1.1, monotone={"n": 1}, encoder=single).fit(counts, y)
    model = HKLClassifier(monotone={"n": 1}, encoder=single, linear=False).fit(counts, y)
    assert model.propositions_ == ("n <= 0",)  # and not n = 0, which is false below
