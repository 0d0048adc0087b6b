"""The results of a partition: sums over covers, against every row of the table."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulakern.encoding.strict import read_packed
from formulakern.mining.conjunctions import partition_sums
from formulakern.mining.conjunctions.partition_sums import (
    RowsInGroups,
    SumQuery,
    rows_in_units,
    small_sums_over_covers,
    sums_over_covers,
    totals,
)


@st.composite
def cases(draw):
    """Rows in groups with shares, weights of groups, and a question."""
    generator = np.random.default_rng(draw(st.integers(0, 1 << 16)))
    m, p, n_groups = draw(st.integers(1, 900)), draw(st.integers(1, 6)), draw(st.integers(1, 5))
    X = (generator.random((m, p)) < draw(st.sampled_from([0.05, 0.5, 0.95]))).astype(np.uint8)
    share = generator.choice([1.0, 2.0, 3.0][: draw(st.integers(1, 3))], m)
    rows = RowsInGroups(read_packed(X), generator.integers(0, n_groups, m), share)
    vectors = generator.integers(-2, 3, (n_groups, draw(st.integers(1, 3)))).astype(float)
    pairs = [[k, k - 1] for k in range(vectors.shape[1])]
    nodes, items, columns = [], [], []
    for _ in range(draw(st.integers(1, 4))):
        nodes.append(generator.choice(p, generator.integers(0, min(p, 3) + 1), replace=False))
        items.append(generator.integers(0, p, generator.integers(0, 6)))
        columns.append(generator.choice(len(pairs), generator.integers(1, len(pairs) + 1), False))
    return X, rows, vectors, pairs, nodes, items, columns


def asked(pairs, nodes, items, columns):
    table = np.full((len(nodes), max(1, *map(len, nodes))), -1)
    for row, node in zip(table, nodes, strict=True):
        row[: len(node)] = node
    return SumQuery(
        np.array(pairs),
        table,
        np.cumsum([len(some) for some in items]),
        np.concatenate(items).astype(np.int64),
        np.cumsum([len(some) for some in columns]),
        np.concatenate(columns).astype(np.int64),
    )


@settings(max_examples=60)
@given(cases(), st.booleans(), st.sampled_from([1, 128]), st.sampled_from([0.0, 0.25]))
def test_equals_the_sums_over_all_rows(case, whole, long, idle):
    """Also if rows of one weight are merged, and if those without weight are left out."""
    X, rows, vectors, pairs, nodes, items, columns = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition_sums, "MIN_ROWS_PER_KIND", long)
        patch.setattr(partition_sums, "MAX_IDLE_SHARE", idle)
        with_weights = rows_in_units(rows, -3, whole, vectors)
    weights = 8 * vectors[rows.group] * rows.share[:, None]
    of_pairs = [weights[:, k] - (weights[:, j] if j >= 0 else 0) for k, j in pairs]
    expected = []
    for node, some, which in zip(nodes, items, columns, strict=True):
        for c in which:
            for j in some:
                true = X[:, [*node, j]].all(axis=1)
                expected.append([of_pairs[c][true].sum(), abs(of_pairs[c][true]).sum()])
    given_back = sums_over_covers(with_weights, asked(pairs, nodes, items, columns))
    assert given_back.tolist() == expected
    if vectors.shape[1] == 1:
        question = asked(pairs, nodes, items, [np.zeros(1, int)] * len(nodes))
        some = sums_over_covers(with_weights, question).tolist()
        assert pairs != [[0, -1]] or small_sums_over_covers(with_weights, question).tolist() == some
    number, sums, rounded = totals(with_weights)
    assert number <= len(X)
    assert sums.tolist() == weights.sum(axis=0).tolist()
    assert not rounded.any()
