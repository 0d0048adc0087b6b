"""Optimal rule lists against the enumeration of all lists, and what is promised when stopped."""

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import tables

from formulakern.encoding.zero_one import read_packed
from formulakern.errors import DataError, ParameterError
from formulakern.learning.covering import optimal, optimal_bounds
from formulakern.learning.covering.optimal import optimal_rule_list

CLOSE = 1e-9


def decided(X, conjunctions):
    """For each rule, and last the default, the rows that it decides."""
    left, parts = np.ones(len(X), dtype=bool), []
    for conjunction in conjunctions:
        cover = X[:, list(conjunction)].all(axis=1)
        parts.append(left & cover)
        left = left & ~cover
    return [*parts, left]


def error(X, weights, conjunctions):
    """The share of weight outside each rule's majority class."""
    sums = [weights[rows].sum(axis=0) for rows in decided(X, conjunctions)]
    return sum(s.sum() - s.max() for s in sums) / weights.sum()


def naive(X, weights, options):
    """The least objective of all lists: the definition."""
    p, groups = X.shape[1], options["exclusive"]
    allowed = []
    for length in range(1, options["max_conditions"] + 1):
        for w in itertools.combinations(range(p), length):
            of = [] if groups is None else [groups[j] for j in w if groups[j] >= 0]
            support = weights[X[:, list(w)].all(axis=1)].sum() / weights.sum()
            if len(set(of)) == len(of) and support >= options["min_support"]:
                allowed.append(w)
    return min(
        error(X, weights, rules) + options["penalty"] * n
        for n in range(options["max_rules"] + 1)
        for rules in itertools.permutations(allowed, n)
    )


@st.composite
def cases(draw):
    X = draw(tables(st.integers(1, 16), st.integers(1, 5)))
    m, p = X.shape
    k = draw(st.integers(1, 4))
    weight = draw(
        st.sampled_from(
            [
                st.integers(0, 1).map(float),
                st.sampled_from([0.0, 0.0, 1.0, 2.0, 5.0]),
                st.floats(0, 1, allow_subnormal=False),
            ]
        )
    )
    weights = np.array(draw(st.lists(weight, min_size=m * k, max_size=m * k))).reshape(m, k)
    if weights.sum() <= 0:
        weights[0, 0] = 1.0
    conditions = draw(st.integers(1, 3 if p <= 3 else 1 if p == 5 else 2))
    options = {
        "max_rules": draw(st.integers(0, 3 if p <= 3 else 2)),
        "max_conditions": conditions,
        "penalty": draw(st.sampled_from([0.0, 0.001, 0.01, 0.05, 0.2])),
        "exclusive": draw(st.none() | st.lists(st.integers(-1, 1), min_size=p, max_size=p)),
        "min_support": draw(st.sampled_from([0.0, 0.0, 0.3])),
    }
    return X, weights, options


def check(X, weights, options, found):
    """All that is said about the list is true of it."""
    parts = decided(X, found.conjunctions)
    assert len(found.conjunctions) == len(found.labels) <= options["max_rules"]
    assert found.counts == pytest.approx(np.array([weights[rows].sum(axis=0) for rows in parts]))
    assert [*found.labels, found.default] == found.counts.argmax(axis=1).tolist()
    assert found.error == pytest.approx(error(X, weights, found.conjunctions), abs=CLOSE)
    n = len(found.conjunctions)
    assert found.objective == pytest.approx(found.error + options["penalty"] * n, abs=CLOSE)
    assert found.gap == found.objective - found.bound >= 0
    for conjunction in found.conjunctions:
        assert 1 <= len(conjunction) <= options["max_conditions"]
        if options["exclusive"] is not None:
            groups = [options["exclusive"][j] for j in conjunction]
            assert all(groups.count(g) == 1 for g in groups if g >= 0)
        support = weights[X[:, list(conjunction)].all(axis=1)].sum() / weights.sum()
        assert support >= options["min_support"] - CLOSE
    bounds = [known.bound for known in found.history]
    objectives = [known.objective for known in found.history]
    assert bounds == sorted(bounds)
    assert objectives == sorted(objectives, reverse=True)


@settings(max_examples=300)
@given(cases())
def test_equals_enumeration(case):
    X, weights, options = case
    best = naive(X, weights, options)
    found = optimal_rule_list(read_packed(X), weights, **options)
    check(X, weights, options, found)
    assert found.stopped == "optimal"
    assert found.objective == pytest.approx(best, abs=CLOSE + 2 * found.rounding)
    assert found.bound <= best + CLOSE
    assert found.gap <= 2 * found.rounding + CLOSE
