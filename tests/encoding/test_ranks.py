"""Ranks: a condition on ranks is true for the rows for which it is true on the table."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import formulakern as fk
from formulakern.encoding.propositions import evaluate_formula
from formulakern.encoding.ranks import AT_LEAST, AT_MOST, EQUAL, UNEQUAL, RankedColumn, RankedTable
from formulakern.encoding.strict import read_packed
from formulakern.syntax.parser import parse_rule

CELLS = {
    "text": st.one_of(st.none(), st.sampled_from(["a", "b", "c d", "1", "true", '"'])),
    "number": st.one_of(
        st.none(), st.sampled_from([0.1, 0.2, 0.30000000000000004, 1e300, -1e-300, np.inf, -np.inf])
    ),
    "whole": st.integers(-3, 3),
    "flag": st.one_of(st.none(), st.booleans()),
}


@st.composite
def tables(draw):
    n = draw(st.integers(1, 12))
    columns = {name: draw(st.lists(cells, min_size=n, max_size=n)) for name, cells in CELLS.items()}
    levels = ["low", "mid", "high", "never"]
    grades = draw(st.lists(st.sampled_from([None, *levels[:3]]), min_size=n, max_size=n))
    frame = pd.DataFrame(columns)
    frame["grade"] = pd.Categorical(grades, levels, ordered=True)
    return frame


def holds(rank, relation, value, top):
    """Return the truth value of a condition for one entry."""
    if rank == top or value == top:
        return (rank == top) == (value == top) if relation == EQUAL else rank != top
    return {
        EQUAL: rank == value,
        UNEQUAL: rank != value,
        AT_MOST: rank <= value,
        AT_LEAST: rank >= value,
    }[relation]


def every_condition(column):
    """All conditions that a column has."""
    top = len(column.values)
    found = []
    if not column.numeric:
        found += [(EQUAL, value) for value in range(top)]
    if not column.numeric and column.proposition is None:
        found += [(UNEQUAL, value) for value in range(top)]
    if column.ordered:
        found += [(AT_MOST, value) for value in range(top - 1)]
        found += [(AT_LEAST, value) for value in range(1, top)]
    return [*found, (EQUAL, top), (UNEQUAL, top)]


@settings(max_examples=45)
@given(tables())
def test_conditions_say_what_they_are(frame):
    table = fk.Table.of(frame)
    encoder = fk.PropositionEncoder(nominal=["text"])
    encoder.fit(frame)
    ranked = RankedTable.of(table, encoder.plans_)
    assert ranked.ranks.shape == (5, len({tuple(r) for r in ranked.ranks.T[ranked.row].tolist()}))
    for j, column in enumerate(ranked.columns):
        entries = ranked.ranks[j, ranked.row]
        missing = table.missing(column.name)
        assert np.array_equal(entries == len(column.values), missing)
        assert column.missing == missing.any()
        for relation, value in every_condition(column):
            said = column.formula_of(relation, value)
            assert parse_rule(str(said)) == said
            expected = [holds(e, relation, value, len(column.values)) for e in entries.tolist()]
            assert evaluate_formula(said, table).tolist() == expected, said


def test_orders_of_categories():
    levels = ["low", "mid", "high"]
    frame = pd.DataFrame(
        {"a": pd.Categorical(["mid", "low"], levels, ordered=True), "b": ["x", "y"]}
    )
    for table in (
        fk.Table.of(frame),
        fk.Table(dict(frame)),
        fk.Table.of(
            pl.DataFrame(
                {"a": ["mid", "low"], "b": ["x", "y"]}, schema_overrides={"a": pl.Enum(levels)}
            )
        ),
    ):
        assert dict(table.orders) == {"a": tuple(levels)}
        assert dict(table[[1]].orders) == dict(fk.Table.of(table).orders) == dict(table.orders)
        assert dict(table.select(["b"]).orders) == {}
        assert dict(fk.Table.of(table, ["c", "d"]).orders) == {"c": tuple(levels)}
    plain = fk.Table.of(frame.astype({"a": "str"}))
    assert not plain.orders
    assert plain != fk.Table.of(frame)
    unordered = frame.assign(a=frame["a"].cat.as_unordered())
    assert fk.Table.of(unordered) == plain


def test_an_ordered_column_is_cut_where_its_values_are():
    order = ("low", "mid", "high")
    grade = RankedColumn("grade", np.array(order), ordered=True, order=order)
    said = [
        grade.formula_of(*c) for c in [(AT_MOST, 0), (AT_MOST, 1), (AT_LEAST, 1), (AT_LEAST, 2)]
    ]
    assert list(map(str, said)) == [
        "grade = low",
        "grade <= mid",
        "grade >= mid",
        "grade = high",
    ]


def test_of_two_bounds_the_tighter_is_said():
    values = np.arange(10.0)
    table = RankedTable((RankedColumn("x", values, True, True),), np.zeros((1, 1), np.int32), [0])
    conditions = [(0, AT_MOST, 7), (0, AT_LEAST, 2), (0, AT_MOST, 5), (0, AT_LEAST, 1)]
    assert str(table.conjunction(conditions)) == "2 <= x <= 5"
    assert str(table.conjunction([])) == "true"


@pytest.mark.parametrize("text", ["a", "a = 1", "a & b"])
def test_columns_of_zero_and_one(text):
    leaf = parse_rule(text)
    ranked = RankedTable.of_packed(read_packed([[1], [0], [1]]), [leaf])
    [column] = ranked.columns
    assert ranked.ranks[:, ranked.row].tolist() == [[1, 0, 1]]
    assert column.formula_of(EQUAL, 1) == column.formula_of(UNEQUAL, 0) == leaf
    assert column.formula_of(EQUAL, 0) == (parse_rule("a = 0") if text == "a" else ~leaf)


def test_weights_by_class_are_sums_over_equal_rows():
    table = fk.Table({"a": ["x", "y", "x", "x"]})
    ranked = RankedTable.of(table, fk.PropositionEncoder().fit(table).plans_)
    weights = ranked.weights_by_class(np.array([0, 1, 1, 0]), 2, np.array([1.0, 2.0, 4.0, 8.0]))
    assert weights[ranked.row[0]].tolist() == [9.0, 4.0]
    assert weights[ranked.row[1]].tolist() == [0.0, 2.0]


def test_infinite_entries_of_a_nominal_column_are_not_said_to_be_missing():
    table = fk.Table({"a": [1.0, np.inf, None]})
    encoder = fk.PropositionEncoder(nominal="all").fit(table)
    [column] = RankedTable.of(table, encoder.plans_).columns
    assert not column.missing
