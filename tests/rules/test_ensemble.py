"""Votes of rules: one row of a matrix for each, as a value, a sequence, and a predictor."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import formulakern as fk
from formulakern import RuleEnsemble, WeightedRule
from formulakern.rules.explanation import Explanation
from formulakern.rules.features import LinearTerm, Monomial
from tests import oracle


def weighted(text, weight, winner=None, loser=None, precision=1.0):
    return WeightedRule(fk.rule(text), weight, winner, loser, 3, 0.3, precision)


@pytest.fixture
def ensemble():
    return RuleEnsemble.of(
        (
            weighted("color = red", 2.0, "a", "b"),
            weighted("size >= 3", 1.5, "b", "c"),
            weighted("color = blue & size < 2", 0.25, "c"),
        ),
        ("a", "b", "c"),
        (0.0, 0.1, 0.0),
    )


@pytest.fixture
def price():
    items = (weighted("color = red", 2.0), weighted("size < 3", -0.5, precision=math.nan))
    return RuleEnsemble.of(items, intercept=[10.0], target="price")


TABLE = {"color": ["red", "red", "blue", None], "size": [1, 5, 1, None]}


@st.composite
def any_votes(draw):
    """Rows of votes of every kind, for two to four classes; one of them may be None."""
    classes = draw(st.sampled_from(["ab", "abc", (None, 1, "1", 2.5)]))
    vote = st.sampled_from([0.0, 0.0, -2.0, -0.5, 0.5, 2.0])
    texts = draw(st.lists(st.sampled_from(["color = red", "size >= 3", "size < 2"]), max_size=4))
    rows = [[draw(vote) for _ in classes] for _ in texts]
    counts = [1] * len(rows), [0.5] * len(rows), [0.25] * len(rows)
    votes = np.reshape(rows, (-1, len(classes)))
    start = [draw(vote) for _ in classes]
    return RuleEnsemble(tuple(map(fk.rule, texts)), votes, classes, start, *counts)


@given(any_votes())
def test_rows_of_any_votes(ensemble):
    """Items give the ensemble back, and their votes added one by one give the scores."""
    assert RuleEnsemble.of(list(ensemble), ensemble.classes, ensemble.intercept) == (
        replace(ensemble, base_rate=math.nan)
    )
    assert RuleEnsemble.from_json(ensemble.to_json()) == ensemble
    for item, votes in zip(ensemble, ensemble.votes, strict=True):
        assert item.weight == votes[ensemble.classes.index(item.winner)]
        assert abs(item.weight) == np.abs(votes).max()
    table = {name: values[:3] for name, values in TABLE.items()}
    for row, scores in enumerate(ensemble.scores(table)):
        one = {name: values[row] for name, values in table.items()}
        assert dict(zip(ensemble.classes, scores, strict=True)) == oracle.scores_of(ensemble, one)


def test_votes_of_all_kinds(ensemble, price):
    np.testing.assert_array_equal(ensemble.votes, [[2, -2, 0], [0, 1.5, -1.5], [0, 0, 0.25]])
    np.testing.assert_array_equal(price.votes, [[2], [-0.5]])
    against = RuleEnsemble.of([weighted("size < 3", -0.5, "b")], ("a", "b"))
    np.testing.assert_array_equal(against.votes, [[0, -0.5]])
    shapes = [(item.weight, item.winner, item.loser) for item in (*ensemble, *price, *against)]
    assert shapes == [
        (2.0, "a", "b"), (1.5, "b", "c"), (0.25, "c", None), (2.0, None, None), (-0.5, None, None),
        (-0.5, "b", None),
    ]  # fmt: skip
    several = weighted("size < 3", -2.0, "b")
    several = replace(several, votes=(1.5, -2.0, 0.5))
    made = RuleEnsemble.of([several], "abc")
    np.testing.assert_array_equal(made.votes, [[1.5, -2, 0.5]])
    assert str([*made]) == str([several])  # nan is not nan


def test_scores_are_the_votes_of_the_rules_that_fire(ensemble):
    expected = [[2, -2 + 0.1, 0], [2, -0.5 + 0.1, -1.5], [0, 0.1, 0.25], [0, 0.1, 0]]
    np.testing.assert_allclose(ensemble.scores(TABLE), expected)
    assert ensemble.predict(TABLE).tolist() == ["a", "a", "c", "b"]
    np.testing.assert_array_equal(
        ensemble.covers(TABLE),
        [[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 0]],
    )


def test_without_classes_the_score_is_the_prediction(price):
    np.testing.assert_array_equal(price.predict(TABLE), [11.5, 12, 9.5, 10])
    np.testing.assert_array_equal(price.scores(TABLE)[:, 0], price.predict(TABLE))


def test_classes_of_several_kinds_are_predicted_as_they_are():
    for classes in ((1, "1"), (None, 2), (True, "x"), ((1,), (2,)), (2.5, 1)):
        made = RuleEnsemble.of([weighted("color = red", 1.0, classes[1])], classes)
        assert made.predict(TABLE).tolist() == [classes[k] for k in (1, 1, 0, 0)]


def test_an_ensemble_is_a_sequence(ensemble):
    assert len(ensemble) == 3
    assert [item.weight for item in ensemble] == [2.0, 1.5, 0.25]
    assert ensemble[1].winner == "b"
    assert len(ensemble.head(2)) == 2
    assert ensemble.head(0).predict(TABLE).tolist() == ["b"] * 4
    assert ensemble.take([2, 0]) == RuleEnsemble.of([ensemble[2], ensemble[0]], "abc", [0, 0.1, 0])


def test_an_ensemble_is_a_value(ensemble, price):
    assert RuleEnsemble.of(ensemble, "abc", [0.0, 0.1, 0.0]) == ensemble
    assert RuleEnsemble.of(price, None, [10], "price") == price
    for other in (ensemble.head(2), price, "abc", RuleEnsemble.of(ensemble, "abc"),
                  RuleEnsemble.of(ensemble, "abd"[:2] + "c", [0.0, 0.2, 0.0])):  # fmt: skip
        assert ensemble != other
    assert price != RuleEnsemble.of(price, None, [10], "cost")
    again = pickle.loads(pickle.dumps(price))
    assert again == price
    assert hash(again) == hash(price)
    assert len({price, again, ensemble}) == 2
    zero = [weighted("x = 1", w, 1, precision=p) for w, p in ((0.0, math.nan), (-0.0, -math.nan))]
    assert RuleEnsemble.of(zero[:1], (0, 1)) == RuleEnsemble.of(zero[1:], (0, 1))
    values = {name: getattr(price, name) for name in price.__dataclass_fields__}
    assert hash(RuleEnsemble(**values | {"rules": [*price.rules], "classes": None})) == hash(price)
    assert repr(price) == "<RuleEnsemble: 2 rules for 'price'>"
    with pytest.raises(ValueError, match="read-only"):
        price.votes[0, 0] = 1


def test_votes_and_classes_must_fit(ensemble, price):
    def expect(match, items, *rest):
        with pytest.raises(fk.ParameterError, match=match):
            RuleEnsemble.of(items, *rest)

    expect("'z'", [weighted("x = 1", 1.0, "z", "a")], ("a", "b"))
    expect("'z'", [weighted("x = 1", 1.0, "a", "z")], ("a", "b"))
    expect("None", [weighted("x = 1", 1.0)], ("a", "b"))
    expect("'a'", [weighted("x = 1", 1.0, "a")])
    expect("a positive weight", [weighted("x = 1", -1.0, "a", "b")], ("a", "b"))
    for votes in ((1.0,), (2.0, 1.0), (1.0, -3.0)):
        item = replace(weighted("x = 1", 1.0, "a"), votes=votes)
        expect("the largest absolute vote as the weight", [item], ("a", "b"))
    expect(r"intercept of shape \(1,\); expected .* \(2,\)", (), ("a", "b"), (1.0,))
    expect("two classes", (), ("a",))
    expect("finite", [weighted("x = 1", math.inf, "a")], ("a", "b"))
    expect("finite", (), None, [math.nan])
    values = {name: getattr(ensemble, name) for name in ensemble.__dataclass_fields__}
    for change in (
        {"votes": [[1, -1]] * 3}, {"votes": [[1, math.nan, 0]] * 3},
        {"support": [1]}, {"precision": [[1]]}, {"classes": None}, {"rules": ()},
    ):  # fmt: skip
        with pytest.raises(fk.ParameterError, match="expected"):
            RuleEnsemble(**(values | change))


def test_explanations_of_classes_and_of_numbers(ensemble, price):
    found = Explanation.of(ensemble, ensemble.values(TABLE)[1:2])
    assert (found.prediction, found.contributions) == ("a", (2.0, 1.5))
    assert str(found).splitlines() == [
        "class a: the largest score is a +2, then b -0.4, and 1 lower",
        "     a     b",
        "        +0.1  every row (the intercept)",
        "  +2.0  -2.0  color = red",
        "        +1.5  size >= 3",
    ]
    third = str(Explanation.of(ensemble, ensemble.values(TABLE)[2:3]))
    assert third.endswith("  +0.25         color = blue & size < 2")
    against = RuleEnsemble.of([weighted("size < 3", -0.5, "b")], "abc")
    assert str(Explanation.of(against, against.values(TABLE)[:1])).splitlines() == [
        "class a: the largest score is a +0, then c +0, and 1 lower", "no rule is satisfied"
    ]  # fmt: skip
    found = Explanation.of(price, price.values(TABLE)[:1])
    assert (found.prediction, found.scores) == (11.5, {"price": 11.5})
    assert str(found).splitlines() == [
        "price = 11.5", "  +10.0  every row (the intercept)", "   +2.0  color = red",
        "   -0.5  size < 3",
    ]  # fmt: skip


@pytest.mark.parametrize("numbers", [False, True])
def test_explanations_of_many_rows(ensemble, price, numbers):
    """The listed terms add up to the scores, in the frame, in arrays, and row by row."""
    rules = price if numbers else ensemble
    values = rules.values(TABLE)
    found = Explanation.of(rules, values)
    assert len(found) == len(values)
    assert found.predictions.tolist() == rules.predict(TABLE).tolist()
    np.testing.assert_array_equal(found.totals, rules.scores(TABLE))
    for k, name in enumerate(rules.classes or (None,)):
        added = found.added(name).sum(axis=1) + found.intercept[k]
        np.testing.assert_allclose(added, found.totals[:, k])
    keys = ["row"] if numbers else ["row", "class"]
    frame = found.to_frame()
    sums = frame.groupby(keys)["adds"].sum().to_numpy().reshape(found.totals.shape)
    np.testing.assert_allclose(sums, found.totals)
    assert (frame["rule"].isna().sum()) == found.totals.size  # the intercepts
    lines, page = str(found).splitlines(), found._repr_html_()
    assert len(lines) == 2 + len(values)
    assert lines[-1] == (
        "every score includes the intercept, 10"
        if numbers
        else "the scores include the intercepts b +0.1"
    )
    assert page.count("<tr>") == 1 + len(values)
    for row, one in enumerate(found):
        assert one.prediction == found[row].prediction == found.predictions[row]
        assert repr(one).startswith("<Explanation: ")
        assert lines[1 + row].startswith(f"  {row}")
    assert len(found[1:]) == len(values) - 1
    assert found[-1].scores == found[len(values) - 1].scores
    for ask in ("prediction", "scores", "rules", "contributions"):
        with pytest.raises(fk.DataError, match=r"for one row, but this explains 4"):
            getattr(found, ask)
    with pytest.raises(fk.ParameterError, match="expected"):
        found.added("no class")
    many = Explanation.of(rules, np.repeat(values, 20, axis=0))
    assert str(many).splitlines()[-2] == "… and 50 more rows"
    assert "and 50 more rows" in many._repr_html_()
    assert repr(many) == "<Explanation of 80 rows>"


def test_products_count_with_their_values():
    items = (WeightedRule(Monomial(("u", "v")), 2.0, "a", "b", 3, 0.75, 1.0),)
    ensemble = RuleEnsemble.of(items, ("a", "b"))
    table = {"u": [1.0, -2.0, 0.0], "v": [3.0, 1.0, 7.0]}
    np.testing.assert_allclose(ensemble.scores(table), [[6, -6], [-4, 4], [0, 0]])
    np.testing.assert_array_equal(ensemble.covers(table), [[True], [True], [False]])
    again = RuleEnsemble.from_json(ensemble.to_json())
    assert again == ensemble
    assert "u * v" in str(again)
    assert Monomial(("u", "v")).columns == ("u", "v")
    with pytest.raises(fk.DataError, match="holds text"):
        Monomial(("name",))({"name": ["x"]})
    with pytest.raises(fk.DataError, match='"u" has no value in row 1'):
        ensemble.predict({"u": [1.0, None], "v": [1.0, 1.0]})


def test_linear_terms_count_with_their_share_of_the_way():
    items = [WeightedRule(LinearTerm("u", 2, 6), 2.0, "a", "b"), weighted("v = 1", 1.0, "b", "a")]
    ensemble = RuleEnsemble.of(items, ("a", "b"))
    table = {"u": [1, 2, 3, 6, 9, None], "v": [1] * 6}
    np.testing.assert_array_equal(ensemble.values(table)[:, 0], [0, 0, 0.25, 1, 1, 0])
    np.testing.assert_array_equal(ensemble.scores(table)[:, 0], [-1, -1, -0.5, 1, 1, -1])
    assert ensemble.covers(table)[:, 0].tolist() == [False, False, True, True, True, False]
    products = RuleEnsemble.of([weighted("x = 1 & y", 1.0), WeightedRule(Monomial("uv"), 1.0)])
    assert (ensemble.n_conditions, products.n_conditions) == (2, 4)
    found = Explanation.of(ensemble, ensemble.values(table)[3:4])
    assert str(found).splitlines() == [
        "class a: the score is -1; predict b if it is above 0, else a",
        "  -2.0  -0.5 per unit of u (from 2 to 6)",
        "  +1.0  v = 1",
    ]
    assert LinearTerm("u", 2, 6)({"u": ["3", "4", None]}).tolist() == [0.25, 0.5, 0]
    assert LinearTerm("u", 2, 6)({"u": [None]}).tolist() == [0]
    with pytest.raises(fk.DataError, match='"u" holds text'):
        ensemble.predict({"u": ["x"], "v": [1]})
    for ends in ((1, 1), (2, 1), (0, math.inf), (math.nan, 1), ("0", 1), (0, 5e-324), (0, True)):
        with pytest.raises(fk.ParameterError, match="expected two finite numbers"):
            LinearTerm("u", *ends)
