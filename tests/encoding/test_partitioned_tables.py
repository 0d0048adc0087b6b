"""The encoded rows of a partitioned table equal those of the whole table."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import formulakern as fk
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.partitioned import PartitionedTable, WeightedRows
from formulakern.partitions.partitioned import DEFAULT_GATHER_LIMIT, Partitioned, gathered_bytes

ROWS = st.lists(
    st.tuples(st.booleans(), st.integers(0, 3), st.sampled_from("ab"), st.integers(0, 2)),
    min_size=2,
    max_size=40,
)


def partitioned(table: fk.Table, ends: list[int]) -> PartitionedTable:
    parts = np.split(np.arange(len(table)), sorted(ends))
    return PartitionedTable(
        table.names,
        lambda names=table.names: Partitioned([table.select(names)[rows] for rows in parts]),
    )


@given(ROWS, st.lists(st.integers(0, 40), max_size=4), st.data())
@settings(max_examples=45, deadline=None)
def test_partitions_are_the_table(rows, ends, data):
    flags, numbers, texts, codes = map(np.array, zip(*rows, strict=True))
    table = fk.Table({"flag": flags, "same": flags, "number": numbers, "text": texts.tolist()})
    encoder = fk.PropositionEncoder(nominal=["text"], negations=True)
    parts = partitioned(table, ends)
    encoder.learn(parts)
    whole = encoder.pack(table)
    found = encoder.pack(parts)
    assert found.shape == whole.shape
    assert np.array_equal(encoder.pack(parts).gathered().rows, whole.rows)
    assert found.different_columns().tolist() == whole.different_columns().tolist()
    some = data.draw(st.permutations(range(whole.n_columns)))[: data.draw(st.integers(1, 5))]
    assert np.array_equal(found.select(some).gathered().rows, whole.select(some).rows)
    weights = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=99)))
    weights = weights[: len(rows)].astype(float)
    partitions = found.weighted(codes, weights, np.arange(3), np.ones(3)).map(_as_it_is)
    seen = [_of_rows(partition) for partition in partitions]
    assert all(len({*map(tuple, partition)}) == len(partition) for partition in seen)  # merged
    kept = weights > 0
    expected = _sums(whole.take(kept).unpacked(), codes[kept], weights[kept])
    assert _joined(partitions) == expected


def _as_it_is(rows):
    return rows


def _of_rows(partition: WeightedRows):
    return [
        [*row, code]
        for row, code in zip(partition.table.unpacked().tolist(), partition.codes, strict=True)
    ]


def _sums(entries, codes, weights):
    sums: dict = {}
    for row, code, weight in zip(entries.tolist(), codes.tolist(), weights.tolist(), strict=True):
        key = (*row, code)
        total, number = sums.get(key, (0.0, 0))
        sums[key] = total + weight, number + 1
    return sums


def _joined(partitions):
    sums: dict = {}
    for partition in partitions:
        listed = zip(
            _of_rows(partition), partition.weights.tolist(), partition.numbers.tolist(), strict=True
        )
        for key, weight, number in listed:
            total, before = sums.get(tuple(key), (0.0, 0))
            sums[tuple(key)] = total + weight, before + number
    return sums


def test_partitions_that_change_are_refused():
    parts = partitioned(fk.Table({"a": [True, False, True]}), [1])
    encoder = fk.PropositionEncoder()
    encoder.learn(parts)
    parts.lengths = [2, 1]  # as they were read at first
    with pytest.raises(fk.DataError, match="has 1 rows but had 2 when it was first read"):
        encoder.pack(parts).weighted(np.array([0, 1, 1]), None, np.arange(2), np.ones(2))


def test_rows_that_differ_in_degrees_alone_stay_apart():
    table = PackedTable.of_rows(np.array([[1], [1], [1]], dtype=np.uint64), 1)
    degrees = np.array([[0.5], [0.0], [-0.0]])
    rows = WeightedRows.of(table.with_linear_columns(degrees), np.zeros(3, int), np.ones(3))
    assert rows.merged().weights.tolist() == [2.0, 1.0]


def test_the_limit_is_that_of_the_block():
    with fk.gather_limit(7):
        assert gathered_bytes() == 7
    assert gathered_bytes() == DEFAULT_GATHER_LIMIT
    with pytest.raises(fk.ParameterError, match="n_bytes=-1"), fk.gather_limit(-1):
        pass
