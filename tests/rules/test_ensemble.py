"""Weighted rules: votes, tables, JSON."""

import math

import numpy as np
import pytest

import formulakern as fk
from formulakern import RuleEnsemble, WeightedRule


def weighted(text, weight, winner, loser, precision=1.0):
    return WeightedRule(fk.rule(text), weight, winner, loser, 3, 0.3, precision)


@pytest.fixture
def ensemble():
    return RuleEnsemble(
        (
            weighted("color = red", 2.0, "a", "b"),
            weighted("size >= 3", 1.5, "b", "c"),
            weighted("color = blue & size < 2", 0.25, "c", "c"),
        ),
        ("a", "b", "c"),
        (0.0, 0.1, 0.0),
    )


TABLE = {"color": ["red", "red", "blue", None], "size": [1, 5, 1, None]}


def test_scores_are_the_votes_of_the_rules_that_fire(ensemble):
    expected = [[2, -2 + 0.1, 0], [2, -0.5 + 0.1, -1.5], [0, 0.1, 0.25], [0, 0.1, 0]]
    np.testing.assert_allclose(ensemble.scores(TABLE), expected)
    assert ensemble.predict(TABLE).tolist() == ["a", "a", "c", "b"]
    np.testing.assert_array_equal(
        ensemble.covers(TABLE),
        [[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 0]],
    )


def test_an_ensemble_is_a_sequence(ensemble):
    assert len(ensemble) == 3
    assert [item.weight for item in ensemble] == [2.0, 1.5, 0.25]
    assert ensemble[1].winner == "b"
    assert len(ensemble.head(2)) == 2
    assert ensemble.head(0).predict(TABLE).tolist() == ["b"] * 4


def test_it_prints_as_a_table(ensemble):
    lines = str(ensemble).splitlines()
    assert lines[0].split() == ["weight", "class", "against", "coverage", "precision", "rule"]
    assert lines[1].split(None, 5) == ["2.00", "a", "b", "30.0%", "100.0%", "color = red"]
    assert "the rest" in lines[3]
    assert "&lt;" in ensemble._repr_html_()
    many = RuleEnsemble(tuple(weighted("x = 1", 1.0, 0, 1) for _ in range(70)), (0, 1))
    assert str(many).splitlines()[-1] == "… and 10 more rules"
    tiny = RuleEnsemble((weighted("x = 1", 1e-9, 0, 1, math.nan),), (0, 1))
    assert "1.000e-09" in str(tiny)
    assert len(str(RuleEnsemble((), (0, 1))).splitlines()) == 1


def test_json_round_trip(ensemble):
    again = RuleEnsemble.from_json(ensemble.to_json())
    assert again.rules == ensemble.rules
    assert again.classes == ensemble.classes
    np.testing.assert_array_equal(again.scores(TABLE), ensemble.scores(TABLE))
    numbers = RuleEnsemble(
        (weighted("x = 1", 1.0, np.int64(3), np.int64(4), math.nan),), (np.int64(3), np.int64(4))
    )
    read = RuleEnsemble.from_json(numbers.to_json())
    assert read.classes == (3, 4)
    assert math.isnan(read[0].precision)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"rules": [{}]}', "nonsense"])
def test_what_is_no_ensemble_is_refused(text):
    with pytest.raises(fk.DataError, match="not an ensemble"):
        RuleEnsemble.from_json(text)


def test_classes_and_intercepts_must_fit():
    with pytest.raises(fk.ParameterError, match="'z'"):
        RuleEnsemble((weighted("x = 1", 1.0, "z", "a"),), ("a", "b"))
    with pytest.raises(fk.ParameterError, match="1 intercepts for 2"):
        RuleEnsemble((), ("a", "b"), (1.0,))
    odd = RuleEnsemble((weighted("x = 1", 1.0, (1,), (2,)),), ((1,), (2,)))
    with pytest.raises(fk.DataError, match="JSON"):
        odd.to_json()


def test_frame(ensemble):
    pytest.importorskip("pandas")
    frame = ensemble.to_frame()
    assert frame.shape == (3, 7)
    assert frame["rule"][0] == "color = red"
