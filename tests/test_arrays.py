"""Equal rows of arrays, against sets of tuples."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from formulakern.arrays import different_groups


@given(
    st.integers(0, 3).flatmap(
        lambda n: st.lists(
            st.tuples(st.integers(0, 4), *[st.sampled_from([0, 1, 5, 1 << 20, (1 << 64) - 1])] * n),
            max_size=30,
        )
    )
)
def test_different_groups(rows):
    group = np.array([row[0] for row in rows], dtype=np.intp)
    width = len(rows[0]) - 1 if rows else 1
    words = np.array([row[1:] for row in rows], dtype=np.uint64).reshape(len(rows), width)
    first, kind = different_groups(group, words)
    different = sorted(set(rows))
    assert [rows[i] for i in first] == different
    assert first.tolist() == [rows.index(one) for one in different]
    assert kind.tolist() == [different.index(row) for row in rows]
