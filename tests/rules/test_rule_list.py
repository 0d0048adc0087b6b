"""Ordered lists: the first rule decides; sets, trees and shorter lists of the same meaning."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import formulakern as fk
from formulakern import ClassRule, DecisionTree, RuleList, RuleSet
from formulakern.rules import cases, decision_tree
from tests import oracle
from tests.rules.test_properties import GRID
from tests.strategies import class_rules

KINDS = ("x", "y", "z")


def listed(*pairs, default=None, classes=KINDS):
    items = [ClassRule(fk.rule(text), label) for text, label in pairs]
    return RuleList(items, classes, default)


#: Strategies that are built while drawing are slow.
defaults = st.sampled_from([None, *KINDS])
rule_lists = st.builds(
    RuleList, st.lists(class_rules(KINDS), max_size=5).map(tuple), st.just(KINDS), defaults
)


def rows_of(table):
    entries = {n: [None if v != v else v for v in table.column(n).tolist()] for n in table}
    return [dict(zip(entries, row, strict=True)) for row in zip(*entries.values(), strict=True)]


@settings(max_examples=38)
@given(rule_lists, st.integers(0, 2**31), st.booleans())
def test_predictions_and_probabilities(rules, seed, counted):
    rng = np.random.default_rng(seed)
    table = GRID[rng.choice(len(GRID), 5)]
    if counted:
        weights = rng.integers(0, 4, len(table)) / 2
        rules = rules.with_counts(table, rng.choice(KINDS, len(table)), weights)
        total = sum(map(sum, (rules.default_counts, *(item.counts for item in rules))))
        assert total == weights.sum()
    covers = rules.covers(table)
    first = rules.first_match(table)
    for i, row in enumerate(rows_of(table)):
        label, probabilities = oracle.decision_of_list(rules, row)
        assert rules.predict(table)[i] == label
        assert rules.decide(covers)[i] == label
        np.testing.assert_allclose(rules.predict_proba(table)[i], probabilities, rtol=1e-15)
        found = rules.explain(row)
        assert (found.prediction, found.position) == (label, first[i])
        assert all(len(conditions) for conditions in found.failed)
        assert len(found.failed) == first[i]
    np.testing.assert_array_equal(rules.probabilities(covers), rules.predict_proba(table))
    dtype = object if rules.default is None else np.dtype("<U1")
    assert rules.predict(table).dtype == dtype


@settings(max_examples=38)
@given(rule_lists)
def test_equivalent_sets_trees_and_shorter_lists(rules):
    expected = rules.predict(GRID).tolist()
    exclusive = rules.to_rule_set()
    assert exclusive.predict(GRID).tolist() == expected
    assert (exclusive.covers(GRID).sum(axis=1) <= 1).all()
    np.testing.assert_array_equal(exclusive.predict_proba(GRID), rules.predict_proba(GRID))
    tree = rules.to_tree()
    assert tree.predict(GRID).tolist() == expected
    assert str(tree).count("?\n") + str(tree).count("?─") == len(tree.tests) - tree.n_leaves
    shorter = rules.simplified()
    assert shorter.predict(GRID).tolist() == expected
    assert shorter.n_conditions <= rules.n_conditions
    assert shorter.simplified() == shorter
    assert len(shorter) == len(set(shorter.first_match(GRID).tolist()) - {len(shorter)})


@settings(max_examples=38)
@given(rule_lists, st.integers(0, 2**31))
def test_shorter_lists_on_a_domain(rules, seed):
    whole = GRID[~np.any([GRID.missing(name) for name in GRID], axis=0)]
    assert rules.simplified(missing=False).predict(whole).tolist() == rules.predict(whole).tolist()
    few = GRID[np.random.default_rng(seed).choice(len(GRID), 3)]
    shorter = rules.simplified(few)
    assert shorter.predict(few).tolist() == rules.predict(few).tolist()


@settings(max_examples=38)
@given(rule_lists, st.integers(0, 2**31))
def test_counts_that_are_left_are_right(rules, seed):
    rng = np.random.default_rng(seed)
    y = rng.choice(KINDS, len(GRID))
    shorter = rules.with_counts(GRID, y).simplified()
    again = shorter.with_counts(GRID, y)
    for mine, its in zip(shorter, again, strict=True):
        assert mine.counts in ((), its.counts)
    assert shorter.default_counts in ((), again.default_counts)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([("p <= 3 & p <= 5", "x"), ("p > 3 & p > 4", "y")], "p <= 3→x, p > 4→y, →z"),
        ([("p <= 3", "x"), ("p <= 2", "y"), ("p < 3 & q = 1", "z")], "p <= 3→x, →z"),
        ([("p <= 3", "x"), ("p > 3", "y"), ("p is missing", "x")], "p > 3→y, →x"),
        ([("p <= 3", "x"), ("p <= 5", "x")], "p <= 5→x, →z"),
        ([("p = 1", "x"), ("q = 1", "z"), ("r = 1", "z")], "p = 1→x, →z"),
        ([("p = 1", "z"), ("p <= 3", "x")], "p = 1→z, p <= 3→x, →z"),
        ([("p = 1", "x"), ("true", "y"), ("q = 1", "x")], "p = 1→x, →y"),
        ([("p = 1 & p = 2", "x")], "→z"),
        ([("p <= 1", "x"), ("q = 1 & ~(p <= 1)", "y")], "p <= 1→x, q = 1→y, →z"),
        ([("p = 1", "x"), ("p != 1 & q = 1", "y")], "p = 1→x, p != 1 & q = 1→y, →z"),
        ([("a = `b` & c = 1", "x"), ("a = `b` & c = 1 & d = 1", "y")], "a = `b` & c = 1→x, →z"),
        ([], "→z"),
    ],
)  # fmt: skip
def test_what_is_left_out(before, after):
    rules = listed(*before, default="z").simplified()
    assert ", ".join([*(f"{i.rule}→{i.label}" for i in rules), f"→{rules.default}"]) == after


def test_counts_go_to_what_decides_instead():
    items = [ClassRule(fk.rule(text), label, counts) for text, label, counts in [
        ("p = 1", "x", (4, 1)), ("q = 1", "y", (0, 3)), ("r = 1", "y", (1, 2))]]  # fmt: skip
    rules = RuleList(items, ("x", "y"), "y", (1, 5))
    shorter = rules.simplified()
    assert (len(shorter), shorter.default_counts) == (1, (2, 10))
    split = RuleList([items[1], ClassRule(fk.rule("p = 1"), "y", (1, 1))], "xy", "y", (1, 1))
    assert split.simplified() == RuleList((), "xy", "y", (2, 5))
    first = ClassRule(fk.rule("p = 1 & q in {3, 6}"), "x", (2, 0))
    heir = ClassRule(fk.rule("q = 3"), "x", (1, 1))
    other = ClassRule(fk.rule("q <= 4"), "y", (0, 1))
    several = RuleList([first, heir, other], "xy", "x", (3, 3)).simplified()
    assert [item.label for item in several] == ["x", "y"]
    assert [item.counts for item in several] == [(), (0, 1)]
    assert several.default_counts == ()


def test_logic_that_is_too_large_leaves_the_list_as_it_is(monkeypatch):
    monkeypatch.setattr(cases, "MAX_BOXES", 500)
    wide = " & ".join(f"(a{k} = 1 | b{k} = 1)" for k in range(20))
    rules = listed((wide, "x"), ("p = 1", "y"), default="z")
    assert rules.simplified() == rules
    table = {"p": [1, 1], **{f"{x}{k}": [1, 0] for x in "ab" for k in range(20)}}
    assert rules.to_rule_set().predict(table).tolist() == ["x", "y"]
    monkeypatch.setattr(decision_tree, "MAX_NODES", 500)
    parity = " ^ ".join(f"a{k}" for k in range(20))
    with pytest.raises(fk.FormulaSizeError, match="more than 500 nodes"):
        listed((parity, "x")).to_tree()


def test_long_lists():
    rules = listed(*((f"p <= {k}", "xyz"[k % 3]) for k in range(400)))
    table = {"p": [-1, 0.5, 250, 1000, None]}
    expected = ["x", "y", "y", None, None]
    assert rules.predict(table).tolist() == expected
    tree = rules.to_tree()
    assert (tree.n_leaves, tree.depth) == (401, 400)
    assert tree.predict(table).tolist() == expected
    assert len(str(tree).splitlines()) == 801
    assert pickle.loads(pickle.dumps(tree)) == tree


@pytest.mark.parametrize(
    ("classes", "default", "dtype"),
    [
        (("ab", "c"), "c", "<U2"), (tuple(np.array(["ab", "c"])), "c", "<U2"),
        ((1, 2), 1, "int64"), ((False, True), True, "bool"), ((0.5, 1.5), 0.5, "float64"),
        ((1, "1"), 1, "O"), (("ab", "c"), None, "O"), ((1, 2), None, "O"),
        ((None, "a"), None, "O"), (((1,), (2,)), (1,), "O"),
    ],
)  # fmt: skip
def test_the_dtype_is_that_of_the_classes(classes, default, dtype):
    item = ClassRule(fk.rule("p = 1"), classes[1])
    for rules in (RuleList([item], classes, default), RuleSet([item], classes, default)):
        found = rules.predict({"p": [1, 2]})
        assert found.dtype == np.dtype(dtype)
        assert found.tolist() == [classes[1], default]
    assert listed(("p = 1", "x"), default="x").predict({"p": []}).shape == (0,)


def test_a_list_is_a_value():
    rules = listed(("p = 1", "x"), ("q = 1", "y"))
    assert rules == listed(("p = 1", "x"), ("q = 1", "y"))
    assert rules != listed(("p = 1", "x"), ("q = 1", "y"), default="z")
    assert rules != RuleSet(rules.rules, rules.classes)
    assert len({rules, pickle.loads(pickle.dumps(rules))}) == 1
    assert (len(rules), rules[1].label, [item.label for item in rules]) == (2, "y", ["x", "y"])
    assert repr(rules) == "<RuleList: 2 rules for ['x', 'y', 'z']>"
    assert (rules.n_conditions, listed(("true", "x"), ("~(a & b) | c", "y")).n_conditions) == (2, 3)
    assert rules.head(1) == listed(("p = 1", "x"))


def test_what_is_no_list_is_refused():
    item = ClassRule(fk.rule("p = 1"), "x")
    for match, make in [
        ("class 'w' is not among", lambda: listed(("p = 1", "w"))),
        ("class 'w' is not among", lambda: listed(("p = 1", "x"), default="w")),
        ("class None is not among", lambda: listed(("p = 1", None))),
        ("expected at least one class, each listed once", lambda: RuleList((), ())),
        ("expected at least one class, each listed once", lambda: RuleList((), ("a", "a"))),
        ("one for each of the 2 classes", lambda: RuleList([ClassRule(item.rule, "x", [1])], "xy")),
        ("one for each of the 2 classes", lambda: RuleList([item], ("x", "y"), "x", (1, 2, 3))),
        ("count -1", lambda: ClassRule(item.rule, "x", (1, -1))),
        ("count nan", lambda: RuleList([item], "xy", "x", (1, np.nan))),
        ("count 'a'", lambda: ClassRule(item.rule, "x", "ab")),
        ("each node before", lambda: DecisionTree((item.rule,), (0,), (0,), (None,), "xy")),
        ("each node before those below", lambda: DecisionTree((), (), (), (), "xy")),
    ]:  # fmt: skip
        with pytest.raises(fk.ParameterError, match=match):
            make()
    rules, table = RuleList([item], ("x", "y")), {"p": [1, 2]}
    for match, ask in [
        (r"covers has shape \(2, 2\)", lambda: rules.decide(np.ones((2, 2)))),
        ("for one row, but this explains 2", lambda: rules.explain(table).failed),
        ("needs a row, but the table has none", lambda: rules.explain({"p": []})),
        ("y holds 'w' .row 1.", lambda: rules.with_counts(table, ["x", "w"])),
        ("2 rows and 1 classes", lambda: rules.with_counts(table, ["x"])),
        ("expected 2 finite numbers", lambda: rules.with_counts(table, ["x", "x"], [1])),
        ("expected 2 finite numbers", lambda: rules.with_counts(table, ["x", "x"], [1, -1])),
        ('no column "p"', lambda: rules.predict({"q": [1]})),
    ]:
        with pytest.raises(fk.DataError, match=match):
            ask()


def test_rows_can_be_given_in_several_ways():
    pandas = pytest.importorskip("pandas")
    rules = listed(("p <= 1 & q = a", "x"), ("q = b", "y"), default="z")
    frame = pandas.DataFrame({"p": [2.5, None], "q": ["a", "b"]})
    expected = [
        "class z, the default: no rule is satisfied",
        "  not by rule 1 (x): p <= 1 is false, since p is 2.5",
        "  not by rule 2 (y): q = b is false, since q is a",
    ]
    for row in (frame[:1], frame.iloc[0], {"p": 2.5, "q": "a"}, {"p": [2.5], "q": ["a"]}):
        assert str(rules.explain(row)).splitlines() == expected
    found = rules.explain(frame.iloc[1])
    assert found.rule == rules[1]
    assert "since p is missing" in str(found)
    assert rules.explain({"p": 9, "q": "c"}).rule is None
    never = listed(("false", "x"), ("p | p = 2", "y"))
    assert "rule 1 (x): false is false\n" in str(never.explain({"p": 0}))
    many = rules.explain(frame)
    assert [one.position for one in many] == many.positions.tolist() == [2, 1]
    assert [str(one) for one in many] == [str(rules.explain(frame.iloc[k])) for k in (0, 1)]
    assert str(many).splitlines() == [
        "row  class  by rule", "  0  z               otherwise", "  1  y            2  q = b",
    ]  # fmt: skip
    assert many.to_frame()["rule"].fillna("none").tolist() == ["none", "q = b"]
    assert "since" in many[0]._repr_html_()
    assert many._repr_html_().count("<tr>") == 3


def test_explanations_show_dates_as_dates():
    late = listed(("day >= 2020-02-01", "x"), default="y")
    found = late.explain({"day": np.datetime64("2020-01-31")})
    assert str(found).endswith("day >= 2020-02-01 is false, since day is 2020-01-31")
