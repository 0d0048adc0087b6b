"""Mining in batches over partitions: equal to the search that has all rows, in any division."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_conjunctions import cases, check_against_enumeration

from formulakern.deadline import TimeIsOver
from formulakern.encoding.strict import read_packed
from formulakern.mining.conjunctions import best_first
from formulakern.mining.conjunctions.best_first import mine_partitioned
from formulakern.mining.conjunctions.partition_sums import RowsInGroups
from formulakern.mining.conjunctions.search import mine_conjunctions
from formulakern.partitions.partitioned import Partitioned

#: How many rows come into which of so many partitions: some are empty.
DIVISIONS = st.sampled_from([1, 2, 7]).flatmap(
    lambda n: st.lists(st.integers(0, n - 1), min_size=1, max_size=20).map(lambda of: (n, of))
)


def partitions_of(X, weights, division):
    """Rows in partitions, each row a group of its own."""
    n, of = division
    place = np.resize(of, len(X))
    X = np.asarray(X)
    values, vectors = [], []
    for k in range(n):
        mine = np.flatnonzero(place == k)
        table = read_packed(X[mine]) if len(mine) else read_packed(X).take(mine)
        values.append(RowsInGroups(table, np.arange(len(mine)), np.ones(len(mine))))
        vectors.append(weights[mine])
    return Partitioned(values), vectors


@settings(max_examples=45)
@given(cases(), st.just(100_000) | st.integers(1, 40), DIVISIONS, st.sampled_from([1, 1 << 10]))
def test_equals_enumeration_on_partitions(case, top, division, batch):
    X, weights, options = case
    options |= {"complement": False}
    partitions, vectors = partitions_of(X, weights, division)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(best_first, "MAX_BATCH", batch)
        patch.setattr(best_first, "FIRST_BATCH", batch)
        asked = {name: value for name, value in options.items() if name != "complement"}
        result = mine_partitioned(partitions, vectors, X.shape[1], top=top, **asked)
    check_against_enumeration(result, X, weights, options, top)


def large(m=3_000, p=40, seed=0):
    generator = np.random.default_rng(seed)
    X = (generator.random((m, p)) < 0.4).astype(int)
    return X, generator.integers(-4, 5, (m, 3)).astype(float)


@pytest.mark.parametrize("waiting", [0, 1 << 22])
def test_equals_the_search_on_a_larger_table(waiting, monkeypatch):
    """Integer weights: the same scores and bounds, from all divisions, to the last bit."""
    monkeypatch.setattr(best_first, "MAX_WAITING", waiting)
    X, weights = large(1_500, 24)
    options = {"objective": "spread", "top": 25, "max_length": 4, "threshold": 3.0}
    whole = mine_conjunctions(X, weights, **options)
    for division in [(1, [0]), (2, [0, 1, 1]), (7, [0, 0, 5, 2, 2, 2])]:
        result = mine_partitioned(*partitions_of(X, weights, division), 24, **options)
        assert result.scores.tolist() == whole.scores.tolist()
        assert result.bound == whole.bound
        above = whole.scores > whole.scores[-1]
        assert result.conjunctions[: above.sum()] == whole.conjunctions[: above.sum()]
        assert (result.sums[above] == whole.sums[above]).all()


def test_the_division_is_of_no_effect_on_any_bit():
    """Weights that are not whole numbers are rounded row by row, the same everywhere."""
    X, _ = large(700, 12)
    group = np.arange(700) % 5
    share = np.random.default_rng(1).random(700)
    vectors = np.random.default_rng(2).normal(size=(5, 2))
    found = []
    for cuts in [[], [100], [0, 64, 64, 130, 500, 699]]:
        rows = np.split(np.arange(700), cuts)
        values = [RowsInGroups(read_packed(X).take(r), group[r], share[r]) for r in rows]
        size = np.array([300.0, 300.0])
        mined = mine_partitioned(Partitioned(values), [vectors] * len(values), 12, size=size)
        found.append((mined.conjunctions, mined.scores.tolist(), mined.bound))
    assert found[0] == found[1] == found[2]
    exact = mine_conjunctions(X, vectors[group] * share[:, None])
    assert found[0][0] == exact.conjunctions
    assert found[0][1] == pytest.approx(exact.scores.tolist(), rel=1e-12)
    assert found[0][2] >= exact.scores[-1]


@pytest.mark.parametrize("whole", [False, True])
def test_the_bound_allows_for_weights_that_are_rounded_to_nothing(whole):
    """Rows of less than half a unit each are left out; together they weigh many units."""
    weights = np.full((2000, 1), 2.0**-44)
    weights[:100] = 1.0  # the unit is 2^-43
    X = np.ones((2000, 2), dtype=int)
    X[100:, 0] = 0
    partitions, vectors = partitions_of(X, weights, (2, [0, 1]))
    result = mine_partitioned(partitions, vectors, 2, top=1, max_length=1, whole=whole)
    assert result.conjunctions == [(0,)]  # in units as heavy as (1,), which is heavier
    assert Fraction(result.bound) >= sum(map(Fraction, weights[:, 0].tolist()))


def test_rows_without_weight_are_of_no_effect():
    X, weights = large(2_000, 10)
    weights[np.arange(2_000) % 3 > 0] = 0.0
    result = mine_partitioned(*partitions_of(X, weights, (2, [0, 1])), 10, top=5)
    assert result.scores.tolist() == mine_conjunctions(X, weights, top=5).scores.tolist()


def test_a_time_limit_leaves_a_bound_on_partitions():
    X, weights = large(3_000, 60)
    partitions, vectors = partitions_of(X, weights, (2, [0, 1]))
    never = mine_partitioned(partitions, vectors, 60, time_limit=0.0)
    assert (never.conjunctions, never.bound, never.proven) == ([], math.inf, False)
    some = {}

    class Stops(Partitioned):
        def count(self, deadline):
            some["rounds"] = some.get("rounds", 0) + 1
            if some["rounds"] == 5 and deadline.limited:
                raise TimeIsOver

        def map(self, function, *shared, each=None, deadline=None):
            self.count(deadline)
            return super().map(function, *shared, each=each)

        def sum(self, function, *shared, deadline=None):
            self.count(deadline)
            return super().sum(function, *shared)

        def persist(self, function, *shared, each=None):
            return Stops(super().persist(function, *shared, each=each).values)

    stopped = mine_partitioned(
        Stops(partitions.values), vectors, 60, top=3, max_length=None, time_limit=1e9
    )
    whole = mine_conjunctions(X, weights, top=50, max_length=2)
    assert not stopped.proven
    assert not stopped.complete
    missing = set(whole.conjunctions) - set(stopped.conjunctions)
    of = dict(zip(whole.conjunctions, whole.scores.tolist(), strict=True))
    assert len(stopped.conjunctions) == 3
    assert max(of[w] for w in missing) <= stopped.bound < math.inf
