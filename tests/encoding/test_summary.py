"""Plans made of counts that add up are the plans of the whole table, whatever its parts are."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import formulakern as fk
from formulakern.encoding import summary
from formulakern.encoding.plan import ColumnPlan, planner
from formulakern.encoding.summary import Summary, nearest_rank, summaries_of
from formulakern.partitions.partitioned import Partitioned


def plans_of(encoder, summaries):
    return tuple(map(planner(encoder, tuple(one.name for one in summaries)), summaries))


def plans_of_table(encoder, table, classes=None):
    return plans_of(encoder, [Summary.of(table, name, classes) for name in table.names])


def plans_of_parts(table: fk.Table, ends: list[int], many: int, classes=None, **parameters):
    """The plans of a table that is cut before these rows."""
    encoder = fk.PropositionEncoder(**parameters)
    parts = np.split(np.arange(len(table)), sorted(ends))

    def read(names=None):
        some = table if names is None else table.select(names)
        return Partitioned([some[rows] for rows in parts])

    codes = None if classes is None else [classes[rows] for rows in parts]
    found, lengths = summaries_of(read, codes, many)
    assert lengths == [len(rows) for rows in parts]
    assert all(one.n_rows == len(table) for one in found)
    return plans_of(encoder, found)


def assert_same_plans(table, ends, many, classes=None, **parameters) -> tuple[ColumnPlan, ...]:
    whole = plans_of_table(fk.PropositionEncoder(**parameters), table, classes)
    assert plans_of_parts(table, ends, many, classes, **parameters) == whole
    return whole


NUMBERS = st.one_of(
    st.lists(st.integers(-30, 30), min_size=1, max_size=60),
    st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=40),
    st.lists(st.sampled_from([0.5, 1.25, -0.0, 0.0, 7.0, np.nan, np.inf, -np.inf]), max_size=40),
    st.lists(st.floats(-1e6, 1e6) | st.just(np.nan), min_size=1, max_size=60),
    st.lists(st.floats(allow_subnormal=True), min_size=1, max_size=40),
)


@given(
    NUMBERS,
    st.lists(st.integers(0, 60), max_size=5),
    st.sampled_from([7, 10, 1000]),
    st.sampled_from(["quantile", "uniform"]),
    st.integers(1, 12),
)
@settings(max_examples=150, deadline=None)
def test_numbers(numbers, ends, many, strategy, cut_points):
    """Values come at once, or in a pass of their own."""
    table = fk.Table({"a": np.array(numbers)})
    assert_same_plans(table, ends, many, strategy=strategy, cut_points=cut_points)


def test_columns_of_many_numbers_come_a_few_at_a_time(monkeypatch):
    """Read as many columns as fit into the budget, at least one, and only these."""
    read, numbers = [], np.random.default_rng(0).random((60, 5))
    table = fk.Table({name: numbers[:, j] for j, name in enumerate("abcde")})

    def parts(names=None):
        read.append(names)
        some = table if names is None else table.select(names)
        return Partitioned([some[:20], some[20:]])

    for budget, passes in ((1, 5), (16 * 60 * 2, 3), (1 << 28, 1)):
        read.clear()
        monkeypatch.setattr(summary, "MAX_GATHERED_BYTES", budget)
        found, _ = summaries_of(parts, many=7)
        assert [one.name for one in found] == list("abcde")
        assert len(read) == 1 + passes
        encoder = fk.PropositionEncoder()
        assert plans_of(encoder, found) == plans_of_table(encoder, table)


def test_many_cuts_of_a_column_with_one_frequent_value():
    """Fewer values are kept than cuts are asked for: they are not all that the column has."""
    table = fk.Table({"a": np.concatenate([np.zeros(900, np.int64), np.arange(1, 41)])})
    plan = assert_same_plans(table, [300, 920], 20, cut_points=12)[0]
    assert len(plan.propositions) < 12
    assert_same_plans(table, [920], 7, cut_points=50)  # all gaps, as many values as there are


@given(
    st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=60),
    st.sampled_from(["M8[s]", "M8[D]", "m8[ms]"]),
    st.booleans(),
    st.lists(st.integers(0, 60), max_size=4),
    st.sampled_from([7, 1000]),
    st.sampled_from(["quantile", "uniform"]),
)
@settings(max_examples=30, deadline=None)
def test_dates(counts, dtype, missing, ends, many, strategy):
    if dtype == "M8[D]":
        counts = [count // 10**6 for count in counts]
    column = np.array(counts, dtype=np.int64).view(dtype)
    if missing:
        column[0] = "NaT"
    assert_same_plans(fk.Table({"a": column}), ends, many, strategy=strategy)


@given(
    st.lists(st.sampled_from(["x", "y", "10", "9", None, "zz"]), min_size=1, max_size=40),
    st.lists(st.integers(0, 40), max_size=4),
    st.sampled_from([1, 3, 0.2]),
)
@settings(max_examples=30, deadline=None)
def test_texts(texts, ends, least):
    assert_same_plans(fk.Table({"a": texts}), ends, 1000, min_frequency=least, negations=True)


@given(
    st.lists(
        st.tuples(st.integers(0, 9) | st.none(), st.sampled_from("abc"), st.integers(0, 2)),
        min_size=1,
        max_size=50,
    ),
    st.lists(st.integers(0, 50), max_size=4),
)
@settings(max_examples=30, deadline=None)
def test_cuts_by_classes(rows, ends):
    numbers, texts, classes = zip(*rows, strict=True)
    table = fk.Table({"a": list(numbers), "b": list(texts)})
    codes = np.unique(classes, return_inverse=True)[1]
    assert_same_plans(table, ends, 5, codes, strategy="mdlp")


def test_ordered_categories_and_missing_entries():
    size = pd.Categorical(["s", "l", None, "m", "l", "s"], ["s", "m", "l"], ordered=True)
    flag = [None, None, True, False, True, None]
    rows = pd.DataFrame({"size": size, "flag": flag, "none": [None] * 6, "k": [1, 2, 3, 4, 5, 6]})
    table = fk.Table.of(rows)
    for ends in ([], [1], [2, 2, 4], [0, 6]):
        assert_same_plans(table, ends, 1000)
    assert_same_plans(table, [3], 1000, graded={"k": "rank"})


def test_whole_parts_read_alone_are_the_table():
    """A part without a missing entry has other dtypes when it is read by itself."""
    frame = pd.DataFrame(
        {"a": [1, 2, None, 3], "b": ["x", None, None, "y"], "c": [True, False] * 2}
    )
    parts = [fk.Table.of(frame[:2].convert_dtypes()), fk.Table.of(frame[2:])]

    def read(names=None):
        return Partitioned([part if names is None else part.select(names) for part in parts])

    encoder = fk.PropositionEncoder()
    summaries, _ = summaries_of(read)
    assert plans_of(encoder, summaries) == plans_of_table(encoder, fk.Table.of(frame))


@pytest.mark.parametrize("large", [10**15, 2**53])
def test_large_whole_numbers_in_one_part_and_decimals_in_another(large):
    """Together they have no unit, because float64 does not distinguish its multiples."""
    parts = [large + 2 * np.arange(30), np.arange(30) * 0.5]
    tables = [fk.Table({"a": part}) for part in parts]
    summaries, _ = summaries_of(lambda *_: Partitioned(tables), many=10)
    whole = fk.Table({"a": np.concatenate(parts)})
    encoder = fk.PropositionEncoder()
    assert plans_of(encoder, summaries) == plans_of_table(encoder, whole)


def test_parts_that_disagree():
    tables = [fk.Table(part) for part in ({"a": [1]}, {"a": []}, {"a": ["x"]})]
    with pytest.raises(fk.DataError, match="numbers in partition 0 and text in partition 2"):
        summaries_of(lambda *_: Partitioned(tables))


@pytest.mark.parametrize("classes", [None, np.zeros(40, dtype=np.intp)])
def test_identifiers_are_refused(classes, monkeypatch):
    monkeypatch.setattr(summary, "MAX_TEXTS", 30)
    table = fk.Table({"a": [f"n{k}" for k in range(40)]})
    with pytest.raises(fk.DataError, match='column "a" has more than 30 different texts'):
        plans_of_parts(
            table, [20], 1000, classes, strategy="mdlp" if classes is not None else "all"
        )


def test_what_needs_all_values_has_them():
    """All gaps, a value each, and ranks, also if a partition has many values of a column."""
    table = fk.Table({"a": np.arange(100) / 7})
    for parameters in ({"strategy": "all"}, {"nominal": "all"}, {"graded": "rank"}):
        assert_same_plans(table, [50], 20, **parameters)


@given(st.integers(1, 2000), st.sampled_from([0.025, 0.975, 0.5]))
@settings(max_examples=60, deadline=None)
def test_nearest_rank(n, share):
    assert np.quantile(np.arange(n), share, method="nearest") == nearest_rank(share, n) - 1


def test_many_numbers_are_not_kept_once_a_column_is_planned():
    """A few of them, the extent and the dtype are left; nothing is left out of few numbers."""
    numbers = np.random.default_rng(0).normal(size=3 * summary.MAX_COUNTED_NUMBERS)
    table = fk.Table({"x": numbers, "n": np.arange(len(numbers)) % 7})
    tables = [table[rows] for rows in np.split(np.arange(len(table)), 3)]
    read = lambda names=None: Partitioned([t.select(names or t.names) for t in tables])  # noqa: E731
    whole = {one.name: one for one in summaries_of(read)[0]}
    seen = []
    kept, _ = summaries_of(read, use=lambda one: (seen.append(one), one.without_many())[1])
    assert [len(one.column) for one in seen] == [len(numbers), 7]
    assert [len(one.column) for one in kept] == [summary.MAX_COUNTED_NUMBERS, 7]
    assert [one.extent() for one in kept] == [whole["x"].extent(), whole["n"].extent()]
    for one in kept:
        assert one.column.values.base is None  # no view, which would keep everything
        assert one.repeats.base is None
    constant = Summary("x", replace(kept[0].column, values=np.ones(9)), np.ones(9, int), None, ())
    assert constant.extent() is None
