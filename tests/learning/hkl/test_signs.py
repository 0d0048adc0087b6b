"""Weights with signs, and ordered classes, over all conjunctions: the problem written out."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from formulakern.deadline import UNLIMITED
from formulakern.encoding.strict import read_packed
from formulakern.learning.hkl.frontier import Frontier
from formulakern.learning.hkl.options import Options, Signs
from formulakern.learning.hkl.ordinal import (
    Examples,
    cumulative_examples,
    decision_thresholds,
    log_chances,
)
from formulakern.learning.hkl.problem import learn
from formulakern.learning.hkl.rows import Rows
from formulakern.solvers.hierarchical.losses import LOSSES
from formulakern.solvers.hierarchical.norm import right_signed
from tests.hierarchical import grown as grow
from tests.hierarchical import solved


def problem(seed, p, m, loss="logistic"):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (m, p))
    y = np.where(X[:, 0] & X[:, -1], 1.0, -1.0) * np.where(rng.random(m) < 0.2, -1, 1)
    y[:2] = 1, -1
    others = rng.random((m, seed % 3))
    signs = Signs(rng.integers(-1, 2, p), rng.integers(-1, 2, seed % 3))
    return X, y + (rng.normal(size=m) if loss == "squared" else 0), others, signs


def allowed(X, signs):
    """All conjunctions without conflict, by the definition, their covers and their signs."""
    nodes, asked = [], []
    for size in range(X.shape[1] + 1):
        for v in combinations(range(X.shape[1]), size):
            wanted = {int(signs.propositions[j]) for j in v} - {0}
            if len(wanted) < 2:
                nodes.append(v)
                asked.append(sum(wanted))
    return nodes, np.stack([X[:, list(v)].all(axis=1) for v in nodes], axis=1), np.array(asked)


@settings(max_examples=10, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 5),
    st.integers(4, 40),
    st.sampled_from([1.01, 1.1, 1.5, 2.0]),
    st.floats(-2, 3),
    st.sampled_from([1.0, 2.0, 3.0]),
    st.sampled_from(LOSSES),
)
def test_signs_over_all_conjunctions(seed, p, m, rho, log_C, a, loss):
    X, y, others, signs = problem(seed, p, m, loss)
    nodes, columns, asked = allowed(X, signs)
    assert [signs.of(v) for v in nodes] == asked.tolist()
    options = {"rho": rho, "C": 10**log_C, "depth_penalty": a, "loss": loss, "others": others}
    every = np.append(asked, signs.others)
    whole = solved(columns, nodes, y, tol=1e-5, signs=every, **options)
    grown = grow(X, y, tol=1e-2, signs=signs, **options)
    assert grown.status == "optimal"
    assert grown.gap <= 1e-2
    assert grown.lower_bound <= whole.objective * (1 + 1e-9)
    assert whole.lower_bound <= grown.objective * (1 + 1e-9)
    assert all(signs.allows(v) for v in grown.nodes)
    for feature, weight in grown.weights.items():
        assert weight * signs.of(feature) >= 0


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.sampled_from([1.1, 1.5]), st.integers(1, 30))
def test_what_is_listed_has_the_right_sign(seed, p, rho, most):
    X, y, others, signs = problem(seed, p, 25)
    options = {"rho": rho, "C": 5.0, "max_nodes": 1 + seed % 5, "others": others}
    grown = grow(X, y, signs=signs, **options)
    beta, own = grown.beta, Options(rho=rho, signs=signs)
    frontier = Frontier(grown.table, beta, grown.nodes, own)
    nodes, columns, asked = allowed(grown.table.unpacked(), signs)
    assert set(frontier.sources) == {
        t for t in nodes
        if t not in grown.nodes and all(t[:k] + t[k + 1 :] in grown.nodes for k in range(len(t)))
    }  # fmt: skip
    q = np.abs(right_signed(beta @ columns, asked)) / 3.0 ** np.array([len(w) for w in nodes])
    unit, dual = q.max() + 1e-9, rho / (rho - 1)
    listed, x, rest, reached = frontier.list_powers(unit, 1e-3, most, 1 << 20)
    assert len(listed) == len(set(listed)) <= most
    assert set(listed) <= set(nodes)
    np.testing.assert_allclose(x, [q[nodes.index(w)] / unit for w in listed], atol=1e-9)
    others = sum((q[k] / unit) ** dual for k, w in enumerate(nodes) if w and w not in listed)
    assert others <= rest * (1 + 1e-9) + 1e-12
    assert reached == (rest <= 1e-3 * (1 + 1e-9))


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4), st.floats(-1, 3), st.sampled_from([1.1, 1.5, 2.0]))
def test_joined_rules_keep_their_signs(seed, p, log_C, rho):
    """Propositions with equal and opposite ones of other signs."""
    X, y, others, _ = problem(seed, p, 30)
    rng = np.random.default_rng(seed)
    some = rng.integers(0, p, p)
    X = np.column_stack([X, X[:, some] ^ rng.integers(0, 2, p)])
    signs = Signs(rng.integers(-1, 2, 2 * p), rng.integers(-1, 2, others.shape[1]))
    table, kind = read_packed(X).distinct()
    options = Options("logistic", 10**log_C, rho, 1.5, tol=1e-2, signs=signs)
    rows = Rows.merged(table, Examples(kind, y, np.ones(len(y)), others))
    whole = learn(rows, options, UNLIMITED, None, lambda *_: None)
    assert whole.gap <= 1e-2
    [model], grown = whole.functions, whole.grown
    for rule, weight in zip(model.rules, model.weights.tolist(), strict=True):
        assert isinstance(rule, int) or signs.allows(rule)
        assert weight * signs.of(rule) >= 0
    columns = [others[:, r] if isinstance(r, int) else X[:, list(r)].all(1) for r in model.rules]
    s = np.reshape(columns, (-1, len(y))).T @ model.weights + model.bias
    [all_weights] = grown.weights
    listed = [others[:, v] if isinstance(v, int) else X[:, list(v)].all(1) for v in all_weights]
    u = np.reshape(listed, (-1, len(y))).T @ np.array(list(all_weights.values()))
    value = 10**log_C * np.logaddexp(0, -y * s).sum()
    before = 10**log_C * np.logaddexp(0, -y * (u - grown.solution.intercept)).sum()
    assert value <= whole.objective * (1 + 1e-9)
    if model.n_weights == np.count_nonzero(list(all_weights.values())):  # nothing was dropped
        assert np.isclose(value, before, rtol=1e-6)


@settings(max_examples=10, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 5),
    st.integers(2, 5),
    st.sampled_from([1.1, 1.5, 2.0]),
    st.floats(-1, 2),
    st.booleans(),
)
def test_ordered_classes_over_all_conjunctions(seed, p, K, rho, log_C, signed):
    """One row is K − 1 examples; thresholds are in order, and every bound holds."""
    X, _, others, signs = problem(seed, p, 30)
    signs = signs if signed else Signs(np.zeros(p, int), np.zeros(others.shape[1], int))
    rng = np.random.default_rng(seed)
    codes = np.clip(X[:, 0] * X[:, -1] * 2 + rng.integers(0, K, 30), 0, K - 1)
    codes[:K] = range(K)
    nodes, columns, asked = allowed(X, signs)
    weights = rng.integers(1, 4, 30).astype(float)
    table, kind = read_packed(X).distinct()
    rows = cumulative_examples(Examples(kind, codes.astype(float), weights, others))
    options = {"rho": rho, "C": 10**log_C, "depth_penalty": 1.5, "other_penalty": 2.0}
    options["loss"] = "logistic"
    whole = solved(
        np.concatenate([columns] * (K - 1)),
        nodes,
        rows.y,
        **options,
        sample_weight=rows.weights,
        others=rows.others,
        group=rows.group,
        signs=np.append(asked, signs.others),
        tol=1e-5,
    )
    limits = {"tol": 1e-2, "max_nodes": 2000, "signs": signs}
    merged = Rows.merged(table, rows)
    found = learn(merged, Options(**options, **limits), UNLIMITED, None, lambda *_: None)
    assert found.gap <= 1e-2
    assert found.grown.lower_bound <= whole.objective * (1 + 1e-9)
    assert whole.lower_bound <= found.objective * (1 + 1e-9)
    [model] = found.functions
    thresholds = -model.bias
    assert (np.diff(thresholds) > 0).all()
    features = [others[:, r] if isinstance(r, int) else X[:, list(r)].all(1) for r in model.rules]
    f = np.reshape(features, (-1, 30)).T @ model.weights
    above = 1 / (1 + np.exp(thresholds[:, None] - f))  # chances add up to the weights above
    goal = [weights[codes > k].sum() for k in range(K - 1)]
    np.testing.assert_allclose(above @ weights, goal, rtol=1e-8)
    chances = np.exp(log_chances(f, thresholds))
    padded = np.vstack([np.ones(30), above, np.zeros(30)])
    np.testing.assert_allclose(chances, -np.diff(padded, axis=0).T, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 8), st.floats(-3, 2))
def test_decisions_are_the_largest_adjusted_chance(seed, K, log_spread):
    rng = np.random.default_rng(seed)
    thresholds = np.sort(rng.normal(size=K - 1) * 10**log_spread)
    adjustment = rng.normal(size=K) * rng.choice([0, 0.3, 2])
    ends = decision_thresholds(thresholds, adjustment)
    assert (np.diff(ends) >= 0).all()
    f = np.concatenate([rng.normal(size=200) * 10**log_spread, ends + 1e-6, ends - 1e-6])
    adjusted = log_chances(f, thresholds) - adjustment
    decided = np.searchsorted(ends, f)
    best = adjusted.max(axis=1)
    np.testing.assert_allclose(adjusted[np.arange(len(f)), decided], best, atol=1e-4)
