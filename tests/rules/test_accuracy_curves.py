"""Refitted weights against scikit-learn, and curves of accuracy against the number of rules."""

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import formulakern as fk
from formulakern import ClassRule, RuleEnsemble, RuleList, RuleSet, WeightedRule
from formulakern.rules.features import LinearTerm
from formulakern.rules.refitting import logistic_weights


def table_of(n, seed=0):
    rng = np.random.default_rng(seed)
    table = {"a": rng.integers(0, 2, n), "b": rng.integers(0, 2, n), "x": rng.integers(0, 9, n)}
    score = 2 * table["a"] - table["b"] + 0.4 * table["x"] + rng.normal(0, 1.5, n)
    return table, score


TEXTS = ("a & x >= 4", "b", "x >= 6", "a | b", "x <= 2 & b")


def two_classes(texts=TEXTS):
    items = [WeightedRule(fk.rule(t), 1.0, "no", "yes", 9, 0.5, 0.6, 0.4) for t in texts]
    term = WeightedRule(LinearTerm("x", 1, 7), 0.5, "yes", "no")
    return RuleEnsemble.of([*items, term], ("no", "yes"), (0.5, 0.0))


@pytest.mark.parametrize("ridge", [0.01, 1.0, 40.0])
def test_two_classes_are_those_of_logistic_regression(ridge):
    table, score = table_of(300)
    y = np.where(score > 2, "yes", "no")
    ensemble = two_classes()
    found = ensemble.refitted(table, y, ridge)
    # s_yes − s_no has the coefficients 2β, whose squares count a quarter
    model = LogisticRegression(C=4 / ridge, tol=1e-10, max_iter=10_000)
    covers = ensemble.values(table)
    model.fit(covers, y)
    places = [ensemble.rules.index(term) for term in found.rules]
    difference = found.votes[:, 1] - found.votes[:, 0]
    np.testing.assert_allclose(difference, model.coef_[0][places], atol=1e-5)
    assert found.intercept[1] - found.intercept[0] == pytest.approx(model.intercept_[0], abs=1e-5)
    np.testing.assert_array_equal(found.predict(table), model.predict(covers))
    assert (np.diff(np.abs(difference)) <= 1e-12).all()


@pytest.mark.parametrize("seed", range(3))
def test_several_classes_are_those_of_multinomial_regression(seed):
    table, score = table_of(250, seed)
    names = ("c", "a", "b")  # in the learner's order
    y = np.array(names)[np.digitize(score, [0.5, 3.5])]
    items = [WeightedRule(fk.rule(t), -0.2 if t == "b" else 1.0, k) for k in names for t in TEXTS]
    ensemble = RuleEnsemble.of(items, names)
    model = LogisticRegression(C=1 / 0.3, tol=1e-10, max_iter=10_000)
    model.fit(ensemble.values(table)[:, : len(TEXTS)], y)
    probabilities = model.predict_proba(ensemble.values(table)[:, : len(TEXTS)])
    scores = ensemble.refitted(table, y, 0.3).scores(table)
    ours = np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None])
    order = [names.index(name) for name in model.classes_]
    np.testing.assert_allclose(ours[:, order], probabilities, atol=1e-5)
    votes = np.reshape(ensemble.votes, (3, len(TEXTS), 3)).sum(axis=0)  # a rule in one row
    whole = replace(ensemble.head(len(TEXTS)), votes=votes)
    again = whole.refitted(table, y, 0.3)
    np.testing.assert_allclose(again.scores(table), scores, atol=1e-9)
    assert (np.diff(np.abs(again.votes).max(axis=1)) <= 0).all()
    curves = [e.accuracy_curve(table, y, refit=(table, y), ridge=0.3) for e in (whole, ensemble)]
    assert curves[0][-1] == curves[1][-1]
    for k, accuracy in enumerate(curves[0]):
        assert accuracy == np.mean(whole.head(k).refitted(table, y, 0.3).predict(table) == y)


def test_refitting_minimises_what_it_says():
    """Pairs of three classes: the gradient, computed one number at a time, is zero."""
    table, score = table_of(120)
    names = ("p", "q", "r")
    codes = np.digitize(score, [0.5, 3.5])
    items = [
        WeightedRule(fk.rule(t), 1.0, names[k % 3], names[(k + 1) % 3]) for k, t in enumerate(TEXTS)
    ]
    ensemble = RuleEnsemble.of(items, names)
    values, D = ensemble.values(table), np.sign(ensemble.votes)
    weights, intercept = logistic_weights(values, D, codes, 0.2, np.array([5.0, -3.0]))

    def loss(weights, intercept):
        total = 0.1 * float(weights @ weights)
        for row, code in zip(values, codes, strict=True):
            scores = [sum(row * weights * D[:, k]) + intercept[k] for k in range(3)]
            total += math.log(sum(map(math.exp, scores))) - scores[code]
        return total

    least = loss(weights, intercept)
    for step in (1e-3, -1e-3):
        for k in range(len(weights)):
            assert loss(weights + step * np.eye(len(weights))[k], intercept) > least
        for k in range(3):
            assert loss(weights, intercept + step * np.eye(3)[k]) > least


def test_a_number_is_that_of_ridge_regression():
    table, score = table_of(100)
    items = [WeightedRule(fk.rule(t), 1.0) for t in TEXTS]
    ensemble = RuleEnsemble.of(items, None, [3.0], "price")
    model = Ridge(alpha=0.5).fit(ensemble.values(table), score)
    found = ensemble.refitted(table, score, 0.5)
    assert found.target == "price"
    np.testing.assert_allclose(found.predict(table), model.predict(ensemble.values(table)))
    curve = ensemble.accuracy_curve(table, score, refit=(table, score), ridge=0.5)
    assert curve[0] == pytest.approx(0, abs=1e-12)
    assert curve[-1] == pytest.approx(model.score(ensemble.values(table), score))


def test_a_rule_that_turns_round_is_for_the_other_class():
    table = {"a": [1, 1, 1, 0, 0, 0]}
    y = ["no", "no", "yes", "yes", "yes", "no"]
    item = WeightedRule(fk.rule("a"), 2.0, "yes", "no", 3, 0.5, 1 / 3, 0.5)
    (found,) = RuleEnsemble.of([item], ("no", "yes")).refitted(table, y)
    assert (found.winner, found.loser, found.weight > 0) == ("no", "yes", True)
    assert (found.precision, found.base_rate, found.support) == (pytest.approx(2 / 3), 0.5, 3)
    (found,) = RuleEnsemble.of([item], ("no", "yes", "else")).refitted(table, y)
    assert found.winner == "no"
    assert math.isnan(found.precision)
    alone = WeightedRule(fk.rule("a"), 2.0, "yes", None, 3, 0.5, 1 / 3, 0.5)
    (found,) = RuleEnsemble.of([alone], ("no", "yes")).refitted(table, y)
    assert (found.winner, found.weight < 0, found.precision) == ("yes", True, 1 / 3)


def test_the_default_does_not_shrink():
    """Weights equal an unpenalised fit's, and are finite if the rules separate the classes."""
    table, score = table_of(300)
    y, ensemble = np.where(score > 2, "yes", "no"), two_classes()
    covers = ensemble.values(table)
    model = LogisticRegression(C=1e9, tol=1e-10, max_iter=10_000).fit(covers, y)
    found = ensemble.refitted(table, y)
    places = [ensemble.rules.index(term) for term in found.rules]
    difference = found.votes[:, 1] - found.votes[:, 0]
    np.testing.assert_allclose(difference, model.coef_[0][places], rtol=0.01, atol=1e-3)
    apart = {"a": [1, 1, 0, 0]}
    rule = WeightedRule(fk.rule("a"), 0.1, "yes", "no")
    (one,) = RuleEnsemble.of([rule], ("no", "yes")).refitted(apart, ["yes", "yes", "no", "no"])
    assert 3 < one.weight < 30


def test_classes_without_rows_and_separable_ones():
    table = {"a": [1, 1, 0, 0], "b": [1, 0, 1, 0]}
    items = [WeightedRule(fk.rule("a"), 1.0, 1, 0), WeightedRule(fk.rule("b"), 1.0, 2)]
    ensemble = RuleEnsemble.of(items, (0, 1, 2))
    found = ensemble.refitted(table, [0, 0, 1, 1], ridge=1e-9)
    assert found.predict(table).tolist() == [0, 0, 1, 1]
    assert found.predict({"a": [1, 0], "b": [1, 1]}).tolist() == [0, 1]
    only = RuleEnsemble.of(items, (0, 1, 2)).refitted(table, [1] * 4)
    assert only.predict(table).tolist() == [1] * 4
    empty = RuleEnsemble.of([], (0, 1, 2)).refitted(table, [2, 2, 1, 2])
    assert empty.predict(table).tolist() == [2] * 4


# -- curves ------------------------------------------------------------------------------------


def test_curves_are_those_of_the_first_rules():
    (table, score), (later, later_score) = table_of(200), table_of(80, 1)
    y, t = np.where(score > 2, "yes", "no"), np.where(later_score > 2, "yes", "no")
    ensemble = two_classes()
    curve = ensemble.accuracy_curve(later, t)
    refitted = ensemble.accuracy_curve(later, t, refit=(table, y), ridge=2.0)
    assert len(curve) == len(refitted) == 7
    for k in range(7):
        first = ensemble.head(k)
        assert curve[k] == np.mean(first.predict(later) == t)
        assert refitted[k] == np.mean(first.refitted(table, y, 2.0).predict(later) == t)
    np.testing.assert_array_equal(ensemble.accuracy_curve(later, t, 2), curve[:3])
    np.testing.assert_array_equal(ensemble.accuracy_curve(later, t, 99), curve)
    assert ensemble.accuracy_curve(later, ["maybe"] * 80).tolist() == [0.0] * 7


@pytest.mark.parametrize("kind", [RuleList, RuleSet])
def test_curves_of_lists_and_sets(kind):
    (table, score), (later, later_score) = table_of(200), table_of(80, 1)
    y, t = (np.digitize(s, [0.5, 3.5]).tolist() for s in (score, later_score))
    items = [ClassRule(fk.rule(text), k % 3) for k, text in enumerate(TEXTS)]
    rules = kind(tuple(items), (0, 1, 2), 1).with_counts(table, y)
    curve = rules.accuracy_curve(later, t)
    refitted = rules.accuracy_curve(later, t, refit=(table, y))
    for k in range(len(rules) + 1):
        first = kind(rules.rules[:k], (0, 1, 2), 1)
        assert curve[k] == np.mean(first.predict(later) == t)
        left = np.array(y)[~first.covers(table).any(axis=1)]
        default = int(np.bincount(left).argmax()) if len(left) else 1
        first = kind(rules.rules[:k], (0, 1, 2), default)
        assert refitted[k] == np.mean(first.predict(later) == t)
    np.testing.assert_array_equal(rules.accuracy_curve(later, t, 2), curve[:3])


def test_what_cannot_be_refitted_is_refused():
    table, score = table_of(20)
    y = np.where(score > 2, "yes", "no")
    ensemble = two_classes()
    with pytest.raises(fk.DataError, match=r"20 rows and y of shape \(19,\)"):
        ensemble.refitted(table, y[:-1])
    with pytest.raises(fk.DataError, match=r"y holds 'maybe' \(row 1\)"):
        ensemble.accuracy_curve(table, y, refit=(table, ["no", "maybe"] * 10))
    for ridge in (0, -1, "some", math.nan):
        with pytest.raises(fk.ParameterError, match="ridge="):
            ensemble.refitted(table, y, ridge)
    with pytest.raises(fk.ParameterError, match="max_rules=-1"):
        ensemble.accuracy_curve(table, y, -1)
    number = RuleEnsemble.of([WeightedRule(fk.rule("a"), 1.0)])
    with pytest.raises(fk.DataError, match="not finite"):
        number.refitted(table, [math.nan] * 20)
    listed = RuleList((ClassRule(fk.rule("a"), "no"),), ("no", "yes"), "no")
    with pytest.raises(fk.DataError, match=r"20 rows and y of shape \(3,\)"):
        listed.accuracy_curve(table, y[:3])
    with pytest.raises(fk.ParameterError, match=r"max_rules=1\.5"):
        listed.accuracy_curve(table, y, 1.5)
