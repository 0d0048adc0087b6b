"""Weighted rules: votes, tables, JSON."""

import math
import sqlite3

import numpy as np
import pytest

import formulakern as fk
from formulakern import RuleEnsemble, WeightedRule
from formulakern.rules.features import Monomial


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


# -- SQL, LaTeX, products ----------------------------------------------------------------------


def classes_by_sql(ensemble, table):
    """What a database answers to the query of an ensemble."""
    base = sqlite3.connect(":memory:")
    names = list(table)
    quoted = ", ".join('"' + name + '"' for name in names)
    base.execute(f"CREATE TABLE data ({quoted})")
    rows = list(zip(*table.values(), strict=True))
    base.executemany(f"INSERT INTO data VALUES ({', '.join('?' * len(names))})", rows)
    return [row[-1] for row in base.execute(ensemble.to_sql())]


@pytest.mark.parametrize(
    "text",
    [
        "size >= 3", "size < 3 & color = red", "color != red", "~(color = red)",
        "~(color = red & size > 1)", "color = red | size = 1", "color = red ^ size = 1",
        "color = red -> size = 1", "color in {red, blue}", "color not in {red}",
        "color is missing", "size is not missing & ~flag", "size = `weight`", "true", "false",
        "flag <-> size > 2", "(color = red) ~| (size > 2)",
        "`odd name` = \"it's\"",
    ],
)  # fmt: skip
def test_sql_agrees_with_predict(text):
    table = {
        "color": ["red", "red", "blue", None, "red", "green"],
        "size": [1, 5, 1, None, None, 3],
        "weight": [1, 4, None, 2, 3, 3],
        "flag": [1, 0, 1, 0, None, 1],
        "odd name": ["it's", "x", "it's", None, "y", "z"],
    }
    ensemble = RuleEnsemble((weighted(text, 1.0, "b", "a"),), ("a", "b"), (0.5, 0.0))
    assert classes_by_sql(ensemble, table) == ensemble.predict(table).tolist()


def test_sql_of_several_rules(ensemble):
    assert classes_by_sql(ensemble, TABLE) == ensemble.predict(TABLE).tolist()
    none = RuleEnsemble((), (1, 2), (0.0, 1.0))
    assert classes_by_sql(none, TABLE) == [2] * 4
    product = WeightedRule(Monomial(("size", "size")), 0.5, 1, 2, 3, 0.7, 1.0)
    numeric = RuleEnsemble((product,), (1, 2), (0.0, 4.5))
    columns = {"size": [1.0, 2.0, 3.0, 4.0]}
    assert classes_by_sql(numeric, columns) == numeric.predict(columns).tolist() == [2, 2, 1, 1]


def test_latex(ensemble):
    text = ensemble.to_latex(2)
    assert text.count(r"\\") == 3
    assert r"\mathrm{color}" in text
    assert "the rest" in ensemble.to_latex()


def test_products_count_with_their_values():
    items = (WeightedRule(Monomial(("u", "v")), 2.0, "a", "b", 3, 0.75, 1.0),)
    ensemble = RuleEnsemble(items, ("a", "b"))
    table = {"u": [1.0, -2.0, 0.0], "v": [3.0, 1.0, 7.0]}
    np.testing.assert_allclose(ensemble.scores(table), [[6, -6], [-4, 4], [0, 0]])
    np.testing.assert_array_equal(ensemble.covers(table), [[True], [True], [False]])
    again = RuleEnsemble.from_json(ensemble.to_json())
    assert again.rules == ensemble.rules
    assert "u * v" in str(again)
    assert Monomial(("u", "v")).columns == ("u", "v")
    with pytest.raises(fk.DataError, match="holds text"):
        Monomial(("name",))({"name": ["x"]})
