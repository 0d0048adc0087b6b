"""Columns of categories: rare values pooled, declared orders, entries that are missing."""

import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import formulakern as fk
from formulakern.datasets import read_table
from formulakern.encoding.propositions import evaluate_proposition
from formulakern.syntax.leaves import Comparison, Level
from formulakern.syntax.parser import parse_rule

DATA = Path(os.environ.get("FORMULAKERN_DATA", Path(__file__).parents[3] / "shared" / "data"))
GRADES = ["low", "mid", "high", "top"]


def names(table, **parameters):
    return fk.PropositionEncoder(**parameters).fit(table).get_feature_names_out().tolist()


def test_rare_values_have_one_proposition_together():
    city = fk.Table({"city": ["Paris"] * 3 + ["London"] * 2 + ["Lund", "Kiel", None]})
    assert names(city, min_frequency=2) == [
        "city = London", "city = Paris", "city not in {London, Paris}", "city is missing",
    ]  # fmt: skip
    assert names(city, min_frequency=0.3) == [
        "city = Paris", "city not in {Paris}", "city is missing",
    ]  # fmt: skip
    assert names(city, min_frequency=3, negations=True, missing="false") == [
        "city = Paris", "city != Paris", "city not in {Paris}", "city in {Paris}",
    ]  # fmt: skip
    assert names(city, min_frequency=9) == ["city is missing"]
    assert names(city, min_frequency=1) == names(city)
    codes = fk.Table({"code": [3, 3, 7, 8, 3]})
    assert names(codes, min_frequency=2, nominal="all") == ["code = 3", "code not in {3}"]


def test_a_dictionary_of_arrow_is_one_of_categories():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    frame = pa.table({"city": pa.array(["Paris", None, "Lund"]).dictionary_encode()})
    assert fk.Table.of(frame) == fk.Table({"city": ["Paris", None, "Lund"]})


def test_values_that_training_did_not_show_are_rare():
    encoder = fk.PropositionEncoder(min_frequency=2).fit({"city": ["Paris", "Paris", "Lund"]})
    later = {"city": ["Oslo", "Lund", "Paris", None]}
    assert encoder.transform(later).tolist() == [[0, 1], [0, 1], [1, 0], [0, 0]]
    strict = fk.PropositionEncoder(min_frequency=2, unknown="error").fit({"city": ["Paris"] * 2})
    with pytest.raises(fk.DataError, match="'Oslo'"):
        strict.transform(later)
    strict = fk.PropositionEncoder(min_frequency=2, unknown="error")
    strict.fit({"city": ["Paris", "Paris", "Lund"]}).transform({"city": ["Lund", "Paris"]})


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", "c", "d", None]), min_size=1, max_size=12),
    st.integers(1, 4),
    st.booleans(),
)
def test_pooled_propositions_are_what_they_say(values, least, negations):
    table = fk.Table({"x": values, "y": [True] * len(values)})
    encoder = fk.PropositionEncoder(min_frequency=least, negations=negations).fit(table)
    later = fk.Table({"x": ["a", "b", "c", "d", "e", None], "y": [True] * 6})
    packed = encoder.pack(later).unpacked()
    listed = [text for text in encoder.get_feature_names_out() if text.startswith("x")]
    for part, found in ((table, encoder.transform(table)), (later, packed)):
        for place, text in enumerate(listed):
            np.testing.assert_array_equal(
                found[:, place], evaluate_proposition(parse_rule(text), part)
            )
    frequent = [v for v in "abcd" if values.count(v) >= least]
    assert [p.value for p in encoder.propositions_ if str(p).startswith("x = ")] == frequent


def test_min_frequency_is_checked():
    for wrong in (0, -1, 0.0, 1.5, "2", True):
        with pytest.raises(fk.ParameterError, match="min_frequency="):
            fk.PropositionEncoder(min_frequency=wrong).fit({"x": ["a", "b"]})


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_declared_order_has_sets_of_smaller_and_larger_values(library):
    values = ["mid", "low", "top", None, "high", "mid"]
    if library == "pandas":
        column = pd.Categorical(values, categories=[*GRADES, "best"], ordered=True)
        frame = pd.DataFrame({"grade": column})
    else:
        frame = pl.DataFrame({"grade": pl.Series(values, dtype=pl.Enum([*GRADES, "best"]))})
    equal = [f"grade = {grade}" for grade in sorted(GRADES)]
    up = ["grade <= mid", "grade <= high"]
    down = ["grade >= mid", "grade >= high"]
    assert names(frame) == [*equal, *up, *down, "grade is missing"]
    assert names(frame, numeric="<=", min_frequency=2) == [*equal, *up, "grade is missing"]
    assert names(frame, nominal="all") == [*equal, "grade is missing"]
    encoder = fk.PropositionEncoder(numeric=">=").fit(frame)
    found = encoder.transform(frame)[:, 4:6]
    assert found.tolist() == [[1, 0], [0, 0], [1, 1], [0, 0], [1, 1], [1, 0]]
    assert names(pd.DataFrame({"grade": pd.Categorical(values)})) == [*equal, "grade is missing"]


def as_libraries(values, order):
    yield pd.DataFrame({"x": pd.Categorical(values, categories=order, ordered=True)})
    yield pl.DataFrame({"x": pl.Series(values, dtype=pl.Enum(order))})


@settings(max_examples=25, deadline=None)
@given(
    st.permutations([f"v {k}" for k in range(7)]),
    st.lists(st.one_of(st.none(), st.integers(0, 6)), min_size=2, max_size=15),
    st.integers(1, 4),
    st.sampled_from(["both", "<=", ">="]),
)
def test_levels_are_those_of_the_declared_order(order, ranks, number, numeric):
    values = [None if rank is None else order[rank] for rank in ranks]
    seen = sorted({rank for rank in ranks if rank is not None})
    known = None
    for frame in as_libraries(values, order):
        table = fk.Table.of(frame)
        encoder = fk.PropositionEncoder(cut_points=number, numeric=numeric).fit(frame)
        found = encoder.transform(frame)
        plain = encoder.transform({"x": values})  # text that does not know the order
        np.testing.assert_array_equal(found, plain)
        assert known is None or (found == known).all()
        known = found
        steps = 0
        for place, leaf in enumerate(encoder.propositions_):
            np.testing.assert_array_equal(found[:, place], evaluate_proposition(leaf, table))
            if leaf.relation in ("<=", ">="):
                steps += 1
                least = order.index(leaf.value)
                compared = [
                    rank is not None and (rank <= least if leaf.relation == "<=" else rank >= least)
                    for rank in ranks
                ]
                assert found[:, place].tolist() == compared
                assert parse_rule(str(leaf)) == leaf
                np.testing.assert_array_equal(fk.rule(str(leaf))(frame), compared)
                assert pickle.loads(pickle.dumps(leaf)).value.order == tuple(order)
        sides = 2 if numeric == "both" else 1
        assert steps <= sides * min(number, max(0, len(seen) - 2))
        if len(seen) > 2 and numeric == "both":
            assert steps


def test_an_order_needs_an_order():
    frame = pd.DataFrame({"x": pd.Categorical(["a", "b", None], ["b", "a"], ordered=True)})
    assert fk.rule("x >= a")(frame).tolist() == [True, False, False]
    assert fk.rule("x < a")(frame).tolist() == [False, True, False]
    with pytest.raises(fk.DataError, match="no category 'c'"):
        fk.rule("x < c")(frame)
    with pytest.raises(fk.DataError, match="text without an order"):
        fk.rule("x < a")({"x": ["a", "b"]})
    with pytest.raises(fk.ParameterError, match="not one of the categories"):
        Level("c", ("a", "b"))


@pytest.mark.parametrize(
    "model", [fk.PRLClassifier(), fk.RuleListClassifier(), fk.HKLClassifier(monotone={"grade": 1})]
)
def test_ordered_rules_survive_json_without_the_order_of_the_table(model):
    rng = np.random.default_rng(0)
    values = rng.choice(GRADES, 120)
    frame = pd.DataFrame({"grade": pd.Categorical(values, GRADES, ordered=True)})
    y = np.where(frame["grade"] >= "high", "yes", "no")
    rules = model.fit(frame, y).rules_
    assert "grade >= high" in str(rules) or "grade <= mid" in str(rules)
    assert "orders" in rules.to_json()
    again = type(rules).from_json(rules.to_json())
    assert again == rules
    for table in (frame, {"grade": values}, pl.DataFrame({"grade": values})):
        np.testing.assert_array_equal(again.predict(table), y)
        np.testing.assert_array_equal(model.predict(table), y)


def test_logic_of_ordered_categories():
    mid, high = (Level(name, tuple(GRADES)) for name in ("mid", "high"))
    below, above = Comparison("x", "<=", mid), Comparison("x", ">=", high)
    assert fk.mutually_exclusive([below, above])
    assert fk.exhaustive([below, above], missing=False).witness == {"x": "other"}
    assert fk.exhaustive([below, above], domains={"x": GRADES})
    assert not fk.mutually_exclusive([above, "x = top"])
    with pytest.raises(fk.FormulaError, match="order is not known"):
        fk.mutually_exclusive(["x <= mid", "x >= high"])


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no data at {DATA}; set FORMULAKERN_DATA")
@pytest.mark.parametrize(
    ("file", "numeric"), [("mammographic-masses.csv", True), ("house-votes-84.csv", False)]
)
def test_missing_entries_of_real_tables(file, numeric):
    """For a missing entry "is missing" is true, and nothing else."""
    X, _ = read_table(DATA / file, missing="?")
    encoder = fk.PropositionEncoder(negations=True).fit(X)
    found = encoder.transform(X)
    assert sum(X.missing(name).sum() for name in X) > 100
    assert any(X.is_numeric(name) for name in X) == numeric
    for place, leaf in enumerate(encoder.propositions_):
        gone, truths = X.missing(leaf.column), found[:, place].astype(bool)
        if leaf.relation == "is missing":
            np.testing.assert_array_equal(truths, gone)
        else:
            assert not truths[gone].any()
    asked = {leaf.column for leaf in encoder.propositions_ if leaf.relation == "is missing"}
    assert asked == {name for name in X if X.missing(name).any()}
