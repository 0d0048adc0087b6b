"""Queries of ensembles in SQLite, against the predictions of the ensembles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import formulakern as fk
from formulakern import Rule, RuleEnsemble, Variable, WeightedRule
from formulakern.rules.features import LinearTerm, Monomial
from formulakern.rules.sums import MAX_CHAIN_LENGTH
from formulakern.syntax.formula import FALSE, TRUE
from formulakern.syntax.leaves import ColumnName, Comparison
from tests.database import answers
from tests.strategies import combined

TABLE = {"color": ["red", "red", "blue", None], "size": [1, 5, 1, None]}


def weighted(text, weight, winner=None, loser=None):
    return WeightedRule(fk.rule(text), weight, winner, loser)


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
    ensemble = RuleEnsemble.of([weighted(text, 1.0, "b", "a")], ("a", "b"), (0.5, 0.0))
    assert answers(ensemble, table) == ensemble.predict(table).tolist()


@pytest.mark.parametrize("start", [(1.5, -1.5), (-1.0, 1.0), (0.0, 0.0), (0.1, -0.1), (1.0, 0.0)])
def test_opposite_scores_are_written_once(start):
    items = [weighted("color = red", 0.1, "a", "b"), weighted("size < 3", 1.0, "b", "a")]
    table = {"color": ["red", "red", "blue", None] * 2, "size": [1, 5, 1, None, 5, 1, 7, 2]}
    ensemble = RuleEnsemble.of(items, ("a", "b"), start)
    assert answers(ensemble, table) == ensemble.predict(table).tolist()
    assert ensemble.to_sql("t", "postgres").count("'red'") == (1 if start[0] == -start[1] else 2)


def test_every_shape_of_votes():
    items = [
        weighted("color = red", 2.0, "a", "b"), weighted("size >= 3", 1.5, "b", "c"),
        weighted("color = blue & size < 2", 0.25, "c"), weighted("~(size < 4)", -3.0, "a"),
    ]  # fmt: skip
    ensemble = RuleEnsemble.of(items, ("a", "b", "c"), (0.0, 0.1, 0.0))
    assert answers(ensemble, TABLE) == ensemble.predict(TABLE).tolist()
    numbers = [WeightedRule(item.rule, item.weight) for item in items]
    price = RuleEnsemble.of(numbers, intercept=[-0.5], target='the "price"')
    assert answers(price, TABLE) == price.predict(TABLE).tolist()
    none = RuleEnsemble.of((), (1, 2), (0.0, 1.0))
    assert answers(none, TABLE) == [2] * 4
    product = WeightedRule(Monomial(("size", "size")), 0.5, 1, 2, 3, 0.7, 1.0)
    numeric = RuleEnsemble.of([product], (1, 2), (0.0, 4.5))
    columns = {"size": [1.0, 2.0, 3.0, 4.0]}
    assert answers(numeric, columns) == numeric.predict(columns).tolist() == [2, 2, 1, 1]


def test_classes_that_sql_takes_for_one():
    odd = ("it's", 'a "b"')
    for classes in (("a", "A"), ("1", 1), (None, "None"), (True, False), (2.5, 1), odd):
        made = RuleEnsemble.of([weighted("size >= 3", 1.0, classes[1])], classes)
        assert answers(made, TABLE) == [classes[k] for k in (0, 1, 0, 0)]


def test_products_with_a_missing_factor_have_no_answer():
    products = [WeightedRule(Monomial(("u", "v")), 2.0), WeightedRule(Monomial(()), 1.0)]
    table = {"u": [1.5, None, 2.0], "v": [3.0, 1.0, -1.0]}
    assert answers(RuleEnsemble.of(products), table) == [10.0, None, -3.0]
    voting = [WeightedRule(item.rule, item.weight, "a", "b") for item in products]
    assert answers(RuleEnsemble.of(voting, "ab"), table) == ["a", None, "b"]


def test_linear_terms_of_any_numbers():
    """The result is NULL for a missing value; ranges may be beyond float64."""
    table = {"u": [1.5, None, 2.0, -7.0, 1e308], "v": [3, 1, None, -1, 2]}
    listed = [LinearTerm("u", -1.1, 1.7), LinearTerm("v", 0, 3), LinearTerm("u", -1e308, 1.5e308)]
    sums = RuleEnsemble.of([WeightedRule(term, 0.7) for term in listed], intercept=[0.1])
    np.testing.assert_allclose(answers(sums, table), sums.predict(table), rtol=1e-14)


def test_long_sums_are_nested():
    """SQLite refuses expressions that are more than a thousand levels deep."""
    items = [weighted("size >= 3", 1.0 / (k + 1)) for k in range(3 * MAX_CHAIN_LENGTH)]
    price = RuleEnsemble.of(items, intercept=[1.0])
    np.testing.assert_allclose(answers(price, TABLE), price.predict(TABLE), rtol=1e-12)


number = st.sampled_from([-1, 0, 1, 2, 2.5, 3])
word = st.sampled_from(["a", "b", "it's", "c"])
numeric = st.sampled_from(["p", "q"])
leaves = st.one_of(
    st.builds(
        Comparison, numeric, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
        number | numeric.map(ColumnName),
    ),
    st.builds(Comparison, st.just("r s"), st.sampled_from(["=", "!="]), word),
    st.builds(
        Comparison, st.just("r s"), st.sampled_from(["in", "not in"]),
        st.lists(word, min_size=1, max_size=3).map(tuple),
    ),
    st.builds(Comparison, st.sampled_from(["p", "r s"]),
              st.sampled_from(["is missing", "is not missing"])),
    st.sampled_from([TRUE, FALSE, Variable("t")]),
)  # fmt: skip
COLUMNS = {
    "p": [0, 1, 2, None, 3, None], "q": [2.5, None, 2, -1, 3, None],
    "r s": ["a", "b", None, "it's", "c", None], "t": [1, 0, None, 1, 0, None],
}  # fmt: skip
ends = st.sampled_from([(-1, 3), (0, 1), (-6, 2)])  # powers of two: divisions do not round
linear = st.builds(lambda name, pair: LinearTerm(name, *pair), numeric, ends)
votes = st.tuples(combined(leaves, 6).map(Rule) | linear, st.integers(1, 8), st.integers(0, 5))


@given(st.lists(votes, max_size=5), st.sampled_from(["pairs", "rest", "number"]))
def test_generated_ensembles(drawn, shape):
    """Weights are multiples of 1/8, which sums do not round."""
    pairs = [("x", "y"), ("y", "x"), ("x", "z"), ("z", "x"), ("y", "z"), ("z", "y")]
    items = []
    for rule, eighths, choice in drawn:
        weight = eighths / 8 * (-1) ** (shape != "pairs" and choice % 2)
        winner, loser = pairs[choice]
        names = {"pairs": (winner, loser), "rest": (winner, None), "number": (None, None)}[shape]
        items.append(WeightedRule(rule, weight, *names))
    classes = None if shape == "number" else ("x", "y", "z")
    ensemble = RuleEnsemble.of(items, classes, [0.25] if classes is None else [0, 0.5, 0.25])
    assert answers(ensemble, COLUMNS) == ensemble.predict(COLUMNS).tolist()
