"""Propositions on tables: from a comparison in text to a truth value per row."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import formulakern as fk
from formulakern.encoding.cut_points import cuts, shortest_between
from formulakern.encoding.propositions import evaluate_formula, evaluate_proposition
from formulakern.syntax.formula import FALSE, TRUE
from formulakern.syntax.leaves import ColumnName, Comparison

TABLE = fk.Table(
    {
        "size": [3, 5, 7],
        "weight": [1.5, None, 3.0],
        "odor": ["foul", None, "none"],
        "code": ["3", "3.0", "x"],
        "digits": ["2", None, "10"],
        "flag": [True, False, True],
        "maybe": [1, None, 0],
        "words": ["True", "false", None],
        "none": [None, None, None],
    }
)

COMPARISONS = {
    ("size", "=", 3): "100",
    ("size", "=", 4.5): "000",
    ("size", "=", "3"): "100",
    ("size", "=", "three"): "000",
    ("size", "!=", "three"): "111",
    ("size", "<", 5): "100",
    ("size", "<=", 5): "110",
    ("size", ">", 5): "001",
    ("size", ">=", 4.5): "011",
    ("size", ">=", 10**300): "000",
    ("size", "<", 10**300): "111",
    ("size", ">", -(10**30)): "111",
    ("size", "in", (3, "7", "x")): "101",
    ("size", "not in", (3, "7", "x")): "010",
    ("size", "is missing", None): "000",
    ("weight", "=", 1.5): "100",
    ("weight", "!=", 1.5): "001",
    ("weight", "not in", (9, 8)): "101",
    ("weight", "<", 100): "101",
    ("weight", "is missing", None): "010",
    ("weight", "is not missing", None): "101",
    ("odor", "=", "foul"): "100",
    ("odor", "!=", "foul"): "001",
    ("odor", "in", ("foul", "none")): "101",
    ("odor", "not in", ("foul",)): "001",
    ("odor", "is missing", None): "010",
    ("code", "=", 3): "110",
    ("code", "=", "3"): "100",
    ("code", "!=", 3): "001",
    ("digits", "<", 5): "100",
    ("digits", ">=", 2): "101",
    ("flag", "=", "true"): "101",
    ("flag", "=", "False"): "010",
    ("flag", "=", 1): "101",
    ("flag", ">=", 0.5): "101",
    ("none", "=", 1): "000",
    ("none", "!=", "a"): "000",
    ("none", "is missing", None): "111",
    ("size", "=", ColumnName("weight")): "000",
    ("size", ">", ColumnName("weight")): "101",
    ("size", "!=", ColumnName("weight")): "101",
    ("weight", "not in", (ColumnName("odor"), 9)): "101",
    ("size", "=", ColumnName("code")): "100",
    ("code", "=", ColumnName("size")): "100",
    ("digits", "<", ColumnName("size")): "100",
    ("odor", "!=", ColumnName("digits")): "101",
    ("odor", "in", (ColumnName("odor"), 3)): "101",
}


def text(truths: np.ndarray) -> str:
    assert truths.dtype == np.bool_
    return "".join("01"[int(value)] for value in truths)


@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda c: str(Comparison(*c)))
def test_comparisons(comparison):
    assert text(evaluate_proposition(Comparison(*comparison), TABLE)) == COMPARISONS[comparison]


def test_boolean_columns():
    assert text(evaluate_proposition(fk.Variable("flag"), TABLE)) == "101"
    assert text(evaluate_proposition(fk.Variable("maybe"), TABLE)) == "100"
    assert text(evaluate_proposition(fk.Variable("words"), TABLE)) == "100"
    assert text(evaluate_proposition(fk.Variable("none"), TABLE)) == "000"


@pytest.mark.parametrize(
    ("leaf", "sentence"),
    [
        (fk.Variable("size"), r'column "size" holds 3 \(row 0\)'),
        (fk.Variable("odor"), r"column \"odor\" holds 'foul' \(row 0\)"),
        (fk.Variable("flag", "group"), "over the columns of a domain"),
        (fk.Variable("flags"), 'did you mean "flag"'),
        (Comparison("odour", "=", 1), 'did you mean "odor"'),
        (Comparison("odor", "<", 3), r"column \"odor\" holds 'foul' \(row 0\), which is not a"),
        (Comparison("code", ">=", 3), r"holds 'x' \(row 2\)"),
        (Comparison("size", "<", ColumnName("odor")), 'column "odor" holds'),
        (Comparison("size", "=", ColumnName("nothing")), 'no column "nothing"'),
        (TRUE & fk.Variable("flag"), "neither a comparison nor"),
    ],
)
def test_refusals(leaf, sentence):
    with pytest.raises(fk.DataError, match=sentence):
        evaluate_proposition(leaf, TABLE)


def test_formulas():
    small, foul = Comparison("size", "<", 6), Comparison("odor", "=", "foul")
    assert text(evaluate_formula(small & ~foul, TABLE)) == "010"
    assert text(evaluate_formula(foul >> fk.Variable("flag"), TABLE)) == "111"
    assert text(evaluate_formula(TRUE, TABLE)) == "111"
    assert text(evaluate_formula(FALSE | FALSE, TABLE)) == "000"
    assert evaluate_formula(small, TABLE[:0]).shape == (0,)
    assert evaluate_formula(TRUE, TABLE).flags.writeable


def test_monks_1_is_one_rule():
    table = fk.Table({"a1": [1, 1, 2], "a2": [1, 2, 3], "a5": [4, 1, 3]})
    rule = Comparison("a1", "=", ColumnName("a2")) | Comparison("a5", "=", 1)
    assert text(evaluate_formula(rule, table)) == "110"


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.one_of(st.tuples(finite, finite), st.tuples(st.integers(), st.integers())))
def test_the_shortest_number_lies_between(pair):
    low, high = sorted(pair)
    if low == high or max(abs(low), abs(high)) >= 2**1000:
        return
    between = shortest_between(low, high)
    if between is None:
        assert isinstance(low, int) or math.nextafter(low, math.inf) == high
    else:
        assert low < between < high


@given(
    st.lists(st.one_of(finite, st.just(math.nan), st.sampled_from([0.1, 0.2, 5e-324, 3.0]))),
    st.integers(1, 6),
    st.sampled_from(["quantile", "uniform"]),
)
def test_cuts_separate_the_values_and_complement_each_other(values, number, strategy):
    column = np.array(values, dtype=np.float64)
    found = cuts(column, number, strategy)
    kept = column[np.isfinite(column)]
    assert len(found) <= min(number, max(0, len(np.unique(kept)) - 1))
    splits = {tuple(kept <= cut.at_most) for cut in found}
    assert len(splits) == len(found)
    for cut in found:
        below = kept <= cut.at_most
        assert 0 < below.sum() < len(kept)
        np.testing.assert_array_equal(kept >= cut.at_least, ~below)


def test_cuts_of_whole_numbers_are_whole():
    for column in (np.arange(10), np.arange(10.0), np.arange(10, dtype=np.uint64)):
        found = cuts(column, 20)
        assert [(c.at_most, c.at_least) for c in found] == [(j, j + 1) for j in range(9)]
        assert all(type(c.at_most) is int for c in found)
    assert [c.at_most for c in cuts(np.arange(100), 3)] == [24, 49, 74]
    assert [c.at_most for c in cuts(np.array([0, 1, 2, 100]), 3, "uniform")] == [50]
