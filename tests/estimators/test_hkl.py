"""Growing a set of conjunctions until the dual variables bound the whole lattice."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulakern.errors import DataError, GramSizeError, ParameterError
from formulakern.estimators import hkl_growth
from formulakern.estimators.hkl_growth import grow_hierarchical
from formulakern.mining.covers import PackedPropositions
from formulakern.solvers.hierarchical import solve_hierarchical
from formulakern.solvers.hierarchical_losses import LOSSES


def problem(seed, p, m, loss="hinge"):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (m, p))
    y = np.where(X[:, 0] & X[:, -1], 1.0, -1.0) * np.where(rng.random(m) < 0.15, -1, 1)
    y[:2] = 1, -1
    return X, y + (rng.normal(size=m) if loss == "squared" else 0)


def everything(X):
    nodes = [v for size in range(X.shape[1] + 1) for v in combinations(range(X.shape[1]), size)]
    return nodes, np.stack([X[:, list(v)].all(axis=1) for v in nodes], axis=1)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 6),
    st.integers(4, 40),
    st.sampled_from([1.01, 1.1, 1.5, 2.0]),
    st.floats(-2, 3),
    st.sampled_from([1.0, 2.0, 3.0]),
    st.sampled_from(LOSSES),
)
def test_equals_the_problem_on_all_nodes(seed, p, m, rho, log_C, a, loss):
    X, y = problem(seed, p, m, loss)
    nodes, columns = everything(X)
    options = {"rho": rho, "C": 10**log_C, "depth_penalty": a, "loss": loss}
    whole = solve_hierarchical(columns, nodes, y, tol=1e-5, **options)
    grown = grow_hierarchical(X, y, tol=1e-2, **options)
    assert grown.status == "optimal"
    assert grown.gap <= 1e-2
    assert grown.lower_bound <= whole.objective * (1 + 1e-9)
    assert whole.lower_bound <= grown.solution.objective * (1 + 1e-9)
    assert set(grown.nodes) <= set(nodes)
    for step in grown.history:  # every bound on the way was valid
        assert step.objective * (1 - step.gap) <= whole.objective * (1 + 1e-9)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(2, 6),
    st.sampled_from([1.1, 1.5, 2.0]),
    st.sampled_from([1.0, 2.0]),
)
def test_bounds_of_the_sources(seed, p, rho, a):
    """Against the sum over all supersets, written out, with the smallest W and after growth."""
    X, y = problem(seed, p, 25)
    grown = grow_hierarchical(X, y, rho=rho, depth_penalty=a, C=5.0, max_nodes=1 + seed % 5)
    packed, bits = PackedPropositions.of(X), X.astype(bool)
    columns = {v: bits[:, list(v)].all(axis=1) for v in grown.nodes}
    options = {"rho": rho, "C": 5.0, "depth_penalty": a, "loss": "hinge", "sample_weight": None}
    frontier = hkl_growth._Frontier(packed, bits, grown.nodes, columns, grown.solution, y, options)
    nodes, whole = everything(X)
    inside = set(grown.nodes)
    g = np.abs(grown.solution.dual @ whole)
    assert set(frontier.sources) == {
        t for t in nodes
        if t not in inside and all(v in inside for k in range(len(t)) for v in combinations(t, k))
    }  # fmt: skip
    dual = rho / (rho - 1)
    if not frontier.sources:
        return
    for threshold in (0.5, 0.05):
        listed, scores, passed = frontier._list(threshold * g.max() / (1 + a))
        scale = ((1 + a) / a) ** np.array([len(t) for t in frontier.sources])
        start = frontier.mass ** (dual / 2)
        lower, upper = frontier._bounds(listed, scores, passed, scale, start)
        for k, t in enumerate(frontier.sources):
            ratios = np.array([
                g[j] / (a ** len(t) * (1 + a) ** (len(w) - len(t)))
                for j, w in enumerate(nodes) if set(t) <= set(w)
            ])  # fmt: skip
            assert frontier.mass[k] == pytest.approx(np.sum(ratios**2), rel=1e-6, abs=1e-6)
            true = np.sum(ratios**dual)
            assert lower[k] <= true * (1 + 1e-9) + 1e-12
            assert upper[k] >= true * (1 - 1e-9) - 1e-12


def test_many_propositions_few_nodes():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (120, 45))
    y = np.where(X[:, 5] & X[:, 9] | X[:, 20] & X[:, 40], 1, -1)
    grown = grow_hierarchical(X, y, C=3.0, depth_penalty=1.3, tol=1e-2, time_limit=60)
    assert grown.status == "optimal"
    assert len(grown.nodes) < 2**9
    size = dict(zip(grown.nodes, np.abs(grown.solution.weights), strict=True))
    largest = sorted(size, key=size.get)[-6:]
    assert {(5, 9), (20, 40)} <= set(largest)
    warm = grow_hierarchical(X, y, C=3.3, depth_penalty=1.3, tol=1e-2, time_limit=60, start=grown)
    cold = grow_hierarchical(X, y, C=3.3, depth_penalty=1.3, tol=1e-2, time_limit=60)
    assert warm.status == cold.status == "optimal"
    assert len(warm.history) < len(cold.history)
    assert warm.solution.objective == pytest.approx(cold.solution.objective, rel=1e-2)


def test_limits_keep_valid_bounds():
    X, y = problem(1, 8, 60)
    best = grow_hierarchical(X, y, C=10.0, tol=1e-3)
    assert best.status == "optimal"
    few = grow_hierarchical(X, y, C=10.0, max_nodes=5)
    short = grow_hierarchical(X, y, C=10.0, time_limit=0)
    assert (few.status, short.status) == ("node limit", "time limit")
    assert len(few.nodes) == 5
    for other in (few, short):
        assert other.gap > 1e-3
        assert other.lower_bound <= best.solution.objective
        assert other.solution.objective >= best.lower_bound

    def stop(share):
        raise KeyboardInterrupt

    stopped = grow_hierarchical(X, y, C=10.0, progress=stop)
    assert stopped.status == "interrupted"
    assert stopped.lower_bound <= best.solution.objective


def test_refusals(monkeypatch):
    X, y = problem(2, 3, 20)
    with pytest.raises(ParameterError, match="max_nodes=0"):
        grow_hierarchical(X, y, max_nodes=0)
    with pytest.raises(ParameterError, match=r"rho=3\.0"):
        grow_hierarchical(X, y, rho=3.0)
    with pytest.raises(DataError, match="one class only"):
        grow_hierarchical(X, np.ones(20))
    with pytest.raises(DataError):
        grow_hierarchical(X + 1, y)
    monkeypatch.setattr(hkl_growth, "MEMORY", 100)
    with pytest.raises(GramSizeError, match="fewer examples"):
        grow_hierarchical(X, y)
