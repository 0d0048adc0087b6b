"""The search over ordered columns finds the best of a list of all conjunctions."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulakern.deadline import Deadline
from formulakern.encoding.ordered import GroupTable, OrderedColumn, OrderedTable
from formulakern.mining import ordered, ordered_sums
from formulakern.mining.conjunctions.partition_sums import RowsInGroups
from formulakern.mining.ordered import OrderedSearch
from formulakern.mining.ordered_sums import SummedSearch
from formulakern.partitions.partitioned import Partitioned


@st.composite
def tables(draw):
    """Columns of few or many values, ordered or not, with missing entries; and weights of rows."""
    m = draw(st.integers(1, 30))
    columns = []
    for _ in range(draw(st.integers(1, 3))):
        n_values = draw(st.integers(1, 9))
        codes = draw(st.lists(st.integers(0, n_values), min_size=m, max_size=m))
        is_ordered = draw(st.booleans())
        columns.append(OrderedColumn(np.array(codes, dtype=np.int32), n_values, is_ordered, str))
    width = draw(st.integers(1, 3))
    numbers = draw(st.lists(st.integers(-9, 9), min_size=m * width, max_size=m * width))
    weights = np.array(numbers, dtype=np.float64).reshape(m, width)
    return OrderedTable(columns, m, np.zeros((m, 0))), weights


def drawn_limits(data, table, weights, longest, spread):
    """Return divisors of lengths, and the signs that the sides of the columns may have."""
    divisors = np.cumprod([1.0] + [data.draw(st.sampled_from([1.0, 1.5, 3.0]))] * longest)
    sides = np.full((len(table.columns), 2), 3)
    if weights.shape[1] == 1 and not spread:
        signs = st.lists(st.integers(0, 3), min_size=sides.size, max_size=sides.size)
        sides = np.array(data.draw(signs)).reshape(sides.shape)
    return divisors, sides


def every_score(table, weights, divisors, sides, spread):
    """Return the score of every conjunction of at most this length, at most two from a column."""
    found = {}
    listed = []
    for j, column in enumerate(table.columns):
        options = [((), 3)]
        n = int(table.starts[j])
        if column.ordered:
            below = [((n + g,), sides[j, 0]) for g in range(column.n_values - 1)]
            above = [
                ((n + column.n_values - 1 + g,), sides[j, 1]) for g in range(column.n_values - 1)
            ]
            both = [((*a, *b), s & t) for (a, s), (b, t) in itertools.product(below, above)]
            options += [*below, *above, *both]
        else:
            options += [((n + v,), sides[j, 0]) for v in range(column.n_values)]
        listed.append(options)
    for parts in itertools.product(*listed):
        node = tuple(sorted(itertools.chain.from_iterable(p for p, _ in parts)))
        signs = np.bitwise_and.reduce([s for _, s in parts])
        if not 0 < len(node) < len(divisors) or not signs:
            continue
        sums = weights[table.cover(node)].sum(axis=0)
        if spread:
            size = np.ptp(sums)
        elif len(sums) > 1:
            size = np.linalg.norm(sums)
        else:
            size = max(sums[0] * bool(signs & 1), -sums[0] * bool(signs & 2), 0.0)
        found[node] = size / divisors[len(node)]
    return found


@settings(max_examples=45)
@given(tables(), st.integers(1, 4), st.booleans(), st.integers(1, 4), st.data())
def test_is_enumeration(given_table, longest, spread, n_bins, data):
    table, weights = given_table
    divisors, sides = drawn_limits(data, table, weights, longest, spread)
    every = every_score(table, weights, divisors, sides, spread)
    best = max(every.values(), default=0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordered, "FIRST_BINS", n_bins)
        patch.setattr(ordered, "COARSE_BINS", data.draw(st.integers(1, 3)))
        patch.setattr(ordered, "FIRST_PARTS", data.draw(st.integers(1, 3)))
        patch.setattr(ordered, "MAX_CLOSE_PAIRS", data.draw(st.integers(1, 3)))
        patch.setattr(ordered, "REACHED_BINS", data.draw(st.sampled_from([0, 8])))
        patch.setattr(ordered, "PAIRS_AT_ONCE", data.draw(st.integers(1, 3)))
        finer = n_bins + data.draw(st.integers(0, 4))
        patch.setattr(ordered, "FINE_BINS", (finer, finer + data.draw(st.integers(1, 4))))
        search = OrderedSearch(table, divisors, sides, spread)
        listed = search.best(weights)
        for score, node in listed:
            assert score == pytest.approx(every[node])
        singles = max([s for node, s in every.items() if len(node) == 1], default=0.0)
        assert max([one.score for one in listed], default=0.0) >= singles - 1e-9
        proof = search.prove(weights, best * (1 + 1e-9) + 1e-9)
        assert not proof.found
        assert proof.bound == pytest.approx(best, abs=1e-6)
        late = search.prove(weights, best * (1 + 1e-9) + 1e-9, Deadline.of(0.0))
        assert not late.found
        assert late.bound >= best * (1 - 1e-9)
        patch.setattr(ordered, "MIN_JUDGED_WORK", 0.0)
        most = data.draw(st.sampled_from([0.0, 3e6, 3e7]))
        few = OrderedSearch(table, divisors, sides, spread, max_work=most)
        pairs = max([score for node, score in every.items() if len(node) <= 2], default=0.0)
        proof = few.prove(weights, pairs * (1 + 1e-9) + 1e-9)
        for score, node in proof.found:  # longer ones, found before the work was too much
            assert len(node) > 2
            assert score == pytest.approx(every[node])
        sure = pairs if few.only_pairs else best
        assert proof.bound >= sure * (1 - 1e-9)
        assert proof.found or proof.bound == pytest.approx(sure, abs=1e-6)
        lower = 0.7 * best
        enough = data.draw(st.integers(1, 9))
        proof = search.prove(weights, lower, enough=enough)
        found = proof.found
        assert proof.bound >= best * (1 - 1e-9)
        assert all(score == pytest.approx(every[node]) and score > lower for score, node in found)
        assert bool(found) == (best > lower)


def test_rounding_of_the_threshold_does_not_end_a_proof(monkeypatch):
    """A bound |S| = threshold·divisor, divided by the divisor, may exceed the threshold."""
    for name in ("FIRST_BINS", "COARSE_BINS", "FIRST_PARTS"):
        monkeypatch.setattr(ordered, name, 1)
    monkeypatch.setattr(ordered, "FINE_BINS", (1, 2))
    generator = np.random.default_rng(0)
    columns = [
        OrderedColumn(generator.integers(0, 4, 25).astype(np.int32), 4, True, str) for _ in range(2)
    ]
    table = OrderedTable(columns, 25, np.zeros((25, 0)))
    weights = generator.normal(size=(25, 3))
    divisors, sides = np.cumprod([1.0, 1.5, 1.5, 1.5]), np.full((2, 2), 3)
    best = max(every_score(table, weights, divisors, sides, False).values())
    search = OrderedSearch(table, divisors, sides)
    for share in 1.0 + generator.random(50) / 100:
        proof = search.prove(weights, share * best)
        assert not proof.found
        assert proof.bound <= share * best


@settings(max_examples=8)
@given(st.integers(0, 2**32 - 1), st.sampled_from([40, 100]), st.sampled_from(["", "spread", "K"]))
def test_many_values_are_bounded_together(seed, n_values, kind):
    spread, width = kind == "spread", 2 if kind else 1
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, n_values + 1, (2, 150)).astype(np.int32)  # the last is missing
    table = OrderedTable(
        [OrderedColumn(one, n_values, True, str) for one in codes], 150, np.zeros((150, 0))
    )
    weights = generator.integers(-9, 10, (150, width)).astype(np.float64)
    divisors, sides = np.array([1.0, 2.0, 3.0]), np.full((2, 2), 3)
    nodes = itertools.combinations_with_replacement(range(table.n_columns), 2)
    nodes = [tuple(sorted(set(node))) for node in nodes]
    sums = table.truths(table.covers(nodes)) @ weights
    sizes = np.ptp(sums, axis=1) if spread else np.linalg.norm(sums, axis=1)
    every = dict(zip(nodes, sizes / divisors[[len(node) for node in nodes]], strict=True))
    best = max(every.values())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordered, "FIRST_BINS", 24)
        search = OrderedSearch(table, divisors, sides, spread)
        for score, node in search.best(weights):
            assert score == pytest.approx(every[node])
        proof = search.prove(weights, best * (1 + 1e-9))
        assert not proof.found
        assert proof.bound == pytest.approx(best)
        proof = search.prove(weights, 0.9 * best)
        found = proof.found
        assert found
        assert proof.bound >= best * (1 - 1e-9)
        assert all(score == pytest.approx(every[node]) for score, node in found)


@settings(max_examples=45)
@given(tables(), st.integers(1, 2), st.booleans(), st.data())
def test_sums_of_partitions_are_enumeration(given_table, longest, spread, data):
    """Rows get their shares of the weights of groups, of which partitions have numbers."""
    table, net = given_table
    m = table.n_rows
    group = np.array(data.draw(st.lists(st.integers(0, m - 1), min_size=m, max_size=m)))
    share = np.array(data.draw(st.lists(st.sampled_from([1.0, 2.0, 0.25]), min_size=m, max_size=m)))
    ends = sorted(data.draw(st.lists(st.integers(0, m), max_size=3)))
    places = [np.unique(group[rows]) for rows in np.split(np.arange(m), ends)]
    partitions = [
        RowsInGroups(
            table.take(rows).without_formulas().narrow(),
            np.searchsorted(own, group[rows]),
            share[rows],
        )
        for own, rows in zip(places, np.split(np.arange(m), ends), strict=True)
    ]
    weights = net[group] * share[:, None]
    divisors, sides = drawn_limits(data, table, weights, longest, spread)
    every = every_score(table, weights, divisors, sides, spread)
    best = max(every.values(), default=0.0)
    columns = [dataclasses.replace(one, codes=[one.codes.max()]) for one in table.columns]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordered_sums, "MAX_SUMS", data.draw(st.sampled_from([1, 2000, 1 << 26])))
        search = SummedSearch(
            GroupTable(columns, m, np.zeros((m, 0))),
            divisors,
            sides,
            spread,
            grouped=lambda net: (Partitioned(partitions), [net[own] for own in places]),
        )
        patch.setattr(ordered_sums, "MAX_CLOSE_PAIRS", data.draw(st.sampled_from([1, 3000])))
        for least in (0.0, 0.7 * best, best):
            for _ in range(2):  # the second one may look at few pairs first
                proof = search.prove(net, least)
                assert proof.bound == pytest.approx(best, abs=1e-9) or proof.bound == np.inf
                assert bool(proof.found) == (best > least)
            if proof.bound < np.inf:
                assert max([one.score for one in proof.found], default=best) == pytest.approx(best)
            for score, node in proof.found:
                assert score > least
                assert score == pytest.approx(every[node])


def test_portions_of_pairs_fit_into_memory(monkeypatch):
    sizes = [9, 2, 30, 5, 5]
    columns = [OrderedColumn(np.zeros(1), n, True, str) for n in sizes]
    table = GroupTable(columns, 1, np.zeros((1, 0)))
    search = SummedSearch(table, np.ones(3), np.full((5, 2), 3), grouped=None)
    monkeypatch.setattr(ordered_sums, "MAX_SUMS", 8 * 160)
    portions = list(search._portions(search.pairs, 8))
    cells = [sum(sizes[j] * sizes[h] for j, h in own) for own in portions]
    assert all(
        n <= 160 + sizes[own[0, 0]] * sizes[own[0, 1]]
        for n, own in zip(cells, portions, strict=True)
    )
    assert np.concatenate(portions).tolist() == search.pairs.tolist()
    assert len(portions) < len(search.pairs)


def test_narrow_columns_have_the_same_propositions():
    generator = np.random.default_rng(0)
    columns = [
        OrderedColumn(
            generator.integers(0, n + 1, 900), n, n < 255, [f"{n}: {k}" for k in range(2 * n)]
        )
        for n in (1, 20, 254, 255, 256, 700)
    ]
    table = OrderedTable(columns, 900, np.zeros((900, 0)))
    narrow = table.narrow()
    assert {one.codes.dtype for one in narrow.columns} == {np.dtype(np.uint8)}
    assert [one.n_values for one in narrow.columns] == [1, 20, 254, 255, 255, 1, 255, 255, 190]
    every = [(p,) for p in range(table.n_columns)]
    np.testing.assert_array_equal(narrow.covers(every), table.covers(every))
    assert [narrow.leaves[p] for (p,) in every] == [table.leaves[p] for (p,) in every]
