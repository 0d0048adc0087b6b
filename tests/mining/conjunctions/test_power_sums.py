"""Sums of powers over all conjunctions, against every conjunction written out."""

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulakern.deadline import Deadline, TimeIsOver
from formulakern.encoding.strict import read_packed
from formulakern.mining.conjunctions.partition_sums import RowsInUnits
from formulakern.mining.conjunctions.power_sums import Powers, heaviest
from formulakern.partitions.partitioned import Partitioned


def partitions_of(X, weights, cuts=()):
    parts = zip(np.split(X, cuts), np.split(weights, cuts), strict=True)
    return Partitioned(
        [
            RowsInUnits(read_packed(x).columns, np.arange(len(x)), np.ones(len(x)), w[:, None])
            for x, w in parts
        ]
    )


def all_of(X, weights, powers, unit):
    """x_w of every conjunction but the empty one."""
    p, found = X.shape[1], {}
    for w in chain.from_iterable(combinations(range(p), size) for size in range(1, p + 1)):
        total = weights[X[:, w].all(axis=1)].sum()
        size = max(total * powers.upwards, -total * powers.downwards, 0.0)
        found[w] = size / (powers.base ** len(w) * unit)
    return found


@st.composite
def cases(draw):
    p, m = draw(st.integers(1, 7)), draw(st.integers(1, 12))
    bits = st.lists(st.integers(0, 1), min_size=p, max_size=p)
    X = np.array(draw(st.lists(bits, min_size=m, max_size=m)), dtype=np.uint8)
    weights = np.array(draw(st.lists(st.integers(-9, 9), min_size=m, max_size=m)), dtype=float)
    signs = draw(st.sampled_from([(True, True), (True, False), (False, True)]))
    powers = Powers(draw(st.floats(1.5, 5)), draw(st.floats(1.1, 40)), *signs)
    cuts = sorted(draw(st.lists(st.integers(0, m), max_size=2)))
    return X, weights, powers, draw(st.floats(0.1, 30)), 10 ** draw(st.floats(-6, 2)), cuts


@given(cases())
@settings(max_examples=75, deadline=None)
def test_what_is_not_listed_is_bounded(case):
    X, weights, powers, unit, goal, cuts = case
    every = all_of(X, weights, powers, unit)
    items = np.arange(X.shape[1])
    for most in (0, 10, 1 << 20):
        found = heaviest(partitions_of(X, weights, cuts), items, powers, goal, unit=unit, most=most)
        listed = dict(zip(found.conjunctions, found.x.tolist(), strict=True))
        assert len(listed) == len(found.x)
        assert {w: pytest.approx(every[w]) for w in listed} == listed
        others = sum(x**powers.exponent for w, x in every.items() if w not in listed)
        assert others <= found.rest * (1 + 1e-9) + 1e-300
    assert found.rest <= goal * (1 + 1e-8)


def test_partitions_do_not_matter():
    rng = np.random.default_rng(0)
    X, weights = rng.integers(0, 2, (200, 12)), rng.integers(-50, 50, 200).astype(float)
    asked = {"unit": 30.0, "goal": 1e-3}
    first, *others = [
        heaviest(partitions_of(X, weights, cuts), np.arange(12), Powers(3.0, 6.0), **asked)
        for cuts in ([], [60], [0, 3, 60, 60, 150, 199])
    ]
    for other in others:
        assert other.conjunctions == first.conjunctions
        assert other.x.tolist() == first.x.tolist()
        assert other.rest == first.rest


def test_rounding_is_added():
    X, weights = np.eye(3, dtype=np.uint8), np.array([4.0, 2.0, 0.0])
    found = heaviest(partitions_of(X, weights), np.arange(3), Powers(2.0, 2.0), 1e-9, rounding=1.0)
    assert found.conjunctions[:2] == [(0,), (1,)]
    np.testing.assert_allclose(found.x[:2], [2.5, 1.5])
    assert found.rest >= (1 / 2) ** 2 + 3 * (1 / 4) ** 2 + (1 / 8) ** 2  # all that is 0


def test_the_time_is_over():
    X = np.eye(3, dtype=np.uint8)
    with pytest.raises(TimeIsOver):
        heaviest(
            partitions_of(X, np.ones(3)),
            np.arange(3),
            Powers(2.0, 2.0),
            1.0,
            deadline=Deadline.of(0),
        )
