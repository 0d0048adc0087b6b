"""RuleListClassifier: scikit-learn's interface, odd tables, and the meaning of its rules."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

import formulakern as fk
from formulakern import DataError, ParameterError, RuleListClassifier, datasets
from formulakern.estimators.rule_lists.classifier import LEARNERS

COVERING = LEARNERS[:-1]
CUTS = "cut points are quantiles of the unweighted rows"
EXPECTED_FAILURES = {
    "optimal": {
        "check_sample_weight_equivalence_on_dense_data": CUTS,
        "check_sample_weight_equivalence_on_sparse_data": CUTS,
    },
}


@parametrize_with_checks(
    [
        RuleListClassifier(random_state=0),
        RuleListClassifier("cn2-unordered", random_state=0),
        RuleListClassifier("optimal", max_rules=2, max_conditions=1),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES.get(estimator.learner, {}),
)
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


def mixed(m=300, seed=0, noise=0.05):
    """Words with gaps, an order, numbers with gaps, truth values; three classes."""
    rng = np.random.default_rng(seed)
    levels = ["low", "mid", "high"]
    frame = pd.DataFrame(
        {
            "odor": rng.choice(["foul", "none", "almond", None], m),
            "grade": pd.Categorical(rng.choice(levels, m), levels, ordered=True),
            "size": np.where(rng.random(m) < 0.1, np.nan, rng.normal(size=m).round(2)),
            "ring": rng.random(m) < 0.5,
        }
    )
    y = np.where(frame["odor"] == "foul", "bad", "good").astype(object)
    y[(frame["grade"] >= "mid") & (frame["size"] > 0.5)] = "ugly"
    wrong = rng.random(m) < noise
    y[wrong] = rng.choice(["bad", "good", "ugly"], wrong.sum())
    return frame, y.astype(str)


@pytest.mark.parametrize("learner", LEARNERS)
def test_any_table(learner):
    X, y = mixed()
    model = RuleListClassifier(learner, random_state=0).fit(X, y)
    Z, t = mixed(seed=1)
    least = 0.6 if learner == "oner" else 0.8
    assert model.score(Z, t) > least
    assert model.rules_.predict(Z).tolist() == model.predict(Z).tolist()
    shares = model.predict_proba(Z)
    assert np.allclose(shares.sum(axis=1), 1)
    assert np.allclose(shares, model.rules_.predict_proba(Z))
    assert model.stopped_ == ("optimal" if learner == "optimal" else "complete")
    counts = np.sum([[*item.counts] for item in model.rules_], axis=0) + model.rules_.default_counts
    if learner != "cn2-unordered":
        assert counts.tolist() == [np.count_nonzero(y == c) for c in model.classes_]
    assert "class" in str(model.explain(Z.iloc[:1]))


def test_an_ordered_category_is_cut():
    X, y = mixed(noise=0.0)
    model = RuleListClassifier(random_state=0).fit(X, y)
    assert any("grade >= mid" in str(item.rule) for item in model.rules_)


def test_all_cut_points_are_looked_at():
    x = np.arange(1000.0)
    y = (x >= 617) & (x < 811)
    model = RuleListClassifier(random_state=0).fit({"x": x, "noise": x % 7}, y)
    [item] = model.rules_.rules
    assert str(item.rule) == "617 <= x <= 810"


@pytest.mark.parametrize("learner", COVERING)
def test_neither_order_nor_repetition_of_rows_matters(learner):
    X, y = mixed(150)
    model = RuleListClassifier(learner, random_state=0)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = clone(model).fit(X, y, weights)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(len(y)), weights))
    assert clone(model).fit(X.iloc[rows], y[rows]).rules_ == weighted.rules_


def test_class_weights_multiply():
    X, y = mixed(150)
    weight = {"bad": 2, "good": 1, "ugly": 0.5}
    one = RuleListClassifier(random_state=0, class_weight=weight).fit(X, y)
    other = RuleListClassifier(random_state=0).fit(X, y, [weight[c] for c in y])
    assert one.rules_ == other.rules_


@pytest.mark.parametrize("learner", LEARNERS)
def test_encoded_tables(learner):
    X, y = datasets.tic_tac_toe()
    most = 2 if learner == "optimal" else None  # more take long
    make = partial(RuleListClassifier, learner, random_state=0, max_rules=most)
    plain = make().fit(X, y)
    encoder = fk.PropositionEncoder()
    given = make(encoder=encoder).fit(X, y)
    encoded = encoder.fit_transform(X)
    dense = make(encoder=None).fit(encoded, y)
    sparse = make().fit(sp.csr_array(encoded), y)
    several = OneHotEncoder(dtype=np.uint8)
    hot = make(encoder=several).fit(np.asarray(X), y)
    assert [str(item.rule) for item in dense.rules_] == [str(item.rule) for item in sparse.rules_]
    predictions = given.predict(X)
    assert np.array_equal(given.rules_.predict(X), predictions)
    assert np.array_equal(dense.predict(encoded), predictions)
    assert np.array_equal(sparse.predict(sp.csr_array(encoded)), predictions)
    assert hot.score(np.asarray(X), y) == pytest.approx(given.score(X, y), abs=0.1)
    assert plain.score(X, y) > 0.69
    negated = make(encoder=None, relations=("=", "!="))
    negated.fit(encoded, y)
    assert np.array_equal(negated.rules_.predict(encoded), negated.predict(encoded))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(LEARNERS), st.integers(1, 12), st.integers(2, 4))
def test_small_and_odd_tables(seed, learner, m, n_classes):
    """All-missing and constant columns, contradictory rows, classes of one row, odd words."""
    rng = np.random.default_rng(seed)
    X = {
        "`a\n": rng.choice([None, "x", "y & z", "", "= 1"], m),
        "nothing": np.full(m, np.nan),
        "constant": ["c"] * m,
        "number": rng.choice([np.nan, 1e308, -1e308, np.inf, 0.1, 0.2], m),
        "flag": rng.integers(0, 2, m),
    }
    y = rng.integers(0, n_classes, m)
    model = RuleListClassifier(learner, random_state=0, significance=0.0, min_weight=1.0)
    if len(set(y.tolist())) < 2:
        with pytest.raises(DataError, match="two classes"):
            model.fit(X, y)
        return
    model.fit(X, y)
    predictions = model.predict(X)
    assert set(predictions.tolist()) <= set(y.tolist())
    assert np.array_equal(model.rules_.predict(X), predictions)
    unseen = {name: list(reversed(["new", None, "x"] * m))[:m] for name in X}
    unseen |= {"number": np.full(m, 7.5), "flag": [None] * m, "nothing": np.full(m, 3.0)}
    assert set(model.predict(unseen).tolist()) <= set(y.tolist())


def test_a_table_of_missing_values_only():
    with pytest.raises(DataError, match="numeric and constant"):
        RuleListClassifier().fit({"a": [2.0, 2.0]}, [0, 1])
    model = RuleListClassifier("oner").fit({"a": [None, None], "b": [1, 2]}, [0, 1])
    assert model.predict({"a": [None], "b": [2]}).tolist() == [1]


def test_contradictory_rows_go_to_the_larger_class():
    model = RuleListClassifier("oner").fit({"a": ["x"] * 3 + ["y"] * 2}, [0, 0, 1, 1, 1])
    assert model.predict({"a": ["x", "y"]}).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"learner": "corels"}, "learner='corels'"),
        ({"relations": ("<",)}, "relations"),
        ({"max_rules": 0}, "max_rules=0"),
        ({"max_conditions": 1.5}, "max_conditions"),
        ({"optimizations": -1}, "optimizations=-1"),
        ({"beam_width": 0}, "beam_width=0"),
        ({"significance": 1.0}, "significance=1.0"),
        ({"penalty": -0.1}, "penalty=-0.1"),
        ({"tol": None}, "tol=None"),
        ({"min_weight": -1}, "min_weight=-1"),
        ({"min_bucket": 0}, "min_bucket=0"),
        ({"time_limit": -1}, "time_limit=-1"),
        ({"encoder": "none"}, "encoder='none'"),
    ],
)
def test_wrong_parameters(parameters, said):
    with pytest.raises(ParameterError, match=said):
        RuleListClassifier(**parameters).fit({"a": ["x", "y"]}, [0, 1])


def test_what_is_refused():
    X, y = {"a": ["x", "y"]}, [0, 1]
    with pytest.raises(NotFittedError):
        RuleListClassifier().predict(X)
    with pytest.raises(DataError, match="y to be passed"):
        RuleListClassifier().fit(X, None)
    with pytest.raises(DataError, match="3"):
        RuleListClassifier().fit(X, [0, 1, 1])
    model = RuleListClassifier("oner").fit(X, y)
    with pytest.raises(DataError, match="column"):
        model.predict({"b": ["x"]})
    assert model.explain(X).predictions.tolist() == model.predict(X).tolist()
    with pytest.raises(DataError, match="for one row"):
        assert model.explain(X).rule is None


@pytest.mark.filterwarnings("ignore:the model predicts .* for all training rows")
def test_limits():
    X, y = mixed()
    model = RuleListClassifier(max_conditions=1, random_state=0).fit(X, y)
    assert {item.n_conditions for item in model.rules_} == {1}
    model = RuleListClassifier("cn2", max_rules=2).fit(X, y)
    assert len(model.rules_) == 2
    with pytest.warns(ConvergenceWarning, match="time limit: the list has 0 rules so far. Allow"):
        model = RuleListClassifier(time_limit=0).fit(X, y)
    assert (model.stopped_, len(model.rules_)) == ("time_limit", 0)
    assert set(model.predict(X)) == {"good"}


def test_rules_are_shown(capsys):
    X, y = mixed()
    model = RuleListClassifier(verbose=True, random_state=0).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    lines = [line for line in err.splitlines() if line.startswith("if ")]
    assert len(lines) == len(model.rules_)
    assert lines[0].startswith(f"if {model.rules_[0].rule} then {model.rules_[0].label} (")


def test_pickling():
    X, y = mixed()
    model = RuleListClassifier(random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert again.rules_ == model.rules_
    assert again.predict(X).tolist() == model.predict(X).tolist()


@pytest.mark.filterwarnings("ignore:the model predicts .* for all training rows")
def test_an_optimal_list_has_a_certificate(capsys):
    X, y = datasets.tic_tac_toe()
    model = RuleListClassifier("optimal", max_conditions=1, penalty=0.01, verbose=True).fit(X, y)
    assert model.stopped_ == "optimal"
    assert model.gap_ == pytest.approx(0, abs=1e-12)
    assert model.objective_ == pytest.approx(
        1 - model.score(X, y) + 0.01 * len(model.rules_), abs=1e-12
    )
    assert model.certificate_.startswith("The objective is the least over all lists of at most 3")
    assert len(model.history_) > 0
    assert "lower bound" in capsys.readouterr().err
    early = RuleListClassifier("optimal", max_rules=5, time_limit=0)
    with pytest.warns(ConvergenceWarning, match=r"smaller by 0\.\d+\. Allow more time"):
        early.fit(X, y)
    assert early.stopped_ == "time_limit"
    assert early.bound_ <= model.objective_
    assert early.gap_ == early.objective_ - early.bound_ > 0
    assert "The objective is at most 0." in early.certificate_
    other = early.set_params(learner="oner", time_limit=None).fit(X, y)
    assert not hasattr(other, "bound_")
    assert not hasattr(other, "certificate_")  # another learner proves nothing


def test_degrees_are_refused():
    X = np.random.default_rng(0).random((60, 2))
    model = RuleListClassifier(encoder=fk.PropositionEncoder(graded=True))
    with pytest.raises(ParameterError, match="gives degrees of truth"):
        model.fit(X, X[:, 0] > 0.5)


@pytest.mark.parametrize("learner", ["ripper", "irep"])
@pytest.mark.parametrize("seed", range(3))
def test_a_table_in_which_every_row_is_repeated(learner, seed):
    """Copies of a row are grown on and pruned on, whether they are rows or weights."""
    columns = {
        "fever": ["none", "high", "mild", "high", "none", "none", "mild", "high"],
        "age": [34, 61, 47, 8, 25, 70, 66, 52],
    }
    y = np.array(["no", "yes", "no", "yes", "no", "yes", "no", "yes"])
    model = fk.RuleListClassifier(learner, random_state=seed)
    repeated = {name: values * 6 for name, values in columns.items()}
    rules = model.fit(repeated, np.tile(y, 6)).rules_
    assert model.score(repeated, np.tile(y, 6)) == 1
    assert str(model.fit(columns, y, np.full(8, 6.0)).rules_) == str(rules)
