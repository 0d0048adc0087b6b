"""Simplified ensembles: the same scores in every row there can be, and nothing left to join."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import formulakern as fk
from formulakern import RuleEnsemble, Table, WeightedRule
from formulakern.rules.features import LinearTerm, Monomial
from tests.strategies import ENTRIES, class_rules

ROWS = [*itertools.product(*ENTRIES.values())]
#: Every combination of entries that rules of the strategy can tell apart.
GRID = Table(dict(zip(ENTRIES, zip(*ROWS, strict=True), strict=True)))
KNOWN = ~np.any([GRID.missing(name) for name in GRID], axis=0)
COUNTS = np.isin(GRID["p"], np.arange(-2, 4)) & np.isin(GRID["the q"], np.arange(4))

terms = st.one_of(
    *[class_rules(max_leaves=3).map(lambda item: item.rule)] * 4,
    st.builds(LinearTerm, st.sampled_from(["p", "the q"]), st.just(0), st.sampled_from([1, 2])),
    st.just(Monomial(())),
    st.sampled_from(["p > 1", "p <= 1", "t", "~t", "p <= 0", "p >= 1", "true"]).map(fk.rule),
)


@st.composite
def ensembles(draw):
    """Weights are multiples of 1/8, which sums do not round."""
    classes = draw(st.sampled_from([None, "xy", "xyz"]))
    items = []
    for term in draw(st.lists(terms, max_size=7)):
        weight = draw(st.integers(1, 3)) / 8
        if classes is None:
            items.append(WeightedRule(term, weight))
        else:
            votes = [draw(st.integers(-3, 3)) / 8 for _ in classes]
            items.append(WeightedRule.of_votes(term, votes, classes))
    return RuleEnsemble.of(items, classes, [0.25] * (1 if classes is None else len(classes)))


WHOLE = {"domains": {"n": int}, "missing": False}
OPTIONS = {
    "anything": ({}, np.ones(len(GRID), dtype=bool)),
    "nothing missing": ({"missing": False}, KNOWN),
    "whole numbers": ({"domains": {"p": int, "the q": int}, "missing": False}, KNOWN & COUNTS),
    "a domain": (
        {"domains": {"r's": ["a", "it's"], "t": [0, 1]}},
        np.isin(GRID["r's"], ["a", "it's"]) & ~GRID.missing("t"),
    ),
}


@given(ensembles(), st.sampled_from([*OPTIONS]))
def test_generated_ensembles(ensemble, name):
    options, rows = OPTIONS[name]
    shorter, table = ensemble.simplified(**options), GRID[rows]
    np.testing.assert_array_equal(shorter.scores(table), ensemble.scores(table))
    assert len(shorter) <= len(ensemble)
    assert shorter.simplified(**options) == shorter
    values = shorter.values(table)
    for k, term in enumerate(shorter.rules):
        assert len(set(values[:, k])) > 1, f"{term} is constant"
        for j in range(k):
            alike = any((values[:, j] == v).all() for v in (values[:, k], 1 - values[:, k]))
            linear = any(isinstance(shorter.rules[i], LinearTerm) for i in (j, k))
            assert not alike or linear, f"{term} is there twice"


def simplified(listed, **options):
    items = [WeightedRule(fk.rule(text), weight) for text, weight in listed.items()]
    found = RuleEnsemble.of(items).simplified(**options)
    rules = {str(item.rule): item.weight for item in found}
    return rules, found.intercept[0]


@pytest.mark.parametrize(
    ("listed", "options", "expected"),
    [
        ({"x = 3": 2, "x != 3": 0.5}, {"missing": False}, ({"x = 3": 1.5}, 0.5)),
        ({"x = 3": 2, "x != 3": 0.5}, {}, ({"x = 3": 2, "x != 3": 0.5}, 0)),
        ({"x != 3": 2, "x = 3": 0.5}, {"missing": False}, ({"x = 3": -1.5}, 2)),
        ({"t": 2, "~t": 0.5}, {}, ({"t": 1.5}, 0.5)),
        ({"x is not missing": 1, "x is missing": 1}, {}, ({}, 1)),
        (
            {"n >= 1": 1, "n <= 0": 3},
            {"domains": {"n": int}, "missing": False},
            ({"n >= 1": -2}, 3),
        ),
        ({"n >= 1": 1, "n <= 0": 3}, {"missing": False}, ({"n <= 0": 3, "n >= 1": 1}, 0)),
        ({"n > 1": 1, "n >= 2": 3}, {"domains": {"n": int}}, ({"n > 1": 4}, 0)),
        ({"age >= 30": 1, "age >= 31": 1}, {"domains": {"age": [20, 30, 40]}}, None),
        ({"age >= 30": 1, "age >= 31": 1}, {"domains": {"age": [20, 40]}}, ({"age >= 30": 2}, 0)),
        ({"t": 2, "t | (t & p = -1)": 1}, {}, ({"t": 3}, 0)),
        ({"(t & p = 1) | (t & p != 1)": 1, "t": 2}, {"missing": False}, ({"t": 3}, 0)),
        ({"x >= 3 & x >= 5": 1}, {}, ({"x >= 5": 1}, 0)),
        ({"x >= 2 & x = 5": 1}, {}, ({"x = 5": 1}, 0)),
        ({"x = 5 & y = 1": 1, "y = 1 & x = 5": 2}, {}, ({"x = 5 & y = 1": 3}, 0)),
        ({"x = 5 | y = 1": 1, "y = 1 | x = 5": 2}, {}, ({"x = 5 | y = 1": 3}, 0)),
        ({"~(x = 5 & y = 1)": 1, "y = 1 & x = 5": 2}, {}, ({"y = 1 & x = 5": 1}, 1)),
        ({"(a & b) | (c & d)": 1, "~((c & d) | (b & a))": 2}, {}, ({"a & b | c & d": -1}, 2)),
        ({"x = 1 & x = 2": 1, "true": 2, "x > `y`": 1}, {}, ({"x > `y`": 1}, 2)),
        ({"x <= 3": 1, "y = 2": -1, "x <= 3 & x <= 4": -1}, {}, ({"y = 2": -1}, 0)),
    ],
)
def test_by_hand(listed, options, expected):
    assert simplified(listed, **options) == (expected or (listed, 0))


def test_votes_of_several_classes_and_what_is_known_of_them():
    """Precision is that of the class with the largest vote, if a rule for this class has one."""
    red, other = fk.rule("color = red"), fk.rule("color != red")
    items = [
        WeightedRule(other, 0.5, "a", "b", 60, 0.6, 0.75, 0.625),
        WeightedRule(red, 0.25, "a", "b", 40, 0.4, 0.125, 0.625),
        WeightedRule(red, 1.0, "a", "c", 40, 0.4, 0.5, 0.625),
    ]
    found = RuleEnsemble.of(items, "abc").simplified(missing=False)
    votes = (0.75, 0.25, -1.0)
    assert str([*found]) == str([WeightedRule(red, -1.0, "c", None, 40, 0.4, votes=votes)])
    np.testing.assert_array_equal(found.intercept, [0.5, -0.5, 0])
    (found,) = RuleEnsemble.of(items[1:], "abc").simplified(missing=False)
    votes = (1.25, -0.25, -1.0)
    assert found == WeightedRule(red, 1.25, "a", None, 40, 0.4, 0.125, 0.625, votes)
    found = RuleEnsemble.of(items[:2], "ab").simplified(missing=False)
    assert [*found] == [WeightedRule(red, 0.25, "b", "a", 40, 0.4, 0.875, 0.375)]
    np.testing.assert_array_equal(found.intercept, [0.5, -0.5])
    against = [
        WeightedRule(red, -1.0, "b", None, 40, 0.4, 0.25, 0.125),
        WeightedRule(other, 2.0, "b", None, 60, 0.6, 0.5, 0.125),
    ]
    found = RuleEnsemble.of(against, "abc").simplified(missing=False)
    assert [*found] == [WeightedRule(red, -3.0, "b", None, 40, 0.4, 0.25, 0.125)]
    np.testing.assert_array_equal(found.intercept, [0, 2, 0])


def test_numbers_are_added_up():
    terms = [LinearTerm("u", 0, 1), Monomial(("u", "v")), Monomial(()), LinearTerm("u", 0, 2)]
    again = [LinearTerm("u", 0, 1), Monomial(("v", "u"))]
    found = RuleEnsemble.of(WeightedRule(t, 1.0) for t in terms + again).simplified()
    assert [(str(item.rule), item.weight) for item in found] == [
        ("u from 0 to 1", 2.0), ("u * v", 2.0), ("u from 0 to 2", 1.0),
    ]  # fmt: skip
    assert found.intercept[0] == 1
    assert math.isnan(found[0].coverage)
    assert RuleEnsemble.of([], "ab").simplified() == RuleEnsemble.of([], "ab")
