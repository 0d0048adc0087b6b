"""Rules simplified and compared, against all rows of a grid that holds every case."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import formulakern as fk
from formulakern import FormulaError, ParameterError, Table
from formulakern.syntax.formula import postorder
from formulakern.syntax.leaves import Comparison, Level
from tests.strategies import ENTRIES, class_rules

ROWS = [*itertools.product(*ENTRIES.values())]
GRID = Table(dict(zip(ENTRIES, zip(*ROWS, strict=True), strict=True)))
KNOWN = ~np.any([GRID.missing(name) for name in GRID], axis=0)
OPTIONS = {
    "anything": ({}, np.ones(len(GRID), dtype=bool)),
    "nothing missing": ({"missing": False}, KNOWN),
    "a domain": (
        {"domains": {"r's": ["a", "it's"], "t": [0, 1]}},
        np.isin(GRID["r's"], ["a", "it's"]) & ~GRID.missing("t"),
    ),
}
rules = class_rules().map(lambda item: item.rule)
options = st.sampled_from([*OPTIONS])


@settings(max_examples=38)
@given(rules, options, st.sampled_from(["shortest", "dnf", "cnf"]))
def test_simplified_rules_are_true_of_the_same_rows(rule, name, form):
    known, rows = OPTIONS[name]
    table = GRID[rows]
    found = rule.simplify(form, **known)
    assert (found.rule(table) == rule(table)).all()
    assert found.rule.equivalent(rule, **known)
    again = found.rule.simplify(form, **known)
    assert (again.n_parts, again.n_literals) <= (found.n_parts, found.n_literals)
    if form == "shortest":
        assert found.rule.n_conditions <= rule.n_conditions


@given(rules, rules, options)
def test_questions_about_rules(one, other, name):
    known, rows = OPTIONS[name]
    table = GRID[rows]
    left, right = one(table), other(table)
    assert one.equivalent(other, **known) == (left == right).all()
    assert one.implies(other, **known) == (right | ~left).all()
    assert one.is_tautology(**known) == left.all()
    assert one.is_satisfiable(**known) == left.any() != one.is_contradiction(**known)


@pytest.mark.parametrize(
    ("given", "found", "known"),
    [
        ("x >= 3 & x >= 5", "x >= 5", {}),
        ("x >= 3 | x >= 5", "x >= 3", {}),
        ("x = a & x = b", "false", {}),
        ("x = a | x != a", "x is not missing", {}),
        ("x = a | x != a", "true", {"missing": False}),
        ("x <= 3 | x > 3", "x is not missing", {}),
        ("x <= 3 | x > 3", "true", {"missing": False}),
        ("~(x <= 3)", "~(x <= 3)", {}),
        ("~(x <= 3)", "x > 3", {"missing": False}),
        ("~(x <= 3) & ~(x > 9) & y = a", "3 < x <= 9 & y = a", {"missing": False}),
        ("~(x <= 3) & x <= 9 & y = a", "3 < x <= 9 & y = a", {}),
        ("~(x is missing) & x != 3", "x != 3", {}),
        ("x > 2 & x < 4 & x != 3", "2 < x < 4 & x != 3", {}),
        ("x > 2 & x < 4 & x != 3", "false", {"domains": {"x": int}}),
        ("x > 2 & x < 4", "2 < x < 4", {}),
        ("x in {a, b} & x != a & y", "x in {a, b} & x != a & y", {}),
        ("x in {a, b} & x in {b, c} & x != b", "false", {}),
        ("t | ~t", "true", {}),
        ("t & ~t", "false", {}),
        ("a = 1 & b = 2 | a = 1 & b = 3", "a = 1 & (b = 2 | b = 3)", {}),
        ("a = 1 ^ b = 2", "a = 1 ^ b = 2", {}),
        ("x = `y` & x = `y`", "x = `y`", {}),
        ("month(d) >= 6 & month(d) >= 7", "month(d) >= July", {}),
        ("d >= 2020-01-01 & d > 2021-01-01", "d > 2021-01-01", {}),
    ],
)
def test_what_comparisons_say_of_one_another(given, found, known):
    answer = fk.rule(given).simplify(**known)
    assert str(answer.rule) == found
    assert answer.exact or answer.form == "given"
    assert isinstance(answer, fk.MinimalRule)


def test_categories_outside_of_an_order_satisfy_no_comparison():
    """So the negation of a comparison is not the opposite comparison."""
    order = ("low", "mid", "high")
    low = fk.rule(Comparison("grade", "<", Level("mid", order)))
    table = {"grade": ["low", "mid", "high", "other", None]}
    for known in ({}, {"missing": False}):
        found = (~low).simplify(**known).rule
        assert found(table).tolist() == (~low)(table).tolist() == [False, True, True, True, True]
    known = {"domains": {"grade": order}}
    assert str((~low).simplify(**known).rule) == "grade >= mid"
    assert low.implies(fk.rule(Comparison("grade", "<=", Level("mid", order))))


def test_what_two_columns_say_together_is_not_decided():
    both = fk.rule("x = `y` & x = 3")
    assert both.implies("x = 3")
    assert not (both | fk.rule("z = 4")).implies("z = 3")
    with pytest.raises(FormulaError, match=r"implies\(\) depends on 'x = `y`'.*on a table"):
        both.implies("y = 3")
    dated = fk.rule("month(d) = 6 & d >= 2020-01-01")
    assert dated.implies("month(d) in {6, 7}")
    with pytest.raises(FormulaError, match=r"is_satisfiable\(\) depends on"):
        fk.rule("month(d) = 6 & d = 2020-01-01").is_satisfiable()
    assert fk.rule("month(d) = 6 | d = 2020-01-01").is_satisfiable()
    with pytest.raises(FormulaError, match=r"is_satisfiable\(\) depends on 'quarter\(d\) = 1'"):
        fk.rule("quarter(d) = 1 & month(d) = 6").is_satisfiable()  # which no date satisfies
    assert fk.rule("month(d) = 6 & e = 2020-01-01 & (quarter(e) = 1 | f = 2)").is_satisfiable()
    with pytest.raises(FormulaError, match="order is not known"):
        fk.rule("grade >= mid").simplify()
    with pytest.raises(ParameterError, match="form="):
        both.simplify("nnf")


def test_many_conditions():
    """Intervals of forty columns with ten thresholds each."""
    text = " & ".join(f"x{i} >= {k}" for i in range(40) for k in range(10))
    found = fk.rule(text).simplify()
    assert str(found.rule) == " & ".join(f"x{i} >= 9" for i in range(40))
    assert (found.exact, found.least) == (False, 1)  # too many prime implicants for a proof
    steps = fk.rule(" | ".join(f"(x >= {k} & x < {k + 1})" for k in range(30)))
    assert str(steps.simplify().rule) == "0 <= x < 30"
    assert len(postorder(steps.simplify("cnf").formula)) == 3
