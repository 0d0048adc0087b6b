"""Growing a set of conjunctions until the dual variables bound the whole lattice."""

from itertools import combinations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from formulakern.deadline import Deadline
from formulakern.learning.hkl.frontier import Frontier
from formulakern.learning.hkl.options import Options
from formulakern.solvers.hierarchical.losses import LOSSES
from formulakern.solvers.hierarchical.norm import Lattice
from tests.hierarchical import grown as grow
from tests.hierarchical import solved


def problem(seed, p, m, loss="hinge"):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (m, p))
    y = np.where(X[:, 0] & X[:, -1], 1.0, -1.0) * np.where(rng.random(m) < 0.15, -1, 1)
    y[:2] = 1, -1
    return X, y + (rng.normal(size=m) if loss == "squared" else 0)


def everything(X):
    nodes = [v for size in range(X.shape[1] + 1) for v in combinations(range(X.shape[1]), size)]
    return nodes, np.stack([X[:, list(v)].all(axis=1) for v in nodes], axis=1)


@example(279754, 2, 18, 1.01, 0.0, 1.0, "hinge", 1)  # weights far below those of the dual norm
@example(702348, 6, 40, 1.01, 1.9590003982279471, 3.0, "hinge", 2)
@example(843014, 4, 7, 1.01, 2.7085307776494316, 3.0, "hinge", 1)  # of which smoothing was the rest
# the intercept is not exact, and its error must not count as a gap of the ridge problem
@example(619729, 1, 36, 2.0, 2.68528703152921, 1.0, "logistic", 3)
@example(619810, 3, 21, 1.5, 2.7827447771257185, 2.0, "logistic", 2)
@example(477677, 5, 15, 2.0, 2.781388130368712, 1.0, "squared_hinge", 1)  # a slow dual norm
@example(846518, 6, 27, 1.5, 1.3465716332110675, 3.0, "squared_hinge", 2)  # a weight grows slowly
@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 6),
    st.integers(4, 40),
    st.sampled_from([1.01, 1.1, 1.5, 2.0]),
    st.floats(-2, 3),
    st.sampled_from([1.0, 2.0, 3.0]),
    st.sampled_from(LOSSES),
    st.integers(0, 3),
)
def test_equals_the_problem_on_all_nodes(seed, p, m, rho, log_C, a, loss, n_others):
    X, y = problem(seed, p, m, loss)
    nodes, columns = everything(X)
    others = np.random.default_rng(seed).random((m, n_others))
    others[:, :1] += (y[:, None] > 0) / 2
    options = {"rho": rho, "C": 10**log_C, "depth_penalty": a, "loss": loss}
    options |= {"others": others, "other_penalty": 2.0}
    whole = solved(columns, nodes, y, tol=1e-5, **options)
    assert whole.gap <= 1e-5
    grown = grow(X, y, tol=1e-2, **options)
    assert grown.status == "optimal"
    assert grown.gap <= 1e-2
    assert grown.lower_bound <= whole.objective * (1 + 1e-9)
    assert whole.lower_bound <= grown.objective * (1 + 1e-9)
    assert set(grown.nodes) <= set(nodes)
    assert set(grown.others) <= set(range(n_others))
    for step in grown.history:  # every bound on the way was valid
        assert step.objective * (1 - step.gap) <= whole.objective * (1 + 1e-9)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(2, 6),
    st.sampled_from([1.1, 1.5, 2.0]),
    st.sampled_from([1.0, 2.0]),
)
def test_shares_of_the_subsets_inside(seed, p, rho, a):
    """No bound is below the dual norm over all nodes."""
    X, y = problem(seed, p, 30)
    grown = grow(X, y, rho=rho, depth_penalty=a, C=5.0, max_nodes=1 + seed % 12)
    nodes, whole = everything(grown.table.unpacked())
    frontier = Frontier(grown.table, grown.beta, grown.nodes, Options(rho=rho, depth_penalty=a))
    g = grown.beta @ whole

    def norm(sets):
        lattice = Lattice.of(sets, rho, a)
        places = [nodes.index(w) for w in sets]
        eta = np.ones(len(sets)) / len(sets)
        return lattice.dual_norm(g[places], eta, tol=1e-4, steps=5000)

    inside, true = norm(grown.nodes).upper ** 2, norm(nodes).lower ** 2
    if not frontier.sources or inside <= 0:
        return
    for factor in (1.001, 1.05, 1.5, 4.0):
        square, violators = frontier.share(factor * inside, inside)
        assert square >= true * (1 - 1e-9)
        assert bool(violators) == (square > factor * inside)
        assert set(violators) <= set(frontier.sources)
        square, violators = frontier.examine(factor * inside, inside, loose=False)
        assert max(square, inside) >= true * (1 - 1e-9)
        assert violators or square <= factor * inside * (1 + 1e-9)


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(2, 6),
    st.sampled_from([1.1, 1.5, 2.0]),
    st.sampled_from([1.0, 2.0]),
)
def test_bounds_of_the_sources(seed, p, rho, a):
    """Against the sum over all supersets, written out, with the smallest W and after growth."""
    X, y = problem(seed, p, 25)
    grown = grow(X, y, rho=rho, depth_penalty=a, C=5.0, max_nodes=1 + seed % 5)
    frontier = Frontier(grown.table, grown.beta, grown.nodes, Options(rho=rho, depth_penalty=a))
    nodes, whole = everything(grown.table.unpacked())
    inside = set(grown.nodes)
    g = np.abs(grown.beta @ whole)
    assert set(frontier.sources) == {
        t for t in nodes
        if t not in inside and all(v in inside for k in range(len(t)) for v in combinations(t, k))
    }  # fmt: skip
    dual = rho / (rho - 1)
    if not frontier.sources:
        return
    behind = [
        np.array([
            g[j] / (a ** len(t) * (1 + a) ** (len(w) - len(t)))
            for j, w in enumerate(nodes) if set(t) <= set(w)
        ])
        for t in frontier.sources
    ]  # fmt: skip
    true = np.array([np.sum(ratios**dual) ** (2 / dual) for ratios in behind])
    squares = np.array([np.sum(ratios**2) for ratios in behind])
    for factor in (0.3, 0.9, 1.1, 3.0):
        allowed = factor * max(np.max(true), 1e-3)
        square, violators = frontier.by_pairs(allowed)
        np.testing.assert_allclose(square, squares.max(), rtol=1e-6, atol=1e-6)
        assert square >= np.max(true) * (1 - 1e-9) - 1e-12
        over = [t for t, size in zip(frontier.sources, squares, strict=True) if size > allowed]
        assert {t for t, size in zip(frontier.sources, true, strict=True) if size > allowed} <= {
            *violators
        }
        assert set(over) <= set(violators)
        for t in violators:
            assert squares[frontier.sources.index(t)] >= allowed * (1 - 1e-6) - 1e-6


def test_many_propositions_few_nodes():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (120, 45))
    y = np.where(X[:, 5] & X[:, 9] | X[:, 20] & X[:, 40], 1, -1)
    grown = grow(X, y, C=3.0, depth_penalty=1.3, tol=1e-2)
    assert grown.status == "optimal"
    assert len(grown.nodes) < 2**9
    size = dict(zip(grown.nodes, np.abs(grown.f), strict=True))
    largest = sorted(size, key=size.get)[-6:]
    assert {(5, 9), (20, 40)} <= set(largest)
    warm = grow(X, y, C=3.3, depth_penalty=1.3, tol=1e-2, start=grown.start)
    cold = grow(X, y, C=3.3, depth_penalty=1.3, tol=1e-2)
    assert warm.status == cold.status == "optimal"
    assert warm.history[0].objective < cold.history[0].objective  # the empty conjunction alone
    assert warm.lower_bound <= cold.objective * (1 + 1e-9)
    assert cold.lower_bound <= warm.objective * (1 + 1e-9)


def test_limits_keep_valid_bounds():
    X, y = problem(1, 8, 60)
    best = grow(X, y, C=10.0, tol=1e-3)
    assert best.status == "optimal"
    few = grow(X, y, C=10.0, max_nodes=5)
    short = grow(X, y, C=10.0, deadline=Deadline.of(0))
    assert (few.status, short.status) == ("node_limit", "time_limit")
    assert len(few.nodes) == 5
    for other in (few, short):
        assert other.gap > 1e-3
        assert other.lower_bound <= best.objective
        assert other.objective >= best.lower_bound

    def stop(step):
        raise KeyboardInterrupt

    stopped = grow(X, y, C=10.0, report=stop)
    assert stopped.status == "interrupted"
    assert stopped.lower_bound <= best.objective
