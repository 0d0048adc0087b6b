"""Ensembles of ordered classes: one score, and thresholds that divide it into levels."""

from dataclasses import replace

import numpy as np
import pytest

from formulakern import ParameterError, RuleEnsemble, WeightedRule, rule
from formulakern.rules.explanation import Explanation
from formulakern.rules.features import LinearTerm
from tests.database import answers


def _risk():
    items = [WeightedRule(rule("smoker = yes"), 20.0), WeightedRule(rule("age >= 50"), -1.5)]
    return RuleEnsemble.of(
        [*items, WeightedRule(LinearTerm("age", 20, 70), 15.0)],
        intercept=[0.5],
        target="risk",
        levels=("low", "never", "middle", "high"),
        thresholds=(5.0, 5.0, 20.0),
    )


def test_levels_are_intervals_of_the_score():
    ensemble = _risk()
    table = {"smoker": ["no", "no", "yes", "yes", None], "age": [20, 60, 20, 60, 35]}
    scores = ensemble.scores(table)[:, 0]
    np.testing.assert_allclose(scores, [0.5, 11.0, 20.5, 31.0, 5.0])
    assert ensemble.predict(table).tolist() == ["low", "middle", "high", "high", "low"]
    assert ensemble.decide(np.array([[5.0], [20.0]])).tolist() == ["low", "middle"]
    text = str(ensemble)
    first = "risk by the sum of weights: low up to 4.5, middle up to 19.5, high above"
    assert text.splitlines()[0] == first
    assert RuleEnsemble.from_json(ensemble.to_json()) == ensemble
    assert ensemble != replace(ensemble, thresholds=np.array([5.0, 6.0, 20.0]))
    explanation = Explanation.of(ensemble, ensemble.values({"smoker": ["yes"], "age": [20]}))
    assert explanation.prediction == "high"
    assert str(explanation).splitlines() == [
        "risk high: the score is 20.5; low up to 5, middle up to 20, high above",
        "   +0.5  every row (the intercept)",
        "  +20.0  smoker = yes",
    ]
    few = ensemble.head(0)
    assert str(few).splitlines()[0] == "Predict low for every row."
    assert '"levels": null' in RuleEnsemble.of([]).to_json()


def test_levels_in_a_database():
    ensemble = _risk()
    rows = {"smoker": ["no", "no", "yes", "yes", None], "age": [20, 60, 20, 60, 35]}
    assert answers(ensemble, rows) == ensemble.predict(rows).tolist()


@pytest.mark.parametrize(
    ("levels", "thresholds"),
    [(("a",), ()), (("a", "b"), ()), (("a", "b", "c"), (2.0, 1.0)), (("a", "b"), (np.nan,))],
)
def test_levels_that_are_none(levels, thresholds):
    with pytest.raises(ParameterError, match="finite threshold between each level and the next"):
        RuleEnsemble.of([], levels=levels, thresholds=thresholds)
    with pytest.raises(ParameterError, match="expected no classes"):
        RuleEnsemble.of([], ("a", "b"), levels=("a", "b"), thresholds=(0.0,))


def test_simplified_levels_predict_the_same():
    items = [WeightedRule(rule(text), w) for text, w in (("n >= 1", 3.0), ("n <= 0", 1.0))]
    ensemble = RuleEnsemble.of(items, levels=(1, 2, 3), thresholds=(1.5, 2.5))
    shorter = ensemble.simplified({"n": int}, missing=False)
    rows = {"n": [-1, 0, 1, 2]}
    assert len(shorter) == 1
    assert shorter.predict(rows).tolist() == ensemble.predict(rows).tolist() == [1, 1, 3, 3]
    assert str(shorter).startswith("y by the sum of weights: 1 up to 0.5, 2 up to 1.5, 3 above")


def test_accuracy_of_the_first_rules():
    ensemble = _risk()
    table = {"smoker": ["no", "no", "yes", "yes", None], "age": [20, 60, 20, 60, 35]}
    y = ["low", "middle", "high", "high", "unknown"]
    curve = [np.mean(ensemble.head(k).predict(table) == np.array(y)) for k in range(4)]
    np.testing.assert_allclose(ensemble.accuracy_curve(table, y), curve)
    for refit in (
        lambda: ensemble.refitted(table, y),
        lambda: ensemble.accuracy_curve(table, y, refit=(table, y)),
    ):
        with pytest.raises(ParameterError, match="ordered classes"):
            refit()
