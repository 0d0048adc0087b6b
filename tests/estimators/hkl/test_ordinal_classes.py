"""Ordered classes: one score, thresholds, and rules with the same meaning in every form."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from formulakern import DataError, HKLClassifier, HKLClassifierCV, ParameterError, RuleEnsemble
from tests.database import answers


def graded(seed, m, K=4, noise=0.6):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "size": rng.normal(10, 3, m).round(1),
            "color": rng.choice(["red", "blue"], m),
            "doors": rng.integers(2, 6, m),
        }
    )
    s = X["size"] / 3 + 2 * (X["color"] == "red") + rng.normal(0, noise, m)
    return X, np.digitize(s, np.quantile(s, np.arange(1, K) / K))


def test_every_form_predicts_the_same():
    X, y = graded(0, 150)
    Z, t = graded(1, 300)
    model = HKLClassifier(ordinal=True).fit(X, y)
    assert model.gap_ <= 0.01
    assert model.stopped_ == "optimal"
    assert pytest.approx(6000 / np.sqrt(150 * 3)) == model.C_
    predicted = model.predict(Z)
    assert predicted.dtype == y.dtype
    assert np.abs(predicted - t).mean() < 0.5
    rules = model.rules_
    f = model.decision_function(Z)
    assert f.shape == (300,)
    np.testing.assert_allclose(rules.scores(Z)[:, 0], f)
    again = RuleEnsemble.from_json(rules.to_json())
    assert again == rules
    for one in (rules, again):
        np.testing.assert_array_equal(one.predict(Z), predicted)
    np.testing.assert_array_equal(rules.simplified().predict(Z), predicted)
    assert answers(rules, Z.to_dict("list")) == predicted.tolist()
    head = str(rules).splitlines()[0]
    assert head.startswith("class by the sum of weights: 0 up to ")
    assert head.endswith(", 3 above")
    row = Z.iloc[:1]
    explained = model.explain(row)
    assert explained.prediction == predicted[0]
    assert sum(explained.contributions) == pytest.approx(f[0] - rules.intercept[0])
    assert len(set(rules.rules)) == len(rules)  # each rule stands once


def test_probabilities_are_cumulative_and_decide():
    X, y = graded(2, 120, K=5, noise=2.0)
    for tau in (0.0, 0.5, 1.0):
        model = HKLClassifier(ordinal=True, logit_adjustment=tau).fit(X, y)
        theta, f = model.thresholds_, model.decision_function(X)
        assert (np.diff(theta) > 0).all()
        chances = model.predict_proba(X)
        above = 1 / (1 + np.exp(theta - f[:, None]))
        np.testing.assert_allclose(chances.sum(axis=1), 1)
        np.testing.assert_allclose(chances[:, ::-1].cumsum(axis=1)[:, -2::-1], above, atol=1e-12)
        shares = np.bincount(y) / len(y)
        np.testing.assert_allclose(model.adjustment_, tau * np.log(shares))
        best = (np.log(chances) - model.adjustment_).argmax(axis=1)
        np.testing.assert_array_equal(model.predict(X), best)
        # thresholds cost nothing: the chances add up to the numbers of rows
        np.testing.assert_allclose(above.sum(axis=0), [(y > k).sum() for k in range(4)], rtol=1e-6)


def test_the_objective_is_that_of_the_documentation():
    X, y = graded(3, 60)
    model = HKLClassifier(ordinal=True, C=2.0, linear=False, tol=1e-3, rho=1.5).fit(X, y)
    away = model.decision_function(X)[:, None] - model.thresholds_
    signs = np.where(y[:, None] > np.arange(3), 1, -1)
    loss = 2.0 * np.logaddexp(0, -signs * away).sum()
    assert loss < model.objective_
    constant = 2.0 * sum(
        -len(y) * (q * np.log(q) + (1 - q) * np.log(1 - q))
        for q in [np.mean(y > k) for k in range(3)]
    )
    assert model.objective_ < constant


def test_two_classes_are_the_ordinary_model():
    X, y = graded(4, 100, K=2)
    plain = HKLClassifier(C=20.0, tol=1e-3).fit(X, y)
    model = HKLClassifier(ordinal=True, C=20.0, tol=1e-3).fit(X, y)
    f, g = model.decision_function(X), plain.decision_function(X)
    np.testing.assert_array_equal(model.predict(X), (f > 0).astype(int))
    np.testing.assert_allclose(f, g, atol=0.1)
    clear = np.abs(g) > 0.1
    assert clear.mean() > 0.8
    np.testing.assert_array_equal(model.predict(X)[clear], plain.predict(X)[clear])
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=0.025)
    assert max(model.gap_, plain.gap_) <= 1e-3
    assert model.lower_bound_ <= plain.objective_ * (1 + 1e-9)
    assert plain.lower_bound_ <= model.objective_ * (1 + 1e-9)


def test_classes_in_the_order_of_a_categorical():
    X, y = graded(5, 90, K=3)
    names = np.array(["small", "medium", "large"])
    kind = pd.CategoricalDtype(["tiny", *names], ordered=True)
    labels = pd.Series(names[y], name="shirt").astype(kind)
    numbers = HKLClassifier(ordinal=True).fit(X, y)
    for given in (labels, labels.array):
        model = HKLClassifier(ordinal=True).fit(X, given)
        assert model.classes_.tolist() == names.tolist()
        np.testing.assert_array_equal(model.predict(X), names[numbers.predict(X)])
        np.testing.assert_allclose(model.predict_proba(X), numbers.predict_proba(X))
        np.testing.assert_allclose(model.adjustment_, numbers.adjustment_)
        assert model.score(X, np.asarray(given)) == numbers.score(X, y)
    assert str(HKLClassifier(ordinal=True).fit(X, labels).rules_).startswith(
        "shirt by the sum of weights"
    )
    sorted_names = HKLClassifier(ordinal=True).fit(X, names[y])
    assert sorted_names.classes_.tolist() == ["large", "medium", "small"]


def test_few_rules():
    X, y = graded(8, 150)
    model = HKLClassifier(ordinal=True, max_rules=3).fit(X, y)
    whole = HKLClassifier(ordinal=True).fit(X, y)
    assert len(model.rules_) <= 3 < len(whole.rules_)
    assert whole.lower_bound_ <= model.objective_ <= whole.objective_ * 3
    assert (np.diff(model.thresholds_) > 0).all()
    assert model.score(X, y) > 0.6


def test_weights_of_rows_and_classes():
    X, y = graded(6, 60)
    y = np.append(y[:59], 9)  # one class more, of one row
    whole = HKLClassifier(ordinal=True, C=5.0)
    twice = clone(whole).fit(pd.concat([X, X]), np.tile(y, 2))
    weighted = clone(whole).fit(X, y, sample_weight=np.full(60, 2.0))
    np.testing.assert_allclose(twice.predict_proba(X), weighted.predict_proba(X), atol=0.05)
    without = clone(whole).fit(X, y, sample_weight=(y < 9).astype(float))
    assert without.classes_.tolist() == [0, 1, 2, 3, 9]
    chances = without.predict_proba(X)
    assert chances.shape == (60, 5)
    assert not chances[:, 4].any()
    assert 9 not in without.predict(X)
    assert without.rules_.levels == (0, 1, 2, 3)
    balanced = clone(whole).set_params(class_weight="balanced").fit(X, y)
    assert not balanced.adjustment_.any()
    with pytest.raises(DataError, match="one class"):
        clone(whole).fit(X, np.zeros(60))


def test_wrong_parameters():
    X, y = graded(7, 30)
    with pytest.raises(ParameterError, match="expected loss='logistic'"):
        HKLClassifier(ordinal=True, loss="hinge").fit(X, y)
    with pytest.raises(ParameterError, match="ordinal"):
        HKLClassifier(ordinal="yes").fit(X, y)


def test_cross_validation_keeps_the_order():
    X, y = graded(0, 120)
    Z, t = graded(1, 300)
    names = np.array(["low", "fair", "good", "best"])
    labels = pd.Series(pd.Categorical(names[y], categories=names, ordered=True), name="grade")
    model = HKLClassifierCV(ordinal=True, depth_penalties=(4.0,), cv=2).fit(X, labels)
    assert model.classes_.tolist() == names.tolist()
    assert (np.diff(model.thresholds_) > 0).all()
    predicted = model.predict(Z)
    places = np.array([names.tolist().index(one) for one in predicted])
    assert np.abs(places - t).mean() < 0.5
    np.testing.assert_array_equal(model.rules_.predict(Z), predicted)
    chances = model.predict_proba(Z)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    tau, shares = model.logit_adjustment, np.bincount(y) / len(y)
    decided = (np.log(chances) - tau * np.log(shares)).argmax(axis=1)
    np.testing.assert_array_equal(decided, places)
    # the score of a pair is that of its folds, stretched by one factor
    best = model.best_index_
    assert model.cv_results_["mean_score"][best] == model.best_score_
    assert str(model.rules_).startswith("grade by")


def test_cross_validation_of_two_ordered_classes_decides_by_the_sign():
    X, y = graded(0, 90, K=2)
    model = HKLClassifierCV([10.0], [4.0], cv=2, ordinal=True).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X) > 0)
    np.testing.assert_array_equal(model.rules_.predict(X), model.predict(X))
    weighted = HKLClassifierCV([10.0], [4.0], cv=2, ordinal=True, class_weight={0: 1, 1: 9})
    assert weighted.fit(X, y).predict(X).mean() > model.predict(X).mean()


def test_a_class_that_a_fold_does_not_know():
    X, y = graded(0, 60, K=3)
    kept = np.append(np.flatnonzero(y < 2), np.flatnonzero(y == 2)[0])
    X, y = X.iloc[kept], y[kept]  # one row of the highest class, the last
    rows = np.arange(len(y))
    folds = [(rows[:-1], rows[-1:]), (rows[5:], rows[:5])]
    model = HKLClassifierCV([10.0], [4.0], cv=folds, ordinal=True).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert np.isfinite(model.best_score_)
