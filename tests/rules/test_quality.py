"""Measures of rules against their definitions, written out with sums over rows."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import formulakern as fk
from formulakern import ClassRule, RuleList, rule_quality
from tests.rules.test_properties import GRID
from tests.strategies import class_rules

KINDS = ("x", "y", "z")


def naive(rule, label, base, table, y, weights, m):
    """Every measure, from counts that are summed row by row."""

    def counts(covers):
        return {
            c: sum(w for w, k, on in zip(weights, y, covers, strict=True) if on and k == c)
            for c in KINDS
        }

    f, whole = counts(rule(table)), counts([True] * len(y))
    before = whole if base is None else counts(base(table))
    covered, total, basis = (sum(part.values()) for part in (f, whole, before))
    prior, k = whole[label] / total, len({*y, "x", "y", "z"})
    share = f[label] / covered if covered else math.nan
    gain = 0.0
    if f[label]:
        start = before[label] / basis if basis else math.nan
        gain = f[label] * (math.log2(share) - (math.log2(start) if start else -math.inf))
    shares = [part / covered for part in f.values() if part] if covered else [math.nan]
    expected = {c: covered * whole[c] / total for c in KINDS}
    return {
        "coverage": covered / total, "accuracy": share, "laplace": (f[label] + 1) / (covered + k),
        "m_estimate": (f[label] + m * prior) / (covered + m) if covered + m else math.nan,
        "foil_gain": gain, "entropy": -sum(s * math.log2(s) for s in shares), "lift": share / prior,
        "weighted_relative_accuracy": covered / total * (share - prior) if covered else 0.0,
        "likelihood_ratio": 2 * sum(f[c] * math.log(f[c] / expected[c]) for c in KINDS if f[c]),
    }  # fmt: skip


@settings(max_examples=38)
@given(
    st.lists(st.tuples(class_rules(KINDS), class_rules(KINDS)), max_size=4),
    st.sampled_from([0, 1, 2.5]), st.booleans(), st.integers(0, 2**31),
)  # fmt: skip
def test_measures_by_definition(pairs, m, weighted, seed):
    rng = np.random.default_rng(seed)
    table = GRID[rng.choice(len(GRID), 30)]
    y = [*KINDS, *rng.choice(KINDS, len(table) - 3)]
    weights = rng.integers(1, 5, len(table)) / 2 if weighted else np.ones(len(table))
    items = [item for item, _ in pairs]
    bases = [item.rule | base.rule for item, base in pairs] if weighted else None
    found = rule_quality(
        items, table, y, sample_weight=weights if weighted else None, base=bases, m=m
    )
    assert (len(found), found.classes, found.labels) == (
        len(items), KINDS, tuple(item.label for item in items),
    )  # fmt: skip
    for k, item in enumerate(items):
        expected = naive(item.rule, item.label, bases[k] if bases else None, table, y, weights, m)
        mine = {name: getattr(found, name)[k] for name in expected}
        np.testing.assert_allclose(
            [*mine.values()], [*expected.values()], rtol=1e-12, atol=1e-12, err_msg=str(mine)
        )
        np.testing.assert_array_equal(found.positives + found.negatives, found.counts.sum(axis=1))


def test_labels():
    X, y = {"p": [1, 2, 3, 4]}, ["x", "y", "y", "y"]
    rules = ["p = 1", "p > 1", "p > 9"]
    assert rule_quality(rules, X, y).labels == ("x", "y", "y")
    assert rule_quality(rules, X, y, labels="x").labels == ("x",) * 3
    assert rule_quality(rules, X, y, labels=["x", "y", "w"]).classes == ("w", "x", "y")
    assert rule_quality("p = 1", X, np.array([1, 0, 0, 0])).labels == (1,)
    assert rule_quality("p = 1", X, [None, 1, "a", 2]).classes == (None, 1, "a", 2)
    listed = RuleList([ClassRule(fk.rule("p = 1"), "y")], ("x", "y"))
    assert rule_quality(listed, X, y).accuracy.tolist() == [0.0]
    assert rule_quality(fk.rule("p = 1"), X, y).accuracy.tolist() == [1.0]


def test_rules_that_cover_nothing_and_tables_without_rows():
    found = rule_quality(["p > 9"], {"p": [1, 2]}, ["x", "y"])
    assert found.coverage.tolist() == [0]
    assert np.isnan(found.accuracy).all()
    assert np.isnan(found.entropy).all()
    assert (found.foil_gain[0], found.weighted_relative_accuracy[0]) == (0, 0)
    assert (found.likelihood_ratio[0], found.laplace[0]) == (0, 0.5)
    none = rule_quality(["p > 9"], {"p": []}, [], labels="x")
    assert np.isnan([none.coverage, none.lift]).all()
    assert len(rule_quality([], {"p": [1]}, ["x"]).accuracy) == 0


def test_foil_gain_against_the_rule_before():
    """From p = 100, n = 400 to 30 and 1, 10 and 90 (Tan, Steinbach & Kumar)."""
    y = np.repeat(["p", "n"], [100, 400])
    place = np.arange(500)
    first = {"a": (place < 30) | (place // 10 == 10), "b": (place < 90) | (place == 100)}
    gains = rule_quality(["a", "b"], first, y, labels="p").foil_gain
    np.testing.assert_allclose(gains, [57.2, 207.5], atol=0.1)


def test_table_and_frame():
    found = rule_quality(["p = 1", "p > 1"], {"p": [1, 2, 3, 4]}, ["x", "y", "y", "y"])
    lines = str(found).splitlines()
    assert lines[0].split()[:4] == ["rule", "coverage", "accuracy", "laplace"]
    assert lines[2].split()[:5] == ["p", "=", "1", "→", "x"]
    assert repr(found) == "<RuleQuality of 2 rules>"
    assert found._repr_html_().count("<td") == 10 * len(found)
    pytest.importorskip("pandas")
    frame = found.to_frame()
    assert frame.shape == (2, 13)
    assert frame["rule"].tolist() == ["p = 1", "p > 1"]


def test_bad_input():
    X, y = {"p": [1, 2]}, ["x", "y"]
    for error, match, change in [
        (
            fk.ParameterError,
            "labels has 1 entries; expected one, or one for each of 2",
            {"labels": ["x"]},
        ),
        (fk.ParameterError, "base has 3 entries", {"base": ["p = 1"] * 3}),
        (fk.ParameterError, "m=-1; expected", {"m": -1}),
        (fk.DataError, "2 rows and 1 classes", {"y": ["x"]}),
        (fk.DataError, "expected 2 finite numbers", {"sample_weight": [1, np.nan]}),
        (fk.DataError, 'no column "q"', {"rules": ["q = 1", "p = 1"]}),
    ]:
        with pytest.raises(error, match=match):
            rule_quality(**({"rules": ["p = 1", "p = 2"], "X": X, "y": y} | change))
