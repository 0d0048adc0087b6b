"""Learned rules in Python, in SQL and from JSON predict the same as their models."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

import formulakern as fk
from formulakern import (
    HKLClassifier,
    HKLRegressor,
    PRLClassifier,
    RuleEnsemble,
    WeightedRule,
)
from formulakern.rules.features import LinearTerm
from tests.database import answers

GENERATOR = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "odor": GENERATOR.choice(["foul", "it's", "none", None], 150),
        "size in mm": np.where(GENERATOR.random(150) < 0.1, np.nan, GENERATOR.normal(5, 2, 150)),
        "ring": GENERATOR.random(150) < 0.5,
        "legs": GENERATOR.integers(0, 4, 150),
    }
)
LARGE = FRAME["size in mm"] > 6
TWO = np.where((FRAME["odor"] == "foul") | LARGE, "bad", "good")
THREE = np.where(FRAME["odor"] == "foul", "bad", np.where(LARGE, "Bad", "good"))
NUMBER = pd.Series(10 + 3.0 * LARGE - 2.0 * FRAME["ring"] + 0.1 * (FRAME["legs"] > 1), name="price")


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (PRLClassifier(C=5), THREE),
        (HKLClassifier(C=10), TWO),
        (HKLClassifier(C=10), THREE),
        (HKLClassifier(C=10, loss="squared_hinge"), THREE),
        (fk.FormulaSVC("a & b"), THREE),
    ],
)
def test_classes_that_are_dates(model, target):
    """Nanoseconds too: NumPy lists them as whole numbers, which equal none of the dates."""
    codes = np.unique(target, return_inverse=True)[1]
    dates = np.datetime64("2024-01-01", "ns") + codes * np.timedelta64(1, "D")
    found = []
    for y in (codes, dates):
        model.fit(FRAME, y)
        rules = model.rules_ if hasattr(model, "rules_") else model.rules(top=4).ensemble
        told = [(r.weight, r.support, r.precision, r.base_rate) for r in rules]
        found.append((repr(told), (model.predict(FRAME) == y).tolist()))
    assert found[0] == found[1]
    assert sum(found[0][1]) > 100


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (PRLClassifier(C=5), TWO),
        (PRLClassifier(C=5), THREE),
        (HKLClassifier(C=10), TWO),
        (HKLClassifier(C=10), THREE),
        (HKLClassifier(C=10), FRAME["legs"].to_numpy()),
        (HKLRegressor(C=10), NUMBER),
    ],
)
def test_rules_predict_what_the_model_predicts(model, target):
    model.fit(FRAME, target)
    ensemble, predicted = model.rules_, model.predict(FRAME)
    assert len(set(ensemble.rules)) == len(ensemble) == len(model._features)
    assert np.count_nonzero(ensemble.votes) > 1
    np.testing.assert_array_equal(ensemble.predict(FRAME), predicted)
    again = fk.RuleEnsemble.from_json(ensemble.to_json())
    assert again == ensemble
    np.testing.assert_array_equal(again.predict(FRAME), predicted)
    if ensemble.classes is None:
        np.testing.assert_allclose(answers(ensemble, FRAME), predicted, rtol=1e-12)
    else:  # a database adds up in another order, which decides where scores are equal
        ranked = np.sort(ensemble.scores(FRAME), axis=1)
        clear = ranked[:, -1] - ranked[:, -2] > 1e-9
        assert clear.mean() > 0.5
        assert (np.array(answers(ensemble, FRAME)) == predicted)[clear].all()


def test_products_predict_what_the_model_predicts():
    X = pd.DataFrame(GENERATOR.normal(size=(100, 3)), columns=["u", "v", "w"])
    model = PRLClassifier("polynomial", degree=2, C=1.0).fit(X, X["u"] * X["v"] > 0)
    np.testing.assert_array_equal(model.rules_.predict(X), model.predict(X))
    assert answers(model.rules_, X) == model.predict(X).tolist()
    assert fk.RuleEnsemble.from_json(model.rules_.to_json()) == model.rules_


def test_a_regression_speaks_of_a_number():
    model = HKLRegressor(C=10).fit(FRAME, NUMBER)
    assert {(item.winner, item.loser) for item in model.rules_} == {(None, None)}
    assert np.isnan(model.rules_.precision).all()
    assert str(model.rules_).startswith("price = ")
    assert 'AS "predicted price"' in model.rules_.to_sql()
    assert not {"class", "against", "precision"} & {*model.rules_.to_frame()}
    found = model.explain(FRAME[:1])
    assert found.scores == {"price": found.prediction} == {"price": model.predict(FRAME[:1])[0]}
    total = model.intercept_ + sum(found.contributions)
    assert total == pytest.approx(found.prediction)
    first, second = str(found).splitlines()[:2]
    assert first == f"price = {found.prediction:.6g}"
    assert second.endswith("every row (the intercept)")


@pytest.mark.parametrize("kind", [partial(HKLClassifier, linear=False), PRLClassifier])
@pytest.mark.parametrize("target", [TWO, THREE])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_precision_and_base_rate_count_rows(kind, target, class_weight):
    """Whatever classes weigh; only weights that the user gives to rows count."""
    weights = GENERATOR.uniform(0.5, 2, len(FRAME)) * (GENERATOR.random(len(FRAME)) < 0.9)
    for sample_weight in (None, weights):
        model = kind(class_weight=class_weight)
        model.fit(FRAME, target, sample_weight)
        ensemble, counts = model.rules_, np.ones(150) if sample_weight is None else weights
        for item, cover in zip(ensemble, ensemble.covers(FRAME).T, strict=True):
            right = target == item.winner
            assert item.precision == pytest.approx(np.average(right[cover], weights=counts[cover]))
            assert item.base_rate == pytest.approx(np.average(right, weights=counts))
            assert item.support == np.count_nonzero(counts[cover])
            assert item.coverage == pytest.approx(item.support / np.count_nonzero(counts))


def test_explicit_preferences_have_no_precision():
    wishes = [(0, "coffee", "tea"), (1, "tea", "coffee"), (1, "tea", "milk")]
    model = PRLClassifier(degree=1, C=10).fit_preferences({"hour": [7, 16]}, wishes)
    assert np.isnan(model.rules_.precision).all()
    assert np.isnan(model.rules_.base_rate).all()
    assert "precision" not in str(model.rules_)


def test_linear_terms_beside_rules():
    """The ensemble reads the user's table, the model its encoded table."""
    for X in (FRAME, FRAME.to_numpy(dtype=object)):
        model = HKLClassifier().fit(X, TWO)
        np.testing.assert_array_equal(model.rules_.predict(X), model.predict(X))
        assert any(isinstance(rule, LinearTerm) for rule in model.rules_.rules)
        np.testing.assert_allclose(model.rules_.values(X), model._values(X))
        assert " from " in str(model.rules_)


@pytest.mark.parametrize("target", [TWO, THREE])
def test_simplified_models_predict_the_same(target):
    model = PRLClassifier(C=5, degree=2).fit(FRAME, target)
    short = model.rules_.simplified()
    assert len(short) <= len(model.rules_)
    assert "true" not in map(str, short.rules)
    scores = short.scores_of(short.values(FRAME))
    np.testing.assert_allclose(scores, model._scores(FRAME), atol=1e-12)
    np.testing.assert_array_equal(short.predict(FRAME), model.predict(FRAME))
    assert short.simplified() == short


def test_shorter_rules_have_fewer_propositions():
    """A comparison that another one implies is dropped."""
    X = pd.DataFrame({"x": np.arange(40) % 7, "y": np.arange(40) % 3})
    both = fk.rule("x >= 1 & x >= 5")
    item = WeightedRule(both, 1.0, True, False)
    short = fk.RuleEnsemble.of([item], [False, True]).simplified()
    assert [str(item.rule) for item in short] == ["x >= 5"]
    np.testing.assert_array_equal(short.values(X)[:, 0], X["x"] >= 5)


@pytest.mark.parametrize("learner", [HKLClassifier, PRLClassifier])
def test_marked_rules_have_the_precision_that_the_others_suggest(learner):
    """Of the rows of ``a`` a third is False; more are where b holds, too."""
    generator = np.random.default_rng(0)
    X = generator.random((2000, 2)) < [0.3, 0.5]
    y = generator.random(2000) < np.where(X[:, 0], np.where(X[:, 1], 0.45, 0.95), 0.02)
    X = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    rules = learner(max_rules=2).fit(X, y).rules_
    both = [str(item.rule) for item in rules].index("a & b")
    assert not rules[both].winner
    assert rules[both].precision < rules[both].base_rate
    assert rules[both].expected == pytest.approx(1 - y[X["a"]].mean(), abs=0.02)
    assert np.isnan(rules[1 - both].expected)
    assert f"suggest a precision of {rules[both].expected:.1%}." in " ".join(str(rules).split())
    assert RuleEnsemble.from_json(rules.to_json()) == rules
