"""Unordered sets: votes of counts or of rules, ties by the order of the classes, as a value."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import formulakern as fk
from formulakern import ClassRule, RuleSet
from tests import oracle
from tests.rules.test_properties import GRID
from tests.rules.test_rule_list import KINDS, defaults, rows_of
from tests.strategies import class_rules

half = st.integers(0, 6).map(lambda n: n / 2)
counts = st.tuples(half, half, half)
plain = class_rules(KINDS)
counted = st.builds(replace, plain, counts=counts)


def sets(items, votes):
    listed = st.lists(items, max_size=5).map(tuple)
    return st.builds(RuleSet, listed, st.just(KINDS), defaults, st.just(()) | counts, votes)


rule_sets = st.one_of(
    sets(plain, st.sampled_from(["counts", "rules"])),
    sets(counted, st.sampled_from(["counts", "rules"])),
    sets(plain | counted, st.just("rules")),
)


@given(rule_sets, st.integers(0, 2**31))
def test_votes(rules, seed):
    table = GRID[np.random.default_rng(seed).choice(len(GRID), 5)]
    covers = rules.covers(table)
    for i, row in enumerate(rows_of(table)):
        label, probabilities = oracle.decision_of_set(rules, row)
        assert rules.predict(table)[i] == label
        np.testing.assert_allclose(rules.predict_proba(table)[i], probabilities, rtol=1e-15)
        found = rules.explain(row)
        assert found.prediction == label
        assert found.fired == tuple(np.flatnonzero(covers[i]))
        best = [c for c in KINDS if found.votes[c] == max(found.votes.values()) > 0]
        assert found.tie == (tuple(best) if len(best) > 1 else ())
        assert ("tie" in str(found)) == bool(found.tie)
    assert rules.decide(covers).tolist() == rules.predict(table).tolist()


@given(rule_sets)
def test_shorter_sets(rules):
    shorter = rules.simplified()
    assert shorter.predict(GRID).tolist() == rules.predict(GRID).tolist()
    np.testing.assert_array_equal(shorter.predict_proba(GRID), rules.predict_proba(GRID))
    assert shorter.n_conditions <= rules.n_conditions


def test_counts_of_a_set_are_of_all_rows_that_a_rule_covers():
    items = [ClassRule(fk.rule("p <= 2"), "x"), ClassRule(fk.rule("p >= 2"), "y")]
    rules = RuleSet(items, ("x", "y")).with_counts({"p": [1, 2, 3, None]}, ["x", "y", "y", "x"])
    assert [item.counts for item in rules] == [(1, 1), (0, 2)]
    assert rules.default_counts == (1, 0)


def test_a_set_is_a_value():
    items = [ClassRule(fk.rule("p <= 2"), "x", (1, 0)), ClassRule(fk.rule("p >= 2"), "y", (0, 1))]
    rules = RuleSet(items, ("x", "y"))
    assert rules == RuleSet(tuple(items), ["x", "y"])
    assert rules != RuleSet(items, ("x", "y"), vote="rules")
    assert hash(pickle.loads(pickle.dumps(rules))) == hash(rules)
    assert repr(rules) == "<RuleSet: 2 rules for ['x', 'y']>"
    assert rules.predict({"p": [2]}).tolist() == ["x"]
    with pytest.raises(fk.ParameterError, match=r"rule 1 has no counts, .* vote='rules'"):
        RuleSet([items[0], ClassRule(items[1].rule, "y")], ("x", "y"))
    with pytest.raises(fk.ParameterError, match="vote='most'; expected one of 'counts', 'rules'"):
        RuleSet(items, ("x", "y"), vote="most")


def test_explanations():
    items = [ClassRule(fk.rule("p <= 2"), "x", (1, 0)), ClassRule(fk.rule("p <= 1"), "y", (0, 0))]
    rules = RuleSet(items, ("x", "y"), "y")
    assert str(rules.explain({"p": 1})).splitlines() == [
        "class x (x: 1)", "  rule 1 votes 1 for x: p <= 2", "  rule 2 votes nothing: p <= 1",
    ]  # fmt: skip
    assert str(rules.explain({"p": 3})) == "class y, the default: no rule votes"
    unknown = RuleSet(items, ("x", "y")).explain({"p": 3})
    assert (str(unknown), unknown.prediction) == ("class unknown: no rule votes", None)
    many = rules.explain({"p": [1, 3]})
    assert [str(one) for one in many] == [str(rules.explain({"p": p})) for p in (1, 3)]
    assert many.predictions.tolist() == ["x", "y"]
    np.testing.assert_array_equal(many.sums, [[1, 0], [0, 0]])
    assert str(many).splitlines()[1] == "  0  x      1 for x: p <= 2; nothing: p <= 1"
    assert many.to_frame()["votes x"].tolist() == [1, 0]
    assert many._repr_html_().count("<tr>") == 3
    assert "p &lt;= 2" in many[0]._repr_html_()
