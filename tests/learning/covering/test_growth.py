"""The conditions that a rule can be given next, against trying each of them row by row."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from formulakern.encoding.ranks import AT_LEAST, AT_MOST, EQUAL, UNEQUAL
from formulakern.learning.covering.sequential import (
    ENTROPY,
    LAPLACE,
    candidates,
    conditions_met,
    grow,
    growth_state,
)

EMPTY = np.empty((0, 3), dtype=np.int64)
VALUE, BELOW, ABOVE, OTHER, ONE, MISSING = (1 << k for k in range(6))


@st.composite
def problems(draw):
    """Ranks, numbers of values, relations and weights; some columns have many values."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    m, n_classes = draw(st.integers(1, 30)), draw(st.integers(2, 4))
    n_values = np.array(draw(st.lists(st.sampled_from([1, 2, 5, 900]), min_size=1, max_size=4)))
    ranks = np.array([rng.integers(0, v + rng.integers(2), m) for v in n_values], dtype=np.int32)
    asked = [VALUE, VALUE + OTHER, BELOW + ABOVE, BELOW, ABOVE, ONE]
    relations = np.array([rng.choice(asked) + MISSING * rng.integers(2) for _ in n_values])
    weights = rng.integers(0, 3, (m, n_classes)).astype(float)
    if draw(st.booleans()):
        weights *= rng.random((m, 1))
    weights[rng.integers(m), 0] += 1.0
    return ranks, n_values, relations, weights


def meets(condition, entries, top):
    column, relation, value = condition
    rank = entries[column]
    if relation == EQUAL:
        return rank == value
    if rank == top[column]:
        return False
    return {AT_MOST: rank <= value, AT_LEAST: rank >= value, UNEQUAL: rank != value}[relation]


def every_condition(ranks, n_values, relations):
    """All conditions that any row satisfies and any other does not."""
    found = []
    for j, (top, asked) in enumerate(zip(n_values.tolist(), relations.tolist(), strict=True)):
        present = sorted(set(ranks[j].tolist()) - {top})
        found += [(j, EQUAL, v) for v in present if asked & VALUE or (asked & ONE and v == 1)]
        found += [(j, UNEQUAL, v) for v in present if asked & OTHER]
        found += [(j, AT_MOST, v) for v in present[:-1] if asked & BELOW]
        found += [(j, AT_LEAST, v) for v in present[1:] if asked & ABOVE]
        found += [(j, EQUAL, top)] if asked & MISSING and top in ranks[j] else []
    m = ranks.shape[1]
    covers = {c: [meets(c, ranks[:, i], n_values) for i in range(m)] for c in found}
    return {c: np.array(cover) for c, cover in covers.items() if any(cover) and not all(cover)}


def score(measure, target, sums):
    total = sums.sum()
    if measure == LAPLACE:
        return (sums[target] + 1) / (total + len(sums))
    shares = sums[sums > 0] / total
    return float((shares * np.log2(shares)).sum())


@settings(max_examples=30, deadline=None)
@given(problems(), st.sampled_from([ENTROPY, LAPLACE]), st.sampled_from([0.0, 2.0]))
def test_candidates_are_worth_what_they_say(problem, measure, least_ratio):
    ranks, n_values, relations, weights = problem
    state = growth_state(ranks, n_values, relations, weights)
    rows = np.flatnonzero(weights.any(axis=1))
    conditions, scores, ratios = candidates(state, rows, measure, 0, 1.0, 1.0, least_ratio)
    expected = weights.sum(axis=0) / weights.sum()
    found = {}
    for condition, worth, listed_ratio in zip(
        map(tuple, conditions.tolist()), scores, ratios, strict=True
    ):
        found.setdefault(condition[:2], []).append((condition, worth))
        inside = [i for i in rows.tolist() if meets(condition, ranks[:, i], n_values)]
        sums = weights[inside].sum(axis=0)
        assert worth == pytest.approx(score(measure, 0, sums), abs=1e-9)
        some = sums > 0
        ratio = 2 * (sums[some] * np.log(sums[some] / (sums.sum() * expected[some]))).sum()
        assert listed_ratio == pytest.approx(ratio, abs=1e-7)
    everything = {}
    for condition, cover in every_condition(ranks[:, rows], n_values, relations).items():
        sums = weights[rows[cover]].sum(axis=0)
        if sums.sum() >= 1.0 and (measure == ENTROPY or sums[0] > 0):
            worth = score(measure, 0, sums)
            everything.setdefault(condition[:2], []).append((condition, worth))
    assert found.keys() == everything.keys()
    for (column, relation), listed in everything.items():
        if relation in (AT_MOST, AT_LEAST):
            best = max(worth for _, worth in found[column, relation])
            assert best == pytest.approx(max(worth for _, worth in listed), abs=1e-9)
        else:
            assert {c for c, _ in found[column, relation]} == {c for c, _ in listed}


def foil_gain(sums, target, share):
    right, total = sums[target], sums.sum()
    return right * math.log2(right / total / share) if right > 0 else -math.inf


# A cut before a value of the target class alone, with missing entries in the column.
UPWARD = (
    np.array([[0, 1, 2]], dtype=np.int32),
    np.array([2]),
    np.array([BELOW + MISSING]),
    np.array([[4.0, 3.0], [2.0, 0.0], [4.0, 6.0]]),
)
DOWNWARD = (
    np.array([[1, 0, 2]], dtype=np.int32),
    UPWARD[1],
    np.array([ABOVE + MISSING]),
    UPWARD[3],
)
SECOND = (
    np.array([list("00012101122202010010"), list("00212221012222110001")], dtype=np.int32),
    np.array([2, 2]),
    np.array([BELOW + MISSING, ABOVE + MISSING]),
    np.array([list("22201212211111210110"), list("20212000222111121212")], dtype=float).T,
)


@settings(max_examples=30, deadline=None)
@given(problems(), st.integers(0, 1))
@example(UPWARD, 0)
@example(DOWNWARD, 0)
@example(SECOND, 0)
def test_growing_takes_a_condition_of_the_largest_gain(problem, target):
    ranks, n_values, relations, weights = problem
    state = growth_state(ranks, n_values, relations, weights)
    rows = np.flatnonzero(weights.any(axis=1))
    rule = grow(state, rows, target, 1.0, EMPTY, 50)
    for condition in rule.tolist():
        sums = weights[rows].sum(axis=0)
        assert sums[target] < sums.sum()
        share = sums[target] / sums.sum()
        gains = {
            c: foil_gain(weights[rows[cover]].sum(axis=0), target, share)
            for c, cover in every_condition(ranks[:, rows], n_values, relations).items()
            if weights[rows[cover], target].sum() >= 1.0
        }
        taken = gains[tuple(condition)]
        assert taken == pytest.approx(max(gains.values()), abs=1e-9)
        assert taken > 0
        rows = rows[[meets(condition, ranks[:, i], n_values) for i in rows.tolist()]]
    sums = weights[rows].sum(axis=0)
    if 0 < sums[target] < sums.sum():  # there was nothing to gain
        share = sums[target] / sums.sum()
        for cover in every_condition(ranks[:, rows], n_values, relations).values():
            inside = weights[rows[cover]].sum(axis=0)
            assert inside[target] < 1.0 or foil_gain(inside, target, share) <= 1e-9


def test_a_rule_grows_no_longer_than_there_is_room():
    ranks = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], dtype=np.int32)
    weights = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    state = growth_state(ranks, np.array([2, 2]), np.array([1, 1]), weights)
    rule = grow(state, np.arange(4), 1, 0.0, EMPTY, 1)
    assert len(rule) == 1
    longer = grow(state, np.arange(4)[ranks[rule[0, 0]] == 1], 1, 0.0, rule, 9)
    assert sorted(longer.tolist()) == [[0, EQUAL, 1], [1, EQUAL, 1]]


@settings(max_examples=25, deadline=None)
@given(problems(), st.integers(0, 2**32 - 1))
def test_how_many_conditions_are_met(problem, seed):
    ranks, n_values, relations, _ = problem
    listed = list(every_condition(ranks, n_values, relations)) or [(0, EQUAL, 0)]
    rng = np.random.default_rng(seed)
    rule = np.array([listed[k] for k in rng.integers(0, len(listed), rng.integers(0, 4))])
    rule = rule.reshape(-1, 3).astype(np.int64)
    rows = rng.permutation(ranks.shape[1])
    met = conditions_met(ranks, n_values, rule, rows)
    for i, n in zip(rows.tolist(), met.tolist(), strict=True):
        truths = [bool(meets(c, ranks[:, i], n_values)) for c in rule.tolist()]
        assert n == [*truths, False].index(False)
